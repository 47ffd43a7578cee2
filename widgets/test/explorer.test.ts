// @vitest-environment happy-dom
import { describe, expect, it, vi } from "vitest";
import { PANELS } from "../src/registry.ts";
import type { Card, Sections, StepRow } from "../src/sections.ts";
import { recorded, withTexts } from "./python.ts";
import { inPages, type Shown, show, takeAway } from "./show.ts";

const shown = (sections: Partial<Sections> = recorded(), wide = 1200): Shown => show(sections, { wide });

function press(root: Element, key: string, more: KeyboardEventInit = {}): KeyboardEvent {
  const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more });
  root.dispatchEvent(event);
  return event;
}

function click(element: Element | null | undefined): void {
  if (!element) throw new Error("there is nothing to click");
  element.dispatchEvent(new MouseEvent("click", { bubbles: true }));
}

const panel = (root: Element, name: string) => root.querySelector<HTMLElement>(`[data-panel="${name}"]`);
const running = (): Sections => {
  const all = recorded();
  return { ...all, transport: { ...all.transport, state: "running", enabled: ["pause", "cancel"] } };
};
const paused = (): Sections => {
  const all = recorded();
  return {
    ...all,
    transport: { ...all.transport, state: "paused", enabled: ["step", "resume", "cancel", "undo"] },
  };
};

inPages();

describe("the explorer", () => {
  it("draws every panel from what Python sent", () => {
    const { root } = shown();

    expect(root.querySelectorAll(".pe-transport .pe-best strong")[0]?.textContent).toBe("320 µs");
    expect(panel(root, "map")?.querySelectorAll("[data-ref=p15]").length).toBeGreaterThan(0);
    expect(panel(root, "graph")?.querySelectorAll(".k-frame-loop")).toHaveLength(1);
    expect(panel(root, "inspector")?.textContent).toContain("mem.smem");
    expect(panel(root, "families")?.querySelectorAll("tbody tr")).toHaveLength(3);
    expect(panel(root, "eclasses")?.querySelectorAll(".k-eclass-shared").length).toBeGreaterThan(0);
    expect(panel(root, "tuning")?.querySelectorAll(".k-trial-best")).toHaveLength(1);
    expect(panel(root, "ledger")?.textContent).toContain("Nothing was excluded but by sound rules");
  });

  it("shows a reason whole: sentence, formula, numbers, soundness, what would reopen it", () => {
    const { root } = shown();
    const card = panel(root, "inspector")?.querySelector(".pe-card")?.textContent ?? "";

    expect(card).toContain("more shared memory than the target has, for every size");
    const formula = panel(root, "inspector")?.querySelector(".pe-card .pe-formula");
    expect(formula?.getAttribute("title")).toBe("4*(bm*bk + bk*bn) <= limit");
    expect(formula?.querySelector("math mo[stretchy], math mi")?.textContent).toBeTruthy();
    expect(formula?.querySelector("math")?.textContent).toContain("≤");
    expect(card).toContain("4*(128*256 + 256*128) <= 232448");
    expect(card).toContain("sound");
    expect(card).toContain("Would reopen if the target had at least 262144 bytes");
  });

  it("keeps hostile texts as text in every panel", () => {
    const hostile = withTexts(recorded(), (text) =>
      /^[\w.:#/%+>-]*$/.test(text) ? text : `${text}<img src=x onerror="hurt()"><script>hurt()</script>`,
    );
    const { root } = shown(hostile);

    expect(root.querySelectorAll("img, script")).toHaveLength(0);
    expect(root.textContent).toContain("<img src=x");
  });

  it("draws the other panels when one cannot be drawn", () => {
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    const { root } = shown({ ...recorded(), map: { scene: null } as unknown as Sections["map"] });

    expect(panel(root, "families")?.querySelectorAll("tbody tr")).toHaveLength(3);
    expect(console.error).toHaveBeenCalledTimes(1);
  });

  it("says what went wrong in Python", () => {
    const { root } = shown({ ...recorded(), error: "The panels could not be updated" });

    expect(root.querySelector(".pe-banner")?.textContent).toContain("could not be updated");
    expect((root.querySelector(".pe-banner") as HTMLElement).hidden).toBe(false);
  });

  it("leaves nothing behind", () => {
    shown();
    takeAway();

    expect(document.querySelector(".prism-explore")).toBeNull();
  });
});

describe("selection", () => {
  it("is a command, and shows in every panel at once", () => {
    const { python, root } = shown();
    click(panel(root, "map")?.querySelector("[data-ref=f1]"));

    expect(python.commands).toEqual([["select", { id: "f1" }]]);
    expect(panel(root, "map")?.querySelector(".selected")?.getAttribute("data-ref")).toBe("f1");
    expect(panel(root, "families")?.querySelector("tr[aria-selected=true]")?.getAttribute("data-ref")).toBe(
      "f1",
    );
  });

  it("follows Python, but not while a click is on its way", () => {
    const { python, root } = shown();
    const chosen = () => panel(root, "map")?.querySelector(".selected")?.getAttribute("data-ref");
    click(panel(root, "map")?.querySelector("[data-ref=f1]"));
    python.tell({ view: { selection: "p3" } });
    expect(chosen()).toBe("f1");

    const event_id = String(python.of("command")[0]?.event_id);
    python.tell({ view: { selection: "f2" } }, [{ event_id, ok: true, python: "sess.select('f1')" }]);
    expect(chosen()).toBe("f2");
  });

  it("is the same click again only when it is another thing", () => {
    const { python, root } = shown();
    click(panel(root, "map")?.querySelector("[data-ref=p3]"));
    click(panel(root, "map")?.querySelector("[data-ref=p3]"));

    expect(python.commands).toHaveLength(1);
  });
});

describe("questions", () => {
  const ask = (root: HTMLElement): void => {
    const form = panel(root, "questions")?.querySelector("form");
    form?.dispatchEvent(new Event("submit", { bubbles: true, cancelable: true }));
  };
  const field = (root: HTMLElement, selector: string): HTMLInputElement =>
    panel(root, "questions")?.querySelector(selector) as HTMLInputElement;

  it("ask only for what differs from the search as it is", () => {
    const { python, root } = shown();
    field(root, "[name=block_ops]").value = "13";
    field(root, "[value='expr.unreachable']").checked = true;
    ask(root);

    expect(python.commands).toEqual([["what_if", { block_ops: 13, rules_off: ["expr.unreachable"] }]]);
  });

  it("are selected once they are in the table, so that the answer and its button to adopt it are seen", () => {
    const all = recorded();
    const { python, root } = shown();
    ask(root);
    const { table } = all.questions;
    const more = {
      ...table,
      rows: [...table.rows, { ref: "q7", cells: ["q7", "running", "sess.what_if()", ""] }],
    };
    python.tell({ questions: { ...all.questions, table: more } });

    expect(python.commands).toEqual([
      ["what_if", {}],
      ["select", { id: "q7" }],
    ]);
  });

  it("name another machine, and a search there, where they are chosen", () => {
    const { python, root } = shown();
    (field(root, "[name=target]") as unknown as HTMLSelectElement).value = "h100";
    field(root, "[name=run]").checked = true;
    ask(root);

    expect(python.commands).toEqual([["what_if", { target: "h100", run: true }]]);
  });

  it("are taken back while they are open", () => {
    const { python, root } = shown();
    const buttons = [...(panel(root, "questions")?.querySelectorAll("[data-command=withdraw]") ?? [])];
    expect(buttons).toHaveLength(1);
    click(buttons[0]);

    expect(python.commands).toEqual([["withdraw", { id: "q2" }]]);
  });

  it("keep what is half typed when something else changes", () => {
    const { python, root } = shown();
    field(root, "[name=nodes]").value = "77";
    python.tell({ questions: { ...recorded().questions, caption: "2 open" } });

    expect(field(root, "[name=nodes]").value).toBe("77");
  });

  it("have no form in a saved search", () => {
    const { root } = shown({ ...recorded(), questions: { ...recorded().questions, form: null } });

    expect(panel(root, "questions")?.querySelector("form")?.hidden).toBe(true);
  });
});

describe("time", () => {
  const slider = (root: HTMLElement) => root.querySelector(".pe-moment") as HTMLInputElement;
  const drag = (root: HTMLElement, to: number): void => {
    slider(root).value = String(to);
    slider(root).dispatchEvent(new Event("input"));
  };

  it("is looked back at with the slider, and the end of it is now", () => {
    const { python, root } = shown();
    const total = recorded().transport.events;
    expect(slider(root).value).toBe(String(total));
    drag(root, 7);
    drag(root, total);

    expect(python.of("look").map((l) => l.cursor)).toEqual([7, 0]);
  });

  it("says which moment is shown, and leads back to now", () => {
    const { python, root } = shown();
    const { transport } = recorded();
    python.tell({ transport: { ...transport, cursor: 7, past_notice: "Earlier state, event 7." } });
    expect(root.querySelector(".pe-banner-text")?.textContent).toBe("Earlier state, event 7.");
    expect(root.hasAttribute("data-past")).toBe(true);
    click(root.querySelector(".pe-when"));
    python.tell({ transport });

    expect(python.of("look").map((l) => l.cursor)).toEqual([0]);
    expect((root.querySelector(".pe-banner") as HTMLElement).hidden).toBe(true);
  });

  it("moves fact by fact with [ and ]", () => {
    const { python, root } = shown();
    const { transport } = recorded();
    press(root, "[");
    python.tell({ transport: { ...transport, cursor: 7 } });
    press(root, "[");
    python.tell({});
    press(root, "]");

    const cursors = python.of("look").flatMap((l) => (l.cursor === undefined ? [] : [l.cursor]));
    expect(cursors).toEqual([transport.events - 1, 6, 8]);
  });
});

describe("evidence", () => {
  const lines = [
    ["a b", ""],
    ["b a", "mul commutes"],
  ] as const;
  const chained: StepRow = {
    ref: "f1.c1/k3.b1",
    name: "k3.b1",
    equation: "mul(%0) = b a",
    justification: "by mul commutes",
    kind: "proved",
    lines,
  };
  const plain: StepRow = {
    ref: "f1.c1/k3",
    name: "k3",
    equation: "store(%1) = b a",
    justification: "by definition",
    kind: "proved",
  };
  const certificate = (steps: readonly StepRow[], sentence = "2 of 2"): Card => {
    const copies = [{ label: "the case", text: "refutation of f1.c1\nseed 0" }];
    return { title: "certificate", kind: "proved", sentence, label: "Evidence", steps, copies };
  };
  const inspected = (...cards: readonly Card[]): Partial<Sections> => ({
    inspector: { ref: "f1.c1", title: "f1.c1: a candidate", cards },
  });
  const proved = (): Sections => ({ ...recorded(), ...inspected(certificate([chained, plain])) });

  it("opens a lemma to its chain, and leads to its tensor", () => {
    const { python, root } = shown(proved());
    const [folded, plain] = [...(panel(root, "inspector")?.querySelectorAll(".pe-steps > li") ?? [])];
    expect(folded?.querySelector("details")?.open).toBe(false);
    expect(folded?.textContent).toContain("= b aby mul commutes");
    expect(plain?.querySelector("details")).toBeNull();
    click(plain?.querySelector("button"));

    expect(python.commands).toEqual([["select", { id: "f1.c1/k3" }]]);
  });

  it("stays open when the same thing is drawn again, and closes with another", () => {
    const { python, root } = shown(proved());
    const fold = () => panel(root, "inspector")?.querySelector<HTMLDetailsElement>(".pe-steps details");
    (fold() as HTMLDetailsElement).open = true;
    python.tell({
      inspector: { ...(proved().inspector as object), status: "proved" } as Sections["inspector"],
    });
    expect(fold()?.open).toBe(true);
    python.tell({ inspector: { ...(proved().inspector as object), ref: "f2.c1" } as Sections["inspector"] });

    expect(fold()?.open).toBe(false);
  });

  it("stays closed when the same thing is drawn again", () => {
    const { python, root } = shown(inspected(certificate([chained])));
    const fold = () => panel(root, "inspector")?.querySelector<HTMLDetailsElement>(".pe-steps details");
    expect(fold()?.open).toBe(true);
    (fold() as HTMLDetailsElement).open = false;
    python.tell(inspected(certificate([chained], "1 of 2")));

    expect(fold()?.open).toBe(false);
  });

  it("keeps which are open, where others come before and its own words change", () => {
    const { python, root } = shown(proved());
    const folds = () => [...(panel(root, "inspector")?.querySelectorAll(".pe-steps details") ?? [])];
    const first = folds()[0] as HTMLDetailsElement;
    first.open = true;
    const other = { ...chained, ref: "f1.c1/k9", name: "k9" };
    python.tell(inspected(certificate([other, { ...chained, equation: "mul(%0) = a b" }, plain])));

    expect(folds().map((fold) => (fold as HTMLDetailsElement).open)).toEqual([false, true]);
  });

  it("is the very same element where its card did not change, with its focus and scroll position", () => {
    const { python, root } = shown(proved());
    const fold = () => panel(root, "inspector")?.querySelector<HTMLDetailsElement>(".pe-steps details");
    const before = fold() as HTMLDetailsElement;
    const button = before.querySelector("button") as HTMLButtonElement;
    button.focus();
    const audit = { ...certificate([]), title: "audit of p3" };
    python.tell(inspected(audit, certificate([chained, plain])));

    expect(fold()).toBe(before);
    expect(document.activeElement).toBe(button);
  });

  it("gives the focus and the scroll position back to what is drawn again", () => {
    const { python, root } = shown(proved());
    const find = (name: string) =>
      [...(panel(root, "inspector")?.querySelectorAll("button") ?? [])].find((b) => b.textContent === name);
    const body = panel(root, "inspector")?.querySelector(".pe-body") as HTMLElement;
    find("k3")?.focus();
    body.scrollTop = 40;
    python.tell(inspected(certificate([chained, plain], "1 of 2 replayed")));
    expect(document.activeElement).toBe(find("k3"));
    expect(body.scrollTop).toBe(40);
    python.tell({ inspector: { ref: "f2", title: "f2: a family" } as Sections["inspector"] });

    expect(body.scrollTop).toBe(0);
  });

  it("opens though the search goes on between press and release", () => {
    const { python, root } = shown(proved());
    const summary = () => panel(root, "inspector")?.querySelector(".pe-steps summary") as HTMLElement;
    const pressed = summary();
    pressed.dispatchEvent(new Event("pointerdown", { bubbles: true }));
    python.tell(inspected(certificate([chained, plain], "1 of 2 replayed")));
    expect(summary()).toBe(pressed);
    pressed.dispatchEvent(new Event("pointerup", { bubbles: true }));
    click(pressed);
    vi.advanceTimersByTime(1);

    expect(panel(root, "inspector")?.textContent).toContain("1 of 2 replayed");
    expect(panel(root, "inspector")?.querySelector<HTMLDetailsElement>(".pe-steps details")?.open).toBe(true);
  });

  it("holds nothing off for long, and nothing where no click is due", () => {
    const { python, root } = shown(proved());
    const text = () => panel(root, "inspector")?.textContent;
    panel(root, "inspector")
      ?.querySelector(".pe-steps summary")
      ?.dispatchEvent(new Event("pointerdown", { bubbles: true }));
    python.tell(inspected(certificate([chained], "one")));
    expect(text()).not.toContain("one");
    vi.advanceTimersByTime(2001);
    expect(text()).toContain("one");
    root.querySelector("input[type=range]")?.dispatchEvent(new Event("pointerdown", { bubbles: true }));
    python.tell(inspected(certificate([chained], "two")));

    expect(text()).toContain("two");
  });

  it("can be copied", async () => {
    const written = vi.fn().mockResolvedValue(undefined);
    vi.stubGlobal("navigator", { clipboard: { writeText: written } });
    const { root } = shown(proved());
    const button = [...(panel(root, "inspector")?.querySelectorAll("button") ?? [])].find(
      (b) => b.textContent === "the case",
    );
    click(button);
    vi.unstubAllGlobals();

    expect(written).toHaveBeenCalledWith("refutation of f1.c1\nseed 0");
  });
});

describe("buttons", () => {
  it("step by the chosen grain", () => {
    const { python, root } = shown(paused());
    const grain = root.querySelector("select") as HTMLSelectElement;
    grain.value = "family";
    click(root.querySelector("[data-command=step]"));

    expect(python.commands).toEqual([["step", { n: 1, grain: "family" }]]);
  });

  it("say that a pause waits for the step in hand", () => {
    const { python, root } = shown(running());
    const run = () => root.querySelector<HTMLButtonElement>("[data-command=pause]");
    click(run());
    expect(run()?.textContent).toBe("Pausing");
    expect(run()?.disabled).toBe(true);

    python.tell({ transport: paused().transport });
    expect(root.querySelector("[data-command=resume]")?.textContent).toBe("Resume");
  });

  it("offer what can be done now, and nothing else", () => {
    const { root } = shown(running());
    const enabled = [...root.querySelectorAll<HTMLButtonElement>(".pe-transport [data-command]")]
      .filter((b) => !b.disabled)
      .map((b) => b.dataset.command);

    expect(enabled).toEqual(["pause", "cancel"]);
  });

  it("accept and reject a family from its row, without selecting it", () => {
    const { python, root } = shown();
    click(panel(root, "families")?.querySelector("tr[data-ref=f2] [data-command=reject]"));

    expect(python.commands).toEqual([["reject", { id: "f2" }]]);
  });

  it("show the line of Python that does the same", () => {
    const { python, root } = shown(paused());
    click(root.querySelector("[data-command=step]"));
    const event_id = String(python.of("command")[0]?.event_id);
    python.tell({}, [{ event_id, ok: true, python: "sess.step()" }]);

    expect(root.querySelector(".pe-foot .pe-python")?.textContent).toBe("sess.step()");
  });

  it("say why something could not be done", () => {
    const { python, root } = shown();
    vi.advanceTimersByTime(2000);
    python.tell({}, [{ event_id: "x", ok: false, message: "no family 'f9' to reject" }]);

    expect(root.querySelector(".pe-status")?.textContent).toBe("no family 'f9' to reject");
  });

  it("open and close custom kernels", () => {
    const { python, root } = shown();
    const kernels = recorded().graph.kernels.map((kernel) => kernel.ref);
    const all = (way: string) => panel(root, "graph")?.querySelector<HTMLElement>(`[title^="${way} all"]`);
    click(all("collapse"));

    expect(python.of("look").at(-1)).toEqual({ kind: "look", graph: { kernels, expanded: false } });

    const { graph } = recorded();
    const some = graph.kernels.map((kernel, n) => ({ ...kernel, expanded: n === 0 }));
    const other = { ref: "f1.c1/k9", position: 9, label: "k9", expanded: false };
    python.tell({ graph: { ...graph, kernels: [...some, other] } });
    expect([all("expand")?.hidden, all("collapse")?.hidden]).toEqual([false, false]);
    python.tell({ graph: { ...graph, kernels: some.map((kernel) => ({ ...kernel, expanded: false })) } });
    expect([all("expand")?.hidden, all("collapse")?.hidden]).toEqual([false, true]);
  });
});

describe("the keyboard", () => {
  it("steps, runs, pauses, undoes", () => {
    const { python, root } = shown(paused());
    press(root, ".");
    press(root, " ");
    press(root, "u");
    press(root, "z", { ctrlKey: true });
    python.tell(running());
    press(root, " ");

    expect(python.commands.map(([name]) => name)).toEqual(["step", "resume", "undo", "undo", "pause"]);
  });

  it("accepts and rejects the family of what is selected", () => {
    const { python, root } = shown({ ...recorded(), view: { selection: "f1.c1/k2.b3" } });
    press(root, "a");
    press(root, "x");

    expect(python.commands).toEqual([
      ["accept", { id: "f1" }],
      ["reject", { id: "f1" }],
    ]);
  });

  it("says that only families can be steered", () => {
    const { python, root } = shown({ ...recorded(), view: { selection: "p3" } });
    vi.advanceTimersByTime(2000);
    press(root, "x");

    expect(python.commands).toEqual([]);
    expect(root.querySelector(".pe-status")?.textContent).toBe("select a family to reject it");
  });

  it("walks the map", () => {
    const { python, root } = shown({ ...recorded(), view: { selection: "n0" } });
    press(root, "ArrowDown");

    expect(python.commands).toEqual([["select", { id: "n1" }]]);
  });

  it("keeps its keys from the notebook, and leaves it the others", () => {
    const { root } = shown(paused());
    const outside = vi.fn();
    document.body.addEventListener("keydown", outside);

    expect(press(root, ".").defaultPrevented).toBe(true);
    expect(outside).not.toHaveBeenCalled();
    expect(press(root, "F5").defaultPrevented).toBe(false);
    expect(outside).toHaveBeenCalledTimes(1);
    expect(root.hasAttribute("data-lm-suppress-shortcuts")).toBe(true);
  });

  it("keeps the keys of what has the focus inside it, too", () => {
    const { root } = shown(paused());
    const tab = root.querySelector<HTMLElement>("[role=tab]:not([hidden])");
    tab?.dispatchEvent(new FocusEvent("focusin", { bubbles: true }));
    expect(tab?.hasAttribute("data-lm-suppress-shortcuts")).toBe(true);
    tab?.dispatchEvent(new FocusEvent("focusout", { bubbles: true }));
    expect(tab?.hasAttribute("data-lm-suppress-shortcuts")).toBe(false);
    expect(root.hasAttribute("data-lm-suppress-shortcuts")).toBe(true);
  });

  it("does nothing while something is typed", () => {
    const { python, root } = shown(paused());
    press(root.querySelector(".pe-foot .pe-search") as Element, "x");

    expect(python.commands).toEqual([]);
  });

  it("can have its letters turned off", () => {
    const { python, root } = shown(paused());
    const letters = root.querySelector(".pe-help input") as HTMLInputElement;
    letters.checked = false;
    letters.dispatchEvent(new Event("change"));
    press(root, "u");
    press(root, ".");
    press(root, " ");

    expect(python.commands.map(([name]) => name)).toEqual(["resume"]);
  });

  it("maximises a panel and puts it back", () => {
    const { root } = shown();
    press(root, "m");
    expect(panel(root, "map")?.hasAttribute("hidden")).toBe(false);
    expect(panel(root, "graph")?.hasAttribute("hidden")).toBe(true);

    press(root, "Escape");
    expect(panel(root, "graph")?.hasAttribute("hidden")).toBe(false);
  });

  it("shows a picture as a table", () => {
    const { root } = shown();
    press(root, "t");
    const rows = [...(panel(root, "map")?.querySelectorAll("tbody tr") ?? [])].map((r) =>
      r.getAttribute("data-ref"),
    );

    expect(rows).toContain("p15");
    expect(new Set(rows).size).toBe(rows.length);
    expect(panel(root, "map")?.querySelector("tr[data-ref=f1] td")?.textContent).toContain("proved");
  });
});

describe("a narrow place", () => {
  it("shows one panel at a time, behind tabs", () => {
    const { root } = shown(recorded(), 640);
    const seen = () =>
      [...root.querySelectorAll(".pe-main > [data-panel], .pe-dock > [data-panel]")]
        .filter((p) => !p.hasAttribute("hidden"))
        .map((p) => p.getAttribute("data-panel"));
    expect(seen()).toEqual(["map"]);

    click(root.querySelector('[data-tab-of="code"]'));
    expect(seen()).toEqual(["code"]);
    expect(root.querySelectorAll(".pe-tabs > [role=tab]:not([hidden])")).toHaveLength(PANELS.length);
  });
});

describe("tables", () => {
  it("sort by numbers where a cell has one, and put what has none last", () => {
    const { root } = shown();
    const refs = () =>
      [...(panel(root, "families")?.querySelectorAll("tbody tr") ?? [])].map((r) =>
        r.getAttribute("data-ref"),
      );
    const head = [...(panel(root, "families")?.querySelectorAll("thead button") ?? [])];
    const candidates = () =>
      [...(panel(root, "families")?.querySelectorAll("thead button") ?? [])].find((b) =>
        b.textContent?.startsWith("candidates"),
      );
    expect(head.map((b) => b.textContent?.replace(/[▾▴]/, ""))).toContain("trial time (measured)");
    expect(refs()).toEqual(["f1", "f2", "f3"]);

    click(candidates());
    expect(refs()).toEqual(["f2", "f3", "f1"]);
    click(candidates());
    expect(refs()).toEqual(["f1", "f2", "f3"]);
  });

  describe("with many rows", () => {
    const many = () => {
      const all = recorded();
      const cells = all.families.rows[0]?.cells ?? [];
      const rows = Array.from({ length: 1000 }, (_, i) => ({ cells, ref: `f${i + 1}` }));
      return shown({ ...all, families: { ...all.families, rows } }).root;
    };
    const refs = (root: Element) =>
      [...(panel(root, "families")?.querySelectorAll("tbody tr[data-ref]") ?? [])].map((r) =>
        r.getAttribute("data-ref"),
      );
    const box = (root: Element) =>
      panel(root, "families")?.querySelector("tbody tr[data-ref]")?.closest(".pe-tablebox") as HTMLElement;

    it("draw those near the visible part, and keep the height of the others", () => {
      const root = many();
      expect(refs(root)).toHaveLength(60);
      expect(refs(root)[0]).toBe("f1");
      expect(box(root).querySelector("table")?.getAttribute("aria-rowcount")).toBe("1001");

      box(root).scrollTop = 500 * 29;
      box(root).dispatchEvent(new Event("scroll"));
      expect(refs(root)).toHaveLength(60);
      expect(refs(root)).toContain("f501");
      const gaps = [...box(root).querySelectorAll<HTMLElement>(".pe-gap td")].map((td) =>
        parseFloat(td.style.height),
      );
      expect(gaps.reduce((a, b) => a + b, 0)).toBe(940 * 29);
    });

    it("are walked with the arrow keys beyond the rows that are drawn", () => {
      const root = many();
      const last = [...(panel(root, "families")?.querySelectorAll<HTMLElement>("tr[data-ref]") ?? [])].at(-1);
      last?.focus();
      last?.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true }));

      expect(document.activeElement?.getAttribute("data-ref")).toBe("f61");
      expect(refs(root)).toContain("f61");
    });
  });

  it("are told what was left out", () => {
    const all = recorded();
    const { root } = shown({ ...all, families: { ...all.families, omitted: "120 of 8,412 shown" } });

    expect(panel(root, "families")?.textContent).toContain("120 of 8,412 shown");
  });
});
