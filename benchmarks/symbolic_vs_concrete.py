"""Symbolic search against concrete enumeration: states visited until all families are found, as programs grow.

    .venv/bin/python benchmarks/symbolic_vs_concrete.py
    .venv/bin/python benchmarks/symbolic_vs_concrete.py --numbers 2 --states 10000000 --json

There are three series. `operators`: a linear layer followed by zero, one, two, ... functions. `sizes`: RMSNorm and a
linear layer of 64, 256, ... channels; grid sizes and loop ranges are powers of 2 up to the number of channels.
`workloads`: some workloads of `prism-explore list`. Seconds are CPU seconds. The enumeration stops at its budget; then
its count is a lower bound.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import prism_explore as px
from benchmarks.machine_info import run_header
from prism_explore.diagnose.concrete_baseline import STATES, TIME_S, ConcreteComparison
from prism_explore.diagnose.concrete_enumerator import ConcreteSizes
from prism_explore.frontend import trace
from prism_explore.ir.program import ProgramBuilder, TensorProgram

FUNCTIONS = ("silu", "exp", "tanh", "sigmoid", "relu")
WORKLOADS = ("rmsnorm_linear_bare", "swiglu", "lora", "attention")
BAR_CHARACTERS = 40


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="States visited by symbolic search and by concrete enumeration.")
    parser.add_argument(
        "--numbers", type=int, default=0, metavar="N", help="number of grid sizes and of loop ranges per dim"
    )
    parser.add_argument("--states", type=int, default=STATES, help="state budget of the enumeration")
    parser.add_argument("--seconds", type=float, default=TIME_S, help="time budget of the enumeration, in CPU seconds")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    args = parser.parse_args(argv)
    header = run_header()
    rows: list[dict[str, object]] = []
    if not args.json:
        print(", ".join(header.values()))
    for series, program, at, numbers in _cases(args.numbers):
        found = px.compare_with_concrete(program, at, sizes=numbers, states=args.states, time_s=args.seconds)
        rows.append(_row(series, found))
        if not args.json:
            _print(series, found)
    if args.json:
        print(json.dumps({**header, "rows": rows}, indent=1))


def _cases(count: int) -> Iterator[tuple[str, TensorProgram, dict[str, int], ConcreteSizes]]:
    default_sizes = ConcreteSizes(_powers(count), _powers(count)) if count else ConcreteSizes()
    for n in range(len(FUNCTIONS) + 1):
        yield "operators", chain(n), {"b": 16}, default_sizes
    for d in (64, 256, 1024, 4096):
        powers = _powers(int(math.log2(d)))
        yield "sizes", rmsnorm_linear(d), {"b": 16}, ConcreteSizes(powers, powers)
    for name in WORKLOADS:
        row = px.workload(name)
        program = trace(row.code, row.inputs, name).program
        yield "workloads", program, dict(row.at), default_sizes


def _powers(count: int) -> tuple[int, ...]:
    return tuple(2**n for n in range(1, count + 1))


def chain(functions: int) -> TensorProgram:
    """A linear layer, then this number of elementwise functions."""
    b = ProgramBuilder(f"linear_and_{functions}")
    y = b.matmul(b.input("x", "b", 4096), b.input("w", 4096, 4096))
    for fn in FUNCTIONS[:functions]:
        y = b.unary(fn, y)
    return b.build(y)


def rmsnorm_linear(d: int) -> TensorProgram:
    """RMSNorm and a linear layer as the papers write them, with `d` channels."""
    b = ProgramBuilder(f"rmsnorm_linear_{d}")
    x, w = b.input("x", "b", d), b.input("w", d, d)
    return b.build(b.matmul(b.binary("div", x, b.reduce("rms", x, 1)), w))


def _row(series: str, found: ConcreteComparison) -> dict[str, object]:
    return {
        "series": series,
        "program": found.program,
        "symbolic_states": found.states,
        "symbolic_s": found.symbolic_s,
        "symbolic_families": found.families,
        "concrete_states": found.concrete.states,
        "concrete_maps_counted": found.concrete.maps,
        "concrete_maps_begun": found.concrete.searched,
        "concrete_grown": found.concrete.kept,
        "concrete_s": found.concrete_s,
        "concrete_families": len(found.concrete.families),
        "common_families": found.common,
        "concrete_stopped": found.concrete.out_of_budget,
    }


def _print(series: str, found: ConcreteComparison) -> None:
    print(f"\n{series}: {found!r}; {found.common} families in both")
    for what, states in (("symbolic", found.states), ("concrete", found.concrete.states)):
        print(
            f"  {what}  {'#' * round(BAR_CHARACTERS * math.log10(max(states, 1)) / 9):<{BAR_CHARACTERS}} {states:,}",
            flush=True,
        )


if __name__ == "__main__":
    main()
