"""A service of some nodes that was asked, for tests of decisions and what is made of them."""

from collections.abc import Sequence
from typing import Any

from prometheus_client import CollectorRegistry

from collectors.cluster import NodeSeen, PodSeen
from collectors.manifests import Pod, Shape
from loadaware.adviser import Adviser, AdviserSettings
from loadaware.changes import PodBound
from loadaware.decisions import Decisions
from loadaware.explanation import explain
from loadaware.extender.answers import Answers
from loadaware.scorers.entropic_risk import EntropicRisk
from loadaware.service import Service
from loadaware.telemetry import Telemetry
from tests.loadaware.builders import GIB, Clock, make_node, make_pod, make_profile, make_settings
from tests.loadaware.learned import observer_of, reading_of, running_pod
from tests.loadaware.running_server import arguments


def service_of(settings: AdviserSettings | None = None, clock: Clock | None = None) -> Service:
    """Knows nothing yet; the default scorer unless told otherwise."""
    clock = clock or Clock()
    adviser = Adviser(settings or make_settings(make_profile(EntropicRisk())), clock)
    return Service(adviser, Telemetry(CollectorRegistry(), "0.0.0"), clock, 60.0)


def learned_service(settings: AdviserSettings | None = None) -> Service:
    """Three nodes of four cores: b uses 3 cores, a a half, c nothing that was measured; demand was learned."""
    clock = Clock(900.0)
    service = service_of(settings, clock)
    observer = observer_of(running_pod("calm-1", "a"), running_pod("busy-1", "b"))
    observer.tell(NodeSeen(make_node("c")), 0.0)
    for step in range(30):
        swing = 0.1 if step % 2 else -0.1
        used = {"calm-1": (0.5 + swing, GIB), "busy-1": (3.0 + swing, 2 * GIB)}
        observer.feed(reading_of(used, 15.0 * step, 1.0), 15.0 * step)
    service.take(observer.snapshot(450.0))
    clock.now = 460.0
    observer.tell(PodSeen(running_pod("calm-1", "a")), 460.0)
    return service


def ask(service: Service, verb: str, *names: str, pod: str = "web-1", **members: Any) -> None:
    """One request, as the server answers it."""
    manifest = {
        "metadata": {"name": pod, "namespace": "shop", "uid": f"uid-{pod}"},
        "spec": {"containers": [{"resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}}]},
    }
    answer = Answers(service, 2**30).answer(verb, arguments(*names, Pod=manifest, **members), None)
    assert answer.status == 200, answer.content


def bind(service: Service, node: str, pod: str = "web-1") -> None:
    """The watch tells where a pod went."""
    service.take([PodBound(f"uid-{pod}", node, Shape(), service.clock())])


def explained(service: Service, pod: str = "shop/web-1", **asked: Any) -> dict[str, Any]:
    """What /explain tells of a pod."""
    return explain(*service.hindsight.decisions.of_pod(pod), **asked)


def noted(decisions: Decisions, service: Service, names: Sequence[str], pod: Pod | None = None) -> None:
    """Rank, and keep the answer."""
    pod, adviser = pod or make_pod(), service.adviser
    decisions.note(pod, adviser.rank(pod, names), len(names), adviser.snapshot, service.clock())
