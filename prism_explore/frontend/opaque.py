# pyright: basic
# torch and its graphs are untyped throughout.
"""Operators without a row as opaque calls: torch computes them, and proofs treat them as unknown functions.

What a proof assumes about an opaque call: the same operator with the same attributes, on equal tensors of equal dtypes,
gives equal results. So an operator qualifies only if it is a function of its arguments. `why_not_opaque` refuses those
that write in place, draw random numbers, read uninitialised memory, or whose result has a shape or a dtype that types
cannot state. Of an operator of another library than torch's own, such as a custom operator, its schema and tags say so.
Calls are plain data. `called` looks an operator up in torch's registry and checks it again, so that no data can name
other code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from prism_explore.errors import ParseError, UnsupportedOperator
from prism_explore.ir.dims import Dim
from prism_explore.ir.tensors import DTYPE_OF_NAME, TensorType, dtype_name

_BY_STRIDES = ("as_strided", "as_strided_copy", "as_strided_scatter")
_UNINITIALISED = ("empty", "new_empty", "empty_like", "empty_strided", "new_empty_strided", "empty_permuted", "resize")


@dataclass(frozen=True, slots=True)
class TensorRef:
    """A tensor that an opaque call reads, by its name in the program."""

    name: str


@dataclass(frozen=True, slots=True)
class TorchConstant:
    """A constant of torch: a dtype, a layout, a memory format, or a device."""

    kind: Literal["dtype", "layout", "memory_format", "device"]
    name: str


Argument: TypeAlias = (
    "TensorRef | TorchConstant | Dim | bool | int | float | complex | str | tuple[Argument, ...] | None"
)
"""An argument of an opaque call; sizes may be symbolic."""


@dataclass(frozen=True, slots=True)
class CallResult:
    """A tensor that an opaque call computes."""

    name: str
    type: TensorType
    index: int | None = None
    """Its position among several results; None where the operator returns one tensor."""
    is_complex: bool = False
    """Whether it is complex; its type is that of `torch.view_as_real`."""

    def __str__(self) -> str:
        return f"{self.name} {self.type}{' as pairs of real numbers' if self.is_complex else ''}"


@dataclass(frozen=True, slots=True)
class OpaqueCall:
    """A call of one of torch's functional operators."""

    operator: str
    """Library, name and overload: `aten.topk.default`."""
    arguments: tuple[Argument, ...]
    keywords: tuple[tuple[str, Argument], ...]
    results: tuple[CallResult, ...]
    """The results that are read."""
    reason: str = ""
    """Why it is not searched; empty for views and constants that only opaque calls read."""
    line: str = ""
    """The line of the user's code."""

    @property
    def operands(self) -> tuple[str, ...]:
        """The names of the tensors that it reads, each once."""
        return tuple(dict.fromkeys(_references((self.arguments, tuple(a for _, a in self.keywords)))))

    def key(self, class_of: Mapping[str, str]) -> str:
        """What its results depend on: equal keys compute equal tensors.

        Args:
            class_of: per operand a text that is equal for equal tensors of equal dtypes.
        """
        named = [f"{name}={_key(a, class_of)}" for name, a in sorted(self.keywords, key=lambda item: item[0])]
        return f"{self.operator}({', '.join([*(_key(a, class_of) for a in self.arguments), *named])})"


def _references(argument: Argument) -> list[str]:
    match argument:
        case TensorRef(name):
            return [name]
        case tuple():
            return [name for inner in argument for name in _references(inner)]
        case _:
            return []


def _key(argument: Argument, class_of: Mapping[str, str]) -> str:
    match argument:
        case TensorRef(name):
            return class_of[name]
        case tuple():
            return f"[{', '.join(_key(a, class_of) for a in argument)}]"
        case TorchConstant(kind, name):
            return f"{kind} {name}"
        case _:  # the text tells 0.0 from -0.0, and 1 from 1.0 and True
            return repr(argument)


def assumption(operators: Sequence[str]) -> str:
    """What a proof assumes about opaque calls, as a sentence; empty where there are none.

    >>> assumption(["aten.topk.default"])
    'Opaque: aten.topk.default. Assumed of each: equal arguments and attributes give equal results; nothing else.'
    """
    if not operators:
        return ""
    return (
        f"Opaque: {', '.join(dict.fromkeys(operators))}. Assumed of each: equal arguments and attributes give equal "
        "results; nothing else."
    )


# ---------------------------------------------------------------- what qualifies
def why_not_opaque(operator: Any, arguments: Sequence[Any] = (), keywords: Mapping[str, Any] | None = None) -> str:
    """Why an operator is no function of its arguments, by its schema and tags; empty if it qualifies.

    Args:
        operator: of torch.
        arguments: of the call, by position: without dropout, attention draws no random numbers.
        keywords: its arguments by name.
    """
    import torch

    schema = getattr(operator, "_schema", None)
    if schema is None or not isinstance(operator, torch._ops.OpOverload):
        return "it is no operator of torch's libraries"
    if "c10d" in operator.namespace:
        return "it exchanges data with other processes; put it outside of the function"
    if schema.is_mutable:
        return "it writes in place; compute a new tensor instead"
    if torch.Tag.nondeterministic_seeded in operator.tags and not _is_without_dropout(
        schema, arguments, keywords or {}
    ):
        return "it draws random numbers, so no two calls are equal; call .eval(), or pass the numbers as an argument"
    if torch.Tag.data_dependent_output in operator.tags:
        return "it returns a number that depends on data; put it outside of the function"
    name = schema.name.partition("::")[2]
    if name in _BY_STRIDES:
        return "what it reads depends on how its argument lies in memory; use slices"
    if name in _UNINITIALISED:
        return "it returns memory that was not written; use zeros instead"
    return ""


def named_arguments(schema: Any, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call of an operator by name, with the default values of those that it leaves out.

    Args:
        schema: of the operator.
        arguments: by position.
        keywords: by name.
    """
    defaults = {a.name: a.default_value for a in schema.arguments}
    return defaults | {a.name: x for a, x in zip(schema.arguments, arguments, strict=False)} | dict(keywords)


def _is_without_dropout(schema: Any, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> bool:
    given = named_arguments(schema, arguments, keywords)
    return given.get("dropout_p") == 0 or given.get("dropout") == 0 or given.get("train") is False


_PARTS: Mapping[str, str] = {"complex64": "float32", "complex128": "float64"}
"""Complex dtypes with the dtypes of their parts."""


def as_real(x: Any) -> Any:
    """A tensor of torch, and of a complex one its pairs of real numbers."""
    import torch

    return torch.view_as_real(x.resolve_conj()) if x.is_complex() else x


def result_type(value: Any, size_of: Callable[[Any], Dim]) -> TensorType:
    """The type of a traced tensor; of a complex one, that of its pairs of real numbers.

    Args:
        value: the fake tensor of the trace.
        size_of: a traced size as a Dim.

    Raises:
        UnsupportedOperator: its dtype or a size cannot be stated.
    """
    name, layout = dtype_name(value.dtype), dtype_name(value.layout)
    if layout != "strided":
        raise UnsupportedOperator(f"it returns a tensor of the layout {layout}; supported are dense tensors")
    real = _PARTS.get(name, name)
    if real not in DTYPE_OF_NAME:
        raise UnsupportedOperator(f"it returns {name}; supported are {', '.join((*DTYPE_OF_NAME, *_PARTS))}")
    dims = tuple(size_of(n) for n in (*value.shape, *([2] if name in _PARTS else [])))
    return TensorType(dims, DTYPE_OF_NAME[real])


def plain_constant(x: Any) -> Argument:
    """A Python or torch constant of a traced call as plain data.

    Raises:
        UnsupportedOperator: it is none.
    """
    import torch

    match x:
        case None | bool() | int() | float() | complex() | str():
            return x
        case torch.dtype():
            return TorchConstant("dtype", dtype_name(x))
        case torch.layout():
            return TorchConstant("layout", dtype_name(x))
        case torch.memory_format():
            return TorchConstant("memory_format", dtype_name(x))
        case torch.device():
            return TorchConstant("device", str(x))
        case _:
            raise UnsupportedOperator(f"it has an argument of type {type(x).__name__}")


# ---------------------------------------------------------------- calling torch
_WITH_WRITING_FORM = frozenset(
    {"copy", "index_copy", "index_put", "index_add", "index_fill", "scatter", "scatter_add", "scatter_reduce"}
)
"""Operators that change a part of their first argument, with a form of the same arguments that writes into it."""
_OF_VIEWS = {"slice_scatter": "slice", "select_scatter": "select"}
"""Operators that change a view of their first argument to the second, and the operators that make the view."""


def has_writing_form(operator: str) -> bool:
    """Whether torch can write what an operator computes into its first argument, of which it changes a part.

    Args:
        operator: library, name and overload, or the name alone.
    """
    name = operator.removeprefix("aten.").partition(".")[0]
    return name in _WITH_WRITING_FORM or name in _OF_VIEWS


def _written(operator: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The first argument, into which an operator wrote what it computes."""
    import torch

    _, name, overload = operator.split(".")
    if name in _OF_VIEWS:
        named = {k: v for k, v in kwargs.items() if k != "src"}
        source = args[1] if len(args) > 1 else kwargs["src"]
        getattr(torch.ops.aten, _OF_VIEWS[name])(args[0], *args[2:], **named).copy_(source)
    else:
        getattr(getattr(torch.ops.aten, f"{name}_"), overload)(*args, **kwargs)
    return args[0]


def called(
    call: OpaqueCall, tensors: Mapping[str, Any], sizes: Mapping[str, int], *, is_written: bool = False
) -> dict[str, Any]:
    """What torch computes for an opaque call, by the names of its results.

    Args:
        call: the call.
        tensors: torch tensors by name.
        sizes: of the symbols.
        is_written: whether the result is written into the first argument.

    Raises:
        ParseError: it names no operator that qualifies.
    """
    operator = find_operator(call.operator, call.arguments, dict(call.keywords))

    def value(argument: Argument) -> Any:
        match argument:
            case TensorRef(name):
                return tensors[name]
            case Dim():
                return argument.value(sizes)
            case tuple():
                return [value(a) for a in argument]
            case TorchConstant(kind, name):
                return _torch_constant(kind, name)
            case _:
                return argument

    args, kwargs = [value(a) for a in call.arguments], {name: value(a) for name, a in call.keywords}
    found = _written(call.operator, args, kwargs) if is_written else operator(*args, **kwargs)
    return {r.name: found if r.index is None else found[r.index] for r in call.results}


def _torch_constant(kind: str, name: str) -> Any:
    import torch

    if kind == "device":
        return torch.device(name)
    found = getattr(torch, name, None)
    if not isinstance(found, getattr(torch, kind)):
        raise ParseError(f"torch has no {kind} {name!r}")
    return found


def find_operator(name: str, arguments: Sequence[Any] = (), keywords: Mapping[str, Any] | None = None) -> Any:
    """The operator of torch with this library, name and overload.

    Args:
        name: with dots.
        arguments: of its call, by position.
        keywords: of its call.

    Raises:
        ParseError: there is none, or it is no function of its arguments.
    """
    import torch

    library, *rest = name.split(".")
    found = None
    if len(rest) == 2:
        packet = getattr(getattr(torch.ops, library, None), rest[0], None)
        found = getattr(packet, rest[1], None) if isinstance(packet, torch._ops.OpOverloadPacket) else None
    reason = "there is none" if found is None else why_not_opaque(found, arguments, keywords)
    if reason:
        raise ParseError(f"{name!r} must be a functional operator of torch, such as aten.topk.default; {reason}")
    return found
