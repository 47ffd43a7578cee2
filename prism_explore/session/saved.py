"""A saved search that was opened for reading; it can be forked and compared too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prism_explore.diagnose.compare_runs import Run, RunComparison
from prism_explore.events.journal import Journal, read_events
from prism_explore.session.autosave import is_notebook
from prism_explore.session.comparison import compare
from prism_explore.session.record import Record, offer_to_continue
from prism_explore.session.session import Session
from prism_explore.support.caches import lease_for

if TYPE_CHECKING:
    from prism_explore.widgets.jupyter.live import SessionLike
    from prism_explore.widgets.panels.context import Folds


class SavedSearch(Record):
    """A search as it was saved. It shows everything; `fork` continues it."""

    def __init__(self, path: str | Path) -> None:
        stored = read_events(path)
        super().__init__(Journal.parse(stored), stored.manifest)
        self.path = Path(path)
        self._lease = lease_for(self)
        self._read_ahead: Future[Folds] | None = None
        """The events for the first explorer, which another thread reads."""

    def read_ahead(self) -> None:
        """Import the explorer, and read the events for it on another thread, so that it appears sooner."""
        import_module("prism_explore.widgets.explorer")
        from prism_explore.widgets.panels.context import Folds

        reader = ThreadPoolExecutor(1, thread_name_prefix="prism-read-ahead")
        self._read_ahead = reader.submit(Folds, self.journal.entries)
        reader.shutdown(wait=False)

    def fork(
        self,
        at: int | None = None,
        note: str = "",
        tick: Callable[[], None] = lambda: None,
        code: Callable[..., Any] | None = None,
        inputs: Mapping[str, Any] | None = None,
    ) -> Session:
        """Another search that repeats the first events of this one, and then continues; see `Session.fork`.

        The file is loaded as by `Session.load`, which repeats the search; its session is the `parent` of the fork.

        Args:
            at: after how many events; all of them if left out.
            note: what the fork is for.
            tick: called at every repeated step; an exception from it ends the fork.
            code: the torch code of the first session, as for `Session.load`; without it no baseline is timed.
            inputs: types of the arguments of `code`.

        Returns:
            The other search, paused at that moment.

        Raises:
            ShapeError: no such moment, or `code` computes another program.
            JournalVersionError: the file cannot be continued; the message says why.
        """
        return Session.load(self.path, code, inputs=inputs, tick=tick).fork(at, note, tick)

    def compare(self, other: Run) -> RunComparison:
        """Compare this search with another one; see `prism_explore.compare`.

        Args:
            other: a session, a saved search that `px.load` opened, its file, or the id of a live session such as s2.

        Returns:
            The two searches side by side; this one is A.

        Raises:
            JournalVersionError: a file is no saved search.
            ShapeError: `other` is neither a search nor a file.
        """
        return compare(self, other)

    @property
    def widget(self) -> Any:
        """The explorer of this search; it cannot steer it."""
        from prism_explore.widgets.explorer import Explorer

        ahead, self._read_ahead = self._read_ahead, None
        return Explorer(self.session_to_show(), ahead)

    def session_to_show(self) -> SessionLike:
        """What an explorer of this search reads and commands.

        Returns:
            The search as a session that cannot be continued.
        """
        from prism_explore.widgets.jupyter.recorded import RecordedSession

        return RecordedSession(self.journal, self, self)


def load(path: str | Path) -> SavedSearch:
    """Open a saved search for reading; `Session.load` continues it.

    Args:
        path: what `Session.save` or `Session.report` wrote.

    Returns:
        The search as it was recorded.

    Raises:
        JournalVersionError: not a saved search, damaged, or of a version that this code does not read.

    Example:
        >>> import tempfile
        >>> import prism_explore as px
        >>> program = px.parse_program('''program twice
        ...   x = input f32[b, 8]
        ...   %1 = add(x, x)
        ...   return %1''')
        >>> with tempfile.TemporaryDirectory() as folder, px.Session(program, target="h100", at={"b": 4}) as sess:
        ...     sess.run()
        ...     record = px.load(sess.save(f"{folder}/twice.prism"))
        >>> list(record.families)
        ['f1']
    """
    saved = SavedSearch(path)
    offer_to_continue(saved)
    if is_notebook():
        saved.read_ahead()
    return saved
