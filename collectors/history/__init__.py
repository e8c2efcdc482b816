"""A history: everything the core is told, in order, in a folder of Parquet files; see docs/history-format.md."""

from collectors.history.reader import HistoryReader, HistorySpan
from collectors.history.records import RECORD_KINDS, Answer, Checkpoint, Content, Mark, Record, RecordKind, Request
from collectors.history.store import HistoryLimits
from collectors.history.summary import Gap, HistorySummary
from collectors.history.writer import HistoryWriter

__all__ = [
    "RECORD_KINDS",
    "Answer",
    "Checkpoint",
    "Content",
    "Gap",
    "HistoryLimits",
    "HistoryReader",
    "HistorySpan",
    "HistorySummary",
    "HistoryWriter",
    "Mark",
    "Record",
    "RecordKind",
    "Request",
]
