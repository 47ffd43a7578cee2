"""The picture of an sGraph: nested frames, KERNEL around all, BLOCK in it, the for-loop in that.

Input: an sGraph or a tensor program. Output: a `Scene`. Boxes are operators with the shape of their result;
`drawing.layout` places them from top to bottom. A load or store has one chip per grid dim and loop: `x↔1`
means that grid dim x partitions dim 1, `x –` that it partitions no dim, `x↔?` that the map is still open.
Accumulators lie on the lower border of the loop, because their results are available after it.

    KERNEL
      x   w
      BLOCK  grid x = gx
        LOOP  for i in f
          load x  load w
            matmul
        -[accum]----
          store
      result
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from prism_explore.ir.graph import SGraph, block_types, phases
from prism_explore.ir.ops import Accumulate, AccumulateRescaled, BlockGraph, Custom, Input, Load, Node, Result, Store
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.tensors import TensorType
from prism_explore.ir.text import show_node
from prism_explore.widgets.drawing import layout
from prism_explore.widgets.drawing.charts import empty_scene
from prism_explore.widgets.drawing.layout import Diagram, GraphvizUnavailable, Rect
from prism_explore.widgets.drawing.text_metrics import line_px, shorten, width_px
from prism_explore.widgets.refs import program_tensor, tensor_name
from prism_explore.widgets.scene import Edge, GraphAction, Item, Outline, Point, Scene, Shape, Text
from prism_explore.widgets.views.graph_text import (
    MAX_SHAPE_CHARACTERS,
    describe,
    op_text,
    range_texts,
    shape_text,
    sizes_text,
)
from prism_explore.widgets.views.loop_region import is_accumulator, loop_region

PAD_PX = 12.0
CHIP_H_PX = 18.0
CHIP_GAP_PX = 4.0
OUTER_PX = 10.0
"""Distance between the border of the picture and its outermost frame."""
TITLE_H_PX = 24.0
BUTTON_PX = 24.0
"""Height, and least width, of a button."""
SAMPLES = 24
"""Points per Bezier segment at which an edge is tested against a title."""
MAX_NAME_CHARACTERS = 28
SIZES = "sizes"
"""Text style of the sizes in numbers; the browser replaces these texts when a size is changed."""


@dataclass(frozen=True, slots=True)
class GraphView:
    """What is shown of an sGraph."""

    collapsed: frozenset[int] = frozenset()
    """Positions of custom kernels to draw as one box."""
    entered: int | None = None
    """Position of the only custom kernel to draw; None to draw the whole graph."""
    buttons: bool = False
    """Whether custom kernels have buttons to expand, collapse and enter them."""
    numbers: tuple[tuple[str, int], ...] = ()
    """Values of symbols; if there are any, boxes have the sizes of their tensors in numbers too."""


WHOLE = GraphView()
"""Everything expanded, without buttons and numbers."""


def sgraph_scene(graph: SGraph, owner: str = "", title: str = "", view: GraphView = WHOLE) -> Scene:
    """Draw an sGraph; if Graphviz cannot be loaded, the scene is an error message.

    Args:
        graph: the graph; open maps are drawn as `?`.
        owner: id of its family or candidate, such as f1.c2: the ref of a tensor is then f1.c2/k3.b7.
        title: text after the word KERNEL.
        view: what is shown of it.

    Raises:
        ShapeError: the graph is ill-formed.
    """
    prefix = f"{owner}/" if owner else ""
    drawing = _Drawing(graph, lambda i: prefix + tensor_name(i), f"{prefix}k#kernel", view)
    shown = f"sGraph {owner}".strip() + (f", kernel %{view.entered}" if view.entered is not None else "")
    return drawing.scene(shown, title or owner)


def program_scene(program: TensorProgram) -> Scene:
    """Draw a tensor program; the ref of a tensor is program.%5, as in the e-classes of the prover."""
    sources = tuple(program.source(position) for position in range(len(program.graph.nodes)))
    drawing = _Drawing(program.graph, program_tensor, "program.%#kernel", WHOLE, sources)
    return drawing.scene(f"program {program.name}", program.name)


@dataclass(frozen=True, slots=True)
class _Chip:
    """How one grid dim or loop partitions the tensor of a load or store."""

    name: str
    is_open: bool = False
    along: int | None = None
    """The dim that it partitions; None for none, or while the map is open."""

    @property
    def text(self) -> str:
        if self.is_open:
            return f"{MAPS} ?" if self.name == MAPS else f"{shorten(self.name, 8)}↔?"
        return f"{shorten(self.name, 8)} –" if self.along is None else f"{shorten(self.name, 8)}↔{self.along}"

    @property
    def kind(self) -> str:
        return "chip-open" if self.is_open else "chip-full" if self.along is None else "chip-partitioned"

    @property
    def tip(self) -> str:
        if self.is_open:
            return f"{self.name}: open; a candidate of the family chooses it"
        if self.along is None:
            return f"{self.name} partitions no dim of this tensor: every index along {self.name} has all of it"
        return f"{self.name} partitions dim {self.along}"

    @property
    def width_px(self) -> float:
        return width_px(self.text, "mono") + 12


MAPS = "maps"
"""Name of the one chip of a load or store whose grid is not chosen yet."""


@dataclass(frozen=True, slots=True)
class _Button:
    """A button of a custom kernel."""

    action: GraphAction
    text: str
    tip: str

    @property
    def width_px(self) -> float:
        return max(BUTTON_PX, width_px(self.text, "small") + 10)


def _buttons_w(buttons: tuple[_Button, ...]) -> float:
    return sum(b.width_px + CHIP_GAP_PX for b in buttons)


@dataclass(frozen=True, slots=True)
class _Card:
    """The content of a box, before the box has a place."""

    id: str
    kind: str
    outline: Outline
    lines: tuple[tuple[str, str], ...]
    """Per line: text, text style."""
    tag: str
    """Text left of the first line."""
    chips: tuple[_Chip, ...]
    tip: str
    parent: str
    buttons: tuple[_Button, ...] = ()
    reserved_w: float = 0.0
    """Least width of its texts, for sizes that change."""

    @property
    def chips_w(self) -> float:
        """Width of the row of chips."""
        return sum(chip.width_px + CHIP_GAP_PX for chip in self.chips) - CHIP_GAP_PX

    @property
    def box(self) -> layout.Box:
        """The size of the box; the first line is centred and has room for the tag on both sides."""
        tag = width_px(self.tag, "mono-muted") + 8 if self.tag else 0.0
        first = width_px(*self.lines[0]) + 2 * max(tag, _buttons_w(self.buttons))
        w = max(first, *(width_px(*line) for line in self.lines), self.chips_w, self.reserved_w) + 2 * PAD_PX
        h = sum(line_px(kind) for _, kind in self.lines) + PAD_PX
        return layout.Box(self.id, max(w, 76.0), h + (CHIP_H_PX + CHIP_GAP_PX if self.chips else 0.0))


@dataclass(frozen=True, slots=True)
class _Title:
    """The title of a frame, and what the frame refers to."""

    id: str
    level: str
    """kernel, block or loop: the style of frame and title."""
    word: str
    detail: str = ""
    ref: str = ""
    tip: str = ""
    parent: str = ""
    buttons: tuple[_Button, ...] = ()

    @property
    def width_px(self) -> float:
        texts = width_px(self.word, "heading") + (width_px(self.detail, "mono") + 12 if self.detail else 0) + 12
        return texts + _buttons_w(self.buttons)


class _Drawing:
    """Collects the cards, frames and edges of one graph, then places them."""

    def __init__(
        self,
        graph: SGraph,
        ref: Callable[[int], str],
        kernel_frame: str,
        view: GraphView,
        sources: tuple[str, ...] = (),
    ) -> None:
        """`sources`: per node the line of the user's code, for the tooltip."""
        self.graph, self.ref, self.kernel_frame, self.view = graph, ref, kernel_frame, view
        self.types = graph.types()
        self.sources = sources
        self.cards: dict[str, _Card] = {}
        self.titles: dict[str, _Title] = {}
        """Per frame id, outer frames first."""
        self.edges: list[tuple[str, str, str]] = []
        """Source, target, kind."""

    def scene(self, title: str, kernel_detail: str) -> Scene:
        """Place all members and return the scene."""
        members = self._kernel_members(kernel_detail)
        outer = self.titles[self.kernel_frame]
        # The outermost frame is drawn around the layout: as a cluster it would double Graphviz's time.
        pairs = tuple((s, t) for s, t, _ in self.edges)
        try:
            placed = layout.place(Diagram(members, pairs, self._input_rows(), self._sequences()))
        except GraphvizUnavailable as error:
            return empty_scene("sgraph", str(error), max(480.0, width_px(str(error), "muted")))
        inside_w = max(placed.width, outer.width_px - layout.MARGIN_PX)
        dx = OUTER_PX + layout.MARGIN_PX + (inside_w - placed.width) / 2
        dy = OUTER_PX + layout.MARGIN_PX + TITLE_H_PX + 8
        rects = {k: Rect(r.x + dx, r.y + dy, r.w, r.h) for k, r in placed.rects.items()}
        routes = [tuple((x + dx, y + dy) for x, y in route) for route in placed.routes]
        frame_h = placed.height + 2 * layout.MARGIN_PX + TITLE_H_PX + 8
        rects[outer.id] = Rect(OUTER_PX, OUTER_PX, inside_w + 2 * layout.MARGIN_PX, frame_h)
        items: list[Item] = [_frame_shape(t, rects[t.id]) for t in self.titles.values()]
        for number, ((source, target, kind), route) in enumerate(zip(self.edges, routes, strict=True)):
            items.append(_edge(number, source, target, kind, route))
        for t in self.titles.values():
            items += _title_shapes(t, rects[t.id], routes)
        for card in self.cards.values():
            items += _card_shapes(card, rects[card.id])
        width, height = inside_w + 2 * (layout.MARGIN_PX + OUTER_PX), frame_h + 2 * OUTER_PX
        return Scene("sgraph", title, describe(self.graph), width, height, tuple(items))

    # ------------------------------------------------------------ kernel level
    def _kernel_members(self, detail: str) -> tuple[layout.Box | layout.Frame, ...]:
        outer = self._add_title(_Title(self.kernel_frame, "kernel", "KERNEL", shorten(detail, 48)))
        members: list[layout.Box | layout.Frame] = []
        for i in self._shown_positions():
            node = self.graph.nodes[i]
            match node.op:
                case Custom(block) if self._is_expanded(i):
                    members.append(self._block_frame(i, node, block, outer))
                    members.append(self._add_card(self._result_card(i, outer)))
                case Custom(block) if i == self.view.entered or self.view.entered is None:
                    members.append(self._add_card(self._collapsed_card(i, block, outer)))
                    self._add_operand_edges(i, node)
                case Result(index) if self.view.entered in (None, node.args[0]):
                    members.append(self._add_card(self._result_card(i, outer)))
                    (kernel,) = node.args
                    store = f"{self.ref(kernel)}.b{dict(self.graph.customs)[kernel].stores[index]}"
                    self.edges.append((store if self._is_expanded(kernel) else self.ref(kernel), self.ref(i), "edge"))
                case Custom() | Result():
                    members.append(self._add_card(self._result_card(i, outer)))
                case _:
                    members.append(self._add_card(self._operator_card(i, node, outer)))
                    if self.view.entered is None:
                        self._add_operand_edges(i, node)
        return tuple(members)

    def _is_expanded(self, i: int) -> bool:
        """Whether a custom kernel is drawn as its block graph; that of an entered kernel always is."""
        return i == self.view.entered if self.view.entered is not None else i not in self.view.collapsed

    def _shown_positions(self) -> tuple[int, ...]:
        """All positions, or an entered kernel with its operands and results."""
        nodes, entered = self.graph.nodes, self.view.entered
        if entered is None:
            return tuple(range(len(nodes)))
        results = {i for i, n in enumerate(nodes) if isinstance(n.op, Result) and n.args == (entered,)}
        return tuple(sorted({*nodes[entered].args, entered, *results}))

    def _input_rows(self) -> tuple[tuple[str, ...], ...]:
        """Groups of inputs to draw side by side: those with the same first reader, a custom kernel."""
        first: dict[int, list[str]] = {}
        for i in self._shown_positions():
            if isinstance(self.graph.nodes[i].op, Input):
                readers = [j for j, n in enumerate(self.graph.nodes) if i in n.args]
                if readers and isinstance(self.graph.nodes[readers[0]].op, Custom):
                    first.setdefault(readers[0], []).append(self.ref(i))
        return tuple(tuple(row) for row in first.values())

    def _sequences(self) -> tuple[tuple[str, ...], ...]:
        """Kernels and operators of equal depth, in the order of the graph; of an expanded kernel the first box.

        So expanding or collapsing one of them does not change the order of the others.
        """
        if self.view.entered is not None or not self.graph.customs:
            return ()
        depths: list[int] = []
        layers: dict[int, list[str]] = {}
        for i, node in enumerate(self.graph.nodes):
            depths.append(max((depths[a] + 1 for a in node.args), default=0))
            if not isinstance(node.op, Input | Result):
                layers.setdefault(depths[i], []).append(self._first_box(i))
        return tuple(tuple(layer) for layer in layers.values() if len(layer) > 1)

    def _first_box(self, i: int) -> str:
        is_expanded = i in dict(self.graph.customs) and self._is_expanded(i)
        return f"{self.ref(i)}.b0" if is_expanded else self.ref(i)

    def _name(self, position: int) -> str:
        """The display name of a kernel-level tensor."""
        op = self.graph.nodes[position].op
        return op.name if isinstance(op, Input) else f"%{position}"

    def _operator_card(self, i: int, node: Node, parent: str) -> _Card:
        t, is_result = self.types[i], i in self.graph.outputs
        names = {j: self._name(j) for j in range(i)}
        last = (("result", "small"),) if is_result else ()
        if isinstance(node.op, Input):
            lines = ((shorten(node.op.name, MAX_NAME_CHARACTERS), "label"), *self._shape_lines(t, "mono"))
            tip = f"input {node.op.name}\n{t}\n{t.bytes} bytes"
            return _Card(self.ref(i), "tensor", "pill", lines, "", (), tip, parent, reserved_w=self._reserved_w(t))
        lines = ((op_text(node, names), "label"), *self._shape_lines(t, "mono-muted"), *last)
        tip = "\n".join((f"%{i} = {show_node(node, names)}", str(t), *filter(None, self.sources[i : i + 1])))
        kind = "result" if is_result else "op"
        return _Card(self.ref(i), kind, "rect", lines, f"%{i}", (), tip, parent, reserved_w=self._reserved_w(t))

    def _result_card(self, i: int, parent: str) -> _Card:
        t, is_result = self.types[i], i in self.graph.outputs
        last = (("result", "small"),) if is_result else ()
        lines = ((self._name(i), "label"), *self._shape_lines(t, "mono"), *last)
        kind, tip = "result" if is_result else "tensor", f"%{i}\n{t}\n{t.bytes} bytes"
        return _Card(self.ref(i), kind, "pill", lines, "", (), tip, parent, reserved_w=self._reserved_w(t))

    def _shape_lines(self, t: TensorType, kind: str) -> tuple[tuple[str, str], ...]:
        """The shape with symbols and, where that differs, in numbers."""
        numbers = sizes_text(t, dict(self.view.numbers)) if self.view.numbers else ""
        return ((shape_text(t), kind), *(((numbers, SIZES),) if numbers else ()))

    def _reserved_w(self, t: TensorType) -> float:
        """Room for any numbers that its sizes can have."""
        return width_px(sizes_text(t, {}), SIZES) if self.view.numbers else 0.0

    def _buttons(self, i: int) -> tuple[_Button, ...]:
        """The buttons of a custom kernel."""
        if not self.view.buttons or self.view.entered is not None:
            return ()
        toggle = "\N{MINUS SIGN}" if self._is_expanded(i) else "+"
        verb = "collapse" if self._is_expanded(i) else "expand"
        return (
            _Button("toggle", toggle, f"{verb} kernel %{i}"),
            _Button("enter", "enter", f"show only kernel %{i}"),
        )

    def _collapsed_card(self, i: int, block: BlockGraph, parent: str) -> _Card:
        grid, loop = range_texts(block)
        lines = (
            (f"custom kernel, {len(block.nodes)} operators", "label"),
            (shorten(grid, MAX_SHAPE_CHARACTERS), "mono"),
            *(((shorten(loop, MAX_SHAPE_CHARACTERS), "mono"),) if loop else ()),
            *self._shape_lines(self.types[i], "mono-muted"),
            *((("result", "small"),) if i in self.graph.outputs else ()),
        )
        tip = f"%{i}: {grid}, {loop or 'no loop'}\n{self.types[i]}\nexpand it to see its block graph"
        reserved = self._reserved_w(self.types[i])
        return _Card(self.ref(i), "custom", "rect", lines, f"%{i}", (), tip, parent, self._buttons(i), reserved)

    # ------------------------------------------------------------ block level
    def _block_frame(self, i: int, node: Node, block: BlockGraph, parent: str) -> layout.Frame:
        kernel = self.ref(i)
        grid, loop = range_texts(block)
        tip = f"custom kernel %{i}\nevery block of the grid runs this graph\n{grid}\n{loop or 'no loop'}"
        detail = shorten(grid + (f" · {loop}" if loop else ""), 72)
        frame = self._add_title(
            _Title(f"{kernel}#block", "block", f"BLOCK %{i}", detail, kernel, tip, parent, self._buttons(i))
        )
        loop_frame = f"{kernel}#loop"
        inside = loop_region(block)
        on_border = tuple(f"{kernel}.b{j}" for j, n in enumerate(block.nodes) if loop and is_accumulator(n))
        types = block_types(block, tuple(self.types[a] for a in node.args))
        outer: list[layout.Box | layout.Frame] = []
        looped: list[layout.Box | layout.Frame] = []
        for j, inner in enumerate(block.nodes):
            ref = f"{kernel}.b{j}"
            box = self._add_card(self._block_card(i, j, block, node, types, loop_frame if j in inside else frame))
            (looped if j in inside or ref in on_border else outer).append(box)
            if isinstance(inner.op, Load):
                self.edges.append((self.ref(node.args[inner.op.operand]), ref, "edge"))
            for a in inner.args:
                self.edges.append((f"{kernel}.b{a}", ref, "edge-loop" if a in inside else "edge"))
        self.edges.append((f"{kernel}.b{block.stores[0]}", kernel, "edge"))
        if looped and loop:
            tip = f"runs in every iteration\n{loop}\nthe results on its lower border are available after the loop"
            self._add_title(_Title(loop_frame, "loop", "LOOP", shorten(loop, 48), kernel, tip, frame))
            loads = tuple(f"{kernel}.b{j}" for j in sorted(inside) if isinstance(block.nodes[j].op, Load))
            outer.insert(0, self._frame(loop_frame, tuple(looped), on_border, (loads,)))
        return self._frame(frame, tuple(outer))

    def _block_card(
        self, i: int, j: int, block: BlockGraph, node: Node, types: tuple[TensorType, ...], parent: str
    ) -> _Card:
        inner = block.nodes[j]
        t = types[j]
        chips: tuple[_Chip, ...] = ()
        kind = "op"
        label = op_text(inner, {})
        match inner.op:
            case Load(operand, imap, fmap):
                kind = "load"
                label = f"load {shorten(self._name(node.args[operand]), MAX_NAME_CHARACTERS)}"
                chips = _chips(block, imap, fmap, with_loop=True)
            case Store(omap):
                kind, t = "store", types[inner.args[0]]
                chips = _chips(block, omap, None, with_loop=False)
            case Accumulate() | AccumulateRescaled():
                kind = "accum"
            case _:
                pass
        tip = f"%{j} = {show_node(inner)}\n{t}\n{t.bytes} bytes per block\n{_phase_text(block, j)}"
        lines = ((label, "label"), *self._shape_lines(t, "mono-muted"))
        outline: Outline = "pill" if kind == "accum" else "rect"
        reserved = self._reserved_w(t)
        return _Card(f"{self.ref(i)}.b{j}", kind, outline, lines, f"%{j}", chips, tip, parent, reserved_w=reserved)

    # ------------------------------------------------------------ collecting
    def _add_card(self, card: _Card) -> layout.Box:
        self.cards[card.id] = card
        return card.box

    def _add_title(self, title: _Title) -> str:
        self.titles[title.id] = title
        return title.id

    def _add_operand_edges(self, position: int, node: Node) -> None:
        for a in node.args:
            self.edges.append((self.ref(a), self.ref(position), "edge"))

    def _frame(
        self,
        ident: str,
        members: tuple[layout.Box | layout.Frame, ...],
        on_border: tuple[str, ...] = (),
        rows: tuple[tuple[str, ...], ...] = (),
    ) -> layout.Frame:
        return layout.Frame(ident, members, self.titles[ident].width_px, TITLE_H_PX, on_border, rows)


_PHASE_TEXTS = {
    "invariant": "the same in every iteration",
    "loop": "computed in every iteration",
    "after": "computed after the loop",
}


def _phase_text(block: BlockGraph, j: int) -> str:
    """When a block tensor is computed."""
    if block.is_open:
        return "maps are unbound"
    return _PHASE_TEXTS[phases(block)[j]] if block.loop else "computed once per block"


def _chips(
    block: BlockGraph, dims: tuple[int | None, ...] | None, fmap: int | None, with_loop: bool
) -> tuple[_Chip, ...]:
    """The chips of a load or store; `dims` is its imap or omap, None while that is open."""
    if dims is None and not block.grid:
        return (_Chip(MAPS, is_open=True),)
    chips = [
        _Chip(p.name, is_open=True) if dims is None else _Chip(p.name, along=dims[n]) for n, p in enumerate(block.grid)
    ]
    if with_loop and block.loop:
        chips.append(_Chip(block.loop.name, is_open=dims is None and fmap is None, along=fmap))
    return tuple(chips)


# ---------------------------------------------------------------- shapes
def _frame_shape(title: _Title, r: Rect) -> Shape:
    kind = f"frame-{title.level}"
    return Shape(title.id, "frame", kind, r.x, r.y, r.w, r.h, ref=title.ref, tip=title.tip, parent=title.parent)


def _title_shapes(title: _Title, r: Rect, routes: list[tuple[Point, ...]]) -> list[Shape]:
    """The title on its own background, if possible at a position that no edge crosses, then its buttons."""
    w = title.width_px
    y = r.y + 6
    passing = sorted(x for route in routes for x, at in curve_points(route) if y <= at <= y + TITLE_H_PX)
    places = [r.x + 6, *(x + 6 for x in passing if r.x <= x)]
    free = [x for x in places if x + w <= r.right - 4 and not any(x - 2 <= p <= x + w for p in passing)]
    x = free[0] if free else places[0]
    start = x + 6 + _buttons_w(title.buttons)
    texts = [Text(start, y + 17, title.word, "heading", "start")]
    if title.detail:
        texts.append(Text(start + 12 + width_px(title.word, "heading"), y + 17, title.detail, "mono", "start"))
    kind = f"plate-{title.level}"
    plate = Shape(f"{title.id}-title", "text", kind, x, y, w, TITLE_H_PX, texts=tuple(texts), parent=title.id)
    return [plate, *_button_shapes(title.buttons, title.ref, title.id, x + 2, y)]


def _button_shapes(buttons: tuple[_Button, ...], ref: str, parent: str, x: float, y: float) -> list[Shape]:
    shapes: list[Shape] = []
    for b in buttons:
        label = (Text(x + b.width_px / 2, y + BUTTON_PX * 0.68, b.text, "small"),)
        shapes.append(
            Shape(f"{ref}#{b.action}", "button", "button", x, y, b.width_px, BUTTON_PX, "rect", label, ref, b.tip,
                  parent, action=b.action)
        )  # fmt: skip
        x += b.width_px + CHIP_GAP_PX
    return shapes


def _edge(number: int, source: str, target: str, kind: str, route: tuple[Point, ...]) -> Edge:
    ident = f"edge{number}:{source}>{target}"
    return Edge(ident, kind, route, "bezier", arrow=True, source=source, target=target, ref=source)


def curve_points(route: tuple[Point, ...]) -> list[Point]:
    """Points along a Bezier curve; between two of them the curve cannot cross a line of text."""
    points: list[Point] = []
    for start in range(0, len(route) - 1, 3):
        a, b, c, d = route[start : start + 4]
        for step in range(SAMPLES + 1):
            t = step / SAMPLES
            u = 1 - t
            points.append((
                u**3 * a[0] + 3 * u * u * t * b[0] + 3 * u * t * t * c[0] + t**3 * d[0],
                u**3 * a[1] + 3 * u * u * t * b[1] + 3 * u * t * t * c[1] + t**3 * d[1],
            ))  # fmt: skip
    return points


def _card_shapes(card: _Card, r: Rect) -> list[Shape]:
    """The box of a card, then its chips."""
    y = r.y + PAD_PX / 2
    texts: list[Text] = []
    for number, (text, kind) in enumerate(card.lines):
        baseline = y + line_px(kind) * 0.76
        if number == 0 and card.tag:
            texts.append(Text(r.x + PAD_PX - 2, baseline, card.tag, "mono-muted", "start"))
        texts.append(Text(r.x + r.w / 2, baseline, text, kind))
        y += line_px(kind)
    shapes = [
        Shape(card.id, "box", card.kind, r.x, r.y, r.w, r.h, card.outline, tuple(texts), card.id, card.tip, card.parent)
    ]
    x = r.x + (r.w - card.chips_w) / 2
    for chip in card.chips:
        w = chip.width_px
        label = Text(x + w / 2, y + 2 + CHIP_H_PX * 0.72, chip.text, "mono")
        shapes.append(
            Shape(f"{card.id}#{chip.name}", "chip", chip.kind, x, y + 2, w, CHIP_H_PX, "pill", (label,), card.id,
                  chip.tip, card.id)
        )  # fmt: skip
        x += w + CHIP_GAP_PX
    right = r.right - _buttons_w(card.buttons)
    return [*shapes, *_button_shapes(card.buttons, card.id, card.id, right, r.y + CHIP_GAP_PX)]
