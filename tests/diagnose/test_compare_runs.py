"""Two searches side by side: what differs in what they were, what they found and what they cut."""

from dataclasses import replace

import pytest

import prism_explore as px
from prism_explore.pipeline.search_space import default_space
from tests.generate.programs import gate, rms_linear_small

PROGRAM = rms_linear_small()


def searched(program=PROGRAM, **limits):
    sess = px.Session(program, target="h100", at={"b": 4}, space=replace(default_space(program), **limits))
    sess.run()
    sess.close()
    return sess


@pytest.fixture(scope="module")
def usual():
    return searched()


@pytest.fixture(scope="module")
def short():
    return searched(block_ops=6, results=0)


def named(lines):
    return {line.name: (line.first, line.second) for line in lines}


def test_a_search_does_not_differ_from_its_file(usual, tmp_path):
    found = px.compare(usual, usual.save(tmp_path / "run.prism"))

    assert f"All {len(usual.journal):,} events are the same." in found.text
    assert not any(line.differs for line in (*found.settings, *found.counts, *found.prunings, *found.families))
    assert "families: 0 of" in repr(found)


def test_a_smaller_space_shows_in_settings_families_cuts_and_counts(usual, short):
    found = px.compare(usual, short)
    settings, counts, prunings = named(found.settings), named(found.counts), named(found.prunings)

    assert "at most 11 operators" in settings["block graph"][0]
    assert "at most 6 operators" in settings["block graph"][1]
    assert settings["program"][0] == settings["program"][1]
    assert (str(len(usual.families)), str(len(short.families))) == counts["families"]
    assert any(a != b for a, b in prunings.values())
    assert len(found.only_one) == len(usual.families) - len(short.families) > 0
    assert () == found.only_other
    assert 1 == found.first_difference
    assert f"{len(found.only_one)} only in A, 0 only in B" in found.text


def test_families_are_matched_by_their_graphs_not_by_their_ids(usual, short):
    found = px.compare(usual, short)
    graphs = dict(short.families)
    for line, graph in zip(found.families, found.graphs, strict=True):
        first, *second = line.name.split(" / ")
        if second or line.first != "–" != line.second:
            assert str(graphs[(second or [first])[0]].graph) == str(px.parse(graph))


def test_another_program_has_no_family_in_common(usual):
    found = px.compare(usual, searched(gate()))

    assert len(found.only_one) == len(usual.families)
    assert found.only_other
    assert "program" in [line.name for line in found.settings if line.differs]


def test_the_panel_marks_what_differs_and_escapes_texts(usual, short):
    html = px.compare(usual, short).html

    assert "<summary>settings: 2 of" in html
    assert "≠" in html
    assert "<->" not in html


def test_a_search_that_did_not_begin_has_nothing(usual):
    fresh = px.Session(PROGRAM, target="h100", at={"b": 4})
    found = px.compare(usual, fresh)

    assert len(found.only_one) == len(usual.families)
    assert "They diverge at event 2 of A, NodeExpanded n1, and event 0 of B, its end." in found.text


def test_a_file_that_is_no_search_is_refused(usual, tmp_path):
    (tmp_path / "notes.txt").write_text("nothing")
    with pytest.raises(px.JournalVersionError):
        px.compare(usual, tmp_path / "notes.txt")
