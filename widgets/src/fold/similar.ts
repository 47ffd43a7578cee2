// The search map of a report by similar subtrees, and the marks of what is similar to the selection, as
// prism_explore/widgets/views/similar.py finds and draws them. Python is the original: a test compares both.

import type { Item, Scene, Shape } from "../scene.ts";
import type { Columns } from "./columns.ts";
import type { Reason, State } from "./counts.ts";
import { block, compare, type Drawing, emptyScene, letterOf, line, rounded, textPx } from "./map.ts";
import { commas, shorten } from "./text.ts";
import type { TreeNode } from "./tree.ts";

/** A shape of subtrees or of pruned regions that occurs several times. */
interface Pattern {
  /** The operator; for a region also its reason. */
  readonly operator: string;
  /** Number of nodes and regions of one occurrence. */
  readonly size: number;
  /** Of the shape of a subtree; for a kind of region, -1 - kind. */
  readonly number: number;
  readonly count: number;
  /** Ids of the first occurrences. */
  readonly examples: readonly string[];
  /** The place of the first node; -1 for a region. */
  readonly first: number;
  readonly families: number;
}

/** All shapes of the search tree at a moment, or of a node and those below it. */
export class Patterns {
  private readonly nodes: readonly TreeNode[];
  private readonly places: ReadonlyMap<string, number>;
  private readonly parents: readonly number[];
  /** Per node, the number of its shape; -1 for a node that is left out. */
  private readonly shapes: number[];
  private readonly sizes: number[];
  /** Per shape, how often it occurs, and its first node. */
  private readonly counts = new Map<number, number>();
  private readonly firsts = new Map<number, number>();
  /** Per region of a node that is not left out, its kind; the regions of each kind; the name of each kind. */
  private readonly kinds = new Map<number, number>();
  private readonly ofKind: number[][] = [];
  private readonly kindNames: string[] = [];
  /** Per region, the place of its node. */
  private readonly below = new Map<number, number>();
  /** The shapes that occur several times, those with the most nodes and regions in all first. */
  readonly repeated: readonly Pattern[];

  constructor(
    { tree }: State,
    private readonly columns: Columns,
    private readonly drawing: Drawing,
    root: string,
  ) {
    this.nodes = [...tree.nodes.values()];
    this.places = new Map(this.nodes.map(({ id }, place) => [id, place]));
    const parents = this.nodes.map(() => -1);
    for (const [place, { children }] of this.nodes.entries())
      for (const child of children) parents[this.place(child)] = place;
    this.parents = parents;
    const within = tree.nodes.has(root) ? new Set(tree.below(root)) : null;
    const included = this.nodes.map(({ id }) => within?.has(id) ?? true);
    this.readRegions(included);
    this.shapes = this.nodes.map(() => -1);
    this.sizes = this.nodes.map(() => 1);
    this.readShapes(included);
    const found = [...this.repeatedRegions(), ...this.repeatedNodes()];
    this.repeated = found.sort(
      (a, b) => b.count * b.size - a.count * a.size || compare(a.examples[0] ?? "", b.examples[0] ?? ""),
    );
  }

  private place(node: string): number {
    return this.places.get(node) ?? -1;
  }

  private operatorOf({ position }: TreeNode): string {
    const operator = position < 0 ? "" : this.columns.field<string>("NodeExpanded", "operator").at(position);
    return operator.split("(")[0] ?? "";
  }

  private readRegions(included: readonly boolean[]): void {
    const operators = this.columns.field<string>("RegionPruned", "operator");
    const reasons = this.columns.field<Reason>("RegionPruned", "reason");
    const numbers = new Map<string, number>();
    for (const [place, { pruned }] of this.nodes.entries()) {
      if (!included[place]) continue;
      for (const region of pruned) {
        const { code, soundness } = reasons.at(region);
        const operator = operators.at(region).split("(")[0] ?? "";
        const key = `${operator}\0${code}\0${soundness}`;
        let kind = numbers.get(key);
        if (kind === undefined) {
          kind = numbers.size;
          numbers.set(key, kind);
          this.kindNames.push(`${operator}, pruned: ${letterOf(this.drawing, code, soundness)} ${code}`);
          this.ofKind.push([]);
        }
        this.kinds.set(region, kind);
        this.below.set(region, place);
        this.ofKind[kind]?.push(region);
      }
    }
    for (const regions of this.ofKind) regions.sort((a, b) => a - b);
  }

  /** Find the shape and the size of each node; the last node first, so that children come before their parents. */
  private readShapes(included: readonly boolean[]): void {
    const numbers = new Map<string, number>();
    for (let place = this.nodes.length - 1; place >= 0; place--) {
      const node = this.nodes[place];
      if (!node || !included[place]) continue;
      const kinds = node.pruned.map((region) => this.kinds.get(region) ?? -1).sort((a, b) => a - b);
      const inside = node.children.map((child) => this.shapeAt(this.place(child))).sort((a, b) => a - b);
      const key = [this.operatorOf(node), kinds.join(), inside.join(), node.families.length].join("\0");
      const shape = numbers.get(key) ?? numbers.size;
      numbers.set(key, shape);
      this.shapes[place] = shape;
      this.sizes[place] = node.children.reduce(
        (sum, child) => sum + this.sizeAt(this.place(child)),
        1 + kinds.length,
      );
    }
    for (const [place, shape] of this.shapes.entries()) {
      this.counts.set(shape, (this.counts.get(shape) ?? 0) + 1);
      if (!this.firsts.has(shape)) this.firsts.set(shape, place);
    }
  }

  private shapeAt(place: number): number {
    return this.shapes[place] ?? -1;
  }

  private sizeAt(place: number): number {
    return this.sizes[place] ?? 0;
  }

  private *repeatedRegions(): Generator<Pattern> {
    const ids = this.columns.field<string>("RegionPruned", "region");
    for (const [kind, regions] of this.ofKind.entries()) {
      const above = new Set(regions.map((region) => this.shapeAt(this.below.get(region) ?? -1)));
      if (regions.length < 2 || this.isShownByLarger(above)) continue;
      const examples = this.examples(regions, (region) => ids.at(region));
      const operator = this.kindNames[kind] ?? "";
      yield { operator, size: 1, number: -1 - kind, count: regions.length, examples, first: -1, families: 0 };
    }
  }

  private *repeatedNodes(): Generator<Pattern> {
    const places = new Map<number, number[]>();
    for (const [place, shape] of this.shapes.entries()) {
      if (shape < 0 || (this.counts.get(shape) ?? 0) < 2) continue;
      const known = places.get(shape);
      if (known) known.push(place);
      else places.set(shape, [place]);
    }
    for (const [shape, at] of places) {
      if (this.isShownByLarger(new Set(at.map((place) => this.shapeAt(this.parents[place] ?? -1))))) continue;
      const [first = -1] = at;
      const node = this.nodes[first];
      if (!node) continue;
      yield {
        operator: this.operatorOf(node) || "start",
        size: this.sizeAt(first),
        number: shape,
        count: at.length,
        examples: this.examples(at, (place) => this.nodes[place]?.id ?? ""),
        first,
        families: node.families.length,
      };
    }
  }

  private examples(places: readonly number[], id: (place: number) => string): readonly string[] {
    return places.slice(0, this.drawing.similar.max_examples).map(id);
  }

  /** Whether all occurrences are in one larger shape, given the shapes above, that occurs several times too. */
  private isShownByLarger(above: ReadonlySet<number>): boolean {
    const [only = -1] = above;
    return above.size === 1 && only >= 0 && (this.counts.get(only) ?? 0) > 1;
  }

  /** The operators and reasons of a shape, the largest parts first, shortened. */
  text({ operator, first, families }: Pattern): string {
    const counted = new Map<number, number>();
    const node = this.nodes[first];
    const parts = [
      ...(node?.children ?? []).map((child) => this.shapeAt(this.place(child))),
      ...(node?.pruned ?? []).map((region) => -1 - (this.kinds.get(region) ?? 0)),
    ];
    for (const part of parts) counted.set(part, (counted.get(part) ?? 0) + 1);
    const rows = [...counted].map(([part, count]) => ({ ...this.part(part), count }));
    rows.sort((a, b) => b.size * b.count - a.size * a.count || compare(a.name, b.name));
    const most = this.drawing.similar.max_parts;
    const shown = rows.slice(0, most).map(({ name, size, count }) => {
      const short = size === 1 ? name : `${name} […] of ${commas(size)}`;
      return count > 1 ? `${count} × ${short}` : short;
    });
    const more = rows.length > most ? `, ${rows.length - most} more` : "";
    const inside = shown.length > 0 ? ` [${shown.join(", ")}${more}]` : "";
    return `${operator}${inside}${families > 1 ? `, ${families} families` : families ? ", a family" : ""}`;
  }

  /** Name and size of what is below: a shape of nodes, or a kind of region. */
  private part(part: number): { readonly name: string; readonly size: number } {
    if (part < 0) return { name: this.kindNames[-1 - part] ?? "", size: 1 };
    const place = this.firsts.get(part) ?? -1;
    const node = this.nodes[place];
    return { name: (node && this.operatorOf(node)) || "start", size: this.sizeAt(place) };
  }

  /** The number of the shape of a node or region; null for another id. */
  numberOf(ref: string): number | null {
    const place = this.places.get(ref);
    if (place !== undefined) return this.shapeAt(place) >= 0 ? this.shapeAt(place) : null;
    const ids = this.columns.field<string>("RegionPruned", "region");
    for (const [region, kind] of this.kinds) if (ids.at(region) === ref) return -1 - kind;
    return null;
  }

  /** The ids with the shape of this one; none if there is only one. */
  similarTo(ref: string): readonly string[] {
    const number = this.numberOf(ref);
    if (number === null) return [];
    const ids = this.columns.field<string>("RegionPruned", "region");
    const same =
      number >= 0
        ? this.nodes.filter((_, place) => this.shapeAt(place) === number).map(({ id }) => id)
        : (this.ofKind[-1 - number] ?? []).map((region) => ids.at(region));
    return same.length > 1 ? same : [];
  }
}

/** Draw a row per shape: a bar as long as its number of nodes and regions in all. */
export function similarScene(patterns: Patterns, drawing: Drawing, selection: string, width: number): Scene {
  const { row_px, max_patterns } = drawing.similar;
  const [found, marked] = [patterns.repeated, patterns.numberOf(selection)];
  const shown = found.slice(0, max_patterns);
  const [largest] = shown;
  if (!largest) return emptyScene("search", "no subtree occurs twice", width);
  const most = largest.count * largest.size;
  const left = Math.max(...shown.map((pattern) => textPx(drawing, countText(pattern), "small"))) + 14;
  const items: Item[] = [];
  for (const [number, pattern] of shown.entries()) {
    const { count, size, examples } = pattern;
    const [y, first = "", text] = [number * row_px, examples[0], patterns.text(pattern)];
    const room = Math.floor((width - left - 12) / textPx(drawing, "n", "mono"));
    const refs = examples.join(", ") + (count > examples.length ? " …" : "");
    const parts = size === 1 ? "node or pruned subtree" : "nodes and pruned subtrees";
    const barPx = Math.max(2, ((width - left) * count * size) / most);
    items.push(block(`${first}#bar`, "bar", left, y + 4, barPx, row_px - 8), {
      ...block(first, pattern.number === marked ? "pattern-marked" : "tree-row", 0, y, width, row_px),
      texts: [
        { x: left - 8, y: y + 17, text: countText(pattern), kind: "small", anchor: "end" },
        { x: left + 6, y: y + 17, text: shorten(text, room), kind: "mono", anchor: "start" },
      ],
      ref: first,
      tip: `${commas(count)} occurrences of ${commas(size)} ${parts}: ${text}\n${refs}`,
      count,
    });
  }
  let bottom = shown.length * row_px;
  const omitted =
    shown.length < found.length
      ? `${commas(shown.length)} of ${commas(found.length)} shapes are listed.`
      : "";
  if (omitted) {
    const text = { x: 0, y: bottom + 14, text: omitted, kind: "muted", anchor: "start" } as const;
    items.push({ ...line("omitted", 0, bottom, width, 20), texts: [text] });
    bottom += 20;
  }
  const desc = `${commas(found.length)} shapes of subtrees, kept and pruned, occur several times. ${omitted}`;
  const [title, height] = ["similar subtrees", bottom + 4];
  return rounded({ name: "search", title, desc: desc.trim(), width, height, items, omitted });
}

function countText({ count, size }: Pattern): string {
  return `${commas(count)} × ${commas(size)}`;
}

/** The scene with the shapes of these ids outlined, and the number of ids that it shows. */
export function markOccurrences(scene: Scene, refs: readonly string[]): readonly [Scene, number] {
  const wanted = new Set(refs);
  const isWanted = (item: Item): item is Shape =>
    item.type === "shape" && (item.role === "block" || item.role === "mark") && wanted.has(item.id);
  const found = scene.items.filter(isWanted);
  const marks = found.map((item): Shape => {
    const { id, x, y, w, h, ref = "" } = item;
    const box = [x + 1.5, y + 1.5, Math.max(1, w - 3), Math.max(1, h - 3)] as const;
    const tip = `${id}: the same shape as the selection`;
    return { ...block(`${id}#same`, "occurrence", ...box), role: "mark", ref, tip };
  });
  const items = [...scene.items, ...rounded({ ...scene, items: marks }).items];
  return [{ ...scene, items }, new Set(found.map(({ id }) => id)).size];
}
