import asyncio
from itertools import count

from loadaware.standing_clock import StandingClock


def test_it_stands_still_within_one_round_of_the_event_loop_and_goes_on_in_the_next() -> None:
    ticks = count()
    clock = StandingClock(lambda: float(next(ticks)))

    async def look() -> list[float]:
        first = [clock(), clock()]
        await asyncio.sleep(0)
        return [*first, clock(), clock()]

    assert asyncio.run(look()) == [0.0, 0.0, 1.0, 1.0]


def test_without_an_event_loop_it_is_the_clock_beneath() -> None:
    ticks = count()
    clock = StandingClock(lambda: float(next(ticks)))
    assert [clock(), clock()] == [0.0, 1.0]


def test_another_event_loop_does_not_see_the_time_of_the_last() -> None:
    ticks = count()
    clock = StandingClock(lambda: float(next(ticks)))

    async def look() -> float:
        return clock()

    assert [asyncio.run(look()), asyncio.run(look())] == [0.0, 1.0]
