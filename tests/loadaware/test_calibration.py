import dataclasses

import numpy as np
import pytest

from loadaware.calibration import calibration
from loadaware.expected import Expected
from loadaware.ratios import Ratios
from loadaware.snapshot import Snapshot
from loadaware.window import Statistics

NONE = np.zeros(0, np.intp)


def snapshot(at: float, **latest: float) -> Snapshot:
    """Nodes of ten cores, each of which is expected to use four, give or take half of one; sampled at that moment."""
    count = len(latest)
    used = np.column_stack([list(latest.values()), np.zeros(count)])
    ratios = Ratios(np.zeros((0, 2)), np.zeros((0, 2)), np.zeros((0, 2)))
    expected = Expected(
        cumulants=np.tile([[4.0, 1.0], [0.25, 0.0], [0.0, 0.0]], (count, 1, 1)),
        workloads=(),
        workload_ratios=ratios,
        cluster_ratios=ratios,
        starts=np.zeros(1, np.intp),
        pair_rows=NONE,
        pair_roots=np.zeros((0, 5)),
    )
    ten = np.full((count, 2), 10.0)
    return dataclasses.replace(
        Snapshot.empty(),
        time=at,
        names=tuple(latest),
        capacity=ten,
        allocatable=ten,
        statistics=dataclasses.replace(Statistics.unmeasured(count, 2), latest=used),
        sampled_at=np.full(count, at),
        expected=expected,
    )


def test_it_is_measured_less_expected_per_allocatable_and_per_deviation() -> None:
    compared = calibration(snapshot(10.0, a=0.0, b=0.0), snapshot(20.0, a=5.0, b=3.5))
    assert compared.error == pytest.approx([(5.0 - 4.0) / 10.0, (3.5 - 4.0) / 10.0])
    assert compared.deviations == pytest.approx([(5.0 - 4.0) / 0.5, (3.5 - 4.0) / 0.5])


def test_a_node_without_a_new_sample_does_not_count() -> None:
    assert not len(calibration(snapshot(10.0, a=5.0), snapshot(10.0, a=5.0)).error)


def test_nodes_are_found_by_name_when_others_come_and_go() -> None:
    compared = calibration(snapshot(10.0, gone=0.0, a=0.0, b=0.0), snapshot(20.0, b=4.0, new=9.0, a=6.0))
    assert compared.error == pytest.approx([0.2, 0.0])


def test_what_is_not_measured_or_not_expected_has_no_error() -> None:
    assert not len(calibration(snapshot(10.0, a=0.0), snapshot(20.0, a=np.nan)).error)
    unlearned = dataclasses.replace(snapshot(10.0, a=0.0), expected=None)
    assert not len(calibration(unlearned, snapshot(20.0, a=5.0)).error)
    assert not len(calibration(Snapshot.empty(), snapshot(20.0, a=5.0)).error)


def test_an_expectation_without_any_deviation_has_an_error_and_no_deviations() -> None:
    before = snapshot(10.0, a=0.0)
    assert before.expected is not None
    certain = before.expected.cumulants * [[[1.0], [0.0], [0.0]]]
    sure = dataclasses.replace(before, expected=dataclasses.replace(before.expected, cumulants=certain))
    compared = calibration(sure, snapshot(20.0, a=5.0))
    assert (len(compared.error), len(compared.deviations)) == (1, 0)
