// What belongs together: a trial, its candidate, its family, and the node of the map that the family completes.

import type { Row } from "../sections.ts";
import { ancestors } from "./refs.ts";

export class Relations {
  /** Per table, what each of its rows belongs to. */
  private readonly tables = new Map<string, ReadonlyMap<string, readonly string[]>>();
  private readonly up = new Map<string, readonly string[]>();
  private readonly down = new Map<string, string[]>();

  /** Take the rows of a table; false if nothing changed. */
  update(table: string, rows: readonly Row[]): boolean {
    const found = new Map(rows.flatMap(({ ref, related }) => (ref && related ? [[ref, related]] : [])));
    const before = this.tables.get(table);
    if (
      before?.size === found.size &&
      [...found].every(([ref, to]) => String(before.get(ref)) === String(to))
    )
      return false;
    this.tables.set(table, found);
    this.up.clear();
    this.down.clear();
    for (const owned of this.tables.values()) for (const [ref, to] of owned) this.add(ref, to);
    return true;
  }

  /** What an id belongs to: for a trial its candidate, the family and the node. */
  above(ref: string): readonly string[] {
    return reach(ref, (id) => [...ancestors(id), ...(this.up.get(id) ?? [])]);
  }

  /** What belongs to an id: for a node its families and their trials. */
  below(ref: string): readonly string[] {
    return reach(ref, (id) => this.down.get(id) ?? []);
  }

  private add(ref: string, to: readonly string[]): void {
    this.up.set(ref, to);
    for (const owner of to) {
      this.put(owner, ref);
      for (const outer of ancestors(owner)) this.put(outer, ref);
    }
  }

  private put(owner: string, ref: string): void {
    const known = this.down.get(owner);
    if (known) known.push(ref);
    else this.down.set(owner, [ref]);
  }
}

function reach(from: string, next: (id: string) => readonly string[]): readonly string[] {
  const found = new Set<string>([from]);
  for (const id of found) for (const other of next(id)) found.add(other);
  found.delete(from);
  return [...found];
}
