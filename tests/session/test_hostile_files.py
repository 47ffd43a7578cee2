"""Damaged, truncated and hostile files: a message that says so, and nothing else."""

from __future__ import annotations

import io
import json
import resource
import tracemalloc
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import prism_explore as px
from prism_explore.errors import JournalVersionError, PrismError, ShapeError
from prism_explore.events import archive
from prism_explore.events.event_stream import MAGIC
from prism_explore.session.record import Record
from prism_explore.session.session import Session

SAVED = Path(__file__).parents[1] / "data" / "saved" / "relu_double.prism"
FUZZ = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
FUZZ_REPORT = settings(FUZZ, max_examples=25)
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**400), 10**400),
    st.floats(),
    st.text(max_size=8),
    st.just([]),
    st.just({}),
    st.just("<img src=x onerror=alert(1)>"),
)


def members(path: Path = SAVED) -> dict[str, str]:
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name).decode() for name in file.namelist()}


def write(path: Path, content: dict[str, str]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in content.items():
            file.writestr(name, text)
    return path


def stream(content: dict[str, str]) -> bytes:
    """The same search as an autosaved file."""
    manifest = json.dumps(json.loads(content["manifest.json"]))
    return MAGIC + zlib.compress(f"{manifest}\n{content['events.jsonl']}".encode())


MEMBERS = members()
LINES = MEMBERS["events.jsonl"].splitlines()
ZIPPED, STREAMED = SAVED.read_bytes(), stream(MEMBERS)


def open_or_refuse(path: Path) -> Record | None:
    """The search in a file; None if it was refused with a message that names the file."""
    try:
        return px.load(path)
    except PrismError as error:
        assert str(path) in str(error)
        return None


def changed_field(draw: st.DrawFn) -> dict[str, str]:
    """The saved search with one value of one event replaced."""
    number = draw(st.integers(0, len(LINES) - 1))
    event = json.loads(LINES[number])
    place: Any = event
    key = draw(st.sampled_from(sorted(event)))
    while isinstance(place[key], dict | list) and place[key] and draw(st.booleans()):
        place = place[key]
        key = draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
    place[key] = draw(VALUES)
    lines = [*LINES[:number], json.dumps(event), *LINES[number + 1 :]]
    return {**MEMBERS, "events.jsonl": "".join(f"{line}\n" for line in lines)}


changed_members = st.composite(changed_field)()


@FUZZ
@given(data=st.data(), content=st.sampled_from((ZIPPED, STREAMED)))
def test_flipped_bytes_are_refused_or_change_nothing_that_matters(
    tmp_path: Path, data: st.DataObject, content: bytes
) -> None:
    damaged = bytearray(content)
    for position in data.draw(st.lists(st.integers(0, len(content) - 1), min_size=1, max_size=4)):
        damaged[position] ^= data.draw(st.integers(1, 255))
    path = tmp_path / "run.prism"
    path.write_bytes(damaged)

    record = open_or_refuse(path)
    assert record is None or len(record.journal) <= len(LINES)


@FUZZ
@given(length=st.integers(0, len(ZIPPED) - 1))
def test_a_truncated_archive_is_refused(tmp_path: Path, length: int) -> None:
    path = tmp_path / "run.prism"
    path.write_bytes(ZIPPED[:length])

    assert open_or_refuse(path) is None


@FUZZ
@given(length=st.integers(0, len(STREAMED) - 1))
def test_a_truncated_autosaved_file_gives_the_events_before_its_end(tmp_path: Path, length: int) -> None:
    path = tmp_path / "run.prism"
    path.write_bytes(STREAMED[:length])

    record = open_or_refuse(path)
    whole = px.load(SAVED).journal.events
    assert record is None or record.journal.events == whole[: len(record.journal)]


@FUZZ
@given(content=changed_members)
def test_a_changed_value_is_refused_or_read(tmp_path: Path, content: dict[str, str]) -> None:
    open_or_refuse(write(tmp_path / "run.prism", content))


def test_a_verdict_on_a_candidate_that_the_file_lacks_is_shown(tmp_path: Path) -> None:
    events = [json.loads(line) for line in MEMBERS["events.jsonl"].splitlines()]
    events = events[: next(n for n, event in enumerate(events) if event["kind"] == "ParametersProposed")]
    for event in events:
        if event["kind"] == "CandidateInstantiated":
            event["candidate"] = f"x{event['candidate']}"
    path = write(tmp_path / "run.prism", {**MEMBERS, "events.jsonl": "".join(f"{json.dumps(e)}\n" for e in events)})

    assert "f1.c1" in px.load(path).report(tmp_path / "run.html").read_text(encoding="utf-8")


@FUZZ_REPORT
@given(content=changed_members)
def test_whatever_is_read_can_be_shown_or_is_refused(tmp_path: Path, content: dict[str, str]) -> None:
    record = open_or_refuse(write(tmp_path / "run.prism", content))
    if record is None:
        return
    try:
        record.report(tmp_path / "run.html")
        repr(record)
        record.svg()
    except PrismError as error:
        assert str(error)


@FUZZ_REPORT
@given(content=changed_members, data=st.data())
def test_whatever_is_read_continues_or_is_refused(tmp_path: Path, content: dict[str, str], data: st.DataObject) -> None:
    manifest = json.loads(content["manifest.json"])
    key = data.draw(st.sampled_from(sorted(manifest["task"])))
    manifest["task"][key] = data.draw(VALUES)
    path = write(tmp_path / "run.prism", {**content, "manifest.json": json.dumps(manifest)})
    try:
        Session.load(path).close()
    except PrismError as error:
        assert str(error)


@pytest.mark.parametrize("as_stream", (False, True))
def test_a_bomb_is_refused_before_it_is_unpacked(
    tmp_path: Path, as_stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(archive.LARGEST_VARIABLE, str(1 << 20))
    path = tmp_path / "bomb.prism"
    packer = zlib.compressobj(9)
    zeros = bytes(1 << 20)
    packed = b"".join(packer.compress(zeros) for _ in range(200)) + packer.flush()
    if as_stream:
        path.write_bytes(MAGIC + packed)
    else:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr("manifest.json", MEMBERS["manifest.json"])
            with file.open("events.jsonl", "w") as member:
                for _ in range(200):
                    member.write(zeros)
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    with pytest.raises(JournalVersionError, match=r"more than 1048576 bytes; refused.*PRISM_EXPLORE_LARGEST_BYTES"):
        px.load(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb < 100 * 1024


@pytest.mark.parametrize("content", (ZIPPED, STREAMED))
def test_a_search_beyond_the_limit_is_read_where_the_environment_raises_it(
    tmp_path: Path, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.prism"
    path.write_bytes(content)
    monkeypatch.setenv(archive.LARGEST_VARIABLE, "1000")
    with pytest.raises(JournalVersionError, match="more than 1000 bytes"):
        px.load(path)

    monkeypatch.setenv(archive.LARGEST_VARIABLE, str(10 << 20))

    assert px.load(path).journal.events == px.load(SAVED).journal.events


@pytest.mark.parametrize("stated", ("0", "-1", "1e9", "large"))
def test_a_limit_that_is_no_number_of_bytes_is_refused(stated: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(archive.LARGEST_VARIABLE, stated)

    with pytest.raises(ShapeError, match=f"is a number of bytes, such as 1073741824; found '{stated}'"):
        px.load(SAVED)


@pytest.mark.parametrize("compression", (zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA))
def test_an_archive_that_states_a_small_size_and_unpacks_to_a_large_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compression: int
) -> None:
    monkeypatch.setattr(zipfile.ZipExtFile, "MIN_READ_SIZE", 256)
    monkeypatch.setattr(archive, "_READ_BYTES", 256)
    path, unpacked = tmp_path / "bomb.prism", 24 << 20
    with zipfile.ZipFile(path, "w", compression) as file:
        file.writestr("manifest.json", MEMBERS["manifest.json"])
        file.writestr("events.jsonl", bytes(unpacked))
    content = path.read_bytes()
    path.write_bytes(content.replace(unpacked.to_bytes(4, "little"), (10).to_bytes(4, "little")))

    tracemalloc.start()
    with pytest.raises(JournalVersionError):
        px.load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < unpacked // 2


@pytest.mark.parametrize(
    ("manifest", "found"),
    (
        ({"format": "prism-journal", "version": 2}, "version 2"),
        ({"format": "prism-journal", "version": "1"}, "version 1"),
        ({"format": "zip"}, "another format"),
        ([], "another format"),
        (None, "another format"),
    ),
)
def test_another_version_or_format_is_named(tmp_path: Path, manifest: Any, found: str) -> None:
    path = write(tmp_path / "run.prism", {**MEMBERS, "manifest.json": json.dumps(manifest)})

    with pytest.raises(JournalVersionError, match=found):
        px.load(path)


def test_deep_and_long_json_is_refused(tmp_path: Path) -> None:
    for text in ("[" * 100_000, "9" * 100_000, '{"seq": 0, "at_s": 1e999, "kind": "ExplorationFinished"}', '"\\ud800"'):
        path = write(tmp_path / "run.prism", {**MEMBERS, "events.jsonl": f"{text}\n"})
        with pytest.raises(JournalVersionError):
            px.load(path)


def test_members_that_are_no_text_are_refused(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("manifest.json", MEMBERS["manifest.json"])
        file.writestr("events.jsonl", b"\xff\xfe\x00")
    path = tmp_path / "run.prism"
    path.write_bytes(buffer.getvalue())

    with pytest.raises(JournalVersionError):
        px.load(path)
