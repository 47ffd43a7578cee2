"""px.check on pairs as people write them: the outcome, and what a witness or an unknown answer says."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import prism_explore as px
from prism_explore.entry.equivalence import decide
from prism_explore.entry.equivalence.constants import NearlyEqual
from prism_explore.entry.equivalence.parting import BOX

X = px.T("b", 64)


def causal(first_masked: int):
    def attention(q, k, v):
        scores = q @ k.transpose(-1, -2) / 8
        mask = torch.triu(torch.ones(scores.shape[-2], scores.shape[-1], dtype=torch.bool), first_masked)
        return torch.softmax(scores.masked_fill(mask, float("-inf")), -1) @ v

    return attention


def online_softmax(x, v):
    left, right = x[:, :32], x[:, 32:]
    m = left.amax(-1, keepdim=True)
    e = torch.exp(left - m)
    total, out = e.sum(-1, keepdim=True), e @ v[:32]
    new = torch.maximum(m, right.amax(-1, keepdim=True))
    e, rescale = torch.exp(right - new), torch.exp(m - new)
    return (out * rescale + e @ v[32:]) / (total * rescale + e.sum(-1, keepdim=True))


def layer_norm(x, w, b):
    d = x - x.mean(-1, keepdim=True)
    return d * torch.rsqrt((d * d).mean(-1, keepdim=True) + 1e-5) * w + b


def rms_inside(x):
    return x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-6)


def rms_outside(x):
    return x / (torch.sqrt((x * x).mean(-1, keepdim=True)) + 1e-6)


def norm_of_convolution(x, w, mean, deviation, gain):
    return F.batch_norm(F.conv1d(x, w, padding=1), mean, deviation * deviation, gain)


def convolution_with_norm_folded(x, w, mean, deviation, gain):
    scale = gain / torch.sqrt(deviation * deviation + 1e-5)
    return F.conv1d(x, w * scale[:, None, None], -mean * scale, padding=1)


def over_windows(x, w):
    """A 3x3 convolution as one product with the windows side by side."""
    return (w.flatten(1) @ F.unfold(x, 3, padding=1)).unflatten(2, x.shape[2:])


def rotated(x, angles):
    """Neighbours as complex numbers, turned by angles."""
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(-2)


def rotated_in_parts(x, angles, sign=1):
    """Written into memory, the even places and the odd ones each at once."""
    even, odd, out = x[..., ::2], x[..., 1::2], torch.empty_like(x)
    cos, sin = angles.cos(), angles.sin()
    out[..., ::2], out[..., 1::2] = even * cos - odd * sin, odd * cos + sign * even * sin
    return out


def with_entries(cache, k, at=(3, 4)):
    cache = cache.clone()
    cache[:, torch.tensor(at)] = k
    return cache


TURNED = {"x": px.T("b", 4, 6), "angles": px.T(4, 3)}
CACHED = {"cache": px.T("b", 8, 3), "k": px.T("b", 2, 3)}
CLASSES = {"x": px.T("b", 5), "i": px.T("b", dtype="i64")}
IMAGES = {"x": px.T("b", 2, 4, 4), "w": px.T(3, 2, 3, 3)}
QKV = {"q": px.T("s", 64), "k": px.T("s", 64), "v": px.T("s", 64)}
EQUAL = {
    "online softmax": (lambda x, v: torch.softmax(x, -1) @ v, online_softmax, {"x": X, "v": px.T(64, 16)}),
    "identity": (lambda x: F.relu(x) - F.relu(-x), lambda x: x, {"x": X}),
    "an argument without influence": (
        lambda x, m: torch.softmax(x + m, -1),
        lambda x, m: torch.softmax(x, -1),
        {"x": X, "m": px.T("b", 1)},
    ),
    "a norm folded into a convolution": (
        norm_of_convolution,
        convolution_with_norm_folded,
        {"x": px.T("b", 3, 8), "w": px.T(4, 3, 3), **dict.fromkeys(("mean", "deviation", "gain"), px.T(4))},
    ),
    "patches as a product": (
        lambda x, w: F.conv1d(x, w, stride=4).mT,
        lambda x, w: x.reshape(x.shape[0], 3, 2, 4).transpose(1, 2).flatten(2) @ w.reshape(5, 12).T,
        {"x": px.T("b", 3, 8), "w": px.T(5, 3, 4)},
    ),
    "windows as a product": (lambda x, w: F.conv2d(x, w, padding=1), over_windows, IMAGES),
    "a rotary embedding by complex numbers": (rotated, rotated_in_parts, TURNED),
    "entries of a cache": (
        with_entries,
        lambda cache, k: torch.cat((cache[:, :3], k, cache[:, 5:]), 1),
        CACHED,
    ),
    "a cache that begins without elements": (
        lambda x: torch.cat((x[:, :0], x * 2, torch.empty(0)), 1),
        lambda x: x + x,
        {"x": X},
    ),
    "a smoothed label": (
        lambda x, i: -(torch.full_like(x, 0.02).scatter(1, i[:, None], 0.92) * x).sum(1),
        lambda x, i: -0.02 * x.sum(1) - 0.9 * x.gather(1, i[:, None])[:, 0],
        CLASSES,
    ),
    "an element by its class as bits": (
        lambda x, i: (x * F.one_hot(i, 5)).sum(-1),
        lambda x, i: torch.take_along_dim(x, i[:, None], 1)[:, 0],
        CLASSES,
    ),
    "read in two orders": (lambda x: (x @ x.T).sum(0), lambda x: (x @ x.T).sum(1), {"x": px.T("b", "n")}),
}


@pytest.mark.parametrize("name", EQUAL)
def test_equal_functions_are_proved_for_all_sizes(name):
    f, g, inputs = EQUAL[name]

    found = px.check(f, g, inputs=inputs)

    assert found.outcome == "proved", found
    assert found.witness is None and found.floats[0].difference < 1e-5
    assert re.search(r"all positive integers \w+.*the results of .* are equal", found.results[0].reason)


DIFFERENT = {
    "gelu": (lambda x: F.gelu(x), lambda x: F.gelu(x, approximate="tanh"), {"x": X}),
    "off by one": (causal(1), causal(2), QKV),
    "eps": (rms_inside, rms_outside, {"x": X}),
    "undefined for negative": (lambda x: torch.sqrt(x) ** 2, lambda x: x, {"x": X}),
    "only for square": (lambda x: x.mean(-1), lambda x: x.sum(-1) / x.shape[0], {"x": px.T("b", "n")}),
    "beyond any small input": (lambda x: torch.clamp(x, -20, 20), lambda x: x + 0, {"x": X}),
    "an inverted mask": (
        lambda x, m: torch.where(m, x, -x),
        lambda x, m: torch.where(~m, x, -x),
        {"x": X, "m": px.T("b", 64, dtype="bool")},
    ),
    "a kernel read backwards": (
        lambda x, w: F.conv1d(x, w, padding=1),
        lambda x, w: F.conv1d(x, w.flip(2), padding=1),
        {"x": px.T("b", 3, 8), "w": px.T(4, 3, 3)},
    ),
    "a rotary embedding that turns odd places back": (
        rotated,
        lambda x, angles: rotated_in_parts(x, angles, -1),
        TURNED,
    ),
    "entries of a cache in the other order": (with_entries, lambda cache, k: with_entries(cache, k, (4, 3)), CACHED),
    "windows of a turned kernel": (lambda x, w: F.conv2d(x, w.mT, padding=1), over_windows, IMAGES),
    "no translation": (lambda x: torch.sort(x, -1).values, lambda x: x * 1, {"x": X}),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_a_witness_reproduces_the_difference_in_torch(name):
    f, g, inputs = DIFFERENT[name]

    found = px.check(f, g, inputs=inputs)

    assert found.outcome == "refuted", found
    witness = found.witness
    arrays = {k: torch.tensor(v) for k, v in witness.inputs.items()}
    values = tuple(float(side(**arrays)[witness.index]) for side in (f, g))
    np.testing.assert_equal(values, witness.values)
    assert not np.isclose(*values, rtol=1e-9, atol=0.0)
    declared = {k: tuple(d.value(dict(witness.sizes)) for d in t.dims) for k, t in inputs.items()}
    assert {k: v.shape for k, v in witness.inputs.items()} == declared


def test_a_witness_is_small_and_says_where_both_sides_agree():
    found = px.check(lambda x: x.mean(-1), lambda x: x.sum(-1) / x.shape[0], x=px.T("b", "n"))

    assert dict(found.witness.sizes)["b"] != dict(found.witness.sizes)["n"]
    assert "b=1, n=1" in found.witness.agreeing and "b=2, n=2" in found.witness.agreeing
    assert sum((v != 0).sum() for v in found.witness.inputs.values()) == 1


def test_code_that_raises_at_other_sizes_than_square_ones_is_refuted_by_its_message():
    found = px.check(lambda x: x / x.sum(-1, keepdim=True), lambda x: x / x.sum(-1), x=px.T("b", "n"))

    assert found.outcome == "refuted"
    assert "at b=2, n=3 g raises RuntimeError: The size of tensor a (3)" in str(found)
    assert "They are equal in all trials at b=1, n=1" in " ".join(str(found).split())


def test_unknown_shows_the_smallest_differing_terms_the_lines_and_what_would_decide():
    def shifted(x):
        m = x.amax(-1, keepdim=True)
        return m + torch.cos(torch.exp(x - m).sum(-1, keepdim=True) * torch.exp(m))

    found = px.check(
        shifted,
        lambda x: x.amax(-1, keepdim=True) + torch.sin(torch.exp(x).sum(-1, keepdim=True) + torch.pi / 2),
        x=X,
    )

    assert found.outcome == "unknown", found
    [result] = found.results
    assert result.parting.context == "max_{k1:64}(x[p0,k1]) + □"
    assert result.parting.left == "cos(Σ_{k1:64} exp(x[p0,k1]))" and result.parting.right.startswith("sin(")
    assert "test_check.py" in result.lines[0] and "in shifted" in result.lines[0]
    assert (
        "random trials in torch found no difference" in result.advice and "What would decide it: a law" in result.advice
    )
    page = found._repr_html_()
    assert "<caption" in page and "<math" in page and f"<mi>{BOX}</mi>" in page and "is not decided" in page
    assert "in &lt;lambda&gt;:" in page and "<lambda>" not in page
    with pytest.raises(TypeError, match="four outcomes"):
        bool(found)


def test_what_has_no_translation_is_unknown_and_names_the_operator():
    found = px.check(lambda x: x.to_sparse().to_dense() * 2, lambda x: 2 * x.to_sparse().to_dense(), x=X)

    assert found.outcome == "unknown"
    assert "f is not translated:" in str(found) and "aten._to_sparse" in str(found)
    with pytest.raises(px.PrismError, match="the prover decided nothing"):
        _ = found.verdict


def test_a_spectrum_is_a_function_of_its_argument():
    spectrum = torch.fft.rfft

    assert px.check(lambda x: spectrum(x + x).abs(), lambda x: spectrum(2 * x).abs(), x=X).outcome == "proved"
    assert px.check(lambda x: spectrum(x).abs(), lambda x: spectrum(x).real.abs(), x=X).outcome == "refuted"


def test_real_equality_stands_beside_a_float_difference():
    found = px.check(lambda x: (x + 1e20) - 1e20, lambda x: x * 1, x=X)

    assert found.outcome == "proved"
    assert "in floating point they differ by rounding" in found.results[0].reason
    assert found.floats[0].difference == 1.0


def test_overflow_in_the_declared_dtype_is_counted():
    found = px.check(lambda x: torch.softmax(x, -1), lambda x: x.exp() / x.exp().sum(-1, keepdim=True), x=X)

    assert found.outcome == "proved"
    assert [f.not_finite[0] for f in found.floats] == [0, 0]
    assert found.floats[0].not_finite[1] == 0 and found.floats[1].not_finite[1] > 0
    assert "NaN or infinite by overflow" in " ".join(str(found).split())


ROOT = 0.70710678
NEARLY = {
    "a root with eight digits": (
        lambda x: F.gelu(x),
        lambda x: 0.5 * x * (1 + torch.erf(x * ROOT)),
        "0.70710678 (near √",
    ),
    "one constant for a product": (
        lambda x: F.selu(x),
        lambda x: torch.where(x > 0, 1.050701 * x, 1.7580994 * (x.exp() - 1)),
        "1.050701",
    ),
    "under a root and in a divisor": (
        lambda x: x / torch.sqrt(x * x + 2**0.5),
        lambda x: x / torch.sqrt(x * x + 1.4142135),
        "1.4142135 (near √2)",
    ),
}


@pytest.mark.parametrize("name", NEARLY)
def test_formulas_that_differ_in_rounded_constants_are_equal_up_to_them_and_not_proved(name):
    f, g, constant = NEARLY[name]

    found = px.check(f, g, x=X)

    assert found.outcome == "up to constants", found
    assert constant in found.results[0].reason and "no proof" in found.results[0].reason
    assert found.witness is None
    with pytest.raises(AssertionError, match="only if nearly equal constants are read as equal"):
        px.assert_equivalent(f, g, x=X)


def test_constants_that_agree_in_all_digits_computed_are_not_said_to_differ(monkeypatch):
    f, g, _ = NEARLY["under a root and in a divisor"]
    monkeypatch.setattr(decide, "compare_constants", lambda *_: NearlyEqual(0.0, ((), ("1.4142135",))))

    reason = px.check(f, g, x=X).results[0].reason

    assert "40 digits of their constants agree" in reason and "no proof" in reason and "differ" not in reason


def diagonal_times(d, x):
    return torch.diag(d) @ x


def rows_times(d, x):
    return d[:, None] * x


def test_axes_that_only_one_side_joins_are_equally_long_for_both():
    sizes = {"d": px.T(6), "x": px.T(6, "n")}

    assert "proved" == px.check(diagonal_times, rows_times, **sizes).outcome
    assert "proved" == px.check(rows_times, diagonal_times, **sizes).outcome
    assert "refuted" == px.check(diagonal_times, lambda d, x: rows_times(d.flip(0), x), **sizes).outcome


def test_the_same_formula_without_constants_is_not_said_to_differ_in_constants(monkeypatch):
    f, g, _ = NEARLY["under a root and in a divisor"]
    monkeypatch.setattr(decide, "compare_constants", lambda *_: NearlyEqual(0.0, ((), ())))

    assert px.check(f, g, x=X).outcome != "up to constants"


def test_floats_are_compared_where_there_are_some():
    masks = {"m": px.T(8, 8, dtype="bool")}
    (counted,) = px.check(lambda m: m.float().sum(), lambda m: m.sum().float(), **masks).floats

    assert (counted.dtype, counted.drawn) == ("float32", "drawn arguments, none of which is a float")
    assert px.check(lambda m: ~m, lambda m: m.logical_not(), **masks).floats == ()


def test_a_mask_before_a_function_that_makes_0_of_minus_infinity_is_one_of_zeros():
    def masked(function):
        return lambda a, v: function(a.masked_fill(torch.ones(6, 6, dtype=torch.bool).triu(1), float("-inf"))) @ v

    given = {"a": px.T(6, 6), "v": px.T(6, 4)}
    for function in (torch.relu, torch.sigmoid):
        assert px.check(masked(function), lambda a, v, f=function: f(a).tril() @ v, **given).outcome == "proved"
    assert px.check(masked(torch.relu), lambda a, v: torch.relu(a).tril(-1) @ v, **given).outcome == "refuted"


@pytest.mark.parametrize(
    ("f", "g"),
    [
        (lambda x: F.gelu(x), lambda x: 0.5 * x * (1 + torch.erf(x * 0.70711))),
        (lambda x: torch.relu(x - 2**0.5), lambda x: torch.relu(x - 1.414)),
        (lambda x: x * ROOT + 1e-7 * x * x, lambda x: x * 0.70710677),
    ],
    ids=["a constant with five digits", "a border", "one more term"],
)
def test_constants_that_differ_by_more_are_refuted_or_unknown(f, g):
    assert px.check(f, g, x=X).outcome in ("refuted", "unknown")


@pytest.mark.parametrize(
    ("f", "g", "inputs"),
    [
        (lambda x: x.clamp(max=100), lambda x: x, {"x": X}),
        (lambda x: torch.where(x == 3.25, x * 2, x), lambda x: x, {"x": X}),
        (lambda x: torch.where(2 * x + 3 >= 40, x * 2, x), lambda x: torch.where(2 * x + 3 > 40, x * 2, x), {"x": X}),
        (lambda x: x.round(), lambda x: (x + 0.5).floor(), {"x": X}),
        (
            lambda x, m: (x * m).sum(-1) / m.sum(-1).clamp(min=1),
            lambda x, m: (x * m).sum(-1) / m.sum(-1).clamp(min=1) + 0.5 * (m.sum(-1) == 64),
            {"x": X, "m": px.T("b", 64, dtype="bool")},
        ),
    ],
    ids=["a clamp", "a number", "a border", "halves", "a full mask"],
)
def test_differences_at_the_numbers_of_the_code_are_found(f, g, inputs):
    found = px.check(f, g, inputs=inputs)

    assert found.outcome == "refuted" and "elements at the numbers of the code" in found.witness.drawn
    given = [torch.tensor(found.witness.inputs[name]) for name in inputs]
    assert f(*given)[found.witness.index] != g(*given)[found.witness.index]


def test_casts_to_float64_leave_no_operator_and_what_torch_rounds_is_decided_by_digits():
    def summed(x):
        return x.double().exp().sum(-1).float()

    assert px.check(summed, lambda x: x.exp().sum(-1), x=X).outcome == "proved"
    assert "the dtypes of the results differ: f gives float64; g gives float32" in str(
        px.check(lambda x: (x * 2).double(), lambda x: x + x, x=X)
    )
    differs = px.check(summed, lambda x: x.exp().sum(-1) * 1.001, x=X)
    assert differs.outcome == "refuted" and differs.witness.arithmetic == "60 digits"
    assert differs.witness.relative == pytest.approx(1e-3, rel=1e-2)


def test_each_of_several_results_is_judged_and_containers_may_differ():
    found = px.check(lambda x: (x + x, x.sum(-1)), lambda x: [2 * x, x.mean(-1)], x=X)

    assert [(r.place, r.outcome) for r in found.results] == [("[0]", "proved"), ("[1]", "refuted")]
    assert any("f returns a tuple of 2" in note for note in found.notes)


@pytest.mark.parametrize(
    ("f", "g", "message"),
    [
        (lambda x: x.sum(-1, keepdim=True), lambda x: x.sum(-1), "has shape (2, 1), and of g (2,)"),
        (lambda x: (x, x + 1), lambda x: x + 1, "f returns a tuple of 2: [0], [1], g returns one tensor"),
        (lambda x: {"a": x * 2}, lambda x: {"b": x * 2}, "a dict of 1: ['a'], g returns a dict of 1: ['b']"),
    ],
)
def test_results_of_another_shape_or_structure_are_refuted(f, g, message):
    found = px.check(f, g, x=X)

    assert found.outcome == "refuted" and message in found.results[0].reason


def test_sizes_numbers_and_texts_among_the_results_are_compared():
    def f(x):
        return {"y": x + x, "n": x.shape[0], "kind": "twice"}

    assert px.check(f, lambda x: {"y": x * 2, "n": len(x), "kind": "twice"}, x=px.T("b", 8)).outcome == "proved"
    found = px.check(f, lambda x: {"y": x * 2, "n": len(x), "kind": "double"}, x=px.T("b", 8))
    assert found.outcome == "refuted" and "['kind'] = 'double'" in str(found)


def test_a_function_commutes_with_a_gather_whose_positions_are_read_in_another_order_of_dims():
    inputs = {"i": px.T("b", 8, dtype="i64"), "w": px.T(20, 8)}

    assert (
        px.check(lambda i, w: w.gather(0, i) * 2, lambda i, w: (w * 2).gather(0, i), inputs=inputs).outcome == "proved"
    )
    assert px.check(lambda i, w: w.gather(0, i), lambda i, w: w[i, 0], inputs=inputs).outcome == "refuted"


def test_keyword_only_arguments_are_passed_by_name():
    def scaled(x, *, scale):
        return x * scale

    assert px.check(scaled, lambda scale, x: scale * x, x=px.T("b", 8), scale=px.T(8)).outcome == "proved"


def test_parameters_of_modules_are_variables_of_both_sides():
    def norm(input, weight, bias):
        return layer_norm(input, weight, bias)

    assert px.check(torch.nn.LayerNorm(64), norm, input=X).outcome == "proved"
    with pytest.raises(px.ShapeError, match=r"the parameters differ: .* has weight .* bias"):
        px.check(torch.nn.Linear(64, 8), torch.nn.Sequential(torch.nn.Linear(64, 4), torch.nn.Linear(4, 8)), input=X)


def test_arguments_are_matched_by_name_else_in_order_and_a_note_says_so():
    found = px.check(lambda q, k: q @ k.T, lambda query, key: query @ key.T, q=X, k=X)
    assert found.notes == ("arguments of g with other names are matched in order: query is q, key is k",)

    found = px.check(lambda x, w: x - w, lambda w, x: x - w, x=X, w=X)
    assert found.outcome == "proved" and "matched by name" in found.notes[0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: px.check(lambda x, w: x @ w, lambda x: x, x=X), "Give those of w, such as w=px.T"),
        (lambda: px.check(lambda x, w: x @ w, lambda x: x, x=X, w=X), "w of f has no counterpart"),
        (lambda: px.check(lambda x: x, lambda x: x, y=X), "no side has y"),
        (lambda: px.check(lambda x: x @ x, lambda x: x, x=px.T("b", 7)), "neither side ran|raises"),
        (lambda: px.check(torch.nn.Linear, lambda x: x, x=X), "Linear is a class; pass one of its instances"),
        (lambda: px.check("no such file", lambda x: x, x=X), "there is no file 'no such file'"),
        (lambda: px.check(lambda x: x, 3), "found a int"),
    ],
)
def test_what_does_not_fit_is_refused_with_what_to_do(call, message):
    try:
        found = call()
    except px.PrismError as error:
        assert re.search(message, str(error)), error
    else:
        assert found.outcome == "refuted" and re.search(message, str(found)), found


def test_a_graph_is_compared_with_a_function():
    graph = "sgraph\n  x = input f32[b, 8]\n  %1 = mul_scalar(x, {})\n  return %1"

    assert px.check(lambda x: x + x, graph.format(2)).outcome == "proved"
    found = px.check(graph.format(3), lambda x: x + x)

    assert found.outcome == "refuted"
    assert found.witness.values[0] == pytest.approx(1.5 * found.witness.values[1])


def test_random_code_is_unknown_and_code_that_writes_into_an_argument_is_noted():
    found = px.check(lambda x: F.dropout(x, 0.5), lambda x: x * 1, x=X)
    assert found.outcome == "unknown" and "it draws random numbers" in str(found)

    found = px.check(lambda x: x.mul_(2), lambda x: x * 2, x=X)
    assert any("f writes into x" in note for note in found.notes)
    assert found.outcome != "refuted"


# ---------------------------------------------------------------- pytest
def test_assert_equivalent_fails_readably_and_unknown_never_passes_silently():
    px.assert_equivalent(lambda x: x + x, lambda x: 2 * x, x=X)
    with pytest.raises(AssertionError, match="f and g are not equivalent\n\nrefuted: f and g differ"):
        px.assert_equivalent(lambda x: x + x, lambda x: 3 * x, x=X)

    def sort(x):
        return torch.sort(x, -1).values

    def negated(x):
        return -torch.sort(-x, -1, True).values

    with pytest.raises(AssertionError, match="it is not decided whether sort and negated are equivalent"):
        px.assert_equivalent(sort, negated, x=X)
    with pytest.warns(UserWarning, match=r"accepted by \d+ random trials, not proved"):
        assert px.assert_equivalent(sort, negated, x=X, accept_tested=True).outcome == "unknown"
    with pytest.raises(AssertionError, match="not decided"):  # random code: no trial says anything
        px.assert_equivalent(lambda x: F.dropout(x, 0.5), lambda x: x * 1, x=X, accept_tested=True)


# ---------------------------------------------------------------- command line
def test_the_command_line_compares_two_functions(capsys):
    from prism_explore.entry.cli import main

    file = f"{__file__.removesuffix('test_check.py')}sides.py"
    assert main(["check", f"{file}:softmax", f"{file}:naive_softmax", "--input", "x=b,64"]) == 0
    assert capsys.readouterr().out.startswith("proved: softmax = naive_softmax for all b")
    assert main(["check", f"{file}:softmax", f"{file}:wrong_softmax", "--input", "x=b,64", "--json"]) == 1
    assert '"outcome": "refuted"' in capsys.readouterr().out
    for arguments, message in (
        ([f"{file}:soft", f"{file}:softmax", "--input", "x=b,64"], "has no 'soft'; it has naive_softmax, softmax"),
        ([f"{file}:softmax", "--input", "x=b,64"], "check compares two sides"),
        ([f"{file}:softmax", f"{file}:softmax", "--input", "b,64"], "--input takes NAME=DIMS"),
        (["nowhere.py:f", f"{file}:softmax", "--input", "x=b"], "there is no file nowhere.py"),
    ):
        assert main(["check", *arguments]) == 2
        assert message in capsys.readouterr().err


LOOKED_UP = {"i": px.T("b", "n", dtype="i64"), "w": px.T(20, 8)}


@pytest.mark.parametrize(
    ("g", "outcome"),
    [
        (lambda i, w: torch.nn.functional.embedding(i, torch.softmax(w, -1)), "proved"),
        (lambda i, w: torch.nn.functional.embedding(i, torch.softmax(w, 0)), "refuted"),
    ],
)
def test_a_lookup_commutes_with_what_works_on_rows_alone(g, outcome):
    found = px.check(lambda i, w: torch.softmax(torch.nn.functional.embedding(i, w), -1), g, inputs=LOOKED_UP)

    assert found.outcome == outcome


def test_lookups_of_example_tensors_are_compared_for_all_sizes():
    given = {"i": torch.tensor([0, 3, 2]), "w": torch.randn(5, 8)}

    found = px.check(lambda i, w: w[i] * 2, lambda i, w: torch.nn.functional.embedding(i, w + w), inputs=given)

    assert found.outcome == "proved"
    assert px.check(lambda i, w: w[i] * 2, lambda i, w: w[i] * 3, inputs=given).outcome == "refuted"


COUNTED = {"i": px.T("b", "n", dtype="i64"), "x": px.T("b", "n")}
ROWS = {"i": px.T("b", "n", dtype="i32"), "w": px.T(10, 4)}


@pytest.mark.parametrize(
    ("f", "g", "inputs", "outcome"),
    [
        (lambda i, x: torch.where(i == 0, 0.0, x), lambda i, x: x * (i != 0), COUNTED, "proved"),
        (lambda i, x: torch.where(i == 0, 0.0, x), lambda i, x: x * (i != 1), COUNTED, "refuted"),
        (lambda i, x: x * (i + 2), lambda i, x: x * i + 2 * x, COUNTED, "proved"),
        (lambda i, x: x * (i + 2), lambda i, x: x * i + x, COUNTED, "refuted"),
        (lambda i, x: x * i.T.float().T, lambda i, x: i * x, COUNTED, "proved"),
        (lambda i, x: x + 0 * i, lambda i, x: 1 * x, COUNTED, "proved"),
        (lambda i, w: w[i + 2] * 2, lambda i, w: (2 * w)[i + 2], ROWS, "proved"),
        (lambda i, w: w[i + 2] * 2, lambda i, w: (2 * w)[i + 1], ROWS, "refuted"),
        (
            lambda i, w: w[i] * (i == 0)[..., None],
            lambda i, w: torch.where((i != 0)[..., None], 0.0, w[i]),
            ROWS,
            "proved",
        ),
        (
            lambda i, w: w[i] * (i == 0)[..., None],
            lambda i, w: torch.where((i == 0)[..., None], 0.0, w[i]),
            ROWS,
            "refuted",
        ),
        (
            lambda i, w: torch.sort(w, -1)[0][i] * (i == 0)[..., None],
            lambda i, w: torch.where((i == 0)[..., None], torch.sort(w, -1)[0][i], 0.0),
            ROWS,
            "proved",
        ),
        # equal, but only because the position and the number are one integer, which proofs do not know
        (lambda i, w: torch.where((i == 0)[..., None], w[0], w[i]), lambda i, w: w[i], ROWS, "unknown"),
    ],
)
def test_integers_are_positions_and_numbers(f, g, inputs, outcome):
    found = px.check(f, g, inputs=inputs)

    assert found.outcome == outcome
    if outcome == "proved" and inputs is COUNTED:
        assert "each integer that is read as a number is between -1048576 and 1048576" in " ".join(str(found).split())


def test_arguments_may_have_the_names_of_the_sides():
    found = px.check(lambda g, f: g * f + g, lambda g, f: g * (1 + f), g=px.T("b", 8), f=px.T("b", 8))
    assert found.outcome == "proved"


def test_sums_of_rows_by_their_class_are_products_with_classes_as_bits():
    def added(x, i):
        return torch.zeros(4, 6).index_add(0, i, x)

    def scattered(x, i):
        return torch.zeros(4, 6).scatter_add(0, i[:, None].expand(-1, 6), x)

    inputs = {"x": px.T("n", 6), "i": px.T("n", dtype="i64")}
    assert px.check(added, lambda x, i: F.one_hot(i, 4).float().T @ x, **inputs).outcome == "proved"
    assert px.check(added, scattered, **inputs).outcome == "proved"
    assert px.check(added, lambda x, i: F.one_hot(i, 4).float().T @ x.abs(), **inputs).outcome == "refuted"


def test_positions_are_drawn_below_the_sizes_of_the_code():
    def added(x, i):
        return x.new_zeros(3, 8).index_add(0, i, x)

    inputs = {"x": px.T(12, 8), "i": px.T(12, dtype="i64")}
    assert px.check(added, lambda x, i: F.one_hot(i, 3).to(x.dtype).T @ x, **inputs).outcome == "proved"
    assert px.check(added, lambda x, i: x.new_zeros(3, 8).index_copy(0, i, x), **inputs).outcome == "refuted"
    compared = px.check(added, lambda x, i: (i[:, None] == torch.arange(3)).to(x.dtype).T @ x, **inputs)
    assert compared.outcome != "refuted"  # one side raises where a position is too large


XW = {"x": px.T(5, 8), "w": px.T(8, 4)}


@pytest.mark.parametrize(
    ("f", "g", "inputs", "outcome"),
    [
        (
            lambda x, w: torch.func.grad(lambda v: (x @ v).square().sum())(w),
            lambda x, w: 2 * x.T @ (x @ w),
            XW,
            "proved",
        ),
        (lambda x, w: torch.func.grad(lambda v: (x @ v).square().sum())(w), lambda x, w: x.T @ (x @ w), XW, "refuted"),
        (
            lambda x: torch.func.jvp(torch.tanh, (x,), (x,))[1],
            lambda x: x * (1 - torch.tanh(x) ** 2),
            {"x": px.T(5, 8)},
            "proved",
        ),
        (
            lambda x: torch.func.hessian(lambda v: (v**3).sum())(x),
            lambda x: torch.diag(3 * x),
            {"x": px.T(6)},
            "refuted",
        ),
        (
            lambda x: torch.func.hessian(lambda v: (v.sin() * v).sum())(x),
            lambda x: torch.diag(2 * x.cos() - x * x.sin()),
            {"x": px.T(6)},
            "proved",
        ),
        (
            lambda x, w: torch.func.jacrev(lambda v: torch.tanh(v @ w))(x[0]),
            lambda x, w: (1 - torch.tanh(x[0] @ w) ** 2)[:, None] * w.T,
            XW,
            "proved",
        ),
        (
            lambda x, w: torch.func.jacrev(lambda v: torch.tanh(v @ w))(x[0]),
            lambda x, w: (1 - torch.tanh(x[0] @ w))[:, None] * w.T,
            XW,
            "refuted",
        ),
        (
            lambda x, w: torch.vmap(torch.vmap(lambda a: (a * w).softmax(-1) @ w), in_dims=1, out_dims=1)(x),
            lambda x, w: (x * w).softmax(-1) @ w,
            {"x": px.T(2, 3, 4), "w": px.T(4)},
            "proved",
        ),
    ],
)
def test_derivatives_are_compared_with_formulas(f, g, inputs, outcome):
    assert px.check(f, g, **inputs).outcome == outcome


def _window_by_positions(q, k):
    i = torch.arange(q.shape[0])
    near = (i[:, None] - i[None] < 4) & (i[:, None] >= i[None])
    return (q @ k.mT).masked_fill(~near, float("-inf")).softmax(-1)


def _window_by_triangles(q, k, wide=4):
    near = torch.ones(q.shape[0], q.shape[0], dtype=torch.bool).tril().triu(1 - wide)
    return torch.where(near, q @ k.mT, -torch.inf).softmax(-1)


def _smoothed(x, i, classes=10):
    scores = x.log_softmax(-1)
    return (-0.9 * scores.gather(1, i[:, None])[:, 0] - 0.1 * scores.sum(-1) / classes).mean()


def _turned(x, angle):
    a, b = x.chunk(2, -1)
    return torch.cat((a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()), -1)


WORDS = {"q": px.T("t", 8), "k": px.T("t", 8)}
CLASSES = {"x": px.T("b", 10), "i": px.T("b", dtype="i64")}
TURNED = {**WORDS, "a": px.T("t", 4)}


@pytest.mark.parametrize(
    ("f", "right", "wrong", "given"),
    [
        pytest.param(
            _window_by_positions,
            _window_by_triangles,
            lambda q, k: _window_by_triangles(q, k, 5),
            WORDS,
            id="triangles of triangles",
        ),
        pytest.param(
            lambda x, i: F.cross_entropy(x, i, label_smoothing=0.1),
            _smoothed,
            lambda x, i: _smoothed(x, i, 9),
            CLASSES,
            id="smoothed labels",
        ),
        pytest.param(
            lambda q, k, a: (_turned(q, a) * _turned(k, a)).sum(-1),
            lambda q, k, a: (q * k).sum(-1),
            lambda q, k, a: (q * _turned(k, a)).sum(-1),
            TURNED,
            id="vectors that are turned by one angle",
        ),
        pytest.param(
            lambda x: x.cumsum(1) - x,
            lambda x: x @ torch.ones(x.shape[1], x.shape[1]).triu(1),
            lambda x: x @ torch.ones(x.shape[1], x.shape[1]).triu(2),
            {"x": px.T("b", "n")},
            id="a band whose last row is empty",
        ),
        pytest.param(
            lambda x: torch.func.grad(lambda z: F.softplus(z).sum())(x),
            lambda x: torch.sigmoid(x),
            lambda x: torch.sigmoid(2 * x),
            {"x": px.T("b", 8)},
            id="the slope of softplus",
        ),
        pytest.param(
            lambda x, y: torch.trace(x @ y),
            lambda x, y: (x * y.T).sum(),
            lambda x, y: (x * y).sum(),
            {"x": px.T("n", "n"), "y": px.T("n", "n")},
            id="a trace",
        ),
        pytest.param(
            lambda x: torch.sqrt(4 * x / x.shape[0]),
            lambda x: 2 * torch.sqrt(x) / x.shape[0] ** 0.5,
            lambda x: 2 * torch.sqrt(x) / x.shape[0],
            {"x": px.T("b", 8)},
            id="the root of a multiple",
        ),
    ],
)
def test_rewrites_by_hand_and_wrong_ones(f, right, wrong, given):
    assert px.check(f, right, **given).outcome == "proved"
    assert px.check(f, wrong, **given).outcome == "refuted"


def test_a_slope_that_is_zero_but_for_rounding_is_no_error_of_the_translation():
    def by_torch(q, k, v, g):
        return torch.func.vjp(lambda q: (q @ k.T / 4).softmax(-1) @ v, q)[1](g)[0]

    def by_hand(q, k, v, g):
        p = (q @ k.T / 4).softmax(-1)
        return p * (g @ v.T - (g * (p @ v)).sum(-1, keepdim=True)) @ k / 4

    rows = {name: px.T("t" if name in "qg" else "s", 16) for name in "qkvg"}
    assert px.check(by_torch, by_hand, **rows).outcome == "proved"
