"""What is right for the workloads at small sizes: what default searches prove, and what others wrote."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product

from prism_explore.events.journal import Journal
from prism_explore.frontend import trace
from prism_explore.frontend.workloads import WORKLOADS, Workload
from prism_explore.ir.dims import Dim
from prism_explore.ir.graph import SGraph, needed_by
from prism_explore.pipeline.stages import Candidate
from prism_explore.search.explore import Progress, Steering, Task, explore
from prism_explore.session.session import Session
from tests.cost.counting import BATCH
from tests.verify.candidates import row_of, sgraph_at
from tests.verify.workloads import RIGHT

SIZES = {"d": 6, "n": 8, "s": 4, "t": 8, "h": 2, "g": 1, "r": 2, "e": 2, "window": 2}
"""Every dim can be cut by 2, and none of a head is as long as a sequence."""
BLOCK_SIZES = {"s": 4, "d": 16, "m": 8, "c": 4, "n": 24, "heads": 4, "kv_heads": 2}
EVERY_WORKLOAD = tuple(row.name for row in WORKLOADS)


def tiny(name: str) -> Workload:
    """A workload, small enough to count what its kernels do."""
    row = row_of(name)
    sizes = BLOCK_SIZES if name == "transformer_block" else SIZES
    return row.resized(**{k: n for k, n in sizes.items() if k in row.sizes}) if row.shapes else row


def task_of(name: str) -> Task:
    """The default search of a small workload, for a GPU, as nothing is to be tuned."""
    row = tiny(name)
    at = dict.fromkeys(row.at, BATCH["b"])
    return Session(row.code, name=row.name, inputs=row.inputs, at=at, target="h100").task


@cache
def proved(name: str) -> tuple[Candidate, ...]:
    """Every candidate that a default search proves."""
    progress = Progress()
    for _ in explore(task_of(name), Journal(clock=lambda: 0.0), Steering, progress):
        pass
    return tuple(v.candidate for v in progress.proved)


@cache
def known() -> dict[str, SGraph]:
    """Right candidates of every workload, among them rows of kernels, by name; not those with idle operators, which
    the interpreter runs and no kernel has."""
    rows = {e.workload: tiny(e.workload) for e in RIGHT}
    programs = {name: trace(row.code, row.inputs, name).program for name, row in rows.items() if row.shapes}
    graphs = {e.name: sgraph_at(e, rows[e.workload], programs[e.workload]) for e in RIGHT if e.workload in programs}
    return {
        name: graph
        for name, graph in graphs.items()
        if all(len(needed_by(b.nodes, b.stores)) == len(b.nodes) for _, b in graph.customs)
    }


def legal_sizes(graph: SGraph, conditions: tuple[Dim, ...]) -> Iterator[dict[str, int]]:
    """Small numbers for grid sizes and loop ranges that leave every tile whole."""
    names = graph.parameters
    for row in product((2, 1, 3, 4), repeat=len(names)):
        sizes = dict(zip(names, row, strict=True))
        if all(d.rational({**BATCH, **sizes}).denominator == 1 for d in conditions):
            yield sizes
