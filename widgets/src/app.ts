// The explorer widget: it composes the parts, and passes messages between Python and the panels.

import { Banner } from "./banner.ts";
import styles from "./explorer.css";
import { FilterBar } from "./filter.ts";
import { FindField } from "./find.ts";
import { Help } from "./help.ts";
import { keyTable, onKey } from "./keyboard.ts";
import { Layout } from "./layout.ts";
import { h, mark } from "./lib/dom.ts";
import type { Direction } from "./lib/draw.ts";
import { icon } from "./lib/glyph.ts";
import { keepKeys } from "./lib/keys.ts";
import PICTURE_CSS from "./lib/picture.css";
import { Press } from "./lib/press.ts";
import { familyOf, isNode } from "./lib/refs.ts";
import { Relations } from "./lib/related.ts";
import { Lock } from "./lock.ts";
import type { BookmarksPanel } from "./panels/bookmarks.ts";
import type { FamiliesPanel, LedgerPanel } from "./panels/dock.ts";
import type { GraphPanel } from "./panels/graph.ts";
import { LineageBar } from "./panels/lineage.ts";
import type { Host, PanelName } from "./panels/panel.ts";
import { ResultView } from "./panels/result.ts";
import { TransportBar } from "./panels/transport.ts";
import { makePanels, type Panels } from "./registry.ts";
import { SCENE_CSS } from "./scene.ts";
import type { Row, Sections, ShapeSizes } from "./sections.ts";
import { copyText, StatusLine } from "./status.ts";
import { type Args, type Connection, type Look, type Model, type Reply, Wire } from "./wire.ts";

/** Why commands are disabled, per state of the connection. */
const GONE: Readonly<Record<Connection, string>> = {
  open: "",
  silent:
    "The kernel does not answer: it is busy with a cell, or it has ended. The panels show the last state it sent.",
  closed: "The kernel was restarted or has ended. The panels show the last state it sent.",
};
const PAST = "Disabled while an earlier state is shown, because it would change the present search.";

export class App implements Host {
  readonly element: HTMLElement;
  readonly bar: TransportBar;
  readonly panels: Panels;
  readonly layout: Layout;
  readonly find: FindField;
  readonly filter = new FilterBar((what) => this.look(what));
  readonly help: Help;
  /** The selected id. */
  selection = "";
  /** The node that the map is zoomed into. */
  root = "";
  private readonly wire: Wire;
  private readonly status = new StatusLine();
  readonly lineage = new LineageBar(
    (what) => this.look(what),
    (name, args) => this.command(name, args),
  );
  private readonly banner = new Banner(this);
  private readonly result = new ResultView(this);
  private readonly lock = new Lock((text) => this.announce(text));
  private readonly lastLine = h("button", {
    type: "button",
    class: "pe-python",
    title: "copy this line",
    hidden: true,
  });
  /** Id of the command whose selection Python has not confirmed yet. */
  private selecting: string | null = null;
  /** Number of the last request of Python to show a panel. */
  private request = 0;
  private readonly press: Press;
  private readonly relations = new Relations();

  constructor(model: Model) {
    this.bar = new TransportBar(this, this.lineage.element);
    this.panels = makePanels(this);
    this.layout = new Layout(this.panels, (what) => this.look(what));
    this.find = new FindField(this.panels, this);
    const keys = keyTable(this);
    this.help = new Help(keys, () => this.element.focus({ preventScroll: true }));
    this.element = h(
      "div",
      {
        class: "prism-explore pxe prism-scene",
        tabindex: 0,
        role: "application",
        "aria-label": "Prism explorer; press ? for the keys",
      },
      h("style", {}, `${SCENE_CSS}\n${PICTURE_CSS}\n${styles}`),
      this.bar.element,
      this.banner.element,
      this.filter.chips,
      this.layout.main,
      this.foot(),
      this.layout.lowerEdge,
      this.help.element,
    );
    this.bar.element.append(this.result.element);
    keepKeys(this.element);
    this.lock.follow(this.element);
    this.element.addEventListener("keydown", (event) => onKey(event, keys, this));
    this.element.addEventListener("pointerdown", ({ target }) => {
      if (target instanceof Node && !this.filter?.element.contains(target)) this.filter?.close();
    });
    this.layout.follow(this.element);
    this.press = new Press(this.element, (changed) => this.receive(changed));
    this.wire = new Wire(model, {
      sections: (changed) => this.press.take(changed),
      reply: (reply) => this.onReply(reply),
      connection: (connection) => this.onConnection(connection),
    });
  }

  open(): void {
    this.layout.measure();
    this.wire.open();
  }

  close(): void {
    this.wire.close();
    this.press.close();
    this.layout.close();
    this.lock.close();
    this.status.close();
    for (const panel of this.panels.values()) panel.close();
  }

  // ---- requests of the panels (Host)

  command(name: string, args: Args = {}): void {
    if (this.isPossible(name)) this.wire.command(name, args);
  }

  look(what: Look): void {
    this.wire.look(what);
  }

  select(ref: string): void {
    if (ref === this.selection || !this.isPossible("select")) return;
    this.applySelection(ref);
    this.selecting = this.wire.command("select", { id: ref });
  }

  enter(ref: string): void {
    this.select(ref);
    const current = this.panels.get(this.layout.current());
    if (isNode(ref)) this.zoomMap(ref);
    else if (current?.enter) current.enter();
    else if (familyOf(ref) !== null) this.layout.show("graph");
  }

  hover(ref: string | null): void {
    const refs = ref ? [ref, ...this.relations.above(ref), ...this.relations.below(ref)] : [];
    for (const panel of this.panels.values()) panel.hover(refs);
  }

  copy(text: string, what: string): void {
    void copyText(text).then((ok) =>
      this.announce(ok ? `copied ${what}` : `could not copy ${what}; select and copy it by hand`),
    );
  }

  show(panel: PanelName): void {
    this.layout.show(panel);
  }

  maximise(panel: PanelName): void {
    this.layout.maximise(panel);
  }

  showSizes(subject: string, shapes: readonly ShapeSizes[], values: readonly number[]): void {
    (this.panels.get("graph") as GraphPanel | undefined)?.showSizes(subject, shapes, values);
  }

  // ---- requests of the keys

  announce(text: string): void {
    this.status.announce(text);
  }

  /** Select the next item in a direction, in the panel with the focus; false if it has none, as in a text. */
  walk(way: Direction): boolean {
    const panel = this.panels.get(this.layout.current());
    if (panel?.stage) {
      panel.stage.walk(way);
      return true;
    }
    const rows = panel?.element.querySelectorAll<HTMLElement>("tr[data-ref]") ?? [];
    const row = [...rows].find((r) => r.getAttribute("aria-selected") === "true") ?? rows[0];
    row?.focus();
    return row !== undefined;
  }

  /** Zoom the map into a node; the same node again, or none, shows the full map. */
  zoomMap(node: string): void {
    this.root = this.root === node ? "" : node;
    this.look({ root: this.root });
  }

  bookmark(): void {
    this.layout.show("bookmarks");
    const panel = this.panels.get("bookmarks") as BookmarksPanel | undefined;
    const done = panel?.bookmark(this.selection, this.bar.cursor);
    if (!done) this.announce("select something to bookmark it");
  }

  readInspector(): void {
    this.layout.show("inspector");
    this.panels.get("inspector")?.focus?.();
  }

  toggleTable(): void {
    const panel = this.panels.get(this.layout.current());
    (panel?.toggleTable ? panel : this.panels.get("map"))?.toggleTable?.();
  }

  /** Close what is open, clear what is set, or leave the widget. */
  leave(): void {
    if (this.help.open) this.help.toggle();
    else if (this.filter?.close() || this.layout.restore() || this.find.clear()) return;
    else if (this.selection) this.select("");
    else (document.activeElement as HTMLElement | null)?.blur();
  }

  // ---- messages from Python

  private receive(changed: ReadonlyMap<string, unknown>): void {
    const give = <K extends keyof Sections>(name: K, take: (data: Sections[K]) => void): void => {
      if (!changed.has(name)) return;
      try {
        take(changed.get(name) as Sections[K]);
      } catch (error) {
        // The other panels are still drawn.
        console.error(`prism_explore: the panel ${name} could not be drawn`, error);
        this.announce(`The panel ${name} could not be drawn: ${String(error)}`);
      }
    };
    give("commands", (data) => {
      this.bar.describe(data);
      this.lock.describe(data);
    });
    give("result", (data) => this.result.update(data));
    give("lineage", (data) => this.lineage.update(data));
    give("transport", (data) => {
      this.bar.update(data);
      mark(this.element, "data-state", data.state);
      mark(this.element, "data-past", data.cursor > 0);
      const { past_notice: past, saved_as: savedAs, interrupted, line } = data;
      this.banner.set({ past, savedAs, interrupted, line });
      this.lock.set({ past: data.past_notice && PAST });
      this.announce(data.status);
    });
    for (const [name, panel] of this.panels) give(name, (data) => panel.update(data as never));
    give("script", (data) => (this.panels.get("ledger") as LedgerPanel | undefined)?.showScript(data));
    give("error", (data) => this.banner.set({ error: data ?? "" }));
    give("families", (data) => this.relate("families", data.rows));
    give("tuning", (data) => this.relate("tuning", data.trials.rows));
    give("side_by_side", (data) => (this.panels.get("families") as FamiliesPanel | undefined)?.compare(data));
    give("view", (data) => {
      if (this.selecting === null) this.applySelection(data.selection);
      const { tab = "", request = 0 } = data;
      if (request > this.request) this.layout.show(tab as PanelName);
      this.request = request;
    });
    give("filter", (data) => this.filter.update(data));
    give("find", (data) => this.find.update(data));
    this.find.refresh();
    this.lock.apply();
  }

  private onReply(reply: Reply): void {
    if (reply.event_id === this.selecting) this.selecting = null;
    if (!reply.ok) {
      this.announce(reply.message ?? "the command failed");
    } else if (reply.python) {
      this.lastLine.textContent = reply.python;
      this.lastLine.hidden = false;
    }
  }

  private onConnection(connection: Connection): void {
    mark(this.element, "data-connected", connection === "open" ? "yes" : "no");
    const gone = GONE[connection];
    this.banner.set({ gone });
    this.lock.set({ gone });
  }

  /** Whether a command is possible now; if not, the status line says why. */
  private isPossible(command: string): boolean {
    const reason = this.lock.reason(command);
    if (reason) this.announce(reason);
    return reason === "";
  }

  private relate(table: string, rows: readonly Row[]): void {
    if (this.relations.update(table, rows)) this.applySelection(this.selection);
  }

  private applySelection(ref: string): void {
    this.selection = ref;
    const above = this.relations.above(ref);
    const related = [...above, ...this.relations.below(ref)];
    for (const panel of this.panels.values()) panel.select(ref ? [ref] : [], related);
    // The table of families selects the row of f1 for f1.c2 and its trials.
    if (above.length > 0) this.panels.get("families")?.select([ref, ...above], related);
  }

  private foot(): HTMLElement {
    this.lastLine.addEventListener("click", () => this.copy(this.lastLine.textContent ?? "", "the line"));
    const help = h(
      "button",
      { type: "button", class: "pe-tool", title: "help (?)", "aria-label": "help" },
      icon("help"),
    );
    help.addEventListener("click", () => this.help.toggle());
    return h(
      "div",
      { class: "pe-foot" },
      this.status.element,
      this.lastLine,
      this.filter.element,
      this.find.element,
      help,
    );
  }
}
