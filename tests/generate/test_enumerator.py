"""A search finds the known fused graphs, tells every step, and says why it cut what it cut."""

import math
from collections import Counter
from dataclasses import replace

import pytest

from prism_explore.errors import ShapeError
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import FamilyCompleted, NodeExpanded, RegionPruned
from prism_explore.generate import generate
from prism_explore.generate.pruning.rules import RULE_NAMES, RULES
from prism_explore.instantiate import instantiate
from prism_explore.ir.ops import Accumulate, Binary, Load, MatMul, Store
from prism_explore.ir.program import ProgramBuilder
from prism_explore.ir.text import show
from prism_explore.pipeline.search_space import Operators, default_space
from tests.generate.programs import (
    MACHINE,
    Machine,
    attention,
    chain,
    gated_mlp,
    lora,
    rms_linear_small,
    rmsnorm_linear,
)


def search(program, space=None, machine=MACHINE):
    journal = Journal(clock=lambda: 0.0)
    space = space or default_space(program)
    steps = list(generate(program, space, machine, journal))
    return [s for s in steps if s is not None], journal, steps


def candidates(program, space=None):
    space = space or default_space(program)
    families, journal, _ = search(program, space)
    return [c for f in families for c in instantiate(f, space, MACHINE, journal)]


# ---------------------------------------------------------------- what is found
def is_r1(candidate) -> bool:
    """X replicated over the grid and cut by the loop, W cut by both; matmul and norm in one loop; one division."""
    (_, block), *more = candidate.sgraph.customs
    names = [i.name for i in candidate.sgraph.inputs]
    loads = {names[n.op.operand]: n.op for n in block.nodes if isinstance(n.op, Load)}
    accumulators = [n.op for n in block.nodes if isinstance(n.op, Accumulate)]
    summed = [block.nodes[n.args[0]].op for n in block.nodes if n.op == Accumulate("sum")]
    last, store = block.nodes[-2], block.nodes[-1].op
    return (
        not more
        and (loads["x"].imap, loads["x"].fmap) == ((None,), 1)
        and (loads["w"].imap, loads["w"].fmap) == ((1,), 0)
        and ("g" not in loads or (loads["g"].imap, loads["g"].fmap) == ((None,), 0))
        and [MatMul()] == summed
        and len(accumulators) == 2
        and any(a.fn in ("rms", "mean") and a.dim == 1 for a in accumulators)
        and last.op == Binary("div")
        and store == Store((1,))
    )


@pytest.mark.parametrize("weight", [False, True])
@pytest.mark.parametrize("eps", [False, True])
def test_the_fused_rmsnorm_linear_is_found(weight, eps):
    found = [c for c in candidates(rmsnorm_linear(weight, eps)) if is_r1(c)]

    assert 1 == len(found)


def test_the_fused_graph_reads_as_expected():
    (found,) = [c for c in candidates(rmsnorm_linear()) if is_r1(c)]

    assert show(found.sgraph) == "\n".join(
        (
            "sgraph",
            "  x = input f32[b, 4096]",
            "  g = input f32[4096]",
            "  w = input f32[4096, 4096]",
            "  %3 = custom(x, g, w) grid[x=gx] loop[i=f]",
            "    %0 = load(0, imap=[-], fmap=1)",
            "    %1 = load(1, imap=[-], fmap=0)",
            "    %2 = load(2, imap=[1], fmap=0)",
            "    %3 = square(%0)",
            "    %4 = mul(%0, %1)",
            "    %5 = accum_mean(%3, dim=1)",
            "    %6 = matmul(%4, %2)",
            "    %7 = add_scalar(%5, 1/1000000)",
            "    %8 = accum(%6)",
            "    %9 = sqrt(%7)",
            "    %10 = div(%8, %9)",
            "    %11 = store(%10, omap=[1])",
            "  return %3",
        )
    )


@pytest.mark.parametrize("up_first", [False, True])
def test_the_gated_mlp_is_found_whichever_weight_comes_first(up_first):
    families, _, _ = search(gated_mlp(up_first))

    fused = [f for f in families if _kinds(f) == {"load": 3, "matmul": 2, "accum": 2, "silu": 1, "mul": 1, "store": 1}]
    assert 1 == len(fused)


def test_a_chain_of_matmuls_is_found_in_both_associations():
    program = chain()
    families, _, _ = search(program, replace(default_space(program), results=0))

    orders = {tuple(n.args for n in f.sgraph.customs[0][1].nodes if n.op == MatMul()) for f in families}
    assert any(first == (0, 1) for first, _ in orders)
    assert any(first == (1, 2) for first, _ in orders)


def test_attention_is_found_as_one_loop_over_the_keys():
    found = [c for c in candidates(attention()) if len(c.sgraph.parameters) > 1]

    flash = {"load": 3, "matmul": 2, "exp": 1, "accum": 1, "accum_sum": 1, "div": 1, "store": 1}
    cuts = [
        {n.op.operand: n.op.fmap for n in c.sgraph.customs[0][1].nodes if isinstance(n.op, Load)}
        for c in found
        if _kinds(c) == flash
    ]
    assert {0: None, 1: 2, 2: 1} in cuts


def test_lora_is_found_as_one_kernel_with_four_inputs():
    families, _, _ = search(lora())

    assert any(_kinds(f)["accum"] == 1 and _kinds(f)["matmul"] == 3 for f in families)


def _kinds(stage):
    from prism_explore.ir.ops import op_name

    return Counter(op_name(n.op) for n in stage.sgraph.customs[0][1].nodes)


def test_predefined_kernels_may_precede_and_follow_the_custom_one():
    program = rms_linear_small()
    families, _, _ = search(program, replace(default_space(program), predefined_kernels=1, results=0))

    shapes = {
        "".join(
            "i" if not n.args else "c" if f.sgraph.customs[0][0] == p else "p" for p, n in enumerate(f.sgraph.nodes)
        )
        for f in families
    }
    assert {"iic", "iipc", "iicp"} == shapes


def test_two_custom_kernels_are_possible():
    b = ProgramBuilder("two")
    x, w = b.input("x", "b", 4), b.input("w", 4, 6)
    program = b.build(b.unary("exp", b.matmul(b.unary("exp", x), w)))
    small = Operators(("exp",), (), (), True)
    space = replace(default_space(program), block=small, custom_kernels=2, block_ops=5)
    families, _, _ = search(program, space)

    assert {1, 2} == {len(f.sgraph.customs) for f in families}
    assert all(f.sgraph.output_type.dims == program.graph.output_type.dims for f in families)


# ---------------------------------------------------------------- what is told
def test_two_runs_tell_the_same_story():
    _, one, _ = search(rmsnorm_linear())
    _, other, _ = search(rmsnorm_linear())

    assert one.events == other.events


def test_every_step_can_be_paused_at_and_is_one_event():
    families, journal, steps = search(rms_linear_small())

    assert len(steps) == len(journal.events)
    assert len(families) == sum(isinstance(e, FamilyCompleted) for e in journal.events)


def test_ids_are_given_in_order_of_birth_and_parents_exist():
    _, journal, _ = search(rms_linear_small())
    nodes = [e for e in journal.events if isinstance(e, NodeExpanded)]
    regions = [e for e in journal.events if isinstance(e, RegionPruned)]

    assert [f"n{i}" for i in range(1, len(nodes) + 1)] == [e.node for e in nodes]
    assert [f"p{i}" for i in range(1, len(regions) + 1)] == [e.region for e in regions]
    assert [""] == [e.parent for e in nodes if not e.parent]
    assert {e.parent for e in (*nodes[1:], *regions)} <= {e.node for e in nodes}


def test_every_cut_has_a_whole_reason_card():
    _, journal, _ = search(rmsnorm_linear())
    cards = [e for e in journal.events if isinstance(e, RegionPruned)]

    assert {"shape.mismatch", "dup.canonical", "expr.unreachable", "map.constraint"} <= {e.reason.code for e in cards}
    for e in cards:
        assert e.reason.rule in RULE_NAMES
        assert e.reason.sentence
        assert e.reason.formula
        assert e.reason.would_reopen_if
        assert e.reason.substitution
        assert 1 <= e.stood_for < math.inf
    unreachable = next(e for e in cards if e.reason.rule == "expr.unreachable" and e.operator == "matmul(%0, %2)")
    assert "Σd w·x" == unreachable.reason.substitution["e"]
    assert "Σd g·w·x/√(1/1000000 + μd x²)" == unreachable.reason.substitution["result"]


def test_a_mismatch_of_axes_says_where_sizes_happen_to_agree():
    def said(program):
        _, journal, _ = search(program)
        cards = [e.reason for e in journal.events if isinstance(e, RegionPruned) and e.reason.rule == "shape.mismatch"]
        return {(c.soundness, "happen to agree" in c.sentence) for c in cards}

    assert ("sound", True) not in said(rms_linear_small())
    assert {("sound", False), ("sound", True)} <= said(rmsnorm_linear(True, False))


def test_a_spent_budget_is_told_as_such_and_not_as_no():
    program = rmsnorm_linear()
    families, journal, _ = search(program, replace(default_space(program), nodes=6))
    spent = [e for e in journal.events if isinstance(e, RegionPruned) and e.reason.code == "budget.nodes"]

    assert [] == families
    assert 6 == sum(isinstance(e, NodeExpanded) for e in journal.events)
    assert spent
    assert {"budget"} == {e.reason.soundness for e in spent}


def test_the_budget_after_a_family_ends_a_search_that_finds_no_further_one():
    program = rmsnorm_linear()
    space = default_space(program)
    families, journal, _ = search(program, space)
    few, short, _ = search(program, replace(space, nodes_after_family=5))
    spent = [e.reason for e in short.events if isinstance(e, RegionPruned) and e.reason.code == "budget.nodes"]

    assert few
    assert {show(f.sgraph) for f in few} < {show(f.sgraph) for f in families}
    assert {"The node budget for a further family was spent before this region was searched."} == {
        r.sentence for r in spent
    }
    nodes = [sum(isinstance(e, NodeExpanded) for e in j.events) for j in (short, journal)]
    assert nodes[0] < nodes[1]


def test_too_small_a_memory_leaves_only_what_the_loop_can_cut():
    program = rmsnorm_linear()
    families, journal, _ = search(program, machine=Machine(shared_memory_bytes=4096))

    assert families
    assert all(any(isinstance(n.op, Accumulate) for n in f.sgraph.customs[0][1].nodes) for f in families)
    card = next(e.reason for e in journal.events if isinstance(e, RegionPruned) and e.reason.code == "mem.smem")
    assert "4096 B" == card.substitution["shared memory"]


def test_more_inputs_than_a_kernel_may_read_is_said_at_once():
    program = lora()
    families, journal, _ = search(program, replace(default_space(program), block_inputs=3))

    assert [] == families
    assert {"limit.ops"} == {e.reason.rule for e in journal.events if isinstance(e, RegionPruned)}


# ---------------------------------------------------------------- the rules
def test_the_table_has_a_row_for_every_rule_that_can_be_switched_off():
    assert len(set(RULE_NAMES)) == len(RULES)
    for rule in RULES:
        assert rule.sentence.endswith(".")
        assert rule.source


@pytest.mark.parametrize("rule", RULE_NAMES)
def test_each_rule_can_be_switched_off_alone_and_nothing_is_lost(rule):
    program = rms_linear_small()
    small = Operators((), (), ("mul", "div"), True, ("rms",), ("plain", "rms"))
    space = replace(default_space(program), block=small, block_ops=6)
    on, _, _ = search(program, space)
    off, journal, _ = search(program, replace(space, rules_off=frozenset({rule}), nodes=5000))
    texts = {show(f.sgraph) for f in off}

    assert {show(f.sgraph) for f in on} <= texts
    assert rule not in {e.reason.rule for e in journal.events if isinstance(e, RegionPruned)} or rule in (
        "shape.mismatch",
        "limit.ops",
    )


def test_an_unknown_rule_cannot_be_switched_off():
    with pytest.raises(ShapeError, match=r"no pruning rule expr\.reachable; there are .*expr\.unreachable"):
        search(chain(), replace(default_space(chain()), rules_off=frozenset({"expr.reachable"})))
