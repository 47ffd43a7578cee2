// The sections of a report for a selection, a moment and a zoom, in place of Python.

import type {
  Choice,
  EClasses,
  FilterSection,
  GraphSection,
  Inspector,
  MapSection,
  Sections,
  Table,
  Transport,
  Tuning,
} from "../sections.ts";
import { Columns, type ColumnsData } from "./columns.ts";
import { Compared, type ComparedData } from "./compared.ts";
import { State } from "./counts.ts";
import { Filter, type FilterChoice } from "./filter.ts";
import { type Drawing, searchScene } from "./map.ts";
import { type Templates, Texts } from "./panels.ts";
import { type Member, Pool, type PoolData } from "./pool.ts";
import { countTables, reasonsScene } from "./reasons.ts";
import { reasonsMapScene } from "./reasons_map.ts";
import { markOccurrences, Patterns, similarScene } from "./similar.ts";
import { commas } from "./text.ts";
import { Lanes, timeBrush, timeScene } from "./time_map.ts";
import { treeScene } from "./tree_map.ts";

export interface Report extends Templates {
  /** The numbers of events at which panels were recorded. */
  readonly moments: readonly number[];
  readonly columns: ColumnsData;
  /** Per kind of event, the phase that it belongs to. */
  readonly phases: Readonly<Record<string, string | null>>;
  readonly drawing: Drawing;
  /** The comparison with another search. */
  readonly compared: ComparedData | null;
  /** The modes of the search map. */
  readonly map_modes: readonly Choice[];
  /** The modes of the e-class panel. */
  readonly egraph_modes: readonly Choice[];
  /** Per name, such as inspector/f1, the moments at which its value changed, and the values. */
  readonly timeline: Readonly<Record<string, readonly (readonly [moment: number, value: Member])[]>>;
  readonly pool: PoolData;
}

/** The panels that a selected family, candidate, trial or frame changes. */
const SUBJECT_PANELS = ["graph", "sizes", "eclasses", "code"] as const;

export interface Look {
  selection: string;
  subject: string;
  /** Number of events that are shown; 0 for all. */
  cursor: number;
  root: string;
  map_px: number;
  /** Rows and nodes of the map that the user has expanded, and collapsed. */
  opened: readonly string[];
  closed: readonly string[];
  map_mode: string;
  /** Whether what is similar to the selection is marked. */
  map_similar: boolean;
  /** First and last event that the map over time shows; null for all. */
  interval: readonly [number, number] | null;
  filter: FilterChoice;
  /** Whether custom kernels are drawn as one box each. */
  collapsed: boolean;
  /** The kernel that is shown alone; empty for none. */
  entered: string;
  /** Whether the program is shown in place of the candidate. */
  program: boolean;
  /** The chart of the tuning panel. */
  tuning: string;
  /** Whether the e-class panel shows the path, and the step of it. */
  path: boolean;
  step: number;
}

/** Computes the sections. The state of the last moment is kept. */
export class Folded {
  private readonly pool: Pool;
  private readonly columns: Columns;
  private readonly texts: Texts;
  /** The comparison with another search. */
  readonly compared: Compared | null;
  private state: State | null = null;
  private lanes: Lanes | null = null;
  /** The sections of the last call that take long, and the values that they were made from. */
  private readonly last = new Map<string, { readonly from: readonly unknown[]; readonly made: unknown }>();

  constructor(private readonly report: Report) {
    this.pool = new Pool(report.pool);
    this.columns = new Columns(report.columns, this.pool);
    this.compared = report.compared && new Compared(report.compared, this.pool);
    this.texts = new Texts(this.columns, this.pool, report);
  }

  get count(): number {
    return this.columns.count;
  }

  /** The state after the first events; 0 for all. */
  at(cursor: number): State {
    const until = cursor > 0 ? Math.min(cursor, this.count) : this.count;
    if (this.state?.count !== until) this.state = new State(this.columns, this.report.phases, until);
    return this.state;
  }

  sections(look: Look): Record<string, unknown> {
    const state = this.at(look.cursor);
    const base: Record<string, unknown> = {};
    for (const name of Object.keys(this.report.timeline)) {
      if (!name.includes("/") && name !== "collapsed" && name !== "program")
        base[name] = this.version(name, state.count);
    }
    const { map_px, root, opened, closed, map_mode, map_similar, interval } = look;
    const similarTo = map_similar || map_mode === "similar" ? look.selection : "";
    const filter = this.kept("filter", [state.count, look.filter], () => {
      return new Filter(look.filter, this.columns, state);
    });
    const shown = (name: string, table: Table | undefined) =>
      this.kept(name, [table, filter], () => table && filter.rows(table));
    const tuning = (this.version(`tuning/${look.tuning}`, state.count) ?? base.tuning) as Tuning | undefined;
    const trials = shown("trials", tuning?.trials);
    return {
      ...base,
      transport: this.kept("transport", [state.count], () =>
        this.transport(base.transport as Transport, state),
      ),
      view: { selection: look.selection },
      map: this.kept(
        "map",
        [filter, map_px, root, opened, closed, map_mode, interval, map_similar, similarTo],
        () => filter.dim(this.map(look, state)),
      ),
      ledger: this.kept("ledger", [filter], () =>
        this.ledger(base.ledger as Sections["ledger"], state, filter),
      ),
      families: shown("families", base.families as Table | undefined),
      tuning: this.kept("tuning", [tuning, trials], () => tuning && { ...tuning, trials }),
      filter: this.kept("filter section", [filter], () =>
        filter.section((base.filter as FilterSection).statuses),
      ),
      compare: this.compared?.get() ?? base.compare,
      inspector: this.inspector(look.selection, state),
      ...this.subjectPanels(look, state, base),
    };
  }

  /** A section; the one of the last call if it was made from the same values. */
  private kept<T>(name: string, from: readonly unknown[], make: () => T): T {
    const last = this.last.get(name);
    if (last?.from.every((value, i) => value === from[i])) return last.made as T;
    const made = make();
    this.last.set(name, { from, made });
    return made;
  }

  private ledger(recorded: Sections["ledger"], state: State, filter: Filter): Sections["ledger"] | undefined {
    const { drawing } = this.report;
    const tables = this.version<Sections["ledger"]>("ledger/tables", state.count);
    return (
      tables && {
        ...recorded,
        ...countTables(tables, state, drawing),
        log: this.texts.log(tables.log, state.count, drawing.log_entries, filter.leaves),
      }
    );
  }

  private map(look: Look, state: State): MapSection {
    const { drawing } = this.report;
    const { expanded, regions } = state;
    const { map_mode: mode, map_similar: similar, selection, map_px } = look;
    const root = state.tree.nodes.has(look.root) ? look.root : "";
    const marks = similar && selection !== "";
    const patterns =
      mode === "similar" || marks
        ? this.kept("patterns", [state.count, root], () => new Patterns(state, this.columns, drawing, root))
        : null;
    const drawn =
      mode === "similar" && patterns
        ? { scene: similarScene(patterns, drawing, selection, map_px) }
        : this.scene(look, state);
    const same = (marks && patterns?.similarTo(selection)) || [];
    const [scene, shown] =
      same.length > 0 && mode !== "similar" ? markOccurrences(drawn.scene, same) : [drawn.scene, same.length];
    const zoom = root ? `, zoomed into ${root}` : "";
    const found = same.length > 0 ? `; ${commas(same.length)} with the shape of ${selection}` : "";
    const inView = found && mode !== "similar" ? `, ${commas(shown)} of them in view` : "";
    return {
      summary: `${commas(expanded)} expanded, ${commas(regions)} ${regions === 1 ? "subtree" : "subtrees"} pruned${zoom}${found}${inView}`,
      modes: this.report.map_modes,
      mode,
      similar,
      brush: null,
      dimmed: [],
      reasons: reasonsScene(state, drawing, map_px),
      ...drawn,
      scene,
    };
  }

  /** The picture of the map, and the x axis of the one over time. */
  private scene(look: Look, state: State): Pick<MapSection, "scene"> & Partial<Pick<MapSection, "brush">> {
    const { drawing } = this.report;
    const { map_px, root, interval } = look;
    switch (look.map_mode) {
      case "tree":
        return { scene: treeScene(state, this.columns, drawing, look, map_px, root) };
      case "reasons":
        return { scene: reasonsMapScene(state, this.columns, drawing, look, map_px, root) };
      case "time": {
        this.lanes ??= new Lanes(this.columns);
        const brush = timeBrush(this.count, interval, map_px, drawing);
        const within = state.tree.nodes.has(root) ? this.idsBelow(state, root) : null;
        return { scene: timeScene(this.lanes, state.count, brush, drawing, map_px, within), brush };
      }
      default: {
        const closed = new Set(look.closed);
        return { scene: searchScene(state, this.columns, drawing, map_px, root, closed) };
      }
    }
  }

  /** Ids of the nodes, regions and families at a node and below it. */
  private idsBelow({ tree }: State, root: string): ReadonlySet<string> {
    const below = tree.below(root);
    const region = this.columns.field<string>("RegionPruned", "region");
    const regions = Array.from(tree.prunedBelow(root), (i) => region.at(i));
    return new Set([...below, ...regions, ...below.flatMap((name) => tree.node(name).families)]);
  }

  /** The value of a name at a moment; undefined before its first one. */
  private version<T>(name: string, count: number): T | undefined {
    const found = this.report.timeline[name]?.findLast(([moment]) => moment <= count);
    return found && this.pool.get<T>(found[1]);
  }

  /** The last recorded moment of a state. */
  private momentOf(count: number): number {
    return this.report.moments.findLast((moment) => moment <= count) ?? 0;
  }

  private transport(recorded: Transport, state: State): Transport {
    const { count, funnel } = state;
    if (count === this.count) return { ...recorded, enabled: [] };
    const moment = this.momentOf(count);
    const [last] = this.texts.logLine(count - 1);
    const older = moment < count ? ` The other panels show event ${commas(moment)}.` : "";
    const { proved, unknown, refuted, pruned } = funnel;
    const figures: Readonly<Record<string, number>> = { proved, unknown, refuted, "pruned-sound": pruned };
    return {
      ...recorded,
      cursor: count,
      past_notice: this.texts.pastNotice(count, last) + older,
      phases: recorded.phases.map((phase) => ({ ...phase, current: phase.name === state.phase })),
      counters: recorded.counters.map((counter) => {
        const figure = figures[counter.kind];
        return figure === undefined ? counter : { ...counter, value: commas(figure) };
      }),
      enabled: [],
      status: last,
    };
  }

  private inspector(ref: string, state: State): Inspector | null {
    const found =
      this.version<Inspector>(`inspector/${ref}`, state.count) ?? this.texts.inspector(ref, state);
    if (found) return this.withoutMissingFrames(found);
    if (ref === "") return null;
    const first = this.report.timeline[`inspector/${ref}`]?.[0]?.[0];
    if (first !== undefined || this.texts.inspector(ref, this.at(0))) {
      const from = first !== undefined ? ` The report has it from event ${commas(first)} on.` : "";
      return { ref, title: ref, description: [`It is not there at event ${commas(state.count)}.${from}`] };
    }
    const missing = "This report does not contain it. Open the saved search in a notebook.";
    return { ref, title: ref, description: [missing] };
  }

  /** Without links to the frames of e-graphs that are not in the page. */
  private withoutMissingFrames(inspector: Inspector): Inspector {
    const { links } = inspector;
    const shown = links?.filter(({ ref }) => !ref.includes("@") || `frame/${ref}` in this.report.timeline);
    return shown && shown.length < (links?.length ?? 0) ? { ...inspector, links: shown } : inspector;
  }

  /** The family or candidate whose graph contains an id; empty if none does. */
  subjectOf(ref: string, cursor: number): string {
    const state = this.at(cursor);
    if (state.hasGraph(ref)) return ref;
    const [owner = ""] = ref.split("/");
    if (state.hasGraph(owner)) return owner;
    return state.candidateOf(ref) || (state.familyAt.get(ref) ?? "");
  }

  private subjectPanels(
    look: Look,
    state: State,
    base: Readonly<Record<string, unknown>>,
  ): Record<string, unknown> {
    const { subject, selection } = look;
    const of = <T>(name: string, ref: string) => this.version<T>(`${name}/${ref}`, state.count);
    const panels: Record<string, unknown> = {};
    const known = state.hasGraph(subject) ? subject : "";
    for (const name of SUBJECT_PANELS)
      panels[name] = known ? (of(name, known) ?? absent(name, known)) : base[name];
    if (look.collapsed) {
      panels.graph =
        (known ? of("collapsed", known) : this.version("collapsed", state.count)) ?? panels.graph;
    }
    panels.code = of("code", selection) ?? panels.code;
    panels.eclasses = this.eclasses(panels.eclasses as EClasses | undefined, look, state);
    return panels;
  }

  /** The e-classes, a frame of an e-graph or a path, with a button for each that is in the page. */
  private eclasses(classes: EClasses | undefined, look: Look, { count }: State): EClasses | undefined {
    if (!classes) return undefined;
    const of = (name: string) => this.version<EClasses>(name, count);
    const [frame, path] = [of(`frame/${look.selection}`), of(`path/${classes.subject}`)];
    const isThere: Readonly<Record<string, boolean>> = {
      classes: true,
      egraph: of(`frame/${classes.frame_ref}`) !== undefined,
      path: path !== undefined,
    };
    const shown = (look.path ? path : undefined) ?? frame ?? classes;
    return this.kept("eclasses", [classes, shown, shown === path && look.step], () => {
      const modes = this.report.egraph_modes.filter(({ name }) => isThere[name]);
      const step = Math.min(look.step, (shown.path?.steps.length ?? 1) - 1);
      return {
        ...shown,
        lemmas: classes.lemmas,
        modes: modes.length > 1 ? modes : [],
        path: shown.path && { ...shown.path, step },
      };
    });
  }
}

/** A panel of a family or candidate whose graph is not in the page. */
function absent(name: (typeof SUBJECT_PANELS)[number], subject: string): unknown {
  const caption = `${subject}: not in this report; open the saved search in a notebook`;
  const table = { columns: [], rows: [], empty_text: "", omitted: "" };
  switch (name) {
    case "graph":
      return {
        subject,
        caption,
        alternatives: [],
        kernels: [],
        entered: "",
        trail: [],
        scene: null,
      } satisfies GraphSection;
    case "eclasses": {
      const nothing = {
        modes: [],
        mode: "classes",
        frame_ref: "",
        slider: null,
        statements: [],
        rules: [],
        rule: "",
      };
      return {
        subject,
        caption,
        scene: null,
        lemmas: table,
        ...nothing,
        more: "",
        path: null,
      } satisfies EClasses;
    }
    case "sizes": {
      const nothing = {
        forms: [],
        sliders: [],
        limits: [],
        figures: [],
        shapes: [],
        kernels: [],
        chosen: [],
        request: 0,
        roofline: null,
      };
      return { subject: "", caption, origin: "", ...nothing, python: "" } satisfies Sections["sizes"];
    }
    case "code":
      return { title: subject, caption, tabs: [], tab: "", other: "", others: [] } satisfies Sections["code"];
  }
}
