from __future__ import annotations

from prism_explore.events.ledger import ledger
from prism_explore.widgets.views.pruning_reasons import reasons_scene
from tests.widgets.pictures import check
from tests.widgets.recordings import story


def test_before_the_first_pruning_the_chart_says_so() -> None:
    assert "nothing has been pruned yet" == reasons_scene(ledger([])).shapes[0].texts[0].text


def test_reasons_are_bars_in_order_of_their_counts() -> None:
    scene = reasons_scene(ledger(story()))
    check(scene)
    bars = [s for s in scene.shapes if s.role == "block"]

    assert [c.count for c in ledger(story()).prune_counts] == [s.count for s in bars]
    assert bars == sorted(bars, key=lambda s: -s.w)
    label = next(s for s in scene.shapes if s.id.startswith("expr.unreachable") and s.role == "text")
    assert ["E", "expr.unreachable · sub-expression", "6 · 40% · sound"] == [t.text for t in label.texts]
