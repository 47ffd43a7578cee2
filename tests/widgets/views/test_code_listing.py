from __future__ import annotations

import pytest

from prism_explore.codegen.cpu.plan import plan
from prism_explore.ir.graph import SGraph
from prism_explore.ir.ops import Custom
from prism_explore.ir.text import parse, show
from prism_explore.pipeline.stages import Parameters
from prism_explore.widgets.views.code_listing import (
    Listing,
    assembly_listing,
    cpu_listing,
    llvm_listing,
    program_listing,
    sgraph_listing,
    triton_listing,
)
from prism_explore.widgets.views.loop_nest_text import loops_listing
from tests.codegen.graph_files import Case
from tests.codegen.wider import FLASH, SPLIT_KV, WIDER
from tests.strategies import R1, rmsnorm_linear

GRAPH = parse(R1)
PARAMETERS = Parameters((("gx", 3), ("f", 2)))
SHAPES = (("b", 4),)


def names_of(graph: SGraph) -> set[str]:
    found = {f"k{i}" for i in range(len(graph.nodes))}
    for i, node in enumerate(graph.nodes):
        if isinstance(node.op, Custom):
            found |= {f"k{i}.b{j}" for j in range(len(node.op.block.nodes))}
    return found


def linked(listing: Listing) -> dict[str, set[str]]:
    """Per name, the lines that have it."""
    found: dict[str, set[str]] = {}
    for line in listing.lines:
        for name in line.names:
            found.setdefault(name, set()).add(line.text)
    return found


@pytest.mark.parametrize("graph", [GRAPH, parse(FLASH), parse(SPLIT_KV)], ids=["r1", "flash", "split"])
def test_the_text_of_an_sgraph_is_what_show_prints_and_each_line_is_its_operator(graph: SGraph) -> None:
    listing = sgraph_listing(graph)

    assert listing.text == show(graph)
    assert set(linked(listing)) == names_of(graph)
    for i, block in graph.customs:
        for j in range(len(block.nodes)):
            (line,) = linked(listing)[f"k{i}.b{j}"]
            assert line.strip().startswith(f"%{j} = ")


def test_lines_of_a_program_are_its_tensors() -> None:
    program = rmsnorm_linear()
    listing = program_listing(program)

    assert set(linked(listing)) == {f"program.%{n}" for n in range(len(program.graph.nodes))}
    assert any("input" in line for line in linked(listing)["program.%0"])


@pytest.mark.parametrize("case", WIDER, ids=lambda c: c.name)
def test_loops_have_every_operator_of_any_graph(case: Case) -> None:
    listing = loops_listing(case.graph)
    shown = set(linked(listing))

    assert shown <= names_of(case.graph)
    for i, block in case.graph.customs:
        assert {f"k{i}.b{j}" for j in range(len(block.nodes))} <= shown


def test_loops_place_operators_before_in_and_after_the_loop() -> None:
    lines = [line.text for line in loops_listing(parse(FLASH)).lines]
    loop = next(n for n, text in enumerate(lines) if text.strip().startswith("for i < f"))
    scaled = next(n for n, text in enumerate(lines) if "mul_scalar" in text)
    divided = next(n for n, text in enumerate(lines) if "div(" in text)
    inside = [text for text in lines[loop + 1 :] if text.startswith("    ")]

    assert scaled < loop < divided
    assert any("matmul" in text for text in inside)
    assert "k[x +: 1, :, i*s/f +: s/f]" in "\n".join(inside)


def test_the_lines_of_a_cpu_kernel_are_its_source_with_the_operators_of_each() -> None:
    found = plan(GRAPH, PARAMETERS, dict(SHAPES))
    assert not isinstance(found, str)
    listing = cpu_listing(GRAPH, PARAMETERS, SHAPES, found.source)

    assert listing.text == found.source
    assert listing.note == ""
    names = linked(listing)
    assert set(names) <= names_of(GRAPH)
    # matmul %4 adds into the accumulator %8 of R1: one product statement reads both loads
    (product,) = {text for text in names["k3.b2"] if " * " in text}
    assert "sum over" in product
    assert any(text.strip().startswith("out[") for text in names["k3.b11"])


def test_stored_source_of_another_machine_is_shown_as_it_is_without_links() -> None:
    listing = cpu_listing(GRAPH, PARAMETERS, SHAPES, "something else\nhere")

    assert listing.text == "something else\nhere"
    assert "not linked" in listing.note
    assert linked(listing) == {}


def test_llvm_and_assembly_name_the_statements_that_they_stem_from() -> None:
    statements = {name for name in linked(cpu_listing(GRAPH, PARAMETERS, SHAPES)) if "." in name}
    for listing in (llvm_listing(GRAPH, PARAMETERS, SHAPES), assembly_listing(GRAPH, PARAMETERS, SHAPES)):
        assert listing.missing == ""
        assert set(linked(listing)) <= statements
        assert len(set(linked(listing))) > len(statements) / 2
        assert "!dbg" not in listing.text
        assert ".loc" not in listing.text
        assert ".debug" not in listing.text


def test_illegal_sizes_have_a_reason_in_place_of_code() -> None:
    wrong = Parameters((("gx", 5), ("f", 2)))

    for found in (cpu_listing, llvm_listing, assembly_listing):
        listing = found(GRAPH, wrong, SHAPES)
        assert listing.lines == ()
        assert listing.missing


def test_lines_of_a_triton_kernel_are_linked_by_the_numbers_in_their_names() -> None:
    listing = triton_listing(GRAPH, PARAMETERS, SHAPES, None, "rms")
    assert listing.missing == ""
    names = linked(listing)

    assert set(names) <= names_of(GRAPH)
    for name, lines in names.items():
        if name not in ("k3.b0", "k3.b1", "k3.b2", "k3.b11"):  # loads have the names of tensors, a store has none
            number = name.removeprefix("k3.b")
            assert all(f"_{number}" in text.split("= ")[0] for text in lines), (name, lines)
    assert any("tl.load" in text for text in names["k3.b0"])
    assert any("x_ptr" in text for text in names["k3.b0"])
    assert any("out_ptr" in text for text in names["k3.b11"])
