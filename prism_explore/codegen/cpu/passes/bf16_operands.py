"""Pass: bfloat16 storage for tiles that are only operands of products of bfloat16.

Input: loop IR, where such a tile is float32. Output: loop IR, where it is bfloat16, so that CPUs with `vdpbf16ps` or
`bfdot` multiply both operands in pairs, twice as fast as float32. Legal where only such products read the tile and it
is overwritten, not accumulated. A copy of a bfloat16 input is unchanged; a computed tile is rounded once, as torch
rounds between operators. A tile on the right, such as dequantized weights, is one only in a program whose floats are
all bfloat16; otherwise a bfloat16 weight says that the product is one. Sums stay float32.
"""

from __future__ import annotations

from dataclasses import replace

from prism_explore.codegen.cpu.loop_ir import Buffer, Contract, LoopNest, LoopProgram, Statement, places_read
from prism_explore.codegen.cpu.matmul_tiling import is_bf16_product
from prism_explore.ir.tensors import FLOATS


def with_bf16_operands(program: LoopProgram) -> LoopProgram:
    """The program with bfloat16 tiles in products of which both operands can be bfloat16."""
    floats = {b.dtype for b in program.inputs} & FLOATS
    return replace(program, nests=tuple(_nest(nest, only_bf16=floats == {"bf16"}) for nest in program.nests))


def _nest(nest: LoopNest, *, only_bf16: bool) -> LoopNest:
    products = [s for s in nest.statements if isinstance(s, Contract)]
    replaced = {b: replace(b, dtype="bf16") for b in nest.scratch if _is_only_operand(b, nest, only_bf16=only_bf16)}
    while refused := [
        b
        for c in products
        if not is_bf16_product(_in(c, replaced))
        for b in (c.left.buffer, c.right.buffer)
        if b in replaced
    ]:
        replaced = {b: to for b, to in replaced.items() if b not in refused}
    if not replaced:
        return nest

    def rewrite(statements: tuple[Statement, ...]) -> tuple[Statement, ...]:
        return tuple(
            _in(s, replaced)
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


def _is_only_operand(b: Buffer, nest: LoopNest, *, only_bf16: bool) -> bool:
    """Whether a tile is only overwritten, and only read as an operand of products: on the left, or on either side."""
    is_operand = False
    for s in nest.statements:
        if isinstance(s, Contract):
            if b == s.target.buffer or (b == s.right.buffer and not only_bf16):
                return False
            is_operand |= b in (s.left.buffer, s.right.buffer)
        elif any(p.buffer == b for p in places_read(s.value)) or (s.target.buffer == b and s.accumulates):
            return False
    return is_operand


def _in(c: Contract, to: dict[Buffer, Buffer]) -> Contract:
    """The product with its operands in other buffers, where some are named."""
    left, right = (replace(p, buffer=to.get(p.buffer, p.buffer)) for p in (c.left, c.right))
    return replace(c, left=left, right=right)
