"""Torch code to tensor programs: the program equals torch."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

from prism_explore.errors import ShapeError, UnsupportedOperator
from prism_explore.frontend import data_sizes, export, trace
from prism_explore.frontend.mixed_trace import trace_mixed
from prism_explore.frontend.torch_tracing import tracing
from prism_explore.ir.interpreter.reference import evaluate
from prism_explore.ir.tensors import tensor as T
from prism_explore.ir.text import show


def rmsnorm_linear(x, g, w):
    return nn.functional.rms_norm(x, (x.shape[-1],), g, eps=1e-6) @ w


def check(traced, *args):
    """Compare the program in float64 on the bound arguments with torch."""
    doubles = [a.double() for a in args]
    reference = traced.reference.double() if isinstance(traced.reference, nn.Module) else traced.reference
    wanted = reference(*doubles).detach().numpy()
    bound = traced.bind(*doubles)
    inputs = {b.name: t.double().detach().numpy() for b, t in zip(traced.bindings, bound, strict=True)}
    np.testing.assert_allclose(wanted, evaluate(traced.program, inputs), rtol=1e-6, atol=1e-9)


def test_rmsnorm_and_linear_become_primitives_with_a_symbolic_batch(golden):
    traced = trace(rmsnorm_linear, {"x": T("b", 4096), "g": T(4096), "w": T(4096, 4096)})

    golden("frontend/rmsnorm_linear", show(traced.program))


@pytest.mark.parametrize("eps", [1e-6, 0.0, None])
@pytest.mark.parametrize("weighted", [True, False])
def test_rms_norm_equals_torchs_with_and_without_weight_and_eps(eps, weighted):
    def f(x, g):
        return nn.functional.rms_norm(x, (16,), g if weighted else None, eps=eps) + g

    # Without an eps torch takes the machine epsilon of the dtype, so both sides use float64.
    traced = trace(f, {"x": T("b", 16, dtype="f64"), "g": T(16, dtype="f64")})
    check(traced, torch.randn(3, 16), torch.randn(16))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(16)
        self.up = nn.Linear(16, 32)
        self.down = nn.Linear(32, 16, bias=False)

    def forward(self, x):
        return x + self.down(nn.functional.silu(self.up(self.norm(x))))


def test_a_module_brings_its_parameters_and_transposed_weights_become_storage_orders():
    traced = trace(Block(), {"x": T("b", 16)})

    assert traced.program.inputs[0].name == "x"
    assert "up_weight = input f32[16, 32] order(1, 0)" in show(traced.program)
    check(traced, torch.randn(5, 16))


def test_a_module_is_traced_from_example_inputs():
    traced = trace(Block(), {"x": torch.randn(5, 16)})

    assert "x = input f32[5, 16]" in show(traced.program)


def test_a_weight_used_both_ways_is_two_inputs_over_one_tensor():
    def tied(x, w):
        return (x @ w) @ w.T

    traced = trace(tied, {"x": T("b", 8), "w": T(8, 8)})

    assert ["w", "w"] == [b.source for b in traced.bindings if b.source == "w"]
    check(traced, torch.randn(3, 8), torch.randn(8, 8))


def test_scalars_on_either_side_equal_torchs_result():
    def f(x):
        return (2 - x) / 4 + 3 / (x * x + 1) - x.pow(2).mean(-1, keepdim=True) + x.pow(2) * -1

    check(trace(f, {"x": T("b", 8)}), torch.rand(3, 8) + 0.5)


def test_binding_gives_views_and_copies_nothing():
    traced = trace(Block(), {"x": T("b", 16)})
    x = torch.randn(2, 16)

    bound = dict(zip([b.name for b in traced.bindings], traced.bind(x), strict=True))

    assert bound["x"].data_ptr() == x.data_ptr()
    assert bound["up_weight"].data_ptr() == traced.parameters["up.weight"].data_ptr()
    assert (16, 32) == tuple(bound["up_weight"].shape)


def test_an_unsupported_operator_is_named_with_the_users_line_and_the_way_on():
    def f(x, w):
        y = x @ w
        return torch.sort(y, 0).values

    with pytest.raises(UnsupportedOperator) as caught:
        trace(f, {"x": T("b", 8), "w": T(8, 8)})

    assert "operator sort is not supported" in str(caught.value)
    assert "test_export.py" in str(caught.value)
    assert "return torch.sort(y, 0).values" in str(caught.value)
    assert "px.WholeProgram(...), with the same arguments, leaves it to torch" in str(caught.value)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (lambda x: x.add_(1.0).exp(), r"writes into x at .*test_export\.py:\d+ in .*; return the new value"),
        (lambda x: x.double().exp(), "to"),
    ],
)
def test_the_error_of_an_unsupported_use_names_an_alternative(code, message):
    with pytest.raises(UnsupportedOperator, match=message):
        trace(code, {"x": T("b", 8)}, name="f")


def test_arguments_that_do_not_match_the_signature_are_named():
    with pytest.raises(ShapeError, match="missing: w, unknown: v"):
        trace(rmsnorm_linear, {"x": T("b", 8), "g": T(8), "v": T(8, 8)})
    traced = trace(rmsnorm_linear, {"x": T("b", 8), "g": T(8), "w": T(8, 8)})
    with pytest.raises(ShapeError, match=r"takes \(x, g, w\); missing: w"):
        traced.bind(torch.randn(2, 8), torch.randn(8))


def test_every_symbol_needs_a_number_and_no_other_name_has_one():
    program = trace(rmsnorm_linear, {"x": T("b", 8), "g": T(8), "w": T(8, 8)}).program

    assert {"b": 4} == data_sizes(program, {"b": 4})
    with pytest.raises(ShapeError, match="missing: b, unknown: c"):
        data_sizes(program, {"c": 4})
    with pytest.raises(ShapeError, match="sizes start at 1"):
        data_sizes(program, {"b": 0})


def test_the_error_of_a_failed_trace_has_torchs_reason_in_one_sentence(caplog):
    with pytest.raises(UnsupportedOperator, match=r"could not trace.*same reduction dim"):
        trace(lambda x, w: x @ w, {"x": T("b", 4), "w": T(5, 4)})
    assert [] == [r for r in caplog.records if r.levelname == "ERROR"]


@pytest.mark.parametrize(("code", "says"), [(42, "found int"), (lambda: torch.ones(3), "takes no tensor")])
def test_code_that_cannot_be_searched_is_rejected_before_tracing(code, says):
    with pytest.raises(ShapeError, match=says):
        trace(code, {})


@pytest.mark.parametrize("size", ["8", 8.5, True])
def test_a_size_that_is_not_an_integer_is_rejected(size):
    traced = trace(lambda x: x * 2, {"x": T("b", 4)})
    with pytest.raises(ShapeError, match="whole numbers"):
        data_sizes(traced.program, {"b": size})


def test_an_argument_passed_twice_is_rejected():
    traced = trace(lambda x: x * 2, {"x": T("b", 4)})
    with pytest.raises(ShapeError, match="twice"):
        traced.bind(torch.ones(2, 4), x=torch.ones(2, 4))


def test_a_transposed_numpy_array_is_bound_like_a_tensor():
    traced = trace(lambda x, w: nn.functional.linear(x, w), {"x": T("b", 4), "w": T(6, 4)})
    x, w = np.ones((2, 4)), np.ones((6, 4))
    assert (4, 6) == traced.bind(x, w)[1].shape
    with pytest.raises(ShapeError, match="must have 2 dims, found 1"):
        traced.bind(x, w[0])


def test_threads_can_trace_at_the_same_time():
    def scaled(x, w):
        return torch.relu(x) @ w

    def traced_columns(columns):
        return trace(scaled, {"x": T("b", columns), "w": T(columns, 32)}).program.inputs[0].type.dims[1]

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(traced_columns, range(16, 28)))

    assert [str(n) for n in range(16, 28)] == [str(d) for d in found]


def test_a_trace_and_a_compilation_in_two_threads_do_not_wait_for_each_other():
    compiles, traces = threading.Event(), threading.Event()
    done = set()

    def doubled(x):
        return x + x

    def backend(module, _):
        compiles.set()
        traces.wait(10)
        time.sleep(0.2)  # until the other thread waits for a lock
        with tracing(strict=False):
            done.add("compiled")
        # A search, which runs in threads of its own while the backend waits for it.
        search = threading.Thread(target=export_in_a_search, daemon=True)
        search.start()
        search.join(20)
        return module

    def export_in_a_search():
        with tracing(strict=False):
            done.add("exported")

    def trace_meanwhile():
        compiles.wait(10)
        traces.set()
        trace(doubled, {"x": T("b", 4)})
        done.add("traced")

    trace(doubled, {"x": T("b", 4)})  # what torch imports and caches at first is there
    compilation = partial(torch.compile(doubled, backend=backend), torch.ones(2, 4))
    threads = [threading.Thread(target=work, daemon=True) for work in (compilation, trace_meanwhile)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert done == {"compiled", "traced", "exported"}


def test_tensors_that_are_never_read_and_constants_in_the_code_are_no_inputs():
    class Scaled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = torch.nn.BatchNorm1d(8)

        def forward(self, x):
            return self.norm(x) * torch.tensor(0.25) + torch.tensor([2, 2, 2, 2, 2, 2, 2, 2])

    made = trace(Scaled().eval(), {"x": T("b", 8)}, name="f")

    assert {"x", "norm.weight", "norm.bias", "norm.running_mean", "norm.running_var"} == {
        b.source for b in made.bindings
    }
    check(made, torch.randn(3, 8))
    trace(lambda x: x * torch.tensor([1, 2, 4]), {"x": T("b", 3)}, name="f")


@pytest.mark.parametrize(
    ("code", "types", "is_known"),
    [
        (lambda x, w: nn.functional.rms_norm(nn.functional.linear(x, w), (8,)), (T(2, 4, 8), T(8, 8)), True),
        (lambda x, y: nn.functional.scaled_dot_product_attention(x, y, y, is_causal=True), (T(1, 2, 6, 4),) * 2, True),
        (lambda x, m: torch.softmax(x.masked_fill(m, -1e9), -1).mT, (T(2, 4, 4), T(2, 4, 4, dtype="bool")), True),
        (lambda x: torch.cat((-x[..., 4:], x[..., :4]), -1).float().pow(2).mean(-1), (T(2, 8, dtype="bf16"),), True),
        (lambda x: nn.functional.gelu(x.chunk(2, -1)[0], approximate="tanh"), (T(2, 8),), True),
        (lambda x, y: nn.functional.mse_loss(x, y.exp(), reduction="none") * 2, (T(2, 8), T(2, 8)), False),
        (lambda x, w: nn.functional.conv2d(x, w, padding=1).relu(), (T(4, 6, 6), T(2, 4, 3, 3)), True),
        (lambda x, w: nn.functional.conv1d(x, w, padding="same", groups=4), (T(1, 4, 6), T(4, 1, 3)), True),
        (
            lambda x, h, w, v: torch.lstm(x, (h, h), (w, v), False, 1, 0.0, False, False, False)[0],
            (T(2, 2, 4), T(1, 2, 4), T(16, 4), T(16, 4)),
            False,
        ),
    ],
)
def test_a_graph_of_known_operators_has_the_program_that_torch_export_gives(monkeypatch, code, types, is_known):
    graph = torch.fx.symbolic_trace(code)
    inputs = dict(zip((n.target for n in graph.graph.nodes if n.op == "placeholder"), types, strict=True))
    quick = trace(graph, inputs, "f")
    assert is_known == (export._graph_of_known(graph, types) is not None)

    monkeypatch.setattr(export, "_graph_of_known", lambda *_: None)
    slow = trace(graph, inputs, "f")

    assert show(slow.program) == show(quick.program)
    assert (slow.bindings, slow.form, slow.parameters) == (quick.bindings, quick.form, quick.parameters)


def test_autocast_within_a_function_is_read_as_its_casts():
    def mixed(x, w):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = x @ w
        return torch.softmax(y.float(), -1)

    made = trace(mixed, {"x": T("b", 8), "w": T(8, 4)})

    check(made, torch.randn(3, 8), torch.randn(8, 4))


def test_a_result_that_is_written_into_an_argument_is_named():
    with pytest.raises(UnsupportedOperator, match="writes into out"):
        trace(lambda x, out: torch.add(x, 1, out=out), {"x": T("b", 8), "out": T("b", 8)}, name="f")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (
            lambda x: x if x.sum() > 0 else -x,
            r"branches on the value of a tensor.*torch\.where.*torch\.compile.*test_export.py:\d+",
        ),
        (lambda x: x[x > 0].max(), r"an index of dtype bool.*torch\.where.*test_export.py:\d+"),
    ],
)
def test_what_depends_on_data_is_refused_with_its_line_and_what_to_write(code, message):
    with pytest.raises(UnsupportedOperator, match=message):
        trace(code, {"x": T(4, 8)})


class Stateful(torch.nn.Module):
    """Adds to a tensor of its own, which is no buffer; it keeps its last argument, and reads it never."""

    def __init__(self, reads):
        super().__init__()
        self.state, self.last, self.reads = torch.ones(8), torch.zeros(8), reads

    def forward(self, x):
        self.last = x
        y = torch.tanh(x + self.state)
        if self.reads:
            self.state = y[0]
        return y


@pytest.mark.filterwarnings("ignore:The tensor attribute")
def test_a_module_whose_result_depends_on_earlier_calls_is_refused_and_unchanged():
    module, x = Stateful(reads=True), torch.randn(4, 8)

    with pytest.raises(UnsupportedOperator, match=r"Stateful reads self\.state and assigns a new tensor to it"):
        trace(module, {"x": x})
    assert not module._forward_hooks
    assert torch.equal(module.state, torch.ones(8))
    check(trace(Stateful(reads=False), {"x": x}), x)


def test_decompositions_of_torch_warn_of_nothing(recwarn):
    traced = trace(torch.sinc, {"x": T(4)})

    assert "sin(" in show(traced.program)
    assert [] == [str(w.message) for w in recwarn]


@pytest.mark.parametrize(
    "code",
    [
        lambda x: x.nonzero() * 2.0,
        lambda x: nn.functional.dropout(x, training=True) * 2.0,
        lambda x: x + torch.randn_like(x),
    ],
)
def test_what_a_whole_program_refuses_is_not_sent_to_one(code):
    with pytest.raises(UnsupportedOperator, match=r'torch.compile\(.., backend="prism"\) leaves it to torch'):
        trace(code, {"x": T(4, 8)})
    with pytest.raises(UnsupportedOperator):
        trace_mixed(code, {"x": T(4, 8)})


def test_what_a_whole_program_takes_is_sent_to_one():
    with pytest.raises(UnsupportedOperator, match=r"px.WholeProgram\(...\), with the same arguments, leaves it"):
        trace(lambda x: torch.sort(x)[0] * 2.0, {"x": T(4, 8)})


def test_what_code_computes_twice_is_computed_once():
    def norm(x):
        return nn.functional.layer_norm(x, (8,))

    def attention(x, y):
        return torch.softmax(y @ norm(x).mT, -1) @ norm(x)

    inputs = {"x": T("b", 6, 8), "y": T("b", 5, 8)}
    nodes = trace(attention, inputs).program.graph.nodes
    assert len(nodes) == len(set(nodes))
    check(trace(attention, inputs), torch.randn(2, 6, 8), torch.randn(2, 5, 8))

    same = trace(lambda x: (x.exp() + 1, x.exp() + 1), {"x": T(4, 8)})
    assert len(same.program.graph.outputs) == 1
    assert same.form is not None and same.form.count == 1
