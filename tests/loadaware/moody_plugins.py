"""Plugins that misbehave on request, for workers. A module of their own, so that a worker imports little."""

import os
import time
from typing import Any, ClassVar

from collectors.manifests import Pod
from collectors.reading import CPU, Floats
from loadaware.filters.filter import Filter
from loadaware.nodes import Nodes
from loadaware.scorers.scorer import Scorer
from loadaware.window import Bools


class Moody(Scorer, frozen=True, kw_only=True):
    """Does what the pod's name says; else scores by the CPU that is not in use."""

    def score(self, nodes: Nodes, pod: Pod) -> Floats:
        if pod.name == "hang":
            time.sleep(600.0)
        if pod.name == "die":
            os._exit(3)
        if pod.name == "raise":
            raise ZeroDivisionError("the pod asked for it")
        return 100.0 * (1.0 - nodes.usage("mean", CPU) / nodes.capacity(CPU))


class MoodyFilter(Filter, frozen=True, kw_only=True):
    """Does what the pod's name says; else rejects nodes above half of their CPU."""

    unresolvable: ClassVar[bool] = True

    def pre_filter(self, pod: Pod) -> str | None:
        return "the pod may go nowhere" if pod.name == "nowhere" else None

    def rejects(self, nodes: Nodes, pod: Pod) -> Bools:
        Moody().score(nodes, pod)
        return nodes.usage("mean", CPU) > 0.5 * nodes.capacity(CPU)

    def reasons(self, nodes: Nodes, pod: Pod) -> list[str]:
        return [f"{name} is busy" for name in nodes.names]


class Forgotten(Scorer, frozen=True, kw_only=True):
    """One that the worker cannot even receive."""

    def __reduce__(self) -> Any:
        return eval, ("1 / 0",)
