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
and extents, which are opaque words here: the statement vouches for it, and `checker` sees to it.
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

AXIOMS: tuple[Axiom, ...] = (
    # numbers
    Axiom(
        "number sum",
        "(Add (Num p) (Num q))",
        "(Num (+ p q))",
        "two rational numbers are added",
        both_ways=False,
        source="arithmetic",
        argument="It is a computation with exact fractions.",
    ),
    Axiom(
        "number product",
        "(Mul (Num p) (Num q))",
        "(Num (* p q))",
        "two rational numbers are multiplied",
        both_ways=False,
        source="arithmetic",
        argument="It is a computation with exact fractions.",
    ),
    Axiom(
        "number inverse",
        "(Inv (Num p))",
        f"(Num (/ {ONE} p))",
        "a rational number other than 0 is inverted",
        (f"(!= p {ZERO})",),
        both_ways=False,
        source="arithmetic",
        argument="It is a computation with exact fractions.",
    ),
    Axiom(
        "number root",
        "(Sqrt (Num p))",
        "(Num r)",
        "√p = r for a rational p = r² with r ≥ 0",
        (f"(>= p {ZERO})", "(= r (sqrt p))"),
        both_ways=False,
        source="arithmetic",
        argument="The root of p is the one number ≥ 0 whose square is p.",
    ),
    # ring
    Axiom(
        "add commutes",
        "(Add a b)",
        "(Add b a)",
        "a + b = b + a",
        both_ways=False,
        argument="Addition of real numbers commutes.",
    ),
    Axiom(
        "add associates",
        "(Add a (Add b c))",
        "(Add (Add a b) c)",
        "a + (b + c) = (a + b) + c",
        argument="Addition of real numbers is associative.",
    ),
    Axiom(
        "mul commutes",
        "(Mul a b)",
        "(Mul b a)",
        "a b = b a",
        both_ways=False,
        argument="Multiplication of real numbers commutes.",
    ),
    Axiom(
        "mul associates",
        "(Mul a (Mul b c))",
        "(Mul (Mul a b) c)",
        "a (b c) = (a b) c",
        argument="Multiplication of real numbers is associative.",
    ),
    Axiom(
        "distribute",
        "(Mul a (Add b c))",
        "(Add (Mul a b) (Mul a c))",
        "a (b + c) = a b + a c",
        argument="Multiplication distributes over addition.",
    ),
    Axiom(
        "one",
        f"(Mul (Num {ONE}) a)",
        "a",
        "1 a = a",
        both_ways=False,
        argument="1 is neutral for multiplication.",
    ),
    Axiom(
        "zero",
        f"(Mul (Num {ZERO}) a)",
        f"(Num {ZERO})",
        "0 a = 0",
        both_ways=False,
        argument="0 a = (0 + 0) a = 0 a + 0 a.",
    ),
    Axiom(
        "add zero",
        f"(Add (Num {ZERO}) a)",
        "a",
        "0 + a = a",
        both_ways=False,
        argument="0 is neutral for addition.",
    ),
    Axiom(
        "double",
        "(Add a a)",
        f"(Mul (Num {TWO}) a)",
        "a + a = 2 a",
        both_ways=False,
        argument="a + a = 1 a + 1 a = (1 + 1) a.",
    ),
    Axiom(
        "collect",
        "(Add a (Mul (Num p) a))",
        f"(Mul (Num (+ p {ONE})) a)",
        "a + p a = (p + 1) a for a number p; with p = −1 both sides are 0",
        both_ways=False,
        argument="a + p a = 1 a + p a = (1 + p) a.",
    ),
    # sums
    Axiom(
        "sum of a sum",
        "(Sum k (Add a b))",
        "(Add (Sum k a) (Sum k b))",
        "Σ_k (a + b) = Σ_k a + Σ_k b",
        source=FINITE_SUMS,
        argument="Finitely many summands may be taken in any order.",
    ),
    Axiom(
        "sum of a multiple",
        "(Sum k (Mul a b))",
        "(Mul a (Sum k b))",
        "Σ_k a b = a Σ_k b where a does not depend on k",
        ("(independent a k)",),
        source=FINITE_SUMS,
        argument="a is one number in all summands, and multiplication distributes over them.",
    ),
    Axiom(
        "sum of a constant",
        "(Sum k a)",
        "(Mul n a)",
        "Σ_k a = |k| a where a does not depend on k",
        ("(independent a k)", "(extent k n)"),
        both_ways=False,
        source=FINITE_SUMS,
        argument="All |k| summands are one number.",
    ),
    Axiom(
        "sums swap",
        "(Sum j (Sum k a))",
        "(Sum k (Sum j a))",
        "Σ_j Σ_k a = Σ_k Σ_j a",
        both_ways=False,
        source=FINITE_SUMS,
        argument="Finitely many summands may be taken in any order.",
    ),
    Axiom(
        "sum by digits",
        "(Sum outer (Sum inner a))",
        "(Sum k a)",
        "Σ_outer Σ_inner a = Σ_k a where k is the pair (outer, inner)",
        ("(digits k outer inner)",),
        source=POSITIONAL,
        argument="Each value of k is exactly one pair of values of outer and inner.",
    ),
    Axiom(
        "rename",
        "a",
        "b",
        "Σ_j a = Σ_k a[j := k] where a does not depend on k and |j| = |k|",
        ("(renamed a b)",),
        both_ways=False,
        source="the name of a bound axis is free to choose",
        argument="Both sums are of the same numbers, as j occurs nowhere else and k in none of them.",
    ),
    # powers
    Axiom(
        "inverse of a product",
        "(Inv (Mul a b))",
        "(Mul (Inv a) (Inv b))",
        "(a b)⁻¹ = a⁻¹ b⁻¹",
        source=X_OVER_ZERO,
        argument="For a, b ≠ 0 by the field's laws; where one is 0, both sides are 0.",
    ),
    Axiom(
        "inverse twice",
        "(Inv (Inv a))",
        "a",
        "(a⁻¹)⁻¹ = a",
        both_ways=False,
        source=X_OVER_ZERO,
        argument="For a ≠ 0 by the field's laws; for 0 both sides are 0.",
    ),
    Axiom(
        "cancel",
        "(Mul a (Inv a))",
        f"(Num {ONE})",
        "a a⁻¹ = 1 where a ≠ 0",
        ("(nonzero a)",),
        both_ways=False,
        argument="That is what the inverse of a number other than 0 is.",
    ),
    Axiom(
        "absorb",
        "(Mul a (Mul a (Inv a)))",
        "a",
        "a (a a⁻¹) = a, also where a = 0",
        both_ways=False,
        source=X_OVER_ZERO,
        argument="For a ≠ 0, a a⁻¹ is 1; for 0 both sides are 0.",
    ),
    Axiom(
        "root of a product",
        "(Sqrt (Mul a b))",
        "(Mul (Sqrt a) (Sqrt b))",
        "√(a b) = √a √b where a, b ≥ 0",
        ("(nonnegative a)", "(nonnegative b)"),
        source=ROOTS,
        argument="Both sides are ≥ 0 and have the square a b.",
    ),
    Axiom(
        "root of an inverse",
        "(Sqrt (Inv a))",
        "(Inv (Sqrt a))",
        "√(a⁻¹) = (√a)⁻¹ where a ≥ 0",
        ("(nonnegative a)",),
        source=ROOTS,
        argument="Both sides are ≥ 0 and have the square a⁻¹, also where a is 0.",
    ),
    Axiom(
        "square of a root",
        "(Mul (Sqrt a) (Sqrt a))",
        "a",
        "√a √a = a where a ≥ 0",
        ("(nonnegative a)",),
        both_ways=False,
        source=ROOTS,
        argument="That is what the root of a number ≥ 0 is.",
    ),
    Axiom(
        "root of a square",
        "(Sqrt (Mul a a))",
        "a",
        "√(a a) = a where a ≥ 0",
        ("(nonnegative a)",),
        both_ways=False,
        source=ROOTS,
        argument="a is the number ≥ 0 whose square is a a.",
    ),
    # exponentials and functions
    Axiom(
        "exp of a sum",
        "(Exp (Add a b))",
        "(Mul (Exp a) (Exp b))",
        "exp(a + b) = exp(a) exp(b)",
        source=EXPONENTIAL,
        argument="The exponential turns sums into products.",
    ),
    Axiom(
        "exp of zero",
        f"(Exp (Num {ZERO}))",
        f"(Num {ONE})",
        "exp(0) = 1",
        both_ways=False,
        source=EXPONENTIAL,
        argument="exp(0) = exp(0 + 0) = exp(0)² and it is not 0.",
    ),
    Axiom(
        "exp of a negative",
        f"(Exp (Mul (Num {MINUS_ONE}) a))",
        "(Inv (Exp a))",
        "exp(−a) = exp(a)⁻¹",
        source=EXPONENTIAL,
        argument="exp(a) exp(−a) = exp(0) = 1.",
    ),
    Axiom(
        "sigmoid",
        '(Call "sigmoid" a)',
        f"(Inv (Add (Num {ONE}) (Exp (Mul (Num {MINUS_ONE}) a))))",
        "sigmoid(a) = (1 + exp(−a))⁻¹",
        both_ways=False,
        source=DEFINITION,
        argument="It is the definition.",
    ),
    Axiom(
        "silu",
        '(Call "silu" a)',
        '(Mul a (Call "sigmoid" a))',
        "silu(a) = a sigmoid(a)",
        both_ways=False,
        source=DEFINITION,
        argument="It is the definition.",
    ),
    Axiom(
        "relu of a nonnegative",
        '(Call "relu" a)',
        "a",
        "relu(a) = a where a ≥ 0",
        ("(nonnegative a)",),
        both_ways=False,
        source=DEFINITION,
        argument="max(a, 0) = a.",
    ),
    Axiom(
        "relu of a multiple",
        '(Call "relu" (Mul a b))',
        '(Mul a (Call "relu" b))',
        "relu(a b) = a relu(b) where a ≥ 0",
        ("(nonnegative a)",),
        source="relu is positively homogeneous",
        argument="max(a b, a 0) = a max(b, 0), as multiplying by a ≥ 0 keeps the order.",
    ),
    # more functions
    Axiom(
        "relu",
        '(Call "relu" a)',
        f"(Greater a (Num {ZERO}))",
        "relu(a) = max(a, 0)",
        both_ways=False,
        source=DEFINITION,
        argument="It is the definition.",
    ),
    Axiom(
        "abs",
        '(Call "abs" a)',
        f"(Greater a (Mul (Num {MINUS_ONE}) a))",
        "|a| = max(a, −a)",
        both_ways=False,
        source=DEFINITION,
        argument="It is the definition.",
    ),
    Axiom(
        "abs by a root",
        '(Call "abs" a)',
        "(Sqrt (Mul a a))",
        "|a| = √(a a)",
        both_ways=False,
        source=DEFINITION,
        argument="Both are the number ≥ 0 whose square is a a.",
    ),
    Axiom(
        "abs of a nonnegative",
        '(Call "abs" a)',
        "a",
        "|a| = a where a ≥ 0",
        ("(nonnegative a)",),
        both_ways=False,
        source=DEFINITION,
        argument="max(a, −a) = a where a ≥ −a.",
    ),
    Axiom(
        "abs is even",
        f'(Call "abs" (Mul (Num {MINUS_ONE}) a))',
        '(Call "abs" a)',
        "|−a| = |a|",
        both_ways=False,
        source=DEFINITION,
        argument="max(−a, a) = max(a, −a).",
    ),
    Axiom(
        "tanh",
        '(Call "tanh" a)',
        f"(Add (Num {ONE}) (Mul (Num {number(-2)}) (Inv (Add (Num {ONE}) (Exp (Mul (Num {TWO}) a))))))",
        "tanh(a) = 1 − 2 (1 + exp(2 a))⁻¹",
        both_ways=False,
        source=DEFINITION,
        argument="(exp(a) − exp(−a)) / (exp(a) + exp(−a)), with both parts times exp(a), is 1 − 2 / (exp(2 a) + 1).",
    ),
    Axiom(
        "tanh is odd",
        f'(Call "tanh" (Mul (Num {MINUS_ONE}) a))',
        f'(Mul (Num {MINUS_ONE}) (Call "tanh" a))',
        "tanh(−a) = −tanh(a)",
        both_ways=False,
        source=DEFINITION,
        argument="The quotient of an odd and an even function is odd.",
    ),
    Axiom(
        "erf is odd",
        f'(Call "erf" (Mul (Num {MINUS_ONE}) a))',
        f'(Mul (Num {MINUS_ONE}) (Call "erf" a))',
        "erf(−a) = −erf(a)",
        both_ways=False,
        source=DEFINITION,
        argument="It is the integral of an even function from 0 on.",
    ),
    Axiom(
        "tanh of zero",
        f'(Call "tanh" (Num {ZERO}))',
        f"(Num {ZERO})",
        "tanh(0) = 0",
        both_ways=False,
        source=DEFINITION,
        argument="An odd function is 0 at 0.",
    ),
    Axiom(
        "erf of zero",
        f'(Call "erf" (Num {ZERO}))',
        f"(Num {ZERO})",
        "erf(0) = 0",
        both_ways=False,
        source=DEFINITION,
        argument="An integral from 0 to 0 is 0.",
    ),
    Axiom(
        "abs of zero",
        f'(Call "abs" (Num {ZERO}))',
        f"(Num {ZERO})",
        "|0| = 0",
        both_ways=False,
        source=DEFINITION,
        argument="max(0, −0) = 0.",
    ),
    Axiom(
        "gelu",
        '(Call "gelu" a)',
        f'(Mul (Num {number(1, 2)}) (Mul a (Add (Num {ONE}) (Call "erf" (Mul a (Inv (Sqrt (Num {TWO}))))))))',
        "gelu(a) = ½ a (1 + erf(a / √2))",
        both_ways=False,
        source=DEFINITION,
        argument="It is the definition.",
    ),
    # values that are 0 or 1
    Axiom(
        "a bit twice",
        "(Mul a a)",
        "a",
        "a a = a where a is 0 or 1",
        ("(bit a)",),
        both_ways=False,
        source=CASES,
        argument="0 0 = 0 and 1 1 = 1.",
    ),
    Axiom(
        "inverse of a bit",
        "(Inv a)",
        "a",
        "a⁻¹ = a where a is 0 or 1",
        ("(bit a)",),
        both_ways=False,
        source=CASES,
        argument="0⁻¹ = 0 by the convention and 1⁻¹ = 1.",
    ),
    Axiom(
        "root of a bit",
        "(Sqrt a)",
        "a",
        "√a = a where a is 0 or 1",
        ("(bit a)",),
        both_ways=False,
        source=CASES,
        argument="√0 = 0 and √1 = 1.",
    ),
    Axiom(
        "inv under a bit",
        "(Mul t (Inv a))",
        "(Mul t (Inv (Mul t a)))",
        "t a⁻¹ = t (t a)⁻¹ where t is 0 or 1",
        ("(bit t)",),
        both_ways=False,
        source=CASES,
        argument="For t = 0 both sides are 0; for t = 1 they are the same.",
    ),
    Axiom(
        "sqrt under a bit",
        "(Mul t (Sqrt a))",
        "(Mul t (Sqrt (Mul t a)))",
        "t √a = t √(t a) where t is 0 or 1",
        ("(bit t)",),
        both_ways=False,
        source=CASES,
        argument="For t = 0 both sides are 0; for t = 1 they are the same.",
    ),
    Axiom(
        "exp under a bit",
        "(Mul t (Exp a))",
        "(Mul t (Exp (Mul t a)))",
        "t exp(a) = t exp(t a) where t is 0 or 1",
        ("(bit t)",),
        both_ways=False,
        source=CASES,
        argument="For t = 0 both sides are 0; for t = 1 they are the same.",
    ),
    Axiom(
        "call under a bit",
        "(Mul t (Call f a))",
        "(Mul t (Call f (Mul t a)))",
        "t f(a) = t f(t a) where t is 0 or 1",
        ("(bit t)",),
        both_ways=False,
        source=CASES,
        argument="For t = 0 both sides are 0; for t = 1 they are the same.",
    ),
    Axiom(
        "interval cut",
        "a",
        "b",
        "[l ≤ i < h] = [l ≤ i < m] + [m ≤ i < h] where l ≤ m ≤ h",
        ('(stated "interval cut" a b)',),
        both_ways=False,
        source=CASES,
        argument="An index from l to h is below m or not, and not both.",
    ),
    Axiom(
        "intervals apart",
        "a",
        "b",
        "[l ≤ i < m] [n ≤ i < h] = 0 where m ≤ n",
        ('(stated "intervals apart" a b)',),
        both_ways=False,
        source=CASES,
        argument="No index is below m and not below n ≥ m.",
    ),
    Axiom(
        "bands meet",
        "a",
        "b",
        "[l ≤ j − i ≤ h] [m ≤ j − i ≤ n] = [max(l, m) ≤ j − i ≤ min(h, n)]",
        ('(stated "bands meet" a b)',),
        both_ways=False,
        source=CASES,
        argument="A difference lies between both pairs of bounds exactly where it lies between the tighter ones.",
    ),
    Axiom(
        "interval of everything",
        "a",
        "b",
        "[0 ≤ i < n] = 1 where i has n values",
        ('(stated "interval of everything" a b)',),
        both_ways=False,
        source=CASES,
        argument="An index with n values is one of 0, .., n − 1.",
    ),
    Axiom(
        "sum in pieces",
        "a",
        "b",
        "Σ_k a = Σ_{i<m} a[k := i] + Σ_{j<n−m} a[k := m + j] where k has n values and 0 < m < n",
        ('(stated "sum in pieces" a b)',),
        both_ways=False,
        source=FINITE_SUMS,
        argument="Each value of k is below m or m plus a number below n − m, and not both.",
    ),
    Axiom(
        "sum over digits",
        "a",
        "b",
        "Σ_k a = Σ_i Σ_j a[k := (i, j)] where (i, j) is k in mixed radix",
        ('(stated "sum over digits" a b)',),
        both_ways=False,
        source=POSITIONAL,
        argument="Each value of k is exactly one row of digits.",
    ),
    Axiom(
        "maximum over digits",
        "a",
        "b",
        "max_k a = max_i max_j a[k := (i, j)] where (i, j) is k in mixed radix",
        ('(stated "maximum over digits" a b)',),
        both_ways=False,
        source=POSITIONAL,
        argument="Each value of k is exactly one row of digits.",
    ),
    # maxima
    Axiom(
        "greater commutes",
        "(Greater a b)",
        "(Greater b a)",
        "max(a, b) = max(b, a)",
        both_ways=False,
        source=ORDER,
        argument="The greater of two numbers does not depend on their order.",
    ),
    Axiom(
        "greater associates",
        "(Greater a (Greater b c))",
        "(Greater (Greater a b) c)",
        "max(a, max(b, c)) = max(max(a, b), c)",
        source=ORDER,
        argument="Both are the greatest of three numbers.",
    ),
    Axiom(
        "greater of equals",
        "(Greater a a)",
        "a",
        "max(a, a) = a",
        both_ways=False,
        source=ORDER,
        argument="a ≥ a.",
    ),
    Axiom(
        "greater number",
        "(Greater (Num p) (Num q))",
        "(Num p)",
        "max(p, q) = p for numbers p ≥ q",
        ("(>= p q)",),
        both_ways=False,
        source="arithmetic",
        argument="It is a comparison of exact fractions.",
    ),
    Axiom(
        "greater than what is not positive",
        "(Greater a (Num p))",
        "a",
        "max(a, p) = a where a ≥ 0 ≥ p",
        ("(nonnegative a)", f"(<= p {ZERO})"),
        both_ways=False,
        source=ORDER,
        argument="a ≥ 0 ≥ p.",
    ),
    Axiom(
        "greater of sums",
        "(Greater (Add a b) (Add a c))",
        "(Add a (Greater b c))",
        "max(a + b, a + c) = a + max(b, c)",
        source=ORDER,
        argument="Adding a number keeps the order.",
    ),
    Axiom(
        "greater of multiples",
        "(Greater (Mul a b) (Mul a c))",
        "(Mul a (Greater b c))",
        "max(a b, a c) = a max(b, c) where a ≥ 0",
        ("(nonnegative a)",),
        source=ORDER,
        argument="Multiplying by a number ≥ 0 keeps the order or makes both 0.",
    ),
    Axiom(
        "maximum of a constant",
        "(Most k a)",
        "a",
        "max_k a = a where a does not depend on k, which has values",
        ("(independent a k)", "(inhabited k)"),
        both_ways=False,
        source=ORDER,
        argument="It is the greatest of at least one copy of a number.",
    ),
    Axiom(
        "maximum of the greater",
        "(Most k (Greater a b))",
        "(Greater (Most k a) (Most k b))",
        "max_k max(a, b) = max(max_k a, max_k b)",
        ("(inhabited k)",),
        source=ORDER,
        argument="Both are the greatest of the same numbers.",
    ),
    Axiom(
        "maxima swap",
        "(Most j (Most k a))",
        "(Most k (Most j a))",
        "max_j max_k a = max_k max_j a",
        both_ways=False,
        source=ORDER,
        argument="Both are the greatest of the same numbers.",
    ),
    Axiom(
        "maximum by digits",
        "(Most outer (Most inner a))",
        "(Most k a)",
        "max_outer max_inner a = max_k a where k is the pair (outer, inner)",
        ("(digits k outer inner)",),
        source=POSITIONAL,
        argument="Each value of k is exactly one pair of values of outer and inner.",
    ),
    Axiom(
        "maximum in pieces",
        "a",
        "b",
        "max_k a = max(max_{i<m} a[k := i], max_{j<n−m} a[k := m + j]) where k has n values and 0 < m < n",
        ('(stated "maximum in pieces" a b)',),
        both_ways=False,
        source=ORDER,
        argument="Each value of k is below m or m plus a number below n − m, and neither piece is empty.",
    ),
    Axiom(
        "maximum of a sum",
        "(Most k (Add a b))",
        "(Add a (Most k b))",
        "max_k (a + b) = a + max_k b where a does not depend on k",
        ("(independent a k)", "(inhabited k)"),
        source=ORDER,
        argument="Adding one number to all keeps their order.",
    ),
    Axiom(
        "maximum of a multiple",
        "(Most k (Mul a b))",
        "(Mul a (Most k b))",
        "max_k a b = a max_k b where a ≥ 0 does not depend on k",
        ("(independent a k)", "(nonnegative a)", "(inhabited k)"),
        source=ORDER,
        argument="Multiplying all by one number ≥ 0 keeps their order or makes all 0.",
    ),
    Axiom(
        "as low",
        "a",
        "b",
        "max_k (c a + bottom(m)) = c max_k (a + bottom(m)) where c > 0 does not depend on k, and m does",
        ('(stated "as low" a b)',),
        both_ways=False,
        source=LIMIT,
        argument="Where an entry is kept, the masked ones are below it however they are scaled, once bottom is low "
        "enough; where none is kept, both sides are as low as one likes, and what is made of them has weight 0.",
    ),
    Axiom(
        "bottom of one",
        f"(Bottom (Num {ONE}))",
        f"(Num {ZERO})",
        "bottom(1) = 0: nothing is masked",
        both_ways=False,
        source=DEFINITION,
        argument="bottom is 0 where its argument is 1.",
    ),
    # loops
    Axiom(
        "running maximum of a constant",
        "(Upto k i a)",
        "a",
        "max_{k ≤ i} a = a where a does not depend on k",
        ("(independent a k)",),
        both_ways=False,
        source=ORDER,
        argument="It is the greatest of at least one copy of a number.",
    ),
    Axiom(
        "running maximum of a sum",
        "(Upto k i (Add a b))",
        "(Add a (Upto k i b))",
        "max_{k ≤ i} (a + b) = a + max_{k ≤ i} b where a does not depend on k",
        ("(independent a k)",),
        source=ORDER,
        argument="Adding one number to all keeps their order.",
    ),
    Axiom(
        "running maximum of a multiple",
        "(Upto k i (Mul a b))",
        "(Mul a (Upto k i b))",
        "max_{k ≤ i} a b = a max_{k ≤ i} b where a ≥ 0 does not depend on k",
        ("(independent a k)", "(nonnegative a)"),
        source=ORDER,
        argument="Multiplying all by one number ≥ 0 keeps their order or makes all 0.",
    ),
    Axiom(
        "maximum of running maxima",
        "(Most i (Upto k i a))",
        "(Most k a)",
        "max_i max_{k ≤ i} a = max_k a where a does not depend on i",
        ("(independent a i)", "(inhabited i)"),
        both_ways=False,
        source=ORDER,
        argument="Running maxima only grow, and the last is the maximum over all k.",
    ),
    Axiom(
        "last running maximum",
        "a",
        "b",
        "max_{k ≤ n−1} a = max_k a where k has n values",
        ('(stated "last running maximum" a b)',),
        both_ways=False,
        source=DEFINITION,
        argument="0, .., n − 1 are all values of k.",
    ),
    Axiom(
        "rescaled sum",
        "a",
        "b",
        "t := t exp(m before − m now) + v, from 0 on, over k leaves exp(−m[k := n−1]) Σ_k v exp(m)",
        ('(stated "rescaled sum" a b)',),
        both_ways=False,
        source="online softmax, arXiv 1805.02867",
        argument="By induction t exp(m now) is Σ v exp(m) over all iterations so far: "
        "t' exp(m') = t exp(m − m') exp(m') + v' exp(m') = t exp(m) + v' exp(m').",
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
        ("(= e (Sum k a))", "(positive a)", "(inhabited k)"),
        "(positive e)",
        "a > 0 gives Σ_k a > 0 where k has values",
    ),
    Condition("nonnegative sum", ("(= e (Sum k a))", "(nonnegative a)"), "(nonnegative e)", "a ≥ 0 gives Σ_k a ≥ 0"),
    Condition("positive inverse", ("(= e (Inv a))", "(positive a)"), "(positive e)", "a > 0 gives a⁻¹ > 0"),
    Condition("nonnegative inverse", ("(= e (Inv a))", "(nonnegative a)"), "(nonnegative e)", "a ≥ 0 gives a⁻¹ ≥ 0"),
    Condition("nonzero inverse", ("(= e (Inv a))", "(nonzero a)"), "(nonzero e)", "a ≠ 0 gives a⁻¹ ≠ 0"),
    Condition("positive root", ("(= e (Sqrt a))", "(positive a)"), "(positive e)", "a > 0 gives √a > 0"),
    Condition("nonnegative root", ("(= e (Sqrt a))", "(nonnegative a)"), "(nonnegative e)", "a ≥ 0 gives √a ≥ 0"),
    Condition("an interval is a bit", ("(= e (Within i))",), "(bit e)", "an interval is 0 or 1"),
    Condition("a band is a bit", ("(= e (Near i))",), "(bit e)", "a band is 0 or 1"),
    Condition(
        "the opposite bit",
        (f"(= e (Add (Num {ONE}) (Mul (Num {MINUS_ONE}) a)))", "(bit a)"),
        "(bit e)",
        "1 − a is 0 or 1 where a is",
    ),
    Condition("a bit is nonnegative", ("(bit e)",), "(nonnegative e)", "0 and 1 are ≥ 0"),
    Condition(
        "bottom depends",
        ("(= e (Bottom a))", "(independent a k)"),
        "(independent e k)",
        "bottom(a) depends only where a does",
    ),
    Condition(
        "greater depends",
        ("(= e (Greater a b))", "(independent a k)", "(independent b k)"),
        "(independent e k)",
        "max(a, b) depends on an axis only if a or b does",
    ),
    Condition(
        "maximum depends",
        ("(= e (Most j a))", "(independent a k)"),
        "(independent e k)",
        "max_j a depends only where a does",
    ),
    Condition("maximum binds", ("(= e (Most k a))",), "(independent e k)", "max_k a does not depend on k"),
    Condition(
        "running maximum depends",
        ("(= e (Upto j i a))", "(independent a k)", "(elsewhere i k)"),
        "(independent e k)",
        "max_{j ≤ i} a depends only where a or i does",
    ),
    Condition(
        "running maximum binds",
        ("(= e (Upto k i a))", "(elsewhere i k)"),
        "(independent e k)",
        "max_{k ≤ i} a does not depend on k, unless i does",
    ),
    Condition(
        "rescaled sum depends",
        ("(= e (Rescaled j a b))", "(independent a k)", "(independent b k)"),
        "(independent e k)",
        "a rescaled sum depends only where its parts do",
    ),
    Condition(
        "rescaled sum binds", ("(= e (Rescaled k a b))",), "(independent e k)", "a loop's axis is gone behind it"
    ),
    Condition(
        "positive greater",
        ("(= e (Greater a b))", "(positive a)"),
        "(positive e)",
        "a > 0 gives max(a, b) > 0",
    ),
    Condition(
        "nonnegative greater",
        ("(= e (Greater a b))", "(nonnegative a)"),
        "(nonnegative e)",
        "a ≥ 0 gives max(a, b) ≥ 0",
    ),
    Condition(
        "positive other",
        ("(= e (Greater a b))", "(positive b)"),
        "(positive e)",
        "b > 0 gives max(a, b) > 0",
    ),
    Condition(
        "nonnegative other",
        ("(= e (Greater a b))", "(nonnegative b)"),
        "(nonnegative e)",
        "b ≥ 0 gives max(a, b) ≥ 0",
    ),
    Condition(
        "positive maximum",
        ("(= e (Most k a))", "(positive a)", "(inhabited k)"),
        "(positive e)",
        "a > 0 gives max_k a > 0 where k has values",
    ),
    Condition(
        "nonnegative maximum",
        ("(= e (Most k a))", "(nonnegative a)", "(inhabited k)"),
        "(nonnegative e)",
        "a ≥ 0 gives max_k a ≥ 0 where k has values",
    ),
    Condition(
        "positive running maximum",
        ("(= e (Upto k i a))", "(positive a)"),
        "(positive e)",
        "a > 0 gives max_{k ≤ i} a > 0",
    ),
    Condition(
        "nonnegative running maximum",
        ("(= e (Upto k i a))", "(nonnegative a)"),
        "(nonnegative e)",
        "a ≥ 0 gives max_{k ≤ i} a ≥ 0",
    ),
    Condition("positive sigmoid", ('(= e (Call "sigmoid" a))',), "(positive e)", "sigmoid(a) > 0"),
    Condition("nonnegative relu", ('(= e (Call "relu" a))',), "(nonnegative e)", "relu(a) ≥ 0"),
    Condition("nonnegative abs", ('(= e (Call "abs" a))',), "(nonnegative e)", "|a| ≥ 0"),
)
