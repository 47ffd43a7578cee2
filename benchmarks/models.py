"""Whole transformers models through torch.compile(model, backend="prism"): coverage, errors, times, build time.

    .venv/bin/python benchmarks/models.py                                  # 14 models, 1,024 wide
    .venv/bin/python benchmarks/models.py --models llama,gpt2 --phases prefill16,decode --seconds 5
    .venv/bin/python benchmarks/models.py --small --models bert            # 128 wide
    .venv/bin/python benchmarks/models.py --out rows.jsonl                 # rows that the file has are not repeated

Models have random weights and two layers; `model_zoo.py` has them. Each row runs in a process of its own, which is
ended after `--limit` seconds. A results file has the header in its first line, and then a line per row or failure,
written as soon as it is known. Each row is one phase of one model:

covered     computing nodes inside searched regions, of all nodes that compute floats
regions     regions, of which `different` were searched and `kernels` run a kernel
error       largest error of the result against float64, relative to the largest value, over that of torch eager
ratio       median over interleaved rounds of the default compiler's (or eager's) time over ours
build       seconds of the first call: partition, searches, tuning, races, and the default compiler's own compilation;
            first with an empty cache, then in another process with what the first one stored; torch's own cache of
            compiled code is that of the machine
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import geometric_mean, median
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch
from machine_info import package_versions, run_header
from model_zoo import FULL, MODELS, PHASES, SMALL, Call, Phase, Size, call_of

import prism_explore as px

RESULTS = Path(__file__).resolve().parent / "results"
ROUNDS = 15


@dataclass(frozen=True, slots=True)
class Row:
    """One phase of one model; times in seconds."""

    model: str
    phase: Phase
    dtype: str
    computing: int
    covered: int
    regions: int
    different: int
    kernels: int
    runs: str
    """What a call runs after the final race."""
    error: float
    eager_error: float
    ours_s: float
    eager_s: float
    compiled_s: float
    to_eager: float
    to_compiled: float
    build_s: float
    warm_build_s: float | None
    """With what the first build stored; None where it was not measured."""
    left: tuple[tuple[str, str], ...]
    """Per node in torch, its function and why."""
    report: str


def build(call: Call, dtype: torch.dtype, seconds: float) -> tuple[Any, px.TorchCompiler, torch.Tensor, float]:
    """The compiled model, its compiler, the result of the first call, and the seconds that this took."""
    compiler = px.TorchCompiler()
    compiler.budget = replace(compiler.budget, seconds=seconds)
    ours = torch.compile(call.model, backend=compiler, dynamic=False)
    start = time.perf_counter()
    found = call.run(ours, call.arguments(dtype))
    return ours, compiler, found, time.perf_counter() - start


def measure(name: str, phase: Phase, size: Size, dtype: torch.dtype, seconds: float, seed: int = 0) -> Row:
    """Build, check and time one row.

    Args:
        name: of `model_zoo.MODELS`.
        phase: one of its phases.
        size: widths and layers.
        dtype: of the weights.
        seconds: of tuning per region.
        seed: for weights, arguments and the order of rounds.
    """
    call = call_of(name, phase, size, dtype, seed=seed)
    ours, compiler, found, build_s = build(call, dtype, seconds)
    report = compiler.report()
    default = torch.compile(call.model, dynamic=False)
    ways = {"ours": ours, "eager": call.model, "compiled": default}
    times: dict[str, list[float]] = {w: [] for w in ways}
    rng, order = random.Random(seed), list(ways)
    for round_ in range(ROUNDS + 2):
        rng.shuffle(order)
        for way in order:
            arguments = call.arguments(dtype)
            begin = time.perf_counter()
            call.run(ways[way], arguments)
            if round_ >= 2:
                times[way].append(time.perf_counter() - begin)
    plain = call.run(call.model, call.arguments(dtype))
    exact = call.exact()
    scale = float(exact.abs().max())
    return Row(
        name,
        phase,
        str(dtype).removeprefix("torch."),
        sum(g.computing for g in report.graphs),
        sum(g.covered for g in report.graphs),
        len(report.outcomes),
        len({r.program for r in report.outcomes if r.program}),
        sum(r.replaced for r in report.outcomes),
        ", ".join(dict.fromkeys(g.race.winner for g in report.graphs if g.computing)),
        float((found.double() - exact).abs().max()) / scale,
        float((plain.double() - exact).abs().max()) / scale,
        *(median(times[w]) for w in ("ours", "eager", "compiled")),
        *(_ratio(times[w], times["ours"]) for w in ("eager", "compiled")),
        build_s,
        None,
        tuple(why for g in report.graphs for why in g.left),
        str(report),
    )


def _ratio(times: Sequence[float], ours: Sequence[float]) -> float:
    return median(a / b for a, b in zip(times, ours, strict=True))


def table(rows: Sequence[Row]) -> str:
    """The rows as a table."""
    cells = [
        (
            f"{r.model}, {r.phase}",
            f"{r.covered / max(1, r.computing):.0%} of {r.computing}",
            f"{r.regions} / {r.different} / {r.kernels}",
            f"{r.error / r.eager_error:.2f}" if r.eager_error else f"{r.error:.1e}",
            f"{r.ours_s * 1e3:.2f} ms",
            f"{r.to_compiled:.2f}x",
            f"{r.to_eager:.2f}x",
            r.runs,
            f"{r.build_s:.0f} s, {'?' if r.warm_build_s is None else f'{r.warm_build_s:.0f}'} s",
        )
        for r in rows
    ]
    heads = ("model", "covered", "regions / different / kernels", "error / eager's", "ours", "torch.compile", "eager")
    lines = [(*heads, "a call runs", "build, again"), ("---",) * 9, *cells]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def summary(rows: Sequence[Row]) -> str:
    """The geometric mean over the default compiler, and the worst row."""
    worst = min(rows, key=lambda r: r.to_compiled)
    mean = geometric_mean([r.to_compiled for r in rows])
    return f"{len(rows)} rows: geometric mean {mean:.2f}x over torch.compile; worst {worst.to_compiled:.2f}x, " + (
        f"{worst.model}, {worst.phase}"
    )


def measure_apart(name: str, phase: Phase, options: Sequence[str], limit_s: float) -> Row | str:
    """A row that is measured in processes of its own, or why there is none.

    Args:
        name: of the model.
        phase: of the model.
        options: of the command line, for the processes.
        limit_s: seconds for each of its two builds, with what is timed after the first one.
    """
    with TemporaryDirectory() as folder:
        own = {"PRISM_EXPLORE_CACHE": f"{folder}/cache"}
        log = Path(folder, "log")
        answers: list[Any] = []
        for part in ("row", "again"):
            answer = Path(folder, part)
            command = [sys.executable, __file__, "--models", name, "--phases", phase, *options, f"--{part}", answer]
            with log.open("w") as out:
                child = subprocess.Popen(
                    command, env={**os.environ, **own}, stdout=out, stderr=out, start_new_session=True
                )
                try:
                    child.wait(limit_s)
                except subprocess.TimeoutExpired:
                    failure = f"{part}: not ready after {limit_s:.0f} s"
                else:
                    failure = f"{part}: ended with {child.returncode}: {(log.read_text().splitlines() or [''])[-1]}"
                finally:
                    _end_group(child)
            if not answer.exists():
                return _row(answers[0]) if answers else failure
            answers.append(json.loads(answer.read_text()))
        return replace(_row(answers[0]), warm_build_s=answers[1])


def _end_group(child: subprocess.Popen[bytes]) -> None:
    """End a process and the workers that it started."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    child.wait()


def _row(found: dict[str, Any]) -> Row:
    return Row(**{**found, "left": tuple(map(tuple, found["left"]))})


def main() -> None:
    """Measure the rows that the arguments name, and write the results file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(MODELS), help="names, with commas")
    parser.add_argument("--phases", default=",".join(PHASES), help=f"of {', '.join(PHASES)}")
    parser.add_argument("--dtype", default="float32", choices=("float32", "bfloat16"))
    parser.add_argument("--small", action="store_true", help="128 wide instead of 1,024")
    parser.add_argument("--seconds", type=float, default=10.0, help="of tuning per region")
    parser.add_argument("--limit", type=float, default=900.0, help="seconds for a row; again for its second build")
    parser.add_argument("--note", default="", help="kept in the results file, such as: under load")
    parser.add_argument("--out", type=Path, help="the results file; rows that it has are not measured again")
    parser.add_argument("--row", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--again", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if unknown := set(args.models.split(",")) - set(MODELS):
        parser.error(f"no model {', '.join(sorted(unknown))}; there are {', '.join(MODELS)}")
    if unknown := set(args.phases.split(",")) - set(PHASES):
        parser.error(f"no phase {', '.join(sorted(unknown))}; there are {', '.join(PHASES)}")
    asked = [(m, p) for m in args.models.split(",") for p in MODELS[m].phases if p in args.phases.split(",")]
    dtype: torch.dtype = getattr(torch, args.dtype)
    size = SMALL if args.small else FULL
    if args.row is not None:
        args.row.write_text(json.dumps(asdict(measure(*asked[0], size, dtype, args.seconds))))
        return
    if args.again is not None:
        *_, seconds = build(call_of(*asked[0], size, dtype), dtype, args.seconds)
        args.again.write_text(json.dumps(seconds))
        return
    out = args.out or RESULTS / f"{datetime.now(UTC):%Y-%m-%d}-models.jsonl"
    rows = read_rows(out)
    if not out.exists():
        _append(out, {**run_header(), "versions": package_versions(), "note": args.note})
    options = ["--dtype", args.dtype, "--seconds", str(args.seconds), *(["--small"] if args.small else [])]
    for name, phase in asked:
        if any((r.model, r.phase, r.dtype) == (name, phase, args.dtype) for r in rows):
            continue
        match measure_apart(name, phase, options, args.limit):
            case Row() as row:
                rows.append(row)
                _append(out, asdict(row))
                print(table([row]).splitlines()[-1], flush=True)
            case why:
                _append(out, {"model": name, "phase": phase, "failed": why})
                print(f"{name}, {phase} failed: {why}", flush=True)
    if rows:
        print(table(rows), summary(rows), sep="\n\n")


def read_rows(path: Path) -> list[Row]:
    """The rows of a results file, without those that failed; none where there is no file."""
    lines = path.read_text().splitlines()[1:] if path.exists() else []
    return [_row(found) for line in lines if "failed" not in (found := json.loads(line))]


def _append(path: Path, line: dict[str, Any]) -> None:
    with path.open("a") as out:
        out.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
