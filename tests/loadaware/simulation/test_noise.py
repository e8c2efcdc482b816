import numpy as np

from loadaware.simulation.noise import draw_seeds, uniform, wobble

SEEDS = draw_seeds(np.random.default_rng(1), 1000)


def test_the_same_question_has_the_same_answer_in_any_order_and_company() -> None:
    steps = np.arange(1000)
    together = uniform(SEEDS, steps)
    backwards = uniform(SEEDS[::-1], steps[::-1])[::-1]
    alone = uniform(SEEDS[7:8], steps[7:8])
    assert (together == backwards).all()
    assert together[7] == alone[0]


def test_answers_fill_zero_to_one_evenly() -> None:
    drawn = np.concatenate([uniform(SEEDS, np.full(1000, step)) for step in range(100)])
    assert drawn.min() >= 0.0
    assert drawn.max() < 1.0
    counts, _ = np.histogram(drawn, bins=10, range=(0.0, 1.0))
    assert abs(counts - 10_000).max() < 500


def test_neighbouring_steps_seeds_and_purposes_are_unrelated() -> None:
    steps = np.full(1000, 57)
    base = uniform(SEEDS, steps)
    for other in (uniform(SEEDS, steps + 1), uniform(SEEDS + np.uint64(1), steps), uniform(SEEDS, steps, purpose=1)):
        assert abs(np.corrcoef(base, other)[0, 1]) < 0.1


def test_a_wobble_stays_within_one_and_moves_smoothly() -> None:
    times = np.linspace(0.0, 6000.0, 2001)
    path = wobble(np.full(2001, SEEDS[0]), times, 600.0)
    assert abs(path).max() <= 1.0
    assert abs(np.diff(path)).max() <= 2.0 * 3.0 / 600.0 + 1e-9
    assert path.std() > 0.1
