// The search map of a report as a tree: a row per node, as prism_explore/widgets/views/search_tree_map.py draws it.

import type { Scene } from "../scene.ts";
import type { Columns } from "./columns.ts";
import type { FamilyMark, Reason, State } from "./counts.ts";
import {
  compare,
  type Drawing,
  emptyScene,
  familiesText,
  familyCounts,
  groupsOf,
  letterOf,
  markKind,
} from "./map.ts";
import { isOpen, Outline, type OutlineRow, type Toggled } from "./outline.ts";
import { commas, countText } from "./text.ts";
import type { TreeNode } from "./tree.ts";

type Waiting = readonly [priority: number, depth: number, order: number, name: string];

const BEST = 3;
/** Priority of what the user has expanded. */
const ASKED = -4;

export function treeScene(
  state: State,
  columns: Columns,
  drawing: Drawing,
  toggled: Toggled,
  width: number,
  root: string,
): Scene {
  if (state.tree.nodes.size === 0) return emptyScene("search", "nothing has been searched yet", width);
  const map = new TreeMap(state, columns, drawing, toggled, width);
  return map.scene(state.tree.nodes.has(root) ? root : "");
}

class TreeMap {
  private readonly leaves: ReadonlyMap<string, number>;
  private readonly families: ReadonlyMap<string, FamilyMark>;
  private readonly familyCounts: ReadonlyMap<string, number>;
  private readonly choices: ReadonlyMap<string, string>;
  /** Per node that leads to families, the rank of the best of them: 3 for the best kernel, 2 for proved. */
  private readonly rank = new Map<string, number>();
  private readonly open = new Set<string>();
  /** Number of subtrees that are collapsed because of the limit of rows. */
  private keptClosed = 0;

  constructor(
    private readonly state: State,
    private readonly columns: Columns,
    private readonly drawing: Drawing,
    private readonly toggled: Toggled,
    private readonly width: number,
  ) {
    const { families } = state;
    this.familyCounts = familyCounts(state);
    this.leaves = state.tree.leafCounts();
    this.choices = state.choices;
    this.families = new Map(families.map((row) => [row.family, row]));
    for (const row of families) {
      const own = row.is_best ? BEST : row.status === "proved" ? 2 : 1;
      for (const node of state.tree.path(row.node)) this.rank.set(node, Math.max(own, this.rankOf(node)));
    }
  }

  private rankOf(node: string): number {
    return this.rank.get(node) ?? 0;
  }

  private leavesOf(node: string): number {
    return this.leaves.get(node) ?? 1;
  }

  /** Expand nodes, the most interesting first, until the rows are used up. */
  private chooseOpen(tops: readonly string[]): void {
    const { small_leaves, max_rows, max_more_rows } = this.drawing.tree;
    const queue: Waiting[] = [];
    const push = (name: string, depth: number): void => {
      const rank = this.rankOf(name);
      const usually = rank > 0 || this.leavesOf(name) <= small_leaves || depth === 0;
      if (!isOpen(this.toggled, name, usually)) return;
      const priority = this.toggled.opened.includes(name) ? ASKED : -rank;
      insert(queue, [priority, depth, queue.length, name]);
    };
    let rows = tops.length;
    for (const name of tops) push(name, 0);
    for (let next = queue.shift(); next; next = queue.shift()) {
      const [priority, depth, , name] = next;
      const node = this.state.tree.node(name);
      const children = this.ownRows(node);
      const rest = children.length < node.children.length ? 1 : 0;
      const more = children.length + rest + groupsOf(node.pruned, this.columns).length + node.families.length;
      const limit = priority === ASKED ? max_rows + max_more_rows : max_rows;
      if (rows + more > limit && rows > tops.length) {
        this.keptClosed += 1;
        continue;
      }
      rows += more;
      this.open.add(name);
      for (const child of children) push(child, depth + 1);
    }
  }

  /** The children that have rows of their own, in their order. */
  private ownRows({ children }: TreeNode): readonly string[] {
    const most = this.drawing.tree.max_children;
    if (children.length <= most) return children;
    const isAsked = (name: string) => (this.toggled.opened.includes(name) ? 0 : 1);
    const first = [...children].sort(
      (a, b) =>
        isAsked(a) - isAsked(b) || this.rankOf(b) - this.rankOf(a) || this.leavesOf(b) - this.leavesOf(a),
    );
    const kept = new Set(first.slice(0, most - 1));
    return children.filter((child) => kept.has(child));
  }

  scene(root: string): Scene {
    const { tree } = this.state;
    const above = root ? tree.path(root).slice(0, -1) : [];
    const tops = root ? [root] : tree.roots;
    this.chooseOpen(tops);
    const { min_step_px, max_step_px, text_px } = this.drawing.tree;
    const depth = this.depth(tops, above.length);
    const step = Math.min(max_step_px, Math.max(min_step_px, (this.width - text_px) / Math.max(1, depth)));
    const outline = new Outline(this.drawing, this.width, step);
    for (const [n, name] of above.entries()) outline.add(this.nodeRow(tree.node(name), n, null));
    for (const name of tops) this.subtree(outline, name, above.length);
    let omitted = "";
    if (this.keptClosed > 0) {
      const subtrees = this.keptClosed === 1 ? "subtree is" : "subtrees are";
      omitted = `${commas(this.keptClosed)} more ${subtrees} collapsed because of the number of rows; + expands them.`;
      outline.say(omitted);
    }
    const total = tops.reduce((sum, top) => sum + this.leavesOf(top), 0);
    const desc = `${commas(outline.rows)} rows of the search tree with ${commas(total)} leaves. ${omitted}`;
    return outline.scene("search tree", desc.trim(), omitted, outline.bottom + (omitted ? 24 : 4));
  }

  /** The largest depth of a row. */
  private depth(tops: readonly string[], depth: number): number {
    let deepest = depth;
    const stack = tops.map((name) => [name, depth] as const);
    for (let next = stack.pop(); next; next = stack.pop()) {
      const [name, at] = next;
      deepest = Math.max(deepest, at + (this.open.has(name) ? 1 : 0));
      if (this.open.has(name))
        stack.push(...this.ownRows(this.state.tree.node(name)).map((child) => [child, at + 1] as const));
    }
    return deepest;
  }

  private subtree(outline: Outline, name: string, depth: number): void {
    const node = this.state.tree.node(name);
    const hasContent = node.children.length > 0 || node.pruned.length > 0 || node.families.length > 0;
    const open = this.open.has(name);
    outline.add(this.nodeRow(node, depth, hasContent ? open : null));
    if (!open) return;
    for (const family of node.families) outline.add(this.familyRow(family, depth + 1));
    const own = this.ownRows(node);
    for (const child of own) this.subtree(outline, child, depth + 1);
    if (own.length < node.children.length) {
      const kept = new Set(own);
      const rest = node.children.filter((child) => !kept.has(child));
      outline.add(this.restRow(name, rest, depth + 1));
    }
    for (const group of groupsOf(node.pruned, this.columns)) outline.add(this.prunedRow(group, depth + 1));
  }

  private nodeRow(node: TreeNode, depth: number, open: boolean | null): OutlineRow {
    const text = (name: string) =>
      node.position < 0 ? "" : this.columns.field<string>("NodeExpanded", name).at(node.position);
    const [operator, level, expression] = [
      text("operator") || "start",
      text("level") || "kernel",
      text("expression"),
    ];
    const leaves = this.leavesOf(node.id);
    const size = countText(leaves, "leaf", "leaves");
    const children = countText(node.children.length, "child", "children");
    const families = familiesText(this.familyCounts, [node.id]);
    const below = node.children.length + node.families.length;
    const isFrontier = open === null && !this.state.tree.finished && below === 0;
    const isRejected = this.choices.get(node.id) === "rejected";
    const tip = [
      `${node.id}: ${operator}, ${level} level`,
      expression && `computes ${expression}`,
      `${size} below, ${commas(node.pruned.length)} pruned here, ${children}`,
      families && `leads to ${families}`,
      open === false ? "collapsed; + expands it" : isFrontier ? "not expanded yet" : "",
    ];
    const closed = open === false;
    return {
      id: node.id,
      ref: node.id,
      depth,
      kind: isRejected ? "pruned-user" : isFrontier ? "frontier" : "expanded",
      outline: closed ? "triangle" : "circle",
      text: `${node.id} ${operator}`,
      note: closed ? joined(size, families) + (this.rankOf(node.id) === BEST ? " ★" : "") : "",
      tip: tip.filter(Boolean).join("\n"),
      isOpen: open,
      count: leaves,
    };
  }

  private familyRow(family: string, depth: number): OutlineRow {
    const row = this.families.get(family);
    const head = { id: family, ref: family, depth, text: family };
    if (!row) return { ...head, kind: "family", outline: "circle" };
    const kind = markKind(row);
    const words = [row.status, row.choice && `${row.choice} by you`, row.is_best ? "best ★" : ""];
    const note = words.filter(Boolean).join(", ");
    const outline = this.drawing.family_outlines[kind] ?? "rect";
    return { ...head, kind, outline, note, tip: `${family}: ${note}`, letter: kind === "unknown" ? "?" : "" };
  }

  private restRow(parent: string, names: readonly string[], depth: number): OutlineRow {
    const leaves = names.reduce((sum, name) => sum + this.leavesOf(name), 0);
    return {
      id: `${names[0]}+`,
      ref: parent,
      depth,
      kind: "aggregate",
      outline: "square",
      text: `${commas(names.length)} more nodes`,
      note: joined(`${commas(leaves)} leaves`, familiesText(this.familyCounts, names)),
      tip: `${names[0]} to ${names.at(-1)}: zoom into ${parent}, or select one by its id`,
      count: leaves,
    };
  }

  private prunedRow(group: readonly number[], depth: number): OutlineRow {
    const [first = 0] = group;
    const text = (name: string) => this.columns.field<string>("RegionPruned", name).at(first);
    const reason = this.columns.field<Reason>("RegionPruned", "reason").at(first);
    const { code, soundness } = reason;
    const [region, operator, count] = [text("region"), text("operator"), group.length];
    const many = count > 1 ? ` ×${commas(count)}` : ` ${operator}`;
    const more = count > 1 ? ` and ${commas(count - 1)} more` : "";
    return {
      id: region,
      ref: region,
      depth,
      kind: this.drawing.pruned_kinds[soundness],
      outline: "square",
      text: `${letterOf(this.drawing, code, soundness)} ${code}${many}`,
      note: soundness,
      tip: `${region}${more}: ${operator}\n${reason.sentence}`,
      count,
    };
  }
}

function joined(...texts: readonly string[]): string {
  return texts.filter(Boolean).join(", ");
}

/** Insert into a sorted list. */
function insert(queue: Waiting[], item: Waiting): void {
  let [low, high] = [0, queue.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (precedes(queue[middle] as Waiting, item)) low = middle + 1;
    else high = middle;
  }
  queue.splice(low, 0, item);
}

function precedes(a: Waiting, b: Waiting): boolean {
  return (a[0] - b[0] || a[1] - b[1] || a[2] - b[2] || compare(a[3], b[3])) < 0;
}
