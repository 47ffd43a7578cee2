# pyright: basic
# torch's structures are untyped.
"""Dataclasses of tensors as structures that torch knows: arguments, and what code returns."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from prism_explore.ir.tensors import TensorType


def register_dataclasses(value: Any) -> None:
    """Register the classes of the dataclasses in a structure with torch, as `torch.export.register_dataclass` does.

    Only instances that hold a tensor, or the type of one, are taken apart.
    """
    import torch
    from torch.utils import _pytree

    def is_of_tensors(leaf: Any) -> bool:
        if not is_dataclass(leaf) or isinstance(leaf, type | TensorType):
            return False
        held = _pytree.tree_leaves([getattr(leaf, f.name) for f in fields(leaf)])
        return any(isinstance(x, torch.Tensor | TensorType) or is_of_tensors(x) for x in held)

    for leaf in filter(is_of_tensors, _pytree.tree_leaves(value)):
        if type(leaf) not in _pytree.SUPPORTED_NODES:
            torch.export.register_dataclass(type(leaf))
        register_dataclasses([getattr(leaf, f.name) for f in fields(leaf)])
