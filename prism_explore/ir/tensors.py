"""The type of a tensor: dims, dtype, and its layout in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any, Literal, TypeAlias, get_args

from prism_explore.errors import ShapeError
from prism_explore.ir.dims import ONE, ZERO, Dim, DimLike, dim

DType: TypeAlias = Literal["f64", "f32", "bf16", "f16", "bool", "i8", "u8", "w64", "w32", "i64", "i32"]
"""How elements are stored. What is computed is a float; only inputs and their views are whole numbers. Kernels read
`bool`, a byte that is 0 or 1, `i8`, and `u8` as numbers, and `i64` and `i32` as positions. `w64` and `w32` are stored
as these two, and read as numbers."""
DTYPES: tuple[str, ...] = get_args(DType)
BYTES: dict[str, int] = {
    **{"f64": 8, "f32": 4, "bf16": 2, "f16": 2, "bool": 1, "i8": 1, "u8": 1},
    **{"w64": 8, "w32": 4, "i64": 8, "i32": 4},
}
NAMES: dict[DType, str] = {
    **{"f64": "float64", "f32": "float32", "bf16": "bfloat16", "f16": "float16"},
    **{"bool": "bool", "i8": "int8", "u8": "uint8", "w64": "int64", "w32": "int32", "i64": "int64", "i32": "int32"},
}
"""Their names in torch and NumPy."""
FLOATS: frozenset[DType] = frozenset({"f64", "f32", "bf16", "f16"})
INTEGERS: frozenset[DType] = frozenset({"i64", "i32"})
"""Positions: only lookups read them."""
BYTE_INTEGERS: frozenset[DType] = frozenset({"i8", "u8"})
"""Integers of 8 bits, as of quantized weights."""
LARGEST_READ = 2**20
"""Of the integers of 32 and 64 bits that are read as numbers, so that float32 is exact for small multiples of them."""
WHOLE_NUMBERS: Mapping[DType, tuple[int, int]] = {
    **{"bool": (0, 1), "i8": (-128, 127), "u8": (0, 255)},
    **{"w64": (-LARGEST_READ, LARGEST_READ), "w32": (-LARGEST_READ, LARGEST_READ)},
}
"""Dtypes that are read as numbers, each with its smallest and its largest number; a call with others is refused."""
READ_AS_NUMBERS: Mapping[DType, DType] = {"i64": "w64", "i32": "w32"}
"""The dtype of integers that are numbers, by that of positions which are stored alike."""
INTEGER_NUMBERS: frozenset[DType] = frozenset(READ_AS_NUMBERS.values())
"""Dtypes of integers that are numbers, of which a call checks that they are within `WHOLE_NUMBERS`."""
WORDS: Mapping[str, int] = {NAMES[dtype]: BYTES[dtype] for dtype in sorted(INTEGERS)}
"""By their names in torch, integers of which a program may read the bytes, because they pack numbers of few bits. Per
name the count of bytes; the first has the lowest bits."""
DTYPE_OF_NAME: Mapping[str, DType] = {name: dtype for dtype, name in NAMES.items() if dtype not in INTEGER_NUMBERS}


@dataclass(frozen=True, slots=True)
class TensorType:
    """Dims and dtype; `order` lists the dims from slowest to fastest in memory.

    A linear layer's weight used as `x @ w.T` is an input of dims (k, n) with order (1, 0). The transposition is only
    a property of storage, so no kernel copies the weight to undo it. A slice of a larger tensor, or an expanded one, is
    not dense in any order: it has `strides`. A layout is no part of a tensor's value, so proofs do not depend on it.
    """

    dims: tuple[Dim, ...]
    dtype: DType = "f32"
    order: tuple[int, ...] = ()
    """Empty means row-major."""
    strides: tuple[Dim, ...] = ()
    """Per dim, the distance of neighbours in elements, 0 for an expanded dim; empty for a dense tensor."""

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise ShapeError(f"unknown dtype {self.dtype!r}; known are {', '.join(DTYPES)}")
        if self.strides and len(self.strides) != len(self.dims):
            raise ShapeError(f"{len(self.strides)} strides were given for {len(self.dims)} dims; give one per dim")
        if self.order and sorted(self.order) != list(range(len(self.dims))):
            raise ShapeError(f"order {self.order} is no permutation of {len(self.dims)} dims")
        if self.order == tuple(range(len(self.dims))):
            object.__setattr__(self, "order", ())

    @property
    def rank(self) -> int:
        """The number of dims."""
        return len(self.dims)

    @property
    def storage_order(self) -> tuple[int, ...]:
        """Dims from slowest to fastest, also for row-major."""
        return self.order or tuple(range(self.rank))

    @property
    def elements(self) -> Dim:
        """The number of elements."""
        return prod(self.dims, start=ONE)

    @property
    def bytes(self) -> Dim:
        """elements * (bytes / element) = bytes; elements that share memory count once, so an expanded dim is free."""
        elements = prod(_distinct_dims(self.dims, self.strides), start=ONE) if self.strides else self.elements
        return elements * BYTES[self.dtype]

    def shape_at(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """The sizes of the dims, each positive, or 0 where torch code has a tensor without elements.

        Args:
            sizes: the value of each symbol.

        Returns:
            One size per dim.

        Raises:
            ShapeError: a size is not a positive integer, or a symbol has no value.
        """
        return tuple(0 if d == ZERO else d.value(sizes) for d in self.dims)

    def strides_at(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """The strides in elements at these sizes of the symbols.

        Args:
            sizes: the value of each symbol.

        Returns:
            One stride per dim.
        """
        if self.strides:
            return tuple(int(s.rational(sizes)) for s in self.strides)
        return dense_strides(self.shape_at(sizes), self.storage_order)

    def substitute(self, sizes: Mapping[str, DimLike]) -> TensorType:
        """The type with values for some symbols.

        Args:
            sizes: the value of each symbol: an integer, the name of a symbol, or a `Dim`.

        Returns:
            A new type.
        """
        return self.with_sizes(lambda d: d.substitute(sizes))

    def with_sizes(self, put: Callable[[Dim], Dim]) -> TensorType:
        """The type with other sizes and strides.

        Args:
            put: the new size for each.

        Returns:
            A new type.
        """
        return TensorType(tuple(map(put, self.dims)), self.dtype, self.order, tuple(map(put, self.strides)))

    def permuted(self, order: Sequence[int]) -> TensorType:
        """The type of a view with the dims in another order.

        Args:
            order: per dim of the view, the dim of this type.

        Returns:
            A new type.
        """
        storage = tuple(list(order).index(d) for d in self.storage_order)
        strides = tuple(self.strides[d] for d in order) if self.strides else ()
        return TensorType(tuple(self.dims[d] for d in order), self.dtype, storage, strides)

    def of_bytes(self) -> TensorType:
        """The type of the bytes of integers.

        Returns:
            The type with one more dim, the last one and the fastest in memory.
        """
        size = BYTES[self.dtype]
        order = (*self.order, self.rank) if self.order else ()
        strides = (*(s * size for s in self.strides), ONE) if self.strides else ()
        return TensorType((*self.dims, dim(size)), "u8", order, strides)

    def __str__(self) -> str:
        layout = f" order({', '.join(map(str, self.order))})" if self.order else ""
        layout += f" strides({', '.join(map(str, self.strides))})" if self.strides else ""
        return f"{self.dtype}[{', '.join(map(str, self.dims))}]{layout}"


@lru_cache(64)
def dtype_name(dtype: object) -> str:
    """The name of a dtype of torch or NumPy, such as `float32`."""
    return str(dtype).removeprefix("torch.")


def promoted(dtypes: Iterable[DType]) -> DType | None:
    """The dtype of what is computed from operands of these dtypes; None where float64 meets a narrower float.

    It is torch's rule for tensors: the narrowest float that holds all of them, where whole numbers do not count.

    >>> promoted(["bf16", "bool"]), promoted(["bf16", "f16"]), promoted(["i8"])
    ('bf16', 'f32', 'f32')
    """
    floats: list[DType] = list(dict.fromkeys(d for d in dtypes if d not in WHOLE_NUMBERS))
    match floats:
        case [only]:
            return only
        case _:
            return None if "f64" in floats else "f32"


def numpy_dtype(dtype: DType) -> Any:
    """The NumPy dtype; that of bfloat16, which NumPy lacks, is from ml_dtypes."""
    import numpy as np

    if dtype == "bf16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(NAMES[dtype])


def _distinct_dims(dims: tuple[Dim, ...], strides: tuple[Dim, ...]) -> list[Dim]:
    """Dims whose product is at most the number of elements with memory of their own.

    A dim counts if its stride is at least the span of the faster ones, so that no two of its slices share memory.
    """
    if any(s.constant is None for s in strides) or any(d.constant is None for d in dims):
        return [d for d, s in zip(dims, strides, strict=True) if s != ZERO]  # a trace refuses symbols and overlap
    found, span = [ONE], 1
    for stride, size in sorted((s.constant or 0, d.constant or 1) for d, s in zip(dims, strides, strict=True)):
        if stride >= span:
            found.append(dim(size))
        elif stride and size > prod(d.constant or 1 for d in found):
            found = [dim(size)]
        span += (size - 1) * stride
    return found


def tensor(
    *dims: DimLike, dtype: DType | Any = "f32", order: tuple[int, ...] = (), strides: Sequence[DimLike] = ()
) -> TensorType:
    """The type of a tensor, from integers, names and values of `Dim`: `tensor("b", 4096)`.

    Args:
        dims: sizes from the first dim to the last: positive integers, names of symbols, or values of `Dim`.
        dtype: `f64`, `f32`, `bf16`, `f16`, `bool` for masks, `i8` and `u8` for quantized numbers, or `i64` and `i32`
            for indices; or torch's or NumPy's dtype or its name, such as `torch.bfloat16` and `"bfloat16"`.
        order: the dims from slowest to fastest in memory; empty for row-major.
        strides: per dim, the distance of neighbours in elements, for a tensor that is not dense.

    Returns:
        The type.

    Raises:
        ShapeError: a size is no integer from 1 on and no symbol, the dtype is unknown, `order` is no permutation of
            the dims, or there is not one stride per dim.

    Example:
        >>> import prism_explore as px
        >>> px.T("b", 4096, dtype="bf16").dims
        (dim('b'), dim('4096'))
    """
    for n, d in enumerate(dims):
        if not isinstance(d, int | str | Dim) or isinstance(d, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ShapeError(
                f"dim {n} of a tensor is a whole number or a symbol's name, such as px.T('b', 4096); found {d!r}, a "
                f"{type(d).__name__}"
            )
    sizes = tuple(dim(d) for d in dims)
    for d in sizes:
        if d.constant == 0:
            raise ShapeError(f"a tensor dim of size 0 in ({', '.join(map(str, sizes))}); sizes start at 1")
    return TensorType(sizes, dtype_of(dtype), order, tuple(map(dim, strides)))


def dtype_of(given: object) -> DType:
    """The dtype that a name of ours, or a dtype or name of torch's or NumPy's means.

    A string is first read as ours: `i8` has 8 bits here and 8 bytes in NumPy.

    Raises:
        ShapeError: it is none of them.

    >>> dtype_of("bf16"), dtype_of("bfloat16")
    ('bf16', 'bf16')
    """
    name = given.__name__ if isinstance(given, type) else dtype_name(given)
    if name in NAMES:
        return name
    if name not in DTYPE_OF_NAME:
        raise ShapeError(f"unknown dtype {given!r}; known are {', '.join(DTYPES)}, and {', '.join(DTYPE_OF_NAME)}")
    return DTYPE_OF_NAME[name]


def dense_strides(shape: tuple[int, ...], order: tuple[int, ...]) -> tuple[int, ...]:
    """Strides in elements of a dense tensor whose dims have this memory order, slowest first.

    >>> dense_strides((2, 3), (0, 1)), dense_strides((2, 3), (1, 0))
    ((3, 1), (1, 2))
    """
    strides, step = [0] * len(shape), 1
    for d in reversed(order):
        strides[d] = step
        step *= shape[d]
    return tuple(strides)


def layout_of(
    dims: tuple[Dim, ...], shape: Sequence[int], strides: Sequence[int]
) -> tuple[tuple[int, ...], tuple[Dim, ...]]:
    """The order and the strides of a type, from an example of it: both empty if it is row-major.

    A stride is symbolic where it is a multiple of a symbolic dim that is faster in memory.

    >>> layout_of((dim(2), dim(3)), (2, 3), (1, 2)), layout_of((dim(2), dim("s")), (2, 3), (6, 2))
    (((1, 0), ()), ((), (dim('2*s'), dim('2'))))
    """
    wide = [d for d, n in enumerate(shape) if n > 1 or dims[d].symbols]
    by_stride = iter(sorted(wide, key=lambda d: -strides[d]))
    order = tuple(next(by_stride) if d in wide else d for d in range(len(shape)))
    for candidate in (tuple(range(len(shape))), order):
        dense = dense_strides(tuple(shape), candidate)
        if all(n == 1 or s == t for n, s, t in zip(shape, strides, dense, strict=True)):
            return (() if candidate == tuple(range(len(shape))) else candidate), ()
    found: dict[int, Dim] = {}
    size = faster = 1
    symbolic = below = ONE
    for d in sorted(wide, key=lambda d: (strides[d], shape[d])):
        if strides[d] and strides[d] % faster == 0:
            ratio = strides[d] // faster
            below = below * (symbolic if ratio == size else dim(ratio))
            faster, size, symbolic = strides[d], shape[d], dims[d]
            found[d] = below
        else:
            found[d] = dim(strides[d])
    return order, tuple(found.get(d, ZERO) for d in range(len(shape)))


def broadcast(a: tuple[Dim, ...], b: tuple[Dim, ...], where: str) -> tuple[Dim, ...]:
    """Dims of an elementwise result; only a literal 1 broadcasts.

    Shapes: `* , * -> *`
    Raises:
        ShapeError: two dims differ and neither is 1.
    """
    rank = max(len(a), len(b))
    left, right = ((ONE,) * (rank - len(dims)) + dims for dims in (a, b))
    out: list[Dim] = []
    for x, y in zip(left, right, strict=True):
        if x != y and not x.is_one and not y.is_one:
            shown = f"({', '.join(map(str, a))}) and ({', '.join(map(str, b))})"
            raise ShapeError(f"{where}: dims {shown} do not broadcast, {x} differs from {y}")
        out.append(y if x.is_one else x)
    return tuple(out)
