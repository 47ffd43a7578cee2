"""The search tree of the explorer for a picture of a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from prism_explore.events.kinds import Event
from prism_explore.events.ledger import ledger
from prism_explore.widgets.scene import Scene
from prism_explore.widgets.views.search_map import search_scene
from prism_explore.widgets.views.search_tree import SearchTree

WIDTH_PX = 700.0
"""Width of a picture that fits into a page of the documentation site."""


def tree_scene(events: Sequence[Event], title: str) -> Scene:
    """Draw the tree of a search.

    Args:
        events: of the search.
        title: what is drawn.
    """
    return replace(search_scene(SearchTree(events), ledger(events), WIDTH_PX), title=title)
