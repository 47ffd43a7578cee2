"""From sGraphs to the JSON that Mirage saves.

Only numbers can be written: give `sizes` for a graph that has symbols. Several of our nodes may be one
operator there (see `importing`); what has none is refused, by name. Reading back what was written gives
the same sGraph where it came from such a file; in other graphs a mean, say, comes back as the sum and the
factor that stand for it there.

Mirage itself saves neither `scalar` of mul_scalar nor `min_val` and `max_val` of clamp; they are written
here. It wants both operands of an operator on the same side of an accumulator, which is not asked here.
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

Json: TypeAlias = dict[str, Any]

_MOST_DIMS = 4
_NO_MAP: Json = {"x": -1, "y": -1, "z": -1}
_BLOCK_DIM: Json = {"x": 128, "y": 1, "z": 1}
_DIMX = 64
"""What Mirage writes where nothing is reduced to a given size."""
_UNARY_WORD = {fn: word for word, fn in UNARIES.items()}
_BINARY_WORD = {fn: word for word, fn in BINARIES.items()}
_ACCUMULATOR_WORD = {key: word for word, key in ACCUMULATORS.items()}
_RESCALED_WORD = {reduces: word for word, reduces in RESCALED.items()}


def save_mirage(
    graphs: SGraph | Iterable[SGraph], path: str | Path, *, sizes: Mapping[str, DimLike] | None = None
) -> Path:
    """Write graphs as a JSON list that Mirage and `load_mirage` read; gzipped where the name ends in .gz.

    Args:
        graphs: one, or several.
        path: where to; an existing file is replaced.
        sizes: numbers for the graphs' symbols.

    Raises:
        UnsupportedOperator: a node has no counterpart there; the message names graph and node.
        ShapeError: a symbol has no number, maps are open, more than 3 grid dims, more than 4 dims.
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
    file.write_bytes(gzip.compress(text, mtime=0) if file.suffix == ".gz" else text)
    return file


@dataclass(slots=True)
class _Guids:
    """Mirage numbers tensors of device and of shared memory apart."""

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
    """The operators of a kernel graph or block graph, as they are written."""

    prefix: str
    nodes: tuple[Node, ...]
    types: tuple[TensorType, ...]
    guids: _Guids
    behind: tuple[bool, ...] = ()
    """Of a block graph: which tensors exist behind the loop only."""
    operators: list[Json] = field(default_factory=list[Json])
    tensors: dict[int, Json] = field(default_factory=dict[int, Json])
    """By position."""
    inside: dict[int, int] = field(default_factory=dict[int, int])
    """Nodes that are part of an operator, and the position of the last of them."""
    declared: dict[int, int] = field(default_factory=dict[int, int])
    """Nodes whose tensor is written with the dims of a later one, which only drops or adds dims of size 1."""
    used: int = 0
    """Bytes of shared memory so far."""

    def where(self, position: int) -> str:
        name = "block node" if self.behind else "kernel node"
        return f"{name} %{position} ({op_name(self.nodes[position].op)})"

    def refuse(self, position: int, why: str) -> UnsupportedOperator:
        return UnsupportedOperator(f"{self.where(position)}: {why}; rewrite it before saving")

    def tensor(self, t: TensorType, position: int, behind: bool | None = None) -> Json:
        """A new tensor as it is written."""
        sizes = [d.constant for d in t.dims]
        if len(sizes) > _MOST_DIMS:
            raise ShapeError(f"{self.where(position)}: {len(sizes)} dims; Mirage has {_MOST_DIMS} at most")
        shared = self.prefix == "tb"
        out: Json = {
            "data_type": CODE_OF[t.dtype],
            "dim": [*(s or 0 for s in sizes), *[0] * (_MOST_DIMS - len(sizes))],
            "guid": self.guids.next(shared),
            "layout": "SmemRowMajor" if shared else "DmemRowMajor",
            "num_dims": len(sizes),
        }
        if shared:
            out |= {"after_accum": self.behind[position] if behind is None else behind, "smem_offset": self.used}
            self.used += -(-(t.bytes.constant or 0) // 16) * 16
        return out

    def write(self, name: str, args: Iterable[Json], outputs: list[Json], **rest: Any) -> None:
        """One operator."""
        op_type = f"{self.prefix}_{name}_op"
        self.operators.append({"op_type": op_type, "input_tensors": list(args), "output_tensors": outputs, **rest})

    def emit(self, position: int, name: str, *args: int, **rest: Any) -> None:
        """An operator whose one output is the node at `position`."""
        made = self.types[self.declared.get(position, position)]
        self.tensors[position] = self.tensor(made, position)
        self.write(name, (self.tensors[a] for a in args), [self.tensors[position]], **rest)

    def step(self, position: int, name: str, arg: Json, t: TensorType, **rest: Any) -> Json:
        """An operator that has no node of its own."""
        made = self.tensor(t, position, arg.get("after_accum"))
        self.write(name, (arg,), [made], **rest)
        return made


# ---------------------------------------------------------------- several nodes, one operator
def _absorb(level: _Level) -> dict[int, Callable[[], None]]:
    """How each operator made of several nodes is written, by its last node; the others are marked inside."""
    readers = consumers(level.nodes)
    out: dict[int, Callable[[], None]] = {}

    def alone(position: int) -> bool:
        return len(readers[position]) == 1

    for last, node in enumerate(level.nodes):
        match node.op:
            case Binary("div"):
                x, r = node.args
                if level.nodes[r] == Node(Reduce("rms", level.types[x].rank - 1), (x,)) and alone(r):
                    level.inside[r] = last
                    out[last] = lambda last=last, x=x: level.emit(last, "rms_norm", x)
            case Scalar("min", high):
                before = level.nodes[node.args[0]]
                match before.op:
                    case Scalar("max", low) if alone(node.args[0]):
                        level.inside[node.args[0]] = last
                        bounds = {"min_val": _plain(low), "max_val": _plain(high)}
                        out[last] = lambda last=last, x=before.args[0], b=bounds: level.emit(last, "clamp", x, **b)
                    case _:
                        pass
            case Reshape():
                found = _reduced_to(level, last)
                (made,) = node.args
                if found is not None and all(map(alone, found[2])):
                    name, x, inner = found
                    level.inside |= dict.fromkeys(inner, last)
                    out[last] = lambda last=last, name=name, x=x: level.emit(last, name, x)
                elif _same_but_for_ones(level, last, made) and alone(made):
                    level.declared[made] = last
                    out[last] = lambda last=last, made=made: level.tensors.update({last: level.tensors[made]})
            case Slice(along, _, stop) if stop == level.types[node.args[0]].dims[along]:
                pieces = _pieces(level.nodes, last)
                if len(pieces) > 1:
                    level.inside |= dict.fromkeys(pieces[:-1], last)
                    out[last] = lambda pieces=pieces, along=along: _write_pieces(level, pieces, along)
            case _:
                pass
    return out


def _same_but_for_ones(level: _Level, position: int, made: int) -> bool:
    """Whether a reshape only drops or adds dims of size 1 of what an operator just made."""
    before, after = ([d for d in level.types[p].dims if not d.is_one] for p in (made, position))
    whole = isinstance(level.nodes[made].op, Unary | Scalar | Binary | MatMul | Concat | Reduce | Permute)
    return whole and before == after and level.types[made].rank != level.types[position].rank


def _reduced_to(level: _Level, last: int) -> tuple[str, int, tuple[int, int]] | None:
    """A reshape that ends a reduction to a given size: reshape, sum of the outer part, reshape."""
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
    whole, parts, kept = level.types[x].dims, level.types[split].dims, level.types[last].dims
    if along + 1 >= len(parts) or kept != (*whole[:along], parts[along + 1], *whole[along + 1 :]):
        return None
    if (*whole[:along], *whole[along + 1 :]) != (*parts[:along], *parts[along + 2 :]):
        return None
    if name == REDTOX and along != len(whole) - 1:
        return None
    return name, x, (split, summed)


def _pieces(nodes: tuple[Node, ...], last: int) -> list[int]:
    """Positions of the slices that, with the one at `last`, are consecutive and begin at 0; else none."""
    op, args = nodes[last].op, nodes[last].args
    assert isinstance(op, Slice), "asked of slices"
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


def _write_pieces(level: _Level, positions: list[int], along: int) -> None:
    x = level.nodes[positions[0]].args[0]
    sizes = [level.types[p].dims[along] for p in positions]
    for p in positions:
        level.tensors[p] = level.tensor(level.types[p], p)
    made = [level.tensors[p] for p in positions]
    if len(positions) == 2:
        rest: Json = {"split_dim": along, "split_size": sizes[0].constant}
        level.write(f"split_{along}", (level.tensors[x],), made, **rest)
    elif len(set(sizes)) == 1:
        rest = {"chunk_dim": along, "chunk_size": len(positions)}
        level.write(f"chunk_{along}", (level.tensors[x],), made, **rest)
    else:
        raise level.refuse(positions[-1], "Mirage splits in two, or in equal chunks")


# ---------------------------------------------------------------- one node, one operator
def _compute(level: _Level, position: int) -> None:
    """An operator that stands at both levels."""
    node = level.nodes[position]
    args = node.args
    match node.op:
        case Unary("neg"):
            level.emit(position, "mul_scalar", *args, scalar=-1)
        case Unary(fn) if fn in _UNARY_WORD:
            level.emit(position, _UNARY_WORD[fn], *args)
        case Binary(fn) if fn in _BINARY_WORD:
            level.emit(position, _BINARY_WORD[fn], *args)
        case Scalar("mul", value):
            level.emit(position, "mul_scalar", *args, scalar=_plain(value))
        case MatMul():
            level.emit(position, "matmul", *args)
        case Concat(along) if along < 3:
            level.emit(position, f"concat_{along}", *args, concat_dim=along)
        case Reduce(fn, along) if along < 3 and (fn != "max" or level.prefix == "tb"):
            _reduce(level, position, fn, along)
        case Permute(order) if level.prefix == "kn" and order == (1, 0, *range(2, len(order))):
            level.emit(position, "transpose_01", *args)
        case Slice():
            raise level.refuse(position, "Mirage splits a tensor as a whole, and this is a part of one")
        case op:
            raise level.refuse(position, f"Mirage has no {op_name(op)}")


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
        mean = level.step(position, "mul_scalar", total, t, scalar=_plain(Fraction(1, count)))
        level.tensors[position] = mean if fn == "mean" else level.step(position, "sqrt", mean, t)


def _plain(value: Fraction) -> int | float:
    """A constant as JSON writes it; the float that is nearest where it is not whole."""
    return int(value) if value.denominator == 1 else float(value)


# ---------------------------------------------------------------- kernel graphs
def _kernel_graph(graph: SGraph, guids: _Guids) -> list[Json]:
    if graph.is_open:
        raise ShapeError("its maps are still open; save one of its candidates")
    symbols = (*graph.parameters, *graph.data_symbols)
    if symbols:
        raise ShapeError(f"{', '.join(symbols)} have no numbers; say sizes={{{symbols[0]!r}: ...}}")
    level = _Level("kn", graph.nodes, graph.types(), guids)
    composed = _absorb(level)
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
    strides, step = [0] * t.rank, 1
    for d in reversed(t.storage_order):
        strides[d] = step
        step *= t.dims[d].constant or 1
    return strides


# ---------------------------------------------------------------- block graphs
def _custom(kernel: _Level, position: int, block: BlockGraph) -> list[Json]:
    """The kernel's operator, and its results as they are written."""
    operands = kernel.nodes[position].args
    slots = _slots(block, kernel.where(position))
    types = block_types(block, tuple(kernel.types[a] for a in operands))
    when = phases(block)
    level = _Level("tb", block.nodes, types, kernel.guids, tuple(w == "after" for w in when))
    composed = _absorb(level)
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
        "smem_offset": level.used,
    }
    kernel.write("customized", (kernel.tensors[a] for a in operands), results, bgraph=bgraph)
    return results


def _slots(block: BlockGraph, where: str) -> tuple[str, ...]:
    """Mirage's x, y or z for each grid dim: by name where the names are these, else in order."""
    names = tuple(p.name for p in block.grid)
    if len(names) > 3:
        raise ShapeError(f"{where}: {len(names)} grid dims; Mirage has x, y and z")
    return names if set(names) <= set("xyz") else tuple("xyz"[: len(names)])


def _map(slots: tuple[str, ...], cuts: tuple[int | None, ...]) -> Json:
    return _NO_MAP | {slot: -1 if along is None else along for slot, along in zip(slots, cuts, strict=True)}


def _accumulate(level: _Level, position: int, fn: str, along: int | None) -> None:
    (x,) = level.nodes[position].args
    last = level.types[x].rank - 1
    for (kind, reduces), name in _ACCUMULATOR_WORD.items():
        if kind == fn and along == (last if reduces else None):
            level.emit(position, name, x)
            return
    if fn != "sum" or along is None or along > 2:
        raise level.refuse(position, f"Mirage accumulates no {fn} over dim {along}")
    reduced = level.step(position, f"reduction_{along}", level.tensors[x], level.types[position])
    level.operators[-1]["output_tensors"] = [reduced | {"after_accum": False}]
    level.tensors[position] = level.tensor(level.types[position], position)
    level.write("forloop_accum_nored", (reduced | {"after_accum": False},), [level.tensors[position]])


def _maximum(level: _Level, position: int, along: int) -> None:
    """A maximum (so far) and, as second output, its change."""
    level.tensors[position] = level.tensor(level.types[position], position)
    level.tensors[~position] = level.tensor(level.types[position], position)
    (x,) = level.nodes[position].args
    made = [level.tensors[position], level.tensors[~position]]
    level.write(f"reduction_{along}_max", (level.tensors[x],), made)


def _rescaled(level: _Level, position: int, along: int | None) -> None:
    x, scale = level.nodes[position].args
    reduces = along is not None
    if reduces and along != level.types[x].rank - 1:
        raise level.refuse(position, f"Mirage's rescaled accumulators reduce the last dim, not dim {along}")
    if ~scale not in level.tensors:
        raise level.refuse(position, "Mirage rescales by the change of a running maximum and by nothing else")
    factor = level.step(scale, "exp", level.tensors[~scale], level.types[scale])
    level.tensors[position] = level.tensor(level.types[position], position)
    level.write(_RESCALED_WORD[reduces], (level.tensors[x], factor), [level.tensors[position]])


def _dimx(operators: list[Json]) -> int:
    """The size that its reductions keep; Mirage has one for a whole block graph."""
    for op in operators:
        name = str(op["op_type"])
        if "redtox" in name:
            kept: Json = op["output_tensors"][0]
            return int(kept["dim"][kept["num_dims"] - 1])
        if name.endswith("_to_dimx_op"):
            kept = op["output_tensors"][0]
            return int(kept["dim"][int(name.split("_")[2])])
    return _DIMX
