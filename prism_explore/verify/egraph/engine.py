"""E-graphs: what is asked of egglog, and what it answers, as plain data.

Only `worker` imports this, in a process of its own. Requests and answers are what JSON calls objects. A
request has `do`, `facts`, `left`, `right`, `axioms` and the limits `iterations`, `nodes`, `seconds`; see
`answer`. E-graphs belong to the thread that made them, and never leave the function that did.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeAlias, cast

from egglog import bindings

from prism_explore.verify.axioms import AXIOMS, CONDITIONS, CONSTRUCTORS, SIGNATURE, Axiom
from prism_explore.verify.egraph.trace import watch

Plain: TypeAlias = dict[str, Any]
"""What JSON calls an object."""

ENOUGH = 1_000_000
"""How many e-nodes may be built to find out which axioms can be left out."""

_MARK = '(relation side (String Expr)) (side "left" $left) (side "right" $right)'
_STEP = "(run-schedule (saturate (run conditions)) (run axioms))"


class Library:
    """Every rule parsed once; parsed commands may be run on any e-graph."""

    def __init__(self) -> None:
        parser = bindings.EGraph()
        self.signature = parser.parse_program(SIGNATURE)
        self.conditions = {c.name: parser.parse_program(c.rule()) for c in CONDITIONS}
        self.rules = {a.name: parser.parse_program(a.rules()) for a in AXIOMS}
        self.joining = {a.name: parser.parse_program(a.joining) for a in AXIOMS}
        self.step = parser.parse_program(_STEP)
        self.check = parser.parse_program("(check (= $left $right))")
        self._parsed: tuple[str, list[Any]] = "", []

    def parsed(self, program: str) -> list[Any]:
        """A program's commands, each on a line; the last program asked for is remembered.

        Line by line, as each word of what egglog parses holds on to a copy of the whole text.
        """
        if self._parsed[0] != program:
            parser = bindings.EGraph()
            lines = (line for line in program.splitlines() if line.strip())
            self._parsed = program, [c for line in lines for c in parser.parse_program(line)]
        return self._parsed[1]


_STATED = frozenset((*CONSTRUCTORS, "digits", "renamed", "stated"))
"""What a rule can only find where the goal states it or another rule adds it."""


@cache
def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\((\w+)", text))


@cache
def _at_work(axioms: tuple[str, ...], stated: frozenset[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The axioms that can ever match a goal that is stated in these words, and the conditions they need."""
    there = set(stated)
    rows = [a for a in AXIOMS if a.name in axioms]
    matching: list[Axiom] = []
    while True:
        matching = [a for a in rows if any(_needs(side, *a.when) <= there for side in a.sides)]
        grown = there | {word for a in matching for side in (a.left, a.right) for word in _words(side)}
        if grown == there:
            break
        there = grown
    asked = {word for a in matching for fact in a.when for word in _words(fact)}
    while True:
        conditions = [c for c in CONDITIONS if _words(c.follows) & asked and _needs(*c.given) <= there]
        more = asked | {word for c in conditions for fact in c.given for word in _words(fact)}
        if more == asked:
            return tuple(a.name for a in matching), tuple(c.name for c in conditions)
        asked = more


def _needs(*patterns: str) -> frozenset[str]:
    return frozenset[str]().union(*map(_words, patterns)) & _STATED


@dataclass(frozen=True, slots=True)
class Goal:
    """What to prove, and within which limits."""

    facts: str
    left: str
    right: str
    iterations: int
    nodes: int
    deadline: float
    """On the clock of `time.process_time`, which stands while others have the cores."""

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

    @property
    def program(self) -> str:
        """The facts and both sides as text of egglog."""
        return f"{self.facts}\n(let $left {self.left})\n(let $right {self.right})"

    @property
    def again(self) -> str:
        """That each named term is what it was made as.

        Made first and joined by name then: egglog 13.2 may join a term of a union's own with one that stands inside.
        """
        named = [(m[1], m[2]) for m in _LET.finditer(self.program)]
        made = (f"(let {name}.again {term})\n(union {name} {name}.again)" for name, term in named)
        return "\n".join(made)


_LET = re.compile(r"^\(let (\$\w+) (\(.*\))\)$", re.MULTILINE)


def answer(request: Plain, library: Library) -> Iterator[Plain]:
    """What a request asks for: `step` objects while it runs, then one `done`.

    prove      apply `axioms` (all where the list is empty) until both sides are equal or a limit is hit;
               with `joining`, they only join terms that the facts put there, and add none
    minimise   the same, then leave axioms out as long as the rest suffices
    replay     `facts` is a whole program of egglog with its own rules; run it
    watch      apply `axioms` one at a time, and show the whole e-graph behind each that changed it
    """
    goal = Goal.of(request, time.process_time())
    names = tuple(request["axioms"]) or tuple(library.rules)
    match request["do"]:
        case "prove":
            rules = library.joining if request.get("joining") else library.rules
            yield from _prove(goal, library, names, rules, int(request.get("snapshot", 0)))
        case "minimise":
            yield {"done": _minimise(goal, library, names)}
        case "replay":
            graph = bindings.EGraph()
            graph.run_program(*library.parsed(goal.program))
            stop, _ = _last(_climb(graph, goal, library))
            yield {"done": {"stop": stop}}
        case "watch":
            yield from watch(request)
        case other:
            yield {"done": {"stop": "crashed", "detail": f"unknown request {other!r}"}}


def _graph(
    goal: Goal, library: Library, axioms: Sequence[str], rules: Mapping[str, list[Any]] | None = None
) -> bindings.EGraph:
    matching, conditions = _at_work(tuple(axioms), _words(goal.program) & _STATED)
    graph = bindings.EGraph()
    commands = list(library.signature)
    for name in conditions:
        commands += library.conditions[name]
    for name in matching:
        commands += (rules or library.rules)[name]
    graph.run_program(*commands, *library.parsed(goal.program))
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
    told_again = False
    for iteration in range(1, goal.iterations + 1):
        (output,) = graph.run_program(*library.step)
        report = cast(bindings.RunScheduleOutput, output).report
        size = _extent(graph)
        step = {"iteration": iteration, **size, "matches": _matches(report.num_matches_per_rule)}
        lost = not report.updated and not told_again and not proved()
        if lost:
            # Rebuilding may lose a term whose insides became equal to another's; to state it again joins the two.
            graph.run_program(*graph.parse_program(goal.again))
            told_again = True
        if proved():
            yield "proved", step
        elif not report.updated and not lost:
            yield "saturated", step
        elif size["nodes"] > goal.nodes:
            yield "nodes", step
        elif time.process_time() > goal.deadline:
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


def _prove(
    goal: Goal, library: Library, axioms: tuple[str, ...], rules: Mapping[str, list[Any]], shown: int
) -> Iterator[Plain]:
    graph = _graph(goal, library, axioms, rules)
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
    # The same derivation fits into what the first run took; a detour may take a little more.
    within = replace(goal, iterations=len(steps), nodes=min(2 * steps[-1]["nodes"], goal.nodes))
    effort = 0

    def suffices(names: list[str]) -> bool:
        nonlocal effort
        if effort > ENOUGH or time.process_time() > goal.deadline:
            return False
        stop, steps = _last(_climb(_graph(within, library, names), within, library))
        effort += steps[-1]["nodes"]
        return stop == "proved"

    kept = [name for name in axioms if name in fired]
    chunk = max(len(kept) // 2, 1)
    while True:
        at = 0
        while at < len(kept):
            fewer = kept[:at] + kept[at + chunk :]
            if suffices(fewer):
                kept = fewer
            else:
                at += chunk
        if chunk == 1:
            return {"stop": "proved", "steps": steps, "axioms": kept}
        chunk //= 2


def _snapshot(graph: bindings.EGraph, shown: int) -> Plain:
    """The classes nearest to both sides, whole, up to `shown` nodes; and how many there are in all."""
    graph.run_program(*graph.parse_program(_MARK))
    rows = json.loads(graph.serialize([]).to_json())["nodes"]
    classes: dict[str, list[tuple[str, list[str]]]] = {}
    for row in rows.values():
        if row["op"] not in CONSTRUCTORS:
            continue
        below = [rows[child] for child in row["children"]]
        label = " ".join([row["op"], *(_literal(b["op"]) for b in below if b["op"] not in CONSTRUCTORS)])
        to = [b["eclass"] for b in below if b["op"] in CONSTRUCTORS]
        classes.setdefault(row["eclass"], []).append((label, to))
    marks = [[rows[child] for child in row["children"]] for row in rows.values() if row["op"] == "side"]
    roots = [whole["eclass"] for _, whole in sorted(marks, key=lambda pair: pair[0]["op"])]
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
