import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.reading import Reading
from loadaware.simulation.metering import Blind, Metering, Sample, Timing


def sample(time: float) -> Sample:
    return Sample(
        time=time,
        nodes=np.array(["node-1"], dtype=object),
        node_usage=np.array([[time, 1.0]]),
        pods=np.array(["shop/a", "shop/b"], dtype=object),
        pod_usage=np.array([[1.0, 2.0], [3.0, 4.0]]),
    )


def published(timing: Timing, until: float) -> list[tuple[float, float]]:
    """(time of publication, time of the sample), asking at every step as a cluster does."""
    metering = Metering(timing, 0.0)
    out = []
    for now in np.arange(0.0, until + 1.0, timing.step_seconds):
        metering.add(sample(float(now) + timing.step_seconds))
        out += [(reading.time, float(reading.nodes.times[0])) for reading in metering.publish(float(now))]
    return out


def test_a_sample_goes_out_every_minute_when_it_is_a_minute_old() -> None:
    assert published(Timing(), 300.0) == [(120.0, 60.0), (180.0, 120.0), (240.0, 180.0), (300.0, 240.0)]


@pytest.mark.parametrize(("late", "expected"), [(30.0, 570.0), (300.0, 300.0)])
def test_fresher_and_staler_sources_are_a_matter_of_settings(late: float, expected: float) -> None:
    assert published(Timing(late_seconds=late), 600.0)[-1] == (600.0, expected)


def test_a_sample_goes_out_again_when_publishing_is_quicker_than_sampling() -> None:
    sent = published(Timing(publish_seconds=15.0, late_seconds=0.0), 60.0)
    assert sent == [(30.0, 30.0), (45.0, 30.0), (60.0, 60.0)]


def test_a_reading_names_nodes_and_pods_in_absolute_units_with_times_and_windows() -> None:
    metering = Metering(Timing(), 0.0)
    metering.add(sample(30.0))
    assert metering.publish(60.0) == []
    (reading,) = metering.publish(120.0)
    assert reading.base == "absolute"
    assert reading.resources == ("cpu", "memory")
    assert reading.nodes.names == ("node-1",)
    assert reading.pods is not None
    assert reading.pods.names == ("shop/a", "shop/b")
    assert reading.pods.usage.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert reading.pods.times.tolist() == [30.0, 30.0]
    assert reading.pods.windows.tolist() == [30.0, 30.0]


@given(
    st.integers(0, 12).map(lambda steps: 30.0 * steps),
    st.integers(1, 12).map(lambda steps: 15.0 * steps),
    st.integers(0, 3),
)
def test_samples_that_nobody_awaits_would_never_be_published(late: float, publish: float, shift: int) -> None:
    timing = Timing(step_seconds=30.0, publish_seconds=publish, late_seconds=late)
    start = 1000.0 + 7.0 * shift
    all_kept, awaited = Metering(timing, start), Metering(timing, start)
    for step in range(60):
        time = start + 30.0 * (step + 1)
        sample = Sample(time, np.array(["a"], object), np.array([[float(step), 0.0]]), None, np.zeros((0, 2)))
        all_kept.add(sample)
        if awaited.awaits(time):
            awaited.add(sample)
        now = start + 30.0 * step
        assert [told(r) for r in awaited.publish(now)] == [told(r) for r in all_kept.publish(now)]


def told(reading: Reading) -> tuple[float, float, float]:
    return reading.time, float(reading.nodes.times[0]), float(reading.nodes.usage[0, 0])


@given(st.floats(0.0, 1.0), st.integers(1, 200))
def test_the_unmeasured_share_of_the_nodes_is_met_and_lies_evenly(share: float, count: int) -> None:
    seen = Blind(nodes=share).seen(count)
    assert len(seen) == count
    assert abs(int((~seen).sum()) - share * count) < 1.0 + 1e-6
