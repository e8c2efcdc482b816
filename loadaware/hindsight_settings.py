"""How much is kept of answers, and where it is told. Apart from hindsight.py, which needs a server's libraries."""

from dataclasses import dataclass
from typing import Literal

Mode = Literal["active", "shadow"]


@dataclass(frozen=True)
class HindsightSettings:
    """How much is kept, and where it is told."""

    mode: Mode = "active"
    kept: int = 1000
    memory_bytes: float = 64 * 2**20
    file: str = ""
    file_size_bytes: float = 16 * 2**20
    files: int = 5
    events: bool = False
