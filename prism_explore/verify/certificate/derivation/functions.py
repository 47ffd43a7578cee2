"""Normal form of functions of one number: exponentials, relu, the absolute value, and functions with a definition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from prism_explore.ir.elementwise import UNARY
from prism_explore.ir.formulas import evaluate, formula, without_quotients
from prism_explore.verify.certificate.derivation.choices import Choices
from prism_explore.verify.certificate.derivation.intervals import Intervals
from prism_explore.verify.certificate.derivation.max_bounds import MaxBounds, Piece
from prism_explore.verify.certificate.derivation.monomials import Monomial, Monomials, Power
from prism_explore.verify.certificate.derivation.polynomials import HALF, ONE, DerivationFailed, Poly, Polynomials
from prism_explore.verify.certificate.derivation.signs import Signs
from prism_explore.verify.certificate.derivation.term_graph import Id, TermGraph


class Functions:
    """Normal forms of functions."""

    def __init__(
        self,
        graph: TermGraph,
        signs: Signs,
        monomials: Monomials,
        polynomials: Polynomials,
        intervals: Intervals,
        bounds: MaxBounds,
        maximum: Callable[[Sequence[Piece]], Poly],
        choices: Choices,
    ) -> None:
        """Store the parts that compute the results.

        Args:
            graph: the terms and the log of steps.
            signs: of the terms.
            monomials: their products.
            polynomials: their sums.
            intervals: splits functions into cases.
            bounds: proves that terms are at least others.
            maximum: the polynomial of a maximum.
            choices: which functions are replaced by their definitions.
        """
        self._graph = graph
        self._signs = signs
        self._monomials = monomials
        self._polynomials = polynomials
        self._intervals = intervals
        self._bounds = bounds
        self._maximum = maximum
        self._choices = choices

    def exp(self, p: Poly) -> Poly:
        """The exponential of a sum is a product of powers."""
        if not p:
            self._graph.record_step("exp of zero", self._graph.make("exp", self._graph.zero), self._graph.one)
            return self._polynomials.constant(ONE)
        inverse = self._argument_of_log(p)
        if inverse is not None:
            self._graph.record_step(
                "exp of a logarithm", self._graph.make("exp", self._polynomials.to_term(p)), inverse
            )
            return self._polynomials.normal(inverse)
        factors: list[Power] = [(self._graph.make("exp", self._monomials.to_term(m)), c) for m, c in p]
        so_far: Monomial = (factors[0],)
        for n, factor in enumerate(factors[1:], start=1):
            a, b = self._polynomials.to_term(p[:n]), self._polynomials.summand(*p[n])
            product = self._graph.mul(self._graph.make("exp", a), self._graph.make("exp", b))
            self._graph.record_step("exp of a sum", self._graph.make("exp", self._graph.add(a, b)), product)
            so_far = self._monomials.insert(so_far, factor)
        return self._polynomials.simplify(so_far)

    def _argument_of_log(self, p: Poly) -> Id | None:
        """a, if a polynomial is log(a) of a positive term."""
        e = self._polynomials.to_term(p)
        node = self._graph.nodes[e]
        if node.op != "call" or node.label != "log" or not self._signs.is_positive(node.arguments[0]):
            return None
        return node.arguments[0]

    def _log(self, e: Id) -> Poly:
        """The logarithm of a term, of whose factors each is positive."""
        node, call = self._graph.nodes[e], self._graph.make("call", e, label="log")
        logs = [self._graph.make("call", x, label="log") for x in node.arguments]
        match node.op:
            case "exp":
                self._graph.record_step("log of an exponential", call, node.arguments[0])
                return self._polynomials.normal(node.arguments[0])
            case "num" if node.label == "1":
                one = self._graph.make("exp", self._graph.zero)
                self._graph.record_step("exp of zero", one, e)
                return self._log(one)
            case "mul" if all(map(self._signs.is_positive, node.arguments)):
                self._graph.record_step("log of a product", call, self._graph.add(*logs))
                return self._polynomials.add(*map(self._log, node.arguments))
            case "inv" | "sqrt" if self._signs.is_positive(node.arguments[0]):
                factor = -ONE if node.op == "inv" else HALF
                law = "log of an inverse" if node.op == "inv" else "log of a root"
                self._graph.record_step(law, call, self._graph.mul(self._graph.number(factor), *logs))
                return self._polynomials.multiply(self._polynomials.constant(factor), self._log(node.arguments[0]))
            case _:
                return self._polynomials.atom(call)

    def apply(self, fn: str, p: Poly) -> Poly:
        """A named function of a polynomial."""
        return self._intervals.by_cases("call", fn, p, lambda q: self._apply(fn, q))

    def _apply(self, fn: str, p: Poly) -> Poly:
        a = self._polynomials.to_term(p)
        call = self._graph.make("call", a, label=fn)
        if fn == "abs" and self._choices.is_any("order"):
            return self._abs_by_relu(p, call)
        by = self._definition(fn, a)
        if by is not None:
            self._graph.record_step("abs by a root" if fn == "abs" else fn, call, by)
            return self._polynomials.normal(by)
        if fn == "relu":
            return self.relu(p)
        if fn == "log":
            common, rest = self._polynomials.factor_out(p, roots=True) if len(p) > 1 else (None, p)
            whole = a if common is None else self._graph.mul(*map(self._polynomials.to_term, ((common,), rest)))
            return self._log(whole)
        if fn == "abs" and self._signs.is_nonnegative(a):
            self._graph.record_step("abs of a nonnegative", call, a)
            return p
        if fn == "abs" and (larger := self._larger_of_opposites(p)) is not None:
            self._graph.record_step("abs", call, self._graph.greater(a, self._graph.mul(self._graph.number(-ONE), a)))
            return larger
        row = UNARY[fn]
        if row.parity and not p and row.zero_at_zero:
            self._graph.record_step(f"{fn} of zero", call, self._graph.zero)
            return ()
        if row.parity and p and p[0][1] < 0:
            opposite = self._polynomials.multiply(self._polynomials.constant(-ONE), p)
            x = self._polynomials.to_term(opposite)
            self._polynomials.multiply(self._polynomials.constant(-ONE), opposite)
            positive = self._graph.make("call", x, label=fn)
            flipped = self._graph.mul(self._graph.number(-ONE), positive) if row.parity == "odd" else positive
            self._graph.record_step(
                f"{fn} is {row.parity}",
                self._graph.make("call", self._graph.mul(self._graph.number(-ONE), x), label=fn),
                flipped,
            )
            return self._polynomials.normal(flipped)
        return self._homogeneous(fn, p) if fn == "abs" else self._polynomials.atom(call)

    def _larger_of_opposites(self, p: Poly) -> Poly | None:
        """The one of p and -p that is provably at least the other; None where neither is."""
        opposite = self._polynomials.multiply(self._polynomials.constant(-ONE), p)
        a, b = self._polynomials.to_term(p), self._polynomials.to_term(opposite)
        if self._bounds.is_at_least(a, b):
            return p
        if self._bounds.is_at_least(b, a):
            self._graph.record_step("greater commutes", self._graph.greater(a, b), self._graph.greater(b, a))
            return opposite
        return None

    def _definition(self, fn: str, a: Id) -> Id | None:
        """The definition of a function, applied to a term; None where it has none or keeps its name."""
        graph, row = self._graph, UNARY[fn]
        if fn == "relu" or not (fn == "abs" or row.definition) or not self._choices.expands():
            return None
        if fn == "abs":
            return graph.make("sqrt", graph.mul(a, a))

        def operation(name: str, args: tuple[Id, ...]) -> Id:
            match name, args:
                case "add", (x, y):
                    return graph.add(x, y)
                case "mul", (x, y):
                    return graph.mul(x, y)
                case "inv" | "sqrt" | "exp", (x,):
                    return graph.make(name, x)
                case "max", (x, y):
                    return graph.greater(x, y)
                case _, (x,):
                    return graph.make("call", x, label=name)
                case _:
                    raise AssertionError(f"no definition may use {name}")

        return evaluate(without_quotients(formula(row.definition)), {"x": a}, graph.number, operation)

    def relu(self, p: Poly) -> Poly:
        """`max(p, 0)`."""
        a = self._polynomials.to_term(p)
        call = self._graph.make("call", a, label="relu")
        if self._signs.is_nonnegative(a):
            self._graph.record_step("relu of a nonnegative", call, a)
            return p
        if self._bounds.is_at_least(a, self._graph.zero):
            self._graph.record_step("relu", call, self._graph.greater(a, self._graph.zero))
            return p
        if self._choices.is_any("root") and not any(self._bounds.is_bottom(m) for m, _ in p):
            return self._relu_by_root(p, call)
        if (
            len(p) == 1
            and p[0][1] == 1
            and len(p[0][0]) == 1
            and self._graph.nodes[p[0][0][0][0]].op in ("most", "greater")
        ):
            self._graph.record_step("relu", call, self._graph.greater(a, self._graph.zero))
            return self._maximum([((), p), ((), ())])
        if len(p) > 1 and p[0][1] < 0 and self._choices.expands():
            return self._relu_of_opposite(p, call)
        return self._homogeneous("relu", p)

    def _homogeneous(self, fn: str, p: Poly) -> Poly:
        """Pull nonnegative factors out of relu and abs."""
        common, rest = self._polynomials.factor_out(p, roots=True) if len(p) > 1 else self._factor_out_of_term(p)
        if common is None:
            return self._polynomials.atom(self._graph.make("call", self._polynomials.to_term(p), label=fn))
        c, inner = self._polynomials.to_term((common,)), self._polynomials.to_term(rest)
        left, product = self._graph.make("call", inner, label=fn), self._graph.mul(c, inner)
        if fn == "relu":
            self._graph.record_step(
                "relu of a multiple", self._graph.make("call", product, label=fn), self._graph.mul(c, left)
            )
        else:
            self._abs_of_multiple((common,), rest)
        return self._polynomials.multiply((common,), self._polynomials.atom(left))

    def _abs_of_multiple(self, common: Poly, rest: Poly) -> None:
        """`|c p| = max(c p, -c p) = c max(p, -p) = c |p|`."""
        c, inner = self._polynomials.to_term(common), self._polynomials.to_term(rest)
        opposite, minus = self._polynomials.multiply(self._polynomials.constant(-ONE), rest), self._graph.number(-ONE)
        product = self._polynomials.multiply(common, rest)
        if self._polynomials.multiply(common, opposite) != self._polynomials.multiply(
            self._polynomials.constant(-ONE), product
        ):
            raise DerivationFailed
        whole, opposite_term = self._polynomials.to_term(product), self._polynomials.to_term(opposite)
        self._graph.record_step(
            "abs",
            self._graph.make("call", whole, label="abs"),
            self._graph.greater(whole, self._graph.mul(minus, whole)),
        )
        self._graph.record_step(
            "abs",
            self._graph.make("call", inner, label="abs"),
            self._graph.greater(inner, self._graph.mul(minus, inner)),
        )
        both = self._graph.greater(self._graph.mul(c, inner), self._graph.mul(c, opposite_term))
        self._graph.record_step(
            "greater of multiples", both, self._graph.mul(c, self._graph.greater(inner, opposite_term))
        )

    def _relu_by_root(self, p: Poly, call: Id) -> Poly:
        """`relu(p) = (p + |p|) / 2`, as `|p| = -p + relu(2 p) = -p + 2 relu(p)`; then |p| as a root."""
        a, two = self._polynomials.to_term(p), self._graph.number(2 * ONE)
        absolute, positive = self._graph.make("call", a, label="abs"), self._graph.greater(a, self._graph.zero)
        self._abs_in_order(p, absolute)
        self._graph.record_step("relu", call, positive)
        both = self._graph.greater(self._graph.mul(two, a), self._graph.mul(two, self._graph.zero))
        self._graph.record_step("greater of multiples", both, self._graph.mul(two, positive))
        self._monomials.swap(two, self._graph.zero)
        self._graph.record_step("zero", self._graph.mul(self._graph.zero, two), self._graph.zero)
        opposite = self._polynomials.multiply(self._polynomials.constant(-ONE), p)
        absolute_form = self._polynomials.add(
            opposite, self._polynomials.multiply(self._polynomials.constant(2 * ONE), self._polynomials.atom(call))
        )
        if self._polynomials.multiply(
            self._polynomials.constant(HALF), self._polynomials.add(p, absolute_form)
        ) != self._polynomials.atom(call):
            raise DerivationFailed
        return self._polynomials.normal(self._graph.mul(self._graph.number(HALF), self._graph.add(a, absolute)))

    def _abs_by_relu(self, p: Poly, call: Id) -> Poly:
        """`|p| = max(p, -p) = -p + relu(2 p)`."""
        opposite, double = self._abs_in_order(p, call)
        y = self._polynomials.to_term(double)
        self._graph.record_step(
            "relu", self._graph.make("call", y, label="relu"), self._graph.greater(y, self._graph.zero)
        )
        return self._polynomials.add(opposite, self.relu(double))

    def _abs_in_order(self, p: Poly, call: Id) -> tuple[Poly, Poly]:
        """`|p| = max(p, -p) = -p + max(2 p, 0)`; gives -p and 2 p."""
        opposite, double = (self._polynomials.multiply(self._polynomials.constant(c), p) for c in (-ONE, 2 * ONE))
        if self._polynomials.add(opposite, double) != p or self._polynomials.add(opposite, ()) != opposite:
            raise DerivationFailed
        a, x, y = self._polynomials.to_term(p), self._polynomials.to_term(opposite), self._polynomials.to_term(double)
        self._graph.record_step("abs", call, self._graph.greater(a, self._graph.mul(self._graph.number(-ONE), a)))
        both = self._graph.greater(self._graph.add(x, y), self._graph.add(x, self._graph.zero))
        self._graph.record_step("greater of sums", both, self._graph.add(x, self._graph.greater(y, self._graph.zero)))
        return opposite, double

    def _relu_of_opposite(self, p: Poly, call: Id) -> Poly:
        """`relu(p) = p + relu(-p)`."""
        q = self._polynomials.multiply(self._polynomials.constant(-ONE), p)
        if self._polynomials.add(p, q) or self._polynomials.add(p, ()) != p:
            raise DerivationFailed
        x, y = self._polynomials.to_term(p), self._polynomials.to_term(q)
        self._graph.record_step("relu", call, self._graph.greater(x, self._graph.zero))
        both = self._graph.greater(self._graph.add(x, self._graph.zero), self._graph.add(x, y))
        rest = self._graph.greater(self._graph.zero, y)
        self._graph.record_step("greater of sums", both, self._graph.add(x, rest))
        self._graph.record_step("greater commutes", rest, self._graph.greater(y, self._graph.zero))
        self._graph.record_step(
            "relu", self._graph.make("call", y, label="relu"), self._graph.greater(y, self._graph.zero)
        )
        return self._polynomials.add(p, self.relu(q))

    def _factor_out_of_term(self, p: Poly) -> tuple[tuple[Monomial, Fraction] | None, Poly]:
        """The number and the nonnegative factors of one term, and the rest."""
        (m, c) = p[0]
        out = tuple(f for f in m if self._signs.is_nonnegative(self._monomials.power(*f)))
        inside = tuple(f for f in m if f not in out)
        if abs(c) == 1 and not out:
            return None, p
        common, rest = (out, abs(c)), ((inside, ONE if c > 0 else -ONE),)
        assert self._polynomials.multiply((common,), rest) == p, "the product of the parts is the term"
        return common, rest
