"""Rules on a node's labels: present, equal, or an expression. No eviction would help, so they are unresolvable."""

import re
from collections.abc import Mapping
from typing import ClassVar, Literal

import msgspec
import numpy as np

from collectors.manifests import Pod
from loadaware.filters.filter import Filter
from loadaware.nodes import Nodes
from loadaware.window import Bools

_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")


class LabelPresent(Filter, frozen=True, kw_only=True):
    """Reject nodes without a label (or, with `absent`, nodes that have it)."""

    when: ClassVar[str] = "Nodes are opted in, or out, by a label that needs no value."
    beware: ClassVar[str] = (
        "It holds for every pod of the profile. For single pods a node selector or a taint says the same, and "
        "kube-scheduler knows them itself."
    )
    unresolvable: ClassVar[bool] = True

    label: str
    """The label's name."""
    absent: bool = False
    """Reject the nodes that have it, and not those that lack it."""

    def rejects(self, nodes: Nodes, pod: Pod) -> Bools:
        """See the class."""
        return np.array([(self.label in labels) == self.absent for labels in nodes.labels], dtype=np.bool_)

    def reasons(self, nodes: Nodes, pod: Pod) -> list[str]:
        """Names the label."""
        return [f"node has {'the' if self.absent else 'no'} label {self.label}"] * len(nodes)


class LabelEquals(Filter, frozen=True, kw_only=True):
    """Reject nodes whose label does not have that value."""

    when: ClassVar[str] = (
        "The pods of a profile belong on nodes with one label value, such as `pool: batch`, and their manifests "
        "are not yours to change."
    )
    beware: ClassVar[str] = (
        "The value is compared as text, letter by letter: `True` is not `true`. If no node has it, the pod waits."
    )
    unresolvable: ClassVar[bool] = True

    label: str
    """The label's name."""
    value: str
    """What it must be."""

    def rejects(self, nodes: Nodes, pod: Pod) -> Bools:
        """See the class."""
        return np.array([labels.get(self.label) != self.value for labels in nodes.labels], dtype=np.bool_)

    def reasons(self, nodes: Nodes, pod: Pod) -> list[str]:
        """Names the label, what it is and what it should be."""
        return [self._reason(labels.get(self.label)) for labels in nodes.labels]

    def _reason(self, found: str | None) -> str:
        if found is None:
            return f"node has no label {self.label}; it should be {self.value!r}"
        return f"node's label {self.label} is {found!r}, not {self.value!r}"


class Requirement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of a label expression, as in a node selector."""

    key: str
    """The label's name."""
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
    """As in a node selector."""
    values: tuple[str, ...] = ()
    """Texts to be compared with; one whole number for `Gt` and `Lt`; none for `Exists` and `DoesNotExist`."""

    def __post_init__(self) -> None:
        if self.operator in ("In", "NotIn") and not self.values:
            raise ValueError(f"operator {self.operator} needs values")
        if self.operator in ("Exists", "DoesNotExist") and self.values:
            raise ValueError(f"operator {self.operator} takes no values")
        if self.operator in ("Gt", "Lt") and not (len(self.values) == 1 and _number(self.values[0]) is not None):
            raise ValueError(f"operator {self.operator} needs one whole number")

    def holds(self, value: str | None) -> bool:
        """Whether a node with this value (None: no such label) meets it. As Kubernetes decides it."""
        if self.operator in ("Exists", "DoesNotExist"):
            return (value is not None) == (self.operator == "Exists")
        if self.operator == "NotIn":
            return value is None or value not in self.values
        if self.operator == "In":
            return value in self.values
        number, bound = _number(value), _number(self.values[0])
        if number is None or bound is None:
            return False
        return number > bound if self.operator == "Gt" else number < bound

    def __str__(self) -> str:
        return " ".join(part for part in (self.key, self.operator, ",".join(self.values)) if part)


class LabelExpression(Filter, frozen=True, kw_only=True):
    """Reject nodes that do not meet every requirement of a label expression."""

    when: ClassVar[str] = (
        "One label and one value do not say it: several labels, sets of values, numbers above or below a bound."
    )
    beware: ClassVar[str] = (
        "All requirements must hold; there is no or. `NotIn` and `DoesNotExist` let nodes pass that lack the "
        "label, as in Kubernetes."
    )
    unresolvable: ClassVar[bool] = True

    match_expressions: tuple[Requirement, ...]
    """Requirements as in a node selector, all of which must hold."""

    def rejects(self, nodes: Nodes, pod: Pod) -> Bools:
        """See the class."""
        met = [all(r.holds(labels.get(r.key)) for r in self.match_expressions) for labels in nodes.labels]
        return ~np.array(met, dtype=np.bool_)

    def reasons(self, nodes: Nodes, pod: Pod) -> list[str]:
        """Names the first requirement that is not met."""
        return [f"node's labels do not meet: {self._broken(labels)}" for labels in nodes.labels]

    def _broken(self, labels: Mapping[str, str]) -> Requirement:
        return next(r for r in self.match_expressions if not r.holds(labels.get(r.key)))


def _number(text: str | None) -> int | None:
    """A whole number as Kubernetes reads it: int() alone would take `1_000` and blanks too."""
    return int(text) if text is not None and _WHOLE.fullmatch(text) else None
