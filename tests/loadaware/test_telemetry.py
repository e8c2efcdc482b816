import re
from pathlib import Path

import numpy as np
import pytest
from prometheus_client import CollectorRegistry

import loadaware.extender
from loadaware.node_series import SERIES
from loadaware.telemetry import MOST_RANKINGS, Telemetry
from tests.loadaware.exported_metrics import instruments

PAGE = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text()


def rows(heading: str) -> list[list[str]]:
    """The cells of the first table after a heading."""
    table = PAGE.partition(heading)[2].partition("\n|---")[2].partition("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[1:]]


DOCUMENTED = {name.strip("`"): (kind, labels, meaning) for name, kind, labels, meaning in rows("# Metrics")}


def test_every_instrument_is_documented_and_nothing_else_is() -> None:
    assert set(instruments()) == set(DOCUMENTED)


@pytest.mark.parametrize(("name", "instrument"), instruments().items(), ids=list(instruments()))
def test_type_and_labels_are_documented_as_they_are(name: str, instrument: tuple[str, tuple[str, ...], str]) -> None:
    kind, labels, _ = instrument
    documented_kind, documented_labels, meaning = DOCUMENTED[name]
    assert documented_kind == kind
    assert tuple(re.findall(r"`(\w+)`", documented_labels)) == labels
    assert meaning.endswith(".")


@pytest.mark.parametrize(("name", "instrument"), instruments().items(), ids=list(instruments()))
def test_every_instrument_has_our_prefix_and_a_sentence_of_help(
    name: str, instrument: tuple[str, tuple[str, ...], str]
) -> None:
    assert name.startswith("loadaware_")
    assert instrument[2].endswith(".")


def test_only_the_series_per_node_can_hold_the_name_of_a_node_and_none_that_of_a_pod() -> None:
    labels = {label for name, (_, labels, _) in instruments().items() if name not in SERIES for label in labels}
    ours = {"verb", "reason", "kind", "outcome", "rung", "version", "above", "won", "agrees"}
    from_the_configuration = {"profile", "plugin", "filter", "resource", "source"}
    assert labels == ours | from_the_configuration
    assert {label for series in SERIES.values() for label in series.labels} == {"node", "profile", "resource"}


def test_every_reason_in_the_code_is_documented_and_nothing_else_is() -> None:
    sources = [path.read_text() for path in Path(next(iter(loadaware.extender.__path__))).glob("*.py")]
    named = r'(?:RequestError\(|\brefused\(verb, |errors\.labels\(verb, )"([a-z_]+)"'
    chosen = r'(?:reason = |else |f)"([a-z]+_[a-z]+)(?:"|: )'
    found = (found for source in sources for found in re.findall(f"{named}|{chosen}", source))
    in_code = {first or second for first, second in found}
    documented = {reason for cell, *_ in rows("## Reasons") for reason in re.findall(r"`(\w+)`", cell)}
    assert in_code == documented


def test_two_telemetries_do_not_meet_if_their_registries_do_not() -> None:
    first, second = (Telemetry(CollectorRegistry(), version) for version in ("1", "2"))
    first.readings.inc()
    assert second.registry.get_sample_value("loadaware_readings_total") == 0


# -- How clear the answers are -------------------------------------------------------------------------------------


def value(telemetry: Telemetry, name: str, **labels: str) -> float | None:
    return telemetry.registry.get_sample_value(name, labels)


def test_spread_and_margin_are_counted_when_someone_looks() -> None:
    telemetry = Telemetry(CollectorRegistry(), "0")
    telemetry.ranked("p", np.array([10.0, 90.0, 60.0]))  # spread 80, margin 30
    telemetry.ranked("p", np.array([50.0, 50.0]))  # both 0
    assert value(telemetry, "loadaware_score_spread_count", profile="p") is None
    telemetry.sum_up()
    telemetry.sum_up()
    assert value(telemetry, "loadaware_score_spread_count", profile="p") == 2
    assert value(telemetry, "loadaware_score_spread_sum", profile="p") == 80
    assert value(telemetry, "loadaware_score_margin_sum", profile="p") == 30
    assert value(telemetry, "loadaware_score_margin_bucket", profile="p", le="0.0") == 1
    assert value(telemetry, "loadaware_score_margin_bucket", profile="p", le="20.0") == 1
    assert value(telemetry, "loadaware_score_margin_bucket", profile="p", le="50.0") == 2


@pytest.mark.parametrize("scores", [[], [70.0]])
def test_an_answer_about_less_than_two_nodes_has_no_margin(scores: list[float]) -> None:
    telemetry = Telemetry(CollectorRegistry(), "0")
    telemetry.ranked("p", np.array(scores))
    telemetry.sum_up()
    assert value(telemetry, "loadaware_score_margin_count", profile="p") is None


def test_scores_that_nobody_asks_for_do_not_pile_up() -> None:
    telemetry = Telemetry(CollectorRegistry(), "0")
    for _ in range(3 * MOST_RANKINGS):
        telemetry.ranked("p", np.array([1.0, 2.0]))
    telemetry.sum_up()
    assert value(telemetry, "loadaware_score_margin_count", profile="p") == MOST_RANKINGS
