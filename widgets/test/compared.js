// Run by tests/widgets/test_report_compared.py: prints the section of a comparison after each change, as JSON.

import { readFileSync } from "node:fs";
import { Compared } from "../src/fold/compared.ts";
import { Pool } from "../src/fold/pool.ts";

const { data, changes } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const compared = new Compared(data.compared, new Pool(data.pool));
const sections = changes.map((change) => {
  compared.look(change);
  return compared.get();
});
process.stdout.write(JSON.stringify(sections));
