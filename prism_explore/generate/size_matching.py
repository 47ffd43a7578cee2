"""Graphs where dims match by size: an operator makes the axes that it matches one axis, partitioned alike.

Only with the rule `shape.mismatch` switched off; otherwise every function returns the state that it was given.
"""

from __future__ import annotations

from dataclasses import replace

from prism_explore.generate.canonical_order import Args
from prism_explore.generate.pruning.facts import ProgramFacts, renamed
from prism_explore.generate.state import BlockState, KernelState, Same, Tensor
from prism_explore.ir.analysis.loop_flow import Flow, transfer
from prism_explore.ir.axes import matched_axes
from prism_explore.ir.ops import Band, ComputeOp, Custom, Input, Load, LoopOp, Result, Store


def matched_kernel(facts: ProgramFacts, state: KernelState, op: ComputeOp | LoopOp, args: Args) -> KernelState:
    """The kernel graph where the axes that an operator matches are one."""
    return renamed_kernel(state, _merged_axes(facts, state, op, args)) if facts.sizes else state


def matched_block(facts: ProgramFacts, state: BlockState, op: ComputeOp | LoopOp, args: Args) -> BlockState:
    """The block graph where the axes that an operator matches are one.

    Choices of looped axes that would partition them differently are dropped.
    """
    if not facts.sizes:
        return state
    same = _merged_axes(facts, state, op, args)
    if same == state.same:
        return state
    names = dict(same)
    alike = [c for c, looped in enumerate(state.choices) if all((a in looped) == (n in looped) for a, n in same)]
    choices = tuple(frozenset(names.get(a, a) for a in state.choices[c]) for c in alike)
    grown = replace(state, choices=choices, tensors=(), same=same)
    for tensor in _renamed(state.tensors, same):
        of, operands = tensor.node.op, tensor.node.args
        if isinstance(of, Load):
            flows = tuple(transfer(of, (), (), tensor.axes, looped) for looped in choices)
        else:
            assert not isinstance(of, Input | Band | Custom | Result | Store), "a block graph has loads and operators"
            read = tuple(grown.tensors[a] for a in operands)
            flows = facts.flows(of, read, tensor.axes, choices, tensor.number, tensor.expression)
        grown = replace(grown, tensors=(*grown.tensors, replace(tensor, flows=flows)))
    legal = (c for c in range(len(choices)) if all(isinstance(t.flows[c], Flow) for t in grown.tensors))
    return replace(
        grown,
        legal=frozenset(legal),
        context=facts.context(grown.tensors[: len(state.operands)], choices, same),
        outside=_renamed(state.outside, same),
        reduced=frozenset(names.get(a, a) for a in state.reduced),
    )


def renamed_kernel(state: KernelState, same: Same) -> KernelState:
    """A kernel graph where these axes are one."""
    return replace(state, tensors=_renamed(state.tensors, same), same=same) if same != state.same else state


def may_match(facts: ProgramFacts, state: BlockState) -> bool:
    """Whether axes of a block graph may still become one, so that a loop that is illegal now may become legal."""
    axes = {a for t in state.tensors for a in t.axes if a}
    return bool(facts.sizes) and len({facts.sizes[a] for a in axes}) < len(axes)


def _merged_axes(facts: ProgramFacts, state: KernelState | BlockState, op: ComputeOp | LoopOp, args: Args) -> Same:
    axes = tuple(state.tensors[a].axes for a in args)
    order = list(facts.extents)
    names = dict(state.same)
    for pair in matched_axes(op, axes):
        stays, goes = sorted((names.get(a, a) for a in pair), key=order.index)
        if stays != goes and facts.sizes[stays] == facts.sizes[goes]:
            names = {a: stays if n == goes else n for a, n in (*names.items(), (goes, goes))}
    return tuple(sorted(names.items()))


def _renamed(tensors: tuple[Tensor, ...], same: Same) -> tuple[Tensor, ...]:
    names = dict(same)
    return tuple(replace(t, axes=renamed(t.axes, names)) for t in tensors)
