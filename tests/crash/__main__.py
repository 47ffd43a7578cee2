"""End processes at random instants, and examine what they leave.

python -m tests.crash --instants 1000
python -m tests.crash --instants 20 --seed 7 tuning best
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from tests.crash.harness import ENDINGS, Trial, attempt, whole
from tests.crash.workloads import WORKLOADS


def main() -> int:
    """Exit status 1 if anything was lost or left."""
    parser = argparse.ArgumentParser(description="Kill and interrupt searches; nothing may be lost or left.")
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help=f"{', '.join(w.name for w in WORKLOADS)}")
    parser.add_argument("--instants", type=int, default=100, help="of all workloads and ways to end them (100)")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    if unknown := set(args.workloads) - {workload.name for workload in WORKLOADS}:
        parser.error(f"no such workload: {', '.join(sorted(unknown))}")
    chosen = [workload for workload in WORKLOADS if not args.workloads or workload.name in args.workloads]
    rows = [(w, e) for w in chosen for e in ENDINGS if w.has_workers or e != "kill a worker"]
    count, failed = Counter[str](), Counter[str]()
    references = {workload.name: whole(workload) for workload in chosen}
    for number in range(args.instants):
        workload, ending = rows[number % len(rows)]
        trial = Trial(workload, ending, args.seed + number)
        count[f"{workload.name}, {ending}"] += 1
        if problems := attempt(trial, references[workload.name]):
            failed[f"{workload.name}, {ending}"] += 1
            print(f"{trial}: {'; '.join(problems)}", flush=True)
    for row, tried in count.items():
        print(f"{row:<24} {tried:>5} instants, {failed[row]} failures")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
