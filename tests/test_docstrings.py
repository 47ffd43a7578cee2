"""What the public names reach has a docstring in Google style: every argument, and what is returned."""

import ast
import functools
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import is_dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import prism_explore as px

ROOT = Path(px.__file__).parent.parent
NO_VALUE = {"None", "NoReturn", "Never", ""}


def functions_of(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """A function itself; the public methods that a class defines."""
    if not inspect.isclass(value):
        yield name, value
        return
    for key, member in vars(value).items():
        method = getattr(member, "__func__", member)
        if not key.startswith("_") and inspect.isfunction(method):
            yield f"{name}.{key}", method


def properties_of(name: str, value: type) -> Iterator[tuple[str, Any]]:
    for key, member in vars(value).items():
        if not key.startswith("_") and isinstance(member, property | functools.cached_property):
            yield f"{name}.{key}", member


PUBLIC = {name: getattr(px, name) for name in sorted(px.__all__) if callable(getattr(px, name))}


def reached() -> dict[str, Any]:
    """The public names, and the classes of ours that their functions return (one level)."""
    found = dict(PUBLIC)
    for name, value in PUBLIC.items():
        for _, function in functions_of(name, value):
            for one in returned_classes(function):
                if one not in found.values():
                    found[one.__qualname__] = one
    return found


def returned_classes(function: Any) -> Iterator[type]:
    annotation = getattr(function, "__annotations__", {}).get("return", "")
    module = sys.modules[function.__module__]
    for word in re.findall(r"\w+", annotation if isinstance(annotation, str) else ""):
        value = getattr(module, word, None)
        if inspect.isclass(value) and value.__module__.startswith("prism_explore."):
            yield value


REACHED = reached()
FUNCTIONS = dict(pair for name, value in REACHED.items() for pair in functions_of(name, value))
CONSTRUCTORS = {n: v for n, v in PUBLIC.items() if inspect.isclass(v) and "__init__" in vars(v)}
PROPERTIES = dict(
    pair for name, value in REACHED.items() if inspect.isclass(value) for pair in properties_of(name, value)
)


def section(text: str, title: str) -> str:
    """The lines under a title of a Google docstring, without their indentation."""
    match = re.search(rf"(?ms)^{title}:\n((?:(?:[ ]+[^\n]*)?\n?)*)", text)
    return inspect.cleandoc("\n" + match[1]) if match else ""


def parameters(function: Any) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name not in {"self", "cls"}]


def documented(value: Any) -> list[str]:
    return re.findall(r"(?m)^\*{0,2}(\w+): ", section(inspect.getdoc(value) or "", "Args"))


def described_fields(value: type) -> set[str]:
    """The fields of a data class that have a docstring below them."""
    body = ast.parse(inspect.getsource(value)).body[0].body
    return {
        one.target.id
        for one, text in pairwise(body)
        if isinstance(one, ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
    }


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_argument_is_documented(name: str):
    assert documented(FUNCTIONS[name]) == parameters(FUNCTIONS[name])


@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_every_argument_of_a_constructor_is_documented(name: str):
    value = CONSTRUCTORS[name]
    fields = described_fields(value) if is_dataclass(value) else set()
    missing = set(parameters(value)) - set(documented(value)) - fields
    assert not {m for m in missing if not m.startswith("_")}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_returned_is_documented(name: str):
    text = inspect.getdoc(FUNCTIONS[name]) or ""
    returns = inspect.signature(FUNCTIONS[name]).return_annotation
    assert bool(section(text, "Returns") or section(text, "Yields")) == (str(returns) not in NO_VALUE)


@pytest.mark.parametrize("name", PROPERTIES)
def test_every_property_has_a_docstring(name: str):
    member = PROPERTIES[name]
    assert (member.func if isinstance(member, functools.cached_property) else member).__doc__


def test_pydocstyle_passes():
    files = sorted({inspect.getsourcefile(value) or "" for value in REACHED.values()})
    command = [sys.executable, "-m", "ruff", "check", "--select", "D,D417", "--ignore", "D105,D107,D403", *files]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
