// @vitest-environment happy-dom
import { describe, expect, it } from "vitest";
import { Drawing, neighbour } from "../src/lib/draw.ts";
import type { Scene } from "../src/scene.ts";
import { box } from "./shapes.ts";

const HOSTILE = '<img src=x onerror="window.hurt=1"><script>window.hurt=1</script>';

const scene = (...items: Scene["items"]): Scene => ({
  name: "sgraph",
  title: "a scene",
  desc: "for tests",
  width: 200,
  height: 100,
  items,
  omitted: "",
});

describe("a drawing", () => {
  it("draws shapes with their texts, and edges with a head", () => {
    const drawing = new Drawing("option");
    drawing.update(
      scene(
        {
          type: "edge",
          id: "e",
          kind: "edge",
          points: [
            [0, 0],
            [0, 50],
          ],
          arrow: true,
        },
        box("n1", 0, 0, { texts: [{ x: 1, y: 2, text: "matmul" }] }),
      ),
    );

    expect(drawing.element.querySelectorAll(".k-op rect.body")).toHaveLength(1);
    expect(drawing.element.querySelector("text")?.textContent).toBe("matmul");
    expect(drawing.element.querySelector(".k-edge path.body")?.getAttribute("d")).toBe("M0,0 L0,45.2");
    expect(drawing.element.querySelectorAll("polygon.head")).toHaveLength(1);
  });

  it("lays a pattern over what has one, so that it is told without its colour", () => {
    const drawing = new Drawing("option");
    drawing.update(scene(box("p1", 0, 0, { kind: "pruned-sound" })));
    const fill = drawing.element.querySelector(".pattern")?.getAttribute("fill") ?? "";
    const id = /^url\(#(.+)\)$/.exec(fill)?.[1];

    expect([...drawing.patterns.children].map((p) => p.id)).toContain(id);
  });

  it("keeps hostile texts as text", () => {
    const drawing = new Drawing("option");
    const texts = [{ x: 0, y: 0, text: HOSTILE, kind: HOSTILE }];
    drawing.update(scene(box(HOSTILE, 0, 0, { texts, tip: HOSTILE, ref: HOSTILE, kind: HOSTILE })));

    expect(drawing.element.querySelectorAll("img, script")).toHaveLength(0);
    expect(drawing.element.querySelector("text")?.textContent).toBe(HOSTILE);
    expect(drawing.element.querySelector(".item")?.getAttribute("class")).toBe("item shape role-box k-plain");
  });

  it("survives numbers that are none", () => {
    const drawing = new Drawing("option");
    drawing.update(scene(box("n1", Number.NaN, Number.POSITIVE_INFINITY)));

    expect(drawing.element.querySelector("rect")?.getAttribute("x")).toBe("0");
  });

  it("keeps the elements of items that did not change", () => {
    const drawing = new Drawing("option");
    drawing.update(scene(box("n1", 0, 0), box("n2", 50, 0)));
    const [first, second] = [...drawing.element.children];
    drawing.update(scene(box("n1", 0, 0), box("n2", 60, 0), box("n3", 90, 0)));

    expect(drawing.element.children[0]).toBe(first);
    expect(drawing.element.children[1]).not.toBe(second);
    expect(drawing.element.children).toHaveLength(3);
  });

  it("marks every item of a ref, and only those", () => {
    const drawing = new Drawing("option");
    drawing.update(scene(box("a", 0, 0, { ref: "f1" }), box("b", 50, 0, { ref: "f1" }), box("c", 90, 0)));
    drawing.highlight("selected", ["f1"]);
    drawing.highlight("selected", ["c"]);

    expect([...drawing.element.querySelectorAll(".selected")].map((e) => e.getAttribute("data-id"))).toEqual([
      "c",
    ]);
    expect(drawing.element.querySelectorAll("[aria-selected=true]")).toHaveLength(1);
  });

  it("dims what a search does not find, and counts what it does", () => {
    const drawing = new Drawing("option");
    const drawn = scene(box("n1", 0, 0, { tip: "matmul" }), box("n2", 50, 0, { tip: "div" }));
    drawing.update(drawn);

    expect(drawing.find((item) => item.tip === "div", drawn)).toBe(1);
    expect(drawing.element.querySelectorAll(".dimmed")).toHaveLength(1);
    expect(drawing.find(null, drawn)).toBe(0);
    expect(drawing.element.querySelectorAll(".dimmed")).toHaveLength(0);
  });
});

describe("the neighbour", () => {
  const [left, middle, right, below] = [box("l", 0, 0), box("m", 50, 0), box("r", 100, 0), box("b", 50, 40)];
  const all = [left, middle, right, below];

  it("is the nearest that way", () => {
    expect(neighbour(left, all, "right")).toBe(middle);
    expect(neighbour(right, all, "left")).toBe(middle);
    expect(neighbour(middle, all, "down")).toBe(below);
    expect(neighbour(below, all, "up")).toBe(middle);
  });

  it("is nobody where nothing lies", () => {
    expect(neighbour(left, all, "left")).toBeNull();
  });

  it("is not another mark of the same thing", () => {
    expect(neighbour(left, [left, box("l2", 50, 0, { ref: "l" }), right], "right")).toBe(right);
  });
});
