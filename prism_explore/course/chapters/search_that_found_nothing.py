"""Exercises of notebook 09: searches that found nothing, and the restriction that is guilty."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeAlias

from prism_explore.course.chapters.why_was_this_pruned import PROGRAM
from prism_explore.course.chapters.why_was_this_pruned import SPACE as FEW_OPERATORS
from prism_explore.course.exercise import Exercise, Judgement, Mistake
from prism_explore.errors import PrismError
from prism_explore.pipeline.search_space import Space
from prism_explore.session.session import Session
from prism_explore.targets import Target, target
from prism_explore.tune.budget import Budget


@dataclass(frozen=True, slots=True)
class Setting:
    """A space and a machine."""

    space: Space
    machine: Target


Answers: TypeAlias = Mapping[str, str]

ENOUGH = Setting(replace(FEW_OPERATORS, rows=0), target("h100"))
"""A setting in which kernels are found."""
SHORT_OF: Mapping[str, Setting] = {
    "A": replace(ENOUGH, machine=ENOUGH.machine.replace(shared_memory_bytes=4)),
    "B": replace(ENOUGH, space=replace(ENOUGH.space, nodes=4)),
    "C": replace(ENOUGH, space=replace(ENOUGH.space, block_ops=4)),
    "D": replace(ENOUGH, space=replace(ENOUGH.space, block=replace(ENOUGH.space.block, binary=("mul",)))),
}
"""Four settings in which nothing is found, each by one restriction."""
RESTRICTIONS = ("block_ops", "nodes", "operators", "shared_memory")


@lru_cache(32)
def searched(setting: Setting) -> Session:
    """A search with proofs and without timing, which has ended.

    Args:
        setting: the space and the machine.
    """
    sess = Session(
        PROGRAM, target=setting.machine, at={"b": 4}, space=setting.space, budget=Budget(trials=0), cache=False
    )
    sess.run()
    sess.close()
    return sess


def with_operators(block_ops: int) -> Setting:
    """The setting in which kernels are found, with another limit of the tensors in a block.

    Args:
        block_ops: loads and operators of a block graph at most.
    """
    return replace(ENOUGH, space=replace(ENOUGH.space, block_ops=block_ops))


def proved(setting: Setting) -> int:
    """The number of families that were proved."""
    return sum(handle.row.status == "proved" for handle in searched(setting).families.values())


def relaxed(setting: Setting, restriction: str) -> Setting:
    """A setting with one restriction as in `ENOUGH`."""
    space = setting.space
    match restriction:
        case "block_ops":
            return replace(setting, space=replace(space, block_ops=ENOUGH.space.block_ops))
        case "nodes":
            return replace(setting, space=replace(space, nodes=ENOUGH.space.nodes))
        case "operators":
            return replace(setting, space=replace(space, block=ENOUGH.space.block))
        case "shared_memory":
            return replace(setting, machine=ENOUGH.machine)
        case _:
            raise PrismError(f"a restriction is one of {', '.join(RESTRICTIONS)}, found {restriction!r}")


def _answers(answer: Any) -> Answers:
    if not isinstance(answer, dict) or set(answer) != set(SHORT_OF):  # pyright: ignore[reportUnknownArgumentType]
        raise PrismError(f"an answer is a dict with the keys {', '.join(SHORT_OF)}, found {answer!r}")
    return answer  # pyright: ignore[reportUnknownVariableType]


def _judge_guilty(answer: Any) -> Judgement:
    guilty = [letter for letter, name in _answers(answer).items() if not proved(relaxed(SHORT_OF[letter], name))]
    if guilty:
        return Judgement(False, f"with that relaxed, search {', '.join(guilty)} still finds nothing", {})
    return Judgement(True, "with that relaxed, each search finds a proved family", {})


def _judge_least(answer: Any) -> Judgement:
    if not isinstance(answer, int) or isinstance(answer, bool):
        raise PrismError(f"an answer is a whole number, found {answer!r}")
    if not 2 <= answer <= 12:
        raise PrismError(f"a block of this program has 2 to 12 loads and operators, found {answer}")
    here, before = proved(with_operators(answer)), proved(with_operators(answer - 1))
    return Judgement(
        here > 0 and not before, f"with {answer} it proves {here}", {"with one less": before, f"with {answer}": here}
    )


_RIGHT: Answers = {"A": "shared_memory", "B": "nodes", "C": "block_ops", "D": "operators"}


def _mistake(letter: str, name: str, hint: str) -> Mistake:
    return Mistake({**_RIGHT, letter: name}, hint, lambda answer: _answers(answer)[letter] == name)


EXERCISES = (
    Exercise(
        "09-a",
        "Which restriction is guilty in each of the four searches?",
        f"a dict with the keys A to D, and a word out of {', '.join(RESTRICTIONS)} for each",
        _judge_guilty,
        (
            _mistake(
                "A",
                "block_ops",
                "The deepest partial graphs of A were not stopped for want of operators. What does a tile need that "
                "the machine lacks?",
            ),
            _mistake(
                "B",
                "block_ops",
                "B ended early: its claim says that a budget was spent, and it kept only four partial graphs.",
            ),
            _mistake(
                "C", "nodes", "C searched its space to the end. Its nearest miss would need one more of something."
            ),
            _mistake(
                "D",
                "block_ops",
                "More operators of the same kinds do not help: no value that they compute is a part of the result. "
                "Which operator of the program does the space lack?",
            ),
        ),
        (
            "searched(SHORT_OF['A']).near_misses says what came farthest, and what would let it pass.",
            "A condition on bytes is about the machine, budget.nodes is about time, limit.ops is about the space. If "
            "nothing but expr.unreachable stops the graphs, an operator is missing.",
        ),
        "sess.near_misses, and sess.claim, which has the funnel of a search that found nothing",
    ),
    Exercise(
        "09-b",
        "What is the least block_ops with which a family is proved?",
        "a number of loads and operators of a block",
        _judge_least,
        (
            Mistake(
                3,
                "The program has three operators. A block loads its two inputs, too.",
            ),
            Mistake(
                ENOUGH.space.block_ops,
                "It proves some. Is it the least?",
                lambda answer: proved(with_operators(answer)) > 0,
            ),
            Mistake(
                4,
                "It proves nothing. Read what the nearest miss lacks.",
                lambda answer: proved(with_operators(answer)) == 0,
            ),
        ),
        (
            "proved(with_operators(n)) counts the proved families.",
            "Count the lines of the smallest family's block, without its store.",
        ),
        "sess.what_if(space=...) says what another space would reopen, without a new search",
    ),
)
