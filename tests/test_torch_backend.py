"""torch.compile(model, backend=...): what is replaced, what is left and why, and that results and gradients stay."""

import warnings
from importlib.metadata import entry_points

import pytest
import torch
from torch import nn

import prism_explore as px
from prism_explore import torch_backend
from prism_explore.torch_backend import TorchCompiler
from tests.test_session import machine

D, N = 32, 48


class Gated(nn.Module):
    """A norm that two products share, a gate, and a way back."""

    def __init__(self):
        super().__init__()
        self.norm = nn.RMSNorm(D, eps=1e-6)
        self.gate, self.up = nn.Linear(D, N, bias=False), nn.Linear(D, N, bias=False)
        self.down = nn.Linear(N, D, bias=False)

    def forward(self, x):
        h = self.norm(x)
        return x + self.down(nn.functional.silu(self.gate(h)) * self.up(h))


def compiler(**more):
    """One that replaces whatever it can: this is no place to ask whether it is faster."""
    options = {"budget": px.Budget(trials=1, seconds=20), "at_least": 0.0, **more}
    return TorchCompiler(target=machine(), **options)


def compiled(module, backend):
    torch.compiler.reset()
    return torch.compile(module, backend=backend, dynamic=False)


@pytest.fixture(scope="module")
def gated():
    torch.manual_seed(0)
    module, backend = Gated().eval(), compiler()
    fast = compiled(module, backend)
    with torch.no_grad():
        fast(torch.randn(2, 3, D))
    return module, fast, backend


def test_a_gated_layer_becomes_two_kernels_over_all_rows(gated):
    _, _, backend = gated

    assert [True, True] == [row.replaced for row in backend.rows], backend.report()
    first = [row.program.splitlines()[1].strip() for row in backend.rows]
    assert ["x0 = input f32[6, 32]", "x0 = input f32[6, 48]"] == first
    assert [2, 1] == [r.program.count("matmul(") for r in backend.rows]
    assert all(r.candidate and r.ratio for r in backend.rows)
    assert 2 == backend.report().count("replaced")


def test_what_was_compiled_gives_torch_s_numbers(gated):
    module, fast, _ = gated
    for seed in range(3):
        x = torch.randn(2, 3, D, generator=torch.Generator().manual_seed(seed))
        with torch.no_grad():
            torch.testing.assert_close(module(x), fast(x), rtol=2e-4, atol=2e-5)


def test_gradients_are_torch_s(gated):
    module, fast, _ = gated
    grads = []
    for run in (module, fast):
        x = torch.linspace(-1, 1, 2 * 3 * D).reshape(2, 3, D).requires_grad_()
        module.zero_grad()
        run(x).square().sum().backward()
        grads.append([x.grad, *(p.grad.clone() for p in module.parameters())])

    for wanted, found in zip(*grads, strict=True):
        torch.testing.assert_close(wanted, found, rtol=1e-3, atol=1e-4)


def test_equal_regions_are_searched_once():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(D, D, bias=False), nn.Linear(D, D, bias=False)

        def forward(self, x):
            return self.b(torch.sort(self.a(x)).values)

    backend = compiler()
    module = Twice().eval()
    with torch.no_grad():
        x = torch.randn(4, D)
        torch.testing.assert_close(module(x), compiled(module, backend)(x), rtol=2e-4, atol=2e-5)

    assert [True, True] == [r.replaced for r in backend.rows], backend.report()
    assert 1 == len({r.program for r in backend.rows})
    assert 1 == len({r.ratio for r in backend.rows})


def test_what_is_not_faster_is_left_and_says_so():
    backend = compiler(at_least=1e9)
    layer = nn.Linear(D, N, bias=False).eval()
    x = torch.randn(4, D)
    with torch.no_grad():
        torch.testing.assert_close(layer(x), compiled(layer, backend)(x), rtol=0, atol=0)

    assert "as fast as torch eager; 1e+09x is asked for" in backend.report()
    assert not any(r.replaced for r in backend.rows)


def test_what_cannot_be_traced_is_left_with_the_reason():
    def masked(q, k, v, keep):
        return nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=keep)

    backend = compiler()
    q, k, v = (torch.randn(2, 4, 8) for _ in range(3))
    keep = torch.ones(4, 4, dtype=torch.bool).tril()

    torch.testing.assert_close(masked(q, k, v, keep), compiled(masked, backend)(q, k, v, keep))
    assert [False] == [r.replaced for r in backend.rows]
    assert "dtype bool" in backend.report()


def test_symbolic_sizes_are_left_with_what_to_do():
    backend = compiler()
    layer = nn.Linear(D, N, bias=False).eval()
    torch.compiler.reset()
    fast = torch.compile(layer, backend=backend, dynamic=True)
    with torch.no_grad():
        x = torch.randn(4, D)
        torch.testing.assert_close(layer(x), fast(x))

    assert "dynamic=False" in backend.report()


def test_a_call_that_a_kernel_does_not_take_goes_to_torch_with_one_warning(gated):
    module, fast, _ = gated
    x = torch.randn(3, 2, D).transpose(0, 1)
    with torch.no_grad(), warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        torch.testing.assert_close(module(x), fast(x), rtol=2e-4, atol=2e-5)


def test_the_backend_has_a_name_that_torch_finds():
    (found,) = [e for e in entry_points(group="torch_dynamo_backends") if e.name == "prism"]

    assert torch_backend.prism is found.load()


def test_an_unknown_option_is_named():
    with pytest.raises(px.ShapeError, match="no option fast"):
        TorchCompiler()(torch.fx.symbolic_trace(nn.Linear(2, 2)), [], fast=True)


@pytest.mark.slow
def test_a_llama_model_keeps_its_hidden_states_and_its_products_are_kernels():
    from transformers import LlamaConfig, LlamaModel

    torch.manual_seed(0)
    config = LlamaConfig(
        hidden_size=D,
        intermediate_size=N,
        num_attention_heads=4,
        num_key_value_heads=2,
        num_hidden_layers=2,
        vocab_size=50,
    )
    model, ids, backend = LlamaModel(config).eval(), torch.randint(0, 50, (2, 3)), compiler()
    with torch.no_grad():
        wanted = model(input_ids=ids, use_cache=False).last_hidden_state
        found = compiled(model, backend)(input_ids=ids, use_cache=False).last_hidden_state

    torch.testing.assert_close(wanted, found, rtol=1e-3, atol=1e-4)
    per_layer = ("queries", "keys", "values", "attention", "way out", "gate and up", "way back")
    assert 2 * len(per_layer) == len(backend.rows), backend.report()
    assert 2 * len(per_layer) - 2 == sum(r.replaced for r in backend.rows), backend.report()
    assert any(r.program.count("matmul(") == 2 for r in backend.rows)
