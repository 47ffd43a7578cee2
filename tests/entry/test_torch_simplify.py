"""Graphs are brought to a form that regions can contain, and compute the same."""

import operator

import pytest
import torch
import torch.nn.functional as F

from prism_explore.entry.torch_nodes import called_name, has_side_effect, is_float, sizes_of
from prism_explore.entry.torch_simplify import simplify
from prism_explore.entry.torch_transforms import expand_transforms

X, Y = torch.linspace(-1, 1, 24).reshape(4, 6), torch.linspace(0, 3, 24).reshape(4, 6)


def simplified(function, *inputs):
    """The graph after `simplify`; its results are compared with those of the function."""
    found = []

    def backend(module, _):
        assert not expand_transforms(module.graph)
        simplify(module.graph)
        module.recompile()
        found.append(module)
        return module.forward

    torch.compiler.reset()
    compiled = torch.compile(function, backend=backend, dynamic=False)(*(x.clone() for x in inputs))
    torch.testing.assert_close(function(*(x.clone() for x in inputs)), compiled)
    return found[0].graph


def names(graph):
    return [called_name(n) for n in graph.nodes if called_name(n)]


def test_an_operand_of_cat_without_elements_is_left_out():
    graph = simplified(lambda x, y: torch.cat((x, y[..., 6:], y), -1).exp(), X, Y)

    (cat,) = (n for n in graph.nodes if called_name(n) == "cat")
    assert 2 == len(cat.args[0])


def test_an_operand_without_elements_stays_if_it_decides_the_dtype():
    graph = simplified(lambda x, y: torch.cat((x, y)), X, Y[:0].double())

    (cat,) = (n for n in graph.nodes if called_name(n) == "cat")
    assert 2 == len(cat.args[0])


def test_a_tensor_of_which_only_the_form_is_read_is_no_operand():
    def function(x, y):
        return x.double().type_as(y) + x[:1].expand_as(y).exp() + x.flatten().view_as(y) + x.mT.reshape_as(y)

    graph = simplified(lambda x, y: function(x, y).exp(), X, Y)

    unread = next(n for n in graph.nodes if n.op == "placeholder" and "y" in n.name)
    assert not unread.users
    assert not {"type_as", "expand_as", "view_as", "reshape_as"} & set(names(graph))


def test_the_steps_of_an_associative_scan_are_in_regions():
    def scan(x):
        from torch._higher_order_ops.associative_scan import associative_scan

        return associative_scan(lambda a, b: a * b, x, 0, combine_mode="generic")

    graph = simplified(scan, torch.linspace(0.5, 1.5, 48).reshape(8, 6))

    assert not [n for n in names(graph) if "vmap" in n]
    assert all(0 not in sizes_of(n) for n in graph.nodes if is_float(n) and n.users)


def test_what_is_written_to_an_argument_stays():
    def function(x, y):
        torch.mul(x, 2.0, out=y)
        return x + 1.0

    assert "mul" in names(simplified(function, X, torch.empty_like(X)))


def add_into(x, y):
    x += y
    return x


def and_into(x, y):
    x &= y
    return x


def zeros_where(mask):
    return torch.zeros_like(mask, dtype=torch.float32).masked_fill_(mask, -1.0)


def written_before_read(x, y):
    made = x.exp()
    add_into(made, y)
    return made.sin()


def written_by_position(x, y):
    made = x.exp()
    F.leaky_relu(made, 0.1, True)
    return made.sin()


def written_mask(x, y):
    mask = x > 0
    seen = torch.where(mask, x, y)
    and_into(mask, y > 1)
    return seen + torch.where(mask, y, x)


def written_three_times(x, y):
    made = torch.zeros_like(x)
    made.index_add_(0, torch.tensor([2, 0]), y[:2])
    first = made * 2.0
    made.scatter_(1, torch.tensor([[1], [3], [0], [2]]), 5.0)
    row = made[1]
    total = row.sum() + made.sum()
    made.lerp_(y, 0.25)
    return made, first, total, made.mT


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: add_into(x.exp(), y) * 2.0,
        lambda x, y: zeros_where(x > y) + x,
        lambda x, y: x.exp().mul_(y).clamp_(min=0.5).sin() + y,
        lambda x, y: add_into(*[x.exp()] * 2).sin(),
        lambda x, y: F.relu(add_into(F.silu(x.exp(), inplace=True), y), inplace=True) + F.hardtanh(x * y, inplace=True),
        lambda x, y: F.dropout(F.hardtanh(F.elu(x * y, 2.0, True), -0.5, 0.5, True), 0.5, False, True) * y,
        lambda x, y: torch.where(and_into(x > 0, y > 1), x, y),
        *(written_before_read, written_by_position, written_mask, written_three_times),
    ],
)
def test_a_write_into_memory_that_no_view_reads_makes_a_new_tensor(function):
    graph = simplified(lambda x, y: function(x, y), X, Y)
    assert not [n for n in graph.nodes if has_side_effect(n)]


def written_argument(x, y):
    return add_into(x, y) + 1.0


def written_view(x, y):
    made = x.exp()
    add_into(made[0], y[0])
    return made.sin()


def read_through_a_part(x, y):
    made = x.exp()
    left, right = made.split(3, 1)
    left.mul_(y[:, :3])
    return made.sin() + right.sum()


def written_into_another_layout(x, y):
    return x.exp()[:, ::2].add_(y[:, ::2]).sin()


def view_made_before(x, y):
    made = x.exp()
    row = made[1]
    made.mul_(y)
    return made.sin() + row


def returned_view(x, y):
    made = x.exp()
    part = made[:, 1:]
    made.index_add_(0, torch.tensor([2, 0]), y[:2])
    return part, made * 2.0


def cast_into(x, y):
    return x.exp().add_(y.double()).sin()


@pytest.mark.parametrize(
    "function",
    [
        *(written_argument, written_view, read_through_a_part, written_into_another_layout, cast_into),
        *(view_made_before, returned_view),
    ],
)
def test_a_write_that_something_else_sees_stays(function):
    graph = simplified(lambda x, y: function(x, y), X, Y)
    assert [n for n in graph.nodes if has_side_effect(n)]


def parts_in_a_row(x, y):
    made = x.new_empty(4, 9)
    made[..., 6:].copy_(y[:, :1])
    made[:, :6] = x.exp()
    return made.sin()


def parts_with_steps(x, y):
    made = torch.empty_like(x)
    made[:, 0::2], made[:, 1::2] = x[:, 0::2] + y[:, 1::2], x[:, 1::2].double()
    return made.sin()


def shifted(x, y):
    made = torch.zeros_like(x)
    made[1:] = x[:-1]
    return made.sin() * y


@pytest.mark.parametrize("function", [parts_in_a_row, parts_with_steps, shifted])
def test_a_tensor_that_is_written_part_by_part_is_its_parts(function):
    graph = simplified(lambda x, y: function(x, y), X, Y)
    assert not [n for n in graph.nodes if has_side_effect(n)]


def written_twice(x, y):
    made = x.new_empty(4, 9)
    made[:, :6], made[:, 3:] = x, y
    return made.sin()


def written_in_part(x, y):
    made = x.new_empty(4, 9)
    made[:, :6] = x
    return made[:, :5] * y[:, :5]


def read_between(x, y):
    made = torch.zeros_like(x)
    made[:2] = x[:2]
    seen = made.sin()
    made[2:] = y[2:]
    return seen + made


def source_changes_between(x, y):
    made, source = torch.zeros_like(x), x.exp()
    made[:2] = source[:2]
    source.add_(y)
    made[2:] = source[2:]
    return made.sin()


def written_in_two_dims(x, y):
    made = torch.zeros_like(x)
    made[:2, :3] = x[:2, :3]
    return made * y


def written_backwards(x, y):
    made = torch.zeros_like(x.T).T
    made[:, :3], made[:, 3:] = x[:, 3:], y[:, :3]
    return made


@pytest.mark.parametrize(
    "function",
    [
        *(written_twice, written_in_part, read_between, source_changes_between, written_in_two_dims),
        written_backwards,
    ],
)
def test_a_tensor_whose_parts_are_not_all_of_it_once_is_written(function):
    graph = simplified(lambda x, y: function(x, y), X, Y)
    assert [n for n in graph.nodes if has_side_effect(n)]


POSITIONS, TABLE = torch.arange(4), torch.ones(4, 6)
MEAN, VAR = torch.zeros(6), torch.ones(6)


@pytest.mark.parametrize(
    "function, args, kwargs",
    [
        *((f, (X - Y,), {"inplace": on}) for f in (F.relu, F.silu, F.elu, F.hardtanh) for on in (True, False)),
        *((F.relu, (X, on), {}) for on in (True, False)),
        *((F.hardtanh, (Y, -1.0, 1.0, on), {}) for on in (True, False)),
        *((getattr(operator, name), (X > 0, Y < 2), {}) for name in ("iand", "ior", "ixor", "and_", "or_")),
        *(
            (getattr(operator, name), (POSITIONS, 2), {})
            for name in ("ifloordiv", "imod", "ilshift", "floordiv", "mod")
        ),
        *((getattr(operator, name), (X, 2.0), {}) for name in ("iadd", "isub", "imul", "itruediv", "ipow", "pow")),
        *((F.batch_norm, (X, MEAN, VAR, None, None, on), {}) for on in (True, False)),
        *((F.instance_norm, (X[None], *stats), {}) for stats in ((MEAN[:4], VAR[:4]), ())),
        (F.instance_norm, (X[None], MEAN[:4], VAR[:4], None, None, False), {}),
        *((F.embedding, (POSITIONS, TABLE, None, longest), {}) for longest in (1.0, None)),
        (torch.sin, (X,), {"out": torch.empty(4, 6)}),
        (torch.relu_, (X,), {}),
        (torch.add, (X, Y), {}),
    ],
)
def test_a_call_has_a_side_effect_where_torch_writes(function, args, kwargs):
    graph = torch.fx.Graph()
    given = [a.clone() if isinstance(a, torch.Tensor) else a for a in args]
    nodes = [graph.placeholder(f"x{n}") if isinstance(a, torch.Tensor) else a for n, a in enumerate(given)]
    node = graph.call_function(function, tuple(nodes), kwargs)
    written = [t for t in (*given, *kwargs.values()) if isinstance(t, torch.Tensor)]
    before = [t.clone() for t in written]

    function(*given, **kwargs)

    assert has_side_effect(node) == (not all(map(torch.equal, before, written)))
