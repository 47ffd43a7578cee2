"""`px.check` on operators without a row: equal operators, attributes and operands give equal results, nothing else."""

import pytest
import torch

import prism_explore as px

ASSUMED = "Assumed of each: equal arguments and attributes give equal results; nothing else"


def sorted_softmax(x):
    return torch.sort(torch.softmax(x, -1), -1)[0] * 2


def sorted_stable_softmax(x):
    e = (x - x.amax(-1, keepdim=True)).exp()
    found = torch.sort(e / e.sum(-1, keepdim=True), -1)[0]
    return found + found


def cleared(i, w):
    return torch.scatter(w, 0, i, 0.0) * 2


def cleared_twice(i, w):
    return torch.scatter(w, 0, i, 0.0) + torch.scatter(w, 0, i, 0.0)


X = {"x": px.T("b", 16)}
INDEXED = {"i": px.T("b", 8, dtype="i64"), "w": px.T(20, 8)}


@pytest.mark.parametrize(
    ("f", "g", "inputs", "outcome"),
    [
        (sorted_softmax, sorted_stable_softmax, X, "proved"),
        (sorted_softmax, lambda x: torch.sort(torch.softmax(x, -1), -1, descending=True)[0] * 2, X, "refuted"),
        (lambda x: torch.cummax(torch.cummax(x, 0)[0], 0)[0], lambda x: torch.cummax(x, 0)[0], X, "unknown"),
        (lambda x: torch.argmax(x * 2, -1), lambda x: torch.argmax(x + x, -1), X, "proved"),
        (cleared, cleared_twice, INDEXED, "proved"),
        (cleared, lambda i, w: torch.scatter(w * 2, 0, i, 0.0), INDEXED, "unknown"),
    ],
)
def test_calls_are_equal_only_where_operator_attributes_and_operands_are(f, g, inputs, outcome):
    found = px.check(f, g, inputs=inputs)

    assert found.outcome == outcome
    if outcome == "proved":
        assert ASSUMED in found.results[0].reason
    if outcome == "unknown":
        assert "which these may never compute; no trial in torch differs" in found.results[0].reason


def test_each_of_several_results_is_judged():
    def scaled(x, scale):
        values, indices = torch.topk(x, 2)
        return values * scale, indices

    found = px.check(lambda x: scaled(x, 2), lambda x: scaled(x, 3), x=px.T("b", 16))

    assert [r.outcome for r in found.results] == ["refuted", "proved"]


def test_constants_of_the_code_are_equal_by_content():
    def pick(*rows):
        index = torch.tensor(rows)
        return lambda x: torch.index_select(x, 1, index)

    assert px.check(pick(0, 3, 1), pick(0, 3, 1), x=px.T("b", 16)).outcome == "proved"
    assert px.check(pick(0, 3, 1), pick(0, 3, 2), x=px.T("b", 16)).outcome == "refuted"


def test_a_result_that_no_opaque_operator_reaches_assumes_nothing_of_one():
    found = px.check(lambda x: (x + x, torch.sort(x, -1)[0]), lambda x: (2 * x, torch.sort(x, -1)[0]), x=px.T("b", 16))

    assert [r.outcome for r in found.results] == ["proved", "proved"]
    assert [ASSUMED in r.reason for r in found.results] == [False, True]


def test_equal_operands_are_found_by_their_forms_with_one_comparison_each(monkeypatch):
    from prism_explore.entry.equivalence import opaque

    compared: list[object] = []

    class Counted(opaque.Checker):
        def check(self, graph, *more):
            compared.append(graph)
            return super().check(graph, *more)

    monkeypatch.setattr(opaque, "Checker", Counted)

    def sorted_sums(double):
        return lambda x: sum(torch.sort(double(x) + n, -1)[0] * (n + 1) for n in range(6))

    found = px.check(sorted_sums(lambda x: x + x), sorted_sums(lambda x: 2 * x), x=px.T("b", 8))

    assert found.outcome == "proved"
    assert len(compared) == 6
