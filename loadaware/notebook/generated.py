"""Generated data for a first look: a small cluster from the simulator, recorded; and a profile in shadow on it.

Everything is settled by the seed. kube-scheduler's default scores place the pods of a recorded cluster, as they would
in one that knows nothing of load: there is something to find.
"""

import atexit
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from collectors.cluster import Event, NodeSeen
from collectors.errors import HistoryError
from collectors.history import HistoryWriter
from collectors.reading import Reading
from loadaware.aside import Aside
from loadaware.changes import PodBound
from loadaware.config import Config
from loadaware.core import Core
from loadaware.isolation import working
from loadaware.notebook.configurations import Configuration, configuration
from loadaware.notebook.histories import History
from loadaware.past_recording import EVERYTHING
from loadaware.profiles import adviser_settings, observer_settings
from loadaware.recorder import Recorder, beginning_of
from loadaware.shadow import Shadow, report
from loadaware.simulating import Options, setup_of
from loadaware.simulation.cluster import SimulatedCluster
from loadaware.simulation.engine import Run
from loadaware.simulation.noise import Ints
from loadaware.simulation.policies import Default
from loadaware.simulation.stage import Stage, make_stage
from loadaware.simulation.watch import News


def generated_history(
    folder: str | Path | None = None, *, nodes: int = 12, hours: float = 5.0, load: float = 0.55, seed: int = 3
) -> History:
    """A recorded cluster, made in seconds. Without a folder it is gone when Python ends. Raises HistoryError."""
    made = _passing_folder() if folder is None else Path(folder)
    if made.is_dir() and any(made.iterdir()):
        raise HistoryError(str(made), "is not empty: give what is generated a folder of its own")
    recorder = Recorder(HistoryWriter(made, flush_on_write=False), beginning_of(Config(), requests=False))
    stage = _stage(nodes, hours, load, seed)
    Run(stage.scenario, lambda clock: RecordedDefault(clock, recorder), stage.setup.engine, stage.seed).report()
    recorder.close()
    return History(made)


def generated_shadow(
    config: Configuration,
    *,
    nodes: int = 12,
    hours: float = 5.0,
    every_minutes: float = 30.0,
    load: float = 0.55,
    seed: int = 3,
) -> list[dict[str, Any]]:
    """What `GET /shadow` would tell every so often: the first live profile places, those in shadow are compared.

    Raises ConfigError.
    """
    made = configuration(config)
    stage = _stage(nodes, hours, load, seed)
    reports: list[dict[str, Any]] = []

    def make(clock: Callable[[], float]) -> _Shadowed:
        return _Shadowed(made, clock, 60.0 * every_minutes, reports)

    settings = adviser_settings(made)
    with working((*settings.profiles.values(), *settings.shadows.values())):
        Run(stage.scenario, make, stage.setup.engine, stage.seed).report()
    return reports


def _stage(nodes: int, hours: float, load: float, seed: int) -> Stage:
    warm_up_hours = min(1.0, hours / 4.0)
    options = Options(nodes=nodes, load=load, hours=hours - warm_up_hours, warm_up_hours=warm_up_hours)
    return make_stage(setup_of(options), None, seed)


def _passing_folder() -> Path:
    folder = tempfile.mkdtemp(prefix="loadaware-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


class RecordedDefault(Default):
    """kube-scheduler's default scores; what the cluster tells is written down."""

    def __init__(self, clock: Callable[[], float], recorder: Recorder) -> None:
        super().__init__()
        self._clock, self._recorder = clock, recorder
        recorder.began(clock())

    def hear(self, news: tuple[News, ...]) -> None:
        """Write it down."""
        now, recorder = self._clock(), self._recorder
        for item in news:
            if isinstance(item, Reading):
                recorder.reading(item, now)
            else:
                recorder.event(item, now)
                recorder.changes(EVERYTHING, now)
            if isinstance(item, Reading | NodeSeen):
                recorder.snapshot(now)


class _Shadowed(Default):
    """The live core beside kube-scheduler's default scores, with whatever is in shadow looking on."""

    def __init__(
        self, config: Config, clock: Callable[[], float], every_seconds: float, reports: list[dict[str, Any]]
    ) -> None:
        super().__init__()
        self._clock, self._mode, self._every, self._reports = clock, config.mode, every_seconds, reports
        self._core = Core(adviser_settings(config), clock, observer_settings(config))
        self._aside = Aside(0.0, most=1)
        self._shadow = Shadow(self._core.adviser, self._aside)
        self._due = clock() + every_seconds

    def hear(self, news: tuple[News, ...]) -> None:
        if self._clock() >= self._due:
            self._due += self._every
            self._reports.append(report(self._shadow, self._mode, self._core.adviser.settings.shadows))
        for item in news:
            if isinstance(item, Reading):
                self._core.feed(item)
            else:
                self._tell(item)

    def _tell(self, event: Event) -> None:
        core = self._core
        for change in core.observer.tell(event, self._clock()):
            if isinstance(change, PodBound):
                self._shadow.bound(change)
            core.adviser.receive(change)
        if isinstance(event, NodeSeen):
            core.refresh()

    def totals(self, cluster: SimulatedCluster, pod: int, nodes: Ints) -> Ints:
        names, asked = cluster.scenario.machines.names, cluster.pod(pod)
        offered = [names[node] for node in nodes.tolist()]
        heard = self._mode == "active"
        ranking = self._core.rank(asked, offered, book=heard)
        if heard:
            self._shadow.answered(asked, ranking)
            self._aside.finish()
        else:
            self._shadow.thought(asked, ranking)
        own = super().totals(cluster, pod, nodes)
        return np.asarray(own + 10 * ranking.priorities) if heard else own
