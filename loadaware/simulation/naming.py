"""How a simulated pod looks to the API server: names, owners, labels and resources as controllers make them.

Deployment    shop/orders-7-k2x9b6d8f9-4hxwz     owner ReplicaSet orders-7-k2x9b6d8f9
StatefulSet   search/redis-12-3                  owner StatefulSet redis-12
CronJob       data/report-4-29000017-b7m2q       owner Job report-4-29000017, a new one for each burst
"""

from dataclasses import dataclass

from collectors.manifests import Owner, Pod, Shape, shape_of
from collectors.reading import CPU, MEMORY
from loadaware.simulation.catalogue import Workload

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_WORDS = len(_LETTERS) ** 5
_FIRST_JOB = 29_000_000


@dataclass(frozen=True)
class Birth:
    """What tells one pod of a workload from the next."""

    index: int
    """Of the pod in its scenario."""
    incarnation: int
    """0, and one more each time it was lost with its node."""
    workload: int
    ordinal: int
    """How many pods of this workload came before."""
    burst: int
    time: float


def pod_of(workload: Workload, birth: Birth) -> Pod:
    """The pod on arrival, not bound."""
    name, owner, extra = _identity(workload, birth)
    return Pod(
        namespace=workload.namespace,
        name=name,
        uid=f"{birth.index:08x}-0000-4000-8000-{birth.incarnation:012x}",
        shape=shape_of_workload(workload),
        owner=owner,
        labels={
            "app.kubernetes.io/name": workload.name,
            "app.kubernetes.io/component": workload.family,
            **extra,
        },
        images=(workload.image,),
        created_at=birth.time,
    )


def shape_of_workload(workload: Workload) -> Shape:
    """What each of its pods declares: one container."""
    limits = [(MEMORY, float(workload.limit_bytes))]
    if workload.limit_millicores is not None:
        limits.insert(0, (CPU, workload.limit_millicores / 1000.0))
    requests = ((CPU, workload.request_millicores / 1000.0), (MEMORY, float(workload.request_bytes)))
    return shape_of(((requests, tuple(limits)),))


def _identity(workload: Workload, birth: Birth) -> tuple[str, Owner, dict[str, str]]:
    name, suffix = workload.name, _suffix(birth.index * 64 + birth.incarnation)
    if workload.controller == "StatefulSet":
        return f"{name}-{birth.ordinal}", Owner("StatefulSet", name), {}
    if workload.controller == "CronJob":
        job = f"{name}-{_FIRST_JOB + birth.burst}"
        return f"{job}-{suffix}", Owner("Job", job), {"batch.kubernetes.io/job-name": job}
    template = f"{_suffix(birth.workload)}6d8f9"
    owner = Owner("ReplicaSet", f"{name}-{template}")
    return f"{owner.name}-{suffix}", owner, {"pod-template-hash": template}


def _suffix(number: int) -> str:
    number = (number + 1) * 7_368_787 % _WORDS
    letters = ""
    for _ in range(5):
        number, digit = divmod(number, len(_LETTERS))
        letters += _LETTERS[digit]
    return letters
