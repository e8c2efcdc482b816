"""What a filter is: a frozen value that says which nodes a pod must not go to, and why.

A filter's fields are its args, as with scorers. `unresolvable` tells kube-scheduler that no eviction would help
(a missing label); a load rule is resolvable: evicting pods lowers load. `load_rule` filters may never empty a list
of nodes: when they would reject all, the least loaded pass (see filtering). What `pre_filter` refuses is refused.
"""

from typing import ClassVar

import msgspec

from collectors.manifests import Pod
from loadaware.nodes import Nodes
from loadaware.window import Bools


class Filter(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Base of every filter."""

    when: ClassVar[str] = ""
    """When to use it; for docs/plugins.md."""
    beware: ClassVar[str] = ""
    """What it gets wrong; for docs/plugins.md."""
    unresolvable: ClassVar[bool] = False
    load_rule: ClassVar[bool] = False
    by_measurements: ClassVar[bool] = False
    """It judges by measurements, as every load rule does: nodes whose measurements have expired are not shown to it."""

    def pre_filter(self, pod: Pod) -> str | None:
        """Why the pod may go nowhere, whatever the node; None if it may."""
        return None

    def rejects(self, nodes: Nodes, pod: Pod) -> Bools:
        """Whether each node is rejected. A node that was not measured passes."""
        raise NotImplementedError

    def reasons(self, nodes: Nodes, pod: Pod) -> list[str]:
        """Why each of these nodes, all of them rejected, is so; for a person."""
        raise NotImplementedError
