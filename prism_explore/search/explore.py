"""The search: enumerate families, choose maps, prove; then tune the proved candidates.

Level 1 enumerates families in breadth and verifies the candidates of each. Level 2 chooses sizes for the proved ones,
smallest lower bound first, and drops those that cannot beat the incumbent. In a long search one kernel is timed in the
middle of level 1, so that there is an answer meanwhile. `explore` is a generator: `next` does one step, so a caller can
pause, step or cancel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from math import inf
from typing import Literal, TypeAlias

from prism_explore.cost.dominance import dominance_reason, find_dominated
from prism_explore.cost.roofline import TimeToBeat, time_bound_of, time_to_beat_of
from prism_explore.events.claim import claim
from prism_explore.events.format import seconds_text
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import (
    TIME_SPENT,
    BaselineMeasured,
    CandidateBounded,
    Event,
    ExplorationFinished,
    ExplorationStarted,
    FamilyDominated,
    FloatsAssessed,
    ParametersProposed,
    RivalTimed,
    SpaceCounted,
    VerdictReached,
)
from prism_explore.events.ledger import Steering, fastest_baseline, was_limited_by_budget, withheld
from prism_explore.events.phases import phase_of
from prism_explore.floats import Assessment, Assessor, Safe, Unassessed, Unsafe, explain
from prism_explore.frontend import Traced
from prism_explore.generate import generate
from prism_explore.generate.event_log import PrunedSequence
from prism_explore.generate.pruning.rule import require_known_rules
from prism_explore.generate.pruning.rules import RULES
from prism_explore.instantiate import instantiate
from prism_explore.ir.axes import axes_of
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.symbol_ranges import UNBOUNDED, Ranges
from prism_explore.ir.text import show
from prism_explore.ir.transforms.duplicate_inputs import duplicate_inputs
from prism_explore.pipeline.search_space import Space
from prism_explore.pipeline.stages import Candidate, Family, KernelSequence, Outcome, Timed, Verified
from prism_explore.search import replay
from prism_explore.search.early_start import EarlyStart, start_early, times_here
from prism_explore.search.kernel_sequence import SequenceTimeToBeat, kernel_sequences
from prism_explore.search.library_calls import Library
from prism_explore.search.worker_pool import WorkerPool, adopt_verdict
from prism_explore.support.work_timer import WorkTimer
from prism_explore.targets import Target
from prism_explore.tune import Budget, Database, TuneRequest, tune
from prism_explore.tune.runner.backend import why_untimed
from prism_explore.tune.runner.baselines import compare_with_baselines, time_baselines
from prism_explore.verify.certificate.certify import certify
from prism_explore.verify.prover import Prover


@dataclass(frozen=True, slots=True)
class Task:
    """The input of a search; with the steering it determines the stream of events."""

    program: TensorProgram
    space: Space
    target: Target
    shapes: Mapping[str, int]
    """Numbers for the program's own symbols, at which kernels are tuned."""
    seed: int
    budget: Budget
    reference: Traced | None = None
    """The traced torch code, for the race against the baselines; None for a program that was not traced."""
    baselines: tuple[str, ...] = ()
    """The baselines of that race, by their names in `tune.runner.baseline_table.BASELINES`."""
    versions: tuple[tuple[str, str], ...] = ()
    allow_unsafe: bool = False
    """Whether a family that is unsafe in floating point may win without being accepted."""
    time_to_beat_s: float | Literal["baselines"] | None = None
    """The time that a kernel has to beat: seconds, or "baselines" for that of the fastest baseline, measured first.

    Partial graphs and candidates whose lower bound is not below it are pruned.
    """
    library: Library = field(default_factory=Library)
    """One more baseline: torch code that computes the same, such as a library call."""
    ranges: Ranges = UNBOUNDED
    """The ranges of the program's symbols, for which kernels may be called; proofs hold for all values."""
    database: Database | None = None
    """Stores trials for later searches."""
    dominated: Literal["later", "left out"] = "later"
    """Whether a family that another one dominates in the cost model is tuned later, or not at all.

    The cost model is not the measured time: with "left out" the fastest kernel may be missed.
    """
    executor: Executor | None = None
    """Its workers verify families while this process enumerates more, and run trials where the budget allows several at
    once. None: this process does everything. The events are the same, except for measured times."""

    def __post_init__(self) -> None:
        require_known_rules(self.space.rules_off, RULES)


WAIT_UNTIL_S = 10.0
"""A baseline that is still being compiled when tuning has ended is waited for as long as everything before took, and at
least until the search has worked for so long."""

FIRST_TRIAL_AT = 2000
"""A search that is not over after so many events times a first kernel then; most are shorter. It is a number of events,
not of seconds, so that the seed determines the journal. The worker that times kernels takes about as long to start."""

Restriction: TypeAlias = tuple[tuple[str, tuple[int, int]], ...]
"""The user's ranges of tuning parameters."""


@dataclass(slots=True)
class Progress:
    """The state of a search. It is kept when a search has finished, so that steering can reopen it."""

    enumeration: Iterator[Family | None] | None = None
    prover: Prover | None = None
    assessor: Assessor | None = None
    workers: WorkerPool | None = None
    timer: WorkTimer = field(default_factory=lambda: WorkTimer(inf))
    """The time of all steps, without pauses between them."""
    proof_timer: WorkTimer = field(default_factory=lambda: WorkTimer(inf))
    assessment_timer: WorkTimer = field(default_factory=lambda: WorkTimer(inf))
    families: list[Family] = field(default_factory=list[Family])
    decided: set[str] = field(default_factory=set[str])
    proved: list[Verified] = field(default_factory=list[Verified])
    tuned: set[tuple[str, Restriction]] = field(default_factory=set[tuple[str, Restriction]])
    """Candidates, and the ranges of parameters within which they were tuned."""
    has_first_trial: bool = False
    """Whether a kernel was timed in the middle of the enumeration."""
    proved_at_first_trial: int = 0
    """The number of proved candidates when that was last attempted; it is attempted again when there are more."""
    timed: list[Timed] = field(default_factory=list[Timed])
    certified: dict[str, Verified] = field(default_factory=dict[str, Verified])
    compared: list[Timed] = field(default_factory=list[Timed])
    assessed: dict[str, Assessment] = field(default_factory=dict[str, Assessment])
    """Per family, its assessment in floating point; a replayed search has only the events."""
    dominated: dict[str, str] = field(default_factory=dict[str, str])
    """Per family that may win, the family that dominates it."""
    compared_costs: tuple[str, ...] = ()
    """The candidates among which `dominated` was found."""
    floats: list[FloatsAssessed] = field(default_factory=list[FloatsAssessed])
    """The assessments as events."""
    runs_to_end: bool = False
    """Whether the user let the search run to its end, so that what tuning needs is started at once."""
    waits_for_all: bool = False
    """Whether the race waits for baselines that take long to compile."""
    early: EarlyStart | None = None
    """What was started for tuning."""

    def rest(self) -> None:
        """End the processes of a search that is paused; they start again when it continues."""
        if self.early is not None:
            self.early.rest()


def explore(
    task: Task,
    journal: Journal,
    steering: Callable[[], Steering],
    progress: Progress,
    stop: Callable[[], bool] = lambda: False,
) -> Iterator[None]:
    """Search, yielding after every step; results are added to `progress` and events to `journal`.

    Args:
        task: the program, the space, the target and the options.
        journal: receives the events.
        steering: the choices of the user so far; called at every step.
        progress: the state of the search.
        stop: called within long steps, which are those that time kernels; the search ends where it returns True.
    """
    try:
        for _ in progress.timer.during(_explore(task, journal, steering, progress, stop)):
            _start_early(task, journal, progress, stop)
            yield
    finally:
        if progress.early is not None:
            progress.early.close()
            progress.early = None


def _start_early(task: Task, journal: Journal, progress: Progress, stop: Callable[[], bool]) -> None:
    """Start what tuning needs, if the search runs to its end on this machine and does not repeat a saved one."""
    if not progress.runs_to_end or progress.compared or journal.next_saved is not None:
        return
    if progress.early is not None:
        progress.early.start()
        return
    if times_here(task.target, task.budget):
        progress.early = start_early(
            task.program,
            task.shapes,
            task.target,
            task.reference,
            baselines=task.baselines,
            seed=task.seed,
            stop=stop,
        )


def _explore(
    task: Task, journal: Journal, steering: Callable[[], Steering], progress: Progress, stop: Callable[[], bool]
) -> Iterator[None]:
    """The search; see `explore`."""
    if progress.enumeration is None:
        journal.append(started_event(task))
        if task.time_to_beat_s == "baselines":
            yield from _time_baselines(task, journal, stop)
            if stop():
                return
    task = with_time_to_beat(task, journal.events)
    if progress.enumeration is None:
        progress.prover, progress.proof_timer = Prover(task.program), WorkTimer(task.space.time_s)
        progress.assessment_timer = WorkTimer(task.space.time_s)
        progress.enumeration = _families(task, journal, progress)
    for family in progress.enumeration:
        if family is not None:
            progress.families.append(family)
            yield from _verify_family(family, task, journal, steering, progress)
        if _is_first_trial_due(task, journal, progress):
            yield from _first_trial(task, journal, steering, progress, stop)
        yield
    for family in progress.families:
        yield from _verify_family(family, task, journal, steering, progress)
    yield from _tune(task, journal, steering, progress, stop)
    best = incumbent(progress, steering())
    if best is not None and not stop():
        yield from _certify_and_compare(best, task, journal, progress, stop)
    if stop():
        return
    ended = "budget" if was_limited_by_budget(journal.events) else "exhausted"
    journal.append(ExplorationFinished(ended, claim(journal.events, ended)))


def _families(task: Task, journal: Journal, progress: Progress) -> Iterator[Family | None]:
    """The enumeration within its time; an executor's workers verify its families, unless a search is replayed."""
    watch = WorkTimer(task.space.time_s)
    if task.executor is None or journal.next_saved is not None:
        return watch.during(
            enumerate_families(task, journal, replay.time_is_up(journal, watch), lambda: bool(progress.proved))
        )
    pool = progress.workers = WorkerPool(task.executor, task.space, task.target, task.seed, progress.proof_timer)
    buffered = Journal()
    enumeration = enumerate_families(
        task, buffered, watch.is_over, lambda: None if pool.is_waiting() else bool(progress.proved)
    )
    return pool.in_order(watch.during(enumeration), buffered, journal)


def enumerate_families(
    task: Task, journal: Journal, over: Callable[[], bool], proved: Callable[[], bool | None]
) -> Iterator[Family | None]:
    """Every family of a task; None after each other step.

    Args:
        task: its time to beat is a number; see `with_time_to_beat`.
        journal: receives an event for every step and every cut.
        over: whether the time for the enumeration is spent.
        proved: whether any family was proved; otherwise kernel sequences are searched at last. None as long as that is
            open.
    """

    def sequences() -> Iterator[KernelSequence | PrunedSequence | None]:
        while (found := proved()) is None:
            yield None
        if task.space.rows and not found:
            yield from kernel_sequences(
                task.program, task.space, task.target, task.seed, over, sequence_time_to_beat(task)
            )

    return generate(task.program, task.space, task.target, journal, over, time_to_beat(task), sequences)


def _verify_family(
    family: Family, task: Task, journal: Journal, steering: Callable[[], Steering], progress: Progress
) -> Iterator[None]:
    """Verify a family's candidates; those that the time for proofs does not reach are unknown, with that reason."""
    if family.id in progress.decided or not allows(steering(), family):
        return
    progress.decided.add(family.id)
    assert progress.prover is not None, "the search was started"
    if progress.workers is not None and (answer := progress.workers.take_verdicts(family)) is not None:
        for decided in answer.candidates:
            verdict = adopt_verdict(decided, family, progress.prover, journal, task.seed)
            if isinstance(verdict, Verified):
                progress.proved.append(verdict)
            yield
        for event in answer.events_after:
            journal.append(event)
        return
    for candidate in instantiate(family, task.space, task.target, journal):
        if saved := replay.replay_verdict(journal, candidate, progress.prover, task.seed):
            verdict = saved.verified
        elif progress.proof_timer.is_over():
            verdict = None
            journal.append(_undecided(candidate, task.space.time_s))
        else:
            with progress.proof_timer:
                verdict = progress.prover.verify(candidate, journal, task.seed)
        if isinstance(verdict, Verified):
            progress.proved.append(verdict)
        yield


def _is_first_trial_due(task: Task, journal: Journal, progress: Progress) -> bool:
    """Whether a long search is to time its first kernel now; in a replay, whether the saved search did."""
    times_nothing = min(task.budget.trials, task.budget.seconds) <= 0 or why_untimed(task.target)
    if progress.has_first_trial or not progress.proved or times_nothing:
        return False
    if journal.next_saved is not None:
        is_tuning = isinstance(journal.next_saved, FloatsAssessed | CandidateBounded | ParametersProposed)
        return is_tuning and not _is_enumerated(journal)
    if not task.budget.early_trial:
        return False
    is_long = len(journal) >= FIRST_TRIAL_AT and len(progress.proved) > progress.proved_at_first_trial
    if not is_long or sum(phase_of(event) is not None for event in journal.events) < FIRST_TRIAL_AT:
        return False
    return not _is_enumerated(journal)


def _is_enumerated(journal: Journal) -> bool:
    """Whether the enumeration has ended, so that tuning comes next."""
    return any(isinstance(event, SpaceCounted) for event in journal.events)


def _first_trial(
    task: Task, journal: Journal, steering: Callable[[], Steering], progress: Progress, stop: Callable[[], bool]
) -> Iterator[None]:
    """Time a kernel of the family with the least lower bound among those that are proved and may win, if there is one.

    The tuning at the end of the search starts with its time.
    """
    progress.proved_at_first_trial = len(progress.proved)
    yield from _assess(task, journal, steering, progress)
    now = steering()
    allowed = [v for v in progress.proved if may_win(progress, now, v.candidate.family)]
    if not allowed or stop():
        return
    first = min(allowed, key=lambda v: time_bound_of(v.candidate, task.shapes, task.target).time_s)
    progress.has_first_trial = True
    of_family = [v for v in allowed if v.candidate.family.id == first.candidate.family.id]
    for outcome in _trials(of_family, now, task, journal, progress, lambda: stop() or steering() is not now):
        if isinstance(outcome, Timed):
            progress.timed.append(outcome)
            break
        yield


def _tune(
    task: Task, journal: Journal, steering: Callable[[], Steering], progress: Progress, stop: Callable[[], bool]
) -> Iterator[None]:
    """Tune the proved and allowed candidates: accepted families first, then preferred ones.

    A change of steering starts it anew. Families that are unsafe in floating point are skipped unless they are accepted
    or allowed. For a GPU that this machine lacks the search ends with the proofs.
    """
    if why_untimed(task.target):
        return
    while not stop():
        yield from _assess(task, journal, steering, progress)
        now = steering()
        restriction: Restriction = tuple(sorted(now.ranges.items()))

        def key(v: Verified, restriction: Restriction = restriction) -> tuple[str, Restriction]:
            return v.candidate.id, restriction

        allowed = [v for v in progress.proved if may_win(progress, now, v.candidate.family)]
        _compare_costs(allowed, task, journal, progress)
        wanted = [v for v in allowed if now.choices.get(v.candidate.family.id) == "accepted"]
        liked = [v for v in allowed if prefers(now, v.candidate.family)]
        untuned = ([v for v in some if key(v) not in progress.tuned] for some in (wanted, liked))
        others = [v for v in allowed if task.dominated == "later" or v.candidate.family.id not in progress.dominated]
        fresh = next(filter(None, untuned), others)
        if all(key(v) in progress.tuned for v in fresh):
            return
        for outcome in _trials(fresh, now, task, journal, progress, lambda now=now: stop() or steering() is not now):
            if isinstance(outcome, Timed):
                progress.timed.append(outcome)
            yield
        if steering() is now:
            progress.tuned.update(map(key, fresh))
        yield  # a search that was cancelled within a trial ends here when it is replayed


def _trials(
    verifieds: Sequence[Verified],
    steering: Steering,
    task: Task,
    journal: Journal,
    progress: Progress,
    stop: Callable[[], bool],
) -> Iterator[Outcome]:
    """The trials of one run of tuning."""
    return tune(
        TuneRequest(
            verifieds,
            task.shapes,
            task.target,
            journal,
            budget=task.budget,
            seed=task.seed,
            incumbent=incumbent(progress, steering),
            time_to_beat_s=_seconds_to_beat(task),
            database=task.database,
            versions=task.versions,
            ranges=steering.ranges,
            deferred={v.candidate.id for v in verifieds if v.candidate.family.id in progress.dominated},
            stop=stop,
            executor=task.executor,
            bench=progress.early.bench if progress.early is not None else None,
        )
    )


def _compare_costs(allowed: Sequence[Verified], task: Task, journal: Journal, progress: Progress) -> None:
    """Find the families that another one dominates in the cost model, and report the new ones."""
    ids = tuple(v.candidate.id for v in allowed)
    if ids == progress.compared_costs:
        return
    progress.compared_costs = ids
    found = find_dominated([v.candidate for v in allowed], task.target.kind == "gpu")
    left_out = task.dominated == "left out"
    for family, steps in found.items():
        if progress.dominated.get(family) != steps[0].better.family.id:
            journal.append(FamilyDominated(family, steps[0].better.family.id, dominance_reason(steps), left_out))
    progress.dominated = {family: steps[0].better.family.id for family, steps in found.items()}


def _assess(task: Task, journal: Journal, steering: Callable[[], Steering], progress: Progress) -> Iterator[None]:
    """Assess each proved family in floating point, once, by its first proved candidate.

    Other maps of a family change only the order of additions. Families that the time does not reach are unassessed,
    with that reason.
    """
    assessor = progress.assessor = progress.assessor or Assessor(task.program, seed=task.seed)
    for verified in progress.proved:
        candidate = verified.candidate
        family = candidate.family
        if any(e.family == family.id for e in progress.floats) or not allows(steering(), family):
            continue
        if saved := replay.replay_assessment(journal, family.id):
            progress.floats.append(saved)
            yield
            continue
        if progress.assessment_timer.is_over():
            found: Assessment = Unassessed(candidate.id, assessor.dtype, _not_reached(task.space.time_s))
        else:
            with progress.assessment_timer:
                found = progress.assessed[family.id] = assessor.assess(verified)
        reasons, evidence = (found.reasons, found.evidence) if isinstance(found, Unsafe) else ((), ())
        event = FloatsAssessed(
            family.id,
            candidate.id,
            "safe" if isinstance(found, Safe) else "unsafe" if isinstance(found, Unsafe) else "unassessed",
            found.dtype,
            found.reason if isinstance(found, Unassessed) else explain(found),
            reasons,
            tuple(map(str, evidence)),
            task.allow_unsafe,
        )
        progress.floats.append(event)
        journal.append(event)
        yield


def _certify_and_compare(
    best: Timed, task: Task, journal: Journal, progress: Progress, stop: Callable[[], bool]
) -> Iterator[None]:
    """Certify the incumbent's proof, if wanted, and race it against the baselines, once per incumbent."""
    verified = best.kernel.verified
    if verified.candidate.id not in progress.certified:
        is_done = replay.replay_certificate(journal, verified.candidate.id) or not task.budget.details
        progress.certified[verified.candidate.id] = verified if is_done else certify(verified, journal)
        yield
    is_repeated = isinstance(journal.next_saved, BaselineMeasured)  # it waited for more baselines the second time
    if best not in progress.compared or progress.waits_for_all or is_repeated:
        progress.compared.append(best)
        if replay.replay_race(journal) or task.reference is None:
            return
        compare_with_baselines(
            task.reference,
            best.kernel,
            task.target,
            journal,
            baselines=task.baselines,
            library=task.library.call,
            details=task.budget.details,
            seed=task.seed,
            stop=stop,
            started=progress.early.before_the_race() if progress.early is not None else None,
            wait_s=inf if progress.waits_for_all else _wait_s(progress.timer.spent_s),
        )
        progress.waits_for_all = False
        yield


def _wait_s(spent_s: float) -> float:
    """Seconds to wait for baselines that are still being compiled, after a search of `spent_s` seconds."""
    return max(spent_s, WAIT_UNTIL_S - spent_s)


def _time_baselines(task: Task, journal: Journal, stop: Callable[[], bool]) -> Iterator[None]:
    """Time the baselines before the enumeration, unless a saved search is replayed."""
    if not replay.replay_baselines(journal) and task.reference is not None:
        for row in time_baselines(
            task.reference,
            task.program,
            task.shapes,
            task.target,
            baselines=task.baselines,
            library=task.library.call,
            seed=task.seed,
            stop=stop,
        ):
            journal.append(row)
    yield


def _to_beat(task: Task) -> dict[str, str]:
    match task.time_to_beat_s:
        case None:
            return {}
        case "baselines":
            return {"time to beat": "that of the fastest rival, measured first"}
        case seconds:
            return {"time to beat": seconds_text(seconds)}


def with_time_to_beat(task: Task, events: Iterable[Event]) -> Task:
    """The task with a number as its time to beat: the time of the fastest baseline, or None where none was timed."""
    if task.time_to_beat_s != "baselines":
        return task
    fastest = fastest_baseline(e for e in events if isinstance(e, RivalTimed))
    return replace(task, time_to_beat_s=fastest.time_s if fastest is not None else None)


def _seconds_to_beat(task: Task) -> float | None:
    assert task.time_to_beat_s != "baselines", "with_time_to_beat replaced it"
    return task.time_to_beat_s


def sequence_time_to_beat(task: Task) -> SequenceTimeToBeat | None:
    """The time that a kernel sequence has to beat; None where there is none."""
    best_s = _seconds_to_beat(task)
    return None if best_s is None else SequenceTimeToBeat(best_s, task.shapes)


def time_to_beat(task: Task) -> TimeToBeat | None:
    """The time that kernels have to beat, for the bounds of partial graphs; None where there is none."""
    return time_to_beat_of(task.program, _seconds_to_beat(task), task.shapes, task.target)


def allows(steering: Steering, family: Family) -> bool:
    """Whether the user did not reject a family."""
    return steering.choices.get(family.id) != "rejected"


def prefers(steering: Steering, family: Family) -> bool:
    """Whether the user preferred a family, which is then tuned before others."""
    return steering.prefers(family.id, show(family.sgraph))


def may_win(progress: Progress, steering: Steering, family: Family) -> bool:
    """Whether a kernel of a family may become the best: it is not rejected, and it is safe, accepted or allowed."""
    return allows(steering, family) and family.id not in withheld(progress.floats, steering)


def incumbent(progress: Progress, steering: Steering) -> Timed | None:
    """The fastest timed kernel of a family that may win."""
    eligible = [t for t in progress.timed if may_win(progress, steering, t.kernel.verified.candidate.family)]
    return min(eligible, key=lambda t: t.time_s, default=None)


def _not_reached(limit_s: float) -> str:
    return f"the time for assessments, {limit_s:g} s, was spent before"


def _undecided(candidate: Candidate, limit_s: float) -> VerdictReached:
    detail = f"the time for proofs, {limit_s:g} s, was spent before it was decided"
    return VerdictReached(candidate.id, "unknown", "", detail, budget=TIME_SPENT)


def started_event(task: Task) -> ExplorationStarted:
    """The first event of a search."""
    return ExplorationStarted(
        program=show(task.program),
        target=task.target.name,
        seed=task.seed,
        space=task.space.describe(task.program) | _to_beat(task),
        axes=tuple((a.name, str(a.extent)) for a in axes_of(duplicate_inputs(task.program).program.graph).axes),
        shapes=tuple(sorted(task.shapes.items())),
        versions=task.versions,
        ranges=task.ranges.bounds,
    )
