# pyright: basic
# torch's graphs are untyped throughout.
"""Elements that a bool mask selects, read from the whole tensor: `x[mask].mean()`, `x[mask] *= c`.

The number of selected elements depends on data, so `x[mask]` has no shape that is known before a call. What code does
with it often has one: a sum, a mean, the number of elements, or a write to the same positions. Elementwise operators
and those of other dims compute as much for each selected element as for all of them. So

    x[mask]               x, in the place of which the mask selects
    f(x[mask], y[mask])   f(x, y)
    x[mask].sum()         where(mask, x, 0).sum()
    x[mask].mean()        where(mask, x, 0).sum() / mask.sum()
    x[mask] = y[mask]     where(mask, y, x)

An element that the mask leaves out may be anything, also no number. A use that has no such form leaves the selection as
it is.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from prism_explore.frontend.lower_aten import GUARDS, operator_name
from prism_explore.frontend.opaque import named_arguments

_OF_DIMS = frozenset(
    {
        "sum",
        "mean",
        "amax",
        "amin",
        "prod",
        "var",
        "std",
        "logsumexp",
        "linalg_vector_norm",
        "softmax",
        "log_softmax",
        "select",
        "slice",
    }
)
"""Operators of some dims, which compute the same at each position of the others."""
_OF_LAST_DIMS: Mapping[str, Callable[[Mapping[str, Any]], int]] = {
    "linear": lambda _: 1,
    "matmul": lambda named: 1 if _rank(named["other"]) <= 2 else _rank(named["other"]),
    "mm": lambda _: 1,
    "layer_norm": lambda named: len(named["normalized_shape"]),
    "rms_norm": lambda named: len(named["normalized_shape"]),
}
"""Operators of the last dims of their first argument, with how many these are."""
_LOSSES = frozenset(
    {
        "binary_cross_entropy",
        "binary_cross_entropy_with_logits",
        "huber_loss",
        "kl_div",
        "l1_loss",
        "mse_loss",
        "smooth_l1_loss",
        "soft_margin_loss",
    }
)
"""Operators that compute a number per element, and its sum or mean."""
_SAME = frozenset({"to", "type_as", "prims::convert_element_type"})
"""Elementwise operators without torch's tag for them."""


class _NoForm(Exception):
    """What reads a selection, and has no form over the whole tensor."""


@dataclass(frozen=True, slots=True)
class _Selected:
    """The elements of a tensor that a mask selects."""

    whole: Any
    """The node of all elements; the mask's dims stand in the place of the one dim of the selected ones."""
    mask: Any
    """A node."""
    along: int
    """The dim of the selected elements."""

    @property
    def added(self) -> int:
        """How many dims the whole tensor has more."""
        return _rank(self.mask) - 1

    @property
    def from_end(self) -> int:
        """The number of dims after those of the mask."""
        return _rank(self.whole) - self.along - _rank(self.mask)


def without_masked_selections(graph: Any) -> Any:
    """The graph with what it computes of selected elements computed from whole tensors, where it has that form.

    Args:
        graph: torch's, with an example value at each node; it is not changed.
    """
    if not any(map(_is_selection, graph.nodes)) or any(map(_is_write, graph.nodes)):
        return graph
    rewriting = _Rewriting(copy.deepcopy(graph))
    rewriting.run()
    return rewriting.graph


def _rank(node: Any) -> int:
    return node.meta["val"].dim()


def _is_write(node: Any) -> bool:
    return bool(getattr(getattr(node.target, "_schema", None), "is_mutable", False))


def _mask_of(node: Any) -> tuple[int, Any] | None:
    """The dim and the mask of `x[:, mask]`, also where it is written; None for other nodes."""
    if operator_name(node.target) not in ("index", "index_put"):
        return None
    given = [(d, index) for d, index in enumerate(node.args[1]) if index is not None]
    is_mask = len(given) == 1 and str(given[0][1].meta["val"].dtype) == "torch.bool" and _rank(given[0][1])
    return given[0] if is_mask else None


def _is_selection(node: Any) -> bool:
    name = operator_name(node.target)
    return name == "masked_select" or (name == "index" and _mask_of(node) is not None)


def _is_elementwise(node: Any) -> bool:
    import torch

    tags = getattr(node.target, "tags", ())
    return operator_name(node.target) in _SAME or torch.Tag.pointwise in tags


def _arguments(node: Any, named: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Arguments of a node's operator by position, and those that have a name only."""
    by_position = [a.name for a in node.target._schema.arguments if not a.kwarg_only]
    return [named[name] for name in by_position], {n: x for n, x in named.items() if n not in by_position}


class _Rewriting:
    """One pass over a graph."""

    def __init__(self, graph: Any) -> None:
        import torch

        self.graph = graph
        self.selected: dict[Any, _Selected] = {}
        self.sizes: dict[Any, Any] = {}
        """Numbers of selected elements, each with the mask."""
        self.losses: dict[Any, tuple[_Selected, int]] = {}
        """Losses of classes, per element, and the reduction of each."""
        self._keys: dict[Any, Any] = {}
        self._aten = torch.ops.aten

    def run(self) -> None:
        """Compute from whole tensors what can be."""
        for node in list(self.graph.nodes):
            if node.op != "call_function":
                continue
            with self.graph.inserting_before(node):
                try:
                    found = self._computed(node)
                except _NoForm:
                    continue
            if isinstance(found, _Selected):
                self.selected[node] = found
            elif found is not None:
                node.replace_all_uses_with(found)
        self._without_checks()
        self.graph.eliminate_dead_code()

    def _without_checks(self) -> None:
        """Erase the checks of the number of selected elements, unless something else reads a selection."""
        checks = [n for n in self.graph.nodes if operator_name(n.target) in GUARDS]
        read: set[Any] = set()
        of_selections = set(self.selected)
        for node in reversed(list(self.graph.nodes)):
            if node.op == "output" or (node in read and node not in checks):
                read.update(node.all_input_nodes)
        if not read.isdisjoint(self.selected):
            return
        for node in self.graph.nodes:
            if not of_selections.isdisjoint(node.all_input_nodes):
                of_selections.add(node)
        for node in reversed(checks):
            if node in of_selections:
                self.graph.erase_node(node)

    def _call(self, like: Any, target: Any, /, *args: Any, **kwargs: Any) -> Any:
        """A new node, with its example value."""
        import torch

        found = self.graph.call_function(target, args, kwargs)
        (mode,) = {n.meta["val"].fake_mode for n in found.all_input_nodes if hasattr(n.meta["val"], "fake_mode")}
        with mode:
            values, named = torch.fx.map_arg((args, kwargs), lambda n: n.meta["val"])
            found.meta = {**like.meta, "val": target(*values, **named)}
        return found

    # ------------------------------------------------------------ equal masks
    def _is_same(self, a: Any, b: Any) -> bool:
        """Whether two nodes compute the same."""
        return a is b or self._key(a) == self._key(b)

    def _key(self, x: Any) -> Any:
        if isinstance(x, list | tuple):
            return tuple(map(self._key, x))
        if not hasattr(x, "op"):
            return type(x), repr(x)
        if x not in self._keys:
            is_call = x.op == "call_function"
            self._keys[x] = (x.target, self._key(x.args), self._key(sorted(x.kwargs.items()))) if is_call else x
        return self._keys[x]

    # ------------------------------------------------------------ what a node is
    def _computed(self, node: Any) -> _Selected | Any | None:
        """The selection that a node is, or a node that computes it from whole tensors; None where neither is needed.

        Raises:
            _NoForm: it reads a selection in another way.
        """
        name = operator_name(node.target)
        if _is_selection(node):
            return self._selection(node)
        read = [n for n in node.all_input_nodes if n in self.selected]
        if name == "sym_size" and read and int(node.args[1]) == self.selected[read[0]].along:
            self.sizes[node] = self.selected[read[0]].mask
            return None
        if name == "getitem" and node.args[0] in self.losses:
            loss, reduction = self.losses[node.args[0]]
            return self._reduced(node, loss, reduction) if node.args[1] == 0 else None
        if _is_elementwise(node):
            self._read_sizes_as_numbers(node)
        if not read:
            return None
        if getattr(node.target, "_schema", None) is None or name in GUARDS:
            raise _NoForm
        named = named_arguments(node.target._schema, node.args, node.kwargs)
        if name == "index_put":
            return self._written(node, named)
        if _is_elementwise(node):
            return self._elementwise(node, node.target, node.args, node.kwargs)
        if name in _LOSSES:
            loss = self._elementwise(node, node.target, *_arguments(node, {**named, "reduction": 0}))
            return self._reduced(node, loss, int(named["reduction"]))
        if name == "nll_loss_forward":
            self.losses[node] = self._loss_of_classes(node, named), int(named["reduction"])
            return None
        if name == "cosine_similarity":
            return self._similarity(node, named)
        if read != [node.args[0]]:
            raise _NoForm
        return self._of_dims(node, self.selected[read[0]], named)

    def _selection(self, node: Any) -> _Selected:
        x, (along, mask) = node.args[0], _mask_of(node) or (0, node.args[1])
        sizes = x.meta["val"].shape[along : along + _rank(mask)]
        if tuple(sizes) != tuple(mask.meta["val"].shape) or not {x, mask}.isdisjoint(self.selected):
            raise _NoForm
        return _Selected(x, mask, along)

    def _read_sizes_as_numbers(self, node: Any) -> None:
        import torch

        if not self.sizes.keys().isdisjoint(node.all_input_nodes) and hasattr(node.meta["val"], "dtype"):
            number = {n: self._count(node, self.sizes[n]) for n in node.all_input_nodes if n in self.sizes}
            node.args = torch.fx.map_arg(node.args, lambda n: number.get(n, n))

    def _count(self, like: Any, mask: Any) -> Any:
        """The number of elements that a mask selects."""
        return self._call(like, self._aten.sum.default, mask)

    def _unsqueezed(self, node: Any, d: int, count: int) -> Any:
        for _ in range(count):
            node = self._call(node, self._aten.unsqueeze.default, node, d)
        return node

    def _elementwise(
        self, like: Any, target: Any, args: Sequence[Any], kwargs: Mapping[str, Any], *, gone: int = 0
    ) -> _Selected:
        """An elementwise operator of selections, and of tensors that are the same for all selected elements.

        `gone`: how many of the last dims it sums over.
        """
        import torch

        first, *others = (self.selected[n] for n in like.all_input_nodes if n in self.selected)
        if not all(self._is_same(o.mask, first.mask) and o.from_end == first.from_end for o in others):
            raise _NoForm

        def whole(n: Any) -> Any:
            if n in self.selected:
                return self.selected[n].whole
            value = n.meta["val"]
            if not hasattr(value, "dim") or value.dim() <= first.from_end:
                return n
            at = value.dim() - first.from_end - 1
            if not isinstance(value.shape[at], int) or value.shape[at] != 1:
                raise _NoForm
            return self._unsqueezed(n, at, first.added)

        found = self._call(like, target, *torch.fx.map_arg(args, whole), **torch.fx.map_arg(kwargs, whole))
        return _Selected(found, first.mask, _rank(found) - first.from_end + gone - _rank(first.mask))

    def _similarity(self, node: Any, named: Mapping[str, Any]) -> _Selected:
        """The cosines of the angles between two tensors along a dim after that of the selected elements."""
        from_end = {_rank(named[x]) - int(named["dim"]) if named["dim"] >= 0 else -named["dim"] for x in ("x1", "x2")}
        if len(from_end) > 1 or any(
            min(from_end) > self.selected[n].from_end for n in node.all_input_nodes if n in self.selected
        ):
            raise _NoForm
        arguments, keywords = _arguments(node, {**named, "dim": -min(from_end)})
        return self._elementwise(node, node.target, arguments, keywords, gone=1)

    def _reduced(self, node: Any, loss: _Selected, reduction: int) -> _Selected | Any:
        """A loss per element, its mean or its sum."""
        if reduction == 0:
            return loss
        return self._total(node, loss, range(_rank(loss.whole) - loss.added), is_mean=reduction == 1)

    def _loss_of_classes(self, node: Any, named: Mapping[str, Any]) -> _Selected:
        scores, classes = (self.selected.get(named[name]) for name in ("self", "target"))
        if scores is None or classes is None or named["weight"] is not None or scores.from_end != 1:
            raise _NoForm
        if scores.along or classes.along or not self._is_same(scores.mask, classes.mask):
            raise _NoForm

        def flat(x: Any) -> Any:
            last = scores.added
            return self._call(node, self._aten.flatten.using_ints, x, 0, last) if last else x

        mask = flat(scores.mask)
        of_selected = self._call(node, self._aten.where.ScalarOther, mask, flat(classes.whole), 0)
        found = self._call(node, node.target, flat(scores.whole), of_selected, None, 0, named["ignore_index"])
        loss = self.graph.call_function(operator.getitem, (found, 0))
        loss.meta = {**node.meta, "val": found.meta["val"][0]}
        return _Selected(loss, mask, 0)

    def _of_dims(self, node: Any, x: _Selected, named: Mapping[str, Any]) -> _Selected | Any:
        """An operator of some dims."""
        name, rank = operator_name(node.target), _rank(node.args[0])
        if name in _OF_LAST_DIMS:
            if _OF_LAST_DIMS[name](named) > x.from_end:
                raise _NoForm
            found = self._call(node, node.target, x.whole, *node.args[1:], **node.kwargs)
            return _Selected(found, x.mask, x.along)
        if name == "expand":
            sizes, at = list(node.args[1]), len(node.args[1]) - rank + x.along
            found = self._call(node, node.target, x.whole, [*sizes[:at], *[-1] * _rank(x.mask), *sizes[at + 1 :]])
            return _Selected(found, x.mask, at)
        if name not in _OF_DIMS:
            raise _NoForm
        given = named.get("dim")
        dims = [int(d) % rank for d in ([given] if isinstance(given, int) else given or range(rank))]
        if x.along in dims:
            match name:
                case "sum" | "mean":
                    keep, dtype = bool(named.get("keepdim")), named["dtype"]
                    return self._total(node, x, dims, is_mean=name == "mean", keepdim=keep, dtype=dtype)
                case "var" | "std":
                    return self._spread(node, x, dims, named)
                case _:
                    raise _NoForm
        moved = [d + x.added if d > x.along else d for d in dims]
        dim = moved[0] if isinstance(given, int) else moved
        arguments, keywords = _arguments(node, {**named, "self": x.whole, "dim": dim})
        found = self._call(node, node.target, *arguments, **keywords)
        gone = sum(d < x.along for d in dims) if _rank(found) < _rank(x.whole) else 0
        return _Selected(found, x.mask, x.along - gone)

    def _total(
        self,
        like: Any,
        x: _Selected,
        dims: Iterable[int],
        *,
        is_mean: bool,
        keepdim: bool = False,
        dtype: Any = None,
        is_wide: bool = False,
    ) -> Any:
        """The sum or the mean over the selected elements, and over other dims.

        Args:
            like: the node that it takes the place of.
            x: the selection.
            dims: its dims, of which one is that of the selected elements.
            is_mean: whether it is the mean.
            keepdim: whether each of the dims becomes one of size 1.
            dtype: that the sum is computed in; by default that of `like`.
            is_wide: whether all dims of the whole tensor become ones of size 1.
        """
        aten, others = self._aten, [d + x.added if d > x.along else d for d in dims if d != x.along]
        of_mask = list(range(x.along, x.along + _rank(x.mask)))
        whole = x.whole
        if is_mean and others:
            whole = self._call(like, aten.mean.dim, whole, others, True, dtype=dtype)
        mask = self._unsqueezed(x.mask, _rank(x.mask), x.from_end)
        whole = self._call(like, aten.where.ScalarOther, mask, whole, 0)
        keep = keepdim or is_wide
        found = self._call(like, aten.sum.dim_IntList, whole, sorted((*of_mask, *others)), keep, dtype=dtype)
        if keepdim and x.added:
            found = self._call(like, aten.squeeze.dims, found, of_mask[1:])
        return self._call(like, aten.div.Tensor, found, self._count(like, x.mask)) if is_mean else found

    def _spread(self, node: Any, x: _Selected, dims: Sequence[int], named: Mapping[str, Any]) -> Any:
        """The variance or the standard deviation of the selected elements."""
        aten, others = self._aten, prod(x.whole.meta["val"].shape[d + x.added] for d in dims if d > x.along)
        others *= prod(x.whole.meta["val"].shape[d] for d in dims if d < x.along)
        if not isinstance(others, int):
            raise _NoForm
        correction = named.get("correction", 1 if named.get("unbiased", True) else 0)
        mean = self._total(node, x, dims, is_mean=True, is_wide=True)
        gap = self._call(node, aten.sub.Tensor, x.whole, mean)
        squares = replace(x, whole=self._call(node, aten.square.default, gap))
        total = self._total(node, squares, dims, is_mean=False, keepdim=bool(named.get("keepdim")))
        count = self._call(node, aten.mul.Tensor, self._count(node, x.mask), others)
        count = self._call(node, aten.sub.Tensor, count, 1 if correction is None else correction)
        found = self._call(node, aten.div.Tensor, total, self._call(node, aten.clamp_min.default, count, 0))
        return found if operator_name(node.target) == "var" else self._call(node, aten.sqrt.default, found)

    def _written(self, node: Any, named: Mapping[str, Any]) -> Any:
        """A write of selected elements at the positions that they were selected from."""
        x, values = named["self"], self.selected.get(named["values"])
        if values is None or (place := _mask_of(node)) is None or named["accumulate"] or x in self.selected:
            raise _NoForm
        along, mask = place
        from_end = _rank(x) - along - _rank(mask)
        is_same = self._is_same(mask, values.mask) and values.from_end == from_end
        if not is_same or values.whole.meta["val"].dtype != x.meta["val"].dtype:
            raise _NoForm
        wide = self._unsqueezed(mask, _rank(mask), from_end)
        return self._call(node, self._aten.where.self, wide, values.whole, x)
