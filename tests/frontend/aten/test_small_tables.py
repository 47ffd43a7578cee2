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
