"""Pictures by name, for where no widget can be shown: `sess.svg("search")`, `record.svg("f1.c2")`."""

from __future__ import annotations

from collections.abc import Iterable

from prism_explore.errors import ShapeError
from prism_explore.events.journal import Entry
from prism_explore.events.kinds import CandidateInstantiated, Event
from prism_explore.events.ledger import Ledger, ledger
from prism_explore.ir.graph import SGraph
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.text import parse, parse_program
from prism_explore.widgets.drawing.charts import empty
from prism_explore.widgets.drawing.svg import to_svg
from prism_explore.widgets.panels.facts import Facts
from prism_explore.widgets.scene import Scene
from prism_explore.widgets.views.egraph import egraph_scene, saturation_scene
from prism_explore.widgets.views.egraph_frames import frame_ref, frame_scene, growth_of
from prism_explore.widgets.views.graph import program_scene, sgraph_scene
from prism_explore.widgets.views.search_map import reasons_scene, search_scene
from prism_explore.widgets.views.tuning import tuning_scene

PICTURES = ("search", "reasons", "program", "classes", "saturation", "tuning")


def sgraph_svg(graph: SGraph | TensorProgram, owner: str = "") -> str:
    """A graph as SVG."""
    return to_svg(program_scene(graph) if isinstance(graph, TensorProgram) else sgraph_scene(graph, owner))


def picture_svg(entries: Iterable[Entry], picture: str = "search") -> str:
    """A picture of a journal as SVG; see `picture_scene`."""
    return to_svg(picture_scene((e.event for e in entries), picture))


def picture_scene(events: Iterable[Event], picture: str = "search") -> Scene:
    """A picture by name, the graph of a family or candidate by id, or a frame such as f1.c1/goal@0 of an e-graph.

    Raises:
        ShapeError: there is no such picture.
    """
    facts = tuple(events)
    book = ledger(facts)
    if (frame := frame_ref(picture)) is not None and book.started is not None:
        growth = growth_of(frame, parse_program(book.started.program), Facts.of(facts))
        if growth is not None:
            return frame_scene(frame, growth)
    match picture:
        case "search":
            return search_scene(facts, book)
        case "reasons":
            return reasons_scene(book)
        case "program":
            return program_scene(parse_program(book.started.program)) if book.started else _nothing("program")
        case "classes":
            return _classes(book)
        case "saturation":
            return saturation_scene(facts)
        case "tuning":
            return tuning_scene(book)
        case _:
            graphs = {f.family: f.sgraph for f in book.families}
            graphs |= {e.candidate: e.sgraph for e in facts if isinstance(e, CandidateInstantiated)}
            if picture not in graphs:
                known = ", ".join((*PICTURES, *list(graphs)[:8])) + (" and so on" if len(graphs) > 8 else "")
                raise ShapeError(f"no picture {picture!r}; there are {known}")
            return sgraph_scene(parse(graphs[picture]), picture)


def _classes(book: Ledger) -> Scene:
    """Those of the incumbent; without one, of the first proved candidate, or the first at all."""
    with_classes = [v for v in book.verdicts.values() if v.classes]
    best = book.best.candidate if book.best else ""
    with_classes.sort(key=lambda v: (v.candidate != best, v.verdict != "proved"))
    return egraph_scene(with_classes[0]) if with_classes else _nothing("classes")


def _nothing(name: str) -> Scene:
    return empty(name, f"there is no picture of {name} before the search has begun", 480.0)
