"""docs/plugins.md: every filter and scorer, from its class. The words live in the code: docstring, `when`, `beware`."""

import inspect
import re
import sys
import textwrap
import typing
from collections.abc import Iterator, Mapping

import msgspec
from make_tables import HEADING, FieldDocs, field_docs, rows

from loadaware.breaker import FAILURES, OFF_SECONDS, Breaker
from loadaware.config import PluginReference
from loadaware.filters import FILTERS
from loadaware.filters.filter import Filter
from loadaware.quantities import format_duration
from loadaware.scorers import SCORERS
from loadaware.scorers.scorer import CountsInFlight, Scorer

Plugin = Scorer | Filter

OPENING = """# Filters and scorers

A filter says which nodes a pod must not go to, a scorer how well each of the others suits it. A profile names the ones
that apply to the pods of one `schedulerName`:

```yaml
profiles:
- schedulerName: default-scheduler
  combine: Weighted
  filters:
  - name: UsageThreshold
    args: {{thresholds: {{cpu: 80}}}}
  scorers:
  - name: LoadVariationRiskBalancing
    weight: 2
  - name: NetworkCost
    args: {{sameZone: 2}}
```

Every scorer gives each node a number in 0..100. `combine` makes one of them: `Weighted` (by their weights), `Mean` (all
alike) or `Minimum` (the worst alone: a node must please everyone). On the wire that becomes a whole number in
0..`maxScore`. Filters apply in their order, load rules last: if these would reject every node that is left, the
`leastPassing` least loaded ones pass all the same and the answer is marked. Other rules may empty the list.

What was not measured is decided once, for all of them: a scorer leaves the node out (it gets the median of the others),
a load rule lets it pass. See [how it works](how-it-works.md); every setting is in [configuration](configuration.md).
`loadaware score` shows what each scorer gives each node, as `raw` in the words of the system it comes from.

## Extension points

| in the scheduling framework | here |
|---|---|
| preFilter | `Filter.pre_filter(pod)`: a reason why the pod may go nowhere, before any node is looked at |
| filter | `Filter.rejects(nodes, pod)` and `reasons(nodes, pod)`; `/filter` on the wire |
| preScore | nothing to write: what depends on the nodes alone (statistics, sums, labels) comes ready in the snapshot |
| score | `Scorer.score(nodes, pod)`; `/prioritize` on the wire |
| normalize | `Scorer.normalize(scores)`, over the nodes asked about |
| reserve | the pod is booked in flight when it is ranked, when `/bind` binds it, \
and when the watch tells of its binding, \
with what the scorer's `demand(shape)` expects of it |
| bind | `/bind`, through the API server |

## Others' plugins

A distribution offers plugins by the entry point groups `loadaware.scorers` and `loadaware.filters`; installed beside
loadaware, they are named in a profile like ours. Their fields are their args: typed, checked when the configuration is
read, refused with the path of the mistake. [The example](../examples/loadaware-example-plugin) has one of each. A name
of the tables below always means ours.

## When a plugin fails

One that raises, or answers nonsense (not one float per node, a score outside 0..100, a rejection without a reason), is
skipped for that request: a skipped scorer's weight does not count, a skipped filter rejects nobody, and the
explanation names it. One that takes longer than {budget:.0f} ms is late: its answer is used, but it counts as a
failure. After {failures} failures in a row it is switched off for {off:.0f} seconds, then tried again. Every failure is
counted by plugin and kind.

`isolated: true` runs a plugin in a worker process: each call sends the nodes asked about and the pod there and waits
`deadline` ({deadline} by default). A worker that is late or dies is ended and started anew, and until it is ready the
plugin is skipped: even one that hangs harms nobody. It costs a journey between processes per call, and an isolated
plugin sees only the nodes asked about: neither recent bindings nor where other applications run. A longer `deadline`
does not lift the {budget:.0f} ms above.

<!-- Below: made by docs/make_plugins.py from loadaware/filters and loadaware/scorers. -->
"""


def plugins_page() -> str:
    """The whole of docs/plugins.md."""
    deadline = next(f.default for f in msgspec.structs.fields(PluginReference) if f.name == "deadline")
    opening = OPENING.format(
        budget=Breaker.budget_seconds * 1000, failures=FAILURES, off=OFF_SECONDS, deadline=format_duration(deadline)
    )
    return "\n".join([opening, *_group("Filters", FILTERS), *_group("Scorers", SCORERS)]).rstrip() + "\n"


def _group(heading: str, table: Mapping[str, type[Plugin]]) -> Iterator[str]:
    links = ", ".join(f"[{name}](#{name.lower()})" for name in table)
    yield from (f"## {heading}", "", textwrap.fill(links, 120, break_long_words=False, break_on_hyphens=False), "")
    for name, kind in table.items():
        yield from _plugin(name, kind)


def _plugin(name: str, kind: type[Plugin]) -> Iterator[str]:
    yield from (f"### {name}", "", _as_markdown(inspect.getdoc(kind) or ""), "")
    for facts in (_facts(kind), f"**Use it when.** {kind.when}", f"**Beware.** {kind.beware}"):
        yield from (textwrap.fill(facts, 120, break_on_hyphens=False), "")
    parts = list(_structs(kind))
    docs = field_docs(*{sys.modules[part.__module__] for part in parts})
    for part in parts:
        yield from _settings(part, docs, inner=part is not kind)


def _settings(kind: type[msgspec.Struct], docs: FieldDocs, *, inner: bool) -> Iterator[str]:
    if inner:
        yield from (f"#### {kind.__name__}", "", " ".join((inspect.getdoc(kind) or "").split()), "")
    lines = rows(kind, docs)
    yield from ([*HEADING, *lines, ""] if lines else ["It takes no args.", ""])


def _facts(kind: type[Plugin]) -> str:
    """What kind of plugin it is, by its class."""
    if issubclass(kind, Filter):
        load = "A load rule: it never empties the list." if kind.load_rule else "It may empty the list."
        resolvable = "Evicting pods would not help" if kind.unresolvable else "Evicting pods may help"
        return f"{load} {resolvable}, and kube-scheduler is told so."
    return f"It counts {'' if issubclass(kind, CountsInFlight) else 'no '}pods in flight as usage."


def _structs(kind: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    """The class and those that its args are made of, outermost first, each once."""
    waiting, seen = [kind], set()
    while waiting:
        this = waiting.pop(0)
        if this in seen:
            continue
        seen.add(this)
        yield this
        waiting += [part for hint in typing.get_type_hints(this).values() for part in _structs_in(hint)]


def _structs_in(hint: object) -> Iterator[type[msgspec.Struct]]:
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        yield hint
    for argument in typing.get_args(hint):
        yield from _structs_in(argument)


def _as_markdown(docstring: str) -> str:
    """A docstring whose indented paragraphs become code blocks."""
    paragraphs = re.split(r"\n\n+", docstring)
    return "\n\n".join(f"```\n{textwrap.dedent(p)}\n```" if p.startswith("    ") else p for p in paragraphs)
