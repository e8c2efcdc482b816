"""GET /decisions, /explain and /shadow, over the real server."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner, Result

from loadaware.changes import PodLeft
from loadaware.cli import cli
from loadaware.extender.large_bodies import MOST_NODES
from loadaware.hindsight_settings import HindsightSettings
from loadaware.kubectl import plugin
from loadaware.scorers.lowest_usage import LowestUsage
from loadaware.scorers.target_load_packing import TargetLoadPacking
from loadaware.service import Service
from tests.collectors.fake_api_server import FakeApiServer
from tests.collectors.fake_prometheus import FakePrometheus, Reply
from tests.loadaware.builders import make_profile, make_settings
from tests.loadaware.decided import ask, bind
from tests.loadaware.running_server import RunningServer, arguments, frozen_service

PLACE = "/api/v1/namespaces/kube-system/services/loadaware:people/proxy"


def asked_service() -> Service:
    """Three pods were filtered and ranked: one was bound, one left, one waits."""
    service = frozen_service()
    for number in range(3):
        ask(service, "filter", "idle", "near", "busy", pod=f"web-{number}")
        ask(service, "prioritize", "idle", "near", pod=f"web-{number}")
        service.adviser.unreserve(f"uid-web-{number}")  # so that the next one finds the same nodes
    bind(service, "near", "web-2")
    service.take([PodLeft("uid-web-1")])
    return service


@pytest.fixture
def service() -> Service:
    return asked_service()


@pytest.fixture(scope="module")
def only_read() -> Iterator[httpx.Client]:
    """For tests that change nothing: a server takes half a second."""
    with RunningServer(asked_service()) as running, httpx.Client(base_url=running.url, timeout=60.0) as client:
        yield client


@pytest.fixture
def client(service: Service) -> Iterator[httpx.Client]:
    with RunningServer(service) as running, httpx.Client(base_url=running.url, timeout=60.0) as client:
        yield client


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, list(words), prog_name="loadaware")


def test_decisions_come_newest_first(only_read: httpx.Client) -> None:
    told = only_read.get("/decisions").json()
    assert (told["kept"], told["mostKept"], told["shown"]) == (6, 1000, 6)
    assert [decision["number"] for decision in told["decisions"]] == [6, 5, 4, 3, 2, 1]
    ranked, filtered = told["decisions"][:2]
    assert (ranked["verb"], ranked["chosen"], ranked["firstChoice"]) == ("prioritize", "near", False)
    assert [node["node"] for node in ranked["nodes"]] == ["idle", "near"]
    assert (filtered["verb"], filtered["reasons"]) == ("filter", {"busy": "mean cpu usage 90 % > 65 %"})
    assert told["decisions"][2]["leftUnbound"]


def test_decisions_can_be_chosen_by_number_namespace_and_node(only_read: httpx.Client) -> None:
    assert only_read.get("/decisions?limit=2").json()["shown"] == 2
    assert only_read.get("/decisions?namespace=shop").json()["shown"] == 6
    assert only_read.get("/decisions?namespace=elsewhere").json()["decisions"] == []
    assert only_read.get("/decisions?node=busy").json()["shown"] == 3
    assert only_read.get("/decisions?node=near").json()["shown"] == 4
    assert only_read.get("/decisions?node=nobody").json()["shown"] == 0


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("/decisions?limit=0", "limit is a whole number in 1..1000, not 0"),
        ("/decisions?limit=many", "limit is a whole number in 1..1000, not many"),
        ("/decisions?limit=1001", "limit is a whole number in 1..1000, not 1001"),
        ("/decisions?limit=1&limit=2", "limit stands twice"),
        ("/decisions?limt=1", "there is no parameter called limt; there are limit, namespace, node"),
        ("/decisions?namespace=", "namespace must have 1 to 507 characters"),
        ("/explain", "pod is namespace/name, such as ?pod=shop/web-1"),
        ("/explain?pod=web-1", "pod is namespace/name, such as ?pod=shop/web-1, not web-1"),
        ("/explain?pod=/web-1", "pod is namespace/name, such as ?pod=shop/web-1, not /web-1"),
        ("/explain?pod=a/b/c", "pod is namespace/name, such as ?pod=shop/web-1, not a/b/c"),
        ("/explain?pod=a/%20", "pod is namespace/name, such as ?pod=shop/web-1, not a/ "),
        ("/explain?pod=shop/web-1&nodes=-1", "nodes is a whole number in 1..20000, not -1"),
        ("/explain?pod=shop/web-1&nodes=%D9%A1", "nodes is a whole number in 1..20000, not \u0661"),
        (f"/explain?pod=shop/{'x' * 600}", "pod must have 1 to 507 characters"),
        ("/shadow?profile=x", "there is no parameter called profile; there are none"),
    ],
)
def test_a_malformed_query_is_400_and_says_what_is_wrong(only_read: httpx.Client, path: str, problem: str) -> None:
    answer = only_read.get(path)
    assert (answer.status_code, answer.json()) == (400, {"error": problem})


def test_a_pod_is_explained(only_read: httpx.Client) -> None:
    told = only_read.get("/explain?pod=shop/web-2").json()
    assert (told["mode"], told["chosen"], told["answered"]) == ("active", "near", True)
    assert "other plugins of kube-scheduler outweighed us" in told["sentence"]
    assert len(only_read.get("/explain?pod=shop/web-2&nodes=1").json()["nodes"]) == 2
    assert only_read.get("/explain?pod=shop/web-2&node=busy").json()["rejected"] == {
        "busy": "mean cpu usage 90 % > 65 %"
    }


def test_an_unknown_pod_or_node_is_404_and_says_what_is_known(only_read: httpx.Client) -> None:
    answer = only_read.get("/explain?pod=shop/web-9")
    assert answer.status_code == 404
    told = answer.json()
    assert told["known"] == ["shop/web-2", "shop/web-1", "shop/web-0"]
    assert "this replica keeps its last 1000 answers, now back to 1970-01-01T00:16:40.000Z" in told["error"]
    answer = only_read.get("/explain?pod=shop/web-1&node=elsewhere")
    assert (answer.status_code, "did not ask about elsewhere" in answer.text) == (404, True)


def test_where_decisions_are_not_kept_that_is_said(service: Service, client: httpx.Client) -> None:
    service.hindsight.configure(HindsightSettings(kept=0))
    answer = client.get("/explain?pod=shop/web-1")
    assert (answer.status_code, "decisions.kept is 0" in answer.text) == (404, True)
    assert client.get("/decisions").json()["decisions"] == []


def test_a_request_of_as_many_names_as_are_looked_at_is_kept_and_explained(client: httpx.Client) -> None:
    names = ["idle", *(f"node-{number:05}" for number in range(MOST_NODES - 1))]
    assert client.post("/prioritize", content=arguments(*names)).status_code == 200
    told = client.get("/explain?pod=shop/web-1&nodes=20000").json()
    assert (told["nodesAsked"], len(told["nodes"])) == (MOST_NODES, MOST_NODES)
    assert len(client.get("/decisions?limit=1").json()["decisions"][0]["nodes"]) == 10


def test_requests_over_the_wire_are_kept_settled_and_compared() -> None:
    shadows = {"spread": make_profile(LowestUsage(), "spread")}
    service = frozen_service(make_settings(make_profile(TargetLoadPacking()), shadows=shadows))
    with RunningServer(service) as running, httpx.Client(base_url=running.url, timeout=60.0) as client:
        client.post("/prioritize", content=arguments("idle", "near"))
        for _ in range(1000):
            told = client.get("/shadow").json()
            if told["comparisons"]:
                break
        assert (told["shadows"], told["comparisons"][0]["with"]) == (["spread"], "default-scheduler")
        assert client.post("/spread/prioritize", content=arguments("idle")).status_code == 404
        shown = run("shadow", "--server", running.url)
        assert "profiles in shadow: spread" in shown.stdout
        assert "0.0%" in shown.stdout
        assert json.loads(run("shadow", "--server", running.url, "-o", "json").stdout)["shadows"] == ["spread"]


def test_in_shadow_mode_the_wire_is_neutral_and_the_thought_is_explained() -> None:
    service = frozen_service()
    service.hindsight.configure(HindsightSettings(mode="shadow"))
    with RunningServer(service) as running, httpx.Client(base_url=running.url, timeout=60.0) as client:
        answer = client.post("/prioritize", content=arguments("idle", "near"))
        assert answer.json() == [{"Host": "idle", "Score": 0}, {"Host": "near", "Score": 0}]
        for _ in range(1000):
            told = client.get("/explain?pod=shop/web-1")
            if told.status_code == 200:
                break
        assert (told.json()["mode"], told.json()["answered"]) == ("shadow", False)
        assert "near would have won with 98" in told.json()["sentence"]


def test_the_command_prints_the_sentence_and_the_table(only_read: httpx.Client) -> None:
    server = str(only_read.base_url)
    shown = run("explain", "shop/web-2", "--server", server)
    assert shown.exit_code == 0
    first, second, *_ = shown.stdout.splitlines()
    assert first.startswith("shop/web-2: idle won with 68: predicted cpu 19 % after this pod")
    assert second.startswith("For another node to win: near would have needed")
    assert "near (chosen)" in shown.stdout
    assert "busy was rejected: mean cpu usage 90 % > 65 %" in shown.stdout
    told = json.loads(run("explain", "shop/web-2", "--server", server, "--output", "json").stdout)
    assert told["pod"] == "shop/web-2"
    assert "1 more nodes" not in run("explain", "shop/web-0", "--nodes", "1", "--server", server).stderr


def test_the_command_says_what_is_wrong_in_one_line(only_read: httpx.Client) -> None:
    server = str(only_read.base_url)
    result = run("explain", "shop/web-9", "--server", server)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "answered 404: no decision about shop/web-9 is kept" in result.stderr
    assert "answered 400: pod is namespace/name" in run("explain", "web-9", "--server", server).stderr
    assert "is no address" in run("explain", "a/b", "--server", "nonsense").stderr
    assert run("shadow", "--server", "http://127.0.0.1:9").exit_code == 2


def test_what_is_no_loadaware_is_one_line() -> None:
    with FakePrometheus() as other:
        other.serves("/explain", Reply(200, "<title>Welcome</title>", "text/html"))
        assert "an HTML page titled 'Welcome'" in run("explain", "a/b", "--server", other.url).stderr
        other.serves("/explain", Reply(404, '{"error": 7}'))
        assert "answered 404" in run("explain", "a/b", "--server", other.url).stderr


def test_kubectl_asks_through_the_api_server(only_read: httpx.Client, tmp_path: Path) -> None:
    with FakeApiServer() as server:
        server.answer(f"{PLACE}/explain", only_read.get("/explain?pod=shop/web-2").content)
        server.answer(f"{PLACE}/shadow", only_read.get("/shadow").content)
        kubeconfig = server.kubeconfig(tmp_path)
        shown = CliRunner().invoke(plugin, ["explain", "web-2", "-n", "shop", "--kubeconfig", kubeconfig])
        assert shown.exit_code == 0, shown.output
        assert shown.stdout.startswith("shop/web-2: idle won with 68")
        assert server.asked(f"{PLACE}/explain")[0].query == {"pod": "shop/web-2"}
        shown = CliRunner().invoke(plugin, ["shadow", "--kubeconfig", kubeconfig, "-o", "json"])
        assert json.loads(shown.stdout)["mode"] == "active"


def test_kubectl_passes_on_what_loadaware_says_is_wrong(
    only_read: httpx.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from loadaware.kubectl import main

    with FakeApiServer() as server:
        server.answer(f"{PLACE}/explain", only_read.get("/explain?pod=shop/web-9").content, 404)
        words = ["kubectl-loadaware", "explain", "shop/web-9", "--kubeconfig", server.kubeconfig(tmp_path)]
        monkeypatch.setattr("sys.argv", words)
        with pytest.raises(SystemExit) as ended:
            main()
    assert ended.value.code == 2
    assert "answered 404: no decision about shop/web-9 is kept" in capsys.readouterr().err


def test_the_front_page_tells_of_them(only_read: httpx.Client) -> None:
    page = only_read.get("/").text
    assert all(f"GET  {path}" in page for path in ("/explain?pod=namespace/name", "/decisions", "/shadow"))
