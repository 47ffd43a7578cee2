// Shapes for the tests of drawings.
import type { Shape } from "../src/scene.ts";

export const box = (id: string, x: number, y: number, more: Partial<Shape> = {}): Shape => ({
  type: "shape",
  id,
  role: "box",
  kind: "op",
  x,
  y,
  w: 40,
  h: 20,
  ref: id,
  ...more,
});
