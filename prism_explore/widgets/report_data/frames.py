"""The e-graphs of the winner's lemmas in a report, frame by frame, as far as the limit allows."""

from __future__ import annotations

from dataclasses import dataclass, replace

from prism_explore.widgets.panels.context import Context, Folds, graph_of
from prism_explore.widgets.panels.inspector import inspect
from prism_explore.widgets.panels.panels import PANELS
from prism_explore.widgets.refs import FrameRef
from prism_explore.widgets.report_data.moments import Recorder


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


def _record_frame(recorder: Recorder, ref: str, moment: int, folds: Folds) -> None:
    owner = ref.partition("/")[0]
    view = replace(recorder.view, selection=ref, subject=owner)
    context = Context.of(recorder.search, folds, view, recorder.memo)
    panel = PANELS["eclasses"](context)
    recorder.versions.record(f"frame/{ref}", moment, replace(panel, lemmas=replace(panel.lemmas, rows=())))
    recorder.versions.record(f"inspector/{ref}", moment, inspect(ref, context))
