"""A linear layer, cut in several ways, with work that it needs and work on top."""

from __future__ import annotations

from prism_explore.ir.axis_maps import AxisUse
from prism_explore.ir.program import ProgramBuilder
from prism_explore.ir.text import parse
from prism_explore.pipeline.stages import Candidate, Family

LINEAR = """sgraph
  x = input f32[b, 16]
  w = input f32[16, 24]
  %2 = custom(x, w) grid[{grid}]{loop}
    %0 = load(0, imap=[{x}]{fx})
    %1 = load(1, imap=[{w}]{fw})
    %2 = matmul(%0, %1)
    {body}
  return %2
"""


def linear(name: str, cuts: str, looped: bool, extra: bool = False) -> Candidate:
    """A product that is cut along b, n or both, in one piece or in a loop, and then perhaps doubled and halved."""
    b = ProgramBuilder("linear")
    x, w = b.input("x", "b", 16), b.input("w", 16, 24)
    program = b.build(b.matmul(x, w))
    body = ["accum(%2)"] * looped + (["mul_scalar({last}, 2)", "mul_scalar({last}, 1/2)"] if extra else [])
    lines, last = [], 2
    for op in body:
        lines.append(f"%{last + 1} = {op.format(last=f'%{last}')}")
        last += 1
    lines.append(f"%{last + 1} = store(%{last}, omap=[{', '.join('0' if c == 'b' else '1' for c in cuts)}])")
    text = LINEAR.format(
        grid=", ".join(f"{'xy'[p]}=g{'xy'[p]}" for p in range(len(cuts))),
        loop=" loop[i=f]" if looped else "",
        x=", ".join("0" if c == "b" else "-" for c in cuts),
        w=", ".join("1" if c == "n" else "-" for c in cuts),
        fx=", fmap=1" if looped else "",
        fw=", fmap=0" if looped else "",
        body="\n    ".join(lines),
    )
    graph = parse(text)
    uses = tuple(AxisUse(a, cuts.index(a) if a in cuts else None, looped and a == "d") for a in ("b", "d", "n"))
    return Candidate(f"{name}.c1", Family(name, program, graph), graph, (uses,), graph.conditions())
