// Run by tests/widgets/test_report_data_packed.py: writes what each compressed file of a folder decompresses to.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { decompress } from "../src/lib/lzma.ts";

const [folder = ""] = process.argv.slice(2);
for (const name of readdirSync(folder)) {
  const path = `${folder}/${name}`;
  let out;
  try {
    out = decompress(new Uint8Array(readFileSync(path)));
  } catch (error) {
    out = String(error);
  }
  writeFileSync(path.replace(".lzma", ".out"), out);
}
