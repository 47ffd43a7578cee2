"""A default search finds the forms that others found or wrote by hand, and proves them.

The targets are right candidates of `tests.verify.workloads`, written down apart from the search. A proved
candidate is a target if it is the same graph: the same operators on the same operands, with the same maps and
accumulators, up to the names and the order of grid dims, the order of operators, and of operands that commute; in
the second of two kernels, up to a grid dim of size 1 as well.
"""

import random
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from hashlib import sha256
from itertools import permutations
from typing import Any

import pytest

import prism_explore as px
from prism_explore.events.kinds import CandidateInstantiated, VerdictReached
from prism_explore.ir.dims import Dim, dim
from prism_explore.ir.elementwise import COMMUTATIVE
from prism_explore.ir.graph import SGraph
from prism_explore.ir.ops import (
    Binary,
    BlockGraph,
    BlockOp,
    Custom,
    Expand,
    Load,
    Node,
    Op,
    Reshape,
    Result,
    Slice,
    Store,
)
from prism_explore.ir.text import parse
from prism_explore.targets import Target, target
from tests.verify.mutate import mutant
from tests.verify.workloads import ENTRIES, program_of, sgraph_of

TARGETS = (
    "rmsnorm_linear-R1",
    "rmsnorm_linear-R1-rows-too",
    "rmsnorm_linear_bare-R1",
    "rmsnorm-R1",
    "rmsnorm_mlp-R2",
    "rmsnorm_mlp-R2-divided-twice",
    "swiglu-R3",
    "gated_mlp-R3",
    "lora-R4",
    "lora-R4-loop",
    "lora-R4-two-accumulators",
    "attention-R6",
    "gqa-R6",
    "attention-R7",
    "attention-R7-rows",
    "gqa-R7",
    "gqa-R7-rows",
    "mha-R6",
    "mha-R7",
    "mha-R7-rows",
    "mqa-R6",
    "mqa-R7",
    "mqa-R7-rows",
    "safe_grouped_attention-R7",
    "safe_grouped_attention-R7-no-maximum",
    "safe_grouped_attention-R6",
    "qk_norm_attention-R8-split",
    "qknorm-R8-split",
    "qk_norm_attention-R8-split-rows",
    "qknorm-R8-split-rows",
    "rmsnorm_linear-R1-split-k-rows",
    "qk_norm_attention-R8",
    "qk_norm_attention-R8-norm-behind-the-product",
    "qknorm-R8",
    "qknorm-R8-norm-behind-the-product",
    "llama_mlp-one-kernel",
    "mlp_gelu-one-kernel",
    "mlp_relu-one-kernel",
    "mlp_silu-one-kernel",
    "moe_gating-fused",
    "layernorm_linear-two-passes",
    "linear_residual_rmsnorm-R9-one-kernel",
    "residual_rmsnorm_linear-R1",
    "ntrans-R5",
    "grouped_attention-R6",
    "grouped_attention-R7-no-maximum",
    "safe_grouped_attention-R10",
    "softmax-rows",
    "softmax-no-maximum",
    "safe_attention-R10",
    "safe_attention-R10-scaled-queries",
    "safe_attention-R6-no-maximum",
    "safe_attention-R7",
    "causal_attention-R10",
    "causal_attention-R6-mask-before-exp",
    "sliding_window_attention-R10",
    "sliding_window_attention-R6-mask-before-exp",
    "causal_attention-R7-split-rows",
    "sliding_window_attention-R7-split-rows",
    "moe_routed-fused-columns",
    "moe_routed-experts-over-blocks",
    "rotary_scores-tiles",
)
HELD_BY_NO_GPU = ("moe_routed-fused", "causal_attention-R7-split")
"""Their tiles exceed the shared memory of a GPU at the published shape: all rows in one block, or all experts."""
H100 = target("h100")
BY_NAME = {e.name: e for e in ENTRIES}


# ---------------------------------------------------------------- when two graphs are the same
def form(graph: SGraph) -> str:
    """A text that two graphs share exactly when they are the same graph.

    Sizes that views name are told by the parallel dims that they belong to, as `k1_x`. An operand is told by its own
    text, and by a digest of that where it is long: written out, texts double with every operator that uses one twice.
    """
    keys: list[str] = []
    kernels: dict[int, tuple[str, list[str]]] = {}
    sizes = [str(p.size) for _, block in graph.customs for p in block.parallel]
    named = all(p.size.symbols == (str(p.size),) for _, b in graph.customs for p in b.parallel)
    shared = {s for s in sizes if sizes.count(s) > 1}
    names: dict[str, Dim] = {}
    for position, node in enumerate(graph.nodes):
        args = [keys[a] for a in node.args]
        match node.op:
            case Custom(block):
                orders = permutations(range(len(block.grid)))
                text, stores, names = kernels[position] = min(
                    (_block(block, args, order, shared, names, len(kernels)) for order in orders),
                    key=lambda found: found[:2],
                )
                keys.append(_told(f"{stores[0]} of {text}"))
            case Result(index):
                text, stores, _ = kernels[node.args[0]]
                keys.append(_told(f"{stores[index]} of {text}"))
            case op:
                keys.append(_told(_applied(_renamed(op, names), args)))
    return f"{sorted(keys)} return {keys[graph.output]} sizes {'any' if named and len(shared) < 2 else sizes}"


def _block(
    block: BlockGraph, operands: list[str], order: tuple[int, ...], shared: set[str], names: dict[str, Dim], number: int
) -> tuple[str, list[str], dict[str, Dim]]:
    """A kernel, the order of its results aside, each result, and how sizes are called; one that is shared is told."""
    dims = [("f", block.loop)] if block.loop else []
    dims += [("xyz"[place], block.grid[p]) for place, p in enumerate(order)]
    mine = {str(p.size): dim(f"k{number}_{name}") for name, p in dims if p.size.symbols == (str(p.size),)}
    names = mine | names
    keys: list[str] = []
    for node in block.nodes:
        args = [keys[a] for a in node.args]
        match node.op:
            case Load(operand, imap, fmap):
                keys.append(f"load({operands[operand]}, {[imap[p] for p in order]}, {fmap})")
            case Store(omap):
                keys.append(f"store({args[0]}, {[omap[p] for p in order]})")
            case op:
                keys.append(_told(_applied(_renamed(op, names), args)))
    stores = [keys[s] for s in block.stores]
    grid = [str(block.grid[p].size) in shared for p in order]
    loop = "none" if block.loop is None else str(block.loop.size) in shared
    return f"custom[shared {grid}, loop {loop}]({sorted(keys)} stores {sorted(stores)})", stores, names


def _told(key: str) -> str:
    return key if len(key) < 500 else sha256(key.encode()).hexdigest()


def _renamed(op: Op, names: dict[str, Dim]) -> Op:
    match op:
        case Reshape(sizes):
            return Reshape(tuple(d.substitute(names) for d in sizes))
        case Expand(along, size):
            return Expand(along, size.substitute(names))
        case Slice(along, start, stop):
            return Slice(along, start.substitute(names), stop.substitute(names))
        case _:
            return op


def _applied(op: object, args: list[str]) -> str:
    commutes = isinstance(op, Binary) and op.fn in COMMUTATIVE
    return f"{op}({', '.join(sorted(args) if commutes else args)})"


@pytest.mark.parametrize("name", sorted({n.partition("-")[0] for n in TARGETS}))
def test_forms_tell_apart_every_two_candidates_of_a_workload(name):
    forms = [form(sgraph_of(e)) for e in ENTRIES if e.workload == name]

    assert len(forms) > 3
    assert len(forms) - FORMS_OF_TWO_TEXTS.get(name, 0) == len(set(forms))


FORMS_OF_TWO_TEXTS = {"swiglu": 1, "gated_mlp": 1}
"""`mul(silu(a), c)` and `mul(c, silu(a))` are one graph."""

SAME_GRAPH = {"commuted", "grid exchanged"}
"""Mutations that may give the same graph again."""


@pytest.mark.parametrize("name", (*TARGETS, *HELD_BY_NO_GPU))
def test_no_mutant_has_the_form_of_its_target(name):
    entry = BY_NAME[name]
    target = sgraph_of(entry)
    expected = form(target)
    made = [mutant(target, program_of(entry.workload), random.Random(seed)) for seed in range(60)]
    others = [m for m in made if m and {k.name for k in m.kinds} - SAME_GRAPH]

    assert len(others) > 10
    assert [] == [[k.name for k in m.kinds] for m in others if form(m.graph) == expected]


def test_names_and_the_order_of_grid_dims_and_operators_do_not_matter():
    one = """sgraph
  x = input f32[b, 8]
  w = input f32[8, 6]
  %2 = custom(x, w) grid[x=gx, y=gy] loop[i=f]
    %0 = load(0, imap=[0, -], fmap=1)
    %1 = load(1, imap=[-, 1], fmap=0)
    %2 = matmul(%0, %1)
    %3 = accum(%2)
    %4 = accum_rms(%0, dim=1)
    %5 = mul(%3, %4)
    %6 = store(%5, omap=[0, 1])
  return %2"""
    other = """sgraph
  x = input f32[b, 8]
  w = input f32[8, 6]
  %2 = custom(w, x) grid[x=p, y=q] loop[i=r]
    %0 = load(0, imap=[1, -], fmap=0)
    %1 = load(1, imap=[-, 0], fmap=1)
    %2 = accum_rms(%1, dim=1)
    %3 = matmul(%1, %0)
    %4 = accum(%3)
    %5 = mul(%2, %4)
    %6 = store(%5, omap=[1, 0])
  return %2"""

    assert form(parse(one)) == form(parse(other))
    assert form(parse(one)) != form(parse(other.replace("omap=[1, 0]", "omap=[0, 1]").replace("[b, 8]", "[6, 8]")))
    assert form(parse(one)) != form(parse(other.replace("loop[i=r]", "loop[i=p]")))


# ---------------------------------------------------------------- what a default search proves
def with_a_size_of_one(graph: SGraph) -> Iterator[SGraph]:
    """Of two kernels, which are given grids as large as may be: the same with one grid dim less in the second."""
    *before, (position, block) = graph.customs
    for p, size in enumerate(s.size for s in block.grid if before and len(block.grid) > 1):
        if any(size == other.size for _, b in before for other in b.parallel):
            continue
        one = graph.substitute(dict.fromkeys(size.symbols, 1))
        kernel = one.nodes[position].op
        assert isinstance(kernel, Custom)
        nodes = tuple(Node(_without(n.op, p), n.args) for n in kernel.block.nodes)
        smaller = Custom(BlockGraph(_left_out(kernel.block.grid, p), kernel.block.loop, nodes))
        at = one.nodes[position]
        yield SGraph((*one.nodes[:position], Node(smaller, at.args), *one.nodes[position + 1 :]), one.output)


def _without(op: BlockOp, p: int) -> BlockOp:
    match op:
        case Load(operand, imap, fmap):
            return Load(operand, _left_out(imap, p), fmap)
        case Store(omap):
            return Store(_left_out(omap, p))
        case _:
            return op


def _left_out(entries: tuple[Any, ...], p: int) -> tuple[Any, ...]:
    return (*entries[:p], *entries[p + 1 :])


@cache
def proved(workload: str, machine: Target = H100) -> frozenset[str]:
    """The forms of the candidates that a default search of a workload proves; a GPU is named, so nothing is tuned."""
    row = px.workload(workload)
    session = px.Session(row.code, name=row.name, inputs=row.inputs, at=row.at, target=machine)
    session.run()
    events = session.journal.events
    session.close()
    right = {e.candidate for e in events if isinstance(e, VerdictReached) and e.verdict == "proved"}
    graphs = [parse(e.sgraph) for e in events if isinstance(e, CandidateInstantiated) and e.candidate in right]
    return frozenset(form(m) for g in graphs for m in (g, *with_a_size_of_one(g)))


@pytest.mark.parametrize("name", TARGETS)
def test_a_default_search_proves_the_known_form(name):
    entry = BY_NAME[name]

    assert entry.right
    assert form(sgraph_of(entry)) in proved(entry.workload)


@pytest.mark.parametrize("name", HELD_BY_NO_GPU)
def test_with_more_shared_memory_a_default_search_proves_forms_that_no_gpu_holds(name):
    entry = BY_NAME[name]
    wanted = form(sgraph_of(entry))

    assert entry.right
    assert wanted in proved(entry.workload, replace(H100, shared_memory_bytes=2 << 20))
    assert wanted not in proved(entry.workload)
