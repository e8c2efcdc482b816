import numpy as np

from loadaware.awaited import Awaited
from loadaware.demand_state import Table


def table(**times: float) -> Table:
    return Table(tuple(times), {"times": np.array(list(times.values()))})


def test_a_row_is_taken_once() -> None:
    awaited, kept = Awaited(), table(a=1.0, b=2.0)
    awaited.put(kept)
    assert awaited.take("b") == (kept, 1)
    assert awaited.take("b") is None
    assert awaited.take("stranger") is None
    assert len(awaited) == 1


def test_of_two_for_one_name_the_newer_waits_whichever_came_first() -> None:
    old, new = table(a=1.0), table(a=2.0)
    for order in ((old, new), (new, old)):
        awaited = Awaited()
        for one in order:
            awaited.put(one)
        assert awaited.take("a") == (new, 0)


def test_those_who_do_not_come_are_forgotten() -> None:
    awaited = Awaited()
    awaited.put(table(a=1.0))
    awaited.clear()
    assert not awaited
    assert awaited.take("a") is None
