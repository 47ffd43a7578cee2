// What each section of the picture is. Texts are ready to be shown.
// Printed by prism_explore/widgets/panels/sections.py; edit that and print again.
// A field with a question mark may be absent: it is then empty, false, left or null.

import type { Scene } from "./scene.ts";

/** A command's tooltip. */
export interface CommandHelp {
  readonly says: string;
  readonly python: string;
}

/** A stage of the search. */
export interface Phase {
  readonly name: string;
  readonly now: boolean;
  readonly says: string;
}

/** How many there are of something; `kind` is that of its mark. */
export interface Counter {
  readonly kind: string;
  readonly word: string;
  readonly value: string;
  readonly says: string;
}

/** The best kernel so far, or the rival that nothing is below. */
export interface Incumbent {
  readonly ref: string;
  readonly time: string;
  readonly facts: readonly string[];
}

/** What is searched, how far it is, and what can be done now. */
export interface Transport {
  readonly program: string;
  readonly where: string;
  readonly state: "ready" | "running" | "paused" | "finished" | "cancelled" | "failed";
  readonly events: number;
  readonly cursor: number;
  readonly past: string;
  readonly phases: readonly Phase[];
  readonly counters: readonly Counter[];
  readonly best: Incumbent | null;
  readonly can: readonly string[];
  readonly status: string;
}

/** What is selected; empty for nothing. */
export interface View {
  readonly selection: string;
}

/** The search map, and why parts of it were cut. */
export interface MapSection {
  readonly summary: string;
  readonly scene: Scene;
  readonly reasons: Scene;
}

/** Something else to look at. */
export interface Link {
  readonly ref: string;
  readonly label: string;
}

/** The sGraph in view. */
export interface GraphSection {
  readonly subject: string;
  readonly says: string;
  readonly others: readonly Link[];
  readonly expanded: boolean | null;
  readonly scene: Scene | null;
}

/** A step of a derivation, with the lines from its left side to its right. */
export interface StepRow {
  readonly ref: string;
  readonly name: string;
  readonly says: string;
  readonly because: string;
  readonly kind: string;
  readonly lines?: readonly (readonly [string, string])[];
}

/** A text to take along. */
export interface Copy {
  readonly label: string;
  readonly text: string;
}

/** Why something is as it is; everything a reader needs to doubt it. */
export interface Card {
  readonly title: string;
  readonly kind: string;
  readonly sentence: string;
  readonly label?: string;
  readonly soundness?: string;
  readonly soundness_says?: string;
  readonly formula?: string;
  readonly substituted?: string;
  readonly facts?: readonly (readonly [string, string])[];
  readonly would_reopen_if?: string;
  readonly steps?: readonly StepRow[];
  readonly copies?: readonly Copy[];
}

/** Something that can be done: a command, and the same in Python. */
export interface Action {
  readonly label: string;
  readonly command: string;
  readonly args: Readonly<Record<string, string | number | boolean | readonly string[]>>;
  readonly python: string;
  readonly says: string;
  readonly enabled: boolean;
}

/** What the selection is, why it is so, and what can be done about it. */
export interface Inspector {
  readonly ref: string;
  readonly title: string;
  readonly kind?: string;
  readonly word?: string;
  readonly what?: readonly string[];
  readonly facts?: readonly (readonly [string, string])[];
  readonly code?: string;
  readonly why?: readonly Card[];
  readonly actions?: readonly Action[];
  readonly links?: readonly Link[];
}

/** A column's head, and how its cells are set. */
export interface Column {
  readonly key: string;
  readonly label: string;
  readonly align?: "left" | "right";
  readonly mono?: boolean;
  readonly wide?: boolean;
  readonly tip?: string;
}

/** A cell that is more than its text. */
export interface Cell {
  readonly text: string;
  readonly sort?: number | null;
  readonly kind?: string;
  readonly tip?: string;
}

/** A row; a click on it selects `ref`, unless that is empty. */
export interface Row {
  readonly ref: string;
  readonly cells: readonly (string | Cell)[];
  readonly kind?: "" | "rejected" | "undone";
}

/** A table that the reader may sort. */
export interface Table {
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
  readonly empty: string;
  readonly omitted: string;
}

/** Which tensors are equal, and by which axioms. */
export interface EClasses {
  readonly subject: string;
  readonly says: string;
  readonly scene: Scene | null;
  readonly lemmas: Table;
}

/** Measured times, modelled times and modelled bounds. */
export interface Tuning {
  readonly says: string;
  readonly scene: Scene | null;
  readonly trials: Table;
}

/** What may be claimed, what was cut and how surely, and what was decided by hand. */
export interface LedgerSection {
  readonly claim: string;
  readonly soundness: Table;
  readonly reasons: Table;
  readonly steering: Table;
  readonly log: Table;
  readonly undo: Action;
  readonly redo: Action;
}

/** A number that a what-if may change. */
export interface Limit {
  readonly name: string;
  readonly label: string;
  readonly value: number;
}

/** What a what-if may change, and how it is here. */
export interface WhatIfForm {
  readonly targets: readonly string[];
  readonly target: string;
  readonly limits: readonly Limit[];
  readonly rules: readonly (readonly [string, string])[];
}

/** What was asked beside the search, and what more can be asked. */
export interface QuestionsSection {
  readonly says: string;
  readonly table: Table;
  readonly form: WhatIfForm | null;
  readonly open: readonly string[];
}

/** Generated source. */
export interface Code {
  readonly title: string;
  readonly says: string;
  readonly source: string;
}

/** What was clicked so far, as lines of Python. */
export interface Script {
  readonly lines: readonly string[];
}

/** The whole picture. */
export interface Sections {
  readonly commands: Readonly<Record<string, CommandHelp>>;
  readonly transport: Transport;
  readonly view: View;
  readonly map: MapSection;
  readonly graph: GraphSection;
  readonly inspector: Inspector | null;
  readonly families: Table;
  readonly eclasses: EClasses;
  readonly tuning: Tuning;
  readonly ledger: LedgerSection;
  readonly questions: QuestionsSection;
  readonly code: Code;
  readonly script: Script;
  readonly trouble: string | null;
}
