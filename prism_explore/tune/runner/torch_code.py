# pyright: basic
# torch is only partly typed.
"""The user's torch code as a function of the program's inputs: to call it, compile it, or export it for a worker."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from prism_explore.errors import ShapeError
from prism_explore.frontend import Traced
from prism_explore.frontend.torch_tracing import tracing
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.tensors import NAMES


def torch_compiled(code: Callable[..., Any]) -> Callable[..., Any]:
    """Torch code compiled by `torch.compile` with its defaults; other shapes are compiled again."""
    import torch

    return torch.compile(code, dynamic=False)


T = TypeVar("T")

_COMPILER_FAILED = "CppCompileError"
"""Torch's error where the C++ compiler fails."""


def compiled_for_this_cpu(compiles: Callable[[], T], failure_of: Callable[[T], str]) -> T:
    """Compile for the vector extensions of the CPU; where the C++ compiler fails, for those that torch finds by trying.

    Torch tries each of them, and each of their parts such as bfloat16, with the C++ compiler. On a machine with AVX-512
    and AMX that takes 15 CPU s, the kernel itself 3 s. The code is the same unless the compiler is older than the CPU.
    What is assumed here is forgotten at the end, so that code which others compile is compiled as ever.

    Args:
        compiles: with torch's default compiler; called again without assumptions where the C++ compiler fails.
        failure_of: the message of a result that says that it failed, else an empty string.
    """
    import torch._inductor.config as config

    if config.cpp.vec_isa_ok is not None:  # the user's choice
        return compiles()
    with config.patch({"cpp.vec_isa_ok": True}), _without_trials():
        found = compiles()
    return compiles() if _COMPILER_FAILED in failure_of(found) else found


@contextmanager
def _without_trials() -> Generator[None]:
    """Torch assumes within the block that the C++ compiler knows all vector extensions."""
    from torch._inductor import cpu_vec_isa

    vector_extension: Any = cpu_vec_isa.VecISA
    tries = vector_extension.check_build
    vector_extension.check_build = lambda *_: True
    try:
        yield
    finally:
        vector_extension.check_build = tries
        for isa in cpu_vec_isa.supported_vec_isa_list:  # they remember what was assumed
            for name in dir(type(isa)):
                getattr(getattr(type(isa), name), "cache_clear", lambda: None)()
            for part in [name for name in vars(isa) if name.startswith("_is_")]:
                delattr(isa, part)
        cpu_vec_isa.valid_vec_isa_list.cache_clear()


def set_up_compiler() -> None:
    """Let torch's default compiler do what it does at its first call, which takes 2 CPU s.

    A server calls this before workers are forked from it. So no thread is started, and nothing is executed but the code
    between graphs: the graph, a product of two matrices, is compiled without C++ code and not run. The key of torch's
    own files, by which it finds compiled code, is computed too.
    """
    import torch
    import torch._functorch.config as autograd_config
    import torch._inductor.config as config
    from torch._inductor.codecache import torch_key
    from torch._inductor.compile_fx import compile_fx

    def compiles_only(graph: Any, examples: Any) -> Callable[..., Any]:
        compile_fx(graph, examples)
        return lambda *inputs: inputs

    hub: Any = torch.hub
    bars = hub.tqdm
    interval, bars.monitor_interval = bars.monitor_interval, 0  # else the bar that is shown to nobody has a thread
    try:
        with (
            torch.no_grad(),
            config.patch({"compile_threads": 1, "fx_graph_cache": False}),
            autograd_config.patch({"enable_autograd_cache": False}),
        ):
            product: Any = torch.compile(lambda a, b: a @ b, backend=compiles_only, dynamic=False)
            product(torch.zeros(2, 2), torch.zeros(2, 2))
    finally:
        bars.monitor_interval = interval
        torch.compiler.reset()
    torch_key()


def on_program_inputs(traced: Traced) -> Callable[..., Any]:
    """The user's function or module as a function of the program's inputs, in their order, to the program's result.

    Raises:
        ShapeError: when called, if the user's function has an argument that the program does not use.
    """
    import torch

    def call(*inputs: Any) -> Any:
        found: dict[str, Any] = {}
        for binding, tensor in zip(traced.bindings, inputs, strict=True):
            found.setdefault(binding.source, binding.source_of(tensor))
        missing = [a for a in traced.arguments if a not in found]
        if missing:
            raise ShapeError(f"{traced.program.name} does not use its argument {missing[0]!r}; it cannot be timed")
        arguments = tuple(found[a] for a in traced.arguments)
        if isinstance(traced.reference, torch.nn.Module):
            own = {name: found[name] for name in traced.parameters if name in found}
            return traced.computed(traced.call_with(own, arguments))
        return traced.computed(traced.reference(*arguments))

    return call


def export_function(
    code: Callable[..., Any] | Traced, program: TensorProgram, shapes: Mapping[str, int], path: Path
) -> str:
    """Write torch code to a file with torch.export; the reason if torch cannot, else an empty string."""
    with tracing(strict=False):
        return _export_alone(code, program, shapes, path)


def _export_alone(
    code: Callable[..., Any] | Traced, program: TensorProgram, shapes: Mapping[str, int], path: Path
) -> str:
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    call = on_program_inputs(code) if isinstance(code, Traced) else code

    class Wrapped(torch.nn.Module):
        def forward(self, *args: Any) -> Any:
            return call(*args)

    # Fake tensors take no memory, and unlike meta tensors leave no trace of another device in the exported program.
    with FakeTensorMode(allow_non_fake_inputs=True):
        examples = [
            torch.empty_strided(
                [d.value(shapes) for d in i.type.dims],
                i.type.strides_at(shapes),
                dtype=getattr(torch, NAMES[i.type.dtype]),
            )
            for i in program.inputs
        ]
    try:
        with torch.no_grad():
            exported = torch.export.export(Wrapped(), tuple(examples), strict=False)
        exported.example_inputs = None
        torch.export.save(exported, path)
    except Exception as failure:
        lines = str(failure).strip().splitlines()
        return f"torch.export could not write the function: {lines[0] if lines else type(failure).__name__}"
    return ""
