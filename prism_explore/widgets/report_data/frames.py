"""The e-graphs of lemmas in a report, frame by frame, as far as the limit allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from prism_explore.ir.graph import SGraph
from prism_explore.widgets.panels.context import Context, Folds, graph_of
from prism_explore.widgets.panels.inspector import inspect
from prism_explore.widgets.panels.panels import PANELS
from prism_explore.widgets.refs import GOAL, FrameRef, frame_ref
from prism_explore.widgets.report_data.moments import Recorder
from prism_explore.widgets.scene import Item, Scene
from prism_explore.widgets.views.egraph_view import EGraphView

GOAL_FRAMES = 60
"""Number of frames of candidates other than the winner after which no other candidate's are recorded."""
MOST_AHEAD = 24
"""Largest number of lemmas that are computed ahead; a memo keeps a few more."""


@dataclass(frozen=True, slots=True)
class FrameCount:
    """How many frames are in the page."""

    candidate: str = ""
    """The winner."""
    frames: int = 0
    """Number of its frames."""
    lemmas: int = 0
    """Number of its lemmas with frames."""
    all_lemmas: int = 0
    goals: int = 0
    """Number of the other candidates whose last lemma has frames."""


def grow_lemmas(recorder: Recorder, graph: SGraph, limit: int) -> None:
    """Compute the e-graphs of a candidate's first lemmas; on another thread this takes none of the time of the report.

    egglog runs in a process of its own, whose start and runs are waited for.
    """
    program, frames = recorder.search.program, 0
    for tensor in recorder.memo.equalities(program, graph).tensors[:MOST_AHEAD]:
        if frames >= limit:
            break
        growth = recorder.memo.growth(program, graph, tensor)
        frames += len(growth.frames) if growth is not None else 0


def record_frames(recorder: Recorder, candidates: Sequence[str], folds: Folds, limit: int) -> FrameCount:
    """Record the frames as `inspector/<ref>` and `frame/<ref>`, from the verdict of the candidate on.

    Args:
        recorder: of the report.
        candidates: the winner, of which all lemmas are recorded; and others, of which the lemma of the results is,
            because each lemma runs egglog. After a proof by normal form both sides of it are one term, and it is not.
        folds: all events.
        limit: the number of frames of the winner after which no other lemma of it is recorded.
    """
    graphs = {c: graph for c in candidates if (graph := graph_of(c, folds.events)) is not None}
    if not candidates or candidates[0] not in graphs:
        return FrameCount()
    winner, *others = candidates
    tensors = recorder.memo.equalities(recorder.search.program, graphs[winner]).tensors
    _record_path(recorder, winner, folds)
    own = _record_lemmas(recorder, [(winner, tensor) for tensor in tensors], folds, limit)
    verdicts = folds.events.verdicts
    by_form = {c for c in others if c in verdicts and verdicts[c].method == "normal form"}
    goals = [(c, GOAL) for c in others if c in graphs and c not in by_form]
    goals = _record_lemmas(recorder, goals, folds, GOAL_FRAMES)
    return FrameCount(winner, sum(own), len(own), len(tensors), len(goals))


def _record_path(recorder: Recorder, candidate: str, folds: Folds) -> None:
    """Record the path to the result as `path/<candidate>`; a page has no path between two other terms."""
    versions = recorder.versions.of.get(f"inspector/{candidate}")
    if versions is None:
        return
    view = replace(recorder.view, selection=candidate, subject=candidate, egraph=EGraphView(path=True))
    panel = PANELS["eclasses"](Context.of(recorder.search, folds, view, recorder.memo))
    if panel.path is not None and panel.path.steps:
        panel = replace(panel, path=replace(panel.path, tensors=()), lemmas=replace(panel.lemmas, rows=()))
        recorder.versions.record(f"path/{candidate}", versions[0][0], panel)


def _record_lemmas(recorder: Recorder, lemmas: Sequence[tuple[str, str]], folds: Folds, limit: int) -> Sequence[int]:
    """Record all frames of lemma after lemma, until there are so many as the limit; return their numbers."""
    counts: list[int] = []
    for candidate, tensor in lemmas:
        if sum(counts) >= limit:
            break
        versions, graph = recorder.versions.of.get(f"inspector/{candidate}"), graph_of(candidate, folds.events)
        if versions is None or graph is None:
            continue
        growth = recorder.memo.growth(recorder.search.program, graph, tensor)
        count = len(growth.frames) if growth is not None else 0
        if not count:
            continue
        counts.append(count)
        for number in range(count):
            _record_frame(recorder, FrameRef(candidate, tensor, number).id_of(number), versions[0][0], folds)
    return counts


def without_class_refs(scene: Scene) -> Scene:
    """A frame whose classes cannot be selected: a page has no inspector of each class in each frame."""

    def plain(item: Item) -> Item:
        found = frame_ref(item.ref)
        return replace(item, ref="") if found is not None and found.eclass else item

    return replace(scene, items=tuple(map(plain, scene.items)))


def _record_frame(recorder: Recorder, ref: str, moment: int, folds: Folds) -> None:
    owner = ref.partition("/")[0]
    view = replace(recorder.view, selection=ref, subject=owner)
    context = Context.of(recorder.search, folds, view, recorder.memo)
    panel = PANELS["eclasses"](context)
    scene = panel.scene and without_class_refs(panel.scene)
    panel = replace(panel, scene=scene, lemmas=replace(panel.lemmas, rows=()))
    recorder.versions.record(f"frame/{ref}", moment, panel)
    recorder.versions.record(f"inspector/{ref}", moment, inspect(ref, context))
    # An input of the program is in a proof as a frame shows it, even if it is in no class.
    for part in sorted(scene.refs if scene else ()):
        if f"inspector/{part}" not in recorder.versions.of:
            recorder.versions.record(f"inspector/{part}", moment, inspect(part, context))
