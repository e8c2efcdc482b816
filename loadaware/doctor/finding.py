"""A finding: one line of an examination, with its verdict and what to do about it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["ok", "warn", "fail"]

COLOURS: dict[Verdict, str] = {"ok": "green", "warn": "yellow", "fail": "bold red"}
EXAMPLES = 3
_INDENT = " " * 6


@dataclass(frozen=True)
class Finding:
    """What was looked at, what was found, and the fix if something is to be done."""

    verdict: Verdict
    what: str
    detail: str
    fix: str = ""

    def as_dict(self) -> dict[str, str | None]:
        """For JSON; no fix is null."""
        return {"verdict": self.verdict, "what": self.what, "detail": self.detail, "fix": self.fix or None}


def ok(what: str, detail: str) -> Finding:
    """Nothing to be done."""
    return Finding("ok", what, detail)


def warn(what: str, detail: str, fix: str) -> Finding:
    """It works, but less well than it could, or perhaps not as meant."""
    return Finding("warn", what, detail, fix)


def fail(what: str, detail: str, fix: str) -> Finding:
    """It does not work like this."""
    return Finding("fail", what, detail, fix)


def some(names: Sequence[str]) -> str:
    """A few of many."""
    shown = ", ".join(names[:EXAMPLES])
    return shown if len(names) <= EXAMPLES else f"{shown} and {len(names) - EXAMPLES} more"


def print_findings(findings: Sequence[Finding]) -> None:
    """A line each for people, the fix below it; colours only on a terminal. Nothing is wrapped or cut: fixes are
    there to be copied.
    """
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, markup=False, soft_wrap=True)
    for finding in findings:
        verdict = Text(f"{finding.verdict:<4}", style=COLOURS[finding.verdict])
        console.print(Text.assemble(verdict, "  ", (finding.what, "bold"), ": ", finding.detail))
        if finding.fix:
            console.print(Text(f"{_INDENT}fix: {finding.fix}"))
    counts = {verdict: sum(finding.verdict == verdict for finding in findings) for verdict in COLOURS}
    console.print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
