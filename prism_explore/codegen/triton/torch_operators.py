"""The operators between Triton kernels, as text: each is a call of torch."""

from __future__ import annotations

from collections.abc import Mapping

from prism_explore.ir.dims import ZERO, Dim
from prism_explore.ir.elementwise import BINARY, UNARY
from prism_explore.ir.ops import (
    Band,
    Binary,
    ComputeOp,
    Concat,
    Expand,
    Lookup,
    MatMul,
    Permute,
    Reduce,
    ReduceFn,
    Reshape,
    Scalar,
    ScalarFn,
    Scan,
    ScanFn,
    Slice,
    Unary,
)
from prism_explore.ir.tensors import DType

TORCH_DTYPE: dict[DType, str] = {
    "f64": "torch.float64",
    "f32": "torch.float32",
    "bf16": "torch.bfloat16",
    "f16": "torch.float16",
    "bool": "torch.bool",
    "i8": "torch.int8",
    "u8": "torch.uint8",
    "w64": "torch.int64",
    "w32": "torch.int32",
    "i64": "torch.int64",
    "i32": "torch.int32",
}

TORCH_SCALAR: dict[ScalarFn, str] = {
    "add": "torch.add({0}, {1})",
    "mul": "torch.mul({0}, {1})",
    "pow": "torch.pow({0}, {1})",
    "max": "torch.clamp({0}, min={1})",
    "min": "torch.clamp({0}, max={1})",
}

TORCH_REDUCE: dict[ReduceFn, str] = {
    "sum": "torch.sum({0}, {1})",
    "mean": "torch.mean({0}, {1})",
    "rms": "torch.sqrt(torch.mean(torch.square({0}), {1}))",
    "max": "torch.amax({0}, {1})",
}

TORCH_SCAN: dict[ScanFn, str] = {
    "cumsum": "torch.cumsum({0}, {1})",
    "reverse_cumsum": "torch.cumsum({0}.flip({1}), {1}).flip({1})",
}


def band_text(band: Band, sizes: Mapping[str, int], dtype: DType, near: str) -> str:
    """A band as a tensor on the device of another tensor."""
    where = f"device={near}.device"
    rows, columns = (f"torch.arange({d.value(sizes)}, {where})" for d in (band.rows, band.columns))
    distance = f"({columns} - {rows}[:, None])"
    tests = [f"({low} <= {distance})" for low in _bounds(band.low, sizes)]
    tests += [f"({distance} <= {high})" for high in _bounds(band.high, sizes)]
    return f"({' & '.join(tests) or f'{distance} == {distance}'}).to({TORCH_DTYPE[dtype]})"


def _bounds(d: Dim | None, sizes: Mapping[str, int]) -> tuple[float, ...]:
    return () if d is None else (float(d.rational(sizes)),)


def operator_text(op: ComputeOp | Lookup, args: list[str], shape: tuple[int, ...], sizes: Mapping[str, int]) -> str:
    """A call of torch that computes an operator; `shape` is that of the result."""
    match op:
        case Unary(fn):
            return UNARY[fn].torch.format(*args)
        case Binary(fn):
            return BINARY[fn].torch.format(*args)
        case Scalar(fn, value):
            return TORCH_SCALAR[fn].format(args[0], repr(float(value)))
        case MatMul():
            return f"torch.matmul({args[0]}, {args[1]})"
        case Reduce(fn, along):
            return TORCH_REDUCE[fn].format(args[0], f"dim={along}, keepdim=True")
        case Scan(fn, along):
            return TORCH_SCAN[fn].format(args[0], along)
        case Lookup(along, 0):
            return f"torch.index_select({args[0]}, {along}, {args[1]}.reshape(-1)).reshape({shape})"
        case Lookup(along, batch):
            table, integers = args
            before, after = f"{integers}.shape[:{batch}]", f"({table}.ndim - {along + 1})"
            dims = f"*{before}, *(1,) * {along - batch}, -1, *(1,) * {after}"
            return f"torch.take_along_dim({table}, {integers}.long().reshape({dims}), {along}).reshape({shape})"
        case Permute(order):
            return f"{args[0]}.permute({order})"
        case Reshape(dims):
            return f"{args[0]}.reshape({tuple(d.value(sizes) for d in dims)})"
        case Expand(along, _):
            shown = ", ".join("-1" if d != along else str(shape[d]) for d in range(len(shape)))
            return f"{args[0]}.expand({shown})"
        case Slice(along, start, _):
            first = start.value(sizes) if start != ZERO else 0
            return f"{args[0]}.narrow({along}, {first}, {shape[along]})"
        case Concat(along):
            return f"torch.cat(({', '.join(args)}), {along})"
