"""How much of every certificate is replayed, and how long it takes.

    python benchmarks/certificates.py [NAME ..]
    python benchmarks/certificates.py --found [--every] [WORKLOAD ..]

Of what is certified: lemmas that egglog replayed from axioms alone and the checker accepted, of all; the steps of
its derivations; seconds of this process and of the wall.

As it stands, that is each right candidate of the tests' corpus and workloads; with names, those whose name contains
one of them. With `--found` it is what default searches of the workloads of `prism-explore list` prove: one candidate
of every family, as the others differ from it in their maps alone, or with `--every` all of them.
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


def written() -> Iterator[tuple[str, Verified]]:
    """Every right candidate of the tests, taken as proved."""
    for case in CASES:
        if case.right:
            yield f"corpus-{case.name}", _taken(candidate(PROGRAMS[case.program], case.sgraph))
    for entry in RIGHT:
        yield entry.name, _taken(candidate(program_of(entry.workload), sgraph_of(entry)))


def _taken(found: Candidate) -> Verified:
    return Verified(found, Proof("normal form", "", ()), ())


def found(workloads: Sequence[str], every: bool) -> Iterator[tuple[str, Verified]]:
    """What default searches prove, for a GPU, because nothing is tuned for one here."""
    for name in workloads or [w.name for w in px.WORKLOADS]:
        workload, progress = px.workload(name), Progress()
        session = px.Session(workload.code, name=name, inputs=workload.inputs, at=workload.at, target="h100")
        for _ in explore(session.task, Journal(), Steering, progress):
            pass
        families = {v.candidate.family.id: v for v in reversed(progress.proved)}
        chosen = progress.proved if every else list(families.values())[::-1]
        kept = f"{len(families)} families, {len(progress.proved)} candidates proved"
        print(f"{name}: {kept}, {len(progress.families)} families found; {len(chosen)} certificates", flush=True)
        for verified in chosen:
            yield f"{name} {verified.candidate.id}", verified


@dataclass(slots=True)
class Count:
    """Of all certificates so far."""

    lemmas: int = 0
    replayed: int = 0
    seconds: list[float] = field(default_factory=list[float])
    walls: list[float] = field(default_factory=list[float])

    def add(self, name: str, verified: Verified) -> None:
        """Certify one candidate and print what came of it."""
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            lemmas = certify(verified, Journal()).proof.lemmas
        except NoNormalForm as stuck:
            self.lemmas += 1
            print(f"{name:55} has no normal form: {stuck.limit}")
            return
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        done = sum(x.replayed for x in lemmas)
        steps = sum(x.statement.count("\n  (step") for x in lemmas)
        self.lemmas, self.replayed = self.lemmas + len(lemmas), self.replayed + done
        self.seconds.append(cpu)
        self.walls.append(wall)
        print(f"{name:55} {done:3} of {len(lemmas):3} lemmas, {steps:5} steps, {cpu:5.2f} s here, {wall:5.2f} s wall")
        for x in lemmas:
            if not x.replayed:
                print(f"    {x.tensor} = {x.operation}: {x.note}")
        sys.stdout.flush()


def main(argv: Sequence[str] | None = None) -> None:
    """Print one line per candidate and one for all."""
    arguments = argparse.ArgumentParser(description="How much of every certificate egglog replays.")
    arguments.add_argument("names", nargs="*", metavar="NAME", help="parts of names; of workloads with --found")
    arguments.add_argument("--found", action="store_true", help="what default searches prove, a candidate a family")
    arguments.add_argument("--every", action="store_true", help="with --found: every candidate of every family")
    args = arguments.parse_args(argv)
    if args.found and (strangers := sorted(set(args.names) - {w.name for w in px.WORKLOADS})):
        arguments.error(f"no workload {', '.join(strangers)}; `prism-explore list` has the names")
    if args.every and not args.found:
        arguments.error("--every is for --found")
    count = Count()
    for name, verified in found(args.names, args.every) if args.found else written():
        if args.found or not args.names or any(n in name for n in args.names):
            count.add(name, verified)
    longest = f", the longest {max(count.seconds):.2f} s here, {max(count.walls):.2f} s wall" if count.seconds else ""
    print(f"{count.replayed} of {count.lemmas} lemmas replayed; {len(count.seconds)} certificates{longest}")


if __name__ == "__main__":
    main(sys.argv[1:])
