"""What a search leaves out is a row that can be doubted: code, rule, formula, numbers, count, what reopens it."""

from dataclasses import replace

import pytest

import prism_explore as px
from prism_explore.events.kinds import CandidateRejected, RegionPruned, Soundness
from prism_explore.events.ledger import ledger
from prism_explore.pipeline.search_space import default_space
from tests.generate.programs import attention, gate, rms_linear_small, rmsnorm_linear, root_mean_square, softmax

SOUNDNESS = set(Soundness.__args__)


def searched(program, target="h100", **limits):
    space = replace(default_space(program), rows=0, **limits)
    sess = px.Session(program, target=target, at=dict.fromkeys(program.graph.data_symbols, 4), space=space)
    sess.run()
    sess.close()
    return sess


SMALL_MEMORY = px.target("h100").replace(shared_memory_bytes=512)
CASES = {
    "norm": (rms_linear_small(), {}),
    "gate": (gate(), {}),
    "softmax": (softmax(), {}),
    "root": (root_mean_square(), {}),
    "attention": (attention(), {}),
    "few operators": (rmsnorm_linear(d=8, n=8), {"block_ops": 7}),
    "few nodes": (rms_linear_small(), {"nodes": 9}),
    "no time": (rms_linear_small(), {"time_s": 0.0}),
    "one accumulator": (rms_linear_small(), {"accumulators": 1}),
    "little memory": (rmsnorm_linear(d=64, n=64), {"target": SMALL_MEMORY}),
}


@pytest.fixture(scope="module")
def searches():
    return {name: searched(program, **how) for name, (program, how) in CASES.items()}


def test_every_row_names_code_rule_formula_numbers_soundness_and_what_reopens_it(searches):
    for name, sess in searches.items():
        rows = [e for e in sess.journal.events if isinstance(e, RegionPruned | CandidateRejected)]
        assert rows, name
        for fact in rows:
            why = fact.reason
            assert why.code and why.rule and why.sentence and why.formula and why.would_reopen_if, (name, fact)
            assert why.substitution, (name, fact)
            assert why.soundness in SOUNDNESS
            if isinstance(fact, RegionPruned):
                assert fact.stood_for >= 1.0, (name, fact)
                assert fact.counted in ("exact", "estimate")


def test_the_rules_that_the_cases_are_made_for_cut_something_in_them(searches):
    def rules(name):
        return {cut.rule for cut in ledger(searches[name].journal.events).prune_counts}

    assert "limit.ops" in rules("few operators") or "limit.needed" in rules("few operators")
    assert "budget.nodes" in rules("few nodes")
    assert "budget.time" in rules("no time")
    assert "limit.accumulators" in rules("one accumulator")
    assert "mem.smem" in rules("little memory")


def test_the_ledger_adds_up_to_the_rows(searches):
    for sess in searches.values():
        events = sess.journal.events
        cuts = ledger(events).prune_counts
        assert sum(isinstance(e, RegionPruned) for e in events) == sum(c.count for c in cuts if c.what == "region")
        assert sum(isinstance(e, CandidateRejected) for e in events) == sum(c.count for c in cuts if c.what == "maps")
        assert all(c.formula and c.reopens and c.sentence and c.example for c in cuts)


def test_a_search_that_finds_nothing_names_the_restriction_that_stopped_each_near_miss(searches):
    sess = searches["few operators"]

    assert not sess.families
    assert sess.near_misses
    assert all(miss.rule and miss.description for miss in sess.near_misses)
    assert {"limit.ops", "limit.needed"} & {miss.rule for miss in sess.near_misses}
    assert "Nearest misses:" in sess.claim
    assert "Funnel:" in sess.claim
    assert sess.what_if(space=replace(sess.task.space, block_ops=11)).reopened
