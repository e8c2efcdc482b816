"""A replay foretells what another policy would really have done: in the simulator, where that can be tried.

A simulated cluster is placed by the default scores and recorded; the replay under our default configuration
is compared with the same cluster really placed by it.
"""

from pathlib import Path

import pytest

from collectors.history import HistoryWriter
from loadaware.config import Config
from loadaware.notebook.generated import RecordedDefault
from loadaware.recorder import Recorder, beginning_of
from loadaware.replay.outcome import ReplaySettings
from loadaware.replay.run import replay
from loadaware.simulating import Options, setup_of
from loadaware.simulation.engine import Run
from loadaware.simulation.stage import Stage, make_stage
from loadaware.simulation.trial import run_trial

HOUR = 3600.0


def record(stage: Stage, folder: Path) -> float:
    """Write the history; the true spread of utilization across nodes."""
    recorder = Recorder(HistoryWriter(folder, flush_on_write=False), beginning_of(Config(), requests=False))
    run = Run(stage.scenario, lambda clock: RecordedDefault(clock, recorder), stage.setup.engine, stage.seed)
    spread = run.report().spread
    recorder.close()
    return spread


def test_the_replayed_gain_is_near_the_true_one(tmp_path: Path) -> None:
    stage = make_stage(setup_of(Options(nodes=16, hours=2.0, warm_up_hours=1.0)), None, seed=1)
    before = record(stage, tmp_path)
    after = run_trial(stage, "EntropicRisk*3+default").std
    outcome = replay(tmp_path, Config(), ReplaySettings(warm_up_seconds=HOUR))
    assert outcome.recorded.spread == pytest.approx(before, rel=0.05)
    assert after < before
    assert outcome.recorded.spread - outcome.replayed.spread == pytest.approx(before - after, rel=0.4)
