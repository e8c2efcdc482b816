"""docs/benchmarks/wire.md, written from what was measured: what must hold first, then the tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.benchmarks.pages import measured_here, table
from tests.benchmarks.wire_figures import Figures, Ratio, ratio

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks" / "wire.md"
Case = Mapping[str, Figures]
"""By server."""


@dataclass
class Report:
    """Parts of the page, in the order in which they were measured."""

    headline: list[tuple[str, str, str]] = field(default_factory=list)
    """What must hold, what was measured, and yes or no."""
    parts: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def must(self, what: str, measured: str, *, holds: bool) -> None:
        self.headline.append((what, measured, "yes" if holds else "**no**"))

    def table(self, title: str, text: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        self.parts.append(f"## {title}\n\n{text}\n\n{table(head, rows)}\n")

    def compared(self, title: str, text: str, cases: Mapping[str, Case]) -> None:
        """A table of servers side by side."""
        head = ["request", "server", "p50 ms", "p99", "p99.9", "CPU ms", "resident MB", "Go / loadaware at p50"]
        self.table(title, text, head, [row for name, case in cases.items() for row in _compared(name, case)])

    def write(self, path: Path = PAGE) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.text(), encoding="utf-8")

    def text(self) -> str:
        headline = table(["must hold", "measured", "holds"], self.headline)
        notes = [f"- {note}" for note in self.notes]
        return "\n".join([INTRODUCTION, "", headline, "", measured_here(), "", *notes, "", *self.parts]).rstrip() + "\n"


INTRODUCTION = """# The wire, measured against Go

Written by `make benchmark`. loadaware scores with EntropicRisk; the extender in Go (`tests/parts/go-extender`:
net/http, encoding/json, the official types) looks its scores up in a ready table. Both answer the same requests in one
run, taking turns; the client's own cost is in every figure, and the echo server's time is the floor."""


def _compared(name: str, case: Case) -> list[list[str]]:
    rows = []
    for server, figures in case.items():
        against = str(times_faster(case)) if server == "loadaware" and "Go" in case else ""
        latencies = [f"{figures.percentile(percent):.2f}" for percent in (50, 99, 99.9)]
        resident = f"{figures.resident_bytes / 1e6:.0f}" if figures.resident_bytes else ""
        rows.append([name, server, *latencies, f"{figures.cpu_milliseconds():.2f}", resident, against])
    return rows


def times_faster(case: Case) -> Ratio:
    """Go's median by loadaware's."""
    return ratio(case["Go"].medians(), case["loadaware"].medians())
