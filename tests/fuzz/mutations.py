"""Seeded damage to a file: of its bytes, of its text, and of the values that it holds."""

from __future__ import annotations

import gzip
import io
import json
import random
import re
import zipfile
from collections.abc import Callable, Sequence
from typing import Any

Mutation = Callable[[random.Random, bytes], bytes]

NUMBERS = (
    "0",
    "-1",
    "1",
    "2",
    "64",
    "4611686018427387904",
    "-9223372036854775809",
    "1e400",
    "-1e400",
    "1e-320",
    "NaN",
    "9" * 60,
    "9" * 5000,
)
"""Numbers that are often not expected: zero, beyond 62 and 64 bits, infinite, denormal, none at all."""
WORDS = (
    *("", "null", "x" * 4096, "../../no/such/file", "<img src=x onerror=alert(1)>"),
    *("\x1b[31m", "%s%n{0}", "\u202e", "é", "²", "\0"),
)
"""Texts that are often not expected: empty, long, a path, markup, control characters, digits that are no numbers."""
VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 2**62, -(2**63) - 1, 10**60, 0.5, 1e308, float("inf"), float("nan"), "", "0", "1e400"),
    *([], {}, [[]], [None], {"": None}, *WORDS),
)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
WORD = re.compile(r"[A-Za-z_%][\w.]*")
TOKEN = re.compile(r"\w+|[^\w\s]")
ENCODINGS = ("utf-16", "utf-32", "latin-1", "utf-8-sig", "cp037")
DEEP = 100_000
MOST_REPEATED = 1_000_000
"""Characters of a line that is repeated."""


# ---------------------------------------------------------------- bytes
def flip_bytes(draw: random.Random, content: bytes) -> bytes:
    damaged = bytearray(content or b"\0")
    for _ in range(draw.randint(1, 8)):
        damaged[draw.randrange(len(damaged))] ^= draw.randint(1, 255)
    return bytes(damaged)


def cut(draw: random.Random, content: bytes) -> bytes:
    return content[: draw.randrange(len(content) + 1)]


def cut_out(draw: random.Random, content: bytes) -> bytes:
    start = draw.randrange(len(content) + 1)
    return content[:start] + content[start + draw.randint(1, 64) :]


def repeat_bytes(draw: random.Random, content: bytes) -> bytes:
    start = draw.randrange(len(content) + 1)
    return content[:start] + content[start : start + draw.randint(1, 64)] * draw.randint(2, 50) + content[start:]


def insert_bytes(draw: random.Random, content: bytes) -> bytes:
    start = draw.randrange(len(content) + 1)
    return content[:start] + draw.randbytes(draw.randint(1, 16)) + content[start:]


# ---------------------------------------------------------------- text
def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")


def _replace(pattern: re.Pattern[str], words: Sequence[str]) -> Mutation:
    def mutation(draw: random.Random, content: bytes) -> bytes:
        text = _text(content)
        found = list(pattern.finditer(text))
        for place in sorted(draw.sample(found, min(len(found), draw.randint(1, 2))), key=lambda m: -m.start()):
            own = draw.choice(found).group()
            text = text[: place.start()] + draw.choice((own, draw.choice(words))) + text[place.end() :]
        return text.encode("utf-8", "surrogatepass")

    return mutation


def change_lines(draw: random.Random, content: bytes) -> bytes:
    lines = _text(content).splitlines(keepends=True) or [""]
    at, other = draw.randrange(len(lines)), draw.randrange(len(lines))
    match draw.randrange(4):
        case 0:
            del lines[at]
        case 1:
            lines.insert(other, lines[at])
        case 2:
            lines[at], lines[other] = lines[other], lines[at]
        case _:
            lines[at] = lines[at] * min(draw.randint(2, 2000), MOST_REPEATED // (len(lines[at]) + 1) + 2)
    return "".join(lines).encode("utf-8", "surrogatepass")


def drop_tokens(draw: random.Random, content: bytes) -> bytes:
    text = _text(content)
    found = list(TOKEN.finditer(text))
    for place in sorted(draw.sample(found, min(len(found), draw.randint(1, 3))), key=lambda m: -m.start()):
        text = text[: place.start()] + text[place.end() :]
    return text.encode("utf-8", "surrogatepass")


def recode(draw: random.Random, content: bytes) -> bytes:
    return _text(content).encode(draw.choice(ENCODINGS), "replace")


def nest(draw: random.Random, content: bytes) -> bytes:
    opening = draw.choice(("(", "[", "{", '{"a":', "-", "[(", "<"))
    start = draw.randrange(len(content) + 1)
    return content[:start] + opening.encode() * draw.choice((3, 1_000, DEEP)) + content[start:]


# ---------------------------------------------------------------- values
def change_value(draw: random.Random, value: Any) -> Any:
    """A copy of decoded JSON with one value changed, dropped, doubled, renamed, or put another level down."""
    if not isinstance(value, dict | list) or not value or draw.random() < 0.05:
        nested = value
        for _ in range(draw.choice((1, 5, 900))):
            nested = [nested]
        return draw.choice((draw.choice(VALUES), draw.choice(VALUES), nested))
    copy = value.copy()
    key = draw.choice(list(copy)) if isinstance(copy, dict) else draw.randrange(len(copy))
    match draw.randrange(12):
        case 0:
            del copy[key]
        case 1 if isinstance(copy, dict):
            copy[draw.choice(WORDS)] = copy.pop(key)
        case 1 | 2 if isinstance(copy, list):
            copy.insert(draw.randrange(len(copy) + 1), copy[key])
        case 3 if isinstance(copy, list):
            copy.reverse()
        case 3:
            copy[key] = copy[draw.choice(list(copy))]
        case _:
            copy[key] = change_value(draw, copy[key])
    return copy


def change_json(draw: random.Random, content: bytes) -> bytes:
    """One value of a JSON document, or of one line of JSON Lines, is another."""
    text = _text(content)
    try:
        return json.dumps(change_value(draw, json.loads(text))).encode()
    except (ValueError, RecursionError):
        lines = text.splitlines() or [""]
    at = draw.randrange(len(lines))
    try:
        lines[at] = json.dumps(change_value(draw, json.loads(lines[at])))
    except (ValueError, RecursionError):
        return flip_bytes(draw, content)
    return "".join(f"{line}\n" for line in lines).encode()


# ---------------------------------------------------------------- containers
Container = Callable[[Mutation], Mutation]
"""Makes a mutation of what a file holds into one of the file."""


def plain(change: Mutation) -> Mutation:
    """A file that is its own content."""
    return change


def zipped(change: Mutation) -> Mutation:
    """An archive; one of its members changes, or is missing."""

    def mutation(draw: random.Random, content: bytes) -> bytes:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        chosen = draw.choice(sorted(members))
        members[chosen] = change(draw, members[chosen])
        if draw.random() < 0.02:
            del members[chosen]
        changed = io.BytesIO()
        with zipfile.ZipFile(changed, "w", draw.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED))) as archive:
            for name, member in members.items():
                archive.writestr(name, member)
        return changed.getvalue()

    return mutation


def gzipped(change: Mutation) -> Mutation:
    """A gzipped file."""
    return lambda draw, content: gzip.compress(change(draw, gzip.decompress(content)), 1)


BYTES: tuple[Mutation, ...] = (flip_bytes, cut, cut_out, repeat_bytes, insert_bytes)
_numbers, _words = _replace(NUMBER, NUMBERS), _replace(WORD, WORDS)
TEXT: tuple[Mutation, ...] = (_numbers, _numbers, _words, change_lines, drop_tokens, recode, nest)
JSON: tuple[Mutation, ...] = (change_json, change_json, change_json, *TEXT)


def mutate(draw: random.Random, content: bytes, inner: Sequence[Mutation], container: Container) -> bytes:
    """The content with one to three mutations: mostly of what the file holds, else of its bytes."""

    def several(kinds: Sequence[Mutation]) -> Mutation:
        def mutation(draw: random.Random, content: bytes) -> bytes:
            for _ in range(draw.choice((1, 1, 1, 2, 3))):
                content = draw.choice(kinds)(draw, content)
            return content

        return mutation

    is_inner = bool(inner) and draw.random() < 0.8
    return (container(several(inner)) if is_inner else several(BYTES))(draw, content)
