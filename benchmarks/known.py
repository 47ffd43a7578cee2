"""Forms that others found or wrote by hand, held against what a search of ours proved: ours, dominated, or neither.

Two sources: the right forms of `tests.verify.workloads` (R1 and so on, written down apart from the search), and the
graphs that Mirage's search saved, `tests/data/mirage`, generalised from their numbers and read over a program of
their shapes. A form is *ours* if a proved candidate is the same graph up to names and order; it is *dominated* if a
proved candidate costs no more whatever the sizes, in the cost model (`cost.dominance`). What is *open* is neither, or
was not shown to be.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import prism_explore as px
from prism_explore.cost.dominance import compared, cost_of
from prism_explore.events.journal import Journal
from prism_explore.instantiate.constraints import TypedBlock
from prism_explore.instantiate.solve import typed_blocks
from prism_explore.ir.maps import AxisUse
from prism_explore.ir.ops import Load, Store
from prism_explore.ir.program import ProgramBuilder, TensorProgram
from prism_explore.ir.sgraph import SGraph
from prism_explore.ir.stages import Candidate, Family, Verified
from prism_explore.mirage.general import generalise
from prism_explore.search import Progress, Steering, Task, explore
from prism_explore.verify.decide import Prover
from tests.mirage.references import FILES, path
from tests.test_rediscovery import comparable, form
from tests.verify.workloads import ENTRIES, sgraph_of

Standing = Literal["ours", "dominated", "open"]

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
    """The candidate of ours; what the form is instead, where it is open."""


def forms(workload: str, program: TensorProgram, proved: Sequence[Candidate]) -> Iterator[Known]:
    """The right forms of a workload that were written by hand."""
    for entry in ENTRIES:
        if entry.workload == workload and entry.right:
            yield _held(entry.name, sgraph_of(entry), comparable(entry), program, proved)


def saved(workload: str, task: Task) -> Iterator[Known]:
    """The right graphs that Mirage saved for a workload, against a search of ours over a program of their shapes."""
    if workload not in SAVED:
        return
    name = SAVED[workload]
    graphs = px.load_mirage(path(name))
    builder = ProgramBuilder(workload)
    inputs = (builder.input(i.name, *i.type.dims, dtype=i.type.dtype, order=i.type.order) for i in graphs[0].inputs)
    program = builder.build(FILES[name][0](builder, *inputs))
    ours = search(program, task)
    prover = Prover(program)
    for number, graph in enumerate(graphs):
        general = generalise(graph).sgraph
        theirs = with_uses(f"saved {number}", program, general)
        verdict = prover.verify(theirs, Journal(), 0)
        if not isinstance(verdict, Verified):
            yield Known(f"saved {number}", "open", f"not proved to be right: {type(verdict).__name__.lower()}")
            continue
        yield _held(f"saved {number}", general, True, program, ours)


def search(program: TensorProgram, task: Task) -> list[Candidate]:
    """The proved candidates of a default search."""
    session = px.Session(program, target=task.target)
    progress = Progress()
    for _ in explore(session.task, Journal(), Steering, progress):
        pass
    session.close()
    return [v.candidate for v in progress.proved]


def _held(name: str, graph: SGraph, has_form: bool, program: TensorProgram, proved: Sequence[Candidate]) -> Known:
    if has_form:
        try:
            wanted = form(graph)
        except AssertionError:
            wanted = ""  # views whose sizes have names
        same = next((c.id for c in proved if wanted and _form(c) == wanted), None)
        if same:
            return Known(name, "ours", same)
    theirs = with_uses(name, program, graph)
    cost = cost_of(theirs, staged=True)
    for ours in proved:
        if compared(ours, theirs, cost_of(ours, staged=True), cost) is not None:
            return Known(name, "dominated", ours.id)
    return Known(name, "open")


def _form(candidate: Candidate) -> str:
    try:
        return form(candidate.sgraph)
    except AssertionError:
        return "views"


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
