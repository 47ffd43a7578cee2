"""From proved candidates to an incumbent, on a bench with scripted times."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest

from prism_explore.cost.roofline import time_bound_of
from prism_explore.errors import TargetUnavailable
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import (
    CandidateBounded,
    Event,
    IncumbentImproved,
    KernelGenerated,
    ParametersProposed,
    TrialFailed,
    TrialMeasured,
    TuningEnded,
)
from prism_explore.pipeline.stages import Infeasible, Kernel, Outcome, Timed, Verified
from prism_explore.targets import GPUS, Target
from prism_explore.tune import Budget, TuneRequest, tune
from prism_explore.tune.budget import strategy_of
from prism_explore.tune.runner.bench import Ceilings, CheckPassed, Failure, Samples
from prism_explore.tune.runner.race import Racer, RaceTimes
from prism_explore.tune.space.parameters import Choices
from prism_explore.tune.space.time_model import model_of
from prism_explore.tune.strategies.ranked import Exhaustive
from prism_explore.tune.strategies.strategy import Strategy
from tests.tune.toys import BACKEND, REFUSED, TOY, fused, split

SHAPES = {"b": 4}
LONG = Budget(trials=10_000, patience=10_000, seconds=1e9, near=-1.0)


class ToyBench:
    """Times by formula: the best is gx=4, f=8, unroll=2; a slower minute slows everything alike."""

    def __init__(self, failing: Mapping[str, str] | None = None, base_s: float = 1.0, limit_s: float = 0.0) -> None:
        self.kernels: dict[str, Kernel] = {}
        self.failing = dict(failing or {})
        self.base_s = base_s
        self.limit_s = limit_s
        """The time of the loops that measure the machine's limit; 0 if there are none."""
        self.minute = 1 / 1.5
        self.wait = 0.0
        self.raced: list[tuple[tuple[str, ...], int]] = []

    def seconds(self, kernel: Kernel) -> float:
        numbers = {"unroll": 1, **kernel.parameters.numbers, **dict(kernel.parameters.schedule)}
        away = abs(numbers.get("gx", 1) - 4) + abs(numbers.get("f", 1) - 8) + abs(numbers["unroll"] - 2)
        return self.base_s * (1 + 0.02 * away) * self.minute

    def check(self, key: str, kernel: Kernel) -> CheckPassed | Failure:
        code = self.failing.get(str(dict(kernel.parameters.sizes).get("gx")))
        if code:
            return Failure(code, "on request")
        self.kernels[key] = kernel
        return CheckPassed(1e-7)

    def time(self, keys: Sequence[str], rounds: int) -> Samples | Failure:
        self.raced.append((tuple(keys), rounds))
        self.minute *= 1.5
        times_s = dict.fromkeys(keys, self.limit_s * self.minute) | {
            k: self.seconds(kernel) for k, kernel in self.kernels.items() if k in keys
        }
        return Samples({key: (times_s[key],) * rounds for key in keys}, (self.wait,) * rounds)

    def prepare_ceilings(self, read_bytes: float, flops: float, is_16_bit: bool) -> Ceilings | Failure:
        if not self.limit_s:
            return Failure("tune.crash", "no loops here")
        return Ceilings(("reads", "reads in rows"), "computes", scale=1.0)

    def drop(self, key: str) -> None:
        self.kernels.pop(key, None)

    def close(self) -> None:
        raise AssertionError("a bench that was given is closed by its owner")


def run(
    *verifieds: Verified,
    bench: ToyBench | None = None,
    budget: Budget = LONG,
    journal: Journal | None = None,
    seed: int = 0,
    strategy: Strategy | None = None,
    incumbent: Timed | None = None,
    target: Target = TOY,
    clock: Callable[[], float] = time.monotonic,
    ranges: Mapping[str, tuple[int, int]] | None = None,
) -> tuple[list[Outcome], tuple[Event, ...]]:
    diary = Journal() if journal is None else journal
    found = tune(
        TuneRequest(
            verifieds or (fused(),),
            SHAPES,
            target,
            diary,
            budget=budget,
            seed=seed,
            backend=BACKEND,
            bench=bench or ToyBench(),
            strategy=strategy,
            incumbent=incumbent,
            clock=clock,
            ranges=ranges or {},
        )
    )
    return list(found), diary.events


def best_of(outcomes: Sequence[Outcome]) -> Timed:
    return min((o for o in outcomes if isinstance(o, Timed)), key=lambda t: t.time_s)


def test_the_full_space_contains_the_best() -> None:
    outcomes, _ = run()
    numbers = best_of(outcomes).kernel.parameters

    assert (("gx", 4), ("f", 8)) == numbers.sizes
    assert 2 == dict(numbers.schedule)["unroll"]


def test_a_short_search_finds_the_best_too_and_not_by_trying_everything() -> None:
    everything, _ = run()
    outcomes, _ = run(budget=replace(LONG, trials=len(everything) // 2))

    assert best_of(everything).kernel.parameters == best_of(outcomes).kernel.parameters


def test_the_best_is_the_last_that_was_announced_and_each_beat_the_one_before() -> None:
    outcomes, events = run()
    curve = [e.time_s for e in events if isinstance(e, IncumbentImproved)]

    assert sorted(curve, reverse=True) == curve
    assert best_of(outcomes).time_s == curve[-1]


def test_times_compare_although_the_machine_slows_down_all_the_while() -> None:
    bench = ToyBench()
    outcomes, _ = run(bench=bench)
    first = outcomes[0]
    assert isinstance(first, Timed)
    bench.minute = 1.0
    truth = {str(o.kernel.parameters): bench.seconds(o.kernel) for o in outcomes if isinstance(o, Timed)}
    yardstick = first.time_s / truth[str(first.kernel.parameters)]

    for o in outcomes:
        assert isinstance(o, Timed)
        assert o.time_s == pytest.approx(truth[str(o.kernel.parameters)] * yardstick)


def test_one_run_is_like_another() -> None:
    assert run(fused(), split())[1] == run(fused(), split())[1]
    assert run(fused(), seed=1)[1] != run(fused(), seed=2)[1]


def test_events_of_every_trial_are_in_order() -> None:
    _, events = run(strategy=Exhaustive(), budget=replace(LONG, trials=1))
    kinds = [type(e) for e in events]

    assert [ParametersProposed, KernelGenerated, TrialMeasured, IncumbentImproved, TuningEnded] == kinds
    proposed, _, measured, _, ended = events
    assert isinstance(proposed, ParametersProposed)
    assert isinstance(measured, TrialMeasured)
    assert "u1" == proposed.trial == measured.trial
    assert (("gx", 1), ("f", 1), ("behave", 0), ("unroll", 1)) == proposed.parameters == measured.parameters
    assert 20 == measured.samples
    assert (1e-7, 0.0) == (measured.error, measured.waited)
    assert isinstance(ended, TuningEnded)


def test_a_slow_trial_leaves_the_race_early_and_a_winner_runs_all_rounds() -> None:
    bench = ToyBench()
    _, events = run(bench=bench)
    won = {e.trial for e in events if isinstance(e, IncumbentImproved)}
    samples = {e.trial: e.samples for e in events if isinstance(e, TrialMeasured)}

    assert {20} == {samples[t] for t in won}
    assert {3, 10, 20} <= set(samples.values()) <= {3, 10, 20, 120}
    assert [1, *[2] * (len(bench.raced) - 15), 8, 8, *[4] * 4, *[2] * 8] == [len(keys) for keys, _ in bench.raced]


def test_only_the_incumbent_is_kept_on_the_bench() -> None:
    bench = ToyBench()
    _, events = run(bench=bench)
    last = [e.trial for e in events if isinstance(e, IncumbentImproved)][-1]

    assert [last] == list(bench.kernels)


def test_a_disturbed_race_counts_the_least_disturbed_rounds_only() -> None:
    bench = ToyBench()
    bench.wait = 0.25
    _, events = run(bench=bench, budget=replace(LONG, trials=2))
    measured = next(e for e in events if isinstance(e, TrialMeasured))

    assert (10, 0.25) == (measured.samples, measured.waited)
    assert [20, 20, 20] == [rounds for keys, rounds in bench.raced if len(keys) == 1]


def test_the_only_trial_is_timed_in_few_rounds() -> None:
    bench = ToyBench()
    bench.wait = 0.25
    _, events = run(bench=bench, budget=replace(LONG, trials=1))

    assert [(1, 20)] == [(len(keys), rounds) for keys, rounds in bench.raced]
    assert 7 == next(e for e in events if isinstance(e, TrialMeasured)).samples


def test_rounds_that_others_disturbed_are_repeated_until_enough_were_quiet() -> None:
    class Restless(ToyBench):
        """Disturbed in the first rounds."""

        def time(self, keys: Sequence[str], rounds: int) -> Samples | Failure:
            self.wait = 0.0 if self.raced else 0.25
            return super().time(keys, rounds)

    bench = Restless()
    _, events = run(bench=bench, budget=replace(LONG, trials=2))
    measured = next(e for e in events if isinstance(e, TrialMeasured))

    assert [20, 20] == [rounds for keys, rounds in bench.raced if len(keys) == 1]
    assert 20 == measured.samples  # of 40 rounds, those that were quiet
    assert measured.p20_s == pytest.approx(measured.time_s)


@pytest.mark.parametrize(("most_s", "groups"), [(0.5, 1), (1.5, 2), (10.0, 3)])
def test_disturbed_rounds_are_repeated_only_within_the_time_of_a_race(most_s: float, groups: int) -> None:
    class Slow(ToyBench):
        """Every group of rounds takes a second."""

        def time(self, keys: Sequence[str], rounds: int) -> Samples | Failure:
            self.raced.append((tuple(keys), rounds))
            return Samples(dict.fromkeys(keys, (0.001,) * rounds), (0.5,) * rounds)

    bench = Slow()
    found = Racer(bench, most_s, clock=lambda: float(len(bench.raced))).time_alone("a")

    assert isinstance(found, RaceTimes)
    assert [20] * groups == [rounds for _, rounds in bench.raced]
    assert 0.5 == found.waited


def test_on_a_disturbed_machine_no_trial_is_stopped_in_the_first_rounds() -> None:
    bench = ToyBench()
    bench.wait = 0.25
    _, events = run(bench=bench)
    samples = {e.samples for e in events if isinstance(e, TrialMeasured)}

    assert 3 not in samples


@pytest.mark.parametrize("code", ["tune.crash", "tune.hang", "tune.wrong", "tune.compile", "tune.memory"])
def test_a_failure_is_an_outcome_with_a_reason_and_the_search_goes_on(code: str) -> None:
    outcomes, events = run(bench=ToyBench({"4": code}))
    failed = [o for o in outcomes if isinstance(o, Infeasible)]
    told = [e for e in events if isinstance(e, TrialFailed)]

    assert {code} == {o.code for o in failed} == {e.reason.code for e in told}
    assert all(dict(o.parameters.sizes)["gx"] == 4 for o in failed)
    assert len(failed) == len(told) > 0
    assert 4 != dict(best_of(outcomes).kernel.parameters.sizes)["gx"]
    assert ("sound" if code == "tune.wrong" else "budget") == told[0].reason.soundness


def test_what_the_code_generator_refuses_never_reaches_the_bench() -> None:
    def refuse(*_: object) -> Choices:
        return (("behave", (REFUSED,)),)

    refusing = replace(BACKEND, choices=refuse)
    journal = Journal()
    bench = ToyBench()
    outcomes = list(
        tune(TuneRequest([fused()], SHAPES, TOY, journal, budget=Budget(trials=3), backend=refusing, bench=bench))
    )

    assert ["tune.illegal"] * 3 == [o.code for o in outcomes if isinstance(o, Infeasible)]
    assert [] == bench.raced
    assert not any(isinstance(e, KernelGenerated) for e in journal.events)


def test_other_sizes_with_the_same_source_are_one_trial() -> None:
    def emit(*given: object) -> Kernel | Infeasible:
        made = BACKEND.emit(*given)  # pyright: ignore
        return replace(made, source="always the same") if isinstance(made, Kernel) else made

    outcomes = list(
        tune(TuneRequest([fused()], SHAPES, TOY, Journal(), backend=replace(BACKEND, emit=emit), bench=ToyBench()))
    )

    assert 1 == len(outcomes)


# ---------------------------------------------------------------- when it ends
def test_the_budget_of_trials_is_kept() -> None:
    assert 7 == len(run(budget=replace(LONG, trials=7))[0])


def test_the_budget_of_seconds_is_kept() -> None:
    class Ticking(ToyBench):
        """Comparing a kernel takes a second, and nothing else takes any time."""

        def check(self, key: str, kernel: Kernel) -> CheckPassed | Failure:
            now[0] += 1.0
            return super().check(key, kernel)

    now = [0.0]
    outcomes, _ = run(bench=Ticking(), budget=replace(LONG, seconds=4.0), clock=lambda: now[0])

    assert 4 == len(outcomes)


def test_patience_ends_a_search_that_gets_nowhere() -> None:
    outcomes, events = run(budget=replace(LONG, patience=5, gain=0.0))
    improved = [int(e.trial[1:]) for e in events if isinstance(e, IncumbentImproved)]

    assert improved[-1] + 5 == len(outcomes)


def test_small_gains_count_when_they_add_up() -> None:
    def trials(gain: float) -> int:
        outcomes, _ = run(budget=replace(LONG, patience=5, gain=gain))
        return len(outcomes)

    assert trials(0.0) >= trials(0.02) >= trials(0.5)
    assert trials(0.999) == 1 + 5


def test_a_run_ends_near_the_lower_bound() -> None:
    floor_s = 1.0 / 1.01
    outcomes, _ = run(target=_with_floor(floor_s), budget=replace(LONG, near=0.03))
    everything, _ = run(target=_with_floor(floor_s))

    assert best_of(outcomes).time_s <= 1.03 * floor_s
    assert len(outcomes) < len(everything)


def ended_why(events: Sequence[Event]) -> str:
    (why,) = (e.why for e in events if isinstance(e, TuningEnded))
    return why


def test_a_run_ends_near_the_limit_that_is_measured_beside_its_kernel() -> None:
    bench = ToyBench(limit_s=1.0)
    outcomes, events = run(bench=bench, budget=replace(LONG, near=0.05))
    beside = [(keys, rounds) for keys, rounds in bench.raced if "computes" in keys]

    assert "limit" == ended_why(events)
    assert outcomes[-1] is best_of(outcomes)
    assert ("reads", "computes") == beside[-1][0][1:]  # the fastest reader
    improved = [e for e in events if isinstance(e, IncumbentImproved)]
    assert len(beside) <= 2 * len(improved)  # once for each incumbent


def test_an_incumbent_outside_of_the_range_does_not_end_a_run_by_its_nearness_to_the_limit() -> None:
    best = best_of(run()[0])
    assert 4 == dict(best.kernel.parameters.sizes)["gx"]
    bench = ToyBench(limit_s=1.0)
    within, _ = run(bench=bench, incumbent=best, ranges={"gx": (4, 8)}, budget=replace(LONG, near=0.05, trials=3))
    outside, _ = run(bench=bench, incumbent=best, ranges={"gx": (1, 2)}, budget=replace(LONG, near=0.05, trials=3))

    assert not within
    assert 3 == len(outside)


@pytest.mark.parametrize("limit_s", [0.5, 2.0, 0.0], ids=["far from it", "faster than it", "without one"])
def test_a_run_that_is_not_at_a_limit_goes_on(limit_s: float) -> None:
    outcomes, events = run(bench=ToyBench(limit_s=limit_s), budget=replace(LONG, near=0.05, patience=10))

    assert "patience" == ended_why(events)
    unlimited, _ = run(budget=replace(LONG, near=0.05, patience=10))
    assert [o.kernel.parameters for o in unlimited if isinstance(o, Timed)] == [
        o.kernel.parameters for o in outcomes if isinstance(o, Timed)
    ]


def test_a_limit_that_was_measured_beside_other_work_does_not_count() -> None:
    bench = ToyBench(limit_s=1.0)
    bench.wait = 1.0
    _, events = run(bench=bench, budget=replace(LONG, near=0.05, patience=10))

    assert "patience" == ended_why(events)


def test_somebody_may_stop_it() -> None:
    asked: list[None] = []

    def stop() -> bool:
        asked.append(None)
        return len(asked) > 3

    found = tune(TuneRequest([fused()], SHAPES, TOY, Journal(), backend=BACKEND, bench=ToyBench(), stop=stop))

    assert 2 == len(list(found))


def test_a_cancelled_trial_is_no_outcome() -> None:
    outcomes, events = run(bench=ToyBench({str(n): "tune.cancelled" for n in range(30)}))

    assert [] == outcomes
    assert not any(isinstance(e, TrialFailed) for e in events)


# ---------------------------------------------------------------- bounds
def test_a_candidate_whose_lower_bound_cannot_win_is_dropped_with_an_event() -> None:
    machine = _with_floor(0.5).replace(caches_bytes=(64,))  # the split form must write and read its middle
    _, events = run(split(), fused(), target=machine, bench=ToyBench(base_s=0.6))
    dropped = [e for e in events if isinstance(e, CandidateBounded)]
    later = [e.candidate for e in events[events.index(dropped[0]) :] if isinstance(e, ParametersProposed)]

    assert ["f3.c1"] == [e.candidate for e in dropped]
    assert dropped[0].floor_s >= dropped[0].best_s
    assert {"f1.c1"} == set(later)


def test_a_family_whose_lower_bound_cannot_win_leaves_the_halving() -> None:
    machine = _with_floor(0.5).replace(caches_bytes=(64,))
    _, events = run(
        split(), fused(), target=machine, bench=ToyBench(base_s=0.6), strategy=strategy_of("halving", 0),
        budget=replace(LONG, trials=20),
    )  # fmt: skip
    (dropped,) = (e for e in events if isinstance(e, CandidateBounded))
    later = {e.candidate for e in events[events.index(dropped) :] if isinstance(e, ParametersProposed)}

    assert "f3.c1" == dropped.candidate
    assert {"f1.c1"} == later


def test_a_kernel_below_its_lower_bound_disables_the_bounds() -> None:
    machine = _with_floor(2.0).replace(caches_bytes=(64,))
    outcomes, events = run(split(), fused(), target=machine, budget=replace(LONG, near=0.03))

    assert not any(isinstance(e, CandidateBounded) for e in events)
    assert {"f1.c1", "f3.c1"} == {o.kernel.verified.candidate.id for o in outcomes if isinstance(o, Timed)}
    assert best_of(outcomes).time_s < best_of(outcomes).floor_s


# ---------------------------------------------------------------- going on
def test_a_second_call_continues_and_repeats_nothing() -> None:
    journal = Journal()
    first, _ = run(journal=journal, budget=replace(LONG, trials=10))
    second, events = run(journal=journal, incumbent=best_of(first))
    proposed = [(e.candidate, e.parameters) for e in events if isinstance(e, ParametersProposed)]
    trials = [e.trial for e in events if isinstance(e, ParametersProposed)]

    assert len(set(proposed)) == len(proposed) == len(first) + len(second)
    assert [f"u{i + 1}" for i in range(len(trials))] == trials
    assert best_of(run()[0]).kernel.parameters == best_of([*first, *second]).kernel.parameters


def test_a_proposal_has_modelled_time_and_lower_bound_also_with_an_earlier_incumbent() -> None:
    candidate = fused().candidate
    first, before = run(budget=replace(LONG, trials=10))
    _, after = run(incumbent=best_of(first), seed=1)
    proposed = [e for e in (*before, *after) if isinstance(e, ParametersProposed)]
    model, floor = model_of(candidate, SHAPES, TOY), time_bound_of(candidate, SHAPES, TOY)
    sizes = [{k: v for k, v in e.parameters if k in candidate.sgraph.parameters} for e in proposed]

    assert {floor.time_s} == {e.floor_s for e in proposed}
    assert [model.estimate(s).time_s for s in sizes] == [e.modelled_s for e in proposed]


def test_an_incumbent_of_a_family_that_is_gone_is_not_raced() -> None:
    bench = ToyBench()
    first, _ = run(fused(), budget=replace(LONG, trials=3))
    run(split(), bench=bench, budget=replace(LONG, trials=2), incumbent=best_of(first))

    assert ("u1",) == bench.raced[0][0]


def test_without_candidates_there_is_nothing_to_do() -> None:
    assert [] == list(tune(TuneRequest([], SHAPES, TOY, Journal())))


def test_a_gpu_is_not_timed_here() -> None:
    with pytest.raises(TargetUnavailable, match="kernels for h100 cannot be timed: "):
        next(tune(TuneRequest([fused()], SHAPES, GPUS["h100"], Journal())))


# ---------------------------------------------------------------- for real
def test_with_a_worker_the_events_are_the_same() -> None:
    journal = Journal()
    outcomes = list(
        tune(TuneRequest([fused()], SHAPES, TOY, journal, budget=Budget(trials=3, near=-1.0), backend=BACKEND))
    )

    assert 3 == len([o for o in outcomes if isinstance(o, Timed)])
    assert all(0 < o.error < 1e-5 for o in outcomes if isinstance(o, Timed))


def _with_floor(floor_s: float) -> Target:
    """A machine on which the fused toy takes at least so long, bound by memory."""
    traffic = 4 * (4 * 16 + 16 + 16 * 24)
    return TOY.replace(dram_bytes_per_s=traffic / floor_s, peak_flops_per_s=1e15)
