"""Frames to draw, without a simulation."""

import numpy as np

from loadaware.demo.frame import ExtenderView, Frame
from loadaware.demo.scheduler import Decision
from loadaware.demo.side import SideView
from loadaware.simulation.accounting import Report

NAN = float("nan")
URL = "http://127.0.0.1:8090/nodes"


def report(hot80: float) -> Report:
    return Report(
        seconds=3600.0, hot80=hot80, hot90=hot80 / 2, unserved=hot80 / 10, spread=12.34, p99=97.0, utilization=65.0
    )


def frame(
    nodes: int = 24, *, decisions: int = 8, failures: int = 0, started: bool = True, milliseconds: float = 2.13
) -> Frame:
    shares = np.linspace(0.05, 1.0, nodes)
    ours = np.where(np.arange(nodes) == 2, NAN, shares)
    nothing = Report(0.0, NAN, NAN, NAN, NAN, NAN, NAN)
    return Frame(
        time=1_767_600_000.0 + 2 * 3600.0 + 754.0,
        speed=60.0,
        nodes=tuple(f"node-{number:02d}" for number in range(1, nodes + 1)),
        cores=np.full(nodes, 16.0),
        ours=SideView("loadaware", ours, report(3.5) if started else nothing, 460, 1),
        default=SideView("default", shares[::-1].copy(), report(9.75) if started else nothing, 461, 2),
        placed=137,
        decisions=tuple(
            Decision(f"shop/orders-7-k2x9b6d8f9-{n:05d}", 0.4, f"node-{n + 1:02d}", "node-09", n, "node-03")
            for n in range(decisions)
        ),
        extender=ExtenderView(URL, milliseconds, failures, "/filter answered 500" if failures else ""),
    )
