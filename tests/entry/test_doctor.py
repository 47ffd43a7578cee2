"""`px.doctor()`: every part is tried, a missing or broken one is a row with advice, and nothing raises."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import prism_explore as px
from prism_explore.entry import doctor_checks
from prism_explore.entry.cli import main
from prism_explore.entry.doctor import doctor
from prism_explore.entry.doctor_checks import CHECKS, Check, Failed, NotHere, Outcome, Works, kernel_trap


def only(*parts: str) -> tuple[Check, ...]:
    chosen = tuple(check for check in CHECKS if check.part in parts)
    assert len(chosen) == len(parts)
    return chosen


def row(part: str, *, check: Check | None = None) -> tuple[str, str, str]:
    found = doctor([check] if check else only(part))[part]
    return found.state, found.found, found.advice


@pytest.mark.slow
def test_everything_that_searches_need_works_on_a_machine_that_runs_these_tests() -> None:
    found = px.doctor()
    assert found.ok, repr(found)
    assert {r.part for r in found.rows} == {check.part for check in CHECKS}
    for part in ("CPU kernels", "torch", "egglog", "Graphviz", "Triton", "browser half"):
        assert found[part].state == "works", found[part]


@pytest.mark.parametrize(
    ("part", "module"),
    [("torch", "torch"), ("Triton", "triton"), ("Graphviz", "pygraphviz"), ("CPU kernels", "llvmlite.binding")],
)
def test_a_package_that_cannot_be_imported_is_a_row_with_advice(
    part: str, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    for name in [m for m in sys.modules if m.startswith("prism_explore.codegen.cpu.llvm")]:
        monkeypatch.delitem(sys.modules, name)
    state, _, advice = row(part)
    assert state in ("not here", "fails")
    assert "pip install" in advice
    assert doctor(only(part)).ok == (part in ("Triton", "Graphviz"))


def test_a_part_that_raises_fails_and_the_others_are_tried() -> None:
    def broken() -> Outcome:
        raise OSError("a library is damaged")

    found = doctor([Check("one", broken, "x", "do y", True), Check("two", lambda: Works("fine"), "x", "do y")])
    assert (found["one"].state, found["one"].found) == ("fails", "OSError: a library is damaged")
    assert found["two"].state == "works"
    assert not found.ok
    assert "one" in found.summary


def test_a_kernel_with_wrong_numbers_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    import numpy as np

    monkeypatch.setattr(np, "array_equal", lambda *_: False)
    assert row("CPU kernels")[:2] == ("fails", "a kernel that doubles 64 numbers gave other numbers")


def test_no_c_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("CC", "")
    state, found, advice = row("C compiler")
    assert (state, found) == ("not here", "no cc, gcc or clang")
    assert "apt-get install gcc" in advice


def test_a_c_compiler_that_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    bad = tmp_path / "cc"
    bad.write_text("#!/bin/sh\necho no licence >&2\nexit 1\n")
    bad.chmod(0o755)
    monkeypatch.setenv("CC", str(bad))
    state, found, _ = row("C compiler")
    assert state == "fails"
    assert "no licence" in found


def test_a_damaged_bundle(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    static = tmp_path / "widgets" / "static"
    static.mkdir(parents=True)
    (static / "explorer.js").write_text("half a file")
    monkeypatch.setattr(doctor_checks, "__file__", str(tmp_path / "entry" / "doctor_checks.py"))
    assert row("browser half")[0] == "fails"
    (static / "explorer.js").unlink()
    assert row("browser half")[0] == "fails"


def test_a_state_folder_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    state, _, advice = row("state folder")
    assert state == "fails"
    assert "XDG_CACHE_HOME" in advice


def test_a_server_without_anywidget_is_told_where_to_install_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server = tmp_path / "python"
    server.write_text("#!/bin/sh\necho anywidget no version missing\necho jupyterlab_widgets 3.0 found\n")
    server.chmod(0o755)
    monkeypatch.setattr(doctor_checks, "server_python", lambda: server)
    state, found, advice = row("Jupyter server")
    assert state == "fails"
    assert str(server) in found
    assert "pip install anywidget in the environment of the server" in advice


@pytest.mark.parametrize(
    ("version", "trap"),
    [("7.0.1", "pip install 'ipykernel!=7.0.*'"), ("6.31.0", "sess.start()"), ("7.3.0", "sess.start()"), ("7.4.0", "")],
)
def test_the_traps_of_ipykernel_versions(version: str, trap: str) -> None:
    assert trap in kernel_trap(version)
    assert bool(kernel_trap(version)) == bool(trap)


def test_no_ipykernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_checks, "version", _no_version)
    state, _, advice = row("Jupyter kernel")
    assert state == "not here"
    assert "pip install" in advice


def _no_version(package: str) -> str:
    raise doctor_checks.PackageNotFoundError(package)


def test_what_was_found_is_text_in_a_terminal_and_in_a_notebook() -> None:
    hostile = "<img src=x onerror=alert(1)> [bold red]x[/bold red]"
    found = doctor([Check("part", lambda: Failed(hostile, hostile), "x", "y")])
    assert "[bold red]x[/bold red]" in " ".join(repr(found).split())
    assert "<img" not in found._repr_html_()
    assert "&lt;img" in found._repr_html_()


@pytest.mark.parametrize(
    ("setting", "requested", "state", "advised"),
    [
        ("always [madvise] never", "", "limited", "set THP_MEM_ALLOC_ENABLE=1"),
        ("always [madvise] never", "1", "works", ""),
        ("[always] madvise never", "", "works", ""),
        ("always madvise [never]", "1", "limited", "echo madvise"),
        ("something else", "", "limited", "echo madvise"),
        (None, "", "not here", "nothing"),
    ],
)
def test_pages_of_4_kib_are_a_limit_with_advice(setting, requested, state, advised, monkeypatch, tmp_path) -> None:
    path = tmp_path / "enabled"
    if setting is not None:
        path.write_text(setting)
    monkeypatch.setattr(doctor_checks, "HUGE_PAGES", path)
    monkeypatch.setenv("THP_MEM_ALLOC_ENABLE", requested)
    found = doctor(only("huge pages"))

    assert state == found["huge pages"].state
    assert advised in found["huge pages"].advice
    assert bool(advised) == bool(found["huge pages"].advice)
    assert found.ok


def test_a_missing_part_that_is_optional_leaves_it_ok() -> None:
    found = doctor([Check("GPU", lambda: NotHere("none"), "timing", "rent one")])
    assert found.ok
    assert found["GPU"].advice == "rent one (timing)"
    with pytest.raises(KeyError, match="the parts are GPU"):
        found["CPU"]


@pytest.mark.slow
def test_the_command_line_prints_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "CPU kernels" in out
    assert "Searches on this machine's CPU can run." in out


def test_a_kernel_is_recognized() -> None:
    assert not doctor_checks.is_kernel()
    code = "from prism_explore.entry.doctor_checks import is_kernel; print(is_kernel())"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


def test_voila_without_templates_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    versions = {"voila": "0.5", "nbconvert": "7.0"}
    monkeypatch.setattr(doctor_checks, "_versions", lambda *_: versions)
    python = tmp_path / "python"
    monkeypatch.setattr(sys, "executable", str(python))
    for printed, state, said in (
        ("voila", "fails", "pip install --force-reinstall voila"),
        ("", "fails", "pip install anywidget in this environment"),
    ):
        # The first script lists missing templates, the second one the browser halves.
        lists = f"echo {printed}" if printed else "true"
        python.write_text(f'#!/bin/sh\ncase "$2" in *labextensions*) echo anywidget 0.1 missing;; *) {lists};; esac\n')
        python.chmod(0o755)
        found = row("Voila")
        assert found[0] == state
        assert said in found[2]
    versions.pop("voila")
    assert row("Voila")[0] == "not here"
