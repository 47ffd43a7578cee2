"""Damaged, hostile and foreign files: each is read, or refused with a message, in bounded time and memory."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from prism_explore.errors import PrismError
from tests.fuzz.doors import DOORS, Door
from tests.fuzz.harness import MOST_BYTES, Failure, attempt, corpus, damaged_files
from tests.fuzz.mutations import BYTES, JSON, TEXT, mutate, plain

BY_NAME = {door.name: door for door in DOORS}
DEEP = 100_000
HOSTILE = {
    "empty": b"",
    "nothing but zeros": bytes(4096),
    "deep lists": b"[" * DEEP,
    "deep objects": b'{"a":' * DEEP,
    "long number": b"9" * DEEP,
    "one long line": b"x" * 5_000_000,
    "many lines": b"x = input f32[b, 8]\n" * 20_000,
    "utf-16": "program p\n".encode("utf-16"),
    "another program's file": b"\x7fELF\x02\x01\x01" + bytes(64),
    "a page": b"<!doctype html><html><body>nothing</body></html>",
    "a database": b"SQLite format 3\0" + bytes(84),
    "an archive": b"PK\x05\x06" + bytes(18),
}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.name)
def test_a_damaged_file_is_read_or_refused_with_a_message(door: Door, tmp_path: Path) -> None:
    for content in damaged_files(door, range(door.tested), seed=0):
        failure = attempt(door, content, tmp_path)
        assert failure is None, f"{failure.what}\nkeep it: python -m tests.fuzz {door.name} --files {door.tested}"


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.name)
def test_a_hostile_file_is_refused_quickly(door: Door, name: str, tmp_path: Path) -> None:
    failure = attempt(door, HOSTILE[name], tmp_path)
    assert failure is None, failure.what


@pytest.mark.parametrize(
    ("door", "path"),
    [(door, path) for door in DOORS for path in corpus(door)],
    ids=lambda value: getattr(value, "name", ""),
)
def test_what_once_failed_does_not_fail_again(door: Door, path: Path, tmp_path: Path) -> None:
    failure = attempt(door, path.read_bytes(), tmp_path)
    assert failure is None, failure.what


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.name)
def test_the_undamaged_file_is_read(door: Door, tmp_path: Path) -> None:
    for content in door.contents():
        path = tmp_path / f"whole{door.suffix}"
        path.write_bytes(content)
        door.open(path)


# ---------------------------------------------------------------- the harness itself
def _opened_by(read: object) -> Door:
    return Door("trial", ".txt", lambda: (b"content",), read, ())  # type: ignore[arg-type]


def _fails(error: BaseException) -> object:
    def read(_: Path) -> None:
        raise error

    return read


def _forever(_: Path) -> None:
    while True:
        pass


def _allocates(_: Path) -> None:
    bytearray(2 * MOST_BYTES)


@pytest.mark.parametrize(
    ("read", "what"),
    (
        (_fails(TypeError("no")), "TypeError: no"),
        (_fails(PrismError("")), "without a message"),
        (_fails(PrismError("damaged")), "does not name the file"),
        (_forever, "CPU time"),
        (_allocates, "MemoryError"),
    ),
)
def test_a_reader_that_breaks_the_promise_is_found(
    read: object, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.fuzz.harness.MOST_S", 0.05)
    failure = attempt(_opened_by(read), b"content", tmp_path)
    assert isinstance(failure, Failure)
    assert what in failure.what


@pytest.mark.parametrize("mutations", (BYTES, TEXT, JSON), ids=("bytes", "text", "json"))
def test_mutations_of_a_seed_are_the_same_and_change_the_content(mutations: tuple[object, ...]) -> None:
    content = b'{"sizes": [["gx", 4], ["f", 2]], "time_s": 1.5}\n'
    made = [mutate(random.Random(n), content, mutations, plain) for n in range(200)]  # type: ignore[arg-type]
    assert made == [mutate(random.Random(n), content, mutations, plain) for n in range(200)]  # type: ignore[arg-type]
    assert sum(m != content for m in made) > 180
