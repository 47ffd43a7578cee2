"""Results come back in the structure that the torch code returns."""

from __future__ import annotations

import collections
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch.utils import _pytree

from prism_explore import T
from prism_explore.errors import UnsupportedOperator
from prism_explore.frontend import ResultForm, trace
from tests.frontend.test_layouts import compiled

Pair = collections.namedtuple("Pair", "value extra")

STRUCTURES = {
    "tuple": lambda x, y: (x * y + 1,),
    "list": lambda x, y: [x * y + 1],
    "dict": lambda x, y: {"out": x * y + 1},
    "nested": lambda x, y: {"a": (x * y + 1, None), "n": [3, 0.5, "text"]},
    "named tuple": lambda x, y: Pair(x * y + 1, None),
    "twice": lambda x, y: (z := x * y + 1, [z]),
    "an argument": lambda x, y: (x, x * y + 1),
    "a view of an argument": lambda x, y: (x * y + 1, y.t()),
}


@pytest.mark.parametrize("name", STRUCTURES)
def test_the_structure_is_torchs(name: str) -> None:
    code, x, y = STRUCTURES[name], torch.randn(4, 8), torch.randn(4, 8)
    traced = trace(code, {"x": x, "y": y})
    computed = compiled(traced.program)(*traced.bind(x, y))
    found, wanted = traced.signature.results(computed, (x, y), {}, {}), code(x, y)

    assert _pytree.tree_structure(wanted) == _pytree.tree_structure(found)
    for a, b in zip(_pytree.tree_leaves(wanted), _pytree.tree_leaves(found), strict=True):
        torch.testing.assert_close(b, a) if isinstance(a, torch.Tensor) else pytest.approx(a) == b
    torch.testing.assert_close(traced.computed(wanted), computed)


def test_an_argument_is_returned_itself_and_a_form_survives_its_plain_data() -> None:
    traced = trace(STRUCTURES["an argument"], {"x": torch.randn(4, 8), "y": torch.randn(4, 8)})
    form, x = traced.form, torch.randn(4, 8)
    assert form is not None

    assert form.filled(torch.ones(1), {"x": x})[0] is x
    assert form == ResultForm.from_plain(form.to_plain())


def test_a_bare_tensor_has_no_form() -> None:
    assert trace(lambda x: x + 1, {"x": torch.randn(4)}).form is None


def test_a_program_that_returns_only_its_arguments_is_refused() -> None:
    with pytest.raises(UnsupportedOperator, match="nothing that it computes"):
        trace(lambda x: (x, x.t()), {"x": torch.randn(4, 4)})


@dataclass
class Batch:
    x: Any
    w: Any
    scale: float = 2.0


@dataclass
class Scores:
    probabilities: Any
    note: str = "of three"


@dataclass
class Output:
    loss: Any
    scores: Scores
    hidden: Any = None


def test_dataclasses_of_tensors_are_structures_that_torch_does_not_have_to_be_told_of():
    def code(batch):
        z = batch.x @ batch.w * batch.scale
        return Output(z.mean(), Scores(z.softmax(-1)))

    traced = trace(code, {"batch": Batch(T("b", 8), T(8, 3))})
    assert traced.arguments == ("batch_x", "batch_w") and traced.form is not None
    found = traced.form.filled(("loss", "probabilities"), {})
    assert found == Output("loss", Scores("probabilities"))
