import os
import signal

import pytest

from loadaware.config import Config
from loadaware.tuning.crews import JudgingError, Order, ProcessCrew, crew
from loadaware.tuning.source import Judged
from tests.loadaware.tuning.known_best import CASES, Valley

ORDERS = [Order(Config(), "default-scheduler", case) for case in CASES]


class Deadly(Valley):
    def judge(self, config: Config, profile: str, case: str) -> Judged:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError


@pytest.mark.parametrize("jobs", [1, 3])
def test_every_order_comes_back_with_its_place(jobs: int) -> None:
    workers = crew(jobs)
    workers.start(Valley())
    try:
        told = dict(workers.run(ORDERS))
        again = dict(workers.run(ORDERS[:1]))
    finally:
        workers.close()
    assert sorted(told) == list(range(len(ORDERS)))
    assert [told[place].figures["hot80"] for place in range(4)] == [
        Valley().judge(order.config, order.profile, order.case).figures["hot80"] for order in ORDERS
    ]
    assert again[0] == told[0]


def test_a_process_that_is_killed_is_said_so() -> None:
    workers = ProcessCrew(2)
    workers.start(Deadly())
    try:
        with pytest.raises(JudgingError, match="its process ended; fewer --jobs need less memory"):
            list(workers.run(ORDERS[:2]))
    finally:
        workers.close()


def test_a_crew_that_was_not_started_has_nobody() -> None:
    with pytest.raises(ValueError, match="not started"):
        next(ProcessCrew(2).run(ORDERS))
    ProcessCrew(2).close()
