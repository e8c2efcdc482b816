"""The trace that a request belongs to, as W3C Trace Context has it: `traceparent: 00-trace-parent-flags`."""

import re

_TRACEPARENT = re.compile(rb"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")


def trace_of(header: bytes) -> str | None:
    """A header as it came, if it is one; anything else is as good as none."""
    return header.decode() if _TRACEPARENT.fullmatch(header) else None
