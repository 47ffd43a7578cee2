"""Print dataclasses as TypeScript interfaces, with the types that they have in JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

WIDTH = 110
"""Line width of widgets/biome.json; longer lines are broken as its formatter breaks them."""


def nested_dataclasses(kinds: Iterable[type]) -> tuple[type, ...]:
    """The dataclasses in the fields of `kinds`, without `kinds`; each one comes before those that use it."""
    kinds = tuple(kinds)
    found: dict[type, None] = {}

    def visit(hint: Any) -> None:
        if isinstance(hint, type) and is_dataclass(hint) and hint not in found:
            for inner in get_type_hints(hint).values():
                visit(inner)
            found[hint] = None
        for argument in get_args(hint):
            visit(argument)

    for kind in kinds:
        for hint in get_type_hints(kind).values():
            visit(hint)
    return tuple(k for k in found if k not in kinds)


def interface(kind: type, first: Iterable[str] = (), sparse: bool = False) -> str:
    """Print one dataclass as an interface.

    Args:
        kind: the dataclass.
        first: members to print before its fields.
        sparse: whether fields with a default value can be absent in the JSON.
    """
    hints = get_type_hints(kind)
    summary = (kind.__doc__ or "").strip().splitlines()[0]
    head = f"export interface {kind.__name__} {{"
    lines = [f"/** {summary} */", head, *(f"  {member}" for member in first)]
    for f in fields(kind):
        absent = sparse and not (f.default is MISSING and f.default_factory is MISSING)
        lines += _member(f.name, "?" if absent else "", _union_members(hints[f.name]))
    return "\n".join([*lines, "}"])


def _member(name: str, mark: str, members: tuple[str, ...]) -> list[str]:
    line = f"  readonly {name}{mark}: {' | '.join(members)};"
    if len(line) <= WIDTH or len(members) == 1:
        return [line]
    return [f"  readonly {name}{mark}:", *(f"    | {m}" for m in members[:-1]), f"    | {members[-1]};"]


def union(name: str, members: Iterable[str]) -> str:
    """Print a union as a type alias."""
    members = tuple(members)
    line = f"export type {name} = {' | '.join(members)};"
    if len(line) <= WIDTH:
        return line
    return f"export type {name} =\n" + "\n".join(f"  | {m}" for m in members) + ";"


def type_text(hint: Any) -> str:
    """The type of a field in TypeScript, as JSON has it.

    >>> type_text(tuple[tuple[str, int], ...])
    'readonly (readonly [string, number])[]'

    Raises:
        TypeError: JSON cannot represent the type.
    """
    return " | ".join(_union_members(hint))


def _union_members(hint: Any) -> tuple[str, ...]:
    """The members of a union or of a literal type; a type of another kind is its only member."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal:
        return tuple(json.dumps(v) for v in inner)
    if origin in (Union, UnionType):
        return tuple(member for h in inner for member in _union_members(h))
    return (_single_type(hint),)


def _single_type(hint: Any) -> str:
    origin, inner = get_origin(hint), get_args(hint)
    if isinstance(hint, type) and is_dataclass(hint):
        return hint.__name__
    if hint in (int, float):
        return "number"
    if hint is bool:
        return "boolean"
    if hint is str:
        return "string"
    if hint is type(None):
        return "null"
    if origin is tuple and len(inner) == 2 and inner[1] is Ellipsis:
        item = type_text(inner[0])
        return f"readonly ({item})[]" if " " in item else f"readonly {item}[]"
    if origin is tuple:
        return f"readonly [{', '.join(type_text(h) for h in inner)}]"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return f"Readonly<Record<string, {type_text(inner[1])}>>"
    raise TypeError(f"{hint} has no TypeScript type; fields of sections and scenes must be JSON values")
