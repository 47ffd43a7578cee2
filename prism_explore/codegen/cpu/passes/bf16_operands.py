"""Pass: bfloat16 storage for tiles that are only the left operand of a product with a bfloat16 weight.

Input: loop IR, where such a tile is float32. Output: loop IR, where it is bfloat16, so that CPUs with `vdpbf16ps` or
`bfdot` multiply both operands in pairs, twice as fast as float32. Legal where only such products read the tile and it
is overwritten, not accumulated. A copy of a bfloat16 input is unchanged; a computed tile is rounded once, as torch
rounds between operators. Sums stay float32.
"""

from __future__ import annotations

from dataclasses import replace

from prism_explore.codegen.cpu.loop_ir import Buffer, Contract, LoopNest, LoopProgram, Statement, places_read
from prism_explore.codegen.cpu.matmul_tiling import is_bf16_product


def with_bf16_operands(program: LoopProgram) -> LoopProgram:
    """The program with bfloat16 tiles on the left of products whose right operand is bfloat16."""
    return replace(program, nests=tuple(_nest(nest) for nest in program.nests))


def _nest(nest: LoopNest) -> LoopNest:
    replaced: dict[Buffer, Buffer] = {}
    for b in nest.scratch:
        rounded = replace(b, dtype="bf16")
        products = [s for s in nest.statements if isinstance(s, Contract) and s.left.buffer == b]
        if products and _only_left(b, nest) and all(is_bf16_product(_with_left_in(c, {b: rounded})) for c in products):
            replaced[b] = rounded
    if not replaced:
        return nest

    def rewrite(statements: tuple[Statement, ...]) -> tuple[Statement, ...]:
        return tuple(
            _with_left_in(s, replaced)
            if isinstance(s, Contract)
            else replace(s, target=replace(s.target, buffer=replaced.get(s.target.buffer, s.target.buffer)))
            for s in statements
        )

    return replace(
        nest,
        scratch=tuple(replaced.get(b, b) for b in nest.scratch),
        once=rewrite(nest.once),
        before=rewrite(nest.before),
        body=rewrite(nest.body),
        after=rewrite(nest.after),
    )


def _only_left(b: Buffer, nest: LoopNest) -> bool:
    """Whether a tile is only overwritten, and only read as the left operand of products."""
    for s in nest.statements:
        if isinstance(s, Contract):
            if b in (s.right.buffer, s.target.buffer):
                return False
        elif any(p.buffer == b for p in places_read(s.value)) or (s.target.buffer == b and s.accumulates):
            return False
    return True


def _with_left_in(c: Contract, to: dict[Buffer, Buffer]) -> Contract:
    """The product with its left operand in another buffer, where one is named."""
    return replace(c, left=replace(c.left, buffer=to.get(c.left.buffer, c.left.buffer)))
