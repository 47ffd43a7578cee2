# pyright: basic
# Most values are objects of torch, which pyright types only in part.
"""Complex tensors of torch's graphs as pairs of real ones, such as the rotary embeddings of Llama's first code.

A node that makes a complex tensor gets two nodes beside it, for the real and for the imaginary part. What reads the
parts of a complex tensor then reads these. The complex tensor itself is left out where nothing reads it. One that
enters the graph is read by `torch.view_as_real`, which makes no copy.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from prism_explore.entry.torch_nodes import called_name, value_of

Pair: TypeAlias = tuple[Any, Any]
"""The nodes of the real and of the imaginary part."""
_OF_BOTH = frozenset(
    ("view", "reshape", "unsqueeze", "expand", "flatten", "unflatten", "contiguous", "clone", "neg", "getitem")
)
"""Functions of one tensor that apply to both parts."""
_TO_REAL = ("view_as_real", "real", "imag")


def split_complex(graph: Any) -> None:
    """Change a graph in place; it computes the same.

    Args:
        graph: torch's, with an example value at each node.
    """
    if any(called_name(n) == "view_as_real" for n in graph.nodes):
        _Split(graph).run()


class _Split:
    """The parts of the complex tensors of one graph."""

    def __init__(self, graph: Any) -> None:
        self.graph = graph
        self.pairs: dict[Any, Pair] = {}
        self.made: list[Any] = []

    def run(self) -> None:
        replaced: list[Any] = []
        for node in list(self.graph.nodes):
            with self.graph.inserting_before(node):
                if _is_complex(node) and node.op in ("call_function", "call_method"):
                    found = self._parts(node)
                    if found is not None:
                        self.pairs[node] = found
                        replaced.append(node)
                elif called_name(node) in _TO_REAL and _is_complex(node.args[0]):
                    node.replace_all_uses_with(self._of_parts(node, self._pair(node.args[0], node)))
                    replaced.append(node)
        order = {node: n for n, node in enumerate(self.graph.nodes)}
        for node in sorted((*replaced, *self.made), key=order.__getitem__, reverse=True):
            if not node.users:
                self.graph.erase_node(node)

    def _call(self, fn: Any, like: Any, *args: Any, **kwargs: Any) -> Any:
        """A new node of a function, or of a method by its name, with its example value."""
        import torch

        made = self.graph.create_node("call_method" if isinstance(fn, str) else "call_function", fn, args, kwargs)
        made.meta = {k: v for k, v in like.meta.items() if k != "example_value"}
        given, named = torch.fx.map_arg((args, kwargs), value_of)
        with value_of(like).fake_mode:
            made.meta["example_value"] = (
                getattr(given[0], fn)(*given[1:]) if isinstance(fn, str) else fn(*given, **named)
            )
        self.made.append(made)
        return made

    def _pair(self, node: Any, like: Any) -> Pair:
        """The parts of a complex tensor; of one that is not split, views."""
        import torch

        if node not in self.pairs:
            self.pairs[node] = self._halves(self._call(torch.view_as_real, like, node), like)
        return self.pairs[node]

    def _halves(self, node: Any, like: Any) -> Pair:
        import torch

        return self._call(torch.select, like, node, -1, 0), self._call(torch.select, like, node, -1, 1)

    def _of_parts(self, node: Any, parts: Pair) -> Any:
        """What reads a complex tensor into a real one, from the parts."""
        import torch

        if called_name(node) == "view_as_real":
            return self._call(torch.stack, node, list(parts), -1)
        return parts[called_name(node) == "imag"]

    def _parts(self, node: Any) -> Pair | None:
        """The parts of what a node computes; None for a function that is not split."""
        import torch

        args, mul = node.args, torch.mul
        if called_name(node) == "view_as_complex":
            return self._halves(args[0], node)
        if called_name(node) in _OF_BOTH and sum(map(_is_complex, node.all_input_nodes)) == 1 and _is_complex(args[0]):
            a, b = (self._call(node.target, node, p, *args[1:], **node.kwargs) for p in self._pair(args[0], node))
            return a, b
        if node.kwargs:
            return None
        match called_name(node), len(args):
            case "polar", 2:
                a, b = (self._call(mul, node, args[0], self._call(f, node, args[1])) for f in (torch.cos, torch.sin))
                return a, b
            case "mul", 2 if all(map(_is_complex, args)):
                (a, b), (c, d) = (self._pair(x, node) for x in args)
                products = [self._call(mul, node, x, y) for x, y in ((a, c), (b, d), (a, d), (b, c))]
                return self._call(torch.sub, node, *products[:2]), self._call(torch.add, node, *products[2:])
            case "mul", 2 if not any(isinstance(x, complex) for x in args):
                scaled, factor = args if _is_complex(args[0]) else reversed(args)
                a, b = (self._call(mul, node, p, factor) for p in self._pair(scaled, node))
                return a, b
            case "conj", 1:
                a, b = self._pair(args[0], node)
                return a, self._call(torch.neg, node, b)
            case _:
                return None


def _is_complex(x: Any) -> bool:
    dtype = getattr(value_of(x), "dtype", None) if hasattr(x, "op") else None
    return dtype is not None and dtype.is_complex
