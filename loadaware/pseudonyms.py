"""Names in a history replaced by stable pseudonyms, so that it can be shared.

    word     -> a + 7 letters of HMAC(key, word)          the same word is the same everywhere: siblings stay siblings
    tail     -> as many letters of the same alphabet      x7k2p, 7d4b9c6f5d: what Kubernetes appends
    number   -> as many digits                            but a trailing ordinal, or a CronJob's minute, is kept
    node     -> node- + 10 letters                        as a whole: node names are often addresses

Replaced: names of nodes, namespaces, pods, owners, labels and images, uids. Left out: annotations, addresses, notes,
the wording of rejections, learned demand, and of the configuration whatever is not about placing. Kept: amounts, times,
schedulerName, names of profiles, label keys of Kubernetes itself, `default` and `kube-*` namespaces. With the same key
the same names come out again; without it nobody can tell which name was which, but who knows the cluster may guess from
amounts and times.
"""

import hashlib
import hmac
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

import msgspec

from collectors.cluster import (
    Event,
    NamespaceGone,
    NamespaceSeen,
    NodeGone,
    NodeSeen,
    PodGone,
    PodSeen,
    Relisted,
)
from collectors.errors import HistoryError
from collectors.history import (
    Answer,
    Checkpoint,
    Content,
    HistoryLimits,
    HistoryReader,
    HistoryWriter,
    Mark,
    Record,
    Request,
)
from collectors.manifests import Namespace, Node, Owner, Pod
from collectors.reading import Measurements, Reading
from loadaware.config import Config, parse
from loadaware.config_text import config_text
from loadaware.progress import Hear
from loadaware.recorded import Configured
from loadaware.recorder import BEGAN, CONFIGURED, Beginning, CheckpointState
from loadaware.snapshot import OPT_OUT_ANNOTATION

HOSTNAME_LABEL = "kubernetes.io/hostname"
TAIL_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
LETTERS = "abcdefghijklmnopqrstuvwxyz234567"
_TAIL = re.compile(rf"[{TAIL_LETTERS}]{{5,10}}\Z")
_PARTS = re.compile(r"[A-Za-z0-9]+")
_OWN_KEY = re.compile(r"(?:[a-z0-9.-]+\.)?(?:kubernetes\.io|k8s\.io)/.+\Z|(?:app|component|tier|pod-template-hash)\Z")
_OWN_NAMESPACE = re.compile(r"default\Z|kube-[a-z]+\Z")
NO_LIMIT = HistoryLimits(max_bytes=2**62, max_age_seconds=float("inf"))


class Pseudonyms:
    """Replaces names, by a key."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._pods: dict[str, str] = {}
        self.word = lru_cache(maxsize=262_144)(self._word)
        self.node = lru_cache(maxsize=65_536)(self._node)
        self.uid = lru_cache(maxsize=262_144)(self._uid)

    # -- Names ------------------------------------------------------------------------------------------------------

    def namespace(self, name: str) -> str:
        """Of a namespace."""
        return name if _OWN_NAMESPACE.match(name) else self.word(name)

    def key(self, key: str) -> str:
        """Of a pod, as namespace/name."""
        known = self._pods.get(key)
        if known is not None:
            return known
        namespace, _, name = key.partition("/")
        return f"{self.namespace(namespace)}/{self.word(name)}"

    def _word(self, name: str) -> str:
        parts = _PARTS.findall(name)
        last = len(parts) - 1
        numbers = iter(range(len(parts)))
        return _PARTS.sub(lambda match: self._part(match[0], next(numbers) == last), name)

    def _part(self, part: str, last: bool) -> str:
        if part.isdigit():
            return part if last or len(part) >= 8 else self._letters("number", part, "0123456789", len(part))
        if _TAIL.match(part):
            return self._letters("tail", part, TAIL_LETTERS, len(part))
        return "a" + self._letters("word", part, LETTERS, 7)

    def _node(self, name: str) -> str:
        return f"node-{self._letters('node', name, LETTERS, 10)}"

    def _uid(self, uid: str) -> str:
        if "/" in uid:
            return self.key(uid)
        text = self._digest("uid", uid).hex()
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:32]}"

    def _letters(self, kind: str, text: str, alphabet: str, count: int) -> str:
        digest = self._digest(kind, text)
        return "".join(alphabet[byte % len(alphabet)] for byte in digest[:count])

    def _digest(self, kind: str, text: str) -> bytes:
        return hmac.digest(self._key, f"{kind} {text}".encode(), hashlib.sha256)

    # -- Facts ------------------------------------------------------------------------------------------------------

    def labels(self, labels: Mapping[str, str]) -> dict[str, str]:
        """Keys of Kubernetes are kept, values are not, unless they are numbers."""
        return {key if _OWN_KEY.match(key) else self.word(key): self._value(key, v) for key, v in labels.items()}

    def _value(self, key: str, value: str) -> str:
        if key == HOSTNAME_LABEL:
            return self.node(value)
        return value if value.replace(".", "", 1).isdigit() or value in {"true", "false", ""} else self.word(value)

    def pod(self, pod: Pod) -> Pod:
        """A pod's facts."""
        name = self._pod_name(pod)
        namespace = self.namespace(pod.namespace)
        self._pods[pod.key] = f"{namespace}/{name}"
        return msgspec.structs.replace(
            pod,
            namespace=namespace,
            name=name,
            uid=self.uid(pod.uid) if pod.uid else "",
            node=None if pod.node is None else self.node(pod.node),
            nominated_node=None if pod.nominated_node is None else self.node(pod.nominated_node),
            owner=self._owner(pod.owner),
            labels=self.labels(pod.labels),
            annotations=_annotations(pod.annotations),
            images=tuple(map(self.word, pod.images)),
        )

    def _pod_name(self, pod: Pod) -> str:
        """A static pod has its node's name at the end."""
        owner = pod.owner
        if owner is not None and owner.kind == "Node" and pod.name.endswith(f"-{owner.name}"):
            return f"{self.word(pod.name.removesuffix(f'-{owner.name}'))}-{self.node(owner.name)}"
        return self.word(pod.name)

    def _owner(self, owner: Owner | None) -> Owner | None:
        if owner is None:
            return None
        return Owner(owner.kind, self.node(owner.name) if owner.kind == "Node" else self.word(owner.name))

    def node_facts(self, node: Node) -> Node:
        """A node's facts."""
        labels, annotations = self.labels(node.labels), _annotations(node.annotations)
        return msgspec.structs.replace(
            node, name=self.node(node.name), labels=labels, annotations=annotations, addresses=()
        )

    def event(self, event: Event) -> Event:
        """What the cluster told."""
        match event:
            case PodSeen(pod=pod):
                return PodSeen(self.pod(pod))
            case PodGone(identity=identity):
                return PodGone(self.uid(identity))
            case NodeSeen(node=node):
                return NodeSeen(self.node_facts(node))
            case NodeGone(name=name):
                return NodeGone(self.node(name))
        return self._other_event(event)

    def _other_event(self, event: Event) -> Event:
        match event:
            case NamespaceSeen(namespace=told):
                return NamespaceSeen(Namespace(self.namespace(told.name), _annotations(told.annotations)))
            case NamespaceGone(name=name):
                return NamespaceGone(self.namespace(name))
            case Relisted(kind=kind, present=present):
                return Relisted(kind, frozenset(self._present(kind, name) for name in present))
        return event

    def _present(self, kind: str, name: str) -> str:
        return self.uid(name) if kind == "pods" else self.node(name) if kind == "nodes" else self.namespace(name)

    # -- Records ----------------------------------------------------------------------------------------------------

    def content(self, content: Content) -> Content | None:
        """Anything of a history; None for what is left out."""
        match content:
            case Reading():
                return self._reading(content)
            case Request(pod=pod, node_names=names):
                return msgspec.structs.replace(content, pod=self.pod(pod), node_names=tuple(map(self.node, names)))
            case Answer(verdicts=verdicts):
                plain = tuple(None if verdict is None else "rejected" for verdict in verdicts)
                return msgspec.structs.replace(content, verdicts=plain)
            case Checkpoint(state=state):
                return self._checkpoint(state)
            case Mark():
                return _mark(content)
        return self.event(content)

    def _reading(self, reading: Reading) -> Reading:
        nodes = _renamed(reading.nodes, tuple(map(self.node, reading.nodes.names)))
        pods = None if reading.pods is None else _renamed(reading.pods, tuple(map(self.key, reading.pods.names)))
        return Reading(
            reading.source, reading.time, reading.resources, nodes, pods, reading.base, reading.node_deviation
        )

    def _checkpoint(self, state: bytes) -> Checkpoint | None:
        told = msgspec.msgpack.decode(state, type=CheckpointState)
        if not told.events:
            return None
        beginning = Beginning(_bare(told.beginning.config), told.beginning.requests)
        events = [self.event(event) for event in told.events]
        return Checkpoint(msgspec.msgpack.encode(CheckpointState(beginning, events, b"")))


def copy_with_pseudonyms(
    source: str | Path, target: str | Path, key: bytes, hear: Hear = lambda _: None, *, skip_damaged: bool = False
) -> int:
    """Copy a history; how many records. Raises HistoryError, at once if the target is not empty."""
    reader = HistoryReader(source, skip_damaged=skip_damaged)
    span = reader.span()
    if Path(target).exists() and any(Path(target).iterdir()):
        raise HistoryError(str(target), "is not empty: name a new folder")
    count = 0
    with HistoryWriter(target, NO_LIMIT) as writer:
        for record in _renamed_records(reader, Pseudonyms(key)):
            writer.write(record.content, record.sequence, record.time)
            count += 1
            if count % 1000 == 0:
                hear((record.time - span.earliest) / max(span.latest - span.earliest, 1.0))
    return count


def _renamed_records(reader: HistoryReader, pseudonyms: Pseudonyms) -> Iterator[Record]:
    for record in reader.records():
        content = pseudonyms.content(record.content)
        if content is not None:
            yield Record(record.sequence, record.time, content)


def _renamed(rows: Measurements, names: tuple[str, ...]) -> Measurements:
    return Measurements(names, rows.usage, rows.times, rows.windows)


def _annotations(annotations: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in annotations.items() if key == OPT_OUT_ANNOTATION}


def _mark(mark: Mark) -> Mark:
    if mark.name == BEGAN:
        told = msgspec.msgpack.decode(mark.detail, type=Beginning)
        return Mark(mark.name, msgspec.msgpack.encode(Beginning(_bare(told.config), told.requests)))
    if mark.name == CONFIGURED:
        configured = msgspec.msgpack.decode(mark.detail, type=Configured)
        bare = msgspec.structs.replace(configured, config=_bare(configured.config))
        return Mark(mark.name, msgspec.msgpack.encode(bare))
    return mark


def _bare(text: str) -> str:
    """What of a configuration is about placing."""
    config = parse(text)
    return config_text(
        Config(
            interval=config.interval,
            window=config.window,
            staleness=config.staleness,
            in_flight=config.in_flight,
            high_priority=config.high_priority,
            profiles=config.profiles,
            mode=config.mode,
        )
    )
