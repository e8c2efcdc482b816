"""Which code made a figure: a digest of all that a run goes through, comments and docstrings aside.

A stored outcome counts only for the code that made it. Layout and words may change; a statement may not.
"""

import ast
import hashlib
from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("loadaware", "collectors")


def code_digest(root: str = "loadaware.simulation.trial") -> str:
    """Of a module and every module of ours that it imports, directly or not."""
    digest = hashlib.sha256()
    for name, tree in sorted(_reached(root).items()):
        digest.update(f"{name}\n{ast.dump(_without_words(tree))}\n".encode())
    return digest.hexdigest()[:16]


def _reached(root: str) -> dict[str, ast.Module]:
    trees: dict[str, ast.Module] = {}
    waiting = [root]
    while waiting:
        name = waiting.pop()
        if name not in trees and (file := _file(name)) is not None:
            trees[name] = ast.parse(file.read_text(encoding="utf-8"))
            waiting += _imported(trees[name])
    return trees


def _file(name: str) -> Path | None:
    try:
        spec = find_spec(name)
    except ModuleNotFoundError:  # a name imported from a module, not a module
        return None
    return Path(spec.origin) if spec is not None and spec.origin is not None else None


def _imported(tree: ast.Module) -> list[str]:
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return [name for name in names if name.partition(".")[0] in PACKAGES]


def _without_words(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [s for s in body if not _is_text(s)]  # type: ignore[attr-defined]
    return tree


def _is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
