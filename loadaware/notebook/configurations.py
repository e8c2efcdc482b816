"""A configuration in a notebook: a file's path, the text of one, a Config, or scorers with their weights."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from loadaware.config import Config, ProfileSection, ScorerReference, load, parse
from loadaware.errors import ConfigError
from loadaware.profiles import adviser_settings

Configuration = Config | str | Path


def configuration(config: Configuration) -> Config:
    """From a Config, a file's path or the text of one. Raises ConfigError."""
    if isinstance(config, Config):
        return config
    if isinstance(config, Path) or ("\n" not in config and ":" not in config):
        return load(config)
    return parse(config)


def weighted(weights: Mapping[str, float], max_score: int = 30) -> Config:
    """One profile with these scorers; those of weight 0 are left out. Raises ConfigError for one that there is not."""
    scorers = tuple(ScorerReference(name=name, weight=weight) for name, weight in weights.items() if weight > 0)
    config = Config(profiles=(ProfileSection(scorers=scorers, max_score=max_score),))
    adviser_settings(config, "weights")
    return config


def alone(config: Configuration, profile: str | None = None) -> Config:
    """The configuration with one of its profiles, live: to replay what is in shadow. None: the first that is live.

    Raises ConfigError if there is none.
    """
    made = configuration(config)
    live = [one for one in made.profiles if (not one.shadow if profile is None else one.scheduler_name == profile)]
    if not live:
        known = ", ".join(one.scheduler_name for one in made.profiles)
        wanted = "live profile" if profile is None else f"profile {profile!r}"
        raise ConfigError("config", "profiles", f"there is no {wanted}", f"there are: {known}")
    return msgspec.structs.replace(made, profiles=(msgspec.structs.replace(live[0], shadow=False),))


def text(config: Configuration) -> str:
    """The profiles as YAML that `check-config` accepts."""
    from loadaware.profile_text import minimal

    return minimal(configuration(config))
