"""Search for the weights, args and scorers that suit one's own cluster; see docs/tuning.md.

    from loadaware.tuning import simulated, tune
    result = tune(simulated(nodes=20, hours=4), trials=60)
    result.trials, result.test          data frames
    result.config                       what `check-config` accepts

A search is settled by its source (a history, recorded days, a generator), its space, its objectives and its seed: the
same four, the same best trial, in one process, in several, or on a Dask cluster, stopped and begun again or not.
"""

from loadaware.tuning.crews import Crew, DaskCrew, ProcessCrew, crew
from loadaware.tuning.result import TuneResult
from loadaware.tuning.run import tune
from loadaware.tuning.source import Judged, Source
from loadaware.tuning.sources import recorded, simulated
from loadaware.tuning.space import Space, default_space, load_space, parse_space

__all__ = [
    "Crew",
    "DaskCrew",
    "Judged",
    "ProcessCrew",
    "Source",
    "Space",
    "TuneResult",
    "crew",
    "default_space",
    "load_space",
    "parse_space",
    "recorded",
    "simulated",
    "tune",
]
