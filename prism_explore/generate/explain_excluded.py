"""Explain why a given graph is outside the stated space: the restrictions that it violates.

Limits are compared with counts of the graph. Other restrictions, such as one result per kernel or the set of
operators, are found by building the graph step by step in a space whose limits are as large as the graph needs.

Two kernels of a split reduction are replaced by the single kernel that is split, with means as operators, because the
second pass of the enumeration finds them by splitting (`split_kernels`). Kernel sequences are not supported.
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
    Lookup,
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
    """Every restriction of the space that a complete graph violates, as text; empty if the graph is in the space."""
    core = _core(program, space, target, graph)
    found = _excesses(core or graph, space)
    if core is None:
        return "; ".join((*map(str, found), "it has other views around its kernels than the program"))
    wider_space = _with_limits(space, found)
    split = space.results and find_split_pair(core) is not None
    if not split:
        reasons = [
            *_form_violations(core),
            _single_loads(program, core) or _first_excluded_step(program, wider_space, target, core, ("space",)),
        ]
    else:
        wider_space = replace(wider_space, block=unfold_means(space.block, axes_of(program.graph)))
        core = _single_kernel(core)
        wider_space = replace(wider_space, block_ops=max(wider_space.block_ops, *(_ops(b) for _, b in core.customs)))
        reason = _first_excluded_step(program, wider_space, target, core, ("space", "maps"))
        reasons = [reason and f"with a single share, {reason}"]
    return "; ".join((*map(str, found), *filter(None, reasons)))


def excesses(program: TensorProgram, space: Space, target: Machine, graph: SGraph) -> tuple[Excess, ...]:
    """The limits of a space that a graph exceeds, each with the number that the graph needs.

    With these numbers as limits, no limit excludes the graph. Views of a graph whose views are not the program's are
    counted as operators of the graph.
    """
    return _excesses(_core(program, space, target, graph) or graph, space)


def _excesses(core: SGraph, space: Space) -> tuple[Excess, ...]:
    dims = max((len(b.grid) for _, b in core.customs), default=0)
    needed: dict[str, int] = {}
    if (pair := find_split_pair(core)) is not None and space.results:
        needed["results"] = len(pair.shares)
        core = fold_means(_single_kernel(core), space.block)
    customs = [b for _, b in core.customs]
    predefined = [n.op for n in core.nodes if not isinstance(n.op, Input | Band | Result | Custom | ViewOp)]
    needed |= {
        "custom_kernels": len(customs),
        "predefined_kernels": len(predefined),
        "kernel_ops": len(customs) + len(predefined),
        "block_ops": max(map(_ops, customs), default=0),
        "block_inputs": max((len(_loads(b)) for b in customs), default=0),
        "accumulators": max((_accumulators(b) for b in customs), default=0),
        "grid_dims": dims,
    }
    return tuple(Excess(k, n, a) for k, n in needed.items() if n > (a := getattr(space, k)))


def _core(program: TensorProgram, space: Space, target: Machine, graph: SGraph) -> SGraph | None:
    """The core of a graph with all parameters 1, so that views inside its blocks are those of the program."""
    ones = graph.substitute(dict.fromkeys(graph.parameters, 1))
    return ProgramFacts(program, space, target).core_of(ones)


def _single_kernel(core: SGraph) -> SGraph:
    pair = find_split_pair(core)
    assert pair is not None, "the caller found a split pair"
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
    """Violations by kernels that are not split, except those of operators and limits."""
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
    """Inputs that the graph loads once, but kernels of the space load once per axis, as text; empty if none."""
    duplicated = duplicate_inputs(program)
    read = {a for n in core.nodes for a in n.args}
    names = [duplicated.copies.get(i.name) for p, i in enumerate(duplicated.program.inputs) if p not in read]
    single = list(dict.fromkeys(filter(None, names)))
    return f"{' and '.join(single)}: loaded once, where one dim is two axes of the program" if single else ""


def _first_excluded_step(
    program: TensorProgram, space: Space, target: Machine, core: SGraph, restricts: tuple[str, ...]
) -> str:
    """The first step of a core that is not in the space, as text; empty if all are."""
    off = frozenset(r.name for r in RULES if r.restricts not in restricts)
    expander = Expander(program, replace(space, rules_off=off | space.rules_off), target)
    facts = expander.facts
    state = facts.start("")
    kinds: dict[Op, int] = {entry.op: kind for kind, entry in enumerate(facts.kernel_operators.entries)}
    for node in core.nodes:
        match node.op:
            case Input() | Band():
                continue
            case Result():
                return ""  # the kernel has several results, which `_form_violations` reports
            case Custom(block):
                outcome = _with_kernel(expander, state, block, node.args)
            case Lookup():
                return "its kernel graph has a lookup of a tensor that is no input"
            case op:
                assert not isinstance(op, Load | Store), "a kernel graph has no tiles"
                kind = kinds.get(op)
                outcome = expander.apply_predefined(state, Application(node.args, kind)) if kind is not None else None
                outcome = outcome or _no_operator(op, "its kernel graph")
        if isinstance(outcome, str):
            return outcome
        if isinstance(outcome, Cut):
            return f"{outcome.rule.name}: {outcome.failure.formula}, where e = {outcome.failure.evidence}"
        state = outcome
    if not facts.is_result(state.tensors[-1].expression):
        return "its result is the program's by an equality that does not follow from the axioms of equality"
    return ""


def _no_operator(op: ComputeOp | LoopOp, where: str) -> str:
    return f"{label_of(op)} is no operator of {where}, or not on such axes"


def _with_kernel(
    expander: Expander, state: KernelState, block: BlockGraph, operands: tuple[int, ...]
) -> KernelState | Cut | str:
    """The kernel graph with one more custom kernel, built step by step; or why it is not in the space."""
    block_state = expander.open_kernel(state, operands)
    for node in block.nodes:
        if isinstance(block_state, Cut):
            return block_state
        if isinstance(node.op, Load | Store):
            continue
        assert not isinstance(node.op, Input | Band | Lookup | Custom | Result), (
            "BlockGraph refuses kernel-level operators"
        )
        grown = expander.apply_op(block_state, node.op, node.args)
        if grown is None:
            return _no_operator(node.op, "its block graphs")
        block_state = grown
    if isinstance(block_state, Cut):
        return block_state
    if not expander.facts.may_store(block_state):
        return "map.constraint: no loop makes what is stored whole"
    state = rename_axes_in_kernel(state, block_state.merged_axes)
    newest = replace(block_state.tensors[-1], flows=(), after_loop=False)
    unused = state.unused.difference(block_state.operands) | {len(state.tensors)}
    return replace(
        state, tensors=(*state.tensors, newest), unused=unused, goals=block_state.goals, customs=state.customs + 1
    )
