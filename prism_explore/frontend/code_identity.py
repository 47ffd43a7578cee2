"""What a torch function computes, as plain data that is compared between processes, without running it.

It is the function's bytecode with everything that it reads: defaults, closures, and the globals that it names, other
functions included. torch and math are known by their versions and names, so torch is not imported. Everything else that
may change between two calls, such as a module with parameters, an object, or a file that is read, has no identity: such
code is traced each time.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from functools import partial
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, TypeAlias, cast

Plain: TypeAlias = "str | int | list[Plain]"

_KNOWN_PACKAGES = ("math", "torch")
"""Their modules and functions are identified by name."""

_PURE_BUILTINS = frozenset(
    {"abs", "all", "any", "bool", "dict", "divmod", "enumerate", "filter", "float", "int", "isinstance", "len", "list"}
    | {"map", "max", "min", "pow", "range", "reversed", "round", "slice", "sorted", "str", "sum", "tuple", "zip"}
    | {"AssertionError", "TypeError", "ValueError"}
)
"""Builtins whose results depend on their arguments alone."""


class _Unknown(Exception):
    """A value without an identity."""


def code_identity(code: Callable[..., Any]) -> Plain | None:
    """The identity of a torch function; None if it cannot be known.

    Two functions with one identity have the same graph for the same inputs, in one version of Python and torch, if
    nobody has replaced torch's own functions.

    Args:
        code: a function, or a `functools.partial` of one.

    Returns:
        Nested lists of texts and numbers.

    Example:
        >>> from prism_explore.frontend.code_identity import code_identity
        >>> scaled = [lambda x, by=by: x * by for by in (2, 2, 3)]
        >>> [code_identity(f) == code_identity(scaled[0]) for f in scaled]
        [True, True, False]
        >>> code_identity(lambda path: open(path))
    """
    if not _torch_has_its_defaults():
        return None
    try:
        return _identity(code, [])
    except _Unknown:
        return None


def _torch_has_its_defaults() -> bool:
    """Whether torch's state, on which a trace depends, is that of a new process."""
    torch: Any = sys.modules.get("torch")
    return torch is None or (
        torch.get_default_dtype() is torch.float32
        and str(torch.get_default_device()) == "cpu"
        and not any(map(torch.is_autocast_enabled, ("cpu", "cuda")))
        and not torch._C._len_torch_function_stack()
    )


def _identity(value: Any, seen: list[Any]) -> Plain:
    """The identity of a value; `seen` are the functions around it, for those that call themselves.

    Raises:
        _Unknown: it has none.
    """
    match value:
        case None | bool() | int() | float() | complex() | str() | bytes() | range():
            return [type(value).__name__, repr(value)]
        case tuple() | list():
            items = cast("list[Any] | tuple[Any, ...]", value)
            return [type(items).__name__, *(_identity(item, seen) for item in items)]
        case frozenset():
            return ["frozenset", *(_identity(item, seen) for item in sorted(cast("frozenset[Any]", value), key=repr))]
        case dict():
            entries = cast("dict[Any, Any]", value).items()
            return ["dict", *([_identity(k, seen), _identity(v, seen)] for k, v in entries)]
        case partial():
            given = cast("partial[Any]", value)
            return ["partial", *(_identity(part, seen) for part in (given.func, given.args, given.keywords))]
        case CodeType():
            return _of_bytecode(value, seen)
        case FunctionType() if not _is_known(value.__module__):
            return _of_function(value, seen)
        case FunctionType() | BuiltinFunctionType() if _is_known(value.__module__):
            return ["function", str(value.__module__), value.__qualname__]
        case ModuleType() if _is_known(value.__name__):
            return ["module", value.__name__]
        case _ if type(value).__module__ == "torch" and type(value).__name__ == "dtype":
            return ["dtype", str(value)]
        case _:
            raise _Unknown


def _of_function(function: FunctionType, seen: list[Any]) -> Plain:
    if function in seen:
        return ["recursion", seen.index(function)]
    if function.__dict__:  # a decorator has marked it, or wraps another one
        raise _Unknown
    inner = [*seen, function]
    try:
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
    except ValueError:  # a cell without a value yet
        raise _Unknown from None
    read: list[Plain] = []
    for name in sorted(_globals_of(function.__code__)):
        if name in function.__globals__:
            read.append([name, _identity(function.__globals__[name], inner)])
        elif name not in _PURE_BUILTINS:
            raise _Unknown
    parts = (function.__code__, function.__defaults__, function.__kwdefaults__, cells)
    return ["function", *(_identity(part, inner) for part in parts), read]


def _of_bytecode(code: CodeType, seen: list[Any]) -> Plain:
    for instruction in dis.get_instructions(code):
        if instruction.opname == "IMPORT_NAME" and not _is_known(str(instruction.argval)):
            raise _Unknown
        if instruction.opname.startswith(("STORE_GLOBAL", "DELETE_GLOBAL")):
            raise _Unknown
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    parts = (code.co_code, code.co_exceptiontable, code.co_consts, *names)
    return ["code", *counts, *(_identity(part, seen) for part in parts)]


def _globals_of(code: CodeType) -> set[str]:
    """The names of globals and builtins that a function's code and the functions within it read."""
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    own = {str(i.argval) for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return own.union(*map(_globals_of, inner))


def _is_known(module: str | None) -> bool:
    return (module or "").partition(".")[0] in _KNOWN_PACKAGES
