// The search map of a report over time: a lane per kind of event, the number of the event on the x axis, as
// prism_explore/widgets/views/time_map.py draws it.

import type { Item, Scene, Shape, Text } from "../scene.ts";
import type { TimeBrush } from "../sections.ts";
import type { Columns } from "./columns.ts";
import type { Reason } from "./counts.ts";
import { block, type Drawing, line, rounded, textPx } from "./map.ts";
import { commas, halfEven } from "./text.ts";

/** The events of one kind, in their order. */
interface Lane {
  readonly numbers: readonly number[];
  readonly ref: (position: number) => string;
  /** The style of the mark. */
  readonly kind: (position: number) => string;
}

type Axis = Pick<TimeBrush, "left" | "right" | "first" | "end">;

/** The lanes of a search. */
export class Lanes {
  private readonly lanes: Readonly<Record<string, Lane>>;

  constructor(columns: Columns) {
    const lane = (kind: string, id: string, style: (i: number) => string): Lane => {
      const refs = columns.field<string>(kind, id);
      return { numbers: columns.eventsOf(kind), ref: (i) => refs.at(i), kind: style };
    };
    const reasons = columns.field<Reason>("RegionPruned", "reason");
    const verdicts = columns.field<string>("VerdictReached", "verdict");
    this.lanes = {
      expansions: lane("NodeExpanded", "node", () => "expanded"),
      prunings: lane("RegionPruned", "region", (i) => reasons.at(i).soundness),
      families: lane("FamilyCompleted", "family", () => "family"),
      verdicts: lane("VerdictReached", "candidate", (i) => verdicts.at(i)),
      trials: merged(
        lane("TrialMeasured", "trial", () => "trial"),
        lane("TrialFailed", "trial", () => "trial-failed"),
      ),
    };
  }

  get names(): readonly string[] {
    return Object.keys(this.lanes);
  }

  lane(name: string): Lane {
    const lane = this.lanes[name];
    if (!lane) throw new Error(`there is no lane ${name}`);
    return lane;
  }
}

/** Two lanes as one, in the order of the events. */
function merged(one: Lane, other: Lane): Lane {
  const places = [one, other].flatMap((lane) => lane.numbers.map((number, i) => ({ number, lane, i })));
  places.sort((a, b) => a.number - b.number);
  const at = (position: number) => places[position] as (typeof places)[number];
  return {
    numbers: places.map(({ number }) => number),
    ref: (position) => at(position).lane.ref(at(position).i),
    kind: (position) => at(position).lane.kind(at(position).i),
  };
}

/** The axis for all events or an interval of them, and the words of the interval. */
export function timeBrush(
  total: number,
  interval: readonly [number, number] | null,
  width: number,
  drawing: Drawing,
): TimeBrush {
  const { left_px, right_px } = drawing.time;
  const first = interval ? Math.min(interval[0], total) : 0;
  const last = interval ? Math.min(interval[1] + 1, total) : Math.max(1, total);
  const end = Math.max(last, first + 1);
  const text = interval ? `events ${commas(first)} … ${commas(end - 1)}` : "";
  return { left: left_px, right: width - right_px, first, end, interval: text };
}

/** Draw the lanes of the first `count` events; expansions, prunings and families only within the given ids. */
export function timeScene(
  lanes: Lanes,
  count: number,
  axis: Axis,
  drawing: Drawing,
  width: number,
  within: ReadonlySet<string> | null,
): Scene {
  const { top_px, lane_px } = drawing.time;
  const items: Item[] = [];
  const parts: string[] = [];
  lanes.names.forEach((name, number) => {
    const top = top_px + number * lane_px;
    const total = drawLane(items, lanes.lane(name), name, count, axis, top, drawing, within);
    parts.push(`${commas(total)} ${name}`);
    const base = top + lane_px - 6;
    const points = [
      [axis.left, base],
      [axis.right, base],
    ] as const;
    items.push({ type: "edge", id: `lane-${name}`, kind: "axis", points });
    const texts: Text[] = [
      { x: axis.left - 8, y: top + 20, text: name, kind: "small", anchor: "end" },
      { x: axis.left - 8, y: top + 35, text: commas(total), kind: "muted", anchor: "end" },
    ];
    items.push({ ...line(`lane-${name}#name`, 0, top, axis.left, lane_px), texts });
  });
  const height = top_px + lanes.names.length * lane_px;
  items.push(...ticks(axis, height, drawing));
  if (count < axis.end) {
    const x = place(axis, Math.max(count, axis.first));
    items.unshift({
      ...block("later", "frontier", x, top_px, axis.right - x, height - top_px),
      tip: "later events",
    });
  }
  const desc = `Events ${commas(axis.first)} to ${commas(Math.min(axis.end, count))}: ${parts.join(", ")}.`;
  const scene = { name: "search", title: "search over time", desc, width, height: height + 20, items };
  return rounded({ ...scene, omitted: "" });
}

function place(axis: Axis, number: number): number {
  return axis.left + ((axis.right - axis.left) * (number - axis.first)) / (axis.end - axis.first);
}

/** Draw one lane; return the number of its events in view. */
function drawLane(
  items: Item[],
  lane: Lane,
  name: string,
  count: number,
  axis: Axis,
  top: number,
  drawing: Drawing,
  within: ReadonlySet<string> | null,
): number {
  const { bin_px, lane_px, max_marks } = drawing.time;
  const { numbers } = lane;
  const limit = Math.min(axis.end, count);
  const only = ["expansions", "prunings", "families"].includes(name) ? within : null;
  const places: number[] = [];
  for (let i = firstFrom(numbers, axis.first); i < numbers.length && (numbers[i] ?? 0) < limit; i++)
    if (!only || only.has(lane.ref(i))) places.push(i);
  const numberAt = (i: number | undefined) => numbers[i ?? 0] ?? 0;
  if (places.length <= max_marks) {
    for (const i of places)
      items.push(mark(axis, name, numberAt(i), lane.ref(i), lane.kind(i), top, drawing));
    return places.length;
  }
  const scale = (axis.right - axis.left) / bin_px / (axis.end - axis.first);
  const bins = new Map<number, number[]>();
  for (const i of places) {
    const bin = Math.trunc((numberAt(i) - axis.first) * scale);
    const inside = bins.get(bin);
    if (inside) inside.push(i);
    else bins.set(bin, [i]);
  }
  let most = 0;
  for (const inside of bins.values()) most = Math.max(most, inside.length);
  for (const [number, inside] of bins) {
    const [first, last] = [inside[0] ?? 0, inside.at(-1) ?? 0];
    const high = ((lane_px - 14) * Math.log1p(inside.length)) / Math.log1p(most);
    const counts = new Map<string, number>();
    for (const i of inside) counts.set(lane.kind(i), (counts.get(lane.kind(i)) ?? 0) + 1);
    let [kind, largest] = ["", 0];
    for (const [name, n] of counts) if (n > largest) [kind, largest] = [name, n];
    const kinds = [...counts].map(([name, n]) => `${commas(n)} ${name}`).join(", ");
    const tip =
      `events ${commas(numberAt(first))} to ${commas(numberAt(last))}: ${commas(inside.length)} ${name}` +
      (counts.size > 1 ? ` (${kinds})` : "") +
      `, from ${lane.ref(first)} to ${lane.ref(last)}`;
    const style = name === "prunings" ? prunedStyle(drawing, kind) : "bar";
    const x = axis.left + number * bin_px;
    items.push({
      ...block(`${name}#${number}`, style, x, top + lane_px - 6 - high, bin_px - 1, high),
      ref: lane.ref(first),
      tip,
      count: inside.length,
    });
  }
  return places.length;
}

function prunedStyle(drawing: Drawing, soundness: string): string {
  return (drawing.pruned_kinds as Readonly<Record<string, string>>)[soundness] ?? "bar";
}

function mark(
  axis: Axis,
  name: string,
  number: number,
  ref: string,
  kind: string,
  top: number,
  drawing: Drawing,
): Shape {
  const { lane_px, mark_px, outlines } = drawing.time;
  const [x, y] = [place(axis, number + 0.5), top + lane_px - 6 - mark_px - 4];
  const style = name === "prunings" ? prunedStyle(drawing, kind) : kind;
  const left = Math.min(Math.max(x - mark_px / 2, axis.left), axis.right - mark_px);
  return {
    ...block(`${name}#${number}`, style, left, y, mark_px, mark_px),
    role: "mark",
    outline: outlines[kind] ?? "square",
    ref,
    tip: `event ${commas(number)}: ${ref}, ${kind}`,
  };
}

function ticks(axis: Axis, height: number, drawing: Drawing): readonly Item[] {
  const items: Item[] = [];
  const room = axis.right - axis.left;
  for (const [share, anchor] of [
    [0, "start"],
    [0.5, "middle"],
    [1, "end"],
  ] as const) {
    const number = halfEven(axis.first + share * (axis.end - axis.first));
    const x = axis.left + share * room;
    const points = [
      [x, height - 4],
      [x, height],
    ] as const;
    const texts: Text[] = [{ x, y: height + 14, text: commas(number), kind: "muted", anchor }];
    items.push({ type: "edge", id: `tick${share}`, kind: "axis", points, texts });
  }
  if (room > textPx(drawing, "number of the event", "muted") + 10) {
    const texts: Text[] = [
      { x: axis.left, y: 14, text: "number of the event →", kind: "muted", anchor: "start" },
    ];
    items.push({ ...line("axis-name", axis.left, 0, room, drawing.time.top_px), texts });
  }
  return items;
}

/** The first position whose number is not below another one. */
function firstFrom(numbers: readonly number[], first: number): number {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((numbers[middle] ?? 0) < first) low = middle + 1;
    else high = middle;
  }
  return low;
}
