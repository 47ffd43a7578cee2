"""Writer of Mirage's saved graphs: sGraphs to JSON.

Only constant sizes can be written: a graph with symbols needs `sizes`. Several nodes here can be one operator of Mirage
(see `builder.py`); a node without a counterpart is an error that names it. A graph that came from such a file is the
same when it is read back. In other graphs some nodes change: a mean becomes a sum and a factor.

Mirage does not save `scalar` of mul_scalar, nor `min_val` and `max_val` of clamp; they are written here. Mirage
requires both operands of an operator on the same side of an accumulator, which is not checked here.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias

from prism_explore.errors import PrismError, ShapeError, UnsupportedOperator
from prism_explore.frontend.mirage.names import ACCUMULATORS, BINARIES, CODE_OF, REDTOX, RESCALED, UNARIES
from prism_explore.ir.dims import DimLike
from prism_explore.ir.graph import SGraph, block_types, consumers, phases
from prism_explore.ir.ops import (
    Accumulate,
    AccumulateRescaled,
    Binary,
    BlockGraph,
    Concat,
    Custom,
    Input,
    Load,
    MatMul,
    Node,
    Permute,
    Reduce,
    Reshape,
    Result,
    RunningMax,
    Scalar,
    Slice,
    Store,
    Unary,
    op_name,
)
from prism_explore.ir.tensors import TensorType
from prism_explore.support.whole_files import write_whole

Json: TypeAlias = dict[str, Any]

_MOST_DIMS = 4
_NO_MAP: Json = {"x": -1, "y": -1, "z": -1}
_BLOCK_DIM: Json = {"x": 128, "y": 1, "z": 1}
_DIMX = 64
"""The value that Mirage writes for a block graph without a reduction to a fixed size."""
_UNARY_NAMES = {fn: name for name, fn in UNARIES.items()}
_BINARY_NAMES = {fn: name for name, fn in BINARIES.items()}
_ACCUMULATOR_NAMES = {key: name for name, key in ACCUMULATORS.items()}
_RESCALED_NAMES = {reduces: name for name, reduces in RESCALED.items()}


def save_mirage(
    graphs: SGraph | Iterable[SGraph], path: str | Path, *, sizes: Mapping[str, DimLike] | None = None
) -> Path:
    r"""Write graphs as a JSON list that Mirage and `load_mirage` read; gzipped if the file name ends in .gz.

    Args:
        graphs: one graph, or several.
        path: the file; an existing one is replaced.
        sizes: per symbol of the graphs, its size.

    Returns:
        The path of the file.

    Raises:
        UnsupportedOperator: Mirage has no such operator; the message names graph and node.
        ShapeError: a symbol has no size, a map is open, or there are more than 3 grid dims or more than 4 dims.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from prism_explore.ir.text import parse
        >>> graph = parse("sgraph\n  x = input f32[b, 16]\n  %1 = exp(x)\n  return %1")
        >>> with TemporaryDirectory() as folder:
        ...     print(save_mirage(graph, f"{folder}/exp.json", sizes={"b": 8}).name)
        exp.json
    """
    several = (graphs,) if isinstance(graphs, SGraph) else tuple(graphs)
    guids = _Guids()
    out: list[list[Json]] = []
    for number, graph in enumerate(several):
        try:
            out.append(_kernel_graph(graph.substitute(sizes or {}), guids))
        except PrismError as error:
            raise type(error)(f"graph {number}: {error}") from error
    text = json.dumps(out, separators=(",", ":")).encode()
    file = Path(path)
    write_whole(file, gzip.compress(text, mtime=0) if file.suffix == ".gz" else text, durable=True)
    return file


@dataclass(slots=True)
class _Guids:
    """Counters of guids; Mirage has separate ones for device and for shared memory."""

    device: int = 10_000_000
    shared: int = 20_000_000

    def next(self, shared: bool) -> int:
        if shared:
            self.shared += 1
            return self.shared
        self.device += 1
        return self.device


@dataclass(slots=True)
class _Level:
    """The operators written so far of a kernel graph or block graph."""

    prefix: str
    nodes: tuple[Node, ...]
    types: tuple[TensorType, ...]
    guids: _Guids
    after_loop: tuple[bool, ...] = ()
    """Per tensor of a block graph, whether it exists only after the loop."""
    operators: list[Json] = field(default_factory=list[Json])
    tensors: dict[int, Json] = field(default_factory=dict[int, Json])
    """Per node position, the tensor as JSON."""
    inside: dict[int, int] = field(default_factory=dict[int, int])
    """Per node that is part of a larger operator, the position of the last node of that operator."""
    declared: dict[int, int] = field(default_factory=dict[int, int])
    """Per node, a later node whose dims are written instead: a reshape that only drops or adds dims of size 1."""
    smem_bytes: int = 0
    """Shared memory so far."""

    def where(self, position: int) -> str:
        name = "block node" if self.after_loop else "kernel node"
        return f"{name} %{position} ({op_name(self.nodes[position].op)})"

    def unsupported(self, position: int, why: str) -> UnsupportedOperator:
        return UnsupportedOperator(f"{self.where(position)}: {why}; rewrite it before saving")

    def tensor(self, t: TensorType, position: int, after_loop: bool | None = None) -> Json:
        """A new tensor as JSON."""
        sizes = [d.constant for d in t.dims]
        if len(sizes) > _MOST_DIMS:
            raise ShapeError(f"{self.where(position)}: {len(sizes)} dims; Mirage supports at most {_MOST_DIMS}")
        shared = self.prefix == "tb"
        out: Json = {
            "data_type": CODE_OF[t.dtype],
            "dim": [*(s or 0 for s in sizes), *[0] * (_MOST_DIMS - len(sizes))],
            "guid": self.guids.next(shared),
            "layout": "SmemRowMajor" if shared else "DmemRowMajor",
            "num_dims": len(sizes),
        }
        if shared:
            out |= {
                "after_accum": self.after_loop[position] if after_loop is None else after_loop,
                "smem_offset": self.smem_bytes,
            }
            self.smem_bytes += -(-(t.bytes.constant or 0) // 16) * 16
        return out

    def write(self, name: str, args: Iterable[Json], outputs: list[Json], **rest: Any) -> None:
        """Append an operator."""
        op_type = f"{self.prefix}_{name}_op"
        self.operators.append({"op_type": op_type, "input_tensors": list(args), "output_tensors": outputs, **rest})

    def emit(self, position: int, name: str, *args: int, **rest: Any) -> None:
        """Append an operator whose only output is the node at `position`."""
        declared_type = self.types[self.declared.get(position, position)]
        self.tensors[position] = self.tensor(declared_type, position)
        self.write(name, (self.tensors[a] for a in args), [self.tensors[position]], **rest)

    def step(self, position: int, name: str, arg: Json, t: TensorType, **rest: Any) -> Json:
        """Append an operator without a node of its own; return its output."""
        output = self.tensor(t, position, arg.get("after_accum"))
        self.write(name, (arg,), [output], **rest)
        return output


# ---------------------------------------------------------------- several nodes, one operator
def _fused_operators(level: _Level) -> dict[int, Callable[[], None]]:
    """Per last node of an operator that consists of several nodes, the function that writes it; marks the others."""
    readers = consumers(level.nodes)
    out: dict[int, Callable[[], None]] = {}

    def has_one_reader(position: int) -> bool:
        return len(readers[position]) == 1

    for last, node in enumerate(level.nodes):
        match node.op:
            case Binary("div"):
                x, r = node.args
                if level.nodes[r] == Node(Reduce("rms", level.types[x].rank - 1), (x,)) and has_one_reader(r):
                    level.inside[r] = last
                    out[last] = lambda last=last, x=x: level.emit(last, "rms_norm", x)
            case Scalar("min", high):
                before = level.nodes[node.args[0]]
                match before.op:
                    case Scalar("max", low) if has_one_reader(node.args[0]):
                        level.inside[node.args[0]] = last
                        bounds = {"min_val": _json_number(low), "max_val": _json_number(high)}
                        out[last] = lambda last=last, x=before.args[0], b=bounds: level.emit(last, "clamp", x, **b)
                    case _:
                        pass
            case Reshape():
                found = _reduced_to(level, last)
                (reshaped,) = node.args
                if found is not None and all(map(has_one_reader, found[2])):
                    name, x, inner = found
                    level.inside |= dict.fromkeys(inner, last)
                    out[last] = lambda last=last, name=name, x=x: level.emit(last, name, x)
                elif _same_but_for_ones(level, last, reshaped) and has_one_reader(reshaped):
                    level.declared[reshaped] = last
                    out[last] = lambda last=last, reshaped=reshaped: level.tensors.update(
                        {last: level.tensors[reshaped]}
                    )
            case Slice(along, _, stop) if stop == level.types[node.args[0]].dims[along]:
                slices = _consecutive_slices(level.nodes, last)
                if len(slices) > 1:
                    level.inside |= dict.fromkeys(slices[:-1], last)
                    out[last] = lambda slices=slices, along=along: _write_slices(level, slices, along)
            case _:
                pass
    return out


def _same_but_for_ones(level: _Level, position: int, reshaped: int) -> bool:
    """Whether a reshape only drops or adds dims of size 1 of an operator's result."""
    before, after = ([d for d in level.types[p].dims if not d.is_one] for p in (reshaped, position))
    reshapeable = isinstance(level.nodes[reshaped].op, Unary | Scalar | Binary | MatMul | Concat | Reduce | Permute)
    return reshapeable and before == after and level.types[reshaped].rank != level.types[position].rank


def _reduced_to(level: _Level, last: int) -> tuple[str, int, tuple[int, int]] | None:
    """The reduction to a fixed size that ends at a reshape: reshape, sum of the outer part, reshape."""
    summed = level.nodes[last].args[0]
    match level.nodes[summed].op:
        case Accumulate("sum", int(along)):
            name = REDTOX
        case Reduce("sum", along):
            name = f"reduction_{along}_to_dimx"
        case _:
            return None
    split = level.nodes[summed].args[0]
    if not isinstance(level.nodes[split].op, Reshape):
        return None
    x = level.nodes[split].args[0]
    full, parts, kept = level.types[x].dims, level.types[split].dims, level.types[last].dims
    if along + 1 >= len(parts) or kept != (*full[:along], parts[along + 1], *full[along + 1 :]):
        return None
    if (*full[:along], *full[along + 1 :]) != (*parts[:along], *parts[along + 2 :]):
        return None
    if name == REDTOX and along != len(full) - 1:
        return None
    return name, x, (split, summed)


def _consecutive_slices(nodes: tuple[Node, ...], last: int) -> list[int]:
    """Positions of the slices that end at `last`, are consecutive and start at 0; empty if there are none."""
    op, args = nodes[last].op, nodes[last].args
    assert isinstance(op, Slice), "the node is a slice"
    positions = [last]
    first = op
    while first.start.constant != 0:
        position = positions[0] - 1
        before = nodes[position].op if position >= 0 else None
        same = isinstance(before, Slice) and nodes[position].args == args and before.dim == op.dim
        if not same or not isinstance(before, Slice) or before.stop != first.start:
            return []
        positions.insert(0, position)
        first = before
    return positions


def _write_slices(level: _Level, positions: list[int], along: int) -> None:
    x = level.nodes[positions[0]].args[0]
    sizes = [level.types[p].dims[along] for p in positions]
    for p in positions:
        level.tensors[p] = level.tensor(level.types[p], p)
    outputs = [level.tensors[p] for p in positions]
    if len(positions) == 2:
        rest: Json = {"split_dim": along, "split_size": sizes[0].constant}
        level.write(f"split_{along}", (level.tensors[x],), outputs, **rest)
    elif len(set(sizes)) == 1:
        rest = {"chunk_dim": along, "chunk_size": len(positions)}
        level.write(f"chunk_{along}", (level.tensors[x],), outputs, **rest)
    else:
        raise level.unsupported(positions[-1], "Mirage splits into two parts, or into equal chunks")


# ---------------------------------------------------------------- one node, one operator
def _compute(level: _Level, position: int) -> None:
    """Write an operator that both levels can have."""
    node = level.nodes[position]
    args = node.args
    match node.op:
        case Unary("neg"):
            level.emit(position, "mul_scalar", *args, scalar=-1)
        case Unary(fn) if fn in _UNARY_NAMES:
            level.emit(position, _UNARY_NAMES[fn], *args)
        case Binary(fn) if fn in _BINARY_NAMES:
            level.emit(position, _BINARY_NAMES[fn], *args)
        case Scalar("mul", value):
            level.emit(position, "mul_scalar", *args, scalar=_json_number(value))
        case MatMul():
            level.emit(position, "matmul", *args)
        case Concat(along) if along < 3:
            level.emit(position, f"concat_{along}", *args, concat_dim=along)
        case Reduce(fn, along) if along < 3 and (fn != "max" or level.prefix == "tb"):
            _reduce(level, position, fn, along)
        case Permute(order) if level.prefix == "kn" and order == (1, 0, *range(2, len(order))):
            level.emit(position, "transpose_01", *args)
        case Slice():
            raise level.unsupported(position, "Mirage splits a tensor completely, and this is one slice of it")
        case op:
            raise level.unsupported(position, f"Mirage has no {op_name(op)}")


def _reduce(level: _Level, position: int, fn: str, along: int) -> None:
    x = level.tensors[level.nodes[position].args[0]]
    t = level.types[position]
    name = f"reduction_{along}"
    if fn == "sum":
        level.emit(position, name, *level.nodes[position].args)
    elif fn == "max":
        _maximum(level, position, along)
    else:
        count = level.types[level.nodes[position].args[0]].dims[along].constant or 1
        squared = x if fn == "mean" else level.step(position, "square", x, level.types[level.nodes[position].args[0]])
        total = level.step(position, name, squared, t)
        mean = level.step(position, "mul_scalar", total, t, scalar=_json_number(Fraction(1, count)))
        level.tensors[position] = mean if fn == "mean" else level.step(position, "sqrt", mean, t)


def _json_number(value: Fraction) -> int | float:
    """A constant as a JSON number: an integer, or the nearest float."""
    return int(value) if value.denominator == 1 else float(value)


# ---------------------------------------------------------------- kernel graphs
def _kernel_graph(graph: SGraph, guids: _Guids) -> list[Json]:
    if graph.is_open:
        raise ShapeError("its maps are open; save one of its candidates")
    if graph.further:
        raise ShapeError(f"it has {len(graph.outputs)} results, and a graph in a Mirage file has one here")
    symbols = (*graph.parameters, *graph.data_symbols)
    if symbols:
        raise ShapeError(f"{', '.join(symbols)} have no sizes; pass sizes={{{symbols[0]!r}: ...}}")
    level = _Level("kn", graph.nodes, graph.types(), guids)
    composed = _fused_operators(level)
    results: dict[int, list[Json]] = {}
    for position, node in enumerate(graph.nodes):
        match node.op:
            case _ if position in composed:
                composed[position]()
            case _ if position in level.inside:
                pass
            case Input(_, t):
                level.tensors[position] = level.tensor(t, position)
                maps = {"input_map": _NO_MAP, "input_strides": _strides(t)}
                level.write("input", (), [level.tensors[position]], **maps)
            case Custom(block):
                results[position] = _custom(level, position, block)
                level.tensors[position] = results[position][0]
            case Result(index):
                level.tensors[position] = results[node.args[0]][index]
            case _:
                _compute(level, position)
    maps = {"output_map": _NO_MAP, "output_strides": _strides(level.types[graph.output])}
    level.write("output", (level.tensors[graph.output],), [], **maps)
    return level.operators


def _strides(t: TensorType) -> list[int]:
    return list(t.strides_at({}))


# ---------------------------------------------------------------- block graphs
def _custom(kernel: _Level, position: int, block: BlockGraph) -> list[Json]:
    """Write a custom kernel; return its results as JSON."""
    operands = kernel.nodes[position].args
    slots = _slots(block, kernel.where(position))
    types = block_types(block, tuple(kernel.types[a] for a in operands))
    when = phases(block)
    level = _Level("tb", block.nodes, types, kernel.guids, tuple(w == "after" for w in when))
    composed = _fused_operators(level)
    results: list[Json] = []
    for number, node in enumerate(block.nodes):
        match node.op:
            case _ if number in composed:
                composed[number]()
            case _ if number in level.inside:
                pass
            case Load(operand, imap, fmap):
                level.tensors[number] = level.tensor(types[number], number)
                maps = {"input_map": _map(slots, imap or ()), "forloop_dim": -1 if fmap is None else fmap}
                dtensor = kernel.tensors[operands[operand]]
                level.write("input", (), [level.tensors[number]], dtensor=dtensor, **maps)
            case Store(omap):
                results.append(kernel.tensor(types[number], position))
                maps = {"output_map": _map(slots, omap or ())}
                level.write("output", (level.tensors[node.args[0]],), [], dtensor=results[-1], **maps)
            case Accumulate(fn, along):
                _accumulate(level, number, fn, along)
            case AccumulateRescaled(along):
                _rescaled(level, number, along)
            case RunningMax(int(along)) if along < 3:
                _maximum(level, number, along)
            case _:
                _compute(level, number)
    grid = dict.fromkeys("xyz", 1) | {slots[n]: p.size.constant for n, p in enumerate(block.grid)}
    bgraph: Json = {
        "block_dim": _BLOCK_DIM,
        "forloop_range": block.loop.size.constant if block.loop else 1,
        "graph_level": "thread_block_graph",
        "grid_dim": grid,
        "operators": level.operators,
        "reduction_dimx": _dimx(level.operators),
        "smem_offset": level.smem_bytes,
    }
    kernel.write("customized", (kernel.tensors[a] for a in operands), results, bgraph=bgraph)
    return results


def _slots(block: BlockGraph, where: str) -> tuple[str, ...]:
    """Per grid dim x, y or z: by its name if all have such names, else in order."""
    names = tuple(p.name for p in block.grid)
    if len(names) > 3:
        raise ShapeError(f"{where}: {len(names)} grid dims; Mirage supports x, y and z")
    return names if set(names) <= set("xyz") else tuple("xyz"[: len(names)])


def _map(slots: tuple[str, ...], dims: tuple[int | None, ...]) -> Json:
    return _NO_MAP | {slot: -1 if along is None else along for slot, along in zip(slots, dims, strict=True)}


def _accumulate(level: _Level, position: int, fn: str, along: int | None) -> None:
    (x,) = level.nodes[position].args
    last = level.types[x].rank - 1
    for (kind, reduces), name in _ACCUMULATOR_NAMES.items():
        if kind == fn and along == (last if reduces else None):
            level.emit(position, name, x)
            return
    if fn != "sum" or along is None or along > 2:
        raise level.unsupported(position, f"Mirage has no accumulator for {fn} over dim {along}")
    reduced = level.step(position, f"reduction_{along}", level.tensors[x], level.types[position])
    level.operators[-1]["output_tensors"] = [reduced | {"after_accum": False}]
    level.tensors[position] = level.tensor(level.types[position], position)
    level.write("forloop_accum_nored", (reduced | {"after_accum": False},), [level.tensors[position]])


def _maximum(level: _Level, position: int, along: int) -> None:
    """Write a maximum, or running maximum, with its change as second output."""
    level.tensors[position] = level.tensor(level.types[position], position)
    level.tensors[~position] = level.tensor(level.types[position], position)
    (x,) = level.nodes[position].args
    outputs = [level.tensors[position], level.tensors[~position]]
    level.write(f"reduction_{along}_max", (level.tensors[x],), outputs)


def _rescaled(level: _Level, position: int, along: int | None) -> None:
    x, scale = level.nodes[position].args
    reduces = along is not None
    if reduces and along != level.types[x].rank - 1:
        raise level.unsupported(position, f"Mirage's rescaled accumulators reduce the last dim, not dim {along}")
    if ~scale not in level.tensors:
        raise level.unsupported(position, "Mirage rescales only by the change of a running maximum")
    factor = level.step(scale, "exp", level.tensors[~scale], level.types[scale])
    level.tensors[position] = level.tensor(level.types[position], position)
    level.write(_RESCALED_NAMES[reduces], (level.tensors[x], factor), [level.tensors[position]])


def _dimx(operators: list[Json]) -> int:
    """The size that the reductions keep; Mirage has one value per block graph."""
    for op in operators:
        name = str(op["op_type"])
        if "redtox" in name:
            kept: Json = op["output_tensors"][0]
            return int(kept["dim"][kept["num_dims"] - 1])
        if name.endswith("_to_dimx_op"):
            kept = op["output_tensors"][0]
            return int(kept["dim"][int(name.split("_")[2])])
    return _DIMX
