"""What each tuning parameter does: one row per parameter that a search can propose.

There are two kinds. Sizes are symbols of the sGraph: the number of blocks along a grid dim (gx, gy, gz) and the number
of loop iterations (f); a number at the end names the kernel, as in gx2. Schedule choices are those of a code generator.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

SCHEDULE_TEXT: Mapping[str, str] = {
    # CPU: `codegen.cpu.schedule.schedule_space`
    "threads": "number of threads that share the blocks, at most 256",
    "hoist": "1: do once per thread what does not depend on the inner grid dims; 0: repeat it in every block",
    "pack": "1: copy the left operand of a product into tile order, once per thread; 0: read it in place",
    "level": "the cache that is prefetched into: 1 or 2",
    "mr": "dot micro-kernel: rows of the target per register block",
    "nr": "dot micro-kernel: columns of the right operand per register block",
    "kv": "dot micro-kernel: vectors along k per step",
    "panel": "dot micro-kernel: 1 to prefetch the next panel of columns, 2 every second line of it, 0 not to",
    "kc": "dot micro-kernel: multiply all columns with this many elements of k before the next; 0: with all of k",
    "outer": "outer micro-kernel (rows of the target in the lanes): vectors of rows per register block; 0: not used",
    "oc": "outer micro-kernel: columns of the right operand per register block",
    "short": "dot micro-kernel: 1 to round the left operand of a bfloat16 product to bfloat16 and multiply in pairs",
    "tiles": "dot micro-kernel: 1 to multiply bfloat16 pairs in the tile registers of AMX, 0 in vectors",
    "tn": "dot micro-kernel in tiles: tiles of 16 columns per block",
    "ride": "dot micro-kernel: 1 if the product that reads the right operand also sums it; needs all rows in one block",
    "ku": "stream micro-kernel: rows of the right operand in registers (unrolling along k)",
    "nv": "stream micro-kernel: vectors along n in registers",
    "ahead": "stream micro-kernel: prefetch this many rows of the right operand ahead; 0 for none",
    "meanwhile": "while a product runs, prefetch what the next one reads: this many parts at a time; 0 for none",
    # GPU: `codegen.triton.plan.SCHEDULE`
    "num_warps": "Triton: warps per block; a warp has 32 threads, or 64 on AMD",
    "num_stages": "Triton: stages of the software pipeline, the loop iterations whose loads are in flight together",
    "tf32_products": "Triton: TF32 products on tensor cores per product of float32 operands: 3; 0 for plain arithmetic",
    "tma": "Triton: 1 to read the tiles of a loop's products by TMA, through tensor descriptors; 0 through pointers",
}
"""Per schedule choice, a sentence without its full stop."""

_SIZE = re.compile(r"(?:g(?P<dim>[xyz])|f)(?P<kernel>\d*)_*")


def describe_parameter(name: str) -> str:
    """What a tuning parameter does; empty for a name that no search proposes.

    >>> describe_parameter("gx")
    'number of blocks along grid dim x'
    """
    size = _SIZE.fullmatch(name)
    if size is None:
        return SCHEDULE_TEXT.get(name, "")
    kernel = f" of custom kernel {size['kernel']}" if size["kernel"] else ""
    if size["dim"]:
        return f"number of blocks along grid dim {size['dim']}{kernel}"
    return f"number of iterations of the loop over i{kernel}; more iterations mean smaller tiles"


def describe_values(parameters: tuple[tuple[str, int], ...]) -> tuple[tuple[str, str], ...]:
    """Per parameter of a trial, its name with the value, and what it does."""
    return tuple((f"{name} = {value:,}", describe_parameter(name)) for name, value in parameters)
