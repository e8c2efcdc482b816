"""The JSON schema of a LoadAwareConfiguration inside the chart's values, made from the classes of loadaware.config.

What the chart sets itself is left out, so that giving it is refused with its path instead of being overwritten. The
schema holds names, kinds, choices and the ranges of numbers; how long a duration may be, what goes with what, and
plugins' args are checked by loadaware itself.
"""

from typing import Any

from msgspec import inspect

from loadaware.config import Config
from loadaware.quantities import Duration, Quantity

THE_CHARTS = {
    "Config": {"apiVersion", "kind", "mode"},
    "ServerSection": {"port", "tls"},
    "PeopleSection": {"port", "tokenFile", "tokenVariable"},
    "DemandSection": {"stateFile", "handOver"},
    "HistorySection": {"folder", "maxSize"},
}
"""Settings that have a value of their own in the chart."""
RANGES: dict[str, dict[str, dict[str, Any]]] = {
    "Config": {"profiles": {"minItems": 1}},
    "ProfileSection": {
        "schedulerName": {"pattern": "^[^/]+$"},
        "maxScore": {"minimum": 1, "maximum": 1000},
        "leastPassing": {"minimum": 1},
    },
    "ScorerReference": {"weight": {"exclusiveMinimum": 0}},
    "ReplaySource": {"speed": {"exclusiveMinimum": 0}},
    "WindowSection": {"others": {"maxItems": 8}},
    "ServerSection": {"connections": {"minimum": 1}},
    "PeopleSection": {"connections": {"minimum": 1}, "streams": {"minimum": 1, "maximum": 1000}},
    "TelemetrySection": {"nodes": {"minimum": 0, "maximum": 10_000}},
    "TracesSection": {"ratio": {"minimum": 0, "maximum": 1}},
    "DecisionsSection": {"kept": {"minimum": 0, "maximum": 100_000}, "files": {"minimum": 1, "maximum": 100}},
}
"""What the sections' own checks refuse, in the schema's words; a test tries each bound on the sections themselves."""
WRITTEN: dict[type, dict[str, Any]] = {
    Duration: {"type": "string", "pattern": r"^(0|([0-9]+(\.[0-9]+)?(ms|s|m|h|d))+)$"},
    Quantity: {"type": ["string", "number"]},
}
PLAIN: dict[type[inspect.Type], dict[str, Any]] = {
    inspect.AnyType: {},
    inspect.BoolType: {"type": "boolean"},
    inspect.FloatType: {"type": "number"},
    inspect.IntType: {"type": "integer"},
    inspect.NoneType: {"type": "null"},
    inspect.StrType: {"type": "string"},
}


def definitions() -> dict[str, Any]:
    """A definition for each section, `Config` the first."""
    made: dict[str, Any] = {}
    _schema(inspect.type_info(Config), made)
    return made


def _schema(kind: inspect.Type, made: dict[str, Any]) -> dict[str, Any]:
    schema: dict[str, Any]
    match kind:
        case inspect.StructType():
            schema = _reference(kind, made)
        case inspect.UnionType():
            schema = {"anyOf": [_schema(one, made) for one in kind.types]}
        case inspect.LiteralType():
            schema = {"enum": list(kind.values)}
        case inspect.DictType():
            schema = {"type": "object", "additionalProperties": _schema(kind.value_type, made)}
        case inspect.VarTupleType():
            schema = {"type": "array", "items": _schema(kind.item_type, made)}
        case inspect.CustomType():
            schema = WRITTEN[kind.cls]
        case _:
            schema = PLAIN[type(kind)]
    return schema


def _reference(kind: inspect.StructType, made: dict[str, Any]) -> dict[str, Any]:
    """Unknown names are refused, as the configuration itself refuses them."""
    name = kind.cls.__name__
    if name not in made:
        made[name] = {}  # holds the place, in the order of first use
        made[name] = _object(kind, THE_CHARTS.get(name, set()), made)
    return {"$ref": f"#/$defs/{name}"}


def _object(kind: inspect.StructType, left_out: set[str], made: dict[str, Any]) -> dict[str, Any]:
    fields = [field for field in kind.fields if field.encode_name not in left_out]
    ranges = RANGES.get(kind.cls.__name__, {})
    properties = {field.encode_name: _schema(field.type, made) | ranges.get(field.encode_name, {}) for field in fields}
    required = [field.encode_name for field in fields if field.required]
    if kind.tag_field is not None:
        properties = {kind.tag_field: {"const": kind.tag}, **properties}
        required = [kind.tag_field, *required]
    section: dict[str, Any] = {"type": "object", "additionalProperties": False, "properties": properties}
    return section | ({"required": required} if required else {})
