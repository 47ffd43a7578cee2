"""Operator names and dtype codes of Mirage's saved graphs.

Mirage changed both over time: accumulators were named `tb_accum_...` before `tb_forloop_accum_...`, and the dtype codes
were renumbered.

Source: include/mirage/type.h of the branches main and evaluation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from prism_explore.ir.elementwise import UNARY, BinaryFn, UnaryFn
from prism_explore.ir.ops import ReduceFn
from prism_explore.ir.tensors import DType

DTYPE_CODES: Mapping[int, DType] = {940: "bf16", 941: "f16", 950: "f32", 960: "f64"}
OLD_DTYPE_CODES: Mapping[int, DType] = {920: "bf16", 921: "f16", 930: "f32", 940: "f64"}
ONLY_OLD = frozenset({900, 910, 921})
"""Codes of the old numbering only."""
AMBIGUOUS = frozenset({920, 930})
"""Codes of both numberings. Old: bf16 and f32. New: 4-bit and 8-bit types, which are not supported here."""
CODE_OF: Mapping[DType, int] = {dtype: code for code, dtype in DTYPE_CODES.items()}

UNARIES: Mapping[str, UnaryFn] = {row.mirage_name: row.name for row in UNARY.values() if row.mirage_name}
BINARIES: Mapping[str, BinaryFn] = {"add": "add", "sub": "sub", "mul": "mul", "div": "div"}
ACCUMULATORS: Mapping[str, tuple[ReduceFn, bool]] = {
    "forloop_accum_nored": ("sum", False),
    "forloop_accum_red_ld_sum": ("sum", True),
    "forloop_accum_red_ld_mean": ("mean", True),
    "forloop_accum_red_ld_rms": ("rms", True),
    "forloop_accum_max": ("max", False),
}
"""The function that accumulates, and whether the last dim (ld) is reduced too."""
RESCALED: Mapping[str, bool] = {
    "forloop_accum_nored_rescale": False,
    "forloop_accum_red_ld_sum_rescale": True,
}
REDTOX = "forloop_accum_redtox_ld_sum"

ALIASES: Mapping[str, str] = {
    "concat_first_op_id": "concat_0",
    "split_first_op_id": "split_0",
    "forloop_accum_no_red": "forloop_accum_nored",
    "forloop_accum_no_red_rescale": "forloop_accum_nored_rescale",
}
"""Alternative names of an operator, with its usual name."""

WITHOUT_COUNTERPART: Mapping[str, str] = {
    "log": "there is no logarithm here",
    "pow": "there is no power whose exponent is a tensor",
    "allreduce": "it communicates with other devices",
    "conv2d": "there is no convolution here",
    "customized": "a block graph inside a block graph has no counterpart",
}


def operator_name(op_type: str) -> str:
    """The operator of an op_type: `kn_add_op` and `tb_add_op` are both `add`; aliases are resolved."""
    bare = op_type.removeprefix("kn_").removeprefix("tb_").removesuffix("_op")
    if bare.startswith("accum_"):
        bare = f"forloop_{bare}"
    return ALIASES.get(bare, bare)


def dtype_codes(codes: Iterable[int], op_types: Iterable[str]) -> Mapping[int, DType]:
    """The dtype codes of a file: the numbering is known from the codes and operator names in it."""
    found = set(codes)
    old_names = any(name.startswith("tb_accum_") for name in op_types)
    return OLD_DTYPE_CODES if found & ONLY_OLD or (old_names and found & AMBIGUOUS) else DTYPE_CODES
