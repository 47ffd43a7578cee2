"""Products of bfloat16 in pairs: tiles that were computed only to be multiplied are kept in bfloat16.

Some CPUs multiply bfloat16 in pairs, twice as fast as float32, if both operands are bfloat16. The right operand is an
input; the left one is a tile that `lower` keeps in float32. Here that tile becomes bfloat16 where nothing but such
products reads it. A tile that only copies a bfloat16 input loses nothing by it; what was computed is rounded once, as
torch rounds between operators. Sums stay float32.
"""

from __future__ import annotations

from dataclasses import replace

from prism_explore.codegen.cpu.loop_ir import Buffer, Contract, LoopProgram, Nest, Statement, reads
from prism_explore.codegen.cpu.matmul_microkernels import extents


def are_pairs(c: Contract) -> bool:
    """Whether both operands lie in bfloat16 along k."""
    e = extents(c)
    along_k = e.left_k == 1 and e.right_k == 1 and e.k > 1
    return along_k and c.left.buffer.dtype == "bf16" and c.right.buffer.dtype == "bf16"


def shortened(program: LoopProgram) -> LoopProgram:
    """The program with bfloat16 tiles on the left of products whose right operand is bfloat16."""
    return replace(program, nests=tuple(_nest(nest) for nest in program.nests))


def _nest(nest: Nest) -> Nest:
    wanted: dict[Buffer, Buffer] = {}
    for b in nest.scratch:
        short = replace(b, dtype="bf16")
        products = [s for s in nest.statements if isinstance(s, Contract) and s.left.buffer == b]
        if products and _only_left(b, nest) and all(are_pairs(_moved(c, {b: short})) for c in products):
            wanted[b] = short
    if not wanted:
        return nest

    def changed(statements: tuple[Statement, ...]) -> tuple[Statement, ...]:
        return tuple(
            _moved(s, wanted)
            if isinstance(s, Contract)
            else replace(s, target=replace(s.target, buffer=wanted.get(s.target.buffer, s.target.buffer)))
            for s in statements
        )

    return replace(
        nest,
        scratch=tuple(wanted.get(b, b) for b in nest.scratch),
        once=changed(nest.once),
        before=changed(nest.before),
        body=changed(nest.body),
        after=changed(nest.after),
    )


def _only_left(b: Buffer, nest: Nest) -> bool:
    """Whether a tile is written as a whole and read by products alone, on their left."""
    for s in nest.statements:
        if isinstance(s, Contract):
            if b in (s.right.buffer, s.target.buffer):
                return False
        elif any(p.buffer == b for p in reads(s.value)) or (s.target.buffer == b and s.adds):
            return False
    return True


def _moved(c: Contract, to: dict[Buffer, Buffer]) -> Contract:
    """The product with its left operand in another buffer."""
    return replace(c, left=replace(c.left, buffer=to.get(c.left.buffer, c.left.buffer)))
