"""Exercises of notebook 03: what a search visits, with symbols and with numbers, with and without a rule."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from prism_explore.course.exercise import Exercise, Judgement, Mistake
from prism_explore.diagnose.concrete_baseline import compare_with_concrete
from prism_explore.diagnose.concrete_enumerator import ConcreteSizes
from prism_explore.errors import PrismError
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import Event, NodeExpanded
from prism_explore.generate import generate
from prism_explore.ir.program import ProgramBuilder, TensorProgram
from prism_explore.pipeline.search_space import default_space
from prism_explore.targets import target

RANKED = ("dup.canonical", "expr.apart", "map.constraint")
"""Rules whose searches end by themselves when they are off."""
NODES = 2000
"""Partial graphs after which a search ends."""


def norm_linear(width: int) -> TensorProgram:
    """A norm followed by a linear layer.

    Args:
        width: of both.
    """
    b = ProgramBuilder(f"width_{width}")
    x, w = b.input("x", "b", width), b.input("w", width, width)
    return b.build(b.matmul(b.binary("div", x, b.reduce("rms", x, 1)), w))


def linear_silu(width: int) -> TensorProgram:
    """A linear layer followed by a SiLU.

    Args:
        width: of the layer.
    """
    b = ProgramBuilder(f"silu_{width}")
    return b.build(b.unary("silu", b.matmul(b.input("x", "b", width), b.input("w", width, width))))


@dataclass(frozen=True, slots=True)
class Enumeration:
    """What the search for graphs did, without proofs."""

    events: tuple[Event, ...]
    families: int

    @property
    def nodes(self) -> int:
        """Partial graphs that were kept and extended."""
        return sum(isinstance(event, NodeExpanded) for event in self.events)


@lru_cache(16)
def without_rule(rule: str = "", nodes: int = NODES) -> Enumeration:
    """The search for a norm and a linear layer, with one rule off.

    Args:
        rule: its name; empty for all rules on.
        nodes: partial graphs after which it ends.
    """
    program, journal = norm_linear(64), Journal()
    off = frozenset((rule,)) if rule else frozenset[str]()
    space = replace(default_space(program), nodes=nodes, results=0, rules_off=off)
    families = sum(family is not None for family in generate(program, space, target("h100"), journal))
    return Enumeration(tuple(journal.events), families)


def _judge_ranking(answer: Any) -> Judgement:
    given = tuple(map(str, answer))
    if sorted(given) != sorted(RANKED):
        raise PrismError(f"an answer has each of {', '.join(RANKED)} once, found {answer!r}")
    least = without_rule().nodes
    saved = {rule: without_rule(rule).nodes - least for rule in given}
    right = list(saved.values()) == sorted(saved.values(), reverse=True)
    return Judgement(right, "from most to least: " + ", ".join(given), saved if right else {})


def _judge_change(answer: Any) -> Judgement:
    if answer not in ("symbolic", "concrete", "both", "none"):
        raise PrismError(f"an answer is symbolic, concrete, both or none, found {answer!r}")
    narrow, wide = (
        compare_with_concrete(linear_silu(n), {"b": 16}, sizes=ConcreteSizes((2, n), (2, n))) for n in (16, 64)
    )
    ours = narrow.states != wide.states
    theirs = narrow.concrete.states != wide.concrete.states
    right = {(True, True): "both", (True, False): "symbolic", (False, True): "concrete", (False, False): "none"}
    counters = {
        "symbolic, narrow": narrow.states,
        "symbolic, wide": wide.states,
        "concrete, narrow": narrow.concrete.states,
        "concrete, wide": wide.concrete.states,
    }
    return Judgement(answer == right[ours, theirs], f"you say {answer}", counters)


EXERCISES = (
    Exercise(
        "03-a",
        "A layer gets wider. Which search visits another number of states: symbolic, concrete, both or none?",
        "symbolic, concrete, both or none",
        _judge_change,
        (
            Mistake("both", "The width is one symbol of the graph, whatever its value. What in the symbolic search "
                            "could notice it?"),
            Mistake("symbolic", "The symbolic search has never seen the width as a number."),
            Mistake("none", "Concrete enumeration tries sizes that divide the width: are these as many as before?"),
        ),
        ("Which of the two searches reads the value of the width?",),
        "prism_explore.diagnose.concrete_baseline compares both on any program",
    ),
    Exercise(
        "03-b",
        "Which rule saves the most partial graphs? Order the three, the most first.",
        f"the names {', '.join(RANKED)} in an order",
        _judge_ranking,
        (
            Mistake(
                ["map.constraint", "expr.apart", "dup.canonical"],
                "This is the order of how often each rule pruned. One pruning near the root saves more than many at "
                "the leaves: switch a rule off and count the graphs that come back.",
                lambda answer: list(answer) == ["map.constraint", "expr.apart", "dup.canonical"],
            ),
            Mistake(
                ["dup.canonical", "map.constraint", "expr.apart"],
                "Duplicates are many in a small search; how many graphs can no choice of maps make legal?",
                lambda answer: answer[0] == "dup.canonical",
            ),
            Mistake(
                ["expr.apart", "map.constraint", "dup.canonical"],
                "without_rule(name).nodes counts the graphs of a search without a rule.",
                lambda answer: answer[0] == "expr.apart",
            ),
        ),
        (
            "without_rule(name).nodes counts the graphs of a search without a rule.",
            "Compare each with without_rule().nodes, in which all rules are on.",
        ),
        "sess.what_if(rules_off=...) asks the same of a search of yours",
    ),
)  # fmt: skip
