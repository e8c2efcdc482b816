import re
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.metrics import MetricWrapperBase

import loadaware.extender
from loadaware.telemetry import Telemetry

PAGE = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text()
ENDINGS = {"counter": "_total", "info": "_info"}


def instruments() -> dict[str, tuple[str, tuple[str, ...], str]]:
    """Type, labels and help of each instrument by its name on the wire."""
    registry = CollectorRegistry()
    Telemetry(registry, "0.0.0")
    found = {}
    for instrument in registry._collector_to_names:
        assert isinstance(instrument, MetricWrapperBase)
        kind = str(instrument._type)
        labels = ("version",) if kind == "info" else tuple(instrument._labelnames)
        found[instrument._name + ENDINGS.get(kind, "")] = (kind, labels, instrument._documentation)
    return found


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


def test_no_label_can_hold_the_name_of_a_node_or_a_pod() -> None:
    labels = {label for _, names, _ in instruments().values() for label in names}
    assert labels == {"verb", "profile", "reason", "plugin", "kind", "outcome", "rung", "version"}


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
