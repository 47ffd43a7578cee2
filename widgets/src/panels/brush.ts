// The brush of parallel coordinates: drag along an axis to select an interval; two handles per axis for the keyboard.

import { refill, s } from "../lib/dom.ts";
import { dragInterval } from "../lib/drag.ts";
import type { Stage } from "../lib/stage.ts";
import type { BrushAxis } from "../sections.ts";

/** Distance from an axis within which a drag selects values. */
const REACH_PX = 14;
const HANDLE_PX = 24;

export class Brush {
  private axes: readonly BrushAxis[] = [];
  private readonly preview = s("rect", { class: "pe-brush", visibility: "hidden" });
  private readonly handles = s("g");

  constructor(
    private readonly stage: Stage,
    private readonly choose: (interval: readonly (string | number)[]) => void,
  ) {
    stage.overlay.append(this.preview, this.handles);
    // In the capture phase, before the stage begins to move the picture.
    stage.element.addEventListener("pointerdown", (event) => this.drag(event), { capture: true });
  }

  update(axes: readonly BrushAxis[]): void {
    const focused = document.activeElement?.getAttribute("data-handle");
    this.axes = axes;
    refill(this.handles, ...axes.flatMap((axis) => [this.handle(axis, "low"), this.handle(axis, "high")]));
    if (focused) this.handles.querySelector<SVGElement>(`[data-handle="${CSS.escape(focused)}"]`)?.focus();
  }

  private handle(axis: BrushAxis, end: "low" | "high"): SVGElement {
    const index = axis[end];
    const y = (axis.ys[index] ?? 0) + (end === "low" ? 8 : -8);
    const up = end === "low" ? 1 : -1;
    const handle = s(
      "g",
      {
        class: "pe-handle",
        role: "slider",
        tabindex: 0,
        "data-handle": `${axis.name}/${end}`,
        "aria-orientation": "vertical",
        "aria-label": `${axis.name}, ${end === "low" ? "least" : "largest"} value`,
        "aria-valuemin": 0,
        "aria-valuemax": axis.values.length - 1,
        "aria-valuenow": index,
        "aria-valuetext": axis.texts[index] ?? "",
      },
      s("rect", {
        x: axis.x - HANDLE_PX / 2,
        y: y - HANDLE_PX / 2,
        width: HANDLE_PX,
        height: HANDLE_PX,
        class: "pe-target",
      }),
      s("path", { d: `M${axis.x - 6},${y + 4 * up} h12 l-6,${-8 * up} z` }),
    );
    handle.addEventListener("keydown", (event) => {
      const last = axis.values.length - 1;
      const to = { ArrowUp: index + 1, ArrowDown: index - 1, Home: 0, End: last }[event.key];
      if (event.key === "Delete" || event.key === "Backspace") this.choose([axis.name]);
      else if (to === undefined) return;
      else if (end === "low") this.send(axis, Math.min(to, axis.high), axis.high);
      else this.send(axis, axis.low, Math.max(to, axis.low));
      event.preventDefault();
      event.stopPropagation();
    });
    return handle;
  }

  private send(axis: BrushAxis, low: number, high: number): void {
    const last = axis.values.length - 1;
    const [from, to] = [Math.max(0, Math.min(low, high)), Math.min(last, Math.max(low, high))];
    if (from === axis.low && to === axis.high) return;
    if (from === 0 && to === last) this.choose([axis.name]);
    else this.choose([axis.name, axis.values[from] ?? 0, axis.values[to] ?? 0]);
  }

  /** Select the values between press and release; a drag of a handle moves one end, and the other one stays. */
  private drag(down: PointerEvent): void {
    if (down.button !== 0 || this.axes.length === 0) return;
    const start = this.stage.at(down);
    const axis = this.axes.find((a) => Math.abs(a.x - start.x) <= REACH_PX);
    if (!axis) return;
    const handle = (down.target as Element).closest("[data-handle]")?.getAttribute("data-handle");
    const other = handle ? axis[handle.endsWith("/low") ? "high" : "low"] : null;
    const fixed = other === null ? null : (axis.ys[other] ?? 0);
    const [bottom = 0, top = 0] = [axis.ys[0], axis.ys.at(-1)];
    if (other === null && (start.y > bottom + 12 || start.y < top - 12)) return;
    dragInterval(
      this.stage,
      this.preview,
      down,
      "y",
      (low, high) => ({ x: axis.x - 10, y: low, width: 20, height: high - low }),
      (low, high) => {
        if (other !== null) {
          this.send(axis, other, nearest(axis.ys, low === fixed ? high : low));
          return;
        }
        const inside = axis.ys.flatMap((y, i) => (y >= low - 4 && y <= high + 4 ? [i] : []));
        const [first, last] = [inside[0], inside.at(-1)];
        if (first !== undefined && last !== undefined) this.send(axis, first, last);
      },
      fixed,
    );
  }
}

/** The index of the value that is nearest to a height. */
function nearest(ys: readonly number[], y: number): number {
  return ys.reduce((best, at, i) => (Math.abs(at - y) < Math.abs((ys[best] ?? 0) - y) ? i : best), 0);
}
