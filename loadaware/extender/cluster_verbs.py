"""The two verbs that need more than the snapshot: preempt asks the observer about victims, bind asks the API server.

Both fail as softly as they can: what goes wrong in an unforeseen way leaves every candidate to preempt, and makes bind
answer an error that kube-scheduler understands, with nothing booked.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence

from collectors.errors import CollectorError
from collectors.kubernetes_api import KubernetesApi
from collectors.manifests import Pod
from collectors.writes import bind_pod, node_exists
from loadaware.errors import LoadAwareError
from loadaware.extender import victims
from loadaware.extender.victims import BindingArguments, Preemption
from loadaware.recorded import Asked
from loadaware.service import Service

logger = logging.getLogger(__name__)

TOO_BUSY = "would still be too busy without its victims"
"""As it is recorded of a candidate that is dropped."""


async def preempt(service: Service, body: bytes, profile: str | None) -> bytes:
    """Drop candidates that would still be too busy without their victims; never all of them. Raises RequestError."""
    return await preempt_among(service, victims.decode_preemption(body), profile)


async def preempt_among(service: Service, preemption: Preemption, profile: str | None) -> bytes:
    """The same, once the body was read. Raises UnknownProfileError."""
    chosen = service.adviser.profile_for(preemption.pod, profile).name
    service.telemetry.requests.labels("preempt", chosen).inc()
    service.telemetry.nodes_asked.labels("preempt", chosen).observe(len(preemption.candidates))
    for doubt in preemption.doubts:
        service.telemetry.errors.labels("preempt", doubt.partition(":")[0]).inc()
    try:
        uids = [pod.uid for node in preemption.candidates.values() for pod in node.pods or () if pod.uid]
        known = await service.questions.pods(uids)
        usage = {**preemption.requests, **{uid: pod.usage for uid, pod in known.items()}}
        kept = service.adviser.preempt(preemption.pod, _freed(preemption, usage), chosen)
        _record_preemption(service, preemption, chosen, kept)
        if service.hindsight.mode == "shadow":
            kept = list(preemption.candidates)
    except LoadAwareError:
        raise
    except Exception:
        logger.exception("preempt failed for pod %s: no candidate is dropped", preemption.pod.key)
        service.telemetry.errors.labels("preempt", "internal").inc()
        kept = list(preemption.candidates)
    return victims.encode_candidates(preemption, kept)


def _record_preemption(service: Service, preemption: Preemption, profile: str, kept: Sequence[str]) -> None:
    names = tuple(preemption.candidates)
    verdicts = tuple(None if name in kept else TOO_BUSY for name in names)
    aside = service.hindsight.mode == "shadow"
    service.on_asked(
        Asked(0, service.clock(), "preempt", profile, preemption.pod, names, verdicts=verdicts, aside=aside)
    )


def _freed(preemption: Preemption, usage: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float] | None]:
    """Per candidate node, what its victims use; None if one of them is not known."""
    freed: dict[str, dict[str, float] | None] = {}
    for node, victims_there in preemption.candidates.items():
        uids = [pod.uid for pod in victims_there.pods or ()]
        freed[node] = _sum([usage[uid] for uid in uids]) if all(uid in usage for uid in uids) else None
    return freed


def _sum(amounts: list[Mapping[str, float]]) -> dict[str, float]:
    total: dict[str, float] = {}
    for resource, amount in (pair for one in amounts for pair in one.items()):
        total[resource] = total.get(resource, 0.0) + amount
    return total


async def bind(service: Service, body: bytes, profile: str | None) -> bytes:
    """Bind through the API server, the pod booked at once. A refusal is answered in the API's own words."""
    binding = victims.decode_binding(body)
    service.adviser.check_profile(profile)
    service.telemetry.requests.labels("bind", profile or "").inc()
    if service.api is None:
        return victims.encode_binding("binding is not configured here: there is no API server to ask")
    identity = binding.pod_uid or f"{binding.pod_namespace}/{binding.pod_name}"
    service.adviser.reserve(identity, binding.node)
    _record_binding(service, binding, profile)
    problem = await _bound(service, service.api, binding)
    if problem:
        service.adviser.unreserve(identity)
        _record_binding(service, binding, profile, problem)
    return victims.encode_binding(problem)


def _record_binding(
    service: Service, binding: BindingArguments, profile: str | None, problem: str | None = None
) -> None:
    """Once when it is booked, and once more if it failed: each is where a replay does the same."""
    pod = Pod(namespace=binding.pod_namespace, name=binding.pod_name, uid=binding.pod_uid)
    service.on_asked(Asked(0, service.clock(), "bind", profile or "", pod, (binding.node,), verdicts=(problem,)))


async def _bound(service: Service, api: KubernetesApi, binding: BindingArguments) -> str:
    """Bind; what went wrong, if anything. A node that the watch has not told of yet may exist all the same."""
    where = binding.pod_namespace, binding.pod_name, binding.pod_uid, binding.node
    known = binding.node in service.adviser.snapshot.index
    try:
        if not known and not await asyncio.to_thread(node_exists, api, binding.node):
            return f"node {binding.node!r} does not exist"
        await asyncio.to_thread(bind_pod, api, *where)
    except CollectorError as error:
        return str(error)
    except Exception as error:
        logger.exception("bind failed for pod %s/%s", binding.pod_namespace, binding.pod_name)
        service.telemetry.errors.labels("bind", "internal").inc()
        return f"{type(error).__name__}: {error}"
    return ""
