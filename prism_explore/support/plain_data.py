"""Frozen dataclasses to JSON-ready data and back, by their annotations; cattrs does the conversion.

Reading is strict, because a file may be damaged or hostile. Nothing but the annotated types is built, and the value
that was read must give the same data when it is written again. Fields that are missing take their defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar, cast, get_origin

from prism_explore.support.flat_data import UNSURE, Read, flat_reader

T = TypeVar("T")


class Hook(NamedTuple):
    """How values of one type are read and written."""

    read: Callable[[Any], object]
    write: Callable[[Any], object]
    is_strict: bool = False
    """Whether `read` refuses what `write` would write differently."""


class PlainData:
    """Writes and reads dataclasses of numbers, texts, fractions, literals, tuples, frozen sets and mappings.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Tile:
    ...     rows: int
    ...     columns: int = 1
    >>> plain = PlainData()
    >>> plain.write(Tile(8)), plain.read(Tile, {"rows": 8})
    ({'rows': 8, 'columns': 1}, Tile(rows=8, columns=1))
    >>> plain.read(Tile, {"rows": "8"})
    Traceback (most recent call last):
        ...
    ValueError: Tile.rows: found '8', expected a value such as 8
    """

    def __init__(self, hooks: Mapping[Any, Hook] | None = None) -> None:
        """A converter.

        Args:
            hooks: for types that are not among those above.
        """
        from cattrs import Converter  # its import takes as long as that of this package

        self._converter = Converter(unstruct_collection_overrides={tuple: list})
        self._converter.register_unstructure_hook_func(lambda kind: get_origin(kind) is frozenset, sorted)
        self._flat_readers: dict[type, Read] = {}
        self._strict = {kind: hook.read for kind, hook in (hooks or {}).items() if hook.is_strict}
        for kind, hook in {Fraction: Hook(Fraction, str), **(hooks or {})}.items():
            self._converter.register_structure_hook(kind, lambda data, _, read=hook.read: read(data))
            self._converter.register_unstructure_hook(kind, hook.write)

    def write(self, value: object) -> dict[str, Any]:
        """A dataclass as data that JSON can hold."""
        return self._converter.unstructure(value)

    def read(self, kind: type[T], data: object) -> T:
        """The inverse of `write`.

        Raises:
            ValueError: an unknown field, a missing one without a default, or a value of another type.
        """
        flat = self._flat_readers.get(kind)
        if flat is None:
            flat = self._flat_readers[kind] = flat_reader(kind, self._strict)
        if (known := flat(data)) is not UNSURE:
            return cast("T", known)
        return self._read_any(kind, data)

    def _read_any(self, kind: type[T], data: object) -> T:
        from cattrs import BaseValidationError, transform_error

        try:
            value = self._converter.structure(data, kind)
        except BaseValidationError as error:
            raise ValueError("; ".join(transform_error(error, kind.__name__, _message))) from None
        except TypeError:  # cattrs looks for fields in it without a check
            raise ValueError(f"{kind.__name__}: found {data!r}, expected fields and their values") from None
        if difference := _difference(data, self.write(value), kind.__name__):
            raise ValueError(difference)
        return value


def named_numbers(data: object) -> tuple[tuple[str, int], ...]:
    """A list of pairs of a name and a whole number, such as sizes.

    >>> named_numbers([["gx", 4], ["f", 2]])
    (('gx', 4), ('f', 2))

    Raises:
        ValueError: it is something else.
    """
    found: list[tuple[str, int]] = []
    for pair in cast("list[object]", data) if isinstance(data, list) else ["no list"]:
        match pair:
            case [str(name), int(number)] if not isinstance(number, bool):
                found.append((name, number))
            case _:
                raise ValueError(f"expected names with whole numbers, found {pair!r}")
    return tuple(found)


def _message(error: BaseException, kind: type | None) -> str:
    from cattrs.v import format_exception

    return format_exception(error, kind) if isinstance(error, KeyError | TypeError) else str(error)


def _difference(data: object, written: object, path: str) -> str:
    """The first place where data differs from what its value is written as; empty where there is none."""
    if data == written:
        return ""
    if isinstance(data, dict) and isinstance(written, dict):
        known = cast("dict[object, object]", written)
        for key, item in cast("dict[object, object]", data).items():
            if key not in known:
                return f"{path} has no field {key}"
            if found := _difference(item, known[key], f"{path}.{key}"):
                return found
        return ""
    if isinstance(data, list) and isinstance(written, list):
        items, again = cast("list[object]", data), cast("list[object]", written)
        if len(items) == len(again):
            found = (_difference(a, b, f"{path}[{n}]") for n, (a, b) in enumerate(zip(items, again, strict=True)))
            return next(filter(None, found), "")
    return "" if data is written else f"{path}: found {data!r}, expected a value such as {written!r}"
