"""Pictures of a journal by name, for pages without a widget: `sess.svg("search")`, `record.svg("f1.c2")`."""

from __future__ import annotations

from collections.abc import Iterable

from prism_explore.errors import ShapeError
from prism_explore.events.journal import Entry
from prism_explore.events.kinds import CandidateInstantiated, Event
from prism_explore.events.ledger import Ledger, ledger
from prism_explore.ir.graph import SGraph
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.text import parse, parse_program
from prism_explore.verify.normal_form.equalities import equalities
from prism_explore.widgets.drawing.charts import empty_scene
from prism_explore.widgets.drawing.svg import to_svg
from prism_explore.widgets.refs import frame_ref
from prism_explore.widgets.scene import Scene
from prism_explore.widgets.views.egraph import egraph_scene
from prism_explore.widgets.views.egraph_frames import frame_scene, lemma_growth
from prism_explore.widgets.views.graph import program_scene, sgraph_scene
from prism_explore.widgets.views.pruning_reasons import reasons_scene
from prism_explore.widgets.views.saturation import saturation_scene
from prism_explore.widgets.views.search_map import search_scene
from prism_explore.widgets.views.search_tree import SearchTree
from prism_explore.widgets.views.tuning import tuning_scene

PICTURES = ("search", "reasons", "program", "classes", "saturation", "tuning")


def sgraph_svg(graph: SGraph | TensorProgram, owner: str = "") -> str:
    """Draw a graph as SVG."""
    return to_svg(program_scene(graph) if isinstance(graph, TensorProgram) else sgraph_scene(graph, owner))


def picture_svg(entries: Iterable[Entry], picture: str = "search") -> str:
    """Draw a picture of a journal as SVG; the names are those of `picture_scene`."""
    return to_svg(picture_scene((e.event for e in entries), picture))


def picture_scene(events: Iterable[Event], picture: str = "search") -> Scene:
    """Draw a picture of a search.

    Args:
        events: the events of the search.
        picture: a name in `PICTURES`, the id of a family or candidate for its graph, or a frame of an e-graph such
            as f1.c1/goal@0.

    Raises:
        ShapeError: there is no such picture.
    """
    history = tuple(events)
    book = ledger(history)
    candidates = {e.candidate: e.sgraph for e in history if isinstance(e, CandidateInstantiated)}
    frame = frame_ref(picture)
    if frame is not None and frame.candidate in candidates and book.started is not None:
        found = equalities(parse_program(book.started.program), parse(candidates[frame.candidate]))
        if (growth := lemma_growth(found, frame.tensor)) is not None:
            return frame_scene(frame, growth)
    match picture:
        case "search":
            return search_scene(SearchTree(history), book)
        case "reasons":
            return reasons_scene(book)
        case "program":
            return program_scene(parse_program(book.started.program)) if book.started else _nothing("program")
        case "classes":
            return _classes(book)
        case "saturation":
            return saturation_scene(history)
        case "tuning":
            return tuning_scene(book)
        case _:
            graphs = {f.family: f.sgraph for f in book.families} | candidates
            if picture not in graphs:
                known = ", ".join((*PICTURES, *list(graphs)[:8])) + (" and so on" if len(graphs) > 8 else "")
                raise ShapeError(f"no picture {picture!r}; the pictures are {known}")
            return sgraph_scene(parse(graphs[picture]), picture)


def _classes(book: Ledger) -> Scene:
    """The e-classes of the best candidate, else of the first proved one, else of the first one with classes."""
    with_classes = [v for v in book.verdicts.values() if v.classes]
    best = book.best.candidate if book.best else ""
    with_classes.sort(key=lambda v: (v.candidate != best, v.verdict != "proved"))
    return egraph_scene(with_classes[0]) if with_classes else _nothing("classes")


def _nothing(name: str) -> Scene:
    return empty_scene(name, f"no picture of {name} before the search has started", 480.0)
