# pyright: basic
# Throughout, values are tensors, modules and results of the user's torch code.
"""Runs a side on given numbers: torch code, or a graph in the reference interpreter.

Torch code gets copies, so that code that writes into its arguments changes nothing for the other side. A module runs
as a copy, with given numbers as parameters in the precision of the run. torch is imported inside the functions.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from prism_explore.entry.equivalence.sides import Code, Graph, Side
from prism_explore.errors import PrismError
from prism_explore.ir.interpreter.reference import Array, evaluate_all, evaluate_results
from prism_explore.ir.tensors import INTEGERS, NAMES, DType, dtype_name


@dataclass(frozen=True, slots=True)
class Leaf:
    """One tensor or number of a result."""

    place: str
    """Where it stands in the result, such as `[1]` or `['loss']`; empty for a result that is one tensor."""
    value: Array
    """As float64; a number is a tensor without dims."""
    dtype: str
    """Such as `float32`; `int` for a Python number."""

    @property
    def kind(self) -> str:
        """Dtype and shape, such as `float32 (3, 64)`."""
        return f"{self.dtype} ({', '.join(map(str, self.value.shape))}{',' if self.value.ndim == 1 else ''})"


@dataclass(frozen=True, slots=True)
class Ran:
    """A run that returned."""

    leaves: tuple[Leaf, ...]
    structure: str
    """Such as `one tensor` or `a tuple of 2`."""
    changed: tuple[str, ...] = ()
    """Arguments that the code wrote into."""
    same_as_input: tuple[str, ...] = ()
    """Places of results that share memory with an argument."""
    texts: tuple[tuple[str, str], ...] = ()
    """The texts among the results, after their places."""


@dataclass(frozen=True, slots=True)
class Raised:
    """A run that raised an exception."""

    message: str


def run_side(
    side: Side,
    inputs: Mapping[str, Array],
    dtypes: Mapping[str, DType] | None = None,
    seed: int = 0,
    around: AbstractContextManager[Any] | None = None,
) -> Ran | Raised:
    """The results of a side on given numbers, in float64, or with each variable in its own dtype.

    Args:
        side: the side.
        inputs: an array per variable.
        dtypes: per variable its dtype; None for float64.
        seed: of torch's random numbers, for code that draws some.
        around: a context in which torch code is called.
    """
    match side:
        case Graph():
            return _run_graph(side, inputs)
        case Code():
            return _run_code(side, inputs, dtypes, seed, around or nullcontext())


def _given(side: Graph, inputs: Mapping[str, Array]) -> dict[str, Array]:
    return {i.name: np.asarray(inputs[i.name], None if i.type.dtype in INTEGERS else float) for i in side.sgraph.inputs}


def largest_value(side: Graph, inputs: Mapping[str, Array]) -> float:
    """The largest magnitude of all tensors of a graph that runs on these inputs; NaN where one has a NaN."""
    with np.errstate(all="ignore"):
        return max(float(np.abs(x).max(initial=0.0)) for x in evaluate_all(side.graph, _given(side, inputs)))


def _run_graph(side: Graph, inputs: Mapping[str, Array]) -> Ran | Raised:
    try:
        with np.errstate(all="ignore"):
            values = evaluate_results(side.graph, _given(side, inputs))
    except (PrismError, ValueError) as error:
        return Raised(f"{type(error).__name__}: {error}")
    places = [f"[{n}]" for n in range(len(values))] if len(values) > 1 else [""]
    leaves = tuple(Leaf(p, np.asarray(v, float), "float64") for p, v in zip(places, values, strict=True))
    return Ran(leaves, "one tensor" if len(values) == 1 else f"a tuple of {len(values)}: {', '.join(places)}")


def _run_code(
    side: Code,
    inputs: Mapping[str, Array],
    dtypes: Mapping[str, DType] | None,
    seed: int,
    around: AbstractContextManager[Any],
) -> Ran | Raised:
    import torch

    def tensor(variable: str) -> Any:
        value = torch.tensor(inputs[variable])
        if not value.is_floating_point():
            return value
        return value.to(getattr(torch, NAMES[dtypes[variable]] if dtypes is not None else "float64"))

    arguments = {own: tensor(variable) for own, variable in side.arguments}
    given = {own: x.clone() for own, x in arguments.items()}
    by_name = {own: x for own, x in arguments.items() if own in side.keywords}
    in_order = tuple(x for own, x in arguments.items() if own not in by_name)
    code: Any = side.code
    try:
        with torch.no_grad(), torch.random.fork_rng(devices=[]), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # `torch.manual_seed` also queues a seed for each kind of device, with a stack trace.
            torch.default_generator.manual_seed(seed)
            if side.parameters:
                state = {own: tensor(variable) for own, variable in side.parameters}
                with around:
                    result = torch.func.functional_call(_copy(code), state, in_order, by_name)
            else:
                with around:
                    result = code(*in_order, **by_name)
            leaves, texts, structure = _leaves(result)
    except Exception as error:
        first = str(error).strip().splitlines()
        return Raised(f"{type(error).__name__}: {first[0]}" if first else type(error).__name__)
    changed = tuple(own for own, x in arguments.items() if not torch.equal(x.nan_to_num(), given[own].nan_to_num()))
    memory = {x.untyped_storage().data_ptr() for x in arguments.values()}
    shared = tuple(
        place
        for place, x in leaves
        if isinstance(x, torch.Tensor) and x.untyped_storage().data_ptr() in memory and x.numel()
    )
    return Ran(tuple(_leaf(place, x) for place, x in leaves), structure, changed, shared, texts)


def _copy(module: Any) -> Any:
    """A copy of a module that shares its tensors, which a run replaces by others; what code stores in it is lost."""
    shared = [x for x in (*module.parameters(), *module.buffers()) if x.is_floating_point()]
    return copy.deepcopy(module, {id(x): x for x in shared})


@contextmanager
def one_thread() -> Iterator[None]:
    """A context in which torch computes on one thread: tensors of trials are too small to be shared among several."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def rounding_of(side: Side, inputs: Mapping[str, Array], dtypes: Mapping[str, DType] | None) -> float:
    """The relative rounding error of the least precise floating dtype that occurs in a run."""
    watched = _dtype_watcher()
    run_side(side, inputs, dtypes, around=watched)
    return watched.epsilon


def _dtype_watcher() -> Any:
    """A context that records the least precise floating dtype of all results inside it."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    class Watcher(TorchDispatchMode):
        epsilon = float(torch.finfo(torch.float64).eps)

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = func(*args, **(kwargs or {}))
            for x in tree_leaves(result):
                if isinstance(x, torch.Tensor) and (x.is_floating_point() or x.is_complex()):
                    self.epsilon = max(self.epsilon, float(torch.finfo(x.dtype).eps))
            return result

    return Watcher()


def _leaves(result: Any) -> tuple[list[tuple[str, Any]], tuple[tuple[str, str], ...], str]:
    """Tensors and numbers with their places, texts with theirs, and the structure in words."""
    import torch
    from torch.utils._pytree import keystr, tree_flatten_with_path

    every = [(keystr(path), x) for path, x in tree_flatten_with_path(result)[0] if x is not None]
    found = [(place, x) for place, x in every if not isinstance(x, str)]
    for place, x in found:
        if not isinstance(x, torch.Tensor | int | float):
            raise TypeError(f"the result{place} is a {type(x).__name__}, neither a tensor nor a number nor a text")
    if isinstance(result, torch.Tensor):
        return found, (), "one tensor"
    kind = type(result).__name__
    places = [f"{place} = {x!r}" if isinstance(x, str) else place for place, x in every]
    texts = tuple((place, x) for place, x in every if isinstance(x, str))
    return found, texts, f"a {kind} of {len(every)}: {', '.join(places)}" if every else f"a {kind}"


def _leaf(place: str, x: Any) -> Leaf:
    import torch

    if not isinstance(x, torch.Tensor):
        return Leaf(place, np.asarray(float(x)), type(x).__name__)
    real = torch.view_as_real(x.resolve_conj()) if x.is_complex() else x
    return Leaf(place, real.detach().to(torch.float64).cpu().numpy(), dtype_name(x.dtype))
