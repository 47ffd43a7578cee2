"""Dominance holds where it is said to: at every legal size, by what is exactly counted."""

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prism_explore.cost.dominance import (
    at_least,
    compare,
    compare_on_machine,
    cost_of,
    dominance_reason,
    find_dominated,
    never_above,
)
from prism_explore.events.journal import Journal
from prism_explore.generate import generate
from prism_explore.instantiate import instantiate
from prism_explore.ir.analysis.split_reduction import stores_shares
from prism_explore.ir.axes import axes_of
from prism_explore.ir.axis_maps import AxisUse
from prism_explore.ir.dims import ONE, dim
from prism_explore.ir.program import ProgramBuilder, TensorProgram
from prism_explore.ir.text import parse
from prism_explore.pipeline.search_space import default_space
from prism_explore.pipeline.stages import Candidate, Family, Verified
from prism_explore.verify.prover import Prover
from tests.cost.counting import BATCH, cases, counted, legal
from tests.cost.linear import linear
from tests.generate.programs import MACHINE
from tests.strategies import SYMBOLS, dims
from tests.tune.toys import TOY

# ---------------------------------------------------------------- inequalities
CONDITIONS = (dim("b/gy"), dim("12/(f*gx)"))


@st.composite
def numbers(draw: st.DrawFn) -> dict[str, int]:
    """Symbols of at least 1 that meet the conditions."""
    gx = draw(st.integers(1, 12))
    gy = draw(st.integers(1, 12))
    return {"gx": gx, "f": draw(st.integers(1, 12 // gx)), "gy": gy, "b": gy * draw(st.integers(1, 4))}


@settings(max_examples=400)
@given(dims(), dims(), st.lists(numbers(), min_size=1, max_size=8))
def test_what_is_shown_holds_for_all_legal_numbers(one, other, rows):
    """Sums of two random sizes are compared too, so that many are shown."""
    for small, large in ((one, other), (one, one + other), (one * "gx", one * 12), (one * "gy", one * "b" + other)):
        if never_above(small, large, CONDITIONS):
            for row in rows:
                assert small.rational(row) <= large.rational(row)


@pytest.mark.parametrize(
    ("small", "large", "shown"),
    [
        ("b", "b", True),
        ("b", "2*b", True),
        ("gy", "b", True),
        ("b", "gy", False),
        ("4096*b*f*gx", "49152*b", True),
        ("4096*b*f*gx", "49151*b", False),
        ("gx*gy", "12*b", True),
        ("b + f", "b*f", False),
        ("b + f", "b*f + 1", False),  # true, but not term by term: unknown
        ("5*b", "3*b*gx + 2*b*f", True),
        ("2*gx*f - f", "2*gx*f", True),
        ("1/b", "1", True),
        ("b", "100", False),
    ],
)
def test_inequalities_by_hand(small, large, shown):
    assert shown == never_above(dim(small), dim(large), CONDITIONS)


def test_a_product_is_bounded_by_conditions():
    assert at_least((("f", -1), ("gx", -1)), CONDITIONS) * 12 == 1
    assert at_least((("b", 1), ("gy", -1)), CONDITIONS) == 1
    assert at_least((("b", -1),), CONDITIONS) == 0


@given(dims(), st.sampled_from(SYMBOLS))
def test_more_is_never_less(size, symbol):
    positive = all(c > 0 for _, c in size.terms)

    assert never_above(size, size)
    assert not positive or never_above(size, size * symbol)
    assert not positive or not never_above(size + 1, size)


# ---------------------------------------------------------------- candidates
@cache
def proved(program: TensorProgram) -> tuple[Candidate, ...]:
    prover = Prover(program)
    mine = [case.candidate for case in cases() if case.candidate.family.program is program]
    return tuple(c for c in mine if isinstance(prover.verify(c, Journal(), 0), Verified))


def programs() -> dict[str, TensorProgram]:
    return {case.candidate.family.program.name: case.candidate.family.program for case in cases()}


@pytest.mark.parametrize("name", ["rms_linear_small", "scaled_linear", "softmax", "gate", "attention", "two_products"])
def test_a_dominating_candidate_has_legal_numbers_and_costs_no_more_by_count(name):
    found = find_dominated(proved(programs()[name]), staged=False)
    checked = 0
    for steps in found.values():
        for step in steps[:3]:
            for sizes in legal(step.worse)[:6]:
                ours = {s: d.value({**BATCH, **sizes}) for s, d in step.assignment}
                one = counted(step.better.sgraph, ours, BATCH)
                other = counted(step.worse.sgraph, sizes, BATCH)
                checked += 1

                assert ours in [dict(row) for row in _at_any_size(step.better, ours)]
                assert one.loaded + one.stored <= other.loaded + other.stored
                assert one.flops <= other.flops
                assert len(one.held) == len(other.held)
    assert checked or name not in ("attention", "two_products", "rms_linear_small")


def _at_any_size(candidate: Candidate, sizes: dict[str, int]) -> list[dict[str, int]]:
    """The sizes, if they are legal."""
    whole = all(d.rational({**BATCH, **sizes}).denominator == 1 for d in candidate.conditions)
    return [sizes] if whole else []


def test_no_family_is_dominated_by_one_that_is_itself():
    for program in programs().values():
        found = find_dominated(proved(program), staged=True)
        families = {c.family.id for c in proved(program)}

        assert set(found) < families
        assert not {steps[0].better.family.id for steps in found.values()} & set(found)
        for family, steps in found.items():
            assert {s.worse.id for s in steps} == {c.id for c in proved(program) if c.family.id == family}
            assert 1 == len({s.better.family.id for s in steps})


def test_work_on_top_is_dominated_and_says_so_with_numbers():
    lean, fat = linear("f1", "n", True), linear("f2", "n", True, extra=True)
    found = find_dominated((fat, lean), staged=False)
    card = dominance_reason(found["f2"])

    assert ["f2"] == list(found)
    assert ("dominated.by", "heuristic", "f1") == (card.code, card.soundness, card.substitution["dominated by"])
    assert "gx=gx, f=f" == card.substitution["numbers of f1.c1"]
    assert "≤" in card.substitution["arithmetic, flops"]
    assert "f1 were rejected" in card.would_reopen_if


def test_a_grid_over_one_axis_is_no_substitute_for_one_over_both():
    """With fewer blocks it would read less, and leave cores idle."""
    one, both = linear("f1", "n", True), linear("f2", "bn", True)

    assert not find_dominated((one, both), staged=False).get("f2")
    assert ["f1"] == list(find_dominated((one, both), staged=False))  # gy = 1 makes one of the other


def test_what_needs_more_scratch_is_not_dominating():
    held, streamed = linear("f1", "n", False), linear("f2", "n", True)
    costs = {c.id: cost_of(c, staged=True) for c in (held, streamed)}

    assert compare(streamed, held, costs["f2.c1"], costs["f1.c1"]) is not None
    assert compare(held, streamed, costs["f1.c1"], costs["f2.c1"]) is None


def test_of_two_that_cost_the_same_the_first_born_stays():
    assert ["f2"] == list(find_dominated((linear("f1", "n", True), linear("f2", "n", True)), staged=False))
    assert ["f1"] == list(find_dominated((linear("f2", "n", True), linear("f1", "n", True)), staged=False))


def test_numbers_without_a_partner_become_one():
    held, streamed = linear("f1", "n", False), linear("f2", "n", True)
    step = compare(streamed, held, cost_of(streamed, False), cost_of(held, False))

    assert step is None  # an accumulator is scratch on a CPU, and the other has none
    step = compare(held, streamed, cost_of(held, False), cost_of(streamed, False))
    assert step is not None
    assert (("gx", dim("gx")),) == step.assignment
    step = compare(streamed, held, cost_of(streamed, True), cost_of(held, True))
    assert step is not None
    assert dict(step.assignment)["f"] == ONE


# ---------------------------------------------------------------- numbers that two kernels share
def split_sum(shares: str, looped: str, joined: str) -> Candidate:
    """The sums of rows, split over blocks; the second kernel's grid dim and loop as they are given."""
    b = ProgramBuilder("sums")
    program = b.build(b.reduce("sum", b.input("x", "b", 64), 1))
    graph = parse(f"""sgraph
  x = input f32[b, 64]
  %1 = custom(x) grid[x=gx, y={shares}]
    %0 = load(0, imap=[0, 1])
    %1 = sum(%0, dim=1)
    %2 = store(%1, omap=[0, 1])
  %2 = custom(%1) grid[x=gx2]{looped}
    %0 = load(0, imap=[0]{", fmap=1" if looped else ""})
    %1 = {joined}(%0{"" if joined == "accum" else ", dim=1"})
    %2 = store(%1, omap=[0])
  return %2""")
    rows, columns = (axis.name for axis in axes_of(program.graph).axes)
    uses = (
        (AxisUse(rows, 0), AxisUse(columns, 1)),
        (AxisUse(rows, 0), AxisUse(f"{columns}/s", looped=bool(looped))),
    )
    return Candidate("f1.c1", Family("f1", program, graph), graph, uses, graph.conditions())


ONE_BY_ONE = split_sum("s", " loop[i=s]", "accum")


@pytest.mark.parametrize(
    ("other", "size"),
    [
        (split_sum("s", "", "sum"), "s"),
        (split_sum("f2*g", " loop[i=f2]", "accum_sum"), "f2*g"),
    ],
    ids=["all at once", "some at once"],
)
def test_shares_that_are_visited_one_by_one_are_never_dearer(other, size):
    step = compare(ONE_BY_ONE, other, cost_of(ONE_BY_ONE, True), cost_of(other, True))

    assert step is not None
    assert dict(step.assignment)["s"] == dim(size)


def test_a_kernel_that_is_split_and_one_that_is_not_are_not_compared():
    whole = split_sum("1", "", "sum")

    assert stores_shares(ONE_BY_ONE.sgraph)
    assert not stores_shares(whole.sgraph)
    assert compare(whole, ONE_BY_ONE, cost_of(whole, True), cost_of(ONE_BY_ONE, True)) is None


# ---------------------------------------------------------------- one machine that is filled
TWO_CORES = TOY.replace(kind="gpu", cores=2, shared_memory_bytes=1 << 20)


@cache
def with_a_library() -> Candidate:
    """Attention whose products and exponentials are predefined operators, and a kernel for what is left."""
    b = ProgramBuilder("attention")
    q, k, v = b.input("q", 2, 4, 6), b.input("k", 2, 6, 8), b.input("v", 2, 8, 10)
    e = b.unary("exp", b.matmul(q, k))
    program = b.build(b.matmul(b.binary("div", e, b.reduce("sum", e, 2)), v))
    graph = parse("""sgraph
  q = input f32[2, 4, 6]
  k = input f32[2, 6, 8]
  v = input f32[2, 8, 10]
  %3 = matmul(q, k)
  %4 = exp(%3)
  %5 = matmul(%4, v)
  %6 = custom(%4, %5) grid[x=gx, y=gy]
    %0 = load(0, imap=[0, 1])
    %1 = load(1, imap=[0, 1])
    %2 = sum(%0, dim=2)
    %3 = div(%1, %2)
    %4 = store(%3, omap=[0, 1])
  return %6""")
    return Candidate("f0.c1", Family("f0", program, graph), graph, (), graph.conditions())


@cache
def ours() -> tuple[Candidate, ...]:
    """Kernels of our own for the same program, also split ones."""
    program, journal = with_a_library().family.program, Journal(clock=lambda: 0.0)
    space, prover = default_space(program), Prover(program)
    families = (f for f in generate(program, space, MACHINE, journal) if f)
    made = (c for f in families for c in instantiate(f, space, MACHINE, journal))
    return tuple(c for c in made if isinstance(prover.verify(c, Journal(), 0), Verified))


@cache
def outdoing() -> tuple[tuple[Candidate, dict[str, int]], ...]:
    """Candidates of ours, with some of their numbers, by which the one with library calls is outdone."""
    theirs = with_a_library()
    cost = cost_of(theirs, staged=True)
    return tuple(
        (mine, sizes)
        for mine in ours()
        for sizes in legal(mine)[::11]
        if compare_on_machine(mine, theirs, cost_of(mine, True), cost, sizes, TWO_CORES)
    )


def test_what_outdoes_another_fills_the_machine_and_costs_no_more_by_count_than_the_other_with_any_numbers():
    theirs = with_a_library()
    others = [counted(theirs.sgraph, sizes, {}) for sizes in legal(theirs)]

    assert len(others) > 3
    assert {False, True} == {stores_shares(mine.sgraph) for mine, _ in outdoing()[::5]}
    for mine, sizes in outdoing()[::5]:
        one = counted(mine.sgraph, sizes, {})
        assert sizes in legal(mine)
        assert all(k.blocks >= TWO_CORES.cores for k in one.kernels)
        assert [] == [o for o in others if one.loaded + one.stored > o.loaded + o.stored or one.flops > o.flops]


def test_numbers_that_leave_a_core_idle_or_do_not_fit_outdo_nothing_and_neither_does_what_costs_more():
    theirs = with_a_library()
    mine, sizes = outdoing()[0]
    costs = cost_of(mine, staged=True), cost_of(theirs, staged=True)

    assert compare_on_machine(mine, theirs, *costs, sizes, TWO_CORES.replace(cores=1000)) is None
    assert compare_on_machine(mine, theirs, *costs, sizes, TWO_CORES.replace(shared_memory_bytes=8)) is None
    assert compare_on_machine(theirs, mine, *costs[::-1], {"gx": 1, "gy": 4}, TWO_CORES) is None


def test_numbers_that_some_shape_does_not_allow_outdo_nothing():
    whole, halved = (linear("f1", "bn", False) for _ in range(2))
    costs = cost_of(whole, staged=True), cost_of(halved, staged=True)
    sizes = dict.fromkeys(whole.sgraph.parameters, 2)

    assert any("b" in c.symbols for c in whole.conditions)
    assert compare_on_machine(whole, halved, *costs, sizes, TWO_CORES) is None


def test_a_library_call_is_no_kernel_of_one_block():
    """How many blocks it has is not known, so it is no leave to have few."""
    theirs = with_a_library()
    cost = cost_of(theirs, staged=True)

    assert (4, 3, 1) == (cost.launches, cost.predefined, len(cost.blocks))
    for mine in ours():
        step = compare(mine, theirs, cost_of(mine, True), cost)
        assert step is None or all(d in cost.blocks for d in step.costs[0].blocks)
