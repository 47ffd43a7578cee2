"""How a torch graph is cut into regions: what can be inside, what is computed twice, and what a cut costs."""

import pytest
import torch
from torch import nn

from prism_explore.entry.torch_nodes import CALLS, called_name, translation_of
from prism_explore.entry.torch_partition import CALL_S, LEAST_SHARE, MOST_CUTS, MOST_LEFT, partition
from prism_explore.entry.torch_regions import Region
from prism_explore.frontend import trace
from prism_explore.ir.text import show
from prism_explore.targets import target

H100 = target("h100")
"""Figures from a table, so that cuts do not depend on the machine of the test."""
SLOW = H100.replace(
    kind="cpu",
    cores=2,
    dram_bytes_per_s=5.5e10,
    peak_flops_per_s=2.4e11,
    full_precision_flops_per_s=2.4e11,
    launch_s=2.3e-6,
    caches_bytes=(1 << 15, 1 << 20, 1 << 25),
    shared_memory_bytes=1 << 20,
)
"""The figures of two cores of a server CPU, for which what is computed again costs more than a call."""
D, HEADS = 512, 8


def graph_of(code, *examples, dynamic=False):
    found = []

    def backend(module, _):
        found.append(module.graph)
        return module.forward

    torch.compiler.reset()
    with torch.no_grad():
        torch.compile(code, backend=backend, dynamic=dynamic)(*examples)
    return found[0]


def cut(code, *examples, machine=H100, refused=lambda region: ""):
    return partition(graph_of(code, *examples), machine, {}, refused)


def functions(region):
    return [n.target if n.op == "call_method" else n.target.__name__ for n in region.nodes]


def rms(x):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)


def test_a_norm_is_computed_in_each_of_the_products_that_read_it():
    x, a, b = torch.randn(4, D), torch.randn(D, D), torch.randn(D, D)

    def two(x, a, b):
        h = rms(x)
        return torch.sort(h @ a).values + torch.sort(h @ b).values

    found = cut(two, x, a, b)
    with_norm = [r for r in found.regions if "matmul" in functions(r)]

    assert [1, 1] == [functions(r).count("rsqrt") for r in with_norm]
    assert not any("sort" in functions(r) for r in found.regions)
    assert any("sort" in why for why in found.left.values()) or found.covered


def test_a_product_is_cut_from_the_product_that_sums_over_its_columns():
    x, a, b = torch.randn(4, D), torch.randn(D, D), torch.randn(D, D)

    found = cut(lambda x, a, b: nn.functional.silu(x @ a) @ b, x, a, b)

    assert [["matmul", "silu"], ["matmul"]] == [functions(r) for r in found.regions]
    assert found.covered == found.computing


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up, self.down, self.norm = nn.Linear(width, 4 * width), nn.Linear(4 * width, width), nn.LayerNorm(width)

    def forward(self, x):
        return self.norm(self.down(nn.functional.gelu(self.up(x))) + x)


def test_a_set_that_contains_all_readers_of_a_tensor_is_split_where_its_parts_cost_less():
    blocks = nn.Sequential(*(Residual(1024) for _ in range(3))).eval()

    found = cut(blocks, torch.randn(16, 1024), machine=SLOW)

    assert 3 * [["linear", "gelu"], ["linear", "add"], ["layer_norm"]] == list(map(functions, found.regions))


def test_what_another_region_computes_is_not_computed_again():
    x, a, b, c = torch.randn(16, 1024), *(torch.randn(1024, 1024) for _ in range(3))

    def three(x, a, b, c):
        h = rms(x)
        return torch.sort(h @ a).values + torch.sort(h @ b).values + torch.sort(h @ c).values, torch.sort(h).values

    found = cut(three, x, a, b, c, machine=SLOW)

    assert 1 == sum(functions(r).count("rsqrt") for r in found.regions)


def test_of_a_table_only_what_is_looked_up_is_traffic():
    ids, table = torch.arange(16), torch.randn(50_000, D)

    (cost,) = cut(lambda ids, table: rms(nn.functional.embedding(ids, table)), ids, table, machine=SLOW).costs

    assert cost.seconds < 2 * CALL_S


def test_a_graph_with_many_views_is_cut_until_a_kernel_can_hold_each_region():
    def chain(x):
        for _ in range(2 * MOST_CUTS):
            x = x.sin().unflatten(0, (8, 8)).transpose(0, 1).flatten(0, 1)
        return x

    graph = graph_of(chain, torch.rand(64, D))
    found = partition(graph, H100, {}, lambda region: "too many views" * (len(region.nodes) > 12))

    assert not found.left
    assert max(len(r.nodes) for r in found.regions) <= 12


def test_a_region_is_cut_where_torch_rounds_to_a_narrower_dtype_than_the_result_has():
    x, a, b = torch.randn(4, D), torch.randn(D, D, dtype=torch.bfloat16), torch.randn(4, D)

    def code(x, a, b):
        return nn.functional.silu(x.exp().bfloat16() @ a).float() + b

    found = cut(code, x, a, b)
    assert [["exp", "bfloat16", "matmul", "silu"], ["float", "add"]] == list(map(functions, found.regions))

    norm = cut(lambda x, a: rms(x.float()).bfloat16() @ a, x.bfloat16(), a)  # rounds to the result's dtype
    assert [["float", "square", "mean", "add", "rsqrt", "mul", "bfloat16", "matmul"]] == list(
        map(functions, norm.regions)
    )


def test_a_region_may_write_a_narrower_dtype_than_it_reads():
    x, w, b = torch.randn(4, D), torch.randn(D, D), torch.randn(4, D)

    (only,) = cut(lambda x, w, b: (x.bfloat16() @ w.bfloat16()).sigmoid() + b.bfloat16(), x, w, b).regions

    assert ["add", "bfloat16", "bfloat16", "bfloat16", "matmul", "sigmoid"] == sorted(functions(only))


def test_attention_that_is_written_out_is_one_region():
    q, k, v = (torch.randn(2, HEADS, 128, 64) for _ in range(3))

    found = cut(lambda q, k, v: torch.softmax(q @ k.mT * 0.125, -1) @ v, q, k, v)

    (only,) = found.regions
    assert 2 == functions(only).count("matmul")


def test_a_cache_that_grows_is_put_together_outside_of_the_attention_that_reads_it():
    q, past, new, keep = (
        torch.randn(HEADS, 1, 64),
        torch.randn(HEADS, 9, 64),
        torch.randn(HEADS, 1, 64),
        torch.randn(10),
    )
    torch._dynamo.maybe_mark_dynamic(past, 1)
    torch._dynamo.maybe_mark_dynamic(keep, 0)

    def step(q, past, new, keep):
        k = torch.cat((past, new), 1)
        return torch.softmax(q @ k.mT + keep, -1) @ k, torch.cat((q, new), -1).sin()

    found = partition(graph_of(step, q, past, new, keep, dynamic=None), H100, {}, lambda region: "")
    attention = [r for r in found.regions if "matmul" in functions(r)]

    assert not any("cat" in functions(r) for r in attention)
    assert {("n0",)} == {tuple(r.sizes.at) for r in attention}
    assert ["it grows along a size that varies from call to call"] == [*found.left.values()]
    assert any("cat" in functions(r) for r in found.regions)


def test_masked_scores_are_in_the_region_of_the_softmax_that_reads_them():
    q, k, v, keep = *(torch.randn(2, HEADS, 128, 64) for _ in range(3)), torch.ones(128, 128).tril() == 0

    def attention(q, k, v, keep):
        return torch.softmax((q @ k.mT * 0.125).masked_fill(keep, float("-inf")), -1) @ v

    (only,) = cut(attention, q, k, v, keep).regions
    assert "masked_fill" in functions(only)

    found = cut(lambda x, keep: (x * 2).masked_fill(keep, float("-inf")), q[0, :, :, :], keep[:, :64])
    assert ["masked_fill"] == [n.target for n in found.left]
    assert "may be infinite" in str(list(found.left.values()))


def test_a_mask_of_one_number_is_made_in_the_region_that_reads_it():
    """As an input it would be minus infinity times 0 where a kernel takes its triangle."""
    q, k, v = (torch.randn(2, HEADS, 128, 64) for _ in range(3))

    def attention(q, k, v):
        scores = q @ k.mT * 0.125 + torch.full((128, 128), float("-inf")).triu(1)
        return torch.softmax(scores, -1) @ v

    found = cut(attention, q, k, v)
    (only,) = found.regions

    assert {"full", "triu"} <= set(functions(only)) and not found.left
    assert "band" in show(trace(only.module(), only.example_inputs()).program.graph)

    def accumulated(x):
        total = torch.zeros(128, 64)
        total += x
        return total * 2

    assert not any("zeros" in functions(r) for r in cut(accumulated, q[0, 0]).regions)


def test_a_rotary_embedding_is_cut_from_its_product_which_it_would_compute_twice():
    x, w, cos, sin = torch.randn(16, D), torch.randn(D, D), torch.randn(16, D), torch.randn(16, D)

    def rotary(x, w, cos, sin):
        q = x @ w
        return q * cos + torch.cat((-q[:, D // 2 :], q[:, : D // 2]), -1) * sin

    found = cut(rotary, x, w, cos, sin)

    assert [["matmul"]] == [functions(r) for r in found.regions if "matmul" in functions(r)]
    assert 2 == len(found.regions)


def test_a_measured_time_replaces_the_model_s():
    x, a, b = torch.randn(4, D), torch.randn(D, D), torch.randn(D, D)

    def gated(x, a, b):
        return nn.functional.silu(x @ a) * (x @ b)

    graph = graph_of(gated, x, a, b)
    (whole,) = partition(graph, H100, {}, lambda region: "").regions
    slow = partition(graph, H100, {whole.text: 1.0}, lambda region: "")

    assert 1 < len(slow.regions)
    again = partition(graph, H100, {whole.text: 1e-9}, lambda region: "")
    assert [True] == [c.is_measured for c in again.costs]


def test_what_no_kernel_can_compute_is_cut_smaller_and_says_why():
    x, a = torch.randn(4, D), torch.randn(D, D)

    found = cut(lambda x, a: nn.functional.silu(x @ a), x, a, refused=lambda region: "no row" * ("silu" in region.name))

    assert [["matmul"]] == [functions(r) for r in found.regions]
    assert ["no row"] == list(found.left.values())


def test_a_region_that_is_too_large_for_one_kernel_is_cut_until_all_are_small_enough():
    def chain(x):
        return (x.exp() + 1.0).sin().cos().sqrt()

    graph = graph_of(chain, torch.rand(64, D))
    asked = []

    def refused(region):
        asked.append(len(region.nodes))
        return "too large" * (len(region.nodes) > 2)

    found = partition(graph, H100, {}, refused)

    assert 5 == asked[0]
    assert not found.left
    assert max(len(r.nodes) for r in found.regions) <= 2


@pytest.mark.parametrize(("size", "is_inside"), [(1, True), (3, False)])
def test_a_convolution_is_in_a_region_if_one_kernel_can_compute_it(size, is_inside):
    x, w = torch.randn(4, 64, 32, 32), torch.randn(64, 64, size, size)

    found = cut(lambda x, w: rms(torch.conv2d(x, w, padding=size // 2)), x, w)

    assert is_inside == any("conv2d" in functions(r) for r in found.regions)
    assert any("rsqrt" in functions(r) for r in found.regions)
    assert is_inside == (not any("operators in one kernel; the limit is" in why for why in found.left.values()))


def test_no_region_spans_a_write_in_place():
    x, a = torch.randn(4, D), torch.randn(D, D)

    def overwritten(x, a):
        h = x @ a
        x.add_(1.0)
        return nn.functional.silu(h) + x

    found = cut(overwritten, x, a)

    assert all(not {"matmul", "silu"} <= set(functions(r)) for r in found.regions)


def test_integers_and_masks_stay_in_torch_and_the_mask_is_an_input():
    q, k, v = (torch.randn(1, HEADS, 16, 64) for _ in range(3))

    def masked(q, k, v, positions):
        mask = positions[:, None] >= positions[None]
        return nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    found = cut(masked, q, k, v, torch.arange(16))

    (only,) = found.regions
    assert [torch.float32] * 3 + [torch.bool] == [n.meta["example_value"].dtype for n in only.tensors]


def test_what_reads_a_table_that_its_code_makes_stays_in_torch():
    x, i = torch.randn(4, 5), torch.zeros(4, dtype=torch.int64)
    calls = [
        n
        for ignored in (-100, 1)
        for n in graph_of(lambda x, i, at=ignored: nn.functional.nll_loss(x, i, ignore_index=at), x, i).nodes
        if n.op == "call_function"
    ]

    assert ["", "its program reads a table that its code makes"] == [translation_of(n).obstacle for n in calls]


def test_what_has_a_size_or_a_number_that_depends_on_data_stays_in_torch():
    def code(x, w):
        rows = x[:, 0].nonzero()[:, 0]
        chosen = (x[rows] @ w).relu()
        return torch.zeros_like(x).index_add(0, rows, chosen).sin(), x * x.sum().item()

    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True, capture_scalar_outputs=True):
        graph = graph_of(code, torch.randn(6, 8), torch.randn(8, 8))
        found = partition(graph, H100, {}, lambda _: "")

    reasons = {called_name(n): translation_of(n).obstacle for n in graph.nodes if n.op in CALLS}
    assert "one of its sizes depends on data" == reasons["matmul"] == reasons["relu"] == reasons["index_add"]
    assert "it reads a number that depends on data" == reasons["mul"]
    assert ["sin", "sum"] == sorted(functions(r)[-1] for r in found.regions)


def test_what_draws_random_numbers_stays_in_torch():
    graph = graph_of(lambda x: torch.randn_like(x) * x + torch.empty_like(x).normal_(), torch.randn(4, 5))

    reasons = {called_name(n): translation_of(n).obstacle for n in graph.nodes if n.op in CALLS}
    assert "it draws random numbers" == reasons["randn_like"] == reasons["normal_"]
    assert "" == reasons["mul"] == reasons["add"]


def large(x, w):
    """A product and nine more nodes, in one region."""
    y = x @ w
    for _ in range(9):
        y = y.sin()
    return y


def test_a_region_that_cannot_matter_is_not_searched():
    x, w, small = torch.randn(64, D), torch.randn(D, D), torch.randn(4)
    slow = H100.replace(peak_flops_per_s=1e9)

    found = cut(lambda x, w, small: (large(x, w), small.cos()), x, w, small, machine=slow)

    why = f"its region, with all equal ones, takes less than {LEAST_SHARE:.0%} of the modelled time"
    assert [why] == list(found.left.values())


def test_small_regions_are_searched_where_they_have_many_of_the_nodes():
    x, w, *small = torch.randn(64, D), torch.randn(D, D), *(torch.randn(n, 1024) for n in (2, 8, 4))
    slow = H100.replace(peak_flops_per_s=1e9)

    found = cut(lambda x, w, *some: (large(x, w), *(a.cos() for a in some)), x, w, *small, machine=slow)

    assert len(found.left) <= MOST_LEFT * len(found.computing) < 1 + len(found.left)
    assert [2 * 1024] == [n.meta["example_value"].numel() for n in found.left]


def test_equal_regions_are_searched_if_together_they_matter():
    x, w, *small = torch.randn(64, D), torch.randn(D, D), *(torch.randn(4) for _ in range(9))
    work_s = CALL_S / LEAST_SHARE
    slow = H100.replace(peak_flops_per_s=2 * 64 * D * D / work_s / 4)

    one = cut(lambda x, w, a: (large(x, w), a.cos()), x, w, small[0], machine=slow)
    nine = cut(lambda x, w, *some: (large(x, w), *(a.cos() for a in some)), x, w, *small, machine=slow)

    assert (1, 10) == (len(one.regions), len(nine.regions))


def test_regions_of_the_steps_of_a_loop_read_parts_of_tensors_and_are_equal():
    def recurrence(x, gates, w):
        state = torch.zeros(16, D)
        for t in range(10):
            state = torch.tanh(x[t] + state @ w) * gates[:, t]
        return state

    found = cut(recurrence, torch.randn(10, 16, D), torch.randn(16, 10, D), torch.randn(D, D))

    assert len(found.regions) >= 9 and len({r.text for r in found.regions}) <= 3
    assert not any("getitem" in functions(r) for r in found.regions[1:])
    twice = cut(lambda x: x[0].sin().sort().values @ x[1].sin().sort().values.mT, torch.randn(2, 64, D))
    assert all("getitem" in functions(r) for r in twice.regions[:2])


def test_equal_regions_have_equal_texts_and_other_strides_another():
    x, w = torch.randn(4, D), torch.randn(D, D)
    layers = cut(lambda x, w: torch.sort(torch.sort(x @ w).values @ w).values, x, w).regions
    other = cut(lambda x, w: torch.sort(x @ w.T).values, x, w.T.contiguous()).regions

    assert 2 == len(layers)
    assert 1 == len({r.text for r in layers})
    assert layers[0].text != other[0].text


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 1, 0)])
def test_the_module_of_a_region_returns_its_result_in_the_order_of_its_memory(order):
    x = torch.randn(3, 4, 5).permute(order)

    (region,) = cut(lambda x: torch.exp(x) + 1.0, x).regions
    found = region.module("at hints")(x)

    assert found.is_contiguous()
    inverse = tuple(region.order.index(d) for d in range(3))
    torch.testing.assert_close(torch.exp(x) + 1.0, found.permute(inverse), rtol=0, atol=0)


def test_equal_nodes_are_translated_once():
    graph = graph_of(lambda x: torch.exp(torch.exp(x) * 2.0) * 2.0, torch.randn(4, 8))
    calls = [n for n in graph.nodes if n.op == "call_function"]

    assert 2 == len({id(translation_of(n)) for n in calls})
    assert 2.0 * 4 * 8 > translation_of(calls[-1]).flops > 0


def test_a_region_names_what_only_it_computes():
    x, a, b = torch.randn(4, D), torch.randn(D, D), torch.randn(D, D)
    graph = graph_of(lambda x, a, b: (torch.exp(x) @ a) - (torch.exp(x) @ b), x, a, b)
    nodes = [n for n in graph.nodes if n.op == "call_function"]
    region = Region.of(frozenset(nodes))

    assert region.result is nodes[-1]
    assert set(region.exclusive) == set(nodes)


def test_what_computes_several_results_is_in_the_region_that_reads_one_of_them():
    def largest(x, y):
        values, places = x.max(1)
        return torch.exp(values + y), places

    found = cut(largest, torch.randn(64, D), torch.randn(64))

    assert [["max", "getitem", "add", "exp"]] == list(map(functions, found.regions))
    assert {} == found.left
    assert all(i in found.regions[0].tensors for i in found.regions[0].inputs)
