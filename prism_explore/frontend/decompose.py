# pyright: basic
# torch.export and torch's decompositions are untyped throughout.
"""An exported graph in operators that have rows, without in-place writes.

torch ships decompositions of most of its operators. An operator that has a row is kept, because its row is
shorter and keeps what the decomposition loses: norms, for example, end in `var_mean` and casts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any

from prism_explore.frontend.lower_aten import GUARDS, operator_name
from prism_explore.support.caches import memoize


def decomposed(exported: Any, known: Collection[str]) -> Any:
    """The same program, its operators replaced until each is `known` or has no decomposition.

    Args:
        exported: an `ExportedProgram`.
        known: names of ATen operators that are kept.

    Returns:
        `exported` itself where all operators are known, which saves the time of another trace.
    """
    names = {*known, *GUARDS, "sym_size"}
    if all(_is_known(node, names) for node in exported.graph.nodes):
        return exported
    for is_wide in (True, False):
        with suppress(Exception):
            return _run(exported, frozenset(known), is_wide)
    return exported


def _run(exported: Any, known: frozenset[str], is_wide: bool) -> Any:
    """`ExportedProgram.run_decompositions`, which scans all of torch's operators twice in each call.

    This takes 0.1 s instead of 0.7 s, because it overrides the composite operators with rows and no others.
    """
    from torch.export import exported_program

    kept, table = _tables(known, is_wide)
    return exported_program._decompose_exported_program(
        exported,
        cia_to_decomp=dict(kept),
        python_decomp_table=dict(table),
        joint_loss_index=None,
        decompose_custom_triton_ops=False,
    )


@memoize(8)
def _tables(known: frozenset[str], is_wide: bool) -> tuple[Mapping[Any, Any], Mapping[Any, Any]]:
    """The composite operators that are kept, and torch's decompositions of other operators that are not known.

    `is_wide` adds those outside of the core ATen table. Some of them write in place, which a second trace rejects.
    """
    from torch._decomp import decomposition_table
    from torch._export.utils import _collect_all_valid_cia_ops, _special_op_to_preserve_cia
    from torch.export import default_decompositions

    composite = set(_collect_all_valid_cia_ops())
    table = {**(decomposition_table if is_wide else {}), **dict(default_decompositions().items())}
    return (
        {op: _special_op_to_preserve_cia for op in composite if operator_name(op) in known},
        {op: how for op, how in table.items() if operator_name(op) not in known and op not in composite},
    )


def _is_known(node: Any, names: Collection[str]) -> bool:
    if node.op != "call_function" or not hasattr(node.target, "_schema"):
        return True
    return operator_name(node.target) in names
