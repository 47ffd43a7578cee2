"""Many mutants, each with a verdict and a judge that does not know the verifier."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from prism_explore.events.journal import Journal
from prism_explore.ir.graph import SGraph
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.text import show
from prism_explore.pipeline.stages import Cause, Refuted, Unknown, Verified
from prism_explore.verify.egraph.limits import Limits
from prism_explore.verify.prover import Prover
from tests.verify.corpus import candidate
from tests.verify.mutate import TOLERANCE, Mutant, judge, judge_in_decimals, mutant
from tests.verify.mutations import KINDS, Kind

BY_ZERO = "a division by a value that is always 0"
NO_NUMBER = "proved, no number in floats"


@dataclass(frozen=True)
class Base:
    """What is mutated: a candidate, right or wrong, and its program."""

    name: str
    program: TensorProgram
    sgraph: SGraph


@dataclass
class Account:
    """What became of the mutants."""

    verdicts: Counter[str] = field(default_factory=Counter)
    by_kind: dict[str, Counter[str]] = field(default_factory=dict)
    by_base: dict[str, Counter[str]] = field(default_factory=dict)
    open: list[str] = field(default_factory=list)
    """Bases that are themselves unknown."""
    limits: Counter[str] = field(default_factory=Counter)
    """Of the unknown ones: why."""
    missed: Counter[str] = field(default_factory=Counter)
    """Of those unknown ones that are equal: why."""
    examples: list[str] = field(default_factory=list)
    """Some equal ones that stayed unknown."""
    masked: list[str] = field(default_factory=list)
    """Proved under a condition on what is masked that some members of the family do not meet."""
    false: list[str] = field(default_factory=list)
    """Proved, and not equal."""
    disagreements: list[str] = field(default_factory=list)
    crashes: list[str] = field(default_factory=list)
    """The verifier raised something."""

    def note(self, base: Base, found: Mutant, word: str) -> None:
        self.verdicts[word] += 1
        self.by_base.setdefault(base.name, Counter())[word] += 1
        for kind in found.kinds:
            self.by_kind.setdefault(kind.name, Counter())[word] += 1

    @property
    def legal(self) -> int:
        return sum(self.verdicts.values())

    @property
    def equal(self) -> int:
        """Mutants that are equal to their program, for the judge or by proof."""
        return sum(self.verdicts[word] for word in ("proved", NO_NUMBER, "unknown, equal", "unknown, as its base"))

    @property
    def missed_share(self) -> float:
        """Of the equal ones, how many stayed unknown though what they were made from is decided."""
        return self.verdicts["unknown, equal"] / max(self.equal, 1)

    @property
    def open_share(self) -> float:
        """Of the equal ones, how many stayed unknown as what they were made from is."""
        return self.verdicts["unknown, as its base"] / max(self.equal, 1)


def run(
    bases: Sequence[Base],
    count: int,
    seed: int,
    saturation: Limits | None = None,
    beside: Callable[[Account], None] = lambda _: None,
    kinds: Sequence[Kind] = KINDS,
) -> Account:
    """That many mutants that type-check, spread evenly over the bases; program by program, with one prover at a time.

    Args:
        saturation: how far the e-graph may go; None leaves it out, so that a verdict takes milliseconds.
        beside: called after each mutant.
        kinds: the kinds of mutation.
    """
    r = random.Random(seed)
    account = Account()
    programs: dict[TensorProgram, list[Base]] = {}
    for base in bases:
        programs.setdefault(base.program, []).append(base)
    left = len(bases)
    for program, among in programs.items():
        prover = Prover(program, saturation=saturation)
        for base in among:
            if isinstance(prover.verify(candidate(program, base.sgraph), Journal()), Unknown):
                account.open.append(base.name)
            for _ in range((count - account.legal) // left):
                found = next((m for _ in range(20) if (m := mutant(base.sgraph, program, r, kinds)) is not None), None)
                if found is not None:
                    account.note(base, found, decided(prover, base, found, account))
                    beside(account)
            left -= 1
    return account


def decided(prover: Prover, base: Base, found: Mutant, account: Account) -> str:
    """The word for what became of a mutant."""
    try:
        verdict = prover.verify(candidate(base.program, found.graph), Journal())
    except Exception as error:
        account.crashes.append(f"{base.name}: {_names(found)}: {type(error).__name__} {error}\n{show(found.graph)}")
        return "crashed"
    match verdict:
        case Refuted():
            return "refuted"
        case Verified():
            truth = judge(base.program, found.graph)
            if not truth.instances:
                return "proved, not run"
            if truth.equal:
                return "proved"
            apart = judge_in_decimals(base.program, found.graph)
            if apart is not None and apart < TOLERANCE:
                return NO_NUMBER if truth.missing else "proved, but rounding sways it"
            if truth.worst < TOLERANCE and "mask(" in show(found.graph):
                # The claim's condition, that every maximum keeps an entry, does not hold at these numbers.
                account.masked.append(f"{base.name}: {_names(found)}\n{show(found.graph)}")
                return "proved, no number where masked"
            if truth.shaky and apart is None:
                return "proved, but rounding sways it"
            off = truth.worst if apart is None else apart
            account.false.append(f"{base.name}: {_names(found)} (off by {off:.2g})\n{show(found.graph)}")
            return "proved, wrongly"
        case Unknown():
            why = verdict.limit.split(":")[0]
            account.limits[why] += 1
            truth = judge(base.program, found.graph)
            if truth.lost and (verdict.cause is Cause.DISAGREEMENT or why == BY_ZERO):
                return "unknown, no number in floats"
            if verdict.cause is Cause.DISAGREEMENT:
                account.disagreements.append(f"{base.name}: {_names(found)}\n{show(found.graph)}")
            if verdict.cause is Cause.EQUAL_AXES:
                return "unknown, for one shape only"
            if truth.equal and base.name in account.open:
                return "unknown, as its base"
            if truth.equal:
                account.missed[why] += 1
                if len(account.examples) < 40:
                    account.examples.append(f"{base.name}: {_names(found)} ({why})\n{show(found.graph)}")
                return "unknown, equal"
            return "unknown, wrong" if truth.instances else "unknown, not run"


def _names(found: Mutant) -> str:
    return " + ".join(k.name for k in found.kinds)
