"""Weights of few bits in torch.compile: the code that unpacks them is in the region of what reads them."""

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import prism_explore as px
from prism_explore.entry.torch_constants import fold_constants
from prism_explore.entry.torch_nodes import CALLS, called_name, translation_of, unpacked_before
from prism_explore.entry.torch_partition import partition
from prism_explore.entry.torch_shifts import name_amounts, unless_changed
from prism_explore.entry.torch_simplify import simplify
from prism_explore.entry.torch_words import read_words_as_bytes
from prism_explore.pipeline.search_space import LARGEST_OPS, fused_ops
from tests.entry.test_torch_compile import compiled, compiler, short_searches  # noqa: F401
from tests.entry.test_torch_partition import H100, functions, graph_of

K, N, GROUP = 32, 16, 16


class Quantized(nn.Module):
    """A linear layer of 4 bits in groups, each with a scale and a zero point; subclasses unpack it in other ways."""

    def __init__(self):
        super().__init__()
        groups = (N, K // GROUP, 1)
        self.register_buffer("codes", torch.randint(0, 256, (N, K // 2), dtype=torch.uint8))
        self.register_buffer("scales", torch.rand(groups) + 0.5)
        self.register_buffer("zeros", torch.randint(0, 16, groups, dtype=torch.uint8))
        self.register_buffer("places", torch.tensor([0, 4], dtype=torch.uint8))

    def numbers(self):
        return torch.stack((self.codes & 15, self.codes >> 4), -1)

    def weight(self, kind):
        numbers = self.numbers().reshape(N, -1, GROUP)
        return ((numbers.to(kind) - self.zeros.to(kind)) * self.scales.to(kind)).reshape(N, -1)

    def forward(self, x):
        return F.linear(x, self.weight(x.dtype))


class ByPlaces(Quantized):
    def numbers(self):
        return (self.codes[..., None] >> self.places) & 15


class ByRange(Quantized):
    def numbers(self):
        return (self.codes[..., None] >> torch.arange(0, 8, 4, dtype=torch.uint8)) & 15


class OfIntegers(Quantized):
    def weight(self, kind):
        numbers = self.numbers().reshape(N, -1, GROUP).to(torch.int8) - self.zeros.to(torch.int8)
        return (numbers.to(kind) * self.scales.to(kind)).reshape(N, -1)


class Signed(Quantized):
    def weight(self, kind):
        numbers = self.numbers().to(torch.int8)
        signed = torch.where(numbers > 7, numbers - 16, numbers).reshape(N, -1, GROUP)
        return (signed * self.scales.to(kind)).reshape(N, -1)


class ByShifts(Quantized):
    def weight(self, kind):
        codes = self.codes.view(torch.int8)
        return (torch.stack((codes << 4 >> 4, codes >> 4), -1).reshape(N, -1, GROUP) * self.scales.to(kind)).flatten(1)


class Halves(Quantized):
    def numbers(self):
        low, high = (self.codes & 15, self.codes // 16)
        return torch.cat((low, high), -1)


class Ternary(Quantized):
    def weight(self, kind):
        numbers = torch.stack([(self.codes >> n) & 3 for n in (0, 2, 4, 6)], -1).reshape(N, -1)
        return (numbers.clamp(max=2).to(torch.int8) - 1).to(kind)

    def forward(self, x):
        return F.linear(x, self.weight(x.dtype)) * self.scales[:, 0, 0].to(x.dtype)


class OfWords(Quantized):
    """As GPTQ stores weights: eight codes of a column in a word, and zero points of eight columns."""

    def __init__(self):
        super().__init__()
        self.codes = random_words(K // 8, N)
        self.zeros = random_words(K // GROUP, N // 8)
        self.scales = torch.rand(K // GROUP, 1, N) + 0.5
        self.register_buffer("amounts", torch.arange(0, 32, 4, dtype=torch.int32).unsqueeze(0))

    def forward(self, x):
        zeros = torch.bitwise_right_shift(self.zeros.unsqueeze(2).expand(-1, -1, 8), self.amounts.unsqueeze(0))
        codes = torch.bitwise_right_shift(self.codes.unsqueeze(1).expand(-1, 8, -1), self.amounts.unsqueeze(-1))
        zeros = torch.bitwise_and(zeros.to(torch.int8), 15).reshape(-1, 1, N)
        codes = torch.bitwise_and(codes.to(torch.int8), 15).reshape(-1, GROUP, N)
        return x @ (self.scales.to(x.dtype) * (codes - zeros)).reshape(K, N)


class OfSlicedWords(Quantized):
    def __init__(self):
        super().__init__()
        self.codes = random_words(N, K // 8)
        self.zeros = random_words(N, 1)

    def weight(self, kind):
        codes = torch.stack([(self.codes >> n) & 15 for n in (0, 16, 4, 20, 8, 24, 12, 28)], -1)
        zeros = torch.stack([(self.zeros >> n) & 15 for n in (24, 28)], 1)
        return ((codes.reshape(N, -1, GROUP) - zeros) * self.scales.to(kind)).reshape(N, -1)


def random_words(*shape):
    return torch.randint(-(2**31), 2**31, shape, dtype=torch.int64).to(torch.int32)


LAYERS = (OfWords, OfSlicedWords, Quantized, ByPlaces, ByRange, OfIntegers, Signed, ByShifts, Halves, Ternary)


def prepared(module, *examples):
    """torch's graph as the backend cuts it, and the regions."""
    graph = graph_of(module, *examples)
    placeholders = [n for n in graph.nodes if n.op == "placeholder"]
    held = {b.shape: b for n, b in module.named_buffers() if n in ("places", "amounts")}
    name_amounts(graph, [held.get(n.meta["example_value"].shape) for n in placeholders])
    read_words_as_bytes(graph)
    simplify(graph)
    fold_constants(graph)
    return graph, partition(graph, H100, {}, lambda _: "")


def example(layer):
    torch.manual_seed(0)
    return layer().eval(), torch.randn(3, 2 * K if layer is Ternary else K)


@pytest.mark.parametrize("layer", LAYERS)
def test_a_region_reads_the_bytes(layer):
    module, x = example(layer)

    _, found = prepared(module, x)

    (only,) = found.regions
    assert not found.left
    whole = [n for n in only.tensors if not n.meta["example_value"].is_floating_point()]
    assert {torch.uint8} == {n.meta["example_value"].dtype for n in whole}
    of_words = issubclass(layer, OfWords | OfSlicedWords)
    assert of_words or {"codes", "zeros"} >= {n.name.rpartition("_buffers_")[2].strip("_") for n in whole}
    assert {"call_method" if of_words else "placeholder"} == {n.op for n in whole}


@pytest.mark.parametrize("layer", LAYERS)
def test_kernels_unpack_what_torch_unpacks(layer):
    module, x = example(layer)
    wide = copy.deepcopy(module).double()
    backend = compiler()

    with torch.no_grad():
        found = compiled(module, backend)(x)
        exact = wide(x.double())
        error, eager = ((y - exact).abs().max() for y in (found, module(x)))

    assert [True] == [row.replaced for row in backend.outcomes], backend.report()
    assert error <= 2 * eager + 1e-6
    assert "u8" in backend.outcomes[0].program


def test_other_amounts_of_a_shift_run_torch_s_code():
    module, x = example(ByPlaces)
    fast = compiled(module, compiler())
    with torch.no_grad():
        before = fast(x)
        module.places.copy_(torch.tensor([4, 0]))
        after = fast(x)

        torch.testing.assert_close(module(x), after)
        assert not torch.equal(before, after)
        module.places.copy_(torch.tensor([0, 4]))
        torch.testing.assert_close(before, fast(x))


def test_amounts_are_compared_again_where_they_may_have_changed():
    graph = graph_of(
        lambda q, s, x: (q[:, None] >> s) * x, *(amounts := (torch.ones(3).byte(), torch.tensor([1, 2]))), torch.ones(2)
    )
    known = name_amounts(graph, (*amounts, None))
    call = unless_changed(known, lambda *_: "chosen", lambda: lambda *_: "torch")

    assert [1] == [k.position for k in known]
    assert "chosen" == call(0, amounts[1], 0) == call(0, amounts[1].clone(), 0)
    with torch.inference_mode():
        assert ["chosen", "torch"] == [call(0, torch.tensor(n), 0) for n in ([1, 2], [1, 3])]
    amounts[1][0] = 5
    assert "torch" == call(0, amounts[1], 0)
    assert "torch" == call(0, torch.tensor([1]), 0)


def test_amounts_that_something_else_reads_stay_a_tensor():
    given = torch.ones(3).byte(), torch.tensor([1, 2], dtype=torch.uint8), torch.ones(2)

    graph = graph_of(lambda q, s, x: (q[:, None] >> s) * x * s, *given)

    assert () == name_amounts(graph, given)


def test_integers_that_a_region_reads_and_the_graph_returns_are_torch_s_too():
    def code(x, q, s):
        numbers = q & 15
        return x @ (numbers * s), numbers

    x, q, s = torch.randn(3, 8), torch.randint(0, 256, (8, 4), dtype=torch.uint8), torch.rand(4)
    backend = compiler()
    with torch.no_grad():
        found, numbers = compiled(code, backend)(x, q, s)

    torch.testing.assert_close(code(x, q, s)[0], found)
    assert torch.equal(q & 15, numbers)
    assert [True] == [row.replaced for row in backend.outcomes], backend.report()


def test_positions_that_are_computed_of_bytes_are_read_as_they_are():
    def code(q, table, x):
        return table[(q & 7).long()] * x

    graph = graph_of(code, torch.randint(0, 256, (6,), dtype=torch.uint8), torch.randn(8, 4), torch.randn(6, 4))
    found = partition(graph, H100, {}, lambda _: "")

    (only,) = found.regions
    assert ["getitem", "mul"] == functions(only)


def test_sums_of_bytes_stay_in_torch():
    graph = graph_of(lambda q, x: q.sum(-1) * x, torch.ones(3, 4).byte(), torch.randn(3))

    reasons = {called_name(n): translation_of(n).obstacle for n in graph.nodes if n.op in CALLS}
    assert {"sum": "it computes integers of many others", "mul": ""} == reasons


def test_bytes_that_are_written_in_place_are_unpacked_before():
    def code(q, x):
        low = q & 15
        q.copy_(q >> 4)
        return low * x + q * x

    q, x = torch.randint(0, 256, (5,), dtype=torch.uint8), torch.randn(5)
    with torch.no_grad():
        found = compiled(code, compiler())(q.clone(), x)

    torch.testing.assert_close(code(q.clone(), x), found)


def test_many_operators_that_only_unpack_are_in_one_region():
    def code(x, q, s):
        bits = torch.stack([(q >> n) & 1 for n in range(8)], -1).flatten(1)
        return F.linear(x, bits.to(x.dtype) * 2 - 1) * s

    q = torch.randint(0, 256, (N, K // 8), dtype=torch.uint8)
    graph = graph_of(code, torch.randn(3, K), q, torch.rand(N))
    backend = px.TorchCompiler()
    found = partition(graph, H100, {}, backend._refused)

    (only,) = found.regions
    assert LARGEST_OPS < fused_ops(backend._program(only).traced.program)
    read = {called_name(n): len(unpacked_before(n)) for n in only.nodes}
    assert [18, 0] == [read["to"], read["linear"]]


class Coded(Quantized):
    """4-bit codes of a table that the module holds."""

    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.randn(16))

    def weight(self, kind):
        numbers = self.table.to(kind)[self.numbers().long()].reshape(N, -1, GROUP)
        return (numbers * self.scales.to(kind)).reshape(N, -1)


class CodedByExponents(Coded):
    def weight(self, kind):
        table = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0], dtype=kind)
        numbers = table[(self.numbers() & 7).int()].reshape(N, -1, GROUP)
        return torch.ldexp(numbers, self.zeros.int() - 8).reshape(N, -1)


class CodedBytes(Coded):
    def __init__(self):
        super().__init__()
        self.table = torch.randn(256)

    def numbers(self):
        return torch.cat((self.codes, self.codes.flip(1)), 1)


class Float8(Quantized):
    def __init__(self):
        super().__init__()
        self.codes = torch.randn(N, K).to(torch.float8_e4m3fn)

    def weight(self, kind):
        return self.codes.to(kind) * self.scales[:, 0].to(kind)


@pytest.mark.parametrize("layer", [Coded, CodedByExponents, CodedBytes, Float8])
def test_a_codebook_is_in_the_kernel(layer):
    test_kernels_unpack_what_torch_unpacks(layer)


def test_another_codebook_runs_torch_s_code():
    module, x = example(Coded)
    backend = compiler()
    fast = compiled(module, backend)
    with torch.no_grad():
        before = fast(x)
        module.table.neg_()
        torch.testing.assert_close(module(x), fast(x))
        module.table.neg_()
        torch.testing.assert_close(before, fast(x))
    assert [True] == [row.replaced for row in backend.outcomes], backend.report()


def test_a_codebook_that_something_else_reads_stays_a_tensor():
    given = torch.ones(3).byte(), torch.randn(16), torch.randn(3)

    for code in (
        lambda q, t, x: t[(q & 15).long()] * x + t[:3],
        lambda q, t, x: t[x.long()] * x + q,
        lambda q, t, x: (t * x[0])[(q & 15).long()],
    ):
        assert () == name_amounts(graph_of(code, *given), given)
    assert [1] == [k.position for k in name_amounts(graph_of(lambda q, t, x: t[(q & 15).long()] * x, *given), given)]


def test_an_index_beyond_a_codebook_is_torch_s_error():
    def code(q, t, x):
        return t[q.long()] * x

    given = torch.full((3,), 20, dtype=torch.uint8), torch.randn(16), torch.randn(3)
    with torch.no_grad(), pytest.raises(IndexError):
        compiled(code, compiler())(*given)
