"""Watch the verifier for as long as there is time; what contradicts is kept in the corpus.

    python -m tests.soundness --seconds 3600
    python -m tests.soundness --programs 20000 --seed 7 --json figures.json --state watch.json

With `--state`, a run that was stopped goes on where it stopped. The tests try what was kept from then on.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import count
from multiprocessing import get_context
from pathlib import Path

from tests.soundness.watch import CORPUS, Account, corpus, tried_again, watched

AT_ONCE = 16
"""Programs that one task of a worker process watches."""


def part(numbers: range, seed: int) -> Account:
    """What becomes of these programs."""
    account = Account()
    for number in numbers:
        account.add(watched(number, seed))
    return account


def accounts(first: int, programs: int | None, seconds: float, seed: int, processes: int) -> Iterator[Account]:
    """The accounts of one task after another, in order, until the programs or the time are spent."""
    end_s = time.monotonic() + seconds
    starts = count(first, AT_ONCE) if programs is None else range(first, programs, AT_ONCE)
    tasks = (range(s, s + AT_ONCE if programs is None else min(s + AT_ONCE, programs)) for s in starts)
    if processes == 1:
        for numbers in tasks:
            if time.monotonic() >= end_s:
                break
            yield part(numbers, seed)
        return
    # Not by fork: torch has threads, and their locks would be copied.
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        running: list[tuple[range, Future[Account]]] = []
        for numbers in tasks:
            if time.monotonic() >= end_s:
                break
            running.append((numbers, pool.submit(part, numbers, seed)))
            if len(running) > processes:
                yield _finished(*running.pop(0))
        for numbers, future in running:
            yield _finished(numbers, future)


def _finished(numbers: range, future: Future[Account]) -> Account:
    try:
        return future.result()
    except BrokenProcessPool:
        sys.exit(f"a process died at one of the programs {numbers.start} to {numbers.stop - 1}: a kernel may have")


def main() -> int:
    """Exit status 1 if the judges contradicted one another."""
    parser = argparse.ArgumentParser(description="Random programs and twins of them, cross-checked by three judges.")
    parser.add_argument("--programs", type=int, help="up to this number; without it, until the time is spent")
    parser.add_argument("--seconds", type=float, default=7200.0, help="of wall time (7200)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--state", type=Path, help="a file with the account so far, which is read and written")
    parser.add_argument("--json", type=Path, help="write the account there at the end")
    args = parser.parse_args()
    os.environ["PRISM_EXPLORE_CACHE"] = "off"
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    for path in corpus():
        if again := tried_again(path.read_text(encoding="utf-8")).contradictions:
            print(f"{path.name}: {'; '.join(again)}")
            return 1
    first, total = 0, Account()
    if args.state is not None and args.state.exists():
        saved = json.loads(args.state.read_text(encoding="utf-8"))
        if saved["seed"] != args.seed:
            parser.error(f"{args.state} is of seed {saved['seed']}, not {args.seed}; name another file")
        first, total = saved["next"], Account.from_json(saved["account"])
    for account in accounts(first, args.programs, args.seconds, args.seed, args.processes):
        total.add(account)
        for name, text in account.cases.items():
            CORPUS.mkdir(exist_ok=True)
            (CORPUS / name).write_text(text, encoding="utf-8")
            print(f"{CORPUS / name}\n{text}", flush=True)
        first += account.total["programs"]
        if args.state is not None:
            text = json.dumps({"seed": args.seed, "next": first, "account": total.to_json()})
            args.state.with_suffix(".new").write_text(text, encoding="utf-8")
            args.state.with_suffix(".new").replace(args.state)
    print(total.table())
    if args.json is not None:
        args.json.write_text(json.dumps(total.to_json(), indent=1), encoding="utf-8")
    return 1 if total.cases else 0


if __name__ == "__main__":
    sys.exit(main())
