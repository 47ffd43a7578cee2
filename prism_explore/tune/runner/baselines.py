# pyright: basic
# It speaks to torch all day, which pyright only half understands.
"""Rivals: the kernel, torch eager, torch.compile and the machine's limit, side by side in one run.

All are timed in the same rounds, in shuffled order, on the same ring of cold inputs, by the same
stop-watch (measure.py), in a worker process whose malloc reuses what was freed. A rival that cannot be
had (no C compiler, a time limit, a crash) is a row with 0 samples that says why.

The user's function travels to the worker as torch.export writes it, so no source and no pickle of ours
is involved, and eager runs the same ATen operators as at home. The limit is not a datasheet's: canaries
read as many bytes as the kernel must, and multiply as often, in the same rounds.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

from prism_explore.codegen.triton.launch import tensor_of
from prism_explore.cost.roofline import TimeBound, time_bound_of
from prism_explore.errors import ShapeError
from prism_explore.events.fastest import COMPILED, EAGER, LIBRARY, OURS
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import BaselineMeasured, RivalTimed
from prism_explore.frontend import LibraryCall, Traced
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.tensors import NAMES
from prism_explore.pipeline.stages import Kernel
from prism_explore.targets import Target, ceilings, host
from prism_explore.tune.runner.backend import backend_of, named
from prism_explore.tune.runner.measure import (
    COLD_FACTOR,
    Checked,
    Failure,
    LocalBench,
    Samples,
    calm,
    middle,
    quantile,
    ratios,
)
from prism_explore.tune.runner.worker import Worker

ROOFLINE = "roofline"
AUTOTUNED = "torch.compile max-autotune"


@dataclass(frozen=True, slots=True)
class Mode:
    """A way to run the user's function: in torch, or by another compiler."""

    name: str
    says: str
    limit_s: float
    """To compile and to compare; then the rival is given up."""
    maker: str = ""
    """`module:function` that makes a function of tensors of an exported program, where it is not one of torch's own."""


MODES: tuple[Mode, ...] = (
    Mode(EAGER, "operator by operator, as written", 60.0),
    Mode(COMPILED, "its default", 180.0),
    Mode(AUTOTUNED, "tuned, weights frozen and packed beforehand", 600.0),
)
"""Weights are the inputs whose dims are all numbers. Only the last mode may pack them outside the clock."""

CALL = Mode(LIBRARY, "one call that does all of it, eager", 60.0)
"""Such as scaled_dot_product_attention for attention spelled out: given by the user, or found (`calls.py`)."""

USUAL = (EAGER, COMPILED, LIBRARY)

MOST_FROZEN = 48
"""Freezing compiles once per copy in the ring, about a second each; with more copies than this it is not tried."""

STRETCH = 8
"""Rounds that are asked of the worker at a time."""

BEATEN = 0.95
"""A kernel that takes less than this share of the limit shows that the limit was none."""


def compare(
    reference: Callable[..., Any] | Traced | None,
    kernel: Kernel,
    target: Target,
    journal: Journal,
    *,
    modes: Sequence[str] = USUAL,
    library: LibraryCall | None = None,
    more: Sequence[Mode] = (),
    rounds: int = 24,
    seed: int = 0,
    loader: str = "",
    learn: Callable[[Target], None] = host.store_higher_rates,
    stop: Callable[[], bool] = lambda: False,
) -> tuple[BaselineMeasured, ...]:
    """Time a kernel against what its user could have had instead; the rows are also noted in the journal.

    Rows come in the order: ours, the modes, the library call, the roofline. `ratio` is the median over the rounds of a
    row's time over ours, with its quartiles.

    Args:
        reference: the traced function, or a torch function of the program's inputs in their order; None
            where there is only a program.
        kernel: compared with the float64 reference again before it is timed.
        target: the machine; the limit is measured anew.
        journal: hears of every row.
        modes: names out of `MODES`.
        library: other torch code of the same value, timed as it is.
        more: rivals beside those of torch, each with its maker.
        rounds: how often each is timed.
        seed: of inputs and of the order in each round.
        loader: `module:function` that makes the kernel callable; the target's own if left out.
        learn: told of rates that were higher than the target's.
        stop: asked while waiting.
    """
    program, shapes = kernel.verified.candidate.family.program, dict(kernel.shapes)
    floor = time_bound_of(kernel.verified.candidate, shapes, target)
    codes = _codes(reference, modes, library) | {m: reference for m in more if reference is not None}
    generator = loader or backend_of(target).loader
    with (
        tempfile.TemporaryDirectory() as folder,
        Worker(program, shapes, target, generator, seed=seed, stop=stop, imports=_imports(codes)) as worker,
    ):
        paths, absent = _written(codes, program, shapes, Path(folder))
        ready = _prepare(worker, kernel, paths, absent)
        paired = ("bf16",) if target.kind == "cpu" else ("bf16", "f16")
        short = all(i.type.dtype in paired for i in program.inputs)
        limits = worker.ask({"do": "canaries", "bytes": floor.bytes, "flops": floor.flops, "short": short}, 60.0)
        readers, scale = ([], 1.0) if isinstance(limits, Failure) else (limits["readers"], limits["scale"])
        keys = [*ready, *readers, *([_FMA] if readers else [])]
        samples = _timed(worker, keys, rounds) if OURS in ready else Failure("tune.wrong", absent[OURS])
    says = {m.name: m.says for m in more} | ({LIBRARY: library.spelled} if library is not None else {})
    rows = _rows(samples, [OURS, *(m.name for m in codes)], absent, says, readers, scale, floor)
    for row in rows:
        journal.note(row)
    if isinstance(samples, Samples) and readers and target.kind == "cpu":
        learn(_seen(target, samples, readers, scale, floor, short))
    return rows


_FMA = "canary: multiply-add"


def time_rivals(
    reference: Callable[..., Any] | Traced,
    program: TensorProgram,
    shapes: Mapping[str, int],
    target: Target,
    *,
    modes: Sequence[str] = USUAL,
    library: LibraryCall | None = None,
    rounds: int = 24,
    seed: int = 0,
    stop: Callable[[], bool] = lambda: False,
) -> tuple[RivalTimed, ...]:
    """Time what the user could have had, before there is a kernel: side by side, cold, each compared with float64.

    Args:
        reference: the traced function, or a torch function of the program's inputs in their order.
        program: what it computes.
        shapes: numbers for the program's symbols.
        target: this machine.
        modes: names out of `MODES`.
        library: other torch code of the same value, timed as it is.
        rounds: how often each is timed.
        seed: of inputs and of the order in each round.
        stop: asked while waiting.
    """
    codes = _codes(reference, modes, library)
    loader = "prism_explore.codegen.load:load"
    with (
        tempfile.TemporaryDirectory() as folder,
        Worker(program, shapes, target, loader, seed=seed, stop=stop, imports=_imports(codes)) as worker,
    ):
        paths, absent = _written(codes, program, shapes, Path(folder))
        ready = _prepare(worker, None, paths, absent)
        samples = _timed(worker, ready, rounds) if ready else Failure("tune.wrong", "no rival was ready")
    if isinstance(samples, Failure):
        return tuple(RivalTimed(m.name, 0.0, 0.0, 0.0, 0, absent.get(m.name, samples.reason)) for m in codes)
    counted = calm(samples.waits)
    rows: list[RivalTimed] = []
    for mode in codes:
        if mode.name in absent:
            rows.append(RivalTimed(mode.name, 0.0, 0.0, 0.0, 0, absent[mode.name]))
            continue
        times = [samples.times_s[mode.name][i] for i in counted]
        says = library.spelled if library is not None and mode is CALL else ""
        rows.append(RivalTimed(mode.name, middle(times), quantile(times, 0.2), quantile(times, 0.8), len(times), says))
    return tuple(rows)


def disagrees(
    code: Callable[..., Any] | Traced,
    program: TensorProgram,
    shapes: Mapping[str, int],
    target: Target,
    *,
    seed: int = 0,
) -> str:
    """Why a torch function is no library call for a program: another value than float64's, or a failure; else empty.

    Args:
        code: of the program's inputs in their order.
        program: what it should compute.
        shapes: numbers for the program's symbols.
        target: this machine.
        seed: of inputs.
    """
    loader, codes = "prism_explore.codegen.load:load", {CALL: code}
    with (
        tempfile.TemporaryDirectory() as folder,
        Worker(program, shapes, target, loader, seed=seed, imports=_imports(codes)) as worker,
    ):
        paths, absent = _written(codes, program, shapes, Path(folder))
        _prepare(worker, None, paths, absent)
    return absent.get(LIBRARY, "")


def _imports(codes: Mapping[Mode, object]) -> tuple[str, ...]:
    """What takes long to import of what a worker needs for these rivals."""
    compiles = any(m.name in (COMPILED, AUTOTUNED) for m in codes)
    return (*(("torch.export.pt2_archive",) if codes else ()), *(("torch._inductor.compile_fx",) if compiles else ()))


def _codes(
    reference: Callable[..., Any] | Traced | None,
    modes: Sequence[str],
    library: LibraryCall | None,
) -> dict[Mode, Callable[..., Any] | Traced]:
    codes = {m: reference for m in MODES if m.name in modes and reference is not None}
    return codes | ({CALL: library.traced} if library is not None else {})


def _written(
    codes: Mapping[Mode, Callable[..., Any] | Traced], program: TensorProgram, shapes: Mapping[str, int], folder: Path
) -> tuple[dict[Mode, Path], dict[str, str]]:
    """Where each rival is written for the worker, and why one could not be."""
    paths: dict[Mode, Path] = {}
    absent: dict[str, str] = {}
    for mode, code in codes.items():
        paths[mode] = folder / ("library.pt2" if mode is CALL else "reference.pt2")
        reason = "" if paths[mode].exists() else _export(code, program, shapes, paths[mode])
        absent |= {mode.name: reason} if reason else {}
    return paths, absent


def _prepare(worker: Worker, kernel: Kernel | None, paths: Mapping[Mode, Path], absent: dict[str, str]) -> list[str]:
    """Make all rivals, and the kernel, ready in one worker; one that kills it is left out, and all begin again."""
    while True:
        ready: list[str] = []
        for mode, path in paths.items():
            if mode.name in absent:
                continue
            asked = {"do": "rival", "key": mode.name, "path": str(path), "maker": mode.maker}
            found = worker.ask(asked, mode.limit_s)
            if not isinstance(found, Failure):
                ready.append(mode.name)
                continue
            absent[mode.name] = found.reason
            if worker.pid is None and ready:
                break
        else:
            if kernel is None:
                return ready
            checked = worker.check(OURS, kernel)
            if isinstance(checked, Checked):
                return [OURS, *ready]
            absent[OURS] = checked.reason
            return ready


def _timed(worker: Worker, keys: Sequence[str], rounds: int) -> Samples | Failure:
    """Time in short stretches, so that the worker's time limit is one for a hanging kernel, not for many rounds."""
    times: dict[str, tuple[float, ...]] = dict.fromkeys(keys, ())
    waits: tuple[float, ...] = ()
    while len(waits) < rounds:
        found = worker.time(keys, min(STRETCH, rounds - len(waits)))
        if isinstance(found, Failure):
            return found
        times = {key: (*times[key], *found.times_s[key]) for key in keys}
        waits = (*waits, *found.waits)
    return Samples(times, waits)


def _rows(
    samples: Samples | Failure,
    names: Sequence[str],
    absent: Mapping[str, str],
    says: Mapping[str, str],
    readers: Sequence[str],
    scale: float,
    floor: TimeBound,
) -> tuple[BaselineMeasured, ...]:
    if isinstance(samples, Failure):
        return tuple(BaselineMeasured(n, 0.0, 0.0, 0.0, 0, absent.get(n, samples.reason)) for n in names)
    counted = calm(samples.waits)
    times = {n: [t[i] for i in counted] for n, t in samples.times_s.items()}
    ours = times[OURS]
    rows = [
        _row(n, times[n], ours, says.get(n, ""))
        if n in times
        else BaselineMeasured(n, 0.0, 0.0, 0.0, 0, absent.get(n, "not measured"))
        for n in names
    ]
    if readers:
        reads = {n: [t * scale for t in times[n]] for n in readers}
        best = min(readers, key=lambda n: middle(reads[n]))
        limit = [max(*pair) for pair in zip(reads[best], times[_FMA], strict=True)]
        bound = "memory" if middle(reads[best]) >= middle(times[_FMA]) else "compute"
        note = (
            f"measured: {floor.bytes / 1e6:.1f} MB by {best.removeprefix('canary: ')}, {floor.flops / 1e6:.0f} Mflop; "
            f"bound by {bound}"
        )
        if middle(ours) < BEATEN * middle(limit):
            note += "; the kernel outran it, so it is no limit"
        rows.append(_row(ROOFLINE, limit, ours, note))
    return tuple(rows)


def _row(name: str, times: Sequence[float], ours: Sequence[float], note: str) -> BaselineMeasured:
    to_ours = ratios(times, ours)
    return BaselineMeasured(
        name,
        middle(times),
        quantile(times, 0.2),
        quantile(times, 0.8),
        len(times),
        note,
        middle(to_ours),
        quantile(to_ours, 0.25),
        quantile(to_ours, 0.75),
    )


def _seen(
    target: Target, samples: Samples, readers: Sequence[str], scale: float, floor: TimeBound, short: bool
) -> Target:
    """The target with the rates that the canaries reached, by their better half."""
    fastest = min(quantile(samples.times_s[n], 0.2) * scale for n in readers)
    spun = quantile(samples.times_s[_FMA], 0.2)
    return target.replace(
        dram_bytes_per_s=max(target.dram_bytes_per_s, floor.bytes / fastest),
        peak_flops_per_s=max(target.peak_flops_per_s, floor.flops / spun if floor.flops > 1e7 and not short else 0.0),
    )


# ---------------------------------------------------------------- the user's function, for the journey
def compiled(code: Callable[..., Any]) -> Callable[..., Any]:
    """The rival `torch.compile` of some torch code: its default, compiled anew for other shapes."""
    import torch

    return torch.compile(code, dynamic=False)


def unbound(traced: Traced) -> Callable[..., Any]:
    """The user's function or module as a function of the program's inputs in their order.

    Raises:
        ShapeError: when called, if the user's function has an argument that the program does not use.
    """
    import torch

    def call(*inputs: Any) -> Any:
        found: dict[str, Any] = {}
        for binding, given in zip(traced.bindings, inputs, strict=True):
            back = [int(d) for d in np.argsort(binding.permute)] if binding.permute else None
            found.setdefault(binding.source, given.permute(back) if back else given)
        missing = [a for a in traced.arguments if a not in found]
        if missing:
            raise ShapeError(f"{traced.program.name} does not use its argument {missing[0]!r}; it cannot be timed")
        arguments = tuple(found[a] for a in traced.arguments)
        if isinstance(traced.reference, torch.nn.Module):
            own = {name: found[name] for name in traced.parameters if name in found}
            return torch.func.functional_call(traced.reference, own, arguments)
        return traced.reference(*arguments)

    return call


def _export(
    reference: Callable[..., Any] | Traced, program: TensorProgram, shapes: Mapping[str, int], path: Path
) -> str:
    """Write the function for the worker; the reason where torch cannot."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    call = unbound(reference) if isinstance(reference, Traced) else reference

    class Wrapped(torch.nn.Module):
        def forward(self, *args: Any) -> Any:
            return call(*args)

    # Fake tensors take no memory, and unlike those of the meta device leave no trace of another device behind.
    with FakeTensorMode(allow_non_fake_inputs=True):
        examples: list[Any] = []
        for i in program.inputs:
            order = i.type.storage_order
            shape = [i.type.dims[d].value(shapes) for d in order]
            stored = torch.empty(shape, dtype=getattr(torch, NAMES[i.type.dtype]))
            examples.append(stored.permute([int(d) for d in np.argsort(order)]))
    try:
        with torch.no_grad():
            exported = torch.export.export(Wrapped(), tuple(examples), strict=False)
        exported.example_inputs = None
        torch.export.save(exported, path)
    except Exception as failure:
        lines = str(failure).strip().splitlines()
        return f"torch.export could not write the function: {lines[0] if lines else type(failure).__name__}"
    return ""


# ---------------------------------------------------------------- inside the worker
def serve(do: str, bench: LocalBench, request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Answer what only a comparison asks of a worker."""
    match do:
        case "rival":
            return _adopt(bench, str(request["key"]), Path(request["path"]), str(request["maker"]))
        case "canaries":
            keep = _keep_canaries if bench.device == "cpu" else _keep_device_canaries
            return keep(bench, float(request["bytes"]), float(request["flops"]), bool(request["short"]))
        case _:
            raise AssertionError(f"a worker was asked to {do!r}")


def _adopt(bench: LocalBench, key: str, path: Path, maker: str) -> Mapping[str, Any]:
    import torch

    exported = torch.export.load(path)
    if bench.device != "cpu":
        from torch.export.passes import move_to_device_pass

        exported = move_to_device_pass(exported, bench.device)
    try:
        module = None if maker else _flat(exported.module())
        if module is None:
            run = _on_tensors(named(maker)(exported))
        elif key in (EAGER, LIBRARY):
            run = _on_tensors(module)
        elif key == COMPILED:
            run = _on_tensors(compiled(module))
        else:
            run = _frozen(bench, module) if bench.device == "cpu" else _on_tensors(_autotuned(module))
        found = bench.adopt(key, run, bench.roundings)
    except Exception as failure:
        return {"failure": ["tune.compile", _first_line(failure)]}
    if isinstance(found, Failure):
        return {"failure": [found.code, found.reason]}
    return {"error": found.error}


def _autotuned(module: Any) -> Any:
    """On a GPU nothing is packed; CUDA graphs are left out, for they would copy the inputs inside the clock."""
    import torch

    return torch.compile(module, dynamic=False, mode="max-autotune-no-cudagraphs")


def _flat(module: Any) -> Any:
    """The exported graph without its checks and its packing of arguments, so that eager is not charged for them."""
    from torch.fx.graph import CodeGen

    for node in list(module.graph.nodes):
        if node.op == "call_module" and node.target == "_guards_fn":
            module.graph.erase_node(node)
        elif node.op == "output":
            (results,) = node.args
            if isinstance(results, tuple | list):
                node.args = (results[0],)
    module.graph.set_codegen(CodeGen())
    module.recompile()
    return module


def _on_tensors(function: Callable[..., Any]) -> Callable[..., Any]:
    import torch

    def run(*arrays: Any) -> Any:
        with torch.no_grad():
            return function(*(tensor_of(a) for a in arrays))

    return run


def _frozen(bench: LocalBench, module: Any) -> Callable[..., Any]:
    """One compiled module per copy of the weights, packed beforehand as torch likes it; without weights, one."""
    import torch
    import torch._inductor.config as config

    weights = bench.weights
    if weights and bench.ring.slots > MOST_FROZEN:
        raise ShapeError(f"weights are frozen once per copy in the ring, and it has {bench.ring.slots} copies")

    class Frozen(torch.nn.Module):
        def __init__(self, held: Mapping[int, Any]) -> None:
            super().__init__()
            self.at = tuple(held)
            self.held = torch.nn.ParameterList(torch.nn.Parameter(t, requires_grad=False) for t in held.values())

        def forward(self, *given: Any) -> Any:
            rest, own = iter(given), dict(zip(self.at, self.held, strict=True))
            # Not a child: an exported module refuses to be put into evaluation mode, which freezing wants.
            return module(*(own[i] if i in own else next(rest) for i in range(len(given) + len(own))))

    def packed(held: Mapping[int, Any]) -> Any:
        # Torch keeps what it compiled by code object, tries all that is kept there at each call, and keeps few.
        code, around = Frozen.forward.__code__.replace(), Frozen.forward.__closure__
        one = type("Frozen", (Frozen,), {"forward": FunctionType(code, globals(), closure=around)})
        return torch.compile(one(held).eval(), dynamic=False)

    def copy_of(arrays: Sequence[Any]) -> int:
        return id(arrays[weights[0]]) if weights else 0

    config.freezing, config.max_autotune = True, True
    config.max_autotune_gemm_backends = "CPP,ATEN"
    compiled: dict[int, Any] = {}
    for inputs in (*bench.ring.all, *(case.inputs for case in bench.cases)):
        if copy_of(inputs) not in compiled:
            compiled[copy_of(inputs)] = packed({i: tensor_of(inputs[i]) for i in weights})

    def run(*arrays: Any) -> Any:
        chosen = compiled[copy_of(arrays)]
        with torch.no_grad():
            return chosen(*(tensor_of(a) for i, a in enumerate(arrays) if i not in weights))

    for inputs in bench.ring.all:
        run(*inputs)
    return run


def _keep_canaries(bench: LocalBench, wanted_bytes: float, flops: float, short: bool) -> Mapping[str, Any]:
    """Loops that read what the kernel must read, from memory of their own, and multiply as often."""
    unit = 8 * ceilings.ROW_FLOATS * ceilings.cores()
    floats = max(1, int(wanted_bytes / 4) // unit) * unit
    slots = max(3, ceil(COLD_FACTOR * bench.last_cache_bytes / (4 * floats)) + 1)
    buffer = np.ones(slots * floats, dtype=np.float32)
    place = 0

    def reading(one: ceilings.CeilingLoop) -> Callable[..., None]:
        def run(*_: Any) -> None:
            nonlocal place
            place = (place + 1) % slots
            one.read(buffer[place * floats : (place + 1) * floats])

        return run

    names: list[str] = []
    for one in ceilings.read_loops():
        names.append(f"canary: {one.name.removeprefix('read: ')}")
        bench.keep(names[-1], reading(one))
    spin = (ceilings.bf16_pairs_loop() if short else None) or ceilings.fma_loop()
    bench.keep(_FMA, lambda *_: spin.compute(flops))
    return {"readers": names, "scale": wanted_bytes / (4 * floats)}


def _keep_device_canaries(bench: LocalBench, wanted_bytes: float, flops: float, short: bool) -> Mapping[str, Any]:
    """The same by torch's own kernels: a sum over as many bytes, and a product of square matrices."""
    import torch

    read = torch.ones(max(1, int(wanted_bytes / 4)), dtype=torch.float32, device=bench.device)
    bench.keep(f"canary: {_READ}", lambda *_: read.sum())
    dtype = torch.bfloat16 if short else torch.float32
    side = max(1, ceil((flops / 2) ** (1 / 3) / 128)) * 128  # square, so that arithmetic and not memory takes the time
    a = torch.ones((side, side), dtype=dtype, device=bench.device)
    bench.keep(_FMA, lambda *_: a @ a)
    return {"readers": [f"canary: {_READ}"], "scale": 1.0}


_READ = "a sum over all bytes"


def _first_line(failure: BaseException) -> str:
    text = str(failure)
    for line in text.splitlines():
        if "compiler" in line.lower() or "not found" in line.lower():
            return f"{type(failure).__name__}: {line.strip()}"
    lines = text.strip().splitlines()
    return f"{type(failure).__name__}: {lines[0]}" if lines else type(failure).__name__
