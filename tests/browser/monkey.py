"""Random clicks, keys, drags and steering in the explorer of a live search, at speed; what must not happen is reported.

    python -m tests.browser.monkey --seconds 28800
    python -m tests.browser.monkey --seconds 600 --seed 7

The same seed draws the same numbers; what they hit depends on what the page shows at that moment. Counted as an error:
an error in the console or a rejected promise, an error in the log of Python, an exception in a thread, a search that
ended by one, and a page that does not answer.
"""

from __future__ import annotations

import argparse
import logging
import random
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import prism_explore as px
from prism_explore.pipeline.search_space import default_space
from tests.browser.live_page import LivePage
from tests.generate.programs import gated_mlp, rms_linear_small

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PROGRAMS = (rms_linear_small, gated_mlp)
VIEWPORTS = ((1400, 1000), (900, 700), (1800, 1100))
OF_ONE_PAGE_S = 120.0
"""Then there is another search on another page."""
ACTIONS = {"click": 10, "value": 3, "mouse": 3, "key": 3, "wheel": 2, "wait": 1}
KEYS = ("Tab", "Enter", "Escape", "ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End", "Space", "?", "/")
TEXTS = ("", "mul", "f1", "rule:", "\\u202e<b>", "9" * 40, "depth>2 &", "(", "event 3")

ACT = """([what, draw, text]) => {
  const root = document.querySelector(".prism-explore");
  if (root === null) return "no explorer";
  const kinds = {
    click: "button, [role=tab], [data-ref], [data-command], summary, a, label, th, [role=button], [role=option]",
    value: "input, select, textarea",
  };
  const isShown = (e) => e.checkVisibility({ visibilityProperty: true }) && e.getClientRects().length > 0;
  const leaves = (e) => e instanceof HTMLAnchorElement && e.href.startsWith("http");
  const shown = [...root.querySelectorAll(kinds[what])].filter((e) => isShown(e) && !e.disabled && !leaves(e));
  if (shown.length === 0) return "nothing";
  const element = shown[Math.floor(draw * shown.length)];
  const name = element.getAttribute("data-command") ?? element.tagName.toLowerCase();
  if (what === "click") {
    const where = element.getBoundingClientRect();
    const at = { bubbles: true, cancelable: true, view: window, clientX: where.x + 1, clientY: where.y + 1, button: 0 };
    for (const event of ["mousedown", "mouseup", "click"]) element.dispatchEvent(new MouseEvent(event, at));
    return name;
  }
  if (element.type === "checkbox" || element.type === "radio") element.click();
  else if (element.tagName === "SELECT") element.selectedIndex = Math.floor(draw * element.options.length);
  else if (element.type === "range" || element.type === "number")
    element.value = String(Number(element.min || 0) + draw * (Number(element.max || 100) - Number(element.min || 0)));
  else element.value = text;
  for (const event of ["input", "change"]) element.dispatchEvent(new Event(event, { bubbles: true }));
  return `${element.name || name} ${element.type}`;
}"""
"""Does something to one of the controls that are shown, and says to what."""


@dataclass
class Errors(logging.Handler):
    """What went wrong in Python: records of the log from `ERROR` on, and exceptions of threads."""

    found: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(logging.ERROR)

    def __hash__(self) -> int:
        return id(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record with its traceback."""
        self.found.append(logging.Formatter().format(record))


@contextmanager
def watched_python() -> Iterator[Errors]:
    """Errors of all threads and loggers of this process."""
    errors, before = Errors(), threading.excepthook

    def note(args: threading.ExceptHookArgs) -> None:
        errors.found.append(f"a thread ended by {args.exc_type.__name__}: {args.exc_value}")
        before(args)

    logging.getLogger().addHandler(errors)
    threading.excepthook = note
    try:
        yield errors
    finally:
        threading.excepthook = before
        logging.getLogger().removeHandler(errors)


def act(live: LivePage, r: random.Random) -> str:
    """One random action.

    Returns:
        What it was done to.
    """
    page = live.page
    what = r.choices(list(ACTIONS), list(ACTIONS.values()))[0]
    width, height = (page.viewport_size or {"width": 0, "height": 0}).values()
    x, y = r.uniform(0, width), r.uniform(0, height)
    match what:
        case "click" | "value":
            return str(page.evaluate(ACT, [what, r.random(), r.choice(TEXTS)]))
        case "mouse":
            page.mouse.move(x, y)
            page.mouse.down()
            if r.random() < 0.5:
                page.mouse.move(x + r.uniform(-200, 200), y + r.uniform(-200, 200), steps=2)
            page.mouse.up()
        case "key":
            page.keyboard.press(r.choice(KEYS))
        case "wheel":
            page.mouse.wheel(0, r.uniform(-400, 400))
        case _:
            page.wait_for_timeout(r.uniform(0, 60))
    return what


def play(
    browser: Browser, seed: int, errors: Errors, seconds: float = OF_ONE_PAGE_S, actions: int = 1 << 62
) -> Counter[str]:
    """Act on the explorer of one search.

    Args:
        browser: opens the page.
        seed: of the search and the actions.
        errors: what goes wrong is added there.
        seconds: at most.
        actions: at most.

    Returns:
        How often what was acted on.
    """
    r = random.Random(seed)
    program = r.choice(PROGRAMS)()
    space = replace(default_space(program), results=r.choice((0, 1)), block_ops=r.choice((5, 6, 8)))
    sess = px.Session(program, target="h100", at={"b": 4}, space=space, seed=seed)
    sess.step(r.choice((1, 10, 100)))
    width, height = r.choice(VIEWPORTS)
    page = browser.new_page(viewport={"width": width, "height": height})
    live = LivePage(page, sess.widget)
    live.root.wait_for()
    done: Counter[str] = Counter()
    end_s = time.monotonic() + seconds
    last: deque[str] = deque(maxlen=6)
    while time.monotonic() < end_s and done.total() < actions:
        last.append(act(live, r))
        done[last[-1]] += 1
        errors.found += (f"{error}, after {', '.join(last)}" for error in live.errors)
        live.errors.clear()
    page.wait_for_timeout(300)
    errors.found += live.errors
    if not page.evaluate("document.querySelector('.prism-explore') !== null"):
        errors.found.append("the explorer is gone")
    page.close()
    sess.widget.close()  # ipywidgets keeps an open widget, and with it the search, for ever
    sess.close()
    return done


def resident_mib() -> float:
    """Resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096 / (1 << 20)


def main() -> int:
    """Exit status 1 if there was an error."""
    from playwright.sync_api import sync_playwright

    from tests.browser.lab import CHROMIUM_FLAGS
    from tests.conftest import find_browser

    parser = argparse.ArgumentParser(description="Random clicks and steering in a headless Chromium.")
    parser.add_argument("--seconds", type=float, default=28_800.0, help="of wall time (28800)")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    path = find_browser()
    if path is None:
        parser.error("no Chromium found; `make browser` installs one")
    total: Counter[str] = Counter()
    end_s, failed = time.monotonic() + args.seconds, 0
    with sync_playwright() as playwright, watched_python() as errors:
        browser: Any = playwright.chromium.launch(executable_path=path, args=list(CHROMIUM_FLAGS))
        seed = args.seed
        while (left_s := end_s - time.monotonic()) > 0:
            total += play(browser, seed, errors, min(left_s, OF_ONE_PAGE_S))
            for what in errors.found[failed:]:
                print(f"seed {seed}: {what}")
            failed = len(errors.found)
            print(f"seed {seed}: {total.total():,} actions, {failed} errors, {resident_mib():.0f} MiB", flush=True)
            seed += 1
        browser.close()
    print(", ".join(f"{what} {times:,}" for what, times in total.most_common()))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
