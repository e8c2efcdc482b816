from collections import Counter

import numpy as np
import pytest

from loadaware.simulation.arrivals import ArrivalProcess, Arrivals
from loadaware.simulation.catalogue import Catalogue
from loadaware.simulation.noise import Ints
from loadaware.simulation.settings import ArrivalSettings, WorkloadSettings

NODES, CORES, START, HOURS = 60, 960.0, 1_000_000.0, 12


def process(settings: ArrivalSettings | None = None, seed: int = 4) -> tuple[ArrivalProcess, Arrivals]:
    random = np.random.default_rng(seed)
    drawing = ArrivalProcess(
        settings or ArrivalSettings(), CORES, Catalogue(WorkloadSettings(), random.spawn(1)[0]), random
    )
    return drawing, drawing.run(NODES, START, START + HOURS * 3600.0)


@pytest.fixture(scope="module")
def drawn() -> tuple[ArrivalProcess, Arrivals]:
    return process()


def there(arrivals: Arrivals, time: float) -> Ints:
    return np.flatnonzero((arrivals.arrival <= time) & (arrivals.departure > time))


def later_bursts(drawn: tuple[ArrivalProcess, Arrivals]) -> dict[int, Ints]:
    arrivals = drawn[1]
    after = np.flatnonzero(arrivals.arrival > START + 650.0)
    return {burst: after[arrivals.burst[after] == burst] for burst in np.unique(arrivals.burst[after]).tolist()}


def test_pods_are_numbered_in_order_of_arrival(drawn: tuple[ArrivalProcess, Arrivals]) -> None:
    assert (np.diff(drawn[1].arrival) >= 0.0).all()


def test_requests_are_held_near_the_target_from_the_start_on(drawn: tuple[ArrivalProcess, Arrivals]) -> None:
    drawing, arrivals = drawn
    cores = np.array([w.request_millicores for w in drawing.workloads])[arrivals.workload] / 1000.0
    shares = [cores[there(arrivals, time)].sum() / CORES for time in START + np.arange(1000, HOURS * 3600, 600.0)]
    assert np.mean(shares) == pytest.approx(0.72, abs=0.02)
    assert 0.6 < min(shares) <= max(shares) < 0.85


def test_bursts_have_one_to_thirty_replicas_of_one_workload(drawn: tuple[ArrivalProcess, Arrivals]) -> None:
    sizes = [len(pods) for pods in later_bursts(drawn).values()]
    assert min(sizes) == 1
    assert 20 < max(sizes) <= 30
    assert all(len(set(drawn[1].workload[pods].tolist())) == 1 for pods in later_bursts(drawn).values())


def test_all_sizes_of_bursts_can_be_as_likely(drawn: tuple[ArrivalProcess, Arrivals]) -> None:
    even = process(ArrivalSettings(even_bursts=True, largest_burst=1.0))
    sizes = [len(pods) for pods in later_bursts(even).values()]
    assert (min(sizes), max(sizes)) == (1, 30)
    assert np.mean(sizes) == pytest.approx(15.5, abs=1.5)
    assert np.mean([len(pods) for pods in later_bursts(drawn).values()]) < 11.0


def test_no_burst_requests_more_than_its_share_of_the_cluster(drawn: tuple[ArrivalProcess, Arrivals]) -> None:
    drawing, arrivals = drawn
    for pods in later_bursts(drawn).values():
        each = drawing.workloads[arrivals.workload[pods[0]]].request_millicores / 1000.0
        assert len(pods) * each <= max(0.05 * CORES, each)


def test_some_three_in_ten_bursts_are_of_workloads_never_seen_before(
    drawn: tuple[ArrivalProcess, Arrivals],
) -> None:
    drawing, _ = drawn
    new = len(drawing.workloads) - 2 * NODES
    assert new / len(later_bursts(drawn)) == pytest.approx(0.3, abs=0.08)


@pytest.mark.parametrize(("share", "grows"), [(0.0, False), (1.0, True)])
def test_all_or_no_workloads_can_be_new(share: float, grows: bool) -> None:
    drawing, _ = process(ArrivalSettings(new_share=share))
    assert (len(drawing.workloads) > 2 * NODES) == grows


def test_waves_bring_several_workloads_within_two_minutes() -> None:
    _, arrivals = process(ArrivalSettings(wave_share=1.0))
    begins = {int(b): float(arrivals.arrival[arrivals.burst == b].min()) for b in np.unique(arrivals.burst)}
    later = sorted(time for time in begins.values() if time > START + 700.0)
    neighbours = [sum(abs(other - time) <= 120.0 for other in later) for time in later]
    assert min(neighbours) >= 4


def test_lifetimes_have_the_stated_median_and_bounds(drawn: tuple[ArrivalProcess, Arrivals]) -> None:
    arrivals = drawn[1]
    later = arrivals.arrival > START + 650.0
    lifetimes = (arrivals.departure - arrivals.arrival)[later]
    assert np.median(lifetimes) == pytest.approx(5400.0, rel=0.1)
    assert lifetimes.min() >= 59.999
    assert lifetimes.max() <= 172_801.0


def test_the_cluster_starts_as_if_it_had_been_running_for_long(drawn: tuple[ArrivalProcess, Arrivals]) -> None:
    arrivals = drawn[1]
    counts = Counter(((arrivals.arrival[arrivals.arrival > START + 650.0] - START) // 7200.0).tolist())
    assert counts[0] + counts[1] == pytest.approx(counts[4] + counts[5], rel=0.3)
