"""Cut points for large graphs: a tensor that program and candidate share becomes a new input of both.

The normal form of a full transformer block contains every earlier step many times. Where a kernel of the candidate
computes a tensor of the program, both sides may use a name for it: if the results are equal for every value of that
tensor, they are equal for this one. The converse need not hold, so a difference after a cut shows nothing.
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
"""A form with a shorter text is not replaced by a name."""
TOO_LONG = 3_000
"""Tensors that depend on a form with a longer text are lowered after a cut only."""
LENGTH_FACTORS = (1, 2)
"""How many times longer than the wanted form the program's intermediate forms may be; tried in turn."""


def meet(
    program: SGraph, candidate: SGraph, budget: Budget, *, cut: bool = True, whole: bool = True
) -> tuple[Lowered, Lowered] | None:
    """Forms of both graphs with equal results; None where they were not found within the budget.

    Tried in order: with the graphs' conditions on sizes; with cuts, too; with functions replaced by definitions, too
    (earlier where the graphs have different ones). Each attempt has its own budget.

    Args:
        program: a graph without custom kernels.
        candidate: a graph whose maps are closed.
        budget: of each attempt.
        cut: whether to try the later ones.
        whole: whether to try the first one.

    Raises:
        ShapeError: a graph is ill-formed.
    """
    conditions = (*candidate.conditions(), *program.conditions())
    mine, theirs = _defined(program), _defined(candidate)
    tried = [(_lower_both, False), (lower_with_cuts, False)]
    if mine or theirs:
        tried.insert(2 if mine == theirs else 1, (lower_with_cuts, True))
    for ways, spell_out in tried[not whole : None if cut else 1]:
        try:
            wanted, found = ways(program, candidate, Algebra(budget, spell_out=spell_out, integers=conditions))
        except NoNormalForm:
            continue
        if wanted.values[program.output] == found.values[candidate.output]:
            return wanted, found
    return None


def _defined(graph: SGraph) -> frozenset[str]:
    """The functions in a graph that have definitions."""
    functions = {node.op.fn for _, node in walk(graph) if isinstance(node.op, Unary | Binary | Scalar)}
    return frozenset(functions & (DEFINED | {"max", "min"}))


def _lower_both(program: SGraph, candidate: SGraph, algebra: Algebra) -> tuple[Lowered, Lowered]:
    found = lower(candidate, algebra)
    return lower(program, algebra), found


def lower_with_cuts(program: SGraph, candidate: SGraph, algebra: Algebra) -> tuple[Lowered, Lowered]:
    """The normal forms of both graphs, over the inputs and the cut tensors.

    They may be compared with each other only.

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
        return form if isinstance(candidate.nodes[n].op, Input) else known.name_for(form, types[n].dims)

    found = lower(candidate, algebra, instead)
    return Lowered(known.all_forms(), {}, assumptions(program)), found


class _Program:
    """The program's forms as far as they are short, and its tensors that are cut."""

    def __init__(self, graph: SGraph, algebra: Algebra) -> None:
        self._graph = graph
        self._algebra = algebra
        self._dims = [t.dims for t in graph.types()]
        self._forms: dict[int, NormalForm] = {}
        self._names: dict[int, NormalForm] = {}

    def name_for(self, form: NormalForm, dims: tuple[Dim, ...]) -> NormalForm:
        """A name for a form that a tensor of the program has; else the form itself."""
        if len(form.key) < WORTH_A_CUT:
            return form
        for times in LENGTH_FACTORS:
            self._advance(min(times * len(form.key), TOO_LONG))
            same = [n for n, f in self._forms.items() if f == form and self._dims[n] == dims]
            if same:
                return self._cut(same, dims)
        return form

    def _cut(self, same: list[int], dims: tuple[Dim, ...]) -> NormalForm:
        """A name for equal tensors; forms that depend on them are dropped and lowered again."""
        name = self._algebra.read(f"%{same[0]}", dims)
        changed = set(same)
        for n, node in enumerate(self._graph.nodes):
            if not changed.isdisjoint(node.args):
                changed.add(n)
                self._forms.pop(n, None)
        self._forms.update(dict.fromkeys(same, name))
        self._names.update(dict.fromkeys(same, name))
        return name

    def all_forms(self) -> tuple[NormalForm, ...]:
        """Every tensor's form."""
        self._advance(None)
        return tuple(self._forms[n] for n in range(len(self._graph.nodes)))

    def _advance(self, longest: int | None) -> None:
        """Lower all tensors whose operands have forms that are not too long."""
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
