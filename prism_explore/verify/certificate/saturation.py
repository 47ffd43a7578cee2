"""Proof by equality saturation that two expressions are equal, the last method where normal forms differ.

Input is a statement or a derivation; output is an egglog program: the terms, and facts about axes, extents and
independence. The axioms are the rows of `axioms`. egglog runs in a process of its own (`egraph/client`), so that its
limits can be enforced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from prism_explore.events.journal import Journal
from prism_explore.events.kinds import SaturationStepped
from prism_explore.ir.dims import Dim
from prism_explore.verify.certificate import syntax
from prism_explore.verify.certificate.derivation.derive import derive
from prism_explore.verify.certificate.derivation.term_graph import RENAME, STATED, Derivation
from prism_explore.verify.certificate.expressions import (
    Expr,
    FreshAxes,
    Leaf,
    bound_axis,
    from_dim,
    from_normal_form,
    indices_of,
    walk,
)
from prism_explore.verify.certificate.lemma import (
    TOO_DEEP,
    Axis,
    CannotState,
    Statement,
    coordinates_of,
    make_statement,
)
from prism_explore.verify.certificate.syntax import render, without_quotes
from prism_explore.verify.egraph.client import Problem, shared_client
from prism_explore.verify.egraph.limits import Limits, NotStated, Saturation, Step
from prism_explore.verify.normal_form.forms import NormalForm
from prism_explore.verify.normal_form.size_facts import is_count

LIMITS = Limits()
"""The default limits."""


def search_problem(statement: Statement) -> Problem:
    """A statement as an egglog program for the search: both sides, hints, and the facts about axes and independence."""
    axes = {a.name: a for a in statement.axes}
    expressions = [statement.left, statement.right, *statement.hints, *(e for pair in statement.renamed for e in pair)]
    summed: dict[str, None] = {}
    leaves: dict[Leaf, None] = {}
    for e in (inner for side in expressions for inner in walk(side)):
        axis = bound_axis(e)
        if axis is not None:
            summed.setdefault(axis.name)
        elif isinstance(e, Leaf):
            leaves.setdefault(e)
    pending = list(summed)
    while pending:
        for part in axes[pending.pop()].digits or ():
            if part not in summed:
                summed.setdefault(part)
                pending.append(part)
    for a in statement.axes:
        if a.digits and a.name not in summed and set(a.digits) <= set(summed):
            summed.setdefault(a.name)
    facts: list[str] = []
    for name in summed:
        a = axes[name]
        facts.append(f'(axis "{name}")')
        facts.append(f'(extent "{name}" {to_egglog(from_dim(a.extent))})')
        facts += _inhabited_facts(a, statement.integers)
        if a.digits:
            facts.append(f'(digits "{name}" "{a.digits[0]}" "{a.digits[1]}")')
    for leaf in leaves:
        dependencies = frozenset[str]().union(*(statement.coordinates(n) for i in indices_of(leaf) for n in i.free))
        facts += [
            f'(independent {to_egglog(leaf)} "{name}")'
            for name in summed
            if not axes[name].digits and name not in dependencies
        ]
    facts += [f"(renamed {to_egglog(a)} {to_egglog(b)})" for a, b in statement.renamed]
    facts += [to_egglog(e) for e in statement.hints]
    return Problem("\n".join(facts), to_egglog(statement.left), to_egglog(statement.right))


def replay_problem(derivation: Derivation) -> Problem:
    """A derivation as an egglog program for its replay: the terms, without the steps.

    Renamings of axes and instances of axioms about indices are facts, which the checker verifies.
    """
    axes = {a.name: a for a in derivation.axes}
    facts: list[str] = []
    for a in derivation.axes:
        facts += [f'(axis "{a.name}")', f'(extent "{a.name}" {to_egglog(from_dim(a.extent))})']
        facts += _inhabited_facts(a, derivation.integers)
        if a.digits:
            facts.append(f'(digits "{a.name}" "{a.digits[0]}" "{a.digits[1]}")')
    pairs = {a.name: a.digits for a in derivation.axes if a.digits}
    for n, node in enumerate(derivation.nodes):
        facts.append(f"(let $t{n} {syntax.egglog_notation(node.op, node.label, [f'$t{i}' for i in node.arguments])})")
        if n not in derivation.index_axes:
            continue
        dependencies = frozenset[str]().union(*(coordinates_of(w, pairs) for w in derivation.index_axes[n]))
        if node.op == "upto":
            at = without_quotes(node.label.split(" ", 1)[1])
            facts += [f'(elsewhere "{at}" "{a}")' for a in axes if dependencies.isdisjoint(coordinates_of(a, pairs))]
        else:
            facts += [f'(independent $t{n} "{a}")' for a in axes if not axes[a].digits and a not in dependencies]
    facts += [f"(renamed $t{s.left} $t{s.right})" for s in derivation.steps if s.axiom == RENAME]
    facts += [f'(stated "{s.axiom}" $t{s.left} $t{s.right})' for s in derivation.steps if s.axiom in STATED]
    return Problem("\n".join(facts), f"$t{derivation.left}", f"$t{derivation.right}")


def _inhabited_facts(a: Axis, integers: tuple[Dim, ...]) -> list[str]:
    """The fact that an axis has at least one value, if that holds for all sizes."""
    return [f'(inhabited "{a.name}")'] if is_count(a.extent, integers) else []


def to_egglog(e: Expr) -> str:
    """An expression in egglog's notation."""
    return render(e, syntax.egglog_notation)


def prove_equal(
    goal: NormalForm,
    found: NormalForm,
    limits: Limits = LIMITS,
    journal: Journal | None = None,
    subject: str = "",
    integers: Sequence[Dim] = (),
) -> Saturation:
    """The result of a proof by axioms that two normal forms are equal.

    egglog replays a derivation where one is found; else it searches.

    Args:
        goal: the form of the program's result.
        found: the form of the candidate's result.
        limits: the limits of each run; a process that exceeds them is killed.
        journal: receives an event for each iteration, if given.
        subject: the subject of these events.
        integers: sizes that are positive integers by the conditions of the proof.
    """
    fresh = FreshAxes(integers)
    try:
        statement = make_statement(from_normal_form(found, fresh), from_normal_form(goal, fresh), integers)
    except (CannotState, ValueError) as error:
        return Saturation(NotStated(str(error)))
    except RecursionError:
        return Saturation(NotStated(TOO_DEEP))
    steps = derive(statement)
    note = iteration_events(journal, subject)
    with shared_client(limits.memory_bytes) as client:
        if steps is not None:
            run = client.prove(replay_problem(steps), limits, steps.axioms, note, unite_only=True)
            if run.equal:
                return run
        return client.prove(search_problem(statement), limits, (), note)


def iteration_events(journal: Journal | None, subject: str) -> Callable[[Step], None]:
    """A callback that appends an event for each iteration after the first."""

    def note(step: Step) -> None:
        if journal is not None and step.iteration:
            journal.append(SaturationStepped(subject, step.iteration, step.nodes, step.classes, dict(step.matches)))

    return note
