"""`loadaware explain` and `loadaware shadow`: what a running loadaware tells, for people."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

WIDEST = 10_000


def print_explanation(told: Mapping[str, Any], console: "Console | None" = None) -> None:
    """The sentence, what would have to change, and the table. Names are never cut."""
    console = _console(console)
    console.print(f"{told['pod']}: {told['sentence']}", soft_wrap=True)
    if told.get("toWin"):
        console.print(f"For another node to win: {told['toWin']['words']}.", soft_wrap=True)
    age = told["dataAgeSeconds"]
    measured = "data that never ages" if age is None else f"data {age:.0f} s old"
    console.print(f"profile {told['profile']}, {told['time']}, {measured}, {told['nodesAsked']} nodes", soft_wrap=True)
    if told["nodes"]:
        console.print(_table(told["nodes"], told["chosen"]))
    hidden = told["nodesAsked"] - len(told["nodes"]) if told["nodes"] else 0
    if hidden > 0:
        console.print(f"{hidden} more nodes: see --nodes")
    for node, reason in told["rejected"].items():
        console.print(f"{node} was rejected: {reason}", soft_wrap=True)


def explain_fields(pod: str, node: str | None, nodes: int | None) -> Mapping[str, str]:
    """The query of /explain."""
    given = {"pod": pod, "node": node, "nodes": None if nodes is None else str(nodes)}
    return {name: value for name, value in given.items() if value is not None}


def print_shadow(told: Mapping[str, Any], console: "Console | None" = None) -> None:
    """A row per comparison."""
    from rich.table import Table

    console = _console(console)
    shadows = ", ".join(told["shadows"]) or "none"
    console.print(f"mode {told['mode']}; profiles in shadow: {shadows}; {told['dropped']} requests left out")
    if not told["comparisons"]:
        console.print("nothing was compared yet")
        return
    table = Table()
    for heading in ("profile", "beside", "requests", "same first choice", "rank correlation", "cpu load difference"):
        table.add_column(heading, justify="left" if heading in ("profile", "beside") else "right", overflow="fold")
    for one in told["comparisons"]:
        correlation, difference = one["rankCorrelation"], one["loadDifference"]
        table.add_row(
            one["profile"],
            one["with"],
            str(one["requests"]),
            f"{one['agreement']:.1%}",
            "-" if correlation is None else f"{correlation:.2f}",
            "-" if difference is None else f"{100 * difference:+.2f} points",
        )
    console.print(table)


def _table(nodes: Sequence[Mapping[str, Any]], chosen: str | None) -> "Table":
    from rich.table import Table

    scorers, resources = list(nodes[0]["scorers"]), list(nodes[0]["predicted"])
    table = Table()
    headings = ("node", "score", "priority", *scorers, *resources, "in flight", "age", "rung")
    for heading in headings:
        left = heading in ("node", "rung")
        table.add_column(heading, justify="left" if left else "right", overflow="fold", min_width=len(heading))
    for node in nodes:
        table.add_row(
            node["node"] + (" (chosen)" if node["node"] == chosen else ""),
            f"{node['score']:.1f}",
            str(node["priority"]),
            *(_part(node["scorers"][scorer]) for scorer in scorers),
            *(_load(node["predicted"][resource]) for resource in resources),
            "-" if node["inFlightCores"] is None else f"{node['inFlightCores']:.2f}",
            "-" if node["ageSeconds"] is None else f"{node['ageSeconds']:.0f} s",
            node["rung"],
        )
    return table


def _part(part: Mapping[str, Any]) -> str:
    raw = "" if part["raw"] is None else f" ({part['raw']:g})"
    return f"{part['score']:.1f}{raw}"


def _load(predicted: Mapping[str, Any]) -> str:
    load, deviation = predicted["utilization"], predicted["deviation"]
    if load is None:
        return "not measured"
    return f"{100 * load:.0f} %" + ("" if deviation is None else f" ± {100 * deviation:.0f}")


def _console(console: "Console | None") -> "Console":
    from rich.console import Console

    console = console or Console(markup=False, highlight=False)
    if not console.is_terminal:
        console.width = WIDEST
    return console
