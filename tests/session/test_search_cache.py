"""The same question a second time is answered from the cache, and its proof is checked again."""

from __future__ import annotations

import json
import logging
import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import prism_explore as px
from prism_explore.entry.cli import main
from prism_explore.events.journal import Journal, read_manifest
from prism_explore.events.kinds import (
    CertificateReplayed,
    Event,
    ExplorationFinished,
    SearchForked,
    SearchRepeated,
    TrialMeasured,
    VerdictReached,
)
from prism_explore.events.replay_journal import CachedJournal
from prism_explore.pipeline.stages import Lemma
from prism_explore.search.explore import Task
from prism_explore.session import search_cache
from prism_explore.session.search_cache import SearchCache, cache_folder
from prism_explore.session.session import Session
from prism_explore.session.stored_answer import answer_from_plain, answer_to_plain
from prism_explore.verify.certificate import certify
from tests.generate.programs import rms_linear_small
from tests.permissions import permissions_respected
from tests.session.test_resume import SPACE
from tests.session.test_session import machine

PROGRAM = rms_linear_small()


def session(**more: Any) -> Session:
    options: dict[str, Any] = {"target": machine(), "at": {"b": 4}, "space": SPACE, "budget": px.Budget(trials=2)}
    return px.Session(PROGRAM, **{**options, **more})


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Journal]]:
    """A folder with the search of `session()`, and its journal."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(search_cache.FOLDER_VARIABLE, str(folder))
        with session() as sess:
            sess.run()
        yield folder, sess.journal


@pytest.fixture
def folder(filled: tuple[Path, Journal], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the folder, which is the cache."""
    for path in filled[0].iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.setenv(search_cache.FOLDER_VARIABLE, str(tmp_path))
    return tmp_path


@pytest.fixture
def no_timing(monkeypatch: pytest.MonkeyPatch) -> None:
    """No kernel can be timed."""
    from prism_explore.tune.runner.worker import Worker

    monkeypatch.setattr(Worker, "request", lambda *_: pytest.fail("a kernel is timed"))


@pytest.mark.usefixtures("no_timing")
def test_a_second_search_has_the_same_events_and_one_that_says_so(filled: tuple[Path, Journal], folder: Path) -> None:
    with session() as sess:
        sess.run()
        best = sess.best()

    repeated = [e for e in sess.journal.events if isinstance(e, SearchRepeated)]
    assert [len(filled[1]) - 1] == [e.events for e in repeated]
    assert filled[1].events == tuple(e for e in sess.journal.events if e not in repeated)
    assert isinstance(sess.journal.events[-1], ExplorationFinished)
    day, minute = repeated[0].stored[:16].split("T")
    assert f"stored on {day} at {minute} UTC" in sess.claim
    assert isinstance(best, px.Best) and best.verified.proof.lemmas


@pytest.mark.usefixtures("no_timing", "folder")
def test_the_answer_is_offered_before_the_events_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as unreadable, session() as sess:
        unreadable.setattr(Journal, "parse", lambda _: pytest.fail("the events are read"))
        sess.run()
        best = sess.best()
    with session() as slow:
        slow.step(1)  # from here on it is repeated
        slow.run()
        repeated = slow.best()

    assert isinstance(best, px.Best) and isinstance(repeated, px.Best)
    assert slow.journal.events == sess.journal.events
    assert repeated.verified.proof == best.verified.proof
    assert (repeated.candidate, repeated.source) == (best.candidate, best.source)
    assert replace(repeated.timed, kernel=best.timed.kernel) == best.timed
    assert repeated.baselines == best.baselines
    assert repeated.floats == best.floats
    assert [v.candidate for v in repeated.proved] == [v.candidate for v in best.proved]


@pytest.mark.usefixtures("folder")
def test_a_search_goes_on_after_its_answer_as_after_its_repetition() -> None:
    journals: list[tuple[Event, ...]] = []
    for is_stepped in (False, True):
        with session() as sess:
            if is_stepped:
                sess.step(1)
            sess.run()
            known = len(sess.journal)
            family = next(iter(sess.families))
            fork = sess.fork(at=known // 2)
            sess.reject(family)
            sess.run()
            assert sess.state == "finished" and sess.families[family].row.choice == "rejected"
            assert family not in {v.candidate.family.id for v in getattr(sess.best(), "proved", ())}
        forked = tuple(e for e in fork.journal.events if not isinstance(e, SearchForked))
        journals += [sess.journal.events[: known + 1], forked]

    assert journals[:2] == journals[2:]


@pytest.mark.usefixtures("folder")
def test_a_predicate_that_waits_for_families_keeps_a_search_from_being_answered_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(CachedJournal, "replay_rest", lambda _: pytest.fail("it is answered at once"))
    asked: list[str] = []
    with session() as sess:
        sess.prefer(lambda family: asked.append(family.id))
        sess.run()

    assert asked == list(sess.families)


def test_an_answer_that_cannot_be_used_is_found_by_repeating_the_search(
    filled: tuple[Path, Journal], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(_: object) -> None:
        raise ValueError("damaged")

    monkeypatch.setattr(search_cache, "answer_from_plain", damaged)
    with session() as sess:
        sess.run(until=lambda s: len(s.journal) > 5)
        known = len(sess.journal)
        sess.run()

    assert 5 < known < len(sess.journal) == len(filled[1]) + 1
    assert [*folder.glob("*.prism")]


def test_an_answer_is_plain_data(folder: Path) -> None:
    (path,) = folder.glob("*.prism")
    plain = read_manifest(path)["answer"]

    assert plain == json.loads(json.dumps(answer_to_plain(answer_from_plain(plain))))


@pytest.mark.usefixtures("no_timing", "folder")
def test_a_repeated_search_can_be_saved_and_loaded(tmp_path: Path) -> None:
    with session() as sess:
        sess.run()
        loaded = Session.load(sess.save(tmp_path / "run"))

    assert sess.journal.events == loaded.journal.events


@pytest.mark.parametrize("changed", [{"seed": 1}, {"at": {"b": 8}}, {"budget": px.Budget(trials=3)}, {"cache": False}])
def test_another_question_is_searched(folder: Path, changed: dict[str, object]) -> None:
    with session(**changed) as sess:
        assert type(sess.journal) is Journal


@pytest.mark.usefixtures("folder")
def test_another_version_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_cache, "code_digest", lambda: "edited")
    with session() as sess:
        assert type(sess.journal) is Journal


def test_figures_of_the_machine_that_were_measured_again_do_not_change_the_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(search_cache.FOLDER_VARIABLE, str(tmp_path))
    slow = machine().replace(measured=True)
    with session(target=slow) as sess:
        sess.run()
    with session(target=slow.replace(dram_bytes_per_s=2e12)) as again:
        again.run()

    assert slow == again.target_figures()
    assert any(isinstance(e, SearchRepeated) for e in again.journal.events)


def test_steering_makes_a_repeated_search_continue_on_its_own(folder: Path) -> None:
    with session() as sess:
        sess.run(until=lambda s: any(isinstance(e, VerdictReached) for e in s.journal.events))
        known = len(sess.journal)
        family = next(iter(sess.families))
        sess.reject(family)
        sess.run()

    events = sess.journal.events
    assert SearchRepeated(known, events[known].stored) == events[known]
    assert not any(isinstance(e, SearchRepeated) for e in events[known + 1 :])
    assert isinstance(events[-1], ExplorationFinished)
    assert sess.families[family].row.choice == "rejected"


def test_a_search_of_the_cache_that_is_timed_again_replaces_the_stored_one(
    filled: tuple[Path, Journal], folder: Path
) -> None:
    with session() as cached:
        cached.run()
        again = cached.time_again()
        again.run()
        again.close()
    with session() as third:
        third.run()

    known = [e for e in filled[1].events if isinstance(e, VerdictReached)]
    times = [[e.time_s for e in j.events if isinstance(e, TrialMeasured)] for j in (filled[1], again.journal)]
    assert known == [e for e in again.journal.events if isinstance(e, VerdictReached)]
    assert not {*times[0]} & {*times[1]}
    assert times[1] == [e.time_s for e in third.journal.events if isinstance(e, TrialMeasured)]
    assert third.origin is None


def test_a_search_that_is_timed_again_keeps_the_steering_after_the_first_trial() -> None:
    with session(cache=False) as sess:
        sess.run()
        family = next(iter(sess.families))
        sess.reject(family)
        again = sess.time_again()
        again.run()
        again.close()

    assert again.origin is not None and again.parent is sess
    assert again.families[family].row.choice == "rejected"


def test_nothing_is_timed_again_where_nothing_was_timed() -> None:
    with session(target="h100", cache=False) as sess:
        sess.run()
        with pytest.raises(px.ShapeError, match="no kernel was timed, so there is nothing to time again"):
            sess.time_again()


def test_a_cancelled_or_steered_search_is_not_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(search_cache.FOLDER_VARIABLE, str(tmp_path))
    with session() as cancelled:
        cancelled.step(5)
        cancelled.cancel()
    with session() as steered:
        steered.prefer("accum_rms")
        steered.run()

    assert any(isinstance(e, TrialMeasured) for e in steered.journal.events)
    assert [] == [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    "content", [b"", b"no archive", b"PK\x03\x04 cut off", "shortened"], ids=["empty", "foreign", "cut", "shortened"]
)
def test_a_damaged_file_is_set_aside_with_a_warning_and_the_search_runs(
    folder: Path, caplog: pytest.LogCaptureFixture, content: bytes | str
) -> None:
    (path,) = folder.glob("*.prism")
    path.write_bytes(path.read_bytes()[:-200] if isinstance(content, str) else content)
    with caplog.at_level(logging.WARNING), session() as sess:
        assert type(sess.journal) is Journal

    assert "is set aside" in caplog.text
    assert [path.with_suffix(".unusable")] == [*folder.iterdir()]


def test_a_file_whose_events_differ_is_set_aside_and_the_search_continues_from_there(
    filled: tuple[Path, Journal], folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (path,) = folder.glob("*.prism")
    with session() as sess:
        task = sess.task
    place = next(i for i, e in enumerate(filled[1].events) if type(e).__name__ == "CandidateInstantiated")
    shortened = Journal()
    for event in (*filled[1].events[:place], *filled[1].events[place + 1 :]):
        shortened.append(event)
    SearchCache(folder).store(task, shortened)
    with caplog.at_level(logging.WARNING), session() as again:
        again.run(until=lambda s: len(s.journal) > place + 5)

    assert filled[1].events[:place] == again.journal.events[:place]
    assert SearchRepeated(place, again.journal.events[place].stored) == again.journal.events[place]
    assert filled[1].events[place] == again.journal.events[place + 1]
    assert "does not repeat" in caplog.text
    assert not path.exists()


def test_a_search_that_does_not_repeat_its_answer_does_not_go_on(
    filled: tuple[Path, Journal], folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (path,) = folder.glob("*.prism")
    answer = answer_from_plain(read_manifest(path)["answer"])
    shortened = Journal()
    for event in filled[1].events:
        if not isinstance(event, VerdictReached):
            shortened.append(event)
    with session() as sess:
        SearchCache(folder).store(sess.task, shortened, answer)
    with caplog.at_level(logging.WARNING), session() as again:
        again.run()
        with pytest.raises(px.JournalVersionError, match=r"cannot go on, a new px\.Session searches again"):
            again.fork(at=5)

    assert "does not repeat" in caplog.text
    assert not path.exists()


def changed_certificate(filled: tuple[Path, Journal], change: Callable[[CertificateReplayed], Event]) -> Journal:
    changed = Journal()
    for event in filled[1].events:
        changed.append(change(event) if isinstance(event, CertificateReplayed) else event)
    return changed


@pytest.mark.usefixtures("folder")
def test_a_stored_certificate_is_checked_and_its_derivations_are_not_searched(
    filled: tuple[Path, Journal], monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[tuple[Lemma, ...]] = []
    check = certify.check
    monkeypatch.setattr(certify, "check", lambda *args: checked.append(args[2]) or check(*args))
    monkeypatch.setattr(certify, "_prove_obligation", lambda *_: pytest.fail("a derivation is searched"))
    with session() as sess:
        best = sess.best()

    (stored,) = (e for e in filled[1].events if isinstance(e, CertificateReplayed))
    assert isinstance(best, px.Best)
    assert [best.verified.proof.lemmas] == checked
    assert stored.statements == tuple(x.statement for x in best.verified.proof.lemmas)


def test_a_search_without_details_makes_its_certificate_on_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(search_cache.FOLDER_VARIABLE, str(tmp_path))
    for _ in ("searched", "from the cache"):
        with session(budget=px.Budget(trials=1, details=False)) as sess:
            best = sess.best()
            assert isinstance(best, px.Best)
            assert () == best.verified.proof.lemmas
            assert not any(isinstance(e, CertificateReplayed) for e in sess.journal.events)
            evidence = sess.certify(best.candidate)

            (certificate,) = (e for e in sess.journal.events if isinstance(e, CertificateReplayed))

        assert f"egglog replayed {len(certificate.lemmas)} of {len(certificate.lemmas)} lemmas" in str(evidence)


def with_another_last_lemma(event: CertificateReplayed) -> Event:
    return replace(event, statements=(*event.statements[:-1], event.statements[0]))


def of_other_values(event: CertificateReplayed) -> Event:
    return replace(event, lemmas=tuple((*x[:2], f"{x[2]} + 1", *x[3:]) for x in event.lemmas))


@pytest.mark.parametrize("change", [with_another_last_lemma, of_other_values, lambda e: replace(e, statements=())])
def test_a_stored_certificate_that_the_checker_rejects_is_made_again(
    filled: tuple[Path, Journal], folder: Path, change: Callable[[CertificateReplayed], Event]
) -> None:
    with session() as sess:
        SearchCache(folder).store(sess.task, changed_certificate(filled, change))
    with session() as again:
        best = again.best()

    (made,) = (e for e in filled[1].events if isinstance(e, CertificateReplayed))
    assert isinstance(best, px.Best)
    assert all(x.replayed for x in best.verified.proof.lemmas)
    assert made.statements == tuple(x.statement for x in best.verified.proof.lemmas)


def test_a_kernel_that_is_not_proved_again_is_not_offered(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from prism_explore.session import results

    def refused(*_: object) -> None:
        raise px.JournalVersionError("not proved again")

    monkeypatch.setattr(results, "prove_again", refused)
    with session() as sess, pytest.raises(px.JournalVersionError, match="not proved again"):
        sess.best()
    assert [] == [*folder.glob("*.prism")]


@pytest.mark.skipif(sys.platform == "win32", reason="folders have no such permissions there")
def test_a_folder_that_cannot_be_written_is_reported_once(
    filled: tuple[Path, Journal], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tmp_path.chmod(0o500)
    with permissions_respected():
        _store_twice(filled[1], tmp_path / "searches", caplog)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_a_file_is_reported_once(
    filled: tuple[Path, Journal], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    _store_twice(filled[1], tmp_path / "file", caplog)


def _store_twice(journal: Journal, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING), session() as sess:
        for _ in range(2):
            SearchCache(folder).store(sess.task, journal)
    assert 1 == caplog.text.count("finished searches are not stored")


def _store_many(folder: Path, task: Task, journal: Journal, first: int) -> None:
    for seed in range(first, first + 20):
        SearchCache(folder).store(replace(task, seed=seed % 8), journal)
        assert SearchCache(folder).find(replace(task, seed=seed % 8)) is not None


def test_several_processes_store_and_read_at_once(filled: tuple[Path, Journal], tmp_path: Path) -> None:
    with session() as sess:
        task = sess.task
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_store_many, args=(tmp_path, task, filled[1], n)) for n in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(120)

    assert [0] * 3 == [w.exitcode for w in writers]
    assert 8 == len([*tmp_path.iterdir()])
    assert all(SearchCache(tmp_path).find(replace(task, seed=seed)) for seed in range(8))


def test_what_was_not_used_for_long_is_deleted_first(filled: tuple[Path, Journal], tmp_path: Path) -> None:
    with session() as sess:
        tasks = [replace(sess.task, seed=seed) for seed in range(3)]
    cache = SearchCache(tmp_path)
    for age, task in zip((30, 20, 10), tasks, strict=True):
        cache.store(task, filled[1])
        newest = max(tmp_path.iterdir(), key=lambda p: p.stat().st_mtime)
        os.utime(newest, (newest.stat().st_mtime - age,) * 2)
    assert cache.find(tasks[0]) is not None  # used now
    small = SearchCache(tmp_path, most_bytes=int(3.5 * cache.contents()[0].bytes))
    small.store(replace(tasks[0], seed=9), filled[1])

    assert [True, False, True, True] == [small.find(task) is not None for task in (*tasks, replace(tasks[0], seed=9))]


def test_the_command_shows_clears_and_names_the_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == main(["cache"])
    shown = capsys.readouterr().out
    assert PROGRAM.name in shown and "1 searches" in shown
    assert 0 == main(["cache", "path"])
    assert f"{folder}\n" == capsys.readouterr().out
    assert 0 == main(["cache", "clear"])
    assert "1 files deleted" in capsys.readouterr().out
    assert [] == [*folder.iterdir()]


def test_the_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(search_cache.FOLDER_VARIABLE, "off")
    assert cache_folder() is None
    monkeypatch.delenv(search_cache.FOLDER_VARIABLE)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert tmp_path / "prism_explore" / "searches" == cache_folder()
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert Path.home() / ".cache" / "prism_explore" / "searches" == cache_folder()
