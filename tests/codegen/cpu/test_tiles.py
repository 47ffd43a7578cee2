"""Products in tiles of AMX: results with emulated tiles on any CPU and with real ones where there are, and assembly."""

from __future__ import annotations

import ctypes
import re
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from prism_explore.codegen.cpu.compile import CompiledProgram, llvm_text
from prism_explore.codegen.cpu.llvm.jit import JitModule, compile_to_assembly
from prism_explore.codegen.cpu.load import LoadedKernel, load_plan
from prism_explore.codegen.cpu.matmul_tiling import TILE_ROWS
from prism_explore.codegen.cpu.plan import Plan, plan
from prism_explore.codegen.cpu.schedule import TILE_BLOCK_ROWS, complete_schedule, schedule_space
from prism_explore.codegen.cpu.thread_pool import thread_team
from prism_explore.ir.text import parse
from prism_explore.pipeline.stages import Parameters
from prism_explore.targets import cpus
from prism_explore.targets.cpus import cpu_model, host_cpu
from tests.codegen.cpu.passes.test_bf16_operands import DEQUANTIZED

WIDE = "+avx512f,+avx512vl,+avx512bw,+avx512dq,+avx512bf16,+fma,+f16c,+amx-tile,+amx-bf16"
SAPPHIRE_RAPIDS = cpu_model("sapphirerapids", WIDE, "x86_64", 2)
TEXT = """sgraph
  x = input bf16[b, {k}]
  g = input bf16[{k}]
  w = input bf16[{k}, {n}] order(1, 0)
  %3 = custom(x, g, w) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[-], fmap=1)
    %1 = load(1, imap=[-], fmap=0)
    %2 = load(2, imap=[1], fmap=0)
    %3 = mul(%0, %1)
    %4 = matmul(%3, %2)
    %5 = accum_sum(%4)
    %6 = store(%5, omap=[1])
  return %3
"""
ONCE = re.sub(r" loop\[i=f\]|, fmap=\d|    %5 = accum.*\n", "", TEXT).replace("%6 = store(%5", "%5 = store(%4")


# ---------------------------------------------------------------- emulated tiles
TILE = ctypes.c_void_p
_tiles: list[np.ndarray] = []
"""Every emulated tile: 16 rows of 64 bytes. An address stands for the value."""


def _new(contents: np.ndarray | None = None) -> int:
    _tiles.append(np.zeros((16, 64), np.uint8) if contents is None else contents)
    return _tiles[-1].ctypes.data


def _at(address: int, rows: int, row_bytes: int) -> np.ndarray:
    memory = (ctypes.c_uint8 * 1024).from_address(address)
    return np.frombuffer(memory, np.uint8).reshape(16, 64)[:rows, :row_bytes]


def _zero(rows: int, row_bytes: int) -> int:
    return _new()


def _load(rows: int, row_bytes: int, start: int, stride: int) -> int:
    tile = np.zeros((16, 64), np.uint8)
    for r in range(rows):
        ctypes.memmove(tile.ctypes.data + 64 * r, start + stride * r, row_bytes)
    return _new(tile)


def _store(rows: int, row_bytes: int, start: int, stride: int, tile: int) -> None:
    for r in range(rows):
        ctypes.memmove(start + stride * r, tile + 64 * r, row_bytes)


def _dot(rows: int, row_bytes: int, depth_bytes: int, total: int, a: int, b: int) -> int:
    pairs = depth_bytes // 4
    left = _at(a, rows, depth_bytes).copy().view(ml_dtypes.bfloat16).reshape(rows, pairs, 2).astype(np.float32)
    right = _at(b, pairs, row_bytes).copy().view(ml_dtypes.bfloat16).reshape(pairs, -1, 2).astype(np.float32)
    sums = _at(total, rows, row_bytes).copy().view(np.float32)
    for p in range(pairs):
        for half in (0, 1):
            sums = sums + left[:, p, half, None] * right[None, p, :, half]
    tile = np.zeros((16, 64), np.uint8)
    tile[:rows, :row_bytes] = sums.view(np.uint8)
    return _new(tile)


_SHAPE = (ctypes.c_int16, ctypes.c_int16)
EMULATED = {
    "tilezero": ctypes.CFUNCTYPE(TILE, *_SHAPE)(_zero),
    "tileloadd64": ctypes.CFUNCTYPE(TILE, *_SHAPE, ctypes.c_void_p, ctypes.c_int64)(_load),
    "tilestored64": ctypes.CFUNCTYPE(None, *_SHAPE, ctypes.c_void_p, ctypes.c_int64, TILE)(_store),
    "tdpbf16ps": ctypes.CFUNCTYPE(TILE, *_SHAPE, ctypes.c_int16, TILE, TILE, TILE)(_dot),
}


def emulated(made: Plan) -> LoadedKernel:
    """The same code with tiles in memory, and functions of this module for their instructions."""
    text, scratch = llvm_text(made.loops, made.schedule, made.host)
    assert "llvm.x86.tdpbf16ps.internal" in text
    text = re.sub(r"llvm\.x86\.(\w+)\.internal", r"emulated_\1", text.replace("x86_amx", "ptr"))
    symbols = {f"emulated_{name}": ctypes.cast(f, ctypes.c_void_p).value or 0 for name, f in EMULATED.items()}
    module = JitModule(text, replace(host_cpu(), lanes=made.host.lanes), symbols)
    entries = tuple(module.address(f"nest{n}") for n in range(len(made.loops.nests)))
    return LoadedKernel(made, CompiledProgram(module, entries, 4 * scratch), thread_team("python"))


@pytest.fixture
def with_tiles(monkeypatch):
    """Plans for a CPU with AMX and vectors of these lanes."""

    def made(text: str, b: int, lanes: int = 16, gx: int = 1, f: int | None = None, **schedule: int) -> Plan:
        cpu = replace(host_cpu(), lanes=lanes, bf16_dot=SAPPHIRE_RAPIDS.bf16_dot, has_amx_bf16=True)
        monkeypatch.setitem(plan.__globals__, "host_cpu", lambda: cpu)
        sizes = (("gx", gx), *((("f", f),) if f else ()))
        found = plan(parse(text), Parameters(sizes, (("threads", 1), ("tiles", 1), *schedule.items())), {"b": b})
        assert isinstance(found, Plan), found
        return found

    yield made
    _tiles.clear()


def inputs(b: int, k: int, n: int):
    rng = np.random.default_rng(7)
    x, g = (rng.standard_normal(s).astype(ml_dtypes.bfloat16) for s in ((b, k), (k,)))
    return x, g, rng.standard_normal((n, k)).astype(ml_dtypes.bfloat16).T


def assert_right(found, x, g, w) -> None:
    left = (x.astype(np.float32) * g.astype(np.float32)).astype(ml_dtypes.bfloat16).astype(np.float64)
    wanted, magnitude = left @ w.astype(np.float64), np.abs(left) @ np.abs(w.astype(np.float64))
    slack = 2.0**-8 * np.abs(wanted) + 2e-6 * magnitude
    assert (np.abs(found.astype(np.float64) - wanted) <= slack).all()


SHAPES = [(1, 64, 16), (3, 64, 19), (8, 32, 48), (16, 64, 40), (17, 32, 16), (40, 32, 33), (33, 96, 100)]
"""Rows, k and columns: full tiles, tails of rows and of columns, fewer rows than a tile, several tiles."""


@pytest.mark.parametrize("tn", [1, 2, 3])
@pytest.mark.parametrize(("b", "k", "n"), SHAPES)
def test_emulated_tiles_give_the_product_of_the_rounded_operand(with_tiles, b, k, n, tn) -> None:
    made = with_tiles(ONCE.format(k=k, n=n), b, tn=tn)
    operands = inputs(b, k, n)

    assert "tiles of sums" in made.source
    assert_right(emulated(made)(*operands), *operands)


@pytest.mark.parametrize("lanes", [8, 4])
def test_sums_are_turned_with_any_width_of_vectors(with_tiles, lanes) -> None:
    operands = inputs(19, 64, 37)

    assert_right(emulated(with_tiles(ONCE.format(k=64, n=37), 19, lanes))(*operands), *operands)


def test_a_loop_adds_to_the_target(with_tiles) -> None:
    operands = inputs(9, 128, 40)

    assert_right(emulated(with_tiles(TEXT.format(k=128, n=40), 9, f=4))(*operands), *operands)


def test_blocks_of_several_threads_have_workspace_of_their_own(with_tiles) -> None:
    operands = inputs(18, 64, 96)

    assert_right(emulated(with_tiles(ONCE.format(k=64, n=96), 18, gx=3, threads=3))(*operands), *operands)


@pytest.mark.skipif(not host_cpu().has_amx_bf16, reason="this CPU has no AMX, or the system refuses it")
@pytest.mark.parametrize("tn", [1, 2, 3])
@pytest.mark.parametrize(("b", "k", "n"), [*SHAPES, (8, 4096, 96), (64, 1024, 80)])
def test_real_tiles_give_the_same(with_tiles, b, k, n, tn) -> None:
    operands = inputs(b, k, n)

    assert_right(
        load_plan(with_tiles(ONCE.format(k=k, n=n), b, tn=tn, threads=2, gx=1 if n % 32 else 2))(*operands), *operands
    )


# ---------------------------------------------------------------- assembly
@pytest.mark.parametrize("tn", TILE_BLOCK_ROWS)
@pytest.mark.parametrize("b", [8, 64])
def test_the_inner_loop_keeps_all_sums_in_tile_registers(with_tiles, b, tn) -> None:
    made = with_tiles(ONCE.format(k=4096, n=96), b, tn=tn)
    text, _ = llvm_text(made.loops, made.schedule, SAPPHIRE_RAPIDS, "x86_64-unknown-linux-gnu")
    assembly = compile_to_assembly(text, SAPPHIRE_RAPIDS, "x86_64-unknown-linux-gnu")
    blocks = re.split(r"^(\.LBB\w+):.*$", assembly, flags=re.MULTILINE)
    bodies = [re.split(rf"\s{re.escape(at)}$", body, flags=re.MULTILINE)[0]
              for at, body in zip(blocks[1::2], blocks[2::2], strict=True)]  # fmt: skip
    inner = max(bodies, key=lambda body: body.count("tdpbf16ps"))
    row_tiles = min(-(-b // TILE_ROWS), TILE_BLOCK_ROWS[tn])

    assert row_tiles * tn == inner.count("tdpbf16ps")
    assert row_tiles + tn == inner.count("tileloadd")
    assert "tilestored" not in inner
    assert 1 == assembly.count("ldtilecfg")


# ---------------------------------------------------------------- when the choice exists
def test_tiles_are_the_default_where_they_are_permitted_and_not_offered_elsewhere(with_tiles) -> None:
    made = with_tiles(ONCE.format(k=64, n=32), 8)

    assert (1, 0) == next(c.values for c in schedule_space(made.loops, SAPPHIRE_RAPIDS) if c.name == "tiles")
    without = replace(SAPPHIRE_RAPIDS, has_amx_bf16=False)
    assert "tiles" not in {c.name for c in schedule_space(made.loops, without)}
    with pytest.raises(ValueError, match="schedule tiles=1: this kernel's choices are"):
        complete_schedule(made.loops, without, {"tiles": 1})


@pytest.mark.parametrize(("k", "n", "dtype"), [(48, 32, "bf16"), (64, 15, "bf16"), (64, 32, "f32")])
def test_tiles_are_not_offered_for_parts_of_a_tile_or_float32(with_tiles, k, n, dtype) -> None:
    made = with_tiles(ONCE.format(k=64, n=32), 8)
    other = plan(parse(ONCE.format(k=k, n=n).replace("bf16", dtype)), Parameters((("gx", 1),)), {"b": 8})

    assert isinstance(other, Plan)
    assert "tiles" in dict(made.schedule)
    assert "tiles" not in dict(other.schedule)


def test_a_kernel_saved_before_tiles_existed_keeps_its_pairs_in_vectors(with_tiles) -> None:
    made = with_tiles(ONCE.format(k=64, n=32), 8)
    old = {"threads": 1, "hoist": 1, "pack": 1, "level": 2, "mr": 8, "nr": 4, "kv": 1, "panel": 1, "short": 1}

    complete = dict(complete_schedule(made.loops, SAPPHIRE_RAPIDS, old))
    assert old.items() <= complete.items()
    assert 0 == complete["tiles"]
    assert 1 == dict(complete_schedule(made.loops, SAPPHIRE_RAPIDS, {}))["tiles"]


def test_a_system_that_refuses_tiles_leaves_vectors(monkeypatch) -> None:
    monkeypatch.setattr(cpus, "request_tiles", lambda: False)

    refused = host_cpu.__wrapped__()
    assert not refused.has_amx_bf16
    assert replace(host_cpu(), has_amx_bf16=False) == refused


@pytest.mark.parametrize("b", [8, 17])
def test_dequantized_weights_are_multiplied_in_tiles(with_tiles, b: int) -> None:
    rng = np.random.default_rng(3)
    x, s = (rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in ((b, 64), (19, 2, 1)))
    w = rng.integers(0, 256, (19, 64)).astype(np.uint8)
    found = emulated(with_tiles(DEQUANTIZED.format(dtype="bf16", n=19), b))(x, w, s)

    right = (w.reshape(19, 2, 32) * s.astype(np.float32)).astype(ml_dtypes.bfloat16).reshape(19, 64)
    assert_right(found, x, np.ones(64, ml_dtypes.bfloat16), right.T)
