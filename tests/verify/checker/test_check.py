"""The checker accepts what is right and says what is wrong, without the prover's help."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import prism_explore.verify.checker.check as check_module
from prism_explore.events.journal import Journal
from prism_explore.ir.ops import Input
from prism_explore.ir.tensors import tensor
from prism_explore.pipeline.stages import Lemma, Proof, Verified
from prism_explore.verify.certificate.certify import certify
from prism_explore.verify.checker.check import Report, check
from prism_explore.verify.checker.evaluation import Evaluation
from prism_explore.verify.checker.parser import CertificateError, ParsedLemma, parse
from prism_explore.verify.checker.side_conditions import check_renamings
from prism_explore.verify.egraph.client import EgglogClient, Problem
from prism_explore.verify.egraph.limits import Limits, explain
from tests.verify.corpus import CASES, PROGRAMS, candidate

Lemmas = tuple[Lemma, ...]
BY_NAME = {c.name: c for c in CASES}


@pytest.fixture(scope="module")
def client() -> Iterator[EgglogClient]:
    with EgglogClient() as r:
        yield r


@pytest.fixture(scope="module")
def certificate() -> Lemmas:
    case = BY_NAME["rms_fused"]
    verified = Verified(candidate(PROGRAMS[case.program], case.sgraph), Proof("normal form", "", ()), ())
    return certify(verified, Journal()).proof.lemmas


@pytest.fixture(scope="module")
def complain(client: EgglogClient) -> Callable[..., Report]:
    """What the checker says of some lemmas as a certificate of a corpus case."""

    def replay(facts: str, left: str, right: str) -> str:
        run = client.replay(Problem(facts, left, right), Limits(iterations=10, seconds=30.0))
        return "" if run.equal else explain(run.stop)

    def complaints(lemmas: Lemmas, name: str = "rms_fused") -> Report:
        case = BY_NAME[name]
        return check(PROGRAMS[case.program], case.sgraph, lemmas, replay)

    return complaints


def edited(lemmas: Lemmas, tensor: str, **changes: object) -> Lemmas:
    assert any(x.tensor == tensor for x in lemmas)
    return tuple(replace(x, **changes) if x.tensor == tensor else x for x in lemmas)


def restated(lemmas: Lemmas, tensor: str, old: str, new: str) -> Lemmas:
    (lemma,) = [x for x in lemmas if x.tensor == tensor]
    assert old in lemma.statement, lemma.statement
    return edited(lemmas, tensor, statement=lemma.statement.replace(old, new))


def searched(lemmas: Lemmas, tensor: str) -> Lemmas:
    """A lemma without its steps: egglog has to search."""
    (lemma,) = [x for x in lemmas if x.tensor == tensor]
    lines = [x for x in lemma.statement.rstrip(")").splitlines() if not x.startswith(("  (let", "  (step"))]
    text = "\n".join(lines)
    return edited(lemmas, tensor, statement=text + ")" * (text.count("(") - text.count(")")))


# ---------------------------------------------------------------- right
def test_a_certificate_is_accepted(certificate: Lemmas, complain: Callable[..., Report]) -> None:
    report = complain(certificate)

    assert report.accepted
    assert () == report.errors


def test_it_was_evaluated_at_two_choices_of_sizes(certificate: Lemmas, complain: Callable[..., Report]) -> None:
    first, second = (dict(s) for s in complain(certificate).sizes)

    assert {"b", "f", "gx"} == set(first) == set(second)
    assert first != second
    assert all(4096 % n == 0 for n in (first["f"], first["gx"], second["f"], second["gx"]))
    assert min(*first.values(), *second.values()) > 1


# ---------------------------------------------------------------- incomplete
def test_a_missing_lemma_is_missed(certificate: Lemmas, complain: Callable[..., Report]) -> None:
    without = tuple(x for x in certificate if x.tensor != "k2.b3")

    ((_, complaint),) = complain(without).errors
    assert complaint.endswith("missing: k2.b3")


def test_the_last_lemma_is_missed(certificate: Lemmas, complain: Callable[..., Report]) -> None:
    assert not complain(certificate[:-1]).accepted


def test_the_order_matters(certificate: Lemmas, complain: Callable[..., Report]) -> None:
    assert not complain((certificate[1], certificate[0], *certificate[2:])).accepted


def test_a_certificate_is_of_one_candidate(certificate: Lemmas, complain: Callable[..., Report]) -> None:
    """The same operators in the same places, but the rms is of each tile."""
    found = dict(complain(certificate, "rms_root_before_the_accumulator").errors)

    assert found


# ---------------------------------------------------------------- underivable
def test_an_axiom_that_is_not_listed_is_missed(certificate: Lemmas, complain: Callable[..., Report]) -> None:
    (lemma,) = [x for x in certificate if x.tensor == "k2.b5"]
    for n in range(len(lemma.axioms)):
        fewer = (*lemma.axioms[:n], *lemma.axioms[n + 1 :])

        ((tensor, complaint),) = complain(edited(certificate, "k2.b5", axioms=fewer)).errors

        assert "k2.b5" == tensor
        assert complaint.startswith("the listed axioms do not give it again: ")


def test_an_invented_axiom_is_noticed(certificate: Lemmas, complain: Callable[..., Report]) -> None:
    report = complain(edited(certificate, "k2.b5", axioms=("1 = 2",)))

    assert (("k2.b5", "no axiom is called 1 = 2"),) == report.errors


def test_no_axioms_are_enough_for_one_text_only(certificate: Lemmas, complain: Callable[..., Report]) -> None:
    report = complain(edited(certificate, "k2.b3", axioms=()))

    assert (("k2.b3", "no axiom is listed and the two sides are not the same text"),) == report.errors


# ---------------------------------------------------------------- untrue, though derivable
def test_a_lemma_about_something_else_is_noticed(certificate: Lemmas, complain: Callable[..., Report]) -> None:
    """Both sides are changed alike, so egglog derives it; but it is not what the operator computes."""
    report = complain(restated(certificate, "k2.b0", "(at x", "(at w"))

    assert "k2.b0" in dict(report.errors)


def test_a_lost_factor_is_noticed_where_it_is_lost(certificate: Lemmas, complain: Callable[..., Report]) -> None:
    """U3: a root mean square without its mean."""
    bad = searched(certificate, "k2.b4")
    bad = restated(restated(bad, "k2.b4", "(inv (num 4096))", "(num 1)"), "k2.b4", "(num 1/64)", "(num 1)")
    bad = edited(bad, "k2.b4", axioms=("one", "mul commutes", "sum by digits", "number root", "root of a product"))

    tensor, complaint = complain(bad).errors[0]

    assert "k2.b4" == tensor
    assert complaint.startswith("the left side is ")


def test_the_users_of_a_tensor_are_told_what_its_lemma_says(
    certificate: Lemmas, complain: Callable[..., Report]
) -> None:
    """Lemmas that are true of other operands do not link up."""
    (lemma,) = [x for x in certificate if x.tensor == "k2.b4"]
    wrong = edited(certificate, "k2.b5", statement=lemma.statement, axioms=lemma.axioms)

    assert {"k2.b5", "k2"} <= set(dict(complain(wrong).errors))


def test_another_operator_under_the_same_name_is_noticed(certificate: Lemmas, complain: Callable[..., Report]) -> None:
    report = complain(edited(certificate, "k2.b3", operation="accum(%0)"))

    assert (("k2.b3", "the graph says accum(%2), the lemma accum(%0)"),) == report.errors


def test_the_last_lemma_must_be_about_the_results(certificate: Lemmas, complain: Callable[..., Report]) -> None:
    report = complain(edited(certificate, "goal", operation="k2 = k2"))

    assert (("goal", "the last lemma is about k2 = k2, not about the two results"),) == report.errors


def test_axes_of_other_lengths_are_noticed(certificate: Lemmas, complain: Callable[..., Report]) -> None:
    report = complain(restated(certificate, "k2.b2", '(axis k1 "4096/f")', '(axis k1 "2048/f")'))

    assert "k2.b2" in dict(report.errors)


def test_reading_outside_of_an_input_is_noticed(certificate: Lemmas, complain: Callable[..., Report]) -> None:
    report = complain(restated(certificate, "k2.b2", '(axis k1 "4096/f")', '(axis k1 "8192/f")'))

    assert {"x is read outside of its dims"} == {why for where, why in report.errors if where == "k2.b2"}


def test_a_captured_name_is_noticed(certificate: Lemmas, complain: Callable[..., Report]) -> None:
    """If an inner sum over another axis took the outer one's name, the text would mean something else."""
    case = BY_NAME["mlp_silu_as_x_times_sigmoid"]
    verified = Verified(candidate(PROGRAMS[case.program], case.sgraph), Proof("normal form", "", ()), ())
    lemmas = certify(verified, Journal()).proof.lemmas
    tensor = next(x.tensor for x in lemmas if "(sum k1~1" in x.statement)

    (lemma,) = [x for x in lemmas if x.tensor == tensor]
    lines = [x for x in lemma.statement.splitlines() if "renamed" not in x and "axis k1~1" not in x]
    captured = "\n".join(lines).replace("k1~1", "k1")
    report = complain(edited(lemmas, tensor, statement=captured), "mlp_silu_as_x_times_sigmoid")

    assert complain(lemmas, "mlp_silu_as_x_times_sigmoid").accepted
    assert tensor in dict(report.errors)


# ---------------------------------------------------------------- damaged
def lemma(*items: str) -> str:
    axes = '(axis k "n") (axis j "n") (axis q "f" o i) (axis o "g") (axis i "f/g")'
    return f"(lemma {axes} {' '.join(items)} (left (num 1)) (right (num 1)))"


DAMAGED = {
    "": "the text ends too early",
    "(lemma": "a bracket is not closed",
    "(lemma) x": "something follows the lemma",
    "(lemma))": "a bracket is closed that was not opened",
    '(lemma (axis k "n)': 'a quote is not closed: "n)',
    "x": "the text is no lemma",
    '(lemma (axis k "n"))': "a lemma has a left and a right side",
    lemma("(hint (at x z))"): "axis z is not declared",
    lemma("(hint (div (num 1) (num 2)))"): "cannot read (div (num 1) (num 2))",
    lemma('(axis k "n")'): 'cannot read (axis k "n")',
    lemma('(axis u "n" u u)'): "axis u has digits that are no axes",
    lemma('(axis u "n" k j)'): "axis u is not as long as its digits together",
    lemma('(axis u "f*f" q v)', '(axis v "f" o i)'): "axis u has one digit twice",
    lemma('(axis u "f" u v)', '(axis v "1")'): "axis u is a digit of itself",
}


@pytest.mark.parametrize("text", DAMAGED)
def test_a_damaged_text_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(CertificateError) as found:
        ParsedLemma(parse(text))

    assert DAMAGED[text] == str(found.value)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("(sum k (at x k))", "(sum j (at x k))"),
        ("(sum k (at x k j))", "(sum j (at x j j))"),
        ("(sum k (sum j (at x k)))", "(sum j (sum j (at x j)))"),
        ("(sum o (at x q))", "(sum i (at x q))"),
        ("(sum q (at x q))", "(sum k (at x k))"),
        ("(sum o (at x q))", "(sum v (at x q))"),
        ("(at x k)", "(at x j)"),
    ],
)
def test_what_is_no_renaming_is_refused_with_a_sentence(a: str, b: str) -> None:
    with pytest.raises(CertificateError) as found:
        check_renamings(ParsedLemma(parse(lemma('(axis v "g")', f"(renamed {a} {b})"))))

    assert f"{b} is not {a} with its bound axis renamed" == str(found.value)


@pytest.mark.parametrize(
    "text", ["", "(lemma", lemma("(hint (num 1/0))"), lemma("(hint (num x))"), "\\", lemma('(axis u "@")')]
)
def test_a_damaged_certificate_is_a_complaint_and_no_crash(
    text: str, certificate: Lemmas, complain: Callable[..., Report]
) -> None:
    assert "k2.b5" in dict(complain(edited(certificate, "k2.b5", statement=text)).errors)


def test_a_true_renaming_is_accepted() -> None:
    a = "(sum k (mul (at x k) (sum k (at x k))))"
    b = "(sum j (mul (at x j) (sum k (at x k))))"

    check_renamings(ParsedLemma(parse(lemma(f"(renamed {a} {b})"))))


# ---------------------------------------------------------------- numbers
def evaluation(**sizes: int) -> Evaluation:
    x = Input("x", tensor("n", "n"))
    return Evaluation(sizes, 5, np.random.default_rng(0), {}, {"x": x})


def value(text: str, at: dict[str, int], **sizes: int) -> float:
    whole = '(lemma (axis p "n") (axis k "n" o i) (axis o "f") (axis i "n/f")'
    reading = ParsedLemma(parse(f"{whole} (left {text}) (right (num 0)))"))
    here = {name: np.array([v]) for name, v in at.items()}
    return float(evaluation(**sizes).value(reading.left, reading, here).reshape(-1)[0])


def elements(n: int) -> np.ndarray:
    x = Input("x", tensor("n", "n"))
    there = evaluation(n=n)
    return np.array([[float(there.element(x, [np.array([i]), np.array([j])])[0]) for j in range(n)] for i in range(n)])


def test_a_sum_runs_over_all_values() -> None:
    assert value("(sum k (at x p k))", {"p": 2}, n=6, f=2) == pytest.approx(elements(6)[2].sum())


def test_a_sum_over_digits_is_the_sum_over_the_axis() -> None:
    by_digits = value("(sum o (sum i (at x p k)))", {"p": 2}, n=6, f=2)

    assert by_digits == pytest.approx(elements(6)[2].sum())


def test_a_sum_over_one_digit_is_not() -> None:
    assert value("(sum o (at x p k))", {"p": 2, "i": 1}, n=6, f=2) == pytest.approx(elements(6)[2, [1, 4]].sum())


def test_what_does_not_depend_counts_as_often_as_the_axis_is_long() -> None:
    assert value("(sum k (num 1/2))", {}, n=6, f=2) == pytest.approx(3.0)
    assert value("(sum o (sum i (at x p p)))", {"p": 3}, n=6, f=2) == pytest.approx(6 * elements(6)[3, 3])
    assert value("(sum o (at x p p))", {"p": 3}, n=6, f=2) == pytest.approx(2 * elements(6)[3, 3])


def test_sums_inside_sums_keep_their_own_axes() -> None:
    nested = value("(sum k (mul (at x p k) (sum k (at x p k))))", {"p": 0}, n=4, f=2)

    assert nested == pytest.approx(elements(4)[0].sum() ** 2)


def test_a_digit_of_an_index_is_read_off() -> None:
    text = '(at x p (radix (digit p "1" "f" "n/f") (digit p "f" "n/f" "1")))'

    assert value(text, {"p": 5}, n=6, f=2) == pytest.approx(elements(6)[5, 5])


def test_division_by_zero_is_zero() -> None:
    assert 0.0 == value("(inv (num 0))", {}, n=2, f=1)


def test_elements_are_spread_and_depend_on_the_place() -> None:
    there = elements(12)

    assert 144 == len(np.unique(there))
    assert -0.65 <= there.min() < -0.4 < 0.5 < there.max() < 0.75


def test_too_large_sums_are_refused_not_attempted() -> None:
    with pytest.raises(CertificateError, match="too many numbers"):
        value("(sum o (sum i (mul (at x p k) (at x o i))))", {"p": 0}, n=25_000_000, f=5000)


# ---------------------------------------------------------------- independence
def test_the_checker_shares_no_code_with_the_prover() -> None:
    shared: set[str] = set()
    for path in Path(check_module.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("prism_explore.verify"):
                names = (
                    [node.module]
                    if node.module != "prism_explore.verify"
                    else [f"{node.module}.{a.name}" for a in node.names]
                )
                shared |= {name.removeprefix("prism_explore.verify.").split(".")[0] for name in names}

    assert {"axioms", "checker"} == shared
