"""The table of CPU architectures, and the host as a row of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from prism_explore.targets.cpus import ROWS, arm_features, cores, cpu_model, host_cpu


@pytest.mark.parametrize(
    ("name", "features", "machine", "lanes", "registers", "line_bytes"),
    [
        ("znver4", "+avx512f,+avx2,+fma", "x86_64", 16, 32, 64),
        ("haswell", "+avx2,+fma,-avx512f", "AMD64", 8, 16, 64),
        ("sandybridge", "+avx,-avx2,-fma", "x86_64", 4, 16, 64),
        ("neoverse-v1", "+neon", "aarch64", 4, 32, 64),
        ("apple-m1", "+neon", "arm64", 4, 32, 128),
        ("pwr10", "", "ppc64le", 4, 16, 64),
    ],
)
def test_a_cpu_has_the_vectors_of_its_row(name, features, machine, lanes, registers, line_bytes) -> None:
    found = cpu_model(name, features, machine, threads=3)

    assert (lanes, registers, line_bytes, 3) == (found.lanes, found.vector_registers, found.line_bytes, found.threads)


@pytest.mark.parametrize(
    ("features", "machine", "pairs"),
    [
        ("+avx512f,+avx512vl,+avx512bf16", "x86_64", "llvm.x86.avx512bf16.dpbf16ps.{bits}"),
        ("+avx512f,+avx512bf16", "x86_64", ""),
        ("+neon,+bf16", "aarch64", "llvm.aarch64.neon.bfdot.v4f32.v8bf16"),
        ("+neon", "aarch64", ""),
        ("+avx2,+fma", "x86_64", ""),
    ],
)
def test_pairs_of_bfloat16_need_their_features(features, machine, pairs) -> None:
    found = cpu_model("generic", features, machine, 1)
    assert pairs == found.bf16_dot
    assert bool(found.bf16_rounds) == ("avx512bf16" in pairs)


def test_float16_is_converted_by_arm_and_by_an_x86_with_f16c() -> None:
    assert cpu_model("generic", "+neon", "aarch64", 1).converts_f16
    assert cpu_model("haswell", "+avx2,+fma,+f16c", "x86_64", 1).converts_f16
    assert not cpu_model("haswell", "+avx2,+fma", "x86_64", 1).converts_f16
    assert not cpu_model("pwr10", "", "ppc64le", 1).converts_f16


def test_tiles_and_two_wide_multiply_adds_are_features_of_wide_vectors() -> None:
    wide = "+avx512f,+avx512vl,+avx512bf16,+amx-tile,+amx-bf16"

    assert cpu_model("sapphirerapids", wide, "x86_64", 1).has_amx_bf16
    assert cpu_model("sapphirerapids", wide, "x86_64", 1).has_two_wide_fmas
    assert not cpu_model("sapphirerapids", wide.replace("+amx-bf16", "-amx-bf16"), "x86_64", 1).has_amx_bf16


def test_every_row_can_be_found_and_the_last_one_takes_any_machine() -> None:
    for row in ROWS:
        features = ",".join(f"+{need}" for need in row.needs)
        found = cpu_model(f"{row.cpus}new", features, (*row.machines, "riscv64")[0], 1)
        assert (row.lanes, row.registers, row.line_bytes) == (found.lanes, found.vector_registers, found.line_bytes)
        assert row.table_lookups == found.table_lookups
        assert all(lanes <= row.lanes for lanes, _ in row.table_lookups)
    assert not ROWS[-1].machines


def test_the_host_is_a_row_of_the_table() -> None:
    assert (host_cpu().lanes, host_cpu().vector_registers) in {(row.lanes, row.registers) for row in ROWS}
    assert cores() == host_cpu().threads >= 1


def test_linux_names_features_of_arm_that_llvm_does_not_read(tmp_path: Path) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    core = "processor : {}\nFeatures\t: fp asimd {}\n\n"

    cpuinfo.write_text(core.format(0, "bf16 i8mm") + core.format(1, "bf16"))
    assert ("bf16",) == arm_features(cpuinfo)
    cpuinfo.write_text(core.format(0, "bf16") + core.format(1, "i8mm"))
    assert () == arm_features(cpuinfo), "a thread may run on either core"
    cpuinfo.write_text("model name : something else\n")
    assert () == arm_features(cpuinfo)
    assert () == arm_features(tmp_path / "none")
