"""The data that a panel reads of its context, recorded so that the panel is computed again only if that data changed.

A panel is a function of a context. It is called with a recorder of the context, which has the same class and returns
the same values, and notes which fields of the context and of its parts are read. Methods and properties run on the
recorder, so what they read is noted too. So a panel has no list of its inputs that could be incomplete.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, TypeVar, cast

C = TypeVar("C")
T = TypeVar("T")

Path = tuple[str, ...]

PARTS: frozenset[Path] = frozenset(
    {("view",), ("view", "find"), ("search",), ("ledger",), ("ledger", "funnel"), ("events",)}
)
"""Parts of the context whose fields are noted one by one."""
UNTRACKED: frozenset[Path] = frozenset({("memo",)})
"""Parts of the context that have no influence on the result."""


class Reads:
    """The fields that were read, with the state of their values."""

    def __init__(self) -> None:
        self._states: dict[Path, object] = {}

    def note(self, path: Path, value: object) -> None:
        """Note a field and the state of its value."""
        self._states[path] = _state(value)

    def hold_in(self, context: object) -> bool:
        """Whether all fields that were read have the same values in another context."""
        return all(_is_same(state, _state(_field(context, path))) for path, state in self._states.items())


@dataclass(frozen=True, slots=True)
class Computed:
    """A result, and what was read for it."""

    result: Any
    reads: Reads


def record(panel: Callable[[C], object], context: C) -> Computed:
    """Call a panel."""
    reads = Reads()
    return Computed(panel(_recorder(context, (), reads)), reads)


def _state(value: object) -> object:
    """What is compared instead of a container that changes in place: its version."""
    return getattr(value, "version", value)


def _is_same(one: object, other: object) -> bool:
    return one is other or one == other


def _field(context: object, path: Path) -> object:
    value = context
    for name in path:
        value = getattr(value, name)
    return value


def _recorder(source: T, path: Path, reads: Reads) -> T:
    """An object of the same class as the source that returns its values and notes which fields are read."""
    recorder = object.__new__(_recorder_class(type(source)))
    for name, value in (("_source", source), ("_path", path), ("_reads", reads)):
        object.__setattr__(recorder, name, value)
    return cast("T", recorder)


@cache
def _recorder_class(kind: type[Any]) -> type[Any]:
    names = frozenset(f.name for f in fields(kind))

    def read(self: Any, name: str) -> Any:
        own = object.__getattribute__
        if name == "__class__":
            return kind  # so that `dataclasses.replace` makes a plain object
        if name not in names:
            return own(self, name)
        value, path, reads = getattr(own(self, "_source"), name), (*own(self, "_path"), name), own(self, "_reads")
        if path in PARTS:
            return _recorder(value, path, reads)
        if path not in UNTRACKED:
            reads.note(path, value)
        return value

    return type(kind.__name__, (kind,), {"__slots__": ("_path", "_reads", "_source"), "__getattribute__": read})
