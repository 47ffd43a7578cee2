"""What the proved families become on GPUs that are not here: Triton, checked in its interpreter and compiled ahead.

    .venv/bin/python benchmarks/triton_kernels.py
    .venv/bin/python benchmarks/triton_kernels.py gqa lora --arch sm_80 sm_90 --every --json

Of every family of every workload's default search, the first candidate that has numbers for the target: its kernels are
run at small sizes in Triton's interpreter against float64, and compiled for each architecture, the first `--most` of a
workload. Nothing is timed. With `--every` all candidates are written at small sizes and run, also those that have no
numbers at the workload's shapes.

Shared memory is compared with what was predicted for it before the compiler was asked: the tiles that go through shared
memory, times the stages.
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

ASKED = ("sm_80", "sm_90", "sm_100", "gfx942")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="The proved families as Triton kernels, checked and compiled.")
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help="names of `prism-explore list`; none for all")
    parser.add_argument("--target", default="h100", help="whose limits and figures the numbers are chosen for")
    parser.add_argument("--arch", nargs="*", choices=list(ARCHITECTURES), default=list(ASKED))
    parser.add_argument("--most", type=int, default=1000, help="families of a workload that are compiled")
    parser.add_argument("--every", action="store_true", help="check every candidate, not one of each family")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--here", action="store_true", help="in this process: one workload, one row of JSON")
    args = parser.parse_args(argv)
    known = [w.name for w in px.WORKLOADS]
    if strangers := sorted(set(args.workloads) - set(known)):
        parser.error(f"no workload {', '.join(strangers)}; there are {', '.join(known)}")
    if args.here:
        print(json.dumps(_row(args.workloads[0], args)))
        return
    rows: list[dict[str, Any]] = []
    if not args.json:
        print(f"triton {version('triton')}, torch {version('torch')}, numbers for {args.target}")
    for name in args.workloads or known:
        words = [name, "--here", "--target", args.target, "--most", str(args.most), "--arch", *args.arch]
        words += ["--every"] if args.every else []
        said = subprocess.run([sys.executable, __file__, *words], check=True, stdout=subprocess.PIPE, text=True).stdout
        rows.append(json.loads(said))
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
        every = list(_every(progress.proved, interpreter)) if args.every else []
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
    """The first candidate with numbers, checked and compiled; or why none has any."""
    target, why = px.target(machine), ""
    for verified in verifieds:
        numbers = choose_sizes(verified.candidate.sgraph, shapes, target)
        made = emit_triton(verified, numbers, shapes, target) if isinstance(numbers, Parameters) else numbers
        if isinstance(made, Kernel):
            return _compiled(name, made, archs, interpreter, compiler)
        why = why or made.reason
    checked, said = _checked(verifieds[0], Parameters(()), _products(verifieds[0]), interpreter)
    return {"family": name, "why": why, "agrees": checked, "said": said}


def _compiled(
    name: str, made: Kernel, archs: Sequence[str], interpreter: Interpreter, compiler: AotCompiler
) -> dict[str, Any]:
    candidate = made.verified.candidate
    agrees, said = _checked(made.verified, made.parameters, dots_of(made), interpreter)
    numbers = {**dict(made.shapes), **made.parameters.numbers}
    plans = plan_kernels(candidate.sgraph, numbers, made.parameters)
    assert not isinstance(plans, Obstacle), "it was written"
    module = triton_module(made)
    predicted = [p.staged_bytes * module.num_stages for p in plans]
    row: dict[str, Any] = {"family": name, "candidate": candidate.id, "numbers": str(made.parameters)}
    row |= {"agrees": agrees, "said": said, "predicted": predicted, "compiled": {}}
    for arch in archs:
        found = compiler.compile(module, arch)
        row["compiled"][arch] = found.reason if isinstance(found, Obstacle) else [asdict(r) for r in found]
    return row


def _every(proved: Sequence[Verified], interpreter: Interpreter) -> Iterator[dict[str, Any]]:
    for verified in proved:
        agrees, said = _checked(verified, Parameters(()), _products(verified), interpreter)
        yield {"candidate": verified.candidate.id, "agrees": agrees, "said": said}


def _products(verified: Verified) -> dict[int, frozenset[int]]:
    """All products, so that they go to `tl.dot` wherever they can."""
    return {
        position: frozenset(j for j, n in enumerate(block.nodes) if isinstance(n.op, MatMul))
        for position, block in verified.candidate.sgraph.customs
    }


def _checked(
    verified: Verified, parameters: Parameters, dots: Mapping[int, frozenset[int]], interpreter: Interpreter
) -> tuple[bool, str]:
    found = check_at_small_sizes(verified.candidate, parameters, dots, interpreter)
    if not isinstance(found, InterpreterCheck):
        return False, found.reason
    return found.agrees, f"error {found.error:.0e}, {found.tolerance:.0e} is forgiven"


def _print(row: Mapping[str, Any]) -> None:
    families = row["families"]
    fitted = [f for f in families if "candidate" in f]
    print(
        f"{row['workload']}: {len(families)} families, {sum(f['agrees'] for f in families)} agree in the interpreter, "
        f"{len(fitted)} have numbers at its shapes"
    )
    for f in families:
        if not f["agrees"]:
            print(f"  {f['family']} NOT CONFIRMED: {f['said']}")
        if "why" in f:
            print(f"  {f['family']}: {f['why']}")
    if row["every"]:
        print(f"  {sum(e['agrees'] for e in row['every'])} of {len(row['every'])} candidates agree")
        for said, count in Counter(e["said"] for e in row["every"] if not e["agrees"]).most_common():
            print(f"    {count} not: {said}")
    fitted = [f for f in fitted if f["compiled"]]
    for arch in dict.fromkeys(a for f in fitted for a in f["compiled"]):
        reports = [(f, r, p) for f in fitted if not isinstance(f["compiled"][arch], str)
                   for r, p in zip(f["compiled"][arch], f["predicted"], strict=True)]  # fmt: skip
        if reports:
            print(f"  {arch:<7} {_summary(reports)}")
        for f in fitted:
            if isinstance(f["compiled"][arch], str):
                print(f"    {f['candidate']}: {f['compiled'][arch].splitlines()[0]}")
    sys.stdout.flush()


def _summary(reports: Sequence[tuple[Mapping[str, Any], Mapping[str, Any], int]]) -> str:
    """Extremes over the kernels of one workload on one architecture."""
    registers = [r["registers"] for _, r, _ in reports]
    spilled = [r["spill_bytes"] for _, r, _ in reports if r["spill_bytes"]]
    shared = [r["shared_memory_bytes"] for _, r, _ in reports]
    held = [(r["shared_memory_bytes"] / p, f["candidate"]) for f, r, p in reports if p]
    text = f"{len(reports)} kernels: registers {min(registers)} to {max(registers)}, {len(spilled)} spill"
    text += f" (at most {max(spilled):,} B)" if spilled else ""
    text += f", shared memory {min(shared):,} to {max(shared):,} B"
    if held:
        (low, at_low), (high, at_high) = min(held), max(held)
        text += f", {low:.2f} ({at_low}) to {high:.2f} ({at_high}) of the predicted"
    return text


if __name__ == "__main__":
    main(sys.argv[1:])
