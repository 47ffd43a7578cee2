"""The families of a search by id, each with its graph, candidates, verdicts and trials.

A `FamilyHandle` reads only the event journal. It prints as text, and a notebook draws it as SVG.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prism_explore.errors import ShapeError
from prism_explore.events.kinds import (
    CandidateInstantiated,
    ExplorationStarted,
    FamilyCompleted,
    FamilyDominated,
    FloatsAssessed,
    TrialMeasured,
    VerdictReached,
)
from prism_explore.events.ledger import FamilyRow, outcome
from prism_explore.ir.dims import dim
from prism_explore.ir.graph import SGraph
from prism_explore.ir.text import parse
from prism_explore.session.readable_record import ReadableRecord
from prism_explore.targets import Target
from prism_explore.tune.space.figures import Figures, figures_of

if TYPE_CHECKING:
    from prism_explore.widgets.panels.tables import TextTable


@dataclass(frozen=True, slots=True)
class FamilyHandle:
    """One family: its graph, its candidates, their verdicts, their measured times."""

    id: str
    record: ReadableRecord

    @property
    def row(self) -> FamilyRow:
        """The row of this family in the table of families."""
        return next(r for r in self.record.index.ledger.families if r.family == self.id)

    @property
    def graph(self) -> SGraph:
        """The sGraph; its maps are not chosen yet."""
        return parse(next(e.sgraph for e in self.record.of(FamilyCompleted) if e.family == self.id))

    @property
    def candidates(self) -> Mapping[str, SGraph]:
        """The sGraph of each candidate by id; its maps are chosen, its sizes are symbolic."""
        return {e.candidate: parse(e.sgraph) for e in self.record.of(CandidateInstantiated) if e.family == self.id}

    @property
    def verdicts(self) -> Mapping[str, VerdictReached]:
        """The last verdict of the verifier on each candidate, by id."""
        candidates = self.candidates
        return {e.candidate: e for e in self.record.of(VerdictReached) if e.candidate in candidates}

    @property
    def trials(self) -> tuple[TrialMeasured, ...]:
        """The measured trials: each one is a choice of parameter values."""
        candidates = self.candidates
        return tuple(e for e in self.record.of(TrialMeasured) if e.candidate in candidates)

    def figures(self, of: str = "", machine: Target | None = None, **sizes: int) -> Figures:
        """The modelled figures at given sizes, as the Sizes panel of the explorer shows them.

        Args:
            of: the id of one of its candidates; the family itself, with open maps, if left out.
            machine: the machine; that of the search if left out.
            sizes: a value for each symbol that the search does not fix, such as gx=64; `b=16` replaces a fixed one.

        Returns:
            The figures, and the conditions that the sizes break.

        Raises:
            ShapeError: no such candidate, or a symbol has no positive value.
        """
        started = self.record.of(ExplorationStarted)[0]
        chosen = {**dict(started.shapes), **sizes}
        if of in ("", self.id):
            return figures_of(self.graph, chosen, machine or self.record.target_figures())
        found = next((e for e in self.record.of(CandidateInstantiated) if e.candidate == of), None)
        if found is None or found.family != self.id:
            raise ShapeError(f"{self.id} has no candidate {of!r}; it has {', '.join(self.candidates) or 'none'}")
        conditions = tuple(dim(c) for c in found.conditions)
        return figures_of(parse(found.sgraph), chosen, machine or self.record.target_figures(), conditions)

    @property
    def floats(self) -> FloatsAssessed | None:
        """The last assessment in floating point; None if it was not assessed yet."""
        return next((e for e in reversed(self.record.of(FloatsAssessed)) if e.family == self.id), None)

    @property
    def dominated(self) -> FamilyDominated | None:
        """The family that dominates this one in the cost model at all sizes, and why; None if none is known."""
        return next((e for e in reversed(self.record.of(FamilyDominated)) if e.family == self.id), None)

    @property
    def proof(self) -> str:
        """The evidence for the verdict on each candidate, as text; see `Record.evidence`."""
        texts = [str(self.record.evidence(candidate)) for candidate in self.verdicts]
        return "\n\n".join(texts) or f"{self.id}: no candidate has a verdict yet"

    def why(self) -> str:
        """The status of this family and the reasons for it, as sentences."""
        book = self.record.index.ledger
        row = next(r for r in book.families if r.family == self.id)
        lines = [f"{self.id} is {row.status}. {outcome(row, book).sentence}"]
        for candidate, verdict in self.verdicts.items():
            lines.append(f"{candidate}: {verdict.verdict}. {verdict.detail}")
            sides = ("the program's form", "the candidate's form")
            lines += [f"  {side}: {form}" for side, form in zip(sides, verdict.nearest, strict=False)]
        if (dominated := self.dominated) is not None and not row.is_best:
            effect = "is not tuned" if dominated.left_out else "is tuned after families of the same priority"
            lines.append(f"{dominated.reason.sentence} It {effect}.")
            lines += [f"  {symbol}: {values}" for symbol, values in dominated.reason.substitution.items()]
        if (floats := self.floats) is not None:
            lines.append(f"In floating point, {floats.outcome}: {floats.detail}.")
            lines += [f"  {e}" for e in floats.evidence]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<family {self.id}: {self.row.status}, {len(self.candidates)} candidates>\n{self._text()}"

    def _text(self) -> str:
        return next(e.sgraph for e in self.record.of(FamilyCompleted) if e.family == self.id)

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        from prism_explore.widgets.jupyter.pictures import sgraph_svg

        return {"text/plain": repr(self), "image/svg+xml": sgraph_svg(self.graph)}


class Families(Mapping[str, FamilyHandle]):
    """All families by id; prints as a table, which `rich.print` fits to the terminal and a notebook shows as HTML."""

    def __init__(self, record: ReadableRecord) -> None:
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

    def _table(self) -> TextTable:
        from prism_explore.widgets.panels.tables import families_table

        return families_table(self._record.index.ledger)

    def __repr__(self) -> str:
        return str(self._table())

    def __rich__(self) -> object:
        return self._table()

    def _repr_html_(self) -> str:
        return self._table().html()
