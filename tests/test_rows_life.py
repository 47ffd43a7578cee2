"""A search for kernels in a row: saved, resumed, steered and questioned like any other."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import prism_explore as px
from prism_explore.events.kinds import ExplorationFinished, FamilyCompleted, Steered, VerdictReached
from tests.cost.test_rows import layers

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
    assert "Kernels in a row are put together from searches of parts: run=True searches them." in found.text
    again = whole.what_if(target="a100", run=True)
    assert again.ran is not None
    assert not again.ran.missing
    assert not again.ran.gained
    assert len(whole.families) == again.ran.common


def test_rows_that_were_given_up_can_be_audited_and_the_time_to_beat_asked_about() -> None:
    sess = session(beat_s=1e-12)
    sess.run()
    sess.close()
    regions = [p for p in sess.pruned if sess.pruned[p].fact.operator.startswith("in ")]

    assert regions
    assert not sess.families
    asked = sess.pruned[regions[0]].audit()
    assert ("cost.floor", "right") == (asked.rule, asked.answer)
    assert {"beyond"} == {f.standing for f in asked.found}
    assert "no kernel of it beats 0.001 ns" in asked.found[0].note
    assert regions[0] in sess.what_if(rules_off=["cost.floor"]).reopened
