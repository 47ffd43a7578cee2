"""sGraphs in text files, `tests/data/codegen/*.txt`: their text, and the sizes that they take.

A file is a list of sections. Lines that begin with `#` are comments.

    rms_plain: b f ks gx tn; d = f*ks, n = gx*tn
      x = input f32[b, d]
      ...
      return %2

    rms_plain_nk: like rms_plain, [d, n] -> [d, n] order(1, 0)

The header names the symbols whose sizes a test draws, then the sizes that are products of them and of numbers.
`like NAME, OLD -> NEW` is the graph NAME with other text in place of OLD, and the same sizes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path

from prism_explore.ir.graph import SGraph
from prism_explore.ir.text import parse

FILES = Path(__file__).resolve().parents[1] / "data" / "codegen"

_CHANGED = r" like (?P<base>\w+), (?P<old>.+) -> (?P<new>.+)"
_SIZES = r" ?(?P<free>[\w ]*)(?:; (?P<derived>.+))?"
_HEADER = re.compile(rf"(?P<name>\w+):(?:{_CHANGED}|{_SIZES})")


@dataclass(frozen=True)
class Case:
    """An sGraph; `free` symbols have drawn values, `derived` ones are products of them and constants."""

    name: str
    text: str
    free: tuple[str, ...] = ()
    derived: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def sizes(self, drawn: dict[str, int]) -> dict[str, int]:
        sizes = dict(drawn)
        for symbol, factors in self.derived:
            sizes[symbol] = prod(sizes[f] if f in sizes else int(f) for f in factors)
        return sizes

    @property
    def graph(self) -> SGraph:
        return parse(self.text)


def read(name: str) -> dict[str, Case]:
    """The cases of `tests/data/codegen/<name>.txt` by name, in order."""
    cases: dict[str, Case] = {}
    lines = (FILES / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    starts = [n for n, line in enumerate(lines) if line and line[0] not in " #"]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        header = _HEADER.fullmatch(lines[start])
        assert header, f"{name}.txt:{start + 1}: expected 'NAME: SYMBOLS; SIZES', found {lines[start]!r}"
        if header["base"]:
            base = cases[header["base"]]
            assert header["old"] in base.text, f"{name}.txt:{start + 1}: {base.name} has no {header['old']!r}"
            case = replace(base, name=header["name"], text=base.text.replace(header["old"], header["new"]))
        else:
            body = [line for line in lines[start + 1 : end] if line.startswith(" ")]
            derived = (part.split(" = ") for part in (header["derived"] or "").split(", ") if part)
            products = tuple((symbol, tuple(factors.split("*"))) for symbol, factors in derived)
            text = "\n".join(["sgraph", *body, ""])
            case = Case(header["name"], text, tuple(header["free"].split()), products)
        cases[case.name] = case
    return cases
