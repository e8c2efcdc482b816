"""What `loadaware record` says while it records."""

import pytest

from loadaware.recording import _Told
from loadaware.status import Status


@pytest.mark.parametrize(
    ("status", "line"),
    [
        (Status(readings=3, nodes=2, pods=9), "3 readings, 2 nodes, 9 pods"),
        (Status(readings=3, nodes=2, pods=9, last_error="away"), "3 readings, 2 nodes, 9 pods; away"),
        (
            Status(readings=3, nodes=2, pods=9, last_error="away", history_lost=7),
            "3 readings, 2 nodes, 9 pods; away; 7 records could not be written",
        ),
    ],
)
def test_a_line_tells_how_it_goes_and_what_is_missing(status: Status, line: str) -> None:
    said: list[str] = []
    told = _Told(said.append)
    told.take(status)
    told.take(status)  # within the same minute
    assert said == [line]
