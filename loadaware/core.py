"""The heart as a library: nodes and pods are told to it, readings are fed to it, it filters and ranks.

No server, no thread, no I/O, and the clock is yours. The server, the demo, the simulator and notebooks use these same
two halves (`Observer`, `Adviser`); here they stand in one object. See docs/embedding.md.
"""

from collections.abc import Callable, Iterable, Sequence

from collectors.cluster import Event, NodeSeen
from collectors.manifests import Pod
from collectors.reading import Reading
from loadaware.adviser import Adviser, AdviserSettings
from loadaware.filtering import Filtering
from loadaware.observer import Observer, ObserverSettings
from loadaware.ranking import Ranking
from loadaware.snapshot import Snapshot


class Core:
    """Observer and adviser in one."""

    def __init__(
        self,
        adviser: AdviserSettings,
        clock: Callable[[], float],
        observer: ObserverSettings | None = None,
    ) -> None:
        self._clock = clock
        self.observer = Observer(observer)
        self.adviser = Adviser(adviser, clock)

    @property
    def snapshot(self) -> Snapshot:
        """What is believed now."""
        return self.adviser.snapshot

    def tell(self, *events: Event) -> None:
        """Tell of nodes, pods and namespaces. Nodes are known at once, pods count at once."""
        now = self._clock()
        for event in events:
            for change in self.observer.tell(event, now):
                self.adviser.receive(change)
        if any(isinstance(event, NodeSeen) for event in events):
            self.refresh()

    def feed(self, reading: Reading) -> None:
        """Feed a reading and make a new snapshot."""
        self.observer.feed(reading, self._clock())
        self.refresh()

    def warm(self, readings: Iterable[Reading]) -> None:
        """Feed a past, oldest first, and make one snapshot of it."""
        for reading in readings:
            self.observer.feed(reading, self._clock())
        self.refresh()

    def refresh(self) -> None:
        """Make a new snapshot of all that was told and fed."""
        self.adviser.receive(self.observer.snapshot(self._clock()))

    def filter(
        self, pod: Pod, names: Sequence[str] | None = None, profile: str | None = None, *, book: bool = True
    ) -> Filtering:
        """Which nodes may take the pod (all known ones if none are named)."""
        return self.adviser.filter(pod, self._names(names), profile, book=book)

    def rank(
        self,
        pod: Pod,
        names: Sequence[str] | None = None,
        profile: str | None = None,
        *,
        book: bool = True,
        explain: bool = False,
    ) -> Ranking:
        """Score nodes for the pod, best possible 100, and book it on the best."""
        return self.adviser.rank(pod, self._names(names), profile, book=book, explain=explain)

    def _names(self, names: Sequence[str] | None) -> Sequence[str]:
        return self.snapshot.names if names is None else names
