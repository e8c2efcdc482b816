"""The chart, as it comes and with certificates, run as the API server holds it; and what notes and docs tell people."""

import re
import shlex
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.parts.charts import CHART, Values, helm
from tests.parts.cluster import Cluster
from tests.parts.installed_pod import InstalledPod, secret_files
from tests.parts.kubernetes_api import DEFAULT_PODS, KubernetesApi
from tests.parts.processes import NotYetError, free_port, wait_for

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

NAMESPACE = "as-installed"
PAGE = (CHART.parents[1] / "docs" / "install.md").read_text(encoding="utf-8")
NODES = {"installed-1": "1", "installed-2": "6"}
SMALL = {"requests": {"cpu": "100m", "memory": "64Mi"}}
MUTUAL_TLS = {"tls": {"mode": "generated", "clientAuth": True}}


class Installed(NamedTuple):
    """What helm said, the pod that it made, which runs, and the values that are not the default."""

    notes: str
    pod: InstalledPod
    values: Values


@pytest.fixture(scope="module")
def nodes(cluster: Cluster) -> Cluster:
    for name, load in NODES.items():
        cluster.add_node(name, load=load)
    return cluster


@pytest.fixture(params=[{}, MUTUAL_TLS], ids=["plain", "mutual TLS"])
def installed(nodes: Cluster, folder: Path, request: pytest.FixtureRequest) -> Iterator[Installed]:
    """With port numbers that are free on this machine."""
    cluster = nodes
    where = [f"--kubeconfig={cluster.control_plane.kubeconfig}", f"--namespace={NAMESPACE}"]
    values = {"image": {"repository": "loadaware"}, "port": free_port(), "people": {"port": free_port()}}
    values |= request.param
    said = helm("install", "loadaware", CHART, *where, "--create-namespace", values=values)
    workload = cluster.api.get(f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/loadaware")
    token = cluster.control_plane.service_account_token(
        NAMESPACE, workload["spec"]["template"]["spec"]["serviceAccountName"]
    )
    kubeconfig = cluster.control_plane.kubeconfig_for("installed", token)
    with InstalledPod(cluster.api, workload, folder, kubeconfig) as pod:
        wait_for(lambda: pod.probe("readinessProbe"), "its readiness", pod.process)
        yield Installed(said, pod, request.param)
    helm("uninstall", "loadaware", *where)
    cluster.api.delete(DEFAULT_PODS)


def executed(text: str) -> list[list[str]]:
    """What is run in the pod by the commands of a text, each once."""
    found = re.findall(r"kubectl --namespace \S+ exec deployment/loadaware -- (loadaware .*)", text)
    return [shlex.split(line) for line in dict.fromkeys(found)]


def scheduler_config(installed: Installed, api: KubernetesApi, folder: Path) -> str:
    """As the notes print it and say what to put where, with this machine in the place of the cluster's address."""
    block = re.search(r"(?m)^ {4}apiVersion: kubescheduler(?:.*\n)(?: {4}.*\n)+", installed.notes)
    assert block is not None
    if installed.values:
        for name, content in secret_files(api, NAMESPACE, "loadaware-client-tls").items():
            (folder / name).write_text(content)
    changes = {
        "CLUSTER-IP": "127.0.0.1",
        "leaderElect: true": "leaderElect: false",
        "httpTimeout: 2s": "httpTimeout: 30s",
        "/etc/kubernetes/loadaware": str(folder),
    }
    return reduce(lambda text, change: text.replace(*change), changes.items(), block[0])


def test_what_notes_and_docs_tell_people_to_run_in_the_pod_works_there(
    nodes: Cluster, installed: Installed, folder: Path
) -> None:
    pod = installed.pod
    in_notes = executed(installed.notes)
    on_page = executed(PAGE.replace(":8091", f":{pod.port('people')}"))
    on_page = [words for words in on_page if ("--ca-file" in words) == bool(installed.values)]
    assert {words[1] for words in in_notes} == {"doctor"}
    assert {words[1] for words in on_page} >= {"shadow"}
    with nodes.control_plane.start_scheduler(scheduler_config(installed, nodes.api, folder)):
        nodes.api.nodes_of(nodes.api.add_pods([f"asked-{number}" for number in range(4)], **SMALL))

    def examined() -> str:
        # With mutual TLS a probe can see that the port is open, no more: the first reading may still be under way.
        done = pod.run(in_notes[0])
        seen = "4 answered since its start" in done.stdout and "2 of 2 nodes measured" in done.stdout
        if done.returncode != 0 or not seen:
            raise NotYetError(f"exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    told = wait_for(examined, "all nodes measured, and 4 requests", pod.process)
    assert "loadaware server mode: shadow" in told
    assert ", 0 fail" in told
    for words in on_page:
        if words[1] == "doctor":
            wait_for(lambda: ", 0 fail" in pod.run(words).stdout, "a doctor without complaints", pod.process)  # noqa: B023 - called at once
        else:
            assert "mode shadow" in pod.execute(words)
