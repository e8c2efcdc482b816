"""Is the configuration readable and right, down to each plugin's args and the source's address?"""

from collections.abc import Iterator

from loadaware.config import Config, load
from loadaware.doctor.finding import Finding, fail, ok
from loadaware.errors import ConfigError
from loadaware.profiles import adviser_settings
from loadaware.sources import check_source

WHAT = "configuration"
DEFAULTS = "the defaults"


def load_checked(file: str | None) -> Config:
    """The configuration, all of it tried. Raises ConfigError."""
    config = load(file) if file else Config()
    adviser_settings(config, file or DEFAULTS)
    check_source(config, file or DEFAULTS)
    return config


def check_configuration(file: str | None, into: list[Config]) -> Iterator[Finding]:
    """The finding; a good configuration is put into the list."""
    try:
        config = load_checked(file)
    except ConfigError as error:
        yield fail(WHAT, str(error), "mend the file; `loadaware check-config FILE` says when it is good")
        return
    into.append(config)
    source = type(config.source).__name__.removesuffix("Source")
    names = ", ".join(profile.scheduler_name for profile in config.profiles)
    yield ok(WHAT, f"{file or DEFAULTS}: usage from {source}, profiles for {names}")
