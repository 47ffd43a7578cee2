"""The events of a search: one frozen dataclass per kind.

The classes, their fields and their values are the format of saved files, so they do not change. Fields contain plain
data: numbers with their unit in the name, strings in the textual form of `ir.text`, and tuples and mappings of those.
Ids are stable; the first letter states the kind: `n` a node of the search tree, `p` a pruned region, `f` a family,
`f1.c2` a candidate, `u` a tuning trial, `c` an e-class.

An event has no time of its own; the journal's `Entry` has it. So the events of two searches with the same seed and
steering are equal, except for measured times.
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
"""The code of what was not searched or proved because the time budget of the search was spent."""

FAMILIES_SPENT = "budget.families"
"""The code of what was not searched because the budget of families was spent."""

FAMILY_BUDGET = "family budget"
"""The key of `ExplorationStarted.space` with the budget of families, where it is smaller than that of nodes."""

MISSING_OPERATORS = "operators of the program that it lacks"
"""The one key of `ExplorationStarted.space` that is no limit: names of operators, separated by commas."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a region was pruned, or a candidate or trial rejected, with the data to check it."""

    code: str
    """Machine-readable: expr.unreachable, dup.canonical, shape.mismatch, mem.smem, budget.nodes, ..."""
    layer: Layer
    soundness: Soundness
    rule: str
    """The name of the rule, as in its table."""
    sentence: str
    """The reason as a sentence."""
    formula: str = ""
    """The test that failed, with symbols."""
    substitution: Mapping[str, str] = field(default_factory=dict[str, str])
    """The values of the symbols in the formula."""
    would_reopen_if: str = ""
    """The change after which the region would be searched."""


@dataclass(frozen=True, slots=True)
class ExplorationStarted:
    """A search starts; the fields determine it."""

    program: str
    target: str
    seed: int
    space: Mapping[str, str]
    """The search space: a text per limit, by its name; see `Space.describe`."""
    axes: tuple[tuple[str, str], ...]
    """Axis name and extent."""
    shapes: tuple[tuple[str, int], ...] = ()
    """The values of the program's symbols for which kernels are tuned."""
    versions: tuple[tuple[str, str], ...] = ()
    """Package name and version."""
    ranges: tuple[tuple[str, int, int], ...] = ()
    """Name, least and largest value of symbols that have a range."""


@dataclass(frozen=True, slots=True)
class RivalTimed:
    """A baseline was timed before the enumeration; the fastest of them is the time to beat."""

    name: str
    time_s: float
    """Median, with a cold cache; 0 where it was not measured."""
    p20_s: float
    p80_s: float
    samples: int
    note: str = ""
    """Why it was not measured; else the library call as text, where one was found."""


@dataclass(frozen=True, slots=True)
class NodeExpanded:
    """A partial sGraph was extended by one operator, and no rule pruned it."""

    node: str
    parent: str
    """The node that was extended; empty for the root."""
    operator: str
    """The new operator, such as matmul(%0, %1)."""
    level: Literal["kernel", "block", "split"]
    expression: str = ""
    """The abstract expression of the new tensor."""


@dataclass(frozen=True, slots=True)
class RegionPruned:
    """A partial sGraph was pruned, and with it all its extensions: a region of the search tree."""

    region: str
    parent: str
    operator: str
    level: Literal["kernel", "block", "split"]
    reason: Reason
    stood_for: float = 1.0
    """The number of graphs in the region."""
    counted: Literal["exact", "estimate"] = "estimate"


@dataclass(frozen=True, slots=True)
class SpaceCounted:
    """The enumeration ended: the number of graphs, with any operator on any operands.

    whole = graphs of the pruned regions + families + unfinished + void
    """

    whole: float
    """All graphs."""
    unfinished: int
    """Graphs that were extended and are no family: a tensor is unused, or the result differs."""
    void: float
    """Ill-formed graphs: a dim does not exist, or a kernel would leave a tensor unused."""


@dataclass(frozen=True, slots=True)
class FamilyCompleted:
    """A partial sGraph was completed: its result may equal that of the program."""

    family: str
    node: str
    sgraph: str


@dataclass(frozen=True, slots=True)
class CandidateInstantiated:
    """The maps of a family were chosen."""

    candidate: str
    family: str
    sgraph: str
    uses: tuple[str, ...]
    """How each axis is partitioned, such as n<->x."""
    conditions: tuple[str, ...]
    """Dims that have to be positive integers."""


@dataclass(frozen=True, slots=True)
class CandidateRejected:
    """A constraint rejected a choice of maps."""

    family: str
    uses: tuple[str, ...]
    reason: Reason


@dataclass(frozen=True, slots=True)
class CandidateBounded:
    """A proved candidate was not tuned, because its roofline bound is not below the time to beat."""

    candidate: str
    floor_s: float
    """Its lower bound by the roofline."""
    best_s: float
    """The incumbent's time, or the time to beat."""
    reason: Reason


@dataclass(frozen=True, slots=True)
class SaturationStepped:
    """One iteration of equality saturation ended."""

    subject: str
    """The candidate; for a lemma, the candidate and the tensor."""
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
    """The method that decided it; empty for an unknown candidate."""
    detail: str
    """The claim, the counterexample, or the limit that was hit, as a sentence."""
    conditions: tuple[str, ...] = ()
    classes: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    """E-classes: id, term, members."""
    trials: tuple[tuple[str, float], ...] = ()
    """The refuter's evaluations in floating point: sizes as text, relative error."""
    nearest: tuple[str, ...] = ()
    """Of an unknown candidate: the normal forms of program and candidate that differ."""
    exact: tuple[tuple[str, float], ...] = ()
    """The refuter's evaluations in prime fields: sizes as text, bound on the probability of an error."""
    evidence: str = ""
    """Of a proved candidate: the trials that it passed, as a sentence."""
    shared: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Of an unknown candidate: the last values that both sides compute, each a term and its tensors."""
    apart: tuple[tuple[str, str], ...] = ()
    """Of an unknown candidate: the first tensors of either side that the other lacks, name and normal form."""
    case: str = ""
    """Where prover and refuter disagree: the text from which `replay_counterexample` runs both again."""
    budget: str = ""
    """The code of the budget that was spent, where the candidate is unknown because of it."""
    witness: str = ""
    """The counterexample of a refuted candidate, as `verify.counterexample.case` writes it."""


@dataclass(frozen=True, slots=True)
class CertificateReplayed:
    """egglog replayed the lemmas of a proof from axioms alone."""

    candidate: str
    lemmas: tuple[tuple[str, str, str, tuple[str, ...], bool, str], ...]
    """Tensor, operation, value, axioms, replayed, note; see `pipeline.stages.Lemma`."""
    statements: tuple[str, ...] = ()
    """Per lemma, both sides with the terms and steps between them, for the checker."""
    asked: bool = False
    """Whether the user requested it, which can happen between any two events, as steering can."""


@dataclass(frozen=True, slots=True)
class FloatsAssessed:
    """A proved family was assessed in floating point; its proof is over the real numbers."""

    family: str
    candidate: str
    """The candidate of the family that was executed."""
    outcome: FloatsWord
    dtype: str
    """The working precision, such as f32."""
    detail: str
    """The result, as a sentence."""
    reasons: tuple[str, ...] = ()
    """Why it is unsafe."""
    evidence: tuple[str, ...] = ()
    """Inputs by kind, sizes and seed, with both values, so that they can be reproduced."""
    allowed: bool = False
    """Whether the search may choose an unsafe family."""


@dataclass(frozen=True, slots=True)
class FamilyDominated:
    """Another family costs no more in the cost model, for all sizes."""

    family: str
    by: str
    """The other family."""
    reason: Reason
    left_out: bool
    """Whether it is therefore not tuned; else it is tuned after equally promising families."""


@dataclass(frozen=True, slots=True)
class KernelGenerated:
    """Code was generated for one choice of parameters."""

    trial: str
    candidate: str
    backend: str
    source: str


@dataclass(frozen=True, slots=True)
class ParametersProposed:
    """The tuner chose parameters for its next trial."""

    trial: str
    candidate: str
    parameters: tuple[tuple[str, int], ...]
    modelled_s: float
    """The time by the cost model, which is no bound."""
    floor_s: float = 0.0
    """The roofline bound of the candidate for all sizes; 0 in files that do not have it."""


@dataclass(frozen=True, slots=True)
class TrialMeasured:
    """A kernel was compared with the reference and timed; a kernel that wins a play-off is timed once more."""

    trial: str
    candidate: str
    parameters: tuple[tuple[str, int], ...]
    time_s: float
    """The median of its ratios to the incumbent, times the incumbent's time, so that all times are comparable."""
    p20_s: float
    p80_s: float
    samples: int
    error: float
    """Largest deviation from the float64 reference, relative to the reference's largest magnitude."""
    waited: float = 0.0
    """Share of the time for which its threads waited for a core because other work was running."""


@dataclass(frozen=True, slots=True)
class TrialFailed:
    """A choice of parameters resulted in no timed kernel."""

    trial: str
    candidate: str
    parameters: tuple[tuple[str, int], ...]
    reason: Reason


@dataclass(frozen=True, slots=True)
class IncumbentImproved:
    """A kernel was faster than every kernel before it."""

    trial: str
    candidate: str
    time_s: float


@dataclass(frozen=True, slots=True)
class PlayedOff:
    """The fastest trials were timed again in the same rounds, by successive halving.

    A winner that is not the incumbent is then measured against the incumbent in new rounds; its events follow.
    """

    order: tuple[str, ...]
    """The trials, the winner first, the first eliminated ones last."""
    rounds: int
    """The number of rounds of the last two trials."""


@dataclass(frozen=True, slots=True)
class TuningEnded:
    """A run of trials ended before the parameters were exhausted."""

    why: Literal["patience", "bound", "limit", "trials", "seconds"]
    """`patience` consecutive trials without a gain; the time near the lower bound, or near the machine's limit in the
    same rounds; the budget of trials or seconds."""
    trials: int
    """Trials of the run."""
    limit: float
    """The value of the limit: a number of trials, a share of the bound or of the machine's limit, or seconds."""
    strategy: str = ""
    gain: float = 0.0
    """For `patience`, the share by which the incumbent had to become faster to count as a gain."""


@dataclass(frozen=True, slots=True)
class BaselineMeasured:
    """The time of a baseline in the final race, in the same rounds as the best kernel."""

    name: str
    time_s: float
    p20_s: float
    p80_s: float
    samples: int
    note: str = ""
    ratio: float = 0.0
    """The median over the rounds of its time divided by the best kernel's; 0 where it was not measured."""
    ratio_p25: float = 0.0
    ratio_p75: float = 0.0


@dataclass(frozen=True, slots=True)
class Steered:
    """A steering step of the user."""

    action: Literal["accept", "reject", "prefer", "restrict", "undo", "redo"]
    subject: str
    """A family; for `prefer` also a text, which selects every family whose graph contains it; for `restrict` the name
    of a tuning parameter."""
    python: str
    """The same step as a Python call."""
    note: str = ""
    values: tuple[int, ...] = ()
    """For `restrict`, the least and the largest value."""


@dataclass(frozen=True, slots=True)
class SearchForked:
    """The events before this one are those of another search; from here on, this search continues on its own."""

    parent: str
    """The name of the other search."""
    at: int
    """How many events of the other search were repeated; 0 where the settings differ, so that nothing was."""
    fork: str
    """The name of this search."""
    note: str = ""
    requested: int = 0
    """The moment that was requested, if it lay within a step; the fork is at the end of the step before it."""
    changes: tuple[str, ...] = ()
    """What differs from the settings of the other search, as text."""


@dataclass(frozen=True, slots=True)
class SearchRepeated:
    """The events before this one repeat a finished search out of the cache: verdicts and times are those of then."""

    events: int
    """How many events."""
    stored: str
    """When that search ended, as an ISO date and time in UTC."""


@dataclass(frozen=True, slots=True)
class Bookmarked:
    """The user made, changed, deleted or restored a bookmark; the last event of an id holds.

    It has no influence on the search and can happen between any two events.
    """

    bookmark: str
    """Its id, such as b3."""
    ref: str
    """The id that it marks; empty for a moment alone."""
    note: str = ""
    at: int = 0
    """The number of events that were shown, for an earlier state of the search; 0 for no moment."""
    deleted: bool = False
    undone: bool = False
    """Whether this reverts the last change that was not reverted yet."""


@dataclass(frozen=True, slots=True)
class ExplorationFinished:
    """A search ended."""

    stop: Literal["exhausted", "budget", "cancelled"]
    """Why it ended."""
    claim: str
    """What the search showed and what it did not; see `events.claim`."""


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
    | TuningEnded
    | BaselineMeasured
    | Steered
    | SearchForked
    | SearchRepeated
    | Bookmarked
    | ExplorationFinished
)

KINDS: tuple[type, ...] = get_args(Event)
