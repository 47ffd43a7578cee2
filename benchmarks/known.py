"""Forms that others found or wrote by hand, held against what a search of ours proved: ours, dominated, or neither.

Two sources: the right forms of `tests.verify.workloads` (R1 and so on, written down apart from the search), and the
graphs that Mirage's search saved, `tests/data/mirage`, generalised from their numbers and read over a program of
their shapes. A form is *ours* if a proved candidate is the same graph up to names and order; it is *dominated* if a
proved candidate costs no more whatever the sizes, in the cost model (`cost.dominance`). It is *outside* if it is no
program of the stated space, and the restriction that excludes it is told, and of saved graphs with predefined
operators, which the default space has none of, how they stand with one; *refuted*, if it does not compute the
program, as some graphs that were saved do not. What is *open* is none of these, or was not shown to be.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import prism_explore as px
from prism_explore.cost.dominance import compared, cost_of
from prism_explore.events.journal import Journal
from prism_explore.generate.outside import outside
from prism_explore.instantiate.constraints import TypedBlock, memory_broken
from prism_explore.instantiate.solve import typed_blocks
from prism_explore.ir.maps import AxisUse
from prism_explore.ir.ops import Accumulate, Custom, Load, Node, Op, Reduce, Store
from prism_explore.ir.program import ProgramBuilder, TensorProgram
from prism_explore.ir.sgraph import BlockGraph, SGraph, block_types
from prism_explore.ir.stages import Candidate, Family, Refuted, Unknown, Verified
from prism_explore.mirage.general import generalise
from prism_explore.search import Progress, Steering, Task, explore
from prism_explore.verify.decide import Prover
from tests.mirage.references import FILES, path
from tests.test_rediscovery import form
from tests.verify.workloads import ENTRIES, sgraph_of

Standing = Literal["ours", "dominated", "outside", "refuted", "open"]

SAVED = {
    "gated_mlp": "gated_mlp_bs8",
    "gqa": "gqa_bs8",
    "lora": "lora_bs8",
    "mha": "mha_bs1",
    "ntrans": "ntrans_bs1",
    "qknorm": "qknorm_gqa_bs8_first24_wrong",
    "rmsnorm": "rmsnorm_bs1",
}
"""Per workload, the file of graphs that Mirage's search saved for it."""


@dataclass(frozen=True, slots=True)
class Known:
    """A form and how it stands to our candidates."""

    name: str
    standing: Standing
    by: str = ""
    """The candidate of ours; the restriction that excludes it; what is known of a form that is open."""


def forms(workload: str, task: Task, proved: Sequence[Candidate]) -> Iterator[Known]:
    """The right forms of a workload that were written by hand."""
    for entry in ENTRIES:
        if entry.workload == workload and entry.right:
            yield _held(entry.name, sgraph_of(entry), task, proved)


def saved(workload: str, task: Task) -> Iterator[Known]:
    """The right graphs that Mirage saved for a workload, against a search of ours over a program of their shapes."""
    if workload not in SAVED:
        return
    name = SAVED[workload]
    graphs = px.load_mirage(path(name))
    builder = ProgramBuilder(workload)
    inputs = (builder.input(i.name, *i.type.dims, dtype=i.type.dtype, order=i.type.order) for i in graphs[0].inputs)
    program = builder.build(FILES[name][0](builder, *inputs))
    ours, there = search(program, task)
    called: Sequence[Candidate] | None = None
    prover = Prover(program)
    for number, graph in enumerate(graphs):
        general = generalise(graph).sgraph
        theirs = with_uses(f"saved {number}", program, general)
        verdict = prover.verify(theirs, Journal(), 0)
        match verdict:
            case Verified():
                known = _held(f"saved {number}", general, there, ours)
                if known.standing == "outside" and "predefined operators" in known.by:
                    called = _proved(with_a_library_call(there)) if called is None else called
                    again = _held(known.name, general, there, called)
                    if again.standing in ("ours", "dominated"):
                        by = f"{known.by}; with one predefined operator {again.standing} ({again.by})"
                        known = replace(known, by=by)
                yield known
            case Refuted():
                yield Known(f"saved {number}", "refuted")
            case Unknown():
                yield Known(f"saved {number}", "open", "not proved to be right")


def search(program: TensorProgram, task: Task) -> tuple[list[Candidate], Task]:
    """The proved candidates of a default search, and what was searched."""
    session = px.Session(program, target=task.target)
    session.close()
    return _proved(session.task), session.task


def with_a_library_call(task: Task) -> Task:
    """The same search with one predefined operator beside the custom kernel, which the default leaves out."""
    return replace(task, space=replace(task.space, predefined_kernels=1))


def _proved(task: Task) -> list[Candidate]:
    progress = Progress()
    for _ in explore(task, Journal(), Steering, progress):
        pass
    return [v.candidate for v in progress.proved]


def _held(name: str, graph: SGraph, task: Task, proved: Sequence[Candidate]) -> Known:
    graph = plain(graph)
    wanted = form(graph)
    same = next((c.id for c in proved if form_of(c) == wanted), None)
    if same:
        return Known(name, "ours", same)
    theirs = with_uses(name, task.program, graph)
    cost = cost_of(theirs, staged=True)
    for ours in proved:
        if compared(ours, theirs, cost_of(ours, staged=True), cost) is not None:
            return Known(name, "dominated", ours.id)
    why = outside(task.program, task.space, task.target, graph) or _too_much(graph, task.target.shared_memory_bytes)
    return Known(name, "outside", why) if why else Known(name, "open")


def _too_much(graph: SGraph, limit: int) -> str:
    """Whether its tiles exceed shared memory however small grids and loops make them; empty where they fit."""
    types = graph.types()
    for position, block in graph.customs:
        excess = memory_broken(block, block_types(block, tuple(types[a] for a in graph.nodes[position].args)), limit)
        if excess is not None:
            return f"mem.smem: e ≤ shared memory, where e = {excess[1]} B"
    return ""


def plain(graph: SGraph) -> SGraph:
    """A graph as a search would write it: loads first, in order, and no accumulator without a loop.

    Without a loop there is one iteration, so that an accumulator is its operand, or what it reduces that to.
    """
    nodes = [Node(Custom(_plain(n.op.block)), n.args) if isinstance(n.op, Custom) else n for n in graph.nodes]
    return SGraph(tuple(nodes), graph.output)


def _plain(block: BlockGraph) -> BlockGraph:
    loads = sorted((n.op.operand, p) for p, n in enumerate(block.nodes) if isinstance(n.op, Load))
    order = [p for _, p in loads]
    order += [p for p, n in enumerate(block.nodes) if not isinstance(n.op, Load)]
    made: list[Node] = []
    at: dict[int, int] = {}
    for position in order:
        node = block.nodes[position]
        op: Op = node.op
        if block.loop is None and isinstance(op, Accumulate):
            if op.dim is None:
                at[position] = at[node.args[0]]
                continue
            op = Reduce(op.fn, op.dim)
        at[position] = len(made)
        made.append(Node(op, tuple(at[a] for a in node.args)))
    return BlockGraph(block.grid, block.loop, tuple(made))


@cache
def form_of(candidate: Candidate) -> str:
    """A candidate's form, which is asked for once per known one."""
    return form(candidate.sgraph)


def with_uses(name: str, program: TensorProgram, graph: SGraph) -> Candidate:
    """A graph made elsewhere as a candidate that says which axes its maps cut."""
    family = Family(name, program, graph)
    uses = tuple(_uses(typed) for typed in typed_blocks(family))
    return Candidate(f"{name}.c1", family, graph, uses, graph.conditions())


def _uses(typed: TypedBlock) -> tuple[AxisUse, ...]:
    grid: dict[str, int] = {}
    looped: set[str] = set()
    for node, axes in zip(typed.block.nodes, typed.axes, strict=True):
        match node.op:
            case Load(_, imap, fmap):
                cuts = imap or ()
                looped.update(a for a in (axes[fmap] if fmap is not None else None,) if a)
            case Store(omap):
                cuts = omap or ()
            case _:
                continue
        for p, along in enumerate(cuts):
            if along is not None and (axis := axes[along]):
                grid.setdefault(axis, p)
    return tuple(AxisUse(a, grid.get(a), a in looped) for a in typed.names)
