"""Pictures of dashboards: every panel in its place, with what was answered, whatever it was."""

import math
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from deploy.grafana.draw import PICTURES
from deploy.grafana.drawing import Line, drawn
from deploy.grafana.make import DASHBOARDS
from deploy.grafana.panels import Dashboard

Answer = list[dict[str, Any]]


def answer(*series: tuple[dict[str, str], list[float]]) -> Answer:
    return [
        {"metric": labels, "values": [(10.0 * n, str(value)) for n, value in enumerate(values)]}
        for labels, values in series
    ]


def texts(picture: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(picture).iter() if element.tag.endswith("text")]


def everything(dashboard: Dashboard, given: Answer) -> dict[str, Answer]:
    return {query.expression: given for panel in dashboard.panels for query in panel.queries}


@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda dashboard: dashboard.uid)
def test_every_panel_is_drawn_with_its_title_even_without_data(dashboard: Dashboard) -> None:
    shown = texts(drawn(dashboard, {}))
    assert [text for text in shown if text == "no data"] == ["no data"] * len(dashboard.panels)
    assert {panel.title for panel in dashboard.panels} <= set(shown)


@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda dashboard: dashboard.uid)
@pytest.mark.parametrize("values", [[1.0, 2.0, 3.0], [0.0, 0.0], [-1.0, math.nan, 5.0], [7.0]])
def test_every_kind_of_panel_takes_any_numbers(dashboard: Dashboard, values: list[float]) -> None:
    series = [({"le": le, "node": "a<b&c"}, values) for le in ("0.1", "1.0", "+Inf")]
    shown = texts(drawn(dashboard, everything(dashboard, answer(*series))))
    assert "no data" not in shown
    assert any("a<b&c" in text for text in shown) == any(
        "{{node}}" in q.legend for p in dashboard.panels for q in p.queries
    )


def test_what_is_no_number_at_all_is_no_data() -> None:
    nothing = answer(({"le": "1.0"}, [math.nan, math.nan]))
    dashboard = DASHBOARDS[0]
    assert texts(drawn(dashboard, everything(dashboard, nothing))).count("no data") == len(dashboard.panels)


def test_the_last_number_counts() -> None:
    assert Line("", [0.0, 1.0, 2.0], [1.0, 2.0, math.nan]).last == 2.0


@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda dashboard: dashboard.uid)
def test_the_picture_in_the_docs_has_the_panels_of_the_day(dashboard: Dashboard) -> None:
    shown = texts((PICTURES / f"{dashboard.uid}.svg").read_text())
    missing = {panel.title for panel in dashboard.panels} - set(shown)
    assert not missing, "run: python -m deploy.grafana.draw"
