"""Everything that can go wrong in the core, drawn once.

    LoadAwareError
    ├── ConfigError             the configuration (or a state file) is wrong; says where, what was expected
    ├── UnknownProfileError     a profile was named that is not configured
    └── RequestError            a request that cannot be answered: no pod, no node list, no JSON

A failing metric source is none of these (see collectors.errors): answers go on without it.
"""

from dataclasses import dataclass


class LoadAwareError(Exception):
    """Any error of loadaware's own."""


@dataclass
class ConfigError(LoadAwareError):
    """A configuration was refused: where, why, and the nearest right word if there is one."""

    file: str
    path: str
    problem: str
    hint: str = ""

    def __str__(self) -> str:
        where = f"{self.file}: {self.path}" if self.path else self.file
        return f"{where}: {self.problem}" + (f"; {self.hint}" if self.hint else "")


@dataclass
class UnknownProfileError(LoadAwareError):
    """A profile was named that is not configured."""

    name: str
    known: tuple[str, ...]

    def __str__(self) -> str:
        return f"no profile is called {self.name!r}; there are: {', '.join(self.known)}"


@dataclass
class RequestError(LoadAwareError):
    """A request from which no pod or no node list can be read."""

    reason: str
    problem: str
    status: int = 400

    def __str__(self) -> str:
        return self.problem
