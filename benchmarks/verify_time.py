"""How long a verdict takes, in CPU time on one core, with the program's own form at hand.

python benchmarks/verify_time.py [--mutants 3000] [--checks 0] [--saturation]

Every candidate of every workload first, each also as seen again; then a transformer block; then mutants of the
candidates, as a search would meet them; with `--checks`, memory over so many verdicts.

What the imports left behind, torch's among them, is set aside (`gc.freeze`): a full pass of the collector over it takes
0.2 to 0.3 s, whenever it comes.
"""

from __future__ import annotations

import argparse
import gc
import random
import resource
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean, median
from time import process_time

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from prism_explore.events.journal import Journal
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.sgraph import SGraph
from prism_explore.ir.stages import Refuted, Unknown, Verdict, Verified
from prism_explore.verify.decide import Prover
from prism_explore.verify.saturate import LIMITS
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


def report(what: str, times: Sequence[float], verdicts: Sequence[Verdict]) -> None:
    """The figures of some verdicts."""
    ordered = sorted(times)

    def at(share: float) -> float:
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    print(
        f"{what}: {len(times)} verdicts, median {median(times):.2f} ms, mean {mean(times):.2f}, 95 % {at(0.95):.1f}, "
        f"99 % {at(0.99):.1f}, longest {ordered[-1]:.0f}"
    )
    words = Counter(map(said, verdicts))
    print("  " + ", ".join(f"{word} {n} ({n / len(times):.1%})" for word, n in words.most_common()))
    late = [v for t, v in zip(times, verdicts, strict=True) if t > SLOW_MS and not isinstance(v, Unknown)]
    print(f"  over {SLOW_MS:.0f} ms without being unknown: {len(late)}")


def set_aside() -> None:
    """Load every program, and keep the collector from what is there now."""
    for entry in ENTRIES:
        program_of(entry.workload)
        sgraph_of(entry)
    gc.collect()
    gc.freeze()


def workloads(provers: dict[str, Prover]) -> None:
    """Every candidate that people wrote, met for the first time and met again."""
    first: list[tuple[float, Verdict]] = []
    again: list[tuple[float, Verdict]] = []
    block: list[tuple[float, Verdict, str]] = []
    for entry in ENTRIES:
        program, graph = program_of(entry.workload), sgraph_of(entry)
        if entry.workload not in provers:
            provers[entry.workload] = Prover(program, saturation=provers_limits)
        time, verdict = timed(provers[entry.workload], program, graph)
        if entry.workload == BLOCK:
            block.append((time, verdict, entry.form))
            continue
        first.append((time, verdict))
        again.append(timed(provers[entry.workload], program, graph))
    report("candidates met for the first time", [t for t, _ in first], [v for _, v in first])
    report("candidates met again", [t for t, _ in again], [v for _, v in again])
    for time, verdict, form in block:
        print(f"transformer block, {form}: {time:.0f} ms, {said(verdict)}")


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
    verdicts: list[Verdict] = []
    names = sorted({e.workload for e in ENTRIES} - {BLOCK})
    for name in names:
        for prover, graph in mutants_of(name, max(1, count // len(names)), r):
            time, verdict = timed(prover, prover.program, graph)
            times.append(time)
            verdicts.append(verdict)
    report("mutants", times, verdicts)


def memory(count: int, name: str = "attention") -> None:
    """Verdicts of one prover, again and again, and what the process holds meanwhile."""
    every = max(1, count // 10)
    spent = 0.0
    for n, (prover, graph) in enumerate(mutants_of(name, count, random.Random(7)), 1):
        spent += timed(prover, prover.program, graph)[0]
        if n % every == 0:
            resident = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() >> 20
            print(
                f"  after {n:7,} verdicts on {name}: {resident} MiB resident, mean {spent / every:.2f} ms", flush=True
            )
            spent = 0.0


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--mutants", type=int, default=3000)
    arguments.add_argument("--checks", type=int, default=0, help="verdicts over which memory is watched")
    arguments.add_argument("--saturation", action="store_true", help="with the e-graph as the last resort")
    given = arguments.parse_args()
    provers_limits = LIMITS if given.saturation else None
    set_aside()
    workloads({})
    set_aside()
    search_like(given.mutants)
    if given.checks:
        memory(given.checks)
