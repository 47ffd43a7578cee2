// Panels of a moment that depend on the number of events: the log, nodes and regions. Their wording is Python's; see
// prism_explore/widgets/report_data/templates.py.

import type { Inspector, Row, Table } from "../sections.ts";
import type { Columns } from "./columns.ts";
import type { State } from "./counts.ts";
import type { Member, Pool } from "./pool.ts";
import { commas, programsText, shorten } from "./text.ts";

/** Length of the last event in the sentences above an earlier state, as in Python. */
const MAX_LAST = 80;

type LogLine = readonly [text: string, ref: string, kind: string];
type Words = Readonly<Record<string, string | number>>;

export interface Templates {
  /** Per region, the number of its template; and the templates. */
  readonly regions: { readonly of: readonly number[]; readonly templates: readonly Member[] };
  readonly nodes: Member;
  /** The sentences above an earlier state. */
  readonly past: string;
  /** Per name, the text that stands for a text. */
  readonly placeholders: Readonly<Record<string, string>>;
  /** Per name, the number that stands for a number. */
  readonly numbers: Readonly<Record<string, number>>;
}

interface NodeTemplates {
  readonly inspectors: Readonly<Record<string, Inspector>>;
  readonly log: LogLine;
}

interface RegionTemplate {
  readonly inspector: Inspector;
  readonly log: LogLine;
}

/** Writes the texts of nodes, regions and events. */
export class Texts {
  private readonly nodes: NodeTemplates;
  /** Per event, its position among those with a stored line. */
  private readonly lines: Int32Array;

  constructor(
    private readonly columns: Columns,
    private readonly pool: Pool,
    private readonly templates: Templates,
  ) {
    this.nodes = pool.get(templates.nodes);
    this.lines = new Int32Array(columns.count);
    let stored = 0;
    for (let event = 0; event < columns.count; event++) {
      const kind = columns.kindOf(event);
      this.lines[event] = stored;
      if (kind !== "NodeExpanded" && kind !== "RegionPruned") stored += 1;
    }
  }

  /** The inspector of a node or region; null if the state has none of this id. */
  inspector(ref: string, state: State): Inspector | null {
    const node = state.tree.nodes.get(ref);
    if (node && node.position >= 0) return this.nodeInspector(ref, node.position, state);
    const region = state.regionNumbers.get(ref);
    return region === undefined ? null : this.regionInspector(region, state);
  }

  private text(kind: string, name: string, position: number): string {
    return this.columns.field<string>(kind, name).at(position);
  }

  private nodeInspector(ref: string, position: number, state: State): Inspector {
    const text = (name: string) => this.text("NodeExpanded", name, position);
    const [parent, expression, family] = [text("parent"), text("expression"), state.familyAt.get(ref) ?? ""];
    const key = `${parent && "p"}${family && "f"}${expression && "e"}`;
    const template = this.nodes.inspectors[key];
    if (!template) throw new Error(`the report is damaged: it has no texts of nodes with ${key}`);
    const filled = this.fill(template, {
      ref,
      parent,
      expression,
      family,
      level: text("level"),
      operator: text("operator"),
      children: state.childCount.get(ref) ?? 0,
      pruned: state.prunedCount.get(ref) ?? 0,
    });
    // The template has one line for the history of the parent, and one for the node.
    const after = (template.code ?? "").split("\n").slice(parent ? 2 : 1);
    const code = [...this.history(ref, state), ...after.map((row) => this.fill(row, { expression }))];
    return { ...filled, code: code.join("\n") };
  }

  private regionInspector(region: number, state: State): Inspector {
    const parent = this.text("RegionPruned", "parent", region);
    const template = this.regionTemplate(region).inspector;
    const history = this.history(parent, state).join("\n");
    return this.fill(template, {
      ref: this.text("RegionPruned", "region", region),
      parent,
      operator: this.text("RegionPruned", "operator", region),
      level: this.text("RegionPruned", "level", region),
      stood_for: this.columns.field<number>("RegionPruned", "stood_for").at(region),
      history,
    });
  }

  private regionTemplate(region: number): RegionTemplate {
    const { of, templates } = this.templates.regions;
    return this.pool.get(templates[of[region] ?? -1] ?? -1);
  }

  /** The operators that were added from the root to a node, one per line. */
  private history(id: string, state: State): string[] {
    const added: string[] = [];
    const most = state.tree.nodes.size; // a damaged file can have a circle
    for (let node = state.tree.nodes.get(id); node && node.position >= 0 && added.length < most; ) {
      added.push(`${node.parent ? "+" : " "} ${this.text("NodeExpanded", "operator", node.position)}`);
      node = state.tree.nodes.get(node.parent);
    }
    return added.reverse();
  }

  /** A value of the pool with its placeholders replaced. */
  private fill<T>(template: T, words: Words): T {
    let json = JSON.stringify(template);
    for (const [name, word] of Object.entries(words)) {
      if (typeof word === "number") {
        const number = this.templates.numbers[name] ?? Number.NaN;
        const shown = name === "stood_for" ? programsText : commas;
        json = json.replaceAll(shown(number), shown(word)).replaceAll(String(number), commas(word));
      } else {
        const quoted = JSON.stringify(word).slice(1, -1);
        json = json.replaceAll(this.templates.placeholders[name] ?? "\u0000", () => quoted);
      }
    }
    return JSON.parse(json) as T;
  }

  /** The sentences above an earlier state, whose last event has this line in the log. */
  pastNotice(count: number, last: string): string {
    return this.fill(this.templates.past, {
      children: count,
      operator: shorten(last.replace(/\.+$/, ""), MAX_LAST),
    });
  }

  /** An event as one line of the log. */
  logLine(event: number): LogLine {
    const kind = this.columns.kindOf(event);
    const position = this.columns.positionOf(event);
    const operator = () => this.text(kind, "operator", position);
    if (kind === "NodeExpanded") {
      return this.fill(this.nodes.log, { ref: this.text(kind, "node", position), operator: operator() });
    }
    if (kind === "RegionPruned") {
      const ref = this.text(kind, "region", position);
      return this.fill(this.regionTemplate(position).log, { ref, operator: operator() });
    }
    const line = this.lines[event] ?? 0;
    return [
      this.columns.log("text").at(line),
      this.columns.log("ref").at(line),
      this.columns.log("kind").at(line),
    ];
  }

  /** The last events of a state, newest first; with a filter, the last ones that it leaves. */
  log(table: Table, count: number, limit: number, leaves: ((event: number) => boolean) | null): Table {
    const rows: Row[] = [];
    let event = count - 1;
    for (; event >= 0 && rows.length < limit; event--)
      if (!leaves || leaves(event)) rows.push(this.logRow(event));
    const [all, earlier] = [commas(count), event + 1];
    let omitted = earlier
      ? `${commas(earlier)} earlier events are not listed; sess.journal has all ${all}.`
      : "";
    if (leaves) {
      omitted =
        rows.length === limit
          ? `The last ${limit} events that the filter leaves, of ${all} events.`
          : `The filter hides ${commas(count - rows.length)} of ${all} events.`;
    }
    return { ...table, rows, omitted };
  }

  private logRow(event: number): Row {
    const [text, ref, kind] = this.logLine(event);
    const at = `${((this.columns.at[event] ?? 0) / 100).toFixed(2)} s`;
    return { ref, cells: [{ text: String(event), sort: event }, at, kind ? { text, kind } : { text }] };
  }
}
