"""The data of the explorer's panels: one dataclass per panel, sent to the browser as JSON.

Texts are ready to be shown; the browser formats nothing. `typescript/section_types.py` prints these classes as
TypeScript interfaces, so the type checker of the browser half finds a field that only one side has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from typing import Any, Literal, TypeAlias, cast

from prism_explore.widgets.jupyter.commands import Value
from prism_explore.widgets.jupyter.live import State
from prism_explore.widgets.scene import Scene, to_plain

Pair: TypeAlias = tuple[str, str]


# ---------------------------------------------------------------- parts of panels
@dataclass(frozen=True, slots=True)
class Cell:
    """A table cell with a sort key, a mark or a tooltip."""

    text: str
    sort: float | None = None
    """Sort key, if the text is not one; cells without a sort key come last."""
    kind: str = ""
    """Style of the mark before the text, a row of `colors.STYLES`; empty for no mark."""
    tip: str = ""
    math: str = ""
    """The text as MathML, if it is a formula."""


@dataclass(frozen=True, slots=True)
class Column:
    """The heading of a column, and the format of its cells."""

    key: str
    label: str
    align: Literal["left", "right"] = "left"
    mono: bool = False
    wide: bool = False
    """Whether it takes the remaining width."""
    tip: str = ""
    width_ch: int = 0
    """Number of characters that it always has room for, so that no column moves when a row changes its state."""


@dataclass(frozen=True, slots=True)
class Row:
    """A table row; a click on it selects `ref`, unless that is empty."""

    ref: str
    cells: tuple[str | Cell, ...]
    kind: Literal["", "rejected", "undone"] = ""
    related: tuple[str, ...] = ()
    """Ids that it belongs to, marked in other panels: the candidate of a trial, the node of a family."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table that the user can sort."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    empty_text: str
    """Text for a table without rows."""
    omitted: str = ""
    """A sentence that counts the rows that are not listed."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several ways to show a panel."""

    name: str
    label: str
    tip: str = ""


@dataclass(frozen=True, slots=True)
class Link:
    """A button that selects something else."""

    ref: str
    label: str


@dataclass(frozen=True, slots=True)
class Action:
    """A button for a command."""

    label: str
    command: str
    args: Mapping[str, Value]
    python: str
    """The line of Python that does the same."""
    description: str
    enabled: bool


@dataclass(frozen=True, slots=True)
class StepRow:
    """A lemma of a derivation, with the lines from its left side to its right side."""

    ref: str
    name: str
    """The tensor."""
    equation: str
    justification: str
    """The axioms, or why the lemma was not replayed."""
    kind: str
    lines: tuple[Pair, ...] = ()
    """Per line an expression, and the axioms by which it equals the line before."""
    equation_math: str = ""
    """The equation as MathML, if it is a formula."""
    lines_math: tuple[str, ...] = ()
    """Per line the expression as MathML, or empty."""


@dataclass(frozen=True, slots=True)
class Copy:
    """A text that the user can copy."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Definition:
    """What a symbol of a formula means, as text and as MathML."""

    symbol: str
    text: str
    math: str


@dataclass(frozen=True, slots=True)
class Card:
    """One reason, piece of evidence or answer, with everything needed to check it."""

    title: str
    kind: str
    """Style of the mark next to the title."""
    sentence: str
    label: str = ""
    """The kind of card; empty for `Why`."""
    soundness: str = ""
    soundness_text: str = ""
    formula: str = ""
    """With symbols."""
    formula_math: str = ""
    """As MathML; empty if it has none."""
    substituted: str = ""
    """The formula with the values of its symbols, if these are numbers."""
    where: tuple[Definition, ...] = ()
    """The meanings of its symbols that are formulas."""
    details: tuple[Pair, ...] = ()
    would_reopen_if: str = ""
    steps: tuple[StepRow, ...] = ()
    copies: tuple[Copy, ...] = ()


# ---------------------------------------------------------------- panels
@dataclass(frozen=True, slots=True)
class CommandHelp:
    """The tooltip of a command button."""

    description: str
    python: str
    in_past: bool
    """Whether it is possible while an earlier state of the search is shown."""


@dataclass(frozen=True, slots=True)
class Phase:
    """A stage of the search."""

    name: str
    current: bool
    description: str


@dataclass(frozen=True, slots=True)
class Counter:
    """A count, such as the number of proved candidates; `kind` is the style of its mark."""

    kind: str
    label: str
    value: str
    description: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """The best kernel against a baseline or a limit."""

    label: str
    ratio: str
    """The baseline's time divided by the kernel's, or the share of the limit."""
    time: str
    description: str
    limit: bool = False
    """Whether it is a limit and not a baseline."""


@dataclass(frozen=True, slots=True)
class ResultLink:
    """A button of the result card: it selects `ref` and shows a panel."""

    ref: str
    panel: str
    label: str
    description: str


@dataclass(frozen=True, slots=True)
class ResultCard:
    """The answer of the search so far, in one place."""

    kind: str
    """Style of its mark."""
    label: str
    """What it is, such as `best so far`."""
    title: str = ""
    """The kernel or baseline."""
    ref: str = ""
    """The id that a click selects; empty for none."""
    time: str = ""
    spread: str = ""
    """From the 20th to the 80th percentile of the time."""
    source: str = ""
    """What the time is, and where it was measured."""
    sentence: str = ""
    """Why it won, or why there is no better result."""
    warning: str = ""
    """Reasons to doubt the time; empty for none."""
    doubt: str = ""
    """The first of them in a few words."""
    comparisons: tuple[Comparison, ...] = ()
    links: tuple[ResultLink, ...] = ()
    actions: tuple[Action, ...] = ()
    """What can be done about the doubt."""


@dataclass(frozen=True, slots=True)
class Transport:
    """The bar on top: the program and the machine, the progress, and the commands that are possible."""

    program: str
    target: str
    """The machine and the sizes."""
    state: State
    events: int
    cursor: int
    """Number of events that are shown, for an earlier state of the search; 0 for the current state."""
    past_notice: str
    """Which earlier state is shown; empty for the current one."""
    phases: tuple[Phase, ...]
    counters: tuple[Counter, ...]
    enabled: tuple[str, ...]
    """Names of the commands that have an effect in this state."""
    status: str
    """The last event, as a sentence."""
    saved_as: str
    """Path of the file that holds the search; empty if it was not saved."""
    interrupted: str = ""
    """Before the first event: that a search of the same program was interrupted; empty if none was."""
    line: str = ""
    """The line of Python that continues it."""


@dataclass(frozen=True, slots=True)
class View:
    """The selected id, empty for none, and the panel that Python requests to show."""

    selection: str
    tab: str = ""
    request: int = 0
    """Number of the request; a page follows a request once."""


@dataclass(frozen=True, slots=True)
class TimeBrush:
    """An axis of event numbers on which an interval can be selected by dragging. Units: px in the scene."""

    left: float
    right: float
    first: int
    end: int
    interval: str
    """The selected interval as text; empty if all events are shown."""


@dataclass(frozen=True, slots=True)
class MapSection:
    """The search map in one of several modes, and the pruning reasons."""

    summary: str
    modes: tuple[Choice, ...]
    mode: str
    similar: bool
    """Whether everything with the shape of the selection is marked."""
    brush: TimeBrush | None
    """The axis of the mode over time, for the brush; None in other modes."""
    scene: Scene
    reasons: Scene
    dimmed: tuple[str, ...] = ()
    """Ids that the filter excludes."""


@dataclass(frozen=True, slots=True)
class KernelChoice:
    """A custom kernel of the graph that is shown."""

    ref: str
    position: int
    label: str
    expanded: bool
    """Whether it is drawn as its block graph."""


@dataclass(frozen=True, slots=True)
class Crumb:
    """One step from the program to the graph that is shown."""

    label: str
    shows: Literal["", "program", "graph"] = ""
    """What a click on it shows; empty for the last step."""


@dataclass(frozen=True, slots=True)
class GraphSection:
    """The picture of one sGraph."""

    subject: str
    """Id of the family or candidate; `program` for the program."""
    caption: str
    alternatives: tuple[Link, ...]
    """The graphs that can be shown instead: the family and its candidates."""
    kernels: tuple[KernelChoice, ...]
    entered: str
    """Ref of the custom kernel that is shown alone; empty for none."""
    trail: tuple[Crumb, ...]
    scene: Scene | None


@dataclass(frozen=True, slots=True)
class Slider:
    """A symbolic size, and the values that it can have."""

    symbol: str
    label: str
    values: tuple[int, ...]
    value: int
    """The current choice."""


@dataclass(frozen=True, slots=True)
class SizeLimit:
    """What legal sizes satisfy; `form` is the row of the closed forms that has the size."""

    form: int
    most: float | None
    """The limit; None where the size must be a positive whole number."""
    text: str
    what: str
    """What has this size."""


@dataclass(frozen=True, slots=True)
class SizeFigure:
    """A figure that depends on the sizes."""

    label: str
    form: int
    unit: Literal["bytes", "seconds", "flops", "count"]
    note: str
    """Such as modelled."""
    limit: float | None = None
    """The limit of a bar; None for no bar."""


@dataclass(frozen=True, slots=True)
class ShapeSizes:
    """The sizes in numbers of one shape of the sGraph; per dim a row of the closed forms."""

    shape: str
    dims: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class AccessDim:
    """One dim of a tensor that blocks load or store; extent, tile and strides are rows of the closed forms."""

    extent: int
    tile: int
    strides: tuple[tuple[str, int], ...]
    """Per grid dim or loop that partitions it, the distance between tiles."""


@dataclass(frozen=True, slots=True)
class Access:
    """A load or store of a block graph: which region of a tensor each block touches."""

    ref: str
    label: str
    kind: Literal["load", "store"]
    dims: tuple[AccessDim, ...]
    open: bool
    """Whether its map is not chosen yet."""


@dataclass(frozen=True, slots=True)
class GridStepper:
    """A grid dim or the loop of a kernel; `form` is the row of its number of steps."""

    name: str
    form: int
    loop: bool


@dataclass(frozen=True, slots=True)
class KernelAccesses:
    """What the blocks of one custom kernel read and write."""

    ref: str
    label: str
    steppers: tuple[GridStepper, ...]
    accesses: tuple[Access, ...]


@dataclass(frozen=True, slots=True)
class RooflinePlot:
    """A roofline plot in which one point moves; the rows of its figures, and the axes."""

    scene: Scene
    memory_bytes: int
    flops: int
    time_s: int | None
    """None while maps are open; then the point is on the roof."""
    area: tuple[float, float, float, float]
    """Left, top, right, bottom. Units: px."""
    x: tuple[float, float]
    """Least and largest intensity. Units: flop/byte."""
    y: tuple[float, float]
    """Least and largest performance. Units: flop/s."""
    peak: float
    """Units: flop/s."""
    bandwidth: float
    """Units: bytes/s."""


@dataclass(frozen=True, slots=True)
class SizesSection:
    """The symbolic sizes of the graph that is shown, and what depends on them, as closed forms."""

    subject: str
    caption: str
    origin: str
    """Where the current choice comes from."""
    forms: tuple[tuple[str | float, ...], ...]
    """Rows, each an operation on earlier rows; see `tune.space.closed_forms`."""
    sliders: tuple[Slider, ...]
    limits: tuple[SizeLimit, ...]
    figures: tuple[SizeFigure, ...]
    shapes: tuple[ShapeSizes, ...]
    kernels: tuple[KernelAccesses, ...]
    roofline: RooflinePlot | None
    python: str
    """The call that gives the same figures, without the sizes."""
    chosen: tuple[tuple[str, int], ...] = ()
    """The sizes that Python chose, by symbol."""
    request: int = 0
    """Number of choices of Python so far, so that a page follows each once."""


@dataclass(frozen=True, slots=True)
class Inspector:
    """The selected object: a description, the reasons for its status, and the commands for it."""

    ref: str
    title: str
    kind: str = ""
    status: str = ""
    description: tuple[str, ...] = ()
    details: tuple[Pair, ...] = ()
    code: str = ""
    code_math: str = ""
    """The code as MathML, if it is a formula."""
    cards: tuple[Card, ...] = ()
    actions: tuple[Action, ...] = ()
    links: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True)
class PathStep:
    """A term on the way to an equal one, in three parts: the middle one was changed."""

    ref: str
    """The tensor whose lemma has the step."""
    before: str
    changed: str
    after: str
    replaced: str
    """The changed part as it was; empty where nothing was changed."""
    why: str
    """The axioms, or what the term is."""


@dataclass(frozen=True, slots=True)
class TermPath:
    """How one term becomes an equal one."""

    start: str
    end: str
    tensors: tuple[Choice, ...]
    """The tensors of the class; any two are start and end."""
    steps: tuple[PathStep, ...]
    step: int
    """The step that is shown, from 0."""
    note: str
    """What supports the steps, or why there are none."""


@dataclass(frozen=True, slots=True)
class FrameSlider:
    """The frames of an e-graph."""

    lemma: str
    """The id of a frame up to its number."""
    focus: str
    """The rest of the id after the number: the class in focus, or empty."""
    number: int
    last: int


@dataclass(frozen=True, slots=True)
class EClasses:
    """The e-classes of a candidate, the e-graph of a lemma, or a path; and the lemmas of its certificate."""

    subject: str
    caption: str
    scene: Scene | None
    lemmas: Table
    modes: tuple[Choice, ...] = ()
    mode: str = ""
    frame_ref: str = ""
    """The frame that the mode of the e-graph begins with."""
    slider: FrameSlider | None = None
    statements: tuple[Choice, ...] = ()
    """The lemmas whose e-graphs can be shown, by their first frames."""
    rules: tuple[Choice, ...] = ()
    """The axioms that changed the e-graph, with their matches."""
    rule: str = ""
    """The axiom whose nodes are marked."""
    more: str = ""
    """The label of the button that draws more nodes; empty if all are drawn."""
    path: TermPath | None = None


@dataclass(frozen=True, slots=True)
class BrushAxis:
    """An axis on which values can be selected by dragging. Units: px in the scene."""

    name: str
    x: float
    values: tuple[float, ...]
    texts: tuple[str, ...]
    ys: tuple[float, ...]
    low: int
    """Index of the least selected value."""
    high: int


@dataclass(frozen=True, slots=True)
class Brushed:
    """An interval of the brush, and the command that restricts tuning to it; None for an axis that is no parameter."""

    name: str
    text: str
    restrict: Action | None


@dataclass(frozen=True, slots=True)
class Tuning:
    """Measured times, modelled times and roofline bounds: one chart of several, and the table of trials."""

    caption: str
    modes: tuple[Choice, ...]
    """The charts; the name of each is sent to select it."""
    mode: str
    tops: tuple[Choice, ...]
    """How many trials the table can list."""
    top: str
    axes: tuple[BrushAxis, ...]
    """The axes of the chart of parameters, for the brush; empty for other charts."""
    brush: tuple[Brushed, ...]
    """The intervals that trials must lie in."""
    scene: Scene | None
    trials: Table


@dataclass(frozen=True, slots=True)
class LedgerSection:
    """The result in sentences, what was pruned by which kind of rule, and the decisions of the user."""

    claim: str
    soundness: Table
    reasons: Table
    steering: Table
    log: Table
    undo: Action
    redo: Action


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit of the search space that a what-if can change."""

    name: str
    label: str
    value: int
    """Its value in this search."""
    tip: str
    """What it limits."""


@dataclass(frozen=True, slots=True)
class WhatIfForm:
    """The settings that a what-if can change, and their values in this search."""

    targets: tuple[str, ...]
    target: str
    limits: tuple[Limit, ...]
    rules: tuple[Pair, ...]
    """Active pruning rules, each with its description."""


@dataclass(frozen=True, slots=True)
class QuestionsSection:
    """The questions that run in the background, and the form for a what-if."""

    caption: str
    table: Table
    form: WhatIfForm | None
    """None if no search can run, as in a saved search."""
    open: tuple[str, ...]
    """Ids of the questions that can be cancelled."""


@dataclass(frozen=True, slots=True)
class CompareKind:
    """A kind of difference of two searches, which can be shown or folded."""

    key: str
    label: str
    kind: str
    """Style of its mark."""
    count: str
    shown: bool


@dataclass(frozen=True, slots=True)
class CompareMoment:
    """The first event of one search that differs from the other search."""

    label: str
    text: str
    ref: str
    """What to select; empty for nothing."""


@dataclass(frozen=True, slots=True)
class CompareSide:
    """One of two searches, and what is selected in it."""

    label: str
    name: str
    description: str
    inspector: Inspector | None
    missing: str
    """Why there is no inspector."""


@dataclass(frozen=True, slots=True)
class CompareSection:
    """Two searches side by side."""

    summary: str
    marked: str = ""
    """The step of the map that is selected."""
    path: str = ""
    """The operators from the root to this step."""
    sides: tuple[CompareSide, ...] = ()
    """A and B; none before a comparison."""
    scene: Scene | None = None
    kinds: tuple[CompareKind, ...] = ()
    first: tuple[CompareMoment, ...] = ()
    """The first events that differ in what matters; none if no event does."""
    steps: Table | None = None
    families: Table | None = None
    settings: Table | None = None
    counts: Table | None = None
    choices: tuple[Pair, ...] = ()
    """Searches of this process to compare with: id and name."""
    parent: str = ""
    """Id of the search that this one was forked from, if it is in this process."""
    status: str = ""
    """The comparison that is running, or why it failed."""


@dataclass(frozen=True, slots=True)
class SearchLink:
    """A search of this process that the explorer can show."""

    key: str
    """Its id; empty for one that is not in this process."""
    label: str
    tip: str
    current: bool = False


@dataclass(frozen=True, slots=True)
class LineageSection:
    """Where a search was forked, and its forks."""

    path: tuple[SearchLink, ...] = ()
    """From the first search to the one that is shown; empty for a search without forks."""
    forks: tuple[SearchLink, ...] = ()
    """The forks of the search that is shown."""
    fork_at: int = 0
    """The moment at which `Fork from here` would fork; 0 while the current state is shown."""
    status: str = ""
    """The fork that is being made, or why it failed."""


@dataclass(frozen=True, slots=True)
class CodeLine:
    """A line of code, and the tensors of its operators."""

    text: str
    refs: str = ""
    """Ids, separated by spaces."""
    mark: Literal["", "+", "-"] = ""
    """In a difference: whether only this text or only the other one has the line."""


@dataclass(frozen=True, slots=True)
class CodeTab:
    """One text of the subject."""

    name: str
    label: str
    tip: str
    caption: str
    lines: tuple[CodeLine, ...]
    missing: str
    """Why there is no text; empty if there is one, or if it is computed when the tab is chosen."""


@dataclass(frozen=True, slots=True)
class Code:
    """The subject as program, graph, loops and generated code."""

    title: str
    caption: str
    tabs: tuple[CodeTab, ...]
    tab: str
    """The chosen tab."""
    other: str
    """The graph that the chosen tab is compared with; empty for none."""
    others: tuple[Link, ...]
    """The graphs that it can be compared with."""


@dataclass(frozen=True, slots=True)
class Script:
    """The commands so far, as lines of Python."""

    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FilterChip:
    """A condition of the filter that is in force; it can be removed."""

    name: str
    """The field of the filter."""
    value: str
    """Which of its values; empty if the field has only one."""
    label: str


@dataclass(frozen=True, slots=True)
class FilterSection:
    """The filter: the conditions in force, and the values that they can have."""

    chips: tuple[FilterChip, ...]
    statuses: tuple[Choice, ...]
    reasons: tuple[Choice, ...]
    status: tuple[str, ...]
    reason: tuple[str, ...]
    operator: str
    events: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class BookmarkRow:
    """A bookmark."""

    bookmark: str
    ref: str
    at: int
    label: str
    """What it is on, and at which moment."""
    note: str


@dataclass(frozen=True, slots=True)
class BookmarksSection:
    """The bookmarks of the user, and the deleted ones, which can be restored."""

    caption: str
    bookmarks: tuple[BookmarkRow, ...]
    deleted: tuple[BookmarkRow, ...]
    add: Action
    """Bookmarks the selection, and the moment if an earlier state is shown."""
    undo: Action
    """Reverts the last change of a bookmark."""


@dataclass(frozen=True, slots=True)
class SideBySide:
    """The families that the user compares."""

    families: tuple[str, ...]
    """Their ids; none while fewer than two are compared."""
    table: Table | None


@dataclass(frozen=True, slots=True)
class FoundItem:
    """A match of the find field."""

    ref: str
    """The id to select; empty for an event without one."""
    kind: str
    """Such as `trial`."""
    panel: str
    """The panel that shows it."""
    part: str
    """The table of this panel that has it; empty where the panel has one table."""
    text: str
    """The part of its text with the match."""
    seq: int
    """The position of its event."""


@dataclass(frozen=True, slots=True)
class FindSection:
    """The find field: how many matches there are, and which one is shown."""

    text: str
    total: int
    position: int
    """Number of the match that is shown, from 1 on; 0 for none."""
    count: str
    """Such as `3 of 41`."""
    kinds: tuple[Pair, ...]
    """Per kind of object, the number of matches."""
    item: FoundItem | None
    note: str
    """What can be found, where nothing was."""
    request: int
    """Number of requests of Python to find a text so far, so that a page follows each once."""


@dataclass(frozen=True, slots=True)
class Sections:
    """All panels of the explorer."""

    commands: Mapping[str, CommandHelp]
    transport: Transport
    result: ResultCard
    view: View
    map: MapSection
    graph: GraphSection
    sizes: SizesSection
    inspector: Inspector | None
    families: Table
    side_by_side: SideBySide | None
    """The families that are compared; None on a page without Python, which cannot compare others."""
    eclasses: EClasses
    tuning: Tuning
    ledger: LedgerSection
    questions: QuestionsSection
    code: Code
    compare: CompareSection
    lineage: LineageSection
    bookmarks: BookmarksSection
    filter: FilterSection
    find: FindSection | None
    """None before the field is used, and on a page without Python, which finds only what it shows."""
    script: Script
    error: str | None = None
    """The error of the search or of the panels; None without an error."""


SPARSE: tuple[type, ...] = (Cell, Column, Row, Card, StepRow, Inspector, ResultCard, Comparison, View, CodeLine)
"""Classes whose default values are not sent, because there are many objects with mostly empty fields."""


def shallow_data(value: Any) -> dict[str, Any]:
    """The fields of a dataclass that are sent, by name, as they are."""
    kind = cast("type[Any]", type(value))
    rows = ((name, getattr(value, name), default) for name, default in _fields_of(kind))
    return {name: v for name, v, default in rows if default is MISSING or v != default}


@cache
def _fields_of(kind: type[Any]) -> tuple[tuple[str, object], ...]:
    """The fields of a dataclass, each with the default value that is not sent."""
    sparse = issubclass(kind, SPARSE)
    return tuple((f.name, f.default if sparse else MISSING) for f in fields(kind))


def to_data(value: object) -> Any:
    """Convert a section to JSON-ready data."""
    if isinstance(value, str | int | float | None):
        return value
    if isinstance(value, Scene):
        return to_plain(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {name: to_data(v) for name, v in shallow_data(value).items()}
    if isinstance(value, Mapping):
        return {str(k): to_data(v) for k, v in cast("Mapping[object, object]", value).items()}
    if isinstance(value, tuple | list):
        return [to_data(v) for v in cast("Sequence[object]", value)]
    return value
