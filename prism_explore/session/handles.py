"""Results of a search: families, pruned regions, trials.

A `Record` reads only the event journal, so a running session and a saved search show the same. Every handle prints as
text; in a notebook, families are drawn as SVG.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, overload

from prism_explore.diagnose.audit import Audit
from prism_explore.diagnose.evidence import Evidence, evidence
from prism_explore.errors import ShapeError
from prism_explore.events.claim import claim
from prism_explore.events.format import seconds_text
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import (
    CandidateInstantiated,
    CertificateReplayed,
    ExplorationStarted,
    FamilyCompleted,
    FamilyDominated,
    FloatsAssessed,
    Reason,
    RegionPruned,
    TrialMeasured,
    VerdictReached,
)
from prism_explore.events.ledger import FamilyRow, Trial, cuts, family_rows, ledger
from prism_explore.events.near_misses import Miss
from prism_explore.events.replay_journal import Retold
from prism_explore.ir.graph import SGraph
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.text import parse, parse_program
from prism_explore.pipeline.stages import Candidate, EClass, Family, Verified
from prism_explore.tune.space.time_model import rank_correlation
from prism_explore.verify.certificate.certify import certify
from prism_explore.verify.counterexample.case import Case, read_witness
from prism_explore.verify.normal_form.equalities import Equalities, equalities
from prism_explore.verify.prover import verify
from prism_explore.verify.replay import Replay, replay_counterexample

E = TypeVar("E")
Auditor: TypeAlias = Callable[..., Audit]
"""Audits a region by its id."""


@dataclass(frozen=True, slots=True)
class FamilyHandle:
    """One family: its graph, its candidates, what was shown of them, how fast they ran."""

    id: str
    record: Record

    @property
    def row(self) -> FamilyRow:
        """Its line in the table of families."""
        return next(r for r in family_rows(self.record.journal.events) if r.family == self.id)

    @property
    def graph(self) -> SGraph:
        """The sGraph with its maps still open."""
        return parse(next(e.sgraph for e in self.record.of(FamilyCompleted) if e.family == self.id))

    @property
    def candidates(self) -> Mapping[str, SGraph]:
        """Per candidate, the sGraph with its maps chosen and its sizes symbolic."""
        return {e.candidate: parse(e.sgraph) for e in self.record.of(CandidateInstantiated) if e.family == self.id}

    @property
    def verdicts(self) -> Mapping[str, VerdictReached]:
        """Per candidate, what the verifier said."""
        mine = self.candidates
        return {e.candidate: e for e in self.record.of(VerdictReached) if e.candidate in mine}

    @property
    def trials(self) -> tuple[TrialMeasured, ...]:
        """Every timed choice of numbers."""
        mine = self.candidates
        return tuple(e for e in self.record.of(TrialMeasured) if e.candidate in mine)

    @property
    def floats(self) -> FloatsAssessed | None:
        """How it fares in floating point; None where that was not asked yet."""
        return next((e for e in reversed(self.record.of(FloatsAssessed)) if e.family == self.id), None)

    @property
    def dominated(self) -> FamilyDominated | None:
        """Which family costs no more in the cost model, whatever the sizes, and how; None where none is known."""
        return next((e for e in reversed(self.record.of(FamilyDominated)) if e.family == self.id), None)

    @property
    def proof(self) -> str:
        """What stands behind the verdict on each of its candidates, as text; see `Record.evidence`."""
        said = [str(self.record.evidence(candidate)) for candidate in self.verdicts]
        return "\n\n".join(said) or f"{self.id}: no candidate has been decided yet"

    def why(self) -> str:
        """Where this family stands and why, as sentences."""
        row = self.row
        said = [f"{self.id} is {row.status}."]
        for candidate, verdict in self.verdicts.items():
            said.append(f"{candidate}: {verdict.verdict}. {verdict.detail}")
            sides = ("the program's form", "the candidate's form")
            said += [f"  {side}: {form}" for side, form in zip(sides, verdict.nearest, strict=False)]
        if (dominated := self.dominated) is not None:
            so = "is not tuned" if dominated.left_out else "comes behind others that are as likely"
            said.append(f"{dominated.reason.sentence} It {so}.")
            said += [f"  {what}: {numbers}" for what, numbers in dominated.reason.substitution.items()]
        if (floats := self.floats) is not None:
            said.append(f"In floating point, {floats.outcome}: {floats.detail}.")
            said += [f"  {e}" for e in floats.evidence]
        return "\n".join(said)

    def __repr__(self) -> str:
        return f"<family {self.id}: {self.row.status}, {len(self.candidates)} candidates>\n{self._text()}"

    def _text(self) -> str:
        return next(e.sgraph for e in self.record.of(FamilyCompleted) if e.family == self.id)

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        from prism_explore.widgets.jupyter.pictures import sgraph_svg

        return {"text/plain": repr(self), "image/svg+xml": sgraph_svg(self.graph)}


class Families(Mapping[str, FamilyHandle]):
    """All families by id; prints as a table."""

    def __init__(self, record: Record) -> None:
        self._record = record

    def __getitem__(self, key: str) -> FamilyHandle:
        if key not in self._ids():
            raise KeyError(f"no family {key!r}; there are {', '.join(self._ids()) or 'none yet'}")
        return FamilyHandle(key, self._record)

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids())

    def __len__(self) -> int:
        return len(self._ids())

    def _ids(self) -> list[str]:
        return [e.family for e in self._record.of(FamilyCompleted)]

    def __repr__(self) -> str:
        return self._record.text("families")


@dataclass(frozen=True, slots=True)
class PrunedHandle:
    """One pruned region and the reason for it."""

    id: str
    fact: RegionPruned
    auditor: Auditor | None = None

    @property
    def reason(self) -> Reason:
        """Code, rule, formula, substitution, soundness, and what would reopen it."""
        return self.fact.reason

    def why(self) -> str:
        """The reason card as text."""
        r = self.reason
        lines = [f"{self.id}: {self.fact.operator} was cut [{r.soundness}] by {r.rule} ({r.code}): {r.sentence}"]
        if r.formula:
            lines.append(f"  {r.formula}")
        lines += [f"  where {symbol} = {meaning}" for symbol, meaning in r.substitution.items()]
        lines.append(f"  stood for {self.fact.stood_for:g} programs ({self.fact.counted})")
        if r.would_reopen_if:
            lines.append(f"  reopens if {r.would_reopen_if}")
        return "\n".join(lines)

    def audit(self, **how: Any) -> Audit:
        """Search the region again with the rule off, beside the search, and say whether the cut was right.

        Args:
            how: the budgets `nodes` and `candidates`, `steps` of the region, more `rules_off`; see `audit.audit`.

        Raises:
            ShapeError: the search was loaded, so there is nothing to search with; or see `audit.audit`.
        """
        if self.auditor is None:
            raise ShapeError(
                f"{self.id} is of a recorded search, which has its facts but not its space and target; search the "
                "program again in a px.Session, which notes the same facts, and audit there"
            )
        return self.auditor(self.id, **how)

    def __repr__(self) -> str:
        return self.why()


class Pruned(Mapping[str, PrunedHandle]):
    """All pruned regions by id; prints as counts by reason."""

    def __init__(self, record: Record, auditor: Auditor | None = None) -> None:
        """`auditor` searches a region again; a recorded search has none."""
        self._record = record
        self._auditor = auditor

    def __getitem__(self, key: str) -> PrunedHandle:
        for fact in self._record.of(RegionPruned):
            if fact.region == key:
                return PrunedHandle(key, fact, self._auditor)
        raise KeyError(f"no pruned region {key!r}; ids are p1 to p{len(self)}")

    def __iter__(self) -> Iterator[str]:
        return (e.region for e in self._record.of(RegionPruned))

    def __len__(self) -> int:
        return len(self._record.of(RegionPruned))

    def by_reason(self) -> dict[str, int]:
        """How many regions each reason code cut, largest first."""
        counts: dict[str, int] = {}
        for cut in cuts(self._record.journal.events):
            if cut.regions:
                counts[cut.code] = counts.get(cut.code, 0) + cut.regions
        return counts

    def __repr__(self) -> str:
        return self._record.text("pruned")


class Tuning(Sequence[Trial]):
    """All trials in the order in which they were proposed: numbers, the model's time, what was measured or why not."""

    def __init__(self, trials: Sequence[Trial]) -> None:
        self._trials = tuple(trials)

    @overload
    def __getitem__(self, index: int) -> Trial: ...

    @overload
    def __getitem__(self, index: slice) -> Tuning: ...

    def __getitem__(self, index: int | slice) -> Trial | Tuning:
        return Tuning(self._trials[index]) if isinstance(index, slice) else self._trials[index]

    def __len__(self) -> int:
        return len(self._trials)

    @property
    def fastest(self) -> Tuning:
        """Those that were timed, fastest first."""
        timed = [(t.time_s, n, t) for n, t in enumerate(self._trials) if t.time_s is not None]
        return Tuning([t for *_, t in sorted(timed, key=lambda row: row[:2])])

    @property
    def failures(self) -> dict[str, int]:
        """How many trials failed, by the code of the reason."""
        return dict(Counter(t.failure.code for t in self._trials if t.failure is not None).most_common())

    @property
    def rank_correlation(self) -> float | None:
        """Spearman's, between the model's times and the measured ones; None where there is none."""
        both = [(t.modelled_s, t.time_s) for t in self._trials if t.time_s is not None and t.modelled_s is not None]
        return rank_correlation([m for m, _ in both], [s for _, s in both])

    @property
    def data(self) -> list[dict[str, Any]]:
        """A row per trial, of plain numbers and texts: for `json`, or for a `DataFrame`."""
        rows: list[dict[str, Any]] = []
        for t in self._trials:
            row = {f.name: getattr(t, f.name) for f in fields(t) if f.name not in ("parameters", "failure")}
            reason = t.failure
            rows.append(
                {
                    **row,
                    "family": t.family,
                    "numbers": dict(t.parameters),
                    "failure": "" if reason is None else reason.code,
                    "reason": "" if reason is None else reason.sentence,
                }
            )
        return rows

    def __repr__(self) -> str:
        timed = self.fastest
        said = "".join(f", {n} {code}" for code, n in self.failures.items())
        lines = [f"{len(self)} trials: {len(timed)} timed{said}"]
        if (agrees := self.rank_correlation) is not None:
            lines[0] += f"; the model orders them with a rank correlation of {agrees:.2f}"
        for t in timed[:5]:
            numbers = ", ".join(f"{k}={v}" for k, v in t.parameters)
            took = seconds_text(t.time_s) if t.time_s is not None else ""
            guess = f", modelled {seconds_text(t.modelled_s)}" if t.modelled_s is not None else ""
            lines.append(f"  {t.trial} {t.candidate}: {took} measured{guess}: {numbers}")
        return "\n".join(lines)


class Record:
    """A search as its event journal has it: running, saved or loaded."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal

    def of(self, kind: type[E]) -> tuple[E, ...]:
        """All facts of one kind, in order."""
        return tuple(e for e in self.journal.events if isinstance(e, kind))

    @property
    def families(self) -> Families:
        """All families by id."""
        return Families(self)

    @property
    def pruned(self) -> Pruned:
        """All pruned regions by id."""
        return Pruned(self)

    @property
    def tuning(self) -> Tuning:
        """All trials, as data."""
        return Tuning(ledger(self.journal.events).trials)

    @property
    def claim(self) -> str:
        """One sentence that says what was shown and what was not."""
        return claim(self.journal.events)

    @property
    def misses(self) -> tuple[Miss, ...]:
        """What came farthest, nearest first, and which restriction stopped each; none where something is proved."""
        return ledger(self.journal.events).misses

    @property
    def program(self) -> TensorProgram:
        """What was searched for.

        Raises:
            ShapeError: the search has not begun.
        """
        started = self.of(ExplorationStarted)
        if not started:
            raise ShapeError("the search has not begun; sess.step() begins it")
        return parse_program(started[0].program)

    def graph(self, subject: str) -> SGraph:
        """The graph of a family or a candidate.

        Raises:
            ShapeError: no such family or candidate.
        """
        if subject in self.families:
            return self.families[subject].graph
        return parse(self._born(subject).sgraph)

    def equalities(self, candidate: str) -> Equalities:
        """What is equal to what in a candidate and the program, whatever its verdict; e-graphs step by step.

        Raises:
            ShapeError: no such candidate.
        """
        born = self._born(candidate)
        verdict = next((e for e in reversed(self.of(VerdictReached)) if e.candidate == candidate), None)
        classes = tuple(EClass(*c) for c in verdict.classes) if verdict else ()
        return equalities(self.program, parse(born.sgraph), candidate, classes)

    def evidence(self, candidate: str) -> Evidence:
        """What stands behind the verdict on a candidate: proof and trials, a witness, or how far both sides agree.

        Raises:
            ShapeError: no such candidate, or it has not been decided.
        """
        born, verdict = self._decided(candidate)
        certificate = next((e for e in reversed(self.of(CertificateReplayed)) if e.candidate == candidate), None)
        return evidence(verdict, self.program, born.sgraph, certificate, self.families[born.family].floats)

    def replay(self, candidate: str) -> Replay:
        """Run the witness of a refuted candidate again, or both sides of a disagreement; prints what came of it.

        Raises:
            ShapeError: no such candidate, or nothing stands against it.
        """
        born, verdict = self._decided(candidate)
        if verdict.case:
            return replay_counterexample(verdict.case)
        if not verdict.witness:
            raise ShapeError(f"{candidate} is {verdict.verdict} and has no witness; sess.evidence({candidate!r})")
        witness = read_witness(verdict.witness)
        return replay_counterexample(str(Case(candidate, None, self.program, parse(born.sgraph), witness)))

    def certify(self, candidate: str, tick: Callable[[], None] = lambda: None) -> Evidence:
        """Have egglog replay every lemma of a proof from axioms alone, and note the certificate; its evidence.

        The best kernel's proof is certified by itself at the end of a search; this is for any other. The
        candidate is proved anew from the facts alone, so that a saved search can be certified too. It is not
        noted while a saved search is still being retold, which has its own facts to tell first.

        Args:
            candidate: one that was proved.
            tick: called at every step; what it raises ends it.

        Raises:
            ShapeError: no such candidate, or it is not proved.
        """
        born, verdict = self._decided(candidate)
        if any(e.candidate == candidate for e in self.of(CertificateReplayed)):
            return self.evidence(candidate)
        program, graph = self.program, parse(born.sgraph)
        beside = Journal()
        beside.listeners.append(lambda _: tick())
        again = Candidate(candidate, Family(born.family, program, graph), graph, (), graph.conditions())
        proved = verify(program, again, beside, self.of(ExplorationStarted)[0].seed)
        if not isinstance(proved, Verified):
            raise ShapeError(f"{candidate} is {verdict.verdict}; only what is proved has a certificate")
        certify(proved, beside)
        fact = next(e for e in reversed(beside.events) if isinstance(e, CertificateReplayed))
        if not isinstance(self.journal, Retold) or self.journal.is_told:
            self.journal.note(replace(fact, asked=True))
        return evidence(verdict, program, born.sgraph, fact, self.families[born.family].floats)

    def _born(self, candidate: str) -> CandidateInstantiated:
        born = {e.candidate: e for e in self.of(CandidateInstantiated)}
        if candidate not in born:
            raise ShapeError(f"no candidate {candidate!r}; there are {', '.join(born) or 'none yet'}")
        return born[candidate]

    def _decided(self, candidate: str) -> tuple[CandidateInstantiated, VerdictReached]:
        born = self._born(candidate)
        verdict = next((e for e in reversed(self.of(VerdictReached)) if e.candidate == candidate), None)
        if verdict is None:
            raise ShapeError(f"{candidate} has not been decided yet")
        return born, verdict

    def text(self, table: str) -> str:
        """A table as text: families, pruned, ledger, classes, trials.

        Raises:
            ShapeError: no such table.
        """
        from prism_explore.widgets.panels.tables import TABLES

        if table not in TABLES:
            raise ShapeError(f"no table {table!r}; there are {', '.join(TABLES)}")
        return TABLES[table](self.journal.entries)

    def svg(self, picture: str = "search") -> str:
        """A picture as SVG: search, tuning, or the id of a family, a candidate.

        Raises:
            ShapeError: no such picture.
        """
        from prism_explore.widgets.jupyter.pictures import picture_svg

        return picture_svg(self.journal.entries, picture)

    def report(self, path: str | Path) -> Path:
        """Write the explorer as one HTML file that opens anywhere: to look at and to share, not to steer.

        Raises:
            ShapeError: the journal does not say what was searched.
        """
        from prism_explore.widgets.jupyter.recorded import RecordedSession
        from prism_explore.widgets.report import report_page

        Path(path).write_text(report_page(RecordedSession(self.journal, self)), encoding="utf-8")
        return Path(path)

    @property
    def widget(self) -> Any:
        """The explorer, showing this record; a recorded search cannot be steered."""
        from prism_explore.widgets.explorer import Explorer
        from prism_explore.widgets.jupyter.recorded import RecordedSession

        return Explorer(RecordedSession(self.journal, self))

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        return self.widget._repr_mimebundle_(**kwargs)

    def __repr__(self) -> str:
        return f"<recorded search: {len(self.journal)} facts>\n{self.claim}"
