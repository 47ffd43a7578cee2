"""What each section of the explorer is: one dataclass per panel, the same on both sides of the wire.

Texts are ready to be shown; the browser formats nothing. `sections_ts` prints the types as
`widgets/src/sections.ts`, so that a field which one side forgets is found by its type checker:

    python -m prism_explore.widgets.panels.sections > widgets/src/sections.ts
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal, TypeAlias, cast

from prism_explore.widgets.jupyter.live import State, Value
from prism_explore.widgets.scene import Scene, to_plain
from prism_explore.widgets.typescript.printer import interface, nested

Pair: TypeAlias = tuple[str, str]


# ---------------------------------------------------------------- parts of panels
@dataclass(frozen=True, slots=True)
class Cell:
    """A cell that is more than its text."""

    text: str
    sort: float | None = None
    """Orders the column, where the text would not; what has no number comes last."""
    kind: str = ""
    """A row of `colors.STYLES` whose mark stands before the text."""
    tip: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """A column's head, and how its cells are set."""

    key: str
    label: str
    align: Literal["left", "right"] = "left"
    mono: bool = False
    wide: bool = False
    """Whether it takes the room that the others leave."""
    tip: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A row; a click on it selects `ref`, unless that is empty."""

    ref: str
    cells: tuple[str | Cell, ...]
    kind: Literal["", "rejected", "undone"] = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table that the reader may sort."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    empty: str
    """What to say when there is no row."""
    omitted: str = ""
    """What was left out, as a sentence."""


@dataclass(frozen=True, slots=True)
class Link:
    """Something else to look at."""

    ref: str
    label: str


@dataclass(frozen=True, slots=True)
class Action:
    """Something that can be done: a command, and the same in Python."""

    label: str
    command: str
    args: Mapping[str, Value]
    python: str
    says: str
    enabled: bool


@dataclass(frozen=True, slots=True)
class StepRow:
    """A step of a derivation, with the lines from its left side to its right."""

    ref: str
    name: str
    """The tensor."""
    says: str
    because: str
    """By which axioms, or why nobody knows."""
    kind: str
    lines: tuple[Pair, ...] = ()
    """An expression, and the axioms by which it equals the one before it."""


@dataclass(frozen=True, slots=True)
class Copy:
    """A text to take along."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Card:
    """Why something is as it is; everything a reader needs to doubt it."""

    title: str
    kind: str
    """Of the mark beside the title."""
    sentence: str
    label: str = ""
    """What kind of card; `Why` where it is empty."""
    soundness: str = ""
    soundness_says: str = ""
    formula: str = ""
    """With symbols."""
    substituted: str = ""
    """With what the symbols stand for here."""
    facts: tuple[Pair, ...] = ()
    would_reopen_if: str = ""
    steps: tuple[StepRow, ...] = ()
    copies: tuple[Copy, ...] = ()


# ---------------------------------------------------------------- panels
@dataclass(frozen=True, slots=True)
class CommandHelp:
    """A command's tooltip."""

    says: str
    python: str


@dataclass(frozen=True, slots=True)
class Phase:
    """A stage of the search."""

    name: str
    now: bool
    says: str


@dataclass(frozen=True, slots=True)
class Counter:
    """How many there are of something; `kind` is that of its mark."""

    kind: str
    word: str
    value: str
    says: str


@dataclass(frozen=True, slots=True)
class Incumbent:
    """The best kernel so far, or the rival that nothing is below."""

    ref: str
    time: str
    facts: tuple[str, ...]
    """Each says whether it was measured or modelled."""


@dataclass(frozen=True, slots=True)
class Transport:
    """What is searched, how far it is, and what can be done now."""

    program: str
    where: str
    state: State
    events: int
    cursor: int
    """How many of them are shown, for a moment of the past; 0 for now."""
    past: str
    """Which moment that is; empty for now."""
    phases: tuple[Phase, ...]
    counters: tuple[Counter, ...]
    best: Incumbent | None
    can: tuple[str, ...]
    """Names of the commands that would do something."""
    status: str
    """The last fact, as a sentence."""


@dataclass(frozen=True, slots=True)
class View:
    """What is selected; empty for nothing."""

    selection: str


@dataclass(frozen=True, slots=True)
class MapSection:
    """The search map, and why parts of it were cut."""

    summary: str
    scene: Scene
    reasons: Scene


@dataclass(frozen=True, slots=True)
class GraphSection:
    """The sGraph in view."""

    subject: str
    """The family or candidate; `program` for the program itself."""
    says: str
    others: tuple[Link, ...]
    """What else can be shown in its place: the family and its candidates."""
    expanded: bool | None
    """Whether custom kernels are open; None where there is none."""
    scene: Scene | None


@dataclass(frozen=True, slots=True)
class Inspector:
    """What the selection is, why it is so, and what can be done about it."""

    ref: str
    title: str
    kind: str = ""
    word: str = ""
    """Its status."""
    what: tuple[str, ...] = ()
    facts: tuple[Pair, ...] = ()
    code: str = ""
    why: tuple[Card, ...] = ()
    actions: tuple[Action, ...] = ()
    links: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True)
class EClasses:
    """Which tensors are equal, and by which axioms."""

    subject: str
    says: str
    scene: Scene | None
    lemmas: Table


@dataclass(frozen=True, slots=True)
class Tuning:
    """Measured times, modelled times and modelled bounds."""

    says: str
    scene: Scene | None
    trials: Table


@dataclass(frozen=True, slots=True)
class LedgerSection:
    """What may be claimed, what was cut and how surely, and what was decided by hand."""

    claim: str
    soundness: Table
    reasons: Table
    steering: Table
    log: Table
    undo: Action
    redo: Action


@dataclass(frozen=True, slots=True)
class Limit:
    """A number that a what-if may change."""

    name: str
    label: str
    value: int
    """As it is in this search."""


@dataclass(frozen=True, slots=True)
class WhatIfForm:
    """What a what-if may change, and how it is here."""

    targets: tuple[str, ...]
    target: str
    limits: tuple[Limit, ...]
    rules: tuple[Pair, ...]
    """Pruning rules that are on, each with its sentence."""


@dataclass(frozen=True, slots=True)
class QuestionsSection:
    """What was asked beside the search, and what more can be asked."""

    says: str
    table: Table
    form: WhatIfForm | None
    """None where nothing can be searched, as in a saved search."""
    open: tuple[str, ...]
    """Questions that can still be taken back."""


@dataclass(frozen=True, slots=True)
class Code:
    """Generated source."""

    title: str
    says: str
    source: str


@dataclass(frozen=True, slots=True)
class Script:
    """What was clicked so far, as lines of Python."""

    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sections:
    """The whole picture."""

    commands: Mapping[str, CommandHelp]
    transport: Transport
    view: View
    map: MapSection
    graph: GraphSection
    inspector: Inspector | None
    families: Table
    eclasses: EClasses
    tuning: Tuning
    ledger: LedgerSection
    questions: QuestionsSection
    code: Code
    script: Script
    trouble: str | None = None
    """What went wrong with computing the picture, if something did."""


SPARSE: tuple[type, ...] = (Cell, Column, Row, Card, StepRow, Inspector)
"""On the wire these leave out fields that have their default: there are many of them, mostly empty."""


def plain(value: object) -> Any:
    """A section as JSON-ready data."""
    if isinstance(value, Scene):
        return to_plain(value)
    if is_dataclass(value) and not isinstance(value, type):
        sparse = isinstance(value, SPARSE)
        rows = ((f, getattr(value, f.name)) for f in fields(value))
        return {f.name: plain(v) for f, v in rows if not (sparse and v == f.default)}
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in cast("Mapping[object, object]", value).items()}
    if isinstance(value, tuple | list):
        return [plain(v) for v in cast("Sequence[object]", value)]
    return value


def sections_ts() -> str:
    """The whole of sections.ts."""
    kinds = (*(k for k in nested((Sections,)) if k not in nested((Scene,)) and k is not Scene), Sections)
    parts = [
        "// What each section of the picture is. Texts are ready to be shown.\n"
        "// Printed by prism_explore/widgets/panels/sections.py; edit that and print again.\n"
        "// A field with a question mark may be absent: it is then empty, false, left or null.",
        'import type { Scene } from "./scene.ts";',
        *(interface(k, sparse=k in SPARSE) for k in kinds),
    ]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    sys.stdout.write(sections_ts())
