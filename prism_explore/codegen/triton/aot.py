"""Ahead-of-time compilation of Triton kernels, for a GPU that need not be present.

Output: registers, spills, shared memory, resident blocks and counts of machine instructions, for any architecture that
the installed Triton knows; no driver is needed. Shared memory is compared with the architecture's limit here, because
Triton does so only at launch.
Assumed: the strides of the tensors' types, and pointers aligned to 16 bytes, as torch's are.

Kernels are compiled in a separate process (see `worker_process.py`), in a fraction of a second each.
"""

# pyright: basic
# Triton ships no types.

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from prism_explore.codegen.triton.emit import TritonModule, load_triton, triton_module
from prism_explore.codegen.triton.plan import Obstacle
from prism_explore.codegen.triton.worker_process import Failure, JsonObject, Worker, serve
from prism_explore.codegen.triton.writer import KernelText
from prism_explore.errors import TargetUnavailable
from prism_explore.ir.tensors import DType
from prism_explore.pipeline.stages import Infeasible, Kernel
from prism_explore.targets.gpus import ARCHITECTURES, Occupancy

ENVIRONMENT = {"TRITON_INTERPRET": None, "TRITON_ALWAYS_COMPILE": "1", "TRITON_DUMP_PTXAS_LOG": "1"}
"""Compile what is in Triton's cache too, and print the assembler's report."""

POINTER: dict[DType, str] = {
    **{"f64": "*fp64", "f32": "*fp32", "bf16": "*bf16", "f16": "*fp16"},
    **{"bool": "*i1", "i8": "*i8", "u8": "*u8", "w64": "*i64", "w32": "*i32"},
}


@dataclass(frozen=True, slots=True)
class AotReport:
    """Resources of one compiled kernel, which was not run."""

    kernel: str
    arch: str
    registers: int
    """Per thread."""
    spill_bytes: int
    """Spilled to local memory per thread: stores and loads; on AMD stores only."""
    stack_bytes: int
    shared_memory_bytes: int
    assembly_bytes: int
    """Length of the PTX, or of AMD's assembly."""
    binary_bytes: int
    compile_s: float
    instructions: int
    """Machine instructions in the kernel's text, each counted once, however often it runs."""
    tensor_core_instructions: int
    """Of these, products on tensor cores: HMMA, HGMMA, UTCHMMA and the like, or AMD's MFMA."""
    async_copy_instructions: int
    """Of these, copies from memory to shared memory that bypass registers: LDGSTS, and bulk copies by TMA."""
    tma_instructions: int
    """Of these, copies of tiles through tensor descriptors: UTMALDG."""
    occupancy: Occupancy

    def __str__(self) -> str:
        return (
            f"{self.registers} registers, {self.spill_bytes} B spilled, "
            f"{self.shared_memory_bytes:,} B of shared memory; per multiprocessor {self.occupancy}; "
            f"{self.instructions:,} instructions: {self.tensor_core_instructions} on tensor cores, "
            f"{self.async_copy_instructions} asynchronous copies, {self.tma_instructions} of them of tiles by TMA"
        )


class AotCompiler:
    """Triton's compiler in a separate process. A context manager."""

    def __init__(self) -> None:
        self._worker = Worker("prism_explore.codegen.triton.aot", ENVIRONMENT)

    def __enter__(self) -> AotCompiler:
        """Start the process without waiting for it."""
        self._worker.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process; the next call starts another."""
        self._worker.close()

    def compile(self, module: TritonModule, arch: str, timeout_s: float = 120.0) -> tuple[AotReport, ...] | Obstacle:
        """A report per kernel, or why a kernel does not compile for the architecture.

        Raises:
            TargetUnavailable: an architecture that is not in `ARCHITECTURES`.
        """
        if arch not in ARCHITECTURES:
            raise TargetUnavailable(f"no architecture {arch!r}; known are {', '.join(ARCHITECTURES)}")
        machine = ARCHITECTURES[arch]
        reports: list[AotReport] = []
        for kernel in module.kernels:
            request = {
                "source": module.source,
                "target": machine.triton,
                "options": {"num_warps": module.num_warps, "num_stages": module.num_stages},
                **_signature(kernel),
            }
            reply = self._worker.request(request, timeout_s)
            if isinstance(reply, Failure):
                code = {"error": "tune.compile", "crash": "tune.crash", "hang": "tune.hang"}[reply.code]
                return Obstacle(code, f"{kernel.name} for {arch}: {reply.reason}")
            occupancy = machine.occupancy(reply["registers"], reply["shared_memory_bytes"], module.num_warps)
            report = AotReport(kernel.name, arch, **reply, occupancy=occupancy)
            if report.shared_memory_bytes > machine.shared_memory_bytes:
                return Obstacle(
                    "tune.illegal",
                    f"{kernel.name} needs {report.shared_memory_bytes} bytes of shared memory, "
                    f"{arch} has {machine.shared_memory_bytes} per block",
                )
            reports.append(report)
        return tuple(reports)


def compile_ahead(
    kernel: Kernel, arch: str, compiler: AotCompiler, timeout_s: float = 120.0
) -> tuple[AotReport, ...] | Infeasible:
    """Compile a Triton kernel for an architecture: a report per custom kernel.

    Raises:
        TargetUnavailable: an architecture that is not in `ARCHITECTURES`.
    """
    reports = compiler.compile(triton_module(kernel), arch, timeout_s)
    if isinstance(reports, Obstacle):
        return Infeasible(kernel.verified.candidate, kernel.parameters, reports.code, reports.reason)
    return reports


def _signature(kernel: KernelText) -> JsonObject:
    """Types of the parameters, constants, and parameters divisible by 16, as Triton's JIT finds them."""
    signature: dict[str, str] = {}
    constants: dict[str, int] = {}
    aligned: list[int] = []
    for place, argument in enumerate(kernel.arguments):
        match argument.kind:
            case "pointer":
                signature[argument.name] = POINTER[kernel.dtypes[argument.operand]]
                aligned.append(place)
            case "stride" if argument.value != 1:
                signature[argument.name] = "i32" if argument.value < 1 << 31 else "i64"
                aligned += [place] if argument.value % 16 == 0 else []
            case _:
                signature[argument.name] = "constexpr"
                constants[argument.name] = argument.value
    return {"kernel": kernel.name, "signature": signature, "constants": constants, "aligned": aligned}


# ---------------------------------------------------------------- the process
def _compile(request: JsonObject) -> JsonObject:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    kernel = load_triton(request["source"]).__globals__[request["kernel"]]
    source = ASTSource(
        fn=kernel,
        signature=request["signature"],
        constexprs=request["constants"],
        attrs={(place,): [["tt.divisibility", 16]] for place in request["aligned"]},
    )
    began = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()) as log:
        compiled: Any = triton.compile(source, target=GPUTarget(*request["target"]), options=request["options"])
    spent = time.perf_counter() - began
    is_amd = request["target"][0] == "hip"
    text, binary = (compiled.asm[name] for name in (("amdgcn", "hsaco") if is_amd else ("ptx", "cubin")))
    return {
        **(_amd_resources(text) if is_amd else _nvidia_resources(log.getvalue())),
        "shared_memory_bytes": int(compiled.metadata.shared),
        "assembly_bytes": len(text),
        "binary_bytes": len(binary),
        "compile_s": spent,
        **(_amd_counts(text) if is_amd else _nvidia_counts(binary)),
    }


def _nvidia_counts(binary: bytes) -> dict[str, int]:
    """Instructions of a cubin, by the disassembler that comes with Triton."""
    from triton import knobs

    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(binary)
        file.flush()
        command = [knobs.nvidia.cuobjdump.path, "-sass", file.name]
        sass = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    # A line is `/*0080*/  @!P0 LDG.E.128 R4, ...`: address, predicate, instruction with its modifiers.
    found = re.findall(r"^\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?\w+\s+)?([A-Z][A-Z0-9]+)", sass, re.MULTILINE)
    return _counts(found, r"(UTC)?[A-Z]*MMA", r"LDGSTS|UBLKCP|UTMALDG")


def _amd_counts(assembly: str) -> dict[str, int]:
    """Instructions in AMD's assembly."""
    found = re.findall(r"^\t([a-z]+_\w+(?: .*\blds\b)?)", assembly, re.MULTILINE)
    return _counts(found, r"v_s?mfmac?_\w+", r"(global|buffer)_load_.*lds.*")


def _counts(instructions: Iterable[str], tensor_core: str, async_copy: str) -> dict[str, int]:
    names = [i for i in instructions if i != "NOP"]
    return {
        "instructions": len(names),
        "tensor_core_instructions": sum(re.fullmatch(tensor_core, n) is not None for n in names),
        "async_copy_instructions": sum(re.fullmatch(async_copy, n) is not None for n in names),
        "tma_instructions": names.count("UTMALDG"),
    }


def _amd_resources(assembly: str) -> dict[str, int]:
    """Registers, spills and stack, from the metadata of AMD's assembly; a vector register holds 4 bytes per thread."""

    def number(name: str) -> int:
        found = re.search(rf"^\s+\.{name}:\s+(\d+)$", assembly, re.MULTILINE)
        assert found, f"the assembly has no .{name}"
        return int(found.group(1))

    return {
        "registers": number("vgpr_count"),
        "spill_bytes": 4 * number("vgpr_spill_count"),
        "stack_bytes": number("private_segment_fixed_size"),
    }


def _nvidia_resources(log: str) -> dict[str, int]:
    """Registers, spills and stack, from the report of NVIDIA's assembler during Triton's compilation.

    Assembling the PTX again gives other figures, because Triton passes flags that change them.
    """

    def number(pattern: str) -> int:
        found = re.search(pattern, log)
        assert found, f"the assembler did not report {pattern!r} in {log!r}"
        return int(found.group(1))

    return {
        "registers": number(r"Used (\d+) registers"),
        "spill_bytes": number(r"(\d+) bytes spill stores") + number(r"(\d+) bytes spill loads"),
        "stack_bytes": number(r"(\d+) bytes stack frame"),
    }


def _main() -> None:
    assert os.environ.get("TRITON_INTERPRET") != "1", "an interpreting process cannot compile; run by AotCompiler"
    serve(_compile)


if __name__ == "__main__":
    _main()
