"""Certificates between kube-scheduler and us: both sides checked, renewed under load, refused when they are wrong."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import requests

from loadaware.doctor import ServerFiles
from tests.parts.certificates import Authority, KeyPair
from tests.parts.control_plane import ControlPlane
from tests.parts.hammer import Hammer
from tests.parts.kubernetes_api import KubernetesApi
from tests.parts.loadaware_process import LoadAware
from tests.parts.processes import NotYetError, wait_for

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

CAPACITY: dict[str, Any] = {"cpu": "8", "memory": "32Gi"}
USAGE = {"cold": "10%", "hot": "95%"}
SMALL = {"requests": {"cpu": "10m", "memory": "10Mi"}}
PROFILE = {
    "filters": [{"name": "UsageThreshold", "args": {"thresholds": {"cpu": 90}}}],
    "scorers": [{"name": "LoadVariationRiskBalancing"}],
}
CLOSED = "EOF|reset by peer|broken pipe|closed"
"""What kube-scheduler says if we refuse its certificate: we close in the middle of the handshake, without an alert."""
EVENTS = "/api/v1/namespaces/default/events"


class Guarded:
    """A loadaware that shows a certificate and asks for one, and the files of both sides."""

    def __init__(self, folder: Path, api: KubernetesApi, *, dns: str = "") -> None:
        folder.mkdir(parents=True)
        self._dns = dns
        self.authority = Authority(folder / "authority", "authority")
        self.scheduler = self.authority.issue("kube-scheduler")
        self._files = KeyPair(folder / "tls.crt", folder / "tls.key")
        self.renew("extender-0")
        for name in USAGE:
            api.add_ready_node(name, **CAPACITY)
        state = {"nodes": [{"name": n, "capacity": CAPACITY, "usage": {"cpu": {"mean": u}}} for n, u in USAGE.items()]}
        tls = {
            "certFile": str(self._files.certificate),
            "keyFile": str(self._files.key),
            "clientCaFile": str(self.authority.certificate),
        }
        config = {"server": {"tls": tls}, "profiles": [PROFILE]}
        self.loadaware = LoadAware(folder, config=config, state=state)
        self.loadaware.trust(self.authority.certificate, self.scheduler, name=dns)

    def renew(self, name: str) -> None:
        """New files in place of the old ones, one after the other as a careless tool writes them."""
        issued = self.authority.issue(name, dns=self._dns)
        shutil.copy(issued.certificate, self._files.certificate)
        shutil.copy(issued.key, self._files.key)

    def schedule_config(self, authority: Path, shown: KeyPair, *options: str) -> str:
        """Printed for these files; not ignorable, so that nothing goes wrong unnoticed."""
        files = ["--ca-file", str(authority), "--cert-file", str(shown.certificate), "--key-file", str(shown.key)]
        return self.loadaware.schedule_config(*files, *options).replace("ignorable: true", "ignorable: false")

    def in_force(self) -> int:
        """How many times new certificates were taken."""
        return self.loadaware.process.log.read_text().count("the new certificates are in force")


@pytest.fixture
def guarded(folder: Path, api: KubernetesApi) -> Guarded:
    return Guarded(folder, api)


def question() -> dict[str, Any]:
    pod = {"metadata": {"name": "asked", "namespace": "default", "uid": "asked"}, "spec": {"containers": []}}
    return {"Pod": pod, "Nodes": None, "NodeNames": list(USAGE)}


def test_both_sides_check_each_other_and_certificates_are_renewed_under_load_without_a_failed_call(
    control_plane: ControlPlane, api: KubernetesApi, guarded: Guarded
) -> None:
    loadaware, ours, authority = guarded.loadaware, guarded.scheduler, guarded.authority.certificate
    with loadaware, control_plane.start_scheduler(guarded.schedule_config(authority, ours)):
        with Hammer(f"{loadaware.url}/prioritize", question(), authority=authority, shown=ours) as hammer:
            for renewal in range(1, 4):
                answered = hammer.answered
                guarded.renew(f"extender-{renewal}")
                pods = api.add_pods([f"during-{renewal}-{n}" for n in range(3)], **SMALL)
                assert set(api.nodes_of(pods).values()) == {"cold"}
                wait_for(lambda: guarded.in_force() >= renewal, "the new certificate", loadaware.process)  # noqa: B023 - called at once
                wait_for(lambda: hammer.answered > answered + 50, "calls to go on", loadaware.process)  # noqa: B023 - called at once
        assert hammer.failures == []
        asked: dict[str, Any] = {"json": question(), "verify": str(authority), "timeout": 30}
        assert requests.post(f"{loadaware.url}/prioritize", **asked, cert=(str(ours.certificate), str(ours.key))).ok
        with pytest.raises(requests.ConnectionError):  # for lack of a certificate alone
            requests.post(f"{loadaware.url}/prioritize", **asked)
        files = ServerFiles(str(authority), str(ours.certificate), str(ours.key))
        found = loadaware.examined(control_plane.kubeconfig, files)
    verdicts = {finding.what: finding.verdict for finding in found}
    assert verdicts["loadaware server"] == "ok", found
    assert verdicts["loadaware server requests"] == "ok"


def test_kube_scheduler_refuses_us_if_another_authority_signed_our_certificate(
    control_plane: ControlPlane, api: KubernetesApi, guarded: Guarded, folder: Path
) -> None:
    stranger = Authority(folder / "stranger", "stranger")
    with guarded.loadaware:
        with control_plane.start_scheduler(guarded.schedule_config(stranger.certificate, guarded.scheduler)):
            api.add_pod("refusing", **SMALL)
            wait_for(lambda: refused(api, "refusing", "certificate signed by unknown authority"), "its refusal")
        with control_plane.start_scheduler(
            guarded.schedule_config(guarded.authority.certificate, stranger.issue("who"))
        ):
            api.add_pod("refused", **SMALL)
            wait_for(lambda: refused(api, "refused", rf'/filter": .*({CLOSED})'), "our refusal")
        right = guarded.schedule_config(guarded.authority.certificate, guarded.scheduler)
        with control_plane.start_scheduler(right):
            assert set(api.nodes_of(["refusing", "refused"]).values()) == {"cold"}


def test_kube_scheduler_checks_the_name_of_our_certificate_where_it_calls_an_address(
    control_plane: ControlPlane, api: KubernetesApi, folder: Path
) -> None:
    """As with a cluster IP, which a certificate for the Service's name does not have."""
    service = "loadaware.kube-system.svc"
    guarded = Guarded(folder, api, dns=service)
    files = guarded.authority.certificate, guarded.scheduler
    with guarded.loadaware:
        with control_plane.start_scheduler(guarded.schedule_config(*files)):
            api.add_pod("by-address", **SMALL)
            wait_for(lambda: refused(api, "by-address", "it doesn't contain any IP SANs"), "its refusal")
        with control_plane.start_scheduler(guarded.schedule_config(*files, "--server-name", "another.svc")):
            api.add_pod("by-another", **SMALL)
            wait_for(lambda: refused(api, "by-another", f"certificate is valid for {service}"), "its refusal")
        with control_plane.start_scheduler(guarded.schedule_config(*files, "--server-name", service)):
            assert set(api.nodes_of(["by-address", "by-another"]).values()) == {"cold"}


def refused(api: KubernetesApi, pod: str, why: str) -> bool:
    """Whether kube-scheduler says so (a pattern) in an event of the pod, which is not bound."""
    said = [event["message"] for event in api.get(EVENTS, fieldSelector=f"involvedObject.name={pod}")["items"]]
    if not any(re.search(why, message) for message in said):
        raise NotYetError(f"{pod}: {said}")
    return "nodeName" not in api.get(f"/api/v1/namespaces/default/pods/{pod}")["spec"]
