"""Telemetry Aware Scheduling's dontschedule: rules on named metrics, chosen by the pod."""

from collections.abc import Mapping
from typing import ClassVar, Literal

import msgspec
import numpy as np

from collectors.manifests import Pod
from collectors.reading import Floats
from loadaware.filters.filter import Filter
from loadaware.nodes import Nodes
from loadaware.quantities import Quantity
from loadaware.window import Bools

SIGNS = {"LessThan": "<", "GreaterThan": ">", "Equals": "="}


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A node violates it when its metric is so."""

    metric: str
    """The resource's name in the source."""
    operator: Literal["LessThan", "GreaterThan", "Equals"]
    """How the value is compared."""
    target: Quantity
    """With what, in the metric's own unit."""

    def violated(self, values: Floats) -> Bools:
        """Per node; what was not measured violates nothing."""
        if self.operator == "LessThan":
            return values < self.target
        return values > self.target if self.operator == "GreaterThan" else values == self.target

    def describe(self, value: float) -> str:
        """The rule with the value that broke it."""
        return f"{self.metric} {value:g} {SIGNS[self.operator]} {self.target:g}"


class Policy(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Rules joined by anyOf (one violated is enough) or allOf (all must be)."""

    rules: tuple[Rule, ...]
    """A node that violates them is rejected."""
    join: Literal["anyOf", "allOf"] = "anyOf"
    """Whether one violated rule is enough, or all must be."""


class MetricRules(Filter, frozen=True, kw_only=True):
    """Reject nodes that violate the policy which the pod names by a label or an annotation.

        rejected if any (or all) of the policy's rules hold for the node's latest metrics

    A pod that names no policy takes `defaultPolicy`, if there is one. A pod that names an unknown policy is rejected
    everywhere, with a reason that says so: a wrong name is a mistake of a person, and silence would hide it.
    """

    when: ClassVar[str] = (
        "Pods choose their own rules by a label, on any metric that a source can tell. For those who come from "
        "Telemetry Aware Scheduling."
    )
    beware: ClassVar[str] = (
        "Rules compare the latest value, in the metric's own unit and not as a share of the node. It is no load "
        "rule: a policy that every node violates leaves the pod waiting. A metric that no source tells rejects "
        "nobody."
    )
    by_measurements: ClassVar[bool] = True

    policies: Mapping[str, Policy]
    """Rules by the name that pods use."""
    pod_key: str = "telemetry-policy"
    """The pod's label, or else annotation, that names its policy."""
    default_policy: str = ""
    """For pods that name none. Empty: they pass."""

    def __post_init__(self) -> None:
        if self.default_policy and self.default_policy not in self.policies:
            raise ValueError(f"defaultPolicy names {self.default_policy!r}; there are: {', '.join(self.policies)}")

    def pre_filter(self, pod: Pod) -> str | None:
        """Whether the pod names a policy that nobody configured."""
        name = self._named(pod)
        if not name or name in self.policies:
            return None
        there = ", ".join(self.policies) or "none"
        return f"the pod names the policy {name!r}, which is not configured; there are: {there}"

    def rejects(self, nodes: Nodes, pod: Pod) -> Bools:
        """See the class."""
        policy = self.policies.get(self._named(pod))
        if policy is None:
            return np.zeros(len(nodes), dtype=np.bool_)
        broken = [rule.violated(nodes.usage("latest", rule.metric)) for rule in policy.rules]
        if not broken:
            return np.zeros(len(nodes), dtype=np.bool_)
        return np.logical_or.reduce(broken) if policy.join == "anyOf" else np.logical_and.reduce(broken)

    def reasons(self, nodes: Nodes, pod: Pod) -> list[str]:
        """Names the policy and the rules that are violated, with the values."""
        name = self._named(pod)
        policy = self.policies[name]
        columns = [(rule, nodes.usage("latest", rule.metric)) for rule in policy.rules]
        broken = [(rule, values, rule.violated(values)) for rule, values in columns]
        return [
            f"policy {name}: " + ", ".join(rule.describe(values[n]) for rule, values, bad in broken if bad[n])
            for n in range(len(nodes))
        ]

    def _named(self, pod: Pod) -> str:
        return pod.labels.get(self.pod_key) or pod.annotations.get(self.pod_key) or self.default_policy
