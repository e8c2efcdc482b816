"""The lines of the live page: what they hold, and how often they are made."""

import asyncio
import json
import math
from dataclasses import replace
from typing import Any

from loadaware.live import MOST_TOLD, REMEMBERED, LiveFrames
from loadaware.service import Service
from tests.loadaware.builders import cpu_mean, snapshot_of
from tests.loadaware.decided import ask, bind, learned_service
from tests.loadaware.running_server import frozen_service

FEATURES = {"explain": True}


def lines(content: bytes) -> dict[str, dict[str, Any]]:
    """By kind; no kind comes twice at once."""
    told = [json.loads(line) for line in content.splitlines()]
    assert len({each["kind"] for each in told}) == len(told)
    return {each["kind"]: each for each in told}


async def first_and_next(
    service: Service, between: Any = lambda: None, nodes_per_second: float = math.inf
) -> tuple[Any, Any]:
    frames = LiveFrames(service, FEATURES, nodes_per_second)
    first = lines(await frames.welcome())
    between()
    return first, lines(await frames.next())


def test_the_columns_say_of_each_node_what_is_known_and_null_for_the_rest() -> None:
    first, _ = asyncio.run(first_and_next(learned_service()))
    nodes = first["nodes"]
    assert nodes["names"] == ["a", "b", "c"]
    assert nodes["cpu"] == [0.25, 0.25, None]
    assert nodes["cpuDeviation"] == [0.0, 0.0, None]
    assert len(nodes["score"]) == len(nodes["inFlightPods"]) == len(nodes["rung"]) == 3
    assert nodes["score"][0] > nodes["score"][1]


def test_a_booked_pod_is_in_flight_where_it_will_go() -> None:
    service = learned_service()
    first, after = asyncio.run(first_and_next(service, lambda: ask(service, "prioritize", "a", "b", pod="web-1")))
    assert sum(first["nodes"]["inFlightPods"]) == 0
    assert (after["nodes"]["inFlightPods"], after["nodes"]["inFlightCores"]) == ([1.0, 0.0, 0.0], [0.5, 0.0, 0.0])


def test_a_decision_is_told_once_and_again_when_its_pod_is_bound() -> None:
    service = learned_service()
    frames = LiveFrames(service, FEATURES)

    async def told() -> list[list[tuple[str, str | None]]]:
        await frames.welcome()
        ask(service, "prioritize", "a", "b", pod="web-1")
        ticks = [await frames.next(), await frames.next()]
        bind(service, "a")
        ticks += [await frames.next(), await frames.next(), await frames.welcome()]
        return [[(each["pod"], each["chosen"]) for each in lines(tick)["tick"]["decisions"]] for tick in ticks]

    bound = [("shop/web-1", "a")]
    assert asyncio.run(told()) == [[("shop/web-1", None)], [], bound, [], bound]


def test_decisions_faster_than_can_be_told_are_counted() -> None:
    service = frozen_service()

    def burst() -> None:
        for number in range(MOST_TOLD + 7):
            ask(service, "prioritize", "idle", "near", pod=f"web-{number}")

    def one() -> None:
        ask(service, "prioritize", "idle", "near", pod="first")

    one()
    _, after = asyncio.run(first_and_next(service, burst))
    assert (len(after["tick"]["decisions"]), after["tick"]["more"]) == (MOST_TOLD, 7)
    assert after["tick"]["decisions"][-1]["pod"] == f"shop/web-{MOST_TOLD + 6}"


def test_a_page_that_opens_is_told_the_last_decisions_and_no_more() -> None:
    service = frozen_service()
    for number in range(REMEMBERED + 20):
        ask(service, "prioritize", "idle", "near", pod=f"web-{number}")
    first, _ = asyncio.run(first_and_next(service))
    pods = [each["pod"] for each in first["tick"]["decisions"]]
    assert len(pods) == REMEMBERED
    assert pods[-1] == f"shop/web-{REMEMBERED + 19}"


def test_nodes_of_a_large_cluster_are_not_told_at_every_tick_but_after_each_snapshot() -> None:
    service = frozen_service()
    many = {f"node-{number:04}": cpu_mean(10) for number in range(3000)}
    service.take(snapshot_of(many))
    _, after = asyncio.run(first_and_next(service, nodes_per_second=1.0))
    assert set(after) == {"tick"}
    fewer = replace(snapshot_of(dict(list(many.items())[:2000])), generation=2)
    _, after = asyncio.run(first_and_next(service, lambda: service.take(fewer), nodes_per_second=1.0))
    assert len(after["nodes"]["names"]) == 2000


def test_what_is_made_for_the_page_counts_nothing() -> None:
    service = frozen_service()
    asyncio.run(first_and_next(service))
    assert not service.adviser.breaker.spent


def test_what_stands_beside_is_told_along() -> None:
    service = frozen_service()
    service.beside = lambda: {"figures": []}
    first, after = asyncio.run(first_and_next(service))
    assert first["tick"]["beside"] == after["tick"]["beside"] == {"figures": []}
