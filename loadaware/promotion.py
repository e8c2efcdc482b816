"""`loadaware promote`: a profile goes into shadow, and from shadow it becomes the live one. Text in, text out.

    best.yaml --into_shadow--> config.yaml with a profile `tuned`, shadow: true --promote--> the live profile is like it

The live profile keeps its schedulerName, because pods name it; it takes over scorers, filters, maxScore, combine and
leastPassing of the one in shadow, which then goes away or (keep_old) becomes what the live one was.
"""

from dataclasses import dataclass

import msgspec

from loadaware.config import Config, ProfileSection, parse
from loadaware.errors import ConfigError
from loadaware.profile_text import appending, profile_mapping, rewritten, setting
from loadaware.profiles import adviser_settings
from loadaware.yaml_text import Change, Drop, Set, write


@dataclass(frozen=True)
class Promoted:
    """A configuration's new text, and what there is to say."""

    text: str
    config: Config
    remarks: tuple[str, ...]


def into_shadow(text: str, file: str, other: Config, name: str, of: str | None = None) -> Promoted:
    """The configuration with a profile of another one in shadow, by this name. Raises ConfigError.

    `of` names the profile of the other; None: the one that is not in the configuration already, as after tuning it.
    """
    config = parse(text, file)
    taken = next((p for p in config.profiles if p.scheduler_name == name), None)
    if taken is not None and not taken.shadow:
        raise ConfigError(file, "profiles", f"{name!r} is a live profile", "choose another name with --profile")
    chosen = _differing(config, other) if of is None else _named(other, "--shadow", of)
    shadow = msgspec.structs.replace(chosen, scheduler_name=name, shadow=True)
    if taken is not None:
        profiles = tuple(shadow if p.scheduler_name == name else p for p in config.profiles)
        changes = setting(text, config, name, shadow)
    else:
        profiles = (*config.profiles, shadow)
        changes = appending(text, shadow)
    expected = msgspec.structs.replace(config, profiles=profiles)
    said = [f"{name} is scored aside: `loadaware shadow` and the dashboard compare it with what is decided"]
    live = chosen.scheduler_name
    if live in {p.scheduler_name for p in config.profiles[1:] if not p.shadow}:
        said.append(f"it was tuned for {live}: when it is promoted, say so with `--live {live}`")
    return _promoted(text, file, changes, expected, tuple(said))


def _differing(config: Config, other: Config) -> ProfileSection:
    """The one profile of the other that the configuration does not have, live ones first; the first if it has all."""
    new = [profile for profile in other.profiles if profile not in config.profiles]
    candidates = [profile for profile in new if not profile.shadow] or new
    if len(candidates) > 1:
        names = ", ".join(profile.scheduler_name for profile in candidates)
        raise ConfigError("--shadow", "profiles", "several are new", f"name one of them with --of: {names}")
    return candidates[0] if candidates else other.profiles[0]


def promote(text: str, file: str, name: str, live: str | None = None, *, keep_old: bool = False) -> Promoted:
    """The configuration with a shadow profile made live. Raises ConfigError if there is nothing to promote."""
    config = parse(text, file)
    profile = _named(config, file, name)
    if not profile.shadow:
        return _switched_on(text, file, config, name)
    target = _named(config, file, config.profiles[0].scheduler_name if live is None else live)
    if target.shadow:
        raise ConfigError(file, "profiles", f"{target.scheduler_name!r} is in shadow itself", "name a live one")
    risen = msgspec.structs.replace(profile, scheduler_name=target.scheduler_name, shadow=False)
    fallen = msgspec.structs.replace(target, scheduler_name=name, shadow=True)
    made = {target.scheduler_name: risen, name: fallen if keep_old else None}
    profiles = tuple(p for old in config.profiles if (p := made.get(old.scheduler_name, old)) is not None)
    changes: list[Change] = setting(text, config, target.scheduler_name, profile)
    if keep_old:
        changes += setting(text, config, name, target)
    else:
        number = next(n for n, p in enumerate(config.profiles) if p.scheduler_name == name)
        changes.append(Drop(("profiles",), number))
    remarks = [f"pods of {target.scheduler_name} are now ranked as {name} would have ranked them"]
    if keep_old:
        remarks.append(f"what was live is now in shadow, as {name}")
    if config.mode == "shadow":
        remarks.append(f"mode is still shadow: nothing counts until `promote --profile {target.scheduler_name}`")
    expected = msgspec.structs.replace(config, profiles=profiles)
    return _promoted(text, file, changes, expected, tuple(remarks))


def _switched_on(text: str, file: str, config: Config, name: str) -> Promoted:
    """A live profile under `mode: shadow`: promoted by switching the mode."""
    if config.mode != "shadow":
        shadows = ", ".join(p.scheduler_name for p in config.profiles if p.shadow) or "none"
        raise ConfigError(file, "profiles", f"{name!r} is live already", f"in shadow there are: {shadows}")
    expected = msgspec.structs.replace(config, mode="active")
    said = "mode is active now: answers count, of every profile that is not in shadow"
    return _promoted(text, file, [Set((), "mode", "active")], expected, (said,))


def chart_values(config: Config) -> str:
    """The profiles as values of the chart; a list in values replaces the one before it whole."""
    return write({"config": {"profiles": [profile_mapping(profile) for profile in config.profiles]}})


def _promoted(text: str, file: str, changes: list[Change], expected: Config, remarks: tuple[str, ...]) -> Promoted:
    adviser_settings(expected, file)
    changed, kept = rewritten(text, changes, expected)
    if not kept and "#" in text:
        remarks = (*remarks, "the file could not be changed in place: its comments are lost")
    return Promoted(changed, expected, remarks)


def _named(config: Config, file: str, name: str) -> ProfileSection:
    for profile in config.profiles:
        if profile.scheduler_name == name:
            return profile
    known = ", ".join(profile.scheduler_name for profile in config.profiles)
    raise ConfigError(file, "profiles", f"there is no profile {name!r}", f"there are: {known}")
