"""Integers of 8 bits are numbers: exact on load, float32 arithmetic; views of them are stored as they are."""

import re
from dataclasses import replace

import numpy as np
import pytest
import torch

import prism_explore as px
from prism_explore.codegen.cpu.llvm.builder import Memory
from prism_explore.codegen.cpu.load import load_plan
from prism_explore.codegen.cpu.plan import plan
from prism_explore.frontend.export import trace
from prism_explore.ir.interpreter.reference import evaluate
from prism_explore.ir.tensors import NAMES, WHOLE_NUMBERS, numpy_dtype
from prism_explore.ir.text import parse
from prism_explore.pipeline.search_space import default_space
from prism_explore.pipeline.stages import Parameters
from tests.codegen.corpus import CASES
from tests.codegen.cpu.llvm.test_builder import call
from tests.codegen.wider import WIDER
from tests.session.test_session import QUICK, machine

BYTES = ("i8", "u8", "w64", "w32")


@pytest.mark.parametrize("dtype", BYTES)
@pytest.mark.parametrize(("lanes", "width"), [(0, 4), (4, 4), (5, 8), (16, 16)])
def test_every_number_is_read_and_stored_exactly(dtype, lanes, width):
    low, high = WHOLE_NUMBERS[dtype]
    x = np.arange(low, high + 1).astype(numpy_dtype(dtype))
    x = x[: len(x) - len(x) % max(1, lanes)]
    out, again = np.zeros(len(x), np.float32), np.zeros_like(x)

    def write(builder, target, stored, source):
        with builder.loop(0, len(x), max(1, lanes)) as i:
            found = builder.load(Memory(source.pointer, dtype), i, lanes)
            builder.store(found, target, i)
            builder.store(found, Memory(stored.pointer, dtype), i)

    call(write, [out, again, x], width)
    np.testing.assert_array_equal(x.astype(np.float32), out)
    np.testing.assert_array_equal(x, again)


@pytest.mark.parametrize("dtype", BYTES)
@pytest.mark.parametrize("case", (*CASES, *WIDER), ids=lambda c: c.name)
def test_kernels_read_bytes(case, dtype):
    inputs = re.findall(r"input f32", case.text)
    at = len(inputs) - 1 if len(inputs) > 1 else 0
    parts = case.text.split("input f32")
    text = "input f32".join(parts[: at + 1]) + f"input {dtype}" + "input f32".join(parts[at + 1 :])
    graph = parse(text)
    sizes, shapes = dict.fromkeys(graph.parameters, 2), dict.fromkeys(graph.data_symbols, 8)
    made = plan(graph, Parameters(tuple(sizes.items())), shapes)
    if isinstance(made, str):
        pytest.skip(made)
    whole = graph.substitute({**sizes, **shapes})
    rng = np.random.default_rng(3)
    given, laid = {}, []
    for i in whole.inputs:
        shape = [d.value({}) for d in i.type.dims]
        drawn = rng.integers(0, 4, shape) if i.type.dtype == dtype else rng.uniform(-1, 1, shape)
        given[i.name] = drawn.astype(numpy_dtype(i.type.dtype))
        stored = np.ascontiguousarray(given[i.name].transpose(i.type.storage_order))
        laid.append(stored.transpose(np.argsort(i.type.storage_order)))
    with np.errstate(all="ignore"):
        wanted = evaluate(whole, {k: a.astype(np.float64) for k, a in given.items()})
    found = load_plan(made)(*laid)

    finite = np.isfinite(wanted)
    scale = np.abs(wanted[finite]).max(initial=1e-3)
    np.testing.assert_allclose(wanted[finite] / scale, found.astype(np.float64)[finite] / scale, atol=3e-6)


def test_a_view_of_bytes_is_bytes():
    graph = parse("sgraph\n  x = input i8[4, 6]\n  y = input i8[6, 2]\n  %2 = permute(y, order=[1, 0])\n"
                  "  %3 = concat(x, %2, dim=0)\n  return %3\n")  # fmt: skip
    made = plan(graph, Parameters(()), {})
    x, y = (np.arange(-n, n, dtype=np.int8).reshape(shape) for n, shape in ((12, (4, 6)), (6, (6, 2))))

    found = load_plan(made)(x, y)
    assert found.dtype == np.int8
    np.testing.assert_array_equal(np.concatenate([x, y.T]), found)


def linear_int8(x, q, s):
    return x @ (q.to(x.dtype) * s[:, None]).T


def linear_int4(x, q, s):
    numbers = torch.stack([q & 15, q >> 4], -1).reshape(4, 8) - 8.0
    return x @ (numbers.reshape(4, 2, 4) * s[:, :, None]).reshape(4, 8).T


@pytest.mark.parametrize(
    ("code", "inputs"),
    [
        (linear_int8, {"x": px.T("b", 8), "q": px.T(24, 8, dtype="i8"), "s": px.T(24)}),
        (linear_int4, {"x": px.T("b", 8), "q": px.T(4, 4, dtype="u8"), "s": px.T(4, 2)}),
    ],
    ids=["int8 per channel", "int4 in groups"],
)
def test_a_search_with_quantized_weights_ends_with_a_kernel_that_reads_them(code, inputs, tmp_path):
    space = replace(default_space(trace(code, inputs).program), nodes=100)
    common = {"target": machine(), "at": {"b": 3}, "space": space, "budget": QUICK, "baselines": ("torch eager",)}
    with px.Session(code, inputs=inputs, **common) as sess:
        best = sess.best()
    draw, shape = torch.Generator().manual_seed(0), [d.value({}) for d in inputs["q"].dims]
    low, high = WHOLE_NUMBERS[inputs["q"].dtype]
    q = torch.randint(low, high + 1, shape, generator=draw).to(getattr(torch, NAMES[inputs["q"].dtype]))
    x = torch.randn(3, 8, generator=draw)
    s = torch.rand([d.value({}) for d in inputs["s"].dims], generator=draw)

    wanted = code(x.double(), q, s.double())
    torch.testing.assert_close(wanted.float(), best.kernel(x, q, s), rtol=1e-4, atol=1e-5 * wanted.abs().max().item())
    assert f" {inputs['q'].dtype}" in best.source
    again = px.load_kernel(best.save(tmp_path / "linear.kernel"))
    torch.testing.assert_close(best.kernel(x, q, s), again(x, q, s), rtol=0, atol=0)
