"""Callables under bad input: a clear error or the right result, by every door, and never a wrong number."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch

import prism_explore as px
from prism_explore.codegen import emit_cpu
from prism_explore.codegen.load import load
from prism_explore.frontend import trace
from prism_explore.ir.interpreter.reference import evaluate
from prism_explore.ir.text import parse
from prism_explore.pipeline.stages import Kernel, Parameters, Timed
from prism_explore.runtime.dispatch import Dispatch
from prism_explore.runtime.saved_kernel import SavedKernel
from tests.codegen.corpus import filled
from tests.codegen.cpu.test_compile import planned
from tests.codegen.cpu.test_other_cpus import EVERY, NUMBERS
from tests.tune.toys import TOY, fused, rmsnorm_linear

B, K, N = 4, 16, 24
SIZES = (("gx", 2), ("f", 4))


def kernel(batch=B):
    made = emit_cpu(fused(), Parameters(SIZES), {"b": batch})
    assert isinstance(made, Kernel)
    return made


def timed(batch):
    return batch, Timed(kernel(batch), 1e-5, 1e-5, 1e-5, 3, 1e-7, 1e-6)


def code(x, g, w):
    return torch.nn.functional.rms_norm(x, (K,), g, eps=1e-6) @ w


def traced():
    return trace(code, {"x": px.T("b", K), "g": px.T(K), "w": px.T(K, N)}, "rmsnorm_linear")


@pytest.fixture(scope="module")
def doors(tmp_path_factory):
    """Every way to call the same kernel."""
    made = kernel()
    by_hand = SavedKernel(made, load(made))
    opened = px.load_kernel(by_hand.save(tmp_path_factory.mktemp("kernels") / "rms.kernel"))
    dispatched = Dispatch(rmsnorm_linear(), "b", {"b": B}, [timed(B), timed(8)], TOY, None)
    return {"loaded": load(made), "by hand": by_hand, "opened": opened, "dispatched": dispatched}


@pytest.fixture
def given():
    torch.manual_seed(0)
    return {"x": torch.randn(B, K), "g": torch.randn(K), "w": torch.randn(K, N)}


DOORS = ["loaded", "by hand", "opened", "dispatched"]
BAD = {
    "another device": ("x", lambda t: t.to("meta"), "'x' must be in main memory, found it on meta"),
    "float64": ("x", lambda t: t.double(), "'x' must be float32, found float64"),
    "float16": ("w", lambda t: t.half(), "'w' must be float32, found float16"),
    "whole numbers": ("g", lambda t: t.int(), "'g' must be float32, found int32"),
    "a row too few": ("w", lambda t: t[1:], r"'w' must have shape \(16, 24\), found \(15, 24\)"),
    "a dim too many": ("x", lambda t: t[None], r"'x' must have|outside of 4 to 8"),
    "no dims": ("x", lambda t: t[0, 0], r"'x' must have"),
    "every other column": ("x", lambda t: t.repeat_interleave(2, 1)[:, ::2], "'x' must have strides"),
    "columns first": ("w", lambda t: t.T.contiguous().T, r"'w' must have strides .*pass x.contiguous\(\)"),
    "one row shown often": ("x", lambda t: t[:1].expand(B, K), r"'x' must have strides .*found \(0, 1\)"),
    "backwards": ("x", lambda t: t.numpy()[::-1], "'x' must have strides"),
    "no tensor": ("x", lambda t: t.tolist(), "'x' must be|'x' must have b as dim 0"),
    "nothing": ("g", lambda t: None, "'g' must be a torch tensor or a NumPy array, found NoneType"),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("what", BAD)
def test_what_does_not_fit_is_named(doors, given, door, what):
    name, spoilt, said = BAD[what]
    args = {**given, name: spoilt(given[name])}

    with pytest.raises(px.ShapeError, match=said):
        doors[door](*args.values())


@pytest.mark.parametrize("door", DOORS)
def test_zero_rows_are_refused_where_there_is_no_torch_code(doors, given, door):
    with pytest.raises(px.ShapeError, match=r"found \(0, 16\)|b=0 is outside of 4 to 8.*no torch code"):
        doors[door](given["x"][:0], given["g"], given["w"])


@pytest.mark.parametrize("door", DOORS)
def test_too_few_too_many_and_named_arguments_are_refused(doors, given, door):
    x, g, w = given.values()
    for args in ((x, g), (x, g, w, w), ()):
        with pytest.raises(px.ShapeError, match="takes 3 inputs"):
            doors[door](*args)
    with pytest.raises((px.ShapeError, TypeError), match=r"by position|unexpected keyword"):
        doors[door](x, g, w=w)


@pytest.mark.parametrize("door", DOORS)
def test_inputs_that_share_memory_are_read_and_never_written(doors, door):
    memory = torch.randn(K * N)
    x, g, w = memory[: B * K].view(B, K), memory[:K], memory.view(K, N)
    before = memory.clone()

    torch.testing.assert_close(code(x, g, w), doors[door](x, g, w), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(before, memory, rtol=0, atol=0)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_is_none_spoils_what_it_spoils_in_torch(doors, given, door, bad):
    given["x"][1, 3] = bad
    given["w"][2, 5] = bad
    wanted, found = code(*given.values()), doors[door](*given.values())

    assert torch.equal(wanted.isfinite(), found.isfinite())
    torch.testing.assert_close(wanted[wanted.isfinite()], found[wanted.isfinite()], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", EVERY)
def test_no_kernel_makes_a_number_of_what_is_none(name):
    from prism_explore.codegen.cpu.load import load_plan

    case = EVERY[name]
    sizes = case.sizes({symbol: NUMBERS.get(symbol, 8) for symbol in case.free})
    graph = parse(case.text)
    inputs = filled(graph, sizes)
    first = next(iter(inputs))
    inputs[first].reshape(-1)[-1] = np.nan
    with np.errstate(all="ignore"):
        wanted = evaluate(graph, {k: v.astype(np.float64) for k, v in inputs.items()}, sizes)

    found = load_plan(planned(graph, sizes))(*inputs.values())
    np.testing.assert_array_equal(np.isnan(wanted), np.isnan(found))


# ---------------------------------------------------------------- by value
def test_outside_of_the_range_torch_runs_also_on_no_rows_with_one_warning():
    made = Dispatch(rmsnorm_linear(), "b", {"b": B}, [timed(B), timed(8)], TOY, traced())
    g, w = torch.randn(K), torch.randn(K, N)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for rows in (0, 1, 3, 9, 100):
            x = torch.randn(rows, K)
            torch.testing.assert_close(code(x, g, w), made(x, g, w), rtol=0, atol=0)

    assert ["b=0 is outside of 4 to 8, for which kernels were tuned"] == [
        str(w.message).partition("runs in torch: ")[2] for w in said
    ]


def test_the_ends_of_the_range_and_all_between_have_kernels_and_no_warning():
    made = Dispatch(rmsnorm_linear(), "b", {"b": B}, [timed(B), timed(8)], TOY, traced())
    g, w = torch.randn(K), torch.randn(K, N)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for rows in range(4, 9):
            x = torch.randn(rows, K)
            torch.testing.assert_close(code(x, g, w), made(x, g, w), rtol=1e-4, atol=1e-5)
            assert not isinstance(made.kernel(rows), str)


def test_a_value_for_which_the_proof_does_not_hold_runs_in_torch():
    held = fused()
    only_four = replace(held, proof=replace(held.proof, conditions=("4/b",)))
    point = timed(B)[1]
    limited = replace(point, kernel=replace(point.kernel, verified=only_four))
    made = Dispatch(rmsnorm_linear(), "b", {"b": B}, [(1, limited), (8, limited)], TOY, traced())
    x, g, w = torch.randn(3, K), torch.randn(K), torch.randn(K, N)

    with pytest.warns(UserWarning, match="b=3: no sizes are legal there"):
        torch.testing.assert_close(code(x, g, w), made(x, g, w), rtol=0, atol=0)
    assert not isinstance(made.kernel(2), str)


def test_a_kernel_that_is_wrong_at_a_value_is_not_used_there(monkeypatch):
    import prism_explore.runtime.dispatch as module

    monkeypatch.setattr(module, "load", lambda kernel: lambda *_: np.full((kernel.shapes[0][1], N), np.nan))
    made = Dispatch(rmsnorm_linear(), "b", {"b": B}, [timed(B), timed(8)], TOY, traced())
    x, g, w = torch.randn(5, K), torch.randn(K), torch.randn(K, N)

    with pytest.warns(UserWarning, match="b=5: .*NaN where the program has a number"):
        torch.testing.assert_close(code(x, g, w), made(x, g, w), rtol=0, atol=0)


# ---------------------------------------------------------------- files of other machines
def test_a_kernel_for_another_machine_says_so(tmp_path):
    made = kernel()
    saved = SavedKernel(replace(made, backend="triton", source="import triton"), load(made)).save(tmp_path / "k.kernel")

    with pytest.raises(px.TargetUnavailable, match="needs a GPU, and torch finds none here"):
        px.load_kernel(saved)


def test_a_gpu_that_is_not_here_is_named_before_anything_is_timed():
    with pytest.raises(px.TargetUnavailable, match="cannot be timed"):
        px.Session(rmsnorm_linear(), target="h100", at={"b": B}).dispatch(b=(1, 4))
