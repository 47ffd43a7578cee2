"""The Compare tab of an explorer: the last comparison of its search, indexed in a thread of its own."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from prism_explore.diagnose.compare_runs import RunComparison
from prism_explore.diagnose.jobs import Question
from prism_explore.support.live_objects import live_names
from prism_explore.widgets.panels.compare import ComparedSearches, CompareView
from prism_explore.widgets.panels.sections import CompareSection

log = logging.getLogger(__name__)


class CompareTab:
    """Follows the comparisons among the questions of a search.

    Args:
        changed: called on any thread when the section can have changed.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._view = CompareView()
        self._indexing: Question | None = None
        """The comparison that is indexed, or was indexed last."""
        self._indexed: ComparedSearches | None = None
        self._failure = ""

    def change(self, change: Mapping[str, Any]) -> None:
        """Change what is shown of the comparison."""
        self._view = self._view.changed(change)

    def section(self, session: Any) -> CompareSection:
        """The section for the search that is shown."""
        last = next((q for q in reversed(list(session.questions.values())) if q.kind == "compare"), None)
        if last is not None and isinstance(last.answer, RunComparison):
            self._index(last, last.answer)
        found = self._indexed.section(self._view) if self._indexed is not None else CompareSection("")
        parent = getattr(session, "parent", None)
        own = getattr(session, "id", "")
        return replace(
            found,
            choices=tuple((key, f"{name} ({key})") for key, name in live_names() if key != own),
            parent=parent.id if parent is not None else "",
            status=self._status(last),
        )

    def forget(self) -> None:
        """Forget the comparison, because another search is shown."""
        self._indexing = self._indexed = None
        self._view, self._failure = CompareView(map_px=self._view.map_px), ""

    def _status(self, last: Question | None) -> str:
        if last is None or last.state == "cancelled":
            return ""
        if last.failure or self._failure:
            return last.failure or self._failure
        is_busy = last.is_open or self._indexed is None
        return f"Comparing with {last.subject} …" if is_busy else ""

    def _index(self, question: Question, found: RunComparison) -> None:
        """Index both searches, once per comparison; this reads every event, so it has a thread of its own."""
        if self._indexing is not None and self._indexing.id == question.id:
            return
        self._indexing, self._indexed, self._failure = question, None, ""
        self._view = replace(self._view, selection="", root=-1)

        def index() -> None:
            try:
                searches = ComparedSearches(found)
            except Exception as error:
                log.exception("two searches could not be compared")
                self._failure = f"The searches could not be indexed: {type(error).__name__}: {error}"
            else:
                if self._indexing is question:
                    self._indexed = searches
            self._changed()

        threading.Thread(target=index, name="prism-compare", daemon=True).start()
