# pyright: basic
# torch and its graphs are untyped throughout.
"""Code with transforms of torch.func, such as `grad`, `vjp`, `jvp` and `vmap`, as the operators that torch runs for it.

torch.export follows some of them only. Then the code is run on tensors without data, and each operator that reaches
torch below the transforms is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from prism_explore.errors import UnsupportedOperator
from prism_explore.frontend.derivative_formulas import derivative_formulas
from prism_explore.frontend.fake_examples import examples_of, linear_in
from prism_explore.frontend.rewritten_functions import rewritten_functions
from prism_explore.ir.tensors import TensorType


def is_of_transform(failure: Exception) -> bool:
    """Whether torch.export failed at a tensor that a transform of torch.func follows."""
    return any(text in str(failure) for text in _OF_TRANSFORMS)


def as_operators(code: Callable[..., Any], name: str, types: Sequence[TensorType], symbols: Mapping[str, int]) -> Any:
    """A module of the operators that torch runs for code, also below transforms of torch.func.

    Args:
        code: a function of tensors.
        name: of the function, for messages.
        types: of its arguments.
        symbols: the sizes that symbols have while it is traced. The module computes its sizes from its arguments.

    Raises:
        ValueError: the code is a module, whose tensors would lose their names.
        UnsupportedOperator: the code runs other operators at other sizes.
    """
    import sympy
    import torch
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    if isinstance(code, torch.nn.Module):
        raise ValueError("the tensors of a module would lose their names")
    sizes = ShapeEnv(duck_shape=False)  # two sizes that are equal in the trace need not be so in a call
    examples = _with_symbols(sizes, types, symbols)
    known = _symbols_of_user(types, examples)  # before a guard replaces one symbol by another
    with torch.no_grad(), rewritten_functions(differentiable=True):
        module = make_fx(code, decomposition_table=derivative_formulas(), tracing_mode="real")(*examples)
    assumed = (guard.expr.subs(known) for guard in sizes.guards)
    restrictions = list(dict.fromkeys(str(a) for a in assumed if a is not sympy.true))
    if restrictions:
        raise UnsupportedOperator(
            f"{name} runs other operators at other sizes: it was traced where {' and '.join(restrictions)}, which does "
            f"not hold for all sizes; give numbers for {', '.join(symbols)}"
        )
    return module


def _with_symbols(sizes: Any, types: Sequence[TensorType], symbols: Mapping[str, int]) -> list[Any]:
    """Tensors without data, of which each dim with a symbol has a symbol of torch's own."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import DimDynamic, StatelessSymbolicContext

    def dims_of(t: TensorType) -> Any:
        return StatelessSymbolicContext([DimDynamic.DYNAMIC if d.symbols else DimDynamic.STATIC for d in t.dims])

    mode = FakeTensorMode(shape_env=sizes, allow_non_fake_inputs=True)
    given = examples_of(types, symbols, "cpu")
    return [mode.from_tensor(x, symbolic_context=dims_of(t)) for x, t in zip(given, types, strict=True)]


def _symbols_of_user(types: Sequence[TensorType], examples: Sequence[Any]) -> dict[Any, Any]:
    """The size that each symbol of torch's stands for, in the symbols of the types."""
    import sympy

    found: dict[Any, Any] = {}
    for t, x in zip(types, examples, strict=True):
        for n, d in enumerate(t.dims):
            if (linear := linear_in(d)) is not None:
                symbol, factor, added = linear
                found[x.shape[n].node.expr] = factor * sympy.Symbol(symbol, integer=True, positive=True) + added
    return found


_UNFOLLOWED = "torch.export does not follow a transform of torch.func in it"
_OF_TRANSFORMS = (_UNFOLLOWED, "TensorWrapper", "functorch", "'Tensor' object has no attribute 'constant'")
"""Parts of the messages with which torch.export fails in transforms."""
_OF_TANGENTS = ("aten._make_dual", "aten._unpack_dual")
"""Operators by which torch writes and reads the tangent of a tensor."""


def check_transforms(exported: Any) -> None:
    """Raise where torch.export took part of a transform of torch.func for a constant or for an operator.

    Raises:
        ValueError: a constant belongs to a transform that has ended, or has no elements; or the graph has the tangents
            of `torch.func.jvp`.
    """
    import torch
    from torch._C._functorch import is_functorch_wrapped_tensor
    from torch._subclasses.fake_tensor import FakeTensor

    constants = filter(torch.is_tensor, exported.constants.values())
    has_constant = any(is_functorch_wrapped_tensor(c) or isinstance(c, FakeTensor) for c in constants)
    if has_constant or any(str(node.target).startswith(_OF_TANGENTS) for node in exported.graph.nodes):
        raise ValueError(_UNFOLLOWED)
