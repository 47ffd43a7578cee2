"""The floor is a floor: never above what an honest interpreter counts. The model only ranks."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from prism_explore.cost.roofline import time_bound_of, time_bound_of_graph
from prism_explore.cost.work import least_scratch, work_of
from prism_explore.ir.dims import dim
from prism_explore.ir.graph import SGraph
from prism_explore.ir.interpreter.reference import evaluate
from prism_explore.ir.text import parse
from prism_explore.pipeline.stages import Candidate, Family, Verified
from prism_explore.targets import GPUS
from tests.tune.toys import TOY, fused, rmsnorm_linear, split

EVERY_FAMILY = {"fused": fused(), "fused rows": fused(rows=True), "split": split()}


class Tally:
    """How much arithmetic was done."""

    def __init__(self) -> None:
        self.flops = 0


class Counted:
    """A number that counts what is done to it."""

    def __init__(self, value: float, tally: Tally) -> None:
        self.value, self.tally = value, tally

    def _made(self, value: float) -> Counted:
        self.tally.flops += 1
        return Counted(value, self.tally)

    def __add__(self, other: Any) -> Counted:
        return self._made(self.value + _value(other))

    def __mul__(self, other: Any) -> Counted:
        return self._made(self.value * _value(other))

    def __truediv__(self, other: Any) -> Counted:
        return self._made(self.value / _value(other))

    __radd__, __rmul__ = __add__, __mul__

    def sqrt(self) -> Counted:
        return self._made(self.value**0.5)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Counted) and abs(self.value - other.value) < 1e-9


def _value(other: Any) -> float:
    return float(other.value if isinstance(other, Counted) else other)


def counted(graph: SGraph, sizes: dict[str, int], shapes: dict[str, int]) -> int:
    """Arithmetic that the interpreter really does, block by block and iteration by iteration."""
    tally = Tally()
    rng = np.random.default_rng(0)
    inputs = {}
    for i in graph.inputs:
        numbers = rng.standard_normal([d.value(shapes) for d in i.type.dims])
        inputs[i.name] = np.vectorize(lambda v: Counted(v, tally), otypes=[object])(numbers)
    evaluate(graph, inputs, sizes)
    return tally.flops


def legal(verified: Verified, batch: int) -> list[dict[str, int]]:
    axes = {"gx": (1, 2, 3, 24), "gy": (1, batch), "f": (1, 2, 16), "gb": (1, batch)}
    names = verified.candidate.sgraph.parameters
    return [dict(zip(names, row, strict=True)) for row in product(*(axes[n] for n in names))]


@pytest.mark.parametrize("name", EVERY_FAMILY)
@pytest.mark.parametrize("batch", [1, 4])
def test_executed_work_is_what_the_interpreter_counts(name: str, batch: int) -> None:
    verified = EVERY_FAMILY[name]
    graph = verified.candidate.sgraph
    for sizes in legal(verified, batch)[:6]:
        executed = sum(w.executed_flops.rational({"b": batch, **sizes}) for w in work_of(graph))

        assert executed == counted(graph, sizes, {"b": batch})


@pytest.mark.parametrize("name", EVERY_FAMILY)
def test_the_floor_counts_no_more_arithmetic_than_any_choice_of_numbers_needs(name: str) -> None:
    verified = EVERY_FAMILY[name]
    floor = time_bound_of(verified.candidate, {"b": 4}, TOY)
    costs = [counted(verified.candidate.sgraph, sizes, {"b": 4}) for sizes in legal(verified, 4)]

    assert 0 < floor.flops <= min(costs)


def test_without_repetition_the_floor_is_exact() -> None:
    verified = fused()
    floor = time_bound_of(verified.candidate, {"b": 4}, TOY)

    assert floor.flops == counted(verified.candidate.sgraph, {"gx": 1, "f": 1}, {"b": 4})


def test_the_floor_of_a_sum_in_parts_counts_all_of_its_arithmetic_whatever_the_parts() -> None:
    graph = parse("""sgraph
  x = input f32[b, 16]
  w = input f32[16, 24]
  %2 = custom(x, w) grid[x=gx, y=s]
    %0 = load(0, imap=[0, 1])
    %1 = load(1, imap=[-, 0])
    %2 = matmul(%0, %1)
    %3 = store(%2, omap=[0, 1])
  %3 = custom(%2) grid[x=gx2]
    %0 = load(0, imap=[0])
    %1 = reshape(%0, dims=[b/gx2, s, 24])
    %2 = sum(%1, dim=1)
    %3 = store(%2, omap=[0])
  return %3
""")
    slow = TOY.replace(peak_flops_per_s=1e6)
    floor = time_bound_of(_candidate(graph), {"b": 4}, slow)

    assert floor.flops == 4 * 24 * (2 * 16 - 1)
    assert floor.time_s == floor.flops / 1e6
    assert floor.bound_by == "compute"


@pytest.mark.parametrize("name", EVERY_FAMILY)
def test_the_floor_counts_each_input_once_and_what_caches_may_keep_not_at_all(name: str) -> None:
    inputs = 4 * (4 * 16 + 16 + 16 * 24)
    floor = time_bound_of(EVERY_FAMILY[name].candidate, {"b": 4}, TOY)

    assert inputs == floor.bytes


def test_what_does_not_fit_into_the_last_cache_is_written_and_read_again() -> None:
    tiny = TOY.replace(caches_bytes=(64,))
    whole = time_bound_of(fused().candidate, {"b": 4}, tiny).bytes
    parted = time_bound_of(split().candidate, {"b": 4}, tiny).bytes

    assert 2 * (4 * 4 * 16 - 64) == parted - whole


def test_a_fused_candidate_has_a_lower_floor_than_a_split_one_where_it_matters() -> None:
    tiny = TOY.replace(caches_bytes=(64,))

    assert (
        time_bound_of(fused().candidate, {"b": 64}, tiny).time_s
        < time_bound_of(split().candidate, {"b": 64}, tiny).time_s
    )


def test_small_batches_are_bound_by_memory_and_large_ones_by_compute() -> None:
    h100 = GPUS["h100"]
    wide = fused(4096, 4096).candidate

    assert "memory" == time_bound_of(wide, {"b": 1}, h100).bound_by
    assert "compute" == time_bound_of(wide, {"b": 8192}, h100).bound_by


def test_the_floor_of_the_flagship_is_its_weight_over_the_bandwidth() -> None:
    floor = time_bound_of(fused(4096, 4096).candidate, {"b": 1}, GPUS["a100"])

    assert (4096 * 4096 + 2 * 4096) * 4 == floor.bytes
    assert floor.bytes / 2.039e12 == floor.time_s


def test_work_that_no_result_needs_is_not_counted() -> None:
    text = """sgraph
  x = input f32[b, 16]
  %1 = custom(x) grid[x=gx]
    %0 = load(0, imap=[0])
    %1 = exp(%0){extra}
    %{last} = store(%1, omap=[0])
  return %1
"""
    lean = _candidate(parse(text.format(extra="", last=2)))
    fat = _candidate(parse(text.format(extra="\n    %2 = sqrt(%0)\n    %3 = add(%2, %0)", last=4)))

    assert time_bound_of(lean, {"b": 4}, TOY) == time_bound_of(fat, {"b": 4}, TOY)


def test_a_value_that_all_iterations_share_is_summed_once_in_the_floor() -> None:
    graph = parse("""sgraph
  x = input f32[b, 16]
  y = input f32[b, 16]
  %2 = custom(x, y) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[0])
    %1 = load(1, imap=[0], fmap=1)
    %2 = accum(%0)
    %3 = accum_sum(%1, dim=1)
    %4 = mul(%2, %3)
    %5 = store(%4, omap=[0])
  return %2
""")
    floor = time_bound_of(_candidate(graph), {"b": 4}, TOY)
    costs = [counted(graph, {"gx": gx, "f": f}, {"b": 4}) for gx in (1, 4) for f in (1, 2, 16)]

    assert floor.flops <= min(costs)


def wide(text: str) -> Candidate:
    graph = parse(text)
    return Candidate("f1.c1", Family("f1", rmsnorm_linear(), graph), graph, (), ())


FLASH = """sgraph
  q = input f32[m, 16]
  k = input f32[16, s]
  v = input f32[s, 16]
  %3 = band(rows=m, columns=s, high=0, dtype=f32)
  %4 = custom(q, k, v, %3) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[0])
    %1 = load(1, imap=[-], fmap=1)
    %2 = load(2, imap=[-], fmap=0)
    %3 = load(3, imap=[0], fmap=1)
    %4 = matmul(%0, %1)
    %5 = mask(%4, %3)
    %6 = running_max(%5, dim=1)
    %7 = sub(%5, %6)
    %8 = exp(%7)
    %9 = matmul(%8, %2)
    %10 = accum_rescaled(%9, %6)
    %11 = accum_rescaled(%8, %6, dim=1)
    %12 = store(%10, omap=[0])
    %13 = store(%11, omap=[0])
  %5 = result(%4, index=1)
  %6 = div(%4, %5)
  return %6"""


@pytest.mark.parametrize("gx", [1, 4])
@pytest.mark.parametrize("f", [1, 2, 8])
def test_online_softmax_costs_its_products_and_more_and_its_floor_is_below(gx: int, f: int) -> None:
    candidate, shapes = wide(FLASH), {"m": 8, "s": 32}
    executed = sum(w.executed_flops.rational({**shapes, "gx": gx, "f": f}) for w in work_of(candidate.sgraph))
    products = 8 * 32 * (2 * 16 - 1) + 8 * 16 * 2 * 32

    assert products < executed < 2 * products
    assert 0 < time_bound_of(candidate, shapes, TOY).flops <= executed


def test_a_band_is_not_read_and_every_result_is_written() -> None:
    attention, division = work_of(parse(FLASH))

    assert (0, 1, 2) == attention.reads
    assert dim("m") * (16 + 1) * 4 == attention.written_bytes
    assert (4, 5) == division.reads


def test_a_view_costs_nothing_and_shows_no_more_than_there_is() -> None:
    text = """sgraph
      x = input f32[b, 64]
      %1 = slice(x, dim=1, start=0, stop=16)
      %2 = permute(%1, order=[1, 0])
      %3 = reshape(%2, dims=[16, b, 1])
      %4 = expand(%3, dim=2, size=1000)
      %5 = max(%4, dim=0)
      return %5"""
    (work,) = work_of(parse(text))
    floor = time_bound_of(wide(text), {"b": 8}, TOY)

    assert work.least_flops == dim("b") * 1000 * 15
    assert floor.bytes <= 8 * 16 * 4 + 8 * 1000 * 4


def test_two_views_of_one_tensor_count_as_the_larger_one() -> None:
    text = """sgraph
      x = input f32[b, 64]
      %1 = slice(x, dim=1, start=0, stop=48)
      %2 = slice(x, dim=1, start=16, stop=64)
      %3 = add(%1, %2)
      return %3"""
    big = 1 << 20
    kept = TOY.last_cache_bytes

    assert time_bound_of(wide(text), {"b": big}, TOY).bytes == 2 * big * 48 * 4 - kept


def _candidate(graph: SGraph) -> Candidate:
    return Candidate("f9.c1", Family("f9", rmsnorm_linear(), graph), graph, (), graph.conditions())


def test_a_lookup_leaves_only_what_it_reads_in_the_cache() -> None:
    text = """sgraph
  x = input f32[64, 32000]
  y = input i64[64]
  %2 = lookup(x, y, dim=1, batch=1)
  %3 = sum(x, dim=1)
  %4 = add(%2, %3)
  return %4"""
    read_twice = text.replace("lookup(x, y, dim=1, batch=1)", "max(x, dim=1)")
    of_lookup, of_two = (time_bound_of_graph(parse(t), {}, GPUS["h100"]).bytes for t in (text, read_twice))

    assert 4 * 64 * 32000 - 64 * 128 + 4 * 64 + 8 * 64 == of_lookup
    assert 4 * 64 * 32000 == of_two


def test_a_reduction_costs_one_less_addition_than_it_has_terms() -> None:
    sums = {w.position: w.least_flops.rational({"b": 2}) for w in work_of(rmsnorm_linear().graph)}

    assert 2 * 16 == sums[4]  # mean: 15 additions and a division per row
    assert 2 * 24 * (2 * 16 - 1) == sums[9]


def test_a_gpu_stages_the_operands_of_a_product_instead() -> None:
    graph = fused().candidate.sgraph
    ((position, block),) = graph.customs
    operands = tuple(graph.types()[a] for a in graph.nodes[position].args)

    assert "16*b + 96*b" not in str(least_scratch(block, operands, staged=False))
    assert least_scratch(block, operands, staged=False).rational({"b": 4, "gx": 2, "f": 4}) == 4 * (4 + 4 * 12)
    assert least_scratch(block, operands, staged=True).rational({"b": 4, "gx": 2, "f": 4}) == 4 * (4 * 12)


# ---------------------------------------------------------------- what is not compulsory
def test_what_two_operators_compute_alike_is_computed_once() -> None:
    text = """sgraph
  x = input f32[b, 16]
  %1 = custom(x) grid[x=gx]
    %0 = load(0, imap=[0])
    %1 = exp(%0)
    %2 = exp(%0)
    %3 = mul(%1, %2)
    %4 = mul(%2, %1)
    %5 = add(%3, %4)
    %6 = store(%5, omap=[0])
  return %1
"""
    (work,) = work_of(parse(text))

    assert dim("b") * 16 * 3 == work.least_flops
    assert dim("b") * 16 * 5 == work.executed_flops


def test_of_a_tile_that_only_a_slice_reads_the_rest_need_not_be_read() -> None:
    text = """sgraph
  x = input f32[b, 16]
  %1 = custom(x) grid[x=gx]
    %0 = load(0, imap=[0])
    %1 = slice(%0, dim=1, start=4, stop=8)
    %2 = exp(%1)
    %3 = store(%2, omap=[0])
  return %1
"""
    (work,) = work_of(parse(text))

    assert dim("b") * 4 * 4 == work.loads[0].least_bytes
    assert dim("b") * 16 * 4 == work.loads[0].bytes


@pytest.mark.parametrize(("rows", "high", "compulsory"), [("s", "0", True), ("m", "0", False), ("s", "-1", False)])
def test_what_a_mask_hides_is_not_compulsory(rows: str, high: str, compulsory: bool) -> None:
    text = f"""sgraph
  q = input f32[{rows}, 16]
  k = input f32[16, s]
  %2 = band(rows={rows}, columns=s, high={high}, dtype=f32)
  %3 = custom(q, k, %2) grid[x=gx]
    %0 = load(0, imap=[0])
    %1 = load(1, imap=[-])
    %2 = load(2, imap=[0])
    %3 = matmul(%0, %1)
    %4 = mask(%3, %2)
    %5 = exp(%4)
    %6 = store(%5, omap=[0])
  return %3"""
    (work,) = work_of(parse(text))

    assert work.least_flops == dim(0)
    assert [compulsory] * 2 == [bool(load.least_bytes.terms) for load in work.loads]
