"""A number in a node's label becomes the score."""

from typing import ClassVar, Literal

from collectors.manifests import Pod
from collectors.reading import Floats
from loadaware.nodes import Nodes
from loadaware.scorers.normalize import stretched
from loadaware.scorers.scorer import Scorer


class LabelNumber(Scorer, frozen=True, kw_only=True):
    """Prefer nodes by a number in a label (`priority: "20"`), the highest or the lowest first.

        score = 100 * (number - lowest) / (highest - lowest) over the nodes asked, turned round for `Lowest`

    A node without the label, or with one that is no number, is not scored: it gets the median of the others.
    """

    measures: ClassVar[bool] = False
    when: ClassVar[str] = "You know which nodes are better, by price or age say, and can write it on them as a label."
    beware: ClassVar[str] = (
        "It sees no load: beside other scorers it pulls every pod to the same nodes, full or not. Only the order "
        "and the proportions count, as the range is stretched over the nodes asked."
    )

    label: str
    """The label whose number counts."""
    prefer: Literal["Highest", "Lowest"] = "Highest"
    """Which end comes first."""

    def score(self, nodes: Nodes, pod: Pod) -> Floats:
        """The number, or minus it."""
        numbers = nodes.label_numbers(self.label)
        return numbers if self.prefer == "Highest" else -numbers

    def normalize(self, scores: Floats) -> Floats:
        """Over the whole range."""
        return stretched(scores)

    def raw(self, nodes: Nodes, pod: Pod) -> Floats:
        """The number itself."""
        return nodes.label_numbers(self.label)
