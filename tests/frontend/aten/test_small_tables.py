"""Lookups of constant tables at positions that are computed of bytes: torch's numbers, or a refusal."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import prism_explore as px
from prism_explore.codegen.cpu.load import load_plan
from prism_explore.codegen.cpu.plan import plan
from prism_explore.errors import JournalVersionError, ShapeError, UnsupportedOperator
from prism_explore.frontend import trace
from prism_explore.ir.interpreter.reference import evaluate
from prism_explore.pipeline.stages import Parameters

GENERATOR = torch.Generator().manual_seed(0)
BYTES = {
    "a": torch.arange(-128, 128).to(torch.int8),
    "b": torch.randperm(256, generator=GENERATOR).to(torch.uint8),
    "x": torch.linspace(-2, 2, 256),
}


class Coded(nn.Module):
    """A formula of bytes, floats, and tables that the module holds."""

    def __init__(self, code, **tables):
        super().__init__()
        self.code = code
        for name, table in tables.items():
            self.register_buffer(name, table)

    def forward(self, a, b, x):
        return self.code(self, a, b, x) * x


def drawn(size, dtype=torch.float32, seed=1):
    return torch.randn(size, generator=torch.Generator().manual_seed(seed)).to(dtype)


def check(module):
    """All bytes through the program and the kernel that translates it."""
    wanted = module(**BYTES)
    traced = trace(module, BYTES)
    own = {**BYTES, **traced.parameters}
    read = {b.name: own[b.source].numpy() for b in traced.bindings}
    found = np.asarray(evaluate(traced.program.graph, read)).reshape(wanted.shape)
    np.testing.assert_array_equal(found.astype(np.float32), wanted)
    made = plan(traced.program.graph, Parameters(()), {})
    assert not isinstance(made, str)
    np.testing.assert_array_equal(load_plan(made)(*map(torch.as_tensor, read.values())), wanted)
    return traced


LOOKUPS = (
    lambda m, a, b, x: m.t[(b & 15).long()],
    lambda m, a, b, x: m.t[(b >> 4).int()],
    lambda m, a, b, x: torch.index_select(m.t, 0, (b & 15).int()),
    lambda m, a, b, x: F.embedding((b >> 4).long(), m.t[:, None])[:, 0],
    lambda m, a, b, x: F.embedding((b >> 4).long(), m.t.reshape(16, 1)).reshape(256),
    lambda m, a, b, x: m.t[torch.stack((b & 15, b >> 4), -1).int()].sum(-1),
    lambda m, a, b, x: m.t[(a >> 4).long()],  # from -8 to 7: the end is counted from
    lambda m, a, b, x: m.t.to(torch.float32)[a.clamp(0, 15).long()],
    lambda m, a, b, x: m.t[(b & 7).long() + 5],
    lambda m, a, b, x: m.t[:, None][(b & 15).long()].reshape(256),
    lambda m, a, b, x: m.t[(b & 3).long()] + m.t[(b & 15).long()],
)


SQUARES = torch.arange(-8, 8).square().to(torch.int8)
TABLES = {"float32": drawn(16), "bfloat16": (drawn(16) * 8).round().to(torch.bfloat16), "int8": SQUARES}
"""The sums of two numbers of each are exact."""


@pytest.mark.parametrize("at", range(len(LOOKUPS)))
@pytest.mark.parametrize("dtype", TABLES)
def test_a_lookup_of_bits_has_torch_s_numbers(at, dtype):
    traced = check(Coded(LOOKUPS[at], t=TABLES[dtype]))

    assert [t.source for t in traced.tables] == ["t"]


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 256), st.integers(0, 9), st.booleans())
def test_a_table_of_any_size_is_read_at_all_bytes(size, seed, is_signed):
    def code(m, a, b, x):
        return m.t[((a + 0).clamp(-size, size - 1) if is_signed else b.clamp(max=min(255, size - 1))).long()]

    if is_signed and size > 127:
        return
    check(Coded(code, t=drawn(size, seed=seed)))


def test_tables_of_the_code_are_read():
    check(Coded(lambda m, a, b, x: torch.tensor([1.0, 2.5, -3.0, 0.1])[(b & 3).long()]))


@pytest.mark.parametrize(
    "code",
    [
        lambda m, a, b, x: 2.0 ** (b.int() - 127),
        lambda m, a, b, x: 2.0 ** a.float(),
        lambda m, a, b, x: torch.exp2(b.float() - 127),
        lambda m, a, b, x: torch.ldexp(x, a.int()),
        lambda m, a, b, x: torch.ldexp(m.t[(b & 15).long()], (b >> 2).int() - 30),
    ],
)
def test_powers_of_two_are_exact(code):
    check(Coded(code, t=drawn(16)))


@pytest.mark.parametrize(
    ("code", "what"),
    [
        (lambda m, a, b, x: m.t[b.long()], "from 0 to 255 in a table of 16"),
        (lambda m, a, b, x: m.t[(a >> 2).long()], "from -32 to 31 in a table of 16"),
        (lambda m, a, b, x: F.embedding((a >> 4).long(), m.t[:, None])[:, 0], "from -8 to 7 in a table of 16"),
        (lambda m, a, b, x: m.w[(b & 15).long()].sum(-1), "a lookup at positions that are computed"),
        (lambda m, a, b, x: m.t[x.long()], "cast to torch.int64"),
    ],
)
def test_positions_that_may_be_out_of_range_are_refused(code, what):
    with pytest.raises(UnsupportedOperator, match=what):
        trace(Coded(code, t=drawn(16), w=drawn(32).reshape(16, 2)), BYTES)


def test_a_table_that_is_an_argument_or_trained_is_refused():
    def code(table, b):
        return table[(b & 15).long()]

    with pytest.raises(UnsupportedOperator, match="constant table"):
        trace(code, {"table": drawn(16), "b": BYTES["b"]})
    module = Coded(LOOKUPS[0])
    module.t = nn.Parameter(drawn(16))
    with pytest.raises(UnsupportedOperator, match="constant table"):
        trace(module, BYTES)


class Linear(nn.Module):
    """A layer of 4-bit codes with a table and scales of 16 weights each."""

    def __init__(self):
        super().__init__()
        self.register_buffer("code", drawn(16))
        self.register_buffer("q", torch.randint(0, 256, (32, 16), generator=GENERATOR, dtype=torch.uint8))
        self.register_buffer("scales", torch.rand(32, 2, 1, generator=GENERATOR))

    def forward(self, x):
        codes = torch.stack((self.q >> 4, self.q & 15), -1).reshape(32, 2, 16)
        return F.linear(x, (self.code[codes.long()] * self.scales).reshape(32, 32))


@pytest.fixture(scope="module")
def session():
    module, x = Linear(), drawn(32).reshape(1, 32)
    with torch.no_grad():
        budget = px.Budget(trials=2, seconds=2.0)
        found = px.Session(trace(module, {"x": x}), target="cpu", budget=budget, cache=False).best().kernel
    return module, x, found


def test_a_layer_is_proved_and_its_table_is_compared_at_each_call(session):
    module, x, kernel = session

    with torch.no_grad():
        torch.testing.assert_close(kernel(x), module(x))
        module.code[3] += 1
        with pytest.raises(ShapeError, match="'code' has other numbers"):
            kernel(x)
        module.code[3] -= 1
        module.code.copy_(drawn(16))
        torch.testing.assert_close(kernel(x), module(x))


def test_a_saved_kernel_has_its_tables(session, tmp_path):
    module, x, kernel = session
    loaded = px.load_kernel(kernel.save(tmp_path / "coded.kernel"), module)

    with torch.no_grad():
        torch.testing.assert_close(loaded(x), module(x))
        other = Linear()
        other.code.mul_(2)
        with pytest.raises(ShapeError, match="'code' has other numbers"):
            px.load_kernel(kernel.save(tmp_path / "coded.kernel"), other)(x)


def test_a_file_with_a_damaged_table_is_refused(session, tmp_path):
    _, _, kernel = session
    path = kernel.save(tmp_path / "coded.kernel")
    name = kernel.signature.tables[0].function
    for wrong in (name[:-1], name.replace("table32_", "table32_zz"), name.replace("table32_", "__import__")):
        _rewrite(path, tmp_path / "damaged.kernel", name, wrong)
        with pytest.raises(JournalVersionError, match="damaged"):
            px.load_kernel(tmp_path / "damaged.kernel", Linear())


def _rewrite(path, to, old, new):
    import zipfile

    with zipfile.ZipFile(path) as source, zipfile.ZipFile(to, "w") as target:
        for member in source.namelist():
            target.writestr(member, source.read(member).replace(old.encode(), new.encode()))


FLOAT8 = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")


class OfFloat8(nn.Module):
    """A linear layer of 8-bit floats, transposed where `order` says so."""

    def __init__(self, kind, order=(0, 1)):
        super().__init__()
        weight = (torch.randn(32, 16, generator=GENERATOR) * 20).to(getattr(torch, kind))
        self.weight = nn.Parameter(weight.permute(order), requires_grad=False)
        self.scale = nn.Parameter(torch.rand(32, generator=GENERATOR))
        self.is_turned = order != (0, 1)

    def forward(self, x):
        weight = self.weight.t() if self.is_turned else self.weight
        return F.linear(x, weight.to(x.dtype) * self.scale[:, None])


@pytest.mark.parametrize("kind", FLOAT8)
def test_all_8_bit_floats_are_read(kind):
    class Plain(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("w", torch.arange(256).to(torch.uint8).view(getattr(torch, kind)))

        def forward(self, x):
            return self.w.to(x.dtype) * x

    module, x = Plain(), torch.full((256,), 0.5)
    traced = trace(module, {"x": x})
    inputs = traced.bind(x)
    made = plan(traced.program.graph, Parameters(()), {})

    assert {b.source: b.bits for b in traced.bindings} == {"x": "", "w": kind}
    assert not isinstance(made, str)
    np.testing.assert_array_equal(load_plan(made)(*inputs), module(x))
    torch.testing.assert_close(
        traced.call_with(
            {b.source: b.source_of(i) for b, i in zip(traced.bindings, inputs, strict=True) if b.bits}, [x]
        ),
        module(x),
        equal_nan=True,
    )
    with pytest.raises(ShapeError, match=f"must be {kind}, found"):
        other = next(k for k in FLOAT8 if k != kind)
        traced.signature.bind((x,), {}, {"w": module.w.view(torch.uint8).view(getattr(torch, other))})


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_layer_of_8_bit_floats_is_proved_saved_and_loaded(order, tmp_path):
    module, x = OfFloat8("float8_e4m3fn", order), drawn(16).reshape(1, 16)
    budget = px.Budget(trials=2, seconds=2.0)
    with torch.no_grad():
        session = px.Session(trace(module, {"x": x}), target="cpu", budget=budget, cache=False)
        kernel = session.best().kernel
        torch.testing.assert_close(kernel(x), module(x))
        path = kernel.save(tmp_path / "float8.kernel")
        torch.testing.assert_close(px.load_kernel(path, module)(x), module(x))
        with pytest.raises(ShapeError, match="must be float8_e4m3fn, found float8_e5m2"):
            px.load_kernel(path, OfFloat8("float8_e5m2", order))(x)
    _rewrite(path, tmp_path / "damaged.kernel", "float8_e4m3fn", "float8_e4m4fn")
    with pytest.raises(JournalVersionError, match="damaged"):
        px.load_kernel(tmp_path / "damaged.kernel", module)


@pytest.mark.parametrize(
    "code",
    [
        lambda m, x: m.weight.to(torch.int32) * x[0, 0],
        lambda m, x: (m.weight == m.weight).to(x.dtype) * x[0, 0],
        lambda m, x: x.to(torch.float8_e4m3fn).to(torch.float32) * 2,
    ],
)
def test_what_else_reads_or_makes_8_bit_floats_is_refused(code):
    class Other(OfFloat8):
        def forward(self, x):
            return code(self, x)

    with pytest.raises(UnsupportedOperator):
        trace(Other("float8_e4m3fn"), {"x": drawn(16).reshape(1, 16)})


class Words(nn.Module):
    """Eight numbers of 4 bits in each word, at places that the module holds."""

    def __init__(self, largest):
        super().__init__()
        self.register_buffer("words", torch.randint(0, largest, (4, 8), generator=GENERATOR).to(torch.int32))
        self.register_buffer("places", torch.tensor([0, 16, 4, 8], dtype=torch.int32))

    def numbers(self):
        return (self.words[:, None, :] >> self.places[None, :, None]) & 15

    def forward(self, x):
        return x @ self.numbers().reshape(16, 8).to(x.dtype)


def test_amounts_of_shifts_that_a_module_holds_are_numbers_of_the_program():
    module, x = Words(2**31), drawn(16).reshape(1, 16)
    traced = trace(module, {"x": x})

    assert [t.source for t in traced.tables] == ["places"]
    held = module.words[..., None].view(torch.uint8).numpy()
    found = evaluate(traced.program.graph, {"x": x.double().numpy(), "words": held})
    np.testing.assert_allclose(np.asarray(found).reshape(1, 8), module(x), rtol=1e-5)


def test_words_beyond_what_kernels_read_are_refused():
    class Whole(Words):
        def numbers(self):
            return self.words[:, None, :] + self.places[None, :, None]

    with pytest.raises(UnsupportedOperator, match=r"'words' has integers beyond 1048576.*word >> 8\) & 15"):
        trace(Whole(2**31), {"x": drawn(16).reshape(1, 16)})
