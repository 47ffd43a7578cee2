"""Lower bounds of the cost model against exact counts, for the candidates that default searches prove.

    .venv/bin/python benchmarks/bounds.py
    .venv/bin/python benchmarks/bounds.py attention --each 100 --seed 1

Workloads are searched at small sizes. The block interpreter runs `--each` candidates of each workload at random
parameter values, and counts bytes and operations. The exit status is 1 if a stated count is wrong or a bound is too
high.
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path
from time import process_time

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.cost.counting import BATCH, wrong
from tests.cost.found import EVERY_WORKLOAD, legal_sizes, proved


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help="workloads to search; default: all")
    parser.add_argument("--each", type=int, default=0, help="number of candidates per workload; 0 for all")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random choices")
    args = parser.parse_args()
    failures = 0
    for name in args.workloads or EVERY_WORKLOAD:
        failures += _check(name, args.each, random.Random(args.seed))
    sys.exit(bool(failures))


def _check(name: str, each: int, rng: random.Random) -> int:
    """Print the errors of a workload; return the number of candidates that have one."""
    start, found = process_time(), proved(name)
    sample = rng.sample(found, min(each, len(found))) if each else found
    failures = 0
    for candidate in sample:
        sizes = rng.choice(list(legal_sizes(candidate.sgraph, candidate.conditions)))
        if errors := wrong(candidate.sgraph, sizes, BATCH):
            failures += 1
            print(f"  {candidate.id} at {sizes}: {'; '.join(errors)}")
    kernels = sorted({len(c.sgraph.customs) for c in sample})
    spent = process_time() - start
    print(
        f"{name}: {failures} of {len(sample)} candidates wrong, {len(found)} proved; kernels {kernels}; {spent:.1f} s",
        flush=True,
    )
    return failures


if __name__ == "__main__":
    main()
