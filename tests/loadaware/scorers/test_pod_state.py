from dataclasses import replace

import numpy as np
import pytest

from collectors.cluster import NodeSeen, PodGone, PodSeen
from loadaware.core import Core
from loadaware.nodes import Nodes
from loadaware.scorers.pod_state import PodState
from tests.loadaware.builders import Clock, make_node, make_pod, make_profile, make_settings, nodes_of, snapshot_of

STATE = PodState()
POD = make_pod("web")

SCORES = [
    # terminating, nominated per node      100 * (state - lowest) / (highest - lowest), state = terminating - nominated
    ([0, 0], [0, 0], [0.0, 0.0]),  # all equal: nothing
    ([3, 0], [0, 0], [100.0, 0.0]),
    ([0, 0], [2, 0], [0.0, 100.0]),
    ([3, 1, 0], [0, 0, 1], [100.0, 50.0, 0.0]),
    ([2, 1], [2, 1], [0.0, 0.0]),
]


@pytest.mark.parametrize(("terminating", "nominated", "scores"), SCORES)
def test_terminating_pods_speak_for_a_node_and_nominated_ones_against_it(
    terminating: list[int], nominated: list[int], scores: list[float]
) -> None:
    snapshot = replace(
        snapshot_of({f"n{n}": {} for n in range(len(scores))}),
        terminating_pods=np.array(terminating, dtype=np.float64),
        nominated_pods=np.array(nominated, dtype=np.float64),
    )
    nodes = Nodes.of(snapshot)
    state = [t - n for t, n in zip(terminating, nominated, strict=True)]
    assert STATE.raw(nodes, POD).tolist() == STATE.score(nodes, POD).tolist() == state
    assert STATE.normalize(STATE.score(nodes, POD)).tolist() == scores


def test_where_pods_are_not_told_of_all_nodes_are_equal() -> None:
    assert STATE.score(nodes_of({"a": {}, "b": {}}), POD).tolist() == [0.0, 0.0]


def test_what_the_watch_tells_becomes_the_state() -> None:
    clock = Clock()
    core = Core(make_settings(make_profile(STATE)), clock)
    core.tell(*(NodeSeen(make_node(name)) for name in "abc"))
    core.tell(PodSeen(make_pod("going", node="a", deleted_at=clock())))
    core.tell(PodSeen(make_pod("staying", node="a")))
    core.tell(PodSeen(make_pod("promised", nominated_node="c")))
    core.refresh()
    assert core.rank(POD, book=False).scores.tolist() == [100.0, 50.0, 0.0]
    core.tell(PodSeen(make_pod("promised", node="c")), PodGone("uid-going"))
    core.refresh()
    assert core.rank(POD, book=False).scores.tolist() == [0.0, 0.0, 0.0]
