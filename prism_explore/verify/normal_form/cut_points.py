"""Cut points for large graphs: a tensor that program and candidate share becomes a new input of both.

The normal form of a full transformer block contains every earlier tensor many times. Where a kernel of the candidate
computes a tensor of the program, both sides may use a name for it. If the results are equal for every value of that
tensor, they are equal for its actual value. The converse need not hold, so a difference after a cut proves nothing.

Source: cut points in combinational equivalence checking.
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
from prism_explore.verify.normal_form.functions import DEFINED_FUNCTIONS
from prism_explore.verify.normal_form.lower_graph import Lowered, assumptions, lower, lower_tensor
from prism_explore.verify.normal_form.masked_maxima import may_be_minus_infinity

MIN_CUT_CHARACTERS = 100
"""A form with a shorter key is not replaced by a name."""
MAX_CHARACTERS = 3_000
"""Tensors that depend on a form with a longer key are lowered only after a cut."""
LENGTH_FACTORS = (1, 2)
"""How many times longer than the wanted form the intermediate forms of the program may be; tried in order."""


def find_equal_forms(
    program: SGraph, candidate: SGraph, budget: Budget, *, with_cuts: bool = True, without_cuts: bool = True
) -> tuple[Lowered, Lowered] | None:
    """Forms of both graphs with equal results; None where they were not found within the budget.

    All attempts use the graphs' conditions on sizes, and each has its own budget; with cut points, each tensor of the
    candidate has. Their order: full forms; forms with cut points; the same with functions replaced by definitions. The
    last attempt is made before the second one if the two graphs have different functions with definitions.

    Args:
        program: a graph without custom kernels.
        candidate: a graph whose maps are closed.
        budget: the limits of each attempt; with cut points, of each tensor of the candidate.
        with_cuts: whether to try lowering with cut points.
        without_cuts: whether to try lowering without them.

    Raises:
        ShapeError: a graph is ill-formed.
    """
    conditions = (*candidate.conditions(), *program.conditions())
    defined = _defined_functions(program), _defined_functions(candidate)
    attempts = [(_lower_both, False), (lower_with_cuts, False)]
    if any(defined):
        attempts.insert(2 if defined[0] == defined[1] else 1, (lower_with_cuts, True))
    for lower_graphs, expand_definitions in attempts[not without_cuts : None if with_cuts else 1]:
        try:
            wanted, found = lower_graphs(
                program, candidate, Algebra(budget, expand_definitions=expand_definitions, integers=conditions)
            )
        except NoNormalForm:
            continue
        if results_equal(program, wanted, candidate, found):
            return wanted, found
    return None


def results_equal(program: SGraph, wanted: Lowered, candidate: SGraph, found: Lowered) -> bool:
    """Whether all results of two lowered graphs have equal forms."""
    pairs = zip(program.outputs, candidate.outputs, strict=True)
    return all(wanted.values[a] == found.values[b] for a, b in pairs)


def _defined_functions(graph: SGraph) -> frozenset[str]:
    """The functions in a graph that have definitions."""
    functions = {node.op.fn for _, node in walk(graph) if isinstance(node.op, Unary | Binary | Scalar)}
    return frozenset(functions & (DEFINED_FUNCTIONS | {"max", "min"}))


def _lower_both(program: SGraph, candidate: SGraph, algebra: Algebra) -> tuple[Lowered, Lowered]:
    found = lower(candidate, algebra)
    return lower(program, algebra), found


def lower_with_cuts(program: SGraph, candidate: SGraph, algebra: Algebra) -> tuple[Lowered, Lowered]:
    """The normal forms of both graphs, over the inputs and the cut tensors; comparable only with each other.

    Args:
        program: a graph without custom kernels.
        candidate: a graph whose maps are closed.
        algebra: builds the forms.

    Raises:
        NoNormalForm: a race, or the budget ended.
        ShapeError: a graph is ill-formed.
    """
    known = _ProgramForms(program, algebra)
    types = candidate.types()

    def replace(n: int, form: NormalForm) -> NormalForm:
        # What may be minus infinity keeps its form: of a name, the check of masks knows nothing.
        is_kept = isinstance(candidate.nodes[n].op, Input) or may_be_minus_infinity(form)
        used = form if is_kept else known.name_for(form, types[n].dims)
        algebra.restart()  # what is between two cuts is short, and a graph may have many of them
        return used

    found = lower(candidate, algebra, replace)
    return Lowered(known.all_forms(), {}, assumptions(program)), found


class _ProgramForms:
    """The forms of a program, lowered as far as they are short, and the names of its cut tensors."""

    def __init__(self, graph: SGraph, algebra: Algebra) -> None:
        self._graph = graph
        self._algebra = algebra
        self._dims = [t.dims for t in graph.types()]
        self._forms: dict[int, NormalForm] = {}
        self._names: dict[int, NormalForm] = {}

    def name_for(self, form: NormalForm, dims: tuple[Dim, ...]) -> NormalForm:
        """The name of a tensor of the program with this form; the form itself where there is none."""
        if len(form.key) < MIN_CUT_CHARACTERS:
            return form
        for times in LENGTH_FACTORS:
            self._advance(min(times * len(form.key), MAX_CHARACTERS))
            same = [n for n, f in self._forms.items() if f == form and self._dims[n] == dims]
            if same:
                return self._cut(same, dims)
        return form

    def _cut(self, same: list[int], dims: tuple[Dim, ...]) -> NormalForm:
        """Name equal tensors; forms that depend on them are dropped, to be lowered again."""
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
