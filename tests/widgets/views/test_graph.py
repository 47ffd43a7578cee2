from __future__ import annotations

import sys
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prism_explore.ir.dims import dim
from prism_explore.ir.graph import SGraph, phases
from prism_explore.ir.ops import (
    Accumulate,
    Binary,
    BlockGraph,
    Custom,
    Input,
    Load,
    Node,
    ParallelDim,
    Scalar,
    Store,
    Unary,
)
from prism_explore.ir.tensors import tensor
from prism_explore.ir.text import parse
from prism_explore.support import caches
from prism_explore.widgets.drawing import layout
from prism_explore.widgets.scene import Scene, Shape
from prism_explore.widgets.views.graph import GraphView, program_scene, sgraph_scene
from prism_explore.widgets.views.graph_text import describe
from prism_explore.widgets.views.loop_region import loop_region
from tests.codegen.graph_files import Case
from tests.codegen.wider import FLASH, SPLIT_KV, WIDER
from tests.strategies import R1, programs, rmsnorm_linear
from tests.widgets.pictures import check, check_nothing_overlaps, check_texts_fit, contains, overlap, rect

OPEN = parse(R1.replace("imap=[-], fmap=1", "imap=?").replace("imap=[-], fmap=0", "imap=?")
             .replace("imap=[1], fmap=0", "imap=?").replace("omap=[1]", "omap=?"))  # fmt: skip
TWO = parse("""sgraph
  x = input f32[b, 4096]
  g = input f32[4096]
  w = input f32[4096, 4096]
  %3 = custom(x, g) grid[x=gx]
    %0 = load(0, imap=[0])
    %1 = load(1, imap=[-])
    %2 = mul(%0, %1)
    %3 = rms(%0, dim=1)
    %4 = div(%2, %3)
    %5 = store(%4, omap=[0])
  %4 = custom(%3, w) grid[x=hx, y=hy] loop[i=f]
    %0 = load(0, imap=[0, -], fmap=1)
    %1 = load(1, imap=[-, 1], fmap=0)
    %2 = matmul(%0, %1)
    %3 = accum(%2)
    %4 = store(%3, omap=[0, 1])
  %5 = exp(%4)
  return %5
""")


def by_id(scene: Scene, ident: str) -> Shape:
    return next(s for s in scene.shapes if s.id == ident)


def words(shape: Shape) -> list[str]:
    return [t.text for t in shape.texts]


@st.composite
def block_graphs(draw: st.DrawFn) -> SGraph:
    """One custom kernel over same-shaped inputs; any mix of phases that the rules allow."""
    grid = tuple(ParallelDim(n, dim(f"g{n}")) for n in draw(st.sampled_from(("", "x", "xy"))))
    loop = ParallelDim("i", dim("f")) if draw(st.booleans()) else None
    is_open = draw(st.booleans())
    count = draw(st.integers(1, 3))
    free = [d for d in range(3) if d >= len(grid)]
    nodes: list[Node] = []
    for operand in range(count):
        fmap = draw(st.sampled_from((None, free[0]))) if loop and not is_open else None
        imap = None if is_open else tuple(range(len(grid)))
        nodes.append(Node(Load(operand, imap, fmap)))
    for _ in range(draw(st.integers(0, 9))):
        kind = draw(st.sampled_from(("unary", "scalar", "binary", "accum")))
        x = draw(st.integers(0, len(nodes) - 1))
        new = [Node(Unary("exp"), (x,)), Node(Scalar("add", Fraction(1, 3)), (x,)), Node(Accumulate("sum"), (x,))]
        pick = {"unary": new[0], "scalar": new[1], "accum": new[2]}.get(kind)
        pick = pick or Node(Binary("div"), (x, draw(st.integers(0, len(nodes) - 1))))
        if _types([*nodes, pick], grid, loop, count):
            nodes.append(pick)
    if not _types(nodes, grid, loop, count):
        nodes.append(Node(Accumulate("sum"), (len(nodes) - 1,)))
    block = BlockGraph(
        grid, loop, (*nodes, Node(Store(None if is_open else tuple(range(len(grid)))), (len(nodes) - 1,)))
    )
    inputs = tuple(Node(Input(f"t{i}", tensor("a", "a", "a"))) for i in range(count))
    return SGraph((*inputs, Node(Custom(block), tuple(range(count)))), count)


def _types(nodes: list[Node], grid: tuple[ParallelDim, ...], loop: ParallelDim | None, count: int) -> bool:
    try:
        block = BlockGraph(grid, loop, (*nodes, Node(Store(), (len(nodes) - 1,))))
        SGraph((*(Node(Input(f"t{i}", tensor("a", "a", "a"))) for i in range(count)),
                Node(Custom(block), tuple(range(count)))), count).types()  # fmt: skip
    except Exception:
        return False
    return True


@given(graph=block_graphs())
@settings(max_examples=40, deadline=None)
def test_any_block_graph_is_drawn_without_overlap(graph: SGraph) -> None:
    scene = sgraph_scene(graph, "f1.c1")

    check(scene)
    check_nothing_overlaps(scene)
    check_texts_fit(scene)


@given(program=programs())
@settings(max_examples=25, deadline=None)
def test_any_program_is_drawn_without_overlap(program: object) -> None:
    scene = program_scene(program)  # type: ignore[arg-type]

    check(scene)
    check_nothing_overlaps(scene)
    check_texts_fit(scene)


@pytest.mark.parametrize("graph", [parse(R1), OPEN, TWO], ids=["r1", "open", "two kernels"])
def test_known_graphs_are_drawn_without_overlap(graph: SGraph) -> None:
    scene = sgraph_scene(graph, "f1")

    check(scene)
    check_nothing_overlaps(scene)
    check_texts_fit(scene)


def test_every_tensor_is_there_once_and_can_be_selected() -> None:
    scene = sgraph_scene(parse(R1), "f1.c2")

    boxes = {s.id for s in scene.shapes if s.role == "box"}
    assert {f"f1.c2/k{i}" for i in range(4)} | {f"f1.c2/k3.b{j}" for j in range(12)} == boxes
    assert boxes <= scene.refs


def test_accumulators_stand_on_the_loops_lower_border() -> None:
    scene = sgraph_scene(parse(R1))

    loop = next(s for s in scene.shapes if s.kind == "frame-loop")
    accums = [s for s in scene.shapes if s.kind == "accum"]
    assert 2 == len(accums)
    for accum in accums:
        assert loop.y + loop.h == pytest.approx(accum.y + accum.h / 2)
        assert loop.x <= accum.x and accum.x + accum.w <= loop.x + loop.w


def test_the_loop_holds_what_runs_in_every_iteration_and_nothing_else() -> None:
    graph = parse(R1)
    scene = sgraph_scene(graph)
    loop = rect(next(s for s in scene.shapes if s.kind == "frame-loop"))

    for j, phase in enumerate(phases(graph.customs[0][1])):
        box = by_id(scene, f"k3.b{j}")
        if box.kind != "accum":
            assert (phase == "loop") == contains(loop, rect(box)), j
            assert (phase == "loop") == overlap(loop, rect(box)), j


@given(graph=block_graphs())
@settings(max_examples=25, deadline=None)
def test_edges_go_from_operand_to_operator(graph: SGraph) -> None:
    scene = sgraph_scene(graph)
    rects = {s.id: rect(s) for s in scene.shapes}

    block = graph.customs[0][1]
    inner = sum(len(n.args) for n in block.nodes)
    loads = sum(isinstance(n.op, Load) for n in block.nodes)
    assert inner + loads + 1 == len(scene.edges)
    for edge in scene.edges:
        for (x, y), end in ((edge.points[0], edge.source), (edge.points[-1], edge.target)):
            r = rects[end]
            assert r.x - 3 <= x <= r.right + 3, edge.id
            assert r.y - 3 <= y <= r.bottom + 3, edge.id


def test_maps_are_chips() -> None:
    scene = sgraph_scene(parse(R1))
    chips = {s.id: (words(s)[0], s.kind) for s in scene.shapes if s.role == "chip"}

    assert ("x –", "chip-full") == chips["k3.b0#x"]
    assert ("i↔1", "chip-partitioned") == chips["k3.b0#i"]
    assert ("x↔1", "chip-partitioned") == chips["k3.b2#x"]
    assert ("i↔0", "chip-partitioned") == chips["k3.b2#i"]
    assert ("x↔1", "chip-partitioned") == chips["k3.b11#x"]
    assert "k3.b11#i" not in chips


def test_open_maps_show_question_marks() -> None:
    scene = sgraph_scene(OPEN)
    chips = [s for s in scene.shapes if s.role == "chip"]

    assert {"chip-open"} == {s.kind for s in chips}
    assert {"x↔?", "i↔?"} == {words(s)[0] for s in chips}


def test_while_maps_are_open_the_loop_is_what_accumulators_need() -> None:
    assert loop_region(parse(R1).customs[0][1]) == loop_region(OPEN.customs[0][1])
    assert frozenset() == loop_region(TWO.customs[0][1])


UNDECIDED = parse("""sgraph
  x = input f32[b, 24]
  %1 = custom(x) grid[]
    %0 = load(0, imap=?)
    %1 = square(%0)
    %2 = accum_mean(%1, dim=1)
    %3 = sqrt(%2)
    %4 = store(%3, omap=?)
  return %1
""")


def test_a_family_without_grid_says_that_grid_loop_and_maps_are_open() -> None:
    scene = sgraph_scene(UNDECIDED, "f1")
    titles = [" ".join(words(s)) for s in scene.shapes if s.kind.startswith("plate")]

    assert ["KERNEL f1", "BLOCK %1 grid ? · for-loop ?", "LOOP for-loop ?"] == titles
    assert {"maps ?"} == {words(s)[0] for s in scene.shapes if s.role == "chip"}
    assert frozenset({0, 1}) == loop_region(UNDECIDED.customs[0][1])


def test_shapes_are_symbolic() -> None:
    scene = sgraph_scene(parse(R1.replace("24", "4096").replace("36", "4096")))

    assert ["%2", "load w", "4096/f × 4096/gx"] == words(by_id(scene, "k3.b2"))
    assert ["%4", "matmul %3, %2", "b × 4096/gx"] == words(by_id(scene, "k3.b4"))


def test_the_result_says_so() -> None:
    scene = sgraph_scene(parse(R1))

    assert ["k3"] == [s.id for s in scene.shapes if "result" in words(s)]


def test_a_collapsed_kernel_is_one_box() -> None:
    scene = sgraph_scene(TWO, "f4", view=GraphView(frozenset({3})))

    check(scene)
    assert "custom" == by_id(scene, "f4/k3").kind
    assert not [s for s in scene.shapes if s.id.startswith("f4/k3.b")]
    assert [s for s in scene.shapes if s.id.startswith("f4/k4.b")]


def test_collapsing_one_kernel_keeps_the_ids_of_all_else() -> None:
    whole, closed = sgraph_scene(TWO), sgraph_scene(TWO, view=GraphView(frozenset({3})))

    assert {s.id for s in closed.shapes} <= {s.id for s in whole.shapes}


def test_titles_say_grid_and_loop() -> None:
    scene = sgraph_scene(TWO)
    titles = [" ".join(words(s)) for s in scene.shapes if s.kind.startswith("plate")]

    assert ["KERNEL", "BLOCK %3 grid x = gx", "BLOCK %4 grid x = hx, y = hy · for i in f", "LOOP for i in f"] == titles


def test_the_same_graph_gives_the_same_picture() -> None:
    first = sgraph_scene(TWO, "f1")
    caches.clear()

    assert first == sgraph_scene(TWO, "f1")


def test_a_layout_that_is_kept_is_used_for_other_ids() -> None:
    def diagram(*names: str) -> layout.Diagram:
        a, b, c, frame = names
        boxes = (layout.Box(a, 60, 20), layout.Box(b, 90, 20))
        inner = layout.Frame(frame, boxes, 40, 16, on_border=(b,), rows=((a,),))
        return layout.Diagram((inner, layout.Box(c, 30, 20)), ((a, b), (b, c)), sequences=((a, c),))

    caches.clear()
    computed = layout.place(diagram("a", "b", "c", "k"))
    kept = layout.place(diagram("z", "v1", "v0", "m"))
    caches.clear()

    assert kept == layout.place(diagram("z", "v1", "v0", "m"))
    assert list(kept.rects.values()) == list(computed.rects.values())
    assert ["m", "z", "v1", "v0"] == list(kept.rects)


def test_without_graphviz_the_picture_says_what_was_not_found_and_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caches.clear()
    monkeypatch.setitem(sys.modules, "pygraphviz", None)
    scene = sgraph_scene(TWO, "f1")

    check(scene)
    (text,) = [t.text for s in scene.shapes for t in s.texts]
    assert "pygraphviz could not be loaded" in text
    assert "pip install pygraphviz" in text
    with pytest.raises(layout.GraphvizUnavailable):
        layout.place(layout.Diagram((layout.Box("a", 10, 10),), ()))


HOSTILE = '<b>&"\\|{}</b>\n%d]]> --><script>alert(1)</script> 名前 \x00\u202e' + "m" * 200


def test_names_are_never_read_as_anything_but_names() -> None:
    graph = parse(R1)
    names = ['x<y>|"\\&', HOSTILE, "subgraph cluster_0 {"]
    inputs = tuple(Node(Input(n, i.type)) for n, i in zip(names, graph.inputs, strict=True))
    hostile = SGraph((*inputs, *graph.nodes[3:]), graph.output)
    scene = sgraph_scene(hostile, "f1", title=HOSTILE)

    check(scene)
    check_nothing_overlaps(scene)
    check_texts_fit(scene)
    assert 'x<y>|"\\&' in words(by_id(scene, "f1/k0"))
    assert {s.id for s in sgraph_scene(graph, "f1").shapes} == {s.id for s in scene.shapes}


@pytest.mark.parametrize("case", WIDER, ids=lambda c: c.name)
def test_views_masks_and_several_results_are_drawn_without_overlap(case: Case) -> None:
    scene = sgraph_scene(case.graph, "f1.c1")

    check(scene)
    check_nothing_overlaps(scene)
    check_texts_fit(scene)


@pytest.mark.parametrize("collapsed", [(), (3,)])
def test_every_result_hangs_on_the_store_that_writes_it(collapsed: tuple[int, ...]) -> None:
    scene = sgraph_scene(parse(SPLIT_KV), view=GraphView(frozenset(collapsed)))
    edges = {(e.source, e.target) for e in scene.edges}
    sources = ["k3"] * 3 if collapsed else ["k3.b14", "k3.b15", "k3.b16"]

    assert all((source, result) in edges for source, result in zip(sources[1:], ("k4", "k5"), strict=True))
    assert collapsed or ("k3.b14", "k3") in edges
    assert all((result, f"k6.b{load}") in edges for load, result in enumerate(("k3", "k4", "k5")))


def test_rescaled_sums_stand_on_the_loops_border_and_a_running_maximum_within() -> None:
    scene = sgraph_scene(parse(FLASH))

    assert ["k3.b9", "k3.b10"] == [s.id for s in scene.shapes if s.kind == "accum"]
    assert "op" == by_id(scene, "k3.b5").kind
    assert "2 accumulators" in describe(parse(FLASH))


def test_a_programs_tensors_are_named_as_in_the_provers_classes() -> None:
    scene = program_scene(rmsnorm_linear())

    assert {f"program.%{i}" for i in range(len(rmsnorm_linear().graph.nodes))} == scene.refs


def side_by_side(operators: tuple[int, ...]) -> SGraph:
    """Kernels of one input and a weight each, with so many operators behind the product, whose results are added."""
    inputs = [f"  w{k} = input f32[64, 64]" for k in range(len(operators))]
    kernels: list[str] = []
    for k, count in enumerate(operators):
        kernels.append(f"  %{len(operators) + 1 + k} = custom(x, w{k}) grid[x=gx]")
        kernels += ["    %0 = load(0, imap=[0])", "    %1 = load(1, imap=[-])", "    %2 = matmul(%0, %1)"]
        kernels += [f"    %{n} = exp(%{n - 1})" for n in range(3, 3 + count)]
        kernels.append(f"    %{3 + count} = store(%{2 + count}, omap=[0])")
    total, first = 2 * len(operators) + 1, len(operators) + 1
    sums = [f"  %{total} = add(%{first}, %{first + 1})"]
    sums += [f"  %{total + n} = add(%{total + n - 1}, %{first + n + 1})" for n in range(1, len(operators) - 1)]
    last = total + len(operators) - 2
    text = ["sgraph", "  x = input f32[b, 64]", *inputs, *kernels, *sums, f"  return %{last}"]
    return parse("\n".join(text))


@pytest.mark.parametrize("operators", [(3, 3), (0, 2, 1)])
def test_kernels_side_by_side_keep_their_order_when_some_are_expanded(operators: tuple[int, ...]) -> None:
    graph = side_by_side(operators)
    kernels = [i for i, _ in graph.customs]

    def order(expanded: tuple[int, ...]) -> list[int]:
        scene = sgraph_scene(graph, "f1", view=GraphView(frozenset(kernels) - {*expanded}))
        left = {s.id: s.x for s in scene.items if isinstance(s, Shape)}
        return sorted(kernels, key=lambda k: left[f"f1/k{k}#block" if k in expanded else f"f1/k{k}"])

    views = [expanded for n in range(len(kernels) + 1) for expanded in combinations(kernels, n)]
    assert [order(expanded) for expanded in views] == [kernels] * len(views)
