// The anywidget module of the explorer.

import type { AnyModel } from "@anywidget/types";
import { App } from "./app.ts";
import { CompareWindow } from "./compare_window.ts";
import { followTheme } from "./lib/theme.ts";

export default {
  render({ model, el }: { model: AnyModel; el: HTMLElement }): () => void {
    const app = model.get("layout_name") === "compare" ? new CompareWindow(model) : new App(model);
    el.append(app.element);
    const release = followTheme(app.element);
    app.open();
    return () => {
      release();
      app.close();
      app.element.remove();
    };
  },
};
