"""A cache whose keys come from programs is made by `memoize`, so that it is cleared with the last lease."""

import ast
from pathlib import Path

import prism_explore as px

PACKAGE = Path(px.__file__).parent
SMALL = 64
"""Entries that a cache outside `memoize` may have at most: those whose keys do not come from programs."""
CONSTANTS = {"divisors", "_members"}


def large_caches(source: str) -> list[str]:
    """The functions with an `lru_cache` of more than `SMALL` entries."""
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        for decorator in node.decorator_list if isinstance(node, ast.FunctionDef) else ():
            match decorator:
                case ast.Call(func=ast.Name(id="lru_cache"), args=[ast.Constant(value=int(most))]):
                    found += [node.name] if most > SMALL and node.name not in CONSTANTS else []
                case _:
                    continue
    return found


def test_large_caches_are_registered():
    paths = sorted(PACKAGE.rglob("*.py"))

    assert {} == {
        str(path): found
        for path in paths
        if path.name != "caches.py" and (found := large_caches(path.read_text(encoding="utf-8")))
    }


def test_a_large_cache_is_found():
    assert ["f"] == large_caches("@lru_cache(4096)\ndef f(x): ...\n@lru_cache(8)\ndef g(x): ...")
