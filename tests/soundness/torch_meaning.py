"""A program in torch, operator by operator, in float64."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from prism_explore.ir.elementwise import BINARY, UNARY
from prism_explore.ir.graph import SGraph
from prism_explore.ir.ops import (
    Band,
    Binary,
    Concat,
    Expand,
    Input,
    Lookup,
    MatMul,
    Op,
    Permute,
    Reduce,
    Reshape,
    Scalar,
    Scan,
    Slice,
    Unary,
)


def in_torch(program: SGraph, inputs: Mapping[str, Any], sizes: Mapping[str, int]) -> Any:
    """The result of a graph without custom kernels, as a float64 tensor.

    Args:
        program: without custom kernels.
        inputs: float64 tensors, and integers as they are.
        sizes: a number for every symbol.
    """
    values: list[Any] = []
    for node in program.nodes:
        args = [values[a] for a in node.args]
        values.append(inputs[node.op.name] if isinstance(node.op, Input) else _computed(node.op, args, sizes))
    return values[program.output]


def _computed(op: Op, args: list[Any], sizes: Mapping[str, int]) -> Any:
    x = args[0] if args else None
    match op:
        case Band(rows, columns, low, high, _):
            ahead = torch.arange(columns.value(sizes))[None, :] - torch.arange(rows.value(sizes))[:, None]
            inside = torch.ones_like(ahead, dtype=torch.bool)
            if low is not None:
                inside &= ahead >= float(low.rational(sizes))
            if high is not None:
                inside &= ahead <= float(high.rational(sizes))
            return inside.double()
        case Unary(fn):
            # A cast is the identity over the reals; where the result is stored decides the rounding.
            if fn in ("softplus", "mish"):  # torch returns x for both beyond 20, which is off by 2e-9
                soft = torch.logaddexp(x, torch.zeros_like(x))
                return x * torch.tanh(soft) if fn == "mish" else soft
            is_rounding = UNARY[fn].flops == 0
            return x if is_rounding else eval(UNARY[fn].torch.format("x"), {"torch": torch, "x": x}).double()
        case Scalar(fn, value):
            constant = torch.tensor(float(value), dtype=torch.float64)
            call = {"add": torch.add, "mul": torch.mul, "pow": torch.pow, "max": torch.maximum, "min": torch.minimum}
            return call[fn](x, constant)
        case Binary(fn):
            return eval(BINARY[fn].torch.format("x", "y"), {"torch": torch, "x": x, "y": args[1]})
        case MatMul():
            return torch.matmul(x, args[1])
        case Reduce("max", dim):
            return x.amax(dim, keepdim=True)
        case Reduce("rms", dim):
            return x.square().mean(dim, keepdim=True).sqrt()
        case Reduce(fn, dim):
            return getattr(x, fn)(dim, keepdim=True)
        case Scan("cumsum", dim):
            return x.cumsum(dim)
        case Scan(_, dim):
            return x.flip(dim).cumsum(dim).flip(dim)
        case Lookup(dim, 0):
            found = x.index_select(dim, args[1].flatten())
            return found.reshape((*x.shape[:dim], *args[1].shape, *x.shape[dim + 1 :]))
        case Lookup(dim, batch):
            found = [
                _computed(Lookup(dim - 1, batch - 1), [row, at], sizes) for row, at in zip(x, args[1], strict=True)
            ]
            return torch.stack(found)
        case Permute(order):
            return x.permute(order)
        case Reshape(dims):
            return x.reshape([d.value(sizes) for d in dims])
        case Expand(dim, size):
            return x.expand(*(size.value(sizes) if d == dim else -1 for d in range(x.ndim)))
        case Slice(dim, start, stop):
            first = int(start.rational(sizes))
            return x.narrow(dim, first, int(stop.rational(sizes)) - first)
        case Concat(dim):
            return torch.cat(args, dim)
        case _:
            raise NotImplementedError(f"{type(op).__name__}: add a case to tests/soundness/torch_meaning.py")
