// The search map of a report: the icicle plot that prism_explore/widgets/views/search_map.py draws, for any moment and
// any root. Python is the original: a test compares the pictures of both.

import type { Item, Scene, Shape, Text } from "../scene.ts";
import type { Columns } from "./columns.ts";
import type { FamilyMark, Reason, Soundness, State } from "./counts.ts";
import { columns as columnsOf, commas, countText, hundredths, programsText } from "./text.ts";
import type { TreeNode } from "./tree.ts";

type Outline = NonNullable<Shape["outline"]>;

/** Constants of the pictures, from Python. */
export interface Drawing {
  readonly letters: Readonly<Record<string, string>>;
  readonly pruned_kinds: Readonly<Record<Soundness, string>>;
  readonly family_outlines: Readonly<Record<string, Outline>>;
  readonly legend: readonly (readonly [kind: string, outline: Outline, label: string])[];
  /** Per kind of text, the width of one character. */
  readonly column_px: Readonly<Record<string, number>>;
  readonly row_px: number;
  readonly min_block_px: number;
  readonly letter_px: number;
  readonly mark_px: number;
  readonly max_mark_rows: number;
  readonly max_levels: number;
  readonly narrow_px: number;
  readonly log_entries: number;
  readonly outline: { readonly row_px: number; readonly toggle_px: number; readonly glyph_px: number };
  readonly tree: {
    readonly small_leaves: number;
    readonly max_rows: number;
    readonly max_more_rows: number;
    readonly max_children: number;
    readonly min_step_px: number;
    readonly max_step_px: number;
    readonly text_px: number;
  };
  readonly by_reason: {
    readonly max_operators: number;
    readonly max_nodes: number;
    readonly max_open_reasons: number;
    readonly step_px: number;
  };
  readonly similar: {
    readonly max_patterns: number;
    readonly max_parts: number;
    readonly max_examples: number;
    readonly row_px: number;
  };
  readonly time: {
    readonly left_px: number;
    readonly right_px: number;
    readonly top_px: number;
    readonly lane_px: number;
    readonly bin_px: number;
    readonly mark_px: number;
    readonly max_marks: number;
    readonly outlines: Readonly<Record<string, Outline>>;
  };
}

export function textPx(drawing: Drawing, text: string, kind: string): number {
  return (drawing.column_px[kind] ?? 0) * columnsOf(text);
}

export function letterOf(drawing: Drawing, code: string, soundness: Soundness): string {
  const letter = drawing.letters[code] ?? ([...code][0] ?? "").toUpperCase();
  return letter + (soundness === "heuristic" ? "h" : "");
}

/** Draw the icicle plot and the rows of families below it. */
export function searchScene(
  state: State,
  columns: Columns,
  drawing: Drawing,
  width: number,
  root: string,
  closed: ReadonlySet<string>,
): Scene {
  const icicle = new Icicle(state, columns, drawing, width, closed);
  icicle.draw(state.tree.nodes.has(root) ? root : "");
  return rounded(icicle.scene());
}

/** Per node, the number of families that it and the nodes below it complete. */
export function familyCounts(state: State): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const row of state.families) {
    for (const node of state.tree.path(row.node)) counts.set(node, (counts.get(node) ?? 0) + 1);
  }
  return counts;
}

/** How many families nodes and those below them complete; empty for none. */
export function familiesText(counts: ReadonlyMap<string, number>, nodes: readonly string[]): string {
  const count = nodes.reduce((sum, node) => sum + (counts.get(node) ?? 0), 0);
  return count > 0 ? countText(count, "family", "families") : "";
}

class Icicle {
  private readonly leaves: ReadonlyMap<string, number>;
  private readonly familyCounts: ReadonlyMap<string, number>;
  private readonly leaders: Item[] = [];
  private readonly items: Item[] = [];
  private readonly anchors = new Map<string, readonly [number, number]>();
  /** Per node that shares a block or is collapsed, the middle of the lower side of the block. */
  private readonly mergedAt = new Map<string, readonly [number, number]>();
  private readonly choices: ReadonlyMap<string, string>;
  private depth = 0;
  private merged = 0;
  private total = 0;

  constructor(
    private readonly state: State,
    private readonly columns: Columns,
    private readonly drawing: Drawing,
    private readonly width: number,
    /** Nodes that the user has collapsed: what is below them is not drawn. */
    private readonly closed: ReadonlySet<string>,
  ) {
    this.leaves = state.tree.leafCounts();
    this.familyCounts = familyCounts(state);
    this.choices = state.choices;
  }

  draw(root: string): void {
    const { tree } = this.state;
    const path = root ? tree.path(root) : [];
    const above = path.slice(0, -1);
    for (const [depth, ancestor] of above.entries()) this.node(tree.node(ancestor), 0, this.width, depth);
    const tops = root ? [root] : tree.roots;
    this.total = tops.reduce((sum, top) => sum + this.leavesOf(top), 0);
    this.row(tops, [], 0, this.width, above.length);
  }

  private leavesOf(node: string): number {
    return this.leaves.get(node) ?? 1;
  }

  private reason(region: number): Reason {
    return this.columns.field<Reason>("RegionPruned", "reason").at(region);
  }

  /** Draw the children and the pruned regions of one node side by side in [x, x + w). */
  private row(
    nodes: readonly string[],
    pruned: readonly number[],
    x: number,
    w: number,
    depth: number,
  ): void {
    const leaves = nodes.reduce((sum, n) => sum + this.leavesOf(n), 0) + pruned.length;
    if (leaves === 0) return;
    if (depth >= this.drawing.max_levels) {
      this.merged += leaves;
      return;
    }
    this.depth = Math.max(this.depth, depth + 1);
    const perLeaf = w / leaves;
    const least = this.drawing.min_block_px;
    const small: string[] = [];
    for (const name of nodes) {
      const wide = this.leavesOf(name) * perLeaf;
      if (wide < least) {
        small.push(name);
        continue;
      }
      const node = this.state.tree.node(name);
      this.node(node, x, wide, depth);
      if (this.closed.has(name)) this.mergedAt.set(name, [x + wide / 2, (depth + 1) * this.drawing.row_px]);
      else this.row(node.children, node.pruned, x, wide, depth + 1);
      x += wide;
    }
    const narrow: number[] = [];
    for (const group of this.groups(pruned, perLeaf)) {
      if (group.length * perLeaf < least) {
        narrow.push(...group);
        continue;
      }
      this.prunedBlock(group, x, group.length * perLeaf, depth);
      x += group.length * perLeaf;
    }
    let leftOut = 0;
    for (const soundness of Object.keys(this.drawing.pruned_kinds)) {
      const same = narrow.filter((region) => this.reason(region).soundness === soundness);
      if (same.length * perLeaf < least) {
        leftOut += same.length;
        continue;
      }
      this.prunedBlock(same, x, same.length * perLeaf, depth);
      x += same.length * perLeaf;
    }
    if (small.length > 0 || leftOut > 0) this.mergedBlock(small, leftOut, x, perLeaf, depth);
  }

  /** Regions that share a block: each has its own if there is room, else those with the same reason share one. */
  private groups(pruned: readonly number[], perLeaf: number): number[][] {
    if (perLeaf >= this.drawing.letter_px) return pruned.map((region) => [region]);
    return groupsOf(pruned, this.columns);
  }

  /** What the event that expanded a node says of it; empty without such an event. */
  private textOf(node: TreeNode, name: string): string {
    return node.position < 0 ? "" : this.columns.field<string>("NodeExpanded", name).at(node.position);
  }

  private node(node: TreeNode, x: number, w: number, depth: number): void {
    const { state, drawing } = this;
    const [operator, expression] = [this.textOf(node, "operator"), this.textOf(node, "expression")];
    const level = this.textOf(node, "level") || "kernel";
    const below = node.children.length + node.pruned.length + node.families.length;
    let kind = below > 0 || state.tree.finished ? "expanded" : "frontier";
    if (this.choices.get(node.id) === "rejected") kind = "pruned-user";
    else if (this.closed.has(node.id) && below > 0) kind = "collapsed";
    const name = operator || "start";
    const names = [`${node.id}  ${name}`, name, operator.split("(")[0] ?? "", node.id];
    const count = this.familyCounts.get(node.id) ?? 0;
    const families = familiesText(this.familyCounts, [node.id]);
    const standsForSeveral = count > 1 && (kind === "collapsed" || node.families.length > 1);
    const numbered = standsForSeveral ? names.filter(Boolean).map((text) => `${text} · ${families}`) : [];
    const options = [...numbered, ...names];
    const leaves = this.leavesOf(node.id);
    const tip = [
      `${node.id}: ${name}, ${level} level`,
      expression && `computes ${expression}`,
      `${countText(leaves, "leaf", "leaves")} below, ${commas(node.pruned.length)} pruned here`,
      kind === "frontier" ? "not expanded yet" : "",
      node.families.length > 0 ? `completes ${node.families.join(", ")}` : "",
      count > node.families.length ? `leads to ${families}` : "",
    ];
    this.items.push({
      ...block(node.id, kind, x, depth * drawing.row_px, w, drawing.row_px),
      texts: this.fitting(options, x, w, depth, "mono"),
      ref: node.id,
      tip: tip.filter(Boolean).join("\n"),
      parent: node.parent,
      count: leaves,
    });
    for (const family of node.families) {
      this.anchors.set(family, [x + w / 2, (depth + 1) * drawing.row_px]);
    }
  }

  /** Draw nodes and regions that are too narrow alone as one block; draw nothing if that is too narrow too. */
  private mergedBlock(
    names: readonly string[],
    pruned: number,
    x: number,
    perLeaf: number,
    depth: number,
  ): void {
    const { tree } = this.state;
    const { row_px, min_block_px } = this.drawing;
    const leaves = names.reduce((sum, n) => sum + this.leavesOf(n), 0) + pruned;
    const wide = leaves * perLeaf;
    this.merged += leaves;
    for (const name of names) this.mergedAt.set(name, [x + wide / 2, (depth + 1) * row_px]);
    const [first, last] = [names[0], names.at(-1)];
    if (wide < min_block_px || first === undefined) return;
    const parent = tree.node(first).parent;
    const text = familiesText(this.familyCounts, names);
    const families = text && `, ${text}`;
    const above = parent ? `${parent} ${this.textOf(tree.node(parent), "operator") || "start"}` : "the root";
    const tip =
      `${commas(names.length)} nodes with ${commas(leaves)} leaves${families} below them, ` +
      `each narrower than ${min_block_px} px: ` +
      `from ${first} to ${last}\nzoom into ${above} to see them`;
    const nodes = `${commas(names.length)} nodes`;
    const options = [`${nodes}${families}`, nodes, commas(names.length)];
    this.items.push({
      ...block(`${first}+`, "aggregate", x, depth * row_px, wide, row_px),
      texts: this.fitting(options, x, wide, depth, "mono"),
      ref: parent,
      tip,
      count: leaves,
    });
  }

  /** Draw regions with the same parent and soundness as one block; narrow blocks merge several reasons. */
  private prunedBlock(group: readonly number[], x: number, w: number, depth: number): void {
    const { drawing } = this;
    const first = group[0];
    if (first === undefined) return;
    const field = <T>(name: string, region = first) => this.columns.field<T>("RegionPruned", name).at(region);
    const { soundness, code, sentence } = this.reason(first);
    const counts = new Map<string, number>();
    for (const region of group) {
      const other = this.reason(region).code;
      counts.set(other, (counts.get(other) ?? 0) + 1);
    }
    const common = [...counts].sort((a, b) => b[1] - a[1]);
    const letters = common.map(([other]) => letterOf(drawing, other, soundness)).join("");
    const codes = counts.size === 1 ? code : `${counts.size} reasons`;
    const many = group.length > 1 ? ` ×${commas(group.length)}` : "";
    const options = [`${letters}  ${codes}${many}`, `${letters}${many}`, letters];
    const programs = group.reduce((sum, region) => sum + field<number>("stood_for", region), 0);
    const [id, parent] = [field<string>("region"), field<string>("parent")];
    const regions = id + (group.length > 1 ? ` and ${commas(group.length - 1)} more under ${parent}` : "");
    const codesText = common.map(([other, n]) => `${commas(n)} × ${other} [${soundness}]`).join("\n");
    const tip =
      `${regions}: ${field<string>("operator")}\n${sentence}\n${codesText}\n` +
      `for ${programsText(programs)} ${programs === 1 ? "program" : "programs"} (${field<string>("counted")})`;
    this.items.push({
      ...block(id, drawing.pruned_kinds[soundness], x, depth * drawing.row_px, w, drawing.row_px),
      texts: this.fitting(options, x, w, depth, "letter"),
      ref: id,
      tip,
      parent,
      count: group.length,
    });
  }

  /** Draw the families below their nodes; return the height of the rows. */
  private familyRows(top: number): number {
    const { drawing, width } = this;
    for (const { family, node } of this.state.families) {
      if (this.anchors.has(family)) continue;
      const above = this.state.tree.path(node).findLast((id) => this.mergedAt.has(id));
      const point = above === undefined ? undefined : this.mergedAt.get(above);
      if (point) this.anchors.set(family, point);
    }
    const rows = this.state.families.filter((row) => this.anchors.has(row.family));
    if (rows.length === 0) return 0;
    const mark = drawing.mark_px;
    const cell = Math.max(mark, ...rows.map((row) => textPx(drawing, row.family, "small"))) + 6;
    const perRow = Math.max(1, Math.floor(width / cell));
    const place = (row: FamilyMark): readonly [number, number] => this.anchors.get(row.family) ?? [0, 0];
    const rank = (row: FamilyMark) =>
      (row.is_best ? 0 : 4) + (row.status === "proved" ? 0 : 2) + (row.status === "refuted" ? 1 : 0);
    rows.sort((a, b) => rank(a) - rank(b));
    const shown = rows.slice(0, perRow * drawing.max_mark_rows);
    shown.sort((a, b) => place(a)[0] - place(b)[0] || compare(a.node, b.node) || compare(a.family, b.family));
    const count = Math.ceil(shown.length / perRow);
    for (let line = 0; line < count; line++) {
      const part = shown.filter((_, i) => i % count === line);
      const y = top + 22 + line * (mark + 26);
      const places = spread(
        part.map((row) => place(row)[0]),
        cell,
        width,
      );
      for (const [i, row] of part.entries()) this.family(row, places[i] ?? 0, y, place(row));
    }
    let height = 22 + count * (mark + 26);
    if (shown.length < rows.length) {
      const text = `${commas(rows.length - shown.length)} more families are not shown`;
      this.items.push({
        ...line("families+", 0, top + height, width, 16),
        texts: [{ x: 0, y: top + height + 12, text, kind: "muted", anchor: "start" }],
      });
      height += 18;
    }
    return height;
  }

  private family(row: FamilyMark, x: number, y: number, [ax, ay]: readonly [number, number]): void {
    const { drawing } = this;
    const mark = drawing.mark_px;
    const { family, choice } = row;
    const bend = (y - ay) / 2;
    this.leaders.push({
      type: "edge",
      id: `${family}#leader`,
      kind: "leader",
      points: [
        [ax, ay],
        [ax, ay + bend],
        [x, y - bend],
        [x, y],
      ],
      curve: "bezier",
      source: row.node,
      target: family,
      ref: family,
    });
    const left = x - mark / 2;
    const badge = (
      name: string,
      outline: Outline,
      bx: number,
      by: number,
      size: number,
      tip: string,
    ): void => {
      const shape = { ...block(`${family}#${name}`, `badge-${name}`, bx, by, size, size), outline, tip };
      this.items.push({ ...shape, role: "mark", ref: family });
    };
    if (choice === "accepted") badge("accepted", "circle", left - 4, y - 4, mark + 8, "accepted by you");
    const kind = markKind(row);
    const words: Readonly<Record<string, string>> = {
      open: "no verdict yet",
      impossible: "no maps satisfy the constraints",
    };
    const tip =
      `${family}: ${words[row.status] ?? row.status}` +
      (row.is_best ? ", the best" : "") +
      (choice ? `, ${choice} by you` : "");
    const question: Text[] =
      kind === "unknown" ? [{ x, y: y + mark / 2 + 4, text: "?", kind: "letter" }] : [];
    this.items.push({
      ...line(`${family}#name`, left, y + mark, mark, 18),
      texts: [{ x, y: y + mark + 14, text: family, kind: "small" }],
      ref: family,
    });
    this.items.push({
      ...block(family, kind, left, y, mark, mark),
      role: "mark",
      outline: drawing.family_outlines[kind] ?? "rect",
      texts: question,
      ref: family,
      tip,
    });
    if (kind === "refuted") badge("cross", "cross", left + 3, y + 3, mark - 6, "");
    if (row.is_best) badge("best", "star", left + 7, y - 10, 15, "the best");
  }

  /** Draw the legend of the marks and patterns that occur; return its height. */
  private legend(top: number): number {
    const { drawing } = this;
    const kinds = new Set(this.items.flatMap((item) => (item.type === "shape" ? [item.kind] : [])));
    let x = 0;
    let y = top + 4;
    for (const [kind, outline, label] of drawing.legend) {
      if (!kinds.has(kind)) continue;
      const wide = textPx(drawing, label, "small");
      if (x + 24 + wide > this.width) {
        x = 0;
        y += 20;
      }
      this.items.push({ ...block(`legend#${kind}`, kind, x + 2, y + 2, 14, 13), role: "text", outline });
      this.items.push({
        ...line(`legend#${kind}-label`, x, y, 24, 18),
        texts: [{ x: x + 22, y: y + 13, text: label, kind: "small", anchor: "start" }],
      });
      x += 22 + wide + 14;
    }
    return x ? y + 22 - top : 0;
  }

  scene(): Scene {
    const { drawing, width } = this;
    const row = drawing.row_px;
    let bottom = Math.max(this.depth, 1) * row;
    if (this.state.tree.nodes.size === 0) {
      const text = { x: width / 2, y: row * 0.7, text: "nothing has been searched yet", kind: "muted" };
      this.items.push({ ...line("nothing", 0, 0, width, row), texts: [text] });
    }
    bottom += this.familyRows(bottom);
    bottom += this.legend(bottom);
    let omitted = "";
    if (this.merged > 0) {
      omitted = `${commas(this.merged)} of ${commas(this.total)} leaves share a block or are too narrow to be drawn.`;
      const text: Text = { x: 0, y: bottom + 14, text: omitted, kind: "muted", anchor: "start" };
      this.items.push({ ...line("omitted", 0, bottom, width, 20), texts: [text] });
      bottom += 20;
    }
    const n = this.state.funnel;
    const desc =
      `${commas(n.expanded)} nodes expanded, ${commas(n.pruned)} subtrees pruned, ${commas(n.families)} families: ` +
      `${commas(n.proved)} candidates proved, ${commas(n.unknown)} unknown, ${commas(n.refuted)} refuted. ${omitted}`;
    const items = [...this.leaders, ...this.items];
    return {
      name: "search",
      title: "search map",
      desc: desc.trim(),
      width,
      height: bottom + 4,
      items,
      omitted,
    };
  }

  /** The first of these texts that fits into the block. */
  private fitting(options: readonly string[], x: number, w: number, depth: number, kind: string): Text[] {
    const text = options.find((option) => option && textPx(this.drawing, option, kind) + 6 <= w);
    return text === undefined ? [] : [{ x: x + w / 2, y: (depth + 0.68) * this.drawing.row_px, text, kind }];
  }
}

export function markKind(row: FamilyMark): string {
  if (row.choice === "rejected") return "pruned-user";
  if (row.status === "impossible") return "pruned-sound";
  return row.status === "open" ? "family" : row.status;
}

/** Positions within the width, at least `cell` apart, near the wanted positions, which ascend. */
function spread(wanted: readonly number[], cell: number, width: number): number[] {
  const places: number[] = [];
  for (const x of wanted) {
    const last = places.at(-1);
    places.push(Math.max(x, last === undefined ? cell / 2 : last + cell));
  }
  let limit = width - cell / 2;
  for (let i = places.length - 1; i >= 0; i--) {
    places[i] = Math.min(places[i] ?? 0, limit);
    limit = (places[i] ?? 0) - cell;
  }
  return places;
}

export function block(id: string, kind: string, x: number, y: number, w: number, h: number): Shape {
  return { type: "shape", id, role: "block", kind, x, y, w, h };
}

/** A shape that has only texts. */
export function line(id: string, x: number, y: number, w: number, h: number): Shape {
  return { type: "shape", id, role: "text", kind: "plain", x, y, w, h, outline: "none" };
}

export function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Regions by reason and soundness, the largest group first. */
export function groupsOf(pruned: readonly number[], columns: Columns): number[][] {
  const reasons = columns.field<Reason>("RegionPruned", "reason");
  const groups = new Map<string, number[]>();
  for (const region of pruned) {
    const { code, soundness } = reasons.at(region);
    const key = `${code}\0${soundness}`;
    const group = groups.get(key);
    if (group) group.push(region);
    else groups.set(key, [region]);
  }
  const code = (group: readonly number[]) => reasons.at(group[0] ?? 0).code;
  return [...groups.values()].sort((a, b) => b.length - a.length || compare(code(a), code(b)));
}

/** A scene with one sentence, if there is nothing to draw. */
export function emptyScene(name: string, sentence: string, width: number): Scene {
  const texts = [{ x: width / 2, y: 26, text: sentence, kind: "muted" }];
  const items = [{ ...line("nothing", 0, 0, width, 40), texts }];
  return rounded({ name, title: name, desc: sentence, width, height: 40, items, omitted: "" });
}

/** The scene with its lengths in hundredths of a pixel, and without fields that have their default value. */
export function rounded(scene: Scene): Scene {
  return { ...scene, items: scene.items.map((item) => clean(item) as unknown as Item) };
}

const DEFAULTS: Readonly<Record<string, unknown>> = {
  outline: "rect",
  ref: "",
  tip: "",
  parent: "",
  count: 1,
};

function clean(element: object): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(element)) {
    if (name in DEFAULTS && value === DEFAULTS[name]) continue;
    if (name === "points") out[name] = (value as number[][]).map((point) => point.map(hundredths));
    else if (name === "texts") {
      if ((value as Text[]).length > 0) out[name] = (value as Text[]).map(clean);
    } else if ((name === "kind" && value === "label") || (name === "anchor" && value === "middle")) continue;
    else out[name] = typeof value === "number" ? hundredths(value) : value;
  }
  return out;
}
