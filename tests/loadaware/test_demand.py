import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.reading import CPU, MEMORY
from loadaware.demand import UNLEARNED_RATIO, Demand, DemandSettings
from loadaware.ratios import LEAST_VARIANCE, MOST_SKEWNESS

GIB = 2.0**30
HOUR = 3600.0

OWN = DemandSettings(pod_prior_samples=1e-9, workload_prior_samples=1e-9)
"""Nothing but the pod's own samples counts."""


def demand_of(*workloads: str, request: float = 1.0, settings: DemandSettings | None = None) -> Demand:
    """One pod per name, in slots 0, 1, ...; each requests so many cores and a GiB."""
    demand = Demand((CPU, MEMORY), settings)
    for slot, workload in enumerate(workloads):
        demand.begin(slot, workload, np.array([request, GIB]))
    return demand


def learn(demand: Demand, cores: dict[int, float], time: float) -> None:
    slots = np.array(list(cores), dtype=np.intp)
    usage = np.array([[used, np.nan] for used in cores.values()])
    demand.learn(slots, usage, np.full(len(slots), time))


def cpu_of(demand: Demand, slot: int) -> tuple[float, float]:
    usage = demand.pod_expectations(np.array([slot]))
    return float(usage.mean[0, 0]), float(usage.deviation[0, 0])


def test_before_anything_is_measured_a_pod_is_taken_to_use_what_it_requests() -> None:
    demand = demand_of("web", request=2.0)
    assert not demand.learned
    assert list(cpu_of(demand, 0)) == pytest.approx([2.0 * UNLEARNED_RATIO, 2.0 * 0.5])


def test_a_pod_is_shrunk_towards_its_workload_and_the_workload_towards_the_cluster() -> None:
    demand = demand_of("busy", "idle")
    learn(demand, {0: 2.0, 1: 0.0}, 100.0)
    # cluster: (2 + 0) / 2 = 1;  busy: (2 + 10 * 1) / 11;  its pod: (2 + 10 * 12/11) / 11
    assert demand.cluster_ratios().mean[0] == pytest.approx(1.0)
    assert demand.workload_ratios().mean[:, 0] == pytest.approx([12 / 11, 10 / 11])
    assert cpu_of(demand, 0)[0] == pytest.approx((2 + 10 * 12 / 11) / 11)


def test_rare_high_peaks_are_told_from_a_steady_swing_of_the_same_deviation() -> None:
    """Nine of ten samples 2.55 and one 7.05, against 3 +- 1.35: mean and deviation are the same."""
    spiky, steady = demand_of("w", settings=OWN), demand_of("w", settings=OWN)
    for number in range(100):
        learn(spiky, {0: 7.05 if number % 10 == 0 else 2.55}, number * 1e-3)
        learn(steady, {0: 3.0 + (1.35 if number % 2 else -1.35)}, number * 1e-3)
    assert cpu_of(spiky, 0) == pytest.approx((3.0, 1.35), rel=1e-3)
    assert cpu_of(steady, 0) == pytest.approx((3.0, 1.35), rel=1e-3)
    peaks, swing = (float(each.pod_expectations(np.array([0])).skew[0, 0]) ** 3 for each in (spiky, steady))
    assert peaks == pytest.approx(0.9 * (2.55 - 3.0) ** 3 + 0.1 * (7.05 - 3.0) ** 3, rel=1e-3)
    assert swing == pytest.approx(0.0, abs=0.01)


def test_steady_pods_have_no_skew_however_much_workloads_differ() -> None:
    """Where the cluster's spread counted as peaks, a calm pod known for minutes would be feared more than a hot one."""
    demand = demand_of("calm", "hot")
    for minute in range(5):
        learn(demand, {0: 0.8, 1: 7.2}, minute * 60.0)
    assert demand.cluster_ratios().variance[0] > 9.0
    assert demand.pod_expectations(np.array([0, 1])).skew[:, 0].tolist() == pytest.approx([0.0, 0.0], abs=1e-4)


def test_a_few_pods_with_tiny_requests_do_not_make_everybody_skewed() -> None:
    """Five of a hundred steady pods request 10m and use thirty times that: cubed they would rule the cluster."""
    demand = Demand((CPU, MEMORY))
    for slot in range(100):
        demand.begin(slot, f"w{slot}", np.array([0.01 if slot < 5 else 1.0, GIB]))
    for minute in range(200):
        learn(demand, dict.fromkeys(range(100), 0.3 + 0.015 * (-1) ** minute), minute * 60.0)
    usage = demand.pod_expectations(np.array([50]))
    assert float(usage.skew[0, 0]) <= MOST_SKEWNESS ** (1 / 3) * float(usage.deviation[0, 0]) * (1 + 1e-9)
    assert float(usage.skew[0, 0]) < 0.1


def test_of_a_workload_that_is_new_the_skew_of_the_cluster_is_expected() -> None:
    demand = demand_of("spiky", "new")
    for minute in range(100):
        learn(demand, {0: 5.0 if minute % 10 == 0 else 0.5}, minute * 60.0)
    known, new = demand.pod_expectations(np.array([0, 1])).skew[:, 0].tolist()
    assert new == pytest.approx(known, rel=0.05)


def test_much_evidence_outweighs_the_prior() -> None:
    demand = demand_of("busy", "idle")
    for minute in range(600):
        learn(demand, {0: 2.0, 1: 0.1}, minute * 60.0)
    assert cpu_of(demand, 0)[0] == pytest.approx(2.0, rel=0.01)
    assert cpu_of(demand, 1)[0] == pytest.approx(0.1, rel=0.3)


def test_a_new_pod_of_a_known_workload_is_expected_to_behave_like_its_siblings() -> None:
    demand = demand_of("web", "other")
    for minute in range(300):
        learn(demand, {0: 3.0, 1: 0.2}, minute * 60.0)
    demand.begin(2, "web", np.array([1.0, GIB]))
    assert cpu_of(demand, 2)[0] == pytest.approx(3.0, rel=0.1)


def test_a_workload_is_remembered_after_its_pods_are_gone() -> None:
    demand = demand_of("web", "other")
    for minute in range(300):
        learn(demand, {0: 3.0, 1: 0.2}, minute * 60.0)
    demand.end(0)
    demand.begin(0, "web", np.array([1.0, GIB]))
    assert cpu_of(demand, 0)[0] == pytest.approx(3.0, rel=0.1)


def test_a_timestamp_that_does_not_advance_teaches_nothing() -> None:
    once, twice = demand_of("web"), demand_of("web")
    learn(once, {0: 2.0}, 100.0)
    learn(twice, {0: 2.0}, 100.0)
    learn(twice, {0: 9.0}, 100.0)
    assert cpu_of(twice, 0) == cpu_of(once, 0)


def test_memory_fades_by_time_not_by_the_number_of_readings() -> None:
    # One half-life later the old sample weighs half: (1 * 0.5 + 1) samples, sums 4 * 0.5 + 1.
    settings = DemandSettings(pod_prior_samples=1e-9, workload_prior_samples=1e-9)
    demand = demand_of("web", settings=settings)
    learn(demand, {0: 4.0}, 0.0)
    learn(demand, {0: 1.0}, HOUR)
    assert cpu_of(demand, 0)[0] == pytest.approx((4 * 0.5 + 1) / 1.5, rel=1e-6)


def test_a_request_changed_in_place_keeps_the_absolute_usage_that_was_learned() -> None:
    settings = DemandSettings(pod_prior_samples=1e-9)
    demand = demand_of("web", settings=settings)
    learn(demand, {0: 2.0}, 0.0)
    demand.resize(0, np.array([4.0, GIB]))
    assert cpu_of(demand, 0)[0] == pytest.approx(2.0, rel=1e-6)


WEB = "shop/Deployment/web"


def rolled_out(before: float, after: float, workload: str = WEB) -> Demand:
    """Three pods used 0.4 cores for two hours; then each is replaced by one that requests something else."""
    demand = demand_of(workload, workload, workload, request=before)
    for minute in range(120):
        learn(demand, dict.fromkeys(range(3), 0.4), minute * 60.0)
    for slot in (3, 4, 5):
        demand.begin(slot, workload, np.array([after, GIB]))
    return demand


@pytest.mark.parametrize(("before", "after"), [(2.0, 0.5), (0.5, 2.0), (0.0, 0.5), (2.0, 0.0)])
def test_pods_that_request_something_else_are_expected_to_use_what_their_siblings_used(
    before: float, after: float
) -> None:
    demand = rolled_out(before, after)
    assert cpu_of(demand, 3)[0] == pytest.approx(0.4, rel=0.1)  # shrunk a little towards the cluster
    assert cpu_of(demand, 3) == pytest.approx(cpu_of(demand, 4))


def test_while_a_rollout_goes_on_old_and_new_pods_teach_the_same() -> None:
    demand = rolled_out(2.0, 0.5)
    for minute in range(120, 240):
        learn(demand, dict.fromkeys(range(6), 0.4), minute * 60.0)
    assert cpu_of(demand, 0)[0] == pytest.approx(0.4, rel=0.01)
    assert cpu_of(demand, 3)[0] == pytest.approx(0.4, rel=0.01)
    assert demand.workload_ratios().mean[0, 0] == pytest.approx(0.8, rel=0.01)  # 0.4 of the 0.5 requested now


def test_one_pod_resized_in_place_changes_nothing_of_what_the_others_are_expected_to_use() -> None:
    demand = rolled_out(2.0, 2.0)
    expected = cpu_of(demand, 0), cpu_of(demand, 3)  # shrunk towards a cluster that uses a fifth of its requests
    demand.resize(1, np.array([0.5, GIB]))
    found = [cpu_of(demand, slot)[0] for slot in (0, 3, 1)]
    assert found == pytest.approx([expected[0][0], expected[1][0], expected[0][0]], rel=0.03)


def test_of_pods_without_a_controller_the_larger_are_expected_to_use_more() -> None:
    demand = rolled_out(2.0, 0.5, "shop/Pod/batch")
    assert cpu_of(demand, 3)[0] == pytest.approx(0.1, rel=0.1)  # a fifth of what it requests, as its siblings
    assert np.isnan(demand.workload_bases()).all()


def test_of_a_workload_that_was_never_measured_a_pod_is_expected_to_use_its_own_request_like_the_cluster() -> None:
    demand = demand_of("shop/Deployment/other", request=2.0)
    for minute in range(300):
        learn(demand, {0: 1.0}, minute * 60.0)  # half of what is requested
    for slot, request in ((1, 2.0), (2, 0.01)):
        demand.begin(slot, WEB, np.array([request, GIB]))
    assert cpu_of(demand, 1)[0] == pytest.approx(1.0, rel=0.01)
    assert cpu_of(demand, 2)[0] == pytest.approx(0.005, rel=0.01)
    assert np.isnan(demand.workload_bases()[1]).all()


def test_what_was_learned_under_another_request_is_taken_over_as_absolute_usage() -> None:
    elsewhere, here = rolled_out(2.0, 2.0), demand_of(WEB, request=0.5)
    here.restore(elsewhere.export())
    assert cpu_of(here, 0)[0] == pytest.approx(0.4, rel=0.1)


def test_a_pod_that_requests_nothing_is_learned_in_absolute_usage() -> None:
    demand = demand_of("web", request=0.0, settings=DemandSettings(1e9, 1e9, 1e-9, 1e-9))
    learn(demand, {0: 0.3}, 0.0)
    assert cpu_of(demand, 0)[0] == pytest.approx(0.3, rel=1e-6)


def test_a_resource_that_was_not_measured_teaches_nothing_of_it() -> None:
    demand = demand_of("web")
    learn(demand, {0: 2.0}, 0.0)
    assert demand.cluster_ratios().mean[1] == UNLEARNED_RATIO


def test_steady_use_has_hardly_any_variance_and_changing_use_has_its_own() -> None:
    settings = DemandSettings(1e9, 1e9, 1e-9, 1e-9)
    steady, changing = demand_of("web", settings=settings), demand_of("web", settings=settings)
    for minute in range(100):
        learn(steady, {0: 1.0}, minute * 60.0)
        learn(changing, {0: 0.5 if minute % 2 else 1.5}, minute * 60.0)
    assert cpu_of(steady, 0)[1] == pytest.approx(np.sqrt(LEAST_VARIANCE), abs=1e-4)
    assert cpu_of(changing, 0)[1] == pytest.approx(0.5, rel=1e-3)


def test_the_least_recently_used_workloads_without_pods_are_forgotten_first() -> None:
    demand = Demand((CPU, MEMORY), DemandSettings(most_workloads=20))
    for n in range(20):
        demand.begin(n, f"w{n}", np.array([1.0, GIB]))
        learn(demand, {n: 1.0}, float(n + 1))
    for n in range(10):
        demand.end(n)
    demand.begin(0, "new", np.array([1.0, GIB]))
    names = demand.workload_names
    assert "w0" not in names
    assert "w1" not in names
    assert {"w2", "w19", "new"} <= set(names)
    assert [demand.workload_name(slot) for slot in (0, 10, 19)] == ["new", "w10", "w19"]


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(0, 10), st.floats(1, 1000)), max_size=30))
def test_ratios_are_finite_and_never_negative_whatever_is_measured(steps: list[tuple[int, float, float]]) -> None:
    demand, time = demand_of("a", "a", "b", "c"), 0.0
    for slot, cores, seconds in steps:
        time += seconds
        learn(demand, {slot: cores}, time)
    usage = demand.pod_expectations(np.arange(4))
    assert np.isfinite(usage.mean).all()
    assert (usage.mean >= 0).all()
    assert (usage.deviation > 0).all()
    assert (usage.skew >= 0).all()
    assert np.isfinite(usage.skew).all()
