"""A table of JSON values in which equal parts are stored once, written as columns that compress well.

Panels at many moments and of many subjects share most of their rows, texts and shapes. The objects and lists are
numbered with their parts first. All objects with the same keys have one *layout*; so have all lists that begin with
the same kind of value. The values of one key of a layout form a column, and so do the members of the lists of a layout.

A column has a text with one character per value. The character is a number, `FIRST_CHARACTER` for 0:

* 0: the last object or list before it that no other one contains yet;
* 1: an earlier object or list; `refs` has its distance;
* 2: a new text, the next one of `texts`;
* 3: a text of another column, or of long ago; `known` has its number;
* 4: a new number, true, false or null, the next one of `literals`;
* 5 and more: one of the last values of this column, 5 for the last one.

`widgets/src/fold/pool.ts` reads it. It reads the members of an object or list from the last to the first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

from prism_explore.widgets.panels.sections import (
    AccessDim,
    Cell,
    CodeTab,
    Column,
    Crumb,
    Inspector,
    Link,
    Row,
    Table,
    shallow_data,
)
from prism_explore.widgets.scene import Edge, Scene, Shape, item_to_plain, scene_head

Member: TypeAlias = int | str
"""The number of an object or list; -1 - n for text n; or a number, true, false or null as JSON."""
Value: TypeAlias = tuple[int, *tuple[Member, ...]]
"""An object or list: the number of its layout, and its members."""
Layout: TypeAlias = int | tuple[str, ...]
"""The keys of objects; or what lists begin with: 0 nothing, 1 a text, 2 a number, n + 3 something of layout n."""

FIRST_CHARACTER = 0x23
"""The first character after the quotation mark."""
INSIDE, EARLIER, NEW_TEXT, KNOWN_TEXT, NEW_LITERAL, RECENT = range(6)
MOST_RECENT = 240
"""Number of the last values of a column that are found by their position among them."""

_CONSTANTS: Mapping[object, str] = {None: "null", True: "true", False: "false"}
KEPT_LENGTH = 9
_KEPT = frozenset({Scene, Table, Row, CodeTab, Inspector})
"""Classes of which the same objects come at many moments; so do lists of `KEPT_LENGTH` members or more."""
_EQUAL = frozenset({Shape, Edge, Link, Cell, Column, AccessDim, Crumb})
"""Small classes of which equal objects come at many moments; to hash one is quicker than to store its fields."""


class Pool:
    """Builds the table."""

    def __init__(self) -> None:
        self._layouts: dict[Layout, int] = {}
        self._known: dict[Value, int] = {}
        self._layout_of: list[int] = []
        self._texts: dict[str, int] = {}
        self._roots: dict[Member, int] = {}
        self._kept: dict[int, tuple[object, Member]] = {}
        """Per identity of an object of `_KEPT`, the object, which keeps it alive, and its member."""
        self._equal: dict[object, Member] = {}
        """Per object of `_EQUAL`, its member. Numbers that are equal here are the same in JavaScript."""

    def add(self, value: object) -> int:
        """Store a value; return its number.

        Args:
            value: JSON-ready data, a section, or data that contains sections.
        """
        return self._roots.setdefault(self._member(value), len(self._roots))

    def _member(self, value: Any) -> Member:
        kind = cast("type[object]", type(value))
        if kind is str:
            return -1 - self._texts.setdefault(value, len(self._texts))
        if kind is int:
            return repr(value)
        if kind is float:
            return repr(value).replace("inf", "1e999")  # JSON has no infinity; JavaScript reads this as one
        if value is None or kind is bool:
            return _CONSTANTS[value]
        if kind in _EQUAL:
            if (member := self._equal.get(value)) is None:
                member = self._equal[value] = self._object(value)
            return member
        is_list = kind is list or kind is tuple
        if kind in _KEPT or (is_list and len(value) >= KEPT_LENGTH):
            return self._once(value, is_list)
        return self._list(value) if is_list else self._object(value)

    def _once(self, value: Any, is_list: bool) -> Member:
        """Store an object or list of which the same one comes at many moments."""
        if (found := self._kept.get(id(value))) is not None:
            return found[1]
        member = self._list(value) if is_list else self._object(value)
        self._kept[id(value)] = value, member
        return member

    def _object(self, value: Any) -> Member:
        match value:
            case Scene():
                data = {**scene_head(value), "items": value.items}
            case Shape() | Edge():
                data = item_to_plain(value)
            case dict():
                data = cast("Mapping[str, object]", value)
            case Mapping():
                data = dict(cast("Mapping[str, object]", value))
            case _:
                data = shallow_data(value)
        layout = self._layouts.setdefault(tuple(data), len(self._layouts))
        return self._store((layout, *map(self._member, data.values())))

    def _list(self, values: Sequence[object]) -> Member:
        return self._list_of([self._member(value) for value in values])

    def _list_of(self, members: Sequence[Member]) -> Member:
        match members[0] if members else None:
            case None:
                first = 0
            case str():
                first = 2
            case number:
                first = 1 if number < 0 else 3 + self._layout_of[number]
        return self._store((self._layouts.setdefault(first, len(self._layouts)), *members))

    def _store(self, value: Value) -> int:
        index = self._known.get(value)
        if index is None:
            index = self._known[value] = len(self._known)
            self._layout_of.append(value[0])
        return index

    def to_data(self, order: Iterable[int] = ()) -> dict[str, Any]:
        """The table as JSON-ready data.

        Args:
            order: numbers of values in the order in which they are written; values that resemble one another compress
                better side by side. The others follow.
        """
        self._list_of(list(self._roots))
        return _Writer(self._layouts, list(self._texts)).table(self._in_order(order))

    def _in_order(self, order: Iterable[int]) -> list[Value]:
        """The objects and lists, parts first, with the list of all values last."""
        known, roots, last = list(self._known), list(self._roots), len(self._known) - 1
        numbers: dict[Member, int] = {}
        out: list[Value] = []
        for root in (*(roots[number] for number in order), last):
            if not isinstance(root, str) and root >= 0 and root not in numbers:
                _put(root, known, numbers, out)
        return out


def _put(number: int, known: Sequence[Value], numbers: dict[Member, int], out: list[Value]) -> int:
    """Append an object or list behind its parts; return its new number."""
    layout, *members = known[number]
    for position, member in enumerate(members):
        if isinstance(member, str) or member < 0:
            continue
        new = numbers.get(member)
        members[position] = _put(member, known, numbers, out) if new is None else new
    numbers[number] = len(out)
    out.append((layout, *members))
    return numbers[number]


@dataclass(slots=True)
class _Column:
    """The values of one key of a layout, or the members of its lists."""

    codes: list[str] = field(default_factory=list[str])
    refs: list[int] = field(default_factory=list[int])
    known: list[int] = field(default_factory=list[int])
    texts: list[str] = field(default_factory=list[str])
    literals: list[str] = field(default_factory=list[str])
    recent: list[Member] = field(default_factory=list[Member])
    """The last values without repetitions, the last one first."""
    is_recent: set[Member] = field(default_factory=set[Member])

    def to_data(self) -> list[Any]:
        return ["".join(self.codes), self.refs, self.known, self.texts, ",".join(self.literals)]


_CHARACTERS = tuple(chr(FIRST_CHARACTER + n) for n in range(RECENT + MOST_RECENT))


class _Writer:
    """Writes the values in order."""

    def __init__(self, layouts: Mapping[Layout, int], texts: Sequence[str]) -> None:
        self._layouts, self._texts = tuple(layouts), texts
        self._columns = [  # the columns of each layout from the last to the first
            [_Column() for _ in (layout if isinstance(layout, tuple) else "1")] for layout in self._layouts
        ]
        self._text_numbers: dict[Member, int] = {}
        self._open: list[int] = []
        """The objects and lists that no other one contains yet."""

    def table(self, values: Collection[Value]) -> dict[str, Any]:
        """The table of these values."""
        lengths: list[int] = []
        for number, (layout, *members) in enumerate(values):
            columns = self._columns[layout]
            members.reverse()
            if isinstance(self._layouts[layout], int):
                lengths.append(len(members))
                columns = columns * len(members)
            for column, member in zip(columns, members, strict=True):
                self._write(column, member, number)
            self._open.append(number)
        return {
            "layouts": [list(layout) if isinstance(layout, tuple) else layout for layout in self._layouts],
            "values": "".join(chr(FIRST_CHARACTER + value[0]) for value in values),
            "lengths": lengths,
            "columns": [column.to_data() for columns in self._columns for column in reversed(columns)],
        }

    def _write(self, column: _Column, member: Member, number: int) -> None:
        recent = column.recent
        if member in column.is_recent:
            place = recent.index(member)
            column.codes.append(_CHARACTERS[RECENT + place])
            if place == 0:
                return
            del recent[place]
        else:
            column.codes.append(_CHARACTERS[self._write_anew(column, member, number)])
            column.is_recent.add(member)
            if len(recent) == MOST_RECENT:
                column.is_recent.remove(recent.pop())
        recent.insert(0, member)

    def _write_anew(self, column: _Column, member: Member, number: int) -> int:
        """Write a value that is none of the last ones of its column."""
        if isinstance(member, str):
            column.literals.append(member)
            return NEW_LITERAL
        if member < 0:
            if member in self._text_numbers:
                column.known.append(self._text_numbers[member])
                return KNOWN_TEXT
            self._text_numbers[member] = len(self._text_numbers)
            column.texts.append(self._texts[-1 - member])
            return NEW_TEXT
        if self._open and self._open[-1] == member:
            self._open.pop()
            return INSIDE
        column.refs.append(number - member)
        return EARLIER
