import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Histogram
from prometheus_client.exposition import generate_latest

from loadaware.bulk_histogram import BulkHistogram

BOUNDS = (0.0, 1.0, 5.0)


def text(registry: CollectorRegistry) -> list[str]:
    """Without the moments at which series were made."""
    return [line for line in generate_latest(registry).decode().splitlines() if "_created" not in line]


@given(st.lists(st.lists(st.integers(-3, 9).map(lambda number: number / 2), max_size=20), max_size=5))
def test_it_tells_what_a_histogram_told_one_by_one_would_tell(batches: list[list[float]]) -> None:
    bulk, single = CollectorRegistry(), CollectorRegistry()
    ours = BulkHistogram("h", "Help.", ("p",), BOUNDS, bulk)
    theirs = Histogram("h", "Help.", ("p",), buckets=BOUNDS, registry=single)
    for batch in batches:
        ours.observe(np.array(batch), "x")
        for value in batch:
            theirs.labels("x").observe(value)
    if any(batches):
        assert text(bulk) == text(single)


def test_what_is_not_a_number_is_not_counted() -> None:
    registry = CollectorRegistry()
    BulkHistogram("h", "Help.", (), BOUNDS, registry).observe(np.array([np.nan, 0.5]))
    assert registry.get_sample_value("h_count") == 1
    assert registry.get_sample_value("h_sum") == 0.5


def test_with_bounds_below_zero_the_last_bucket_is_the_count_and_there_is_no_sum() -> None:
    registry = CollectorRegistry()
    BulkHistogram("h", "Help.", (), (-1.0, 0.0), registry).observe(np.array([-2.0, -0.5, 7.0]))
    told = {le: registry.get_sample_value("h_bucket", {"le": le}) for le in ("-1.0", "0.0", "+Inf")}
    assert told == {"-1.0": 1, "0.0": 2, "+Inf": 3}
    assert registry.get_sample_value("h_sum") is None


def test_without_labels_it_is_there_from_the_start() -> None:
    registry = CollectorRegistry()
    BulkHistogram("h", "Help.", (), BOUNDS, registry)
    assert registry.get_sample_value("h_count") == 0


def test_labels_that_it_does_not_have_are_refused() -> None:
    with pytest.raises(ValueError, match=r"h has the labels \('p',\), not 0 of them"):
        BulkHistogram("h", "Help.", ("p",), BOUNDS, CollectorRegistry()).observe(np.zeros(1))


def test_a_name_can_be_had_once() -> None:
    registry = CollectorRegistry()
    BulkHistogram("h", "Help.", (), BOUNDS, registry)
    with pytest.raises(ValueError, match="Duplicated timeseries"):
        BulkHistogram("h", "Help.", (), BOUNDS, registry)
