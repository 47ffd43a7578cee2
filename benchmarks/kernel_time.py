"""How good is the best kernel: against torch, a library call and this machine's limit, over the rows of `rows.py`.

    .venv/bin/python benchmarks/kernel_time.py --rows reported
    .venv/bin/python benchmarks/kernel_time.py --rows W1.1 W3 --trials 60 --again --json mine.json
    .venv/bin/python benchmarks/kernel_time.py --table --json mine.json
    .venv/bin/python benchmarks/kernel_time.py --target cuda --rows published --dtype f16

A row goes through three stages, each in a process of its own with a time limit (`--limit-s`):

    tune     search, prove, and tune within the budget; the kernel and its proof's claim are kept
    rivals   run the comparison once with nothing counted, so that torch's compilers find their work on disk; its
             autotuner chooses by the clock, so this too wants a quiet machine
    compare  time everything in shuffled rounds, on cold inputs, in one process whose malloc keeps what was freed

TVM's MetaSchedule is one of them where it is installed (`tvm_rival.py`), and is tuned in the second stage.

What is done is kept in the JSON file, and not done again but with `--again`; so a run may be interrupted, and stages
may be run apart, `tune` and `compare` on a quiet machine. A kernel is compared with float64 before it is timed.

A row is not counted where the quartiles of a ratio lie far apart, or where others had the cores meanwhile.

Ratios are medians of the rounds' ratios. "Best other" is the fastest of the rivals that were there; which those were is
in the file. "Of the limit" is the measured limit's time over ours.

On a GPU a round is a `triton.testing.do_bench` of everybody, the cache overwritten before each run; torch packs no
weights there, and its CUDA graphs are left out. Where no GPU is, `--target cuda` says so and measures nothing.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from math import exp, log
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import prism_explore as px
from benchmarks import tvm_rival
from benchmarks.here import head, versions
from benchmarks.rows import ROWS, Row, chosen
from prism_explore.events.fastest import COMPILED, EAGER, LIBRARY, OURS
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import TrialFailed, TrialMeasured
from prism_explore.tune.runner import fork_server
from prism_explore.tune.runner.backend import why_untimed
from prism_explore.tune.runner.baseline_table import AUTOTUNED, BASELINES, ROOFLINE
from prism_explore.tune.runner.baselines import compare_with_baselines
from prism_explore.tune.runner.wire import kernel_from_plain, kernel_to_plain

RESULTS = Path(__file__).resolve().parent / "results"
STAGES = ("tune", "rivals", "compare")
DISTURBED = 1.5
"""Where quartiles of a ratio are further apart than this, other work was running; the row is not counted, and taken
again by the next run."""
OTHERS = 0.1
"""The same where others, the host included, had more of the cores than this: an evenly slow machine shows no spread."""
SHORT = {EAGER: "eager", COMPILED: "default", AUTOTUNED: "max+frozen", LIBRARY: "library", tvm_rival.NAME: "tvm"}


def main(argv: Sequence[str] | None = None) -> None:
    args = _arguments(argv)
    if args.target == "cuda" and (reason := _no_device()):
        print(f"--target cuda: {reason}; nothing was measured")
        return
    path: Path = args.json or RESULTS / f"{datetime.now(UTC).date()}-{args.target}.json"
    if args.here:
        return _here(path, args)
    for row in () if args.table else chosen(args.rows):
        for stage in args.stages:
            if args.again or not _is_done(stage, _read(path)["rows"].get(row.name, {})):
                _apart(path, row, stage, args)
    show(_read(path))


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="The best kernel against torch and the machine's limit.")
    parser.add_argument("--target", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--rows", nargs="+", default=["reported"], metavar="ROW", help="names, or how they begin")
    parser.add_argument("--stages", nargs="+", choices=STAGES, default=list(STAGES))
    parser.add_argument("--dtype", choices=("f32", "bf16", "f16"), help="of all inputs; the row's own if left out")
    parser.add_argument("--trials", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=70.0, help="for tuning a row")
    parser.add_argument("--strategy", default="climbing")
    parser.add_argument("--rounds", type=int, default=24)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit-s", type=float, default=1200.0, help="for a stage of a row; then it is given up")
    parser.add_argument("--database", type=Path, help="trials to remember and to begin from")
    parser.add_argument("--json", type=Path, help=f"where results are; a dated file in {RESULTS.name}/ if not given")
    parser.add_argument("--again", action="store_true", help="also what is in the file")
    parser.add_argument("--table", action="store_true", help="show what is in the file and measure nothing")
    parser.add_argument("--list", action="store_true", help="show the rows")
    parser.add_argument("--here", action="store_true", help="one stage of one row, in this process")
    args = parser.parse_args(argv)
    if args.list:
        parser.exit(message="".join(f"{row.group:<10}{row.name}\n" for row in ROWS))
    try:
        chosen(args.rows)
    except ValueError as error:
        parser.error(str(error))
    return args


def _no_device() -> str:
    """Why nothing can be timed on a GPU here; empty where it can."""
    try:
        return why_untimed(px.target("cuda"))
    except px.TargetUnavailable as error:
        return str(error)


def _is_done(stage: str, done: Mapping[str, Any]) -> bool:
    """Whether a stage need not be done again; a comparison that other work disturbed must."""
    if stage not in done:
        return False
    found = standing(**_compared(done)) if stage == "compare" else None
    return found is None or not found["disturbed"]


# ---------------------------------------------------------------- one stage of one row
def _apart(path: Path, row: Row, stage: str, args: argparse.Namespace) -> None:
    """Run a stage in a process of its own; what went wrong is kept in its place."""
    words = ["--rows", row.name, "--stages", stage, "--json", str(path), "--here"]
    for name in ("target", "trials", "seconds", "strategy", "rounds", "seed"):
        words += [f"--{name}", str(getattr(args, name))]
    words += ["--dtype", args.dtype] if args.dtype else []
    words += ["--database", str(args.database)] if args.database else []
    try:
        subprocess.run([sys.executable, __file__, *words], check=True, timeout=args.limit_s)
    except subprocess.TimeoutExpired:
        print(f"{row.name}: {stage} took more than {args.limit_s:g} s and was given up")
    except subprocess.CalledProcessError as error:
        print(f"{row.name}: {stage} ended with status {error.returncode}")


def _here(path: Path, args: argparse.Namespace) -> None:
    (row,), (stage,) = (r for r in chosen(args.rows) if r.name == args.rows[0]), args.stages
    if args.dtype:
        row = replace(row, inputs={name: replace(t, dtype=args.dtype) for name, t in row.inputs.items()})
    work: Mapping[str, Callable[..., dict[str, Any]]] = {"tune": _tune, "rivals": _rivals, "compare": _compare}
    found = work[stage](row, args, _read(path)["rows"].get(row.name, {}))
    data = _read(path)
    data["rows"].setdefault(row.name, {})[stage] = {"date": datetime.now(UTC).isoformat(timespec="minutes"), **found}
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps({**_machine(args.target), "rows": data["rows"]}, indent=1) + "\n", encoding="utf-8")
    fresh.replace(path)


def _tune(row: Row, args: argparse.Namespace, _: Mapping[str, Any]) -> dict[str, Any]:
    budget = px.Budget(trials=args.trials, seconds=args.seconds, strategy=args.strategy)
    session = px.Session(
        row.code,
        name=row.code.__name__,
        target=args.target,
        at=row.at,
        seed=args.seed,
        budget=budget,
        baselines=(),
        inputs=row.inputs,
        database=args.database,
    )
    session.run()
    best = session.best()
    if best is None:
        sys.exit(f"{row.name}: no kernel was timed. {session.claim}")
    print(f"{row.name}: {best}")
    return {
        "kernel": kernel_to_plain(best.timed.kernel),
        "time_s": best.timed.time_s,
        "error": best.error,
        "waited": best.timed.waited,
        "trials": sum(isinstance(e, TrialMeasured | TrialFailed) for e in session.journal.events),
        "seed": args.seed,
    }


def _rivals(row: Row, args: argparse.Namespace, done: Mapping[str, Any]) -> dict[str, Any]:
    rows = _raced(row, args, done, 1)
    return {"absent": {r["name"]: r["note"] for r in rows if not r["samples"]}}


def _compare(row: Row, args: argparse.Namespace, done: Mapping[str, Any]) -> dict[str, Any]:
    share = _share_of_others()
    rows = _raced(row, args, done, args.rounds)
    print("\n".join(_lines(row.name, rows)))
    return {"rows": rows, "seed": args.seed, "others": share()}


def _share_of_others() -> Callable[[], float | None]:
    """Asked later: the share of the cores that others have had since, steal included; None where no system tells."""

    def spent() -> tuple[float, float, float] | None:
        try:
            ticks = Path("/proc/stat").read_text().splitlines()[0].split()[1:9]
        except OSError:
            return None
        user, nice, system, _, _, irq, softirq, steal = map(int, ticks)
        busy_s = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
        return time.monotonic(), busy_s, sum(os.times()[:4])

    before = spent()

    def share() -> float | None:
        fork_server.end()
        after = spent()
        if before is None or after is None:
            return None
        wall_s, busy_s, ours_s = (b - a for a, b in zip(before, after, strict=True))
        return min(1.0, max(0.0, busy_s - ours_s) / (wall_s * (os.cpu_count() or 1)))

    return share


def _raced(row: Row, args: argparse.Namespace, done: Mapping[str, Any], rounds: int) -> list[dict[str, Any]]:
    """The tuned kernel and everybody else, in one run."""
    if "tune" not in done:
        sys.exit(f"{row.name}: tune it first, there is no kernel in the file")
    kernel = kernel_from_plain(done["tune"]["kernel"])
    task = px.Session(row.code, name=row.code.__name__, inputs=row.inputs, at=row.at, library=row.rival).task
    found = compare_with_baselines(
        task.reference,
        kernel,
        px.target(args.target),
        Journal(),
        baselines=[b.name for b in BASELINES],
        library=task.library.call,
        more=(tvm_rival.MODE,) if importlib.util.find_spec("tvm") and args.target == "cpu" else (),
        rounds=rounds,
        seed=args.seed,
    )
    return [asdict(r) for r in found]


# ---------------------------------------------------------------- the file, and tables of it
def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"rows": {}}


def _machine(name: str) -> dict[str, Any]:
    machine = px.target(name)
    return {
        **head(machine),
        "target": asdict(machine),
        "versions": versions(),
        "absent": {} if importlib.util.find_spec("tvm") else {tvm_rival.NAME: "tvm is not installed"},
    }


def _compared(done: Mapping[str, Any]) -> dict[str, Any]:
    found = done.get("compare", {})
    return {"rows": found.get("rows", []), "others": found.get("others")}


def standing(rows: Sequence[Mapping[str, Any]], others: float | None = None) -> dict[str, Any] | None:
    """How a row stands: our time, the limit's share, the best other, all ratios; None if it was not timed.

    Args:
        rows: as they were compared.
        others: the share of the cores that other work had meanwhile, where it is known.
    """
    timed = {r["name"]: r for r in rows if r["samples"]}
    rivals = {name: r["ratio"] for name, r in timed.items() if name not in (OURS, ROOFLINE)}
    if OURS not in timed or not rivals:
        return None
    best = min(rivals, key=lambda name: rivals[name])
    spread = any(r["ratio_p75"] > DISTURBED * r["ratio_p25"] for r in timed.values())
    return {
        "us": timed[OURS]["time_s"] * 1e6,
        "limit": timed[ROOFLINE]["ratio"] if ROOFLINE in timed else None,
        "best": best,
        "ratio": rivals[best],
        "quartiles": (timed[best]["ratio_p25"], timed[best]["ratio_p75"]),
        "rivals": rivals,
        "disturbed": spread or (others or 0.0) > OTHERS,
    }


def show(data: Mapping[str, Any]) -> None:
    """The table of a file, and geometric means by group."""
    if not data["rows"]:
        return
    print(f"{data['machine']}; {', '.join(f'{p} {v}' for p, v in data['versions'].items())}")
    titles = "".join(f"{SHORT[name]:>11}" for name in SHORT)
    print(f"{'row':<22}{'ours us':>9}{'of limit':>9}{'best other':>21}  [quartiles]  times ours:{titles}  date")
    for group in dict.fromkeys(row.group for row in ROWS):
        seen: list[float] = []
        names = [row.name for row in ROWS if row.group == group]
        for name in names:
            done = data["rows"].get(name, {})
            if (found := standing(**_compared(done))) is None:
                continue
            if not found["disturbed"]:
                seen.append(found["ratio"])
            limit = f"{found['limit']:.0%}" if found["limit"] else "-"
            others = "".join(f"{found['rivals'][n]:>11.2f}" if n in found["rivals"] else f"{'-':>11}" for n in SHORT)
            spread = "[{:.2f}, {:.2f}]".format(*found["quartiles"])
            best = f"{found['ratio']:.2f} {SHORT[found['best']]}"
            print(
                f"{name:<22}{found['us']:>9,.0f}{limit:>9}{best:>21}  {spread:<12} {'':>11}{others}"
                f"  {done['compare']['date']}{'  DISTURBED, not counted' if found['disturbed'] else ''}"
            )
        if seen:
            mean = exp(sum(map(log, seen)) / len(seen))
            worst = min(seen)
            print(f"{group}: geometric mean {mean:.2f} over {len(seen)} of {len(names)} rows, least {worst:.2f}\n")
    for name, reason in data.get("absent", {}).items():
        print(f"{name}: {reason}")


def _lines(name: str, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    lines = [f"{name}  {'':<24}{'us':>9}{'p20':>9}{'p80':>9}   times ours [quartiles]"]
    for r in rows:
        if not r["samples"]:
            lines.append(f"  {r['name']:<28}{'-':>9}   {r['note']}")
            continue
        us = "".join(f"{r[t] * 1e6:>9,.0f}" for t in ("time_s", "p20_s", "p80_s"))
        ratio = f"{r['ratio']:.2f} [{r['ratio_p25']:.2f}, {r['ratio_p75']:.2f}]"
        lines.append(f"  {r['name']:<28}{us}   {ratio}  {r['note']}")
    return lines


if __name__ == "__main__":
    main()
