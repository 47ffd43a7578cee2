"""Ablation of the pruning rules: nodes, CPU seconds and families with all rules on, and with each rule off.

    .venv/bin/python benchmarks/ablation.py
    .venv/bin/python benchmarks/ablation.py swiglu lora --rules expr.unreachable limit.needed --nodes 200000 --json

Only generation is measured: CPU seconds from a program to its last family, without proofs. Later stages refute the
wrong families that a disabled rule lets through. Without some rules a search does not end. It then stops at its budget,
the table marks it, and its figures are lower bounds.

Families are compared by their canonical form. `lost` counts the families of the search with all rules that the other
search has not; it is 0 unless a budget ended that search. `new` counts its additional families: duplicates, wrong
families, or families outside the stated space.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import prism_explore as px
from benchmarks.machine_info import run_header
from prism_explore.events.journal import Journal
from prism_explore.events.ledger import ledger
from prism_explore.generate import generate
from prism_explore.generate.canonical_order import ExpressionNumbers
from prism_explore.generate.pruning.rules import RULE_NAMES
from prism_explore.targets import GPUS

DEFAULT_WORKLOADS = ("rmsnorm_linear_bare", "swiglu", "attention", "qk_norm_attention", "lora")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Nodes, CPU seconds and families with each pruning rule off.")
    parser.add_argument(
        "workloads",
        nargs="*",
        metavar="WORKLOAD",
        help=f"names of `prism-explore list`; default: {', '.join(DEFAULT_WORKLOADS)}",
    )
    parser.add_argument(
        "--rules",
        nargs="*",
        metavar="RULE",
        choices=RULE_NAMES,
        default=RULE_NAMES,
        help="rules to disable, one at a time",
    )
    parser.add_argument("--nodes", type=int, default=20_000, help="node budget of a search")
    parser.add_argument("--seconds", type=float, default=60.0, help="time budget of a search, in CPU seconds")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    args = parser.parse_args(argv)
    header = run_header()
    rows: list[dict[str, Any]] = []
    if not args.json:
        print(", ".join(header.values()))
    for name in args.workloads or DEFAULT_WORKLOADS:
        rows += _rows(name, args.rules, args.nodes, args.seconds, quiet=args.json)
    if args.json:
        print(json.dumps({**header, "rows": rows}, indent=1))


def _rows(name: str, rules: Sequence[str], nodes: int, seconds: float, quiet: bool) -> list[dict[str, Any]]:
    """One row per rule; the first row has all rules on."""
    workload = px.workload(name)
    session = px.Session(workload.code, name=name, inputs=workload.inputs, at=workload.at, target="h100")
    expressions = ExpressionNumbers()
    rows: list[dict[str, Any]] = []
    baseline_families: set[int] = set()
    if not quiet:
        print(
            f"\n{name}\n  {'rule off':<20}{'nodes':>10}{'pruned':>10}{'CPU s':>9}{'families':>10}{'lost':>6}{'new':>8}"
        )
    for rule in ("", *rules):
        space = replace(session.task.space, nodes=nodes, families=nodes, rules_off=frozenset({rule} - {""}))
        row, families = _generate(session.task.program, space, expressions, seconds)
        if not rule:
            baseline_families = families
        rows.append({"workload": name, "off": rule, **row, **_difference(baseline_families, families)})
        if not quiet:
            _print(rows[-1])
    return rows


def _difference(baseline: set[int], families: set[int]) -> dict[str, int]:
    return {"lost": len(baseline - families), "new": len(families - baseline)}


def _print(row: Mapping[str, Any]) -> None:
    print(
        f"  {row['off'] or 'none':<20}{row['nodes']:>10,}{row['pruned']:>10,}{row['cpu_s']:>9.2f}{row['families']:>10,}"
        f"{row['lost']:>6,}{row['new']:>8,}{'  stopped by its budget' if row['stopped'] else ''}",
        flush=True,
    )


def _generate(
    program: Any, space: Any, expressions: ExpressionNumbers, seconds: float
) -> tuple[dict[str, Any], set[int]]:
    """Generate all families of a program; return the figures, and the ids of the families in `expressions`."""
    journal, start = Journal(), process_time()
    steps = generate(program, space, GPUS["h100"], journal, lambda: process_time() - start > seconds)
    families = [f for f in steps if f is not None]
    spent = process_time() - start
    book = ledger(journal.events)
    figures = {
        "nodes": book.funnel.expanded,
        "pruned": book.funnel.pruned,
        "cpu_s": spent,
        "families": len(families),
        "stopped": any(c.soundness == "budget" for c in book.prune_counts),
    }
    return figures, {expressions.number_graph(f.sgraph) for f in families}


if __name__ == "__main__":
    main(sys.argv[1:])
