"""Every bound against what is exactly counted, for every candidate that default searches prove.

python benchmarks/bounds.py [WORKLOAD ...] [--each 0] [--seed 1]

Workloads are searched at small sizes; of each, `--each` candidates are run in the block interpreter, all where it is
0, at numbers chosen at random. Ends with 1 where something is said that is not what was counted.
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
    parser.add_argument("workloads", nargs="*")
    parser.add_argument("--each", type=int, default=0, help="candidates per workload; 0 is all")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    failures = 0
    for name in args.workloads or EVERY_WORKLOAD:
        failures += _checked(name, args.each, random.Random(args.seed))
    sys.exit(bool(failures))


def _checked(name: str, each: int, rng: random.Random) -> int:
    """How many candidates of a workload have something wrong, which is printed."""
    start, found = process_time(), proved(name)
    some = rng.sample(found, min(each, len(found))) if each else found
    failures = 0
    for candidate in some:
        sizes = rng.choice(list(legal_sizes(candidate.sgraph, candidate.conditions)))
        if told := wrong(candidate.sgraph, sizes, BATCH):
            failures += 1
            print(f"  {candidate.id} at {sizes}: {'; '.join(told)}")
    kernels = sorted({len(c.sgraph.customs) for c in some})
    spent = process_time() - start
    print(
        f"{name}: {failures} of {len(some)} candidates wrong, {len(found)} proved; kernels {kernels}; {spent:.1f} s",
        flush=True,
    )
    return failures


if __name__ == "__main__":
    main()
