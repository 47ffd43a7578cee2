"""Kernels in a row, held against a time to beat: no bound is above what is counted, and nothing below is lost."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import islice

import pytest

from prism_explore.cost.roofline import time_bound_of
from prism_explore.cost.sequence_budget import times_to_beat_of_parts
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import RegionPruned
from prism_explore.events.ledger import ledger
from prism_explore.generate.event_log import PrunedSequence
from prism_explore.instantiate import instantiate
from prism_explore.ir.program import ProgramBuilder, TensorProgram
from prism_explore.ir.text import show
from prism_explore.ir.transforms.partition import canonical_text
from prism_explore.pipeline.search_space import Space, default_space
from prism_explore.pipeline.stages import Candidate, Family, KernelSequence
from prism_explore.search.explore import Progress, Steering, Task, explore
from prism_explore.search.kernel_sequence import SequenceTimeToBeat, kernel_sequences
from prism_explore.session.session import Session
from prism_explore.targets import Target
from tests.cost.counting import BARE, BATCH, ROOMY, counted, exact_s
from tests.cost.found import legal_sizes
from tests.cost.test_ceiling import Watched

ROWS = 8


def layers(count: int = 8) -> TensorProgram:
    """Layers of different widths, the first of which reads x, and the last too: no kernel holds them."""
    b = ProgramBuilder("layers")
    x = b.input("x", "b", 4)
    weights = [b.input(f"w{n}", 4, 4) for n in range(count)]
    made = x
    for n, w in enumerate(weights):
        made = b.unary("silu" if n % 2 else "exp", b.matmul(made, w))
        if n in (count // 2, count - 1):
            made = b.binary("add", made, x)
    return b.build(made)


def masked_layers() -> TensorProgram:
    """Masked attention between layers: a mask says nothing of the weights of other kernels."""
    b = ProgramBuilder("masked_layers")
    x = b.input("x", 4, 6)
    made = x
    for n in range(3):
        made = b.unary("silu", b.matmul(made, b.input(f"w{n}", 6, 6)))
    scores = b.binary("mask", b.matmul(made, b.input("k", 6, 4)), b.band(4, 4, None, 0))
    made = b.matmul(b.unary("exp", scores), b.input("v", 4, 6))
    for n in range(3, 7):
        made = b.unary("silu", b.matmul(made, b.input(f"w{n}", 6, 6)))
    return b.build(made)


PROGRAMS = {p.name: p for p in (layers(), masked_layers())}


def space_of(program: TensorProgram) -> Space:
    return replace(default_space(program), rows=ROWS)


@cache
def rows(
    name: str, target: Target, best_s: float | None = None
) -> tuple[tuple[KernelSequence, ...], tuple[PrunedSequence, ...]]:
    to_beat = None if best_s is None else SequenceTimeToBeat(best_s, BATCH)
    found = list(kernel_sequences(PROGRAMS[name], space_of(PROGRAMS[name]), target, 0, lambda: False, to_beat))
    return tuple(f for f in found if isinstance(f, KernelSequence)), tuple(
        f for f in found if isinstance(f, PrunedSequence)
    )


def family(row: KernelSequence) -> Family:
    return Family("f1", row.program, row.full_graph({n: f.sgraph for n, f in row.families}), row)


def candidates(name: str, row: KernelSequence, target: Target) -> list[Candidate]:
    return list(instantiate(family(row), space_of(PROGRAMS[name]), target, Journal()))


def counts(name: str, row: KernelSequence, target: Target, cached: bool) -> list[float]:
    """The exact cost of some candidates of a row, at some numbers."""
    return [
        exact_s(counted(c.sgraph, sizes, BATCH), cached)
        for c in candidates(name, row, target)[:6]
        for sizes in islice(legal_sizes(c.sgraph, c.conditions), 1)
    ]


@pytest.mark.parametrize(("target", "cached"), [(BARE, False), (ROOMY, True)], ids=["no cache", "all cached"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_a_kernel_of_a_row_is_held_against_is_below_what_is_counted_of_the_whole_row(name, target, cached):
    found, _ = rows(name, target)
    assert found
    several = 0
    for row in found:
        least_s = min(counts(name, row, target, cached))
        times_to_beat = times_to_beat_of_parts(row.program, row.parts, float("inf"), BATCH, target)
        assert any(c is not None and c.other_kernels_s > 0 for c in times_to_beat.values())
        for _, part in row.families:
            time_to_beat = times_to_beat[canonical_text(part.program)]
            assert time_to_beat is not None
            growth = Watched(part.program, replace(default_space(part.program), results=0, nodes=60), time_to_beat)
            same = {growth.family_bound_s[f.id] for f in growth.run() if f and show(f.sgraph) == show(part.sgraph)}
            several += len(same)
            assert all(0 < s <= least_s * (1 + 1e-12) for s in same)
    assert several > 2


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_row_below_the_time_to_beat_is_still_found_and_what_is_given_up_is_told(name):
    found, given_up = rows(name, BARE)
    assert not given_up
    least = {
        show(family(r).sgraph): min(time_bound_of(c, BATCH, BARE).time_s for c in candidates(name, r, BARE))
        for r in found
    }
    counted_s = {show(family(r).sgraph): counts(name, r, BARE, cached=False) for r in found}
    times = sorted(set(least.values()))
    for best_s in (0.5 * times[0], times[0], 1.0001 * times[0], 2 * times[-1]):
        kept, cut = rows(name, BARE, best_s)
        texts = {show(family(r).sgraph) for r in kept}

        assert {text for text, s in least.items() if s < best_s} <= texts
        for text in least.keys() - texts:
            assert all(best_s <= s * (1 + 1e-12) for s in counted_s[text])
        assert bool(cut) or times[0] < best_s
        assert {"cost.floor"} >= {c.reason.rule for c in cut}


def test_with_the_rule_off_no_row_is_given_up():
    space = replace(space_of(layers()), rules_off=frozenset({"cost.floor"}))
    found = list(kernel_sequences(layers(), space, BARE, 0, lambda: False, SequenceTimeToBeat(1e-12, BATCH)))

    assert [r for r in found if isinstance(r, KernelSequence)]
    assert not [r for r in found if isinstance(r, PrunedSequence)]


def searched(best_s: float, target: Target) -> tuple[Task, Journal]:
    session = Session(layers(), target=target, at=BATCH, time_to_beat_s=best_s)
    journal = Journal(clock=lambda: 0.0)
    for _ in explore(session.task, journal, Steering, Progress()):
        pass
    session.close()
    return session.task, journal


@pytest.mark.parametrize(("measured", "soundness"), [(False, "sound"), (True, "heuristic")])
def test_rows_that_were_given_up_are_regions_with_numbers_and_the_counts_add_up(measured, soundness):
    least_s = min(
        time_bound_of(c, BATCH, BARE).time_s for r in rows("layers", BARE)[0] for c in candidates("layers", r, BARE)
    )
    _, journal = searched(least_s, BARE.replace(kind="gpu", measured=measured))
    book = ledger(journal.events)
    cards = [
        e for e in journal.events if isinstance(e, RegionPruned) and e.operator.startswith("in ") and e.stood_for > 0
    ]

    assert not book.families
    assert cards
    assert book.space_breakdown is not None
    assert book.space_breakdown.adds_up
    for card in cards:
        assert (card.reason.rule, card.reason.soundness) == ("cost.floor", soundness)
        assert {"e", "time to beat", "machine"} <= set(card.reason.substitution)
        assert ("measured here" in card.reason.sentence) == measured
