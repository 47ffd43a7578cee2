"""A traced program, and the mapping from the user's tensors to its inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from prism_explore.errors import ShapeError
from prism_explore.frontend.argument_form import SUBMODULE, ArgumentForm
from prism_explore.frontend.result_form import ResultForm
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.tabulated import entries_of
from prism_explore.ir.tensors import WORDS, dtype_name


@dataclass(frozen=True, slots=True)
class Binding:
    """The source of a program input: an argument or a parameter, with an optional permutation of its dims."""

    name: str
    source: str
    permute: tuple[int, ...] = ()
    bits: str = ""
    """The source's dtype where the input has its bytes: an 8-bit float format of torch, or integers of `WORDS`, whose
    bytes are one more dim behind the others. Empty for an input of the source's dtype."""

    def view(self, x: Any) -> Any:
        """The input, a view of its source.

        Raises:
            ShapeError: the source has another rank, or another format.
        """
        if self.bits and hasattr(x, "dtype") and dtype_name(x.dtype) != "uint8":
            if dtype_name(x.dtype) != self.bits:
                raise ShapeError(f"{self.source!r} must be {self.bits}, found {dtype_name(x.dtype)}")
            x = _bytes_of(x)
        return _permuted_tensor(x, self) if self.permute else x

    def source_of(self, x: Any) -> Any:
        """The source that a tensor of torch is the input of."""
        x = x.permute(tuple(map(self.permute.index, range(len(self.permute))))) if self.permute else x
        if not self.bits:
            return x
        import torch

        kind = getattr(torch, self.bits)
        if self.bits not in WORDS:
            return x.view(kind)
        return (x if x.stride(-1) == 1 else x.contiguous()).view(kind).squeeze(-1)


def _bytes_of(x: Any) -> Any:
    """The memory of a tensor as bytes; those of integers have a dim of their own."""
    import numpy as np
    import torch

    if dtype_name(x.dtype) in WORDS:
        x = x[..., None]
    return x.view(torch.uint8) if isinstance(x, torch.Tensor) else np.ascontiguousarray(x).view(np.uint8)


@dataclass(frozen=True, slots=True)
class KnownTable:
    """A small tensor of a module whose numbers are part of the program: a codebook, or amounts of shifts."""

    source: str
    """Its dotted name."""
    function: str
    """The tabulated function (`ir.tabulated`) whose values are its numbers, in row-major order."""

    def holds(self, tensor: Any) -> bool:
        """Whether a tensor has the numbers; a NaN is one."""
        import torch

        numbers = _numbers_of(self.function)
        found = tensor.detach().reshape(-1).double().cpu()
        return found.shape == numbers.shape and torch.allclose(found, numbers, rtol=0.0, atol=0.0, equal_nan=True)

    def check(self, tensor: Any, program: str) -> None:
        """Check that a tensor still has the numbers.

        Raises:
            ShapeError: it has others.
        """
        if not self.holds(tensor):
            raise ShapeError(
                f"{self.source!r} has other numbers than when {program} was traced, and they are part of its kernels; "
                "make a new px.Session of the module"
            )


@lru_cache(64)
def _numbers_of(function: str) -> Any:
    import torch

    entries = entries_of(function)
    if entries is None:
        raise ShapeError(f"{function[:40]!r} is no table of numbers")
    return torch.tensor(entries)


@dataclass(frozen=True, slots=True)
class Signature:
    """The mapping from a call's arguments to a program's inputs, as plain data that a saved kernel stores."""

    name: str
    arguments: tuple[str, ...]
    """Names of the tensors among the user's arguments, in order."""
    bindings: tuple[Binding, ...]
    form: ResultForm | None = None
    """The structure that the torch code returns; None where that is the program's result alone."""
    call: ArgumentForm | None = None
    """How the user calls the code; None where that is with the tensors `arguments` by position."""
    constants: tuple[str, ...] = ()
    """Of the further tensors, those that are written in the code."""
    tables: tuple[KnownTable, ...] = ()
    """Tensors of the module that the program does not read, because it has their numbers."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """Dotted names of the module tensors that the program reads or whose numbers it has, each once."""
        other = (*self.arguments, *self.constants)
        read = (*(b.source for b in self.bindings), *(t.source for t in self.tables))
        return tuple(dict.fromkeys(source for source in read if source not in other))

    def in_order(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        """The tensors among the user's arguments, however they were passed.

        Raises:
            ShapeError: an argument is missing, unknown, or given twice, or a constant differs from the traced one.
        """
        if self.call is not None:
            return self.call.flat(args, kwargs, self.name)
        if not kwargs and len(args) == len(self.arguments):
            return tuple(args)
        values = dict(zip(self.arguments, args, strict=False))
        if twice := [k for k in kwargs if k in values]:
            raise ShapeError(f"{self.name} was given {', '.join(twice)} twice, by position and by name")
        values.update(kwargs)
        missing = [a for a in self.arguments if a not in values]
        extra = [k for k in values if k not in self.arguments]
        if missing or extra or len(args) > len(self.arguments):
            raise ShapeError(
                f"{self.name} takes ({', '.join(self.arguments)}); "
                f"missing: {', '.join(missing) or 'none'}, unknown: {', '.join(extra) or 'none'}"
                + (f", and {len(args)} arguments were given" if len(args) > len(self.arguments) else "")
            )
        return tuple(values[a] for a in self.arguments)

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any], parameters: Mapping[str, Any]) -> tuple[Any, ...]:
        """The program's inputs, in its order, as views of the user's tensors.

        Raises:
            ShapeError: see `in_order`; or a table has other numbers.
        """
        given = self._given(args, kwargs)
        for table in self.tables:
            table.check(parameters[table.source], self.name)
        # A module may have thousands of parameters, so those are looked up one by one.
        sources = [given[b.source] if b.source in given else parameters[b.source] for b in self.bindings]
        return tuple([b.view(x) if b.permute or b.bits else x for x, b in zip(sources, self.bindings, strict=True)])

    def watch_tables(self, parameters: Mapping[str, Any]) -> Callable[[], bool]:
        """A function that says whether some table was written since a call of it found the numbers unchanged.

        Args:
            parameters: the module's tensors by their dotted names.
        """
        seen: dict[str, tuple[Any, int]] = {}

        def changed() -> bool:
            for table in self.tables:
                x = parameters[table.source]
                version = -1 if x.is_inference() else x._version
                before, known = seen.get(table.source, (None, -1))
                if before is x and known == version != -1:
                    continue
                if not table.holds(x):
                    return True
                seen[table.source] = (x, version)
            return False

        return changed

    def results(self, computed: Any, args: Sequence[Any], kwargs: Mapping[str, Any], own: Mapping[str, Any]) -> Any:
        """What the torch code returns for these arguments.

        Args:
            computed: the program's result.
            args: the user's arguments by position.
            kwargs: the user's arguments by name.
            own: the module's tensors.
        """
        if self.form is None:
            return computed
        return self.form.filled(computed, {**own, **self._given(args, kwargs)})

    def _given(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        return dict(zip(self.arguments, self.in_order(args, kwargs), strict=True))


def bind_inputs(
    signature: Signature | None, args: tuple[Any, ...], kwargs: Mapping[str, Any], parameters: Mapping[str, Any]
) -> tuple[Any, ...]:
    """The program's inputs from a call's arguments; without a signature they are passed through by position.

    Raises:
        ShapeError: an argument is missing or unknown.
    """
    if signature is not None:
        return signature.bind(args, kwargs, parameters)
    if kwargs:
        raise ShapeError(f"a program written by hand takes its inputs by position; found {', '.join(kwargs)}")
    return args


def with_structure(
    signature: Signature | None, computed: Any, args: Sequence[Any], kwargs: Mapping[str, Any], own: Mapping[str, Any]
) -> Any:
    """The program's result in the structure that the torch code returns; see `Signature.results`."""
    return computed if signature is None else signature.results(computed, args, kwargs, own)


@dataclass(frozen=True, slots=True)
class Traced:
    """A program, the torch code it was traced from, and the bindings between their inputs."""

    program: TensorProgram
    bindings: tuple[Binding, ...]
    reference: Callable[..., Any]
    """The user's function or module, called with the tensors `arguments`."""
    arguments: tuple[str, ...]
    """Names of the tensors among the user's arguments, in order."""
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The module's own tensors, by their dotted names, and the constant tensors of the code."""
    form: ResultForm | None = None
    """The structure that the code returns; None where that is the program's result alone."""
    operators: str = ""
    """The ATen operators that the code runs, as text: codes of one program may differ in them, and so in their time."""
    call: ArgumentForm | None = None
    """How the user calls the code; None where that is with the tensors `arguments` by position."""
    constants: tuple[str, ...] = ()
    """Names of the `parameters` that are written in the code and are no module's."""
    tables: tuple[KnownTable, ...] = ()
    """Of the other `parameters`, those whose numbers are part of the program, which does not read them."""

    @property
    def signature(self) -> Signature:
        """The mapping from the user's arguments to the program's inputs."""
        return Signature(
            self.program.name, self.arguments, self.bindings, self.form, self.call, self.constants, self.tables
        )

    @property
    def transposed_inputs(self) -> dict[str, tuple[str, tuple[int, ...]]]:
        """Inputs of the program that are a tensor of an earlier input with its dims in another order.

        Per name the earlier input, and for each dim the dim of it. A tensor that the code reads in two orders, or as
        numbers and as positions, is two inputs of the program.
        """
        first: dict[tuple[str, str], Binding] = {}
        found: dict[str, tuple[str, tuple[int, ...]]] = {}
        for binding, given in zip(self.bindings, self.program.inputs, strict=True):
            earlier = first.setdefault((binding.source, binding.bits), binding)
            if earlier is not binding:
                rank = given.type.rank
                of_tensor = earlier.permute or tuple(range(rank))
                found[binding.name] = earlier.name, tuple(map(of_tensor.index, binding.permute or range(rank)))
        return found

    @property
    def module(self) -> Any:
        """The user's function or module itself."""
        return self.reference if self.call is None else getattr(self.reference, SUBMODULE, self.reference)

    def call_with(self, own: Mapping[str, Any], arguments: Sequence[Any]) -> Any:
        """What the user's module returns with other tensors in place of its own.

        Args:
            own: tensors by their dotted names.
            arguments: in the order of `arguments`.
        """
        from torch.func import functional_call

        prefix = "" if self.call is None else f"{SUBMODULE}."
        held = {f"{prefix}{name}": x for name, x in own.items() if name not in self.constants}
        return functional_call(self.reference, held, tuple(arguments))  # pyright: ignore[reportArgumentType]

    def bind(self, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The program's inputs, in its order, as views of the user's tensors.

        Raises:
            ShapeError: an argument is missing or unknown.
        """
        return self.signature.bind(args, kwargs, self.parameters)

    def computed(self, found: Any) -> Any:
        """The program's result within what the code returned."""
        return found if self.form is None else self.form.computed(found)


def _permuted_tensor(x: Any, binding: Binding) -> Any:
    rank = len(getattr(x, "shape", ()))
    if rank != len(binding.permute):
        raise ShapeError(f"{binding.source!r} must have {len(binding.permute)} dims, found {rank}")
    return x.permute(binding.permute) if hasattr(x, "permute") else x.transpose(binding.permute)


def data_sizes(program: TensorProgram, sizes: Mapping[str, int]) -> dict[str, int]:
    """Validated sizes for all symbols of a program.

    Raises:
        ShapeError: a symbol has no size, a size is below 1, or a name is not a symbol of the program.
    """
    symbols = program.graph.data_symbols
    missing, unknown = [s for s in symbols if s not in sizes], [s for s in sizes if s not in symbols]
    if missing or unknown:
        raise ShapeError(
            f"{program.name} has the symbols ({', '.join(symbols) or 'none'}); give each a number to tune at, "
            f"such as at={{{', '.join(f'{s!r}: 8' for s in symbols)}}}; "
            f"missing: {', '.join(missing) or 'none'}, unknown: {', '.join(unknown) or 'none'}"
        )
    for s, n in sizes.items():
        if not isinstance(n, int) or isinstance(n, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ShapeError(f"symbol {s!r} was given {n!r}; sizes are whole numbers")
        if n < 1:
            raise ShapeError(f"symbol {s!r} was given {n}; sizes start at 1")
    return {s: sizes[s] for s in symbols}
