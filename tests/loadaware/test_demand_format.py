"""Bytes of learned demand: exact both ways, and whatever else comes is refused whole."""

import zlib
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from loadaware.demand_format import DemandFormatError, decode, encode
from loadaware.demand_state import DemandState, Table
from tests.loadaware.learned import rows_of

AMOUNTS = st.floats(0.0, 1e300, allow_subnormal=True)
TIMES = st.one_of(st.floats(-1e12, 1e12), st.just(-np.inf))


@st.composite
def states(draw: st.DrawFn) -> DemandState:
    resources = draw(st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=3, unique=True))

    def table(**columns: tuple[int, ...]) -> Table:
        names = draw(st.lists(st.text(max_size=8), max_size=5, unique=True))
        made: dict[str, Any] = {
            name: draw(arrays.arrays(np.float64, (len(names), *shape), elements=AMOUNTS))
            for name, shape in columns.items()
        }
        made["times"] = draw(arrays.arrays(np.float64, len(names), elements=TIMES))
        return Table(tuple(names), made)

    count = len(resources)
    tables = {
        "cluster": table(sums=(count, 3)),
        "workloads": table(sums=(count, 3), requests=(count,)),
        "rest": table(counts=(count,), sums=(count,)),
    }
    time = draw(st.floats(-1e12, 1e12))
    return DemandState(tuple(resources), time, tables, {"workload_prior_samples": draw(AMOUNTS)})


@given(states())
def test_what_is_encoded_and_decoded_is_the_same_to_the_last_bit(state: DemandState) -> None:
    again = decode(encode(state))
    assert rows_of(again) == rows_of(state)
    assert (again.resources, again.time, again.settings) == (state.resources, state.time, state.settings)


def test_numbers_of_rows_stay_whole_numbers() -> None:
    state = DemandState(("cpu",), 1.0, {"other": Table(("a", "b"), {"workloads": np.array([3, 0], dtype=np.intp)})})
    column = decode(encode(state)).table("other").columns["workloads"]
    assert column.dtype == np.intp
    assert column.tolist() == [3, 0]


SMALL = DemandState(("cpu",), 1.0, {"workloads": Table(("w",), {"sums": np.ones((1, 1, 3)), "times": np.ones(1)})})


@given(st.integers(0, len(encode(SMALL)) - 1))
def test_a_file_cut_off_anywhere_is_refused(length: int) -> None:
    with pytest.raises(DemandFormatError):
        decode(encode(SMALL)[:length])


@given(st.integers(0, len(encode(SMALL)) - 1), st.integers(1, 255))
def test_a_byte_changed_anywhere_is_refused_or_changes_nothing_but_the_minor_version(place: int, flip: int) -> None:
    content = bytearray(encode(SMALL))
    content[place] ^= flip
    try:
        state = decode(bytes(content))
    except DemandFormatError:
        return
    assert rows_of(state) == rows_of(SMALL)


@given(st.binary(max_size=300))
def test_foreign_bytes_are_refused(content: bytes) -> None:
    with pytest.raises(DemandFormatError):
        decode(content)


def of_version(version: str, content: bytes) -> bytes:
    return content.replace(b" 1.1 ", f" {version} ".encode(), 1)


def test_a_newer_minor_version_is_read_and_a_newer_major_one_refused_with_both_named() -> None:
    assert rows_of(decode(of_version("1.7", encode(SMALL)))) == rows_of(SMALL)
    with pytest.raises(DemandFormatError, match=r"it is of version 2\.0; this loadaware reads 1\.x"):
        decode(of_version("2.0", encode(SMALL)))


def rewritten(change: Any) -> bytes:
    """A well-formed file whose body says something else."""
    body = msgspec.msgpack.decode(encode(SMALL).partition(b"\n")[2])
    change(body)
    packed = msgspec.msgpack.encode(body)
    return f"loadaware-demand 1.1 {zlib.crc32(packed):08x} {len(packed)}\n".encode() + packed


def column(body: Any, name: str = "sums") -> Any:
    return body["tables"]["workloads"]["columns"][name]


def data(*values: float) -> bytes:
    return np.array(values, dtype="<f8").tobytes()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda body: body.pop("tables"), "its body cannot be decoded"),
        (lambda body: body.update(resources=[]), "it names 0 resources"),
        (lambda body: body.update(resources=["cpu", "cpu"]), "or one twice"),
        (lambda body: body.update(time=float("nan")), "does not say when"),
        (lambda body: column(body).update(type="O"), "column workloads.sums is of an unknown type 'O'"),
        (lambda body: column(body).update(shape=[1, 1, 4]), "column workloads.sums does not have the shape"),
        (lambda body: column(body).update(shape=[-1, -1, 3]), "column workloads.sums does not have the shape"),
        (lambda body: column(body).update(shape=[3, 1]), "column workloads.sums does not fit 1 rows and 1 resources"),
        (lambda body: column(body).update(shape=[1, 3]), "column workloads.sums does not fit 1 rows and 1 resources"),
        (lambda body: column(body).update(data=data(1, np.nan, 1)), "column workloads.sums has numbers that cannot be"),
        (lambda body: column(body).update(data=data(1, -1, 1)), "column workloads.sums has numbers that cannot be"),
        (lambda body: column(body, "times").update(data=data(np.nan)), "column workloads.times has no times"),
        (lambda body: column(body, "times").update(data=data(np.inf)), "column workloads.times has no times"),
        (lambda body: body["tables"]["workloads"].update(names=["w", "w"]), "table workloads names a row twice"),
    ],
)
def test_numbers_that_cannot_be_are_refused_with_their_place(change: Any, problem: str) -> None:
    with pytest.raises(DemandFormatError, match=problem.replace(".", r"\.")):
        decode(rewritten(change))


def test_members_and_columns_of_a_newer_minor_version_are_left_out() -> None:
    def richer(body: Any) -> None:
        body["moods"] = {"good": True}
        body["tables"]["workloads"]["colour"] = "blue"
        body["tables"]["workloads"]["columns"]["seasons"] = {"type": "f8", "shape": [1, 1], "data": data(-3.0)}

    state = decode(rewritten(richer))
    assert state.table("workloads").floats("sums", 1, 3).tolist() == [[[1.0, 1.0, 1.0]]]


def test_what_is_read_is_only_numbers_and_text() -> None:
    import pickle

    with pytest.raises(DemandFormatError, match="no file of learned demand"):
        decode(pickle.dumps({"resources": ["cpu"]}))
