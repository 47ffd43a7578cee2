"""A program that looks up rows gets proved kernels, which compute what torch does and read nothing outside."""

import numpy as np
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
    with pytest.warns(UserWarning, match="'i' has the position 9"), pytest.raises(IndexError):
        best.kernel(torch.tensor([8, 9, 3, 3]), w)
    with pytest.raises(px.ShapeError, match="'i' has the position -1"):
        best.kernel(np.array([8, -1, 3, 3]), w.numpy())


def of_classes(x, i):
    return (x - x.sum(-1, keepdim=True))[torch.arange(x.shape[0]), i]


def test_classes_of_scores_that_are_read_otherwise_too_are_looked_up_before_the_kernel():
    session = px.Session(of_classes, x=px.T(6, 9), i=px.T(6, dtype="i64"), budget=px.Budget(trials=1))
    session.run()
    best = session.best()
    assert best is not None
    i, x = torch.tensor([8, 0, 3, 3, 1, 2]), torch.randn(6, 9)

    torch.testing.assert_close(best.kernel(x, i), of_classes(x, i))
    with pytest.warns(UserWarning, match="'i' has the position -1"):
        torch.testing.assert_close(best.kernel(x, i - 1), of_classes(x, i - 1))


def sorted_by_class(x, i):
    return torch.cumsum(x, 0)[i]


def test_a_lookup_of_what_cannot_be_computed_after_it_is_refused():
    with pytest.raises(px.ShapeError, match=r"a lookup reads a computed tensor.*WholeProgram"):
        px.Session(sorted_by_class, x=px.T(6, 9), i=px.T(6, dtype="i64"))


def test_permuted_integers_of_a_program_by_hand_are_refused():
    program = px.parse_program("""program permuted
  x = input f32[6, 9]
  i = input i64[2, 3]
  %2 = permute(i, order=[1, 0])
  %3 = lookup(x, %2, dim=0)
  %4 = exp(%3)
  return %4""")

    with pytest.raises(px.ShapeError, match="'i' has integers and is permuted"):
        px.Session(program)
