"""Layers that torch computes as one operator, as the operators that they are made of."""

from functools import partial

import pytest
import torch
from torch import nn

from prism_explore.entry import torch_layers
from prism_explore.entry.torch_layers import expand_layers
from prism_explore.entry.torch_nodes import called_name

WHOLE = {"_transformer_encoder_layer_fwd", "multi_head_attention_forward"}
PADDED = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
NOTHING_LEFT = torch.tensor([[False] * 5, [True] * 5])
CAUSAL = nn.Transformer.generate_square_subsequent_mask(5)


def expanded(module, *args, dynamic=False, **kwargs):
    """The results of the expanded graph, those of torch, and the names of the functions that were left."""
    names = []

    def backend(graph_module, examples):
        expand_layers(graph_module.graph)
        graph_module.graph.lint()
        names.extend(map(called_name, graph_module.graph.nodes))
        graph_module.recompile()
        return graph_module.forward

    torch.compiler.reset()
    with torch.no_grad():
        return torch.compile(module, backend=backend, dynamic=dynamic)(*args, **kwargs), module(*args, **kwargs), names


@pytest.mark.parametrize(
    "norm_first, activation, masks",
    [
        (False, "relu", {}),
        (True, "gelu", {"src_key_padding_mask": PADDED}),
        (False, "relu", {"src_mask": CAUSAL}),
        (True, "gelu", {"src_mask": CAUSAL != 0, "src_key_padding_mask": PADDED}),
    ],
)
def test_an_encoder_layer_is_operators_of_its_own(norm_first, activation, masks):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, norm_first=norm_first, activation=activation)

    found, wanted, names = expanded(layer.eval(), torch.randn(2, 5, 16), **masks)

    torch.testing.assert_close(wanted, found)
    assert not WHOLE & set(names)
    assert 4 == names.count("linear")


def test_a_sequence_of_which_a_mask_keeps_nothing_has_no_numbers_as_in_torch():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval()

    found, wanted, _ = expanded(layer, torch.randn(2, 5, 16), src_key_padding_mask=NOTHING_LEFT)

    assert wanted[1].isnan().all()
    torch.testing.assert_close(wanted, found, equal_nan=True)


@pytest.mark.parametrize(
    "kind, options",
    [
        ({}, {}),
        ({}, {"need_weights": False, "key_padding_mask": PADDED}),
        ({}, {"average_attn_weights": False, "attn_mask": CAUSAL != 0, "key_padding_mask": PADDED}),
        ({}, {"need_weights": False, "attn_mask": CAUSAL}),
        ({}, {"need_weights": False, "attn_mask": CAUSAL, "is_causal": True}),
        ({}, {"attn_mask": CAUSAL, "is_causal": True, "key_padding_mask": PADDED}),
        ({}, {"need_weights": False, "attn_mask": CAUSAL, "key_padding_mask": torch.where(PADDED, -torch.inf, 0.0)}),
        ({"kdim": 8, "vdim": 12}, {"key_padding_mask": PADDED}),
        ({"kdim": 8, "vdim": 12, "bias": False}, {"need_weights": False}),
        ({"add_bias_kv": True}, {"attn_mask": CAUSAL != 0, "key_padding_mask": PADDED}),
        ({"add_zero_attn": True}, {"need_weights": False, "attn_mask": CAUSAL}),
        ({"add_bias_kv": True, "add_zero_attn": True, "kdim": 8}, {"need_weights": False, "key_padding_mask": PADDED}),
    ],
)
def test_multi_head_attention_is_operators_of_its_own(kind, options):
    torch.manual_seed(0)
    attention = nn.MultiheadAttention(16, 2, batch_first=True, **kind).eval()
    x, y = torch.randn(2, 5, 16), torch.randn(2, 5, 16)
    calls = [(x, y[..., : attention.kdim], x[..., : attention.vdim])]
    for given in calls if attention.kdim != 16 else [(x, x, x), (x, y, y), *calls]:
        found, wanted, names = expanded(attention, *given, **options)

        torch.testing.assert_close(wanted, found)
        assert not WHOLE & set(names)


@pytest.mark.parametrize(
    "options", [{}, {"need_weights": False, "attn_mask": CAUSAL != 0, "key_padding_mask": PADDED[1]}]
)
def test_one_sequence_may_have_no_dim_of_its_own(options):
    torch.manual_seed(0)
    attention, x = nn.MultiheadAttention(16, 2).eval(), torch.randn(5, 16)

    found, wanted, names = expanded(attention, x, x, x, **options)

    torch.testing.assert_close(wanted, found)
    assert not WHOLE & set(names)


@pytest.mark.parametrize("need_weights", [True, False])
def test_attention_of_which_a_mask_keeps_nothing_is_that_of_torch(need_weights, monkeypatch):
    monkeypatch.setattr(torch.backends.mha, "_is_fastpath_enabled", False)  # not the function that a graph has
    torch.manual_seed(0)
    attention, x = nn.MultiheadAttention(16, 2, batch_first=True).eval(), torch.randn(2, 5, 16)

    found, wanted, _ = expanded(attention, x, x, x, need_weights=need_weights, key_padding_mask=NOTHING_LEFT)

    torch.testing.assert_close(wanted, found, equal_nan=True)


def test_sizes_may_be_symbolic():
    attention = nn.MultiheadAttention(16, 2, batch_first=True, bias=False).eval()
    x = torch.randn(3, 7, 16)

    found, wanted, names = expanded(attention, x, x, x, dynamic=True, attn_mask=torch.randn(6, 7, 7))

    torch.testing.assert_close(wanted, found)
    assert not WHOLE & set(names)


def test_attention_that_draws_random_numbers_stays_one_operator():
    x = torch.randn(2, 5, 16)

    assert WHOLE & set(expanded(nn.MultiheadAttention(16, 2, dropout=0.5).train(), x, x, x)[2])


@pytest.mark.parametrize("sizes, bias", [((3,), True), ((), False)])
@pytest.mark.parametrize("kind", [nn.LSTMCell, nn.GRUCell])
def test_a_recurrent_cell_is_operators_of_its_own(kind, sizes, bias):
    torch.manual_seed(0)
    cell = kind(4, 6, bias=bias)
    x, *state = torch.randn(*sizes, 4), torch.randn(*sizes, 6), torch.randn(*sizes, 6)

    found, wanted, names = expanded(cell, x, tuple(state) if kind is nn.LSTMCell else state[0])

    torch.testing.assert_close(wanted, found)
    assert {"lstm_cell", "gru_cell"}.isdisjoint(names)


@pytest.mark.parametrize("need_weights", [True, False])
def test_under_autocast_the_parts_of_a_layer_cast_as_the_layer_does(need_weights):
    torch.manual_seed(0)
    attention, x = nn.MultiheadAttention(16, 2, batch_first=True).eval(), torch.randn(2, 5, 16)

    def code(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return attention(x, x, x, key_padding_mask=PADDED, attn_mask=CAUSAL != 0, need_weights=need_weights)[0]

    found, wanted, names = expanded(code, x)

    torch.testing.assert_close(wanted, found, rtol=0.02, atol=0.02)
    assert not WHOLE & set(names)


RECURRENT = {"lstm", "gru", "rnn_tanh", "rnn_relu"}


@pytest.fixture
def allow_rnn():
    with torch._dynamo.config.patch(allow_rnn=True):
        yield


@pytest.mark.usefixtures("allow_rnn")
@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN, partial(nn.RNN, nonlinearity="relu")])
@pytest.mark.parametrize(
    "options", [{}, {"num_layers": 2, "bidirectional": True}, {"batch_first": True, "bias": False}]
)
@pytest.mark.parametrize("is_batch", [False, True])
def test_a_recurrent_layer_of_few_steps_is_a_cell_per_step(kind, options, is_batch):
    torch.manual_seed(0)
    layer, x = kind(5, 6, **options).eval(), torch.randn(*(3, 2)[: 1 + is_batch], 5)

    found, wanted, names = expanded(layer, x)

    torch.testing.assert_close(wanted, found)
    assert RECURRENT.isdisjoint(names)


@pytest.mark.usefixtures("allow_rnn")
@pytest.mark.parametrize(
    "layer, steps",
    [
        (nn.LSTM(5, 6), 17),
        (nn.LSTM(5, 6, proj_size=3), 3),
        (nn.GRU(5, 6, num_layers=2, dropout=0.5), 3),
    ],
)
def test_other_recurrent_layers_stay_one_operator(layer, steps):
    torch.manual_seed(0)
    x = torch.randn(steps, 2, 5)

    found, wanted, names = expanded(layer.train(bool(layer.dropout)), x)

    if not layer.dropout:
        torch.testing.assert_close(wanted, found)
    assert not RECURRENT.isdisjoint(names)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize(
    "options", [{}, {"ignore_index": 2}, {"ignore_index": 9}, {"label_smoothing": 0.1, "ignore_index": 0}]
)
@pytest.mark.parametrize("shape", [(6,), (8, 6), (3, 6, 4), (2, 6, 3, 2)])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_losses_of_classes_leave_out_the_class_that_is_ignored(reduction, options, shape, is_weighted):
    torch.manual_seed(0)
    scores, ignored = torch.randn(shape), options.get("ignore_index", -100)
    target = torch.randint(0, 6, (*shape[:1], *shape[2:]) if len(shape) > 1 else ())
    target = torch.where(torch.rand(target.shape) < 0.4, ignored, target)
    weight = torch.rand(6) + 0.1 if is_weighted else None

    def code(scores, target):
        likely = scores.log_softmax(1 if scores.dim() > 1 else 0)
        found = nn.functional.nll_loss(likely, target, weight, ignore_index=ignored, reduction=reduction)
        return found, nn.functional.cross_entropy(scores, target, weight, reduction=reduction, **options)

    found, wanted, names = expanded(code, scores, target)

    torch.testing.assert_close(wanted, found, equal_nan=True)
    assert "cross_entropy" not in names


def test_a_loss_of_probabilities_stays_one_operator():
    scores, target = torch.randn(3, 5), torch.rand(3, 5)

    found, wanted, names = expanded(nn.functional.cross_entropy, scores, target)

    torch.testing.assert_close(wanted, found)
    assert "cross_entropy" in names


@pytest.mark.parametrize("kind", [nn.LSTMCell, nn.GRUCell])
def test_under_autocast_the_parts_of_a_cell_cast_as_the_cell_does(kind):
    torch.manual_seed(0)
    cell, (x, *state) = kind(4, 6).eval(), (torch.randn(3, n) for n in (4, 6, 6))

    def code(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return cell(x, tuple(state) if kind is nn.LSTMCell else state[0])

    found, wanted, names = expanded(code, x)

    torch.testing.assert_close(wanted, found)
    assert {"lstm_cell", "gru_cell"}.isdisjoint(names)


def test_a_layer_whose_parts_have_another_dtype_stays_one_operator(monkeypatch):
    monkeypatch.setitem(torch_layers._FORMS, "gru_cell", lambda x, before, *weights: before.double() * 2.0)
    cell, x, before = nn.GRUCell(4, 6).eval(), torch.randn(3, 4), torch.randn(3, 6)

    found, wanted, names = expanded(cell, x, before)

    torch.testing.assert_close(wanted, found)
    assert "gru_cell" in names and "double" not in names
