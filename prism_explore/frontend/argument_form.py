"""How a torch function is called: numbers, structures of tensors and keyword-only arguments beside tensors by position.

A traced program takes tensors. `ArgumentForm` maps a call of the user's function to them and back. Numbers, texts and
None are part of the program: a call with another value is refused. `ArgumentForm` is plain data, so a saved kernel
keeps it. The structures are those of `torch.utils._pytree`: lists, tuples, dicts, named tuples, nested.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from math import isnan, prod
from typing import Any, TypeAlias

from prism_explore.errors import ShapeError
from prism_explore.frontend.registered_dataclasses import register_dataclasses
from prism_explore.frontend.structure_text import structure_from_text, structure_to_text
from prism_explore.ir.tensors import DTYPE_OF_NAME, NAMES, TensorType, dtype_name

SUBMODULE = "user_code"
"""The name of the user's module within `rebuilt(...)`; no attribute of torch's `GraphModule` may have it."""


@dataclass(frozen=True, slots=True)
class TensorLeaf:
    """A tensor, by the name that it has in the program."""

    name: str
    is_complex: bool = False
    """Whether the user's tensor is complex; the program has it as `torch.view_as_real`, which copies nothing."""


ArgumentLeaf: TypeAlias = "TensorLeaf | bool | int | float | str | None"
"""A part of an argument: a tensor, or a constant."""


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of the user's function."""

    name: str
    leaves: tuple[ArgumentLeaf, ...]
    structure: Any = None
    """Of the leaves, as torch's `TreeSpec`; None where the argument is a single leaf."""
    by_name: bool = False
    """Whether it is passed by name."""
    by_position: bool = True
    """Whether a call may pass it by position."""

    def leaves_of(self, given: Any, program: str) -> list[Any]:
        """The leaves of an argument of a call.

        Raises:
            ShapeError: it has another structure, or another constant.
        """
        found, structure = [given], None
        if self.structure is not None:
            from torch.utils import _pytree

            found, structure = _pytree.tree_flatten(given)
        if structure != self.structure:
            raise ShapeError(
                f"argument {self.name!r} of {program} has the structure {structure}; it was traced with "
                f"{self.structure}; trace it again for another one"
            )
        for own, x in zip(self.leaves, found, strict=True):
            if not isinstance(own, TensorLeaf) and not _is_same(own, x):
                raise ShapeError(
                    f"argument {self.name!r} of {program} was {own!r} when it was traced, and is {_short(x)} in this "
                    "call; a number is part of the program, so search again for another one, or pass it as a tensor"
                )
        return found

    def value(self, tensors: Mapping[str, Any]) -> Any:
        """The argument, made of these tensors by name."""
        leaves = [_as_passed(own, tensors[own.name]) if isinstance(own, TensorLeaf) else own for own in self.leaves]
        if self.structure is None:
            return leaves[0]
        from torch.utils import _pytree

        return _pytree.tree_unflatten(leaves, self.structure)


@dataclass(frozen=True, slots=True)
class ArgumentForm:
    """The arguments of a call, in order."""

    arguments: tuple[Argument, ...]

    @property
    def tensors(self) -> tuple[str, ...]:
        """The names of the tensors, in order."""
        return tuple(x.name for a in self.arguments for x in a.leaves if isinstance(x, TensorLeaf))

    @property
    def is_plain(self) -> bool:
        """Whether the arguments are tensors by position and nothing else."""
        return all(a.structure is None and not a.by_name and a.leaves == (TensorLeaf(a.name),) for a in self.arguments)

    def flat(self, args: Sequence[Any], kwargs: Mapping[str, Any], program: str) -> tuple[Any, ...]:
        """The tensors of a call, in order; a call may leave out an argument that is a constant.

        Raises:
            ShapeError: an argument is missing, unknown or given twice, or differs from the traced one in its structure
                or a constant.
        """
        places = [a.name for a in self.arguments if a.by_position]
        given = dict(zip(places, args, strict=False))
        if twice := [k for k in kwargs if k in given]:
            raise ShapeError(f"{program} was given {', '.join(twice)} twice, by position and by name")
        given.update(kwargs)
        known = {a.name for a in self.arguments}
        missing = [
            a.name for a in self.arguments if a.name not in given and any(isinstance(x, TensorLeaf) for x in a.leaves)
        ]
        unknown = [k for k in given if k not in known]
        if missing or unknown or len(args) > len(places):
            raise ShapeError(
                f"{program} takes ({', '.join(a.name for a in self.arguments)}); "
                f"missing: {', '.join(missing) or 'none'}, unknown: {', '.join(unknown) or 'none'}"
                + (f", and {len(args)} arguments were given by position" if len(args) > len(places) else "")
            )
        return tuple(
            _as_read(own, x)
            for a in self.arguments
            if a.name in given
            for own, x in zip(a.leaves, a.leaves_of(given[a.name], program), strict=True)
            if isinstance(own, TensorLeaf)
        )

    def rebuilt(self, code: Callable[..., Any]) -> Callable[..., Any]:
        """The code as a function of the tensors alone; a module remains one, with the code as its `SUBMODULE`."""
        import torch

        def run(*tensors: Any) -> Any:
            given = dict(zip(self.tensors, tensors, strict=True))
            args = [a.value(given) for a in self.arguments if not a.by_name]
            return code(*args, **{a.name: a.value(given) for a in self.arguments if a.by_name})

        if not isinstance(code, torch.nn.Module):
            return run

        class OfTensors(torch.nn.Module):
            def forward(self, *tensors: Any) -> Any:
                return run(*tensors)

        module = OfTensors()
        module.train(code.training)
        module.add_module(SUBMODULE, code)
        return module

    def to_plain(self) -> list[Any]:
        """The form as lists, numbers and texts.

        Raises:
            ShapeError: a structure cannot be saved.
        """
        return [
            [
                a.name,
                [[_kind(x), x.name] if isinstance(x, TensorLeaf) else ["constant", x] for x in a.leaves],
                None if a.structure is None else structure_to_text(a.structure, "arguments"),
                a.by_name,
                a.by_position,
            ]
            for a in self.arguments
        ]

    @classmethod
    def from_plain(cls, plain: Any) -> ArgumentForm:
        """The form from what `to_plain` returned."""
        return cls(
            tuple(
                Argument(
                    str(name),
                    tuple(x if kind == "constant" else TensorLeaf(str(x), kind == "complex") for kind, x in leaves),
                    None if structure is None else structure_from_text(str(structure), len(leaves)),
                    bool(by_name),
                    bool(by_position),
                )
                for name, leaves, structure, by_name, by_position in plain
            )
        )


def _kind(leaf: TensorLeaf) -> str:
    return "complex" if leaf.is_complex else "tensor"


def _as_read(leaf: ArgumentLeaf, x: Any) -> Any:
    """A tensor of the user's call as the program has it."""
    if not (isinstance(leaf, TensorLeaf) and leaf.is_complex):
        return x
    import torch

    return torch.view_as_real(torch.as_tensor(x).resolve_conj())


def _as_passed(leaf: TensorLeaf, x: Any) -> Any:
    """A tensor of the program as the user's code takes it."""
    import torch

    return torch.view_as_complex(x) if leaf.is_complex else x


def constant_to_plain(name: str, tensor: Any) -> list[Any]:
    """A constant tensor of the code as its name, its dtype, its shape and its elements as text."""
    wide = tensor.detach().cpu().reshape(-1)
    elements = [float(x).hex() for x in wide.tolist()]
    return [name, dtype_name(tensor.dtype), list(tensor.shape), elements]


def constant_from_plain(plain: Any) -> tuple[str, Any]:
    """A constant tensor and its name, from what `constant_to_plain` returned."""
    import torch

    name, dtype, shape, elements = plain
    if prod(int(n) for n in shape) != len(elements) or any(int(n) < 0 for n in shape):
        raise ValueError(f"the constant {name!r} has {len(elements)} elements, and the shape {shape}")
    kind = getattr(torch, NAMES[DTYPE_OF_NAME[str(dtype)]])
    wide = torch.tensor([float.fromhex(x) for x in elements], dtype=torch.float64)
    return str(name), wide.to(kind).reshape([int(n) for n in shape])


def argument_form(
    parameters: Sequence[inspect.Parameter] | None, inputs: Mapping[str, Any]
) -> tuple[ArgumentForm, dict[str, Any]]:
    """The form of a call with these arguments, and its declared types or example tensors by name.

    Args:
        parameters: of the function; None where they are not known, and all arguments are passed by position.
        inputs: per argument a type, an example tensor, a constant, or a structure of them.

    Raises:
        ShapeError: a part of an argument is neither tensor nor constant.
    """
    arguments: list[Argument] = []
    types: dict[str, Any] = {}
    kinds = {p.name: p.kind for p in parameters or ()}
    order = [n for n in kinds if n in inputs] + [n for n in inputs if n not in kinds]
    left_out = False
    for name in order:
        kind = kinds.get(name, inspect.Parameter.KEYWORD_ONLY if parameters is not None else _POSITIONAL)
        before = [n for n in kinds if n not in inputs] if kind is _POSITIONAL else []
        left_out = left_out or any(list(kinds).index(n) < list(kinds).index(name) for n in before)
        leaves, structure = _flattened(inputs[name])
        made: list[ArgumentLeaf] = []
        for path, x in leaves:
            if _is_tensor(x):
                free = (f"{name}{path}{'_' * k}" for k in range(len(types) + 1))
                chosen = next(n for n in free if n not in types and (n == name or n not in inputs))
                leaf = TensorLeaf(chosen, dtype_name(x.dtype) in ("complex64", "complex128"))
                types[leaf.name] = _as_read(leaf, x)
                made.append(leaf)
            elif x is None or isinstance(x, bool | int | float | str):
                made.append(x)
            else:
                raise ShapeError(
                    f"argument {name!r}: expected px.T(...), a tensor, a number, a text or None, or a list, tuple or "
                    f"dict of them; found {type(x).__name__}"
                )
        is_positional = kind in (_POSITIONAL, inspect.Parameter.POSITIONAL_ONLY)
        by_name = kind is inspect.Parameter.KEYWORD_ONLY or (left_out and kind is _POSITIONAL)
        arguments.append(Argument(name, tuple(made), structure, by_name, is_positional and not by_name))
    return ArgumentForm(tuple(arguments)), types


_POSITIONAL = inspect.Parameter.POSITIONAL_OR_KEYWORD


def _is_tensor(x: Any) -> bool:
    return isinstance(x, TensorType) or (hasattr(x, "shape") and hasattr(x, "dtype"))


def _flattened(given: Any) -> tuple[list[tuple[str, Any]], Any]:
    """The leaves of an argument, each with the end of its name, and their structure; None for a single leaf."""
    if _is_tensor(given) or not (isinstance(given, list | tuple | dict) or is_dataclass(given)):
        return [("", given)], None
    from torch.utils import _pytree

    register_dataclasses(given)
    if _pytree.tree_is_leaf(given):
        return [("", given)], None
    found, structure = _pytree.tree_flatten_with_path(given)
    return [("".join(f"_{_key(k)}" for k in path), x) for path, x in found], structure


def _key(entry: Any) -> str:
    for field in ("idx", "key", "name"):
        if hasattr(entry, field):
            return str(getattr(entry, field))
    return str(entry)


def _is_same(own: Any, given: Any) -> bool:
    """Whether a constant is the traced one; `True` is not 1, which torch treats differently."""
    if isinstance(own, float) and isinstance(given, float) and isnan(own):
        return isnan(given)
    is_number = isinstance(own, int | float) and isinstance(given, int | float)
    return isinstance(own, bool) == isinstance(given, bool) and (is_number or type(own) is type(given)) and own == given


def _short(x: Any) -> str:
    return repr(x) if x is None or isinstance(x, bool | int | float | str) else f"a {type(x).__name__}"
