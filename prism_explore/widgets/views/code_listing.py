"""Code as lines, each with the tensors of the operators that it stems from.

A `Listing` has a line per line of the text. Its names are tensors as in e-classes: k3, k3.b7, program.%4. The texts are
those of the generators: the lines of a CPU kernel are generated again with the statement of each, and the instructions
of LLVM and assembly name these lines by debug locations. Nothing here runs while a search generates its kernels.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from prism_explore.codegen.cpu.compile import llvm_text
from prism_explore.codegen.cpu.kernel_source import kernel_lines
from prism_explore.codegen.cpu.llvm.jit import compile_to_assembly, default_triple
from prism_explore.codegen.cpu.loop_ir import LoopNest, Statement
from prism_explore.codegen.cpu.plan import Plan, plan
from prism_explore.codegen.triton.emit import write_triton
from prism_explore.codegen.triton.plan import Obstacle
from prism_explore.ir.graph import SGraph
from prism_explore.ir.ops import BlockGraph, Custom, Input, Load
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.text import show
from prism_explore.pipeline.stages import Parameters
from prism_explore.targets import Target
from prism_explore.widgets.refs import program_tensor, tensor_name


@dataclass(frozen=True, slots=True)
class Line:
    """One line of code, and the tensors whose operators it stems from."""

    text: str
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Listing:
    """Code, or why there is none. A key of caches by identity: it can have thousands of lines."""

    lines: tuple[Line, ...] = ()
    missing: str = ""
    note: str = ""
    """A remark for its caption."""

    @property
    def text(self) -> str:
        """All lines."""
        return "\n".join(line.text for line in self.lines)


_DEFINITION = re.compile(r"^(?P<indent> *)(?:%(?P<number>\d+)|(?P<name>\S+)) = ")
_RESULT = re.compile(r"^ *return (?:%(?P<number>\d+)|(?P<name>\S+))")


def program_listing(program: TensorProgram) -> Listing:
    """The program as text."""
    inputs = _input_positions(program.graph)
    return Listing(tuple(Line(t, _names(t, inputs, program_tensor)) for t in show(program).splitlines()))


def sgraph_listing(graph: SGraph) -> Listing:
    """An sGraph as text; lines of a block graph belong to the kernel above them."""
    inputs, kernel = _input_positions(graph), 0
    lines: list[Line] = []
    for text in show(graph).splitlines():
        found = _DEFINITION.match(text)
        if found and len(found["indent"]) > 2:
            lines.append(Line(text, (tensor_name(kernel, int(found["number"])),)))
            continue
        if found and found["number"]:
            kernel = int(found["number"])
        lines.append(Line(text, _names(text, inputs, tensor_name)))
    return Listing(tuple(lines))


def _input_positions(graph: SGraph) -> dict[str, int]:
    return {n.op.name: i for i, n in enumerate(graph.nodes) if isinstance(n.op, Input)}


def _names(text: str, inputs: Mapping[str, int], name_of: object) -> tuple[str, ...]:
    found = _DEFINITION.match(text) or _RESULT.match(text)
    if found is None:
        return ()
    position = int(found["number"]) if found["number"] else inputs.get(found["name"] or "")
    return () if position is None else (name_of(position),)  # type: ignore[operator]


# ---------------------------------------------------------------- CPU
def cpu_listing(
    graph: SGraph, parameters: Parameters, shapes: tuple[tuple[str, int], ...], stored: str = ""
) -> Listing:
    """The loops of the CPU kernel.

    Args:
        graph: an sGraph whose maps are chosen.
        parameters: sizes and schedule.
        shapes: sizes for the symbols of its inputs.
        stored: the source that the search generated; empty if it generated none.
    """
    found = plan(graph, parameters, dict(shapes))
    if isinstance(found, str):
        return _as_stored(stored, found) if stored else Listing(missing=found)
    lines = tuple(Line(text, names) for text, names, _ in _cpu_lines(graph, found))
    if stored and stored != "\n".join(line.text for line in lines):
        return _as_stored(stored, "this CPU would run other code, so lines are not linked to operators")
    return Listing(lines)


def _as_stored(source: str, note: str) -> Listing:
    return Listing(tuple(Line(t) for t in source.splitlines()), note=note)


def _cpu_lines(graph: SGraph, found: Plan) -> list[tuple[str, tuple[str, ...], Statement | None]]:
    lines = kernel_lines(found.loops, found.schedule, found.host)
    return [(line.text, _nest_names(graph, line.nest, line.statement), line.statement) for line in lines]


def _nest_names(graph: SGraph, nest: LoopNest | None, statement: Statement | None) -> tuple[str, ...]:
    """The tensors of a statement: that of its target, and those that are computed within it or loaded for it."""
    if nest is None or nest.kernel < 0:
        return ()
    op = graph.nodes[nest.kernel].op
    if statement is None or not isinstance(op, Custom):
        return (tensor_name(nest.kernel),)
    held = dict(nest.nodes)
    target = held.get(statement.target.buffer.name)
    if target is None:
        return (tensor_name(nest.kernel),)
    return tuple(tensor_name(nest.kernel, j) for j in _fused(op.block, target, set(held.values())))


def _fused(block: BlockGraph, target: int, held: set[int]) -> list[int]:
    """A node and those before it whose values have no memory."""
    found, todo = list[int](), [target]
    while todo:
        at = todo.pop()
        if at not in found:
            found.append(at)
            todo += [a for a in block.nodes[at].args if a not in held]
    return sorted(found, key=lambda at: (at != target, at))


def llvm_listing(graph: SGraph, parameters: Parameters, shapes: tuple[tuple[str, int], ...]) -> Listing:
    """The LLVM text of the CPU kernel before optimization."""
    prepared = _with_locations(graph, parameters, shapes)
    if isinstance(prepared, str):
        return Listing(missing=prepared)
    text, names, _ = prepared
    line_of = {m[1]: int(m[2]) for m in re.finditer(r"^!(\d+) = !DILocation\(.*?line: (\d+)", text, re.M)}
    lines: list[Line] = []
    for row in text.splitlines():
        if row.startswith(("!", "source_filename")):
            continue
        at = re.search(r", !dbg !(\d+)$", row)
        shown = re.sub(r",? !dbg !\d+", "", row)
        lines.append(Line(shown, names.get(line_of.get(at[1], 0), ()) if at else ()))
    return Listing(tuple(lines), note="before LLVM optimizes it")


def assembly_listing(graph: SGraph, parameters: Parameters, shapes: tuple[tuple[str, int], ...]) -> Listing:
    """The assembly of the CPU kernel for the CPU of this process."""
    prepared = _with_locations(graph, parameters, shapes)
    if isinstance(prepared, str):
        return Listing(missing=prepared)
    text, names, found = prepared
    lines: list[Line] = []
    current: tuple[str, ...] = ()
    for row in compile_to_assembly(text, found.host, default_triple()).splitlines():
        word = row.strip()
        if word.startswith(".section") and ".debug" in word:
            break
        if word.startswith(".loc"):
            current = names.get(int(word.split()[2]), current)
        elif not word.startswith((".cfi", ".file", ".Ltmp", ".Lfunc")):
            lines.append(Line(row, current if row[:1].isspace() and not word.startswith(".") else ()))
    note = f"for {found.host.name}; with debug locations, so the order can differ from the kernel that runs"
    return Listing(tuple(lines), note=note)


def _with_locations(
    graph: SGraph, parameters: Parameters, shapes: tuple[tuple[str, int], ...]
) -> tuple[str, dict[int, tuple[str, ...]], Plan] | str:
    """LLVM text whose instructions name lines of the loops, and the tensors of each line."""
    found = plan(graph, parameters, dict(shapes))
    if isinstance(found, str):
        return found
    names: dict[int, tuple[str, ...]] = {}
    places: dict[str, dict[Statement, int]] = {}
    for number, line in enumerate(kernel_lines(found.loops, found.schedule, found.host), 1):
        if line.nest is not None and line.statement is not None:
            places.setdefault(line.nest.name, {}).setdefault(line.statement, number)
            names[number] = _nest_names(graph, line.nest, line.statement)
    text, _ = llvm_text(found.loops, found.schedule, found.host, "", places)
    return text, names, found


# ---------------------------------------------------------------- Triton
_KERNEL = re.compile(r"^def \w+_kernel(?:_(\d+))?\(")
_NUMBERED = re.compile(r"^ +(?:\w*?[a-z]_(\d+)\w* \+?= |tl\.store\()")
_LOADED = re.compile(r"^ +(\w+) = tl\.load\(")


def triton_listing(
    graph: SGraph, parameters: Parameters, shapes: tuple[tuple[str, int], ...], target: Target | None, title: str
) -> Listing:
    """The Triton module at these sizes. Values have the numbers of their nodes, by which lines are linked."""
    sizes = {**dict(shapes), **parameters.numbers}
    module = write_triton(graph, sizes, parameters, target if target and target.kind == "gpu" else None, title)
    if isinstance(module, Obstacle):
        return Listing(missing=f"no Triton kernel at these sizes: {module.reason}")
    return Listing(tuple(triton_lines(graph, module.source)))


def triton_lines(graph: SGraph, source: str) -> Iterable[Line]:
    """The lines of a Triton module with the tensors that their names contain."""
    customs, kernel = [i for i, _ in graph.customs], -1
    call: tuple[str, ...] | None = None
    """The names of a call that continues on further lines."""
    for text in source.splitlines():
        if call is not None:
            yield Line(text, call)
            call = None if text.strip() == ")" else call
            continue
        if found := _KERNEL.match(text):
            kernel = int(found[1]) if found[1] else customs[0] if customs else -1
        elif text.startswith("def "):
            kernel = -1
        names = _triton_names(graph, kernel, text)
        call = names if names and text.endswith("(") else None
        yield Line(text, names)


def _triton_names(graph: SGraph, kernel: int, text: str) -> tuple[str, ...]:
    op = graph.nodes[kernel].op if kernel >= 0 else None
    if not isinstance(op, Custom):
        return ()
    nodes = op.block.nodes
    if loaded := _LOADED.match(text):
        named = {i.name: n for n, i in enumerate(_operands(graph, kernel))}
        operand = named.get(loaded[1])
        return tuple(
            tensor_name(kernel, j) for j, n in enumerate(nodes) if isinstance(n.op, Load) and n.op.operand == operand
        )
    found = _NUMBERED.match(text)
    if found is None:
        return ()
    if found[1] is None:
        return tuple(tensor_name(kernel, j) for j in op.block.stores)
    return (tensor_name(kernel, int(found[1])),) if int(found[1]) < len(nodes) else ()


def _operands(graph: SGraph, kernel: int) -> tuple[Input, ...]:
    return tuple(op for a in graph.nodes[kernel].args if isinstance(op := graph.nodes[a].op, Input))
