"""Exhaustive search without any rule finds nothing that the pruned search lost.

Each program is searched twice in the same small space: with all rules, and with none. What is whole is
instantiated and run by the block interpreter on random inputs at two choices of sizes; the correct
candidates of both searches are the same set, up to what holds by definition (see `canonical`).
"""

from dataclasses import replace

import numpy as np
import pytest

from prism_explore.events.journal import Journal
from prism_explore.generate import generate
from prism_explore.generate.canonical_order import ExpressionNumbers
from prism_explore.generate.pruning.rules import RULE_NAMES
from prism_explore.instantiate import instantiate
from prism_explore.ir.interpreter.reference import evaluate
from prism_explore.pipeline.search_space import Operators, default_space
from tests.generate.programs import (
    MACHINE,
    chain,
    common_factor,
    gate,
    rms_linear_small,
    root_mean_square,
    row_dot,
    safe_softmax,
    scaled_linear,
    scaled_prefixes,
    shares_up_to_each,
    shifted_sum,
    softmax,
)


def agrees(program, graph, batch: int, sizes: dict[str, int], seed: int) -> bool:
    rng = np.random.default_rng(seed)
    inputs = {i.name: rng.standard_normal([d.value({"b": batch}) for d in i.type.dims]) for i in program.inputs}
    with np.errstate(all="ignore"):
        return np.allclose(evaluate(program, inputs), evaluate(graph, inputs, sizes), rtol=1e-7, atol=1e-9)


def is_correct(program, candidate) -> bool:
    symbols = candidate.sgraph.parameters
    some = {s: 1 if s == "gy" else 2 for s in symbols}
    return agrees(program, candidate.sgraph, 4, dict.fromkeys(symbols, 2), 0) and agrees(
        program, candidate.sgraph, 2, some, 1
    )


def laid_out(graph) -> tuple:
    """Along which dims the results of each kernel lie."""
    return tuple(tuple(b.nodes[s].op.omap for s in b.stores) for _, b in graph.customs)


def correct(program, space, table: ExpressionNumbers) -> dict:
    """The correct candidates: value and cuts, and the least number of operators that reach it."""
    journal = Journal(clock=lambda: 0.0)
    seen: dict = {}
    shortest: dict = {}
    for family in generate(program, space, MACHINE, journal):
        if family is None:
            continue
        value = table.number_graph(family.sgraph)
        length = sum(len(block.nodes) for _, block in family.sgraph.customs)
        for candidate in instantiate(family, space, MACHINE, journal):
            key = (value, *(tuple(map(str, uses)) for uses in candidate.uses), laid_out(candidate.sgraph))
            if key not in seen:
                seen[key] = is_correct(program, candidate)
            if seen[key]:
                shortest[key] = min(length, shortest.get(key, length))
    return shortest


def both(program, operators: Operators, ops: int, results: int = 0, on=frozenset()) -> tuple[dict, dict]:
    limit = len(program.inputs) + ops
    pruned = replace(default_space(program), block=operators, block_ops=limit, results=results)
    bare = replace(pruned, rules_off=frozenset(RULE_NAMES) - on, nodes=10**9)
    table = ExpressionNumbers()
    return correct(program, pruned, table), correct(program, bare, table)


CASES = {
    "rmsnorm and linear": (
        rms_linear_small(),
        Operators((), (), ("div",), True, ("rms",), ("plain", "rms")),
        4,
    ),
    "scaled linear": (
        scaled_linear(),
        Operators((), (), ("mul", "div"), True, ("sum",), ("plain", "sum")),
        3,
    ),
    "common factor": (
        common_factor(),
        Operators(("square",), (), ("add", "mul"), False, (), ("plain",)),
        3,
    ),
    "softmax": (
        softmax(),
        Operators(("exp",), (), ("add", "div"), False, ("sum",), ("plain", "sum")),
        3,
    ),
    "row dot": (row_dot(), Operators((), (), ("mul",), True, ("sum",), ("plain", "sum")), 3),
    "gate": (gate(), Operators(("silu",), (), ("mul",), True, ("sum",), ("plain", "sum")), 3),
    "chain": (chain(), Operators((), (), (), True, ("sum",), ("plain", "sum")), 4),
    "online": (
        shifted_sum(),
        Operators(("exp",), (), ("sub",), False, (), ("rescaled",)),
        4,
    ),
    "safe softmax": (
        safe_softmax(),
        Operators(("exp",), (), ("sub", "div"), False, ("max", "sum"), ()),
        3,
    ),
    "prefixes": (
        scaled_prefixes(),
        Operators((), (), ("mul",), False, (), ("plain",), scans=("cumsum", "reverse_cumsum")),
        3,
    ),
    "shares": (
        shares_up_to_each(),
        Operators((), (), ("div",), False, ("sum",), ("sum",), scans=("cumsum", "reverse_cumsum")),
        3,
    ),
    "root mean square": (
        root_mean_square(),
        Operators(("square", "sqrt"), (), ("mul", "div"), False, ("mean", "rms"), ("plain", "mean", "rms")),
        2,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_no_correct_candidate_is_lost(name):
    pruned, bare = both(*CASES[name])

    assert pruned
    assert set() == set(bare) - set(pruned)


@pytest.mark.parametrize("name", ["scaled linear", "softmax", "row dot", "gate", "root mean square"])
def test_no_correct_candidate_is_lost_where_kernels_are_split_as_well(name):
    # What is split is a kernel, and whether its loops are legal is part of what a kernel is.
    pruned, bare = both(*CASES[name], results=3, on=frozenset({"map.constraint"}))
    split = {key for key in pruned if "/s<->i" in str(key)}

    assert split
    assert set() == set(bare) - set(pruned)


@pytest.mark.parametrize("program", [row_dot(), chain(), root_mean_square()], ids=lambda p: p.name)
def test_no_correct_candidate_is_lost_among_all_classic_operators(program):
    pruned, bare = both(program, default_space(program).block, 2)

    assert pruned
    assert set() == set(bare) - set(pruned)


def test_what_needs_cancellation_is_lost_and_is_longer_than_what_is_found():
    program = root_mean_square()
    operators = Operators(("square", "sqrt"), (), ("div",), False, ("mean", "rms"), ("rms",))
    pruned, bare = both(program, operators, 3)
    lost = {key: length for key, length in bare.items() if key not in pruned}

    assert lost  # such as rms(square(x) / x), outside A_eq
    for (_, *cuts), length in lost.items():
        assert length > min(n for (_, *found), n in pruned.items() if found == cuts)
