"""Is metrics.k8s.io registered, does it answer, is it fresh, and does it know every node?"""

from collections.abc import Iterator, Sequence

import msgspec

from collectors.errors import CollectorError, SourceRefusedError
from collectors.kubernetes_api import KubernetesApi
from collectors.manifests import Node
from collectors.metrics_server import MetricsServer
from loadaware.config import MetricsServerSource, StalenessSection
from loadaware.doctor.finding import Finding, fail, ok
from loadaware.doctor.measured import check_reading

WHAT = "metrics.k8s.io"
DISCOVERY_PATH = "/apis/metrics.k8s.io/v1beta1"
REGISTRATION_PATH = "/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.metrics.k8s.io"

_INSTALL = "install metrics-server (https://github.com/kubernetes-sigs/metrics-server), or set source.type: Prometheus"
_DEAD = (
    "metrics-server is registered but does not answer: see `kubectl get apiservice v1beta1.metrics.k8s.io` and its log"
)
_UNREADABLE = "see metrics-server's log; it needs two rounds after a start, up to two minutes"
_STALE = "see metrics-server's log: it does not scrape; its --metric-resolution=15s makes measurements younger"
_MISSING = (
    "see metrics-server's log for these nodes: it must reach their kubelet (port 10250, certificate); "
    "a node that has just joined takes two rounds"
)


class _Condition(msgspec.Struct):
    type: str = ""
    status: str = ""
    message: str = ""


class _Status(msgspec.Struct):
    conditions: list[_Condition] = []


class _Registration(msgspec.Struct):
    status: _Status = msgspec.field(default_factory=_Status)


def check_metrics_api(
    api: KubernetesApi, source: MetricsServerSource, nodes: Sequence[Node], staleness: StalenessSection
) -> Iterator[Finding]:
    """From registration to the last node. What is not there is not read."""
    try:
        api.get(DISCOVERY_PATH)
    except SourceRefusedError as error:
        if error.status != 403:
            yield _unserved(api, error)
            return
    except CollectorError as error:
        yield fail(WHAT, str(error), _DEAD)
        return
    yield from _check_answers(api, source, nodes, staleness)


def _check_answers(
    api: KubernetesApi, source: MetricsServerSource, nodes: Sequence[Node], staleness: StalenessSection
) -> Iterator[Finding]:
    try:
        reading = MetricsServer(api, pods=source.pods, timeout_seconds=source.timeout).read()
    except CollectorError as error:
        yield fail(WHAT, str(error), _UNREADABLE)
        return
    pods = f" and {len(reading.pods.names)} pods" if reading.pods is not None else ""
    yield ok(WHAT, f"answers with {len(reading.nodes.names)} nodes{pods}")
    yield from check_reading(reading, nodes, staleness, _STALE, _MISSING)


def _unserved(api: KubernetesApi, error: SourceRefusedError) -> Finding:
    if error.status == 404:
        return fail(WHAT, "this API is not served here", _INSTALL)
    reason = _registered_reason(api)
    return fail(WHAT, f"{error}" + (f" ({reason})" if reason else ""), _DEAD)


def _registered_reason(api: KubernetesApi) -> str:
    """Why the API server thinks that it is not available, if we may know."""
    try:
        registration = msgspec.json.decode(api.get(REGISTRATION_PATH), type=_Registration)
    except (CollectorError, msgspec.DecodeError):
        return ""
    told = [c.message for c in registration.status.conditions if c.type == "Available" and c.status != "True"]
    return " ".join(" ".join(told).split())[:300]
