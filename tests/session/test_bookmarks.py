"""Bookmarks: made at any time, saved with the search, never lost, and without influence on the search."""

from __future__ import annotations

from pathlib import Path

import pytest

import prism_explore as px
from prism_explore.events.journal import Entry
from prism_explore.events.kinds import Bookmarked, KernelGenerated, ParametersProposed, TrialMeasured
from prism_explore.events.replay_journal import ReplayedJournal, without_unfinished_trial
from prism_explore.session import persistence
from prism_explore.session.session import Session

OLD = Path(__file__).parent.parent / "data" / "saved" / "relu_double.prism"
TWICE = """program twice
  x = input f32[b, 8]
  %1 = add(x, x)
  return %1"""


def new_search() -> Session:
    return px.Session(px.parse_program(TWICE), target="h100", at={"b": 4})


def searched(events: tuple[object, ...]) -> list[object]:
    return [e for e in events if not isinstance(e, Bookmarked)]


def test_a_bookmark_has_an_id_a_note_and_a_moment() -> None:
    with new_search() as sess:
        sess.step(5)
        first = sess.bookmark("n1", "look here")
        second = sess.bookmark("", at=3)

        assert (first.bookmark, first.ref, first.note, first.at) == ("b1", "n1", "look here", 0)
        assert list(sess.bookmarks) == ["b1", "b2"]
        assert sess.bookmarks["b2"] == second
        assert repr(sess.bookmarks) == "b1: n1: look here\nb2:  at event 3"
        assert sess.table("bookmarks")[0]["note"] == "look here"


def test_a_deleted_bookmark_can_be_restored_with_its_last_note() -> None:
    with new_search() as sess:
        sess.bookmark("f1", "one")
        sess.bookmarks.edit("b1", "two")
        sess.bookmarks.delete("b1")
        assert list(sess.bookmarks) == []
        with pytest.raises(KeyError):
            sess.bookmarks["b1"]
        assert sess.bookmark("f1").bookmark == "b2", "ids are not used again"
        sess.bookmarks.restore("b1")
        assert sess.bookmarks["b1"].note == "two"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("",), "an id or a moment"),
        (("f1", "", 99), "from 1 to 0"),
        (("f1", "", -1), "from 1 to 0"),
        (("f" * 300,), "at most 200"),
        (("f1", "x" * 5000), "at most 4,000"),
    ],
)
def test_a_wrong_bookmark_is_refused_with_what_is_allowed(arguments: tuple[object, ...], message: str) -> None:
    with new_search() as sess, pytest.raises(px.ShapeError, match=message):
        sess.bookmark(*arguments)  # type: ignore[arg-type]


def test_an_unknown_bookmark_is_named_with_those_that_exist() -> None:
    with new_search() as sess:
        sess.bookmark("f1")
        with pytest.raises(px.ShapeError, match="there are b1"):
            sess.bookmarks.edit("b7", "x")


def test_bookmarks_have_no_influence_on_the_search() -> None:
    with new_search() as plain, new_search() as marked:
        plain.run()
        while marked.state != "finished":
            marked.step()
            marked.bookmark("f1", f"after {len(marked.journal)}")
        assert searched(marked.journal.events) == list(plain.journal.events)
        assert marked.claim == plain.claim


def test_a_bookmark_is_no_step() -> None:
    with new_search() as sess:
        sess.step()
        sess.bookmark("n1")
        before = len(sess.journal)
        sess.step(2)
        assert len(sess.journal) >= before + 2


@pytest.mark.parametrize("steps", [1, 4, 9, 1000])
def test_they_are_saved_and_the_search_continues_after_them(steps: int, tmp_path: Path) -> None:
    with new_search() as sess, new_search() as plain:
        plain.run()
        sess.bookmark("n1", "before the first step")
        for number in range(steps):
            if sess.state == "finished":
                break
            sess.step()
            sess.bookmark(f"n{number}")
        path = sess.save(tmp_path / "marked.prism")
        kept = dict(sess.bookmarks)
    with px.Session.load(path) as again:
        assert dict(again.bookmarks) == kept
        again.bookmark("f1", "made after loading")
        again.run()
        assert {**kept, "f1": None}.keys() - again.bookmarks.keys() == {"f1"}
        assert searched(again.journal.events) == list(plain.journal.events)
        assert [e.seq for e in again.journal] == list(range(len(again.journal)))
        final = again.save(tmp_path / "again.prism")
    assert [b.note for b in px.load(final).bookmarks.values()][-1] == "made after loading"


def test_a_record_can_be_marked_and_saved_and_still_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(persistence, "_DECIDING", ())
    record = px.load(OLD)
    assert dict(record.bookmarks) == {}
    record.bookmark("f1", "why is it slow?")
    path = record.save(tmp_path / "new.prism")

    assert px.load(path).bookmarks["b1"].note == "why is it slow?"
    task, _ = persistence.read_search(path)
    assert task.program == record.program


def test_each_change_of_a_bookmark_can_be_undone_also_after_loading(tmp_path: Path) -> None:
    with new_search() as sess:
        sess.run()
        sess.bookmark("f1", "first")
        sess.bookmarks.edit("b1", "second")
        sess.bookmarks.delete("b1")
        assert sess.bookmarks.undo().note == "second"
        assert sess.bookmarks.undo().note == "first"
        record = px.load(sess.save(tmp_path / "run.prism"))

    record.bookmarks.undo()
    assert list(record.bookmarks) == []
    with pytest.raises(px.ShapeError, match="no change of a bookmark is left"):
        record.bookmarks.undo()
    record.bookmarks.restore("b1")
    assert record.bookmarks["b1"].note == "first"
    record.bookmarks.undo()
    assert list(record.bookmarks) == [], "a restoration can be undone too"


def test_a_fork_keeps_the_bookmarks_before_it() -> None:
    with new_search() as sess:
        sess.step(4)
        sess.bookmark("n1", "early")
        sess.run()
        sess.bookmark("f1", "late")
        other = sess.fork(at=6)
        assert [b.note for b in other.bookmarks.values()] == ["early"]
        other.run()
        other.close()


def test_an_unfinished_trial_is_repeated_although_a_bookmark_follows_it() -> None:
    sizes = (("bm", 8),)
    proposed = ParametersProposed("u1", "f1.c1", sizes, 1e-3)
    source = KernelGenerated("u1", "f1.c1", "cpu", "source")
    measured = TrialMeasured("u1", "f1.c1", sizes, 1e-3, 1e-3, 1e-3, 5, 0.0)
    mark = Bookmarked("b1", "u1", "slow")

    def saved(*events: object) -> list[Entry]:
        return [Entry(n, float(n), e) for n, e in enumerate(events)]  # type: ignore[arg-type]

    assert len(without_unfinished_trial(saved(proposed, source, mark))) == 0
    assert len(without_unfinished_trial(saved(proposed, source, measured, mark))) == 4
    journal = ReplayedJournal(saved(proposed, mark, source))
    assert journal.is_replayed
    assert [e.event for e in journal] == [mark], "the bookmark stays"


def test_the_families_of_one_decision_are_accepted_together() -> None:
    with new_search() as sess:
        sess.run()
        sess.reject(["f1", "f1"], note="both")
        assert [s.subject for s in sess.steering.standing] == ["f1"]
        with pytest.raises(px.ShapeError, match="no family 'f9'"):
            sess.accept(["f1", "f9"])
        assert len(sess.steering.standing) == 1, "one unknown family, and nothing is decided"
