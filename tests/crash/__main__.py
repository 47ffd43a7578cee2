"""End processes at random instants, and examine what they leave.

python -m tests.crash --instants 1000
python -m tests.crash --instants 20 --seed 7 tuning best
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections import Counter
from dataclasses import replace
from math import ceil

from tests.crash.harness import ENDINGS, Trial, attempt, whole
from tests.crash.workloads import WORKLOADS, Workload

MOST_TRIALS = 4
"""For each instant: at some drawn instants the workload has ended, or has no worker."""


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
    share = ceil(args.instants / len(rows))
    count, failed = dict.fromkeys(rows, 0), Counter[tuple[Workload, str]]()
    references = {workload.name: whole(workload) for workload in chosen}
    with contextlib.suppress(KeyboardInterrupt):  # what was tried until then is reported
        for number in range(MOST_TRIALS * args.instants):
            row = min(rows, key=count.__getitem__)
            if count[row] >= share:
                break
            workload, ending = row
            trial, reference = Trial(workload, ending, args.seed + number), references[workload.name]
            outcome = attempt(trial, reference)
            count[row] += outcome.instants
            if outcome.problems:
                failed[row] += 1
                print(f"{trial}: {'; '.join(outcome.problems)}", flush=True)
            if ending != "kill" and outcome.seconds < reference.seconds:  # that one ran on a busy machine
                references[workload.name] = replace(reference, seconds=outcome.seconds)
    for (workload, ending), instants in count.items():
        print(f"{workload.name}, {ending}: {instants} instants, {failed[workload, ending]} trials failed")
    return 1 if failed or min(count.values()) < share else 0


if __name__ == "__main__":
    sys.exit(main())
