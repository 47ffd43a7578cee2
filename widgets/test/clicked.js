// Run by tests/widgets/test_report_references.py: clicks every reference in the panels of reports until no new one
// appears. Per report, it prints the clicked ids, and what opens something else, as JSON.

import { readFileSync } from "node:fs";
import { Folded } from "../src/fold/folded.ts";
import { ReportModel } from "../src/report.ts";

// Answers arrive at once.
globalThis.setTimeout = (answer) => answer();

const ABSENT = /does not contain it|It is not there/;

/** The ids in sections: of rows, shapes, links and lines of code, and the subjects of commands. */
function references(value, found) {
  if (value === null || typeof value !== "object") return;
  if (typeof value.ref === "string") found.add(value.ref);
  if (typeof value.refs === "string") for (const ref of value.refs.split(" ")) found.add(ref);
  if (value.command && value.args?.id) found.add(value.args.id);
  for (const inner of Object.values(value)) references(inner, found);
}

function clicked(report) {
  const folded = new Folded(report);
  const model = new ReportModel(report);
  const sections = {};
  let changed = {};
  model.on("msg:custom", ({ chunks }) => {
    changed = Object.fromEntries(chunks.map(([name, , , text]) => [name, JSON.parse(text)]));
    Object.assign(sections, changed);
  });
  const seen = new Set([""]);
  const waiting = [];
  const wrong = [];
  const collect = () => {
    const found = new Set();
    references(changed, found);
    for (const ref of found) if (!seen.has(ref) && seen.add(ref)) waiting.push(ref);
  };
  const look = (what) => {
    model.send({ kind: "look", ...what });
    collect();
  };
  model.send({ kind: "hello" });
  collect();
  for (const { name } of sections.map.modes) look({ map: { mode: name } });
  for (const { name } of sections.tuning.modes) look({ tuning: { mode: name } });
  const paths = new Set();
  for (let ref = waiting.pop(); ref !== undefined; ref = waiting.pop()) {
    model.send({ kind: "command", event_id: "e", name: "select", args: { id: ref } });
    collect();
    const { inspector, graph, eclasses, code, view } = sections;
    if (inspector?.ref !== ref || view.selection !== ref || ABSENT.test(inspector.description?.[0]))
      wrong.push(`${ref} opens ${JSON.stringify(inspector)?.slice(0, 200)}`);
    const owner = folded.subjectOf(ref, 0);
    if (!owner) continue;
    const isOwn = (id) => id === owner || id.startsWith(`${owner}.`);
    const title = code.title.split(" ")[0];
    if (graph.subject !== owner) wrong.push(`${ref}: the graph is that of ${graph.subject}`);
    if (!isOwn(eclasses.subject)) wrong.push(`${ref}: the e-classes are those of ${eclasses.subject}`);
    if (sections.eclasses.modes.some(({ name }) => name === "path") && !paths.has(owner)) {
      paths.add(owner);
      look({ egraph: { mode: "path" } });
      const steps = sections.eclasses.path?.steps ?? [];
      if (steps.length === 0) wrong.push(`${ref}: the path has no steps`);
      for (const step of steps.keys()) look({ egraph: { step } });
      if (!isOwn(sections.eclasses.subject))
        wrong.push(`${ref}: the path is that of ${sections.eclasses.subject}`);
      look({ egraph: { mode: "classes" } });
    }
    if (!isOwn(folded.at(0).candidateOf(title) || title)) wrong.push(`${ref}: the code is that of ${title}`);
  }
  seen.delete("");
  return { clicked: [...seen], wrong, paths: paths.size };
}

const reports = JSON.parse(readFileSync(process.argv[2], "utf8"));
process.stdout.write(JSON.stringify(reports.map(clicked)));
