"""Triton kernels of the proved families, without a GPU: run in Triton's interpreter and compiled ahead of time.

    .venv/bin/python benchmarks/triton_kernels.py
    .venv/bin/python benchmarks/triton_kernels.py gqa lora --arch sm_80 sm_90 --every --json

Every workload is searched with the default settings. Of each family, the first candidate that has legal sizes for the
target is used. Its kernels are run at small sizes in Triton's interpreter and compared with float64; then they are
compiled for each architecture, for at most `--most` families per workload. Nothing is timed. With `--every` all
candidates are emitted and run at small sizes, also those without legal sizes at the shapes of the workload.

The shared memory that the compiler reports is compared with the prediction: the bytes of the tiles in shared memory
times the number of pipeline stages.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

import prism_explore as px
from prism_explore.codegen.triton.aot import AotCompiler
from prism_explore.codegen.triton.emit import emit_triton, triton_module
from prism_explore.codegen.triton.heuristics import choose_sizes
from prism_explore.codegen.triton.interpreter_check import Interpreter, InterpreterCheck
from prism_explore.codegen.triton.plan import Obstacle, plan_kernels
from prism_explore.events.journal import Journal
from prism_explore.ir.ops import MatMul
from prism_explore.pipeline.stages import Kernel, Parameters, Verified
from prism_explore.search.explore import Progress, Steering, explore
from prism_explore.targets.gpus import ARCHITECTURES
from prism_explore.tune.gpu_preview import check_at_small_sizes, dots_of

DEFAULT_ARCHITECTURES = ("sm_80", "sm_90", "sm_100", "gfx942")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Run the proved families in Triton's interpreter, and compile them.")
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help="names of `prism-explore list`; default: all")
    parser.add_argument("--target", default="h100", help="machine for which sizes are chosen")
    parser.add_argument(
        "--arch",
        nargs="*",
        choices=list(ARCHITECTURES),
        default=list(DEFAULT_ARCHITECTURES),
        help="architectures to compile for",
    )
    parser.add_argument("--most", type=int, default=1000, help="largest number of families per workload to compile")
    parser.add_argument(
        "--every", action="store_true", help="run every candidate in the interpreter, not one per family"
    )
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument("--in-this-process", action="store_true", help="run one workload in this process; print JSON")
    args = parser.parse_args(argv)
    known = [w.name for w in px.WORKLOADS]
    if unknown := sorted(set(args.workloads) - set(known)):
        parser.error(f"no workload {', '.join(unknown)}; there are {', '.join(known)}")
    if args.in_this_process:
        print(json.dumps(_row(args.workloads[0], args)))
        return
    rows: list[dict[str, Any]] = []
    if not args.json:
        print(f"triton {version('triton')}, torch {version('torch')}, sizes for {args.target}")
    for name in args.workloads or known:
        words = [name, "--in-this-process", "--target", args.target, "--most", str(args.most), "--arch", *args.arch]
        words += ["--every"] if args.every else []
        command = [sys.executable, __file__, *words]
        output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        rows.append(json.loads(output))
        if not args.json:
            _print(rows[-1])
    if args.json:
        print(json.dumps({"triton": version("triton"), "target": args.target, "rows": rows}, indent=1))


def _row(name: str, args: argparse.Namespace) -> dict[str, Any]:
    workload = px.workload(name)
    session = px.Session(workload.code, name=name, inputs=workload.inputs, at=workload.at, target=args.target)
    progress, shapes = Progress(), dict(session.task.shapes)
    for _ in explore(session.task, Journal(), Steering, progress):
        pass
    families: dict[str, list[Verified]] = {}
    for verified in progress.proved:
        families.setdefault(verified.candidate.family.id, []).append(verified)
    with Interpreter() as interpreter, AotCompiler() as compiler:
        rows: list[dict[str, Any]] = []
        for family, verifieds in families.items():
            archs = args.arch if sum("candidate" in row for row in rows) < args.most else []
            rows.append(_family(family, verifieds, shapes, args.target, archs, interpreter, compiler))
        every = list(_check_every(progress.proved, interpreter)) if args.every else []
    return {"workload": name, "candidates": len(progress.proved), "families": rows, "every": every}


def _family(
    name: str,
    verifieds: Sequence[Verified],
    shapes: Mapping[str, int],
    machine: str,
    archs: Sequence[str],
    interpreter: Interpreter,
    compiler: AotCompiler,
) -> dict[str, Any]:
    """Check and compile the first candidate with legal sizes; without one, report why there is none."""
    target, reason = px.target(machine), ""
    for verified in verifieds:
        sizes = choose_sizes(verified.candidate.sgraph, shapes, target)
        kernel = emit_triton(verified, sizes, shapes, target) if isinstance(sizes, Parameters) else sizes
        if isinstance(kernel, Kernel):
            return _check_and_compile(name, kernel, archs, interpreter, compiler)
        reason = reason or kernel.reason
    agrees, message = _check(verifieds[0], Parameters(()), _products(verifieds[0]), interpreter)
    return {"family": name, "reason": reason, "agrees": agrees, "message": message}


def _check_and_compile(
    name: str, kernel: Kernel, archs: Sequence[str], interpreter: Interpreter, compiler: AotCompiler
) -> dict[str, Any]:
    candidate = kernel.verified.candidate
    agrees, message = _check(kernel.verified, kernel.parameters, dots_of(kernel), interpreter)
    sizes = {**dict(kernel.shapes), **kernel.parameters.numbers}
    plans = plan_kernels(candidate.sgraph, sizes, kernel.parameters)
    assert not isinstance(plans, Obstacle), "the kernel was emitted from such a plan"
    module = triton_module(kernel)
    predicted = [p.staged_bytes * module.num_stages for p in plans]
    row: dict[str, Any] = {"family": name, "candidate": candidate.id, "sizes": str(kernel.parameters)}
    row |= {"agrees": agrees, "message": message, "predicted": predicted, "compiled": {}}
    for arch in archs:
        found = compiler.compile(module, arch)
        row["compiled"][arch] = found.reason if isinstance(found, Obstacle) else [asdict(r) for r in found]
    return row


def _check_every(proved: Sequence[Verified], interpreter: Interpreter) -> Iterator[dict[str, Any]]:
    for verified in proved:
        agrees, message = _check(verified, Parameters(()), _products(verified), interpreter)
        yield {"candidate": verified.candidate.id, "agrees": agrees, "message": message}


def _products(verified: Verified) -> dict[int, frozenset[int]]:
    """Per custom kernel, all matrix products: each uses `tl.dot` if that is possible."""
    return {
        position: frozenset(j for j, n in enumerate(block.nodes) if isinstance(n.op, MatMul))
        for position, block in verified.candidate.sgraph.customs
    }


def _check(
    verified: Verified, parameters: Parameters, dots: Mapping[int, frozenset[int]], interpreter: Interpreter
) -> tuple[bool, str]:
    found = check_at_small_sizes(verified.candidate, parameters, dots, interpreter)
    if not isinstance(found, InterpreterCheck):
        return False, found.reason
    return found.agrees, f"error {found.error:.0e}, tolerance {found.tolerance:.0e}"


def _print(row: Mapping[str, Any]) -> None:
    families = row["families"]
    with_sizes = [f for f in families if "candidate" in f]
    print(
        f"{row['workload']}: {len(families)} families, {sum(f['agrees'] for f in families)} agree in the interpreter, "
        f"{len(with_sizes)} have legal sizes at its shapes"
    )
    for f in families:
        if not f["agrees"]:
            print(f"  {f['family']} NOT CONFIRMED: {f['message']}")
        if "reason" in f:
            print(f"  {f['family']}: {f['reason']}")
    if row["every"]:
        print(f"  {sum(e['agrees'] for e in row['every'])} of {len(row['every'])} candidates agree")
        for message, count in Counter(e["message"] for e in row["every"] if not e["agrees"]).most_common():
            print(f"    {count} do not: {message}")
    with_sizes = [f for f in with_sizes if f["compiled"]]
    for arch in dict.fromkeys(a for f in with_sizes for a in f["compiled"]):
        reports = [(f, r, p) for f in with_sizes if not isinstance(f["compiled"][arch], str)
                   for r, p in zip(f["compiled"][arch], f["predicted"], strict=True)]  # fmt: skip
        if reports:
            print(f"  {arch:<7} {_summary(reports)}")
        for f in with_sizes:
            if isinstance(f["compiled"][arch], str):
                print(f"    {f['candidate']}: {f['compiled'][arch].splitlines()[0]}")
    sys.stdout.flush()


def _summary(reports: Sequence[tuple[Mapping[str, Any], Mapping[str, Any], int]]) -> str:
    """The extremes over the kernels of one workload on one architecture."""
    registers = [r["registers"] for _, r, _ in reports]
    spilled = [r["spill_bytes"] for _, r, _ in reports if r["spill_bytes"]]
    shared = [r["shared_memory_bytes"] for _, r, _ in reports]
    ratios = [(r["shared_memory_bytes"] / p, f["candidate"]) for f, r, p in reports if p]
    text = f"{len(reports)} kernels: registers {min(registers)} to {max(registers)}, {len(spilled)} spill"
    text += f" (at most {max(spilled):,} B)" if spilled else ""
    text += f", shared memory {min(shared):,} to {max(shared):,} B"
    if ratios:
        (low, at_low), (high, at_high) = min(ratios), max(ratios)
        text += f", {low:.2f} ({at_low}) to {high:.2f} ({at_high}) of the prediction"
    return text


if __name__ == "__main__":
    main(sys.argv[1:])
