"""torch.compile(model, backend=...): what is replaced, what is left and why, and that results and gradients stay."""

import copy
import json
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from importlib.metadata import entry_points

import pytest
import torch
from torch import nn
from torch._dynamo.exc import TensorifyScalarRestartAnalysis

import prism_explore as px
from prism_explore.entry import torch_answers, torch_compile, torch_default_compiler, torch_effort, torch_replacement
from prism_explore.entry.torch_compile import TorchCompiler
from prism_explore.entry.torch_regions import Region
from prism_explore.entry.torch_report import GraphOutcome, Report, WholeRace
from prism_explore.events.fastest import COMPILED, EAGER
from prism_explore.pipeline.search_space import quick_space
from prism_explore.runtime import kernel_for_sizes
from prism_explore.runtime.call_race import CallRace
from prism_explore.runtime.kernel_build import build_here
from prism_explore.search import explore
from prism_explore.session.session import Session
from tests.runtime import test_best
from tests.runtime.test_best import raced, scripted
from tests.session.test_session import QUICK, machine

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


SEARCHED = {}
"""Outcomes by program: one is searched once for all tests of this file that ask nothing else of a compiler."""


@pytest.fixture(autouse=True, scope="module")
def short_searches():
    """The first families of these programs are found within a hundred partial sGraphs; a race of two rounds will do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch_effort, "quick_space", lambda program: replace(quick_space(program), nodes=100))
        patch.setattr(explore, "compare_with_baselines", partial(explore.compare_with_baselines, rounds=2))
        yield


def compiler(**more):
    """One that replaces whatever it can: this is no place to ask whether it is faster, so one trial will do."""
    options = {"budget": QUICK, "at_least": 0.0, "baselines": (EAGER,), "rest": "eager", **more}
    return TorchCompiler(target=machine(), **options, **({"_found": SEARCHED} if {"rest"} >= more.keys() else {}))


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

    assert [True, True] == [row.replaced for row in backend.outcomes], backend.report()
    first = [row.program.splitlines()[1].strip() for row in backend.outcomes]
    assert ["x0 = input f32[6, 32]", "x0 = input f32[6, 48]"] == first
    assert [2, 1] == [r.program.count("matmul(") for r in backend.outcomes]
    assert all(r.candidate and r.ratio for r in backend.outcomes)
    assert 2 == str(backend.report()).count("replaced")


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

    assert [True, True] == [r.replaced for r in backend.outcomes], backend.report()
    assert 1 == len({r.program for r in backend.outcomes})
    assert 1 == len({r.ratio for r in backend.outcomes})


def test_what_is_not_faster_is_left_and_says_so():
    backend = compiler(at_least=1e9)
    layer = nn.Linear(D, N, bias=False).eval()
    x = torch.randn(4, D)
    with torch.no_grad():
        torch.testing.assert_close(layer(x), compiled(layer, backend)(x), rtol=0, atol=0)

    assert "as fast as torch eager; 1e+09x is required" in backend.report()
    assert not any(r.replaced for r in backend.outcomes)


def test_what_cannot_be_traced_is_left_with_the_reason():
    def double(x, w):
        return x @ w

    backend = compiler()
    x, w = torch.randn(4, 8, dtype=torch.float64), torch.randn(8, 6, dtype=torch.float64)

    torch.testing.assert_close(double(x, w), compiled(double, backend)(x, w))
    assert [] == backend.outcomes
    assert "1 matmul: it has a tensor of float64" in backend.report()


def test_a_report_without_a_graph_says_why_torch_made_none():
    earlier, backend = compiler(), compiler()
    lstm, x = torch.nn.LSTM(4, 4).eval(), torch.randn(3, 2, 4)
    assert "torch has not compiled a graph yet" == str(backend.report())

    with torch.no_grad():
        compiled(lstm, backend)(x)

    said = "torch left code of this process to Python: Dynamo does not support RNN, GRU, or LSTM. Set torch._dynamo"
    assert f"torch has not compiled a graph yet; {said}" in backend.report()
    assert said in earlier.report()
    assert "torch has not compiled a graph yet" == str(compiler().report())
    (break_,) = backend.report().breaks
    with_graph = Report((GraphOutcome((), (), 0, 0, WholeRace("torch eager", {}), 0.0),), (break_,))
    assert said in with_graph
    assert said in with_graph._repr_html_()


def test_a_report_says_why_torch_left_a_whole_function_to_python():
    class Last(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = torch.nn.RNN(4, 4)

        def forward(self, x):
            return self.rnn(x)[0][-1]

    backend = compiler()
    with torch.no_grad():
        compiled(Last().eval(), backend)(torch.randn(3, 2, 4))

    (break_,) = backend.report().breaks
    assert "Dynamo does not support RNN, GRU, or LSTM" == break_.partition(". Set")[0]
    assert "torch._dynamo.config.allow_rnn=True" in break_ and "px.WholeProgram takes them" in break_


def test_other_sizes_have_kernels_where_they_are_faster_and_run_torch_elsewhere(monkeypatch):
    race = CallRace

    def scripted_race(ways):
        found = race(ways)
        took = found.took
        found.took = lambda way, _: took(way, 2.0 if way == "torch" else 3.0 if slow[0] else 1.0)
        return found

    slow = [False]
    monkeypatch.setattr(kernel_for_sizes, "CallRace", scripted_race)
    torch.manual_seed(0)
    backend, module = compiler(wait=True), Gated().eval()
    torch.compiler.reset()
    fast = torch.compile(module, backend=backend, dynamic=True)

    def agrees(lead):
        x = torch.randn(*lead, D)
        with torch.no_grad():
            torch.testing.assert_close(module(x), fast(x), rtol=2e-4, atol=2e-5)

    with warnings.catch_warnings(record=True) as said, ThreadPoolExecutor(4) as pool:
        warnings.simplefilter("always")
        for slow[0], lead in ((False, (2, 3)), (False, (3, 2)), (True, (7, 3)), (False, (3, 5))):
            for _ in range(30):
                agrees(lead)
        assert 12 == len([*pool.map(agrees, [(4, 5), (7, 3), (5, 4)] * 4)])
        for _ in range(30):
            agrees((4, 5))

    assert 1 == len(backend.graphs)
    assert [] == [w for w in said if "runs in torch" in str(w.message)]
    assert [True, True] == [r.replaced for r in backend.outcomes], backend.report()
    for row in backend.outcomes:
        assert "proved for all sizes, tuned at n0=6" in row.reason
        assert {24: False, 16: True, 20: True} == {b.sizes["n0"]: b.kernel is not None for b in row.buckets()}
        assert "kernels at n0=16 (2.00x)" in str(row)
        assert "torch at n0=24 (0.67x)" in str(row)


def test_kernels_for_other_sizes_are_built_beside_the_calls_and_then_used(monkeypatch):
    jobs = []
    monkeypatch.setattr(torch_compile, "_BUILDS", jobs.append)
    monkeypatch.setattr(torch_compile, "build_in_worker", lambda stop: build_here)
    layer, backend = nn.Linear(D, N, bias=False).eval(), compiler(_found={})
    torch.compiler.reset()
    fast = torch.compile(layer, backend=backend, dynamic=True)

    def agrees(rows):
        x = torch.randn(rows, D)
        with torch.no_grad():
            torch.testing.assert_close(layer(x), fast(x), rtol=2e-4, atol=2e-5)

    for rows in (4, 9, 10, 9):
        agrees(rows)
    (row,) = backend.outcomes
    assert "being built at n0=10" in str(row)
    assert (1, 3) == (row.calls.accepted, row.calls.refused)
    (job,) = jobs
    job()
    assert "being timed at n0=10" in str(row)
    for _ in range(60):
        agrees(9)
    assert "decided" == row.buckets()[0].stage


# ---------------------------------------------------------------- precisions, and what acts from beside
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_module_in_half_precision_becomes_kernels_that_are_nearer_to_float32_than_torch_s_rounding(dtype):
    torch.manual_seed(0)
    module, backend = Gated().eval().to(dtype), compiler()
    fast = compiled(module, backend)
    x = torch.randn(2, 3, D, dtype=dtype)
    with torch.no_grad():
        found = fast(x)
        wanted = module.float()(x.float())

    assert [True, True] == [r.replaced for r in backend.outcomes], backend.report()
    assert dtype == found.dtype
    assert all("bf16[" in r.program or "f16[" in r.program for r in backend.outcomes)
    torch.testing.assert_close(wanted, found.float(), rtol=0.02, atol=0.02)


class Cast(nn.Module):
    """A norm in float32 before a product in bfloat16, as language models have it."""

    def __init__(self):
        super().__init__()
        self.product = nn.Linear(D, N, bias=False, dtype=torch.bfloat16)

    def forward(self, x):
        wide = x.float()
        return self.product((wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-6)).to(x.dtype))


def test_casts_end_a_region_and_the_product_between_them_is_replaced():
    torch.manual_seed(0)
    module, backend = Cast().eval(), compiler()
    x = torch.randn(4, D, dtype=torch.bfloat16)
    with torch.no_grad():
        found = compiled(module, backend)(x)
        torch.testing.assert_close(module(x), found, rtol=0.02, atol=0.02)

    (row,) = backend.outcomes
    assert row.replaced, backend.report()
    assert "bf16[" in row.program
    assert "f32[" not in row.program
    assert torch.bfloat16 == found.dtype


@pytest.mark.parametrize("inside", [True, False])
def test_kernels_compute_what_runs_under_autocast_on_operands_that_are_cast(inside):
    torch.manual_seed(0)
    layer = Gated().eval()

    def casting(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return layer(x)

    backend = compiler()
    x = torch.randn(2, 3, D)
    fast = compiled(casting if inside else layer, backend)
    with torch.no_grad():
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=not inside):
            found = fast(x)
        wanted = casting(x)

    assert wanted.dtype == found.dtype
    exact = layer.double()(x.double())
    assert (found - exact).abs().max() <= 2 * (wanted - exact).abs().max()
    assert all(row.replaced for row in backend.outcomes), backend.report()
    assert all(graph.covered == graph.computing for graph in backend.report().graphs), backend.report()


def test_a_graph_break_parts_a_module_in_two_that_are_both_replaced():
    torch.manual_seed(0)
    first, second = nn.Linear(D, N, bias=False).eval(), nn.Linear(N, D, bias=False).eval()

    def broken(x):
        h = nn.functional.silu(first(x))
        torch._dynamo.graph_break()
        return second(h) + x

    backend = compiler()
    x = torch.randn(4, D)
    with torch.no_grad():
        torch.testing.assert_close(broken(x), compiled(broken, backend)(x), rtol=2e-4, atol=2e-5)

    assert [True, True] == [r.replaced for r in backend.outcomes], backend.report()


def test_what_is_written_in_place_between_two_operators_keeps_them_apart():
    layer = nn.Linear(D, N, bias=False).eval()

    def overwritten(x):
        h = layer(x)
        x.add_(1.0)
        return nn.functional.silu(h) + x.sum()

    backend = compiler()
    x = torch.randn(4, D)
    with torch.no_grad():
        wanted, found = (run(x.clone()) for run in (overwritten, compiled(overwritten, backend)))
        torch.testing.assert_close(wanted, found, rtol=2e-4, atol=2e-5)

    row = backend.outcomes[0]
    assert row.replaced, backend.report()
    assert "matmul" in row.program and "silu" not in row.program


def test_no_gradient_goes_where_torch_records_none():
    layer = nn.Linear(D, N, bias=False).eval()

    def partly(x):
        with torch.no_grad():
            h = layer(x)
        return nn.functional.silu(h) * x.sum()

    backend, grads = compiler(), []
    fast = compiled(partly, backend)
    for run in (partly, fast):
        x = torch.linspace(-1, 1, 4 * D).reshape(4, D).requires_grad_()
        layer.zero_grad()
        run(x).sum().backward()
        grads.append(x.grad)
        assert layer.weight.grad is None

    torch.testing.assert_close(*grads, rtol=1e-3, atol=1e-4)
    assert [] == backend.outcomes


def test_a_number_that_is_known_only_at_run_time_leaves_the_region_to_torch():
    layer = nn.Linear(D, N, bias=False).eval()

    def scaled(x):
        return layer(x) * x.shape[0]

    backend = compiler()
    torch.compiler.reset()
    fast = torch.compile(scaled, backend=backend, dynamic=True)
    with torch.no_grad():
        for rows in (4, 6):
            x = torch.randn(rows, D)
            torch.testing.assert_close(scaled(x), fast(x), rtol=2e-4, atol=2e-5)

    (row,) = backend.outcomes
    assert row.replaced or "known only when it runs" in row.reason, backend.report()


def test_a_call_that_a_kernel_does_not_take_goes_to_torch_with_one_warning(gated):
    module, fast, _ = gated
    x = torch.randn(3, 2, D).transpose(0, 1)
    with torch.no_grad(), warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        torch.testing.assert_close(module(x), fast(x), rtol=2e-4, atol=2e-5)


def test_copies_of_a_compiled_module_have_weights_of_their_own(gated):
    _, fast, backend = gated
    shared, read = copy.deepcopy(fast), pickle.loads(pickle.dumps(fast))
    x = torch.randn(2, 3, D)
    with torch.no_grad():
        before = fast(x)
        for copied in (shared, read):
            torch.testing.assert_close(before, copied(x), rtol=2e-4, atol=2e-5)
            copied.down.weight.zero_()
            torch.testing.assert_close(x, copied(x))
        torch.testing.assert_close(before, fast(x))
    assert copy.deepcopy(backend) is backend
    assert repr(TorchCompiler(rest="eager", seed=3)) == repr(
        pickle.loads(pickle.dumps(TorchCompiler(rest="eager", seed=3)))
    )


def test_the_backend_has_a_name_that_torch_finds():
    (found,) = [e for e in entry_points(group="torch_dynamo_backends") if e.name == "prism"]

    assert torch_compile.prism is found.load()


def test_an_unknown_option_is_named():
    with pytest.raises(px.ShapeError, match=r"found fast=True: pass backend=px\.TorchCompiler"):
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
    before = ("norm", "queries", "keys", "rotated queries", "rotated keys", "values and attention")
    after = ("way out", "norm, gate and up", "way back")
    last_norm = 1
    assert 2 * len(before + after) + last_norm == len(backend.outcomes), backend.report()
    assert 2 * len(before + after) - 1 <= sum(r.replaced for r in backend.outcomes), backend.report()
    assert "81 of 81 computing nodes" in str(backend.report())
    assert any(r.program.count("matmul(") == 2 for r in backend.outcomes)


def test_a_slice_of_a_larger_tensor_runs_its_kernel():
    def product(x, w):
        return x.split(D, -1)[1] @ w

    backend, x, w = compiler(), torch.randn(4, 3 * D), torch.randn(D, N)
    fast = compiled(product, backend)
    for _ in range(2):
        torch.testing.assert_close(product(x, w), fast(x, w), rtol=2e-4, atol=2e-5)

    (row,) = backend.outcomes
    assert (2, 0) == (row.calls.accepted, row.calls.refused), backend.report()
    assert "f32[4, 32] strides(96, 1)" in row.program


def test_a_region_whose_kernel_never_ran_is_not_called_replaced():
    calls = torch_compile.Calls(refused=3, why="'x' has other strides")
    row = torch_compile.RegionOutcome("mm", True, "f1.c1 is 6.67x as fast as torch eager", calls=calls)

    assert str(row).startswith("left") and "3 of 3 calls ran torch: 'x' has other strides" in str(row)
    calls.accepted = 1
    assert str(row).startswith("replaced") and "3 of 4 calls ran torch" in str(row)


def test_the_default_compiler_runs_where_it_was_the_fastest(monkeypatch):
    scripted(monkeypatch, eager=1.2, compiled=0.5)
    backend, x = compiler(baselines=(EAGER, COMPILED), at_least=1.0), torch.randn(4, D)
    monkeypatch.setattr(torch_replacement, "torch_compiled", lambda code: made.append(code) or code)
    made = []
    layer = nn.Linear(D, N).eval().requires_grad_(False)
    torch.testing.assert_close(layer(x), compiled(layer, backend)(x), rtol=2e-4, atol=2e-5)

    assert 1 == len(made)
    assert "compiled  linear" in backend.report() and "torch.compile took 50 µs" in backend.report()


def test_without_a_race_of_the_whole_graph_a_slower_median_is_not_taken_for_noise(monkeypatch):
    """With another race the kernel is among what is raced, as the difference may be noise."""
    noisy = [replace(r, ratio=0.97, ratio_p25=0.8, ratio_p75=1.1) if r.name == EAGER else r for r in raced(eager=1.2)]
    x, layer = torch.randn(4, D), nn.Linear(D, N).eval().requires_grad_(False)
    monkeypatch.setattr(test_best, "raced", lambda **_: noisy)
    scripted(monkeypatch)
    backend = compiler(at_least=1.0)
    torch.testing.assert_close(layer(x), compiled(layer, backend)(x), rtol=2e-4, atol=2e-5)

    (row,) = backend.outcomes
    assert not row.replaced and "no race of the whole graph" in row.reason, row.reason


def test_training_is_left_to_torch():
    layer, backend = nn.Linear(D, N), compiler()
    x = torch.randn(4, D)
    compiled(layer, backend)(x).sum().backward()

    assert layer.weight.grad is not None
    assert "call it in torch.no_grad()" in backend.report()


def replace_default_compiler(monkeypatch, compiled):
    """For whole graphs and for what is left between kernels."""
    for module in (torch_compile, torch_default_compiler):
        monkeypatch.setattr(module, "compiled_graph", compiled)


@pytest.fixture
def without_inductor(monkeypatch):
    """The default compiler as torch's own code, so that a test does not wait for it."""
    replace_default_compiler(monkeypatch, lambda module, examples: module.forward)
    monkeypatch.setattr(torch_compile, "compiled_between_kernels", lambda module: module.forward)


def race_won_by(name):
    return lambda graph, examples, ways, **more: WholeRace(name, {EAGER: 2e-3, name: 1e-3})


@pytest.mark.parametrize("winner", [EAGER, torch_compile.KERNELS])
def test_the_whole_graph_runs_what_won_the_race(monkeypatch, without_inductor, winner):
    monkeypatch.setattr(torch_compile, "race_whole", race_won_by(winner))
    torch.manual_seed(0)
    layer, backend, x = nn.Linear(D, N, bias=False).eval(), compiler(rest="fastest"), torch.randn(4, D)
    fast = compiled(layer, backend)
    with torch.no_grad():
        for _ in range(2):
            torch.testing.assert_close(layer(x), fast(x), rtol=2e-4, atol=2e-5)

    (row,) = backend.outcomes
    assert (2 if winner == torch_compile.KERNELS else 0) == row.calls.accepted
    assert f"a call runs {winner}" in backend.report()
    assert row.search() is backend.report().session(1)


@pytest.mark.parametrize("trains", [False, True])
def test_without_a_compiler_for_torch_compile_the_graph_runs_what_is_left_and_the_report_says_why(monkeypatch, trains):
    def no_compiler(*_):
        raise RuntimeError("No working C++ compiler found\nand more that nobody reads")

    monkeypatch.setattr("torch._inductor.compile_fx.compile_fx", no_compiler)
    layer, backend, x = nn.Linear(D, N, bias=False).eval(), compiler(rest="fastest"), torch.randn(4, D)
    with torch.set_grad_enabled(trains):
        torch.testing.assert_close(layer(x), compiled(layer, backend)(x), rtol=2e-4, atol=2e-5)

    assert "torch.compile failed: No working C++ compiler found" in backend.report()
    assert "nobody reads" not in backend.report()


# ---------------------------------------------------------------- a second build
@pytest.fixture
def stored(tmp_path, monkeypatch):
    """The folder of a cache, and a module whose answer it has."""
    monkeypatch.setenv("PRISM_EXPLORE_CACHE", str(tmp_path))
    torch.manual_seed(0)
    layer = nn.Linear(D, N, bias=False).eval()
    built(layer, monkeypatch, races=[torch_compile.KERNELS])
    return tmp_path, layer


def built(layer, monkeypatch, races, searches=True, **more):
    """The compiler of a build in which whole graphs are raced so often, and regions are searched or not."""
    backend = compiler(rest="fastest", _found={}, **more)
    replace_default_compiler(monkeypatch, lambda module, examples: module.forward)
    monkeypatch.setattr(torch_compile, "compiled_between_kernels", lambda module: module.forward)
    monkeypatch.setattr(torch_compile, "race_whole", lambda *given, **options: race_won_by(races.pop())(*given))
    monkeypatch.setattr(torch_compile.Session, "_best", ran := Session._best if searches else not_again)
    x = torch.randn(4, D)
    with torch.no_grad():
        torch.testing.assert_close(layer(x), compiled(layer, backend)(x), rtol=2e-4, atol=2e-5)
    monkeypatch.setattr(torch_compile.Session, "_best", ran)
    return backend


def not_again(*_):
    pytest.fail("what is stored is searched again")


def test_a_second_build_neither_searches_nor_races_and_says_from_when_its_answers_are(stored, monkeypatch):
    _, layer = stored
    backend = built(layer, monkeypatch, races=[], searches=False)

    (row,) = backend.outcomes
    assert row.replaced and row.calls.accepted and row.kept
    assert f"found on {row.kept}, proved again" in backend.report()
    assert f"the decision of {backend.graphs[0].race.kept} is kept" in backend.report()
    with backend.report().session(1) as sess:
        assert row.program.strip() == torch_compile.show(sess.program).strip()


@pytest.mark.parametrize(("changed", "by"), [('"source": "', '"source": "/* */ '), ('"family"', '"place"'), ("{", "")])
def test_an_answer_with_another_source_or_a_damaged_one_is_searched_again(stored, monkeypatch, changed, by):
    folder, layer = stored
    (path,) = folder.glob("*.answer")
    assert changed in path.read_text()
    path.write_text(path.read_text().replace(changed, by))
    (row,) = built(layer, monkeypatch, races=[]).outcomes

    assert row.replaced and not row.kept
    assert changed in path.read_text()  # written anew
    assert "/* */" not in path.read_text()


def test_stored_code_is_loaded_and_damaged_code_is_compiled_again(stored, monkeypatch):
    folder, layer = stored
    (path,) = folder.glob("*.answer")
    plain, sources, load = json.loads(path.read_text()), [], torch_answers.load
    monkeypatch.setattr(torch_answers, "load", lambda kernel: sources.append(kernel.source) or load(kernel))
    assert built(layer, monkeypatch, races=[]).outcomes[0].kept
    assert not sources

    for change in ({"object_code": "AAAA" + plain["code"]["object_code"][4:]}, {"nests": 7}, {"digest": ""}):
        path.write_text(json.dumps(plain | {"code": plain["code"] | change}))
        assert built(layer, monkeypatch, races=[]).outcomes[0].kept
        assert plain["kernel"]["source"] == sources.pop()


def test_a_second_build_cuts_as_the_first_one_and_again_where_the_file_is_damaged(stored, monkeypatch):
    folder, layer = stored
    (path,) = folder.glob("*.cut")
    was, cut = path.read_text(), torch_compile.partition
    monkeypatch.setattr(torch_compile, "partition", not_again)
    assert built(layer, monkeypatch, races=[]).outcomes[0].kept
    monkeypatch.setattr(torch_compile, "partition", cut)
    path.write_text(was.replace('"regions": [[[', '"regions": [[[99, '))

    assert built(layer, monkeypatch, races=[]).outcomes[0].kept
    assert was == path.read_text()


def test_a_stored_answer_of_a_wrong_kernel_is_not_used(stored, monkeypatch):
    folder, layer = stored
    (path,) = folder.glob("*.answer")
    plain = json.loads(path.read_text())
    plain["kernel"]["candidate"][1] = plain["kernel"]["candidate"][1].replace("matmul(", "add(", 1)
    path.write_text(json.dumps(plain))

    assert not built(layer, monkeypatch, races=[]).outcomes[0].kept


@pytest.mark.parametrize("more", [{"seed": 1}, {"budget": replace(QUICK, trials=2)}])
def test_another_question_is_not_answered_by_a_stored_answer(stored, monkeypatch, more):
    assert not built(stored[1], monkeypatch, races=[torch_compile.KERNELS], **more).outcomes[0].kept


@pytest.mark.parametrize("is_busy", [False, True])
def test_an_answer_against_a_kernel_is_kept_unless_other_processes_slowed_it(tmp_path, monkeypatch, is_busy):
    monkeypatch.setenv("PRISM_EXPLORE_CACHE", str(tmp_path))
    monkeypatch.setattr(torch_compile, "BUSY_SHARE", -1.0 if is_busy else 1e9)
    layer = nn.Linear(D, N, bias=False).eval()
    (row,) = built(layer, monkeypatch, races=[EAGER], at_least=1e9).outcomes

    assert not row.replaced
    assert is_busy == (not [*tmp_path.glob("*.answer")])


def test_regions_that_differ_in_how_a_weight_is_turned_do_not_share_a_kernel():
    def both(x, w):
        return torch.sort(x @ w.T).values @ w

    torch.manual_seed(0)
    backend, x, w = compiler(), torch.randn(4, D), torch.randn(D, D)
    torch.testing.assert_close(both(x, w), compiled(both, backend)(x, w), rtol=2e-4, atol=2e-4)

    assert [True, True] == [r.replaced for r in backend.outcomes], backend.report()


def test_what_runs_a_symbolic_graph_is_decided_again_at_other_sizes(monkeypatch, without_inductor):
    raced = []

    def race(graph, args, ways, *_, **more):
        assert not any(isinstance(a, torch.SymInt) for a in args)
        raced.append(len(args[-1]))
        return WholeRace(torch_compile.KERNELS, {EAGER: 2e-3})

    monkeypatch.setattr(torch_compile, "race_whole", race)
    layer, backend = nn.Linear(D, N, bias=False).eval(), compiler(rest="fastest", wait=True)
    torch.compiler.reset()
    fast = torch.compile(layer, backend=backend, dynamic=True)
    with torch.no_grad():
        for rows in (4, *[9, 10] * 80, 40, 4):
            x = torch.randn(rows, D)
            torch.testing.assert_close(layer(x), fast(x), rtol=2e-4, atol=2e-5)

    assert [4] == raced
    (graph,) = backend.graphs
    (first, race), (second, said) = graph.races()
    assert first.endswith("=9") and second.endswith("=40")
    assert race.winner in race.seconds and EAGER in race.errors
    assert "torch runs while kernels are" in said and f"at {second}, {said}" in str(backend.report())


def test_a_graph_with_symbols_has_the_kernels_that_an_earlier_graph_found_at_numbers(monkeypatch, without_inductor):
    monkeypatch.setattr(torch_compile, "race_whole", race_won_by(torch_compile.KERNELS))
    torch.manual_seed(0)
    module, backend = Gated().eval(), compiler(rest="fastest", wait=True, _found={})
    torch.compiler.reset()
    fast = torch.compile(module, backend=backend)

    def agrees(*lead):
        x = torch.randn(*lead, D)
        with torch.no_grad():
            torch.testing.assert_close(module(x), fast(x), rtol=2e-4, atol=2e-5)

    agrees(2, 5)
    monkeypatch.setattr(torch_compile.Session, "_best", not_again)
    for _ in range(60):
        agrees(2, 6)

    first, second = backend.graphs
    assert [True] == [r.replaced for r in second.regions], backend.report()
    assert [r.candidate for r in first.regions] == [r.candidate for r in second.regions]
    assert all("proved for all sizes, tuned at n0=10" in r.reason for r in second.regions), backend.report()
    assert all([12] == [b.sizes["n0"] for b in r.buckets()] for r in second.regions)
    assert "kernels are those of an earlier graph" in second.race.note
    assert 1 == len(second.races())


def test_code_between_kernels_is_compiled_once_for_all_sizes_however_many_parts_it_has(monkeypatch):
    parts = []

    def inductor(part, examples):
        parts.append([type(x).__name__ for x in examples])
        return part.forward

    class Sorted(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(D, D, bias=False) for _ in range(10))

        def forward(self, x):
            for layer in self.layers:
                x = torch.sort(layer(x)).values
            return x

    replace_default_compiler(monkeypatch, inductor)
    module, backend = Sorted().eval(), compiler(rest="inductor", _found=SEARCHED)
    torch.compiler.reset()
    fast = torch.compile(module, backend=backend, dynamic=True)
    with torch.no_grad(), torch._dynamo.config.patch(error_on_recompile=True):
        for rows in (4, 9, 5):
            x = torch.randn(rows, D)
            torch.testing.assert_close(module(x), fast(x), rtol=2e-3, atol=2e-4)

    assert 10 == len([row for row in backend.outcomes if row.replaced]), backend.report()
    assert 10 == len(parts)
    assert {"FakeTensor", "SymInt"} >= {kind for examples in parts for kind in examples}


def test_a_region_without_a_program_for_all_sizes_has_a_kernel_for_those_of_the_call(monkeypatch):
    def refused(region):
        raise px.UnsupportedOperator("a size is restricted")

    monkeypatch.setattr(Region, "types", refused)
    layer, backend = nn.Linear(D, N, bias=False).eval(), compiler()
    torch.compiler.reset()
    fast = torch.compile(layer, backend=backend, dynamic=True)
    with torch.no_grad(), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for rows in (4, 6, 4):
            x = torch.randn(rows, D)
            torch.testing.assert_close(layer(x), fast(x), rtol=2e-4, atol=2e-5)

    (row,) = backend.outcomes
    assert row.reason.endswith("at n0=4, torch runs at other sizes: a size is restricted")
    assert (2, 1) == (row.calls.accepted, row.calls.refused)
    assert 1 == len([w for w in said if "runs in torch" in str(w.message)])


class Unpacked(Gated):
    """With a weight of 8 bits in a buffer."""

    def __init__(self):
        super().__init__()
        self.register_buffer("packed", torch.ones(D, D, dtype=torch.int8))

    def forward(self, x):
        return super().forward(x @ self.packed.float())


@pytest.mark.parametrize("made", [Gated, Unpacked])
def test_the_weights_that_are_moved_to_huge_pages_are_the_tensors_of_the_module_that_the_graph_reads(made):
    module, seen = made().eval(), []

    def backend(graph, examples):
        seen.extend(torch_compile._weights(graph, examples))
        return graph.forward

    with torch.no_grad():
        compiled(module, backend)(torch.randn(3, D))

    held = (*module.parameters(), *module.buffers())
    assert {(p.data_ptr(), p.numel() * p.element_size()) for p in held} == set(seen)


def test_torch_may_trace_again_where_its_compiler_does_not_take_a_number_as_a_symbol(monkeypatch):
    def restarts(*_):
        raise TensorifyScalarRestartAnalysis

    monkeypatch.setattr("torch._inductor.compile_fx.compile_fx", restarts)
    with pytest.raises(TensorifyScalarRestartAnalysis):
        torch_default_compiler.compiled_graph(nn.Identity(), [])


def test_keys_and_values_of_two_growing_caches_have_one_size_and_calls_where_they_differ_run_torch():
    def step(q, keys, values, new):
        k, v = (torch.cat((past, new), 1) for past in (keys, values))
        return nn.functional.scaled_dot_product_attention(q, k, v)

    backend = compiler()
    torch.compiler.reset()
    fast = torch.compile(step, backend=backend)
    draw = torch.Generator().manual_seed(0)
    for n in (5, 6, 9, 12):
        q, new = torch.randn(2, 2, 1, D, generator=draw)
        keys, values = torch.randn(2, 2, n, D, generator=draw)
        for x in (keys, values):
            torch._dynamo.mark_dynamic(x, 1)
        torch.testing.assert_close(step(q, keys, values, new), fast(q, keys, values, new), rtol=2e-4, atol=2e-5)

    (row,) = backend.outcomes
    assert row.replaced and "proved for all sizes, tuned at n0=6" in row.reason, backend.report()
    assert "a kernel for these sizes" in row.calls.why
