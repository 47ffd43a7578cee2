"""The panels: from what a journal adds up to, to what each section of the explorer shows.

Every count comes from one fold (`events.ledger`), so that panels, tables and the command line agree.
Nothing here talks to a browser or a session's thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import get_args

from prism_explore.diagnose.evidence import SAYS
from prism_explore.diagnose.jobs import Asked
from prism_explore.events.claim import claim
from prism_explore.events.format import seconds_text, verdict_text
from prism_explore.events.journal import Entry
from prism_explore.events.kinds import FloatsAssessed
from prism_explore.events.ledger import Fold, Ledger, Trial, family_of
from prism_explore.events.phases import PHASES
from prism_explore.generate.pruning.rules import RULES
from prism_explore.ir.graph import SGraph
from prism_explore.ir.ops import Custom, Input, Node, op_name
from prism_explore.ir.program import TensorProgram
from prism_explore.pipeline.search_space import RULE_NAMES, Space
from prism_explore.support.caches import memoize
from prism_explore.targets import GPUS
from prism_explore.verify.normal_form.equalities import Equalities, equalities
from prism_explore.widgets.jupyter.live import COMMANDS, Ability, SessionLike, State
from prism_explore.widgets.panels.answers import STANDING_KIND, Desk, short_answer
from prism_explore.widgets.panels.facts import Facts, numbers_text
from prism_explore.widgets.panels.inspector import (
    NO_DESK,
    SOUNDNESS,
    STATUS_KIND,
    action,
    best_candidate,
    graph_of,
    inspect,
    subject_of,
)
from prism_explore.widgets.panels.sections import (
    Cell,
    Code,
    Column,
    CommandHelp,
    Counter,
    EClasses,
    GraphSection,
    Incumbent,
    LedgerSection,
    Limit,
    Link,
    MapSection,
    Phase,
    QuestionsSection,
    Row,
    Script,
    Sections,
    Table,
    Transport,
    Tuning,
    View,
    WhatIfForm,
)
from prism_explore.widgets.panels.tables import standing
from prism_explore.widgets.scene import Scene
from prism_explore.widgets.views.egraph import egraph_scene
from prism_explore.widgets.views.egraph_frames import frame_ref, frame_scene, growth_of
from prism_explore.widgets.views.graph import program_scene, sgraph_scene
from prism_explore.widgets.views.search_map import SearchTree, reasons_scene, search_scene
from prism_explore.widgets.views.tuning import tuning_scene

PHASE_SAYS: Mapping[str, str] = {
    "generate": "Grow partial sGraphs operator by operator; cut what cannot win.",
    "instantiate": "Choose how each axis is cut: imap, omap, fmap.",
    "verify": "Prove a candidate equal to the program, refute it, or say unknown.",
    "tune": "Choose numbers for what was proved, and measure.",
}


@dataclass(slots=True)
class Book:
    """All folds of one journal, kept up to date entry by entry."""

    fold: Fold
    facts: Facts
    tree: SearchTree

    @classmethod
    def empty(cls) -> Book:
        """Before the first fact."""
        return cls(Fold(), Facts(), SearchTree())

    def add(self, entry: Entry) -> None:
        """Take one entry."""
        self.fold.add(entry.event)
        self.facts.add(entry)
        self.tree.add(entry.event)


@dataclass(frozen=True, slots=True)
class Look:
    """What the reader chose to see; it changes no search."""

    selection: str = ""
    subject: str = ""
    """The family or candidate that was chosen last; empty to follow the search."""
    collapsed: bool = False
    """Whether custom kernels are drawn as one box."""
    root: str = ""
    """The node that the search map is zoomed into."""
    map_px: int = 420
    """Width of the search map."""
    dock_px: int = 560
    """Width of a picture in the dock."""
    dock_high_px: int = 260
    """Its height, where a picture can choose it."""
    cursor: int = 0
    """How many facts are looked at, for a moment of the past; 0 for now."""


@dataclass(frozen=True, slots=True)
class Search:
    """What is known of a search besides its journal."""

    program: TensorProgram
    where: str
    """The machine and the sizes."""
    state: State
    failure: str = ""
    """What the engine raised."""
    desk: Desk = NO_DESK
    """What was asked beside it."""
    space: Space | None = None
    """What is searched; None where only its words are known."""
    target: str = ""
    count: int = 0
    """Facts so far, of which a look at the past takes fewer."""


def search_of(session: SessionLike, asking: bool = True) -> Search:
    """What is known of a session's search besides its journal; `asking` if questions can be asked."""
    at = ", ".join(f"{k}={v}" for k, v in session.task.shapes.items())
    where = f"on {session.task.target.name}" + (f" at {at}" if at else "")
    space = session.task.space if asking else None
    able: tuple[Ability, ...] = () if not asking else ("certify", "replay") if space is None else get_args(Asked)
    desk = Desk(tuple(session.questions.values()), frozenset(able))
    target, count = session.task.target.name, len(session.journal)
    return Search(session.program, where, session.state, session.failure, desk, space, target, count)


def sections(search: Search, book: Book, look: Look, lines: tuple[str, ...] = ()) -> Sections:
    """The whole picture.

    Args:
        search: what is searched.
        book: what happened.
        look: what the reader chose to see.
        lines: what was clicked, as Python.
    """
    ledger, facts = book.fold.value(), book.facts
    subject = look.subject if facts.knows(look.subject) else _leading(ledger, facts)
    candidate = best_candidate(subject, facts, ledger) if subject in facts.families else subject
    return Sections(
        commands={c.name: CommandHelp(c.says, f"{c.python}({'…' if c.parameters else ''})") for c in COMMANDS},
        transport=_transport(search, ledger, facts, look.cursor),
        view=View(look.selection),
        map=_map(ledger, book.tree, look),
        graph=_graph(search.program, subject, facts, ledger, look),
        inspector=inspect(look.selection, search.program, facts, ledger, search.desk),
        families=_families(ledger, facts),
        eclasses=_eclasses(candidate, search.program, facts, look),
        tuning=_tuning(ledger, look),
        ledger=_ledger(ledger, facts),
        questions=_questions(search),
        code=_code(look.selection, candidate, ledger, facts),
        script=Script(lines),
        trouble=f"The search failed: {search.failure}" if search.failure else None,
    )


def _leading(ledger: Ledger, facts: Facts) -> str:
    """What to show while nobody chose: the best, else the last one proved, else the last family."""
    if ledger.best is not None:
        return ledger.best.candidate
    proved = [c for c, v in facts.verdicts.items() if v.verdict == "proved"]
    return next(iter((*reversed(proved), *reversed(facts.families))), "")


# ---------------------------------------------------------------- transport
def _transport(search: Search, ledger: Ledger, facts: Facts, cursor: int) -> Transport:
    n = ledger.funnel
    counters = (
        Counter("proved", "proved", f"{n.proved:,}", SAYS["proved"]),
        Counter("unknown", "unknown", f"{n.unknown:,}", SAYS["unknown"]),
        Counter("refuted", "refuted", f"{n.refuted:,}", "Candidates shown to be different from the program."),
        Counter("pruned-sound", "pruned", f"{n.pruned:,}", "Regions of the search that a rule cut; the map says why."),
    )
    last = facts.log[-1].text if facts.log else "Nothing has been searched yet. Press . for a first step."
    if search.state == "finished" and not cursor:
        last = claim(ledger)
    total = max(search.count, facts.count)
    past = (
        f"You look back at fact {facts.count:,} of {total:,}: {last}. The search itself is where it was."
        if cursor
        else ""
    )
    return Transport(
        search.program.name,
        search.where,
        search.state,
        total,
        cursor,
        past,
        tuple(Phase(p, p == facts.phase and (search.state != "finished" or cursor > 0), PHASE_SAYS[p]) for p in PHASES),
        counters,
        _incumbent(ledger),
        () if cursor else _can(search.state, ledger),
        last,
    )


def _incumbent(ledger: Ledger) -> Incumbent | None:
    best = ledger.best
    if (held := ledger.unbeaten) and ledger.finished and held.by:
        facts = (f"{held.by}, measured first", f"nothing is below it: {held.nearest} at {held.floor} (modelled)")
        return Incumbent(held.nearest, held.time, facts)
    if best is None or best.time_s is None:
        return None
    facts = ["measured"]
    if by := ledger.outrun:
        facts.append(f"{by.by.name} was faster: best runs it")
    rivals = {b.name: b for b in ledger.baselines if b.samples}
    if "roofline" in rivals:
        facts.append(f"{rivals['roofline'].ratio:.0%} of roofline (measured)")
    elif best.floor_s:
        facts.append(f"{best.floor_s / best.time_s:.0%} of roofline (modelled)")
    facts += [
        f"{rival.ratio:.2g}× {name}" for name, rival in rivals.items() if rival.ratio and name.startswith("torch")
    ]
    return Incumbent(best.trial, seconds_text(ledger.best_s or best.time_s), tuple(facts[:4]))


def _can(state: State, ledger: Ledger) -> tuple[str, ...]:
    match state:
        case "ready":
            can = ["step", "start", "cancel"]
        case "paused":
            can = ["step", "resume", "cancel"]
        case "running":
            can = ["pause", "cancel"]
        case "finished" | "cancelled" | "failed":
            can = []
    can += ["undo"] if ledger.steering.standing else []
    can += ["redo"] if ledger.steering.undone else []
    return tuple(can)


# ---------------------------------------------------------------- map and graph
def _map(ledger: Ledger, tree: SearchTree, look: Look) -> MapSection:
    n = ledger.funnel
    cut = "region" if n.pruned == 1 else "regions"
    within = f", zoomed into {look.root}" if look.root in tree.nodes else ""
    summary = f"{n.expanded:,} expanded, {n.pruned:,} {cut} cut{within}"
    scene = search_scene(tree, ledger, float(look.map_px), look.root)
    return MapSection(summary, scene, reasons_scene(ledger, float(look.map_px)))


@memoize(32)
def _graph_scene(graph: SGraph, subject: str, collapsed: bool) -> Scene:
    """Kept, because placing boxes takes longer than all the rest of a picture."""
    customs = [position for position, _ in graph.customs]
    return sgraph_scene(graph, subject, subject, customs if collapsed else ())


def _graph(program: TensorProgram, subject: str, facts: Facts, ledger: Ledger, look: Look) -> GraphSection:
    graph = graph_of(subject, facts)
    if graph is None:
        return GraphSection("program", "the program", (), None, program_scene(program))
    customs = [position for position, _ in graph.customs]
    scene = _graph_scene(graph, subject, look.collapsed)
    family = family_of(subject)
    others = (Link(family, f"{family}, open maps"), *(Link(c, c) for c in facts.candidates_of(family)))
    if subject in facts.families:
        says = f"{subject}: maps still open"
    else:
        verdict = facts.verdicts.get(subject)
        says = f"{subject}: {verdict.verdict if verdict else 'no verdict yet'}"
    if ledger.best is not None and ledger.best.candidate == subject:
        says += ", the best so far"
    return GraphSection(subject, says, others, (not look.collapsed) if customs else None, scene)


# ---------------------------------------------------------------- families
_FAMILY_COLUMNS = (
    Column("family", "family"),
    Column("status", "status"),
    Column("choice", "you"),
    Column("candidates", "candidates", "right", tip="how many are proved / unknown / refuted, and how many there are"),
    Column("floor", "roofline (modelled)", "right", tip="the least time that the machine allows, by a model"),
    Column("time", "best time (measured)", "right"),
    Column(
        "error", "error", "right", tip="largest deviation from the float64 reference, relative to its largest value"
    ),
    Column("verdict", "verdict", wide=True),
)


def _families(ledger: Ledger, facts: Facts) -> Table:
    rows: list[Row] = []
    for f in ledger.families:
        lead = best_candidate(f.family, facts, ledger)
        verdict = facts.verdicts.get(lead)
        mine = [t for t in ledger.trials if t.family == f.family and t.time_s is not None]
        best = min(mine, key=lambda t: t.time_s or 0.0, default=None)
        cells: tuple[str | Cell, ...] = (
            Cell(f.family, float(f.family[1:]), "badge-best" if f.is_best else ""),
            Cell(standing(f), kind=STATUS_KIND[f.status], tip=_floats_tip(facts.floats.get(f.family))),
            Cell(f.choice or "–", kind="pruned-user" if f.choice == "rejected" else ""),
            Cell(f"{f.proved} / {f.unknown} / {f.refuted} of {f.candidates}", f.proved),
            _seconds(f.floor_s),
            _seconds(f.best_s),
            Cell("–") if best is None or best.error is None else Cell(f"{best.error:.1e}", best.error),
            Cell(verdict.detail if verdict else "–", tip=verdict.detail if verdict else ""),
        )
        rows.append(Row(f.family, cells, "rejected" if f.choice == "rejected" else ""))
    return Table(_FAMILY_COLUMNS, tuple(rows), "No family is complete yet: press . to step, or Space to run.")


def _floats_tip(found: FloatsAssessed | None) -> str:
    return "" if found is None else f"In floating point: {found.detail}."


def _seconds(value: float | None) -> Cell:
    return Cell("–") if value is None else Cell(seconds_text(value), value)


# ---------------------------------------------------------------- e-classes
_LEMMA_COLUMNS = (
    Column("tensor", "tensor", mono=True),
    Column("operation", "operation", mono=True),
    Column("value", "equals", mono=True),
    Column("axioms", "by axioms"),
    Column("replayed", "egglog"),
)


def labels_of(program: TensorProgram, graph: SGraph | None) -> dict[str, str]:
    """What each tensor of program and candidate is made by, by the name that the prover's classes use."""
    labels = {f"program.%{i}": _made_by(node) for i, node in enumerate(program.graph.nodes)}
    for i, node in enumerate(graph.nodes if graph else ()):
        labels[f"k{i}"] = _made_by(node)
        if isinstance(node.op, Custom):
            labels |= {f"k{i}.b{j}": _made_by(inner) for j, inner in enumerate(node.op.block.nodes)}
    return labels


def _made_by(node: Node) -> str:
    return node.op.name if isinstance(node.op, Input) else op_name(node.op)


@memoize(32)
def _equalities(program: TensorProgram, graph: SGraph) -> Equalities:
    """Kept, because a verdict that is no proof comes without classes, and a picture is drawn many times."""
    return equalities(program, graph)


def _eclasses(candidate: str, program: TensorProgram, facts: Facts, look: Look) -> EClasses:
    verdict = facts.verdicts.get(candidate)
    nothing = "No lemma yet: the certificate is made for the best candidate at the end of the search."
    rows: list[Row] = []
    if certificate := facts.certificates.get(candidate):
        for tensor, operation, value, axioms, replayed, note in certificate.lemmas:
            how = Cell("replayed", kind="proved") if replayed else Cell(f"not replayed: {note}", kind="unknown")
            rows.append(
                Row(f"{candidate}/{tensor}", (tensor, operation, value, ", ".join(axioms) or "definition", how))
            )
    lemmas = Table(_LEMMA_COLUMNS, tuple(rows), nothing)
    frame = frame_ref(look.selection)
    if frame is not None and frame.candidate == candidate and (growth := growth_of(frame, program, facts)) is not None:
        picture = frame_scene(frame, growth, float(look.dock_px))
        return EClasses(candidate, picture.title, picture, lemmas)
    if verdict is None:
        return EClasses(candidate, "", None, lemmas)
    graph = graph_of(candidate, facts)
    parting = ""
    if not verdict.classes and graph is not None:
        found = _equalities(program, graph)
        verdict = replace(verdict, classes=tuple((c.id, c.term, c.members) for c in found.classes))
        parting = f"; {found.disagreement}" if found.disagreement is not None else ""
    count = len(verdict.classes)
    says = f"{candidate}: {count} {'class' if count == 1 else 'classes'}, {verdict_text(verdict)}{parting}"
    scene = egraph_scene(verdict, float(look.dock_px), labels_of(program, graph)) if count else None
    return EClasses(candidate, says, scene, lemmas)


# ---------------------------------------------------------------- questions
_QUESTION_COLUMNS = (
    Column("question", "question"),
    Column("state", "state"),
    Column("python", "in Python", mono=True),
    Column("answer", "answer", wide=True),
)
_FORM_LIMITS: Mapping[str, str] = {
    "block_ops": "block operators",
    "block_inputs": "block inputs",
    "accumulators": "accumulators",
    "custom_kernels": "custom kernels",
    "predefined_kernels": "library calls",
    "grid_dims": "grid dims",
    "nodes": "node budget",
}
"""Limits of the space that the form offers; Python takes every one."""


def _questions(search: Search) -> QuestionsSection:
    asked = search.desk.questions
    rows = tuple(
        Row(
            q.id,
            (
                Cell(q.id, float(q.id[1:])),
                Cell(q.state, kind=STANDING_KIND[q.state]),
                q.python,
                Cell(short_answer(q), tip=short_answer(q)),
            ),
        )
        for q in reversed(asked)
    )
    space, open_ones = search.space, tuple(q.id for q in asked if q.is_open)
    nothing = "Nothing has been asked yet. A region that was cut can be audited where it is selected."
    form = None
    if space is not None:
        limits = tuple(Limit(name, label, getattr(space, name)) for name, label in _FORM_LIMITS.items())
        rules = tuple((rule, RULES[rule].says) for rule in RULE_NAMES if space.active(rule))
        form = WhatIfForm(tuple(GPUS), search.target, limits, rules)
    elif not search.desk.can:
        nothing = "A report answers what is in it. To ask more, open the saved search in a notebook."
    else:
        nothing = "Of a saved search, a proof can be certified and a witness run again, where one is selected."
    says = f"{len(open_ones)} open" if open_ones else ""
    return QuestionsSection(says, Table(_QUESTION_COLUMNS, rows, nothing), form, open_ones)


# ---------------------------------------------------------------- tuning and code
_TRIAL_COLUMNS = (
    Column("trial", "trial"),
    Column("numbers", "numbers", mono=True, wide=True),
    Column("time", "time (measured)", "right"),
    Column("model", "likely (modelled)", "right"),
    Column("spread", "p20 to p80", "right"),
    Column("error", "error", "right"),
    Column("outcome", "outcome"),
    Column("candidate", "candidate"),
)


def _tuning(ledger: Ledger, look: Look) -> Tuning:
    best = ledger.best.trial if ledger.best else ""
    rows = tuple(_trial(t, t.trial == best) for t in ledger.trials)
    n = ledger.funnel
    says = f"{n.measured:,} measured, {n.failed:,} gave no kernel, {n.bounded:,} not timed because of their bound"
    scene = tuning_scene(ledger, float(look.dock_px), float(look.dock_high_px)) if rows else None
    return Tuning(says if rows else "", scene, Table(_TRIAL_COLUMNS, rows, "Nothing has been tuned yet."))


def _trial(t: Trial, is_best: bool) -> Row:
    spread = Cell("–")
    if t.p20_s is not None and t.p80_s is not None:
        spread = Cell(f"{seconds_text(t.p20_s)} to {seconds_text(t.p80_s)}", t.p80_s - t.p20_s)
    outcome = "best so far" if is_best else "measured" if t.time_s is not None else "proposed"
    return Row(
        t.trial,
        (
            Cell(t.trial, float(t.trial[1:]), "badge-best" if is_best else ""),
            numbers_text(t.parameters),
            _seconds(t.time_s),
            _seconds(t.modelled_s),
            spread,
            Cell("–") if t.error is None else Cell(f"{t.error:.1e}", t.error),
            Cell(t.failure.sentence, kind="trial-failed") if t.failure else outcome,
            t.candidate,
        ),
    )


def _code(selection: str, candidate: str, ledger: Ledger, facts: Facts) -> Code:
    """The source of the selected trial, else of the candidate's best, else of the best of all."""
    trial = selection if selection in facts.sources else ""
    if not trial:
        made = [t for t, e in facts.sources.items() if e.candidate == candidate]
        timed = [t for t in ledger.trials if t.trial in made and t.time_s is not None]
        trial = min(timed, key=lambda t: t.time_s or 0.0).trial if timed else next(iter(reversed(made)), "")
    if not trial and ledger.best is not None and ledger.best.trial in facts.sources:
        trial = ledger.best.trial
    if not trial:
        return Code("", "", "")
    event = facts.sources[trial]
    known = next((t for t in ledger.trials if t.trial == trial), None)
    says = f"{event.backend}, {numbers_text(known.parameters)}" if known else event.backend
    if known is not None and known.time_s is not None:
        says += f", {seconds_text(known.time_s)} measured"
    return Code(f"{trial} of {event.candidate}", says, event.source)


# ---------------------------------------------------------------- ledger
_SOUNDNESS_COLUMNS = (
    Column("class", "cuts"),
    Column("count", "count", "right"),
    Column("says", "what that means", wide=True),
)
_REASON_COLUMNS = (
    Column("code", "reason"),
    Column("rule", "rule"),
    Column("soundness", "class"),
    Column("count", "cuts", "right"),
    Column("stood", "stood for", "right", tip="programs, mostly an estimate"),
)
_STEERING_COLUMNS = (
    Column("action", "action"),
    Column("subject", "on"),
    Column("python", "in Python", mono=True),
    Column("note", "note"),
)
_LOG_COLUMNS = (Column("seq", "#", "right"), Column("at", "at", "right"), Column("text", "fact", wide=True))


def _ledger(ledger: Ledger, facts: Facts) -> LedgerSection:
    counts = ledger.by_soundness()
    n = ledger.funnel
    soundness = tuple(
        Row("", (Cell(word, kind=f"pruned-{word}"), Cell(f"{counts.get(word, 0):,}", counts.get(word, 0)), says))
        for word, says in SOUNDNESS.items()
    )
    unknown = Row("", (Cell("unknown", kind="unknown"), Cell(f"{n.unknown:,}", n.unknown), SAYS["unknown"]))
    reasons = tuple(
        Row(
            c.example,
            (
                Cell(c.code, kind=f"pruned-{c.soundness}", tip=c.sentence),
                c.rule,
                c.soundness,
                Cell(f"{c.count:,} {'' if c.what == 'region' else c.things}".strip(), c.count),
                Cell(f"{c.stood_for:,.0f}", c.stood_for),
            ),
        )
        for c in ledger.cuts
    )
    steps = [(s, "") for s in ledger.steering.standing] + [(s, "undone") for s in reversed(ledger.steering.undone)]
    steering = tuple(
        Row(s.subject, (s.action, s.subject, s.python, s.note or "–"), "undone" if word else "") for s, word in steps
    )
    log = tuple(
        Row(line.ref, (Cell(str(line.seq), line.seq), f"{line.at_s:.2f} s", Cell(line.text, kind=line.kind)))
        for line in reversed(facts.log)
    )
    left_out = facts.count - len(facts.log)
    return LedgerSection(
        claim(ledger),
        Table(_SOUNDNESS_COLUMNS, (*soundness, unknown), ""),
        Table(_REASON_COLUMNS, reasons, "Nothing has been cut yet."),
        Table(_STEERING_COLUMNS, steering, "You have decided nothing yet: accept or reject a family."),
        Table(
            _LOG_COLUMNS,
            log,
            "Nothing has happened yet.",
            f"{left_out:,} earlier facts are not listed; sess.journal has all {facts.count:,}." if left_out else "",
        ),
        action("Undo", "undo", {}, bool(ledger.steering.standing)),
        action("Redo", "redo", {}, bool(ledger.steering.undone)),
    )


def subject_after(look: Look, ref: str, facts: Facts) -> str:
    """The subject once `ref` is selected: what it lies in, or what was there before."""
    return subject_of(ref, facts) or look.subject
