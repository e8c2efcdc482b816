import asyncio
import json
import logging
import os
import signal
import socket
import ssl
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from loadaware.config import Config, ServerSection, TLSSection, load, parse
from loadaware.errors import ConfigError
from loadaware.observer_process import Order
from loadaware.server import Observers, Reloading, make_server
from loadaware.service import Message
from loadaware.wiring import make_service
from tests.collectors.fake_api_server import FakeApiServer
from tests.loadaware.builders import cpu_mean, snapshot_of
from tests.loadaware.fake_cluster import USAGE_OF_NODES, serve_cluster
from tests.loadaware.running_server import RunningServer, answer_on, arguments, counted, frozen_service
from tests.parts.certificates import Authority
from tests.parts.loadaware_process import LoadAware
from tests.parts.processes import PATIENCE_SECONDS, Process, free_port, wait_for

HEALTHZ = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


def post(path: str, body: bytes) -> bytes:
    return b"POST %b HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%b" % (path.encode(), len(body), body)


# -- Connections --------------------------------------------------------------------------------------------------


def test_the_limits_of_the_configuration_reach_the_server() -> None:
    config = make_server(frozen_service(), ServerSection()).config
    assert config.timeout_keep_alive == 120  # kube-scheduler reuses a connection idle for up to 90 s
    assert config.timeout_graceful_shutdown == 10
    assert config.limit_concurrency == 1024


@pytest.mark.parametrize("short", [0.2, 1.0])
def test_a_keep_alive_of_less_than_a_second_still_serves(short: float) -> None:
    with RunningServer(frozen_service(), keep_alive=short) as running, running.connect() as connection:
        connection.sendall(HEALTHZ)
        assert answer_on(connection)[0] == 200


def test_a_connection_is_kept_for_the_next_request() -> None:
    with RunningServer(frozen_service()) as running, running.connect() as connection:
        for _ in range(3):
            connection.sendall(post("/prioritize", arguments("idle")))
            status, headers, _ = answer_on(connection)
            assert status == 200
            assert headers.get("connection", "keep-alive") == "keep-alive"
        assert "server" not in headers


def test_connections_beyond_the_limit_are_answered_503_and_the_others_are_still_served() -> None:
    with RunningServer(frozen_service(), connections=2) as running, running.connect() as one, running.connect() as two:
        for connection in (one, two):
            connection.sendall(HEALTHZ)
            assert answer_on(connection)[0] == 200
        with running.connect() as surplus:
            surplus.sendall(HEALTHZ)
            status, headers, _ = answer_on(surplus)
            assert (status, headers["connection"]) == (503, "close")
            for connection in (one, two):
                connection.sendall(HEALTHZ)
                assert answer_on(connection)[0] == 200
        two.close()

        def served_again() -> bool:
            with running.connect() as another:
                another.sendall(HEALTHZ)
                return answer_on(another)[0] == 200

        wait_for(served_again, "room for another connection")


def test_a_connection_that_never_asks_is_closed_like_one_that_fell_idle() -> None:
    with RunningServer(frozen_service(), keep_alive=1.0) as running, running.connect() as connection:
        assert connection.recv(1) == b""


def test_what_is_no_http_is_refused() -> None:
    with RunningServer(frozen_service()) as running, running.connect() as connection:
        connection.sendall(b"\x16\x03\x01\x02\x00\r\n\r\n")
        assert answer_on(connection)[0] == 400


def test_requests_one_behind_the_other_on_one_connection_are_answered_in_their_order() -> None:
    with RunningServer(frozen_service()) as running, running.connect() as connection:
        connection.sendall(post("/prioritize", arguments("idle")) + post("/prioritize", arguments("near")))
        received = b""
        while received.count(b'"Score"') < 2:
            received += connection.recv(65536)
        assert received.index(b'"idle"') < received.index(b'"near"')


def test_a_request_under_way_is_answered_before_the_end_and_new_ones_are_refused() -> None:
    request = post("/prioritize", arguments("idle"))
    with RunningServer(frozen_service()) as running, running.connect() as connection, running.connect() as idle:
        address = running.address
        connection.sendall(request[:-10])
        idle.sendall(HEALTHZ)
        answer_on(idle)
        running.begin_to_stop()
        assert idle.recv(1) == b""

        def refused() -> bool:
            try:
                socket.create_connection(address, timeout=1.0).close()
            except OSError:
                return True
            return False

        wait_for(refused, "the port to close")
        connection.sendall(request[-10:])
        status, headers, body = answer_on(connection)
        assert (status, headers["connection"]) == (200, "close")
        assert json.loads(body)[0]["Host"] == "idle"


# -- TLS ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"), "authority")


@pytest.fixture(scope="module")
def tls(authority: Authority) -> dict[str, str]:
    pair = authority.issue("extender")
    return {"cert_file": str(pair.certificate), "key_file": str(pair.key)}


def trusting(authority: Authority) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(authority.certificate))


def health(running: RunningServer, context: ssl.SSLContext) -> int:
    with httpx.Client(verify=context, trust_env=False, timeout=60.0) as client:
        return client.get(f"{running.url}/healthz").status_code


def test_https_is_served_to_whoever_trusts_the_authority(authority: Authority, tls: dict[str, str]) -> None:
    with RunningServer(frozen_service(), tls=TLSSection(**tls)) as running:
        assert running.url.startswith("https://")
        assert health(running, trusting(authority)) == 200
        with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
            health(running, ssl.create_default_context())


def test_a_client_must_show_a_certificate_of_the_authority_if_one_is_named(
    authority: Authority, tls: dict[str, str], tmp_path: Path
) -> None:
    section = TLSSection(**tls, client_ca_file=str(authority.certificate))
    stranger = Authority(tmp_path, "stranger").issue("stranger")
    scheduler = authority.issue("kube-scheduler")
    with RunningServer(frozen_service(), tls=section) as running:
        with pytest.raises(httpx.TransportError):
            health(running, trusting(authority))
        context = trusting(authority)
        context.load_cert_chain(stranger.certificate, stranger.key)
        with pytest.raises(httpx.TransportError):
            health(running, context)
        context = trusting(authority)
        context.load_cert_chain(scheduler.certificate, scheduler.key)
        assert health(running, context) == 200


@pytest.mark.parametrize("broken", ["cert_file", "key_file", "client_ca_file"])
def test_certificates_that_cannot_be_used_are_refused_with_their_names(
    broken: str, tls: dict[str, str], tmp_path: Path
) -> None:
    nonsense = tmp_path / "nonsense.pem"
    for content in (None, "no certificate at all"):
        if content is not None:
            nonsense.write_text(content)
        section = ServerSection(tls=TLSSection(**(tls | {broken: str(nonsense)})))
        with pytest.raises(ConfigError, match=r"config\.yaml: server\.tls: .*nonsense\.pem"):
            make_server(frozen_service(), section, "config.yaml")


# -- Reloading ----------------------------------------------------------------------------------------------------

PACKING = {"schedulerName": "packing", "scorers": [{"name": "TargetLoadPacking"}]}
SPREADING = {"schedulerName": "spreading", "scorers": [{"name": "LoadVariationRiskBalancing"}], "maxScore": 10}


class Reloaded:
    """A service whose configuration file can be rewritten; `look` looks at it once."""

    def __init__(self, folder: Path, order: Order | None = None, override: Callable[[Config], Config] | None = None):
        self.file = folder / "config.yaml"
        self.write(profiles=[PACKING])
        config = load(self.file)
        self.service = make_service(config, str(self.file))
        self.service.take(snapshot_of({"a": cpu_mean(10), "b": cpu_mean(35)}))
        self.messages: list[Message] = []
        self.observers = Observers(self.messages.append, order)
        given = override(config) if override else config
        self._reloading = Reloading(self.service, self.observers, str(self.file), given)

    def write(self, **sections: Any) -> None:
        self.file.write_text(yaml.safe_dump(sections))

    def look(self) -> tuple[float, float]:
        """How many files were taken, and refused, so far."""
        asyncio.run(self._reloading.look())
        name = "loadaware_config_reloads_total"
        return counted(self.service, name, outcome="taken"), counted(self.service, name, outcome="refused")

    @property
    def profiles(self) -> list[str]:
        return list(self.service.adviser.settings.profiles)


@pytest.fixture
def reloaded(tmp_path: Path) -> Reloaded:
    return Reloaded(tmp_path)


def test_a_good_file_is_taken(reloaded: Reloaded, caplog: pytest.LogCaptureFixture) -> None:
    assert reloaded.look() == (0, 0)
    reloaded.write(profiles=[SPREADING, PACKING])
    with caplog.at_level(logging.INFO):
        assert reloaded.look() == (1, 0)
    assert reloaded.profiles == ["spreading", "packing"]
    assert [record.getMessage() for record in caplog.records] == ["the new configuration is in force"]
    assert reloaded.look() == (1, 0)


@pytest.mark.parametrize(
    "content",
    [
        b"profiles: [",
        b"profiles: []",
        b"profils: []",
        b"profiles: [{scorers: [{name: NoSuchScorer}]}]",
        b"profiles: [{scorers: [{name: TargetLoadPacking, args: {targetUtilization: 500}}]}]",
        b"\xff\xfe",
        b"5",
    ],
)
def test_a_bad_file_is_refused_and_the_old_one_stays_in_force(
    reloaded: Reloaded, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    reloaded.file.write_bytes(content)
    assert reloaded.look() == (0, 1)
    assert reloaded.profiles == ["packing"]
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.startswith(f"the new configuration is refused, the old one stays: {reloaded.file}")
    assert reloaded.look() == (0, 1)
    reloaded.write(profiles=[SPREADING])
    assert reloaded.look() == (1, 1)


def test_mode_shadows_and_bounds_of_decisions_are_taken_without_a_restart(reloaded: Reloaded) -> None:
    text = "mode: shadow\ndecisions: {kept: 7}\nprofiles: [{}, {schedulerName: aside, shadow: true}]\n"
    reloaded.file.write_text(text, encoding="utf-8")
    assert reloaded.look() == (1, 0)
    hindsight, settings = reloaded.service.hindsight, reloaded.service.adviser.settings
    assert (hindsight.mode, hindsight.decisions.kept) == ("shadow", 7)
    assert (list(settings.profiles), list(settings.shadows)) == (["default-scheduler"], ["aside"])


def test_what_metrics_show_is_taken_without_a_restart(reloaded: Reloaded) -> None:
    assert reloaded.service.shown.nodes == 50
    assert reloaded.service.shown.reference.request("cpu") == 0.5
    reloaded.write(profiles=[PACKING], telemetry={"nodes": 7, "referencePod": {"cpu": "2"}})
    assert reloaded.look() == (1, 0)
    assert reloaded.service.shown.nodes == 7
    assert reloaded.service.shown.reference.request("cpu") == 2.0


def test_a_file_that_vanishes_for_a_moment_is_no_change(reloaded: Reloaded) -> None:
    content = reloaded.file.read_bytes()
    reloaded.file.unlink()
    assert reloaded.look() == (0, 0)
    reloaded.file.write_bytes(content)
    assert reloaded.look() == (0, 0)


def test_a_change_that_needs_a_restart_is_said(reloaded: Reloaded, caplog: pytest.LogCaptureFixture) -> None:
    reloaded.write(profiles=[PACKING], server={"port": 1234})
    assert reloaded.look() == (1, 0)
    assert "need a restart" in caplog.text


def test_what_the_command_line_overrides_is_no_change_of_the_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    overridden = parse('{"server": {"port": 1234}, "log": {"level": "error"}}')
    reloaded = Reloaded(tmp_path, override=lambda _: overridden)
    reloaded.write(profiles=[SPREADING])
    assert reloaded.look() == (1, 0)
    assert "need a restart" not in caplog.text


def test_answers_under_new_profiles_know_of_what_happened_under_the_old_ones(reloaded: Reloaded) -> None:
    adviser = reloaded.service.adviser
    pod = arguments("a", "b")
    before = adviser.in_flight.requested.copy()
    with RunningServer(reloaded.service) as running, running.connect() as connection:
        connection.sendall(post("/packing/prioritize", pod))
        assert answer_on(connection)[0] == 200
        reloaded.write(profiles=[SPREADING, PACKING])
        reloaded.look()
        connection.sendall(post("/spreading/prioritize", pod))
        status, _, body = answer_on(connection)
    assert status == 200
    assert all(0 <= host["Score"] <= 10 for host in json.loads(body))
    assert reloaded.service.adviser.in_flight.requested.sum() == pytest.approx(before.sum() + 0.1)


# -- The observer of the moment -----------------------------------------------------------------------------------


@pytest.fixture
def api_server() -> Iterator[FakeApiServer]:
    with FakeApiServer() as server:
        serve_cluster(server, {"a": "500m", "b": "1"})
        yield server


def observer_process_id(observers: Observers) -> int:
    """Zero if there is none (yet)."""
    return 0 if observers._current is None else observers._current.process_id or 0


def test_only_a_change_that_concerns_the_observer_replaces_it(api_server: FakeApiServer, tmp_path: Path) -> None:
    order = Order(Config(), api_server.kubeconfig(tmp_path))
    reloaded = Reloaded(tmp_path, order)
    try:
        first = wait_for(lambda: observer_process_id(reloaded.observers), "the observer")
        reloaded.write(profiles=[SPREADING])
        assert reloaded.look() == (1, 0)
        assert observer_process_id(reloaded.observers) == first
        reloaded.write(profiles=[SPREADING], source={"type": "LoadWatcher", "url": "http://127.0.0.1:1"})
        assert reloaded.look() == (2, 0)
        second = wait_for(lambda: observer_process_id(reloaded.observers), "the new observer")
        assert second != first
        with pytest.raises(ProcessLookupError):
            os.kill(first, 0)
    finally:
        reloaded.observers.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(second, 0)


def test_an_observer_is_not_started_again_after_the_end(api_server: FakeApiServer, tmp_path: Path) -> None:
    observers = Observers(lambda message: None, Order(Config(), api_server.kubeconfig(tmp_path)))
    observers.stop()
    observers.replace(parse('{"interval": "5s"}'))
    assert observer_process_id(observers) == 0


# -- The whole program --------------------------------------------------------------------------------------------

STATE = {"nodes": [{"name": "a", "capacity": {"cpu": "4", "memory": "16Gi"}, "usage": {"cpu": {"mean": "10%"}}}]}


def child_of(process_id: int) -> int:
    """The one child of a process, whichever of its threads started it."""
    lists = [task / "children" for task in Path(f"/proc/{process_id}/task").iterdir()]
    (child,) = [int(number) for children in lists for number in children.read_text().split()]
    return child


def ask(running: LoadAware, *names: str) -> dict[str, int]:
    url = f"{running.url}/prioritize"
    answer = httpx.post(url, content=arguments(*names), trust_env=False, timeout=PATIENCE_SECONDS)
    assert answer.status_code == 200
    return {host["Host"]: host["Score"] for host in answer.json()}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_frozen_state_is_served_until_a_signal_which_drains_and_ends_it_cleanly(
    number: signal.Signals, tmp_path: Path
) -> None:
    with LoadAware(tmp_path, state=STATE, config={"server": {"leaving": "100ms"}}) as running:
        assert running.get("/readyz").json()["measured"] is True
        assert list(ask(running, "a", "x")) == ["a", "x"]
        request = post("/filter", arguments("a"))
        with socket.create_connection(("127.0.0.1", int(running.url.rpartition(":")[2]))) as connection:
            connection.settimeout(PATIENCE_SECONDS)
            connection.sendall(request[:-5])
            ask(running, "a")  # behind the other one's first bytes: they have arrived
            running.process.send(number)
            wait_for(lambda: "Shutting down" in running.process.log_tail(), "the drain")
            connection.sendall(request[-5:])
            status, _, body = answer_on(connection)
        assert status == 200
        assert json.loads(body)["NodeNames"] == ["a"]
        wait_for(lambda: not running.process.running, "the end")
        assert running.process.ending == "loadaware exited with 0"
    assert "Traceback" not in running.process.log_tail()


def test_answers_go_on_while_the_source_is_dead_and_after_the_observer_died(
    api_server: FakeApiServer, tmp_path: Path
) -> None:
    config = {"interval": "1s", "profiles": [PACKING]}
    with LoadAware(tmp_path, config=config, kubeconfig=Path(api_server.kubeconfig(tmp_path))) as running:
        running.wait_until_measured({"a", "b"})
        assert running.get("/readyz").status_code == 200
        before = ask(running, "a", "b")
        assert before["b"] > before["a"]
        api_server.answer(USAGE_OF_NODES, b"", status=503)
        running.config_file.write_text(yaml.safe_dump(config | {"profiles": [PACKING, SPREADING]}))
        wait_for(lambda: running.metric("loadaware_reading_failures_total") > 0, "a failure")
        taken = 'loadaware_config_reloads_total{outcome="taken"}'
        wait_for(lambda: running.metric(taken) == 1, "the new configuration")
        shown = running.get("/readyz")
        assert shown.status_code == 200
        assert "answered 503" in shown.json()["source"]["lastError"]
        assert ask(running, "a", "b") == before
        os.kill(child_of(running.process.pid), signal.SIGKILL)
        wait_for(lambda: running.metric("loadaware_observer_restarts_total") > 0, "a restart")
        assert ask(running, "a", "b") == before
        assert running.get("/readyz").status_code == 200
        assert running.metric("loadaware_nodes") == 2
        log = running.process.log
    assert "Traceback" not in log.read_text()


def test_a_port_that_is_taken_ends_it_with_a_clear_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        state = tmp_path / "state.yaml"
        state.write_text(yaml.safe_dump(STATE))
        command = [sys.executable, "-m", "loadaware", "serve", "--state", str(state), "--address", "127.0.0.1"]
        with Process("loadaware", [*command, "--port", str(taken.getsockname()[1])], tmp_path / "logs") as process:
            wait_for(lambda: not process.running, "the end")
            assert process.ending != "loadaware exited with 0"
            assert "address already in use" in process.log_tail().lower()
            assert "Traceback" not in process.log_tail()


def test_a_certificate_that_is_missing_ends_it_before_anything_is_started(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text('{"server": {"tls": {"certFile": "/nowhere/a.pem", "keyFile": "/nowhere/b.pem"}}}')
    command = [sys.executable, "-m", "loadaware", "serve", "--config", str(config), "--port", str(free_port())]
    with Process("loadaware", command, tmp_path / "logs") as process:
        wait_for(lambda: not process.running, "the end")
        assert process.ending == "loadaware exited with 2"
        assert "server.tls: /nowhere/a.pem" in process.log_tail()
