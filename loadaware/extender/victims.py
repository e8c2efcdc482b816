"""The wire of preempt and bind: which pods would have to go, and where a pod is to be bound.

With nodeCacheCapable kube-scheduler names victims by UID (`NodeNameToMetaVictims`), without it sends whole pods
(`NodeNameToVictims`). The answer always names them by UID, and a node left out is no longer a candidate.
"""

from collections.abc import Mapping, Sequence

import msgspec

from collectors.errors import QuantityError
from collectors.manifests import Pod, PodManifest, pod_from
from loadaware.errors import RequestError


class MetaPod(msgspec.Struct, gc=False):
    """A victim by UID; Go writes the key in capitals."""

    uid: str = msgspec.field(default="", name="UID")


class MetaVictims(msgspec.Struct, rename="pascal", gc=False):
    """The victims on one node."""

    pods: list[MetaPod] | None = None
    num_pdb_violations: int = msgspec.field(default=0, name="NumPDBViolations")


class _Victims(msgspec.Struct, rename="pascal", gc=False):
    pods: list[PodManifest] | None = None
    num_pdb_violations: int = msgspec.field(default=0, name="NumPDBViolations")


class _PreemptionArguments(msgspec.Struct, rename="pascal", gc=False):
    pod: PodManifest | None = None
    node_name_to_victims: dict[str, _Victims] | None = None
    node_name_to_meta_victims: dict[str, MetaVictims] | None = None


class Preemption(msgspec.Struct, frozen=True):
    """A pod, and per candidate node the victims; what whole victims request, by UID."""

    pod: Pod
    candidates: Mapping[str, MetaVictims]
    requests: Mapping[str, Mapping[str, float]] = {}


class BindingArguments(msgspec.Struct, frozen=True, rename="pascal"):
    """Where a pod is to be bound."""

    pod_name: str
    pod_namespace: str
    node: str
    pod_uid: str = msgspec.field(default="", name="PodUID")


_preemption_decoder = msgspec.json.Decoder(_PreemptionArguments)
_binding_decoder = msgspec.json.Decoder(BindingArguments)


def decode_preemption(body: bytes) -> Preemption:
    """Read ExtenderPreemptionArgs, in both forms. Raises RequestError."""
    try:
        arguments = _preemption_decoder.decode(body)
        if arguments.pod is None:
            raise RequestError("no_pod", "the body has no Pod")
        pod = pod_from(arguments.pod)
    except (msgspec.DecodeError, QuantityError, UnicodeDecodeError, RecursionError) as error:
        raise RequestError("bad_json", f"the body is not ExtenderPreemptionArgs as JSON: {error}") from error
    if arguments.node_name_to_meta_victims is not None:
        return Preemption(pod, arguments.node_name_to_meta_victims)
    if arguments.node_name_to_victims is None:
        raise RequestError("no_nodes", "the body has neither NodeNameToVictims nor NodeNameToMetaVictims")
    return _whole(pod, arguments.node_name_to_victims)


def _whole(pod: Pod, nodes: Mapping[str, _Victims]) -> Preemption:
    candidates: dict[str, MetaVictims] = {}
    requests: dict[str, Mapping[str, float]] = {}
    for node, victims in nodes.items():
        metas = [MetaPod(manifest.metadata.uid or "") for manifest in victims.pods or ()]
        candidates[node] = MetaVictims(metas, victims.num_pdb_violations)
        requests.update({m.metadata.uid or "": _requests(m) for m in victims.pods or ()})
    return Preemption(pod, candidates, requests)


def _requests(manifest: PodManifest) -> Mapping[str, float]:
    try:
        return dict(pod_from(manifest).shape.requests)
    except QuantityError:
        return {}


def decode_binding(body: bytes) -> BindingArguments:
    """Read ExtenderBindingArgs. Raises RequestError."""
    try:
        return _binding_decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RequestError("bad_json", f"the body is not ExtenderBindingArgs as JSON: {error}") from error


def encode_candidates(preemption: Preemption, kept: Sequence[str]) -> bytes:
    """ExtenderPreemptionResult: the candidates that remain, with their victims."""
    return msgspec.json.encode({"NodeNameToMetaVictims": {node: preemption.candidates[node] for node in kept}})


def encode_binding(error: str = "") -> bytes:
    """ExtenderBindingResult."""
    return msgspec.json.encode({"Error": error})
