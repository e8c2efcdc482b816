"""Pictures for notebooks, legible on light and dark pages: no background of their own, colours of middle lightness.

Each takes what loadaware.notebook gives and returns a Picture, which a notebook shows by itself. matplotlib is imported
when one is drawn: `pip install 'loadaware[notebooks]'`.
"""

from loadaware.plots.changes import changes, over_time
from loadaware.plots.demands import requests_and_usage, savings
from loadaware.plots.load import load_map, node_loads
from loadaware.plots.picture import Picture
from loadaware.plots.scores import score_map, score_parts
from loadaware.plots.searches import before_after, importance, search
from loadaware.plots.shadows import shadow_spans

__all__ = [
    "Picture",
    "before_after",
    "changes",
    "importance",
    "load_map",
    "node_loads",
    "over_time",
    "requests_and_usage",
    "savings",
    "score_map",
    "score_parts",
    "search",
    "shadow_spans",
]
