from typing import Any

from loadaware.notebook.telling import Line, in_notebook, telling


class Shown:
    """What a notebook's display would get."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def update(self, bundle: dict[str, Any], *, raw: bool) -> None:
        self.texts.append(bundle["text/plain"])


def test_a_line_is_written_anew_once_a_second_at_most() -> None:
    now, shown = [0.0], Shown()
    line = Line("tuning", shown, lambda: now[0])
    for now[0], share in ((0.5, 0.1), (10.0, 0.5), (10.5, 0.6), (20.0, 1.0)):
        line.hear(share)
    line.done()
    assert shown.texts == ["tuning: 50 %, about 10 s left", "tuning: done in 20 s"]


def test_outside_a_notebook_it_is_told_as_commands_tell_it() -> None:
    assert not in_notebook()
    with telling("tuning") as hear:
        hear(0.5)
