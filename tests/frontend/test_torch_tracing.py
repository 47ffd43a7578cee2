"""A trace beside other threads that compile, trace and run models."""

import threading
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue

import numpy as np
import pytest
import torch
from torch import nn

from prism_explore.errors import UnsupportedOperator
from prism_explore.frontend import trace
from prism_explore.frontend.torch_tracing import open_to_other_threads
from prism_explore.ir.interpreter.reference import evaluate_results
from prism_explore.ir.tensors import tensor as T


def doubled(x):
    return x + x


def traced_by_its_bytecode(x):
    b, s, _ = x.shape
    keep = torch.ones(s, s, dtype=torch.bool).tril()
    return torch.softmax((x @ x.mT).masked_fill(~keep, -1e9), -1).reshape(b * s, s)


def test_traces_do_not_delete_what_is_compiled():
    compilations = []

    def backend(module, _):
        compilations.append(module)
        return module

    model, x = nn.Linear(4, 4), torch.ones(2, 4)
    compiled = torch.compile(model, backend=backend, dynamic=False)
    compiled(x)
    for code, types in ((doubled, {"x": T("b", 4)}), (traced_by_its_bytecode, {"x": T("b", "s", 6)})):
        trace(code, types)
        assert torch.equal(model(x), compiled(x))

    assert 1 == len(compilations)


class _Meeting(nn.Module):
    """While its first layer is traced, another thread runs its second one, which lasts longer."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Module(), nn.Module()
        self.first.forward, self.second.forward = self._first, self._second
        self._is_inside, self._may_end, self.found = threading.Event(), threading.Event(), SimpleQueue()

    def forward(self, x):
        with ThreadPoolExecutor(1) as pool:
            self._pool = pool
            made = self.first(x)
            self._may_end.set()
            self.found.put(self._running.result(60))
        return self.second(made)

    def _first(self, x):
        self._running = self._pool.submit(lambda: self.second(torch.ones(2, 4)))
        assert self._is_inside.wait(60)
        return x + x

    def _second(self, x):
        self._is_inside.set()
        assert self._may_end.wait(60)
        return x * x


def test_a_model_can_run_in_another_thread_while_it_is_traced():
    model = _Meeting()

    program = trace(model, {"x": T("b", 4)}).program

    assert torch.equal(torch.ones(2, 4), model.found.get_nowait())
    assert 3 == len(program.graph.nodes)


def test_others_trace_while_a_backend_searches():
    def backend(module, _):
        with open_to_other_threads(), ThreadPoolExecutor(1) as pool:
            assert 2 == len(pool.submit(trace, doubled, {"x": T("b", 4)}).result(60).program.graph.nodes)
        return module

    x = torch.ones(2, 4)
    assert torch.equal(x + x, torch.compile(doubled, backend=backend)(x))


class _Scaled(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.layers, self.scale = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8)), scale

    def forward(self, x):
        return self.layers(x) * self.scale


def test_threads_that_compile_trace_and_run_models_do_not_disturb_one_another():
    rounds = 4

    def compile_and_run(seed):
        for n in range(rounds):
            model, x = _Scaled(seed + n), torch.ones(2, 8)
            compiled = torch.compile(model, backend="aot_eager", dynamic=False)
            with torch.no_grad():
                assert torch.allclose(model(x), compiled(x), atol=1e-5)

    def trace_many(seed):
        for n in range(rounds):
            columns = 8 + seed + n
            program = trace(lambda x, w: torch.relu(x) @ w, {"x": T("b", columns), "w": T(columns, 8)}).program
            assert str(columns) == str(program.inputs[0].type.dims[1])

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(work, 20 * n) for n in range(2) for work in (compile_and_run, trace_many)]:
            done.result(120)


def test_no_transform_stays_begun_where_one_cannot_be_traced():
    def function(x):
        return torch.func.hessian(lambda v: (v**3).sum() * v.max().item())(x)

    expected = torch.func.hessian(lambda v: (v**3).sum())(torch.ones(4))

    with pytest.raises(UnsupportedOperator):
        trace(function, {"x": T(4)})

    assert type(torch.ones(4)) is torch.Tensor
    assert not torch._C._functorch.is_functorch_wrapped_tensor(torch.ones(4))
    torch.testing.assert_close(torch.func.hessian(lambda v: (v**3).sum())(torch.ones(4)), expected)


def _tangent(x, v, w):
    return torch.func.jvp(lambda u: torch.tanh(u @ w), (x,), (v,))


def test_a_gradient_of_a_gradient_is_traced_by_its_operators():
    def penalty(x, w):
        slope = torch.func.grad(lambda u: (u @ w).sin().sum())
        return torch.func.grad(lambda u: slope(u).square().sum())(x)

    made = trace(penalty, {"x": T(2, 3), "w": T(3, 4)})
    given = [torch.randn(2, 3), torch.randn(3, 4)]

    (found,) = evaluate_results(
        made.program, {b.name: x.numpy() for b, x in zip(made.bindings, made.bind(*given), strict=True)}
    )

    np.testing.assert_allclose(penalty(*given).numpy(), found, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("batch", [2, "b"])
def test_a_tangent_is_traced_by_its_operators(batch):
    made = trace(_tangent, {"x": T(batch, 3), "v": T(batch, 3), "w": T(3, 4)})
    given = [torch.randn(2, 3), torch.randn(2, 3), torch.randn(3, 4)]

    found = evaluate_results(made.program, {b.name: x.numpy() for b, x in zip(made.bindings, given, strict=True)})

    for expected, result in zip(_tangent(*given), found, strict=True):
        np.testing.assert_allclose(expected.numpy(), result, rtol=1e-5, atol=1e-6)
