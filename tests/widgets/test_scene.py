from __future__ import annotations

import json
from pathlib import Path

from prism_explore.widgets.scene import Edge, Scene, Shape, Text, to_plain
from prism_explore.widgets.typescript.scene_types import scene_ts

ROOT = Path(__file__).resolve().parents[2]
BOX = Shape("n1", "box", "op", 1, 2, 30.123456, 4, texts=(Text(5, 6, "a"),), ref="n1")
ARROW = Edge("e1", "edge", ((0, 0), (1, 2.5)), arrow=True)
SCENE = Scene("sgraph", "title", "desc", 100, 50, (BOX, ARROW))


def test_a_scene_is_plain_json() -> None:
    expected = {
        "name": "sgraph",
        "title": "title",
        "desc": "desc",
        "width": 100,
        "height": 50,
        "omitted": "",
        "items": [
            {
                "type": "shape", "id": "n1", "role": "box", "kind": "op", "x": 1, "y": 2, "w": 30.12, "h": 4,
                "texts": [{"x": 5, "y": 6, "text": "a"}], "ref": "n1",
            },
            {"type": "edge", "id": "e1", "kind": "edge", "points": [[0, 0], [1, 2.5]], "arrow": True},
        ],
    }  # fmt: skip

    assert expected == json.loads(json.dumps(to_plain(SCENE), allow_nan=False))


def test_shapes_edges_and_refs_are_views_of_the_items() -> None:
    assert (BOX,) == SCENE.shapes
    assert (ARROW,) == SCENE.edges
    assert frozenset({"n1"}) == SCENE.refs


def test_the_browsers_half_of_the_contract_is_what_python_prints() -> None:
    committed = (ROOT / "widgets" / "src" / "scene.ts").read_text(encoding="utf-8")

    assert scene_ts() == committed, "python -m prism_explore.widgets.typescript.scene_types > widgets/src/scene.ts"
