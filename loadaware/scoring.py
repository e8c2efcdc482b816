"""`loadaware score`: rank nodes once, from a file or the live cluster, and show each scorer's part."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from collectors.errors import SourceRefusedError
from collectors.manifests import Pod
from loadaware.adviser import Adviser
from loadaware.config import Config, ScorerReference, parse_yaml
from loadaware.errors import ConfigError
from loadaware.plugins import make_scorer
from loadaware.profiles import adviser_settings
from loadaware.ranking import Part, Ranking
from loadaware.scorers import SCORERS
from loadaware.snapshot import Snapshot
from loadaware.state import load_pod, load_state

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = ["known_scorers", "load_pod", "load_snapshot", "only", "print_table", "score"]

WIDEST = 1000
"""Columns of a table in a pipe, where nothing is gained by folding lines."""
MOST_NAMED = 3
"""Scorers whose names head their columns; more are numbered."""


def only(config: Config, scorer: str, settings: Sequence[str]) -> Config:
    """The configuration with one profile that has this scorer alone. Raises ConfigError."""
    reference = ScorerReference(name=scorer, args=_args(settings, _defaults(scorer)))
    make_scorer(scorer, reference.args, "--scorer", "")
    profile = msgspec.structs.replace(config.profiles[0], scorers=(reference,), filters=())
    return msgspec.structs.replace(config, profiles=(profile,))


def known_scorers() -> list[str]:
    """Every name that --scorer takes: ours, and those of other distributions."""
    return sorted({*SCORERS, *entry_points(group="loadaware.scorers").names})


def _defaults(scorer: str) -> dict[str, dict[str, Any]]:
    """The maps among a scorer's default args, by the names that a configuration uses. Nothing for an unknown name."""
    kind: Any = SCORERS.get(scorer)
    with suppress(Exception):  # one that cannot be loaded is told of when the scorer is made
        kind = kind or next((entry.load() for entry in entry_points(group="loadaware.scorers", name=scorer)), None)
    if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        return {}
    fields = {field.encode_name: _default(field) for field in msgspec.structs.fields(kind)}
    return {name: dict(value) for name, value in fields.items() if isinstance(value, Mapping)}


def _default(field: msgspec.structs.FieldInfo) -> Any:
    return field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()


def _args(settings: Sequence[str], defaults: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """key=value pairs as args; the value is YAML, and a dotted key reaches inside: defaultRequests.cpu=500m leaves
    the rest of the default as it is.
    """
    args: dict[str, Any] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not key or not equals:
            raise ConfigError("--set", "", f"expected KEY=VALUE, not {setting!r}")
        _put(args, key, parse_yaml(value, f"--set {key}"), defaults)
    return args


def _put(args: dict[str, Any], key: str, value: Any, defaults: Mapping[str, Mapping[str, Any]]) -> None:
    *outer, last = key.split(".")
    inside = args
    for depth, name in enumerate(outer):
        inside = inside.setdefault(name, dict(defaults.get(name, {})) if depth == 0 else {})
        if not isinstance(inside, dict):
            raise ConfigError("--set", key, f"{name} is set to a value of its own already")
    inside[last] = value


def load_snapshot(state_file: str | None, config: Config, kubeconfig: str | None, context: str | None) -> Snapshot:
    """From the file, or, without one, one reading of the live cluster. Raises ConfigError or CollectorError."""
    if state_file is not None:
        return load_state(state_file)
    from loadaware.observer_process import Order
    from loadaware.wiring import observe_once

    _greet(kubeconfig, context)
    return observe_once(Order(config, kubeconfig, context))


def _greet(kubeconfig: str | None, context: str | None) -> None:
    """Raise at once what watching would try to outlast: no credentials, wrong ones, nobody there."""
    from collectors.kubernetes_api import Credentials, KubernetesApi

    with KubernetesApi(Credentials(kubeconfig, context)) as api:
        try:
            api.get("/version")
        except SourceRefusedError as error:
            if error.status == 401:
                raise


def score(config: Config, snapshot: Snapshot, pod: Pod, profile: str | None, file: str = "<config>") -> dict[str, Any]:
    """Every node, best first, rejected ones last but scored. Raises ConfigError or UnknownProfileError."""
    from loadaware.isolation import working

    settings = adviser_settings(config, file)
    adviser = Adviser(settings, lambda: snapshot.time)
    adviser.receive(snapshot)
    with working(settings.profiles.values()):
        filtering = adviser.filter(pod, snapshot.names, profile, book=False)
        ranking = adviser.rank(pod, snapshot.names, profile, book=False, explain=True)
    rejected = {**filtering.failed, **filtering.unresolvable}
    order = sorted(ranking.order().tolist(), key=lambda position: ranking.names[position] in rejected)
    return {
        "profile": ranking.profile,
        "nodes": [_entry(ranking, position, rejected) for position in order],
        "skipped": {**filtering.skipped, **ranking.skipped},
    }


def _entry(ranking: Ranking, position: int, rejected: Mapping[str, str]) -> dict[str, Any]:
    name = ranking.names[position]
    return {
        "name": name,
        "score": float(ranking.scores[position]),
        "priority": int(ranking.priorities[position]),
        "scorers": {part.name: _part(part, position) for part in ranking.parts},
        "rejected": rejected.get(name),
    }


def _part(part: Part, position: int) -> dict[str, Any]:
    raw = part.raw[position] if part.raw is not None else np.nan
    return {"score": float(part.score[position]), "raw": None if np.isnan(raw) else _plain(float(raw))}


def _plain(value: float) -> int | float:
    return int(value) if value.is_integer() and abs(value) < 2**63 else value


def print_table(result: Mapping[str, Any], console: "Console | None" = None) -> None:
    """For people. Names are never cut: in a pipe the table is as wide as it must be. Scorers that are many, or would
    not fit the terminal, are numbered and named below.
    """
    from rich.console import Console

    console = console or Console(markup=False, highlight=False)
    if not console.is_terminal:
        console.width = WIDEST
    nodes = result["nodes"]
    names = list(nodes[0]["scorers"]) if nodes else []
    table = _table(nodes, names)
    legend: list[tuple[str, str]] = []
    if len(names) > MOST_NAMED or _width(console, table) > console.width:
        numbers = [f"({number})" for number in range(1, len(names) + 1)]
        table, legend = _table(nodes, numbers), list(zip(numbers, names, strict=True))
    title = f"profile {result['profile']}" + ("; scorer columns show the raw number" if names else "")
    console.print(title, soft_wrap=True)
    console.print(table)
    for number, name in legend:
        console.print(f"{number} {name}", soft_wrap=True)
    for plugin, why in result.get("skipped", {}).items():
        console.print(f"{plugin} had no say: {why}")


def _table(nodes: Sequence[Mapping[str, Any]], headings: Sequence[str]) -> "Table":
    """A row per node; each scorer's column under its heading, in order."""
    from rich.table import Table

    table = Table()
    for heading in ("node", "score", "priority", *headings, "rejected"):
        left = heading in ("node", "rejected")
        table.add_column(heading, justify="left" if left else "right", overflow="fold", min_width=len(heading))
    for node in nodes:
        parts = [_raw_text(part) for part in node["scorers"].values()]
        table.add_row(node["name"], f"{node['score']:.1f}", str(node["priority"]), *parts, node["rejected"] or "")
    return table


def _width(console: "Console", table: "Table") -> int:
    """Columns that a table takes where nothing is folded."""
    return console.measure(table, options=console.options.update(width=WIDEST)).maximum


def _raw_text(part: Mapping[str, Any]) -> str:
    return "not measured" if part["raw"] is None else f"{part['raw']:g}"
