"""Which part of a history is judged, and where playing begins.

    played                    a checkpoint, or where an observer began .. end
    asked for                 begin .. end        what the settings say, as far as the history reaches
    judged, block by block    since .. end        since = begin + warm-up

Times are in seconds since the epoch.
"""

from dataclasses import dataclass

from collectors.errors import HistoryError
from collectors.history import Checkpoint, HistoryReader, Mark, Record, RecordKind
from loadaware.recorder import BEGAN
from loadaware.replay.judging import block_length
from loadaware.replay.outcome import ReplaySettings

LONGEST_WARM_UP = 3600.0
BEFORE_SECONDS = 3600.0
"""What is judged from the middle of a history is played from a checkpoint at least this far before it, if there is one:
the window is full by then."""


@dataclass(frozen=True)
class JudgedTime:
    """From when to when, and how long a block is."""

    begin: float
    since: float
    end: float
    block_seconds: float


def judged_time(folder: str, reader: HistoryReader, settings: ReplaySettings) -> JudgedTime:
    """What the settings ask for of what there is. Raises HistoryError if that is nothing."""
    span = reader.span()
    if not span.readings:
        raise HistoryError(folder, "holds no reading: there is no usage to replay")
    begin, end = span.bounds(settings.since, settings.until)
    if begin >= end:
        raise HistoryError(folder, "has nothing in that time: `loadaware history` shows its span")
    length, warm_up = end - begin, settings.warm_up_seconds
    since = begin + (min(LONGEST_WARM_UP, length / 4) if warm_up is None else min(warm_up, length))
    return JudgedTime(begin, since, end, settings.block_seconds or block_length(end - since))


def record_before(reader: HistoryReader, begin: float | None) -> int:
    """The number of the record before the first to be played: a checkpoint well before `begin`, or (None: from the
    beginning) where an observer began.
    """
    kinds: tuple[RecordKind, ...] = ("marks", "checkpoints")
    first = None if begin is None else reader.checkpoint(before=begin - BEFORE_SECONDS)
    first = first or next(filter(_begins, reader.records(kinds=kinds)), None)
    return 0 if first is None else first.sequence - 1


def _begins(record: Record) -> bool:
    content = record.content
    return isinstance(content, Checkpoint) or (isinstance(content, Mark) and content.name == BEGAN)
