"""Memoized functions: their results are kept while somebody holds a lease, and all are freed with the last one."""

import gc

import pytest

import prism_explore as px
from prism_explore.ir.dims import dim
from prism_explore.support import caches
from prism_explore.support.caches import Lease, lease_for, leased, memoize

TWICE = px.parse_program("""program twice
  x = input f32[b, 8]
  %1 = add(x, x)
  return %1""")


@memoize(16)
def square(n: int) -> int:
    return n * n


class Owner:
    pass


@pytest.fixture(autouse=True)
def nobody_else_holds_a_lease():
    gc.collect()
    if caches.open_leases():
        pytest.skip("a session of another test in this process is still open")
    caches.clear()


def kept():
    return square.cache_info().currsize


def test_results_are_found_again():
    assert [square(3), square(3)] == [9, 9]
    assert square.cache_info().hits == 1


def test_the_last_lease_clears_every_cache():
    first, second = Lease(), Lease()
    square(3)

    first.end()
    assert kept() == 1

    second.end()
    assert kept() == 0


def test_a_lease_ends_once():
    first, second = Lease(), Lease()
    first.end()
    square(3)

    first.end()

    assert (kept(), caches.open_leases()) == (1, 1)
    second.end()


def test_a_lease_ends_with_its_owner():
    owner = Owner()
    lease_for(owner)
    square(3)
    assert kept() == 1

    del owner
    gc.collect()

    assert (kept(), caches.open_leases()) == (0, 0)


def test_a_block_holds_a_lease_also_when_it_fails():
    with pytest.raises(ZeroDivisionError), leased():
        square(3)
        _ = 1 // 0

    assert (kept(), caches.open_leases()) == (0, 0)


def test_what_is_computed_after_clearing_is_equal():
    before = dim("b") * dim("c") + 1
    caches.clear()

    assert dim("b") * dim("c") + 1 == before


def test_monomials_of_before_stay_the_only_ones():
    from prism_explore.generate.abstract_expr.polynomial import leaf, mul

    before = mul(leaf("x", ("i",)), leaf("y", ("i",)))
    caches.clear()
    after = mul(leaf("x", ("i",)), leaf("y", ("i",)))

    assert after == before
    assert after[0][0] is before[0][0]


def test_a_session_holds_a_lease_until_it_is_closed_or_collected():
    closed, dropped = px.Session(TWICE), px.Session(TWICE)
    assert caches.open_leases() == 2

    closed.close()
    closed.close()
    assert caches.open_leases() == 1

    del dropped
    gc.collect()
    assert caches.open_leases() == 0


def test_a_session_is_a_context_manager():
    with px.Session(TWICE) as sess:
        sess.step()
        assert caches.open_leases() == 1

    assert sess.state == "cancelled"
    while sess._engine.has_thread:
        pass
    assert caches.open_leases() == 0
