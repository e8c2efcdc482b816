import pytest

from loadaware.progress import LINE_SECONDS, Lines, duration, moment
from tests.loadaware.builders import Clock


@pytest.mark.parametrize(
    ("seconds", "words"), [(40, "40 s"), (720, "12 min"), (12_600, "3.5 h"), (14 * 86_400, "14.0 days")]
)
def test_a_duration_has_the_unit_that_suits_it(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_a_moment_is_told_in_utc() -> None:
    assert moment(0.0) == "1970-01-01 00:00 UTC"


def test_without_a_terminal_a_line_is_said_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock(0.0)
    lines = Lines("reading", clock)
    for share in (0.1, 0.2, 0.5, 0.6, 1.0):
        clock.advance(LINE_SECONDS / 2 + 1.0)
        lines.hear(share)
    said = capsys.readouterr().err.splitlines()
    assert said == ["loadaware: reading: 20 %, about 68 s left", "loadaware: reading: 60 %, about 23 s left"]
