from loadaware.demo.frame import FIGURES, figure, value
from tests.loadaware.demo.frames import frame


def test_figures_are_written_to_one_decimal_and_unserved_to_two() -> None:
    texts = {name: figure(frame().default, name) for _, name, _ in FIGURES}
    assert texts == {"hot_now": "5", "hot80": "9.8", "hot90": "4.9", "unserved": "0.97", "spread": "12.3"}


def test_a_figure_that_does_not_exist_yet_is_a_dash() -> None:
    assert figure(frame(started=False).ours, "hot80") == "-"


def test_a_node_that_is_away_is_not_hot() -> None:
    view = frame(nodes=3).ours
    assert str(view.utilization[2]) == "nan"
    assert value(view, "hot_now") == 0.0


def test_the_simulated_time_is_written_as_day_and_time() -> None:
    assert frame().clock == "Mon 10:12:34"
