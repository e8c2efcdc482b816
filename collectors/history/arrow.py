"""The one door to pyarrow: an extra, needed by those who write or read a history, and slow to import."""

from typing import Any

from collectors.errors import HistoryError


def arrow() -> Any:
    """The pyarrow module with its compute and Parquet parts, or an error that says how to get it."""
    try:
        import pyarrow as pa
        import pyarrow.compute
        import pyarrow.parquet
    except ImportError as error:
        raise HistoryError("history", "needs pyarrow: pip install 'loadaware[history]'") from error
    return pa
