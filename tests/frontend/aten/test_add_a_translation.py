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


def log_ndtr(t: Translation, x: object) -> Value:
    tail = t.build.unary("erfc", t.build.scalar("mul", t.tensor(x), str(-(0.5**0.5)), t.line), t.line)
    return t.build.unary("log", t.build.scalar("mul", tail, "0.5", t.line), t.line)


def code(x):
    return torch.special.log_ndtr(x) * 2


def test_a_row_alone_translates_an_operator(monkeypatch) -> None:
    types = {"x": tensor("b", 3)}
    with pytest.raises(UnsupportedOperator, match="operator special_log_ndtr is not supported"):
        export.trace(code, types)

    monkeypatch.setitem(export.BY_NAME, "special_log_ndtr", Row("special_log_ndtr", "special.log_ndtr", log_ndtr))
    program = export.trace(code, types).program

    x = np.random.default_rng(0).normal(size=(4, 3))
    np.testing.assert_allclose(code(torch.tensor(x)).numpy(), evaluate(program.graph, {"x": x}))
