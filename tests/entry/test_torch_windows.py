"""Windows that overlap: operators that no kernel holds, as products and reductions of views."""

import pytest
import torch
from torch import nn

from prism_explore.entry.torch_layers import expand_layers
from prism_explore.entry.torch_nodes import called_name
from prism_explore.entry.torch_partition import partition
from tests.entry.test_torch_compile import compiled, compiler, short_searches  # noqa: F401
from tests.entry.test_torch_layers import expanded
from tests.entry.test_torch_partition import H100, functions, graph_of

LINE, IMAGE = torch.randn(2, 6, 19), torch.randn(2, 6, 13, 11)


@pytest.mark.parametrize(
    "layer, x",
    [
        (nn.Conv1d(6, 6, 5, padding=4, groups=6), LINE),
        (nn.Conv1d(6, 6, 5, stride=2, dilation=2, groups=6, bias=False), LINE),
        (nn.Conv1d(6, 6, 5, padding=4, groups=6), LINE[0]),
        (nn.Conv2d(6, 6, 3, padding=1, groups=6), IMAGE),
        (nn.Conv2d(6, 6, (5, 3), stride=(2, 1), padding=(2, 0), dilation=(1, 2), groups=6), IMAGE),
        (nn.Conv2d(6, 6, 3, padding=1, groups=6), IMAGE.contiguous(memory_format=torch.channels_last)),
        (nn.AvgPool2d(3, 1, 1, count_include_pad=False), IMAGE),
        (nn.AvgPool2d(3, 2, 1, divisor_override=5), IMAGE),
        (nn.AvgPool1d(7, 2, 3), LINE),
        (nn.AvgPool1d(7, 2, 3, count_include_pad=False), LINE),
        (nn.MaxPool2d(3, 2, 1), IMAGE),
        (nn.MaxPool2d((3, 2), 2, (1, 0), dilation=(2, 1)), IMAGE),
        (nn.MaxPool2d(3, 2, 1), IMAGE[0]),
        (nn.MaxPool1d(9, 1, 2), LINE),
    ],
)
def test_windows_that_no_kernel_holds_are_views(layer, x):
    found, wanted, names = expanded(layer.eval(), x)

    torch.testing.assert_close(wanted, found)
    assert wanted.stride() == found.stride()
    assert "unfold" in names
    assert {"conv1d", "conv2d", "avg_pool1d", "avg_pool2d", "max_pool1d", "max_pool2d"}.isdisjoint(names)


@pytest.mark.parametrize(
    "layer, x",
    [
        (nn.AvgPool2d(3, 2, ceil_mode=True), IMAGE),
        (nn.AvgPool2d(2), IMAGE),
        (nn.Conv2d(6, 12, 3, groups=6), IMAGE),
        (nn.Conv2d(6, 6, 3), IMAGE),
        (nn.Conv2d(6, 6, 3, padding="same", groups=6), IMAGE),
        (nn.Conv2d(6, 6, 3, groups=6).bfloat16(), IMAGE.bfloat16()),
        (nn.MaxPool2d(3, return_indices=True), IMAGE),
    ],
)
def test_other_windows_stay_as_they_are(layer, x):
    found, wanted, names = expanded(layer.eval(), x)

    torch.testing.assert_close(wanted, found)
    assert "unfold" not in names


def test_where_the_whole_graph_is_not_raced_windows_stay_as_they_are():
    graph = graph_of(nn.MaxPool2d(3, 2, 1), IMAGE)

    expand_layers(graph, windows=False)

    assert {"max_pool2d"} == {called_name(n) for n in graph.nodes if n.op == "call_function"}


def test_views_that_torch_makes_do_not_count_as_computing():
    def code(x):
        return torch.as_strided(x, (4, 3, 2), (8, 2, 1)).relu().sum(-1) + x.unfold(1, 2, 2)[:, :3].sum(-1)

    graph = graph_of(code, torch.randn(4, 8))
    cut = partition(graph, H100, {}, lambda _: "")

    assert not cut.left
    assert {"relu", "sum", "add"} == {n for r in cut.regions for n in functions(r)} - {"getitem"}


@pytest.mark.usefixtures("short_searches")
def test_kernels_read_windows_that_overlap_in_memory():
    torch.manual_seed(0)
    module = nn.Sequential(nn.Conv1d(16, 16, 4, padding=3, groups=16), nn.SiLU()).eval()
    backend, x = compiler(rest="fastest"), torch.randn(2, 16, 12)

    with torch.no_grad():
        found, wanted = compiled(module, backend)(x), module(x)

    (graph,) = backend.report().graphs
    assert graph.covered == graph.computing > 0
    assert all(row.replaced and "its torch code has parts of conv1d" in row.reason for row in graph.regions)
    torch.testing.assert_close(wanted, found)
