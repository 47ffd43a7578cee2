"""An sGraph as a readable loop nest, with symbolic sizes: for any machine, before any sizes are chosen.

    parallel for x < gx, y < s:          # kernel %3
      %0 = x[x*b/gx +: b/gx, :]
      for i < f:
        %2 += matmul(%0, %1)
      k3[x*b/gx +: b/gx, :] = %3

Tensors between kernels have the names of e-classes, such as k3; those of a block are numbered, such as %0.
"""

from __future__ import annotations

from prism_explore.ir.graph import SGraph, phases
from prism_explore.ir.ops import Accumulate, BlockGraph, Custom, Input, Load, Node, Result, Store
from prism_explore.ir.text import show_node
from prism_explore.widgets.refs import tensor_name
from prism_explore.widgets.views.block_regions import DimRegion, RegionMap, region_maps
from prism_explore.widgets.views.code_listing import Line, Listing
from prism_explore.widgets.views.graph_text import dim_text
from prism_explore.widgets.views.loop_region import has_loop, loop_region


def loops_listing(graph: SGraph) -> Listing:
    """The loops of an sGraph; while its maps are unbound, loads and stores have full tensors."""
    lines = [Line("# [a +: n] means the n elements from a on; [:] all of them")]
    names = {i: n.op.name if isinstance(n.op, Input) else f"k{i}" for i, n in enumerate(graph.nodes)}
    for i, node in enumerate(graph.nodes):
        match node.op:
            case Input(name, t):
                lines.append(Line(f"input {name}[{', '.join(map(dim_text, t.dims))}] {t.dtype}", (tensor_name(i),)))
            case Custom(block):
                lines += [Line(""), *_kernel_lines(graph, i, block, names)]
            case Result():
                pass
            case _:
                lines.append(Line(f"k{i} = {show_node(node, names)}", (tensor_name(i),)))
    lines += [
        Line(""),
        Line(f"return {', '.join(names[n] for n in graph.outputs)}", tuple(map(tensor_name, graph.outputs))),
    ]
    return Listing(tuple(lines), note="maps are unbound" if graph.is_open else "")


def _kernel_lines(graph: SGraph, i: int, block: BlockGraph, names: dict[int, str]) -> list[Line]:
    regions = {m.position: m for m in region_maps(graph, i, block)}
    results = {n.op.index: f"k{r}" for r, n in enumerate(graph.nodes) if isinstance(n.op, Result) and n.args == (i,)}
    operands = [names[a] for a in graph.nodes[i].args]
    grid = ", ".join(f"{p.name} < {dim_text(p.size)}" for p in block.grid)
    head = f"parallel for {grid}:" if grid else "for one block:" if not block.is_open else "parallel for ? :"
    lines = [Line(f"{head}  # kernel %{i}", (tensor_name(i),))]
    sections = _sections(block)

    def add(positions: list[int], indent: str) -> None:
        for j in positions:
            text = _statement(j, block.nodes[j], regions, operands, results, f"k{i}", j in sections["loop"])
            lines.append(Line(indent + text, (tensor_name(i, j),)))

    add(sections["before"], "  ")
    if sections["loop"]:
        loop = f"for {block.loop.name} < {dim_text(block.loop.size)}:" if block.loop else "for ? :"
        lines.append(Line(f"  {loop}", (tensor_name(i),)))
        add(sections["loop"], "    ")
    add(sections["after"], "  ")
    return lines


def _sections(block: BlockGraph) -> dict[str, list[int]]:
    """Positions before, in and after the loop; an accumulator is in the loop."""
    found: dict[str, list[int]] = {"before": [], "loop": [], "after": []}
    in_loop, known = loop_region(block), None if block.is_open else phases(block)
    for j, node in enumerate(block.nodes):
        if j in in_loop or (has_loop(block) and _accumulates(node, in_loop)):
            found["loop"].append(j)
        elif known is not None:
            found["before" if known[j] == "invariant" and in_loop else "after"].append(j)
        else:
            found["after"].append(j)
    return found


def _accumulates(node: Node, in_loop: frozenset[int]) -> bool:
    """Whether a node combines values of iterations."""
    return node.op.__class__.__name__.startswith("Accumulate") and bool(in_loop & set(node.args))


def _statement(
    j: int,
    node: Node,
    regions: dict[int, RegionMap],
    operands: list[str],
    results: dict[int, str],
    kernel: str,
    in_loop: bool,
) -> str:
    match node.op:
        case Load(operand):
            return f"%{j} = {operands[operand]}[{_index(regions[j].dims)}]"
        case Store():
            return f"{results.get(regions[j].operand, kernel)}[{_index(regions[j].dims)}] = %{node.args[0]}"
        case Accumulate("sum", None) if in_loop:
            return f"%{j} += %{node.args[0]}"
        case _:
            return f"%{j} = {show_node(node)}"


def _index(dims: tuple[DimRegion, ...]) -> str:
    parts: list[str] = []
    for d in dims:
        start = " + ".join(name if s.is_one else f"{name}*{_factor(dim_text(s))}" for name, s in d.strides)
        parts.append(f"{start} +: {dim_text(d.tile)}" if start else ":")
    return ", ".join(parts)


def _factor(text: str) -> str:
    return f"({text})" if any(c in text for c in "+-") else text
