// The Code panel: one tab per text of the subject. A line selects its operator; a selection marks its lines.

import { h, mark, refill, rewrite } from "../lib/dom.ts";
import type { Code, CodeLine, CodeTab } from "../sections.ts";
import { Frame, type Host, type Panel, tool } from "./panel.ts";

export class CodePanel implements Panel<Code> {
  readonly name = "code";
  readonly element: HTMLElement;
  private readonly frame: Frame;
  private readonly tabs = h("div", { class: "pe-chips", role: "group", "aria-label": "texts" });
  private readonly other = h("select", { class: "pe-select", "aria-label": "compare with" });
  private readonly compare = h("label", { class: "pe-against" }, "compare with ", this.other);
  private readonly caption = h("p", { class: "pe-muted" });
  private readonly list = h("div", {
    class: "pe-code pe-listing",
    role: "listbox",
    tabindex: 0,
    "aria-label": "code; arrow keys move, Enter selects the operator of a line",
  });
  private data: Code | null = null;
  /** The tab that the user chose last; Python follows, a report cannot. */
  private chosen = "";
  private drawn = "";
  private rows: readonly HTMLElement[] = [];
  private lines: readonly CodeLine[] = [];
  private selected = "";
  /** The line that the arrow keys move. */
  private active = 0;

  constructor(private readonly host: Host) {
    this.frame = new Frame("code", "Code", host, [tool("copy", "copy this text", () => this.copy())]);
    const bar = h("div", { class: "pe-codebar" }, this.tabs, this.compare);
    this.frame.body.append(bar, this.caption, this.list);
    this.element = this.frame.element;
    this.other.addEventListener("change", () => host.look({ code: { other: this.other.value } }));
    this.list.addEventListener("click", (event) => {
      const row = (event.target as Element).closest<HTMLElement>("[data-line]");
      // A drag over the text selects the text.
      if (row && !(document.getSelection()?.toString() ?? ""))
        this.choose(Number(row.getAttribute("data-line")));
    });
    this.list.addEventListener("keydown", (event) => this.onKey(event));
    this.list.addEventListener("focus", () => this.activate(this.active));
  }

  update(data: Code): void {
    if (this.data?.tab !== data.tab || !data.tabs.some((t) => t.name === this.chosen)) this.chosen = data.tab;
    this.data = data;
    this.frame.caption.textContent = [data.title, data.caption].filter(Boolean).join(" · ");
    this.drawTabs(data);
    this.compare.hidden = data.others.length === 0;
    if (document.activeElement !== this.other) {
      const options = data.others.map(({ ref, label }) => h("option", { value: ref }, label));
      const known = data.others.some(({ ref }) => ref === data.other);
      if (data.other && !known) options.unshift(h("option", { value: data.other }, data.other));
      refill(this.other, h("option", { value: "" }, "nothing"), ...options);
      this.other.value = data.other;
    }
    this.draw();
  }

  select(refs: readonly string[]): void {
    const before = this.selected;
    this.selected = refs[0] ?? "";
    this.markLines(this.selected !== before);
  }

  hover(refs: readonly string[]): void {
    this.rows.forEach((row, n) => {
      mark(
        row,
        "data-hovered",
        refs.some((ref) => hasRef(this.lines[n], ref)),
      );
    });
  }

  close(): void {}

  private tab(): CodeTab | null {
    return this.data?.tabs.find((t) => t.name === this.chosen) ?? this.data?.tabs[0] ?? null;
  }

  private copy(): void {
    const tab = this.tab();
    const sign = ({ mark: found = "" }: CodeLine) => (this.data?.other ? found || " " : "");
    const text = (tab?.lines ?? []).map((line) => sign(line) + line.text).join("\n");
    this.host.copy(text, `${tab?.label ?? "the text"} of ${this.data?.title ?? ""}`);
  }

  private drawTabs(data: Code): void {
    const chips = data.tabs.map((tab) => {
      const pressed = tab.name === this.chosen ? "true" : "false";
      const chip = h(
        "button",
        { type: "button", class: "pe-chip", title: tab.tip, "aria-pressed": pressed, "data-code": tab.name },
        tab.label,
      );
      chip.addEventListener("click", () => {
        this.chosen = tab.name;
        for (const other of this.tabs.children)
          mark(other, "aria-pressed", String(other.getAttribute("data-code") === tab.name));
        this.draw();
        this.host.look({ code: { tab: tab.name } });
      });
      return chip;
    });
    const same = [...this.tabs.children].map((e) => e.getAttribute("data-code")).join();
    if (same !== data.tabs.map((t) => t.name).join()) refill(this.tabs, ...chips);
    for (const chip of this.tabs.children)
      mark(chip, "aria-pressed", String(chip.getAttribute("data-code") === this.chosen));
  }

  private draw(): void {
    const tab = this.tab();
    const waiting = tab !== null && tab.lines.length === 0 && tab.missing === "";
    const missing = tab?.missing || (waiting ? "being generated" : "");
    rewrite(this.caption, missing ? `${tab?.label}: ${missing}.` : (tab?.caption ?? ""));
    const key = JSON.stringify([tab?.name, tab?.lines]);
    if (key === this.drawn) return;
    const scrolled = this.drawn.startsWith(JSON.stringify([tab?.name]).slice(0, -1))
      ? this.list.scrollTop
      : 0;
    this.drawn = key;
    this.lines = tab?.lines ?? [];
    this.rows = this.lines.map((line, n) => row(line, n));
    mark(this.list, "data-diff", Boolean(this.data?.other));
    refill(this.list, ...this.rows);
    this.list.hidden = this.lines.length === 0;
    this.active = Math.min(this.active, Math.max(0, this.lines.length - 1));
    this.list.scrollTop = scrolled;
    this.markLines(true);
  }

  /** Mark the lines of the selection, and show the first one. */
  private markLines(scroll: boolean): void {
    let first: HTMLElement | null = null;
    this.rows.forEach((element, n) => {
      const hit = this.selected !== "" && hasRef(this.lines[n], this.selected);
      mark(element, "aria-selected", String(hit));
      if (hit) first ??= element;
    });
    if (scroll && first) this.reveal(first);
  }

  private reveal(element: HTMLElement): void {
    const { scrollTop, clientHeight } = this.list;
    const top = element.offsetTop - this.list.offsetTop;
    if (top < scrollTop || top + element.offsetHeight > scrollTop + clientHeight)
      this.list.scrollTop = Math.max(0, top - clientHeight / 3);
  }

  private choose(n: number): void {
    this.activate(n);
    const [ref] = (this.lines[n]?.refs ?? "").split(" ");
    if (ref) this.host.select(ref);
  }

  private activate(n: number): void {
    this.active = Math.max(0, Math.min(this.rows.length - 1, n));
    this.rows.forEach((element, at) => {
      mark(element, "data-active", at === this.active);
    });
    const element = this.rows[this.active];
    if (!element) return;
    mark(this.list, "aria-activedescendant", element.id);
    this.reveal(element);
  }

  private onKey(event: KeyboardEvent): void {
    const page = 20;
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page }[event.key];
    if (step !== undefined) this.activate(this.active + step);
    else if (event.key === "Home") this.activate(0);
    else if (event.key === "End") this.activate(this.rows.length - 1);
    else if (event.key === "Enter") this.choose(this.active);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

let last = 0;

/** A line; its number and the sign of a difference are drawn by the style sheet, so they are not copied. */
function row(line: CodeLine, n: number): HTMLElement {
  last += 1;
  return h(
    "div",
    {
      id: `prism-line-${last}`,
      class: "pe-line",
      role: "option",
      "aria-selected": "false",
      "data-line": n,
      "data-linked": Boolean(line.refs),
      "data-mark": line.mark || null,
      title: line.refs || null,
    },
    line.text || " ",
  );
}

function hasRef(line: CodeLine | undefined, ref: string): boolean {
  return (line?.refs ?? "").split(" ").includes(ref);
}
