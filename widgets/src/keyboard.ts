// The keyboard: one row per key.

import type { App } from "./app.ts";
import { isCharacter, isPressable, isTyping, type Key, nameOf } from "./lib/keys.ts";
import { familyOf, isNode } from "./lib/refs.ts";
import { DOCKED } from "./registry.ts";

/** The keys; a row without a help text belongs to the row before it. */
export function keyTable(app: App): readonly Key[] {
  const key = (keys: string | readonly string[], shown: string, help: string, act: () => unknown): Key => ({
    keys: [keys].flat(),
    shown,
    help,
    act,
  });
  const steer = (command: "accept" | "reject") => () => {
    const id = familyOf(app.selection);
    if (id) app.command(command, { id });
    else app.announce(`select a family to ${command} it`);
  };
  const stage = () => app.panels.get(app.layout.current())?.stage;
  const arrows = "select the next item in that direction, in the panel with the focus";
  const enter =
    "open the selection: show its graph, or expand its custom kernel; Shift+Enter shows it alone, Backspace all";
  const tab = (n: number) => () => {
    const name = DOCKED[n];
    if (name) app.layout.show(name);
  };
  return [
    key(".", ".", "one step of the search", () => app.bar.step()),
    key(" ", "Space", "run, pause or resume", () => app.bar.toggleRun()),
    key("ArrowLeft", "← → ↑ ↓", arrows, () => app.walk("left")),
    key("ArrowRight", "", "", () => app.walk("right")),
    key("ArrowUp", "", "", () => app.walk("up")),
    key("ArrowDown", "", "", () => app.walk("down")),
    key("Enter", "Enter", enter, () => app.selection && app.enter(app.selection)),
    key("z", "z", "zoom the map into the selected node, and out again", () => app.zoomMap(zoomed(app))),
    key("[", "[ ]", "look back by one event, or forward", () => app.bar.move(-1)),
    key("]", "", "", () => app.bar.move(1)),
    key("w", "w", "read the inspector", () => app.readInspector()),
    key("a", "a", "accept the selected family", steer("accept")),
    key("x", "x", "reject the selected family; can be undone", steer("reject")),
    key(["u", "Ctrl+z"], "u, Ctrl+Z", "undo the last steering step", () => app.command("undo")),
    key(["U", "Ctrl+Z"], "Shift+U", "redo the last steering step", () => app.command("redo")),
    key("/", "/", "find in all panels; Enter for the next match, Shift+Enter for the previous one", () =>
      app.find.focus(),
    ),
    key("f", "f", "filter: show only a part of the search", () => app.filter.open()),
    key("b", "b", "bookmark the selection and, in an earlier state, the moment", () => app.bookmark()),
    key("m", "m", "maximise the panel, or restore it", () => app.maximise(app.layout.current())),
    key("0", "0", "fit the picture into its panel, then back to readable texts", () => stage()?.overview()),
    key("+", "+ −", "zoom into the picture, and out again", () => stage()?.zoom(1.25)),
    key("-", "", "", () => stage()?.zoom(1 / 1.25)),
    key("t", "t", "show the picture as a table", () => app.toggleTable()),
    ...DOCKED.map((_, n) =>
      key(String(n + 1), n ? "" : `1 … ${DOCKED.length}`, n ? "" : "show a tab of the dock", tab(n)),
    ),
    key("?", "?", "show this help", () => app.help.toggle()),
    key("Escape", "Esc", "close, clear, then leave the widget", () => app.leave()),
  ];
}

/** Find the row of a key event and act; a key without a row is left to the page. */
export function onKey(event: KeyboardEvent, keys: readonly Key[], app: App): void {
  if (event.altKey || event.defaultPrevented) return;
  const name = nameOf(event);
  if (isTyping(event.target)) {
    if (name === "Escape") {
      if (app.help.open) app.help.toggle();
      else if (!app.filter.close()) app.find.clear();
      app.element.focus();
      event.stopPropagation();
    }
    return;
  }
  if ((name === " " || name === "Enter") && isPressable(event.target)) return;
  if (isCharacter(name) && !app.help.lettersActive && name !== "?") return;
  const row = keys.find((key) => key.keys.includes(name));
  if (!row) return;
  if (row.act() === false) return;
  event.preventDefault();
  event.stopPropagation();
}

/** The selected node, else the node that the map is zoomed into, which zooms out. */
function zoomed(app: App): string {
  return isNode(app.selection) ? app.selection : app.root;
}
