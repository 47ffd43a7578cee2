from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_explore.support.plain_data import Hook, PlainData


@dataclass(frozen=True, slots=True)
class Axis:
    name: str
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Permute:
    order: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Slice:
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Record:
    kind: Literal["a", "b"]
    time_s: float
    share: Fraction
    done: bool
    axes: tuple[Axis, ...] = ()
    pairs: tuple[tuple[str, int], ...] = ()
    named: Mapping[str, str] = field(default_factory=dict[str, str])
    rules: frozenset[str] = frozenset()
    views: tuple[Permute | Slice, ...] = ()


TEXTS = st.text(max_size=4)
RECORDS = st.builds(
    Record,
    kind=st.sampled_from(["a", "b"]),
    time_s=st.floats(allow_nan=False),
    share=st.fractions(),
    done=st.booleans(),
    axes=st.lists(st.builds(Axis, TEXTS, st.none() | st.integers()), max_size=3).map(tuple),
    pairs=st.lists(st.tuples(TEXTS, st.integers()), max_size=3).map(tuple),
    named=st.dictionaries(TEXTS, TEXTS, max_size=3),
    rules=st.frozensets(TEXTS, max_size=3),
    views=st.lists(
        st.builds(Permute, st.lists(st.integers(), max_size=3).map(tuple))
        | st.builds(Slice, st.integers(), st.integers()),
        max_size=3,
    ).map(tuple),
)
PLAIN: Mapping[str, object] = {"kind": "a", "time_s": 1.5, "share": "1/3", "done": True}


@given(RECORDS)
def test_reading_is_the_inverse_of_writing(record: Record) -> None:
    plain = PlainData()
    data = json.loads(json.dumps(plain.write(record)))

    assert record == plain.read(Record, data)


@pytest.mark.parametrize(
    ("word", "change"),
    [
        ("Record has no field evil", {"evil": 1}),
        (r"Record.axes\[0\] has no field evil", {"axes": [{"name": "b", "evil": 1}]}),
        ("required field missing @ Record.axes", {"axes": [{"size": 1}]}),
        ("Record.kind", {"kind": "c"}),
        ("Record.time_s", {"time_s": "1.5"}),
        ("Record.time_s", {"time_s": None}),
        ("Record.share", {"share": "a third"}),
        ("Record.done", {"done": "yes"}),
        (r"Record.axes\[0\]", {"axes": ["b"]}),
        (r"Record.axes\[0\].size", {"axes": [{"name": "b", "size": 1.5}]}),
        (r"Record.axes\[0\].size", {"axes": [{"name": "b", "size": "7"}]}),
        ("Record.pairs", {"pairs": [["a"]]}),
        ("Record.pairs", {"pairs": [["a", "7"]]}),
        ("Record.pairs", {"pairs": {"a": 7}}),
        ("Record.rules", {"rules": "text"}),
        ("Record.named", {"named": [["a", "b"]]}),
        ("Record.named", {"named": {"a": 7}}),
        ("Record.views", {"views": [{"order": [0], "start": 1}]}),
    ],
)
def test_data_of_another_type_is_refused_with_its_place(word: str, change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=word):
        PlainData().read(Record, {**PLAIN, **change})


def test_missing_fields_take_their_defaults_and_whole_numbers_are_floats_too() -> None:
    assert Record("a", 2.0, Fraction(1, 3), True) == PlainData().read(Record, {**PLAIN, "time_s": 2})


def test_what_is_not_a_number_is_read() -> None:
    assert math.isnan(PlainData().read(Record, {**PLAIN, "time_s": math.nan}).time_s)


def test_a_type_of_the_caller_is_read_and_written_by_its_hook() -> None:
    plain = PlainData({complex: Hook(complex, str)})

    @dataclass(frozen=True)
    class Point:
        at: complex

    assert {"at": "(1+2j)"} == plain.write(Point(1 + 2j))
    assert Point(1 + 2j) == plain.read(Point, {"at": "(1+2j)"})


# ---------------------------------------------------------------- dataclasses of simple fields
@dataclass(frozen=True, slots=True)
class Pruned:
    region: str
    operator: str
    soundness: Literal["sound", "heuristic"]
    count: float = 1.0
    at: Mapping[str, str] = field(default_factory=dict[str, str])


PRUNED = {"region": "p1", "operator": "exp(%1)", "soundness": "sound", "count": 2.0, "at": {"e": "3"}}


def test_simple_fields_are_read_without_a_conversion(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = PlainData()
    monkeypatch.setattr(plain, "_read_any", lambda *_: 1 / 0)
    first, second = (plain.read(Pruned, json.loads(json.dumps(PRUNED))) for _ in range(2))

    assert first == Pruned("p1", "exp(%1)", "sound", 2.0, {"e": "3"})
    assert first.operator is second.operator
    assert plain.read(Pruned, {"soundness": "sound", "region": "p2", "operator": "x"}) == Pruned("p2", "x", "sound")


@pytest.mark.parametrize(
    ("word", "change"),
    [
        ("Pruned.region", {"region": 1}),
        ("Pruned.operator", {"operator": None}),
        ("Pruned.soundness", {"soundness": "surely"}),
        ("Pruned.soundness", {"soundness": ["sound"]}),
        ("Pruned.count", {"count": "2"}),
        ("Pruned.at", {"at": {"e": 3}}),
        ("Pruned has no field evil", {"evil": 1}),
    ],
)
def test_simple_fields_of_another_type_are_refused_with_their_place(word: str, change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=word):
        PlainData().read(Pruned, {**PRUNED, **change})


def test_a_missing_simple_field_is_named() -> None:
    with pytest.raises(ValueError, match="required field missing @ Pruned"):
        PlainData().read(Pruned, {"region": "p1"})


def test_whole_numbers_are_floats_in_simple_fields_too() -> None:
    assert type(PlainData().read(Pruned, {**PRUNED, "count": 2}).count) is float
