"""TVM MetaSchedule as a baseline of `kernel_time.py`, where `apache-tvm` is installed.

    pip install apache-tvm==0.27.0.post1 apache-tvm-ffi==0.1.14.post0 psutil cloudpickle tornado xgboost

With version 0.1.15 of the FFI package the tuner crashes in `ToJSONGraph`. A program is tuned once, which takes minutes.
The tuning records are stored in the cache folder of the user, and later processes compile from them.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from prism_explore.targets.cpus import cores
from prism_explore.targets.host import cpu_model
from prism_explore.tune.runner.baseline_table import Baseline

TRIALS = 64
NAME = "TVM MetaSchedule"
TVM_BASELINE = Baseline(
    NAME, f"{TRIALS} trials, weights as they are", 900.0, "benchmarks.tvm_baseline:compile_with_tvm"
)

PASSES = (
    "DecomposeOpsForInference", "CanonicalizeBindings", "FuseTransposeMatmul", "LegalizeOps",
    "AnnotateTIROpPattern", "FoldConstant", "FuseOps", "FuseTIR", "DeadCodeElimination",
)  # fmt: skip
"""The passes of Relax before tuning. FuseTransposeMatmul makes kernels read weights in the layout of nn.Linear."""

THREADS = {"TVM_NUM_THREADS": str(cores()), "TVM_BIND_THREADS": "0", "TVM_THREAD_POOL_SPIN_COUNT": "1000"}
"""Settings of the thread pool. By default its threads spin for milliseconds after a call and slow the next kernel."""


def compile_with_tvm(exported: Any) -> Callable[..., Any]:
    """Tune and compile an exported program; return a function of torch tensors, which copies none of them."""
    for name, value in THREADS.items():
        os.environ.setdefault(name, value)
    import torch
    import tvm
    from tvm import relax
    from tvm.relax.frontend.torch import from_exported_program
    from tvm.s_tir import meta_schedule

    import_x86_intrinsics()
    exported, orders = to_storage_order(exported)
    target = tvm.target.Target({"kind": "llvm", "mcpu": _cpu(), "num-cores": cores()})
    with target:
        passes = tvm.transform.Sequential([getattr(relax.transform, name)() for name in PASSES])
        module = passes(from_exported_program(exported))
    folder = _records_folder(f"{exported.graph_module.code}{exported.graph_signature}{module}")
    records = [str(folder / name) for name in ("database_workload.json", "database_tuning_record.json")]
    if all(map(os.path.exists, records)):
        database = meta_schedule.database.JSONDatabase(*records)
    else:
        database = meta_schedule.relax_integration.tune_relax(
            module,
            {},
            target,
            str(folder),
            max_trials_global=TRIALS,
            num_trials_per_iter=16,
            seed=0,
            builder=meta_schedule.builder.LocalBuilder(max_workers=cores(), initializer=import_x86_intrinsics),
            runner=meta_schedule.runner.LocalRunner(initializer=import_x86_intrinsics),
        )
    with target, database, tvm.transform.PassContext(opt_level=3):
        module = relax.transform.MetaScheduleApplyDatabase()(module)
        run = relax.VirtualMachine(tvm.compile(module, target=target), tvm.cpu())["main"]

    def call(*tensors: Any) -> Any:
        stored = (t.permute(order) for t, order in zip(tensors, orders, strict=True))
        return torch.from_dlpack(run(*map(tvm.runtime.from_dlpack, stored))[0])

    return call


def to_storage_order(exported: Any) -> tuple[Any, list[tuple[int, ...]]]:
    """Rewrite a program for contiguous inputs, because TVM takes no others.

    Returns:
        The program, whose inputs have their dims in storage order; and per input, the order of its dims.
    """
    import torch

    module = exported.module()
    nodes = {n.name: n.meta["val"] for n in exported.graph_module.graph.nodes if n.op == "placeholder"}
    inputs = [nodes[name] for name in exported.graph_signature.user_inputs]
    orders = [tuple(sorted(range(v.ndim), key=lambda d, v=v: -v.stride(d))) for v in inputs]

    class StorageOrder(torch.nn.Module):
        def forward(self, *tensors: Any) -> Any:
            inverses = [[order.index(d) for d in range(len(order))] for order in orders]
            return module(*(t.permute(inverse) for t, inverse in zip(tensors, inverses, strict=True)))

    examples = [
        torch.empty([v.shape[d] for d in order], dtype=v.dtype) for v, order in zip(inputs, orders, strict=True)
    ]
    return torch.export.export(StorageOrder(), tuple(examples), strict=False), orders


def import_x86_intrinsics() -> None:
    """Import only the x86 part of `tvm.s_tir.tensor_intrin`; every worker would need a minute to import all of it."""
    import tvm.s_tir

    name = "tvm.s_tir.tensor_intrin"
    if name not in sys.modules:
        package = types.ModuleType(name)
        package.__path__ = [str(Path(tvm.s_tir.__path__[0]) / "tensor_intrin")]
        sys.modules[name] = package
        tvm.s_tir.tensor_intrin = package
        importlib.import_module(f"{name}.x86")


def _cpu() -> str:
    from llvmlite import binding

    return binding.get_host_cpu_name()


def _records_folder(program: str) -> Path:
    """The folder of the tuning records, per program, processor and number of trials."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "prism_explore" / "tvm"
    key = hashlib.sha256(f"{program}\n{cpu_model()}\n{cores()}\n{TRIALS}".encode()).hexdigest()[:16]
    folder = cache / key
    folder.mkdir(parents=True, exist_ok=True)
    return folder
