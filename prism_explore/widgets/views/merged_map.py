"""The map of two searches: an icicle plot of their merged search tree.

Input: a `MergedTree`. Output: a `Scene`. Width goes to what differs: a step with a difference at or below it is drawn,
and all other steps below one node share one block, which is marked `=`. A letter and a pattern say which search has a
step. Blocks narrower than two pixels are merged into one block with their number.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from prism_explore.diagnose.merged_tree import Difference, MergedStep, MergedTree
from prism_explore.widgets.drawing.text_metrics import width_px
from prism_explore.widgets.scene import Item, Scene, Shape, Text

ROW_PX = 24.0
MIN_BLOCK_PX = 2.0
MAX_LEVELS = 40
"""Largest number of rows; deeper steps are left out, and counted."""

KIND_OF: Mapping[Difference, str] = {
    "same": "same",
    "only A": "only-a",
    "only B": "only-b",
    "other fate": "other-fate",
    "other reason": "other-reason",
}
"""Style of each kind of difference."""
LETTER_OF: Mapping[Difference, str] = {
    "same": "=",
    "only A": "A",
    "only B": "B",
    "other fate": "≠",
    "other reason": "r",
}
LABEL_OF: Mapping[Difference, str] = {
    "same": "= in both",
    "only A": "A only in A",
    "only B": "B only in B",
    "other fate": "≠ expanded in one, pruned in the other",
    "other reason": "r pruned for another reason",
}


def merged_scene(tree: MergedTree, kinds: Collection[Difference], width: float, root: int = -1) -> Scene:
    """Draw the merged tree.

    Args:
        tree: of both searches.
        kinds: the kinds of difference to show; other steps are folded.
        width: of the picture. Units: px.
        root: the step to zoom into; -1 for the full tree.
    """
    drawing = _MergedMap(tree, frozenset(kinds), width)
    drawing.draw(root if 0 <= root < len(tree.steps) else -1)
    return drawing.scene()


def shown_weights(tree: MergedTree, kinds: Collection[Difference]) -> list[int]:
    """Per step, its width in units of one block; 0 where neither it nor a step below it is of these kinds."""
    weights = [0] * len(tree.steps)
    folded = [False] * len(tree.steps)
    for step in reversed(tree.steps):
        own = weights[step.number] + folded[step.number]
        if weights[step.number] or step.difference in kinds:
            weights[step.number] = max(1, own)
        if step.parent >= 0:
            weights[step.parent] += weights[step.number]
            folded[step.parent] |= not weights[step.number]
    return weights


class _MergedMap:
    """Collects the blocks row by row."""

    def __init__(self, tree: MergedTree, kinds: frozenset[Difference], width: float) -> None:
        self.tree, self.kinds, self.width = tree, kinds, width
        self.weights = shown_weights(tree, kinds)
        self.items: list[Item] = []
        self.depth = 0
        self.left_out = 0

    def draw(self, root: int) -> None:
        """Draw the subtree of `root` below its ancestors, or the full tree."""
        path = self.tree.path(root)
        for depth, above in enumerate(path[:-1]):
            self._step(above, 0.0, self.width, depth)
            self.depth = depth + 1
        self._row([root] if root >= 0 else self.tree.roots, 0.0, self.width, len(path[:-1]))

    def _row(self, numbers: Sequence[int], x: float, w: float, depth: int) -> None:
        steps = [self.tree.steps[n] for n in numbers]
        shown = [s for s in steps if self.weights[s.number]]
        same = [s for s in steps if not self.weights[s.number]]
        if not steps:
            return
        if depth >= MAX_LEVELS:
            self.left_out += len(steps)
            return
        self.depth = max(self.depth, depth + 1)
        unit = w / (sum(self.weights[s.number] for s in shown) + bool(same))
        narrow: list[MergedStep] = []
        for step in shown:
            wide = self.weights[step.number] * unit
            if wide < MIN_BLOCK_PX:
                narrow.append(step)
                continue
            self._step(step, x, wide, depth)
            self._row(step.children, x, wide, depth + 1)
            x += wide
        if narrow:
            wide = sum(self.weights[s.number] for s in narrow) * unit
            self._group(narrow, "aggregate", x, wide, depth, f"{len(narrow):,} steps, each narrower than 2 px")
            self.left_out += len(narrow)
            x += wide
        if same:
            self._group(same, "same", x, unit, depth, f"{len(same):,} steps without a difference that is shown")

    def _step(self, step: MergedStep, x: float, w: float, depth: int) -> None:
        kind = step.difference
        letter = "" if kind == "same" else f"{LETTER_OF[kind]} "
        name = step.operator or "start"
        options = (f"{letter}{name}", f"{letter}{name.partition('(')[0]}", letter.strip())
        self._block(f"m{step.number}", KIND_OF[kind], x, w, depth, options, f"m{step.number}", step_tip(step))

    def _group(self, steps: Sequence[MergedStep], kind: str, x: float, w: float, depth: int, tip: str) -> None:
        if w < MIN_BLOCK_PX:
            return
        options = (f"= {len(steps):,}", "=") if kind == "same" else (f"{len(steps):,} steps", f"{len(steps):,}")
        first = steps[0]
        # A click selects the node above, whose block is wide enough to be found.
        ref = f"m{first.parent}" if first.parent >= 0 else ""
        self._block(f"m{first.number}+{kind}", kind, x, w, depth, options, ref, tip)

    def _block(
        self, ident: str, kind: str, x: float, w: float, depth: int, options: Sequence[str], ref: str, tip: str
    ) -> None:
        text = next((t for t in options if t and width_px(t, "mono") + 6 <= w), "")
        texts = (Text(x + w / 2, (depth + 0.68) * ROW_PX, text, "mono"),) if text else ()
        self.items.append(Shape(ident, "block", kind, x, depth * ROW_PX, w, ROW_PX, "rect", texts, ref, tip))

    def _legend(self, top: float) -> float:
        """Draw the legend of the marks that occur; return its height."""
        found = {item.kind for item in self.items if isinstance(item, Shape)}
        x, y = 0.0, top + 6
        for difference, label in LABEL_OF.items():
            kind = KIND_OF[difference]
            if kind not in found:
                continue
            wide = width_px(label, "small")
            if x and x + 24 + wide > self.width:
                x, y = 0.0, y + 20
            texts = (Text(x + 22, y + 13, label, "small", "start"),)
            self.items.append(Shape(f"legend#{kind}", "text", kind, x + 2, y + 2, 14, 13, "rect"))
            self.items.append(Shape(f"legend#{kind}-label", "text", "plain", x, y, 24, 18, "none", texts))
            x += 22 + wide + 14
        return y + 24 - top

    def scene(self) -> Scene:
        """All blocks, the legend, and a sentence on what was left out."""
        bottom = max(self.depth, 1) * ROW_PX
        if not self.tree.steps:
            text = Text(self.width / 2, ROW_PX * 0.7, "neither search has expanded a node yet", "muted")
            self.items.append(Shape("nothing", "text", "plain", 0, 0, self.width, ROW_PX, "none", (text,)))
        bottom += self._legend(bottom)
        omitted = f"{self.left_out:,} steps are too narrow or too deep to be drawn one by one." if self.left_out else ""
        if omitted:
            note = (Text(0, bottom + 13, omitted, "muted", "start"),)
            self.items.append(Shape("omitted", "text", "plain", 0, bottom, self.width, 20, "none", note))
            bottom += 20
        counts = self.tree.counts()
        desc = ", ".join(f"{count:,} {kind}" for kind, count in counts.items())
        return Scene("merged", "both searches", f"Steps: {desc}. {omitted}".strip(), self.width, bottom + 4,
                     tuple(self.items), omitted)  # fmt: skip


def step_tip(step: MergedStep) -> str:
    """What each search did at a step, a line each."""
    lines = [f"{step.operator or 'start'}, {step.level} level"]
    for side, letter in enumerate("AB"):
        lines.append(f"{letter}: {fate_text(step, side)}")
    if step.nodes[0] or step.nodes[1]:
        lines.append(f"leaves below: {step.leaves[0]:,} in A, {step.leaves[1]:,} in B")
    return "\n".join(lines)


def fate_text(step: MergedStep, side: int) -> str:
    """What one search did at a step."""
    region = step.regions[side]
    if step.nodes[side]:
        families = step.families[side]
        return f"{step.nodes[side]} expanded" + (f", completes {', '.join(families)}" if families else "")
    if region is not None:
        return f"{region.region} pruned by {region.reason.rule} [{region.reason.soundness}]: {region.reason.sentence}"
    return "not tried"
