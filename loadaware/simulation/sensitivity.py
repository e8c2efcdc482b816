"""Other circumstances, by name: does a policy still hold when the setting in which it was measured is another?

Each changes few numbers of a setup and leaves the rest. They can be combined.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from loadaware.config_problems import nearest
from loadaware.errors import ConfigError
from loadaware.simulation.policies import Restart
from loadaware.simulation.settings import ArrivalSettings, WorkloadSettings
from loadaware.simulation.stage import Setup

Change = Callable[[Setup], Setup]


@dataclass(frozen=True)
class Circumstance:
    """A change of a setup, and what it means."""

    meaning: str
    change: Change


def apply(setup: Setup, names: Iterable[str], where: str = "--setting") -> Setup:
    """The setup under these circumstances, one after the other. Raises ConfigError for an unknown name."""
    for name in names:
        if name not in CIRCUMSTANCES:
            raise ConfigError(where, "", f"there is no setting called {name!r}", nearest(name, CIRCUMSTANCES))
        setup = CIRCUMSTANCES[name].change(setup)
    return setup


def _scenario(part: str, **values: Any) -> Change:
    """Other numbers in one part of the scenario's settings."""
    return lambda setup: replace(setup, scenario=_with(setup.scenario, part, values))


def _engine(part: str, **values: Any) -> Change:
    """Other numbers in one part of the engine's settings."""
    return lambda setup: replace(setup, engine=_with(setup.engine, part, values))


def _with(settings: Any, part: str, values: Mapping[str, Any]) -> Any:
    return replace(settings, **{part: replace(getattr(settings, part), **values)})


def _restarted(setup: Setup, *, keep_learned: bool) -> Setup:
    restart = Restart(setup.engine.warm_up_seconds, keep_learned)
    return replace(setup, engine=replace(setup.engine, restart=restart))


def _before_limits(setup: Setup) -> Setup:
    return replace(setup, scenario=replace(setup.scenario, load_before_limits=True))


def _smoothing(seconds: float) -> Change:
    return lambda setup: replace(setup, smoothing_seconds=seconds)


_LIFE = ArrivalSettings().lifetime_median_seconds
_REQUEST = WorkloadSettings()

SENSITIVITY: Mapping[str, Circumstance] = {
    "all-new": Circumstance(
        "every workload that arrives is new: nothing can be recalled", _scenario("arrivals", new_share=1.0)
    ),
    "none-new": Circumstance("every workload that arrives was seen before", _scenario("arrivals", new_share=0.0)),
    "low-churn": Circumstance(
        "pods live three times as long", _scenario("arrivals", lifetime_median_seconds=3.0 * _LIFE)
    ),
    "high-churn": Circumstance("pods live a third as long", _scenario("arrivals", lifetime_median_seconds=_LIFE / 3.0)),
    "uncorrelated": Circumstance("replicas peak each at its own time", _scenario("workloads", shared=0.0)),
    "smoothed": Circumstance("usage through a running mean of one hour: no spikes", _smoothing(3600.0)),
    "20-nodes": Circumstance(
        "20 nodes instead of 100, and no burst is cut to fit: one can be a large part of the cluster",
        lambda setup: _scenario("arrivals", largest_burst=1.0)(_scenario("machines", nodes=20)(setup)),
    ),
    "tight": Circumstance(
        "requests fill 88 % of the cluster: little choice is left", _scenario("arrivals", requests=0.88)
    ),
    "small-pods": Circumstance(
        "pods request half as much, so there are twice as many",
        _scenario(
            "workloads",
            request_median_cores=_REQUEST.request_median_cores / 2.0,
            request_least_cores=_REQUEST.request_least_cores / 2.0,
            request_most_cores=_REQUEST.request_most_cores / 2.0,
        ),
    ),
    "stale": Circumstance("metrics come 5 minutes late", _engine("timing", late_seconds=300.0)),
    "fresh": Circumstance(
        "metrics come every 30 s and 30 s late", _engine("timing", late_seconds=30.0, publish_seconds=30.0)
    ),
}
"""The settings of which the worst is the headline."""

ROBUSTNESS: Mapping[str, Circumstance] = {
    "restart": Circumstance(
        "loadaware restarts when the measured time begins, what it learned was saved",
        lambda setup: _restarted(setup, keep_learned=True),
    ),
    "amnesia": Circumstance(
        "loadaware restarts when the measured time begins and has forgotten everything",
        lambda setup: _restarted(setup, keep_learned=False),
    ),
    "blind-third": Circumstance(
        "a third of the nodes, and the pods on them, are never measured", _engine("blind", nodes=1 / 3)
    ),
    "no-pod-metrics": Circumstance("only nodes are measured, no pods", _engine("blind", pods=True)),
    "nameless": Circumstance("names tell nothing to the learner", _engine("demand", names=False)),
    "hungry-memory": Circumstance(
        "nodes have 2.5 GiB a core instead of 4, and pods use 1.6 times the memory: often more than they request",
        lambda setup: _scenario("workloads", memory_scale=1.6)(_scenario("machines", gibibytes_per_core=2.5)(setup)),
    ),
    "late-watch": Circumstance(
        "a binding is heard of after 2 s instead of 0.1 s", _engine("timing", watch_seconds=2.0)
    ),
    "failing-nodes": Circumstance(
        "a node fails about every hour, for about 15 minutes", _scenario("failures", per_day=24.0)
    ),
}
"""Things that go wrong."""

PUBLISHED: Mapping[str, Circumstance] = {
    "prototype": Circumstance(
        "as where EntropicRisk was found: all sizes of bursts as likely, no Jobs, the load counted before any limit",
        lambda setup: _before_limits(
            _scenario("arrivals", even_bursts=True)(_scenario("workloads", jobs=False)(setup))
        ),
    ),
}
"""Where others measured: to compare figures with."""

CIRCUMSTANCES: Mapping[str, Circumstance] = {**SENSITIVITY, **ROBUSTNESS, **PUBLISHED}
