"""How long until all families are proved: per workload, what was searched, cut, proved, and what it cost.

    .venv/bin/python benchmarks/search_time.py
    .venv/bin/python benchmarks/search_time.py swiglu lora --repeat 5 --json

CPU seconds of this process and its children, generation to verdicts, no tuning; the first run of each workload is
shown as "first" because it pays for cold memories, the median of the rest as "again". Tracing is not counted.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from statistics import median
from time import perf_counter, process_time
from typing import Any

import prism_explore as px
from prism_explore.events.ledger import Ledger, Phase, ledger, seconds_per_stage


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Seconds from a program to its proved families.")
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help="names of `prism-explore list`; none for all")
    parser.add_argument("--repeat", type=int, default=3, help="runs per workload")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(argv)
    known = {w.name: w for w in px.WORKLOADS}
    if strangers := sorted(set(args.workloads) - set(known)):
        parser.error(f"no workload {', '.join(strangers)}; there are {', '.join(known)}")
    head = {
        "date": datetime.now(UTC).isoformat(timespec="minutes"),
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
    }
    chosen = [known[name] for name in args.workloads or known]
    if args.json:
        print(json.dumps({**head, "rows": [_row(w, args.repeat) for w in chosen]}, indent=1))
        return
    print(", ".join(head.values()))
    for workload in chosen:
        _print(_row(workload, args.repeat))


def _print(row: Mapping[str, Any]) -> None:
    print(f"\n{row['workload']}: {row['cpu_first_s']:.2f} CPU s first, {row['cpu_again_s']:.2f} again")
    print(
        f"  {row['expanded']:,} partial graphs grown, {row['families']} families, {row['candidates']} candidates: "
        f"{row['proved']} proved, {row['refuted']} refuted, {row['unknown']} unknown; peak {row['peak_mb']:.0f} MB"
    )
    print("  wall s by stage, first run: " + ", ".join(f"{k} {v:.2f}" for k, v in row["stages_s"].items()))
    print("  cut: " + ", ".join(f"{n:,} {code}" for code, n in row["cuts"].items()), flush=True)


def _row(workload: Any, repeat: int) -> dict[str, Any]:
    runs = [_run(workload) for _ in range(max(repeat, 1))]
    book, stages, first_s, wall_s = runs[0]
    counts: dict[str, int] = {}
    for cut in book.cuts:
        counts[cut.code] = counts.get(cut.code, 0) + cut.count
    funnel = book.funnel
    return {
        "workload": workload.name,
        "cpu_first_s": first_s,
        "wall_first_s": wall_s,
        "cpu_again_s": median([r[2] for r in runs[1:]] or [first_s]),
        "stages_s": {k: v for k, v in stages.items() if v},
        "expanded": funnel.expanded,
        "families": funnel.families,
        "candidates": funnel.candidates,
        "proved": funnel.proved,
        "refuted": funnel.refuted,
        "unknown": funnel.unknown,
        "cuts": counts,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def _run(workload: Any) -> tuple[Ledger, Mapping[Phase, float], float, float]:
    """One search of level 1: a GPU is named as the target because nothing is tuned for one here."""
    session = px.Session(workload.code, name=workload.name, inputs=workload.inputs, at=workload.at, target="h100")
    cpu, wall = process_time() + _children(), perf_counter()
    session.run()
    spent = process_time() + _children() - cpu, perf_counter() - wall
    found = ledger(session.journal.events), seconds_per_stage(session.journal.entries)
    session.close()
    return *found, *spent


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main(sys.argv[1:])
