"""Programs with operators that no row translates: torch computes these, everything else is a tensor program."""

import copy
import inspect

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch.utils._pytree import tree_leaves

import prism_explore as px
from prism_explore.frontend import mixed_trace
from prism_explore.frontend.mixed_program import Computation, evaluate_mixed, run_mixed
from prism_explore.frontend.mixed_trace import trace_mixed
from prism_explore.frontend.opaque import OpaqueCall, TensorRef, find_operator
from prism_explore.ir.dims import dim
from prism_explore.ir.ops import op_name


class Embedded(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.places = torch.nn.Embedding(20, 16), torch.nn.Embedding(32, 16)
        self.norm, self.linear = torch.nn.LayerNorm(16), torch.nn.Linear(16, 8)

    def forward(self, i):
        return self.linear(self.norm(self.tokens(i) + self.places(torch.arange(i.shape[1]))))


class Convolved(torch.nn.Module):
    def __init__(self, convolution):
        super().__init__()
        self.convolution, self.norm = convolution, torch.nn.BatchNorm1d(8)

    def forward(self, x):
        return torch.relu(self.norm(self.convolution(x)))


def gate(x, w):
    values, indices = torch.softmax(x @ w, -1).topk(2, -1)
    return values / values.sum(-1, keepdim=True), indices


def several(x):
    y = torch.sort(x, 0)[0]
    return y + 1, {"a": torch.exp(y) * x, "x": x, "t": x.t()}


def masked(x):
    positive = torch.sort(x, -1)[0] > 0
    return torch.where(positive, x, 2 * x).sum(-1), positive


def minus_infinity(x, keep):
    both = (torch.where(keep, y, torch.tensor(float("-inf"))) for y in (x, x.flip(0)))
    return torch.logaddexp(*both)


r, indices = torch.randn, torch.randint
LAYER = torch.nn.GRU(3, 4, bidirectional=True, batch_first=True, dropout=0.5).eval().requires_grad_(False)
MINUS_INFINITY = torch.tensor(float("-inf"))
CELL = torch.nn.LSTMCell(3, 4).requires_grad_(False)


def filtered(x, w):
    """A product of spectra, of which one is an argument; the spectrum is returned, too."""
    spectrum = torch.fft.rfft(x * 2)
    return torch.fft.irfft(spectrum * w, n=8) + x, spectrum.abs() + 1, spectrum, torch.complex(x, x) * (1 + 2j)


def with_empty_tensors(x, empty):
    return torch.cat([x[:, 8:], x * 2, empty], 1).sin(), empty @ x[:0] + 1, x[:, 3:3]


PROGRAMS = {
    "embedding": (Embedded(), (indices(0, 20, (2, 5)),), ""),
    "convolution": (Convolved(torch.nn.Conv1d(3, 8, 3, padding=1)).eval(), (r(2, 3, 9),), ""),
    "depthwise": (Convolved(torch.nn.Conv1d(8, 8, 3, groups=8)).eval(), (r(2, 8, 9),), ""),
    "transposed": (Convolved(torch.nn.ConvTranspose1d(3, 8, 3, 2)).eval(), (r(2, 3, 9),), ""),
    "gate": (gate, (r(4, 8), r(8, 6)), "topk"),
    "argmax": (lambda x: torch.argmax(x * 2, -1), (r(4, 8),), "argmax"),
    "cache": (lambda c, k, p: torch.index_put(c, (p,), k) * 2, (r(9, 4), r(2, 4), torch.tensor([3, 5])), ""),
    "many positions": (lambda c, k, p: c.index_add(0, p, k) * 2, (r(9, 4), r(9, 4), torch.arange(9)), "index_add"),
    "gather": (lambda x, i: torch.gather(torch.relu(x), 1, i) + x[:, :1], (r(4, 8), indices(0, 8, (4, 3))), ""),
    "gather of a number": (lambda x, i: torch.gather(x.sum() * 2, 0, i) + i, (r(4, 8), indices(0, 1, (1,))), ""),
    "logsumexp of a number": (
        lambda x, keep: torch.where(keep, x, 1).logsumexp(0) * 2,
        (r(()), torch.tensor(True)),
        "",
    ),
    "minus infinity": (lambda x, keep: torch.where(keep, x, MINUS_INFINITY).softmax(-1), (r(4, 8), r(4, 8) > -9), ""),
    "many steps": (
        lambda x, h: torch.tanh(LAYER(x * 2, h)[0]) + 1,
        (r(2, 9, 3), r(2, 2, 4)),
        "gru",
    ),
    "few steps": (lambda x, h: torch.tanh(LAYER(x * 2, h)[0]) + 1, (r(2, 3, 3), r(2, 2, 4)), ""),
    "loss of one sample": (
        lambda x, i: F.multilabel_margin_loss(x, i, reduction="none") * 2,
        (r(8), indices(0, 8, (8,))),
        "unsqueeze arange eq where amin lt where",
    ),
    "resize": (
        lambda x: F.interpolate(x, scale_factor=2, mode="bilinear", antialias=True) + 1,
        (r(1, 2, 4, 4),),
        "_upsample_bilinear2d_aa",
    ),
    "inverse": (lambda x: torch.linalg.inv(x + 9 * torch.eye(4)) @ x, (r(4, 4),), "linalg_inv"),
    "several": (several, (r(4, 8),), "sort t"),
    "mask": (masked, (r(4, 8),), "sort gt"),
    "cell": (lambda x, h, c: CELL(x, (h, c))[0].sort(-1)[0], (r(2, 3), r(2, 4), r(2, 4)), "sort"),
    "two results": (lambda x, h, c: CELL(x, (h, c)), (r(2, 3), r(2, 4), r(2, 4)), ""),
    "a result read within its part": (lambda x: (torch.relu(x), (torch.relu(x) * 2).sum(-1), x), (r(4, 8),), ""),
    "complex": (filtered, (r(4, 8), torch.complex(r(5), r(5))), "view_as_complex _fft_r2c complex mul mul _fft_c2r"),
    "without elements": (with_empty_tensors, (r(4, 8), torch.zeros(4, 0)), "slice slice matmul"),
    "infinite": (minus_infinity, (r(4, 8), r(4, 8) > 1), "clone clone where where logaddexp"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_with_opaque_calls_computes_what_torch_does(name):
    code, examples, operators = PROGRAMS[name]
    names = inspect.signature(getattr(code, "forward", code)).parameters
    program = trace_mixed(code, dict(zip(names, examples, strict=True)))
    tensors = program.bind(*examples)
    expected = tree_leaves(code(*examples))
    found = tree_leaves(run_mixed(program, tensors))
    plain = evaluate_mixed(program, {n: x.detach().numpy() for n, x in tensors.items()})

    assert operators.split() == [s.operator.split(".")[1] for s in program.steps if isinstance(s, OpaqueCall)]
    for x, y, z in zip(expected, found, plain, strict=True):
        torch.testing.assert_close(y, x)
        np.testing.assert_allclose(z, x.detach().numpy(), rtol=1e-4, atol=1e-5)


def test_what_is_left_to_torch_though_a_row_translates_it_is_a_call_with_the_reason():
    program = trace_mixed(
        lambda x, w: torch.relu(F.conv1d(x * 2, w)),
        {"x": r(2, 3, 9), "w": r(4, 3, 5)},
        why_left=lambda operator: f"{len(operator.graph.nodes)} nodes",
    )
    (call,) = program.calls

    assert (call.operator, call.reason) == ("aten.convolution.default", "21 nodes")
    assert ["Unary" in str(p.traced.program.graph.nodes[-1].op) for p in program.computations] == [False, True]


def test_sizes_of_a_symbolic_program_are_those_of_the_call():
    program = trace_mixed(lambda x: torch.sort(x.reshape(-1, 4), 0)[0] * 2, {"x": px.T("b", 8)})
    (call,) = program.calls

    assert call.results[0].type.dims == (dim("2*b"), dim(4))
    for b in (1, 3):
        x = r(b, 8)
        torch.testing.assert_close(run_mixed(program, program.bind(x)), torch.sort(x.reshape(-1, 4), 0)[0] * 2)
    with pytest.raises(px.ShapeError, match=r"'x' has the shape \(3, 9\)"):
        run_mixed(program, program.bind(r(3, 9)))


def test_views_of_what_a_part_computes_are_in_the_parts_that_read_them():
    def gates(x, w):
        a, b = (x @ w).chunk(2, 1)
        return torch.sort(torch.sigmoid(a))[0] * torch.tanh(b)

    x, w = r(4, 8), r(8, 6)
    program = trace_mixed(gates, {"x": x, "w": w}, fits=lambda part: len(part.graph.nodes) < 4)
    ends = [[op_name(n.op) for n in p.traced.program.graph.nodes][-2:] for p in program.computations]

    assert ends == [["input", "matmul"], ["slice", "sigmoid"], ["slice", "tanh"], ["input", "mul"]]
    torch.testing.assert_close(run_mixed(program, program.bind(x, w)), gates(x, w))


def test_kernels_read_what_torch_computed_as_row_major():
    program, strides = trace_mixed(lambda x: torch.linalg.qr(x)[0].exp(), {"x": r(4, 4)}), []
    assert torch.linalg.qr(r(4, 4))[0].stride() == (1, 4)

    run_mixed(program, program.bind(r(4, 4)), [lambda q: strides.append(q.stride()) or q.exp()])

    assert strides == [(4, 1)]


def test_what_feeds_an_opaque_call_and_what_reads_it_are_parts_of_their_own():
    program = trace_mixed(
        lambda x, w: torch.relu(torch.sort(x @ w, -1)[0] + x[:, :4]) @ w.t(), {"x": r(5, 8), "w": r(8, 4)}
    )

    kinds = ["part" if isinstance(s, Computation) else s.operator for s in program.steps]
    assert kinds == ["part", "aten.sort.default", "part"]
    assert program.computations[1].traced.program.graph.output_type.dims == (dim(5), dim(8))


def test_connected_operators_are_one_part_with_all_of_their_results():
    program = trace_mixed(lambda x, h, c: CELL(x, (h, c)), {"x": r(2, 3), "h": r(2, 4), "c": r(2, 4)})
    (part,) = program.computations

    assert [(dim(2), dim(4))] * 2 == [t.dims for _, t in part.results]


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (lambda x: F.dropout(x, 0.5, training=True), "it draws random numbers"),
        (lambda x: torch.nonzero(x), "depends on data"),
        (lambda x: x[x > 0], "depends on data"),
        (lambda x: torch.cond(x.sum() > 0, torch.relu, torch.exp, (x,)), r"depends on data.*torch\.compile"),
        (lambda x: x * x.sum().item(), r"an element of a tensor as a Python number.*torch\.compile"),
        (lambda x: torch.as_strided(x, (2, 2), (1, 1)), "how its argument lies in memory"),
        (lambda x: x.to_sparse(), "the layout sparse_coo"),
        (lambda x: torch.empty_like(x) + x, "memory that was not written"),
    ],
)
def test_what_is_no_function_of_its_arguments_is_refused_with_the_reason(code, why):
    with pytest.raises(px.UnsupportedOperator, match=why):
        trace_mixed(code, {"x": px.T(4, 8)})


@pytest.mark.parametrize(
    "name",
    [
        *("aten.add_.Tensor", "aten.rand.default", "aten.empty.memory_format", "aten.as_strided.default"),
        *("os.system.default", "aten.topk.values", "aten.topk", "aten.__class__.mro", "torchvision.nms.default"),
    ],
)
def test_data_can_name_functional_operators_of_torch_only(name):
    assert find_operator("aten.topk.default")
    with pytest.raises(px.ParseError, match=r"functional operator of torch"):
        find_operator(name)


@pytest.mark.parametrize("largest", [3, 5, 8])
def test_a_stage_is_cut_into_the_fewest_parts(largest):
    """The starts of a part are bisected; the plain truth tries all."""

    def layers(x, w):
        for _ in range(3):
            h = torch.relu(x @ w)
            x = x + h * torch.sigmoid(h)
        return x

    class Plain(mixed_trace._Cut):
        def _fewest(self, nodes, end, best):
            made = ((best[s], self._part(nodes[s:end])) for s in range(end) if best[s] is not None)
            found = [(*before, part) for before, part in made if part is not None]
            return min(found, key=len, default=None)

    def parts():
        given = {"x": r(4, 8), "w": r(8, 8)}
        program = trace_mixed(layers, given, fits=lambda part: len(part.graph.nodes) - len(part.inputs) <= largest)
        torch.testing.assert_close(run_mixed(program, program.bind(**given)), layers(**given))
        return [c.names for c in program.computations]

    found = parts()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mixed_trace, "_Cut", Plain)
        assert found == parts()
    assert len(found) > 1


def test_a_custom_operator_that_writes_nowhere_is_an_opaque_call():
    @torch.library.custom_op("prism_test::reversed", mutates_args=())
    def reversed_(x: torch.Tensor) -> torch.Tensor:
        return x.flip(-1)

    @torch.library.custom_op("prism_test::clear", mutates_args=("x",))
    def clear(x: torch.Tensor) -> None:
        x.zero_()

    def cleared(x):
        y = x * 2
        clear(y)
        return y + x

    reversed_.register_fake(torch.empty_like)
    x = r(4, 8)
    program = trace_mixed(lambda x: reversed_(x * 2).exp(), {"x": x})

    assert ["prism_test.reversed.default"] == [c.operator for c in program.calls]
    torch.testing.assert_close(run_mixed(program, program.bind(x)), (x * 2).flip(-1).exp())
    with pytest.raises(px.UnsupportedOperator, match=r"clear.*|writes in place"):
        trace_mixed(cleared, {"x": x})


def test_a_cast_to_the_same_dtype_is_no_step_of_its_own():
    def two_readers(x):
        y = torch.cos(x).to(x.dtype)
        return torch.exp(y) + torch.sin(y)

    program = trace_mixed(two_readers, {"x": r(4, 8)}, fits=lambda part: len(part.graph.nodes) <= 2)

    assert not program.calls
    assert 4 == len(program.computations)


def test_what_nothing_reads_is_no_step():
    def with_dead_code(x):
        x[:2, :3].unsqueeze(0)
        return torch.sort(torch.exp(x))[0] * 2

    program = trace_mixed(with_dead_code, {"x": r(4, 8)}, fits=lambda part: len(part.graph.nodes) <= 2)

    assert ["aten.sort.default"] == [c.operator for c in program.calls]
    assert 2 == len(program.computations)


def test_attention_without_a_translation_is_an_opaque_call_unless_it_has_dropout():
    def attention(dropout_p):
        """A mask per query head, which no row takes together with shared key heads."""
        return lambda q, k, mask: F.scaled_dot_product_attention(q, k, k, mask, dropout_p, enable_gqa=True) * 2

    given = {"q": r(2, 4, 3, 8), "k": r(2, 2, 3, 8), "mask": r(2, 4, 3, 3)}
    program = trace_mixed(attention(0.0), given)

    assert ["aten.scaled_dot_product_attention.default"] == [c.operator for c in program.calls]
    torch.testing.assert_close(run_mixed(program, program.bind(**given)), attention(0.0)(**given))
    with pytest.raises(px.UnsupportedOperator, match="random numbers"):
        trace_mixed(attention(0.5), given)


def test_calls_with_other_attributes_or_operands_have_other_keys():
    def key(*arguments, operator="aten.f.default", **keywords):
        return OpaqueCall(operator, arguments, tuple(keywords.items()), ()).key({"x": "x", "y": "y"})

    x, y = TensorRef("x"), TensorRef("y")
    different = [
        *(key(x), key(y), key(x, y), key(y, x), key((x, y)), key(x, 1), key(x, 1.0), key(x, True), key(x, None)),
        *(key(x, 0.0), key(x, -0.0), key(x, dim("b")), key(x, "b"), key(x, n=1), key(x, operator="aten.g.default")),
    ]

    assert len(set(different)) == len(different)
    assert key(x, n=1, m=2) == key(x, m=2, n=1)


def test_only_lookups_read_positions():
    with pytest.raises(px.ShapeError, match=r"add reads 'i', of dtype i64; only lookups read integers"):
        px.parse_program("program f\n  i = input i64[4]\n  %1 = add(i, i)\n  return %1")


# ---------------------------------------------------------------- writes into what the caller holds
def attends(cache, k, position):
    cache[:, :, position] = k
    return torch.softmax(k.reshape(1, 2, 1, 8) @ cache.mT, -1) @ cache


def attends_to_several(cache, k):
    cache[:, :, 5:8] = k
    return torch.softmax(k @ cache.mT, -1) @ cache, cache


def reads_what_it_replaces(cache, k, position):
    before = cache.sum()
    cache.index_copy_(2, position, k)
    return before + cache.mul_(2).mean()


def writes_twice(cache, k, position):
    cache.index_copy_(2, position, k).index_copy_(2, position + 1, k)
    cache[0, 1, 2:4] = 0.0
    return cache[:, :, :3] * k.sum()


def writes_at_an_element(x, position):
    x[0, position] += 1
    x[position, 1:3].mul_(2)
    return x.sum(0)


class Buffered(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.zeros(1, 2, 16, 8))

    def forward(self, k, position):
        return attends(self.cache, k, position)


CACHE, PART, PLACE = r(1, 2, 16, 8), r(1, 2, 1, 8), torch.tensor([3])
WRITES = {
    "a cache": (attends, (CACHE, PART, PLACE), {"cache"}, 1),
    "a position without dims": (attends, (CACHE, r(1, 2, 8), torch.tensor(3)), {"cache"}, 1),
    "an element at a position without dims": (writes_at_an_element, (r(4, 6), torch.tensor(3)), {"x"}, 0),
    "a slice": (attends_to_several, (CACHE, r(1, 2, 3, 8)), {"cache"}, 1),
    "a cache that is read before": (reads_what_it_replaces, (CACHE, PART, PLACE), {"cache"}, 0),
    "several writes": (writes_twice, (CACHE, PART, PLACE), {"cache"}, 2),
    "a buffer": (Buffered(), (PART, PLACE), {"cache"}, 1),
    "a whole argument": (lambda x, y: x.copy_(y), (r(4, 8), r(8)), {"x"}, 0),
    "training": (torch.nn.BatchNorm1d(8), (r(6, 8),), {"running_mean", "running_var", "num_batches_tracked"}, 0),
}


@pytest.mark.parametrize("name", WRITES)
def test_what_the_code_writes_into_is_written_and_in_place_where_nothing_reads_the_old_value(name):
    code, examples, written, in_place = WRITES[name]
    given, expected_of, own = (copy.deepcopy(examples) for _ in range(3))
    mine = copy.deepcopy(code)
    program = trace_mixed(
        mine, dict(zip(inspect.signature(getattr(code, "forward", code)).parameters, own, strict=False))
    )
    with torch.no_grad():
        expected = code(*expected_of)
        plain = evaluate_mixed(program, {n: x.numpy().copy() for n, x in program.bind(*given).items()})
        found = run_mixed(program, program.bind(*given))

    assert set(program.written) == written and len(program.in_place) == in_place
    torch.testing.assert_close((found, given), (expected, expected_of))
    own, changed = (dict(getattr(m, "named_buffers", dict)()) for m in (mine, code))
    torch.testing.assert_close(own, changed)
    changed |= dict(zip(program.arguments, expected_of, strict=True))
    for x, y in zip([*tree_leaves(expected), *(changed[s] for s in program.written)], plain, strict=True):
        np.testing.assert_allclose(y, x.numpy(), rtol=1e-4, atol=1e-5)


def test_a_part_takes_what_a_kernel_stores_in_another_order_than_torch():
    def transposed(x):
        y = x.T.exp()
        return y.T.view(-1) * torch.sort(y)[0].sum()

    x = torch.randn(3, 5)
    program = trace_mixed(transposed, {"x": x})
    parts = [c.traced.reference for c in program.computations]
    stored = [lambda *given, part=part: part(*given).contiguous() for part in parts]

    torch.testing.assert_close(run_mixed(program, program.bind(x), stored), transposed(x))
