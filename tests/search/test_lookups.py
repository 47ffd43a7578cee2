"""A program that looks up rows gets proved kernels, which compute what torch does and read nothing outside."""

import pytest
import torch

import prism_explore as px

F = torch.nn.functional


def looked_up(i, w):
    e = torch.exp(F.embedding(i, w))
    return e / e.sum(-1, keepdim=True)


def test_kernels_behind_a_lookup_are_found_and_compute_what_torch_does():
    session = px.Session(looked_up, i=px.T("n", dtype="i64"), w=px.T(9, 16), at={"n": 4}, budget=px.Budget(trials=2))
    session.run()
    best = session.best()
    assert best is not None
    i, w = torch.tensor([8, 0, 3, 3]), torch.randn(9, 16)

    torch.testing.assert_close(best.kernel(i, w), looked_up(i, w))
    assert "lookup" in best.source
    with pytest.raises(px.ShapeError, match="'i' has the position 9"):
        best.kernel(torch.tensor([8, 9, 3, 3]), w)
