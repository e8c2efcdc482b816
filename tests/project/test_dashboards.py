"""The dashboards are made from code, and ask for nothing that is not exported."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from deploy.grafana.make import DASHBOARDS, HERE, files
from deploy.grafana.panels import TAG, WIDTH, Dashboard, Panel
from tests.loadaware.exported_metrics import PARTS, asked, instruments, series

PANELS = [(dashboard, panel) for dashboard in DASHBOARDS for panel in dashboard.panels]
NAMES = [f"{dashboard.title}: {panel.title}" for dashboard, panel in PANELS]


@pytest.mark.parametrize(("path", "content"), files().items(), ids=lambda value: getattr(value, "stem", ""))
def test_the_json_is_what_the_code_says(path: Path, content: str) -> None:
    assert path.read_text() == content, "run: python -m deploy.grafana.make"


def test_there_is_no_other_json() -> None:
    assert set(HERE.glob("*.json")) == set(files())


@pytest.mark.parametrize(("dashboard", "panel"), PANELS, ids=NAMES)
def test_a_panel_asks_only_for_what_is_exported(dashboard: Dashboard, panel: Panel) -> None:
    for query in panel.queries:
        assert asked(query.expression)
        for name, labels in asked(query.expression):
            assert name in series()
            assert labels <= {"job", "instance", *series()[name]}


@pytest.mark.parametrize(("dashboard", "panel"), PANELS, ids=NAMES)
def test_a_legend_names_only_labels_that_the_query_keeps(dashboard: Dashboard, panel: Panel) -> None:
    for query in panel.queries:
        kept = {label.strip() for by in re.findall(r"by \(([^)]*)\)", query.expression) for label in by.split(",")}
        assert set(re.findall(r"\{\{(\w+)\}\}", query.legend)) <= kept


@pytest.mark.parametrize(("dashboard", "panel"), PANELS, ids=NAMES)
def test_a_panel_uses_only_variables_that_its_dashboard_has(dashboard: Dashboard, panel: Panel) -> None:
    variables = {each["name"] for each in dashboard.json()["templating"]["list"]} | {"__rate_interval"}
    used = {name for query in panel.queries for name in re.findall(r"\$(\w+)", query.expression)}
    assert {"job", "instance"} <= used <= variables


@pytest.mark.parametrize(("dashboard", "panel"), PANELS, ids=NAMES)
def test_a_panel_explains_itself(dashboard: Dashboard, panel: Panel) -> None:
    assert panel.description.endswith(".")
    assert panel.unit


def test_titles_within_a_dashboard_differ_and_so_do_identities() -> None:
    for dashboard in DASHBOARDS:
        titles = [panel.title for panel in dashboard.panels]
        assert len(set(titles)) == len(titles)
        numbers = [panel["id"] for panel in dashboard.json()["panels"]]
        assert len(set(numbers)) == len(numbers)
    assert len({dashboard.uid for dashboard in DASHBOARDS}) == len(DASHBOARDS)


@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda dashboard: dashboard.uid)
def test_panels_do_not_cover_each_other(dashboard: Dashboard) -> None:
    taken: set[tuple[int, int]] = set()
    for panel in dashboard.json()["panels"]:
        where = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(where["x"], where["x"] + where["w"])
            for y in range(where["y"], where["y"] + where["h"])
        }
        assert where["x"] + where["w"] <= WIDTH
        assert not cells & taken
        taken |= cells


@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda dashboard: dashboard.uid)
def test_dashboards_find_each_other_and_take_the_choices_along(dashboard: Dashboard) -> None:
    (link,) = dashboard.json()["links"]
    assert link["tags"] == dashboard.json()["tags"] == [TAG]
    assert link["includeVars"]
    assert link["keepTime"]


@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda dashboard: dashboard.uid)
def test_variables_are_filled_from_what_is_exported(dashboard: Dashboard) -> None:
    variables: list[dict[str, Any]] = dashboard.json()["templating"]["list"]
    assert [variable["name"] for variable in variables][:3] == ["datasource", "job", "instance"]
    for variable in variables[1:]:
        query = variable["definition"]
        ((name, _),) = asked(query)
        label = query.rpartition(", ")[2].rstrip(")")
        assert label in {"job", "instance", *series()[name]}


def test_every_metric_is_on_some_dashboard() -> None:
    shown = {name for _, panel in PANELS for query in panel.queries for name, _ in asked(query.expression)}
    assert [name for name in instruments() if not {name, *(name + part for part in PARTS)} & shown] == []


def test_the_json_is_one_document_that_grafana_reads() -> None:
    for content in files().values():
        assert json.loads(content)["schemaVersion"] >= 36
