"""The pruning rules: what each one says, how far to trust it, and where to doubt it.

A rule is a row. Its test lives where the growing graph is (`grow`), because it needs the graph; the row
is what a cut's reason quotes. Every rule can be switched off alone: put its name into
`Space.rules_off`. What a rule that is off would have cut is then grown, and found wrong later or not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from prism_explore.events.kinds import TIME_SPENT, Reason, Soundness
from prism_explore.pipeline.search_space import RuleName


class Machine(Protocol):
    """What generation needs to know about a target."""

    @property
    def shared_memory_bytes(self) -> int:
        """Memory that one block can hold its tiles in."""
        ...


@dataclass(frozen=True, slots=True)
class Rule:
    """One row."""

    name: RuleName
    code: str
    """Machine-readable reason; several rules may share one."""
    soundness: Soundness
    """`sound`: no program of the stated space is lost. A cut may be marked down to `heuristic`."""
    says: str
    source: str
    reopens: str
    """What would have to change for the region to be searched."""


RULES: dict[RuleName, Rule] = {
    rule.name: rule
    for rule in (
        Rule(
            "shape.mismatch",
            "shape.mismatch",
            "sound",
            "The operands' dims are different index axes, so they match for no choice of maps and sizes.",
            "Prism, symbolic dimension matching; here on axes named once for the whole program.",
            "sizes that only happen to agree were allowed to match",
        ),
        Rule(
            "dup.canonical",
            "dup.canonical",
            "sound",
            "The same value, for every choice of maps and sizes, is already reached another way.",
            "Definitions of the operators: mul(x, x) is square(x), accum(sum(x)) is accum_sum(x), and so on.",
            "graphs that are equal by definition were to be kept apart",
        ),
        Rule(
            "limit.accumulators",
            "limit.accumulators",
            "sound",
            "The stated space has no block graph with more accumulators, or with two of one tensor.",
            "Mirage and Prism's published search: at most 3 accumulators.",
            "a larger number of accumulators were allowed",
        ),
        Rule(
            "map.constraint",
            "map.constraint",
            "sound",
            "Whichever axes the for-loop cuts, some operator would combine the wrong tiles.",
            "`ir.flow`, the transitions of a tile's state, under every choice of looped axes.",
            "a tensor could be loaded twice, cut in two ways",
        ),
        Rule(
            "expr.unreachable",
            "expr.unreachable",
            "sound",
            "No continuation makes this value a part of the program's result, by A_eq.",
            "Mirage, arXiv 2405.05751, theorem 1, decided by normal forms instead of an e-graph.",
            "A_eq knew more equalities",
        ),
        Rule(
            "expr.apart",
            "expr.unreachable",
            "sound",
            "Two values that are still unused cannot both be parts of the program's result, by A_eq.",
            "The same theorem for contexts with two holes: every unused value must be used at last.",
            "A_eq knew more equalities",
        ),
        Rule(
            "limit.ops",
            "limit.ops",
            "sound",
            "The operators left are too few to use up what is unused and to make what is missing.",
            "A tally: one operator with two operands joins two loose ends, one with one operand makes one of "
            "the roots, means, exponentials, constants and functions that the result contains.",
            "a larger number of operators were allowed",
        ),
        Rule(
            "limit.needed",
            "limit.ops",
            "sound",
            "The operators left are too few for the sums, quotients, roots and functions that are still to be made.",
            "An admissible bound (`needs`): parts of the result that no operator makes two of, and that never cancel.",
            "a larger number of operators were allowed",
        ),
        Rule(
            "limit.terms",
            "limit.ops",
            "sound",
            "The operators left are too few for the additions and products that are still to come as well.",
            "An admissible bound (`needs`): nothing cancels, so every monomial of the result came into a sum by an "
            "operator, and inputs met in one monomial by another.",
            "a larger number of operators were allowed",
        ),
        Rule(
            "limit.results",
            "limit.results",
            "sound",
            "The stated space has no kernel that stores more partial results.",
            "Mirage's hand-written split attention stores two; as many as there may be accumulators.",
            "a larger number of partial results were allowed",
        ),
        Rule(
            "mem.smem",
            "mem.smem",
            "sound",
            "Two tiles that are needed at once exceed the shared memory, however finely grid and loop cut.",
            "A lower bound: a block's tensors live in shared memory, and a reduced axis that the loop does "
            "not cut is whole in every block.",
            "the target had more shared memory",
        ),
        Rule(
            "cost.floor",
            "cost.floor",
            "sound",
            "However it goes on, compulsory traffic and arithmetic alone take as long as the time to beat.",
            "Branch and bound on the roofline of a partial graph; `cost.floor` says why it bounds what grows from it.",
            "the time to beat were longer, or the target faster than its figures say",
        ),
    )
}


@dataclass(frozen=True, slots=True)
class Cut:
    """Why one application of an operator was not kept."""

    rule: RuleName
    formula: str
    """The test that failed; e stands for the evidence."""
    evidence: str = ""
    """What this operator would have given."""
    detail: str = ""
    """Appended to the rule's sentence."""
    heuristic: bool = False
    """Whether this cut, unlike the rule at large, may lose a program."""
    common: Mapping[str, str] = field(default_factory=dict[str, str])
    """What else the formula needs, the same for all operators told together."""
    lasting: bool = True
    """Whether the same application is cut in every graph that this one grows into. What no program of the space
    begins with, no larger graph does; but a definition that is shorter now may not be there later."""


@dataclass(frozen=True, slots=True)
class GivenUp:
    """Kernels in a row, or part of one, that were cut outside of growth."""

    text: str
    """What was cut, as an operator."""
    why: Reason
    stood_for: float


def reason(cut: Cut, substitution: Mapping[str, str]) -> Reason:
    """The reason card of a cut."""
    rule = RULES[cut.rule]
    return Reason(
        code=rule.code,
        layer="map" if cut.rule == "map.constraint" else "generate",
        soundness="heuristic" if cut.heuristic else rule.soundness,
        rule=rule.name,
        sentence=f"{rule.says} {cut.detail}".strip(),
        formula=cut.formula,
        substitution=substitution,
        would_reopen_if=f"{rule.reopens}, or the rule {rule.name} were switched off",
    )


def nodes_spent(nodes: int, found: bool = True) -> Reason:
    """The reason card of a region that the node budget left unsearched, or that for finding a first family."""
    what = "The node budget was" if found else "The node budget for a first family was"
    return _spent("budget.nodes", what, "nodes expanded ≥ budget", str(nodes), "the node budget were")


def time_spent(limit_s: float) -> Reason:
    """The reason card of a region that the time budget left; where it falls depends on the machine's speed."""
    return _spent(
        TIME_SPENT, "The time for growing graphs was", "seconds ≥ budget", f"{limit_s:g} s", "the time budget were"
    )


def _spent(code: str, what: str, formula: str, budget: str, reopens: str) -> Reason:
    return Reason(
        code=code,
        layer="generate",
        soundness="budget",
        rule=code,
        sentence=f"{what} spent before this region was searched.",
        formula=formula,
        substitution={"budget": budget},
        would_reopen_if=f"{reopens} larger",
    )
