"""May we do what we must? Asked verb by verb with SelfSubjectAccessReview; the fix is the very rule that is missing."""

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from collectors.errors import CollectorError, SourceRefusedError
from collectors.kubernetes_api import KubernetesApi
from loadaware.doctor.finding import Finding, fail, ok, warn

ADD_RULE = "add this rule to the ClusterRole:"
REVIEW_PATH = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


@dataclass(frozen=True)
class Need:
    """Verbs on a resource, and what is lost without them."""

    group: str
    resource: str
    verbs: tuple[str, ...]
    without: str
    vital: bool = False
    """Whether nothing works without it."""

    @property
    def name(self) -> str:
        """As kubectl writes it."""
        return f"{self.resource}.{self.group}" if self.group else self.resource

    def rule(self, verbs: list[str]) -> str:
        """The rule of a ClusterRole that allows these verbs."""
        return f'- {{apiGroups: ["{self.group}"], resources: [{self.resource}], verbs: [{", ".join(verbs)}]}}'


CLUSTER = (
    Need("", "nodes", ("list", "watch"), "nothing is known of any node", vital=True),
    Need("", "pods", ("list", "watch"), "pods that are placed but not yet measured are not counted"),
    Need("", "namespaces", ("list", "watch"), "namespaces cannot opt out by annotation"),
)
METRICS = (
    Need("metrics.k8s.io", "nodes", ("list",), "no node is measured", vital=True),
    Need("metrics.k8s.io", "pods", ("list",), "no pod is measured"),
)
EVENTS = Need("", "events", ("create",), "what was decided is not told on pods")
BINDING = Need("", "pods/binding", ("create",), "fine, as long as kube-scheduler binds by itself (no `bindVerb`)")
TO_BIND = Need("", "nodes", ("get",), "a pod cannot be kept from being bound to a node that is gone")
"""What binding needs beside the right to bind."""


class _Attributes(msgspec.Struct, omit_defaults=True):
    group: str
    resource: str
    verb: str
    subresource: str = ""


class _Spec(msgspec.Struct, rename="camel"):
    resource_attributes: _Attributes


class _Review(msgspec.Struct, rename="camel"):
    spec: _Spec
    api_version: str = "authorization.k8s.io/v1"
    kind: str = "SelfSubjectAccessReview"


class _Status(msgspec.Struct):
    allowed: bool


class _Reviewed(msgspec.Struct):
    status: _Status


def check_access(api: KubernetesApi, needs: tuple[Need, ...]) -> Iterator[Finding]:
    """A finding per resource. If we cannot even ask, one that says so."""
    for need in needs:
        try:
            missing = [verb for verb in need.verbs if not _allowed(api, need, verb)]
        except (CollectorError, msgspec.DecodeError) as error:
            yield _unasked(error)
            return
        yield _judged(need, missing)


def check_binding(api: KubernetesApi) -> Iterator[Finding]:
    """Whether we may bind is told, not judged: nothing here says if kube-scheduler wants it of us."""
    what, (create,) = f"access to {BINDING.name}", BINDING.verbs
    try:
        if not _allowed(api, BINDING, create):
            yield ok(what, f"{create} not allowed: {BINDING.without}")
            return
        missing = [verb for verb in TO_BIND.verbs if not _allowed(api, TO_BIND, verb)]
    except (CollectorError, msgspec.DecodeError):
        return  # as check_access has said
    if not missing:
        yield ok(what, f"{create} allowed")
        return
    detail = f"{create} allowed, but not {', '.join(missing)} of {TO_BIND.name}: {TO_BIND.without}"
    yield warn(what, detail, f"{ADD_RULE} {TO_BIND.rule(missing)}")


def _allowed(api: KubernetesApi, need: Need, verb: str) -> bool:
    resource, _, subresource = need.resource.partition("/")
    review = _Review(_Spec(_Attributes(need.group, resource, verb, subresource)))
    answer = api.post(REVIEW_PATH, msgspec.json.encode(review))
    return msgspec.json.decode(answer, type=_Reviewed).status.allowed


def _judged(need: Need, missing: list[str]) -> Finding:
    what = f"access to {need.name}"
    if not missing:
        return ok(what, f"{', '.join(need.verbs)} allowed")
    judge = fail if need.vital else warn
    detail = f"{', '.join(missing)} not allowed: {need.without}"
    return judge(what, detail, f"{ADD_RULE} {need.rule(missing)}")


def _unasked(error: Exception) -> Finding:
    detail = str(error) if isinstance(error, SourceRefusedError) else f"cannot be asked about: {error}"
    fix = (
        "try `kubectl auth can-i list nodes` with the same credentials; the rules needed are in the chart's ClusterRole"
    )
    return warn("access", detail, fix)
