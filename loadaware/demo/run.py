"""The demo as a whole: a simulated cluster feeds the real pipeline, and a scheduling loop asks it over HTTP.

    event loop thread    the server, and every call to the pipeline: the cluster's news as simulated time passes
    scheduling thread    kube-scheduler's cycle for both clusters, over HTTP for the one with the extender
    view thread          draws, or writes lines where there is no terminal

What is real: the pipeline, the server, the wire, kube-scheduler's arithmetic. What is simulated: machines, pods, what
they use, and time. The first hours are simulated at full speed and placed by the default scores in both clusters, so
that both start warm and equal; the figures count from there.
"""

import asyncio
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from rich.console import Console

from collectors.cluster import Event
from collectors.reading import Reading
from loadaware.demo.clock import DemoClock
from loadaware.demo.comparison import comparison
from loadaware.demo.extender_client import HttpExtender, NoAdvice
from loadaware.demo.frame import ExtenderView, Frame
from loadaware.demo.plain import PlainView, summary
from loadaware.demo.scheduler import Scheduler, run_schedulers
from loadaware.demo.view import LiveView, save_picture
from loadaware.demo.world import World, WorldSettings
from loadaware.simulation.watch import News

Clock = Callable[[], float]

TICK_SECONDS = 0.05


class Pipeline(Protocol):
    """What the simulated cluster tells its news to. Called in the event loop's thread only."""

    def tell(self, event: Event) -> None:
        """Something happened in the cluster."""
        ...

    def feed(self, reading: Reading) -> None:
        """Metrics were published."""
        ...


class Service(Protocol):
    """The real thing: a pipeline and the server that answers from it."""

    @property
    def pipeline(self) -> Pipeline:
        """Where news go."""
        ...

    def show_beside(self, told: Callable[[], Mapping[str, Any]]) -> None:
        """What the page shows beside the cluster that is served: the other one. It may be called in any thread."""
        ...

    def serving(self, listener: socket.socket) -> AbstractAsyncContextManager[None]:
        """Answer on this socket, which listens already, as long as the block is entered."""
        ...


@dataclass(frozen=True)
class DemoSettings:
    """The demo's own settings; the simulated world has its own (world.py)."""

    world: WorldSettings = field(default_factory=WorldSettings)
    host: str = "127.0.0.1"
    port: int = 8090
    page: str = "/"
    """What to open in a browser."""
    speed: float = 60.0
    """Simulated seconds in a real one."""
    extender_weight: int = 1
    stop_after_seconds: float | None = None
    """Real seconds; None: until Ctrl-C, or until the simulated days are over."""
    picture: str | None = None
    """A file for the last frame, as SVG."""
    line_seconds: float = 5.0
    """Between two lines where there is no terminal."""


def run_demo(
    settings: DemoSettings,
    build: Callable[[Clock], Service],
    console: Console | None = None,
    loop_factory: Callable[[], asyncio.AbstractEventLoop] | None = None,
) -> int:
    """Run until Ctrl-C, SIGTERM, or the end; returns the exit code. `build` makes the service for a clock."""
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        return runner.run(demo(settings, build, console or Console()))


async def demo(settings: DemoSettings, build: Callable[[Clock], Service], console: Console) -> int:
    """The same within a running event loop."""
    try:
        listener = _listen(settings.host, settings.port)
    except OSError as error:
        problem = f"cannot serve on {settings.host}:{settings.port}: {error.strerror}; choose another port"
        Console(stderr=True, highlight=False, soft_wrap=True).print(f"loadaware: {problem}", markup=False)
        return 1
    with listener:
        return await _Demo(settings, build, console, listener).run()


def _listen(host: str, port: int) -> socket.socket:
    """A listening socket. Its connections send at once: asyncio sees to that only where the protocol is named, and
    without it every answer would wait some 40 ms for an acknowledgement.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.bind((host, port))
        listener.listen(128)
    except OSError:
        listener.close()
        raise
    return listener


class _Demo:
    """One run. Everything is made before anything is started."""

    def __init__(
        self,
        settings: DemoSettings,
        build: Callable[[Clock], Service],
        console: Console,
        listener: socket.socket,
    ) -> None:
        self._settings = settings
        self._console = console
        self._listener = listener
        self._world = world = World(settings.world)
        self._clock = DemoClock(world.scenario.settings.start, settings.speed, time.monotonic)
        self._service = build(self._clock)
        self._service.show_beside(lambda: comparison(self._frame()))
        host, port = listener.getsockname()[:2]
        self._extender = HttpExtender(f"http://{host}:{port}", settings.extender_weight)
        self._page = f"http://{host}:{port}{settings.page}"
        self._ours = Scheduler(world.ours, self._extender, world.random(1))
        self._default = Scheduler(world.default, NoAdvice(), world.random(2))
        self._stop = asyncio.Event()
        self._stopping = threading.Event()
        self._failure: BaseException | None = None

    async def run(self) -> int:
        with _signals(self._stop):
            await self._warm_up()
            if not self._stop.is_set():
                async with self._service.serving(self._listener):
                    _catch_signals(self._stop)  # again: a server may have put its own handlers in place
                    await self._serve()
        if self._failure is not None and not isinstance(self._failure, BrokenPipeError):
            raise self._failure
        return 0

    async def _warm_up(self) -> None:
        world = self._world.settings
        minutes = world.warm_up_seconds / 60.0
        self._console.print(f"simulating the first {minutes:.0f} minutes of {world.nodes} nodes ...", highlight=False)
        for moment, news in self._world.warm_up():
            self._clock.hold(moment)
            self._tell(news)
            await asyncio.sleep(0)
            if self._stop.is_set():
                return
        self._clock.hold(self._world.start)

    async def _serve(self) -> None:
        scheduling = self._thread("scheduling", lambda: run_schedulers((self._ours, self._default), self._stopping))
        view = self._view()
        viewing = self._thread("view", lambda: view.run(self._stopping))
        try:
            await self._drive()
        finally:
            self._stopping.set()
            await asyncio.to_thread(scheduling.join)
            await asyncio.to_thread(viewing.join)
            self._extender.close()
        if self._failure is None:
            self._console.print(summary(self._frame()), highlight=False)
            if self._settings.picture is not None:
                save_picture(self._frame(), self._settings.picture)

    async def _drive(self) -> None:
        """Let the time pass, step by step, until told to stop or the end of the simulated days."""
        limit = self._settings.stop_after_seconds
        started = time.monotonic()
        while not self._stop.is_set() and self._clock() < self._world.end:
            self._tell(self._world.step(self._clock.tick()))
            if limit is not None and time.monotonic() - started >= limit:
                return
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), TICK_SECONDS)

    def _tell(self, news: Iterable[News]) -> None:
        pipeline = self._service.pipeline
        for item in news:
            if isinstance(item, Reading):
                pipeline.feed(item)
            else:
                pipeline.tell(item)

    def _view(self) -> LiveView | PlainView:
        if self._console.is_terminal and not self._console.is_dumb_terminal:
            return LiveView(self._frame, self._console)
        return PlainView(self._frame, self._console.file, self._settings.line_seconds)

    def _frame(self) -> Frame:
        machines, extender = self._world.scenario.machines, self._extender
        return Frame(
            time=self._clock(),
            speed=self._settings.speed,
            nodes=machines.names,
            cores=machines.cores,
            ours=self._world.ours.view(),
            default=self._world.default.view(),
            placed=self._ours.placed,
            decisions=tuple(self._ours.decisions),
            extender=ExtenderView(self._page, extender.median_milliseconds(), extender.failures, extender.last_failure),
        )

    def _thread(self, name: str, body: Callable[[], None]) -> threading.Thread:
        """Start a thread; if it fails, everything stops and the failure is raised at the end."""
        loop = asyncio.get_running_loop()

        def run() -> None:
            try:
                body()
            except BaseException as error:  # noqa: BLE001 - kept, and raised in the main thread
                self._failure = error
                loop.call_soon_threadsafe(self._stop.set)

        thread = threading.Thread(target=run, name=name, daemon=True)
        thread.start()
        return thread


@contextmanager
def _signals(stop: asyncio.Event) -> Iterator[None]:
    """Ctrl-C and SIGTERM set the event instead of ending the process."""
    _catch_signals(stop)
    try:
        yield
    finally:
        for number in _caught():
            asyncio.get_running_loop().remove_signal_handler(number)


def _catch_signals(stop: asyncio.Event) -> None:
    for number in _caught():
        asyncio.get_running_loop().add_signal_handler(number, stop.set)


def _caught() -> tuple[signal.Signals, ...]:
    """Only the main thread may handle signals."""
    here = threading.current_thread() is threading.main_thread()
    return (signal.SIGINT, signal.SIGTERM) if here else ()
