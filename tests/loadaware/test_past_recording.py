"""A history from a Prometheus that does what a real one does not do on demand; a real one is in tests/integration."""

from pathlib import Path
from typing import Any

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
    fake: FakePrometheus | str, folder: Path, hours: float = 3.0, waits: list[float] | None = None, **more: Any
) -> PastRecorded:
    url = fake if isinstance(fake, str) else fake.url
    since, step = more.pop("since", START), more.pop("step", 60.0)
    settings = PastSettings(since, START + hours * HOUR, step_seconds=step, pause_seconds=1.0)
    source = PrometheusSettings(url=url, access=HttpAccess(timeout_seconds=5.0))
    return record_past(source, str(folder), settings, **{"wait": (waits if waits is not None else []).append} | more)


def told(folder: Path) -> list[tuple[float, str]]:
    """Every reading and event, in order."""
    return [(r.time, type(r.content).__name__) for r in HistoryReader(folder).records(kinds=["readings", "events"])]


class Interrupted:
    """A clock that is Ctrl-C when it is looked at for the n-th time."""

    def __init__(self, at: int) -> None:
        self.looks, self._at = 0, at

    def __call__(self) -> float:
        self.looks += 1
        if self.looks == self._at:
            raise KeyboardInterrupt
        return START


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


def test_an_error_at_the_third_chunk_of_a_run_keeps_the_two_before_it(tmp_path: Path) -> None:
    pauses = 0

    def fail_later(_: float) -> None:
        nonlocal pauses
        pauses += 1
        if pauses == 2:
            fake.gives("kube_pod_info", reply=complaint(422, "query processing would load too many samples"))

    with cluster(FakePrometheus()) as fake:
        with pytest.raises(PastInterruptedError, match="too many samples") as raised:
            collect(fake, tmp_path, 4.0, wait=fail_later)
        before = len(list(HistoryReader(tmp_path).records(kinds=["readings"])))
        cluster(fake)
        done = collect(fake, tmp_path, 4.0)
    assert raised.value.until == START + 2 * HOUR
    assert before > 0
    times = [time for time, kind in told(tmp_path) if kind == "Reading"]
    assert times == sorted(set(times))
    assert len(times) == before + done.readings


def test_ctrl_c_in_the_middle_of_a_chunk_keeps_it_whole_or_not_at_all(tmp_path: Path) -> None:
    """Wherever it comes, the same command goes on, and nothing is missing or told twice."""
    with cluster(FakePrometheus()) as fake:
        collect(fake, tmp_path / "whole", 2.0, clock=(whole := Interrupted(-1)))
        times = [time for time, kind in told(tmp_path / "whole") if kind == "Reading"]
        for look in range(2, whole.looks, 40):
            folder = tmp_path / str(look)
            with pytest.raises(KeyboardInterrupt):
                collect(fake, folder, 2.0, clock=Interrupted(look))
            until = collected_until(str(folder))
            assert until is None or until.until in {START + HOUR, START + 2 * HOUR}
            collect(fake, folder, 2.0)
            assert [time for time, kind in told(folder) if kind == "Reading"] == times


def test_the_first_query_brings_no_more_samples_than_the_others(tmp_path: Path) -> None:
    """20,000 pods, 500,000 samples: 25 steps of a minute."""
    with cluster(FakePrometheus()) as fake:
        fake.gives("count(last_over_time(kube_pod_info", ({}, 20_000.0))
        collect(fake, tmp_path, 1.0)
    first = next(seen.fields for seen in fake.requests if seen.path.endswith("query_range"))
    assert START + 24 * 60.0 <= float(first["end"]) <= START + 25 * 60.0


def test_another_step_and_an_earlier_beginning_are_refused_where_something_is_already(tmp_path: Path) -> None:
    with cluster(FakePrometheus()) as fake:
        collect(fake, tmp_path, 1.0)
        with pytest.raises(HistoryError, match="was read with a step of 60 s, not 30 s: go on with that, or name"):
            collect(fake, tmp_path, 2.0, step=30.0)
        with pytest.raises(HistoryError, match="what lies before cannot be added: name a shorter --since"):
            collect(fake, tmp_path, 2.0, since=START - HOUR)
        later = collect(fake, tmp_path, 3.0, since=START + 2 * HOUR)
    assert (later.since, later.until) == (START + 2 * HOUR, START + 3 * HOUR)
    times = [time for time, kind in told(tmp_path) if kind == "Reading"]
    assert not [time for time in times if START + HOUR < time < START + 2 * HOUR]


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
