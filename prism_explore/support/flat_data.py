"""Read dataclasses whose fields are all simple, such as most events: five times as fast as by `plain_data`.

A field is simple if JSON has its value as it is: a text, a number, a flag, one of several texts, a mapping of texts to
texts, or a type with a strict hook. What is not exactly as expected is left to `plain_data`, which converts it or says
what is wrong.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Literal, TypeAlias, cast, get_args, get_origin, get_type_hints

UNSURE = object()
"""Result for data that is not exactly as expected."""
Read: TypeAlias = Callable[[Any], object]


def flat_reader(kind: type, hooks: Mapping[Any, Read]) -> Read:
    """The function that reads a dataclass from the dictionary of its fields, or returns `UNSURE`.

    Args:
        kind: the dataclass.
        hooks: per type, a function that reads it and refuses what it would write differently.
    """
    readers = _field_readers(kind, hooks)
    if readers is None:
        return lambda _: UNSURE

    names, in_order = tuple(readers), tuple(readers.values())

    def read(data: Any) -> object:
        if type(data) is not dict:
            return UNSURE
        given = cast("dict[str, object]", data)
        if tuple(given) == names:
            values = [reader(item) for reader, item in zip(in_order, given.values(), strict=True)]
            return UNSURE if UNSURE in values else kind(*values)
        if not readers.keys() >= given.keys():
            return UNSURE
        named = {name: readers[name](item) for name, item in given.items()}
        try:
            return UNSURE if UNSURE in named.values() else kind(**named)
        except TypeError:  # a field is missing
            return UNSURE

    return read


def _field_readers(kind: type, hooks: Mapping[Any, Read]) -> Mapping[str, Read] | None:
    """Per field, the function that reads it; None if one field is not simple."""
    if not is_dataclass(kind):
        return None
    try:
        hints = get_type_hints(kind)
    except NameError:  # a type that is defined in a function
        return None
    readers: dict[str, Read] = {}
    for number, field in enumerate(fields(kind)):
        # The first field is the id of its object. Other texts occur often, so equal ones are one object.
        reader = _own_text if hints[field.name] is str and number == 0 else _reader(hints[field.name], hooks)
        if reader is None:
            return None
        readers[field.name] = reader
    return readers


def _reader(annotation: Any, hooks: Mapping[Any, Read]) -> Read | None:
    if annotation in hooks:
        return hooks[annotation]
    if annotation in _SIMPLE:
        return _SIMPLE[annotation]
    choices = get_args(annotation)
    if get_origin(annotation) is Literal and all(isinstance(choice, str) for choice in choices):
        same = {choice: choice for choice in choices}
        return lambda item: same.get(item, UNSURE) if type(item) is str else UNSURE
    return None


def _own_text(item: object) -> object:
    return item if type(item) is str else UNSURE


def _text(item: object) -> object:
    return sys.intern(item) if type(item) is str else UNSURE


def _texts(item: object) -> object:
    if type(item) is not dict:
        return UNSURE
    rows = cast("dict[str, object]", item)
    return rows if all(type(value) is str for value in rows.values()) else UNSURE


def _exactly(kind: type) -> Read:
    return lambda item: item if type(item) is kind else UNSURE


_SIMPLE: Mapping[Any, Read] = {
    str: _text,
    int: _exactly(int),
    float: _exactly(float),
    bool: _exactly(bool),
    Mapping[str, str]: _texts,
}
