"""Small programs for single laws, each with a spelling that equals it and one that does not."""

from __future__ import annotations

from typing import Any

from tests.verify.workloads_base import Table, law

_table = Table()


def _exp(x: Any) -> Any:
    import torch

    return torch.exp(x)


def spellings(name: str, code: Any, right: dict[str, str], wrong: dict[str, str], **shapes: str) -> None:
    """A program and, by form, expressions that equal it or not; each is computed over a grid of rows."""
    law(name, code, **shapes)
    head = [f"  $o = custom({', '.join(shapes)}) grid[x=gx]", *(f"    ${a} = load({a}, imap=[0])" for a in shapes)]
    for table, forms in ((_table.right, right), (_table.wrong, wrong)):
        for form, result in forms.items():
            table(name, form, "\n".join((*head, f"    store({result}, omap=[0])", "  return $o")))


def _product_of_exps(x: Any, y: Any) -> Any:
    return _exp(x) * _exp(y)


def _quotient_of_quotients(x: Any, y: Any, z: Any) -> Any:
    return x / y / z


def _product_with_quotient(x: Any, y: Any, z: Any) -> Any:
    return x * (y / z)


def _inverse_root(x: Any) -> Any:
    import torch

    return torch.rsqrt(x * x + 1)


def _cube(x: Any) -> Any:
    return x**3


def _sigmoid(x: Any) -> Any:
    import torch

    return torch.sigmoid(x)


def _tanh(x: Any) -> Any:
    import torch

    return torch.tanh(x)


def _silu(x: Any) -> Any:
    import torch

    return torch.nn.functional.silu(x)


def _largest(x: Any, y: Any) -> Any:
    import torch

    return torch.maximum(x, y)


def _variance(x: Any) -> Any:
    return x.var(-1, unbiased=False, keepdim=True)


def _square_of_a_sum(x: Any, y: Any) -> Any:
    return (x + y) ** 2


spellings(
    "exp_times_exp",
    _product_of_exps,
    {"exp-of-sum": "exp(add($x, $y))", "quotient": "div(exp($x), exp(neg($y)))"},
    {"exp-of-product": "exp(mul($x, $y))", "difference": "exp(sub($x, $y))"},
    x="b d",
    y="b d",
)
spellings(
    "div_div",
    _quotient_of_quotients,
    {
        "one-division": "div($x, mul($y, $z))",
        "exchanged": "div(div($x, $z), $y)",
        "recip": "mul($x, recip(mul($z, $y)))",
    },
    {"other-bracket": "div($x, div($y, $z))", "swapped": "div(div($y, $x), $z)"},
    x="b d",
    y="b d",
    z="b d",
)
spellings(
    "mul_div",
    _product_with_quotient,
    {"product-first": "div(mul($x, $y), $z)", "quotient-of-x": "mul(div($x, $z), $y)"},
    {"z-for-y": "div(mul($x, $z), $y)", "y-below": "div($x, mul($y, $z))"},
    x="b d",
    y="b d",
    z="b d",
)
spellings(
    "rsqrt",
    _inverse_root,
    {
        "recip-sqrt": "recip(sqrt(add_scalar(square($x), 1)))",
        "sqrt-recip": "sqrt(recip(add_scalar(square($x), 1)))",
        "power": "pow_scalar(add_scalar(pow_scalar($x, 2), 1), -1/2)",
        "root-over-itself": "div(sqrt(add_scalar(square($x), 1)), add_scalar(square($x), 1))",
    },
    {
        "sqrt": "sqrt(add_scalar(square($x), 1))",
        "recip": "recip(add_scalar(square($x), 1))",
        "root-of-x": "recip(add_scalar($x, 1))",
    },
    x="b d",
)
spellings(
    "cube",
    _cube,
    {"products": "mul(mul($x, $x), $x)", "square-times": "mul($x, square($x))"},
    {"of-absolute": "pow_scalar(abs($x), 3)", "fourth": "square(square($x))"},
    x="b d",
)
spellings(
    "sigmoid",
    _sigmoid,
    {
        "by-definition": "recip(add_scalar(exp(neg($x)), 1))",
        "growing": "div(exp($x), add_scalar(exp($x), 1))",
        "by-tanh": "add_scalar(mul_scalar(tanh(mul_scalar($x, 1/2)), 1/2), 1/2)",
        "one-minus": "add_scalar(neg(sigmoid(neg($x))), 1)",
    },
    {"other-sign": "sigmoid(neg($x))", "by-tanh-of-x": "add_scalar(mul_scalar(tanh($x), 1/2), 1/2)"},
    x="b d",
)
spellings(
    "tanh",
    _tanh,
    {
        "by-definition": "div(sub(exp($x), exp(neg($x))), add(exp($x), exp(neg($x))))",
        "by-sigmoid": "add_scalar(mul_scalar(sigmoid(mul_scalar($x, 2)), 2), -1)",
        "odd": "neg(tanh(neg($x)))",
    },
    {"by-sigmoid-of-x": "add_scalar(mul_scalar(sigmoid($x), 2), -1)", "even": "tanh(abs($x))"},
    x="b d",
)
spellings(
    "silu",
    _silu,
    {
        "by-sigmoid": "mul($x, sigmoid($x))",
        "by-definition": "div($x, add_scalar(exp(neg($x)), 1))",
        "mirrored": "add($x, silu(neg($x)))",
    },
    {"relu": "relu($x)", "sigmoid-of-square": "mul($x, sigmoid(square($x)))"},
    x="b d",
)
spellings(
    "maximum",
    _largest,
    {
        "exchanged": "max($y, $x)",
        "by-relu": "add($y, relu(sub($x, $y)))",
        "by-minimum": "neg(min(neg($x), neg($y)))",
        "shifted": "add($x, max(sub($y, $x), mul_scalar($x, 0)))",
    },
    {"minimum": "min($x, $y)", "of-absolutes": "max(abs($x), $y)"},
    x="b d",
    y="b d",
)
spellings(
    "variance",
    _variance,
    {
        "one-pass": "sub(mean(square($x), dim=1), square(mean($x, dim=1)))",
        "shifted": "sub(mean(square(add_scalar($x, 3)), dim=1), square(mean(add_scalar($x, 3), dim=1)))",
        "by-rms": "sub(square(rms($x, dim=1)), square(mean($x, dim=1)))",
    },
    {"not-centred": "mean(square($x), dim=1)", "mean-not-squared": "sub(mean(square($x), dim=1), mean($x, dim=1))"},
    x="b d",
)
spellings(
    "square_of_a_sum",
    _square_of_a_sum,
    {
        "multiplied-out": "add(add(square($x), square($y)), mul_scalar(mul($x, $y), 2))",
        "of-the-negative": "square(neg(add($x, $y)))",
    },
    {
        "without-the-product": "add(square($x), square($y))",
        "single-product": "add(add(square($x), square($y)), mul($x, $y))",
    },
    x="b d",
    y="b d",
)

ENTRIES = tuple(_table.entries)
