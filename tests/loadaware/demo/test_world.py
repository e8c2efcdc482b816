import numpy as np
import pytest

from collectors.cluster import NodeSeen
from collectors.reading import Reading
from loadaware.demo.extender_client import NoAdvice
from loadaware.demo.scheduler import Scheduler
from loadaware.demo.world import World
from tests.loadaware.demo.stand_in import SMALL_WORLD


@pytest.fixture(scope="module")
def world() -> World:
    return World(SMALL_WORLD)


def test_after_the_warm_up_both_clusters_are_busy_equal_and_the_news_were_told_in_time(world: World) -> None:
    times, news = zip(*world.warm_up(), strict=True)
    told = [item for batch in news for item in batch]
    assert times[0] == world.scenario.settings.start
    assert times[-1] < world.start == world.scenario.settings.start + 600.0
    assert sum(isinstance(item, NodeSeen) for item in told) == 8
    assert sum(isinstance(item, Reading) for item in told) == 8
    ours, default = world.ours.view(), world.default.view()
    assert ours.running == default.running > 50
    assert ours.utilization.tolist() == default.utilization.tolist()
    assert ours.report.seconds == 0.0


def test_steps_advance_both_and_count_from_the_end_of_the_warm_up(world: World) -> None:
    schedulers = [
        Scheduler(side, NoAdvice(), world.random(number)) for number, side in enumerate((world.ours, world.default))
    ]
    for time in np.arange(world.start, world.start + 900.0, 5.0):
        world.step(float(time))
        for scheduler in schedulers:
            scheduler.drain()
    reports = [side.view().report for side in (world.ours, world.default)]
    assert [report.seconds for report in reports] == [900.0, 900.0]


def test_dice_are_the_same_for_the_same_purpose_only(world: World) -> None:
    assert world.random(1).random() == world.random(1).random()
    assert world.random(1).random() != world.random(2).random()
