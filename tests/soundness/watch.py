"""The watch: random programs, graphs that equal them and graphs that do not, and what three judges say of each pair."""

from __future__ import annotations

import hashlib
import random
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from time import process_time
from typing import Any

from prism_explore.errors import ShapeError
from prism_explore.ir.graph import SGraph
from prism_explore.ir.program import TensorProgram
from prism_explore.verify.prover import Prover
from tests.soundness.judges import Judged, Pair, judge, read_pair, show_case, small_sizes
from tests.soundness.plain_evaluator import operators_of
from tests.soundness.programs import NAMES, drawn_program, fused, in_one_block, operator_name
from tests.verify.counterexample.adversarial import Base
from tests.verify.mutate import mutant
from tests.verify.mutations import CASE_KINDS, KINDS

CORPUS = Path(__file__).parent / "corpus"
"""Cases that once were contradictions."""
WRONG_KINDS = tuple(kind for kind in (*KINDS, *CASE_KINDS) if not kind.spelling)
RIGHT_KINDS = tuple(kind for kind in KINDS if kind.spelling)
WRONG_TWINS, RIGHT_TWINS = 8, 2
"""Of one program."""
EVERY_NTH_IS_KNOWN = 4
"""Every so many-th number is a program of the verifier's corpus, whose candidates have loops, scans and online sums."""
WORDS = ("programs", "mutants", "proved", "refuted", "unknown", "exact", "kernels", "disagreements")
COLUMNS = (*WORDS, "seconds")


@dataclass
class Account:
    """What became of the pairs, in all and by operator; of the time, that of the operator's own programs."""

    total: Counter[str] = field(default_factory=Counter)
    by_operator: dict[str, Counter[str]] = field(default_factory=dict)
    cases: dict[str, str] = field(default_factory=dict)
    """The text of each contradiction, by its file's name."""

    def note(self, operators: set[str], **counts: float) -> None:
        """Add to the counts, once in all and once for each operator."""
        self.total.update(counts)
        for name in operators:
            self.by_operator.setdefault(name, Counter()).update(counts)

    def add(self, other: Account) -> None:
        """Add another account to this one."""
        self.total.update(other.total)
        for name, counts in other.by_operator.items():
            self.by_operator.setdefault(name, Counter()).update(counts)
        self.cases |= other.cases

    def to_json(self) -> dict[str, Any]:
        """Plain data; `from_json` reads it."""
        return {"total": self.total, "by_operator": self.by_operator, "cases": self.cases}

    @staticmethod
    def from_json(data: dict[str, Any]) -> Account:
        """The account of plain data."""
        by_operator = {name: Counter(counts) for name, counts in data["by_operator"].items()}
        return Account(Counter(data["total"]), by_operator, dict(data["cases"]))

    def table(self) -> str:
        """A row for each operator, and one in all."""
        rows = [("operator", *COLUMNS)]
        for name, counts in (*sorted(self.by_operator.items()), ("all", self.total)):
            rows.append((name, *(f"{counts[word]:,.0f}" for word in COLUMNS)))
        return "\n".join(f"{row[0]:<18}" + "".join(f"{cell:>15}" for cell in row[1:]) for row in rows)


# ---------------------------------------------------------------- one number
def watched(number: int, seed: int, judged: Callable[..., Judged] = judge) -> Account:
    """What becomes of the program of one number and of its twins.

    Args:
        number: of the program.
        seed: of the run.
        judged: asks the judges.
    """
    account = Account()
    began_s = process_time()
    r = random.Random(f"twins {seed} {number}")
    program, right, open_ones = _program_and_bases(number, seed, r)
    prover = Prover(program, saturation=None)
    names = {operator_name(node.op) for graph in (program.graph, *right, *open_ones) for node in operators_of(graph)}
    account.note(names, programs=1)
    for graph, is_right, is_mutant in _twins(program, right, open_ones, r):
        pair = Pair(program, graph)
        operators = {operator_name(node.op) for node in (*program.graph.nodes, *operators_of(graph))}
        try:
            found = judged(pair, r.randrange(1 << 30), prover, is_right=is_right, with_kernel=not is_mutant or is_right)
        except Exception:
            found = Judged("unknown", contradictions=(traceback.format_exc(limit=-4),))
        account.note(
            operators,
            mutants=is_mutant,
            **{found.verdict: 1},
            exact=found.exact != "cannot say",
            kernels=found.elements > 0,
            disagreements=bool(found.contradictions),
        )
        if found.contradictions:
            text = show_case(pair, found.contradictions)
            account.cases[f"{hashlib.sha256(str(pair).encode()).hexdigest()[:12]}.txt"] = text
    account.note({wanted_operator(number)}, seconds=process_time() - began_s)
    account.total["seconds"] = process_time() - began_s
    return account


def wanted_operator(number: int) -> str:
    """The operator around which the program of this number is drawn."""
    return NAMES[number % len(NAMES)] if number % EVERY_NTH_IS_KNOWN else "(corpus)"


def _program_and_bases(number: int, seed: int, r: random.Random) -> tuple[TensorProgram, list[SGraph], list[SGraph]]:
    """A program, graphs that equal it, and graphs that may."""
    if number % EVERY_NTH_IS_KNOWN == 0:
        base = known_bases()[number // EVERY_NTH_IS_KNOWN % len(known_bases())]
        return base.program, [base.program.graph], [base.sgraph]
    program = drawn_program(number, seed)
    kernel = fused(program, r)
    return program, [program.graph, in_one_block(program)], [kernel] if kernel else []


@lru_cache(1)
def known_bases() -> list[Base]:
    """Candidates of the verifier's corpus and of the workloads."""
    from tests.verify.test_mutants import BASES

    return [base for base in BASES if base.program.name != "transformer_block" and not base.program.graph.further]


def _twins(
    program: TensorProgram, right: list[SGraph], open_ones: list[SGraph], r: random.Random
) -> Iterator[tuple[SGraph, bool, bool]]:
    """Graphs to judge; whether each is right by construction, and whether it was mutated."""
    yield right[-1], True, False
    for graph in open_ones:
        yield graph, False, False
    for count, kinds in ((RIGHT_TWINS, RIGHT_KINDS), (WRONG_TWINS, WRONG_KINDS)):
        for _ in range(count):
            base = r.choice((*right, *open_ones))
            try:
                found = mutant(base, program, r, kinds)
            except (ShapeError, IndexError):
                continue
            if found is not None and small_sizes(found.graph, 1):
                yield found.graph, kinds is RIGHT_KINDS and base in right, True


# ---------------------------------------------------------------- the corpus
def corpus() -> tuple[Path, ...]:
    """The files of cases that once were contradictions."""
    return tuple(sorted(CORPUS.glob("*.txt")))


def tried_again(text: str, seed: int = 0) -> Judged:
    """What the judges say of a case's pair now."""
    pair = read_pair(text)
    return judge(pair, seed, Prover(pair.program, saturation=None))
