// @vitest-environment happy-dom
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { ResultCard, Sections } from "../src/sections.ts";
import { recorded } from "./python.ts";
import { inPages, type Shown, show, takeAway } from "./show.ts";

const shown = (sections: Partial<Sections> = recorded(), wide = 1200, traits = {}): Shown =>
  show(sections, { wide, traits });

const find = (root: Element, selector: string): HTMLElement => {
  const element = root.querySelector<HTMLElement>(selector);
  if (!element) throw new Error(`nothing matches ${selector}`);
  return element;
};
const click = (element: Element): void => {
  element.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }));
};
const press = (element: Element, key: string): KeyboardEvent => {
  const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
  element.dispatchEvent(event);
  return event;
};
const labelled = (root: Element, text: string): HTMLElement => {
  const button = [...root.querySelectorAll("button")].find((b) => b.textContent === text);
  if (!button) throw new Error(`no button ${text}`);
  return button;
};
const changed = (transport: Partial<Sections["transport"]>): Partial<Sections> => {
  const all = recorded();
  return { ...all, transport: { ...all.transport, ...transport } };
};
const paused = () => changed({ state: "paused", enabled: ["step", "resume", "cancel", "undo"] });
const isDisabled = (button: Element): boolean =>
  button.getAttribute("aria-disabled") === "true" || (button as HTMLButtonElement).disabled;

inPages();
beforeEach(() => {
  localStorage.clear();
});

describe("the result card", () => {
  const card: ResultCard = {
    kind: "badge-best",
    label: "best",
    title: "f6.c2",
    ref: "u91",
    time: "99.5 µs",
    spread: "98.1 µs to 101 µs, measured",
    source: "The median of 24 measurements in the final race.",
    sentence: "1 kernel instead of 3; 1.2× as fast as the runner-up f4.c1 in their trials.",
    warning: "The final race measured 99.5 µs, its trial 300 µs.",
    doubt: "race and trial differ 3×",
    comparisons: [{ label: "torch eager", ratio: "2.31×", time: "230 µs", description: "in the final race" }],
    links: [
      { ref: "f6.c2", panel: "eclasses", label: "Proof", description: "the proof of f6.c2" },
      { ref: "u91", panel: "code", label: "Code", description: "the source of u91" },
    ],
  };

  it("has the kernel, its time and spread, the baselines, and why it won", () => {
    const { root } = shown({ ...recorded(), result: card });
    const text = find(root, ".pe-result").textContent ?? "";

    for (const part of ["f6.c2 u91", "99.5 µs", "98.1 µs to 101 µs", "2.31× torch eager, 230 µs", "1 kernel"])
      expect(text).toContain(part);
    expect(find(root, ".pe-warning").title).toContain("its trial 300 µs");
    expect(find(root, ".pe-warning").textContent).toContain("⚠ race and trial differ 3×");
  });

  it("leads to the proof and the code with one click each", () => {
    const { python, root } = shown({ ...recorded(), result: card });
    const visible = () =>
      [...root.querySelectorAll(".pe-dock > [data-panel]:not([hidden])")].map((p) =>
        p.getAttribute("data-panel"),
      );
    click(labelled(root, "Proof"));
    expect(visible()).toEqual(["eclasses"]);
    click(labelled(root, "Code"));

    expect(visible()).toEqual(["code"]);
    expect(python.commands).toEqual([
      ["select", { id: "f6.c2" }],
      ["select", { id: "u91" }],
    ]);
  });

  it("is there before there is a result, so that the header does not grow", () => {
    const none: ResultCard = { kind: "frontier", label: "no result yet", sentence: "Press Step (.)" };
    const { root } = shown({ ...recorded(), result: none });

    expect(find(root, ".pe-transport .pe-result").textContent).toBe("no result yetPress Step (.)");
    click(find(root, ".pe-result"));
    expect(root.querySelectorAll(".pe-result button")).toHaveLength(0);
  });
});

describe("while an earlier state is shown", () => {
  const past = () => {
    const all = changed({ cursor: 7, past_notice: "Earlier state, event 7.", enabled: [] });
    return shown({ ...all, inspector: null });
  };

  it("commands that change the search are disabled, with the reason", () => {
    const { python, root } = past();
    const reject = find(root, "[data-panel=families] tr [data-command=reject]");
    click(reject);
    press(root, "x");

    expect(isDisabled(reject)).toBe(true);
    expect(reject.title).toContain("would change the present search");
    expect(python.commands).toEqual([]);
  });

  it("what does not change the search stays possible", () => {
    const { python, root } = past();
    click(find(root, "[data-panel=families] tr[data-ref=f2]"));
    find(root, "[data-panel=questions] form").dispatchEvent(
      new Event("submit", { bubbles: true, cancelable: true }),
    );

    expect(python.commands.map(([name]) => name)).toEqual(["select", "what_if"]);
  });

  it("the banner leads back, and then everything is as before", () => {
    const { python, root } = past();
    const reject = () => find(root, "[data-panel=families] tr [data-command=reject]");
    click(labelled(find(root, ".pe-banner"), "Back to now"));
    expect(python.of("look").map((l) => l.cursor)).toEqual([0]);
    python.tell({ transport: recorded().transport });

    expect(find(root, ".pe-banner").hidden).toBe(true);
    expect(isDisabled(reject())).toBe(false);
    expect(reject().title).toBe("reject f1");
  });

  it("rows that are drawn meanwhile are disabled too", async () => {
    const { python, root } = past();
    const all = recorded();
    python.tell({
      families: { ...all.families, rows: all.families.rows.map((r) => ({ ...r, ref: `${r.ref}0` })) },
    });

    expect(isDisabled(find(root, "tr[data-ref=f10] [data-command=accept]"))).toBe(true);
  });
});

describe("an interrupted search of the same program", () => {
  it("is offered with the line that continues it, unless there is something more urgent to say", () => {
    const offer = {
      interrupted: "A search of twice was interrupted.",
      line: "sess = sess.resume_interrupted()",
    };
    const { python, root } = shown(changed(offer));
    const banner = find(root, ".pe-banner");
    const copied = vi.fn();
    vi.stubGlobal("navigator", { clipboard: { writeText: copied } });
    click(find(root, ".pe-banner button"));

    expect(banner.textContent).toBe(`${offer.interrupted}Copy the line`);
    expect(copied).toHaveBeenCalledWith(`${offer.line}\nsess`);
    python.tell(changed({ ...offer, past_notice: "Earlier state, event 7." }));
    expect(find(root, ".pe-banner-text").textContent).toBe("Earlier state, event 7.");
    python.tell(changed({}));
    expect((banner as HTMLElement).hidden).toBe(true);
  });
});

describe("without a kernel", () => {
  const buttons = (root: Element) =>
    [...root.querySelectorAll(".pe-transport [data-command], [data-panel] [data-command], .pe-chip")].filter(
      (b) => !b.closest(".pe-banner"),
    );

  it("nothing looks alive after a restart, and the banner says what can be done", () => {
    const { python, root } = shown(changed({ saved_as: "/data/run.prism" }));
    python.liveChanged();
    vi.advanceTimersByTime(1001);
    const sent = python.commands.length;
    click(find(root, "[data-panel=families] tr[data-ref=f2]"));
    press(root, ".");

    const banner = find(root, ".pe-banner").textContent ?? "";
    expect(banner).toContain("restarted or has ended");
    expect(banner).toContain('px.load("/data/run.prism")');
    expect(buttons(root).filter((b) => !isDisabled(b))).toEqual([]);
    expect(python.commands).toHaveLength(sent);
  });

  it("a connection that can no longer send is closed", () => {
    const { python, root } = shown(paused());
    vi.spyOn(python, "send").mockImplementation(() => {
      throw new Error("Cannot send");
    });
    press(root, ".");

    expect(find(root, ".pe-banner").textContent).toContain("restarted or has ended");
  });

  it("a search that was not saved starts anew", () => {
    const { python, root } = shown();
    python.liveChanged();
    vi.advanceTimersByTime(1001);

    expect(find(root, ".pe-banner").textContent).toContain("was not saved");
  });

  it("stored widget state is shown, and disabled", () => {
    const texts = Object.fromEntries(Object.entries(recorded()).map(([k, v]) => [k, JSON.stringify(v)]));
    const { root } = show(null, { traits: { snapshot: { seq: 3, texts, left_out: [] } } });
    vi.advanceTimersByTime(4001);

    expect(find(root, ".pe-result").textContent).toContain("320 µs");
    expect(find(root, ".pe-banner").textContent).toContain("The kernel does not answer");
    expect(buttons(root).filter((b) => !isDisabled(b))).toEqual([]);
  });

  it("a command without a reply is noticed, and a late reply enables everything again", () => {
    const { python, root } = shown(paused());
    press(root, ".");
    vi.advanceTimersByTime(4001);
    expect(find(root, ".pe-banner").hidden).toBe(false);
    python.tell({}, [{ event_id: String(python.of("command")[0]?.event_id), ok: true }]);

    expect(find(root, ".pe-banner").hidden).toBe(true);
    expect(isDisabled(find(root, "[data-command=step]"))).toBe(false);
  });
});

describe("cancel", () => {
  it("asks first, and says what is kept and lost", () => {
    const { python, root } = shown(paused());
    click(find(root, "[data-command=cancel]"));
    const question = find(root, ".pe-confirm");
    expect(question.hidden).toBe(false);
    expect(question.textContent).toMatch(/Kept: all \d+ events.*Lost: /);
    expect(document.activeElement?.textContent).toBe("Keep searching");
    click(labelled(question, "Keep searching"));
    expect(question.hidden).toBe(true);
    expect(python.commands).toEqual([]);

    click(find(root, "[data-command=cancel]"));
    press(question, "Escape");
    expect(question.hidden).toBe(true);
    click(find(root, "[data-command=cancel]"));
    click(labelled(question, "End the search"));
    expect(python.commands).toEqual([["cancel", {}]]);
  });
});

describe("separators", () => {
  const map = (root: Element) => find(root, "[data-splitter=map]");
  const share = (root: Element) => find(root, ".pe-main").style.getPropertyValue("--map");

  it("move with the arrow keys, are remembered, and a double click resets them", () => {
    const first = shown();
    expect(map(first.root).getAttribute("role")).toBe("separator");
    press(map(first.root), "ArrowRight");
    press(map(first.root), "ArrowRight");
    expect(share(first.root)).toBe("37fr");
    expect(map(first.root).getAttribute("aria-valuenow")).toBe("37");
    takeAway();

    const second = shown();
    expect(share(second.root)).toBe("37fr");
    map(second.root).dispatchEvent(new MouseEvent("dblclick", { bubbles: true }));
    expect(share(second.root)).toBe("33fr");
    expect(JSON.parse(localStorage.getItem("prism_explore.layout") ?? "")).toEqual({});
  });

  it("leave room for every panel", () => {
    const { root } = shown();
    press(find(root, "[data-splitter=inspector]"), "End");
    press(map(root), "End");
    const tracks = ["--map", "--graph", "--inspector"].map((name) =>
      Number.parseFloat(find(root, ".pe-main").style.getPropertyValue(name)),
    );

    expect(Math.min(...tracks)).toBeGreaterThanOrEqual(12);
    expect(tracks.reduce((a, b) => a + b)).toBeCloseTo(100);
  });

  it("drag with the pointer", () => {
    const { root } = shown();
    const drag = (type: string, x: number) =>
      map(root).dispatchEvent(new PointerEvent(type, { clientX: x, button: 0, bubbles: true }));
    drag("pointerdown", 300);
    drag("pointermove", 420);
    drag("pointerup", 420);
    drag("pointermove", 900);

    expect(share(root)).toBe("43fr");
  });

  it.each(["not json", "[1]", '{"map":"wide"}', '{"map":1e9,"dock":-4}', "null"])(
    "ignore stored nonsense: %s",
    (stored) => {
      localStorage.setItem("prism_explore.layout", stored);
      const { root } = shown();

      expect(share(root)).toBe("33fr");
      expect(find(root, ".pe-main").style.getPropertyValue("--dock")).toBe("36fr");
    },
  );

  it("work where storage is denied", () => {
    vi.spyOn(Storage.prototype, "getItem").mockImplementation(() => {
      throw new Error("denied");
    });
    vi.spyOn(Storage.prototype, "setItem").mockImplementation(() => {
      throw new Error("denied");
    });
    const { root } = shown();
    press(map(root), "ArrowLeft");

    expect(share(root)).toBe("31fr");
  });

  it("size the widget too", () => {
    const { root } = shown();
    press(find(root, "[data-splitter=height]"), "Home");

    expect(root.style.height).toBe("460px");
  });
});

describe("keys", () => {
  it("act on the panel with the focus: an arrow in the inspector scrolls it", () => {
    const { python, root } = shown();
    const body = find(root, "[data-panel=inspector] .pe-body");
    body.focus();
    const event = press(body, "ArrowDown");

    expect(event.defaultPrevented).toBe(false);
    expect(python.commands).toEqual([]);
  });

  it("walk the tabs", () => {
    const { python, root } = shown();
    const tab = find(root, '[data-tab-of="families"]');
    tab.focus();
    press(tab, "ArrowRight");

    expect(document.activeElement).toBe(tab.nextElementSibling);
    expect(document.activeElement?.getAttribute("aria-selected")).toBe("true");
    expect(python.commands).toEqual([]);
  });

  it("close the help with Esc, also from its field", () => {
    const { root } = shown();
    const help = find(root, ".pe-help") as HTMLDialogElement;
    press(root, "?");
    expect(help.open).toBe(true);
    press(find(help, "input"), "Escape");
    expect(help.open).toBe(false);
    press(root, "?");
    press(root, "Escape");
    expect(help.open).toBe(false);
  });

  it("step by family unless told otherwise", () => {
    const { python, root } = shown(paused());
    press(root, ".");

    expect(python.commands).toEqual([["step", { n: 1, grain: "family" }]]);
  });
});
