"""Triton kernels compiled ahead of time, for a GPU that is not here.

Compiling needs no driver: it gives machine code, registers, spills and shared memory for any
architecture that the installed Triton knows. Shared memory is compared with the architecture's limit
here, because Triton does that only when it launches. The strides are those of dense tensors in their
types' storage order, and pointers are taken to be aligned to 16 bytes, as torch's are.

Compilation happens in a process of its own (see `triton_worker`), in a fraction of a second each.
"""

# pyright: basic
# Triton ships no types.

from __future__ import annotations

import contextlib
import io
import os
import re
import time
from dataclasses import dataclass
from typing import Any

from prism_explore.codegen.triton.emit import TritonModule, load_triton, triton_module
from prism_explore.codegen.triton.kernel_text import KernelText
from prism_explore.codegen.triton.plan import Obstacle
from prism_explore.codegen.triton.worker_process import Failure, Plain, Worker, serve
from prism_explore.errors import TargetUnavailable
from prism_explore.ir.tensors import DType
from prism_explore.pipeline.stages import Infeasible, Kernel
from prism_explore.targets.gpus import ARCHITECTURES

ENVIRONMENT = {"TRITON_INTERPRET": None, "TRITON_ALWAYS_COMPILE": "1", "TRITON_DUMP_PTXAS_LOG": "1"}
"""Compile, even what is in Triton's cache, and let the assembler's account be printed."""

POINTER: dict[DType, str] = {"f64": "*fp64", "f32": "*fp32", "bf16": "*bf16", "f16": "*fp16"}


@dataclass(frozen=True, slots=True)
class AotReport:
    """What the compiler made of one kernel; nothing of it was run."""

    kernel: str
    arch: str
    registers: int
    """Per thread."""
    spill_bytes: int
    """Stored to and loaded from local memory per thread, because registers ran out; on AMD what was stored."""
    stack_bytes: int
    shared_memory_bytes: int
    assembly_bytes: int
    """Of the text: PTX, or AMD's assembly."""
    binary_bytes: int
    compile_s: float


class AotCompiler:
    """Triton's compiler in a process of its own. A context manager."""

    def __init__(self) -> None:
        self._worker = Worker("prism_explore.codegen.triton.aot", ENVIRONMENT)

    def __enter__(self) -> AotCompiler:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process; asking again starts another."""
        self._worker.close()

    def compile(self, module: TritonModule, arch: str, timeout_s: float = 120.0) -> tuple[AotReport, ...] | Obstacle:
        """A report per kernel, or what the compiler or the architecture has against one.

        Raises:
            TargetUnavailable: an architecture that is not in `ARCHITECTURES`.
        """
        if arch not in ARCHITECTURES:
            raise TargetUnavailable(f"no architecture {arch!r}; known are {', '.join(ARCHITECTURES)}")
        machine = ARCHITECTURES[arch]
        reports: list[AotReport] = []
        for kernel in module.kernels:
            question = {
                "source": module.source,
                "target": machine.triton,
                "options": {"num_warps": module.num_warps, "num_stages": module.num_stages},
                **_signature(kernel),
            }
            answer = self._worker.ask(question, timeout_s)
            if isinstance(answer, Failure):
                code = {"error": "tune.compile", "crash": "tune.crash", "hang": "tune.hang"}[answer.code]
                return Obstacle(code, f"{kernel.name} for {arch}: {answer.reason}")
            report = AotReport(kernel.name, arch, **answer)
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
    """A Triton kernel's reports for an architecture, one per custom kernel; nothing is run.

    Raises:
        TargetUnavailable: an architecture that is not in `ARCHITECTURES`.
    """
    reports = compiler.compile(triton_module(kernel), arch, timeout_s)
    if isinstance(reports, Obstacle):
        return Infeasible(kernel.verified.candidate, kernel.parameters, reports.code, reports.reason)
    return reports


def _signature(kernel: KernelText) -> Plain:
    """Types of the parameters, constants, and what is divisible by 16, as Triton's JIT would find them."""
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
def _compile(question: Plain) -> Plain:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    kernel = load_triton(question["source"]).__globals__[question["kernel"]]
    source = ASTSource(
        fn=kernel,
        signature=question["signature"],
        constexprs=question["constants"],
        attrs={(place,): [["tt.divisibility", 16]] for place in question["aligned"]},
    )
    began = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()) as said:
        made: Any = triton.compile(source, target=GPUTarget(*question["target"]), options=question["options"])
    spent = time.perf_counter() - began
    is_amd = question["target"][0] == "hip"
    text, binary = (made.asm[name] for name in (("amdgcn", "hsaco") if is_amd else ("ptx", "cubin")))
    return {
        **(_amd_resources(text) if is_amd else _resources(said.getvalue())),
        "shared_memory_bytes": int(made.metadata.shared),
        "assembly_bytes": len(text),
        "binary_bytes": len(binary),
        "compile_s": spent,
    }


def _amd_resources(assembly: str) -> dict[str, int]:
    """Registers, spills and stack, from the metadata of AMD's assembly; a vector register is 4 bytes of a thread."""

    def number(name: str) -> int:
        found = re.search(rf"^\s+\.{name}:\s+(\d+)$", assembly, re.MULTILINE)
        assert found, f"the assembly does not say .{name}"
        return int(found.group(1))

    return {
        "registers": number("vgpr_count"),
        "spill_bytes": 4 * number("vgpr_spill_count"),
        "stack_bytes": number("private_segment_fixed_size"),
    }


def _resources(said: str) -> dict[str, int]:
    """Registers, spills and stack, from what NVIDIA's assembler said while it made the machine code.

    Assembling the PTX a second time would not do: Triton passes flags that change these figures.
    """

    def number(pattern: str) -> int:
        found = re.search(pattern, said)
        assert found, f"the assembler did not say {pattern!r} in {said!r}"
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
