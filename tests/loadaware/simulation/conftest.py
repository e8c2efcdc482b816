from dataclasses import replace

import numpy as np
import pytest

from loadaware.simulation.generator import generate
from loadaware.simulation.scenario import Scenario
from loadaware.simulation.settings import FailureSettings, MachineSettings, ScenarioSettings

SMALL = ScenarioSettings(
    duration_seconds=6 * 3600.0,
    machines=MachineSettings(nodes=12),
    failures=FailureSettings(per_day=24.0, away_median_seconds=600.0),
)


@pytest.fixture(scope="session")
def scenario() -> Scenario:
    """Twelve nodes, six hours, a failure about every hour."""
    return generate(SMALL, np.random.default_rng(5))


@pytest.fixture(scope="session")
def quiet(scenario: Scenario) -> Scenario:
    """The same without failures."""
    return replace(scenario, failures=())
