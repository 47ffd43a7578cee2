"""The structure of what torch code returns: a tuple, a list, a dict, nested, with the program's results in it.

Torch code may return the results inside a structure, together with arguments, views of arguments, and constants.
`ResultForm` is plain data, so a saved kernel keeps it. The structures are those of `torch.utils._pytree`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from prism_explore.frontend.structure_text import structure_from_text, structure_to_text


@dataclass(frozen=True, slots=True)
class Computed:
    """A result of the program."""

    number: int = 0
    """Which one, from 0."""


@dataclass(frozen=True, slots=True)
class Returned:
    """An argument or a parameter as it is, or with its dims permuted."""

    source: str
    permute: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Constant:
    """A value that is no tensor."""

    value: bool | int | float | str | None


Leaf: TypeAlias = Computed | Returned | Constant
"""A part of the structure."""


def is_compared(result: Any) -> bool:
    """Whether a traced result is a tensor or a number, not a text or None."""
    return result is not None and not isinstance(result, str)


@dataclass(frozen=True, slots=True)
class ResultForm:
    """The leaves of a structure, in order, and the structure as torch's `TreeSpec`."""

    leaves: tuple[Leaf, ...]
    structure: Any

    @property
    def count(self) -> int:
        """The number of results of the program."""
        return len({leaf for leaf in self.leaves if isinstance(leaf, Computed)})

    def filled(self, computed: Any, tensors: Mapping[str, Any]) -> Any:
        """The structure around the program's results.

        Args:
            computed: the program's result; a tuple where it has several.
            tensors: the arguments and parameters, by name.
        """
        from torch.utils import _pytree

        results = (computed,) if self.count == 1 else computed

        def value(leaf: Leaf) -> Any:
            match leaf:
                case Computed(number):
                    return results[number]
                case Returned(source, permute):
                    return tensors[source].permute(permute) if permute else tensors[source]
                case Constant(constant):
                    return constant

        return _pytree.tree_unflatten([value(leaf) for leaf in self.leaves], self.structure)

    def in_order(self, results: Sequence[Any]) -> tuple[Any, ...]:
        """The program's results, one per leaf of a form that has no other leaves."""
        return tuple(results[leaf.number] for leaf in self.leaves if isinstance(leaf, Computed))

    def computed(self, found: Any) -> Any:
        """The program's results within what equal torch code returned: in this structure, or alone.

        Several results are a tuple.
        """
        from torch.utils import _pytree

        leaves: list[Any] = _pytree.tree_leaves(found)
        if self.count > 1:
            return tuple(leaves[self.leaves.index(Computed(number))] for number in range(self.count))
        return leaves[0] if len(leaves) == 1 else leaves[self.leaves.index(Computed())]

    def to_plain(self) -> list[Any]:
        """The form as lists, numbers and texts.

        Raises:
            ShapeError: the structure cannot be saved.
        """
        return [structure_to_text(self.structure, "results"), [_leaf_to_plain(leaf) for leaf in self.leaves]]

    @classmethod
    def from_plain(cls, plain: Any) -> ResultForm:
        """The form from what `to_plain` returned."""
        structure, leaves = plain
        return cls(tuple(map(_leaf_from_plain, leaves)), structure_from_text(str(structure), len(leaves)))


def _leaf_to_plain(leaf: Leaf) -> list[Any]:
    match leaf:
        case Computed(number):
            return ["computed", *([number] if number else [])]
        case Returned(source, permute):
            return ["returned", source, list(permute)]
        case Constant(value):
            return ["constant", value]


def _leaf_from_plain(plain: Any) -> Leaf:
    kind: Literal["computed", "returned", "constant"] = plain[0]
    match kind:
        case "computed":
            return Computed(*map(int, plain[1:]))
        case "returned":
            return Returned(str(plain[1]), tuple(int(d) for d in plain[2]))
        case "constant":
            return Constant(plain[1])
