"""Keep pods off nodes that somebody is about to work on."""

from typing import ClassVar

import numpy as np
from collectors.manifests import Pod
from loadaware.filters.filter import Filter
from loadaware.nodes import Nodes
from loadaware.window import Bools


class NotUnderMaintenance(Filter, frozen=True, kw_only=True):
    """Reject nodes that have a label, whatever its value; the value is given as the reason."""

    when: ClassVar[str] = "People mark the nodes they are going to work on, days before they drain them."
    beware: ClassVar[str] = "A label that somebody forgot keeps a node empty for ever."
    unresolvable: ClassVar[bool] = True

    label: str = "example.com/maintenance"
    """The label that marks a node."""

    def rejects(self, nodes: Nodes, pod: Pod) -> Bools:
        """See the class."""
        return np.array([self.label in labels for labels in nodes.labels], dtype=np.bool_)

    def reasons(self, nodes: Nodes, pod: Pod) -> list[str]:
        """Names the label and its value."""
        return [f"node is under maintenance: {self.label}={labels[self.label]}" for labels in nodes.labels]
