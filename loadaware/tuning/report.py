"""The report of a search, in Markdown (pictures beside it) and as one HTML page that needs nothing else."""

import math
from collections.abc import Mapping, Sequence
from html import escape

from loadaware.tuning import plots
from loadaware.tuning.result import TuneResult, in_words
from loadaware.tuning.source import MEANINGS
from loadaware.tuning.verdict import WORDS

CAPTIONS = {
    "before_after": "Before and after",
    "history": "The search",
    "importance": "What mattered",
    "front": "Pareto front",
    "coordinates": "All trials",
}

PAGE_STYLE = """
  :root { color-scheme: light dark;
          --text: #1f2733; --muted: #5b6573; --line: #d5dbe3; --page: #ffffff; --code: #f3f5f8; }
  @media (prefers-color-scheme: dark) {
    :root { --text: #d6dde6; --muted: #9aa4b0; --line: #3a434f; --page: #14181f; --code: #1e242d; }
  }
  body { font: 16px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif; color: var(--text);
         background: var(--page); max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
  table { border-collapse: collapse; font-variant-numeric: tabular-nums; display: block; overflow-x: auto; }
  th, td { border-bottom: 1px solid var(--line); padding: .3rem .8rem; text-align: right; }
  th:first-child, td:first-child { text-align: left; }
  pre { background: var(--code); padding: .8rem 1rem; overflow-x: auto; border-radius: 6px; }
  .warning { border-left: 4px solid #e0653a; padding: .2rem .9rem; margin: .6rem 0; }
  .good { border-left: 4px solid #3fa45b; padding: .2rem .9rem; margin: .6rem 0; }
  figure { margin: 1.2rem 0; overflow-x: auto; } figcaption, .muted { color: var(--muted); }
"""


def pictures(result: TuneResult) -> dict[str, str]:
    """Every picture that there is something to draw for, as SVG, by name."""
    objective = result.objectives[0]
    drawn = {}
    if result.compared:
        drawn["before_after"] = plots.before_after(result.compared)
    drawn["history"] = plots.history(result.finished, result.base, objective)
    drawn["importance"] = plots.importance(result.importance)
    if len(result.objectives) > 1:
        drawn["front"] = plots.pareto(result.finished, result.base, result.objectives, result.best.number)
    if result.finished:
        drawn["coordinates"] = plots.coordinates(result.finished, result.parameters, objective)
    return drawn


def headline(result: TuneResult) -> str:
    """The answer in one sentence."""
    if not result.found:
        return "Nothing better was found than the configuration it began with."
    if not result.compared:
        return f"Trial {result.best.number} is the best so far; it is not tested yet."
    said = "; ".join(f"{name} {in_words(one)}" for name in result.objectives if (one := result.of(name)) is not None)
    begun = (
        "The tuned configuration beats what it began with"
        if result.better
        else ("The tuned configuration is not shown to beat what it began with")
    )
    return f"{begun}, on cases it has not seen: {said}."


def _facts(result: TuneResult) -> list[str]:
    given_up = sum(one.given_up for one in result.finished)
    seconds = sum(one.seconds for one in (*result.finished, result.base))
    objectives = "; ".join(f"{name} ({MEANINGS.get(name, name)})" for name in result.objectives)
    return [
        f"Judged on: {result.title}",
        f"Objective: {objectives}; in percent, lower is better",
        f"Trials: {len(result.finished)}, of which {given_up} were given up early; seed {result.seed}; "
        f"{seconds / 3600:.2f} hours of computing",
        f"Searched on {len(result.train_cases)}: {_some(result.train_cases)}",
        f"Tested on {len(result.test_cases)}: {_some(result.test_cases)}",
    ]


def _some(names: Sequence[str], most: int = 8) -> str:
    return "; ".join(names[:most]) + ("; ..." if len(names) > most else "")


HEADINGS = ("figure", "before", "after", "gain", "95 % interval", "pairs won", "verdict")


def _table(result: TuneResult) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for one in result.compared:
        gain, duel = one.gain, one.duel
        known = not math.isnan(gain.value)
        rows.append((
            one.figure, f"{one.before.mean():.3f}", f"{one.after.mean():.3f}",
            f"{gain.value:+.1f} %" if known else "-", f"{gain.low:+.1f} .. {gain.high:+.1f} %" if known else "-",
            f"{duel.won} of {len(one.before)}", WORDS[one.verdict],
        ))  # fmt: skip
    return rows


EXPLANATION = (
    "Gain is how much lower a figure is, in percent of what it was. Pairs are runs of both on the same day, arrivals "
    "and usage (or the same block of time of a history); the interval draws whole pairs. A verdict of better or worse "
    "means that the interval of the mean difference leaves 0 out. Figures that were no objective are many: one in "
    "twenty differs by luck."
)


def markdown(result: TuneResult, config_text: str, drawn: Mapping[str, str]) -> str:
    """Pictures are files beside it."""
    lines = ["# What tuning found", "", f"**{headline(result)}**", ""]
    lines += [f"> **Beware.** {warning}\n" for warning in result.warnings]
    lines += [*(f"- {fact}" for fact in _facts(result)), ""]
    if result.compared:
        lines += ["| " + " | ".join(HEADINGS) + " |", "|---|" + "---:|" * (len(HEADINGS) - 1)]
        lines += ["| " + " | ".join(row) + " |" for row in _table(result)]
        lines += ["", EXPLANATION, ""]
    lines += ["## The configuration", "", "```yaml", config_text.rstrip(), "```", ""]
    lines += [f"## {CAPTIONS[name]}\n\n![{CAPTIONS[name]}]({name}.svg)\n" for name in drawn]
    lines += _limits(result)
    return "\n".join(lines).rstrip() + "\n"


def _limits(result: TuneResult) -> list[str]:
    return ["## What this cannot know", "", *(f"- {remark}" for remark in result.remarks), ""] if result.remarks else []


def html(result: TuneResult, config_text: str, drawn: Mapping[str, str]) -> str:
    """One page, pictures in it, light and dark."""
    style = "good" if result.better else "warning"
    parts = ["<h1>What tuning found</h1>", f'<p class="{style}"><strong>{escape(headline(result))}</strong></p>']
    parts += [f'<p class="warning">{escape(warning)}</p>' for warning in result.warnings]
    parts.append("<ul>" + "".join(f"<li>{escape(fact)}</li>" for fact in _facts(result)) + "</ul>")
    if result.compared:
        head = "".join(f"<th>{escape(heading)}</th>" for heading in HEADINGS)
        rows = "".join("<tr>" + "".join(f"<td>{escape(c)}</td>" for c in row) + "</tr>" for row in _table(result))
        parts.append(f'<table><tr>{head}</tr>{rows}</table><p class="muted">{escape(EXPLANATION)}</p>')
    parts.append(f"<h2>The configuration</h2><pre>{escape(config_text)}</pre>")
    for name, picture in drawn.items():
        parts.append(f"<h2>{escape(CAPTIONS[name])}</h2><figure>{picture}</figure>")
    if result.remarks:
        parts.append("<h2>What this cannot know</h2><ul>")
        parts.append("".join(f"<li>{escape(remark)}</li>" for remark in result.remarks) + "</ul>")
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    title = "<title>What tuning found</title>"
    body = "\n".join(parts)
    begun = f'<!doctype html>\n<html lang="en">\n<head>{head}{title}<style>{PAGE_STYLE}</style></head>'
    return f"{begun}\n<body>\n{body}\n</body>\n</html>\n"
