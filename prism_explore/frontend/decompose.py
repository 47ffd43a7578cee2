# pyright: basic
# torch.export and torch's decompositions are untyped throughout.
"""An exported graph in operators that have rows, without in-place writes.

torch ships decompositions of most of its operators. An operator that has a row is kept, because its row is
shorter and keeps what the decomposition loses: norms, for example, end in `var_mean` and casts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
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
    if all(_is_known(node, known) for node in exported.graph.nodes):
        return exported
    for is_wide in (True, False):
        with suppress(Exception):
            return exported.run_decompositions(dict(_table(frozenset(known), is_wide)))
    return exported


@memoize(8)
def _table(known: frozenset[str], is_wide: bool) -> Mapping[Any, Callable[..., Any]]:
    """torch's decompositions of operators that are not known.

    `is_wide` adds those outside of the core ATen table. Some of them write in place, which a second trace rejects.
    """
    from torch._decomp import decomposition_table
    from torch.export import default_decompositions

    table = {**(decomposition_table if is_wide else {}), **dict(default_decompositions().items())}
    return {op: decomposition for op, decomposition in table.items() if operator_name(op) not in known}


def _is_known(node: Any, known: Collection[str]) -> bool:
    if node.op != "call_function" or not hasattr(node.target, "_schema"):
        return True
    return operator_name(node.target) in known or operator_name(node.target) in GUARDS
