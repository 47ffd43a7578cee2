"""The recipe "Add an ATen translation" of prism_explore/frontend/README.md: one row is enough."""

from __future__ import annotations

import numpy as np
import pytest

from prism_explore.errors import UnsupportedOperator
from prism_explore.frontend import export
from prism_explore.frontend.lower_aten import Row, Translation, Value
from prism_explore.ir.interpreter.reference import evaluate
from prism_explore.ir.tensors import tensor

torch = pytest.importorskip("torch")


def hypot(t: Translation, x: object, y: object) -> Value:
    squares = (t.build.unary("square", t.tensor(value), t.line) for value in (x, y))
    return t.build.unary("sqrt", t.build.binary("add", *squares, t.line), t.line)


def code(x, y):
    return torch.hypot(x, y) * 2


def test_a_row_alone_translates_an_operator(monkeypatch) -> None:
    types = {"x": tensor("b", 3), "y": tensor("b", 3)}
    with pytest.raises(UnsupportedOperator, match="hypot"):
        export.trace(code, types)

    monkeypatch.setitem(export.BY_NAME, "hypot", Row("hypot", "hypot", hypot))
    program = export.trace(code, types).program

    x, y = np.random.default_rng(0).normal(size=(2, 4, 3))
    np.testing.assert_allclose(np.hypot(x, y) * 2, evaluate(program.graph, {"x": x, "y": y}))
