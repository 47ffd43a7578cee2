"""The time of the best kernel against torch, library calls, TVM and the machine's limit, for `kernel_workloads.py`.

    .venv/bin/python benchmarks/kernel_time.py --rows reported
    .venv/bin/python benchmarks/kernel_time.py --rows W1.1 W3 --trials 60 --again --json mine.json
    .venv/bin/python benchmarks/kernel_time.py --table --json mine.json
    .venv/bin/python benchmarks/kernel_time.py --target cuda --rows published --dtype f16

Every row has three stages. Each stage runs in its own process with a time limit (`--limit-s`):

    tune       search, prove, and tune within the budget; store the best kernel
    baselines  run the comparison once without recording it, so that the compilers of torch find their results on disk.
               The autotuner of torch measures, so this stage needs an idle machine too
    compare    time everything in shuffled rounds, on cold inputs, in one process whose malloc keeps freed memory

TVM MetaSchedule is one of the baselines where it is installed (`tvm_baseline.py`). It is tuned in the second stage.

Results are stored in the JSON file. A stage whose result is stored is not repeated, except with `--again`. So a run can
be interrupted, and the stages can run separately. A kernel is compared with float64 before it is timed.

A row is not counted if the quartiles of a ratio are far apart, or if other processes used the cores meanwhile; on a
GPU the cores are not asked, because a lock keeps other kernels of this user away.

A ratio is the median of the ratios of the rounds. "Best other" is the fastest baseline that could be timed; the file
names all of them. "Of limit" is the measured limit's time divided by our time.

On a GPU a round is the median of eight calls of each kernel. They are queued, so that the host's time is not in them,
and other memory is read before each, so that inputs are cold. There torch packs no weights, and its CUDA graphs are not
used. Without a GPU, `--target cuda` prints the reason and measures nothing.
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
from benchmarks import tvm_baseline
from benchmarks.kernel_workloads import ROWS, Row, select_rows
from benchmarks.machine_info import package_versions, run_header
from prism_explore.events.fastest import COMPILED, EAGER, LIBRARY, OURS, ROOFLINE
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import TrialFailed, TrialMeasured
from prism_explore.tune.runner import fork_server
from prism_explore.tune.runner.backend import why_untimed
from prism_explore.tune.runner.baseline_table import AUTOTUNED, BASELINES
from prism_explore.tune.runner.baselines import compare_with_baselines
from prism_explore.tune.runner.wire import kernel_from_plain, kernel_to_plain

RESULTS = Path(__file__).resolve().parent / "results"
STAGES = ("tune", "baselines", "compare")
MAX_QUARTILE_RATIO = 1.5
"""If the quartiles of a ratio are further apart, other work disturbed the row. It is not counted, and the next run
repeats it."""
MAX_OTHER_SHARE = 0.1
"""If other processes, the host included, used a larger share of the cores, the row is disturbed too. An evenly slow
machine has no spread."""
COLUMNS = {EAGER: "eager", COMPILED: "default", AUTOTUNED: "max+frozen", LIBRARY: "library", tvm_baseline.NAME: "tvm"}


def main(argv: Sequence[str] | None = None) -> None:
    args = _arguments(argv)
    if args.target == "cuda" and (reason := _no_gpu_reason()):
        print(f"--target cuda: {reason}; nothing was measured")
        return
    path: Path = args.json or RESULTS / f"{datetime.now(UTC).date()}-{args.target}.json"
    if args.in_this_process:
        return _run_stage(path, args)
    for row in () if args.table else select_rows(args.rows):
        for stage in args.stages:
            if args.again or not _is_done(stage, _read(path), row.name):
                _run_in_subprocess(path, row, stage, args)
    print_table(_read(path))


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="The time of the best kernel against torch, library calls, TVM and the machine's limit."
    )
    parser.add_argument("--target", choices=("cpu", "cuda"), default="cpu", help="machine")
    parser.add_argument(
        "--rows", nargs="+", default=["reported"], metavar="ROW", help="names, beginnings of names, or groups"
    )
    parser.add_argument("--stages", nargs="+", choices=STAGES, default=list(STAGES), help="stages to run")
    parser.add_argument("--dtype", choices=("f32", "bf16", "f16"), help="dtype of all inputs; default: that of the row")
    parser.add_argument("--trials", type=int, default=64, help="tuning trials per row")
    parser.add_argument("--seconds", type=float, default=70.0, help="tuning time per row")
    parser.add_argument("--patience", type=int, default=px.Budget().patience, help="tuning trials without a gain")
    parser.add_argument("--strategy", default="climbing", help="tuning strategy")
    parser.add_argument("--rounds", type=int, default=24, help="rounds of the comparison")
    parser.add_argument("--seed", type=int, default=0, help="seed of the search and of the order in a round")
    parser.add_argument("--limit-s", type=float, default=1200.0, help="time limit of one stage of one row")
    parser.add_argument("--database", type=Path, help="tuning database to read and to extend")
    parser.add_argument("--json", type=Path, help=f"results file; default: a dated file in {RESULTS.name}/")
    parser.add_argument("--again", action="store_true", help="repeat stages that are in the file")
    parser.add_argument("--table", action="store_true", help="show the table of the file and measure nothing")
    parser.add_argument("--list", action="store_true", help="show the rows")
    parser.add_argument("--in-this-process", action="store_true", help="run one stage of one row in this process")
    args = parser.parse_args(argv)
    if args.list:
        parser.exit(message="".join(f"{row.group:<10}{row.name}\n" for row in ROWS))
    try:
        select_rows(args.rows)
    except ValueError as error:
        parser.error(str(error))
    return args


def _no_gpu_reason() -> str:
    """Why nothing can be timed on a GPU; empty if kernels can be timed."""
    try:
        return why_untimed(px.target("cuda"))
    except px.TargetUnavailable as error:
        return str(error)


def _is_done(stage: str, data: Mapping[str, Any], name: str) -> bool:
    """Whether a stage has a stored result; a disturbed comparison counts as not done."""
    if stage not in data["rows"].get(name, {}):
        return False
    found = _summary(data, name) if stage == "compare" else None
    return found is None or not found["disturbed"]


# ---------------------------------------------------------------- one stage of one row
def _run_in_subprocess(path: Path, row: Row, stage: str, args: argparse.Namespace) -> None:
    """Run a stage in its own process; print why it failed, if it did."""
    words = ["--rows", row.name, "--stages", stage, "--json", str(path), "--in-this-process"]
    for name in ("target", "trials", "seconds", "patience", "strategy", "rounds", "seed"):
        words += [f"--{name}", str(getattr(args, name))]
    words += ["--dtype", args.dtype] if args.dtype else []
    words += ["--database", str(args.database)] if args.database else []
    try:
        subprocess.run([sys.executable, __file__, *words], check=True, timeout=args.limit_s)
    except subprocess.TimeoutExpired:
        print(f"{row.name}: {stage} was stopped after {args.limit_s:g} s")
    except subprocess.CalledProcessError as error:
        print(f"{row.name}: {stage} ended with status {error.returncode}")


def _run_stage(path: Path, args: argparse.Namespace) -> None:
    (row,), (stage,) = (r for r in select_rows(args.rows) if r.name == args.rows[0]), args.stages
    if args.dtype:
        row = replace(row, inputs={name: replace(t, dtype=args.dtype) for name, t in row.inputs.items()})
    stages: Mapping[str, Callable[..., dict[str, Any]]] = {"tune": _tune, "baselines": _baselines, "compare": _compare}
    result = stages[stage](row, args, _read(path)["rows"].get(row.name, {}))
    data = _read(path)
    data["rows"].setdefault(row.name, {})[stage] = {"date": datetime.now(UTC).isoformat(timespec="minutes"), **result}
    path.parent.mkdir(parents=True, exist_ok=True)
    new_file = path.with_suffix(".new")
    new_file.write_text(json.dumps({**_machine(args.target), "rows": data["rows"]}, indent=1) + "\n", encoding="utf-8")
    new_file.replace(path)


def _tune(row: Row, args: argparse.Namespace, _: Mapping[str, Any]) -> dict[str, Any]:
    budget = px.Budget(args.trials, args.seconds, args.patience, strategy=args.strategy)
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


def _baselines(row: Row, args: argparse.Namespace, results: Mapping[str, Any]) -> dict[str, Any]:
    rows = _time_all(row, args, results, 1)
    return {"absent": {r["name"]: r["note"] for r in rows if not r["samples"]}}


def _compare(row: Row, args: argparse.Namespace, results: Mapping[str, Any]) -> dict[str, Any]:
    end_measurement = _measure_other_share()
    rows = _time_all(row, args, results, args.rounds)
    print("\n".join(_lines(row.name, rows)))
    return {"rows": rows, "seed": args.seed, "others": end_measurement()}


def _measure_other_share() -> Callable[[], float | None]:
    """Begin to measure the share of the cores that other processes use, steal time included.

    Returns:
        A function that ends the measurement and returns the share; None where /proc/stat cannot be read.
    """

    def clocks() -> tuple[float, float, float] | None:
        try:
            ticks = Path("/proc/stat").read_text().splitlines()[0].split()[1:9]
        except OSError:
            return None
        user, nice, system, _, _, irq, softirq, steal = map(int, ticks)
        busy_s = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
        return time.monotonic(), busy_s, sum(os.times()[:4])

    before = clocks()

    def end() -> float | None:
        fork_server.end()
        after = clocks()
        if before is None or after is None:
            return None
        wall_s, busy_s, ours_s = (b - a for a, b in zip(before, after, strict=True))
        return min(1.0, max(0.0, busy_s - ours_s) / (wall_s * (os.cpu_count() or 1)))

    return end


def _time_all(row: Row, args: argparse.Namespace, results: Mapping[str, Any], rounds: int) -> list[dict[str, Any]]:
    """Time the tuned kernel and all baselines in one run."""
    if "tune" not in results:
        sys.exit(f"{row.name}: the file has no kernel; run the stage tune first")
    kernel = kernel_from_plain(results["tune"]["kernel"])
    task = px.Session(row.code, name=row.code.__name__, inputs=row.inputs, at=row.at, library=row.library_call).task
    found = compare_with_baselines(
        task.reference,
        kernel,
        px.target(args.target),
        Journal(),
        baselines=[b.name for b in BASELINES],
        library=task.library.call,
        more=(tvm_baseline.TVM_BASELINE,) if importlib.util.find_spec("tvm") and args.target == "cpu" else (),
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
        **run_header(machine),
        "target": asdict(machine),
        "versions": package_versions(),
        "absent": {} if importlib.util.find_spec("tvm") else {tvm_baseline.NAME: "tvm is not installed"},
    }


def _summary(data: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    """The summary of a row of a file; of a row on a GPU, processes on the cores disturb nothing."""
    compared = data["rows"].get(name, {}).get("compare", {})
    is_on_gpu = data.get("target", {}).get("kind") == "gpu"
    return row_summary(compared.get("rows", []), None if is_on_gpu else compared.get("others"))


def row_summary(rows: Sequence[Mapping[str, Any]], others: float | None = None) -> dict[str, Any] | None:
    """Summarize a row: our time, the limit's time over it, the best baseline, all ratios; None if it was not timed.

    Args:
        rows: the times of our kernel and of the baselines.
        others: the share of the cores that other processes used meanwhile; None if unknown.
    """
    timed = {r["name"]: r for r in rows if r["samples"]}
    ratios = {name: r["ratio"] for name, r in timed.items() if name not in (OURS, ROOFLINE)}
    if OURS not in timed or not ratios:
        return None
    best = min(ratios, key=lambda name: ratios[name])
    is_spread = any(r["ratio_p75"] > MAX_QUARTILE_RATIO * r["ratio_p25"] for r in timed.values())
    return {
        "us": timed[OURS]["time_s"] * 1e6,
        "limit": timed[ROOFLINE]["ratio"] if ROOFLINE in timed else None,
        "best": best,
        "ratio": ratios[best],
        "quartiles": (timed[best]["ratio_p25"], timed[best]["ratio_p75"]),
        "ratios": ratios,
        "disturbed": is_spread or (others or 0.0) > MAX_OTHER_SHARE,
    }


def print_table(data: Mapping[str, Any]) -> None:
    """Print the table of a file, with the geometric mean of each group."""
    if not data["rows"]:
        return
    print(f"{data['machine']}; {', '.join(f'{p} {v}' for p, v in data['versions'].items())}")
    titles = "".join(f"{title:>11}" for title in COLUMNS.values())
    print(f"{'row':<22}{'ours us':>9}{'of limit':>9}{'best other':>21}  [quartiles]  times ours:{titles}  date")
    for group in dict.fromkeys(row.group for row in ROWS):
        ratios: list[float] = []
        names = [row.name for row in ROWS if row.group == group]
        for name in names:
            results = data["rows"].get(name, {})
            if (found := _summary(data, name)) is None:
                continue
            if not found["disturbed"]:
                ratios.append(found["ratio"])
            limit = f"{found['limit']:.0%}" if found["limit"] else "-"
            others = "".join(f"{found['ratios'][n]:>11.2f}" if n in found["ratios"] else f"{'-':>11}" for n in COLUMNS)
            spread = "[{:.2f}, {:.2f}]".format(*found["quartiles"])
            best = f"{found['ratio']:.2f} {COLUMNS[found['best']]}"
            print(
                f"{name:<22}{found['us']:>9,.0f}{limit:>9}{best:>21}  {spread:<12} {'':>11}{others}"
                f"  {results['compare']['date']}{'  DISTURBED, not counted' if found['disturbed'] else ''}"
            )
        if ratios:
            mean = exp(sum(map(log, ratios)) / len(ratios))
            worst = min(ratios)
            print(f"{group}: geometric mean {mean:.2f} over {len(ratios)} of {len(names)} rows, least {worst:.2f}\n")
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
