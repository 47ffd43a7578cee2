"""Axioms of finite sums."""

from __future__ import annotations

from prism_explore.verify.axiom_schema import (
    FINITE_SUMS,
    POSITIONAL,
    X_OVER_ZERO,
    Axiom,
)

SUMS: tuple[Axiom, ...] = (
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
    Axiom(
        "weights",
        "(Mul (Sum k (Mul a b)) (Mul (Sum k a) (Inv (Sum k a))))",
        "(Sum k (Mul a b))",
        "(Σ_k a b) (Σ_k a) (Σ_k a)⁻¹ = Σ_k a b where a ≥ 0",
        ("(nonnegative a)",),
        both_ways=False,
        source=X_OVER_ZERO,
        argument="Where Σ_k a is 0, each a is, and so are both sides; elsewhere the sum and its inverse make 1.",
    ),
)
