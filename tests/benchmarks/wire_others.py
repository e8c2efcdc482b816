"""Times beside the wire: how soon the command line speaks, how fast the simulator runs."""

import statistics
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np

from loadaware.scorers.entropic_risk import EntropicRisk
from loadaware.simulation.engine import EngineSettings, Run
from loadaware.simulation.generator import generate
from loadaware.simulation.policies import Advised
from loadaware.simulation.settings import ScenarioSettings


def help_seconds(times: int) -> float:
    """The median time of `loadaware --help`."""
    took = []
    for _ in range(times):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-m", "loadaware", "--help"], check=True, capture_output=True)
        took.append(time.perf_counter() - started)
    return statistics.median(took)


def simulator_steps_per_second(nodes: int = 20, hours: float = 2.0) -> float:
    """Steps of simulated time per second, with EntropicRisk."""
    settings = ScenarioSettings(duration_seconds=hours * 3600.0)
    settings = replace(settings, machines=replace(settings.machines, nodes=nodes))
    scenario = generate(settings, np.random.default_rng(1))
    engine = EngineSettings(warm_up_seconds=0.0)
    run = Run(scenario, lambda clock: Advised(EntropicRisk(), clock), engine, 1)
    started = time.perf_counter()
    run.report()
    return hours * 3600.0 / engine.timing.step_seconds / (time.perf_counter() - started)
