// Counts, families and pruning reasons after the first events of a search, as events/ledger computes them.

import type { Columns } from "./columns.ts";
import { Tree } from "./tree.ts";

export type Soundness = "sound" | "heuristic" | "budget" | "user";
type What = "region" | "maps" | "family" | "candidate";

export interface Reason {
  readonly code: string;
  readonly rule: string;
  readonly soundness: Soundness;
  readonly sentence: string;
}

/** How often one rule pruned for one reason. */
export interface PruneCount extends Reason {
  readonly what: What;
  readonly things: string;
  count: number;
  stood_for: number;
  /** The first region, family or candidate. */
  readonly example: string;
}

export interface FamilyMark {
  readonly family: string;
  readonly node: string;
  readonly status: "open" | "proved" | "unknown" | "refuted" | "impossible";
  readonly choice: "" | "accepted" | "rejected";
  readonly is_best: boolean;
}

export const THINGS: Readonly<Record<What, string>> = {
  region: "subtrees",
  maps: "choices of maps",
  family: "families",
  candidate: "candidates",
};

interface Trial {
  readonly candidate: string;
  readonly family: string;
  time_s: number | null;
  /** The code of the reason why there is no kernel; empty if nothing failed. */
  failure: string;
}

/** The state of a search after its first events. */
/** Kinds of events after which more maps of the same family can be tried. */
const WHILE_CHOOSING: ReadonlySet<string> = new Set([
  "CandidateRejected",
  "Steered",
  "Bookmarked",
  "SearchForked",
  "ExplorationFinished",
]);

export class State {
  readonly tree = new Tree();
  /** Number of the events that are folded. */
  count = 0;
  /** Number of the regions, by which their columns are read. */
  regions = 0;
  expanded = 0;
  phase: string | null = null;
  readonly childCount = new Map<string, number>();
  readonly prunedCount = new Map<string, number>();
  readonly familyAt = new Map<string, string>();
  readonly candidates = new Map<string, string>();
  readonly regionNumbers = new Map<string, number>();
  private readonly nodeOf = new Map<string, string>();
  readonly verdicts = new Map<string, string>();
  /** Per family, the codes of the reasons for which choices of maps were rejected. */
  readonly rejectedMaps = new Map<string, string[]>();
  /** The family whose choices of maps are tried; another one can still be legal. */
  private choosing = "";
  readonly trials = new Map<string, Trial>();
  private readonly floats = new Map<string, { readonly outcome: string; readonly allowed: boolean }>();
  private readonly dominated = new Set<string>();
  private readonly pruned = new Map<string, PruneCount>();
  private standing: { readonly action: string; readonly subject: string }[] = [];
  private undone: { readonly action: string; readonly subject: string }[] = [];

  constructor(
    private readonly columns: Columns,
    private readonly phases: Readonly<Record<string, string | null>>,
    until: number,
  ) {
    for (let event = 0; event < until; event++) this.add(columns.kindOf(event), columns.positionOf(event));
    this.count = until;
  }

  private add(kind: string, i: number): void {
    if (!WHILE_CHOOSING.has(kind)) this.choosing = "";
    this.phase = this.phases[kind] ?? this.phase;
    const text = (name: string) => this.columns.field<string>(kind, name).at(i);
    switch (kind) {
      case "NodeExpanded": {
        const parent = text("parent");
        this.expanded += 1;
        this.tree.addNode(text("node"), parent, i);
        this.childCount.set(parent, (this.childCount.get(parent) ?? 0) + 1);
        break;
      }
      case "RegionPruned": {
        const [region, parent] = [text("region"), text("parent")];
        this.tree.addRegion(parent, i);
        this.regions += 1;
        this.regionNumbers.set(region, i);
        this.prunedCount.set(parent, (this.prunedCount.get(parent) ?? 0) + 1);
        this.prune(kind, i, "region", this.columns.field<number>(kind, "stood_for").at(i), region);
        break;
      }
      case "FamilyCompleted": {
        const [family, node] = [text("family"), text("node")];
        this.nodeOf.set(family, node);
        this.familyAt.set(node, family);
        this.tree.addFamily(node, family);
        break;
      }
      case "CandidateInstantiated":
        this.candidates.set(text("candidate"), text("family"));
        break;
      case "CandidateRejected": {
        const family = text("family");
        this.choosing = family;
        push(this.rejectedMaps, family, this.columns.field<Reason>(kind, "reason").at(i).code);
        this.prune(kind, i, "maps", 1, family);
        break;
      }
      case "CandidateBounded":
        this.prune(kind, i, "candidate", 1, text("candidate"));
        break;
      case "VerdictReached":
        this.verdicts.set(text("candidate"), text("verdict"));
        break;
      case "FloatsAssessed":
        this.floats.set(text("family"), {
          outcome: text("outcome"),
          allowed: this.columns.field<boolean>(kind, "allowed").at(i),
        });
        break;
      case "FamilyDominated": {
        const family = text("family");
        if (this.columns.field<boolean>(kind, "left_out").at(i) && !this.dominated.has(family))
          this.prune(kind, i, "family", 1, family);
        this.dominated.add(family);
        break;
      }
      case "ParametersProposed":
        this.trial(text("trial"), text("candidate"));
        break;
      case "TrialFailed":
        this.trial(text("trial"), text("candidate")).failure = this.columns
          .field<Reason>(kind, "reason")
          .at(i).code;
        break;
      case "TrialMeasured":
        this.trial(text("trial"), text("candidate")).time_s = this.columns
          .field<number>(kind, "time_s")
          .at(i);
        break;
      case "Steered":
        this.steer(text("action"), text("subject"));
        break;
      case "ExplorationFinished":
        this.tree.finished = true;
        break;
    }
  }

  private familyOf(candidate: string): string {
    return this.candidates.get(candidate) || (candidate.split(".")[0] ?? "");
  }

  private trial(name: string, candidate: string): Trial {
    const known = this.trials.get(name);
    if (known) return known;
    const trial = { candidate, family: this.familyOf(candidate), time_s: null, failure: "" };
    this.trials.set(name, trial);
    return trial;
  }

  private prune(kind: string, i: number, what: What, stoodFor: number, example: string): void {
    const reason = this.columns.field<Reason>(kind, "reason").at(i);
    const key = `${reason.code}\0${reason.rule}\0${reason.soundness}\0${what}`;
    let row = this.pruned.get(key);
    if (!row) {
      row = { ...reason, what, things: THINGS[what], count: 0, stood_for: 0, example };
      this.pruned.set(key, row);
    }
    row.count += 1;
    row.stood_for += stoodFor;
  }

  private steer(action: string, subject: string): void {
    if (action === "undo") this.undone.push(...this.standing.splice(-1));
    else if (action === "redo") this.standing.push(...this.undone.splice(-1));
    else {
      this.standing.push({ action, subject });
      this.undone = [];
    }
  }

  /** Per subject, the last decision of the user. */
  get choices(): ReadonlyMap<string, "accepted" | "rejected"> {
    const choices = new Map<string, "accepted" | "rejected">();
    for (const { action, subject } of this.standing) {
      if (action === "accept") choices.set(subject, "accepted");
      else if (action === "reject") choices.set(subject, "rejected");
    }
    return choices;
  }

  /** How often each rule pruned for each reason, most frequent first. */
  get pruneCounts(): readonly PruneCount[] {
    return [...this.pruned]
      .sort(([a, x], [b, y]) => y.count - x.count || (a < b ? -1 : 1))
      .map(([, row]) => row);
  }

  /** How many items reached each stage. */
  get funnel() {
    const words = [...this.verdicts.values()];
    const count = (word: string) => words.filter((w) => w === word).length;
    return {
      expanded: this.expanded,
      pruned: this.regions,
      families: this.nodeOf.size,
      proved: count("proved"),
      unknown: count("unknown"),
      refuted: count("refuted"),
    };
  }

  /** Per family, the words by which a filter selects it. */
  get familyStatus(): ReadonlyMap<string, ReadonlySet<string>> {
    const words = new Map<string, Set<string>>();
    for (const { family, status, choice, is_best } of this.families)
      words.set(family, new Set([status, choice, is_best ? "best" : ""].filter(Boolean)));
    for (const { family, time_s, failure } of this.trials.values()) {
      if (time_s !== null) words.get(family)?.add("timed");
      if (failure) words.get(family)?.add("failed");
    }
    return words;
  }

  /** The candidate of a trial; empty if there is no such trial. */
  candidateOf(trial: string): string {
    return this.trials.get(trial)?.candidate ?? "";
  }

  hasGraph(ref: string): boolean {
    return this.nodeOf.has(ref) || this.candidates.has(ref);
  }

  /** The families in the order in which they were found. */
  get families(): readonly FamilyMark[] {
    const choices = this.choices;
    const verdicts = new Map<string, string[]>();
    for (const [candidate, verdict] of this.verdicts) push(verdicts, this.familyOf(candidate), verdict);
    const candidates = new Map<string, number>();
    for (const family of this.candidates.values()) candidates.set(family, (candidates.get(family) ?? 0) + 1);
    const best = this.bestFamily(choices);
    return [...this.nodeOf].map(([family, node]) => ({
      family,
      node,
      status: status(
        verdicts.get(family) ?? [],
        candidates.get(family) ?? 0,
        family === this.choosing ? 0 : (this.rejectedMaps.get(family)?.length ?? 0),
      ),
      choice: choices.get(family) ?? "",
      is_best: family === best,
    }));
  }

  /** The family of the fastest trial that is neither rejected nor withheld because of floating point. */
  private bestFamily(choices: ReadonlyMap<string, string>): string | null {
    let best: Trial | null = null;
    for (const trial of this.trials.values()) {
      const floats = this.floats.get(trial.family);
      const choice = choices.get(trial.family);
      const withheld = floats?.outcome === "unsafe" && !floats.allowed && choice !== "accepted";
      if (trial.time_s === null || choice === "rejected" || withheld) continue;
      if (best === null || trial.time_s < (best.time_s ?? 0)) best = trial;
    }
    return best?.family ?? null;
  }
}

function status(words: readonly string[], candidates: number, forbidden: number): FamilyMark["status"] {
  const refuted = words.filter((w) => w === "refuted").length;
  if (words.includes("proved")) return "proved";
  if (words.includes("unknown")) return "unknown";
  if (candidates && refuted >= candidates) return "refuted";
  return forbidden && !candidates ? "impossible" : "open";
}

function push<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}
