"""A session without a search, and the panels of a made-up search, which the browser tests draw.

python -m tests.widgets.fakes > widgets/test/recorded.json
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from prism_explore.diagnose.compare_runs import compare_runs
from prism_explore.diagnose.jobs import Question, Questions
from prism_explore.errors import ShapeError
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import Event, NodeExpanded, Reason, RegionPruned
from prism_explore.ir.program import ProgramBuilder, TensorProgram
from prism_explore.pipeline.search_space import Space, default_space
from prism_explore.support.listeners import Listeners
from prism_explore.targets import GPUS
from prism_explore.widgets.jupyter.live import InterruptedLike, State
from prism_explore.widgets.panels.compare import ComparedSearches, CompareView
from prism_explore.widgets.panels.context import Folds, QuestionList, SearchInfo, ViewState
from prism_explore.widgets.panels.panels import sections
from prism_explore.widgets.panels.sections import CompareSection, LineageSection, SearchLink, Sections, to_data
from prism_explore.widgets.report import report_data
from tests.widgets.recordings import story


def program() -> TensorProgram:
    """RMSNorm, then a linear layer."""
    b = ProgramBuilder("rmsnorm_linear")
    x, w = b.input("x", "b", 4096), b.input("w", 4096, 4096)
    norm = b.binary("div", x, b.reduce("rms", x, 1))
    return b.build(b.matmul(norm, w))


@dataclass(frozen=True)
class FakeTarget:
    name: str = "cpu"


@dataclass(frozen=True)
class FakeTask:
    target: FakeTarget = FakeTarget()
    shapes: Mapping[str, int] = field(default_factory=lambda: {"b": 8})
    space: Space | None = field(default_factory=lambda: default_space(program()))


class FakeSession:
    """Records the commands; a test adds the events."""

    def __init__(self, events: Iterable[Event] = (), state: State = "ready") -> None:
        self.program = program()
        self.task = FakeTask()
        self.journal = Journal(clock=lambda: 0.0)
        self.state: State = state
        self.failure = ""
        self.interrupted: InterruptedLike | None = None
        self.selection: str | None = None
        self.questions = Questions(lambda: None)
        self.submitted: list[tuple[str, dict[str, Any]]] = []
        self.listeners = Listeners()
        for event in events:
            self.journal.append(event)

    def submit(self, command: str, **args: Any) -> None:
        if command in ("accept", "reject") and not args["id"].startswith("f"):
            raise ShapeError(f"no family {args['id']!r} to {command}")
        self.submitted.append((command, args))
        if command == "select":
            self.selection = args["id"]

    def on(self, what: str, fn: Callable[[Any], None]) -> Callable[[], None]:
        return self.listeners.add(what, fn)

    def __repr__(self) -> str:
        return f"<search of {self.program.name}: {self.state}>"


PRUNED = RegionPruned(
    "p15",
    "n3",
    "matmul(%0, %1)",
    "block",
    Reason(
        "mem.smem",
        "generate",
        "sound",
        "shared memory",
        "the block's tiles need more shared memory than the target has, for every size",
        "4*(bm*bk + bk*bn) <= limit",
        {"bm": "128", "bk": "256", "bn": "128", "limit": "232448"},
        "the target had at least 262144 bytes of shared memory",
    ),
    48.0,
)
"""A pruned region whose reason has every field."""


QUESTIONS = (
    Question("q1", "audit", "p99", "sess.audit('p99')", "failed", None, "nothing to audit by the name 'p99'"),
    Question("q2", "audit", "p15", "sess.audit('p15')", "running"),
)


def click(name: str, **args: Any) -> dict[str, Any]:
    """A command as the browser sends it."""
    return {"kind": "command", "event_id": "v-1", "name": name, "args": args}


def compared() -> CompareSection:
    """The made-up search next to one that expands what it pruned, and that lacks its last family."""
    changed = [
        e for e in story() if getattr(e, "family", "") != "f3" and not getattr(e, "candidate", "").startswith("f3")
    ]
    place = next(n for n, e in enumerate(changed) if isinstance(e, RegionPruned) and e.region == "p3")
    pruned = changed[place]
    assert isinstance(pruned, RegionPruned)
    changed[place] = NodeExpanded("n9", pruned.parent, pruned.operator, "block", "exp(x)")
    found = compare_runs(FakeSession(story(), "finished"), FakeSession(changed, "finished"))
    searches = ComparedSearches(found)
    step = next(s for s in searches.tree.divergences if s.difference == "other fate")
    section = searches.section(CompareView(f"m{step.number}"))
    return replace(section, choices=(("s2", "rmsnorm_linear.1 (s2)"),), parent="s1")


LINEAGE = LineageSection(
    (
        SearchLink("s1", "rmsnorm_linear", "rmsnorm_linear: finished"),
        SearchLink("s2", "fork 1 at event 12", "rmsnorm_linear.1 was forked from rmsnorm_linear at event 12", True),
    ),
    (SearchLink("s3", "fork 1 with other settings", "rmsnorm_linear.1.1"),),
    7,
)


def picture(selection: str = "", state: State = "finished") -> Sections:
    """The panels of the made-up search."""
    journal = Journal(clock=lambda: 0.0)
    folds = Folds(journal.append(event) for event in (*story()[:-1], PRUNED, story()[-1]))
    subject = selection if selection.startswith("f") else ""
    view = ViewState(selection, subject)
    questions = QuestionList(QUESTIONS, frozenset({"audit", "what_if", "certify", "replay"}))
    search = SearchInfo(
        program(),
        "cpu",
        "b=8",
        state,
        "",
        questions,
        default_space(program()),
        shapes=(("b", 8),),
        machine=GPUS["a100"],
        compare=compared(),
        lineage=LINEAGE,
    )
    return sections(search, folds, view, ("sess.step()", "sess.reject('f2')"))


def recorded() -> str:
    """The file that the browser tests read."""
    shown = {f: to_data(getattr(picture("p15"), f)) for f in Sections.__dataclass_fields__}
    shown["report"] = report_data(FakeSession((*story()[:-1], PRUNED, story()[-1]), "finished"))[0]
    return json.dumps(shown, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(recorded())
