"""Verification time: CPU time of a verdict on one core, where the normal form of the program is already known.

    .venv/bin/python benchmarks/verify_time.py
    .venv/bin/python benchmarks/verify_time.py searches --of attention
    .venv/bin/python benchmarks/verify_time.py mutants --mutants 44 --checks 100000

There are three sections; by default all are run:

    searches  every verdict inside default searches of all workloads, in the order of the search, with the verdicts on
              parts of candidates that have several kernels
    corpus    every handwritten candidate, verified once and then again; then a transformer block
    mutants   mutants of the handwritten candidates, one workload after the other

With `--checks`, the memory of the process is printed over this number of verdicts.

The objects of the imports, torch's among them, are excluded from garbage collection (`gc.freeze`): a full collection
over them takes 0.2 to 0.3 s at an arbitrary time.
"""

from __future__ import annotations

import argparse
import gc
import random
import resource
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, median
from time import process_time
from typing import Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import prism_explore as px
from prism_explore.events.journal import Journal
from prism_explore.events.ledger import Steering
from prism_explore.ir.graph import SGraph
from prism_explore.ir.program import TensorProgram
from prism_explore.pipeline.stages import Candidate, Refuted, Unknown, Verdict, Verified
from prism_explore.search.explore import Progress, explore
from prism_explore.verify import prover as prover_module
from prism_explore.verify.certificate.saturation import LIMITS
from prism_explore.verify.counterexample.refuter import Refuter
from prism_explore.verify.egraph.limits import Limits
from prism_explore.verify.normal_form import cut_points
from prism_explore.verify.prover import Prover
from tests.verify.corpus import candidate
from tests.verify.mutate import mutants
from tests.verify.workloads import ENTRIES, program_of, sgraph_of

SLOW_MS = 300.0
"""Only a verdict that is unknown may take longer."""
BLOCK = "transformer_block"


def cpu_s() -> float:
    """CPU time of this process and of the child processes that ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return process_time() + children.ru_utime + children.ru_stime


def timed_verdict(prover: Prover, program: TensorProgram, graph: SGraph) -> tuple[float, Verdict]:
    """Verify a graph; return the CPU milliseconds and the verdict."""
    to_verify = candidate(program, graph)
    start_s = cpu_s()
    verdict = prover.verify(to_verify, Journal())
    return (cpu_s() - start_s) * 1e3, verdict


def outcome_of(verdict: Verdict) -> str:
    """The verdict in a few words."""
    match verdict:
        case Verified():
            return f"proved by {verdict.proof.method}"
        case Refuted():
            return "refuted"
        case Unknown():
            return "unknown"


def print_times(what: str, times_ms: Sequence[float]) -> None:
    """Print statistics of the times of some verdicts."""
    ordered = sorted(times_ms)

    def quantile(share: float) -> float:
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    print(
        f"{what}: {len(times_ms)} verdicts, median {median(times_ms):.2f} ms, mean {mean(times_ms):.2f}, "
        f"95 % {quantile(0.95):.1f}, 99 % {quantile(0.99):.1f}, longest {ordered[-1]:.0f}"
    )


def print_report(what: str, times_ms: Sequence[float], outcomes: Sequence[str]) -> None:
    """Print statistics of the times of some verdicts, and the count of each outcome."""
    print_times(what, times_ms)
    counts = Counter(outcomes).most_common()
    print("  " + ", ".join(f"{outcome} {n} ({n / len(times_ms):.1%})" for outcome, n in counts))
    slow = [o for time_ms, o in zip(times_ms, outcomes, strict=True) if time_ms > SLOW_MS and o != "unknown"]
    print(f"  over {SLOW_MS:.0f} ms and not unknown: {len(slow)}")


@dataclass(frozen=True, slots=True)
class TimedVerdict:
    """The times of a verdict inside a search."""

    total_ms: float
    """With the trials and with garbage collection."""
    trials_ms: float
    """The random trials of the refuter."""
    collection_ms: float
    """Garbage collections that happened during the verdict."""
    outcome: str
    workload: str
    candidate: str


@dataclass(slots=True)
class VerdictTimer:
    """Times the verdicts of searches, and the kinds of work inside them."""

    verdicts: list[TimedVerdict] = field(default_factory=list["TimedVerdict"])
    work_ms: defaultdict[str, float] = field(default_factory=lambda: defaultdict[str, float](float))
    """Per kind of work; work nested in another kind counts for the outer kind."""
    current: str = ""
    """The kind of work that runs now; empty outside a verdict."""
    workload: str = ""
    collection_ms: float = 0.0
    """Garbage collections during the current verdict."""
    _collection_start_s: float = 0.0

    def on_collection(self, phase: str, info: Mapping[str, int]) -> None:
        """Time a garbage collection; called by `gc.callbacks`."""
        if phase == "start":
            self._collection_start_s = cpu_s()
        elif self.current:
            self.collection_ms += (cpu_s() - self._collection_start_s) * 1e3

    def time_work(self, kind: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a function: its time counts as `kind` when a verdict calls it outside other kinds of work."""

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if self.current != "verdict":
                return function(*args, **kwargs)
            self.current, start_s = kind, cpu_s()
            try:
                return function(*args, **kwargs)
            finally:
                self.current = "verdict"
                self.work_ms[kind] += (cpu_s() - start_s) * 1e3

        return wrapper

    def time_verdicts(self, verify: Callable[..., Verdict]) -> Callable[..., Verdict]:
        """Wrap `Prover.verify`: every verdict is timed."""

        def timed_verify(prover: Prover, candidate: Candidate, journal: Journal, seed: int = 0) -> Verdict:
            self.current, self.collection_ms = "verdict", 0.0
            trials_before_ms, start_s = self.work_ms["trials"], cpu_s()
            try:
                verdict = verify(prover, candidate, journal, seed)
            finally:
                self.current = ""
            total_ms = (cpu_s() - start_s) * 1e3
            self.work_ms["verdicts"] += total_ms
            trials_ms = self.work_ms["trials"] - trials_before_ms
            outcome = outcome_of(verdict)
            self.verdicts.append(
                TimedVerdict(total_ms, trials_ms, self.collection_ms, outcome, self.workload, candidate.id)
            )
            return verdict

        return timed_verify


def measure_searches(names: Sequence[str]) -> None:
    """Time the verdicts of default searches without tuning, in one process.

    Objects of earlier searches are excluded from garbage collection.
    """
    timer = VerdictTimer()
    with ExitStack() as stack:
        stack.enter_context(patch.object(Prover, "verify", timer.time_verdicts(Prover.verify)))
        for method in ("attempt", "attempt_exact", "attempt_at_given_sizes"):
            stack.enter_context(patch.object(Refuter, method, timer.time_work("trials", getattr(Refuter, method))))
        for module in (prover_module, cut_points):
            stack.enter_context(patch.object(module, "lower", timer.time_work("forms", module.lower)))
        gc.callbacks.append(timer.on_collection)
        stack.callback(gc.callbacks.remove, timer.on_collection)
        for workload in px.WORKLOADS:
            if names and not any(name in workload.name for name in names):
                continue
            timer.workload, before = workload.name, len(timer.verdicts)
            session = px.Session(workload.code, name=workload.name, inputs=workload.inputs, at=workload.at)
            freeze_objects()
            for _ in explore(session.task, Journal(), Steering, Progress(), stop=lambda: True):
                pass
            if times := [each.total_ms for each in timer.verdicts[before:]]:
                print(
                    f"  {workload.name}: {len(times)} verdicts, median {median(times):.2f} ms, "
                    f"mean {mean(times):.2f}, longest {max(times):.1f}",
                    flush=True,
                )
    verdicts = timer.verdicts
    print_report("inside searches", [v.total_ms for v in verdicts], [v.outcome for v in verdicts])
    print_times("  without the refuter's trials", [v.total_ms - v.trials_ms for v in verdicts])
    slowest = max(verdicts, key=lambda v: v.total_ms)
    print(
        f"  longest: {slowest.total_ms:.0f} ms, {slowest.candidate} of {slowest.workload}, {slowest.outcome}; "
        f"{slowest.collection_ms:.0f} ms of it garbage collection"
    )
    slow = sum(v.total_ms - v.collection_ms > SLOW_MS and v.outcome != "unknown" for v in verdicts)
    print(f"  over {SLOW_MS:.0f} ms without garbage collection, and not unknown: {slow}")
    total_ms = timer.work_ms.pop("verdicts")
    work_ms = timer.work_ms | {"rest": total_ms - sum(timer.work_ms.values())}
    shares = ", ".join(f"{kind} {spent_ms / total_ms:.0%}" for kind, spent_ms in work_ms.items())
    collection_share = sum(v.collection_ms for v in verdicts) / total_ms
    print(
        f"  {total_ms / 1e3:.1f} CPU s: {shares}; garbage collection, in all of these: {collection_share:.0%}",
        flush=True,
    )


def freeze_objects() -> None:
    """Exclude the current objects from garbage collection."""
    gc.collect()
    gc.freeze()


def measure_corpus(saturation: Limits | None) -> None:
    """Time the verdict on every handwritten candidate: the first verdict and a second one."""
    provers: dict[str, Prover] = {}
    first: list[tuple[float, Verdict]] = []
    again: list[tuple[float, Verdict]] = []
    block: list[tuple[float, float, Verdict, str]] = []
    for entry in ENTRIES:
        program, graph = program_of(entry.workload), sgraph_of(entry)
        if entry.workload not in provers:
            provers[entry.workload] = Prover(program, saturation=saturation)
        if entry.workload == BLOCK:
            freeze_objects()
        time, verdict = timed_verdict(provers[entry.workload], program, graph)
        if entry.workload == BLOCK:
            block.append((time, timed_verdict(provers[BLOCK], program, graph)[0], verdict, entry.form))
            continue
        first.append((time, verdict))
        again.append(timed_verdict(provers[entry.workload], program, graph))
    print_report("candidates, first verdict", [t for t, _ in first], [outcome_of(v) for _, v in first])
    print_report("candidates, second verdict", [t for t, _ in again], [outcome_of(v) for _, v in again])
    for time, time_again, verdict, form in block:
        print(f"transformer block, {form}: {time:.0f} ms, second verdict {time_again:.0f} ms, {outcome_of(verdict)}")


def mutants_of(name: str, count: int, r: random.Random, saturation: Limits | None) -> Iterator[tuple[Prover, SGraph]]:
    """Mutants of the candidates of a workload, with one prover for all of them, as in a search."""
    prover = Prover(program_of(name), saturation=saturation)
    bases = [sgraph_of(e) for e in ENTRIES if e.workload == name]
    while count:
        graph = mutants(r.choice(bases), prover.program, r)
        if graph is not None:
            count -= 1
            yield prover, graph


def measure_mutants(count: int, saturation: Limits | None) -> None:
    """Time the verdicts on mutants of all candidates, one workload after the other."""
    r = random.Random(5)
    times: list[float] = []
    outcomes: list[str] = []
    names = sorted({e.workload for e in ENTRIES} - {BLOCK})
    for name in names:
        for prover, graph in mutants_of(name, max(1, count // len(names)), r, saturation):
            time, verdict = timed_verdict(prover, prover.program, graph)
            times.append(time)
            outcomes.append(outcome_of(verdict))
    print_report("mutants", times, outcomes)


def measure_memory(count: int, saturation: Limits | None, name: str = "attention") -> None:
    """Print the resident memory during `count` verdicts of one prover."""
    every = max(1, count // 10)
    spent_ms = 0.0
    for n, (prover, graph) in enumerate(mutants_of(name, count, random.Random(7), saturation), 1):
        spent_ms += timed_verdict(prover, prover.program, graph)[0]
        if n % every == 0:
            resident_mib = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() >> 20
            print(
                f"  after {n:7,} verdicts on {name}: {resident_mib} MiB resident, mean {spent_ms / every:.2f} ms",
                flush=True,
            )
            spent_ms = 0.0


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="CPU time of verdicts.")
    parser.add_argument(
        "sections", nargs="*", choices=("searches", "corpus", "mutants", []), help="sections to run; default: all"
    )
    parser.add_argument("--of", nargs="+", default=(), help="parts of names of the workloads to search; default: all")
    parser.add_argument("--mutants", type=int, default=3000, help="number of mutants")
    parser.add_argument("--checks", type=int, default=0, help="number of verdicts over which memory is printed")
    parser.add_argument(
        "--saturation", action="store_true", help="use equality saturation as the last stage; searches always do"
    )
    args = parser.parse_args(argv)
    sections = args.sections or ("searches", "corpus", "mutants")
    saturation = LIMITS if args.saturation else None
    if "searches" in sections:
        measure_searches(args.of)
    for entry in ENTRIES:
        program_of(entry.workload)
        sgraph_of(entry)
    if "corpus" in sections:
        freeze_objects()
        measure_corpus(saturation)
    if "mutants" in sections:
        freeze_objects()
        measure_mutants(args.mutants, saturation)
    if args.checks:
        freeze_objects()
        measure_memory(args.checks, saturation)


if __name__ == "__main__":
    main(sys.argv[1:])
