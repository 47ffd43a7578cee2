// The panels: one row per panel. The name of a panel is that of its section.

import { BookmarksPanel } from "./panels/bookmarks.ts";
import { CodePanel } from "./panels/code.ts";
import { ComparePanel } from "./panels/compare.ts";
import { FamiliesPanel, LedgerPanel } from "./panels/dock.ts";
import { EClassesPanel } from "./panels/eclasses.ts";
import { GraphPanel } from "./panels/graph.ts";
import { InspectorPanel } from "./panels/inspector.ts";
import { MapPanel } from "./panels/map.ts";
import type { Host, Panel, PanelName } from "./panels/panel.ts";
import { QuestionsPanel } from "./panels/questions.ts";
import { SizesPanel } from "./panels/sizes.ts";
import { TuningPanel } from "./panels/tuning.ts";
import type { Sections } from "./sections.ts";

interface PanelRow<K extends PanelName> {
  readonly name: K;
  /** The label of its tab. */
  readonly label: string;
  /** Whether it is a tab of the dock; the others are next to one another above the dock. */
  readonly docked: boolean;
  readonly make: (host: Host) => Panel<Sections[K]>;
}

export const PANELS: readonly { [K in PanelName]: PanelRow<K> }[PanelName][] = [
  { name: "map", label: "Search map", docked: false, make: (host) => new MapPanel(host) },
  { name: "graph", label: "sGraph", docked: false, make: (host) => new GraphPanel(host) },
  { name: "inspector", label: "Inspector", docked: false, make: (host) => new InspectorPanel(host) },
  { name: "families", label: "Families", docked: true, make: (host) => new FamiliesPanel(host) },
  { name: "sizes", label: "Sizes", docked: true, make: (host) => new SizesPanel(host) },
  { name: "eclasses", label: "E-classes", docked: true, make: (host) => new EClassesPanel(host) },
  { name: "tuning", label: "Tuning", docked: true, make: (host) => new TuningPanel(host) },
  { name: "ledger", label: "Summary", docked: true, make: (host) => new LedgerPanel(host) },
  { name: "questions", label: "What-if", docked: true, make: (host) => new QuestionsPanel(host) },
  { name: "code", label: "Code", docked: true, make: (host) => new CodePanel(host) },
  { name: "compare", label: "Compare", docked: true, make: (host) => new ComparePanel(host) },
  { name: "bookmarks", label: "Bookmarks", docked: true, make: (host) => new BookmarksPanel(host) },
];

/** The tabs of the dock, in their order. */
export const DOCKED: readonly PanelName[] = PANELS.filter((row) => row.docked).map((row) => row.name);

export type Panels = ReadonlyMap<PanelName, Panel<never>>;

export function makePanels(host: Host): Panels {
  return new Map(PANELS.map((row) => [row.name, row.make(host)]));
}
