"""Graphs handed out as networkx graphs."""

import networkx as nx

import prism_explore as px
from prism_explore.ir.text import parse
from prism_explore.ir.to_networkx import to_networkx

FUSED = parse("""sgraph
  x = input f32[b, 8]
  %1 = custom(x) grid[x=gx]
    %0 = load(0, imap=[0])
    %1 = exp(%0)
    %2 = store(%1, omap=[0])
  return %1""")


def test_nodes_have_operator_level_kernel_and_shape():
    found = to_networkx(FUSED)

    x = {"operator": "input", "level": "kernel", "kernel": "", "shape": "b, 8", "dtype": "f32", "is_output": 0}
    assert found.nodes["x"] == x
    assert found.nodes["%1"]["is_output"] == 1
    assert found.nodes["%1.%1"]["operator"] == "exp"
    assert (found.nodes["%1.%1"]["level"], found.nodes["%1.%1"]["kernel"]) == ("block", "%1")


def test_edges_are_uses():
    found = to_networkx(parse("sgraph\n  x = input f32[b, 8]\n  %1 = add(x, x)\n  return %1"))

    assert [(u, v, k) for u, v, k in found.edges(keys=True)] == [("x", "%1", 0), ("x", "%1", 1)]
    assert found.edges["x", "%1", 0] == {"tensor": "x", "shape": "b, 8"}


def test_algorithms_and_exporters_of_networkx_take_it():
    found = to_networkx(FUSED)

    assert nx.is_directed_acyclic_graph(found)
    assert nx.dag_longest_path(nx.DiGraph(found)) == ["x", "%1.%0", "%1.%1", "%1.%2", "%1"]
    assert "<graphml" in "".join(nx.generate_graphml(found))


def test_a_session_gives_the_graph_of_its_program():
    program = px.parse_program("program twice\n  x = input f32[b, 8]\n  %1 = add(x, x)\n  return %1")

    with px.Session(program, target="h100", at={"b": 4}) as sess:
        assert [*sess.graph().nodes] == ["x", "%1"]
