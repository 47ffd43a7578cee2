"""Open many damaged files; those that are neither read nor refused properly are kept in the corpus.

    python -m tests.fuzz --files 100000
    python -m tests.fuzz --files 5000 --seed 7 kernel graph

A kept file is tried by the tests from then on.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.fuzz.doors import DOORS
from tests.fuzz.harness import CORPUS, Failure, attempt, damaged_files

AT_ONCE = 1_000
"""Files that one task of a worker process opens."""


def failures(name: str, numbers: range, seed: int) -> list[Failure]:
    """What goes wrong at one door with these files."""
    door = next(door for door in DOORS if door.name == name)
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        tried = (attempt(door, content, Path(folder)) for content in damaged_files(door, numbers, seed))
        return [failure for failure in tried if failure is not None]


def keep(failure: Failure) -> Path:
    """Store the content of a failure in the corpus."""
    suffix = next(door.suffix for door in DOORS if door.name == failure.door)
    path = CORPUS / failure.door / f"{hashlib.sha256(failure.content).hexdigest()[:12]}{suffix}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(failure.content)
    return path


def main() -> int:
    """Exit status 1 if anything failed."""
    parser = argparse.ArgumentParser(description="Open damaged files of every kind that this package reads.")
    parser.add_argument("doors", nargs="*", metavar="DOOR", help=f"default: {', '.join(d.name for d in DOORS)}")
    parser.add_argument("--files", type=int, default=2_000, help="for each door (2000)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    args = parser.parse_args()
    names = args.doors or [door.name for door in DOORS]
    if unknown := set(names) - {door.name for door in DOORS}:
        parser.error(f"no such door: {', '.join(sorted(unknown))}")
    os.environ["PRISM_EXPLORE_CACHE"] = "off"
    count: dict[str, int] = defaultdict(int)
    with ProcessPoolExecutor(args.processes) as pool:
        parts = [range(start, min(start + AT_ONCE, args.files)) for start in range(0, args.files, AT_ONCE)]
        running = [(name, pool.submit(failures, name, part, args.seed)) for name in names for part in parts]
        for name, future in running:
            for failure in future.result():
                count[name] += 1
                print(f"{name}: {keep(failure)}\n{failure.what}\n")
    for name in names:
        print(f"{name:<20} {args.files:>9,} files, {count[name]:,} failures")
    return 1 if sum(count.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
