"""The text of each tab of the Code panel, by its name."""

from __future__ import annotations

from prism_explore.errors import PrismError
from prism_explore.ir.graph import SGraph
from prism_explore.ir.program import TensorProgram
from prism_explore.pipeline.stages import Parameters
from prism_explore.targets import Target
from prism_explore.widgets.views.code_listing import (
    Listing,
    assembly_listing,
    cpu_listing,
    llvm_listing,
    program_listing,
    sgraph_listing,
    triton_lines,
    triton_listing,
)
from prism_explore.widgets.views.loop_nest_text import loops_listing


def listing(
    tab: str,
    program: TensorProgram,
    graph: SGraph | None,
    parameters: Parameters,
    shapes: tuple[tuple[str, int], ...],
    stored: tuple[str, str],
    machine: Target | None,
    title: str,
) -> Listing:
    """The text of one tab.

    Args:
        tab: its name.
        program: the program.
        graph: the graph of the subject; None for the program alone.
        parameters: sizes and schedule.
        shapes: sizes for the symbols of the inputs.
        stored: backend and source of the trial that is shown; empty without one.
        machine: the machine of the search, if its figures are known.
        title: the first line of a Triton module.
    """
    if tab == "program" or graph is None:
        return program_listing(program)
    backend, source = stored
    try:
        match tab:
            case "sgraph":
                return sgraph_listing(graph)
            case "loops":
                return loops_listing(graph)
            case "cpu":
                return cpu_listing(graph, parameters, shapes, source if backend == "cpu" else "")
            case "triton" if backend == "triton":
                return Listing(tuple(triton_lines(graph, source)))
            case "triton":
                return triton_listing(graph, parameters, shapes, machine, title)
            case "llvm":
                return llvm_listing(graph, parameters, shapes)
            case _:
                return assembly_listing(graph, parameters, shapes)
    except (PrismError, ImportError) as error:
        return Listing(missing=f"it cannot be generated: {error}")
