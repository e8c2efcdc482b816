"""scheduler-plugins' PodState: prefer nodes that are about to have room."""

from collectors.manifests import Pod
from collectors.reading import Floats
from loadaware.scorers.normalize import stretched
from loadaware.scorers.scorer import Scorer
from loadaware.snapshot import Nodes


class PodState(Scorer, frozen=True, kw_only=True):
    """Prefer nodes with many terminating and few nominated pods.

    state = terminating pods - pods nominated to the node
    score = 100 * (state - lowest) / (highest - lowest) over the nodes asked;  all equal: 0
    """

    def score(self, nodes: Nodes, pod: Pod) -> Floats:
        """The state: the peer's number before it normalizes."""
        return nodes.terminating_pods() - nodes.nominated_pods()

    def normalize(self, scores: Floats) -> Floats:
        """Over the whole range."""
        return stretched(scores, equal=0.0)
