"""What came of a replay, as values that travel between processes."""

from dataclasses import dataclass, field

from loadaware.simulation.accounting import Report


@dataclass(frozen=True)
class ReplaySettings:
    """Which part of a history, and how it is judged."""

    since: float | None = None
    """Judge from here; what lies before is played to warm up, from the checkpoint before it."""
    until: float | None = None
    warm_up_seconds: float | None = None
    """Not judged at the beginning. None: an hour, or a quarter of all if that is less."""
    block_seconds: float | None = None
    """Of the intervals. None: as long as there are enough blocks."""
    seed: int = 0
    """For ties."""
    kept_moves: int = 50
    skip_damaged: bool = False


@dataclass(frozen=True)
class MoveReport:
    """A pod that was placed elsewhere."""

    pod: str
    workload: str
    time: float
    recorded_node: str
    replayed_node: str
    cores: float
    """Requested."""
    relief_core_hours: float
    """CPU taken off nodes above 80 %, less CPU put on such nodes."""


@dataclass(frozen=True)
class Counts:
    """How a replay went."""

    asked: int = 0
    """Requests to prioritize that were asked again (or, where none were recorded, pods that were bound)."""
    answers_recorded: int = 0
    """Of these, with a recorded answer that counted."""
    answers_differing: int = 0
    """Of these, answered otherwise."""
    filters_differing: int = 0
    placed: int = 0
    """Pods of these that were bound."""
    elsewhere: int = 0
    """Pods that were placed elsewhere than they were."""
    explained: int = 0
    """Placements after an equal answer that our model of kube-scheduler would have chosen as well."""
    explainable: int = 0
    """Placements after an equal answer."""
    without_room: int = 0
    """Pods that fitted nowhere in the replay, and stayed where they were."""
    returned: int = 0
    """Moved pods whose node went away in reality, and that were put back."""
    late: int = 0
    answers_lost: int = 0
    """Answers that came faster than they could be recorded."""
    gaps: int = 0
    clock_jumps: int = 0
    unknown_nodes: int = 0
    """The most rows of one reading that name a node nobody told of."""
    readings: int = 0
    pods_measured: bool = True


@dataclass(frozen=True)
class ReplayOutcome:
    """One configuration on one history."""

    since: float
    until: float
    """What was judged."""
    block_seconds: float
    requests_recorded: bool
    recorded: Report
    replayed: Report
    recorded_blocks: dict[int, Report]
    replayed_blocks: dict[int, Report]
    counts: Counts
    moves: tuple[MoveReport, ...]
    """Those that mattered most, by the size of their relief."""
    notes: tuple[str, ...]
    seconds: float
    """That it took."""
    placed_blocks: dict[int, tuple[int, int]] = field(default_factory=dict)
    """By block: pods that were placed in it, and how many of them elsewhere. A block without any is left out."""
