import pytest

from loadaware.extender.trace_context import trace_of
from loadaware.scorers.lowest_usage import LowestUsage
from loadaware.service import Service
from tests.loadaware.builders import make_profile, make_settings
from tests.loadaware.running_server import RunningServer, answer_on, arguments, frozen_service

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
        b"00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        b"00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        b"00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        b"ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        TRACE.encode() + b"\n",
        b"\xff" * 55,
    ],
)
def test_what_is_no_traceparent_is_as_good_as_none(header: bytes) -> None:
    assert trace_of(header) is None


def test_a_traceparent_is_kept_as_it_came() -> None:
    assert trace_of(TRACE.encode()) == TRACE


def asked(service: Service, *headers: str) -> list[str | None]:
    """The traces of the decisions after a request to prioritize with each of these headers, the oldest first."""
    body = arguments("idle", "busy")
    with RunningServer(service) as running, running.connect() as connection:
        for header in headers:
            head = f"POST /prioritize HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n{header}\r\n"
            connection.sendall(head.encode() + body)
            assert answer_on(connection)[0] == 200
    return [decision.trace for decision in service.hindsight.decisions][::-1]


def test_a_decision_knows_the_trace_of_its_request_and_no_other() -> None:
    service = frozen_service(make_settings(make_profile(LowestUsage())))
    assert asked(service, f"Traceparent: {TRACE}\r\n", "", "traceparent: nonsense\r\n") == [TRACE, None, None]


def test_so_it_does_on_the_plain_way() -> None:
    service = frozen_service(make_settings(make_profile(LowestUsage())))
    assert asked(service, f"traceparent: {TRACE}\r\nExpect: nothing\r\n", "Expect: nothing\r\n") == [TRACE, None]


def test_what_an_answer_took_is_kept() -> None:
    service = frozen_service(make_settings(make_profile(LowestUsage())))
    asked(service, "")
    (decision,) = service.hindsight.decisions
    assert decision.took_seconds is not None
    assert decision.took_seconds > 0.0
