"""The e-graphs of the winner's lemmas in a report, frame by frame, as far as the limit allows."""

from __future__ import annotations

from dataclasses import dataclass, replace

from prism_explore.widgets.panels.context import Context, Folds, graph_of
from prism_explore.widgets.panels.inspector import inspect
from prism_explore.widgets.panels.panels import PANELS
from prism_explore.widgets.refs import FrameRef, frame_ref
from prism_explore.widgets.report_data.moments import Recorder
from prism_explore.widgets.scene import Item, Scene


@dataclass(frozen=True, slots=True)
class FrameCount:
    """How many frames are in the page."""

    candidate: str = ""
    frames: int = 0
    lemmas: int = 0
    """The number of lemmas with frames."""
    all_lemmas: int = 0


def record_frames(recorder: Recorder, candidate: str, folds: Folds, limit: int) -> FrameCount:
    """Record the frames as `inspector/<ref>` and `frame/<ref>`, from the verdict of the candidate on.

    Args:
        recorder: of the report.
        candidate: the winner; other candidates are left out, because each lemma runs egglog for up to a second.
        folds: all events.
        limit: the largest number of frames.
    """
    graph = graph_of(candidate, folds.events)
    versions = recorder.versions.of.get(f"inspector/{candidate}")
    if graph is None or versions is None:
        return FrameCount()
    moment, _ = versions[0]
    program, memo = recorder.search.program, recorder.memo
    tensors = memo.equalities(program, graph).tensors
    stored = lemmas = 0
    for tensor in tensors:
        growth = memo.growth(program, graph, tensor)
        frames = len(growth.frames) if growth is not None else 0
        if not frames or stored + frames > limit:
            continue
        lemmas += 1
        stored += frames
        for number in range(frames):
            _record_frame(recorder, FrameRef(candidate, tensor, number).id_of(number), moment, folds)
    return FrameCount(candidate, stored, lemmas, len(tensors))


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
