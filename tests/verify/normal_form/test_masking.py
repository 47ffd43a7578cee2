"""What a mask leaves undefined at some sizes must not reach a result; what only passes through it may."""

from __future__ import annotations

import pytest

from prism_explore.events.journal import Journal
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.text import parse, parse_program
from prism_explore.pipeline.stages import Candidate, Family, Proof, Unknown, Verified
from prism_explore.verify.certificate.certify import certify
from prism_explore.verify.normal_form.algebra import Algebra, NoNormalForm
from prism_explore.verify.normal_form.cut_points import lower_with_cuts
from prism_explore.verify.normal_form.forms import show
from prism_explore.verify.normal_form.lower_graph import lower
from prism_explore.verify.normal_form.masking import check
from prism_explore.verify.prover import Prover
from tests.verify.candidates import Entry, swapped, variant
from tests.verify.corpus import candidate
from tests.verify.workloads import RIGHT, TEXTS, program_of, sgraph_of

CAUSAL, CAUSAL_SPLIT = TEXTS["causal_attention-R10"], TEXTS["causal_attention-R7-split"]
MASKED = [e for e in RIGHT if e.workload in ("causal_attention", "sliding_window_attention")]


def trouble(text: str, workload: str = "causal_attention") -> str:
    """Why the form of a candidate would be no proof; empty where it is one."""
    graph = sgraph_of(Entry(workload, "", text, True))
    algebra = Algebra(integers=graph.conditions())
    lowered = lower(graph, algebra)
    try:
        check(graph, lowered, algebra)
    except NoNormalForm as stuck:
        return stuck.limit
    return ""


@pytest.mark.parametrize("entry", MASKED, ids=lambda e: e.name)
def test_right_candidates_stay_proved(entry: Entry) -> None:
    assert "" == trouble(entry.text, entry.workload)


NORMALISED = swapped(
    CAUSAL_SPLIT,
    "store(accum_rescaled(matmul($e, $v), $m)",
    "store(div(accum_rescaled(matmul($e, $v), $m), accum_rescaled($e, $m, dim=3))",
)
"""Each split divided by its own sum; the combining kernel multiplies by it again, in one order or another."""
HALVES = """
  $keep = band(rows={s}, columns={s}, high=0, dtype=f32)
  $o = custom(q, k, v, $keep) grid[x=gb, y=gh, z=gq]
    $q = load(q, imap=[0, 1, 2])
    $k = load(k, imap=[0, 1, -])
    $v = load(v, imap=[0, 1, -])
    $keep = load($keep, imap=[-, -, 0])
    $k1 = slice($k, dim=3, start=0, stop={s}/2)
    $k2 = slice($k, dim=3, start={s}/2, stop={s})
    $v1 = slice($v, dim=2, start=0, stop={s}/2)
    $v2 = slice($v, dim=2, start={s}/2, stop={s})
    $h1 = slice($keep, dim=1, start=0, stop={s}/2)
    $h2 = slice($keep, dim=1, start={s}/2, stop={s})
    $s1 = mask(mul_scalar(matmul($q, $k1), {scale}), $h1)
    $s2 = mask(mul_scalar(matmul($q, $k2), {scale}), $h2)
    $m = max(max($s1, dim=3), max($s2, dim=3))
    $e1 = exp(sub($s1, $m))
    $e2 = exp(sub($s2, $m))
    $num = add(matmul($e1, $v1), matmul($e2, $v2))
    $den = add(sum($e1, dim=3), sum($e2, dim=3))
    store(div($num, $den), omap=[0, 1, 2])
  return $o
"""
OWN_MAXIMA = variant(
    HALVES,
    e1="exp(sub($s1, max($s1, dim=3)))",
    e2="exp(sub($s2, max($s2, dim=3)))",
    num="add(mul(matmul($e1, $v1), $w1), mul(matmul($e2, $v2), $w2))",
    den="add(mul(sum($e1, dim=3), $w1), mul(sum($e2, dim=3), $w2))",
).replace(
    "    $num =",
    "    $w1 = exp(sub(max($s1, dim=3), $m))\n    $w2 = exp(sub(max($s2, dim=3), $m))\n    $num =",
)
BANDS = {"causal_attention": "high=0", "sliding_window_attention": "low={back}, high=0"}
PROVED = {
    "normalised splits": variant(NORMALISED, top="accum_rescaled(mul(mul($num, $den), $w), $run)"),
    "normalised splits, the weight times the sum first": variant(
        NORMALISED, top="accum_rescaled(mul($num, mul($den, $w)), $run)"
    ),
    "normalised splits, the weight first": variant(NORMALISED, top="accum_rescaled(mul(mul($num, $w), $den), $run)"),
    "halves of the keys": HALVES,
    "halves of the keys, each with its own maximum": OWN_MAXIMA,
    "halves of the keys without a maximum": variant(HALVES, e1="exp($s1)", e2="exp($s2)"),
    "queries cut and joined": variant(
        CAUSAL,
        e="concat(slice($d, dim=2, start=0, stop={s}/(2*gq)), slice($d, dim=2, start={s}/(2*gq), stop={s}/gq), dim=2)",
    ).replace("    $e =", "    $d = exp(sub($s, $m))\n    $e ="),
}


@pytest.mark.parametrize("workload", BANDS)
@pytest.mark.parametrize("form", PROVED)
def test_splits_and_pieces_of_what_is_masked_are_proved(form: str, workload: str) -> None:
    text = PROVED[form].replace("columns={s}, high=0", "columns={s}, " + BANDS[workload])
    program, graph = program_of(workload), sgraph_of(Entry(workload, "", text, True))

    assert isinstance(Prover(program).verify(candidate(program, graph), Journal()), Verified)


@pytest.mark.parametrize("workload", BANDS)
@pytest.mark.parametrize("form", [form for form in PROVED if form.startswith("normalised")])
def test_every_lemma_of_a_normalised_split_is_replayed(form: str, workload: str) -> None:
    """Where a split has no entry, both its sum and what it weighs are 0."""
    text = PROVED[form].replace("columns={s}, high=0", "columns={s}, " + BANDS[workload])
    program, graph = program_of(workload), sgraph_of(Entry(workload, "", text, True))
    verified = Verified(candidate(program, graph), Proof("normal form", "", ()), ())

    lemmas = certify(verified, Journal()).proof.lemmas

    assert [] == [(x.tensor, x.operation, x.note) for x in lemmas if not x.replayed]
    assert 1 == sum("weights" in x.axioms for x in lemmas)


def test_a_maximum_over_a_piece_says_nothing_of_the_rest() -> None:
    """Far down, a window leaves out the first half: there its maximum is low, and what is kept is not."""
    first_only = HALVES.replace("columns={s}, high=0", "columns={s}, low={back}, high=0")
    first_only = variant(first_only, m="max($s1, dim=3)")

    assert "not as low there" in trouble(first_only, "sliding_window_attention")
    assert "the result depends on" in trouble(
        variant(first_only, e2="exp($s2)", num="matmul($e1, $v1)", den="add_scalar(sum(exp($s2), dim=3), 1)"),
        "sliding_window_attention",
    )


WRONG = {
    "a difference from a tile's own maximum that is never made good": (
        variant(CAUSAL, m="max($s, dim=3)", num="accum(matmul($e, $v))", den="accum_sum($e, dim=3)"),
        "sums run over max_",
    ),
    "rescaled by a tile's own maximum": (variant(CAUSAL, m="max($s, dim=3)"), "and not by a running maximum"),
    "the scale's sign flipped": (
        variant(
            CAUSAL_SPLIT,
            run="neg(running_max($most))",
            w="exp(add($most, $run))",
        ),
        "is used outside of an exponential",
    ),
    "subtracted from what is not masked": (
        variant(CAUSAL, e="mul(exp(sub(mul_scalar(matmul($q, $k), {scale}), $m)), $keep)"),
        "is subtracted from what is not as low there",
    ),
    "a split's difference times a negative number": (
        variant(CAUSAL_SPLIT, w="exp(mul_scalar(sub($run, $most), -1))"),
        "is subtracted from what is not as low there",
    ),
    "a maximum three times as low as what it is subtracted from": (
        variant(CAUSAL, m="running_max(mul_scalar(mask(matmul($q, $k), $keep), {scale}), dim=3)"),
        "is subtracted from what is not as low there",
    ),
    "a difference turned round": (
        variant(CAUSAL_SPLIT, w="exp(neg(sub($most, $run)))"),
        "is multiplied by a number that is not positive",
    ),
    "each split normalised by a sum of what is masked twice": (
        variant(
            NORMALISED,
            top="accum_rescaled(mul(mul($num, $den), $w), $run)",
            e="mul(exp(sub($s, $m)), $keep)",
        ),
        "a divisor is taken of what depends on",
    ),
    "halves of the keys, the second normalised and not brought back": (
        variant(HALVES, e1="exp($s1)", m="max($s2, dim=3)", num="matmul($e2, $v2)", den="sum($e2, dim=3)"),
        "the result depends on",
    ),
}


def test_a_difference_may_be_spelled_as_a_sum_with_the_opposite() -> None:
    assert "" == trouble(variant(CAUSAL, e="exp(add(neg($m), $s))"))
    assert "" == trouble(variant(CAUSAL_SPLIT, w="exp(add($most, mul_scalar($run, -1)))"))
    assert "" == trouble(variant(CAUSAL_SPLIT, w="exp(sub($most, neg(neg($run))))"))
    assert "not as low" in trouble(variant(CAUSAL_SPLIT, w="exp(add($most, mul_scalar($run, -2)))"))


@pytest.mark.parametrize("name", WRONG)
def test_what_may_be_no_number_at_some_sizes_is_not_proved(name: str) -> None:
    text, reason = WRONG[name]

    assert reason in trouble(text)


SOFTMAX = "x = input f32[b, n]\n  k = input f32[b, n]"


def of(program: str, sgraph: str, inputs: str = SOFTMAX) -> tuple[TensorProgram, Candidate]:
    p = parse_program(f"program p\n  {inputs}\n  " + "\n  ".join(program.split("; ")))
    g = parse(f"sgraph\n  {inputs}\n  " + "\n  ".join(sgraph.split("; ")))
    return p, Candidate("f1.c1", Family("f1", p, g), g, (), g.conditions())


INVERSE = "%2 = mask(x, k); %3 = exp(%2); %4 = recip(%3); %5 = mul(%3, %4); return %5"
INDICATOR = "%2 = mul_scalar(x, 0); %3 = div(k, k); %4 = add(%2, %3); return %4"


def test_a_divisor_that_may_be_masked_element_by_element_gives_no_proof() -> None:
    program, wrong = of(INVERSE, INDICATOR)

    verdict = Prover(program).verify(wrong, Journal())

    assert isinstance(verdict, Unknown)
    assert "a divisor may be masked as a whole" in verdict.limit


def test_nor_does_the_checker_accept_a_certificate_of_it() -> None:
    _, wrong = of(INVERSE, INDICATOR)

    lemmas = certify(Verified(wrong, Proof("normal form", "", ()), ()), Journal()).proof.lemmas

    refused = {x.tensor: x.note for x in lemmas if not x.replayed}
    assert {"program.%4"} == set(refused)
    assert "divides by what may be masked as a whole" in refused["program.%4"]


def test_two_values_that_differ_where_a_split_is_masked_are_not_taken_for_one() -> None:
    """exp(x - m) is 1 somewhere in every split, and 0 once it is masked again: their difference has the form 0."""
    inputs = "x = input f32[b, n]\n  k = input f32[b, n]"
    split = (
        "%2 = mask(x, k); %3 = reshape(%2, dims=[b, n/f, f]); %4 = max(%3, dim=2); %5 = sub(%3, %4); %6 = exp(%5); "
        "%7 = reshape(k, dims=[b, n/f, f]); %8 = div(%7, %7); %9 = mul(%6, %8); %10 = sub(%6, %9); return %10"
    )
    program, wrong = of(split, "%2 = reshape(x, dims=[b, n/f, f]); %3 = mul_scalar(%2, 0); return %3", inputs)

    verdict = Prover(program).verify(wrong, Journal())

    assert not isinstance(verdict, Verified)
    algebra = Algebra(integers=program.graph.conditions())
    with pytest.raises(NoNormalForm, match="the result depends on a difference from"):
        check(program.graph, lower(program.graph, algebra), algebra)


def test_a_band_that_is_cut_is_not_taken_for_a_whole_one() -> None:
    inputs = "x = input f32[12, 12]"
    half = (
        "%1 = band(rows=12, columns=12, high=0, dtype=f32); %2 = mask(x, %1); %3 = slice(%2, dim=1, start=6, stop=12); "
        "%4 = max(%3, dim=1); %5 = sub(%3, %4); %6 = exp(%5); %7 = slice(%1, dim=1, start=6, stop=12); "
        "%8 = mul(%6, %7); %9 = sub(%6, %8); return %9"
    )
    program, wrong = of(half, "%1 = slice(x, dim=1, start=6, stop=12); %2 = mul_scalar(%1, 0); return %2", inputs)

    assert not isinstance(Prover(program).verify(wrong, Journal()), Verified)
    algebra = Algebra(integers=program.graph.conditions())
    with pytest.raises(NoNormalForm, match="the result depends on a difference from"):
        check(program.graph, lower(program.graph, algebra), algebra)


def test_a_softmax_in_rows_and_a_maximum_with_a_number_are_fine() -> None:
    rows = "%2 = mask(x, k); %3 = max(%2, dim=1); %4 = sub(%2, %3); %5 = exp(%4); %6 = sum(%5, dim=1); %7 = div(%5, %6)"
    plain = "%2 = mask(x, k); %5 = exp(%2); %6 = sum(%5, dim=1); %7 = div(%5, %6); return %7"
    program, right = of(f"{rows}; return %7", plain.replace("%5", "%3").replace("%6", "%4").replace("%7", "%5"))

    assert isinstance(Prover(program).verify(right, Journal()), Verified)


def test_masked_scores_are_no_cut_point() -> None:
    """A cut gives a tensor a name, of which it is not known that an exponential makes a masked element 0."""
    features = "".join(f"\n  %{i} = exp(%{i - 1})" for i in range(4, 12))
    graph = parse_program(f"""program deep
  q = input f32[8, 16]
  w = input f32[16, 8]
  %2 = band(rows=8, columns=8, high=0, dtype=f32)
  %3 = matmul(q, w){features}
  %12 = mask(%11, %2)
  %13 = max(%12, dim=1)
  %14 = sub(%12, %13)
  %15 = exp(%14)
  return %15""").graph
    algebra = Algebra(integers=graph.conditions())

    program, candidate = lower_with_cuts(graph, graph, algebra)

    assert program.values[-1] == candidate.values[-1]
    named = " ".join(map(show, candidate.values))
    assert "%13[" in named and "%12[" not in named  # their maximum is cut, they are not
    check(graph, candidate, algebra)
