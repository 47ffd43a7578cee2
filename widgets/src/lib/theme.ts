// The theme of the page around the explorer: light or dark, found in the way each host tells it.

export type Theme = "light" | "dark";

/** One row per host: the selector of an element around the explorer, and the theme that it stands for. */
const HOSTS: readonly (readonly [selector: string, theme: Theme])[] = [
  ["[data-jp-theme-light='false']", "dark"], // JupyterLab, Notebook 7, Voila
  ["[data-jp-theme-light='true']", "light"],
  [".vscode-dark, .vscode-high-contrast:not(.vscode-high-contrast-light)", "dark"],
  [".vscode-light, .vscode-high-contrast-light", "light"],
  [".dark, .dark-theme, [theme='dark'], [data-theme='dark'], [data-color-mode='dark']", "dark"], // marimo, Colab, Sphinx
  [".light, .light-theme, [theme='light'], [data-theme='light'], [data-color-mode='light']", "light"],
];

/** The theme of the nearest element that tells it, else that of the background, else that of the system. */
export function themeAround(element: Element): Theme {
  for (let at = parentOf(element); at !== null; at = parentOf(at)) {
    const row = HOSTS.find(([selector]) => at?.matches(selector));
    if (row) return row[1];
  }
  for (let at = parentOf(element); at !== null; at = parentOf(at)) {
    const found = luminance(getComputedStyle(at).backgroundColor);
    if (found !== null) return found < 0.5 ? "dark" : "light";
  }
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

/** Keep `data-theme` of an element equal to the theme around it; returns a function that ends this. */
export function followTheme(element: HTMLElement): () => void {
  const update = () => {
    // Before it is in the page, nothing around it tells the theme.
    if (!element.isConnected) return;
    const theme = themeAround(element);
    if (element.dataset.theme !== theme) element.dataset.theme = theme;
  };
  const observer = new MutationObserver(update);
  for (const root of [document.documentElement, document.body]) observer.observe(root, { attributes: true });
  const system = matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", update);
  // An element that is put into the page gets a size.
  const size = new ResizeObserver(update);
  size.observe(element);
  update();
  return () => {
    size.disconnect();
    observer.disconnect();
    system.removeEventListener("change", update);
  };
}

/** The parent, also out of a shadow tree. */
function parentOf(element: Element): Element | null {
  const root = element.getRootNode();
  return element.parentElement ?? (root instanceof ShadowRoot ? root.host : null);
}

/** The relative luminance of a colour of `getComputedStyle`; null if one can look through it. */
function luminance(color: string): number | null {
  const parts = color.match(/[\d.]+/g)?.map(Number) ?? [];
  const [red = 0, green = 0, blue = 0, alpha = 1] = parts;
  if (parts.length < 3 || alpha < 0.5) return null;
  return (0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255;
}
