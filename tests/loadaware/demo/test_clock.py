import pytest

from loadaware.demo.clock import DemoClock


class Real:
    def __init__(self) -> None:
        self.now = 50.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def real() -> Real:
    return Real()


def test_it_stands_still_until_the_first_tick(real: Real) -> None:
    clock = DemoClock(1000.0, 60.0, real)
    real.now += 5.0
    assert clock() == 1000.0
    clock.hold(2000.0)
    assert clock() == 2000.0


def test_it_runs_as_much_faster_as_its_speed_says(real: Real) -> None:
    clock = DemoClock(1000.0, 60.0, real)
    assert clock.tick() == 1000.0
    real.now += 0.1
    assert clock() == pytest.approx(1006.0)
    assert clock.tick() == pytest.approx(1006.0)
    real.now += 0.1
    assert clock() == pytest.approx(1012.0)


def test_a_process_that_was_stopped_loses_time_instead_of_leaping(real: Real) -> None:
    clock = DemoClock(1000.0, 60.0, real, longest_pause=0.5)
    clock.tick()
    real.now += 3600.0
    assert clock() == 1030.0
    assert clock.tick() == 1030.0


def test_it_can_be_held_again_after_running(real: Real) -> None:
    clock = DemoClock(1000.0, 60.0, real)
    clock.tick()
    clock.hold(1500.0)
    real.now += 1.0
    assert clock() == 1500.0
