"""A search for kernels in a row: saved, resumed, steered and questioned like any other."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import prism_explore as px
from prism_explore import tune
from prism_explore.events.kinds import (
    Event,
    ExplorationFinished,
    FamilyCompleted,
    IncumbentImproved,
    ParametersProposed,
    Steered,
    TrialMeasured,
    VerdictReached,
)
from prism_explore.events.ledger import ledger
from prism_explore.pipeline.search_space import default_space
from prism_explore.pipeline.stages import Kernel
from prism_explore.search import explore
from prism_explore.tune.runner.bench import CheckPassed, Failure, Samples
from tests.cost.test_sequence_budget import layers
from tests.session.test_session import machine
from tests.tune.test_tune import ToyBench

CODE = """
import sys, prism_explore as px
sess = px.Session.load(sys.argv[1])
sess.run()
sess.save(sys.argv[2])
sess.close()
"""


def session(**more: object) -> px.Session:
    return px.Session(layers(), target="h100", at={"b": 4}, **more)  # pyright: ignore[reportArgumentType]


@pytest.fixture(scope="module")
def whole() -> px.Session:
    sess = session()
    sess.run()
    sess.close()
    return sess


def cut(sess: px.Session, length: int, path: Path) -> Path:
    """The file of a search with its first facts only, as if it had been saved there."""
    sess.save(path)
    with zipfile.ZipFile(path) as archive:
        texts = {n: archive.read(n).decode() for n in archive.namelist()}
    texts["events.jsonl"] = "".join(texts["events.jsonl"].splitlines(keepends=True)[:length])
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in texts.items():
            archive.writestr(name, text)
    return path


def test_a_restart_in_the_midst_of_the_rows_ends_with_the_same_facts(whole: px.Session, tmp_path: Path) -> None:
    facts = whole.journal.events
    rows = [n for n, e in enumerate(facts) if isinstance(e, FamilyCompleted)]
    assert len(rows) > 1
    path = cut(whole, rows[1] + 1, tmp_path / "run.prism")
    subprocess.run([sys.executable, "-c", CODE, str(path), str(tmp_path / "end.prism")], check=True)

    assert facts == px.load(tmp_path / "end.prism").journal.events


def test_a_row_that_was_rejected_stays_so_behind_a_restart(tmp_path: Path) -> None:
    sess = session()
    sess.run(until=lambda s: bool(s.families))
    sess.reject("f1", note="not in this order")
    path = sess.save(tmp_path / "run.prism")
    sess.run()
    loaded = px.Session.load(path)
    loaded.run()
    sess.close()
    loaded.close()

    assert sess.journal.events == loaded.journal.events
    decided = {e.candidate for e in loaded.journal.events if isinstance(e, VerdictReached)}
    assert {c.split(".")[0] for c in decided} > {"f1"}
    assert [e.subject for e in loaded.journal.events if isinstance(e, Steered)] == ["f1"]
    assert "f1 by you" in loaded.claim
    assert isinstance(loaded.journal.events[-1], ExplorationFinished)
    assert json.dumps(loaded.claim) == json.dumps(sess.claim)


def test_what_another_machine_would_reopen_is_told_of_rows_too(whole: px.Session) -> None:
    found = whole.what_if(target="a100")

    assert not found.reopened
    assert "Kernel sequences are built from searches of parts; run=True searches them." in found.text
    again = whole.what_if(target="a100", run=True)
    assert again.ran is not None
    assert not again.ran.missing
    assert not again.ran.gained
    assert len(whole.families) == again.ran.common


def test_rows_that_were_given_up_can_be_audited_and_the_time_to_beat_asked_about() -> None:
    sess = session(time_to_beat_s=1e-12)
    sess.run()
    sess.close()
    regions = [p for p in sess.pruned if sess.pruned[p].event.operator.startswith("in ")]

    assert regions
    assert not sess.families
    asked = sess.pruned[regions[0]].audit()
    assert ("cost.floor", "right") == (asked.rule, asked.answer)
    assert {"excluded"} == {f.status for f in asked.found}
    assert "no kernel of it beats 0.001 ns" in asked.found[0].explanation
    assert regions[0] in sess.what_if(rules_off=["cost.floor"]).reopened


def test_a_part_that_its_nodes_left_can_be_audited_and_a_larger_budget_asked_about() -> None:
    sess = session(space=replace(default_space(layers()), row_nodes=4))
    sess.run()
    sess.close()
    left = [p for p in sess.pruned if sess.pruned[p].event.operator.startswith("in ")]

    assert left
    assert {"budget.nodes"} == {sess.pruned[p].event.reason.rule for p in left}
    assert "The search stopped at its budget of nodes" in sess.claim
    assert "gained" == sess.pruned[left[0]].audit().answer
    assert left[0] in sess.what_if(row_nodes=150).reopened


# ---------------------------------------------------------------- with kernels that are timed
class Ruled(ToyBench):
    """A stop-watch that shows the same at every run: the larger the numbers the less, so the first is not the best."""

    def seconds(self, kernel: Kernel) -> float:
        extra = sum(map(ord, str(kernel.parameters.schedule))) * 1e-12
        return 1e-4 / sum(dict(kernel.parameters.sizes).values()) + extra

    def time(self, keys: Sequence[str], rounds: int) -> Samples | Failure:
        return Samples({key: (self.seconds(self.kernels[key]),) * rounds for key in keys}, (0.0,) * rounds)


@pytest.fixture
def ruled(monkeypatch: pytest.MonkeyPatch) -> None:
    def tuned(request: tune.TuneRequest) -> object:
        return tune.tune(replace(request, bench=Ruled(), clock=lambda: 0.0))

    monkeypatch.setattr(explore, "tune", tuned)


def timed_session() -> px.Session:
    budget = px.Budget(trials=6, seconds=1e9, near=0.0)
    return px.Session(layers(), target=machine(), at={"b": 4}, budget=budget)


def steered(sess: px.Session) -> None:
    """A row is rejected as soon as it is there, another is preferred when the first kernel was timed."""
    if not sess.steering.standing and sess.families:
        sess.reject("f1", note="not in this order")
    if len(sess.steering.standing) == 1 and any(isinstance(e, TrialMeasured) for e in sess.journal.events):
        sess.prefer("f3")


def finish(sess: px.Session) -> list[Event]:
    while sess.state != "finished":
        steered(sess)
        sess.step()
    sess.run()
    sess.close()
    return list(sess.journal.events)


@pytest.mark.usefixtures("ruled")
def test_from_whatever_fact_rows_that_are_timed_go_on_they_end_with_the_same_facts(tmp_path: Path) -> None:
    sess = timed_session()
    facts = finish(sess)
    told = [n for n, e in enumerate(facts) if isinstance(e, Steered | IncumbentImproved | TrialMeasured)]
    assert {"reject", "prefer"} == {e.action for e in facts if isinstance(e, Steered)}
    assert 1 < sum(isinstance(e, IncumbentImproved) for e in facts)
    for length in (*range(told[0], len(facts), 9), len(facts)):
        loaded = px.Session.load(cut(sess, length, tmp_path / "run.prism"))

        assert facts == finish(loaded), f"cut at {length}, behind {facts[length - 1]}"
        assert sess.steering == loaded.steering
        assert ledger(facts).best == ledger(loaded.journal.events).best


def test_a_search_that_was_cancelled_within_a_trial_is_loaded_as_it_was(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sess = timed_session()

    class Stopped(Ruled):
        """In the midst of the third trial somebody cancels the explore."""

        def check(self, key: str, kernel: Kernel) -> CheckPassed | Failure:
            if key != "u3":
                return super().check(key, kernel)
            sess.cancel()
            return Failure("tune.cancelled", "stopped while compiling")

    def tuned(request: tune.TuneRequest) -> object:
        return tune.tune(replace(request, bench=Stopped(), clock=lambda: 0.0))

    monkeypatch.setattr(explore, "tune", tuned)
    sess.run()
    sess.close()
    loaded = px.Session.load(sess.save(tmp_path / "run.prism"))

    assert "cancelled" == sess.state == loaded.state
    assert sess.journal.events == loaded.journal.events
    assert 3 == sum(isinstance(e, ParametersProposed) for e in sess.journal.events)
