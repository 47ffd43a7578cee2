"""The interface of the operations on normal forms that the rules for sums, powers, functions and maxima use.

`algebra.Algebra` implements them. The rules import this interface only, so no module imports the algebra back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from prism_explore.ir.dims import Dim
from prism_explore.verify.normal_form.bound_names import OpenOperand
from prism_explore.verify.normal_form.forms import Atom, Factor, InBand, Interval, MaxOperand, NormalForm, Number, Term
from prism_explore.verify.normal_form.index import Index, Var
from prism_explore.verify.normal_form.indicators import Constant


class Ring(Protocol):
    """Operations from normal forms to normal forms; any of them raises `NoNormalForm` where the budget ends."""

    expand_definitions: bool
    """Whether named functions are replaced by their definitions (rules F1, F7)."""
    by_order: bool
    """Whether what depends on an order is spelled out by comparisons, and logarithms are split (O1 to O6, G1)."""
    integers: tuple[Dim, ...]
    """Sizes that are integers by the conditions of a candidate."""

    def spend(self, steps: int) -> None:
        """Count work."""

    # ------------------------------------------------------------ arithmetic
    def constant(self, value: Number) -> NormalForm:
        """A rational number."""
        ...

    def size(self, d: Dim) -> NormalForm:
        """A size as a number."""
        ...

    def add(self, a: NormalForm, b: NormalForm) -> NormalForm:
        """a + b."""
        ...

    def sub(self, a: NormalForm, b: NormalForm) -> NormalForm:
        """a - b."""
        ...

    def mul(self, a: NormalForm, b: NormalForm) -> NormalForm:
        """a * b."""
        ...

    def scale(self, a: NormalForm, by: Number) -> NormalForm:
        """A rational number times a."""
        ...

    def collect(self, terms: Iterable[tuple[Term, Number]]) -> NormalForm:
        """A sum of any terms."""
        ...

    def term(self, bound: Sequence[Var], factors: Sequence[Factor], coefficient: Number) -> NormalForm:
        """coefficient * Σ_bound Π factors; the bound names are fresh ones."""
        ...

    def sum(self, a: NormalForm, over: Index) -> NormalForm:
        """Σ of a over an index variable."""
        ...

    def power(self, n: NormalForm, q: Number) -> NormalForm:
        """n to a rational power."""
        ...

    # ------------------------------------------------------------ functions, maxima, indicators
    def exp(self, n: NormalForm) -> NormalForm:
        """The exponential function."""
        ...

    def apply(self, function: str, n: NormalForm) -> NormalForm:
        """A function by its name in `ir.elementwise.UNARY`."""
        ...

    def maximum(self, pieces: Sequence[OpenOperand]) -> NormalForm:
        """The greatest value of any form at any value of its own bound indices."""
        ...

    def indicator(self, value: InBand | Interval | Constant) -> NormalForm:
        """A 0/1 value as a form."""
        ...

    def piecewise(self, pieces: Iterable[tuple[NormalForm, NormalForm]]) -> NormalForm:
        """A value by cases: a sum of values, each times an indicator, exactly one of which is 1 at each position."""
        ...

    # ------------------------------------------------------------ indices
    def substitute(self, n: NormalForm, by: Mapping[str, Index]) -> NormalForm:
        """Free index variables replaced by index terms of the same extents."""
        ...

    def substitute_factors(self, factors: Iterable[Factor], by: Mapping[str, Index]) -> NormalForm:
        """The same in a product."""
        ...

    def substitute_index(self, i: Index, by: Mapping[str, Index]) -> Index:
        """The same in an index."""
        ...

    def fresh_index(self, of: Var) -> Var:
        """An index of the same extent that occurs nowhere."""
        ...

    def fresh_name(self) -> str:
        """A name that occurs nowhere."""
        ...

    def rename(self, a: Atom, by: Mapping[str, Index]) -> Atom:
        """Variables of an atom renamed, one to one."""
        ...

    def rename_form(self, n: NormalForm, by: Mapping[str, Index]) -> NormalForm:
        """Variables of a form renamed, one to one."""
        ...

    def open_term(self, t: Term) -> tuple[tuple[Var, ...], tuple[Factor, ...]]:
        """A term's bound indices and factors under fresh names."""
        ...

    def open_operand(self, p: MaxOperand) -> OpenOperand:
        """An operand's bound indices and its form under fresh names."""
        ...

    def close(self, bound: Sequence[Var], factors: Sequence[Factor]) -> Term:
        """The term with canonical bound names."""
        ...

    def close_operand(self, bound: Sequence[Var], inner: NormalForm) -> MaxOperand:
        """An operand of a maximum with canonical bound names."""
        ...
