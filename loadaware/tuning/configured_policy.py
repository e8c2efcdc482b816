"""A whole profile in the simulator: several scorers with weights, windows and in-flight rule as configured."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from loadaware.config import Config
from loadaware.core import Core
from loadaware.errors import ConfigError
from loadaware.profile import Profile
from loadaware.profiles import adviser_settings, observer_settings
from loadaware.simulation.engine import EngineSettings
from loadaware.simulation.policies import Advised, Default


class Configured(Advised):
    """The live core as configured, beside kube-scheduler's default scores."""

    def __init__(self, config: Config, profile: str, clock: Callable[[], float], engine: EngineSettings) -> None:
        one = profile_of(config, profile)
        self._adviser = replace(
            adviser_settings(config), profiles={one.name: one}, shadows={}, default_profile=one.name
        )
        self._observer = replace(observer_settings(config), demand=engine.demand)
        self._clock = clock
        self._core = Core(self._adviser, clock, self._observer)
        self._default = Default()
        self._restart = engine.restart
        self._restart_at = np.inf if engine.restart is None else clock() + engine.restart.after_seconds
        self._there = {}


def profile_of(config: Config, name: str) -> Profile:
    """A profile by its schedulerName, made. Raises ConfigError."""
    settings = adviser_settings(config)
    made = {**settings.profiles, **settings.shadows}
    if name not in made:
        raise ConfigError("--profile", "", f"there is no profile {name!r}", f"there are: {', '.join(made)}")
    return made[name]
