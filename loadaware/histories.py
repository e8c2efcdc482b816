"""`loadaware history`: what is in a recorded folder, and a copy of it that can be shared."""

import math
import secrets
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from collectors.history import Checkpoint, HistoryReader, Mark
from loadaware.config import parse
from loadaware.errors import ConfigError
from loadaware.progress import duration, moment, progress
from loadaware.recorded import Configured
from loadaware.recorder import BEGAN, CONFIGURED, LOST, Beginning, CheckpointState

if TYPE_CHECKING:
    from rich.console import Console

KEY_BYTES = 32
MOST_GAPS = 10


def describe(folder: str, *, skip_damaged: bool = False) -> dict[str, Any]:
    """What is in a history, for programs. Raises HistoryError."""
    reader = HistoryReader(folder, skip_damaged=skip_damaged)
    summary = reader.summary()
    configs, requests, lost = _configs(reader)
    told = asdict(summary)
    told["interval_seconds"] = None if math.isnan(summary.interval_seconds) else summary.interval_seconds
    return {
        "folder": folder,
        **{_camel(name): value for name, value in told.items()},
        "configs": configs,
        "requestsRecorded": requests,
        "answersLost": lost,
    }


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(other.capitalize() for other in others)


def _configs(reader: HistoryReader) -> tuple[list[dict[str, Any]], bool | None, int]:
    """Configurations in force, each with the time from which on; whether requests were recorded, and how many were
    lost.
    """
    found: list[dict[str, Any]] = []
    requests: bool | None = None
    lost = 0
    for record in reader.records(kinds=["marks", "checkpoints"]):
        match record.content:
            case Mark(name=name, detail=detail) if name == BEGAN:
                beginning = msgspec.msgpack.decode(detail, type=Beginning)
                text, requests = beginning.config, beginning.requests
            case Mark(name=name, detail=detail) if name == CONFIGURED:
                text = msgspec.msgpack.decode(detail, type=Configured).config
            case Mark(name=name, detail=detail) if name == LOST:
                lost += int(detail)
                continue
            case Checkpoint(state=state) if not found:
                beginning = msgspec.msgpack.decode(state, type=CheckpointState).beginning
                text, requests = beginning.config, beginning.requests
            case _:
                continue
        if not found or found[-1]["config"] != msgspec.json.decode(text):
            found.append({"since": record.time, "config": msgspec.json.decode(text)})
    return found, requests, lost


def print_description(told: Mapping[str, Any], console: "Console | None" = None) -> None:
    """For people."""
    from rich.console import Console

    console = console or Console(markup=False, highlight=False)
    for line in lines_of(told):
        console.print(line, soft_wrap=True)


def lines_of(told: Mapping[str, Any]) -> list[str]:
    """A history in some lines."""
    records = told["records"]
    interval = told["intervalSeconds"]
    every = "" if interval is None else f", every {interval:.0f} s"
    lines = [
        f"{told['folder']}: {duration(told['latest'] - told['earliest'])}, "
        f"{moment(told['earliest'])} to {moment(told['latest'])}",
        f"  size       {_size(told['size'])} in {told['segments']} segments",
        f"  nodes      {told['nodes']} names, {told['nodeSamples']} samples",
        f"  pods       {told['pods']} names, {told['podSamples']} samples",
        f"  readings   {records['readings']}{every}; {', '.join(told['resources'])}",
        f"  events     {records['events']}",
        f"  requests   {records['requests']}{_verbs(told)}",
        f"  gaps       {len(told['gaps'])}",
    ]
    lines += [f"    {duration(g['end'] - g['start'])} from {moment(g['start'])}" for g in told["gaps"][:MOST_GAPS]]
    if len(told["gaps"]) > MOST_GAPS:
        lines.append(f"    and {len(told['gaps']) - MOST_GAPS} more")
    if told["answersLost"]:
        lines.append(f"  lost       {told['answersLost']} answers that came faster than they could be recorded")
    if told["clockJumps"]:
        lines.append(f"  clock      went back {told['clockJumps']} times")
    lines += [f"  config     from {moment(c['since'])}: {_profiles(c['config'])}" for c in told["configs"]]
    if told["missingRecords"]:
        lines.append(f"  missing    {told['missingRecords']} records: dropped, or left out of a copy")
    lines += [f"  note       {note}" for note in told["notes"]]
    return lines


def _verbs(told: Mapping[str, Any]) -> str:
    if told["requestsRecorded"] is False:
        return " (not recorded)"
    counts = ", ".join(f"{verb} {count}" for verb, count in told["verbs"].items())
    return f": {counts}" if counts else ""


def _profiles(config: Mapping[str, Any]) -> str:
    said = []
    for profile in parse(msgspec.json.encode(config).decode()).profiles:
        scorers = ", ".join(f"{scorer.name} x {scorer.weight:g}" for scorer in profile.scorers) or "no scorer"
        filters = f"; filters {', '.join(rule.name for rule in profile.filters)}" if profile.filters else ""
        said.append(f"{profile.scheduler_name}: {scorers}{filters}")
    return "; ".join(said)


def _size(count: float) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"


def share(folder: str, target: str, key_file: str | None, *, skip_damaged: bool = False) -> int:
    """Copy a history with pseudonyms; how many records. Raises HistoryError or ConfigError."""
    from loadaware.pseudonyms import copy_with_pseudonyms

    key = _key(key_file)
    with progress("copying") as hear:
        return copy_with_pseudonyms(folder, target, key, hear, skip_damaged=skip_damaged)


def _key(file: str | None) -> bytes:
    """From the file, which is made if it is not there; without a file one that nobody will know."""
    if file is None:
        return secrets.token_bytes(KEY_BYTES)
    path = Path(file)
    try:
        if not path.exists():
            path.touch(mode=0o600)
            path.write_text(secrets.token_hex(KEY_BYTES) + "\n", encoding="ascii")
        key = path.read_bytes().strip()
    except OSError as error:
        raise ConfigError("--key-file", "", f"{file} cannot be read or made: {error.strerror}") from error
    if len(key) < KEY_BYTES:
        raise ConfigError("--key-file", "", f"{file} holds {len(key)} bytes; a key has at least {KEY_BYTES}")
    return key
