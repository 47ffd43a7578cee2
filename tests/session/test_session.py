"""The whole road on a small program: stepped, steered, tuned, asked for its result."""

from itertools import takewhile

import numpy as np
import pytest
import torch

import prism_explore as px
from prism_explore.events.kinds import (
    BaselineMeasured,
    CandidateInstantiated,
    ExplorationFinished,
    FamilyCompleted,
    Steered,
    TrialMeasured,
    VerdictReached,
)
from prism_explore.ir.graph import SGraph

B, D, N = 5, 64, 96
QUICK = px.Budget(trials=1, seconds=1)
"""Where any proved kernel will do: one trial, which always runs, and whose rounds end after half a second."""


def rmsnorm_linear(x, g, w):
    return torch.nn.functional.rms_norm(x, (x.shape[-1],), g, eps=1e-6) @ w


def session(baselines=("torch eager",), **more):
    shapes = {"x": px.T("b", D), "g": px.T(D), "w": px.T(D, N)}
    budget = px.Budget(trials=4, seconds=8)  # few seconds make races short: nothing here asks who wins
    return px.Session(
        rmsnorm_linear, **shapes, target=machine(), at={"b": B}, budget=budget, baselines=baselines, **more
    )


def machine():
    """A CPU with made-up rates: a test neither measures the machine nor depends on it."""
    return px.Target(
        name="cpu",
        kind="cpu",
        peak_flops_per_s=1e12,
        peak_half_flops_per_s=1e12,
        dram_bytes_per_s=1e12,
        shared_memory_bytes=1 << 20,
        caches_bytes=(1 << 15, 1 << 20, 1 << 21),
        cores=2,
        max_blocks=1 << 20,
        max_threads=1,
        launch_s=1e-6,
        source="made up for a test",
        measured=False,
    )


@pytest.fixture(scope="module")
def finished():
    sess = session(baselines=("torch eager", "torch.compile"))
    sess.run()
    sess.best("all rivals")
    yield sess
    sess.close()


@pytest.fixture
def sess():
    made = session()
    yield made
    made.close()


def test_the_search_ends_with_proved_families_and_says_what_it_shows(finished):
    assert finished.state == "finished"
    assert any(f.row.status == "proved" for f in finished.families.values())
    assert finished.claim.startswith("Best of the")
    assert isinstance(finished.journal.events[-1], ExplorationFinished)


def test_every_candidate_that_was_instantiated_has_a_verdict(finished):
    candidates = {e.candidate for e in finished.journal.events if isinstance(e, CandidateInstantiated)}
    decided = {e.candidate for e in finished.journal.events if isinstance(e, VerdictReached)}

    assert candidates
    assert candidates == decided


def test_nothing_is_timed_that_was_not_proved_first(finished):
    proved = set()
    for event in finished.journal.events:
        if isinstance(event, VerdictReached) and event.verdict == "proved":
            proved.add(event.candidate)
        if isinstance(event, TrialMeasured):
            assert event.candidate in proved


def test_the_best_kernel_is_called_like_the_function_and_agrees_with_it(finished):
    best = finished.best().kernel
    x, g, w = torch.randn(B, D), torch.randn(D), torch.randn(D, N)

    np.testing.assert_allclose(rmsnorm_linear(x, g, w), best(x, g, w), rtol=2e-4, atol=2e-5)
    np.testing.assert_allclose(best(x, g=g, w=w), best(x, g, w))


def test_the_best_kernel_comes_with_its_evidence(finished):
    best = finished.best()

    assert best.error < 1e-4
    assert max(best.check(2)) < 1e-4
    assert "proved by" in best.proof
    assert all(lemma.replayed for lemma in best.verified.proof.lemmas)
    assert best.verified.proof.lemmas
    assert "@triton.jit" in best.triton
    assert best.source


def test_rivals_were_measured_in_the_same_run(finished):
    names = [e.name for e in finished.journal.events if isinstance(e, BaselineMeasured)]

    assert {"ours", "torch eager", "torch.compile", "roofline"} <= set(names)
    assert set(finished.best().ratios) == set(names) - {"ours"}


def test_a_call_with_another_shape_says_what_was_tuned_for(finished):
    with pytest.raises(px.ShapeError, match=r"\(6, 64\)"):
        finished.best()(torch.randn(6, D), torch.randn(D), torch.randn(D, N))


def test_a_step_does_one_thing_and_returns_what_happened(sess):
    first = sess.step()
    families = sess.step(grain="family")

    assert 1 <= len(first)
    assert 1 == sum(isinstance(e, FamilyCompleted) for e in families)
    assert sess.state == "paused"
    assert list(sess.journal.events) == first + families


def test_a_family_that_is_rejected_gets_no_more_work_until_it_is_undone(sess):
    sess.step(grain="family")
    rejected = next(iter(sess.families))
    sess.reject(rejected, note="not this one")

    sess.run()
    verdicts = [e for e in sess.journal.events if isinstance(e, VerdictReached)]
    tried = {e.candidate.split(".")[0] for e in sess.journal.events if isinstance(e, TrialMeasured)}
    assert rejected not in tried
    assert "by you" in sess.claim

    sess.undo()
    assert sess.state == "paused"
    sess.run()
    assert sess.state == "finished"
    assert rejected in {e.candidate.split(".")[0] for e in sess.journal.events if isinstance(e, VerdictReached)}
    assert len(verdicts) <= len([e for e in sess.journal.events if isinstance(e, VerdictReached)])
    assert "by you" not in sess.claim


def test_undo_and_redo_without_anything_to_take_back_do_nothing(sess):
    sess.undo()
    sess.redo()

    assert not [e for e in sess.journal.events if isinstance(e, Steered)]


def test_rejecting_what_does_not_exist_says_what_there_is(sess):
    with pytest.raises(px.ShapeError, match="no family 'f99' to reject; there are none yet"):
        sess.reject("f99")


def test_same_seed_and_same_steering_give_the_same_stream_up_to_the_stop_watch():
    def stream():
        sess = session(seed=3)
        sess.step(grain="family")
        sess.reject(next(iter(sess.families)))
        sess.run(until=lambda s: any(isinstance(e, TrialMeasured) for e in s.journal.events))
        sess.close()
        return list(takewhile(lambda e: not isinstance(e, TrialMeasured), sess.journal.events))

    first, second = stream(), stream()

    assert any(isinstance(e, VerdictReached) for e in first)
    assert first == second


def test_a_saved_search_shows_the_same_when_it_is_opened_again(finished, tmp_path):
    opened = px.load(finished.save(tmp_path / "run.prism"))

    assert finished.journal.events == opened.journal.events
    assert finished.claim == opened.claim
    assert list(finished.families) == list(opened.families)
    assert finished.text("families") == opened.text("families")
    assert opened.svg().startswith("<svg")


def test_every_pruned_region_says_why(finished):
    assert finished.pruned
    for handle in list(finished.pruned.values())[:50]:
        assert handle.reason.code in handle.why()
        assert handle.reason.sentence in handle.why()
        assert handle.reason.soundness in ("sound", "heuristic", "budget", "user")
    assert sum(finished.pruned.by_reason().values()) == len(finished.pruned)


def test_a_family_shows_its_graph_its_candidates_and_its_proof(finished):
    best = finished.best().candidate
    family = finished.families[best.split(".")[0]]

    assert isinstance(family.graph, SGraph)
    assert family.graph.is_open
    assert not family.candidates[best].is_open
    assert "proved" in family.why()
    assert "lemmas from axioms alone" in family.proof
    assert "<svg" in family._repr_mimebundle_()["image/svg+xml"]


def test_submit_does_what_a_click_asks_without_waiting(sess):
    sess.submit("step", n=1, grain="family")
    sess.submit("select", id="f1")
    sess.run(until=lambda s: len(s.families) > 0)

    assert sess.selection == "f1"
    with pytest.raises(px.ShapeError, match="no command 'dance'"):
        sess.submit("dance")


def test_a_session_prints_short_text(sess, finished):
    assert repr(sess).startswith("<search of rmsnorm_linear on cpu at b=5: ready>")
    assert "Best of the" in repr(finished)


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.RMSNorm(D, eps=1e-6)
        self.proj = torch.nn.Linear(D, N, bias=False)

    def forward(self, x):
        return self.proj(self.norm(x))


def test_a_module_is_searched_from_an_example_and_its_best_kernel_uses_its_parameters():
    layer, x = Layer().eval(), torch.randn(B, D)
    sess = px.Session(layer, x=x, target=machine(), budget=QUICK, baselines=())

    best = sess.best()
    sess.close()

    with torch.no_grad():
        np.testing.assert_allclose(layer(x), best(x), rtol=2e-4, atol=2e-5)
    assert best.traced is not None
    assert {"norm.weight", "proj.weight"} == set(best.traced.parameters)
