// The arrangement of the panels: three next to one another above the dock, or one at a time.

import { fresh, h, mark } from "./lib/dom.ts";
import { SizeReports } from "./lib/sizes.ts";
import type { PanelName } from "./panels/panel.ts";
import { DOCKED, PANELS, type Panels } from "./registry.ts";
import { Splitters } from "./splitters.ts";
import type { Look } from "./wire.ts";

/** Below this width the panels are tabs, and one is shown at a time. */
const NARROW_PX = 900;
const MARGIN_PX = 16;

export class Layout {
  readonly main = h("div", { class: "pe-main" });
  private readonly dock = h("div", { class: "pe-dock" });
  private readonly splitters = new Splitters(this.main, () => this.measure());
  private readonly scrollers: readonly HTMLButtonElement[];
  private readonly tabs = new Map<PanelName, HTMLButtonElement>();
  /** The panel that was shown last, the selected tab of the dock, and the maximised panel. */
  private shown: PanelName = "map";
  private docked: PanelName = "families";
  private maximised: PanelName | null = null;
  private narrow = false;
  private root: HTMLElement | null = null;
  /** The hidden panels that Python was told. */
  private hidden = "";
  private readonly sizes = new SizeReports(
    () => this.root,
    (last) => this.pictureSizes(last),
    ([map = 0, dock = 0, high = 0]) =>
      this.look({ map_px: map - MARGIN_PX, dock_px: dock - MARGIN_PX, dock_high_px: high - MARGIN_PX }),
  );
  private readonly resize = new ResizeObserver(() => this.measure());

  constructor(
    private readonly panels: Panels,
    private readonly look: (what: Look) => void,
  ) {
    const list = this.tabList();
    const [left, right] = [this.scroller(list, -1), this.scroller(list, 1)];
    this.scrollers = [left, right];
    this.dock.append(
      h("div", { class: "pe-tabbar" }, left, list, right),
      ...DOCKED.map((name) => this.element(name)),
    );
    const { map, inspector, dock } = this.splitters.elements;
    this.main.append(
      ...[this.element("map"), map, this.element("graph"), inspector, this.element("inspector"), dock],
      this.dock,
    );
    this.resize.observe(list);
    list.addEventListener("scroll", () => this.markScrollers(list), { passive: true });
  }

  /** The separator at the lower edge of the widget. */
  get lowerEdge(): HTMLElement {
    return this.splitters.elements.height;
  }

  /** Follow the size of the widget. */
  follow(root: HTMLElement): void {
    this.root = root;
    this.splitters.follow(root);
    this.resize.observe(root);
    this.arrange();
  }

  close(): void {
    this.resize.disconnect();
    this.sizes.close();
  }

  /** Show a panel. */
  show(name: PanelName): void {
    if (DOCKED.includes(name)) this.docked = name;
    this.shown = name;
    if (this.maximised !== null) this.maximised = name;
    this.arrange();
    this.sendHidden();
  }

  /** Maximise a panel, or restore it. */
  maximise(name: PanelName): void {
    this.maximised = this.maximised === name ? null : name;
    this.show(name);
  }

  /** Restore the maximised panel; false if there is none. */
  restore(): boolean {
    if (this.maximised === null) return false;
    this.maximise(this.maximised);
    return true;
  }

  /** The panel with the focus, else the panel that was shown last. */
  current(): PanelName {
    const focused = document.activeElement;
    for (const [name, panel] of this.panels) if (panel.element.contains(focused)) return name;
    return this.shown;
  }

  measure(): void {
    const width = this.root?.clientWidth ?? 0;
    if (width === 0) return;
    this.sizes.measureAgain();
    const list = this.dock.querySelector<HTMLElement>(".pe-tabs");
    if (list) this.markScrollers(list);
    const narrow = width < NARROW_PX;
    if (narrow === this.narrow) return;
    this.narrow = narrow;
    this.arrange();
  }

  private element(name: PanelName): HTMLElement {
    const panel = this.panels.get(name);
    if (!panel) throw new Error(`no panel ${name}`);
    return panel.element;
  }

  private tabList(): HTMLElement {
    const list = h("div", { class: "pe-tabs", role: "tablist", "aria-label": "panels" });
    for (const { name, label, docked } of PANELS) {
      const panel = this.element(name);
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
      tab.addEventListener("click", () => {
        this.show(name);
        this.look({ tab: name });
      });
      this.tabs.set(name, tab);
      list.append(tab);
    }
    list.addEventListener("keydown", (event) => this.walkTabs(event));
    return list;
  }

  /** A button that scrolls the tabs; it is only there if tabs are hidden on its side. */
  private scroller(list: HTMLElement, way: -1 | 1): HTMLButtonElement {
    const label = way < 0 ? "earlier tabs" : "later tabs";
    const button = h(
      "button",
      {
        type: "button",
        class: "pe-tool pe-scroller",
        title: label,
        "aria-label": label,
        tabindex: -1,
        hidden: true,
      },
      way < 0 ? "‹" : "›",
    );
    button.addEventListener("click", () => list.scrollBy({ left: 0.8 * way * list.clientWidth }));
    return button;
  }

  private markScrollers(list: HTMLElement): void {
    const left = list.scrollLeft;
    const hidden = [left <= 1, left + list.clientWidth >= list.scrollWidth - 1];
    this.scrollers.forEach((button, n) => {
      mark(button, "hidden", hidden[n] ?? true);
    });
  }

  /** The arrow keys move from tab to tab, as in every tab list. */
  private walkTabs(event: KeyboardEvent): void {
    const names = PANELS.map((row) => row.name).filter((name) => !this.tabs.get(name)?.hidden);
    const now = names.findIndex((name) => this.tabs.get(name) === event.target);
    const last = names.length - 1;
    const to = new Map([
      ["ArrowLeft", now > 0 ? now - 1 : last],
      ["ArrowRight", now < last ? now + 1 : 0],
      ["Home", 0],
      ["End", last],
    ]).get(event.key);
    const name = to === undefined ? undefined : names[to];
    if (!name) return;
    event.preventDefault();
    event.stopPropagation();
    this.show(name);
    this.tabs.get(name)?.focus();
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
      const chosen = this.narrow ? name === only : name === this.docked;
      mark(tab, "aria-selected", String(chosen));
      mark(tab, "tabindex", chosen ? "0" : "-1");
      if (chosen) reveal(tab);
    }
    const { map, inspector, dock } = this.splitters.elements;
    for (const splitter of [map, inspector, dock]) mark(splitter, "hidden", only !== null);
    const dockVisible = only === null || DOCKED.includes(only);
    mark(this.dock, "hidden", !dockVisible && !this.narrow);
    mark(this.dock, "data-only-tabs", !dockVisible);
    this.sizes.measureAgain();
    if (!this.root) return;
    mark(this.root, "data-solo", only !== null);
    mark(this.root, "data-narrow", this.narrow);
  }

  /** Tell Python which panels are hidden; it updates them when it has nothing else to do. */
  private sendHidden(): void {
    const hidden = [...this.panels].filter(([, panel]) => panel.element.hidden).map(([name]) => name);
    const text = hidden.join();
    if (!this.root || text === this.hidden) return;
    this.hidden = text;
    this.look({ hidden });
  }

  /** The width of the map, and the size of a picture of the dock; those that are hidden keep their last size. */
  private pictureSizes([map = 0, dock = 0, high = 0]: readonly number[]): readonly number[] {
    this.sendHidden();
    const docked = DOCKED.map((name) => this.panels.get(name)?.stage?.element);
    const box = docked.find((element) => element !== undefined && element.clientWidth > 0);
    const width = this.panels.get("map")?.stage?.element.clientWidth || map;
    return [width, box?.clientWidth ?? dock, box?.clientHeight ?? high];
  }
}

/** Scroll the tabs so that one is visible; nothing else on the page moves. */
function reveal(tab: HTMLElement): void {
  const list = tab.parentElement;
  if (!list) return;
  if (tab.offsetLeft < list.scrollLeft) list.scrollLeft = tab.offsetLeft;
  const beyond = tab.offsetLeft + tab.offsetWidth - list.scrollLeft - list.clientWidth;
  if (beyond > 0) list.scrollLeft += beyond;
}
