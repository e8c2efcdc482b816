"""The files of a search: the best configuration, and beside it the report and the judgements.

best.yaml   best.runs.jsonl   best-report/report.md  report.html  *.svg
"""

import os
import tempfile
from pathlib import Path

import msgspec

from loadaware.config import Config, parse
from loadaware.errors import ConfigError
from loadaware.profile_text import minimal, replacing, rewritten
from loadaware.profiles import adviser_settings
from loadaware.tuning.result import TuneResult, in_words
from loadaware.tuning.search import profile_section

RUNS = ".runs.jsonl"
READABLE = 0o644
REPORT = "-report"


def check_output(file: str) -> None:
    """Raises ConfigError if nothing could be written there: known before any work."""
    path = Path(file)
    if path.suffix not in {".yaml", ".yml"}:
        raise ConfigError("--output", "", f"a configuration is written as YAML, not as {path.suffix or file!r}")
    if not path.absolute().parent.is_dir():
        raise ConfigError("--output", "", f"there is no folder {path.absolute().parent}")
    if path.is_dir():
        raise ConfigError("--output", "", f"{file} is a folder")
    if not os.access(path if path.exists() else path.absolute().parent, os.W_OK):
        raise ConfigError("--output", "", f"{file} cannot be written")


def runs_file(output: str) -> Path:
    """Where the judgements are kept."""
    return Path(output).with_suffix(RUNS)


def report_folder(output: str) -> Path:
    """Where the report goes."""
    path = Path(output)
    return path.with_name(path.stem + REPORT)


def best_text(result: TuneResult, base_text: str | None = None) -> str:
    """The winner as YAML. The text that one began with keeps its comments, where that can be."""
    section = profile_section(result.config, result.profile)
    if base_text is None:
        text = minimal(result.config)
    else:
        text, _ = rewritten(base_text, replacing(base_text, result.base_config, section), result.config)
    text = "".join(f"# {line}\n" for line in head(result)) + text
    _check(text, result.config)
    return text


def head(result: TuneResult) -> list[str]:
    """Where a configuration came from, in words."""
    best = result.best
    tried = f"best of {len(result.finished)} trials with seed {result.seed}"
    lines = [
        f"Made by `loadaware tune`: {tried if result.found else 'nothing better was found'}.",
        f"Searched on: {result.title}.",
        f"Objective: {', '.join(result.objectives)}; there {_values(best.values)}, before "
        f"{_values(result.base.values)}.",
    ]
    lines += [
        f"On cases it had not seen: {name} {in_words(one)}."
        for name in result.objectives
        if (one := result.of(name)) is not None
    ]
    return lines + [f"Beware: {warning}" for warning in result.warnings]


def _values(values: tuple[float, ...]) -> str:
    return ", ".join(f"{value:.4g} %" for value in values)


def _check(text: str, expected: Config) -> None:
    """What is written says what was found, and `check-config` accepts it."""
    config = parse(text, "<best>")
    adviser_settings(config, "<best>")
    if config != expected:
        raise ConfigError("<best>", "", "the configuration could not be written as it was found")


def write_whole(file: Path, text: str, like: Path | None = None) -> None:
    """All of it or nothing, with the rights of the file that was there, or of another one. Raises ConfigError."""
    try:
        model = file if file.exists() else like
        mode = READABLE if model is None else model.stat().st_mode & 0o777
        with tempfile.NamedTemporaryFile("w", dir=file.absolute().parent, delete=False, encoding="utf-8") as made:
            made.write(text)
        Path(made.name).chmod(mode)
        Path(made.name).replace(file)
    except OSError as error:
        raise ConfigError(str(file), "", f"cannot be written: {error.strerror}") from error


def shown_text(result: TuneResult) -> str:
    """The tuned profile alone: a report is passed around, and a configuration may hold a token."""
    section = msgspec.structs.replace(profile_section(result.config, result.profile), shadow=False)
    return "".join(f"# {line}\n" for line in head(result)) + minimal(Config(profiles=(section,)))


def write_all(result: TuneResult, output: str, config_file: str | None = None) -> list[Path]:
    """Everything; the files written. `config_file` is what one began with. Raises ConfigError."""
    from loadaware.tuning.report import html, markdown, pictures

    base = None if config_file is None else Path(config_file)
    write_whole(Path(output), best_text(result, None if base is None else base.read_text(encoding="utf-8")), base)
    text = shown_text(result)
    folder = report_folder(output)
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise ConfigError(str(folder), "", f"cannot be made: {error.strerror}") from error
    drawn = pictures(result)
    for name, picture in drawn.items():
        write_whole(folder / f"{name}.svg", picture)
    write_whole(folder / "report.md", markdown(result, text, drawn))
    write_whole(folder / "report.html", html(result, text, drawn))
    return [Path(output), folder / "report.md", folder / "report.html"]
