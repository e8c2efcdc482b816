"""The manifests agree with what the code does."""

from pathlib import Path

import yaml

from loadaware.doctor.access import CLUSTER, METRICS

RBAC = Path(__file__).parents[2] / "deploy" / "manifests" / "rbac.yaml"


def test_the_cluster_role_allows_what_doctor_asks_for_and_events_and_nothing_else() -> None:
    (role,) = (d for d in yaml.safe_load_all(RBAC.read_text()) if d["kind"] == "ClusterRole")
    allowed = {
        (group, resource, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    needed = {(need.group, need.resource, verb) for need in (*CLUSTER, *METRICS) for verb in need.verbs}
    assert allowed == needed | {("", "events", "create")}
