"""A search as its event journal shows it: families, pruned subtrees, trials, claim and evidence.

Input is the journal of a running or of a saved search. A `Session` is a `Record` whose search can go on, so both show
the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from prism_explore.diagnose.evidence import Evidence, evidence
from prism_explore.errors import ShapeError
from prism_explore.events.claim import shown_claim
from prism_explore.events.event_stream import is_event_stream
from prism_explore.events.format import fork_text
from prism_explore.events.journal import Journal, read_events
from prism_explore.events.kinds import (
    Bookmarked,
    CandidateInstantiated,
    CertificateReplayed,
    ExplorationFinished,
    ExplorationStarted,
    SearchForked,
    VerdictReached,
)
from prism_explore.events.near_misses import NearMiss
from prism_explore.events.replay_journal import ReplayedJournal
from prism_explore.ir.graph import SGraph
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.text import parse, parse_program
from prism_explore.ir.to_networkx import to_networkx
from prism_explore.pipeline.stages import Candidate, EClass, Family, Verified
from prism_explore.session.bookmarks import Bookmarks
from prism_explore.session.families import Families
from prism_explore.session.journal_index import JournalIndex
from prism_explore.session.pruned import Pruned
from prism_explore.session.tables import data_frame, table_rows
from prism_explore.session.tuning_table import Tuning
from prism_explore.support.caches import lease_for
from prism_explore.support.terminal_text import terminal_text
from prism_explore.support.whole_files import write_whole
from prism_explore.targets import Target, target
from prism_explore.verify.certificate.certify import certify
from prism_explore.verify.counterexample.case import Case, read_counterexample
from prism_explore.verify.normal_form.equalities import Equalities, equalities
from prism_explore.verify.prover import verify
from prism_explore.verify.replay import Replay, replay_counterexample

if TYPE_CHECKING:
    from networkx import MultiDiGraph

    from prism_explore.widgets.jupyter.live import SessionLike

E = TypeVar("E")


class Record:
    """A search, read from its event journal."""

    def __init__(self, journal: Journal | Callable[[], Journal], manifest: Mapping[str, Any] | None = None) -> None:
        """Nothing is read yet.

        Args:
            journal: of the search, or what returns it each time that it is read.
            manifest: of the file with this search; `save` writes it again.
        """
        self._opened: Journal | Callable[[], Journal] = journal
        self._manifest = manifest or {}
        self._index: JournalIndex | None = None

    @property
    def journal(self) -> Journal:
        """The events of the search."""
        return self._opened if isinstance(self._opened, Journal) else self._opened()

    def of(self, kind: type[E]) -> tuple[E, ...]:
        """All events of one kind, in order.

        Args:
            kind: a class of `events.kinds`.

        Returns:
            The events of this class.
        """
        return self.index.of(kind)

    @property
    def index(self) -> JournalIndex:
        """What was read of the journal so far."""
        journal, index = self.journal, self._index
        if index is None or index.journal is not journal:
            index = self._index = JournalIndex(journal)
        return index

    @property
    def families(self) -> Families:
        """All families by id."""
        return Families(self)

    @property
    def pruned(self) -> Pruned:
        """All pruned subtrees by id."""
        return Pruned(self)

    @property
    def tuning(self) -> Tuning:
        """All trials."""
        book = self.index.ledger
        return Tuning(book.trials, book.best.trial if book.best is not None else "")

    @property
    def claim(self) -> str:
        """One sentence: what the search showed and what it did not."""
        return shown_claim(self.index.ledger)

    @property
    def near_misses(self) -> tuple[NearMiss, ...]:
        """The partial graphs closest to a result, and the restriction that stopped each; empty after a proof."""
        return self.index.ledger.near_misses

    @property
    def program(self) -> TensorProgram:
        """The program that was searched.

        Raises:
            ShapeError: the search has not begun.
        """
        started = self.of(ExplorationStarted)
        if not started:
            raise ShapeError("the search has not begun; sess.step() begins it")
        return parse_program(started[0].program)

    def target_figures(self) -> Target:
        """The machine of the search, as this computer knows it: `cpu` is the CPU here, which is measured if need be.

        Returns:
            The machine's figures.

        Raises:
            ShapeError: the search has not begun.
            TargetUnavailable: the search used a machine of its own, whose figures a saved search does not have.
        """
        started = self.of(ExplorationStarted)
        if not started:
            raise ShapeError("the search has not begun; sess.step() begins it")
        return target(started[0].target)

    @property
    def name(self) -> str:
        """The name of the program, with a number for each fork, such as `rmsnorm.1.2`."""
        return next((event.fork for event in reversed(self.of(SearchForked))), self.program.name)

    def graph(self, of: str = "") -> MultiDiGraph[str]:
        """A graph as a `networkx.MultiDiGraph`; its attributes are listed in `ir.to_networkx`.

        Args:
            of: the id of a family or a candidate, such as "f2" or "f2.c1"; the program if left out.

        Returns:
            The graph.

        Raises:
            ShapeError: no such family or candidate.
        """
        return to_networkx(self._sgraph(of) if of else self.program.graph)

    def equalities(self, candidate: str) -> Equalities:
        """The equalities between a candidate and the program, at any verdict; e-graphs step by step.

        Args:
            candidate: the id of a candidate, such as f2.c1.

        Returns:
            The classes of equal tensors.

        Raises:
            ShapeError: no such candidate.
        """
        instance = self._instantiation(candidate)
        verdict = next((e for e in reversed(self.of(VerdictReached)) if e.candidate == candidate), None)
        classes = tuple(EClass(*c) for c in verdict.classes) if verdict else ()
        return equalities(self.program, parse(instance.sgraph), candidate, classes)

    def evidence(self, candidate: str) -> Evidence:
        """The evidence for a verdict: proof and trials, a counterexample, or how far both sides agree.

        Args:
            candidate: the id of a candidate, such as f2.c1.

        Returns:
            The evidence; `str` gives it as text.

        Raises:
            ShapeError: no such candidate, or it has no verdict yet.
        """
        instance, verdict = self._decided(candidate)
        certificate = next((e for e in reversed(self.of(CertificateReplayed)) if e.candidate == candidate), None)
        return evidence(verdict, self.program, instance.sgraph, certificate, self.families[instance.family].floats)

    def replay(self, candidate: str) -> Replay:
        """Run the counterexample to a refuted candidate again, or both sides of a disagreement; print the result.

        Args:
            candidate: the id of a candidate, such as f2.c1.

        Returns:
            Whether program and candidate still differ.

        Raises:
            ShapeError: no such candidate, or it has no counterexample.
        """
        instance, verdict = self._decided(candidate)
        if verdict.case:
            return replay_counterexample(verdict.case)
        if not verdict.witness:
            raise ShapeError(
                f"{candidate} is {verdict.verdict}, so it has no counterexample; see sess.evidence({candidate!r})"
            )
        counterexample = read_counterexample(verdict.witness)
        return replay_counterexample(str(Case(candidate, None, self.program, parse(instance.sgraph), counterexample)))

    def certify(self, candidate: str, tick: Callable[[], None] = lambda: None) -> Evidence:
        """Replay every lemma of a proof in egglog from the axioms, and add the certificate to the journal.

        A search certifies the proof of the best kernel at its end; this method is for the others. The candidate
        is proved again from the journal, so a saved search can be certified too. While a saved search is being
        replayed, the certificate is not added: the saved events come first.

        Args:
            candidate: id of a proved candidate.
            tick: called at every step; an exception of it stops the replay.

        Returns:
            The evidence, with the certificate.

        Raises:
            ShapeError: no such candidate, or it is not proved.
        """
        instance, verdict = self._decided(candidate)
        if any(e.candidate == candidate for e in self.of(CertificateReplayed)):
            return self.evidence(candidate)
        program, graph = self.program, parse(instance.sgraph)
        scratch = Journal()
        scratch.listeners.append(lambda _: tick())
        again = Candidate(candidate, Family(instance.family, program, graph), graph, (), graph.conditions())
        proved = verify(program, again, scratch, self.of(ExplorationStarted)[0].seed)
        if not isinstance(proved, Verified):
            raise ShapeError(f"{candidate} is {verdict.verdict}; only a proved candidate has a certificate")
        certify(proved, scratch)
        event = next(e for e in reversed(scratch.events) if isinstance(e, CertificateReplayed))
        if not isinstance(self.journal, ReplayedJournal) or self.journal.is_replayed:
            self.journal.append(replace(event, asked=True))
        return evidence(verdict, program, instance.sgraph, event, self.families[instance.family].floats)

    def _sgraph(self, subject: str) -> SGraph:
        if subject in self.families:
            return self.families[subject].graph
        return parse(self._instantiation(subject).sgraph)

    def _instantiation(self, candidate: str) -> CandidateInstantiated:
        instances = {e.candidate: e for e in self.of(CandidateInstantiated)}
        if candidate not in instances:
            raise ShapeError(f"no candidate {candidate!r}; there are {', '.join(instances) or 'none yet'}")
        return instances[candidate]

    def _decided(self, candidate: str) -> tuple[CandidateInstantiated, VerdictReached]:
        instance = self._instantiation(candidate)
        verdict = next((e for e in reversed(self.of(VerdictReached)) if e.candidate == candidate), None)
        if verdict is None:
            raise ShapeError(f"{candidate} has no verdict yet")
        return instance, verdict

    def text(self, table: str) -> str:
        """A table as text.

        Args:
            table: `families`, `pruned`, `ledger`, `classes`, `trials` or `baselines`.

        Returns:
            The table.

        Raises:
            ShapeError: no such table.
        """
        from prism_explore.widgets.panels.tables import TABLES

        if table not in TABLES:
            raise ShapeError(f"no table {table!r}; there are {', '.join(TABLES)}")
        return TABLES[table](self.journal.entries)

    @property
    def bookmarks(self) -> Bookmarks:
        """The bookmarks of this search by id; `edit`, `delete`, `restore` and `undo` change them."""
        return Bookmarks(self.journal)

    def bookmark(self, ref: str, note: str = "", at: int = 0) -> Bookmarked:
        """Bookmark something, a moment of the search, or something at a moment. It is saved with the search.

        Args:
            ref: an id such as f2, f2.c1, p17, n40 or mem.smem; empty for a moment alone.
            note: why.
            at: the moment, as a number of events; 0 for none.

        Returns:
            The bookmark; `sess.bookmarks` has all of them.

        Raises:
            ShapeError: neither an id nor a moment, no such moment, or a text that is too long.
        """
        return self.bookmarks.add(ref, note, at)

    def table(self, name: str, *, frame: bool = False) -> Any:
        """The rows of a table as data: `sess.table("trials")`.

        Args:
            name: `families`, `candidates`, `trials`, `baselines`, `nodes`, `pruned`, `maps`, `reasons`, `classes`,
                `lemmas`, `steering`, `bookmarks` or `log`.
            frame: whether to return a `pandas.DataFrame`, which needs pandas; else a list of dicts, which prints as a
                table.

        Returns:
            The rows, in the order of the events.

        Raises:
            ShapeError: no such table.
            PrismError: `frame=True`, and pandas is not installed.
        """
        rows = table_rows(self.journal.entries, name)
        return data_frame(rows) if frame else rows

    def svg(self, picture: str = "search") -> str:
        """A picture as SVG.

        Args:
            picture: `search`, `reasons`, `program`, `classes`, `saturation`, `tuning`, the id of a family or candidate,
                or a frame of an e-graph such as f1.c1/goal@0.

        Returns:
            The SVG source.

        Raises:
            ShapeError: no such picture.
        """
        from prism_explore.widgets.jupyter.pictures import picture_svg

        return picture_svg(self.journal.entries, picture)

    def save(self, path: str | Path) -> Path:
        """Write the search to a file again, such as with new bookmarks.

        Args:
            path: the file; an existing one is replaced.

        Returns:
            The path of the file.
        """
        return self.journal.save(path, self._manifest_to_save())

    def _manifest_to_save(self) -> Mapping[str, Any]:
        return self._manifest

    def report(self, path: str | Path) -> Path:
        """Write the explorer as one HTML file that opens anywhere: for reading and sharing; it cannot steer.

        The page has the saved search in it: `px.load` and `Session.load` read the page, and a button downloads the
        file.

        Args:
            path: the file; an existing one is replaced.

        Returns:
            The path of the file.

        Raises:
            ShapeError: the journal does not begin with ExplorationStarted.
        """
        from prism_explore.widgets.report import report_page

        page = report_page(self.session_to_show(), self.journal.page_element(self._manifest_to_save()))
        write_whole(Path(path), page.encode(), durable=True)
        return Path(path)

    @property
    def widget(self) -> Any:
        """The explorer of this search; that of a saved search cannot steer it."""
        from prism_explore.widgets.explorer import Explorer

        return Explorer(self.session_to_show())

    def session_to_show(self) -> SessionLike:
        """What an explorer of this search reads and commands.

        Returns:
            The search as a session that cannot be continued.
        """
        from prism_explore.widgets.jupyter.recorded import RecordedSession

        return RecordedSession(self.journal, self)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        return self.widget._repr_mimebundle_(**kwargs)

    def _ipython_display_(self) -> None:
        self.widget._ipython_display_()

    def __repr__(self) -> str:
        return (
            f"<recorded search: {len(self.journal)} events>{terminal_text(self._lineage_text)}\n"
            f"{terminal_text(self.claim)}{_unfinished_text(self)}"
        )

    @property
    def _lineage_text(self) -> str:
        """A line for each fork that led to this search."""
        return "".join(f"\n{fork_text(event)}" for event in self.of(SearchForked))


def _unfinished_text(record: Record) -> str:
    """How to continue a search that had not ended when its file was written; empty if it had."""
    path = record.journal.saved_as
    if not path or record.of(ExplorationFinished):
        return ""
    dropped = " Its last event was incomplete and was dropped." if record.journal.is_cut else ""
    return f"\nThe search had not ended.{dropped} px.Session.load({path!r}) continues it."


def offer_to_continue(record: Record) -> None:
    """Print how to continue a search whose process was killed: its file was saved while it ran, and has no end."""
    path = record.journal.saved_as
    if is_event_stream(path) and (offer := _unfinished_text(record)):
        print(f"{path}:{offer.replace(chr(10), ' ')}")  # noqa: T201 - for the person whose process was killed


def open_record(path: str | Path) -> Record:
    """The search in a file, for reading; `prism_explore.load` returns one that can be forked too.

    Args:
        path: what `Session.save` wrote.

    Returns:
        The search as it was recorded.

    Raises:
        JournalVersionError: not a saved search, damaged, or of a version that this code does not read.
    """
    stored = read_events(path)
    record = Record(Journal.parse(stored), stored.manifest)
    offer_to_continue(record)
    lease_for(record)
    return record
