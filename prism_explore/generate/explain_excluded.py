"""Explain why a graph from elsewhere is outside the stated space: the restrictions that it violates.

Limits are counted and reported with their numbers. Other restrictions, such as one result per kernel or the set of
operators, are found by building the graph step by step, in a space whose limits are as large as the graph needs.

Two kernels behind a split are judged as the one kernel that they are with a single share, with a mean as one
operator, because the second pass finds them so (`split_kernels`). Kernel sequences are another pass and not judged
here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from prism_explore.generate.canonical_order import Application
from prism_explore.generate.expander import Expander
from prism_explore.generate.pruning.facts import Machine, ProgramFacts
from prism_explore.generate.pruning.rule import Cut
from prism_explore.generate.pruning.rules import RULES
from prism_explore.generate.size_matching import rename_axes_in_kernel
from prism_explore.generate.split_kernels import fold_means, fuse_split_kernels, unfold_means
from prism_explore.generate.state import KernelState, label_of
from prism_explore.ir.analysis.split_reduction import find_split_pair
from prism_explore.ir.axes import axes_of
from prism_explore.ir.graph import SGraph
from prism_explore.ir.ops import (
    Accumulate,
    AccumulateRescaled,
    Band,
    BlockGraph,
    ComputeOp,
    Custom,
    Input,
    Load,
    LoopOp,
    Op,
    Result,
    Store,
    ViewOp,
)
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.transforms.duplicate_inputs import duplicate_inputs
from prism_explore.pipeline.search_space import Space

_COUNTED: dict[str, str] = {
    "custom_kernels": "custom kernels",
    "predefined_kernels": "predefined operators",
    "kernel_ops": "kernel-level operators",
    "block_ops": "operators of a block graph",
    "block_inputs": "tensors loaded by one kernel",
    "accumulators": "accumulators of a block graph",
    "grid_dims": "grid dims",
    "results": "partial results of a split kernel",
}


@dataclass(frozen=True, slots=True)
class Excess:
    """A count of a graph that exceeds a limit of the space."""

    limit: str
    """A field of `Space`."""
    needed: int
    allowed: int

    def __str__(self) -> str:
        return f"{_COUNTED[self.limit]}: {self.needed} > {self.allowed}"


def explain_excluded(program: TensorProgram, space: Space, target: Machine, graph: SGraph) -> str:
    """Every restriction of the space that a complete graph violates, as text; empty where it is in the space."""
    core = _core(program, space, target, graph)
    found = _excesses(core or graph, space)
    if core is None:
        return "; ".join((*map(str, found), "it has other views around its kernels than the program"))
    wider = _with_limits(space, found)
    split = space.results and find_split_pair(core) is not None
    if not split:
        whys = [
            *_form_violations(core),
            _single_loads(program, core) or _first_excluded_step(program, wider, target, core, ("space",)),
        ]
    else:
        wider = replace(wider, block=unfold_means(space.block, axes_of(program.graph)))
        core = _single_kernel(core)
        wider = replace(wider, block_ops=max(wider.block_ops, *(_ops(b) for _, b in core.customs)))
        why = _first_excluded_step(program, wider, target, core, ("space", "maps"))
        whys = [why and f"with a single share, {why}"]
    return "; ".join((*map(str, found), *filter(None, whys)))


def excesses(program: TensorProgram, space: Space, target: Machine, graph: SGraph) -> tuple[Excess, ...]:
    """The limits of a space that a graph exceeds, each with the number that it takes.

    Raised to these, the space has the graph as far as it can be counted. A graph whose views are not the program's
    is counted as it stands.
    """
    return _excesses(_core(program, space, target, graph) or graph, space)


def _excesses(core: SGraph, space: Space) -> tuple[Excess, ...]:
    dims = max((len(b.grid) for _, b in core.customs), default=0)
    needed: dict[str, int] = {}
    if (pair := find_split_pair(core)) is not None and space.results:
        needed["results"] = len(pair.shares)
        core = fold_means(_single_kernel(core), space.block)
    customs = [b for _, b in core.customs]
    inside = [n.op for n in core.nodes if not isinstance(n.op, Input | Band | Result | Custom | ViewOp)]
    needed |= {
        "custom_kernels": len(customs),
        "predefined_kernels": len(inside),
        "kernel_ops": len(customs) + len(inside),
        "block_ops": max(map(_ops, customs), default=0),
        "block_inputs": max((len(_loads(b)) for b in customs), default=0),
        "accumulators": max((_accumulators(b) for b in customs), default=0),
        "grid_dims": dims,
    }
    return tuple(Excess(k, n, a) for k, n in needed.items() if n > (a := getattr(space, k)))


def _core(program: TensorProgram, space: Space, target: Machine, graph: SGraph) -> SGraph | None:
    """The core of a graph with all sizes 1, so that views inside its blocks are those of the program."""
    ones = graph.substitute(dict.fromkeys(graph.parameters, 1))
    return ProgramFacts(program, space, target).core_of(ones)


def _single_kernel(core: SGraph) -> SGraph:
    pair = find_split_pair(core)
    assert pair is not None, "two kernels behind a split are a pair"
    return fuse_split_kernels(core, pair)


def _with_limits(space: Space, found: tuple[Excess, ...]) -> Space:
    return replace(space, **{e.limit: e.needed for e in found})


def _ops(block: BlockGraph) -> int:
    return len(block.nodes) - len(block.stores)


def _loads(block: BlockGraph) -> list[int]:
    return [n.op.operand for n in block.nodes if isinstance(n.op, Load)]


def _accumulators(block: BlockGraph) -> int:
    return sum(isinstance(n.op, Accumulate | AccumulateRescaled) for n in block.nodes)


def _form_violations(core: SGraph) -> Iterator[str]:
    """Violations by kernels that are not split, other than of operators and limits."""
    reads: set[tuple[int, ...]] = set()
    for position, block in core.customs:
        args = core.nodes[position].args
        loaded = [args[k] for k in _loads(block)]
        if len(block.stores) > 1:
            yield f"results of a kernel that is not split: {len(block.stores)} > 1"
        if len(loaded) > len(set(loaded)):
            yield "one kernel loads a tensor more than once"
        if (key := tuple(sorted(set(loaded)))) in reads:
            yield "two custom kernels read exactly the same tensors"
        reads.add(key)


def _single_loads(program: TensorProgram, core: SGraph) -> str:
    """Tensors that the graph loads once, but kernels of the space once along each axis that one of their dims is."""
    told = duplicate_inputs(program)
    read = {a for n in core.nodes for a in n.args}
    names = [told.copies.get(i.name) for p, i in enumerate(told.program.inputs) if p not in read]
    single = list(dict.fromkeys(filter(None, names)))
    return f"{' and '.join(single)}: loaded once, where one dim is two axes of the program" if single else ""


def _first_excluded_step(
    program: TensorProgram, space: Space, target: Machine, core: SGraph, restricts: tuple[str, ...]
) -> str:
    """The first step of a core that is not in the space, as text; empty where all are."""
    off = frozenset(r.name for r in RULES if r.restricts not in restricts)
    expander = Expander(program, replace(space, rules_off=off | space.rules_off), target)
    facts = expander.facts
    state = facts.start("")
    between: dict[Op, int] = {entry.op: kind for kind, entry in enumerate(facts.kernel_operators.entries)}
    for node in core.nodes:
        match node.op:
            case Input() | Band():
                continue
            case Result():
                return ""  # of a kernel with several results, of which `_unlike` has told
            case Custom(block):
                made = _with_kernel(expander, state, block, node.args)
            case op:
                assert not isinstance(op, Load | Store), "a kernel graph has no tiles"
                kind = between.get(op)
                made = expander.apply_predefined(state, Application(node.args, kind)) if kind is not None else None
                made = made or _no_operator(op, "its kernel graph")
        if isinstance(made, str):
            return made
        if isinstance(made, Cut):
            return f"{made.rule.name}: {made.failure.formula}, where e = {made.failure.evidence}"
        state = made
    if not facts.is_result(state.tensors[-1].expression):
        return "its result is the program's by an equality that does not follow from A_eq"
    return ""


def _no_operator(op: ComputeOp | LoopOp, where: str) -> str:
    return f"{label_of(op)} is no operator of {where}, or not on such axes"


def _with_kernel(
    expander: Expander, state: KernelState, block: BlockGraph, operands: tuple[int, ...]
) -> KernelState | Cut | str:
    """A kernel graph with one more custom kernel, built step by step; or why it is not in the space."""
    made = expander.open_kernel(state, operands)
    for node in block.nodes:
        if isinstance(made, Cut):
            return made
        if isinstance(node.op, Load | Store):
            continue
        assert not isinstance(node.op, Input | Band | Custom | Result), "BlockGraph refuses kernel-level operators"
        grown = expander.apply_op(made, node.op, node.args)
        if grown is None:
            return _no_operator(node.op, "its block graphs")
        made = grown
    if isinstance(made, Cut):
        return made
    if not expander.facts.may_store(made):
        return "map.constraint: no loop makes what is stored whole"
    state = rename_axes_in_kernel(state, made.merged_axes)
    newest = replace(made.tensors[-1], flows=(), after_loop=False)
    unused = state.unused.difference(made.operands) | {len(state.tensors)}
    return replace(state, tensors=(*state.tensors, newest), unused=unused, goals=made.goals, customs=state.customs + 1)
