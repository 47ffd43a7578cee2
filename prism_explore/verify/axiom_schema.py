"""The row types of the tables of axioms and of side conditions, and their egglog rules."""

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
"""The sorts, relations and rulesets of every egglog program.

    (digits k outer inner)    axis k has the digits outer and inner
    (extent k n)              axis k has n values
    (inhabited k)             axis k has at least one value, at all sizes that meet the conditions of the proof
    (renamed a b)             b is a with one bound axis renamed
    (elsewhere i k)           axis k does not occur in index i
    (stated x a b)            a and b are the two sides of axiom x, whose condition is about indices and extents; these
                              are strings for egglog, so the checker verifies the fact
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
    equation: str
    """The equation in mathematical notation."""
    conditions: tuple[str, ...] = ()
    """Side conditions: facts that must be derived."""
    both_ways: bool = True
    """Whether the search also applies it from right to left; the equation holds in both directions."""
    source: str = "field axioms"
    argument: str = ""
    """Why it is sound at every point, in one sentence."""

    @property
    def sides(self) -> tuple[str, ...]:
        """The patterns of the search: the left side, and also the right side if `both_ways`."""
        return (self.left, self.right) if self.both_ways else (self.left,)

    @property
    def unite_rule(self) -> str:
        """The equation as a rule that unites two existing terms and adds none."""
        body = " ".join((f"(= whole {self.left})", f"(= other {self.right})", *self.conditions))
        return f'(rule ({body}) ((union whole other)) :ruleset axioms :name "{self.name}")'

    def rules(self) -> str:
        """The equation as rules that add the other side to each term that they match."""
        rules = [_rule(self.name, self.left, self.right, self.conditions)]
        if self.both_ways:
            rules.append(_rule(f"{self.name}, backwards", self.right, self.left, self.conditions))
        return "\n".join(rules)


def _rule(name: str, found: str, added: str, when: tuple[str, ...]) -> str:
    body = " ".join((f"(= whole {found})", *when))
    return f'(rule ({body}) ((union whole {added})) :ruleset axioms :name "{name}")'


@dataclass(frozen=True, slots=True)
class Condition:
    """An implication between side conditions; facts are only added, never removed."""

    name: str
    premises: tuple[str, ...]
    conclusion: str
    sentence: str

    def rule(self) -> str:
        """The implication as a rule of egglog."""
        return f'(rule ({" ".join(self.premises)}) ({self.conclusion}) :ruleset conditions :name "{self.name}")'


def number(numerator: int, denominator: int = 1) -> str:
    """A rational literal of any size, in egglog's syntax."""
    return f'(bigrat (from-string "{numerator}") (from-string "{denominator}"))'


ZERO, ONE, TWO, MINUS_ONE = (number(n) for n in (0, 1, 2, -1))
X_OVER_ZERO = "field axioms with x/0 = 0, as in Lean's and Isabelle's libraries"
FINITE_SUMS = "finite sums are linear"
POSITIONAL = "positional notation: (outer, inner) -> outer * |inner| + inner is a bijection"
ROOTS = "the root is multiplicative on numbers >= 0"
EXPONENTIAL = "exp(a + b) = exp(a) exp(b)"
LOGARITHM = "logarithm law"
ANGLES = "exp(i a) = cos(a) + i sin(a)"
ORDER = "total order of real numbers"
CASES = "case distinction"
LIMIT = "limit for bottom to minus infinity"
DEFINITION = "definition"
