"""A search as one HTML file with the explorer in it, to attach to an issue and open anywhere.

The page loads no other file, and its only code is the module of the explorer. The data that the explorer would
request from Python is computed in advance and stored in the page: everything can be selected and read, and the search
cannot be steered. Texts of the search are data in the page, never markup.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

from prism_explore.ir.ops import Custom
from prism_explore.ir.program import TensorProgram
from prism_explore.widgets.jupyter.live import SessionLike
from prism_explore.widgets.panels.context import Context, Folds, Memo, ViewState, graph_of, search_info, subject_of
from prism_explore.widgets.panels.event_index import EventIndex
from prism_explore.widgets.panels.inspector import inspect
from prism_explore.widgets.panels.panels import sections
from prism_explore.widgets.panels.sections import to_data
from prism_explore.widgets.refs import member_ref, program_tensor, tensor_name

MAX_REGIONS = 2_000
"""Largest number of pruned regions that can be selected; the map shows all, and the footer has both counts."""
MAX_CANDIDATES = 60
"""Largest number of candidates whose graphs and tensors are in the page: those of the first families."""
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
    """Return the page of a session or of a saved search."""
    folds, memo = Folds(session.journal.entries), Memo()
    search = search_info(session, with_questions=False)
    view = ViewState(map_px=MAP_PX, dock_px=DOCK_PX)
    context = Context.of(search, folds, view, memo)
    events = folds.events
    candidates = list(events.candidates)[:MAX_CANDIDATES]
    inspectors: dict[str, Any] = {}
    owners: dict[str, str] = {}
    for ref in (*_refs(events, candidates, session.program), *(t.trial for t in context.ledger.trials)):
        if (found := inspect(ref, context)) is not None:
            inspectors[ref] = to_data(found)
            if owner := subject_of(ref, events):
                owners[ref] = owner
    subjects: dict[str, Any] = {}
    for owner in dict.fromkeys((*events.families, *candidates)):
        panels = sections(search, folds, replace(view, selection=owner, subject=owner), memo=memo)
        subjects[owner] = {name: to_data(getattr(panels, name)) for name in ("graph", "eclasses", "code")}
        subjects[owner]["graph"]["expanded"] = None
    base = to_data(sections(search, folds, view, memo=memo))
    base["transport"]["enabled"] = []
    base["graph"]["expanded"] = None
    module = MODULE.read_text(encoding="utf-8")
    assert "</script" not in module and "<!--" not in module, "the module would end its script element"
    data = {"sections": base, "inspectors": inspectors, "subjects": subjects, "owners": owners}
    return _PAGE.format(
        title=escape(f"{session.program.name} on {session.task.target.name}"),
        footer=escape(_footer(events, len(candidates))),
        # In JSON only strings contain "<"; escaped, it cannot end the script element.
        data=json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c"),
        module=module,
    )


def _refs(events: EventIndex, candidates: list[str], program: TensorProgram) -> Iterator[str]:
    """The ids that can be selected in the page."""
    yield from events.nodes
    yield from list(events.regions)[:MAX_REGIONS]
    yield from events.regions_by_code
    yield from events.families
    yield from events.candidates
    yield from (program_tensor(n) for n in range(len(program.graph.nodes)))
    for candidate in candidates:
        graph = graph_of(candidate, events)
        for n, node in enumerate(graph.nodes if graph is not None else ()):
            yield member_ref(candidate, tensor_name(n))
            if isinstance(node.op, Custom):
                yield from (member_ref(candidate, tensor_name(n, m)) for m in range(len(node.op.block.nodes)))
        verdict = events.verdicts.get(candidate)
        yield from (c for c, _, _ in (verdict.classes if verdict is not None else ()))


def _footer(events: EventIndex, candidates: int) -> str:
    regions = min(len(events.regions), MAX_REGIONS)
    sentences = [f"A report of {events.count:,} events."]
    if regions < len(events.regions):
        sentences.append(f"{regions:,} of {len(events.regions):,} pruned regions can be selected.")
    if candidates < len(events.candidates):
        sentences.append(f"The graphs of {candidates:,} of {len(events.candidates):,} candidates are included.")
    sentences.append("For the frames of e-graphs and for new searches, open the saved search in a notebook.")
    return " ".join(sentences)
