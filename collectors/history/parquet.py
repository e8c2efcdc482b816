"""How the tables of a segment become Parquet files: encodings that were chosen by measuring, and durability."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from collectors.history.arrow import arrow
from collectors.history.records import RECORD_KINDS
from collectors.history.schema import VERSION
from collectors.history.segments import METADATA_KEY, SegmentFacts
from collectors.history.usage import MEASURED

_DICTIONARY_COLUMNS = (
    "kind", "name", "identity", "node", "phase", "pod", "source", "base", "verb", "profile", "window",
    "resources.list.element", "node_names.list.element", "priorities.list.element", "verdicts.list.element",
)  # fmt: skip
_LARGE = 64 * 2**20


def facts_of(tables: Mapping[str, Any]) -> SegmentFacts:
    """The facts of tables about to be written."""
    told = [tables[kind] for kind in RECORD_KINDS if kind in tables]
    spans = [arrow().compute.min_max(table["time"]).as_py() for table in told]
    return SegmentFacts(
        version=VERSION,
        first=min(table["sequence"][0].as_py() for table in told),
        last=max(table["sequence"][-1].as_py() for table in told),
        earliest=min(span["min"] for span in spans),
        latest=max(span["max"] for span in spans),
        memory_bytes=sum(table.nbytes for table in tables.values()),
        rows={name: table.num_rows for name, table in tables.items()},
    )


def write_files(folder: Path, tables: Mapping[str, Any], facts: SegmentFacts) -> None:
    """A new folder with one file per table, on disk when this returns."""
    folder.mkdir()
    for name, table in tables.items():
        _write_table(folder / f"{name}.parquet", table, facts)
    sync_folder(folder)


def _write_table(path: Path, table: Any, facts: SegmentFacts) -> None:
    metadata = {METADATA_KEY: msgspec.json.encode(facts)}
    with path.open("wb") as stream:
        arrow().parquet.write_table(table.replace_schema_metadata(metadata), stream, **_encoding(path.stem, table))
        stream.flush()
        os.fsync(stream.fileno())


def _encoding(name: str, table: Any) -> dict[str, Any]:
    """zstd over what suits each column. Long pages let zstd see that names and memory repeat from reading to reading;
    doubles are split into streams of equal bytes, which keeps them exact and makes their exponents compress.
    """
    measured = name in MEASURED
    types = arrow().types
    plain = [f.name for f in table.schema if f.name not in _DICTIONARY_COLUMNS] if measured else []
    doubles = [column for column in plain if types.is_float64(table.schema.field(column).type)]
    columns = _leaves(table.schema)
    return {
        "compression": "zstd",
        "compression_level": 3,
        "use_dictionary": [column for column in columns if column in _DICTIONARY_COLUMNS],
        "column_encoding": {"sequence": "DELTA_BINARY_PACKED"} | dict.fromkeys(doubles, "BYTE_STREAM_SPLIT"),
        "dictionary_pagesize_limit": _LARGE,
        "row_group_size": 2**20,
        "data_page_size": 8 * 2**20 if measured else 2**20,
        "max_rows_per_page": 2**20,
        "write_page_checksum": True,
    }


def _leaves(schema: Any) -> list[str]:
    """Column names as Parquet spells them."""
    is_list = arrow().types.is_list
    return [f"{field.name}.list.element" if is_list(field.type) else field.name for field in schema]


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
