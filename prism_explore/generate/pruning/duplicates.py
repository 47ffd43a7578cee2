"""`dup.canonical`: a value or a graph that the enumeration also reaches in another way."""

from __future__ import annotations

from prism_explore.generate.canonical_order import ACCUMULATED_SUM, RESCALED_SUM
from prism_explore.generate.pruning.facts import DUPLICATE
from prism_explore.generate.pruning.rule import Checks, Failure, PruningRule
from prism_explore.generate.pruning.steps import BlockStep, FinishedBlock, FinishedGraph, PredefinedStep
from prism_explore.ir.ops import Accumulate, AccumulateRescaled, Binary, Op, Reduce, Unary, op_name

_DEFINED = (Binary, Unary, Accumulate, AccumulateRescaled)
"""Operators that `DEFINITIONS` shortens."""


def _is_new(step: BlockStep | PredefinedStep) -> Failure | None:
    number = step.tensor.number
    for i, t in enumerate(step.state.tensors):
        if t.number == number:
            return Failure("e is new", f"%{i}")
    return _is_shortest(step) if isinstance(step.op, _DEFINED) else None


def _is_shortest(step: BlockStep | PredefinedStep) -> Failure | None:
    """Whether no definition expresses the value by fewer operators of the space.

    A cut by a definition of accumulators does not last: when x is accumulated later, too, the definition is no longer
    shorter.
    """
    facts, tensors = step.facts, step.state.tensors
    shorter, inner = facts.expressions.by_definitions(step.op, tuple([tensors[a].number for a in step.args]))
    operators = facts.space.block
    lasting = True
    match step.op, shorter:
        case Binary("mul"), Unary("square"):
            known = "square" in operators.unary
        case Binary("mul"), Binary("div"):
            known = "div" in operators.binary and any(t.number == inner[1] for t in tensors)
        case Unary("sqrt"), Reduce("rms", _):
            known = "rms" in operators.reductions
        case (Unary("sqrt"), Accumulate(kind, int())) | (Accumulate("sum", None), Accumulate(kind, int())):
            known = kind in operators.accumulators and inner[0] not in {tensors[a].number for a in step.accumulated}
            lasting = False
        case AccumulateRescaled(None), AccumulateRescaled(int()):
            known = inner[0] not in {tensors[a].number for a in step.accumulated}
            lasting = False
        case _:
            known = False
    return Failure("no definition makes e shorter", op_name(shorter), lasting=lasting) if known else None


def _has_no_shorter_sum(step: FinishedBlock) -> Failure | None:
    """Whether no definition makes a finished block graph shorter: sum(accum(x)) is accum_sum(x).

    Only in a finished graph is it known that no other operator uses the accumulator.
    """
    tensors = step.state.tensors
    space, shorter = step.facts.space, set[Op]()
    if "sum" in space.block.accumulators and space.active(ACCUMULATED_SUM):
        shorter.add(Accumulate("sum"))
    if space.active(RESCALED_SUM):
        shorter.add(AccumulateRescaled())
    used = [a for t in tensors for a in dict.fromkeys(t.node.args)]
    for i, t in enumerate(tensors):
        if isinstance(t.node.op, Reduce) and t.node.op.fn == "sum":
            source = t.node.args[0]
            if tensors[source].node.op in shorter and used.count(source) == 1:
                return Failure("no definition makes e shorter", f"%{i}")
    return None


def _is_new_graph(step: FinishedGraph) -> Failure | None:
    return Failure("e is new", step.family, f"This is family {step.family}.") if step.family else None


CANONICAL = PruningRule(
    DUPLICATE,
    "The same value, for every choice of maps and sizes, is already reached another way.",
    "Definitions of the operators: mul(x, x) is square(x), accum(sum(x)) is accum_sum(x), and so on.",
    "graphs that are equal by definition were to be kept apart",
    checks=Checks(block=_is_new, predefined=_is_new, finished_block=_has_no_shorter_sum, finished_graph=_is_new_graph),
)
