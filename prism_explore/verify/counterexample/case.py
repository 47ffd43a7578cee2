"""The text of a refuted candidate, or of a disagreement between prover and refuter, which can be replayed.

disagreement of f3.c1, proved by normal form
seed 0, float64 from -0.65 to 0.75
at b=4, d=6, n=8, gx=2, f=3
element 0, 1: 0.25 wanted, 0.5 found, off by 0.4

program ...
sgraph ...
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

from prism_explore.errors import ParseError
from prism_explore.ir.graph import SGraph
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.text import parse, parse_program, show
from prism_explore.pipeline.stages import Arithmetic, Counterexample

Method = Literal["normal form", "cleared denominators", "e-graph"]

_COUNTEREXAMPLE = re.compile(
    r"seed (?P<seed>\d+), (?P<arithmetic>[\w ]+) from (?P<low>\S+) to (?P<high>\S+)\n"
    r"at (?P<sizes>.*)\n"
    r"(?:result (?P<result>\d+), )?element (?P<index>.*): "
    r"(?P<expected>\S+) wanted, (?P<found>\S+) found, off by (?P<error>\S+)"
)
_CASE = re.compile(
    r"(?:disagreement of (?P<disagreement>\S+), proved by (?P<method>[\w -]+)|refutation of (?P<refutation>\S+))\n"
    r"(?P<counterexample>seed .*\nat .*\n.*element .*)\n"
    r"\n(?P<program>program (?s:.*?))\n(?P<sgraph>sgraph\n(?s:.*))"
)


def show_counterexample(c: Counterexample) -> str:
    """The text of a counterexample, three lines; `read_counterexample` parses it."""
    result = f"result {c.result}, " if c.result else ""
    return "\n".join(
        (
            f"seed {c.seed}, {c.arithmetic} from {c.input_range[0]!r} to {c.input_range[1]!r}",
            f"at {', '.join(f'{s}={n}' for s, n in c.sizes)}",
            f"{result}element {', '.join(map(str, c.index))}: {c.expected!r} wanted, {c.found!r} found, "
            f"off by {c.relative_error!r}",
        )
    )


def read_counterexample(text: str) -> Counterexample:
    """Parse the text of a counterexample.

    Raises:
        ParseError: the text is not what `show_counterexample` writes.
    """
    found = _COUNTEREXAMPLE.fullmatch(text.strip())
    arithmetic: Arithmetic | None = next((a for a in get_args(Arithmetic) if found and a == found["arithmetic"]), None)
    if found is None or arithmetic is None:
        raise ParseError("not a counterexample; expected three lines: seed, sizes, element")
    try:
        return Counterexample(
            tuple((name, int(number)) for name, number in re.findall(r"(\w+)=(\d+)", found["sizes"])),
            int(found["seed"]),
            tuple(int(i) for i in found["index"].split(", ") if i),
            float(found["expected"]),
            float(found["found"]),
            float(found["error"]),
            (float(found["low"]), float(found["high"])),
            arithmetic,
            int(found["result"] or 0),
        )
    except ValueError as error:
        raise ParseError(f"not a counterexample: {error}") from error


@dataclass(frozen=True, slots=True)
class Case:
    """A refuted candidate, its program and the counterexample."""

    candidate: str
    method: Method | None
    """The method by which the prover proved the candidate; None where it did not, and there is no disagreement."""
    program: TensorProgram
    sgraph: SGraph
    counterexample: Counterexample

    def __str__(self) -> str:
        head = (
            f"refutation of {self.candidate}"
            if self.method is None
            else f"disagreement of {self.candidate}, proved by {self.method}"
        )
        return "\n".join((head, show_counterexample(self.counterexample), "", show(self.program), show(self.sgraph)))


def read_case(text: str) -> Case:
    """Parse the text of a case.

    Raises:
        ParseError: it is not what `str` of a case writes.
    """
    found = _CASE.fullmatch(text.strip())
    if found is None:
        raise ParseError("not a case; expected what `str(case)` writes, from its first line to its last")
    method = next((m for m in get_args(Method) if m == found["method"]), None)
    if method is None and found["method"] is not None:
        raise ParseError(f"not a case: proved by {found['method']!r}; there are {', '.join(get_args(Method))}")
    program, sgraph = parse_program(found["program"]), parse(found["sgraph"])
    return Case(
        found["disagreement"] or found["refutation"],
        method,
        program,
        sgraph,
        read_counterexample(found["counterexample"]),
    )
