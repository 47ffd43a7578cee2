// The script of a picture with sliders: scenes that Python drew, one per position of the sliders, in the explorer's own
// stage. It asks nothing of a kernel, so the same HTML works in a notebook, in a saved page and on a site.

import styles from "./frames.css";
import { h, refill, rewrite } from "./lib/dom.ts";
import { isPressable, isTyping, keepKeys, leaveKeysWithShift, nameOf } from "./lib/keys.ts";
import PICTURE_CSS from "./lib/picture.css";
import { Stage } from "./lib/stage.ts";
import { followTheme } from "./lib/theme.ts";
import { tool, zoomTools } from "./panels/panel.ts";
import { type Item, SCENE_CSS, type Scene } from "./scene.ts";

interface Slider {
  readonly name: string;
  /** What is written at each position. */
  readonly texts: readonly string[];
  /** The position at first. */
  readonly start: number;
}

/** The data of a picture. Scenes have many items in common, so each item is stored once. */
export interface Frames {
  readonly sliders: readonly Slider[];
  readonly items: readonly Item[];
  /** One per combination of positions; the last slider changes fastest. `items` are numbers of items. */
  readonly scenes: readonly (Omit<Scene, "items"> & { readonly items: readonly number[] })[];
}

const MOST_HEIGHT_PX = 640;
/** Room around a picture, as the stage keeps it. */
const MARGIN_PX = 16;

/** Show a picture in an element. */
export function showFrames(place: HTMLElement, frames: Frames): void {
  const stage = new Stage("frames", "listbox", {
    select,
    enter: select,
    hover: (ref) => stage.hover(ref ? [ref] : []),
  });
  const table = h("div", { class: "pe-tablebox", hidden: true });
  const said = h("div", { class: "pe-said", role: "status" });
  const inputs = frames.sliders.map(({ texts, start }) =>
    h("input", { type: "range", min: 0, max: texts.length - 1, value: start }),
  );
  const outputs = frames.sliders.map(() => h("output"));
  const turnTable = () => {
    table.hidden = !table.hidden;
    stage.element.hidden = !table.hidden;
    refill(table, stage.table());
  };
  const root = h(
    "div",
    { class: "prism-explore prism-frames pxe prism-scene" },
    h("style", {}, `${SCENE_CSS}\n${PICTURE_CSS}\n${styles}`),
    h(
      "div",
      { class: "pe-controls" },
      ...frames.sliders.map(({ name }, n) => h("label", {}, name, inputs[n] ?? null, outputs[n] ?? null)),
      h(
        "span",
        {},
        ...zoomTools((factor) => stage.zoom(factor)),
        tool("fit", "fit into the frame, then back to readable texts (0)", () => stage.overview()),
        tool("table", "show as a table (t)", turnTable),
      ),
    ),
    h("div", { class: "pe-frame", style: `height:${heightOf(frames)}px` }, stage.element, table),
    said,
  );
  stage.scroll = true; // or it would be moved to the middle of the largest scene
  let selected = "";

  function show(): void {
    let at = 0;
    frames.sliders.forEach(({ texts }, n) => {
      const [input, text] = [inputs[n], texts[Number(inputs[n]?.value)] ?? ""];
      at = at * texts.length + Number(input?.value);
      input?.setAttribute("aria-valuetext", text);
      rewrite(outputs[n] as HTMLElement, text);
    });
    stage.update(sceneOf(frames, at));
    mark();
    if (!table.hidden) refill(table, stage.table());
  }

  function select(ref: string): void {
    selected = stemOf(ref);
    mark();
  }

  function mark(): void {
    const refs =
      stage.shown?.items.flatMap(({ ref }) => (ref && stemOf(ref) === selected ? [ref] : [])) ?? [];
    stage.select(selected ? refs : []);
    describe();
  }

  /** The tooltip of the selection in words, else the title of the scene. */
  function describe(): void {
    const tip = stage.shown?.items.find(({ ref, tip }) => ref && stemOf(ref) === selected && tip)?.tip;
    rewrite(said, (selected && tip?.split("\n").join("; ")) || (stage.shown?.title ?? ""));
  }

  const keys: Readonly<Record<string, () => void>> = {
    ArrowLeft: () => stage.walk("left"),
    ArrowRight: () => stage.walk("right"),
    ArrowUp: () => stage.walk("up"),
    ArrowDown: () => stage.walk("down"),
    Escape: () => select(""),
    "0": () => stage.overview(),
    "+": () => stage.zoom(1.25),
    "-": () => stage.zoom(1 / 1.25),
    t: turnTable,
  };
  keepKeys(root);
  leaveKeysWithShift(root);
  root.addEventListener("keydown", (event) => {
    const name = nameOf(event);
    if (event.altKey || isTyping(event.target) || (name === "Enter" && isPressable(event.target))) return;
    const act = keys[name];
    if (act === undefined) return;
    act();
    event.preventDefault();
    event.stopPropagation();
  });
  for (const input of inputs) input.addEventListener("input", show);
  show();
  refill(place, root);
  followTheme(root);
}

/** The scene at a position. */
export function sceneOf(frames: Frames, at: number): Scene {
  const scene = frames.scenes[at];
  if (scene === undefined) throw new RangeError(`no scene ${at} of ${frames.scenes.length}`);
  return { ...scene, items: scene.items.flatMap((n) => frames.items[n] ?? []) };
}

/** A ref without the number of its frame, so that a class of an e-graph stays selected from frame to frame. */
function stemOf(ref: string): string {
  return ref.replace(/@\d+/, "");
}

function heightOf({ scenes }: Frames): number {
  return Math.min(MOST_HEIGHT_PX, Math.ceil(Math.max(...scenes.map(({ height }) => height))) + MARGIN_PX);
}

/** The data of a picture: base64 of JSON that deflate compressed. */
async function unpack(text: string): Promise<Frames> {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const json = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return (await new Response(json).json()) as Frames;
}

for (const place of document.querySelectorAll<HTMLElement>("figure.prism-frames:not([data-on])")) {
  place.dataset.on = "";
  const data = place.querySelector("script[type='text/plain']")?.textContent;
  if (data) void unpack(data).then((frames) => showFrames(place, frames));
}
