# pyright: basic
# Graphs of torch are untyped.
"""Layers that torch computes as one operator, as the operators that they are made of.

`nn.TransformerEncoderLayer` is one operator where no gradient is recorded, and torch.compile keeps the function of
`nn.MultiheadAttention` whole; `nn.LSTMCell` and `nn.GRUCell` are one operator each. Regions can contain none of them:
one kernel does not hold all of it.

`nn.LSTM`, `nn.GRU` and `nn.RNN`, which torch.compile takes with `torch._dynamo.config.allow_rnn`, are a cell per step
where they have few steps.

The losses of classes compare the targets with the one that is ignored. No region computes integers or masks, so torch
does that before, and a region reads a mask and targets that are classes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from inspect import signature
from math import inf, sqrt
from typing import Any

from prism_explore.entry.torch_autocast import autocast_to, under_autocast
from prism_explore.entry.torch_nodes import called_name, example_of, value_of
from prism_explore.entry.torch_windows import WINDOWS, is_of_windows
from prism_explore.frontend.decompose import RECURRENCES, UNROLLED_STEPS

LAYER = "prism_layer"
"""The key of a node's `meta` with the name of the operator that it is a part of."""


def expand_layers(graph: Any, *, windows: bool = True) -> None:
    """Replace these operators in place; the graph computes the same.

    Args:
        graph: torch's, with an example value at each node.
        windows: whether windows that overlap are replaced, too. Where no kernel computes what they are made of, that is
            slower in torch than the operator, so the whole graph has to be raced beside torch.
    """
    from torch.fx.proxy import GraphAppendingTracer, Proxy

    tracer = GraphAppendingTracer(graph)
    mode = next((x.fake_mode for x in map(value_of, graph.nodes) if hasattr(x, "fake_mode")), None)
    casting = dict(under_autocast(graph))
    for node in list(graph.nodes):
        expand = _FORMS.get(called_name(node)) if node.op == "call_function" else None
        if not windows and called_name(node) in WINDOWS:
            continue
        if expand is None or not _is_taken(node, signature(expand).bind(*node.args, **node.kwargs).arguments):
            continue
        before = set(graph.nodes)
        with graph.inserting_before(node):
            args, kwargs = _mapped((node.args, node.kwargs), lambda n: Proxy(n, tracer))
            found = expand(*args, **kwargs)
        new = [n for n in graph.nodes if n not in before]
        with mode or nullcontext(), autocast_to(casting.get(node)):
            for made in new:
                made.meta |= {"example_value": example_of(made), LAYER: called_name(node)}
        is_tuple = isinstance(found, tuple)
        replaced = {user: found[user.args[1]].node for user in node.users} if is_tuple else {node: found.node}
        if any(_lies_otherwise(value_of(old), value_of(made)) for old, made in replaced.items()):
            replaced = {}
        for old, made in replaced.items():
            old.replace_all_uses_with(made)
        for left in (*replaced, *([node] if replaced and is_tuple else []), *reversed(new if not replaced else [])):
            graph.erase_node(left)


def _lies_otherwise(whole: Any, made: Any) -> bool:
    """Whether a result of a layer and of its parts differ in dtype or in memory, on which views of it depend.

    Autocast casts the operands of a layer, and not those of its parts.
    """
    ways = zip(whole.shape, whole.stride(), made.stride(), strict=True)
    return whole.dtype != made.dtype or any(n != 1 and own != found for n, own, found in ways)


def _mapped(args: Any, function: Callable[[Any], Any]) -> Any:
    from torch.fx.node import map_arg

    return map_arg(args, function)


def _is_taken(node: Any, given: Mapping[str, Any]) -> bool:
    """Whether a layer has none of the rare options, and only results that are tensors are read."""
    if called_name(node) in ("cross_entropy", "nll_loss"):
        scores, target = value_of(given["input"]), value_of(given["target"])
        is_class = not target.is_floating_point() and isinstance(scores.shape[_along(scores)], int)
        return is_class and given.get("size_average") is None and given.get("reduce") is None
    if called_name(node) in WINDOWS:
        return is_of_windows(node, given)
    if called_name(node) == "gru_cell":
        return True
    if called_name(node) == "lstm_cell" or called_name(node) in RECURRENCES:
        is_taken = called_name(node) == "lstm_cell" or _can_unroll(given)
        return is_taken and all(called_name(user) == "getitem" for user in node.users)
    if called_name(node) == "_transformer_encoder_layer_fwd":
        return not getattr(value_of(given["x"]), "is_nested", False)
    draws = given.get("training", True) and given["dropout_p"]
    is_static = given.get("static_k") is not None or given.get("static_v") is not None
    read = {user.args[1] if called_name(user) == "getitem" else None for user in node.users}
    known = {0, 1} if given.get("need_weights", True) else {0}
    return not draws and not is_static and read <= known


def _attended(q: Any, k: Any, v: Any, head_dim: int, masked: Callable[[Any], Any]) -> tuple[Any, Any]:
    """Values and weights of attention; `masked` excludes scores."""
    scores = masked((q * (1.0 / sqrt(head_dim))) @ k.transpose(-2, -1))
    weights = scores.softmax(-1)
    return weights @ v, weights


def _encoder_layer(
    x: Any,
    width: int,
    heads: int,
    in_weight: Any,
    in_bias: Any,
    out_weight: Any,
    out_bias: Any,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    *weights: Any,
) -> Any:
    """`torch._transformer_encoder_layer_fwd`: what a mask has that is not zero is excluded."""
    import torch.nn.functional as F

    first, second, (up, up_bias, down, down_bias) = weights[:2], weights[2:4], weights[4:8]
    mask, mask_type = (*weights[8:], None, None)[:2]

    def norm(given: Any, scale: tuple[Any, ...]) -> Any:
        return F.layer_norm(given, (width,), scale[0], scale[1], eps)

    def attention(given: Any) -> Any:
        parts = F.linear(given, in_weight, in_bias).split(width, 2)
        q, k, v = (parts[n].unflatten(2, (heads, width // heads)).transpose(1, 2) for n in range(3))
        if mask is None:
            found = F.scaled_dot_product_attention(q, k, v)
        else:
            excluded = mask != 0
            if mask_type == 1:  # per sequence and position
                excluded = excluded.unsqueeze(1).unsqueeze(1)
            found, _ = _attended(q, k, v, width // heads, lambda scores: scores.masked_fill(excluded, -inf))
        return F.linear(found.transpose(1, 2).flatten(2), out_weight, out_bias)

    def feed_forward(given: Any) -> Any:
        inner = F.linear(given, up, up_bias)
        return F.linear(F.gelu(inner) if use_gelu else F.relu(inner), down, down_bias)

    if norm_first:
        x = attention(norm(x, first)) + x
        return feed_forward(norm(x, second)) + x
    x = norm(attention(x) + x, first)
    return norm(feed_forward(x) + x, second)


def _multi_head_attention(
    query: Any,
    key: Any,
    value: Any,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Any,
    in_proj_bias: Any,
    bias_k: Any,
    bias_v: Any,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Any,
    out_proj_bias: Any,
    training: bool = True,
    key_padding_mask: Any = None,
    need_weights: bool = True,
    attn_mask: Any = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Any = None,
    k_proj_weight: Any = None,
    v_proj_weight: Any = None,
    static_k: None = None,
    static_v: None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Any, ...]:
    """`torch.nn.functional.multi_head_attention_forward`: positions, sequences (where there are several), width."""
    import torch
    import torch.nn.functional as F

    width, head_dim = embed_dim_to_check, embed_dim_to_check // num_heads
    is_self = query.node is key.node is value.node
    is_batch = len(value_of(query.node).shape) == 3
    query, key, value = (x if is_batch else x.unsqueeze(1) for x in (query, key, value))
    if use_separate_proj_weight:
        weights = (q_proj_weight, k_proj_weight, v_proj_weight)
    else:
        weights = tuple(in_proj_weight[n * width : (n + 1) * width] for n in range(3) if not is_self)
    if weights:
        given = zip((query, key, value), weights, range(3), strict=True)
        q, k, v = (
            F.linear(x, weight, None if in_proj_bias is None else in_proj_bias[n * width : (n + 1) * width])
            for x, weight, n in given
        )
    else:
        parts = F.linear(query, in_proj_weight, in_proj_bias).split(width, 2)
        q, k, v = (parts[n] for n in range(3))

    is_hint = is_causal and key_padding_mask is None and not need_weights

    def is_bool(mask: Any) -> bool:
        return value_of(mask.node).dtype == torch.bool

    masks = list[tuple[Any, bool]]()
    if key_padding_mask is not None:
        mask = key_padding_mask if is_batch else key_padding_mask.unsqueeze(0)
        masks.append((mask.unsqueeze(1).unsqueeze(1), is_bool(key_padding_mask)))
    if attn_mask is not None and not is_hint:
        is_per_head = len(value_of(attn_mask.node).shape) == 3
        mask = attn_mask.unflatten(0, (-1, num_heads)) if is_per_head else attn_mask
        masks.append((mask, is_bool(attn_mask)))
    if bias_k is not None:
        k, v = (torch.cat([x, bias.expand_as(x[:1])]) for x, bias in ((k, bias_k), (v, bias_v)))
        masks = [(F.pad(mask, (0, 1)), kind) for mask, kind in masks]
    q, k, v = (x.unflatten(2, (num_heads, head_dim)).permute(1, 2, 0, 3) for x in (q, k, v))
    if add_zero_attn:
        k, v = (F.pad(x, (0, 0, 0, 1)) for x in (k, v))
        masks = [(F.pad(mask, (0, 1)), kind) for mask, kind in masks]
    excluded, added = _merged(masks)
    if need_weights:

        def masked(scores: Any) -> Any:
            scores = scores if added is None else scores + added.type_as(scores)
            return scores if excluded is None else scores.masked_fill(excluded, -inf)

        found, weights = _attended(q, k, v, head_dim, masked)
        weights = weights.mean(1) if average_attn_weights else weights
        seen = (weights if is_batch else weights.squeeze(0),)
    else:
        mask = added if excluded is None else ~excluded if added is None else added.masked_fill(excluded, -inf)
        found, seen = F.scaled_dot_product_attention(q, k, v, mask, 0.0, is_hint), ()
    result = F.linear(found.permute(2, 0, 1, 3).flatten(2), out_proj_weight, out_proj_bias)
    return result if is_batch else result.squeeze(1), *seen


def _merged(masks: Sequence[tuple[Any, bool]]) -> tuple[Any, Any]:
    """Masks of scores, each with whether it is of bool, as one of bool and one that is added to scores; or None."""
    excluded = added = None
    for mask, is_bool in masks:
        if is_bool:
            excluded = mask if excluded is None else excluded | mask
        else:
            added = mask if added is None else added + mask
    return excluded, added


def _lstm_cell(
    x: Any, hidden: Any, weight: Any, hidden_weight: Any, bias: Any = None, hidden_bias: Any = None
) -> tuple[Any, Any]:
    """`torch.lstm_cell`."""
    import torch.nn.functional as F

    return _lstm_step(F.linear(x, weight, bias), F.linear(hidden[0], hidden_weight, hidden_bias), hidden)


def _lstm_step(given: Any, kept: Any, hidden: Sequence[Any]) -> tuple[Any, Any]:
    """The gates are, in this order, input, forget, cell and output."""
    gates = (given + kept).chunk(4, -1)
    taken, forgotten, cell, shown = (gates[n] for n in range(4))
    state = forgotten.sigmoid() * hidden[1] + taken.sigmoid() * cell.tanh()
    return shown.sigmoid() * state.tanh(), state


def _gru_cell(x: Any, before: Any, weight: Any, hidden_weight: Any, bias: Any = None, hidden_bias: Any = None) -> Any:
    """`torch.gru_cell`."""
    import torch.nn.functional as F

    return _gru_step(F.linear(x, weight, bias), F.linear(before, hidden_weight, hidden_bias), (before,))[0]


def _gru_step(given: Any, kept: Any, hidden: Sequence[Any]) -> tuple[Any]:
    """The gates are, in this order, reset, update and new."""
    given, kept = given.chunk(3, -1), kept.chunk(3, -1)
    reset, update = ((given[n] + kept[n]).sigmoid() for n in (0, 1))
    new = (given[2] + reset * kept[2]).tanh()
    return ((hidden[0] - new) * update + new,)


def _tanh_step(given: Any, kept: Any, hidden: Sequence[Any]) -> tuple[Any]:
    return ((given + kept).tanh(),)


def _relu_step(given: Any, kept: Any, hidden: Sequence[Any]) -> tuple[Any]:
    return ((given + kept).relu(),)


def _steps(
    input: Any,
    hx: Any,
    params: Sequence[Any],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
    *,
    step: Callable[[Any, Any, Sequence[Any]], tuple[Any, ...]],
) -> tuple[Any, ...]:
    """`torch.lstm`, `torch.gru`, `torch.rnn_tanh` and `torch.rnn_relu`: (steps, batch, width), and the last states."""
    import torch
    import torch.nn.functional as F

    count = value_of(input.node).shape[1 if batch_first else 0]
    first = hx if isinstance(hx, tuple | list) else (hx,)
    per_layer, directions = 4 if has_biases else 2, (False, True) if bidirectional else (False,)
    x, last = (input.transpose(0, 1) if batch_first else input), list[tuple[Any, ...]]()
    for _ in range(num_layers):
        ways = list[Any]()
        for is_backwards in directions:
            own = params[len(last) * per_layer :][:per_layer]
            bias, hidden_bias = own[2:] or (None, None)
            given, hidden, found = F.linear(x, own[0], bias), tuple(h[len(last)] for h in first), list[Any]()
            for n in reversed(range(count)) if is_backwards else range(count):
                hidden = step(given[n], F.linear(hidden[0], own[1], hidden_bias), hidden)
                found.append(hidden[0])
            ways.append(torch.stack(found[::-1] if is_backwards else found))
            last.append(hidden)
        x = torch.cat(ways, -1) if bidirectional else ways[0]
    states = (torch.stack(list(of_layers)) for of_layers in zip(*last, strict=True))
    return (x.transpose(0, 1) if batch_first else x, *states)


def _can_unroll(given: Mapping[str, Any]) -> bool:
    """Whether a recurrent layer has few steps, and neither packed sequences nor projections nor dropout."""
    if not isinstance(given["has_biases"], bool):
        return False  # the lengths of packed sequences are an argument before
    of_all = given["num_layers"] * (2 if given["bidirectional"] else 1)
    steps = value_of(given["input"]).shape[1 if given["batch_first"] else 0]
    is_plain = len(given["params"]) == of_all * (4 if given["has_biases"] else 2)
    draws = given["train"] and given["dropout"]
    return is_plain and not draws and isinstance(steps, int) and 0 < steps * of_all <= UNROLLED_STEPS


def _along(scores: Any) -> int:
    """The dim of the classes."""
    return min(1, len(scores.shape) - 1)


def _cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: None = None,
    ignore_index: int = -100,
    reduce: None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """`torch.nn.functional.cross_entropy` of classes; smoothing mixes in the mean over the classes."""
    given, along = value_of(input.node), _along(value_of(input.node))
    scores = input.log_softmax(along)
    loss = _nll_loss(scores, target, weight, None, ignore_index, None, reduction)
    if not label_smoothing:
        return loss
    every = scores if weight is None else scores * weight.reshape(-1, *[1] * (len(given.shape) - along - 1))
    rest = _reduced(-every.sum(along), target, weight, ignore_index, reduction)
    return (1 - label_smoothing) * loss + label_smoothing / given.shape[along] * rest


def _nll_loss(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: None = None,
    ignore_index: int = -100,
    reduce: None = None,
    reduction: str = "mean",
) -> Any:
    """`torch.nn.functional.nll_loss`."""
    import torch

    classes = torch.where(target.ne(ignore_index), target, 0)
    losses = torch.nn.functional.nll_loss(input, classes, weight, reduction="none")
    return _reduced(losses, target, weight, ignore_index, reduction)


def _reduced(losses: Any, target: Any, weight: Any, ignore_index: int, reduction: str) -> Any:
    """Losses of targets, zero where the target is ignored; their sum, or their mean by the weights of the targets."""
    import torch

    kept = target.ne(ignore_index)
    found = torch.where(kept, losses, 0.0)
    if reduction == "none":
        return found
    if reduction == "sum":
        return found.sum()
    count = torch.where(kept, 1.0 if weight is None else weight[torch.where(kept, target, 0)], 0.0)
    return (found.sum() / count.sum()).type_as(losses)


_FORMS: Mapping[str, Callable[..., Any]] = {
    "_transformer_encoder_layer_fwd": _encoder_layer,
    "multi_head_attention_forward": _multi_head_attention,
    "lstm_cell": _lstm_cell,
    "gru_cell": _gru_cell,
    "lstm": partial(_steps, step=_lstm_step),
    "gru": partial(_steps, step=_gru_step),
    "rnn_tanh": partial(_steps, step=_tanh_step),
    "rnn_relu": partial(_steps, step=_relu_step),
    **WINDOWS,
    "cross_entropy": _cross_entropy,
    "nll_loss": _nll_loss,
}
