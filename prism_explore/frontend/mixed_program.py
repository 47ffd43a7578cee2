# pyright: basic
# Tensors are torch's or NumPy's.
"""A torch program as a sequence of tensor programs and opaque calls, and its execution.

Each step computes tensors from those before it. `run_mixed` executes the steps with torch; `evaluate_mixed` is the
plain definition: the reference interpreter for tensor programs, torch in float64 for opaque calls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, TypeAlias

import numpy as np

from prism_explore.errors import ShapeError
from prism_explore.frontend.argument_form import SUBMODULE, ArgumentForm
from prism_explore.frontend.opaque import OpaqueCall, TensorRef, as_real, called, has_writing_form
from prism_explore.frontend.traced_program import Signature, Traced
from prism_explore.ir.interpreter.reference import Array, evaluate_results
from prism_explore.ir.tensors import FLOATS, NAMES, TensorType


@dataclass(frozen=True, slots=True)
class Computation:
    """A part that is a tensor program: it can be searched."""

    results: tuple[tuple[str, TensorType], ...]
    """The names and types of the tensors that it computes; its code returns several as a tuple."""
    traced: Traced
    """Its program, and its torch code; the arguments are named as the tensors that it reads."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its results."""
        return tuple(name for name, _ in self.results)


Step: TypeAlias = Computation | OpaqueCall


@dataclass(frozen=True, slots=True)
class ProgramInput:
    """A tensor that the caller gives, or one of the module's."""

    name: str
    """In the steps."""
    source: str
    """The argument, or the module's dotted name."""
    type: TensorType


@dataclass(frozen=True, slots=True)
class MixedProgram:
    """A function or module of torch, with what can be searched apart from what torch computes."""

    name: str
    arguments: tuple[str, ...]
    """Names of the tensors among the user's arguments, in order."""
    inputs: tuple[ProgramInput, ...]
    steps: tuple[Step, ...]
    """In an order in which they can be computed."""
    results: tuple[TensorRef | bool | int | float | str | None, ...]
    """What the code returns: the leaves of its structure."""
    structure: Any
    """That structure, as torch's `TreeSpec`."""
    reference: Callable[..., Any]
    """The user's function or module, called with the tensors `arguments`."""
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The tensors of the module and of the code, by their sources."""
    call: ArgumentForm | None = None
    """How the user calls the code; None where that is with the tensors `arguments` by position."""
    written: Mapping[str, str] = field(default_factory=dict[str, str])
    """The sources of inputs that the code writes into, each with the name of its new value."""

    @property
    def own_tensors(self) -> dict[str, Any]:
        """The tensors `parameters` as they are now: a module may put a new one in the place of one it writes into."""
        import torch

        own, code = dict(self.parameters), getattr(self.reference, SUBMODULE, self.reference)
        if isinstance(code, torch.nn.Module):
            own |= {source: attrgetter(source)(code) for source in self.written if source in own}
        return own

    @property
    def in_place(self) -> frozenset[str]:
        """The results of opaque calls that may write into what they change a part of: nothing else reads it."""
        readers = Counter(name for s in self.steps for name in set(_read_by(s)))
        readers.update(r.name for r in self.results if isinstance(r, TensorRef))
        origin = {i.name: i.source for i in self.inputs}
        for step in self.steps:
            match step:
                case OpaqueCall(operator, (TensorRef(changed), *_), _, (result,)) if has_writing_form(operator):
                    if origin.get(changed) in self.written and readers[changed] == 1:
                        origin[result.name] = origin[changed]
                case _:
                    pass
        return frozenset(origin).difference(i.name for i in self.inputs)

    @property
    def calls(self) -> tuple[OpaqueCall, ...]:
        """The operators that no row translates, without views and constants that only they read."""
        return tuple(s for s in self.steps if isinstance(s, OpaqueCall) and s.reason)

    @property
    def computations(self) -> tuple[Computation, ...]:
        """The parts that are tensor programs."""
        return tuple(s for s in self.steps if isinstance(s, Computation))

    def in_order(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        """The tensors among the user's arguments, in order.

        Raises:
            ShapeError: an argument is missing or unknown, or a constant differs from the traced one.
        """
        return Signature(self.name, self.arguments, (), call=self.call).in_order(args, kwargs)

    def bind(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """The tensors that the steps start from, by name.

        Raises:
            ShapeError: an argument is missing or unknown.
        """
        return self.named(self.in_order(args, kwargs))

    def named(self, tensors: Sequence[Any]) -> dict[str, Any]:
        """The tensors that the steps start from, by name, from those `arguments`."""
        known = {**self.own_tensors, **dict(zip(self.arguments, tensors, strict=True))}
        return {i.name: known[i.source] for i in self.inputs}

    def sizes(self, tensors: Mapping[str, Any]) -> dict[str, int]:
        """The values of the symbols for these tensors.

        Raises:
            ShapeError: a tensor has another shape than declared.
        """
        found: dict[str, int] = {}
        for i in self.inputs:
            shape = tuple(map(int, tensors[i.name].shape))
            if len(shape) == i.type.rank:
                found = {d.symbol: n for d, n in zip(i.type.dims, shape, strict=True) if d.symbol} | found
            if len(shape) != i.type.rank or shape != i.type.shape_at(found):
                raise ShapeError(f"{i.source!r} has the shape {shape}; {self.name} was traced for {i.type}")
        return found

    def finished(self, tensors: Mapping[str, Any]) -> Any:
        """What the code returns, from the tensors that were computed; writes into those that the code writes into."""
        from torch.utils import _pytree

        input_of = {i.source: tensors[i.name] for i in self.inputs if i.source in self.written}
        place = {value: input_of[source] for source, value in self.written.items()}
        for value, written in place.items():
            if tensors[value] is not written:
                written.copy_(tensors[value])
        leaves = [place.get(r.name, tensors[r.name]) if isinstance(r, TensorRef) else r for r in self.results]
        return _pytree.tree_unflatten(leaves, self.structure)


def run_mixed(program: MixedProgram, tensors: Mapping[str, Any], code: Sequence[Callable[..., Any]] = ()) -> Any:
    """What the program returns, computed by torch and by other code for its tensor programs.

    Tensors that the program writes into are changed.

    Args:
        program: the program.
        tensors: from `program.bind`.
        code: per computation, in order, a function of its arguments; by default its torch code.
    """
    known, sizes, in_place = dict(tensors), program.sizes(tensors), program.in_place
    functions = iter(code or [c.traced.reference for c in program.computations])
    dense = set[str]()
    """What steps computed: types say that it is row-major, and what torch computes may be a view."""
    for step in program.steps:
        if isinstance(step, OpaqueCall):
            known.update(called(step, known, sizes, is_written=step.results[0].name in in_place))
            dense.update(r.name for r in step.results)
        else:
            read = {a: as_real(known[a]) for a in step.traced.arguments}
            if code:
                read |= {a: x.contiguous() for a, x in read.items() if a in dense}
            found = next(functions)(*read.values())
            known.update(zip(step.names, found if len(step.results) > 1 else (found,), strict=True))
            dense.update(step.names)
    return program.finished(known)


def evaluate_mixed(program: MixedProgram, inputs: Mapping[str, Array], *, wide: bool = True) -> tuple[Array, ...]:
    """The tensors that the program returns, and then the new values of those that it writes into, in float64.

    They are computed by the reference interpreter, and by torch for opaque calls.

    Args:
        program: the program.
        inputs: an array per input, by its name.
        wide: whether opaque calls, too, compute in float64; otherwise each in the dtypes of its operands, for functions
            that are not continuous, such as eigenvectors.

    Raises:
        ShapeError: an input has another shape than declared, or a step computes another shape than its type states.
    """
    import torch

    types, pairs = {i.name: i.type for i in program.inputs}, set[str]()
    known = {name: _wide(np.asarray(inputs[name]), t) for name, t in types.items()}
    sizes = program.sizes(known)
    for step in program.steps:
        if isinstance(step, Computation):
            bound = step.traced.signature.bind([known[a] for a in step.traced.arguments], {}, {})
            given = {b.name: x for b, x in zip(step.traced.bindings, bound, strict=True)}
            arrays = evaluate_results(step.traced.program, given)
            placed = arrays if step.traced.form is None else step.traced.form.in_order(arrays)
            found, made = dict(zip(step.names, placed, strict=True)), dict(step.results)
        else:
            tensors = {n: torch.from_numpy(np.array(known[n])).to(_torch_dtype(types[n], wide)) for n in step.operands}
            tensors |= {n: torch.view_as_complex(tensors[n]) for n in pairs.intersection(tensors)}
            pairs.update(r.name for r in step.results if r.is_complex)
            made = {r.name: r.type for r in step.results}
            with torch.no_grad():
                results = called(step, tensors, sizes)
            found = {n: as_real(x).to(_torch_dtype(made[n], True)).resolve_neg().numpy() for n, x in results.items()}
        for name, t in made.items():
            wanted = t.shape_at(sizes)
            if found[name].shape != wanted:
                raise ShapeError(f"{name} has shape {found[name].shape}, its type has {wanted}")
            known[name] = _wide(found[name], t)
        types |= made
    returned = (r.name for r in program.results if isinstance(r, TensorRef))
    arrays = ((name, known[name]) for name in (*returned, *program.written.values()))
    return tuple(x[..., 0] + 1j * x[..., 1] if name in pairs else x for name, x in arrays)


def _read_by(step: Step) -> Iterable[str]:
    return step.operands if isinstance(step, OpaqueCall) else step.traced.arguments


def _torch_dtype(t: TensorType, wide: bool) -> Any:
    import torch

    return torch.float64 if wide and t.dtype in FLOATS else getattr(torch, NAMES[t.dtype])


def _wide(value: Array, t: TensorType) -> Array:
    """An array in float64, or in its own dtype where that is no float."""
    if t.dtype == "bool":
        return value != 0
    return value.astype(np.float64 if t.dtype in FLOATS else NAMES[t.dtype])
