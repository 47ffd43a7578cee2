"""Known forms: kernels that others found or wrote by hand, compared with the candidates that a search proves.

    .venv/bin/python benchmarks/known_forms.py
    .venv/bin/python benchmarks/known_forms.py mha "scaled LoRA"

There are three sources: the right handwritten forms of `tests.verify.workloads`; the graphs that Mirage's search saved,
in `tests/data/mirage`; and right graphs of other workloads in Mirage's file format (`tests/frontend/mirage/others.py`).
The sizes in Mirage's graphs are replaced by symbols, and the search runs on a program with the shapes of the graphs.

The status of a form is one of these:

    ours       a proved candidate is the same graph, up to names and order
    dominated  a proved candidate costs no more in the cost model, for all sizes, or with certain sizes that fill the
               machine, which are printed (`cost.dominance` defines both)
    outside    the form is not in the search space; the restriction that excludes it is printed
    refuted    the form does not compute the program, as some saved graphs do not
    open       none of these could be shown
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import prism_explore as px
from prism_explore.cost.dominance import Cost, Dominance, compare, compare_on_machine, cost_of
from prism_explore.diagnose.check import with_simple_fractions
from prism_explore.events.journal import Journal
from prism_explore.frontend.lower_aten import valid_name
from prism_explore.frontend.mirage.generalize import generalize
from prism_explore.generate.explain_excluded import explain_excluded
from prism_explore.instantiate.constraints import TypedBlock, memory_violation
from prism_explore.instantiate.solve import typed_blocks
from prism_explore.ir.axis_maps import AxisUse
from prism_explore.ir.graph import SGraph, block_types
from prism_explore.ir.ops import Accumulate, BlockGraph, Custom, Load, Node, Op, Reduce, Store
from prism_explore.ir.program import ProgramBuilder, TensorProgram
from prism_explore.pipeline.stages import Candidate, Family, Refuted, Unknown, Verified
from prism_explore.search.explore import Progress, Steering, Task, explore
from prism_explore.targets import Target
from prism_explore.tune.space.parameters import some_sizes
from prism_explore.tune.space.time_model import compile_size, model_of
from prism_explore.verify.prover import Prover
from tests.frontend.mirage import others
from tests.frontend.mirage.references import FILES, path
from tests.frontend.mirage.written import save
from tests.search.test_rediscovery import form
from tests.verify.workloads import ENTRIES, sgraph_of

Status = Literal["ours", "dominated", "outside", "refuted", "open"]

MIRAGE_FILES = {
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
class KnownForm:
    """A known form, and its status against the proved candidates."""

    name: str
    status: Status
    by: str = ""
    """The proved candidate that equals or dominates it, or the restriction that excludes it, or why it is open."""
    step: Dominance | None = None
    """For a dominated form: the costs that are compared."""


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description="Known forms of others against the candidates that a default search proves."
    )
    names = list(dict.fromkeys((*(w.name for w in px.WORKLOADS), *others.WORKLOADS)))
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="workloads of `prism-explore list` or of the tests; default: all"
    )
    args = parser.parse_args(argv)
    if unknown := sorted(set(args.names) - set(names)):
        parser.error(f"no workload {', '.join(unknown)}; there are {', '.join(names)}")
    for name in args.names or names:
        print(name)
        for line in status_lines(_forms_of(name)):
            print(f"  {line}", flush=True)


def _forms_of(name: str) -> Iterator[KnownForm]:
    if row := next((w for w in px.WORKLOADS if w.name == name), None):
        session = px.Session(row.code, name=row.name, inputs=row.inputs, at=row.at, target="h100")
        session.close()
        yield from handwritten_forms(name, session.task, _proved(session.task))
        yield from mirage_forms(name, session.task.target)
    if name in others.WORKLOADS:
        yield from mirage_style_forms(name)


def status_lines(forms: Iterator[KnownForm]) -> Iterator[str]:
    """One line per status, with the names of its forms."""
    names_by_status: dict[tuple[Status, str], list[str]] = {}
    for known in forms:
        names_by_status.setdefault((known.status, known.by), []).append(known.name)
    for (status, by), names in names_by_status.items():
        yield f"{status}{f' ({by})' if by else ''}: {', '.join(names)}"


# ---------------------------------------------------------------- the sources of forms
def handwritten_forms(workload: str, task: Task, proved: Sequence[Candidate]) -> Iterator[KnownForm]:
    """The right handwritten forms of a workload."""
    comparison = FormComparison(task, proved)
    for entry in ENTRIES:
        if entry.workload == workload and entry.right:
            yield comparison.status_of(entry.name, sgraph_of(entry))


def mirage_forms(workload: str, target: Target) -> Iterator[KnownForm]:
    """The graphs that Mirage saved for a workload, against a search on a program with their shapes."""
    if workload in MIRAGE_FILES:
        graphs = px.load_mirage(path(MIRAGE_FILES[workload]))
        named = {f"saved {number}": graph for number, graph in enumerate(graphs)}
        yield from _compare_graphs(workload, FILES[MIRAGE_FILES[workload]][0], named, target)


def mirage_style_forms(name: str) -> Iterator[KnownForm]:
    """The right graphs of a workload of the tests in Mirage's file format."""
    build, right, _ = others.WORKLOADS[name]
    with TemporaryDirectory() as folder:
        graphs = px.load_mirage(save(Path(folder) / "graphs.json", *(build_graph() for build_graph in right.values())))
    yield from _compare_graphs(name, build, dict(zip(right, graphs, strict=True)), px.target("h100"))


def _compare_graphs(
    name: str, build: Callable[..., int], graphs: Mapping[str, SGraph], target: Target
) -> Iterator[KnownForm]:
    """Search a program with the shapes of the graphs, and compare each graph with the proved candidates."""
    builder = ProgramBuilder(valid_name(name))
    first = next(iter(graphs.values()))
    inputs = (builder.input(i.name, *i.type.dims, dtype=i.type.dtype, order=i.type.order) for i in first.inputs)
    program = builder.build(build(builder, *inputs))
    session = px.Session(program, target=target)
    session.close()
    comparison = FormComparison(session.task, _proved(session.task))
    prover = Prover(program)
    for form_name, graph in graphs.items():
        general = generalize(with_simple_fractions(graph, {})).sgraph
        match prover.verify(candidate_of(form_name, program, general), Journal(), 0):
            case Verified():
                yield comparison.status_of(form_name, general)
            case Refuted():
                yield KnownForm(form_name, "refuted")
            case Unknown():
                yield KnownForm(form_name, "open", "not proved to be right")


def _proved(task: Task) -> list[Candidate]:
    progress = Progress()
    for _ in explore(task, Journal(), Steering, progress):
        pass
    return [v.candidate for v in progress.proved]


# ---------------------------------------------------------------- the status of a form
class FormComparison:
    """Compares forms with the candidates that a search proved."""

    def __init__(self, task: Task, proved: Sequence[Candidate]) -> None:
        self._task = task
        self._proved = proved
        self._staged = task.target.kind == "gpu"
        self._costs = {c.id: cost_of(c, self._staged) for c in proved}

    def status_of(self, name: str, graph: SGraph) -> KnownForm:
        """The status of a right graph."""
        task, graph = self._task, normalized(graph)
        wanted = form(graph)
        same = next((c.id for c in self._proved if form_of(c) == wanted), None)
        if same:
            return KnownForm(name, "ours", same)
        theirs = candidate_of(name, task.program, graph)
        cost = cost_of(theirs, self._staged)
        for ours in self._proved:
            if step := compare(ours, theirs, self._costs[ours.id], cost):
                return KnownForm(name, "dominated", ours.id, step)
        for ours, sizes in self._fastest:
            if step := compare_on_machine(ours, theirs, self._costs[ours.id], cost, sizes, task.target):
                chosen = ", ".join(f"{s}={n}" for s, n in step.assignment)
                return KnownForm(name, "dominated", f"{ours.id} on {task.target.name} with {chosen}", step)
        restriction = explain_excluded(task.program, task.space, task.target, graph)
        restriction = restriction or _memory_restriction(graph, task.target.shared_memory_bytes)
        return KnownForm(name, "outside", restriction) if restriction else KnownForm(name, "open")

    @cached_property
    def _fastest(self) -> list[tuple[Candidate, Mapping[str, int]]]:
        """Candidates that can fill the machine, with their fastest sizes in the time model; fastest first.

        Candidates with symbolic shapes are left out.
        """
        found: list[tuple[float, Candidate, Mapping[str, int]]] = []
        for candidate in self._proved:
            if not candidate.sgraph.data_symbols:
                modelled = _fastest_that_fills(candidate, self._costs[candidate.id], self._task.target)
                found += [(time_s, candidate, sizes) for time_s, sizes in modelled]
        return [(candidate, sizes) for _, candidate, sizes in sorted(found, key=lambda row: row[0])]


MAX_SIZES = 2000
"""Largest number of choices of sizes that are tried per candidate."""


def _fastest_that_fills(candidate: Candidate, cost: Cost, target: Target) -> list[tuple[float, dict[str, int]]]:
    """The fastest sizes that fill the machine, with their modelled time; empty if no sizes fill it."""
    model, blocks = model_of(candidate, {}, target), [compile_size(d) for d in cost.blocks]
    rows = (dict(sizes) for sizes in some_sizes(candidate, {}, target, MAX_SIZES)[0])
    full = [(model.estimate(row).time_s, row) for row in rows if all(count(row) >= target.cores for count in blocks)]
    return sorted(full, key=lambda timed: timed[0])[:1]


def _memory_restriction(graph: SGraph, limit: int) -> str:
    """The shared-memory constraint that no choice of sizes satisfies; empty if there is none."""
    types = graph.types()
    for position, block in graph.customs:
        excess = memory_violation(block, block_types(block, tuple(types[a] for a in graph.nodes[position].args)), limit)
        if excess is not None:
            return f"mem.smem: e ≤ shared memory, where e = {excess[1]} B"
    return ""


def normalized(graph: SGraph) -> SGraph:
    """Rewrite a graph as a search writes it: loads first, in order of operands, and no accumulator without a loop.

    A block without a loop has one iteration, so an accumulator equals its operand or the reduction of it.
    """
    nodes = [
        Node(Custom(_normalized_block(n.op.block)), n.args) if isinstance(n.op, Custom) else n for n in graph.nodes
    ]
    return SGraph(tuple(nodes), graph.output)


def _normalized_block(block: BlockGraph) -> BlockGraph:
    loads = sorted((n.op.operand, p) for p, n in enumerate(block.nodes) if isinstance(n.op, Load))
    order = [p for _, p in loads]
    order += [p for p, n in enumerate(block.nodes) if not isinstance(n.op, Load)]
    nodes: list[Node] = []
    new_position: dict[int, int] = {}
    for position in order:
        node = block.nodes[position]
        op: Op = node.op
        if block.loop is None and isinstance(op, Accumulate):
            if op.dim is None:
                new_position[position] = new_position[node.args[0]]
                continue
            op = Reduce(op.fn, op.dim)
        new_position[position] = len(nodes)
        nodes.append(Node(op, tuple(new_position[a] for a in node.args)))
    return BlockGraph(block.grid, block.loop, tuple(nodes))


@cache
def form_of(candidate: Candidate) -> str:
    """The canonical form of a candidate; it is needed once per known form."""
    return form(candidate.sgraph)


def candidate_of(name: str, program: TensorProgram, graph: SGraph) -> Candidate:
    """A graph from elsewhere as a candidate, with the axes that its maps partition."""
    family = Family(name, program, graph)
    uses = tuple(_uses(typed) for typed in typed_blocks(family))
    return Candidate(f"{name}.c1", family, graph, uses, graph.conditions())


def _uses(typed: TypedBlock) -> tuple[AxisUse, ...]:
    grid: dict[str, int] = {}
    looped: set[str] = set()
    for node, axes in zip(typed.block.nodes, typed.axes, strict=True):
        match node.op:
            case Load(_, imap, fmap):
                dims = imap or ()
                looped.update(a for a in (axes[fmap] if fmap is not None else None,) if a)
            case Store(omap):
                dims = omap or ()
            case _:
                continue
        for p, along in enumerate(dims):
            if along is not None and (axis := axes[along]):
                grid.setdefault(axis, p)
    return tuple(AxisUse(a, grid.get(a), a in looped) for a in typed.names)


if __name__ == "__main__":
    main()
