"""Calls of torch code with numbers, structures, keyword-only arguments and constant tensors beside tensors."""

from __future__ import annotations

import inspect
import json

import numpy as np
import pytest
import torch

import prism_explore as px
from prism_explore.frontend import ArgumentForm, trace
from prism_explore.frontend.argument_form import argument_form, constant_from_plain, constant_to_plain
from prism_explore.frontend.mixed_program import run_mixed
from prism_explore.frontend.mixed_trace import trace_mixed
from prism_explore.ir.interpreter.reference import evaluate_results

X, W = torch.linspace(-1, 1, 12).reshape(3, 4), torch.linspace(0, 2, 12).reshape(3, 4)


def scaled(x, factor, bias=None):
    return torch.relu(x) * factor if bias is None else torch.relu(x) * factor + bias


def by_name(x, *, w):
    return torch.relu(x) * w


def first_columns(x, count):
    return torch.relu(x)[:, :count] + 1


def nested(tensors, pair):
    return torch.relu(tensors["a"]) * pair[0] + tensors["b"][0] - pair[1]


def any_names(x, **more):
    return torch.relu(x) - more["w"]


def gap(x, unused=None, w=None):
    return torch.relu(x) * w


class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(W[0].clone())

    def forward(self, x, factor, *, shift):
        return torch.relu(x) * self.weight * factor + shift


class InPlace(torch.nn.Module):
    """torch rewrites what it calls: it has an operator without a row, and writes into what it made."""

    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(4, 4)
        with torch.no_grad():
            self.inner.weight.copy_(torch.linspace(-0.5, 0.5, 16).reshape(4, 4))
            self.inner.bias.copy_(W[1])

    def forward(self, x, factor):
        y = torch.einsum("ij,kj->ik", self.inner(x), x) * factor
        y.add_(1.0)
        return y


def of_complex(z, w):
    return (z * w[0]).abs().sum(-1, keepdim=True) + z.real


Z = torch.complex(X.sin(), W.cos())
CALLS = [
    (of_complex, (Z, [torch.complex(torch.tensor(2.0), torch.tensor(1.0))]), {}),
    (scaled, (X, 0.5), {}),
    (scaled, (X, 3, None), {}),
    (scaled, (X, 2.0, W), {}),
    (by_name, (X,), {"w": W}),
    (first_columns, (X, 2), {}),
    (nested, ({"b": [W], "a": X}, (W[0], 0.25)), {}),
    (any_names, (X,), {"w": W}),
    (gap, (X,), {"w": W}),
    (Scaled(), (X, 2), {"shift": W}),
    (InPlace(), (X, 2), {}),
]


def declared(code, args, kwargs):
    names = list(inspect.signature(getattr(code, "forward", code)).parameters)
    return {**dict(zip(names, args, strict=False)), **kwargs}


@pytest.mark.parametrize(("code", "args", "kwargs"), CALLS)
def test_a_call_has_the_result_of_the_code_in_one_program_and_in_parts(code, args, kwargs):
    wanted = code(*args, **kwargs).detach().numpy()

    made = trace(code, declared(code, args, kwargs))
    bound = [x.detach().numpy() for x in made.bind(*args, **kwargs)]
    (found,) = evaluate_results(made.program, {b.name: x for b, x in zip(made.bindings, bound, strict=True)})
    mixed = trace_mixed(code, declared(code, args, kwargs))

    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    np.testing.assert_allclose(run_mixed(mixed, mixed.bind(*args, **kwargs)).detach(), wanted, rtol=1e-6)


@pytest.mark.parametrize(("code", "args", "kwargs"), CALLS)
def test_a_form_is_plain_data(code, args, kwargs):
    parameters = list(inspect.signature(getattr(code, "forward", code)).parameters.values())
    form, _ = argument_form(parameters, declared(code, args, kwargs))

    assert ArgumentForm.from_plain(json.loads(json.dumps(form.to_plain()))) == form


@pytest.mark.parametrize(
    ("code", "args", "kwargs", "said"),
    [
        (scaled, (X, 0.75), {}, "'factor' of scaled was 0.5 when it was traced, and is 0.75 in this call"),
        (scaled, (X, torch.tensor(0.5)), {}, "'factor' of scaled was 0.5 when it was traced, and is a Tensor"),
        (scaled, (X, 0.5), {"factor": 0.5}, "scaled was given factor twice"),
        (scaled, (X, 0.5, None, 1), {}, "4 arguments were given by position"),
        (by_name, (X, W), {}, "missing: w"),
        (nested, ({"a": X}, (W[0], 0.25)), {}, "argument 'tensors' of nested has the structure"),
    ],
)
def test_a_call_that_differs_from_the_traced_one_is_refused_with_both(code, args, kwargs, said):
    given = next((a, k) for f, a, k in CALLS if f is code)
    made = trace(code, declared(code, *given))

    with pytest.raises(px.ShapeError, match=said):
        made.bind(*args, **kwargs)


def test_a_call_may_leave_out_a_constant():
    made = trace(scaled, {"x": X, "factor": 0.5})

    assert made.bind(X)[0] is X


def test_tensors_written_in_the_code_are_inputs_that_no_call_passes():
    literal = torch.tensor([[1.0, 2.5, -3.0, 0.1]])
    made = trace(lambda x: torch.relu(x) * literal + torch.tensor([True, False, True, True]), {"x": X})
    bound = made.bind(X)
    (found,) = evaluate_results(made.program, {b.name: x.numpy() for b, x in zip(made.bindings, bound, strict=True)})

    assert len(made.constants) == 2 and made.signature.parameters == ()
    np.testing.assert_allclose(found, made.reference(X), rtol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.bool])
def test_a_constant_tensor_is_written_down_exactly(dtype):
    tensor = (torch.linspace(-1, 1, 6).reshape(2, 3) / 3).to(dtype)
    name, found = constant_from_plain(json.loads(json.dumps(constant_to_plain("c", tensor))))

    assert name == "c" and found.dtype == dtype and torch.equal(found, tensor)


def test_a_saved_kernel_keeps_how_it_is_called_and_its_constants(tmp_path):
    def code(x, pair, *, factor):
        return torch.relu(x) * pair[0] * factor + torch.tensor([0.5, -1.0, 0.25, 3.0])

    x, w = X.contiguous(), W.contiguous()
    sess = px.Session(code, x=x, pair=(w, 1), factor=2.0, budget=px.Budget(trials=1, seconds=1.0), baselines=())
    best = sess.best()
    again = px.load_kernel(best.save(tmp_path / "code.kernel"))

    assert torch.allclose(best.kernel(x, (w, 1), factor=2.0), code(x, (w, 1), factor=2.0))
    assert torch.equal(again(x, pair=(w, 1)), best.kernel(x, (w, 1)))
