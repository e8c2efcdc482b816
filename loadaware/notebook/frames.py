"""Readings as data frames: times in UTC, a column per resource."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from collectors.history import Record
from collectors.reading import Measurements, Reading

if TYPE_CHECKING:
    import pandas as pd


def seconds_of(moment: Any) -> float | None:
    """Seconds since 1970 from whatever pandas takes for a time."""
    import pandas as pd

    if moment is None or isinstance(moment, int | float):
        return moment
    time = pd.Timestamp(moment)
    return float((time if time.tzinfo else time.tz_localize("UTC")).timestamp())


def usage_frame(records: Iterator[Record], which: str, label: str) -> "pd.DataFrame":
    """A row per reading and name."""
    import pandas as pd

    times: list[Any] = []
    names: list[str] = []
    usage: dict[str, list[Any]] = {}
    count = 0
    for record in records:
        reading = record.content
        rows: Measurements | None = getattr(reading, which)
        if not isinstance(reading, Reading) or rows is None or not rows.names:
            continue
        times.append(np.full(len(rows.names), record.time))
        names += rows.names
        for resource in {*usage, *reading.resources}:
            missing = usage.setdefault(resource, [np.full(count, np.nan)] if count else [])
            here = resource in reading.resources
            missing.append(
                rows.usage[:, reading.resources.index(resource)] if here else np.full(len(rows.names), np.nan)
            )
        count += len(rows.names)
    columns = {resource: np.concatenate(parts) for resource, parts in sorted(usage.items())}
    when = np.concatenate(times) if times else np.empty(0)
    return timed(pd.DataFrame({"time": when, label: pd.Categorical(names), **columns}))


def timed(frame: "pd.DataFrame") -> "pd.DataFrame":
    """With `time`, seconds since 1970, as timestamps."""
    import pandas as pd

    frame["time"] = pd.to_datetime(frame["time"].astype("float64"), unit="s", utc=True)
    return frame
