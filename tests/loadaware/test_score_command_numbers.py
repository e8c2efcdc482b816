"""Every measured case of Trimaran's own tests through `loadaware score`: the peers' numbers come out as `raw`."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from loadaware.cli import cli

Amounts = Mapping[str, str | int]
MIB = 2**20
SMALL = {"cpu": "1000m", "memory": "1Gi"}


def usage(**percent: Sequence[float]) -> dict[str, Any]:
    """Mean, and deviation where there are two, in percent of capacity."""
    names = ("mean", "deviation")
    return {r: {n: f"{v}%" for n, v in zip(names, told, strict=False)} for r, told in percent.items()}


def latest(percent: float) -> dict[str, Any]:
    return {"cpu": {"latest": f"{percent}%"}}


def container(requests: Amounts | None = None, limits: Amounts | None = None) -> dict[str, Any]:
    return {"name": "app", "resources": {"requests": requests or {}, "limits": limits or {}}}


def pod(*containers: Mapping[str, Any], **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web"},
        "spec": {"containers": list(containers), **spec},
    }


def same(cpu: int, memory: int) -> dict[str, Any]:
    """A container whose limits are its requests."""
    return container({"cpu": f"{cpu}m", "memory": memory}, {"cpu": f"{cpu}m", "memory": memory})


@pytest.fixture
def raw(tmp_path: Path) -> Any:
    """What `loadaware score` says is the formula's own number."""

    def score(scorer: str, asked: Mapping[str, Any], node: Mapping[str, Any], *settings: str) -> int | float | None:
        state, manifest = tmp_path / "state.yaml", tmp_path / "pod.yaml"
        state.write_text(yaml.safe_dump({"nodes": [{"name": "node-1", "capacity": SMALL, **node}]}))
        manifest.write_text(yaml.safe_dump(dict(asked)))
        arguments = ["score", "--state", str(state), "--pod", str(manifest), "--scorer", scorer, "-o", "json"]
        options = [part for setting in settings for part in ("--set", setting)]
        result = CliRunner().invoke(cli, [*arguments, *options], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        (entry,) = json.loads(result.stdout)["nodes"]
        number: int | float | None = entry["scorers"][scorer]["raw"]
        return number

    return score


PACKING = [
    # name, cpu in use, pod      60 * U / 40 + 40 up to 40 %, then 40 * (100 - U) / 60
    ("new node", latest(0), pod(), 40),
    ("hot node", latest(50), pod(), 33),  # 33.3
    ("excess utilization", latest(30), pod(same(1000, 0), overhead={"cpu": "0"}), 0),  # U 130
    ("not measured", {}, pod(), None),  # the peer says 0
]


@pytest.mark.parametrize(("measured", "asked", "number"), [row[1:] for row in PACKING], ids=[row[0] for row in PACKING])
def test_target_load_packing(
    raw: Any, measured: Mapping[str, Any], asked: Mapping[str, Any], number: int | None
) -> None:
    node = {"usage": measured}
    assert raw("TargetLoadPacking", asked, node, "defaultRequests={}") == number


IDLE_INIT = {"initContainers": [container({"cpu": "0", "memory": 0})], "overhead": {"cpu": "0"}}
BALANCING = [
    # name, usage, pod      100 * (1 - (mu + sigma) / 2), the worse of the two
    ("new node", usage(cpu=[50]), pod(), 75),
    ("hot node", usage(cpu=[100]), pod(), 50),
    ("mean and deviation", usage(cpu=[30, 16]), pod(same(200, 256 * MIB), **IDLE_INIT), 67),
    ("cpu and memory", usage(cpu=[40, 16], memory=[50, 10]), pod(same(100, 512 * MIB), **IDLE_INIT), 45),
    ("the worse of the two", usage(cpu=[80, 20], memory=[25, 15]), pod(same(100, 512 * MIB), **IDLE_INIT), 45),
    ("not measured", {}, pod(), None),  # the peer says 0
]


@pytest.mark.parametrize(
    ("measured", "asked", "number"), [row[1:] for row in BALANCING], ids=[row[0] for row in BALANCING]
)
def test_load_variation_risk_balancing(
    raw: Any, measured: Mapping[str, Any], asked: Mapping[str, Any], number: int | None
) -> None:
    assert raw("LoadVariationRiskBalancing", asked, {"usage": measured}) == number


ANALYSIS = [
    # name, margin, sensitivity, mean and deviation of a capacity of 100, request 10      number
    ("valid data", 1, 1, (40, 36), 57),
    ("mean below zero", 1, 2, (-40, 36), 65),
    ("deviation below zero", 1, 2, (40, -36), 75),
    ("large mean", 1, 2, (200, 36), 20),
    ("sensitivity below zero", 1, -1, (40, 36), 57),
]


@pytest.mark.parametrize(
    ("margin", "sensitivity", "measured", "number"), [row[1:] for row in ANALYSIS], ids=[row[0] for row in ANALYSIS]
)
def test_the_analysis_of_one_resource(
    raw: Any, margin: float, sensitivity: float, measured: tuple[float, float], number: int
) -> None:
    node = {"capacity": {"cpu": 100}, "usage": usage(cpu=measured)}
    settings = (f"safeVarianceMargin={margin}", f"safeVarianceSensitivity={sensitivity}")
    assert raw("LoadVariationRiskBalancing", pod(container({"cpu": 10})), node, *settings) == number


def test_low_risk_over_commitment_of_a_pod_that_declares_nothing(raw: Any) -> None:
    assert raw("LowRiskOverCommitment", pod(), {"usage": usage(cpu=[20])}) == 0


def amounts(cpu: int, memory: int) -> dict[str, str | int]:
    return {"cpu": f"{cpu}m", "memory": memory}


OVER_COMMITMENT = [
    # pod's request and limit, those on the node (millicores, bytes of 4000 and 4096)      risk cpu, memory -> number
    ((1000, 2048), (1000, 6144), (1000, 0), (2000, 0), 50),  # 0.5, 0.5 * 2048 / 4096 = 0.25
    ((1000, 512), (1000, 1024), (3000, 512), (4000, 6144), 0),  # 1.0, 0.5 * 3072 / 6144 + 0.5 = 0.75
]


@pytest.mark.parametrize(("requests", "limits", "there_requests", "there_limits", "number"), OVER_COMMITMENT)
def test_low_risk_over_commitment(  # noqa: PLR0917 - a row of the table
    raw: Any,
    requests: tuple[int, int],
    limits: tuple[int, int],
    there_requests: tuple[int, int],
    there_limits: tuple[int, int],
    number: int,
) -> None:
    there = pod(container(amounts(*there_requests), amounts(*there_limits)))
    node = {"capacity": amounts(4000, 4096), "usage": usage(cpu=[80, 0], memory=[25, 0]), "pods": [there]}
    asked = pod(container(amounts(*requests), amounts(*limits)))
    assert raw("LowRiskOverCommitment", asked, node) == number


POWER = "{node-1: {k0: 471.7412504314313, k1: -91.50493019588365, k2: -0.07186049052516227}}"
PEAKS = [
    # name, cpu in use, pod      int(k1 * (e^(k2 * U') - e^(k2 * U)) * 1e15)
    ("requests", latest(0), pod(container({"cpu": "1000m", "memory": 2})), 91435654157549680),
    ("overhead", latest(0), pod(overhead={"cpu": "0"}), 0),
    ("not measured", {}, pod(container({}, {"cpu": "2000m"})), None),  # the peer says 0
]


@pytest.mark.parametrize(("measured", "asked", "number"), [row[1:] for row in PEAKS], ids=[row[0] for row in PEAKS])
def test_peaks(raw: Any, measured: Mapping[str, Any], asked: Mapping[str, Any], number: int | None) -> None:
    found = raw("Peaks", asked, {"usage": measured}, f"nodePowerModel={POWER}")
    assert found == (None if number is None else pytest.approx(number, abs=64))
    assert found is None or isinstance(found, int)
