"""Learned demand as bytes, for a file or another replica.

    loadaware-demand 1.1 3f2a90c1 18874         a line: format, version, CRC-32 and length of what follows
    {"resources", "time", "settings", "tables": {name: {"names", "columns": {name: {"type", "shape", "data"}}}}}

The body is MessagePack; a column's data is its numbers one after the other, little-endian. Nothing in it is executed
when it is read. A newer minor version is read, and what is not known of it left out; a newer major one is refused.
"""

import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
import numpy as np

from loadaware.demand_state import TIMES, Column, DemandState, Table
from loadaware.errors import LoadAwareError

FORMAT = b"loadaware-demand"
MAJOR, MINOR = 1, 1
LONGEST_HEADER = 100
MOST_RESOURCES = 256
_TYPES = {"f8": "<f8", "i8": "<i8"}
_AMOUNTS = frozenset({"sums", "cubes", "thirds", "counts", "bases", "requests", "workloads"})
"""Columns that hold finite numbers, none below zero."""


@dataclass
class DemandFormatError(LoadAwareError):
    """Bytes that are no learned demand, or not of a version that is read here."""

    problem: str

    def __str__(self) -> str:
        return self.problem


class _Column(msgspec.Struct):
    type: str
    shape: list[int]
    data: bytes


class _Table(msgspec.Struct):
    names: list[str]
    columns: dict[str, _Column]


class _Body(msgspec.Struct):
    resources: list[str]
    time: float
    tables: dict[str, _Table]
    settings: dict[str, float] = {}


def encode(state: DemandState) -> bytes:
    """The bytes of a value."""
    tables = {name: _packed(table) for name, table in state.tables.items()}
    body = msgspec.msgpack.encode(_Body(list(state.resources), state.time, tables, dict(state.settings)))
    header = f"{FORMAT.decode()} {MAJOR}.{MINOR} {zlib.crc32(body):08x} {len(body)}\n"
    return header.encode() + body


def decode(content: bytes) -> DemandState:
    """The value of such bytes. Raises DemandFormatError; never half a value."""
    body = _checked_body(content)
    try:
        told = msgspec.msgpack.decode(body, type=_Body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DemandFormatError(f"its body cannot be decoded: {error}") from error
    if not 0 < len(told.resources) <= MOST_RESOURCES or len(set(told.resources)) != len(told.resources):
        raise DemandFormatError(f"it names {len(told.resources)} resources, or one twice")
    if not math.isfinite(told.time):
        raise DemandFormatError("it does not say when it was made")
    tables = {name: _unpacked(name, table, len(told.resources)) for name, table in told.tables.items()}
    return DemandState(tuple(told.resources), told.time, tables, told.settings)


def _checked_body(content: bytes) -> bytes:
    header, found, body = content[:LONGEST_HEADER].partition(b"\n")
    words = header.split(b" ")
    if words[0] != FORMAT or not found or len(words) != 4:
        raise DemandFormatError("it is no file of learned demand")
    _check_version(words[1].decode(errors="replace"))
    body = content[len(header) + 1 :]
    if words[3] != str(len(body)).encode():
        raise DemandFormatError(f"it has {len(body)} bytes of {words[3].decode(errors='replace')}: it was cut off")
    if words[2] != f"{zlib.crc32(body):08x}".encode():
        raise DemandFormatError("its checksum is wrong: it was damaged")
    return body


def _check_version(version: str) -> None:
    major, _, minor = version.partition(".")
    if not major.isdecimal() or not minor.isdecimal():
        raise DemandFormatError(f"its version {version!r} is none")
    if int(major) != MAJOR:
        raise DemandFormatError(f"it is of version {version}; this loadaware reads {MAJOR}.x")


def _packed(table: Table) -> _Table:
    return _Table(list(table.names), {name: _packed_column(column) for name, column in table.columns.items()})


def _packed_column(column: Column) -> _Column:
    kind = "i8" if column.dtype.kind == "i" else "f8"
    return _Column(kind, list(column.shape), np.ascontiguousarray(column, dtype=_TYPES[kind]).tobytes())


def _unpacked(name: str, table: _Table, resources: int) -> Table:
    if len(set(table.names)) != len(table.names):
        raise DemandFormatError(f"table {name} names a row twice")
    columns = {key: _unpacked_column(f"{name}.{key}", column) for key, column in table.columns.items()}
    for key, column in columns.items():
        _check_column(f"{name}.{key}", column, len(table.names), resources)
    _check_times(name, columns)
    return Table(tuple(table.names), columns)


def _unpacked_column(where: str, told: _Column) -> Column:
    if told.type not in _TYPES:
        raise DemandFormatError(f"column {where} is of an unknown type {told.type!r}")
    if any(length < 0 for length in told.shape) or math.prod(told.shape) * 8 != len(told.data):
        raise DemandFormatError(f"column {where} does not have the shape {told.shape}")
    plain = np.frombuffer(told.data, dtype=_TYPES[told.type]).reshape(told.shape)
    return plain.astype(np.intp) if told.type == "i8" else plain.astype(np.float64)


def _check_column(where: str, column: Column, rows: int, resources: int) -> None:
    if not column.ndim or len(column) != rows or (column.ndim > 1 and column.shape[1] != resources):
        raise DemandFormatError(f"column {where} does not fit {rows} rows and {resources} resources")
    if where.rpartition(".")[2] in _AMOUNTS and not (np.isfinite(column).all() and (column >= 0).all()):
        raise DemandFormatError(f"column {where} has numbers that cannot be")


def _check_times(name: str, columns: Mapping[str, Column]) -> None:
    times = columns.get(TIMES)
    if times is not None and (times.ndim != 1 or np.isnan(times).any() or np.isposinf(times).any()):
        raise DemandFormatError(f"column {name}.{TIMES} has no times")
