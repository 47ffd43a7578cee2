"""Whole transformers models through torch.compile(model, backend="prism"): coverage, errors, times, build time.

    .venv/bin/python benchmarks/models.py                                  # 14 models, 1,024 wide
    .venv/bin/python benchmarks/models.py --models llama,gpt2 --phases prefill16,decode --seconds 5
    .venv/bin/python benchmarks/models.py --small --models bert            # 128 wide

Models have random weights and two layers; `model_zoo.py` has them. Each row is one phase of one model:

covered     computing nodes inside searched regions, of all nodes that compute floats
regions     regions, of which `different` were searched and `kernels` run a kernel
error       largest error of the result against float64, relative to the largest value, over that of torch eager
ratio       median over interleaved rounds of the default compiler's (or eager's) time over ours
build       seconds of the first call: partition, searches, tuning, races, and the default compiler's own compilation
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch
from machine_info import package_versions, run_header
from model_zoo import FULL, MODELS, PHASES, SMALL, Phase, Size, call_of

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
    left: tuple[tuple[str, str], ...]
    """Per node in torch, its function and why."""
    report: str


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
    compiler = px.TorchCompiler(budget=px.Budget(trials=16, seconds=seconds))
    torch.compiler.reset()
    ours = torch.compile(call.model, backend=compiler, dynamic=False)
    start = time.perf_counter()
    found = call.run(ours, call.arguments(dtype))
    build_s = time.perf_counter() - start
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
    exact = call.run(call.model.double(), call.arguments(torch.float64))
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
            f"{r.build_s:.0f} s",
        )
        for r in rows
    ]
    heads = ("model", "covered", "regions / different / kernels", "error / eager's", "ours", "torch.compile", "eager")
    lines = [(*heads, "a call runs", "build"), ("---",) * 9, *cells]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    """Measure the rows that the arguments name, and write the results file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(MODELS), help="names, with commas")
    parser.add_argument("--phases", default=",".join(PHASES), help=f"of {', '.join(PHASES)}")
    parser.add_argument("--dtype", default="float32", choices=("float32", "bfloat16"))
    parser.add_argument("--small", action="store_true", help="128 wide instead of 1,024")
    parser.add_argument("--seconds", type=float, default=10.0, help="of tuning per region")
    parser.add_argument("--note", default="", help="kept in the results file, such as: under load")
    parser.add_argument("--out", type=Path, help="the results file")
    args = parser.parse_args()
    if unknown := set(args.models.split(",")) - set(MODELS):
        parser.error(f"no model {', '.join(sorted(unknown))}; there are {', '.join(MODELS)}")
    out = args.out or RESULTS / f"{datetime.now(UTC):%Y-%m-%d}-models.json"
    rows: list[Row] = []
    failed: dict[str, str] = {}
    for name in args.models.split(","):
        for phase in (p for p in MODELS[name].phases if p in args.phases.split(",")):
            try:
                dtype: torch.dtype = getattr(torch, args.dtype)
                rows.append(measure(name, phase, SMALL if args.small else FULL, dtype, args.seconds))
                print(table(rows[-1:]).splitlines()[-1], flush=True)
            except Exception as failure:  # one model must not end the run; the file says which failed
                failed[f"{name}, {phase}"] = f"{type(failure).__name__}: {str(failure).splitlines()[0]}"
                print(f"{name}, {phase} failed: {failed[f'{name}, {phase}']}", flush=True)
            found: dict[str, Any] = {**run_header(), "versions": package_versions(), "note": args.note}
            out.write_text(json.dumps({**found, "rows": [asdict(r) for r in rows], "failed": failed}, indent=1) + "\n")
    print(table(rows))


if __name__ == "__main__":
    main()
