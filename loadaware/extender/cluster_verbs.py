"""The two verbs that need more than the snapshot: preempt asks the observer about victims, bind asks the API server."""

import asyncio
from collections.abc import Mapping

from collectors.errors import CollectorError
from collectors.writes import bind_pod
from loadaware.extender import victims
from loadaware.extender.victims import Preemption
from loadaware.service import Service


async def preempt(service: Service, body: bytes, profile: str | None) -> bytes:
    """Drop candidates that would still be too busy without their victims; never all of them. Raises RequestError."""
    preemption = victims.decode_preemption(body)
    uids = [pod.uid for node in preemption.candidates.values() for pod in node.pods or () if pod.uid]
    known = await service.questions.pods(uids)
    usage = {**preemption.requests, **{uid: pod.usage for uid, pod in known.items()}}
    kept = service.adviser.preempt(preemption.pod, _freed(preemption, usage), profile)
    return victims.encode_candidates(preemption, kept)


def _freed(preemption: Preemption, usage: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """Per candidate node, what its victims use."""
    freed: dict[str, dict[str, float]] = {}
    for node, victims_there in preemption.candidates.items():
        total = freed.setdefault(node, {})
        for pod in victims_there.pods or ():
            for resource, amount in usage.get(pod.uid, {}).items():
                total[resource] = total.get(resource, 0.0) + amount
    return freed


async def bind(service: Service, body: bytes) -> bytes:
    """Bind through the API server, the pod booked at once. A refusal is answered in the API's own words."""
    binding = victims.decode_binding(body)
    if binding.node not in service.adviser.snapshot.index:
        return victims.encode_binding(f"node {binding.node!r} does not exist")
    if service.api is None:
        return victims.encode_binding("binding is not configured here: there is no API server to ask")
    identity = binding.pod_uid or f"{binding.pod_namespace}/{binding.pod_name}"
    service.adviser.reserve(identity, binding.node)
    try:
        await asyncio.to_thread(
            bind_pod, service.api, binding.pod_namespace, binding.pod_name, binding.pod_uid, binding.node
        )
    except CollectorError as error:
        service.adviser.unreserve(identity)
        return victims.encode_binding(str(error))
    return victims.encode_binding()
