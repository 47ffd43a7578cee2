// The anywidget module of the explorer.

import type { AnyModel } from "@anywidget/types";
import { App } from "./app.ts";
import { CompareWindow } from "./compare_window.ts";
import { h } from "./lib/dom.ts";
import { followTheme } from "./lib/theme.ts";

export default {
  render({ model, el }: { model: AnyModel; el: HTMLElement }): () => void {
    const app = model.get("layout_name") === "compare" ? new CompareWindow(model) : new App(model);
    el.append(app.element);
    const hidden = hidePictures(String(model.get("picture_id") ?? ""));
    const release = followTheme(app.element);
    app.open();
    return () => {
      release();
      hidden.remove();
      app.close();
      app.element.remove();
    };
  },
};

/** Hide the static pictures of a widget that is shown, also those that come later; removing the element ends this. */
function hidePictures(id: string): HTMLElement {
  const picture = `[data-prism-picture="${CSS.escape(id)}"]`;
  const style = h("style", {}, `${picture},.jp-OutputArea-child:has(>* ${picture}){display:none!important}`);
  document.head.append(style);
  return style;
}
