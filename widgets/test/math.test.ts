// @vitest-environment happy-dom

import { describe, expect, it } from "vitest";
import { typeset } from "../src/lib/math.ts";

describe("typeset", () => {
  it("makes the elements of a formula, with the text as its title", () => {
    const box = typeset('<math displaystyle="true"><mfrac><mn>1</mn><mi>x</mi></mfrac></math>', "1/x");

    expect(box.querySelector("math > mfrac > mi")?.textContent).toBe("x");
    expect(box.getAttribute("title")).toBe("1/x");
  });

  it("shows the text where there is no MathML, or an element or a syntax that it does not know", () => {
    for (const bad of ["", "<math><script>1</script></math>", "<math><mi>x</math>", "<p>x</p>"]) {
      const box = typeset(bad, "1/x");

      expect(box.textContent).toBe("1/x");
      expect(box.children).toHaveLength(0);
    }
  });

  it("drops attributes that it does not know, and keeps names as text", () => {
    const box = typeset(
      '<math onclick="x()"><mi href="javascript:x()">&lt;img src=x&gt;</mi></math>',
      "name",
    );

    expect(box.querySelector("mi")?.attributes).toHaveLength(0);
    expect(box.querySelector("math")?.getAttribute("onclick")).toBeNull();
    expect(box.querySelector("mi")?.textContent).toBe("<img src=x>");
  });
});
