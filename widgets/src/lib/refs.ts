// Ids of the explorer, as in prism_explore/widgets/refs.py: n12 a node, f1 a family, f1.c2 a candidate,
// f1.c2/k3 a tensor, f1.c2/c4 an e-class.

/** Whether an id is that of a node of the search tree. */
export function isNode(ref: string): boolean {
  return /^n\d+$/.test(ref);
}

/** The family that an id belongs to; null for none. */
export function familyOf(ref: string): string | null {
  return /^f\d+/.exec(ref)?.[0] ?? null;
}

/** The ids of the family and candidate that contain an id: f1 for f1.c2, f1.c2 and f1 for f1.c2/k3. */
export function ancestors(ref: string): string[] {
  const [candidate = "", inside] = ref.split("/");
  const [family = ""] = candidate.split(".");
  return [...(inside ? [candidate] : []), ...(candidate.includes(".") ? [family] : [])];
}
