"""The frames of an e-graph against a plain computation, which looks at everything again until nothing changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from hypothesis import given, settings
from hypothesis import strategies as st

from prism_explore.verify.egraph.frames import Frame, make_frames

Node: TypeAlias = tuple[str, tuple[str, ...]]
"""An operator and the classes of its children."""
Step: TypeAlias = dict[str, Any]
OPERATORS = {"a": 0, "b": 0, "c": 0, "f": 1, "g": 1, "h": 2}


@st.composite
def growths(draw: st.DrawFn) -> list[Step]:
    """Steps of an e-graph that gets nodes, whose classes merge, and have other names in each step."""
    owner: dict[Node, int] = {("a", ()): 0, ("b", ()): 1}
    steps: list[Step] = []
    for number in range(draw(st.integers(1, 5))):
        for _ in range(draw(st.integers(0, 4))):
            known = sorted(set(owner.values()))
            op = draw(st.sampled_from(sorted(OPERATORS)))
            below = tuple(str(draw(st.sampled_from(known))) for _ in range(OPERATORS[op]))
            owner.setdefault((op, below), draw(st.sampled_from((*known, max(known) + 1))))
        for _ in range(draw(st.integers(0, 2)) if number else 0):
            known = sorted(set(owner.values()))
            unite(owner, draw(st.sampled_from(known)), draw(st.sampled_from(known)))
        known = sorted(set(owner.values()))
        names = dict(zip(known, draw(st.permutations([str(n) for n in range(len(known))])), strict=True))
        rows = [[op, [], [names[int(child)] for child in below], names[own]] for (op, below), own in owner.items()]
        roots = [names[known[0]], names[known[-1]]]
        steps.append({"iteration": number, "axiom": "x" * number, "matches": 1, "nodes": sorted(rows), "roots": roots})
    return steps


def unite(owner: dict[Node, int], one: int, other: int) -> None:
    """Merge two classes and, again and again, classes with equal nodes."""
    pending = [(one, other)]
    while pending:
        old, new = sorted(pending.pop(), reverse=True)
        renamed: dict[Node, int] = {}
        for (op, below), own in list(owner.items()):
            node = op, tuple(str(new) if child == str(old) else child for child in below)
            own = new if own == old else own
            if renamed.setdefault(node, own) != own:
                pending.append((renamed[node], own))
        owner.clear()
        owner.update(renamed)
        pending = [(min(p, new) if p == old else p, min(q, new) if q == old else q) for p, q in pending]
        pending = [(p, q) for p, q in pending if p != q]


def plain_frames(steps: Sequence[Step]) -> list[tuple[object, ...]]:
    """What `plain` makes of frames, computed slowly."""
    same: dict[int, int] = {}
    nodes: dict[tuple[str, tuple[int, ...]], tuple[int, int]] = {}
    created = 0
    out: list[tuple[object, ...]] = []

    def find(c: int) -> int:
        return c if same[c] == c else find(same[c])

    for step in steps:
        before = [(op, below, find(own)) for (op, below), (_, own) in nodes.items()]
        of: dict[str, int] = {}
        old = {c for c in same if same[c] == c}
        changed = True
        while changed:
            changed = False
            canonical: dict[tuple[str, tuple[int, ...]], tuple[int, int]] = {}
            for (op, below), (number, own) in nodes.items():
                key = op, tuple(map(find, below))
                known = canonical.setdefault(key, (number, own))
                if find(known[1]) != find(own):
                    older, younger = sorted((find(known[1]), find(own)))
                    same[younger], changed = older, True
                canonical[key] = min(known, (number, own))
            nodes = canonical
            for op, _, below, own in step["nodes"]:
                known = nodes.get((op, tuple(find(of[b]) for b in below))) if all(b in of for b in below) else None
                if known is not None and own not in of:
                    of[own], changed = find(known[1]), True
                elif known is not None and find(of[own]) != find(known[1]):
                    older, younger = sorted((find(of[own]), find(known[1])))
                    same[younger], changed = older, True
        new: list[int] = []
        while True:
            ready: dict[str, list[tuple[str, tuple[int, ...]]]] = {}
            for op, _, below, own in step["nodes"]:
                if own not in of and all(b in of for b in below):
                    ready.setdefault(own, []).append((op, tuple(find(of[b]) for b in below)))
            if not ready:
                break
            for own in sorted(ready, key=lambda name: min(ready[name])):
                of[own] = len(same) + 1
                same[of[own]] = of[own]
                new.append(of[own])
        rows = {(op, tuple(find(of[b]) for b in below)): find(of[own]) for op, _, below, own in step["nodes"]}
        for key in sorted(rows.keys() - nodes.keys()):
            created += 1
            nodes[key] = created, rows[key]
        merges: list[tuple[int, list[int], bool]] = []
        for survivor in sorted(c for c in old if find(c) == c):
            absorbed = sorted(c for c in old if find(c) == survivor and c != survivor)
            group = {survivor}
            for _ in absorbed:
                group |= {
                    own
                    for op, below, own in before
                    for op2, below2, own2 in before
                    if own2 in group and op == op2 and [find(b) for b in below] == [find(b) for b in below2]
                }
            if absorbed:
                merges.append((survivor, absorbed, set(absorbed) <= group))
        classes = sorted((find(own), number, op, below) for (op, below), (number, own) in nodes.items())
        out.append((classes, new, merges, [find(of[r]) for r in step["roots"]]))
    return out


def plain(frame: Frame) -> tuple[object, ...]:
    """A frame with numbers instead of ids."""
    classes = [
        (int(c.id[1:]), int(n.id[1:]), n.op, tuple(int(child[1:]) for child in n.children))
        for c in frame.classes
        for n in c.nodes
    ]
    merges = [(int(m.survivor[1:]), [int(a[1:]) for a in m.absorbed], m.is_congruence) for m in frame.merged]
    return classes, [int(c[1:]) for c in frame.added], merges, [int(r[1:]) for r in frame.roots]


@settings(max_examples=300, deadline=None)
@given(growths())
def test_frames_are_those_of_the_plain_computation(steps: list[Step]) -> None:
    frames = make_frames(steps)
    numbers = [int(n[1:]) for f in frames for n in f.added_nodes]

    assert plain_frames(steps) == [plain(frame) for frame in frames]
    assert list(range(1, len(numbers) + 1)) == numbers


def test_a_merge_by_congruence_below_an_older_merge_is_told_apart() -> None:
    """b is merged into a first; then f(x) and f(y) are, whose owner b was, because x and y are."""
    leaves = [["At", [f'"{n}"'], [], n] for n in "abxy"]
    start = [*leaves, ["F", [], ["x"], "b"], ["F", [], ["y"], "v"]]
    one = [*leaves[:1], ["At", ['"b"'], [], "a"], *leaves[2:], ["F", [], ["x"], "a"], ["F", [], ["y"], "v"]]
    two = [*one[:3], ["At", ['"y"'], [], "x"], ["F", [], ["x"], "a"]]
    steps = [
        {"iteration": n, "axiom": axiom, "matches": 1, "nodes": nodes, "roots": ["a", "a"]}
        for n, (axiom, nodes) in enumerate((("", start), ("a is b", one), ("x is y", two)))
    ]

    assert [("e1", ("e2",), False)] == [(m.survivor, m.absorbed, m.is_congruence) for m in make_frames(steps)[1].merged]
    assert [("e1", ("e5",), True), ("e3", ("e4",), False)] == [
        (m.survivor, m.absorbed, m.is_congruence) for m in make_frames(steps)[2].merged
    ]
