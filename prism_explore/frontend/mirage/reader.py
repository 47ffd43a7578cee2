"""Reader of Mirage's saved graphs: JSON to sGraphs.

A file is a list of kernel graphs. A graph is a list of operators in order; operators refer to tensors by `guid`, and a
custom kernel contains a block graph. Older formats are read too: without an output operator (the tensor that no
operator reads is the result), with the accumulation in the output operator of the block graph, or with the list inside
a search checkpoint.

Two operators are translated to several nodes. `redtox` keeps dimx entries, where entry k is the sum of x[j*dimx + k]
over j: a reshape to [.., n/dimx, dimx], an accumulator over the first of the two dims, a reshape back. `reduction_max`
in a loop is a running maximum, and rescaled accumulators scale their total by exp(its change); both together are the
rescaled accumulator of this package.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import cast

from prism_explore.errors import PrismError, ShapeError
from prism_explore.frontend.mirage.builder import LevelBuilder, Operator, declared_dims, unsupported
from prism_explore.frontend.mirage.generalize import generalize
from prism_explore.frontend.mirage.json_cursor import Cursor, read_json, walk
from prism_explore.frontend.mirage.names import ACCUMULATORS, REDTOX, RESCALED, dtype_codes, operator_name
from prism_explore.ir.dims import Dim, dim
from prism_explore.ir.graph import SGraph
from prism_explore.ir.ops import (
    Accumulate,
    AccumulateRescaled,
    BlockGraph,
    Custom,
    Input,
    Load,
    ParallelDim,
    Result,
    RunningMax,
    Store,
    without_dim,
)
from prism_explore.ir.tensors import DType, TensorType

_MOST_DIMS = 8


@dataclass(frozen=True, slots=True)
class MirageGraph:
    """One graph of a file."""

    file: str
    index: int
    """Its position in the list of the file."""
    sgraph: SGraph
    """The graph, with the grid sizes and loop ranges of the file as constants."""

    @property
    def name(self) -> str:
        """Such as `gqa_bs8[3]`."""
        return f"{self.file.partition('.')[0]}[{self.index}]"


@dataclass(frozen=True, slots=True)
class Skipped:
    """A graph that could not be read, and the reason."""

    index: int
    reason: str


@dataclass(frozen=True, slots=True)
class MirageFile:
    """The content of a file: its graphs, and those that could not be read."""

    file: str
    graphs: tuple[MirageGraph, ...]
    skipped: tuple[Skipped, ...] = ()


def load_mirage(
    path: str | Path,
    *,
    general: bool = False,
    skip: bool = False,
    constants: Mapping[str, float | str] | None = None,
    dtype: DType | None = None,
) -> tuple[SGraph, ...]:
    r"""Read the graphs of a file that Mirage saved; nothing in the file is executed.

    Args:
        path: a JSON file, gzipped or not.
        general: whether grid sizes and loop ranges become symbols as far as the graph still type-checks; see
            `generalize`. Otherwise they are the constants of the file.
        skip: whether a graph that cannot be read is left out with a warning, instead of an error. `read_mirage`
            returns the reasons as data.
        constants: values of `scalar`, `min_val` and `max_val` for files that do not have them.
        dtype: the dtype of all tensors instead of that in the file, for example f32 to compile for a CPU.

    Returns:
        The graphs in the order of the file.

    Raises:
        ParseError: the file is damaged or not of this format; the message names the place and what was expected.
        UnsupportedOperator: an operator is not supported here.
        ShapeError: dims do not fit together.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from prism_explore.frontend.mirage.writer import save_mirage
        >>> from prism_explore.ir.text import parse
        >>> graph = parse("sgraph\n  x = input f32[8, 16]\n  %1 = exp(x)\n  return %1")
        >>> with TemporaryDirectory() as folder:
        ...     (loaded,) = load_mirage(save_mirage(graph, f"{folder}/exp.json"))
        >>> str(loaded.output_type)
        'f32[8, 16]'
    """
    content = read_mirage(path, skip=skip, constants=constants, dtype=dtype)
    for skipped in content.skipped:
        warnings.warn(f"{content.file}: graph {skipped.index} is left out: {skipped.reason}", stacklevel=2)
    graphs = (g.sgraph for g in content.graphs)
    return tuple(generalize(g).sgraph for g in graphs) if general else tuple(graphs)


def read_mirage(
    path: str | Path,
    *,
    skip: bool = False,
    constants: Mapping[str, float | str] | None = None,
    dtype: DType | None = None,
) -> MirageFile:
    """Like `load_mirage`, with the position of each graph, and the reasons of those that could not be read.

    Args:
        path: a JSON file, gzipped or not.
        skip: as for `load_mirage`; the result has the reasons.
        constants: as for `load_mirage`.
        dtype: as for `load_mirage`.

    Returns:
        The graphs with their positions, and the graphs that could not be read.

    Raises:
        ParseError: as `load_mirage`.
        UnsupportedOperator: as `load_mirage`.
        ShapeError: as `load_mirage`.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "bad.json")
        ...     _ = path.write_text('[[{"op_type": "kn_conv2d_op", "input_tensors": [], "output_tensors": []}]]')
        ...     [(skipped.index, "conv2d" in skipped.reason) for skipped in read_mirage(path, skip=True).skipped]
        [(0, True)]
    """
    root = read_json(path)
    found = tuple(walk(root))
    codes = dtype_codes(
        (v for k, v in found if k == "data_type" and isinstance(v, int)),
        (v for k, v in found if k == "op_type" and isinstance(v, str)),
    )
    if dtype is not None:
        codes = cast("Mapping[int, DType]", dict.fromkeys(codes, dtype))
    values = {name: Fraction(str(value)) for name, value in (constants or {}).items()}
    graphs: list[MirageGraph] = []
    skipped: list[Skipped] = []
    for index, source in enumerate(_graphs(root)):
        try:
            sgraph = _kernel_graph(source.with_location(f"{root.where}, graph {index}"), codes, values)
        except PrismError as error:
            if not skip:
                raise
            skipped.append(Skipped(index, str(error)))
        else:
            graphs.append(MirageGraph(root.where, index, sgraph))
    return MirageFile(root.where, tuple(graphs), tuple(skipped))


def _graphs(root: Cursor) -> tuple[Cursor, ...]:
    """The list of graphs: the file itself, the list in a checkpoint, or a single graph."""
    if root.has("generated_graphs"):
        return root.at("generated_graphs").items()
    if isinstance(root.value, dict):
        raise root.fail("an object without that key", "a list of graphs, or a checkpoint with 'generated_graphs'")
    items = root.items()
    return (root,) if items and items[0].has("op_type") else items


def _operators(source: Cursor) -> tuple[tuple[str, Cursor], ...]:
    """Name and position of each operator."""
    out: list[tuple[str, Cursor]] = []
    for number, item in enumerate(source.items()):
        op_type = item.with_location(f"{source.where}, operator {number}").at("op_type").text()
        out.append((operator_name(op_type), item.with_location(f"{source.where}, operator {number} ({op_type})")))
    return tuple(out)


# ---------------------------------------------------------------- kernel graphs
def _kernel_graph(source: Cursor, codes: Mapping[int, DType], constants: Mapping[str, Fraction]) -> SGraph:
    level = LevelBuilder(codes, constants)
    outputs: list[int] = []
    inputs = 0
    for name, op in _operators(source):
        declared = op.at("output_tensors").items()
        args = tuple(level.find(t) for t in op.at("input_tensors").items())
        match name:
            case "input":
                if len(declared) != 1:
                    raise op.fail(f"{len(declared)} output tensors", "1")
                dims = declared_dims(declared[0])
                t = TensorType(dims, level.dtype(declared[0]), _order(op, dims))
                level.bind(declared[0], level.append(Input(f"x{inputs}", t), (), dims))
                inputs += 1
            case "output":
                outputs.extend(args)
            case "customized":
                _custom(level, op, args, declared, codes, constants)
            case _:
                level.compute(Operator(name, args, declared, op))
    if not outputs:
        read = {a for node in level.nodes for a in node.args}
        outputs = [n for n in range(inputs, len(level.nodes)) if n not in read]
    if len(outputs) != 1:
        raise source.fail(f"{len(outputs)} results", "one; save one graph per result")
    graph = SGraph(tuple(level.nodes), outputs[0])
    graph.types()
    return graph


def _order(op: Cursor, dims: tuple[Dim, ...]) -> tuple[int, ...]:
    """Dims from the slowest to the fastest, by the strides; row-major without strides."""
    if not op.has("input_strides"):
        return ()
    strides = tuple(s.integer(0) for s in op.at("input_strides").items())
    if len(strides) != len(dims):
        raise op.fail(f"{len(strides)} strides", f"{len(dims)}, one per dim")
    wide = [d for d, size in enumerate(dims) if not size.is_one]
    by_stride = iter(sorted(wide, key=lambda d: -strides[d]))
    return tuple(d if dims[d].is_one else next(by_stride) for d in range(len(dims)))


# ---------------------------------------------------------------- block graphs
@dataclass(frozen=True, slots=True)
class _Maps:
    """The grid dims larger than 1, and the loop."""

    names: tuple[str, ...]
    grid: tuple[ParallelDim, ...]
    loop: ParallelDim | None

    def read(self, source: Cursor, rank: int) -> tuple[int | None, ...]:
        """Read an input or output map: per grid dim the dim that it partitions."""
        return tuple(_along(source.at(name), rank) for name in self.names)


def _along(source: Cursor, rank: int) -> int | None:
    along = source.integer(-1, _MOST_DIMS)
    if along >= rank:
        raise source.fail(f"dim {along} of a tensor with {rank} dims", f"-1 to {rank - 1}")
    return None if along < 0 else along


def _custom(
    kernel: LevelBuilder,
    op: Cursor,
    args: tuple[int, ...],
    declared: tuple[Cursor, ...],
    codes: Mapping[int, DType],
    constants: Mapping[str, Fraction],
) -> None:
    bgraph = op.at("bgraph").with_location(op.where)
    operators = _operators(bgraph.at("operators").with_location(f"{op.where}, bgraph"))
    sizes = {name: bgraph.at("grid_dim").at(name).integer(1) for name in "xyz"}
    names = tuple(name for name in "xyz" if sizes[name] > 1)
    grid = tuple(ParallelDim(name, dim(sizes[name])) for name in names)
    iterations = bgraph.at("forloop_range").integer(1)
    looped = any(name == "input" and source.at("forloop_dim").integer(-1) >= 0 for name, source in operators)
    maps = _Maps(names, grid, ParallelDim("i", dim(iterations)) if iterations > 1 or looped else None)
    results = tuple(t.at("guid").integer(-(1 << 63), 1 << 64) for t in declared)
    block = _Block(LevelBuilder(codes, constants), maps, kernel, args)
    stored: dict[int, tuple[int, Store, tuple[Dim, ...]]] = {}
    loads = 0
    for name, source in operators:
        match name:
            case "input":
                block.load(source, loads)
                loads += 1
            case "output":
                guid = source.at("dtensor").at("guid").integer(-(1 << 63), 1 << 64)
                if guid not in results or guid in stored:
                    raise source.fail(f"an output to guid {guid}", "each output tensor of the kernel once")
                stored[guid] = block.store(source)
            case _:
                block.operator(name, source)
    if set(stored) != set(results) or not results:
        raise op.fail(f"outputs to {len(stored)} tensors", f"each of the kernel's {len(results)} output tensors once")
    level = block.level
    for guid in results:
        value, store, dims = stored[guid]
        level.append(store, (value,), dims)
    try:
        custom = Custom(BlockGraph(grid, maps.loop, tuple(level.nodes)))
        position = kernel.append(custom, args, stored[results[0]][2])
        SGraph(tuple(kernel.nodes), position).types()
    except ShapeError as error:
        raise ShapeError(f"{op.where}: {error}; Mirage's search does not generate such graphs") from error
    for number, tensor in enumerate(declared):
        dims = stored[results[number]][2]
        kernel.bind(tensor, kernel.append(Result(number), (position,), dims) if number else position)


class _Block:
    """Reads the operators of a block graph."""

    def __init__(self, level: LevelBuilder, maps: _Maps, kernel: LevelBuilder, args: tuple[int, ...]) -> None:
        self.level = level
        self._maps = maps
        self._kernel = kernel
        self._args = args
        self._change: dict[int, int] = {}
        """Per guid of the change of a running maximum, or of the exp of that, the position of the maximum."""
        self._factors: set[int] = set()

    def load(self, op: Cursor, number: int) -> None:
        """Read `tb_input_op`: the tile of an operand."""
        source = self._kernel.find(op.at("dtensor"))
        if source not in self._args:
            raise op.fail("a tensor that is no input of the kernel", "one of its input tensors")
        same_place = number < len(self._args) and self._args[number] == source
        operand = number if same_place else self._args.index(source)
        dims = self._kernel.dims[source]
        imap = self._maps.read(op.at("input_map"), len(dims))
        fmap = _along(op.at("forloop_dim"), len(dims))
        tile = list(dims)
        for p, along in zip(self._maps.grid, imap, strict=True):
            if along is not None:
                tile[along] = _tile_size(op, tile[along], p.size, along)
        if fmap is not None and self._maps.loop is not None:
            tile[fmap] = _tile_size(op, tile[fmap], self._maps.loop.size, fmap)
        (declared,) = _one(op)
        self.level.bind(declared, self.level.append(Load(operand, imap, fmap), (), tuple(tile)))

    def store(self, op: Cursor) -> tuple[int, Store, tuple[Dim, ...]]:
        """Read `tb_output_op`: the stored value, the store, the dims of the result. Old files accumulate here."""
        inputs = op.at("input_tensors").items()
        if len(inputs) != 1:
            raise op.fail(f"{len(inputs)} input tensors", "1")
        value = self.level.find(inputs[0])
        if self._maps.loop is not None and op.has("forloop_dim") and op.at("forloop_dim").integer(-1) >= 0:
            raise unsupported(op, "output in every iteration", 1)
        if op.at("output_tensors").items() and not self.level.after_loop[value]:
            value = self.level.append(Accumulate("sum"), (value,), self.level.dims[value], after_loop=True)
        dims = list(self.level.dims[value])
        omap = self._maps.read(op.at("output_map"), len(dims))
        for p, along in zip(self._maps.grid, omap, strict=True):
            if along is not None:
                dims[along] = dims[along] * p.size
        return value, Store(omap), tuple(dims)

    def operator(self, name: str, op: Cursor) -> None:
        """Read an operator between the loads and the stores."""
        inputs, declared = op.at("input_tensors").items(), op.at("output_tensors").items()
        level = self.level
        if any(self._guid(t) in self._change for t in inputs):
            self._rescaled(name, op, inputs)
            return
        args = tuple(level.find(t) for t in inputs)
        if name in ACCUMULATORS:
            fn, reduces = ACCUMULATORS[name]
            self._accumulate(op, args, Accumulate(fn, len(level.dims[args[0]]) - 1 if reduces and args else None))
        elif name == REDTOX:
            (kept,) = _one(op)
            sizes = declared_dims(kept)
            if len(args) != 1 or len(sizes) != len(level.dims[args[0]]) or not sizes:
                raise op.fail(f"{len(args)} operands, the first with another rank than the result", "one of equal rank")
            last = len(sizes) - 1
            split = level.split_dim(args[0], last, sizes[last])
            total = self._append_accumulator(op, split, Accumulate("sum", last))
            level.bind(kept, level.merge_dims(total, last))
        elif name.startswith("reduction_") and name.endswith("_max"):
            self._maximum(op, args, int(name[len("reduction_")]), declared)
        elif name in RESCALED:
            raise unsupported(op, f"{name} by another factor than exp(the change of a running maximum)", len(args))
        else:
            level.compute(Operator(name, args, declared, op))

    def _guid(self, tensor: Cursor) -> int:
        return tensor.at("guid").integer(-(1 << 63), 1 << 64)

    def _accumulate(self, op: Cursor, args: tuple[int, ...], accumulator: Accumulate) -> None:
        if len(args) != 1:
            raise op.fail(f"{len(args)} input tensors", "1")
        (declared,) = _one(op)
        self.level.bind(declared, self._append_accumulator(op, args[0], accumulator))

    def _append_accumulator(self, op: Cursor, x: int, accumulator: Accumulate) -> int:
        if self.level.after_loop[x]:
            raise op.fail("a value from after the loop", "one from inside the loop")
        dims = without_dim(self.level.dims[x], accumulator.dim, op.where)
        return self.level.append(accumulator, (x,), dims, after_loop=True)

    def _maximum(self, op: Cursor, args: tuple[int, ...], along: int, declared: tuple[Cursor, ...]) -> None:
        """Read the maximum so far, and as second output its change."""
        if len(args) != 1 or not 1 <= len(declared) <= 2:
            raise op.fail(f"{len(args)} input and {len(declared)} output tensors", "1 and 2")
        level = self.level
        if level.after_loop[args[0]] or self._maps.loop is None:
            level.compute(Operator(f"reduction_{along}_max", args, declared[:1], op))
            found = level.find(declared[0])
        else:
            found = level.append(RunningMax(along), args, without_dim(level.dims[args[0]], along, op.where))
            level.bind(declared[0], found)
        for tensor in declared[1:]:
            self._change[self._guid(tensor)] = found

    def _rescaled(self, name: str, op: Cursor, inputs: tuple[Cursor, ...]) -> None:
        """Read an operator on the change of a maximum: exp, or an accumulator that is rescaled by that exp."""
        level = self.level
        (declared,) = _one(op)
        last = self._guid(inputs[-1])
        if name == "exp" and last not in self._factors:
            self._change[self._guid(declared)] = self._change[last]
            self._factors.add(self._guid(declared))
        elif name in RESCALED and len(inputs) == 2 and last in self._factors and self._guid(inputs[0]) != last:
            x = level.find(inputs[0])
            accumulator = AccumulateRescaled(len(level.dims[x]) - 1 if RESCALED[name] else None)
            if level.after_loop[x]:
                raise op.fail("a value from after the loop", "one from inside the loop")
            dims = without_dim(level.dims[x], accumulator.dim, op.where)
            level.bind(declared, level.append(accumulator, (x, self._change[last]), dims, after_loop=True))
        else:
            raise unsupported(op, f"{name} of a running maximum's change", len(inputs))


def _one(op: Cursor) -> tuple[Cursor]:
    declared = op.at("output_tensors").items()
    if len(declared) != 1:
        raise op.fail(f"{len(declared)} output tensors", "1")
    return (declared[0],)


def _tile_size(op: Cursor, size: Dim, parts: Dim, along: int) -> Dim:
    tile = size / parts
    if tile.constant is None:
        raise ShapeError(f"{op.where}: dim {along} of size {size} cannot be partitioned into {parts} equal parts")
    return tile
