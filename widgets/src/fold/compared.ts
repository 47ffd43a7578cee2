// A comparison of two searches for a selection, kinds of difference and a zoom, in place of Python.

import type { CompareSection } from "../sections.ts";
import type { CompareLook } from "../wire.ts";
import type { Member, Pool } from "./pool.ts";

/** Written by prism_explore/widgets/report_data/compared.py. */
export interface ComparedData {
  readonly base: Member;
  /** All kinds of difference, and those that are shown at first. */
  readonly all_kinds: readonly string[];
  readonly kinds: readonly string[];
  /** Per choice of kinds and step that is zoomed into, the map, the kinds and the table of steps. */
  readonly pictures: Readonly<Record<string, Member>>;
  /** Per id, the inspectors and the step that is marked. */
  readonly selections: Readonly<Record<string, Member>>;
  /** The inspectors of an id that the page does not have. */
  readonly missing: Member;
}

export class Compared {
  private selection = "";
  private kinds: readonly string[];
  private root = "";
  private section: CompareSection | null = null;

  constructor(
    private readonly data: ComparedData,
    private readonly pool: Pool,
  ) {
    this.kinds = data.kinds;
  }

  look(change: CompareLook): void {
    if ("select" in change) this.selection = change.select;
    else if ("kinds" in change) this.kinds = change.kinds;
    else if ("root" in change) this.root = change.root === this.root ? "" : change.root;
    else return;
    this.section = null;
  }

  get(): CompareSection {
    this.section ??= {
      ...this.pool.get<CompareSection>(this.data.base),
      ...this.picture(),
      ...(this.selection ? this.pool.get<CompareSection>(this.selected()) : {}),
    };
    return this.section;
  }

  private selected(): Member {
    return this.data.selections[this.selection] ?? this.data.missing;
  }

  /** The map; a step that the page cannot zoom into, or not with these kinds, shows the full map. */
  private picture(): Partial<CompareSection> {
    const { all_kinds, pictures } = this.data;
    const key = all_kinds.map((kind, n) => (this.kinds.includes(kind) ? n : "")).join("");
    const found = pictures[`${key}@${this.root}`] ?? pictures[key];
    return found === undefined ? {} : this.pool.get(found);
  }
}
