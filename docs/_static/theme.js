// Pictures and recordings follow the theme of the page, which a reader may switch. Scenes read the attribute
// `data-jp-theme-light`. The page inside a frame has no page around it that it may read, and asks the system, so both
// answers are put into its text.
const dark = matchMedia("(prefers-color-scheme: dark)");
const recordings = new Map(); // of a frame, its page as it was made
let shownDark = dark.matches;

function follow() {
  const theme = document.body.dataset.theme;
  const isDark = theme === "dark" || (theme !== "light" && dark.matches);
  document.body.setAttribute("data-jp-theme-light", String(!isDark));
  if (isDark === shownDark) return;
  shownDark = isDark;
  for (const frame of document.querySelectorAll("iframe[srcdoc]")) {
    if (!recordings.has(frame)) recordings.set(frame, frame.srcdoc);
    frame.srcdoc = recordings
      .get(frame)
      .replaceAll(/\(prefers-color-scheme: ?dark\)/g, isDark ? "all" : "not all")
      .replaceAll("color-scheme: light dark", `color-scheme: ${isDark ? "dark" : "light"}`)
      .replace("<body>", `<body data-jp-theme-light="${!isDark}">`);
  }
}

new MutationObserver(follow).observe(document.body, { attributes: true, attributeFilter: ["data-theme"] });
dark.addEventListener("change", follow);
follow();
