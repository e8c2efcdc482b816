import gzip
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from loadaware.config import parse
from loadaware.errors import ConfigError
from loadaware.extender.answers import Answers
from loadaware.service import Service
from loadaware.wiring import make_service
from tests.loadaware.running_server import arguments

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


class Collector(ThreadingHTTPServer):
    """Takes spans, as an OpenTelemetry collector does."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Taking)
        self.requests: list[ExportTraceServiceRequest] = []

    @property
    def spans(self) -> list[Any]:
        """All of them."""
        return [span for one in self.requests for r in one.resource_spans for s in r.scope_spans for span in s.spans]


class _Taking(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        body = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
        self.server.requests.append(ExportTraceServiceRequest.FromString(body))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def service_for(collector: Collector, more: str = "") -> Service:
    endpoint = f"http://127.0.0.1:{collector.server_port}/v1/traces"
    return make_service(parse(f"telemetry: {{traces: {{endpoint: '{endpoint}'{more}}}}}"))


def asked(service: Service, *traces: str | None) -> None:
    """Ask once with each trace, then end."""
    answers = Answers(service, 2**20)
    for trace in traces:
        assert answers.answer("prioritize", arguments("a", "b"), None, trace).status == 200
    service.hindsight.close()


def test_an_answer_is_a_span_of_the_trace_its_client_told(collector: Collector) -> None:
    asked(service_for(collector), f"00-{TRACE}-{PARENT}-01")
    (span,) = collector.spans
    assert (span.name, span.trace_id.hex(), span.parent_span_id.hex()) == ("prioritize", TRACE, PARENT)
    assert span.end_time_unix_nano > span.start_time_unix_nano
    told = {pair.key: pair.value for pair in span.attributes}
    assert told["k8s.pod.name"].string_value == "web-1"
    assert told["loadaware.profile"].string_value == "default-scheduler"
    assert told["loadaware.nodes"].int_value == 2
    (resource,) = collector.requests[0].resource_spans
    assert "loadaware" in {pair.value.string_value for pair in resource.resource.attributes}


def test_without_a_trace_it_begins_one(collector: Collector) -> None:
    asked(service_for(collector), None, None)
    first, second = collector.spans
    assert first.trace_id != second.trace_id
    assert (first.parent_span_id, second.parent_span_id) == (b"", b"")


def test_a_trace_that_is_not_sampled_is_left_alone(collector: Collector) -> None:
    asked(service_for(collector), f"00-{TRACE}-{PARENT}-00", None)
    assert len(collector.spans) == 1


def test_the_ratio_is_for_answers_without_a_trace(collector: Collector) -> None:
    asked(service_for(collector, ", ratio: 0.0"), None, f"00-{TRACE}-{PARENT}-01")
    assert [span.trace_id.hex() for span in collector.spans] == [TRACE]


def test_pod_names_can_be_left_out(collector: Collector) -> None:
    endpoint = f"http://127.0.0.1:{collector.server_port}/v1/traces"
    text = f"telemetry: {{traces: {{endpoint: '{endpoint}'}}}}\nlog: {{podNames: false}}"
    asked(make_service(parse(text)), None)
    (span,) = collector.spans
    assert not [pair.key for pair in span.attributes if pair.key.startswith("k8s")]


def test_it_is_off_unless_configured() -> None:
    service = make_service(parse("{}"))
    assert service.hindsight.decisions.on_settling == []


def test_without_the_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(ConfigError, match="pip install"):
        make_service(parse("telemetry: {traces: {endpoint: 'http://127.0.0.1:1/v1/traces'}}"))


@pytest.mark.parametrize(
    ("traces", "problem"), [("{endpoint: 'collector:4318'}", "must begin with http"), ("{ratio: 1.5}", "in 0..1")]
)
def test_what_cannot_be_is_refused(traces: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        parse(f"telemetry: {{traces: {traces}}}")
