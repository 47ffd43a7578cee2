// Pictures and recordings follow the theme of the page, which a reader may switch: scenes, and the explorer inside a
// frame, read the attribute `data-jp-theme-light`.
const name = "data-jp-theme-light";
const dark = matchMedia("(prefers-color-scheme: dark)");

function follow() {
  const theme = document.body.dataset.theme;
  const isLight = String(theme === "light" || (theme !== "dark" && !dark.matches));
  if (document.body.getAttribute(name) === isLight) return;
  document.body.setAttribute(name, isLight);
  for (const frame of document.querySelectorAll("iframe[srcdoc]")) {
    frame.srcdoc = frame.srcdoc.replace(/<body[^>]*>/, `<body ${name}="${isLight}" style="color-scheme:${isLight === "true" ? "light" : "dark"}">`);
  }
}

new MutationObserver(follow).observe(document.body, { attributes: true, attributeFilter: ["data-theme"] });
dark.addEventListener("change", follow);
follow();
