"""What is for people: on or off, behind a token or not, on a port of its own or on the extender's."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from loadaware.config import PeopleSection, ServerSection
from loadaware.errors import ConfigError
from loadaware.extender.people import SETTINGS
from loadaware.quantities import Duration
from loadaware.server import PeopleServer, Server, has_own_port, make_people_server, make_server
from tests.loadaware.running_server import arguments, frozen_service
from tests.parts.processes import PATIENCE_SECONDS, wait_for

TOKEN = "quite-a-secret"
GUARDED = {path for path in SETTINGS if path != "/metrics"}


@contextmanager
def running(server: Server | PeopleServer) -> Iterator[httpx.Client]:
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_for(lambda: server.started, "the server")
    port = server.servers[0].sockets[0].getsockname()[1]
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=60.0) as client:
        yield client
    server.should_exit = True
    thread.join(PATIENCE_SECONDS)


@contextmanager
def one_port(**people: Any) -> Iterator[httpx.Client]:
    section = ServerSection(address="127.0.0.1", port=0, leaving=Duration(0.0))
    with running(make_server(frozen_service(), section, people=PeopleSection(port=None, **people))) as client:
        yield client


def status_of(client: httpx.Client, path: str, **headers: str) -> int:
    """Of a stream only the head is read."""
    method = "POST" if path == "/what-if" else "GET"
    content = b"spec: {}" if method == "POST" else None
    with client.stream(method, path, headers=headers, content=content) as answer:
        return answer.status_code


@pytest.mark.parametrize("setting", sorted(set(SETTINGS.values())))
def test_what_is_switched_off_is_answered_404_and_says_by_which_setting(setting: str) -> None:
    field = {"whatIf": "what_if"}.get(setting, setting)
    with one_port(**{field: False}) as client:
        for path in (path for path, each in SETTINGS.items() if each == setting):
            answer = client.request("POST" if path == "/what-if" else "GET", path)
            assert answer.status_code == 404
            assert f"people.{setting}" in answer.json()["error"]
        assert client.get("/healthz").status_code == 200
        others = {path for path, each in SETTINGS.items() if each != setting and path not in ("/live", "/what-if")}
        assert not [path for path in others if "switched off" in client.get(path).text]


def test_with_the_page_off_the_list_of_what_there_is_stays() -> None:
    with one_port(page=False) as client:
        assert "GET  /nodes" in client.get("/", headers={"accept": "text/html"}).text
        assert client.get("/page/main.js").status_code == 404


def test_everything_asks_for_the_token_but_health_metrics_and_files_without_data(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    with one_port(token_file=str(file)) as client:
        for path in {*GUARDED, "/demand/state"}:
            assert status_of(client, path) == 401, path
            assert status_of(client, path, authorization="Bearer nonsense") == 401, path
            assert status_of(client, path, authorization=f"Basic {TOKEN}") == 401, path
            assert status_of(client, path, authorization=f"Bearer {TOKEN}") != 401, path
            assert status_of(client, path, **{"x-loadaware-token": TOKEN}) != 401, path
        for path in ("/healthz", "/readyz", "/metrics", "/", "/page/main.js", "/page/style.css"):
            assert status_of(client, path) == 200, path
        assert client.get("/nodes").headers["www-authenticate"].startswith("Bearer")


def test_kube_scheduler_needs_no_token(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(TOKEN)
    with one_port(token_file=str(file)) as client:
        assert client.post("/prioritize", content=arguments("idle", "busy")).status_code == 200


def test_a_token_in_a_file_may_rotate_and_nobody_is_let_in_while_it_cannot_be_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "token"
    file.write_text(TOKEN)
    with one_port(token_file=str(file)) as client:
        assert status_of(client, "/nodes", authorization=f"Bearer {TOKEN}") == 200
        file.write_text("another")
        assert status_of(client, "/nodes", authorization=f"Bearer {TOKEN}") == 401
        assert status_of(client, "/nodes", authorization="Bearer another") == 200
        file.unlink()
        assert status_of(client, "/nodes", authorization="Bearer another") == 503
        file.write_text("")
        assert status_of(client, "/nodes", authorization="Bearer another") == 503
    assert TOKEN not in caplog.text
    assert "another" not in caplog.text


def test_a_token_can_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_TOKEN", TOKEN)
    with one_port(token_variable="THE_TOKEN") as client:
        assert status_of(client, "/nodes") == 401
        assert status_of(client, "/nodes", authorization=f"bearer {TOKEN}") == 200


def test_a_token_that_is_not_there_is_refused_before_anything_is_served(tmp_path: Path) -> None:
    section = ServerSection(address="127.0.0.1", port=0)
    assert "NO_SUCH_TOKEN" not in os.environ
    with pytest.raises(ConfigError, match=r"people\.tokenVariable: \$NO_SUCH_TOKEN is not set"):
        make_server(frozen_service(), section, people=PeopleSection(token_variable="NO_SUCH_TOKEN"))
    with pytest.raises(ConfigError, match=r"people\.tokenFile: .*none cannot be read, or is empty"):
        make_server(frozen_service(), section, people=PeopleSection(token_file=str(tmp_path / "none")))


def test_with_a_port_of_their_own_people_are_served_there_and_kube_scheduler_on_the_other() -> None:
    section, people = ServerSection(address="127.0.0.1", port=0, leaving=Duration(0.0)), PeopleSection(port=0)
    service = frozen_service()
    theirs = make_people_server(service, section, people)
    assert theirs is not None
    with running(make_server(service, section, people=people)) as extender, running(theirs) as page:
        for path in SETTINGS:
            if path != "/live":
                assert extender.request("POST" if path == "/what-if" else "GET", path).status_code == 404, path
        assert "what is for people is on port 0" in extender.get("/explain?pod=a/b").json()["error"]
        assert "Everything for people, and /metrics, is on port 0" in extender.get("/").text
        assert extender.post("/prioritize", content=arguments("idle")).status_code == 200
        assert page.post("/prioritize", content=arguments("idle")).status_code == 404
        assert extender.get("/demand/state").status_code == 503  # nobody observes here
        assert page.get("/demand/state").status_code == 404
        assert extender.get("/watcher").status_code == 200
        assert page.get("/nodes").status_code == 200
        assert "loadaware_nodes" in page.get("/metrics").text
        assert [each.get(path).status_code for each in (extender, page) for path in ("/healthz", "/readyz")] == [
            200
        ] * 4


@pytest.mark.parametrize(
    ("port", "people", "apart"),
    [(8090, {}, True), (8091, {}, False), (8090, {"port": None}, False), (0, {"port": 0}, True)],
)
def test_people_are_apart_unless_they_share_the_port(port: int, people: dict[str, Any], apart: bool) -> None:
    assert has_own_port(ServerSection(port=port), PeopleSection(**people)) is apart


def test_with_all_of_it_off_nobody_listens_on_the_people_s_port() -> None:
    off: dict[str, Any] = {{"whatIf": "what_if"}.get(name, name): False for name in SETTINGS.values()}
    section, people = ServerSection(address="127.0.0.1", port=0, leaving=Duration(0.0)), PeopleSection(port=0, **off)
    assert make_people_server(frozen_service(), section, people) is None
    with running(make_server(frozen_service(), section, people=people)) as client:
        assert client.get("/metrics").status_code == 404
        assert "switched off" in client.get("/metrics").json()["error"]
        assert client.post("/prioritize", content=arguments("idle")).status_code == 200


def test_the_extender_s_verbs_can_be_switched_off() -> None:
    section = ServerSection(address="127.0.0.1", port=0, leaving=Duration(0.0), extender=False)
    with running(make_server(frozen_service(), section)) as client:
        for verb in ("filter", "prioritize", "preempt", "bind", "open/prioritize"):
            assert client.post(f"/{verb}", content=arguments("idle")).status_code == 404
        assert client.get("/nodes").status_code == 200


def test_an_open_stream_does_not_keep_the_server_from_ending() -> None:
    section = ServerSection(address="127.0.0.1", port=0, leaving=Duration(0.0), drain=Duration(30.0))
    server = make_server(frozen_service(), section)
    with running(server) as client, client.stream("GET", "/live") as stream:
        lines = stream.iter_lines()
        next(lines)
        server.should_exit = True
        begun = time.monotonic()
        assert list(lines)[-1]
        assert time.monotonic() - begun < 20  # a drain would be thirty
