"""A whole torch program is searched in parts; operators that no row translates stay with torch, and that is said."""

import warnings

import pytest
import torch

import prism_explore as px
from prism_explore.entry import whole_program
from prism_explore.entry.torch_report import WholeRace


def gate(x, w):
    values, indices = torch.softmax(x @ w, -1).topk(2, -1)
    return values / values.sum(-1, keepdim=True), indices


def twice(x, y):
    return [torch.sort(torch.relu(x) * 2, -1)[0], torch.sort(torch.relu(y) * 2, -1)[0], x.t()]


@pytest.fixture(scope="module")
def searched():
    whole = px.WholeProgram(gate, x=px.T("b", 64), w=px.T(64, 32), target="h100")
    whole.run()
    whole.close()
    return whole


def test_the_table_says_what_is_searched_and_what_stays_with_torch_and_why(searched):
    rows = searched.coverage

    assert [r.state for r in rows] == ["searched", "opaque", "searched"]
    assert "proved" in rows[0].why and "proved" in rows[2].why
    assert rows[1].what == "aten.topk.default" and rows[1].why == "no row for topk"
    assert "values, indices = torch.softmax(x @ w, -1).topk(2, -1)" in rows[1].line
    assert all(r.what in text for r in rows for text in (repr(searched), searched._repr_html_()))


def test_the_claim_names_opaque_operators_and_what_is_assumed_of_them(searched):
    assert searched.claim == (
        "Parts of gate: 2; searched: 2 (2 different); with a proved kernel: 2. Opaque calls: 1. "
        "Opaque: aten.topk.default. Assumed of each: equal arguments and attributes give equal results; nothing else."
    )


def test_alike_parts_are_searched_once():
    whole = px.WholeProgram(twice, x=px.T("b", 64), y=px.T("b", 64), target="h100")

    assert len(whole.program.computations) == 2
    assert len(whole.sessions) == 1
    assert [r.state for r in whole.coverage] == ["searched", "searched", "opaque", "opaque"]
    assert [r.why for r in whole.coverage[:2]] == ["the search has not ended"] * 2


class Counted(torch.nn.Module):
    """Writes into an argument, and puts new tensors in the place of a buffer and of a plain tensor of its own."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(64))
        self.weight = torch.ones(())

    def forward(self, total, x):
        self.weight = self.weight * 0.5
        self.mean = self.mean + self.weight * x.mean(0)
        total[:1] += torch.softmax(x - self.mean, -1)
        return total * 2


@pytest.mark.filterwarnings("ignore:The tensor attribute")
def test_what_a_program_writes_into_is_as_before_after_the_race_and_written_by_a_call():
    module, twin, total, x = Counted(), Counted(), torch.zeros(2, 64), torch.randn(1, 64)
    session = {"budget": px.Budget(trials=1, seconds=1.0), "baselines": ["torch eager"]}
    whole = px.WholeProgram(module, total=total, x=x, session=session)
    best = whole.best()
    whole.close()

    assert any(best.kernels) and not total.any() and not module.mean.any()
    assert list(module.state_dict()) == ["mean"]
    expected = torch.zeros(2, 64)
    for run in (best.with_kernels, module, best.with_kernels):
        torch.testing.assert_close(run(total, x), twin(expected, x))
        for found, wanted in ((total, expected), (module.mean, twin.mean), (module.weight, twin.weight)):
            torch.testing.assert_close(found, wanted)


@pytest.fixture(scope="module")
def raced():
    session = {"budget": px.Budget(trials=1, seconds=1.0), "baselines": ["torch eager"]}
    whole = px.WholeProgram(gate, x=px.T("b", 64), w=px.T(64, 32), at={"b": 4}, session=session)
    best = whole.best()
    whole.close()
    return whole, best


def test_the_best_of_the_parts_is_called_like_the_code(raced):
    _, best = raced
    x, w = torch.randn(4, 64), torch.randn(64, 32)

    for found, expected in zip(best(x, w=w), gate(x, w), strict=True):
        torch.testing.assert_close(found, expected)
    with pytest.warns(UserWarning, match="torch computes a part of gate"):
        other = best.with_kernels(torch.cat([x, x]), w)
    torch.testing.assert_close(other[0][4:], gate(x, w)[0])
    assert len(best.refused) > 0
    with pytest.raises(px.ShapeError, match="'x' has the shape"):
        best(x[:, :8], w)
    x.requires_grad_()
    (found,) = torch.autograd.grad(best(x, w)[0].square().sum(), x)
    (expected,) = torch.autograd.grad(gate(x, w)[0].square().sum(), x)
    torch.testing.assert_close(found, expected)
    assert all(k is not None for k in best.kernels) and "aten.topk" in best.proof
    assert {"torch eager", "kernels"} == set(best.race.seconds)
    assert best.implementation in best.race.seconds and str(best.race) in repr(best)


def test_torch_runs_a_whole_program_that_kernels_do_not_make_faster(raced, monkeypatch):
    whole, _ = raced
    lost = WholeRace("torch eager", {"torch eager": 1e-6, "kernels": 2e-6}, "kernels are 0.50x as fast")
    monkeypatch.setattr(whole_program, "race", lambda arguments, ways: lost)
    best = whole.best()
    transposed, w = torch.randn(64, 4).t(), torch.randn(64, 32)  # a kernel does not take its strides, and would warn

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.testing.assert_close(best(transposed, w), gate(transposed, w))
    with pytest.warns(UserWarning, match="torch computes a part"):
        best.with_kernels(transposed, w)
    assert "torch eager" == best.implementation and "0.50x" in repr(best)


def test_examples_that_are_no_arguments_are_refused_before_the_search():
    whole = px.WholeProgram(gate, x=px.T("b", 8), w=px.T(8, 4), target="h100")

    with pytest.raises(px.ShapeError, match=r"'w' has the shape \(3, 4\)"):
        whole.best(torch.randn(8, 8), torch.randn(3, 4))
    assert {"ready"} == {s.state for s in whole.sessions}
