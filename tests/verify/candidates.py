"""How a candidate of a workload is written down, at the published shape and at a small one.

Every text is a template over its workload's sizes, so that the same candidate is proved at the published
shape and run at a small one. Texts are in the form of `ir.text`, with abbreviations that `spelled` writes
out: calls may be nested, tensors may have names (`$x`), a load may name the kernel's operand, and a store
may stand anywhere in its block.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path

from prism_explore.frontend import trace
from prism_explore.frontend.workloads import Workload, workload
from prism_explore.ir.graph import SGraph
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.text import parse, parse_program, show
from tests.verify.law_programs import LAWS

TRACED = Path(__file__).resolve().parents[1] / "goldens" / "traced"

SMALL: dict[str, int] = {
    "b": 6,
    "d": 12,
    "n": 18,
    "s": 12,
    "t": 24,
    "h": 12,
    "g": 6,
    "r": 6,
    "e": 4,
    "window": 5,
}
"""Sizes to run at: every dim can be cut by 2 and by 3, most by both."""
SMALL_BLOCK: dict[str, int] = {"s": 12, "d": 24, "m": 12, "c": 6, "n": 36, "heads": 4, "kv_heads": 2}


@dataclass(frozen=True, slots=True)
class Entry:
    """A candidate of a workload, and what is true of it."""

    workload: str
    form: str
    text: str
    right: bool
    needs: str = ""
    """Where no verdict but unknown is reached yet: the beginning of the reason that is given."""

    @property
    def name(self) -> str:
        """Unique over the corpus."""
        return f"{self.workload}-{self.form}"


def variant(text: str, **lines: str) -> str:
    """The text with the right-hand sides of some named lines replaced, in every block that has them."""
    for name, right_side in lines.items():
        pattern = re.compile(rf"^( +\${name} = ).*$", re.MULTILINE)
        assert pattern.search(text), f"no line ${name}"
        text = pattern.sub(lambda m, r=right_side: m.group(1) + r, text)
    return text


def swapped(text: str, old: str, new: str) -> str:
    """The text with one part replaced, which must be there."""
    assert old in text, f"no {old!r}"
    return text.replace(old, new)


# ---------------------------------------------------------------- programs
def small(row: Workload) -> Workload:
    """The workload at sizes that a block-by-block interpreter runs in no time."""
    sizes = SMALL_BLOCK if row.name == "transformer_block" else SMALL
    return row.resized(**{k: n for k, n in sizes.items() if k in row.sizes})


def row_of(name: str) -> Workload:
    """A workload, or a program for a single law."""
    return LAWS[name] if name in LAWS else workload(name)


def traced(name: str, tiny: bool) -> TensorProgram:
    """The program at the published shape, or at the small one, as torch exports it now."""
    row = row_of(name)
    row = small(row) if tiny and row.shapes else row
    return trace(row.code, row.inputs, name).program


def recorded(name: str) -> str:
    """The text of `tests/goldens/traced/<name>.txt`: the program at the published shape, then at the small one."""
    return "\n\n".join(show(traced(name, tiny)) for tiny in (False, True))


@cache
def program_of(name: str, tiny: bool = False) -> TensorProgram:
    """The recorded program: to export all of them takes a minute, and a test of the recordings does it once."""
    path = TRACED / f"{name}.txt"
    if not path.exists():
        return traced(name, tiny)
    return parse_program(path.read_text(encoding="utf-8").split("\n\n")[tiny])


def sgraph_of(entry: Entry, tiny: bool = False) -> SGraph:
    """The candidate at the published shape, or at the small one."""
    row = row_of(entry.workload)
    return sgraph_at(entry, small(row) if tiny and row.shapes else row, program_of(entry.workload, tiny))


def sgraph_at(entry: Entry, row: Workload, program: TensorProgram) -> SGraph:
    """The candidate at the shape of its workload's row, of which this is the program."""
    inputs = [(i.name, str(i.type)) for i in program.inputs]
    return parse(spelled(entry.text.format_map(constants_of(row.sizes)), inputs))


def constants_of(sizes: Mapping[str, int]) -> dict[str, object]:
    """What a template may name: the sizes, and what follows from them."""
    known: dict[str, object] = dict(sizes)
    if "heads" in sizes:
        each = sizes["d"] // sizes["heads"]
        known |= {
            "each": sizes["heads"] // sizes["kv_heads"],
            "c": each,
            "half": each // 2,
            "d_m": sizes["d"] + sizes["m"],
        }
        known["scale"] = Fraction(repr(each**-0.5))
    elif "d" in sizes:
        known |= {"scale": Fraction(repr(sizes["d"] ** -0.5)), "half": sizes["d"] // 2, "less": sizes["d"] - 1}
    if "h" in sizes and "g" in sizes:
        known["each"] = sizes["h"] // sizes["g"]
    if "window" in sizes:
        known["back"] = f"1-{sizes['window']}"
    if "e" in sizes and "n" in sizes:
        known["en"] = sizes["e"] * sizes["n"]
    if "d" in sizes and "r" in sizes:
        known["dr"] = sizes["d"] + sizes["r"]
    return known


# ---------------------------------------------------------------- abbreviations
def spelled(text: str, inputs: list[tuple[str, str]]) -> str:
    """The text form proper, inputs first."""
    out = ["sgraph", *(f"  {name} = input {type_}" for name, type_ in inputs)]
    kernel = _Scope("  ", len(inputs))
    block: _Scope | None = None
    for line in text.strip("\n").splitlines():
        if not line.strip():
            continue
        if line.startswith("    "):
            assert block is not None, f"no kernel before {line!r}"
            block.assign(line.strip(), out)
        elif line.strip().startswith("return "):
            block = _closed(block, out)
            result = kernel.argument(line.strip().removeprefix("return "), out)
            out.append(f"  return {result}")
        else:
            block = _closed(block, out)
            operands = kernel.assign(line.strip(), out)
            if operands is not None:
                block = _Scope("    ", 0, operands)
    return "\n".join(out)


def _closed(block: _Scope | None, out: list[str]) -> None:
    """Stores come last in a block, wherever they were written."""
    if block is not None:
        for rest in block.stores:
            block.emit(rest, out)


class _Scope:
    """A kernel graph or a block graph in the making."""

    def __init__(self, indent: str, count: int, operands: list[str] | None = None) -> None:
        self._indent = indent
        self._count = count
        self._operands = operands or []
        self._names: dict[str, str] = {}
        self.stores: list[str] = []

    def emit(self, call: str, out: list[str]) -> str:
        """One line of the text form; its position."""
        place = f"%{self._count}"
        self._count += 1
        out.append(f"{self._indent}{place} = {call}")
        return place

    def assign(self, line: str, out: list[str]) -> list[str] | None:
        """One line; for a custom kernel, the operands as they were written."""
        name, _, expression = line.partition(" = ")
        if not name.startswith("$"):
            name, expression = "", line
        place = self.argument(expression, out)
        if name:
            self._names[name] = place
        call = expression.startswith("custom(")
        return _split(expression[len("custom(") : expression.index(") grid[")]) if call else None

    def argument(self, text: str, out: list[str]) -> str:
        """The name or position that stands for an expression; what it takes is written out first."""
        text = text.strip()
        if text.startswith("$"):
            return self._names[text]
        call = re.match(r"(\w+)\(", text)
        if call is None:
            return text
        end = _closing(text, call.end() - 1)
        parts = _split(text[call.end() : end])
        if call.group(1) == "load":
            parts[0] = str(self._operands.index(parts[0]))
            arguments = parts
        else:
            arguments = [p if re.match(r"\w+=", p) else self.argument(p, out) for p in parts]
        written = f"{call.group(1)}({', '.join(arguments)}){text[end + 1 :]}"
        if call.group(1) == "store":
            self.stores.append(written)
            return ""
        return self.emit(written, out)


def _closing(text: str, start: int) -> int:
    depth = 0
    for n in range(start, len(text)):
        depth += (text[n] in "([") - (text[n] in ")]")
        if not depth:
            return n
    raise AssertionError(f"no closing bracket in {text!r}")


def _split(text: str) -> list[str]:
    parts: list[str] = []
    depth = last = 0
    for n, c in enumerate(text):
        depth += (c in "([") - (c in ")]")
        if c == "," and not depth:
            parts.append(text[last:n].strip())
            last = n + 1
    return [p for p in (*parts, text[last:].strip()) if p]
