"""What another replica has learned, asked for once at start, in bounded time and of bounded size.

Each address behind the name is asked in turn (a headless Service lists one per replica), our own left out; the first
that has something to tell is believed. Behind https the name itself is asked: its certificate is for the name. Failing
is one line in the log, and the start goes on.
"""

import logging
import socket
import threading
import time
from contextlib import closing
from dataclasses import replace
from urllib.parse import urlsplit, urlunsplit

from collectors.errors import CollectorError
from collectors.http_access import HttpAccess, base_url
from loadaware.config import HandOverSection
from loadaware.demand_format import DemandFormatError, decode
from loadaware.demand_state import DemandState
from loadaware.sources import hand_over_access

logger = logging.getLogger(__name__)

PATH = "/demand/state"
LARGEST_BYTES = 128 * 2**20
"""Of an answer: 150,000 pods of 50,000 workloads are 30 MB."""


def ask_replica(section: HandOverSection, own_port: int, now: float, token: str | None = None) -> DemandState | None:
    """What a replica has learned; None if none tells in time. The token is ours, and so it is theirs."""
    found: list[DemandState] = []
    problems: list[str] = []
    thread = threading.Thread(
        target=_ask_each, args=(section, own_port, found, problems, token), name="hand-over", daemon=True
    )
    thread.start()
    thread.join(section.timeout)  # a name that does not resolve heeds no other timeout
    if not found:
        late = [f"not done after {section.timeout:g} s"] if thread.is_alive() else []
        reasons = "; ".join(problems + late) or "there is no other"
        logger.warning("no replica handed over what it has learned: %s: %s", section.url, reasons)
        return None
    state = found[0].not_after(now)
    workloads, pods = len(state.table("workloads").names), len(state.table("pods").names)
    logger.info("%s handed over learned demand of %d workloads and %d pods", section.url, workloads, pods)
    return state


def _ask_each(
    section: HandOverSection, own_port: int, found: list[DemandState], problems: list[str], token: str | None
) -> None:
    deadline = time.monotonic() + section.timeout
    try:
        access = hand_over_access(section)
        if token is not None:
            access = replace(access, headers={"X-Loadaware-Token": token})
        for url in addresses(base_url(section.url), own_port):
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                return
            try:
                found.append(_asked(url, replace(access, timeout_seconds=remaining)))
            except (CollectorError, DemandFormatError) as error:
                problems.append(str(error))
            else:
                return
    except (OSError, ValueError) as error:
        problems.append(str(error))
    except Exception as error:
        logger.exception("asking a replica failed in an unforeseen way")
        problems.append(type(error).__name__)


def addresses(url: str, own_port: int) -> list[str]:
    """The addresses behind the name, as URLs, without our own. Raises OSError for a name that does not resolve."""
    parts = urlsplit(url)
    if parts.scheme == "https" or parts.hostname is None:
        return [url]
    port = parts.port or 80
    places = socket.getaddrinfo(parts.hostname, port, type=socket.SOCK_STREAM)
    hosts = dict.fromkeys(str(place[0]) for *_, place in places)
    others = [host for host in hosts if port != own_port or not _is_ours(host)]
    written = [f"[{host}]" if ":" in host else host for host in others]
    return [urlunsplit(parts._replace(netloc=f"{host}:{port}")) for host in written]


def _is_ours(host: str) -> bool:
    """Whether an address is one of this machine's: those alone can be bound."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((host, 0))
        except OSError:
            return False
        return True


def _asked(url: str, access: HttpAccess) -> DemandState:
    from collectors.http_session import HttpSession

    with closing(HttpSession(url, access)) as session:
        session.largest_answer_bytes = LARGEST_BYTES
        answer = session.fetch("GET", f"{url}{PATH}")
        if answer.status != 200:
            raise session.refusal(answer)
        return decode(answer.body)
