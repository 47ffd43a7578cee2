"""Equality saturation with egglog: requests and answers as plain data.

Only `server` imports this module, in a process of its own. Requests and answers are JSON objects. A request has `do`,
`facts`, `left`, `right`, `axioms` (names) and the limits `iterations`, `nodes`, `seconds`; see `answer`. An e-graph
belongs to the thread that made it and never leaves the function that made it.
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

from prism_explore.verify.axiom_schema import CONSTRUCTORS, SIGNATURE, Axiom, Condition
from prism_explore.verify.egraph.limits import readable
from prism_explore.verify.egraph.trace import trace

Plain: TypeAlias = dict[str, Any]
"""A JSON object."""

MINIMIZE_NODES = 1_000_000
"""E-nodes that may be built to find out which axioms can be left out."""

_MARK = '(relation side (String Expr)) (side "left" $left) (side "right" $right)'
_STEP = "(run-schedule (saturate (run conditions)) (run axioms))"


class RuleLibrary:
    """The rules of a table of axioms, parsed once; parsed commands can run on any e-graph."""

    def __init__(self, axioms: Sequence[Axiom], conditions: Sequence[Condition]) -> None:
        """Parse the rules of these rows."""
        parser = bindings.EGraph()
        self.axioms = tuple(axioms)
        self.all_conditions = tuple(conditions)
        self.signature = parser.parse_program(SIGNATURE)
        self.conditions = {c.name: parser.parse_program(c.rule()) for c in conditions}
        self.rules = {a.name: parser.parse_program(a.rules()) for a in axioms}
        self.joining = {a.name: parser.parse_program(a.joining) for a in axioms}
        self.step = parser.parse_program(_STEP)
        self.check = parser.parse_program("(check (= $left $right))")
        self._parsed: tuple[str, list[Any]] = "", []
        self._applicable: dict[tuple[tuple[str, ...], frozenset[str]], tuple[tuple[str, ...], tuple[str, ...]]] = {}

    @classmethod
    def of(cls, table: Plain) -> RuleLibrary:
        """The rules of a table as the client sends it."""
        return cls(
            [Axiom(a["name"], a["left"], a["right"], "", tuple(a["when"]), a["both_ways"]) for a in table["axioms"]],
            [Condition(c["name"], tuple(c["given"]), c["follows"], "") for c in table["conditions"]],
        )

    def parse(self, program: str) -> list[Any]:
        """A program's commands, one on each line; the result for the last program is cached.

        Each line is parsed on its own, because every token that egglog parses holds a copy of the text it came from.
        """
        if self._parsed[0] != program:
            parser = bindings.EGraph()
            lines = (line for line in program.splitlines() if line.strip())
            self._parsed = program, [c for line in lines for c in parser.parse_program(line)]
        return self._parsed[1]

    def applicable(self, names: tuple[str, ...], stated: frozenset[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The axioms that can ever match a goal in which these words occur, and the conditions that they need."""
        if (names, stated) not in self._applicable:
            self._applicable[names, stated] = self._find_applicable(names, stated)
        return self._applicable[names, stated]

    def _find_applicable(
        self, names: tuple[str, ...], stated: frozenset[str]
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        there = set(stated)
        rows = [a for a in self.axioms if a.name in names]
        while True:
            matching = [a for a in rows if any(_needs(side, *a.when) <= there for side in a.sides)]
            grown = there | {word for a in matching for side in (a.left, a.right) for word in _words(side)}
            if grown == there:
                break
            there = grown
        needed = {word for a in matching for fact in a.when for word in _words(fact)}
        while True:
            conditions = [c for c in self.all_conditions if _words(c.follows) & needed and _needs(*c.given) <= there]
            more = needed | {word for c in conditions for fact in c.given for word in _words(fact)}
            if more == needed:
                return tuple(a.name for a in matching), tuple(c.name for c in conditions)
            needed = more


_STATED = frozenset((*CONSTRUCTORS, "digits", "renamed", "stated"))
"""Words that a rule finds only where the goal contains them or another rule adds them."""


@cache
def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\((\w+)", text))


def _needs(*patterns: str) -> frozenset[str]:
    return frozenset[str]().union(*map(_words, patterns)) & _STATED


@dataclass(frozen=True, slots=True)
class Goal:
    """Two sides to prove equal, and the limits."""

    facts: str
    left: str
    right: str
    iterations: int
    nodes: int
    deadline: float
    """By `time.process_time`: CPU time of this process."""

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
    def restated(self) -> str:
        """Every named term made once more and united with its name.

        The terms are made before the union: egglog 13.2 may unite a term that is written in a `union` with one of its
        own arguments.
        """
        named = [(m[1], m[2]) for m in _LET.finditer(self.program)]
        return "\n".join(f"(let {name}.again {term})\n(union {name} {name}.again)" for name, term in named)


_LET = re.compile(r"^\(let (\$\w+) (\(.*\))\)$", re.MULTILINE)


def answer(request: Plain, library: RuleLibrary) -> Iterator[Plain]:
    """The answer to a request: `step` objects while it runs, then one `done`.

    prove      apply `axioms` (all where the list is empty) until both sides are equal or a limit is reached;
               with `joining`, they only unite terms of the facts, and add none
    minimize   the same, then leave axioms out as long as the rest suffices
    replay     `facts` is a complete egglog program with its own rules; run it
    trace      apply `axioms` one at a time, and report the complete e-graph after each that changed it
    """
    goal = Goal.of(request, time.process_time())
    names = tuple(request["axioms"]) or tuple(library.rules)
    match request["do"]:
        case "prove":
            rules = library.joining if request.get("joining") else library.rules
            yield from _prove(goal, library, names, rules, int(request.get("snapshot", 0)))
        case "minimize":
            yield {"done": _minimize(goal, library, names)}
        case "replay":
            graph = bindings.EGraph()
            graph.run_program(*library.parse(goal.program))
            stop, _ = _run(_saturate(graph, goal, library))
            yield {"done": {"stop": stop}}
        case "trace":
            yield from trace(request, library.axioms, library.all_conditions)
        case other:
            yield {"done": {"stop": "crashed", "detail": f"unknown request {other!r}"}}


def _graph(
    goal: Goal, library: RuleLibrary, axioms: Sequence[str], rules: Mapping[str, list[Any]] | None = None
) -> bindings.EGraph:
    matching, conditions = library.applicable(tuple(axioms), _words(goal.program) & _STATED)
    graph = bindings.EGraph()
    commands = list(library.signature)
    for name in conditions:
        commands += library.conditions[name]
    for name in matching:
        commands += (rules or library.rules)[name]
    graph.run_program(*commands, *library.parse(goal.program))
    return graph


def _saturate(graph: bindings.EGraph, goal: Goal, library: RuleLibrary) -> Iterator[tuple[str, Plain]]:
    """Iterations up to the last one: pairs of the reason to stop (empty: continue) and the step."""

    def proved() -> bool:
        try:
            graph.run_program(*library.check)
        except bindings.EggSmolError:
            return False
        return True

    step: Plain = {"iteration": 0, **_graph_size(graph), "matches": {}}
    yield ("proved" if proved() else ""), step
    restated = False
    for iteration in range(1, goal.iterations + 1):
        (output,) = graph.run_program(*library.step)
        report = cast(bindings.RunScheduleOutput, output).report
        size = _graph_size(graph)
        step = {"iteration": iteration, **size, "matches": _matches(report.num_matches_per_rule, library)}
        lost = not report.updated and not restated and not proved()
        if lost:
            # Rebuilding may lose a term whose arguments became equal to another's; making it again unites the two.
            graph.run_program(*graph.parse_program(goal.restated))
            restated = True
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


def _graph_size(graph: bindings.EGraph) -> Plain:
    functions = graph.freeze().functions
    rows = [row for name in CONSTRUCTORS if name in functions for row in functions[name].rows]
    return {"nodes": len(rows), "classes": len({row.output for row in rows})}


def _matches(counted: Mapping[str, int], library: RuleLibrary) -> dict[str, int]:
    """Matches per axiom, both directions together, in the order of the table."""
    both = {a.name: counted.get(a.name, 0) + counted.get(f"{a.name}, backwards", 0) for a in library.axioms}
    return {name: n for name, n in both.items() if n}


def _run(steps: Iterator[tuple[str, Plain]]) -> tuple[str, list[Plain]]:
    stop, seen = "", list[Plain]()
    for reason, step in steps:
        if reason:
            stop = reason
        seen.append(step)
        if reason:
            break
    return stop, seen


def _prove(
    goal: Goal, library: RuleLibrary, axioms: tuple[str, ...], rules: Mapping[str, list[Any]], shown: int
) -> Iterator[Plain]:
    graph = _graph(goal, library, axioms, rules)
    for stop, step in _saturate(graph, goal, library):
        yield {"step": step}
        if stop:
            picture = _snapshot(graph, shown) if shown else None
            yield {"done": {"stop": stop, "snapshot": picture}}
            return


def _minimize(goal: Goal, library: RuleLibrary, axioms: tuple[str, ...]) -> Plain:
    stop, steps = _run(_saturate(_graph(goal, library, axioms), goal, library))
    if stop != "proved":
        return {"stop": stop, "steps": steps, "axioms": []}
    fired = {name for step in steps for name in step["matches"]}
    # The same derivation fits into the size of the first run; a longer one may need a little more.
    within = replace(goal, iterations=len(steps), nodes=min(2 * steps[-1]["nodes"], goal.nodes))
    effort = 0

    def suffices(names: list[str]) -> bool:
        nonlocal effort
        if effort > MINIMIZE_NODES or time.process_time() > goal.deadline:
            return False
        stop, steps = _run(_saturate(_graph(within, library, names), within, library))
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
    """The classes nearest to both sides, each complete, up to `shown` nodes; and the totals."""
    graph.run_program(*graph.parse_program(_MARK))
    rows = json.loads(graph.serialize([]).to_json())["nodes"]
    classes: dict[str, list[tuple[str, list[str]]]] = {}
    for row in rows.values():
        if row["op"] not in CONSTRUCTORS:
            continue
        below = [rows[child] for child in row["children"]]
        label = " ".join([row["op"], *(readable(b["op"]) for b in below if b["op"] not in CONSTRUCTORS)])
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
