"""Texts of an sGraph picture: sizes, shapes, operators, grid and loop ranges, and a description in sentences."""

from __future__ import annotations

from collections.abc import Mapping

from prism_explore.ir.dims import Dim
from prism_explore.ir.graph import SGraph
from prism_explore.ir.ops import (
    Accumulate,
    AccumulateRescaled,
    Band,
    Binary,
    BlockGraph,
    Concat,
    Custom,
    Expand,
    Input,
    MatMul,
    Node,
    Permute,
    Reduce,
    Reshape,
    Result,
    RunningMax,
    Scalar,
    ScalarFn,
    Scan,
    Slice,
    op_label,
)
from prism_explore.ir.tensors import TensorType
from prism_explore.widgets.drawing.text_metrics import shorten
from prism_explore.widgets.views.loop_region import has_loop, is_accumulator, loop_region

MAX_SHAPE_CHARACTERS = 40


def dim_text(size: Dim) -> str:
    """A size as it is shown: `4096/(f·gx)`."""
    return str(size).replace("*", "·")


def shape_text(t: TensorType) -> str:
    """A shape as it is shown: `b × 4096/gx`."""
    if not t.dims:
        return "scalar"
    parts = [f"({dim_text(d)})" if len(d.terms) > 1 else dim_text(d) for d in t.dims]
    return shorten(" × ".join(parts), MAX_SHAPE_CHARACTERS)


def sizes_text(t: TensorType, sizes: Mapping[str, int]) -> str:
    """A shape in numbers: `8 × 64`; empty if it has no symbols. Without values, a text as wide as they get."""
    if not any(d.symbols for d in t.dims):
        return ""
    return shorten(" × ".join(number_text(d, sizes) for d in t.dims), MAX_SHAPE_CHARACTERS)


def number_text(d: Dim, sizes: Mapping[str, int]) -> str:
    """A size in numbers; a size that is not whole has four digits: `42.67`."""
    if not sizes and d.symbols:
        return "9" * 6
    number = d.rational(sizes)
    return str(number) if number.denominator == 1 else f"{float(number):.4g}"


_SCALAR_SYMBOLS: dict[ScalarFn, str] = {"add": "+", "mul": "×", "pow": "^", "max": "at least", "min": "at most"}


def op_text(node: Node, names: Mapping[int, str]) -> str:
    """An operator as it is shown, with its operands where their order matters."""
    operands = [shorten(names.get(a, f"%{a}"), 12) for a in node.args]
    match node.op:
        case Scalar(fn, value):
            shown = str(value) if value.denominator == 1 else f"{float(value):.4g}"
            return f"{_SCALAR_SYMBOLS[fn]} {shown}"
        case Reduce(fn, along) | Scan(fn, along):
            return f"{fn.replace('_', ' ')} dim {along}"
        case Accumulate(fn, along):
            name = "accum" if fn == "sum" and along is None else f"accum {fn}"
            return name if along is None else f"{name} dim {along}"
        case AccumulateRescaled(along):
            where = "" if along is None else f" dim {along}"
            return f"accum rescaled{where} {', '.join(operands)}"
        case RunningMax(along):
            return "running max" if along is None else f"running max dim {along}"
        case Permute(order):
            return f"permute {' '.join(map(str, order))}"
        case Reshape(dims):
            return shorten(f"reshape {' × '.join(map(dim_text, dims)) or 'to a scalar'}", MAX_SHAPE_CHARACTERS)
        case Expand(along, size):
            return shorten(f"repeat dim {along}, {dim_text(size)} times", MAX_SHAPE_CHARACTERS)
        case Slice(along, start, stop):
            return shorten(f"slice dim {along}, {dim_text(start)} to {dim_text(stop)}", MAX_SHAPE_CHARACTERS)
        case Concat(along):
            return f"concat dim {along} {', '.join(operands)}"
        case Band(_, _, low, high, _):
            bounds = [dim_text(low)] if low is not None else []
            bounds += ["column − row"]
            bounds += [dim_text(high)] if high is not None else []
            return shorten(f"band {' ≤ '.join(bounds)}", MAX_SHAPE_CHARACTERS)
        case Result(index):
            return f"result {index + 1} of {operands[0]}"
        case MatMul() | Binary("sub" | "div" | "mask"):
            return f"{op_label(node.op)} {', '.join(operands)}"
        case op:
            return op_label(op)


def range_texts(block: BlockGraph) -> tuple[str, str]:
    """The grid and the loop as texts; the second is empty for a block without a loop."""
    sizes = ", ".join(f"{p.name} = {dim_text(p.size)}" for p in block.grid)
    grid = f"grid {sizes or ('?' if block.is_open else '1')}"
    if block.loop:
        return grid, f"for {block.loop.name} in {dim_text(block.loop.size)}"
    return grid, "for-loop ?" if has_loop(block) else ""


def describe(graph: SGraph) -> str:
    """The graph in sentences, as the text alternative of the picture."""
    sentences = ["Inputs: " + ", ".join(f"{i.name} {shape_text(i.type)}" for i in graph.inputs) + "."]
    for position, block in graph.customs:
        grid, loop = range_texts(block)
        inside = loop_region(block)
        accums = sum(map(is_accumulator, block.nodes))
        sentences.append(
            f"Custom kernel %{position}: {grid}, {loop or 'no loop'}; {len(block.nodes)} operators, "
            f"{len(inside)} in the loop, {accums} accumulators" + ("; maps are unbound." if block.is_open else ".")
        )
    others = [op_label(n.op) for n in graph.nodes if not isinstance(n.op, Input | Custom | Result)]
    if others:
        sentences.append(f"Kernel-level operators: {', '.join(others)}.")
    for n, t in zip(graph.outputs, graph.output_types, strict=True):
        sentences.append(f"Result: %{n}, {shape_text(t)}.")
    return " ".join(sentences)
