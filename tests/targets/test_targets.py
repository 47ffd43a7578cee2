"""Machines: the table, the stored figures of the host, and loops that measure its ceilings."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from prism_explore.errors import TargetUnavailable
from prism_explore.targets import GPUS, KNOWN, Target, ceilings, host, target
from prism_explore.targets.ceilings import ROW_FLOATS, bf16_loop, fma_loop, read_loops
from prism_explore.targets.cpus import host_cpu
from prism_explore.targets.gpus import ARCHITECTURES, architecture_of

pytestmark = pytest.mark.serial

TOY = Target(
    name="cpu",
    kind="cpu",
    peak_flops_per_s=1e11,
    peak_half_flops_per_s=2e11,
    dram_bytes_per_s=2e10,
    shared_memory_bytes=1 << 20,
    caches_bytes=(32 << 10, 1 << 20, 32 << 20),
    cores=2,
    max_blocks=1 << 16,
    max_threads=1,
    launch_s=2e-6,
    source="made up",
    measured=True,
)


SMALL_CACHES = (32 << 10, 1 << 20, 2 << 20)
"""With these no large buffer is read."""


def never() -> Target:
    raise AssertionError("the host was measured although its figures are remembered")


def test_every_known_name_is_a_target_with_a_source() -> None:
    for name in KNOWN[2:]:
        found = target(name)

        assert name == found.name
        assert found.source
        assert not found.measured


def test_an_unknown_machine_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(TargetUnavailable, match="no target 'tpu'; known are cpu, cuda, a100, h100") as caught:
        target("tpu", cache=tmp_path / "host.json")

    assert "replace" in str(caught.value)


@pytest.mark.parametrize("name", sorted(GPUS))
def test_a_gpu_in_16_bits_is_faster_than_in_32_and_has_room_for_a_block(name: str) -> None:
    gpu = GPUS[name]

    assert gpu.peak("f32") < gpu.peak("bf16")
    assert gpu.peak("f16") == gpu.peak("bf16") == gpu.usual_rate("bf16")
    assert 0 < gpu.usual_rate("f32") <= gpu.peak("f32"), "kernels do not round operands to TF32"
    assert 48 << 10 <= gpu.shared_memory_bytes <= 228 << 10


@pytest.mark.parametrize(("name", "architecture"), [("a100", "sm_80"), ("h200", "sm_90"), ("mi300x", "gfx942")])
def test_a_gpu_of_the_table_has_an_architecture_that_triton_compiles_for(name: str, architecture: str) -> None:
    found = architecture_of(name)

    assert found is not None
    assert architecture == found.name


def test_another_machine_has_no_architecture() -> None:
    assert architecture_of("mine") is None


@pytest.mark.parametrize(
    ("name", "registers", "shared_kib", "warps", "blocks", "limit"),
    [
        ("sm_80", 128, 16, 4, 4, "registers"),
        ("sm_80", 168, 0, 4, 3, "registers"),
        ("sm_80", 255, 0, 8, 1, "registers"),
        ("sm_80", 32, 99, 4, 1, "shared memory"),
        ("sm_80", 32, 81, 4, 2, "shared memory"),
        ("sm_80", 24, 0, 1, 32, "blocks"),
        ("sm_80", 32, 0, 8, 8, "warps"),
        ("sm_89", 32, 0, 8, 6, "warps"),
        ("sm_90", 33, 0, 4, 12, "registers"),
        ("sm_90", 64, 227, 8, 1, "shared memory"),
        ("gfx942", 128, 20, 4, 3, "shared memory"),
        ("gfx942", 256, 0, 4, 2, "registers"),
        ("gfx942", 256, 0, 16, 0, "registers"),
    ],
)
def test_resident_blocks_are_those_of_the_vendors_tables(
    name: str, registers: int, shared_kib: int, warps: int, blocks: int, limit: str
) -> None:
    found = ARCHITECTURES[name].occupancy(registers, shared_kib << 10, warps)

    assert (blocks, limit) == (found.blocks, found.limit)
    assert blocks * warps == found.warps <= found.most_warps


def test_what_if_is_a_replacement() -> None:
    slow = GPUS["h100"].replace(dram_bytes_per_s=1e12)

    assert 1e12 == slow.dram_bytes_per_s
    assert slow.peak_flops_per_s == GPUS["h100"].peak_flops_per_s


# ---------------------------------------------------------------- remembering the host
def test_the_host_is_measured_once_and_then_remembered(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "host.json"

    assert TOY == target("cpu", cache=path, measure=lambda: TOY)
    assert TOY == target("cpu", cache=path, measure=never)


@pytest.mark.parametrize("damage", ["", "{", "[]", "null", '{"other machine": {}}'])
def test_a_damaged_file_is_measured_again(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "host.json"
    path.write_text(damage)

    assert TOY == target("cpu", cache=path, measure=lambda: TOY)
    assert TOY == target("cpu", cache=path, measure=never)


@pytest.mark.parametrize("field", ["dram_bytes_per_s", "caches_bytes", "source"])
@pytest.mark.parametrize("value", [-1, [], None])
def test_a_damaged_entry_is_measured_again(tmp_path: Path, field: str, value: object) -> None:
    if field == "source":
        value = ...
    path = tmp_path / "host.json"
    target("cpu", cache=path, measure=lambda: TOY)
    data = json.loads(path.read_text())
    (entry,) = data.values()
    if value is ...:
        del entry[field]
    else:
        entry[field] = value
    path.write_text(json.dumps(data))
    fresh = TOY.replace(cores=64)

    assert fresh == target("cpu", cache=path, measure=lambda: fresh)


def test_another_machine_in_the_file_stays_there(tmp_path: Path) -> None:
    path = tmp_path / "host.json"
    path.write_text('{"a laptop | 8 cores | version 1": {"name": "cpu"}}')
    target("cpu", cache=path, measure=lambda: TOY)

    assert {"name": "cpu"} == json.loads(path.read_text())["a laptop | 8 cores | version 1"]


def test_where_nothing_can_be_written_the_host_is_measured_each_time(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    path = tmp_path / "file" / "host.json"

    assert TOY == target("cpu", cache=path, measure=lambda: TOY)
    assert not path.exists()


def test_a_faster_sight_raises_what_is_remembered_and_a_slower_one_does_not(tmp_path: Path) -> None:
    path = tmp_path / "host.json"
    target("cpu", cache=path, measure=lambda: TOY)
    host.store_higher_rates(TOY.replace(dram_bytes_per_s=3e10, peak_flops_per_s=5e10), path)
    found = target("cpu", cache=path, measure=never)

    assert TOY.replace(dram_bytes_per_s=3e10) == found


def test_a_quoted_figure_is_never_learned(tmp_path: Path) -> None:
    path = tmp_path / "host.json"
    target("cpu", cache=path, measure=lambda: TOY)
    host.store_higher_rates(TOY.replace(dram_bytes_per_s=3e10, measured=False), path)

    assert TOY == target("cpu", cache=path, measure=never)


def test_the_users_cache_directory_is_respected(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    assert tmp_path / "prism_explore" / "host.json" == host.cache_file()


# ---------------------------------------------------------------- caches and ceiling loops
def test_caches_are_read_from_the_system_without_the_instruction_cache(tmp_path: Path) -> None:
    rows = [(1, "Data", "48K"), (1, "Instruction", "32K"), (2, "Unified", "2M"), (3, "Unified", "33792K")]
    for i, (level, kind, size) in enumerate(rows):
        index = tmp_path / "cpu0" / "cache" / f"index{i}"
        index.mkdir(parents=True)
        for name, text in (("level", str(level)), ("type", kind), ("size", size)):
            (index / name).write_text(text + "\n")

    assert (48 << 10, 2 << 20, 33 << 20) == host.cache_sizes(tmp_path)


def test_a_system_that_tells_nothing_gets_common_caches(tmp_path: Path) -> None:
    assert 3 == len(host.cache_sizes(tmp_path))


def test_measuring_with_a_clock_that_ticks_gives_rates_of_that_clock() -> None:
    now = iter(range(1_000_000))
    found = host.measure_host(clock=lambda: float(next(now)), rounds=1, caches=SMALL_CACHES)

    assert found.measured
    assert 1.0 == found.launch_s
    assert host.BURST_FLOPS * found.cores == found.peak_flops_per_s
    assert found.dram_bytes_per_s >= host.BURST_BYTES
    assert (SMALL_CACHES, 0) == (found.caches_bytes, found.effective_cache_bytes)  # reading takes a tick, cold or not
    assert "effect could not be measured" in found.source


def test_a_host_that_was_busy_while_measured_says_so_and_is_measured_longer() -> None:
    def measured(busy: float, most_s: float) -> tuple[Target, int]:
        """With threads that queued for `busy` of the time of each round; and the number of rounds."""
        now = asked = 0

        def clock() -> float:
            nonlocal now
            now += 1
            return float(now)

        def waited() -> float:
            nonlocal asked
            asked += 1
            return busy * now * host.cores()

        return host.measure_host(clock, 1, waited, most_s, SMALL_CACHES), asked // 2

    quiet, short = measured(0.0, 1e9)
    busy, long = measured(0.5, 1e9)
    _, limited = measured(0.5, 1.0)

    assert host.BUSY not in quiet.source
    assert host.BUSY in busy.source
    assert (1, 3, 1) == (short, long, limited)


def test_a_busy_host_has_at_least_the_rates_and_at_most_the_launch_cost_of_its_cores_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = iter(range(1_000_000))
    monkeypatch.setattr(host, "_figures_of_one_core", lambda clock, memory: (1e18, 2e18, 3e18, 0.25))
    waits = iter(range(0, 1_000_000, 1000))
    found = host.measure_host(lambda: float(next(now)), 1, lambda: float(next(waits)), 1.0, SMALL_CACHES)

    rates = (found.dram_bytes_per_s, found.peak_flops_per_s, found.peak_half_flops_per_s)
    assert tuple(found.cores * rate for rate in (1e18, 2e18, 3e18)) == rates
    assert 0.25 == found.launch_s


def test_figures_of_a_busy_machine_are_measured_again_until_it_is_quiet(tmp_path: Path) -> None:
    path = tmp_path / "host.json"
    busy = TOY.replace(dram_bytes_per_s=3e10, peak_flops_per_s=5e10, launch_s=9e-6, source=f"a minute{host.BUSY}")
    again = busy.replace(dram_bytes_per_s=2e10, launch_s=1e-6, effective_cache_bytes=1 << 20)

    def a_day_later(measured: Target) -> Target:
        written_s = path.stat().st_mtime
        os.utime(path, (written_s, written_s - host.RETRY_S))
        return target("cpu", cache=path, measure=lambda: measured)

    assert busy == target("cpu", cache=path, measure=lambda: busy)
    assert busy == target("cpu", cache=path, measure=never)
    better = busy.replace(launch_s=1e-6, effective_cache_bytes=1 << 20)
    assert better == a_day_later(again)
    assert better == target("cpu", cache=path, measure=never)
    assert TOY == a_day_later(TOY)
    assert TOY == target("cpu", cache=path, measure=never)


def test_without_permission_for_tiles_the_ceiling_of_bfloat16_is_that_of_vectors(monkeypatch) -> None:
    monkeypatch.setattr(ceilings, "host_cpu", lambda: replace(host_cpu(), has_amx_bf16=False))
    found = bf16_loop(1)

    assert found is None or found.name == "pairs of bfloat16"


@pytest.mark.parametrize("threads", [1, 2])
def test_ceiling_loops_run_and_leave_memory_as_it_was(threads: int) -> None:
    buffer = np.arange(8 * ROW_FLOATS * 2, dtype=np.float32)
    before = buffer.copy()
    for loop in read_loops(threads):
        loop.read(buffer)
    fma_loop(threads).compute(1e6)
    if (pairs := bf16_loop(threads)) is not None:
        pairs.compute(1e6)

    np.testing.assert_array_equal(before, buffer)
