from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import pytest

from prism_explore.widgets.typescript.printer import interface, type_text, union


@pytest.mark.parametrize(
    ("typescript", "python"),
    [
        ("number", int),
        ("number", float),
        ("boolean", bool),
        ("string", str),
        ('"a" | "b"', Literal["a", "b"]),
        ("readonly string[]", tuple[str, ...]),
        ("readonly [string, number]", tuple[str, int]),
        ("readonly (readonly [string, number])[]", tuple[tuple[str, int], ...]),
        ("readonly [string, readonly string[], boolean]", tuple[str, tuple[str, ...], bool]),
        ("Readonly<Record<string, number>>", Mapping[str, int]),
        ("Readonly<Record<string, number>>", dict[str, float]),
        ("string | number", str | int),
    ],
)
def test_a_type_is_spelled_as_json_carries_it(typescript: str, python: object) -> None:
    assert typescript == type_text(python)


def test_what_json_cannot_carry_is_refused() -> None:
    with pytest.raises(TypeError, match="no TypeScript type"):
        type_text(set[int])


@dataclass
class Sample:
    """A sample.

    More about it.
    """

    a: int
    b: tuple[str, ...] = ()


def test_fields_with_a_default_may_be_absent_where_the_wire_leaves_them_out() -> None:
    assert interface(Sample).endswith("  readonly a: number;\n  readonly b: readonly string[];\n}")
    assert interface(Sample, sparse=True).endswith("  readonly a: number;\n  readonly b?: readonly string[];\n}")
    assert interface(Sample).startswith("/** A sample. */\nexport interface Sample {")


def test_long_unions_are_broken_as_the_formatter_breaks_them() -> None:
    assert "export type X = A | B;" == union("X", ("A", "B"))
    long = union("X", (f"Member{i:030}" for i in range(4)))
    assert long.startswith("export type X =\n  | Member0") and long.endswith("3;")
