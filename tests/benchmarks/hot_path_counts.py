"""How much work a request is, counted: bytecodes of Python, calls into C, bytes at the peak. Not timed, so it is the
same on every machine with the same Python and numpy.

    .venv/bin/python -m tests.benchmarks.hot_path_counts            show the counts beside the baseline
    .venv/bin/python -m tests.benchmarks.hot_path_counts --check    fail if one is clearly above it
    .venv/bin/python -m tests.benchmarks.hot_path_counts --write    make them the baseline (`make baseline`)

A step per node shows as bytecodes that grow with the nodes asked; a needless object as calls. The baseline is beside
this file; a test fails when a count is clearly above it.
"""

import argparse
import json
import sys
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from prometheus_client import CollectorRegistry

from collectors.cluster import NodeSeen, PodSeen
from collectors.manifests import Node, Owner, Pod, shape_of
from collectors.reading import Measurements, Reading
from loadaware.adviser import Adviser
from loadaware.extender.answers import Answers
from loadaware.filters.usage_threshold import UsageThreshold
from loadaware.observer import Observer, ObserverSettings
from loadaware.scorers.entropic_risk import EntropicRisk
from loadaware.service import Service
from loadaware.snapshot import Snapshot
from loadaware.telemetry import Telemetry
from tests.benchmarks.big_cluster import node_name
from tests.benchmarks.wire_requests import Requests, by_name, whole
from tests.loadaware.builders import Clock, make_profile, make_settings

BASELINE = Path(__file__).with_name("hot_path_baseline.json")
NODES = 600
NOW = 1.7e9
CLEARLY = 1.05
"""How far above the baseline a count is a regression."""
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
Counts = dict[str, dict[str, int]]


def answers(nodes: int = NODES) -> Answers:
    """Over a small cluster whose pods' demand was learned."""
    clock = Clock(NOW)
    profile = make_profile(EntropicRisk(), "default-scheduler", UsageThreshold())
    adviser = Adviser(make_settings(profile), clock)
    service = Service(adviser, Telemetry(CollectorRegistry(), "0.0.0"), clock, 60.0)
    service.take(_snapshot(nodes))
    return Answers(service, 2**30)


def _snapshot(count: int) -> Snapshot:
    observer, dice = Observer(ObserverSettings()), np.random.default_rng(1)
    names = tuple(node_name(number) for number in range(count))
    capacity, requests = (("cpu", 64.0), ("memory", 2.0**38)), (("cpu", 0.5), ("memory", 2.0**29))
    for name in names:
        observer.tell(NodeSeen(Node(name=name, capacity=capacity, allocatable=capacity)), NOW)
    keys = tuple(f"shop/pod-{number}" for number in range(2 * count))
    for number in range(2 * count):
        owner = Owner("StatefulSet", f"app-{number % 50}")
        shape, where = shape_of(((requests, ()),)), names[number % count]
        observer.tell(PodSeen(Pod(namespace="shop", name=f"pod-{number}", uid=f"uid-{number}", owner=owner, node=where,
                                  phase="Running", shape=shape, bound_at=NOW - 7200.0)), NOW)  # fmt: skip
    for past in range(8):
        at = NOW - 15.0 * (8 - past)
        usage = np.column_stack([dice.uniform(1.0, 40.0, count), dice.uniform(1.0, 200.0, count) * 2.0**30])
        used = np.column_stack([dice.uniform(0.0, 1.0, len(keys)), dice.uniform(0.0, 2.0**30, len(keys))])
        nodes = Measurements(names, usage, np.full(count, at), np.full(count, 15.0))
        pods = Measurements(keys, used, np.full(len(keys), at), np.full(len(keys), 15.0))
        observer.feed(Reading("measured", at, ("cpu", "memory"), nodes, pods), NOW)
    return observer.snapshot(NOW)


def cases() -> dict[str, tuple[str, list[bytes]]]:
    """Verb and requests of each kind that is counted."""
    return {
        "prioritize 100 names": ("prioritize", by_name(100, NODES, 4)),
        "prioritize 500 names": ("prioritize", by_name(500, NODES, 4)),
        "prioritize 50 whole nodes": ("prioritize", whole(50, 4)),
        "filter 100 names": ("filter", by_name(100, NODES, 4)),
        "filter 500 names": ("filter", by_name(500, NODES, 4)),
    }


def counted() -> Counts:
    """Each case's counts, once it is warm."""
    return {name: _of(verb, Requests(requests)) for name, (verb, requests) in cases().items()}


def _of(verb: str, requests: Requests) -> dict[str, int]:
    """The least of several requests: now and then one makes a table larger."""
    asked = answers()

    def one(counter: Callable[[Callable[[], object]], int]) -> int:
        body = bytes(next(requests)).partition(b"\r\n\r\n")[2]
        return counter(lambda: asked.answer(verb, body, None))

    for _ in range(8):
        one(_peak)
    return {what: min(one(counter) for _ in range(4)) for what, counter in COUNTERS.items()}


def _bytecodes(call: Callable[[], object]) -> int:
    """Bytecodes of Python that run."""
    count = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


def _calls(call: Callable[[], object]) -> int:
    """Functions written in C that Python calls."""
    count, ours = 0, threading.get_ident()

    def profile(_: FrameType, event: str, __: object) -> None:
        nonlocal count
        count += event == "c_call" and threading.get_ident() == ours

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(before)
    return count


def _peak(call: Callable[[], object]) -> int:
    """Bytes allocated at the moment when they were most, to the next KiB."""
    tracemalloc.start()
    try:
        call()
        return -(-tracemalloc.get_traced_memory()[1] // 1024) * 1024
    finally:
        tracemalloc.stop()


COUNTERS: dict[str, Callable[[Callable[[], object]], int]] = {
    "bytecodes": _bytecodes,
    "calls into C": _calls,
    "bytes at the peak": _peak,
}


def regressions(now: Counts, baseline: Counts) -> list[str]:
    """What is clearly above the baseline, in words."""
    return [
        f"{case}: {count:,} {what}, the baseline is {baseline[case][what]:,}"
        for case, counts in now.items()
        for what, count in counts.items()
        if count > baseline[case][what] * CLEARLY
    ]


def baseline() -> Counts | None:
    """Of this Python; another one has other bytecodes."""
    known: dict[str, Counts] = json.loads(BASELINE.read_text()) if BASELINE.exists() else {}
    return known.get(PYTHON)


def write_baseline(now: Counts) -> None:
    """Keep the counts of this Python."""
    known = json.loads(BASELINE.read_text()) if BASELINE.exists() else {}
    BASELINE.write_text(json.dumps(known | {PYTHON: now}, indent=2, sort_keys=True) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="make what is counted now the baseline")
    parser.add_argument("--check", action="store_true", help="fail if something is clearly above the baseline")
    settings = parser.parse_args()
    now = counted()
    before = baseline() or now
    for case, counts in now.items():
        shown = "   ".join(f"{what} {count:,} ({before[case][what]:,})" for what, count in counts.items())
        sys.stdout.write(f"{case:<28}{shown}\n")
    if settings.write:
        write_baseline(now)
    if settings.check:
        sys.exit("\n".join(regressions(now, before)) or 0)


if __name__ == "__main__":
    main()
