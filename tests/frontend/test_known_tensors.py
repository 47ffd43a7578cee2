import pytest
import torch

import prism_explore as px
from prism_explore.errors import UnsupportedOperator
from prism_explore.frontend import trace
from prism_explore.frontend.mixed_program import run_mixed
from prism_explore.frontend.mixed_trace import trace_mixed
from prism_explore.ir.interpreter.reference import evaluate_results
from prism_explore.ir.ops import Band, Lookup
from prism_explore.ir.tensors import tensor as T

BASES = torch.tensor([1.0, 0.5, 0.25, 0.1])


def rotated(x):
    angles = torch.outer(torch.arange(6).float(), 10000 ** (-torch.arange(0, 8, 2).float() / 8))
    a, b = x.chunk(2, -1)
    return torch.cat((a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), -1)


def sloped(x):
    place = torch.arange(4)
    return (x - BASES[:, None, None] * (place[:, None] - place).abs()).softmax(-1)


def buckets(table, x):
    place = torch.arange(4)
    far = (place[:, None] - place).abs().clamp(max=2) * 3 % 5
    return x + table[far]


def relative(table, x):
    place = torch.arange(4)
    return x + table[place[:, None] - place + 3]


OFFSETS = torch.arange(4)[:, None] - torch.arange(4) + 3


def relative_held(table, x):
    return x + table[OFFSETS]


def windows(x):
    return x[torch.arange(3)[:, None] + torch.arange(2)].sum(1)


def picked(x):
    return x[torch.tensor([2, 0, 3])] * 2


@pytest.mark.parametrize(
    ("code", "shapes", "constants"),
    [
        (rotated, {"x": (2, 6, 8)}, 2),
        (sloped, {"x": (4, 4, 4)}, 1),
        (buckets, {"table": (5,), "x": (4, 4)}, 1),
        (relative, {"table": (7,), "x": (4, 4)}, 1),
        (relative_held, {"table": (7,), "x": (4, 4)}, 1),
        (windows, {"x": (4, 3)}, 0),
        (picked, {"x": (4, 3)}, 1),
    ],
)
def test_tensors_without_arguments_are_constants_of_the_code(code, shapes, constants):
    given = [torch.randn(s, generator=torch.Generator().manual_seed(0)) for s in shapes.values()]

    made = trace(code, {name: T(*s) for name, s in shapes.items()})

    assert len(made.constants) == constants
    assert len(made.program.inputs) == len(shapes) + constants
    arrays = {b.name: x.numpy() for b, x in zip(made.bindings, made.bind(*given), strict=True)}
    (found,) = evaluate_results(made.program, arrays)
    torch.testing.assert_close(torch.from_numpy(found).float(), code(*given))


def test_masks_and_numbers_keep_their_structure():
    def causal(x):
        place = torch.arange(4)
        return (x * torch.full((4,), 0.5)).masked_fill(place[None] > place[:, None], -torch.inf).softmax(-1)

    made = trace(causal, {"x": T(4, 4)})

    assert not made.constants
    assert any(isinstance(node.op, Band) for node in made.program.graph.nodes)


def test_what_draws_random_numbers_or_has_a_symbolic_size_is_not_computed():
    with pytest.raises(UnsupportedOperator, match="rand"):
        trace(lambda x: x * torch.rand(4), {"x": T(4)})
    assert not trace(lambda x: x * torch.arange(x.shape[0])[:, None], {"x": T("b", 4)}).constants


def test_positions_from_the_end_are_left_to_torch():
    def mixed_ends(x):
        return x[torch.tensor([0, -1, 2])] * 2

    x = torch.randn(4, 3)
    with pytest.raises(UnsupportedOperator, match="positions that are computed"):
        trace(mixed_ends, {"x": x})
    program = trace_mixed(mixed_ends, {"x": x})
    assert [c.operator for c in program.calls] == ["aten.index.Tensor"]
    torch.testing.assert_close(run_mixed(program, program.bind(x)), mixed_ends(x))


def test_an_index_by_an_integer_argument_is_a_lookup():
    made = trace(lambda table, i: table[i] * 2, {"table": T("v", 8), "i": T("b", 3, dtype="i64")})

    assert [node.op for node in made.program.graph.nodes if isinstance(node.op, Lookup)] == [Lookup(0)]


def test_a_comparison_of_two_functions_reads_formulas():
    px.assert_equivalent(lambda x: x * torch.arange(4) * 2, lambda x: torch.arange(0, 8, 2) * x, x=T("b", 4))


def inverse(p):
    """As routers of experts undo a permutation."""
    found = torch.empty_like(p)
    found[p] = torch.arange(p.shape[0])
    return found


def test_memory_that_is_filled_at_positions_is_zeros_before():
    x, p = torch.randn(5, 4), torch.tensor([3, 1, 4, 0, 2])
    program = trace_mixed(lambda x, p: torch.exp(x[p])[inverse(p)], {"x": x, "p": p})

    torch.testing.assert_close(run_mixed(program, program.bind(x, p)), torch.exp(x))


def test_a_cache_may_begin_without_elements():
    def grown(x):
        cache = torch.tensor([], dtype=x.dtype)
        keys = torch.cat((cache, x.exp()), -2)
        return keys @ torch.cat((x, x.new_zeros(2, 0, 4), keys), 1).mT

    x = torch.randn(2, 3, 4)
    program = trace_mixed(grown, {"x": x})

    assert not program.calls
    torch.testing.assert_close(run_mixed(program, program.bind(x)), grown(x))
