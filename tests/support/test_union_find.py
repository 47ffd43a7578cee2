"""Union-find against a partition that is kept as a list of sets."""

from hypothesis import given
from hypothesis import strategies as st

from prism_explore.support.union_find import UnionFind

ITEMS = st.integers(0, 12)


@given(st.lists(ITEMS), st.lists(st.tuples(ITEMS, ITEMS)))
def test_classes_are_those_of_a_naive_partition(items: list[int], pairs: list[tuple[int, int]]) -> None:
    sets = UnionFind(items)
    naive = [{i} for i in dict.fromkeys(items)]
    order = list(dict.fromkeys([*items, *(i for pair in pairs for i in pair)]))
    for a, b in pairs:
        for i in (a, b):
            if not any(i in c for c in naive):
                naive.append({i})
        first, second = (next(c for c in naive if i in c) for i in (a, b))
        before = sets.copy()
        assert sets.union(a, b) == (first is not second)
        if first is not second:
            naive.remove(second)
            first |= second
            assert before.union(a, b), "a copy is independent"
        assert sets.find(a) == sets.find(b)
    assert list(sets) == order
    for c in naive:
        assert {sets.find(i) for i in c} == {min(c, key=order.index)}


def test_an_item_that_was_never_added_is_in_no_class() -> None:
    sets = UnionFind("ab")
    assert "a" in sets and "c" not in sets
    sets.add("c")
    sets.add("a")
    assert list(sets) == ["a", "b", "c"]
