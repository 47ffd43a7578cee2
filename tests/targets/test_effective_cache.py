"""The effective cache: measured on a simulated cache of known size, and on this machine."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prism_explore.targets import effective_cache
from prism_explore.targets.ceilings import flush_loop
from prism_explore.targets.effective_cache import REUSED, last_level_caches, measure_effective_cache
from prism_explore.targets.machine import COLD_FACTOR
from tests.tune.toys import TOY

CHUNK = 64
"""Bytes of a chunk here, where reading is simulated."""
L2 = 8 * CHUNK


class Memory:
    """A cache that keeps the chunks that were used last; its clock counts what reading them costs."""

    def __init__(self, kept: int, miss_s: float = 3.0) -> None:
        self.now_s, self._kept, self._miss_s = 0.0, kept, miss_s
        self.cached: OrderedDict[int, None] = OrderedDict()

    def clock(self) -> float:
        return self.now_s

    def read(self, chunk: np.ndarray) -> None:
        address = chunk.ctypes.data
        self.now_s += 1.0 if address in self.cached else self._miss_s
        self.cached[address] = None
        self.cached.move_to_end(address)
        if len(self.cached) > self._kept:
            self.cached.popitem(last=False)


class Flush:
    def __init__(self, memory: Memory, works: bool = True) -> None:
        self._memory, self._works = memory, works

    def read(self, chunk: np.ndarray) -> None:
        if self._works:
            self._memory.cached.pop(chunk.ctypes.data, None)


def measured(memory: Memory, reported: int = 256, last_caches: int = 1, cores: int = 1, works: bool = True) -> int:
    caches, flush = (CHUNK, L2, reported * CHUNK), Flush(memory, works)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(effective_cache, "CHUNK_FLOATS", CHUNK // 4)
        return measure_effective_cache(caches, memory.clock, last_caches, cores, memory, flush)


@settings(max_examples=25)
@given(st.integers(8, 128))
def test_the_effective_cache_is_at_most_about_twice_what_is_kept_and_never_less(kept: int) -> None:
    found = measured(Memory(kept))

    assert kept * CHUNK <= found <= 2.4 * max(kept * CHUNK, L2)
    assert TOY.replace(effective_cache_bytes=found).cold_bytes == COLD_FACTOR * found


def test_a_cache_of_the_reported_size_is_found_at_that_size() -> None:
    assert measured(Memory(1 << 20), reported=64) == 64 * CHUNK


def test_every_last_level_cache_and_the_private_caches_of_other_cores_count() -> None:
    alone = measured(Memory(16))

    assert measured(Memory(16), last_caches=3, cores=5) == 3 * alone + 4 * L2


@pytest.mark.parametrize(("miss_s", "works"), [(3.0, False), (1.0, True), (REUSED, True)])
def test_where_flushing_has_no_effect_nothing_is_measured(miss_s: float, works: bool) -> None:
    assert measured(Memory(16, miss_s), works=works) == 0
    assert TOY.cold_bytes == COLD_FACTOR * TOY.last_cache_bytes


@pytest.mark.skipif(flush_loop() is None, reason="no instruction is known that flushes caches here")
def test_flushing_leaves_memory_as_it_was() -> None:
    values = np.arange(4096, dtype=np.float32)
    flush = flush_loop()
    assert flush is not None
    flush.read(values)

    np.testing.assert_array_equal(values, np.arange(4096, dtype=np.float32))


def test_last_level_caches_are_counted_by_the_cores_that_share_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def own_cores(_: int) -> set[int]:
        return {0, 1, 2, 5}

    monkeypatch.setattr("os.sched_getaffinity", own_cores, raising=False)
    for cpu, shared in enumerate(("0-1", "0-1", "2-3", "2-3", "4-5", "4-5")):
        for index, (level, cores) in enumerate(((1, str(cpu)), (3, shared))):
            folder = tmp_path / f"cpu{cpu}" / "cache" / f"index{index}"
            folder.mkdir(parents=True)
            (folder / "level").write_text(f"{level}\n")
            (folder / "shared_cpu_list").write_text(f"{cores}\n")

    assert last_level_caches(tmp_path) == 3
    assert last_level_caches(tmp_path / "nothing") == 1
