"""How much of every certificate is replayed, and how long it takes.

    python benchmarks/certificates.py [NAME ..]

For each right candidate of the tests' corpus and workloads: lemmas that egglog replayed from axioms alone and the
checker accepted, of all; the steps of its derivations; seconds of this process and of the wall. Without a
name, all of them; with names, those whose name contains one of them.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from prism_explore.events.journal import Journal  # noqa: E402
from prism_explore.ir.program import TensorProgram  # noqa: E402
from prism_explore.ir.sgraph import SGraph  # noqa: E402
from prism_explore.ir.stages import Proof, Verified  # noqa: E402
from prism_explore.verify.certificate import certify  # noqa: E402
from prism_explore.verify.naming import Stuck  # noqa: E402
from tests.verify.corpus import CASES, PROGRAMS, candidate  # noqa: E402
from tests.verify.workloads import RIGHT, program_of, sgraph_of  # noqa: E402


def graphs() -> Iterator[tuple[str, TensorProgram, SGraph]]:
    """Every right candidate with its program."""
    for case in CASES:
        if case.right:
            yield f"corpus-{case.name}", PROGRAMS[case.program], case.sgraph
    for entry in RIGHT:
        yield entry.name, program_of(entry.workload), sgraph_of(entry)


def main(names: list[str]) -> None:
    """Print one line per candidate and one for all."""
    lemmas = replayed = 0
    seconds: list[float] = []
    for name, program, sgraph in graphs():
        if names and not any(n in name for n in names):
            continue
        verified = Verified(candidate(program, sgraph), Proof("normal form", "", ()), ())
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            found = certify(verified, Journal()).proof.lemmas
        except Stuck as stuck:
            print(f"{name:55} has no normal form: {stuck.limit}")
            continue
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        done = sum(x.replayed for x in found)
        steps = sum(x.statement.count("\n  (step") for x in found)
        lemmas, replayed = lemmas + len(found), replayed + done
        seconds.append(cpu)
        print(f"{name:55} {done:3} of {len(found):3} lemmas, {steps:5} steps, {cpu:5.2f} s here, {wall:5.2f} s wall")
        for x in found:
            if not x.replayed:
                print(f"    {x.tensor} = {x.operation}: {x.note}")
    print(f"{replayed} of {lemmas} lemmas replayed; {len(seconds)} certificates, the longest {max(seconds):.2f} s here")


if __name__ == "__main__":
    main(sys.argv[1:])
