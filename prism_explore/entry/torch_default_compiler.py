# pyright: basic
# Most values are objects of torch, which pyright types only in part.
"""torch's default compiler on a graph, or on what is left of it between kernels; a failure is a value.

It runs within torch's backend, where the graph is already traced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from prism_explore.entry.torch_nodes import value_of
from prism_explore.support.whole_imports import import_whole
from prism_explore.tune.runner.torch_code import compiled_for_this_cpu

_COMPILER_MODULES = ("torch._inductor.compile_fx", "torch._inductor.graph", "torch._inductor.codegen.cpp")
"""What the default compiler imports when it first compiles; half imported, it fails from then on."""


@dataclass(frozen=True, slots=True)
class FailedCompiler:
    """What stands for the compiled graph where the default compiler failed, such as without a C++ compiler."""

    failure: Exception

    @property
    def reason(self) -> str:
        """The first line of its message."""
        return next(iter(str(self.failure).strip().splitlines()), type(self.failure).__name__)

    def __call__(self, *_: Any) -> NoReturn:
        """Raise the failure."""
        raise self.failure.with_traceback(None)


def compiled_graph(module: Any, examples: Sequence[Any]) -> Callable[..., Any]:
    """The graph compiled by the default compiler, or a `FailedCompiler`.

    Args:
        module: of a graph that torch traced; it is changed.
        examples: the arguments, as torch's backend gets them.
    """
    return compiled_for_this_cpu(
        lambda: _tried(module, examples), lambda f: str(f.failure) if isinstance(f, FailedCompiler) else ""
    )


def _tried(module: Any, examples: Sequence[Any]) -> Callable[..., Any]:
    import_whole(*_COMPILER_MODULES)
    from torch._dynamo.exc import RestartAnalysis
    from torch._inductor import compile_fx  # as the registered backend, which also starts workers for Triton

    try:
        compiled: Any = compile_fx.compile_fx(module, list(examples))
    except RestartAnalysis:  # torch traces the code again, with a number that the compiler does not take as a symbol
        raise
    except Exception as failure:
        return FailedCompiler(failure)
    return compiled


def working(compiled: Callable[..., Any], original: Any) -> Callable[..., Any]:
    """The compiled graph; torch's own where the compiler failed.

    Args:
        compiled: from `compiled_graph`.
        original: the module that it was made of.
    """
    return original.forward if isinstance(compiled, FailedCompiler) else compiled


def copy_of(module: Any) -> Any:
    """A graph module with a graph of its own and the same tensors: the compiler changes the graph that it is given."""
    import torch

    graph = torch.fx.Graph()
    graph.output(graph.graph_copy(module.graph, {}))
    copy = torch.fx.GraphModule(module, graph)
    copy.meta.update(module.meta)
    return copy


def compiled_between_kernels(module: Any) -> Callable[..., Any]:
    """Compile the code between the replaced regions, one subgraph at a time.

    Where the graph has symbolic sizes, it is compiled once for all of them. Through torch.compile each subgraph would
    be another version of one function, of which torch keeps eight, and each call of one would check guards.

    Args:
        module: with modules that `torch_replacement.insert_module` has put in the place of regions.
    """
    from torch.fx.passes.split_module import split_module

    part_number, last_is_kernel = 0, False
    part_of: dict[Any, int] = {}
    for node in module.graph.nodes:
        is_kernel = node.op == "call_module" and str(node.target).startswith("prism_")
        if is_kernel != last_is_kernel or is_kernel:
            part_number, last_is_kernel = part_number + 1, is_kernel
        part_of[node] = part_number
    divided: Any = split_module(module, module, lambda node: part_of[node])
    for name, part in tuple(divided.named_children()):
        if not any(n.op == "call_module" for n in part.graph.nodes):
            examples = [value_of(node) for node in part.graph.nodes if node.op == "placeholder"]
            compiled = compiled_graph(part, examples)
            if not isinstance(compiled, FailedCompiler):
                delattr(divided, name)
                setattr(divided, name, compiled)
    return divided.forward
