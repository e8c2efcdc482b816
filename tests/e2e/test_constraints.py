"""What kube-scheduler must not do, it does not do for any score of ours: taints, affinity, room."""

from pathlib import Path
from typing import Any

import pytest

from tests.parts.control_plane import ControlPlane
from tests.parts.kubernetes_api import NODES, KubernetesApi
from tests.parts.loadaware_process import LoadAware

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

MEMORY = {"idle": "16Gi", "busy": "64Gi"}
USAGE = {"idle": "1%", "busy": "70%"}
PROFILE = {"scorers": [{"name": "LoadVariationRiskBalancing"}], "maxScore": 1000}
"""Counts for a hundred times the weight of a usual plugin."""
TAINT = {"key": "for", "value": "others", "effect": "NoSchedule"}
NOT_IDLE = {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": ["idle"]}
REQUIRED = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [NOT_IDLE]}]}}
SMALL = {"requests": {"cpu": "100m"}}


@pytest.mark.parametrize(
    ("taints", "pod"),
    [
        ([TAINT], SMALL),
        ([], {**SMALL, "spec": {"affinity": {"nodeAffinity": REQUIRED}}}),
        ([], {"requests": {"cpu": "100m", "memory": "20Gi"}}),
    ],
    ids=["a taint", "a node affinity", "no room"],
)
def test_a_node_that_is_forbidden_stays_so_however_much_we_prefer_it(
    control_plane: ControlPlane, api: KubernetesApi, folder: Path, taints: list[Any], pod: dict[str, Any]
) -> None:
    capacities = {name: {"cpu": "8", "memory": memory} for name, memory in MEMORY.items()}
    for name, memory in MEMORY.items():
        api.add_ready_node(name, cpu="8", memory=memory)
    state = {
        "nodes": [
            {"name": name, "capacity": capacities[name], "usage": {"cpu": {"mean": used}}}
            for name, used in USAGE.items()
        ]
    }
    with LoadAware(folder, config={"profiles": [PROFILE]}, state=state) as loadaware:
        with control_plane.start_scheduler(loadaware.schedule_config()):
            api.add_pod("free", **SMALL)
            assert api.node_of("free") == "idle"
        api.patch(f"{NODES}/idle", {"spec": {"taints": taints}})
        made = api.add_pod("bound-by-rules", **pod)
        with control_plane.start_scheduler(loadaware.schedule_config()):  # anew, or it may hear of the pod first
            assert api.node_of("bound-by-rules") == "busy"
        told = loadaware.post("/prioritize", {"Pod": made, "Nodes": None, "NodeNames": list(USAGE)}).json()
    scores = {each["Host"]: each["Score"] for each in told}
    assert scores["idle"] > scores["busy"] + 200, scores
