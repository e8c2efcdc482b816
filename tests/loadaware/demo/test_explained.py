"""In the demo's world every pod that was placed can be explained, by the numbers of its moment."""

import asyncio
import json
import socket

import httpx
import pytest

from collectors.reading import Reading
from loadaware.config import Config, ServerSection
from loadaware.demo.world import World, WorldSettings
from loadaware.demonstration import DemoService, Pipeline
from loadaware.explanation import explain
from loadaware.extender.answers import Answers
from loadaware.service import Service
from loadaware.wiring import make_service
from tests.loadaware.builders import Clock


@pytest.fixture(scope="module")
def served() -> Service:
    """Twenty simulated minutes of six nodes, each pod placed where we say."""
    world = World(WorldSettings(nodes=6, hours=2.0, warm_up_seconds=1200.0))
    clock = Clock(world.start)
    service = make_service(Config(), clock=clock)
    pipeline, answers = Pipeline(Config(), service, clock), Answers(service, 2**20)

    def tell(news: tuple[object, ...]) -> None:
        for item in news:
            pipeline.feed(item) if isinstance(item, Reading) else pipeline.tell(item)  # type: ignore[arg-type]

    for moment, news in world.warm_up():
        clock.now = moment
        tell(news)
    for _ in range(40):
        clock.advance(30.0)
        tell(world.step(clock.now))
        while (pending := world.ours.next_pending()) is not None:
            body = json.dumps({"Pod": pending.manifest, "NodeNames": pending.nodes}).encode()
            told = json.loads(answers.answer("prioritize", body, None).content)
            assert world.ours.bind(pending, max(told, key=lambda host: host["Score"])["Host"])
    service.hindsight.decisions.settle_all()
    return service


def test_every_pod_that_was_placed_went_to_our_first_choice_and_says_so(served: Service) -> None:
    bound = [decision for decision in served.hindsight.decisions if decision.chosen is not None]
    assert len(bound) >= 5
    assert all(decision.chosen_first for decision in bound)
    for decision in bound:
        told = explain(None, decision)
        assert f"it went to {decision.chosen}" in told["sentence"]
        assert "predicted cpu" in told["sentence"]
        assert all(node["predicted"]["cpu"]["utilization"] is not None for node in told["nodes"])


def test_the_winner_has_the_best_priority_and_the_table_is_in_order(served: Service) -> None:
    for decision in served.hindsight.decisions:
        priorities = [node["priority"] for node in explain(None, decision)["nodes"]]
        assert priorities == sorted(priorities, reverse=True)


def test_what_was_learned_in_the_demo_is_told() -> None:
    """Asked as the server asks: from another thread than the pipeline's."""

    async def asked() -> tuple[int, bytes]:
        config = Config(server=ServerSection(address="127.0.0.1", port=0))
        world = World(WorldSettings(nodes=6, hours=2.0, warm_up_seconds=1200.0))
        clock = Clock(world.start)
        demo = DemoService(config, clock)
        for moment, news in world.warm_up():
            clock.now = moment
            for item in news:
                demo.pipeline.feed(item) if isinstance(item, Reading) else demo.pipeline.tell(item)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            async with demo.serving(listener), httpx.AsyncClient() as client:
                answer = await client.get(f"http://127.0.0.1:{listener.getsockname()[1]}/demand?limit=3")
        return answer.status_code, answer.content

    status, content = asyncio.run(asked())
    assert status == 200, content
    assert len(json.loads(content)["workloads"]) == 3
