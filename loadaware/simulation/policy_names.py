"""Policies by name, as one writes them on a command line.

    random                  any node that fits
    default                 kube-scheduler's default scores
    EntropicRisk            a scorer alone, 0..100 on the wire
    EntropicRisk*3+default  a scorer beside the default scores, counting like a plugin of weight 3; +default alone is 1
    EntropicRisk{k: {cpu: 8}}*3+default     the same with args, as a configuration would have them
    Trimaran/TargetLoadPacking*3+default    a peer's plugin as it is shipped, with its own rules for pods in flight
    constant, oracle        take the place of a scorer: no opinion; true mean, deviation and skew known beforehand
    clairvoyant, offline    references: the future of the pods that are there; of all pods

`parse` checks all of it, down to the scorer's args, before anything runs.
"""

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any

import numpy as np

from collectors.manifests import Pod
from collectors.reading import Floats
from loadaware.config import parse_yaml
from loadaware.errors import ConfigError
from loadaware.nodes import Nodes
from loadaware.plugins import make_scorer
from loadaware.scorers import SCORERS
from loadaware.scorers.scorer import Scorer
from loadaware.simulation.clairvoyant import Clairvoyant
from loadaware.simulation.offline import Offline
from loadaware.simulation.oracle import Oracle
from loadaware.simulation.policies import Advised, Chance, Default, Policy
from loadaware.simulation.shipped import SHIPPED, Shipped
from loadaware.simulation.stage import Stage

Clock = Callable[[], float]
Maker = Callable[[Stage, Clock], Policy]

ALONE = 10.0
"""The weight of a scorer alone: priorities 0..100, so that none of a peer's own whole numbers are lost."""
LEAST_WEIGHT, MOST_WEIGHT = 0.1, 100.0
DEFAULT = "default"
REFERENCES = ("clairvoyant", "offline")

_POWER_MODEL: Mapping[str, Any] = {
    "nodePowerModel": {"*": {"k0": 471.7412504314313, "k1": -91.50493019588365, "k2": -0.07186049052516227}}
}
SIMULATED_ARGS: Mapping[str, Mapping[str, Any]] = {
    "Peaks": _POWER_MODEL,
    "Trimaran/Peaks": {**_POWER_MODEL, "compatible": True},
}
"""For scorers that do nothing without args: Peaks has the power model that the peer's own documentation shows."""

_NAME = re.compile(r"(?s)(?P<head>[A-Za-z][\w./-]*)(?P<args>\{.*\})?(?:\*(?P<weight>[^+*]+))?(?P<beside>\+default)?")
_NO_SPACE = re.compile(r"\w:[\w{\[]")
"""In what is no YAML, or in a setting's name: YAML took key and value for one word."""


class Constant(Scorer, frozen=True, kw_only=True):
    """No opinion: whatever it gains is an error of the ruler."""

    def score(self, nodes: Nodes, pod: Pod) -> Floats:
        """The same for every node."""
        return np.full(len(nodes), 50.0)


@dataclass(frozen=True)
class NamedPolicy:
    """A policy that was understood: its name, and how it is made for one run."""

    name: str
    make: Maker


WHOLE: Mapping[str, Maker] = {
    "random": lambda _stage, _clock: Chance(),
    DEFAULT: lambda _stage, _clock: Default(),
    "clairvoyant": lambda stage, _clock: Clairvoyant(stage.scenario, stage.futures),
    "offline": lambda stage, _clock: Offline(stage.scenario, stage.plan, stage.futures),
}
"""Policies that stand for themselves: no weight, no args."""

LIKE_SCORERS: Mapping[str, Callable[[Stage, Clock, float, bool], Policy]] = {
    "oracle": lambda stage, _clock, weight, beside: Oracle(
        stage.scenario, stage.futures, weight, beside_default=beside
    ),
    "constant": lambda stage, clock, weight, beside: _advised(Constant(), stage, clock, weight, beside=beside),
}
"""Stand where a scorer's name could, alone or beside the default."""


def known() -> list[str]:
    """Every word that a policy can begin with."""
    scorers = sorted({*SCORERS, *entry_points(group="loadaware.scorers").names})
    return [*WHOLE, *LIKE_SCORERS, *scorers, *SHIPPED]


def parse(text: str, where: str = "--policy") -> NamedPolicy:
    """Understand a policy's name. Raises ConfigError for what does not exist or cannot be made."""
    name = "".join(text.split()) if "{" not in text else text.strip()
    match = _NAME.fullmatch(name)
    if match is None:
        raise ConfigError(
            where, text, "is not a policy", "expected such as default, EntropicRisk, EntropicRisk*3+default"
        )
    head, args, beside = match["head"], match["args"], match["beside"] is not None
    if head not in known():
        raise ConfigError(where, "", f"there is no policy called {head!r}", _hint(head))
    if head in WHOLE:
        if name != head:
            raise ConfigError(where, text, f"{head} is a policy of its own: it takes no weight, no args, no default")
        return NamedPolicy(name, WHOLE[head])
    weight = _weight(match["weight"], head, text, where, beside=beside)
    return NamedPolicy(name, _maker(head, args, weight, text, where, beside=beside))


def _maker(head: str, args: str | None, weight: float, text: str, where: str, *, beside: bool) -> Maker:
    if head in LIKE_SCORERS:
        if args:
            raise ConfigError(where, text, f"{head} takes no args")
        make = LIKE_SCORERS[head]
        return lambda stage, clock: make(stage, clock, weight, beside)
    name = SHIPPED.get(head, head)
    scorer = _scorer(name, SIMULATED_ARGS.get(head, {}), args, f"{where} {text}")
    if head in SHIPPED:
        shipped_weight = weight if beside else 1.0
        return lambda _stage, clock: Shipped(scorer, clock, shipped_weight, beside_default=beside)
    return lambda stage, clock: _advised(scorer, stage, clock, weight, beside=beside)


def _scorer(name: str, otherwise: Mapping[str, Any], args: str | None, where: str) -> Scorer:
    try:
        return make_scorer(name, otherwise if args is None else parse_yaml(args, where), where)
    except ConfigError as error:
        if args and _NO_SPACE.search(error.path or args):
            raise ConfigError(error.file, error.path, error.problem, "YAML wants a space after a colon") from error
        raise


def _advised(scorer: Scorer, stage: Stage, clock: Clock, weight: float, *, beside: bool) -> Advised:
    engine = stage.setup.engine
    return Advised(scorer, clock, weight, beside_default=beside, demand=engine.demand, restart=engine.restart)


def _weight(given: str | None, head: str, text: str, where: str, *, beside: bool) -> float:
    if not beside:
        if given is not None:
            hint = f"write {head}*{given}+default, or {head} alone"
            raise ConfigError(where, text, "a weight means something beside the default only", hint)
        return ALONE
    try:
        weight = 1.0 if given is None else float(given)
    except ValueError:
        weight = float("nan")
    if not LEAST_WEIGHT <= weight <= MOST_WEIGHT:
        problem = f"the weight must be a number in {LEAST_WEIGHT:g}..{MOST_WEIGHT:g}, not {given}"
        raise ConfigError(where, text, problem)
    return weight


def _hint(word: str) -> str:
    names = known()
    lower = {name.lower(): name for name in names}
    close = difflib.get_close_matches(word.lower(), lower, n=1, cutoff=0.6)
    meant = f"did you mean {lower[close[0]]!r}? " if close else ""
    return f"{meant}there are: {', '.join(names)}; a scorer also as in EntropicRisk*3+default"
