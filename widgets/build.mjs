// Bundle each widget into one minified file that needs no network and no other file: an ES module, or a script for the
// HTML of a picture with sliders, which hosts run as they run any script of an output.
//
//   node build.mjs            writes ../prism_explore/widgets/static/<widget>.js
//   node build.mjs <folder>   writes <folder>/<widget>.js; the packaging test compares the two
//
// The bundles are committed, so that a reader with pip alone sees pictures. The same sources
// give the same bytes on every machine: versions are locked, and nothing here asks for the time.

import { existsSync } from "node:fs";
import { mkdir, readFile, stat } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build, transform } from "esbuild";

/**
 * The stems of the sources that are widgets, src/<stem>.ts, their largest sizes in bytes and their formats. A notebook
 * saves the explorer with every widget it shows, and a picture with every output, so they must stay small; a report has
 * its module compressed to less than a half.
 */
const WIDGETS = [
  { stem: "explorer", limit: 200 * 1024, format: "esm" },
  { stem: "report", limit: 240 * 1024, format: "esm" },
  { stem: "frames", limit: 64 * 1024, format: "iife" },
];

/** Styles become a text of the bundle; esbuild minifies only what it bundles as a style sheet. */
const minifiedStyles = {
  name: "minified styles",
  setup(bundle) {
    bundle.onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const { code } = await transform(await readFile(path, "utf8"), { loader: "css", minify: true });
      // Every rule names the root: its short second class saves 4 KB per bundle.
      return { contents: code.trim().replaceAll(".prism-explore", ".pxe"), loader: "text" };
    });
  },
};

const here = dirname(fileURLToPath(import.meta.url));
const out = resolve(process.argv[2] ?? join(here, "..", "prism_explore", "widgets", "static"));

const missing = WIDGETS.filter(({ stem }) => !existsSync(join(here, "src", `${stem}.ts`)));
if (missing.length > 0) {
  console.error(
    `nothing to build: ${missing.map(({ stem }) => `widgets/src/${stem}.ts`).join(", ")} is not there`,
  );
  process.exit(1);
}

await mkdir(out, { recursive: true });
let tooLarge = false;
for (const { stem, limit, format } of WIDGETS) {
  const outfile = join(out, `${stem}.js`);
  await build({
    absWorkingDir: here,
    entryPoints: [`src/${stem}.ts`],
    outfile,
    bundle: true,
    minify: true,
    format,
    target: "es2022",
    charset: "utf8",
    legalComments: "inline",
    plugins: [minifiedStyles],
    logLevel: "warning",
  });
  const { size } = await stat(outfile);
  console.log(`${relative(process.cwd(), outfile)}  ${(size / 1024).toFixed(1)} KB`);
  if (size > limit) {
    console.error(`${stem}.js has ${size} bytes; a widget may have at most ${limit}`);
    tooLarge = true;
  }
}
process.exit(tooLarge ? 1 : 0);
