"""A text that is cut with an ellipsis can be read in full: in the tooltip of the shape or cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import cast

import pytest

from prism_explore.widgets.panels.context import Memo, ViewState, select
from prism_explore.widgets.panels.panels import sections
from prism_explore.widgets.panels.sections import Cell
from prism_explore.widgets.scene import Shape
from tests.widgets.test_references import SEARCHES


def cut(value: object) -> Iterator[str]:
    """The cut texts whose whole is not in a tooltip."""
    if isinstance(value, Shape | Cell):
        texts = [value.text] if isinstance(value, Cell) else [t.text for t in value.texts]
        yield from (t for t in texts if t.endswith("…") and t.rstrip("… ") not in " ".join(value.tip.split()))
    elif is_dataclass(value):
        for f in fields(value):
            yield from cut(getattr(value, f.name))
    elif isinstance(value, Mapping):
        yield from (found for inner in cast("Mapping[str, object]", value).values() for found in cut(inner))
    elif isinstance(value, Sequence) and not isinstance(value, str):
        yield from (found for inner in cast("Sequence[object]", value) for found in cut(inner))


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("width", [240, 420, 900])
def test_every_cut_text_has_its_whole_in_a_tooltip(name: str, width: int) -> None:
    info, folds = SEARCHES[name]()
    best = folds.ledger.value().best
    selections = ["", "f1", *([best.candidate, f"{best.candidate}/goal@0"] if best is not None else [])]
    for selection in selections:
        view = select(ViewState(map_px=width, dock_px=width), selection, folds.events)
        assert list(cut(sections(info, folds, view, memo=Memo()))) == []
