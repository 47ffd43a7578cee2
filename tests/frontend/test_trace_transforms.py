"""Derivatives and other transforms of torch.func at symbolic sizes, and the formulas that they are written with."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from prism_explore.entry.equivalence.check import check
from prism_explore.errors import UnsupportedOperator
from prism_explore.frontend.derivative_formulas import derivative_formulas
from prism_explore.frontend.export import trace
from prism_explore.frontend.trace_transforms import as_operators
from prism_explore.ir.tensors import tensor as T

aten: Any = torch.ops.aten


def softmax_slope(x, d):
    return torch.func.vjp(lambda z: z.softmax(-1), x)[1](d)[0]


def softmax_slope_by_hand(x, d):
    p = x.softmax(-1)
    return p * (d - (d * p).sum(-1, keepdim=True))


def attention_slope(q, k, v, d):
    return torch.func.vjp(lambda q: (q @ k.mT).softmax(-1) @ v, q)[1](d)[0]


def attention_slope_by_hand(q, k, v, d):
    p, s = (q @ k.mT).softmax(-1), d @ v.mT
    return (p * (s - (p * s).sum(-1, keepdim=True))) @ k


def entropy_slope(x, y):
    return torch.func.grad(lambda z: F.cross_entropy(z, y))(x)


def entropy_slope_by_hand(x, y):
    return (x.softmax(-1) - F.one_hot(y, 16).to(x.dtype)) / x.shape[0]


def norm_slope(x, d):
    return torch.func.vjp(lambda z: F.layer_norm(z, (16,)), x)[1](d)[0]


def norm_slope_by_hand(x, d):
    scale, h = (x.var(-1, unbiased=False, keepdim=True) + 1e-5).rsqrt(), F.layer_norm(x, (16,))
    return scale * (d - d.mean(-1, keepdim=True) - h * (d * h).mean(-1, keepdim=True))


ROWS = {"x": T("b", 16), "d": T("b", 16)}
HEADS = {"q": T(2, "t", 8), "k": T(2, "s", 8), "v": T(2, "s", 8), "d": T(2, "t", 8)}
CLASSES = {"x": T("b", 16), "y": T("b", dtype="i64")}


@pytest.mark.parametrize(
    ("derived", "by_hand", "inputs"),
    [
        (softmax_slope, softmax_slope_by_hand, ROWS),
        (norm_slope, norm_slope_by_hand, ROWS),
        (attention_slope, attention_slope_by_hand, HEADS),
        (entropy_slope, entropy_slope_by_hand, CLASSES),
        (lambda x: torch.func.grad(lambda z: (z**2).mean())(x), lambda x: 2 * x / x.numel(), {"x": T("b", "n")}),
    ],
)
def test_a_derivative_by_hand_is_proved_equal_to_torchs_for_all_sizes(derived, by_hand, inputs):
    found = check(derived, by_hand, **inputs)

    assert found.outcome == "proved", str(found)


@pytest.mark.parametrize(
    ("derived", "by_hand", "inputs"),
    [
        (softmax_slope, lambda x, d: x.softmax(-1) * (d - (d * x.softmax(-1)).mean(-1, keepdim=True)), ROWS),
        (entropy_slope, lambda x, y: x.softmax(-1) - F.one_hot(y, 16).to(x.dtype), CLASSES),
    ],
)
def test_a_wrong_derivative_is_refuted(derived, by_hand, inputs):
    assert check(derived, by_hand, **inputs).outcome == "refuted"


def test_code_that_runs_other_operators_at_other_sizes_is_refused_with_the_sizes():
    def f(x):
        return torch.func.jvp(torch.tanh, (x,), (x,))[1] * (3 if x.shape[0] > 5 else 2)

    with pytest.raises(UnsupportedOperator, match=r"traced where b > 5, which does not hold for all sizes; give .* b"):
        as_operators(f, "f", [T("b", 4)], {"b": 7})


def test_a_transform_that_torch_follows_at_fixed_sizes_only_says_so():
    with pytest.raises(UnsupportedOperator, match="with numbers for n torch may follow"):
        trace(lambda x: torch.func.hessian(lambda z: (z**3).sum())(x), {"x": T("n")})


def test_sizes_that_the_declaration_makes_equal_are_no_restriction():
    program = trace(lambda x, d: torch.func.vjp(torch.tanh, x)[1](d)[0], {"x": T("b", 4), "d": T("b", 4)}).program

    assert [str(d) for d in program.graph.types()[program.graph.output].dims] == ["b", "4"]


# ------------------------------------------------------------ formulas against torch
def _close(found: Any, expected: Any) -> None:
    found, expected = ([x] if torch.is_tensor(x) else list(x) for x in (found, expected))
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)


def _random(*sizes: int) -> torch.Tensor:
    return torch.randn(*sizes, dtype=torch.float64)


@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("ignore_index", [-100, 2])
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("further", [(), (3, 2)])
def test_the_formula_of_class_losses(reduction: int, ignore_index: int, is_weighted: bool, further: tuple[int, ...]):
    scores, target = _random(6, 5, *further), torch.randint(0, 5, (6, *further))
    weight = _random(5).abs() if is_weighted else None
    name = "nll_loss2d" if further else "nll_loss"
    _, total = getattr(aten, f"{name}_forward")(scores, target, weight, reduction, ignore_index)
    grad = _random(*target.shape) if reduction == 0 else _random(1)[0]
    backward = getattr(aten, f"{name}_backward").default
    arguments = (grad, scores, target, weight, reduction, ignore_index, total)

    _close(derivative_formulas()[backward](*arguments), backward(*arguments))


@pytest.mark.parametrize(("beta", "threshold"), [(1.0, 20.0), (2.5, 20.0), (1.0, 0.5)])
def test_the_formula_of_softplus(beta: float, threshold: float):
    x = 0.7 * _random(4, 6)
    backward = aten.softplus_backward.default
    arguments = (_random(4, 6), x, beta, threshold)

    _close(derivative_formulas()[backward](*arguments), backward(*arguments))


@pytest.mark.parametrize("padding_idx", [-1, 3])
def test_the_formula_of_embeddings(padding_idx: int):
    arguments = (_random(4, 2, 3), torch.randint(0, 7, (4, 2)), 7, padding_idx, False)
    backward = aten.embedding_dense_backward.default

    _close(derivative_formulas()[backward](*arguments), backward(*arguments))


@pytest.mark.parametrize(
    ("size", "kernel", "stride", "padding", "dilation"),
    [
        ((8,), (3,), (1,), (1,), (1,)),
        ((9, 7), (3, 2), (2, 1), (1, 0), (1, 2)),
        ((10, 10), (3, 3), (3, 2), (0, 2), (2, 1)),
        ((4, 5, 6), (2, 2, 3), (1, 2, 1), (0, 1, 1), (1, 1, 1)),
    ],
)
def test_the_formula_of_convolutions(size, kernel, stride, padding, dilation):
    x, weight = _random(2, 3, *size), _random(4, 3, *kernel)
    more = (list(stride), list(padding), list(dilation), False, [0] * len(size), 1)
    grad = torch.randn_like(aten.convolution.default(x, weight, None, *more))
    backward = aten.convolution_backward.default
    arguments = (grad, x, weight, [4], *more, [True, True, True])

    _close(derivative_formulas()[backward](*arguments), backward(*arguments))


def test_convolutions_in_groups_have_a_formula_for_their_input_only():
    x, weight = _random(2, 4, 8), _random(4, 1, 3)
    more = ([1], [1], [1], False, [0], 4)
    grad = torch.randn_like(aten.convolution.default(x, weight, None, *more))
    backward = aten.convolution_backward.default
    formula: Callable[..., Any] = derivative_formulas()[backward]

    found = formula(grad, x, weight, None, *more, [True, False, False])[0]

    _close(found, backward(grad, x, weight, None, *more, [True, False, False])[0])
    assert formula(grad, x, weight, None, *more, [True, True, False]) is NotImplemented


@pytest.mark.parametrize(
    ("window", "stride", "padding", "divisor"),
    [([2, 2], [], [0, 0], None), ([3, 2], [2, 1], [1, 0], None), ([3, 3], [2, 2], [1, 1], 4)],
)
def test_the_formula_of_average_pooling(window, stride, padding, divisor):
    x = _random(2, 3, 9, 8)
    grad = torch.randn_like(aten.avg_pool2d.default(x, window, stride, padding, False, True, divisor))
    backward = aten.avg_pool2d_backward.default
    arguments = (grad, x, window, stride, padding, False, True, divisor)

    _close(derivative_formulas()[backward](*arguments), backward(*arguments))


# ------------------------------------------------------------ numbers that are computed from sizes
@pytest.mark.parametrize(
    ("f", "g"),
    [
        (lambda x: x * x.shape[1] ** -0.5, lambda x: x / x.shape[1] ** 0.5),
        (lambda x: x.sum(1) * (1.0 / x.shape[1]), lambda x: x.mean(1)),
        (lambda x: x * (0.3 * x.shape[1] + 0.5), lambda x: 0.3 * x * x.shape[1] + x / 2),
        (lambda x: x * x.shape[1] ** 2, lambda x: x * x.shape[1] * x.shape[1]),
        (lambda x: x.var(1), lambda x: (x - x.mean(1, keepdim=True)).square().sum(1) / (x.shape[1] - 1)),
    ],
)
def test_a_number_that_is_computed_from_symbolic_sizes(f, g):
    found = check(f, g, x=T("b", "n"))

    assert found.outcome == "proved", str(found)


def test_another_number_of_the_sizes_is_refuted():
    found = check(lambda x: x * x.shape[1] ** -0.5, lambda x: x / (x.shape[1] + 1) ** 0.5, x=T("b", "n"))

    assert found.outcome == "refuted"


def test_a_rounded_quotient_of_a_size_is_not_taken_for_an_exact_one():
    assert check(lambda x: x * (x.shape[1] // 2), lambda x: x * x.shape[1] / 2, x=T("b", "n")).outcome != "proved"


def test_an_infinite_number_of_a_size_is_refused():
    with pytest.raises(UnsupportedOperator, match="a size and inf is not supported"):
        trace(lambda x: x * (x.shape[1] * float("inf")), {"x": T("b", "n")})


def test_attention_scales_by_a_symbolic_number_of_channels():
    heads = {"q": T(1, "t", "d"), "k": T(1, "s", "d"), "v": T(1, "s", "d")}

    found = check(
        lambda q, k, v: (q @ k.mT * q.shape[-1] ** -0.5).softmax(-1) @ v,
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v),
        **heads,
    )

    assert found.outcome == "proved", str(found)
