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
`;var Fe="http://www.w3.org/2000/svg";function we(s,e,t){for(let[n,r]of Object.entries(e))r==null||r===!1||(typeof r=="function"?s.addEventListener(n,r):s.setAttribute(n,r===!0?"":String(r)));return b(s,...t),s}function b(s,...e){for(let t of e)t===null||t===!1||s.append(typeof t=="string"?document.createTextNode(t):t)}function i(s,e={},...t){return we(document.createElement(s),e,t)}function u(s,e={},...t){return we(document.createElementNS(Fe,s),e,t)}function f(s,...e){s.replaceChildren(),b(s,...e)}function d(s,e,t){let n=t===!0?"":t===!1?null:t;s.getAttribute(e)!==n&&(n===null?s.removeAttribute(e):s.setAttribute(e,n))}function I(s,e){s.textContent!==e&&(s.textContent=e)}var ye=0;function H(s){return ye+=1,`prism-${s}-${ye}`}var j=class{constructor(e){this.panels=e;this.input.addEventListener("input",()=>this.find())}panels;input=i("input",{class:"pe-search",type:"search",placeholder:"find  /","aria-label":"find in the pictures"});count=i("span",{class:"pe-muted pe-found"});focus(){this.input.focus()}clear(){return this.input.value?(this.input.value="",this.find(),!0):!1}refresh(){this.input.value&&this.find()}find(){let e=this.input.value.trim().toLowerCase(),n=e?a=>[a.ref??"",a.tip??"",...(a.texts??[]).map(l=>l.text)].join(`
`).toLowerCase().includes(e):null,o=["map","graph"].map(a=>this.panels.get(a)?.stage).reduce((a,l)=>a+(l?.find(n)??0),0);this.count.textContent=e?`${o} found`:""}};var B=class{constructor(e,t){this.closed=t;let n=i("dl",{class:"pe-facts"});for(let o of e)o.shown&&b(n,i("dt",{},i("kbd",{},o.shown)),i("dd",{},o.help));let r=i("button",{type:"button",class:"pe-button"},"Close");r.addEventListener("click",()=>this.toggle()),f(this.element,i("h3",{},"Keys, while the explorer has the focus"),n,i("label",{},this.letters," keys without Ctrl are active"),i("p",{class:"pe-muted"},"Ctrl + wheel zooms a picture, dragging moves it, a double click fits it into its panel."),r)}closed;element=i("dialog",{class:"pe-help","aria-label":"keys"});letters=i("input",{type:"checkbox",checked:!0});get open(){return this.element.open}get lettersActive(){return this.letters.checked}toggle(){this.open?(this.element.close(),this.closed()):this.element.show()}};function ke(s){return s instanceof Element&&s.closest("input, select, textarea, [contenteditable]")!==null}function Ee(s){return s instanceof Element&&s.closest("button, a, summary")!==null}function Me(s){return(s.ctrlKey||s.metaKey?"Ctrl+":"")+s.key}function Se(s){return s.length===1&&s!==" "}function G(s){return/^n\d+$/.test(s)}function V(s){return/^f\d+/.exec(s)?.[0]??null}function Te(s){let[e="",t]=s.split("/"),[n=""]=e.split(".");return[...t?[e]:[],...e.includes(".")?[n]:[]]}var Le=JSON.parse('{"unknown": "dots", "pruned-sound": "hatch", "pruned-heuristic": "sparse", "pruned-budget": "dashes", "pruned-user": "cross", "aggregate": "weave"}'),He=JSON.parse('{"hatch": [6, "M-1,1 L1,-1 M0,6 L6,0 M5,7 L7,5", "ink-hatch"], "sparse": [12, "M-1,1 L1,-1 M0,12 L12,0 M11,13 L13,11", "ink-hatch"], "dots": [8, "M2,1.2 a.9,.9 0 1 0 .01,0 M6,5.2 a.9,.9 0 1 0 .01,0", "ink-status"], "dashes": [8, "M0,2 H5 M4,6 H8 M0,6 H1", "ink-status"], "cross": [8, "M-1,1 L1,-1 M0,8 L8,0 M7,9 L9,7 M-1,7 L1,9 M0,0 L8,8 M7,-1 L9,1", "ink-status"], "weave": [6, "M0,1.5 H3 M3,4.5 H6", "ink-hatch"]}'),D=JSON.parse('{"diamond": [[0.5, 0], [1, 0.5], [0.5, 1], [0, 0.5]], "hexagon": [[0.25, 0], [0.75, 0], [1, 0.5], [0.75, 1], [0.25, 1], [0, 0.5]], "square": [[0, 0], [1, 0], [1, 1], [0, 1]], "triangle": [[0, 0], [1, 0], [0.5, 1]], "star": [[0.5, 0.0], [0.623, 0.33], [0.976, 0.345], [0.7, 0.565], [0.794, 0.905], [0.5, 0.71], [0.206, 0.905], [0.3, 0.565], [0.024, 0.345], [0.377, 0.33]]}'),Re=`
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
`;var Pe=12,We={proved:"diamond",family:"diamond",unknown:"hexagon",refuted:"square",frontier:"circle",expanded:"circle","badge-best":"star"},Ue=[[.5,0],[1,1],[0,1]];function L(s){let e=We[s]??(s.startsWith("pruned")?"triangle":"circle"),t=s==="warning"?Ue:D[e],n=t?u("polygon",{class:"body",points:t.map(([a,l])=>`${1+a*Pe},${1+l*Pe}`).join(" ")}):u("circle",{class:"body",cx:7,cy:7,r:5}),r=s==="warning"?u("path",{class:"bang",d:"M7 5.2v3.4M7 10.3v.9"}):null,o=/^[\w-]+$/.test(s)?s:"plain";return u("svg",{class:"pe-glyph",viewBox:"0 0 14 14",width:14,height:14,"aria-hidden":"true"},u("g",{class:`item k-${o}`},n,r))}var Je={step:"M3 3v10M6 3l7 5-7 5z",run:"M4 2.5l9 5.5-9 5.5z",pause:"M4 3h3v10H4zM9 3h3v10H9z",cancel:"M3.5 3.5h9v9h-9z",undo:"M6 3L2.5 6.5 6 10M3 6.5h6a3.5 3.5 0 0 1 0 7H6",redo:"M10 3l3.5 3.5L10 10M13 6.5H7a3.5 3.5 0 0 0 0 7h3",accept:"M2.5 8.5l3.5 4 7.5-9",reject:"M3.5 3.5l9 9M12.5 3.5l-9 9",copy:"M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",maximise:"M2.5 6v-3.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10",fit:"M2.5 5V2.5H5M11 2.5h2.5V5M13.5 11v2.5H11M5 13.5H2.5V11M5.5 5.5h5v5h-5z",table:"M2.5 3h11v10h-11zM2.5 6.3h11M2.5 9.6h11M6 3v10",plus:"M8 3v10M3 8h10",minus:"M3 8h10",expand:"M2.5 2.5h11v11h-11zM8 5v6M5 8h6",collapse:"M2.5 2.5h11v11h-11zM5 8h6",help:"M6 6a2 2 0 1 1 2.6 1.9c-.4.2-.6.5-.6 1V10M8 12.2v.3",close:"M4 4l8 8M12 4l-8 8"},Xe=new Set(["run","pause","cancel"]);function v(s){return u("svg",{class:"pe-icon",viewBox:"0 0 16 16",width:16,height:16,"aria-hidden":"true"},u("path",{d:Je[s],class:Xe.has(s)?"solid":null}))}var Ye="http://www.w3.org/1998/Math/MathML",Qe={math:["displaystyle"],mrow:[],mi:[],mn:[],mo:["stretchy"],mtext:[],mspace:["width"],mfrac:[],msqrt:[],msup:[],munder:[]};function C(s,e){let t=s?new DOMParser().parseFromString(s,"application/xml").documentElement:null,n=t?.nodeName==="math"?Ce(t):null,r=document.createElement(n?"div":"pre");return r.className="pe-formula",r.title=n?e:"",r.append(n??e),r}function Ce(s){let e=Qe[s.nodeName];if(!e)return null;let t=document.createElementNS(Ye,s.nodeName);for(let n of e){let r=s.getAttribute(n);r!==null&&t.setAttribute(n,r)}for(let n of s.childNodes){let r=n instanceof Element?Ce(n):n.textContent??"";if(r===null)return null;t.append(r)}return t}var Ze=24,R=60,et=15,tt=29,w=class{constructor(e,t){this.events=t;this.table=i("table",{class:"pe-table","aria-label":e},this.head,this.body),this.element=i("div",{class:"pe-tablebox",tabindex:-1},this.table,this.note),this.element.addEventListener("scroll",()=>this.follow(),{passive:!0});let n=r=>r.target.closest("tr[data-ref]")?.getAttribute("data-ref")??null;this.body.addEventListener("click",r=>{if(r.target.closest("button"))return;let o=n(r);o&&this.events.select(o)}),this.body.addEventListener("pointerover",r=>this.events.hover(n(r))),this.body.addEventListener("pointerleave",()=>this.events.hover(null)),this.body.addEventListener("keydown",r=>this.walk(r))}events;element;table;head=i("thead");body=i("tbody");note=i("p",{class:"pe-note"});data=null;rows=[];first=0;rowPx=tt;text="";sorted=null;selected=[];update(e){let t=JSON.stringify(e);t!==this.text&&(this.text=t,this.data=e,this.draw())}select(e){this.selected=e;for(let t of this.body.querySelectorAll("tr"))d(t,"aria-selected",e.includes(t.getAttribute("data-ref")??"")?"true":"false")}hover(e){for(let t of this.body.querySelectorAll("tr"))t.classList.toggle("hovered",e!==null&&t.getAttribute("data-ref")===e)}draw(){let{data:e}=this;e&&(this.rows=this.order(e),d(this.table,"aria-rowcount",String(this.rows.length+1)),this.freeWidths(),f(this.head,i("tr",{},...e.columns.map((t,n)=>this.header(e,n)),this.toolsHead())),this.drawRows(this.first),this.rows.length>R&&this.holdWidths(),this.note.textContent=e.omitted,this.note.hidden=e.omitted==="")}drawRows(e){let{data:t,rows:n}=this;if(!t)return;this.first=Math.max(0,Math.min(e,n.length-R));let r=Math.min(this.first+R,n.length),o=this.body.contains(document.activeElement),a=o?me(document.activeElement):null,l=o?document.activeElement?.closest("tr")?.getAttribute("data-ref")??null:null;if(f(this.body,this.gap(this.first),...n.slice(this.first,r).map((h,g)=>this.row(t,h,this.first+g)),this.gap(n.length-r)),n.length===0&&b(this.body,i("tr",{},i("td",{class:"pe-empty",colspan:this.span(t)},t.empty_text))),this.select(this.selected),a===null||l===null)return;let c=[...this.body.querySelectorAll("tr[data-ref]")].filter(h=>h.getAttribute("data-ref")===l);(c.find(h=>me(h)===a)??c[0]??this.element).focus({preventScroll:!0})}gap(e){if(e===0||!this.data)return null;let t=i("td",{colspan:this.span(this.data),style:`height:${e*this.rowPx}px`});return i("tr",{class:"pe-gap","aria-hidden":"true"},t)}span(e){return e.columns.length+(this.events.tools?1:0)}follow(){let{rows:e,element:t}=this;if(e.length<=R)return;let n=[...this.body.querySelectorAll("tr[aria-rowindex]")],r=n.reduce((c,m)=>c+m.offsetHeight,0)/Math.max(1,n.length);r>0&&(this.rowPx=r);let o=Math.floor(t.scrollTop/this.rowPx),a=o+Math.ceil(t.clientHeight/this.rowPx),l=o<this.first,p=a>this.first+R&&this.first+R<e.length;(l||p)&&this.drawRows(o-et)}holdWidths(){let e=[...this.head.querySelectorAll("th")],t=e.map(n=>n.offsetWidth);t.some(n=>n===0)||(e.forEach((n,r)=>{n.style.width=`${t[r]}px`}),this.table.style.tableLayout="fixed")}freeWidths(){this.table.style.tableLayout=""}toolsHead(){return this.events.tools?i("th",{scope:"col"},i("span",{class:"pe-hidden"},"actions")):null}header(e,t){let n=e.columns[t];if(!n)return i("th");let r=this.sorted?.key===n.key?this.sorted:null,o=i("button",{type:"button",class:"pe-sort",title:n.tip??`sort by ${n.label}`},n.label,i("span",{class:"pe-arrow","aria-hidden":"true"},r?r.down?"▾":"▴":""));return o.addEventListener("click",()=>{let a=this.sorted?.key===n.key;this.sorted=a&&this.sorted?.down?null:{key:n.key,down:a},this.draw()}),i("th",{scope:"col",class:n.align==="right"?"pe-right":n.wide?"pe-wide":null,"aria-sort":r?r.down?"descending":"ascending":"none"},o)}order(e){let{sorted:t}=this,n=e.columns.findIndex(a=>a.key===t?.key);if(!t||n<0)return e.rows;let r=t.down?-1:1,o=e.rows.map((a,l)=>({row:a,i:l}));return o.sort((a,l)=>r*nt(a.row.cells[n],l.row.cells[n])||a.i-l.i),o.map(a=>a.row)}row(e,t,n){let r=t.cells.map((p,c)=>{let m=e.columns[c],h=typeof p=="string"?{text:p}:p,g=[m?.align==="right"?"pe-right":"",m?.mono?"pe-mono":"",h.text.length<=Ze?"pe-short":""].filter(Boolean).join(" "),k=h.kind?L(h.kind):null,T=h.math?C(h.math,h.text):m?.wide&&h.tip?i("span",{class:"pe-clamp"},h.text):h.text;return i("td",{class:g||null,title:h.tip??null},k,T)}),o=this.events.tools?i("td",{class:"pe-tools"},...this.events.tools(t)):null,a=t.ref?{"data-ref":t.ref,tabindex:-1,"aria-selected":"false"}:{},l={"aria-rowindex":n+2,class:t.kind?`row-${t.kind}`:null};return i("tr",{...a,...l},...r,o)}walk(e){let t={ArrowDown:1,ArrowUp:-1}[e.key],n=e.target.closest("tr");if(t===void 0||!n)return;e.preventDefault(),e.stopPropagation();let r=(me(n)??0)+t,o=this.rows[r]?.ref;o&&((r<this.first||r>=this.first+R)&&this.drawRows(r-R/2),this.body.querySelector(`tr[aria-rowindex="${r+2}"]`)?.focus(),this.events.select(o))}};function me(s){let e=s?.closest("tr")?.getAttribute("aria-rowindex");return e?Number(e)-2:null}function nt(s,e){let[t,n]=[Ne(s),Ne(e)];return typeof t=="number"&&typeof n=="number"?t-n:typeof t=="number"?-1:typeof n=="number"?1:t.localeCompare(n,void 0,{numeric:!0})}function Ne(s){return s===void 0?"":typeof s=="string"?s:s.sort??s.text}function y(s,e,t){let n=i("button",{type:"button",class:"pe-tool",title:e,"aria-label":e},v(s));return n.addEventListener("click",t),n}var x=class{constructor(e,t,n,r=[]){this.name=e;this.tools.append(...r,y("maximise",`maximise ${t.toLowerCase()} (m)`,()=>n.maximise(e)));let o=i("header",{class:"pe-head"},i("h3",{},t),this.caption,this.tools);this.element=i("section",{class:"pe-panel","data-panel":e,"aria-label":t},o,this.body)}name;element;caption=i("span",{class:"pe-caption"});tools=i("span",{class:"pe-tools"});body=i("div",{class:"pe-body"})};var ue={select(){},hover(){},close(){}},q=class{constructor(e){this.host=e;let t=new x("families","Families",e);this.table=new w("families",{select:n=>e.select(n),hover:n=>e.hover(n),tools:n=>this.tools(n)}),t.body.append(this.table.element),this.element=t.element}host;name="families";element;table;update(e){this.table.update(e)}select(e){this.table.select(e)}hover(e){this.table.hover(e)}close(){}tools(e){let t=n=>{let r=`${n} ${e.ref}`,o=i("button",{type:"button",class:"pe-tool",title:r,"aria-label":r,"data-command":n},v(n));return o.addEventListener("click",()=>this.host.command(n,{id:e.ref})),o};return[t("accept"),t("reject")]}},K=class{name="ledger";element;claim=i("p",{class:"pe-claim"});undo=i("button",{type:"button",class:"pe-button"});redo=i("button",{type:"button",class:"pe-button"});script=i("pre",{class:"pe-code",tabindex:0,"aria-label":"this session as Python"});tables;lines=[];constructor(e){let t=new x("ledger","Ledger",e),n={select:a=>e.select(a),hover:a=>e.hover(a)};this.tables={soundness:new w("pruned, by kind of rule",n),reasons:new w("pruned, by reason",n),steering:new w("steering",n),log:new w("log",n)},this.undo.addEventListener("click",()=>e.command("undo")),this.redo.addEventListener("click",()=>e.command("redo"));let r=i("button",{type:"button",class:"pe-button"},v("copy"),i("span",{},"copy as Python"));r.addEventListener("click",()=>e.copy(this.lines.join(`
`),"this session as Python"));let o=(a,...l)=>i("div",{class:"pe-column"},i("h4",{},a),...l);t.body.append(i("div",{class:"pe-ledger"},this.claim,i("div",{class:"pe-columns"},o("Pruned, by kind of rule and by reason",this.tables.soundness.element,this.tables.reasons.element),o("Steering",i("div",{class:"pe-group"},this.undo,this.redo,r),this.tables.steering.element,this.script),o("Log",this.tables.log.element)))),this.element=t.element}update(e){I(this.claim,e.claim),this.tables.soundness.update(e.soundness),this.tables.reasons.update(e.reasons),this.tables.steering.update(e.steering),this.tables.log.update(e.log);for(let[t,n]of[[this.undo,e.undo],[this.redo,e.redo]])f(t,v(n.command==="redo"?"redo":"undo"),i("span",{},n.label)),t.disabled=!n.enabled,d(t,"title",`${n.description}
${n.python}`)}showScript(e){this.lines=e.lines,I(this.script,e.lines.join(`
`)),this.script.hidden=e.lines.length===0}select(e){for(let t of Object.values(this.tables))t.select(e)}hover(e){for(let t of Object.values(this.tables))t.hover(e)}close(){}},F=class{name="code";element;select=ue.select;hover=ue.hover;close=ue.close;frame;source=i("code");numbers=i("span",{class:"pe-lines","aria-hidden":"true"});data=null;constructor(e){this.frame=new x("code","Code",e,[y("copy","copy the source",()=>e.copy(this.data?.source??"",this.data?.title??"the source"))]);let t=i("pre",{class:"pe-code pe-source",tabindex:0},this.numbers,this.source);this.frame.body.append(t),this.element=this.frame.element}update(e){this.data=e,this.frame.caption.textContent=[e.title,e.caption].filter(Boolean).join(" · "),I(this.source,e.source||"No source has been generated yet.");let t=e.source?e.source.split(`
`).length:0;this.numbers.textContent=Array.from({length:t},(n,r)=>String(r+1)).join(`
`)}};var $=8,Ae=1e7,W=class{constructor(e){this.role=e;for(let[t,[n,r,o]]of Object.entries(He))this.patterns.append(u("pattern",{id:`${this.prefix}-${t}`,width:n,height:n,patternUnits:"userSpaceOnUse"},u("path",{class:o,d:r})))}role;element=u("g",{class:"drawing"});patterns=u("defs");targets=[];prefix=H("pattern");kept=new Map;byRef=new Map;update(e){let t=new Map,n=new Map,r=[];for(let a of e.items){let l=JSON.stringify(a),p=this.kept.get(a.id),c=p?.text===l?p.element:this.draw(a);t.set(a.id,{text:l,element:c}),r.push(c),a.ref&&n.set(a.ref,[...n.get(a.ref)??[],c])}r.length===this.element.childNodes.length&&r.every((a,l)=>this.element.childNodes[l]===a)||this.element.replaceChildren(...r),this.kept=t,this.byRef=n,this.targets=e.items.filter(a=>a.type==="shape"&&!!a.ref)}highlight(e,t){let n=new Set(t.flatMap(r=>this.byRef.get(r)??[]));for(let r of this.element.querySelectorAll(`.item.${e}`))n.has(r)||r.classList.remove(e);for(let r of n)r.classList.add(e);if(e==="selected"){for(let r of this.element.querySelectorAll("[aria-selected=true]"))n.has(r)||r.setAttribute("aria-selected","false");for(let r of n)d(r,"aria-selected","true")}}find(e,t){let n=0;for(let r of t.items){let o=e===null||!r.ref||e(r);e!==null&&r.ref&&o&&(n+=1),this.kept.get(r.id)?.element.classList.toggle("dimmed",!o)}return n}elementId(e){return this.kept.get(e)?.element.id??null}draw(e){let t=/^[\w-]+$/.test(e.kind)?e.kind:"plain",n=e.type==="shape"?`shape role-${e.role}`:e.closed?"edge band":"edge",r=u("g",{class:`item ${n} k-${t}`,"data-id":e.id});e.ref&&(r.id=H("item"),d(r,"data-ref",e.ref),d(r,"role",this.role),d(r,"aria-selected","false"),d(r,"aria-label",e.tip??(e.texts??[]).map(o=>o.text).join(" ")??e.ref)),e.tip&&d(r,"data-tip",e.tip),e.type==="shape"?this.shape(r,e):this.edge(r,e);for(let o of e.texts??[])r.append(rt(o));return r}shape(e,t){let n=ze(t);if(n===null)return;d(n,"class","body"),e.append(n);let r=Le[t.kind],o=r?ze(t):null;o!==null&&(d(o,"class","pattern"),d(o,"fill",`url(#${this.prefix}-${r})`),e.append(o))}edge(e,t){let n=t.points.map(([m,h])=>[P(m),P(h)]),r=n.at(-1),o=n.at(-2),a=null;if(t.arrow&&r&&o){let m=Math.hypot(r[0]-o[0],r[1]-o[1])||1,h=(r[0]-o[0])/m,g=(r[1]-o[1])/m,k=r[0]-h*$,T=r[1]-g*$,M=$*.45;n[n.length-1]=[r[0]-h*$*.6,r[1]-g*$*.6];let O=[r,[k-g*M,T+h*M],[k+g*M,T-h*M]];a=u("polygon",{class:"head",points:O.map(A=>A.join(",")).join(" ")})}let[l,...p]=n.map(m=>m.join(","));if(l===void 0)return;let c=`M${l} ${t.curve==="bezier"?"C":"L"}${p.join(" ")}${t.closed?" Z":""}`;e.append(u("path",{class:"body",d:c})),t.ref&&e.append(u("path",{class:"reach",d:c})),a&&e.append(a)}};function rt(s){let e=/^[\w-]+$/.test(s.kind??"label")?s.kind??"label":"label";return u("text",{class:`t-${e}`,x:P(s.x),y:P(s.y),"text-anchor":s.anchor??"middle"},s.text)}function ze(s){let[e,t,n,r]=[P(s.x),P(s.y),P(s.w),P(s.h)],o=s.outline??"rect";switch(o){case"none":return null;case"rect":case"pill":{let a=o==="pill"?Math.min(n,r)/2:s.role==="frame"?10:Math.min(4,n/3);return u("rect",{x:e,y:t,width:n,height:r,rx:a})}case"circle":return u("ellipse",{cx:e+n/2,cy:t+r/2,rx:n/2,ry:r/2});case"cross":return u("path",{d:`M${e},${t} L${e+n},${t+r} M${e+n},${t} L${e},${t+r}`});default:{let a=D[o]??[];return u("polygon",{points:a.map(([l,p])=>`${e+l*n},${t+p*r}`).join(" ")})}}}function P(s){return Number.isFinite(s)?Math.max(-Ae,Math.min(Ae,s)):0}function _e(s,e,t){let n=t==="left"||t==="up"?-1:1,r=t==="left"||t==="right",o=null,a=Number.POSITIVE_INFINITY;for(let l of e){if(l.ref===s.ref)continue;let[p,c]=r?[s.x,s.x+s.w]:[s.y,s.y+s.h],[m,h]=r?[l.x,l.x+l.w]:[l.y,l.y+l.h],g=n>0?m-c:p-h;if(g<-1)continue;let k=r?$e(s.y,s.y+s.h,l.y,l.y+l.h):$e(s.x,s.x+s.w,l.x,l.x+l.w),T=Math.abs(r?s.y+s.h/2-l.y-l.h/2:s.x+s.w/2-l.x-l.w/2),M=g+3*k+.05*T;M<a&&(a=M,o=l)}return o}function $e(s,e,t,n){return Math.max(0,t-e,s-n)}var st=.15,it=4,ot=.8,at=1.15,S=8,N=class{constructor(e,t,n){this.events=n;this.drawing=new W(t==="tree"?"treeitem":"option");let[r,o]=[H("title"),H("desc")];this.title.id=r,this.desc.id=o,this.svg=u("svg",{class:"prism-scene",role:t,tabindex:0,"aria-labelledby":r,"aria-describedby":o,"data-stage":e},this.title,this.desc,this.drawing.patterns,this.drawing.element,this.overlay),this.element=i("div",{class:"pe-stage"},this.svg,this.tip),this.resize=new ResizeObserver(()=>{this.moved||this.fit()}),this.resize.observe(this.element),this.listen()}events;element;overlay=u("g",{class:"pe-overlay"});svg;title=u("title");desc=u("desc");drawing;tip=i("div",{class:"pe-tip",role:"tooltip",hidden:!0});resize;scene=null;pattern=null;x=0;y=0;scale=1;scroll=!1;moved=!1;selected=[];dragged=!1;close(){this.resize.disconnect()}get shown(){return this.scene}update(e){let t=this.scene?.width!==e.width||this.scene.height!==e.height;this.scene&&this.scene.title!==e.title&&(this.moved=!1),this.scene=e,this.title.textContent=e.title,this.desc.textContent=e.desc,this.drawing.update(e),this.drawing.highlight("selected",this.selected),this.pattern&&this.drawing.find(this.pattern,e),t&&!this.moved&&this.fit()}select(e){this.selected=e,this.drawing.highlight("selected",e);let t=this.current();d(this.svg,"aria-activedescendant",t?this.drawing.elementId(t.id):null)}hover(e){this.drawing.highlight("hovered",e===null?[]:[e])}find(e){return this.pattern=e,this.scene?this.drawing.find(e,this.scene):0}fit(){let{clientWidth:e,clientHeight:t}=this.element;if(!this.scene||e===0||t===0)return;let n=Math.min((e-2*S)/this.scene.width,(t-2*S)/this.scene.height,at);this.scale=this.scroll?Math.min(1,(e-2*S)/this.scene.width):Math.max(n,ot),this.x=Math.max(S,(e-this.scene.width*this.scale)/2),this.y=this.scroll?S:Math.max(S,(t-this.scene.height*this.scale)/2),this.moved=!1,this.place()}zoom(e,t){let{clientWidth:n,clientHeight:r}=this.element,{x:o,y:a}=t??{x:n/2,y:r/2},l=Math.min(it,Math.max(st,this.scale*e));this.x=o-(o-this.x)*l/this.scale,this.y=a-(a-this.y)*l/this.scale,this.scale=l,this.moved=!0,this.place()}reveal(e){let t=this.drawing.targets.find(h=>h.ref===e),{clientWidth:n,clientHeight:r}=this.element;if(!t||n===0)return;let o=t.x*this.scale+this.x,a=t.y*this.scale+this.y,[l,p]=[t.w*this.scale,t.h*this.scale],[c,m]=[this.x,this.y];(o+l<20||o>n-20)&&(this.x=n/2-(t.x+t.w/2)*this.scale),(a+p<20||a>r-20)&&(this.y=r/2-(t.y+t.h/2)*this.scale),(c!==this.x||m!==this.y)&&(this.moved=!0,this.place())}walk(e){let t=this.current(),n=t?_e(t,this.drawing.targets,e):this.drawing.targets[0]??null;n?.ref&&(this.events.select(n.ref),this.reveal(n.ref))}focus(){this.svg.focus({preventScroll:!0})}table(){let e=i("tbody"),t=new Map;for(let r of this.scene?.items??[]){if(!r.ref)continue;let o=r.tip||(r.texts??[]).map(a=>a.text).join(" ");o.length>=(t.get(r.ref)??"").length&&t.set(r.ref,o)}for(let[r,o]of t){let a=i("button",{class:"pe-link",type:"button"},r);a.addEventListener("click",()=>this.events.select(r)),b(e,i("tr",{"data-ref":r},i("th",{scope:"row"},a),i("td",{},o)))}let n=i("thead",{},i("tr",{},...["id","description"].map(r=>i("th",{scope:"col"},i("span",{class:"pe-sort"},r)))));return i("table",{class:"pe-table"},i("caption",{},this.scene?.desc??""),n,e)}current(){let e=new Set(this.selected);return this.drawing.targets.find(t=>t.ref!==void 0&&e.has(t.ref))??null}place(){let e=n=>Math.round(n*1e3)/1e3,t=`translate(${e(this.x)} ${e(this.y)}) scale(${e(this.scale)})`;d(this.drawing.element,"transform",t),d(this.overlay,"transform",t)}at(e){let t=this.element.getBoundingClientRect();return{x:(e.clientX-t.left-this.x)/this.scale,y:(e.clientY-t.top-this.y)/this.scale}}listen(){let e=n=>n.target.closest(".item"),t=n=>n.target.closest("[data-ref]")?.getAttribute("data-ref")??null;this.svg.addEventListener("click",n=>{let r=t(n);r!==null&&!this.dragged&&this.events.select(r)}),this.svg.addEventListener("dblclick",n=>{let r=t(n);r!==null?this.events.enter(r):this.fit(),n.preventDefault()}),this.svg.addEventListener("pointerover",n=>{this.events.hover(t(n)),this.showTip(e(n)?.getAttribute("data-tip")??null,n)}),this.svg.addEventListener("pointerleave",()=>{this.events.hover(null),this.showTip(null)}),this.svg.addEventListener("pointerdown",n=>this.drag(n)),this.element.addEventListener("wheel",n=>{if(!n.ctrlKey&&!n.metaKey){this.scrollBy(n.deltaY)&&n.preventDefault();return}n.preventDefault();let r=this.element.getBoundingClientRect();this.zoom(Math.exp(-n.deltaY*.0022),{x:n.clientX-r.left,y:n.clientY-r.top})},{passive:!1})}scrollBy(e){let t=(this.scene?.height??0)*this.scale+2*S,n=Math.min(S,this.element.clientHeight-t+S),r=Math.max(n,Math.min(S,this.y-e));return r===this.y?!1:(this.y=r,this.moved=!0,this.place(),!0)}drag(e){if(e.button!==0)return;let[t,n]=[this.x,this.y];this.dragged=!1;let r=a=>{let[l,p]=[a.clientX-e.clientX,a.clientY-e.clientY];!this.dragged&&Math.hypot(l,p)<4||(this.dragged||this.svg.setPointerCapture?.(e.pointerId),this.dragged=!0,this.moved=!0,d(this.element,"data-dragging",!0),this.showTip(null),this.x=t+l,this.y=n+p,this.place())},o=()=>{d(this.element,"data-dragging",null),this.svg.removeEventListener("pointermove",r),this.svg.removeEventListener("pointerup",o),this.svg.removeEventListener("pointercancel",o)};this.svg.addEventListener("pointermove",r),this.svg.addEventListener("pointerup",o),this.svg.addEventListener("pointercancel",o)}showTip(e,t){if(this.tip.hidden=!e,!e||!t)return;this.tip.textContent=e;let n=this.element.getBoundingClientRect(),r=Math.max(0,Math.min(t.clientX-n.left+14,n.width-280)),o=t.clientY-n.top;this.tip.style.left=`${r}px`;let a=o<n.height/2;this.tip.style.top=a?`${o+18}px`:"",this.tip.style.bottom=a?"":`${n.height-o+10}px`}};var z=class{constructor(e,t,n,r,o){this.emptyText=o;let a={select:p=>r.select(p),enter:p=>r.enter(p),hover:p=>r.hover(p)};this.stage=new N(e,"listbox",a),this.stage.scroll=!0,this.table=new w(n,a),this.frame=new x(e,t,r,[y("minus","zoom out (Ctrl + wheel)",()=>this.stage.zoom(1/1.25)),y("plus","zoom in (Ctrl + wheel)",()=>this.stage.zoom(1.25)),y("fit","fit into the panel (0)",()=>this.stage.fit())]);let l=i("div",{class:"pe-left"},this.stage.element,this.empty);this.frame.body.append(i("div",{class:"pe-split"},l,this.table.element)),this.element=this.frame.element}emptyText;element;frame;stage;table;empty=i("p",{class:"pe-empty"});show(e,t,n){this.frame.caption.textContent=e,this.stage.element.classList.toggle("pe-hidden",t===null),this.empty.hidden=t!==null,this.empty.textContent=t===null?this.emptyText:"",t&&this.stage.update(t),this.table.update(n)}select(e){this.stage.select(e),this.table.select(e)}hover(e){this.stage.hover(e),this.table.hover(e)}close(){this.stage.close()}};var U=class extends z{name="eclasses";constructor(e){super("eclasses","E-classes","lemmas of the proof",e,"No candidate has a verdict yet.")}update(e){this.show(e.caption,e.scene,e.lemmas)}};var J=class{constructor(e){this.body=e}body;subject="";drawn=[];draw(e,t){let n=e===this.subject,r=n?[...this.drawn]:[],o=t.map(([p,c])=>{let m=r.findIndex(([h])=>h===p);return r.splice(m,m<0?0:1)[0]??[p,c()]}),a=n?lt(this.body):()=>this.body.scrollTo(0,0);this.subject=e,this.drawn=o;let l=new Set(o.map(([,p])=>p));for(let p of[...this.body.children])l.has(p)||p.remove();o.forEach(([,p],c)=>{let m=this.body.children[c];m!==p&&this.body.insertBefore(p,m??null)}),a()}};function lt(s){let e=new Map([...Oe(s)].map(([a,l])=>[a,l.open])),t=[s,...s.querySelectorAll("*")].filter(a=>a.scrollTop>0||a.scrollLeft>0).map(a=>({where:pt(a,s),top:a.scrollTop,left:a.scrollLeft})),n=document.activeElement,r=n instanceof HTMLElement&&n!==s&&s.contains(n)?n:null,o=r&&fe(r);return()=>{for(let[a,l]of Oe(s))l.open=e.get(a)??l.open;r&&!s.contains(r)&&([...s.querySelectorAll(r.tagName)].find(l=>fe(l)===o)??s).focus({preventScroll:!0});for(let{where:a,top:l,left:p}of t){let c=a.reduce((m,h)=>m?.children[h],s);c&&(c.scrollTop!==l||c.scrollLeft!==p)&&c.scrollTo(p,l)}}}function Oe(s){let e=new Map;for(let t of s.querySelectorAll("details")){let n=fe(t);for(;e.has(n);)n+="'";e.set(n,t)}return e}function fe(s){return s.getAttribute("data-keep")??(s instanceof HTMLDetailsElement?s.querySelector("summary"):s)?.textContent??""}function pt(s,e){let t=[];for(let n=s;n!==e&&n.parentElement;n=n.parentElement)t.unshift([...n.parentElement.children].indexOf(n));return t}var dt={kind:"",status:"",description:[],details:[],code:"",code_math:"",cards:[],actions:[],links:[]},ct={soundness:"",soundness_text:"",label:"Why",formula:"",formula_math:"",substituted:"",where:[],details:[],would_reopen_if:"",steps:[],copies:[]},ht=9,ge=6,mt=["",()=>i("p",{class:"pe-empty"},"Nothing is selected: click a block of the map, an operator, or a family.")],Y=class{constructor(e){this.host=e;this.frame=new x("inspector","Inspector",e),this.frame.body.classList.add("pe-inspector"),this.frame.body.tabIndex=0,this.parts=new J(this.frame.body),this.element=this.frame.element,this.update(null)}host;name="inspector";element;frame;parts;focus(){this.frame.body.focus()}update(e){let t=e&&{...dt,...e};this.frame.caption.textContent=t?.ref??"",this.parts.draw(t?.ref??"",t?this.drawn(t):[mt])}drawn(e){let{cards:t,actions:n,...r}=e;return[[JSON.stringify(r),()=>this.summary(e)],...t.map(o=>[JSON.stringify(o),()=>this.card(o)]),...n.length>0?[[JSON.stringify(n),()=>this.actions(n)]]:[]]}select(){}hover(){}close(){}summary(e){let t=e.details.length>0?X(e.details):null,n=e.links.map(({ref:r,label:o})=>{let a=i("button",{type:"button",class:"pe-chip"},o);return a.addEventListener("click",()=>this.host.select(r)),a});return i("div",{class:"pe-part"},i("h4",{},e.kind?L(e.kind):null,i("span",{},e.title),e.status?i("span",{class:"pe-word"},e.status):null),...e.description.map(r=>i("p",{},r)),e.code_math?C(e.code_math,e.code):e.code?i("pre",{class:"pe-snippet"},e.code):null,t,n.length>0?i("div",{class:"pe-chips"},...n):null)}card(e){let t={...ct,...e};return i("article",{class:"pe-card"},i("header",{},i("span",{class:"pe-eyebrow"},t.label),t.kind?L(t.kind):null,i("code",{},t.title),t.soundness?i("span",{class:"pe-word",title:t.soundness_text},t.soundness):null),i("p",{class:"pe-sentence"},t.sentence),t.formula?C(t.formula_math,t.formula):null,t.substituted?i("pre",{class:"pe-formula pe-numbers"},t.substituted):null,t.where.length>0?this.where(t.where):null,t.steps.length>0?this.steps(t.steps):null,t.details.length>0?this.details(t.details,`${t.label} ${t.title}`):null,...t.copies.map(n=>this.copy(n)),t.soundness_text?i("p",{class:"pe-muted"},t.soundness_text):null,t.would_reopen_if?i("p",{class:"pe-reopen"},i("b",{},"Would reopen if "),t.would_reopen_if):null)}where(e){let t=i("dl",{class:"pe-facts pe-where"});for(let{symbol:n,text:r,math:o}of e)b(t,i("dt",{},n),i("dd",{},C(o,r)));return i("div",{class:"pe-part"},i("span",{class:"pe-eyebrow"},"where"),t)}details(e,t){if(e.length<=ht)return X(e);let n=i("details",{"data-keep":t},i("summary",{},`${e.length-ge} more`),X(e.slice(ge)));return i("div",{class:"pe-part"},X(e.slice(0,ge)),n)}steps(e){let t=i("ol",{class:"pe-steps"});for(let n of e){let r=i("button",{type:"button",class:"pe-link pe-mono"},n.name);r.addEventListener("click",()=>this.host.select(n.ref));let o=[L(n.kind),r,Ie(n.equation_math,n.equation)],a=n.lines??[],l=i("p",{class:"pe-muted"},n.justification),p=i("div",{class:"pe-chain"});for(let[m,[h,g]]of a.entries())b(p,i("span",{},m>0?"= ":null,Ie(n.lines_math?.[m],h)),m>0?i("span",{class:"pe-muted"},`by ${g}`):null);let c=a.length>0&&e.length===1;b(t,a.length>0?i("li",{},i("details",{open:c,"data-keep":`${n.ref} ${n.name}`},i("summary",{},...o),l,p)):i("li",{},...o,l))}return t}copy({label:e,text:t}){let n=i("button",{type:"button",class:"pe-button",title:"copy this text"},v("copy"),e);return n.addEventListener("click",()=>this.host.copy(t,e)),t.includes(`
`)?i("details",{},i("summary",{},n),i("pre",{class:"pe-snippet"},t)):i("div",{class:"pe-action"},n,i("code",{},t))}actions(e){let t=i("div",{class:"pe-part pe-do"},i("span",{class:"pe-eyebrow"},"Commands"));for(let n of e){let r=n.command,o=i("button",{type:"button",class:"pe-button",disabled:!n.enabled,title:n.description,"data-command":n.command},["accept","reject","undo","redo"].includes(n.command)?v(r):null,i("span",{},n.label));o.addEventListener("click",()=>this.host.command(n.command,n.args));let a=i("button",{type:"button",class:"pe-python",title:"copy this line"},n.python);a.addEventListener("click",()=>this.host.copy(n.python,"the line")),b(t,i("div",{class:"pe-action"},o,a))}return t}};function Ie(s,e){return s?C(s,e):i("code",{},e)}function X(s){let e=i("dl",{class:"pe-facts"});for(let[t,n]of s)b(e,i("dt",{},t),i("dd",{},n));return e}var Q=class{stage;frame;table=i("div",{class:"pe-tablebox",hidden:!0});constructor(e,t,n,r,o=[]){this.stage=new N(e,n,{select:a=>r.select(a),enter:a=>r.enter(a),hover:a=>r.hover(a)}),this.frame=new x(e,t,r,[...o,y("minus","zoom out (Ctrl + wheel)",()=>this.stage.zoom(1/1.25)),y("plus","zoom in (Ctrl + wheel)",()=>this.stage.zoom(1.25)),y("fit","fit into the panel (0)",()=>this.stage.fit()),y("table","show as a table (t)",()=>this.toggleTable())]),this.frame.body.append(this.stage.element,this.table)}toggleTable(){this.table.hidden=!this.table.hidden,this.stage.element.hidden=!this.table.hidden,this.table.hidden||f(this.table,this.stage.table())}updated(){this.table.hidden||f(this.table,this.stage.table())}},Z=class{name="map";element;picture;stage;reasons;constructor(e){this.picture=new Q("map","Search map","tree",e),this.stage=this.picture.stage,this.reasons=new N("reasons","listbox",{select:t=>e.select(t),enter:t=>e.enter(t),hover:t=>e.hover(t)}),this.reasons.element.classList.add("pe-strip"),this.stage.scroll=!0,this.reasons.scroll=!0,this.element=this.picture.frame.element,this.picture.frame.body.append(this.reasons.element)}toggleTable(){this.picture.toggleTable()}update(e){this.picture.stage.update(e.scene),this.picture.updated(),this.reasons.update(e.reasons),this.picture.frame.caption.textContent=e.summary}select(e){this.picture.stage.select(e),this.reasons.select(e)}hover(e){this.picture.stage.hover(e),this.reasons.hover(e)}close(){this.picture.stage.close(),this.reasons.close()}},ee=class{constructor(e){this.host=e;this.toggle=y("collapse","collapse custom kernels (Enter)",()=>this.enter()),this.picture=new Q("graph","sGraph","listbox",e,[this.toggle]),this.stage=this.picture.stage,this.element=this.picture.frame.element,this.picture.frame.body.prepend(this.alternatives),this.picture.frame.body.append(this.empty)}host;name="graph";element;picture;stage;alternatives=i("div",{class:"pe-chips",role:"group","aria-label":"candidates"});toggle;empty=i("p",{class:"pe-empty"});expanded=null;enter(){this.expanded!==null&&this.host.look({collapsed:this.expanded})}toggleTable(){this.picture.toggleTable()}update(e){this.expanded=e.expanded,this.toggle.hidden=e.expanded===null,f(this.toggle,v(e.expanded?"collapse":"expand"));let t=e.expanded?"collapse custom kernels (Enter)":"expand custom kernels (Enter)";d(this.toggle,"title",t),d(this.toggle,"aria-label",t),this.picture.frame.caption.textContent=e.caption,this.empty.hidden=e.scene!==null,this.empty.textContent=e.scene===null?"No graph yet: run the search until a family is complete.":"",this.picture.stage.element.classList.toggle("pe-hidden",e.scene===null),e.scene&&this.picture.stage.update(e.scene),this.picture.updated(),this.alternatives.hidden=e.alternatives.length<2,f(this.alternatives,...e.alternatives.map(({ref:n,label:r})=>{let o=i("button",{type:"button",class:"pe-chip","aria-pressed":n===e.subject?"true":"false"},r);return o.addEventListener("click",()=>this.host.select(n)),o}))}select(e){this.picture.stage.select(e)}hover(e){this.picture.stage.hover(e)}close(){this.picture.stage.close()}};var te=class{constructor(e){this.host=e;this.frame=new x("questions","Questions",e),this.table=new w("questions",{select:t=>e.select(t),hover:t=>e.hover(t),tools:t=>this.tools(t)}),this.form.addEventListener("submit",t=>{t.preventDefault(),this.submit()}),this.frame.body.append(i("div",{class:"pe-questions"},this.form,this.table.element)),this.element=this.frame.element}host;name="questions";element;frame;table;form=i("form",{class:"pe-form","aria-label":"what if"});open=[];text="";update(e){this.open=e.open,this.frame.caption.textContent=e.caption,this.table.update(e.table);let t=JSON.stringify(e.form);t!==this.text&&(this.text=t,this.form.hidden=e.form===null,e.form&&this.draw(e.form))}select(e){this.table.select(e)}hover(e){this.table.hover(e)}close(){}draw(e){let t=i("select",{class:"pe-select",name:"target"}),n=e.targets.includes(e.target)?e.targets:[e.target,...e.targets];for(let l of n)b(t,i("option",{value:l,selected:l===e.target},l));let r=(l,p,c,m)=>i("label",{},i("span",{},p),i("input",{class:"pe-number",type:"number",min:0,name:l,value:c,placeholder:m})),o=e.rules.map(([l,p])=>i("label",{class:"pe-check",title:p},i("input",{type:"checkbox",name:"rules_off",value:l}),i("code",{},l))),a=i("input",{type:"checkbox",name:"run"});f(this.form,i("div",{class:"pe-group"},i("button",{type:"submit",class:"pe-button","data-command":"what_if"},v("help"),"What if?"),i("label",{class:"pe-check",title:"Run the search with the changed settings too, and compare the proved families; this takes longer."},a,"run the search too")),i("div",{class:"pe-fields"},i("label",{},i("span",{},"machine"),t),r("shared_memory_bytes","shared memory, B","","unchanged"),...e.limits.map(({name:l,label:p,value:c})=>r(l,p,"",String(c)))),i("fieldset",{},i("legend",{},"rules off"),i("div",{class:"pe-checks"},...o))),d(this.form,"data-target",e.target)}submit(){let e=new FormData(this.form),t={};for(let[r,o]of e)r==="rules_off"||r==="run"||(r==="target"?o!==this.form.getAttribute("data-target")&&(t[r]=String(o)):o!==""&&(t[r]=Number(o)));let n=e.getAll("rules_off").map(String);n.length>0&&(t.rules_off=n),e.has("run")&&(t.run=!0),this.host.command("what_if",t)}tools(e){if(!this.open.includes(e.ref))return[];let t=`cancel ${e.ref}`,n=i("button",{type:"button",class:"pe-tool",title:t,"aria-label":t,"data-command":"withdraw"},v("close"));return n.addEventListener("click",()=>this.host.command("withdraw",{id:e.ref})),[n]}};var ut=14,ne=24,re=class{constructor(e,t){this.stage=e;this.choose=t;e.overlay.append(this.preview,this.handles),e.element.addEventListener("pointerdown",n=>this.drag(n),{capture:!0})}stage;choose;axes=[];preview=u("rect",{class:"pe-brush",visibility:"hidden"});handles=u("g");update(e){let t=document.activeElement?.getAttribute("data-handle");this.axes=e,f(this.handles,...e.flatMap(n=>[this.handle(n,"low"),this.handle(n,"high")])),t&&this.handles.querySelector(`[data-handle="${CSS.escape(t)}"]`)?.focus()}handle(e,t){let n=e[t],r=(e.ys[n]??0)+(t==="low"?8:-8),o=t==="low"?1:-1,a=u("g",{class:"pe-handle",role:"slider",tabindex:0,"data-handle":`${e.name}/${t}`,"aria-orientation":"vertical","aria-label":`${e.name}, ${t==="low"?"least":"largest"} value`,"aria-valuemin":0,"aria-valuemax":e.values.length-1,"aria-valuenow":n,"aria-valuetext":e.texts[n]??""},u("rect",{x:e.x-ne/2,y:r-ne/2,width:ne,height:ne,class:"pe-target"}),u("path",{d:`M${e.x-6},${r+4*o} h12 l-6,${-8*o} z`}));return a.addEventListener("keydown",l=>{let p=e.values.length-1,c={ArrowUp:n+1,ArrowDown:n-1,Home:0,End:p}[l.key];if(l.key==="Delete"||l.key==="Backspace")this.choose([e.name]);else{if(c===void 0)return;t==="low"?this.send(e,Math.min(c,e.high),e.high):this.send(e,e.low,Math.max(c,e.low))}l.preventDefault(),l.stopPropagation()}),a}send(e,t,n){let r=e.values.length-1,[o,a]=[Math.max(0,Math.min(t,n)),Math.min(r,Math.max(t,n))];o===e.low&&a===e.high||(o===0&&a===r?this.choose([e.name]):this.choose([e.name,e.values[o]??0,e.values[a]??0]))}drag(e){if(e.button!==0||this.axes.length===0)return;let t=this.stage.at(e),n=this.axes.find(h=>Math.abs(h.x-t.x)<=ut);if(!n)return;let[r=0,o=0]=[n.ys[0],n.ys.at(-1)];if(t.y>r+12||t.y<o-12)return;let a=t,l=!1,p=h=>{a=this.stage.at(h),l||=Math.abs(a.y-t.y)>4,l&&(d(this.preview,"visibility","visible"),d(this.preview,"x",String(n.x-10)),d(this.preview,"width","20"),d(this.preview,"y",String(Math.min(t.y,a.y))),d(this.preview,"height",String(Math.abs(a.y-t.y))))},c=h=>{p(h);for(let[A,he]of m)window.removeEventListener(A,he);if(d(this.preview,"visibility","hidden"),!l||h.type==="pointercancel")return;let[g,k]=[Math.min(t.y,a.y)-4,Math.max(t.y,a.y)+4],T=n.ys.flatMap((A,he)=>A>=g&&A<=k?[he]:[]),[M,O]=[T[0],T.at(-1)];M!==void 0&&O!==void 0&&this.send(n,M,O)},m=[["pointermove",p],["pointerup",c],["pointercancel",c]];for(let[h,g]of m)window.addEventListener(h,g);e.stopPropagation()}};var se=class{constructor(e,t){this.choose=t;this.element=i("span",{class:"pe-chooser",role:"group","aria-label":e})}choose;element;drawn="";update(e,t){let n=JSON.stringify(e);n!==this.drawn&&(this.drawn=n,f(this.element,...e.map(r=>this.button(r))));for(let r of this.element.children)d(r,"aria-pressed",String(r.getAttribute("data-choice")===t));this.element.hidden=e.length<2}button(e){let t=i("button",{type:"button",class:"pe-chip",title:e.tip||null,"data-choice":e.name},e.label);return t.addEventListener("click",()=>this.choose(e.name)),t}};var ie=class extends z{constructor(t){super("tuning","Tuning","trials",t,"No trial has been measured yet.");this.host=t;this.modes=new se("charts",n=>t.look({tuning:{mode:n}})),this.brush=new re(this.stage,n=>t.look({tuning:{brush:n}})),this.tops.addEventListener("change",()=>t.look({tuning:{top:Number(this.tops.value)}})),this.frame.body.prepend(i("div",{class:"pe-choices"},this.modes.element,this.tops,this.intervals))}host;name="tuning";modes;tops=i("select",{class:"pe-select","aria-label":"trials in the table"});intervals=i("div",{class:"pe-chips",role:"group","aria-label":"brush"});brush;shown="";update(t){this.modes.update(t.modes,t.mode);let n=JSON.stringify(t.tops);n!==this.shown&&(this.shown=n,f(this.tops,...t.tops.map(r=>i("option",{value:r.name},r.label)))),this.tops.value=t.top,f(this.intervals,...t.brush.flatMap(r=>this.interval(r))),this.intervals.hidden=t.brush.length===0,this.show(t.caption,t.scene,t.trials),this.brush.update(t.axes)}interval({name:t,text:n,restrict:r}){let o=i("button",{type:"button",class:"pe-chip",title:`remove the interval of ${t}`},`${n} ×`);if(d(o,"aria-label",`remove the interval ${n}`),o.addEventListener("click",()=>this.host.look({tuning:{brush:[t]}})),r===null)return[o];let a=`${r.description}
${r.python}`,l=i("button",{type:"button",class:"pe-button",title:a,"data-command":r.command},r.label);return l.addEventListener("click",()=>this.host.command(r.command,r.args)),[o,l]}};var _=[{name:"map",label:"Search map",docked:!1,make:s=>new Z(s)},{name:"graph",label:"sGraph",docked:!1,make:s=>new ee(s)},{name:"inspector",label:"Inspector",docked:!1,make:s=>new Y(s)},{name:"families",label:"Families",docked:!0,make:s=>new q(s)},{name:"eclasses",label:"E-classes",docked:!0,make:s=>new U(s)},{name:"tuning",label:"Tuning",docked:!0,make:s=>new ie(s)},{name:"ledger",label:"Ledger",docked:!0,make:s=>new K(s)},{name:"questions",label:"Questions",docked:!0,make:s=>new te(s)},{name:"code",label:"Code",docked:!0,make:s=>new F(s)}],E=_.filter(s=>s.docked).map(s=>s.name);function je(s){return new Map(_.map(e=>[e.name,e.make(s)]))}function Be(s){let e=(l,p,c,m)=>({keys:[l].flat(),shown:p,help:c,act:m}),t=l=>()=>{let p=V(s.selection);p?s.command(l,{id:p}):s.announce(`select a family to ${l} it`)},n=()=>s.panels.get(s.layout.current())?.stage,r="select the next item in that direction, in the map or the sGraph",o="open the selection: show its graph, or expand its custom kernel",a=l=>()=>{let p=E[l];p&&s.layout.show(p)};return[e(".",".","one step of the search",()=>s.bar.step()),e(" ","Space","run, pause or resume",()=>s.bar.toggleRun()),e("ArrowLeft","← → ↑ ↓",r,()=>s.walk("left")),e("ArrowRight","","",()=>s.walk("right")),e("ArrowUp","","",()=>s.walk("up")),e("ArrowDown","","",()=>s.walk("down")),e("Enter","Enter",o,()=>s.selection&&s.enter(s.selection)),e("z","z","zoom the map into the selected node, and out again",()=>s.zoomMap(ft(s))),e("[","[ ]","look back by one event, or forward",()=>s.bar.move(-1)),e("]","","",()=>s.bar.move(1)),e("w","w","read the inspector",()=>s.readInspector()),e("a","a","accept the selected family",t("accept")),e("x","x","reject the selected family; can be undone",t("reject")),e(["u","Ctrl+z"],"u, Ctrl+Z","undo the last steering step",()=>s.command("undo")),e(["U","Ctrl+Z"],"Shift+U","redo the last steering step",()=>s.command("redo")),e("/","/","find in the pictures",()=>s.find.focus()),e("m","m","maximise the panel, or restore it",()=>s.maximise(s.layout.current())),e("0","0","fit the picture into its panel",()=>n()?.fit()),e("t","t","show the picture as a table",()=>s.toggleTable()),...E.map((l,p)=>e(String(p+1),p?"":`1 … ${E.length}`,p?"":"show a tab of the dock",a(p))),e("?","?","show this help",()=>s.help.toggle()),e("Escape","Esc","close, clear, then leave the widget",()=>s.leave())]}function Ge(s,e,t){if(s.altKey||s.defaultPrevented)return;let n=Me(s);if(ke(s.target)){n==="Escape"&&(t.find.clear(),t.element.focus(),s.stopPropagation());return}if((n===" "||n==="Enter")&&Ee(s.target)||Se(n)&&!t.help.lettersActive&&n!=="?")return;let r=e.find(o=>o.keys.includes(n));r&&(s.preventDefault(),s.stopPropagation(),r.act())}function ft(s){return G(s.selection)?s.selection:s.root}var gt=900,vt=150,bt=8,ve=16,oe=class{constructor(e,t){this.panels=e;this.look=t;this.dock.append(this.tabList(),...E.map(n=>this.element(n))),this.main.append(..._.filter(n=>!n.docked).map(n=>this.element(n.name)),this.dock)}panels;look;main=i("div",{class:"pe-main"});dock=i("div",{class:"pe-dock"});tabs=new Map;shown="map";docked="families";maximised=null;narrow=!1;root=null;sizes={map:0,dock:0,high:0};timer;resize=new ResizeObserver(()=>this.measure());follow(e){this.root=e,this.resize.observe(e),this.arrange()}close(){this.resize.disconnect(),clearTimeout(this.timer)}show(e){E.includes(e)&&(this.docked=e),this.shown=e,this.maximised!==null&&(this.maximised=e),this.arrange()}maximise(e){this.maximised=this.maximised===e?null:e,this.show(e)}restore(){return this.maximised===null?!1:(this.maximise(this.maximised),!0)}current(){return document.activeElement?.closest("[data-panel]")?.getAttribute("data-panel")??this.shown}measure(){let e=this.root?.clientWidth??0;if(e===0)return;this.sendSizes();let t=e<gt;t!==this.narrow&&(this.narrow=t,this.arrange())}element(e){let t=this.panels.get(e);if(!t)throw new Error(`no panel ${e}`);return t.element}tabList(){let e=i("div",{class:"pe-tabs",role:"tablist","aria-label":"panels"});for(let{name:t,label:n,docked:r}of _){let o=this.element(t);o.id=H("panel");let a=i("button",{type:"button",role:"tab","aria-controls":o.id,"data-tab-of":t,class:r?null:"pe-only-narrow"},n);a.addEventListener("click",()=>this.show(t)),this.tabs.set(t,a),e.append(a)}return e}arrange(){let e=this.maximised??(this.narrow?this.shown:null);for(let[n,r]of this.panels){let o=e===null?!E.includes(n)||n===this.docked:n===e;d(r.element,"hidden",!o)}for(let[n,r]of this.tabs)d(r,"hidden",!this.narrow&&!E.includes(n)),d(r,"aria-selected",String(this.narrow?n===e:n===this.docked));let t=e===null||E.includes(e);d(this.dock,"hidden",!t&&!this.narrow),d(this.dock,"data-only-tabs",!t),this.sendSizes(),this.root&&(d(this.root,"data-solo",e!==null),d(this.root,"data-narrow",this.narrow))}sendSizes(){clearTimeout(this.timer),this.timer=setTimeout(()=>{let{map:e,dock:t,high:n}=this.sizes,r=E.map(l=>this.panels.get(l)?.stage?.element).find(l=>l!==void 0&&l.clientWidth>0),o={map:this.panels.get("map")?.stage?.element.clientWidth||e,dock:r?.clientWidth??t,high:r?.clientHeight??n};Math.abs(o.map-e)+Math.abs(o.dock-t)+Math.abs(o.high-n)<bt||(this.sizes=o,this.look({map_px:o.map-ve,dock_px:o.dock-ve,dock_high_px:o.high-ve}))},vt)}};var xt="button, summary, tr[data-ref]";var ae=class{constructor(e,t){this.element=e;this.give=t;e.addEventListener("pointerdown",this.down);for(let n of["pointerup","pointercancel"])window.addEventListener(n,this.up)}element;give;held=!1;waiting=new Map;timer;down=e=>{this.held=e.target.closest(xt)!==null,this.later(2e3)};up=()=>this.later(0);take(e){if(!this.held)this.give(e);else for(let[t,n]of e)this.waiting.set(t,n)}close(){clearTimeout(this.timer),this.element.removeEventListener("pointerdown",this.down);for(let e of["pointerup","pointercancel"])window.removeEventListener(e,this.up)}later(e){clearTimeout(this.timer),this.held&&(this.timer=setTimeout(()=>this.release(),e))}release(){let e=this.waiting;this.held=!1,this.waiting=new Map,e.size>0&&this.give(e)}};var yt=["event","candidate","family","phase"],le=class{constructor(e){this.host=e;for(let p of yt)this.grain.append(i("option",{value:p},p));let t=(p,c,m,h,g="")=>{let k=i("button",{type:"button",class:`pe-button ${g}`.trim(),"data-command":p,"aria-label":c},v(m),g==="pe-bare"?null:i("span",{},c));return k.addEventListener("click",h),{name:p,element:k}},n=t("step","Step","step",()=>this.step()),r=t("start","Run","run",()=>this.toggleRun(),"pe-primary"),o=t("cancel","Cancel","cancel",()=>e.command("cancel")),a=t("undo","Undo","undo",()=>e.command("undo"),"pe-bare"),l=t("redo","Redo","redo",()=>e.command("redo"),"pe-bare");this.buttons=[n,r,o,a,l],this.moment.addEventListener("input",()=>this.lookBack(Number(this.moment.value))),this.when.addEventListener("click",()=>this.lookBack(0)),this.best.hidden=!0,this.best.addEventListener("click",()=>{this.data?.best&&e.select(this.data.best.ref)}),this.element=i("div",{class:"pe-transport"},i("div",{class:"pe-bar"},this.title,this.state,i("span",{class:"pe-group pe-time"},this.moment,this.when),this.best),i("div",{class:"pe-bar",role:"toolbar","aria-label":"search"},i("span",{class:"pe-group"},n.element,this.grain),i("span",{class:"pe-group"},r.element,o.element),i("span",{class:"pe-group"},a.element,l.element),this.phases,this.counters))}host;element;title=i("div",{class:"pe-title"});best=i("button",{type:"button",class:"pe-best"});phases=i("ol",{class:"pe-phases","aria-label":"phases"});counters=i("ul",{class:"pe-counters","aria-label":"counts"});grain=i("select",{class:"pe-select","aria-label":"size of one step",title:"size of one step"});state=i("span",{class:"pe-state"});moment=i("input",{type:"range",class:"pe-moment",min:1,"aria-label":"show an earlier state of the search",title:`show an earlier state of the search; the search itself is not changed
keys: [ and ]`});when=i("button",{type:"button",class:"pe-link pe-when"},"now");buttons;data=null;pausing=!1;step(){this.can("step")&&this.host.command("step",{n:1,grain:this.grain.value})}toggleRun(){let e=this.runCommand();!this.can(e)||this.pausing||(this.pausing=e==="pause",this.host.command(e),this.pausing&&this.data&&this.update(this.data))}lookBack(e){let t=this.data?.events??0;this.host.look({cursor:e<t?e:0})}move(e){this.data&&this.lookBack(Math.max(1,(this.data.cursor||this.data.events)+e))}can(e){return this.data?.enabled.includes(e)??!1}describe(e){let t={step:".",start:"Space",undo:"u",redo:"Shift+U"};for(let{name:n,element:r}of this.buttons){let o=e[n];o&&d(r,"title",`${o.description}
${o.python}${t[n]?`
key: ${t[n]}`:""}`)}}update(e){this.data=e,this.pausing&&=e.state==="running",f(this.title,i("span",{class:"pe-brand"},"Prism"),i("strong",{class:"pe-mono"},e.program),i("span",{class:"pe-muted"},e.target)),this.state.textContent=`${e.state} · ${e.events.toLocaleString("en")} events`,d(this.state,"data-state",e.state),d(this.moment,"max",String(Math.max(1,e.events))),this.moment.matches(":active")||(this.moment.value=String(e.cursor||e.events)),this.when.textContent=e.cursor>0?`${e.cursor.toLocaleString("en")} · back to now`:"now",this.when.disabled=e.cursor===0,this.best.hidden=e.best===null,e.best&&f(this.best,L("badge-best"),i("span",{},"best "),i("strong",{},e.best.time),...e.best.notes.map(t=>i("span",{class:"pe-muted"},t))),f(this.phases,...e.phases.map(t=>i("li",{"aria-current":t.current?"step":null,title:t.description},t.name))),this.counters.replaceChildren();for(let{kind:t,label:n,value:r,description:o}of e.counters)b(this.counters,i("li",{title:o},L(t),i("strong",{},r),i("span",{},n)));for(let{name:t,element:n}of this.buttons)n.disabled=!this.can(t==="start"?this.runCommand():t)||t==="start"&&this.pausing,t==="start"&&this.labelRun(n)}runCommand(){return this.data?.state==="running"?"pause":this.can("resume")?"resume":"start"}labelRun(e){let t=this.runCommand(),n=this.pausing?"Pausing":{pause:"Pause",resume:"Resume"}[t]??"Run";f(e,v(t==="pause"?"pause":"run"),i("span",{},n)),d(e,"data-command",t),d(e,"aria-label",n)}};var wt=1e3,pe=class{element=i("span",{class:"pe-status",role:"status","aria-live":"polite"});timer;next="";announce(e){this.next=e,this.timer===void 0&&(this.element.textContent=e,this.timer=setTimeout(()=>{this.timer=void 0,this.element.textContent!==this.next&&this.announce(this.next)},wt))}close(){clearTimeout(this.timer)}};async function De(s){if(!navigator.clipboard)return Ve(s);try{return await navigator.clipboard.writeText(s),!0}catch{return Ve(s)}}function Ve(s){let e=i("textarea",{style:"position:fixed;opacity:0"});e.value=s,document.body.append(e),e.select();let t=document.execCommand("copy");return e.remove(),t}var de=class{constructor(e,t){this.model=e;this.listener=t}model;listener;have=0;waiting=!1;timer;commands=0;name=Math.random().toString(36).slice(2,10);parts=new Map;onMessage=e=>this.receive(e);open(){this.model.on("msg:custom",this.onMessage);let e=this.model.get("snapshot");e?.texts&&e.seq>0&&(this.have=e.left_out.length===0?e.seq:0,this.listener.sections(new Map(Object.entries(e.texts).map(([t,n])=>[t,JSON.parse(n)])))),this.hello()}close(){clearTimeout(this.timer),this.model.off("msg:custom",this.onMessage)}command(e,t={}){this.commands+=1;let n=`${this.name}-${this.commands}`;return this.model.send({kind:"command",event_id:n,name:e,args:t}),n}look(e){this.model.send({kind:"look",...e})}hello(){this.waiting=!0,this.model.send({kind:"hello",have:this.have}),clearTimeout(this.timer),this.timer=setTimeout(()=>{this.waiting=!1,this.listener.connected(!1)},4e3)}receive(e){let t=e;if(t?.kind!=="sections")return;for(let r of t.replies)this.listener.reply(r);if(this.have<t.after){this.waiting||this.hello();return}clearTimeout(this.timer),this.waiting=!1,this.have=t.seq;let n=new Map;for(let[r,o,a,l]of t.chunks){let p=this.join(r,o,a,l);p!==null&&n.set(r,JSON.parse(p))}this.listener.connected(!0),n.size>0&&this.listener.sections(n)}join(e,t,n,r){if(n===1)return this.parts.delete(e),r;let o=this.parts.get(e),a=o&&o.length===n&&t>0?o:new Array(n).fill(void 0);return a[t]=r,this.parts.set(e,a),a.includes(void 0)?null:(this.parts.delete(e),a.join(""))}};var ce=class{element;bar;panels;layout;find;help;selection="";root="";wire;status=new pe;banner=i("p",{class:"pe-banner",role:"alert",hidden:!0});lastLine=i("button",{type:"button",class:"pe-python",title:"copy this line",hidden:!0});selecting=null;error=null;pastNotice=null;press;constructor(e){this.bar=new le(this),this.panels=je(this),this.layout=new oe(this.panels,n=>this.look(n)),this.find=new j(this.panels);let t=Be(this);this.help=new B(t,()=>this.element.focus({preventScroll:!0})),this.element=i("div",{class:"prism-explore prism-scene",tabindex:0,"data-lm-suppress-shortcuts":"true",role:"application","aria-label":"Prism explorer; press ? for the keys"},i("style",{},`${Re}
${xe}`),this.bar.element,this.banner,this.layout.main,this.foot(),this.help.element),this.element.addEventListener("keydown",n=>Ge(n,t,this)),this.layout.follow(this.element),this.press=new ae(this.element,n=>this.receive(n)),this.wire=new de(e,{sections:n=>this.press.take(n),reply:n=>this.onReply(n),connected:n=>this.onConnection(n)})}open(){this.layout.measure(),this.wire.open()}close(){this.wire.close(),this.press.close(),this.layout.close(),this.status.close();for(let e of this.panels.values())e.close()}command(e,t={}){this.wire.command(e,t)}look(e){this.wire.look(e)}select(e){e!==this.selection&&(this.applySelection(e),this.selecting=this.wire.command("select",{id:e}))}enter(e){this.select(e);let t=this.panels.get(this.layout.current());G(e)?this.zoomMap(e):t?.enter?t.enter():V(e)!==null&&this.layout.show("graph")}hover(e){for(let t of this.panels.values())t.hover(e)}copy(e,t){De(e).then(n=>this.announce(n?`copied ${t}`:`could not copy ${t}; select and copy it by hand`))}maximise(e){this.layout.maximise(e)}announce(e){this.status.announce(e)}walk(e){let t=this.layout.current()==="graph"?"graph":"map";this.panels.get(t)?.stage?.walk(e)}zoomMap(e){this.root=this.root===e?"":e,this.look({root:this.root})}readInspector(){this.layout.show("inspector"),this.panels.get("inspector")?.focus?.()}toggleTable(){let e=this.panels.get(this.layout.current());(e?.toggleTable?e:this.panels.get("map"))?.toggleTable?.()}leave(){if(this.help.open)this.help.toggle();else{if(this.layout.restore()||this.find.clear())return;this.selection?this.select(""):document.activeElement?.blur()}}receive(e){let t=(n,r)=>{if(e.has(n))try{r(e.get(n))}catch(o){console.error(`prism_explore: the panel ${n} could not be drawn`,o),this.announce(`The panel ${n} could not be drawn: ${String(o)}`)}};t("commands",n=>this.bar.describe(n)),t("transport",n=>{this.bar.update(n),d(this.element,"data-state",n.state),d(this.element,"data-past",n.cursor>0),this.pastNotice=n.past_notice||null,this.showBanner(this.error),this.announce(n.status)});for(let[n,r]of this.panels)t(n,o=>r.update(o));t("script",n=>this.panels.get("ledger")?.showScript(n)),t("error",n=>{this.error=n,this.showBanner(n)}),t("view",n=>{this.selecting===null&&this.applySelection(n.selection)}),this.find.refresh()}onReply(e){e.event_id===this.selecting&&(this.selecting=null),e.ok?e.python&&(this.lastLine.textContent=e.python,this.lastLine.hidden=!1):this.announce(e.message??"the command failed")}onConnection(e){d(this.element,"data-connected",e?"yes":"no"),this.showBanner(e?this.error:"The kernel does not answer. It is busy with a cell, or it has ended. The panels show the last state it sent.")}showBanner(e){let t=e??this.pastNotice;this.banner.hidden=!t,this.banner.textContent=t??""}applySelection(e){this.selection=e;let t=e?[e,...Te(e)]:[];for(let n of this.panels.values())n.select(e?[e]:[]);t.length>1&&this.panels.get("families")?.select(t)}foot(){this.lastLine.addEventListener("click",()=>this.copy(this.lastLine.textContent??"","the line"));let e=i("button",{type:"button",class:"pe-tool",title:"keys (?)","aria-label":"keys"},v("help"));return e.addEventListener("click",()=>this.help.toggle()),i("footer",{class:"pe-foot"},this.status.element,this.lastLine,this.find.count,this.find.input,e)}};var be=class{constructor(e){this.report=e}report;seq=0;listener=null;get(){}on(e,t){this.listener=t}off(){this.listener=null}send(e){e.kind==="hello"&&this.emit(this.report.sections),!(e.kind!=="command"||!e.event_id)&&(e.name==="select"?this.select(String(e.args?.id??""),e.event_id):this.emit({},[{event_id:e.event_id,ok:!1,message:"A report cannot run commands. Open the saved search in a notebook."}]))}select(e,t){let{inspectors:n,owners:r,subjects:o,sections:a}=this.report,l=e===""?a.inspector:n[e]??kt(e),p=r[e],c=p===void 0?void 0:o[p];this.emit({view:{selection:e},inspector:l,...c},[{event_id:t,ok:!0}])}emit(e,t=[]){let n=Object.entries(e).map(([a,l])=>[a,0,1,JSON.stringify(l)]),r=this.seq;this.seq+=1;let o={kind:"sections",seq:this.seq,after:r,chunks:n,replies:t};setTimeout(()=>this.listener?.(o),0)}};function kt(s){return{ref:s,title:s,description:["This report does not contain it. Open the saved search in a notebook."]}}var qe=document.getElementById("prism-report");if(qe?.textContent){let s=new ce(new be(JSON.parse(qe.textContent)));document.getElementById("prism-here")?.append(s.element),s.open()}export{be as ReportModel};
