"""As the default scheduler's extender, as a second scheduler, with two profiles, beside kube-scheduler's own rules."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.parts.control_plane import ControlPlane
from tests.parts.kubernetes_api import DEFAULT_PODS, KubernetesApi
from tests.parts.loadaware_process import LoadAware
from tests.parts.scheduler import PLAIN_SCHEDULER

pytestmark = pytest.mark.e2e

CAPACITY: dict[str, Any] = {"cpu": "8", "memory": "32Gi"}
SPREADING = {"scorers": [{"name": "LoadVariationRiskBalancing"}], "maxScore": 100}
PACKING = {"scorers": [{"name": "TargetLoadPacking", "args": {"targetUtilization": 50}}], "maxScore": 100}
SMALL = {"requests": {"cpu": "10m", "memory": "10Mi"}}
PRIORITIZED = 'loadaware_requests_total{profile="%s",verb="prioritize"}'


def nodes(api: KubernetesApi, cpu_percent: dict[str, int], labels: dict[str, dict[str, str]] | None = None) -> Any:
    """Nodes with that load, and the frozen state that tells of it."""
    for name in cpu_percent:
        api.add_ready_node(name, **CAPACITY, labels=(labels or {}).get(name))
    usage = {name: {"cpu": {"mean": f"{percent}%"}} for name, percent in cpu_percent.items()}
    return {"nodes": [{"name": name, "capacity": CAPACITY, "usage": usage[name]} for name in cpu_percent]}


def test_a_second_scheduler_beside_the_default_one_serves_the_pods_that_name_it_and_no_others(
    control_plane: ControlPlane, api: KubernetesApi, folder: Path
) -> None:
    state = nodes(api, {"hot": 90, "cold": 10})
    config = {"profiles": [{"schedulerName": "loadaware", **SPREADING}]}
    with (
        LoadAware(folder, config=config, state=state) as loadaware,
        control_plane.start_scheduler(PLAIN_SCHEDULER),
        control_plane.start_scheduler(loadaware.schedule_config()),
    ):
        large = {"requests": {"cpu": "500m", "memory": "500Mi"}}
        ours = api.add_pods([f"ours-{n}" for n in range(4)], **large, spec={"schedulerName": "loadaware"})
        assert set(api.nodes_of(ours).values()) == {"cold"}
        theirs = api.add_pods([f"theirs-{n}" for n in range(3)], **large)
        assert set(api.nodes_of(theirs).values()) == {"hot"}  # where less is requested
        assert loadaware.metric(PRIORITIZED % "loadaware") == len(ours)
        assert loadaware.metric(PRIORITIZED % "default-scheduler") == 0


def test_the_default_scheduler_with_us_as_its_extender_asks_about_every_pod(
    control_plane: ControlPlane, api: KubernetesApi, folder: Path
) -> None:
    state = nodes(api, {"hot": 90, "cold": 10})
    with (
        LoadAware(folder, config={"profiles": [SPREADING]}, state=state) as loadaware,
        control_plane.start_scheduler(loadaware.schedule_config()),
    ):
        pods = api.add_pods([f"plain-{n}" for n in range(6)], **SMALL)
        assert set(api.nodes_of(pods).values()) == {"cold"}
        assert loadaware.metric(PRIORITIZED % "default-scheduler") == len(pods)


def test_two_profiles_at_once_place_each_in_its_own_way(
    control_plane: ControlPlane, api: KubernetesApi, folder: Path
) -> None:
    state = nodes(api, {"idle": 2, "half": 40, "full": 95})
    profiles = [{"schedulerName": "spreading", **SPREADING}, {"schedulerName": "packing", **PACKING}]
    with (
        LoadAware(folder, config={"profiles": profiles}, state=state) as loadaware,
        control_plane.start_scheduler(loadaware.schedule_config()),
    ):
        for number in range(4):
            for name in ("spreading", "packing"):
                api.add_pod(f"{name}-{number}", **SMALL, spec={"schedulerName": name})
        placed = {name: api.nodes_of([f"{name}-{n}" for n in range(4)]) for name in ("spreading", "packing")}
        assert set(placed["spreading"].values()) == {"idle"}
        assert set(placed["packing"].values()) == {"half"}
        assert [loadaware.metric(PRIORITIZED % name) for name in ("spreading", "packing")] == [4, 4]


def test_a_topology_spread_rule_still_holds_however_hot_one_zone_is(
    control_plane: ControlPlane, api: KubernetesApi, folder: Path
) -> None:
    zones = {"cold-1": "a", "cold-2": "a", "hot-1": "b", "hot-2": "b"}
    labels = {name: {"topology.kubernetes.io/zone": zone} for name, zone in zones.items()}
    state = nodes(api, {"cold-1": 5, "cold-2": 10, "hot-1": 90, "hot-2": 97}, labels)
    constraint = {
        "maxSkew": 1,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    spec = {"topologySpreadConstraints": [constraint]}
    with (
        LoadAware(folder, config={"profiles": [SPREADING]}, state=state) as loadaware,
        control_plane.start_scheduler(loadaware.schedule_config()),
    ):
        pods = api.add_pods([f"web-{n}" for n in range(8)], **SMALL, labels={"app": "web"}, spec=spec)
        placed = api.nodes_of(pods)
        assert Counter(zones[node] for node in placed.values()) == {"a": 4, "b": 4}
        assert "hot-2" not in placed.values()  # of the hot zone, the less hot node
        free = api.add_pods([f"free-{n}" for n in range(4)], **SMALL)
        assert set(api.nodes_of(free).values()) <= {"cold-1", "cold-2"}
    assert len(api.get(DEFAULT_PODS)["items"]) == 12
