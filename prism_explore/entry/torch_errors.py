# pyright: basic
# Most values are objects of torch, which pyright types only in part.
"""Errors of whole code: how far the ways to run a graph are from the same graph in float64.

The graph runs once more, operator by operator, with every floating-point tensor in float64. The error of a way is the
largest deviation of a result, relative to the largest value of that result. A way with kernels may err `MOST_ERROR`
times as much as torch eager on the tensors of the call at which torch compiles; one that errs more is not offered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from prism_explore.events.fastest import COMPILED, EAGER

MOST_ERROR = 2.0
"""The error of a way with kernels, as a multiple of that of torch eager."""
FEW_ROUNDINGS = 4.0
"""An error of this many unit roundoffs of the result's dtype is never too large: torch eager's is smaller by chance."""


@dataclass(frozen=True, slots=True)
class Errors:
    """Errors per way; empty where float64 could not be run."""

    of: Mapping[str, float] = field(default_factory=dict[str, float])
    """The largest deviation of a result from float64, relative to the result's largest value."""
    roundoff: float = 0.0
    """The largest unit roundoff of the results' dtypes."""
    note: str = ""
    """Why there are none."""

    def why_refused(self, name: str) -> str:
        """Why a way is too inexact; empty where it is not, and for torch's own ways.

        Args:
            name: of the way.
        """
        if name in (EAGER, COMPILED) or name not in self.of or EAGER not in self.of:
            return ""
        found, eager = self.of[name], self.of[EAGER]
        if found <= max(MOST_ERROR * eager, FEW_ROUNDINGS * self.roundoff):
            return ""
        return (
            f"{name} has an error of {found:.1e}, torch eager one of {eager:.1e}; {MOST_ERROR:g} times that is allowed"
        )


def errors_of(module: Any, arguments: Callable[[], Sequence[Any]], ways: Mapping[str, Callable[..., Any]]) -> Errors:
    """Compare all ways to run a graph with float64; a way that fails has no error.

    Args:
        module: torch's graph, as a module.
        arguments: called before each call of a way.
        ways: functions by name.
    """
    import torch

    try:
        with torch.no_grad():
            exact = _in_float64(module, arguments())
    except Exception as failure:  # an operator may lack float64, or run out of memory
        return Errors(note=f"{type(failure).__name__} in float64: {(str(failure).splitlines() or [''])[0]}")
    found: dict[str, float] = {}
    roundoff = 0.0
    for name, run in ways.items():
        try:
            # In the caller's gradient mode: compiled code is compiled again for another one.
            results = [r.detach() for r in _float_tensors(run(*arguments()))]
            error = max((_error(r, e) for r, e in zip(results, exact, strict=True)), default=0.0)
        except Exception:  # a way that fails is left out of the race, which says so
            continue
        if any(r.dtype == torch.float64 for r in results):
            return Errors(note="its results are float64, and there is no wider arithmetic")
        roundoff = max([roundoff, *(torch.finfo(r.dtype).eps / 2 for r in results)])
        found[name] = error
    return Errors(found, roundoff)


def _error(found: Any, exact: Any) -> float:
    """The largest deviation relative to the largest exact value, where that is finite."""
    import torch

    finite = torch.isfinite(exact)
    gap = torch.where(finite, (found.double() - exact).abs(), 0.0)
    size = torch.where(finite, exact.abs(), 0.0)
    if not found.numel():
        return 0.0
    largest = float(size.max())
    return float(gap.max()) / (largest or 1.0)


def _float_tensors(found: Any) -> list[Any]:
    from torch.utils._pytree import tree_leaves

    return [x for x in tree_leaves(found) if getattr(x, "is_floating_point", bool)()]


def _in_float64(module: Any, arguments: Sequence[Any]) -> list[Any]:
    """The floating-point results of a graph whose floating-point tensors are float64."""
    import torch
    from torch.utils._pytree import tree_map

    narrow = (torch.float32, torch.bfloat16, torch.float16)

    def widened(x: Any) -> Any:
        if isinstance(x, torch.Tensor):
            return x.double() if x.is_floating_point() else x
        return torch.float64 if isinstance(x, torch.dtype) and x in narrow else x

    class InFloat64(torch.fx.Interpreter):
        def fetch_args_kwargs_from_env(self, n: Any) -> Any:
            return tree_map(widened, super().fetch_args_kwargs_from_env(n))

        def call_method(self, target: Any, args: Any, kwargs: Any) -> Any:
            return super().call_method("double" if target in ("float", "half", "bfloat16") else target, args, kwargs)

        def run_node(self, n: Any) -> Any:
            found = super().run_node(n)
            # Weights are converted where they are read, so that only one of them exists twice. Everything else is
            # converted once: a write in place has to reach those that read it later.
            is_weight = n.op == "get_attr" or isinstance(found, torch.nn.Parameter)
            return found if is_weight else tree_map(widened, found)

    return [x.double() for x in _float_tensors(InFloat64(module).run(*arguments))]
