"""An sGraph as nested frames: KERNEL around everything, BLOCK inside it, the for-loop inside that.

Reads from top to bottom. A box is an operator and the tensor it makes: its word, and the symbolic shape
below. A load or store carries one chip per grid dim and loop: `x↔1` says that grid dim x cuts dim 1,
`x –` that it cuts nothing, `x↔?` that the map is still open. The loop is a frame around what runs in
every iteration; accumulators stand on its lower border, because they are what survives it.

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

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from prism_explore.ir.dims import Dim
from prism_explore.ir.graph import SGraph, block_types, phases
from prism_explore.ir.ops import (
    Accumulate,
    AccumulateRescaled,
    Band,
    Binary,
    BlockGraph,
    Concat,
    Custom,
    Expand,
    Input,
    Load,
    MatMul,
    Node,
    Permute,
    Reduce,
    Reshape,
    Result,
    RunningMax,
    Scalar,
    ScalarFn,
    Slice,
    Store,
    op_name,
)
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.tensors import TensorType
from prism_explore.ir.text import show_node
from prism_explore.widgets.drawing import layout
from prism_explore.widgets.drawing.layout import Diagram, Engine, Rect
from prism_explore.widgets.drawing.text_metrics import line_px, shorten, width_px
from prism_explore.widgets.scene import Edge, Item, Outline, Point, Scene, Shape, Text

PAD_PX = 12.0
CHIP_H_PX = 18.0
CHIP_GAP_PX = 4.0
OUTER_PX = 10.0
"""Between the picture's border and its outermost frame."""
TITLE_H_PX = 20.0
SAMPLES = 24
LONGEST_NAME = 28
LONGEST_SHAPE = 40


def sgraph_scene(
    graph: SGraph,
    owner: str = "",
    title: str = "",
    collapsed: Collection[int] = (),
    names: Mapping[str, str] | None = None,
    engine: Engine | None = None,
) -> Scene:
    """The nested picture of an sGraph.

    Args:
        graph: what to draw; open maps show as `?`.
        owner: the family or candidate, such as f1.c2: a tensor's ref is then f1.c2/k3.b7.
        title: stands beside the word KERNEL.
        collapsed: positions of custom kernels to draw as one box.
        names: names of tensors (k3, k3.b7) for people; inputs have theirs already.
        engine: who places boxes; see `layout.place`.

    Raises:
        ShapeError: the graph is ill-formed.
    """
    prefix = f"{owner}/k" if owner else "k"
    drawing = _Drawing(graph, lambda i: f"{prefix}{i}", frozenset(collapsed), names or {})
    return drawing.scene("sgraph", f"sGraph {owner}".strip(), title or owner, engine)


def program_scene(program: TensorProgram, engine: Engine | None = None) -> Scene:
    """The picture of a tensor program; a tensor's ref is program.%5, as in the prover's classes."""
    drawing = _Drawing(program.graph, lambda i: f"program.%{i}", frozenset(), {})
    return drawing.scene("sgraph", f"program {program.name}", program.name, engine)


@dataclass(frozen=True, slots=True)
class _Card:
    """What a box says, before it is known where it stands."""

    id: str
    kind: str
    outline: Outline
    lines: tuple[tuple[str, str], ...]
    tag: str
    chips: tuple[tuple[str, str, str], ...]
    """Name, text and kind."""
    tip: str
    parent: str

    @property
    def chips_w(self) -> float:
        """Of the row of chips."""
        return sum(_chip_w(text) + CHIP_GAP_PX for _, text, _ in self.chips) - CHIP_GAP_PX

    @property
    def box(self) -> layout.Box:
        """The room it needs; a tag stands left of the first line, which stays in the middle."""
        tag = width_px(self.tag, "mono-muted") + 8 if self.tag else 0.0
        first = width_px(*self.lines[0]) + 2 * tag
        w = max(first, *(width_px(*line) for line in self.lines), self.chips_w) + 2 * PAD_PX
        h = sum(line_px(kind) for _, kind in self.lines) + PAD_PX
        return layout.Box(self.id, max(w, 76.0), h + (CHIP_H_PX + CHIP_GAP_PX if self.chips else 0.0))


class _Drawing:
    """Collects cards, frames and edges of one graph."""

    def __init__(
        self,
        graph: SGraph,
        ref: Callable[[int], str],
        collapsed: frozenset[int],
        names: Mapping[str, str],
    ) -> None:
        self.graph, self.ref, self.collapsed = graph, ref, collapsed
        self.names = {**{f"k{i}": n.op.name for i, n in enumerate(graph.nodes) if isinstance(n.op, Input)}, **names}
        self.types = graph.types()
        self.cards: dict[str, _Card] = {}
        self.titles: dict[str, tuple[str, str, str]] = {}
        """Per frame: kind, word, what stands beside it."""
        self.tips: dict[str, str] = {}
        self.edges: list[tuple[str, str, str]] = []
        """From, to, kind."""
        self.parents: dict[str, str] = {}

    # ------------------------------------------------------------ cards
    def called(self, position: int) -> str:
        """A kernel-level tensor's name for people."""
        return self.names.get(f"k{position}", f"%{position}")

    def scene(self, name: str, subject: str, beside: str, engine: Engine | None) -> Scene:
        """Place everything and spell it as items."""
        outer = f"{self.ref(-1)}#kernel".replace("-1", "")
        self.titles[outer] = ("frame-kernel", "KERNEL", shorten(beside, 48))
        members: list[layout.Box | layout.Frame] = []
        for i, node in enumerate(self.graph.nodes):
            match node.op:
                case Custom(block) if i not in self.collapsed:
                    members.append(self._block(i, node, block, outer))
                    members.append(self._card(self._result(i, outer)))
                case Custom(block):
                    members.append(self._card(self._closed(i, block, outer)))
                    self._operands(i, node)
                case Result(index):
                    members.append(self._card(self._result(i, outer)))
                    kernel = self.ref(node.args[0])
                    source = f"{kernel}.b{self._stores(node.args[0])[index]}"
                    self.edges.append((source if node.args[0] not in self.collapsed else kernel, self.ref(i), "edge"))
                case _:
                    members.append(self._card(self._kernel_card(i, node, outer)))
                    self._operands(i, node)
        frame = self._frame(outer, tuple(members), rows=self._rows())
        placed = layout.place(Diagram((frame,), tuple((s, t) for s, t, _ in self.edges)), engine)
        rects = {k: Rect(r.x + OUTER_PX, r.y + OUTER_PX, r.w, r.h) for k, r in placed.rects.items()}
        routes = [tuple((x + OUTER_PX, y + OUTER_PX) for x, y in route) for route in placed.routes]
        items: list[Item] = [self._frame_shape(i, rects[i]) for i in self.titles]
        for number, (source, target, kind) in enumerate(self.edges):
            items.append(self._edge(number, source, target, kind, routes[number]))
        items += [self._title(i, rects[i], routes) for i in self.titles]
        for card in self.cards.values():
            items += _card_shapes(card, rects[card.id])
        return Scene(
            name,
            subject,
            describe(self.graph),
            placed.width + 2 * OUTER_PX,
            placed.height + 2 * OUTER_PX,
            tuple(items),
        )

    def _rows(self) -> tuple[tuple[str, ...], ...]:
        """Inputs side by side, those with the same first reader."""
        first: dict[int, list[str]] = {}
        for i, node in enumerate(self.graph.nodes):
            if isinstance(node.op, Input):
                readers = [j for j, n in enumerate(self.graph.nodes) if i in n.args]
                if readers and isinstance(self.graph.nodes[readers[0]].op, Custom):
                    first.setdefault(readers[0], []).append(self.ref(i))
        return tuple(tuple(row) for row in first.values())

    def _stores(self, position: int) -> tuple[int, ...]:
        return dict(self.graph.customs)[position].stores

    def _card(self, card: _Card) -> layout.Box:
        self.cards[card.id] = card
        return card.box

    def _operands(self, position: int, node: Node) -> None:
        for a in node.args:
            self.edges.append((self.ref(a), self.ref(position), "edge"))

    def _kernel_card(self, i: int, node: Node, parent: str) -> _Card:
        t, is_result = self.types[i], i == self.graph.output
        names = {j: self.called(j) for j in range(i)}
        last = (("result", "small"),) if is_result else ()
        if isinstance(node.op, Input):
            lines = ((shorten(node.op.name, LONGEST_NAME), "label"), (shape_text(t), "mono"))
            tip = f"input {node.op.name}\n{t}\n{t.bytes} bytes"
            return _Card(self.ref(i), "tensor", "pill", lines, "", (), tip, parent)
        lines = ((op_text(node, names), "label"), (shape_text(t), "mono-muted"), *last)
        tip = f"%{i} = {show_node(node, names)}\n{t}"
        return _Card(self.ref(i), "result" if is_result else "op", "rect", lines, f"%{i}", (), tip, parent)

    def _result(self, i: int, parent: str) -> _Card:
        t, is_result = self.types[i], i == self.graph.output
        lines = ((self.called(i), "label"), (shape_text(t), "mono"), *((("result", "small"),) if is_result else ()))
        kind = "result" if is_result else "tensor"
        return _Card(self.ref(i), kind, "pill", lines, "", (), f"%{i}\n{t}\n{t.bytes} bytes", parent)

    def _closed(self, i: int, block: BlockGraph, parent: str) -> _Card:
        grid, loop = _ranges(block)
        lines = (
            (f"custom kernel, {len(block.nodes)} operators", "label"),
            (shorten(grid, LONGEST_SHAPE), "mono"),
            *(((shorten(loop, LONGEST_SHAPE), "mono"),) if loop else ()),
            (shape_text(self.types[i]), "mono-muted"),
            *((("result", "small"),) if i == self.graph.output else ()),
        )
        tip = f"%{i}: {grid}, {loop or 'no loop'}\n{self.types[i]}\nexpand to see its block graph"
        return _Card(self.ref(i), "custom", "rect", lines, f"%{i}", (), tip, parent)

    # ------------------------------------------------------------ one block graph
    def _block(self, i: int, node: Node, block: BlockGraph, parent: str) -> layout.Frame:
        here = self.ref(i)
        frame, loop_frame = f"{here}#block", f"{here}#loop"
        grid, loop = _ranges(block)
        beside = grid + (f" · {loop}" if loop else "")
        self.titles[frame] = ("frame-block", f"BLOCK %{i}", shorten(beside, 72))
        self.parents[frame] = parent
        self.tips[frame] = f"custom kernel %{i}\nevery block of the grid runs this\n{grid}\n{loop or 'no loop'}"
        inside = loop_region(block)
        on_border = tuple(f"{here}.b{j}" for j, n in enumerate(block.nodes) if loop and _survives(n))
        types = block_types(block, tuple(self.types[a] for a in node.args))
        outer: list[layout.Box | layout.Frame] = []
        looped: list[layout.Box | layout.Frame] = []
        for j, inner in enumerate(block.nodes):
            ref = f"{here}.b{j}"
            holder = loop_frame if j in inside else frame
            box = self._card(self._block_card(ref, j, block, node, types, holder))
            (looped if j in inside or ref in on_border else outer).append(box)
            if isinstance(inner.op, Load):
                self.edges.append((self.ref(node.args[inner.op.operand]), ref, "edge"))
            for a in inner.args:
                self.edges.append((f"{here}.b{a}", ref, "edge-loop" if a in inside else "edge"))
        self.edges.append((f"{here}.b{block.stores[0]}", here, "edge"))
        if looped and loop:
            self.titles[loop_frame] = ("frame-loop", "LOOP", shorten(loop, 48))
            self.parents[loop_frame] = frame
            self.tips[loop_frame] = f"runs in every iteration\n{loop}\nits lower border holds what survives it"
            loads = tuple(f"{here}.b{j}" for j in sorted(inside) if isinstance(block.nodes[j].op, Load))
            outer.insert(0, self._frame(loop_frame, tuple(looped), on_border, (loads,)))
        return self._frame(frame, tuple(outer))

    def _block_card(
        self, ref: str, j: int, block: BlockGraph, node: Node, types: tuple[TensorType, ...], parent: str
    ) -> _Card:
        inner = block.nodes[j]
        t = types[j]
        named = self.names.get(ref.rsplit("/", 1)[-1], "")
        chips: tuple[tuple[str, str, str], ...] = ()
        kind = "op"
        word = op_text(inner, {})
        match inner.op:
            case Load(operand, imap, fmap):
                kind = "load"
                word = f"load {shorten(self.called(node.args[operand]), LONGEST_NAME)}"
                chips = _chips(block, imap, fmap, with_loop=True)
            case Store(omap):
                kind, t = "store", types[inner.args[0]]
                chips = _chips(block, omap, None, with_loop=False)
            case Accumulate() | AccumulateRescaled():
                kind = "accum"
            case _:
                pass
        when = {"invariant": "the same in every iteration", "loop": "in every iteration", "after": "behind the loop"}
        phase = "maps are open" if block.is_open else when[phases(block)[j]] if block.loop else "once per block"
        tip = f"%{j} = {show_node(inner)}\n{t}\n{t.bytes} bytes per block\n{phase}"
        lines = ((named or word, "label"), (shape_text(t), "mono-muted"))
        return _Card(ref, kind, "pill" if kind == "accum" else "rect", lines, f"%{j}", chips, tip, parent)

    # ------------------------------------------------------------ frames and edges
    def _frame(
        self,
        ident: str,
        members: tuple[layout.Box | layout.Frame, ...],
        on: tuple[str, ...] = (),
        rows: tuple[tuple[str, ...], ...] = (),
    ) -> layout.Frame:
        return layout.Frame(ident, members, _title_w(*self.titles[ident][1:]), TITLE_H_PX, on, rows)

    def _frame_shape(self, ident: str, r: Rect) -> Shape:
        kind, *_ = self.titles[ident]
        ref = ident.split("#")[0] if kind != "frame-kernel" else ""
        parent = self.parents.get(ident, "")
        return Shape(ident, "frame", kind, r.x, r.y, r.w, r.h, ref=ref, tip=self.tips.get(ident, ""), parent=parent)

    def _title(self, ident: str, r: Rect, routes: list[tuple[Point, ...]]) -> Shape:
        """A frame's title, on a plate of its own where no edge passes if there is such a place."""
        kind, word, beside = self.titles[ident]
        w = _title_w(word, beside)
        y = r.y + 6
        passing = sorted(x for route in routes for x, at in sampled(route) if y <= at <= y + TITLE_H_PX)
        places = [r.x + 6, *(x + 6 for x in passing if r.x <= x)]
        free = [x for x in places if x + w <= r.right - 4 and not any(x - 2 <= p <= x + w for p in passing)]
        x = free[0] if free else places[0]
        texts = [Text(x + 6, y + 15, word, "heading", "start")]
        if beside:
            texts.append(Text(x + 18 + width_px(word, "heading"), y + 15, beside, "mono", "start"))
        plate = kind.replace("frame", "plate")
        return Shape(f"{ident}-title", "text", plate, x, y, w, TITLE_H_PX, texts=tuple(texts), parent=ident)

    def _edge(self, number: int, source: str, target: str, kind: str, route: tuple[Point, ...]) -> Edge:
        ident = f"edge{number}:{source}>{target}"
        return Edge(ident, kind, route, "bezier", arrow=True, source=source, target=target, ref=source)


def sampled(route: tuple[Point, ...]) -> list[Point]:
    """Points along a bezier, close enough together that none slips past a line of text."""
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


def _title_w(word: str, beside: str) -> float:
    return width_px(word, "heading") + (width_px(beside, "mono") + 12 if beside else 0) + 12


def _card_shapes(card: _Card, r: Rect) -> list[Shape]:
    y = r.y + PAD_PX / 2
    texts: list[Text] = []
    for number, (text, kind) in enumerate(card.lines):
        baseline = y + line_px(kind) * 0.76
        if number == 0 and card.tag:
            texts.append(Text(r.x + PAD_PX - 2, baseline, card.tag, "mono-muted", "start"))
        texts.append(Text(r.x + r.w / 2, baseline, text, kind))
        y += line_px(kind)
    body = Shape(
        card.id, "box", card.kind, r.x, r.y, r.w, r.h, card.outline, tuple(texts), card.id, card.tip, card.parent
    )  # fmt: skip
    shapes = [body]
    x = r.x + (r.w - card.chips_w) / 2
    for name, text, kind in card.chips:
        w = _chip_w(text)
        label = Text(x + w / 2, y + 2 + CHIP_H_PX * 0.72, text, "mono")
        shapes.append(
            Shape(f"{card.id}#{name}", "chip", kind, x, y + 2, w, CHIP_H_PX, "pill", (label,), card.id,
                  _chip_tip(name, text), card.id)
        )  # fmt: skip
        x += w + CHIP_GAP_PX
    return shapes


def _chip_w(text: str) -> float:
    return width_px(text, "mono") + 12


def _chip_tip(name: str, text: str) -> str:
    if text.endswith("?"):
        return f"{name}: still open; a candidate chooses"
    if text.endswith("–"):
        return f"{name} cuts nothing: everyone along it has all of this"
    return f"{name} cuts dim {text.split('↔')[1]}"


def _chips(
    block: BlockGraph, cut: tuple[int | None, ...] | None, fmap: int | None, with_loop: bool
) -> tuple[tuple[str, str, str], ...]:
    def chip(name: str, along: int | None) -> tuple[str, str, str]:
        shown = shorten(name, 8)
        if cut is None and along is None:
            return name, f"{shown}↔?", "chip-open"
        if along is None:
            return name, f"{shown} –", "chip-whole"
        return name, f"{shown}↔{along}", "chip-cut"

    if cut is None and not block.grid:
        return (("maps", "maps ?", "chip-open"),)
    chips = [chip(p.name, cut[n] if cut is not None else None) for n, p in enumerate(block.grid)]
    if with_loop and block.loop:
        chips.append(chip(block.loop.name, fmap))
    return tuple(chips)


def _loops(block: BlockGraph) -> bool:
    """Whether there is a for-loop, or may be one: open maps leave room for it where something accumulates."""
    return block.loop is not None or (block.is_open and any(_survives(n) for n in block.nodes))


def _survives(node: Node) -> bool:
    """Whether it is an accumulator: what survives the for-loop."""
    return isinstance(node.op, Accumulate | AccumulateRescaled)


def _ranges(block: BlockGraph) -> tuple[str, str]:
    """Grid and loop for people; the loop's is empty where there is none."""
    sizes = ", ".join(f"{p.name} = {dim_text(p.size)}" for p in block.grid)
    grid = f"grid {sizes or ('?' if block.is_open else '1')}"
    if block.loop:
        return grid, f"for {block.loop.name} in {dim_text(block.loop.size)}"
    return grid, "for-loop ?" if _loops(block) else ""


def loop_region(block: BlockGraph) -> frozenset[int]:
    """Positions of the tensors that exist once per iteration.

    While maps are open, all that an accumulator needs: which of it is the same in every iteration is not
    decided yet.
    """
    if not _loops(block):
        return frozenset()
    if not block.is_open:
        return frozenset(j for j, p in enumerate(phases(block)) if p == "loop")
    needed: set[int] = set()
    for j in range(len(block.nodes) - 1, -1, -1):
        if _survives(block.nodes[j]) or j in needed:
            needed.update(block.nodes[j].args)
    return frozenset(needed)


def dim_text(size: Dim) -> str:
    """A size for people: `4096/(f·gx)`."""
    return str(size).replace("*", "·")


def shape_text(t: TensorType) -> str:
    """A shape for people: `b × 4096/gx`."""
    if not t.dims:
        return "scalar"
    parts = [f"({dim_text(d)})" if len(d.terms) > 1 else dim_text(d) for d in t.dims]
    return shorten(" × ".join(parts), LONGEST_SHAPE)


_SCALAR_WORDS: dict[ScalarFn, str] = {"add": "+", "mul": "×", "pow": "^", "max": "at least", "min": "at most"}


def op_text(node: Node, names: Mapping[int, str]) -> str:
    """An operator for people; operands only where their order matters."""
    called = [shorten(names.get(a, f"%{a}"), 12) for a in node.args]
    match node.op:
        case Scalar(fn, value):
            shown = str(value) if value.denominator == 1 else f"{float(value):.4g}"
            return f"{_SCALAR_WORDS[fn]} {shown}"
        case Reduce(fn, along):
            return f"{fn} dim {along}"
        case Accumulate(fn, along):
            words = "accum" if fn == "sum" and along is None else f"accum {fn}"
            return words if along is None else f"{words} dim {along}"
        case AccumulateRescaled(along):
            where = "" if along is None else f" dim {along}"
            return f"accum rescaled{where} {', '.join(called)}"
        case RunningMax(along):
            return "running max" if along is None else f"running max dim {along}"
        case Permute(order):
            return f"permute {' '.join(map(str, order))}"
        case Reshape(dims):
            return shorten(f"reshape {' × '.join(map(dim_text, dims)) or 'to a scalar'}", LONGEST_SHAPE)
        case Expand(along, size):
            return shorten(f"repeat dim {along}, {dim_text(size)} times", LONGEST_SHAPE)
        case Slice(along, start, stop):
            return shorten(f"slice dim {along}, {dim_text(start)} to {dim_text(stop)}", LONGEST_SHAPE)
        case Concat(along):
            return f"concat dim {along} {', '.join(called)}"
        case Band(_, _, low, high, _):
            bounds = [dim_text(low)] if low is not None else []
            bounds += ["column − row"]
            bounds += [dim_text(high)] if high is not None else []
            return shorten(f"band {' ≤ '.join(bounds)}", LONGEST_SHAPE)
        case Result(index):
            return f"result {index + 1} of {called[0]}"
        case MatMul() | Binary("sub" | "div" | "mask"):
            return f"{op_name(node.op)} {', '.join(called)}"
        case op:
            return op_name(op)


def describe(graph: SGraph) -> str:
    """The picture in sentences."""
    says = ["Inputs: " + ", ".join(f"{i.name} {shape_text(i.type)}" for i in graph.inputs) + "."]
    for position, block in graph.customs:
        grid, loop = _ranges(block)
        inside = loop_region(block)
        accums = sum(map(_survives, block.nodes))
        says.append(
            f"Custom kernel %{position}: {grid}, {loop or 'no loop'}; {len(block.nodes)} operators, "
            f"{len(inside)} in the loop, {accums} accumulators" + ("; maps are open." if block.is_open else ".")
        )
    others = [op_name(n.op) for n in graph.nodes if not isinstance(n.op, Input | Custom | Result)]
    if others:
        says.append(f"Kernel-level operators: {', '.join(others)}.")
    says.append(f"Result: %{graph.output}, {shape_text(graph.output_type)}.")
    return " ".join(says)
