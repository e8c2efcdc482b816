"""What /metrics exports, read from the instruments themselves; and what a query asks of it."""

import re
from typing import NamedTuple

from prometheus_client import CollectorRegistry
from prometheus_client.metrics import MetricWrapperBase

from loadaware.bulk_histogram import BulkHistogram
from loadaware.node_series import SERIES
from loadaware.quick_histogram import QuickHistogram
from loadaware.telemetry import Telemetry

ENDINGS = {"counter": "_total", "info": "_info"}
PARTS = ("_bucket", "_count", "_sum")


class Instrument(NamedTuple):
    """Type, labels and help."""

    kind: str
    labels: tuple[str, ...]
    documentation: str


def instruments() -> dict[str, Instrument]:
    """Each instrument by its name on the wire."""
    registry = CollectorRegistry()
    Telemetry(registry, "0.0.0")
    found = {name: Instrument("gauge", *series) for name, series in SERIES.items()}
    for instrument in registry._collector_to_names:
        if isinstance(instrument, BulkHistogram):
            found[instrument.name] = Instrument("histogram", instrument.labels, instrument.documentation)
            continue
        if isinstance(instrument, QuickHistogram):
            found[instrument.name] = Instrument("histogram", instrument.label_names, instrument.documentation)
            continue
        assert isinstance(instrument, MetricWrapperBase)
        kind = str(instrument._type)
        labels = ("version",) if kind == "info" else tuple(instrument._labelnames)
        found[instrument._name + ENDINGS.get(kind, "")] = Instrument(kind, labels, instrument._documentation)
    return found


def series() -> dict[str, tuple[str, ...]]:
    """The labels of each series by its name: a histogram is several."""
    found: dict[str, tuple[str, ...]] = {}
    for name, instrument in instruments().items():
        for part in PARTS if instrument.kind == "histogram" else ("",):
            found[name + part] = (*instrument.labels, "le") if part == "_bucket" else instrument.labels
    return found


def asked(expression: str) -> list[tuple[str, set[str]]]:
    """The series that a query names, and the labels it picks them by."""
    found = re.findall(r"(?<![\w:])(loadaware_\w+)(?:\{([^}]*)\})?", expression)
    return [(name, set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)\s*\"", picked))) for name, picked in found]
