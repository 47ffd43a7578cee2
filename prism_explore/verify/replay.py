"""Replay of a saved counterexample by the refuter, and by the prover where prover and refuter disagreed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from prism_explore.events.journal import Journal
from prism_explore.pipeline.stages import Candidate, Counterexample, Family
from prism_explore.verify.counterexample.case import Case, read_case, show_counterexample
from prism_explore.verify.counterexample.refuter import Attempt, Survived, Untried
from prism_explore.verify.prover import Prover


@dataclass(frozen=True, slots=True)
class Replay:
    """The results of prover and refuter on a saved counterexample."""

    case: Case
    proved: str
    """The method by which the prover proves the candidate; empty where it does not."""
    limit: str
    """The limit that the prover hit; empty where it proved the candidate or was not run."""
    refuter: Attempt

    @property
    def disagree(self) -> bool:
        """Whether prover and refuter disagree."""
        return bool(self.proved) and isinstance(self.refuter, Counterexample)

    @property
    def differs(self) -> bool:
        """Whether program and candidate differ on the saved inputs."""
        return isinstance(self.refuter, Counterexample)

    @property
    def summary(self) -> str:
        """The result of the refuter, in one line."""
        match self.refuter:
            case Counterexample():
                return f"{self.case.candidate} differs from {self.case.program.name}"
            case Survived():
                return f"{self.case.candidate} agrees with {self.case.program.name} at the case's numbers now"
            case Untried(reason):
                return f"{self.case.candidate} could not be run: {reason}"
            case _:
                assert_never(self.refuter)

    def __str__(self) -> str:
        lines = [self.summary]
        if isinstance(self.refuter, Counterexample):
            lines.append(show_counterexample(self.refuter))
        if self.case.method is not None:
            lines.append(f"the prover: {f'proved by {self.proved}' if self.proved else self.limit}")
        return "\n".join(lines)


def replay_counterexample(text: str) -> Replay:
    """Run a saved counterexample again.

    The refuter runs both graphs on the saved inputs. Where prover and refuter disagreed, the prover runs, too.

    Args:
        text: the text of a `Case`, as stored in `Unknown.case` and in the journal.

    Returns:
        The results of the refuter and, if it runs, of the prover.

    Raises:
        ParseError: the text is no saved counterexample.

    Example: a candidate that multiplies where the program adds.

    >>> import prism_explore as px
    >>> replay = px.replay_counterexample('''
    ... refutation of f1.c1
    ... seed 0, float64 from -0.65 to 0.75
    ... at b=2
    ... element 0: 1.0 wanted, 2.0 found, off by 0.5
    ...
    ... program double
    ...   x = input f32[b]
    ...   %1 = add(x, x)
    ...   return %1
    ...
    ... sgraph
    ...   x = input f32[b]
    ...   %1 = mul(x, x)
    ...   return %1
    ... ''')
    >>> replay.differs
    True
    """
    case = read_case(text)
    family = Family(case.candidate.split(".")[0], case.program, case.sgraph)
    prover = Prover(case.program)
    again = prover.refuter.replay(case.counterexample, case.sgraph)
    if case.method is None:
        return Replay(case, "", "", again)
    outcome = prover.prove(Candidate(case.candidate, family, case.sgraph, (), case.sgraph.conditions()), Journal())
    proved = outcome if outcome in ("normal form", "cleared denominators", "e-graph") else ""
    return Replay(case, proved, "" if proved else outcome, again)
