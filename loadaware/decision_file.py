"""Decisions in a file, for later: JSON lines, in a bounded number of files of bounded size. Another thread writes.

    {"kind": "decision", ...}      an answer, with the best nodes
    {"kind": "placement", ...}     where the pod really went; `number` is that of its decision

What cannot be written is told in one warning, until writing works again; what comes faster than it can be written is
dropped and counted.
"""

import logging
import queue
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

logger = logging.getLogger(__name__)

MOST_WAITING = 1000
PATIENCE_SECONDS = 2.0
Line = Callable[[], Mapping[str, Any]]


class DecisionFile:
    """`decisions.file`; older ones beside it as FILE.1 (the newest of them), FILE.2 ..."""

    def __init__(self, path: str, size_bytes: float, files: int) -> None:
        self._path = Path(path)
        self._size_bytes = size_bytes
        self._files = files
        self._waiting: queue.Queue[Line | None] = queue.Queue(MOST_WAITING)
        self._thread: threading.Thread | None = None
        self._failing = False
        self.dropped = 0
        """Lines that were not written because too many waited, or because writing failed."""

    def put(self, line: Line) -> None:
        """Write this line, made in the other thread."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="decision-file", daemon=True)
            self._thread.start()
        try:
            self._waiting.put_nowait(line)
        except queue.Full:
            self.dropped += 1

    def leave_out(self) -> None:
        """One line will be missing."""
        self.dropped += 1

    def close(self) -> None:
        """Write what waits, for a moment, and end."""
        if self._thread is not None:
            try:
                self._waiting.put(None, timeout=PATIENCE_SECONDS)
            except queue.Full:
                return
            self._thread.join(PATIENCE_SECONDS)
            self._thread = None

    def _run(self) -> None:
        while (line := self._waiting.get()) is not None:
            try:
                self._write(msgspec.json.encode(line()) + b"\n")
            except OSError as error:
                self.dropped += 1
                if not self._failing:
                    logger.warning("decisions are not written to %s: %s", self._path, error.strerror or error)
                self._failing = True
            except Exception:
                self.dropped += 1
                logger.exception("a decision could not be written")
            else:
                self._failing = False

    def _write(self, line: bytes) -> None:
        if self._path.exists() and self._path.stat().st_size + len(line) > self._size_bytes:
            self._rotate()
        with self._path.open("ab") as file:
            file.write(line)

    def _rotate(self) -> None:
        """FILE becomes FILE.1, FILE.1 becomes FILE.2, the last goes."""
        if self._files == 1:
            self._path.unlink()
            return
        for number in range(self._files - 2, 0, -1):
            older = self._numbered(number)
            if older.exists():
                older.replace(self._numbered(number + 1))
        self._path.replace(self._numbered(1))

    def _numbered(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}")
