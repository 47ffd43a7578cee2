// What this browser remembers of the arrangement: sizes that the user changed.

const KEY = "prism_explore.layout";

/** All that is remembered; nothing where storage is denied or holds no object of JSON. */
function readAll(): Readonly<Record<string, unknown>> {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(KEY) ?? "{}");
    return typeof stored === "object" && stored !== null && !Array.isArray(stored) ? { ...stored } : {};
  } catch {
    return {};
  }
}

/** Read the remembered numbers; what is no number between the limits is left out. */
export function readStored(
  limits: ReadonlyMap<string, readonly [least: number, most: number]>,
): Map<string, number> {
  const found = new Map<string, number>();
  const stored = readAll();
  for (const [name, [least, most]] of limits) {
    const value = stored[name];
    if (typeof value === "number" && value >= least && value <= most) found.set(name, value);
  }
  return found;
}

/** Remember the numbers of these names; a name without a number is forgotten, and other names keep theirs. */
export function writeStored(names: readonly string[], values: ReadonlyMap<string, number>): void {
  const kept = Object.entries(readAll()).filter(([name]) => !names.includes(name));
  try {
    localStorage.setItem(KEY, JSON.stringify(Object.fromEntries([...kept, ...values])));
  } catch {
    // Storage is denied or full: the arrangement lasts as long as the page.
  }
}
