import asyncio
import logging

import pytest

from loadaware.aside import Aside


def test_work_is_done_later_in_its_order_one_piece_per_turn_of_the_loop() -> None:
    done: list[str] = []

    async def put_and_wait() -> None:
        aside = Aside(0.0, 10)
        for name in "abc":
            assert aside.put(lambda name=name: done.append(name))  # type: ignore[misc]
        assert done == []
        turns = []
        while len(aside):
            await asyncio.sleep(0)
            turns.append(len(aside))
        assert turns[-3:] == [2, 1, 0]

    asyncio.run(put_and_wait())
    assert done == ["a", "b", "c"]


def test_what_comes_when_too_much_waits_is_refused() -> None:
    aside = Aside(0.0, 2)
    assert [aside.put(lambda: None) for _ in range(3)] == [True, True, False]
    aside.finish()
    assert aside.put(lambda: None)


def test_without_a_loop_it_waits_for_one_or_for_the_end() -> None:
    done: list[int] = []
    aside = Aside(0.0, 10)
    aside.put(lambda: done.append(1))
    assert done == []

    async def put() -> None:
        aside.put(lambda: done.append(2))
        while len(aside):
            await asyncio.sleep(0)

    asyncio.run(put())
    assert done == [1, 2]


def test_a_loop_that_ended_does_not_keep_the_next_one_from_working() -> None:
    done: list[int] = []
    aside = Aside(60.0, 10)

    async def put(number: int) -> None:
        aside.put(lambda: done.append(number))

    asyncio.run(put(1))
    aside._pause_seconds = 0.0

    async def put_and_wait() -> None:
        await put(2)
        while len(aside):
            await asyncio.sleep(0)

    asyncio.run(put_and_wait())
    assert done == [1, 2]


def test_nothing_is_done_while_it_is_not_ready() -> None:
    asked: list[bool] = []

    def ready() -> bool:
        asked.append(len(asked) >= 3)
        return asked[-1]

    async def put_and_wait() -> None:
        aside = Aside(0.0, 10, ready)
        aside.put(lambda: None)
        while len(aside):
            await asyncio.sleep(0)

    asyncio.run(put_and_wait())
    assert asked == [False, False, False, True]


def test_work_that_fails_is_logged_and_the_next_is_done(caplog: pytest.LogCaptureFixture) -> None:
    done: list[int] = []

    def fail() -> None:
        raise ZeroDivisionError

    aside = Aside(0.0, 10)
    aside.put(fail)
    aside.put(lambda: done.append(1))
    with caplog.at_level(logging.ERROR):
        aside.finish()
    assert done == [1]
    assert "put aside failed" in caplog.text
