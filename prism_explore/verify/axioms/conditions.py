"""Implications between the side conditions of axioms; they only add facts."""

from __future__ import annotations

from prism_explore.ir.elementwise import UNARY
from prism_explore.verify.axiom_schema import (
    MINUS_ONE,
    ONE,
    ZERO,
    Condition,
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
    Condition("a quotient of equals is a bit", ("(= e (Mul a (Inv a)))",), "(bit e)", "a a⁻¹ is 0 or 1"),
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
    *(
        Condition(
            f"{row.sign} {row.name}",
            (f'(= e (Call "{row.name}" a))',),
            f"({row.sign} e)",
            f"{'|a|' if row.name == 'abs' else f'{row.name}(a)'} {'>' if row.sign == 'positive' else '≥'} 0",
        )
        for row in UNARY.values()
        if row.is_symbol and row.sign
    ),
)
