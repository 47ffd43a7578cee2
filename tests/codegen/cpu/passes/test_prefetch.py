"""Software prefetch: every line of the right tiles, and no other line."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_explore.codegen.cpu.emit_prefetch import prefetch_slot
from prism_explore.codegen.cpu.loop_ir import Buffer, Place, Range
from prism_explore.codegen.cpu.loop_text import show_statement
from prism_explore.codegen.cpu.passes.prefetch import (
    PrefetchRequest,
    RequestedTile,
    has_dependent_products,
    plan_prefetches,
    tiles_to_prefetch,
)
from prism_explore.codegen.cpu.schedule import schedule_space
from prism_explore.ir.tensors import BYTES
from prism_explore.targets.cpus import host_cpu
from tests.codegen.corpus import CASES
from tests.codegen.cpu.test_compile import error_of, planned

BY_NAME = {c.name: c for c in CASES}
ATTENTION = BY_NAME["attention"]


def sizes(extent: int) -> dict[str, int]:
    return ATTENTION.sizes({"h": 2, "gy": 2, "ge": 1, "f": 3, "tb": 4, "ks": extent, "d": extent, "te": extent})


@dataclass
class RecordingBuilder:
    """A builder of code with constant indices: it records what a kernel would prefetch."""

    fetched: list[int] = field(default_factory=list)

    def index_sum(self, *terms: int) -> int:
        return sum(terms)

    def index_product(self, x: int, factor: int) -> int:
        return x * factor

    def index_divmod(self, x: int, by: int) -> tuple[int, int]:
        return divmod(x, by)

    def index_min(self, x: int, bound: int) -> int:
        return min(x, bound)

    def prefetch(self, memory: object, offset: int, level: int) -> None:
        self.fetched.append(offset)


def tile(rows: int, columns: int, step: int, dtype="f32", line_bytes: int = 64) -> RequestedTile:
    buffer = Buffer("k", (rows, columns), (step, 1), "input", dtype=dtype)
    place = Place(buffer, ((("r", 1),), (("c", 1),)))
    return RequestedTile(place, (Range("r", rows), Range("c", columns)), 1, line_bytes)


@given(
    rows=st.integers(1, 40),
    columns=st.integers(1, 150),
    gap=st.integers(0, 40),
    parts=st.sampled_from((1, 2, 4, 8)),
    slots=st.lists(st.integers(1, 200), min_size=1, max_size=3),
    cuts=st.tuples(st.integers(0, 1000), st.integers(0, 1000)),
    dtype=st.sampled_from(("f32", "bf16")),
    line_bytes=st.sampled_from((64, 128)),
)
def test_every_line_of_a_tile_is_prefetched_and_no_other(
    rows, columns, gap, parts, slots, cuts, dtype, line_bytes
) -> None:
    wanted = tile(rows, columns, columns + gap, dtype, line_bytes)
    ends = [*sorted(cut % wanted.lines for cut in cuts[: len(slots) - 1]), wanted.lines]
    builder = RecordingBuilder()
    for first, end, number in zip((0, *ends), ends, slots, strict=False):
        for slot in range(number if end > first else 0):
            prefetch_slot(builder, None, PrefetchRequest(wanted, first, end - first), parts, 2, slot, number)
    line = line_bytes // BYTES[dtype]
    runs, run = wanted.shape
    starts = [i * stride for extent, stride in runs for i in range(extent)] or [0]

    assert {start + at for start in starts for at in range(0, run, line)} == set(builder.fetched)
    assert len(builder.fetched) < wanted.lines + sum(slots)


@pytest.mark.parametrize("parts", [1, 2, 4])
def test_requests_alternate_between_the_parts_of_a_tile(parts) -> None:
    builder = RecordingBuilder()
    for slot in range(16):
        prefetch_slot(builder, None, PrefetchRequest(tile(8, 32, 100), 0, 16), parts, 2, slot, 16)

    assert [800 // parts * p for p in range(parts)] == builder.fetched[:parts]
    assert Counter(100 * r + c for r in range(8) for c in (0, 16)) == Counter(builder.fetched)


def test_values_are_prefetched_during_scores_and_the_next_keys_during_values() -> None:
    (nest,) = planned(ATTENTION.graph, sizes(16)).loops.nests
    asked = [
        [(t.place.buffer.name, t.iterations_later) for t in tiles] for tiles in tiles_to_prefetch(nest, 64) if tiles
    ]

    assert has_dependent_products(nest)
    assert [[("v", 0)], [("k", 1)]] == asked


@pytest.mark.parametrize("lanes", [8, 16])
@pytest.mark.parametrize("extent", [8, 16, 64])
def test_exponentials_prefetch_the_first_lines_for_the_next_product(extent, lanes) -> None:
    (nest,) = planned(ATTENTION.graph, sizes(extent)).loops.nests
    asked = plan_prefetches(nest, replace(host_cpu(), lanes=lanes))
    slow = [p for p, s in enumerate(nest.body) if "exp(" in show_statement(s) and s.target.buffer.shape[-1] > 1]
    by_tile = defaultdict[str, list[tuple[int, PrefetchRequest]]](list)
    for position, found in enumerate(asked):
        for request in found:
            by_tile[str(request.tile)].append((position, request))

    assert 2 == len(by_tile)
    assert len(slow) == 1
    for wanted in by_tile.values():
        lines = [line for _, r in wanted for line in range(r.first, r.first + r.count)]
        assert list(range(wanted[0][1].tile.lines)) == lines
    (keys,) = (wanted for name, wanted in by_tile.items() if name.startswith("k"))
    assert slow == [position for position, _ in keys[:-1]]
    assert keys[0][1].count <= keys[-1][1].count


def test_a_single_product_prefetches_no_other_tile() -> None:
    case = BY_NAME["rms_eps"]
    sizes = case.sizes(dict.fromkeys(case.free, 4))
    made = planned(case.graph, sizes)

    assert not any(any(tiles_to_prefetch(nest, 64)) for nest in made.loops.nests)
    assert "meanwhile" not in [c.name for c in schedule_space(made.loops, host_cpu())]


@pytest.mark.parametrize("parts", [8, 4, 2, 1, 0])
@pytest.mark.parametrize("extent", [5, 16, 33])
def test_prefetching_changes_no_result(parts, extent) -> None:
    assert error_of(ATTENTION.graph, sizes(extent), meanwhile=parts) < 1e-5
