"""The type of a tensor: dims, dtype, and the order of its dims in memory."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, Literal, TypeAlias, get_args

from prism_explore.errors import ShapeError
from prism_explore.ir.dims import ONE, Dim, DimLike, dim

DType: TypeAlias = Literal["f64", "f32", "bf16", "f16"]
DTYPES: tuple[str, ...] = get_args(DType)
BYTES: dict[str, int] = {"f64": 8, "f32": 4, "bf16": 2, "f16": 2}
NAMES: dict[DType, str] = {"f64": "float64", "f32": "float32", "bf16": "bfloat16", "f16": "float16"}
"""Their names in torch and NumPy."""


@dataclass(frozen=True, slots=True)
class TensorType:
    """Dims and dtype; `order` lists the dims from slowest to fastest in memory.

    A linear layer's weight used as `x @ w.T` is an input of dims (k, n) with order (1, 0). The transposition is only
    a property of storage, so no kernel copies the weight to undo it.
    """

    dims: tuple[Dim, ...]
    dtype: DType = "f32"
    order: tuple[int, ...] = ()
    """Empty means row-major."""

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise ShapeError(f"unknown dtype {self.dtype!r}; known are {', '.join(DTYPES)}")
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
        """elements * (bytes / element) = bytes."""
        return self.elements * BYTES[self.dtype]

    def __str__(self) -> str:
        layout = f" order({', '.join(map(str, self.order))})" if self.order else ""
        return f"{self.dtype}[{', '.join(map(str, self.dims))}]{layout}"


def numpy_dtype(dtype: DType) -> Any:
    """The NumPy dtype; that of bfloat16, which NumPy lacks, is from ml_dtypes."""
    import numpy as np

    if dtype == "bf16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(NAMES[dtype])


def tensor(*dims: DimLike, dtype: DType = "f32", order: tuple[int, ...] = ()) -> TensorType:
    """The type of a tensor, from integers, names and `Dim`s: `tensor("b", 4096)`.

    Args:
        dims: sizes from the first dim to the last: positive integers, names of symbols, or `Dim`s.
        dtype: `f64`, `f32`, `bf16` or `f16`.
        order: the dims from slowest to fastest in memory; empty for row-major.

    Returns:
        The type.

    Raises:
        ShapeError: a size is no integer from 1 on and no symbol, the dtype is unknown, or `order` is no permutation of
            the dims.

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
    return TensorType(sizes, dtype, order)


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
