from __future__ import annotations

import pytest

from prism_explore.errors import ShapeError
from prism_explore.ir.text import parse
from prism_explore.targets import GPUS
from prism_explore.tune.space.figures import figures_of, guess_sizes
from tests.strategies import R1, rmsnorm_linear

A100 = GPUS["a100"]
OPEN = """sgraph
  x = input f32[b, 64]
  %1 = custom(x) grid[]
    %0 = load(0, imap=?)
    %1 = relu(%0)
    %2 = store(%1, omap=?)
  return %1"""


def test_illegal_sizes_name_the_condition_that_they_break() -> None:
    graph = parse(R1)
    legal = figures_of(graph, {"gx": 4, "f": 4, "b": 8}, A100)
    odd = figures_of(graph, {"gx": 5, "f": 4, "b": 8}, A100)
    large = figures_of(graph, {"gx": 1, "f": 1, "b": 8}, A100.replace(shared_memory_bytes=100))

    assert legal.is_legal
    assert any("/gx" in text and "not a positive whole number" in text and "dim" in text for text in odd.broken)
    assert any("shared memory" in text and "exceeds" in text for text in large.broken)


def test_figures_of_open_maps_have_no_time() -> None:
    found = figures_of(parse(OPEN), {"b": 8}, A100)

    assert found.costs.time_s is None
    assert found.costs.memory_bytes == 2 * 8 * 64 * 4
    assert "unknown while maps are unbound" in str(found)


@pytest.mark.parametrize("sizes", [{}, {"b": 8}, {"b": 8, "gx": 0, "f": 1}])
def test_a_symbol_without_a_positive_value_is_an_error(sizes: dict[str, int]) -> None:
    with pytest.raises(ShapeError, match="needs a positive value"):
        figures_of(parse(R1), sizes, A100)


def test_the_guess_is_legal_and_no_slower_than_one_block() -> None:
    graph = parse(R1)
    guess = guess_sizes(rmsnorm_linear(), graph, (), (("b", 8),), A100)

    assert guess is not None
    found = figures_of(graph, {**guess.numbers, "b": 8}, A100)
    one = figures_of(graph, {**dict.fromkeys(guess.numbers, 1), "b": 8}, A100)
    assert found.is_legal
    assert (found.costs.time_s or 0) <= (one.costs.time_s or 0)
