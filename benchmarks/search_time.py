"""Search time: per workload, CPU time until all families are proved, and the counts of the search.

    .venv/bin/python benchmarks/search_time.py
    .venv/bin/python benchmarks/search_time.py swiglu lora --repeat 5 --json

CPU seconds are measured from the program to the verdicts on its candidates, without tracing and tuning. Each workload
runs in its own process, so the peak memory is that of one workload, with torch and Python. "first" is the first run,
with empty caches; "again" is the median of the others. Stages and counts are those of the first run. With `--workers 2`
each workload is also searched in a process with an executor of two running workers; the wall times of the first runs
are compared.

Below each workload are the known forms of others (`known_forms.py`): whether each is among the proved candidates, which
candidate dominates it, or which restriction of the search space excludes it.
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
from benchmarks.machine_info import run_header
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import RegionPruned
from prism_explore.events.ledger import Ledger, ledger
from prism_explore.events.phases import Phase, seconds_per_stage
from prism_explore.pipeline.stages import Candidate
from prism_explore.search.explore import Progress, Steering, explore


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="CPU seconds from a program to its proved families.")
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help="names of `prism-explore list`; default: all")
    parser.add_argument("--repeat", type=int, default=3, help="number of runs per workload")
    parser.add_argument("--workers", type=int, default=0, help="also search with an executor of this many processes")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument(
        "--in-this-process", action="store_true", help="measure one workload in this process; print JSON"
    )
    args = parser.parse_args(argv)
    known = [w.name for w in px.WORKLOADS]
    if unknown := sorted(set(args.workloads) - set(known)):
        parser.error(f"no workload {', '.join(unknown)}; there are {', '.join(known)}")
    if args.in_this_process:
        if len(args.workloads) != 1:
            parser.error(f"--in-this-process measures one workload, found {len(args.workloads)}")
        (name,) = args.workloads
        print(json.dumps(_measure_with_workers(name, args.workers) if args.workers else _measure(name, args.repeat)))
        return
    header = run_header()
    rows: list[dict[str, Any]] = []
    if not args.json:
        print(", ".join(header.values()))
    for name in args.workloads or known:
        rows.append(_run_in_subprocess(name, "--repeat", str(args.repeat)))
        if args.workers:
            rows[-1] |= _run_in_subprocess(name, "--workers", str(args.workers))
        if not args.json:
            _print(rows[-1])
    if args.json:
        print(json.dumps({**header, "rows": rows}, indent=1))


def _run_in_subprocess(name: str, *options: str) -> dict[str, Any]:
    """Measure a workload in its own process."""
    command = [sys.executable, __file__, name, "--in-this-process", *options]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def _print(row: Mapping[str, Any]) -> None:
    print(
        f"\n{row['workload']}: {row['cpu_first_s']:.2f} CPU s first, {row['cpu_again_s']:.2f} again; "
        f"peak {row['peak_mb']:.0f} MB, of which {row['before_mb']:.0f} before the search"
    )
    print(
        f"  {row['families']} families, {row['candidates']} candidates: {row['proved']} proved, "
        f"{row['unknown']} unknown, {row['refuted']} refuted; {row['expanded']:,} partial graphs expanded"
        f"{'; STOPPED BY ITS BUDGET' if row['pruned_by_rule'].get('budget.nodes') else ''}"
    )
    if "wall_workers_s" in row:
        gain = row["wall_first_s"] / row["wall_workers_s"]
        print(f"  wall s: {row['wall_first_s']:.2f} alone, {row['wall_workers_s']:.2f} with workers, {gain:.2f}x")
    print("  CPU s by stage: " + ", ".join(f"{k} {v:.2f}" for k, v in row["stages_cpu_s"].items()))
    print("  regions pruned by rule: " + ", ".join(f"{n:,} {rule}" for rule, n in row["pruned_by_rule"].items()))
    names_by_status: dict[tuple[str, str], list[str]] = {}
    for known in row["known"]:
        names_by_status.setdefault((known["status"], known["by"]), []).append(known["name"])
    for (status, by), names in names_by_status.items():
        print(f"  {status}{f' ({by})' if by else ''}: {', '.join(names)}")
    sys.stdout.flush()


def _measure(name: str, repeat: int) -> dict[str, Any]:
    """Measure a workload. The target is a GPU, because then nothing is tuned."""
    workload = px.workload(name)
    code, inputs = workload.code, workload.inputs
    session = px.Session(code, name=workload.name, inputs=inputs, at=workload.at, target="h100")
    before_mb = _peak_mb()
    progress = Progress()
    book, stages, pruned, first_s, wall_s = _run(session, progress)
    peak_mb = _peak_mb()
    again = [_run(session, Progress())[3] for _ in range(repeat - 1)]
    funnel = book.funnel
    known = _known_forms(workload.name, session, [v.candidate for v in progress.proved])
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
        "pruned_by_rule": pruned,
        "before_mb": before_mb,
        "peak_mb": peak_mb,
        "known": known,
    }


def _measure_with_workers(name: str, workers: int) -> dict[str, float]:
    """Wall time of the first search of a workload with an executor whose workers are running."""
    workload = px.workload(name)
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as executor:
        session = px.Session(
            workload.code, name=name, inputs=workload.inputs, at=workload.at, target="h100", executor=executor
        )
        wait([executor.submit(_wait, 0.5) for _ in range(workers)])
        return {"wall_workers_s": _run(session, Progress())[4]}


def _wait(seconds: float) -> None:
    """Start a worker: it imports this module, and is busy until every worker has one of these calls."""
    sleep(seconds)


def _known_forms(name: str, session: px.Session, proved: Sequence[Candidate]) -> list[dict[str, str]]:
    """The known forms of others, and their status against the proved candidates."""
    from known_forms import handwritten_forms, mirage_forms

    forms = (*handwritten_forms(name, session.task, proved), *mirage_forms(name, session.task.target))
    return [{"name": k.name, "status": k.status, "by": k.by} for k in forms]


def _run(session: px.Session, progress: Progress) -> tuple[Ledger, Mapping[Phase, float], dict[str, int], float, float]:
    """Search once; return the ledger, CPU seconds per stage, regions pruned per rule, total CPU and wall seconds."""
    start, wall = _cpu_s(), perf_counter()
    journal = Journal(clock=lambda: _cpu_s() - start)
    for _ in explore(session.task, journal, Steering, progress):
        pass
    times_s = _cpu_s() - start, perf_counter() - wall
    pruned = Counter(e.reason.rule for e in journal.events if isinstance(e, RegionPruned))
    return ledger(journal.events), seconds_per_stage(journal.entries), dict(pruned.most_common()), *times_s


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return process_time() + used.ru_utime + used.ru_stime


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main(sys.argv[1:])
