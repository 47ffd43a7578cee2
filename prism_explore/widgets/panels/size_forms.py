"""The part of the Sizes panel that depends on a graph and a machine only: sliders and closed forms."""

from __future__ import annotations

from dataclasses import dataclass, replace

from prism_explore.errors import ShapeError
from prism_explore.ir.dims import Dim
from prism_explore.ir.graph import SGraph, block_types
from prism_explore.ir.ops import Custom, Input, Result
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.tensors import TensorType
from prism_explore.pipeline.stages import Candidate, Family
from prism_explore.targets import Target
from prism_explore.tune.space.closed_forms import Forms, Recorded
from prism_explore.tune.space.figures import Costs, conditions_of, evaluate_costs
from prism_explore.tune.space.parameters import limits_of, symbol_values
from prism_explore.widgets.panels.sections import (
    Access,
    AccessDim,
    GridStepper,
    KernelAccesses,
    ShapeSizes,
    SizeFigure,
    SizeLimit,
    Slider,
)
from prism_explore.widgets.refs import member_ref, tensor_name
from prism_explore.widgets.views.block_regions import region_maps
from prism_explore.widgets.views.graph_text import dim_text

MAX_DATA_DOUBLINGS = 4
"""A symbol of the program without a range gets values up to this number of doublings above its own."""


# ---------------------------------------------------------------- sliders
def sliders_of(
    program: TensorProgram,
    graph: SGraph,
    numbers: tuple[tuple[str, int], ...],
    further: tuple[Dim, ...],
    machine: Target | None,
    ranges: tuple[tuple[str, int, int], ...],
) -> tuple[Slider, ...]:
    """A slider per symbol: grid dims and loops with the values that divide, then the symbols of the program."""
    chosen = dict(numbers)
    data = {
        s: _data_values(chosen[s], next(((a, b) for n, a, b in ranges if n == s), None)) for s in graph.data_symbols
    }
    values: dict[str, set[int]] = {s: {chosen[s]} for s in graph.parameters}
    if machine is not None:
        candidate = Candidate("", Family("", program, graph), graph, (), further)
        shapes = {s: chosen[s] for s in graph.data_symbols}
        for changed in (shapes, *({**shapes, s: v} for s, found in data.items() for v in found)):
            try:
                limits = limits_of(candidate, changed, machine)
            except ShapeError:
                continue
            for s in graph.parameters:
                values[s].update(symbol_values(s, limits))
    roles = _roles(graph)
    sliders = [Slider(s, roles.get(s, s), tuple(sorted(values[s])), chosen[s]) for s in graph.parameters]
    return (*sliders, *(Slider(s, f"{s}: size of the program", data[s], chosen[s]) for s in graph.data_symbols))


def _data_values(value: int, bounds: tuple[int, int] | None) -> tuple[int, ...]:
    """Powers of two within the range of a symbol, its ends, and its own value."""
    low, high = bounds or (1, value << MAX_DATA_DOUBLINGS)
    powers = (1 << n for n in range(high.bit_length()))
    return tuple(sorted({low, high, value, *(p for p in powers if low <= p <= high)}))


def _roles(graph: SGraph) -> dict[str, str]:
    """Per symbol, which grid dims and loops of which kernels have it as their size."""
    found: dict[str, list[str]] = {}
    for i, block in graph.customs:
        for p in block.parallel:
            word = "loop" if p is block.loop else "grid dim"
            for s in p.size.symbols:
                found.setdefault(s, []).append(f"{word} {p.name} of %{i}")
    return {s: f"{s}: {', '.join(uses)}" for s, uses in found.items()}


# ---------------------------------------------------------------- closed forms
@dataclass(frozen=True, slots=True)
class SizeForms:
    """What depends on the sizes of one graph; the same for every choice of sizes."""

    forms: Forms
    costs: Costs[Recorded] | None
    limits: tuple[SizeLimit, ...]
    figures: tuple[SizeFigure, ...]
    shapes: tuple[ShapeSizes, ...]
    kernels: tuple[KernelAccesses, ...]


def size_forms(graph: SGraph, owner: str, further: tuple[Dim, ...], machine: Target | None) -> SizeForms:
    """Record everything that depends on the sizes of a graph."""
    forms = Forms()
    symbols = {s: forms.symbol(s) for s in (*graph.parameters, *graph.data_symbols)}
    costs, limits, figures = None, (), ()
    if machine is not None:
        costs = evaluate_costs(graph, machine, forms.size, symbols)
        # The model returns a plain number where no symbol is in it.
        time_s = None if costs.time_s is None else forms.number(costs.time_s)
        costs = replace(costs, memory_bytes=forms.number(costs.memory_bytes), time_s=time_s)
        limits = tuple(
            SizeLimit(forms.size(c.size).index, c.most, dim_text(c.size), c.what)
            for c in conditions_of(graph, further, machine)
        )
        figures = _figures(graph, costs, machine)
    return SizeForms(forms, costs, limits, figures, _shapes(graph, owner, forms), _kernels(graph, owner, forms))


def _figures(graph: SGraph, costs: Costs[Recorded], machine: Target) -> tuple[SizeFigure, ...]:
    found: list[SizeFigure] = []
    if costs.time_s is not None:
        found.append(SizeFigure("time", costs.time_s.index, "seconds", "modelled"))
    least = "modelled; each element once, because maps are unbound" if graph.is_open else "modelled"
    found.append(SizeFigure("memory traffic", costs.memory_bytes.index, "bytes", least))
    if not graph.is_open:
        found.append(SizeFigure("loads and stores", costs.written_bytes.index, "bytes", "as written, caches included"))
    found.append(SizeFigure("operations", costs.flops.index, "flops", "the least" if graph.is_open else "as written"))
    memory = "shared memory" if machine.kind == "gpu" else "scratch memory"
    for k in costs.kernels:
        name = f" of %{k.position}" if len(costs.kernels) > 1 else ""
        found.append(SizeFigure(f"blocks{name}", k.blocks.index, "count", f"up to {machine.cores} run at a time"))
        found.append(SizeFigure(f"loop iterations{name}", k.iterations.index, "count", "per block"))
        limit = float(machine.shared_memory_bytes)
        found.append(SizeFigure(f"{memory}{name}", k.scratch_bytes.index, "bytes", "least of a block, modelled", limit))
    return tuple(found)


def _shapes(graph: SGraph, owner: str, forms: Forms) -> tuple[ShapeSizes, ...]:
    """The sizes of every tensor with symbols, at both levels."""
    types, found = graph.types(), list[ShapeSizes]()

    def add(ref: str, t: TensorType) -> None:
        if any(d.symbols for d in t.dims):
            found.append(ShapeSizes(ref, tuple(forms.size(d).index for d in t.dims)))

    for i, node in enumerate(graph.nodes):
        add(member_ref(owner, tensor_name(i)), types[i])
        if isinstance(node.op, Custom):
            block = node.op.block
            inner = block_types(block, tuple(types[a] for a in node.args))
            for j, t in enumerate(inner):
                shown = inner[block.nodes[j].args[0]] if j in block.stores else t
                add(member_ref(owner, tensor_name(i, j)), shown)
    return tuple(found)


def _kernels(graph: SGraph, owner: str, forms: Forms) -> tuple[KernelAccesses, ...]:
    found: list[KernelAccesses] = []
    for i, block in graph.customs:
        names = [_tensor(graph, a) for a in graph.nodes[i].args]
        results = {
            n.op.index: f"%{r}" for r, n in enumerate(graph.nodes) if isinstance(n.op, Result) and n.args == (i,)
        }
        steppers = [GridStepper(p.name, forms.size(p.size).index, p is block.loop) for p in block.parallel]
        accesses: list[Access] = []
        for m in region_maps(graph, i, block):
            name = names[m.operand] if m.kind == "load" else results.get(m.operand, f"%{i}")
            dims = tuple(
                AccessDim(
                    forms.size(d.extent).index,
                    forms.size(d.tile).index,
                    tuple((s, forms.size(stride).index) for s, stride in d.strides),
                )
                for d in m.dims
            )
            accesses.append(Access(member_ref(owner, tensor_name(i, m.position)), name, m.kind, dims, m.is_open))
        found.append(
            KernelAccesses(member_ref(owner, tensor_name(i)), f"kernel %{i}", tuple(steppers), tuple(accesses))
        )
    return tuple(found)


def _tensor(graph: SGraph, position: int) -> str:
    op = graph.nodes[position].op
    return op.name if isinstance(op, Input) else f"%{position}"
