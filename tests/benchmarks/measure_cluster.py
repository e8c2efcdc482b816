"""A stock kube-scheduler in a real cluster, measured. `make benchmark-cluster`, or

    .venv/bin/python -m tests.benchmarks.measure_cluster [--quick] [--output FILE]

How many pods it binds in a second with and without us, and whose nodes run hot when both place the same pods. Writes
docs/benchmarks/cluster.md. Some half an hour; nothing else should run meanwhile: on a busy machine only ratios mean
something.
"""

import argparse
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.benchmarks.cluster_race import HOT, RaceSettings, Tally, foretold, race
from tests.benchmarks.cluster_throughput import AS_IT_COMES, BARE, LIFTED, NAMES, Way, measure, ratios
from tests.benchmarks.pages import measured_here, say, table

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks" / "cluster.md"
TARGET = 0.95
THROUGHPUT, RACE = TITLES = ("Pods per second", "A placement race")
RACES = [RaceSettings(seed=1), RaceSettings(seed=2)]
HEADINGS = ["seed", "placed by", "hot-node time", "in the simulator", "unserved", "spread", "mean utilization",
            "99th percentile", "pods waiting for a node"]  # fmt: skip
INTRODUCTION = """# In a real cluster, measured

Written by `make benchmark-cluster`. etcd, kube-apiserver and kube-scheduler are real; kubelets are played by kwok."""


def throughput_part(nodes: int, pods: int, figures: Mapping[Way, list[float]]) -> str:
    """The table of pods per second."""
    beside = ratios(figures)
    rows = [
        [*way, f"{statistics.median(rates):.0f}", f"{min(rates):.0f} .. {max(rates):.0f}", f"{beside[way]:.2f}"]
        for way, rates in figures.items()
    ]
    met = {limit: "is met" if beside[limit, NAMES] >= TARGET else "is **not** met" for limit in (AS_IT_COMES, LIFTED)}
    lines = [
        f"## {THROUGHPUT}",
        "",
        f"{nodes} nodes, {pods} pods that all wait at the start, {len(figures[LIFTED, BARE])} rounds in turns. "
        "kube-scheduler limits its own calls to the API server (50 a second, unless told otherwise): as it comes, "
        f"the target of {TARGET} of bare {met[AS_IT_COMES]} on names. With the limit lifted it {met[LIFTED]}: etcd, "
        "the API server, kube-scheduler and we then share the cores of one machine: what a call per pod takes, "
        "in kube-scheduler and here, is missing elsewhere.",
        "",
        measured_here(),
        "",
        table(["kube-scheduler", "extender", "pods per second (median)", "range", "of bare"], rows),
    ]
    return "\n".join(lines)


Raced = tuple[RaceSettings, Mapping[str, Tally], Mapping[str, float]]
"""What, what came of it, and what hot-node time the simulator expects."""


def race_part(races: Sequence[Raced]) -> str:
    """The table of hot nodes."""
    rows = [
        [
            f"{of.seed}",
            racer,
            f"{each.hot_share:.1%}",
            f"{expected[racer]:.1%}",
            f"{each.unserved:.2%}",
            f"{each.spread:.1%}",
            f"{each.mean:.0%}",
            f"{each.percentile(99):.0%}",
            f"{each.waiting:.1f}",
        ]
        for of, tallies, expected in races
        for racer, each in tallies.items()
    ]
    settings = races[0][0]
    lines = [
        f"## {RACE}",
        "",
        f"The same arrivals and usage from the shipped generator for two pools of {settings.nodes} nodes, at "
        f"{settings.load:.0%} load, {settings.minutes:g} minutes after {settings.warm_up_minutes:g} of warm-up; pods "
        f"live {settings.lifetime_median_seconds / 60:g} minutes (median). loadaware has metrics-server alone, at its "
        "shortest resolution, and begins without having learned anything. A node is hot while its pods want more than "
        f"{HOT:.0%} of it; unserved is what they want beyond all of it; spread is the deviation of utilization across "
        "the nodes. Races of minutes show that it works on a real cluster; how much it brings is on "
        "[quality](quality.md).",
        "",
        measured_here(),
        "",
        table(HEADINGS, rows),
    ]
    return "\n".join(lines)


def page(measured: Mapping[str, str], before: str) -> str:
    """The whole page: each part by its title, as measured now, or as it was on the page before."""
    kept = {
        title: f"## {part}".strip() for title, part in ((p.partition("\n")[0], p) for p in before.split("\n## ")[1:])
    }
    parts = [measured.get(title) or kept.get(title, "") for title in TITLES]
    return "\n\n".join([INTRODUCTION, *filter(None, parts)]) + "\n"


def main(arguments: list[str]) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a small cluster and a short race: does it work?")
    parser.add_argument("--output", type=Path, default=PAGE)
    parser.add_argument("--only", choices=["throughput", "race"], help="the rest of the page stays as it is")
    given = parser.parse_args(arguments)
    nodes, pods, rounds = (50, 100, 1) if given.quick else (1000, 2000, 3)
    races = [RaceSettings(nodes=4, minutes=1.0, warm_up_minutes=0.5)] if given.quick else RACES
    measured = {}
    with tempfile.TemporaryDirectory(prefix="loadaware-cluster-") as folder:
        if given.only != "race":
            figures = measure(Path(folder) / "throughput", nodes, pods, rounds, say)
            measured[THROUGHPUT] = throughput_part(nodes, pods, figures)
        if given.only != "throughput":
            measured[RACE] = race_part(
                [
                    (settings, race(Path(folder) / f"race-{settings.seed}", settings, say), foretold(settings))
                    for settings in races
                ]
            )
    given.output.parent.mkdir(parents=True, exist_ok=True)
    before = given.output.read_text(encoding="utf-8") if given.output.exists() else ""
    given.output.write_text(page(measured, before), encoding="utf-8")
    say(f"written: {given.output}")


if __name__ == "__main__":
    main(sys.argv[1:])
