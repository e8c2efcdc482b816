import gc
import subprocess
import sys

from loadaware.garbage import AT_LEAST_EVERY_SECONDS, IDLE_EVERY_SECONDS, Housekeeping, collected_by_hand
from tests.loadaware.builders import Clock


class House:
    def __init__(self) -> None:
        self.clock = Clock()
        self.requests = 0
        self.collections: list[float] = []
        self.keeping = Housekeeping(
            lambda: self.requests, self.clock, lambda: self.collections.append(self.clock.now - 1000.0)
        )

    def pass_time(self, seconds: int, *, busy: bool) -> None:
        for _ in range(seconds):
            self.clock.advance(1.0)
            self.requests += busy
            self.keeping.look()


def test_nothing_is_collected_while_requests_come_in_until_it_is_high_time() -> None:
    house = House()
    house.pass_time(int(AT_LEAST_EVERY_SECONDS) - 1, busy=True)
    assert house.collections == []
    house.pass_time(2, busy=True)
    assert house.collections == [AT_LEAST_EVERY_SECONDS]


def test_the_first_quiet_second_is_used() -> None:
    house = House()
    house.pass_time(20, busy=True)
    house.pass_time(1, busy=False)
    assert house.collections == [21.0]


def test_a_quiet_house_is_not_cleaned_over_and_over() -> None:
    house = House()
    house.pass_time(35, busy=False)
    assert house.collections == [IDLE_EVERY_SECONDS, 2 * IDLE_EVERY_SECONDS, 3 * IDLE_EVERY_SECONDS]


def test_nothing_is_collected_by_itself_inside_and_all_is_as_before_afterwards() -> None:
    assert gc.isenabled()
    with collected_by_hand():
        assert not gc.isenabled()
        assert gc.get_freeze_count() > 0
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


FAULTS = """
import resource
import numpy as np
table, rows = np.zeros((5000, 300), np.uint8), np.arange(5000)
def answer():
    return b"[" + table.take(rows, axis=0).tobytes()
answer()
before = resource.getrusage(0).ru_minflt
for _ in range(100):
    answer()
print(resource.getrusage(0).ru_minflt - before)
"""
"""Pieces larger than any that importing has freed: of such the C library keeps two by itself."""


def test_freed_memory_is_kept_where_the_c_library_can_be_told() -> None:
    keeping = "from loadaware.garbage import keep_freed_memory\nassert keep_freed_memory()\n"
    by_itself, kept = (
        int(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
        for code in (FAULTS, keeping + FAULTS)
    )
    assert kept < 100 < by_itself
