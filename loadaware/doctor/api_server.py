"""Is there an API server, does it know us, which version is it, and which nodes does it have?"""

from collections.abc import Iterator

import msgspec

from collectors.errors import CollectorError, MalformedAnswerError, QuantityError, SourceRefusedError
from collectors.kubernetes_api import KubernetesApi
from collectors.manifests import Node, NodeManifest, node_from
from loadaware.doctor.finding import Finding, fail, ok, some, warn

WHAT = "API server"
VERSION_PATH = "/version"
WHO_PATH = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
NODES_PATH = "/api/v1/nodes"

_WHO = b'{"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}'
_FIXES = {
    401: "the credentials are not accepted: log in again, or name others with --kubeconfig and --context",
    403: "bind the ClusterRole system:public-info-viewer, as clusters do by default",
}
_UNREACHABLE = (
    "check --kubeconfig, --context or KUBECONFIG, and that the address can be reached from here (VPN, proxy, firewall)"
)


class _Version(msgspec.Struct, rename="camel"):
    git_version: str


class _UserInfo(msgspec.Struct):
    username: str = ""


class _WhoStatus(msgspec.Struct, rename="camel"):
    user_info: _UserInfo = msgspec.field(default_factory=_UserInfo)


class _Who(msgspec.Struct):
    status: _WhoStatus = msgspec.field(default_factory=_WhoStatus)


class _NodeList(msgspec.Struct):
    items: list[NodeManifest] | None


def check_api_server(api: KubernetesApi) -> Iterator[Finding]:
    """Reachable with these credentials, and its version."""
    try:
        version = msgspec.json.decode(api.get(VERSION_PATH), type=_Version).git_version
    except msgspec.DecodeError:
        yield fail(WHAT, f"{api.url} answers, but not as an API server does", _UNREACHABLE)
    except SourceRefusedError as error:
        judge = warn if error.status == 403 else fail
        yield judge(WHAT, str(error), _FIXES.get(error.status, _UNREACHABLE))
    except CollectorError as error:
        yield fail(WHAT, str(error), _UNREACHABLE)
    else:
        user = who_we_are(api)
        yield ok(WHAT, f"{api.url} is Kubernetes {version}" + (f", we are {user}" if user else ""))


def who_we_are(api: KubernetesApi) -> str:
    """Our name as the API server knows it; empty if it is too old to tell."""
    try:
        return msgspec.json.decode(api.post(WHO_PATH, _WHO), type=_Who).status.user_info.username
    except (CollectorError, msgspec.DecodeError):
        return ""


def check_nodes(api: KubernetesApi, into: list[Node]) -> Iterator[Finding]:
    """How many there are; they are put into the list."""
    try:
        manifests = _node_manifests(api)
    except CollectorError as error:
        yield fail("nodes", str(error), "see the lines above: nodes must be listed and watched")
        return
    misunderstood = []
    for manifest in manifests:
        try:
            into.append(node_from(manifest))
        except (QuantityError, OverflowError):
            misunderstood.append(manifest.metadata.name)
    yield _node_count(into)
    if misunderstood:
        detail = f"{len(misunderstood)} cannot be understood: {some(misunderstood)}"
        yield warn("nodes", detail, "look at their status.capacity: an amount there is no quantity")


def _node_manifests(api: KubernetesApi) -> list[NodeManifest]:
    """All of them in one answer, from the API server's cache."""
    body = api.get(NODES_PATH, {"resourceVersion": "0"})
    try:
        return msgspec.json.decode(body, type=_NodeList).items or []
    except msgspec.DecodeError as error:
        raise MalformedAnswerError(api.url + NODES_PATH, "a list of nodes", str(error)) from error


def _node_count(nodes: list[Node]) -> Finding:
    unready = [node.name for node in nodes if not node.ready]
    if not nodes:
        return warn("nodes", "the cluster has none", "check that this is the right cluster (--context)")
    note = f", not ready: {some(unready)}" if unready else ""
    return ok("nodes", f"{len(nodes)}{note}")
