"""Dataclasses spelled in TypeScript, as JSON carries them; `typescript.py` and `sections.py` print files with it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

WIDTH = 110
"""The line width of widgets/biome.json; what is longer is broken as its formatter breaks it."""


def nested(kinds: Iterable[type]) -> tuple[type, ...]:
    """The dataclasses that occur inside these, each once, before those that use them."""
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
    """One dataclass as an interface.

    Args:
        kind: the dataclass.
        first: members to put in front.
        sparse: whether fields with a default may be absent on the wire.
    """
    hints = get_type_hints(kind)
    says = (kind.__doc__ or "").strip().splitlines()[0]
    head = f"export interface {kind.__name__} {{"
    lines = [f"/** {says} */", head, *(f"  {member}" for member in first)]
    for f in fields(kind):
        absent = sparse and not (f.default is MISSING and f.default_factory is MISSING)
        lines += _member(f.name, "?" if absent else "", spell(hints[f.name]))
    return "\n".join([*lines, "}"])


def _member(name: str, mark: str, type_text: str) -> list[str]:
    line = f"  readonly {name}{mark}: {type_text};"
    words = type_text.split(" | ")
    if len(line) <= WIDTH or len(words) == 1:
        return [line]
    return [f"  readonly {name}{mark}:", *(f"    | {w}" for w in words[:-1]), f"    | {words[-1]};"]


def union(name: str, members: Iterable[str]) -> str:
    """A closed union as a type alias."""
    members = tuple(members)
    line = f"export type {name} = {' | '.join(members)};"
    if len(line) <= WIDTH:
        return line
    return f"export type {name} =\n" + "\n".join(f"  | {m}" for m in members) + ";"


def spell(hint: Any) -> str:
    """A field's type in TypeScript, as JSON carries it.

    >>> spell(tuple[tuple[str, int], ...])
    'readonly (readonly [string, number])[]'

    Raises:
        TypeError: a type that JSON has no form for.
    """
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
    if origin is Literal:
        return " | ".join(json.dumps(v) for v in inner)
    if origin is tuple and len(inner) == 2 and inner[1] is Ellipsis:
        item = spell(inner[0])
        return f"readonly ({item})[]" if " " in item else f"readonly {item}[]"
    if origin is tuple:
        return f"readonly [{', '.join(spell(h) for h in inner)}]"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return f"Readonly<Record<string, {spell(inner[1])}>>"
    if origin in (Union, UnionType):
        return " | ".join(spell(h) for h in inner)
    raise TypeError(f"{hint} has no spelling in TypeScript; what goes over the wire is made of plain values")
