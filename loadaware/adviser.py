"""The one who answers: a snapshot, what happened since, and the profiles. One thread, never waits.

`receive` takes snapshots and changes from the observer; `filter` and `rank` answer requests. A ranked pod is booked
(see in_flight), so the next request of a burst already sees it: not while its own answer is waited for, but before
anything else is looked at or taken in. `settle` does it sooner, in the moment after the answer has gone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from collectors.manifests import Pod, Shape
from loadaware.breaker import Breaker
from loadaware.changes import Change, PodBound
from loadaware.errors import UnknownProfileError
from loadaware.filtering import Filtering, filter_nodes
from loadaware.foresight import likely
from loadaware.in_flight import InFlight, Rule
from loadaware.kin import UNKNOWN, kin_of
from loadaware.ladder import Staleness
from loadaware.nodes import ExpectedLoad
from loadaware.preemption import Freed, worth_preempting
from loadaware.profile import Profile
from loadaware.question import Question
from loadaware.ranking import Ranking, indifferent, rank
from loadaware.snapshot import OPT_OUT_ANNOTATION, Snapshot
from loadaware.window import Ints
from loadaware.workload import workload_of

MOST_TIED = 64
"""A booking is shared among the likeliest nodes. If more than this are equal it goes to the best by score; if those are
as many too, nothing is known and none is booked."""


@dataclass(frozen=True)
class AdviserSettings:
    """Profiles by name, and how doubt and bookings are handled."""

    profiles: Mapping[str, Profile]
    default_profile: str
    shadows: Mapping[str, Profile] = field(default_factory=dict)
    """Profiles that are only scored aside, never on the wire."""
    staleness: Staleness = field(default_factory=Staleness)
    in_flight_rule: Rule = "MissingShare"
    booking_seconds: float = 10.0
    beside_default: bool = True
    """Whether kube-scheduler's default plugins have their say beside ours, so that it can be foreseen."""


class Adviser:
    """Filters and ranks."""

    def __init__(
        self,
        settings: AdviserSettings,
        clock: Callable[[], float],
        stopwatch: Callable[[], float] | None = None,
    ) -> None:
        self._clock = clock
        self.breaker = Breaker(clock, stopwatch or clock)
        self.snapshot = Snapshot.empty()
        self._since_snapshot: list[Change] = []
        self._to_book: tuple[Question, Ranking] | None = None
        self.moves = 0
        """News and bookings so far: until the next, the same question has the same answer."""
        self.configure(settings)

    def configure(self, settings: AdviserSettings) -> None:
        """Take new settings; bookings made under the old ones are let go, what happened since the snapshot is not."""
        self.settings = settings
        self.moves += 1
        self._to_book = None
        self.breaker.forget()
        profiles = [*settings.profiles.values(), *settings.shadows.values()]
        scorers = [w.scorer for profile in profiles for w in profile.scorers]
        filters = [named.filter for profile in profiles for named in profile.filters]
        self._ledger = InFlight([*scorers, *filters], settings.in_flight_rule, settings.booking_seconds)
        self._ledger.restart(self.snapshot)
        for change in self._since_snapshot:
            self._count(change)

    @property
    def in_flight(self) -> InFlight:
        """The ledger, with everything booked that is to be."""
        self.settle()
        return self._ledger

    def settle(self) -> None:
        """Book the pod that was ranked last, if that was not done yet."""
        if self._to_book is not None:
            (question, ranking), self._to_book = self._to_book, None
            pod, ledger = question.pod, self._ledger
            ledger.let_go(pod.identity)
            places = self._likely(question, ranking)
            names = [question.names[position] for position in places.tolist()]
            rows = None if ranking.rows is None else ranking.rows[places]
            self._book(pod, question.workload, names, question.now, rows)

    def receive(self, message: Snapshot | Change) -> None:
        """Take what the observer sends, in its order."""
        self.settle()
        self.moves += 1
        if isinstance(message, Snapshot):
            self.snapshot = message
            self._since_snapshot.clear()
            self._ledger.restart(message)
        else:
            self._since_snapshot.append(message)
            self._count(message)

    def _count(self, change: Change) -> None:
        if isinstance(change, PodBound):
            self._ledger.bound(change)
        else:
            self._ledger.left(change)

    def profile_for(self, pod: Pod, named: str | None = None) -> Profile:
        """A profile named in the path wins, then the pod's schedulerName, then the default."""
        settings = self.settings
        self.check_profile(named)
        if named is not None:
            return settings.profiles[named]
        return settings.profiles.get(pod.scheduler_name) or settings.profiles[settings.default_profile]

    def check_profile(self, named: str | None) -> None:
        """Raises UnknownProfileError for a name that no profile has."""
        if named is not None and named not in self.settings.profiles:
            raise UnknownProfileError(named, tuple(self.settings.profiles))

    def opted_out(self, pod: Pod) -> bool:
        """Whether the pod is to be placed as if we were not there."""
        return pod.annotations.get(OPT_OUT_ANNOTATION) == "true" or pod.namespace in self.snapshot.exempt_namespaces

    def filter(self, pod: Pod, names: Sequence[str], profile: str | None = None, *, book: bool = True) -> Filtering:
        """Which nodes may take the pod. If only one may, kube-scheduler asks no further: it is booked there."""
        self.settle()
        now = self._clock()
        self._ledger.expire(now)
        chosen = self.profile_for(pod, profile)
        if self.opted_out(pod) or not chosen.filters:
            answer = Filtering(chosen.name, tuple(names), {}, {})
        else:
            with self._ledger.without(pod.identity):
                answer = filter_nodes(chosen, self._question(pod, names, now), self.breaker)
        if book and len(answer.passed) == 1:
            self.moves += 1
            self._book(pod, workload_of(pod), answer.passed, now)
        return answer

    def rank(
        self,
        pod: Pod,
        names: Sequence[str],
        profile: str | None = None,
        *,
        book: bool = True,
        explain: bool = False,
    ) -> Ranking:
        """Score every node asked for, and remember to book the pod on the best."""
        self.settle()
        now = self._clock()
        self._ledger.expire(now)
        chosen = self.profile_for(pod, profile)
        if self.opted_out(pod):
            return indifferent(chosen, names)
        question = self._question(pod, names, now)
        with self._ledger.without(pod.identity):
            ranking = rank(chosen, question, self.breaker, explain=explain)
        if book:
            self.moves += 1
            self._to_book = question, ranking
        return ranking

    def rank_aside(self, pod: Pod, names: Sequence[str], profile: Profile) -> Ranking:
        """What a profile would say, whether it is on the wire or not. Nothing is booked."""
        with self.in_flight.without(pod.identity):
            return rank(profile, self._question(pod, names, self._clock()), self.breaker)

    def expected_aside(self, pod: Pod, rows: Ints, resources: Sequence[str]) -> ExpectedLoad:
        """What the nodes of these rows, without the pod, and the pod are expected to use."""
        with self.in_flight.without(pod.identity):
            return self._question(pod, (), self._clock()).nodes(rows, None).expected(pod, resources)

    def preempt(self, pod: Pod, freed: Freed, profile: str | None = None) -> Sequence[str]:
        """The candidate nodes that would not be too busy once their victims have left; all if none would."""
        chosen = self.profile_for(pod, profile)
        if self.opted_out(pod):
            return list(freed)
        with self.in_flight.without(pod.identity):
            return worth_preempting(chosen, self._question(pod, list(freed), self._clock()), freed)

    def reserve(self, identity: str, node: str) -> None:
        """A pod that was ranked is being bound to a node: count it there."""
        self.moves += 1
        booking = self.in_flight.booking(identity)
        if booking is None:
            self.in_flight.book(identity, Shape(), [node], self._clock())
        else:
            self.in_flight.book(identity, booking.shape, [node], self._clock(), booking.workload, booking.kin)

    def unreserve(self, identity: str) -> None:
        """The binding failed: count it nowhere."""
        self.moves += 1
        self.in_flight.let_go(identity)

    def _question(self, pod: Pod, names: Sequence[str], now: float) -> Question:
        return Question(self.snapshot, self._ledger, pod, names, self.settings.staleness, now, workload_of(pod))

    def _likely(self, question: Question, ranking: Ranking) -> Ints:
        """Where the pod will probably go."""
        if self.settings.beside_default:
            best = likely(ranking, question.snapshot, self._ledger, question.pod, question.workload)
        else:
            best = ranking.best_on_the_wire()
        if len(best) > MOST_TIED:
            best = ranking.best()
        return best if len(best) <= MOST_TIED else best[:0]

    def _book(self, pod: Pod, workload: str, names: Sequence[str], now: float, rows: Ints | None = None) -> None:
        kin = UNKNOWN if self._ledger.expectations.knows(workload) else kin_of(pod)
        self._ledger.book(pod.identity, pod.shape, names, now, workload, kin, rows)
