"""How the watching goes: readings, failures, what is forbidden. Sent along with snapshots, shown in /readyz."""

import msgspec


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """The observer's health at one moment."""

    readings: int = 0
    failures: int = 0
    consecutive_failures: int = 0
    last_error: str = ""
    last_success: float | None = None
    source: str = ""
    """Which source the last good reading is from."""
    reading_seconds: float = 0.0
    nodes: int = 0
    pods: int = 0
    notes: tuple[str, ...] = ()
    """What the last reading wanted people to know."""
    forbidden: tuple[str, ...] = ()
    """What may not be watched, and what that costs."""
    restarts: int = 0
    history_lost: int = 0
    """Records that are missing from the history because they could not be written."""
