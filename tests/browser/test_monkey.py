"""Some random clicks, keys, drags and steering commands; `make monkey` goes on for hours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.monkey import Errors, play, watched_python

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.needs_browser, pytest.mark.slow, pytest.mark.timeout(300)]


def test_random_clicks_and_steering_leave_no_error_in_the_console_or_the_log(chromium: Browser) -> None:
    with watched_python() as errors:
        done = play(chromium, seed=0, errors=errors, actions=60)

    assert errors.found == []
    assert done["button"] > 5


def test_an_error_of_the_page_is_found(chromium: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.browser.monkey.ACT", "() => { console.error('planted'); return 'planted'; }")
    errors = Errors()

    play(chromium, seed=0, errors=errors, actions=20)

    assert any(error.startswith("planted, after ") for error in errors.found)
