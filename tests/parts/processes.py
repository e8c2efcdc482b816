"""Starts real programs on loopback, and waits for what they do instead of sleeping for luck.

The bargain: a program writes to a log file of its own, which outlives it; it is stopped by its own pid,
politely first; and whoever waits in vain is told what was seen last and what the program said last.
"""

import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

POLL_SECONDS = 0.05
PATIENCE_SECONDS = 120.0
"""How long to wait for what is sure to come, on the slowest machine; only a test that fails waits so long."""
TAIL_BYTES = 3000

Seen = TypeVar("Seen")

FIRST_PORT = 12_000
PORTS_EACH = 4_000
MOST_WORKERS = 5
"""Five times that from the first on is still below what the kernel gives to whoever connects (32768 and above)."""


class NotYetError(Exception):
    """Raised by a condition that does not hold yet; the message says what it saw."""


class WaitError(Exception):
    """A condition did not come true in time, or the program it depends on ended."""


def free_port() -> int:
    """A loopback port that is free now. No other test, here or in another worker, is given the same one."""
    for port in _ports:
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("ports never end")


def ports_of(worker: str) -> Iterator[int]:
    """The ports of a worker (gw0, gw1 ...; empty if there are none) round and round, from any of them on.

    Each worker has its own, and a port just freed is the last to be taken again.
    """
    number = int(worker.removeprefix("gw") or 0) % MOST_WORKERS
    offset = random.randrange(PORTS_EACH)
    while True:
        yield FIRST_PORT + number * PORTS_EACH + offset
        offset = (offset + 1) % PORTS_EACH


_ports = ports_of(os.environ.get("PYTEST_XDIST_WORKER", ""))


class Process:
    """One running program; a context manager that starts and stops it."""

    def __init__(
        self,
        name: str,
        command: Sequence[str | Path],
        logs: Path,
        *,
        environment: Mapping[str, str] | None = None,
        stop_seconds: float = 10.0,
    ) -> None:
        self.name = name
        self.command = [str(argument) for argument in command]
        self.log = _new_log(logs, name)
        self.stop_seconds = stop_seconds
        self._environment = environment
        self._child: subprocess.Popen[bytes] | None = None

    def start(self) -> Self:
        """Start the program in a session of its own, so that Ctrl-C reaches the test first."""
        if self.running:
            raise RuntimeError(f"{self.name} is started already")
        variables = {**os.environ, **(self._environment or {})}
        with self.log.open("ab") as output:
            self._child = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=variables,
                start_new_session=True,
            )
        return self

    def stop(self) -> int | None:
        """End the program if it still runs: SIGTERM, then SIGKILL. Gives its exit code."""
        child, self._child = self._child, None
        if child is None:
            return None
        with child:
            child.terminate()
            try:
                return child.wait(self.stop_seconds)
            except subprocess.TimeoutExpired:
                child.kill()
                return child.wait()

    def send(self, number: signal.Signals) -> None:
        """Send a signal, for example SIGKILL, to see how others cope."""
        self._running_child().send_signal(number)

    @property
    def pid(self) -> int:
        return self._running_child().pid

    @property
    def running(self) -> bool:
        return self._child is not None and self._child.poll() is None

    @property
    def ending(self) -> str:
        """How the program stands, in words."""
        if self._child is None:
            return f"{self.name} is not started"
        code = self._child.poll()
        return f"{self.name} runs" if code is None else f"{self.name} exited with {code}"

    def log_tail(self) -> str:
        """The last lines the program wrote."""
        return self.log.read_bytes()[-TAIL_BYTES:].decode(errors="replace")

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _running_child(self) -> subprocess.Popen[bytes]:
        if self._child is None:
            raise ProcessLookupError(self.ending)
        return self._child


def is_alive(process_id: int) -> bool:
    """Whether a process runs, of ours or not; one that ended and waits to be collected does not."""
    try:
        return "State:\tZ" not in Path(f"/proc/{process_id}/status").read_text()
    except OSError:
        return False


def freeze(child: int) -> None:
    """Stop a child of this process where it is, and wait until it stands still.

    Without the wait, a child that sleeps in a read may still take what is sent to it after the signal.
    """
    os.kill(child, signal.SIGSTOP)
    ended = os.waitid(os.P_PID, child, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    assert ended is not None
    assert ended.si_code == os.CLD_STOPPED, f"process {child} ended before it could be frozen"


def wait_for(
    condition: Callable[[], Seen],
    what: str,
    process: Process | None = None,
    *,
    deadline_seconds: float = PATIENCE_SECONDS,
) -> Seen:
    """Poll until the condition gives something truthy, and give that.

    A condition that does not hold yet gives something falsy, or raises `NotYetError` or an `OSError` (the
    errors of `requests` and of `KubernetesApi` are such); anything else it raises goes straight through.
    """
    deadline = time.monotonic() + deadline_seconds
    while True:
        seen, last_seen = _look(condition)
        if seen:
            return seen
        if process is not None and not process.running:
            raise WaitError(_account(f"waiting for {what}: {process.ending}", last_seen, process))
        if time.monotonic() > deadline:
            raise WaitError(_account(f"waited {deadline_seconds:g} s in vain for {what}", last_seen, process))
        time.sleep(POLL_SECONDS)


def _look(condition: Callable[[], Seen]) -> tuple[Seen | None, str]:
    try:
        seen = condition()
    except NotYetError as reason:
        return None, str(reason)
    except OSError as error:
        return None, f"{type(error).__name__}: {error}"
    return seen, repr(seen)


def _account(outcome: str, last_seen: str, process: Process | None) -> str:
    lines = [outcome, f"last seen: {last_seen}"]
    if process is not None:
        lines += [f"end of {process.log}:", process.log_tail() or "(it wrote nothing)"]
    return "\n".join(lines)


def _new_log(logs: Path, name: str) -> Path:
    """An empty name.log, or name-2.log if an earlier process of that name has the first."""
    logs.mkdir(parents=True, exist_ok=True)
    path, number = logs / f"{name}.log", 1
    while path.exists():
        number += 1
        path = logs / f"{name}-{number}.log"
    path.touch()
    return path
