import io
import threading

from loadaware.demo.plain import PlainView, introduction, line, summary
from tests.loadaware.demo.frames import URL, frame


def test_a_line_has_both_figures_the_waiting_pods_and_the_last_decision() -> None:
    assert line(frame()) == (
        "Mon 10:12:34 (60x) | above 80 %: 3.5/9.8 | unserved %: 0.35/0.97 | spread: 12.3/12.3 | placed 137 "
        "waiting 1/2 | last shop/orders-7-k2x9b6d8f9-00007 -> node-08 before node-09"
    )


def test_a_line_before_the_first_decision_has_none() -> None:
    assert "last" not in line(frame(decisions=0, started=False))
    assert "above 80 %: -/-" in line(frame(decisions=0, started=False))


def test_a_line_tells_of_a_failing_extender() -> None:
    assert line(frame(failures=3)).endswith("| extender failures 3: /filter answered 500")


def test_the_introduction_says_what_to_open() -> None:
    assert URL in introduction(frame())


def test_the_summary_compares_figure_by_figure() -> None:
    lines = summary(frame()).splitlines()
    assert lines[0] == "60 simulated minutes, 137 pods placed:"
    assert lines[3].split() == ["node-time", "above", "80", "%", "3.5", "9.8", "%"]


def test_lines_are_written_until_told_to_stop() -> None:
    out, stopping, drawn = io.StringIO(), threading.Event(), []

    def moment() -> object:
        drawn.append(1)
        if len(drawn) == 4:
            stopping.set()
        return frame()

    PlainView(moment, out, interval_seconds=0.001).run(stopping)  # type: ignore[arg-type]
    assert len(out.getvalue().splitlines()) == 2 + 3
