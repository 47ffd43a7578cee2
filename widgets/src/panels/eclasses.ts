// The e-classes of a candidate, and the lemmas of its certificate.

import type { EClasses } from "../sections.ts";
import type { Host, Panel } from "./panel.ts";
import { SplitPanel } from "./split.ts";

export class EClassesPanel extends SplitPanel implements Panel<EClasses> {
  readonly name = "eclasses";

  constructor(host: Host) {
    super("eclasses", "E-classes", "lemmas of the proof", host, "No candidate has a verdict yet.");
  }

  update(data: EClasses): void {
    this.show(data.caption, data.scene, data.lemmas);
  }
}
