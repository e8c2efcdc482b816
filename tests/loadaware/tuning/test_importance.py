import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from loadaware.config import ProfileSection
from loadaware.tuning.importance import importances
from loadaware.tuning.search import Finished


def trials(count: int = 60, seed: int = 1) -> list[Finished]:
    random = np.random.default_rng(seed)
    made = []
    for number in range(count):
        strong, kind = float(random.uniform()), str(random.choice(["a", "b"]))
        drawn = {"strong": strong, "weak": float(random.uniform()), "kind": kind}
        value = 10 * strong + (3 if kind == "b" else 0) + 0.1 * float(random.standard_normal())
        made.append(Finished(number, ProfileSection(), drawn, (value,)))
    return made


def test_what_decides_is_first_and_what_does_nothing_has_nearly_no_share() -> None:
    shares = importances(trials(), ["weak", "kind", "strong"])
    assert list(shares) == ["strong", "kind", "weak"]
    assert shares["strong"] > 0.5 > shares["kind"] > 0.05
    assert shares["weak"] < 0.1


def test_a_parameter_that_was_seldom_drawn_is_left_out() -> None:
    assert importances(trials(5), ["strong"]) == {}
    assert importances(trials(), ["never"]) == {}


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 100)), min_size=8, max_size=40))
def test_a_share_is_always_between_nothing_and_everything(pairs: list[tuple[float, float]]) -> None:
    made = [Finished(n, ProfileSection(), {"x": x}, (y,)) for n, (x, y) in enumerate(pairs)]
    assert all(0.0 <= share <= 1.0 for share in importances(made, ["x"]).values())
