"""A cut that is audited: its region is searched again beside the search, and the answer says what was found."""

from dataclasses import replace

import pytest

import prism_explore as px
from prism_explore.course.chapters.why_was_this_pruned import PRODUCT_FIRST, TASK, families, pruned_by, search
from prism_explore.diagnose.audit import audit
from prism_explore.events.kinds import NodeExpanded
from prism_explore.generate.abstract_expr.polynomial import show
from prism_explore.generate.abstract_expr.subexpression import Goal
from prism_explore.generate.pruning.rule import Checks, Failure, PruningRule
from prism_explore.generate.pruning.rules import RULES
from prism_explore.ir.ops import Binary
from prism_explore.pipeline.search_space import Operators, default_space
from tests.generate.programs import rms_linear_small

PROGRAM = rms_linear_small()
FEW = Operators((), (), ("div",), True, ("rms",), ("plain", "rms"))
SPACE = replace(default_space(PROGRAM), block=FEW, block_ops=len(PROGRAM.inputs) + 4)


def session(space=SPACE, target="h100"):
    return px.Session(PROGRAM, target=target, at={"b": 4}, space=space)


def searched(space=SPACE):
    sess = session(space)
    sess.run()
    sess.close()
    return sess


@pytest.fixture(scope="module")
def sound():
    return searched()


QUOTIENT = "x/√(μd x²)"


@pytest.fixture
def unsound(monkeypatch):
    """A search whose rule takes x / rms(x) for no part of the program, which it is."""
    honest = Goal.reaches
    monkeypatch.setattr(Goal, "reaches", lambda goal, e: show(e) != QUOTIENT and honest(goal, e))
    return searched()


def regions(sess, rule):
    return [k for k, h in sess.pruned.items() if h.reason.rule == rule]


def cut_of(sess, operator):
    return next(k for k, h in sess.pruned.items() if h.event.operator == operator)


def test_a_rule_that_loses_a_family_is_found_out(sound, unsound):
    found = unsound.pruned[cut_of(unsound, "div(%0, %2)")].audit()

    assert len(sound.families) - 2 == len(unsound.families)  # the family and what it is split into
    assert "wrong" == found.answer
    missing = {h._text() for h in sound.families.values()} - {h._text() for h in unsound.families.values()}
    assert missing == {f.sgraph for f in found.lost}
    assert "was pruned wrongly" in found.text
    assert "" == found.spent_budget


def test_a_rule_that_lost_nothing_is_confirmed_with_what_was_searched(sound):
    found = sound.pruned[cut_of(sound, "div(%0, %0)")].audit()

    assert "right" == found.answer
    assert (0, ()) == (found.proved, found.lost)
    assert found.nodes > 10
    assert found.candidates == found.refuted > 0
    assert "was pruned rightly" in found.text


def test_no_cut_by_a_sound_rule_is_found_wrong(sound):
    answers = {sound.audit(k).answer for k in sound.pruned}

    assert {"right", "covered"} <= answers <= {"right", "covered", "undecided"}


def test_a_budget_that_ends_an_audit_makes_no_cut_right(sound, unsound):
    for sess, operator, budget in (
        (sound, "div(%0, %0)", {"nodes": 3}),
        (sound, "div(%0, %0)", {"candidates": 2}),
        (unsound, "div(%0, %2)", {"nodes": 1}),
    ):
        found = sess.pruned[cut_of(sess, operator)].audit(**budget)
        assert "undecided" == found.answer
        assert next(iter(budget)) == found.spent_budget
        assert "does not show that the pruning was right" in found.text


def test_an_audit_leaves_the_session_and_its_journal_alone(sound):
    before = sound.journal.events
    region = cut_of(sound, "div(%0, %0)")

    first, second = sound.audit(region), sound.audit(region)

    assert before == sound.journal.events
    assert "finished" == sound.state
    assert first == second
    assert first.journal.events == second.journal.events


def test_a_region_of_many_steps_is_audited_by_its_first_ones_on_request(sound):
    region = next(k for k in regions(sound, "expr.unreachable") if sound.audit(k).steps > 3)
    found = sound.audit(region, steps=2)

    assert 2 == len(found.audited)
    assert found.steps > 3
    assert found.answer != "right"


def test_what_another_rule_cuts_at_once_is_covered_until_that_is_off_too(sound):
    region = next(k for k in regions(sound, "expr.unreachable") if sound.audit(k).answer == "covered")
    found = sound.audit(region)
    further = sound.audit(region, rules_off=["map.constraint", "limit.needed", "limit.ops", "limit.terms"])

    assert 0 == found.nodes
    assert "map.constraint" in found.text
    assert further.nodes > 0
    assert not further.lost


def test_an_audit_goes_into_steps_before_the_cut_that_the_search_did_not_try_again_behind_it(sound):
    region = sound.pruned[cut_of(sound, "div(%0, %0)")].event
    before = [e.operator for e in sound.journal.events if isinstance(e, NodeExpanded) and e.parent == region.parent]
    found = sound.audit(region.region)
    inside = {e.operator for e in found.journal.events if isinstance(e, NodeExpanded)}

    assert "accum_rms(%0, dim=1)" in before  # it ranks below the quotient
    assert {"div(%0, %0)", "accum_rms(%0, dim=1)"} <= inside


def test_a_proved_family_beyond_a_limit_of_the_space_is_no_loss():
    sess = searched(replace(SPACE, accumulators=1))
    answers = [sess.audit(k) for k in regions(sess, "limit.accumulators")]
    excluded = [f for found in answers for f in found.found if f.status == "excluded"]

    assert excluded
    assert {"accumulators of a block graph: 2 > 1"} == {f.explanation for f in excluded}
    assert "wrong" not in {found.answer for found in answers}


def test_what_a_budget_left_out_is_gained_by_its_audit(sound):
    short = searched(replace(SPACE, nodes=8))
    budget = regions(short, "budget.nodes")
    found = [short.audit(k) for k in budget]
    gained = {f.sgraph for a in found for f in a.lost}

    assert "gained" in {a.answer for a in found}
    assert {h._text() for h in sound.families.values()} == {h._text() for h in short.families.values()} | gained


def test_a_search_that_has_not_ended_is_not_said_to_have_lost_what_it_lacks(unsound):
    facts = unsound.journal.events
    found = audit(unsound.task, facts[:-1], cut_of(unsound, "div(%0, %2)"))

    assert "undecided" == found.answer
    assert "has not ended" in found.text


def test_a_family_that_was_rejected_is_audited_as_what_it_would_have_come_to():
    sess = session()
    sess.step(grain="family")
    sess.reject("f1")
    sess.run()
    sess.close()
    found = sess.audit("f1")

    assert "gained" == found.answer
    assert "which you rejected" in found.text
    assert 3 == found.proved


def test_an_audit_of_nothing_says_what_there_is(sound):
    with pytest.raises(px.ShapeError, match=r"nothing to audit by the name 'p9999'; there are subtrees p1 to p\d+"):
        sound.audit("p9999")
    with pytest.raises(px.ShapeError, match="nodes start at 1, found 0"):
        sound.audit("p1", nodes=0)
    with pytest.raises(px.ShapeError, match="no pruning rule nonsense"):
        sound.audit("p1", rules_off=["nonsense"])


def test_facts_of_another_search_are_refused(sound):
    other = replace(sound.task, space=replace(SPACE, block=replace(FEW, binary=("mul",))))
    with pytest.raises(px.ShapeError, match="prunes no subtree"):
        audit(other, sound.journal.events, cut_of(sound, "div(%0, %0)"))


def test_a_recorded_search_says_that_it_cannot_be_audited(sound, tmp_path):
    opened = px.load(sound.save(tmp_path / "run.prism"))

    with pytest.raises(px.ShapeError, match=r"belongs to a recorded search.*px\.Session"):
        opened.pruned["p1"].audit()


def test_a_sample_of_all_rules_says_per_rule_how_many_cuts_were_right(sound):
    found = sound.audit(sample=2, seed=3)
    cut = {r: len(regions(sound, r)) for r in {h.reason.rule for h in sound.pruned.values()}}

    assert cut == {row.rule: row.regions for row in found.rows}
    assert all(min(2, row.regions) == len(row.audits) for row in found.rows)
    assert () == found.wrong
    assert found == sound.audit(sample=2, seed=3)
    assert "No audited pruning was found wrong." in repr(found)
    assert all("are (95%)" in repr(found) for row in found.rows if row.wrong_share_bound)
    assert "choices of maps; these are not audited" in repr(found)


def test_a_sample_finds_the_rule_that_loses_a_family(unsound):
    found = unsound.audit(sample=len(unsound.pruned))

    assert {"expr.unreachable"} == {a.rule for a in found.wrong}
    assert None is next(row.wrong_share_bound for row in found.rows if row.rule == "expr.unreachable")
    assert "was pruned wrongly" in repr(found)


def test_a_sample_ends_with_its_time_and_says_how_much_is_left(sound):
    ticks = iter(range(10**6))
    found = sound.audit(sample=5, seconds=40.0, clock=lambda: float(next(ticks)))
    whole = sound.audit(sample=5)

    assert 0 == whole.not_reached
    assert found.not_reached > 0
    assert f"The time was over before {found.not_reached} more subtrees" in repr(found)
    assert found.text.endswith(f"before {found.not_reached} more subtrees of the sample.")
    assert sum(len(r.audits) for r in found.rows) + found.not_reached == sum(len(r.audits) for r in whole.rows)
    for part, row in zip(found.rows, whole.rows, strict=True):
        assert set(part.audits) <= set(row.audits)


def test_a_sample_of_nothing_is_refused(sound):
    with pytest.raises(px.ShapeError, match="is above 0, found seconds=0"):
        sound.audit(sample=1, seconds=0)
    with pytest.raises(px.ShapeError, match="a sample starts at 1, found 0"):
        sound.audit(sample=0)


def test_a_row_that_is_added_to_the_table_is_audited_like_the_others():
    found = [audit(TASK, search(PRODUCT_FIRST), r.region, rules=(PRODUCT_FIRST, *RULES)) for r in added_prunings()]

    assert {"wrong", "covered"} == {a.answer for a in found}
    assert {(PRODUCT_FIRST.name,)} == {a.rules_off for a in found}
    lost = {f.sgraph for a in found for f in a.lost}
    assert lost == set(families(search())) - set(families(search(PRODUCT_FIRST)))


def test_an_audit_without_the_added_row_says_that_the_search_was_another_one():
    with pytest.raises(px.ShapeError, match="prunes no subtree"):
        audit(TASK, search(PRODUCT_FIRST), added_prunings()[0].region)


def added_prunings():
    return pruned_by(search(PRODUCT_FIRST), PRODUCT_FIRST.name)


def test_an_audit_of_a_rule_that_reads_positions_says_where_its_test_belongs():
    def is_early(step):
        return Failure(f"operands {step.args} come last", "") if isinstance(step.op, Binary) else None

    row = PruningRule("toy.early", "Operands come last.", "A guess.", "it were allowed", checks=Checks(typing=is_early))

    with pytest.raises(px.ShapeError, match=r"If toy.early is a rule of yours: .* put other tests into checks.block"):
        for subtree in pruned_by(search(row), row.name):
            audit(TASK, search(row), subtree.region, rules=(row, *RULES))
