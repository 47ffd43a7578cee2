"""What a search that proves nothing says: its funnel, and what came farthest with what stopped it."""

from dataclasses import replace

import pytest

import prism_explore as px
from prism_explore.pipeline.search_space import Operators, default_space
from tests.generate.programs import rms_linear_small

PROGRAM = rms_linear_small()
FEW = Operators((), (), ("div",), True, ("rms",), ("plain", "rms"))
SPACE = replace(default_space(PROGRAM), block=FEW, block_ops=len(PROGRAM.inputs) + 4, rows=0)


def searched(space, target="h100"):
    sess = px.Session(PROGRAM, target=target, at={"b": 4}, space=space)
    sess.run()
    sess.close()
    return sess


@pytest.mark.parametrize(
    ("rule", "space", "target"),
    [
        ("limit.ops", replace(SPACE, block_ops=4), "h100"),
        ("expr.unreachable", replace(SPACE, block=replace(FEW, binary=("mul",))), "h100"),
        ("budget.nodes", replace(SPACE, nodes=4), "h100"),
        ("mem.smem", SPACE, px.target("h100").replace(shared_memory_bytes=4)),
    ],
)
def test_the_restriction_that_stopped_everything_is_among_the_nearest_misses(rule, space, target):
    sess = searched(space, target)

    assert 0 == sum(h.row.proved for h in sess.families.values())
    assert rule in {m.rule for m in sess.near_misses}
    assert (
        f"Funnel: {len([e for e in sess.journal.events if type(e).__name__ == 'NodeExpanded'])} partial" in sess.claim
    )
    assert "Nearest misses: " in sess.claim
    for miss in sess.near_misses:
        assert f"{miss.subject}, {miss.description}" in sess.claim


def test_a_search_that_proved_something_has_no_misses():
    sess = searched(SPACE)

    assert () == sess.near_misses
    assert "Nearest misses" not in sess.claim


def test_wrong_candidates_come_before_graphs_that_were_never_whole():
    off = frozenset({"expr.unreachable", "expr.apart"})
    sess = searched(replace(SPACE, block=replace(FEW, binary=("mul",)), rules_off=off))
    stages = [m.stage for m in sess.near_misses]

    assert "refuted" == stages[0]
    assert stages == sorted(stages, key=["unknown", "refuted", "maps", "graph"].index)
    assert all(not m.reopens for m in sess.near_misses if m.stage == "refuted")


def test_a_relaxed_restriction_lets_the_nearest_miss_pass():
    missed = searched(replace(SPACE, block_ops=4))
    nearest = next(m for m in missed.near_misses if m.rule == "limit.ops")

    assert "larger number of operators" in nearest.reopens
    assert missed.what_if(space=SPACE, run=True).ran.gained
