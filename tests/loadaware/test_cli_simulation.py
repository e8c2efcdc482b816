"""`loadaware demo` from the outside; tests of `loadaware simulate` are in test_simulate_command.py."""

from pathlib import Path

from tests.loadaware.command_line import refused


def test_a_picture_in_a_folder_that_there_is_not_is_refused_at_the_start(here: Path) -> None:
    assert refused("demo", "--picture", "nope/x.svg") == "loadaware: --picture: there is no folder nope\n"
