"""What is yielded type-checks and is right; what is omitted is wrong or breaks a named constraint."""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest

from prism_explore.errors import ShapeError
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import CandidateInstantiated, CandidateRejected
from prism_explore.generate import generate
from prism_explore.instantiate import instantiate
from prism_explore.instantiate.constraints import CONSTRAINTS
from prism_explore.ir.dims import dim
from prism_explore.ir.graph import SGraph
from prism_explore.ir.interpreter.reference import evaluate
from prism_explore.ir.ops import Accumulate, BlockGraph, Custom, Load, MatMul, Node, ParallelDim, Store
from prism_explore.ir.program import ProgramBuilder, TensorProgram
from prism_explore.ir.text import parse, show
from prism_explore.pipeline.search_space import default_space
from prism_explore.pipeline.stages import Family
from tests.generate.programs import (
    MACHINE,
    Machine,
    attention,
    chain,
    rms_linear_small,
    rmsnorm_linear,
    row_dot,
    scaled_linear,
    scaled_prefixes,
)


def families(program) -> list[Family]:
    """Those of one kernel; two kernels behind a split are in `test_split`."""
    journal = Journal(clock=lambda: 0.0)
    return [f for f in generate(program, replace(default_space(program), results=0), MACHINE, journal) if f]


def solved(family, machine=MACHINE):
    journal = Journal(clock=lambda: 0.0)
    found = list(instantiate(family, default_space(family.program), machine, journal))
    return found, journal


def agrees(program: TensorProgram, graph: SGraph, batch: int, sizes: dict[str, int], seed: int) -> bool:
    rng = np.random.default_rng(seed)
    inputs = {i.name: rng.standard_normal([d.value({"b": batch}) for d in i.type.dims]) for i in program.inputs}
    return np.allclose(evaluate(program, inputs), evaluate(graph, inputs, sizes), rtol=1e-7, atol=1e-9)


PROGRAMS = [
    rmsnorm_linear(d=12, n=8),
    rms_linear_small(),
    scaled_linear(),
    row_dot(),
    chain(),
    attention(),
    scaled_prefixes(),
]
BY_NAME = {"ids": lambda p: p.name}


# ---------------------------------------------------------------- what is yielded
@pytest.mark.parametrize("program", PROGRAMS, **BY_NAME)
def test_every_candidate_is_typed_closed_and_right_at_two_choices_of_sizes(program):
    for family in families(program):
        found, _ = solved(family)
        assert found
        for candidate in found:
            graph = candidate.sgraph
            assert not graph.is_open
            assert program.graph.output_type == graph.output_type
            assert graph.conditions() == candidate.conditions
            assert agrees(program, graph, 4, dict.fromkeys(graph.parameters, 2), 0), show(graph)
            assert agrees(program, graph, 2, dict.fromkeys(graph.parameters, 1), 1), show(graph)


def test_ids_and_order_are_stable():
    (family, *_) = families(rms_linear_small())
    one, told = solved(family)
    other, told_again = solved(family)

    assert ["f1.c1", "f1.c2", "f1.c3"] == [c.id for c in one]
    assert one == other
    assert told.events == told_again.events


def test_grid_dims_never_come_in_two_orders():
    for family in families(chain()):
        found, _ = solved(family)
        cuts = [frozenset(u.axis for u in c.uses[0] if u.grid is not None) for c in found]
        loops = [frozenset(u.axis for u in c.uses[0] if u.looped) for c in found]

        assert len(found) == len(set(zip(cuts, loops, strict=True)))


def test_symbols_step_aside_for_the_users_own():
    b = ProgramBuilder("named_like_ours")
    x, w = b.input("x", "gx", "f"), b.input("w", "f", 6)
    program = b.build(b.matmul(x, w))
    looped = [c for f in families(program) for c in solved(f)[0] if c.sgraph.customs[0][1].loop]

    assert looped
    for candidate in looped:
        assert {"f", "gx"} == set(candidate.sgraph.data_symbols)
        assert not {"f", "gx"} & set(candidate.sgraph.parameters)


def test_every_custom_kernel_has_its_own_symbols():
    open_graph = parse("""sgraph
      x = input f32[b, 4]
      w = input f32[4, 6]
      %2 = custom(x) grid[]
        %0 = load(0, imap=?)
        %1 = exp(%0)
        %2 = store(%1, omap=?)
      %3 = custom(%2, w) grid[]
        %0 = load(0, imap=?)
        %1 = load(1, imap=?)
        %2 = matmul(%0, %1)
        %3 = accum(%2)
        %4 = store(%3, omap=?)
      return %3""")
    b = ProgramBuilder("exp_linear")
    x, w = b.input("x", "b", 4), b.input("w", 4, 6)
    program = b.build(b.matmul(b.unary("exp", x), w))
    found, journal = solved(Family("f1", program, open_graph))
    told = [e for e in journal.events if isinstance(e, CandidateInstantiated)]

    assert 9 == len(found)
    assert {"gx", "gy", "gx2", "gy2", "f2"} == {s for c in found for s in c.sgraph.parameters}
    assert all(agrees(program, c.sgraph, 4, dict.fromkeys(c.sgraph.parameters, 2), 0) for c in found)
    assert "kernel 2: d<->i" in told[0].uses


def test_what_the_journal_tells_is_what_is_yielded():
    (family, *_) = families(rmsnorm_linear(d=12, n=8))
    found, journal = solved(family)
    told = [e for e in journal.events if isinstance(e, CandidateInstantiated)]

    assert [c.id for c in found] == [e.candidate for e in told]
    assert [show(c.sgraph) for c in found] == [e.sgraph for e in told]
    assert ("b<->x", "d<->whole", "n<->whole") == told[0].uses


# ---------------------------------------------------------------- what is omitted
def raw_maps(family: Family, grid_rank: int, with_loop: bool):
    """Every combination of maps, tensor by tensor, that gives a well-typed graph of the right dims."""
    graph = family.sgraph
    position, block = graph.customs[0]
    loads = [(p, n.op) for p, n in enumerate(block.nodes) if isinstance(n.op, Load)]
    ranks = [graph.types()[graph.nodes[position].args[load.operand]].rank for _, load in loads]
    grid = tuple(ParallelDim("xyz"[p], dim(f"g{'xyz'[p]}")) for p in range(grid_rank))
    loop = ParallelDim("i", dim("f")) if with_loop else None

    def cuts(rank):
        for cut in product((None, *range(rank)), repeat=grid_rank):
            used = [d for d in cut if d is not None]
            if len(used) == len(set(used)):
                yield cut

    def choices(rank):
        return product(cuts(rank), (None, *range(rank)) if with_loop else (None,))

    for chosen in product(*(choices(r) for r in ranks)):
        nodes = list(block.nodes)
        for (p, load), (imap, fmap) in zip(loads, chosen, strict=True):
            nodes[p] = Node(Load(load.operand, imap, fmap))
        for omap in cuts(graph.output_type.rank):
            nodes[-1] = Node(Store(omap), block.nodes[-1].args)
            used = {q for (imap, _) in chosen for q, d in enumerate(imap) if d is not None}
            if used != set(range(grid_rank)):
                continue  # a grid dim that cuts nothing only repeats the work
            if with_loop and all(fmap is None for _, fmap in chosen):
                continue  # a loop that cuts nothing only repeats the work
            try:
                closed = list(graph.nodes)
                closed[position] = Node(Custom(BlockGraph(grid, loop, tuple(nodes))), graph.nodes[position].args)
                made = SGraph(tuple(closed), graph.output)
                if made.output_type.dims == family.program.graph.output_type.dims:
                    yield made
            except ShapeError:
                continue


def unordered(graph: SGraph):
    """The maps with grid dims as a set."""
    block = graph.customs[0][1]
    maps = [n.op for n in block.nodes if isinstance(n.op, Load | Store)]
    columns = [tuple(m.imap[p] if isinstance(m, Load) else m.omap[p] for m in maps) for p in range(len(block.grid))]
    fmaps = tuple(m.fmap for m in maps if isinstance(m, Load))
    return tuple(sorted(columns, key=repr)), fmaps


RAW = [
    (rms_linear_small(), (1, 2)),
    (scaled_linear(), (1, 2)),
    (row_dot(), (1, 2)),
    (chain(), (1,)),
    (scaled_prefixes(), (1, 2)),
]


@pytest.mark.parametrize(("program", "grid_ranks"), RAW, ids=lambda x: getattr(x, "name", None))
def test_no_right_choice_of_maps_is_omitted(program, grid_ranks):
    for family in families(program):
        found, _ = solved(family)
        kept = {unordered(c.sgraph) for c in found if len(c.sgraph.customs[0][1].grid) in grid_ranks}
        right = set()
        accumulates = any(isinstance(n.op, Accumulate) for n in family.sgraph.customs[0][1].nodes)
        # An accumulator without a loop is a reduction: another family, which has no accumulator.
        for grid_rank, with_loop in product(grid_ranks, (True,) if accumulates else (False, True)):
            for graph in raw_maps(family, grid_rank, with_loop):
                key = unordered(graph)
                if key in right or not agrees(program, graph, 4, dict.fromkeys(graph.parameters, 2), 0):
                    continue
                if agrees(program, graph, 8, dict.fromkeys(graph.parameters, 2), 1):
                    right.add(key)

        assert right == kept


def test_every_axis_choice_is_either_yielded_or_broken_by_a_constraint():
    from prism_explore.instantiate.constraints import grid_violation, loop_violation
    from prism_explore.instantiate.solve import typed_blocks

    for family in families(attention()):
        (typed,) = typed_blocks(family)
        found, _ = solved(family)
        yielded = {
            (
                frozenset(u.axis for u in c.uses[0] if u.grid is not None),
                frozenset(u.axis for u in c.uses[0] if u.looped),
            )
            for c in found
        }
        subsets = [frozenset(s) for n in range(4) for s in combinations(typed.names, n)]
        for grid, loop in product(subsets, subsets):
            broken = (
                not grid
                or any(grid_violation(typed, a) for a in grid)
                or loop_violation(typed, loop) is not None
                or bool(grid & loop)
            )
            assert broken != ((grid, loop) in yielded), (grid, loop)


def test_a_rejection_names_the_constraint_and_the_operator():
    fused = next(f for f in families(rmsnorm_linear()) if "accum_mean" in show(f.sgraph))
    _, journal = solved(fused)
    rejected = [e for e in journal.events if isinstance(e, CandidateRejected)]
    cards = {e.uses: e.reason for e in rejected}

    assert len(rejected) < 10
    assert {e.reason.rule for e in rejected} <= set(CONSTRAINTS)
    assert "grid.stored" == cards["d<->x",].rule
    assert "loop.count" == cards["b<->i",].rule
    assert "%5 = accum_mean(%3, dim=1)" == cards["b<->i",].substitution["operator"]
    assert {"map.constraint", "dup.canonical"} == {r.code for r in cards.values()}


def test_maps_whose_tiles_never_fit_are_rejected():
    (family, *_) = families(rms_linear_small())
    found, journal = solved(family, Machine(shared_memory_bytes=31))
    codes = [e.reason.code for e in journal.events if isinstance(e, CandidateRejected)]

    assert [] == found
    assert "mem.smem" in codes


def test_a_single_block_is_the_only_choice_where_nothing_can_be_cut():
    b = ProgramBuilder("total")
    x = b.input("x", 4, 6)
    program = b.build(b.reduce("sum", b.reduce("sum", x, 1), 0))
    found = [c for f in families(program) for c in solved(f)[0]]

    assert found
    assert {()} == {c.sgraph.customs[0][1].grid for c in found}
    assert all(agrees(program, c.sgraph, 1, dict.fromkeys(c.sgraph.parameters, 2), 0) for c in found)


@pytest.mark.parametrize("program", [attention(), rmsnorm_linear(), row_dot(), chain(), scaled_prefixes()])
def test_the_choices_of_a_loop_are_those_of_every_set_of_axes(program):
    from prism_explore.instantiate.constraints import LoopChoices, Violation, loop_choices, loop_violation
    from prism_explore.instantiate.solve import typed_blocks

    for typed in (typed for family in families(program) for typed in typed_blocks(family)):
        legal: list[frozenset[str]] = []
        broken: dict[Violation, tuple[str, ...]] = {}
        for looped in (c for n in range(len(typed.names) + 1) for c in combinations(typed.names, n)):
            if (violation := loop_violation(typed, frozenset(looped))) is None:
                legal.append(frozenset(looped))
            else:
                broken.setdefault(violation, looped)

        assert loop_choices(typed) == LoopChoices(tuple(legal), tuple(broken.items()))


def test_the_choices_of_a_loop_are_found_among_many_axes():
    """Of 40 axes there are 2^40 sets."""
    from prism_explore.instantiate.constraints import TypedBlock, loop_choices, loop_violation

    loads = tuple(Node(Load(n)) for n in range(40))
    products = tuple(Node(MatMul(), (n and 39 + n, n + 1)) for n in range(39))
    axes = [(f"a{n}", f"a{n + 1}") for n in range(40)]
    behind = [("a0", f"a{n + 2}") for n in range(39)]
    block = BlockGraph((), None, (*loads, *products, Node(Store(), (78,))))
    typed = TypedBlock(block, (*axes, *behind, ("a0", "a40")))
    found = loop_choices(typed)

    assert found.legal == (frozenset(),)
    assert set(range(80)) == {violation.node for violation, _ in found.broken}
    assert all(loop_violation(typed, frozenset(looped)) == violation for violation, looped in found.broken)
