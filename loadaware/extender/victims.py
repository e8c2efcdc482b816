"""The wire of preempt and bind: which pods would have to go, and where a pod is to be bound.

With nodeCacheCapable kube-scheduler names victims by UID (`NodeNameToMetaVictims`), without it sends whole pods
(`NodeNameToVictims`). The answer always names them by UID, and a node left out is no longer a candidate. As for the
other verbs (see protocol.py), keys may come in any case, and whatever is absent may come as null.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec

from collectors.manifests import Pod, PodManifest
from loadaware.errors import RequestError
from loadaware.extender.protocol import UNREADABLE, pod_of

Count = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Name = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?\Z", max_length=253)]
"""As Kubernetes names things. Names become part of a path that we ask with our own rights: no slash, no dots alone."""


class MetaPod(msgspec.Struct, gc=False):
    """A victim by UID; Go writes the key in capitals."""

    uid: str = msgspec.field(default="", name="UID")


class MetaVictims(msgspec.Struct, rename="pascal", gc=False):
    """The victims on one node."""

    pods: list[MetaPod] | None = None
    num_pdb_violations: Count = msgspec.field(default=0, name="NumPDBViolations")


class _Victims(msgspec.Struct, rename="pascal", gc=False):
    pods: list[PodManifest] | None = None
    num_pdb_violations: Count = msgspec.field(default=0, name="NumPDBViolations")


class _PreemptionArguments(msgspec.Struct, rename="pascal", gc=False):
    pod: PodManifest | None = None
    node_name_to_victims: dict[str, _Victims | None] | None = None
    node_name_to_meta_victims: dict[str, MetaVictims | None] | None = None


class Preemption(msgspec.Struct, frozen=True):
    """A pod, and per candidate node the victims; what whole victims request, by UID."""

    pod: Pod
    candidates: Mapping[str, MetaVictims]
    requests: Mapping[str, Mapping[str, float]] = {}
    doubts: tuple[str, ...] = ()
    """What could not be understood of the pod and was left out of account."""


class BindingArguments(msgspec.Struct, frozen=True, rename="pascal"):
    """Where a pod is to be bound."""

    pod_name: Name
    pod_namespace: Name
    node: Name
    pod_uid: str = msgspec.field(default="", name="PodUID")


_preemption_decoder = msgspec.json.Decoder(_PreemptionArguments)
_binding_decoder = msgspec.json.Decoder(BindingArguments)


def decode_preemption(body: bytes) -> Preemption:
    """Read ExtenderPreemptionArgs, in both forms. Raises RequestError, and nothing else."""
    try:
        arguments = _preemption_decoder.decode(body)
        if arguments.pod is None or (arguments.node_name_to_victims or arguments.node_name_to_meta_victims) is None:
            arguments = msgspec.convert(_preemption_in_our_case(body), _PreemptionArguments)
    except UNREADABLE as error:
        raise RequestError("bad_json", f"the body is not ExtenderPreemptionArgs as JSON: {error}") from error
    if arguments.pod is None:
        raise RequestError("no_pod", "the body has no Pod")
    pod, doubts = pod_of(arguments.pod)
    if arguments.node_name_to_meta_victims is not None:
        metas = arguments.node_name_to_meta_victims
        return Preemption(pod, {node: victims or MetaVictims() for node, victims in metas.items()}, {}, doubts)
    if arguments.node_name_to_victims is None:
        raise RequestError("no_nodes", "the body has neither NodeNameToVictims nor NodeNameToMetaVictims")
    return _whole(pod, arguments.node_name_to_victims, doubts)


def _whole(pod: Pod, nodes: Mapping[str, _Victims | None], doubts: tuple[str, ...]) -> Preemption:
    candidates: dict[str, MetaVictims] = {}
    requests: dict[str, Mapping[str, float]] = {}
    for node, told in nodes.items():
        victims = told or _Victims()
        metas = [MetaPod(manifest.metadata.uid or "") for manifest in victims.pods or ()]
        candidates[node] = MetaVictims(metas, victims.num_pdb_violations)
        requests.update({uid: dict(pod_of(m)[0].shape.requests) for m in victims.pods or () if (uid := m.metadata.uid)})
    return Preemption(pod, candidates, requests, doubts)


def decode_binding(body: bytes) -> BindingArguments:
    """Read ExtenderBindingArgs. Raises RequestError, and nothing else."""
    try:
        try:
            return _binding_decoder.decode(body)
        except msgspec.ValidationError:
            return msgspec.convert(_in_our_case(msgspec.json.decode(body), _BINDING_KEYS), BindingArguments)
    except UNREADABLE as error:
        raise RequestError("bad_json", f"the body is not ExtenderBindingArgs as JSON: {error}") from error


# -- Keys in any case, as Go reads them ------------------------------------------------------------------------------

_PREEMPTION_KEYS = ("Pod", "NodeNameToVictims", "NodeNameToMetaVictims")
_VICTIMS_KEYS = ("Pods", "NumPDBViolations")
_BINDING_KEYS = ("PodName", "PodNamespace", "PodUID", "Node")


def _preemption_in_our_case(body: bytes) -> Any:
    arguments = _in_our_case(msgspec.json.decode(body), _PREEMPTION_KEYS)
    for form in _PREEMPTION_KEYS[1:]:
        nodes = arguments.get(form) if isinstance(arguments, dict) else None
        if isinstance(nodes, dict):
            arguments[form] = {node: _in_our_case(victims, _VICTIMS_KEYS) for node, victims in nodes.items()}
            for victims in arguments[form].values() if form == "NodeNameToMetaVictims" else ():
                pods = victims.get("Pods") if isinstance(victims, dict) else None
                if isinstance(pods, list):
                    victims["Pods"] = [_in_our_case(pod, ("UID",)) for pod in pods]
    return arguments


def _in_our_case(thing: Any, keys: Sequence[str]) -> Any:
    """An object with these keys as we write them; anything else as it is."""
    ours = {key.lower(): key for key in keys}
    return {ours.get(key.lower(), key): value for key, value in thing.items()} if isinstance(thing, dict) else thing


def encode_candidates(preemption: Preemption, kept: Sequence[str]) -> bytes:
    """ExtenderPreemptionResult: the candidates that remain, with their victims."""
    return msgspec.json.encode({"NodeNameToMetaVictims": {node: preemption.candidates[node] for node in kept}})


def encode_binding(error: str = "") -> bytes:
    """ExtenderBindingResult."""
    return msgspec.json.encode({"Error": error})
