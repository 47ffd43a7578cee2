"""One proved kernel at many sizes: right at each of them, bounded in what it makes, and torch where that is faster."""

from dataclasses import replace

import pytest
import torch

import prism_explore as px
from prism_explore.errors import ShapeError
from prism_explore.frontend import trace
from prism_explore.pipeline.search_space import default_space
from prism_explore.runtime import kernel_build
from prism_explore.runtime.kernel_build import build_here, build_in_worker
from prism_explore.runtime.kernel_for_sizes import KernelForSizes, NoKernelError, bucket_size, noting_unsettled
from prism_explore.tune.runner.bench import Failure
from tests.session.test_session import QUICK, D, N, machine, rmsnorm_linear

HEAD = 8


def attention(q, k, v, keep):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=keep)


def mean_of_rows(x, g):
    return torch.nn.functional.silu(x * g).mean(0)


def searched(code, at, **types):
    traced = trace(code, types)
    space = replace(default_space(traced.program), nodes=30)
    with px.Session(traced, target=machine(), at=at, budget=QUICK, baselines=(), space=space) as sess:
        return sess.best().kernel


@pytest.fixture(scope="module")
def rows():
    return searched(rmsnorm_linear, {"n": 8}, x=px.T("n", D), g=px.T(D), w=px.T(D, N))


@pytest.fixture(scope="module")
def heads():
    head = px.T("b", "n", HEAD)
    return searched(attention, {"b": 2, "n": 8}, q=head, k=head, v=head, keep=px.T("b", "n", "n", dtype="bool"))


def of_rows(n, seed=0):
    draw = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(*shape, generator=draw) for shape in ((n, D), (D,), (D, N)))


def of_heads(b, n, seed=0):
    draw = torch.Generator().manual_seed(seed)
    q, k, v = torch.randn(3, b, n, HEAD, generator=draw)
    keep = torch.rand(b, n, n, generator=draw) < 0.5
    keep[..., 0] = True
    return q, k, v, keep


class Calls:
    """A kernel and the torch code that it replaces, by a clock by which each call of the latter takes some seconds."""

    def __init__(self, kernel, torch_s, code=rmsnorm_linear, **more):
        self.code = code
        self.now, self.torch_s, self.why = 0.0, torch_s, []
        self.kernel = KernelForSizes(kernel, machine(), clock=self.clock, **more)

    def clock(self):
        self.now += 1e-3
        return self.now

    def __call__(self, *args):
        """What a call returns, run by the kernel or by torch."""
        try:
            return self.kernel(*args)
        except NoKernelError as waiting:
            self.why.append(str(waiting))
            self.now += self.torch_s
            waiting.spent(self.torch_s)
            return self.code(*args)

    def decided(self, *args):
        """The result of a call, once it is decided what runs it."""
        found = self(*args)
        for _ in range(50):
            if all(b.stage == "decided" for b in self.kernel.buckets):
                return self(*args)
            agree(self.code, found, args)
            found = self(*args)
        pytest.fail("it is not decided")


def agree(code, found, args):
    exact = code(*(a.double() if a.is_floating_point() else a for a in args))
    own, torchs = (float((r.double() - exact).abs().max()) for r in (found, code(*args)))
    assert own <= max(2 * torchs, 4 * torch.finfo(torch.float32).eps * float(exact.abs().max()))
    assert found.is_contiguous() and found.shape == exact.shape


def test_rows_of_any_number_are_computed_by_the_kernel_of_their_bucket(rows):
    calls = Calls(rows, torch_s=1.0)
    sizes = (1, 3, 8, 9, 10, 19, 20, 17)
    for seed, n in enumerate(sizes):
        args = of_rows(n, seed)
        agree(rmsnorm_linear, calls.decided(*args), args)

    assert {bucket_size(n) for n in sizes if n != 8} == {b.sizes["n"] for b in calls.kernel.buckets}
    assert all(b.kernel is not None and b.speed_up > 100.0 for b in calls.kernel.buckets)
    assert {"a kernel for these sizes is being timed"} == set(calls.why)


def test_calls_run_torch_while_kernels_are_built_and_switch_when_one_is_there(rows):
    jobs = []
    calls = Calls(rows, torch_s=1.0, start=jobs.append)
    args = of_rows(9)
    with noting_unsettled() as unsettled:
        for _ in range(3):
            agree(rmsnorm_linear, calls(*args), args)

    assert ["a kernel for these sizes is being built"] * 3 == calls.why
    assert [("being built", 10)] == [(b.stage, b.sizes["n"]) for b in calls.kernel.buckets]
    assert [False] * 3 == [is_built() for is_built in unsettled.built]
    (job,) = jobs
    job()
    assert all(is_built() for is_built in unsettled.built)
    with noting_unsettled() as unsettled:
        agree(rmsnorm_linear, calls.decided(*args), args)
    assert unsettled.timed and not unsettled.built
    assert [True] == [b.kernel is not None for b in calls.kernel.buckets]


def test_a_worker_makes_the_kernels_that_this_process_makes(rows):
    here, there = (b(rows.kernel, {"n": 10}, machine(), 0) for b in (build_here, build_in_worker(lambda: False)))
    args = of_rows(10)

    assert 2 == len(there.kernels)
    assert [k.source for k in here.kernels] == [k.source for k in there.kernels]
    for own, other in zip(here.kernels, there.kernels, strict=True):
        torch.testing.assert_close(own(*args), other(*args), rtol=0, atol=0)


def test_a_worker_that_is_stopped_and_a_build_that_fails_leave_torch_with_the_reason(rows):
    assert "stopped" in build_in_worker(lambda: True)(rows.kernel, {"n": 10}, machine(), 0).why

    def fails(*_):
        raise OSError("no memory")

    calls = Calls(rows, torch_s=1.0, build=fails)
    calls(*of_rows(9))
    assert ["OSError: no memory"] == calls.why


def test_a_masked_attention_is_padded_along_its_keys_and_its_batch(heads):
    calls = Calls(heads, torch_s=1.0, code=attention)
    for seed, (b, n) in enumerate(((2, 8), (1, 9), (1, 10), (3, 13))):
        args = of_heads(b, n, seed)
        agree(attention, calls.decided(*args), args)

    assert {} == calls.kernel.exact
    assert [(1, 10), (3, 14)] == [tuple(b.sizes.values()) for b in calls.kernel.buckets]


def test_an_attention_with_a_bias_is_padded_along_its_keys_but_for_rows_without_a_kept_score():
    head = px.T(2, "n", HEAD)
    kernel = searched(attention, {"n": 8}, q=head, k=head, v=head, keep=px.T("n", "n"))
    calls = Calls(kernel, torch_s=1.0, code=attention)
    q, k, v = torch.randn(3, 2, 9, HEAD)
    bias = torch.randn(9, 9).masked_fill(torch.rand(9, 9) < 0.3, float("-inf"))
    bias[:, 0] = 0.0

    assert {} == calls.kernel.exact
    agree(attention, calls.decided(q, k, v, bias), (q, k, v, bias))
    assert [10] == [b.sizes["n"] for b in calls.kernel.buckets if b.kernel is not None]
    bias[4] = torch.finfo(torch.float32).min
    with pytest.raises(ShapeError, match="keeps nothing of a row"):
        calls.kernel(q, k, v, bias)


def test_an_attention_without_a_mask_is_padded_along_its_keys_with_a_mask_of_its_own():
    def code(q, k, v):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v)

    keys = px.T(2, "n", HEAD)
    kernel = searched(code, {"m": 4, "n": 8}, q=px.T(2, "m", HEAD), k=keys, v=keys)
    calls = Calls(kernel, torch_s=1.0, code=code)
    for seed, (m, n) in enumerate(((4, 8), (4, 7), (4, 9), (4, 10), (5, 9), (1, 1), (3, 19))):
        draw = torch.Generator().manual_seed(seed)
        args = (torch.randn(2, m, HEAD, generator=draw), *(10 * torch.randn(2, 2, n, HEAD, generator=draw)))
        agree(code, calls.decided(*args), args)

    assert {} == calls.kernel.exact
    assert all(b.kernel is not None for b in calls.kernel.buckets)
    assert [(4, 7), (4, 10), (5, 10), (1, 1), (3, 20)] == [tuple(b.sizes.values()) for b in calls.kernel.buckets]


def test_a_row_of_which_a_mask_keeps_nothing_runs_torch_at_every_size(heads):
    calls = Calls(heads, torch_s=1.0, code=attention)
    q, k, v, keep = of_heads(1, 9)
    keep[0, 4] = False
    with pytest.warns(UserWarning, match="mask keeps nothing"):
        found = calls.kernel(q, k, v, keep)

    torch.testing.assert_close(attention(q, k, v, keep), found, rtol=0, atol=0, equal_nan=True)


def test_where_torch_is_faster_it_runs_and_nothing_is_made_again(rows):
    built = []

    def build(*given):
        built.append(given)
        return build_here(*given)

    calls = Calls(rows, torch_s=8e-4, build=build)  # by this clock a kernel takes 1e-3
    for _ in range(3):
        calls.decided(*of_rows(9))

    assert "x as fast as torch eager" in calls.why[-1]
    assert 1 == len(built)
    assert [None] == [b.kernel for b in calls.kernel.buckets]


def test_a_size_that_cannot_be_padded_is_made_when_torch_has_taken_as_long():
    kernel = searched(mean_of_rows, {"n": 8}, x=px.T("n", D), g=px.T(D))
    calls = Calls(kernel, torch_s=2.0, code=mean_of_rows)
    args = torch.randn(9, D), torch.randn(D)

    assert "reads every element" in calls.kernel.exact["n"]
    calls(*args)
    assert "torch has taken" in calls.why[0]
    agree(mean_of_rows, calls.decided(*args), args)
    assert [9] == [b.sizes["n"] for b in calls.kernel.buckets]


def test_a_kernel_that_is_wrong_at_other_sizes_is_not_used(rows, monkeypatch):
    monkeypatch.setattr(kernel_build, "check_results", lambda run, cases: Failure("tune.wrong", "a row deviates"))
    with pytest.raises(NoKernelError, match="a row deviates"):
        Calls(rows, torch_s=1.0).kernel(*of_rows(9))


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (lambda: (torch.randn(0, D), *of_rows(1)[1:]), "no elements"),
        (lambda: (torch.randn(9, D + 1), *of_rows(1)[1:]), "shape"),
        (lambda: (torch.randn(9, D).double(), *of_rows(1)[1:]), "float64"),
        (lambda: (torch.randn(9, 2, D), *of_rows(1)[1:]), "takes x: "),
        (lambda: (*of_rows(9)[:2], of_rows(9)[2].t().contiguous().t()), "strides"),
        (lambda: of_rows(9)[:2], "missing: w"),
        (lambda: (torch.randn(9, D).numpy(), *of_rows(1)[1:]), "main memory"),
    ],
)
def test_tensors_of_another_form_are_refused(rows, args, said):
    calls = Calls(rows, torch_s=1.0)
    with pytest.raises(ShapeError, match=said) as refused:
        calls.kernel(*args())
    assert not isinstance(refused.value, NoKernelError)


def test_the_layout_of_what_is_padded_does_not_matter(rows):
    x, g, w = of_rows(9)
    args = x.t().contiguous().t(), g, w
    agree(rmsnorm_linear, Calls(rows, torch_s=1.0).decided(*args), args)
