from __future__ import annotations

import numpy as np
import pytest

from prism_explore.ir.dims import dim
from prism_explore.ir.graph import SGraph
from prism_explore.ir.text import parse
from prism_explore.targets import GPUS
from prism_explore.tune.space.closed_forms import OPERATIONS, Forms, evaluate
from prism_explore.tune.space.figures import conditions_of, evaluate_costs, figures_of
from prism_explore.tune.space.time_model import model_of_graph
from tests.codegen.graph_files import Case
from tests.codegen.wider import WIDER
from tests.strategies import R1

TARGETS = [GPUS["a100"], GPUS["h100"].replace(name="small", kind="cpu", shared_memory_bytes=1 << 20)]
GRAPHS = [parse(R1), *(c.graph for c in WIDER)]


def numbers(graph: SGraph, value: int) -> dict[str, int]:
    """A value for each symbol, different for each."""
    return {s: value + n for n, s in enumerate((*graph.parameters, *graph.data_symbols))}


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.kind)
@pytest.mark.parametrize("graph", GRAPHS, ids=["r1", *(c.name for c in WIDER)])
@pytest.mark.parametrize("value", [1, 3, 64])
def test_closed_forms_have_the_values_of_the_functions(graph: SGraph, target, value: int) -> None:
    sizes, forms = numbers(graph, value), Forms()
    recorded = evaluate_costs(graph, target, forms.size, {s: forms.symbol(s) for s in sizes})
    direct = figures_of(graph, sizes, target).costs
    values = evaluate(forms.rows, sizes)

    for name in ("memory_bytes", "written_bytes", "flops", "time_s"):
        assert getattr(direct, name) == pytest.approx(values[getattr(recorded, name).index], rel=1e-12), name
    for k, r in zip(direct.kernels, recorded.kernels, strict=True):
        assert (k.blocks, k.iterations) == (values[r.blocks.index], values[r.iterations.index])
        assert k.scratch_bytes == pytest.approx(values[r.scratch_bytes.index], rel=1e-12)


@pytest.mark.parametrize("case", WIDER, ids=lambda c: c.name)
def test_the_figures_are_those_of_the_tuners_model(case: Case) -> None:
    sizes = numbers(case.graph, 2)
    shapes = {s: sizes[s] for s in case.graph.data_symbols}
    model = model_of_graph(case.graph, shapes, TARGETS[0])
    estimate = model.estimate({s: sizes[s] for s in case.graph.parameters})
    found = figures_of(case.graph, sizes, TARGETS[0]).costs

    assert found.time_s == pytest.approx(estimate.time_s, rel=1e-12)
    assert found.memory_bytes == pytest.approx(estimate.dram_bytes, rel=1e-12)


@pytest.mark.parametrize("value", [1, 2, 3, 5, 4096])
def test_the_form_of_a_condition_is_whole_where_the_condition_holds(value: int) -> None:
    graph = parse(R1)
    sizes = dict.fromkeys((*graph.parameters, *graph.data_symbols), value)
    for condition in conditions_of(graph, (), TARGETS[0]):
        forms = Forms()
        at = forms.size(condition.size).index
        found = evaluate(forms.rows, sizes)[at]
        holds = (found.is_integer() and found >= 1) if condition.most is None else found <= condition.most
        assert holds == (condition.broken_by(sizes) == ""), condition


def test_equal_operations_are_recorded_once() -> None:
    forms = Forms()
    first, second = forms.size(dim("4096/(f*gx)")), forms.size(dim("4096/(f*gx)"))

    assert first.index == second.index
    assert len(forms.rows) == len(set(forms.rows))


def test_a_branch_on_a_recorded_value_is_an_error_and_where_is_recorded() -> None:
    forms = Forms()
    x = forms.symbol("x")
    with pytest.raises(TypeError, match="truth value"):
        bool(x < 3)
    chosen = np.where(x < 3, x * 2, 7.0)

    assert [6.0 if v == 3 else 4.0 if v == 2 else 7.0 for v in (2, 4)] == [
        evaluate(forms.rows, {"x": v})[chosen.index] for v in (2, 4)
    ]
    assert {row[0] for row in forms.rows} <= {*OPERATIONS, "number", "symbol"}
