import io
import threading

import pytest
from rich.console import Console

from loadaware.demo.frame import Frame
from loadaware.demo.view import LiveView, bar, render
from tests.loadaware.demo.frames import URL, frame


def drawn(frame: Frame, width: int, height: int, *, ascii_only: bool = False, styles: bool = False) -> list[str]:
    console = Console(width=width, height=height, record=True, file=io.StringIO(), color_system="truecolor")
    console.print(render(frame, width, height, ascii_only=ascii_only))
    return console.export_text(styles=styles).splitlines()


@pytest.mark.parametrize("width", [44, 60, 80, 120, 200])
@pytest.mark.parametrize("height", [24, 50])
@pytest.mark.parametrize("nodes", [2, 100])
def test_the_picture_fits_the_terminal(width: int, height: int, nodes: int) -> None:
    lines = drawn(frame(nodes), width, height)
    assert max(len(text) for text in lines) <= width
    assert len(lines) <= height


@pytest.mark.parametrize(("width", "height"), [(60, 50), (120, 24), (120, 50)])
def test_every_node_is_shown_where_there_is_room(width: int, height: int) -> None:
    text = "\n".join(drawn(frame(), width, height))
    assert all(f"node-{number:02d}" in text for number in range(1, 25))
    assert "cooler" not in text


def test_in_sixty_columns_both_bars_names_figures_and_choices_are_legible() -> None:
    text = "\n".join(drawn(frame(), 60, 50))
    assert "loadaware  Mon 10:12:34 60x  pods 460 placed 137 waiting 1" in text
    assert f"open {URL}  2.1 ms  Ctrl-C stops" in text
    assert "node-24  16 ████████████████ 100% ▊                  5%" in text
    assert "node-time above 80 %          3.5      9.8  %" in text
    assert "node-08 node-09 -7 node-03" in text


def test_in_a_low_terminal_the_hottest_nodes_are_shown_in_their_order() -> None:
    lines = drawn(frame(), 80, 24)
    names = [text.split()[0] for text in lines if text.startswith("node-") and "above" not in text]
    assert len(names) == 10
    assert names == sorted(names)
    assert {"node-01", "node-24"} <= set(names)
    assert "and 14 cooler nodes" in lines


def test_a_wide_low_terminal_shows_two_columns_of_nodes() -> None:
    lines = drawn(frame(), 120, 24)
    assert any("node-01" in text and "node-13" in text for text in lines)


def test_a_node_that_is_away_says_so() -> None:
    assert any(text.startswith("node-03  16 away") for text in drawn(frame(), 60, 50))


def test_the_newest_decision_stands_first_and_shows_what_the_default_would_have_chosen() -> None:
    lines = drawn(frame(), 60, 50)
    first = lines[next(n for n, text in enumerate(lines) if text.startswith("last decisions")) + 1]
    assert first.split()[1:] == ["node-08", "node-09", "-7", "node-03"]


def test_a_failing_extender_is_told_in_the_header() -> None:
    assert any("3 failed: /filter answered 500" in text for text in drawn(frame(failures=3), 120, 50))


def test_it_draws_before_anything_was_measured_or_decided() -> None:
    text = "\n".join(drawn(frame(decisions=0, started=False, milliseconds=float("nan")), 60, 50))
    assert "node-time above 80 %" in text
    assert " ms" not in text


def test_bars_are_coloured_by_utilization() -> None:
    text = "\n".join(drawn(frame(), 120, 50, styles=True))
    for colour in ("\x1b[32m", "\x1b[33m", "\x1b[38;5;208m", "\x1b[1;31m"):
        assert colour in text


@pytest.mark.parametrize(
    ("share", "expected"),
    [(0.0, "    "), (0.5, "██  "), (1.0, "████"), (0.53125, "██▏ "), (1.7, "████"), (-0.1, "    ")],
)
def test_a_bar_is_drawn_to_an_eighth_of_a_column(share: float, expected: str) -> None:
    assert bar(share, 4) == expected


def test_a_terminal_without_unicode_gets_plain_bars() -> None:
    assert bar(0.5, 4, ascii_only=True) == "##  "
    text = "\n".join(drawn(frame(), 60, 50, ascii_only=True))
    assert "█" not in text


def test_the_live_view_uses_the_alternate_screen_and_leaves_it() -> None:
    out, stopping, moments = io.StringIO(), threading.Event(), []

    def moment() -> Frame:
        moments.append(1)
        stopping.set()
        return frame()

    console = Console(file=out, force_terminal=True, width=80, height=30, color_system="truecolor")
    LiveView(moment, console).run(stopping)
    assert out.getvalue().startswith("\x1b[?1049h")
    assert "\x1b[?1049l" in out.getvalue()
    assert "\x1b[?25h" in out.getvalue()
    assert moments
