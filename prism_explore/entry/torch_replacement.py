# pyright: basic
# Most values are objects of torch, which pyright types only in part.
"""Kernels in torch's graph: a module in the place of each region, which runs torch's code where the kernel cannot."""

from __future__ import annotations

import time
import warnings
from contextlib import suppress
from typing import Any

from prism_explore.entry.torch_nodes import number_of
from prism_explore.entry.torch_regions import Region, flat_rows
from prism_explore.entry.torch_report import Calls
from prism_explore.errors import ShapeError
from prism_explore.runtime.kernel_for_sizes import KernelForSizes, NoKernelError
from prism_explore.runtime.saved_kernel import SavedKernel
from prism_explore.tune.runner.torch_code import torch_compiled


def replace_region(module: Any, region: Region, kernel: SavedKernel | KernelForSizes, calls: Calls) -> None:
    """Let a kernel compute a region; torch's code runs where it does not take a call.

    Args:
        module: of torch's graph, which is changed.
        region: of the graph.
        kernel: of its program.
        calls: counts the calls that the kernel took, and those that it did not.
    """
    import torch

    given = [n for n, i in enumerate(region.inputs) if i in region.tensors]
    # A program without symbols has the numbers of the call at which torch compiles, also those that follow from sizes.
    fixed = region.fixed_numbers if isinstance(kernel, KernelForSizes) else region.inputs
    numbers = {n: number_of(i) for n, i in enumerate(region.inputs) if i in fixed and i not in region.tensors}
    leads = tuple(map(region.has_rows, region.tensors)) if region.row_dims else ()
    order = region.order or ()
    inverse = None if order == tuple(range(len(order))) else tuple(order.index(d) for d in range(len(order)))
    warnings_left = [region.name]  # one warning per region, also if it runs in several threads

    class Replaced(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.torch_code = region.module()

        def forward(self, *inputs: Any) -> Any:
            try:
                if any(inputs[n] != size for n, size in numbers.items()):
                    raise ShapeError("a number is another one than that of the search")
                tensors = tuple(inputs[n] for n in given)
                found = kernel(*_flattened(tensors, leads))
                calls.accepted += 1
            except NoKernelError as waiting:
                calls.refused, calls.why = calls.refused + 1, str(waiting)
                start = time.perf_counter()
                result = self.torch_code(*inputs)
                waiting.spent(time.perf_counter() - start)
                return result
            except ShapeError as error:
                calls.refused, calls.why = calls.refused + 1, str(error)
                with suppress(IndexError):
                    warnings.warn(f"prism: {warnings_left.pop()} runs in torch: {error}", stacklevel=2)
                return self.torch_code(*inputs)
            if leads:
                return found.reshape(*tensors[leads.index(True)].shape[:-1], found.shape[-1])
            return found if inverse is None else found.permute(inverse)

    insert_module(module, region, Replaced())


def _flattened(inputs: tuple[Any, ...], leads: tuple[bool, ...]) -> tuple[Any, ...]:
    """The inputs, those with rows seen with all leading dims as one.

    Raises:
        ShapeError: that takes a copy of one of them.
    """
    if not leads:
        return inputs
    try:
        return tuple(flat_rows(x) if has_rows else x for x, has_rows in zip(inputs, leads, strict=True))
    except RuntimeError:
        raise ShapeError("an input's leading dims cannot be seen as one without a copy") from None


def compiled_region(region: Region) -> Any:
    """The region's torch code as a module, compiled by the default compiler at its first call."""
    import torch

    class Compiled(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.torch_code = torch_compiled(region.module())

        def forward(self, *inputs: Any) -> Any:
            return self.torch_code(*inputs)

    return Compiled()


def insert_module(module: Any, region: Region, made_module: Any) -> None:
    """Let a module compute a region's result in the graph.

    Args:
        module: of torch's graph, which is changed.
        region: of the graph.
        made_module: takes the region's inputs.
    """
    result = region.result
    name = f"prism_{result.name}"
    module.add_submodule(name, made_module)
    with module.graph.inserting_before(result):
        made = module.graph.call_module(name, region.inputs)
    made.meta.update(result.meta)
    result.replace_all_uses_with(made)
    # Only nodes of the region: a write in place elsewhere has no users either, but is not dead code.
    for node in reversed(region.nodes):
        if not node.users:
            module.graph.erase_node(node)
