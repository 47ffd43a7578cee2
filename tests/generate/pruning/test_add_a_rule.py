"""A pruning rule is one row and its test: the recipe of `prism_explore/generate/README.md` with a toy rule."""

from dataclasses import replace

import pytest

from prism_explore.errors import ShapeError
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import RegionPruned
from prism_explore.generate import generate
from prism_explore.generate.pruning.rule import Checks, Failure, PruningRule
from prism_explore.generate.pruning.rules import RULES
from prism_explore.generate.pruning.steps import BlockStep
from prism_explore.ir.ops import Accumulate, MatMul
from prism_explore.ir.text import show
from prism_explore.pipeline.search_space import default_space
from tests.generate.programs import MACHINE, rms_linear_small

PROGRAM = rms_linear_small()


def _matmul_before_accumulators(step: BlockStep) -> Failure | None:
    behind = [i for i, t in enumerate(step.state.tensors) if isinstance(t.node.op, Accumulate)]
    if isinstance(step.op, MatMul) and behind:
        return Failure("no accumulator before e", f"%{behind[0]}")
    return None


TOY = PruningRule(
    "toy.matmul_first",
    "A product of matrices comes behind an accumulator.",
    "This test.",
    "products of matrices were allowed everywhere",
    checks=Checks(block=_matmul_before_accumulators),
)


def search(space, rules):
    journal = Journal(clock=lambda: 0.0)
    families = [f for f in generate(PROGRAM, space, MACHINE, journal, rules=rules) if f is not None]
    return [show(f.sgraph) for f in families], [e for e in journal.events if isinstance(e, RegionPruned)]


def test_a_new_row_cuts_and_the_journal_has_its_reason():
    space = default_space(PROGRAM)
    before, _ = search(space, RULES)
    after, regions = search(space, (*RULES, TOY))
    reasons = [e.reason for e in regions if e.reason.rule == TOY.name]

    assert reasons
    for reason in reasons:
        assert (reason.code, reason.soundness, reason.layer) == (TOY.name, "sound", "generate")
        assert (reason.sentence, reason.formula) == (TOY.sentence, "no accumulator before e")
        assert all(shown.startswith("%") for shown in reason.substitution.values())
        assert reason.would_reopen_if == f"{TOY.would_reopen_if}, or the rule {TOY.name} were switched off"
    assert set(after) < set(before)


def test_the_first_row_whose_test_fails_is_the_reason():
    other = replace(TOY, name="toy.same_test")
    for rules in ((*RULES, TOY, other), (*RULES, other, TOY)):
        _, regions = search(default_space(PROGRAM), rules)
        toys = {e.reason.rule for e in regions if e.reason.rule.startswith("toy.")}

        assert toys == {rules[-2].name}


def test_a_new_row_can_be_switched_off_by_its_name():
    space = replace(default_space(PROGRAM), rules_off=frozenset({TOY.name}))
    before, regions = search(default_space(PROGRAM), RULES)
    off, regions_off = search(space, (*RULES, TOY))

    assert (off, regions_off) == (before, regions)
    with pytest.raises(ShapeError, match=r"no pruning rule toy\.matmul_first; there are"):
        search(space, RULES)
