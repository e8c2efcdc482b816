"""The lock files install on a clean machine, today and when newer versions of what they pin are out."""

import re
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PIN = re.compile(r"^([A-Za-z0-9._-]+)(?:\[([^\]]*)\])?==\S+", re.MULTILINE)


def extras_of(text: str) -> dict[str, set[str]]:
    """The pinned distributions of a lock file, each with the extras that are pinned with it."""
    return {canonicalize_name(name): set(filter(None, extras.split(","))) for name, extras in PIN.findall(text)}


@pytest.mark.parametrize("lock", ["run.txt", "test.txt", "notebooks.txt"])
def test_an_extra_that_one_pinned_distribution_wants_of_another_is_pinned_with_it(lock: str) -> None:
    """Otherwise pip takes the newest version for the extra, which has no hash, and refuses to install anything."""
    pinned = extras_of((ROOT / "requirements" / lock).read_text())
    missing, looked_at = [], 0
    for name, own_extras in pinned.items():
        for text in _requirements(name):
            wanted = Requirement(text)
            if wanted.marker is None or any(wanted.marker.evaluate({"extra": extra}) for extra in ("", *own_extras)):
                looked_at += 1
                extras = wanted.extras - pinned.get(canonicalize_name(wanted.name), wanted.extras)
                missing += [f"{name} wants {wanted.name}[{extra}]" for extra in sorted(extras)]
    assert looked_at > 20
    assert not missing


def _requirements(name: str) -> list[str]:
    """Of a distribution that is installed; another system's, or a notebook's, may not be."""
    try:
        return requires(name) or []
    except PackageNotFoundError:
        return []


def test_the_lock_files_name_no_place_to_download_from() -> None:
    for lock in (ROOT / "requirements").glob("*.txt"):
        assert "://" not in lock.read_text(), lock.name
