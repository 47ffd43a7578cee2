"""Forms that others found or wrote by hand, held against what a search of ours proved: ours, dominated, or neither.

    .venv/bin/python benchmarks/known.py
    .venv/bin/python benchmarks/known.py mha "scaled LoRA"

Three sources: the right forms of `tests.verify.workloads` (R1 and so on, written down apart from the search); the
graphs that Mirage's search saved, `tests/data/mirage`; and right graphs of other workloads in its form,
`tests/frontend/mirage/others.py`. Graphs are generalised from their numbers and read over a program of their shapes.

A form is *ours* if a proved candidate is the same graph up to names and order. It is *dominated* if a proved candidate
costs no more whatever the sizes, in the cost model, or if one with numbers that fill the machine, which are told, costs
no more than the form with any (`cost.dominance` says what either means). It is *outside* if it is no program of the
stated space, and the restriction that excludes it is told; *refuted*, if it does not compute the program, as some that
were saved do not. What is *open* is none of these, or was not shown to be.
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
    step: Dominance | None = None
    """Of a dominated one, how it is."""


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="How forms of others stand to what a default search of ours proves.")
    names = list(dict.fromkeys((*(w.name for w in px.WORKLOADS), *others.WORKLOADS)))
    parser.add_argument("names", nargs="*", metavar="NAME", help="workloads, also of others; none for all")
    args = parser.parse_args(argv)
    if strangers := sorted(set(args.names) - set(names)):
        parser.error(f"no workload {', '.join(strangers)}; there are {', '.join(names)}")
    for name in args.names or names:
        print(name)
        for line in told(_of(name)):
            print(f"  {line}", flush=True)


def _of(name: str) -> Iterator[Known]:
    if row := next((w for w in px.WORKLOADS if w.name == name), None):
        session = px.Session(row.code, name=row.name, inputs=row.inputs, at=row.at, target="h100")
        session.close()
        yield from forms(name, session.task, _proved(session.task))
        yield from saved(name, session.task.target)
    if name in others.WORKLOADS:
        yield from written(name)


def told(found: Iterator[Known]) -> Iterator[str]:
    """A line per standing, with the forms that have it."""
    alike: dict[tuple[Standing, str], list[str]] = {}
    for known in found:
        alike.setdefault((known.standing, known.by), []).append(known.name)
    for (standing, by), names in alike.items():
        yield f"{standing}{f' ({by})' if by else ''}: {', '.join(names)}"


# ---------------------------------------------------------------- where forms come from
def forms(workload: str, task: Task, proved: Sequence[Candidate]) -> Iterator[Known]:
    """The right forms of a workload that were written by hand."""
    standings = Standings(task, proved)
    for entry in ENTRIES:
        if entry.workload == workload and entry.right:
            yield standings.of(entry.name, sgraph_of(entry))


def saved(workload: str, target: Target) -> Iterator[Known]:
    """The graphs that Mirage saved for a workload, against a search of ours over a program of their shapes."""
    if workload in SAVED:
        graphs = px.load_mirage(path(SAVED[workload]))
        named = {f"saved {number}": graph for number, graph in enumerate(graphs)}
        yield from _read(workload, FILES[SAVED[workload]][0], named, target)


def written(name: str) -> Iterator[Known]:
    """The right graphs of another workload in Mirage's form, in the same way."""
    build, right, _ = others.WORKLOADS[name]
    with TemporaryDirectory() as folder:
        graphs = px.load_mirage(save(Path(folder) / "graphs.json", *(way() for way in right.values())))
    yield from _read(name, build, dict(zip(right, graphs, strict=True)), px.target("h100"))


def _read(name: str, build: Callable[..., int], graphs: Mapping[str, SGraph], target: Target) -> Iterator[Known]:
    builder = ProgramBuilder(name)
    first = next(iter(graphs.values()))
    inputs = (builder.input(i.name, *i.type.dims, dtype=i.type.dtype, order=i.type.order) for i in first.inputs)
    program = builder.build(build(builder, *inputs))
    session = px.Session(program, target=target)
    session.close()
    standings = Standings(session.task, _proved(session.task))
    prover = Prover(program)
    for way, graph in graphs.items():
        general = generalize(with_simple_fractions(graph, {})).sgraph
        match prover.verify(with_uses(way, program, general), Journal(), 0):
            case Verified():
                yield standings.of(way, general)
            case Refuted():
                yield Known(way, "refuted")
            case Unknown():
                yield Known(way, "open", "not proved to be right")


def _proved(task: Task) -> list[Candidate]:
    progress = Progress()
    for _ in explore(task, Journal(), Steering, progress):
        pass
    return [v.candidate for v in progress.proved]


# ---------------------------------------------------------------- how they stand
class Standings:
    """What a search proved, for one form after another to be held against."""

    def __init__(self, task: Task, proved: Sequence[Candidate]) -> None:
        self._task = task
        self._proved = proved
        self._staged = task.target.kind == "gpu"
        self._costs = {c.id: cost_of(c, self._staged) for c in proved}

    def of(self, name: str, graph: SGraph) -> Known:
        """How a right graph stands."""
        task, graph = self._task, plain(graph)
        wanted = form(graph)
        same = next((c.id for c in self._proved if form_of(c) == wanted), None)
        if same:
            return Known(name, "ours", same)
        theirs = with_uses(name, task.program, graph)
        cost = cost_of(theirs, self._staged)
        for ours in self._proved:
            if step := compare(ours, theirs, self._costs[ours.id], cost):
                return Known(name, "dominated", ours.id, step)
        for ours, numbers in self._fastest:
            if step := compare_on_machine(ours, theirs, self._costs[ours.id], cost, numbers, task.target):
                chosen = ", ".join(f"{s}={n}" for s, n in step.assignment)
                return Known(name, "dominated", f"{ours.id} on {task.target.name} with {chosen}", step)
        why = explain_excluded(task.program, task.space, task.target, graph)
        why = why or _too_much(graph, task.target.shared_memory_bytes)
        return Known(name, "outside", why) if why else Known(name, "open")

    @cached_property
    def _fastest(self) -> list[tuple[Candidate, Mapping[str, int]]]:
        """Candidates that can fill the machine, with the numbers that the model takes for the fastest; fastest first.

        None where shapes are no numbers.
        """
        found: list[tuple[float, Candidate, Mapping[str, int]]] = []
        for candidate in self._proved:
            if not candidate.sgraph.data_symbols:
                modelled = _filling(candidate, self._costs[candidate.id], self._task.target)
                found += [(time_s, candidate, numbers) for time_s, numbers in modelled]
        return [(candidate, numbers) for _, candidate, numbers in sorted(found, key=lambda row: row[0])]


MOST_SIZES = 2000
"""Choices of numbers of one candidate that are looked at."""


def _filling(candidate: Candidate, cost: Cost, target: Target) -> list[tuple[float, dict[str, int]]]:
    """The fastest numbers of those that fill a machine, in the model; none where there are none."""
    model, blocks = model_of(candidate, {}, target), [compile_size(d) for d in cost.blocks]
    rows = (dict(sizes) for sizes in some_sizes(candidate, {}, target, MOST_SIZES)[0])
    full = [(model.estimate(row).time_s, row) for row in rows if all(of(row) >= target.cores for of in blocks)]
    return sorted(full, key=lambda timed: timed[0])[:1]


def _too_much(graph: SGraph, limit: int) -> str:
    """Whether its tiles exceed shared memory however small grids and loops make them; empty where they fit."""
    types = graph.types()
    for position, block in graph.customs:
        excess = memory_violation(block, block_types(block, tuple(types[a] for a in graph.nodes[position].args)), limit)
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


if __name__ == "__main__":
    main()
