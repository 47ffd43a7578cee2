"""A CPU kernel as a callable on torch tensors or NumPy arrays, without copies.

Calls are re-entrant: scratch and intermediate tensors belong to a call, and are kept for the next one.
"""

from __future__ import annotations

import copy
import ctypes
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from prism_explore.codegen.cpu.arguments import Array, ExpectedArgument, data_address
from prism_explore.codegen.cpu.call_memory import Bytes, MemoryLayout, NewMemory, aligned_memory
from prism_explore.codegen.cpu.compile import CompiledProgram, MachineCode, compile_program
from prism_explore.codegen.cpu.loop_ir import positions_of
from prism_explore.codegen.cpu.plan import Plan, plan
from prism_explore.codegen.cpu.thread_pool import CallFrame, PoolKind, ThreadTeam, thread_team
from prism_explore.errors import ShapeError
from prism_explore.pipeline.stages import Kernel

Allocate: TypeAlias = Callable[[ExpectedArgument, Array], tuple[Array, int]]
"""A new result like another tensor, and the address of its first element."""


def load(kernel: Kernel, pool: PoolKind = "auto", code: MachineCode | None = None) -> LoadedKernel:
    """The callable of a CPU kernel; see `codegen.load.load`.

    Args:
        kernel: made by `emit`.
        pool: the threads.
        code: what another process of this machine compiled of the same kernel; it is compiled here if None.
    """
    kernel_plan = plan(kernel.verified.candidate.sgraph, kernel.parameters, dict(kernel.shapes))
    if isinstance(kernel_plan, str):
        raise ShapeError(kernel_plan)
    return load_plan(kernel_plan, pool) if code is None else _of_code(kernel_plan, pool, code)


def _of_code(kernel_plan: Plan, pool: PoolKind, code: MachineCode) -> LoadedKernel:
    return LoadedKernel(kernel_plan, code.load(kernel_plan.host), thread_team(pool))


def load_plan(kernel_plan: Plan, pool: PoolKind = "auto") -> LoadedKernel:
    """The callable of a plan."""
    return LoadedKernel(
        kernel_plan, compile_program(kernel_plan.loops, kernel_plan.schedule, kernel_plan.host), thread_team(pool)
    )


class LoadedKernel:
    """A compiled kernel as a function.

    `kernel(x, g, w)` takes the program's inputs in order and returns a new tensor of their library; with `out=` the
    result is written to that tensor instead, where there is one. Several results are a tuple.
    """

    def __init__(self, kernel_plan: Plan, compiled: CompiledProgram, team: ThreadTeam) -> None:
        self.plan = kernel_plan
        self.threads = dict(kernel_plan.schedule)["threads"]
        self._compiled = compiled
        self._team = team
        limits = positions_of(kernel_plan.loops)
        self.inputs = tuple(ExpectedArgument.for_buffer(b, limits.get(b.name)) for b in kernel_plan.loops.inputs)
        """What each input must be."""
        self._outputs = tuple(ExpectedArgument.for_buffer(b) for b in kernel_plan.loops.outputs)
        first = 1 + len(compiled.entries)
        self._input_slots = slice(first, first + len(self.inputs))
        """Where a call frame has the addresses of the inputs."""
        self._output_slots = slice(-1 - len(self._outputs), -1)
        """Where it has the addresses of the results."""
        self._layout = MemoryLayout.of(
            kernel_plan.loops.temporaries, self.threads, compiled.scratch_bytes, kernel_plan.host.line_bytes
        )
        self._new_memory: NewMemory = aligned_memory
        self._idle: deque[_Call] = deque()
        """Memory that no call uses at the moment."""

    @property
    def source(self) -> str:
        """The kernel's text."""
        return self.plan.source

    @property
    def machine_code(self) -> MachineCode:
        """Its code, for another process on this machine."""
        return self._compiled.machine_code

    def __call__(
        self, *inputs: Array, out: Array | None = None, allocate: Allocate = ExpectedArgument.allocate_like
    ) -> Array:
        """The result for these inputs; a tuple where there are several.

        Args:
            inputs: of the program, in order.
            out: memory for the result; None for new memory.
            allocate: makes a new result, and its address.

        Raises:
            ShapeError: a wrong number of inputs, a wrong shape, dtype or memory order, an integer that is no position
                in the dim that it looks up, or an `out` that shares memory with an input.
        """
        pointers = self._pointers(inputs)
        if out is None:
            return self.at_addresses(pointers, inputs[0], allocate)
        self._run(pointers, (self._checked_out(out, pointers),))
        return out

    def at_addresses(
        self, pointers: Sequence[int], like: Array, allocate: Allocate = ExpectedArgument.allocate_like
    ) -> Array:
        """The result for inputs at these addresses, which the caller has compared with `inputs`.

        Args:
            pointers: addresses of the inputs in order.
            like: an array or a tensor of the library that makes the results.
            allocate: makes a new result, and its address.
        """
        results, targets = zip(*(allocate(e, like) for e in self._outputs), strict=True)
        self._run(pointers, targets)
        return results[0] if len(results) == 1 else results

    def _run(self, pointers: Sequence[int], targets: Sequence[int]) -> None:
        try:
            call = self._idle.pop()
        except IndexError:
            call = self._new_call()
        call.frame[self._input_slots] = pointers
        call.frame[self._output_slots] = targets
        self._team(call.frame, self.threads)
        self._idle.append(call)

    def _checked_out(self, out: Array, pointers: Sequence[int]) -> int:
        """The address of the caller's memory for the result."""
        output, *others = self._outputs
        if others:
            raise ShapeError(f"this kernel has {len(self._outputs)} results; call it without out=")
        target = output.checked_address(out)
        if isinstance(out, np.ndarray) and not out.flags.writeable:
            raise ShapeError("out is a read-only array; give it memory that may be written")
        for e, start in zip(self.inputs, pointers, strict=True):
            if start < target + output.buffer.bytes and target < start + e.buffer.bytes:
                raise ShapeError(f"out shares memory with input {e.buffer.name!r}; give it memory of its own")
        return target

    def in_memory(self, new_memory: NewMemory) -> LoadedKernel:
        """The same kernel, whose intermediate tensors and scratch are in memory that `new_memory` makes."""
        found = copy.copy(self)
        found._new_memory, found._idle = new_memory, deque()
        return found

    @property
    def is_memory_intact(self) -> bool:
        """Whether no call that has ended wrote beyond an intermediate tensor or the scratch of a thread."""
        return all(self._layout.are_canaries_intact(call.memory) for call in tuple(self._idle))

    def _new_call(self) -> _Call:
        memory = self._new_memory(self._layout.size, self.plan.host.line_bytes)
        self._layout.set_canaries(memory)
        base = data_address(memory)
        entries, inputs = self._compiled.entries, [0] * len(self.inputs)
        frame = (
            len(entries),
            *entries,
            *inputs,
            *(base + s for s in self._layout.temporaries),
            *(0 for _ in self._outputs),
            base + self._layout.scratch,
        )
        return _Call(memory, (ctypes.c_int64 * len(frame))(*frame))

    def check(self, *inputs: Array) -> None:
        """Raise ShapeError where a call with these inputs would, without computing."""
        self._pointers(inputs)

    def _pointers(self, inputs: Sequence[Array]) -> list[int]:
        if len(inputs) != len(self.inputs):
            names = ", ".join(e.buffer.name for e in self.inputs)
            raise ShapeError(f"this kernel takes {len(self.inputs)} inputs ({names}), found {len(inputs)}")
        return [e.checked_address(x) for e, x in zip(self.inputs, inputs, strict=True)]


@dataclass(frozen=True, slots=True)
class _Call:
    """Memory of one call at a time."""

    memory: Bytes
    """Intermediate tensors, and the scratch of all threads; see `MemoryLayout`."""
    frame: CallFrame
    """Complete except for the addresses of the inputs and, before the last one, of the results."""
