"""A slice of the soundness watch: as many seconds of CPU time as `--soundness` says."""

from __future__ import annotations

import json
import random
from pathlib import Path
from time import process_time
from typing import Any, get_args

import numpy as np
import pytest

from prism_explore.ir.elementwise import BINARY, UNARY
from prism_explore.ir.interpreter import reference
from prism_explore.ir.ops import REDUCE_FNS, SCALAR_FNS, SCAN_FNS, BlockOp, Custom, Input, KernelOp, Result
from prism_explore.pipeline.stages import Candidate, Proof, Verified
from prism_explore.verify.prover import Prover
from tests.soundness import judges
from tests.soundness.__main__ import main
from tests.soundness.intervals import FLOAT64, exact
from tests.soundness.judges import Pair, judge, read_pair, show_case
from tests.soundness.plain_evaluator import Race, evaluate, operators_of
from tests.soundness.programs import NAMES, drawn_program, in_one_block, operator_name
from tests.soundness.watch import Account, corpus, known_bases, tried_again, watched
from tests.verify.programs import arbitrary, draw_inputs, sizes_of

HINT = "add a row to OPERATORS in tests/soundness/programs.py, and a case to plain_evaluator.py and torch_meaning.py"


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_the_judges_do_not_contradict_one_another(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]):
    end_s = process_time() + request.config.getoption("--soundness")
    account, number = Account(), 0
    while process_time() < end_s:
        account.add(watched(number, seed=0))
        number += 1

    with capsys.disabled():
        print(f"\n{account.table().splitlines()[-1]} ({account.table().splitlines()[0]})")
    assert not account.cases, "\n".join((*account.cases.values(), "keep these in tests/soundness/corpus/"))
    pairs = sum(account.total[word] for word in ("proved", "refuted", "unknown"))
    assert account.total["exact"] > pairs / 3
    assert account.total["kernels"] > account.total["programs"]
    assert min(account.total[word] for word in ("proved", "refuted")) > pairs / 5


@pytest.mark.parametrize("path", corpus(), ids=lambda path: path.stem)
def test_what_once_was_a_contradiction_is_none_any_more(path: Path):
    assert tried_again(path.read_text(encoding="utf-8")).contradictions == ()


def test_every_operator_of_the_tables_is_drawn():
    drawn = [drawn_program(number, seed=0) for number in range(len(NAMES))]
    known = [graph for base in known_bases() for graph in (base.program.graph, base.sgraph)]
    names = {operator_name(node.op) for program in drawn for node in program.graph.nodes}
    classes = {type(node.op) for graph in (*known, *(p.graph for p in drawn)) for node in operators_of(graph)}

    wanted = {
        *UNARY,
        *BINARY,
        *SCAN_FNS,
        *(f"{fn}_scalar" for fn in SCALAR_FNS),
        *(f"reduce {fn}" for fn in REDUCE_FNS),
    }
    assert wanted - names == set(), HINT
    assert {*get_args(KernelOp)} - {type(node.op) for p in drawn for node in p.graph.nodes} == {Custom, Result}, HINT
    assert {*get_args(KernelOp), *get_args(BlockOp)} - classes == set(), HINT


# ---------------------------------------------------------------- the judges themselves
WRONG = """program p
  x = input f32[n, 4]
  %1 = {0}
  return %1
sgraph
  x = input f32[n, 4]
  %1 = {1}
  return %1"""


class Believer(Prover):
    """Proves everything."""

    def verify(self, candidate: Candidate, *_: object) -> Verified:
        return Verified(candidate, Proof("belief", "equal for all sizes", ()), ())


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("square(x)", "neg(x)"),
        ("exp(x)", "expm1(x)"),
        ("relu(x)", "abs(x)"),
        ("sum(x, dim=1)", "max(x, dim=1)"),
        ("is_zero(x)", "nonzero(x)"),
        ("erf(x)", "erfinv(x)"),
        ("cumsum(x, dim=1)", "reverse_cumsum(x, dim=1)"),
    ],
)
def test_a_wrong_proof_is_found_in_exact_arithmetic_and_in_floats(right: str, wrong: str):
    pair = read_pair(f"\n{WRONG.format(right, wrong)}")

    exactly, *floats = judge(pair, 3, Believer(pair.program)).contradictions

    assert exactly == "proved, and exact arithmetic differs"
    assert floats


def test_a_kernel_that_is_off_by_more_than_rounding_is_found(monkeypatch: pytest.MonkeyPatch):
    pair = read_pair(f"\n{WRONG.format('sigmoid(x)', 'sigmoid(x)')}")
    right, load = judge(pair, 3, Prover(pair.program)), judges.load_plan

    def off(plan: Any) -> Any:
        kernel = load(plan)
        return lambda *inputs: kernel(*inputs) * (1 + 2e-5)

    monkeypatch.setattr(judges, "load_plan", off)
    (found,) = judge(pair, 3, Prover(pair.program)).contradictions[:1]

    assert right.contradictions == ()
    assert right.elements > 0
    assert found.startswith("the kernel gives")


def test_what_is_right_by_construction_may_not_be_refuted():
    pair = read_pair(f"\n{WRONG.format('square(x)', 'neg(x)')}")

    assert judge(pair, 0, Prover(pair.program)).contradictions == ()
    (found,) = judge(pair, 0, Prover(pair.program), is_right=True).contradictions
    assert found.startswith("refuted, and equal by construction")


def test_a_case_is_read_as_it_was_written():
    program = drawn_program(7, seed=1)
    pair = Pair(program, in_one_block(program))

    assert read_pair(show_case(pair, ["two\nlines", "of it"])) == pair


def test_the_plain_evaluator_bounds_what_the_interpreter_computes():
    compared = 0
    for seed in range(60):
        r = random.Random(seed)
        graph = arbitrary(r)
        (sizes,) = sizes_of(graph, 1)
        inputs = draw_inputs(graph, sizes, r)
        with np.errstate(all="ignore"):
            expected = reference.evaluate(graph, inputs, sizes)
        if expected.size > 300:
            continue
        given = {name: np.vectorize(exact, otypes=[object])(x) for name, x in inputs.items()}
        try:
            found = evaluate(graph, given, sizes, FLOAT64)
        except Race:  # it may be in a part that does not reach the result
            continue
        for at in np.ndindex(*expected.shape):
            bounds = found[at]
            if bounds is not None and np.isfinite(bounds[0]) and np.isfinite(expected[at]):
                assert bounds[0] <= expected[at] <= bounds[1], (seed, at)
                compared += 1
    assert compared > 500


def test_a_run_that_was_stopped_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def run(programs: int, state: Path) -> dict[str, Any]:
        words = [
            "watch",
            "--programs",
            str(programs),
            "--state",
            str(state),
            "--processes",
            "1",
            "--json",
            str(figures),
        ]
        monkeypatch.setattr("sys.argv", words)
        assert main() == 0
        found = json.loads(figures.read_text())
        return {**found["total"], "seconds": 0}

    figures = tmp_path / "figures.json"
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    run(1, tmp_path / "parts.json")

    assert run(2, tmp_path / "parts.json") == run(2, tmp_path / "whole.json")


def test_inputs_of_a_program_are_all_read():
    for number in range(30):
        program = drawn_program(number, seed=2)
        read = {a for node in program.graph.nodes for a in node.args}
        assert all(n in read for n, node in enumerate(program.graph.nodes) if isinstance(node.op, Input))
