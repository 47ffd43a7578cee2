"""The structure of arguments and results as text: lists, tuples, dicts, as torch writes a `TreeSpec`.

torch's own reader imports the module that an enum key or the factory of a `defaultdict` names. A file may come from
somebody else, so such structures are neither written nor read.
"""

from __future__ import annotations

import json
from typing import Any

from prism_explore.errors import ShapeError

_IMPORTING = frozenset({"collections.defaultdict"})
"""Structures whose text names a module that the reader imports."""


def structure_to_text(structure: Any, of_what: str) -> str:
    """A `TreeSpec` as text.

    Args:
        structure: the structure.
        of_what: whose structure it is, for the error: "arguments".

    Raises:
        ShapeError: it cannot be saved.
    """
    from torch.utils import _pytree

    try:
        text = _pytree.treespec_dumps(structure)
        structure_from_text(text, structure.num_leaves)
    except (NotImplementedError, TypeError, ValueError) as error:
        raise ShapeError(f"the structure of the {of_what} cannot be saved: {error}") from None
    return text


def structure_from_text(text: str, leaves: int) -> Any:
    """The `TreeSpec` that a text means; nothing that the text names is imported.

    Args:
        text: the text.
        leaves: the number of its leaves.

    Raises:
        ValueError: it is not such a text, names something to import, or has another number of leaves.
    """
    from torch.utils import _pytree

    try:
        _check(json.loads(text)[1])
        structure = _pytree.treespec_loads(text)
    except (NotImplementedError, TypeError, LookupError, AssertionError, RecursionError) as error:
        raise ValueError(f"no structure of lists, tuples and dicts: {error}") from None
    if structure.num_leaves != leaves:
        raise ValueError(f"a structure of {structure.num_leaves} leaves, where there are {leaves}")
    return structure


def _check(node: Any) -> None:
    if node["type"] in _IMPORTING:
        raise ValueError(f"a {node['type']} names code to import; use a dict")
    if isinstance(node["context"], str):
        json.loads(node["context"], object_hook=_refuse)
    for child in node["children_spec"]:
        _check(child)


def _refuse(found: dict[str, Any]) -> None:
    raise ValueError(f"the key {found.get('name', found)!r} names a class to import; use a text or a number")
