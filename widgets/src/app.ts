// The explorer widget: layout, selection, search field and keyboard. Panels draw themselves.

import styles from "./explorer.css";
import { add, fresh, h, mark, refill } from "./lib/dom.ts";
import type { Direction } from "./lib/draw.ts";
import { icon } from "./lib/glyph.ts";
import { isCharacter, isPressable, isTyping, type Key, nameOf } from "./lib/keys.ts";
import { Press } from "./lib/press.ts";
import { ancestors, familyOf, isNode } from "./lib/refs.ts";
import { CodePanel, EClassesPanel, FamiliesPanel, LedgerPanel, TuningPanel } from "./panels/dock.ts";
import { InspectorPanel } from "./panels/inspector.ts";
import type { Host, Panel, PanelName } from "./panels/panel.ts";
import { GraphPanel, MapPanel } from "./panels/picture.ts";
import { QuestionsPanel } from "./panels/questions.ts";
import { TransportBar } from "./panels/transport.ts";
import { type Item, SCENE_CSS } from "./scene.ts";
import type { Sections } from "./sections.ts";
import { type Args, type Look, type Model, type Reply, Wire } from "./wire.ts";

/** Below this width the panels are tabs, and one is shown at a time. */
const NARROW_PX = 900;
/** Shortest time between two changes of the status line, which screen readers announce. */
const STATUS_MS = 1000;

/** One row per panel: its name, the label of its tab, and whether it is a tab of the dock. */
const PANELS: readonly (readonly [name: PanelName, label: string, docked: boolean])[] = [
  ["map", "Search map", false],
  ["graph", "sGraph", false],
  ["inspector", "Inspector", false],
  ["families", "Families", true],
  ["eclasses", "E-classes", true],
  ["tuning", "Tuning", true],
  ["ledger", "Ledger", true],
  ["questions", "Questions", true],
  ["code", "Code", true],
];
const DOCKED: readonly PanelName[] = PANELS.filter(([, , docked]) => docked).map(([name]) => name);

export class App implements Host {
  readonly element: HTMLElement;
  private readonly wire: Wire;
  private readonly bar: TransportBar;
  private readonly map: MapPanel;
  private readonly graph: GraphPanel;
  private readonly inspector: InspectorPanel;
  private readonly eclasses: EClassesPanel;
  private readonly tuning: TuningPanel;
  private readonly ledger: LedgerPanel;
  private readonly panels: ReadonlyMap<PanelName, Panel<never>>;
  private readonly tabs = new Map<PanelName, HTMLButtonElement>();
  private readonly main = h("div", { class: "pe-main" });
  private readonly dock = h("div", { class: "pe-dock" });
  private readonly banner = h("p", { class: "pe-banner", role: "alert", hidden: true });
  private readonly status = h("span", { class: "pe-status", role: "status", "aria-live": "polite" });
  private readonly lastLine = h("button", {
    type: "button",
    class: "pe-python",
    title: "copy this line",
    hidden: true,
  });
  private readonly search = h("input", {
    class: "pe-search",
    type: "search",
    placeholder: "find  /",
    "aria-label": "find in the pictures",
  });
  private readonly found = h("span", { class: "pe-muted pe-found" });
  private readonly help: HTMLDialogElement;
  private readonly keys: readonly Key[];
  private readonly resize: ResizeObserver;
  /** The panel that was shown last, the selected tab of the dock, and the maximised panel. */
  private shown: PanelName = "map";
  private docked: PanelName = "families";
  private maximised: PanelName | null = null;
  private narrow = false;
  private letters = true;
  private selection = "";
  /** Id of the command whose selection Python has not confirmed yet. */
  private selecting: string | null = null;
  private error: string | null = null;
  /** Which earlier state of the search is shown. */
  private pastNotice: string | null = null;
  /** The node that the map is zoomed into. */
  private root = "";
  private sizes = { map: 0, dock: 0, high: 0 };
  private readonly press: Press;
  private sizeTimer: ReturnType<typeof setTimeout> | undefined;
  private statusTimer: ReturnType<typeof setTimeout> | undefined;
  private nextStatus = "";

  constructor(model: Model) {
    this.bar = new TransportBar(this);
    this.map = new MapPanel(this);
    this.graph = new GraphPanel(this);
    this.inspector = new InspectorPanel(this);
    this.eclasses = new EClassesPanel(this);
    this.tuning = new TuningPanel(this);
    this.ledger = new LedgerPanel(this);
    const all: readonly Panel<never>[] = [
      this.map,
      this.graph,
      this.inspector,
      new FamiliesPanel(this),
      this.eclasses,
      this.tuning,
      this.ledger,
      new QuestionsPanel(this),
      new CodePanel(this),
    ];
    this.panels = new Map(all.map((panel) => [panel.name, panel]));
    this.keys = this.keyTable();
    this.help = this.helpDialog();
    this.layOut();
    this.dock.prepend(this.tabList());
    const foot = h(
      "footer",
      { class: "pe-foot" },
      this.status,
      this.lastLine,
      this.found,
      this.search,
      this.helpButton(),
    );
    this.element = h(
      "div",
      {
        class: "prism-explore prism-scene",
        tabindex: 0,
        "data-lm-suppress-shortcuts": "true",
        role: "application",
        "aria-label": "Prism explorer; press ? for the keys",
      },
      h("style", {}, `${SCENE_CSS}\n${styles}`),
      this.bar.element,
      this.banner,
      this.main,
      foot,
      this.help,
    );
    this.lastLine.addEventListener("click", () => this.copy(this.lastLine.textContent ?? "", "the line"));
    this.search.addEventListener("input", () => this.find());
    this.element.addEventListener("keydown", (event) => this.onKey(event));
    this.resize = new ResizeObserver(() => this.measure());
    this.resize.observe(this.element);
    this.arrange();
    this.press = new Press(this.element, (changed) => this.receive(changed));
    this.wire = new Wire(model, {
      sections: (changed) => this.press.take(changed),
      reply: (reply) => this.onReply(reply),
      connected: (connected) => this.onConnection(connected),
    });
  }

  open(): void {
    this.measure();
    this.wire.open();
  }

  close(): void {
    this.wire.close();
    this.press.close();
    this.resize.disconnect();
    clearTimeout(this.statusTimer);
    clearTimeout(this.sizeTimer);
    for (const panel of this.panels.values()) panel.close();
  }

  // ---- requests of the panels (Host)

  command(name: string, args: Args = {}): void {
    this.wire.command(name, args);
  }

  look(what: Look): void {
    this.wire.look(what);
  }

  select(ref: string): void {
    if (ref === this.selection) return;
    this.applySelection(ref);
    this.selecting = this.wire.command("select", { id: ref });
  }

  enter(ref: string): void {
    this.select(ref);
    if (isNode(ref)) this.zoomMap(ref);
    else if (this.current() === "graph") this.graph.toggleKernels();
    else if (familyOf(ref) !== null) this.show("graph");
  }

  hover(ref: string | null): void {
    for (const panel of this.panels.values()) panel.hover(ref);
  }

  copy(text: string, what: string): void {
    const done = (ok: boolean) =>
      this.announce(ok ? `copied ${what}` : `could not copy ${what}; select and copy it by hand`);
    if (!navigator.clipboard) {
      done(copyByCommand(text));
      return;
    }
    navigator.clipboard.writeText(text).then(
      () => done(true),
      () => done(copyByCommand(text)),
    );
  }

  maximise(panel: PanelName): void {
    this.maximised = this.maximised === panel ? null : panel;
    this.show(panel);
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
    give("commands", (data) => this.bar.describe(data));
    give("transport", (data) => {
      this.bar.update(data);
      mark(this.element, "data-state", data.state);
      mark(this.element, "data-past", data.cursor > 0);
      this.pastNotice = data.past_notice || null;
      this.showBanner(this.error);
      this.announce(data.status);
    });
    for (const [name, panel] of this.panels) give(name, (data) => panel.update(data as never));
    give("script", (data) => this.ledger.showScript(data));
    give("error", (data) => {
      this.error = data;
      this.showBanner(data);
    });
    give("view", (data) => {
      if (this.selecting === null) this.applySelection(data.selection);
    });
    if (this.search.value) this.find();
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

  private onConnection(connected: boolean): void {
    mark(this.element, "data-connected", connected ? "yes" : "no");
    this.showBanner(
      connected
        ? this.error
        : "The kernel does not answer. It is busy with a cell, or it has ended. The panels show the last state it sent.",
    );
  }

  private showBanner(text: string | null): void {
    const shown = text ?? this.pastNotice;
    this.banner.hidden = !shown;
    this.banner.textContent = shown ?? "";
  }

  private applySelection(ref: string): void {
    this.selection = ref;
    const refs = ref ? [ref, ...ancestors(ref)] : [];
    for (const panel of this.panels.values()) panel.select(ref ? [ref] : []);
    // The table of families marks f1 for f1.c2 too.
    if (refs.length > 1) this.panels.get("families")?.select(refs);
  }

  /** Set the status line, at most once a second; the last text always appears. */
  private announce(text: string): void {
    this.nextStatus = text;
    if (this.statusTimer !== undefined) return;
    this.status.textContent = text;
    this.statusTimer = setTimeout(() => {
      this.statusTimer = undefined;
      if (this.status.textContent !== this.nextStatus) this.announce(this.nextStatus);
    }, STATUS_MS);
  }

  // ---- layout

  private layOut(): void {
    const docked = DOCKED.map((name) => this.panelElement(name));
    this.dock.append(...docked);
    this.main.append(this.map.element, this.graph.element, this.inspector.element, this.dock);
  }

  private panelElement(name: PanelName): HTMLElement {
    const panel = this.panels.get(name);
    if (!panel) throw new Error(`no panel ${name}`);
    return panel.element;
  }

  private tabList(): HTMLElement {
    const list = h("div", { class: "pe-tabs", role: "tablist", "aria-label": "panels" });
    for (const [name, label, docked] of PANELS) {
      const panel = this.panelElement(name);
      panel.id = fresh("panel");
      const tab = h(
        "button",
        {
          type: "button",
          role: "tab",
          "aria-controls": panel.id,
          "data-tab-of": name,
          class: docked ? null : "pe-only-narrow",
        },
        label,
      );
      tab.addEventListener("click", () => this.show(name));
      this.tabs.set(name, tab);
      list.append(tab);
    }
    return list;
  }

  /** Show a panel. */
  private show(name: PanelName): void {
    if (DOCKED.includes(name)) this.docked = name;
    this.shown = name;
    if (this.maximised !== null) this.maximised = name;
    this.arrange();
  }

  /** Show one panel if the widget is narrow or a panel is maximised, else three panels and the dock. */
  private arrange(): void {
    const only = this.maximised ?? (this.narrow ? this.shown : null);
    for (const [name, panel] of this.panels) {
      const visible = only === null ? !DOCKED.includes(name) || name === this.docked : name === only;
      mark(panel.element, "hidden", !visible);
    }
    for (const [name, tab] of this.tabs) {
      mark(tab, "hidden", !this.narrow && !DOCKED.includes(name));
      mark(tab, "aria-selected", String(this.narrow ? name === only : name === this.docked));
    }
    const dockVisible = only === null || DOCKED.includes(only);
    mark(this.dock, "hidden", !dockVisible && !this.narrow);
    mark(this.dock, "data-only-tabs", !dockVisible);
    this.sendSizes();
    mark(this.element, "data-solo", only !== null);
    mark(this.element, "data-narrow", this.narrow);
  }

  private measure(): void {
    const width = this.element.clientWidth;
    if (width === 0) return;
    this.sendSizes();
    const narrow = width < NARROW_PX;
    if (narrow === this.narrow) return;
    this.narrow = narrow;
    this.arrange();
  }

  /** Zoom the map into a node; the same node again, or none, shows the full map. */
  private zoomMap(node: string): void {
    this.root = this.root === node ? "" : node;
    this.look({ root: this.root });
  }

  /** Send the sizes of the pictures to Python, once they no longer change. */
  private sendSizes(): void {
    clearTimeout(this.sizeTimer);
    this.sizeTimer = setTimeout(() => {
      const { map, dock } = this.sizes;
      const wide = this.map.picture.stage.element.clientWidth;
      const box = [this.eclasses, this.tuning].map((p) => p.stage.element).find((e) => e.clientWidth > 0);
      const now = {
        map: wide || map,
        dock: box?.clientWidth ?? dock,
        high: box?.clientHeight ?? this.sizes.high,
      };
      if (Math.abs(now.map - map) + Math.abs(now.dock - dock) + Math.abs(now.high - this.sizes.high) < 8)
        return;
      this.sizes = now;
      this.look({ map_px: now.map - 16, dock_px: now.dock - 16, dock_high_px: now.high - 16 });
    }, 150);
  }

  /** The panel with the focus, else the panel that was shown last. */
  private current(): PanelName {
    const inside = document.activeElement?.closest<HTMLElement>("[data-panel]")?.getAttribute("data-panel");
    return (inside as PanelName | null | undefined) ?? this.shown;
  }

  private find(): void {
    const text = this.search.value.trim().toLowerCase();
    const matches = (item: Item) =>
      [item.ref ?? "", item.tip ?? "", ...(item.texts ?? []).map((t) => t.text)]
        .join("\n")
        .toLowerCase()
        .includes(text);
    const pattern = text ? matches : null;
    const count = this.map.picture.stage.find(pattern) + this.graph.picture.stage.find(pattern);
    this.found.textContent = text ? `${count} found` : "";
  }

  // ---- keyboard

  private keyTable(): readonly Key[] {
    const steer = (command: "accept" | "reject") => () => {
      const id = familyOf(this.selection);
      if (id) this.command(command, { id });
      else this.announce(`select a family to ${command} it`);
    };
    const walk = (way: Direction) => () => {
      const stage = this.current() === "graph" ? this.graph.picture.stage : this.map.picture.stage;
      stage.walk(way);
    };
    return [
      { keys: ["."], shown: ".", help: "one step of the search", act: () => this.bar.step() },
      { keys: [" "], shown: "Space", help: "run, pause or resume", act: () => this.bar.toggleRun() },
      {
        keys: ["ArrowLeft"],
        shown: "← → ↑ ↓",
        help: "select the next item in that direction, in the map or the sGraph",
        act: walk("left"),
      },
      { keys: ["ArrowRight"], shown: "", help: "", act: walk("right") },
      { keys: ["ArrowUp"], shown: "", help: "", act: walk("up") },
      { keys: ["ArrowDown"], shown: "", help: "", act: walk("down") },
      {
        keys: ["Enter"],
        shown: "Enter",
        help: "open the selection: show its graph, or expand its custom kernel",
        act: () => this.selection && this.enter(this.selection),
      },
      {
        keys: ["z"],
        shown: "z",
        help: "zoom the map into the selected node, and out again",
        act: () => this.zoomMap(isNode(this.selection) ? this.selection : this.root),
      },
      { keys: ["["], shown: "[ ]", help: "look back by one event, or forward", act: () => this.bar.move(-1) },
      { keys: ["]"], shown: "", help: "", act: () => this.bar.move(1) },
      { keys: ["w"], shown: "w", help: "read the inspector", act: () => this.showInspector() },
      { keys: ["a"], shown: "a", help: "accept the selected family", act: steer("accept") },
      { keys: ["x"], shown: "x", help: "reject the selected family; can be undone", act: steer("reject") },
      {
        keys: ["u", "Ctrl+z"],
        shown: "u, Ctrl+Z",
        help: "undo the last steering step",
        act: () => this.command("undo"),
      },
      {
        keys: ["U", "Ctrl+Z"],
        shown: "Shift+U",
        help: "redo the last steering step",
        act: () => this.command("redo"),
      },
      { keys: ["/"], shown: "/", help: "find in the pictures", act: () => this.search.focus() },
      {
        keys: ["m"],
        shown: "m",
        help: "maximise the panel, or restore it",
        act: () => this.maximise(this.current()),
      },
      {
        keys: ["0"],
        shown: "0",
        help: "fit the picture into its panel",
        act: () => this.stageOf(this.current())?.fit(),
      },
      { keys: ["t"], shown: "t", help: "show the picture as a table", act: () => this.toggleTable() },
      {
        keys: ["1", "2", "3", "4", "5", "6"],
        shown: "1 … 6",
        help: "show a tab of the dock",
        act: () => undefined,
      },
      { keys: ["?"], shown: "?", help: "show this help", act: () => this.toggleHelp() },
      {
        keys: ["Escape"],
        shown: "Esc",
        help: "close, clear, then leave the widget",
        act: () => this.leave(),
      },
    ];
  }

  private onKey(event: KeyboardEvent): void {
    if (event.altKey || event.defaultPrevented) return;
    const name = nameOf(event);
    if (isTyping(event.target)) {
      if (name === "Escape") {
        this.search.value = "";
        this.find();
        this.element.focus();
        event.stopPropagation();
      }
      return;
    }
    if ((name === " " || name === "Enter") && isPressable(event.target)) return;
    if (isCharacter(name) && !this.letters && name !== "?") return;
    const row = this.keys.find((key) => key.keys.includes(name));
    if (!row) return;
    event.preventDefault();
    event.stopPropagation();
    const tab = "123456".indexOf(name);
    const docked = DOCKED[tab];
    if (tab >= 0 && docked) this.show(docked);
    else row.act();
  }

  private showInspector(): void {
    this.show("inspector");
    this.inspector.focus();
  }

  private stageOf(name: PanelName) {
    if (name === "graph") return this.graph.picture.stage;
    if (name === "eclasses") return this.eclasses.stage;
    if (name === "tuning") return this.tuning.stage;
    return name === "map" ? this.map.picture.stage : null;
  }

  private toggleTable(): void {
    if (this.current() === "graph") this.graph.picture.toggleTable();
    else this.map.picture.toggleTable();
  }

  private leave(): void {
    if (this.help.open) this.toggleHelp();
    else if (this.maximised !== null) this.maximise(this.maximised);
    else if (this.search.value) {
      this.search.value = "";
      this.find();
    } else if (this.selection) this.select("");
    else (document.activeElement as HTMLElement | null)?.blur();
  }

  private helpButton(): HTMLButtonElement {
    const button = h(
      "button",
      { type: "button", class: "pe-tool", title: "keys (?)", "aria-label": "keys" },
      icon("help"),
    );
    button.addEventListener("click", () => this.toggleHelp());
    return button;
  }

  private helpDialog(): HTMLDialogElement {
    const list = h("dl", { class: "pe-facts" });
    for (const key of this.keys) {
      if (key.shown) add(list, h("dt", {}, h("kbd", {}, key.shown)), h("dd", {}, key.help));
    }
    const letters = h("input", { type: "checkbox", checked: true });
    letters.addEventListener("change", () => {
      this.letters = letters.checked;
    });
    const close = h("button", { type: "button", class: "pe-button" }, "Close");
    close.addEventListener("click", () => this.toggleHelp());
    const dialog = h("dialog", { class: "pe-help", "aria-label": "keys" });
    refill(
      dialog,
      h("h3", {}, "Keys, while the explorer has the focus"),
      list,
      h("label", {}, letters, " keys without Ctrl are active"),
      h(
        "p",
        { class: "pe-muted" },
        "Ctrl + wheel zooms a picture, dragging moves it, a double click fits it into its panel.",
      ),
      close,
    );
    return dialog;
  }

  private toggleHelp(): void {
    if (this.help.open) {
      this.help.close();
      this.element.focus({ preventScroll: true });
    } else this.help.show();
  }
}

/** Copy on pages that are not served by HTTPS, where browsers offer no clipboard. */
function copyByCommand(text: string): boolean {
  const area = h("textarea", { style: "position:fixed;opacity:0" });
  area.value = text;
  document.body.append(area);
  area.select();
  const ok = document.execCommand("copy");
  area.remove();
  return ok;
}
