"""The site is built without a warning, has every public name, and its pages load nothing from other hosts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from sphinx.util.inventory import InventoryFile

import prism_explore as px
from docs.remote_resources import remote_resources

ROOT = Path(__file__).resolve().parents[2]


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


@pytest.mark.slow
def test_pages_load_nothing_from_other_hosts(site: Path) -> None:
    assert list(remote_resources(site)) == []


@pytest.mark.parametrize(
    "page",
    [
        '<script src="https://a.org/a.js"></script>',
        "<script src='//a.org/a.js'></script>",
        '<link rel="stylesheet" href="http://a.org/a.css">',
        '<style>@import "https://a.org/a.css";</style>',
        '<p style="background: url(https://a.org/a.png)">',
        "<iframe srcdoc='&lt;img src=&quot;https://a.org/a.png&quot;&gt;'></iframe>",
    ],
)
def test_what_another_host_serves_is_found(page: str, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(f'<a href="https://b.org">b</a><img src="a.png">{page}', encoding="utf-8")

    ((_, address),) = remote_resources(tmp_path)

    assert "a.org" in address


@pytest.mark.slow
def test_the_reference_has_every_public_name(site: Path) -> None:
    inventory = InventoryFile.loads((site / "objects.inv").read_bytes(), uri="")
    named = {item for kind, items in inventory.data.items() if kind.startswith("py:") for item in items}

    assert {f"prism_explore.{name}" for name in px.__all__} <= named


@pytest.mark.slow
def test_each_chapter_and_recipe_has_a_page(site: Path) -> None:
    sources = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "notebooks").glob("*.ipynb")]
    pages = {path.stem for path in site.rglob("*.html")}

    assert {path.stem for path in sources} <= pages


@pytest.mark.slow
def test_tables_of_the_engine_are_printed_whole(site: Path) -> None:
    from prism_explore.generate.pruning.rules import RULES
    from prism_explore.verify.axioms import AXIOMS, CONDITIONS

    rules = (site / "explanation" / "pruning-rules.html").read_text(encoding="utf-8")
    axioms = (site / "explanation" / "axioms.html").read_text(encoding="utf-8")

    assert [rule.name for rule in RULES if f'<span class="pre">{rule.name}</span>' not in rules] == []
    assert [row.name for row in (*AXIOMS, *CONDITIONS) if f"<strong>{row.name}</strong>" not in axioms] == []
