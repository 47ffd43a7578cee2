// The data of the explorer's panels. Texts are ready to be shown.
// Printed by prism_explore/widgets/typescript/section_types.py from panels/sections.py; do not edit.
// A field with a question mark is absent when it is empty, false, left or null.

import type { Scene } from "./scene.ts";

/** The tooltip of a command button. */
export interface CommandHelp {
  readonly description: string;
  readonly python: string;
  readonly in_past: boolean;
}

/** A stage of the search. */
export interface Phase {
  readonly name: string;
  readonly current: boolean;
  readonly description: string;
}

/** A count, such as the number of proved candidates; `kind` is the style of its mark. */
export interface Counter {
  readonly kind: string;
  readonly label: string;
  readonly value: string;
  readonly description: string;
}

/** The bar on top: the program and the machine, the progress, and the commands that are possible. */
export interface Transport {
  readonly program: string;
  readonly target: string;
  readonly state: "ready" | "running" | "paused" | "finished" | "cancelled" | "failed";
  readonly events: number;
  readonly cursor: number;
  readonly past_notice: string;
  readonly phases: readonly Phase[];
  readonly counters: readonly Counter[];
  readonly enabled: readonly string[];
  readonly status: string;
  readonly saved_as: string;
  readonly interrupted: string;
  readonly line: string;
}

/** The best kernel against a baseline or a limit. */
export interface Comparison {
  readonly label: string;
  readonly ratio: string;
  readonly time: string;
  readonly description: string;
  readonly limit?: boolean;
}

/** A button of the result card: it selects `ref` and shows a panel. */
export interface ResultLink {
  readonly ref: string;
  readonly panel: string;
  readonly label: string;
  readonly description: string;
}

/** A button for a command. */
export interface Action {
  readonly label: string;
  readonly command: string;
  readonly args: Readonly<Record<string, string | number | boolean | readonly string[]>>;
  readonly python: string;
  readonly description: string;
  readonly enabled: boolean;
}

/** The answer of the search so far, in one place. */
export interface ResultCard {
  readonly kind: string;
  readonly label: string;
  readonly title?: string;
  readonly ref?: string;
  readonly time?: string;
  readonly spread?: string;
  readonly source?: string;
  readonly sentence?: string;
  readonly warning?: string;
  readonly doubt?: string;
  readonly comparisons?: readonly Comparison[];
  readonly links?: readonly ResultLink[];
  readonly actions?: readonly Action[];
}

/** The selected id, empty for none, and the panel that Python requests to show. */
export interface View {
  readonly selection: string;
  readonly tab?: string;
  readonly request?: number;
}

/** One of several ways to show a panel. */
export interface Choice {
  readonly name: string;
  readonly label: string;
  readonly tip: string;
}

/** An axis of event numbers on which an interval can be selected by dragging. Units: px in the scene. */
export interface TimeBrush {
  readonly left: number;
  readonly right: number;
  readonly first: number;
  readonly end: number;
  readonly interval: string;
}

/** The search map in one of several modes, and the pruning reasons. */
export interface MapSection {
  readonly summary: string;
  readonly modes: readonly Choice[];
  readonly mode: string;
  readonly similar: boolean;
  readonly brush: TimeBrush | null;
  readonly scene: Scene;
  readonly reasons: Scene;
  readonly dimmed: readonly string[];
}

/** A button that selects something else. */
export interface Link {
  readonly ref: string;
  readonly label: string;
}

/** A custom kernel of the graph that is shown. */
export interface KernelChoice {
  readonly ref: string;
  readonly position: number;
  readonly label: string;
  readonly expanded: boolean;
}

/** One step from the program to the graph that is shown. */
export interface Crumb {
  readonly label: string;
  readonly shows: "" | "program" | "graph";
}

/** The picture of one sGraph. */
export interface GraphSection {
  readonly subject: string;
  readonly caption: string;
  readonly alternatives: readonly Link[];
  readonly kernels: readonly KernelChoice[];
  readonly entered: string;
  readonly trail: readonly Crumb[];
  readonly scene: Scene | null;
}

/** A symbolic size, and the values that it can have. */
export interface Slider {
  readonly symbol: string;
  readonly label: string;
  readonly values: readonly number[];
  readonly value: number;
}

/** What legal sizes satisfy; `form` is the row of the closed forms that has the size. */
export interface SizeLimit {
  readonly form: number;
  readonly most: number | null;
  readonly text: string;
  readonly what: string;
}

/** A figure that depends on the sizes. */
export interface SizeFigure {
  readonly label: string;
  readonly form: number;
  readonly unit: "bytes" | "seconds" | "flops" | "count";
  readonly note: string;
  readonly limit: number | null;
}

/** The sizes in numbers of one shape of the sGraph; per dim a row of the closed forms. */
export interface ShapeSizes {
  readonly shape: string;
  readonly dims: readonly number[];
}

/** A grid dim or the loop of a kernel; `form` is the row of its number of steps. */
export interface GridStepper {
  readonly name: string;
  readonly form: number;
  readonly loop: boolean;
}

/** One dim of a tensor that blocks load or store; extent, tile and strides are rows of the closed forms. */
export interface AccessDim {
  readonly extent: number;
  readonly tile: number;
  readonly strides: readonly (readonly [string, number])[];
}

/** A load or store of a block graph: which region of a tensor each block touches. */
export interface Access {
  readonly ref: string;
  readonly label: string;
  readonly kind: "load" | "store";
  readonly dims: readonly AccessDim[];
  readonly open: boolean;
}

/** What the blocks of one custom kernel read and write. */
export interface KernelAccesses {
  readonly ref: string;
  readonly label: string;
  readonly steppers: readonly GridStepper[];
  readonly accesses: readonly Access[];
}

/** A roofline plot in which one point moves; the rows of its figures, and the axes. */
export interface RooflinePlot {
  readonly scene: Scene;
  readonly memory_bytes: number;
  readonly flops: number;
  readonly time_s: number | null;
  readonly area: readonly [number, number, number, number];
  readonly x: readonly [number, number];
  readonly y: readonly [number, number];
  readonly peak: number;
  readonly bandwidth: number;
}

/** The symbolic sizes of the graph that is shown, and what depends on them, as closed forms. */
export interface SizesSection {
  readonly subject: string;
  readonly caption: string;
  readonly origin: string;
  readonly forms: readonly (readonly (string | number)[])[];
  readonly sliders: readonly Slider[];
  readonly limits: readonly SizeLimit[];
  readonly figures: readonly SizeFigure[];
  readonly shapes: readonly ShapeSizes[];
  readonly kernels: readonly KernelAccesses[];
  readonly roofline: RooflinePlot | null;
  readonly python: string;
  readonly chosen: readonly (readonly [string, number])[];
  readonly request: number;
}

/** What a symbol of a formula means, as text and as MathML. */
export interface Definition {
  readonly symbol: string;
  readonly text: string;
  readonly math: string;
}

/** A lemma of a derivation, with the lines from its left side to its right side. */
export interface StepRow {
  readonly ref: string;
  readonly name: string;
  readonly equation: string;
  readonly justification: string;
  readonly kind: string;
  readonly lines?: readonly (readonly [string, string])[];
  readonly equation_math?: string;
  readonly lines_math?: readonly string[];
}

/** A text that the user can copy. */
export interface Copy {
  readonly label: string;
  readonly text: string;
}

/** One reason, piece of evidence or answer, with everything needed to check it. */
export interface Card {
  readonly title: string;
  readonly kind: string;
  readonly sentence: string;
  readonly label?: string;
  readonly soundness?: string;
  readonly soundness_text?: string;
  readonly formula?: string;
  readonly formula_math?: string;
  readonly substituted?: string;
  readonly where?: readonly Definition[];
  readonly details?: readonly (readonly [string, string])[];
  readonly would_reopen_if?: string;
  readonly steps?: readonly StepRow[];
  readonly copies?: readonly Copy[];
}

/** The selected object: a description, the reasons for its status, and the commands for it. */
export interface Inspector {
  readonly ref: string;
  readonly title: string;
  readonly kind?: string;
  readonly status?: string;
  readonly description?: readonly string[];
  readonly details?: readonly (readonly [string, string])[];
  readonly code?: string;
  readonly code_math?: string;
  readonly cards?: readonly Card[];
  readonly actions?: readonly Action[];
  readonly links?: readonly Link[];
}

/** The heading of a column, and the format of its cells. */
export interface Column {
  readonly key: string;
  readonly label: string;
  readonly align?: "left" | "right";
  readonly mono?: boolean;
  readonly wide?: boolean;
  readonly tip?: string;
  readonly width_ch?: number;
}

/** A table cell with a sort key, a mark or a tooltip. */
export interface Cell {
  readonly text: string;
  readonly sort?: number | null;
  readonly kind?: string;
  readonly tip?: string;
  readonly math?: string;
}

/** A table row; a click on it selects `ref`, unless that is empty. */
export interface Row {
  readonly ref: string;
  readonly cells: readonly (string | Cell)[];
  readonly kind?: "" | "rejected" | "undone";
  readonly related?: readonly string[];
}

/** A table that the user can sort. */
export interface Table {
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
  readonly empty_text: string;
  readonly omitted: string;
}

/** The families that the user compares. */
export interface SideBySide {
  readonly families: readonly string[];
  readonly table: Table | null;
}

/** The frames of an e-graph. */
export interface FrameSlider {
  readonly lemma: string;
  readonly focus: string;
  readonly number: number;
  readonly last: number;
}

/** A term on the way to an equal one, in three parts: the middle one was changed. */
export interface PathStep {
  readonly ref: string;
  readonly before: string;
  readonly changed: string;
  readonly after: string;
  readonly replaced: string;
  readonly why: string;
}

/** How one term becomes an equal one. */
export interface TermPath {
  readonly start: string;
  readonly end: string;
  readonly tensors: readonly Choice[];
  readonly steps: readonly PathStep[];
  readonly step: number;
  readonly note: string;
}

/** The e-classes of a candidate, the e-graph of a lemma, or a path; and the lemmas of its certificate. */
export interface EClasses {
  readonly subject: string;
  readonly caption: string;
  readonly scene: Scene | null;
  readonly lemmas: Table;
  readonly modes: readonly Choice[];
  readonly mode: string;
  readonly frame_ref: string;
  readonly slider: FrameSlider | null;
  readonly statements: readonly Choice[];
  readonly rules: readonly Choice[];
  readonly rule: string;
  readonly more: string;
  readonly path: TermPath | null;
}

/** An axis on which values can be selected by dragging. Units: px in the scene. */
export interface BrushAxis {
  readonly name: string;
  readonly x: number;
  readonly values: readonly number[];
  readonly texts: readonly string[];
  readonly ys: readonly number[];
  readonly low: number;
  readonly high: number;
}

/** An interval of the brush, and the command that restricts tuning to it; None for an axis that is no parameter. */
export interface Brushed {
  readonly name: string;
  readonly text: string;
  readonly restrict: Action | null;
}

/** Measured times, modelled times and roofline bounds: one chart of several, and the table of trials. */
export interface Tuning {
  readonly caption: string;
  readonly modes: readonly Choice[];
  readonly mode: string;
  readonly tops: readonly Choice[];
  readonly top: string;
  readonly axes: readonly BrushAxis[];
  readonly brush: readonly Brushed[];
  readonly scene: Scene | null;
  readonly trials: Table;
}

/** The result in sentences, what was pruned by which kind of rule, and the decisions of the user. */
export interface LedgerSection {
  readonly claim: string;
  readonly soundness: Table;
  readonly reasons: Table;
  readonly steering: Table;
  readonly log: Table;
  readonly undo: Action;
  readonly redo: Action;
}

/** A limit of the search space that a what-if can change. */
export interface Limit {
  readonly name: string;
  readonly label: string;
  readonly value: number;
  readonly tip: string;
}

/** The settings that a what-if can change, and their values in this search. */
export interface WhatIfForm {
  readonly targets: readonly string[];
  readonly target: string;
  readonly limits: readonly Limit[];
  readonly rules: readonly (readonly [string, string])[];
}

/** The questions that run in the background, and the form for a what-if. */
export interface QuestionsSection {
  readonly caption: string;
  readonly table: Table;
  readonly form: WhatIfForm | null;
  readonly open: readonly string[];
}

/** A line of code, and the tensors of its operators. */
export interface CodeLine {
  readonly text: string;
  readonly refs?: string;
  readonly mark?: "" | "+" | "-";
}

/** One text of the subject. */
export interface CodeTab {
  readonly name: string;
  readonly label: string;
  readonly tip: string;
  readonly caption: string;
  readonly lines: readonly CodeLine[];
  readonly missing: string;
}

/** The subject as program, graph, loops and generated code. */
export interface Code {
  readonly title: string;
  readonly caption: string;
  readonly tabs: readonly CodeTab[];
  readonly tab: string;
  readonly other: string;
  readonly others: readonly Link[];
}

/** One of two searches, and what is selected in it. */
export interface CompareSide {
  readonly label: string;
  readonly name: string;
  readonly description: string;
  readonly inspector: Inspector | null;
  readonly missing: string;
}

/** A kind of difference of two searches, which can be shown or folded. */
export interface CompareKind {
  readonly key: string;
  readonly label: string;
  readonly kind: string;
  readonly count: string;
  readonly shown: boolean;
}

/** The first event of one search that differs from the other search. */
export interface CompareMoment {
  readonly label: string;
  readonly text: string;
  readonly ref: string;
}

/** Two searches side by side. */
export interface CompareSection {
  readonly summary: string;
  readonly marked: string;
  readonly path: string;
  readonly sides: readonly CompareSide[];
  readonly scene: Scene | null;
  readonly kinds: readonly CompareKind[];
  readonly first: readonly CompareMoment[];
  readonly steps: Table | null;
  readonly families: Table | null;
  readonly settings: Table | null;
  readonly counts: Table | null;
  readonly choices: readonly (readonly [string, string])[];
  readonly parent: string;
  readonly status: string;
}

/** A search of this process that the explorer can show. */
export interface SearchLink {
  readonly key: string;
  readonly label: string;
  readonly tip: string;
  readonly current: boolean;
}

/** Where a search was forked, and its forks. */
export interface LineageSection {
  readonly path: readonly SearchLink[];
  readonly forks: readonly SearchLink[];
  readonly fork_at: number;
  readonly status: string;
}

/** A bookmark. */
export interface BookmarkRow {
  readonly bookmark: string;
  readonly ref: string;
  readonly at: number;
  readonly label: string;
  readonly note: string;
}

/** The bookmarks of the user, and the deleted ones, which can be restored. */
export interface BookmarksSection {
  readonly caption: string;
  readonly bookmarks: readonly BookmarkRow[];
  readonly deleted: readonly BookmarkRow[];
  readonly add: Action;
  readonly undo: Action;
}

/** A condition of the filter that is in force; it can be removed. */
export interface FilterChip {
  readonly name: string;
  readonly value: string;
  readonly label: string;
}

/** The filter: the conditions in force, and the values that they can have. */
export interface FilterSection {
  readonly chips: readonly FilterChip[];
  readonly statuses: readonly Choice[];
  readonly reasons: readonly Choice[];
  readonly status: readonly string[];
  readonly reason: readonly string[];
  readonly operator: string;
  readonly events: readonly [number, number] | null;
}

/** A match of the find field. */
export interface FoundItem {
  readonly ref: string;
  readonly kind: string;
  readonly panel: string;
  readonly part: string;
  readonly text: string;
  readonly seq: number;
}

/** The find field: how many matches there are, and which one is shown. */
export interface FindSection {
  readonly text: string;
  readonly total: number;
  readonly position: number;
  readonly count: string;
  readonly kinds: readonly (readonly [string, string])[];
  readonly item: FoundItem | null;
  readonly note: string;
  readonly request: number;
}

/** The commands so far, as lines of Python. */
export interface Script {
  readonly lines: readonly string[];
}

/** All panels of the explorer. */
export interface Sections {
  readonly commands: Readonly<Record<string, CommandHelp>>;
  readonly transport: Transport;
  readonly result: ResultCard;
  readonly view: View;
  readonly map: MapSection;
  readonly graph: GraphSection;
  readonly sizes: SizesSection;
  readonly inspector: Inspector | null;
  readonly families: Table;
  readonly side_by_side: SideBySide | null;
  readonly eclasses: EClasses;
  readonly tuning: Tuning;
  readonly ledger: LedgerSection;
  readonly questions: QuestionsSection;
  readonly code: Code;
  readonly compare: CompareSection;
  readonly lineage: LineageSection;
  readonly bookmarks: BookmarksSection;
  readonly filter: FilterSection;
  readonly find: FindSection | null;
  readonly script: Script;
  readonly error: string | null;
}
