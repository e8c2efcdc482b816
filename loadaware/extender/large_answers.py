"""Answers to bodies that another process reads (see large_bodies.py): what is decided is decided here all the same."""

import pickle
from typing import Any

from loadaware.errors import RequestError
from loadaware.extender.answers import Answer, Answers
from loadaware.extender.cluster_verbs import preempt, preempt_among
from loadaware.extender.large_bodies import LargeBodies, MemoryFile, pickled
from loadaware.extender.protocol import Arguments
from loadaware.filtering import Filtering

Content = bytes | MemoryFile


class LargeAnswers:
    """One body after the other."""

    def __init__(self, answers: Answers, bodies: LargeBodies) -> None:
        self._answers = answers
        self._bodies = bodies

    async def answer(self, verb: str, body: MemoryFile, profile: str | None) -> Content | Answer:
        """The content of a good answer, or a whole one, already counted. Raises RequestError, UnknownProfileError."""
        if verb == "bind":
            raise RequestError("too_large", "no binding is as large as this body", 413)
        async with self._bodies.turn() as reading:
            if not reading:
                return await self._read_here(verb, body.whole(), profile)
            word, file = await self._bodies.ask(verb, body)
            if word == "answer":
                self._answers.service.telemetry.errors.labels(verb, "too_many_nodes").inc()
                return file
            with file:
                told = pickle.loads(file.whole())  # noqa: S301 - from our own child
            if word == "refused":
                raise RequestError(*told)
            return await self._answer_to(word, verb, told, profile)

    async def _answer_to(self, word: str, verb: str, told: Any, profile: str | None) -> Content:
        if word == "preemption":
            return await preempt_among(self._answers.service, told, profile)
        if word == "too_many":
            pod, count, doubts = told
            content = self._answers.too_many(verb, pod, count, doubts, profile)
            return content if verb == "prioritize" else await self._decided(None)
        pod, names, doubts = told
        arguments = Arguments(pod, names, None, doubts)
        if verb == "prioritize":
            return self._answers.content(verb, arguments, profile)
        return await self._decided(self._answers.filtering(arguments, profile))

    async def _decided(self, filtering: Filtering | None) -> MemoryFile:
        with pickled(filtering) as told:
            word, file = await self._bodies.ask("decided", told)
        if word == "answer":
            return file
        with file:
            raise RequestError(*pickle.loads(file.whole()))  # noqa: S301 - from our own child

    async def _read_here(self, verb: str, body: bytes, profile: str | None) -> bytes | Answer:
        if verb == "preempt":
            return await preempt(self._answers.service, body, profile)
        return self._answers.answer(verb, body, profile)
