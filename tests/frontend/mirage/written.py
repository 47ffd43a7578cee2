"""Mirage's JSON written by hand: every dim is stated by the test, nothing comes from the package."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path
from typing import Any

Tensor = dict[str, Any]
XYZ = "xyz"


def axes(values: tuple[int, ...], fill: int) -> dict[str, int]:
    return dict(zip(XYZ, (*values, fill, fill, fill), strict=False))


class Written:
    """A kernel graph, operator by operator."""

    def __init__(self, dtype: int = 941) -> None:
        self.operators: list[dict[str, Any]] = []
        self.dtype = dtype
        self.guids = count(100)

    def tensor(self, dims: tuple[int, ...], **more: Any) -> Tensor:
        padded = [*dims, *[0] * (4 - len(dims))]
        return {"data_type": self.dtype, "dim": padded, "guid": next(self.guids), "num_dims": len(dims), **more}

    def put(self, op_type: str, inputs: list[Tensor], outputs: list[Tensor], **more: Any) -> None:
        self.operators.append({"op_type": op_type, "input_tensors": inputs, "output_tensors": outputs, **more})

    def input(self, *dims: int, **more: Any) -> Tensor:
        made = self.tensor(dims)
        self.put("kn_input_op", [], [made], **more)
        return made

    def op(self, op_type: str, *inputs: Tensor, dims: tuple[int, ...], **more: Any) -> Tensor:
        return self.ops(op_type, *inputs, dims=(dims,), **more)[0]

    def ops(self, op_type: str, *inputs: Tensor, dims: tuple[tuple[int, ...], ...], **more: Any) -> list[Tensor]:
        made = [self.tensor(d) for d in dims]
        self.put(op_type, list(inputs), made, **more)
        return made

    def custom(self, block: Block, *inputs: Tensor) -> list[Tensor]:
        bgraph = {
            "grid_dim": axes(block.grid, 1),
            "forloop_range": block.loop,
            "operators": block.operators,
            "reduction_dimx": 64,
        }
        self.put("kn_customized_op", list(inputs), block.results, bgraph=bgraph)
        return block.results

    def output(self, t: Tensor) -> list[dict[str, Any]]:
        self.put("kn_output_op", [t], [])
        return self.operators


class Block(Written):
    """A block graph."""

    def __init__(self, kernel: Written, grid: tuple[int, ...] = (1,), loop: int = 1) -> None:
        super().__init__(kernel.dtype)
        self.guids = kernel.guids
        self.grid = grid
        self.loop = loop
        self.results: list[Tensor] = []

    def load(self, source: Tensor, imap: tuple[int, ...], fmap: int, dims: tuple[int, ...]) -> Tensor:
        made = self.tensor(dims)
        self.put("tb_input_op", [], [made], dtensor=source, input_map=axes(imap, -1), forloop_dim=fmap)
        return made

    def store(self, t: Tensor, omap: tuple[int, ...], dims: tuple[int, ...], **more: Any) -> None:
        self.results.append(self.tensor(dims))
        self.put("tb_output_op", [t], more.pop("outputs", []), dtensor=self.results[-1], output_map=axes(omap, -1))


def save(path: Path, *graphs: list[dict[str, Any]]) -> Path:
    path.write_text(json.dumps(graphs), encoding="utf-8")
    return path
