"""The wire between kube-scheduler and an extender. Nobody else knows the JSON. Its oddities, each with its reason:

- Keys are Go's field names (`Pod`, `NodeNames`), for the types have no JSON tags. Go matches keys without regard to
  case, and other clients send `nodenames` or `nodeNames`; so do we, on a second, slower attempt.
- Absent members arrive as null, not as nothing.
- With nodeCacheCapable kube-scheduler sends NodeNames and wants NodeNames back; without it sends whole Nodes and
  wants Nodes back. Which one is told by what arrived.
- A filter answer must always carry the list: null means that no node passes.
- A prioritize answer is a bare list; a host left out counts as 0, so every node asked for is in it.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from operator import attrgetter

import msgspec
import numpy as np

from collectors.errors import QuantityError
from collectors.manifests import Pod, PodManifest, Shape, pod_from
from loadaware.errors import RequestError
from loadaware.extender.node_table import MOST_SCORE, NodeTable
from loadaware.filtering import Filtering
from loadaware.known_names import KnownNames
from loadaware.ranking import Ranking

_NOTHING = msgspec.Raw(b"null")


class _NodeMetadata(msgspec.Struct, gc=False):
    name: str = ""


class _NodeName(msgspec.Struct, gc=False):
    metadata: _NodeMetadata


class _NodeNames(msgspec.Struct, gc=False):
    items: list[_NodeName] | None = None


class _RawNodes(msgspec.Struct, gc=False):
    items: list[msgspec.Raw] | None = None


class _Arguments(msgspec.Struct, rename="pascal", gc=False):
    pod: PodManifest | None = None
    node_names: list[str] | None = None
    nodes: msgspec.Raw = _NOTHING


class _ArgumentsByName(msgspec.Struct, rename="pascal", gc=False):
    pod: PodManifest | None = None
    node_names: list[str] | None = None
    nodes: _NodeNames | None = None


class _ArgumentsByRow(_ArgumentsByName, rename="pascal", gc=False):
    """What a table of names makes its own kind of: one that reads names as rows."""

    node_names: list[int] | None = None  # type: ignore[assignment]


class _ArgumentsToKeep(msgspec.Struct, rename="pascal", gc=False):
    pod: PodManifest | None = None
    node_names: list[str] | None = None
    nodes: _RawNodes | None = None


class _HostPriority(msgspec.Struct, rename="pascal", gc=False):
    host: str
    score: int


class _FilterResult(msgspec.Struct, rename="pascal", gc=False):
    nodes: Mapping[str, object] | None
    node_names: Sequence[str] | None
    failed_nodes: Mapping[str, str]
    failed_and_unresolvable_nodes: Mapping[str, str]
    error: str = ""


class Arguments(msgspec.Struct, frozen=True, eq=False, gc=False):
    """What a filter or prioritize request asks: a pod, and nodes by name or whole."""

    pod: Pod
    names: Sequence[str]
    whole_nodes: Mapping[str, msgspec.Raw] | None = None
    """The nodes as they came, by name, when the caller does not keep nodes itself and wants them back."""
    doubts: tuple[str, ...] = ()
    """What could not be understood and was left out of account."""


LARGEST_AMOUNT = 2.0**63
"""Kubernetes keeps no larger quantity. An endless one, booked and let go again, would leave NaN behind."""

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What msgspec raises for bytes that are no JSON of ours: wrong, not UTF-8, or nested without end."""

_arguments_decoder = msgspec.json.Decoder(_Arguments)
_by_name_decoder = msgspec.json.Decoder(_ArgumentsByName)
_to_keep_decoder = msgspec.json.Decoder(_ArgumentsToKeep)
_members_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])
_node_names_decoder = msgspec.json.Decoder(_NodeNames)
_raw_nodes_decoder = msgspec.json.Decoder(_RawNodes)
_node_name_decoder = msgspec.json.Decoder(_NodeName)
_encoder = msgspec.json.Encoder()
_name_of = attrgetter("metadata.name")


def decode_known(body: bytes, names: Sequence[str]) -> Arguments:
    """Read ExtenderArgs about nodes of which most likely each is among these names. Raises RequestError."""
    try:
        decoder = _known.decoder(names)
        arguments = None if decoder is None else decoder.decode(body)
    except UNREADABLE:
        arguments = None
    if arguments is None or arguments.pod is None:
        return decode_arguments(body)
    asked: Sequence[str]
    if (rows := arguments.node_names) is not None:
        asked = KnownNames(names, np.fromiter(rows, np.intp, len(rows)))
    elif arguments.nodes is not None and arguments.nodes.items:
        asked = list(map(_name_of, arguments.nodes.items))
    else:
        return decode_arguments(body)
    pod, doubts = pod_of(arguments.pod)
    return Arguments(pod, asked, None, doubts)


def decode_arguments(body: bytes, *, keep_nodes: bool = False) -> Arguments:
    """Read ExtenderArgs. `keep_nodes` keeps whole nodes as they came. Raises RequestError, and nothing else."""
    soon = _decoded_soon(body, keep_nodes=keep_nodes)
    return _decoded_at_length(body, keep_nodes=keep_nodes) if soon is None else soon


def _decoded_soon(body: bytes, *, keep_nodes: bool) -> Arguments | None:
    """In one go, if the body is as kube-scheduler writes it."""
    try:
        arguments = (_to_keep_decoder if keep_nodes else _by_name_decoder).decode(body)
        nodes = arguments.nodes
        if arguments.pod is None or (arguments.node_names is None and (nodes is None or nodes.items is None)):
            return None
        pod, doubts = pod_of(arguments.pod)
        if arguments.node_names is not None or nodes is None:
            return Arguments(pod, arguments.node_names or [], None, doubts)
        if isinstance(nodes, _NodeNames):
            return Arguments(pod, list(map(_name_of, nodes.items or ())), None, doubts)
        items = nodes.items or []
        names = list(map(_name_of, map(_node_name_decoder.decode, items)))
        return Arguments(pod, names, dict(zip(names, items, strict=True)), doubts)
    except UNREADABLE:
        return None


def _decoded_at_length(body: bytes, *, keep_nodes: bool) -> Arguments:
    """Step by step: keys in any case, and what exactly is wrong."""
    arguments = _decode(body)
    if arguments.pod is None:
        raise RequestError("no_pod", "the body has no Pod")
    pod, doubts = pod_of(arguments.pod)
    if arguments.node_names is not None:
        return Arguments(pod, arguments.node_names, None, doubts)
    if arguments.nodes == _NOTHING:
        raise RequestError("no_nodes", "the body has neither NodeNames nor Nodes")
    try:
        if keep_nodes:
            names, items = _whole_nodes(arguments.nodes)
            return Arguments(pod, names, dict(zip(names, items, strict=True)), doubts)
        return Arguments(pod, _names_of(arguments.nodes), None, doubts)
    except UNREADABLE as error:
        raise RequestError("bad_nodes", f"Nodes is not a NodeList: {error}") from error


def _decode(body: bytes) -> _Arguments:
    try:
        arguments = _arguments_decoder.decode(body)
        if arguments.pod is not None and (arguments.node_names is not None or arguments.nodes != _NOTHING):
            return arguments
        return _decode_any_case(body)
    except UNREADABLE as error:
        raise RequestError("bad_json", f"the body is not ExtenderArgs as JSON: {error}") from error


def _decode_any_case(body: bytes) -> _Arguments:
    """As Go reads it: keys in any case."""
    members = _members_in_lower_case(body)
    return _Arguments(
        pod=msgspec.json.decode(members.get("pod", _NOTHING), type=PodManifest | None),
        node_names=msgspec.json.decode(members.get("nodenames", _NOTHING), type=list[str] | None),
        nodes=members.get("nodes", _NOTHING),
    )


def _members_in_lower_case(value: bytes | msgspec.Raw) -> dict[str, msgspec.Raw]:
    return {key.lower(): raw for key, raw in _members_decoder.decode(value).items()}


def pod_of(manifest: PodManifest) -> tuple[Pod, tuple[str, ...]]:
    """A pod whose declared amounts cannot be read is taken as declaring nothing: it is still to be placed."""
    try:
        pod = pod_from(manifest)
        if _believable(pod.shape):
            return pod, ()
        problem = "an amount is negative or endless"
    except (QuantityError, OverflowError) as error:
        problem = str(error)
    _forget_amounts(manifest)
    return pod_from(manifest), (f"bad_quantity: {problem}",)


@lru_cache(maxsize=4096)
def _believable(shape: Shape) -> bool:
    containers = (*shape.containers, *shape.init_containers)
    declared = (pair for container in containers for pair in (*container.requests, *container.limits))
    return all(0.0 <= amount <= LARGEST_AMOUNT for _, amount in (*shape.overhead, *declared))


def _forget_amounts(manifest: PodManifest) -> None:
    """Leave out what containers declare, and nothing else: schedulerName and priority still count."""
    spec = manifest.spec
    if spec is not None:
        spec.overhead = None
        for container in (*(spec.containers or ()), *(spec.init_containers or ())):
            container.resources = None


def _names_of(nodes: msgspec.Raw) -> list[str]:
    items = _node_names_decoder.decode(nodes).items
    if items is None:
        return _whole_nodes(nodes)[0]
    return [node.metadata.name for node in items]


def _whole_nodes(nodes: msgspec.Raw) -> tuple[list[str], list[msgspec.Raw]]:
    """Names and nodes in the order they came; a node that came twice is there twice."""
    items = _raw_nodes_decoder.decode(nodes).items
    if items is None:
        raw = _members_in_lower_case(nodes).get("items", _NOTHING)
        items = msgspec.json.decode(raw, type=list[msgspec.Raw] | None) or []
    return [_node_name_decoder.decode(item).metadata.name for item in items], items


class _Known:
    """The table of the names that were asked about last, and how requests about them are read."""

    def __init__(self) -> None:
        self._table = NodeTable(())
        self._decoder: msgspec.json.Decoder[_ArgumentsByRow] | None = None

    def table(self, names: Sequence[str]) -> NodeTable:
        """Made anew if the names are others."""
        if not self._table.knows(names):
            self._table = NodeTable(names)
            self._decoder = _decoder_of(self._table.row) if names else None
        return self._table

    def decoder(self, names: Sequence[str]) -> "msgspec.json.Decoder[_ArgumentsByRow] | None":
        """Reads these names as rows, and refuses a request about any other; None: they must be looked up."""
        self.table(names)
        return self._decoder


def _decoder_of(row: type) -> "msgspec.json.Decoder[_ArgumentsByRow] | None":
    """None if msgspec should read enumerations in another way one day (see node_table.py)."""
    try:
        fields = [("node_names", list[row] | None, None)]  # type: ignore[valid-type]
        return msgspec.json.Decoder(msgspec.defstruct("Known", fields, bases=(_ArgumentsByRow,), gc=False))
    except TypeError:
        return None


_known = _Known()


def encode_priorities(ranking: Ranking) -> bytes:
    """HostPriorityList: every node asked for, in the order asked.

    Where all of them are known their parts are copied from a table, no step of Python for each; they have one width,
    so there are spaces before the scores.
    """
    rows, priorities = ranking.rows, ranking.priorities
    if rows is None or not len(rows) or priorities.min() < 0 or priorities.max() > MOST_SCORE:
        return _encode_one_by_one(ranking)
    table = _known.table(ranking.table)
    return table.encode(rows, priorities) if table.fit else _encode_one_by_one(ranking)


def _encode_one_by_one(ranking: Ranking) -> bytes:
    hosts = zip(ranking.names, ranking.priorities.tolist(), strict=True)
    return _encoder.encode([_HostPriority(name, score) for name, score in hosts])


def encode_filtering(filtering: Filtering, whole_nodes: Mapping[str, msgspec.Raw] | None) -> bytes:
    """ExtenderFilterResult, with names or whole nodes as they were asked."""
    nodes = None if whole_nodes is None else {"items": [whole_nodes[name] for name in filtering.passed]}
    return _encoder.encode(
        _FilterResult(
            nodes=nodes,
            node_names=filtering.passed if whole_nodes is None else None,
            failed_nodes=filtering.failed,
            failed_and_unresolvable_nodes=filtering.unresolvable,
        )
    )


def encode_all_equal(arguments: Arguments) -> bytes:
    """HostPriorityList that changes nothing: every node asked for, all alike."""
    return _encoder.encode([_HostPriority(name, 0) for name in arguments.names])


def encode_all_passing(arguments: Arguments) -> bytes:
    """ExtenderFilterResult that changes nothing: every node asked for."""
    return encode_filtering(Filtering("", tuple(arguments.names), {}, {}), arguments.whole_nodes)
