"""One proved kernel at many sizes: right at each of them, bounded in what it makes, and torch where that is faster."""

from dataclasses import replace

import pytest
import torch

import prism_explore as px
from prism_explore.errors import ShapeError
from prism_explore.frontend import trace
from prism_explore.pipeline.search_space import default_space
from prism_explore.runtime import kernel_for_sizes
from prism_explore.runtime.kernel_for_sizes import KernelForSizes, NoKernelError, bucket_size
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


class Race:
    """A clock by which each call of the torch code takes some seconds, and all else next to nothing."""

    def __init__(self, kernel, torch_s):
        self.now, self.calls, self.torch_s, self.code = 0.0, 0, torch_s, kernel.reference
        self.kernel = KernelForSizes(replace(kernel, reference=self.reference), machine(), self.clock)

    def clock(self):
        self.now += 1e-3
        return self.now

    def reference(self, *inputs):
        self.now += self.torch_s
        self.calls += 1
        return self.code(*inputs)


def agree(code, found, args):
    exact = code(*(a.double() if a.is_floating_point() else a for a in args))
    own, torchs = (float((r.double() - exact).abs().max()) for r in (found, code(*args)))
    assert own <= max(2 * torchs, 4 * torch.finfo(torch.float32).eps * float(exact.abs().max()))
    assert found.is_contiguous() and found.shape == exact.shape


def test_rows_of_any_number_are_computed_by_the_kernel_of_their_bucket(rows):
    race = Race(rows, torch_s=1.0)
    sizes = (1, 3, 8, 9, 10, 19, 20, 17)
    for seed, n in enumerate(sizes):
        args = of_rows(n, seed)
        agree(rmsnorm_linear, race.kernel(*args), args)

    assert {bucket_size(n) for n in sizes if n != 8} == {b.sizes["n"] for b in race.kernel.buckets}
    assert all(b.kernel is not None and b.speed_up > 100.0 for b in race.kernel.buckets)


def test_a_masked_attention_is_padded_along_its_keys_and_its_batch(heads):
    race = Race(heads, torch_s=1.0)
    for seed, (b, n) in enumerate(((2, 8), (1, 9), (1, 10), (3, 13))):
        args = of_heads(b, n, seed)
        agree(attention, race.kernel(*args), args)

    assert {} == race.kernel.exact
    assert [(1, 10), (3, 14)] == [tuple(b.sizes.values()) for b in race.kernel.buckets]


def test_a_row_of_which_a_mask_keeps_nothing_runs_torch_at_every_size(heads):
    race = Race(heads, torch_s=1.0)
    q, k, v, keep = of_heads(1, 9)
    keep[0, 4] = False
    with pytest.warns(UserWarning, match="mask keeps nothing"):
        found = race.kernel(q, k, v, keep)

    torch.testing.assert_close(attention(q, k, v, keep), found, rtol=0, atol=0, equal_nan=True)


def test_where_torch_is_faster_it_runs_and_nothing_is_made_again(rows):
    race = Race(rows, torch_s=0.0)  # as long as a kernel, by this clock
    calls: set[int] = set()
    for _ in range(3):
        with pytest.raises(NoKernelError, match=r"1\.00x as fast as torch eager"):
            race.kernel(*of_rows(9))
        calls.add(race.calls)

    assert 1 == len(calls)
    assert [None] == [b.kernel for b in race.kernel.buckets]


def test_a_size_that_cannot_be_padded_is_made_when_torch_has_taken_as_long():
    kernel = searched(mean_of_rows, {"n": 8}, x=px.T("n", D), g=px.T(D))
    race = Race(kernel, torch_s=1.0)
    args = torch.randn(9, D), torch.randn(D)

    assert "reads every element" in race.kernel.exact["n"]
    with pytest.raises(NoKernelError, match="torch has taken") as refused:
        race.kernel(*args)
    refused.value.spent(2.0)
    agree(mean_of_rows, race.kernel(*args), args)
    assert [9] == [b.sizes["n"] for b in race.kernel.buckets]


def test_a_kernel_that_is_wrong_at_other_sizes_is_not_used(rows, monkeypatch):
    monkeypatch.setattr(kernel_for_sizes, "check_results", lambda run, cases: Failure("tune.wrong", "a row deviates"))
    with pytest.raises(NoKernelError, match="a row deviates"):
        Race(rows, torch_s=1.0).kernel(*of_rows(9))


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
    race = Race(rows, torch_s=1.0)
    with pytest.raises(ShapeError, match=said) as refused:
        race.kernel(*args())
    assert not isinstance(refused.value, NoKernelError)


def test_the_layout_of_what_is_padded_does_not_matter(rows):
    x, g, w = of_rows(9)
    args = x.t().contiguous().t(), g, w
    agree(rmsnorm_linear, Race(rows, torch_s=1.0).kernel(*args), args)
