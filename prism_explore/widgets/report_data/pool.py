"""A table of JSON values in which equal parts are stored once.

Panels at many moments and of many subjects share most of their rows, texts and shapes. A value in the table is a text,
or an array `[layout, member, ...]`: layout 0 is a list, layout n an object with the keys `layouts[n - 1]`. A member is
a number, the index of a value in the table; or a text, a number as JSON; or true, false or null.
`widgets/src/fold/pool.ts` reads it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, TypeAlias, cast

from prism_explore.widgets.panels.sections import to_data
from prism_explore.widgets.scene import Scene

Member: TypeAlias = int | str | bool | None


class Pool:
    """Builds the table."""

    def __init__(self) -> None:
        self.values: list[str | list[Member]] = []
        self.layouts: list[tuple[str, ...]] = []
        self._known: dict[str | tuple[Member, ...], int] = {}
        self._layout_numbers: dict[tuple[str, ...], int] = {}
        self._scenes: dict[int, tuple[Scene, int]] = {}
        """Per identity of a scene, the scene, which keeps it alive, and its index."""

    def add(self, value: object) -> Member:
        """Store a value; return the member that stands for it.

        Args:
            value: JSON-ready data, a section, or data that contains sections.
        """
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return self._store(value, value)
        if isinstance(value, int | float):
            return repr(value)
        if isinstance(value, Scene):
            return self._add_scene(value)
        if is_dataclass(value) and not isinstance(value, type) and any(
            isinstance(getattr(value, f.name), Scene) for f in fields(value)
        ):
            return self._object({f.name: getattr(value, f.name) for f in fields(value)})
        data = to_data(value)
        if isinstance(data, Mapping):
            return self._object(cast("Mapping[str, Any]", data))
        if isinstance(data, list):
            key = (0, *(self.add(v) for v in cast("Sequence[Any]", data)))
            return self._store(key, list(key))
        return self.add(data)

    def to_data(self) -> dict[str, Any]:
        """The table as JSON-ready data."""
        return {"layouts": self.layouts, "values": self.values}

    def _add_scene(self, scene: Scene) -> Member:
        """Scenes are memoized by their makers, so most of them come more than once."""
        known = self._scenes.get(id(scene))
        if known is not None:
            return known[1]
        index = self.add(to_data(scene))
        assert isinstance(index, int)
        self._scenes[id(scene)] = scene, index
        return index

    def _object(self, data: Mapping[str, Any]) -> int:
        names = tuple(data)
        number = self._layout_numbers.get(names)
        if number is None:
            self.layouts.append(names)
            number = self._layout_numbers[names] = len(self.layouts)
        key = (number, *(self.add(v) for v in data.values()))
        return self._store(key, list(key))

    def _store(self, key: str | tuple[Member, ...], value: str | list[Member]) -> int:
        index = self._known.get(key)
        if index is None:
            index = self._known[key] = len(self.values)
            self.values.append(value)
        return index
