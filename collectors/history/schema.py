"""Records to Arrow tables and back: the one module that knows the columns of a history.

    events       sequence time kind name identity node phase body      body: the event in msgpack, exact
    readings     sequence time source reading_time base resources nodes pods deviation notes
    nodes, pods  sequence name time window usage_<resource>... deviation_<resource>...
    requests     sequence time verb profile pod node_names body detail       body: the pod in msgpack
    answers      sequence time request priorities scores verdicts detail
    checkpoints  sequence time state
    marks        sequence time name detail

A reading is one row of `readings` and, in the same order, one row per node in `nodes` and per pod in `pods`. Usage is
float64: a replay is exact to the last bit. The bargain: decode(encode(records)) equals records, NaN included.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np

from collectors.cluster import (
    Event,
    Forbidden,
    NamespaceGone,
    NamespaceSeen,
    NodeGone,
    NodeSeen,
    PodGone,
    PodSeen,
    Relisted,
)
from collectors.history.arrow import arrow
from collectors.history.records import Answer, Checkpoint, Content, Mark, Record, RecordKind, Request
from collectors.history.usage import MEASURED, Batches, MeasuredRows, measured_tables
from collectors.manifests import Pod, Shape
from collectors.reading import Reading

VERSION = 1

_PACK = msgspec.msgpack.Encoder()
_UNPACK_EVENT = msgspec.msgpack.Decoder(Event)
_UNPACK_POD = msgspec.msgpack.Decoder(Pod)


@lru_cache(maxsize=1)
def _schemas() -> dict[str, Any]:
    pa = arrow()
    word = pa.dictionary(pa.int32(), pa.string())
    order = {"sequence": pa.int64(), "time": pa.float64()}
    columns = {
        "events": {"kind": word, "name": word, "identity": word, "node": word, "phase": word, "body": pa.binary()},
        "readings": {
            "source": word, "reading_time": pa.float64(), "base": word, "resources": pa.list_(pa.string()),
            "nodes": pa.int64(), "pods": pa.int64(), "deviation": pa.bool_(), "notes": pa.list_(pa.string()),
        },
        "requests": {
            "verb": word, "profile": word, "pod": word, "node_names": pa.list_(pa.string()),
            "body": pa.binary(), "detail": pa.binary(),
        },
        "answers": {
            "request": pa.int64(), "priorities": pa.list_(pa.int64()), "scores": pa.list_(pa.float64()),
            "verdicts": pa.list_(pa.string()), "detail": pa.binary(),
        },
        "checkpoints": {"state": pa.binary()},
        "marks": {"name": word, "detail": pa.binary()},
    }  # fmt: skip
    return {table: pa.schema({**order, **own}) for table, own in columns.items()}


# -- Records to tables ----------------------------------------------------------------------------------------------


def kind_of(content: Content) -> RecordKind:
    """The table that holds it."""
    match content:
        case Reading():
            return "readings"
        case Request():
            return "requests"
        case Answer():
            return "answers"
        case Checkpoint():
            return "checkpoints"
        case Mark():
            return "marks"
    return "events"


def encode(records: Iterable[Record]) -> dict[str, Any]:
    """Arrow tables by name; a table without rows is left out."""
    rows: dict[str, list[tuple[Any, ...]]] = {}
    readings: list[tuple[int, Reading]] = []
    for record in records:
        kind = kind_of(record.content)
        rows.setdefault(kind, []).append((record.sequence, record.time, *_ENCODERS[kind](record.content)))
        if isinstance(record.content, Reading):
            readings.append((record.sequence, record.content))
    tables = {kind: _table(kind, kind_rows) for kind, kind_rows in rows.items()}
    return tables | measured_tables(readings)


def _table(kind: str, rows: Sequence[tuple[Any, ...]]) -> Any:
    pa, schema = arrow(), _schemas()[kind]
    columns = zip(schema, zip(*rows, strict=True), strict=True)
    return pa.Table.from_arrays([_column(field.type, values) for field, values in columns], schema=schema)


def _column(column_type: Any, values: Sequence[Any]) -> Any:
    """Long lists are converted one by one, so that other threads may run in between."""
    pa = arrow()
    if not pa.types.is_list(column_type):
        return pa.array(values, type=column_type)
    offsets = np.concatenate([[0], np.cumsum([len(value) for value in values])])
    items = pa.concat_arrays([pa.array(value, type=column_type.value_type) for value in values])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), items)


def _event_row(event: Event) -> tuple[Any, ...]:
    name, identity, node, phase = _index_of(event)
    return type(event).__name__, name, identity, node, phase, _PACK.encode(event)


def _index_of(event: Event) -> tuple[str | None, str | None, str | None, str | None]:
    match event:
        case PodSeen(pod=pod):
            return pod.key, pod.identity, pod.node, pod.phase
        case PodGone(identity=identity):
            return None, identity, None, None
        case NodeSeen(node=node):
            name = node.name
        case NamespaceSeen(namespace=namespace):
            name = namespace.name
        case NodeGone(name=name) | NamespaceGone(name=name) | Relisted(kind=name) | Forbidden(kind=name):
            pass
    return name, None, None, None


def _reading_row(reading: Reading) -> tuple[Any, ...]:
    pods = None if reading.pods is None else len(reading.pods.names)
    deviation = reading.node_deviation is not None
    counts = (reading.resources, len(reading.nodes.names), pods, deviation)
    return reading.source, reading.time, reading.base, *counts, reading.notes


def _request_row(request: Request) -> tuple[Any, ...]:
    pod = request.pod
    return request.verb, request.profile, pod.key, request.node_names, _PACK.encode(pod), request.detail


def _answer_row(answer: Answer) -> tuple[Any, ...]:
    return answer.request, answer.priorities, answer.scores, answer.verdicts, answer.detail


_ENCODERS: Mapping[RecordKind, Callable[[Any], tuple[Any, ...]]] = {
    "events": _event_row,
    "readings": _reading_row,
    "requests": _request_row,
    "answers": _answer_row,
    "checkpoints": lambda checkpoint: (checkpoint.state,),
    "marks": lambda mark: (mark.name, mark.detail),
}


# -- Tables to records ----------------------------------------------------------------------------------------------


def decode(kind: RecordKind, batches: Callable[[str], Batches]) -> Iterator[Record]:
    """The records of one kind, in order. `batches` opens a table of the segment by name."""
    if kind == "readings":
        return _decode_readings(batches("readings"), {name: MeasuredRows(batches(name)) for name in MEASURED})
    return _decode_rows(batches(kind), _DECODERS[kind])


def _decode_rows(batches: Batches, content: Callable[..., Content]) -> Iterator[Record]:
    for batch in batches:
        for sequence, time, *values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            yield Record(sequence, time, content(*values))


def _event(_kind: str, _name: str, _identity: str, _node: str, _phase: str, body: bytes) -> Event:
    event = _UNPACK_EVENT.decode(body)
    return PodSeen(_share_shape(event.pod)) if isinstance(event, PodSeen) else event


@lru_cache(maxsize=65_536)
def _shared(shape: Shape) -> Shape:
    return shape


def _share_shape(pod: Pod) -> Pod:
    """Replicas share one shape again, as they did when they were told."""
    return msgspec.structs.replace(pod, shape=_shared(pod.shape))


def _request(verb: str, profile: str, _pod: str, names: list[str], body: bytes, detail: bytes) -> Request:
    return Request(verb, profile, _share_shape(_UNPACK_POD.decode(body)), tuple(names), detail)


def _answer(
    request: int, priorities: list[int], scores: list[float], verdicts: list[str | None], detail: bytes
) -> Answer:
    return Answer(request, tuple(priorities), tuple(scores), tuple(verdicts), detail)


_DECODERS: Mapping[str, Callable[..., Content]] = {
    "events": _event,
    "requests": _request,
    "answers": _answer,
    "checkpoints": Checkpoint,
    "marks": Mark,
}


def _decode_readings(batches: Batches, rows: Mapping[str, MeasuredRows]) -> Iterator[Record]:
    for batch in batches:
        for row in batch.to_pylist():
            sequence, resources = row["sequence"], tuple(row["resources"])
            nodes, deviation = rows["nodes"].take(sequence, row["nodes"], resources, row["deviation"])
            pods = None if row["pods"] is None else rows["pods"].take(sequence, row["pods"], resources)[0]
            reading = Reading(
                source=row["source"],
                time=row["reading_time"],
                resources=resources,
                nodes=nodes,
                pods=pods,
                base=row["base"],
                node_deviation=deviation,
                notes=tuple(row["notes"]),
            )
            yield Record(sequence, row["time"], reading)
