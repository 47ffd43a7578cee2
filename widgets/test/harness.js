// Replaces Python for harness.html: answers hello with the recorded sections, and every command with yes.

import explorer from "../../prism_explore/widgets/static/explorer.js";

const wish = new URLSearchParams(location.search);
document.body.dataset.jpThemeLight = wish.get("theme") === "dark" ? "false" : "true";
if (wish.get("width")) document.body.style.width = `${wish.get("width")}px`;

const answer = await fetch(wish.get("sections") ?? "recorded.json");
const sections = await answer.json();

class RecordedModel {
  seq = 0;
  listeners = new Map();

  get() {
    return undefined;
  }

  on(event, listener) {
    this.listeners.set(event, [...(this.listeners.get(event) ?? []), listener]);
  }

  off(event, listener) {
    this.listeners.set(
      event,
      (this.listeners.get(event) ?? []).filter((l) => l !== listener),
    );
  }

  send(message) {
    if (message.kind === "hello") setTimeout(() => this.tell(sections, message.have, []), 0);
    if (message.kind === "command") {
      const args = Object.values(message.args).map((v) => JSON.stringify(v));
      const python = `sess.${message.name}(${args.join(", ")})`;
      const reply = { event_id: message.event_id, ok: true, python };
      setTimeout(() => this.tell({}, this.seq, [reply]), 0);
    }
  }

  tell(changed, after, replies) {
    this.seq += 1;
    const chunks = Object.entries(changed).map(([name, payload]) => [name, 0, 1, JSON.stringify(payload)]);
    for (const listener of this.listeners.get("msg:custom") ?? []) {
      listener({ kind: "sections", seq: this.seq, after, chunks, replies });
    }
  }
}

const el = document.createElement("div");
document.body.append(el);
explorer.render({ model: new RecordedModel(), el });
if (wish.get("height")) el.firstElementChild.style.height = `${wish.get("height")}px`;
for (const name of (wish.get("tab") ?? "").split(",").filter(Boolean)) {
  setTimeout(() => el.querySelector(`[data-tab-of="${name}"]`)?.click(), 50);
}
for (const key of wish.getAll("key")) {
  setTimeout(() => {
    el.firstElementChild.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  }, 100);
}
