"""The loop IR as pseudo-code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import TypeAlias, assert_never

from prism_explore.codegen.cpu.loop_ir import (
    LOWEST,
    Apply,
    Buffer,
    Constant,
    Contract,
    Expression,
    Fold,
    Gather,
    LoopNest,
    LoopProgram,
    Map,
    PrefixSum,
    Range,
    RangeTest,
    Read,
    Statement,
    affine_text,
)

Annotation: TypeAlias = Callable[[Statement], str]


@dataclass(frozen=True, slots=True)
class LoopLine:
    """One line of the text, and what it shows."""

    text: str
    nest: LoopNest | None = None
    statement: Statement | None = None


def show_loops(program: LoopProgram, annotation: Annotation | None = None) -> str:
    """The program as pseudo-code, without a trailing newline.

    Args:
        program: what to print.
        annotation: a comment for a statement, such as its register blocking; empty for none.
    """
    return "\n".join(line.text for line in loop_lines(program, annotation))


def loop_lines(program: LoopProgram, annotation: Annotation | None = None) -> list[LoopLine]:
    """The lines of `show_loops`."""
    lines = [
        LoopLine(f"{', '.join(map(_declared, program.outputs))} <- {', '.join(_declared(b) for b in program.inputs)}")
    ]
    for b in program.temporaries:
        lines.append(LoopLine(f"between kernels: {_declared(b)}"))
    for b in program.views:
        start = f" from element {b.start} on" if b.start else ""
        lines.append(LoopLine(f"view: {_declared(b)} of {b.root.name}{start}"))
    for nest in program.nests:
        lines += [LoopLine(""), *_nest_lines(nest, annotation or (lambda _: ""))]
    return lines


def _nest_lines(nest: LoopNest, annotation: Annotation) -> list[LoopLine]:
    lines = [LoopLine(f"kernel {nest.name}", nest)]
    if nest.scratch:
        lines.append(LoopLine(f"  scratch of each thread: {', '.join(_declared(b) for b in nest.scratch)}", nest))
    outer, inner = nest.grid[: nest.outer], nest.grid[nest.outer :]
    threads = "  # shared among threads"
    names = ", ".join(r.name for r in outer)
    indent = "  "

    def statements(some: tuple[Statement, ...], indent: str) -> list[LoopLine]:
        return [LoopLine(text, nest, s) for s in some for text in _statement_lines(s, indent, annotation)]

    if outer:
        lines.append(LoopLine(f"{indent}parallel for {_ranges_text(outer)}:{threads}", nest))
        indent += "  "
    if nest.once:
        lines.append(
            LoopLine(f"{indent}once per thread:" if not outer else f"{indent}once per thread and {names}:", nest)
        )
        lines += statements(nest.once, f"{indent}  ")
    if inner:
        lines.append(LoopLine(f"{indent}parallel for {_ranges_text(inner)}:{'' if outer else threads}", nest))
        indent += "  "
    lines += statements(nest.before, indent)
    if nest.body and nest.loop:
        where = f" where {show_expression(nest.predicate)}" if nest.predicate else ""
        lines.append(LoopLine(f"{indent}for {_ranges_text((nest.loop,))}{where}:", nest))
    lines += statements(nest.body, f"{indent}  " if nest.loop else indent)
    return lines + statements(nest.after, indent)


def _statement_lines(s: Statement, indent: str, annotation: Annotation) -> list[str]:
    text = show_statement(s)
    note = annotation(s)
    return [f"{indent}{text}", *([f"{indent}    # {note}"] if note else [])]


def show_statement(s: Statement) -> str:
    """One statement, followed by the ranges of its variables."""
    equals = "=" if not s.accumulates else "+=" if isinstance(s, Contract) or s.join == "sum" else "max="
    match s:
        case Map(domain, target, value):
            text, ranges = f"{target} {equals} {show_expression(value)}", domain
        case Fold(domain, along, target, value, _, join):
            summed = tuple(r for r in domain if r.name in along)
            text = f"{target} {equals} {join} over {_ranges_text(summed)} of {show_expression(value)}"
            ranges = tuple(r for r in domain if r.name not in along)
        case PrefixSum(domain, along, target, value, reverse):
            reach = f"from {along} on" if reverse else f"up to {along}"
            text, ranges = f"{target} = sum {reach} of {show_expression(value)}", domain
        case Gather(domain, positions, variable, target, value):
            text, ranges = f"{target} = {show_expression(value)} where {variable} = {positions}", domain
        case Contract(batch, m, n, k, target, left, right, _):
            text = f"{target} {equals} sum over {_ranges_text(k)} of {left} * {right}"
            ranges = (*batch, m, n)
        case _:
            assert_never(s)
    return f"{text}  for {_ranges_text(ranges)}" if ranges else text


def show_expression(e: Expression, tight: bool = False) -> str:
    """An expression in infix form; `tight` puts parentheses around sums and products."""
    signs = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
    match e:
        case Read(place):
            return str(place)
        case Constant(value):
            if value == LOWEST:
                return "lowest"
            return str(value) if value.denominator == 1 or not tight else f"({value})"
        case RangeTest(_, None, None):
            return "1"
        case RangeTest(at, low, high):
            bounds = [str(low)] if low is not None else []
            bounds += [affine_text(at), *([str(high)] if high is not None else [])]
            return f"({' <= '.join(bounds)})"
        case Apply(fn, (a, b)) if fn in signs:
            text = f"{show_expression(a, True)} {signs[fn]} {show_expression(b, True)}"
            return f"({text})" if tight else text
        case Apply(fn, args):
            return f"{fn}({', '.join(show_expression(a) for a in args)})"


def _declared(b: Buffer) -> str:
    row_major_index = b.strides == tuple(prod(b.shape[d + 1 :]) for d in range(len(b.shape)))
    strides = "" if row_major_index else f" strides({', '.join(map(str, b.strides))})"
    stored = "" if b.dtype == "f32" else f" {b.dtype}"
    return f"{b.name}[{', '.join(map(str, b.shape))}]{stored}{strides}"


def _ranges_text(ranges: tuple[Range, ...]) -> str:
    return ", ".join(f"{r.name}<{r.extent}" for r in ranges)
