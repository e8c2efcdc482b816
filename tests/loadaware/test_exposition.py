import asyncio
import threading

import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families

from collectors.manifests import Pod
from collectors.reading import Floats
from loadaware.exposition import Exposition
from loadaware.node_series import Shown
from loadaware.nodes import Nodes
from loadaware.scorers.scorer import Scorer
from loadaware.service import Service
from tests.loadaware.builders import cpu_mean, make_profile, make_settings, make_shape, snapshot_of
from tests.loadaware.exported_metrics import series
from tests.loadaware.running_server import frozen_service, new_service


def values(text: bytes, name: str) -> list[float]:
    families = text_string_to_metric_families(text.decode())
    return [sample.value for family in families for sample in family.samples if sample.name == name]


def test_the_text_is_as_of_the_moment_it_is_asked_for() -> None:
    service = frozen_service()

    async def scrapes() -> tuple[bytes, bytes]:
        exposition = Exposition(service)
        first = await exposition.text(0)
        service.telemetry.readings.inc()
        return first, await exposition.text(0)

    first, second = asyncio.run(scrapes())
    assert values(second, "loadaware_readings_total")[0] == values(first, "loadaware_readings_total")[0] + 1


def test_it_is_written_in_another_thread() -> None:
    service, writers = frozen_service(), []
    service.telemetry.sum_up = lambda: writers.append(threading.current_thread())  # type: ignore[method-assign]
    asyncio.run(Exposition(service).text(0))
    assert len(writers) == 1
    assert writers[0] is not threading.main_thread()


def test_scrapes_that_come_while_one_is_made_share_the_next() -> None:
    service = frozen_service()
    made: list[int] = []
    update = service.update_gauges

    def updated() -> None:
        made.append(1)
        update()

    service.update_gauges = updated  # type: ignore[method-assign]

    async def storm() -> list[bytes]:
        exposition = Exposition(service)
        first = asyncio.create_task(exposition.text(0))
        await asyncio.sleep(0)
        return await asyncio.gather(first, *(exposition.text(0) for _ in range(100)))

    texts = asyncio.run(storm())
    assert len(texts) == 101
    assert len(made) == 2


def test_who_asks_for_another_number_of_nodes_gets_them() -> None:
    async def both() -> list[bytes]:
        exposition = Exposition(frozen_service())
        return await asyncio.gather(*(exposition.text(nodes) for nodes in (1, 3, 1)))

    counts = [len(values(text, "loadaware_node_score")) for text in asyncio.run(both())]
    assert counts == [1, 3, 1]


class Broken(Scorer, frozen=True, kw_only=True):
    """Fails, and is skipped by the breaker."""

    def score(self, nodes: Nodes, pod: Pod) -> Floats:
        """Never."""
        raise ValueError("no")


class Requests(Scorer, frozen=True, kw_only=True):
    """What the pod requests, as a score."""

    def score(self, nodes: Nodes, pod: Pod) -> Floats:
        """Cores."""
        return np.full(len(nodes), pod.shape.request("cpu"))


def scored(service: Service) -> list[float]:
    service.take(snapshot_of({"a": {}, "b": {}}))
    return values(asyncio.run(Exposition(service).text(10)), "loadaware_node_score")


def test_the_pod_that_is_scored_is_the_reference_pod_and_it_is_not_booked() -> None:
    service = new_service(make_settings(make_profile(Requests())))
    service.shown = Shown(10, make_shape(cpu=7.0))
    assert scored(service) == [7.0, 7.0]
    assert len(service.adviser.in_flight) == 0


def test_a_scorer_that_fails_costs_no_metrics() -> None:
    assert scored(new_service(make_settings(make_profile(Broken())))) == [50.0, 50.0]


def test_scores_that_cannot_be_told_are_left_out_and_the_rest_is_there(caplog: pytest.LogCaptureFixture) -> None:
    service = new_service()
    service.take(snapshot_of({"a": {}}))

    def failing(*args: object, **settings: object) -> None:
        raise RuntimeError("unforeseen")

    service.adviser.rank = failing  # type: ignore[method-assign,assignment]
    text = asyncio.run(Exposition(service).text(10))
    assert values(text, "loadaware_node_score") == []
    assert values(text, "loadaware_nodes") == [1.0]
    assert "the reference pod cannot be scored" in caplog.text


def test_the_number_of_series_does_not_grow_with_the_cluster() -> None:
    def count(nodes: int) -> int:
        service = new_service()
        service.take(snapshot_of({f"node-{number:04}": cpu_mean(number % 100) for number in range(nodes)}))
        text = asyncio.run(Exposition(service).text(service.shown.nodes))
        return sum(not line.startswith(b"#") for line in text.splitlines())

    assert count(60) == count(600)


def test_nothing_is_exported_that_is_not_an_instrument_of_ours() -> None:
    service = frozen_service()
    service.telemetry.errors.labels("filter", "internal").inc()
    service.telemetry.duration.labels("filter", "default-scheduler").observe(0.1)
    families = text_string_to_metric_families(asyncio.run(Exposition(service).text(10)).decode())
    assert {sample.name for family in families for sample in family.samples} <= set(series())
