// The facts of a search, as they come over the wire and stand in a saved file.
// Printed by prism_explore/events/typescript.py from events/kinds.py; edit that and print again.

/** Why a region was cut or a candidate dropped; everything a reader needs to doubt it. */
export interface Reason {
  readonly code: string;
  readonly layer: "generate" | "map" | "verify" | "instantiate" | "tune";
  readonly soundness: "sound" | "heuristic" | "budget" | "user";
  readonly rule: string;
  readonly sentence: string;
  readonly formula: string;
  readonly substitution: Readonly<Record<string, string>>;
  readonly would_reopen_if: string;
}

/** When a fact was noted: its number, and seconds since the journal began. */
export interface Envelope {
  readonly seq: number;
  readonly at_s: number;
}

/** A search begins; everything needed to repeat it. */
export interface ExplorationStarted extends Envelope {
  readonly kind: "ExplorationStarted";
  readonly program: string;
  readonly target: string;
  readonly seed: number;
  readonly space: Readonly<Record<string, string>>;
  readonly axes: readonly (readonly [string, string])[];
  readonly shapes: readonly (readonly [string, number])[];
  readonly versions: readonly (readonly [string, string])[];
}

/** A partial sGraph was grown by one operator and kept. */
export interface NodeExpanded extends Envelope {
  readonly kind: "NodeExpanded";
  readonly node: string;
  readonly parent: string;
  readonly operator: string;
  readonly level: "kernel" | "block";
  readonly expression: string;
}

/** A partial sGraph was cut, and with it all that would have grown from it. */
export interface RegionPruned extends Envelope {
  readonly kind: "RegionPruned";
  readonly region: string;
  readonly parent: string;
  readonly operator: string;
  readonly level: "kernel" | "block";
  readonly reason: Reason;
  readonly stood_for: number;
  readonly counted: "exact" | "estimate";
}

/** A partial sGraph became whole: its result may equal the program's. */
export interface FamilyCompleted extends Envelope {
  readonly kind: "FamilyCompleted";
  readonly family: string;
  readonly node: string;
  readonly sgraph: string;
}

/** A family's maps were chosen. */
export interface CandidateInstantiated extends Envelope {
  readonly kind: "CandidateInstantiated";
  readonly candidate: string;
  readonly family: string;
  readonly sgraph: string;
  readonly uses: readonly string[];
  readonly conditions: readonly string[];
}

/** A choice of maps that the constraints forbid. */
export interface CandidateRejected extends Envelope {
  readonly kind: "CandidateRejected";
  readonly family: string;
  readonly uses: readonly string[];
  readonly reason: Reason;
}

/** A proved candidate was not tuned: even its roofline bound cannot beat the incumbent. */
export interface CandidateBounded extends Envelope {
  readonly kind: "CandidateBounded";
  readonly candidate: string;
  readonly floor_s: number;
  readonly best_s: number;
}

/** One iteration of an e-graph run. */
export interface SaturationStepped extends Envelope {
  readonly kind: "SaturationStepped";
  readonly subject: string;
  readonly iteration: number;
  readonly nodes: number;
  readonly classes: number;
  readonly matches: Readonly<Record<string, number>>;
}

/** A candidate was proved, refuted, or left unknown. */
export interface VerdictReached extends Envelope {
  readonly kind: "VerdictReached";
  readonly candidate: string;
  readonly verdict: "proved" | "refuted" | "unknown";
  readonly method: string;
  readonly detail: string;
  readonly conditions: readonly string[];
  readonly classes: readonly (readonly [string, string, readonly string[]])[];
  readonly trials: readonly (readonly [string, number])[];
}

/** egglog replayed the lemmas of a proof from axioms alone. */
export interface CertificateReplayed extends Envelope {
  readonly kind: "CertificateReplayed";
  readonly candidate: string;
  readonly lemmas: readonly (readonly [string, string, string, readonly string[], boolean, string])[];
}

/** Source was made for one choice of numbers. */
export interface KernelGenerated extends Envelope {
  readonly kind: "KernelGenerated";
  readonly trial: string;
  readonly candidate: string;
  readonly backend: string;
  readonly source: string;
}

/** Numbers that the tuner will try. */
export interface ParametersProposed extends Envelope {
  readonly kind: "ParametersProposed";
  readonly trial: string;
  readonly candidate: string;
  readonly parameters: readonly (readonly [string, number])[];
  readonly modelled_s: number;
  readonly floor_s: number;
}

/** A kernel whose result was compared with the reference first, then timed. */
export interface TrialMeasured extends Envelope {
  readonly kind: "TrialMeasured";
  readonly trial: string;
  readonly candidate: string;
  readonly parameters: readonly (readonly [string, number])[];
  readonly time_s: number;
  readonly p20_s: number;
  readonly p80_s: number;
  readonly samples: number;
  readonly error: number;
  readonly waited: number;
}

/** A choice of numbers that gave no timed kernel. */
export interface TrialFailed extends Envelope {
  readonly kind: "TrialFailed";
  readonly trial: string;
  readonly candidate: string;
  readonly parameters: readonly (readonly [string, number])[];
  readonly reason: Reason;
}

/** A kernel beat every kernel before it. */
export interface IncumbentImproved extends Envelope {
  readonly kind: "IncumbentImproved";
  readonly trial: string;
  readonly candidate: string;
  readonly time_s: number;
}

/** A rival's time, measured side by side with the incumbent's. */
export interface BaselineMeasured extends Envelope {
  readonly kind: "BaselineMeasured";
  readonly name: string;
  readonly time_s: number;
  readonly p20_s: number;
  readonly p80_s: number;
  readonly samples: number;
  readonly note: string;
  readonly ratio: number;
  readonly ratio_p25: number;
  readonly ratio_p75: number;
}

/** Somebody accepted, rejected, or took a steering step back. */
export interface Steered extends Envelope {
  readonly kind: "Steered";
  readonly action: "accept" | "reject" | "undo" | "redo";
  readonly subject: string;
  readonly python: string;
  readonly note: string;
}

/** A search ended, and why; the claim says what was and was not shown. */
export interface ExplorationFinished extends Envelope {
  readonly kind: "ExplorationFinished";
  readonly stop: "exhausted" | "budget" | "cancelled";
  readonly claim: string;
}

/** A fact in its envelope. */
export type Entry =
  | ExplorationStarted
  | NodeExpanded
  | RegionPruned
  | FamilyCompleted
  | CandidateInstantiated
  | CandidateRejected
  | CandidateBounded
  | SaturationStepped
  | VerdictReached
  | CertificateReplayed
  | KernelGenerated
  | ParametersProposed
  | TrialMeasured
  | TrialFailed
  | IncumbentImproved
  | BaselineMeasured
  | Steered
  | ExplorationFinished;
