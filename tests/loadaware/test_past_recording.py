"""A history from a Prometheus that does what a real one does not do on demand; a real one is in tests/integration."""

from pathlib import Path

import pytest

from collectors.cluster import PodGone, PodSeen
from collectors.errors import EmptyReadingError, HistoryError
from collectors.history import HistoryReader
from collectors.http_access import HttpAccess
from collectors.prometheus import PrometheusSettings
from loadaware.past_recording import (
    PATIENCE_SECONDS,
    PastInterruptedError,
    PastRecorded,
    PastSettings,
    collected_until,
    record_past,
)
from tests.collectors.fake_prometheus import FakePrometheus, complaint
from tests.loadaware.recorded_runs import GIBIBYTE, START, packed_history

HOUR = 3600.0
NODE = {"node": "a", "instance": "a"}
POD = {"namespace": "shop", "pod": "web-1", "uid": "u-1", "node": "a"}


def cluster(fake: FakePrometheus) -> FakePrometheus:
    """One node with one pod, for ever."""
    fake.gives("container_cpu_usage_seconds_total{id", (NODE, 1.0))
    fake.gives("container_memory_working_set_bytes{id", (NODE, GIBIBYTE))
    fake.gives("container_cpu_usage_seconds_total{container", ({"namespace": "shop", "pod": "web-1"}, 0.5))
    fake.gives("container_memory_working_set_bytes{container", ({"namespace": "shop", "pod": "web-1"}, GIBIBYTE))
    amounts = (("cpu", 4.0), ("memory", 16 * GIBIBYTE))
    fake.gives("last_over_time(kube_node_status_allocatable", *(({**NODE, "resource": r}, v) for r, v in amounts))
    fake.gives("min_over_time(timestamp(kube_node", (NODE, lambda at: at - HOUR))
    fake.gives("max_over_time(timestamp(kube_node", (NODE, lambda at: at))
    fake.gives("last_over_time(kube_pod_info", (POD, 1.0))
    fake.gives("min_over_time(timestamp(kube_pod_info", (POD, lambda at: at - HOUR))
    fake.gives("max_over_time(timestamp(kube_pod_info", (POD, lambda at: at))
    return fake


def collect(
    fake: FakePrometheus | str, folder: Path, hours: float = 3.0, waits: list[float] | None = None
) -> PastRecorded:
    url = fake if isinstance(fake, str) else fake.url
    settings = PastSettings(START, START + hours * HOUR, step_seconds=60.0, pause_seconds=1.0)
    source = PrometheusSettings(url=url, access=HttpAccess(timeout_seconds=5.0))
    return record_past(source, str(folder), settings, wait=(waits if waits is not None else []).append)


def test_the_past_is_read_hour_by_hour_with_a_pause_between(tmp_path: Path) -> None:
    waits: list[float] = []
    with cluster(FakePrometheus()) as fake:
        done = collect(fake, tmp_path, 3.0, waits)
    assert (done.chunks, done.empty_chunks) == (3, 0)
    assert waits == [1.0, 1.0, 1.0]
    assert done.readings == len(list(HistoryReader(tmp_path).records(kinds=["readings"])))
    ranges = [seen.fields for seen in fake.requests if seen.path.endswith("query_range")]
    assert all(float(told["end"]) - float(told["start"]) <= HOUR for told in ranges)


def test_an_error_in_the_middle_keeps_what_was_read_and_the_same_command_goes_on(tmp_path: Path) -> None:
    with cluster(FakePrometheus()) as fake:
        collect(fake, tmp_path, 2.0)
        fake.gives("kube_pod_info", reply=complaint(422, "query processing would load too many samples"))
        with pytest.raises(PastInterruptedError, match=r"too many samples.*is kept in .*the same command goes on"):
            collect(fake, tmp_path, 4.0)
        before = len(list(HistoryReader(tmp_path).records(kinds=["readings"])))
        cluster(fake)
        done = collect(fake, tmp_path, 4.0)
    times = [record.time for record in HistoryReader(tmp_path).records(kinds=["readings"])]
    assert len(times) == before + done.readings
    assert times == sorted(set(times))


def test_a_source_that_is_overloaded_is_given_time(tmp_path: Path) -> None:
    waits: list[float] = []
    with cluster(FakePrometheus()) as fake:
        fake.gives("kube_node_status_allocatable", reply=complaint(503, "busy", "unavailable"))
        with pytest.raises(PastInterruptedError, match=r"503.*nothing was read yet"):
            collect(fake, tmp_path, 1.0, waits)
    assert waits == list(PATIENCE_SECONDS)


def test_a_prometheus_that_cannot_be_reached_is_said_so(tmp_path: Path) -> None:
    with FakePrometheus() as fake:
        gone = fake.url
    with pytest.raises(PastInterruptedError, match="cannot be reached"):
        collect(gone, tmp_path, 1.0)
    assert collected_until(str(tmp_path)) is None


def test_a_prometheus_without_kube_state_metrics_is_told_what_is_missing(tmp_path: Path) -> None:
    with FakePrometheus() as fake, pytest.raises(EmptyReadingError, match="is kube-state-metrics scraped"):
        collect(fake, tmp_path, 2.0)


def test_hours_before_the_data_begins_are_skipped(tmp_path: Path) -> None:
    with cluster(FakePrometheus()) as fake:
        labels = {**NODE, "resource": "cpu"}
        fake.gives(
            "last_over_time(kube_node_status_allocatable",
            (labels, lambda at: 4.0 if at > START + 1.5 * HOUR else None),
        )
        done = collect(fake, tmp_path, 3.0)
    assert (done.chunks, done.empty_chunks) == (2, 1)
    assert min(record.time for record in HistoryReader(tmp_path).records(kinds=["readings"])) >= START + HOUR


def test_a_pod_that_is_seen_no_more_is_gone_a_step_later(tmp_path: Path) -> None:
    with cluster(FakePrometheus()) as fake:
        last = START + 1200.0
        fake.gives("max_over_time(timestamp(kube_pod_info", (POD, last))
        collect(fake, tmp_path, 1.0)
    events = [(r.time, r.content) for r in HistoryReader(tmp_path).records(kinds=["events"])]
    assert [time for time, event in events if isinstance(event, PodSeen)] == [START]
    assert [time for time, event in events if isinstance(event, PodGone)] == [last + 60.0]


def test_a_live_history_is_not_added_to(tmp_path: Path) -> None:
    packed_history(tmp_path, 5)
    with cluster(FakePrometheus()) as fake, pytest.raises(HistoryError, match="was recorded live"):
        collect(fake, tmp_path, 1.0)
