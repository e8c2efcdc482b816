"""Which workload a pod belongs to: its top owner, because siblings behave alike.

    ReplicaSet web-7d4b9c6f5d    -> Deployment web          the hash is the pod-template-hash label, or looks like one
    Job backup-28912345          -> CronJob backup          eight or more digits are the minute it was made for
    Job, StatefulSet, DaemonSet, any other controller       as it is
    no owner                     -> Pod, by the name's stem: web-1, web-2 and web-x7k2p are web

The name is namespace/kind/name: stable across rollouts, restarts and replicas.
"""

import re

from collectors.manifests import Pod

TEMPLATE_HASH = "pod-template-hash"
_HASH = re.compile(r"-[bcdfghjklmnpqrstvwxz2456789]{6,10}\Z")
_SCHEDULED = re.compile(r"-[0-9]{8,}\Z")
_STEM = re.compile(r"(?:-[0-9]+|-[bcdfghjklmnpqrstvwxz2456789]{5})\Z")


def workload_of(pod: Pod) -> str:
    """namespace/kind/name of the workload."""
    kind, name = _top_owner(pod)
    return f"{pod.namespace}/{kind}/{name}"


def _top_owner(pod: Pod) -> tuple[str, str]:
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
