"""Finished runs in a file, so that a comparison that was stopped goes on where it was.

One JSON line per run: a key made of everything that settles it (setup, recorded day, seed, policy, code), some words
for people, and the outcome. A line is written at once and whole; one that a crash cut short is removed.
"""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import msgspec

from loadaware.errors import ConfigError
from loadaware.simulation.code_digest import code_digest
from loadaware.simulation.comparison import Days
from loadaware.simulation.stage import day_of
from loadaware.simulation.traces import Traces
from loadaware.simulation.trial import Outcome, Trial

BEGINNING = b'{"key":'


class Line(msgspec.Struct, frozen=True):
    """One finished run."""

    key: str
    load: float
    dataset: str
    seed: int
    policy: str
    outcome: dict[str, float | None]
    """Null is what is not a number."""


class Keys:
    """Makes keys; digests are worked out once."""

    def __init__(self, days: Days, code: str | None = None) -> None:
        self._days = days
        self._code = code_digest() if code is None else code
        self._digests = {id(day): _digest(day) for of_set in days.values() for day in of_set}

    def of(self, trial: Trial) -> str:
        """Two trials have the same key if they must have the same outcome."""
        day = day_of(self._days.get(trial.dataset, ()), trial.seed)
        recorded = "" if day is None else self._digests[id(day)]
        parts = [asdict(trial.setup), recorded, trial.seed, trial.policy, self._code]
        return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:24]


class RunStore:
    """Reads what there is, and appends. Raises ConfigError if the file is something else or cannot be written."""

    def __init__(self, file: str | Path, keys: Keys) -> None:
        self._file, self._keys = Path(file), keys
        self._outcomes = self._read()
        try:
            self._file.open("ab").close()
        except OSError as error:
            raise ConfigError(str(file), "", f"cannot be written: {error.strerror}") from error

    def __len__(self) -> int:
        return len(self._outcomes)

    def get(self, trial: Trial) -> Outcome | None:
        """The outcome, if the trial was run before."""
        return self._outcomes.get(self._keys.of(trial))

    def add(self, trial: Trial, outcome: Outcome) -> None:
        """Keep it."""
        key = self._keys.of(trial)
        figures = msgspec.structs.asdict(outcome)
        line = Line(key, trial.setup.scenario.load, trial.dataset, trial.seed, trial.policy, figures)
        with self._file.open("ab") as file:
            file.write(msgspec.json.encode(line) + b"\n")
        self._outcomes[key] = outcome

    def _read(self) -> dict[str, Outcome]:
        try:
            content = self._file.read_bytes()
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise ConfigError(str(self._file), "", f"cannot be read: {error.strerror}") from error
        *whole, rest = content.split(b"\n")
        outcomes = dict(self._parse(number, line) for number, line in enumerate(whole, start=1) if line)
        if rest:
            self._cut(rest, len(content) - len(rest))
        return outcomes

    def _parse(self, number: int, line: bytes) -> tuple[str, Outcome]:
        try:
            read = msgspec.json.decode(line, type=Line)
            figures = {name: math.nan if value is None else value for name, value in read.outcome.items()}
            return read.key, Outcome(**figures)
        except (msgspec.DecodeError, TypeError) as error:
            problem = f"line {number} is not a finished run ({error}); is this a file of `loadaware simulate`?"
            raise ConfigError(str(self._file), "", problem) from error

    def _cut(self, rest: bytes, length: int) -> None:
        """Remove the beginning of a line, and nothing that is not one."""
        if not (rest.startswith(BEGINNING) or BEGINNING.startswith(rest)):
            problem = "does not end with a finished run; is this a file of `loadaware simulate`?"
            raise ConfigError(str(self._file), "", problem)
        with self._file.open("r+b") as file:
            file.truncate(length)


def _digest(day: Traces) -> str:
    return hashlib.sha256(day.levels.tobytes() + str(day.levels.shape).encode()).hexdigest()[:16]


def split(trials: list[Trial], store: RunStore | None) -> tuple[Mapping[Trial, Outcome], list[Trial]]:
    """Those whose outcome is stored, and those that are to be run."""
    done = {trial: outcome for trial in trials if store is not None and (outcome := store.get(trial)) is not None}
    return done, [trial for trial in trials if trial not in done]
