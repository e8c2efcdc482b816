"""What names tell: much where they mean something, nothing where they do not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.reading import Floats
from loadaware import prior
from loadaware.kin import TRAITS, UNKNOWN, Kin
from loadaware.prior import Prior

ROUNDS = 20


def kin(namespace: str = "", image: str = "") -> Kin:
    return (namespace, image, *UNKNOWN[2:])


def fitted(kins: list[Kin], ratios: Floats, samples: float = 1000.0) -> Prior:
    made = Prior(1)
    traits = np.array([made.traits(one) for one in kins])
    for _ in range(ROUNDS):
        made.fit(traits, ratios[:, None], np.full((len(kins), 1), samples))
    return made


def level(made: Prior, one: Kin) -> float:
    return float(made.told().level(one)[0])


def two_namespaces(apart: float, noise: float = 0.3, count: int = 60) -> Prior:
    random = np.random.default_rng(1)
    kins = [kin("hungry" if number % 2 else "lazy") for number in range(count)]
    centres = np.array([apart if number % 2 else 1.0 for number in range(count)])
    return fitted(kins, centres * random.lognormal(0.0, noise, count))


def test_a_name_that_means_something_is_believed() -> None:
    made = two_namespaces(apart=4.0)
    assert level(made, kin("hungry")) / level(made, kin("lazy")) == pytest.approx(4.0, rel=0.25)


def test_a_name_nobody_knows_says_nothing() -> None:
    made = two_namespaces(apart=4.0)
    assert level(made, kin("other")) == level(made, UNKNOWN) == level(made, ()) == 1.0


def test_names_that_mean_nothing_are_left_out() -> None:
    random = np.random.default_rng(2)
    kins = [kin(f"team-{number % 8}", f"image-{number % 30}") for number in range(240)]
    made = fitted(kins, random.lognormal(0.0, 0.8, 240))
    assert {level(made, one) for one in kins} == {1.0}


def test_two_traits_share_what_they_explain() -> None:
    random = np.random.default_rng(3)
    kins = [kin(f"team-{number % 4}", f"image-{number // 4 % 5}") for number in range(400)]
    truth = np.array([2.0 ** (number % 4) * 3.0 ** (number // 4 % 5) for number in range(400)]) * 0.2
    made = fitted(kins, truth * random.lognormal(0.0, 0.2, 400))
    found = level(made, kin("team-3", "image-2")) / level(made, kin("team-0", "image-0"))
    assert found == pytest.approx(8.0 * 9.0, rel=0.3)


def test_workloads_that_were_hardly_measured_teach_hardly_anything() -> None:
    kins = [kin("a"), kin("b")] * 30
    ratios = np.array([4.0, 1.0] * 30)
    little, much = fitted(kins, ratios, samples=0.001), fitted(kins, ratios, samples=1000.0)
    assert level(little, kin("a")) < level(much, kin("a"))


def test_a_workload_that_was_never_measured_teaches_nothing() -> None:
    made = Prior(1)
    traits = np.array([made.traits(kin("a")), made.traits(kin("b"))])
    made.fit(traits, np.array([[1.0], [np.inf]]), np.zeros((2, 1)))
    assert level(made, kin("a")) == 1.0


def test_the_words_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prior, "MOST_WORDS", 5)
    made = Prior(1)
    numbers = [int(made.traits(kin(f"team-{n}"))[0]) for n in range(10)]
    assert numbers == [1, 2, 3, 4, 5, 0, 0, 0, 0, 0]
    assert len(made.told().numbers) == 5


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from("xyz"), st.floats(0, 100), st.floats(0, 1e6)),
        max_size=30,
    )
)
def test_levels_are_finite_and_bounded_whatever_was_measured(rows: list[tuple[str, str, float, float]]) -> None:
    made = Prior(1)
    traits = np.array([made.traits(kin(a, b)) for a, b, _, _ in rows], dtype=np.intp).reshape(len(rows), len(TRAITS))
    ratios, samples = np.array([[r] for _, _, r, _ in rows]), np.array([[s] for _, _, _, s in rows])
    for _ in range(3):
        made.fit(traits, ratios.reshape(-1, 1), samples.reshape(-1, 1))
    levels = made.levels(traits)
    assert np.isfinite(levels).all()
    assert (levels >= np.exp(-prior.MOST_TOLD)).all()
    assert (levels <= np.exp(prior.MOST_TOLD)).all()


def test_the_order_of_the_workloads_does_not_matter() -> None:
    random = np.random.default_rng(4)
    kins = [kin(f"team-{number % 3}") for number in range(30)]
    ratios = np.array([1.0 + number % 3 for number in range(30)]) * random.lognormal(0.0, 0.1, 30)
    order = random.permutation(30)
    one, other = fitted(kins, ratios), fitted([kins[n] for n in order], ratios[order])
    assert [level(one, kin(f"team-{n}")) for n in range(3)] == pytest.approx(
        [level(other, kin(f"team-{n}")) for n in range(3)]
    )
