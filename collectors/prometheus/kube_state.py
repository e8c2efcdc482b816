"""Nodes and pods of the past, as kube-state-metrics exported them to a Prometheus.

Everything about a stretch of time is asked at its end, one sample a series: what a series last said within it, and when
it was first and last there. So an hour of 15,000 pods is some 150,000 samples in a dozen answers.

    first seen = min_over_time(timestamp(kube_pod_info)[length:step])         last seen = max_over_time(...)

Two kube-state-metrics, or one that restarted, tell of the same pod twice: by uid it is one. What is optional (limits,
images, labels of nodes) is left out where a cluster does not export it.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from collectors.errors import CollectorError, EmptyReadingError
from collectors.manifests import Node, Owner, Pod, Resources, Shape, shape_of
from collectors.prometheus.client import PrometheusClient
from collectors.prometheus.queries import Query
from collectors.reading import CPU, MEMORY

PODS = "pods"
RESOURCES = frozenset({CPU, MEMORY, PODS})
TEMPLATE_HASH = "pod-template-hash"
NODE_LABELS = {
    "label_topology_kubernetes_io_zone": "topology.kubernetes.io/zone",
    "label_topology_kubernetes_io_region": "topology.kubernetes.io/region",
    "label_kubernetes_io_hostname": "kubernetes.io/hostname",
    "label_node_kubernetes_io_instance_type": "node.kubernetes.io/instance-type",
}
"""Labels of nodes that scores look at, as kube_node_labels spells them."""
HINT = "is kube-state-metrics scraped by this Prometheus, and does its data go back that far?"

Labels = Mapping[str, str]
Samples = list[tuple[Labels, float]]


@dataclass(frozen=True)
class PodLife:
    """A pod on its node, and when it was seen there."""

    pod: Pod
    first_seen: float
    last_seen: float
    finished_at: float | None = None


@dataclass(frozen=True)
class NodeLife:
    """A node, and when it was seen."""

    node: Node
    first_seen: float
    last_seen: float


@dataclass(frozen=True)
class ClusterPast:
    """Who was there in a stretch of time."""

    nodes: tuple[NodeLife, ...]
    pods: tuple[PodLife, ...]


class KubeState:
    """Asks about stretches of the past."""

    def __init__(self, client: PrometheusClient, step_seconds: float = 60.0) -> None:
        self._client = client
        self._step = step_seconds

    def between(self, since: float, until: float) -> ClusterPast:
        """Who was there. Raises CollectorError; EmptyReadingError if kube-state-metrics told nothing then."""
        ask = _Asking(self._client, since, until, self._step)
        nodes = tuple(_nodes(ask))
        if not nodes:
            raise EmptyReadingError("kube_node_status_allocatable", HINT)
        return ClusterPast(nodes, tuple(_pods(ask)))

    def count(self, since: float, until: float) -> int:
        """How many pods there were, at little cost. Raises CollectorError."""
        length = f"{max(until - since, self._step):.0f}s"
        query = Query("pod", "kube_pod_info", f"count(last_over_time(kube_pod_info[{length}]))")
        return int(sum(self._client.at(query, until).values.tolist()))


class _Asking:
    def __init__(self, client: PrometheusClient, since: float, until: float, step: float) -> None:
        self._client, self._until = client, until
        self._length, self._step = f"{max(until - since, step):.0f}s", f"{step:.0f}s"

    def last(self, metric: str, *, optional: bool = False) -> Samples:
        """What each series last said."""
        return self._ask(f"last_over_time({metric}[{self._length}])", metric, optional=optional)

    def seen(self, metric: str) -> tuple[Samples, Samples]:
        """When each series was first and last there."""
        times = f"timestamp({metric})[{self._length}:{self._step}]"
        first, last = (self._ask(f"{side}_over_time({times})", metric, optional=False) for side in ("min", "max"))
        return first, last

    def _ask(self, expression: str, metric: str, *, optional: bool) -> Samples:
        try:
            answered = self._client.at(Query("pod", metric, expression), self._until)
        except CollectorError:
            if not optional:
                raise
            return []
        return [
            (answered.series[o], v) for o, v in zip(answered.origins.tolist(), answered.values.tolist(), strict=True)
        ]


# -- Nodes ------------------------------------------------------------------------------------------------------------


def _nodes(ask: _Asking) -> Iterator[NodeLife]:
    allocatable = _by_node(ask.last("kube_node_status_allocatable"))
    if not allocatable:
        return
    capacity = _by_node(ask.last("kube_node_status_capacity", optional=True))
    labels = {told.get("node", ""): told for told, _ in ask.last("kube_node_labels", optional=True)}
    info = {told.get("node", ""): told for told, _ in ask.last("kube_node_info", optional=True)}
    closed = {told.get("node"): value for told, value in ask.last("kube_node_spec_unschedulable", optional=True)}
    first, last = _lives(ask, 'kube_node_status_allocatable{resource="cpu"}', _node_key)
    for name, amounts in sorted(allocatable.items()):
        address = info.get(name, {}).get("internal_ip", "")
        node = Node(
            name=name,
            labels={ours: labels[name][told] for told, ours in NODE_LABELS.items() if labels.get(name, {}).get(told)},
            capacity=_resources(capacity.get(name, amounts)),
            allocatable=_resources(amounts),
            addresses=tuple(filter(None, (address, name))),
            unschedulable=closed.get(name, 0.0) > 0,
        )
        if name in first:
            yield NodeLife(node, first[name], last[name])


def _by_node(samples: Samples) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for labels, value in samples:
        if labels.get("resource") in RESOURCES and labels.get("node"):
            found.setdefault(labels["node"], {})[labels["resource"]] = value
    return found


def _resources(amounts: Mapping[str, float]) -> Resources:
    return tuple(sorted(amounts.items()))


# -- Pods -------------------------------------------------------------------------------------------------------------


def _pods(ask: _Asking) -> Iterator[PodLife]:
    first, last = _lives(ask, "kube_pod_info", _pod_key)
    info = {_pod_key(labels): labels for labels, _ in ask.last("kube_pod_info") if labels.get("node")}
    requests = _containers(ask.last("kube_pod_container_resource_requests"))
    limits = _containers(ask.last("kube_pod_container_resource_limits", optional=True))
    owners = {_pod_key(told): told for told, _ in ask.last("kube_pod_owner", optional=True)}
    sets = {_set_key(told): told for told, _ in ask.last("kube_replicaset_owner", optional=True)}
    images = _images(ask.last("kube_pod_container_info", optional=True))
    times = {
        name: {_pod_key(told): value for told, value in ask.last(metric, optional=True)}
        for name, metric in (
            ("created", "kube_pod_created"),
            ("scheduled", "kube_pod_status_scheduled_time"),
            ("started", "kube_pod_start_time"),
            ("finished", "kube_pod_completion_time"),
        )
    }
    for key, labels in info.items():
        if key not in first:
            continue
        owner = _owner(labels, owners.get(key, {}))
        bound = times["scheduled"].get(key) or times["started"].get(key) or first[key]
        pod = Pod(
            namespace=labels.get("namespace", "default"),
            name=labels.get("pod", ""),
            uid=labels.get("uid", ""),
            node=labels["node"],
            phase="Running",
            shape=_shape(requests.get(key, {}), limits.get(key, {})),
            owner=owner,
            labels=_template_hash(labels.get("namespace", ""), owner, sets),
            images=tuple(sorted(images.get(key, ()))),
            created_at=times["created"].get(key),
            bound_at=bound,
        )
        yield PodLife(pod, first[key], last[key], times["finished"].get(key))


def _pod_key(labels: Labels) -> str:
    return labels.get("uid") or f"{labels.get('namespace', '')}/{labels.get('pod', '')}"


def _node_key(labels: Labels) -> str:
    return labels.get("node", "")


def _set_key(labels: Labels) -> tuple[str, str]:
    return labels.get("namespace", ""), labels.get("replicaset", "")


def _lives(ask: _Asking, metric: str, key: Callable[[Labels], str]) -> tuple[dict[str, float], dict[str, float]]:
    """First and last time by key. A pod counts from when it has a node."""
    first: dict[str, float] = {}
    last: dict[str, float] = {}
    began, ended = ask.seen(metric)
    for samples, times, choose in ((began, first, min), (ended, last, max)):
        for labels, value in samples:
            name = key(labels)
            if labels.get("node"):
                times[name] = choose(times.get(name, value), value)
    return first, last


def _containers(samples: Samples) -> dict[str, dict[str, dict[str, float]]]:
    """By pod and container; of a pod told twice the last counts."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for labels, value in samples:
        resource = labels.get("resource", "")
        if resource in RESOURCES:
            pod = found.setdefault(_pod_key(labels), {})
            pod.setdefault(labels.get("container", ""), {})[resource] = value
    return found


def _shape(requests: Mapping[str, Mapping[str, float]], limits: Mapping[str, Mapping[str, float]]) -> Shape:
    names = sorted({*requests, *limits})
    return shape_of(tuple((_resources(requests.get(name, {})), _resources(limits.get(name, {}))) for name in names))


def _owner(info: Labels, owner: Labels) -> Owner | None:
    kind = owner.get("owner_kind") or info.get("created_by_kind", "")
    name = owner.get("owner_name") or info.get("created_by_name", "")
    return Owner(kind, name) if kind and name and kind != "<none>" else None


def _template_hash(namespace: str, owner: Owner | None, sets: Mapping[tuple[str, str], Labels]) -> dict[str, str]:
    """The label that ties a ReplicaSet to its Deployment, from the name that both share."""
    if owner is None or owner.kind != "ReplicaSet":
        return {}
    above = sets.get((namespace, owner.name), {})
    stem = f"{above.get('owner_name', '')}-"
    known = above.get("owner_kind") == "Deployment" and owner.name.startswith(stem)
    return {TEMPLATE_HASH: owner.name.removeprefix(stem)} if known else {}


def _images(samples: Samples) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for labels, _ in samples:
        if labels.get("image"):
            found.setdefault(_pod_key(labels), set()).add(labels["image"])
    return found
