import numpy as np
import pytest

from loadaware.simulation.generator import generate
from loadaware.simulation.scenario import Scenario
from loadaware.simulation.settings import MachineSettings, ScenarioSettings


@pytest.fixture(scope="session")
def scenario() -> Scenario:
    """Eight nodes, two hours."""
    settings = ScenarioSettings(duration_seconds=7200.0, machines=MachineSettings(nodes=8))
    return generate(settings, np.random.default_rng(3))
