// The explorer: one widget, one selection, every panel a view of what Python computed.

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
