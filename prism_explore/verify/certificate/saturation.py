"""Proof by equality saturation that two expressions are equal; the last method where normal forms differ.

Input is a statement or a derivation; output is its text for egglog: the terms, and facts about axes, extents and
independence. The rows of `axioms` do the rest. egglog runs in a process of its own (`egraph/client`), so limits hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from prism_explore.events.journal import Journal
from prism_explore.events.kinds import SaturationStepped
from prism_explore.ir.dims import Dim
from prism_explore.verify.certificate import syntax
from prism_explore.verify.certificate.derivation.derive import derive
from prism_explore.verify.certificate.derivation.term_graph import RENAME, STATED, Derivation
from prism_explore.verify.certificate.expressions import Expr, Fresh, Leaf, bound, of_dim, of_normal_form, places, walk
from prism_explore.verify.certificate.lemma import TOO_DEEP, Axis, CannotState, Statement, coordinates_of, state
from prism_explore.verify.certificate.syntax import quote, render
from prism_explore.verify.egraph.client import Problem, shared_client
from prism_explore.verify.egraph.limits import Limits, NotStated, Saturation, Step
from prism_explore.verify.normal_form.forms import NormalForm
from prism_explore.verify.normal_form.size_facts import is_count

LIMITS = Limits()
"""The default limits."""


def problem(statement: Statement) -> Problem:
    """A statement for egglog's search: the two sides, the axes, and the axes on which each element does not depend."""
    named = {a.name: a for a in statement.axes}
    stated = [statement.left, statement.right, *statement.hints, *(e for pair in statement.renamed for e in pair)]
    summed: dict[str, None] = {}
    leaves: dict[Leaf, None] = {}
    for e in (inner for side in stated for inner in walk(side)):
        axis = bound(e)
        if axis is not None:
            summed.setdefault(axis.name)
        elif isinstance(e, Leaf):
            leaves.setdefault(e)
    pending = list(summed)
    while pending:
        for part in named[pending.pop()].digits or ():
            if part not in summed:
                summed.setdefault(part)
                pending.append(part)
    for a in statement.axes:
        if a.digits and a.name not in summed and set(a.digits) <= set(summed):
            summed.setdefault(a.name)
    facts: list[str] = []
    for name in summed:
        a = named[name]
        facts.append(f'(axis "{name}")')
        facts.append(f'(extent "{name}" {egglog(of_dim(a.extent))})')
        facts += _inhabited(a, statement.integers)
        if a.digits:
            facts.append(f'(digits "{name}" "{a.digits[0]}" "{a.digits[1]}")')
    for leaf in leaves:
        met = frozenset[str]().union(*(statement.coordinates(n) for i in places(leaf) for n in i.free))
        facts += [
            f'(independent {egglog(leaf)} "{name}")' for name in summed if not named[name].digits and name not in met
        ]
    facts += [f"(renamed {egglog(a)} {egglog(b)})" for a, b in statement.renamed]
    facts += [egglog(e) for e in statement.hints]
    return Problem("\n".join(facts), egglog(statement.left), egglog(statement.right))


def replay(derivation: Derivation) -> Problem:
    """A derivation for egglog's replay: its terms, without the steps.

    Renamings of axes and instances of axioms about indices are facts; the checker verifies them.
    """
    axes = {a.name: a for a in derivation.axes}
    facts: list[str] = []
    for a in derivation.axes:
        facts += [f'(axis "{a.name}")', f'(extent "{a.name}" {egglog(of_dim(a.extent))})']
        facts += _inhabited(a, derivation.integers)
        if a.digits:
            facts.append(f'(digits "{a.name}" "{a.digits[0]}" "{a.digits[1]}")')
    pairs = {a.name: a.digits for a in derivation.axes if a.digits}
    for n, node in enumerate(derivation.nodes):
        facts.append(f"(let $t{n} {syntax.egglog(node.op, node.label, [f'$t{i}' for i in node.arguments])})")
        if n not in derivation.index_axes:
            continue
        met = frozenset[str]().union(*(coordinates_of(w, pairs) for w in derivation.index_axes[n]))
        if node.op == "upto":
            at = quote(node.label.split(" ", 1)[1])
            facts += [f'(elsewhere "{at}" "{a}")' for a in axes if met.isdisjoint(coordinates_of(a, pairs))]
        else:
            facts += [f'(independent $t{n} "{a}")' for a in axes if not axes[a].digits and a not in met]
    facts += [f"(renamed $t{s.left} $t{s.right})" for s in derivation.steps if s.axiom == RENAME]
    facts += [f'(stated "{s.axiom}" $t{s.left} $t{s.right})' for s in derivation.steps if s.axiom in STATED]
    return Problem("\n".join(facts), f"$t{derivation.left}", f"$t{derivation.right}")


def _inhabited(a: Axis, integers: tuple[Dim, ...]) -> list[str]:
    """The fact that an axis has at least one value, if it has for all sizes."""
    return [f'(inhabited "{a.name}")'] if is_count(a.extent, integers) else []


def egglog(e: Expr) -> str:
    """An expression in egglog's text."""
    return render(e, syntax.egglog)


def prove_equal(
    goal: NormalForm,
    found: NormalForm,
    limits: Limits = LIMITS,
    journal: Journal | None = None,
    subject: str = "",
    snapshot: int = 0,
    integers: Sequence[Dim] = (),
) -> Saturation:
    """Whether the axioms prove two normal forms equal.

    egglog replays a derivation where one is found, else it searches.

    Args:
        goal: what the program computes.
        found: what the candidate computes.
        limits: of each run; the process is killed where it exceeds them.
        journal: for an event of each iteration, if given.
        subject: of the events.
        snapshot: how many e-nodes of the final e-graph to return; 0 for none.
        integers: sizes that are positive integers by the conditions of the proof.
    """
    fresh = Fresh(integers)
    try:
        statement = state(of_normal_form(found, fresh), of_normal_form(goal, fresh), integers)
    except (CannotState, ValueError) as error:
        return Saturation(NotStated(str(error)))
    except RecursionError:
        return Saturation(NotStated(TOO_DEEP))
    steps = derive(statement)
    note = iteration_events(journal, subject)
    with shared_client(limits.memory_bytes) as client:
        if steps is not None:
            run = client.prove(replay(steps), limits, steps.axioms, snapshot, note, joining=True)
            if run.equal:
                return run
        return client.prove(problem(statement), limits, (), snapshot, note)


def iteration_events(journal: Journal | None, subject: str) -> Callable[[Step], None]:
    """A callback that appends an event for each iteration after the first."""

    def note(step: Step) -> None:
        if journal is not None and step.iteration:
            journal.append(SaturationStepped(subject, step.iteration, step.nodes, step.classes, dict(step.matches)))

    return note
