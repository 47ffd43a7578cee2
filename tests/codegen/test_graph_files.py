"""The loader of sGraphs in text files."""

from __future__ import annotations

import pytest

from tests.codegen import graph_files
from tests.codegen.graph_files import read


def test_a_section_has_a_graph_and_its_sizes() -> None:
    case = read("basic")["rms_plain"]

    assert case.free == ("b", "f", "ks", "gx", "tn")
    assert case.sizes({"b": 2, "f": 3, "ks": 4, "gx": 5, "tn": 6})["d"] == 12
    assert case.graph.inputs[0].name == "x"


def test_a_section_like_another_changes_its_text_and_keeps_its_sizes() -> None:
    cases = read("basic")

    assert cases["rms_plain_nk"].text == cases["rms_plain"].text.replace("[d, n]", "[d, n] order(1, 0)")
    assert cases["rms_plain_nk"].derived == cases["rms_plain"].derived


@pytest.mark.parametrize("text", ["no header\n", "a: n\n  x = input f32[n]\nb: like a, y -> z\n"])
def test_a_mistake_is_named_with_its_line(text, tmp_path, monkeypatch) -> None:
    (tmp_path / "wrong.txt").write_text(text)
    monkeypatch.setattr(graph_files, "FILES", tmp_path)

    with pytest.raises(AssertionError, match=r"wrong.txt:\d"):
        read("wrong")
