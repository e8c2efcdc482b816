"""What metrics-server would say of a simulated cluster: samples, published now and then, and late.

A sample covers one step and carries the time of its end. Every `publish_seconds` the newest sample that is at least
`late_seconds` old goes out as a reading; a source that is quicker or slower is a matter of these two numbers. A pod
that has not begun to work is not listed, as metrics-server lists none before its containers were sampled.
"""

from collections import deque
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from collectors.reading import CPU, MEMORY, Floats, Measurements, Reading

SOURCE = "simulation"

Bools = npt.NDArray[np.bool_]
Names = npt.NDArray[np.object_]
"""Strings, as an array that can be picked from by number."""


@dataclass(frozen=True)
class Timing:
    """When things are measured, told and begun, in seconds."""

    step_seconds: float = 30.0
    """Usage is constant within a step, and one step is one sample."""
    publish_seconds: float = 60.0
    late_seconds: float = 60.0
    watch_seconds: float = 0.1
    """From a binding (or any other change) to the watch telling of it."""
    start_seconds: tuple[float, float] = (30.0, 60.0)
    """From a pod's binding to its first work, rounded up to the next step."""
    finished_seconds: float = 60.0
    """How long a finished Job's pod is still there."""


@dataclass(frozen=True)
class Blind:
    """What nobody measures."""

    nodes: float = 0.0
    """Share of the nodes that are never measured, nor the pods on them."""
    pods: bool = False
    """No pod is measured, only nodes."""

    def seen(self, count: int) -> Bools:
        """Which nodes are measured: the others lie evenly among them."""
        numbers = np.arange(count + 1) * self.nodes
        return np.asarray(np.diff(np.floor(numbers + 1e-9)) == 0)


@dataclass(frozen=True, eq=False)
class Sample:
    """What nodes and pods really used in one step. Usage is (name, resource), throttled."""

    time: float
    """The end of the step."""
    nodes: Names
    node_usage: Floats
    pods: Names | None
    """None: pods are not measured."""
    pod_usage: Floats


class Metering:
    """Keeps samples until they are due."""

    def __init__(self, timing: Timing, start: float) -> None:
        self._timing = timing
        self._next = start + timing.publish_seconds
        self._samples: deque[Sample] = deque()

    def awaits(self, time: float) -> bool:
        """Whether a sample that ends then will be published: the next one would come too late to take its place."""
        timing = self._timing
        due = self._next - timing.late_seconds
        if time <= due:
            return time + timing.step_seconds > due
        later = (due - time) % timing.publish_seconds
        return later < timing.step_seconds

    def add(self, sample: Sample) -> None:
        """A step was measured."""
        self._samples.append(sample)

    def publish(self, now: float) -> list[Reading]:
        """The readings that have come out by now, oldest first."""
        readings = []
        while self._next <= now:
            if (sample := self._newest(self._next - self._timing.late_seconds)) is not None:
                readings.append(self._reading(sample, self._next))
            self._next += self._timing.publish_seconds
        return readings

    def _newest(self, before: float) -> Sample | None:
        while len(self._samples) > 1 and self._samples[1].time <= before:
            self._samples.popleft()
        return self._samples[0] if self._samples and self._samples[0].time <= before else None

    def _reading(self, sample: Sample, time: float) -> Reading:
        return Reading(
            source=SOURCE,
            time=time,
            resources=(CPU, MEMORY),
            nodes=self._measurements(sample.nodes, sample.node_usage, sample.time),
            pods=None if sample.pods is None else self._measurements(sample.pods, sample.pod_usage, sample.time),
        )

    def _measurements(self, names: Names, usage: Floats, time: float) -> Measurements:
        lengths = np.full(len(names), self._timing.step_seconds)
        return Measurements(tuple(names.tolist()), usage, np.full(len(names), time), lengths)
