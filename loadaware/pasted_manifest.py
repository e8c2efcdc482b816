"""A pod's manifest as anybody may paste it: YAML or JSON, read within bounds whatever it holds.

YAML can be written so that a few kilobytes take minutes: thousands of open brackets, nesting without end, aliases that
refer to aliases. A manifest has none of these, so they are refused before anything is built from them.
"""

import msgspec

from collectors.manifests import Pod
from loadaware.config import parse_yaml
from loadaware.errors import ConfigError
from loadaware.state import parse_pod

WHERE = "manifest"
MOST_BRACKETS = 2000
DEEPEST = 64


def read_pod(body: bytes) -> Pod:
    """The pod; without a name it is called what-if, and it is never one that runs. Raises ConfigError."""
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise ConfigError(WHERE, "", "is not UTF-8") from error
    if not text.strip():
        raise ConfigError(WHERE, "", "is empty; paste a manifest of kind Pod")
    pod = parse_pod(_parsed(text), WHERE)
    return msgspec.structs.replace(pod, name=pod.name or "what-if", uid="")


def _parsed(text: str) -> object:
    if text.lstrip().startswith("{"):
        try:
            return msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError):
            pass  # perhaps it is YAML all the same, which says better where it is wrong
    _check(text)
    return parse_yaml(text, WHERE, first=True)


def _check(text: str) -> None:
    """Raises ConfigError for what no manifest has."""
    import yaml

    if text.count("[") + text.count("{") > MOST_BRACKETS:
        raise ConfigError(WHERE, "", f"has more than {MOST_BRACKETS} brackets")
    depth = 0
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            if isinstance(event, yaml.AliasEvent):
                raise ConfigError(WHERE, "", "anchors and aliases are not taken here; write it out")
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > DEEPEST:
                raise ConfigError(WHERE, "", f"is nested more than {DEEPEST} levels deep")
            if isinstance(event, yaml.DocumentEndEvent):
                return
    except yaml.YAMLError as error:
        raise ConfigError(WHERE, "", f"is not YAML: {' '.join(str(error).split())}") from error
