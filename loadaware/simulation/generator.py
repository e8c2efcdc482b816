"""From a seed to a whole scenario: machines, workloads, arrivals, curves, failures, and the scale that meets the load.

The bargain: the same settings and seed give the same scenario, down to each pod's usage at each moment, and nothing
in it depends on placement. Each part draws from a stream of its own, so that more nodes failing, say, leaves the
arrivals as they were. How names relate to use is told in catalogue.py, how use runs over time in curves.py, who
comes when in arrivals.py.
"""

from dataclasses import dataclass, replace

import numpy as np

from collectors.reading import Floats
from loadaware.errors import LoadAwareError
from loadaware.simulation.arrivals import ArrivalProcess, Arrivals
from loadaware.simulation.catalogue import Catalogue, Workload
from loadaware.simulation.curves import GeneratedCurves
from loadaware.simulation.machines import draw_failures, draw_machines
from loadaware.simulation.noise import Ints, draw_seeds
from loadaware.simulation.scenario import Scenario
from loadaware.simulation.settings import ScenarioSettings
from loadaware.simulation.traces import RecordedCurves, Traces

LOAD_SAMPLES = 200
"""Moments at which the demand is looked at to find the scale."""
LARGEST_SCALE = 100.0


class UnreachableLoadError(LoadAwareError, ValueError):
    """No scale meets the load: the pods' limits are below it, or what the nodes use by themselves is above it."""

    def __init__(self, load: float, least: float, most: float) -> None:
        reason = f"these pods use at most {most:.0%}" if load > most else f"nodes without pods use {least:.1%}"
        super().__init__(f"a load of {load:.0%} cannot be met: {reason} of the cluster")
        self.load = load


def generate(settings: ScenarioSettings, random: np.random.Generator, traces: Traces | None = None) -> Scenario:
    """Draw a scenario. Raises UnreachableLoadError if no scale meets the load.

    With recorded traces, workloads and pods follow machines of that day, and names tell nothing about usage.
    """
    if traces is not None:
        settings = replace(settings, workloads=replace(settings.workloads, named=0.0))
    for_machines, for_workloads, for_arrivals, for_curves, for_failures = random.spawn(5)
    machines = draw_machines(settings.machines, for_machines)
    catalogue = Catalogue(settings.workloads, for_workloads)
    process = ArrivalProcess(settings.arrivals, float(machines.cores.sum()), catalogue, for_arrivals)
    arrivals = process.run(len(machines), settings.start, settings.end)
    scenario = Scenario(
        settings=settings,
        machines=machines,
        workloads=tuple(process.workloads),
        arrivals=arrivals,
        failures=draw_failures(settings.failures, len(machines), settings.start, settings.end, for_failures),
        curves=(
            draw_curves(process.workloads, arrivals, for_curves)
            if traces is None
            else follow(traces, len(process.workloads) + len(arrivals), for_curves)
        ),
        seeds=draw_seeds(for_curves, len(arrivals)),
    )
    return fit_load(scenario)


def draw_curves(workloads: list[Workload], arrivals: Arrivals, random: np.random.Generator) -> GeneratedCurves:
    """One curve for each workload, then one for each pod, akin to its workload's."""
    shared = GeneratedCurves(
        pattern=np.array([int(w.pattern) for w in workloads], dtype=np.int64),
        seed=draw_seeds(random, len(workloads)),
        peak=np.array([w.peak_seconds for w in workloads]),
        depth=np.array([w.depth for w in workloads]),
        slot_seconds=np.array([w.slot_seconds for w in workloads]),
        busy=np.array([w.busy for w in workloads]),
    )
    seeds = draw_seeds(random, len(arrivals))
    return shared.followed_by(shared.like(arrivals.workload, seeds, random.normal(0.0, 900.0, len(arrivals))))


def follow(traces: Traces, curves: int, random: np.random.Generator) -> RecordedCurves:
    """A machine for each workload, then one for each pod, any of them as likely as any other."""
    return RecordedCurves(traces, random.integers(len(traces.levels), size=curves))


def fit_load(scenario: Scenario) -> Scenario:
    """The same scenario, its usage scaled so that the average demand is the load asked for."""
    load, demand = scenario.settings.load, Demand.of(scenario)
    low, high = 0.0, LARGEST_SCALE
    least, most = demand.at(low), demand.at(high)
    if not least <= load <= most:
        raise UnreachableLoadError(load, least, most)
    while high - low > 1e-5 * high:
        middle = (low + high) / 2.0
        low, high = (middle, high) if demand.at(middle) < load else (low, middle)
    return scenario.scaled(high)


@dataclass(frozen=True, eq=False)
class Demand:
    """The demand for CPU if every pod ran all its life, looked at in a number of moments; what counts as such is the
    settings' choice.
    """

    appetite: Floats
    most_cores: Floats
    overhead: float
    cores: float

    @classmethod
    def of(cls, scenario: Scenario) -> "Demand":
        """In the time for which the settings ask for a load."""
        machines = scenario.machines
        times = np.linspace(*scenario.settings.load_between, LOAD_SAMPLES, endpoint=False)
        there = [_alive(scenario.arrivals, time) for time in times]
        appetites = [scenario.appetite(pods, time) for pods, time in zip(there, times, strict=True)]
        appetite, bare = np.concatenate(appetites), scenario.settings.load_before_limits
        return cls(
            appetite=appetite,
            most_cores=(
                np.full(appetite.shape, np.inf)
                if bare
                else np.concatenate([scenario.most_cores(pods) for pods in there])
            ),
            overhead=0.0 if bare else float(machines.overhead_cores.sum()),
            cores=float(machines.cores.sum()),
        )

    def at(self, scale: float) -> float:
        """The average as a share of all cores."""
        wanted = np.minimum(scale * self.appetite, self.most_cores).sum() / LOAD_SAMPLES
        return (float(wanted) + self.overhead) / self.cores


def _alive(arrivals: Arrivals, time: float) -> Ints:
    return np.flatnonzero((arrivals.arrival <= time) & (arrivals.departure > time))
