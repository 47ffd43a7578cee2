"""Time to a kernel: how long a search with default options takes, and when each part of its answer is known.

    .venv/bin/python benchmarks/time_to_kernel.py
    .venv/bin/python benchmarks/time_to_kernel.py W1.8 layernorm_linear --replay --out results.json

The rows are those of `kernel_workloads.py` and regions of Hugging Face models. Each runs twice in processes of its own,
with an empty cache and with the cache that the first run filled. Times are seconds of wall time from the start of the
search. `session_s` is that of `px.Session(...)` after torch was imported; other processes import meanwhile what workers
need. `cpu_s` is the CPU time of the process, its workers included. With `--replay` a third run makes 64 trials, and the
rule of the default budget is replayed on them: after how many it would have stopped, and how much slower its best
kernel is than the best of all. A run that fails or takes longer than `--limit` becomes an `error`, and the next row
follows.

Nothing else should run on the machine: kernels are timed on all cores. `load` is the load average at the start.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import prism_explore as px
from benchmarks.kernel_workloads import Row, select_rows
from benchmarks.machine_info import package_versions, run_header
from prism_explore.events.journal import Entry
from prism_explore.events.kinds import (
    BaselineMeasured,
    CertificateReplayed,
    ExplorationFinished,
    IncumbentImproved,
    TrialFailed,
    TrialMeasured,
    VerdictReached,
)
from prism_explore.ir.tensors import tensor as T
from prism_explore.tune.budget import BUDGETS, Budget
from prism_explore.tune.runner import fork_server

CLOSE = 1.05
"""A kernel that takes at most this many times as long as the final best is close to it."""

MOMENTS = ("proved_s", "timed_s", "close_s", "certified_s", "rivals_s", "done_s")
"""First proved candidate; first timed kernel; first one close to the final best; certificate; final race; the end."""


# ---------------------------------------------------------------- regions of Hugging Face models, 1,024 wide
def layernorm_linear(x: Any, g: Any, c: Any, w: Any, b: Any) -> Any:
    import torch.nn.functional as F

    return F.linear(F.layer_norm(x, (x.shape[-1],), g, c), w, b)


def gelu_linear(x: Any, w: Any, b: Any) -> Any:
    import torch.nn.functional as F

    return F.gelu(F.linear(x, w, b), approximate="tanh")


def residual_rmsnorm(x: Any, y: Any, g: Any) -> Any:
    import torch.nn.functional as F

    return F.rms_norm(x + y, (x.shape[-1],), g, eps=1e-6)


def linear_residual(x: Any, y: Any, w: Any) -> Any:
    import torch.nn.functional as F

    return F.linear(x, w) + y


def silu_gate(x: Any, y: Any) -> Any:
    import torch.nn.functional as F

    return F.silu(x) * y


def regions() -> tuple[Row, ...]:
    """The rows of Hugging Face models: parts of Llama, Qwen3, GPT-2 and BERT."""
    x, g, w = T("b", 1024), T(1024), T(1024, 1024)
    found: tuple[tuple[Callable[..., Any], Mapping[str, Any]], ...] = (
        (layernorm_linear, {"x": x, "g": g, "c": g, "w": w, "b": g}),
        (gelu_linear, {"x": x, "w": T(4096, 1024), "b": T(4096)}),
        (residual_rmsnorm, {"x": x, "y": x, "g": g}),
        (linear_residual, {"x": x, "y": x, "w": w}),
        (silu_gate, {"x": T("b", 2816), "y": T("b", 2816)}),
    )
    return tuple(Row(code.__name__, code, inputs, {"b": 8}, "published") for code, inputs in found)


def rows_of(names: Sequence[str]) -> tuple[Row, ...]:
    """The rows with these names; those of the README and all regions if there are none."""
    known = {row.name: row for row in regions()}
    own = tuple(known[name] for name in names if name in known)
    others = [name for name in names if name not in known]
    if not names:
        return (*select_rows(["reported"]), *known.values())
    return (*(select_rows(others) if others else ()), *own)


# ---------------------------------------------------------------- one run
def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Seconds from a program to its kernel.")
    parser.add_argument("rows", nargs="*", metavar="ROW", help="names of rows; default: the reported ones and regions")
    parser.add_argument(
        "--replay", action="store_true", help="also make 64 trials, and replay the default budget on them"
    )
    parser.add_argument("--limit", type=float, default=300.0, help="seconds after which a run is ended (300)")
    parser.add_argument("--out", type=Path, help="write the results to this file")
    parser.add_argument("--in-this-process", choices=BUDGETS, help="run one row in this process; print JSON")
    args = parser.parse_args(argv)
    rows = rows_of(args.rows)
    if args.in_this_process:
        print(json.dumps(measure(rows[0], BUDGETS[args.in_this_process])))
        return
    results: list[dict[str, Any]] = []
    found = {**run_header(), "packages": package_versions(), "load": os.getloadavg()[0], "rows": results}
    for row in rows:
        result: dict[str, Any] = {"row": row.name}
        results.append(result)
        with tempfile.TemporaryDirectory() as folder:
            for run in ("first", "again"):
                result[run] = _run_in_subprocess(row.name, "quick", folder, args.limit)
        if args.replay:
            thorough = _run_in_subprocess(row.name, "thorough", "off", args.limit)
            result["replay"] = thorough if "error" in thorough else replay(thorough["trial_times_s"], BUDGETS["quick"])
        print(summary(result), flush=True)
        if args.out:
            args.out.write_text(json.dumps(found, indent=1) + "\n")


def summary(result: Mapping[str, Any]) -> str:
    """A row's runs in one line."""
    first, again = result["first"], result["again"]
    if "error" in first:
        return f"{result['row']}: {first['error']}"
    known = ", ".join(f"{name.removesuffix('_s')} {first[name]:.1f}" for name in MOMENTS if first[name] is not None)
    repeated = again["error"] if "error" in again else f"{again['done_s'] + again['best_s']:.2f} s"
    return (
        f"{result['row']}: {known} s, {first['cpu_s']:.1f} CPU s; again {repeated} {result.get('replay', '')}".rstrip()
    )


def _run_in_subprocess(name: str, budget: str, cache: str, limit_s: float) -> dict[str, Any]:
    command = [sys.executable, __file__, name, "--in-this-process", budget]
    return last_json_line(command, {**os.environ, "PRISM_EXPLORE_CACHE": cache}, limit_s)


def last_json_line(command: Sequence[str], environment: Mapping[str, str], limit_s: float) -> dict[str, Any]:
    """What a process prints last, as JSON; `error` alone where it fails or takes longer than `limit_s` seconds."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
    )
    try:
        out, err = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return {"error": f"not done after {limit_s:g} s"}
    if process.returncode != 0 or not out.strip():
        lines = err.strip().splitlines()
        return {"error": f"exit status {process.returncode}: {lines[-1] if lines else 'nothing was said'}"}
    return json.loads(out.strip().splitlines()[-1])


def measure(row: Row, budget: Budget) -> dict[str, Any]:
    """Search a row to its end, and ask for the best kernel."""
    import torch

    torch.manual_seed(0)
    px.target("cpu")  # measured once per machine
    began_s = perf_counter()
    session = px.Session(row.code, name=row.name, inputs=row.inputs, at=row.at, budget=budget)
    session_s, began_s = perf_counter() - began_s, perf_counter()
    session.run()
    done_s, asked_s = perf_counter() - began_s, perf_counter()
    best = session.best()
    best_s = perf_counter() - asked_s
    found = {"session_s": session_s, **moments(session.journal.entries), "best_s": best_s}
    session.close()
    fork_server.end()
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return {
        **found,
        "done_s": done_s,
        "cpu_s": sum(u.ru_utime + u.ru_stime for u in used),
        "runs": getattr(best, "implementation", ""),
        "trial_times_s": [
            e.event.time_s if isinstance(e.event, TrialMeasured) else None
            for e in session.journal.entries
            if isinstance(e.event, TrialMeasured | TrialFailed)
        ],
    }


def moments(entries: Sequence[Entry]) -> dict[str, float | None]:
    """Seconds from the first event to each of `MOMENTS`; None for what did not happen."""
    improved = [(e.at_s, e.event.time_s) for e in entries if isinstance(e.event, IncumbentImproved)]
    final_s = min((time_s for _, time_s in improved), default=0.0)

    def first(kind: type) -> float | None:
        return next((e.at_s for e in entries if isinstance(e.event, kind)), None)

    return {
        "proved_s": next(
            (e.at_s for e in entries if isinstance(e.event, VerdictReached) and e.event.verdict == "proved"), None
        ),
        "timed_s": first(TrialMeasured),
        "close_s": next((at_s for at_s, time_s in improved if time_s <= CLOSE * final_s), None),
        "certified_s": first(CertificateReplayed),
        "rivals_s": first(BaselineMeasured),
        "done_s": first(ExplorationFinished),
    }


def replay(times_s: Sequence[float | None], budget: Budget) -> dict[str, float]:
    """Where a budget's patience would have ended a longer run, and what was lost.

    Args:
        times_s: of the trials in their order, as ratios to the incumbents; None for a failure.
        budget: the patience, and the share that counts as a gain.

    Returns:
        `trials`: after how many it would have ended; `loss`: by which share its best kernel is slower than the best of
        all trials.
    """
    best = mark = float("inf")
    idle = count = 0
    for time_s in times_s:
        if idle >= budget.patience:
            break
        count += 1
        best = min(best, float("inf") if time_s is None else time_s)
        idle, mark = (0, best) if best < mark * (1 - budget.gain) else (idle + 1, mark)
    all_best = min((t for t in times_s if t is not None), default=best)
    return {"trials": count, "loss": best / all_best - 1 if all_best else 0.0}


if __name__ == "__main__":
    main()
