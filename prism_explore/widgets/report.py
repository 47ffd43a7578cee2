"""A search as one HTML file with the explorer in it, to attach to an issue and open anywhere.

The page loads no other file, and its only code is the module of the explorer, which is compressed, and the lines that
decompress it. The data that the explorer would request from Python is computed in advance and stored in the page; the
module decompresses it. Everything can be selected and read, and the search cannot be steered. Texts of the search are
data in the page, never markup.
"""

from __future__ import annotations

import base64
import json
import lzma
import zlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from html import escape
from pathlib import Path
from types import ModuleType
from typing import Any

from prism_explore.diagnose.compare_runs import RunComparison, compare_runs
from prism_explore.events.kinds import CandidateInstantiated
from prism_explore.events.ledger import Ledger, ledger
from prism_explore.events.phases import phase_of
from prism_explore.ir.text import parse
from prism_explore.support.file_names import file_name
from prism_explore.support.gc_pause import gc_paused
from prism_explore.widgets.drawing.colors import TEXTS
from prism_explore.widgets.drawing.text_metrics import width_px
from prism_explore.widgets.jupyter.live import SessionLike
from prism_explore.widgets.panels.compare import ComparedSearches, search_name
from prism_explore.widgets.panels.context import Context, ViewState, search_info
from prism_explore.widgets.panels.event_index import MAX_LOG_ENTRIES
from prism_explore.widgets.panels.panels import PANELS
from prism_explore.widgets.panels.sections import to_data
from prism_explore.widgets.report_data.columns import event_columns
from prism_explore.widgets.report_data.compared import ComparedData, compared_data
from prism_explore.widgets.report_data.frames import FrameCount, grow_lemmas, record_frames
from prism_explore.widgets.report_data.moments import Recorder, Versions, family_of, moments
from prism_explore.widgets.report_data.pool import Pool
from prism_explore.widgets.report_data.templates import (
    NUMBERS,
    PLACEHOLDERS,
    node_templates,
    past_template,
    region_templates,
)
from prism_explore.widgets.views import (
    outline_rows,
    pruning_reasons,
    reasons_map,
    search_map,
    search_tree_map,
    similar,
    time_map,
)
from prism_explore.widgets.views.egraph_view import MODES
from prism_explore.widgets.views.marks import FAMILY_OUTLINES, LEGEND, LETTERS, PRUNED_KINDS

MAX_GRAPHS = 40
"""Largest number of candidates whose graphs, tensors and e-classes are in the page, the winner first."""
WINNER_FRAMES = 400
"""Number of e-graph frames of the winner after which no other lemma of it is in the page."""
MAP_PX, DOCK_PX = 460, 620
COMPARED_PX = 640
"""Width of the map of a comparison."""
MOST_COMPRESSED_BYTES = 4_000_000
"""Data up to this size is compressed as far as LZMA can in reasonable time; larger data three times as fast."""

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
body {{ margin: 0; padding: 8px; box-sizing: border-box; height: 100vh; display: flex; flex-direction: column;
  background: var(--jp-layout-color1); font-family: system-ui, sans-serif; }}
#prism-here {{ flex: auto; min-height: 0; display: flex; flex-direction: column; }}
#prism-here .prism-explore {{ flex: auto; }}
#prism-here :is([data-panel=map] .pe-choices > button, td.pe-tools, \
  .pe-deleted, .pe-compare-form, .pe-bookmarkbox > button, .pe-bookmarks .pe-tool, \
.pe-group:has(> [data-command])) {{ display: none; }}
.prism-refused {{ margin: 0 0 8px; padding: 6px 8px; border-left: 3px solid #0072b2;
  color: var(--jp-ui-font-color0); }}
:is(.prism-refused, footer) button {{ margin-left: 8px; min-height: 24px; font: inherit; }}
body > footer {{ padding: 4px 8px; color: light-dark(#595959, #b5b5b5); font-size: 12px; }}
</style>
</head>
<body>
<div id="prism-here"></div>
<footer data-file="{file}">{footer}</footer>
<script type="text/plain" id="prism-report">{data}</script>
{search}
<script type="text/plain" id="prism-module">{module}</script>
<script type="module">{loader}</script>
</body>
</html>
"""
_LOADER = """
const place = document.getElementById("prism-here");
const say = (text) => {
  const line = document.createElement("p");
  line.setAttribute("role", "alert");
  line.textContent = text;
  place.replaceChildren(line);
};
if (typeof DecompressionStream === "undefined") {
  say("This report needs a browser of 2023 or later: Chrome 80, Edge 80, Safari 16.4, Firefox 113. " +
    "This one has no DecompressionStream.");
} else {
  try {
    const packed = atob(document.getElementById("prism-module").textContent);
    const bytes = Uint8Array.from(packed, (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const script = document.createElement("script");
    script.type = "module";
    script.textContent = await new Response(stream).text();
    document.body.append(script);
  } catch (error) {
    say(`This report is damaged and cannot be shown: ${String(error)}. Write it again with sess.report(path).`);
  }
}
"""
"""Decompresses the module of the explorer and starts it."""


def report_page(session: SessionLike, search: str = "") -> str:
    """Return the page of a session or of a saved search.

    Args:
        session: the search.
        search: the element with its events, see `Journal.page_element`; without it, the page cannot be loaded.
    """
    with gc_paused():
        data, sentences = report_data(session)
    name = session.program.name
    return _page(f"{name} on {session.task.target.name}", sentences, data, search, file_name(name))


def comparison_page(found: RunComparison) -> str:
    """Return the page of two searches side by side."""
    searches, pool = ComparedSearches(found), Pool()
    with gc_paused():
        compared = compared_data(searches, pool, COMPARED_PX)
        data = {"compared": compared.data, "pool": pool.to_data()}
    names = " and ".join(search_name(search) for search in searches.searches)
    counts = " and ".join(f"{count:,}" for count in found.event_counts)
    return _page(
        f"{names}, compared", (f"A report of two searches of {counts} events.", *_compared_sentences(compared)), data
    )


def _page(
    title: str, sentences: Sequence[str], data: Mapping[str, Any], search: str = "", search_file: str = ""
) -> str:
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return _PAGE.format(
        title=escape(title),
        file=escape(search_file),
        footer=escape(" ".join(sentences)),
        data=_base64(packed_data(text.encode("utf-8", "replace"))),
        module=_base64(zlib.compress(MODULE.read_bytes(), 9)),
        loader=_LOADER,
        search=search,
    )


def packed_data(content: bytes) -> bytes:
    """The content, compressed by LZMA; `widgets/src/lib/lzma.ts` decompresses it.

    Browsers decompress deflate themselves, but deflate finds no repetitions more than 32 KB apart, and takes half as
    many bytes again for the data of a page.
    """
    preset = 5 if len(content) <= MOST_COMPRESSED_BYTES else 1
    # Texts do not repeat at multiples of four bytes, which is LZMA's default.
    filters = [{"id": lzma.FILTER_LZMA1, "preset": preset, "pb": 0}]
    return lzma.compress(content, lzma.FORMAT_ALONE, filters=filters)


def _base64(content: bytes) -> str:
    """The content as text; base64 has no character that could end a script element."""
    return base64.b64encode(content).decode("ascii")


def report_data(session: SessionLike) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The data of the page, and sentences on what it contains and what it leaves out."""
    entries = session.journal.entries
    book = ledger(e.event for e in entries)
    graphs = {e.event.candidate: e.event.sgraph for e in entries if isinstance(e.event, CandidateInstantiated)}
    candidates = list(graphs)
    drawn = _most_wanted(candidates, book)
    families = list(dict.fromkeys((*(family_of(c) for c in drawn), *(f.family for f in book.families))))[:MAX_GRAPHS]
    search = search_info(session, with_questions=False)
    view = ViewState(map_px=MAP_PX, dock_px=DOCK_PX, interactive=False)
    pool = Pool()
    recorder = Recorder(search, Versions(pool), frozenset((*drawn, *families)), view)
    at = moments(entries, len(book.families))
    with ThreadPoolExecutor(1, "prism-lemmas") as beside:
        if drawn:
            beside.submit(lambda: grow_lemmas(recorder, parse(graphs[drawn[0]]), WINNER_FRAMES))
        folds = recorder.record(entries, at)
    frames = record_frames(recorder, drawn, folds, WINNER_FRAMES)
    context = Context.of(search, folds, view, recorder.memo)
    comparison = _comparison(session)
    compared = compared_data(ComparedSearches(comparison), pool, COMPARED_PX) if comparison is not None else None
    data = {
        "moments": at,
        "columns": event_columns(entries, pool),
        "regions": region_templates((e.event for e in entries), context, pool),
        "nodes": pool.add(node_templates(context)),
        "past": past_template(len(entries)),
        "placeholders": PLACEHOLDERS,
        "numbers": NUMBERS,
        "phases": {type(e.event).__name__: phase_of(e.event) for e in entries},
        "drawing": drawing(),
        "map_modes": to_data(PANELS["map"](context).modes),
        "egraph_modes": [{"name": name, "label": label, "tip": tip} for name, (label, tip) in MODES.items()],
        "compared": compared.data if compared is not None else None,
        "timeline": recorder.versions.of,
        "pool": pool.to_data(recorder.versions.by_name()),
    }
    sentences = _sentences(len(entries), len(at), (len(drawn), len(candidates)), frames)
    return data, (*sentences, *(_compared_sentences(compared) if compared is not None else ()))


def _comparison(session: SessionLike) -> RunComparison | None:
    """The last comparison of a search; else that with its last fork, or with its parent; None without one."""
    answers = [q.answer for q in session.questions.values() if isinstance(q.answer, RunComparison)]
    if answers:
        return answers[-1]
    forks: tuple[Any, ...] = getattr(session, "forks", ())
    other = forks[-1] if forks else getattr(session, "parent", None)
    return compare_runs(session, other.session_to_show()) if other is not None else None


def _compared_sentences(compared: ComparedData) -> tuple[str, ...]:
    if compared.is_complete:
        return ()
    return (f"Of the two searches compared, {compared.selected:,} steps, families and candidates can be selected.",)


def _most_wanted(candidates: Sequence[str], book: Ledger) -> list[str]:
    """The candidates whose graphs are in the page: the winner, then timed, proved and other ones."""
    best = book.best.candidate if book.best is not None else ""
    timed = {t.candidate for t in book.trials if t.time_s is not None}
    proved = {c for c, v in book.verdicts.items() if v.verdict == "proved"}
    return sorted(candidates, key=lambda c: (c != best, c not in timed, c not in proved))[:MAX_GRAPHS]


def drawing() -> dict[str, Any]:
    """The constants of the search map in its modes and of the bars of reasons, which the browser draws."""
    return {
        "letters": LETTERS,
        "pruned_kinds": PRUNED_KINDS,
        "family_outlines": FAMILY_OUTLINES,
        "legend": LEGEND,
        "column_px": {kind: width_px("x", kind) for kind in TEXTS},
        "row_px": search_map.ROW_PX,
        "min_block_px": search_map.MIN_BLOCK_PX,
        "letter_px": search_map.LETTER_PX,
        "mark_px": search_map.MARK_PX,
        "max_mark_rows": search_map.MAX_MARK_ROWS,
        "max_levels": search_map.MAX_LEVELS,
        "narrow_px": pruning_reasons.NARROW_PX,
        "log_entries": MAX_LOG_ENTRIES,
        "outline": _constants(outline_rows, "row_px", "toggle_px", "glyph_px"),
        "tree": _constants(
            search_tree_map,
            *("small_leaves", "max_rows", "max_more_rows", "max_children", "min_step_px", "max_step_px", "text_px"),
        ),
        "similar": _constants(similar, "max_patterns", "max_parts", "max_examples", "row_px"),
        "by_reason": _constants(reasons_map, "max_operators", "max_nodes", "max_open_reasons", "step_px"),
        "time": _constants(
            time_map,
            *("left_px", "right_px", "top_px", "lane_px", "bin_px", "mark_px", "max_marks", "outlines"),
        ),
    }


def _constants(module: ModuleType, *names: str) -> dict[str, object]:
    """Constants of a module, by their names in lower case."""
    return {name: getattr(module, name.upper()) for name in names}


def _sentences(events: int, moments_count: int, drawn: tuple[int, int], frames: FrameCount) -> tuple[str, ...]:
    sentences = [f"A report of {events:,} events."]
    if moments_count < events:
        sentences.append(
            "At an earlier moment, the map, counts, reasons and log are exact. The other panels show the last of "
            f"{moments_count:,} recorded moments before it, and an inspector the last event of its subject."
        )
    if drawn[0] < drawn[1]:
        sentences.append(f"The graphs of {drawn[0]:,} of {drawn[1]:,} candidates are included.")
    if frames.all_lemmas:
        others = f", and that of the results of {frames.goals:,} other candidates" if frames.goals else ""
        sentences.append(
            f"The e-graphs of {frames.lemmas:,} of {frames.all_lemmas:,} lemmas of {frames.candidate} are included, "
            f"{frames.frames:,} frames{others}."
        )
    sentences.append("To run or steer the search, open this page in a notebook: px.Session.load(path).")
    return tuple(sentences)
