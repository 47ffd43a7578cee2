"""A search that is interrupted, saved and loaded in another process goes on as if nothing had been."""

import json
import subprocess
import sys
import time
import zipfile
from dataclasses import fields, replace

import pytest

import prism_explore as px
from prism_explore.events.kinds import (
    BaselineMeasured,
    ExplorationFinished,
    FamilyCompleted,
    IncumbentImproved,
    ParametersProposed,
    Steered,
    TrialFailed,
    TrialMeasured,
    VerdictReached,
)
from prism_explore.events.ledger import Steering
from prism_explore.pipeline.search_space import Operators, default_space
from prism_explore.search.explore import Task
from prism_explore.support.caches import open_leases
from tests.generate.programs import rms_linear_small
from tests.session.test_engine import until
from tests.session.test_session import machine

PROGRAM = rms_linear_small()
FEW = Operators((), (), ("div",), True, ("rms",), ("plain", "rms"))
SPACE = replace(default_space(PROGRAM), block=FEW, block_ops=len(PROGRAM.inputs) + 4)


def session(target="h100", **more):
    return px.Session(PROGRAM, target=target, at={"b": 4}, space=SPACE, **more)


@pytest.fixture(scope="module")
def whole():
    """The search without an interruption, and with steering at one step."""
    sess = session()
    steer(sess)
    sess.run()
    sess.close()
    return sess


def steer(sess):
    sess.step(grain="family")
    sess.reject("f1", note="not this one")
    sess.prefer("accum_rms")


def cut(sess, length, path):
    """The file of a search with its first facts only, as if it had been saved there."""
    return _truncate(sess.save(path), length)


def test_from_whatever_fact_a_saved_search_goes_on_it_ends_with_the_same_facts(whole, tmp_path):
    facts = whole.journal.events
    for length in (0, 1, 2, *range(9, len(facts), 41), len(facts) - 1, len(facts)):
        sess = px.Session.load(cut(whole, length, tmp_path / "run.prism"))
        if length < len(facts) // 3:
            resteer(sess)
        sess.run()
        sess.close()

        assert facts == sess.journal.events, f"cut at {length}"


def resteer(sess):
    """The steering that was not saved yet, at the same step."""
    decided = [e for e in sess.journal.events if isinstance(e, VerdictReached)]
    missing = 2 - sum(isinstance(e, Steered) for e in sess.journal.events)
    if not decided:
        sess.step(grain="family")
    if missing == 2:
        sess.reject("f1", note="not this one")
    if missing:
        sess.prefer("accum_rms")


def test_another_process_ends_with_the_same_facts_verdicts_and_claim(whole, tmp_path):
    half = next(n for n, e in enumerate(whole.journal.events) if isinstance(e, Steered) and e.action == "prefer") + 40
    path = cut(whole, half, tmp_path / "run.prism")
    code = (
        "import sys, prism_explore as px\n"
        "sess = px.Session.load(sys.argv[1])\n"
        "sess.run()\n"
        "sess.save(sys.argv[2])\n"
        "sess.close()\n"
    )
    subprocess.run([sys.executable, "-c", code, str(path), str(tmp_path / "end.prism")], check=True)
    ended = px.load(tmp_path / "end.prism")

    assert whole.journal.events == ended.journal.events
    assert isinstance(ended.journal.events[-1], ExplorationFinished)


def test_a_paused_search_is_loaded_paused_at_its_step(tmp_path):
    sess = session()
    sess.step(25)
    path = sess.save(tmp_path / "run.prism")
    loaded = px.Session.load(path)

    assert sess.journal.events == loaded.journal.events
    assert "paused" == loaded.state
    assert sess.step(10) == loaded.step(10)
    sess.close()
    loaded.close()


def test_a_search_that_was_cancelled_stays_so(tmp_path):
    sess = session()
    sess.step(25)
    sess.cancel()
    loaded = px.Session.load(sess.save(tmp_path / "run.prism"))

    assert "cancelled" == loaded.state
    assert sess.journal.events == loaded.journal.events


def test_steering_after_the_end_is_repeated_too(tmp_path):
    sess = session()
    steer(sess)
    sess.run()
    sess.undo()
    sess.undo()
    sess.run()
    sess.close()
    loaded = px.Session.load(sess.save(tmp_path / "run.prism"))

    assert 2 == sum(isinstance(e, ExplorationFinished) for e in loaded.journal.events)
    assert sess.journal.events == loaded.journal.events
    assert sess.steering == loaded.steering
    assert "finished" == loaded.state


def test_what_is_decided_while_a_search_runs_is_repeated_at_its_step(tmp_path):
    sess = session()
    # The search is over in a few milliseconds; a listener that takes its time lets somebody decide meanwhile.
    sess.journal.listeners.append(lambda _: time.sleep(0.005))
    job = sess.start()
    decided = 0
    while not job.wait(0.002):
        if decided < min(len(sess.families), 2):
            decided += 1
            sess.reject(f"f{decided}")
            sess.prefer("accum")
            sess.undo()
    loaded = px.Session.load(sess.save(tmp_path / "run.prism"))

    assert decided
    assert sess.journal.events == loaded.journal.events
    assert sess.steering == loaded.steering
    sess.close()
    loaded.close()


def test_a_decision_in_the_midst_of_a_step_is_noted_behind_it_and_the_search_goes_on(monkeypatch):
    sess = session()
    told = []
    note = sess.journal.append

    def and_reject(event):
        entry = note(event)
        if isinstance(event, VerdictReached) and not told:
            told.append(event.candidate)
            sess.reject("f1")
            assert not any(isinstance(e, Steered) for e in sess.journal.events)
            assert ("f1",) == sess.steering.named("rejected")
        if isinstance(event, ExplorationFinished) and len(told) == 1:
            told.append("end")
            sess.undo()
        return entry

    monkeypatch.setattr(sess.journal, "append", and_reject)
    sess.run()
    sess.close()
    kinds = [type(e).__name__ for e in sess.journal.events]

    assert ["VerdictReached", "Steered"] == kinds[kinds.index("Steered") - 1 :][:2]
    assert ["f1.c1", "end"] == told
    assert 2 == kinds.count("ExplorationFinished")
    assert "by you" not in sess.claim


def test_the_same_steering_at_the_same_steps_gives_the_same_facts(whole):
    again = session()
    steer(again)
    again.run()
    again.close()

    assert whole.journal.events == again.journal.events


# ---------------------------------------------------------------- times
@pytest.fixture(scope="module")
def timed():
    sess = session(machine(), budget=px.Budget(trials=4, seconds=60, near=0.0))
    sess.run()
    sess.close()
    return sess


def test_timed_kernels_are_loaded_as_timed_and_the_best_is_offered_after_a_new_proof(timed, tmp_path):
    loaded = px.Session.load(timed.save(tmp_path / "run.prism"))
    first, again = timed.best(), loaded.best()

    assert timed.journal.events == loaded.journal.events
    assert first.timed == replace(again.timed, kernel=first.timed.kernel)
    assert first.source == again.source
    assert first.timed.kernel.parameters == again.timed.kernel.parameters
    assert [x.replayed for x in first.verified.proof.lemmas] == [x.replayed for x in again.verified.proof.lemmas]
    assert first.floats == again.floats
    assert max(again.check(1)) < 1e-4
    loaded.close()


def test_tuning_goes_on_within_what_is_left_of_its_budget(timed, tmp_path):
    facts = timed.journal.events
    outcomes = [n for n, e in enumerate(facts) if isinstance(e, TrialMeasured | TrialFailed)]
    path = tmp_path / "run.prism"
    timed.save(path)
    _truncate(path, outcomes[1] + 3)  # in the midst of the third trial
    loaded = px.Session.load(path)
    loaded.run()
    loaded.close()
    again = loaded.journal.events
    proposed = [e.trial for e in again if isinstance(e, ParametersProposed)]

    assert facts[: outcomes[1] + 1] == again[: outcomes[1] + 1]
    assert len(proposed) == len(set(proposed)) == len([e for e in again if isinstance(e, TrialMeasured | TrialFailed)])
    assert len(outcomes) == len(proposed)
    assert isinstance(again[-1], ExplorationFinished)
    assert not [e for e in again if isinstance(e, BaselineMeasured)]


def test_preferred_families_are_tuned_before_the_others():
    sess = session(machine(), budget=px.Budget(trials=1, seconds=60, near=0.0))
    sess.run(until=lambda s: len(s.families) > 1)
    sess.prefer("f2")
    sess.run(until=lambda s: isinstance(s.journal.events[-1], TrialMeasured | IncumbentImproved))
    sess.close()

    assert ["f2"] == [e.candidate.split(".")[0] for e in sess.journal.events if isinstance(e, ParametersProposed)]


# ---------------------------------------------------------------- preferring
def test_a_text_prefers_every_family_that_has_it_and_a_name_only_that_one():
    by_text = Steering().after(Steered("prefer", "accum_rms", ""))
    by_name = Steering().after(Steered("prefer", "f1", ""))

    assert by_text.prefers("f7", "%3 = accum_rms(%0, dim=1)")
    assert not by_text.prefers("f7", "%3 = accum(%0)")
    assert by_name.prefers("f1", "")
    assert not by_name.prefers("f7", "f1")
    assert {} == by_text.choices


def test_a_predicate_is_asked_of_families_to_come_and_what_it_picks_is_in_the_journal(tmp_path):
    sess = session()
    sess.prefer(lambda family: "rms" in str(family.graph))
    sess.run()
    sess.close()
    picked = [e for e in sess.journal.events if isinstance(e, Steered)]
    loaded = px.Session.load(sess.save(tmp_path / "run.prism"))

    assert picked
    assert {"prefer"} == {e.action for e in picked}
    assert {e.subject for e in picked} <= {e.family for e in sess.journal.events if isinstance(e, FamilyCompleted)}
    assert sess.steering == loaded.steering
    assert sess.journal.events == loaded.journal.events


# ---------------------------------------------------------------- what is refused
def _rewrite(path, member, change):
    with zipfile.ZipFile(path) as archive:
        texts = {n: archive.read(n).decode() for n in archive.namelist()}
    texts[member] = change(texts[member])
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in texts.items():
            archive.writestr(name, text)
    return path


def _truncate(path, length):
    return _rewrite(path, "events.jsonl", lambda text: "".join(text.splitlines(keepends=True)[:length]))


def _task(change):
    def changed(text):
        head = json.loads(text)
        change(head)
        return json.dumps(head)

    return changed


def test_a_file_by_another_version_says_which(whole, tmp_path):
    path = cut(whole, 30, tmp_path / "run.prism")
    _rewrite(path, "manifest.json", _task(lambda h: h["task"].update(versions=[["egglog", "0.1"]])))
    with pytest.raises(px.JournalVersionError, match=r"searched with egglog 0\.1, and .* is installed"):
        px.Session.load(path)


def test_another_space_or_program_is_not_taken_for_the_saved_one(whole, tmp_path):
    path = cut(whole, 30, tmp_path / "run.prism")
    _rewrite(path, "manifest.json", _task(lambda h: h["task"]["space"].update(block_ops=7)))
    with pytest.raises(px.JournalVersionError, match="had another input: space was"):
        px.Session.load(path)
    path = cut(whole, 30, tmp_path / "run.prism")
    _rewrite(path, "manifest.json", lambda t: t.replace("f32[4, 8]", "f32[4, 12]"))
    with pytest.raises(px.JournalVersionError, match="had another input: program was"):
        px.Session.load(path)
    path = cut(whole, 30, tmp_path / "run.prism")
    with pytest.raises(px.ShapeError, match="search of another program than this code computes"):
        px.Session.load(path, lambda x, w: x @ w, x=px.T("b", 4), w=px.T(4, 8))


def test_facts_that_growth_does_not_repeat_are_refused_with_both(whole, tmp_path):
    path = cut(whole, 60, tmp_path / "run.prism")
    _rewrite(path, "events.jsonl", lambda t: t.replace("expr.unreachable", "expr.invented", 1))
    leases, match = open_leases(), r"does not repeat what was saved: event \d+, RegionPruned, was"
    with pytest.raises(px.JournalVersionError, match=match) as refused:
        px.Session.load(path)

    until(lambda: open_leases() == leases)  # the engine's thread closes the failed session
    assert refused.tb is not None  # which the traceback keeps until here


def test_a_verdict_that_was_written_into_a_file_is_not_offered(timed, tmp_path):
    path = timed.save(tmp_path / "run.prism")
    best = timed.best().candidate
    kernels = [e for e in timed.journal.events if isinstance(e, IncumbentImproved)]
    assert kernels
    _rewrite(path, "events.jsonl", lambda t: t.replace('"source":"', '"source":"# not what was written\\n'))
    # Where the tuner had passed over a second point with the same kernel, their sources now differ already in telling.
    with pytest.raises(px.JournalVersionError, match=f"{best}, the best candidate of the|does not repeat what was"):
        _best_of(path)


def _best_of(path):
    loaded = px.Session.load(path)
    try:
        loaded.best()
    finally:
        loaded.close()


def test_a_file_without_its_task_can_be_looked_at_only(whole, tmp_path):
    path = whole.journal.save(tmp_path / "facts.prism")

    assert whole.journal.events == px.load(path).journal.events
    with pytest.raises(px.JournalVersionError, match="not its task"):
        px.Session.load(path)


def test_a_saved_search_has_all_of_its_task_but_code(timed, tmp_path):
    with zipfile.ZipFile(timed.save(tmp_path / "run.prism")) as archive:
        assert {"manifest.json", "events.jsonl"} == set(archive.namelist())
        head = json.loads(archive.read("manifest.json"))

    not_data = {"reference", "library", "database", "executor"}
    assert {f.name for f in fields(Task)} - not_data == set(head["task"])
