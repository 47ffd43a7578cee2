// The search map of a report by reason: what was pruned, by reason, then by operator and level, then by node, as
// prism_explore/widgets/views/reasons_map.py draws it.

import type { Scene } from "../scene.ts";
import type { Columns } from "./columns.ts";
import type { Reason, State } from "./counts.ts";
import { compare, type Drawing, emptyScene, letterOf } from "./map.ts";
import { isOpen, Outline, type Toggled } from "./outline.ts";
import { commas, halfEven } from "./text.ts";

/** Positions of regions, by operator and level. */
type Operators = Map<string, number[]>;

export function reasonsMapScene(
  state: State,
  columns: Columns,
  drawing: Drawing,
  toggled: Toggled,
  width: number,
  root: string,
): Scene {
  return new ReasonsMap(columns, drawing, toggled, width).scene(state, root);
}

class ReasonsMap {
  private readonly outline: Outline;

  constructor(
    private readonly columns: Columns,
    private readonly drawing: Drawing,
    private readonly toggled: Toggled,
    private readonly width: number,
  ) {
    this.outline = new Outline(drawing, width, drawing.by_reason.step_px);
  }

  private text(name: string, region: number): string {
    return this.columns.field<string>("RegionPruned", name).at(region);
  }

  private reason(region: number): Reason {
    return this.columns.field<Reason>("RegionPruned", "reason").at(region);
  }

  scene(state: State, root: string): Scene {
    const byReason = new Map<string, Operators>();
    for (const region of state.tree.prunedBelow(root)) {
      const { code, soundness } = this.reason(region);
      const operator = `${this.text("operator", region).split("(")[0]} at ${this.text("level", region)} level`;
      const operators = entry(byReason, `${code}\0${soundness}`, () => new Map<string, number[]>());
      entry(operators, operator, () => []).push(region);
    }
    if (byReason.size === 0) return emptyScene("search", "nothing has been pruned yet", this.width);
    const totals = [...byReason].map(([key, operators]) => {
      const count = [...operators.values()].reduce((sum, regions) => sum + regions.length, 0);
      return { key, operators, count };
    });
    const most = Math.max(...totals.map(({ count }) => count));
    const total = totals.reduce((sum, { count }) => sum + count, 0);
    const usually = totals.length <= this.drawing.by_reason.max_open_reasons;
    for (const { operators, count } of [...totals].sort(
      (a, b) => b.count - a.count || compare(a.key, b.key),
    )) {
      this.addReason(operators, count, most, total, usually);
    }
    const desc = totals.map(({ key, count }) => `${key.replace("\0", " [")}]: ${commas(count)} subtrees`);
    const { bottom } = this.outline;
    return this.outline.scene("pruned subtrees by reason", desc.join("; "), "", bottom + 4);
  }

  /** Draw a reason, and below it its operators. */
  private addReason(
    operators: Operators,
    count: number,
    most: number,
    total: number,
    usually: boolean,
  ): void {
    const ordered = [...operators].sort(([a, x], [b, y]) => y.length - x.length || compare(a, b));
    const { code, soundness, sentence } = this.reason(ordered[0]?.[1][0] ?? 0);
    const id = `${code}/${soundness}`;
    const open = isOpen(this.toggled, id, usually);
    this.outline.add({
      id,
      ref: code,
      depth: 0,
      kind: this.drawing.pruned_kinds[soundness],
      outline: "square",
      text: `${letterOf(this.drawing, code, soundness)} ${code}`,
      note: `${commas(count)} · ${halfEven((count / total) * 100)}% · ${soundness}`,
      tip: `${code} [${soundness}]: ${sentence}\n${commas(count)} subtrees`,
      isOpen: open,
      share: count / most,
      count,
    });
    if (!open) return;
    const limit = this.drawing.by_reason.max_operators;
    for (const [operator, regions] of ordered.slice(0, limit)) this.addOperator(id, operator, regions, most);
    const rest = ordered.slice(limit);
    if (rest.length > 0) {
      const left = rest.reduce((sum, [, regions]) => sum + regions.length, 0);
      this.addRest(id, 1, `${commas(rest.length)} more operators`, left);
    }
  }

  /** Draw an operator, and below it the nodes whose extension by it was pruned. */
  private addOperator(reason: string, operator: string, regions: readonly number[], most: number): void {
    const [first = 0] = regions;
    const { soundness, sentence } = this.reason(first);
    const [id, region, count] = [`${reason}/${operator}`, this.text("region", first), regions.length];
    const open = isOpen(this.toggled, id, false);
    const tip = `${commas(count)} subtrees, for example ${region}: ${this.text("operator", first)}\n${sentence}`;
    this.outline.add({
      id,
      ref: region,
      depth: 1,
      kind: this.drawing.pruned_kinds[soundness],
      outline: "square",
      text: operator,
      note: commas(count),
      tip,
      isOpen: open,
      share: count / most,
      count,
    });
    if (!open) return;
    const counts = new Map<string, number>();
    for (const r of regions) {
      const parent = this.text("parent", r);
      counts.set(parent, (counts.get(parent) ?? 0) + 1);
    }
    const where = [...counts].sort(([, a], [, b]) => b - a);
    const limit = this.drawing.by_reason.max_nodes;
    for (const [node, number] of where.slice(0, limit)) {
      this.outline.add({
        id: `${id}/${node}`,
        ref: node,
        depth: 2,
        kind: "expanded",
        outline: "circle",
        text: node ? `under ${node}` : "the start",
        note: commas(number),
        tip,
        count: number,
      });
    }
    const rest = where.slice(limit);
    if (rest.length > 0) {
      const left = rest.reduce((sum, [, number]) => sum + number, 0);
      this.addRest(id, 2, `${commas(rest.length)} more nodes`, left);
    }
  }

  private addRest(id: string, depth: number, text: string, count: number): void {
    const note = `${commas(count)} subtrees`;
    this.outline.add({
      id: `${id}+`,
      ref: "",
      depth,
      kind: "aggregate",
      outline: "square",
      text,
      note,
      count,
    });
  }
}

/** The value of a key; a new one if it has none. */
function entry<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}
