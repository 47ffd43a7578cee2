"""How long a verdict takes, in CPU time: normal forms cold and warm, the refuter, and both over mutants.

python benchmarks/verify_time.py [--mutants 3000]
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path
from statistics import mean, median, quantiles
from time import process_time

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from prism_explore.events.journal import Journal
from prism_explore.ir.program import TensorProgram
from prism_explore.verify.algebra import Algebra, Stuck
from prism_explore.verify.decide import Prover
from prism_explore.verify.lowering import lower
from prism_explore.verify.refute import Refuter
from tests.verify.corpus import CASES, PROGRAMS, candidate
from tests.verify.mutate import mutants, smaller


def milliseconds(run: object, repeat: int = 20) -> float:
    assert callable(run)
    run()
    times: list[float] = []
    for _ in range(repeat):
        began = process_time()
        run()
        times.append((process_time() - began) * 1e3)
    return median(times)


def corpus() -> None:
    print(f"{'candidate':48} {'steps':>6} {'cold':>8} {'warm':>8} {'refuter':>8}   ms")
    for case in CASES:
        if not case.right:
            continue
        program = PROGRAMS[case.program]
        algebra, refuter = Algebra(), Refuter(program)
        lower(program.graph, algebra)
        algebra.restart()
        lower(case.sgraph, algebra)
        steps = algebra.steps

        def cold(case=case, program=program) -> None:
            fresh = Algebra()
            lower(program.graph, fresh)
            lower(case.sgraph, fresh)

        def warm(case=case, algebra=algebra) -> None:
            algebra.restart()
            lower(case.sgraph, algebra)

        tried = milliseconds(lambda case=case, refuter=refuter: refuter.attempt(case.sgraph, 0))
        print(f"{case.name:48} {steps:6} {milliseconds(cold):8.2f} {milliseconds(warm):8.2f} {tried:8.2f}")


def search_like(count: int) -> None:
    r = random.Random(5)
    programs = {name: TensorProgram(name, smaller(p.graph)) for name, p in PROGRAMS.items()}
    provers = {name: Prover(p, saturation=None) for name, p in programs.items()}
    algebras = {name: Algebra() for name in programs}
    bases = [(c.program, smaller(c.sgraph)) for c in CASES]
    forms: list[float] = []
    verdicts: list[float] = []
    words: Counter[str] = Counter()
    while len(verdicts) < count:
        name, base = r.choice(bases)
        graph = mutants(base, programs[name], r)
        if graph is None:
            continue
        algebras[name].restart()
        began = process_time()
        with suppress(Stuck):
            lower(graph, algebras[name])
        forms.append((process_time() - began) * 1e3)
        c = candidate(programs[name], graph)
        began = process_time()
        words[type(provers[name].verify(c, Journal())).__name__] += 1
        verdicts.append((process_time() - began) * 1e3)
    for what, times in (("normal form", forms), ("verdict", verdicts)):
        p95 = quantiles(times, n=20)[-1]
        print(
            f"{what:12} median {median(times):6.2f}  mean {mean(times):6.2f}  p95 {p95:6.2f}  max {max(times):7.1f} ms"
        )
    print(dict(words))


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--mutants", type=int, default=3000)
    corpus()
    search_like(arguments.parse_args().mutants)
