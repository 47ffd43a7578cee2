"""Whatever rules are on, the same families are proved and the same one is best: small programs, made at random.

Each program's space is small enough to be searched without any rule. A family is the same if it has the same number
in one table (`canonical.Expressions`), the best is that of the tuner's model at given shapes and any legal numbers.
"""

from collections import Counter
from functools import cache
from itertools import count, islice

import pytest

from prism_explore.generate.explain_excluded import explain_excluded
from prism_explore.generate.pruning.rules import RULE_NAMES
from prism_explore.ir.axes import axes_of
from prism_explore.ir.text import parse
from tests.generate.small import Found, Searcher, programs, small

SEEDS = programs(34)
CANCELS = "its result is the program's by an equality that does not follow from the axioms of equality"


UNFIT = ("with a single share, map.constraint", "with a single share, mem.smem")
"""Of two kernels behind a split: the stated space wants them to be one kernel when there is a single share."""


def excluded(why: str) -> bool:
    return why == CANCELS or why.startswith(UNFIT)


@cache
def searcher(seed: int) -> Searcher:
    made = small(seed)
    assert made is not None
    return Searcher(made)


@cache
def pruned(seed: int) -> Found:
    return searcher(seed).search()


@cache
def bare(seed: int) -> Found:
    return searcher(seed).search(RULE_NAMES)


def beyond(seed: int, found: Found) -> dict[int, str]:
    """Families that the pruned search has not, each with why it is no program of the stated space."""
    case = searcher(seed).small
    texts = {v: text for v, text in found.proved.items() if v not in pruned(seed).proved}
    return {v: explain_excluded(case.program, case.space, case.machine, parse(text)) for v, text in texts.items()}


def best_within(seed: int, found: Found) -> float:
    out = beyond(seed, found)
    times = searcher(seed).times
    return min(times[value, uses] for value, uses in times if value in found.proved and value not in out)


def test_the_programs_differ_and_some_have_too_little_memory_for_every_form():
    cases = [searcher(seed).small for seed in SEEDS]

    assert 34 == len({str(c.program.graph.nodes) for c in cases})
    assert {2, 3} == {len(c.program.inputs) for c in cases}
    assert 4 < sum(c.machine.shared_memory_bytes < 64 for c in cases)
    assert all(pruned(seed).proved for seed in SEEDS)


@pytest.mark.parametrize("seed", SEEDS)
def test_without_any_rule_the_same_families_are_proved_and_the_same_one_is_best(seed):
    found = bare(seed)

    assert set() == set(pruned(seed).proved) - set(found.proved)
    assert [] == [why for why in beyond(seed, found).values() if not excluded(why)]
    assert pruned(seed).best_s == best_within(seed, found)
    assert pruned(seed).nodes < found.nodes


@pytest.mark.parametrize("seed", SEEDS)
def test_without_one_rule_the_same_families_are_proved_and_the_same_one_is_best(seed):
    for rule in RULE_NAMES:
        found = searcher(seed).search([rule])

        assert set() == set(pruned(seed).proved) - set(found.proved), rule
        assert [] == [why for why in beyond(seed, found).values() if not excluded(why)], rule
        assert pruned(seed).best_s == best_within(seed, found), rule
        assert pruned(seed).nodes <= found.nodes, rule


# ---------------------------------------------------------------- a time to beat
def just_above(seconds: float) -> float:
    return seconds * (1 + 1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_time_that_only_the_best_beats_leaves_the_best(seed):
    """Once by the model's times, and once by the bounds themselves, which is as sharp as a time to beat can be."""
    whole = pruned(seed)
    told = searcher(seed).search(beat_s=just_above(whole.best_s))
    sharp = searcher(seed).search(beat_s=just_above(whole.least_s))

    assert whole.best_s == told.best_s
    assert set(told.proved) <= set(whole.proved)
    assert whole.least_s == sharp.least_s
    assert sharp.nodes <= told.nodes <= whole.nodes


@pytest.mark.parametrize("seed", SEEDS)
def test_a_time_that_nothing_beats_leaves_nothing(seed):
    least_s = pruned(seed).least_s
    below = searcher(seed).search(beat_s=least_s / 2)

    assert not below.proved
    assert below.rules["cost.floor"]
    assert not searcher(seed).search(["cost.floor"], least_s / 2).rules["cost.floor"]


# ---------------------------------------------------------------- what each rule is there for
def test_every_rule_cuts_something_but_the_one_for_kernels_that_are_split():
    """What counts the results of a split (`limit.results`) has nothing to count here; test_split.py has it cut."""
    cut = sum((pruned(seed).rules for seed in SEEDS), Counter())
    cut += searcher(SEEDS[0]).search(beat_s=pruned(SEEDS[0]).least_s).rules

    assert ["limit.results"] == [rule for rule in RULE_NAMES if not cut[rule]], cut


def same_sizes(seed: int) -> bool:
    """Whether two axes of a program have one size, so that dims match which are no one axis."""
    extents = [a.extent for a in axes_of(searcher(seed).small.program.graph).axes]
    return len(extents) > len(set(extents))


def test_where_axes_have_one_size_matching_them_by_size_opens_graphs_and_loses_nothing():
    cases = list(islice((s for s in count() if small(s) and same_sizes(s)), 8))
    opened = 0
    for seed in cases:
        found = searcher(seed).search(["shape.mismatch"])
        opened += found.nodes > pruned(seed).nodes

        assert set() == set(pruned(seed).proved) - set(found.proved)
        assert [] == [why for why in beyond(seed, found).values() if not excluded(why)]
        assert pruned(seed).best_s == best_within(seed, found)
    assert 4 < opened


def test_what_is_better_outside_the_stated_space_needs_the_program_to_cancel():
    """c * (x * x / x) is c * x, which A_eq does not know: the stated space says so, and so does this test."""
    better = [s for s in SEEDS if bare(s).best_s < pruned(s).best_s]

    assert better
    for seed in better:
        names = [n.op.fn for n in searcher(seed).small.program.graph.nodes if hasattr(n.op, "fn")]
        assert "div" in names and "mul" in names
