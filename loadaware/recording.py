"""`loadaware record`: a history of a live cluster, without serving; or of the past, from a Prometheus alone."""

import logging
import signal
import threading
import time
from collections.abc import Callable

import msgspec

from loadaware.config import Config, HistorySection, PrometheusSource
from loadaware.errors import ConfigError
from loadaware.past_recording import PastRecorded, PastSettings, record_past
from loadaware.progress import duration, progress
from loadaware.quantities import Duration, Quantity, parse_duration

LINE_SECONDS = 60.0
STOPPING = (signal.SIGINT, signal.SIGTERM)
PAST_TIMEOUT_SECONDS = 60.0
"""How long one query about the past may take: a range of a large cluster is more than one instant."""


def history_section(section: HistorySection, folder: str, max_size: str | None, max_age: str | None) -> HistorySection:
    """The configuration's limits with those of the command line. Raises ConfigError."""
    from collectors.errors import QuantityError
    from collectors.quantity import parse_quantity

    try:
        size = section.max_size if max_size is None else Quantity(parse_quantity(max_size))
        age = section.max_age if max_age is None else Duration(parse_duration(max_age))
        return HistorySection(folder=folder, max_size=size, max_age=age, flush=section.flush)
    except (QuantityError, ValueError) as error:
        raise ConfigError("--max-size, --max-age", "", str(error)) from error


def record_live(
    config: Config, kubeconfig: str | None, context: str | None, seconds: float | None, say: Callable[[str], None]
) -> None:
    """Observe and record until SIGTERM, Ctrl-C, or for so many seconds. Raises HistoryError or CollectorError."""
    from loadaware.logs import configure_logs
    from loadaware.observer_process import Order
    from loadaware.refresh import Inbox
    from loadaware.wiring import make_recorder, observe

    configure_logs(config.log)
    logging.getLogger("loadaware").info("recording to %s", config.history.folder)
    inbox = Inbox()
    recorder = make_recorder(config, config.history.folder, requests=False)
    before = {number: signal.signal(number, lambda *_: inbox.stopping.set()) for number in STOPPING}
    timer = threading.Timer(threading.TIMEOUT_MAX if seconds is None else seconds, inbox.stopping.set)
    timer.daemon = True
    timer.start()
    try:
        observe(Order(config, kubeconfig, context), _Told(say).take, inbox, recorder)
    finally:
        timer.cancel()
        for number, handler in before.items():
            signal.signal(number, handler)
    say(f"recorded to {config.history.folder}: `loadaware history` shows what is in it")


class _Told:
    """A line now and then about how it goes."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._said = float("-inf")

    def take(self, message: object) -> None:
        from loadaware.status import Status

        if not isinstance(message, Status) or time.monotonic() - self._said < LINE_SECONDS:
            return
        self._said = time.monotonic()
        trouble = f"; {message.last_error}" if message.last_error else ""
        lost = f"; {message.history_lost} records could not be written" if message.history_lost else ""
        self._say(f"{message.readings} readings, {message.nodes} nodes, {message.pods} pods{trouble}{lost}")


def record_prometheus(config: Config, url: str, folder: str, *, since: str, step: str, pause: str) -> PastRecorded:
    """Read the past of a Prometheus. Raises ConfigError, HistoryError, CollectorError."""
    from loadaware.sources import prometheus_settings

    now = time.time()
    lengths = {option: _seconds(option, text) for option, text in (("--since", since), ("--step", step))}
    if not 10 <= lengths["--step"] <= 3600:
        raise ConfigError("--step", "", f"must be in 10s..1h, not {step}")
    if lengths["--since"] < 2 * lengths["--step"]:
        raise ConfigError("--since", "", f"must be longer than two steps, not {since}")
    source = config.source if isinstance(config.source, PrometheusSource) else PrometheusSource(url=url)
    source = msgspec.structs.replace(source, url=url, timeout=Duration(max(source.timeout, PAST_TIMEOUT_SECONDS)))
    try:
        settings = prometheus_settings(source)
    except ValueError as error:
        raise ConfigError("--from-prometheus", "", str(error)) from error
    past = PastSettings(now - lengths["--since"], now, lengths["--step"], _seconds("--pause", pause))
    with progress(f"reading {duration(lengths['--since'])}") as hear:
        return record_past(settings, folder, past, config=config, hear=hear)


def _seconds(option: str, text: str) -> float:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise ConfigError(option, "", str(error)) from error
