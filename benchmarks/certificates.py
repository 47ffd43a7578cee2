"""Certificates: how many lemmas are replayed, and how long that takes.

    .venv/bin/python benchmarks/certificates.py
    .venv/bin/python benchmarks/certificates.py --found --every swiglu lora

Per certificate: the number of lemmas that egglog replayed from the axioms and that the checker accepted, the number of
steps of the derivations, CPU seconds of this process, and wall seconds.

By default the right candidates of the test corpus and of the test workloads are certified. With `--found` it certifies
what default searches of the workloads prove: one candidate per family, because the others differ only in their maps, or
all candidates with `--every`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import prism_explore as px  # noqa: E402
from prism_explore.events.journal import Journal  # noqa: E402
from prism_explore.pipeline.stages import Candidate, Proof, Verified  # noqa: E402
from prism_explore.search.explore import Progress, Steering, explore  # noqa: E402
from prism_explore.verify.certificate.certify import certify  # noqa: E402
from prism_explore.verify.normal_form.bound_names import NoNormalForm  # noqa: E402
from tests.verify.corpus import CASES, PROGRAMS, candidate  # noqa: E402
from tests.verify.workloads import RIGHT, program_of, sgraph_of  # noqa: E402


def corpus_candidates() -> Iterator[tuple[str, Verified]]:
    """Every right candidate of the tests, as if it were proved."""
    for case in CASES:
        if case.right:
            yield f"corpus-{case.name}", _as_verified(candidate(PROGRAMS[case.program], case.sgraph))
    for entry in RIGHT:
        yield entry.name, _as_verified(candidate(program_of(entry.workload), sgraph_of(entry)))


def _as_verified(found: Candidate) -> Verified:
    return Verified(found, Proof("normal form", "", ()), ())


def proved_candidates(workloads: Sequence[str], every: bool) -> Iterator[tuple[str, Verified]]:
    """The candidates that default searches prove. The target is a GPU, because then nothing is tuned."""
    for name in workloads or [w.name for w in px.WORKLOADS]:
        workload, progress = px.workload(name), Progress()
        session = px.Session(workload.code, name=name, inputs=workload.inputs, at=workload.at, target="h100")
        for _ in explore(session.task, Journal(), Steering, progress):
            pass
        families = {v.candidate.family.id: v for v in reversed(progress.proved)}
        chosen = progress.proved if every else list(families.values())[::-1]
        counts = f"{len(families)} families, {len(progress.proved)} candidates proved"
        print(f"{name}: {counts}, {len(progress.families)} families found; {len(chosen)} certificates", flush=True)
        for verified in chosen:
            yield f"{name} {verified.candidate.id}", verified


@dataclass(slots=True)
class Totals:
    """The sums over all certificates so far."""

    lemmas: int = 0
    replayed: int = 0
    cpu_s: list[float] = field(default_factory=list[float])
    wall_s: list[float] = field(default_factory=list[float])

    def add(self, name: str, verified: Verified) -> None:
        """Certify one candidate and print the result."""
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            lemmas = certify(verified, Journal()).proof.lemmas
        except NoNormalForm as stuck:
            self.lemmas += 1
            print(f"{name:55} has no normal form: {stuck.limit}")
            return
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        replayed = sum(x.replayed for x in lemmas)
        steps = sum(x.statement.count("\n  (step") for x in lemmas)
        self.lemmas, self.replayed = self.lemmas + len(lemmas), self.replayed + replayed
        self.cpu_s.append(cpu)
        self.wall_s.append(wall)
        print(
            f"{name:55} {replayed:3} of {len(lemmas):3} lemmas, {steps:5} steps, {cpu:5.2f} CPU s, {wall:5.2f} wall s"
        )
        for x in lemmas:
            if not x.replayed:
                print(f"    {x.tensor} = {x.operation}: {x.note}")
        sys.stdout.flush()


def main(argv: Sequence[str] | None = None) -> None:
    """Print one line per candidate and one line of totals."""
    parser = argparse.ArgumentParser(description="How many lemmas of each certificate egglog replays.")
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="parts of names of candidates; with --found, names of workloads; default: all",
    )
    parser.add_argument(
        "--found", action="store_true", help="certify what default searches prove, one candidate per family"
    )
    parser.add_argument("--every", action="store_true", help="with --found: certify every candidate of every family")
    args = parser.parse_args(argv)
    if args.found and (unknown := sorted(set(args.names) - {w.name for w in px.WORKLOADS})):
        parser.error(f"no workload {', '.join(unknown)}; `prism-explore list` has the names")
    if args.every and not args.found:
        parser.error("--every needs --found")
    totals = Totals()
    for name, verified in proved_candidates(args.names, args.every) if args.found else corpus_candidates():
        if args.found or not args.names or any(n in name for n in args.names):
            totals.add(name, verified)
    longest = f"; the longest: {max(totals.cpu_s):.2f} CPU s, {max(totals.wall_s):.2f} wall s" if totals.cpu_s else ""
    print(f"{totals.replayed} of {totals.lemmas} lemmas replayed; {len(totals.cpu_s)} certificates{longest}")


if __name__ == "__main__":
    main(sys.argv[1:])
