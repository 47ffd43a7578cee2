"""The best partitions of a program, against all partitions of it."""

from itertools import pairwise, product
from math import ceil

import pytest

from prism_explore.ir.graph import needed_by
from prism_explore.ir.ops import Input, op_name
from prism_explore.ir.program import ProgramBuilder, TensorProgram
from prism_explore.ir.transforms.partition import Part, Partitioner


def steps(count: int) -> TensorProgram:
    """A loop whose steps are equal: h = tanh(h @ w) + x."""
    b = ProgramBuilder("steps")
    x, w = b.input("x", "b", 8), b.input("w", 8, 8)
    h = x
    for _ in range(count):
        h = b.binary("add", b.unary("tanh", b.matmul(h, w)), x)
    return b.build(h)


def several_results() -> TensorProgram:
    b = ProgramBuilder("several")
    x, y = b.input("x", "b", 8), b.input("y", "b", 8)
    e = b.unary("exp", x)
    s = b.reduce("sum", e, 1)
    return b.build(b.binary("div", e, s), b.unary("log", s), b.binary("mul", x, y))


def all_costs(program: TensorProgram, fits) -> list[tuple[int, int, int]]:
    """The plain truth: the costs of all partitions, each part looked at on its own."""
    nodes, types, outputs = program.graph.nodes, program.graph.types(), {*program.graph.outputs}
    operators = [n for n, node in enumerate(nodes) if not isinstance(node.op, Input)]
    ones = dict.fromkeys(program.graph.data_symbols, 1)
    found: list[tuple[int, int, int]] = []
    for cuts in product([False, True], repeat=len(operators) - 1):
        ends = [0, *(k for k, cut in enumerate(cuts, 1) if cut), len(operators)]
        outside = passed = 0
        for run in (operators[a:b] for a, b in pairwise(ends)):
            results = [n for n in run if n in outputs or any(n in m.args for k, m in enumerate(nodes) if k not in run)]
            *further, last = results or [None]
            if last is None or not ({*further} <= outputs and {*further} <= needed_by(nodes, (last,))):
                break
            searched = fits([nodes[n].op for n in run]) and (len(run) > 1 or (len(outputs) > 1 and last in outputs))
            if not searched and len(run) > 1:
                break
            outside += not searched
            passed += sum(ceil(types[n].bytes.rational(ones)) for n in results)
        else:
            found.append((outside, len(ends) - 1, passed))
    return sorted(found)


def cost_of(program: TensorProgram, parts: tuple[Part, ...]) -> tuple[int, int, int]:
    types, ones = program.graph.types(), dict.fromkeys(program.graph.data_symbols, 1)
    written = [n for p in parts for n in (p.result, *p.further)]
    return (
        sum(len(p.positions) for p in parts if not p.searched),
        len(parts),
        sum(ceil(types[n].bytes.rational(ones)) for n in written),
    )


@pytest.mark.parametrize("program", [steps(3), several_results()], ids=["steps", "several"])
@pytest.mark.parametrize("longest", [1, 2, 3, 5])
def test_no_partition_is_better_and_the_next_ones_follow(program, longest):
    def fits(ops) -> bool:
        return len(ops) <= longest

    truth = all_costs(program, fits)
    best = Partitioner(program, lambda part: fits([n for n in part.graph.nodes if n.args])).best(4)
    optimal = [cost for cost in truth if cost[:2] == truth[0][:2]]

    assert [cost_of(program, parts) for parts in best] == optimal[:4]
    assert len({*best}) == len(best)


def test_equal_runs_of_a_loop_are_asked_about_once_and_excluded_together():
    asked: list[str] = []

    def fits(part: TensorProgram) -> bool:
        asked.append(part.name)
        return len([n for n in part.graph.nodes if n.args]) <= 3

    few, many = steps(18), steps(24)  # longer than the longest part
    Partitioner(few, fits).best(1)
    few_asked = len(asked)
    asked.clear()
    partitioner = Partitioner(many, fits)
    (parts,) = partitioner.best(1)

    assert len(asked) == few_asked
    assert [len(p.positions) for p in parts] == [3] * 24
    partitioner.exclude(parts[5])
    assert operators(parts[5]) not in [operators(p) for p in partitioner.best(1)[0]]
    only_here = Partitioner(many, fits)
    only_here.exclude(parts[5], here_only=True)
    (others,) = only_here.best(1)
    assert parts[5] not in others
    assert operators(parts[5]) in [operators(p) for p in others]


def operators(part: Part) -> list[str]:
    return [op_name(n.op) for n in part.program.graph.nodes]
