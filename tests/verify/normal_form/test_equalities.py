"""Equalities as data: classes for every verdict, and e-graphs whose names last from frame to frame."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import pytest

from prism_explore.events.journal import Journal
from prism_explore.pipeline.stages import Verified
from prism_explore.verify.axioms import AXIOMS, CONDITIONS, SIGNATURE
from prism_explore.verify.certificate.certify import certify, obligations
from prism_explore.verify.certificate.saturation import search_problem
from prism_explore.verify.egraph.frames import Growth, make_frames
from prism_explore.verify.egraph.limits import Limits, NodeLimit, Proved, Saturated
from prism_explore.verify.normal_form.equalities import Equalities, Tile, equalities, of_verified
from prism_explore.verify.prover import Prover
from tests.verify.corpus import CASES, PROGRAMS, candidate
from tests.verify.workloads import RIGHT, program_of, sgraph_of


def of(name: str) -> Equalities:
    (case,) = [c for c in CASES if c.name == name]
    return equalities(PROGRAMS[case.program], case.sgraph, "f1.c1")


@pytest.fixture(scope="module")
def fused() -> Equalities:
    return of("rms_fused")


@pytest.fixture(scope="module")
def division(fused: Equalities) -> Growth:
    return fused.lemma("k2.b5")


# ---------------------------------------------------------------- classes
def test_both_results_of_a_right_candidate_are_in_one_class(fused: Equalities) -> None:
    (results,) = [c for c in fused.classes if "program.%4" in c.members]

    assert {"program.%4", "k2"} <= set(results.members)
    assert fused.disagreement is None
    assert results in fused.shared


def test_a_block_tensor_is_found_as_the_tile_of_what_it_is_cut_from(fused: Equalities) -> None:
    class_of = {m: c.id for c in fused.classes for m in c.members}

    assert {
        Tile("k2.b0", class_of["program.%0"]),
        Tile("k2.b1", class_of["program.%1"]),
        Tile("k2.b5", class_of["program.%4"]),
    } == set(fused.tiles)


@pytest.mark.parametrize(
    ("name", "program", "ours"),
    [
        ("rms_of_a_tile", "program.%2 = rms(x, dim=1)", "k2.b2 = rms(%0, dim=1)"),
        ("operand_swap_U1", "program.%2 = div(x, y)", "k2.b2 = div(%1, %0)"),
    ],
)
def test_a_wrong_candidate_parts_from_the_program_where_the_mistake_is(name: str, program: str, ours: str) -> None:
    found = of(name)

    assert found.disagreement is not None
    assert f"the first that the other side lacks: {program}; {ours}" == str(found.disagreement)
    assert 0 < len(found.shared)


def test_a_race_has_no_classes_and_says_why() -> None:
    found = of("rms_race")

    assert () == found.classes
    assert "the candidate has no normal form: race: blocks along x would write" in str(found.disagreement)
    assert "race" in found.to_json()["disagreement"]["reason"]


def test_a_proof_keeps_its_own_names() -> None:
    (case,) = [c for c in CASES if c.name == "rms_fused"]
    prover = Prover(PROGRAMS[case.program])
    for other in ("rms_two_kernels", "rms_fused"):
        (case,) = [c for c in CASES if c.name == other]
        verdict = prover.verify(candidate(PROGRAMS[case.program], case.sgraph), Journal())
    assert isinstance(verdict, Verified)

    found = of_verified(verdict)

    assert verdict.proof.classes == found.classes
    assert {t.of for t in found.tiles} <= {c.id for c in found.classes}
    assert found.disagreement is None


def test_the_classes_read_as_text(fused: Equalities, golden: Callable[[str, str], None]) -> None:
    golden("verify/equalities", "\n\n".join((fused.text(), of("rms_swapped_division").text())))


def test_the_classes_are_plain_data(fused: Equalities) -> None:
    again = json.loads(json.dumps(fused.to_json()))

    assert [c.id for c in fused.classes] == [c["id"] for c in again["classes"]]
    assert again["disagreement"] is None


# ---------------------------------------------------------------- frames
def test_a_lemma_grows_until_both_sides_meet(division: Growth) -> None:
    first, *_, last = division.frames

    assert isinstance(division.stop, Proved)
    assert not first.is_proved and last.is_proved
    assert list(range(len(division.frames))) == [f.number for f in division.frames]
    assert {a.name for a in AXIOMS} >= {name for row in division.matches.values() for name in row}


def test_the_same_run_gives_the_same_names(fused: Equalities, division: Growth) -> None:
    assert division == fused.lemma("k2.b5")


def test_a_class_keeps_its_name_until_an_older_one_absorbs_it(division: Growth) -> None:
    for before, after in pairwise(division.frames):
        old, new = {c.id for c in before.classes}, {c.id for c in after.classes}
        absorbed = {c for m in after.merged for c in m.absorbed}

        assert old - absorbed == new - set(after.added)
        assert absorbed <= old
        for m in after.merged:
            assert m.survivor in new
            assert all(_number(m.survivor) < _number(c) for c in m.absorbed)


def test_a_node_stays_in_its_class_or_goes_where_the_class_goes(division: Growth) -> None:
    for before, after in pairwise(division.frames):
        into = {c: m.survivor for m in after.merged for c in m.absorbed}
        home = {n.id: c.id for c in after.classes for n in c.nodes}
        seen = {n.id for c in before.classes for n in c.nodes}
        for c in before.classes:
            for n in c.nodes:
                if n.id in home:
                    assert home[n.id] == into.get(c.id, c.id)

        assert set(after.added_nodes) == set(home) - seen


def test_nothing_happens_that_is_not_told(division: Growth) -> None:
    """A frame that changed nothing but its number would be a step too many."""
    for frame in division.frames[1:]:
        assert frame.added_nodes or frame.merged
        assert frame.axiom and frame.matches
        assert all(m.axiom == frame.axiom for m in frame.merged)


def _number(name: str) -> int:
    return int(name[1:])


def test_a_wrong_candidates_results_do_not_meet() -> None:
    growth = of("operand_swap_U1").lemma()

    assert isinstance(growth.stop, Saturated)
    assert not growth.frames[-1].is_proved
    assert "the axioms add nothing more" in growth.text()


def test_a_search_adds_terms_and_a_derivation_only_joins_them(fused: Equalities, division: Growth) -> None:
    searched = fused.lemma("k2.b5", searched=True)

    assert isinstance(searched.stop, Proved)
    assert [0] == [f.number for f in division.frames if f.added]
    assert any(f.added for f in searched.frames[1:])


def test_a_limit_ends_what_is_shown(fused: Equalities) -> None:
    growth = fused.lemma("k2.b5", Limits(nodes=30), searched=True)

    assert isinstance(growth.stop, NodeLimit)
    assert growth.frames[-1].nodes > 30


def test_a_lemma_grows_by_the_axioms_of_its_certificate() -> None:
    (case,) = [c for c in CASES if c.name == "rms_fused"]
    verdict = Prover(PROGRAMS[case.program]).verify(candidate(PROGRAMS[case.program], case.sgraph), Journal())
    assert isinstance(verdict, Verified)
    certified = certify(verdict, Journal())
    (lemma,) = [x for x in certified.proof.lemmas if x.tensor == "k2.b5"]

    growth = of_verified(certified).lemma("k2.b5")

    assert growth.frames[-1].is_proved
    assert {f.axiom for f in growth.frames[1:]} <= set(lemma.axioms)


def test_there_is_no_lemma_of_a_tensor_that_is_not_there(fused: Equalities) -> None:
    with pytest.raises(KeyError, match=r"no lemma of 'k7'; there are program\.%2, .*goal"):
        fused.lemma("k7")


# ---------------------------------------------------------------- following
def row(op: str, below: str, own: str, *literals: str) -> tuple[str, list[str], list[str], str]:
    return op, list(literals), below.split(), own


def test_a_merge_that_only_followed_is_told_apart(golden: Callable[[str, str], None]) -> None:
    """f(a), f(b); then a = b by an axiom, so f(a) = f(b); egglog may call the classes what it likes."""
    a, b = row("At", "", "7", '"a"'), row("At", "", "3", '"b"')
    steps: list[Mapping[str, Any]] = [
        {
            "iteration": 0,
            "axiom": "",
            "matches": 0,
            "nodes": [a, b, row("Exp", "7", "9"), row("Exp", "3", "2")],
            "roots": ["9", "2"],
        },
        {
            "iteration": 1,
            "axiom": "a is b",
            "matches": 1,
            "nodes": [row("At", "", "3", '"a"'), row("At", "", "3", '"b"'), row("Exp", "3", "2")],
            "roots": ["2", "2"],
        },
        {
            "iteration": 2,
            "axiom": "exp is itself again",
            "matches": 1,
            "nodes": [
                row("At", "", "3", '"a"'),
                row("At", "", "3", '"b"'),
                row("Exp", "3", "2"),
                row("Num", "", "5", "Ratio { numer: 1, denom: 2 }"),
                row("Mul", "2 5", "2"),
            ],
            "roots": ["2", "2"],
        },
    ]
    frames = make_frames(steps)

    assert [("e1", ("e2",), False), ("e3", ("e4",), True)] == [
        (m.survivor, m.absorbed, m.is_congruence) for m in frames[1].merged
    ]
    assert ("e5",) == frames[2].added
    assert ("n5", "n6") == frames[2].added_nodes
    golden("verify/growth", Growth("k1", "exp(%0)", "exp(a[])", Proved(), frames).text())


# ---------------------------------------------------------------- egglog's own form
def colours(nodes: Mapping[str, Any]) -> Counter[str]:
    """A multiset that two e-graphs share if they differ in names only: what is below each node, three levels deep."""
    own: dict[str, list[str]] = {}
    for name, node in nodes.items():
        own.setdefault(node["eclass"], []).append(name)
    colour = dict.fromkeys(nodes, "")
    for _ in range(4):
        of_class = {c: "{" + " ".join(sorted(colour[n] for n in names)) + "}" for c, names in own.items()}
        colour = {
            name: str(hash((node["op"], tuple(of_class[nodes[child]["eclass"]] for child in node["children"]))))
            for name, node in nodes.items()
        }
    return Counter(colour.values())


def expressions(nodes: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
    """Without the relations, which say things about expressions, and what only those name."""
    kept = {n: x for n, x in nodes.items() if data[x["eclass"]]["type"] == "Expr"}
    below = {child for x in kept.values() for child in x["children"]}
    return {n: x for n, x in nodes.items() if n in kept or n in below}


def test_the_export_is_what_egglog_serialises_of_the_same_e_graph(fused: Equalities) -> None:
    from egglog import bindings

    (owed,) = [o for o in obligations(fused.program, fused.sgraph) if o.tensor == "k2.b5"]
    assert owed.statement is not None
    goal = search_problem(owed.statement)
    graph = bindings.EGraph()
    rules = "\n".join(c.rule() for c in CONDITIONS)
    sides = f"(let $left {goal.left})\n(let $right {goal.right})"
    graph.run_program(*graph.parse_program("\n".join((SIGNATURE, rules, goal.facts, sides))))
    theirs = json.loads(graph.serialize([]).to_json())
    ours = json.loads(json.dumps(fused.lemma("k2.b5", searched=True).frames[0].to_json()))

    assert set(theirs) == set(ours)
    assert {frozenset(n) for n in theirs["nodes"].values()} == {frozenset(n) for n in ours["nodes"].values()}
    their_nodes = expressions(theirs["nodes"], theirs["class_data"])
    assert colours(their_nodes) == colours(ours["nodes"])
    assert {"$left", "$right"} == {d["let"] for d in ours["class_data"].values() if "let" in d}
    assert {d["type"] for d in ours["class_data"].values()} <= {d["type"] for d in theirs["class_data"].values()}


def test_every_frame_exports_a_graph_without_loose_ends(division: Growth) -> None:
    for frame in division.frames:
        whole = frame.to_json()

        assert all(child in whole["nodes"] for n in whole["nodes"].values() for child in n["children"])
        assert {n["eclass"] for n in whole["nodes"].values()} == set(whole["class_data"])
        assert set(whole["root_eclasses"]) == set(frame.roots)
        assert frame.nodes == sum(whole["class_data"][n["eclass"]]["type"] == "Expr" for n in whole["nodes"].values())


def test_a_transformer_block_is_cut_where_its_sides_meet() -> None:
    """Its forms in full are longer than any budget; each lemma is one kernel's."""
    (entry,) = (e for e in RIGHT if e.name == "transformer_block-five-kernels")

    found = equalities(program_of(entry.workload), sgraph_of(entry))

    assert found.disagreement is None
    assert len(found.shared) > 20
    started = time.process_time()
    assert all(isinstance(found.lemma(tensor).stop, Proved) for tensor in (*found.tensors[-3:], "goal"))
    assert time.process_time() - started < 10.0
