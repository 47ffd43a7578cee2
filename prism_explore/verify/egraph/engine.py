"""Equality saturation with egglog: requests and answers as plain data.

Only `server` imports this module, in a process of its own. Requests and answers are JSON objects. A request has `do`,
`facts`, `left`, `right`, `axioms` (names) and the limits `iterations`, `nodes`, `seconds`; see `answer`. An e-graph
belongs to the thread that made it and never leaves the function that made it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeAlias, cast

from egglog import bindings

from prism_explore.verify.axiom_schema import CONSTRUCTORS, SIGNATURE, Axiom, Condition
from prism_explore.verify.egraph.trace import trace

Plain: TypeAlias = dict[str, Any]
"""A JSON object."""

MINIMIZE_NODES = 1_000_000
"""E-nodes that may be built to find out which axioms can be left out."""

_STEP = "(run-schedule (saturate (run conditions)) (run axioms))"


class RuleLibrary:
    """The parsed rules of a table of axioms; parsed commands can run on any e-graph."""

    def __init__(self, axioms: Sequence[Axiom], conditions: Sequence[Condition]) -> None:
        """Parse the rules of these rows."""
        parser = bindings.EGraph()
        self.axioms = tuple(axioms)
        self.all_conditions = tuple(conditions)
        self.signature = parser.parse_program(SIGNATURE)
        self.conditions = {c.name: parser.parse_program(c.rule()) for c in conditions}
        self.rules = {a.name: parser.parse_program(a.rules()) for a in axioms}
        self.unite_rules = {a.name: parser.parse_program(a.unite_rule) for a in axioms}
        self.step = parser.parse_program(_STEP)
        self.check = parser.parse_program("(check (= $left $right))")
        self._parsed: tuple[str, list[Any]] = "", []
        self._applicable: dict[tuple[tuple[str, ...], frozenset[str]], tuple[tuple[str, ...], tuple[str, ...]]] = {}

    @classmethod
    def of(cls, table: Plain) -> RuleLibrary:
        """The rules of a table as the client sends it."""
        return cls(
            [Axiom(a["name"], a["left"], a["right"], "", tuple(a["when"]), a["both_ways"]) for a in table["axioms"]],
            [Condition(c["name"], tuple(c["premises"]), c["conclusion"], "") for c in table["conditions"]],
        )

    def parse(self, program: str) -> list[Any]:
        """The commands of a program with one command per line; the result for the last program is cached."""
        if self._parsed[0] != program:
            self._parsed = program, _parse_lines(program)
        return self._parsed[1]

    def applicable(self, names: tuple[str, ...], stated: frozenset[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The axioms that can match in a goal with these words, and the conditions that they need."""
        if (names, stated) not in self._applicable:
            self._applicable[names, stated] = self._find_applicable(names, stated)
        return self._applicable[names, stated]

    def _find_applicable(
        self, names: tuple[str, ...], stated: frozenset[str]
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        present = set(stated)
        rows = [a for a in self.axioms if a.name in names]
        while True:
            matching = [a for a in rows if any(_required_words(side, *a.conditions) <= present for side in a.sides)]
            extended = present | {word for a in matching for side in (a.left, a.right) for word in _words(side)}
            if extended == present:
                break
            present = extended
        needed = {word for a in matching for fact in a.conditions for word in _words(fact)}
        while True:
            conditions = [
                c
                for c in self.all_conditions
                if _words(c.conclusion) & needed and _required_words(*c.premises) <= present
            ]
            more = needed | {word for c in conditions for fact in c.premises for word in _words(fact)}
            if more == needed:
                return tuple(a.name for a in matching), tuple(c.name for c in conditions)
            needed = more


def _parse_lines(program: str) -> list[Any]:
    """The commands of a program with one command per line.

    Each line is parsed separately, because every token of egglog's parser holds a copy of the parsed text.
    """
    parser = bindings.EGraph()
    return [c for line in program.splitlines() if line.strip() for c in parser.parse_program(line)]


_GROUND_WORDS = frozenset((*CONSTRUCTORS, "digits", "renamed", "stated"))
"""Words that exist in an e-graph only if the goal contains them or a rule adds them."""


@cache
def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\((\w+)", text))


def _required_words(*patterns: str) -> frozenset[str]:
    return frozenset[str]().union(*map(_words, patterns)) & _GROUND_WORDS


@dataclass(frozen=True, slots=True)
class Goal:
    """Two sides to prove equal, and the limits."""

    facts: str
    left: str
    right: str
    iterations: int
    nodes: int
    deadline: float
    """In CPU time of this process (`time.process_time`)."""

    @classmethod
    def of(cls, request: Plain, now: float) -> Goal:
        """The goal of a request; `now` is the CPU time of its arrival."""
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
        """The facts and both sides as an egglog program."""
        return f"{self.facts}\n(let $left {self.left})\n(let $right {self.right})"

    @property
    def restated(self) -> str:
        """A program that makes every named term again and unites it with its name.

        The terms are made before the union, because egglog 13.2 may unite a term inside a `union` with one of its own
        arguments.
        """
        named = [(m[1], m[2]) for m in _LET.finditer(self.program)]
        return "\n".join(f"(let {name}.again {term})\n(union {name} {name}.again)" for name, term in named)


_LET = re.compile(r"^\(let (\$\w+) (\(.*\))\)$", re.MULTILINE)


def answer(request: Plain, library: RuleLibrary) -> Iterator[Plain]:
    """The answer to a request: `step` objects while it runs, then one `done`.

    prove      apply `axioms` (all where the list is empty) until both sides are equal or a limit is reached;
               with `unite_only`, they only unite terms of the facts, and add none
    minimize   the same, then leave axioms out as long as the rest suffices
    replay     `facts` is a complete egglog program with its own rules; run it
    trace      apply `axioms` one at a time, and report the complete e-graph after each that changed it
    """
    goal = Goal.of(request, time.process_time())
    names = tuple(request["axioms"]) or tuple(library.rules)
    match request["do"]:
        case "prove":
            rules = library.unite_rules if request.get("unite_only") else library.rules
            yield from _prove(goal, library, names, rules)
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
    matching, conditions = library.applicable(tuple(axioms), _words(goal.program) & _GROUND_WORDS)
    graph = bindings.EGraph()
    commands = list(library.signature)
    for name in conditions:
        commands += library.conditions[name]
    for name in matching:
        commands += (rules or library.rules)[name]
    graph.run_program(*commands, *library.parse(goal.program))
    return graph


def _saturate(graph: bindings.EGraph, goal: Goal, library: RuleLibrary) -> Iterator[tuple[str, Plain]]:
    """Run iterations; yields for each the reason to stop (empty where it continues) and the step."""

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
            # Rebuilding may lose a term that became congruent to another one; making it again unites the two.
            graph.run_program(*_parse_lines(goal.restated))
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
    """The number of matches per axiom, of both directions together, in the order of the table."""
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
    goal: Goal, library: RuleLibrary, axioms: tuple[str, ...], rules: Mapping[str, list[Any]]
) -> Iterator[Plain]:
    graph = _graph(goal, library, axioms, rules)
    for stop, step in _saturate(graph, goal, library):
        yield {"step": step}
        if stop:
            yield {"done": {"stop": stop}}
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
