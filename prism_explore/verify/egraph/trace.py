"""Trace of equality saturation: the complete e-graph after each axiom.

Only `server` imports this module, in its own process. A search applies all axioms in one iteration, so a merge cannot
be attributed to one of them. Here the axioms are applied one at a time, in the order of the table, so every change
since the last step follows from one axiom and congruence. The axioms are those of a search; only the schedule differs.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias, cast

from egglog import bindings

from prism_explore.verify.axiom_schema import CONSTRUCTORS, SIGNATURE, Axiom, Condition

Plain: TypeAlias = dict[str, Any]
"""A JSON object."""


def trace(request: Plain, axioms: Sequence[Axiom], conditions: Sequence[Condition]) -> Iterator[Plain]:
    """Yield a `step` for the start and for every axiom that changed something, then `done`.

    The request is one of `engine.answer`. A step has `iteration`, `axiom` (empty for the start), `matches`, `nodes`
    (rows of operator, literals, classes of the children, own class) and `roots` (the classes of both sides).
    """
    deadline = time.process_time() + float(request["seconds"])
    named = tuple(request["axioms"])
    rows = [a for a in axioms if not named or a.name in named]
    parser = bindings.EGraph()
    graph = bindings.EGraph()
    lines = [" ".join(SIGNATURE.split()), *(c.rule() for c in conditions)]
    for n, a in enumerate(rows):
        rules = a.unite_rule if request.get("unite_only") else a.rules()
        lines += [f"(ruleset axiom{n})", *rules.replace(":ruleset axioms", f":ruleset axiom{n}").splitlines()]
    lines += [*str(request["facts"]).splitlines(), f"(let $left {request['left']})", f"(let $right {request['right']})"]
    for line in lines:  # line by line, because every token of egglog's parser holds a copy of the parsed text
        graph.run_program(*parser.parse_program(line))
    steps = [
        parser.parse_program(f"(run-schedule (saturate (run conditions)) (run axiom{n}))") for n in range(len(rows))
    ]
    last = _rows(graph)
    yield {"step": {"iteration": 0, "axiom": "", "matches": 0, **last}}
    for iteration in range(1, int(request["iterations"]) + 1):
        changed = False
        for axiom, step in zip(rows, steps, strict=True):
            if last["roots"][0] == last["roots"][1]:
                yield {"done": {"stop": "proved"}}
                return
            (output,) = graph.run_program(*step)
            counted = cast(bindings.RunScheduleOutput, output).report.num_matches_per_rule
            matches = counted.get(axiom.name, 0) + counted.get(f"{axiom.name}, backwards", 0)
            if not matches:
                continue
            now = _rows(graph)
            if now != last:
                changed = True
                last = now
                yield {"step": {"iteration": iteration, "axiom": axiom.name, "matches": matches, **now}}
            stop = "nodes" if len(now["nodes"]) > int(request["nodes"]) else ""
            stop = "seconds" if time.process_time() > deadline else stop
            if stop:
                yield {"done": {"stop": stop}}
                return
        if not changed:
            proved = last["roots"][0] == last["roots"][1]
            yield {"done": {"stop": "proved" if proved else "saturated"}}
            return
    yield {"done": {"stop": "proved" if last["roots"][0] == last["roots"][1] else "iterations"}}


def _rows(graph: bindings.EGraph) -> Plain:
    """Every e-node, and the classes of the two sides."""
    serialized = json.loads(graph.serialize([]).to_json())
    nodes = serialized["nodes"]
    rows: list[tuple[str, list[str], list[str], str]] = []
    for node in nodes.values():
        if node["op"] not in CONSTRUCTORS:
            continue
        below = [nodes[child] for child in node["children"]]
        literals = [b["op"] for b in below if b["op"] not in CONSTRUCTORS]
        classes = [b["eclass"] for b in below if b["op"] in CONSTRUCTORS]
        rows.append((node["op"], literals, classes, node["eclass"]))
    called = {
        word: name for name, data in serialized["class_data"].items() for word in str(data.get("let", "")).split(", ")
    }
    return {"nodes": sorted(rows), "roots": [called["$left"], called["$right"]]}
