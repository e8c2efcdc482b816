"""Answers as OpenTelemetry spans: off unless an endpoint is configured, and never on the way of a request.

A span is made when its decision is settled, a moment after the answer: from the whole body to the answer, a child of
the trace that its client told (`traceparent`), else of a trace of its own. A thread of OpenTelemetry sends them in
batches; what it cannot get rid of is dropped. Needs the extra `loadaware[tracing]`.
"""

from typing import Any

from loadaware.config import TracesSection
from loadaware.decisions import Decision
from loadaware.errors import ConfigError

NANO = 1_000_000_000
MISSING = "spans need OpenTelemetry, which is not installed: pip install 'loadaware[tracing]'"


class Spans:
    """Makes spans of decisions. `answered` is called by the event loop's thread."""

    def __init__(self, file: str, traces: TracesSection, version: str, *, pod_names: bool = True) -> None:
        """`file` is the configuration that asks for spans, to be named if they cannot be made. Raises ConfigError."""
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
            from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
            from opentelemetry.trace import SpanKind
            from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
        except ImportError as error:
            raise ConfigError(file, "telemetry.traces.endpoint", MISSING) from error
        resource = Resource.create({"service.name": "loadaware", "service.version": version})
        sampler = ParentBased(TraceIdRatioBased(traces.ratio))
        self._provider = TracerProvider(resource=resource, sampler=sampler, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=traces.endpoint)))
        self._tracer = self._provider.get_tracer("loadaware", version)
        self._parent_of = TraceContextTextMapPropagator().extract
        self._kind = SpanKind.SERVER
        self._pod_names = pod_names

    def answered(self, decision: Decision) -> None:
        """A span of it, if it was answered."""
        if decision.took_seconds is None:
            return
        parent = None if decision.trace is None else self._parent_of({"traceparent": decision.trace})
        end = int(decision.time * NANO)
        span = self._tracer.start_span(
            decision.verb,
            context=parent,
            kind=self._kind,
            attributes=self._told(decision),
            start_time=end - int(decision.took_seconds * NANO),
        )
        span.end(end)

    def close(self) -> None:
        """The end: send what is left."""
        self._provider.shutdown()

    def _told(self, decision: Decision) -> dict[str, Any]:
        pod, answer = decision.pod, decision.answer
        named = {"k8s.namespace.name": pod.namespace, "k8s.pod.name": pod.name, "k8s.pod.uid": pod.uid}
        return {
            **(named if self._pod_names else {}),
            "loadaware.decision": decision.number,
            "loadaware.profile": "" if answer is None else answer.profile,
            "loadaware.nodes": decision.asked,
        }
