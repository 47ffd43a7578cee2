"""Axioms of exponentials and of named functions."""

from __future__ import annotations

from fractions import Fraction

from prism_explore.ir.elementwise import UNARY
from prism_explore.ir.formulas import Apply, Formula, Name, Number, evaluate, formula, without_quotients
from prism_explore.verify.axiom_schema import (
    ANGLES,
    DEFINITION,
    EXPONENTIAL,
    LOGARITHM,
    MINUS_ONE,
    ONE,
    ZERO,
    Axiom,
    number,
)

_WORDS = {"add": "Add", "mul": "Mul", "inv": "Inv", "sqrt": "Sqrt", "exp": "Exp", "max": "Greater"}
_MINUS = "−"


def _term(f: Formula) -> str:
    """A formula in egglog's syntax, with the argument `a`."""

    def operation(fn: str, args: tuple[str, ...]) -> str:
        return f"({_WORDS[fn]} {' '.join(args)})" if fn in _WORDS else f'(Call "{fn}" {args[0]})'

    def literal(value: Fraction) -> str:
        return f"(Num {number(value.numerator, value.denominator)})"

    return evaluate(without_quotients(f), {"x": "a"}, literal, operation)


def _shown(f: Formula) -> str:
    """A formula in mathematical notation, with the argument `a`, such as `½ a (1 + erf(a / √2))`."""
    match f:
        case Name():
            return "a"
        case Number(value):
            return {"1/2": "½"}.get(str(value), str(value).replace("-", _MINUS))
        case Apply("add", (a, b)):
            return f"{_shown(a)} + {_shown(b)}"
        case Apply("sub", (a, b)):
            return f"{_shown(a)} {_MINUS} {_factor(b)}"
        case Apply("neg", (a,)):
            return f"{_MINUS}{_factor(a)}"
        case Apply("mul", (a, b)):
            return f"{_factor(a)} {_factor(b)}"
        case Apply("div", (Number(value), b)):
            return f"{_factor(b)}⁻¹" if value == 1 else f"{value} {_factor(b)}⁻¹"
        case Apply("div", (a, b)):
            return f"{_factor(a)} / {_factor(b)}"
        case Apply("sqrt", (a,)):
            return f"√{_factor(a)}"
        case Apply("abs", (a,)):
            return f"|{_shown(a)}|"
        case Apply(fn, args):
            return f"{fn}({', '.join(map(_shown, args))})"


def _factor(f: Formula) -> str:
    return f"({_shown(f)})" if isinstance(f, Apply) and f.fn in ("add", "sub", "neg") else _shown(f)


def _definition(fn: str) -> Axiom:
    """The axiom that a function is equal to its definition."""
    row = UNARY[fn]
    body = formula(row.definition)
    argument = row.definition_is_a_theorem or "It is the definition."
    says = f"{_of(fn, 'a')} = {_shown(body)}"
    return Axiom(fn, f'(Call "{fn}" a)', _term(body), says, both_ways=False, source=DEFINITION, argument=argument)


def _parity(fn: str) -> Axiom:
    row, minus = UNARY[fn], f"(Mul (Num {MINUS_ONE}) a)"
    value = f'(Call "{fn}" a)'
    return Axiom(
        f"{fn} is {row.parity}",
        f'(Call "{fn}" {minus})',
        f"(Mul (Num {MINUS_ONE}) {value})" if row.parity == "odd" else value,
        f"{_of(fn, f'{_MINUS}a')} = {_MINUS if row.parity == 'odd' else ''}{_of(fn, 'a')}",
        both_ways=False,
        source=DEFINITION,
        argument=row.parity_argument,
    )


def _zero(fn: str) -> Axiom:
    return Axiom(
        f"{fn} of zero",
        f'(Call "{fn}" (Num {ZERO}))',
        f"(Num {ZERO})",
        f"{_of(fn, '0')} = 0",
        both_ways=False,
        source=DEFINITION,
        argument="The definition says so.",
    )


def _of(fn: str, a: str) -> str:
    return f"|{a}|" if fn == "abs" else f"{fn}({a})"


_IN_ORDER = ("sigmoid", "silu", "relu", "abs", "tanh", "erf", "gelu")
"""Functions whose axioms are listed individually in `FUNCTIONS`, because searches apply axioms in order."""


def _of_other_rows() -> tuple[Axiom, ...]:
    rows = [row for row in UNARY.values() if row.is_symbol and row.name not in _IN_ORDER]
    return (
        *(_definition(row.name) for row in rows if row.definition),
        *(_parity(row.name) for row in rows if row.parity),
        *(_zero(row.name) for row in rows if row.parity and row.zero_at_zero),
    )


FUNCTIONS: tuple[Axiom, ...] = (
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
    _definition("sigmoid"),
    _definition("silu"),
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
    _definition("relu"),
    _definition("abs"),
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
    _parity("abs"),
    _definition("tanh"),
    _parity("tanh"),
    _parity("erf"),
    _zero("tanh"),
    _zero("erf"),
    _zero("abs"),
    _definition("gelu"),
    Axiom(
        "log of an exponential",
        '(Call "log" (Exp a))',
        "a",
        "log(exp(a)) = a",
        both_ways=False,
        source=LOGARITHM,
        argument="The logarithm is the inverse of the exponential.",
    ),
    Axiom(
        "exp of a logarithm",
        '(Exp (Call "log" a))',
        "a",
        "exp(log(a)) = a where a > 0",
        ("(positive a)",),
        both_ways=False,
        source=LOGARITHM,
        argument="Each a > 0 is an exponential, of its logarithm.",
    ),
    Axiom(
        "log of a product",
        '(Call "log" (Mul a b))',
        '(Add (Call "log" a) (Call "log" b))',
        "log(a b) = log(a) + log(b) where a, b > 0",
        ("(positive a)", "(positive b)"),
        both_ways=False,
        source=LOGARITHM,
        argument="The exponential of both sides is a b.",
    ),
    Axiom(
        "log of an inverse",
        '(Call "log" (Inv a))',
        f'(Mul (Num {MINUS_ONE}) (Call "log" a))',
        "log(a⁻¹) = −log(a) where a > 0",
        ("(positive a)",),
        both_ways=False,
        source=LOGARITHM,
        argument="The exponential of both sides is a⁻¹.",
    ),
    Axiom(
        "log of a root",
        '(Call "log" (Sqrt a))',
        f'(Mul (Num {number(1, 2)}) (Call "log" a))',
        "log(√a) = ½ log(a) where a > 0",
        ("(positive a)",),
        both_ways=False,
        source=LOGARITHM,
        argument="Both doubled are log(√a √a) = log(a).",
    ),
    *_of_other_rows(),
    Axiom(
        "sin of a sum",
        '(Call "sin" (Add a b))',
        '(Add (Mul (Call "sin" a) (Call "cos" b)) (Mul (Call "cos" a) (Call "sin" b)))',
        "sin(a + b) = sin(a) cos(b) + cos(a) sin(b)",
        both_ways=False,
        source=ANGLES,
        argument="It is the imaginary part of exp(i a) exp(i b).",
    ),
    Axiom(
        "cos of a sum",
        '(Call "cos" (Add a b))',
        f'(Add (Mul (Call "cos" a) (Call "cos" b)) (Mul (Num {MINUS_ONE}) (Mul (Call "sin" a) (Call "sin" b))))',
        "cos(a + b) = cos(a) cos(b) − sin(a) sin(b)",
        both_ways=False,
        source=ANGLES,
        argument="It is the real part of exp(i a) exp(i b).",
    ),
    Axiom(
        "square of a cosine",
        '(Mul (Call "cos" a) (Call "cos" a))',
        f'(Add (Num {ONE}) (Mul (Num {MINUS_ONE}) (Mul (Call "sin" a) (Call "sin" a))))',
        "cos(a) cos(a) = 1 − sin(a) sin(a)",
        both_ways=False,
        source=ANGLES,
        argument="exp(i a) has the absolute value 1.",
    ),
)
