"""Tables of sizes: the same choices, in the same order, as one at a time in Python's integers."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prism_explore.ir.dims import Dim
from prism_explore.tune.space import size_table
from prism_explore.tune.space.parameters import InIntegers, compiled_condition
from prism_explore.tune.space.size_table import RankedSizes, Sizes, SizeTable, enumerated
from tests.strategies import dims

SYMBOLS = ("b", "gx", "gy")
LARGE = 1 << 40
DOMAINS = st.lists(st.integers(1, 6) | st.integers(LARGE, LARGE + 2), min_size=1, max_size=5, unique=True).map(sorted)


@given(st.lists(DOMAINS, min_size=1, max_size=3), st.lists(dims(), max_size=4), st.integers(1, 8), st.data())
@settings(max_examples=60, deadline=None)
def test_the_choices_are_those_of_a_loop_over_all(
    domains: list[list[int]], sizes: list[Dim], chunk: int, data: st.DataObject
) -> None:
    symbols = SYMBOLS[: len(domains)]
    sizes = [d for d in sizes if set(d.symbols) <= set(symbols)]
    limits = [data.draw(st.none() | st.integers(0, 50)) for _ in sizes]
    tests = [InIntegers.of(d, symbols, most) for d, most in zip(sizes, limits, strict=True)]
    depths = [max((1 + symbols.index(s) for s in d.symbols), default=1) for d in sizes]
    conditions = [
        compiled_condition([t.text for t, at in zip(tests, depths, strict=True) if at == depth + 1])
        for depth in range(len(symbols))
    ]
    largest = max((t.largest([d[-1] for d in domains]) for t in tests), default=1)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(size_table, "CHUNK", chunk)
        parts = list(enumerated(domains, conditions, largest))

    def is_legal(values: tuple[int, ...]) -> bool:
        exact = [d.rational(dict(zip(symbols, values, strict=True))) for d in sizes]
        return all(
            x <= most if most is not None else x.denominator == 1 and x >= 1
            for x, most in zip(exact, limits, strict=True)
        )

    found = [tuple(row) for part in parts for row in part.T.tolist()]
    assert [row for row in product(*domains) if is_legal(row)] == found


ROWS = st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4)), min_size=1, unique=True)


def named(row: tuple[int, ...]) -> Sizes:
    return tuple(zip(SYMBOLS, row, strict=True))


@given(ROWS, st.data())
def test_ranked_are_the_sorted_rows(rows: list[tuple[int, ...]], data: st.DataObject) -> None:
    times_s = data.draw(st.lists(st.sampled_from((0.25, 0.5, 1.0)), min_size=len(rows), max_size=len(rows)))
    least, most = data.draw(st.integers(0, 3)), data.draw(st.integers(1, 5))
    ranked = RankedSizes.of(np.array(times_s), SizeTable(SYMBOLS, np.array(rows).T))
    expected = sorted(zip(times_s, map(named, rows), strict=True))

    assert expected == list(ranked) == list(RankedSizes.of_rows(SYMBOLS, expected))
    assert [e for e in expected if least <= dict(e[1])["gx"] <= most] == list(ranked.within({"gx": (least, most)}))
    assert expected == list(ranked.within({"other": (1, 0)}))
    assert expected[1:3] == list(ranked[1:3])


@given(ROWS, st.data())
def test_the_nearest_differ_in_one_symbol_and_nothing_is_between(
    rows: list[tuple[int, ...]], data: st.DataObject
) -> None:
    own = data.draw(st.sampled_from(rows))
    ranked = RankedSizes.of_rows(SYMBOLS, [(float(n), named(row)) for n, row in enumerate(rows)])
    expected: list[tuple[int, ...]] = []
    for place in range(3):
        along = [row for row in rows if row[:place] == own[:place] and row[place + 1 :] == own[place + 1 :]]
        above, below = [row for row in along if row > own], [row for row in along if row < own]
        expected += [*([min(above)] if above else []), *([max(below)] if below else [])]

    assert [(float(rows.index(row)), named(row)) for row in expected] == list(ranked.nearest(named(own)))


def test_a_table_without_rows_has_no_choices() -> None:
    empty = RankedSizes.of_rows(SYMBOLS, [])

    assert not empty
    assert list(empty.nearest(named((1, 2, 3)))) == []
