"""The live observer and adviser, told again what was recorded, under the record's clock.

A record with marks says when changes and snapshots were published: they are published at the same points again. One
without (written by other tools) is told as core.py tells: changes at once, a snapshot after each reading and node.
"""

from collections.abc import Sequence

import msgspec
import numpy as np

from collectors.cluster import Event, NodeGone, NodeSeen
from collectors.manifests import Pod
from collectors.reading import Reading
from loadaware import recorder
from loadaware.adviser import Adviser
from loadaware.changes import Change
from loadaware.config import Config
from loadaware.demand_format import decode
from loadaware.observer import Observer
from loadaware.profiles import adviser_settings, observer_settings
from loadaware.recorder import CheckpointState
from loadaware.simulation.engine import VirtualClock
from loadaware.simulation.noise import Ints


class Retelling:
    """Told record by record; asked in between."""

    def __init__(self, config: Config) -> None:
        self.clock = VirtualClock(0.0)
        self._config = config
        self._settings = adviser_settings(config)
        self._observer = Observer(observer_settings(config))
        self._adviser = Adviser(self._settings, self.clock)
        self._changes: list[Change] = []
        self._marked = False
        self.begun = False
        """Whether anything was told yet."""
        self.past = False
        """Whether the next reading is only to be learned from."""
        self.first_reading: float | None = None
        self.readings = 0
        self.unknown_nodes = 0

    def mark(self, name: str, detail: bytes) -> None:
        """What a mark says."""
        now = self.clock.now
        match name:
            case recorder.BEGAN:
                self._observer = Observer(observer_settings(self._config))
                self._changes, self._marked, self.begun = [], True, True
            case recorder.PAST:
                self.past = True
            case recorder.CHANGES:
                count = int(detail)
                published, self._changes = self._changes[:count], self._changes[count:]
                for change in published:
                    self._adviser.receive(change)
            case recorder.SNAPSHOT:
                self._changes = []
                self._adviser.receive(self._observer.snapshot(now))
            case recorder.CONFIGURED:
                self._adviser.configure(self._settings)

    def event(self, event: Event) -> None:
        """The observer is told this."""
        self.begun = True
        self._changes += self._observer.tell(event, self.clock.now)
        if not self._marked:
            for change in self._changes:
                self._adviser.receive(change)
            self._changes = []
            if isinstance(event, NodeSeen | NodeGone):
                self._adviser.receive(self._observer.snapshot(self.clock.now))

    def change(self, event: Event) -> None:
        """Something that is in no record: published at once."""
        for change in self._observer.tell(event, self.clock.now):
            self._adviser.receive(change)

    def read(self, reading: Reading) -> None:
        """The observer is fed this, or learns from it."""
        self.begun = True
        if self.past:
            self.past = False
            self._observer.feed_past(reading)
            return
        self.first_reading = self.clock.now if self.first_reading is None else self.first_reading
        self.readings += 1
        self._observer.feed(reading, self.clock.now)
        self.unknown_nodes = max(self.unknown_nodes, self._observer.counts.unknown_nodes)
        if not self._marked:
            self._adviser.receive(self._observer.snapshot(self.clock.now))

    def learned(self, state: bytes, *, anyway: bool = False) -> None:
        """What a checkpoint says was learned: restored at a beginning (nothing else is in it then), or `anyway`."""
        told = msgspec.msgpack.decode(state, type=CheckpointState)
        if told.demand and (anyway or not told.events):
            self._observer.restore(decode(told.demand))

    def filter(self, pod: Pod, names: Sequence[str], profile: str) -> Sequence[str]:
        """The nodes that pass."""
        return self._adviser.filter(pod, names, self._profile(profile)).passed

    def rank(self, pod: Pod, names: Sequence[str], profile: str | None = None) -> Ints:
        """Priorities, in the order of the names; the pod is booked."""
        ranking = self._adviser.rank(pod, names, self._profile(profile))
        return np.asarray(ranking.priorities, dtype=np.int64)

    def reserve(self, identity: str, node: str) -> None:
        """A pod that was ranked is being bound to a node."""
        self._adviser.reserve(identity, node)

    def unreserve(self, identity: str) -> None:
        """The binding failed."""
        self._adviser.unreserve(identity)

    def _profile(self, recorded: str | None) -> str | None:
        """The profile of the same name, else the one that fits the pod."""
        return recorded if recorded in self._settings.profiles else None
