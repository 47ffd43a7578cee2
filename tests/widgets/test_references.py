"""Every reference that the explorer shows lands on what it names: the panels of recorded searches, clicked through.

A click on a reference selects its id. The inspector of that id must have the same id, and the panels that show one
family must show the one that contains it. The references in what opens are clicked too, until nothing new appears; of a
kind with many ids, a random sample is clicked.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any, cast

import pytest

from prism_explore.events.journal import Journal
from prism_explore.events.kinds import Steered
from prism_explore.session.record import Record
from prism_explore.widgets.jupyter.recorded import RecordedSession
from prism_explore.widgets.panels.context import (
    Context,
    Folds,
    Memo,
    QuestionList,
    SearchInfo,
    ViewState,
    search_info,
    select,
    subject_of,
)
from prism_explore.widgets.panels.inspector import inspect
from prism_explore.widgets.panels.panels import PANELS, sections
from prism_explore.widgets.panels.sections import Action
from prism_explore.widgets.refs import frame_ref, owner_of
from prism_explore.widgets.views.egraph_view import EGraphView
from prism_explore.widgets.views.map_view import MODES as MAP_MODES
from prism_explore.widgets.views.map_view import MapView
from prism_explore.widgets.views.tuning_view import MODES as TUNING_MODES
from prism_explore.widgets.views.tuning_view import TuningView
from tests.widgets.fakes import PRUNED, QUESTIONS, FakeSession, program
from tests.widgets.recordings import saturation, story

SAVED = Path(__file__).parent.parent / "data" / "saved"
RECORDED = sorted(path.stem for path in SAVED.glob("*.prism"))
BY_SUBJECT = ("graph", "eclasses", "code")
"""Panels that show one family or candidate."""
SAMPLE = 60
"""Number of ids of one kind that are clicked."""
LEMMAS = 3
"""Number of lemmas of which the e-graph is opened; each starts egglog."""
PATHS = 2
"""Number of proofs of which the path is opened."""

KINDS: Mapping[str, str] = {
    "node": r"n\d+",
    "region": r"p\d+",
    "family": r"f\d+",
    "candidate": r"f\d+\.c\d+",
    "trial": r"u\d+",
    "question": r"q\d+",
    "e-class": r"f\d+\.c\d+/c\d+",
    "frame": r"f\d+\.c\d+/[\w.%]+@\d+",
    "class of an e-graph": r"f\d+\.c\d+/[\w.%]+@\d+\.e\d+",
    "tensor": r"f[\d.c]+/k\d+(\.b\d+)?",
    "tensor of the program in a proof": r"f[\d.c]+/program\.%\d+",
    "tensor of the program": r"program\.%\d+",
    "reason": r"[a-z]+\.[a-z.]+",
}


def kind_of(ref: str) -> str:
    return next((kind for kind, pattern in KINDS.items() if re.fullmatch(pattern, ref)), f"unknown: {ref}")


def references(value: object) -> Iterator[str]:
    """The ids in panels: in tables, links, pictures, lemmas, and the subjects of commands."""
    if isinstance(value, Action) and value.args.get("id"):
        yield str(value.args["id"])
    if is_dataclass(value):
        for f in fields(value):
            found = getattr(value, f.name)
            if f.name == "ref" and found:
                yield str(found)
            elif f.name == "refs" and isinstance(found, str):
                yield from found.split()
            yield from references(found)
    elif isinstance(value, Mapping):
        for inner in cast("Mapping[str, object]", value).values():
            yield from references(inner)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for inner in cast("Sequence[object]", value):
            yield from references(inner)


class Clicker:
    """Clicks references of one search until no new one appears."""

    def __init__(self, info: SearchInfo, folds: Folds, seed: int = 0) -> None:
        self.info, self.folds, self.memo = info, folds, Memo()
        self.draw = random.Random(seed)
        self.waiting: dict[str, list[str]] = defaultdict(list)
        self.seen: set[str] = set()
        self.clicked: Counter[str] = Counter()
        self.lemmas: set[str] = set()
        self.paths: list[str] = []
        """The ids whose path between e-graph and result was opened."""
        self.wrong: list[str] = []

    def add(self, value: object) -> None:
        for ref in references(value):
            if ref not in self.seen:
                self.seen.add(ref)
                self.waiting[kind_of(ref)].append(ref)

    def next(self) -> str | None:
        """A random reference of a kind of which not enough were clicked."""
        for kind, refs in self.waiting.items():
            while refs and self.clicked[kind] < SAMPLE:
                ref = refs.pop(self.draw.randrange(len(refs)))
                lemma = ref.split("@")[0]
                if kind == "frame" and lemma not in self.lemmas and len(self.lemmas) >= LEMMAS:
                    continue
                if kind == "frame":
                    self.lemmas.add(lemma)
                self.clicked[kind] += 1
                return ref
        return None

    def run(self) -> None:
        self.add(sections(self.info, self.folds, ViewState(), memo=self.memo))
        views = [ViewState(map=MapView(mode)) for mode in MAP_MODES]
        views += [ViewState(tuning=TuningView(mode)) for mode in TUNING_MODES]
        for view in views:
            context = Context.of(self.info, self.folds, view, self.memo)
            self.add((PANELS["map"](context), PANELS["tuning"](context)))
        while (ref := self.next()) is not None:
            self.click(ref)

    def click(self, ref: str) -> None:
        view = select(ViewState(), ref, self.folds.events)
        context = Context.of(self.info, self.folds, view, self.memo)
        found = inspect(ref, context)
        if found is None or found.ref != ref:
            self.wrong.append(f"{ref} opens {found.ref if found else 'nothing'}")
            return
        self.add(found)
        if owner := subject_of(ref, self.folds.events):
            panels = {name: PANELS[name](context) for name in BY_SUBJECT}
            self.add(panels)
            if panels["eclasses"].frame_ref and len(self.paths) < PATHS:
                self.paths.append(ref)
                shown = replace(context, view=replace(view, egraph=EGraphView(path=True, step=1)))
                panels["eclasses"] = PANELS["eclasses"](shown)
                self.add(panels["eclasses"])
            self.wrong += list(not_of(ref, owner, panels, context))


def not_of(ref: str, owner: str, panels: Mapping[str, Any], context: Context) -> Iterator[str]:
    """The panels that show another family than the one that contains an id."""
    own = {owner, *context.events.candidates_of(owner)}
    graph, eclasses, code = (panels[name] for name in BY_SUBJECT)
    if graph.subject != owner:
        yield f"{ref}: the graph is that of {graph.subject}"
    if eclasses.subject not in own:
        yield f"{ref}: the e-classes are those of {eclasses.subject}"
    others = {r for r in references(eclasses) if owner_of(r) not in own}
    if others:
        yield f"{ref}: the e-classes open {others}"
    shown = code.title.split()[0]
    if context.events.candidate_of_trial.get(shown, shown) not in own:
        yield f"{ref}: the code is that of {code.title}"


def recorded(name: str, with_questions: bool) -> tuple[SearchInfo, Folds]:
    journal = Journal.load(SAVED / f"{name}.prism")
    session = RecordedSession(journal, Record(journal))
    return search_info(session, with_questions), Folds(journal.entries)


def made_up() -> tuple[SearchInfo, Folds]:
    questions = QuestionList(QUESTIONS, frozenset({"audit", "what_if", "certify", "replay"}))
    events = (*story()[:-1], PRUNED, *saturation(2), Steered("prefer", "matmul", "sess.prefer('matmul')"), story()[-1])
    return SearchInfo(program(), "cpu", "b=8", "finished", "", questions), Folds(FakeSession(events).journal.entries)


SEARCHES = {
    "made up": made_up,
    **{name: (lambda name=name: recorded(name, True)) for name in RECORDED},
    **{f"report of {name}": (lambda name=name: recorded(name, False)) for name in RECORDED[:1]},
}


@pytest.fixture(scope="module", params=list(SEARCHES))
def clicker(request: pytest.FixtureRequest) -> Clicker:
    clicker = Clicker(*SEARCHES[request.param]())
    clicker.run()
    return clicker


def test_every_reference_lands_on_itself_and_all_panels_show_its_family(clicker: Clicker) -> None:
    assert clicker.wrong == []


def test_references_of_every_kind_were_clicked(clicker: Clicker) -> None:
    kinds = {"node", "region", "family", "candidate", "trial", "e-class", "frame", "tensor"}

    assert kinds | {"tensor of the program in a proof"} <= set(clicker.clicked)
    assert not [kind for kind in clicker.clicked if kind.startswith("unknown")]
    assert clicker.paths


def test_the_results_have_an_e_graph_that_says_why_it_has_one_frame() -> None:
    info, folds = recorded("rmsnorm_linear", True)
    best = folds.ledger.value().best
    assert best is not None
    ref = f"{best.candidate}/goal@0"
    found = inspect(ref, Context.of(info, folds, select(ViewState(), ref, folds.events), Memo()))

    assert found is not None and frame_ref(found.ref) is not None
    assert "the only frame" == found.status
    assert "Both sides have the same normal form" in " ".join(found.description)
