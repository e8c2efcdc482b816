"""GET /nodes and /node."""

from collections.abc import Callable

import httpx
import pytest

from loadaware.observer import Observer
from loadaware.observer_answers import answers
from loadaware.queries import Query
from loadaware.service import Service
from tests.loadaware.builders import GIB
from tests.loadaware.decided import ask, bind, service_of
from tests.loadaware.learned import observer_of, reading_of, running_pod
from tests.loadaware.running_server import AppClient, frozen_service


def observed() -> tuple[Service, Observer]:
    """A service that may ask its observer: two nodes, a pod on each, thirty readings."""
    service = service_of()
    observer = observer_of(running_pod("calm-1", "a"), running_pod("busy-1", "b"))
    for step in range(30):
        observer.feed(reading_of({"calm-1": (0.5, GIB), "busy-1": (3.0, 2 * GIB)}, 15.0 * step, 1.0), 15.0 * step)
    service.take(observer.snapshot(450.0))
    return service, observer


def asks(service: Service, observer: Observer) -> Callable[[Query], bool]:
    """As the demo does: questions come from another thread."""

    def send(query: Query) -> bool:
        for message in answers(observer, query, 450.0):
            service.demand_questions._waiting[query.number][1].get_loop().call_soon_threadsafe(service.take, message)
        return True

    return send


def test_a_node_is_told_with_its_samples_and_its_pods() -> None:
    service, observer = observed()
    service.demand_questions.send = asks(service, observer)
    with AppClient(service) as client:
        told = client.get("/node?name=b").json()
    assert (told["name"], told["pods"], told["quarantined"]) == ("b", 1.0, None)
    seen = told["observed"]
    assert seen["times"] == [15.0 * step for step in range(30)]
    assert set(seen["samples"]["cpu"]) == {1.0}
    (pod,) = seen["pods"]
    assert (pod["pod"].endswith("/busy-1"), pod["resources"]["cpu"]["used"]) == (True, 3.0)
    assert pod["resources"]["cpu"]["expected"] == pytest.approx(3.0, rel=0.2)


def test_where_nobody_observes_the_rest_is_told() -> None:
    with AppClient(frozen_service()) as client:
        told = client.get("/node?name=busy").json()
    assert (told["observed"], told["usage"]["cpu"]["mean"], told["inFlight"]) == (
        None,
        3.6,
        {"pods": 0.0, "cores": 0.0},
    )


def test_the_last_decision_about_a_node_says_why_it_was_not_chosen() -> None:
    service = frozen_service()
    ask(service, "prioritize", "idle", "near", pod="web-1")
    ask(service, "prioritize", "idle", "unmeasured", pod="web-2")
    bind(service, "idle")
    with AppClient(service) as client:
        why = client.get("/node?name=near").json()["why"]
        assert (why["pod"], why["chosen"]) == ("shop/web-1", "idle")
        assert "near would have gone to" in why["sentence"]
        assert client.get("/node?name=unmeasured").json()["why"]["pod"] == "shop/web-2"
        assert client.get("/node?name=near").json()["passedOver"] is None


def test_a_node_that_kube_scheduler_did_not_ask_about_says_so_instead_of_nothing() -> None:
    service = frozen_service()
    ask(service, "prioritize", "idle", "near", pod="web-1")
    ask(service, "prioritize", "idle", "near", pod="web-2")
    with AppClient(service) as client:
        told = client.get("/node?name=busy").json()
    assert (told["why"], told["passedOver"]["pod"], told["passedOver"]["pods"]) == (None, "shop/web-2", 2)
    assert "did not ask us about busy for any of the last 2 pods" in told["passedOver"]["words"]


def test_a_filter_alone_says_nothing_of_the_nodes_that_passed() -> None:
    service = frozen_service()
    ask(service, "filter", "idle", "near", "busy")
    with AppClient(service) as client:
        assert client.get("/node?name=idle").json()["passedOver"] is None
        assert client.get("/node?name=busy").json()["why"]["rejected"].keys() == {"busy"}


def problem(answer: httpx.Response, status: int) -> str:
    assert answer.status_code == status
    return str(answer.json()["error"])


def test_an_unknown_node_is_refused_in_words() -> None:
    with AppClient(frozen_service()) as client:
        assert problem(client.get("/node?name=nobody"), 404) == "no node is called nobody"
        assert problem(client.get("/node"), 404) == "which node? ?name=..."
        assert problem(client.get("/nodes?sort=weight"), 400).startswith("sort is name or one of: cpu, memory")


def test_nodes_come_by_name_or_the_most_utilized_first() -> None:
    with AppClient(frozen_service()) as client:
        by_name = [node["name"] for node in client.get("/nodes").json()["nodes"]]
        by_load = [node["name"] for node in client.get("/nodes?sort=cpu").json()["nodes"]]
    assert by_name == ["idle", "near", "busy", "unmeasured"]
    assert by_load[:2] == ["busy", "near"]
