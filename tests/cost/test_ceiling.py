"""The floor of a partial graph is a floor of whatever it grows into; with a time to beat, nothing below it is lost."""

import random
from dataclasses import replace
from functools import cache

import pytest

from prism_explore.cost.roofline import TimeToBeat, least_flops, time_bound_of, time_to_beat_of
from prism_explore.cost.work import flops_of
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import Reason, RegionPruned
from prism_explore.generate.enumerator import Enumerator
from prism_explore.instantiate import instantiate
from prism_explore.ir.dims import DimLike, dim
from prism_explore.ir.ops import MatMul, Reduce
from prism_explore.ir.program import ProgramBuilder, TensorProgram
from prism_explore.ir.text import show
from prism_explore.pipeline.search_space import Space, default_space
from prism_explore.pipeline.stages import Family
from tests.cost.counting import BARE, BATCH, counted, exact_s
from tests.cost.found import legal_sizes
from tests.generate.programs import attention, gate, rms_linear_small, row_dot, scaled_linear, softmax
from tests.tune.toys import TOY

TINY = TOY.replace(caches_bytes=(64,), dram_bytes_per_s=1e9, peak_flops_per_s=1e9)
"""No cache to speak of, and arithmetic as dear as traffic."""
SHAPES = {"b": 4}


class Watched(Enumerator):
    """A growth that keeps every partial graph's floor under the id of its node, and every family's."""

    def __init__(self, program: TensorProgram, space: Space, time_to_beat: TimeToBeat) -> None:
        self.journal = Journal(clock=lambda: 0.0)
        super().__init__(program, space, TINY, self.journal, time_to_beat=time_to_beat)
        self.families: dict[str, Family] = {}
        self.floors: list[tuple[float, float]] = []
        """Of a graph, and of what it grew out of."""
        self.family_bound_s: dict[str, float] = {}
        self.floor_at: dict[str, float] = {}
        """Of kernel graphs, by node."""

    def take_block_step(self, kernel, state, made):
        self.floors.append((made.time_bound.time_s, state.time_bound.time_s))
        yield from super().take_block_step(kernel, state, made)

    def take_kernel_step(self, state, made):
        self.floors.append((made.time_bound.time_s, state.time_bound.time_s))
        yield from super().take_kernel_step(state, made)

    def take_split(self, node, made):
        """What is split is lost with the graph that it splits."""
        for family in super().take_split(node, made):
            if family is not None:
                self.family_bound_s.setdefault(family.id, self.floor_at[node])
            yield family

    def after_kernel_step(self, state):
        self.floor_at[state.id] = state.time_bound.time_s
        for family in super().after_kernel_step(state):
            if family is not None:
                self.family_bound_s.setdefault(family.id, state.time_bound.time_s)
            yield family


def chain() -> TensorProgram:
    b = ProgramBuilder("chain")
    x, y, z = b.input("x", "b", 32), b.input("y", 32, 16), b.input("z", 16, 64)
    return b.build(b.matmul(b.matmul(x, y), z))


def masked_attention(low: int | None = None, columns: DimLike = 8) -> TensorProgram:
    b = ProgramBuilder("masked_attention")
    q, k, v = b.input("q", 8, 6), b.input("k", 6, columns), b.input("v", columns, 6)
    scores = b.binary("mask", b.matmul(q, k), b.band(8, columns, low, 0))
    return b.build(b.matmul(b.unary("exp", scores), v))


def masked_bias() -> TensorProgram:
    b = ProgramBuilder("masked_bias")
    x, e, v = b.input("x", 8, 8), b.input("e", 8, 8), b.input("v", 8, 6)
    return b.build(b.matmul(b.binary("mask", b.binary("mul", x, e), b.band(8, 8, None, 0)), v))


PROGRAMS = {
    p.name: p
    for p in (
        rms_linear_small(),
        scaled_linear(),
        softmax(),
        gate(),
        attention(),
        row_dot(),
        chain(),
        masked_attention(),
        masked_bias(),
    )
}


def space_of(program: TensorProgram, predefined: int) -> Space:
    return replace(default_space(program), predefined_kernels=predefined, nodes=1500, results=0)


@cache
def grown(name: str, predefined: int, best_s: float = float("inf")) -> tuple[Watched, tuple[Family, ...]]:
    program = PROGRAMS[name]
    time_to_beat = time_to_beat_of(program, best_s, SHAPES, TINY)
    assert time_to_beat is not None
    growth = Watched(program, space_of(program, predefined), time_to_beat)
    return growth, tuple(f for f in growth.run() if f is not None)


@cache
def least_s(name: str, predefined: int) -> dict[str, float]:
    """Per family, by its text, the floor of its best candidate."""
    _, families = grown(name, predefined)
    space, journal = space_of(PROGRAMS[name], predefined), Journal(clock=lambda: 0.0)
    found: dict[str, float] = {}
    for family in families:
        floors = [time_bound_of(c, SHAPES, TINY).time_s for c in instantiate(family, space, TINY, journal)]
        if floors:
            found[show(family.sgraph)] = min(floors)
    return found


@pytest.mark.parametrize("predefined", [0, 1])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_partial_graph_is_no_slower_than_what_it_grows_into(name, predefined):
    growth, families = grown(name, predefined)
    whole = least_s(name, predefined)

    assert families
    assert all(before <= after * (1 + 1e-12) for after, before in growth.floors)
    for family in families:
        if show(family.sgraph) in whole:
            assert 0 < growth.family_bound_s[family.id] <= whole[show(family.sgraph)] * (1 + 1e-12)


@pytest.mark.parametrize(("name", "predefined"), [("chain", 0), ("chain", 1), ("scaled_linear", 1), ("attention", 0)])
def test_with_a_time_to_beat_every_family_below_it_is_still_found(name, predefined):
    whole = least_s(name, predefined)
    times = sorted(set(whole.values()))
    for best_s in (times[0], times[len(times) // 2], times[-1]):
        _, families = grown(name, predefined, best_s)

        assert {text for text, s in whole.items() if s < best_s} <= {show(f.sgraph) for f in families}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_no_kernel_can_be_faster_than_is_cut_at_once(name):
    growth, families = grown(name, 0, 1e-9)

    assert not families
    assert 1 == growth.log.nodes
    assert {"cost.floor"} >= {c.rule for c in cards_of(growth)} - {"limit.ops", "limit.needed"}


def cards_of(growth: Watched) -> list[Reason]:
    """The reasons of everything that was too slow."""
    return [e.reason for e in growth.journal.events if isinstance(e, RegionPruned) and e.reason.rule == "cost.floor"]


def test_a_product_in_the_wrong_order_is_cut_where_it_stands():
    """y @ z alone takes more arithmetic than all of (x @ y) @ z, so nothing that has it is below that."""
    best_s = least_s("chain", 0)
    growth, families = grown("chain", 0, 1.2 * min(best_s.values()))
    cards = [
        e.reason for e in growth.log._journal.events if isinstance(e, RegionPruned) and e.reason.rule == "cost.floor"
    ]

    assert len(families) < len(grown("chain", 0)[1])
    assert "e < time to beat" in {c.formula for c in cards}
    assert all(c.soundness == "sound" and c.substitution["machine"] == "toy" for c in cards)
    assert not [f for f in families if "matmul(%1, %2)" in show(f.sgraph)]


def test_where_the_rule_is_off_or_nothing_is_to_beat_nothing_is_cut():
    program = PROGRAMS["chain"]
    space = replace(space_of(program, 0), rules_off=frozenset({"cost.floor"}))
    time_to_beat = time_to_beat_of(program, 1e-12, SHAPES, TINY)
    families = [f for f in Enumerator(program, space, TINY, Journal(), time_to_beat=time_to_beat).run() if f]

    assert [show(f.sgraph) for f in grown("chain", 0)[1]] == [show(f.sgraph) for f in families]
    assert time_to_beat_of(program, None, SHAPES, TINY) is None


def test_of_a_program_with_masks_only_what_is_read_under_any_of_them_is_known_before_it_is_whole():
    b = ProgramBuilder("masked")
    x, y = b.input("x", "b", 4), b.input("y", "b", 4)
    square, bias = (time_to_beat_of(PROGRAMS[n], 1.0, SHAPES, TINY) for n in ("masked_attention", "masked_bias"))

    assert time_to_beat_of(b.build(b.binary("mask", x, y)), 1.0, SHAPES, TINY) is None
    assert time_to_beat_of(masked_attention(columns=16), 1.0, SHAPES, TINY) is None
    assert square is not None
    assert bias is not None
    for time_to_beat, program, elements in ((square, "masked_attention", 3 * 48), (bias, "masked_bias", 48)):
        rest = time_to_beat.without_operators([i.type for i in PROGRAMS[program].inputs])

        assert rest.time_s == 4 * elements / TINY.dram_bytes_per_s
        assert rest == time_to_beat.add_arithmetic(rest, dim(1000), "f32")


@pytest.mark.parametrize("name", ["attention", "masked_attention", "masked_bias", "rms_linear_small", "chain"])
def test_a_partial_graph_is_no_slower_than_what_is_counted_of_all_that_it_grows_into(name):
    """Of families of one kernel, and of two, into which those of one are split."""
    program = PROGRAMS[name]
    space, rng = replace(space_of(program, 0), results=default_space(program).results), random.Random(name)
    time_to_beat = time_to_beat_of(program, float("inf"), BATCH, BARE)
    assert time_to_beat is not None
    growth = Watched(program, space, time_to_beat)
    families = [f for f in growth.run() if f is not None]
    kernels: set[int] = set()

    assert all(before <= after * (1 + 1e-12) for after, before in growth.floors)
    for family in rng.sample(families, min(25, len(families))):
        candidates = list(instantiate(family, space, TINY, growth.journal))
        for candidate in rng.sample(candidates, min(2, len(candidates))):
            tally = counted(candidate.sgraph, next(legal_sizes(candidate.sgraph, candidate.conditions)), BATCH)
            kernels.add(len(tally.kernels))

            assert 0 < growth.family_bound_s[family.id] <= exact_s(tally, cached=False) * (1 + 1e-12)
    assert kernels >= {1, 2}


@pytest.mark.parametrize("name", ["chain", "attention", "rms_linear_small"])
def test_no_family_that_is_cut_would_have_been_faster_by_what_is_counted(name):
    """Whatever is to be beaten: some choices of maps of every family that is then left out, run and counted."""
    program, rng = PROGRAMS[name], random.Random(name)
    space = replace(space_of(program, 0), results=default_space(program).results)

    def grown_below(best_s: float) -> Watched:
        time_to_beat = time_to_beat_of(program, best_s, BATCH, BARE)
        assert time_to_beat is not None
        growth = Watched(program, space, time_to_beat)
        growth.families = {show(f.sgraph): f for f in growth.run() if f is not None}
        return growth

    @cache
    def counts(text: str) -> list[float]:
        candidates = list(instantiate(everything.families[text], space, TINY, Journal()))
        some = rng.sample(candidates, min(2, len(candidates)))
        return [
            exact_s(counted(c.sgraph, next(legal_sizes(c.sgraph, c.conditions)), BATCH), cached=False) for c in some
        ]

    everything = grown_below(float("inf"))
    floors = sorted(set(everything.family_bound_s.values()))
    lost: set[str] = set()
    for best_s in (floors[0] / 2, floors[0], floors[len(floors) // 2], floors[-1]):
        out = everything.families.keys() - grown_below(best_s).families.keys()
        lost |= out
        for text in rng.sample(sorted(out), min(8, len(out))):
            assert all(best_s <= s * (1 + 1e-12) for s in counts(text))
    assert everything.families.keys() == lost


def test_additions_that_a_loop_may_take_over_do_not_count():
    m, k, n = dim("m"), dim("k"), dim("n")

    assert m * n * k == least_flops(MatMul(), [(m, k), (k, n)], (m, n))
    assert dim(0) == least_flops(Reduce("sum", 1), [(m, k)], (m, dim(1)))
    for op, operands, result in (
        (MatMul(), ((m, k), (k, n)), (m, n)),
        (Reduce("rms", 1), ((m, k),), (m, dim(1))),
        (Reduce("mean", 1), ((m, k),), (m, dim(1))),
    ):
        numbers = {"m": 1, "k": 1, "n": 1}
        assert least_flops(op, operands, result).rational(numbers) <= flops_of(op, operands, result).rational(numbers)
