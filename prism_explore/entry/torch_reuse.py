"""What the search of a region found at numbers, for the same region with symbols for some of them.

torch compiles again with symbolic sizes where a second call has another size. The program of a region is then that of
the first graph with symbols in place of numbers. So is the kernel of the first graph: its sGraph has no size but those
of tensors. It is proved for all sizes of the symbols before it is used; where that fails, the region is searched.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from prism_explore.errors import PrismError
from prism_explore.ir.dims import Dim, dim
from prism_explore.ir.graph import SGraph
from prism_explore.ir.ops import Input
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.symbol_ranges import sizes_of
from prism_explore.ir.text import show
from prism_explore.pipeline.stages import Candidate, Family, Kernel
from prism_explore.runtime.proved_kernel import proved_kernel


def with_symbols(kernel: Kernel, program: TensorProgram, seed: int = 0) -> Kernel | None:
    """The kernel of a program at numbers as one of the program with symbols, proved for all of their sizes.

    Args:
        kernel: of the program at numbers.
        program: with symbols for some of these.
        seed: of the refuter.

    Returns:
        The kernel, which has the same code and whose shapes are the numbers; None where the programs differ, a
        number stands for several sizes, or there is no proof.
    """
    candidate, fixed = kernel.verified.candidate, kernel.verified.candidate.family.program
    if kernel.shapes or candidate.family.sequence is not None or len(fixed.inputs) != len(program.inputs):
        return None
    shapes = [i.type.shape_at({}) for i in fixed.inputs]
    sizes = sizes_of([i.type for i in program.inputs], shapes)
    if set(sizes) != set(program.graph.data_symbols) or not _are_equal(program.graph.substitute(sizes), fixed.graph):
        return None
    symbolic = _sizes_by_value(program.graph, sizes)
    if symbolic is None or min(sizes.values()) < 2:  # a 1 in the sGraph need not be a size
        return None
    try:
        graph = _with_sizes(candidate.sgraph, program, symbolic)
        family = Family(candidate.family.id, program, _with_sizes(candidate.family.sgraph, program, symbolic))
        found = Candidate(candidate.id, family, graph, candidate.uses, graph.conditions())
        if [t.dims for t in graph.output_types] != [t.dims for t in program.graph.output_types]:
            return None
        made = proved_kernel(found, kernel.parameters, sizes, seed)
    except PrismError:  # a tensor does not fit with symbols
        return None
    return made if made is not None and made.source == kernel.source else None


def _are_equal(a: SGraph, b: SGraph) -> bool:
    return show(a) == show(b)


def _sizes_by_value(graph: SGraph, sizes: Mapping[str, int]) -> Mapping[int, Dim] | None:
    """The sizes of a program's tensors that have symbols, by their numbers; None where a number stands for several."""
    found: dict[int, Dim] = {}
    for size in dict.fromkeys(d for t in graph.types() for d in t.dims):
        if found.setdefault(size.value(sizes), size) != size:
            return None
    return {number: size for number, size in found.items() if size.symbols}


def _with_sizes(graph: SGraph, program: TensorProgram, symbolic: Mapping[int, Dim]) -> SGraph:
    """A graph with symbols for the numbers of its tensors and operators."""

    def put(d: Dim) -> Dim:
        total = dim(0)
        for monomial, number in d.terms:
            own = symbolic.get(int(number)) if number.denominator == 1 else None
            total = total + (Dim(((monomial, number),)) if own is None else own * Dim(((monomial, Fraction(1)),)))
        return total

    inputs = {i.name: i for i in program.inputs}
    nodes = (replace(n, op=inputs[n.op.name]) if isinstance(n.op, Input) else n for n in graph.with_sizes(put).nodes)
    return SGraph(tuple(nodes), graph.output, graph.further)
