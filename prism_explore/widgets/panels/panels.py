"""All panels of the explorer, computed from the journal: one row per panel.

All counts come from the ledger of the events (`events.ledger`), so panels, tables and the command line agree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from prism_explore.widgets.jupyter.commands import COMMANDS, STEERING, Command
from prism_explore.widgets.panels.bookmarks import bookmarks_panel
from prism_explore.widgets.panels.code import code_panel
from prism_explore.widgets.panels.context import Context, Folds, Memo, SearchInfo, ViewState
from prism_explore.widgets.panels.eclasses import eclasses_panel
from prism_explore.widgets.panels.families import families_panel
from prism_explore.widgets.panels.filters import filter_panel, shown_rows, with_dimmed
from prism_explore.widgets.panels.find import find_panel
from prism_explore.widgets.panels.graph import graph_panel
from prism_explore.widgets.panels.inspector import inspect
from prism_explore.widgets.panels.ledger import ledger_panel
from prism_explore.widgets.panels.map import map_panel
from prism_explore.widgets.panels.questions import questions_panel
from prism_explore.widgets.panels.reads import record
from prism_explore.widgets.panels.result_card import result_card
from prism_explore.widgets.panels.sections import CommandHelp, Script, Sections, Tuning, View
from prism_explore.widgets.panels.side_by_side import side_by_side
from prism_explore.widgets.panels.sizes import sizes_panel
from prism_explore.widgets.panels.transport import transport
from prism_explore.widgets.panels.tuning import tuning_panel


def _commands(_: Context) -> Mapping[str, CommandHelp]:
    return {c.name: CommandHelp(c.description, _call(c), c.name not in STEERING) for c in COMMANDS}


def _call(c: Command) -> str:
    return f"{c.python}({'…' if c.parameters else ''})"


def _error(context: Context) -> str | None:
    failure = context.search.failure
    return f"The search failed: {failure}" if failure else None


def _tuning(context: Context) -> Tuning:
    panel = tuning_panel(context)
    return replace(panel, trials=shown_rows(panel.trials, context))


PANELS: Mapping[str, Callable[[Context], Any]] = {
    "commands": _commands,
    "transport": transport,
    "result": result_card,
    "view": lambda context: View(context.view.selection, context.view.tab, context.view.tab_request),
    "map": lambda context: with_dimmed(map_panel(context), context),
    "graph": graph_panel,
    "sizes": sizes_panel,
    "inspector": lambda context: inspect(context.view.selection, context),
    "families": lambda context: shown_rows(families_panel(context), context),
    "side_by_side": side_by_side,
    "eclasses": eclasses_panel,
    "tuning": _tuning,
    "ledger": ledger_panel,
    "questions": questions_panel,
    "code": code_panel,
    "compare": lambda context: context.search.compare,
    "lineage": lambda context: context.search.lineage,
    "bookmarks": bookmarks_panel,
    "filter": filter_panel,
    "find": find_panel,
    "error": _error,
}
"""Per section, the function that computes it; `script` alone is no function of the context."""


def compute(name: str, context: Context) -> Any:
    """A section; the last result in the memo of the context, if nothing that it read has changed."""
    memo = context.memo.sections
    known = memo.get(name)
    if known is None or not known.reads.hold_in(context):
        known = memo[name] = record(PANELS[name], context)
    return known.result


def sections(
    search: SearchInfo, folds: Folds, view: ViewState, lines: tuple[str, ...] = (), memo: Memo | None = None
) -> Sections:
    """Compute every panel.

    Args:
        search: the program, the machine and the state of the search.
        folds: the events.
        view: the view that the user has chosen.
        lines: the commands so far, as lines of Python.
        memo: caches from earlier calls; by default new ones.
    """
    context = Context.of(search, folds, view, memo or Memo())
    return Sections(script=Script(lines), **{name: compute(name, context) for name in PANELS})
