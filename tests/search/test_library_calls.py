"""Programs that one call of torch computes, the call being found by proof; and their near misses, which have none."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch

import prism_explore as px
from prism_explore.events.fastest import EAGER, LIBRARY
from prism_explore.events.kinds import RivalTimed
from prism_explore.frontend import trace
from prism_explore.frontend.library_calls import CALLS
from prism_explore.ir.tensors import TensorType
from prism_explore.search import explore, library_calls
from prism_explore.search.library_calls import Library, find_library_call
from prism_explore.tune.runner.torch_code import on_program_inputs
from tests.session.test_session import machine

T = px.T
Q96 = {"q": T("b", 4, "s", 96), "k": T("b", 4, "t", 96), "v": T("b", 4, "t", 80)}
SQUARE = {name: T("b", 2, 16, 8) for name in "qkv"}
GROUPED = {"q": T("b", 4, 6, 8), "k": T("b", 2, 10, 8), "v": T("b", 2, 10, 8)}


def spelled(q: Any, k: Any, v: Any) -> Any:
    return torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(96), -1) @ v


def unsafe(q: Any, k: Any, v: Any) -> Any:
    e = torch.exp(q @ k)
    return (e / e.sum(-1, keepdim=True)) @ v


def other_order(v: Any, k: Any, q: Any) -> Any:
    return torch.softmax(q @ k.transpose(-1, -2), -1) @ v


def causal(q: Any, k: Any, v: Any) -> Any:
    scores = q @ k.transpose(-1, -2) * 0.3
    seen = torch.ones(scores.shape[-2:]).tril().bool()
    return torch.softmax(scores.masked_fill(~seen, float("-inf")), -1) @ v


def grouped(q: Any, k: Any, v: Any) -> Any:
    b, h, s, d = q.shape
    scores = q.reshape(b, 2, h // 2 * s, d) @ k.transpose(-1, -2) * 0.25
    return (torch.softmax(scores, -1) @ v).reshape(b, h, s, d)


def rms(x: Any, g: Any) -> Any:
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * g


def layer(x: Any, g: Any, h: Any) -> Any:
    off = x - x.mean(-1, keepdim=True)
    return off / torch.sqrt((off**2).mean(-1, keepdim=True) + 1e-5) * g + h


def exps(x: Any) -> Any:
    e = torch.exp(x)
    return e / e.sum(-1, keepdim=True)


def linear(x: Any, w: Any, b: Any) -> Any:
    return x @ w.T + b


def product(x: Any, w: Any, b: Any) -> Any:
    return b + x @ w


ROW, WEIGHT = T("b", 64), T(64)
FOUND: Mapping[str, tuple[Callable[..., Any], Mapping[str, TensorType], str]] = {
    "a root that is no float": (spelled, Q96, "scaled_dot_product_attention(q, k, v), scale 0.102062"),
    "no maximum, no scale, keys as columns": (
        unsafe,
        {"q": T("b", "s", 8), "k": T("b", 8, "t"), "v": T("b", "t", 8)},
        "scaled_dot_product_attention(q, kᵀ, v), scale 1",
    ),
    "arguments in another order": (other_order, SQUARE, "scaled_dot_product_attention(q, k, v), scale 1"),
    "a causal mask": (causal, SQUARE, "scaled_dot_product_attention(q, k, v, is_causal=True), scale 0.3"),
    "grouped heads": (grouped, GROUPED, "scaled_dot_product_attention(q, k, v, enable_gqa=True), scale 0.25"),
    "softmax": (exps, {"x": ROW}, "softmax(x, -1)"),
    "RMSNorm": (rms, {"x": ROW, "g": WEIGHT}, "rms_norm(x, d, g, eps), eps 1e-06"),
    "LayerNorm": (layer, {"x": ROW, "g": WEIGHT, "h": WEIGHT}, "layer_norm(x, d, g, h, eps), eps 1e-05"),
    "a bias, the weight in rows": (linear, {"x": ROW, "w": T(32, 64), "b": T(32)}, "linear(x, w, b)"),
    "a bias, the weight in columns": (product, {"x": ROW, "w": T(64, 32), "b": T(32)}, "addmm(b, x, w)"),
    "a bias of its own for each row": (product, {"x": ROW, "w": T(64, 32), "b": T("b", 32)}, "addmm(b, x, w)"),
}


@pytest.mark.parametrize("case", FOUND)
def test_a_program_that_is_one_call_finds_it_and_the_call_gives_its_value(case: str) -> None:
    code, inputs, says = FOUND[case]
    traced = trace(code, inputs)
    found = find_library_call(traced)
    assert found is not None
    assert says == found.call_text

    given = [tensor(inputs[name], {"b": 3, "s": 5, "t": 7}) for name in traced.arguments]
    wanted = code(*given)
    torch.testing.assert_close(wanted, found.traced.reference(*given))
    torch.testing.assert_close(wanted, on_program_inputs(found.traced)(*traced.bind(*given)))


def tensor(of: TensorType, sizes: Mapping[str, int]) -> torch.Tensor:
    return torch.randn([d.value(sizes) for d in of.dims], generator=torch.Generator().manual_seed(of.rank))


def test_every_row_of_the_table_is_found_by_a_program() -> None:
    heads = {"q": T("b", 4, 16, 8), "k": T("b", 2, 16, 8), "v": T("b", 2, 16, 8)}
    last = find_library_call(trace(masked_groups, heads))
    assert last is not None

    said = [last.call_text, *(says for *_, says in FOUND.values())]
    for call in CALLS:
        assert any(f"{one}, ".startswith(f"{call.torch}, ") for one in said), call.torch


def masked_groups(q: Any, k: Any, v: Any) -> Any:
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)


def later(q: Any, k: Any, v: Any) -> Any:
    scores = q @ k.transpose(-1, -2) * 0.3
    seen = torch.ones(scores.shape[-2:]).triu().bool()
    return torch.softmax(scores.masked_fill(~seen, float("-inf")), -1) @ v


def twice(q: Any, k: Any, v: Any) -> Any:
    return torch.softmax(q @ k.transpose(-1, -2) * 0.3, -1) @ (v + v)


def sums(x: Any, g: Any) -> Any:
    return x * torch.rsqrt(x.pow(2).sum(-1, keepdim=True) + 1e-6) * g


def outside(x: Any, g: Any) -> Any:
    return x / (torch.sqrt(x.pow(2).mean(-1, keepdim=True)) + 1e-6) * g


def columns(x: Any) -> Any:
    return torch.softmax(x, 0)


MISSED: Mapping[str, tuple[Callable[..., Any], Mapping[str, TensorType]]] = {
    "a mask that looks the other way": (later, SQUARE),
    "twice the values": (twice, SQUARE),
    "a sum in the place of a mean": (sums, {"x": ROW, "g": WEIGHT}),
    "eps outside of the root": (outside, {"x": ROW, "g": WEIGHT}),
    "another axis": (columns, {"x": T(16, 16)}),
    "one tensor in two orders": (lambda x: torch.softmax(x @ x.T, -1), {"x": T(16, 16)}),
}


@pytest.mark.parametrize("case", MISSED)
def test_what_is_nearly_a_call_is_none(case: str) -> None:
    assert find_library_call(trace(*MISSED[case])) is None


class Norm(torch.nn.Module):
    """As models have it: the weight is the module's own."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(64))

    def forward(self, x: Any) -> Any:
        return rms(x, self.weight)


def test_a_module_s_own_tensors_are_read_from_it_whenever_it_is_called() -> None:
    module = Norm()
    found = find_library_call(trace(module, {"x": ROW}))
    assert found is not None
    x = torch.randn(3, 64)
    with torch.no_grad():
        module.weight.mul_(2)

    torch.testing.assert_close(module(x), found.traced.reference(x))
    other = torch.randn(64)
    torch.testing.assert_close(rms(x, other), on_program_inputs(found.traced)(x, other))
    found.traced.reference(x).sum().backward()
    assert module.weight.grad is not None


def test_a_session_looks_for_one_unless_one_is_given_or_it_is_no_rival() -> None:
    def own(q: Any, k: Any, v: Any) -> Any:
        return spelled(q, k, v)

    def also(**more: Any) -> Any:
        return px.Session(spelled, inputs=Q96, at={"b": 1, "s": 1, "t": 64}, target=machine(), **more).task.library.call

    found, given = also(), also(library=own)
    assert found.call_text.startswith("scaled_dot_product_attention")
    assert ("", own) == (given.call_text, given.traced.reference)
    assert also(baselines=(EAGER,)) is None
    assert also(baselines=(LIBRARY,)).call_text == found.call_text


def test_a_call_is_looked_for_once_and_when_a_race_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    raced: list[Any] = []

    def rows(*_: Any, library: Any, **__: Any) -> tuple[RivalTimed, ...]:
        raced.append(library)
        return (RivalTimed(EAGER, 1.0, 1.0, 1.0, 24),)

    monkeypatch.setattr(
        library_calls, "find_library_call", lambda traced: asked.append(traced) or find_library_call(traced)
    )
    monkeypatch.setattr(explore, "time_baselines", rows)
    how: dict[str, Any] = {"inputs": Q96, "at": {"b": 1, "s": 1, "t": 64}}
    never = px.Session(spelled, target="h100", **how)
    never.run()
    sess = px.Session(spelled, target=machine(), time_to_beat_s="baselines", **how)

    assert [] == asked
    sess.run(until=lambda s: bool(raced))
    sess.close()
    assert [sess.traced] == asked
    assert [sess.task.library.call] == raced
    assert raced[0].call_text.startswith("scaled_dot_product_attention")
    assert 1 == len(asked)


def test_a_call_is_found_again_only_where_it_is_the_one_that_was_raced() -> None:
    traced = trace(spelled, Q96)
    found = Library(traced=traced).call
    assert found is not None

    again = Library(traced=traced, saved_texts=frozenset({found.call_text})).call
    assert again is not None and again.call_text == found.call_text
    assert Library(traced=traced, saved_texts=frozenset({""})).call is None


def test_a_saved_search_finds_its_call_again(tmp_path: Any) -> None:
    sess = px.Session(spelled, inputs=Q96, at={"b": 1, "s": 1, "t": 64}, target="h100")
    loaded = px.Session.load(sess.save(tmp_path / "run.prism"), spelled, inputs=Q96)

    assert sess.task.library.call is not None and loaded.task.library.call is not None
    assert sess.task.library.call.call_text == loaded.task.library.call.call_text
