import numpy as np
import pytest

from collectors.reading import Floats
from loadaware.simulation.curves import DAY_SECONDS, SPIKE_FLOOR, GeneratedCurves, Pattern
from loadaware.simulation.noise import draw_seeds

COUNT = 60


def curves(pattern: Pattern) -> GeneratedCurves:
    random = np.random.default_rng(3)
    return GeneratedCurves(
        pattern=np.full(COUNT, int(pattern), dtype=np.int64),
        seed=draw_seeds(random, COUNT),
        peak=np.full(COUNT, 14 * 3600.0),
        depth=np.full(COUNT, 0.5),
        slot_seconds=np.full(COUNT, 1800.0),
        busy=np.full(COUNT, 0.2),
    )


def over_days(library: GeneratedCurves) -> Floats:
    times = np.arange(0.0, 3 * DAY_SECONDS, 120.0)
    return library.level(np.arange(COUNT)[:, None], times[None, :])


@pytest.mark.parametrize("pattern", list(Pattern))
def test_every_pattern_averages_one_and_is_never_negative(pattern: Pattern) -> None:
    heights = over_days(curves(pattern))
    assert heights.mean() == pytest.approx(1.0, abs=0.03)
    assert heights.min() >= 0.0


def test_a_stable_curve_stays_within_a_fifth_of_its_average() -> None:
    heights = over_days(curves(Pattern.STABLE))
    assert 0.8 <= heights.min() <= heights.max() <= 1.2


def test_a_wave_is_highest_at_its_peak_and_lowest_half_a_day_later() -> None:
    library = curves(Pattern.WAVE)
    noon, night = 14 * 3600.0, 2 * 3600.0
    rows = np.arange(COUNT)
    assert library.level(rows, np.full(COUNT, noon)).mean() == pytest.approx(1.5, abs=0.05)
    assert library.level(rows, np.full(COUNT, night)).mean() == pytest.approx(0.5, abs=0.05)


def test_spikes_take_their_share_of_time_and_leave_the_floor_otherwise() -> None:
    heights = over_days(curves(Pattern.SPIKES))
    spiking = heights > SPIKE_FLOOR + 1e-9
    assert spiking.mean() == pytest.approx(0.2, abs=0.02)
    assert heights[spiking].mean() == pytest.approx(SPIKE_FLOOR + (1.0 - SPIKE_FLOOR) / 0.2, rel=0.05)


def test_asking_for_a_table_of_times_equals_asking_one_by_one() -> None:
    library = curves(Pattern.SPIKES)
    times = np.array([10.0, 5000.0, 90_000.0])
    table = library.level(np.arange(5)[:, None], times[None, :])
    singles = [[library.level(np.array([row]), np.array([time]))[0] for time in times] for row in range(5)]
    assert table.tolist() == singles


def test_relatives_share_parameters_but_not_dice() -> None:
    library = curves(Pattern.SPIKES)
    kin = library.like(np.array([0, 0]), draw_seeds(np.random.default_rng(9), 2), np.zeros(2))
    both = library.followed_by(kin)
    times = np.arange(0.0, DAY_SECONDS, 300.0)
    first, second = both.level(np.array([COUNT, COUNT + 1])[:, None], times[None, :])
    assert both.busy[COUNT] == library.busy[0]
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.3
