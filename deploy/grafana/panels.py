"""A simple builder of Grafana dashboards: plain values in, the JSON that Grafana imports out.

A dashboard is rows of panels; a row is filled from the left and is as high as its highest panel. Each panel says what
it shows, in which unit, and why one would look at it. Queries may use the variables `$job`, `$instance`, `$profile` and
`$node`; `SELECTED` picks the chosen instances.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

WIDTH = 24
"""Columns of a dashboard."""
SELECTED = 'job=~"$job",instance=~"$instance"'
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
TAG = "loadaware"
GREEN, YELLOW, RED = "green", "yellow", "red"


@dataclass(frozen=True)
class Query:
    """PromQL, and how its series are named."""

    expression: str
    legend: str = ""
    instant: bool = False
    """Of this moment, not over time."""

    def json(self, number: int, kind: str) -> dict[str, Any]:
        """As a target of a panel of that kind."""
        return {
            "refId": chr(ord("A") + number),
            "datasource": DATASOURCE,
            "expr": self.expression,
            "legendFormat": self.legend or "__auto",
            "format": kind if kind in ("heatmap", "table") else "time_series",
            "instant": self.instant,
            "range": not self.instant,
        }


@dataclass(frozen=True)
class Panel:
    """One picture."""

    title: str
    description: str
    queries: Sequence[Query]
    kind: str = "timeseries"
    unit: str = "short"
    width: int = 8
    height: int = 8
    thresholds: Mapping[float, str] = field(default_factory=dict)
    """From which value on which colour; below the first it is green."""
    stacked: bool = False
    least: float | None = 0.0
    most: float | None = None
    words: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    """What a value is called, and its colour."""

    def json(self, number: int, x: int, y: int) -> dict[str, Any]:
        """As Grafana imports it."""
        return {
            "id": number,
            "type": self.kind,
            "title": self.title,
            "description": self.description,
            "datasource": DATASOURCE,
            "gridPos": {"x": x, "y": y, "w": self.width, "h": self.height},
            "targets": [query.json(n, self.kind) for n, query in enumerate(self.queries)],
            "fieldConfig": {"defaults": self._defaults(), "overrides": []},
            "options": OPTIONS.get(self.kind, {}),
            "transformations": self._transformations(),
        }

    def _transformations(self) -> list[dict[str, Any]]:
        """A table has one row for each of what the queries have in common, and a column for each query."""
        if self.kind != "table":
            return []
        names = {f"Value #{chr(ord('A') + number)}": query.legend for number, query in enumerate(self.queries)}
        columns = {"excludeByName": {"Time": True}, "renameByName": names}
        return [{"id": "merge", "options": {}}, {"id": "organize", "options": columns}]

    def _defaults(self) -> dict[str, Any]:
        steps = [{"color": GREEN, "value": None}]
        steps += [{"color": color, "value": value} for value, color in sorted(self.thresholds.items())]
        defaults: dict[str, Any] = {
            "unit": self.unit,
            "color": {"mode": "thresholds" if self.kind in ("stat", "bargauge") else "palette-classic"},
            "thresholds": {"mode": "absolute", "steps": steps},
            "mappings": self._mappings(),
            "custom": self._custom(),
        }
        bounds = {"min": self.least, "max": self.most}
        return defaults | {name: bound for name, bound in bounds.items() if bound is not None}

    def _mappings(self) -> list[dict[str, Any]]:
        named = {str(value): {"text": text, "color": color} for value, (text, color) in self.words.items()}
        return [{"type": "value", "options": named}] if named else []

    def _custom(self) -> dict[str, Any]:
        if self.kind != "timeseries":
            return {}
        return {
            "lineWidth": 1,
            "fillOpacity": 30 if self.stacked else 8,
            "showPoints": "never",
            "stacking": {"mode": "normal" if self.stacked else "none"},
            "thresholdsStyle": {"mode": "dashed" if self.thresholds else "off"},
        }


OPTIONS: dict[str, dict[str, Any]] = {
    "timeseries": {
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
        "tooltip": {"mode": "multi", "sort": "desc"},
    },
    "stat": {"reduceOptions": {"calcs": ["lastNotNull"], "values": False}, "colorMode": "value", "graphMode": "area"},
    "bargauge": {
        "reduceOptions": {"calcs": ["lastNotNull"], "values": False},
        "displayMode": "gradient",
        "orientation": "horizontal",
    },
    "heatmap": {"calculate": False, "yAxis": {"axisPlacement": "left"}, "cellGap": 1, "color": {"scheme": "Blues"}},
    "table": {"showHeader": True},
}


@dataclass(frozen=True)
class Variable:
    """A choice at the top of a dashboard: the values of a label."""

    name: str
    label: str
    query: str

    def json(self) -> dict[str, Any]:
        """As Grafana imports it: several may be chosen, and all are at first."""
        return {
            "type": "query",
            "name": self.name,
            "label": self.label,
            "datasource": DATASOURCE,
            "query": {"query": self.query, "refId": self.name},
            "definition": self.query,
            "refresh": 2,
            "sort": 1,
            "multi": True,
            "includeAll": True,
            "allValue": ".*",
            "current": {"text": "All", "value": "$__all"},
        }


@dataclass(frozen=True)
class Row:
    """Panels under a heading."""

    title: str
    panels: Sequence[Panel]


@dataclass(frozen=True)
class Dashboard:
    """A page."""

    uid: str
    title: str
    description: str
    rows: Sequence[Row]
    variables: Sequence[Variable] = ()

    @property
    def panels(self) -> list[Panel]:
        """All of them, in order."""
        return [panel for row in self.rows for panel in row.panels]

    def json(self) -> dict[str, Any]:
        """As Grafana imports it."""
        variables = [JOB, INSTANCE, *self.variables]
        return {
            "uid": self.uid,
            "title": f"loadaware / {self.title}",
            "description": self.description,
            "tags": [TAG],
            "schemaVersion": 39,
            "editable": True,
            "graphTooltip": 1,
            "refresh": "30s",
            "time": {"from": "now-3h", "to": "now"},
            "timezone": "browser",
            "links": [LINKS],
            "templating": {"list": [SOURCE, *(variable.json() for variable in variables)]},
            "panels": self._placed(),
        }

    def _placed(self) -> list[dict[str, Any]]:
        placed: list[dict[str, Any]] = []
        y = 0
        for row in self.rows:
            placed.append(_heading(row.title, len(placed) + 1, y))
            y += 1
            x = height = 0
            for panel in row.panels:
                if x + panel.width > WIDTH:
                    x, y, height = 0, y + height, 0
                placed.append(panel.json(len(placed) + 1, x, y))
                x, height = x + panel.width, max(height, panel.height)
            y += height
        return placed


def _heading(title: str, number: int, y: int) -> dict[str, Any]:
    where = {"x": 0, "y": y, "w": WIDTH, "h": 1}
    return {"id": number, "type": "row", "title": title, "collapsed": False, "gridPos": where, "panels": []}


SOURCE = {"type": "datasource", "name": "datasource", "label": "Data source", "query": "prometheus"}
JOB = Variable("job", "Job", "label_values(loadaware_build_info, job)")
INSTANCE = Variable("instance", "Instance", 'label_values(loadaware_build_info{job=~"$job"}, instance)')
PROFILE = Variable("profile", "Profile", f"label_values(loadaware_requests_total{{{SELECTED}}}, profile)")
NODE = Variable("node", "Node", f"label_values(loadaware_node_utilization{{{SELECTED}}}, node)")
LINKS = {
    "type": "dashboards",
    "title": "loadaware",
    "tags": [TAG],
    "asDropdown": False,
    "includeVars": True,
    "keepTime": True,
}
