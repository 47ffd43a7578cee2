from __future__ import annotations

import contextlib
import json
import threading
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from prism_explore.errors import JournalVersionError
from prism_explore.events.journal import Entry, Journal, from_plain, line_of, read_manifest, to_plain
from prism_explore.events.kinds import NodeExpanded
from prism_explore.events.stored_words import STORED
from prism_explore.generate.pruning.reachability import NOT_TOGETHER, UNREACHABLE
from prism_explore.generate.pruning.rule import Cut, Failure, reason
from prism_explore.pipeline.search_space import default_space
from tests.generate.programs import rms_linear_small
from tests.widgets.made_up_search import made_up_search
from tests.widgets.recordings import saturation, story

STORY = (*story(), *saturation(2))


def written() -> Journal:
    ticks = iter(range(10_000))
    journal = Journal(lambda: float(next(ticks)))
    for event in STORY:
        journal.append(event)
    return journal


def test_facts_are_numbered_and_timed_by_the_given_clock() -> None:
    journal = written()

    assert list(range(len(STORY))) == [e.seq for e in journal]
    assert [float(i + 1) for i in range(len(STORY))] == [e.at_s for e in journal]
    assert STORY == journal.events
    assert journal.entries[7:] == journal.since(7)


def test_a_saved_search_comes_back_as_it_was(tmp_path: Path) -> None:
    path = written().save(tmp_path / "run.prism", {"program": "rmsnorm"})
    loaded = Journal.load(path)

    assert written().entries == loaded.entries
    assert "rmsnorm" == read_manifest(path)["program"]
    assert not list(tmp_path.glob("*.part"))


def test_a_loaded_search_can_go_on_and_its_time_goes_forward(tmp_path: Path) -> None:
    loaded = Journal.load(written().save(tmp_path / "run.prism"))
    last = loaded.entries[-1]
    entry = loaded.append(NodeExpanded("n9", "n1", "exp(%0)", "block"))

    assert last.seq + 1 == entry.seq
    assert last.at_s <= entry.at_s


@pytest.mark.parametrize("event", STORY, ids=lambda e: type(e).__name__)
def test_every_fact_survives_json(event: object) -> None:
    entry = Entry(3, 0.25, event)  # type: ignore[arg-type]

    assert entry == from_plain(json.loads(json.dumps(to_plain(entry))))


def test_missing_fields_take_their_defaults_so_old_recordings_load() -> None:
    data = to_plain(Entry(0, 0.0, NodeExpanded("n1", "n0", "exp(%0)", "block", "e")))
    del data["expression"]

    assert NodeExpanded("n1", "n0", "exp(%0)", "block", "") == from_plain(data).event


@pytest.mark.parametrize(
    ("word", "change"),
    [
        ("unknown kind of event 'Pwned'", {"kind": "Pwned"}),
        ("no field evil", {"evil": 1}),
        ("found 7", {"node": 7}),
        ("galaxy not in literal", {"level": "galaxy"}),
        ("seq and at_s must be numbers", {"seq": "0"}),
    ],
)
def test_what_is_not_a_fact_is_refused(word: str, change: dict[str, object]) -> None:
    data = {**to_plain(Entry(0, 0.0, NodeExpanded("n1", "n0", "exp(%0)", "block"))), **change}

    with pytest.raises(ValueError, match=word):
        from_plain(data)


@pytest.mark.parametrize(
    ("word", "files"),
    [
        ("states another format", {"manifest.json": '{"format": "zip"}', "events.jsonl": ""}),
        ("has version 99", {"manifest.json": '{"format": "prism-journal", "version": 99}', "events.jsonl": ""}),
        ("expected a .prism file", {"manifest.json": '{"format": "prism-journal", "version": 1}'}),
        ("line 1 of events", {"manifest.json": '{"format": "prism-journal", "version": 1}', "events.jsonl": "{}"}),
    ],
)  # fmt: skip
def test_a_file_that_is_no_saved_search_says_what_it_is_instead(
    tmp_path: Path, word: str, files: dict[str, str]
) -> None:
    path = tmp_path / "run.prism"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)

    with pytest.raises(JournalVersionError, match=word):
        Journal.load(path)


@pytest.mark.parametrize("damaged", ["{", "", '{"seq":2},{"seq":2}', "7"])
def test_a_damaged_line_among_many_is_named(tmp_path: Path, damaged: str) -> None:
    lines = [line_of(Entry(n, 0.0, STORY[1])) for n in range(4000)]
    path = tmp_path / "run.prism"
    for number in (3, 3500):
        changed = [damaged if n == number - 1 else line for n, line in enumerate(lines)]
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("manifest.json", '{"format": "prism-journal", "version": 1}')
            archive.writestr("events.jsonl", "\n".join(changed) + "\n")

        with pytest.raises(JournalVersionError, match=f"line {number} of events"):
            Journal.load(path)


def test_saving_needs_less_memory_than_the_text_of_the_events(tmp_path: Path) -> None:
    journal = Journal()
    for event in made_up_search(10_000):
        journal.append(event)
    text_bytes = sum(len(line_of(entry)) for entry in journal.entries)
    tracemalloc.start()
    try:
        journal.save(tmp_path / "long.prism")
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak_bytes < text_bytes / 2
    assert Journal.load(tmp_path / "long.prism").events == journal.events


def test_a_text_file_is_no_saved_search(tmp_path: Path) -> None:
    path = tmp_path / "run.prism"
    path.write_text("hello")

    with pytest.raises(JournalVersionError, match="no saved search"):
        Journal.load(path)


def test_listeners_hear_every_fact_on_the_thread_that_noted_it() -> None:
    journal = Journal()
    heard: list[tuple[int, str]] = []
    journal.listeners.append(lambda e: heard.append((e.seq, threading.current_thread().name)))
    thread = threading.Thread(target=lambda: [journal.append(e) for e in STORY[:5]], name="engine")
    thread.start()
    thread.join()

    assert [(i, "engine") for i in range(5)] == heard


def test_threads_do_not_lose_or_double_numbers() -> None:
    journal = Journal()
    threads = [threading.Thread(target=lambda: [journal.append(STORY[1]) for _ in range(500)]) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()

    assert list(range(2000)) == [e.seq for e in journal]


@pytest.mark.parametrize(
    "lines",
    [
        b"\xff\xfe\n",
        b"[" * 100_000 + b"\n",
        b"7\n",
        json.dumps({**to_plain(written().entries[0]), "seq": 5}).encode(),
    ],
    ids=["no text", "nested deeply", "no object", "entries missing"],
)
def test_a_damaged_or_hostile_journal_is_refused_and_said_so(tmp_path: Path, lines: bytes) -> None:
    path = tmp_path / "bad.prism"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("manifest.json", json.dumps({"format": "prism-journal", "version": 1}))
        archive.writestr("events.jsonl", lines)

    with pytest.raises(JournalVersionError, match=r"bad\.prism"):
        Journal.load(path)


def test_a_file_with_flipped_bytes_is_refused_or_read_but_raises_nothing_else(tmp_path: Path) -> None:
    path = written().save(tmp_path / "good.prism")
    whole = path.read_bytes()
    for at in range(0, len(whole), 7):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        with contextlib.suppress(JournalVersionError):
            Journal.load(path)


SAVED = Path(__file__).parent.parent / "data" / "saved" / "softmax_steered.prism"


def test_people_read_axioms_of_equality_where_files_have_the_symbol_of_the_papers() -> None:
    with zipfile.ZipFile(SAVED) as archive:
        lines = archive.read("events.jsonl").decode().splitlines()
    read = Journal.load(SAVED)

    assert any("A_eq" in line for line in lines)
    assert "A_eq" not in str(read.events)
    assert "the axioms of equality" in str(read.events)
    assert [line_of(entry) for entry in read] == lines


def test_texts_that_files_have_in_other_words_are_those_of_the_rules_and_of_the_space() -> None:
    reasons = [reason(Cut(rule, Failure("e")), {}) for rule in (NOT_TOGETHER, UNREACHABLE)]
    space = default_space(rms_linear_small()).describe()

    assert {*STORED} == {text for r in reasons for text in (r.sentence, r.would_reopen_if)} | {space["equalities"]}
