"""A Triton kernel as a file for whoever has a GPU: running it tunes, checks and times the kernel there.

The kernels are those of `emit_triton`, with `@triton.autotune` in front. A configuration is a choice of sizes that
leaves the kernel's text as it is, so that it computes what was proved and checked, and a schedule. The file tries the
configurations of least modelled time whose tiles fit the GPU's shared memory. Where TMA can read tiles, the kernel has
both loads, and its constant `TMA` chooses.

A size that two kernels share, or that shapes a tensor between kernels, keeps its value, because the autotuner tunes one
kernel at a time. Nothing is compiled or run here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import prod

from prism_explore.codegen.triton.emit import header
from prism_explore.codegen.triton.heuristics import rank_sizes
from prism_explore.codegen.triton.launcher_text import FOR_TMA, LauncherWriter
from prism_explore.codegen.triton.plan import (
    BlockPlan,
    Obstacle,
    plan_kernels,
    schedule_of,
    why_no_tma,
    with_tma_constant,
)
from prism_explore.codegen.triton.time_model import modelled_s, works_of
from prism_explore.codegen.triton.torch_operators import TORCH_DTYPE
from prism_explore.codegen.triton.writer import KernelText
from prism_explore.ir.graph import SGraph, op_sizes
from prism_explore.ir.ops import Custom, Input
from prism_explore.ir.tensors import WHOLE_NUMBERS
from prism_explore.pipeline.stages import Kernel, Parameters
from prism_explore.targets import Target

MOST_SIZES = 16
"""Choices of sizes per kernel in the file; each is tried with several schedules."""

TEXT = '''
MOST = 96
"""Configurations that the autotuner times per kernel."""


def configurations(sizes, stages):
    """Every choice of sizes with every schedule, the least modelled time first."""
    return [triton.Config(dict(c), num_warps=w, num_stages=s) for _, _, c in sizes for w in (4, 8) for s in stages]


def of_least_modelled_time(sizes):
    """A function for `early_config_prune`: the first configurations whose tiles in flight fit the shared memory."""
    tile_bytes = {tuple(constants.values()): taken for _, taken, constants in sizes}

    def prune(configs, named_args, **kwargs):
        gpu = torch.cuda.get_device_properties(0)
        room = getattr(gpu, "shared_memory_per_block_optin", gpu.shared_memory_per_block)
        fitting = [c for c in configs if tile_bytes[tuple(c.kwargs.values())] * c.num_stages <= room]
        return fitting[:MOST] or configs[:1]

    return prune
'''

TMA_COMMENT = """\
# Where TMA is 1, tiles are read by TMA, through tensor descriptors. The interpreter was run without; this file prints
# the error of what it chooses. TMA needs compute capability 9.0; elsewhere Triton reads through pointers.
""".splitlines()

MAIN = """
def main():
    if not torch.cuda.is_available():
        raise SystemExit("torch finds no GPU here: run this file where torch.cuda.is_available() is true")
    torch.manual_seed(0)
    inputs = random_inputs("cuda")
    exact = as_tuple(reference(*(t.double() if t.is_floating_point() else t for t in inputs)))
    found = as_tuple(launch(*inputs))
    error = max(((f.double() - e).abs().max() / e.double().abs().max()).item() for f, e in zip(found, exact))
    print(f"{torch.cuda.get_device_name()}: largest error against float64, relative to the largest result: {error:.1e}")
    for kernel in TUNED:
        print(f"{kernel.base_fn.__name__}: {kernel.best_config}")
    programs = {
        "this kernel": launch,
        "torch eager, operator by operator": reference,
        "torch.compile": torch.compile(reference, dynamic=False),
        "torch.compile max-autotune": torch.compile(reference, dynamic=False, mode="max-autotune-no-cudagraphs"),
    }
    times = {}
    for name, program in programs.items():
        program(*inputs)
        low, times[name], high = triton.testing.do_bench(lambda: program(*inputs), quantiles=(0.2, 0.5, 0.8))
        ratio = times[name] / times["this kernel"]
        print(f"{name:36}{times[name] * 1e3:10.1f} us (20 to 80 %: {low * 1e3:.1f} to {high * 1e3:.1f}) {ratio:8.2f} x")


def as_tuple(results):
    return results if isinstance(results, tuple) else (results,)


if __name__ == "__main__":
    main()
"""


@dataclass(frozen=True, slots=True)
class Sizes:
    """One choice of sizes of a kernel."""

    times_s: tuple[float, ...]
    """Modelled seconds: through pointers and, where TMA can read the tiles, by TMA."""
    tile_bytes: int
    """Of the tiles of one iteration in shared memory."""
    constants: tuple[tuple[str, int], ...]
    grid: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class GridDim:
    """The number of blocks along one grid dim, as a function of the kernel's constants."""

    whole: int
    divisors: tuple[str, ...] = ()
    """Names of constants."""

    def value(self, constants: Mapping[str, int]) -> int:
        """The number of blocks."""
        return self.whole // prod(constants[name] for name in self.divisors)

    def __str__(self) -> str:
        factors = [f'meta["{name}"]' for name in self.divisors]
        divisor = f"({' * '.join(factors)})" if len(factors) > 1 else "".join(factors)
        return f"{self.whole} // {divisor}" if divisor else f"{self.whole}"


def tuning_file(kernel: Kernel, target: Target) -> str:
    """Python source that tunes, checks and times a Triton kernel where it is run.

    Args:
        kernel: made by `emit_triton`.
        target: the GPU of the model that orders the configurations.

    Returns:
        The source. It needs torch and Triton alone.
    """
    graph, shapes = kernel.verified.candidate.sgraph, dict(kernel.shapes)
    sizes = {**shapes, **kernel.parameters.numbers}
    plans = plan_kernels(graph, sizes, kernel.parameters)
    assert not isinstance(plans, Obstacle), "a kernel with a source has plans"
    described = {} if why_no_tma(plans, target) else {p.position: p.describable for p in plans}
    plans = with_tma_constant(plans, described)
    tables: list[list[Sizes]] = []
    grids: dict[int, str] = {}
    for text, plan in zip(_kernels(kernel, plans, kernel.parameters), plans, strict=True):
        grid = _grid(plan, text)
        grids[plan.position] = f"({', '.join(map(str, grid))},)"
        ranked = _same_text(kernel, target, text, described)
        fitting = (s for s in ranked if tuple(g.value(dict(s.constants)) for g in grid) == s.grid)
        tables.append(list(islice(fitting, MOST_SIZES)))
        assert tables[-1], f"the sizes of {text.name} are legal for {target.name}"
    program = kernel.verified.candidate.family.program
    by_position = {p.position: p for p in plans}
    launcher = LauncherWriter(
        graph, sizes, by_position, schedule_of(kernel.parameters), program.name, tuned_grids=grids
    )
    launcher.write()
    reference = LauncherWriter(program.graph, shapes, {}, {}, program.name)
    reference.write()
    lines = [*header(graph, sizes, f"{program.name}, candidate {kernel.verified.candidate.id}"), "#", *_comment(target)]
    lines += ["#", *TMA_COMMENT] if launcher.has_descriptors else []
    lines += ["", "import torch", "import triton", "import triton.language as tl", "", *TEXT.splitlines()]
    for text, plan, table in zip(launcher.kernels, plans, tables, strict=True):
        lines += ["", "", *_kernel_lines(text, plan, table)]
    lines += ["", *FOR_TMA.splitlines()] if launcher.has_descriptors else []
    lines += ["", "", *launcher.function("launch"), "", "", *reference.function("reference", checks_inputs=False)]
    lines += ["", "", *_input_lines(program.inputs, shapes), "", ""]
    lines += [f"TUNED = ({', '.join(k.name for k in launcher.kernels)},)", "", *MAIN.splitlines()]
    return "\n".join(lines) + "\n"


def _comment(target: Target) -> list[str]:
    return [
        "# The sGraph was proved equal to the program, and these kernels agreed with float64 in Triton's interpreter.",
        f"# They were not run on a GPU. The configurations are ordered by a model of {target.name}.",
        "#",
        "# Run this file on a GPU: it tunes the kernels, checks the results and times them beside torch.",
    ]


def _kernels(kernel: Kernel, plans: Sequence[BlockPlan], parameters: Parameters) -> list[KernelText]:
    """The texts of these plans of the kernel's graph."""
    sizes = {**dict(kernel.shapes), **parameters.numbers}
    title = kernel.verified.candidate.family.program.name
    graph, schedule = kernel.verified.candidate.sgraph, schedule_of(parameters)
    launcher = LauncherWriter(graph, sizes, {p.position: p for p in plans}, schedule, title)
    launcher.write()
    return launcher.kernels


def _same_text(
    kernel: Kernel, target: Target, text: KernelText, described: Mapping[int, frozenset[int]]
) -> Iterator[Sizes]:
    """The kernel's sizes, then the choices of its own ones that change nothing but constants, by modelled time."""
    graph, shapes, given = kernel.verified.candidate.sgraph, dict(kernel.shapes), kernel.parameters
    own = _own_symbols(graph, text.position)
    fixed = {symbol: n for symbol, n in given.numbers.items() if symbol not in own}
    seen: set[tuple[tuple[str, int], ...]] = set()
    choices = (*rank_sizes(graph, shapes, target, given.numbers), *rank_sizes(graph, shapes, target, fixed))
    for pointers_s, choice in choices:
        without_tma = tuple((name, n) for name, n in given.schedule if name != "tma")
        plans = plan_kernels(graph, {**shapes, **choice.numbers}, Parameters(choice.sizes, without_tma))
        if isinstance(plans, Obstacle):
            continue
        texts = _kernels(kernel, with_tma_constant(plans, described), choice)
        plan = next(p for p in plans if p.position == text.position)
        other = next(k for k in texts if k.position == text.position)
        constants = tuple((a.name, a.value) for a in other.arguments if a.kind == "constant")
        if _code(other) != _code(text) or constants in seen:
            continue
        seen.add(constants)
        times_s = [pointers_s]
        if "TMA" in dict(constants) and plan.describable == described[plan.position]:
            works = works_of(graph, plans, {**shapes, **choice.numbers})
            times_s.append(modelled_s(works, {**dict(choice.schedule), "tma": 1}, target))
        yield Sizes(tuple(times_s), plan.staged_bytes, constants, plan.grid or (1,))


def _own_symbols(graph: SGraph, position: int) -> frozenset[str]:
    """Parameters that only the custom kernel at `position` has, and that shape no tensor between kernels."""
    shared = {s for t in graph.types() for d in t.dims for s in d.symbols}
    for p, node in enumerate(graph.nodes):
        match node.op:
            case Custom() if p != position:
                shared |= {s for dim in node.op.block.parallel for s in dim.size.symbols}
            case Custom():
                pass
            case op:
                shared |= {s for d in op_sizes(op) for s in d.symbols}
    return frozenset(graph.parameters) - shared


def _code(kernel: KernelText) -> list[str]:
    """The lines of the function that are no comment."""
    return [line for line in kernel.source.split("\n") if not line.lstrip().startswith("#")]


def _grid(plan: BlockPlan, kernel: KernelText) -> tuple[GridDim, ...]:
    """Each grid dim as the extent of an axis over its tile; a number where no axis that it cuts has a named tile."""
    names = {a.name for a in kernel.arguments if a.kind == "constant"}
    found = [GridDim(n) for n in plan.grid] or [GridDim(1)]
    for axis, grid, looped in plan.cuts:
        tile = (f"TILE_{axis.upper()}", *(("LOOP",) if looped else ()))
        if grid is not None and names.issuperset(tile):
            parts = plan.grid[grid] * (plan.iterations if looped else 1)
            found[grid] = GridDim(plan.axes[axis].extent * parts, tile)
    return tuple(found)


def _kernel_lines(kernel: KernelText, plan: BlockPlan, sizes: list[Sizes]) -> list[str]:
    """The table of the kernel's sizes, and the kernel with the autotuner in front."""
    table = f"{kernel.name.upper()}_SIZES"
    configurations = [
        (time_s, s.tile_bytes, {name: tma if name == "TMA" else n for name, n in s.constants})
        for s in sizes
        for tma, time_s in enumerate(s.times_s)
    ]
    configurations.sort(key=lambda c: c[0])
    rows = [
        f"    ({1e6 * time_s:.2f}, {taken}, {json.dumps(constants)})," for time_s, taken, constants in configurations
    ]
    stages = "(2, 3, 4)" if plan.iterations > 1 else "(1,)"
    return [
        "# Modelled microseconds, bytes of the tiles of one iteration, constants.",
        *(f"{table} = [", *rows, "]"),
        *("", ""),
        "@triton.autotune(",
        f"    configs=configurations({table}, {stages}),",
        "    key=[],",
        f'    prune_configs_by={{"early_config_prune": of_least_modelled_time({table})}},',
        ")",
        *kernel.source.split("\n"),
    ]


def _input_lines(inputs: Iterable[Input], shapes: Mapping[str, int]) -> list[str]:
    """A function that returns random inputs, laid out in memory as the program's are."""
    lines = ["def random_inputs(device):", "    return ("]
    for i in inputs:
        dims, strides = i.type.shape_at(shapes), i.type.strides_at(shapes)
        numbers = 1 + sum((n - 1) * s for n, s in zip(dims, strides, strict=True))
        low, high = WHOLE_NUMBERS.get(i.type.dtype, (0, 0))
        drawn = f"torch.randint({low}, {high + 1}, ({numbers},)" if high else f"torch.randn({numbers}"
        drawn += f", device=device).to({TORCH_DTYPE[i.type.dtype]})"
        lines.append(f"        {drawn}.as_strided({dims}, {strides}),")
    return [*lines, "    )"]
