import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadaware.simulation.generator import generate
from loadaware.simulation.settings import MachineSettings, ScenarioSettings
from loadaware.simulation.traces import RecordedCurves, Traces, TracesError, load_traces

DAY = 86_400.0


def recorded(levels: list[list[float]]) -> RecordedCurves:
    traces = Traces("day", np.array(levels))
    return RecordedCurves(traces, np.arange(len(levels)))


def write(folder: Path, name: str, percent: object) -> None:
    np.savez(folder / name, cpu_percent=np.asarray(percent))


def test_a_curve_passes_through_what_was_recorded() -> None:
    curves = recorded([[0.1, 0.2, 0.3, 0.4], [1.0, 0.0, 1.0, 0.0]])
    times = np.arange(4) * DAY / 4
    assert curves.level(np.zeros(4, dtype=np.int64), times).tolist() == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert curves.level(np.ones(4, dtype=np.int64), times).tolist() == pytest.approx([1.0, 0.0, 1.0, 0.0])


def test_between_two_columns_lies_a_straight_line_and_the_day_wraps() -> None:
    curves = recorded([[0.0, 1.0]])
    halves = np.array([0.25, 0.75, 1.25, 7.75]) * DAY
    assert curves.level(np.zeros(4, dtype=np.int64), halves).tolist() == pytest.approx([0.5, 0.5, 0.5, 0.5])


@given(st.lists(st.floats(0, 1), min_size=2, max_size=12), st.floats(0, 4 * DAY))
def test_a_level_stays_between_the_lowest_and_the_highest_recorded(row: list[float], time: float) -> None:
    level = recorded([row]).level(np.zeros(1, dtype=np.int64), np.array([time]))[0]
    assert min(row) - 1e-9 <= level <= max(row) + 1e-9


def test_smoothing_keeps_the_mean_and_takes_the_spikes() -> None:
    traces = Traces("day", np.array([[0.0, 0.0, 1.0, 0.0, 0.0, 0.0]]))
    smooth = traces.smoothed(3)
    assert smooth.levels.mean() == pytest.approx(traces.levels.mean())
    assert smooth.levels.max() == pytest.approx(1 / 3)


def test_a_folder_gives_its_days_in_order_and_one_data_set_if_asked(tmp_path: Path) -> None:
    for name in ("b-2.npz", "b-1.npz", "a-1.npz"):
        write(tmp_path, name, np.full((3, 4), 50, dtype=np.uint8))
    assert [day.name for day in load_traces(str(tmp_path))] == ["a-1", "b-1", "b-2"]
    assert [day.name for day in load_traces(str(tmp_path), "b")] == ["b-1", "b-2"]
    assert load_traces(str(tmp_path))[0].levels.tolist() == [[0.5] * 4] * 3


def test_a_folder_that_is_not_there_or_empty_is_told(tmp_path: Path) -> None:
    with pytest.raises(TracesError, match="there is no such folder"):
        load_traces(str(tmp_path / "nowhere"))
    with pytest.raises(TracesError, match=r"holds no traces: a file per day is expected"):
        load_traces(str(tmp_path))


def test_an_unknown_data_set_is_told_with_those_there_are(tmp_path: Path) -> None:
    write(tmp_path, "lab-1.npz", np.ones((2, 2)))
    with pytest.raises(TracesError, match="no data set 'club'; there are: lab"):
        load_traces(str(tmp_path), "club")


@pytest.mark.parametrize(
    ("percent", "problem"),
    [
        (np.ones(4), "must be machines x times of the day, and is 4"),
        (np.ones((0, 4)), "and is 0 x 4"),
        (np.ones((4, 1)), "and is 4 x 1"),
        (np.array([[1.0, np.nan]]), "must hold percentages"),
        (np.array([[1.0, -1.0]]), "must hold percentages"),
        (np.zeros((2, 2)), "not all 0"),
    ],
)
def test_a_file_with_the_wrong_contents_is_told(tmp_path: Path, percent: object, problem: str) -> None:
    write(tmp_path, "lab-1.npz", percent)
    with pytest.raises(TracesError, match=problem):
        load_traces(str(tmp_path))


@pytest.mark.parametrize("contents", [b"", b"PK\x03\x04 broken", b"not an archive"])
def test_a_broken_file_is_told_by_its_name(tmp_path: Path, contents: bytes) -> None:
    (tmp_path / "lab-1.npz").write_bytes(contents)
    with pytest.raises(TracesError, match=r"lab-1\.npz: cannot be read as traces"):
        load_traces(str(tmp_path))


@pytest.mark.parametrize("place", range(100, 400, 17))
def test_a_damaged_compressed_file_is_told(tmp_path: Path, place: int) -> None:
    file = tmp_path / "lab-1.npz"
    np.savez_compressed(file, cpu_percent=np.random.default_rng(1).integers(0, 9, (50, 50), dtype=np.uint8))
    damaged = bytearray(file.read_bytes())
    damaged[place] ^= 0xFF
    file.write_bytes(damaged)
    with pytest.raises(TracesError, match="lab-1"):
        load_traces(str(tmp_path))


def test_whatever_byte_is_damaged_a_file_is_read_or_told(tmp_path: Path) -> None:
    file = tmp_path / "lab-1.npz"
    write(tmp_path, file.name, np.arange(12.0).reshape(3, 4))
    whole = file.read_bytes()
    told = 0
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 0x01
        file.write_bytes(damaged)
        try:
            load_traces(str(tmp_path))
        except TracesError:
            told += 1
    assert told > len(whole) / 2


def test_an_array_that_is_no_archive_is_told(tmp_path: Path) -> None:
    np.save(tmp_path / "lab-1.npy", np.ones((2, 2)))
    (tmp_path / "lab-1.npy").rename(tmp_path / "lab-1.npz")
    with pytest.raises(TracesError, match=r"lab-1\.npz: cannot be read as traces: not an \.npz"):
        load_traces(str(tmp_path))


def test_an_array_of_something_else_is_told(tmp_path: Path) -> None:
    write(tmp_path, "lab-1.npz", np.zeros((2, 2), dtype=[("cpu", float), ("memory", float)]))
    with pytest.raises(TracesError, match="cannot be read as traces"):
        load_traces(str(tmp_path))


def test_an_array_that_claims_to_be_larger_than_any_memory_is_told(tmp_path: Path) -> None:
    header = io.BytesIO()
    claimed = {"descr": "|u1", "fortran_order": False, "shape": (10**9, 10**9)}
    np.lib.format.write_array_header_1_0(header, claimed)
    with zipfile.ZipFile(tmp_path / "lab-1.npz", "w") as archive:
        archive.writestr("cpu_percent.npy", header.getvalue() + b"12345678")
    with pytest.raises(TracesError, match="cannot be read as traces"):
        load_traces(str(tmp_path))


def test_a_cut_off_file_is_told(tmp_path: Path) -> None:
    write(tmp_path, "lab-1.npz", np.random.default_rng(1).integers(0, 100, (50, 50)))
    whole = (tmp_path / "lab-1.npz").read_bytes()
    (tmp_path / "lab-1.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(TracesError, match="cannot be read as traces"):
        load_traces(str(tmp_path))


def test_an_archive_without_the_array_is_told(tmp_path: Path) -> None:
    np.savez(tmp_path / "lab-1.npz", other=np.ones(3))
    with pytest.raises(TracesError, match="has no array cpu_percent"):
        load_traces(str(tmp_path))


def test_a_scenario_on_traces_meets_its_load_and_names_tell_nothing() -> None:
    random = np.random.default_rng(3)
    traces = Traces("day", random.uniform(0.0, 1.0, (40, 24)))
    settings = ScenarioSettings(duration_seconds=7200.0, load=0.4, machines=MachineSettings(nodes=8))
    scenario = generate(settings, np.random.default_rng(1), traces)
    assert scenario.settings.workloads.named == 0.0
    arrivals, machines = scenario.arrivals, scenario.machines
    demands = []
    for time in np.linspace(*settings.load_between, 60):
        alive = np.flatnonzero((arrivals.arrival <= time) & (arrivals.departure > time))
        demands.append(scenario.usage(alive, time).sum() + machines.overhead_cores.sum())
    assert np.mean(demands) / machines.cores.sum() == pytest.approx(0.4, abs=0.02)
