"""`loadaware demand`: what was learned, asked of a running loadaware or read from its file, for people."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from collectors.reading import CPU, MEMORY
from loadaware import asking
from loadaware.errors import ConfigError
from loadaware.server_files import ServerFiles

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

WIDEST = 10_000


def ask_server(
    url: str, sort: str, limit: int, namespace: str | None, files: ServerFiles | None = None
) -> dict[str, Any]:
    """What a running loadaware tells. Raises ConfigError or CollectorError."""
    fields = {"sort": sort, "limit": str(limit), **({"namespace": namespace} if namespace is not None else {})}
    return asking.ask_server(url, "/demand", fields, files)


def read_file(file: str, sort: str, limit: int, namespace: str | None) -> dict[str, Any]:
    """What a saved file tells. Raises ConfigError."""
    from loadaware.demand_format import DemandFormatError, decode
    from loadaware.demand_report import report

    try:
        state = decode(Path(file).read_bytes())
    except (OSError, DemandFormatError) as error:
        problem = f"cannot be read: {error.strerror}" if isinstance(error, OSError) else str(error)
        raise ConfigError(file, "", problem) from error
    try:
        return report(state, sort, limit, namespace)
    except ValueError as error:
        raise ConfigError("--sort", "", str(error)) from error


def print_report(told: Mapping[str, Any], console: "Console | None" = None) -> None:
    """A row per workload and resource. Names are never cut: in a pipe the table is as wide as it must be."""
    from rich.console import Console

    console = console or Console(markup=False, highlight=False)
    if not console.is_terminal:
        console.width = WIDEST
    console.print(_table(told["workloads"]))
    hidden = told["total"] - told["shown"]
    more = f"; {hidden} more: see --limit" if hidden else ""
    console.print(f"{told['total']} workloads{more}", soft_wrap=True)
    for resource, totals in told["totals"].items():
        if resource in (CPU, MEMORY):
            console.print(_sum(resource, totals), soft_wrap=True)


def _table(workloads: list[Mapping[str, Any]]) -> "Table":
    from rich.table import Table

    table = Table()
    for heading in ("workload", "pods", "resource", "request", "mean", "deviation", "samples", "confidence", "advice"):
        left = heading in ("workload", "resource")
        table.add_column(heading, justify="left" if left else "right", overflow="fold")
    for workload in workloads:
        first = workload["workload"], str(workload["pods"])
        for resource, cell in workload["resources"].items():
            table.add_row(*first, resource, *_cells(resource, cell))
            first = "", ""
    return table


def _cells(resource: str, cell: Mapping[str, Any]) -> list[str]:
    requested = amount(resource, cell["requested"]) if cell["requested"] is not None else "none"
    advice = amount(resource, cell["recommended"]) if cell["recommended"] is not None else "not sure yet"
    used = [amount(resource, cell[name]) if cell[name] is not None else "-" for name in ("mean", "deviation")]
    if resource not in (CPU, MEMORY):
        advice = "-"
    return [requested, *used, f"{cell['samples']:.0f}", f"{cell['confidence']:.0%}", advice]


def _sum(resource: str, totals: Mapping[str, Any]) -> str:
    told = {name: amount(resource, totals[name]) for name in ("requested", "giveBack", "lacks", "undeclared")}
    return (
        f"{resource}: {told['requested']} requested, {told['giveBack']} could be given back, {told['lacks']} lacking, "
        f"{told['undeclared']} to be declared by pods without a request; {totals['judged']} workloads judged"
    )


def amount(resource: str, value: float) -> str:
    """As a manifest would say it, in three digits: 250m, 1.5, 640Mi."""
    if resource == CPU:
        return f"{value * 1000:.0f}m" if value < 9.9995 else f"{value:.4g}"
    if resource == MEMORY:
        return f"{value / 2**20:.0f}Mi" if value < 10 * 2**30 else f"{value / 2**30:.4g}Gi"
    return f"{value:.4g}"
