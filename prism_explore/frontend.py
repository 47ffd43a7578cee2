"""A torch function or module, to a TensorProgram, and user's tensors to its inputs.

Tracing is torch.export's; a table of rows spells each ATen operator in ours. A transposed input (a
linear layer's weight) becomes an input with another storage order, so no kernel ever transposes.

torch is imported inside the functions that need it.
"""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, cast

from prism_explore.errors import ShapeError, UnsupportedOperator
from prism_explore.ir.dims import dim
from prism_explore.ir.ops import BinaryFn, UnaryFn
from prism_explore.ir.program import ProgramBuilder, TensorProgram
from prism_explore.ir.tensors import DType, TensorType

EXAMPLE_SIZES = (7, 11, 13, 17, 19, 23, 29, 31)
"""Sizes at which symbols are traced: different primes, so that torch cannot confuse two of them."""


@dataclass(frozen=True, slots=True)
class Binding:
    """Where a program input comes from: an argument or a parameter, its dims perhaps permuted."""

    name: str
    source: str
    permute: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Traced:
    """A program, the torch code it came from, and how the one's inputs follow from the other's."""

    program: TensorProgram
    bindings: tuple[Binding, ...]
    reference: Callable[..., Any]
    """The user's function or module, called with the user's arguments."""
    arguments: tuple[str, ...]
    """Names of the user's arguments in order."""
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The module's own tensors, by their dotted names."""

    def bind(self, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The program's inputs, in its order, as views of the user's tensors.

        Raises:
            ShapeError: an argument is missing or unknown.
        """
        given = dict(zip(self.arguments, args, strict=False))
        if twice := [k for k in kwargs if k in given]:
            raise ShapeError(f"{self.program.name} was given {', '.join(twice)} twice, by position and by name")
        given.update(kwargs)
        missing = [a for a in self.arguments if a not in given]
        extra = [k for k in given if k not in self.arguments]
        if missing or extra or len(args) > len(self.arguments):
            raise ShapeError(
                f"{self.program.name} takes ({', '.join(self.arguments)}); "
                f"missing: {', '.join(missing) or 'none'}, unknown: {', '.join(extra) or 'none'}"
                + (f", and {len(args)} arguments were given" if len(args) > len(self.arguments) else "")
            )
        tensors = {**self.parameters, **given}
        return tuple(_permuted_tensor(tensors[b.source], b) if b.permute else tensors[b.source] for b in self.bindings)


def _permuted_tensor(x: Any, binding: Binding) -> Any:
    rank = len(getattr(x, "shape", ()))
    if rank != len(binding.permute):
        raise ShapeError(f"{binding.source!r} must have {len(binding.permute)} dims, found {rank}")
    return x.permute(binding.permute) if hasattr(x, "permute") else x.transpose(binding.permute)


def trace(code: Callable[..., Any], inputs: Mapping[str, Any], name: str | None = None) -> Traced:
    """The tensor program that a torch function or module computes.

    Args:
        code: a function of tensors, or an `nn.Module`.
        inputs: per argument a TensorType (its dims may be symbols) or an example tensor.
        name: what to call the program; the code's own name otherwise.

    Raises:
        UnsupportedOperator: with the operator, the user's line, and the supported ones.
        ShapeError: arguments do not match the signature, or dims do not fit.
    """
    import torch

    if not callable(code):
        raise ShapeError(f"expected a torch function, a module or a TensorProgram, found {type(code).__name__}")
    called = re.sub(r"\W", "_", name or getattr(code, "__name__", type(code).__name__))
    arguments = _arguments(code, inputs)
    if not arguments:
        raise ShapeError(f"{called} takes no tensor that it could be searched with; pass px.T(...) for an argument")
    types = {a: _type_of(inputs[a], a) for a in arguments}
    symbols: dict[str, int] = {}
    for t in types.values():
        for d in t.dims:
            for s in d.symbols:
                if str(d) != s:
                    raise ShapeError(f"an argument's dim must be a number or one symbol, found {d}")
                symbols.setdefault(s, EXAMPLE_SIZES[len(symbols) % len(EXAMPLE_SIZES)])
    exported = _export(code, [types[a] for a in arguments], symbols)
    signature = exported.graph_signature
    parameters: dict[str, Any] = {}
    sources: dict[str, tuple[str, TensorType]] = {}
    user = iter(arguments)
    for spec in signature.input_specs:
        placeholder = spec.arg.name
        if spec.kind.name == "USER_INPUT":
            argument = next(user)
            sources[placeholder] = (argument, types[argument])
        elif spec.kind.name in ("PARAMETER", "BUFFER"):
            held = exported.state_dict[spec.target]
            parameters[spec.target] = held.detach() if isinstance(held, torch.Tensor) else held
            sources[placeholder] = (spec.target, _type_of(held, spec.target))
        else:
            raise UnsupportedOperator(f"{called} holds a constant tensor {spec.target!r}; pass it as an argument")
    held = frozenset(p for p, (source, _) in sources.items() if source in parameters)
    translation = _Translation(called, sources, held)
    program = translation.run(exported.graph)
    return Traced(program, tuple(translation.bindings), code, tuple(arguments), parameters)


def _arguments(code: Callable[..., Any], inputs: Mapping[str, Any]) -> list[str]:
    target = getattr(code, "forward", code)
    try:
        accepted = list(inspect.signature(target).parameters.values())
    except (TypeError, ValueError):
        return list(inputs)
    names = [p.name for p in accepted if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    required = [p.name for p in accepted if p.name in names and p.default is p.empty]
    missing = [n for n in required if n not in inputs]
    unknown = [n for n in inputs if n not in names]
    if missing or unknown:
        raise ShapeError(
            f"{getattr(code, '__name__', type(code).__name__)}({', '.join(names)}) was given shapes for "
            f"({', '.join(inputs)}); missing: {', '.join(missing) or 'none'}, unknown: {', '.join(unknown) or 'none'}"
        )
    chosen = [n for n in names if n in inputs]
    if chosen != names[: len(chosen)]:
        raise ShapeError(f"give shapes for the first arguments without gaps: ({', '.join(names)})")
    return chosen


_TORCH_DTYPES: dict[str, DType] = {"float64": "f64", "float32": "f32", "bfloat16": "bf16", "float16": "f16"}


def _type_of(given: Any, name: str) -> TensorType:
    if isinstance(given, TensorType):
        return given
    shape, kind = getattr(given, "shape", None), str(getattr(given, "dtype", None)).removeprefix("torch.")
    if shape is None:
        raise ShapeError(f"argument {name!r}: expected px.T(...) or a tensor, found {type(given).__name__}")
    if kind not in _TORCH_DTYPES:
        raise ShapeError(f"argument {name!r} has dtype {kind}; supported are {', '.join(_TORCH_DTYPES)}")
    return TensorType(tuple(dim(int(n)) for n in shape), _TORCH_DTYPES[kind])


def _export(code: Callable[..., Any], types: list[TensorType], symbols: Mapping[str, int]) -> Any:
    import torch

    class Wrapped(torch.nn.Module):
        def forward(self, *args: Any) -> Any:
            return code(*args)

    spelled = {v: k for k, v in _TORCH_DTYPES.items()}
    module = code if isinstance(code, torch.nn.Module) else Wrapped()
    is_wrapped = module is not code
    examples = tuple(
        torch.empty(
            [d.value(symbols) for d in t.dims],
            dtype=getattr(torch, spelled[t.dtype]),
            device="meta" if is_wrapped else _device(module),
        )
        for t in types
    )
    sizes = {s: torch.export.Dim(s, min=1) for s in symbols}
    dynamic = tuple({i: sizes[str(d)] for i, d in enumerate(t.dims) if d.symbols} for t in types)
    shapes = (dynamic,) if is_wrapped else dynamic
    log = logging.getLogger("torch")
    level = log.level
    # What fails is raised with torch's own sentence; its log would say it again in a hundred lines.
    log.setLevel(logging.CRITICAL)
    try:
        # Strict mode is the one that remembers the user's lines.
        return torch.export.export(module, examples, dynamic_shapes=shapes, strict=True)
    except Exception as strict_failure:
        try:
            return torch.export.export(module, examples, dynamic_shapes=shapes, strict=False)
        except Exception as failure:
            raise UnsupportedOperator(
                f"torch.export could not trace {getattr(code, '__name__', type(code).__name__)}: "
                f"{_sentence(strict_failure)}; traced without strictness: {_sentence(failure)}"
            ) from failure
    finally:
        log.setLevel(level)


def _sentence(failure: Exception) -> str:
    said = str(failure).strip().splitlines()
    return f"{type(failure).__name__}: {said[0]}" if said else repr(failure)


def _device(module: Any) -> Any:
    held = [*module.parameters(), *module.buffers()]
    return held[0].device if held else "meta"


@dataclass(frozen=True, slots=True)
class _View:
    """An input seen with its dims permuted; becomes a program input where it is used."""

    placeholder: str
    order: tuple[int, ...]


class _Translation:
    """One pass over an exported graph."""

    def __init__(self, name: str, sources: Mapping[str, tuple[str, TensorType]], held: frozenset[str]) -> None:
        self._held = held
        self.build = ProgramBuilder(name)
        self.bindings: list[Binding] = []
        self._sources = sources
        self._values: dict[Any, Any] = {}
        self._inputs: dict[_View, int] = {}
        self.line = ""

    def run(self, graph: Any) -> TensorProgram:
        """Translate every node; arguments come first in the user's order, then a module's parameters."""
        uses: list[_View] = []
        for node in graph.nodes:
            if node.op == "placeholder":
                self._values[node] = _View(node.name, tuple(range(self._sources[node.name][1].rank)))
            elif node.op == "call_function" and _name(node) in _TRANSPOSES:
                held = self._values.get(node.args[0])
                if isinstance(held, _View):
                    self._values[node] = _permuted(held, node)
        for node in graph.nodes:
            if node.op == "placeholder" and node.users:
                uses.append(self._values[node])
        wanted = self._views_used(graph)
        for view in sorted(uses, key=lambda v: v.placeholder in self._held):
            for v in sorted((w for w in wanted if w.placeholder == view.placeholder), key=lambda w: w.order):
                self._input(v, alone=sum(w.placeholder == v.placeholder for w in wanted) == 1)
        for node in graph.nodes:
            if node.op == "output":
                results = [r for r in node.args[0] if r is not None]
                if len(results) != 1:
                    raise UnsupportedOperator(f"{self.build.name} returns {len(results)} tensors; one is supported")
                return self.build.build(self.tensor(results[0]))
            if node.op == "call_function" and node not in self._values:
                self._values[node] = self._call(node)
        raise AssertionError("an exported graph ends with its output")

    def _views_used(self, graph: Any) -> set[_View]:
        wanted: set[_View] = set()
        for node in graph.nodes:
            if node.op == "call_function" and not isinstance(self._values.get(node), _View):
                for position, argument in enumerate(node.args):
                    held = self._values.get(argument) if hasattr(argument, "op") else None
                    if isinstance(held, _View):
                        transposed = _name(node) == "linear" and position == 1
                        wanted.add(_View(held.placeholder, held.order[::-1]) if transposed else held)
            elif node.op == "output":
                wanted |= {v for v in map(self._values.get, node.args[0]) if isinstance(v, _View)}
        return wanted

    def _input(self, view: _View, alone: bool) -> int:
        source, t = self._sources[view.placeholder]
        natural = view.order == tuple(range(t.rank))
        name = re.sub(r"\W", "_", source) + ("" if alone or natural else "_t")
        dims = tuple(t.dims[i] for i in view.order)
        order = tuple(view.order.index(i) for i in t.storage_order)
        self._inputs[view] = self.build.input(name, *dims, dtype=t.dtype, order=order)
        self.bindings.append(Binding(name, source, () if natural else view.order))
        return self._inputs[view]

    def tensor(self, value: Any) -> int:
        """The position of a traced value."""
        held = self._values[value]
        if held is None:
            raise self.unsupported("a symbolic size used as a number")
        return self._inputs[held] if isinstance(held, _View) else cast(int, held)

    def transposed(self, value: Any) -> int:
        """The position of an input with its two dims exchanged."""
        held = self._values[value]
        if not isinstance(held, _View):
            raise self.unsupported("linear with a computed weight", "only a weight that is an input can be transposed")
        return self._inputs[_View(held.placeholder, held.order[::-1])]

    def number(self, value: Any) -> Fraction | None:
        """A Python number as an exact rational, by its shortest decimal spelling; None for a tensor."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        return Fraction(repr(value))

    def rank(self, x: int) -> int:
        """How many dims."""
        return self.build.type_of(x).rank

    def unsupported(self, what: str, why: str = "") -> UnsupportedOperator:
        """The error for an operator that has no row, or a use of one that its row does not cover."""
        return UnsupportedOperator(
            f"{what} is not supported{f': {why}' if why else ''}; used at {self.line or 'an unknown line'}. "
            f"Supported: {', '.join(sorted({r.torch for r in ROWS}))}"
        )

    def _call(self, node: Any) -> Any:
        self.line = _user_line(node)
        name = _name(node)
        if name == "sym_size":
            return None
        row = _BY_NAME.get(name)
        if row is None:
            raise self.unsupported(f"operator {name}")
        return row.spell(self, *node.args, **node.kwargs)


def _name(node: Any) -> str:
    schema = getattr(node.target, "_schema", None)
    return str(schema.name).removeprefix("aten::") if schema is not None else str(node.target)


_TRANSPOSES = frozenset({"t", "transpose", "permute", "numpy_T", "mT"})


def _permuted(view: _View, node: Any) -> _View:
    rank = len(view.order)
    match _name(node):
        case "transpose":
            order = list(range(rank))
            i, j = (a % rank for a in node.args[1:3])
            order[i], order[j] = order[j], order[i]
        case "permute":
            order = [a % rank for a in node.args[1]]
        case "mT":
            order = [*range(rank - 2), rank - 1, rank - 2]
        case _:
            order = list(reversed(range(rank)))
    return _View(view.placeholder, tuple(view.order[i] for i in order))


def _user_line(node: Any) -> str:
    frames = re.findall(r'File "([^"]+)", line (\d+), in (\S+)\n\s*(.*)', node.meta.get("stack_trace") or "")
    own = [f for f in frames if "/torch/" not in f[0] and "prism_explore/frontend" not in f[0]]
    if not own:
        return ""
    path, number, function, text = own[-1]
    return f"{path}:{number} in {function}: {text.strip()}"


@dataclass(frozen=True, slots=True)
class Row:
    """How one ATen operator is spelled in ours."""

    aten: str
    torch: str
    """The name that users know."""
    spell: Callable[..., int]


def _unary(fn: UnaryFn) -> Callable[..., int]:
    def spell(t: _Translation, x: Any) -> int:
        return t.build.unary(fn, t.tensor(x), t.line)

    return spell


def _binary(fn: BinaryFn) -> Callable[..., int]:
    def spell(t: _Translation, x: Any, y: Any, *, alpha: Any = 1) -> int:
        if alpha != 1:
            raise t.unsupported(f"{fn} with alpha={alpha}", "write the product out")
        left, right = t.number(x), t.number(y)
        if left is not None and right is None:
            return _scalar_left(t, fn, left, t.tensor(y))
        if right is not None:
            return _scalar_right(t, fn, t.tensor(x), right)
        return t.build.binary(fn, t.tensor(x), t.tensor(y), t.line)

    return spell


def _scalar_right(t: _Translation, fn: BinaryFn, x: int, c: Fraction) -> int:
    match fn:
        case "add":
            return t.build.scalar("add", x, c, t.line)
        case "sub":
            return t.build.scalar("add", x, -c, t.line)
        case "mul":
            return t.build.scalar("mul", x, c, t.line)
        case "div":
            if not c:
                raise t.unsupported("division by the constant 0")
            return t.build.scalar("mul", x, 1 / c, t.line)


def _scalar_left(t: _Translation, fn: BinaryFn, c: Fraction, x: int) -> int:
    match fn:
        case "add" | "mul":
            return t.build.scalar(fn, x, c, t.line)
        case "sub":
            return t.build.scalar("add", t.build.unary("neg", x, t.line), c, t.line)
        case "div":
            return t.build.scalar("mul", t.build.unary("recip", x, t.line), c, t.line)


def _pow(t: _Translation, x: Any, exponent: Any) -> int:
    spelled: dict[Fraction, UnaryFn] = {
        Fraction(2): "square",
        Fraction(1, 2): "sqrt",
        Fraction(-1, 2): "rsqrt",
        Fraction(-1): "recip",
    }
    number = t.number(exponent)
    if number is None or number not in spelled:
        raise t.unsupported(f"pow with exponent {exponent}", "exponents 2, 0.5, -0.5 and -1 are")
    return t.build.unary(spelled[number], t.tensor(x), t.line)


def _reduction(fn: Any) -> Callable[..., int]:
    def spell(t: _Translation, x: Any, dims: Any = None, keepdim: bool = False, *, dtype: Any = None) -> int:
        listed: list[Any] = list(cast("Sequence[Any]", dims)) if isinstance(dims, Sequence) else [dims]
        if listed == [None] or len(listed) != 1:
            raise t.unsupported(f"{fn} over several dims", "reduce one dim at a time")
        if not keepdim:
            raise t.unsupported(f"{fn} that drops its dim", "pass keepdim=True")
        if dtype is not None:
            raise t.unsupported(f"{fn} with dtype={dtype}")
        return t.build.reduce(fn, t.tensor(x), int(listed[0]), t.line)

    return spell


def _rms_norm(t: _Translation, x: Any, shape: Any, weight: Any = None, eps: float | None = None) -> int:
    if len(shape) != 1:
        raise t.unsupported(f"rms_norm over {len(shape)} dims", "the last dim alone is")
    given = t.tensor(x)
    last = t.rank(given) - 1
    # torch takes the dtype's machine epsilon where no eps is given.
    epsilon = Fraction(repr(eps if eps is not None else _machine_epsilon(t.build.type_of(given).dtype)))
    if epsilon:
        square = t.build.unary("square", given, t.line)
        mean = t.build.reduce("mean", square, last, t.line)
        norm = t.build.unary("sqrt", t.build.scalar("add", mean, epsilon, t.line), t.line)
    else:
        norm = t.build.reduce("rms", given, last, t.line)
    out = t.build.binary("div", given, norm, t.line)
    return out if weight is None else t.build.binary("mul", out, t.tensor(weight), t.line)


def _machine_epsilon(dtype: DType) -> float:
    import torch

    return float(torch.finfo(getattr(torch, {v: k for k, v in _TORCH_DTYPES.items()}[dtype])).eps)


def _layer_norm(
    t: _Translation, x: Any, shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5, *_: Any
) -> int:
    if len(shape) != 1:
        raise t.unsupported(f"layer_norm over {len(shape)} dims", "the last dim alone is")
    b, given = t.build, t.tensor(x)
    last = t.rank(given) - 1
    centred = b.binary("sub", given, b.reduce("mean", given, last, t.line), t.line)
    variance = b.reduce("mean", b.unary("square", centred, t.line), last, t.line)
    out = b.binary("div", centred, b.unary("sqrt", b.scalar("add", variance, repr(eps), t.line), t.line), t.line)
    out = out if weight is None else b.binary("mul", out, t.tensor(weight), t.line)
    return out if bias is None else b.binary("add", out, t.tensor(bias), t.line)


def _linear(t: _Translation, x: Any, weight: Any, bias: Any = None) -> int:
    out = t.build.matmul(t.tensor(x), t.transposed(weight), t.line)
    return out if bias is None else t.build.binary("add", out, t.tensor(bias), t.line)


def _matmul(t: _Translation, x: Any, y: Any) -> int:
    a, b = t.tensor(x), t.tensor(y)
    if t.rank(a) < 2 or t.rank(b) < 2:
        raise t.unsupported("matmul with a vector", "give it a dim of size 1")
    return t.build.matmul(a, b, t.line)


def _same(t: _Translation, x: Any, *_: Any, **__: Any) -> int:
    return t.tensor(x)


def _to(t: _Translation, x: Any, dtype: Any, *_: Any, **__: Any) -> int:
    held = t.tensor(x)
    if _TORCH_DTYPES.get(str(dtype).removeprefix("torch.")) != t.build.type_of(held).dtype:
        raise t.unsupported(f"a cast to {dtype}")
    return held


def _dropout(t: _Translation, x: Any, p: float, training: bool) -> int:
    if training and p:
        raise t.unsupported("dropout while training", "call module.eval() first")
    return t.tensor(x)


def _reversed_sub(t: _Translation, x: Any, y: Any, alpha: Any = 1) -> int:
    return _binary("sub")(t, y, x, alpha=alpha)


def _to_copy(t: _Translation, x: Any, *, dtype: Any = None, **_: Any) -> int:
    return t.tensor(x) if dtype is None else _to(t, x, dtype)


ROWS: tuple[Row, ...] = (
    Row("rms_norm", "nn.functional.rms_norm", _rms_norm),
    Row("layer_norm", "nn.functional.layer_norm", _layer_norm),
    Row("linear", "nn.functional.linear", _linear),
    Row("matmul", "matmul", _matmul),
    Row("mm", "mm", _matmul),
    Row("bmm", "bmm", _matmul),
    Row("add", "add", _binary("add")),
    Row("sub", "sub", _binary("sub")),
    Row("mul", "mul", _binary("mul")),
    Row("div", "div", _binary("div")),
    Row("rsub", "rsub", _reversed_sub),
    Row("pow", "pow", _pow),
    Row("exp", "exp", _unary("exp")),
    Row("square", "square", _unary("square")),
    Row("sqrt", "sqrt", _unary("sqrt")),
    Row("rsqrt", "rsqrt", _unary("rsqrt")),
    Row("reciprocal", "reciprocal", _unary("recip")),
    Row("neg", "neg", _unary("neg")),
    Row("silu", "nn.functional.silu", _unary("silu")),
    Row("sigmoid", "sigmoid", _unary("sigmoid")),
    Row("relu", "relu", _unary("relu")),
    Row("tanh", "tanh", _unary("tanh")),
    Row("sum", "sum", _reduction("sum")),
    Row("mean", "mean", _reduction("mean")),
    Row("clone", "clone", _same),
    Row("contiguous", "contiguous", _same),
    Row("dropout", "nn.functional.dropout", _dropout),
    Row("to", "to", _to),
    Row("_to_copy", "to", _to_copy),
)
_BY_NAME: dict[str, Row] = {r.aten: r for r in ROWS}


def data_sizes(program: TensorProgram, given: Mapping[str, int]) -> dict[str, int]:
    """Numbers for all of a program's own symbols.

    Raises:
        ShapeError: a symbol has no number, a number is below 1, or a name is no symbol of the program.
    """
    symbols = program.graph.data_symbols
    missing, unknown = [s for s in symbols if s not in given], [s for s in given if s not in symbols]
    if missing or unknown:
        raise ShapeError(
            f"{program.name} has the symbols ({', '.join(symbols) or 'none'}); give each a number to tune at, "
            f"such as at={{{', '.join(f'{s!r}: 8' for s in symbols)}}}; "
            f"missing: {', '.join(missing) or 'none'}, unknown: {', '.join(unknown) or 'none'}"
        )
    for s, n in given.items():
        if not isinstance(n, int) or isinstance(n, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ShapeError(f"symbol {s!r} was given {n!r}; sizes are whole numbers")
        if n < 1:
            raise ShapeError(f"symbol {s!r} was given {n}; sizes start at 1")
    return {s: given[s] for s in symbols}


def shape_at(t: TensorType, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """A type's shape at given sizes."""
    return tuple(d.value(sizes) for d in t.dims)
