"""What a search may change of a profile, and between which bounds: `space.yaml`.

    scorers:
    - name: EntropicRisk
      optional: true                          may be left out
      weight: {from: 0.1, to: 10, log: true}  a range; a plain number is fixed
      args: {range: {oneOf: [0.5, 1, 2]}}     a choice; ranges and choices may stand anywhere in the args
    maxScore: {from: 10, to: 100, whole: true}
    combine: {oneOf: [Weighted, Minimum]}

What the file does not name stays as the profile has it; its filters always do. All of it is tried at the bounds before
anything runs: a wrong key is refused with its path.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any, Protocol

import msgspec

from loadaware.config import ProfileSection, ScorerReference, Section, convert, parse_yaml
from loadaware.errors import ConfigError
from loadaware.plugins import make_scorer

DIGITS = 3
"""That a drawn number keeps: nobody wants to read 7.3124980123 in a configuration, and nothing depends on it."""
ALWAYS = 1.0


class Range(Section, frozen=True, kw_only=True):
    """A number between two others."""

    least: float = msgspec.field(name="from")
    most: float = msgspec.field(name="to")
    log: bool = False
    """Drawn evenly by its logarithm: for what counts by how many times it is larger."""
    whole: bool = False

    def __post_init__(self) -> None:
        if not -math.inf < self.least < self.most < math.inf:
            raise ValueError(f"from must be below to, not {self.least:g} and {self.most:g}")
        if self.log and self.least <= 0:
            raise ValueError(f"from must be above zero where log is true, not {self.least:g}")
        if self.whole and not (self.least.is_integer() and self.most.is_integer()):
            raise ValueError("from and to must be whole numbers where whole is true")

    def middle(self) -> float:
        """Between the bounds, and inside of a whole number's steps."""
        middle = math.sqrt(self.least * self.most) if self.log else (self.least + self.most) / 2.0
        return round(middle) if self.whole else self.rounded(middle)

    def rounded(self, value: float) -> float:
        """With the digits that are kept, and within the bounds."""
        return min(max(float(f"{value:.{DIGITS}g}"), self.least), self.most)


class Choice(Section, frozen=True, kw_only=True):
    """One of some values."""

    one_of: tuple[Any, ...]

    def __post_init__(self) -> None:
        if not self.one_of:
            raise ValueError("oneOf must name at least one value")


@dataclass(frozen=True)
class Fixed:
    """A value that is not searched."""

    value: Any


Setting = Range | Choice | Fixed
Tree = Mapping[str, Any]
"""Args: names to settings, or to trees of them."""


class Draws(Protocol):
    """Whoever draws values: the sampler of a search, or a test."""

    def number(self, name: str, within: Range) -> float:
        """A number in a range."""
        ...

    def choice(self, name: str, values: Sequence[Any]) -> Any:
        """One of some values."""
        ...


class ScorerText(Section, frozen=True, kw_only=True):
    """A scorer as in the file."""

    name: str
    optional: bool = False
    weight: Any = ALWAYS
    args: Mapping[str, Any] = {}


class SpaceText(Section, frozen=True, kw_only=True):
    """The file."""

    scorers: tuple[ScorerText, ...] = ()
    max_score: Any = None
    combine: Any = None


@dataclass(frozen=True)
class ScorerSpace:
    """A scorer that a profile may have."""

    name: str
    optional: bool
    weight: Setting
    args: Tree

    def draw(self, draws: Draws, *, alone: bool) -> ScorerReference:
        """With values drawn. The weight of one that is `alone` means nothing: it is 1."""
        weight = ALWAYS if alone else float(draw_value(draws, f"{self.name}.weight", self.weight))
        return ScorerReference(name=self.name, weight=weight, args=draw_tree(draws, self.name, self.args))


@dataclass(frozen=True)
class Space:
    """Everything that is searched."""

    scorers: tuple[ScorerSpace, ...]
    max_score: Setting | None = None
    combine: Setting | None = None
    text: str = ""
    """As it was written, without comments: two spaces with the same text are the same."""

    def draw(self, draws: Draws, profile: ProfileSection) -> ProfileSection:
        """The profile with values drawn."""
        changes: dict[str, Any] = {}
        if self.scorers:
            chosen = [s for s in self.scorers if not s.optional or draws.choice(f"{s.name}.used", (False, True))]
            chosen = chosen or [self.scorers[0]]
            changes["scorers"] = tuple(scorer.draw(draws, alone=len(chosen) == 1) for scorer in chosen)
        if self.max_score is not None:
            changes["max_score"] = _whole(draw_value(draws, "maxScore", self.max_score))
        if self.combine is not None:
            changes["combine"] = draw_value(draws, "combine", self.combine)
        return msgspec.structs.replace(profile, **changes)


def draw_value(draws: Draws, name: str, setting: Setting) -> Any:
    """One value."""
    match setting:
        case Fixed():
            return setting.value
        case Choice(one_of=values):
            return draws.choice(name, values)
        case Range(whole=True):
            return round(draws.number(name, setting))
        case Range():
            return setting.rounded(draws.number(name, setting))


def draw_tree(draws: Draws, name: str, tree: Tree) -> dict[str, Any]:
    """Args."""
    return {
        key: draw_tree(draws, f"{name}.{key}", value)
        if isinstance(value, Mapping)
        else draw_value(draws, f"{name}.{key}", value)
        for key, value in tree.items()
    }


def default_space() -> Space:
    """The one that is shipped."""
    text = files("loadaware.tuning").joinpath("default_space.yaml").read_text(encoding="utf-8")
    return parse_space(text, "default_space.yaml")


def load_space(file: str | Path) -> Space:
    """Read a file. Raises ConfigError with file, path and the nearest right word."""
    try:
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(str(file), "", f"cannot be read: {error}") from error
    return parse_space(text, str(file))


def parse_space(text: str, file: str = "<space>") -> Space:
    """From YAML; tried at its bounds. Raises ConfigError."""
    value = parse_yaml(text, file)
    told: SpaceText = convert({} if value is None else value, SpaceText, file)
    scorers = tuple(_scorer(scorer, file, f"scorers[{n}]") for n, scorer in enumerate(told.scorers))
    names = [scorer.name for scorer in scorers]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ConfigError(file, "scorers", f"{twice} stands twice")
    top = partial(_setting_or_none, file=file)
    space = Space(scorers, top(told.max_score, path="maxScore"), top(told.combine, path="combine"), _canonical(value))
    if not any(True for _ in _searched(space)):
        raise ConfigError(
            file, "", "names nothing to search", "give a range {from: 1, to: 3} or a choice {oneOf: [..]}"
        )
    _try(space, file)
    return space


def _scorer(told: ScorerText, file: str, path: str) -> ScorerSpace:
    weight = _setting(told.weight, file, f"{path}.weight")
    return ScorerSpace(told.name, told.optional, weight, _tree(told.args, file, f"{path}.args"))


def _tree(value: Mapping[str, Any], file: str, path: str) -> dict[str, Any]:
    return {
        key: _tree(part, file, f"{path}.{key}")
        if isinstance(part, dict) and not _is_searched(part)
        else _setting(part, file, f"{path}.{key}")
        for key, part in value.items()
    }


def _setting_or_none(value: Any, file: str, path: str) -> Setting | None:
    return None if value is None else _setting(value, file, path)


def _setting(value: Any, file: str, path: str) -> Setting:
    if not isinstance(value, dict):
        return Fixed(value)
    made: Setting = convert(value, Choice if "oneOf" in value else Range, file, path)
    return made


def _is_searched(value: Mapping[str, Any]) -> bool:
    return bool({"from", "to", "oneOf"} & set(value))


def _searched(space: Space) -> Iterator[str]:
    """Names of what has more than one value."""
    for scorer in space.scorers:
        if scorer.optional and len(space.scorers) > 1:
            yield f"{scorer.name}.used"
        yield from _searched_in(f"{scorer.name}.weight", scorer.weight)
        yield from _searched_in(scorer.name, scorer.args)
    yield from _searched_in("maxScore", space.max_score)
    yield from _searched_in("combine", space.combine)


def _searched_in(name: str, setting: Any) -> Iterator[str]:
    match setting:
        case Range() | Choice():
            yield name
        case Mapping():
            for key, part in setting.items():
                yield from _searched_in(f"{name}.{key}", part)


def parameters(space: Space) -> list[str]:
    """Everything that is searched, by name."""
    return list(_searched(space))


@dataclass(frozen=True)
class Corner:
    """Draws the least (0), the middle (1) or the most (2) of everything; every scorer is in."""

    which: int
    choice_number: int = 0

    def number(self, name: str, within: Range) -> float:
        """The bound, or the middle."""
        return (within.least, within.middle(), within.most)[self.which]

    def choice(self, name: str, values: Sequence[Any]) -> Any:
        """One after the other; of `used`, yes."""
        return values[min(self.choice_number, len(values) - 1)]


def _try(space: Space, file: str) -> None:
    """Make a profile at the bounds and with every choice. Raises ConfigError with the path in the file."""
    for corner in [Corner(which) for which in range(3)] + [Corner(1, n) for n in range(1, _most_choices(space))]:
        for number, scorer in enumerate(space.scorers):
            path = f"scorers[{number}]"
            weight = draw_value(corner, f"{scorer.name}.weight", scorer.weight)
            reference = convert({"name": scorer.name, "weight": weight}, ScorerReference, file, path)
            make_scorer(reference.name, draw_tree(corner, scorer.name, scorer.args), file, path)
        if space.max_score is not None:
            convert({"maxScore": _whole(draw_value(corner, "maxScore", space.max_score))}, ProfileSection, file)
        if space.combine is not None:
            convert({"combine": draw_value(corner, "combine", space.combine)}, ProfileSection, file)


def _whole(value: Any) -> Any:
    return round(value) if isinstance(value, float) else value


def _most_choices(space: Space) -> int:
    return max([1, *(len(setting.one_of) for setting in _settings(space) if isinstance(setting, Choice))])


def _settings(space: Space) -> Iterator[Setting]:
    def inside(value: Any) -> Iterator[Setting]:
        if isinstance(value, Mapping):
            for part in value.values():
                yield from inside(part)
        elif value is not None:
            yield value

    parts: Sequence[Any] = [space.max_score, space.combine, *(p for s in space.scorers for p in (s.weight, s.args))]
    for part in parts:
        yield from inside(part)


def _canonical(value: Any) -> str:
    return msgspec.json.encode(value, order="sorted").decode()
