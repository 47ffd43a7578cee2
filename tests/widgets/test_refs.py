"""Ids: composed and parsed in one place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_explore.widgets.refs import (
    EClassRef,
    FrameRef,
    TensorRef,
    eclass_id,
    eclass_ref,
    frame_ref,
    is_of_program,
    lemma_ref,
    member_ref,
    names_graph,
    owner_of,
    short_name,
    tensor_ref,
)


@pytest.mark.parametrize(
    ("ref", "tensor"),
    [
        ("program.%4", TensorRef("", "program.%4", 4)),
        ("f1.c2/program.%4", TensorRef("f1.c2", "program.%4", 4)),
        ("f1/k0", TensorRef("f1", "k0", 0)),
        ("f1.c2/k3", TensorRef("f1.c2", "k3", 3)),
        ("f1.c2/k3.b17", TensorRef("f1.c2", "k3.b17", 3, 17)),
        *((ref, None) for ref in ("", "f1", "k3", "f1.c2/goal@0", "f1.c2/k3@2", "program.%", "n3", "f1.c2/k", "x/k1")),
    ],
)
def test_an_id_of_a_tensor_has_owner_name_and_position(ref: str, tensor: TensorRef | None) -> None:
    assert tensor == tensor_ref(ref)


def test_a_frame_has_an_id_of_its_own() -> None:
    assert FrameRef("f1.c2", "program.%5", 3) == frame_ref("f1.c2/program.%5@3")
    assert FrameRef("f1.c2", "goal", 0) == frame_ref("f1.c2/goal@0")
    assert [None] * 4 == [frame_ref(r) for r in ("f1.c2/k3.b7", "f1.c2", "goal@1", "f1.c2/goal@-1")]


def test_an_e_class_has_its_candidate_and_ids_of_the_older_forms_are_read() -> None:
    assert EClassRef("f5.c2", "c18") == eclass_ref(eclass_id("f5.c2", "c18"))
    assert EClassRef("", "c18") == eclass_ref("c18")
    assert FrameRef("f1.c2", "goal", 0) == frame_ref("f1.c2/goal")
    assert [None] * 4 == [eclass_ref(r) for r in ("f5.c2", "f5/c1", "c", "f5.c2/k3")]


@pytest.mark.parametrize(
    ("subject", "ref"),
    [("f2.c1 k3.b9", "f2.c1/k3.b9"), ("f2.c1 program.%6", "f2.c1/program.%6"), ("f2.c1", "f2.c1"),
     ("f2.c1 goal", "f2.c1/goal@0")],
)  # fmt: skip
def test_the_subject_of_a_saturation_event_becomes_an_id(subject: str, ref: str) -> None:
    assert ref == lemma_ref(subject)


def test_only_families_and_candidates_name_a_graph() -> None:
    assert [True, True] == [names_graph(r) for r in ("f12", "f1.c20")]
    assert not any(names_graph(r) for r in ("", "n1", "f1.c2/k3", "c4", "f"))


@given(st.text())
def test_any_text_is_parsed_or_is_no_id(text: str) -> None:
    assert [r(text) for r in (tensor_ref, frame_ref, eclass_ref)].count(None) >= 2


def test_names_of_e_classes_and_lemmas_become_ids() -> None:
    assert "f1.c2/program.%4" == member_ref("f1.c2", "program.%4")
    assert "f1.c2/k3.b7" == member_ref("f1.c2", "k3.b7")
    assert "f1.c2/goal@0" == member_ref("f1.c2", "goal")
    assert ("%4", "k3") == (short_name("program.%4"), short_name("k3"))
    assert (True, False) == (is_of_program("program.%4"), is_of_program("k3"))
    assert ("f1.c2", "f1", "n3") == (owner_of("f1.c2/k3.b7"), owner_of("f1"), owner_of("n3"))
