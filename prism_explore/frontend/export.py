"""torch.export's graph of a function or module, and the program it is translated to.

torch is imported inside the functions that need it.
"""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from prism_explore.errors import ShapeError, UnsupportedOperator
from prism_explore.frontend.argument_form import SUBMODULE, ArgumentForm, argument_form
from prism_explore.frontend.aten.constants import known_constant
from prism_explore.frontend.aten.small_tables import numbers_of_tensors
from prism_explore.frontend.aten.table import BY_NAME
from prism_explore.frontend.decompose import (
    RECURRENCES,
    decomposed,
    is_known,
    with_tensors_as_positions,
    without_copies,
    without_empty_parts,
    without_rewritten_tensors,
)
from prism_explore.frontend.fake_examples import EXAMPLE_SIZES, examples_of, linear_in
from prism_explore.frontend.known_tensors import constant_of, known_tensors
from prism_explore.frontend.lower_aten import (
    GUARDS,
    TORCH_BACKEND,
    Translation,
    Unused,
    Value,
    operator_name,
    user_line,
    valid_name,
)
from prism_explore.frontend.masked_selections import without_masked_selections
from prism_explore.frontend.outside_state import OutsideState, put_back
from prism_explore.frontend.registered_dataclasses import register_dataclasses
from prism_explore.frontend.result_form import ResultForm
from prism_explore.frontend.rewritten_functions import rewritten_functions
from prism_explore.frontend.source_lines import source_lines
from prism_explore.frontend.stateless_trace import stateless_trace
from prism_explore.frontend.torch_tracing import import_tracer, tracing, transforms_ended
from prism_explore.frontend.trace_transforms import as_operators, check_transforms, is_of_transform
from prism_explore.frontend.traced_program import Binding, KnownTable, Traced
from prism_explore.ir.dims import Dim, dim
from prism_explore.ir.ops import Node
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.tabulated import FLOAT8_FORMATS, table_name
from prism_explore.ir.tensors import (
    DTYPE_OF_NAME,
    INTEGER_NUMBERS,
    INTEGERS,
    LARGEST_READ,
    TensorType,
    dtype_name,
    layout_of,
)
from prism_explore.support.gc_pause import full_collections_postponed


@dataclass(frozen=True, slots=True)
class Exported:
    """A function or module in torch's graph, with what its placeholders stand for."""

    name: str
    arguments: tuple[str, ...]
    graph: Any
    """Of ATen operators, those without a row decomposed where torch can."""
    sources: Mapping[str, tuple[str, TensorType]]
    """Per placeholder, the argument or the module's tensor that it stands for."""
    parameters: Mapping[str, Any]
    """The module's tensors, by their dotted names."""
    constants: Mapping[str, Any]
    """Tensors that the code holds, by the names of their placeholders."""
    structure: Any
    """Of what the code returns, as torch's `TreeSpec`."""
    operators: str
    """All ATen operators as they are run, before any is decomposed, as text."""
    code: Callable[..., Any]
    """The function or module, called with the tensors `arguments`."""
    call: ArgumentForm | None
    """How the user calls it; None where that is with these tensors by position."""
    written: tuple[str, ...] = ()
    """Arguments and tensors of the module that the code writes into; their new values are the graph's first results."""


def trace(code: Callable[..., Any], inputs: Mapping[str, Any], name: str | None = None) -> Traced:
    """The tensor program that a torch function or module computes.

    Args:
        code: a function of tensors, or an `nn.Module`.
        inputs: per argument a TensorType (its dims may be symbols) or an example tensor.
        name: the name of the program; by default the name of the code.

    Raises:
        UnsupportedOperator: with the operator, the user's line, and the supported ones.
        ShapeError: arguments do not match the signature, or dims do not fit.
    """
    return traced(with_known_tensors(exported(code, inputs, name)))


def is_readable(tensor: Any) -> bool:
    """Whether rows read a tensor of the code; lookups take positions from the front only."""
    kind = DTYPE_OF_NAME.get(dtype_name(tensor.dtype))
    return kind is not None and (kind not in INTEGERS or not bool((tensor < 0).any()))


def with_known_tensors(given: Exported) -> Exported:
    """The same program, with what depends on no argument as constants of the code."""
    graph, constants = known_tensors(given.name, given.graph, given.constants)
    return replace(given, graph=graph, constants=constants)


def traced(given: Exported) -> Traced:
    """The tensor program of torch's graph; errors are those of `trace`."""
    sources, held, fixed = _placeholders(given)
    own = {**given.parameters, **held}
    tensors = {p: own[source] for p, (source, _) in sources.items() if source in own}
    program, translation = translate(given.name, given.graph, sources, fixed, set(own), tensors)
    _check_own_numbers(program, translation.bindings, own)
    known = [(name, numbers) for name, numbers in translation.tables.items() if name not in held]
    form = None if given.structure.is_leaf() else ResultForm(translation.results, given.structure)
    return Traced(
        program,
        tuple(_with_bits(b, own) for b in translation.bindings),
        given.code,
        given.arguments,
        own,
        form,
        given.operators,
        given.call,
        tuple(name for name in held if any(b.source == name for b in translation.bindings)),
        tuple(KnownTable(name, table_name(numbers.reshape(-1))) for name, numbers in known),
    )


@dataclass(frozen=True, slots=True)
class TracedResults:
    """What the code returns, in one graph; unlike a program to search it may return inputs, constants, or one twice."""

    nodes: tuple[Node, ...]
    lines: tuple[str, ...]
    """Per node the line of code that it comes from."""
    positions: tuple[int, ...]
    """Of each result that is a tensor or a number."""
    bindings: tuple[Binding, ...]
    """Of the inputs that are read."""


def traced_results(given: Exported) -> TracedResults:
    """All results of torch's graph, as functions of real numbers: casts between floats leave no operator.

    Raises:
        UnsupportedOperator: an operator has no row, or the code holds a tensor.
        ShapeError: dims do not fit.
    """
    sources, held, fixed = _placeholders(given, may_hold=False)
    if held:
        raise UnsupportedOperator(f"{given.name} reads {', '.join(held)}, a tensor that is part of the code")
    translation = Translation(given.name, sources, BY_NAME, fixed, of_reals=True)
    positions = translation.run_for_all(given.graph)
    build = translation.build
    return TracedResults(build.nodes, build.lines, positions, tuple(translation.bindings))


def _placeholders(
    given: Exported, *, may_hold: bool = True
) -> tuple[dict[str, tuple[str, TensorType]], dict[str, Any], dict[str, Value]]:
    """Per placeholder its source and type; the tensors that the code holds; the values of other placeholders.

    Without `may_hold`, positions that rows know are no tensors that the code holds.
    """
    fixed: dict[str, Value] = {}
    sources, held = dict(given.sources), dict[str, Any]()
    for placeholder, tensor in given.constants.items():
        known = constant_of(given.graph, placeholder, tensor) if may_hold else known_constant(tensor)
        if known is None and tensor is not None and is_readable(tensor):
            sources[placeholder] = (placeholder, tensor_type(tensor, placeholder))
            held[placeholder] = tensor
        else:
            fixed[placeholder] = known or Unused(f"the constant tensor {placeholder!r} of the code")
    return sources, held, fixed


def translate(
    name: str,
    graph: Any,
    sources: Mapping[str, tuple[str, TensorType]],
    fixed: Mapping[str, Value],
    last: set[str],
    tensors: Mapping[str, Any],
) -> tuple[TensorProgram, Translation]:
    """The program of a graph of ATen operators, and its translation.

    Args:
        name: of the program.
        graph: torch's graph.
        sources: per placeholder the name and the type of its tensor.
        fixed: the values of other placeholders.
        last: names of tensors that become the last inputs.
        tensors: per placeholder the tensor that the code or its module holds, whose numbers the program may have.

    Raises:
        UnsupportedOperator: an operator has no row, or the result does not depend on an input.
        ShapeError: dims do not fit.
    """
    # A first pass finds which inputs are read and in which order of dims; the second declares them up front.
    numbers = numbers_of_tensors(tensors)
    probe = Translation(name, sources, BY_NAME, fixed, numbers=numbers)
    probe.run(graph)
    unpacks = not probe.reads_words_twice
    if not unpacks:
        probe = Translation(name, sources, BY_NAME, fixed, numbers=numbers, unpacks=False)
        probe.run(graph)
    if not probe.bindings:
        raise UnsupportedOperator(f"{name} returns a constant; there is nothing to search")
    views = probe.views(last)
    translation = Translation(name, sources, BY_NAME, fixed, views, numbers=numbers, unpacks=unpacks)
    return translation.run(graph), translation


def exported(
    code: Callable[..., Any], inputs: Mapping[str, Any], name: str | None = None, *, in_parts: bool = False
) -> Exported:
    """torch's graph of a function or module; other arguments and errors are those of `trace`.

    torch runs the code on tensors without data. What it changes outside of its arguments is put back. What cannot be
    traced in this way is traced by its bytecode, which takes three times as long.

    Args:
        code: as for `trace`.
        inputs: as for `trace`.
        name: as for `trace`.
        in_parts: whether torch may compute a part: then tensors may be without elements, and the code may write into
            its arguments and into tensors of its own.
    """
    if not callable(code):
        raise ShapeError(f"expected a torch function, a module or a TensorProgram, found {type(code).__name__}")
    if inspect.isclass(code):
        raise ShapeError(f"{code.__name__} is a class; pass one of its instances, such as {code.__name__}(...)")
    program_name = valid_name(name or _name(code))
    accepted = _parameters(code)
    _check_arguments(code, accepted, inputs)
    form, given = argument_form(accepted, inputs)
    if not given:
        raise ShapeError(
            f"{program_name} takes no tensor that it could be searched with; pass px.T(...) for an argument"
        )
    arguments = list(given)
    types = {a: tensor_type(x, a, may_be_empty=in_parts) for a, x in given.items()}
    import_tracer()
    of_tensors = code if form.is_plain else form.rebuilt(code)
    symbols: dict[str, int] = {}
    for t in types.values():
        for d in t.dims:
            for s in d.symbols:
                if linear_in(d) is None:
                    raise ShapeError(f"an argument's dim must be a number or linear in one symbol, found {d}")
                symbols.setdefault(s, EXAMPLE_SIZES[len(symbols) % len(EXAMPLE_SIZES)])
    if not symbols and form.is_plain and (known := _graph_of_known(code, list(types.values()))) is not None:
        graph, structure = known
        placeholders = (n.name for n in graph.nodes if n.op == "placeholder")
        sources = {p: (a, types[a]) for p, a in zip(placeholders, arguments, strict=True)}
        return Exported(program_name, tuple(arguments), graph, sources, {}, {}, structure, str(graph), code, None)
    program, operators = _export(of_tensors, _name(code), [types[a] for a in arguments], symbols, in_parts, code)
    signature = program.graph_signature
    parameters: dict[str, Any] = {}
    constants: dict[str, Any] = {}
    sources = dict[str, tuple[str, TensorType]]()
    user = iter(arguments)
    for spec in signature.input_specs:
        placeholder = spec.arg.name
        if spec.kind.name == "USER_INPUT":
            argument = next(user)
            sources[placeholder] = (argument, types[argument])
        elif spec.kind.name in ("PARAMETER", "BUFFER"):
            tensor = program.state_dict.get(spec.target, program.constants.get(spec.target))
            target = spec.target if of_tensors is code else spec.target.removeprefix(f"{SUBMODULE}.")
            if target in types:
                raise ShapeError(
                    f"{program_name} has an argument and a tensor of its own named {target!r}; rename the argument"
                )
            if dtype_name(tensor.dtype) in FLOAT8_FORMATS:
                parameters[target] = tensor
                sources[placeholder] = (target, tensor_type(_as_bytes(tensor), target, may_be_empty=in_parts))
            elif dtype_name(tensor.dtype) in DTYPE_OF_NAME:
                parameters[target] = tensor
                sources[placeholder] = (target, tensor_type(tensor, target, may_be_empty=in_parts))
            else:
                constants[placeholder] = tensor
        else:
            constants[placeholder] = program.constants.get(spec.target)
    targets = [spec.target for spec in signature.output_specs if "MUTATION" in spec.kind.name]
    written = tuple(sources[t][0] if t in sources else t.removeprefix(f"{SUBMODULE}.") for t in targets)
    if written and not in_parts:
        values = {spec.arg.name for spec in signature.output_specs if "MUTATION" in spec.kind.name}
        lines = dict.fromkeys(line for n in program.graph.nodes if n.name in values and (line := user_line(n)))
        raise UnsupportedOperator(
            f"{program_name} writes into {', '.join(written)}{f' at {next(iter(lines))}' if lines else ''}; return the "
            "new value instead of writing in place, or take px.WholeProgram(...) with the same arguments"
        )
    return Exported(
        program_name,
        tuple(arguments),
        _rewritten(program.graph),
        sources,
        parameters,
        constants,
        program.call_spec.out_spec,
        operators,
        of_tensors,
        None if form.is_plain else form,
        written,
    )


def _check_own_numbers(program: TensorProgram, bindings: Sequence[Binding], own: Mapping[str, Any]) -> None:
    """Check that kernels read the integers of the module that are numbers of the program.

    Raises:
        UnsupportedOperator: some are too large, such as words of several weights of few bits.
    """
    for given, binding in zip(program.inputs, bindings, strict=True):
        tensor = own.get(binding.source)
        if given.type.dtype not in INTEGER_NUMBERS or tensor is None or tensor.is_meta or not tensor.numel():
            continue
        if type(tensor).__name__ == "FakeTensor":
            continue
        if max(int(tensor.max()), -int(tensor.min())) > LARGEST_READ:
            raise UnsupportedOperator(
                f"{binding.source!r} has integers beyond {LARGEST_READ}, which {program.name} reads as numbers; of "
                "words that pack several weights read a few bits, as in (word >> 8) & 15, with amounts that are known. "
                "px.WholeProgram(...), with the same arguments, leaves it to torch"
            )


def _as_bytes(tensor: Any) -> Any:
    """The memory of an 8-bit float tensor as bytes."""
    import torch

    return tensor.view(torch.uint8)


def _with_bits(binding: Binding, own: Mapping[str, Any]) -> Binding:
    """The binding of an input that has the bits of a tensor of 8-bit floats says of which format they are."""
    kind = dtype_name(own[binding.source].dtype) if binding.source in own else ""
    return replace(binding, bits=kind) if kind in FLOAT8_FORMATS else binding


def _rewritten(graph: Any) -> Any:
    """torch's graph in forms that rows read."""
    for rewrite in (
        without_empty_parts,
        without_copies,
        without_rewritten_tensors,
        with_tensors_as_positions,
        without_masked_selections,
    ):
        graph = rewrite(graph)
    return graph


def declare_symbols(
    code: Callable[..., Any], examples: Sequence[Any], symbolic: Mapping[str, Mapping[int, str]]
) -> tuple[dict[str, Any], dict[str, int]]:
    """Examples by argument name, with some dims replaced by symbols, and the sizes of these symbols.

    Args:
        code: a function of tensors, or an `nn.Module`.
        examples: tensors by position.
        symbolic: per argument, the dims that become symbols, by position: `{"x": {0: "b"}}`.

    Raises:
        ShapeError: more examples than arguments, no such argument or dim, or one symbol for two sizes.
    """
    names = [p.name for p in _parameters(code) or () if p.kind in _BY_POSITION]
    if len(examples) > len(names):
        raise ShapeError(f"{_name(code)} takes ({', '.join(names)}); {len(examples)} examples were given")
    found: dict[str, Any] = dict(zip(names, examples, strict=False))
    at: dict[str, int] = {}
    for name, symbols in symbolic.items():
        if name not in found:
            raise ShapeError(f"there is no example of an argument {name!r}; there are ({', '.join(found)})")
        example_type = tensor_type(found[name], name)
        dims = list(example_type.dims)
        for position, symbol in symbols.items():
            if not -len(dims) <= position < len(dims):
                raise ShapeError(f"{name!r} has {len(dims)} dims; there is no dim {position} to call {symbol!r}")
            size = example_type.dims[position].value({})
            if at.setdefault(symbol, size) != size:
                raise ShapeError(f"{symbol!r} cannot be both {at[symbol]} and {size}; take two symbols")
            dims[position] = dim(symbol)
        shape, symbolic_dims = tuple(map(int, found[name].shape)), tuple(dims)
        layout = layout_of(symbolic_dims, shape, _strides_of(found[name]))
        found[name] = TensorType(symbolic_dims, example_type.dtype, *layout)
    return found, at


_BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_NAMED = (*_BY_POSITION, inspect.Parameter.KEYWORD_ONLY)


def _parameters(code: Any) -> list[inspect.Parameter] | None:
    """Parameters of a function or of a module's forward; None where they cannot be inspected."""
    try:
        return list(inspect.signature(getattr(code, "forward", code)).parameters.values())
    except (TypeError, ValueError):
        return None


def _name(code: Any) -> str:
    # A functools.partial has no name of its own.
    return str(getattr(getattr(code, "func", code), "__name__", type(code).__name__))


def _check_arguments(
    code: Callable[..., Any], accepted: Sequence[inspect.Parameter] | None, inputs: Mapping[str, Any]
) -> None:
    """Check that the function has these arguments, and that none is missing.

    Raises:
        ShapeError: it has not, or one is.
    """
    if accepted is None:
        return
    named = [p for p in accepted if p.kind in _NAMED]
    names = [p.name for p in named]
    missing = [p.name for p in named if p.default is p.empty and p.name not in inputs]
    takes_any = any(p.kind is p.VAR_KEYWORD for p in accepted)
    takes_more = any(p.kind is p.VAR_POSITIONAL for p in accepted)
    unknown = [] if takes_any else [n for n in inputs if n not in names]
    if missing or unknown:
        raise ShapeError(
            f"{_name(code)}({', '.join(names)}) was given shapes for "
            f"({', '.join(inputs)}); missing: {', '.join(missing) or 'none'}, unknown: {', '.join(unknown) or 'none'}"
            + ("; give arguments of *args names of their own" if takes_more else "")
        )


def tensor_type(example: Any, name: str, *, may_be_empty: bool = False) -> TensorType:
    """The type of an argument that was declared with `px.T`, or of an example tensor.

    Args:
        example: the type, or the tensor.
        name: of the argument.
        may_be_empty: whether it may be without elements.

    Raises:
        ShapeError: it is neither, is not dense, or has a dtype that is not supported.
    """
    if isinstance(example, TensorType):
        return example
    shape, kind = getattr(example, "shape", None), dtype_name(getattr(example, "dtype", None))
    if shape is None:
        raise ShapeError(f"argument {name!r}: expected px.T(...) or a tensor, found {type(example).__name__}")
    if (layout := str(getattr(example, "layout", "torch.strided"))) != "torch.strided":
        raise ShapeError(f"argument {name!r} is {layout.removeprefix('torch.')}; pass a dense tensor, x.to_dense()")
    if kind not in DTYPE_OF_NAME:
        advice = "pass torch.view_as_real(x)" if kind.startswith("complex") else "convert it before the call"
        raise ShapeError(f"argument {name!r} has dtype {kind}; supported are {', '.join(DTYPE_OF_NAME)}. {advice}")
    if 0 in shape and not may_be_empty:
        raise ShapeError(
            f"argument {name!r} has the shape {tuple(shape)}: no elements; a search needs sizes from 1 on. Declare "
            "a size from 1 on; px.WholeProgram(...) leaves what has a size of 0 to torch"
        )
    dims = tuple(dim(int(n)) for n in shape)
    return TensorType(dims, DTYPE_OF_NAME[kind], *layout_of(dims, tuple(map(int, shape)), _strides_of(example)))


def _strides_of(example: Any) -> tuple[int, ...]:
    """An example's strides in elements; an array's are in bytes."""
    if callable(getattr(example, "stride", None)):
        return tuple(map(int, example.stride()))
    return tuple(int(s) // int(example.itemsize) for s in example.strides)


def _graph_of_known(code: Callable[..., Any], types: Sequence[TensorType]) -> tuple[Any, Any] | None:
    """The ATen operators of a graph without tensors of its own, and the structure of its results.

    It is the graph that torch.export makes, in a fifth of the time: torch.export solves for symbolic sizes, of which
    there are none here. Operators that torch composes of others, such as `conv2d`, are those others unless they are
    known.

    Returns:
        None where torch.export is needed: the code is no such graph, an operator is not known, or torch cannot run it.
    """
    import torch
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch.utils._pytree import tree_flatten

    if not isinstance(code, torch.fx.GraphModule) or code.state_dict():
        return None
    structures: list[Any] = []

    def flat(*args: Any) -> list[Any]:
        results, structure = tree_flatten(code(*args))
        structures.append(structure)
        return results

    names = {*BY_NAME, *GUARDS}
    table: dict[Any, Any] = {}

    def traced() -> Any:
        trace_with = make_fx(flat, decomposition_table=table, tracing_mode="fake", pre_dispatch=True)
        return trace_with(*examples_of(types, {}, "cpu")).graph

    state = OutsideState(code, has_own_buffers=False)
    with tracing(strict=False), rewritten_functions():
        try:
            graph = traced()
            while composed := _composed(graph, names) - table.keys():
                table |= {operator: operator.decompose for operator in composed}
                graph = traced()
        except Exception:
            return None
        finally:
            changes = state.changes()
            put_back(changes)
    if changes:
        return None
    if any(n.op == "get_attr" for n in graph.nodes) or not all(is_known(n, names) for n in graph.nodes):
        return None
    return graph, structures[-1]


def _composed(graph: Any, names: Collection[str]) -> set[Any]:
    """The operators of a graph that are not known and that torch composes of others; none where others are not known.

    How many steps of a recurrent layer are unrolled, `decomposed` decides.

    Args:
        graph: torch's.
        names: of the known ones.
    """
    unknown = {n.target for n in graph.nodes if not is_known(n, names)}
    composed = {
        operator
        for operator in unknown
        if hasattr(operator, "decompose") and operator._can_decompose() and operator_name(operator) not in RECURRENCES
    }
    return composed if composed == unknown else set()


def _export(
    code: Callable[..., Any],
    name: str,
    types: list[TensorType],
    symbols: Mapping[str, int],
    in_parts: bool,
    user_code: Callable[..., Any],
) -> tuple[Any, str]:
    """The exported program with known operators only, and all operators as they are run.

    `code` takes tensors by position, and calls `user_code` or is it.
    """
    import torch

    # Strict tracing of a graph within torch.compile crashes.
    ways = (False,) if isinstance(code, torch.fx.GraphModule) else (False, True)
    failures: dict[bool, Exception] = {}
    for strict in ways:
        with tracing(strict=strict), transforms_ended():
            try:
                exported = _export_alone(code, name, types, symbols, strict, in_parts, user_code)
                check_transforms(exported)
            except UnsupportedOperator:
                raise
            except Exception as failure:
                failures[strict] = failure
            else:
                return decomposed(exported, BY_NAME), str(exported.graph)
    is_unfollowed = False
    if any(is_of_transform(f) for f in failures.values()):
        try:
            with tracing(strict=False), transforms_ended():
                module = as_operators(code, name, types, symbols)
                exported = _export_alone(module, name, types, symbols, False, in_parts, user_code)
                return decomposed(exported, BY_NAME), str(exported.graph)
        except UnsupportedOperator:
            raise
        except Exception:
            is_unfollowed = bool(symbols)  # and the failures above are reported
    places = [place for failure in failures.values() if (place := _user_place(failure))]
    if any(type(f).__name__ == "GuardOnDataDependentSymNode" for f in failures.values()):
        raise UnsupportedOperator(
            f"{name} branches on the value of a tensor, or on a size that depends on one; write "
            f"torch.where(condition, a, b), or put the branch outside of the function; {TORCH_BACKEND} takes "
            "the code on both sides of it; used at "
            f"{places[0] if places else 'an unknown line'}"
        ) from failures[False]
    message = _first_line(failures[False])
    if True in failures:
        message = f"{_first_line(failures[True])}; traced without strictness: {message}"
    if "nrecognized type" in message or "unsupported type" in message.lower():
        message += (
            "; torch knows no structure for an object that it returns: return a tuple or a dict, or "
            "call torch.export.register_dataclass(...) with its class first"
        )
    if is_unfollowed:
        message += f"; with numbers for {', '.join(symbols)} torch may follow the transform of torch.func in it"
    at = f"; used at {places[0]}" if places else ""
    raise UnsupportedOperator(f"torch.export could not trace {name}: {message}{at}") from failures[False]


@full_collections_postponed()
def _export_alone(
    code: Callable[..., Any],
    name: str,
    types: list[TensorType],
    symbols: Mapping[str, int],
    strict: bool,
    in_parts: bool,
    user_code: Callable[..., Any],
) -> Any:
    import torch
    from torch._guards import tracing as tracing_context

    class Wrapped(torch.nn.Module):
        def forward(self, *args: Any) -> Any:
            return code(*args)

    module = code if isinstance(code, torch.nn.Module) else Wrapped()
    examples = examples_of(types, symbols, _device(module))
    sizes = {s: torch.export.Dim(s, min=1) for s in symbols}

    def size(d: Dim) -> Any:
        linear = linear_in(d)
        assert linear is not None, "refused before"
        symbol, factor, added = linear
        product = sizes[symbol] if factor == 1 else factor * sizes[symbol]
        return product + added if added else product

    dynamic = tuple({i: size(d) for i, d in enumerate(t.dims) if d.symbols} for t in types)
    is_one_tuple = any(p.kind is p.VAR_POSITIONAL for p in _parameters(module) or ())
    shapes = (dynamic,) if is_one_tuple else dynamic
    log = logging.getLogger("torch")
    level = log.level
    # A failure is raised with torch's message; its log repeats it at length.
    log.setLevel(logging.CRITICAL)
    try:
        # Within torch.compile, symbols of this trace would become guards of that one.
        with tracing_context(None):

            def export() -> Any:
                with ExitStack() as modes:
                    if not strict:
                        modes.enter_context(rewritten_functions())
                        modes.enter_context(source_lines())
                    return torch.export.export(module, examples, dynamic_shapes=shapes, strict=strict)

            def export_whole() -> Any:
                found = export()
                if any("wrap_with_set_grad_enabled" in str(node.target) for node in found.graph.nodes):
                    with torch.no_grad():  # then code under no_grad() is no graph of its own
                        return export()
                return found

            if strict:
                return export_whole()

            def register(_module: Any, _arguments: Any, result: Any) -> None:
                register_dataclasses(result)

            known = module.register_forward_hook(register)
            try:
                return stateless_trace(export_whole, module, user_code, name, may_replace=in_parts)
            finally:
                known.remove()
    finally:
        log.setLevel(level)


def _user_place(failure: Exception) -> str:
    """The line of the user's code that torch names in a failure; empty where it names none."""
    frames = re.findall(r'File "([^"]+)", line (\d+), in (\S+)\n\s*(.*)', str(failure))
    own = [f for f in frames if "/torch/" not in f[0] and "prism_explore/frontend" not in f[0]]
    return "{}:{} in {}: {}".format(*own[-1]) if own else ""


def _first_line(failure: Exception) -> str:
    """A failure in one line; of sizes that the code restricts, the first restriction."""
    lines = str(failure).strip().splitlines()
    text = lines[0] if lines else ""
    if text.startswith("Constraints violated") and len(lines) > 1:
        text = f"{text.partition('!')[0]}: {lines[1].strip(' -').partition('. If ')[0]}"
    return f"{type(failure).__name__}: {text}" if lines else repr(failure)


def _device(module: Any) -> Any:
    tensors = [*module.parameters(), *module.buffers()]
    return tensors[0].device if tensors else "cpu"
