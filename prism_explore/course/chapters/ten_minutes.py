"""Exercises of notebook 00: what a claim says and what it does not, and the sizes for which a proof holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from prism_explore.course.chapters.proved_unknown_refuted import PROGRAM, RIGHT
from prism_explore.course.chapters.why_was_this_pruned import SPACE, TASK
from prism_explore.course.exercise import Exercise, Judgement, Mistake
from prism_explore.entry.equivalence.check import check
from prism_explore.errors import PrismError, ShapeError
from prism_explore.ir.dims import dim
from prism_explore.ir.text import parse
from prism_explore.pipeline.stages import Verified
from prism_explore.session.session import Session
from prism_explore.tune.budget import Budget


@dataclass(frozen=True, slots=True)
class Statement:
    """What a claim may say."""

    text: str
    words: str
    """The words of a claim that say so."""


STATEMENTS: Mapping[str, Statement] = {
    "A": Statement("Each proved family equals the function, for all sizes that meet its conditions.", "proved"),
    "B": Statement("No kernel of any kind is faster.", "no faster kernel exists"),
    "C": Statement("What was pruned was pruned by sound rules.", "Nothing was excluded but by sound rules"),
    "D": Statement("In float32, the results are those of PyTorch to the last bit.", "bit by bit"),
    "E": Statement("The kernels also agreed with the function on random numbers.", "survived random trials"),
    "F": Statement("The kernel that is best here is best at other sizes, too.", "best at all sizes"),
}
"""Statements about a search, by their letters."""
SIZES = ((4, 8), (5, 8), (64, 64), (4, 7), (1, 1), (128, 8))
"""Blocks of the grid and iterations of the loop, some of which cut 64 columns into whole tiles."""


@lru_cache(1)
def claim_of_a_search() -> str:
    """The claim of a small search that ended, with proofs and without timing."""
    with Session(TASK.program, target="h100", at={"b": 4}, space=SPACE, budget=Budget(trials=0), cache=False) as sess:
        sess.run()
        return sess.claim


def _letters(answer: Any) -> set[str]:
    given = set(answer)
    if not given or not given <= set(STATEMENTS):
        raise PrismError(f"an answer is a set of letters from A to {max(STATEMENTS)}, found {answer!r}")
    return given


def _judge_claim(answer: Any) -> Judgement:
    given = _letters(answer)
    claimed = {letter for letter, statement in STATEMENTS.items() if statement.words in claim_of_a_search()}
    wrong = len(given & claimed) + len(set(STATEMENTS) - claimed - given)
    text = "the claim says none of these" if not wrong else f"of {len(STATEMENTS)} letters {wrong} are in the wrong set"
    return Judgement(not wrong, text, {})


def _has(letter: str) -> Mistake:
    """The mistake of a letter that the claim says."""
    hints = {
        "A": "That is what a proof says. Which statement goes beyond the stated space, the measured sizes or real "
        "numbers?",
        "C": "The last sentence of the claim says it. Where a budget or you left something out, it says that too.",
        "E": "The claim says it: beside their proofs, candidates survived random trials.",
    }
    return Mistake({"B", "D", "F", letter}, hints[letter], lambda answer: letter in _letters(answer))


def _lacks(letter: str) -> Mistake:
    """The mistake of a letter that is not claimed."""
    hints = {
        "B": "The search knows kernels of the stated space only. What about one that the space does not have?",
        "D": "A proof is about real numbers. Floats are rounded, so they are compared within a tolerance.",
        "F": "Kernels were timed at the sizes in at=, and the order may be another one at others.",
    }
    return Mistake({"B", "D", "F"} - {letter}, hints[letter], lambda answer: letter not in _letters(answer))


def conditions() -> tuple[str, ...]:
    """What has to be a positive integer for the proof of the kernel of notebook 06 to hold."""
    verdict = check(PROGRAM, parse(RIGHT)).verdict
    assert isinstance(verdict, Verified)
    return verdict.proof.conditions


def _is_covered(gx: int, f: int) -> bool:
    try:
        return all(dim(condition).value({"gx": gx, "f": f}) > 0 for condition in conditions())
    except ShapeError:  # no positive integer
        return False


def _pairs(answer: Any) -> set[tuple[int, int]]:
    given = {(gx, f) for gx, f in answer}
    if not given or not given <= set(SIZES):
        raise PrismError(f"an answer has pairs (gx, f) out of {', '.join(map(str, SIZES))}; found {answer!r}")
    return given


def _judge_sizes(answer: Any) -> Judgement:
    given, covered = _pairs(answer), {pair for pair in SIZES if _is_covered(*pair)}
    wrong = sorted(given ^ covered)
    text = f"another answer is right for {len(wrong)} of {len(SIZES)} pairs" if wrong else "the proof covers these"
    return Judgement(not wrong, text, {})


EXERCISES = (
    Exercise(
        "00-a",
        "Which of the statements does the claim of a search not make?",
        'a set of letters, such as {"A", "B"}',
        _judge_claim,
        (*map(_has, "ACE"), *map(_lacks, "BDF")),
        (
            "Print small.claim, and look for each statement in it.",
            "The claim is about kernels of the stated space, over real numbers, timed at some sizes. Which statements "
            "leave these limits?",
        ),
        "prism_explore.events.claim writes the claim from the events",
    ),
    Exercise(
        "00-b",
        "For which blocks of the grid and iterations of the loop does the proof hold?",
        "a list of pairs (gx, f), such as [(4, 8), (5, 8)]",
        _judge_sizes,
        (
            Mistake(
                [(4, 8)],
                "The proof is not about the numbers that are timed. It holds wherever its conditions do: which other "
                "pairs meet them?",
                lambda answer: _pairs(answer) == {(4, 8)},
            ),
            Mistake(
                [(4, 8), (5, 8), (64, 64), (1, 1)],
                "64/5 and 64/7 are no integers, so tiles would not be whole.",
                lambda answer: bool(_pairs(answer) & {(5, 8), (4, 7)}),
            ),
            Mistake(
                [(4, 8), (64, 64), (1, 1), (128, 8)],
                "64/128 is no positive integer: more blocks than columns.",
                lambda answer: (128, 8) in _pairs(answer),
            ),
            Mistake(
                [(4, 8), (64, 64)],
                "A grid of one block, or one with a block per column, is a grid too: 64/64 and 64/1 are integers.",
                lambda answer: not {(64, 64), (1, 1)} <= _pairs(answer),
            ),
        ),
        ("Compute 64/gx and 64/f for each pair. Both have to be positive integers.",),
        "best.proof has the conditions of the kernel that was found",
    ),
)
