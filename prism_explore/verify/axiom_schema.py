"""The rows of the table of axioms and of the table of side conditions, and their rules for egglog."""

from __future__ import annotations

from dataclasses import dataclass

SIGNATURE = """
(datatype Expr
  (At String) (Num BigRat) (Size String)
  (Add Expr Expr) (Mul Expr Expr) (Inv Expr) (Sqrt Expr) (Exp Expr) (Call String Expr)
  (Sum String Expr)
  (Within String) (Near String) (Bottom Expr)
  (Greater Expr Expr) (Most String Expr) (Upto String String Expr) (Rescaled String Expr Expr))
(relation axis (String))
(relation digits (String String String))
(relation extent (String Expr))
(relation inhabited (String))
(relation renamed (Expr Expr))
(relation stated (String Expr Expr))
(relation elsewhere (String String))
(relation independent (Expr String))
(relation bit (Expr))
(relation positive (Expr))
(relation nonnegative (Expr))
(relation nonzero (Expr))
(ruleset conditions)
(ruleset axioms)
"""
"""Sorts and relations of a run.

`(digits k outer inner)` says that axis k is the pair of axes outer and inner; `(extent k n)` how many
values k has; `(inhabited k)` that it has at least one, at all sizes that meet the proof's conditions;
`(renamed a b)` that b is a with one bound axis named anew; `(elsewhere i k)` that axis k does not
occur in index i. `(stated x a b)` says that a and b are the two sides of axiom x, where that depends on indices
and extents, which are opaque words here; the checker verifies it.
"""

CONSTRUCTORS = (
    "At",
    "Num",
    "Size",
    "Add",
    "Mul",
    "Inv",
    "Sqrt",
    "Exp",
    "Call",
    "Sum",
    "Within",
    "Near",
    "Bottom",
    "Greater",
    "Most",
    "Upto",
    "Rescaled",
)


@dataclass(frozen=True, slots=True)
class Axiom:
    """One equation, left = right wherever the conditions hold."""

    name: str
    left: str
    right: str
    says: str
    """The equation as a person writes it."""
    when: tuple[str, ...] = ()
    """Side conditions, as facts that must have been derived."""
    both_ways: bool = True
    """Whether the search may also read it from right to left; an equation is true either way."""
    source: str = "field axioms"
    argument: str = ""
    """Why it is sound at every point, in one sentence."""

    @property
    def sides(self) -> tuple[str, ...]:
        """What the search looks for: the left side, and the right one if it reads both ways."""
        return (self.left, self.right) if self.both_ways else (self.left,)

    @property
    def joining(self) -> str:
        """The equation as a rule that joins two terms which are there already, and adds none."""
        body = " ".join((f"(= whole {self.left})", f"(= other {self.right})", *self.when))
        return f'(rule ({body}) ((union whole other)) :ruleset axioms :name "{self.name}")'

    def rules(self) -> str:
        """The equation as rules of egglog that add the other side to what they find."""
        rules = [_rule(self.name, self.left, self.right, self.when)]
        if self.both_ways:
            rules.append(_rule(f"{self.name}, backwards", self.right, self.left, self.when))
        return "\n".join(rules)


def _rule(name: str, found: str, added: str, when: tuple[str, ...]) -> str:
    body = " ".join((f"(= whole {found})", *when))
    return f'(rule ({body}) ((union whole {added})) :ruleset axioms :name "{name}")'


@dataclass(frozen=True, slots=True)
class Condition:
    """How a side condition follows from others; monotone, so never taken back."""

    name: str
    given: tuple[str, ...]
    follows: str
    says: str

    def rule(self) -> str:
        """The implication as a rule of egglog."""
        return f'(rule ({" ".join(self.given)}) ({self.follows}) :ruleset conditions :name "{self.name}")'


def number(numerator: int, denominator: int = 1) -> str:
    """A rational literal in egglog's spelling, of any length."""
    return f'(bigrat (from-string "{numerator}") (from-string "{denominator}"))'


ZERO, ONE, TWO, MINUS_ONE = (number(n) for n in (0, 1, 2, -1))
X_OVER_ZERO = "field axioms with x/0 = 0, as in Lean's and Isabelle's libraries"
FINITE_SUMS = "finite sums are linear"
POSITIONAL = "positional notation: (outer, inner) -> outer * |inner| + inner is a bijection"
ROOTS = "the root is multiplicative on numbers >= 0"
EXPONENTIAL = "exp(a + b) = exp(a) exp(b)"
ORDER = "total order of real numbers"
CASES = "case distinction"
LIMIT = "limit for bottom to minus infinity"
DEFINITION = "definition"
