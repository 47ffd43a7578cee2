"""How long until all families are proved: per workload, what was searched, cut, proved, and what it cost.

    .venv/bin/python benchmarks/search_time.py
    .venv/bin/python benchmarks/search_time.py swiglu lora --repeat 5 --json

CPU seconds from a program to the verdicts on its candidates, no tuning, tracing not counted. Each workload runs in
a process of its own, so its peak memory is that workload's, torch and Python included. The first run is shown as
"first" because it pays for cold memories, the median of the rest as "again"; stages and counts are the first run's.
With `--workers 2` each is searched once more, in a process that has an executor of two: wall seconds of the first runs,
the workers being there already.

Below each workload: the forms that others found or wrote by hand (`known.py`), whether each is among our proved
candidates or dominated by one of them, and which, or which restriction of the stated space excludes it.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, wait
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from time import perf_counter, process_time, sleep
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import prism_explore as px
from benchmarks.here import head
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import RegionPruned
from prism_explore.events.ledger import Ledger, ledger
from prism_explore.events.phases import Phase, seconds_per_stage
from prism_explore.pipeline.stages import Candidate
from prism_explore.search.explore import Progress, Steering, explore


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="CPU seconds from a program to its proved families.")
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help="names of `prism-explore list`; none for all")
    parser.add_argument("--repeat", type=int, default=3, help="runs per workload")
    parser.add_argument("--workers", type=int, default=0, help="search once more with an executor of so many processes")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--here", action="store_true", help="measure in this process: one workload, one row of JSON")
    args = parser.parse_args(argv)
    known = [w.name for w in px.WORKLOADS]
    if strangers := sorted(set(args.workloads) - set(known)):
        parser.error(f"no workload {', '.join(strangers)}; there are {', '.join(known)}")
    if args.here:
        if len(args.workloads) != 1:
            parser.error(f"--here measures one workload, found {len(args.workloads)}")
        (name,) = args.workloads
        print(json.dumps(_spread(name, args.workers) if args.workers else _row(name, args.repeat)))
        return
    first = head()
    rows: list[dict[str, Any]] = []
    if not args.json:
        print(", ".join(first.values()))
    for name in args.workloads or known:
        rows.append(_apart(name, "--repeat", str(args.repeat)))
        if args.workers:
            rows[-1] |= _apart(name, "--workers", str(args.workers))
        if not args.json:
            _print(rows[-1])
    if args.json:
        print(json.dumps({**first, "rows": rows}, indent=1))


def _apart(name: str, *options: str) -> dict[str, Any]:
    """The row of a workload, measured in a process of its own."""
    command = [sys.executable, __file__, name, "--here", *options]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def _print(row: Mapping[str, Any]) -> None:
    print(
        f"\n{row['workload']}: {row['cpu_first_s']:.2f} CPU s first, {row['cpu_again_s']:.2f} again; "
        f"peak {row['peak_mb']:.0f} MB, of which {row['before_mb']:.0f} before the search"
    )
    print(
        f"  {row['families']} families, {row['candidates']} candidates: {row['proved']} proved, "
        f"{row['unknown']} unknown, {row['refuted']} refuted; {row['expanded']:,} partial graphs grown"
        f"{'; CUT BY BUDGET' if row['cut_by_rule'].get('budget.nodes') else ''}"
    )
    if "wall_spread_s" in row:
        gain = row["wall_first_s"] / row["wall_spread_s"]
        print(f"  wall s: {row['wall_first_s']:.2f} alone, {row['wall_spread_s']:.2f} with workers, {gain:.2f}x")
    print("  CPU s by stage: " + ", ".join(f"{k} {v:.2f}" for k, v in row["stages_cpu_s"].items()))
    print("  regions cut by rule: " + ", ".join(f"{n:,} {rule}" for rule, n in row["cut_by_rule"].items()))
    alike: dict[tuple[str, str], list[str]] = {}
    for known in row["known"]:
        alike.setdefault((known["standing"], known["by"]), []).append(known["name"])
    for (standing, by), names in alike.items():
        print(f"  {standing}{f' ({by})' if by else ''}: {', '.join(names)}")
    sys.stdout.flush()


def _row(name: str, repeat: int) -> dict[str, Any]:
    """What is measured of a workload; a GPU is named as the target because nothing is tuned for one here."""
    workload = px.workload(name)
    code, inputs = workload.code, workload.inputs
    session = px.Session(code, name=workload.name, inputs=inputs, at=workload.at, target="h100")
    before_mb = _peak_mb()
    progress = Progress()
    book, stages, cuts, first_s, wall_s = _run(session, progress)
    peak_mb = _peak_mb()
    again = [_run(session, Progress())[3] for _ in range(repeat - 1)]
    funnel = book.funnel
    known = _known(workload.name, session, [v.candidate for v in progress.proved])
    return {
        "workload": workload.name,
        "cpu_first_s": first_s,
        "wall_first_s": wall_s,
        "cpu_again_s": median(again or [first_s]),
        "stages_cpu_s": {k: v for k, v in stages.items() if v},
        "expanded": funnel.expanded,
        "families": funnel.families,
        "candidates": funnel.candidates,
        "proved": funnel.proved,
        "refuted": funnel.refuted,
        "unknown": funnel.unknown,
        "cut_by_rule": cuts,
        "before_mb": before_mb,
        "peak_mb": peak_mb,
        "known": known,
    }


def _spread(name: str, workers: int) -> dict[str, float]:
    """Wall seconds of a workload's first search with an executor whose processes have begun."""
    workload = px.workload(name)
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as executor:
        session = px.Session(
            workload.code, name=name, inputs=workload.inputs, at=workload.at, target="h100", executor=executor
        )
        wait([executor.submit(_begin, 0.5) for _ in range(workers)])
        return {"wall_spread_s": _run(session, Progress())[4]}


def _begin(seconds: float) -> None:
    """In a worker: be busy, so that every worker has one of these; the imports of this module are what it is for."""
    sleep(seconds)


def _known(name: str, session: px.Session, proved: Sequence[Candidate]) -> list[dict[str, str]]:
    """How the forms that others have stand to ours, once the search has been measured."""
    from known import forms, saved

    found = (*forms(name, session.task, proved), *saved(name, session.task.target))
    return [{"name": k.name, "standing": k.standing, "by": k.by} for k in found]


def _run(session: px.Session, progress: Progress) -> tuple[Ledger, Mapping[Phase, float], dict[str, int], float, float]:
    """One search: what it found, CPU seconds per stage, regions cut per rule, CPU and wall seconds in all."""
    start, wall = _cpu_s(), perf_counter()
    journal = Journal(clock=lambda: _cpu_s() - start)
    for _ in explore(session.task, journal, Steering, progress):
        pass
    spent = _cpu_s() - start, perf_counter() - wall
    cuts = Counter(e.reason.rule for e in journal.events if isinstance(e, RegionPruned))
    return ledger(journal.events), seconds_per_stage(journal.entries), dict(cuts.most_common()), *spent


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return process_time() + used.ru_utime + used.ru_stime


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main(sys.argv[1:])
