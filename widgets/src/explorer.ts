// The anywidget module of the explorer.

import type { AnyModel } from "@anywidget/types";
import { App } from "./app.ts";
import { followTheme } from "./lib/theme.ts";

export default {
  render({ model, el }: { model: AnyModel; el: HTMLElement }): () => void {
    const app = new App(model);
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
