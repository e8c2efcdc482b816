import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadaware.roster import Roster


def test_a_name_keeps_its_row_while_anything_refers_to_it() -> None:
    roster = Roster()
    row = roster.hold("a")
    assert roster.hold("a") == row
    assert roster.release(row) is False
    assert roster.row("a") == row
    assert roster.name(row) == "a"
    assert roster.release(row) is True
    assert roster.row("a") is None


def test_a_free_row_has_no_name_until_it_is_given_out_again() -> None:
    roster = Roster()
    row = roster.hold("a")
    roster.release(row)
    with pytest.raises(LookupError):
        roster.name(row)
    assert roster.hold("b") == row
    assert roster.name(row) == "b"
    assert roster.row("a") is None


def test_rows_are_reused_so_arrays_stay_as_large_as_the_largest_cluster_seen() -> None:
    roster = Roster()
    for generation in range(10):
        rows = [roster.hold(f"node-{generation}-{n}") for n in range(5)]
        for row in rows:
            roster.release(row)
    assert len(roster) == 5


def test_an_unknown_name_has_no_row() -> None:
    assert Roster().row("a") is None


@given(st.lists(st.tuples(st.booleans(), st.sampled_from("abcd")), max_size=80))
def test_no_two_names_ever_share_a_row(steps: list[tuple[bool, str]]) -> None:
    roster = Roster()
    references = dict.fromkeys("abcd", 0)
    for hold, name in steps:
        row = roster.row(name)
        if hold:
            roster.hold(name)
            references[name] += 1
        elif row is not None:
            references[name] -= 1
            assert roster.release(row) == (references[name] == 0)
        held = {n: roster.row(n) for n, count in references.items() if count}
        assert None not in held.values()
        assert len(set(held.values())) == len(held)
        assert all(roster.row(n) is None for n, count in references.items() if not count)
        assert all(row < len(roster) for row in held.values() if row is not None)
