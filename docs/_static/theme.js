// Pictures and recordings follow the theme of the page: scenes read `data-jp-theme-light`, frames the colour scheme.
const body = document.body;
const dark = matchMedia("(prefers-color-scheme: dark)");
function follow() {
  const theme = body.dataset.theme;
  const isDark = theme === "dark" || (theme !== "light" && dark.matches);
  const light = String(!isDark);
  if (body.dataset.jpThemeLight !== light) body.setAttribute("data-jp-theme-light", light);
}
new MutationObserver(follow).observe(body, { attributes: true, attributeFilter: ["data-theme"] });
dark.addEventListener("change", follow);
follow();
