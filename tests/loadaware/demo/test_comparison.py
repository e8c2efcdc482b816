"""Both clusters of the demo as plain values."""

import json

import msgspec

from loadaware.demo.comparison import comparison
from loadaware.demo.frame import FIGURES
from tests.loadaware.demo.frames import frame


def test_both_sides_are_told_node_by_node_and_figure_by_figure() -> None:
    told = json.loads(msgspec.json.encode(comparison(frame(24))))
    assert len(told["names"]) == len(told["ours"]) == len(told["default"]) == len(told["cores"])
    assert [figure["title"] for figure in told["figures"]] == [title for title, _, _ in FIGURES]
    assert (told["placed"], told["ours"][2], told["figures"][1]["ours"]) == (137, None, 3.5)


def test_what_is_not_counted_yet_is_null() -> None:
    told = comparison(frame(24, started=False))
    assert [figure["ours"] for figure in told["figures"][1:]] == [None] * 4
