"""What the command line says of files: graphs judged, cases replayed, saved searches read and not believed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from prism_explore.entry import cli
from prism_explore.events.journal import Journal
from prism_explore.session.record import Record
from tests.diagnose.test_evidence import PROGRAM, RIGHT, WRONG, recorded
from tests.frontend.mirage.references import path


def said(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str]:
    status = cli.main([str(w) for w in words])
    out = capsys.readouterr()
    return status, out.out + out.err


def saved(record: Record, at: Path) -> Path:
    return record.journal.save(at / "run.prism")


def test_graphs_that_mirage_saved_are_judged_against_a_workload(capsys):
    status, out = said(capsys, "check", path("lora_bs8"), "--against", "lora")

    assert 0 == status
    assert "lora_bs8[0]: proved, for all positive integers" in out
    assert "4 proved" == out.splitlines()[-1]


def test_a_wrong_graph_ends_with_status_1_and_its_evidence_has_a_case_that_replays(capsys, tmp_path):
    wrong = tmp_path / "wrong.txt"
    wrong.write_text(f"{PROGRAM}\n{WRONG}\n", encoding="utf-8")
    status, out = said(capsys, "check", wrong, "--json")
    assert 1 == status
    (found,) = [json.loads(line) for line in out.splitlines()]
    assert "refuted" == found["verdict"]

    lines = found["evidence"].split("the case, for px.replay_counterexample(text):\n")[1].splitlines()
    case = tmp_path / "case.txt"
    case.write_text("\n".join(line.removeprefix("    ") for line in lines), encoding="utf-8")
    status, out = said(capsys, "check", case)
    assert 1 == status
    assert "case.txt: refuted, f1.c1 differs from rms" in out


def test_a_graph_without_its_program_is_judged_against_a_file_that_has_one(capsys, tmp_path):
    graph, program = tmp_path / "graph.txt", tmp_path / "program.txt"
    graph.write_text(RIGHT, encoding="utf-8")
    program.write_text(PROGRAM, encoding="utf-8")

    status, out = said(capsys, "check", graph, "--against", program, "--certify")
    assert 0 == status
    assert "egglog replayed 11 of 11 lemmas" in out

    status, out = said(capsys, "check", graph)
    assert 2 == status
    assert "does not say what its graphs should compute" in out


def test_a_saved_search_is_decided_anew_and_what_it_says_is_not_believed(capsys, tmp_path):
    assert 0 == said(capsys, "check", saved(recorded(RIGHT), tmp_path))[0]

    lies = lambda v: replace(v, verdict="proved", witness="")  # noqa: E731
    status, out = said(capsys, "check", saved(recorded(WRONG, lies), tmp_path))
    assert 1 == status
    assert "f1.c1: refuted at" in out
    assert "(the file says proved)" in out


def test_a_saved_search_shows_whatever_has_a_name_in_it(capsys, tmp_path):
    file = saved(recorded(WRONG), tmp_path)

    assert "sess.replay('f1.c1')" in said(capsys, "show", file, "f1.c1")[1]
    assert (
        "refuted at" in said(capsys, "show", file, "near_misses")[1]
        or "refuted: at" in said(capsys, "show", file, "near_misses")[1]
    )
    assert "f1 is refuted" in said(capsys, "show", file, "f1")[1]
    assert "the stated space" in said(capsys, "show", file)[1]
    status, out = said(capsys, "show", file, "p99")
    assert 2 == status
    assert "has no 'p99'; there are claim, near_misses, families" in out


def test_files_that_are_none_are_named(capsys, tmp_path):
    status, out = said(capsys, "check", tmp_path / "nowhere.json", "--against", "lora")
    assert 2 == status
    assert "nowhere.json" in out

    binary = tmp_path / "noise.bin"
    binary.write_bytes(bytes(range(256)))
    assert 2 == said(capsys, "check", binary, "--against", "lora")[0]

    empty = Journal().save(tmp_path / "empty.prism")
    status, out = said(capsys, "check", empty)
    assert 2 == status
    assert "the search has not begun" in out
