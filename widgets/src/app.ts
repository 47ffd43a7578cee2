// The widget as a whole: layout, selection, keyboard; panels and wire do the rest.

import styles from "./explorer.css";
import { add, fresh, h, mark, refill } from "./lib/dom.ts";
import type { Direction } from "./lib/draw.ts";
import { icon } from "./lib/glyph.ts";
import { isCharacter, isPressable, isTyping, type Key, nameOf } from "./lib/keys.ts";
import { Press } from "./lib/press.ts";
import { CodePanel, EClassesPanel, FamiliesPanel, LedgerPanel, TuningPanel } from "./panels/dock.ts";
import { InspectorPanel } from "./panels/inspector.ts";
import type { Host, Panel, PanelName } from "./panels/panel.ts";
import { GraphPanel, MapPanel } from "./panels/picture.ts";
import { QuestionsPanel } from "./panels/questions.ts";
import { TransportBar } from "./panels/transport.ts";
import { type Item, SCENE_CSS } from "./scene.ts";
import type { Sections } from "./sections.ts";
import { type Args, type Look, type Model, type Reply, Wire } from "./wire.ts";

/** Below this width panels are tabs, one at a time. */
const NARROW_PX = 900;
/** How often the status line may speak. */
const SPEAK_MS = 1000;

const TABS: readonly (readonly [PanelName, string])[] = [
  ["map", "Search map"],
  ["graph", "sGraph"],
  ["inspector", "Inspector"],
  ["families", "Families"],
  ["eclasses", "E-classes"],
  ["tuning", "Tuning"],
  ["ledger", "Ledger"],
  ["questions", "Questions"],
  ["code", "Code"],
];
const DOCKED: ReadonlySet<PanelName> = new Set([
  "families",
  "eclasses",
  "tuning",
  "ledger",
  "questions",
  "code",
]);

export class App implements Host {
  readonly element: HTMLElement;
  private readonly wire: Wire;
  private readonly bar: TransportBar;
  private readonly map: MapPanel;
  private readonly graph: GraphPanel;
  private readonly inspector: InspectorPanel;
  private readonly families: FamiliesPanel;
  private readonly eclasses: EClassesPanel;
  private readonly tuning: TuningPanel;
  private readonly ledger: LedgerPanel;
  private readonly questions: QuestionsPanel;
  private readonly code: CodePanel;
  private readonly panels: ReadonlyMap<PanelName, Panel<never>>;
  private readonly tabs = new Map<PanelName, HTMLButtonElement>();
  private readonly main = h("div", { class: "pe-main" });
  private readonly dock = h("div", { class: "pe-dock" });
  private readonly banner = h("p", { class: "pe-banner", role: "alert", hidden: true });
  private readonly status = h("span", { class: "pe-status", role: "status", "aria-live": "polite" });
  private readonly said = h("button", {
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
  /** The panel that was asked for last, the tab of the dock, and the panel that has all the room. */
  private shown: PanelName = "map";
  private docked: PanelName = "families";
  private most: PanelName | null = null;
  private narrow = false;
  private letters = true;
  private selection = "";
  /** The click whose selection Python has not confirmed yet. */
  private choosing: string | null = null;
  private trouble: string | null = null;
  /** Which moment of the past is shown. */
  private past: string | null = null;
  /** The node that the map is zoomed into. */
  private root = "";
  private sizes = { map: 0, dock: 0, high: 0 };
  private readonly press: Press;
  private sizer: ReturnType<typeof setTimeout> | undefined;
  private speaker: ReturnType<typeof setTimeout> | undefined;
  private toSay = "";

  constructor(model: Model) {
    this.bar = new TransportBar(this);
    this.map = new MapPanel(this);
    this.graph = new GraphPanel(this);
    this.inspector = new InspectorPanel(this);
    this.families = new FamiliesPanel(this);
    this.eclasses = new EClassesPanel(this);
    this.tuning = new TuningPanel(this);
    this.ledger = new LedgerPanel(this);
    this.questions = new QuestionsPanel(this);
    this.code = new CodePanel(this);
    const all: readonly Panel<never>[] = [
      this.map,
      this.graph,
      this.inspector,
      this.families,
      this.eclasses,
      this.tuning,
      this.ledger,
      this.questions,
      this.code,
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
      this.said,
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
        "aria-label": "Prism explorer; press ? for its keys",
      },
      h("style", {}, `${SCENE_CSS}\n${styles}`),
      this.bar.element,
      this.banner,
      this.main,
      foot,
      this.help,
    );
    this.said.addEventListener("click", () => this.copy(this.said.textContent ?? "", "the line"));
    this.search.addEventListener("input", () => this.find());
    this.element.addEventListener("keydown", (event) => this.pressed(event));
    this.resize = new ResizeObserver(() => this.measure());
    this.resize.observe(this.element);
    this.arrange();
    this.press = new Press(this.element, (changed) => this.receive(changed));
    this.wire = new Wire(model, {
      sections: (changed) => this.press.take(changed),
      reply: (reply) => this.answered(reply),
      connected: (yes) => this.connected(yes),
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
    clearTimeout(this.speaker);
    clearTimeout(this.sizer);
    for (const panel of this.panels.values()) panel.close();
  }

  // ---- what panels ask for

  command(name: string, args: Args = {}): void {
    this.wire.command(name, args);
  }

  look(what: Look): void {
    this.wire.look(what);
  }

  select(ref: string): void {
    if (ref === this.selection) return;
    this.applySelection(ref);
    this.choosing = this.wire.command("select", { id: ref });
  }

  enter(ref: string): void {
    this.select(ref);
    if (/^n\d+$/.test(ref)) this.zoomMap(ref);
    else if (this.current() === "graph") this.graph.toggleKernels();
    else if (/^f\d/.test(ref)) this.show("graph");
  }

  hover(ref: string | null): void {
    for (const panel of this.panels.values()) panel.hover(ref);
  }

  copy(text: string, what: string): void {
    const done = (ok: boolean) =>
      this.say(ok ? `copied ${what}` : `could not copy ${what}: select it instead`);
    if (!navigator.clipboard) {
      done(copyOldWay(text));
      return;
    }
    navigator.clipboard.writeText(text).then(
      () => done(true),
      () => done(copyOldWay(text)),
    );
  }

  maximise(panel: PanelName): void {
    this.most = this.most === panel ? null : panel;
    this.show(panel);
  }

  // ---- what Python says

  private receive(changed: ReadonlyMap<string, unknown>): void {
    const get = <K extends keyof Sections>(name: K): Sections[K] | undefined =>
      changed.has(name) ? (changed.get(name) as Sections[K]) : undefined;
    const give = <K extends keyof Sections>(name: K, take: (data: Sections[K]) => void): void => {
      const data = get(name);
      if (data === undefined) return;
      try {
        take(data);
      } catch (error) {
        // One panel that cannot be drawn must not take the others with it.
        console.error(`prism_explore: the panel ${name} could not be drawn`, error);
        this.say(`The panel ${name} could not be drawn: ${String(error)}`);
      }
    };
    give("commands", (data) => this.bar.describe(data));
    give("transport", (data) => {
      this.bar.update(data);
      mark(this.element, "data-state", data.state);
      mark(this.element, "data-past", data.cursor > 0);
      this.past = data.past || null;
      this.showBanner(this.trouble);
      this.say(data.status);
    });
    give("map", (data) => this.map.update(data));
    give("graph", (data) => this.graph.update(data));
    give("inspector", (data) => this.inspector.update(data));
    give("families", (data) => this.families.update(data));
    give("eclasses", (data) => this.eclasses.update(data));
    give("tuning", (data) => this.tuning.update(data));
    give("ledger", (data) => this.ledger.update(data));
    give("questions", (data) => this.questions.update(data));
    give("code", (data) => this.code.update(data));
    give("script", (data) => this.ledger.showScript(data));
    give("trouble", (data) => {
      this.trouble = data;
      this.showBanner(data);
    });
    const view = get("view");
    if (view && this.choosing === null) this.applySelection(view.selection);
    if (this.search.value) this.find();
  }

  private answered(reply: Reply): void {
    if (reply.event_id === this.choosing) this.choosing = null;
    if (!reply.ok) {
      this.say(reply.says ?? "that could not be done");
    } else if (reply.python) {
      this.said.textContent = reply.python;
      this.said.hidden = false;
    }
  }

  private connected(yes: boolean): void {
    mark(this.element, "data-connected", yes ? "yes" : "no");
    this.showBanner(
      yes
        ? this.trouble
        : "The kernel has not answered. It may be busy with a cell, or gone; what you see is the last picture it sent.",
    );
  }

  private showBanner(text: string | null): void {
    const shown = text ?? this.past;
    this.banner.hidden = !shown;
    this.banner.textContent = shown ?? "";
  }

  private applySelection(ref: string): void {
    this.selection = ref;
    const refs = ref ? [ref, ...ancestors(ref)] : [];
    // An exact match is marked where there is one; else what holds it: f1 for f1.c2.
    for (const panel of this.panels.values()) panel.select(ref ? [ref] : []);
    if (refs.length > 1) this.families.select(refs);
  }

  /** Speak at most once a second, and always the last thing. */
  private say(text: string): void {
    this.toSay = text;
    if (this.speaker !== undefined) return;
    this.status.textContent = text;
    this.speaker = setTimeout(() => {
      this.speaker = undefined;
      if (this.status.textContent !== this.toSay) this.say(this.toSay);
    }, SPEAK_MS);
  }

  // ---- layout

  private layOut(): void {
    const docked = TABS.filter(([name]) => DOCKED.has(name)).map(([name]) => this.panelElement(name));
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
    for (const [name, label] of TABS) {
      const panel = this.panelElement(name);
      panel.id = fresh("panel");
      const tab = h(
        "button",
        {
          type: "button",
          role: "tab",
          "aria-controls": panel.id,
          "data-tab-of": name,
          class: DOCKED.has(name) ? null : "pe-only-narrow",
        },
        label,
      );
      tab.addEventListener("click", () => this.show(name));
      this.tabs.set(name, tab);
      list.append(tab);
    }
    return list;
  }

  /** Bring a panel into view. */
  private show(name: PanelName): void {
    if (DOCKED.has(name)) this.docked = name;
    this.shown = name;
    if (this.most !== null) this.most = name;
    this.arrange();
  }

  /** Which panels are seen: one where there is little room or one was maximised, else three and the dock. */
  private arrange(): void {
    const only = this.most ?? (this.narrow ? this.shown : null);
    for (const [name, panel] of this.panels) {
      const seen = only === null ? !DOCKED.has(name) || name === this.docked : name === only;
      mark(panel.element, "hidden", !seen);
    }
    for (const [name, tab] of this.tabs) {
      mark(tab, "hidden", !this.narrow && !DOCKED.has(name));
      mark(tab, "aria-selected", String(this.narrow ? name === only : name === this.docked));
    }
    const dockSeen = only === null || DOCKED.has(only);
    mark(this.dock, "hidden", !dockSeen && !this.narrow);
    mark(this.dock, "data-only-tabs", !dockSeen);
    this.tellSizes();
    mark(this.element, "data-solo", only !== null);
    mark(this.element, "data-narrow", this.narrow);
  }

  private measure(): void {
    const width = this.element.clientWidth;
    if (width === 0) return;
    this.tellSizes();
    const narrow = width < NARROW_PX;
    if (narrow === this.narrow) return;
    this.narrow = narrow;
    this.arrange();
  }

  /** Make a node as wide as the map; the same node again, or none, shows the whole search. */
  private zoomMap(node: string): void {
    this.root = this.root === node ? "" : node;
    this.look({ root: this.root });
  }

  /** Tell Python how wide pictures may be, once the size has settled. */
  private tellSizes(): void {
    clearTimeout(this.sizer);
    this.sizer = setTimeout(() => {
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

  /** The panel that has the focus, else the one that was shown last. */
  private current(): PanelName {
    const inside = document.activeElement?.closest<HTMLElement>("[data-panel]")?.getAttribute("data-panel");
    return (inside as PanelName | null | undefined) ?? this.shown;
  }

  private find(): void {
    const words = this.search.value.trim().toLowerCase();
    const matches = (item: Item) =>
      [item.ref ?? "", item.tip ?? "", ...(item.texts ?? []).map((t) => t.text)]
        .join("\n")
        .toLowerCase()
        .includes(words);
    const pattern = words ? matches : null;
    const count = this.map.picture.stage.find(pattern) + this.graph.picture.stage.find(pattern);
    this.found.textContent = words ? `${count} found` : "";
  }

  // ---- keyboard

  private keyTable(): readonly Key[] {
    const steer = (command: "accept" | "reject") => () => {
      const id = /^f\d+/.exec(this.selection)?.[0];
      if (id) this.command(command, { id });
      else this.say(`select a family to ${command} it`);
    };
    const walk = (way: Direction) => () => {
      const stage = this.current() === "graph" ? this.graph.picture.stage : this.map.picture.stage;
      stage.walk(way);
    };
    return [
      { keys: ["."], shown: ".", says: "one step", act: () => this.bar.step() },
      { keys: [" "], shown: "Space", says: "run, pause or resume", act: () => this.bar.toggleRun() },
      {
        keys: ["ArrowLeft"],
        shown: "← → ↑ ↓",
        says: "the next item that way, in the map or the sGraph",
        act: walk("left"),
      },
      { keys: ["ArrowRight"], shown: "", says: "", act: walk("right") },
      { keys: ["ArrowUp"], shown: "", says: "", act: walk("up") },
      { keys: ["ArrowDown"], shown: "", says: "", act: walk("down") },
      {
        keys: ["Enter"],
        shown: "Enter",
        says: "open the selection: its graph, its custom kernel",
        act: () => this.selection && this.enter(this.selection),
      },
      {
        keys: ["z"],
        shown: "z",
        says: "zoom the map into the selected node, or out again",
        act: () => this.zoomMap(/^n\d+$/.test(this.selection) ? this.selection : this.root),
      },
      { keys: ["["], shown: "[ ]", says: "one fact back in time, or on", act: () => this.bar.move(-1) },
      { keys: ["]"], shown: "", says: "", act: () => this.bar.move(1) },
      { keys: ["w"], shown: "w", says: "why: read the inspector", act: () => this.why() },
      { keys: ["a"], shown: "a", says: "accept the selected family", act: steer("accept") },
      { keys: ["x"], shown: "x", says: "reject the selected family; can be undone", act: steer("reject") },
      {
        keys: ["u", "Ctrl+z"],
        shown: "u, Ctrl+Z",
        says: "undo the last steering step",
        act: () => this.command("undo"),
      },
      { keys: ["U", "Ctrl+Z"], shown: "Shift+U", says: "redo", act: () => this.command("redo") },
      { keys: ["/"], shown: "/", says: "find in the pictures", act: () => this.search.focus() },
      {
        keys: ["m"],
        shown: "m",
        says: "maximise the panel, or put it back",
        act: () => this.maximise(this.current()),
      },
      { keys: ["0"], shown: "0", says: "fit the picture", act: () => this.stageOf(this.current())?.fit() },
      { keys: ["t"], shown: "t", says: "the picture as a table", act: () => this.toggleTable() },
      { keys: ["1", "2", "3", "4", "5", "6"], shown: "1 … 6", says: "the tabs below", act: () => undefined },
      { keys: ["?"], shown: "?", says: "this help", act: () => this.toggleHelp() },
      { keys: ["Escape"], shown: "Esc", says: "clear, then leave the widget", act: () => this.leave() },
    ];
  }

  private pressed(event: KeyboardEvent): void {
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
    const docked = TABS.filter(([panel]) => DOCKED.has(panel))[tab];
    if (tab >= 0 && docked) this.show(docked[0]);
    else row.act();
  }

  private why(): void {
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
    else if (this.most !== null) this.maximise(this.most);
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
      if (key.shown) add(list, h("dt", {}, h("kbd", {}, key.shown)), h("dd", {}, key.says));
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
      h("h3", {}, "Keys, while the focus is in here"),
      list,
      h("label", {}, letters, " single letters and signs act"),
      h(
        "p",
        { class: "pe-muted" },
        "Ctrl + wheel zooms a picture, dragging moves it, a double click fits it.",
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

/** What holds an id: f1 for f1.c2, f1.c2 and f1 for f1.c2/k3. */
function ancestors(ref: string): string[] {
  const [candidate = "", inside] = ref.split("/");
  const [family = ""] = candidate.split(".");
  return [...(inside ? [candidate] : []), ...(candidate.includes(".") ? [family] : [])];
}

/** For pages that are not served safely, where there is no clipboard. */
function copyOldWay(text: string): boolean {
  const area = h("textarea", { style: "position:fixed;opacity:0" });
  area.value = text;
  document.body.append(area);
  area.select();
  const ok = document.execCommand("copy");
  area.remove();
  return ok;
}
