# pyright: basic
# Most values are objects of torch, which pyright types only in part.
"""Graphs that read tensors of classes that have other tensors in the place of their memory, as quantized weights have.

Their operators are code of the class, which torch's graph of a module does not show. torch unwraps them where it writes
a graph in ATen operators: that graph is cut into regions, and reads the tensors inside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from prism_explore.entry.torch_nodes import is_wrapper, value_of


def reads_wrappers(examples: Sequence[Any]) -> bool:
    """Whether one of a graph's arguments is of such a class."""
    return any(is_wrapper(x) for x in examples)


def compile_unwrapped(
    module: Any, examples: Sequence[Any], build: Callable[[Any, Sequence[Any]], Callable[..., Any]]
) -> Callable[..., Any]:
    """Compile the graph of ATen operators of a graph.

    Args:
        module: of a graph that torch traced; its gradients are not recorded.
        examples: its arguments.
        build: takes a module of the graph of ATen operators, with an example value at each node, and its arguments.

    Returns:
        What runs the module.
    """
    from torch._dynamo.backends.common import aot_autograd
    from torch._subclasses.fake_tensor import unset_fake_temporarily

    def compile_aten(unwrapped: Any, fakes: Sequence[Any]) -> Callable[..., Any]:
        for node in unwrapped.graph.nodes:
            if "val" in node.meta:
                node.meta["example_value"] = node.meta["val"]
        given = [inner for x in examples for inner in _inside(x)]
        with unset_fake_temporarily():  # kernels are timed
            chosen = build(unwrapped, given if _are_those_of(unwrapped.graph, given) else fakes)

        def call(args: list[Any]) -> Any:
            return chosen(*args)

        call._boxed_call = True  # so torch passes a list  # pyright: ignore[reportFunctionMemberAccess]
        return call

    return aot_autograd(fw_compiler=compile_aten)(module, list(examples))


def _inside(x: Any) -> Iterator[Any]:
    """The tensors in the place of an argument's memory; the argument itself where it is none of such a class."""
    if not is_wrapper(x):
        yield x
        return
    for name in x.__tensor_flatten__()[0]:
        yield from _inside(getattr(x, name))


def _are_those_of(graph: Any, given: Sequence[Any]) -> bool:
    """Whether tensors are the arguments of a graph: torch leaves out those that are given twice."""
    wanted = [value_of(n) for n in graph.nodes if n.op == "placeholder"]
    return len(wanted) == len(given) and all(
        hasattr(a, "dtype") == hasattr(b, "dtype") and (not hasattr(a, "dtype") or _form(a) == _form(b))
        for a, b in zip(wanted, given, strict=True)
    )


def _form(x: Any) -> tuple[Any, ...]:
    sizes = tuple(n if isinstance(n, int) else n.node.hint for n in x.shape)
    return x.dtype, sizes
