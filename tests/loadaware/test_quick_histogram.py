import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Histogram
from prometheus_client.exposition import generate_latest

from loadaware.quick_histogram import QuickHistogram

BUCKETS = (0.5, 1.0, 2.0)


def text(registry: CollectorRegistry) -> list[str]:
    """Its lines, without the moment it was made."""
    return [line for line in generate_latest(registry).decode().splitlines() if "_created" not in line]


@given(st.lists(st.tuples(st.sampled_from("ab"), st.one_of(st.floats(-5, 5), st.sampled_from(BUCKETS))), min_size=1))
def test_it_tells_what_an_ordinary_histogram_tells(values: list[tuple[str, float]]) -> None:
    quick, ordinary = CollectorRegistry(), CollectorRegistry()
    ours = QuickHistogram("took_seconds", "Time.", ("verb",), BUCKETS, quick)
    theirs = Histogram("took_seconds", "Time.", ("verb",), buckets=BUCKETS, registry=ordinary)
    for label, value in values:
        ours.labels(label).observe(value)
        theirs.labels(label).observe(value)
    assert text(quick) == text(ordinary)


def test_a_family_without_values_is_told_without_series() -> None:
    registry = CollectorRegistry()
    QuickHistogram("took_seconds", "Time.", ("verb",), BUCKETS, registry)
    assert text(registry) == ["# HELP took_seconds Time.", "# TYPE took_seconds histogram"]


def test_the_wrong_number_of_labels_is_refused() -> None:
    histogram = QuickHistogram("took_seconds", "Time.", ("verb",), BUCKETS, CollectorRegistry())
    with pytest.raises(ValueError, match="has the labels"):
        histogram.labels("a", "b")


def test_a_name_is_registered_once() -> None:
    registry = CollectorRegistry()
    QuickHistogram("took_seconds", "Time.", (), BUCKETS, registry)
    with pytest.raises(ValueError, match="Duplicated"):
        QuickHistogram("took_seconds", "Time.", (), BUCKETS, registry)
