"""Everything that can go wrong while reading, drawn once.

    CollectorError                  the reading failed; the last one stays in force
    ├── SourceUnreachableError      no answer: refused, timed out, TLS failed
    ├── SourceRefusedError          an answer, but not 2xx: forbidden, not found, overloaded
    ├── MalformedAnswerError        2xx, but not what the source's contract promises
    ├── EmptyReadingError           well-formed, and not one node in it could be used
    └── HistoryError                a recorded history that cannot be read
    QuantityError                   not a quantity that Kubernetes accepts

Errors carry facts; none carries a token, a password or a body longer than a line.
"""

from dataclasses import dataclass


class CollectorError(Exception):
    """A reading failed as a whole. A collector never returns half of one."""


@dataclass
class SourceUnreachableError(CollectorError):
    """The source did not answer."""

    url: str
    cause: str

    def __str__(self) -> str:
        return f"{self.url} cannot be reached: {self.cause}"


@dataclass
class SourceRefusedError(CollectorError):
    """The source answered with a status that is not 2xx."""

    url: str
    status: int
    message: str

    def __str__(self) -> str:
        return f"{self.url} answered {self.status}: {self.message}"


@dataclass
class MalformedAnswerError(CollectorError):
    """The source answered 2xx with something else than its contract promises."""

    url: str
    expected: str
    problem: str

    def __str__(self) -> str:
        return f"{self.url} did not answer with {self.expected}: {self.problem}"


@dataclass
class EmptyReadingError(CollectorError):
    """The answer was well-formed but named no node that could be used."""

    source: str
    hint: str

    def __str__(self) -> str:
        return f"{self.source} reported no node: {self.hint}"


@dataclass
class HistoryError(CollectorError):
    """A recorded history cannot be read."""

    path: str
    problem: str

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}"


@dataclass
class QuantityError(ValueError):
    """A text is no Kubernetes quantity."""

    text: str

    def __str__(self) -> str:
        return f"{self.text!r} is not a quantity such as 250m, 2, 1.5Gi or 12e6"
