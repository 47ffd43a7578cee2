"""The modelled work of a kernel: its arithmetic, and its traffic to memory at given sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from prism_explore.cost.roofline import time_bound_of_graph
from prism_explore.errors import PrismError
from prism_explore.ir.graph import SGraph
from prism_explore.targets import Target
from prism_explore.tune.space.time_model import TimeModel, model_of_graph


@dataclass(frozen=True, slots=True)
class WorkModel:
    """The work of one candidate at the sizes of the search, as a function of its parameters."""

    flops: float
    """The least arithmetic, as in `cost.roofline`: the same for all parameters."""
    model: TimeModel
    parameters: tuple[str, ...]
    """The parameters of its grid and loops; schedule parameters do not change the traffic."""

    def intensity(self, values: Mapping[str, int]) -> float:
        """Arithmetic per byte from and to memory, modelled; 0 if a parameter is missing. Units: flop/byte."""
        if any(name not in values for name in self.parameters):
            return 0.0
        moved = self.model.estimate({name: values[name] for name in self.parameters}).dram_bytes
        return self.flops / moved if moved > 0 else 0.0


def work_model(graph: SGraph, shapes: tuple[tuple[str, int], ...], machine: Target) -> WorkModel | None:
    """The work of an sGraph whose maps are chosen; None if a size is missing."""
    sizes = dict(shapes)
    try:
        flops = time_bound_of_graph(graph, sizes, machine).flops
        return WorkModel(flops, model_of_graph(graph, sizes, machine), graph.parameters)
    except (PrismError, KeyError, ZeroDivisionError):
        return None
