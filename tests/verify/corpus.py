"""Programs, candidates that equal them, and candidates that look as if they did: `tests/data/candidates/corpus.txt`.

The wrong ones are mistakes that a search can make or that published rule sets accept (U1 to U4: an operand swap, a
division moved through a matmul, a lost 1/n, a replicated sum).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from prism_explore.ir.axis_maps import AxisUse
from prism_explore.ir.graph import SGraph
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.text import parse, parse_program
from prism_explore.pipeline.stages import Candidate, Family
from tests.verify.candidate_files import FILES, read

PROGRAMS: dict[str, TensorProgram] = {
    program.name: program
    for text in (FILES / "programs.txt").read_text(encoding="utf-8").split("\n\n")
    if text.startswith("program ")
    for program in (parse_program(text),)
}


@dataclass(frozen=True)
class Case:
    """A candidate and what is true of it."""

    name: str
    program: str
    sgraph: SGraph
    right: bool


def numbered(text: str) -> str:
    """Block tensors that bear words, `$rms`, get the positions that the text form wants."""
    out: list[str] = []
    places: dict[str, str] = {}

    def place(found: re.Match[str]) -> str:
        return places[found.group()]

    for line in text.strip("\n").splitlines():
        if not line.startswith("    "):
            places.clear()
        elif (name := re.match(r" *(\$\w+) = ", line)) is not None:
            places[name.group(1)] = f"%{len(places)}"
        out.append(re.sub(r"\$\w+", place, line))
    return "\n".join(out)


def graph_of(program: str, text: str) -> SGraph:
    """The sGraph with that program's inputs and these further lines."""
    inputs = "\n".join(f"  {i.name} = input {i.type}" for i in PROGRAMS[program].inputs)
    return parse(f"sgraph\n{inputs}\n{numbered(text)}")


def candidate(of: TensorProgram, sgraph: SGraph, name: str = "f1.c1") -> Candidate:
    """As `instantiate` would hand it over."""
    uses: tuple[tuple[AxisUse, ...], ...] = ((),) * len(sgraph.customs)
    family = Family(name.split(".")[0], of, sgraph)
    return Candidate(name, family, sgraph, uses, sgraph.conditions())


TEXTS = {section.form: section.text for section in read("corpus")}
"""By the name of the case."""
CASES = [
    Case(section.form, program, graph_of(program, section.text), section.right)
    for section in read("corpus")
    for program in section.programs
]
R1_BARE, R1_FULL, MATMUL = TEXTS["rms_fused"], TEXTS["rms_fused_full"], TEXTS["matmul_split"]
