"""What pages load from other hosts: a site that is read offline loads nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

_LOADING = {"src", "srcset", "poster"}
"""Attributes whose address a browser loads; of `link` also `href`, of `object` also `data`."""
_IN_STYLES = re.compile(r"@import\s+[\"']([^\"']*)|url\(\s*[\"']?([^\"')]*)")
_REMOTE = re.compile(r"(?:https?:)?//")


class _Page(HTMLParser):
    """Collects the addresses that a browser loads for a page, and for the pages in its frames."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self._in_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what the attributes load."""
        self._in_style = tag == "style"
        for name, value in attrs:
            if name in _LOADING or (tag, name) in {("link", "href"), ("object", "data")}:
                self.addresses.append(value or "")
            elif name == "style":
                self.addresses += _of_style(value or "")
            elif name == "srcdoc":
                self.addresses += _of_page(value or "")

    def handle_endtag(self, tag: str) -> None:
        """A style ends."""
        self._in_style = False

    def handle_data(self, data: str) -> None:
        """Note what a style loads."""
        if self._in_style:
            self.addresses += _of_style(data)


def _of_style(text: str) -> list[str]:
    return ["".join(found) for found in _IN_STYLES.findall(text)]


def _of_page(text: str) -> list[str]:
    page = _Page()
    page.feed(text)
    return page.addresses


def remote_resources(folder: Path) -> Iterator[tuple[Path, str]]:
    """Find what the pages and style sheets of a folder load from other hosts.

    Args:
        folder: a site.

    Yields:
        A file, and an address that it loads.
    """
    for path in sorted(folder.rglob("*")):
        if path.suffix in {".html", ".css"}:
            text = path.read_text(encoding="utf-8")
            found = _of_page(text) if path.suffix == ".html" else _of_style(text)
            yield from ((path, address) for address in found if _REMOTE.match(address.strip()))
