"""Integers that pack numbers of few bits: programs of their bytes compute what torch computes of the words."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import prism_explore as px
from prism_explore.errors import ShapeError
from prism_explore.frontend import trace
from prism_explore.frontend.traced_program import Traced
from prism_explore.ir.interpreter.reference import evaluate
from prism_explore.pipeline.search_space import limited_ops

K, N, GROUP = 64, 16, 32
SPECIAL = (0, 1, -1, -(2**31), 2**31 - 1, 0x0F0F0F0F, 0x80, -0x80)


def words(*shape, dtype=torch.int32):
    """Random words, the first of which are the extreme ones."""
    limits = torch.iinfo(dtype)
    found = torch.randint(limits.min, limits.max, shape, dtype=torch.int64)
    for n, special in enumerate((*SPECIAL, limits.min, limits.max)[: found.numel()]):
        found.view(-1)[n] = special
    return found.to(dtype)


def evaluated(traced: Traced, *tensors):
    """The program on the inputs that are bound to tensors, in float64."""
    bound = traced.bind(*tensors)
    arrays = [x.double().numpy() if x.is_floating_point() else x.numpy() for x in bound]
    return torch.from_numpy(np.array(evaluate(traced.program, dict(zip(names(traced), arrays, strict=True)))))


def names(traced: Traced):
    return [i.name for i in traced.program.inputs]


def wide_sum(codes, x):
    return codes.to(x.dtype) + x


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([torch.int32, torch.int64]),
    st.sampled_from([None, torch.int8, torch.int16, torch.int64, torch.uint8]),
    st.integers(0, 63),
    st.one_of(st.none(), st.integers(1, 2**12 - 1), st.sampled_from([1, 7, 15, 255, 0xFFFF, 0xF0F0, 2**24 - 1])),
)
def test_any_few_bits_of_a_word_are_torch_s(kind, cast, amount, mask):
    torch.manual_seed(amount)
    held, x = words(5, 7, dtype=kind), torch.zeros(5, 7)
    amount %= torch.iinfo(kind).bits
    if mask is not None:
        mask = mask % torch.iinfo(cast or kind).max or 1

    def code(q, x):
        found = q >> amount if cast is None else (q >> amount).to(cast)
        return wide_sum(found if mask is None else found & mask, x)

    traced = trace(code, {"q": held, "x": x})

    if mask is None and cast in (None, torch.int64) and torch.iinfo(kind).bits - amount > 24:
        assert {""} == {b.bits for b in traced.bindings}  # float32 has no such number
        return
    assert str(kind) == f"torch.{next(b.bits for b in traced.bindings if b.source == 'q')}"
    assert torch.equal(code(held, x).double(), evaluated(traced, held, x))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 28), min_size=1, max_size=8), st.integers(1, 255), st.integers(0, 2))
def test_any_amounts_along_any_dim(amounts, mask, along):
    held, x = words(3, 4), torch.zeros(1)
    shape = [1, 1, 1]
    shape[along] = len(amounts)

    def code(q, x):
        return wide_sum((q.unsqueeze(along) >> torch.tensor(amounts).reshape(shape)) & mask, x)

    traced = trace(code, {"q": held, "x": x})

    assert torch.equal(code(held, x).double(), evaluated(traced, held, x))


class Gptq(nn.Module):
    """A linear layer as GPTQ stores it: words of codes of one column, and of zero points of one group."""

    def __init__(self, bits=4, cast=torch.int8):
        super().__init__()
        each, self.mask, self.cast = 32 // bits, 2**bits - 1, cast
        self.register_buffer("qweight", words(K // each, N))
        self.register_buffer("qzeros", words(K // GROUP, N // each))
        self.register_buffer("scales", torch.rand(K // GROUP, N) + 0.5)
        self.register_buffer("wf", torch.arange(0, 32, bits, dtype=torch.int32).unsqueeze(0))

    def forward(self, x):
        each = self.wf.shape[1]
        zeros = torch.bitwise_right_shift(self.qzeros.unsqueeze(2).expand(-1, -1, each), self.wf.unsqueeze(0))
        zeros = (torch.bitwise_and(zeros.to(self.cast), self.mask) + 1).reshape(-1, 1, N)
        codes = torch.bitwise_right_shift(self.qweight.unsqueeze(1).expand(-1, each, -1), self.wf.unsqueeze(-1))
        codes = torch.bitwise_and(codes.to(self.cast), self.mask).reshape(-1, GROUP, N)
        return x @ (self.scales.reshape(-1, 1, N) * (codes - zeros)).reshape(K, N)


class Awq(nn.Module):
    """A linear layer as AWQ stores it: the words of a row have codes of interleaved columns."""

    def __init__(self):
        super().__init__()
        self.register_buffer("qweight", words(K, N // 8))
        self.register_buffer("scales", torch.rand(K // GROUP, N) + 0.5)

    def forward(self, x):
        codes = (self.qweight[:, :, None] >> torch.tensor([0, 16, 4, 20, 8, 24, 12, 28])) & 15
        codes = codes.reshape(K // GROUP, GROUP, N).to(x.dtype)
        return x @ ((codes - 8) * self.scales[:, None]).reshape(K, N)


class Signed(nn.Module):
    """Codes of 8 bits with a sign, by casts."""

    def __init__(self):
        super().__init__()
        self.register_buffer("codes", words(N, K // 4))

    def forward(self, x):
        codes = torch.stack([(self.codes >> n).to(torch.int8) for n in (0, 8, 16, 24)], -1)
        return F.linear(x, codes.reshape(N, K).to(x.dtype) * 0.01)


LAYERS = [Gptq(), Gptq(8, torch.int16), Gptq(2), Awq(), Signed()]


@pytest.mark.parametrize("layer", LAYERS, ids=lambda x: type(x).__name__)
def test_layers_are_programs_of_bytes(layer):
    x = torch.randn(3, K)
    traced = trace(layer, {"x": x})

    found = evaluated(traced, x)

    assert {"int32"} == {b.bits for b in traced.bindings if b.source not in ("x", "scales")}
    torch.testing.assert_close(layer.double()(x.double()), found, rtol=1e-12, atol=1e-12)
    layer.float()


def test_words_may_be_stored_in_any_order():
    held, x = words(6, 4).t(), torch.randn(4, 6)

    def code(q, x):
        return ((q >> 28) & 15).to(x.dtype) * x

    for given_words in (held, held.contiguous(), words(8, 6)[::2]):
        traced = trace(code, {"q": given_words, "x": x})
        assert torch.equal(code(given_words, x.double()), evaluated(traced, given_words, x))
        (binding,) = (b for b in traced.bindings if b.source == "q")
        assert torch.equal(given_words, binding.source_of(binding.view(given_words)))


def test_integers_that_are_also_positions_stay_numbers():
    table, x = torch.randn(8, 4), torch.tensor([1, 5, 7])

    def code(i, table):
        return table[i] * (i & 1).to(table.dtype)[:, None]

    traced = trace(code, {"i": x, "table": table})

    assert {""} == {b.bits for b in traced.bindings}


def test_a_kernel_of_words(tmp_path):
    layer, x = Gptq().eval(), torch.randn(1, K)
    session = px.Session(trace(layer, {"x": x}), target="cpu", budget=px.Budget(trials=2, seconds=4.0), cache=False)

    kernel = session.best().kernel
    with torch.no_grad():
        want, found = layer(x), kernel(x)
        torch.testing.assert_close(want, found, rtol=1e-4, atol=1e-3)
        layer.qweight.copy_(words(K // 8, N).flip(0))
        torch.testing.assert_close(layer(x), kernel(x), rtol=1e-4, atol=1e-3)
    assert limited_ops(session.program) < 10
    with torch.no_grad():
        loaded = px.load_kernel(kernel.save(tmp_path / "words.kernel"), layer)
        torch.testing.assert_close(layer(x), loaded(x), rtol=1e-4, atol=1e-3)


def test_words_of_another_dtype_are_refused():
    traced = trace(lambda q, x: ((q >> 4) & 15) * x, {"q": words(4), "x": torch.randn(4)})

    with pytest.raises(ShapeError, match="must be int32, found int64"):
        traced.bind(words(4).long(), torch.randn(4))
