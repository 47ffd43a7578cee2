"""The five products of a search, one per stage of the pipeline.

    program -> Family -> Candidate -> Verified -> Kernel -> Timed

Each is frozen and holds its ancestor, so every product leads back to the program. Outcomes that end a branch are
values too: `Refuted`, `Unknown`, `Infeasible`. Stages import these types and not one another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from math import prod
from typing import Literal, NamedTuple, TypeAlias

from prism_explore.errors import ParseError
from prism_explore.ir.axis_maps import AxisUse
from prism_explore.ir.dims import Dim, dim
from prism_explore.ir.graph import SGraph
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.transforms.partition import Part, assemble

Soundness: TypeAlias = Literal["sound", "heuristic", "budget", "user"]
Arithmetic: TypeAlias = Literal["float64", "decimals", "prime fields"]
"""The numbers of a trial: float64 for any program, sixty decimal digits where float64 may be at fault, or exact
residues for programs without maxima."""


@dataclass(frozen=True, slots=True)
class Family:
    """An sGraph with open maps: operators and wiring are fixed, maps and sizes are not."""

    id: str
    """f1, f2, ... in the order in which they are found."""
    program: TensorProgram
    sgraph: SGraph
    sequence: KernelSequence | None = None
    """The parts, where the family is a sequence of kernels, one per part of the program."""


@dataclass(frozen=True, slots=True)
class KernelSequence:
    """A program as a sequence of parts, with families of some parts."""

    program: TensorProgram
    """The program that is partitioned: the family's program, or one that is equal by associativity."""
    parts: tuple[Part, ...]
    families: tuple[tuple[int, Family], ...]
    """Per part that has a kernel, its number from 0 on, and the kernel as a family of the part's own program."""

    def full_graph(self, graphs: Mapping[int, SGraph]) -> SGraph:
        """The full graph, with these graphs for some parts; the other parts are predefined operators."""
        return assemble(self.program, self.parts, graphs)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A family with its maps chosen; sizes are still symbols."""

    id: str
    """The family's id and a number: f1.c1, f1.c2, ..."""
    family: Family
    sgraph: SGraph
    uses: tuple[tuple[AxisUse, ...], ...]
    """Per custom kernel, how each axis is partitioned."""
    conditions: tuple[Dim, ...]
    """Dims that must be positive integers; every legal choice of sizes makes them so."""


@dataclass(frozen=True, slots=True)
class Lemma:
    """One step of a certificate: an equal of a tensor of the candidate, and the axioms used."""

    tensor: str
    """Where: k3 for a kernel-level tensor, k3.b7 for a block tensor."""
    operation: str
    """The operator in the textual form."""
    value: str
    """The normal form of the result, as printed."""
    axioms: tuple[str, ...]
    """Names of a minimal set of axioms from which egglog derives it, unless `note` says that fewer may do; empty where
    definitional."""
    replayed: bool
    """Whether egglog derived it from axioms alone and the checker agreed."""
    note: str = ""
    """Why it was not replayed; for a replayed lemma, whether fewer axioms may suffice."""
    statement: str = ""
    """Both sides as expressions over named axes, for the checker; see `verify.certificate.lemma`."""


class EClass(NamedTuple):
    """Tensors of program and candidate that are equal, as found by the prover."""

    id: str
    """c1, c2, ... in order of appearance; stable over a search."""
    term: str
    """The shared normal form, as printed."""
    members: tuple[str, ...]
    """program.%5, k3, k3.b7, ... in order."""


@dataclass(frozen=True, slots=True)
class Proof:
    """Why a candidate equals the program for all sizes that meet the conditions."""

    method: Literal["normal form", "cleared denominators", "e-graph"]
    claim: str
    """The sentence that was proved, with its quantifiers and conventions."""
    conditions: tuple[str, ...]
    classes: tuple[EClass, ...] = ()
    lemmas: tuple[Lemma, ...] = ()
    """The certificate; empty until it is requested."""

    def broken_at(self, sizes: Mapping[str, int]) -> tuple[str, ...]:
        """The conditions on sizes that these sizes violate; conditions on data are not checked.

        Raises:
            ShapeError: a symbol of a condition has no number.
        """
        found: list[str] = []
        for condition in self.conditions:
            try:
                size = dim(condition)
            except ParseError:
                continue
            number = size.rational(sizes)
            if number.denominator != 1 or number < 1:
                found.append(f"{condition} is {number}, not a positive integer")
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Trial:
    """One random evaluation of both sides by the interpreter."""

    sizes: tuple[tuple[str, int], ...]
    """Numbers for the program's axes and for the candidate's symbols; small, and pairwise different."""
    seed: int
    relative_error: float
    input_range: tuple[float, float] = (-0.65, 0.75)
    """The interval from which floating-point inputs are drawn uniformly."""
    arithmetic: Arithmetic = "float64"
    error_bound: float | None = None
    """Of an exact trial: a bound on the probability that two different functions agree in it."""


@dataclass(frozen=True, slots=True)
class Counterexample:
    """Inputs on which program and candidate differ; `verify.counterexample.refuter.replay` runs them again."""

    sizes: tuple[tuple[str, int], ...]
    """As in `Trial`."""
    seed: int
    index: tuple[int, ...]
    """The element of the result."""
    expected: float
    found: float
    """NaN where blocks wrote different values to one place."""
    relative_error: float
    input_range: tuple[float, float] = (-0.65, 0.75)
    """Inputs were drawn uniformly from here, where they are floats."""
    arithmetic: Arithmetic = "float64"
    """Exact values are residues, of no meaning as magnitudes."""
    result: int = 0
    """Which of the program's results differs, from 0."""


@dataclass(frozen=True, slots=True)
class Verified:
    """A candidate that was proved equal and passed the refuter's trials; only `verify` makes one."""

    candidate: Candidate
    proof: Proof
    trials: tuple[Trial, ...]
    why_no_exact_trial: str = ""
    """The reason why there was no exact trial; empty where there was one."""

    @property
    def evidence(self) -> str:
        """The evidence next to the proof, as a sentence: trials passed, their arithmetic, the error bound."""
        floats = [t for t in self.trials if t.error_bound is None]
        exact = [t.error_bound for t in self.trials if t.error_bound is not None]
        worst = max((t.relative_error for t in floats), default=0.0)
        kinds = [a for a in ("float64", "decimals") if any(t.arithmetic == a for t in floats)] or ["float64"]
        text = f"It survived {_counted(len(floats), 'random trial')} in {' and '.join(kinds)}"
        text += f" (relative error {worst:.0e} at most)"
        if exact:
            text += f" and {_counted(len(exact), 'exact trial')} in prime fields (error at most {prod(exact):.1g})"
        return f"{text}." + (
            f" No exact trial: {self.why_no_exact_trial}." if self.why_no_exact_trial and not exact else ""
        )


@dataclass(frozen=True, slots=True)
class Refuted:
    """A candidate that is wrong, with a counterexample."""

    candidate: Candidate
    counterexample: Counterexample


@dataclass(frozen=True, slots=True)
class Shared:
    """A value that a program and a candidate both compute."""

    term: str
    """The normal form, as printed."""
    program: tuple[str, ...]
    """Tensors of the program, program.%5."""
    candidate: tuple[str, ...]
    """Tensors of the candidate, k3 or k3.b7."""


class Cause(Enum):
    """What kind of limit left a verdict unknown."""

    FORMS_DIFFER = "the normal forms differ"
    BUDGET = "the budget of the normal form or of the search ended"
    NO_FORM = "a side has no normal form"
    MASKED = "a value may be minus infinity where the proof needs a number"
    OTHER_DIMS = "the results have other dims"
    EQUAL_AXES = "it type-checks only because two axes are equally long"
    OTHER_SIZES = "it differs at other sizes than the given ones"
    NOT_RUN = "the trials could not run"
    DISAGREEMENT = "prover and refuter disagree"


@dataclass(frozen=True, slots=True)
class Unknown:
    """A candidate that was neither proved nor refuted, with the limit that was hit."""

    candidate: Candidate
    limit: str
    """The limit in words; part of the file format."""
    cause: Cause
    nearest: tuple[str, str] = ("", "")
    """The two normal forms that differ, as printed."""
    shared: tuple[Shared, ...] = ()
    """The last values that both sides compute: no value computed from one of them is shared."""
    unmatched: tuple[tuple[str, str], ...] = ()
    """The first tensors of the program, then of the candidate, that the other side lacks: name and normal form."""
    case: str = ""
    """Where prover and refuter disagree: a text that `verify.replay.replay_counterexample` runs again."""


Verdict: TypeAlias = Verified | Refuted | Unknown


@dataclass(frozen=True, slots=True)
class Parameters:
    """Parameter values for a family: sizes of the sGraph's symbols, and choices of the code generator."""

    sizes: tuple[tuple[str, int], ...]
    schedule: tuple[tuple[str, int], ...] = ()

    @property
    def numbers(self) -> Mapping[str, int]:
        """The sizes as a mapping."""
        return dict(self.sizes)

    def __str__(self) -> str:
        return ", ".join(f"{k}={v}" for k, v in (*self.sizes, *self.schedule))


@dataclass(frozen=True, slots=True)
class Kernel:
    """Generated code for one choice of parameters."""

    verified: Verified
    parameters: Parameters
    shapes: tuple[tuple[str, int], ...]
    """Sizes of the program's own symbols, such as the batch."""
    backend: Literal["cpu", "triton"]
    source: str
    """Readable text: tiles and loops, or Triton code."""


@dataclass(frozen=True, slots=True)
class Timed:
    """A kernel that was compared with the reference and then timed."""

    kernel: Kernel
    time_s: float
    """The median of its ratios to the incumbent, times the incumbent's time, so that all times are comparable."""
    p20_s: float
    p80_s: float
    samples: int
    error: float
    """Largest deviation from the float64 reference, relative to the reference's largest magnitude."""
    floor_s: float
    """The roofline's lower bound for these sizes (modelled)."""
    waited: float = 0.0
    """Share of the time for which its threads waited for a core because other work was running."""


@dataclass(frozen=True, slots=True)
class Infeasible:
    """A choice of parameters without a timed kernel, and the reason."""

    candidate: Candidate
    parameters: Parameters
    code: str
    """Machine-readable: tune.illegal, tune.compile, tune.crash, tune.hang, tune.memory, tune.wrong."""
    reason: str


Outcome: TypeAlias = Timed | Infeasible


def _counted(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"
