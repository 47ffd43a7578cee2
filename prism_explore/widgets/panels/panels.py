"""All panels of the explorer, computed from the journal: one row per panel.

All counts come from the ledger of the events (`events.ledger`), so panels, tables and the command line agree.
"""

from __future__ import annotations

from prism_explore.widgets.jupyter.commands import COMMANDS
from prism_explore.widgets.panels.context import Context, Folds, Memo, SearchInfo, ViewState
from prism_explore.widgets.panels.families import families_panel
from prism_explore.widgets.panels.inspector import inspect
from prism_explore.widgets.panels.ledger import ledger_panel
from prism_explore.widgets.panels.pictures import graph_panel, map_panel
from prism_explore.widgets.panels.proof import eclasses_panel
from prism_explore.widgets.panels.questions import questions_panel
from prism_explore.widgets.panels.sections import CommandHelp, Script, Sections, View
from prism_explore.widgets.panels.transport import transport
from prism_explore.widgets.panels.tuning import code_panel, tuning_panel


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
    return Sections(
        commands={c.name: CommandHelp(c.description, f"{c.python}({'…' if c.parameters else ''})") for c in COMMANDS},
        transport=transport(context),
        view=View(view.selection),
        map=map_panel(context),
        graph=graph_panel(context),
        inspector=inspect(view.selection, context),
        families=families_panel(context),
        eclasses=eclasses_panel(context),
        tuning=tuning_panel(context),
        ledger=ledger_panel(context),
        questions=questions_panel(context),
        code=code_panel(context),
        script=Script(lines),
        error=f"The search failed: {search.failure}" if search.failure else None,
    )
