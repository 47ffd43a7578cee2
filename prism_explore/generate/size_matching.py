"""Merging of axes of equal size: an operator that matches two axes makes them one axis.

This happens only if the rule `shape.mismatch` is switched off. Otherwise every function returns its state unchanged.
"""

from __future__ import annotations

from dataclasses import replace

from prism_explore.generate.canonical_order import Args
from prism_explore.generate.pruning.facts import ProgramFacts, rename_axes
from prism_explore.generate.state import BlockState, KernelState, MergedAxes, Tensor
from prism_explore.ir.analysis.loop_flow import Flow, transfer
from prism_explore.ir.axes import matched_axes
from prism_explore.ir.ops import Band, ComputeOp, Custom, Input, Load, Lookup, LoopOp, Result, Store


def merge_axes_in_kernel(facts: ProgramFacts, state: KernelState, op: ComputeOp | LoopOp, args: Args) -> KernelState:
    """The kernel graph with the axes that an operator matches merged."""
    return rename_axes_in_kernel(state, _merged_axes(facts, state, op, args)) if facts.first_of_size else state


def merge_axes_in_block(facts: ProgramFacts, state: BlockState, op: ComputeOp | LoopOp, args: Args) -> BlockState:
    """The block graph with the axes that an operator matches merged.

    Choices of looped axes that would partition merged axes differently are dropped.
    """
    if not facts.first_of_size:
        return state
    merged = _merged_axes(facts, state, op, args)
    if merged == state.merged_axes:
        return state
    names = dict(merged)
    kept = [c for c, looped in enumerate(state.choices) if all((a in looped) == (n in looped) for a, n in merged)]
    choices = tuple(frozenset(names.get(a, a) for a in state.choices[c]) for c in kept)
    grown = replace(state, choices=choices, tensors=(), merged_axes=merged)
    for tensor in _rename_axes(state.tensors, merged):
        applied, operands = tensor.node.op, tuple(grown.tensors[a] for a in tensor.node.args)
        if isinstance(applied, Load):
            flows = tuple(transfer(applied, (), (), tensor.axes, looped) for looped in choices)
        else:
            assert not isinstance(applied, Input | Band | Lookup | Custom | Result | Store), (
                "a block graph has loads and operators"
            )
            flows = facts.flows(applied, operands, tensor.axes, choices, tensor.number, tensor.expression)
        grown = replace(grown, tensors=(*grown.tensors, replace(tensor, flows=flows)))
    legal = (c for c in range(len(choices)) if all(isinstance(t.flows[c], Flow) for t in grown.tensors))
    return replace(
        grown,
        legal=frozenset(legal),
        context=facts.context_number(grown.tensors[: len(state.operands)], choices, merged),
        kernel_tensors=_rename_axes(state.kernel_tensors, merged),
        reduced=frozenset(names.get(a, a) for a in state.reduced),
    )


def rename_axes_in_kernel(state: KernelState, merged: MergedAxes) -> KernelState:
    """The kernel graph with these axes merged."""
    if merged == state.merged_axes:
        return state
    return replace(state, tensors=_rename_axes(state.tensors, merged), merged_axes=merged)


def may_merge_axes(facts: ProgramFacts, state: BlockState) -> bool:
    """Whether axes of a block graph may still be merged, so that a loop that is illegal now may become legal."""
    axes = {a for t in state.tensors for a in t.axes if a}
    return bool(facts.first_of_size) and len({facts.first_of_size[a] for a in axes}) < len(axes)


def _merged_axes(
    facts: ProgramFacts, state: KernelState | BlockState, op: ComputeOp | LoopOp, args: Args
) -> MergedAxes:
    axes = tuple(state.tensors[a].axes for a in args)
    order = list(facts.extents)
    names = dict(state.merged_axes)
    for pair in matched_axes(op, axes):
        first, second = sorted((names.get(a, a) for a in pair), key=order.index)
        if first != second and facts.first_of_size[first] == facts.first_of_size[second]:
            names = {a: first if n == second else n for a, n in (*names.items(), (second, second))}

    return tuple(sorted(names.items()))


def _rename_axes(tensors: tuple[Tensor, ...], merged: MergedAxes) -> tuple[Tensor, ...]:
    names = dict(merged)
    return tuple(replace(t, axes=rename_axes(t.axes, names)) for t in tensors)
