// @vitest-environment happy-dom
import { afterEach, describe, expect, it, vi } from "vitest";
import { followTheme, themeAround } from "../src/lib/theme.ts";

afterEach(() => {
  document.documentElement.removeAttribute("class");
  document.body.replaceChildren();
  document.body.removeAttribute("style");
  document.body.removeAttribute("class");
});

function inside(html: Readonly<Record<string, string>>): HTMLElement {
  const host = document.createElement("div");
  for (const [name, value] of Object.entries(html)) host.setAttribute(name, value);
  const element = document.createElement("div");
  host.append(element);
  document.body.append(host);
  return element;
}

describe("themeAround", () => {
  it.each([
    [{ "data-jp-theme-light": "false" }, "dark"],
    [{ "data-jp-theme-light": "true" }, "light"],
    [{ class: "vscode-dark" }, "dark"],
    [{ class: "vscode-high-contrast" }, "dark"],
    [{ class: "vscode-high-contrast vscode-high-contrast-light" }, "light"],
    [{ class: "dark" }, "dark"],
    [{ theme: "dark" }, "dark"],
    [{ "data-theme": "light" }, "light"],
  ] as const)("reads it from %o", (attributes, theme) => {
    expect(themeAround(inside(attributes))).toBe(theme);
  });

  it("looks out of a shadow tree", () => {
    const root = inside({ class: "dark" }).attachShadow({ mode: "open" });
    const element = document.createElement("div");
    root.append(element);

    expect(themeAround(element)).toBe("dark");
  });

  it("reads the background where no element tells the theme", () => {
    document.body.style.backgroundColor = "rgb(17, 17, 17)";

    expect(themeAround(inside({ style: "background-color: rgba(255, 255, 255, 0)" }))).toBe("dark");
    expect(themeAround(inside({ style: "background-color: rgb(250, 250, 250)" }))).toBe("light");
  });
});

describe("followTheme", () => {
  it("waits until the element is in the page", async () => {
    const element = document.createElement("div");
    const release = followTheme(element);
    expect(element.dataset.theme).toBeUndefined();

    inside({ "data-jp-theme-light": "true" }).append(element);
    document.documentElement.className = "changed";
    await vi.waitFor(() => expect(element.dataset.theme).toBe("light"));
    release();
  });

  it("changes with the page until it is released", async () => {
    const element = inside({});
    const release = followTheme(element);
    document.documentElement.className = "dark";
    await vi.waitFor(() => expect(element.dataset.theme).toBe("dark"));

    release();
    document.documentElement.className = "light";
    await new Promise((done) => setTimeout(done, 20));
    expect(element.dataset.theme).toBe("dark");
  });
});
