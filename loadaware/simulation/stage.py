"""Where policies are compared: a scenario made from its settings and a seed, and what the references share of it."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from collectors.reading import Floats
from loadaware.simulation.curves import DAY_SECONDS, Curves
from loadaware.simulation.engine import EngineSettings
from loadaware.simulation.futures import Futures, foresee
from loadaware.simulation.generator import fit_load, generate
from loadaware.simulation.noise import Ints
from loadaware.simulation.offline import Plan, make_plan
from loadaware.simulation.scenario import Scenario
from loadaware.simulation.settings import ScenarioSettings
from loadaware.simulation.traces import Traces

SMOOTHING_POINTS = 12
"""Of a generated curve, averaged where a recorded one has a running mean over its columns."""


@dataclass(frozen=True)
class Setup:
    """Everything about a run but its seed, its day and its policy."""

    scenario: ScenarioSettings = field(default_factory=ScenarioSettings)
    engine: EngineSettings = field(default_factory=EngineSettings)
    smoothing_seconds: float = 0.0
    """Usage is seen through a running mean of this length; 0: as it is."""


@dataclass(frozen=True, eq=False)
class Stage:
    """A scenario for any number of policies. What the references know is worked out once, when first asked for."""

    setup: Setup
    scenario: Scenario
    seed: int

    @cached_property
    def futures(self) -> Futures:
        """What every pod will use."""
        return foresee(self.scenario, self.setup.engine.timing)

    @cached_property
    def plan(self) -> Plan:
        """Where each pod goes if everything is known."""
        return make_plan(self.scenario, self.futures, self.seed)


@dataclass(frozen=True, eq=False)
class SmoothedCurves:
    """Other curves through a running mean."""

    curves: Curves
    seconds: float

    def level(self, curves: Ints, times: Floats) -> Floats:
        """The mean of a number of points around each time."""
        around = self.seconds * ((np.arange(SMOOTHING_POINTS) + 0.5) / SMOOTHING_POINTS - 0.5)
        return np.asarray(np.mean([self.curves.level(curves, times + shift) for shift in around], axis=0))


def make_stage(setup: Setup, traces: Traces | None, seed: int) -> Stage:
    """The same setup, day and seed give the same stage. Raises UnreachableLoadError."""
    random = np.random.default_rng(seed)
    if not setup.smoothing_seconds:
        return Stage(setup, generate(setup.scenario, random, traces), seed)
    if traces is not None:
        columns = round(traces.levels.shape[1] * setup.smoothing_seconds / DAY_SECONDS)
        return Stage(setup, generate(setup.scenario, random, traces.smoothed(max(columns, 1))), seed)
    rough = generate(setup.scenario, random)
    smooth = replace(rough, curves=SmoothedCurves(rough.curves, setup.smoothing_seconds))
    return Stage(setup, fit_load(smooth), seed)


def day_of(days: tuple[Traces, ...], seed: int) -> Traces | None:
    """The recorded day that a seed uses: one after the other, then from the first again. None without recordings."""
    return days[seed % len(days)] if days else None
