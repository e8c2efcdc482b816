"""Search for weights that suit a history, and write the winner where `check-config` and `promote` take it."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from loadaware.notebook.configurations import Configuration, configuration
from loadaware.notebook.histories import History
from loadaware.notebook.telling import telling

if TYPE_CHECKING:
    from loadaware.tuning import Source, Space, TuneResult


def tune(
    source: "str | Path | History | Source",
    *,
    trials: int,
    config: Configuration | None = None,
    space: "str | Path | Space | None" = None,
    objectives: Sequence[str] = ("hot80",),
    seed: int = 0,
    jobs: int = 1,
    dask: str | None = None,
    runs: str | Path | None = None,
) -> "TuneResult":
    """`loadaware tune` as a function: search on the first part of a history, test the winner on the last.

    source      a history or its folder; or any source of `loadaware.tuning`, such as `simulated(...)`
    config      to begin with, and to be beaten; None: what the history was recorded with, else the defaults
    space       what is searched: a file, its text, or a Space; None: the one that is shipped
    runs        a file that keeps what was judged; the same call goes on from there

    Raises a LoadAwareError or HistoryError for what is wrong, before anything is judged.
    """
    from loadaware import tuning
    from loadaware.replaying import recorded_config

    folder = source.folder if isinstance(source, History) else source
    base = None if config is None else configuration(config)
    if base is None and isinstance(folder, str | Path):
        base = recorded_config(folder)
    judges = tuning.recorded(str(folder)) if isinstance(folder, str | Path) else folder
    with telling("tuning") as hear:
        return tuning.tune(
            judges,
            trials=trials,
            space=_space(space),
            config=base,
            objectives=tuple(objectives),
            seed=seed,
            crew=tuning.crew(jobs, dask),
            runs=runs,
            hear=hear,
        )


def export(result: "TuneResult", file: str | Path, base: str | Path | None = None) -> list[Path]:
    """Write the winner to a file, and a report beside it; the files written. `base` is the file that the search began
    with: everything else in it, and its comments, are kept. Raises ConfigError.
    """
    from loadaware.tuning.output import check_output, write_all

    check_output(str(file))
    return write_all(result, str(file), None if base is None else str(base))


def _space(space: "str | Path | Space | None") -> "Space | None":
    from loadaware import tuning

    if space is None or isinstance(space, tuning.Space):
        return space
    if isinstance(space, Path) or "\n" not in space:
        return tuning.load_space(str(space))
    return tuning.parse_space(space)
