from __future__ import annotations

from pathlib import Path

import pytest

import prism_explore as px
from prism_explore.errors import ShapeError
from prism_explore.targets import GPUS

SAVED = Path(__file__).parent.parent / "data" / "saved" / "relu_double.prism"


def test_a_candidate_has_figures_at_any_sizes() -> None:
    family = px.load(SAVED).families["f1"]
    legal = family.figures("f1.c1", GPUS["a100"], gx=2)
    illegal = family.figures("f1.c1", GPUS["a100"], gx=3)

    assert legal.is_legal
    assert legal.sizes == {"gx": 2, "b": 4}
    assert legal.costs.memory_bytes == 2 * 4 * 64 * 4
    assert [k.blocks for k in legal.costs.kernels] == [2]
    assert any(text.startswith("b/gx = ") for text in illegal.broken)
    assert family.figures("f1.c1", GPUS["a100"], gx=3, b=6).is_legal


def test_a_family_has_figures_without_a_time() -> None:
    assert px.load(SAVED).families["f1"].figures(machine=GPUS["a100"]).costs.time_s is None


def test_an_unknown_candidate_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(ShapeError, match=r"f1 has no candidate 'f9.c1'; it has f1.c1"):
        px.load(SAVED).families["f1"].figures("f9.c1", GPUS["a100"])
