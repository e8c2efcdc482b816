"""`python -m loadaware`: the same as the `loadaware` command."""

from loadaware.cli import main

if __name__ == "__main__":
    main()
