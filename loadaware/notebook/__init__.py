"""For notebooks: histories, what-if scores, replays, searches, demand and shadows as pandas data frames.

    history = open_history("history/")                    what is in it, as frames: nodes, pods, decisions, state ...
    score(history.state(), pod, config)                   which node suits this pod, and why
    replay(history, {"a": "a.yaml", "b": "b.yaml"})       figures, paired changes, moves
    tune(history, trials=60)                              better weights, tested on what they have not seen; `export`
    demand(history)                                       who requests too much, who too little
    shadow("shadow.json").verdict()                       promote, keep or wait

These names are stable. A configuration is a file's path, the text of one, or a Config. `generated_history` and
`generated_shadow` make data for a first look. pandas, pyarrow and optuna are imported when they are used. Pictures are
in loadaware.plots.
"""

from loadaware.notebook.configurations import Configuration, alone, configuration, text, weighted
from loadaware.notebook.demands import Demands, demand
from loadaware.notebook.generated import generated_history, generated_shadow
from loadaware.notebook.histories import History, from_prometheus, open_history
from loadaware.notebook.replays import Replays, replay
from loadaware.notebook.searches import export, tune
from loadaware.notebook.shadows import ShadowReport, Verdict, shadow
from loadaware.notebook.what_if import score

__all__ = [
    "Configuration",
    "Demands",
    "History",
    "Replays",
    "ShadowReport",
    "Verdict",
    "alone",
    "configuration",
    "demand",
    "export",
    "from_prometheus",
    "generated_history",
    "generated_shadow",
    "open_history",
    "replay",
    "score",
    "shadow",
    "text",
    "tune",
    "weighted",
]
