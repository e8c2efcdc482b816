r"""Series per node for /metrics, as text. Written out here, since thousands of instruments would take a second.

    utilization           mean usage of the window / allocatable
    deviation             deviation of the window / allocatable
    expected utilization  usage expected of its pods, those bound or booked since included / allocatable
    risk                  1 - Phi((allocatable - mean) / deviation)      CPU expected (else measured), taken as normal:
                          the chance that it wants more than there is
    score                 what a stated reference pod would get there now, in the default profile

The most utilized nodes by CPU come first, and only the first so many are told: the size is bounded by the
configuration, not by the cluster. What is not known has no sample.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from collectors.manifests import Shape
from collectors.reading import CPU, Floats
from loadaware.snapshot import Snapshot
from loadaware.window import Ints

AT_ONCE = 100
"""Samples in one piece of text: a tenth of a millisecond."""


@dataclass(frozen=True)
class Shown:
    """What is shown of nodes: how many of them, and the score of which pod."""

    nodes: int = 50
    reference: Shape = field(default_factory=Shape)


class Series(NamedTuple):
    """A family of this module: its labels and its sentence of help."""

    labels: tuple[str, ...]
    documentation: str


SERIES = {
    "loadaware_node_utilization": Series(("node", "resource"), "Mean usage of the window per allocatable."),
    "loadaware_node_deviation": Series(("node", "resource"), "Deviation of the window per allocatable."),
    "loadaware_node_expected_utilization": Series(
        ("node", "resource"), "Usage expected of a node's pods per allocatable, those placed since included."
    ),
    "loadaware_node_risk": Series(("node",), "Chance that a node wants more CPU than it has."),
    "loadaware_node_score": Series(("node", "profile"), "Score of the reference pod on a node."),
}


@dataclass(frozen=True, eq=False)
class NodeFacts:
    """What the series are made of, as of one moment. Nobody changes it afterwards: any thread may look."""

    snapshot: Snapshot
    expected_mean: Floats | None
    """(node, resource), with everything placed since the snapshot; None: not learned."""
    expected_variance: Floats | None
    scores: Floats
    """Of the reference pod, in the order of the snapshot; empty if there are none."""
    profile: str


def node_series(facts: NodeFacts, most: int) -> Iterator[str]:
    """The text, in small pieces."""
    with np.errstate(divide="ignore", invalid="ignore"):
        tables = _tables(facts)
    rows = _most_utilized(facts, tables, most)
    names = [_quoted(facts.snapshot.names[row]) for row in rows.tolist()]
    for family, by_label in tables.items():
        yield f"# HELP {family} {SERIES[family].documentation}\n# TYPE {family} gauge\n"
        for more, values in by_label.items():
            yield from _pieces(family, more, names, values[rows].tolist())


def _tables(facts: NodeFacts) -> dict[str, dict[str, Floats]]:
    """Per family, per further label, a value for each node."""
    snapshot = facts.snapshot
    statistics, allocatable = snapshot.statistics, snapshot.allocatable
    measured = np.where(np.isnan(statistics.mean), statistics.latest, statistics.mean)
    columns = [
        ("loadaware_node_utilization", measured / allocatable),
        ("loadaware_node_deviation", statistics.deviation / allocatable),
    ]
    if facts.expected_mean is not None:
        columns.append(("loadaware_node_expected_utilization", facts.expected_mean / allocatable))
    tables = {
        family: {f',resource="{_quoted(name)}"': table[:, c] for c, name in enumerate(snapshot.resources)}
        for family, table in columns
    }
    tables["loadaware_node_risk"] = {"": _risk(facts, measured)}
    if len(facts.scores):
        tables["loadaware_node_score"] = {f',profile="{_quoted(facts.profile)}"': facts.scores}
    return tables


def _risk(facts: NodeFacts, measured: Floats) -> Floats:
    snapshot = facts.snapshot
    if CPU not in snapshot.resource_index:
        return np.full(len(snapshot.names), np.nan)
    column = snapshot.resource_index[CPU]
    mean, deviation = measured[:, column], snapshot.statistics.deviation[:, column]
    if facts.expected_mean is not None and facts.expected_variance is not None:
        known = np.isfinite(facts.expected_mean[:, column])
        mean = np.where(known, facts.expected_mean[:, column], mean)
        deviation = np.where(known, np.sqrt(facts.expected_variance[:, column]), deviation)
    spare = snapshot.allocatable[:, column] - mean
    steady = np.where(spare >= 0, np.inf, -np.inf)
    distance = np.where(deviation > 0, spare / deviation, np.where(np.isnan(spare), np.nan, steady))
    return np.array([0.5 * math.erfc(each / math.sqrt(2.0)) for each in distance.tolist()])


def _most_utilized(facts: NodeFacts, tables: dict[str, dict[str, Floats]], most: int) -> Ints:
    """Rows, the most utilized by CPU first (expected, else measured); those of which nothing is known last."""
    cpu = f',resource="{CPU}"'
    measured = tables["loadaware_node_utilization"].get(cpu, np.full(len(facts.snapshot.names), np.nan))
    expected = tables.get("loadaware_node_expected_utilization", {}).get(cpu, measured)
    order = np.argsort(-np.where(np.isnan(expected), measured, expected), kind="stable")
    return order[:most]


def _pieces(family: str, more: str, names: Sequence[str], values: Sequence[float]) -> Iterator[str]:
    for start in range(0, len(names), AT_ONCE):
        part = zip(names[start : start + AT_ONCE], values[start : start + AT_ONCE], strict=True)
        yield "".join(
            [f'{family}{{node="{name}"{more}}} {value:.6g}\n' for name, value in part if math.isfinite(value)]
        )


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
