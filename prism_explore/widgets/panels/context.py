"""The input of the panels: the search, its events in three indexed forms, and the view that the user has chosen.

`Folds` reads the journal entry by entry. A `Context` is passed to every panel function. Slow results are
memoized in a `Memo`, which belongs to one explorer.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from operator import itemgetter
from typing import Any, cast, get_args

from prism_explore.cost.roofline import time_bound_of_graph
from prism_explore.diagnose.jobs import Question, QuestionKind
from prism_explore.errors import PrismError
from prism_explore.events.journal import Entry
from prism_explore.events.kinds import VerdictReached
from prism_explore.events.ledger import Fold, Ledger
from prism_explore.ir.graph import SGraph
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.text import parse
from prism_explore.pipeline.search_space import Space
from prism_explore.support.caches import memoize
from prism_explore.support.gc_pause import gc_paused
from prism_explore.targets import GPUS, Target
from prism_explore.tune.space.figures import guess_sizes
from prism_explore.verify.certificate.readable import Rewrite, rewrites
from prism_explore.verify.egraph.frames import Growth
from prism_explore.verify.normal_form.equalities import Equalities, equalities
from prism_explore.widgets.jupyter.live import InterruptedLike, SessionLike, State, TargetLike
from prism_explore.widgets.panels.background import Background
from prism_explore.widgets.panels.code_view import DEFAULT_CODE, CodeView
from prism_explore.widgets.panels.event_index import EventIndex
from prism_explore.widgets.panels.filter_view import Filter
from prism_explore.widgets.panels.find_index import MAX_TEXT_CHARACTERS, FindIndex
from prism_explore.widgets.panels.graph_choices import NO_CHOICES, GraphChoices
from prism_explore.widgets.panels.machine import stand_in_for
from prism_explore.widgets.panels.reads import Computed
from prism_explore.widgets.panels.sections import CompareSection, LineageSection
from prism_explore.widgets.panels.size_forms import size_forms, sliders_of
from prism_explore.widgets.panels.size_roofline import roofline_plot
from prism_explore.widgets.refs import names_graph, owner_of
from prism_explore.widgets.scene import Scene
from prism_explore.widgets.views.code_listing import Listing
from prism_explore.widgets.views.egraph import egraph_scene
from prism_explore.widgets.views.egraph_frames import FramePlaces, frame_places, lemma_growth
from prism_explore.widgets.views.egraph_view import EGraphView
from prism_explore.widgets.views.event_lanes import EventLanes
from prism_explore.widgets.views.graph import GraphView, program_scene, sgraph_scene
from prism_explore.widgets.views.listings import listing
from prism_explore.widgets.views.map_view import MapView
from prism_explore.widgets.views.search_tree import SearchTree
from prism_explore.widgets.views.similar import Patterns
from prism_explore.widgets.views.trial_work import work_model
from prism_explore.widgets.views.tuning_view import TuningView

CHECKPOINT_EVENTS = 4096
"""Number of events between two checkpoints, until there are too many."""
MAX_CHECKPOINTS = 64
"""Largest number of checkpoints; beyond, every other one is dropped and their distance doubles."""


class Folds:
    """The events of one journal in four indexed forms, kept up to date entry by entry.

    `before(n)` is the state after the first `n` events, at any moment and in any order. Index and tree are views that
    share their data. The ledger starts from the checkpoint before that moment, so it reads the events between two
    checkpoints at most: 4,096 up to 262,144 events, then at most 1/32 of all. There are at most 64 checkpoints. A
    checkpoint has the families, candidates, verdicts and trials so far, and no node or region.
    """

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self.ledger = Fold()
        self.events = EventIndex()
        self.tree = SearchTree()
        self.lanes = EventLanes()
        self._next_checkpoint = self._distance = CHECKPOINT_EVENTS
        """Number of events before the next checkpoint, and between two of them."""
        self._checkpoints: list[tuple[int, Fold]] = [(0, Fold())]
        """Number of events, and the ledger after them; ascending."""
        self._past: tuple[int, Fold] = self._checkpoints[0]
        """The earlier state that was read last."""
        self.extend(entries)

    def extend(self, entries: Iterable[Entry]) -> None:
        """Read entries."""
        with gc_paused():
            for entry in entries:
                self.add(entry)

    def add(self, entry: Entry) -> None:
        """Read one entry."""
        self.ledger.add(entry.event)
        self.events.add(entry)
        self.tree.add(entry.event)
        self.lanes.add(entry.event)
        if entry.seq + 1 >= self._next_checkpoint:
            self._checkpoints.append((self.events.count, self.ledger.copy()))
            if len(self._checkpoints) > MAX_CHECKPOINTS:
                del self._checkpoints[1::2]
                self._distance *= 2
            self._next_checkpoint = self._checkpoints[-1][0] + self._distance

    def before(self, count: int) -> Folds:
        """The first `count` events. The result is to be read only."""
        nearest = self._checkpoints[bisect_right(self._checkpoints, count, key=itemgetter(0)) - 1]
        start, known = max((nearest, self._past), key=lambda row: row[0] if row[0] <= count else -1)
        ledger = known.copy()
        for entry in self.events.entries.between(start, count):
            ledger.add(entry.event)
        self._past = (count, ledger)
        folds = Folds()
        folds.ledger, folds.events, folds.tree = ledger, self.events.before(count), self.tree.before(count)
        folds.lanes = self.lanes.before(count)
        return folds


@dataclass(frozen=True, slots=True)
class FindView:
    """The find field."""

    text: str = ""
    position: int = 0
    """Number of the match that is shown, from 1 on; the count starts again after the last one. 0 for none yet."""
    is_open: bool = False
    """Whether the field is used; the texts are indexed at its first use."""
    requests: int = 0
    """Number of requests of Python so far."""

    def changed(self, change: Mapping[str, Any]) -> FindView:
        """The field after a message from the browser; what is not understood changes nothing."""
        match change:
            case {"text": str(text), "position": int(position)}:
                return FindView(text[:MAX_TEXT_CHARACTERS], max(0, position), True, self.requests)
            case _:
                return self


MAX_SIZES = 64
"""Largest number of sliders whose values are kept."""
MAX_COMPARED = 6
"""Largest number of families side by side."""


@dataclass(frozen=True, slots=True)
class SizesView:
    """The sliders of the Sizes panel, as far as the user moved them."""

    values: tuple[tuple[str, int], ...] = ()
    """Value per symbol."""
    subject: str = ""
    """The graph whose sliders they are; empty for the graph that is shown."""
    requests: int = 0
    """Number of choices of Python so far."""

    def changed(self, change: Mapping[str, Any]) -> SizesView:
        """The sliders after a message from the browser; what is not understood changes nothing."""
        match change:
            case {"subject": str(subject), "values": Mapping()}:
                given = cast("Mapping[object, object]", change["values"]).items()
                kept = [(str(k)[:64], v) for k, v in given if type(v) is int][:MAX_SIZES]
                return SizesView(tuple(kept), subject[:64], self.requests)
            case _:
                return self


@dataclass(frozen=True, slots=True)
class ViewState:
    """The view that the user has chosen; it has no influence on the search."""

    selection: str = ""
    subject: str = ""
    """The family or candidate that was selected last; empty to follow the search."""
    graph: GraphChoices = NO_CHOICES
    """What is expanded and entered in the sGraph panel."""
    code: CodeView = DEFAULT_CODE
    """The tab and the comparison of the Code panel."""
    interactive: bool = True
    """Whether Python answers changes of the view, so that pictures have buttons."""
    root: str = ""
    """The node that the search map is zoomed into."""
    map_px: int = 420
    """Width of the search map."""
    dock_px: int = 560
    """Width of a picture in the dock."""
    dock_high_px: int = 260
    """Height of a picture in the dock that has no height of its own."""
    map: MapView = field(default_factory=MapView)
    tuning: TuningView = field(default_factory=TuningView)
    find: FindView = field(default_factory=FindView)
    filter: Filter = field(default_factory=Filter)
    sizes: SizesView = field(default_factory=SizesView)
    families: tuple[str, ...] = ()
    """The families that are compared side by side."""
    tab: str = ""
    """The panel that was shown last on request."""
    tab_request: int = 0
    """Number of requests to show a panel so far, so that a page follows each once."""
    egraph: EGraphView = field(default_factory=EGraphView)
    cursor: int = 0
    """Number of events that are shown, for an earlier state of the search; 0 for all."""


@dataclass(frozen=True, slots=True)
class QuestionList:
    """The questions about a search, and the kinds of question that are possible."""

    questions: tuple[Question, ...] = ()
    allowed: frozenset[QuestionKind] = frozenset()

    def about(self, subject: str) -> tuple[Question, ...]:
        """The last question of each kind about an id."""
        return tuple({q.kind: q for q in self.questions if q.subject == subject}.values())


@dataclass(frozen=True, slots=True)
class SearchInfo:
    """The data of a search that its events do not contain."""

    program: TensorProgram
    target: str = ""
    """Name of the machine."""
    sizes: str = ""
    """Sizes at which kernels are tuned, such as `b=8`."""
    state: State = "ready"
    failure: str = ""
    """The error of the engine, if it failed."""
    questions: QuestionList = QuestionList()
    space: Space | None = None
    """The search space; None if only its description is known."""
    count: int = 0
    """Number of events so far; an earlier state shows fewer."""
    machine: Target | None = None
    """The figures of the machine; None if only its name is known, as in a saved search for another CPU."""
    shapes: tuple[tuple[str, int], ...] = ()
    """Sizes at which kernels are tuned."""
    saved_as: str = ""
    """Path of the file that holds the search; empty if it was not saved."""
    interrupted: InterruptedLike | None = None
    """A saved search of the same program that did not end."""
    stand_in: Target | None = None
    """The figures that are known here under the machine's name, if its own are not known."""
    compare: CompareSection = field(default_factory=lambda: CompareSection(""))
    """The comparison with another search."""
    lineage: LineageSection = field(default_factory=LineageSection)
    """The searches that this one was forked from, and its forks."""


def search_info(session: SessionLike, with_questions: bool = True) -> SearchInfo:
    """Read a session.

    Args:
        session: the search.
        with_questions: False if no question can be answered, as in a report.
    """
    space = session.task.space if with_questions else None
    allowed: tuple[QuestionKind, ...] = ()
    if with_questions:
        recorded: tuple[QuestionKind, ...] = getattr(session, "allowed", ("certify", "replay"))
        allowed = recorded if space is None else get_args(QuestionKind)
    return SearchInfo(
        session.program,
        session.task.target.name,
        ", ".join(f"{k}={v}" for k, v in session.task.shapes.items()),
        session.state,
        session.failure,
        QuestionList(tuple(session.questions.values()), frozenset(allowed)),
        space,
        len(session.journal),
        _machine(session.task.target),
        tuple(session.task.shapes.items()),
        session.journal.saved_as if with_questions else "",
        session.interrupted if with_questions else None,
        None if isinstance(session.task.target, Target) else stand_in_for(session.task.target.name),
    )


def _machine(target: TargetLike) -> Target | None:
    """The figures of a machine; a saved search has only its name, which is enough for a GPU."""
    return target if isinstance(target, Target) else GPUS.get(target.name)


class Memo:
    """Memoization of slow results, owned by one explorer: sections, graph layouts, e-classes, e-graphs of lemmas.

    Args:
        announce: called on another thread when a result that takes long is there; without it, all are computed at once.
        scenes: number of the pictures of graphs that are kept.
    """

    def __init__(self, announce: Callable[[], None] | None = None, scenes: int = 32) -> None:
        self.sections: dict[str, Computed] = {}
        """Per section, the last result."""
        self.find = FindIndex()
        self.program_scene = lru_cache(2)(program_scene)
        self.graph_scene = lru_cache(scenes)(_graph_scene)
        self.listing = lru_cache(128)(listing)
        self.slow_listings = Background[Listing](announce)
        self.guess_sizes = lru_cache(256)(guess_sizes)
        self.size_forms = lru_cache(64)(size_forms)
        self.size_sliders = lru_cache(64)(sliders_of)
        self.roofline = lru_cache(64)(partial(roofline_plot, self.size_forms))
        self.classes_scene = lru_cache(scenes)(_classes_scene)
        self.equalities = lru_cache(scenes)(equalities)
        # No cache refers to the memo, so that its last user frees it without the cyclic collector.
        self.growth = lru_cache(32)(partial(_growth, self.equalities))
        self.frame_places = lru_cache(32)(partial(_frame_places, self.growth))
        self.rewrites = lru_cache(64)(partial(_rewrites, self.equalities))
        self.work_model = lru_cache(256)(work_model)
        self.lower_bound_s = lru_cache(256)(_lower_bound_s)
        self._patterns: tuple[object, Patterns] | None = None

    def patterns(self, tree: SearchTree, root: str) -> Patterns:
        """The shapes of the subtrees at a node and below it, or of all; those of the last call are kept."""
        key = (tree.version, root)
        if self._patterns is None or self._patterns[0] != key:
            self._patterns = (key, Patterns(tree, root))
        return self._patterns[1]


def _lower_bound_s(graph: SGraph, shapes: tuple[tuple[str, int], ...], machine: Target) -> float | None:
    """The modelled lower bound on the time of a candidate; None where a symbol has no size."""
    try:
        return time_bound_of_graph(graph, dict(shapes), machine).time_s
    except PrismError:
        return None


def _classes_scene(verdict: VerdictReached, width: float, labels: tuple[tuple[str, str], ...]) -> Scene:
    return egraph_scene(verdict, width, dict(labels))


def _rewrites(
    equal: Callable[[TensorProgram, SGraph], Equalities], program: TensorProgram, graph: SGraph, tensor: str
) -> tuple[Rewrite, ...]:
    return rewrites(equal(program, graph).derivation(tensor))


def _growth(
    equal: Callable[[TensorProgram, SGraph], Equalities], program: TensorProgram, graph: SGraph, tensor: str
) -> Growth | None:
    return lemma_growth(equal(program, graph), tensor)


def _frame_places(
    grow: Callable[[TensorProgram, SGraph, str], Growth | None],
    program: TensorProgram,
    graph: SGraph,
    tensor: str,
    width: float,
    nodes: int,
    focus: str,
) -> FramePlaces | None:
    growth = grow(program, graph, tensor)
    return None if growth is None else frame_places(growth, width, nodes, focus)


def _graph_scene(graph: SGraph, subject: str, view: GraphView) -> Scene:
    return sgraph_scene(graph, subject, subject, view)


@dataclass(frozen=True, slots=True)
class Context:
    """The input of every panel function."""

    search: SearchInfo
    ledger: Ledger
    events: EventIndex
    tree: SearchTree
    lanes: EventLanes
    view: ViewState
    memo: Memo
    subject: str
    """The one family or candidate that all panels show; empty while there is none."""
    candidate: str
    """The subject, or its best candidate if it is a family; empty if it has none. Its proof and its code are shown."""
    followed: str
    """Why the panels show this subject, if the user has selected none, such as `the best so far`; else empty."""

    @classmethod
    def of(cls, search: SearchInfo, folds: Folds, view: ViewState, memo: Memo) -> Context:
        """Compute the subject, and collect the rest."""
        ledger, events = folds.ledger.value(), folds.events
        chosen = view.subject if names_graph(view.subject) else ""
        subject, followed = (chosen, "") if chosen else _follow_search(ledger, events)
        candidate = subject if subject in events.candidates else best_candidate(subject, events, ledger)
        return cls(search, ledger, events, folds.tree, folds.lanes, view, memo, subject, candidate, followed)

    @property
    def subject_text(self) -> str:
        """The candidate that is shown, or the subject without one, and why, as the captions of panels begin."""
        shown = self.candidate or self.subject
        if self.followed:
            return f"{shown} ({self.followed}; no family is selected)"
        return f"{shown} (of {self.subject})" if shown != self.subject else shown

    @property
    def missing_text(self) -> str:
        """Why the subject has no candidate to show, as a sentence without a full stop; empty if it has one."""
        if self.candidate:
            return "" if self.candidate in self.events.candidates else self._not_yet(self.candidate)
        if not self.subject:
            return "There is no candidate yet"
        if self.subject not in self.events.families:
            return self._not_yet(self.subject)
        forbidden = len(self.events.rejected_maps.get(self.subject, ()))
        why = f": all {forbidden:,} choices of maps are forbidden" if forbidden else " yet"
        return f"{self.subject} has no candidate{why}"

    def _not_yet(self, ref: str) -> str:
        return f"{ref} did not exist after event {self.events.count:,}"


# ---------------------------------------------------------------- families and candidates of an id
def _follow_search(ledger: Ledger, events: EventIndex) -> tuple[str, str]:
    """The subject if none is selected, and why: the best candidate, else the last proved one, else the last family."""
    if ledger.best is not None:
        return ledger.best.candidate, "the best" if ledger.finished is not None else "the best so far"
    if proved := next((c for c in reversed(events.verdicts) if events.verdicts[c].verdict == "proved"), ""):
        return proved, "proved last"
    family = next(reversed(events.families), "")
    return family, "completed last" if family else ""


def select(view: ViewState, ref: str, events: EventIndex) -> ViewState:
    """The view after a selection.

    Without a selection the panels follow the search. An id that belongs to no family, such as a pruned region, keeps
    the subject.
    """
    return replace(view, selection=ref, subject=(subject_of(ref, events) or view.subject) if ref else "")


def subject_of(ref: str, events: EventIndex) -> str:
    """The family or candidate whose graph contains an id; empty if none does."""
    if events.has_graph(ref):
        return ref
    owner = owner_of(ref)
    if events.has_graph(owner):
        return owner
    if ref in events.candidate_of_trial:
        return events.candidate_of_trial[ref]
    return events.family_at.get(ref, "")


def graph_of(subject: str, events: EventIndex) -> SGraph | None:
    """The sGraph of a family or candidate."""
    event = events.candidates.get(subject) or events.families.get(subject)
    if event is None:
        return None
    return _parsed(event.sgraph)


@memoize(256)
def _parsed(text: str) -> SGraph | None:
    """The graph that an event has as text; None if it is not readable."""
    try:
        return parse(text)
    except PrismError:
        return None


def best_candidate(family: str, events: EventIndex, ledger: Ledger) -> str:
    """The fastest candidate of a family, else a proved one, else one with a verdict, else any."""
    row = next((r for r in ledger.families if r.family == family), None)
    if row is not None and row.best is not None:
        return row.best.candidate
    candidates = events.candidates_of(family)
    decided = [c for c in candidates if c in events.verdicts]
    proved = [c for c in decided if events.verdicts[c].verdict == "proved"]
    return next(iter((*proved, *decided, *candidates)), "")
