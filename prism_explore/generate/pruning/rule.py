"""A pruning rule as a row of data: its name, its sentence, and its test at each stage of a step.

Input of a test: the step that the enumerator tries (`steps`). Output: None, or the `Failure` that is the reason for a
cut. A test may reduce two properties of a step: the forms of the result that remain possible (`goals`) and the legal
choices of looped axes (`legal`). It changes nothing else.

Each rule can be switched off: put its name into `Space.rules_off`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple, TypeAlias, TypeVar

from prism_explore.errors import ShapeError
from prism_explore.events.kinds import Layer, Reason, Soundness
from prism_explore.generate.canonical_order import DEFINITIONS
from prism_explore.generate.pruning.steps import (
    BlockStep,
    BlockValue,
    FinishedBlock,
    FinishedGraph,
    KernelGraph,
    KernelOpening,
    OpenedBlock,
    OperandTypes,
    PredefinedStep,
    SplitStep,
)
from prism_explore.pipeline.search_space import Space


class Failure(NamedTuple):
    """A test that failed."""

    formula: str
    """The test as a formula; e is the evidence."""
    evidence: str = ""
    """The value of e, such as the expression that the operator would compute."""
    detail: str = ""
    """Appended to the rule's sentence."""
    heuristic: bool = False
    """Whether this cut may lose a program, although the rule is sound in other cases."""
    shared_symbols: Mapping[str, str] = MappingProxyType({})
    """Other symbols of the formula, the same for all operators that are reported together."""
    lasting: bool = True
    """Whether the same application is cut in every larger graph, too; False if a larger graph may pass the test."""


_Step = TypeVar("_Step")
Check: TypeAlias = Callable[[_Step], Failure | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checks:
    """The tests of one rule, by stage; None if the rule does not apply.

    An operator in a block graph passes `typing`, `value` and `block`. The first two depend on its operands alone, so
    their outcomes are cached for the whole search. A predefined operator passes `typing`, `predefined` and
    `kernel_graph`, a new custom kernel `opening` and `opened`.
    """

    typing: Check[OperandTypes] | None = None
    """Axes and element types of the operands."""
    value: Check[BlockValue] | None = None
    """The value of an operator in a block graph, without the rest of the graph."""
    block: Check[BlockStep] | None = None
    """A block graph with one more operator."""
    finished_block: Check[FinishedBlock] | None = None
    """A block graph whose newest tensor may be stored."""
    predefined: Check[PredefinedStep] | None = None
    """A predefined operator in a kernel graph."""
    kernel_graph: Check[KernelGraph] | None = None
    """The kernel graph with that operator."""
    opening: Check[KernelOpening] | None = None
    """The operands of a new custom kernel."""
    opened: Check[OpenedBlock] | None = None
    """The block graph of a new custom kernel, which has only loads."""
    split: Check[SplitStep] | None = None
    """A kernel split into two."""
    finished_graph: Check[FinishedGraph] | None = None
    """A kernel graph whose result is the program's."""


@dataclass(frozen=True, slots=True, eq=False)
class PruningRule:
    """One row of the table `rules.RULES`."""

    name: str
    """Stored in the journal, and used in `Space.rules_off`."""
    sentence: str
    """The reason in one sentence."""
    source: str
    """The publication of the rule, or why it is sound."""
    would_reopen_if: str
    """The condition under which the region would be searched: `would reopen if ...`."""
    checks: Checks
    """The tests; not run when the rule is switched off."""
    always_checks: Checks = field(default_factory=Checks)
    """Tests that run even if the rule is switched off, because a graph that fails them cannot be built."""
    code: str = ""
    """The code of the reason, if several rules share one; otherwise the name is the code."""
    soundness: Soundness = "sound"
    """`sound`: no program of the stated space is lost. A single cut may be marked `heuristic`."""
    layer: Layer = "generate"
    one_region_per_node: bool = False
    """Whether all cuts at a node are reported as one region, because there are many similar ones. Otherwise the cuts
    on the same operands are one region."""
    restricts: str = ""
    """`space`: the rule is a limit of the space. `maps`: no choice of maps makes the kernel legal. Empty: the graph is
    in the space, but cannot become the program."""


class Cut(NamedTuple):
    """A step that a rule cut."""

    rule: PruningRule
    failure: Failure


StageRules: TypeAlias = tuple[tuple[PruningRule, Check[_Step]], ...]
"""The rules of one stage in the order in which they are checked."""


def first_cut(rules: StageRules[_Step], step: _Step) -> Cut | None:
    """The cut by the first rule whose test fails; None if all pass."""
    for rule, check in rules:
        failure = check(step)
        if failure is not None:
            return Cut(rule, failure)
    return None


class ActiveRules:
    """The rules that are switched on in a space, by stage."""

    def __init__(self, rules: Iterable[PruningRule], space: Space) -> None:
        rules = tuple(rules)
        require_known_rules(space.rules_off, rules)

        def stage(select: Callable[[Checks], Check[_Step] | None]) -> StageRules[_Step]:
            found: list[tuple[PruningRule, Check[_Step]]] = []
            for rule in rules:
                for checks in (rule.always_checks, rule.checks) if space.active(rule.name) else (rule.always_checks,):
                    if (check := select(checks)) is not None:
                        found.append((rule, check))
            return tuple(found)

        self.typing = stage(lambda c: c.typing)
        self.value = stage(lambda c: c.value)
        self.block = stage(lambda c: c.block)
        self.finished_block = stage(lambda c: c.finished_block)
        self.predefined = stage(lambda c: c.predefined)
        self.kernel_graph = stage(lambda c: c.kernel_graph)
        self.opening = stage(lambda c: c.opening)
        self.opened = stage(lambda c: c.opened)
        self.split = stage(lambda c: c.split)
        self.finished_graph = stage(lambda c: c.finished_graph)


def require_known_rules(names: Iterable[str], rules: Iterable[PruningRule]) -> None:
    """Check that all names are names of rules or of definitions.

    Raises:
        ShapeError: neither has one of the names.
    """
    known = [row.name for row in (*rules, *DEFINITIONS)]
    if unknown := sorted(set(names) - set(known)):
        raise ShapeError(f"no pruning rule {', '.join(unknown)}; there are {', '.join(known)}")


def reason(cut: Cut, substitution: Mapping[str, str]) -> Reason:
    """The reason of a cut as the journal stores it."""
    rule, failure = cut.rule, cut.failure
    return Reason(
        code=rule.code or rule.name,
        layer=rule.layer,
        soundness="heuristic" if failure.heuristic else rule.soundness,
        rule=rule.name,
        sentence=f"{rule.sentence} {failure.detail}".strip(),
        formula=failure.formula,
        substitution=substitution,
        would_reopen_if=f"{rule.would_reopen_if}, or the rule {rule.name} were switched off",
    )
