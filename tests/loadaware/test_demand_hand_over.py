"""Asking another replica: whom, how long, and what of its answer is believed."""

import logging
import socket
from pathlib import Path

import pytest

from loadaware.config import HandOverSection, PeopleSection
from loadaware.demand_format import encode
from loadaware.demand_hand_over import addresses, ask_replica
from loadaware.quantities import Duration
from tests.collectors.fake_prometheus import FakePrometheus, Reply
from tests.loadaware.builders import GIB
from tests.loadaware.learned import observer_of, reading_of, rows_of, running_pod
from tests.loadaware.running_server import RunningServer, frozen_service
from tests.parts.processes import free_port

NOW = 2000.0
OWN_PORT = 1


def learned() -> bytes:
    observer = observer_of(running_pod("web-0"))
    observer.feed(reading_of({"web-0": (2.0, GIB)}, 1000.0), 1000.0)
    return encode(observer.export(NOW))


def section(url: str, timeout: float = 60.0) -> HandOverSection:
    return HandOverSection(url=url, timeout=Duration(timeout))


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def test_what_a_replica_tells_is_taken() -> None:
    with FakePrometheus() as replica:
        replica.serves("/demand/state", Reply(body=learned(), content_type="application/octet-stream"))
        state = ask_replica(section(replica.url), OWN_PORT, NOW)
    assert state is not None
    assert list(rows_of(state)["pods"]) == ["uid-web-0"]


def test_a_replica_that_asks_for_a_token_is_told_ours(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OURS", "quite-a-secret")
    with RunningServer(frozen_service(), PeopleSection(port=None, token_variable="OURS")) as replica:
        for token, problem in ((None, "401"), ("wrong", "401"), ("quite-a-secret", "nothing is learned yet")):
            caplog.clear()
            assert ask_replica(section(replica.url), OWN_PORT, NOW, token) is None
            assert problem in " ".join(warnings(caplog))


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (Reply(503, '{"error": "nothing is learned yet"}'), "nothing is learned yet"),
        (Reply(404, "not found"), "404"),
        (Reply(200, "<html><title>Log in</title>", "text/html"), "it is no file of learned demand"),
        (Reply(200, learned().replace(b" 1.1 ", b" 9.0 ", 1)), "it is of version 9.0"),
        (Reply(200, learned()[:-5]), "it was cut off"),
        (Reply(200, b"", broken=True), "cannot be reached"),
        (Reply(302, "", headers={"Location": "http://elsewhere/"}), "a redirect to"),
    ],
    ids=["nothing", "no such path", "a page", "newer", "cut off", "broken", "redirect"],
)
def test_an_answer_that_is_none_is_one_line_in_the_log_and_the_start_goes_on(
    reply: Reply, problem: str, caplog: pytest.LogCaptureFixture
) -> None:
    with FakePrometheus() as replica:
        replica.serves("/demand/state", reply)
        assert ask_replica(section(replica.url), OWN_PORT, NOW) is None
    (warning,) = warnings(caplog)
    assert warning.startswith(f"no replica handed over what it has learned: {replica.url}: ")
    assert problem in warning


def test_a_replica_that_is_not_there_or_a_name_that_does_not_resolve_is_one_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for url in (f"http://127.0.0.1:{free_port()}", "http://no-such-name.invalid:8090"):
        caplog.clear()
        assert ask_replica(section(url), OWN_PORT, NOW) is None
        assert len(warnings(caplog)) == 1


@pytest.mark.parametrize("reply", [Reply(silent=True), Reply(trickling=True)], ids=["silent", "trickling"])
def test_a_replica_that_hangs_is_waited_for_only_so_long(reply: Reply, caplog: pytest.LogCaptureFixture) -> None:
    with FakePrometheus() as replica:
        replica.serves("/demand/state", reply)
        assert ask_replica(section(replica.url, 0.3), OWN_PORT, NOW) is None
    assert len(warnings(caplog)) == 1


def test_more_than_could_be_is_not_taken(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr("loadaware.demand_hand_over.LARGEST_BYTES", 100)
    with FakePrometheus() as replica:
        replica.serves("/demand/state", Reply(body=learned()))
        assert ask_replica(section(replica.url), OWN_PORT, NOW) is None
    assert "the answer is longer than 100 bytes" in warnings(caplog)[0]


def test_if_one_address_has_nothing_to_tell_the_next_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakePrometheus() as dumb, FakePrometheus() as telling:
        dumb.serves("/demand/state", Reply(503, "{}"))
        telling.serves("/demand/state", Reply(body=learned()))
        urls = [f"http://127.0.0.1:{free_port()}", dumb.url, telling.url]
        monkeypatch.setattr("loadaware.demand_hand_over.addresses", lambda url, port: urls)
        assert ask_replica(section("http://headless:8090"), OWN_PORT, NOW) is not None


def test_each_address_behind_a_name_is_asked_once_but_not_our_own(monkeypatch: pytest.MonkeyPatch) -> None:
    found = ["192.0.2.7", "127.0.0.1", "192.0.2.7", "2001:db8::1"]
    answer = [(0, socket.SOCK_STREAM, 0, "", (host, 8090)) for host in found]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **options: answer)
    others = ["http://192.0.2.7:8090/a", "http://[2001:db8::1]:8090/a"]
    assert addresses("http://headless:8090/a", own_port=8090) == others
    assert len(addresses("http://headless:8090/a", own_port=1)) == 3


def test_behind_https_the_name_itself_is_asked_because_its_certificate_is_for_the_name() -> None:
    assert addresses("https://headless:8090", own_port=8090) == ["https://headless:8090"]


def test_settings_that_cannot_work_are_one_line_too(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    wrong = HandOverSection(url="http://a", key_file=str(tmp_path / "key"))
    assert ask_replica(wrong, OWN_PORT, NOW) is None
    assert "a client key needs its client certificate" in warnings(caplog)[0]
