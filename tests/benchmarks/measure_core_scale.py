"""How long the core takes, and how much memory, with 5,000 nodes and 150,000 pods. Run it, read it:

    .venv/bin/python tests/benchmarks/measure_core_scale.py [--nodes 5000] [--pods 150000]

Times are the best and the median of several runs of one process; memory is the process' resident size.
"""

import argparse
import pickle
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

import numpy as np

from collectors.cluster import NodeSeen, PodSeen
from collectors.manifests import Node, Owner, Pod, Shape, shape_of
from collectors.reading import Measurements, Reading
from loadaware.adviser import Adviser, AdviserSettings
from loadaware.filters.usage_threshold import UsageThreshold
from loadaware.observer import Observer, ObserverSettings
from loadaware.profile import NamedFilter, Profile, WeightedScorer
from loadaware.scorers.entropic_risk import EntropicRisk
from loadaware.scorers.load_variation_risk_balancing import LoadVariationRiskBalancing
from loadaware.scorers.target_load_packing import TargetLoadPacking

T = TypeVar("T")

GIB = 2.0**30
SHAPES = 3000
NOW = 1.7e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=150_000)
    arguments = parser.parse_args()
    dice = np.random.default_rng(1)
    show("before anything", "", resident())
    observer = observe(arguments.nodes, arguments.pods)
    advise(observer, dice, arguments.nodes)


def observe(nodes: int, pods: int) -> Observer:
    """Tell of the whole cluster and feed a full window."""
    observer = Observer(ObserverSettings())
    names = [f"node-{n:05d}" for n in range(nodes)]
    shapes = [make_shape(n) for n in range(SHAPES)]
    capacity = (("cpu", 64.0), ("memory", 256 * GIB))
    once(f"tell {nodes} nodes", lambda: [observer.tell(seen(name, capacity), NOW) for name in names])
    told = [
        PodSeen(
            Pod(
                namespace="shop",
                name=f"pod-{n}",
                uid=f"uid-{n}",
                owner=Owner("StatefulSet", f"app-{n % 5000}"),
                node=names[n % nodes],
                phase="Running",
                shape=shapes[n % SHAPES],
                bound_at=NOW - 60.0 * (n % 1000),
            )
        )
        for n in range(pods)
    ]
    once(f"tell {pods} pods", lambda: [observer.tell(event, NOW) for event in told])
    dice = np.random.default_rng(2)
    keys = tuple(f"shop/pod-{n}" for n in range(pods))
    past = (make_reading(names, keys, dice, NOW - 900.0 + 15.0 * n) for n in range(60))
    repeated("feed a reading", past, lambda reading: observer.feed(reading, NOW))
    repeated("make a snapshot", range(10), lambda _: observer.snapshot(NOW))
    show("window", f"{observer._window.nbytes / 2**20:.0f} MiB", resident())
    return observer


def advise(observer: Observer, dice: np.random.Generator, nodes: int) -> None:
    """Receive a snapshot as the serving process does, and answer."""
    snapshot = observer.snapshot(NOW)
    sent = pickle.dumps(snapshot, protocol=5)
    repeated("pickle a snapshot", range(5), lambda _: pickle.dumps(snapshot, protocol=5))
    repeated(f"unpickle it ({len(sent) / 2**20:.1f} MiB)", range(5), lambda _: pickle.loads(sent))
    scorers = (
        WeightedScorer("LoadVariationRiskBalancing", LoadVariationRiskBalancing()),
        WeightedScorer("TargetLoadPacking", TargetLoadPacking()),
        WeightedScorer("EntropicRisk", EntropicRisk()),
    )
    profile = Profile("default-scheduler", scorers, (NamedFilter("UsageThreshold", UsageThreshold()),))
    adviser = Adviser(AdviserSettings({profile.name: profile}, profile.name), lambda: NOW)
    repeated("receive a snapshot", range(10), lambda _: adviser.receive(snapshot))
    for count in (500, nodes):
        ask(adviser, [snapshot.names[n] for n in dice.permutation(nodes)[:count].tolist()])
    show("at the end", "", resident())


def ask(adviser: Adviser, names: list[str]) -> None:
    pods = [Pod(name=f"new-{n}", uid=f"new-{n}", shape=make_shape(n)) for n in range(200)]
    repeated(f"filter {len(names)} names", pods, lambda pod: adviser.filter(pod, names))
    repeated(f"rank {len(names)} names", pods, lambda pod: adviser.rank(pod, names))


def seen(name: str, capacity: tuple[tuple[str, float], ...]) -> NodeSeen:
    return NodeSeen(Node(name=name, capacity=capacity, allocatable=capacity, labels={"zone": name[-1]}))


def make_shape(number: int) -> Shape:
    requests = (("cpu", 0.01 * (number % 300 + 1)), ("memory", GIB / (number % 7 + 1)))
    return shape_of(((requests, (("cpu", 0.02 * (number % 500 + 1)),)),))


def make_reading(names: list[str], keys: tuple[str, ...], dice: np.random.Generator, at: float) -> Reading:
    nodes = np.column_stack([dice.uniform(1.0, 60.0, len(names)), dice.uniform(1.0, 250.0, len(names)) * GIB])
    each = Measurements(tuple(names), nodes, np.full(len(names), at), np.full(len(names), 15.0))
    count = len(keys)
    used = np.column_stack([dice.uniform(0.0, 1.0, count), dice.uniform(0.0, GIB, count)])
    pods = Measurements(keys, used, np.full(count, at), np.full(count, 15.0))
    return Reading("measured", at, ("cpu", "memory"), each, pods)


def once(what: str, call: Callable[[], object]) -> None:
    repeated(what, (0,), lambda _: call())


def repeated(what: str, given: Iterable[T], call: Callable[[T], object]) -> None:
    """Call with each that is given; making them is not timed."""
    took = []
    for each in given:
        started = time.perf_counter()
        call(each)
        took.append(time.perf_counter() - started)
    middle = f", median {1000 * statistics.median(took):.2f} ms" if len(took) > 1 else ""
    show(what, f"{1000 * min(took):.2f} ms{middle}", resident())


def resident() -> str:
    """Of this process now, and the most there was."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return f"{pages * resource.getpagesize() / 2**20:.0f} MiB resident, {most:.0f} at most"


def show(what: str, took: str, memory: str) -> None:
    sys.stdout.write(f"{what:28} {took:34} {memory}\n")


if __name__ == "__main__":
    main()
