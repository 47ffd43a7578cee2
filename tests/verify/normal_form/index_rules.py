"""The rules of index terms, I1 to I12: rows with side condition, source and argument.

`verify/normal_form/index.py` applies them; `test_rules.py` demands goals and counterexamples for each row.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of a table of rules."""

    name: str
    rule: str
    """before = after."""
    sentence: str
    condition: str
    """Its side condition; a dash where it always holds."""
    source: str
    argument: str = ""
    """Why it is sound, in one sentence."""


_POSITIONAL = "positional notation"
RULES: tuple[Rule, ...] = (
    Rule(
        "I1",
        "Radix(a, Radix(b, c)) = Radix(a, b, c)",
        "Digits of a digit line up.",
        "-",
        _POSITIONAL,
        "Both are a*|b|*|c| + b*|c| + c.",
    ),
    Rule(
        "I2",
        "Radix(.., Digit(i;P,Q,S*R), Digit(i;P*Q,S,R), ..) = Radix(.., Digit(i;P,Q*S,R), ..)",
        "Adjacent digits of one number are one larger digit of it.",
        "both are digits of the same i",
        _POSITIONAL,
        "(i div SR mod Q) * S + (i div R mod S) = i div R mod QS.",
    ),
    Rule(
        "I3",
        "Digit(i;1,|i|,1) = i and Digit(i;P,1,R) = 0",
        "A number is its own only digit.",
        "-",
        "definition",
        "i mod |i| = i as 0 <= i < |i|, and every number is 0 modulo 1.",
    ),
    Rule(
        "I4",
        "Digit(Digit(i;P,Q,R);p,q,r) = Digit(i;P*p,q,r*R)",
        "A digit of a digit is a digit.",
        "p*q*r = Q",
        _POSITIONAL,
        "(i div R mod pqr) div r mod q = i div rR mod q, because r*q divides pqr.",
    ),
    Rule(
        "I5",
        "Digit(Radix(..);P,Q,R) = Radix(the parts between P and P*Q)",
        "The digits of a number written in mixed radix can be read off.",
        "P and P*Q are products of leading parts",
        _POSITIONAL,
        "Division by R drops the parts behind P*Q, the remainder by Q drops those before P.",
    ),
    Rule(
        "I6",
        "a part of extent u*v = Radix(Digit(.;1,u,v), Digit(.;u,v,1))",
        "A part is cut where a border falls inside it.",
        "u and v are products of symbols, a whole number and one of P, Q, R, the parts' extents and those that the "
        "proof has as its conditions: all integers",
        _POSITIONAL,
        "n = (n div v) * v + n mod v for every integer v > 0.",
    ),
    Rule(
        "I7",
        "Digit(Radix(a, b, c);P,Q,R) = Digit(b;P/|a|,Q,R/|c|)",
        "Digits outside the window do not matter.",
        "|a| divides P and |c| divides R, as in I6",
        "(b div R) mod Q depends on those digits only",
        "a contributes a multiple of Q*R, and c is less than |c|, which divides R.",
    ),
    Rule(
        "I8",
        "Moved(Moved(i, a), b) = Moved(i, a + b) and Moved(i, 0) = i",
        "What is moved there and back stays where it was.",
        "the second: the dim is as long as i's extent",
        "integer arithmetic",
        "Addition of integers is associative; a place outside its dim is read only where an interval is 0.",
    ),
    Rule(
        "I9",
        "Digit(Moved(i, q*R);1,Q,R) = q, Digit(Moved(i, q*Q);P,Q,1) = i, "
        "Digit(Moved(i, c);P,Q,R) = Digit(Moved(i, c);1,Q,R)",
        "A slice that fills one row of blocks is that row; one within the first row knows no other.",
        "i takes R values in the first, Q in the second; q is an integer; in the third 0 <= c and c + |i| <= Q*R",
        _POSITIONAL,
        "(i + q*R) div R = q as 0 <= i < R, (i + q*Q) mod Q = i as 0 <= i < Q, and i + c is below Q*R.",
    ),
    Rule(
        "I10",
        "Radix(q, i) = Moved(i, q*|i|), and a digit of the right side is that of the left",
        "A number with a constant first digit is a slice that is one row of its dim.",
        "q is a number; i is all that follows the first digit",
        _POSITIONAL,
        "Positional notation: the first digit counts |i| each.",
    ),
    Rule(
        "I11",
        "Digit(c;P,Q,R) = c div R mod Q",
        "A digit of a constant is a constant.",
        "c, Q and R are numbers",
        _POSITIONAL,
        "This is what a digit is.",
    ),
    Rule(
        "I12",
        "Digit(a*w + c;P,Q,R) = (a*w + c) div R mod Q, where that is a, a + b or b",
        "A digit of the places of a diagonal is the place on it.",
        "R and Q divide w and c with rests that make less than R and Q for all a: w leaves 0 or 1",
        _POSITIONAL,
        "If x = q*R + r and 0 <= r < R, q is x div R; the rest of q by Q is found in the same way.",
    ),
)
