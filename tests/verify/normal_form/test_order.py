"""Rules O1 to O6 and G1 on random expressions: a form by order means what they compute."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from prism_explore.ir.interpreter.reference import evaluate
from prism_explore.verify.normal_form.algebra import Algebra, NoNormalForm
from prism_explore.verify.normal_form.lower_graph import lower
from tests.verify.normal_form.test_rules import graph
from tests.verify.pointwise import Meaning, TooLong, total_functions

EXPRESSIONS = 400
BY_ORDER = ("relu", "abs", "neg", "positive", "is_zero", "nonnegative", "nonzero", "sign")
OTHERS = ("square", "exp", "recip", "sigmoid", "softplus", "log", "tanh")
WITH_NUMBER = (
    "max_scalar({}, -1)",
    "min_scalar({}, 2)",
    "add_scalar({}, 1)",
    "mul_scalar({}, -2)",
    "mul_scalar({}, 3)",
)
SHAPES = ("sqrt(square({}))", "log(exp({}))", "log(add_scalar(square({}), 1))", *WITH_NUMBER)
BINARY = ("add", "sub", "mul", "max", "min", "keep", "drop", "div")
SIZES = {"n": 2, "m": 3, "c": 1, "d": 1}
NUMBERS = (-2.0, -1.0, 0.0, 0.5, 1.0, 2.0)
"""Few, so that values are often 0, equal, or at a border."""


def expression(r: random.Random, depth: int) -> str:
    if not depth or r.random() < 0.1:
        return r.choice("xxyyzu")
    kind = r.random()
    if kind < 0.25:
        return f"{r.choice(BY_ORDER)}({expression(r, depth - 1)})"
    if kind < 0.45:
        return r.choice((*(f"{fn}({{}})" for fn in OTHERS), *SHAPES)).format(expression(r, depth - 1))
    if kind < 0.95:
        return f"{r.choice(BINARY)}({expression(r, depth - 1)}, {expression(r, depth - 1)})"
    return f"{r.choice(('sum', 'max', 'mean'))}({expression(r, depth - 1)}, dim=1)"


@pytest.mark.parametrize("seed", range(4))
def test_a_form_with_comparisons_means_what_the_expression_computes(seed: int):
    r = random.Random(seed)
    algebra = Algebra(by_order=True)
    tally: Counter[str] = Counter()
    while tally["compared"] < EXPRESSIONS / 4:
        text = expression(r, r.choice((2, 3, 4)))
        if "(" not in text:
            continue
        g = graph(text)
        algebra.restart()
        try:
            form = lower(g, algebra).values[g.output]
        except NoNormalForm:
            tally["no form"] += 1
            continue
        inputs = {
            i.name: np.array([r.choice(NUMBERS) for _ in range(i.type.elements.value(SIZES))]).reshape(
                [d.value(SIZES) for d in i.type.dims]
            )
            for i in g.inputs
        }
        with np.errstate(all="ignore"), total_functions():
            truth = np.asarray(evaluate(g, inputs, {s: SIZES[s] for s in g.data_symbols}), float)
            try:
                found = Meaning(SIZES, inputs).tensor(form, truth.shape)
            except TooLong:
                continue
        usable = np.isfinite(truth) & np.isfinite(found) & (np.abs(truth) < 1e9)
        np.testing.assert_allclose(found[usable], truth[usable], rtol=1e-6, atol=1e-6, err_msg=text)
        tally["compared"] += 1
    assert tally["no form"] < EXPRESSIONS / 20
