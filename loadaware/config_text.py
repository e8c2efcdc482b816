"""A configuration as text that `parse` takes again: for a record of what was in force, and for other processes."""

from typing import Any

import msgspec

from loadaware.config import Config, PrometheusSource, parse
from loadaware.quantities import Duration, Quantity, format_duration


def config_text(config: Config) -> str:
    """As JSON, which is YAML. `parse(config_text(config)) == config`."""
    return msgspec.json.encode(config, enc_hook=_plain).decode()


def without_secrets(config: Config) -> Config:
    """The same without headers, which may hold a token, and without user names."""
    return msgspec.structs.replace(
        config,
        source=_bare(config.source),
        second_source=None if config.second_source is None else _bare(config.second_source),
    )


def _bare(source: Any) -> Any:
    if isinstance(source, PrometheusSource):
        return msgspec.structs.replace(source, headers={}, basic_auth=None)
    return source


def _plain(value: object) -> object:
    if isinstance(value, Duration):
        return format_duration(value)
    if isinstance(value, Quantity):
        return float(value)
    raise NotImplementedError(type(value).__name__)


__all__ = ["config_text", "parse", "without_secrets"]
