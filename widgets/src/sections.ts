// What each section of the picture is, as explorer.py computes it. Texts are ready to be shown.

import type { Scene } from "./scene.ts";

export type State = "ready" | "running" | "paused" | "finished" | "cancelled" | "failed";

/** A label and its value. */
export type Fact = readonly [label: string, value: string];

/** A cell; `sort` orders it when its text does not, `kind` puts a status's mark before it. */
export type Cell =
  | string
  | { readonly text: string; readonly sort?: number; readonly kind?: string; readonly tip?: string };

export interface Column {
  readonly key: string;
  readonly label: string;
  readonly align?: "left" | "right";
  /** Whether its texts are code. */
  readonly mono?: boolean;
  readonly tip?: string;
}

export interface Row {
  readonly ref: string;
  readonly cells: readonly Cell[];
  readonly kind?: string;
}

export interface Table {
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
  /** What was left out, as a sentence. */
  readonly omitted: string;
  /** What to say when there is no row. */
  readonly empty: string;
}

/** Something that can be done: a command, and the same in Python. */
export interface Action {
  readonly label: string;
  readonly command: string;
  readonly args: Readonly<Record<string, string | number>>;
  readonly python: string;
  readonly says: string;
  readonly enabled: boolean;
}

export interface Transport {
  readonly program: string;
  readonly where: string;
  readonly state: State;
  readonly steps: number;
  readonly phases: readonly { readonly name: string; readonly now: boolean; readonly says: string }[];
  readonly counters: readonly {
    readonly kind: string;
    readonly word: string;
    readonly value: string;
    readonly says: string;
  }[];
  readonly best: { readonly ref: string; readonly time: string; readonly facts: readonly string[] } | null;
  readonly can: readonly string[];
  readonly status: string;
}

export interface View {
  readonly selection: string;
}

export interface MapSection {
  readonly scene: Scene;
  readonly reasons: Scene;
  readonly summary: string;
}

export interface GraphSection {
  readonly scene: Scene | null;
  readonly subject: string;
  readonly says: string;
  /** What else can be shown in its place: the candidates of the family. */
  readonly others: readonly { readonly ref: string; readonly label: string }[];
  /** Whether all custom kernels are open, or closed; null when there is none. */
  readonly expanded: boolean | null;
  readonly text: string;
}

/** Why a region was cut or a candidate dropped. */
export interface ReasonCard {
  readonly title: string;
  readonly kind: string;
  readonly sentence: string;
  readonly soundness: string;
  readonly soundness_says: string;
  readonly formula: string;
  readonly substituted: string;
  readonly facts: readonly Fact[];
  readonly would_reopen_if: string;
}

export interface Inspector {
  readonly ref: string;
  readonly title: string;
  readonly kind: string;
  readonly word: string;
  readonly what: readonly string[];
  readonly facts: readonly Fact[];
  readonly code: string;
  readonly why: readonly ReasonCard[];
  readonly actions: readonly Action[];
  readonly links: readonly { readonly ref: string; readonly label: string }[];
}

export interface EClasses {
  readonly subject: string;
  readonly says: string;
  readonly scene: Scene | null;
  readonly lemmas: Table;
}

export interface Tuning {
  readonly says: string;
  readonly scene: Scene | null;
  readonly trials: Table;
}

export interface Ledger {
  readonly claim: string;
  readonly soundness: Table;
  readonly reasons: Table;
  readonly steering: Table;
  readonly log: Table;
  readonly undo: Action;
  readonly redo: Action;
}

export interface Code {
  readonly title: string;
  readonly says: string;
  readonly source: string;
}

/** What has been clicked so far, as lines of Python. */
export interface Script {
  readonly lines: readonly string[];
}

export interface Sections {
  /** Tooltips of commands. */
  readonly commands: Readonly<Record<string, { readonly says: string; readonly python: string }>>;
  readonly transport: Transport;
  readonly view: View;
  readonly map: MapSection;
  readonly graph: GraphSection;
  readonly inspector: Inspector | null;
  readonly families: Table;
  readonly eclasses: EClasses;
  readonly tuning: Tuning;
  readonly ledger: Ledger;
  readonly code: Code;
  readonly script: Script;
  /** What went wrong with computing the picture, if something did. */
  readonly trouble: string | null;
}

export type SectionName = keyof Sections;
