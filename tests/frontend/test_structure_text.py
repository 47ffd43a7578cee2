"""The structure of arguments and results as text, from files that may come from somebody else."""

import json
import sys
from collections import defaultdict, namedtuple
from enum import Enum

import pytest
from torch.utils import _pytree

from prism_explore.errors import ShapeError
from prism_explore.frontend.structure_text import structure_from_text, structure_to_text

Color = Enum("Color", ["RED"])
Pair = namedtuple("Pair", ["x", "y"])


def structure(value):
    return _pytree.tree_structure(value)


def node(kind, context, *children):
    return {"type": kind, "context": context, "children_spec": list(children)}


LEAF = node(None, None)


@pytest.mark.parametrize("value", [(1, [2, 3]), {"a": 1, "b": {"c": (2,)}}, [], {}, [()]])
def test_a_structure_is_read_as_it_was_written(value):
    spec = structure(value)

    assert spec == structure_from_text(structure_to_text(spec, "results"), spec.num_leaves)


@pytest.mark.parametrize("value", [defaultdict(list, a=1), {Color.RED: 1}, Pair(1, 2)])
def test_a_structure_that_names_code_is_not_saved(value):
    with pytest.raises(ShapeError, match="the structure of the results cannot be saved: "):
        structure_to_text(structure(value), "results")


@pytest.mark.parametrize(
    "hostile",
    [
        node("builtins.dict", json.dumps([{"__enum__": True, "fqn": "imported_by_a_file:A", "name": "B"}]), LEAF),
        node("builtins.dict", '[{"\\u005f_enum__": true, "fqn": "imported_by_a_file:A", "name": "B"}]', LEAF),
        node(
            "collections.defaultdict",
            {
                "default_factory_module": "imported_by_a_file",
                "default_factory_name": "A",
                "dict_context": ["a"],
            },
            LEAF,
        ),
    ],
    ids=["enum", "escaped enum", "defaultdict"],
)
@pytest.mark.parametrize("inside", [False, True])
def test_reading_a_structure_imports_nothing(hostile, inside, tmp_path, monkeypatch):
    (tmp_path / "imported_by_a_file.py").write_text("raise SystemExit('a file ran code')")
    monkeypatch.syspath_prepend(str(tmp_path))
    text = json.dumps([1, node("builtins.list", "null", hostile) if inside else hostile])

    with pytest.raises(ValueError, match="to import"):
        structure_from_text(text, 1)
    assert "imported_by_a_file" not in sys.modules


@pytest.mark.parametrize(
    "damaged",
    [
        "",
        "{",
        "[]",
        "[1]",
        "[2, {}]",
        "[1, 5]",
        json.dumps([1, node("os.system", None)]),
        json.dumps([1, node("builtins.list", "null", LEAF)]),
    ],
)
def test_a_damaged_structure_is_a_value_error(damaged):
    with pytest.raises(ValueError):
        structure_from_text(damaged, 2)
