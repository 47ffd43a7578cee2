// The filter of a report: which rows, items of the map and events it leaves, as prism_explore/widgets/panels/filters.py
// decides it.

import type { Choice, FilterChip, FilterSection, MapSection, Table } from "../sections.ts";
import type { FilterLook } from "../wire.ts";
import type { Columns } from "./columns.ts";
import type { Reason, State } from "./counts.ts";
import { commas } from "./text.ts";

/** The conditions in force: all have to hold; an empty one holds always. */
export interface FilterChoice {
  readonly status: readonly string[];
  readonly reason: readonly string[];
  /** Part of the operator, or of the graph. */
  readonly operator: string;
  /** First and last event. */
  readonly events: readonly [number, number] | null;
}

export const NO_FILTER: FilterChoice = { status: [], reason: [], operator: "", events: null };

/** The filter after a message that sets some of its conditions. */
export function changedFilter(filter: FilterChoice, change: FilterLook): FilterChoice {
  const { status, reason, operator, events } = change;
  const [first, last] = events ?? [];
  return {
    status: status ? [...new Set(status)] : filter.status,
    reason: reason ? [...new Set(reason)] : filter.reason,
    operator: operator === undefined ? filter.operator : operator.trim(),
    events: !events ? filter.events : first === undefined || last === undefined ? null : [first, last],
  };
}

/** What a filter reads of an object or an event. */
interface Facts {
  readonly status: ReadonlySet<string>;
  readonly reasons: readonly string[];
  /** The operator, or the text of the graph. */
  readonly operator: string;
  /** The event with which it appeared. */
  readonly seq: number;
}

/** The last event of an id, and its position among the events of its kind. */
interface Source {
  readonly kind: string;
  readonly position: number;
  readonly seq: number;
}

/** Per kind of event that introduces an id, the field with the id. */
const IDS: Readonly<Record<string, string>> = {
  NodeExpanded: "node",
  RegionPruned: "region",
  FamilyCompleted: "family",
  CandidateInstantiated: "candidate",
  ParametersProposed: "trial",
  TrialMeasured: "trial",
  TrialFailed: "trial",
};
const NOTHING: ReadonlySet<string> = new Set();
const CHOSEN: Readonly<Record<string, string>> = { accept: "accepted", reject: "rejected" };

/** A filter of the state of a moment. */
export class Filter {
  /** Whether an event is listed; null without a condition. */
  readonly leaves: ((event: number) => boolean) | null;
  private readonly isActive: boolean;
  private readonly operator: string;
  private found: ReadonlyMap<string, Source> | null = null;
  private statuses: ReadonlyMap<string, ReadonlySet<string>> | null = null;

  constructor(
    private readonly chosen: FilterChoice,
    private readonly columns: Columns,
    private readonly state: State,
  ) {
    const { status, reason, operator, events } = chosen;
    this.isActive = status.length > 0 || reason.length > 0 || operator !== "" || events !== null;
    this.operator = operator.toLowerCase();
    this.leaves = this.isActive ? (event) => this.passes(this.eventFacts(event)) : null;
  }

  /** The table without the rows that the filter excludes; a sentence counts them. */
  rows(table: Table): Table {
    if (!this.isActive) return table;
    const rows = table.rows.filter(({ ref }) => this.shows(ref));
    const hidden = table.rows.length - rows.length;
    const sentence = `The filter hides ${commas(hidden)} of ${commas(table.rows.length)} rows.`;
    return { ...table, rows, omitted: [table.omitted, hidden ? sentence : ""].filter(Boolean).join(" ") };
  }

  /** The map with the ids that the filter dims. */
  dim(map: MapSection): MapSection {
    if (!this.isActive) return map;
    const refs = new Set(map.scene.items.flatMap(({ ref }) => (ref ? [ref] : [])));
    return { ...map, dimmed: [...refs].filter((ref) => !this.shows(ref)) };
  }

  /** The conditions in force, and those that can be chosen. */
  section(statuses: readonly Choice[]): FilterSection {
    const { status, reason, operator, events } = this.chosen;
    const codes = new Map<string, number>();
    for (const { code, count } of this.state.pruneCounts) codes.set(code, (codes.get(code) ?? 0) + count);
    const failures = new Set([...this.state.trials.values()].map(({ failure }) => failure));
    const others = [...failures].filter((code) => code && !codes.has(code)).sort();
    const choice = (name: string, text: string): Choice => ({ name, label: `${name} (${text})`, tip: "" });
    const reasons = [
      ...[...codes].map(([code, count]) => choice(code, commas(count))),
      ...others.map((code) => choice(code, "trials")),
    ];
    const chip = (name: string, value: string, label: string): FilterChip => ({ name, value, label });
    const chips = [
      ...status.map((name) => chip("status", name, `status: ${name}`)),
      ...reason.map((code) => chip("reason", code, `reason: ${code}`)),
      ...(operator ? [chip("operator", "", `operator: ${operator}`)] : []),
      ...(events ? [chip("events", "", `events ${commas(events[0])} to ${commas(events[1])}`)] : []),
    ];
    return { chips, statuses, reasons, status, reason, operator, events };
  }

  private passes({ status, reasons, operator, seq }: Facts): boolean {
    const { chosen } = this;
    return (
      (chosen.status.length === 0 || chosen.status.some((word) => status.has(word))) &&
      (chosen.reason.length === 0 || reasons.some((code) => chosen.reason.includes(code))) &&
      (this.operator === "" || operator.toLowerCase().includes(this.operator)) &&
      (chosen.events === null || (chosen.events[0] <= seq && seq <= chosen.events[1]))
    );
  }

  /** Whether an id is shown; so is one that no filter concerns. */
  private shows(ref: string): boolean {
    const facts = this.facts(ref);
    return facts === null || this.passes(facts);
  }

  private facts(ref: string): Facts | null {
    const source = this.sources.get(ref);
    if (!source) return null;
    const { kind, position, seq } = source;
    const text = (name: string) => this.columns.field<string>(kind, name).at(position);
    switch (kind) {
      case "NodeExpanded": {
        const family = this.state.familyAt.get(ref);
        const status = new Set(["expanded", ...(family ? this.familyStatus(family) : NOTHING)]);
        return { status, reasons: [], operator: text("operator"), seq };
      }
      case "RegionPruned":
        return this.eventFacts(seq);
      case "FamilyCompleted": {
        const reasons = this.state.rejectedMaps.get(ref) ?? [];
        return { status: this.familyStatus(ref), reasons, operator: text("sgraph"), seq };
      }
      case "CandidateInstantiated": {
        const verdict = this.state.verdicts.get(ref);
        return { status: new Set(verdict ? [verdict] : []), reasons: [], operator: text("sgraph"), seq };
      }
      default:
        return this.trialFacts(ref, seq);
    }
  }

  private trialFacts(ref: string, seq: number): Facts | null {
    const trial = this.state.trials.get(ref);
    if (!trial) return null;
    const { failure, time_s, candidate } = trial;
    const word = time_s !== null ? "timed" : failure ? "failed" : "";
    const source = this.sources.get(candidate);
    const graph = source && this.columns.field<string>(source.kind, "sgraph").at(source.position);
    return {
      status: new Set(word ? [word] : []),
      reasons: failure ? [failure] : [],
      operator: graph ?? "",
      seq,
    };
  }

  /** What a filter reads of an event of the log. */
  private eventFacts(seq: number): Facts {
    const kind = this.columns.kindOf(seq);
    const position = this.columns.positionOf(seq);
    const text = (name: string) => this.columns.field<string>(kind, name).at(position);
    const facts = (word: string, operator: string, reasons: readonly string[] = []): Facts => {
      return { status: word ? new Set([word]) : NOTHING, reasons, operator, seq };
    };
    const codes = () => [this.columns.field<Reason>(kind, "reason").at(position).code];
    switch (kind) {
      case "RegionPruned":
        return facts("pruned", text("operator"), codes());
      case "NodeExpanded":
        return facts("expanded", text("operator"));
      case "CandidateRejected": {
        const uses = this.columns.field<readonly string[]>(kind, "uses").at(position);
        return facts("pruned", uses.join(" "), codes());
      }
      case "VerdictReached":
        return facts(text("verdict"), "");
      case "TrialMeasured":
        return facts("timed", "");
      case "TrialFailed":
        return facts("failed", "", codes());
      case "FamilyCompleted":
        return { ...facts("", text("sgraph")), status: this.familyStatus(text("family")) };
      case "Steered":
        return facts(CHOSEN[text("action")] ?? "", "");
      default:
        return facts("", "");
    }
  }

  private familyStatus(family: string): ReadonlySet<string> {
    this.statuses ??= this.state.familyStatus;
    return this.statuses.get(family) ?? NOTHING;
  }

  /** The ids of the state with their events. */
  private get sources(): ReadonlyMap<string, Source> {
    if (this.found) return this.found;
    const sources = new Map<string, Source>();
    for (let seq = 0; seq < this.state.count; seq++) {
      const kind = this.columns.kindOf(seq);
      const position = this.columns.positionOf(seq);
      const field = IDS[kind];
      if (!field) continue;
      const id = this.columns.field<string>(kind, field).at(position);
      // A trial has several events, of which the first one counts.
      if (field !== "trial" || !sources.has(id)) sources.set(id, { kind, position, seq });
    }
    this.found = sources;
    return sources;
  }
}
