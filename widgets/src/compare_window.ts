// The window of a comparison: two searches side by side, without a search of its own.

import styles from "./explorer.css";
import { h } from "./lib/dom.ts";
import { keepKeys } from "./lib/keys.ts";
import PICTURE_CSS from "./lib/picture.css";
import { Press } from "./lib/press.ts";
import { ComparePanel } from "./panels/compare.ts";
import type { Host } from "./panels/panel.ts";
import { SCENE_CSS } from "./scene.ts";
import type { CompareSection } from "./sections.ts";
import { copyText, StatusLine } from "./status.ts";
import { type Look, type Model, Wire } from "./wire.ts";

export class CompareWindow implements Host {
  readonly element: HTMLElement;
  private readonly panel = new ComparePanel(this, false);
  private readonly status = new StatusLine();
  private readonly wire: Wire;
  private readonly press: Press;

  constructor(model: Model) {
    this.element = h(
      "div",
      {
        class: "prism-explore pxe prism-scene pe-window",
        tabindex: 0,
        role: "region",
        "aria-label": "two searches side by side",
      },
      h("style", {}, `${SCENE_CSS}\n${PICTURE_CSS}\n${styles}`),
      this.panel.element,
      h("div", { class: "pe-foot" }, this.status.element),
    );
    keepKeys(this.element);
    this.press = new Press(this.element, (changed) => this.receive(changed));
    this.wire = new Wire(model, {
      sections: (changed) => this.press.take(changed),
      reply: (reply) => this.status.announce(reply.message ?? ""),
      connection: (connection) =>
        this.status.announce(
          connection === "open" ? "" : "The kernel does not answer. The panels show the last state it sent.",
        ),
    });
  }

  open(): void {
    this.wire.open();
  }

  close(): void {
    this.wire.close();
    this.press.close();
    this.panel.close();
    this.status.close();
  }

  // ---- requests of the panel (Host)

  look(what: Look): void {
    this.wire.look(what);
  }

  copy(text: string, what: string): void {
    void copyText(text).then((ok) =>
      this.status.announce(ok ? `copied ${what}` : `could not copy ${what}; select and copy it by hand`),
    );
  }

  command(): void {}
  select(): void {}
  enter(): void {}
  hover(): void {}
  maximise(): void {}
  show(): void {}
  showSizes(): void {}

  private receive(changed: ReadonlyMap<string, unknown>): void {
    const error = changed.get("error");
    if (typeof error === "string") this.status.announce(error);
    const data = changed.get("compare");
    if (data) this.panel.update(data as CompareSection);
  }
}
