"""scheduler-plugins' PodState: prefer nodes that are about to have room."""

from typing import ClassVar

from collectors.manifests import Pod
from collectors.reading import Floats
from loadaware.nodes import Nodes
from loadaware.scorers.normalize import stretched
from loadaware.scorers.scorer import Scorer


class PodState(Scorer, frozen=True, kw_only=True):
    """Prefer nodes with many terminating and few nominated pods.

        state = terminating pods - pods nominated to the node
        score = 100 * (state - lowest) / (highest - lowest) over the nodes asked;  all equal: 0

    Terminating pods leave room soon; nominated ones have been promised room by preemption.
    """

    measures: ClassVar[bool] = False
    when: ClassVar[str] = (
        "Clusters with much preemption: nodes that are about to be empty get the next pod, nodes promised to "
        "others do not."
    )
    beware: ClassVar[str] = (
        "It counts pods, not their sizes, and sees no load. Without a watch on pods every node is equal."
    )

    def score(self, nodes: Nodes, pod: Pod) -> Floats:
        """The state: the peer's number before it normalizes."""
        return nodes.terminating_pods() - nodes.nominated_pods()

    def normalize(self, scores: Floats) -> Floats:
        """Over the whole range."""
        return stretched(scores, equal=0.0)
