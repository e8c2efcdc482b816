"""The demo for a log, a pipe or a screen reader: a line now and then, and a table at the end."""

import threading
from collections.abc import Callable, Iterator
from typing import IO

from loadaware.demo.frame import FIGURES, Frame, figure


def line(frame: Frame) -> str:
    """One moment in one line."""
    parts = [f"{frame.clock} ({frame.speed:g}x)"]
    parts += [f"{name} {figure(frame.ours, key)}/{figure(frame.default, key)}" for name, key in _SHORT]
    parts.append(f"placed {frame.placed} waiting {frame.ours.waiting}/{frame.default.waiting}")
    if frame.decisions:
        last = frame.decisions[-1]
        second = f" before {last.second}" if last.second else ""
        parts.append(f"last {last.pod} -> {last.first}{second}")
    if frame.extender.failures:
        parts.append(f"extender failures {frame.extender.failures}: {frame.extender.last_failure}")
    return " | ".join(parts)


_SHORT = (("above 80 %:", "hot80"), ("unserved %:", "unserved"), ("spread:", "spread"))


def introduction(frame: Frame) -> str:
    """What the lines mean, once."""
    return (
        f"{len(frame.nodes)} simulated nodes, {frame.speed:g}x real time; open {frame.extender.url}\n"
        "figures are with the extender / with kube-scheduler's default scores alone, same arrivals"
    )


def summary(frame: Frame) -> str:
    """The comparison, for the end."""
    minutes = frame.ours.report.seconds / 60.0
    return "\n".join([f"{minutes:.0f} simulated minutes, {frame.placed} pods placed:", *_table(frame)])


def _table(frame: Frame) -> Iterator[str]:
    yield f"  {'':<24}{'loadaware':>10}{'default':>10}"
    for title, key, unit in FIGURES:
        yield f"  {title:<24}{figure(frame.ours, key):>10}{figure(frame.default, key):>10} {unit}"


class PlainView:
    """Writes a line every `interval_seconds`."""

    def __init__(self, frame: Callable[[], Frame], out: IO[str], interval_seconds: float = 5.0) -> None:
        self._frame = frame
        self._out = out
        self._interval = interval_seconds

    def run(self, stopping: threading.Event) -> None:
        """Until told to stop."""
        self._write(introduction(self._frame()))
        while not stopping.wait(self._interval):
            self._write(line(self._frame()))

    def _write(self, text: str) -> None:
        self._out.write(f"{text}\n")
        self._out.flush()
