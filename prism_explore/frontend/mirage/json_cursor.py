"""A JSON value with its position in the file, so that a ParseError can name the place."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from pathlib import Path
from typing import TypeAlias

from prism_explore.errors import ParseError

LARGEST_FILE_BYTES = 256 << 20
"""Largest uncompressed file. Units: bytes."""
LARGEST_SIZE = 1 << 40
"""Largest dim, grid size or loop range."""


Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | Fraction | None"
"""Parsed JSON; numbers with a decimal point are fractions."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """A JSON value and its position: `rmsnorm.json, graph 3, operator 2 (kn_exp_op)`."""

    value: Json
    where: str

    def fail(self, found: str, expected: str) -> ParseError:
        """The error for a value that is not the expected one."""
        return ParseError(f"{self.where}: expected {expected}, found {found}")

    def has(self, key: str) -> bool:
        """Whether it is an object with this key."""
        return isinstance(self.value, dict) and key in self.value

    def at(self, key: str) -> Cursor:
        """The value of a key.

        Raises:
            ParseError: it is not an object, or has no such key.
        """
        if not isinstance(self.value, dict):
            raise self.fail(_kind(self.value), f"an object with {key!r}")
        if key not in self.value:
            raise self.fail(f"only {', '.join(sorted(self.value)) or 'an empty object'}", f"the key {key!r}")
        return Cursor(self.value[key], f"{self.where}, {key}")

    def items(self) -> tuple[Cursor, ...]:
        """The elements of a list.

        Raises:
            ParseError: it is not a list.
        """
        if not isinstance(self.value, list):
            raise self.fail(_kind(self.value), "a list")
        return tuple(Cursor(v, f"{self.where}[{n}]") for n, v in enumerate(self.value))

    def text(self) -> str:
        """The value as a string.

        Raises:
            ParseError: it is not a string.
        """
        if not isinstance(self.value, str):
            raise self.fail(_kind(self.value), "a string")
        return self.value

    def integer(self, low: int, high: int = LARGEST_SIZE) -> int:
        """The value as an integer from `low` to `high`.

        Raises:
            ParseError: it is not such an integer.
        """
        if not isinstance(self.value, int) or isinstance(self.value, bool):
            raise self.fail(_kind(self.value), f"an integer from {low}")
        if not low <= self.value <= high:
            raise self.fail(str(self.value)[:40], f"an integer from {low} to {high}")
        return self.value

    def number(self) -> Fraction:
        """The value as a number, exactly as its decimal digits.

        Raises:
            ParseError: it is not a number.
        """
        if not isinstance(self.value, int | Fraction) or isinstance(self.value, bool):
            raise self.fail(_kind(self.value), "a number")
        return Fraction(self.value)

    def with_location(self, where: str) -> Cursor:
        """The same value with another text for its position."""
        return Cursor(self.value, where)


def _kind(value: Json) -> str:
    match value:
        case dict():
            return "an object"
        case list():
            return "a list"
        case None:
            return "null"
        case str():
            return f"the string {value[:40]!r}"
        case _:
            return str(value)[:40]


def _decimal(digits: str) -> Fraction:
    number = float(digits)
    if not isfinite(number):
        raise ValueError(f"{digits[:40]} is too large for a number")
    return Fraction(repr(number))


def _constant(name: str) -> Fraction:
    raise ValueError(f"{name} is not a number")


def read_json(path: str | Path) -> Cursor:
    """Parse a JSON file, gzipped or not.

    Raises:
        ParseError: it is not a file, too large, not JSON, or damaged.
    """
    file = Path(path)
    try:
        with file.open("rb") as raw:
            is_gzip = raw.read(2) == b"\x1f\x8b"
        with gzip.open(file) if is_gzip else file.open("rb") as stream:
            data = stream.read(LARGEST_FILE_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise ParseError(f"{file.name}: it cannot be read ({error}); expected the path of a JSON file") from error
    if len(data) > LARGEST_FILE_BYTES:
        raise ParseError(f"{file.name}: more than {LARGEST_FILE_BYTES >> 20} MiB; split the list of graphs")
    try:
        value = json.loads(data, parse_float=_decimal, parse_constant=_constant)
    except (ValueError, RecursionError) as error:
        raise ParseError(f"{file.name}: not the JSON that Mirage writes ({error}); save it again") from error
    return Cursor(value, file.name)


def walk(cursor: Cursor) -> Iterator[tuple[str, Json]]:
    """Every key and value of every object, in no particular order."""
    stack: list[Json] = [cursor.value]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            for key, inner in value.items():
                yield key, inner
                stack.append(inner)
        elif isinstance(value, list):
            stack.extend(value)
