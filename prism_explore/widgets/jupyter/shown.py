"""The widgets that the outputs of cells show; one that no output shows any more is closed.

A cell that runs again loses its outputs. ipywidgets keeps each widget until it is closed, and a widget keeps its
search, a thread and a connection to the browser.
"""

# pyright: basic
# IPython is only partly typed.

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any, Protocol


class Closable(Protocol):
    """A widget."""

    def close(self) -> None:
        """End its thread, and its connection to the browser."""
        ...


@dataclass(frozen=True, slots=True)
class CellRun:
    """One execution of a cell."""

    cell: str
    """The id of the cell, which JupyterLab and VS Code send with its code; empty if the code has none."""
    run: str
    """The id of the message that asked for the execution."""

    @staticmethod
    def current(shell: Any) -> CellRun:
        """The execution that is in progress in this shell of IPython; without a cell where the shell does not say."""
        message = getattr(shell, "get_parent", dict)()
        cell = message.get("metadata", {}).get("cellId", "")
        return CellRun(str(cell), message.get("header", {}).get("msg_id", ""))


class ShownWidgets:
    """The widgets that are shown, each with the execution whose output it is."""

    def __init__(self) -> None:
        self._shown: list[tuple[CellRun, Closable]] = []
        self._lock = threading.Lock()
        self._shell: Any = None

    def add(self, widget: Closable, shell: Any) -> None:
        """Note a widget that the execution in progress shows; it stays open while any output shows it.

        An output of code that has no cell, such as a callback of another widget, is taken to stay for ever.
        """
        with self._lock:
            self._shown.append((CellRun.current(shell), widget))
            if self._shell is not shell:
                self._shell = shell
                if hasattr(shell, "events"):  # the shells of other kernels may lack them: nothing is closed
                    shell.events.register("post_run_cell", lambda _: self.ran(CellRun.current(shell)))

    def ran(self, now: CellRun) -> None:
        """Close what only earlier executions of this cell have shown."""
        with self._lock:
            before, self._shown = self._shown, [s for s in self._shown if not _is_replaced(s[0], now)]
            kept = {id(widget) for _, widget in self._shown}
        for widget in {id(widget): widget for _, widget in before if id(widget) not in kept}.values():
            widget.close()


def _is_replaced(run: CellRun, now: CellRun) -> bool:
    return run.cell == now.cell != "" and run.run != now.run


SHOWN = ShownWidgets()
"""Those of this process."""
