"""How good is the best kernel: against torch eager, torch.compile and this machine's limit.

    .venv/bin/python benchmarks/kernel_time.py
    .venv/bin/python benchmarks/kernel_time.py --at 1 8 16 --trials 60 --max-autotune --json

Every row of a table was measured in one run, in shuffled rounds, on cold inputs; the ratio is the median of
the rounds' ratios, with its quartiles. The kernel was proved and compared before it was timed. Run it on a quiet
machine: the last column says how long threads waited for a core.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import prism_explore as px
from prism_explore.events.journal import Journal
from prism_explore.targets.host import cpu_model
from prism_explore.tune.baselines import MODES, USUAL, compare

PACKAGES = ("prism-explore", "torch", "llvmlite", "numpy")


def main(argv: Sequence[str] | None = None) -> None:
    args = _arguments(argv)
    row = px.workload(args.workload)
    modes = tuple(m.name for m in MODES) if args.max_autotune else USUAL
    machine = px.target("cpu")
    head = {
        "date": datetime.now(UTC).isoformat(timespec="minutes"),
        "machine": f"{cpu_model()}, {machine.cores} cores, {platform.system()} {platform.machine()}",
        "target": asdict(machine),
        "versions": {p: version(p) for p in PACKAGES},
        "workload": row.name,
        "seed": args.seed,
    }
    if not args.json:
        print(f"{row.name}: {row.says}")
        print(f"{head['date']}, {head['machine']}")
        print(", ".join(f"{p} {v}" for p, v in head["versions"].items()))
        print(
            f"measured on this machine: {machine.dram_bytes_per_s / 1e9:.0f} GB/s, "
            f"{machine.peak_flops_per_s / 1e9:.0f} Gflop/s"
        )
    runs = [_run(row, batch, args, modes) for batch in args.at]
    if args.json:
        print(json.dumps({**head, "runs": runs}, indent=1))


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="The best kernel against torch and the machine's limit.")
    parser.add_argument("--workload", default="rmsnorm_linear")
    parser.add_argument("--at", type=int, nargs="+", default=[1, 8, 16], help="batch sizes")
    parser.add_argument("--trials", type=int, default=80)
    parser.add_argument("--seconds", type=float, default=90.0)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--max-autotune", action="store_true", help="also torch.compile max-autotune, weights frozen")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(argv)


def _run(row: Any, batch: int, args: argparse.Namespace, modes: Sequence[str]) -> dict[str, Any]:
    budget = px.Budget(trials=args.trials, seconds=args.seconds)
    symbol = next(iter(row.at))
    session = px.Session(
        row.code, name=row.name, target="cpu", at={symbol: batch}, seed=args.seed, budget=budget, inputs=row.inputs
    )
    session.run()
    best = session.best()
    if best is None:
        sys.exit(f"{row.name} at {symbol}={batch}: no kernel was timed. {session.claim}")
    rows = compare(
        best.traced, best.timed.kernel, session.task.target, Journal(), modes=modes, rounds=args.rounds, seed=args.seed
    )
    if not args.json:
        _tell(f"{symbol}={batch}", best, rows)
    return {
        symbol: batch,
        "kernel": best.candidate,
        "parameters": str(best.timed.kernel.parameters),
        "error": best.error,
        "waited_while_tuning": best.timed.waited,
        "rows": [asdict(r) for r in rows],
    }


def _tell(where: str, best: Any, rows: Sequence[Any]) -> None:
    print(f"\n{where}: {best.candidate} at {best.timed.kernel.parameters}, error {best.error:.1e}")
    print(f"  {'':<28}{'us':>9}{'p20':>9}{'p80':>9}   times ours [quartiles]")
    for r in rows:
        if r.samples == 0:
            print(f"  {r.name:<28}{'-':>9}   {r.note}")
            continue
        us = "".join(f"{t * 1e6:>9,.0f}" for t in (r.time_s, r.p20_s, r.p80_s))
        print(f"  {r.name:<28}{us}   {r.ratio:.2f} [{r.ratio_p25:.2f}, {r.ratio_p75:.2f}]  {r.note}")
    print(f"  threads waited for a core {best.timed.waited:.0%} of the time while this kernel was raced")


if __name__ == "__main__":
    main()
