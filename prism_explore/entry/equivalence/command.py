"""`prism-explore check a.py:f b.py:g --input x=b,64`: two sides named on the command line.

A side is FILE.py:NAME, a function or a module object of a Python file, or a file with a graph.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from prism_explore.entry.equivalence.check import check
from prism_explore.entry.equivalence.outcome import Equivalence
from prism_explore.errors import PrismError, ShapeError
from prism_explore.ir.tensors import TensorType, tensor

_CODE = re.compile(r"(?P<file>.+\.py):(?P<name>[^:]+)")
_INPUT = re.compile(r"(?P<name>\w+)=(?P<dims>[\w,]*)(?::(?P<dtype>\w+))?")


def names_code(argument: str) -> bool:
    """Whether an argument is FILE.py:NAME."""
    return _CODE.fullmatch(argument) is not None


def check_named(sides: Sequence[str], inputs: Sequence[str], seed: int) -> Equivalence:
    """The answer for two sides.

    Raises:
        PrismError: there are not two sides, or one cannot be read.
    """
    if len(sides) != 2:
        raise PrismError(f"check compares two sides, such as a.py:f b.py:g; found {len(sides)}: {', '.join(sides)}")
    types = dict(_read_input(text) for text in inputs)
    f, g = (_load(side) if names_code(side) else Path(side) for side in sides)
    return check(f, g, inputs=types, seed=seed)


def _load(argument: str) -> Any:
    """The object that FILE.py:NAME names."""
    found = _CODE.fullmatch(argument)
    assert found is not None
    path = Path(found["file"]).resolve()
    if not path.is_file():
        raise PrismError(f"there is no file {found['file']}; a side is FILE.py:NAME")
    name = f"_checked_{path.stem}_{abs(hash(path))}"
    module: Any = sys.modules.get(name)
    if module is None:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        sys.path.insert(0, str(path.parent))  # as Python does for a script, so that its neighbors can be imported
        try:
            spec.loader.exec_module(module)
        except Exception as error:
            del sys.modules[name]
            raise PrismError(f"{path} cannot be imported: {type(error).__name__}: {error}") from error
        finally:
            sys.path.remove(str(path.parent))
    value: Any = module
    for part in found["name"].split("."):
        if not hasattr(value, part):
            known = ", ".join(n for n in dir(value) if callable(getattr(value, n, None)) and not n.startswith("_"))
            raise PrismError(f"{found['file']} has no {found['name']!r}; it has {known or 'no function'}")
        value = getattr(value, part)
    return value


def _read_input(text: str) -> tuple[str, TensorType]:
    found = _INPUT.fullmatch(text)
    if found is None:
        raise PrismError(f"--input takes NAME=DIMS, as in --input x=b,64 or --input x=b,64:bf16; found {text!r}")
    dims = [int(d) if d.isdecimal() else d for d in found["dims"].split(",") if d]
    try:
        return found["name"], tensor(*dims, dtype=found["dtype"] or "f32")
    except ShapeError as error:
        raise PrismError(f"--input {text}: {error}") from error
