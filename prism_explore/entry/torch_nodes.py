# pyright: basic
# Most values are objects of torch, which pyright types only in part.
"""Nodes of a torch graph: their tensors, their side effects, and what the frontend translates of them.

A node is translated alone, as a module of its own, so that what can be in a region is decided by the frontend's rows.
Nodes of equal functions, arguments and tensors are translated once.

Integers and masks that are computed of bytes, such as the numbers of few bits that a byte of a weight has, are
translated together with what reads them: their ranges follow from the bytes, and a region never reads or returns them.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import prod
from typing import Any

from prism_explore.cost.work import flops_of
from prism_explore.errors import PrismError, UnsupportedOperator
from prism_explore.frontend import Traced, trace
from prism_explore.ir.ops import (
    Band,
    Binary,
    Expand,
    Input,
    Lookup,
    MatMul,
    Permute,
    Reduce,
    Reshape,
    Scalar,
    Scan,
    Slice,
    Unary,
)
from prism_explore.ir.tabulated import FLOAT8_FORMATS
from prism_explore.ir.tensors import BYTE_INTEGERS, NAMES, WORDS, dtype_name
from prism_explore.pipeline.search_space import unpacking_nodes, why_no_single_kernel
from prism_explore.support.caches import memoize

CALLS = ("call_function", "call_method")
"""The kinds of nodes that compute something."""

FLOATS = {"float32", "bfloat16", "float16"}
"""What kernels compute; `bool` is read as a mask, integers of 8 bits as numbers, and others as positions."""
BYTES = frozenset(NAMES[dtype] for dtype in BYTE_INTEGERS)
READ = FLOATS | BYTES | {"bool", "int64", "int32"}
WHOLE = READ - FLOATS | {"int16"} | FLOAT8_FORMATS
"""What may be computed of bytes in a region that unpacks them; of 8-bit floats a region reads the bits."""


CONSTANTS = frozenset({"full", "zeros", "ones"})
"""Functions that make the same number everywhere: the region of what reads it makes it anew, and knows a mask by it."""


@dataclass(frozen=True, slots=True)
class Translation:
    """What the frontend makes of one node, or why it makes nothing of it."""

    obstacle: str = ""
    """Why it stays in torch; empty where it can be in a region."""
    flops: float = 0.0
    is_view: bool = False
    """Whether it only rearranges elements, so that it costs nothing inside a kernel."""
    operators: int = 1
    """Operators of the program that compute."""
    moves: int = 0
    """Operators of the program that rearrange."""
    products: int = 0
    reduces: bool = False
    """Whether an element of its result reads a whole dim of its input, as products and norms do."""
    is_masked: bool = False
    """Whether its result may be minus infinity, which no kernel stores: it is in the region of what reads it."""
    looks_up: bool = False
    """Whether it reads elements of a tensor at positions, and not all of it."""
    reads_unpacked: bool = False
    """Whether a region that contains it also computes the integers that it reads, of bytes."""


@dataclass(frozen=True, slots=True)
class _Description:
    """What decides how a node is translated; equal ones are translated once."""

    text: str
    module: Any
    """A module of the node alone."""
    inputs: Mapping[str, Any]
    dtype: str

    def __hash__(self) -> int:
        return hash(self.text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Description) and self.text == other.text


def translation_of(node: Any) -> Translation:
    """What the frontend makes of a node.

    Args:
        node: a call in torch's graph.
    """
    if node.op not in CALLS:
        return Translation("it is no call of a function")
    if has_side_effect(node):
        draws = draws_random_numbers(node)
        return Translation("it draws random numbers" if draws else "it writes in place or switches something")
    if is_view_of_torch(node):
        return Translation("it is a view, which torch makes without a copy")
    before = unpacked_before(node)
    if before and not (found := _translation_with(node, before)).obstacle:
        return replace(found, reads_unpacked=True)
    return _translation_with(node, ())


def is_view_of_torch(node: Any) -> bool:
    """Whether a call makes a view of memory that overlaps: torch does so without a copy, and a region reads it."""
    return (node.op, node.target) == ("call_method", "unfold") or called_name(node) == "as_strided"


def _translation_with(source: Any, before: Sequence[Any]) -> Translation:
    """What the frontend makes of a node together with calls that compute what it reads."""
    node = made_by(source)
    if node.op not in CALLS:
        return Translation("it is one of several results of something else")
    results = value_of(source)
    if not hasattr(results, "dtype"):
        several = isinstance(results, tuple | list) and all(hasattr(r, "dtype") for r in results)
        return _translation_of_several(source) if several else Translation("its result is no tensor")
    dtype, of_bytes = dtype_name(results.dtype), _reads_bytes(node, before) or _is_table_of_numbers(node)
    for given in (*node.all_input_nodes, source):
        value = value_of(given)
        if hasattr(value, "dtype"):
            if is_wrapper(value):
                return Translation(f"it has a tensor of the class {type(value).__name__}")
            kinds = WHOLE if of_bytes and dtype in WHOLE else FLOATS | {"bool"}
            if given not in before and dtype_name(value.dtype) not in (kinds if given is source else READ):
                return Translation(f"it has a tensor of {dtype_name(value.dtype)}")
            if None in sizes_of(given):
                return Translation("one of its sizes depends on data")
            if 0 in sizes_of(given):
                return Translation("it has a tensor without elements")
        elif hasattr(value, "node") and number_of(given) is None:
            return Translation("it reads a number that depends on data")
        elif not isinstance(value, int | tuple | list) and not hasattr(value, "node"):
            return Translation("it reads a value that is no tensor")
    if dtype == "bool" and not of_bytes:
        return Translation("its result is a mask, which regions read as an input")
    if _is_table_of_numbers(node):
        return Translation(operators=0, is_view=True)
    if not any(hasattr(value_of(n), "dtype") for n in node.all_input_nodes):
        is_known = called_name(node) in CONSTANTS and results.device.type == "cpu" and is_float(node)
        return Translation(operators=0, is_view=True) if is_known else Translation("it reads no tensor")
    nodes = tuple(dict.fromkeys((*before, *_made_first(source), source)))
    return _translated(_Description(_text_of(nodes), *_module_of(nodes), dtype))


def unpacked_before(node: Any) -> tuple[Any, ...]:
    """The calls that compute, of bytes, the integers and masks that a node reads; in graph order.

    They are those of which the frontend knows all integers, from the bytes on.
    """
    computed: set[Any] = set()
    left = [node]
    while left:
        read = [n for n in left.pop().all_input_nodes if n not in computed]
        new = [n for n in read if _computes_integers(n) or _is_table_of_numbers(n)]
        computed.update(new)
        left += new
    known: dict[Any, tuple[Any, ...]] = {}
    """Per call that is one of them, those before it."""
    for call in sorted(computed):
        before = _all_before(call, known)
        if _is_table_of_numbers(call):
            known[call] = ()
        elif _reads_bytes(call, before) and (
            isinstance(value_of(call), tuple | list)
            or dtype_name(value_of(call).dtype) in WORDS  # of which the frontend may know only a few bits
            or not _translation_with(call, before).obstacle
        ):
            known[call] = before
    return _all_before(node, known)


def _is_table_of_numbers(node: Any) -> bool:
    """Whether a call makes integers or a codebook of numbers, which a region makes anew."""
    name = called_name(node)
    if name not in CONSTANTS | {"tensor"} or node.all_input_nodes or value_of(node).device.type != "cpu":
        return False
    return _computes_integers(node) or (name == "tensor" and is_float(node) and elements_of(node) > 1)


def _all_before(node: Any, known: Mapping[Any, tuple[Any, ...]]) -> tuple[Any, ...]:
    return tuple(sorted({n for i in node.all_input_nodes if i in known for n in (*known[i], i)}))


def _computes_integers(node: Any) -> bool:
    """Whether a call without side effects returns integers or a mask, or several of these."""
    value = value_of(node)
    values = value if isinstance(value, tuple | list) else (value,)
    kinds = [dtype_name(v.dtype) if hasattr(v, "dtype") else "" for v in values]
    return node.op in CALLS and bool(kinds) and WHOLE.issuperset(kinds) and not has_side_effect(node)


def _reads_bytes(node: Any, before: Sequence[Any]) -> bool:
    """Whether a call computes integers of nothing but bytes and what calls before computed of bytes."""
    read = [n for n in node.all_input_nodes if hasattr(value_of(n), "dtype")]
    return (
        _computes_integers(node)
        and bool(read)
        and all(n in before or dtype_name(value_of(n).dtype) in BYTES for n in read)
    )


def made_by(node: Any) -> Any:
    """The node whose call computed a tensor: that of all results where it is one of several."""
    while node.target is operator.getitem and isinstance(value_of(node.args[0]), tuple | list):
        node = node.args[0]
    return node


def _translation_of_several(node: Any) -> Translation:
    """What the frontend makes of a node with several results: that of the first, of which the user is a `getitem`."""
    firsts = [u for u in node.users if u.target is operator.getitem]
    return translation_of(firsts[0]) if firsts else Translation("its results are not taken apart")


@memoize(4096)
def _translated(description: _Description) -> Translation:
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    read = [x.dtype for x in description.inputs.values() if x.is_floating_point()]
    is_whole = description.dtype in WHOLE
    try:
        with torch.autocast("cpu", enabled=False):
            with FakeTensorMode():  # unlike meta tensors, those can move between devices
                fakes = [torch.empty_strided(x.shape, x.stride(), dtype=x.dtype) for x in description.inputs.values()]
                found = dtype_name(description.module(*fakes).dtype)
            if found != description.dtype:
                return Translation(f"its result is {description.dtype}, as under autocast, and alone it is {found}")
            traced, is_masked = _traced_alone(description, read)
    except PrismError as error:
        return Translation(reason_of(error))
    except RuntimeError as error:  # torch cannot run it on tensors without data
        return Translation(f"torch says {str(error).splitlines()[0]}")
    if is_whole and any(isinstance(n.op, MatMul | Reduce | Scan | Lookup) for n in traced.program.graph.nodes):
        return Translation("it computes integers of many others")
    if traced.constants:
        # It would be timed beside torch code that reads its own table, not the numbers drawn for it.
        return Translation("its program reads a table that its code makes")
    if reason := why_no_single_kernel(traced.program):
        return Translation(reason)
    graph, unpacking = traced.program.graph, unpacking_nodes(traced.program.graph)
    if len(set(read)) > 1 and any(isinstance(n.op, MatMul) for n in graph.nodes):
        return Translation("its operands have several dtypes, as under autocast")
    types = graph.types()
    computed = [p for p, n in enumerate(graph.nodes) if not isinstance(n.op, Input | Band)][:-1]  # without the reader
    computed = [p for p in computed if p not in unpacking]
    flops = sum(
        float(flops_of(op, tuple(types[a].dims for a in n.args), types[p].dims).rational({}))
        for p in computed
        if isinstance(op := (n := graph.nodes[p]).op, Unary | Scalar | Binary | MatMul | Reduce)
    )
    ops = [graph.nodes[p].op for p in computed]
    moving = [isinstance(op, Permute | Reshape | Expand | Slice) for op in ops]
    return Translation(
        flops=flops,
        is_view=all(moving),
        operators=moving.count(False),
        moves=moving.count(True),
        products=sum(isinstance(op, MatMul) for op in ops),
        reduces=any(isinstance(op, MatMul | Reduce) for op in ops),
        is_masked=is_masked,
        looks_up=any(isinstance(op, Lookup) for op in ops),
    )


def reason_of(error: PrismError) -> str:
    """What an error says, without its advice: torch runs what is refused, and a node has no line of the user's code."""
    return str(error).splitlines()[0].split("; used at ")[0]


def _traced_alone(description: _Description, read: Sequence[Any]) -> tuple[Traced, bool]:
    """The program of a node and of an operator that reads it, and whether only an exponential may read it."""
    import torch

    is_whole = description.dtype in WHOLE
    try:
        return trace(_as_read(description.module, read, operator.neg, is_whole), description.inputs), False
    except UnsupportedOperator as refused:
        if is_whole:
            raise
        try:
            return trace(_as_read(description.module, read, torch.exp), description.inputs), True
        except PrismError:
            raise refused from None


def _as_read(module: Any, dtypes: Sequence[Any], reader: Callable[[Any], Any], is_whole: bool = False) -> Any:
    """The module, its result read by an operator, in the dtype of what it reads; integers are read as float32.

    The operator makes a program also of a node that computes nothing, and with the cast a cast has a program: inside a
    region it is none, and what the region returns is checked for the whole region.
    """
    import torch

    widest = torch.float32 if len(set(dtypes)) != 1 else dtypes[0]
    graph = torch.fx.Graph()
    made = graph.graph_copy(module.graph, {})
    result = graph.call_function(reader, (graph.call_method("to", (made, widest)) if is_whole else made,))
    graph.output(graph.call_method("to", (result, widest)))
    return torch.fx.GraphModule(torch.nn.Module(), graph)


def _made_first(node: Any) -> tuple[Any, ...]:
    """The calls whose several results a node takes apart."""
    chain = [node]
    while isinstance(value_of(chain[0].args[0]) if chain[0].args and hasattr(chain[0].args[0], "op") else None, tuple):
        chain.insert(0, chain[0].args[0])
    return tuple(chain[:-1])


def _module_of(nodes: Sequence[Any]) -> tuple[Any, dict[str, Any]]:
    """A module of some nodes, which returns what the last one computes; and its inputs."""
    import torch

    graph = torch.fx.Graph()
    made: dict[Any, Any] = {}
    inputs: dict[str, Any] = {}
    for inner in nodes:
        for n in inner.all_input_nodes:
            if n not in nodes and n not in made and hasattr(value_of(n), "dtype"):
                name = f"x{len(inputs)}"
                inputs[name] = meta_tensor(n)
                made[n] = graph.placeholder(name)
    for inner in nodes:
        made[inner] = graph.node_copy(inner, lambda n: made[n] if n in made else number_of(n))
        made[inner].meta.clear()  # what is kept of a node must not keep torch's graph
    graph.output(made[nodes[-1]])
    return torch.fx.GraphModule(torch.nn.Module(), graph), inputs


def _text_of(nodes: Sequence[Any]) -> str:
    """Some nodes, the last of which returns; what they read is numbered where there are several."""
    if len(nodes) == 1:
        return node_text(nodes[0])
    numbers: dict[Any, str] = {}
    lines: list[str] = []
    for node in nodes:
        read = [numbers.setdefault(n, f"%{len(numbers)}") for n in node.all_input_nodes]
        lines.append(f"{numbers.setdefault(node, f'%{len(numbers)}')} = {node_text(node)} {read}")
    return "\n".join(lines)


def node_text(node: Any) -> str:
    """A node's function and arguments, its tensors by dtype, sizes and strides."""

    def text(n: Any) -> str:
        value = value_of(n)
        if isinstance(value, tuple | list):
            return f"({node_text(n)})"
        return tensor_text(n) if hasattr(value, "dtype") else repr(number_of(n))

    from torch.fx.node import map_arg

    args = map_arg((node.args, dict(node.kwargs)), lambda n: _Shown(text(n)))
    target = node.target if node.op == "call_method" else _path(node.target)
    return f"{target}{args} -> {tensor_text(node) if hasattr(value_of(node), 'dtype') else ''}"


def graph_text(graph: Any) -> str:
    """A graph with its nodes numbered; graphs with equal texts compute the same of tensors of the same kind."""
    numbers = {n: f"%{k}" for k, n in enumerate(graph.nodes)}
    return "\n".join(f"{numbers[n]} = {node_text(n)} {[numbers[a] for a in n.all_input_nodes]}" for n in graph.nodes)


class _Shown(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _path(target: Any) -> str:
    return f"{getattr(target, '__module__', '')}.{getattr(target, '__qualname__', target)}"


def tensor_text(node: Any) -> str:
    """Dtype, sizes and strides of a tensor."""
    return f"{dtype_name(value_of(node).dtype)}{list(sizes_of(node))}{strides_of(node)}"


def called_name(node: Any) -> str:
    """The name of the function or method that a node calls; empty for other nodes."""
    if node.op not in CALLS:
        return ""
    if node.op == "call_method":
        return node.target
    name = getattr(node.target, "__name__", str(node.target))
    return name.partition(".")[0] if getattr(node.target, "namespace", "") == "aten" else name  # without the overload


def call_again(node: Any, args: Any, kwargs: Any) -> Any:
    """What the function or method that a node calls returns for other arguments.

    Args:
        node: a call of a function or method.
        args: for its arguments by position; a method is that of the first one's type.
        kwargs: for those by name.
    """
    call = node.target if node.op == "call_function" else getattr(type(args[0]), node.target)
    return call(*args, **kwargs)


def example_of(node: Any) -> Any:
    """What a call computes of the example values that it reads."""
    from torch.fx.node import map_arg

    args, kwargs = map_arg((node.args, node.kwargs), value_of)
    return call_again(node, args, kwargs)


def function_name(node: Any) -> str:
    """Name of the called function; empty where the node returns no floating-point tensor."""
    return called_name(node) if is_float(node) else ""


def has_side_effect(node: Any) -> bool:
    """Whether a node has a side effect: autocast, a change of the gradient mode, a write in place."""
    if node.op not in CALLS:
        return False
    if getattr(getattr(node.target, "_schema", None), "is_mutable", False):
        return True
    name = called_name(node)
    is_named_so = name.endswith("_") and not name.endswith("__") and node.target not in (operator.and_, operator.or_)
    in_place = is_named_so or name.strip("_") in _IN_PLACE
    in_place = in_place or argument_of(node, "inplace") or node.kwargs.get("out") is not None
    return bool(in_place or _writes_statistics(node) or node.is_impure())


def _writes_statistics(node: Any) -> bool:
    """Whether a norm updates its running mean, or a lookup the rows of its table that are too long."""
    match called_name(node):
        case "batch_norm":
            return bool(argument_of(node, "training")) and argument_of(node, "running_mean") is not None
        case "instance_norm":
            is_own = argument_of(node, "use_input_stats") is not False
            return is_own and argument_of(node, "running_mean") is not None
        case "embedding" | "embedding_bag":
            return argument_of(node, "max_norm") is not None
        case _:
            return False


def argument_of(node: Any, name: str) -> Any:
    """What a call gives for a parameter, by name or by position; None where it gives nothing.

    Args:
        node: a call of a function that is written in Python, such as those of `torch.nn.functional`.
        name: of the parameter.
    """
    names = () if isinstance(node.target, str) else parameter_names(node.target)
    position = names.index(name) if name in names else len(node.args)
    return node.kwargs[name] if name in node.kwargs else (*node.args, *[None] * (position + 1))[position]


@cache
def parameter_names(function: Any) -> tuple[str, ...]:
    """The names of a function's positional parameters; none where it is not written in Python."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return () if code is None else code.co_varnames[: code.co_argcount]


def draws_random_numbers(node: Any) -> bool:
    """Whether two calls of a node may differ."""
    name = called_name(node).rstrip("_")
    if "dropout" in name or name == "rrelu":
        training = node.args[2] if len(node.args) > 2 else node.kwargs.get("training", node.kwargs.get("train"))
        return training is not False
    if name == "scaled_dot_product_attention":
        return (node.args[4] if len(node.args) > 4 else node.kwargs.get("dropout_p", 0.0)) != 0.0
    return name.startswith("rand") or name in _RANDOM


_RANDOM = {"bernoulli", "multinomial", "normal", "poisson", "uniform", "exponential", "gumbel_softmax", "empty"}

_IN_PLACE = {
    *("setitem", "delitem", "iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "imatmul"),
    *("iand", "ior", "ixor", "ilshift", "irshift"),
}
"""Python's operators that write into their first operand; as methods their names have underscores around them."""


def value_of(node: Any) -> Any:
    """The fake tensor, or the number, that torch computed for a node."""
    return node.meta.get("example_value")


def is_wrapper(value: Any) -> bool:
    """Whether a tensor is of a class that has other tensors in the place of its memory."""
    from torch.utils._python_dispatch import is_traceable_wrapper_subclass

    return is_traceable_wrapper_subclass(value)


def is_float(node: Any) -> bool:
    """Whether a node is a floating-point tensor."""
    return bool(getattr(value_of(node), "is_floating_point", bool)())


def number_of(node: Any) -> Any:
    """A number in the call at which torch compiles."""
    value = value_of(node)
    return value.node.hint if hasattr(value, "node") else value


def sizes_of(node: Any) -> tuple[Any, ...]:
    """A tensor's sizes in the call at which torch compiles; None for a data-dependent size."""
    return tuple(n if isinstance(n, int) else n.node.hint for n in value_of(node).shape)


def strides_of(node: Any) -> tuple[int, ...]:
    """A tensor's strides in the call at which torch compiles, in elements."""
    return tuple(s if isinstance(s, int) else s.node.hint for s in value_of(node).stride())


def elements_of(node: Any) -> int:
    """The number of elements of a tensor; 0 for anything else."""
    return prod(n or 0 for n in sizes_of(node)) if hasattr(value_of(node), "shape") else 0


def bytes_of(node: Any) -> int:
    """The size of a tensor; an expanded dim counts once."""
    if not hasattr(value_of(node), "shape"):
        return 0
    dims = [n or 0 for n, s in zip(sizes_of(node), strides_of(node), strict=True) if s or n == 1]
    return prod(dims) * value_of(node).element_size()


def meta_tensor(node: Any) -> Any:
    """A tensor of a node's sizes, strides and dtype, without data."""
    import torch

    return torch.empty_strided(sizes_of(node), strides_of(node), dtype=value_of(node).dtype, device="meta")
