"""What this site adds to Sphinx: the engine's tables, the chapters of the course, and names of the reference."""

from __future__ import annotations

import hashlib
import re
import shutil
from pathlib import Path
from typing import Any

import nbformat
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.ext.napoleon import Config, GoogleDocstring
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from docs.remote_resources import remote_resources
from docs.tables import TABLES

ROOT = Path(__file__).resolve().parent.parent
_NOTE = """:::{note}
This page was made by running the notebook. Its pictures need no kernel, but nothing can be run or steered here, and the
exercises are blank. An explorer shows its search as the last cell left it. `make explore` opens the notebooks
themselves.
:::"""
_BEFORE = f"""import shutil
from IPython.display import HTML, display
from prism_explore.session.record import Record
from prism_explore.widgets.jupyter.display import frame

shutil.copytree({str(ROOT / "notebooks" / "recordings")!r}, "recordings")
shown_searches = []


def show_later(search):
    shown_searches.append((search, display(HTML(""), display_id=True)))


get_ipython().display_formatter.ipython_display_formatter.for_type(Record, show_later)"""
_AFTER = """for search, handle in shown_searches:
    handle.update(HTML(frame(search.widget.page)))"""
"""A search is shown as the report of its last event, so that the page has what the cells below did to it."""


class EngineTable(SphinxDirective):
    """Prints a table of the engine on a page in Markdown: `{engine-table} axioms`."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Parse the Markdown of the table as a part of the page."""
        name = self.arguments[0]
        if name not in TABLES:
            raise self.error(f"found the table {name!r}; expected one of {', '.join(TABLES)}")
        return self.parse_text_to_nodes(TABLES[name](), allow_section_headings=True)


def read_chapter(text: str) -> nbformat.NotebookNode:
    """Read a chapter: with a note, and with hidden cells that make its pictures work without a kernel.

    Args:
        text: the notebook as JSON. Its links into the repository begin with `../`, those to pages of this site with
            `../docs/`.
    """
    notebook = nbformat.reads(text, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = re.sub(r"\]\(\.\./(?!docs/)", "](/../", cell.source).replace("](../docs/", "](/")
    title = notebook.cells[0]
    heading, _, rest = title.source.partition("\n")
    title.source = f"{heading}\n\n{_NOTE}\n{rest}"
    hidden = {"tags": ["remove-cell"]}
    notebook.cells.insert(0, nbformat.v4.new_code_cell(_BEFORE, metadata=hidden))
    notebook.cells.append(nbformat.v4.new_code_cell(_AFTER, metadata=hidden))
    return notebook


def execution_cache(folder: Path) -> Path:
    """The folder with the outputs of this version of the package; those of other versions are deleted.

    Args:
        folder: where the outputs of all versions are.
    """
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted(p for p in (ROOT / "prism_explore").rglob("*") if p.suffix in {".py", ".js"}):
        digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    for old in folder.glob("*"):
        if old.name != digest.hexdigest():
            shutil.rmtree(old)
    return folder / digest.hexdigest()


class ProseDocstring(GoogleDocstring):
    """Google's style as this project writes it: types are annotations, so a colon in `Returns` ends no type."""

    def _consume_returns_section(self, preprocess_types: bool = False) -> list[tuple[str, str, list[str]]]:
        lines = self._dedent(self._consume_to_next_section())
        return [("", "", lines)] if lines else []


def google_style(app: Sphinx, what: str, name: str, value: object, options: Any, lines: list[str]) -> None:
    """Translate a docstring; that of an attribute is text."""
    if what not in {"attribute", "property"}:
        lines[:] = ProseDocstring(lines, Config(), app, what, name, value, options).lines()


def refuse_other_hosts(app: Sphinx, error: Exception | None) -> None:
    """Warn of what pages load from other hosts, so that the build fails."""
    if error is None and app.builder.format == "html":
        for path, address in remote_resources(app.outdir):
            logging.getLogger(__name__).warning("the page loads %s", address, location=str(path))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive, the style of docstrings, and the check at the end."""
    app.setup_extension("sphinx.ext.autodoc")
    app.add_directive("engine-table", EngineTable)
    app.connect("autodoc-process-docstring", google_style)
    app.connect("build-finished", refuse_other_hosts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
