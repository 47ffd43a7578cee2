"""Union-find: a partition of items into disjoint classes, in which classes are only ever merged.

A class is represented by the item of it that was added first, so representatives do not depend on the order of merges.

Source: Galler and Fisher, An improved equivalence algorithm (1964); path halving: Tarjan and van Leeuwen, Worst-case
analysis of set union algorithms (1984).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class UnionFind(Generic[T]):
    """A partition of items.

    >>> sets = UnionFind("abc")
    >>> sets.union("c", "b"), sets.union("b", "c")
    (True, False)
    >>> [sets.find(item) for item in sets]
    ['a', 'b', 'b']
    """

    __slots__ = ("_number", "_parent")

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._parent: dict[T, T] = {item: item for item in items}
        self._number = {item: n for n, item in enumerate(self._parent)}

    def __contains__(self, item: T) -> bool:
        return item in self._parent

    def __iter__(self) -> Iterator[T]:
        """All items, in the order in which they were added."""
        return iter(self._parent)

    def copy(self) -> UnionFind[T]:
        """An independent copy."""
        new = UnionFind[T]()
        new._parent, new._number = self._parent.copy(), self._number.copy()
        return new

    def add(self, item: T) -> None:
        """Add an item as a class of its own, unless it is there."""
        if item not in self._parent:
            self._parent[item] = item
            self._number[item] = len(self._number)

    def find(self, item: T) -> T:
        """The representative of the item's class; KeyError for an item that was never added."""
        parent = self._parent
        above = parent[item]
        while above != item:
            above = parent[item] = parent[above]
            item, above = above, parent[above]
        return item

    def union(self, a: T, b: T) -> bool:
        """Merge the classes of two items, which are added where they are missing; whether these were two classes."""
        self.add(a)
        self.add(b)
        a, b = self.find(a), self.find(b)
        if a == b:
            return False
        if self._number[b] < self._number[a]:
            a, b = b, a
        self._parent[b] = a
        return True
