import asyncio
import threading
from collections.abc import Callable

import pytest

from loadaware import questions as module
from loadaware.queries import PodReply, PodsQuery, Reply
from loadaware.questions import MOST_WAITING, Questions
from tests.parts.processes import PATIENCE_SECONDS


def reply_to(query: PodsQuery, *identities: str) -> Reply:
    return Reply(query.number, tuple(PodReply(identity, "a", {"cpu": 1.0}) for identity in identities))


class Sent:
    """An observer that takes questions and never answers."""

    def __init__(self) -> None:
        self.queries: list[PodsQuery] = []

    def __call__(self, query: PodsQuery) -> bool:
        self.queries.append(query)
        return True


def asking(send: Callable[[PodsQuery], bool] | None) -> Questions:
    questions = Questions()
    questions.send = send
    return questions


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that get no answer are through soon."""
    monkeypatch.setattr(module, "WAIT_SECONDS", 0.5)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("send", [None, lambda _: False, lambda _: True])
def test_without_an_observer_that_answers_nothing_is_known(send: Callable[[PodsQuery], bool] | None) -> None:
    assert asyncio.run(asking(send).pods(["u1"])) == {}


def test_about_nobody_nobody_is_asked() -> None:
    sent = Sent()
    assert asyncio.run(asking(sent).pods([])) == {}
    assert sent.queries == []


def test_the_reply_is_told_by_identity_and_unknown_pods_are_left_out() -> None:
    async def talk() -> dict[str, PodReply]:
        loop = asyncio.get_running_loop()
        questions = Questions()

        def send(query: PodsQuery) -> bool:
            loop.call_soon_threadsafe(questions.take, reply_to(query, "u1"))
            return True

        questions.send = send
        return await questions.pods(["u1", "u2"])

    assert asyncio.run(talk()) == {"u1": PodReply("u1", "a", {"cpu": 1.0})}


def test_replies_find_their_own_questions_whatever_their_order() -> None:
    async def talk() -> list[list[str]]:
        loop = asyncio.get_running_loop()
        questions = Questions()
        asked: list[PodsQuery] = []

        def send(query: PodsQuery) -> bool:
            asked.append(query)
            if len(asked) == 2:
                for one in reversed(asked):
                    loop.call_soon_threadsafe(questions.take, reply_to(one, *one.identities))
            return True

        questions.send = send
        answers = await asyncio.gather(questions.pods(["u1"]), questions.pods(["u2"]))
        return [list(answer) for answer in answers]

    assert asyncio.run(talk()) == [["u1"], ["u2"]]


@pytest.mark.usefixtures("impatient")
def test_a_reply_too_late_or_to_nobodys_question_is_dropped() -> None:
    sent = Sent()
    questions = asking(sent)
    assert asyncio.run(questions.pods(["u1"])) == {}
    questions.take(reply_to(sent.queries[0], "u1"))
    questions.take(Reply(999, ()))
    assert asyncio.run(questions.pods(["u1"])) == {}
    assert sent.queries[0].number != sent.queries[1].number


def test_a_reply_told_twice_does_no_harm() -> None:
    async def talk() -> dict[str, PodReply]:
        loop = asyncio.get_running_loop()
        questions = Questions()

        def twice(query: PodsQuery) -> None:
            questions.take(reply_to(query, "u1"))
            questions.take(reply_to(query, "u2"))

        def send(query: PodsQuery) -> bool:
            loop.call_soon_threadsafe(twice, query)
            return True

        questions.send = send
        return await questions.pods(["u1"])

    assert list(asyncio.run(talk())) == ["u1"]


@pytest.mark.usefixtures("impatient")
def test_a_pipe_that_takes_nothing_holds_one_thread_and_nobody_waits_long() -> None:
    release, entered = threading.Event(), []

    def send(query: PodsQuery) -> bool:
        entered.append(query)
        return release.wait(PATIENCE_SECONDS)

    async def talk() -> list[dict[str, PodReply]]:
        try:
            together = asyncio.gather(*(questions.pods(["u1"]) for _ in range(20)))
            return await asyncio.wait_for(together, PATIENCE_SECONDS / 2)
        finally:
            release.set()

    questions = asking(send)
    assert asyncio.run(talk()) == [{}] * 20
    assert len(entered) == 1


def test_more_questions_than_the_bound_are_not_asked() -> None:
    async def talk() -> int:
        sent = Sent()
        questions = asking(sent)
        await asyncio.gather(*(questions.pods(["u1"]) for _ in range(3 * MOST_WAITING)))
        return len(sent.queries)

    assert asyncio.run(talk()) <= MOST_WAITING
