"""How long a verdict takes, in CPU time on one core, with the program's own form at hand.

python benchmarks/verify_time.py [searches] [corpus] [mutants] [--of NAME ..] [--mutants 3000] [--checks 0]

`searches`: every verdict inside default searches of all workloads, as the search meets them, parts of kernels in a
row included. `corpus`: every candidate that people wrote, each also as seen again; then a transformer block.
`mutants`: mutants of those, as a search might meet them. All three where none is named; with `--checks`, memory over
so many verdicts.

What the imports left behind, torch's among them, is set aside (`gc.freeze`): a full pass of the collector over it takes
0.2 to 0.3 s, whenever it comes.
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
from prism_explore.verify import prover
from prism_explore.verify.certificate.saturation import LIMITS
from prism_explore.verify.counterexample.refuter import Refuter
from prism_explore.verify.normal_form import cut_points
from prism_explore.verify.prover import Prover
from tests.verify.corpus import candidate
from tests.verify.mutate import mutants
from tests.verify.workloads import ENTRIES, program_of, sgraph_of

SLOW_MS = 300.0
"""What takes longer must have ended unknown."""
BLOCK = "transformer_block"


def cpu() -> float:
    """CPU seconds of this process and of those it has waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return process_time() + children.ru_utime + children.ru_stime


def timed(prover: Prover, program: TensorProgram, graph: SGraph) -> tuple[float, Verdict]:
    """A verdict, and its milliseconds."""
    asked = candidate(program, graph)
    began = cpu()
    verdict = prover.verify(asked, Journal())
    return (cpu() - began) * 1e3, verdict


def said(verdict: Verdict) -> str:
    """In one word or two, how it was decided."""
    match verdict:
        case Verified():
            return f"proved by {verdict.proof.method}"
        case Refuted():
            return "refuted"
        case Unknown():
            return "unknown"


def figures(what: str, times: Sequence[float]) -> None:
    """How long some verdicts took."""
    ordered = sorted(times)

    def at(share: float) -> float:
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    print(
        f"{what}: {len(times)} verdicts, median {median(times):.2f} ms, mean {mean(times):.2f}, 95 % {at(0.95):.1f}, "
        f"99 % {at(0.99):.1f}, longest {ordered[-1]:.0f}"
    )


def report(what: str, times: Sequence[float], words: Sequence[str]) -> None:
    """How long some verdicts took, and what they were."""
    figures(what, times)
    counts = Counter(words).most_common()
    print("  " + ", ".join(f"{word} {n} ({n / len(times):.1%})" for word, n in counts))
    late = [word for time, word in zip(times, words, strict=True) if time > SLOW_MS and word != "unknown"]
    print(f"  over {SLOW_MS:.0f} ms without being unknown: {len(late)}")


@dataclass(frozen=True, slots=True)
class Clocked:
    """A verdict of a search."""

    time: float
    """Milliseconds, those of the trials and of the collector included."""
    trials: float
    """Milliseconds of the refuter's trials."""
    collected: float
    """Milliseconds of the garbage collector, which comes when it comes."""
    word: str
    workload: str
    candidate: str


@dataclass(slots=True)
class Clocks:
    """Verdicts of searches with their milliseconds, and where these went."""

    of: list[Clocked] = field(default_factory=list["Clocked"])
    spent: defaultdict[str, float] = field(default_factory=lambda: defaultdict[str, float](float))
    """Milliseconds per kind of work, what is within another of it not counted."""
    within: str = ""
    workload: str = ""
    collected: float = 0.0
    """Milliseconds of the garbage collector in the verdict that is under way."""
    _began: float = 0.0

    def collector(self, phase: str, info: Mapping[str, int]) -> None:
        """What `gc.callbacks` calls."""
        if phase == "start":
            self._began = cpu()
        elif self.within:
            self.collected += (cpu() - self._began) * 1e3

    def around(self, kind: str, what: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, its time counted where it is called by a verdict and by no other kind of work."""

        def counted(*args: Any, **kwargs: Any) -> Any:
            if self.within != "verdict":
                return what(*args, **kwargs)
            self.within, began = kind, cpu()
            try:
                return what(*args, **kwargs)
            finally:
                self.within = "verdict"
                self.spent[kind] += (cpu() - began) * 1e3

        return counted

    def around_verdicts(self, verify: Callable[..., Verdict]) -> Callable[..., Verdict]:
        """`Prover.verify`, timed."""

        def timed_verify(prover: Prover, candidate: Candidate, journal: Journal, seed: int = 0) -> Verdict:
            self.within, self.collected, trials, began = "verdict", 0.0, self.spent["trials"], cpu()
            try:
                verdict = verify(prover, candidate, journal, seed)
            finally:
                self.within = ""
            time = (cpu() - began) * 1e3
            self.spent["verdicts"] += time
            trials = self.spent["trials"] - trials
            self.of.append(Clocked(time, trials, self.collected, said(verdict), self.workload, candidate.id))
            return verdict

        return timed_verify


def searches(names: Sequence[str]) -> None:
    """Default searches without tuning, in one process, the collector kept from what earlier ones left behind."""
    clocks = Clocks()
    with ExitStack() as stack:
        stack.enter_context(patch.object(Prover, "verify", clocks.around_verdicts(Prover.verify)))
        for method in ("attempt", "attempt_exact", "attempt_at_given_sizes"):
            stack.enter_context(patch.object(Refuter, method, clocks.around("trials", getattr(Refuter, method))))
        for module in (prover, cut_points):
            stack.enter_context(patch.object(module, "lower", clocks.around("forms", module.lower)))
        gc.callbacks.append(clocks.collector)
        stack.callback(gc.callbacks.remove, clocks.collector)
        for workload in px.WORKLOADS:
            if names and not any(name in workload.name for name in names):
                continue
            clocks.workload, before = workload.name, len(clocks.of)
            session = px.Session(workload.code, name=workload.name, inputs=workload.inputs, at=workload.at)
            set_aside()
            for _ in explore(session.task, Journal(), Steering, Progress(), stop=lambda: True):
                pass
            if times := [each.time for each in clocks.of[before:]]:
                print(
                    f"  {workload.name}: {len(times)} verdicts, median {median(times):.2f} ms, "
                    f"mean {mean(times):.2f}, longest {max(times):.1f}",
                    flush=True,
                )
    report("inside searches", [each.time for each in clocks.of], [each.word for each in clocks.of])
    figures("  without the refuter's trials", [each.time - each.trials for each in clocks.of])
    worst = max(clocks.of, key=lambda each: each.time)
    print(
        f"  longest: {worst.time:.0f} ms, {worst.candidate} of {worst.workload}, {worst.word}; "
        f"the collector had {worst.collected:.0f} of them"
    )
    late = sum(each.time - each.collected > SLOW_MS and each.word != "unknown" for each in clocks.of)
    print(f"  over {SLOW_MS:.0f} ms without the collector and without being unknown: {late}")
    whole = clocks.spent.pop("verdicts")
    shares = clocks.spent | {"rest": whole - sum(clocks.spent.values())}
    parts = ", ".join(f"{kind} {spent / whole:.0%}" for kind, spent in shares.items())
    collected = sum(each.collected for each in clocks.of) / whole
    print(f"  {whole / 1e3:.1f} CPU s: {parts}; the collector, in all of these: {collected:.0%}", flush=True)


def set_aside() -> None:
    """Keep the collector from what is there now."""
    gc.collect()
    gc.freeze()


def workloads(provers: dict[str, Prover]) -> None:
    """Every candidate that people wrote, met for the first time and met again."""
    first: list[tuple[float, Verdict]] = []
    again: list[tuple[float, Verdict]] = []
    block: list[tuple[float, float, Verdict, str]] = []
    for entry in ENTRIES:
        program, graph = program_of(entry.workload), sgraph_of(entry)
        if entry.workload not in provers:
            provers[entry.workload] = Prover(program, saturation=provers_limits)
        if entry.workload == BLOCK:
            set_aside()  # of what came before
        time, verdict = timed(provers[entry.workload], program, graph)
        if entry.workload == BLOCK:
            block.append((time, timed(provers[BLOCK], program, graph)[0], verdict, entry.form))
            continue
        first.append((time, verdict))
        again.append(timed(provers[entry.workload], program, graph))
    report("candidates met for the first time", [t for t, _ in first], [said(v) for _, v in first])
    report("candidates met again", [t for t, _ in again], [said(v) for _, v in again])
    for time, time_again, verdict, form in block:
        print(f"transformer block, {form}: {time:.0f} ms, met again {time_again:.0f}, {said(verdict)}")


def mutants_of(name: str, count: int, r: random.Random) -> Iterator[tuple[Prover, SGraph]]:
    """Mutants of a workload's candidates, with one prover, as a search meets them."""
    prover = Prover(program_of(name), saturation=provers_limits)
    bases = [sgraph_of(e) for e in ENTRIES if e.workload == name]
    while count:
        graph = mutants(r.choice(bases), prover.program, r)
        if graph is not None:
            count -= 1
            yield prover, graph


def search_like(count: int) -> None:
    """Mutants of all candidates, one workload after the other."""
    r = random.Random(5)
    times: list[float] = []
    words: list[str] = []
    names = sorted({e.workload for e in ENTRIES} - {BLOCK})
    for name in names:
        for judge, graph in mutants_of(name, max(1, count // len(names)), r):
            time, verdict = timed(judge, judge.program, graph)
            times.append(time)
            words.append(said(verdict))
    report("mutants", times, words)


def memory(count: int, name: str = "attention") -> None:
    """Verdicts of one prover, again and again, and what the process holds meanwhile."""
    every = max(1, count // 10)
    spent = 0.0
    for n, (judge, graph) in enumerate(mutants_of(name, count, random.Random(7)), 1):
        spent += timed(judge, judge.program, graph)[0]
        if n % every == 0:
            resident = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() >> 20
            print(
                f"  after {n:7,} verdicts on {name}: {resident} MiB resident, mean {spent / every:.2f} ms", flush=True
            )
            spent = 0.0


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("sections", nargs="*", choices=("searches", "corpus", "mutants", []), help="all where none")
    arguments.add_argument("--of", nargs="+", default=(), help="parts of names: searches of these workloads alone")
    arguments.add_argument("--mutants", type=int, default=3000)
    arguments.add_argument("--checks", type=int, default=0, help="verdicts over which memory is watched")
    arguments.add_argument(
        "--saturation", action="store_true", help="with the e-graph as the last resort; searches always have it"
    )
    given = arguments.parse_args()
    sections = given.sections or ("searches", "corpus", "mutants")
    provers_limits = LIMITS if given.saturation else None
    if "searches" in sections:
        searches(given.of)
    for entry in ENTRIES:
        program_of(entry.workload)
        sgraph_of(entry)
    if "corpus" in sections:
        set_aside()
        workloads({})
    if "mutants" in sections:
        set_aside()
        search_like(given.mutants)
    if given.checks:
        set_aside()
        memory(given.checks)
