import numpy as np
import pytest

from loadaware.simulation.metering import Metering, Sample, Timing


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
