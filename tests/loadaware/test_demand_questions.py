"""Long answers of the observer arrive whole, in order, once; or nothing does."""

import asyncio
from collections.abc import Callable

import pytest

from loadaware import demand_questions as module
from loadaware.demand_questions import MOST_WAITING, DemandQuestions
from loadaware.queries import DemandQuery, Piece, Query, StateQuery


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that get no answer are through soon."""
    monkeypatch.setattr(module, "PATIENCE_SECONDS", 3.0)


def answering(questions: DemandQuestions, *pieces: tuple[bytes, bool, str]) -> list[Query]:
    """Make it answer each query with these pieces; what was asked."""
    loop, asked = asyncio.get_running_loop(), []

    def send(query: Query) -> bool:
        asked.append(query)
        for data, last, refused in pieces:
            loop.call_soon_threadsafe(questions.take, Piece(query.number, data, last, refused))
        return True

    questions.send = send
    return asked


def test_pieces_are_put_together_in_their_order_and_others_are_dropped() -> None:
    async def talk() -> list[bytes] | None:
        questions = DemandQuestions()
        questions.take(Piece(1, b"too early", True))
        answering(questions, (b"one", False, ""), (b"two", True, ""), (b"too late", True, ""))
        return await questions.state()

    assert asyncio.run(talk()) == [b"one", b"two"]


def test_what_is_asked_for_reaches_the_observer() -> None:
    async def talk() -> list[Query]:
        questions = DemandQuestions()
        asked = answering(questions, (b"{}", True, ""))
        assert await questions.demand("memory", 7, "shop") == [b"{}"]
        return asked

    assert asyncio.run(talk()) == [DemandQuery(1, "memory", 7, "shop")]


def test_a_refused_query_raises_what_is_wrong_with_it() -> None:
    async def talk() -> None:
        questions = DemandQuestions()
        answering(questions, (b"", True, "sort is not disk"))
        with pytest.raises(ValueError, match="sort is not disk"):
            await questions.demand("disk", 7, None)

    asyncio.run(talk())


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("send", [None, lambda _: False, lambda _: True])
def test_without_an_observer_that_answers_nothing_is_told(send: Callable[[Query], bool] | None) -> None:
    questions = DemandQuestions()
    questions.send = send
    assert asyncio.run(questions.state()) is None


def test_several_who_ask_for_all_at_once_are_given_the_same_and_the_next_asks_anew() -> None:
    async def talk() -> list[Query]:
        questions = DemandQuestions()
        asked = answering(questions, (b"all", True, ""))
        assert await asyncio.gather(*(questions.state() for _ in range(20))) == [[b"all"]] * 20
        await asyncio.sleep(0)
        assert await questions.state() == [b"all"]
        return asked

    assert asyncio.run(talk()) == [StateQuery(1), StateQuery(2)]


def test_one_who_goes_away_does_not_take_the_answer_from_the_others() -> None:
    async def talk() -> list[bytes] | None:
        questions = DemandQuestions()
        answering(questions, (b"all", True, ""))
        hasty, patient = (asyncio.ensure_future(questions.state()) for _ in range(2))
        await asyncio.sleep(0)
        hasty.cancel()
        return await patient

    assert asyncio.run(talk()) == [b"all"]


@pytest.mark.usefixtures("impatient")
def test_those_who_wait_are_bounded_in_number() -> None:
    asked: list[Query] = []

    def send(query: Query) -> bool:
        asked.append(query)
        return True

    async def talk() -> list[list[bytes] | None]:
        questions = DemandQuestions()
        questions.send = send
        return await asyncio.gather(*(questions.demand("cpu", 1, None) for _ in range(MOST_WAITING + 5)))

    assert asyncio.run(talk()) == [None] * (MOST_WAITING + 5)
    assert len(asked) == MOST_WAITING
