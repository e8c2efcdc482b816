"""What every command says alike: exit codes, remarks on standard error, JSON on standard output."""

import click

EXIT_FAILED = 1
EXIT_BAD_INPUT = 2
EXIT_INTERRUPTED = 130


def remark(text: str) -> None:
    """A line beside the output, for people."""
    click.echo(f"loadaware: {text}", err=True)


def print_json(value: object) -> None:
    """For programs."""
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())
