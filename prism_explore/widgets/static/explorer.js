var xe=`/* Styles of the explorer. Colours come from the theme of the notebook if there is one, else from scene.ts. */
.prism-explore {
  --bg: var(--jp-layout-color1, var(--vscode-editor-background, var(--pe-page)));
  --bg2: var(--jp-layout-color2, var(--vscode-sideBar-background, var(--pe-tensor)));
  --fg: var(--jp-ui-font-color0, var(--vscode-foreground, var(--pe-ink)));
  --fg2: var(--pe-muted);
  --rule: var(--jp-border-color2, var(--vscode-panel-border, var(--pe-faint)));
  --accent: var(--pe-select);
  --mono: var(--jp-code-font-family, ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace);
  --ui: var(--jp-ui-font-family, ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, sans-serif);
  position: relative;
  display: flex;
  flex-direction: column;
  box-sizing: border-box;
  width: 100%;
  height: 740px;
  min-height: 460px;
  resize: vertical;
  overflow: hidden;
  container-type: inline-size;
  color: var(--fg);
  background: var(--bg);
  border: 1px solid var(--rule);
  border-radius: 8px;
  font: 13px / 1.45 var(--ui);
  text-align: left;
}
.prism-explore *,
.prism-explore *::before {
  box-sizing: border-box;
}
:where(.prism-explore) :is(h3, h4, p, dl, dt, dd, ol, ul, li, pre, table) {
  margin: 0;
  padding: 0;
  color: inherit;
}
:where(.prism-explore) :is(button, input, select) {
  font: inherit;
  color: inherit;
}
.prism-explore.prism-explore.prism-explore :is([hidden], .pe-hidden:not(span)) {
  display: none;
}
.prism-explore span.pe-hidden {
  position: absolute;
  clip-path: inset(50%);
}
.prism-explore :focus-visible {
  outline: 2px solid var(--accent);
  outline-offset: -2px;
}
.prism-explore:focus-visible {
  outline-offset: 0;
}

/* ---- the bar on top */
.prism-explore .pe-transport {
  flex: none;
  border-bottom: 1px solid var(--rule);
  background: var(--bg);
}
.prism-explore .pe-bar {
  display: flex;
  flex-wrap: wrap;
  align-items: center;
  gap: 6px 9px;
  padding: 6px 12px;
}
.prism-explore .pe-bar + .pe-bar {
  padding-top: 0;
}
.prism-explore .pe-title {
  display: flex;
  align-items: baseline;
  gap: 10px;
  font-size: 14px;
}
.prism-explore .pe-brand {
  font-weight: 700;
  letter-spacing: 0.02em;
}
.prism-explore .pe-brand::before {
  content: "◆";
  margin-right: 5px;
  color: var(--accent);
}
.prism-explore .pe-state {
  padding: 1px 9px;
  border: 1px solid var(--rule);
  border-radius: 99px;
  font-size: 12px;
  color: var(--fg2);
  white-space: nowrap;
}
.prism-explore .pe-state[data-state="running"] {
  border-color: var(--accent);
  color: var(--fg);
}
.prism-explore .pe-state[data-state="running"]::before {
  content: "";
  display: inline-block;
  width: 8px;
  height: 8px;
  margin-right: 6px;
  border-radius: 50%;
  background: var(--accent);
  animation: pe-pulse 1.2s ease-in-out infinite;
}
@keyframes pe-pulse {
  50% {
    opacity: 0.25;
  }
}
.prism-explore .pe-best {
  display: flex;
  flex-wrap: wrap;
  align-items: baseline;
  gap: 8px;
  margin-left: auto;
  padding: 3px 10px;
  border: 1px solid var(--rule);
  border-radius: 6px;
  background: var(--bg2);
  cursor: pointer;
}
.prism-explore .pe-best > * {
  white-space: nowrap;
}
.prism-explore .pe-best strong {
  font-size: 15px;
  font-variant-numeric: tabular-nums;
}
.prism-explore .pe-best .pe-glyph {
  align-self: center;
  margin: 0 -4px 0 0;
}
.prism-explore .pe-best .pe-muted + .pe-muted::before {
  content: "·";
  margin-right: 8px;
}
.prism-explore .pe-group {
  display: inline-flex;
  align-items: center;
  gap: 4px;
}
.prism-explore .pe-button {
  display: inline-flex;
  align-items: center;
  gap: 6px;
  min-height: 28px;
  padding: 2px 10px 2px 8px;
  border: 1px solid var(--rule);
  border-radius: 6px;
  background: var(--bg2);
  cursor: pointer;
  white-space: nowrap;
}
.prism-explore .pe-button:hover:not(:disabled),
.prism-explore .pe-best:hover,
.prism-explore .pe-chip:hover {
  border-color: var(--fg2);
}
.prism-explore .pe-button:disabled {
  opacity: 0.45;
  cursor: default;
}
.prism-explore .pe-bare {
  padding: 2px 7px;
}
.prism-explore .pe-primary:not(:disabled) {
  border-color: var(--accent);
  box-shadow: inset 0 0 0 1px var(--accent);
  font-weight: 600;
}
.prism-explore .pe-select,
.prism-explore .pe-search {
  min-height: 28px;
  padding: 2px 6px;
  border: 1px solid var(--rule);
  border-radius: 6px;
  background: var(--bg);
}
.prism-explore .pe-search {
  min-height: 24px;
  width: 92px;
}
.prism-explore .pe-icon {
  flex: none;
  width: 14px;
  height: 14px;
  fill: none;
  stroke: currentColor;
  stroke-width: 1.6;
  stroke-linejoin: round;
  stroke-linecap: round;
}
.prism-explore .pe-icon .solid {
  fill: currentColor;
  stroke-width: 1;
}
.prism-explore .pe-phases {
  display: flex;
  list-style: none;
  border: 1px solid var(--rule);
  border-radius: 6px;
  overflow: hidden;
}
.prism-explore .pe-phases li {
  padding: 2px 7px;
  min-height: 26px;
  line-height: 22px;
  color: var(--fg2);
  font-size: 12px;
}
.prism-explore .pe-phases li + li {
  border-left: 1px solid var(--rule);
}
.prism-explore .pe-phases li[aria-current] {
  background: var(--bg2);
  color: var(--fg);
  font-weight: 600;
  box-shadow: inset 0 -2px 0 var(--accent);
}
.prism-explore .pe-counters {
  display: flex;
  gap: 10px;
  list-style: none;
}
.prism-explore .pe-counters li {
  display: flex;
  align-items: center;
  gap: 5px;
  white-space: nowrap;
}
.prism-explore .pe-counters strong {
  font-weight: 600;
  font-variant-numeric: tabular-nums;
}
.prism-explore .pe-counters span {
  color: var(--fg2);
}
.prism-explore .pe-glyph {
  flex: none;
  vertical-align: -2px;
}
.prism-explore .pe-glyph .body {
  stroke-width: 1.3px;
}
.prism-explore td > .pe-glyph {
  margin-right: 6px;
}
.prism-explore .pe-moment {
  width: 150px;
  accent-color: var(--accent);
}
.prism-explore .pe-when {
  min-width: 34px;
  color: var(--fg2);
  font-size: 12px;
}
.prism-explore .pe-when:disabled {
  text-decoration: none;
  cursor: default;
}
.prism-explore[data-past] :is(.pe-stage, .pe-tablebox) {
  background: color-mix(in srgb, #e69f00 7%, transparent);
}
.prism-explore .pe-banner {
  flex: none;
  padding: 5px 12px;
  border-bottom: 1px solid var(--rule);
  border-left: 4px solid #e69f00;
  background: var(--bg2);
}

/* A narrow explorer shows only the current phase. */
@container (max-width: 1120px) {
  .prism-explore .pe-phases li:not([aria-current]) {
    display: none;
  }
  .prism-explore .pe-phases li {
    border: 0;
  }
  .prism-explore .pe-phases:not(:has([aria-current])) {
    display: none;
  }
}

/* ---- panels */
.prism-explore .pe-main {
  flex: 1;
  min-height: 0;
  display: grid;
  grid-template-columns: minmax(0, 34fr) minmax(0, 40fr) minmax(0, 26fr);
  grid-template-rows: minmax(0, 58fr) minmax(0, 42fr);
}
.prism-explore .pe-panel,
.prism-explore .pe-dock {
  display: flex;
  flex-direction: column;
  min-width: 0;
  min-height: 0;
}
.prism-explore .pe-main > .pe-panel + .pe-panel {
  border-left: 1px solid var(--rule);
}
.prism-explore .pe-dock {
  position: relative;
  grid-column: 1 / -1;
  border-top: 1px solid var(--rule);
}
.prism-explore .pe-dock > .pe-panel {
  flex: 1;
}
.prism-explore .pe-head {
  flex: none;
  display: flex;
  align-items: center;
  gap: 8px;
  min-height: 32px;
  padding: 2px 6px 2px 12px;
  border-bottom: 1px solid var(--rule);
  background: var(--bg2);
}
.prism-explore .pe-head h3 {
  flex: none;
  font-size: 13px;
  font-weight: 600;
  line-height: 1.4;
}
.prism-explore .pe-caption {
  flex: 1;
  min-width: 0;
  overflow: hidden;
  color: var(--fg2);
  font-size: 12px;
  text-overflow: ellipsis;
  white-space: nowrap;
}
.prism-explore .pe-head .pe-tools {
  flex: none;
  display: flex;
}
.prism-explore .pe-tool {
  display: inline-grid;
  place-items: center;
  width: 26px;
  height: 26px;
  padding: 0;
  border: 0;
  border-radius: 5px;
  background: none;
  color: var(--fg2);
  cursor: pointer;
}
.prism-explore .pe-tool:hover {
  background: color-mix(in srgb, var(--fg) 12%, transparent);
  color: var(--fg);
}
.prism-explore .pe-body {
  flex: 1;
  display: flex;
  flex-direction: column;
  min-width: 0;
  min-height: 0;
}
.prism-explore .pe-stage {
  position: relative;
  flex: 1;
  min-height: 0;
  overflow: hidden;
}
.prism-explore .pe-stage > svg {
  display: block;
  width: 100%;
  height: 100%;
  cursor: grab;
  touch-action: pan-y;
}
.prism-explore .pe-stage[data-dragging] > svg {
  cursor: grabbing;
}
.prism-explore .pe-stage.pe-strip {
  flex: none;
  height: 100px;
  border-top: 1px solid var(--rule);
}
.prism-explore .pe-note {
  position: absolute;
  right: 6px;
  bottom: 6px;
  max-width: calc(100% - 12px);
  padding: 1px 8px;
  border: 1px solid var(--rule);
  border-radius: 4px;
  background: var(--bg);
  color: var(--fg2);
  font-size: 12px;
}
.prism-explore .pe-tablebox > .pe-note {
  position: static;
  border: 0;
}
.prism-explore .pe-tip {
  position: absolute;
  z-index: 5;
  max-width: 280px;
  padding: 5px 9px;
  border: 1px solid var(--fg2);
  border-radius: 5px;
  background: var(--bg);
  font-size: 12px;
  white-space: pre-line;
  overflow-wrap: anywhere;
  pointer-events: none;
  box-shadow: 0 3px 12px rgb(0 0 0 / 22%);
}
.prism-explore .item[data-ref] {
  cursor: pointer;
}
.prism-explore .item .reach {
  fill: none;
  stroke: transparent;
  stroke-width: 9px;
}
.prism-explore .item.hovered > .body {
  stroke: var(--accent);
  stroke-width: 2px;
}
.prism-explore .item.selected > .body {
  stroke: var(--accent);
  stroke-width: 3px;
}
.prism-explore .item.dimmed {
  opacity: 0.18;
}
.prism-explore .pe-empty {
  padding: 18px;
  color: var(--fg2);
  text-align: center;
}
.prism-explore .pe-muted {
  color: var(--fg2);
  font-size: 12px;
}
.prism-explore .pe-chips {
  display: flex;
  flex-wrap: wrap;
  gap: 4px;
  padding: 5px 10px;
}
.prism-explore .pe-chip {
  padding: 1px 9px;
  border: 1px solid var(--rule);
  border-radius: 99px;
  background: var(--bg);
  font-size: 12px;
  cursor: pointer;
}
.prism-explore .pe-chip[aria-pressed="true"] {
  border-color: var(--accent);
  box-shadow: inset 0 0 0 1px var(--accent);
  font-weight: 600;
}

/* ---- inspector */
.prism-explore .pe-inspector {
  overflow: auto;
  padding: 10px 12px;
  gap: 10px;
  display: flex;
}
.prism-explore .pe-inspector > * {
  flex: none;
}
.prism-explore .pe-inspector .pe-chips {
  padding: 2px 0;
}
.prism-explore .pe-part {
  display: flex;
  flex-direction: column;
  gap: 6px;
}
.prism-explore .pe-part h4 {
  display: flex;
  align-items: center;
  gap: 7px;
  font-size: 14px;
  font-weight: 600;
  overflow-wrap: anywhere;
}
.prism-explore .pe-word {
  padding: 0 7px;
  border: 1px solid var(--fg2);
  border-radius: 4px;
  font-size: 12px;
  font-weight: 400;
  white-space: nowrap;
}
.prism-explore .pe-card {
  display: flex;
  flex-direction: column;
  gap: 6px;
  padding: 9px 11px;
  border: 1px solid var(--rule);
  border-left: 3px solid var(--fg2);
  border-radius: 6px;
  background: var(--bg2);
}
.prism-explore .pe-card header {
  display: flex;
  flex-wrap: wrap;
  align-items: center;
  gap: 7px;
}
.prism-explore .pe-card header .pe-word {
  margin-left: auto;
}
.prism-explore .pe-eyebrow {
  color: var(--fg2);
  font-size: 12px;
  font-weight: 600;
}
.prism-explore .pe-sentence {
  font-weight: 500;
}
.prism-explore :is(pre, code, .pe-mono, .pe-python) {
  font-family: var(--mono);
  font-size: 12px;
}
.prism-explore pre {
  color: var(--fg);
  background: none;
  line-height: 1.5;
}
.prism-explore .pe-formula,
.prism-explore .pe-snippet {
  padding: 5px 9px;
  border: 1px solid var(--rule);
  border-radius: 4px;
  background: var(--bg);
  white-space: pre-wrap;
  overflow-wrap: anywhere;
}
.prism-explore div.pe-formula {
  overflow-x: auto;
  white-space: nowrap;
  overflow-wrap: normal;
}
.prism-explore div.pe-formula math {
  font-size: 14px;
}
.prism-explore :is(.pe-chain > span, summary, dd, td, li) > div.pe-formula {
  display: inline-block;
  max-width: 100%;
  padding: 1px 4px;
  border: 0;
  background: none;
  vertical-align: middle;
}
.prism-explore .pe-facts {
  display: grid;
  grid-template-columns: fit-content(42%) minmax(0, 1fr);
  gap: 2px 12px;
}
.prism-explore .pe-facts dt {
  float: none;
  width: auto;
  color: var(--fg2);
  font-weight: 400;
}
.prism-explore .pe-facts dd {
  overflow-wrap: anywhere;
  font-variant-numeric: tabular-nums;
}
.prism-explore .pe-reopen b {
  font-weight: 600;
}
.prism-explore .pe-action {
  display: flex;
  flex-wrap: wrap;
  align-items: center;
  gap: 4px 8px;
}
.prism-explore .pe-python {
  padding: 1px 8px;
  border: 1px dashed var(--rule);
  border-radius: 4px;
  background: none;
  cursor: copy;
  overflow-wrap: anywhere;
  text-align: left;
}
.prism-explore .pe-python:hover {
  border-color: var(--fg2);
}

.prism-explore summary {
  cursor: pointer;
}
.prism-explore .pe-steps {
  display: flex;
  flex-direction: column;
  gap: 4px;
  list-style: none;
}
.prism-explore .pe-steps > li {
  padding-top: 4px;
  border-top: 1px solid var(--rule);
  overflow-wrap: anywhere;
}
.prism-explore .pe-steps .pe-glyph {
  margin-right: 5px;
}
.prism-explore .pe-steps .pe-link {
  margin-right: 7px;
}
.prism-explore .pe-chain {
  display: grid;
  gap: 1px;
  margin: 3px 0 3px 14px;
}
.prism-explore .pe-chain > span {
  margin: 0 0 3px 14px;
}

/* ---- the dock and its tables */
.prism-explore .pe-tabs {
  flex: none;
  display: flex;
  overflow-x: auto;
  border-bottom: 1px solid var(--rule);
  background: var(--bg2);
}
.prism-explore .pe-tabs button {
  padding: 5px 14px;
  border: 0;
  border-bottom: 2px solid transparent;
  background: none;
  color: var(--fg2);
  cursor: pointer;
  white-space: nowrap;
}
.prism-explore .pe-tabs button[aria-selected="true"] {
  border-bottom-color: var(--accent);
  background: var(--bg);
  color: var(--fg);
  font-weight: 600;
}
.prism-explore .pe-tablebox {
  flex: 1;
  min-width: 0;
  min-height: 0;
  overflow: auto;
  overflow-anchor: none;
}
.prism-explore .pe-table .pe-gap td {
  padding: 0;
  border: 0;
}
.prism-explore .pe-table {
  width: 100%;
  border-collapse: collapse;
  border: 0;
  font-size: 13px;
  table-layout: auto;
}
.prism-explore .pe-table caption {
  padding: 6px 12px;
  color: var(--fg2);
  text-align: left;
}
.prism-explore .pe-table :is(th, td) {
  padding: 4px 10px;
  border: 0;
  border-bottom: 1px solid var(--rule);
  text-align: left;
  vertical-align: middle;
  font-weight: 400;
  white-space: normal;
  overflow-wrap: break-word;
  max-width: 560px;
}
.prism-explore .pe-table .pe-short {
  white-space: nowrap;
}
.prism-explore .pe-table thead th {
  position: sticky;
  top: 0;
  z-index: 1;
  padding: 0;
  vertical-align: bottom;
  background: var(--bg);
  box-shadow: inset 0 -1px 0 var(--rule);
}
.prism-explore .pe-table .pe-right {
  text-align: right;
  font-variant-numeric: tabular-nums;
  white-space: nowrap;
}
.prism-explore .pe-table tbody tr {
  background: none;
}
.prism-explore .pe-table tbody tr[data-ref] {
  cursor: pointer;
}
.prism-explore .pe-table tbody tr:is(.hovered, :hover)[data-ref] {
  background: color-mix(in srgb, var(--fg) 7%, transparent);
}
.prism-explore .pe-table tbody tr[aria-selected="true"] {
  background: color-mix(in srgb, var(--accent) 16%, transparent);
  box-shadow: inset 3px 0 0 var(--accent);
}
.prism-explore .pe-table tr:is(.row-rejected, .row-undone) td {
  color: var(--fg2);
}
.prism-explore .pe-table tr:is(.row-rejected, .row-undone) td:first-child {
  text-decoration: line-through;
}
.prism-explore .pe-clamp {
  display: -webkit-box;
  -webkit-box-orient: vertical;
  -webkit-line-clamp: 2;
  line-clamp: 2;
  overflow: hidden;
}
.prism-explore .pe-table .pe-wide {
  width: 99%;
  min-width: 190px;
}
.prism-explore .pe-table td.pe-tools {
  width: 1%;
  padding: 0 6px;
  white-space: nowrap;
}
.prism-explore .pe-sort {
  display: inline-block;
  width: 100%;
  padding: 5px 10px;
  border: 0;
  background: none;
  color: var(--fg2);
  font-size: 12px;
  font-weight: 600;
  text-align: inherit;
}
.prism-explore button.pe-sort {
  cursor: pointer;
}
.prism-explore .pe-arrow {
  margin-left: 3px;
}
.prism-explore .pe-link {
  padding: 0;
  border: 0;
  background: none;
  text-decoration: underline;
  cursor: pointer;
  white-space: nowrap;
}
.prism-explore .pe-split {
  flex: 1;
  min-height: 0;
  display: grid;
  grid-template-columns: minmax(0, 1fr) minmax(0, 1fr);
}
.prism-explore .pe-left {
  display: flex;
  flex-direction: column;
  min-height: 0;
  border-right: 1px solid var(--rule);
}
.prism-explore .pe-questions {
  flex: 1;
  min-height: 0;
  display: grid;
  grid-template-columns: minmax(300px, 2fr) minmax(0, 3fr);
}
.prism-explore .pe-questions > [hidden] + .pe-tablebox {
  grid-column: 1 / -1;
}
.prism-explore .pe-form {
  display: flex;
  flex-direction: column;
  gap: 8px;
  padding: 8px 12px;
  overflow: auto;
  border-right: 1px solid var(--rule);
}
.prism-explore .pe-fields {
  display: grid;
  grid-template-columns: repeat(auto-fill, minmax(116px, 1fr));
  gap: 6px 10px;
}
.prism-explore .pe-fields label {
  display: grid;
  gap: 1px;
  color: var(--fg2);
  font-size: 12px;
}
.prism-explore .pe-number {
  min-width: 0;
  min-height: 26px;
  padding: 2px 6px;
  border: 1px solid var(--rule);
  border-radius: 6px;
  background: var(--bg);
  color: var(--fg);
}
.prism-explore fieldset {
  min-width: 0;
  margin: 0;
  padding: 0;
  border: 0;
}
.prism-explore legend {
  padding: 0;
  color: var(--fg2);
  font-size: 12px;
}
.prism-explore .pe-checks {
  display: flex;
  flex-wrap: wrap;
  gap: 2px 12px;
}
.prism-explore .pe-check {
  display: inline-flex;
  align-items: center;
  gap: 5px;
}
.prism-explore .pe-ledger {
  flex: 1;
  min-height: 0;
  display: flex;
  flex-direction: column;
}
.prism-explore .pe-claim {
  flex: none;
  padding: 7px 12px;
  border-bottom: 1px solid var(--rule);
  font-weight: 500;
}
.prism-explore .pe-columns {
  flex: 1;
  min-height: 0;
  display: grid;
  grid-template-columns: minmax(0, 5fr) minmax(0, 4fr) minmax(0, 5fr);
}
.prism-explore .pe-column {
  min-height: 0;
  overflow: auto;
}
.prism-explore .pe-column + .pe-column {
  border-left: 1px solid var(--rule);
}
.prism-explore .pe-column > h4 {
  padding: 6px 12px 2px;
  font-size: 12px;
  font-weight: 600;
  color: var(--fg2);
}
.prism-explore .pe-column > .pe-group {
  display: flex;
  flex-wrap: wrap;
  padding: 4px 12px;
}
.prism-explore .pe-column .pe-tablebox {
  overflow: visible;
}
.prism-explore .pe-code {
  padding: 8px 12px;
  overflow: auto;
}
.prism-explore .pe-source {
  flex: 1;
  min-height: 0;
  display: flex;
  gap: 14px;
  tab-size: 4;
}
.prism-explore .pe-lines {
  flex: none;
  color: var(--fg2);
  text-align: right;
  user-select: none;
}
.prism-explore .pe-source code {
  flex: 1;
  font: inherit;
  line-height: inherit;
  background: none;
  color: inherit;
  padding: 0;
}
.prism-explore .pe-foot {
  flex: none;
  display: flex;
  align-items: center;
  gap: 12px;
  min-height: 28px;
  padding: 1px 20px 1px 12px;
  border-top: 1px solid var(--rule);
  background: var(--bg2);
  font-size: 12px;
}
.prism-explore .pe-status {
  flex: 1;
  min-width: 0;
  overflow: hidden;
  text-overflow: ellipsis;
  white-space: nowrap;
}
.prism-explore .pe-foot .pe-python {
  flex: none;
  max-width: 45%;
  overflow: hidden;
  text-overflow: ellipsis;
  white-space: nowrap;
}
.prism-explore .pe-help {
  position: absolute;
  inset: 64px 20px auto auto;
  z-index: 10;
  margin: 0;
  padding: 14px 18px;
  border: 1px solid var(--fg2);
  border-radius: 8px;
  background: var(--bg);
  color: var(--fg);
  box-shadow: 0 6px 24px rgb(0 0 0 / 30%);
}
.prism-explore .pe-help[open] {
  max-height: calc(100% - 84px);
  overflow: auto;
  display: grid;
  justify-items: start;
  gap: 10px;
}
.prism-explore .pe-help kbd {
  padding: 0 5px;
  border: 1px solid var(--rule);
  border-radius: 4px;
  background: none;
  color: inherit;
  font: 12px var(--mono);
}

/* The caption of a docked panel is next to the tabs. */
.prism-explore:not([data-narrow]) .pe-dock .pe-head {
  position: absolute;
  top: 0;
  right: 0;
  max-width: calc(100% - 480px);
  border: 0;
  background: none;
}
.prism-explore:not([data-narrow]) .pe-dock .pe-head h3 {
  display: none;
}

/* ---- one panel at a time */
.prism-explore[data-solo] .pe-main {
  display: flex;
  flex-direction: column;
}
.prism-explore[data-solo] .pe-main > .pe-panel {
  flex: 1;
  border: 0;
}
.prism-explore[data-solo] .pe-dock {
  order: -1;
  flex: 1;
  border: 0;
}
.prism-explore[data-solo] .pe-dock[data-only-tabs] {
  flex: none;
}
.prism-explore[data-narrow] :is(.pe-split, .pe-columns, .pe-questions) {
  grid-template: auto / minmax(0, 1fr);
  overflow: auto;
}
.prism-explore[data-narrow] .pe-questions {
  grid-auto-rows: max-content;
}
.prism-explore[data-narrow] :is(.pe-form, .pe-questions .pe-tablebox) {
  overflow: visible;
  border-right: 0;
}
.prism-explore[data-narrow] .pe-counters {
  flex-wrap: wrap;
}
.prism-explore[data-narrow] .pe-left {
  min-height: 260px;
  border-right: 0;
}

@media (prefers-reduced-motion: reduce) {
  .prism-explore .pe-state::before {
    animation: none;
  }
}

/* ---- the choice of a chart, and the brush over parallel coordinates */
.prism-explore .pe-choices {
  display: flex;
  flex-wrap: wrap;
  gap: 4px 8px;
  align-items: center;
  padding: 4px 8px;
}
.prism-explore .pe-chooser {
  display: inline-flex;
  flex-wrap: wrap;
  gap: 4px;
}
.prism-explore .pe-chooser[hidden] {
  display: none;
}
.prism-explore .pe-overlay .pe-brush {
  fill: var(--pe-select);
  fill-opacity: 0.25;
  stroke: var(--pe-select);
  pointer-events: none;
}
.prism-explore .pe-overlay .pe-handle {
  cursor: ns-resize;
}
.prism-explore .pe-overlay .pe-handle path {
  fill: var(--pe-select);
  stroke: var(--pe-page);
}
.prism-explore .pe-overlay .pe-handle:focus-visible {
  outline: 2px solid var(--pe-select);
}
.prism-explore .pe-overlay .pe-target {
  fill: transparent;
  stroke: none;
}

/* The mark of a warning. */
.prism-explore .pe-glyph .bang {
  stroke: #000000;
  stroke-width: 1.5;
  fill: none;
}
`;var Fe="http://www.w3.org/2000/svg";function we(s,e,t){for(let[r,n]of Object.entries(e))n==null||n===!1||(typeof n=="function"?s.addEventListener(r,n):s.setAttribute(r,n===!0?"":String(n)));return b(s,...t),s}function b(s,...e){for(let t of e)t===null||t===!1||s.append(typeof t=="string"?document.createTextNode(t):t)}function o(s,e={},...t){return we(document.createElement(s),e,t)}function u(s,e={},...t){return we(document.createElementNS(Fe,s),e,t)}function f(s,...e){s.replaceChildren(),b(s,...e)}function d(s,e,t){let r=t===!0?"":t===!1?null:t;s.getAttribute(e)!==r&&(r===null?s.removeAttribute(e):s.setAttribute(e,r))}function I(s,e){s.textContent!==e&&(s.textContent=e)}var ye=0;function H(s){return ye+=1,`prism-${s}-${ye}`}var j=class{constructor(e){this.panels=e;this.input.addEventListener("input",()=>this.find())}panels;input=o("input",{class:"pe-search",type:"search",placeholder:"find  /","aria-label":"find in the pictures"});count=o("span",{class:"pe-muted pe-found"});focus(){this.input.focus()}clear(){return this.input.value?(this.input.value="",this.find(),!0):!1}refresh(){this.input.value&&this.find()}find(){let e=this.input.value.trim().toLowerCase(),r=e?a=>[a.ref??"",a.tip??"",...(a.texts??[]).map(l=>l.text)].join(`
`).toLowerCase().includes(e):null,i=["map","graph"].map(a=>this.panels.get(a)?.stage).reduce((a,l)=>a+(l?.find(r)??0),0);this.count.textContent=e?`${i} found`:""}};var G=class{constructor(e,t){this.closed=t;let r=o("dl",{class:"pe-facts"});for(let i of e)i.shown&&b(r,o("dt",{},o("kbd",{},i.shown)),o("dd",{},i.help));let n=o("button",{type:"button",class:"pe-button"},"Close");n.addEventListener("click",()=>this.toggle()),f(this.element,o("h3",{},"Keys, while the explorer has the focus"),r,o("label",{},this.letters," keys without Ctrl are active"),o("p",{class:"pe-muted"},"Ctrl + wheel zooms a picture, dragging moves it, a double click fits it into its panel."),n)}closed;element=o("dialog",{class:"pe-help","aria-label":"keys"});letters=o("input",{type:"checkbox",checked:!0});get open(){return this.element.open}get lettersActive(){return this.letters.checked}toggle(){this.open?(this.element.close(),this.closed()):this.element.show()}};function ke(s){return s instanceof Element&&s.closest("input, select, textarea, [contenteditable]")!==null}function Ee(s){return s instanceof Element&&s.closest("button, a, summary")!==null}function Me(s){return(s.ctrlKey||s.metaKey?"Ctrl+":"")+s.key}function Se(s){return s.length===1&&s!==" "}function B(s){return/^n\d+$/.test(s)}function V(s){return/^f\d+/.exec(s)?.[0]??null}function Te(s){let[e="",t]=s.split("/"),[r=""]=e.split(".");return[...t?[e]:[],...e.includes(".")?[r]:[]]}var Le=JSON.parse('{"unknown": "dots", "pruned-sound": "hatch", "pruned-heuristic": "sparse", "pruned-budget": "dashes", "pruned-user": "cross", "aggregate": "weave"}'),He=JSON.parse('{"hatch": [6, "M-1,1 L1,-1 M0,6 L6,0 M5,7 L7,5", "ink-hatch"], "sparse": [12, "M-1,1 L1,-1 M0,12 L12,0 M11,13 L13,11", "ink-hatch"], "dots": [8, "M2,1.2 a.9,.9 0 1 0 .01,0 M6,5.2 a.9,.9 0 1 0 .01,0", "ink-status"], "dashes": [8, "M0,2 H5 M4,6 H8 M0,6 H1", "ink-status"], "cross": [8, "M-1,1 L1,-1 M0,8 L8,0 M7,9 L9,7 M-1,7 L1,9 M0,0 L8,8 M7,-1 L9,1", "ink-status"], "weave": [6, "M0,1.5 H3 M3,4.5 H6", "ink-hatch"]}'),D=JSON.parse('{"diamond": [[0.5, 0], [1, 0.5], [0.5, 1], [0, 0.5]], "hexagon": [[0.25, 0], [0.75, 0], [1, 0.5], [0.75, 1], [0.25, 1], [0, 0.5]], "square": [[0, 0], [1, 0], [1, 1], [0, 1]], "triangle": [[0, 0], [1, 0], [0.5, 1]], "star": [[0.5, 0.0], [0.623, 0.33], [0.976, 0.345], [0.7, 0.565], [0.794, 0.905], [0.5, 0.71], [0.206, 0.905], [0.3, 0.565], [0.024, 0.345], [0.377, 0.33]]}'),Ce=`
.prism-scene{--pe-page:#ffffff;--pe-ink:#18202b;--pe-muted:#4d5866;--pe-line:#5a6675;--pe-faint:#dde2e8;--pe-surface:#ffffff;--pe-tensor:#eef1f5;--pe-kernel:#f1f6ec;--pe-kernel-line:#5c8a38;--pe-block:#e9f0fa;--pe-block-line:#3f6ea6;--pe-loop:#d5e3f5;--pe-loop-line:#2f5d94;--pe-accum:#ffe2a0;--pe-chip:#ffffff;--pe-grey:#e3e7ec;--pe-pruned:#ddd7e8;--pe-hatch:#8d80a5;--pe-family:#ffffff;--pe-select:#0072b2;--pe-band:#cfe0f3;--pe-curve:#1f4e86;--pe-proved:#009e73;--pe-unknown:#e69f00;--pe-refuted:#d55e00;--pe-budget:#f0e442;--pe-user:#cc79a7;--pe-on-status:#000000;font-family:ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;}
@media (prefers-color-scheme:dark){.prism-scene{--pe-page:#14181d;--pe-ink:#eef2f6;--pe-muted:#b3bdc8;--pe-line:#8894a3;--pe-faint:#303842;--pe-surface:#222a33;--pe-tensor:#2c3641;--pe-kernel:#1a231a;--pe-kernel-line:#86b862;--pe-block:#182636;--pe-block-line:#7ba8dd;--pe-loop:#20364f;--pe-loop-line:#8fb8ea;--pe-accum:#5c4713;--pe-chip:#14181d;--pe-grey:#3a444f;--pe-pruned:#463f55;--pe-hatch:#7b7091;--pe-family:#222a33;--pe-select:#6cc0f5;--pe-band:#24405f;--pe-curve:#9cc6f5;}}
[data-jp-theme-light='true'] .prism-scene,.vscode-light .prism-scene{--pe-page:#ffffff;--pe-ink:#18202b;--pe-muted:#4d5866;--pe-line:#5a6675;--pe-faint:#dde2e8;--pe-surface:#ffffff;--pe-tensor:#eef1f5;--pe-kernel:#f1f6ec;--pe-kernel-line:#5c8a38;--pe-block:#e9f0fa;--pe-block-line:#3f6ea6;--pe-loop:#d5e3f5;--pe-loop-line:#2f5d94;--pe-accum:#ffe2a0;--pe-chip:#ffffff;--pe-grey:#e3e7ec;--pe-pruned:#ddd7e8;--pe-hatch:#8d80a5;--pe-family:#ffffff;--pe-select:#0072b2;--pe-band:#cfe0f3;--pe-curve:#1f4e86;}
[data-jp-theme-light='false'] .prism-scene,.vscode-dark .prism-scene{--pe-page:#14181d;--pe-ink:#eef2f6;--pe-muted:#b3bdc8;--pe-line:#8894a3;--pe-faint:#303842;--pe-surface:#222a33;--pe-tensor:#2c3641;--pe-kernel:#1a231a;--pe-kernel-line:#86b862;--pe-block:#182636;--pe-block-line:#7ba8dd;--pe-loop:#20364f;--pe-loop-line:#8fb8ea;--pe-accum:#5c4713;--pe-chip:#14181d;--pe-grey:#3a444f;--pe-pruned:#463f55;--pe-hatch:#7b7091;--pe-family:#222a33;--pe-select:#6cc0f5;--pe-band:#24405f;--pe-curve:#9cc6f5;}
.prism-scene.prism-scene[data-theme='light']{--pe-page:#ffffff;--pe-ink:#18202b;--pe-muted:#4d5866;--pe-line:#5a6675;--pe-faint:#dde2e8;--pe-surface:#ffffff;--pe-tensor:#eef1f5;--pe-kernel:#f1f6ec;--pe-kernel-line:#5c8a38;--pe-block:#e9f0fa;--pe-block-line:#3f6ea6;--pe-loop:#d5e3f5;--pe-loop-line:#2f5d94;--pe-accum:#ffe2a0;--pe-chip:#ffffff;--pe-grey:#e3e7ec;--pe-pruned:#ddd7e8;--pe-hatch:#8d80a5;--pe-family:#ffffff;--pe-select:#0072b2;--pe-band:#cfe0f3;--pe-curve:#1f4e86;}
.prism-scene.prism-scene[data-theme='dark']{--pe-page:#14181d;--pe-ink:#eef2f6;--pe-muted:#b3bdc8;--pe-line:#8894a3;--pe-faint:#303842;--pe-surface:#222a33;--pe-tensor:#2c3641;--pe-kernel:#1a231a;--pe-kernel-line:#86b862;--pe-block:#182636;--pe-block-line:#7ba8dd;--pe-loop:#20364f;--pe-loop-line:#8fb8ea;--pe-accum:#5c4713;--pe-chip:#14181d;--pe-grey:#3a444f;--pe-pruned:#463f55;--pe-hatch:#7b7091;--pe-family:#222a33;--pe-select:#6cc0f5;--pe-band:#24405f;--pe-curve:#9cc6f5;}
.prism-scene text{fill:var(--pe-ink);stroke:none;pointer-events:none;white-space:pre;}
.prism-scene .page{fill:var(--pe-page);}
.prism-scene .pattern{pointer-events:none;stroke:none;}
.prism-scene .ink-hatch{stroke:var(--pe-hatch);fill:none;stroke-width:1.2;}
.prism-scene .ink-status{stroke:#000;fill:none;stroke-opacity:.45;stroke-width:1.1;}
.prism-scene .head{fill:var(--pe-line);stroke:none;}
.prism-scene .item.selected>.body{stroke:var(--pe-select);stroke-width:3px;}
.prism-scene .item:focus-visible{outline:2px solid var(--pe-select);outline-offset:2px;}
.prism-scene .item.band>.body{stroke:none;}
.prism-scene .t-title{font-size:15px;font-weight:600;}
.prism-scene .t-heading{font-size:13px;font-weight:600;}
.prism-scene .t-label{font-size:13px;font-weight:600;}
.prism-scene .t-body{font-size:13px;font-weight:400;}
.prism-scene .t-mono{font-size:12px;font-weight:400;font-family:ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", "DejaVu Sans Mono", monospace;}
.prism-scene .t-mono-muted{font-size:12px;font-weight:400;font-family:ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", "DejaVu Sans Mono", monospace;fill:var(--pe-muted);}
.prism-scene .t-small{font-size:12px;font-weight:400;}
.prism-scene .t-muted{font-size:12px;font-weight:400;fill:var(--pe-muted);}
.prism-scene .t-letter{font-size:12px;font-weight:700;}
.prism-scene .k-frame-kernel>.body{fill:var(--pe-kernel);stroke:var(--pe-kernel-line);stroke-width:1.5px;}
.prism-scene .k-frame-block>.body{fill:var(--pe-block);stroke:var(--pe-block-line);stroke-width:1.5px;}
.prism-scene .k-frame-loop>.body{fill:var(--pe-loop);stroke:var(--pe-loop-line);stroke-width:2px;}
.prism-scene .k-plate-kernel>.body{fill:var(--pe-kernel);stroke:none;stroke-width:0px;}
.prism-scene .k-plate-block>.body{fill:var(--pe-block);stroke:none;stroke-width:0px;}
.prism-scene .k-plate-loop>.body{fill:var(--pe-loop);stroke:none;stroke-width:0px;}
.prism-scene .k-tensor>.body{fill:var(--pe-tensor);stroke:var(--pe-line);stroke-width:1.5px;}
.prism-scene .k-result>.body{fill:var(--pe-tensor);stroke:var(--pe-ink);stroke-width:2px;}
.prism-scene .k-op>.body{fill:var(--pe-surface);stroke:var(--pe-line);stroke-width:1.5px;}
.prism-scene .k-load>.body{fill:var(--pe-surface);stroke:var(--pe-block-line);stroke-width:1.5px;}
.prism-scene .k-store>.body{fill:var(--pe-surface);stroke:var(--pe-block-line);stroke-width:1.5px;}
.prism-scene .k-accum>.body{fill:var(--pe-accum);stroke:var(--pe-ink);stroke-width:2px;}
.prism-scene .k-custom>.body{fill:var(--pe-block);stroke:var(--pe-block-line);stroke-width:2px;}
.prism-scene .k-chip-partitioned>.body{fill:var(--pe-chip);stroke:var(--pe-line);stroke-width:1px;}
.prism-scene .k-chip-full>.body{fill:none;stroke:var(--pe-line);stroke-width:1px;stroke-dasharray:2 2;}
.prism-scene .k-chip-full>text{fill:var(--pe-muted);}
.prism-scene .k-chip-open>.body{fill:var(--pe-unknown);stroke:var(--pe-ink);stroke-width:1px;}
.prism-scene .k-chip-open>text{fill:var(--pe-on-status);}
.prism-scene .k-edge>.body{fill:none;stroke:var(--pe-line);stroke-width:1.5px;}
.prism-scene .k-edge-loop>.body{fill:none;stroke:var(--pe-loop-line);stroke-width:1.5px;}
.prism-scene .k-expanded>.body{fill:var(--pe-grey);stroke:var(--pe-line);stroke-width:0.8px;}
.prism-scene .k-frontier>.body{fill:none;stroke:var(--pe-line);stroke-width:1.5px;}
.prism-scene .k-family>.body{fill:var(--pe-family);stroke:var(--pe-ink);stroke-width:1.5px;}
.prism-scene .k-proved>.body{fill:var(--pe-proved);stroke:var(--pe-ink);stroke-width:1.5px;}
.prism-scene .k-proved>text{fill:var(--pe-on-status);}
.prism-scene .k-unknown>.body{fill:var(--pe-unknown);stroke:var(--pe-ink);stroke-width:1.5px;}
.prism-scene .k-unknown>text{fill:var(--pe-on-status);}
.prism-scene .k-unknown>text{paint-order:stroke;stroke:var(--pe-unknown);stroke-width:4px;stroke-linejoin:round;}
.prism-scene .k-refuted>.body{fill:var(--pe-refuted);stroke:var(--pe-ink);stroke-width:1.5px;}
.prism-scene .k-refuted>text{fill:var(--pe-on-status);}
.prism-scene .k-pruned-sound>.body{fill:var(--pe-pruned);stroke:var(--pe-line);stroke-width:0.8px;}
.prism-scene .k-pruned-sound>text{paint-order:stroke;stroke:var(--pe-pruned);stroke-width:4px;stroke-linejoin:round;}
.prism-scene .k-pruned-heuristic>.body{fill:var(--pe-pruned);stroke:var(--pe-ink);stroke-width:1.5px;stroke-dasharray:4 2;}
.prism-scene .k-pruned-heuristic>text{paint-order:stroke;stroke:var(--pe-pruned);stroke-width:4px;stroke-linejoin:round;}
.prism-scene .k-pruned-budget>.body{fill:var(--pe-budget);stroke:var(--pe-ink);stroke-width:1px;}
.prism-scene .k-pruned-budget>text{fill:var(--pe-on-status);}
.prism-scene .k-pruned-budget>text{paint-order:stroke;stroke:var(--pe-budget);stroke-width:4px;stroke-linejoin:round;}
.prism-scene .k-pruned-user>.body{fill:var(--pe-user);stroke:var(--pe-ink);stroke-width:1.5px;}
.prism-scene .k-pruned-user>text{fill:var(--pe-on-status);}
.prism-scene .k-pruned-user>text{paint-order:stroke;stroke:var(--pe-user);stroke-width:4px;stroke-linejoin:round;}
.prism-scene .k-leader>.body{fill:none;stroke:var(--pe-line);stroke-width:1px;stroke-dasharray:2 2;}
.prism-scene .k-aggregate>.body{fill:var(--pe-grey);stroke:var(--pe-line);stroke-width:0.8px;}
.prism-scene .k-aggregate>text{paint-order:stroke;stroke:var(--pe-grey);stroke-width:4px;stroke-linejoin:round;}
.prism-scene .k-eclass>.body{fill:var(--pe-surface);stroke:var(--pe-line);stroke-width:1.5px;}
.prism-scene .k-eclass-shared>.body{fill:var(--pe-surface);stroke:var(--pe-ink);stroke-width:2.5px;}
.prism-scene .k-of-program>.body{fill:var(--pe-tensor);stroke:var(--pe-kernel-line);stroke-width:1.5px;}
.prism-scene .k-of-candidate>.body{fill:var(--pe-block);stroke:var(--pe-block-line);stroke-width:1.5px;}
.prism-scene .k-edge-member>.body{fill:none;stroke:var(--pe-line);stroke-width:1.2px;}
.prism-scene .k-axis>.body{fill:none;stroke:var(--pe-line);stroke-width:1px;}
.prism-scene .k-grid>.body{fill:none;stroke:var(--pe-faint);stroke-width:1px;}
.prism-scene .k-curve>.body{fill:none;stroke:var(--pe-curve);stroke-width:2.5px;}
.prism-scene .k-curve-2>.body{fill:none;stroke:var(--pe-ink);stroke-width:2px;stroke-dasharray:6 3;}
.prism-scene .k-curve-3>.body{fill:none;stroke:var(--pe-muted);stroke-width:2px;stroke-dasharray:2 3;}
.prism-scene .k-band>.body{fill:var(--pe-band);stroke:none;stroke-width:0px;}
.prism-scene .k-spread>.body{fill:none;stroke:var(--pe-line);stroke-width:1.2px;}
.prism-scene .k-trial>.body{fill:var(--pe-surface);stroke:var(--pe-ink);stroke-width:1.2px;}
.prism-scene .k-trial-best>.body{fill:var(--pe-proved);stroke:var(--pe-ink);stroke-width:1.5px;}
.prism-scene .k-trial-best>text{fill:var(--pe-on-status);}
.prism-scene .k-trial-failed>.body{fill:none;stroke:var(--pe-ink);stroke-width:2px;}
.prism-scene .k-baseline>.body{fill:none;stroke:var(--pe-ink);stroke-width:1.5px;}
.prism-scene .k-modelled>.body{fill:none;stroke:var(--pe-ink);stroke-width:1.5px;stroke-dasharray:7 4;}
.prism-scene .k-roof>.body{fill:none;stroke:var(--pe-ink);stroke-width:2px;}
.prism-scene .k-trial-line>.body{fill:none;stroke:var(--pe-line);stroke-width:1.2px;}
.prism-scene .k-trial-outside>.body{fill:none;stroke:var(--pe-faint);stroke-width:1px;stroke-dasharray:2 3;}
.prism-scene .k-plate>.body{fill:var(--pe-page);stroke:none;stroke-width:0px;}
.prism-scene .k-bar-uncertain>.body{fill:var(--pe-band);stroke:var(--pe-line);stroke-width:1px;stroke-dasharray:3 3;}
.prism-scene .k-bar>.body{fill:var(--pe-band);stroke:var(--pe-line);stroke-width:1px;}
.prism-scene .k-plain>.body{fill:none;stroke:none;stroke-width:0px;}
.prism-scene .k-badge-accepted>.body{fill:none;stroke:var(--pe-select);stroke-width:3px;}
.prism-scene .k-badge-best>.body{fill:var(--pe-ink);stroke:var(--pe-page);stroke-width:1px;}
.prism-scene .k-badge-best>text{fill:var(--pe-page);}
.prism-scene .k-badge-cross>.body{fill:none;stroke:var(--pe-on-status);stroke-width:2px;}
.prism-scene .k-warning>.body{fill:var(--pe-budget);stroke:var(--pe-ink);stroke-width:1.5px;}
.prism-scene .k-warning>text{fill:var(--pe-on-status);}
`;var Pe=12,We={proved:"diamond",family:"diamond",unknown:"hexagon",refuted:"square",frontier:"circle",expanded:"circle","badge-best":"star"},Ue=[[.5,0],[1,1],[0,1]];function L(s){let e=We[s]??(s.startsWith("pruned")?"triangle":"circle"),t=s==="warning"?Ue:D[e],r=t?u("polygon",{class:"body",points:t.map(([a,l])=>`${1+a*Pe},${1+l*Pe}`).join(" ")}):u("circle",{class:"body",cx:7,cy:7,r:5}),n=s==="warning"?u("path",{class:"bang",d:"M7 5.2v3.4M7 10.3v.9"}):null,i=/^[\w-]+$/.test(s)?s:"plain";return u("svg",{class:"pe-glyph",viewBox:"0 0 14 14",width:14,height:14,"aria-hidden":"true"},u("g",{class:`item k-${i}`},r,n))}var Je={step:"M3 3v10M6 3l7 5-7 5z",run:"M4 2.5l9 5.5-9 5.5z",pause:"M4 3h3v10H4zM9 3h3v10H9z",cancel:"M3.5 3.5h9v9h-9z",undo:"M6 3L2.5 6.5 6 10M3 6.5h6a3.5 3.5 0 0 1 0 7H6",redo:"M10 3l3.5 3.5L10 10M13 6.5H7a3.5 3.5 0 0 0 0 7h3",accept:"M2.5 8.5l3.5 4 7.5-9",reject:"M3.5 3.5l9 9M12.5 3.5l-9 9",copy:"M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",maximise:"M2.5 6v-3.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10",fit:"M2.5 5V2.5H5M11 2.5h2.5V5M13.5 11v2.5H11M5 13.5H2.5V11M5.5 5.5h5v5h-5z",table:"M2.5 3h11v10h-11zM2.5 6.3h11M2.5 9.6h11M6 3v10",plus:"M8 3v10M3 8h10",minus:"M3 8h10",expand:"M2.5 2.5h11v11h-11zM8 5v6M5 8h6",collapse:"M2.5 2.5h11v11h-11zM5 8h6",help:"M6 6a2 2 0 1 1 2.6 1.9c-.4.2-.6.5-.6 1V10M8 12.2v.3",close:"M4 4l8 8M12 4l-8 8"},Xe=new Set(["run","pause","cancel"]);function v(s){return u("svg",{class:"pe-icon",viewBox:"0 0 16 16",width:16,height:16,"aria-hidden":"true"},u("path",{d:Je[s],class:Xe.has(s)?"solid":null}))}var Ye="http://www.w3.org/1998/Math/MathML",Qe={math:["displaystyle"],mrow:[],mi:[],mn:[],mo:["stretchy"],mtext:[],mspace:["width"],mfrac:[],msqrt:[],msup:[],munder:[]};function N(s,e){let t=s?new DOMParser().parseFromString(s,"application/xml").documentElement:null,r=t?.nodeName==="math"?Ne(t):null,n=document.createElement(r?"div":"pre");return n.className="pe-formula",n.title=r?e:"",n.append(r??e),n}function Ne(s){let e=Qe[s.nodeName];if(!e)return null;let t=document.createElementNS(Ye,s.nodeName);for(let r of e){let n=s.getAttribute(r);n!==null&&t.setAttribute(r,n)}for(let r of s.childNodes){let n=r instanceof Element?Ne(r):r.textContent??"";if(n===null)return null;t.append(n)}return t}var Ze=24,C=60,et=15,tt=29,w=class{constructor(e,t){this.events=t;this.table=o("table",{class:"pe-table","aria-label":e},this.head,this.body),this.element=o("div",{class:"pe-tablebox",tabindex:-1},this.table,this.note),this.element.addEventListener("scroll",()=>this.follow(),{passive:!0});let r=n=>n.target.closest("tr[data-ref]")?.getAttribute("data-ref")??null;this.body.addEventListener("click",n=>{if(n.target.closest("button"))return;let i=r(n);i&&this.events.select(i)}),this.body.addEventListener("pointerover",n=>this.events.hover(r(n))),this.body.addEventListener("pointerleave",()=>this.events.hover(null)),this.body.addEventListener("keydown",n=>this.walk(n))}events;element;table;head=o("thead");body=o("tbody");note=o("p",{class:"pe-note"});data=null;rows=[];first=0;rowPx=tt;text="";sorted=null;selected=[];update(e){let t=JSON.stringify(e);t!==this.text&&(this.text=t,this.data=e,this.draw())}select(e){this.selected=e;for(let t of this.body.querySelectorAll("tr"))d(t,"aria-selected",e.includes(t.getAttribute("data-ref")??"")?"true":"false")}hover(e){for(let t of this.body.querySelectorAll("tr"))t.classList.toggle("hovered",e!==null&&t.getAttribute("data-ref")===e)}draw(){let{data:e}=this;e&&(this.rows=this.order(e),d(this.table,"aria-rowcount",String(this.rows.length+1)),this.freeWidths(),f(this.head,o("tr",{},...e.columns.map((t,r)=>this.header(e,r)),this.toolsHead())),this.drawRows(this.first),this.rows.length>C&&this.holdWidths(),this.note.textContent=e.omitted,this.note.hidden=e.omitted==="")}drawRows(e){let{data:t,rows:r}=this;if(!t)return;this.first=Math.max(0,Math.min(e,r.length-C));let n=Math.min(this.first+C,r.length),i=this.body.contains(document.activeElement),a=i?ue(document.activeElement):null,l=i?document.activeElement?.closest("tr")?.getAttribute("data-ref")??null:null;if(f(this.body,this.gap(this.first),...r.slice(this.first,n).map((h,g)=>this.row(t,h,this.first+g)),this.gap(r.length-n)),r.length===0&&b(this.body,o("tr",{},o("td",{class:"pe-empty",colspan:this.span(t)},t.empty_text))),this.select(this.selected),a===null||l===null)return;let c=[...this.body.querySelectorAll("tr[data-ref]")].filter(h=>h.getAttribute("data-ref")===l);(c.find(h=>ue(h)===a)??c[0]??this.element).focus({preventScroll:!0})}gap(e){if(e===0||!this.data)return null;let t=o("td",{colspan:this.span(this.data),style:`height:${e*this.rowPx}px`});return o("tr",{class:"pe-gap","aria-hidden":"true"},t)}span(e){return e.columns.length+(this.events.tools?1:0)}follow(){let{rows:e,element:t}=this;if(e.length<=C)return;let r=[...this.body.querySelectorAll("tr[aria-rowindex]")],n=r.reduce((c,m)=>c+m.offsetHeight,0)/Math.max(1,r.length);n>0&&(this.rowPx=n);let i=Math.floor(t.scrollTop/this.rowPx),a=i+Math.ceil(t.clientHeight/this.rowPx),l=i<this.first,p=a>this.first+C&&this.first+C<e.length;(l||p)&&this.drawRows(i-et)}holdWidths(){let e=[...this.head.querySelectorAll("th")],t=e.map(r=>r.offsetWidth);t.some(r=>r===0)||(e.forEach((r,n)=>{r.style.width=`${t[n]}px`}),this.table.style.tableLayout="fixed")}freeWidths(){this.table.style.tableLayout=""}toolsHead(){return this.events.tools?o("th",{scope:"col"},o("span",{class:"pe-hidden"},"actions")):null}header(e,t){let r=e.columns[t];if(!r)return o("th");let n=this.sorted?.key===r.key?this.sorted:null,i=o("button",{type:"button",class:"pe-sort",title:r.tip??`sort by ${r.label}`},r.label,o("span",{class:"pe-arrow","aria-hidden":"true"},n?n.down?"▾":"▴":""));return i.addEventListener("click",()=>{let a=this.sorted?.key===r.key;this.sorted=a&&this.sorted?.down?null:{key:r.key,down:a},this.draw()}),o("th",{scope:"col",class:r.align==="right"?"pe-right":r.wide?"pe-wide":null,"aria-sort":n?n.down?"descending":"ascending":"none"},i)}order(e){let{sorted:t}=this,r=e.columns.findIndex(a=>a.key===t?.key);if(!t||r<0)return e.rows;let n=t.down?-1:1,i=e.rows.map((a,l)=>({row:a,i:l}));return i.sort((a,l)=>n*rt(a.row.cells[r],l.row.cells[r])||a.i-l.i),i.map(a=>a.row)}row(e,t,r){let n=t.cells.map((p,c)=>{let m=e.columns[c],h=typeof p=="string"?{text:p}:p,g=[m?.align==="right"?"pe-right":"",m?.mono?"pe-mono":"",h.text.length<=Ze?"pe-short":""].filter(Boolean).join(" "),k=h.kind?L(h.kind):null,T=h.math?N(h.math,h.text):m?.wide&&h.tip?o("span",{class:"pe-clamp"},h.text):h.text;return o("td",{class:g||null,title:h.tip??null},k,T)}),i=this.events.tools?o("td",{class:"pe-tools"},...this.events.tools(t)):null,a=t.ref?{"data-ref":t.ref,tabindex:-1,"aria-selected":"false"}:{},l={"aria-rowindex":r+2,class:t.kind?`row-${t.kind}`:null};return o("tr",{...a,...l},...n,i)}walk(e){let t={ArrowDown:1,ArrowUp:-1}[e.key],r=e.target.closest("tr");if(t===void 0||!r)return;e.preventDefault(),e.stopPropagation();let n=(ue(r)??0)+t,i=this.rows[n]?.ref;i&&((n<this.first||n>=this.first+C)&&this.drawRows(n-C/2),this.body.querySelector(`tr[aria-rowindex="${n+2}"]`)?.focus(),this.events.select(i))}};function ue(s){let e=s?.closest("tr")?.getAttribute("aria-rowindex");return e?Number(e)-2:null}function rt(s,e){let[t,r]=[Re(s),Re(e)];return typeof t=="number"&&typeof r=="number"?t-r:typeof t=="number"?-1:typeof r=="number"?1:t.localeCompare(r,void 0,{numeric:!0})}function Re(s){return s===void 0?"":typeof s=="string"?s:s.sort??s.text}function y(s,e,t){let r=o("button",{type:"button",class:"pe-tool",title:e,"aria-label":e},v(s));return r.addEventListener("click",t),r}var x=class{constructor(e,t,r,n=[]){this.name=e;this.tools.append(...n,y("maximise",`maximise ${t.toLowerCase()} (m)`,()=>r.maximise(e)));let i=o("header",{class:"pe-head"},o("h3",{},t),this.caption,this.tools);this.element=o("section",{class:"pe-panel","data-panel":e,"aria-label":t},i,this.body)}name;element;caption=o("span",{class:"pe-caption"});tools=o("span",{class:"pe-tools"});body=o("div",{class:"pe-body"})};var fe={select(){},hover(){},close(){}},K=class{constructor(e){this.host=e;let t=new x("families","Families",e);this.table=new w("families",{select:r=>e.select(r),hover:r=>e.hover(r),tools:r=>this.tools(r)}),t.body.append(this.table.element),this.element=t.element}host;name="families";element;table;update(e){this.table.update(e)}select(e){this.table.select(e)}hover(e){this.table.hover(e)}close(){}tools(e){let t=r=>{let n=`${r} ${e.ref}`,i=o("button",{type:"button",class:"pe-tool",title:n,"aria-label":n,"data-command":r},v(r));return i.addEventListener("click",()=>this.host.command(r,{id:e.ref})),i};return[t("accept"),t("reject")]}},q=class{name="ledger";element;claim=o("p",{class:"pe-claim"});undo=o("button",{type:"button",class:"pe-button"});redo=o("button",{type:"button",class:"pe-button"});script=o("pre",{class:"pe-code",tabindex:0,"aria-label":"this session as Python"});tables;lines=[];constructor(e){let t=new x("ledger","Ledger",e),r={select:a=>e.select(a),hover:a=>e.hover(a)};this.tables={soundness:new w("pruned, by kind of rule",r),reasons:new w("pruned, by reason",r),steering:new w("steering",r),log:new w("log",r)},this.undo.addEventListener("click",()=>e.command("undo")),this.redo.addEventListener("click",()=>e.command("redo"));let n=o("button",{type:"button",class:"pe-button"},v("copy"),o("span",{},"copy as Python"));n.addEventListener("click",()=>e.copy(this.lines.join(`
`),"this session as Python"));let i=(a,...l)=>o("div",{class:"pe-column"},o("h4",{},a),...l);t.body.append(o("div",{class:"pe-ledger"},this.claim,o("div",{class:"pe-columns"},i("Pruned, by kind of rule and by reason",this.tables.soundness.element,this.tables.reasons.element),i("Steering",o("div",{class:"pe-group"},this.undo,this.redo,n),this.tables.steering.element,this.script),i("Log",this.tables.log.element)))),this.element=t.element}update(e){I(this.claim,e.claim),this.tables.soundness.update(e.soundness),this.tables.reasons.update(e.reasons),this.tables.steering.update(e.steering),this.tables.log.update(e.log);for(let[t,r]of[[this.undo,e.undo],[this.redo,e.redo]])f(t,v(r.command==="redo"?"redo":"undo"),o("span",{},r.label)),t.disabled=!r.enabled,d(t,"title",`${r.description}
${r.python}`)}showScript(e){this.lines=e.lines,I(this.script,e.lines.join(`
`)),this.script.hidden=e.lines.length===0}select(e){for(let t of Object.values(this.tables))t.select(e)}hover(e){for(let t of Object.values(this.tables))t.hover(e)}close(){}},F=class{name="code";element;select=fe.select;hover=fe.hover;close=fe.close;frame;source=o("code");numbers=o("span",{class:"pe-lines","aria-hidden":"true"});data=null;constructor(e){this.frame=new x("code","Code",e,[y("copy","copy the source",()=>e.copy(this.data?.source??"",this.data?.title??"the source"))]);let t=o("pre",{class:"pe-code pe-source",tabindex:0},this.numbers,this.source);this.frame.body.append(t),this.element=this.frame.element}update(e){this.data=e,this.frame.caption.textContent=[e.title,e.caption].filter(Boolean).join(" · "),I(this.source,e.source||"No source has been generated yet.");let t=e.source?e.source.split(`
`).length:0;this.numbers.textContent=Array.from({length:t},(r,n)=>String(n+1)).join(`
`)}};var $=8,Ae=1e7,W=class{constructor(e){this.role=e;for(let[t,[r,n,i]]of Object.entries(He))this.patterns.append(u("pattern",{id:`${this.prefix}-${t}`,width:r,height:r,patternUnits:"userSpaceOnUse"},u("path",{class:i,d:n})))}role;element=u("g",{class:"drawing"});patterns=u("defs");targets=[];prefix=H("pattern");kept=new Map;byRef=new Map;update(e){let t=new Map,r=new Map,n=[];for(let a of e.items){let l=JSON.stringify(a),p=this.kept.get(a.id),c=p?.text===l?p.element:this.draw(a);t.set(a.id,{text:l,element:c}),n.push(c),a.ref&&r.set(a.ref,[...r.get(a.ref)??[],c])}n.length===this.element.childNodes.length&&n.every((a,l)=>this.element.childNodes[l]===a)||this.element.replaceChildren(...n),this.kept=t,this.byRef=r,this.targets=e.items.filter(a=>a.type==="shape"&&!!a.ref)}highlight(e,t){let r=new Set(t.flatMap(n=>this.byRef.get(n)??[]));for(let n of this.element.querySelectorAll(`.item.${e}`))r.has(n)||n.classList.remove(e);for(let n of r)n.classList.add(e);if(e==="selected"){for(let n of this.element.querySelectorAll("[aria-selected=true]"))r.has(n)||n.setAttribute("aria-selected","false");for(let n of r)d(n,"aria-selected","true")}}find(e,t){let r=0;for(let n of t.items){let i=e===null||!n.ref||e(n);e!==null&&n.ref&&i&&(r+=1),this.kept.get(n.id)?.element.classList.toggle("dimmed",!i)}return r}elementId(e){return this.kept.get(e)?.element.id??null}draw(e){let t=/^[\w-]+$/.test(e.kind)?e.kind:"plain",r=e.type==="shape"?`shape role-${e.role}`:e.closed?"edge band":"edge",n=u("g",{class:`item ${r} k-${t}`,"data-id":e.id});e.ref&&(n.id=H("item"),d(n,"data-ref",e.ref),d(n,"role",this.role),d(n,"aria-selected","false"),d(n,"aria-label",e.tip??(e.texts??[]).map(i=>i.text).join(" ")??e.ref)),e.tip&&d(n,"data-tip",e.tip),e.type==="shape"?this.shape(n,e):this.edge(n,e);for(let i of e.texts??[])n.append(nt(i));return n}shape(e,t){let r=ze(t);if(r===null)return;d(r,"class","body"),e.append(r);let n=Le[t.kind],i=n?ze(t):null;i!==null&&(d(i,"class","pattern"),d(i,"fill",`url(#${this.prefix}-${n})`),e.append(i))}edge(e,t){let r=t.points.map(([m,h])=>[P(m),P(h)]),n=r.at(-1),i=r.at(-2),a=null;if(t.arrow&&n&&i){let m=Math.hypot(n[0]-i[0],n[1]-i[1])||1,h=(n[0]-i[0])/m,g=(n[1]-i[1])/m,k=n[0]-h*$,T=n[1]-g*$,M=$*.45;r[r.length-1]=[n[0]-h*$*.6,n[1]-g*$*.6];let O=[n,[k-g*M,T+h*M],[k+g*M,T-h*M]];a=u("polygon",{class:"head",points:O.map(A=>A.join(",")).join(" ")})}let[l,...p]=r.map(m=>m.join(","));if(l===void 0)return;let c=`M${l} ${t.curve==="bezier"?"C":"L"}${p.join(" ")}${t.closed?" Z":""}`;e.append(u("path",{class:"body",d:c})),t.ref&&e.append(u("path",{class:"reach",d:c})),a&&e.append(a)}};function nt(s){let e=/^[\w-]+$/.test(s.kind??"label")?s.kind??"label":"label";return u("text",{class:`t-${e}`,x:P(s.x),y:P(s.y),"text-anchor":s.anchor??"middle"},s.text)}function ze(s){let[e,t,r,n]=[P(s.x),P(s.y),P(s.w),P(s.h)],i=s.outline??"rect";switch(i){case"none":return null;case"rect":case"pill":{let a=i==="pill"?Math.min(r,n)/2:s.role==="frame"?10:Math.min(4,r/3);return u("rect",{x:e,y:t,width:r,height:n,rx:a})}case"circle":return u("ellipse",{cx:e+r/2,cy:t+n/2,rx:r/2,ry:n/2});case"cross":return u("path",{d:`M${e},${t} L${e+r},${t+n} M${e+r},${t} L${e},${t+n}`});default:{let a=D[i]??[];return u("polygon",{points:a.map(([l,p])=>`${e+l*r},${t+p*n}`).join(" ")})}}}function P(s){return Number.isFinite(s)?Math.max(-Ae,Math.min(Ae,s)):0}function _e(s,e,t){let r=t==="left"||t==="up"?-1:1,n=t==="left"||t==="right",i=null,a=Number.POSITIVE_INFINITY;for(let l of e){if(l.ref===s.ref)continue;let[p,c]=n?[s.x,s.x+s.w]:[s.y,s.y+s.h],[m,h]=n?[l.x,l.x+l.w]:[l.y,l.y+l.h],g=r>0?m-c:p-h;if(g<-1)continue;let k=n?$e(s.y,s.y+s.h,l.y,l.y+l.h):$e(s.x,s.x+s.w,l.x,l.x+l.w),T=Math.abs(n?s.y+s.h/2-l.y-l.h/2:s.x+s.w/2-l.x-l.w/2),M=g+3*k+.05*T;M<a&&(a=M,i=l)}return i}function $e(s,e,t,r){return Math.max(0,t-e,s-r)}var st=.15,ot=4,it=.8,at=1.15,S=8,R=class{constructor(e,t,r){this.events=r;this.drawing=new W(t==="tree"?"treeitem":"option");let[n,i]=[H("title"),H("desc")];this.title.id=n,this.desc.id=i,this.svg=u("svg",{class:"prism-scene",role:t,tabindex:0,"aria-labelledby":n,"aria-describedby":i,"data-stage":e},this.title,this.desc,this.drawing.patterns,this.drawing.element,this.overlay),this.element=o("div",{class:"pe-stage"},this.svg,this.tip),this.resize=new ResizeObserver(()=>{this.moved||this.fit()}),this.resize.observe(this.element),this.listen()}events;element;overlay=u("g",{class:"pe-overlay"});svg;title=u("title");desc=u("desc");drawing;tip=o("div",{class:"pe-tip",role:"tooltip",hidden:!0});resize;scene=null;pattern=null;x=0;y=0;scale=1;scroll=!1;moved=!1;selected=[];dragged=!1;close(){this.resize.disconnect()}get shown(){return this.scene}update(e){let t=this.scene?.width!==e.width||this.scene.height!==e.height;this.scene&&this.scene.title!==e.title&&(this.moved=!1),this.scene=e,this.title.textContent=e.title,this.desc.textContent=e.desc,this.drawing.update(e),this.drawing.highlight("selected",this.selected),this.pattern&&this.drawing.find(this.pattern,e),t&&!this.moved&&this.fit()}select(e){this.selected=e,this.drawing.highlight("selected",e);let t=this.current();d(this.svg,"aria-activedescendant",t?this.drawing.elementId(t.id):null)}hover(e){this.drawing.highlight("hovered",e===null?[]:[e])}find(e){return this.pattern=e,this.scene?this.drawing.find(e,this.scene):0}fit(){let{clientWidth:e,clientHeight:t}=this.element;if(!this.scene||e===0||t===0)return;let r=Math.min((e-2*S)/this.scene.width,(t-2*S)/this.scene.height,at);this.scale=this.scroll?Math.min(1,(e-2*S)/this.scene.width):Math.max(r,it),this.x=Math.max(S,(e-this.scene.width*this.scale)/2),this.y=this.scroll?S:Math.max(S,(t-this.scene.height*this.scale)/2),this.moved=!1,this.place()}zoom(e,t){let{clientWidth:r,clientHeight:n}=this.element,{x:i,y:a}=t??{x:r/2,y:n/2},l=Math.min(ot,Math.max(st,this.scale*e));this.x=i-(i-this.x)*l/this.scale,this.y=a-(a-this.y)*l/this.scale,this.scale=l,this.moved=!0,this.place()}reveal(e){let t=this.drawing.targets.find(h=>h.ref===e),{clientWidth:r,clientHeight:n}=this.element;if(!t||r===0)return;let i=t.x*this.scale+this.x,a=t.y*this.scale+this.y,[l,p]=[t.w*this.scale,t.h*this.scale],[c,m]=[this.x,this.y];(i+l<20||i>r-20)&&(this.x=r/2-(t.x+t.w/2)*this.scale),(a+p<20||a>n-20)&&(this.y=n/2-(t.y+t.h/2)*this.scale),(c!==this.x||m!==this.y)&&(this.moved=!0,this.place())}walk(e){let t=this.current(),r=t?_e(t,this.drawing.targets,e):this.drawing.targets[0]??null;r?.ref&&(this.events.select(r.ref),this.reveal(r.ref))}focus(){this.svg.focus({preventScroll:!0})}table(){let e=o("tbody"),t=new Map;for(let n of this.scene?.items??[]){if(!n.ref)continue;let i=n.tip||(n.texts??[]).map(a=>a.text).join(" ");i.length>=(t.get(n.ref)??"").length&&t.set(n.ref,i)}for(let[n,i]of t){let a=o("button",{class:"pe-link",type:"button"},n);a.addEventListener("click",()=>this.events.select(n)),b(e,o("tr",{"data-ref":n},o("th",{scope:"row"},a),o("td",{},i)))}let r=o("thead",{},o("tr",{},...["id","description"].map(n=>o("th",{scope:"col"},o("span",{class:"pe-sort"},n)))));return o("table",{class:"pe-table"},o("caption",{},this.scene?.desc??""),r,e)}current(){let e=new Set(this.selected);return this.drawing.targets.find(t=>t.ref!==void 0&&e.has(t.ref))??null}place(){let e=r=>Math.round(r*1e3)/1e3,t=`translate(${e(this.x)} ${e(this.y)}) scale(${e(this.scale)})`;d(this.drawing.element,"transform",t),d(this.overlay,"transform",t)}at(e){let t=this.element.getBoundingClientRect();return{x:(e.clientX-t.left-this.x)/this.scale,y:(e.clientY-t.top-this.y)/this.scale}}listen(){let e=r=>r.target.closest(".item"),t=r=>r.target.closest("[data-ref]")?.getAttribute("data-ref")??null;this.svg.addEventListener("click",r=>{let n=t(r);n!==null&&!this.dragged&&this.events.select(n)}),this.svg.addEventListener("dblclick",r=>{let n=t(r);n!==null?this.events.enter(n):this.fit(),r.preventDefault()}),this.svg.addEventListener("pointerover",r=>{this.events.hover(t(r)),this.showTip(e(r)?.getAttribute("data-tip")??null,r)}),this.svg.addEventListener("pointerleave",()=>{this.events.hover(null),this.showTip(null)}),this.svg.addEventListener("pointerdown",r=>this.drag(r)),this.element.addEventListener("wheel",r=>{if(!r.ctrlKey&&!r.metaKey){this.scrollBy(r.deltaY)&&r.preventDefault();return}r.preventDefault();let n=this.element.getBoundingClientRect();this.zoom(Math.exp(-r.deltaY*.0022),{x:r.clientX-n.left,y:r.clientY-n.top})},{passive:!1})}scrollBy(e){let t=(this.scene?.height??0)*this.scale+2*S,r=Math.min(S,this.element.clientHeight-t+S),n=Math.max(r,Math.min(S,this.y-e));return n===this.y?!1:(this.y=n,this.moved=!0,this.place(),!0)}drag(e){if(e.button!==0)return;let[t,r]=[this.x,this.y];this.dragged=!1;let n=a=>{let[l,p]=[a.clientX-e.clientX,a.clientY-e.clientY];!this.dragged&&Math.hypot(l,p)<4||(this.dragged||this.svg.setPointerCapture?.(e.pointerId),this.dragged=!0,this.moved=!0,d(this.element,"data-dragging",!0),this.showTip(null),this.x=t+l,this.y=r+p,this.place())},i=()=>{d(this.element,"data-dragging",null),this.svg.removeEventListener("pointermove",n),this.svg.removeEventListener("pointerup",i),this.svg.removeEventListener("pointercancel",i)};this.svg.addEventListener("pointermove",n),this.svg.addEventListener("pointerup",i),this.svg.addEventListener("pointercancel",i)}showTip(e,t){if(this.tip.hidden=!e,!e||!t)return;this.tip.textContent=e;let r=this.element.getBoundingClientRect(),n=Math.max(0,Math.min(t.clientX-r.left+14,r.width-280)),i=t.clientY-r.top;this.tip.style.left=`${n}px`;let a=i<r.height/2;this.tip.style.top=a?`${i+18}px`:"",this.tip.style.bottom=a?"":`${r.height-i+10}px`}};var z=class{constructor(e,t,r,n,i){this.emptyText=i;let a={select:p=>n.select(p),enter:p=>n.enter(p),hover:p=>n.hover(p)};this.stage=new R(e,"listbox",a),this.stage.scroll=!0,this.table=new w(r,a),this.frame=new x(e,t,n,[y("minus","zoom out (Ctrl + wheel)",()=>this.stage.zoom(1/1.25)),y("plus","zoom in (Ctrl + wheel)",()=>this.stage.zoom(1.25)),y("fit","fit into the panel (0)",()=>this.stage.fit())]);let l=o("div",{class:"pe-left"},this.stage.element,this.empty);this.frame.body.append(o("div",{class:"pe-split"},l,this.table.element)),this.element=this.frame.element}emptyText;element;frame;stage;table;empty=o("p",{class:"pe-empty"});show(e,t,r){this.frame.caption.textContent=e,this.stage.element.classList.toggle("pe-hidden",t===null),this.empty.hidden=t!==null,this.empty.textContent=t===null?this.emptyText:"",t&&this.stage.update(t),this.table.update(r)}select(e){this.stage.select(e),this.table.select(e)}hover(e){this.stage.hover(e),this.table.hover(e)}close(){this.stage.close()}};var U=class extends z{name="eclasses";constructor(e){super("eclasses","E-classes","lemmas of the proof",e,"No candidate has a verdict yet.")}update(e){this.show(e.caption,e.scene,e.lemmas)}};var J=class{constructor(e){this.body=e}body;subject="";drawn=[];draw(e,t){let r=e===this.subject,n=r?[...this.drawn]:[],i=t.map(([p,c])=>{let m=n.findIndex(([h])=>h===p);return n.splice(m,m<0?0:1)[0]??[p,c()]}),a=r?lt(this.body):()=>this.body.scrollTo(0,0);this.subject=e,this.drawn=i;let l=new Set(i.map(([,p])=>p));for(let p of[...this.body.children])l.has(p)||p.remove();i.forEach(([,p],c)=>{let m=this.body.children[c];m!==p&&this.body.insertBefore(p,m??null)}),a()}};function lt(s){let e=new Map([...Oe(s)].map(([a,l])=>[a,l.open])),t=[s,...s.querySelectorAll("*")].filter(a=>a.scrollTop>0||a.scrollLeft>0).map(a=>({where:pt(a,s),top:a.scrollTop,left:a.scrollLeft})),r=document.activeElement,n=r instanceof HTMLElement&&r!==s&&s.contains(r)?r:null,i=n&&ge(n);return()=>{for(let[a,l]of Oe(s))l.open=e.get(a)??l.open;n&&!s.contains(n)&&([...s.querySelectorAll(n.tagName)].find(l=>ge(l)===i)??s).focus({preventScroll:!0});for(let{where:a,top:l,left:p}of t){let c=a.reduce((m,h)=>m?.children[h],s);c&&(c.scrollTop!==l||c.scrollLeft!==p)&&c.scrollTo(p,l)}}}function Oe(s){let e=new Map;for(let t of s.querySelectorAll("details")){let r=ge(t);for(;e.has(r);)r+="'";e.set(r,t)}return e}function ge(s){return s.getAttribute("data-keep")??(s instanceof HTMLDetailsElement?s.querySelector("summary"):s)?.textContent??""}function pt(s,e){let t=[];for(let r=s;r!==e&&r.parentElement;r=r.parentElement)t.unshift([...r.parentElement.children].indexOf(r));return t}var dt={kind:"",status:"",description:[],details:[],code:"",code_math:"",cards:[],actions:[],links:[]},ct={soundness:"",soundness_text:"",label:"Why",formula:"",formula_math:"",substituted:"",where:[],details:[],would_reopen_if:"",steps:[],copies:[]},ht=9,ve=6,mt=["",()=>o("p",{class:"pe-empty"},"Nothing is selected: click a block of the map, an operator, or a family.")],Y=class{constructor(e){this.host=e;this.frame=new x("inspector","Inspector",e),this.frame.body.classList.add("pe-inspector"),this.frame.body.tabIndex=0,this.parts=new J(this.frame.body),this.element=this.frame.element,this.update(null)}host;name="inspector";element;frame;parts;focus(){this.frame.body.focus()}update(e){let t=e&&{...dt,...e};this.frame.caption.textContent=t?.ref??"",this.parts.draw(t?.ref??"",t?this.drawn(t):[mt])}drawn(e){let{cards:t,actions:r,...n}=e;return[[JSON.stringify(n),()=>this.summary(e)],...t.map(i=>[JSON.stringify(i),()=>this.card(i)]),...r.length>0?[[JSON.stringify(r),()=>this.actions(r)]]:[]]}select(){}hover(){}close(){}summary(e){let t=e.details.length>0?X(e.details):null,r=e.links.map(({ref:n,label:i})=>{let a=o("button",{type:"button",class:"pe-chip"},i);return a.addEventListener("click",()=>this.host.select(n)),a});return o("div",{class:"pe-part"},o("h4",{},e.kind?L(e.kind):null,o("span",{},e.title),e.status?o("span",{class:"pe-word"},e.status):null),...e.description.map(n=>o("p",{},n)),e.code_math?N(e.code_math,e.code):e.code?o("pre",{class:"pe-snippet"},e.code):null,t,r.length>0?o("div",{class:"pe-chips"},...r):null)}card(e){let t={...ct,...e};return o("article",{class:"pe-card"},o("header",{},o("span",{class:"pe-eyebrow"},t.label),t.kind?L(t.kind):null,o("code",{},t.title),t.soundness?o("span",{class:"pe-word",title:t.soundness_text},t.soundness):null),o("p",{class:"pe-sentence"},t.sentence),t.formula?N(t.formula_math,t.formula):null,t.substituted?o("pre",{class:"pe-formula pe-numbers"},t.substituted):null,t.where.length>0?this.where(t.where):null,t.steps.length>0?this.steps(t.steps):null,t.details.length>0?this.details(t.details,`${t.label} ${t.title}`):null,...t.copies.map(r=>this.copy(r)),t.soundness_text?o("p",{class:"pe-muted"},t.soundness_text):null,t.would_reopen_if?o("p",{class:"pe-reopen"},o("b",{},"Would reopen if "),t.would_reopen_if):null)}where(e){let t=o("dl",{class:"pe-facts pe-where"});for(let{symbol:r,text:n,math:i}of e)b(t,o("dt",{},r),o("dd",{},N(i,n)));return o("div",{class:"pe-part"},o("span",{class:"pe-eyebrow"},"where"),t)}details(e,t){if(e.length<=ht)return X(e);let r=o("details",{"data-keep":t},o("summary",{},`${e.length-ve} more`),X(e.slice(ve)));return o("div",{class:"pe-part"},X(e.slice(0,ve)),r)}steps(e){let t=o("ol",{class:"pe-steps"});for(let r of e){let n=o("button",{type:"button",class:"pe-link pe-mono"},r.name);n.addEventListener("click",()=>this.host.select(r.ref));let i=[L(r.kind),n,Ie(r.equation_math,r.equation)],a=r.lines??[],l=o("p",{class:"pe-muted"},r.justification),p=o("div",{class:"pe-chain"});for(let[m,[h,g]]of a.entries())b(p,o("span",{},m>0?"= ":null,Ie(r.lines_math?.[m],h)),m>0?o("span",{class:"pe-muted"},`by ${g}`):null);let c=a.length>0&&e.length===1;b(t,a.length>0?o("li",{},o("details",{open:c,"data-keep":`${r.ref} ${r.name}`},o("summary",{},...i),l,p)):o("li",{},...i,l))}return t}copy({label:e,text:t}){let r=o("button",{type:"button",class:"pe-button",title:"copy this text"},v("copy"),e);return r.addEventListener("click",()=>this.host.copy(t,e)),t.includes(`
`)?o("details",{},o("summary",{},r),o("pre",{class:"pe-snippet"},t)):o("div",{class:"pe-action"},r,o("code",{},t))}actions(e){let t=o("div",{class:"pe-part pe-do"},o("span",{class:"pe-eyebrow"},"Commands"));for(let r of e){let n=r.command,i=o("button",{type:"button",class:"pe-button",disabled:!r.enabled,title:r.description,"data-command":r.command},["accept","reject","undo","redo"].includes(r.command)?v(n):null,o("span",{},r.label));i.addEventListener("click",()=>this.host.command(r.command,r.args));let a=o("button",{type:"button",class:"pe-python",title:"copy this line"},r.python);a.addEventListener("click",()=>this.host.copy(r.python,"the line")),b(t,o("div",{class:"pe-action"},i,a))}return t}};function Ie(s,e){return s?N(s,e):o("code",{},e)}function X(s){let e=o("dl",{class:"pe-facts"});for(let[t,r]of s)b(e,o("dt",{},t),o("dd",{},r));return e}var Q=class{stage;frame;table=o("div",{class:"pe-tablebox",hidden:!0});constructor(e,t,r,n,i=[]){this.stage=new R(e,r,{select:a=>n.select(a),enter:a=>n.enter(a),hover:a=>n.hover(a)}),this.frame=new x(e,t,n,[...i,y("minus","zoom out (Ctrl + wheel)",()=>this.stage.zoom(1/1.25)),y("plus","zoom in (Ctrl + wheel)",()=>this.stage.zoom(1.25)),y("fit","fit into the panel (0)",()=>this.stage.fit()),y("table","show as a table (t)",()=>this.toggleTable())]),this.frame.body.append(this.stage.element,this.table)}toggleTable(){this.table.hidden=!this.table.hidden,this.stage.element.hidden=!this.table.hidden,this.table.hidden||f(this.table,this.stage.table())}updated(){this.table.hidden||f(this.table,this.stage.table())}},Z=class{name="map";element;picture;stage;reasons;constructor(e){this.picture=new Q("map","Search map","tree",e),this.stage=this.picture.stage,this.reasons=new R("reasons","listbox",{select:t=>e.select(t),enter:t=>e.enter(t),hover:t=>e.hover(t)}),this.reasons.element.classList.add("pe-strip"),this.stage.scroll=!0,this.reasons.scroll=!0,this.element=this.picture.frame.element,this.picture.frame.body.append(this.reasons.element)}toggleTable(){this.picture.toggleTable()}update(e){this.picture.stage.update(e.scene),this.picture.updated(),this.reasons.update(e.reasons),this.picture.frame.caption.textContent=e.summary}select(e){this.picture.stage.select(e),this.reasons.select(e)}hover(e){this.picture.stage.hover(e),this.reasons.hover(e)}close(){this.picture.stage.close(),this.reasons.close()}},ee=class{constructor(e){this.host=e;this.toggle=y("collapse","collapse custom kernels (Enter)",()=>this.enter()),this.picture=new Q("graph","sGraph","listbox",e,[this.toggle]),this.stage=this.picture.stage,this.element=this.picture.frame.element,this.picture.frame.body.prepend(this.alternatives),this.picture.frame.body.append(this.empty)}host;name="graph";element;picture;stage;alternatives=o("div",{class:"pe-chips",role:"group","aria-label":"candidates"});toggle;empty=o("p",{class:"pe-empty"});expanded=null;enter(){this.expanded!==null&&this.host.look({collapsed:this.expanded})}toggleTable(){this.picture.toggleTable()}update(e){this.expanded=e.expanded,this.toggle.hidden=e.expanded===null,f(this.toggle,v(e.expanded?"collapse":"expand"));let t=e.expanded?"collapse custom kernels (Enter)":"expand custom kernels (Enter)";d(this.toggle,"title",t),d(this.toggle,"aria-label",t),this.picture.frame.caption.textContent=e.caption,this.empty.hidden=e.scene!==null,this.empty.textContent=e.scene===null?"No graph yet: run the search until a family is complete.":"",this.picture.stage.element.classList.toggle("pe-hidden",e.scene===null),e.scene&&this.picture.stage.update(e.scene),this.picture.updated(),this.alternatives.hidden=e.alternatives.length<2,f(this.alternatives,...e.alternatives.map(({ref:r,label:n})=>{let i=o("button",{type:"button",class:"pe-chip","aria-pressed":r===e.subject?"true":"false"},n);return i.addEventListener("click",()=>this.host.select(r)),i}))}select(e){this.picture.stage.select(e)}hover(e){this.picture.stage.hover(e)}close(){this.picture.stage.close()}};var te=class{constructor(e){this.host=e;this.frame=new x("questions","Questions",e),this.table=new w("questions",{select:t=>e.select(t),hover:t=>e.hover(t),tools:t=>this.tools(t)}),this.form.addEventListener("submit",t=>{t.preventDefault(),this.submit()}),this.frame.body.append(o("div",{class:"pe-questions"},this.form,this.table.element)),this.element=this.frame.element}host;name="questions";element;frame;table;form=o("form",{class:"pe-form","aria-label":"what if"});open=[];text="";update(e){this.open=e.open,this.frame.caption.textContent=e.caption,this.table.update(e.table);let t=JSON.stringify(e.form);t!==this.text&&(this.text=t,this.form.hidden=e.form===null,e.form&&this.draw(e.form))}select(e){this.table.select(e)}hover(e){this.table.hover(e)}close(){}draw(e){let t=o("select",{class:"pe-select",name:"target"}),r=e.targets.includes(e.target)?e.targets:[e.target,...e.targets];for(let l of r)b(t,o("option",{value:l,selected:l===e.target},l));let n=(l,p,c,m)=>o("label",{},o("span",{},p),o("input",{class:"pe-number",type:"number",min:0,name:l,value:c,placeholder:m})),i=e.rules.map(([l,p])=>o("label",{class:"pe-check",title:p},o("input",{type:"checkbox",name:"rules_off",value:l}),o("code",{},l))),a=o("input",{type:"checkbox",name:"run"});f(this.form,o("div",{class:"pe-group"},o("button",{type:"submit",class:"pe-button","data-command":"what_if"},v("help"),"What if?"),o("label",{class:"pe-check",title:"Run the search with the changed settings too, and compare the proved families; this takes longer."},a,"run the search too")),o("div",{class:"pe-fields"},o("label",{},o("span",{},"machine"),t),n("shared_memory_bytes","shared memory, B","","unchanged"),...e.limits.map(({name:l,label:p,value:c})=>n(l,p,"",String(c)))),o("fieldset",{},o("legend",{},"rules off"),o("div",{class:"pe-checks"},...i))),d(this.form,"data-target",e.target)}submit(){let e=new FormData(this.form),t={};for(let[n,i]of e)n==="rules_off"||n==="run"||(n==="target"?i!==this.form.getAttribute("data-target")&&(t[n]=String(i)):i!==""&&(t[n]=Number(i)));let r=e.getAll("rules_off").map(String);r.length>0&&(t.rules_off=r),e.has("run")&&(t.run=!0),this.host.command("what_if",t)}tools(e){if(!this.open.includes(e.ref))return[];let t=`cancel ${e.ref}`,r=o("button",{type:"button",class:"pe-tool",title:t,"aria-label":t,"data-command":"withdraw"},v("close"));return r.addEventListener("click",()=>this.host.command("withdraw",{id:e.ref})),[r]}};var ut=14,re=24,ne=class{constructor(e,t){this.stage=e;this.choose=t;e.overlay.append(this.preview,this.handles),e.element.addEventListener("pointerdown",r=>this.drag(r),{capture:!0})}stage;choose;axes=[];preview=u("rect",{class:"pe-brush",visibility:"hidden"});handles=u("g");update(e){let t=document.activeElement?.getAttribute("data-handle");this.axes=e,f(this.handles,...e.flatMap(r=>[this.handle(r,"low"),this.handle(r,"high")])),t&&this.handles.querySelector(`[data-handle="${CSS.escape(t)}"]`)?.focus()}handle(e,t){let r=e[t],n=(e.ys[r]??0)+(t==="low"?8:-8),i=t==="low"?1:-1,a=u("g",{class:"pe-handle",role:"slider",tabindex:0,"data-handle":`${e.name}/${t}`,"aria-orientation":"vertical","aria-label":`${e.name}, ${t==="low"?"least":"largest"} value`,"aria-valuemin":0,"aria-valuemax":e.values.length-1,"aria-valuenow":r,"aria-valuetext":e.texts[r]??""},u("rect",{x:e.x-re/2,y:n-re/2,width:re,height:re,class:"pe-target"}),u("path",{d:`M${e.x-6},${n+4*i} h12 l-6,${-8*i} z`}));return a.addEventListener("keydown",l=>{let p=e.values.length-1,c={ArrowUp:r+1,ArrowDown:r-1,Home:0,End:p}[l.key];if(l.key==="Delete"||l.key==="Backspace")this.choose([e.name]);else{if(c===void 0)return;t==="low"?this.send(e,Math.min(c,e.high),e.high):this.send(e,e.low,Math.max(c,e.low))}l.preventDefault(),l.stopPropagation()}),a}send(e,t,r){let n=e.values.length-1,[i,a]=[Math.max(0,Math.min(t,r)),Math.min(n,Math.max(t,r))];i===e.low&&a===e.high||(i===0&&a===n?this.choose([e.name]):this.choose([e.name,e.values[i]??0,e.values[a]??0]))}drag(e){if(e.button!==0||this.axes.length===0)return;let t=this.stage.at(e),r=this.axes.find(h=>Math.abs(h.x-t.x)<=ut);if(!r)return;let[n=0,i=0]=[r.ys[0],r.ys.at(-1)];if(t.y>n+12||t.y<i-12)return;let a=t,l=!1,p=h=>{a=this.stage.at(h),l||=Math.abs(a.y-t.y)>4,l&&(d(this.preview,"visibility","visible"),d(this.preview,"x",String(r.x-10)),d(this.preview,"width","20"),d(this.preview,"y",String(Math.min(t.y,a.y))),d(this.preview,"height",String(Math.abs(a.y-t.y))))},c=h=>{p(h);for(let[A,me]of m)window.removeEventListener(A,me);if(d(this.preview,"visibility","hidden"),!l||h.type==="pointercancel")return;let[g,k]=[Math.min(t.y,a.y)-4,Math.max(t.y,a.y)+4],T=r.ys.flatMap((A,me)=>A>=g&&A<=k?[me]:[]),[M,O]=[T[0],T.at(-1)];M!==void 0&&O!==void 0&&this.send(r,M,O)},m=[["pointermove",p],["pointerup",c],["pointercancel",c]];for(let[h,g]of m)window.addEventListener(h,g);e.stopPropagation()}};var se=class{constructor(e,t){this.choose=t;this.element=o("span",{class:"pe-chooser",role:"group","aria-label":e})}choose;element;drawn="";update(e,t){let r=JSON.stringify(e);r!==this.drawn&&(this.drawn=r,f(this.element,...e.map(n=>this.button(n))));for(let n of this.element.children)d(n,"aria-pressed",String(n.getAttribute("data-choice")===t));this.element.hidden=e.length<2}button(e){let t=o("button",{type:"button",class:"pe-chip",title:e.tip||null,"data-choice":e.name},e.label);return t.addEventListener("click",()=>this.choose(e.name)),t}};var oe=class extends z{constructor(t){super("tuning","Tuning","trials",t,"No trial has been measured yet.");this.host=t;this.modes=new se("charts",r=>t.look({tuning:{mode:r}})),this.brush=new ne(this.stage,r=>t.look({tuning:{brush:r}})),this.tops.addEventListener("change",()=>t.look({tuning:{top:Number(this.tops.value)}})),this.frame.body.prepend(o("div",{class:"pe-choices"},this.modes.element,this.tops,this.intervals))}host;name="tuning";modes;tops=o("select",{class:"pe-select","aria-label":"trials in the table"});intervals=o("div",{class:"pe-chips",role:"group","aria-label":"brush"});brush;shown="";update(t){this.modes.update(t.modes,t.mode);let r=JSON.stringify(t.tops);r!==this.shown&&(this.shown=r,f(this.tops,...t.tops.map(n=>o("option",{value:n.name},n.label)))),this.tops.value=t.top,f(this.intervals,...t.brush.flatMap(n=>this.interval(n))),this.intervals.hidden=t.brush.length===0,this.show(t.caption,t.scene,t.trials),this.brush.update(t.axes)}interval({name:t,text:r,restrict:n}){let i=o("button",{type:"button",class:"pe-chip",title:`remove the interval of ${t}`},`${r} ×`);if(d(i,"aria-label",`remove the interval ${r}`),i.addEventListener("click",()=>this.host.look({tuning:{brush:[t]}})),n===null)return[i];let a=`${n.description}
${n.python}`,l=o("button",{type:"button",class:"pe-button",title:a,"data-command":n.command},n.label);return l.addEventListener("click",()=>this.host.command(n.command,n.args)),[i,l]}};var _=[{name:"map",label:"Search map",docked:!1,make:s=>new Z(s)},{name:"graph",label:"sGraph",docked:!1,make:s=>new ee(s)},{name:"inspector",label:"Inspector",docked:!1,make:s=>new Y(s)},{name:"families",label:"Families",docked:!0,make:s=>new K(s)},{name:"eclasses",label:"E-classes",docked:!0,make:s=>new U(s)},{name:"tuning",label:"Tuning",docked:!0,make:s=>new oe(s)},{name:"ledger",label:"Ledger",docked:!0,make:s=>new q(s)},{name:"questions",label:"Questions",docked:!0,make:s=>new te(s)},{name:"code",label:"Code",docked:!0,make:s=>new F(s)}],E=_.filter(s=>s.docked).map(s=>s.name);function je(s){return new Map(_.map(e=>[e.name,e.make(s)]))}function Ge(s){let e=(l,p,c,m)=>({keys:[l].flat(),shown:p,help:c,act:m}),t=l=>()=>{let p=V(s.selection);p?s.command(l,{id:p}):s.announce(`select a family to ${l} it`)},r=()=>s.panels.get(s.layout.current())?.stage,n="select the next item in that direction, in the map or the sGraph",i="open the selection: show its graph, or expand its custom kernel",a=l=>()=>{let p=E[l];p&&s.layout.show(p)};return[e(".",".","one step of the search",()=>s.bar.step()),e(" ","Space","run, pause or resume",()=>s.bar.toggleRun()),e("ArrowLeft","← → ↑ ↓",n,()=>s.walk("left")),e("ArrowRight","","",()=>s.walk("right")),e("ArrowUp","","",()=>s.walk("up")),e("ArrowDown","","",()=>s.walk("down")),e("Enter","Enter",i,()=>s.selection&&s.enter(s.selection)),e("z","z","zoom the map into the selected node, and out again",()=>s.zoomMap(ft(s))),e("[","[ ]","look back by one event, or forward",()=>s.bar.move(-1)),e("]","","",()=>s.bar.move(1)),e("w","w","read the inspector",()=>s.readInspector()),e("a","a","accept the selected family",t("accept")),e("x","x","reject the selected family; can be undone",t("reject")),e(["u","Ctrl+z"],"u, Ctrl+Z","undo the last steering step",()=>s.command("undo")),e(["U","Ctrl+Z"],"Shift+U","redo the last steering step",()=>s.command("redo")),e("/","/","find in the pictures",()=>s.find.focus()),e("m","m","maximise the panel, or restore it",()=>s.maximise(s.layout.current())),e("0","0","fit the picture into its panel",()=>r()?.fit()),e("t","t","show the picture as a table",()=>s.toggleTable()),...E.map((l,p)=>e(String(p+1),p?"":`1 … ${E.length}`,p?"":"show a tab of the dock",a(p))),e("?","?","show this help",()=>s.help.toggle()),e("Escape","Esc","close, clear, then leave the widget",()=>s.leave())]}function Be(s,e,t){if(s.altKey||s.defaultPrevented)return;let r=Me(s);if(ke(s.target)){r==="Escape"&&(t.find.clear(),t.element.focus(),s.stopPropagation());return}if((r===" "||r==="Enter")&&Ee(s.target)||Se(r)&&!t.help.lettersActive&&r!=="?")return;let n=e.find(i=>i.keys.includes(r));n&&(s.preventDefault(),s.stopPropagation(),n.act())}function ft(s){return B(s.selection)?s.selection:s.root}var gt=900,vt=150,bt=8,be=16,ie=class{constructor(e,t){this.panels=e;this.look=t;this.dock.append(this.tabList(),...E.map(r=>this.element(r))),this.main.append(..._.filter(r=>!r.docked).map(r=>this.element(r.name)),this.dock)}panels;look;main=o("div",{class:"pe-main"});dock=o("div",{class:"pe-dock"});tabs=new Map;shown="map";docked="families";maximised=null;narrow=!1;root=null;sizes={map:0,dock:0,high:0};timer;resize=new ResizeObserver(()=>this.measure());follow(e){this.root=e,this.resize.observe(e),this.arrange()}close(){this.resize.disconnect(),clearTimeout(this.timer)}show(e){E.includes(e)&&(this.docked=e),this.shown=e,this.maximised!==null&&(this.maximised=e),this.arrange()}maximise(e){this.maximised=this.maximised===e?null:e,this.show(e)}restore(){return this.maximised===null?!1:(this.maximise(this.maximised),!0)}current(){return document.activeElement?.closest("[data-panel]")?.getAttribute("data-panel")??this.shown}measure(){let e=this.root?.clientWidth??0;if(e===0)return;this.sendSizes();let t=e<gt;t!==this.narrow&&(this.narrow=t,this.arrange())}element(e){let t=this.panels.get(e);if(!t)throw new Error(`no panel ${e}`);return t.element}tabList(){let e=o("div",{class:"pe-tabs",role:"tablist","aria-label":"panels"});for(let{name:t,label:r,docked:n}of _){let i=this.element(t);i.id=H("panel");let a=o("button",{type:"button",role:"tab","aria-controls":i.id,"data-tab-of":t,class:n?null:"pe-only-narrow"},r);a.addEventListener("click",()=>this.show(t)),this.tabs.set(t,a),e.append(a)}return e}arrange(){let e=this.maximised??(this.narrow?this.shown:null);for(let[r,n]of this.panels){let i=e===null?!E.includes(r)||r===this.docked:r===e;d(n.element,"hidden",!i)}for(let[r,n]of this.tabs)d(n,"hidden",!this.narrow&&!E.includes(r)),d(n,"aria-selected",String(this.narrow?r===e:r===this.docked));let t=e===null||E.includes(e);d(this.dock,"hidden",!t&&!this.narrow),d(this.dock,"data-only-tabs",!t),this.sendSizes(),this.root&&(d(this.root,"data-solo",e!==null),d(this.root,"data-narrow",this.narrow))}sendSizes(){clearTimeout(this.timer),this.timer=setTimeout(()=>{let{map:e,dock:t,high:r}=this.sizes,n=E.map(l=>this.panels.get(l)?.stage?.element).find(l=>l!==void 0&&l.clientWidth>0),i={map:this.panels.get("map")?.stage?.element.clientWidth||e,dock:n?.clientWidth??t,high:n?.clientHeight??r};Math.abs(i.map-e)+Math.abs(i.dock-t)+Math.abs(i.high-r)<bt||(this.sizes=i,this.look({map_px:i.map-be,dock_px:i.dock-be,dock_high_px:i.high-be}))},vt)}};var xt="button, summary, tr[data-ref]";var ae=class{constructor(e,t){this.element=e;this.give=t;e.addEventListener("pointerdown",this.down);for(let r of["pointerup","pointercancel"])window.addEventListener(r,this.up)}element;give;held=!1;waiting=new Map;timer;down=e=>{this.held=e.target.closest(xt)!==null,this.later(2e3)};up=()=>this.later(0);take(e){if(!this.held)this.give(e);else for(let[t,r]of e)this.waiting.set(t,r)}close(){clearTimeout(this.timer),this.element.removeEventListener("pointerdown",this.down);for(let e of["pointerup","pointercancel"])window.removeEventListener(e,this.up)}later(e){clearTimeout(this.timer),this.held&&(this.timer=setTimeout(()=>this.release(),e))}release(){let e=this.waiting;this.held=!1,this.waiting=new Map,e.size>0&&this.give(e)}};var yt=["event","candidate","family","phase"],le=class{constructor(e){this.host=e;for(let p of yt)this.grain.append(o("option",{value:p},p));let t=(p,c,m,h,g="")=>{let k=o("button",{type:"button",class:`pe-button ${g}`.trim(),"data-command":p,"aria-label":c},v(m),g==="pe-bare"?null:o("span",{},c));return k.addEventListener("click",h),{name:p,element:k}},r=t("step","Step","step",()=>this.step()),n=t("start","Run","run",()=>this.toggleRun(),"pe-primary"),i=t("cancel","Cancel","cancel",()=>e.command("cancel")),a=t("undo","Undo","undo",()=>e.command("undo"),"pe-bare"),l=t("redo","Redo","redo",()=>e.command("redo"),"pe-bare");this.buttons=[r,n,i,a,l],this.moment.addEventListener("input",()=>this.lookBack(Number(this.moment.value))),this.when.addEventListener("click",()=>this.lookBack(0)),this.best.hidden=!0,this.best.addEventListener("click",()=>{this.data?.best&&e.select(this.data.best.ref)}),this.element=o("div",{class:"pe-transport"},o("div",{class:"pe-bar"},this.title,this.state,o("span",{class:"pe-group pe-time"},this.moment,this.when),this.best),o("div",{class:"pe-bar",role:"toolbar","aria-label":"search"},o("span",{class:"pe-group"},r.element,this.grain),o("span",{class:"pe-group"},n.element,i.element),o("span",{class:"pe-group"},a.element,l.element),this.phases,this.counters))}host;element;title=o("div",{class:"pe-title"});best=o("button",{type:"button",class:"pe-best"});phases=o("ol",{class:"pe-phases","aria-label":"phases"});counters=o("ul",{class:"pe-counters","aria-label":"counts"});grain=o("select",{class:"pe-select","aria-label":"size of one step",title:"size of one step"});state=o("span",{class:"pe-state"});moment=o("input",{type:"range",class:"pe-moment",min:1,"aria-label":"show an earlier state of the search",title:`show an earlier state of the search; the search itself is not changed
keys: [ and ]`});when=o("button",{type:"button",class:"pe-link pe-when"},"now");buttons;data=null;pausing=!1;step(){this.can("step")&&this.host.command("step",{n:1,grain:this.grain.value})}toggleRun(){let e=this.runCommand();!this.can(e)||this.pausing||(this.pausing=e==="pause",this.host.command(e),this.pausing&&this.data&&this.update(this.data))}lookBack(e){let t=this.data?.events??0;this.host.look({cursor:e<t?e:0})}move(e){this.data&&this.lookBack(Math.max(1,(this.data.cursor||this.data.events)+e))}can(e){return this.data?.enabled.includes(e)??!1}describe(e){let t={step:".",start:"Space",undo:"u",redo:"Shift+U"};for(let{name:r,element:n}of this.buttons){let i=e[r];i&&d(n,"title",`${i.description}
${i.python}${t[r]?`
key: ${t[r]}`:""}`)}}update(e){this.data=e,this.pausing&&=e.state==="running",f(this.title,o("span",{class:"pe-brand"},"Prism"),o("strong",{class:"pe-mono"},e.program),o("span",{class:"pe-muted"},e.target)),this.state.textContent=`${e.state} · ${e.events.toLocaleString("en")} events`,d(this.state,"data-state",e.state),d(this.moment,"max",String(Math.max(1,e.events))),this.moment.matches(":active")||(this.moment.value=String(e.cursor||e.events)),this.when.textContent=e.cursor>0?`${e.cursor.toLocaleString("en")} · back to now`:"now",this.when.disabled=e.cursor===0,this.best.hidden=e.best===null,e.best&&f(this.best,L("badge-best"),o("span",{},"best "),o("strong",{},e.best.time),...e.best.notes.map(t=>o("span",{class:"pe-muted"},t))),f(this.phases,...e.phases.map(t=>o("li",{"aria-current":t.current?"step":null,title:t.description},t.name))),this.counters.replaceChildren();for(let{kind:t,label:r,value:n,description:i}of e.counters)b(this.counters,o("li",{title:i},L(t),o("strong",{},n),o("span",{},r)));for(let{name:t,element:r}of this.buttons)r.disabled=!this.can(t==="start"?this.runCommand():t)||t==="start"&&this.pausing,t==="start"&&this.labelRun(r)}runCommand(){return this.data?.state==="running"?"pause":this.can("resume")?"resume":"start"}labelRun(e){let t=this.runCommand(),r=this.pausing?"Pausing":{pause:"Pause",resume:"Resume"}[t]??"Run";f(e,v(t==="pause"?"pause":"run"),o("span",{},r)),d(e,"data-command",t),d(e,"aria-label",r)}};var wt=1e3,pe=class{element=o("span",{class:"pe-status",role:"status","aria-live":"polite"});timer;next="";announce(e){this.next=e,this.timer===void 0&&(this.element.textContent=e,this.timer=setTimeout(()=>{this.timer=void 0,this.element.textContent!==this.next&&this.announce(this.next)},wt))}close(){clearTimeout(this.timer)}};async function De(s){if(!navigator.clipboard)return Ve(s);try{return await navigator.clipboard.writeText(s),!0}catch{return Ve(s)}}function Ve(s){let e=o("textarea",{style:"position:fixed;opacity:0"});e.value=s,document.body.append(e),e.select();let t=document.execCommand("copy");return e.remove(),t}var de=class{constructor(e,t){this.model=e;this.listener=t}model;listener;have=0;waiting=!1;timer;commands=0;name=Math.random().toString(36).slice(2,10);parts=new Map;onMessage=e=>this.receive(e);open(){this.model.on("msg:custom",this.onMessage);let e=this.model.get("snapshot");e?.texts&&e.seq>0&&(this.have=e.left_out.length===0?e.seq:0,this.listener.sections(new Map(Object.entries(e.texts).map(([t,r])=>[t,JSON.parse(r)])))),this.hello()}close(){clearTimeout(this.timer),this.model.off("msg:custom",this.onMessage)}command(e,t={}){this.commands+=1;let r=`${this.name}-${this.commands}`;return this.model.send({kind:"command",event_id:r,name:e,args:t}),r}look(e){this.model.send({kind:"look",...e})}hello(){this.waiting=!0,this.model.send({kind:"hello",have:this.have}),clearTimeout(this.timer),this.timer=setTimeout(()=>{this.waiting=!1,this.listener.connected(!1)},4e3)}receive(e){let t=e;if(t?.kind!=="sections")return;for(let n of t.replies)this.listener.reply(n);if(this.have<t.after){this.waiting||this.hello();return}clearTimeout(this.timer),this.waiting=!1,this.have=t.seq;let r=new Map;for(let[n,i,a,l]of t.chunks){let p=this.join(n,i,a,l);p!==null&&r.set(n,JSON.parse(p))}this.listener.connected(!0),r.size>0&&this.listener.sections(r)}join(e,t,r,n){if(r===1)return this.parts.delete(e),n;let i=this.parts.get(e),a=i&&i.length===r&&t>0?i:new Array(r).fill(void 0);return a[t]=n,this.parts.set(e,a),a.includes(void 0)?null:(this.parts.delete(e),a.join(""))}};var ce=class{element;bar;panels;layout;find;help;selection="";root="";wire;status=new pe;banner=o("p",{class:"pe-banner",role:"alert",hidden:!0});lastLine=o("button",{type:"button",class:"pe-python",title:"copy this line",hidden:!0});selecting=null;error=null;pastNotice=null;press;constructor(e){this.bar=new le(this),this.panels=je(this),this.layout=new ie(this.panels,r=>this.look(r)),this.find=new j(this.panels);let t=Ge(this);this.help=new G(t,()=>this.element.focus({preventScroll:!0})),this.element=o("div",{class:"prism-explore prism-scene",tabindex:0,"data-lm-suppress-shortcuts":"true",role:"application","aria-label":"Prism explorer; press ? for the keys"},o("style",{},`${Ce}
${xe}`),this.bar.element,this.banner,this.layout.main,this.foot(),this.help.element),this.element.addEventListener("keydown",r=>Be(r,t,this)),this.layout.follow(this.element),this.press=new ae(this.element,r=>this.receive(r)),this.wire=new de(e,{sections:r=>this.press.take(r),reply:r=>this.onReply(r),connected:r=>this.onConnection(r)})}open(){this.layout.measure(),this.wire.open()}close(){this.wire.close(),this.press.close(),this.layout.close(),this.status.close();for(let e of this.panels.values())e.close()}command(e,t={}){this.wire.command(e,t)}look(e){this.wire.look(e)}select(e){e!==this.selection&&(this.applySelection(e),this.selecting=this.wire.command("select",{id:e}))}enter(e){this.select(e);let t=this.panels.get(this.layout.current());B(e)?this.zoomMap(e):t?.enter?t.enter():V(e)!==null&&this.layout.show("graph")}hover(e){for(let t of this.panels.values())t.hover(e)}copy(e,t){De(e).then(r=>this.announce(r?`copied ${t}`:`could not copy ${t}; select and copy it by hand`))}maximise(e){this.layout.maximise(e)}announce(e){this.status.announce(e)}walk(e){let t=this.layout.current()==="graph"?"graph":"map";this.panels.get(t)?.stage?.walk(e)}zoomMap(e){this.root=this.root===e?"":e,this.look({root:this.root})}readInspector(){this.layout.show("inspector"),this.panels.get("inspector")?.focus?.()}toggleTable(){let e=this.panels.get(this.layout.current());(e?.toggleTable?e:this.panels.get("map"))?.toggleTable?.()}leave(){if(this.help.open)this.help.toggle();else{if(this.layout.restore()||this.find.clear())return;this.selection?this.select(""):document.activeElement?.blur()}}receive(e){let t=(r,n)=>{if(e.has(r))try{n(e.get(r))}catch(i){console.error(`prism_explore: the panel ${r} could not be drawn`,i),this.announce(`The panel ${r} could not be drawn: ${String(i)}`)}};t("commands",r=>this.bar.describe(r)),t("transport",r=>{this.bar.update(r),d(this.element,"data-state",r.state),d(this.element,"data-past",r.cursor>0),this.pastNotice=r.past_notice||null,this.showBanner(this.error),this.announce(r.status)});for(let[r,n]of this.panels)t(r,i=>n.update(i));t("script",r=>this.panels.get("ledger")?.showScript(r)),t("error",r=>{this.error=r,this.showBanner(r)}),t("view",r=>{this.selecting===null&&this.applySelection(r.selection)}),this.find.refresh()}onReply(e){e.event_id===this.selecting&&(this.selecting=null),e.ok?e.python&&(this.lastLine.textContent=e.python,this.lastLine.hidden=!1):this.announce(e.message??"the command failed")}onConnection(e){d(this.element,"data-connected",e?"yes":"no"),this.showBanner(e?this.error:"The kernel does not answer. It is busy with a cell, or it has ended. The panels show the last state it sent.")}showBanner(e){let t=e??this.pastNotice;this.banner.hidden=!t,this.banner.textContent=t??""}applySelection(e){this.selection=e;let t=e?[e,...Te(e)]:[];for(let r of this.panels.values())r.select(e?[e]:[]);t.length>1&&this.panels.get("families")?.select(t)}foot(){this.lastLine.addEventListener("click",()=>this.copy(this.lastLine.textContent??"","the line"));let e=o("button",{type:"button",class:"pe-tool",title:"keys (?)","aria-label":"keys"},v("help"));return e.addEventListener("click",()=>this.help.toggle()),o("footer",{class:"pe-foot"},this.status.element,this.lastLine,this.find.count,this.find.input,e)}};var kt=[["[data-jp-theme-light='false']","dark"],["[data-jp-theme-light='true']","light"],[".vscode-dark, .vscode-high-contrast:not(.vscode-high-contrast-light)","dark"],[".vscode-light, .vscode-high-contrast-light","light"],[".dark, .dark-theme, [theme='dark'], [data-theme='dark'], [data-color-mode='dark']","dark"],[".light, .light-theme, [theme='light'], [data-theme='light'], [data-color-mode='light']","light"]];function Et(s){for(let e=he(s);e!==null;e=he(e)){let t=kt.find(([r])=>e?.matches(r));if(t)return t[1]}for(let e=he(s);e!==null;e=he(e)){let t=Mt(getComputedStyle(e).backgroundColor);if(t!==null)return t<.5?"dark":"light"}return matchMedia("(prefers-color-scheme: dark)").matches?"dark":"light"}function Ke(s){let e=()=>{let n=Et(s);s.dataset.theme!==n&&(s.dataset.theme=n)},t=new MutationObserver(e);for(let n of[document.documentElement,document.body])t.observe(n,{attributes:!0});let r=matchMedia("(prefers-color-scheme: dark)");return r.addEventListener("change",e),e(),()=>{t.disconnect(),r.removeEventListener("change",e)}}function he(s){let e=s.getRootNode();return s.parentElement??(e instanceof ShadowRoot?e.host:null)}function Mt(s){let e=s.match(/[\d.]+/g)?.map(Number)??[],[t=0,r=0,n=0,i=1]=e;return e.length<3||i<.5?null:(.2126*t+.7152*r+.0722*n)/255}var wn={render({model:s,el:e}){let t=new ce(s);e.append(t.element);let r=Ke(t.element);return t.open(),()=>{r(),t.close(),t.element.remove()}}};export{wn as default};
