"""What each pruning rule is worth: nodes, CPU seconds and families with all rules on, and with each one off alone.

    .venv/bin/python benchmarks/ablation.py
    .venv/bin/python benchmarks/ablation.py swiglu lora --rules expr.unreachable limit.needed --nodes 200000 --json

Growth alone: CPU seconds from a program to its last family, proofs not counted; what a rule that is off lets through
is found wrong later. Without some rules a search does not end: it stops at a number of nodes, says so, and its
figures are lower bounds. Families are the same where they have the same number in one table; `lost` is how many of
the pruned search's the other has not, which is 0 unless a budget ended it; `new` is how many it has besides, which
are duplicates by definition, wrong, or outside of the stated space.
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
from benchmarks.here import head
from prism_explore.events.journal import Journal
from prism_explore.events.ledger import ledger
from prism_explore.generate import generate
from prism_explore.generate.canonical_order import ExpressionNumbers
from prism_explore.generate.pruning.rules import RULE_NAMES
from prism_explore.targets import GPUS

USUAL = ("rmsnorm_linear_bare", "swiglu", "attention", "qk_norm_attention", "lora")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Nodes, CPU seconds and families with each pruning rule off.")
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help=f"names of `prism-explore list`; {USUAL} else")
    parser.add_argument("--rules", nargs="*", metavar="RULE", choices=RULE_NAMES, default=RULE_NAMES)
    parser.add_argument("--nodes", type=int, default=20_000, help="where a search stops")
    parser.add_argument("--seconds", type=float, default=60.0, help="where it stops as well, CPU seconds")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(argv)
    first = head()
    rows: list[dict[str, Any]] = []
    if not args.json:
        print(", ".join(first.values()))
    for name in args.workloads or USUAL:
        rows += _rows(name, args.rules, args.nodes, args.seconds, quiet=args.json)
    if args.json:
        print(json.dumps({**first, "rows": rows}, indent=1))


def _rows(name: str, rules: Sequence[str], nodes: int, seconds: float, quiet: bool) -> list[dict[str, Any]]:
    """One row per rule, the first with none off."""
    workload = px.workload(name)
    session = px.Session(workload.code, name=name, inputs=workload.inputs, at=workload.at, target="h100")
    table = ExpressionNumbers()
    rows: list[dict[str, Any]] = []
    known: set[int] = set()
    if not quiet:
        print(f"\n{name}\n  {'rule off':<20}{'nodes':>10}{'cut':>10}{'CPU s':>9}{'families':>10}{'lost':>6}{'new':>8}")
    for rule in ("", *rules):
        space = replace(session.task.space, nodes=nodes, rules_off=frozenset({rule} - {""}))
        row, families = _grown(session.task.program, space, table, seconds)
        if not rule:
            known = families
        rows.append({"workload": name, "off": rule, **row, "lost": len(known - families), "new": len(families - known)})
        if not quiet:
            _print(rows[-1])
    return rows


def _print(row: Mapping[str, Any]) -> None:
    print(
        f"  {row['off'] or 'none':<20}{row['nodes']:>10,}{row['cut']:>10,}{row['cpu_s']:>9.2f}{row['families']:>10,}"
        f"{row['lost']:>6,}{row['new']:>8,}{'  stopped by its budget' if row['stopped'] else ''}",
        flush=True,
    )


def _grown(program: Any, space: Any, table: ExpressionNumbers, seconds: float) -> tuple[dict[str, Any], set[int]]:
    """One growth: its figures, and the numbers of its families."""
    journal, start = Journal(), process_time()
    growing = generate(program, space, GPUS["h100"], journal, lambda: process_time() - start > seconds)
    families = [f for f in growing if f is not None]
    spent = process_time() - start
    book = ledger(journal.events)
    figures = {
        "nodes": book.funnel.expanded,
        "cut": book.funnel.pruned,
        "cpu_s": spent,
        "families": len(families),
        "stopped": any(c.soundness == "budget" for c in book.prune_counts),
    }
    return figures, {table.number_graph(f.sgraph) for f in families}


if __name__ == "__main__":
    main(sys.argv[1:])
