"""What is equal over the reals and unsafe in floats is marked, with numbers that anyone can run again."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from importlib import import_module

import numpy as np
import pytest

from prism_explore.floats import Assessor, Safe, Unassessed, Unsafe, assess, explain
from prism_explore.floats.hostile_inputs import HOSTILE, Case, cases, draw
from prism_explore.floats.precision import PRECISIONS, Precision, precision, representable
from prism_explore.floats.precision import run as precision_run
from prism_explore.floats.shapes import Plan, Planner
from prism_explore.floats.static_rules import FINDINGS, find_concerns, longest_rounding_chain
from prism_explore.ir.interpreter import reference
from prism_explore.ir.program import ProgramBuilder, TensorProgram
from prism_explore.pipeline.stages import Candidate, Family, Proof, Verified
from tests.floats.forms import (
    NORMALISED_SPLIT,
    ONE_PASS_LAYER_NORM,
    ONLINE_ATTENTION,
    PLAIN_ATTENTION,
    PLAIN_SOFTMAX,
    R1,
    R1_SUM_THEN_SCALE,
    attention,
    layer_norm,
    proved,
    rms_norm_linear,
    softmax,
)
from tests.verify import workloads


# ---------------------------------------------------------------- what is marked
@pytest.mark.parametrize(
    ("program", "text"),
    [(softmax(True), PLAIN_SOFTMAX), (attention(True), PLAIN_ATTENTION)],
    ids=["softmax", "attention"],
)
def test_a_softmax_without_its_maximum_is_unsafe_where_the_program_subtracts_it(
    program: TensorProgram, text: str
) -> None:
    found = assess(proved(program, text))

    assert isinstance(found, Unsafe)
    assert {"large values", "far negative values"} <= {e.case.hostile for e in found.evidence}
    assert not found.evidence[0].is_finite
    assert "exp without its maximum" in {c.rule for c in found.concerns}
    assert explain(found).startswith("unsafe in f32: not finite, where the program is, on large values in ")


def test_a_one_pass_variance_is_unsafe_where_the_program_centres_first() -> None:
    found = assess(proved(layer_norm(), ONE_PASS_LAYER_NORM))

    assert isinstance(found, Unsafe)
    assert "an offset" == found.evidence[0].case.hostile
    assert found.evidence[0].is_finite and found.evidence[0].error > 100 * found.evidence[0].program_error
    assert "variance by difference" in {c.rule for c in found.concerns}


def test_parts_that_are_normalised_before_they_are_joined_vanish_as_a_whole() -> None:
    found = assess(proved(softmax_sum_of_parts(), NORMALISED_SPLIT))

    assert isinstance(found, Unsafe)
    assert "two camps" in {e.case.hostile for e in found.evidence}


def softmax_sum_of_parts() -> TensorProgram:
    """Softmax-weighted mean of v with logits x, as written: exp, sum, quotient."""
    b = ProgramBuilder("weighted")
    x, v = b.input("x", "b", 512), b.input("v", 512, 64)
    e = b.unary("exp", x)
    return b.build(b.matmul(b.binary("div", e, b.reduce("sum", e, 1)), v))


# ---------------------------------------------------------------- what is not
@pytest.mark.parametrize(
    ("program", "text"),
    [
        (rms_norm_linear(), R1),
        (rms_norm_linear("bf16"), R1),
        (rms_norm_linear("f16"), R1),
        (attention(True), ONLINE_ATTENTION),
        (attention(False), ONLINE_ATTENTION),
        (attention(False), PLAIN_ATTENTION),
        (softmax(False), PLAIN_SOFTMAX),
    ],
    ids=["r1", "r1-bf16", "r1-f16", "online", "online-of-plain", "plain-of-plain", "softmax-of-plain"],
)
def test_safe_forms_are_safe(program: TensorProgram, text: str) -> None:
    found = assess(proved(program, text))

    assert isinstance(found, Safe), explain(found)
    assert found.runs >= 10
    assert explain(found).startswith("no harm in ")


def group_norm() -> TensorProgram:
    """A matrix product, normalised in groups, and a leaky ReLU."""
    b = ProgramBuilder("group_norm")
    x, w, g, h = b.input("x", 4, 16), b.input("w", 16, 24), b.input("g", 24), b.input("h", 24)
    y = b.reshape(b.matmul(x, w), 4, 4, 6)
    c = b.binary("sub", y, b.reduce("mean", y, 2))
    deviation = b.unary("sqrt", b.scalar("add", b.reduce("mean", b.unary("square", c), 2), Fraction(1, 100000)))
    z = b.binary("add", b.binary("mul", b.reshape(b.binary("div", c, deviation), 4, 24), g), h)
    return b.build(b.binary("add", b.scalar("max", z, 0), b.scalar("mul", b.scalar("min", z, 0), Fraction(1, 100))))


GROUP_NORM = """  %4 = custom(x, w, g, h) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[0], fmap=1)
    %1 = load(1, imap=[-], fmap=0)
    %2 = load(2, imap=[-])
    %3 = load(3, imap=[-])
    %4 = matmul(%0, %1)
    %5 = accum(%4)
    %6 = reshape(%5, dims=[4/gx, 4, 6])
    %7 = mean(%6, dim=2)
    %8 = sub(%6, %7)
    %9 = square(%8)
    %10 = mean(%9, dim=2)
    %11 = add_scalar(%10, 1/100000)
    %12 = sqrt(%11)
    %13 = div(%8, %12)
    %14 = reshape(%13, dims=[4/gx, 24])
    %15 = mul(%14, %2)
    %16 = add(%15, %3)
    %17 = max_scalar(%16, 0)
    %18 = min_scalar(%16, 0)
    %19 = mul_scalar(%18, 1/100)
    %20 = add(%17, %19)
    %21 = store(%20, omap=[0])
  return %4"""


@pytest.mark.parametrize("seed", [9, 55, 138])
def test_a_program_that_rounds_well_by_chance_in_a_few_orders_refutes_no_candidate(seed: int) -> None:
    found = assess(proved(group_norm(), GROUP_NORM), seed=seed)

    # In a group of two elements that are close, the mean of both is exact in half of the orders.
    assert isinstance(found, Safe), explain(found)


@pytest.mark.parametrize("program", [softmax(True), softmax(False), layer_norm(), rms_norm_linear(), attention(True)])
def test_a_program_is_as_safe_as_itself(program: TensorProgram) -> None:
    found = assess(proved(program))

    assert isinstance(found, Safe)
    assert found.worst <= found.program_worst
    assert () == found.concerns


def test_an_online_softmax_is_not_worse_than_the_program_by_much() -> None:
    found = assess(proved(attention(True), ONLINE_ATTENTION))

    assert isinstance(found, Safe)
    assert found.worst < 4 * found.program_worst


# ---------------------------------------------------------------- evidence
def test_the_same_seed_gives_the_same_assessment_and_another_seed_other_numbers() -> None:
    one, two, other = (assess(proved(softmax(True), PLAIN_SOFTMAX), seed=s) for s in (3, 3, 4))

    assert one == two
    assert one != other


def test_an_evidence_can_be_run_again_and_vanishes_with_the_fault() -> None:
    program = attention(True)
    bad, good = proved(program, PLAIN_ATTENTION), proved(program, ONLINE_ATTENTION)
    assessor = Assessor(program)
    found = assessor.assess(bad)
    assert isinstance(found, Unsafe)

    for evidence in found.evidence:
        again = assessor.replay(evidence, bad.candidate.sgraph)

        assert again is not None
        assert (evidence.case, evidence.index, evidence.exact) == (again.case, again.index, again.exact)
        assert assessor.replay(evidence, good.candidate.sgraph) is None


def test_evidence_at_sizes_that_a_candidate_is_not_run_at_is_an_error() -> None:
    program = softmax(True)
    found = assess(proved(program, PLAIN_SOFTMAX))
    assert isinstance(found, Unsafe)
    elsewhere = replace(found.evidence[0], sizes=(("b", 5),))

    with pytest.raises(ValueError, match="no run of this candidate has the sizes"):
        Assessor(program).replay(elsewhere, program.graph)


def test_what_the_program_gives_is_computed_once_for_many_candidates() -> None:
    assessor = Assessor(attention(True))
    first = assessor.assess(proved(attention(True), ONLINE_ATTENTION))
    kept = len(assessor._cache)  # pyright: ignore[reportPrivateUsage]
    second = assessor.assess(proved(attention(True), ONLINE_ATTENTION))

    assert kept == len(assessor._cache) > 0  # pyright: ignore[reportPrivateUsage]
    assert first == second


def test_the_program_is_run_in_more_orders_once_for_many_unsafe_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    assessor = Assessor(softmax(True))
    first = assessor.assess(proved(softmax(True), PLAIN_SOFTMAX))

    def refuse(*_: object) -> None:
        raise AssertionError("what the program gives is known")

    monkeypatch.setattr(import_module("prism_explore.floats.assess"), "_expect", refuse)
    assert isinstance(first, Unsafe)
    assert first == assessor.assess(proved(softmax(True), PLAIN_SOFTMAX))


# ---------------------------------------------------------------- what cannot be assessed
def test_a_constant_that_is_tied_to_an_extent_is_run_at_that_extent() -> None:
    found = assess(proved(rms_norm_linear(), R1_SUM_THEN_SCALE))

    assert isinstance(found, Safe)


def test_a_float64_program_has_nothing_wider_to_be_compared_with() -> None:
    b = ProgramBuilder("doubled")
    x = b.input("x", "b", 8, dtype="f64")

    found = assess(proved(b.build(b.scalar("mul", x, 2))))

    assert isinstance(found, Unassessed)
    assert "there is no wider one" in found.reason


def test_a_candidate_that_equals_the_program_at_no_small_size_is_not_assessed() -> None:
    wrong = R1_SUM_THEN_SCALE.replace("1/4096", "1/5")

    found = assess(proved(rms_norm_linear(), wrong))

    assert isinstance(found, Unassessed)
    assert "it equals the program at no sizes" in found.reason


# ---------------------------------------------------------------- the tables
def test_every_row_of_hostile_inputs_draws_finite_numbers_of_its_precision() -> None:
    graph = attention(True).graph
    shapes = [("q", (2, 4, 6)), ("k", (2, 6, 10)), ("v", (2, 10, 8))]
    for working in PRECISIONS:
        seen: set[str] = set()
        for case in cases(graph):
            seen.add(case.hostile)
            drawn = draw(shapes, case, working, 1)
            for value in drawn.values():
                assert np.isfinite(value).all()
                assert np.array_equal(value, representable(value, working))
        assert {row.name for row in HOSTILE} == seen


@pytest.mark.parametrize(("name", "between", "nearest"), [("bf16", 1 + 2**-9, 1.0), ("f16", 1 + 2**-12, 1.0)])
def test_narrow_precisions_round_to_the_nearest_even(name: str, between: float, nearest: float) -> None:
    working = precision(name)  # type: ignore[arg-type]
    assert working is not None
    above = 1 + 2.0 ** (1 - working.digits)

    rounded = representable(np.array([between, 1 + 1.5 * 2.0 ** (1 - working.digits), above]), working)

    assert [nearest, 1 + 2 * 2.0 ** (1 - working.digits), above] == rounded.tolist()


@pytest.mark.parametrize("row", PRECISIONS, ids=lambda row: row.name)
@pytest.mark.parametrize(
    ("program", "text"),
    [
        (softmax(True), PLAIN_SOFTMAX),
        (attention(True), ONLINE_ATTENTION),
        (layer_norm(), ONE_PASS_LAYER_NORM),
        (rms_norm_linear(), R1),
    ],
    ids=["softmax", "online attention", "layer norm", "rms norm"],
)
def test_a_candidate_run_at_once_errs_as_it_does_block_by_block(
    program: TensorProgram, text: str, row: Precision
) -> None:
    planned = Planner(program).plan(proved(program, text).candidate.sgraph)
    assert isinstance(planned, Plan)
    for instance in planned.all:
        for case in cases(instance.program):
            inputs = draw(instance.shapes, case, row, 0)
            narrow = {name: x.astype(np.float32) for name, x in inputs.items()}
            with np.errstate(all="ignore"):
                values = reference.run(instance.candidate, narrow, instance.symbols, row.rounded)
            plain = values[instance.candidate.output].astype(np.float64)
            found = precision_run(instance.candidate, inputs, instance.symbols, row)

            np.testing.assert_array_equal(np.isfinite(found), np.isfinite(plain))
            finite = np.where(np.isfinite(plain), plain, 0.0)
            size = float(np.abs(finite).max())
            np.testing.assert_allclose(
                np.where(np.isfinite(plain), found, 0.0), finite, rtol=0, atol=4 * row.unit * size
            )


def test_a_case_says_what_is_hostile_where() -> None:
    assert "two camps in k" == str(Case("two camps", "k", 1))
    assert "ordinary numbers" == str(Case("ordinary numbers", ""))


def test_every_row_of_the_audit_is_found_somewhere() -> None:
    rescaled_by_itself = ONLINE_ATTENTION.replace("running_max(%3, dim=2)", "sum(%3, dim=2)")
    found = {
        c.rule
        for program, text in (
            (attention(True), PLAIN_ATTENTION),
            (attention(True), rescaled_by_itself),
            (layer_norm(), ONE_PASS_LAYER_NORM),
        )
        for c in find_concerns(program, proved(program, text).candidate.sgraph)
    }

    assert {row.rule for row in FINDINGS} == found


def test_the_audit_finds_nothing_in_a_program_that_has_the_same_habit() -> None:
    program = softmax(False)

    assert () == find_concerns(program, proved(program, PLAIN_SOFTMAX).candidate.sgraph)


def test_the_modelled_bound_counts_a_sum_in_tiles_tile_by_tile() -> None:
    program = rms_norm_linear()
    fused = proved(program, R1).candidate.sgraph

    # x², 4096 terms, + eps, root, quotient, · g, 4096 products
    assert 1 + 4096 + 4 + 4096 == longest_rounding_chain(program.graph, {}, 1024)
    # x · g, 1024 products, 4 tiles less one, quotient; the mean's path is longer: x², 1024 + 3, + eps, root, quotient
    assert 1 + 1024 + 3 + 3 == longest_rounding_chain(fused, {"gx": 4, "f": 4}, 1024)


@pytest.mark.parametrize(
    "name",
    ["grouped_attention", "causal_attention", "rotary_scores", "latent_attention", "moe_routed", "transformer_block"],
)
def test_workloads_with_views_bands_and_heads_can_be_assessed(name: str) -> None:
    found = assess(proved(workloads.program_of(name)))

    assert isinstance(found, Safe), explain(found)
    assert found.worst <= found.program_worst


# ---------------------------------------------------------------- the known forms of the workloads
UNSAFE = (
    "swiglu-R3-by-growing-exp",
    "gated_mlp-R3-by-tanh",
    "layernorm_linear-one-pass",
    "layernorm_linear-fused",
    "moe_gating-one-kernel",
    "softmax-no-maximum",
    "softmax-any-shift",
    "safe_grouped_attention-R6",
    "safe_attention-R6",
    "causal_attention-R6-mask-as-factor",
    "causal_attention-R10-shifted-by-all-scores",
    "sliding_window_attention-R6-mask-before-exp",
    "latent_attention-absorbed-in-the-kernel",
)
SAFE = (
    "rmsnorm_linear-R1",
    "swiglu-R3-by-definition",
    "attention-R6",
    "attention-R7",
    "attention-R7-loop",
    "attention-R10",
    "attention-rows-and-columns-exchanged",
    "grouped_attention-R6",
    "grouped_attention-R7",
    "qknorm-R8-norm-behind-the-product",
    "safe_attention-R10",
    "safe_attention-two-passes",
    "safe_grouped_attention-R10",
)


@pytest.mark.parametrize("name", [*UNSAFE, *SAFE])
def test_known_forms_are_marked_as_numerical_analysts_would(name: str) -> None:
    (entry,) = [e for e in workloads.RIGHT if e.name == name]
    program, sgraph = workloads.program_of(entry.workload), workloads.sgraph_of(entry)
    candidate = Candidate("f1.c1", Family("f1", program, sgraph), sgraph, (), ())

    found = assess(Verified(candidate, Proof("normal form", "", ()), ()))

    assert isinstance(found, Unsafe if name in UNSAFE else Safe), explain(found)


def test_a_result_that_rests_on_denormal_numbers_is_no_merit_of_the_program() -> None:
    """exp(-95) of every logit: the program's quotient is right by luck, a sum of such products is not."""
    program = attention(False)
    assessor = Assessor(program)
    found = assessor.assess(proved(program, PLAIN_ATTENTION))

    assert isinstance(found, Safe)
    assert found.worst < 1e-3
