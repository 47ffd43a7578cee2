"""What another setting would open: every pruned step is tried there again."""

from dataclasses import replace

import pytest

import prism_explore as px
from prism_explore.events.kinds import RegionPruned
from prism_explore.pipeline.search_space import Operators, default_space
from tests.generate.programs import rms_linear_small, rmsnorm_linear

PROGRAM = rms_linear_small()
FEW = Operators((), (), ("div",), True, ("rms",), ("plain", "rms"))
SPACE = replace(default_space(PROGRAM), block=FEW, block_ops=len(PROGRAM.inputs) + 4)


def searched(space=SPACE, program=PROGRAM, target="h100"):
    sess = px.Session(program, target=target, at={"b": 4}, space=space)
    sess.run()
    sess.close()
    return sess


@pytest.fixture(scope="module")
def sess():
    return searched()


def row(found, rule):
    return next(r for r in found.rows if r.rule == rule)


def test_nothing_changed_opens_and_closes_nothing(sess):
    found = sess.what_if(run=True)

    assert () == found.reopened == found.admitted_maps == found.excluded_maps
    assert (0, 0) == (found.admitted_steps, found.excluded_nodes)
    assert {0} == {r.covered + r.unreached for r in found.rows}
    assert (6, (), ()) == (found.ran.common, found.ran.gained, found.ran.missing)
    assert "no pruned subtree reopens" in found.text


def test_every_region_that_was_cut_is_counted_once(sess):
    found = sess.what_if(rules_off=["expr.unreachable"])

    assert len(sess.pruned) == sum(r.regions for r in found.rows)


def test_a_rule_that_is_off_reopens_its_own_regions_or_leaves_them_to_others(sess):
    found = sess.what_if(rules_off=["expr.unreachable"])
    mine = row(found, "expr.unreachable")

    assert mine.reopened
    assert mine.regions == len(mine.reopened) + mine.covered
    assert set(mine.reopened) == set(found.reopened)
    for region in mine.reopened:
        assert "expr.unreachable" == sess.pruned[region].reason.rule


def test_more_shared_memory_reopens_what_memory_cut_and_nothing_else():
    program = rmsnorm_linear(weight=False, eps=False)
    small = px.target("h100").replace(shared_memory_bytes=8 * 1024)
    space = replace(default_space(program), block=FEW, block_ops=6)
    sess = searched(space, program, small)
    found = sess.what_if(target=small.replace(shared_memory_bytes=1 << 20), run=True)

    assert {"mem.smem"} == {r.rule for r in found.rows if r.reopened}
    assert 0 == found.excluded_nodes
    assert "8,192 B -> 1,048,576 B" in found.text
    assert () == found.ran.missing


def test_a_larger_limit_opens_what_a_search_there_then_finds():
    short = searched(replace(SPACE, block_ops=len(PROGRAM.inputs) + 3))
    found = short.what_if(space=SPACE, run=True)

    assert row(found, "limit.ops").reopened
    assert 4 == found.ran.common
    assert 2 == len(found.ran.gained)
    assert "accum_rms" in found.ran.gained[0]


def test_a_smaller_limit_closes_nodes_and_loses_families(sess):
    found = sess.what_if(space=replace(SPACE, block_ops=len(PROGRAM.inputs) + 3), run=True)

    assert found.excluded_nodes > 0
    assert ("f3", "f6") == found.ran.missing  # and what it is split into


def test_what_a_budget_left_is_estimated_not_counted():
    short = searched(replace(SPACE, nodes=8))
    found = short.what_if(space=SPACE, run=True)

    assert row(found, "budget.nodes").reopened
    assert any("It is not known in advance" in said for said in found.estimated)
    assert (2, 4) == (found.ran.common, len(found.ran.gained))


def test_what_was_left_after_the_last_family_is_reopened_by_that_budget_alone():
    short = searched(replace(SPACE, nodes_after_family=1))
    more_nodes = short.what_if(space=replace(SPACE, nodes=SPACE.nodes + 1, nodes_after_family=1))

    assert row(short.what_if(space=SPACE), "budget.nodes").reopened
    assert not row(more_nodes, "budget.nodes").reopened


def test_more_families_reopen_what_their_budget_left():
    short = searched(replace(SPACE, families=1))
    found = short.what_if(space=SPACE, run=True)

    assert row(found, "budget.families").reopened
    assert any("more families" in said for said in found.estimated)
    assert found.ran.gained and not found.ran.missing


def test_asking_changes_nothing_and_says_the_same_again(sess):
    before = sess.journal.events
    first, second = (sess.what_if(rules_off=["map.constraint"], run=True) for _ in range(2))

    assert first == second
    assert before == sess.journal.events
    assert sum(isinstance(e, RegionPruned) for e in before) == len(sess.pruned)


def test_a_rule_that_does_not_exist_is_named(sess):
    with pytest.raises(px.ShapeError, match="no pruning rule nonsense; there are"):
        sess.what_if(rules_off=["nonsense"])
