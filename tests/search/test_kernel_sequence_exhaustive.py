"""Kernels in a row: every cut and every kernel of each part, enumerated plainly, and the search loses none.

Plainly: a program's operators are cut in all ways; a part of two operators and more needs a kernel, one alone is a
predefined operator; the cuts that count leave the fewest operators alone, and of these have the fewest parts. Kernels
of a part are what growing with every rule off finds, run on numbers at two choices of sizes. Rows are cut and kernels,
each with each; parts that are alike have the same kernel.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import product

import pytest

from prism_explore.cost.dominance import compare, cost_of, never_above
from prism_explore.events.journal import Journal
from prism_explore.events.ledger import ledger
from prism_explore.generate import generate
from prism_explore.generate.canonical_order import ExpressionNumbers
from prism_explore.generate.event_log import PrunedSequence
from prism_explore.generate.pruning.rules import RULE_NAMES
from prism_explore.instantiate import instantiate
from prism_explore.ir.graph import SGraph
from prism_explore.ir.ops import Binary, BlockGraph, Custom, Input, Load, MatMul, Node, Reduce, Store, Unary
from prism_explore.ir.program import ProgramBuilder, TensorProgram
from prism_explore.ir.text import show
from prism_explore.ir.transforms.reassociate_matmuls import reassociate_matmuls
from prism_explore.pipeline.search_space import Operators, Space, default_space
from prism_explore.pipeline.stages import Candidate, Family, KernelSequence
from prism_explore.search.explore import Progress, Steering, explore
from prism_explore.search.kernel_sequence import kernel_sequences
from prism_explore.session.session import Session
from tests.cost.counting import BARE, BATCH, counted, exact_s
from tests.cost.found import legal_sizes
from tests.generate.pruning.test_exhaustive import is_correct
from tests.generate.small import agrees

ALL = 10**9

Run = tuple[int, ...]
Key = tuple[tuple[Run, int | None], ...]
"""A row: per part its operators, and the number of its kernel; None of an operator that is predefined."""


# ---------------------------------------------------------------- programs
def drawn(seed: int) -> TensorProgram | None:
    """A program of 4 to 6 operators of three kinds, each of what was made last; None where a seed gives none.

    It divides by a sum once at most: what was divided by its sum has the sum 1, and A_eq knows no cancellation.
    """
    rng = random.Random(seed)
    kinds = ["matmul", rng.choice(("exp", "silu")), rng.choice(("mul", "sum", "div"))]
    b = ProgramBuilder(f"drawn_{seed}")
    made = b.input("x", "b", 4)
    last, count = "", rng.randint(4, 6)
    while len(b.nodes) < 2 * count and sum(bool(n.args) for n in b.nodes) < count:
        kind = rng.choice([k for k in kinds if k != last])
        width = b.type_of(made).dims[1]
        last = kind
        match kind:
            case "matmul":
                made = b.matmul(made, b.input(f"w{len(b.nodes)}", width, rng.choice((2, 4, 6))))
            case "exp" | "silu":
                made = b.unary(kind, made)
            case "mul":
                made = b.binary("mul", made, b.input(f"g{len(b.nodes)}", width))
            case "sum" if not width.is_one:
                made = b.reduce("sum", made, 1)
            case "div" if not width.is_one and "div" in kinds:
                kinds.remove("div")
                made = b.binary("div", made, b.reduce("sum", made, 1))
            case _:
                return None
    program = b.build(made)
    return program if reassociate_matmuls(program, never_above) == program else None


def operators(program: TensorProgram) -> Operators:
    """Those that the program has, and what is added up over a loop."""
    ops = [n.op for n in program.graph.nodes]
    return Operators(
        tuple(dict.fromkeys(op.fn for op in ops if isinstance(op, Unary))),
        (),
        tuple(dict.fromkeys(op.fn for op in ops if isinstance(op, Binary))),
        any(isinstance(op, MatMul) for op in ops),
        tuple(dict.fromkeys(op.fn for op in ops if isinstance(op, Reduce))),
        ("plain", "sum"),
    )


# ---------------------------------------------------------------- the plain truth
@dataclass
class Plain:
    """Everything that there is."""

    program: TensorProgram
    most_ops: int
    """Of a kernel, loads included."""

    def __post_init__(self) -> None:
        self.table = ExpressionNumbers()
        self.kernels: dict[str, dict[int, list[Candidate]]] = {}
        nodes = self.program.graph.nodes
        self.todo = [p for p, n in enumerate(nodes) if not isinstance(n.op, Input)]

    def space(self, **more: int) -> Space:
        """For the search: the program's own operators, and no limit but that of a kernel."""
        limits = {"block_ops": self.most_ops, "rows": ALL, "row_kernels": ALL, "row_nodes": ALL} | more
        return replace(default_space(self.program), block=operators(self.program), results=0, **limits)

    def cuts(self) -> list[tuple[Run, ...]]:
        """The cuts that leave the fewest operators alone, and of these those into the fewest parts."""
        found: dict[tuple[int, int], list[tuple[Run, ...]]] = {}
        for ends in product((False, True), repeat=len(self.todo) - 1):
            runs: list[Run] = [()]
            for p, is_end in zip(self.todo, (*ends, False), strict=True):
                runs[-1] = (*runs[-1], p)
                if is_end:
                    runs.append(())
            if all(len(run) == 1 or self.kernels_of(run) for run in runs):
                alone = sum(len(run) == 1 for run in runs)
                found.setdefault((alone, len(runs)), []).append(tuple(runs))
        return found[min(found)]

    def part(self, run: Run) -> TensorProgram | None:
        """A run as a program of its own; None where what follows needs more than one result of it."""
        graph = self.program.graph
        behind = [a for p, n in enumerate(graph.nodes) if p not in run for a in n.args]
        results = [p for p in run if p == graph.output or p in behind]
        if len(results) != 1:
            return None
        types, at, made = graph.types(), dict[int, int](), list[Node]()
        for p in dict.fromkeys(a for n in run for a in graph.nodes[n].args if a not in run):
            at[p] = len(made)
            made.append(Node(Input(f"i{at[p]}", types[p])))
        for p in run:
            at[p] = len(made)
            made.append(Node(graph.nodes[p].op, tuple(at[a] for a in graph.nodes[p].args)))
        return TensorProgram("part", SGraph(tuple(made), at[results[0]]))

    def kernels_of(self, run: Run) -> dict[int, list[Candidate]]:
        """Every kernel of a part by its number, and its candidates that are right."""
        part = self.part(run)
        if part is None:
            return {}
        if show(part) not in self.kernels:
            self.kernels[show(part)] = dict(self.grown(part))
        return self.kernels[show(part)]

    def grown(self, part: TensorProgram) -> Iterator[tuple[int, list[Candidate]]]:
        if len(part.inputs) >= self.most_ops:
            return
        block, given = operators(self.program), max(3, len(part.inputs))
        space = Space(Operators(), block, block_ops=self.most_ops, block_inputs=given, results=0, nodes=ALL)
        space = replace(space, patience=ALL, rules_off=frozenset(RULE_NAMES))
        journal, seen = Journal(), set[int]()
        for family in generate(part, space, BARE, journal):
            number = self.table.number_graph(family.sgraph) if family else -1
            if family is None or number in seen:
                continue
            seen.add(number)
            if not agrees(part, Candidate("", family, uncut(family.sgraph), (), ())):
                continue
            if right := [c for c in instantiate(family, space, BARE, journal) if is_correct(part, c)]:
                yield number, right

    def rows(self) -> set[Key]:
        return {key for cut in self.cuts() for key in self.rows_of(cut)}

    def rows_of(self, cut: tuple[Run, ...]) -> Iterator[Key]:
        for chosen in product(*(self.kernels_of(run) if len(run) > 1 else (None,) for run in cut)):
            key = tuple(zip(cut, chosen, strict=True))
            alike = {(str(self.part(run)), number) for run, number in key}
            if len(alike) == len({part for part, _ in alike}):
                yield key

    def cost_s(self, key: Key) -> float:
        """The exact count of a row: kernels run one after another, and nothing is cached."""
        return math.fsum(map(self.part_s, *zip(*key, strict=True)))

    @cache  # noqa: B019 (a few parts of one program)
    def part_s(self, run: Run, number: int | None) -> float:
        part = self.part(run)
        assert part is not None
        return count_s(part.graph if number is None else self.kernels_of(run)[number][0].sgraph)

    __hash__ = object.__hash__


def uncut(graph: SGraph) -> SGraph:
    """One block and one iteration: what is not right in these is right in no others."""
    whole = {Load: lambda op: Load(op.operand, ()), Store: lambda op: Store(())}
    made: list[Node] = []
    for node in graph.nodes:
        op = node.op
        if isinstance(op, Custom):
            inside = (Node(whole.get(type(n.op), lambda op: op)(n.op), n.args) for n in op.block.nodes)
            op = Custom(BlockGraph((), None, tuple(inside)))
        made.append(Node(op, node.args))
    return SGraph(tuple(made), graph.output)


def count_s(graph: SGraph) -> float:
    """The exact count of a graph, which is the same at all sizes that are legal."""
    return exact_s(counted(graph, next(legal_sizes(graph, graph.conditions())), BATCH), cached=False)


# ---------------------------------------------------------------- the search
def key_of(plain: Plain, row: KernelSequence) -> Key:
    kernels: dict[int, int] = {}
    for number, family in row.families:
        names = {op.name: f"i{n}" for n, op in enumerate(row.parts[number].program.inputs)}
        nodes = tuple(
            Node(Input(names[n.op.name], n.op.type)) if isinstance(n.op, Input) else n for n in family.sgraph.nodes
        )
        kernels[number] = plain.table.number_graph(SGraph(nodes, family.sgraph.output))
    return tuple((part.positions, kernels.get(number)) for number, part in enumerate(row.parts))


def searched(plain: Plain, space: Space) -> tuple[dict[Key, KernelSequence], list[PrunedSequence]]:
    found = [f for f in kernel_sequences(plain.program, space, BARE, 0, lambda: False) if f]
    rows = [f for f in found if isinstance(f, KernelSequence)]
    return {key_of(plain, row): row for row in rows}, [f for f in found if isinstance(f, PrunedSequence)]


def whole_s(there: Plain, row: KernelSequence) -> float:
    """The exact count of a row, as one graph."""
    graph = row.full_graph({number: family.sgraph for number, family in row.families})
    first = next(instantiate(Family("f1", there.program, graph, row), there.space(), BARE, Journal()))
    return count_s(first.sgraph)


def passed(program: TensorProgram, key: Key) -> int:
    """Elements that the parts of a row write, where symbols are 1."""
    types = program.graph.types()
    return sum(types[max(run)].elements.value({"b": 1}) for run, _ in key)


CASES = [
    *((seed, 4) for seed in (1, 3, 5, 8, 9, 19, 22)),
    *((seed, 5) for seed in (2, 12, 13, 15, 16, 17, 18, 20, 21)),
]
"""Seeds, and how many operators a kernel may have, loads included: so few that none holds the program."""


@cache
def plain(seed: int, most_ops: int) -> Plain:
    program = drawn(seed)
    assert program is not None
    return Plain(program, most_ops)


@pytest.mark.parametrize(("seed", "most_ops"), CASES)
def test_every_row_that_there_is_is_found_and_the_best_is_the_same(seed: int, most_ops: int) -> None:
    there = plain(seed, most_ops)
    rows, given_up = searched(there, there.space())
    expected = there.rows()

    assert all(len(key) > 1 for key in expected)
    assert not given_up
    assert expected == rows.keys()
    least_s = min(map(there.cost_s, expected))
    assert least_s == pytest.approx(min(whole_s(there, row) for row in rows.values()), rel=1e-12)


@pytest.mark.parametrize(("seed", "most_ops"), CASES[::3])
def test_a_space_with_fewer_rows_has_the_first_of_them_those_that_pass_least(seed: int, most_ops: int) -> None:
    there = plain(seed, most_ops)
    every, _ = searched(there, there.space())
    few, _ = searched(there, there.space(rows=3, row_kernels=2))
    one, _ = searched(there, there.space(rows=1, row_kernels=1))
    written = [passed(there.program, key) for key in every]

    assert sorted(written) == written
    assert few.keys() <= every.keys()
    assert 1 <= len(few) <= 3
    assert [*one] == [*few][:1] == [*every][:1]


@pytest.mark.parametrize(("seed", "most_ops"), [(1, 4), (16, 5), (20, 5)])
def test_a_whole_search_proves_every_row_and_its_counts_add_up(seed: int, most_ops: int) -> None:
    there = plain(seed, most_ops)
    target, space = BARE.replace(kind="gpu"), there.space(row_maps=1)
    session = Session(there.program, target=target, at=BATCH, space=space)
    journal, progress = Journal(clock=lambda: 0.0), Progress()
    for _ in explore(session.task, journal, Steering, progress):
        pass
    session.close()
    book = ledger(journal.events)
    proved = {key_of(there, v.candidate.family.sequence) for v in progress.proved if v.candidate.family.sequence}

    assert there.rows() == proved
    assert book.space_breakdown is not None
    assert book.space_breakdown.adds_up
    assert book.finished is not None
    assert "Nothing was excluded but by sound rules" in book.finished.claim
    assert "budget" not in book.finished.claim


def test_a_part_that_a_budget_left_is_told() -> None:
    there = plain(*CASES[0])
    _, given_up = searched(there, there.space(row_nodes=3))

    assert given_up
    assert {"budget.nodes"} == {f.reason.rule for f in given_up}
    assert all(f.stood_for > 0 for f in given_up)


def test_the_programs_have_two_parts_and_three_and_some_are_cut_in_several_ways() -> None:
    cuts = [plain(*case).cuts() for case in CASES]

    assert {2, 3, 4} == {len(of[0]) for of in cuts}
    assert sum(len(of) > 1 for of in cuts) > 2
    assert sum(len(plain(*case).rows()) > 1 for case in CASES) > len(CASES) / 2


def normed() -> TensorProgram:
    b = ProgramBuilder("normed")
    made = b.matmul(b.matmul(b.input("x", "b", 4), b.input("w", 4, 2)), b.input("v", 2, 4))
    return b.build(b.binary("div", made, b.reduce("sum", made, 1)))


def test_what_needs_cancellation_is_lost_and_dominated_by_what_is_found() -> None:
    there = Plain(normed(), 5)
    rows, _ = searched(there, there.space())
    lost = there.rows() - rows.keys()

    assert lost  # such as (x / sum(x)) / sum(x / sum(x)), outside A_eq
    kept = {(run, number) for key in rows for run, number in key}
    for run, number in {part for key in lost for part in key} - kept:
        assert number is not None
        found = [c for r, k in kept if r == run and k is not None for c in there.kernels_of(r)[k]]
        assert found
        for worse in there.kernels_of(run)[number]:
            assert any(compare(c, worse, cost_of(c, True), cost_of(worse, True)) for c in found), worse.sgraph
