"""What can happen in a search: one frozen dataclass per kind of fact.

Payloads are plain: numbers with their unit in the name, strings in the textual form of `ir.text`,
tuples and string-keyed mappings of those. Ids are typed and stable: `n` a node of the search tree,
`p` a pruned region, `f` a family, `f1.c2` a candidate, `u` a tuning trial, `c` an e-class.

A fact is timeless; when it was noted is in the journal's envelope. So the streams of two runs with the
same seed and steering compare equal, but for what a stop-watch measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

Soundness: TypeAlias = Literal["sound", "heuristic", "budget", "user"]
Layer: TypeAlias = Literal["generate", "map", "verify", "instantiate", "tune"]
VerdictWord: TypeAlias = Literal["proved", "refuted", "unknown"]
FloatsWord: TypeAlias = Literal["safe", "unsafe", "unassessed"]

TIME_SPENT = "budget.time"
"""The code of what was left out because a search's own time was spent."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a region was cut or a candidate dropped; everything a reader needs to doubt it."""

    code: str
    """Machine-readable: expr.unreachable, dup.canonical, shape.mismatch, mem.smem, budget.nodes, ..."""
    layer: Layer
    soundness: Soundness
    rule: str
    """Name of the row in the rule table."""
    sentence: str
    """One sentence for people."""
    formula: str = ""
    """The test that failed, with symbols."""
    substitution: Mapping[str, str] = field(default_factory=dict[str, str])
    """What the formula's symbols stand for here."""
    would_reopen_if: str = ""
    """What would have to change for this region to be searched."""


@dataclass(frozen=True, slots=True)
class ExplorationStarted:
    """A search begins; everything needed to repeat it."""

    program: str
    target: str
    seed: int
    space: Mapping[str, str]
    """The stated space, one entry per limit."""
    axes: tuple[tuple[str, str], ...]
    """Axis name and extent."""
    shapes: tuple[tuple[str, int], ...] = ()
    """Numbers at which the program's own symbols are tuned."""
    versions: tuple[tuple[str, str], ...] = ()
    ranges: tuple[tuple[str, int, int], ...] = ()
    """Least and largest value of symbols that have a range."""


@dataclass(frozen=True, slots=True)
class RivalTimed:
    """How long a rival takes, before anything grew: the fastest of them is the time to beat."""

    name: str
    time_s: float
    """Median, from a cold cache; 0 where it was not measured."""
    p20_s: float
    p80_s: float
    samples: int
    note: str = ""
    """Why it was not measured, where it was not; else how the call is spelled, where one was found."""


@dataclass(frozen=True, slots=True)
class NodeExpanded:
    """A partial sGraph was grown by one operator and kept."""

    node: str
    parent: str
    """Empty for the root."""
    operator: str
    """In the textual form, such as matmul(%0, %1)."""
    level: Literal["kernel", "block", "split"]
    expression: str = ""
    """The abstract expression of the new tensor."""


@dataclass(frozen=True, slots=True)
class RegionPruned:
    """A partial sGraph was cut, and with it all that would have grown from it."""

    region: str
    parent: str
    operator: str
    level: Literal["kernel", "block", "split"]
    reason: Reason
    stood_for: float = 1.0
    """How many programs it stood for."""
    counted: Literal["exact", "estimate"] = "estimate"


@dataclass(frozen=True, slots=True)
class SpaceCounted:
    """Growth ended; how many graphs there are, as they are spelled: any operator on any operands.

    whole = what the cut regions stood for + families + unfinished + void
    """

    whole: float
    unfinished: int
    """Graphs that were kept on the way and are no program: something is unused, or the result is another."""
    void: float
    """Spellings that are no graphs: a dim is not there, or a kernel would leave a tensor unused."""


@dataclass(frozen=True, slots=True)
class FamilyCompleted:
    """A partial sGraph became whole: its result may equal the program's."""

    family: str
    node: str
    sgraph: str


@dataclass(frozen=True, slots=True)
class CandidateInstantiated:
    """A family's maps were chosen."""

    candidate: str
    family: str
    sgraph: str
    uses: tuple[str, ...]
    """How each axis is cut, such as n<->x."""
    conditions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CandidateRejected:
    """A choice of maps that the constraints forbid."""

    family: str
    uses: tuple[str, ...]
    reason: Reason


@dataclass(frozen=True, slots=True)
class CandidateBounded:
    """A proved candidate was not tuned: even its roofline bound cannot beat the incumbent."""

    candidate: str
    floor_s: float
    best_s: float
    reason: Reason


@dataclass(frozen=True, slots=True)
class SaturationStepped:
    """One iteration of an e-graph run."""

    subject: str
    """The candidate, or candidate and tensor for a lemma."""
    iteration: int
    nodes: int
    classes: int
    matches: Mapping[str, int]
    """Matches per rule."""


@dataclass(frozen=True, slots=True)
class VerdictReached:
    """A candidate was proved, refuted, or left unknown."""

    candidate: str
    verdict: VerdictWord
    method: str
    """How it was decided; empty where it was not."""
    detail: str
    """The claim, the counterexample, or the limit that was hit, as a sentence."""
    conditions: tuple[str, ...] = ()
    classes: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    """E-classes: id, term, members."""
    trials: tuple[tuple[str, float], ...] = ()
    """The refuter's evaluations: sizes as text, relative error."""
    nearest: tuple[str, ...] = ()
    """Where it was not decided: the program's and the candidate's forms that did not meet."""
    exact: tuple[tuple[str, float], ...] = ()
    """The refuter's evaluations in prime fields: sizes as text, probability that it errs at most."""
    evidence: str = ""
    """What a proved candidate survived, as a sentence."""
    shared: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Where it was not decided: the last values that both sides have, each a term and the tensors that are it."""
    apart: tuple[tuple[str, str], ...] = ()
    """Where it was not decided: the first tensors on either side without a partner, name and form."""
    case: str = ""
    """Where prover and refuter disagree: the text from which `replay_counterexample` runs both again."""
    budget: str = ""
    """Where it was not decided because a budget of the search was spent: that budget's code."""
    witness: str = ""
    """Where it was refuted: sizes, seed, element and both values, as `verify.counterexample.case` writes them."""


@dataclass(frozen=True, slots=True)
class CertificateReplayed:
    """egglog replayed the lemmas of a proof from axioms alone."""

    candidate: str
    lemmas: tuple[tuple[str, str, str, tuple[str, ...], bool, str], ...]
    """Tensor, operation, value, axioms, replayed, note."""
    statements: tuple[str, ...] = ()
    """Of each lemma, both sides with the terms and steps between them: what the checker and `verify.chain` read."""
    asked: bool = False
    """Whether somebody asked for it: like steering, it then stands wherever it was asked."""


@dataclass(frozen=True, slots=True)
class FloatsAssessed:
    """A proved family was tried in floating point: apart from its proof, which speaks of real numbers."""

    family: str
    candidate: str
    """The one that was run for the family."""
    outcome: FloatsWord
    dtype: str
    """The working precision, such as f32."""
    detail: str
    """What was found, as a sentence."""
    reasons: tuple[str, ...] = ()
    """Why it is unsafe."""
    evidence: tuple[str, ...] = ()
    """Inputs by kind, sizes and seed, with both values: anyone can have the same numbers again."""
    allowed: bool = False
    """Whether an unsafe family may be chosen all the same, because the search was asked to allow it."""


@dataclass(frozen=True, slots=True)
class FamilyDominated:
    """Another family costs no more in the cost model, whatever the sizes."""

    family: str
    by: str
    reason: Reason
    left_out: bool
    """Whether it is not tuned for it; otherwise it comes behind others that are as likely."""


@dataclass(frozen=True, slots=True)
class KernelGenerated:
    """Source was made for one choice of numbers."""

    trial: str
    candidate: str
    backend: str
    source: str


@dataclass(frozen=True, slots=True)
class ParametersProposed:
    """Numbers that the tuner will try."""

    trial: str
    candidate: str
    parameters: tuple[tuple[str, int], ...]
    modelled_s: float
    """The likely time, by a model; a kernel may well be faster."""
    floor_s: float = 0.0
    """The roofline bound of the candidate, whatever the numbers; 0 where it was not told."""


@dataclass(frozen=True, slots=True)
class TrialMeasured:
    """A kernel whose result was compared with the reference first, then timed; once more where it won a play-off."""

    trial: str
    candidate: str
    parameters: tuple[tuple[str, int], ...]
    time_s: float
    """Median of the rounds' ratios to the incumbent, times the incumbent's own time; so times compare."""
    p20_s: float
    p80_s: float
    samples: int
    error: float
    waited: float = 0.0
    """Share of the timed span for which its threads waited for a core: other work was running."""


@dataclass(frozen=True, slots=True)
class TrialFailed:
    """A choice of numbers that gave no timed kernel."""

    trial: str
    candidate: str
    parameters: tuple[tuple[str, int], ...]
    reason: Reason


@dataclass(frozen=True, slots=True)
class IncumbentImproved:
    """A kernel beat every kernel before it."""

    trial: str
    candidate: str
    time_s: float


@dataclass(frozen=True, slots=True)
class PlayedOff:
    """The fastest trials ran once more, all in the same rounds, half of them leaving at a time.

    Where the winner is not the incumbent, it is measured again beside it, in new rounds: that follows.
    """

    order: tuple[str, ...]
    """Trials, the winner first; the first to leave come last."""
    rounds: int
    """In how many the last two ran."""


@dataclass(frozen=True, slots=True)
class BaselineMeasured:
    """A rival's time, measured side by side with the incumbent's."""

    name: str
    time_s: float
    p20_s: float
    p80_s: float
    samples: int
    note: str = ""
    ratio: float = 0.0
    """Median over the rounds of its time over the incumbent's; 0 where it was not measured."""
    ratio_p25: float = 0.0
    ratio_p75: float = 0.0


@dataclass(frozen=True, slots=True)
class Steered:
    """Somebody accepted, rejected or preferred, or took a steering step back."""

    action: Literal["accept", "reject", "prefer", "undo", "redo"]
    subject: str
    """A family; of `prefer` also a text, for every family that has it in its graph."""
    python: str
    """The call that does the same."""
    note: str = ""


@dataclass(frozen=True, slots=True)
class ExplorationFinished:
    """A search ended, and why; the claim says what was and was not shown."""

    stop: Literal["exhausted", "budget", "cancelled"]
    claim: str


Event: TypeAlias = (
    ExplorationStarted
    | RivalTimed
    | NodeExpanded
    | RegionPruned
    | FamilyCompleted
    | SpaceCounted
    | CandidateInstantiated
    | CandidateRejected
    | CandidateBounded
    | SaturationStepped
    | VerdictReached
    | CertificateReplayed
    | FloatsAssessed
    | FamilyDominated
    | KernelGenerated
    | ParametersProposed
    | TrialMeasured
    | TrialFailed
    | IncumbentImproved
    | PlayedOff
    | BaselineMeasured
    | Steered
    | ExplorationFinished
)

KINDS: tuple[type, ...] = get_args(Event)
