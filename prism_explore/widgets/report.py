"""A search as one file: an HTML page with the explorer in it, to attach to an issue and open anywhere.

Nothing is fetched and nothing runs but the explorer's own module. What the explorer would ask Python for is
computed beforehand and lies in the page as data, so that everything can be selected and read; a report
cannot be steered. Every text of the search is data to the page, never markup.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from prism_explore.ir.ops import Custom
from prism_explore.ir.program import TensorProgram
from prism_explore.widgets.jupyter.live import SessionLike
from prism_explore.widgets.panels.facts import Facts
from prism_explore.widgets.panels.inspector import graph_of, inspect, subject_of
from prism_explore.widgets.panels.panels import Book, Look, search_of, sections
from prism_explore.widgets.panels.sections import plain

MOST_REGIONS = 2_000
"""Cut regions that a page holds; the picture has all, and the page says how many can be opened."""
MOST_CANDIDATES = 60
"""Candidates whose graphs and tensors it holds: those of the first families."""
MAP_PX, DOCK_PX = 460, 620

MODULE = Path(__file__).parent / "static" / "report.js"

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; \
style-src 'unsafe-inline'; img-src data:">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; --jp-layout-color1: #ffffff; --jp-layout-color2: #eeeeee;
  --jp-border-color2: #e0e0e0; --jp-ui-font-color0: #000000; }}
@media (prefers-color-scheme: dark) {{ :root {{ --jp-layout-color1: #111111; --jp-layout-color2: #212121;
  --jp-border-color2: #424242; --jp-ui-font-color0: #ffffff; }} }}
body {{ margin: 0; padding: 8px; background: var(--jp-layout-color1); font-family: system-ui, sans-serif; }}
#prism-here .prism-explore {{ height: calc(100vh - 40px); }}
#prism-here :is(.pe-time, .pe-do, td.pe-tools, .pe-group:has(> [data-command])) {{ display: none; }}
body > footer {{ padding: 4px 8px; color: #767676; font-size: 12px; }}
</style>
</head>
<body>
<div id="prism-here"></div>
<footer>{footer}</footer>
<script type="application/json" id="prism-report">{data}</script>
<script type="module">{module}</script>
</body>
</html>
"""


def report_page(session: SessionLike) -> str:
    """The page of a session or of a saved search."""
    book = Book.empty()
    for entry in session.journal.entries:
        book.add(entry)
    facts, search = book.facts, search_of(session, asking=False)
    look = Look(map_px=MAP_PX, dock_px=DOCK_PX)
    ledger = book.fold.value()
    shown = list(facts.candidates)[:MOST_CANDIDATES]
    inspectors: dict[str, Any] = {}
    owners: dict[str, str] = {}
    for ref in (*_refs(facts, shown, session.program), *(t.trial for t in ledger.trials)):
        if (found := inspect(ref, session.program, facts, ledger)) is not None:
            inspectors[ref] = plain(found)
            if owner := subject_of(ref, facts):
                owners[ref] = owner
    subjects: dict[str, Any] = {}
    for owner in dict.fromkeys((*facts.families, *shown)):
        seen = sections(search, book, Look(owner, owner, map_px=MAP_PX, dock_px=DOCK_PX))
        subjects[owner] = {name: plain(getattr(seen, name)) for name in ("graph", "eclasses", "code")}
        subjects[owner]["graph"]["expanded"] = None
    base = plain(sections(search, book, look))
    base["transport"]["can"] = []
    base["graph"]["expanded"] = None
    module = MODULE.read_text(encoding="utf-8")
    assert "</script" not in module and "<!--" not in module, "the module would end its own element"
    data = {"sections": base, "inspectors": inspectors, "subjects": subjects, "owners": owners}
    return _PAGE.format(
        title=escape(f"{session.program.name} on {session.task.target.name}"),
        footer=escape(_footer(facts, len(shown))),
        # In JSON only texts hold a "<", and there it may be spelled so that nothing ends the element.
        data=json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c"),
        module=module,
    )


def _refs(facts: Facts, candidates: list[str], program: TensorProgram) -> Iterator[str]:
    """Everything that can be selected and that the page holds."""
    yield from facts.nodes
    yield from list(facts.regions)[:MOST_REGIONS]
    yield from dict.fromkeys(r.reason.code for r in facts.regions.values())
    yield from facts.families
    yield from facts.candidates
    yield from (f"program.%{n}" for n in range(len(program.graph.nodes)))
    for candidate in candidates:
        graph = graph_of(candidate, facts)
        for n, node in enumerate(graph.nodes if graph is not None else ()):
            yield f"{candidate}/k{n}"
            if isinstance(node.op, Custom):
                yield from (f"{candidate}/k{n}.b{m}" for m in range(len(node.op.block.nodes)))
        verdict = facts.verdicts.get(candidate)
        yield from (c for c, _, _ in (verdict.classes if verdict is not None else ()))


def _footer(facts: Facts, candidates: int) -> str:
    held = min(len(facts.regions), MOST_REGIONS)
    said = [f"A report of {facts.count:,} facts."]
    if held < len(facts.regions):
        said.append(f"{held:,} of {len(facts.regions):,} cut regions can be opened here.")
    if candidates < len(facts.candidates):
        said.append(f"The graphs of {candidates:,} of {len(facts.candidates):,} candidates are here.")
    said.append("The steps of e-graphs, and everything that searches, need the saved search and a notebook.")
    return " ".join(said)
