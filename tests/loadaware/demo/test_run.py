import asyncio
import io
import os
import pty
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from rich.console import Console

from collectors.cluster import Event, PodSeen
from loadaware.demo.run import Clock, DemoSettings, run_demo
from tests.loadaware.demo.stand_in import SMALL_WORLD, KeepingPipeline, StandIn
from tests.parts.processes import PATIENCE_SECONDS

SETTINGS = DemoSettings(SMALL_WORLD, port=0, speed=240.0, stop_after_seconds=PATIENCE_SECONDS, line_seconds=0.3)
COMMAND = [sys.executable, "-m", "tests.loadaware.demo.stand_in"]


def plain() -> tuple[Console, io.StringIO]:
    out = io.StringIO()
    return Console(file=out, width=100), out


class Kept:
    """Builds a stand-in and keeps it."""

    def __init__(self, enough: Callable[[StandIn], bool] = lambda _: False) -> None:
        self.services: list[StandIn] = []
        self._enough = enough

    def __call__(self, clock: Clock) -> StandIn:
        self.services.append(StandIn(clock, self._enough))
        return self.services[-1]


@pytest.fixture(scope="module")
def finished() -> tuple[StandIn, str, int]:
    """A demo that ran until it had placed and shown something: its service, its output, its exit code."""
    console, out = plain()

    def enough(service: StandIn) -> bool:
        return len(service.asked) > 20 and len(service.pipeline.readings) > 8 and "above 80 %:" in out.getvalue()

    build = Kept(enough)
    code = run_demo(SETTINGS, build, console)
    return build.services[0], out.getvalue(), code


def test_it_ends_with_a_summary_and_exit_code_0(finished: tuple[StandIn, str, int]) -> None:
    _, text, code = finished
    assert code == 0
    assert text.startswith("simulating the first 10 minutes of 8 nodes ...")
    assert "above 80 %:" in text
    assert "pods placed:" in text.splitlines()[-7]


def test_pods_are_placed_by_asking_over_http(finished: tuple[StandIn, str, int]) -> None:
    service, _, _ = finished
    bound = {e.pod.name for e in service.pipeline.events if isinstance(e, PodSeen) and e.pod.node}
    assert len(service.asked) > 20
    assert len(bound & set(service.asked)) >= len(set(service.asked)) - 10


def test_the_pipeline_is_called_in_one_thread_only(finished: tuple[StandIn, str, int]) -> None:
    assert finished[0].pipeline.threads == {threading.main_thread().ident}


def test_readings_are_fed_when_the_clock_shows_their_time_or_a_little_later(
    finished: tuple[StandIn, str, int],
) -> None:
    lags = [now - reading.time for now, reading in finished[0].pipeline.readings]
    assert len(lags) > 8
    assert min(lags) >= 0.0
    assert max(lags) <= 2 * 0.5 * 240.0  # until the tick, and from the tick until it is fed


def test_a_port_in_use_is_said_at_once_on_standard_error_with_exit_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        console, out = plain()
        code = run_demo(replace(SETTINGS, port=taken.getsockname()[1]), Kept(), console)
    assert (code, out.getvalue()) == (1, "")
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("loadaware: cannot serve on 127.0.0.1:")
    assert line.endswith("; choose another port")


class _Failing(StandIn):
    """A server that does not come up."""

    @asynccontextmanager
    async def serving(self, listener: socket.socket) -> AsyncIterator[None]:
        await asyncio.sleep(0)
        if listener.fileno() >= 0:
            raise RuntimeError("no server today")
        yield


def test_a_server_that_does_not_come_up_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="no server today"):
        run_demo(SETTINGS, _Failing, plain()[0])


class _BrokenPipe(io.StringIO):
    def write(self, text: str) -> int:
        if "open http" in text:
            raise BrokenPipeError
        return super().write(text)


def test_a_reader_that_goes_away_ends_the_demo_quietly() -> None:
    assert run_demo(SETTINGS, Kept(), Console(file=_BrokenPipe())) == 0


def test_a_failing_view_stops_everything_and_is_raised() -> None:
    class Broken(io.StringIO):
        def write(self, text: str) -> int:
            if "open http" in text:
                raise ArithmeticError("cannot write")
            return super().write(text)

    with pytest.raises(ArithmeticError, match="cannot write"):
        run_demo(SETTINGS, Kept(), Console(file=Broken()))


def test_it_ends_by_itself_after_so_many_seconds() -> None:
    console, out = plain()
    assert run_demo(replace(SETTINGS, stop_after_seconds=0.2), Kept(), console) == 0
    assert "pods placed:" in out.getvalue()


def test_it_stops_at_the_end_of_the_simulated_days() -> None:
    world = replace(SMALL_WORLD, hours=0.25)
    assert run_demo(replace(SETTINGS, world=world, speed=900.0, stop_after_seconds=None), Kept(), plain()[0]) == 0


class _Interrupted(StandIn):
    """Gets a Ctrl-C as soon as it is told something."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.pipeline = _InterruptedPipeline(clock)


class _InterruptedPipeline(KeepingPipeline):
    def tell(self, event: Event) -> None:
        if not self.events:
            signal.raise_signal(signal.SIGINT)
        super().tell(event)


def test_ctrl_c_while_warming_up_ends_it_before_anything_is_served() -> None:
    console, out = plain()
    assert run_demo(SETTINGS, _Interrupted, console) == 0
    assert "placed" not in out.getvalue()


def read_until(descriptor: int, wanted: bytes, seconds: float = PATIENCE_SECONDS) -> bytes:
    """What comes until these words, the end, or the time is over."""
    seen = b""
    end = time.monotonic() + seconds
    while wanted not in seen and time.monotonic() < end:
        if select.select([descriptor], [], [], 0.1)[0]:
            try:
                seen += os.read(descriptor, 65_536)
            except OSError:
                break
    return seen


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_without_a_terminal_a_signal_ends_it_cleanly_with_plain_lines(number: signal.Signals) -> None:
    with subprocess.Popen(COMMAND, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert process.stdout is not None
        seen = read_until(process.stdout.fileno(), b"above 80 %")
        process.send_signal(number)
        rest = process.stdout.read()
        assert process.wait(timeout=PATIENCE_SECONDS) == 0
    assert b"\x1b[" not in seen + rest
    assert b"pods placed:" in rest
    assert b"Traceback" not in seen + rest


def test_on_a_terminal_ctrl_c_restores_the_screen_and_leaves_the_summary() -> None:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", "LINES": "30"}
    with subprocess.Popen(COMMAND, stdin=theirs, stdout=theirs, stderr=theirs, env=environment) as process:
        os.close(theirs)
        seen = read_until(ours, b"node-1")
        process.send_signal(signal.SIGINT)
        rest = read_until(ours, b"no such words")
        assert process.wait(timeout=PATIENCE_SECONDS) == 0
    os.close(ours)
    assert b"\x1b[?1049h" in seen
    after = (seen + rest).rpartition(b"\x1b[?1049l")[2]
    assert b"pods placed:" in after
    assert b"Traceback" not in after
