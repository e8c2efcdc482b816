"""What the README says of placements is what the measured pages say."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OURS = "EntropicRisk*3+default"
RUNS = {10: "Ten", 20: "Twenty"}
EVERY_RUN = ("PlanetLab: load 50 %", "PlanetLab: who was ahead")
"""The tables whose policies have all runs."""

Row = dict[str, str]


def words(text: str) -> str:
    return " ".join(text.split())


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def rows(section: str) -> list[Row]:
    """Of the first table, by heading; of two columns with the same heading the last."""
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    cells = [[cell.strip(" *`") for cell in line.strip("|").split("|")] for line in lines]
    return [dict(zip(cells[0], row, strict=True)) for row in cells[2:]]


@pytest.fixture(scope="module")
def readme() -> str:
    return words(page("README.md"))


@pytest.fixture(scope="module")
def sections() -> list[str]:
    return page("docs/benchmarks/quality.md").split("\n## ")


@pytest.fixture(scope="module")
def policies(sections: list[str]) -> dict[str, Row]:
    """At 50 % load, by name."""
    whole = [part for part in sections if part.startswith(EVERY_RUN) and "load 50 %" in part.splitlines()[0]]
    return {row["policy"]: row for part in whole for row in rows(part)}


def test_our_shares_of_the_gap_are_those_of_the_quality_page(readme: str, policies: dict[str, Row]) -> None:
    share, interval = policies[OURS]["gap closed: hot80"].split()
    unserved = policies[OURS]["unserved"]
    assert f"{share} % (interval {interval.strip('()')}) on time above 80 %" in readme
    assert f"and {unserved.split()[0]} % on CPU wanted and not had" in readme


def test_shares_of_the_best_peer_are_those_of_the_quality_page(
    readme: str, sections: list[str], policies: dict[str, Row]
) -> None:
    (duels,) = [rows(part) for part in sections if part.startswith(f"PlanetLab: {OURS} against the best peer")]
    best = {row["metric"]: policies[row["best peer"]] for row in duels if row["load"] == "50 %"}
    hot, unserved = best["hot80"]["gap closed: hot80"], best["unserved"]["unserved"]
    assert f"at the weight that suits it best, {hot.split()[0]} and {unserved.split()[0]} %." in readme


def test_replicas_that_share_a_node_are_those_of_the_quality_page(readme: str, policies: dict[str, Row]) -> None:
    assert policies["default"]["together"] == "0.0"
    assert f"({policies[OURS]['together']} % of pairs; the default none)" in readme


def test_there_are_as_many_days_as_on_the_quality_page(readme: str, sections: list[str]) -> None:
    found = re.search(r"(\d+) paired runs a load, (\d+) nodes", sections[0])
    assert found is not None
    runs, nodes = map(int, found.groups())
    assert f"{RUNS[runs]} simulated days on recorded PlanetLab usage ({nodes} nodes, 50 % load)" in readme


def test_hot_time_in_the_races_is_that_of_the_cluster_page(readme: str) -> None:
    percent = r"([\d.]+) and ([\d.]+) %"
    said = re.search(f"hot {percent} of the time with the default scheduler, {percent} with loadaware", readme)
    assert said is not None
    race = page("docs/benchmarks/cluster.md")
    for scheduler, seed, figure in zip(
        ("default", "default", "loadaware", "loadaware"), "1212", said.groups(), strict=True
    ):
        assert f"| {seed} | {scheduler} | {figure}% |" in race
