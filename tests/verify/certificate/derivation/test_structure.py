"""The derivation's classes hold what they use: no inheritance between them, and no abstract hooks."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

from prism_explore.ir.dims import dim
from prism_explore.verify.certificate import derivation
from prism_explore.verify.certificate.derivation.normalize import Normalizer
from prism_explore.verify.certificate.expressions import Add, At, Mul
from prism_explore.verify.certificate.lemma import Axis
from prism_explore.verify.normal_form.index import Var


def classes() -> list[type]:
    modules = [
        importlib.import_module(f"{derivation.__name__}.{m.name}") for m in pkgutil.iter_modules(derivation.__path__)
    ]
    return [c for m in modules for c in vars(m).values() if inspect.isclass(c) and c.__module__ == m.__name__]


def test_no_class_inherits_from_another() -> None:
    assert classes()
    for c in classes():
        assert c.__bases__ in ((object,), (Exception,)), c


def test_no_method_is_left_to_a_subclass() -> None:
    for c in classes():
        assert "NotImplementedError" not in inspect.getsource(c), c


def test_all_parts_of_a_normalizer_hold_one_term_graph() -> None:
    normalizer = Normalizer((Axis("k", dim("n")),))
    parts = [x for x in vars(normalizer).values() if hasattr(x, "_graph")]

    assert len(parts) > 5
    assert {id(normalizer.graph)} == {id(vars(x)["_graph"]) for x in parts}


def test_a_normal_form_is_reached_by_recorded_steps() -> None:
    k = Var("k", dim("n"))
    a, b = At("a", (k,)), At("b", (k,))
    normalizer = Normalizer((Axis("k", dim("n")),))
    graph = normalizer.graph
    left, right = graph.intern(Mul(a, Add(a, b))), graph.intern(Add(Mul(b, a), Mul(a, a)))

    assert normalizer.normal(left) == normalizer.normal(right)
    assert {"distribute", "mul commutes", "add commutes"} <= set(graph.steps.values())
