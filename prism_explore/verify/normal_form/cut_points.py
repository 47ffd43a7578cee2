"""Large graphs, cut where program and candidate meet: a tensor that both have becomes a name for both.

The normal form of a whole transformer block holds every step before it, many times over. Where a kernel of the
candidate gives what some tensor of the program is, both sides may forget how it came about: if the results are
equal for every tensor in its place, they are equal for this one. The converse need not hold, so a difference
behind a cut says nothing.
"""

from __future__ import annotations

from prism_explore.ir.dims import Dim
from prism_explore.ir.graph import SGraph, walk
from prism_explore.ir.ops import (
    Accumulate,
    AccumulateRescaled,
    Binary,
    Custom,
    Input,
    Load,
    Result,
    RunningMax,
    Scalar,
    Store,
    Unary,
)
from prism_explore.verify.normal_form.algebra import Algebra, Budget, NoNormalForm
from prism_explore.verify.normal_form.forms import NormalForm
from prism_explore.verify.normal_form.functions import DEFINED
from prism_explore.verify.normal_form.lower_graph import Lowered, assumptions, lower, lower_tensor

WORTH_A_CUT = 100
"""Length of a form's text from which a name is shorter."""
TOO_LONG = 3_000
"""Length of a form's text behind which the program waits for a cut."""
AHEAD = (1, 2)
"""How many times longer than what is looked for a form may be on the program's way to it; tried in turn."""


def meet(
    program: SGraph, candidate: SGraph, budget: Budget, *, cut: bool = True, whole: bool = True
) -> tuple[Lowered, Lowered] | None:
    """Forms of both graphs whose results are one; None where that was not found within the budget.

    In order: with the graphs' conditions as facts on which sizes are whole; with cuts as well; with functions
    spelled out as well, which comes before where the graphs name different ones. Each has a budget of its own.

    Args:
        program: a graph without custom kernels.
        candidate: a graph whose maps are closed.
        budget: of each attempt.
        cut: whether to try the others.
        whole: whether to try the first; not where the program alone is known to exceed the budget.

    Raises:
        ShapeError: a graph is ill-formed.
    """
    facts = (*candidate.conditions(), *program.conditions())
    mine, theirs = _defined(program), _defined(candidate)
    tried = [(_lower_both, False), (lower_with_cuts, False)]
    if mine or theirs:
        tried.insert(2 if mine == theirs else 1, (lower_with_cuts, True))
    for ways, spell_out in tried[not whole : None if cut else 1]:
        try:
            wanted, found = ways(program, candidate, Algebra(budget, spell_out=spell_out, integers=facts))
        except NoNormalForm:
            continue
        if wanted.values[program.output] == found.values[candidate.output]:
            return wanted, found
    return None


def _defined(graph: SGraph) -> frozenset[str]:
    """Which functions occur that may be spelled out."""
    functions = {node.op.fn for _, node in walk(graph) if isinstance(node.op, Unary | Binary | Scalar)}
    return frozenset(functions & (DEFINED | {"max", "min"}))


def _lower_both(program: SGraph, candidate: SGraph, algebra: Algebra) -> tuple[Lowered, Lowered]:
    found = lower(candidate, algebra)
    return lower(program, algebra), found


def lower_with_cuts(program: SGraph, candidate: SGraph, algebra: Algebra) -> tuple[Lowered, Lowered]:
    """The normal forms of both graphs, over the inputs and the tensors at which they were cut.

    Forms of one are to be compared with those of the other, and with no others.

    Args:
        program: a graph without custom kernels.
        candidate: a graph whose maps are closed.
        algebra: what builds the forms.

    Raises:
        NoNormalForm: a race, or the budget ended.
        ShapeError: a graph is ill-formed.
    """
    known = _Program(program, algebra)
    types = candidate.types()

    def instead(n: int, form: NormalForm) -> NormalForm:
        return form if isinstance(candidate.nodes[n].op, Input) else known.named(form, types[n].dims)

    found = lower(candidate, algebra, instead)
    return Lowered(known.finished(), {}, assumptions(program)), found


class _Program:
    """The program's forms as far as they are short, and those of its tensors that became names."""

    def __init__(self, graph: SGraph, algebra: Algebra) -> None:
        self._graph = graph
        self._algebra = algebra
        self._dims = [t.dims for t in graph.types()]
        self._forms: dict[int, NormalForm] = {}
        self._names: dict[int, NormalForm] = {}

    def named(self, form: NormalForm, dims: tuple[Dim, ...]) -> NormalForm:
        """A name for the form where it is one of the program's tensors; else the form itself."""
        if len(form.key) < WORTH_A_CUT:
            return form
        for times in AHEAD:
            self._advance(min(times * len(form.key), TOO_LONG))
            same = [n for n, f in self._forms.items() if f == form and self._dims[n] == dims]
            if same:
                return self._called(same, dims)
        return form

    def _called(self, same: list[int], dims: tuple[Dim, ...]) -> NormalForm:
        """A name for tensors that are one; what was made of them is to be made again, of the name."""
        name = self._algebra.read(f"%{same[0]}", dims)
        changed = set(same)
        for n, node in enumerate(self._graph.nodes):
            if not changed.isdisjoint(node.args):
                changed.add(n)
                self._forms.pop(n, None)
        self._forms.update(dict.fromkeys(same, name))
        self._names.update(dict.fromkeys(same, name))
        return name

    def finished(self) -> tuple[NormalForm, ...]:
        """Every tensor's form."""
        self._advance(None)
        return tuple(self._forms[n] for n in range(len(self._graph.nodes)))

    def _advance(self, longest: int | None) -> None:
        """All forms that can be had from forms that are not too long."""
        for n, node in enumerate(self._graph.nodes):
            if n in self._forms:
                continue
            if n in self._names:
                self._forms[n] = self._names[n]
                continue
            args = [self._forms.get(a) for a in node.args]
            known = [a for a in args if a is not None and (longest is None or len(a.key) <= longest)]
            if len(known) < len(args):
                continue
            match node.op:
                case Custom() | Result() | Load() | Store() | Accumulate() | AccumulateRescaled() | RunningMax():
                    raise AssertionError("a program has no custom kernels")
                case op:
                    self._forms[n] = lower_tensor(op, known, [self._dims[a] for a in node.args], self._algebra)
