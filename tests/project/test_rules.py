"""Alerts and recording rules use what is exported, lead to a runbook, and are tested."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from loadaware.config import Config
from tests.loadaware.exported_metrics import asked, series

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "prometheus"
CASES: list[dict[str, Any]] = yaml.safe_load((ROOT / "tests" / "integration" / "rules.test.yaml").read_text())["tests"]


def rules(kind: str) -> dict[str, dict[str, Any]]:
    """Every rule of a kind by its name."""
    files = [yaml.safe_load(path.read_text()) for path in sorted(FOLDER.glob("*.yaml"))]
    found = [rule for file in files for group in file["groups"] for rule in group["rules"]]
    return {rule[kind]: rule for rule in found if kind in rule}


ALERTS, RECORDS = rules("alert"), rules("record")


@pytest.mark.parametrize("name", [*ALERTS, *RECORDS])
def test_a_rule_asks_only_for_what_is_exported_or_recorded(name: str) -> None:
    expression = (ALERTS | RECORDS)[name]["expr"]
    recorded = re.findall(r"\w+:loadaware_\w+:\w+", expression)
    assert asked(expression) or recorded
    assert set(recorded) <= set(RECORDS)
    for metric, labels in asked(expression):
        assert metric in series()
        assert labels <= set(series()[metric])


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_says_how_severe_it_is_and_what_it_means(name: str) -> None:
    alert = ALERTS[name]
    assert name.startswith("LoadAware")
    assert alert["labels"]["severity"] in {"warning", "critical"}
    assert alert["for"]
    assert alert["annotations"]["summary"].endswith(".")
    assert alert["annotations"]["description"].endswith(".")


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_leads_to_its_section_of_the_runbook(name: str) -> None:
    page, _, anchor = ALERTS[name]["annotations"]["runbook_url"].partition("#")
    headings = re.findall(r"^#+ (.+)$", (ROOT / page).read_text(), re.MULTILINE)
    assert anchor in {re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings}
    assert anchor == name.lower()


def test_the_runbook_has_no_section_of_an_alert_that_there_is_not() -> None:
    headings = re.findall(r"^#+ (LoadAware\w+)$", (ROOT / "docs" / "operations.md").read_text(), re.MULTILINE)
    assert sorted(headings) == sorted(ALERTS)


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_is_tested_to_fire_and_to_be_silent(name: str) -> None:
    checks = [check for case in CASES for check in case["alert_rule_test"] if check["alertname"] == name]
    assert any(check["exp_alerts"] for check in checks)
    assert any(not check["exp_alerts"] for check in checks)


def test_every_recording_rule_is_tested() -> None:
    expressions = " ".join(check["expr"] for case in CASES for check in case.get("promql_expr_test", ()))
    assert [name for name in RECORDS if name not in expressions] == []


def test_data_is_called_stale_when_it_begins_to_be_doubted() -> None:
    assert ALERTS["LoadAwareSourceStale"]["expr"].endswith(f"> {Config().staleness.fresh:g}")


def test_slow_is_half_of_what_kube_scheduler_waits() -> None:
    timeout = re.findall(r'"httpTimeout": "(\d+)s"', (ROOT / "loadaware" / "schedule_config.py").read_text())
    assert ALERTS["LoadAwareSlow"]["expr"].endswith(f"> {int(timeout[0]) / 2:g}")
