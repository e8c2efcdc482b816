"""How fast requests are answered, against an extender in Go, and what it takes. `make benchmark`, or

    .venv/bin/python -m tests.benchmarks.measure_wire [--quick] [--output FILE]

Both servers and an echo server run at once and are asked in turns, in several rounds, so that what disturbs the
machine disturbs all of them. Writes docs/benchmarks/wire.md. Nothing else should run meanwhile: on a busy machine only
the ratios mean something.
"""

import argparse
import ssl
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from tests.benchmarks.pages import say
from tests.benchmarks.wire_client import Connection, one_by_one, side_by_side
from tests.benchmarks.wire_figures import Figures, ratio
from tests.benchmarks.wire_others import help_seconds, simulator_steps_per_second
from tests.benchmarks.wire_report import PAGE, Case, Report, times_faster
from tests.benchmarks.wire_requests import Requests, by_name, whole
from tests.benchmarks.wire_servers import COMPARED, Server, Setting, cluster, echo_server, go_server, loadaware
from tests.benchmarks.wire_stages import stage_microseconds
from tests.benchmarks.wire_watchers import watched
from tests.parts.certificates import Authority
from tests.parts.processes import Process

ANSWER_BYTES_PER_NODE = 56
PACE_SECONDS = 0.005
"""kube-scheduler's own work between two pods, on a cluster that keeps it busy."""


@dataclass(frozen=True)
class Extent:
    """How much is measured."""

    rounds: int
    seconds: float
    """Per round, server and case."""
    nodes: int
    pods: int

    def scaled(self, share: float) -> tuple[int, int]:
        """Nodes and pods of a smaller cluster."""
        return int(self.nodes * share), int(self.pods * share)


FULL = Extent(rounds=10, seconds=1.5, nodes=5000, pods=150_000)
QUICK = Extent(rounds=4, seconds=0.25, nodes=5000, pods=30_000)


def take_turns(
    servers: Sequence[Server],
    requests: Sequence[bytes],
    extent: Extent,
    *,
    connections: int = 1,
    pause_seconds: float = 0.0,
) -> dict[str, Figures]:
    """The figures of each server. Each round asks each of them as often as fills its seconds."""
    figures = {server.name: Figures() for server in servers}
    with ExitStack() as stack:
        opened = {server.name: [_connected(stack, server) for _ in range(connections)] for server in servers}
        counts, prepared = {}, {server.name: _for(server, requests) for server in servers}
        for server in servers:
            counts[server.name] = _how_many(opened[server.name], prepared[server.name], extent.seconds, pause_seconds)
        for _ in range(extent.rounds):
            for server in servers:
                before = server.cpu_seconds()
                took = _ask(opened[server.name], prepared[server.name], counts[server.name], pause_seconds)
                figures[server.name].add(took, server.cpu_seconds() - before)
    for server in servers:
        figures[server.name].resident_bytes = server.resident_bytes()
    return figures


def _how_many(connections: Sequence[Connection], requests: Requests, seconds: float, pause_seconds: float) -> int:
    """Requests that fill so many seconds, once the server is warm."""
    _ask(connections, requests, 3 * len(connections), pause_seconds)
    began, asked = time.perf_counter(), 0
    while time.perf_counter() - began < 0.2 * seconds:
        asked += len(_ask(connections, requests, 3 * len(connections), pause_seconds))
    return max(asked, int(asked * seconds / (time.perf_counter() - began)))


def _ask(connections: Sequence[Connection], requests: Requests, count: int, pause_seconds: float) -> list[float]:
    if len(connections) == 1:
        return one_by_one(connections[0], requests, count, pause_seconds)
    return side_by_side(connections, requests, count)


def _for(server: Server, requests: Sequence[bytes]) -> Requests:
    """The echo server must be told how much to answer; the others need no more than the request."""
    if server.name != "echo":
        return Requests(requests)
    wanted = b"\r\nX-Answer: %d\r\n" % (requests[0].count(b'"worker-') * ANSWER_BYTES_PER_NODE)
    return Requests([one.replace(b"\r\n", wanted, 1) for one in requests[:4]])


def _connected(stack: ExitStack, server: Server) -> Connection:
    context = ssl._create_unverified_context() if server.tls else None
    connection = Connection(server.port, context)
    stack.callback(connection.close)
    return connection


class Measuring:
    """One run."""

    def __init__(self, extent: Extent, folder: Path) -> None:
        self.extent = extent
        self.folder = folder
        self.report = Report()
        self.kubeconfig = folder

    def run(self) -> Report:
        """All of it."""
        with cluster(self.folder, self.extent.nodes, self.extent.pods) as self.kubeconfig:
            with ExitStack() as stack:
                ours = stack.enter_context(loadaware(self.folder, self.kubeconfig))
                self.started(ours)
                go = stack.enter_context(go_server(self.folder, self.extent.nodes))
                echo = stack.enter_context(echo_server(self.folder))
                self.plain((ours, go, echo))
                self.asked(ours)
                self.bad_input(ours, echo)
                self._must_stay_small([("after everything above", ours)])
            self.tls()
            self.visible()
            self.scorers()
            self.refreshing()
        self.stages()
        self.growth()
        self.others()
        return self.report

    def started(self, ours: Server) -> None:
        extent, megabytes = self.extent, ours.resident_bytes() / 1e6
        size = f"{extent.nodes:,} nodes, {extent.pods:,} pods"
        say(f"ready after {ours.ready_seconds:.1f} s, {megabytes:.0f} MB")
        self.report.must(
            f"{size}: ready within 15 s of the start", f"{ours.ready_seconds:.1f} s", holds=ours.ready_seconds < 15
        )

    def _must_stay_small(self, servers: Sequence[tuple[str, Server]]) -> None:
        """After all that was asked of them."""
        for what, server in servers:
            megabytes = server.resident_bytes() / 1e6
            self.report.must(
                f"{self.extent.nodes:,} nodes, {self.extent.pods:,} pods, {what}: all processes together under 600 MB",
                f"{megabytes:.0f} MB",
                holds=megabytes < 600,
            )

    def plain(self, servers: Sequence[Server]) -> None:
        nodes = self.extent.nodes
        by_names = {f"{n:,} names": by_name(n, nodes, 64 if n < 5000 else 16) for n in (100, 500, nodes)}
        bodies = {**by_names, **{f"{n:,} whole nodes": whole(n, 4) for n in (100, 500, 1000)}}
        cases = {}
        for name, requests in bodies.items():
            cases[name] = take_turns(servers, requests, self.extent)
            say(f"{name}: {times_faster(cases[name])} x faster than Go")
        filters = {f"{n:,} names, filter": by_name(n, nodes, 16, "/filter") for n in (500, nodes)}
        for name, requests in filters.items():
            cases[name] = take_turns(servers, requests, self.extent)
        self.report.compared("One connection", "prioritize, unless it says filter; HTTP, kept alive.", cases)
        self._must_be_faster(cases)
        paced = {
            name: take_turns(servers, requests, self.extent, pause_seconds=PACE_SECONDS)
            for name, requests in by_names.items()
        }
        say("at a scheduler's pace: " + ", ".join(f"{name} {times_faster(case)}" for name, case in paced.items()))
        text = (
            f"One connection, each request {1000 * PACE_SECONDS:g} ms after the last answer, as a scheduler asks that "
            "has work of its own between two pods. loadaware books a pod after its answer has gone: here nobody waits "
            "for that, above the next request does."
        )
        self.report.compared("At a scheduler's pace", text, paced)
        crowds = {
            name: take_turns(servers, requests, self.extent, connections=16) for name, requests in by_names.items()
        }
        say("16 connections: " + ", ".join(f"{name} {times_faster(case)}" for name, case in crowds.items()))
        text = "Each connection sends its next request when it has its answer. Go has both cores, loadaware one."
        self.report.compared("Sixteen connections", text, crowds)

    def _must_be_faster(self, cases: dict[str, dict[str, Figures]]) -> None:
        wanted = {"100 names": 1.5, "500 names": 1.5, f"{self.extent.nodes:,} names": 2.0, "500 whole nodes": 6.0}
        for name, times in wanted.items():
            found = times_faster(cases[name])
            self.report.must(f"{name}: p50 at least {times:g} x faster", f"{found} x", holds=found.middle >= times)
        for name in ("500 names", f"{self.extent.nodes:,} names", "500 whole nodes"):
            share = cases[name]["loadaware"].cpu_milliseconds() / cases[name]["Go"].cpu_milliseconds()
            self.report.must(f"{name}: at most half of Go's CPU", f"{share:.2f} of it", holds=share <= 0.5)
        for name in wanted:
            ours, theirs = (cases[name][server].percentile(99) for server in ("loadaware", "Go"))
            self.report.must(f"{name}: p99 no worse than Go's", f"{ours:.2f} ms, Go {theirs:.2f}", holds=ours <= theirs)

    def asked(self, ours: Server) -> None:
        """Against nodes asked, and nodes known."""
        counts = [n for n in (10, 100, 500, 1000, 2500, 5000) if n <= self.extent.nodes]
        few_nodes, few_pods = self.extent.scaled(0.2)
        rows, p50 = [], {}
        with cluster(self.folder, few_nodes, few_pods) as kubeconfig, loadaware(self.folder, kubeconfig) as small:
            small.name = "small"
            for n in counts:
                both = [ours] if n > few_nodes else [ours, small]
                figures = take_turns(
                    both, by_name(n, min(few_nodes, self.extent.nodes) if n <= few_nodes else n, 8), self.extent
                )
                p50[n] = [figures[server.name].percentile(50) for server in both]
                cells = [f"{milliseconds:.2f}" for milliseconds in p50[n]]
                rows.append([f"{n:,}", *cells, *[""] * (2 - len(cells))])
        head = ["names asked", f"p50 ms, {self.extent.nodes:,} nodes known", f"p50 ms, {few_nodes:,} known"]
        self.report.table("Growth with nodes asked, not with nodes known", "Taking turns, one connection.", head, rows)
        self._must_grow_with_nodes_asked(p50)

    def _must_grow_with_nodes_asked(self, p50: dict[int, list[float]]) -> None:
        known = [large / small for large, small in (each for each in p50.values() if len(each) == 2)]
        self.report.must(
            "five times the nodes known: p50 the same to a tenth, whatever is asked",
            f"{min(known):.2f} .. {max(known):.2f} x",
            holds=max(known) <= 1.1,
        )
        counts = sorted(p50)
        per_name = [(p50[b][0] - p50[a][0]) / (b - a) * 1000.0 for a, b in pairwise(counts[1:])]
        self.report.must(
            "each name more costs as much from 100 to the largest (linear: less than twice the first)",
            ", ".join(f"{each:.2f}" for each in per_name) + " us",
            holds=max(per_name) < 2.0 * per_name[0],
        )

    def tls(self) -> None:
        pair = Authority(self.folder / "authority", "authority").issue("127.0.0.1")
        bodies = {f"{n:,} names": by_name(n, self.extent.nodes, 16) for n in (100, 500, self.extent.nodes)}
        bodies["500 whole nodes"] = whole(500, 4)
        with (
            loadaware(self.folder, self.kubeconfig, Setting(tls=pair)) as ours,
            go_server(self.folder, self.extent.nodes, pair) as go,
        ):
            cases = {name: take_turns((ours, go), requests, self.extent) for name, requests in bodies.items()}
        say("TLS: " + ", ".join(f"{name} {times_faster(case)}" for name, case in cases.items()))
        self.report.compared("HTTPS", "One connection; an elliptic-curve certificate, TLS 1.3.", cases)

    def visible(self) -> None:
        """Everything that makes it visible on, with a scrape every second and 8 open pages, beside all of it off."""
        on, off = Setting(seen="everything", name="everything on"), Setting(seen="nothing", name="everything off")
        with (
            loadaware(self.folder, self.kubeconfig, on) as ours,
            loadaware(self.folder, self.kubeconfig, off) as bare,
            watched(ours, pages=8),
        ):
            cases = {
                f"{n:,} names{how}": take_turns(
                    (ours, bare), by_name(n, self.extent.nodes, 32), self.extent, pause_seconds=pause
                )
                for n in (100, 500)
                for how, pause in (("", 0.0), (" at a scheduler's pace", PACE_SECONDS))
            }
        text = (
            "Decisions kept and written to a file, a profile in shadow, /metrics read every second, 8 pages open. Who "
            "asks without a pause leaves no time for what nobody waits for: shadows and file then wait or do without."
        )
        self.report.compared("Seen by everybody, or by nobody", text, cases)
        for name, case in cases.items():
            times = ratio(case["everything on"].medians(), case["everything off"].medians())
            self.report.must(
                f"{name}: p50 with everything on within 10 % of everything off", f"{times} x", holds=times.middle <= 1.1
            )
            say(f"seen, {name}: {times} x")

    def scorers(self) -> None:
        rows = []
        with loadaware(self.folder, self.kubeconfig, Setting(scorers=tuple(COMPARED))) as ours:
            for name in COMPARED:
                requests = by_name(500, self.extent.nodes, 16, f"/{name}/prioritize")
                figures = take_turns([ours], requests, self.extent)["loadaware"]
                rows.append(
                    [name, *(f"{figures.percentile(p):.2f}" for p in (50, 99)), f"{figures.cpu_milliseconds():.2f}"]
                )
        say(f"{len(rows)} scorers")
        text = (
            "500 names, one connection. All profiles are configured at once, so each booking is priced by each scorer."
        )
        self.report.table("Every scorer", text, ["scorer", "p50 ms", "p99", "CPU ms"], rows)

    def refreshing(self) -> None:
        """One loadaware that reads all the time beside one that does not."""
        requests, extent = by_name(500, self.extent.nodes, 64), replace(self.extent, rounds=8, seconds=2.5)
        with loadaware(self.folder, self.kubeconfig) as quiet:
            figures = take_turns([quiet], requests, extent)["loadaware"]
        with loadaware(self.folder, self.kubeconfig, Setting(interval="2s")) as busy:
            readings, cpu = busy.get("/readyz")["source"]["readings"], busy.cpu_seconds() - busy.cpu_seconds(alone=True)
            during = take_turns([busy], requests, extent)["loadaware"]
            done = max(busy.get("/readyz")["source"]["readings"] - readings, 1)
            each = (busy.cpu_seconds() - busy.cpu_seconds(alone=True) - cpu) / done
            self._must_stay_small([("reading every 2 s", busy)])
        cases: dict[str, Case] = {"quiet": {"loadaware": figures}, "a refresh every 2 s": {"loadaware": during}}
        size = f"{self.extent.nodes:,} nodes, {self.extent.pods:,} pods"
        self.report.compared("While a refresh goes on", f"{size}; 500 names, one connection.", cases)
        times = during.percentile(99) / figures.percentile(99)
        self.report.must("p99 during a refresh at most 2 x that without", f"{times:.2f} x", holds=times <= 2)
        self.report.must(f"{size}: a refresh under 2 s of CPU", f"{each:.2f} s", holds=each < 2)
        say(f"refresh: p99 {times:.2f} x, {each:.2f} s of CPU each ({done})")

    def bad_input(self, ours: Server, echo: Server) -> None:
        """Others' latency beside a bad client, and beside the same client at another server: what the cores cost."""
        requests, extent = by_name(500, self.extent.nodes, 64), replace(self.extent, rounds=8)
        alone = take_turns([ours], requests, extent)["loadaware"]
        rows = [["nobody", "", *(f"{alone.percentile(p):.2f}" for p in (50, 99, 99.9)), ""]]
        for kind in ("large-nodes", "large-names", "slow"):
            times = {}
            for victim in (echo, ours):
                with self._bad_client(victim, kind):
                    figures = take_turns([ours], requests, extent)["loadaware"]
                times[victim.name] = figures.percentile(99) / alone.percentile(99)
                cells = [f"{figures.percentile(p):.2f}" for p in (50, 99, 99.9)]
                rows.append([kind, victim.name, *cells, f"{times[victim.name]:.2f} x"])
            here, elsewhere = times["loadaware"], times["echo"]
            what = f"{kind} on one connection: p99 of the others within 2 x"
            self.report.must(what, f"{here:.2f} x", holds=here <= 2)
            if here > 2:
                beside = f"{here:.2f} x beside {elsewhere:.2f} x"
                self.report.must(
                    f"{what} of what it is while the echo server is bothered", beside, holds=here <= 2 * elsewhere
                )
            say(f"{kind}: p99 {here:.2f} x, {elsewhere:.2f} x elsewhere")
        text = (
            "60 MB of whole nodes or of names over and over, or twenty clients that send a byte twenty times a second. "
            "The client takes cores as well: while it bothers the echo server, only that is seen."
        )
        head = ["bad client", "bothers", "others' p50 ms", "p99", "p99.9", "p99 against nobody"]
        self.report.table("Beside bad clients", text, head, rows)

    @contextmanager
    def _bad_client(self, victim: Server, kind: str) -> Iterator[None]:
        command = ["nice", "-n", "19", sys.executable, "-m", "tests.benchmarks.wire_client", str(victim.port), kind]
        with Process("bad-client", command, self.folder):  # polite to the cores: it stands for another machine
            time.sleep(4.0)  # it writes its request first
            yield

    def stages(self) -> None:
        """Why it takes what it takes."""
        counts = (100, 500, self.extent.nodes)
        found = [stage_microseconds(n, self.extent.nodes, 2000 if n < 5000 else 200) for n in counts]
        rows = [[stage, *(f"{one[stage]:.0f}" for one in found)] for stage in found[0]]
        rows.append(["**together**", *(f"**{sum(one.values()):.0f}**" for one in found)])
        text = (
            "Microseconds per request inside the process, without HTTP, event loop and kernel; each stage without "
            "those it calls. What happens after the answer is waited for only by who asks again at once. Below some "
            "500 names most of it is some 140 calls into C, of numpy above all, and 3,600 bytecodes: as many for ten "
            "names as for a thousand, and more than Go needs for a hundred."
        )
        self.report.table("Where the time goes", text, ["stage", *(f"{n:,} names" for n in counts)], rows)

    def growth(self) -> None:
        """Refresh time and memory against nodes, pods and window."""
        rows = []
        for share, window in ((0.1, "15m"), (0.25, "15m"), (0.5, "15m"), (1.0, "5m"), (1.0, "15m"), (1.0, "60m")):
            nodes, pods = self.extent.scaled(share)
            setting = Setting(interval="4s", window=window)
            with cluster(self.folder, nodes, pods) as kubeconfig, loadaware(self.folder, kubeconfig, setting) as ours:
                cells = _refreshes(ours, 2 if self.extent is QUICK else 4)
            rows.append([f"{nodes:,}", f"{pods:,}", window, f"{ours.ready_seconds:.1f}", *cells])
            say(f"growth: {nodes:,} nodes, {window}: ready {ours.ready_seconds:.1f} s, {' '.join(cells)}")
        head = ["nodes", "pods", "window", "ready s", "CPU s per refresh", "all processes MB"]
        self.report.table(
            "Growth with the cluster and the window", "From the start to ready, then reading on.", head, rows
        )

    def others(self) -> None:
        rows = [["`loadaware --help`", f"{1000 * help_seconds(3 if self.extent is QUICK else 9):.0f} ms"]]
        rows += [["simulator, 20 nodes", f"{simulator_steps_per_second():.0f} steps per second"]]
        self.report.table("Other times", "Medians.", ["what", "how long"], rows)


def _refreshes(ours: Server, count: int) -> list[str]:
    """CPU seconds per refresh after so many more, and memory then."""
    begun, cpu = ours.get("/readyz")["source"]["readings"], ours.cpu_seconds()
    deadline = time.monotonic() + 60.0
    while (done := ours.get("/readyz")["source"]["readings"] - begun) < count and time.monotonic() < deadline:
        time.sleep(0.2)
    return [f"{(ours.cpu_seconds() - cpu) / max(done, 1):.2f}", f"{ours.resident_bytes() / 1e6:.0f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a few rounds and fewer pods: a look, not a figure")
    parser.add_argument("--output", type=Path, default=PAGE)
    settings = parser.parse_args()
    extent = QUICK if settings.quick else FULL
    with tempfile.TemporaryDirectory(prefix="loadaware-wire-") as folder:
        report = Measuring(extent, Path(folder)).run()
    if settings.quick:
        report.notes.append("A quick run: few rounds, fewer pods. Only a look.")
    report.write(settings.output)
    say(f"written to {settings.output}")


if __name__ == "__main__":
    main()
