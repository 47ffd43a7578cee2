# pyright: basic
# torch is only partly typed.
"""Baselines in the worker process: prepare them, compare their results, keep them for timing.

A baseline arrives as a file of torch.export, so no source and no pickle of ours is transferred, and eager runs the same
ATen operators as in the parent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import FunctionType
from typing import Any

from prism_explore.codegen.triton.launch import tensor_of
from prism_explore.errors import ShapeError
from prism_explore.events.fastest import COMPILED, EAGER, LIBRARY
from prism_explore.tune.runner.backend import import_named
from prism_explore.tune.runner.bench import CheckPassed, Failure
from prism_explore.tune.runner.local_bench import LocalBench, one_line
from prism_explore.tune.runner.torch_code import compiled_for_this_cpu, torch_compiled

MOST_FROZEN = 48
"""Freezing compiles once per copy of the weights, about a second each. A longer ring uses these copies in turn."""

FROZEN_COLD_SHARE = 0.5
"""Least size of all frozen copies, as a share of `Target.cold_bytes`; with fewer bytes they would be warm."""


def prepare_baseline(bench: LocalBench, request: Mapping[str, Any]) -> CheckPassed | Failure:
    """Load an exported function, prepare it for the baseline named by `key`, compare its result, and keep it."""
    import torch

    key, maker = str(request["key"]), str(request["maker"])
    exported = torch.export.load(Path(request["path"]))
    if bench.device != "cpu":
        from torch.export.passes import move_to_device_pass

        exported = move_to_device_pass(exported, bench.device)

    def prepare() -> CheckPassed | Failure:
        try:
            run = _on_arrays(import_named(maker)(exported)) if maker else _prepared(bench, key, exported)
            return bench.check_callable(key, run, bench.roundings)
        except Exception as failure:
            return Failure("tune.compile", _compiler_line(failure))

    if maker or key in (EAGER, LIBRARY):
        return prepare()
    with _without_precompiled_headers() if key == COMPILED else nullcontext():
        return compiled_for_this_cpu(prepare, lambda found: found.reason if isinstance(found, Failure) else "")


def _without_precompiled_headers() -> AbstractContextManager[Any]:
    """Torch includes its headers in each kernel instead of precompiling them, unless it has precompiled headers.

    Precompiling takes 6 CPU s, and saves 1.8 s per kernel; a part of a program has one or two.
    """
    import torch._inductor.config as config
    from torch._inductor.codecache import _HEADER_DIR

    has_headers = any(Path(_HEADER_DIR).glob("*.gch"))
    return nullcontext() if has_headers else config.patch({"cpp_cache_precompile_headers": False})


def _prepared(bench: LocalBench, key: str, exported: Any) -> Callable[..., Any]:
    module = _without_guards(exported.module())
    if key in (EAGER, LIBRARY):
        return _on_arrays(module)
    if key == COMPILED:
        return _on_arrays(torch_compiled(module))
    return _frozen(bench, module) if bench.device == "cpu" else _on_arrays(_autotuned(module))


def _autotuned(module: Any) -> Any:
    """On a GPU nothing is packed. CUDA graphs are off, because they would copy the inputs in the timed span."""
    import torch

    return torch.compile(module, dynamic=False, mode="max-autotune-no-cudagraphs")


def _without_guards(module: Any) -> Any:
    """The exported graph without its guards and its packing of arguments, which would add to the time of eager."""
    from torch.fx.graph import CodeGen

    for node in list(module.graph.nodes):
        if node.op == "call_module" and node.target == "_guards_fn":
            module.graph.erase_node(node)
        elif node.op == "output":
            (results,) = node.args
            if isinstance(results, tuple | list):
                node.args = (results[0] if len(results) == 1 else tuple(results),)
    module.graph.set_codegen(CodeGen())
    module.recompile()
    return module


def _on_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    import torch

    def run(*arrays: Any) -> Any:
        with torch.no_grad():
            return function(*(tensor_of(a) for a in arrays))

    return run


def _frozen(bench: LocalBench, module: Any) -> Callable[..., Any]:
    """One compiled module per copy of the weights, which are packed in advance; without weights, one module.

    Raises:
        ShapeError: `MOST_FROZEN` copies of the weights would stay in a cache.
    """
    import torch
    import torch._inductor.config as config

    weights = bench.weights
    copies = min(bench.ring.slots, MOST_FROZEN)
    frozen_bytes = copies * sum(bench.ring.all[0][i].nbytes for i in weights)
    if weights and copies < bench.ring.slots and frozen_bytes < FROZEN_COLD_SHARE * bench.cold_bytes:
        raise ShapeError(
            f"weights are frozen once per copy, at most {MOST_FROZEN} times; so many take {frozen_bytes >> 20} MiB and "
            f"could stay in a cache; {int(FROZEN_COLD_SHARE * bench.cold_bytes) >> 20} MiB could not"
        )

    class Frozen(torch.nn.Module):
        def __init__(self, tensors: Mapping[int, Any]) -> None:
            super().__init__()
            self.positions = tuple(tensors)
            self.tensors = torch.nn.ParameterList(torch.nn.Parameter(t, requires_grad=False) for t in tensors.values())

        def forward(self, *others: Any) -> Any:
            rest, own = iter(others), dict(zip(self.positions, self.tensors, strict=True))
            # `module` is not a submodule: an exported module cannot be set to evaluation mode, which freezing needs.
            return module(*(own[i] if i in own else next(rest) for i in range(len(others) + len(own))))

    def compile_with(tensors: Mapping[int, Any]) -> Any:
        # Torch caches compiled code by code object, checks all cached entries at each call, and keeps only a few.
        code, closure = Frozen.forward.__code__.replace(), Frozen.forward.__closure__
        own_class = type("Frozen", (Frozen,), {"forward": FunctionType(code, globals(), closure=closure)})
        return torch.compile(own_class(tensors).eval(), dynamic=False)

    def copy_key(arrays: Sequence[Any]) -> int:
        return id(arrays[weights[0]]) if weights else 0

    config.freezing, config.max_autotune = True, True
    config.max_autotune_gemm_backends = "CPP,ATEN"
    compiled: dict[int, Any] = {}
    for slot, inputs in enumerate(bench.ring.all):
        # All copies have the same values, so a slot may use the frozen copy of another one.
        first = copy_key(bench.ring.all[slot % copies])
        if first not in compiled:
            compiled[first] = compile_with({i: tensor_of(inputs[i]) for i in weights})
        compiled[copy_key(inputs)] = compiled[first]
    for case in bench.cases:
        if copy_key(case.inputs) not in compiled:
            compiled[copy_key(case.inputs)] = compile_with({i: tensor_of(case.inputs[i]) for i in weights})

    def run(*arrays: Any) -> Any:
        function = compiled[copy_key(arrays)]
        with torch.no_grad():
            return function(*(tensor_of(a) for i, a in enumerate(arrays) if i not in weights))

    for inputs in bench.ring.all:
        run(*inputs)
    return run


def _compiler_line(failure: BaseException) -> str:
    """An exception in one line: the line about a missing compiler if there is one, else the first."""
    for line in str(failure).splitlines():
        if "compiler" in line.lower() or "not found" in line.lower():
            return f"{type(failure).__name__}: {line.strip()}"
    return one_line(failure)
