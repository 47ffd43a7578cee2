// Run by tests/widgets/test_report_fold.py: prints the sections of a report for the views in a file, as JSON.

import { readFileSync, writeFileSync } from "node:fs";
import { Folded } from "../src/fold/folded.ts";

const [input = "", output = ""] = process.argv.slice(2);
const { report, looks } = JSON.parse(readFileSync(input, "utf8"));
const folded = new Folded(report);
const sections = looks.map((look) => folded.sections(look));
writeFileSync(output, JSON.stringify(sections));
