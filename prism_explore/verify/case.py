"""A disagreement between prover and refuter as a text: all that it takes to have both speak again.

disagreement of f3.c1, proved by normal form
seed 0, float64 from -0.65 to 0.75
at b=4, d=6, n=8, gx=2, f=3
element 0, 1: 0.25 wanted, 0.5 found

program ...
sgraph ...
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

from prism_explore.errors import ParseError
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.sgraph import SGraph
from prism_explore.ir.stages import Arithmetic, Witness
from prism_explore.ir.text import parse, parse_program, show

Method = Literal["normal form", "cleared denominators", "e-graph"]

_HEAD = re.compile(
    r"disagreement of (?P<candidate>\S+), proved by (?P<method>[\w -]+)\n"
    r"seed (?P<seed>\d+), (?P<arithmetic>[\w ]+) from (?P<low>\S+) to (?P<high>\S+)\n"
    r"at (?P<sizes>.*)\n"
    r"element (?P<index>.*): (?P<expected>\S+) wanted, (?P<found>\S+) found, off by (?P<error>\S+)\n"
    r"\n(?P<program>program .*?)\n(?P<sgraph>sgraph\n.*)",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Case:
    """A candidate that was proved and then found wrong."""

    candidate: str
    method: Method
    """How it was proved."""
    program: TensorProgram
    sgraph: SGraph
    witness: Witness

    def __str__(self) -> str:
        w = self.witness
        return "\n".join(
            (
                f"disagreement of {self.candidate}, proved by {self.method}",
                f"seed {w.seed}, {w.arithmetic} from {w.between[0]!r} to {w.between[1]!r}",
                f"at {', '.join(f'{s}={n}' for s, n in w.sizes)}",
                f"element {', '.join(map(str, w.index))}: {w.expected!r} wanted, {w.found!r} found, "
                f"off by {w.relative_error!r}",
                "",
                show(self.program),
                show(self.sgraph),
            )
        )


def read_case(text: str) -> Case:
    """The case that a text tells.

    Raises:
        ParseError: it is none.
    """
    found = _HEAD.fullmatch(text.strip())
    if found is None:
        raise ParseError(
            "not a case of disagreement; expected what `str(case)` writes, from its first line to its last"
        )
    method = next((m for m in get_args(Method) if m == found["method"]), None)
    arithmetic: Arithmetic | None = next((a for a in get_args(Arithmetic) if a == found["arithmetic"]), None)
    if method is None or arithmetic is None:
        raise ParseError(f"not a case of disagreement: proved by {found['method']!r}, tried in {found['arithmetic']!r}")
    try:
        witness = Witness(
            tuple((name, int(number)) for name, number in re.findall(r"(\w+)=(\d+)", found["sizes"])),
            int(found["seed"]),
            tuple(int(i) for i in found["index"].split(", ") if i),
            float(found["expected"]),
            float(found["found"]),
            float(found["error"]),
            (float(found["low"]), float(found["high"])),
            arithmetic,
        )
    except ValueError as error:
        raise ParseError(f"not a case of disagreement: {error}") from error
    return Case(found["candidate"], method, parse_program(found["program"]), parse(found["sgraph"]), witness)
