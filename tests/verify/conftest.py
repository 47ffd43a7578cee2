"""Fixtures of the tests of proofs."""

from collections.abc import Iterator

import pytest

from prism_explore.support import caches


@pytest.fixture
def no_results_kept() -> Iterator[None]:
    """Nothing that was computed before or is computed in a test is found again."""
    caches.clear()
    yield
    caches.clear()
