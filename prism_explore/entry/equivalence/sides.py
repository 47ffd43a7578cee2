"""The two sides of a check, and which argument of one side is which of the other.

Both sides are functions of the same variables: the declared arguments and the parameters of modules. Arguments are
matched by name where the names are equal, else by position; parameters by name, else in order where their shapes are
equal. Whatever was not matched by name is stated in a note.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from prism_explore.errors import ParseError, ShapeError
from prism_explore.frontend.export import tensor_type
from prism_explore.frontend.mirage import load_mirage
from prism_explore.ir.graph import SGraph
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.tensors import TensorType
from prism_explore.ir.text import parse, parse_program

_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True, slots=True)
class Code:
    """A torch function or module, and the variable of each of its arguments and parameters."""

    name: str
    code: Callable[..., Any]
    arguments: tuple[tuple[str, str], ...]
    """(its own name, the variable) in the order of its signature."""
    parameters: tuple[tuple[str, str], ...] = ()
    """(its dotted name, the variable) of a module's parameters and buffers."""
    keywords: frozenset[str] = frozenset()
    """Which of its arguments are passed by name."""

    @property
    def variable_of(self) -> dict[str, str]:
        """The variable of each argument and parameter."""
        return dict((*self.arguments, *self.parameters))


@dataclass(frozen=True, slots=True)
class Graph:
    """A program or an sGraph; its inputs are matched by `diagnose.check.fit_to_program`."""

    name: str
    graph: TensorProgram | SGraph

    @property
    def sgraph(self) -> SGraph:
        """The graph without the program's name."""
        return self.graph.graph if isinstance(self.graph, TensorProgram) else self.graph


Side: TypeAlias = Code | Graph


@dataclass(frozen=True, slots=True)
class Sides:
    """Both sides over the same variables."""

    left: Side
    right: Side
    variables: Mapping[str, TensorType]
    """The type of each variable that torch code has; empty for two graphs."""
    notes: tuple[str, ...] = ()
    """What was matched other than by name."""


@dataclass(frozen=True, slots=True)
class _Signature:
    """A callable's arguments, and a module's parameters."""

    name: str
    code: Callable[..., Any]
    arguments: tuple[str, ...]
    required: tuple[str, ...]
    parameters: Mapping[str, TensorType]
    keywords: frozenset[str]
    """The arguments that are passed by name."""


def match_sides(f: Any, g: Any, inputs: Mapping[str, Any]) -> Sides:
    """Both sides over the same variables.

    Raises:
        ShapeError: arguments or parameters cannot be matched, or a side is of an unknown kind.
        ParseError: a text or a file is in no known form.
    """
    left, right = _read(f), _read(g)
    names = _different_names(_name(left, "f"), _name(right, "g"))
    if isinstance(left, TensorProgram | SGraph) and isinstance(right, TensorProgram | SGraph):
        if inputs:
            raise ShapeError(
                f"two graphs have their own inputs; the shapes given for {', '.join(inputs)} are not needed"
            )
        return Sides(Graph(names[0], left), Graph(names[1], right), {})
    if isinstance(left, TensorProgram | SGraph) or isinstance(right, TensorProgram | SGraph):
        return _match_with_graph(left, right, names, inputs)
    return _match_codes(_signature(left, names[0]), _signature(right, names[1]), inputs)


# ---------------------------------------------------------------- reading a side
def _read(side: Any) -> Callable[..., Any] | TensorProgram | SGraph:
    """A side as torch code or as a graph; texts and files are read."""
    if isinstance(side, TensorProgram | SGraph):
        return side
    if isinstance(side, str | Path):
        return _read_text_or_file(side)
    if inspect.isclass(side):
        raise ShapeError(f"{side.__name__} is a class; pass one of its instances, such as {side.__name__}(...)")
    if not callable(side):
        raise ShapeError(
            f"check takes torch functions, modules, programs, sGraphs, texts of these, or paths of Mirage files; "
            f"found a {type(side).__name__}"
        )
    return side


def _read_text_or_file(side: str | Path) -> TensorProgram | SGraph:
    text = side if isinstance(side, str) else ""
    if not text.lstrip().startswith(("program ", "sgraph")):
        path = Path(side)
        if not path.is_file():
            raise ParseError(
                f"expected the text of a program or of an sGraph, or the path of a file; there is no file {str(side)!r}"
            )
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            text = ""
        if not text.lstrip().startswith(("program ", "sgraph")):
            graphs = load_mirage(path)
            if len(graphs) != 1:
                raise ParseError(
                    f"{path} has {len(graphs)} graphs; pass one of them, px.load_mirage({str(path)!r})[0], "
                    "or check all with px.check_mirage"
                )
            return graphs[0]
    text = text.lstrip()
    return parse_program(text) if text.startswith("program ") else parse(text)


def _name(side: Any, default: str) -> str:
    if isinstance(side, TensorProgram):
        return side.name
    if isinstance(side, SGraph):
        return default
    inner = getattr(side, "func", side)  # a functools.partial has no name of its own
    name = str(getattr(inner, "__name__", type(inner).__name__))
    return default if name == "<lambda>" else name


def _different_names(left: str, right: str) -> tuple[str, str]:
    return (left, right) if left != right else (f"{left} (first)", f"{right} (second)")


def _type(given: Any, name: str) -> TensorType:
    """The declared dims and dtype; how an example lies in memory is no part of what is compared."""
    t = tensor_type(given, name)
    return TensorType(t.dims, t.dtype)


def _signature(code: Callable[..., Any], name: str) -> _Signature:
    try:
        accepted = list(inspect.signature(getattr(code, "forward", code)).parameters.values())
    except (TypeError, ValueError) as error:
        raise ShapeError(
            f"the arguments of {name} cannot be read ({error}); wrap it, such as lambda x: {name}(x)"
        ) from error
    named = [p for p in accepted if p.kind not in _VARIADIC]
    required = tuple(p.name for p in named if p.default is p.empty)
    keywords = frozenset(p.name for p in named if p.kind == p.KEYWORD_ONLY)
    parameters: dict[str, TensorType] = {}
    if hasattr(code, "named_parameters"):
        module: Any = code
        for source, tensor in (*module.named_parameters(), *module.named_buffers()):
            if tensor.is_floating_point():
                parameters[source] = _type(tensor, source)
    return _Signature(name, code, tuple(p.name for p in named), required, parameters, keywords)


# ---------------------------------------------------------------- matching
def _match_with_graph(left: Any, right: Any, names: tuple[str, str], inputs: Mapping[str, Any]) -> Sides:
    """A torch side and a graph: arguments without a declared shape have those of the graph's inputs, by position."""
    code_is_left = not isinstance(left, TensorProgram | SGraph)
    code, graph = (left, right) if code_is_left else (right, left)
    signature = _signature(code, names[0] if code_is_left else names[1])
    types = {name: _type(given, name) for name, given in inputs.items()}
    if not types:
        own = graph.inputs
        types = {name: i.type for name, i in zip(signature.arguments, own, strict=False)}
        if {i.name for i in own} <= set(signature.arguments):
            types = {name: i.type for name in signature.arguments for i in own if i.name == name}
        types = {name: TensorType(t.dims, t.dtype) for name, t in types.items()}
    arguments = _own_arguments(signature, types, {})
    made = Code(signature.name, code, arguments, tuple((p, p) for p in signature.parameters), signature.keywords)
    other = Graph(names[1] if code_is_left else names[0], graph)
    variables = {**types, **signature.parameters}
    return Sides(made, other, variables) if code_is_left else Sides(other, made, variables)


def _match_codes(left: _Signature, right: _Signature, inputs: Mapping[str, Any]) -> Sides:
    types = {name: _type(given, name) for name, given in inputs.items()}
    first, second = (left, right) if set(types) <= set(left.arguments) else (right, left)
    if not set(types) <= set(first.arguments):
        unknown = [n for n in types if n not in left.arguments and n not in right.arguments]
        raise ShapeError(
            f"shapes were given for ({', '.join(types)}); {left.name} takes ({', '.join(left.arguments)}) and "
            f"{right.name} takes ({', '.join(right.arguments)})"
            + (f"; no side has {', '.join(unknown)}" if unknown else "; name the arguments of one of them")
        )
    notes: list[str] = []
    first_arguments = _own_arguments(first, types, second.parameters)
    variables = {**types, **{v: second.parameters[v] for _, v in first_arguments if v not in types}}
    second_arguments = _others_arguments(second, first, variables, notes)
    first_parameters, second_parameters = _match_parameters(first, second, variables, notes)
    a = Code(first.name, first.code, first_arguments, first_parameters, first.keywords)
    b = Code(second.name, second.code, second_arguments, second_parameters, second.keywords)
    if not variables:
        raise ShapeError(f"give the shapes of the arguments ({', '.join(left.arguments)}), such as x=px.T('b', 64)")
    both = (a, b) if first is left else (b, a)
    return Sides(*both, variables, tuple(notes))


def _own_arguments(
    signature: _Signature, types: Mapping[str, TensorType], parameters: Mapping[str, TensorType]
) -> tuple[tuple[str, str], ...]:
    """The arguments of the side whose names were declared; those left out may be parameters of the other side."""
    known = {*types, *parameters}
    missing = [n for n in signature.required if n not in known]
    if missing:
        raise ShapeError(
            f"{signature.name} takes ({', '.join(signature.arguments)}); shapes were given for "
            f"({', '.join(types) or 'none'}). Give those of {', '.join(missing)}, such as {missing[0]}=px.T('b', 64)"
        )
    unknown = [n for n in types if n not in signature.arguments]
    if unknown:
        raise ShapeError(
            f"{signature.name} takes ({', '.join(signature.arguments)}), not {', '.join(unknown)}; leave it out"
        )
    return tuple((n, n) for n in signature.arguments if n in known)


def _others_arguments(
    signature: _Signature, first: _Signature, variables: Mapping[str, TensorType], notes: list[str]
) -> tuple[tuple[str, str], ...]:
    """The variable of each argument of the other side."""
    by_name = {n: n for n in signature.arguments if n in variables or n in first.parameters}
    left_over = [v for v in variables if v not in by_name.values() and v not in signature.parameters]
    without = [n for n in signature.arguments if n not in by_name]
    # An optional argument without a counterpart keeps its default.
    needed = [n for n in without if n in signature.required] if len(without) != len(left_over) else without
    if len(needed) > len(left_over):
        more = [p for p in first.parameters if p not in by_name.values()]
        left_over += more
    if len(needed) != len(left_over):
        raise ShapeError(
            f"{first.name} takes ({', '.join(variables)}), and {signature.name} takes "
            f"({', '.join(signature.arguments)}): {_left_out(first.name, left_over, signature.name, needed)}"
            + (
                f". The parameters of {first.name} are {', '.join(first.parameters)}; an argument of the same name is "
                "matched with one"
                if first.parameters
                else ""
            )
        )
    by_position = dict(zip(needed, left_over, strict=True))
    if by_position:
        matched = ", ".join(f"{n} is {v}" for n, v in by_position.items())
        notes.append(f"arguments of {signature.name} with other names are matched in order: {matched}")
    found = {**by_name, **by_position}
    order = [v for n in signature.arguments if (v := found.get(n)) in variables]
    if not by_position and order != [v for v in variables if v in order]:
        notes.append(
            f"{signature.name} takes its arguments in the order ({', '.join(signature.arguments)}); "
            "they are matched by name"
        )
    return tuple((n, found[n]) for n in signature.arguments if n in found)


def _left_out(first: str, left_over: Sequence[str], second: str, needed: Sequence[str]) -> str:
    parts = [f"{', '.join(left_over)} of {first} has no counterpart"] if left_over else []
    parts += [f"{', '.join(needed)} of {second} has no counterpart"] if needed else []
    return "; ".join(parts)


def _match_parameters(
    first: _Signature, second: _Signature, variables: dict[str, TensorType], notes: list[str]
) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]:
    """The variable of each parameter of both sides; variables of parameters are added."""
    taken = set(variables)
    own = tuple((p, p) for p in first.parameters)
    variables |= {p: t for p, t in first.parameters.items() if p not in taken}
    if not second.parameters:
        return own, ()
    if set(second.parameters) <= set(variables) or not first.parameters:
        others = {p: p for p in second.parameters}
        variables |= {p: t for p, t in second.parameters.items() if p not in variables}
    else:
        a, b = list(first.parameters.items()), list(second.parameters.items())
        if [t.dims for _, t in a] != [t.dims for _, t in b]:
            raise ShapeError(
                f"the parameters differ: {first.name} has {_listed(first.parameters)}; {second.name} has "
                f"{_listed(second.parameters)}. Parameters are variables that both sides share, so give them equal "
                "names and shapes, or write both sides as functions of the same tensors"
            )
        others = {p: q for (p, _), (q, _) in zip(b, a, strict=True)}
        renamed = ", ".join(f"{p} is {q}" for p, q in others.items() if p != q)
        notes.append(f"parameters of {second.name} with other names are matched in order: {renamed}")
    for p, v in others.items():
        if variables[v].dims != second.parameters[p].dims:
            raise ShapeError(
                f"{v} is {variables[v]} for {first.name} and {second.parameters[p]} for {second.name}; "
                "give both sides the same shapes"
            )
    return own, tuple(others.items())


def _listed(parameters: Mapping[str, TensorType]) -> str:
    return ", ".join(f"{p} {t}" for p, t in parameters.items()) or "none"
