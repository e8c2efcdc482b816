from importlib.metadata import EntryPoint, EntryPoints
from typing import Any

import pytest

from collectors.manifests import Pod
from collectors.reading import Floats
from loadaware import plugins
from loadaware.errors import ConfigError
from loadaware.filters import FILTERS
from loadaware.filters.usage_threshold import UsageThreshold
from loadaware.nodes import Nodes
from loadaware.plugins import make_filter, make_scorer
from loadaware.quantities import Quantity
from loadaware.scorers import SCORERS
from loadaware.scorers.scorer import Scorer
from loadaware.scorers.target_load_packing import TargetLoadPacking


class Theirs(Scorer, frozen=True, kw_only=True):
    """A scorer of another distribution."""

    strength: float = 1.0

    def score(self, nodes: Nodes, pod: Pod) -> Floats:
        return nodes.capacity("cpu")


class NoScorer:
    """Not what it says."""


def install(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    """As if another distribution offered a scorer by that name."""
    offered = EntryPoints([EntryPoint(name, value, "loadaware.scorers")])
    monkeypatch.setattr(plugins, "entry_points", offered.select)


def problem_of(*asked: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        make_scorer(*asked)
    return str(caught.value)


def test_ours_are_made_by_name_with_their_args_in_camel_case() -> None:
    assert make_scorer("TargetLoadPacking", {}) == TargetLoadPacking()
    made = make_scorer("TargetLoadPacking", {"targetUtilization": 70, "defaultRequests": {"cpu": "250m"}})
    assert made == TargetLoadPacking(target_utilization=70.0, default_requests={"cpu": Quantity(0.25)})
    assert make_filter("UsageThreshold", {"thresholds": {"cpu": 50}}) == UsageThreshold(thresholds={"cpu": 50.0})


def test_every_row_of_the_tables_is_named_as_its_class() -> None:
    for name, kind in {**SCORERS, **FILTERS}.items():
        assert kind.__name__ == name
        assert kind.__doc__


def test_a_wrong_name_is_refused_with_the_nearest_right_one() -> None:
    assert problem_of("TargetLoadPackng", {}, "c.yaml", "profiles[0].scorers[2]") == (
        "c.yaml: profiles[0].scorers[2].name: there is no scorer called 'TargetLoadPackng'; "
        "did you mean 'TargetLoadPacking'?"
    )


def test_a_filter_is_no_scorer() -> None:
    assert problem_of("UsageThreshold", {}).startswith("<args>: name: there is no scorer called 'UsageThreshold'")


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ({"targetUtilization": 0}, "args.targetUtilization: Expected float > 0.0"),
        ({"target_utilization": 50}, "args.target_utilization: there is no such setting; did you mean"),
        ({"defaultRequests": {"cpu": "x"}}, "args.defaultRequests[cpu]: 'x' is not a quantity"),
    ],
)
def test_wrong_args_are_refused_with_their_path(args: dict[str, Any], problem: str) -> None:
    assert problem_of("TargetLoadPacking", args).startswith(f"<args>: {problem}")


def test_others_scorers_come_by_entry_point_and_their_args_are_checked_too(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, "Theirs", f"{__name__}:Theirs")
    monkeypatch.setattr(EntryPoint, "load", lambda self: globals()[self.attr])
    made = make_scorer("Theirs", {"strength": 3})
    assert isinstance(made, Theirs)
    assert made.strength == 3.0
    assert problem_of("Theirs", {"strenght": 3}) == (
        "<args>: args.strenght: there is no such setting; did you mean 'strength'?"
    )
    assert problem_of("Their", {}).endswith("did you mean 'Theirs'?")


def test_ours_go_before_others_of_the_same_name(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, "TargetLoadPacking", "nowhere:Nothing")
    assert isinstance(make_scorer("TargetLoadPacking", {}), TargetLoadPacking)


def test_what_cannot_be_loaded_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, "Broken", "no_such_module_at_all:Broken")
    assert problem_of("Broken", {}) == (
        "<args>: name: no_such_module_at_all:Broken cannot be loaded: No module named 'no_such_module_at_all'"
    )


def test_what_is_no_scorer_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, "NoScorer", f"{__name__}:NoScorer")
    monkeypatch.setattr(EntryPoint, "load", lambda self: globals()[self.attr])
    assert problem_of("NoScorer", {}) == f"<args>: name: {__name__}:NoScorer is not a Scorer"
