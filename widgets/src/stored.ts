// What this browser remembers of the arrangement: sizes that the user changed.

const KEY = "prism_explore.layout";

/** Read the remembered numbers; what is no number between the limits is left out. */
export function readStored(
  limits: ReadonlyMap<string, readonly [least: number, most: number]>,
): Map<string, number> {
  const found = new Map<string, number>();
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(KEY) ?? "{}");
    if (typeof stored !== "object" || stored === null) return found;
    for (const [name, [least, most]] of limits) {
      const value = (stored as Record<string, unknown>)[name];
      if (typeof value === "number" && value >= least && value <= most) found.set(name, value);
    }
  } catch {
    // Storage is denied, or holds no JSON: nothing is remembered.
  }
  return found;
}

export function writeStored(values: ReadonlyMap<string, number>): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(Object.fromEntries(values)));
  } catch {
    // Storage is denied or full: the arrangement lasts as long as the page.
  }
}
