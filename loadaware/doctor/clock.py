"""Do our clock and the API server's agree? Ages of measurements are judged by our clock, so it must be right.

Every HTTP answer of the API server carries its time, even a refusal: it is asked without credentials.
"""

import time
from collections.abc import Callable, Iterator
from email.utils import parsedate_to_datetime

import urllib3

from collectors.errors import CollectorError
from collectors.kubernetes_api import Credentials
from loadaware.doctor.finding import Finding, fail, ok, warn
from loadaware.quarantine import FUTURE_SECONDS

WHAT = "clock"
TOLERATED_SECONDS = 5.0
"""A Date has whole seconds, and the answer takes its time."""
_FIX = "keep the clocks right (NTP, chrony) on this machine and on the control plane"


def check_clock(
    credentials: Credentials, timeout_seconds: float, now: Callable[[], float] = time.time
) -> Iterator[Finding]:
    """How far apart they are."""
    try:
        theirs = _their_time(credentials, timeout_seconds)
    except (CollectorError, urllib3.exceptions.HTTPError, OSError, ValueError, TypeError):
        theirs = None
    if theirs is None:
        yield ok(WHAT, "not compared: the API server's answers carry no time")
        return
    yield judge_skew(now() - theirs)


def judge_skew(seconds: float) -> Finding:
    """Positive: ours is ahead."""
    apart = abs(seconds)
    if apart <= TOLERATED_SECONDS:
        return ok(WHAT, "agrees with the API server's")
    detail = f"{apart:.0f} s {'ahead of' if seconds > 0 else 'behind'} the API server's"
    if apart <= FUTURE_SECONDS:
        return warn(WHAT, detail, _FIX)
    return fail(WHAT, f"{detail}: measurements look older than they are, or from the future", _FIX)


def _their_time(credentials: Credentials, timeout_seconds: float) -> float | None:
    from kubernetes.client import ApiClient

    configuration = credentials.load()
    pool = ApiClient(configuration).rest_client.pool_manager
    try:
        answer = pool.request("GET", f"{configuration.host}/version", timeout=timeout_seconds, retries=False)
        date = answer.headers.get("Date")
    finally:
        pool.clear()
    return parsedate_to_datetime(date).timestamp() if date else None
