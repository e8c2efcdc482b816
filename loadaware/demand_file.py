"""Learned demand on disk: one file, replaced whole or not at all; and one that cannot be read is set aside.

Written beside, flushed to the disk, then renamed: whoever reads sees the old file or the new one, however many write
at once and whenever the power goes. No trouble with it ever stops us: each is one line in the log, and learning begins
anew or goes on unsaved.
"""

import contextlib
import logging
import os
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from loadaware.demand_format import DemandFormatError, decode, encode
from loadaware.demand_state import DemandState

logger = logging.getLogger(__name__)

MOST_BROKEN = 3
"""Files set aside; older ones are deleted."""
LARGEST_BYTES = 512 * 2**20
"""Nothing of ours is that large: 150,000 pods of 50,000 workloads are 30 MB."""
ABANDONED_SECONDS = 3600.0
"""A file begun that long ago is nobody's work any more."""


class DemandFile:
    """Where learned demand is kept. Any thread may save."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._failing = False

    def load(self, now: float) -> DemandState | None:
        """What was kept; None if there is nothing, or nothing that can be read."""
        self._remove_abandoned(now)
        try:
            content = self._content()
            state = decode(content).not_after(now)
        except FileNotFoundError:
            logger.info("no learned demand in %s yet", self._path)
            return None
        except DemandFormatError as error:
            logger.warning("learned demand begins anew: %s: %s; %s", self._path, error, self._set_aside(now))
            return None
        except OSError as error:
            logger.warning("learned demand begins anew: %s cannot be read: %s", self._path, error.strerror or error)
            return None
        counts = len(state.table("workloads").names), len(state.table("pods").names)
        logger.info("learned demand of %d workloads and %d pods from %s", *counts, self._path)
        return state

    def save(self, state: DemandState) -> bool:
        """Replace the file; whether that worked. Failing is logged once, until it works again."""
        try:
            self._replace(encode(state))
        except OSError as error:
            if not self._failing:
                logger.warning("learned demand is not saved: %s: %s", self._path, error.strerror or error)
            self._failing = True
            return False
        if self._failing:
            logger.info("learned demand is saved again in %s", self._path)
        self._failing = False
        return True

    def _content(self) -> bytes:
        if self._path.stat().st_size > LARGEST_BYTES:
            raise DemandFormatError(f"it is larger than {LARGEST_BYTES} bytes")
        return self._path.read_bytes()

    def _replace(self, content: bytes) -> None:
        descriptor, begun = tempfile.mkstemp(prefix=f".{self._path.name}.", suffix=".tmp", dir=self._path.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            Path(begun).replace(self._path)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(begun).unlink()
            raise
        _flush_folder(self._path.parent)

    def _set_aside(self, now: float) -> str:
        """Rename what cannot be read, so that somebody can look at it; what became of it."""
        moment = time.strftime("%Y%m%dT%H%M%S", time.gmtime(now))
        place = self._path.with_name(f"{self._path.name}.broken-{moment}")
        try:
            self._path.replace(place)
            for old in sorted(self._path.parent.glob(f"{self._path.name}.broken-*"))[:-MOST_BROKEN]:
                old.unlink(missing_ok=True)
        except OSError as error:
            return f"it cannot be set aside: {error.strerror or error}"
        return f"it is set aside as {place.name}"

    def _remove_abandoned(self, now: float) -> None:
        with contextlib.suppress(OSError):
            for begun in self._path.parent.glob(f".{self._path.name}.*.tmp"):
                if now - begun.stat().st_mtime > ABANDONED_SECONDS:
                    begun.unlink(missing_ok=True)


def _flush_folder(folder: Path) -> None:
    """Make the renaming itself last. A file system that cannot is no reason to fail."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class Keeping:
    """Saves every so often and at the end. Telling what was learned is done where it is called; writing it is not."""

    def __init__(
        self,
        file: DemandFile,
        interval_seconds: float,
        told: Callable[[], DemandState | None],
        clock: Callable[[], float],
    ) -> None:
        self._file = file
        self._interval = interval_seconds
        self._told = told
        self._clock = clock
        self._next = clock() + interval_seconds
        self._writing: threading.Thread | None = None

    def tick(self) -> None:
        """Save, if it is time and the last one is through. Called often, by the only thread that may ask."""
        if self._clock() < self._next or (self._writing is not None and self._writing.is_alive()):
            return
        self._next = self._clock() + self._interval
        state = self._told()
        if state is not None:
            self._writing = threading.Thread(target=self._file.save, args=(state,), name="demand file", daemon=True)
            self._writing.start()

    def close(self) -> None:
        """Save for the last time."""
        if self._writing is not None:
            self._writing.join()
        state = self._told()
        if state is not None:
            self._file.save(state)
