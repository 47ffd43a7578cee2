"""The axioms: what the prover may use, one row each.

An axiom is an equation between terms that holds at every point, for all real values, under the
convention x/0 = 0 (so `a * a^-1` is 1 only where a is not zero) and with the root of a negative
number left unspecified. Terms denote functions of named coordinates (see `terms`); an equation
therefore never renames anything behind the reader's back, and what it demands of its variables stands
in its side conditions.

Side conditions are derived by the rows of `CONDITIONS`, which only ever add facts: what was
once derived stays true however the e-graph grows. (A set of dependencies that shrinks by merging
would not have this property: a fact that arrives late would turn a *may depend* into a *does not*.)

The text of a row is egglog's, so that it can be read beside egglog's manual and copied into it.
"""

from __future__ import annotations

from dataclasses import dataclass

SIGNATURE = """
(datatype Expr
  (At String) (Num BigRat) (Size String)
  (Add Expr Expr) (Mul Expr Expr) (Inv Expr) (Sqrt Expr) (Exp Expr) (Call String Expr)
  (Sum String Expr))
(relation axis (String))
(relation digits (String String String))
(relation extent (String Expr))
(relation renamed (Expr Expr))
(relation independent (Expr String))
(relation positive (Expr))
(relation nonnegative (Expr))
(relation nonzero (Expr))
(ruleset conditions)
(ruleset axioms)
"""
"""Sorts and relations of a run.

`(digits k outer inner)` says that axis k is the pair of axes outer and inner; `(extent k n)` how many
values k has; `(renamed a b)` that b is a with one bound axis named anew.
"""

CONSTRUCTORS = ("At", "Num", "Size", "Add", "Mul", "Inv", "Sqrt", "Exp", "Call", "Sum")


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
DEFINITION = "definition"

AXIOMS: tuple[Axiom, ...] = (
    # numbers
    Axiom(
        "number sum",
        "(Add (Num p) (Num q))",
        "(Num (+ p q))",
        "two rational numbers are added",
        both_ways=False,
        source="arithmetic",
    ),
    Axiom(
        "number product",
        "(Mul (Num p) (Num q))",
        "(Num (* p q))",
        "two rational numbers are multiplied",
        both_ways=False,
        source="arithmetic",
    ),
    Axiom(
        "number inverse",
        "(Inv (Num p))",
        f"(Num (/ {ONE} p))",
        "a rational number other than 0 is inverted",
        (f"(!= p {ZERO})",),
        both_ways=False,
        source="arithmetic",
    ),
    Axiom(
        "number root",
        "(Sqrt (Num p))",
        "(Num r)",
        "√p = r for a rational p = r² with r ≥ 0",
        (f"(>= p {ZERO})", "(= r (sqrt p))"),
        both_ways=False,
        source="arithmetic",
    ),
    # ring
    Axiom("add commutes", "(Add a b)", "(Add b a)", "a + b = b + a", both_ways=False),
    Axiom("add associates", "(Add a (Add b c))", "(Add (Add a b) c)", "a + (b + c) = (a + b) + c"),
    Axiom("mul commutes", "(Mul a b)", "(Mul b a)", "a b = b a", both_ways=False),
    Axiom("mul associates", "(Mul a (Mul b c))", "(Mul (Mul a b) c)", "a (b c) = (a b) c"),
    Axiom("distribute", "(Mul a (Add b c))", "(Add (Mul a b) (Mul a c))", "a (b + c) = a b + a c"),
    Axiom("one", f"(Mul (Num {ONE}) a)", "a", "1 a = a", both_ways=False),
    Axiom("zero", f"(Mul (Num {ZERO}) a)", f"(Num {ZERO})", "0 a = 0", both_ways=False),
    Axiom("add zero", f"(Add (Num {ZERO}) a)", "a", "0 + a = a", both_ways=False),
    Axiom("double", "(Add a a)", f"(Mul (Num {TWO}) a)", "a + a = 2 a", both_ways=False),
    Axiom(
        "collect",
        "(Add a (Mul (Num p) a))",
        f"(Mul (Num (+ p {ONE})) a)",
        "a + p a = (p + 1) a for a number p; with p = −1 both sides are 0",
        both_ways=False,
    ),
    # sums
    Axiom(
        "sum of a sum",
        "(Sum k (Add a b))",
        "(Add (Sum k a) (Sum k b))",
        "Σ_k (a + b) = Σ_k a + Σ_k b",
        source=FINITE_SUMS,
    ),
    Axiom(
        "sum of a multiple",
        "(Sum k (Mul a b))",
        "(Mul a (Sum k b))",
        "Σ_k a b = a Σ_k b where a does not depend on k",
        ("(independent a k)",),
        source=FINITE_SUMS,
    ),
    Axiom(
        "sum of a constant",
        "(Sum k a)",
        "(Mul n a)",
        "Σ_k a = |k| a where a does not depend on k",
        ("(independent a k)", "(extent k n)"),
        both_ways=False,
        source=FINITE_SUMS,
    ),
    Axiom(
        "sums swap",
        "(Sum j (Sum k a))",
        "(Sum k (Sum j a))",
        "Σ_j Σ_k a = Σ_k Σ_j a",
        both_ways=False,
        source=FINITE_SUMS,
    ),
    Axiom(
        "sum by digits",
        "(Sum outer (Sum inner a))",
        "(Sum k a)",
        "Σ_outer Σ_inner a = Σ_k a where k is the pair (outer, inner)",
        ("(digits k outer inner)",),
        source=POSITIONAL,
    ),
    Axiom(
        "rename",
        "a",
        "b",
        "Σ_j a = Σ_k a[j := k] where a does not depend on k and |j| = |k|",
        ("(renamed a b)",),
        both_ways=False,
        source="the name of a bound axis is free to choose",
    ),
    # powers
    Axiom(
        "inverse of a product",
        "(Inv (Mul a b))",
        "(Mul (Inv a) (Inv b))",
        "(a b)⁻¹ = a⁻¹ b⁻¹",
        source=X_OVER_ZERO,
    ),
    Axiom("inverse twice", "(Inv (Inv a))", "a", "(a⁻¹)⁻¹ = a", both_ways=False, source=X_OVER_ZERO),
    Axiom(
        "cancel",
        "(Mul a (Inv a))",
        f"(Num {ONE})",
        "a a⁻¹ = 1 where a ≠ 0",
        ("(nonzero a)",),
        both_ways=False,
    ),
    Axiom(
        "absorb",
        "(Mul a (Mul a (Inv a)))",
        "a",
        "a (a a⁻¹) = a, also where a = 0",
        both_ways=False,
        source=X_OVER_ZERO,
    ),
    Axiom(
        "root of a product",
        "(Sqrt (Mul a b))",
        "(Mul (Sqrt a) (Sqrt b))",
        "√(a b) = √a √b where a, b ≥ 0",
        ("(nonnegative a)", "(nonnegative b)"),
        source=ROOTS,
    ),
    Axiom(
        "root of an inverse",
        "(Sqrt (Inv a))",
        "(Inv (Sqrt a))",
        "√(a⁻¹) = (√a)⁻¹ where a ≥ 0",
        ("(nonnegative a)",),
        source=ROOTS,
    ),
    Axiom(
        "square of a root",
        "(Mul (Sqrt a) (Sqrt a))",
        "a",
        "√a √a = a where a ≥ 0",
        ("(nonnegative a)",),
        both_ways=False,
        source=ROOTS,
    ),
    Axiom(
        "root of a square",
        "(Sqrt (Mul a a))",
        "a",
        "√(a a) = a where a ≥ 0",
        ("(nonnegative a)",),
        both_ways=False,
        source=ROOTS,
    ),
    # exponentials and functions
    Axiom(
        "exp of a sum",
        "(Exp (Add a b))",
        "(Mul (Exp a) (Exp b))",
        "exp(a + b) = exp(a) exp(b)",
        source=EXPONENTIAL,
    ),
    Axiom(
        "exp of zero",
        f"(Exp (Num {ZERO}))",
        f"(Num {ONE})",
        "exp(0) = 1",
        both_ways=False,
        source=EXPONENTIAL,
    ),
    Axiom(
        "exp of a negative",
        f"(Exp (Mul (Num {MINUS_ONE}) a))",
        "(Inv (Exp a))",
        "exp(−a) = exp(a)⁻¹",
        source=EXPONENTIAL,
    ),
    Axiom(
        "sigmoid",
        '(Call "sigmoid" a)',
        f"(Inv (Add (Num {ONE}) (Exp (Mul (Num {MINUS_ONE}) a))))",
        "sigmoid(a) = (1 + exp(−a))⁻¹",
        both_ways=False,
        source=DEFINITION,
    ),
    Axiom(
        "silu",
        '(Call "silu" a)',
        '(Mul a (Call "sigmoid" a))',
        "silu(a) = a sigmoid(a)",
        both_ways=False,
        source=DEFINITION,
    ),
    Axiom(
        "relu of a nonnegative",
        '(Call "relu" a)',
        "a",
        "relu(a) = a where a ≥ 0",
        ("(nonnegative a)",),
        both_ways=False,
        source=DEFINITION,
    ),
    Axiom(
        "relu of a multiple",
        '(Call "relu" (Mul a b))',
        '(Mul a (Call "relu" b))',
        "relu(a b) = a relu(b) where a ≥ 0",
        ("(nonnegative a)",),
        source="relu is positively homogeneous",
    ),
)

CONDITIONS: tuple[Condition, ...] = (
    Condition("number stays", ("(= e (Num p))", "(axis k)"), "(independent e k)", "a number depends on no axis"),
    Condition("size stays", ("(= e (Size s))", "(axis k)"), "(independent e k)", "a size depends on no axis"),
    Condition(
        "add depends",
        ("(= e (Add a b))", "(independent a k)", "(independent b k)"),
        "(independent e k)",
        "a + b depends on an axis only if a or b does",
    ),
    Condition(
        "mul depends",
        ("(= e (Mul a b))", "(independent a k)", "(independent b k)"),
        "(independent e k)",
        "a b depends on an axis only if a or b does",
    ),
    Condition(
        "inverse depends",
        ("(= e (Inv a))", "(independent a k)"),
        "(independent e k)",
        "a⁻¹ depends only where a does",
    ),
    Condition(
        "root depends",
        ("(= e (Sqrt a))", "(independent a k)"),
        "(independent e k)",
        "√a depends only where a does",
    ),
    Condition(
        "exp depends",
        ("(= e (Exp a))", "(independent a k)"),
        "(independent e k)",
        "exp(a) depends only where a does",
    ),
    Condition(
        "call depends",
        ("(= e (Call f a))", "(independent a k)"),
        "(independent e k)",
        "f(a) depends only where a does",
    ),
    Condition(
        "sum depends",
        ("(= e (Sum j a))", "(independent a k)"),
        "(independent e k)",
        "Σ_j a depends only where a does",
    ),
    Condition("sum binds", ("(= e (Sum k a))",), "(independent e k)", "Σ_k a does not depend on k"),
    Condition(
        "digits from the pair",
        ("(digits k outer inner)", "(independent e k)"),
        "(independent e outer)",
        "who does not depend on a pair does not depend on its outer digit",
    ),
    Condition(
        "inner digit from the pair",
        ("(digits k outer inner)", "(independent e k)"),
        "(independent e inner)",
        "who does not depend on a pair does not depend on its inner digit",
    ),
    Condition(
        "the pair from its digits",
        ("(digits k outer inner)", "(independent e outer)", "(independent e inner)"),
        "(independent e k)",
        "who depends on neither digit does not depend on the pair",
    ),
    Condition("positive number", ("(= e (Num p))", f"(> p {ZERO})"), "(positive e)", "a number above 0 is positive"),
    Condition(
        "zero is not negative",
        ("(= e (Num p))", f"(>= p {ZERO})"),
        "(nonnegative e)",
        "a number from 0 on is ≥ 0",
    ),
    Condition("nonzero number", ("(= e (Num p))", f"(!= p {ZERO})"), "(nonzero e)", "a number other than 0 is ≠ 0"),
    Condition("positive size", ("(= e (Size s))",), "(positive e)", "sizes are positive integers"),
    Condition("positive exp", ("(= e (Exp a))",), "(positive e)", "exp(a) > 0"),
    Condition("positive is nonnegative", ("(positive e)",), "(nonnegative e)", "a > 0 gives a ≥ 0"),
    Condition("positive is nonzero", ("(positive e)",), "(nonzero e)", "a > 0 gives a ≠ 0"),
    Condition("a square", ("(= e (Mul a a))",), "(nonnegative e)", "a a ≥ 0"),
    Condition("a quotient of equals", ("(= e (Mul a (Inv a)))",), "(nonnegative e)", "a a⁻¹ is 0 or 1"),
    Condition(
        "positive product",
        ("(= e (Mul a b))", "(positive a)", "(positive b)"),
        "(positive e)",
        "a, b > 0 give a b > 0",
    ),
    Condition(
        "nonnegative product",
        ("(= e (Mul a b))", "(nonnegative a)", "(nonnegative b)"),
        "(nonnegative e)",
        "a, b ≥ 0 give a b ≥ 0",
    ),
    Condition(
        "nonzero product",
        ("(= e (Mul a b))", "(nonzero a)", "(nonzero b)"),
        "(nonzero e)",
        "a, b ≠ 0 give a b ≠ 0",
    ),
    Condition(
        "positive sum of two",
        ("(= e (Add a b))", "(positive a)", "(nonnegative b)"),
        "(positive e)",
        "a > 0, b ≥ 0 give a + b > 0",
    ),
    Condition(
        "nonnegative sum of two",
        ("(= e (Add a b))", "(nonnegative a)", "(nonnegative b)"),
        "(nonnegative e)",
        "a, b ≥ 0 give a + b ≥ 0",
    ),
    Condition(
        "positive sum",
        ("(= e (Sum k a))", "(positive a)"),
        "(positive e)",
        "a > 0 gives Σ_k a > 0: ranges are not empty",
    ),
    Condition("nonnegative sum", ("(= e (Sum k a))", "(nonnegative a)"), "(nonnegative e)", "a ≥ 0 gives Σ_k a ≥ 0"),
    Condition("positive inverse", ("(= e (Inv a))", "(positive a)"), "(positive e)", "a > 0 gives a⁻¹ > 0"),
    Condition("nonnegative inverse", ("(= e (Inv a))", "(nonnegative a)"), "(nonnegative e)", "a ≥ 0 gives a⁻¹ ≥ 0"),
    Condition("nonzero inverse", ("(= e (Inv a))", "(nonzero a)"), "(nonzero e)", "a ≠ 0 gives a⁻¹ ≠ 0"),
    Condition("positive root", ("(= e (Sqrt a))", "(positive a)"), "(positive e)", "a > 0 gives √a > 0"),
    Condition("nonnegative root", ("(= e (Sqrt a))", "(nonnegative a)"), "(nonnegative e)", "a ≥ 0 gives √a ≥ 0"),
)
