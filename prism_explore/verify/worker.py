"""The process that talks to egglog: one request per line in, one or more answers per line out.

    python -m prism_explore.verify.worker MEMORY_BYTES

One iteration of egglog cannot be interrupted and may ask for all memory there is; its objects belong to
the thread that made them, and where it panics it raises what `except Exception` does not catch. Here none
of this can hurt anybody: the process has a memory limit, its e-graphs never leave the functions that make
them, and whoever asked may kill it. `saturate` asks.

Requests and answers are JSON. A request has `do`, `facts`, `left`, `right`, `axioms` and the limits
`iterations`, `nodes`, `seconds`; see `answer`.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

from egglog import bindings

from prism_explore.verify.axioms import AXIOMS, CONDITIONS, CONSTRUCTORS, SIGNATURE

Plain: TypeAlias = dict[str, Any]
"""What JSON calls an object."""

_STEP = "(run-schedule (saturate (run conditions)) (run axioms))"


@dataclass
class Library:
    """Every rule parsed once; parsed commands may be run on any e-graph."""

    signature: list[Any] = field(default_factory=list[Any])
    rules: dict[str, list[Any]] = field(default_factory=dict[str, list[Any]])
    step: list[Any] = field(default_factory=list[Any])
    check: list[Any] = field(default_factory=list[Any])
    sizes: list[Any] = field(default_factory=list[Any])

    def __post_init__(self) -> None:
        parser = bindings.EGraph()
        self.signature = parser.parse_program(SIGNATURE + "\n".join(c.rule() for c in CONDITIONS))
        self.rules = {a.name: parser.parse_program(a.rules()) for a in AXIOMS}
        self.step = parser.parse_program(_STEP)
        self.check = parser.parse_program("(check (= $left $right))")
        self.sizes = parser.parse_program("(print-size)")


@dataclass(frozen=True, slots=True)
class Goal:
    """What to prove, and within which limits."""

    facts: str
    left: str
    right: str
    iterations: int
    nodes: int
    deadline: float
    """On the clock of `time.monotonic`."""

    @classmethod
    def of(cls, request: Plain, now: float) -> Goal:
        """The goal of a request that arrived now."""
        return cls(
            str(request["facts"]),
            str(request["left"]),
            str(request["right"]),
            int(request["iterations"]),
            int(request["nodes"]),
            now + float(request["seconds"]),
        )

    def program(self) -> str:
        """The facts and both sides as text of egglog."""
        return f"{self.facts}\n(let $left {self.left})\n(let $right {self.right})"


def answer(request: Plain, library: Library) -> Iterator[Plain]:
    """What a request asks for: `step` objects while it runs, then one `done`.

    prove      apply `axioms` (all where the list is empty) until both sides are equal or a limit is hit
    minimise   the same, then leave axioms out as long as the rest suffices
    replay     `facts` is a whole program of egglog with its own rules; run it
    """
    goal = Goal.of(request, time.monotonic())
    names = tuple(request["axioms"]) or tuple(library.rules)
    match request["do"]:
        case "prove":
            yield from _prove(goal, library, names, int(request.get("snapshot", 0)))
        case "minimise":
            yield {"done": _minimise(goal, library, names)}
        case "replay":
            graph = bindings.EGraph()
            graph.run_program(*graph.parse_program(goal.program()))
            stop, _ = _last(_climb(graph, goal, library))
            yield {"done": {"stop": stop}}
        case other:
            yield {"done": {"stop": "crashed", "detail": f"unknown request {other!r}"}}


def _graph(goal: Goal, library: Library, axioms: Iterable[str]) -> bindings.EGraph:
    graph = bindings.EGraph()
    graph.run_program(*library.signature)
    for name in axioms:
        graph.run_program(*library.rules[name])
    graph.run_program(*graph.parse_program(goal.program()))
    return graph


def _climb(graph: bindings.EGraph, goal: Goal, library: Library) -> Iterator[tuple[str, Plain]]:
    """Iterations until one of them is the last; pairs of a reason to stop (empty: go on) and the step."""

    def proved() -> bool:
        try:
            graph.run_program(*library.check)
        except bindings.EggSmolError:
            return False
        return True

    step: Plain = {"iteration": 0, **_extent(graph), "matches": {}}
    yield ("proved" if proved() else ""), step
    for iteration in range(1, goal.iterations + 1):
        (output,) = graph.run_program(*library.step)
        report = cast(bindings.RunScheduleOutput, output).report
        size = _extent(graph)
        step = {"iteration": iteration, **size, "matches": _matches(report.num_matches_per_rule)}
        if proved():
            yield "proved", step
        elif not report.updated:
            yield "saturated", step
        elif size["nodes"] > goal.nodes:
            yield "nodes", step
        elif time.monotonic() > goal.deadline:
            yield "seconds", step
        else:
            yield ("iterations" if iteration == goal.iterations else ""), step
            continue
        return


def _extent(graph: bindings.EGraph) -> Plain:
    functions = graph.freeze().functions
    rows = [row for name in CONSTRUCTORS if name in functions for row in functions[name].rows]
    return {"nodes": len(rows), "classes": len({row.output for row in rows})}


def _matches(counted: Mapping[str, int]) -> dict[str, int]:
    """Matches per axiom, both directions together, in the order of the table."""
    both = {a.name: counted.get(a.name, 0) + counted.get(f"{a.name}, backwards", 0) for a in AXIOMS}
    return {name: n for name, n in both.items() if n}


def _last(steps: Iterator[tuple[str, Plain]]) -> tuple[str, list[Plain]]:
    stop, seen = "", list[Plain]()
    for reason, step in steps:
        if reason:
            stop = reason
        seen.append(step)
        if reason:
            break
    return stop, seen


def _prove(goal: Goal, library: Library, axioms: tuple[str, ...], shown: int) -> Iterator[Plain]:
    graph = _graph(goal, library, axioms)
    for stop, step in _climb(graph, goal, library):
        yield {"step": step}
        if stop:
            picture = _snapshot(graph, shown) if shown else None
            yield {"done": {"stop": stop, "snapshot": picture}}
            return


def _minimise(goal: Goal, library: Library, axioms: tuple[str, ...]) -> Plain:
    stop, steps = _last(_climb(_graph(goal, library, axioms), goal, library))
    if stop != "proved":
        return {"stop": stop, "steps": steps, "axioms": []}
    fired = {name for step in steps for name in step["matches"]}
    rounds = len(steps) + 1

    def suffices(names: list[str]) -> bool:
        within = Goal(goal.facts, goal.left, goal.right, rounds, goal.nodes, goal.deadline)
        return _last(_climb(_graph(within, library, names), within, library))[0] == "proved"

    kept = [name for name in axioms if name in fired]
    chunk = max(len(kept) // 2, 1)
    while True:
        at = 0
        while at < len(kept):
            fewer = kept[:at] + kept[at + chunk :]
            if time.monotonic() < goal.deadline and suffices(fewer):
                kept = fewer
            else:
                at += chunk
        if chunk == 1:
            return {"stop": "proved", "steps": steps, "axioms": kept}
        chunk //= 2


def _snapshot(graph: bindings.EGraph, shown: int) -> Plain:
    """The classes nearest to both sides, whole, up to `shown` nodes; and how many there are in all."""
    rows = json.loads(graph.serialize([]).to_json())["nodes"]
    classes: dict[str, list[tuple[str, list[str]]]] = {}
    for row in rows.values():
        if row["op"] not in CONSTRUCTORS:
            continue
        below = [rows[child] for child in row["children"]]
        label = " ".join([row["op"], *(_literal(b["op"]) for b in below if b["op"] not in CONSTRUCTORS)])
        to = [b["eclass"] for b in below if b["op"] in CONSTRUCTORS]
        classes.setdefault(row["eclass"], []).append((label, to))
    roots = [row["eclass"] for side in ("$left", "$right") for row in rows.values() if row["op"] == side]
    queue, seen, out, drawn = list(dict.fromkeys(roots)), set(roots), list[Plain](), 0
    for name in queue:
        nodes = sorted(classes.get(name, []))
        if drawn + len(nodes) > shown:
            continue
        drawn += len(nodes)
        out.append({"id": name, "nodes": [{"op": label, "children": to} for label, to in nodes]})
        for _, to in nodes:
            for child in to:
                if child not in seen:
                    seen.add(child)
                    queue.append(child)
    return {
        "roots": roots,
        "classes": out,
        "all_nodes": sum(map(len, classes.values())),
        "all_classes": len(classes),
    }


def _literal(op: str) -> str:
    """A number or a string as a person writes it."""
    if op.startswith("Ratio"):
        above, below = (part.split(":")[1] for part in op.strip("Ratio {}").split(","))
        return above.strip() if below.strip() == "1" else f"{above.strip()}/{below.strip()}"
    return op.strip('"')


def main(argv: list[str], requests: Iterable[str], reply: Callable[[Plain], None]) -> None:
    """Answer until the requests end."""
    if len(argv) > 1:
        import resource

        limit = int(argv[1])
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    library = Library()
    for line in requests:
        try:
            for part in answer(json.loads(line), library):
                reply(part)
        except BaseException as error:  # egglog's panics are no Exceptions
            reply({"done": {"stop": "crashed", "detail": f"{type(error).__name__}: {error}"[:500]}})


if __name__ == "__main__":
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a library prints must not end up among the answers

    def write(part: Plain) -> None:
        """One answer, one line."""
        out.write(json.dumps(part) + "\n")
        out.flush()

    main(sys.argv, sys.stdin, write)
