"""What every test may ask for: a golden text, a reason to be skipped, an honest account at the end."""

from __future__ import annotations

import difflib
import functools
import gc
import os
import re
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from prism_explore.targets import host, target

# How long an example takes to be made says something of the machine's other work, not of what is tested.
# `make thorough` draws more.
ANY_MACHINE = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", ANY_MACHINE, max_examples=50)
settings.register_profile("thorough", ANY_MACHINE, max_examples=1000)
settings.load_profile("quick")

ROOT = Path(__file__).resolve().parent.parent
GOLDENS = ROOT / "tests" / "goldens"

ALL_SERIAL = re.compile(r"^pytestmark = .*mark\.serial", re.MULTILINE)
"""In files of which every test is serial."""

MOST_CACHE_BYTES = 32 << 20
"""The largest last-level cache that tests assume."""

sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]
"""jsonschema, which nbformat imports, does without it; to import it compiles a grammar, which takes seconds."""

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
NO_BROWSER = f"no browser ({', '.join(BROWSERS)}): on Debian, apt-get install chromium"


# ---------------------------------------------------------------- the user's cache
@pytest.fixture(autouse=True, scope="session")
def without_cache() -> Iterator[None]:
    """No test is answered from the user's cache, or writes there; tests of the cache name a folder of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PRISM_EXPLORE_CACHE", "off")
        yield


# ---------------------------------------------------------------- goldens
class Golden:
    """Compares texts with the files of `tests/goldens/`, or rewrites those files."""

    def __init__(self, update: bool) -> None:
        self.update = update

    def __call__(self, name: str, text: str) -> None:
        """Assert that `text` is what `tests/goldens/<name>.txt` holds."""
        path = GOLDENS / f"{name}.txt"
        actual = text if text.endswith("\n") else text + "\n"
        if self.update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(actual, encoding="utf-8")
            return
        shown = path.relative_to(ROOT)
        if not path.exists():
            pytest.fail(f"{shown} does not exist; write it with --update-goldens, then read it", pytrace=False)
        expected = path.read_text(encoding="utf-8")
        if expected == actual:
            return
        diff = difflib.unified_diff(expected.splitlines(), actual.splitlines(), str(shown), "this run", lineterm="")
        moved = "\n".join(diff)
        pytest.fail(f"{moved}\n\nIf that is meant: pytest --update-goldens, and read the diff.", pytrace=False)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-goldens", action="store_true", help="rewrite tests/goldens/ with what this run says")
    parser.addoption("--mutants", type=int, help="how many mutated sGraphs, and arbitrary ones, the verifier meets")
    parser.addoption(
        "--soundness",
        type=float,
        default=90.0,
        metavar="SECONDS",
        help="CPU time that the slice of the soundness watch takes (90)",
    )
    parser.addoption(
        "--phase",
        choices=("parallel", "serial"),
        help="only the tests that may run side by side, or only those marked `serial`; all of them by default",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Measure this machine once, for all processes of the run, and with a last-level cache of ordinary size.

    Cold timings read four times the effective cache. Beside other tests no measurement is undisturbed, and it would be
    repeated.
    """
    if hasattr(config, "workerinput"):
        return
    folder = tempfile.TemporaryDirectory(prefix="prism-tests-")
    config.add_cleanup(folder.cleanup)
    measured = target("cpu")
    caches = (*measured.caches_bytes[:-1], min(measured.last_cache_bytes, MOST_CACHE_BYTES))
    figures = measured.replace(
        caches_bytes=caches,
        effective_cache_bytes=min(measured.effective_cache_bytes, MOST_CACHE_BYTES),
        source=measured.source.replace(host.BUSY, ""),
    )
    os.environ["XDG_CACHE_HOME"] = folder.name
    target("cpu", measure=lambda: figures)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A phase imports only files that have a test for it: to import all of them takes most of a minute."""
    phase = config.getoption("--phase")
    if phase is None or collection_path.suffix != ".py" or not collection_path.name.startswith("test_"):
        return None
    text = collection_path.read_text(encoding="utf-8")
    none_here = "mark.serial" not in text if phase == "serial" else ALL_SERIAL.search(text)
    return True if none_here else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection() -> None:
    """Leave the garbage collector off while all modules are imported: nearly nothing of them is garbage."""
    gc.disable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Select one phase of the run, and start with the files that hold slow tests, so that no worker ends late."""
    phase = config.getoption("--phase")
    if phase:
        left_out = [item for item in items if (item.get_closest_marker("serial") is None) == (phase == "serial")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]
    slow_files = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow_files)


def pytest_collection_finish() -> None:
    """Spare the garbage collector what lives to the end: ten thousand tests, torch and other modules.

    It took 18 % of the CPU time of 1,558 tests, 20 of 112 s; so it takes 6 s.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """`golden(name, text)` asserts that text equals `tests/goldens/<name>.txt`."""
    return Golden(bool(request.config.getoption("--update-goldens")))


# ---------------------------------------------------------------- what a machine may lack
@functools.cache
def gpu_lacking() -> str | None:
    """The reason why no GPU test can run here, or None."""
    import torch

    return None if torch.cuda.is_available() else "no GPU that torch can use"


@functools.cache
def find_browser() -> str | None:
    """The browser that the tests drive."""
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


@functools.cache
def node_lacking() -> str | None:
    """The reason why no TypeScript check can run here, or None."""
    if shutil.which("npm") is None:
        return "no npm (Node 20 or newer brings it)"
    if not (ROOT / "widgets" / "node_modules" / "esbuild").is_dir():
        return "widgets/node_modules is not installed: run `npm ci` in widgets/"
    return None


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("needs_gpu") and (reason := gpu_lacking()):
        pytest.skip(reason)
    if item.get_closest_marker("needs_browser") and find_browser() is None:
        pytest.skip(NO_BROWSER)


@pytest.fixture(scope="session")
def browser_path() -> str:
    """The browser to drive; skips with the reason where there is none."""
    path = find_browser()
    return path if path else pytest.skip(NO_BROWSER)


@pytest.fixture
def node() -> Path:
    """The folder of the browser half, ready for npm; skips with the reason where it is not."""
    if reason := node_lacking():
        pytest.skip(reason)
    return ROOT / "widgets"


# ---------------------------------------------------------------- the account
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say at the end, where it is read, what this machine did not test and why."""
    untested: dict[str, list[str]] = defaultdict(list)
    for report in terminalreporter.stats.get("skipped", ()):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        untested[reason.removeprefix("Skipped: ")].append(report.nodeid)
    if not untested:
        return
    terminalreporter.section("NOT TESTED HERE", sep="!", yellow=True, bold=True)
    for reason, tests in sorted(untested.items(), key=lambda row: -len(row[1])):
        terminalreporter.line(f"{len(tests):4} skipped: {reason}", yellow=True)
        for test in tests[:6]:
            terminalreporter.line(f"       {test}")
        if len(tests) > 6:
            terminalreporter.line(f"       and {len(tests) - 6} more")
