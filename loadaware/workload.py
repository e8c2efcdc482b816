"""Which workload a pod belongs to: its top owner, because siblings behave alike.

    ReplicaSet web-7d4b9c6f5d    -> Deployment web          the hash is the pod-template-hash label, or looks like one
    Job backup-28912345          -> CronJob backup          eight or more digits are the minute it was made for
    Job, StatefulSet, DaemonSet, any other controller       as it is
    no owner                     -> Pod, by the name's stem: web-1, web-2 and web-x7k2p are web

The name is namespace/kind/name: stable across rollouts, restarts and replicas.

Of a pod that is gone a metric source tells only namespace and name. Whose it may have been (`workloads_named_like`):

    web-7d4b9c6f5d-x7k2p         -> Deployment web
    backup-28912345-x7k2p        -> CronJob backup
    web-x7k2p                    -> DaemonSet web, Job web, ReplicaSet web
    web-0                        -> StatefulSet web
    any                          -> Pod, by the name's stem
"""

import re

from collectors.manifests import Pod

TEMPLATE_HASH = "pod-template-hash"
_HASH = re.compile(r"-[bcdfghjklmnpqrstvwxz2456789]{6,10}\Z")
_SCHEDULED = re.compile(r"-[0-9]{8,}\Z")
_TAIL = re.compile(r"-[bcdfghjklmnpqrstvwxz2456789]{5}\Z")
FROM_ONE_TEMPLATE = frozenset(
    {"Deployment", "ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet", "CronJob", "Job"}
)
_ORDINAL = re.compile(r"-[0-9]+\Z")
_STEM = re.compile(r"(?:-[0-9]+|-[bcdfghjklmnpqrstvwxz2456789]{5})\Z")


def workload_of(pod: Pod) -> str:
    """namespace/kind/name of the workload."""
    kind, name = top_owner(pod)
    return f"{pod.namespace}/{kind}/{name}"


def top_owner(pod: Pod) -> tuple[str, str]:
    """Kind and name of whoever stands behind the pod."""
    owner = pod.owner
    if owner is None:
        return "Pod", _STEM.sub("", pod.name) or pod.name
    if owner.kind == "ReplicaSet":
        named = pod.labels.get(TEMPLATE_HASH)
        stem = owner.name.removesuffix(f"-{named}") if named else _HASH.sub("", owner.name)
        return ("Deployment", stem) if stem != owner.name else ("ReplicaSet", owner.name)
    if owner.kind == "Job":
        stem = _SCHEDULED.sub("", owner.name)
        return ("CronJob", stem) if stem != owner.name else ("Job", owner.name)
    return owner.kind, owner.name


def is_of_many_sizes(workload: str) -> bool:
    """Whether its pods need not be alike: these controllers make them from one template; who knows of others (steps of
    a workflow, static pods of a node), and of pods that only share a stem of their names?
    """
    _, _, behind = workload.partition("/")
    return behind.partition("/")[0] not in FROM_ONE_TEMPLATE


def workloads_named_like(key: str) -> list[str]:
    """The workloads that a pod called so (namespace/name) may have belonged to, the likeliest first."""
    namespace, _, name = key.partition("/")
    owner = _TAIL.sub("", name)
    found = [("Pod", _STEM.sub("", name) or name)]
    if owner != name:
        found = [(kind, owner) for kind in ("DaemonSet", "Job", "ReplicaSet")] + found
        found = _behind("CronJob", _SCHEDULED, owner) + _behind("Deployment", _HASH, owner) + found
    found = _behind("StatefulSet", _ORDINAL, name) + found
    return [f"{namespace}/{kind}/{stem}" for kind, stem in found]


def _behind(kind: str, ending: re.Pattern[str], name: str) -> list[tuple[str, str]]:
    stem = ending.sub("", name)
    return [(kind, stem)] if stem != name else []
