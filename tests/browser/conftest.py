"""Fixtures for tests in a real browser: `lab` is the server, `lab_page` a page of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.browser.lab import Lab, LabPage

ROOT = Path(__file__).resolve().parent.parent.parent
FAILED = pytest.StashKey[bool]()


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """One JupyterLab for all browser tests of a process."""
    from tests.browser.lab import running_lab

    with running_lab(tmp_path_factory.mktemp("lab")) as lab:
        yield lab


@pytest.fixture(scope="module")
def chromium(browser_path: str) -> Iterator[Browser]:
    """One browser for the tests of a file: playwright's event loop must not run during the tests of other files."""
    from playwright.sync_api import sync_playwright

    from tests.browser.lab import CHROMIUM_FLAGS

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=list(CHROMIUM_FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def lab_page(lab: Lab, chromium: Browser, request: pytest.FixtureRequest) -> Iterator[LabPage]:
    """A fresh page. At the end of each test: nothing that it asked for left the server."""
    from tests.browser.lab import LabPage

    context = chromium.new_context(viewport={"width": 1400, "height": 1000})
    page = LabPage(lab, context.new_page())
    yield page
    if request.node.stash.get(FAILED, False):
        name = re.sub(r"[^\w.-]+", "_", request.node.name)
        picture = ROOT / ".out" / "browser" / f"{name}.png"
        page.page.screenshot(path=picture, full_page=True)
        print(f"the page when the test failed: {picture.relative_to(ROOT)}")
    context.close()

    assert page.left_the_server == []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    report = yield
    if report.when == "call":
        item.stash[FAILED] = report.failed
    return report
