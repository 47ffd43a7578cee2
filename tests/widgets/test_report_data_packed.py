"""The browser decompresses the data of a report as Python's lzma does."""

from __future__ import annotations

import lzma
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

from prism_explore.widgets.report import packed_data


def contents() -> Iterator[bytes]:
    """Data with literals, matches near and far, repeated distances, and lengths of all codings."""
    draw = random.Random(5)
    yield b""
    yield b"\x00"
    yield draw.randbytes(5_000)
    yield bytes(300_000)
    for alphabet in (b"ab", b"0123456789,.", bytes(range(256))):
        made = bytearray()
        while len(made) < 60_000:
            if made and draw.random() < 0.7:
                start, length = draw.randrange(len(made)), draw.choice((1, 2, 3, 7, 15, 40, 300))
                made += made[start : start + length]
            else:
                made += bytes(draw.choices(alphabet, k=draw.choice((1, 2, 30))))
        yield bytes(made)
    far = draw.randbytes(70_000)
    yield far + bytes(1 << 21) + far


def written(content: bytes) -> Iterator[bytes]:
    yield packed_data(content)
    for lc, lp, pb in ((0, 2, 0), (4, 0, 4), (1, 3, 1)):
        chain = [{"id": lzma.FILTER_LZMA1, "preset": 6, "lc": lc, "lp": lp, "pb": pb}]
        yield lzma.compress(content, lzma.FORMAT_ALONE, filters=chain)


def test_the_browser_decompresses_what_python_compressed_and_refuses_damaged_data(node: Path, tmp_path: Path) -> None:
    script, folder = tmp_path / "decompressed.mjs", tmp_path / "data"
    folder.mkdir()
    expected = {f"{n}-{m}": (c, packed) for n, c in enumerate(contents()) for m, packed in enumerate(written(c))}
    for name, (_, packed) in expected.items():
        (folder / f"{name}.lzma").write_bytes(packed)
    whole = packed_data(b"".join(contents()))
    damaged = {"empty": b"", "text": b"<!doctype html>", "cut": whole[: len(whole) // 2]}
    for name, packed in damaged.items():
        (folder / f"{name}.lzma").write_bytes(packed)

    bundle = ["npx", "esbuild", "test/decompressed.js", "--bundle", "--platform=node", "--format=esm"]
    subprocess.run([*bundle, f"--outfile={script}"], cwd=node, check=True, capture_output=True)
    subprocess.run(["node", str(script), str(folder)], check=True)

    found = {path.stem: path.read_bytes() for path in folder.glob("*.out")}
    assert {name: found[name] == content for name, (content, _) in expected.items()} == dict.fromkeys(expected, True)
    assert {name: found[name].decode() for name in damaged} == {
        "empty": "Error: the compressed data has no header",
        "text": "Error: the compressed data ends too early",
        "cut": "Error: the compressed data ends too early",
    }
