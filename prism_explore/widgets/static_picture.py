"""The static picture of a search, for pages that cannot run the widget: result card, search map and sGraph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from prism_explore.widgets.drawing.text_metrics import MONO_EM, SANS_EM, line_px, wrap_text
from prism_explore.widgets.panels.context import Context
from prism_explore.widgets.panels.graph import graph_panel
from prism_explore.widgets.panels.map import map_panel
from prism_explore.widgets.panels.result_card import result_card
from prism_explore.widgets.panels.sections import ResultCard
from prism_explore.widgets.scene import Edge, Item, Scene, Shape, Text

WIDTH_PX = 900.0
"""Width of the picture."""
GAP_PX = 12.0
PAD_PX = 12.0
SMALL_PX = 12.0
"""Font size of the card's small texts; see `colors.TEXTS`."""


def static_picture(context: Context) -> Scene:
    """What a search shows without a browser half: the answer, how it was found, and the graph of the subject.

    Args:
        context: the search as it is now; its map should be `WIDTH_PX` wide.
    """
    info = context.search
    header = " · ".join(text for text in (info.program.name, info.target, info.sizes, info.state) if text)
    scenes = (card_scene(result_card(context), header), map_panel(context).scene, graph_panel(context).scene)
    return stack_scenes("static", header, [scene for scene in scenes if scene is not None])


def card_scene(card: ResultCard, header: str) -> Scene:
    """Draw the result card: the kernel and its time, the comparisons, and why it won.

    Args:
        card: its texts.
        header: the program, the machine, and the state of the search.
    """
    room = WIDTH_PX - 2 * PAD_PX
    small = int(room / (SMALL_PX * SANS_EM))
    compared = " · ".join(f"{c.ratio} {c.label}, {c.time}" for c in card.comparisons)
    lines = [(header, "muted")]
    answer = " ".join(text for text in (card.label, card.title, card.time) if text)
    lines.append((f"{answer} ({card.spread})" if card.spread else answer, "title"))
    lines += [(line, "mono") for line in wrap_text(compared, int(room / (SMALL_PX * MONO_EM)), 4)]
    for text, kind in ((card.sentence, "small"), (card.warning and f"Warning: {card.warning}", "small")):
        lines += [(line, kind) for line in wrap_text(text, small, 5)]
    texts: list[Text] = []
    y = PAD_PX
    for line, kind in lines:
        y += line_px(kind)
        texts.append(Text(PAD_PX, y - 3, line, kind, "start"))
    height = y + PAD_PX
    frame = Shape("card", "box", "op", 1, 1, WIDTH_PX - 2, height - 2, texts=tuple(texts))
    return Scene("result", "result", ". ".join(line for line, _ in lines), WIDTH_PX, height, (frame,))


def stack_scenes(name: str, title: str, scenes: Sequence[Scene]) -> Scene:
    """Draw scenes below one another as one scene, whose items can be neither selected nor hovered."""
    items: list[Item] = []
    y = 0.0
    for scene in scenes:
        items += (_moved(item, y) for item in scene.items)
        y += scene.height + GAP_PX
    width = max(scene.width for scene in scenes)
    described = " ".join(f"{scene.title}: {scene.desc}" for scene in scenes)
    return Scene(name, title, described, width, y - GAP_PX, tuple(items))


def _moved(item: Item, down: float) -> Item:
    texts = tuple(replace(text, y=text.y + down) for text in item.texts)
    if isinstance(item, Edge):
        points = tuple((x, y + down) for x, y in item.points)
        return replace(item, id="", ref="", tip="", texts=texts, points=points)
    return replace(item, id="", ref="", tip="", texts=texts, y=item.y + down)
