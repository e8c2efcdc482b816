"""Judgements in a file, so that a search that was stopped goes on where it was.

A search is a function of its seed; only judging takes time. So judgements are kept, not the search: begun again, it
asks the same questions, finds the answers of before, and comes to the same end as if it had never been stopped.

The first line says what is searched, and on which windows of a history; a file of another search is refused. Then a
line per judgement, written at once and whole; one that a crash cut short is removed.
"""

import hashlib
from pathlib import Path

import msgspec

from loadaware.config import ProfileSection
from loadaware.errors import ConfigError
from loadaware.tuning.source import Judged, Plan

SEARCH = "loadaware tune 1"


class Head(msgspec.Struct, frozen=True, tag_field="is", tag=SEARCH):
    """What a file is about: digests by name, so that one can say what differs."""

    about: dict[str, str]
    plan: Plan | None = None


class Line(msgspec.Struct, frozen=True, tag_field="is", tag="judged"):
    """One judgement."""

    key: str
    case: str
    judged: Judged


WORDS = {
    "source": "other data, or data of another time, or was written by another version of loadaware",
    "space": "another search space",
    "config": "another configuration to begin with",
    "seed": "another seed",
    "search": "other objectives, another batch size or other pruning",
}


def digest(text: str | bytes) -> str:
    """Short, and the same for the same."""
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()[:16]


def profile_key(profile: ProfileSection) -> str:
    """Two profiles with the same key are the same."""
    return digest(msgspec.json.encode(profile, enc_hook=float, order="sorted"))


class Memory:
    """Judgements that are kept as long as this process lives."""

    def __init__(self) -> None:
        self._judged: dict[tuple[str, str], Judged] = {}

    def __len__(self) -> int:
        return len(self._judged)

    def get(self, key: str, case: str) -> Judged | None:
        """A judgement, if there is one."""
        return self._judged.get((key, case))

    def add(self, key: str, case: str, judged: Judged) -> None:
        """Keep it."""
        self._judged[key, case] = judged


def kept_plan(file: str | Path) -> Plan | None:
    """On which windows the search of a file was begun; None if there is no such file, or it does not say."""
    try:
        with Path(file).open("rb") as opened:
            return msgspec.json.decode(opened.readline(), type=Head).plan
    except (OSError, msgspec.DecodeError):
        return None


class Store(Memory):
    """Reads what there is, and appends. Raises ConfigError if the file is something else or cannot be written."""

    def __init__(self, file: str | Path, about: dict[str, str], plan: Plan | None = None) -> None:
        super().__init__()
        self._file = Path(file)
        begun = self._read(about)
        try:
            with self._file.open("ab") as opened:
                if not begun:
                    opened.write(msgspec.json.encode(Head(about, plan)) + b"\n")
        except OSError as error:
            raise ConfigError(str(file), "", f"cannot be written: {error.strerror}") from error

    def add(self, key: str, case: str, judged: Judged) -> None:
        """Keep it, and write it down."""
        with self._file.open("ab") as file:
            file.write(msgspec.json.encode(Line(key, case, judged)) + b"\n")
        super().add(key, case, judged)

    def _read(self, about: dict[str, str]) -> bool:
        """Whether there was something."""
        try:
            content = self._file.read_bytes()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise ConfigError(str(self._file), "", f"cannot be read: {error.strerror}") from error
        *whole, rest = content.split(b"\n")
        if not whole:
            self._refuse_others(rest, b'{"is":"loadaware tune')
        for number, line in enumerate(whole, start=1):
            self._take(number, line, about)
        if rest:
            self._refuse_others(rest, b'{"is":"')
            with self._file.open("r+b") as file:
                file.truncate(len(content) - len(rest))
        return bool(whole)

    def _take(self, number: int, line: bytes, about: dict[str, str]) -> None:
        try:
            read = msgspec.json.decode(line, type=Head | Line)
        except msgspec.DecodeError as error:
            problem = f"line {number} is not of a search ({error}); is this a file of `loadaware tune`?"
            raise ConfigError(str(self._file), "", problem) from error
        if isinstance(read, Head):
            self._compare(read.about, about)
        elif number == 1:
            raise ConfigError(str(self._file), "", "does not begin as a file of `loadaware tune`")
        else:
            self._judged[read.key, read.case] = read.judged

    def _compare(self, was: dict[str, str], now: dict[str, str]) -> None:
        differing = [name for name in now if was.get(name) != now[name]]
        if differing:
            why = "; ".join(WORDS.get(name, name) for name in differing)
            hint = "name another --output, or remove that file to begin anew"
            raise ConfigError(str(self._file), "", f"holds the runs of another search: {why}", hint)

    def _refuse_others(self, rest: bytes, beginning: bytes) -> None:
        if not (rest.startswith(beginning) or beginning.startswith(rest)):
            raise ConfigError(str(self._file), "", "does not end as a file of `loadaware tune`")
