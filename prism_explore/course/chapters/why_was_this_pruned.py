"""Exercises of notebook 04: the reasons of pruned subtrees, and a rule that loses a kernel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from prism_explore.course.chapters.drowning_by_enumeration import norm_linear, without_rule
from prism_explore.course.exercise import Exercise, Judgement, Mistake
from prism_explore.diagnose.audit import Audit, audit
from prism_explore.errors import PrismError
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import Event, ExplorationFinished, FamilyCompleted, RegionPruned
from prism_explore.generate import generate
from prism_explore.generate.pruning.rule import Checks, Failure, PruningRule
from prism_explore.generate.pruning.rules import RULES
from prism_explore.generate.pruning.steps import BlockStep, OperandTypes
from prism_explore.generate.region_replay import ReportedTree
from prism_explore.ir.ops import Binary, Input, Load, MatMul, Reduce
from prism_explore.pipeline.search_space import Operators, default_space
from prism_explore.search.explore import Task
from prism_explore.targets import target
from prism_explore.tune.budget import Budget

PROGRAM = norm_linear(64)
SPACE = replace(
    default_space(PROGRAM),
    block=Operators((), (), ("div",), True, ("rms",), ("plain", "rms")),
    block_ops=len(PROGRAM.inputs) + 4,
    results=0,
)
"""Few operators, so that a subtree is searched again within a second."""
TASK = Task(PROGRAM, SPACE, target("h100"), {"b": 4}, 0, Budget())


def _row(name: str, sentence: str, checks: Checks) -> PruningRule:
    return PruningRule(f"toy.{name}", sentence, "A guess.", "it were allowed", checks=checks)


def _divides_before_product(step: BlockStep) -> Failure | None:
    has_product = any(isinstance(tensor.node.op, MatMul) for tensor in step.state.tensors)
    return Failure("a matrix product is before e", "div") if isinstance(step.op, Binary) and not has_product else None


def _reads_one_twice(step: OperandTypes) -> Failure | None:
    numbers = [tensor.number for tensor in step.operands]
    return Failure("operands differ", "one of them, twice") if len(set(numbers)) < len(numbers) else None


def _accumulates_twice(step: BlockStep) -> Failure | None:
    return Failure("no accumulator is before e", "accum") if step.accumulates and step.accumulated else None


def _reduces_a_result(step: OperandTypes) -> Failure | None:
    is_input = isinstance(step.operands[0].node.op, Input | Load)
    return Failure("e reads an input", "rms") if isinstance(step.op, Reduce) and not is_input else None


PRODUCT_FIRST = _row(
    "product_first",
    "Quotients come after the matrix product, because its result is smaller than its operands.",
    Checks(block=_divides_before_product),
)
"""The unsound rule that the notebook shows."""
PROPOSED = (
    _row("two_operands", "An operator with two operands reads two different tensors.", Checks(typing=_reads_one_twice)),
    _row(
        "one_pass",
        "A block accumulates once, because a second accumulator needs a second loop.",
        Checks(block=_accumulates_twice),
    ),
    _row("norm_of_inputs", "A root mean square is taken of an input.", Checks(typing=_reduces_a_result)),
)
"""Rules of which one loses a kernel."""


@lru_cache(8)
def search(*added: PruningRule) -> tuple[Event, ...]:
    """The events of a search for graphs, without proofs.

    Args:
        added: rows that are checked before those of the table.
    """
    journal = Journal()
    for _ in generate(PROGRAM, SPACE, TASK.target, journal, rules=(*added, *RULES)):
        pass
    journal.append(ExplorationFinished("exhausted", ""))
    return tuple(journal.events)


def families(events: tuple[Event, ...]) -> tuple[str, ...]:
    """The graphs that a search completed, as text."""
    return tuple(event.sgraph for event in events if isinstance(event, FamilyCompleted))


def pruned_by(events: tuple[Event, ...], rule: str) -> tuple[RegionPruned, ...]:
    """The subtrees that a rule pruned.

    Args:
        events: of the search.
        rule: its name.
    """
    return tuple(event for event in events if isinstance(event, RegionPruned) and event.reason.rule == rule)


@lru_cache(64)
def audited(region: str, *added: PruningRule) -> Audit:
    """Search a subtree with its rule off.

    Args:
        region: the id of a pruned subtree of `search(*added)`.
        added: the rows that the search had besides those of the table.
    """
    return audit(TASK, search(*added), region, rules=(*added, *RULES))


@dataclass(frozen=True, slots=True)
class Case:
    """A partial graph, and an operator that a rule pruned there."""

    graph: tuple[str, ...]
    """The operators before it, one text each."""
    region: RegionPruned

    def __str__(self) -> str:
        lines = [f"%{n} = {text}" for n, text in enumerate(self.graph)]
        return "\n".join((*lines, f"tried: {self.region.operator}"))


_CASES = (
    ("dup.canonical", "sqrt(%3)"),
    ("shape.mismatch", "matmul(%0, %0)"),
    ("expr.apart", "div(%0, %2)"),
    ("expr.unreachable", "matmul(%2, %1)"),
    ("map.constraint", "div(%3, %2)"),
    ("dup.canonical", "mul(%0, %0)"),
)
"""Rule and operator of each case."""
NAMES = tuple(sorted({"limit.accumulators", *(rule for rule, _ in _CASES)}))
"""The rules to choose from."""


@lru_cache(1)
def cases() -> tuple[Case, ...]:
    """Six subtrees that the search of notebook 03 pruned."""
    events = without_rule().events
    tree = ReportedTree(events)
    found: list[Case] = []
    for rule, operator in _CASES:
        region = next(event for event in pruned_by(events, rule) if event.operator == operator)
        graph = (event.operator for event in tree.path_to(region.parent)[1:])  # below the custom kernel
        found.append(Case((*tree.nodes["n1"].operator[7:-1].split(", "), *graph), region))
    return tuple(found)


def _judge_reasons(answer: Any) -> Judgement:
    given = list(answer)
    if len(given) != len(cases()) or not set(given) <= set(NAMES):
        raise PrismError(f"an answer has {len(cases())} names, each one of {', '.join(NAMES)}; found {answer!r}")
    wrong = [n for n, (name, case) in enumerate(zip(given, cases(), strict=True), 1) if name != case.region.reason.rule]
    if not wrong:
        return Judgement(True, "all six are right", {})
    return Judgement(False, f"another rule pruned case {', '.join(map(str, wrong))}", {"right": 6 - len(wrong)})


def _with(number: int, name: str, hint: str) -> Mistake:
    """The mistake of one case."""
    sample = [rule for rule, _ in _CASES]
    sample[number - 1] = name
    return Mistake(sample, hint, lambda answer: answer[number - 1] == name)


def _judge_region(answer: Any) -> Judgement:
    if not isinstance(answer, str):
        raise PrismError(f"an answer is the id of a pruned subtree such as 'p12', found {answer!r}")
    found = audited(answer, *PROPOSED)
    counters = {"nodes": found.nodes, "candidates": found.candidates, "proved": found.proved}
    return Judgement(found.answer == "wrong", found.text, counters)


def _rule_of(answer: Any) -> str:
    return audited(answer, *PROPOSED).rule


EXERCISES = (
    Exercise(
        "04-a",
        "Which rule pruned each of the six cases?",
        f"a list of six names, each one of {', '.join(NAMES)}",
        _judge_reasons,
        (
            _with(
                1,
                "expr.unreachable",
                "The value of case 1 is a part of the result: it is rms(x). It took three operators. Is there a "
                "shorter way to it?",
            ),
            _with(
                2,
                "dup.canonical",
                "A value that exists is a condition for being reached twice. x has b rows and d columns: can it be "
                "multiplied with itself?",
            ),
            _with(
                3,
                "expr.unreachable",
                "x/rms(x) is a part of the result, and a family has it. But what else is unused in case 3, and can "
                "both be used?",
            ),
            _with(
                4,
                "shape.mismatch",
                "x² has the shape of x, so it can be multiplied with w. Does the result have a square under its sum?",
            ),
            _with(
                5,
                "expr.unreachable",
                "As a formula it is the result. But %2 is known only after the loop, and %3 is a part of a sum that is "
                "not finished.",
            ),
            _with(6, "expr.unreachable", "x² is a part of rms(x), so it can be part of the result. Who else makes x²?"),
        ),
        (
            "Ask in this order: do the shapes fit? Is there a shorter way to the value? Is it a part of the result?",
            "expr.apart needs a second value that nothing uses yet. map.constraint needs an accumulator.",
            "Two cases have the same reason.",
        ),
        "sess.pruned, and prism_explore.generate.pruning.rules, which has a row per reason",
    ),
    Exercise(
        "04-b",
        "One of the three proposed rules loses a kernel. Which pruned subtree shows it?",
        "the id of a pruned subtree such as 'p12'",
        _judge_region,
        (
            Mistake(
                PROPOSED[1].name,
                "This is a rule. Which of the subtrees that it pruned has a kernel that the search lacks?",
                lambda answer: answer in {rule.name for rule in PROPOSED},
            ),
            Mistake(
                "p1",
                "A rule of the table pruned it, and it was right. The names of the proposed rules begin with toy.",
                lambda answer: not _rule_of(answer).startswith("toy."),
            ),
            Mistake(
                "p34",
                "This rule is one to suspect. But here another rule prunes the same step, so nothing is lost by it. "
                "Try the other subtrees that it pruned.",
                lambda answer: _rule_of(answer) == PROPOSED[1].name,
            ),
            Mistake(
                "p4",
                "Nothing is lost there. Each kernel of the search reads x and w once: what may a block do twice?",
                lambda answer: _rule_of(answer).startswith("toy."),
            ),
        ),
        (
            "audited(region, *PROPOSED) searches a subtree with its rule off.",
            "pruned_by(search(*PROPOSED), name) has the subtrees that a rule pruned. Audit each of them.",
        ),
        "sess.audit(sample=5) audits a random sample of the subtrees of each rule",
    ),
)
