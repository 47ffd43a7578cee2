"""A table of JSON values in which equal parts are stored once.

Panels at many moments and of many subjects share most of their rows, texts and shapes. A value in the table is a text,
or an array `[layout, member, ...]`: layout 0 is a list, layout n an object with the keys `layouts[n - 1]`. A member is
a number, the index of a value in the table; or a text, a number as JSON; or true, false or null.
`widgets/src/fold/pool.ts` reads it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

from prism_explore.widgets.panels.sections import Row, shallow_data
from prism_explore.widgets.scene import Scene, to_plain

Member: TypeAlias = int | str | bool | None


class Pool:
    """Builds the table."""

    def __init__(self) -> None:
        self.values: list[str | list[Member]] = []
        self.layouts: list[tuple[str, ...]] = []
        self._known: dict[str | tuple[Member, ...], int] = {}
        self._layout_numbers: dict[tuple[str, ...], int] = {}
        self._scenes: dict[Any, tuple[object, Member]] = {}
        """Per identity of a scene, the scene, which keeps it alive, and its member."""
        self._rows: dict[Any, tuple[object, Member]] = {}

    def add(self, value: object) -> Member:
        """Store a value; return the member that stands for it.

        Args:
            value: JSON-ready data, a section, or data that contains sections.
        """
        match value:
            case None | bool():
                return value
            case str():
                return self._store(value, value)
            case int() | float():
                return repr(value).replace("inf", "Infinity")  # as in JavaScript
            case Scene():
                return self._once(value, self._scenes, id(value))
            case Row():
                return self._once(value, self._rows, value)
            case list() | tuple():
                key = (0, *map(self.add, cast("Sequence[object]", value)))
                return self._store(key, list(key))
            case Mapping():
                return self._object(cast("Mapping[str, object]", value))
            case _:
                return self._object(shallow_data(value))

    def to_data(self) -> dict[str, Any]:
        """The table as JSON-ready data."""
        return {"layouts": self.layouts, "values": self.values}

    def _once(self, value: Scene | Row, known: dict[Any, tuple[object, Member]], key: object) -> Member:
        """Store a scene or row, of which the same one comes at many moments."""
        if (found := known.get(key)) is not None:
            return found[1]
        member = self._object(to_plain(value) if isinstance(value, Scene) else shallow_data(value))
        known[key] = value, member
        return member

    def _object(self, data: Mapping[str, object]) -> int:
        names = tuple(data)
        number = self._layout_numbers.get(names)
        if number is None:
            self.layouts.append(names)
            number = self._layout_numbers[names] = len(self.layouts)
        key = (number, *map(self.add, data.values()))
        return self._store(key, list(key))

    def _store(self, key: str | tuple[Member, ...], value: str | list[Member]) -> int:
        index = self._known.get(key)
        if index is None:
            index = self._known[key] = len(self.values)
            self.values.append(value)
        return index
