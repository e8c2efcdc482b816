"""A profile as people write it, and a configuration's text with another profile in it: comments stay where they can."""

from collections.abc import Sequence
from typing import Any

import msgspec

from loadaware.config import API_VERSION, KIND, Config, ProfileSection, parse, parse_yaml
from loadaware.config_text import config_text
from loadaware.errors import ConfigError
from loadaware.yaml_text import Append, CannotEditError, Change, Set, edit, write

TUNED = ("scorers", "maxScore", "combine", "filters", "leastPassing")
"""What makes a profile what it is, its name and its being a shadow aside."""


def profile_mapping(profile: ProfileSection) -> dict[str, Any]:
    """Everything that is not a default, in the order of the classes."""
    mapping: dict[str, Any] = _told(_plain(profile), profile)
    return {"schedulerName": profile.scheduler_name, **mapping}


def _plain(profile: ProfileSection) -> Any:
    """As `config_text` writes it; a shadow cannot be the first profile."""
    before = ProfileSection(scheduler_name=f"before-{profile.scheduler_name}")
    return msgspec.json.decode(config_text(Config(profiles=(before, profile))))["profiles"][1]


def _told(plain: Any, value: Any) -> Any:
    """A plain value without what its class has by default."""
    if isinstance(value, msgspec.Struct):
        kept = {}
        for field in msgspec.structs.fields(value):
            inner = getattr(value, field.name)
            if field.required or inner != _default(field):
                kept[field.encode_name] = _told(plain[field.encode_name], inner)
        return kept
    if isinstance(value, tuple):
        return [_told(p, v) for p, v in zip(plain, value, strict=True)]
    return _short(plain)


def _default(field: msgspec.structs.FieldInfo) -> Any:
    return field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()


def _short(value: Any) -> Any:
    """1 for 1.0."""
    if isinstance(value, dict):
        return {key: _short(part) for key, part in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value


def minimal(config: Config) -> str:
    """A configuration with nothing but its profiles."""
    profiles = [profile_mapping(profile) for profile in config.profiles]
    return write({"apiVersion": API_VERSION, "kind": KIND, "profiles": profiles})


def rewritten(text: str, changes: Sequence[Change], expected: Config) -> tuple[str, bool]:
    """The text changed so that it says what is expected, and whether its comments are still there."""
    try:
        changed = edit(text, changes)
        if parse(changed) == expected:
            return changed, True
    except (CannotEditError, ConfigError):
        pass
    return _whole(text, expected), False


def _whole(text: str, expected: Config) -> str:
    raw = parse_yaml(text, "<text>") or {}
    raw["profiles"] = [profile_mapping(profile) for profile in expected.profiles]
    if raw.get("mode", "active") != expected.mode:
        raw["mode"] = expected.mode
    return write(raw)


def replacing(text: str, config: Config, profile: ProfileSection) -> list[Change]:
    """The changes that give the profile of that name what this one has."""
    return setting(text, config, profile.scheduler_name, profile)


def setting(text: str, config: Config, name: str, profile: ProfileSection) -> list[Change]:
    """The changes that make the profile called `name` like another, its name and its being a shadow aside."""
    raw = parse_yaml(text, "<text>") or {}
    if "profiles" not in raw:
        renamed = msgspec.structs.replace(profile, scheduler_name=name, shadow=False)
        return [Set((), "profiles", [profile_mapping(renamed)])]
    number = next(n for n, other in enumerate(config.profiles) if other.scheduler_name == name)
    wanted, there = profile_mapping(profile), raw["profiles"][number]
    default = _defaults()
    return [
        Set(("profiles", number), key, wanted.get(key, default[key]))
        for key in TUNED
        if there.get(key, default[key]) != wanted.get(key, default[key])
    ]


def _defaults() -> dict[str, Any]:
    plain = _plain(ProfileSection())
    return {key: plain[key] for key in TUNED}


def appending(text: str, profile: ProfileSection) -> list[Change]:
    """The changes that add a profile at the end."""
    raw = parse_yaml(text, "<text>") or {}
    if "profiles" in raw:
        return [Append(("profiles",), profile_mapping(profile))]
    live = [profile_mapping(one) for one in Config().profiles]
    return [Set((), "profiles", [*live, profile_mapping(profile)])]
