"""Ahead-of-time compilation for GPUs that are not present. Figures depend on the compiler's version."""

from dataclasses import replace

import pytest

from prism_explore.codegen.triton.aot import AotCompiler, AotReport, compile_ahead
from prism_explore.codegen.triton.emit import TritonModule, emit_triton, write_triton
from prism_explore.codegen.triton.heuristics import choose_sizes
from prism_explore.codegen.triton.launcher_text import LauncherWriter
from prism_explore.codegen.triton.plan import SCHEDULE, Obstacle, plan_kernels, with_tma_constant
from prism_explore.errors import TargetUnavailable
from prism_explore.ir.text import parse, show
from prism_explore.pipeline.stages import Infeasible, Kernel, Parameters
from prism_explore.targets import GPUS
from tests.codegen.triton import graphs
from tests.codegen.triton.graphs import verified
from tests.codegen.wider import CAUSAL_FLASH, LATEST, SPLIT_KV

pytest.importorskip("triton")


@pytest.fixture(scope="module")
def compiler():
    with AotCompiler() as running:
        yield running


def rmsnorm(dtype="f16", **schedule):
    graph = parse(show(graphs.rmsnorm_linear(d=4096, n=4096, transposed=True)).replace("f32", dtype))
    parameters = Parameters((("gx", 64), ("f", 32)), tuple(schedule.items()))
    kernel = emit_triton(verified(graph), parameters, {"b": 8}, GPUS["h100"])
    assert isinstance(kernel, Kernel)
    return kernel


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_the_fused_rmsnorm_compiles(compiler, arch, dtype):
    (report,) = compile_ahead(rmsnorm(dtype), arch, compiler)

    assert arch == report.arch
    assert "rmsnorm_linear_kernel" == report.kernel
    assert 32 <= report.registers <= 255
    assert 0 == report.spill_bytes
    assert 128 * 64 * 2 <= report.shared_memory_bytes <= 227 << 10, "a tile of w passes through shared memory"
    assert report.assembly_bytes > 1000
    assert report.binary_bytes > 1000


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "gfx942"])
def test_products_in_16_bits_are_on_tensor_cores_and_exact_ones_in_float32_are_not(compiler, arch):
    (half,), (single,) = (compile_ahead(rmsnorm(dtype), arch, compiler) for dtype in ("bf16", "f32"))

    assert 0 < half.tensor_core_instructions < half.instructions
    # NVIDIA's tensor cores round float32 to TF32; AMD's do not.
    assert (arch == "gfx942") == (single.tensor_core_instructions > 0)
    assert (arch == "gfx942") == (half.async_copy_instructions == 0), "tiles of w bypass the registers"
    assert half.occupancy.blocks > 0
    assert f"{half.tensor_core_instructions} on tensor cores" in str(half)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100", "gfx942"])
@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        (graphs.GATED_MLP, {"b": 1, "gx": 2, "f": 3}),
        (graphs.LORA, {"b": 5, "gx": 3, "f": 2}),
        (graphs.ATTENTION, {"h": 2, "q": 32, "gy": 2, "f": 2}),
        (graphs.SEVERAL_HEADS, {"h": 4, "q": 16, "gx": 2, "gy": 1, "f": 2}),
        (graphs.SPLIT, {"b": 6, "gx": 3, "gy": 2}),
        (graphs.REDUCTIONS.replace("FN", "rms").replace("DIM", "1"), {"b": 6, "gx": 2}),
        (graphs.BIAS.replace("f32", "f64"), {"b": 5, "gx": 3, "f": 2}),
        (CAUSAL_FLASH, {"h": 2, "m": 40, "d": 64, "s": 96, "e": 32, "gy": 2, "f": 4}),
        (SPLIT_KV, {"m": 16, "d": 64, "s": 128, "e": 64, "gx": 2, "f": 2, "gy": 2}),
        (LATEST, {"b": 32, "d": 48, "gx": 2, "f": 4}),
        *(
            (graphs.WHOLE_NUMBERS.replace("f32", x).replace("i8", q), {"b": 32, "gx": 2, "f": 2})
            for x, q in (("f32", "i8"), ("bf16", "u8"), ("f32", "bf16"))
        ),
    ],
)
def test_the_other_programs_compile_too(compiler, arch, text, numbers):
    module = write_triton(parse(text), numbers, Parameters(()))

    reports = compiler.compile(module, arch)

    assert not isinstance(reports, Obstacle), reports
    assert len(module.kernels) == len(reports)
    assert all(report.registers > 0 and report.binary_bytes > 1000 for report in reports)


@pytest.mark.parametrize("stages", [1, 3])
@pytest.mark.parametrize("arch", ["sm_90", "sm_100", "gfx942"])
@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        (show(graphs.rmsnorm_linear(d=1024, n=1024)), {"b": 16, "gx": 16, "f": 16}),
        (CAUSAL_FLASH, {"h": 2, "m": 64, "d": 64, "s": 512, "e": 64, "gy": 2, "f": 8}),
        (SPLIT_KV, {"m": 16, "d": 64, "s": 512, "e": 64, "gx": 2, "f": 8, "gy": 1}),
    ],
    ids=["rmsnorm_linear", "causal_flash", "split_kv"],
)
def test_the_shared_memory_that_is_predicted_is_about_what_is_taken(compiler, arch, text, numbers, stages):
    graph, chosen = parse(text), Parameters((), (("num_stages", stages),))
    plans, module = plan_kernels(graph, numbers, chosen), write_triton(graph, numbers, chosen)
    assert isinstance(plans, tuple) and isinstance(module, TritonModule)

    reports = compiler.compile(module, arch)

    assert isinstance(reports, tuple), reports
    for plan, report in zip(plans, reports, strict=True):
        predicted = plan.staged_bytes * stages
        # Where nothing is staged, Triton 3.6 still lets a tile change its layout through shared memory.
        assert report.shared_memory_bytes <= 1.3 * predicted + 4096
        if arch != "gfx942":  # AMD's compiler keeps what it can in registers
            assert 0.5 * predicted <= report.shared_memory_bytes


def test_an_amd_kernel_that_needs_more_than_64_kib_is_infeasible(compiler):
    graph, numbers = parse(CAUSAL_FLASH), {"h": 2, "m": 32, "d": 64, "s": 512, "e": 64, "gy": 1, "f": 4}
    module = write_triton(graph, numbers, Parameters((), (("num_stages", 3), ("num_warps", 8))))

    found = compiler.compile(module, "gfx942")

    assert isinstance(found, Obstacle)
    assert "gfx942 has 65536 per block" in found.reason


def test_tiles_are_read_by_tma_where_the_architecture_has_it(compiler):
    graph = parse(show(graphs.rmsnorm_linear(d=1024, n=1024, transposed=True)).replace("f32", "bf16"))
    numbers = {"b": 64, "gx": 16, "f": 16}
    pointers, by_tma = (write_triton(graph, numbers, Parameters((), (("tma", tma),))) for tma in (0, 1))

    def copies(module, arch="sm_90"):
        reports = compiler.compile(module, arch)
        assert isinstance(reports, tuple), reports
        assert f"{reports[0].tma_instructions} of them of tiles by TMA" in str(reports[0])
        return reports[0].async_copy_instructions, reports[0].tma_instructions

    several, none = copies(pointers)
    fewer, some = copies(by_tma)
    assert none == 0 < some <= fewer < several
    assert copies(by_tma, "sm_100")[1] > 0
    assert copies(by_tma, "sm_80")[1] == 0
    assert [(several, none), (fewer, some)] == [copies(tuned(graph, numbers, by_tma, tma)) for tma in (0, 1)]


def tuned(graph, numbers, module, tma):
    """The module with the kernel of a tuning file, in which the constant `TMA` chooses."""
    plans = plan_kernels(graph, numbers, Parameters(()))
    plans = with_tma_constant(plans, {p.position: p.describable for p in plans})
    launcher = LauncherWriter(graph, numbers, {p.position: p for p in plans}, SCHEDULE, "sgraph")
    launcher.write()
    (kernel,) = launcher.kernels
    arguments = tuple(replace(a, value=tma) if a.name == "TMA" else a for a in kernel.arguments)
    source = module.source.replace(module.kernels[0].source, kernel.source)
    return replace(module, source=source, kernels=(replace(kernel, arguments=arguments),))


def test_every_function_compiles(compiler):
    rows = ["exp", "square", "sqrt", "rsqrt", "recip", "neg", "silu", "sigmoid", "relu", "tanh"]
    lines = [f"    %{i + 1} = {fn}(%{i})" for i, fn in enumerate(rows)]
    text = "\n".join(
        [
            "sgraph",
            "  x = input f32[b, 64]",
            "  %1 = custom(x) grid[x=gx]",
            "    %0 = load(0, imap=[0])",
            *lines,
            f"    %{len(rows) + 1} = store(%{len(rows)}, omap=[0])",
            "  return %1",
        ]
    )

    reports = compiler.compile(write_triton(parse(text), {"b": 64, "gx": 8}, Parameters(())), "sm_80")

    assert not isinstance(reports, Obstacle), reports


def test_wide_loads_are_used_because_alignment_is_known(compiler):
    kernel = rmsnorm()

    (report,) = compile_ahead(kernel, "sm_80", compiler)
    unaligned = compiler.compile(shifted(kernel), "sm_80")

    assert not isinstance(unaligned, Obstacle)
    assert unaligned[0].assembly_bytes > 1.5 * report.assembly_bytes


def shifted(kernel):
    """The same source for a weight whose rows are not aligned to 16 elements."""
    from prism_explore.codegen.triton.emit import triton_module

    module = triton_module(kernel)
    arguments = tuple(
        replace(a, value=a.value + 1) if a.kind == "stride" and a.value == 4096 else a
        for a in module.kernels[0].arguments
    )
    return replace(module, kernels=(replace(module.kernels[0], arguments=arguments),))


def test_more_shared_memory_than_the_architecture_has_is_infeasible(compiler):
    kernel = rmsnorm(num_stages=12)

    found = compile_ahead(kernel, "sm_80", compiler)

    assert isinstance(found, Infeasible)
    assert "tune.illegal" == found.code
    assert "bytes of shared memory, sm_80 has 166912 per block" in found.reason
    assert kernel.parameters == found.parameters


def test_what_the_compiler_refuses_is_infeasible_and_the_next_compiles(compiler):
    graph = graphs.rmsnorm_linear(weight=False)
    module = write_triton(graph, {"b": 5, "gx": 3, "f": 4}, Parameters(()))
    wrong = replace(module, source=module.source.replace("tl.sqrt", "tl.square_root"))

    found = compiler.compile(wrong, "sm_80")
    fine = compiler.compile(module, "sm_80")

    assert isinstance(found, Obstacle)
    assert "tune.compile" == found.code
    assert "square_root" in found.reason
    assert isinstance(fine, tuple) and isinstance(fine[0], AotReport)


@pytest.mark.parametrize(("b", "dtype"), [(1, "f16"), (8, "f16"), (8, "f32")])
def test_chosen_sizes_fill_a_gpu_and_hardly_spill(compiler, b, dtype):
    graph = parse(show(graphs.rmsnorm_linear(d=4096, n=4096)).replace("f32", dtype))
    fitted = choose_sizes(graph, {"b": b}, GPUS["h100"])
    assert isinstance(fitted, Parameters)

    module = write_triton(graph, {"b": b, **fitted.numbers}, fitted, GPUS["h100"])
    (report,) = compiler.compile(module, "sm_90")

    assert 32 <= fitted.numbers["gx"] <= 512
    assert fitted.numbers["f"] >= 4
    assert report.spill_bytes <= 64


def test_without_legal_sizes_the_first_reason_is_returned():
    text = graphs.EVERY_FUNCTION.replace("FN", "neg").replace("OP", "add").replace("gx", "1").replace("=f", "=1")

    found = choose_sizes(parse(text), {"b": 1 << 20}, GPUS["h100"])

    assert isinstance(found, Obstacle)
    assert "tile %0 of 1048576 x 8 has 8388608 elements" in found.reason


def test_an_architecture_that_is_not_known_is_the_callers_mistake(compiler):
    with pytest.raises(TargetUnavailable, match="no architecture 'sm_1'; known are sm_80, "):
        compile_ahead(rmsnorm(), "sm_1", compiler)
