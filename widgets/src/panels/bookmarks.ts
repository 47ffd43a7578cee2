// The bookmarks: jump to one, edit its note, delete it, restore it.

import { add, h, mark, refill } from "../lib/dom.ts";
import { icon } from "../lib/glyph.ts";
import type { BookmarkRow, BookmarksSection } from "../sections.ts";
import { Frame, type Host, type Panel, tool } from "./panel.ts";

/** Time without a keystroke after which a note is sent. */
const NOTE_MS = 600;

export class BookmarksPanel implements Panel<BookmarksSection> {
  readonly name = "bookmarks";
  readonly element: HTMLElement;
  private readonly frame: Frame;
  private readonly make = h("button", { type: "button", class: "pe-button", "data-command": "bookmark" });
  private readonly undo = h("button", { type: "button", class: "pe-button" });
  private readonly list = h("ul", { class: "pe-bookmarks" });
  private readonly deleted = h("details", { class: "pe-deleted" });
  private readonly empty = h(
    "p",
    { class: "pe-empty" },
    "No bookmarks yet. Press b to bookmark what is selected; an earlier state of the search can be bookmarked too.",
  );
  private data: BookmarksSection | null = null;
  private text = "";
  /** Number of bookmarks after which the note of a new one gets the focus. */
  private awaited: number | null = null;

  constructor(private readonly host: Host) {
    this.frame = new Frame("bookmarks", "Bookmarks", host);
    this.make.addEventListener("click", () => {
      const { id, at } = (this.data?.add.args ?? {}) as { readonly id?: string; readonly at?: number };
      this.bookmark(id ?? "", at ?? 0);
    });
    this.frame.body.append(
      h(
        "div",
        { class: "pe-bookmarkbox" },
        h("div", { class: "pe-group" }, this.make, this.undo),
        this.empty,
        this.list,
        this.deleted,
      ),
    );
    this.undo.addEventListener("click", () => this.data && host.command(this.data.undo.command));
    this.element = this.frame.element;
  }

  /** Bookmark an id and, in an earlier state, the moment; false if there is neither. */
  bookmark(ref: string, at: number): boolean {
    if (!ref && !at) return false;
    this.awaited = (this.data?.bookmarks.length ?? 0) + 1;
    this.host.command("bookmark", at ? { id: ref, at } : { id: ref });
    return true;
  }

  update(data: BookmarksSection): void {
    this.data = data;
    this.frame.caption.textContent = data.caption;
    refill(this.make, icon("bookmark"), h("span", {}, data.add.label));
    this.make.disabled = !data.add.enabled;
    mark(this.make, "title", `${data.add.description}\n${data.add.python}\nkey: b`);
    refill(this.undo, icon("undo"), h("span", {}, data.undo.label));
    this.undo.disabled = !data.undo.enabled;
    mark(this.undo, "title", `${data.undo.description}\n${data.undo.python}`);
    const text = JSON.stringify([data.bookmarks, data.deleted]);
    if (text === this.text) return;
    this.text = text;
    const focused = document.activeElement?.closest("[data-bookmark]")?.getAttribute("data-bookmark");
    const typed = document.activeElement instanceof HTMLTextAreaElement ? document.activeElement : null;
    const [start, end] = [typed?.selectionStart ?? 0, typed?.selectionEnd ?? 0];
    this.empty.hidden = data.bookmarks.length > 0;
    refill(
      this.list,
      ...data.bookmarks.map((row) => this.row(row, focused === row.bookmark ? typed?.value : undefined)),
    );
    this.deleted.hidden = data.deleted.length === 0;
    refill(
      this.deleted,
      h("summary", {}, `${data.deleted.length} deleted`),
      h("ul", { class: "pe-bookmarks" }, ...data.deleted.map((row) => this.deletedRow(row))),
    );
    const isNew = this.awaited !== null && data.bookmarks.length >= this.awaited;
    const of = isNew ? data.bookmarks.at(-1)?.bookmark : focused;
    if (isNew) this.awaited = null;
    const note = of ? this.list.querySelector<HTMLTextAreaElement>(`[data-bookmark="${of}"] textarea`) : null;
    if (note && (isNew || typed)) {
      note.focus();
      if (typed && !isNew) note.setSelectionRange(start, end);
    }
  }

  select(): void {}
  hover(): void {}
  close(): void {}

  private row(row: BookmarkRow, typed: string | undefined): HTMLElement {
    const jump = h(
      "button",
      {
        type: "button",
        class: "pe-link pe-mono",
        title: "show it",
        "aria-label": `${row.bookmark}: show ${row.label}`,
      },
      row.label,
    );
    jump.addEventListener("click", () => this.jump(row));
    const note = h("textarea", {
      class: "pe-text",
      rows: 1,
      maxlength: 4000,
      placeholder: "note",
      "aria-label": `note of ${row.bookmark}`,
    });
    note.value = typed ?? row.note;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let sent = row.note;
    const send = () => {
      clearTimeout(timer);
      if (note.value === sent) return;
      sent = note.value;
      this.host.command("edit_bookmark", { id: row.bookmark, note: note.value });
    };
    note.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(send, NOTE_MS);
    });
    note.addEventListener("change", send);
    return h(
      "li",
      { "data-bookmark": row.bookmark, "data-ref": row.ref || null },
      jump,
      note,
      tool("close", `delete ${row.bookmark}`, () =>
        this.host.command("delete_bookmark", { id: row.bookmark }),
      ),
    );
  }

  private deletedRow(row: BookmarkRow): HTMLElement {
    const restore = h("button", { type: "button", class: "pe-button" }, `restore ${row.bookmark}`);
    restore.addEventListener("click", () => this.host.command("restore_bookmark", { id: row.bookmark }));
    const item = h("li", {});
    add(item, h("span", { class: "pe-mono" }, row.label), h("span", {}, row.note), restore);
    return item;
  }

  /** Show the moment of a bookmark, and select what it is on. */
  private jump(row: BookmarkRow): void {
    this.host.look({ cursor: row.at });
    if (row.ref) this.host.select(row.ref);
  }
}
