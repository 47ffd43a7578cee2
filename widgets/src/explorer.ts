// The anywidget module of the explorer.

import type { AnyModel } from "@anywidget/types";
import { App } from "./app.ts";

export default {
  render({ model, el }: { model: AnyModel; el: HTMLElement }): () => void {
    const app = new App(model);
    el.append(app.element);
    app.open();
    return () => {
      app.close();
      app.element.remove();
    };
  },
};
