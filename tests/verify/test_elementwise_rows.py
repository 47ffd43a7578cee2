"""Every row of the table of elementwise functions in the prover, the refuter and the certificate."""

from __future__ import annotations

import pytest

from prism_explore.events.journal import Journal
from prism_explore.ir.elementwise import REAL, UNARY, ElementwiseFunction
from prism_explore.ir.formulas import Apply, Formula, Name, Number, formula
from prism_explore.ir.program import ProgramBuilder, TensorProgram
from prism_explore.ir.text import parse, parse_program, show
from prism_explore.pipeline.stages import Refuted, Verdict, Verified
from prism_explore.verify.certificate.certify import certify
from prism_explore.verify.prover import Prover
from tests.verify.corpus import candidate

each = pytest.mark.parametrize("row", UNARY.values(), ids=lambda row: row.name)
DEFINED = [row for row in UNARY.values() if row.definition and row.definition != "x"]

PROGRAM = """program rows
  x = input f32[b, 12]
  w = input f32[12, n]
  %2 = FN(x)
  %3 = matmul(%2, w)
  return %3"""
CANDIDATE = """sgraph
  x = input f32[b, 12]
  w = input f32[12, n]
  %2 = custom(x, w) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[-], fmap=1)
    %1 = load(1, imap=[1], fmap=0)
    %2 = FN(%0)
    %3 = matmul(%2, %1)
    %4 = accum(%3)
    %5 = store(%4, omap=[1])
  return %2"""


def verdict_on(program: TensorProgram, text: str) -> Verdict:
    return Prover(program).verify(candidate(program, parse(text)), Journal())


def written(row: ElementwiseFunction) -> str:
    return CANDIDATE.replace("FN", row.name)


@each
def test_a_program_prints_and_parses_back(row):
    assert written(row) == show(parse(written(row)))


@each
def test_another_arrangement_is_proved_and_certified(row):
    verdict = verdict_on(parse_program(PROGRAM.replace("FN", row.name)), written(row))

    assert isinstance(verdict, Verified), verdict
    lemmas = certify(verdict, Journal()).proof.lemmas
    assert [] == [(x.tensor, x.operation, x.note) for x in lemmas if not x.replayed]


@each
def test_another_function_in_its_place_is_never_proved(row):
    program = parse_program(PROGRAM.replace("FN", row.name))
    # Casts are the identity over the reals, and a bool is what is not 0.
    for other in (o for o in UNARY.values() if not o.definition or o.definition != row.definition):
        if other is row:
            continue
        if other.domain == REAL or row.domain != REAL:
            assert isinstance(verdict_on(program, written(other)), Refuted), other.name


@pytest.mark.parametrize("row", DEFINED, ids=lambda row: row.name)
def test_its_definition_is_proved_and_a_changed_one_is_refuted(row):
    program = elementwise(formula(row.definition))
    right = parse_program(f"program f\n  x = input f32[b, 12]\n  %1 = {row.name}(x)\n  return %1")
    wrong = elementwise(Apply("add", (formula(row.definition), ONE)))

    assert isinstance(verdict_on(right, show(program.graph)), Verified)
    assert isinstance(verdict_on(right, show(wrong.graph)), Refuted)


ONE = formula("1")


def elementwise(f: Formula) -> TensorProgram:
    """A program that computes a formula of one tensor."""
    b = ProgramBuilder("f")
    x = b.input("x", "b", 12)

    def value(f: Formula) -> int | Number:
        match f:
            case Name():
                return x
            case Number():
                return f
            case Apply(fn, args):
                return apply(fn, tuple(map(value, args)))

    def apply(fn: str, args: tuple[int | Number, ...]) -> int | Number:
        match fn, args:
            case "sqrt", (Number(),):
                root = b.scalar("add", b.scalar("mul", x, 0), 2)
                return b.unary("sqrt", root)
            case "div", (Number(c), int(a)):
                return b.scalar("mul", b.unary("recip", a), c)
            case "sub", (Number(c), int(a)):
                return b.scalar("add", b.unary("neg", a), c)
            case "sub", (int(a), Number(c)):
                return b.scalar("add", a, -c)
            case (("add" | "mul" | "max"), (int(a), Number(c)) | (Number(c), int(a))):
                return b.scalar(fn, a, c)
            case _, (int(a),):
                return b.unary(fn, a)
            case _, (int(a), int(c)):
                return b.binary(fn, a, c)  # type: ignore[arg-type]
            case _:
                raise AssertionError((fn, args))

    out = value(f)
    assert isinstance(out, int)
    return b.build(out)
