"""The site is built without a warning, has every public name, and its pages load nothing from other hosts."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from sphinx.util.inventory import InventoryFile

import prism_explore as px

ROOT = Path(__file__).resolve().parents[2]
LOADS = {("a", "href"): False, ("area", "href"): False, ("link", "href"): True, ("form", "action"): False}
"""Whether a browser loads what an attribute names, for those of which it is not plain; it loads every `src`."""
IN_STYLES = re.compile(r"@import\s+[\"'][^\"']*|url\(\s*[\"']?[^\"')]*")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site without the outputs of notebooks, which `make docs` makes."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-D", "nb_execution_mode=off"]
    done = subprocess.run(
        [*command, "-b", "html", "-d", f"{folder}/doctrees", "docs", f"{folder}/html"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder / "html"


class Loaded(HTMLParser):
    """Collects the addresses that a browser loads for a page."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in {"src", "srcset", "data", "poster"} or LOADS.get((tag, name), False):
                self.addresses.append(value or "")
            elif name in {"style", "srcdoc"}:
                self.addresses += IN_STYLES.findall(value or "")

    def handle_data(self, data: str) -> None:
        if self.get_starttag_text() == "<style>":
            self.addresses += IN_STYLES.findall(data)


def loaded_by(site: Path) -> Iterator[tuple[str, str]]:
    """File and address of all that the files of a site load."""
    for path in site.rglob("*"):
        if path.suffix == ".html":
            parser = Loaded()
            parser.feed(path.read_text(encoding="utf-8"))
            yield from ((path.name, address) for address in parser.addresses)
        elif path.suffix == ".css":
            yield from ((path.name, address) for address in IN_STYLES.findall(path.read_text(encoding="utf-8")))


def test_pages_load_nothing_from_other_hosts(site: Path) -> None:
    remote = re.compile(r"(?:https?:)?//")

    assert {(file, address) for file, address in loaded_by(site) if remote.search(address)} == set()


def test_what_another_host_serves_would_be_found(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(
        '<script src="https://a.org/a.js"></script><style>@import "//b.org/b.css"</style>'
        '<link href="https://c.org/c.css"><a href="https://d.org">d</a><p style="background:url(http://e.org/e.png)">'
    )

    found = [address for _, address in loaded_by(tmp_path)]

    assert [host for host in "abcde" if any(f"{host}.org" in address for address in found)] == list("abce")


def test_the_reference_has_every_public_name(site: Path) -> None:
    inventory = InventoryFile.loads((site / "objects.inv").read_bytes(), uri="")
    named = {item for kind, items in inventory.data.items() if kind.startswith("py:") for item in items}

    assert {f"prism_explore.{name}" for name in px.__all__} <= named


def test_each_chapter_and_recipe_has_a_page(site: Path) -> None:
    sources = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "notebooks").glob("*.ipynb")]
    pages = {path.stem for path in site.rglob("*.html")}

    assert {path.stem for path in sources} <= pages


def test_tables_of_the_engine_are_printed_whole(site: Path) -> None:
    from prism_explore.generate.pruning.rules import RULES
    from prism_explore.verify.axioms import AXIOMS, CONDITIONS

    rules = (site / "explanation" / "pruning-rules.html").read_text(encoding="utf-8")
    axioms = (site / "explanation" / "axioms.html").read_text(encoding="utf-8")

    assert [rule.name for rule in RULES if f'<span class="pre">{rule.name}</span>' not in rules] == []
    assert [row.name for row in (*AXIOMS, *CONDITIONS) if f"<strong>{row.name}</strong>" not in axioms] == []
