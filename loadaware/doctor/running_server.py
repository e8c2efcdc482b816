"""How is a loadaware that runs already: can it be reached, is it ready, is its data young, does anybody ask it?"""

from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any

import msgspec

from collectors.errors import CollectorError, MalformedAnswerError
from loadaware.asking import token_headers
from loadaware.config import Config
from loadaware.doctor.finding import Finding, fail, ok, some, warn
from loadaware.doctor.measured import seconds
from loadaware.quantities import format_duration
from loadaware.server_files import ServerFiles

if TYPE_CHECKING:
    from collectors.http_session import HttpSession

WHAT = "loadaware server"
_UNREACHABLE = "check the address, that it runs, and that a network policy lets kube-scheduler (and you) through"
_REQUESTS = "loadaware_requests_total{"
_LOST = "loadaware_history_lost_records_total{"


class _Source(msgspec.Struct, rename="camel"):
    readings: int = 0
    consecutive_failures: int = 0
    last_error: str = ""
    notes: list[str] = []
    forbidden: list[str] = []


class _Readiness(msgspec.Struct, rename="camel"):
    ready: bool
    measured: bool = False
    mode: str = "active"
    data_age_seconds: float | None = None
    quarantined: dict[str, str] = {}
    source: _Source = msgspec.field(default_factory=_Source)


class _Belief(msgspec.Struct):
    name: str
    usage: dict[str, dict[str, float | None]] = {}

    @property
    def measured(self) -> bool:
        """Whether its CPU is."""
        usage = self.usage.get("cpu", {})
        return usage.get("mean") is not None or usage.get("latest") is not None


class _Nodes(msgspec.Struct):
    nodes: list[_Belief]


def check_server(url: str, config: Config, timeout_seconds: float, files: ServerFiles) -> Iterator[Finding]:
    """Everything it tells about itself."""
    from collectors.http_access import base_url
    from collectors.http_session import HttpSession

    try:
        base = base_url(url)
    except ValueError as error:
        yield fail(WHAT, str(error), "give an address such as http://127.0.0.1:8091")
        return
    with closing(HttpSession(base, files.access(timeout_seconds, token_headers()))) as session:
        try:
            readiness = _fetched(session, f"{base}/readyz", _Readiness)
            beliefs = _fetched(session, f"{base}/nodes", _Nodes)
            metrics = _metrics(session, base)
        except CollectorError as error:
            yield fail(WHAT, str(error), _UNREACHABLE)
            return
    yield _judge_readiness(base, readiness)
    yield _judge_mode(readiness.mode)
    yield from _judge_source(readiness.source)
    yield _judge_age(readiness, config)
    yield _judge_nodes(beliefs.nodes)
    if readiness.quarantined:
        yield _judge_quarantine(readiness.quarantined)
    yield _judge_requests(_sum_of(metrics, _REQUESTS))
    if lost := _sum_of(metrics, _LOST):
        yield _judge_history(lost)


def _fetched(session: "HttpSession", url: str, kind: type[Any]) -> Any:
    """The decoded answer; 503 is how an unready server answers."""
    answer = session.fetch("GET", url)
    if answer.status not in (200, 503):
        raise session.refusal(answer)
    try:
        return msgspec.json.decode(answer.body, type=kind)
    except msgspec.DecodeError:
        raise MalformedAnswerError(url, "what loadaware tells", session.quoted(answer)) from None


def _metrics(session: "HttpSession", base: str) -> list[str]:
    """The lines of its metrics; none if it shows none."""
    answer = session.fetch("GET", f"{base}/metrics")
    return answer.body.decode(errors="replace").splitlines() if answer.status == 200 else []


def _sum_of(metrics: list[str], series: str) -> float:
    return sum(float(line.rsplit(" ", 1)[1]) for line in metrics if line.startswith(series))


def _judge_readiness(base: str, readiness: _Readiness) -> Finding:
    if readiness.ready:
        return ok(WHAT, f"{base} is ready")
    return warn(WHAT, f"{base} answers but is not ready yet", "wait for its first reading; if none comes, see its log")


def _judge_mode(mode: str) -> Finding:
    told = "kube-scheduler gets neutral answers until mode is active" if mode == "shadow" else "its answers count"
    return ok(f"{WHAT} mode", f"{mode}: {told}")


def _judge_source(source: _Source) -> Iterator[Finding]:
    if source.consecutive_failures:
        detail = f"the last {source.consecutive_failures} readings failed: {source.last_error}"
        yield fail(f"{WHAT} source", detail, "answers go on with the last good data; mend what the message names")
    for lost in source.forbidden:
        yield warn(
            f"{WHAT} access", lost, "add the missing rule to its ClusterRole: see `access` above, run with its account"
        )
    for note in source.notes:
        yield warn(f"{WHAT} source", note, "what is not measured counts as neither idle nor busy")


def _judge_age(readiness: _Readiness, config: Config) -> Finding:
    """The window fills from the first reading on; a state file is there at once and never ages."""
    what, age = f"{WHAT} window", readiness.data_age_seconds
    if not readiness.measured:
        return fail(what, "nothing is measured yet", "see the metric source's lines; the first reading comes at once")
    if age is None:
        return ok(what, "a frozen state: it never ages")
    detail = f"the newest measurement is {seconds(age)} old, {_filling(readiness.source.readings, config)}"
    if age > config.staleness.expired:
        return fail(what, detail, "the source has stopped: its answers are neutral now")
    if age > config.staleness.fresh:
        return warn(what, detail, "the source has stopped or is slow: see its log")
    return ok(what, detail)


def _filling(readings: int, config: Config) -> str:
    full = round(config.window.length / config.interval)
    length = format_duration(config.window.length)
    return f"the window of {length} is filled" if readings >= full else f"{readings} readings in a window of {length}"


def _judge_nodes(beliefs: list[_Belief]) -> Finding:
    what = f"{WHAT} nodes"
    missing = [belief.name for belief in beliefs if not belief.measured]
    detail = f"{len(beliefs) - len(missing)} of {len(beliefs)} nodes measured"
    if beliefs and not missing:
        return ok(what, detail)
    examples = f"; missing: {some(missing)}" if missing else ""
    return warn(what, detail + examples, "see the metric source's lines: which nodes it covers")


def _judge_quarantine(quarantined: dict[str, str]) -> Finding:
    examples = [f"{name} ({reason})" for name, reason in quarantined.items()]
    detail = f"measurements of {len(quarantined)} nodes are not believed: {some(examples)}"
    return warn(f"{WHAT} quarantine", detail, "see what the source says of these nodes; they come back by themselves")


def _judge_requests(asked: float) -> Finding:
    what = f"{WHAT} requests"
    if asked:
        return ok(what, f"{asked:.0f} answered since its start")
    return ok(what, "none yet: create a pod, and see whether kube-scheduler asks (loadaware_requests_total)")


def _judge_history(lost: float) -> Finding:
    detail = f"{lost:.0f} records are missing from its history since its start"
    return warn(f"{WHAT} history", detail, "its log says why: look at its volume, and at how busy it is")
