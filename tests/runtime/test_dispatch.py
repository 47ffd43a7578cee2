"""One search, many batches: kernels by value, borders by ratio, torch elsewhere."""

import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier, BrokenBarrierError

import numpy as np
import pytest
import torch

import prism_explore as px
from prism_explore.runtime.dispatch import Dispatch
from tests.session.test_session import QUICK, D, N, machine, rmsnorm_linear

POINTS = (1, 4, 16)


@pytest.fixture(scope="module")
def sess():
    shapes = {"x": px.T("b", D), "g": px.T(D), "w": px.T(D, N)}
    made = px.Session(rmsnorm_linear, **shapes, target=machine(), at={"b": 4}, budget=QUICK, baselines=())
    made.run()
    yield made
    made.close()


@pytest.fixture(scope="module")
def by_batch(sess):
    return sess.dispatch(b=POINTS)


def given(rows, seed=0):
    draw = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(*shape, generator=draw) for shape in ((rows, D), (D,), (D, N)))


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 7, 8, 12, 13, 16])
def test_every_value_of_the_range_has_a_kernel_that_is_right(by_batch, rows):
    args = given(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.testing.assert_close(rmsnorm_linear(*args), by_batch(*args), rtol=2e-4, atol=2e-5)
    assert not isinstance(by_batch.kernel(rows), str)


def test_borders_lie_where_the_ratios_to_both_points_are_equal(by_batch):
    assert POINTS == tuple(p.value for p in by_batch.points)
    assert [2.0, 8.0, float("inf")] == [p.up_to for p in by_batch.points]
    assert (1, 16) == by_batch.range
    assert "up to 8" in repr(by_batch)
    assert "for b from 1 to 16; elsewhere torch" in repr(by_batch)


def test_a_value_outside_goes_to_torch_with_one_warning(sess):
    made = sess.dispatch(b=(4, 8))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for rows in (2, 32):
            torch.testing.assert_close(rmsnorm_linear(*given(rows)), made(*given(rows)), rtol=0, atol=0)

    assert ["b=2 is outside of 4 to 8, for which kernels were tuned"] == [
        str(w.message).partition("runs in torch: ")[2] for w in said
    ]


def test_threads_that_meet_a_value_outside_at_once_warn_once(sess, monkeypatch):
    """Both would read that nothing was said before either says it, were it not for the lock."""
    both, said = Barrier(2), []

    class Met(Dispatch):
        @property
        def _warned(self):
            now = self.__dict__.get("said", False)
            with suppress(BrokenBarrierError):
                both.wait(0.5)
            return now

        @_warned.setter
        def _warned(self, value):
            self.__dict__["said"] = value

    made = sess.dispatch(b=(4,))
    met = Met(made.program, "b", {"b": 4}, [(4, made.points[0].timed)], machine(), sess.traced)
    monkeypatch.setattr(warnings, "warn", lambda text, **_: said.append(text))
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: met(*given(2)), range(2)))

    assert 1 == len(said)


def test_machine_code_is_made_once_per_value_also_from_many_threads(sess):
    made = sess.dispatch(b=(4,))
    args = given(4)
    with ThreadPoolExecutor(8) as pool:
        kernels = list(pool.map(made.kernel, [4] * 16))
        results = list(pool.map(lambda _: made(*args), range(16)))

    assert 1 == len({id(k) for k in kernels})
    for found in results:
        torch.testing.assert_close(results[0], found, rtol=0, atol=0)


def test_arguments_are_bound_by_name_and_gradients_are_torch_s(by_batch):
    x, g, w = given(5)
    torch.testing.assert_close(by_batch(x, g, w), by_batch(x, w=w, g=g), rtol=0, atol=0)
    mine, theirs = x.clone().requires_grad_(), x.clone().requires_grad_()
    by_batch(mine, g, w).sum().backward()
    rmsnorm_linear(theirs, g, w).sum().backward()

    torch.testing.assert_close(theirs.grad, mine.grad, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, r"name one symbol of rmsnorm_linear and its values, such as b=\(1, 8, 64\)"),
        ({"n": (1,)}, "there are b, found n"),
        ({"b": (1,), "n": (1,)}, "found b, n"),
        ({"b": ()}, r"b takes whole numbers from 1 on, such as .*; found \(\)"),
        ({"b": (0, 4)}, r"found \(0, 4\)"),
    ],
)
def test_what_cannot_be_asked_for_is_named(sess, values, said):
    with pytest.raises(px.ShapeError, match=said):
        sess.dispatch(**values)


def test_wrong_arguments_are_named(by_batch):
    x, g, w = given(4)
    with pytest.raises(px.ShapeError, match="missing: w"):
        by_batch(x, g)
    with pytest.raises(px.ShapeError, match="found the shape"):
        by_batch(torch.tensor(1.0), g, w)
    with pytest.raises(px.ShapeError, match="'g' must have shape"):
        by_batch(x, g[1:], w)


def test_a_program_by_hand_has_no_torch_to_fall_back_to(sess):
    made = sess.dispatch(b=(4,))
    plain = Dispatch(made.program, "b", {"b": 4}, [(4, made.points[0].timed)], machine(), None)
    x, g, w = (t.numpy() for t in given(4))

    np.testing.assert_allclose(made(*given(4)), plain(x, g, w), rtol=1e-6)
    with pytest.raises(px.ShapeError, match=r"outside of 4 to 4.*no torch code to fall back to"):
        plain(x[:2], g, w)
    with pytest.raises(px.ShapeError, match="by position"):
        plain(x=x)
