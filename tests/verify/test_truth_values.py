"""Bool inputs, selections and comparisons: what is proved, what is refuted, and kernels on the CPU and in Triton."""

from __future__ import annotations

import numpy as np
import pytest

from prism_explore.codegen.cpu.load import load_plan
from prism_explore.codegen.cpu.plan import plan
from prism_explore.codegen.triton.emit import write_triton
from prism_explore.events.journal import Journal
from prism_explore.ir.interpreter.reference import evaluate
from prism_explore.ir.tensors import numpy_dtype
from prism_explore.ir.text import parse, parse_program, show
from prism_explore.pipeline.stages import Parameters, Refuted, Verdict, Verified
from prism_explore.verify.certificate.certify import certify
from prism_explore.verify.counterexample.inputs import draw_inputs
from prism_explore.verify.prover import Prover
from tests.verify.corpus import candidate
from tests.verify.counterexample.adversarial import Base, run
from tests.verify.mutations import CASE_KINDS, KINDS

INPUTS = "  x = input f32[b, 16]\n  y = input f32[b, 16]\n  m = input bool[b, 16]\n  n = input bool[b, 16]"
X, Y, M, N = range(4)


def kernel(lines: str) -> str:
    """A kernel with one row per block; line `%k = ..` is node k, after the loads."""
    loads = "\n".join(f"    %{i} = load({i}, imap=[0])" for i in range(4))
    body = "\n".join(f"    {line.strip()}" for line in lines.strip().splitlines())
    last = 3 + len(lines.strip().splitlines())
    return (
        f"sgraph\n{INPUTS}\n  %4 = custom(x, y, m, n) grid[g=b]\n{loads}\n{body}\n"
        f"    %{last + 1} = store(%{last}, omap=[0])\n  return %4"
    )


def plain(lines: str) -> str:
    """The same operators, none in a kernel."""
    named = lines
    for i, name in enumerate("xymn"):
        named = named.replace(f"%{i},", f"{name},").replace(f"%{i})", f"{name})")
    body = [f"  {line.strip()}" for line in named.strip().splitlines()]
    return "\n".join(("program p", INPUTS, *body, f"  return %{3 + len(body)}"))


def verdict_on(wanted: str, found: str) -> Verdict:
    program = parse_program(plain(wanted))
    return Prover(program, saturation=None).verify(candidate(program, parse(kernel(found))), Journal())


USE = "%{0} = add(%{1}, %0)\n%{2} = mul(%{0}, %1)\n%{3} = add(%{2}, %2)\n%{4} = add(%{3}, %3)"


def used(lines: str) -> str:
    """Lines and a use of all inputs that hides no difference."""
    n = 3 + len(lines.strip().splitlines())
    return lines + "\n" + USE.format(n + 1, n, n + 2, n + 3, n + 4)


SELECT = "%4 = keep(%0, %2)\n%5 = drop(%1, %2)\n%6 = add(%4, %5)"
BOTH = "%4 = mul(%2, %3)\n%5 = keep(%0, %4)"


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (SELECT, SELECT),
        (SELECT, "%4 = mul(%0, %2)\n%5 = is_zero(%2)\n%6 = mul(%1, %5)\n%7 = add(%4, %6)"),
        (BOTH, "%4 = keep(%0, %2)\n%5 = keep(%4, %3)"),
        ("%4 = mul(%0, %2)", "%4 = mul(%0, %2)\n%5 = mul(%4, %2)"),
        ("%4 = keep(%0, %2)", "%4 = nonzero(%2)\n%5 = mul(%4, %4)\n%6 = mul(%0, %5)"),
        ("%4 = positive(%0)", "%4 = mul_scalar(%0, 3)\n%5 = positive(%4)"),
        (
            "%4 = sub(%0, %1)\n%5 = positive(%4)\n%6 = keep(%0, %5)",
            "%4 = sub(%0, %1)\n%5 = relu(%4)\n%6 = keep(%0, %5)",
        ),
    ],
)
def test_equal_selections_are_proved(wanted, found):
    assert isinstance(verdict_on(used(wanted), used(found)), Verified)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (SELECT, "%4 = drop(%0, %2)\n%5 = keep(%1, %2)\n%6 = add(%4, %5)"),
        (SELECT, SELECT.replace("(%1, %2)", "(%1, %3)")),
        (SELECT, "%4 = keep(%0, %2)\n%5 = add(%4, %1)"),
        (BOTH, "%4 = max(%2, %3)\n%5 = keep(%0, %4)"),
        (BOTH, "%4 = keep(%0, %2)"),
        ("%4 = mask(%0, %2)\n%5 = exp(%4)", "%4 = is_zero(%2)\n%5 = mask(%0, %4)\n%6 = exp(%5)"),
        ("%4 = mul(%0, %0)\n%5 = mul(%4, %2)", "%4 = mul(%0, %2)"),
        ("%4 = positive(%0)", "%4 = nonnegative(%0)"),
        ("%4 = positive(%0)", "%4 = mul_scalar(%0, -1)\n%5 = positive(%4)"),
        ("%4 = nonzero(%0)", "%4 = is_zero(%0)"),
    ],
)
def test_wrong_twins_are_refuted(wanted, found):
    assert isinstance(verdict_on(used(wanted), used(found)), Refuted)


COMPARED = (
    "%4 = sub(%0, %1)\n%5 = positive(%4)\n%6 = mul(%5, %2)\n%7 = keep(%0, %6)\n%8 = drop(%1, %3)\n%9 = add(%7, %8)"
)
MASKED = "%4 = is_zero(%2)\n%5 = max(%4, %3)\n%6 = mask(%0, %5)\n%7 = exp(%6)\n%8 = keep(%7, %3)"


def test_no_mutant_with_truth_values_is_falsely_proved():
    lines = (COMPARED, used(MASKED), used(SELECT))
    bases = [Base(f"b{n}", parse_program(plain(x)), parse(kernel(x))) for n, x in enumerate(lines)]

    account = run(bases, 240, seed=5, kinds=(*KINDS, *CASE_KINDS * 8))

    assert ([], [], []) == (account.crashes, account.false, account.disagreements)
    assert account.verdicts["refuted"] > 60, account.verdicts
    assert account.verdicts["proved"] > 5, account.verdicts


def test_a_proof_with_bools_has_a_certificate():
    found = verdict_on(used(SELECT), used("%4 = mul(%0, %2)\n%5 = is_zero(%2)\n%6 = mul(%1, %5)\n%7 = add(%4, %6)"))

    assert isinstance(found, Verified)
    assert [] == [(x.tensor, x.note) for x in certify(found, Journal()).proof.lemmas if not x.replayed]


def test_bools_are_drawn_as_0_and_1_and_a_row_has_both():
    bits = draw_inputs((("m", (50, 3)),), 1, whole={"m": "bool"})["m"]

    assert {0.0, 1.0} == set(bits.ravel())
    assert set(bits.sum(-1)) <= {1.0, 2.0}


@pytest.mark.parametrize(("dtype", "low", "high"), [("i8", -128, 127), ("u8", 0, 255)])
def test_integers_of_8_bits_are_drawn_as_whole_numbers_of_all_sizes(dtype, low, high):
    drawn = np.concatenate([draw_inputs((("q", (300, 3)),), seed, whole={"q": dtype})["q"] for seed in range(12)])

    assert np.array_equal(drawn, np.round(drawn))
    assert low <= drawn.min() < low + 9 and high - 9 < drawn.max() <= high
    assert (np.abs(drawn) <= 3).mean() > 0.5


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_a_kernel_selects_and_an_infinity_elsewhere_has_no_effect(dtype):
    lines = SELECT + "\n%7 = sub(%6, %1)\n%8 = nonnegative(%7)\n%9 = mask(%6, %3)\n%10 = exp(%9)\n%11 = add(%10, %8)"
    graph = parse(kernel(lines).replace("f32", dtype))
    whole = graph.substitute({"b": 6})
    rng = np.random.default_rng(1)
    given = {i.name: rng.standard_normal((6, 16)).astype(numpy_dtype(dtype)) for i in whole.inputs}
    given |= {name: rng.random((6, 16)) < 0.5 for name in "mn"}
    given["x"][~given["m"]] = np.inf
    given["y"][given["m"]] = -np.inf
    made = plan(graph, Parameters(()), {"b": 6})

    assert not isinstance(made, str), made
    found = load_plan(made)(*given.values()).astype(np.float64)

    with np.errstate(all="ignore"):
        wanted = evaluate(whole, {k: v.astype(np.float64) for k, v in given.items()})
    assert np.isfinite(wanted).all()
    np.testing.assert_allclose(found, wanted, rtol=2.0**-7 if dtype == "bf16" else 1e-6)


def test_triton_loads_a_bool_as_a_number_and_compares_it():
    module = write_triton(parse(kernel(SELECT)), {"b": 6}, Parameters(()))

    assert "torch.bool" in module.source
    assert "tl.where(" in module.source


def test_16_and_32_bits_meet_in_32():
    program = parse_program(
        "program p\n  x = input bf16[b, 8]\n  w = input f32[8]\n  m = input bool[b, 8]\n"
        "  %3 = mul(x, w)\n  %4 = keep(x, m)\n  %5 = add(%3, %4)\n  return %5"
    )

    assert ["bf16", "f32", "bool", "f32", "bf16", "f32"] == [t.dtype for t in program.graph.types()]
    assert program == parse_program(show(program))
