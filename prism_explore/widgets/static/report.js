var Yt="http://www.w3.org/2000/svg";function at(r,e,t){for(let[n,s]of Object.entries(e))s==null||s===!1||(typeof s=="function"?r.addEventListener(n,s):r.setAttribute(n,s===!0?"":String(s)));return M(r,...t),r}function M(r,...e){for(let t of e)t===null||t===!1||r.append(typeof t=="string"?document.createTextNode(t):t)}function a(r,e={},...t){return at(document.createElement(r),e,t)}function v(r,e={},...t){return at(document.createElementNS(Yt,r),e,t)}function b(r,...e){r.replaceChildren(),M(r,...e)}function u(r,e,t){let n=t===!0?"":t===!1?null:t;r.getAttribute(e)!==n&&(n===null?r.removeAttribute(e):r.setAttribute(e,n))}function z(r,e){r.textContent!==e&&(r.textContent=e)}var ot=0;function D(r){return ot+=1,`prism-${r}-${ot}`}var Zt=[{label:"Back to now",act:r=>r.bar.backToNow()}],lt="Run the cell that shows the explorer again.",ne=class{constructor(e){this.app=e;M(this.element,this.text,this.actions)}app;element=a("div",{class:"pe-banner",hidden:!0});text=a("p",{class:"pe-banner-text",role:"alert"});actions=a("span",{class:"pe-banner-actions"});error="";past="";gone="";savedAs="";set(e){this.error=e.error??this.error,this.past=e.past??this.past,this.gone=e.gone??this.gone,this.savedAs=e.savedAs??this.savedAs,this.show()}show(){let e=this.gone?`${this.gone} ${this.remedy()}`:this.error||this.past;this.element.hidden=e==="",this.text.textContent!==e&&(z(this.text,e),b(this.actions,...this.buttons()))}remedy(){return this.savedAs?`${lt} Or open the saved search: ${this.loadLine()}`:`${lt} The search was not saved, so it starts anew.`}loadLine(){return`px.load(${JSON.stringify(this.savedAs)})`}buttons(){if(this.gone&&this.savedAs){let e=this.loadLine();return[pt("Copy px.load(…)",()=>this.app.copy(e,"the line"))]}return this.gone||this.error||!this.past?[]:Zt.map(({label:e,act:t})=>pt(e,()=>t(this.app)))}};function pt(r,e){let t=a("button",{type:"button",class:"pe-button"},r);return t.addEventListener("click",e),t}var dt=`/* Styles of the explorer. Colours come from the theme of the notebook if there is one, else from scene.ts. */
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
  align-items: center;
  gap: 9px;
  height: 36px;
  padding: 0 12px;
}
.prism-explore .pe-bar > * {
  flex: none;
}
.prism-explore .pe-bar > .pe-title {
  display: flex;
  flex: 0 1 auto;
  align-items: baseline;
  gap: 10px;
  min-width: 60px;
  overflow: hidden;
  font-size: 14px;
  white-space: nowrap;
}
.prism-explore .pe-title > * {
  overflow: hidden;
  text-overflow: ellipsis;
}
.prism-explore .pe-time {
  margin-left: auto;
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
.prism-explore .pe-phases > li + li {
  border-left: 1px solid var(--rule);
}
.prism-explore .pe-phases .pe-phase-sign {
  display: none;
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

/* A narrow explorer names only the current phase, and how many there are; its buttons have icons only. */
@container (max-width: 900px) {
  .prism-explore .pe-phases li:not(.pe-phase-sign),
  .prism-explore .pe-counters li > span,
  .prism-explore .pe-bar .pe-button[data-command] > span,
  .prism-explore .pe-title .pe-muted {
    display: none;
  }
  .prism-explore .pe-phases .pe-phase-sign {
    display: block;
    border: 0;
  }
  .prism-explore .pe-bar {
    gap: 6px;
    height: 32px;
    padding: 0 8px;
  }
  .prism-explore .pe-counters {
    gap: 7px;
  }
}
@container (max-width: 640px) {
  .prism-explore .pe-brand,
  .prism-explore .pe-moment {
    display: none;
  }
}

/* ---- panels */
.prism-explore .pe-main {
  flex: 1;
  min-height: 0;
  display: grid;
  grid-template-columns: minmax(0, var(--map)) 7px minmax(0, var(--graph)) 7px minmax(0, var(--inspector));
  grid-template-rows: minmax(0, var(--upper)) 7px minmax(0, var(--dock));
}
.prism-explore .pe-panel,
.prism-explore .pe-dock {
  display: flex;
  flex-direction: column;
  min-width: 0;
  min-height: 0;
}
.prism-explore .pe-dock {
  position: relative;
  grid-column: 1 / -1;
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
.prism-explore .pe-tabbar {
  flex: none;
  display: flex;
  align-items: center;
  border-bottom: 1px solid var(--rule);
  background: var(--bg2);
}
.prism-explore .pe-tabs {
  position: relative;
  flex: 0 1 auto;
  display: flex;
  min-width: 0;
  overflow-x: auto;
  scrollbar-width: none;
}
.prism-explore .pe-scroller {
  flex: none;
  font-size: 18px;
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
  position: sticky;
  right: 0;
  padding: 0 6px;
  background: var(--bg);
  white-space: nowrap;
}
.prism-explore .pe-table thead th.pe-tools {
  right: 0;
  z-index: 2;
  min-width: 68px;
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
.prism-explore:not([data-narrow]) .pe-tabbar {
  padding-right: 36%;
}
.prism-explore:not([data-narrow]) .pe-dock .pe-head {
  position: absolute;
  top: 0;
  right: 0;
  width: 36%;
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
.prism-explore .k-toggle {
  cursor: pointer;
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

/* ---- separators */
.prism-explore .pe-splitter {
  position: relative;
  z-index: 3;
  flex: none;
  background: var(--bg2);
  touch-action: none;
}
.prism-explore .pe-splitter::before {
  content: "";
  position: absolute;
  inset: 0;
  margin: auto;
  background: var(--rule);
}
.prism-explore .pe-splitter-x {
  cursor: col-resize;
}
.prism-explore .pe-splitter-y {
  grid-column: 1 / -1;
  height: 7px;
  cursor: row-resize;
}
.prism-explore .pe-splitter-x::before {
  width: 1px;
}
.prism-explore .pe-splitter-y::before {
  height: 1px;
}
.prism-explore .pe-splitter:is(:hover, :focus-visible)::before {
  background: var(--accent);
}
.prism-explore .pe-splitter-x:is(:hover, :focus-visible)::before {
  width: 3px;
}
.prism-explore .pe-splitter-y:is(:hover, :focus-visible)::before {
  height: 3px;
}
@media (pointer: coarse) {
  .prism-explore .pe-splitter-x::after {
    content: "";
    position: absolute;
    inset: 0 -9px;
  }
  .prism-explore .pe-splitter-y::after {
    content: "";
    position: absolute;
    inset: -9px 0;
  }
}

/* ---- the result card: two lines of fixed height, so that the header never grows */
.prism-explore .pe-transport {
  position: relative;
}
.prism-explore .pe-result {
  display: grid;
  grid-template-columns: minmax(0, 1fr) auto;
  align-items: center;
  gap: 0 10px;
  height: 54px;
  padding: 3px 12px;
  border-top: 1px solid var(--rule);
  background: var(--bg2);
}
.prism-explore .pe-result[data-ref] {
  cursor: pointer;
}
.prism-explore .pe-answer {
  grid-column: 1 / -1;
  display: flex;
  align-items: center;
  gap: 8px;
  min-width: 0;
  overflow: hidden;
  white-space: nowrap;
}
.prism-explore .pe-answer > * {
  flex: none;
}
.prism-explore .pe-answer strong {
  font-size: 15px;
  font-variant-numeric: tabular-nums;
}
.prism-explore .pe-answer .pe-spread {
  flex: 0 1000 auto;
  min-width: 0;
  overflow: hidden;
  text-overflow: ellipsis;
}
.prism-explore .pe-warning {
  width: 24px;
  font-size: 15px;
  text-align: center;
}
.prism-explore .pe-comparisons {
  display: flex;
  flex: 0 1 auto;
  gap: 6px;
  min-width: 0;
  overflow: hidden;
  list-style: none;
  font-size: 12px;
}
.prism-explore .pe-comparisons li {
  padding: 0 7px;
  border: 1px solid var(--rule);
  border-radius: 4px;
  background: var(--bg);
  font-variant-numeric: tabular-nums;
}
.prism-explore .pe-comparisons .pe-limit {
  border-style: dashed;
}
.prism-explore .pe-why {
  grid-column: 1;
  overflow: hidden;
  text-overflow: ellipsis;
  white-space: nowrap;
}
.prism-explore .pe-result-links {
  grid-area: 2 / 2;
}
@container (max-width: 900px) {
  .prism-explore .pe-result {
    height: 34px;
    padding: 2px 8px;
  }
  .prism-explore :is(.pe-result .pe-why, .pe-answer .pe-spread) {
    display: none;
  }
  .prism-explore .pe-result:not(:has(strong)) .pe-why {
    display: block;
  }
  .prism-explore .pe-result:not(:has(strong)) {
    grid-template-columns: auto minmax(0, 1fr) auto;
  }
  .prism-explore .pe-result:not(:has(strong)) .pe-why {
    grid-area: 1 / 2;
  }
  .prism-explore .pe-answer {
    grid-column: 1;
  }
  .prism-explore .pe-result-links {
    grid-area: 1 / 3;
  }
}

/* ---- banner, confirmation, disabled commands */
.prism-explore .pe-banner {
  display: flex;
  flex-wrap: wrap;
  align-items: center;
  gap: 4px 12px;
}
.prism-explore .pe-banner-text {
  flex: 1 1 300px;
  overflow-wrap: anywhere;
}
.prism-explore .pe-banner-actions {
  display: flex;
  gap: 6px;
}
.prism-explore .pe-confirm {
  position: absolute;
  top: 74px;
  left: 60px;
  z-index: 8;
  display: grid;
  gap: 8px;
  width: min(420px, calc(100% - 80px));
  padding: 10px 14px;
  border: 1px solid var(--fg2);
  border-radius: 8px;
  background: var(--bg);
  box-shadow: 0 6px 24px rgb(0 0 0 / 30%);
  white-space: normal;
}
.prism-explore [data-locked] {
  opacity: 0.45;
  cursor: not-allowed;
}
.prism-explore[data-connected="no"] .pe-main {
  filter: grayscale(1);
}
.prism-explore[data-connected="no"] .pe-state[data-state]::before {
  animation: none;
}

/* ---- high contrast: the colours of the system, and outlines in place of tints */
@media (forced-colors: active) {
  .prism-explore {
    --bg: Canvas;
    --bg2: Canvas;
    --fg: CanvasText;
    --fg2: CanvasText;
    --rule: CanvasText;
    --accent: Highlight;
  }
  .prism-explore svg {
    forced-color-adjust: auto;
  }
  .prism-explore .pe-table tbody tr[aria-selected="true"] {
    outline: 2px solid Highlight;
    outline-offset: -2px;
  }
  .prism-explore .pe-tabs button[aria-selected="true"],
  .prism-explore .pe-phases li[aria-current] {
    border-bottom: 3px solid Highlight;
  }
  .prism-explore .pe-chip[aria-pressed="true"] {
    outline: 2px solid Highlight;
  }
  .prism-explore .pe-splitter::before {
    background: CanvasText;
  }
  .prism-explore .pe-icon {
    stroke: ButtonText;
  }
  .prism-explore :is(button:disabled, [data-locked]) {
    border-color: GrayText;
    color: GrayText;
    opacity: 1;
  }
}
@media (prefers-contrast: more) {
  .prism-explore {
    --rule: var(--fg);
    --fg2: var(--fg);
  }
}

/* ---- sGraph: breadcrumb and buttons in the picture */
.prism-explore .pe-trail {
  display: flex;
  flex-wrap: wrap;
  align-items: center;
  gap: 2px 8px;
  padding: 4px 10px 0;
  font-size: 12px;
}
.prism-explore .pe-trail .pe-link {
  min-height: 24px;
}
.prism-explore .role-button {
  cursor: pointer;
}
.prism-explore .role-button:hover > .body {
  stroke: var(--accent);
  stroke-width: 2px;
}

/* ---- sizes */
.prism-explore [data-panel="sizes"] > .pe-body {
  overflow: auto;
}
.prism-explore .pe-sizes {
  display: flex;
  flex-wrap: wrap;
  gap: 14px 22px;
  padding: 10px 12px;
  align-items: flex-start;
}
.prism-explore :is(.pe-sliders, .pe-regions, .pe-part) {
  display: flex;
  flex-direction: column;
  gap: 8px;
  min-width: 0;
}
.prism-explore :is(.pe-part, .pe-regions) {
  flex: 1 1 270px;
}
.prism-explore .pe-slider {
  display: grid;
  grid-template-columns: 1fr auto;
  gap: 0 10px;
  font-size: 12px;
}
.prism-explore .pe-slider input {
  grid-column: 1 / -1;
  grid-row: 2;
  width: 100%;
  height: 24px;
  margin: 0;
  accent-color: var(--accent);
}
.prism-explore :is(.pe-slider output, .pe-mono, .pe-figures strong) {
  font-family: var(--mono);
  font-variant-numeric: tabular-nums;
}
.prism-explore .pe-limits {
  padding: 6px 9px;
  border-left: 3px solid var(--rule);
  font-size: 12px;
  list-style: none;
}
.prism-explore .pe-limits[data-broken] {
  border-left-color: var(--pe-refuted);
}
.prism-explore .pe-limits[data-broken] li:first-child {
  font-weight: 600;
}
.prism-explore .pe-limits[data-broken] li:first-child::before {
  content: "✕ ";
}
.prism-explore .pe-figures {
  display: grid;
  grid-template-columns: auto 1fr;
  gap: 4px 10px;
  font-size: 12px;
}
.prism-explore .pe-figures dt {
  color: var(--fg2);
}
.prism-explore .pe-use {
  display: block;
  width: 100%;
  max-width: 220px;
  height: 8px;
}
.prism-explore .pe-all {
  fill: var(--bg2);
  stroke: var(--fg2);
}
.prism-explore .pe-used {
  fill: var(--accent);
}
.prism-explore .pe-over {
  font-weight: 600;
}
.prism-explore .pe-plot {
  display: flex;
  flex: 0 1 436px;
  flex-direction: column;
  min-width: 0;
}
.prism-explore .pe-plot .pe-stage {
  flex: none;
  height: 270px;
}
.prism-explore .pe-steppers {
  display: flex;
  flex-wrap: wrap;
  gap: 4px 14px;
  font-size: 12px;
}
.prism-explore .pe-stepper {
  display: flex;
  align-items: center;
  gap: 4px;
}
.prism-explore .pe-stepper input {
  width: 64px;
  height: 24px;
}
.prism-explore .pe-accesses {
  display: flex;
  flex-wrap: wrap;
  gap: 10px 16px;
}
.prism-explore .pe-access {
  display: flex;
  flex-direction: column;
  gap: 3px;
  max-width: 220px;
  margin: 0;
  padding: 4px 6px;
  border: 1px solid transparent;
  border-radius: 6px;
  font-size: 12px;
}
.prism-explore .pe-access[aria-current] {
  border-color: var(--accent);
}
.prism-explore .pe-access figcaption {
  display: flex;
  align-items: baseline;
  gap: 6px;
}
.prism-explore .pe-access .pe-link {
  min-height: 24px;
  text-align: left;
  overflow-wrap: anywhere;
}
.prism-explore .pe-outline {
  cursor: crosshair;
  touch-action: none;
}
.prism-explore .pe-whole {
  fill: var(--pe-tensor);
  stroke: var(--pe-line);
}
.prism-explore .pe-border {
  fill: none;
  stroke: var(--pe-line);
  stroke-width: 0.5px;
}
.prism-explore .pe-region {
  fill: var(--accent);
  fill-opacity: 0.55;
  stroke: var(--accent);
  stroke-width: 1.5px;
}
.prism-explore [data-kind="store"] .pe-region {
  stroke-dasharray: 3 2;
}
`;var se=class{constructor(e){this.panels=e;this.input.addEventListener("input",()=>this.find())}panels;input=a("input",{class:"pe-search",type:"search",placeholder:"find  /","aria-label":"find in the pictures"});count=a("span",{class:"pe-muted pe-found"});focus(){this.input.focus()}clear(){return this.input.value?(this.input.value="",this.find(),!0):!1}refresh(){this.input.value&&this.find()}find(){let e=this.input.value.trim().toLowerCase(),n=e?o=>[o.ref??"",o.tip??"",...(o.texts??[]).map(l=>l.text)].join(`
`).toLowerCase().includes(e):null,i=["map","graph"].map(o=>this.panels.get(o)?.stage).reduce((o,l)=>o+(l?.find(n)??0),0);this.count.textContent=e?`${i} found`:""}};var en=[["step","Step advances the search by the unit in the list beside it; Run goes on to the end."],["why pruned","Click a hatched block of the search map; the inspector has the rule and its numbers."],["which won","The line below the buttons: the kernel, its time, and why; Proof, Code and Runner-up lead on."],["steer","Accept or reject a family in the table; Undo takes it back."],["look back","Drag the slider at the top right; nothing in the search changes."]],tn=[["sGraph","a program with symbolic sizes: kernels, their blocks and loops"],["family","an sGraph whose maps are unbound: how dims are partitioned is not chosen yet"],["candidate","a family with its maps chosen: imap and omap over the grid, fmap over the loop"],["proved","equal to the program for all sizes; unknown means neither proved nor refuted"],["trial","one choice of tuning parameters of a candidate, timed"],["lower bound","the roofline: no choice of parameters is faster in the cost model"]],re=class{constructor(e,t){this.closed=t;let n=a("dl",{class:"pe-facts"});for(let i of e)i.shown&&M(n,a("dt",{},a("kbd",{},i.shown)),a("dd",{},i.help));let s=a("button",{type:"button",class:"pe-button"},"Close");s.addEventListener("click",()=>this.toggle()),b(this.element,a("h3",{},"First steps"),ct(en),a("h3",{},"Words"),ct(tn),a("h3",{},"Keys, while the explorer has the focus"),n,a("label",{},this.letters," keys without Ctrl are active"),a("p",{class:"pe-muted"},"Ctrl + wheel zooms a picture, dragging moves it, a double click fits it into its panel."),s)}closed;element=a("dialog",{class:"pe-help","aria-label":"help"});letters=a("input",{type:"checkbox",checked:!0});get open(){return this.element.open}get lettersActive(){return this.letters.checked}toggle(){this.open?(this.element.close(),this.closed()):this.element.show()}};function ct(r){let e=a("dl",{class:"pe-facts"});for(let[t,n]of r)M(e,a("dt",{},t),a("dd",{},n));return e}function ht(r){return r instanceof Element&&r.closest("input, select, textarea, [contenteditable]")!==null}function mt(r){return r instanceof Element&&r.closest("button, a, summary")!==null}function ut(r){return(r.ctrlKey||r.metaKey?"Ctrl+":"")+r.key}function ft(r){return r.length===1&&r!==" "}function ie(r){return/^n\d+$/.test(r)}function oe(r){return/^f\d+/.exec(r)?.[0]??null}function gt(r){let[e="",t]=r.split("/"),[n=""]=e.split(".");return[...t?[e]:[],...e.includes(".")?[n]:[]]}var bt=JSON.parse('{"unknown": "dots", "pruned-sound": "hatch", "pruned-heuristic": "sparse", "pruned-budget": "dashes", "pruned-user": "cross", "aggregate": "weave", "collapsed": "weave"}'),vt=JSON.parse('{"hatch": [6, "M-1,1 L1,-1 M0,6 L6,0 M5,7 L7,5", "ink-hatch"], "sparse": [12, "M-1,1 L1,-1 M0,12 L12,0 M11,13 L13,11", "ink-hatch"], "dots": [8, "M2,1.2 a.9,.9 0 1 0 .01,0 M6,5.2 a.9,.9 0 1 0 .01,0", "ink-status"], "dashes": [8, "M0,2 H5 M4,6 H8 M0,6 H1", "ink-status"], "cross": [8, "M-1,1 L1,-1 M0,8 L8,0 M7,9 L9,7 M-1,7 L1,9 M0,0 L8,8 M7,-1 L9,1", "ink-status"], "weave": [6, "M0,1.5 H3 M3,4.5 H6", "ink-hatch"]}'),ae=JSON.parse('{"diamond": [[0.5, 0], [1, 0.5], [0.5, 1], [0, 0.5]], "hexagon": [[0.25, 0], [0.75, 0], [1, 0.5], [0.75, 1], [0.25, 1], [0, 0.5]], "square": [[0, 0], [1, 0], [1, 1], [0, 1]], "triangle": [[0, 0], [1, 0], [0.5, 1]], "star": [[0.5, 0.0], [0.623, 0.33], [0.976, 0.345], [0.7, 0.565], [0.794, 0.905], [0.5, 0.71], [0.206, 0.905], [0.3, 0.565], [0.024, 0.345], [0.377, 0.33]]}'),yt=`
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
.prism-scene .t-sizes{font-size:12px;font-weight:600;font-family:ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", "DejaVu Sans Mono", monospace;fill:var(--pe-curve);}
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
.prism-scene .k-button>.body{fill:var(--pe-surface);stroke:var(--pe-line);stroke-width:1px;}
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
.prism-scene .k-tree-link>.body{fill:none;stroke:var(--pe-line);stroke-width:1px;}
.prism-scene .k-tree-row>.body{fill:none;stroke:none;stroke-width:0px;}
.prism-scene .k-collapsed-row>.body{fill:none;stroke:none;stroke-width:0px;}
.prism-scene .k-collapsed>.body{fill:var(--pe-surface);stroke:var(--pe-line);stroke-width:1.5px;stroke-dasharray:4 2;}
.prism-scene .k-collapsed>text{paint-order:stroke;stroke:var(--pe-surface);stroke-width:4px;stroke-linejoin:round;}
.prism-scene .k-toggle>.body{fill:var(--pe-page);stroke:none;stroke-width:0px;}
.prism-scene .k-pattern-marked>.body{fill:none;stroke:var(--pe-select);stroke-width:2px;stroke-dasharray:6 2;}
.prism-scene .k-occurrence>.body{fill:none;stroke:var(--pe-select);stroke-width:2.5px;stroke-dasharray:5 2;}
.prism-scene .k-bar-uncertain>.body{fill:var(--pe-band);stroke:var(--pe-line);stroke-width:1px;stroke-dasharray:3 3;}
.prism-scene .k-bar>.body{fill:var(--pe-band);stroke:var(--pe-line);stroke-width:1px;}
.prism-scene .k-plain>.body{fill:none;stroke:none;stroke-width:0px;}
.prism-scene .k-badge-accepted>.body{fill:none;stroke:var(--pe-select);stroke-width:3px;}
.prism-scene .k-badge-best>.body{fill:var(--pe-ink);stroke:var(--pe-page);stroke-width:1px;}
.prism-scene .k-badge-best>text{fill:var(--pe-page);}
.prism-scene .k-badge-cross>.body{fill:none;stroke:var(--pe-on-status);stroke-width:2px;}
.prism-scene .k-warning>.body{fill:var(--pe-budget);stroke:var(--pe-ink);stroke-width:1.5px;}
.prism-scene .k-warning>text{fill:var(--pe-on-status);}
`;var xt=12,nn={proved:"diamond",family:"diamond",unknown:"hexagon",refuted:"square",frontier:"circle",expanded:"circle","badge-best":"star"},sn=[[.5,0],[1,1],[0,1]];function _(r){let e=nn[r]??(r.startsWith("pruned")?"triangle":"circle"),t=r==="warning"?sn:ae[e],n=t?v("polygon",{class:"body",points:t.map(([o,l])=>`${1+o*xt},${1+l*xt}`).join(" ")}):v("circle",{class:"body",cx:7,cy:7,r:5}),s=r==="warning"?v("path",{class:"bang",d:"M7 5.2v3.4M7 10.3v.9"}):null,i=/^[\w-]+$/.test(r)?r:"plain";return v("svg",{class:"pe-glyph",viewBox:"0 0 14 14",width:14,height:14,"aria-hidden":"true"},v("g",{class:`item k-${i}`},n,s))}var rn={step:"M3 3v10M6 3l7 5-7 5z",run:"M4 2.5l9 5.5-9 5.5z",pause:"M4 3h3v10H4zM9 3h3v10H9z",cancel:"M3.5 3.5h9v9h-9z",undo:"M6 3L2.5 6.5 6 10M3 6.5h6a3.5 3.5 0 0 1 0 7H6",redo:"M10 3l3.5 3.5L10 10M13 6.5H7a3.5 3.5 0 0 0 0 7h3",accept:"M2.5 8.5l3.5 4 7.5-9",reject:"M3.5 3.5l9 9M12.5 3.5l-9 9",copy:"M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",maximise:"M2.5 6v-3.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10",fit:"M2.5 5V2.5H5M11 2.5h2.5V5M13.5 11v2.5H11M5 13.5H2.5V11M5.5 5.5h5v5h-5z",table:"M2.5 3h11v10h-11zM2.5 6.3h11M2.5 9.6h11M6 3v10",plus:"M8 3v10M3 8h10",minus:"M3 8h10",expand:"M2.5 2.5h11v11h-11zM8 5v6M5 8h6",collapse:"M2.5 2.5h11v11h-11zM5 8h6",help:"M6 6a2 2 0 1 1 2.6 1.9c-.4.2-.6.5-.6 1V10M8 12.2v.3",close:"M4 4l8 8M12 4l-8 8"},on=new Set(["run","pause","cancel"]);function E(r){return v("svg",{class:"pe-icon",viewBox:"0 0 16 16",width:16,height:16,"aria-hidden":"true"},v("path",{d:rn[r],class:on.has(r)?"solid":null}))}var an="http://www.w3.org/1998/Math/MathML",ln={math:["displaystyle"],mrow:[],mi:[],mn:[],mo:["stretchy"],mtext:[],mspace:["width"],mfrac:[],msqrt:[],msup:[],munder:[]};function F(r,e){let t=r?new DOMParser().parseFromString(r,"application/xml").documentElement:null,n=t?.nodeName==="math"?wt(t):null,s=document.createElement(n?"div":"pre");return s.className="pe-formula",s.title=n?e:"",s.append(n??e),s}function wt(r){let e=ln[r.nodeName];if(!e)return null;let t=document.createElementNS(an,r.nodeName);for(let n of e){let s=r.getAttribute(n);s!==null&&t.setAttribute(n,s)}for(let n of r.childNodes){let s=n instanceof Element?wt(n):n.textContent??"";if(s===null)return null;t.append(s)}return t}var pn=24,q=60,dn=15,cn=29,N=class{constructor(e,t){this.events=t;this.table=a("table",{class:"pe-table","aria-label":e},this.head,this.body),this.element=a("div",{class:"pe-tablebox",tabindex:-1},this.table,this.note),this.element.addEventListener("scroll",()=>this.follow(),{passive:!0}),new ResizeObserver(()=>this.data&&this.held===null&&this.holdWidths(this.data)).observe(this.element);let n=s=>s.target.closest("tr[data-ref]")?.getAttribute("data-ref")??null;this.body.addEventListener("click",s=>{if(s.target.closest("button"))return;let i=n(s);i&&this.events.select(i)}),this.body.addEventListener("pointerover",s=>this.events.hover(n(s))),this.body.addEventListener("pointerleave",()=>this.events.hover(null)),this.body.addEventListener("keydown",s=>this.walk(s))}events;element;table;head=a("thead");body=a("tbody");note=a("p",{class:"pe-note"});data=null;rows=[];first=0;rowPx=cn;widths=[];keys="";held=null;text="";sorted=null;selected=[];update(e){let t=JSON.stringify(e);t!==this.text&&(this.text=t,this.data=e,this.draw())}select(e){this.selected=e;for(let t of this.body.querySelectorAll("tr"))u(t,"aria-selected",e.includes(t.getAttribute("data-ref")??"")?"true":"false")}hover(e){for(let t of this.body.querySelectorAll("tr"))t.classList.toggle("hovered",e!==null&&t.getAttribute("data-ref")===e)}draw(){let{data:e}=this;e&&(this.rows=this.order(e),u(this.table,"aria-rowcount",String(this.rows.length+1)),this.freeWidths(e),b(this.head,a("tr",{},...e.columns.map((t,n)=>this.header(e,n)),this.toolsHead())),this.drawRows(this.first),this.holdWidths(e),this.note.textContent=e.omitted,this.note.hidden=e.omitted==="")}drawRows(e){let{data:t,rows:n}=this;if(!t)return;this.first=Math.max(0,Math.min(e,n.length-q));let s=Math.min(this.first+q,n.length),i=this.body.contains(document.activeElement),o=i?Fe(document.activeElement):null,l=i?document.activeElement?.closest("tr")?.getAttribute("data-ref")??null:null;if(b(this.body,this.gap(this.first),...n.slice(this.first,s).map((m,f)=>this.row(t,m,this.first+f)),this.gap(n.length-s)),n.length===0&&M(this.body,a("tr",{},a("td",{class:"pe-empty",colspan:this.span(t)},t.empty_text))),this.select(this.selected),o===null||l===null)return;let d=[...this.body.querySelectorAll("tr[data-ref]")].filter(m=>m.getAttribute("data-ref")===l);(d.find(m=>Fe(m)===o)??d[0]??this.element).focus({preventScroll:!0})}gap(e){if(e===0||!this.data)return null;let t=a("td",{colspan:this.span(this.data),style:`height:${e*this.rowPx}px`});return a("tr",{class:"pe-gap","aria-hidden":"true"},t)}span(e){return e.columns.length+(this.events.tools?1:0)}follow(){let{rows:e,element:t}=this;if(e.length<=q)return;let n=[...this.body.querySelectorAll("tr[aria-rowindex]")],s=n.reduce((d,h)=>d+h.offsetHeight,0)/Math.max(1,n.length);s>0&&(this.rowPx=s);let i=Math.floor(t.scrollTop/this.rowPx),o=i+Math.ceil(t.clientHeight/this.rowPx),l=i<this.first,p=o>this.first+q&&this.first+q<e.length;(l||p)&&this.drawRows(i-dn)}holdWidths(e){let t=[...this.head.querySelectorAll("th")];if(this.rows.length===0)return;if(this.held!==null){this.setWidths(t,e);return}let n=t.map(i=>i.offsetWidth);if(n.some(i=>i===0))return;let s=this.widths.length===n.length?this.widths:[];this.widths=n.map((i,o)=>Math.max(i,s[o]??0)),this.held={rows:this.rows.length},this.setWidths(t,e)}setWidths(e,t){this.widths.length===e.length&&(e.forEach((n,s)=>{n.style.width=t.columns[s]?.wide?"":`${this.widths[s]}px`}),this.table.style.tableLayout="fixed")}freeWidths(e){let t=e.columns.map(n=>n.key).join(" ");t!==this.keys&&(this.widths=[]),!(t===this.keys&&this.held?.rows===this.rows.length)&&(this.keys=t,this.held=null,this.table.style.tableLayout="")}toolsHead(){return this.events.tools?a("th",{scope:"col",class:"pe-tools"},a("span",{class:"pe-hidden"},"actions")):null}header(e,t){let n=e.columns[t];if(!n)return a("th");let s=this.sorted?.key===n.key?this.sorted:null,i=a("button",{type:"button",class:"pe-sort",title:n.tip??`sort by ${n.label}`},n.label,a("span",{class:"pe-arrow","aria-hidden":"true"},s?s.down?"▾":"▴":""));return i.addEventListener("click",()=>{let o=this.sorted?.key===n.key;this.sorted=o&&this.sorted?.down?null:{key:n.key,down:o},this.draw()}),a("th",{scope:"col",class:n.align==="right"?"pe-right":n.wide?"pe-wide":null,style:n.width_ch?`min-width:${n.width_ch}ch`:null,"aria-sort":s?s.down?"descending":"ascending":"none"},i)}order(e){let{sorted:t}=this,n=e.columns.findIndex(o=>o.key===t?.key);if(!t||n<0)return e.rows;let s=t.down?-1:1,i=e.rows.map((o,l)=>({row:o,i:l}));return i.sort((o,l)=>s*hn(o.row.cells[n],l.row.cells[n])||o.i-l.i),i.map(o=>o.row)}row(e,t,n){let s=t.cells.map((p,d)=>{let h=e.columns[d],m=typeof p=="string"?{text:p}:p,f=[h?.align==="right"?"pe-right":"",h?.mono?"pe-mono":"",m.text.length<=pn?"pe-short":""].filter(Boolean).join(" "),c=m.kind?_(m.kind):null,g=m.math?F(m.math,m.text):h?.wide&&m.tip?a("span",{class:"pe-clamp"},m.text):m.text;return a("td",{class:f||null,title:m.tip??null},c,g)}),i=this.events.tools?a("td",{class:"pe-tools"},...this.events.tools(t)):null,o=t.ref?{"data-ref":t.ref,tabindex:-1,"aria-selected":"false"}:{},l={"aria-rowindex":n+2,class:t.kind?`row-${t.kind}`:null};return a("tr",{...o,...l},...s,i)}walk(e){let t={ArrowDown:1,ArrowUp:-1}[e.key],n=e.target.closest("tr");if(t===void 0||!n)return;e.preventDefault(),e.stopPropagation();let s=(Fe(n)??0)+t,i=this.rows[s]?.ref;i&&((s<this.first||s>=this.first+q)&&this.drawRows(s-q/2),this.body.querySelector(`tr[aria-rowindex="${s+2}"]`)?.focus(),this.events.select(i))}};function Fe(r){let e=r?.closest("tr")?.getAttribute("aria-rowindex");return e?Number(e)-2:null}function hn(r,e){let[t,n]=[kt(r),kt(e)];return typeof t=="number"&&typeof n=="number"?t-n:typeof t=="number"?-1:typeof n=="number"?1:t.localeCompare(n,void 0,{numeric:!0})}function kt(r){return r===void 0?"":typeof r=="string"?r:r.sort??r.text}function $(r,e,t){let n=a("button",{type:"button",class:"pe-tool",title:e,"aria-label":e},E(r));return n.addEventListener("click",t),n}var C=class{constructor(e,t,n,s=[]){this.name=e;this.tools.append(...s,$("maximise",`maximise ${t.toLowerCase()} (m)`,()=>n.maximise(e)));let i=a("header",{class:"pe-head"},a("h3",{},t),this.caption,this.tools);this.element=a("section",{class:"pe-panel","data-panel":e,"aria-label":t},i,this.body)}name;element;caption=a("span",{class:"pe-caption"});tools=a("span",{class:"pe-tools"});body=a("div",{class:"pe-body"})};var qe={select(){},hover(){},close(){}},le=class{constructor(e){this.host=e;let t=new C("families","Families",e);this.table=new N("families",{select:n=>e.select(n),hover:n=>e.hover(n),tools:n=>this.tools(n)}),t.body.append(this.table.element),this.element=t.element}host;name="families";element;table;update(e){this.table.update(e)}select(e){this.table.select(e)}hover(e){this.table.hover(e)}close(){}tools(e){let t=n=>{let s=`${n} ${e.ref}`,i=a("button",{type:"button",class:"pe-tool",title:s,"aria-label":s,"data-command":n},E(n));return i.addEventListener("click",()=>this.host.command(n,{id:e.ref})),i};return[t("accept"),t("reject")]}},pe=class{name="ledger";element;claim=a("p",{class:"pe-claim"});undo=a("button",{type:"button",class:"pe-button"});redo=a("button",{type:"button",class:"pe-button"});script=a("pre",{class:"pe-code",tabindex:0,"aria-label":"this session as Python"});tables;lines=[];constructor(e){let t=new C("ledger","Summary",e),n={select:o=>e.select(o),hover:o=>e.hover(o)};this.tables={soundness:new N("pruned, by kind of rule",n),reasons:new N("pruned, by reason",n),steering:new N("steering",n),log:new N("log",n)},this.undo.addEventListener("click",()=>e.command("undo")),this.redo.addEventListener("click",()=>e.command("redo"));let s=a("button",{type:"button",class:"pe-button"},E("copy"),a("span",{},"copy as Python"));s.addEventListener("click",()=>e.copy(this.lines.join(`
`),"this session as Python"));let i=(o,...l)=>a("div",{class:"pe-column"},a("h4",{},o),...l);t.body.append(a("div",{class:"pe-ledger"},this.claim,a("div",{class:"pe-columns"},i("Pruned, by kind of rule and by reason",this.tables.soundness.element,this.tables.reasons.element),i("Steering",a("div",{class:"pe-group"},this.undo,this.redo,s),this.tables.steering.element,this.script),i("Log",this.tables.log.element)))),this.element=t.element}update(e){z(this.claim,e.claim),this.tables.soundness.update(e.soundness),this.tables.reasons.update(e.reasons),this.tables.steering.update(e.steering),this.tables.log.update(e.log);for(let[t,n]of[[this.undo,e.undo],[this.redo,e.redo]])b(t,E(n.command==="redo"?"redo":"undo"),a("span",{},n.label)),t.disabled=!n.enabled,u(t,"title",`${n.description}
${n.python}`)}showScript(e){this.lines=e.lines,z(this.script,e.lines.join(`
`)),this.script.hidden=e.lines.length===0}select(e){for(let t of Object.values(this.tables))t.select(e)}hover(e){for(let t of Object.values(this.tables))t.hover(e)}close(){}},de=class{name="code";element;select=qe.select;hover=qe.hover;close=qe.close;frame;source=a("code");numbers=a("span",{class:"pe-lines","aria-hidden":"true"});data=null;constructor(e){this.frame=new C("code","Code",e,[$("copy","copy the source",()=>e.copy(this.data?.source??"",this.data?.title??"the source"))]);let t=a("pre",{class:"pe-code pe-source",tabindex:0},this.numbers,this.source);this.frame.body.append(t),this.element=this.frame.element}update(e){this.data=e,this.frame.caption.textContent=[e.title,e.caption].filter(Boolean).join(" · "),z(this.source,e.source||"No source has been generated yet.");let t=e.source?e.source.split(`
`).length:0;this.numbers.textContent=Array.from({length:t},(n,s)=>String(s+1)).join(`
`)}};var Z=8,Mt=1e7,ce=class{constructor(e){this.role=e;for(let[t,[n,s,i]]of Object.entries(vt))this.patterns.append(v("pattern",{id:`${this.prefix}-${t}`,width:n,height:n,patternUnits:"userSpaceOnUse"},v("path",{class:i,d:s})))}role;element=v("g",{class:"drawing"});patterns=v("defs");targets=[];prefix=D("pattern");kept=new Map;byRef=new Map;update(e){let t=new Map,n=new Map,s=[];for(let o of e.items){let l=JSON.stringify(o),p=this.kept.get(o.id),d=p?.text===l?p.element:this.draw(o);t.set(o.id,{text:l,element:d}),s.push(d),o.ref&&n.set(o.ref,[...n.get(o.ref)??[],d])}s.length===this.element.childNodes.length&&s.every((o,l)=>this.element.childNodes[l]===o)||this.element.replaceChildren(...s),this.kept=t,this.byRef=n,this.targets=e.items.filter(o=>o.type==="shape"&&!!o.ref)}highlight(e,t){let n=new Set(t.flatMap(s=>this.byRef.get(s)??[]));for(let s of this.element.querySelectorAll(`.item.${e}`))n.has(s)||s.classList.remove(e);for(let s of n)s.classList.add(e);if(e==="selected"){for(let s of this.element.querySelectorAll("[aria-selected=true]"))n.has(s)||s.setAttribute("aria-selected","false");for(let s of n)u(s,"aria-selected","true")}}find(e,t){let n=0;for(let s of t.items){let i=e===null||!s.ref||e(s);e!==null&&s.ref&&i&&(n+=1),this.kept.get(s.id)?.element.classList.toggle("dimmed",!i)}return n}elementId(e){return this.kept.get(e)?.element.id??null}draw(e){let t=/^[\w-]+$/.test(e.kind)?e.kind:"plain",n=e.type==="shape"?`shape role-${e.role}`:e.closed?"edge band":"edge",s=v("g",{class:`item ${n} k-${t}`,"data-id":e.id});e.ref&&(s.id=D("item"),u(s,"data-ref",e.ref),u(s,"role",this.role),u(s,"aria-selected","false"),u(s,"aria-label",e.tip??(e.texts??[]).map(i=>i.text).join(" ")??e.ref)),e.tip&&u(s,"data-tip",e.tip),e.type==="shape"&&e.action&&u(s,"data-action",e.action),e.type==="shape"?this.shape(s,e):this.edge(s,e);for(let i of e.texts??[])s.append(mn(i));return s}shape(e,t){let n=St(t);if(n===null)return;u(n,"class","body"),e.append(n);let s=bt[t.kind],i=s?St(t):null;i!==null&&(u(i,"class","pattern"),u(i,"fill",`url(#${this.prefix}-${s})`),e.append(i))}edge(e,t){let n=t.points.map(([h,m])=>[K(h),K(m)]),s=n.at(-1),i=n.at(-2),o=null;if(t.arrow&&s&&i){let h=Math.hypot(s[0]-i[0],s[1]-i[1])||1,m=(s[0]-i[0])/h,f=(s[1]-i[1])/h,c=s[0]-m*Z,g=s[1]-f*Z,x=Z*.45;n[n.length-1]=[s[0]-m*Z*.6,s[1]-f*Z*.6];let k=[s,[c-f*x,g+m*x],[c+f*x,g-m*x]];o=v("polygon",{class:"head",points:k.map(w=>w.join(",")).join(" ")})}let[l,...p]=n.map(h=>h.join(","));if(l===void 0)return;let d=`M${l} ${t.curve==="bezier"?"C":"L"}${p.join(" ")}${t.closed?" Z":""}`;e.append(v("path",{class:"body",d})),t.ref&&e.append(v("path",{class:"reach",d})),o&&e.append(o)}};function mn(r){let e=/^[\w-]+$/.test(r.kind??"label")?r.kind??"label":"label";return v("text",{class:`t-${e}`,x:K(r.x),y:K(r.y),"text-anchor":r.anchor??"middle"},r.text)}function St(r){let[e,t,n,s]=[K(r.x),K(r.y),K(r.w),K(r.h)],i=r.outline??"rect";switch(i){case"none":return null;case"rect":case"pill":{let o=i==="pill"?Math.min(n,s)/2:r.role==="frame"?10:Math.min(4,n/3);return v("rect",{x:e,y:t,width:n,height:s,rx:o})}case"circle":return v("ellipse",{cx:e+n/2,cy:t+s/2,rx:n/2,ry:s/2});case"cross":return v("path",{d:`M${e},${t} L${e+n},${t+s} M${e+n},${t} L${e},${t+s}`});default:{let o=ae[i]??[];return v("polygon",{points:o.map(([l,p])=>`${e+l*n},${t+p*s}`).join(" ")})}}}function K(r){return Number.isFinite(r)?Math.max(-Mt,Math.min(Mt,r)):0}function Tt(r,e,t){let n=t==="left"||t==="up"?-1:1,s=t==="left"||t==="right",i=null,o=Number.POSITIVE_INFINITY;for(let l of e){if(l.ref===r.ref)continue;let[p,d]=s?[r.x,r.x+r.w]:[r.y,r.y+r.h],[h,m]=s?[l.x,l.x+l.w]:[l.y,l.y+l.h],f=n>0?h-d:p-m;if(f<-1)continue;let c=s?Et(r.y,r.y+r.h,l.y,l.y+l.h):Et(r.x,r.x+r.w,l.x,l.x+l.w),g=Math.abs(s?r.y+r.h/2-l.y-l.h/2:r.x+r.w/2-l.x-l.w/2),x=f+3*c+.05*g;x<o&&(o=x,i=l)}return i}function Et(r,e,t,n){return Math.max(0,t-e,r-n)}var un=.15,fn=4,gn=1,bn=1.15,A=8,H=class{constructor(e,t,n){this.events=n;this.drawing=new ce(t==="tree"?"treeitem":"option");let[s,i]=[D("title"),D("desc")];this.title.id=s,this.desc.id=i,this.svg=v("svg",{class:"prism-scene",role:t,tabindex:0,"aria-labelledby":s,"aria-describedby":i,"data-stage":e},this.title,this.desc,this.drawing.patterns,this.drawing.element,this.overlay),this.element=a("div",{class:"pe-stage"},this.svg,this.tip),this.resize=new ResizeObserver(()=>{this.moved||this.fit()}),this.resize.observe(this.element),this.listen()}events;element;overlay=v("g",{class:"pe-overlay"});svg;title=v("title");desc=v("desc");drawing;tip=a("div",{class:"pe-tip",role:"tooltip",hidden:!0});resize;scene=null;pattern=null;x=0;y=0;scale=1;scroll=!1;moved=!1;selected=[];dragged=!1;close(){this.resize.disconnect()}get shown(){return this.scene}update(e){let t=this.scene?.width!==e.width||this.scene.height!==e.height;this.scene&&this.scene.title!==e.title&&(this.moved=!1),this.scene=e,this.title.textContent=e.title,this.desc.textContent=e.desc,this.drawing.update(e),this.drawing.highlight("selected",this.selected),this.pattern&&this.drawing.find(this.pattern,e),t&&!this.moved&&this.fit()}select(e){this.selected=e,this.drawing.highlight("selected",e);let t=this.current();u(this.svg,"aria-activedescendant",t?this.drawing.elementId(t.id):null)}hover(e){this.drawing.highlight("hovered",e===null?[]:[e])}find(e){return this.pattern=e,this.scene?this.drawing.find(e,this.scene):0}fit(){let{clientWidth:e,clientHeight:t}=this.element;if(!this.scene||e===0||t===0)return;let n=Math.min((e-2*A)/this.scene.width,(t-2*A)/this.scene.height,bn);this.scale=this.scroll?1:Math.max(n,gn),this.x=Math.max(A,(e-this.scene.width*this.scale)/2),this.y=this.scroll?A:Math.max(A,(t-this.scene.height*this.scale)/2),this.moved=!1,this.place()}zoom(e,t){let{clientWidth:n,clientHeight:s}=this.element,{x:i,y:o}=t??{x:n/2,y:s/2},l=Math.min(fn,Math.max(un,this.scale*e));this.x=i-(i-this.x)*l/this.scale,this.y=o-(o-this.y)*l/this.scale,this.scale=l,this.moved=!0,this.place()}reveal(e){let t=this.drawing.targets.find(m=>m.ref===e),{clientWidth:n,clientHeight:s}=this.element;if(!t||n===0)return;let i=t.x*this.scale+this.x,o=t.y*this.scale+this.y,[l,p]=[t.w*this.scale,t.h*this.scale],[d,h]=[this.x,this.y];(i+l<20||i>n-20)&&(this.x=n/2-(t.x+t.w/2)*this.scale),(o+p<20||o>s-20)&&(this.y=s/2-(t.y+t.h/2)*this.scale),this.x=Lt(this.x,this.scene?.width??0,this.scale,n),this.y=Lt(this.y,this.scene?.height??0,this.scale,s),(d!==this.x||h!==this.y)&&(this.moved=!0,this.place())}walk(e){let t=this.current(),n=t?Tt(t,this.drawing.targets,e):this.drawing.targets[0]??null;n?.ref&&(this.events.select(n.ref),this.reveal(n.ref))}focus(){this.svg.focus({preventScroll:!0})}table(){let e=a("tbody"),t=new Map;for(let s of this.scene?.items??[]){if(!s.ref)continue;let i=s.tip||(s.texts??[]).map(o=>o.text).join(" ");i.length>=(t.get(s.ref)??"").length&&t.set(s.ref,i)}for(let[s,i]of t){let o=a("button",{class:"pe-link",type:"button"},s);o.addEventListener("click",()=>this.events.select(s)),M(e,a("tr",{"data-ref":s},a("th",{scope:"row"},o),a("td",{},i)))}let n=a("thead",{},a("tr",{},...["id","description"].map(s=>a("th",{scope:"col"},a("span",{class:"pe-sort"},s)))));return a("table",{class:"pe-table"},a("caption",{},this.scene?.desc??""),n,e)}current(){let e=new Set(this.selected);return this.drawing.targets.find(t=>t.ref!==void 0&&e.has(t.ref))??null}place(){let e=n=>Math.round(n*1e3)/1e3,t=`translate(${e(this.x)} ${e(this.y)}) scale(${e(this.scale)})`;u(this.drawing.element,"transform",t),u(this.overlay,"transform",t)}at(e){let t=this.element.getBoundingClientRect();return{x:(e.clientX-t.left-this.x)/this.scale,y:(e.clientY-t.top-this.y)/this.scale}}listen(){let e=n=>n.target.closest(".item"),t=n=>n.target.closest("[data-ref]")?.getAttribute("data-ref")??null;this.svg.addEventListener("click",n=>{let s=t(n),i=e(n)?.getAttribute("data-action");s===null||this.dragged||(i?this.events.act?.(i,s):this.events.select(s))}),this.svg.addEventListener("dblclick",n=>{let s=t(n);e(n)?.hasAttribute("data-action")||(s!==null?this.events.enter(s):this.fit(),n.preventDefault())}),this.svg.addEventListener("pointerover",n=>{this.events.hover(t(n)),this.showTip(e(n)?.getAttribute("data-tip")??null,n)}),this.svg.addEventListener("pointerleave",()=>{this.events.hover(null),this.showTip(null)}),this.svg.addEventListener("pointerdown",n=>this.drag(n)),this.element.addEventListener("wheel",n=>{if(!n.ctrlKey&&!n.metaKey){this.scrollBy(n.deltaY)&&n.preventDefault();return}n.preventDefault();let s=this.element.getBoundingClientRect();this.zoom(Math.exp(-n.deltaY*.0022),{x:n.clientX-s.left,y:n.clientY-s.top})},{passive:!1})}scrollBy(e){let t=(this.scene?.height??0)*this.scale+2*A,n=Math.min(A,this.element.clientHeight-t+A),s=Math.max(n,Math.min(A,this.y-e));return s===this.y?!1:(this.y=s,this.moved=!0,this.place(),!0)}drag(e){if(e.button!==0)return;let[t,n]=[this.x,this.y];this.dragged=!1;let s=o=>{let[l,p]=[o.clientX-e.clientX,o.clientY-e.clientY];!this.dragged&&Math.hypot(l,p)<4||(this.dragged||this.svg.setPointerCapture?.(e.pointerId),this.dragged=!0,this.moved=!0,u(this.element,"data-dragging",!0),this.showTip(null),this.x=t+l,this.y=n+p,this.place())},i=()=>{u(this.element,"data-dragging",null),this.svg.removeEventListener("pointermove",s),this.svg.removeEventListener("pointerup",i),this.svg.removeEventListener("pointercancel",i)};this.svg.addEventListener("pointermove",s),this.svg.addEventListener("pointerup",i),this.svg.addEventListener("pointercancel",i)}showTip(e,t){if(this.tip.hidden=!e,!e||!t)return;this.tip.textContent=e;let n=this.element.getBoundingClientRect(),s=Math.max(0,Math.min(t.clientX-n.left+14,n.width-280)),i=t.clientY-n.top;this.tip.style.left=`${s}px`;let o=i<n.height/2;this.tip.style.top=o?`${i+18}px`:"",this.tip.style.bottom=o?"":`${n.height-i+10}px`}};function Lt(r,e,t,n){let s=n-A-e*t;return s>=A?Math.max(A,Math.min(s,r)):Math.min(A,Math.max(s,r))}var V=class{constructor(e,t,n,s,i){this.emptyText=i;let o={select:p=>s.select(p),enter:p=>s.enter(p),hover:p=>s.hover(p)};this.stage=new H(e,"listbox",o),this.stage.scroll=!0,this.table=new N(n,o),this.frame=new C(e,t,s,[$("minus","zoom out (Ctrl + wheel)",()=>this.stage.zoom(1/1.25)),$("plus","zoom in (Ctrl + wheel)",()=>this.stage.zoom(1.25)),$("fit","fit into the panel (0)",()=>this.stage.fit())]);let l=a("div",{class:"pe-left"},this.stage.element,this.empty);this.frame.body.append(a("div",{class:"pe-split"},l,this.table.element)),this.element=this.frame.element}emptyText;element;frame;stage;table;empty=a("p",{class:"pe-empty"});show(e,t,n){this.frame.caption.textContent=e,this.stage.element.classList.toggle("pe-hidden",t===null),this.empty.hidden=t!==null,this.empty.textContent=t===null?this.emptyText:"",t&&this.stage.update(t),this.table.update(n)}select(e){this.stage.select(e),this.table.select(e)}hover(e){this.stage.hover(e),this.table.hover(e)}close(){this.stage.close()}};var he=class extends V{name="eclasses";constructor(e){super("eclasses","E-classes","lemmas of the proof",e,"No candidate has a verdict yet.")}update(e){this.show(e.caption,e.scene,e.lemmas)}};var vn={add:(r,e)=>r+e,subtract:(r,e)=>r-e,multiply:(r,e)=>r*e,divide:(r,e)=>r/e,less:(r,e)=>+(r<e),less_equal:(r,e)=>+(r<=e),greater:(r,e)=>+(r>e),logical_and:(r,e)=>+(r!==0&&e!==0),where:(r,e,t)=>r?e:t,ceil:r=>Math.ceil(r),sqrt:r=>Math.sqrt(r)};function $t(r,e){let t=[];for(let[n,s,i,o]of r){let l=p=>t[Number(p??0)]??Number.NaN;n==="number"?t.push(Number(s)):n==="symbol"?t.push(e[String(s)]??Number.NaN):t.push(vn[String(n)]?.(l(s),l(i),l(o))??Number.NaN)}return t}var yn={bytes:[[2**30,"GiB"],[2**20,"MiB"],[2**10,"KiB"],[1,"B"]],seconds:[[1,"s"],[.001,"ms"],[1e-6,"µs"],[1e-9,"ns"]],flops:[[1e12,"Tflop"],[1e9,"Gflop"],[1e6,"Mflop"],[1e3,"kflop"],[1,"flop"]],count:[[1,""]]};function me(r,e){if(!Number.isFinite(r))return"unknown";if(e==="count")return T(r);let t=yn[e],[n,s]=t.find(([i])=>Math.abs(r)>=.9995*i)??t.at(-1)??[1,""];return`${Rt(r/n)} ${s}`}function Q(r){return Number.isInteger(r)?String(r):T(r)}function T(r){return Number.isFinite(r)?Number.isInteger(r)?r.toLocaleString("en"):Rt(r,4):"?"}function Rt(r,e=3){return Math.abs(r)>=10**(e-1)?Math.round(r).toLocaleString("en"):String(Number(r.toPrecision(e)))}var W=class{stage;frame;table=a("div",{class:"pe-tablebox",hidden:!0});constructor(e,t,n,s,i=[],o){this.stage=new H(e,n,{select:l=>s.select(l),enter:l=>s.enter(l),hover:l=>s.hover(l),act:o}),this.frame=new C(e,t,s,[...i,$("minus","zoom out (Ctrl + wheel)",()=>this.stage.zoom(1/1.25)),$("plus","zoom in (Ctrl + wheel)",()=>this.stage.zoom(1.25)),$("fit","fit into the panel (0)",()=>this.stage.fit()),$("table","show as a table (t)",()=>this.toggleTable())]),this.frame.body.append(this.stage.element,this.table)}toggleTable(){this.table.hidden=!this.table.hidden,this.stage.element.hidden=!this.table.hidden,this.table.hidden||b(this.table,this.stage.table())}updated(){this.table.hidden||b(this.table,this.stage.table())}};var Ct="sizes",ue=class{constructor(e){this.host=e;this.toggle=$("collapse","collapse all kernels",()=>this.toggleAll()),this.picture=new W("graph","sGraph","listbox",e,[this.toggle],(t,n)=>t==="enter"?this.show(n):this.toggleKernel(n)),this.stage=this.picture.stage,this.element=this.picture.frame.element,this.picture.frame.body.prepend(this.trail,this.alternatives),this.picture.frame.body.append(this.empty),this.element.addEventListener("keydown",t=>this.onKey(t))}host;name="graph";element;stage;picture;trail=a("nav",{class:"pe-trail","aria-label":"what is shown"});alternatives=a("div",{class:"pe-chips",role:"group","aria-label":"candidates"});toggle;empty=a("p",{class:"pe-empty"});data=null;selected="";sizes=null;enter(){this.toggleKernel(this.selected)}toggleTable(){this.picture.toggleTable()}update(e){this.data=e;let t=e.kernels.some(s=>s.expanded);this.toggle.hidden=e.kernels.length===0||e.entered!=="",b(this.toggle,E(t?"collapse":"expand"));let n=`${t?"collapse":"expand"} all kernels; Enter on a kernel toggles it alone`;u(this.toggle,"title",n),u(this.toggle,"aria-label",n),this.picture.frame.caption.textContent=e.caption,this.empty.hidden=e.scene!==null,this.empty.textContent=e.scene===null?e.caption:"",this.picture.stage.element.classList.toggle("pe-hidden",e.scene===null),this.draw(),this.picture.updated(),this.drawTrail(e),this.drawAlternatives(e)}showSizes(e,t,n){let s=t.map(({shape:i,dims:o})=>[i,o.map(l=>Q(n[l]??Number.NaN)).join(" × ")]);this.sizes={subject:e,texts:new Map(s)},this.draw()}select(e){this.selected=e[0]??"",this.picture.stage.select(e)}hover(e){this.picture.stage.hover(e)}close(){this.picture.stage.close()}draw(){let{data:e,sizes:t}=this;if(!e?.scene)return;let n=t?.subject===e.subject;this.picture.stage.update(n?xn(e.scene,t.texts):e.scene)}kernelOf(e){return this.data?.kernels.find(t=>e===t.ref||e.startsWith(`${t.ref}.`))??null}toggleKernel(e){let t=this.kernelOf(e);t&&this.host.look({graph:{kernels:[t.ref],expanded:!t.expanded}})}show(e){this.host.look({graph:{entered:e}}),this.picture.stage.focus()}toggleAll(){let e=this.data?.kernels??[],t=!e.some(n=>n.expanded);this.host.look({graph:{kernels:e.map(n=>n.ref),expanded:t}})}onKey(e){let t=this.kernelOf(this.selected);if(e.key==="Backspace"&&this.data?.entered)this.show("");else if(e.key==="Enter"&&e.shiftKey&&t)this.show(t.ref);else return;e.preventDefault(),e.stopPropagation()}drawTrail(e){this.trail.hidden=e.trail.length<2;let n=e.trail.map(({label:s,shows:i},o)=>{let l=o===e.trail.length-1;if(l||i==="")return a("span",{"aria-current":l?"location":null},s);let p=a("button",{type:"button",class:"pe-link"},s);return p.addEventListener("click",()=>this.host.look({graph:i==="program"?{program:!0}:{entered:""}})),p}).flatMap((s,i)=>i===0?[s]:[a("span",{"aria-hidden":"true"},"▸"),s]);b(this.trail,...n)}drawAlternatives(e){this.alternatives.hidden=e.alternatives.length<2,b(this.alternatives,...e.alternatives.map(({ref:t,label:n})=>{let s=t===e.subject?"true":"false",i=a("button",{type:"button",class:"pe-chip","aria-pressed":s},n);return i.addEventListener("click",()=>this.host.select(t)),i}))}};function xn(r,e){let t=r.items.map(n=>{let s=n.type==="shape"?e.get(n.id):void 0;return s===void 0||!n.texts?.some(i=>i.kind===Ct)?n:{...n,texts:n.texts.map(i=>i.kind===Ct?{...i,text:s}:i)}});return{...r,items:t}}var fe=class{constructor(e){this.body=e}body;subject="";drawn=[];draw(e,t){let n=e===this.subject,s=n?[...this.drawn]:[],i=t.map(([p,d])=>{let h=s.findIndex(([m])=>m===p);return s.splice(h,h<0?0:1)[0]??[p,d()]}),o=n?wn(this.body):()=>this.body.scrollTo(0,0);this.subject=e,this.drawn=i;let l=new Set(i.map(([,p])=>p));for(let p of[...this.body.children])l.has(p)||p.remove();i.forEach(([,p],d)=>{let h=this.body.children[d];h!==p&&this.body.insertBefore(p,h??null)}),o()}};function wn(r){let e=new Map([...At(r)].map(([o,l])=>[o,l.open])),t=[r,...r.querySelectorAll("*")].filter(o=>o.scrollTop>0||o.scrollLeft>0).map(o=>({where:kn(o,r),top:o.scrollTop,left:o.scrollLeft})),n=document.activeElement,s=n instanceof HTMLElement&&n!==r&&r.contains(n)?n:null,i=s&&Ve(s);return()=>{for(let[o,l]of At(r))l.open=e.get(o)??l.open;s&&!r.contains(s)&&([...r.querySelectorAll(s.tagName)].find(l=>Ve(l)===i)??r).focus({preventScroll:!0});for(let{where:o,top:l,left:p}of t){let d=o.reduce((h,m)=>h?.children[m],r);d&&(d.scrollTop!==l||d.scrollLeft!==p)&&d.scrollTo(p,l)}}}function At(r){let e=new Map;for(let t of r.querySelectorAll("details")){let n=Ve(t);for(;e.has(n);)n+="'";e.set(n,t)}return e}function Ve(r){return r.getAttribute("data-keep")??(r instanceof HTMLDetailsElement?r.querySelector("summary"):r)?.textContent??""}function kn(r,e){let t=[];for(let n=r;n!==e&&n.parentElement;n=n.parentElement)t.unshift([...n.parentElement.children].indexOf(n));return t}var Mn={kind:"",status:"",description:[],details:[],code:"",code_math:"",cards:[],actions:[],links:[]},Sn={soundness:"",soundness_text:"",label:"Why",formula:"",formula_math:"",substituted:"",where:[],details:[],would_reopen_if:"",steps:[],copies:[]},En=9,We=6,Tn=["",()=>a("p",{class:"pe-empty"},"Nothing is selected: click a block of the map, an operator, or a family.")],be=class{constructor(e){this.host=e;this.frame=new C("inspector","Inspector",e),this.frame.body.classList.add("pe-inspector"),this.frame.body.tabIndex=0,this.parts=new fe(this.frame.body),this.element=this.frame.element,this.update(null)}host;name="inspector";element;frame;parts;focus(){this.frame.body.focus()}update(e){let t=e&&{...Mn,...e};this.frame.caption.textContent=t?.ref??"",this.parts.draw(t?.ref??"",t?this.drawn(t):[Tn])}drawn(e){let{cards:t,actions:n,...s}=e;return[[JSON.stringify(s),()=>this.summary(e)],...t.map(i=>[JSON.stringify(i),()=>this.card(i)]),...n.length>0?[[JSON.stringify(n),()=>this.actions(n)]]:[]]}select(){}hover(){}close(){}summary(e){let t=e.details.length>0?ge(e.details):null,n=e.links.map(({ref:s,label:i})=>{let o=a("button",{type:"button",class:"pe-chip"},i);return o.addEventListener("click",()=>this.host.select(s)),o});return a("div",{class:"pe-part"},a("h4",{},e.kind?_(e.kind):null,a("span",{},e.title),e.status?a("span",{class:"pe-word"},e.status):null),...e.description.map(s=>a("p",{},s)),e.code_math?F(e.code_math,e.code):e.code?a("pre",{class:"pe-snippet"},e.code):null,t,n.length>0?a("div",{class:"pe-chips"},...n):null)}card(e){let t={...Sn,...e};return a("article",{class:"pe-card"},a("header",{},a("span",{class:"pe-eyebrow"},t.label),t.kind?_(t.kind):null,a("code",{},t.title),t.soundness?a("span",{class:"pe-word",title:t.soundness_text},t.soundness):null),a("p",{class:"pe-sentence"},t.sentence),t.formula?F(t.formula_math,t.formula):null,t.substituted?a("pre",{class:"pe-formula pe-numbers"},t.substituted):null,t.where.length>0?this.where(t.where):null,t.steps.length>0?this.steps(t.steps):null,t.details.length>0?this.details(t.details,`${t.label} ${t.title}`):null,...t.copies.map(n=>this.copy(n)),t.soundness_text?a("p",{class:"pe-muted"},t.soundness_text):null,t.would_reopen_if?a("p",{class:"pe-reopen"},a("b",{},"Would reopen if "),t.would_reopen_if):null)}where(e){let t=a("dl",{class:"pe-facts pe-where"});for(let{symbol:n,text:s,math:i}of e)M(t,a("dt",{},n),a("dd",{},F(i,s)));return a("div",{class:"pe-part"},a("span",{class:"pe-eyebrow"},"where"),t)}details(e,t){if(e.length<=En)return ge(e);let n=a("details",{"data-keep":t},a("summary",{},`${e.length-We} more`),ge(e.slice(We)));return a("div",{class:"pe-part"},ge(e.slice(0,We)),n)}steps(e){let t=a("ol",{class:"pe-steps"});for(let n of e){let s=a("button",{type:"button",class:"pe-link pe-mono"},n.name);s.addEventListener("click",()=>this.host.select(n.ref));let i=[_(n.kind),s,Nt(n.equation_math,n.equation)],o=n.lines??[],l=a("p",{class:"pe-muted"},n.justification),p=a("div",{class:"pe-chain"});for(let[h,[m,f]]of o.entries())M(p,a("span",{},h>0?"= ":null,Nt(n.lines_math?.[h],m)),h>0?a("span",{class:"pe-muted"},`by ${f}`):null);let d=o.length>0&&e.length===1;M(t,o.length>0?a("li",{},a("details",{open:d,"data-keep":`${n.ref} ${n.name}`},a("summary",{},...i),l,p)):a("li",{},...i,l))}return t}copy({label:e,text:t}){let n=a("button",{type:"button",class:"pe-button",title:"copy this text"},E("copy"),e);return n.addEventListener("click",()=>this.host.copy(t,e)),t.includes(`
`)?a("details",{},a("summary",{},n),a("pre",{class:"pe-snippet"},t)):a("div",{class:"pe-action"},n,a("code",{},t))}actions(e){let t=a("div",{class:"pe-part pe-do"},a("span",{class:"pe-eyebrow"},"Commands"));for(let n of e){let s=n.command,i=a("button",{type:"button",class:"pe-button",disabled:!n.enabled,title:n.description,"data-command":n.command},["accept","reject","undo","redo"].includes(n.command)?E(s):null,a("span",{},n.label));i.addEventListener("click",()=>this.host.command(n.command,n.args));let o=a("button",{type:"button",class:"pe-python",title:"copy this line"},n.python);o.addEventListener("click",()=>this.host.copy(n.python,"the line")),M(t,a("div",{class:"pe-action"},i,o))}return t}};function Nt(r,e){return r?F(r,e):a("code",{},e)}function ge(r){let e=a("dl",{class:"pe-facts"});for(let[t,n]of r)M(e,a("dt",{},t),a("dd",{},n));return e}var U=class{constructor(e,t){this.choose=t;this.element=a("span",{class:"pe-chooser",role:"group","aria-label":e})}choose;element;drawn="";update(e,t){let n=JSON.stringify(e);n!==this.drawn&&(this.drawn=n,b(this.element,...e.map(s=>this.button(s))));for(let s of this.element.children)u(s,"aria-pressed",String(s.getAttribute("data-choice")===t));this.element.hidden=e.length<2}button(e){let t=a("button",{type:"button",class:"pe-chip",title:e.tip||null,"data-choice":e.name},e.label);return t.addEventListener("click",()=>this.choose(e.name)),t}};var ve=class{constructor(e){this.host=e;this.picture=new W("map","Search map","tree",e),this.stage=this.picture.stage,this.reasons=new H("reasons","listbox",{select:n=>e.select(n),enter:n=>e.enter(n),hover:n=>e.hover(n)}),this.reasons.element.classList.add("pe-strip"),this.stage.scroll=!0,this.reasons.scroll=!0,this.modes=new U("modes of the search map",n=>this.look({mode:n})),this.similar.textContent="mark similar",this.similar.addEventListener("click",()=>this.look({similar:!this.marksSimilar})),this.element=this.picture.frame.element;let t=a("div",{class:"pe-choices"},this.modes.element,this.similar,this.interval);this.picture.frame.body.prepend(t),this.picture.frame.body.append(this.reasons.element),this.stage.overlay.append(this.preview),this.stage.element.addEventListener("pointerdown",n=>this.drag(n),{capture:!0}),this.stage.element.addEventListener("click",n=>this.toggle(n),{capture:!0}),this.element.addEventListener("keydown",n=>this.onKey(n))}host;name="map";element;picture;stage;reasons;modes;similar=a("button",{type:"button",class:"pe-chip",title:"mark everything with the same operators and reasons as the selection (s)"});interval=a("span",{class:"pe-chooser"});preview=v("rect",{class:"pe-brush",visibility:"hidden"});selected=[];brush=null;marksSimilar=!1;drawn="";toggleTable(){this.picture.toggleTable()}update(e){this.modes.update(e.modes,e.mode),this.marksSimilar=e.similar,u(this.similar,"aria-pressed",String(e.similar)),this.brush=e.brush,this.showInterval(e.brush),this.stage.update(e.scene),this.picture.updated(),this.reasons.element.hidden=e.mode==="reasons",this.reasons.update(e.reasons),this.picture.frame.caption.textContent=e.summary}select(e){this.selected=e,this.stage.select(e),this.reasons.select(e)}hover(e){this.stage.hover(e),this.reasons.hover(e)}close(){this.stage.close(),this.reasons.close()}look(e){this.host.look({map:e})}showInterval(e){let t=JSON.stringify(e);if(t===this.drawn||(this.drawn=t,this.interval.replaceChildren(),!e?.interval))return;let n=(s,i,o)=>{let l=a("button",{type:"button",class:"pe-chip",title:i},s);l.addEventListener("click",o),this.interval.append(l)};n(`${e.interval} ×`,"show all events",()=>this.look({interval:[]})),n("look back to its end","show the search as it was after the last event of the interval",()=>this.host.look({cursor:e.end}))}toggle(e){let t=e.target.closest(".k-toggle")?.getAttribute("data-id")??"",[n,...s]=t.split("#");n!=="open"&&n!=="close"||(e.stopPropagation(),this.expand(s.join("#"),n==="open"))}expand(e,t){this.look(t?{open:e}:{close:e})}onKey(e){if(!(e.altKey||e.ctrlKey||e.metaKey||e.defaultPrevented)&&!e.target.closest("input, select, textarea")){if(e.key==="s")this.look({similar:!this.marksSimilar});else if(e.key==="c")this.toggleSelected();else return;e.preventDefault(),e.stopPropagation()}}toggleSelected(){let e=this.stage.shown?.items.find(t=>t.type==="shape"&&t.role==="block"&&t.ref!==void 0&&this.selected.includes(t.ref));e&&this.expand(e.id,e.kind.startsWith("collapsed"))}drag(e){let{brush:t}=this;if(!t||e.button!==0)return;let n=this.stage.at(e).x;if(n<t.left||n>t.right)return;let s=n,i=!1,o=h=>Math.round(t.first+(h-t.left)/(t.right-t.left)*(t.end-t.first)),l=h=>{s=Math.min(t.right,Math.max(t.left,this.stage.at(h).x)),i||=Math.abs(s-n)>4,i&&(u(this.preview,"visibility","visible"),u(this.preview,"x",String(Math.min(n,s))),u(this.preview,"width",String(Math.abs(s-n))),u(this.preview,"y","0"),u(this.preview,"height",String(this.stage.shown?.height??0)))},p=h=>{l(h);for(let[c,g]of d)window.removeEventListener(c,g);u(this.preview,"visibility","hidden");let[m,f]=[o(Math.min(n,s)),o(Math.max(n,s))-1];i&&h.type==="pointerup"&&f>m&&this.look({interval:[m,f]})},d=[["pointermove",l],["pointerup",p],["pointercancel",p]];for(let[h,m]of d)window.addEventListener(h,m);e.stopPropagation()}};var ye=class{constructor(e){this.host=e;this.frame=new C("questions","What-if",e),this.table=new N("questions",{select:t=>e.select(t),hover:t=>e.hover(t),tools:t=>this.tools(t)}),this.form.addEventListener("submit",t=>{t.preventDefault(),this.submit()}),this.frame.body.append(a("div",{class:"pe-questions"},this.form,this.table.element)),this.element=this.frame.element}host;name="questions";element;frame;table;form=a("form",{class:"pe-form","aria-label":"what if"});open=[];text="";update(e){this.open=e.open,this.frame.caption.textContent=e.caption,this.table.update(e.table);let t=JSON.stringify(e.form);t!==this.text&&(this.text=t,this.form.hidden=e.form===null,e.form&&this.draw(e.form))}select(e){this.table.select(e)}hover(e){this.table.hover(e)}close(){}draw(e){let t=a("select",{class:"pe-select",name:"target"}),n=e.targets.includes(e.target)?e.targets:[e.target,...e.targets];for(let l of n)M(t,a("option",{value:l,selected:l===e.target},l));let s=(l,p,d,h)=>a("label",{},a("span",{},p),a("input",{class:"pe-number",type:"number",min:0,name:l,value:d,placeholder:h})),i=e.rules.map(([l,p])=>a("label",{class:"pe-check",title:p},a("input",{type:"checkbox",name:"rules_off",value:l}),a("code",{},l))),o=a("input",{type:"checkbox",name:"run"});b(this.form,a("div",{class:"pe-group"},a("button",{type:"submit",class:"pe-button","data-command":"what_if"},E("help"),"What if?"),a("label",{class:"pe-check",title:"Run the search with the changed settings too, and compare the proved families; this takes longer."},o,"run the search too")),a("div",{class:"pe-fields"},a("label",{},a("span",{},"machine"),t),s("shared_memory_bytes","shared memory, B","","unchanged"),...e.limits.map(({name:l,label:p,value:d})=>s(l,p,"",String(d)))),a("fieldset",{},a("legend",{},"rules off"),a("div",{class:"pe-checks"},...i))),u(this.form,"data-target",e.target)}submit(){let e=new FormData(this.form),t={};for(let[s,i]of e)s==="rules_off"||s==="run"||(s==="target"?i!==this.form.getAttribute("data-target")&&(t[s]=String(i)):i!==""&&(t[s]=Number(i)));let n=e.getAll("rules_off").map(String);n.length>0&&(t.rules_off=n),e.has("run")&&(t.run=!0),this.host.command("what_if",t)}tools(e){if(!this.open.includes(e.ref))return[];let t=`cancel ${e.ref}`,n=a("button",{type:"button",class:"pe-tool",title:t,"aria-label":t,"data-command":"withdraw"},E("close"));return n.addEventListener("click",()=>this.host.command("withdraw",{id:e.ref})),[n]}};var Ln=150,$n=96,Pt=16,Rn=64,xe=class{constructor(e){this.host=e;this.kernels.addEventListener("change",()=>{this.shown=this.kernels.value,this.draw()}),this.element.append(a("h4",{},"What one block reads and writes"),this.kernels,this.steppers,this.figures)}host;element=a("div",{class:"pe-regions"});kernels=a("select",{"aria-label":"kernel"});steppers=a("div",{class:"pe-steppers"});figures=a("div",{class:"pe-accesses"});data=[];forms=[];shown="";at=new Map;update(e){this.data=e,e.some(t=>t.ref===this.shown)||(this.shown=e[0]?.ref??""),b(this.kernels,...e.map(t=>a("option",{value:t.ref},t.label))),this.kernels.value=this.shown,this.kernels.hidden=e.length<2,this.element.hidden=e.length===0}evaluate(e){this.forms=e,this.draw()}select(e){let t=this.data.find(n=>e===n.ref||e.startsWith(`${n.ref}.`));t&&t.ref!==this.shown&&(this.shown=t.ref,this.kernels.value=t.ref,this.draw());for(let n of this.figures.querySelectorAll("[data-ref]"))u(n,"aria-current",n.getAttribute("data-ref")===e?"true":null)}kernel(){return this.data.find(e=>e.ref===this.shown)??null}value(e){return this.forms[e]??Number.NaN}count(e,t){let n=e.steppers.find(s=>s.name===t)?.form??-1;return Math.max(1,Math.floor(this.value(n))||1)}position(e,t){return Math.min(this.at.get(`${e.ref} ${t}`)??0,this.count(e,t)-1)}move(e,t){for(let[n,s]of Object.entries(t)){let i=this.count(e,n)-1;this.at.set(`${e.ref} ${n}`,Math.max(0,Math.min(i,Math.round(s)||0)))}this.draw()}draw(){let e=this.kernel();if(!e||this.forms.length===0)return;this.drawSteppers(e);let t=e.accesses.map(s=>this.figure(e,s)),n=this.figures.querySelector("[aria-current]")?.getAttribute("data-ref");b(this.figures,...t);for(let s of t)s.getAttribute("data-ref")===n&&u(s,"aria-current","true")}drawSteppers(e){let t=e.steppers.map(n=>`${e.ref} ${n.name}`).join();if(this.steppers.getAttribute("data-of")!==t){u(this.steppers,"data-of",t);let n=e.steppers.map(s=>this.stepper(e,s.name,s.loop));b(this.steppers,...n.length>0?n:[a("p",{class:"pe-muted"},"One block, no loop.")])}e.steppers.forEach((n,s)=>{let i=this.steppers.children[s],o=i?.querySelector("input"),l=this.count(e,n.name);if(!i||!o)return;o.max=String(l-1),o.value!==String(this.position(e,n.name))&&(o.value=String(this.position(e,n.name)));let p=i.querySelector(".pe-of");p&&(p.textContent=`of ${T(this.value(n.form))}`)})}stepper(e,t,n){let s=n?`loop step ${t}`:`block ${t}`,i=a("input",{type:"number",min:0,step:1,"aria-label":s});i.addEventListener("input",()=>this.move(e,{[t]:Number(i.value)}));let o=l=>()=>this.move(e,{[t]:this.position(e,t)+l});return a("div",{class:"pe-stepper"},a("span",{},s),$("minus",`previous ${s}`,o(-1)),i,$("plus",`next ${s}`,o(1)),a("span",{class:"pe-of pe-muted"}))}figure(e,t){let n=t.dims.map(o=>this.range(e,o)),s=n.map(([o,l])=>`${Q(o)}:${Q(l)}`).join(", "),i=a("button",{type:"button",class:"pe-link pe-mono",title:`select this ${t.kind}`},`${t.label}[${s}]`);return i.addEventListener("click",()=>this.host.select(t.ref)),a("figure",{class:"pe-access","data-ref":t.ref,"data-kind":t.kind},a("figcaption",{},a("span",{class:"pe-muted"},t.kind),i),this.outline(e,t,n),a("p",{class:"pe-muted"},this.sharing(e,t)))}range(e,t){let n=0;for(let[s,i]of t.strides)n+=this.value(i)*this.position(e,s);return[n,n+this.value(t.tile)]}sharing(e,t){if(t.open)return"The map is unbound: the full tensor is shown.";let n=new Set(t.dims.flatMap(d=>d.strides.map(([h])=>h))),s=e.steppers.filter(d=>!n.has(d.name)),i=s.filter(d=>!d.loop).reduce((d,h)=>d*this.count(e,h.name),1),o=s.find(d=>d.loop&&this.count(e,d.name)>1),l=t.kind==="load"?"read":"write",p=[i>1?`${T(i)} blocks ${l} this region`:`only this block ${l}s it`];return t.kind==="load"&&o&&p.push(`every iteration of ${o.name} reads it again`),t.kind==="store"&&i>1&&p.push("right only if all write the same values"),`${p.join("; ")}.`}outline(e,t,n){let s=t.dims.length;if(s===0)return a("p",{class:"pe-muted"},"a scalar");let i=t.dims[s-1],o=t.dims[s-2],[l,p]=[this.extent(i),this.extent(o)],d=Math.min(Ln/l,$n/p),[h,m]=[Math.max(Pt,l*d),Math.max(Pt,p*d)],[f,c]=n[s-1]??[0,1],[g,x]=n[s-2]??[0,1],k=(S,Ge,rt,te)=>{let it=Math.min(te,Math.max(2,(Ge-S)/rt*te));return[Math.max(0,Math.min(te-it,S/rt*te)),it]},[w,L]=k(f,c,l,h),[O,j]=k(g,x,p,m),I=this.borders(i,l,h),Y=this.borders(o,p,m),R=v("svg",{class:"pe-outline",width:h+2,height:m+2,viewBox:`-1 -1 ${h+2} ${m+2}`,role:"img","aria-label":`${t.label}: rows ${T(g)} to ${T(x)} of ${T(p)}, columns ${T(f)} to ${T(c)} of ${T(l)}`},v("rect",{class:"pe-whole",x:0,y:0,width:h,height:m}),...I.map(S=>v("path",{class:"pe-border",d:`M${S},0V${m}`})),...Y.map(S=>v("path",{class:"pe-border",d:`M0,${S}H${h}`})),v("rect",{class:"pe-region",x:w,y:O,width:L,height:j}));return this.draggable(R,e,(S,Ge)=>({...this.blockAt(e,i,S*l),...this.blockAt(e,o,Ge*p)})),R}extent(e){let t=e?this.value(e.extent):1;return t>0?t:1}borders(e,t,n){let s=e?t/this.value(e.tile):1;return!(s>1)||s>Math.min(Rn,n/3)?[]:Array.from({length:Math.ceil(s)-1},(i,o)=>(o+1)*n/s)}blockAt(e,t,n){let s={},i=Math.max(0,n);for(let[o,l]of t?.strides??[]){let p=this.value(l),d=Math.min(this.count(e,o)-1,Math.floor(i/p));s[o]=d,i-=d*p}return s}draggable(e,t,n){e.addEventListener("pointerdown",s=>{let i=e.getBoundingClientRect(),o=p=>this.move(t,n((p.clientX-i.left)/i.width,(p.clientY-i.top)/i.height)),l=()=>{window.removeEventListener("pointermove",o),window.removeEventListener("pointerup",l),window.removeEventListener("pointercancel",l)};window.addEventListener("pointermove",o),window.addEventListener("pointerup",l),window.addEventListener("pointercancel",l),o(s),s.preventDefault()})}};var we=13,ke=class{constructor(e){this.host=e;this.stage=new H("sizes","listbox",{select:n=>e.select(n),enter:n=>e.select(n),hover:n=>e.hover(n)}),this.stage.scroll=!0,this.regions=new xe(e),this.frame=new C("sizes","Sizes",e),this.plot.append(this.stage.element,this.point),this.reset.addEventListener("click",()=>this.setAll({})),this.copy.addEventListener("click",()=>e.copy(this.python(),"the call"));let t=a("div",{class:"pe-group"},this.reset,this.copy);this.body.append(a("div",{class:"pe-part"},this.origin,this.sliders,this.legal,t),a("div",{class:"pe-part"},a("h4",{},"At these sizes"),this.figures),this.plot,this.regions.element),this.frame.body.append(this.body),this.element=this.frame.element}host;name="sizes";element;stage;frame;origin=a("p",{class:"pe-muted"});sliders=a("div",{class:"pe-sliders",role:"group","aria-label":"sizes"});legal=a("ul",{class:"pe-limits",role:"status"});figures=a("dl",{class:"pe-figures"});point=a("p",{class:"pe-muted"});plot=a("div",{class:"pe-plot"});reset=a("button",{type:"button",class:"pe-button"},"reset");copy=a("button",{type:"button",class:"pe-button"},"copy as Python");regions;body=a("div",{class:"pe-sizes"});data=null;chosen={};update(e){let t=this.data;this.data=e,t?.subject!==e.subject&&(this.chosen={}),this.frame.caption.textContent=e.caption,z(this.origin,e.origin?`Start: ${e.origin}.`:""),this.body.hidden=e.subject==="",JSON.stringify(t?.sliders)!==JSON.stringify(e.sliders)&&this.drawSliders(e.sliders),this.regions.update(e.kernels),this.plot.hidden=e.roofline===null,this.compute()}select(e){this.stage.select(e),this.regions.select(e[0]??"")}hover(e){this.stage.hover(e)}close(){this.stage.close()}value(e){return this.chosen[e.symbol]??e.value}setAll(e){this.chosen=e;for(let t of this.data?.sliders??[])this.placeSlider(t);this.compute()}python(){let e=(this.data?.sliders??[]).map(t=>`${t.symbol}=${this.value(t)}`);return`${this.data?.python??""}${e.join(", ")})`}drawSliders(e){let t=e.map(n=>{let s=a("input",{type:"range",min:0,max:n.values.length-1,step:1,"data-symbol":n.symbol,"aria-label":n.label,disabled:n.values.length<2});s.addEventListener("input",()=>{this.chosen={...this.chosen,[n.symbol]:n.values[Number(s.value)]??n.value},this.placeSlider(n),this.compute()});let i=n.values.length<2?`${T(n.value)} is the only legal value`:n.label;return a("label",{class:"pe-slider",title:i},a("span",{},n.label),s,a("output"))});b(this.sliders,...t.length>0?t:[a("p",{class:"pe-muted"},"It has no symbolic size.")]);for(let n of e)this.placeSlider(n)}placeSlider(e){let t=[...this.sliders.querySelectorAll("input")].find(l=>l.getAttribute("data-symbol")===e.symbol);if(!t)return;let n=this.value(e),s=String(Math.max(0,e.values.indexOf(n)));t.value!==s&&(t.value=s);let i=`${e.symbol} = ${T(n)}`;u(t,"aria-valuetext",i);let o=t.parentElement?.querySelector("output");o&&(o.textContent=i)}compute(){let{data:e}=this;if(!e||e.subject==="")return;let t=Object.fromEntries(e.sliders.map(s=>[s.symbol,this.value(s)])),n=$t(e.forms,t);this.drawLimits(e.limits,n),b(this.figures,...e.figures.flatMap(s=>Nn(s,n))),e.roofline&&this.drawPoint(e.roofline,n),this.regions.evaluate(n),this.host.showSizes(e.subject,e.shapes,n),this.reset.disabled=Object.keys(this.chosen).length===0}drawLimits(e,t){let n=e.map(o=>An(o,t)).filter(o=>o!=="");u(this.legal,"data-broken",n.length>0);let s=e.length===0?"The limits of the machine are not known here.":"These sizes are legal.",i=n.length>0?["These sizes are illegal:",...n]:[s];[...this.legal.children].map(o=>o.textContent).join()!==i.join()&&b(this.legal,...i.map(o=>a("li",{},o)))}drawPoint(e,t){let n=h=>h===null?Number.NaN:t[h]??Number.NaN,s=n(e.flops)/n(e.memory_bytes),i=Math.min(e.peak,s*e.bandwidth),o=e.time_s===null?i:n(e.flops)/n(e.time_s),l=s*e.bandwidth<e.peak?"memory":"compute",p=`${me(o,"flops")}/s`,d=e.time_s===null?`◆ ${T(s)} flop/byte modelled: at most ${p}, the ${l} roof`:`◆ ${T(s)} flop/byte, ${p} modelled: ${Math.round(100*o/i)} % of the ${l} roof`;z(this.point,d),this.stage.update(Cn(e,s,o,d))}};function Cn(r,e,t,n){let[s,i,o,l]=r.area;if(!(e>0&&t>0))return r.scene;let p=(c,[g,x])=>Math.max(0,Math.min(1,Math.log(c/g)/Math.log(x/g))),d=s+(o-s)*p(e,r.x),h=l-(l-i)*p(t,r.y),m={type:"shape",id:"sizes#point",role:"mark",kind:"trial-best",outline:"diamond",x:d-we/2,y:h-we/2,w:we,h:we,tip:n},f=[...r.scene.items,m];return{...r.scene,items:f}}function An({form:r,most:e,text:t,what:n},s){let i=s[r]??Number.NaN;return e===null?Number.isInteger(i)&&i>=1?"":`${t} = ${T(i)} is not a positive whole number: ${n}`:i>e?`${t} = ${T(i)} exceeds ${T(e)}: ${n}`:""}function Nn(r,e){let t=e[r.form]??Number.NaN,n=me(t,r.unit),s=a("dd",{},a("strong",{},n)," ",a("span",{class:"pe-muted"},r.note));if(r.limit!==null){let i=t/r.limit,o=me(r.limit,r.unit),l=i>1?`exceeds the limit of ${o}`:`${Math.round(100*i)} % of ${o}`,p=Math.max(0,Math.min(1,i||0))*100,d=v("svg",{class:"pe-use",viewBox:"0 0 100 8",preserveAspectRatio:"none","aria-hidden":"true"},v("rect",{class:"pe-all",width:100,height:8}),v("rect",{class:"pe-used",width:p,height:8}));s.append(d,a("span",{class:i>1?"pe-over":null},l))}return[a("dt",{},r.label),s]}var Pn=14,Me=24,Se=class{constructor(e,t){this.stage=e;this.choose=t;e.overlay.append(this.preview,this.handles),e.element.addEventListener("pointerdown",n=>this.drag(n),{capture:!0})}stage;choose;axes=[];preview=v("rect",{class:"pe-brush",visibility:"hidden"});handles=v("g");update(e){let t=document.activeElement?.getAttribute("data-handle");this.axes=e,b(this.handles,...e.flatMap(n=>[this.handle(n,"low"),this.handle(n,"high")])),t&&this.handles.querySelector(`[data-handle="${CSS.escape(t)}"]`)?.focus()}handle(e,t){let n=e[t],s=(e.ys[n]??0)+(t==="low"?8:-8),i=t==="low"?1:-1,o=v("g",{class:"pe-handle",role:"slider",tabindex:0,"data-handle":`${e.name}/${t}`,"aria-orientation":"vertical","aria-label":`${e.name}, ${t==="low"?"least":"largest"} value`,"aria-valuemin":0,"aria-valuemax":e.values.length-1,"aria-valuenow":n,"aria-valuetext":e.texts[n]??""},v("rect",{x:e.x-Me/2,y:s-Me/2,width:Me,height:Me,class:"pe-target"}),v("path",{d:`M${e.x-6},${s+4*i} h12 l-6,${-8*i} z`}));return o.addEventListener("keydown",l=>{let p=e.values.length-1,d={ArrowUp:n+1,ArrowDown:n-1,Home:0,End:p}[l.key];if(l.key==="Delete"||l.key==="Backspace")this.choose([e.name]);else{if(d===void 0)return;t==="low"?this.send(e,Math.min(d,e.high),e.high):this.send(e,e.low,Math.max(d,e.low))}l.preventDefault(),l.stopPropagation()}),o}send(e,t,n){let s=e.values.length-1,[i,o]=[Math.max(0,Math.min(t,n)),Math.min(s,Math.max(t,n))];i===e.low&&o===e.high||(i===0&&o===s?this.choose([e.name]):this.choose([e.name,e.values[i]??0,e.values[o]??0]))}drag(e){if(e.button!==0||this.axes.length===0)return;let t=this.stage.at(e),n=this.axes.find(m=>Math.abs(m.x-t.x)<=Pn);if(!n)return;let[s=0,i=0]=[n.ys[0],n.ys.at(-1)];if(t.y>s+12||t.y<i-12)return;let o=t,l=!1,p=m=>{o=this.stage.at(m),l||=Math.abs(o.y-t.y)>4,l&&(u(this.preview,"visibility","visible"),u(this.preview,"x",String(n.x-10)),u(this.preview,"width","20"),u(this.preview,"y",String(Math.min(t.y,o.y))),u(this.preview,"height",String(Math.abs(o.y-t.y))))},d=m=>{p(m);for(let[w,L]of h)window.removeEventListener(w,L);if(u(this.preview,"visibility","hidden"),!l||m.type==="pointercancel")return;let[f,c]=[Math.min(t.y,o.y)-4,Math.max(t.y,o.y)+4],g=n.ys.flatMap((w,L)=>w>=f&&w<=c?[L]:[]),[x,k]=[g[0],g.at(-1)];x!==void 0&&k!==void 0&&this.send(n,x,k)},h=[["pointermove",p],["pointerup",d],["pointercancel",d]];for(let[m,f]of h)window.addEventListener(m,f);e.stopPropagation()}};var Ee=class extends V{constructor(t){super("tuning","Tuning","trials",t,"No trial has been measured yet.");this.host=t;this.modes=new U("charts",n=>t.look({tuning:{mode:n}})),this.brush=new Se(this.stage,n=>t.look({tuning:{brush:n}})),this.tops.addEventListener("change",()=>t.look({tuning:{top:Number(this.tops.value)}})),this.frame.body.prepend(a("div",{class:"pe-choices"},this.modes.element,this.tops,this.intervals))}host;name="tuning";modes;tops=a("select",{class:"pe-select","aria-label":"trials in the table"});intervals=a("div",{class:"pe-chips",role:"group","aria-label":"brush"});brush;shown="";update(t){this.modes.update(t.modes,t.mode);let n=JSON.stringify(t.tops);n!==this.shown&&(this.shown=n,b(this.tops,...t.tops.map(s=>a("option",{value:s.name},s.label)))),this.tops.value=t.top,b(this.intervals,...t.brush.flatMap(s=>this.interval(s))),this.intervals.hidden=t.brush.length===0,this.show(t.caption,t.scene,t.trials),this.brush.update(t.axes)}interval({name:t,text:n,restrict:s}){let i=a("button",{type:"button",class:"pe-chip",title:`remove the interval of ${t}`},`${n} ×`);if(u(i,"aria-label",`remove the interval ${n}`),i.addEventListener("click",()=>this.host.look({tuning:{brush:[t]}})),s===null)return[i];let o=`${s.description}
${s.python}`,l=a("button",{type:"button",class:"pe-button",title:o,"data-command":s.command},s.label);return l.addEventListener("click",()=>this.host.command(s.command,s.args)),[i,l]}};var ee=[{name:"map",label:"Search map",docked:!1,make:r=>new ve(r)},{name:"graph",label:"sGraph",docked:!1,make:r=>new ue(r)},{name:"inspector",label:"Inspector",docked:!1,make:r=>new be(r)},{name:"families",label:"Families",docked:!0,make:r=>new le(r)},{name:"sizes",label:"Sizes",docked:!0,make:r=>new ke(r)},{name:"eclasses",label:"E-classes",docked:!0,make:r=>new he(r)},{name:"tuning",label:"Tuning",docked:!0,make:r=>new Ee(r)},{name:"ledger",label:"Summary",docked:!0,make:r=>new pe(r)},{name:"questions",label:"What-if",docked:!0,make:r=>new ye(r)},{name:"code",label:"Code",docked:!0,make:r=>new de(r)}],P=ee.filter(r=>r.docked).map(r=>r.name);function _t(r){return new Map(ee.map(e=>[e.name,e.make(r)]))}function Ht(r){let e=(l,p,d,h)=>({keys:[l].flat(),shown:p,help:d,act:h}),t=l=>()=>{let p=oe(r.selection);p?r.command(l,{id:p}):r.announce(`select a family to ${l} it`)},n=()=>r.panels.get(r.layout.current())?.stage,s="select the next item in that direction, in the panel with the focus",i="open the selection: show its graph, or expand its custom kernel",o=l=>()=>{let p=P[l];p&&r.layout.show(p)};return[e(".",".","one step of the search",()=>r.bar.step()),e(" ","Space","run, pause or resume",()=>r.bar.toggleRun()),e("ArrowLeft","← → ↑ ↓",s,()=>r.walk("left")),e("ArrowRight","","",()=>r.walk("right")),e("ArrowUp","","",()=>r.walk("up")),e("ArrowDown","","",()=>r.walk("down")),e("Enter","Enter",i,()=>r.selection&&r.enter(r.selection)),e("z","z","zoom the map into the selected node, and out again",()=>r.zoomMap(_n(r))),e("[","[ ]","look back by one event, or forward",()=>r.bar.move(-1)),e("]","","",()=>r.bar.move(1)),e("w","w","read the inspector",()=>r.readInspector()),e("a","a","accept the selected family",t("accept")),e("x","x","reject the selected family; can be undone",t("reject")),e(["u","Ctrl+z"],"u, Ctrl+Z","undo the last steering step",()=>r.command("undo")),e(["U","Ctrl+Z"],"Shift+U","redo the last steering step",()=>r.command("redo")),e("/","/","find in the pictures",()=>r.find.focus()),e("m","m","maximise the panel, or restore it",()=>r.maximise(r.layout.current())),e("0","0","fit the picture into its panel",()=>n()?.fit()),e("t","t","show the picture as a table",()=>r.toggleTable()),...P.map((l,p)=>e(String(p+1),p?"":`1 … ${P.length}`,p?"":"show a tab of the dock",o(p))),e("?","?","show this help",()=>r.help.toggle()),e("Escape","Esc","close, clear, then leave the widget",()=>r.leave())]}function zt(r,e,t){if(r.altKey||r.defaultPrevented)return;let n=ut(r);if(ht(r.target)){n==="Escape"&&(t.help.open?t.help.toggle():t.find.clear(),t.element.focus(),r.stopPropagation());return}if((n===" "||n==="Enter")&&mt(r.target)||ft(n)&&!t.help.lettersActive&&n!=="?")return;let s=e.find(i=>i.keys.includes(n));s&&s.act()!==!1&&(r.preventDefault(),r.stopPropagation())}function _n(r){return ie(r.selection)?r.selection:r.root}var Ot="prism_explore.layout";function jt(r){let e=new Map;try{let t=JSON.parse(localStorage.getItem(Ot)??"{}");if(typeof t!="object"||t===null)return e;for(let[n,[s,i]]of r){let o=t[n];typeof o=="number"&&o>=s&&o<=i&&e.set(n,o)}}catch{}return e}function Te(r){try{localStorage.setItem(Ot,JSON.stringify(Object.fromEntries(r)))}catch{}}var J=[{name:"map",label:"width of the search map",axis:"x",unit:"%",least:12,most:55,initial:30,after:!1},{name:"inspector",label:"width of the inspector",axis:"x",unit:"%",least:15,most:65,initial:35,after:!0},{name:"dock",label:"height of the dock",axis:"y",unit:"%",least:12,most:85,initial:42,after:!0},{name:"height",label:"height of the explorer",axis:"y",unit:"px",least:460,most:2400,initial:740,after:!1}],Hn=12,zn={"%":2,px:40},Le=class{constructor(e,t){this.main=e;this.changed=t;this.values=jt(new Map(J.map(l=>[l.name,[l.least,l.most]])));let[n,s,i,o]=J;this.elements={map:this.separator(n),inspector:this.separator(s),dock:this.separator(i),height:this.separator(o)};for(let l of J)this.show(l)}main;changed;elements;values;root=null;follow(e){this.root=e;for(let t of J)this.show(t)}value(e){return this.values.get(e.name)??e.initial}separator(e){let t=a("div",{class:`pe-splitter pe-splitter-${e.axis}`,role:"separator",tabindex:0,title:`drag or use the arrow keys to change the ${e.label}; a double click resets it`,"aria-label":e.label,"aria-orientation":e.axis==="x"?"vertical":"horizontal","aria-valuemin":e.least,"aria-valuemax":e.most,"data-splitter":e.name});return t.addEventListener("pointerdown",n=>this.drag(e,t,n)),t.addEventListener("keydown",n=>this.key(e,n)),t.addEventListener("dblclick",()=>this.reset(e)),t}drag(e,t,n){if(n.button!==0)return;n.preventDefault(),t.focus(),t.setPointerCapture?.(n.pointerId);let s=e.axis==="x"?n.clientX:n.clientY,i=e.name==="height"?this.root?.offsetHeight??e.initial:this.value(e),o=e.unit==="px"?100:e.axis==="x"?this.main.clientWidth:this.main.clientHeight,l=d=>{let h=((e.axis==="x"?d.clientX:d.clientY)-s)*(100/Math.max(1,o));this.set(e,e.after?i-h:i+h)},p=()=>{t.removeEventListener("pointermove",l),t.removeEventListener("pointerup",p),t.removeEventListener("pointercancel",p),Te(this.values)};t.addEventListener("pointermove",l),t.addEventListener("pointerup",p),t.addEventListener("pointercancel",p)}key(e,t){let[n,s]=e.axis==="x"?["ArrowLeft","ArrowRight"]:["ArrowUp","ArrowDown"],i=zn[e.unit]*(e.after?-1:1),o=e.name==="height"?this.root?.offsetHeight??this.value(e):this.value(e),l=new Map([[n,o-i],[s,o+i],["Home",e.least],["End",e.most]]).get(t.key);if(t.key==="Enter")this.reset(e);else if(l!==void 0)this.set(e,l);else return;t.preventDefault(),t.stopPropagation(),Te(this.values)}reset(e){this.values.delete(e.name),this.show(e),Te(this.values),this.changed()}set(e,t){let n=J.find(i=>i.axis==="x"&&i.name!==e.name),s=e.axis==="x"&&n?Math.min(e.most,100-Hn-this.value(n)):e.most;this.values.set(e.name,Math.round(Math.max(e.least,Math.min(s,t))*10)/10),this.show(e),this.changed()}show(e){let t=this.value(e);if(u(this.elements[e.name],"aria-valuenow",String(Math.round(t))),e.name==="height"){this.root&&(this.root.style.height=this.values.has(e.name)?`${t}px`:"");return}this.main.style.setProperty(`--${e.name}`,`${t}fr`);let[n,s,i]=J.map(o=>this.value(o));this.main.style.setProperty("--graph",`${100-(n??0)-(s??0)}fr`),this.main.style.setProperty("--upper",`${100-(i??0)}fr`)}};var On=900,jn=150,In=8,Ue=16,$e=class{constructor(e,t){this.panels=e;this.look=t;let n=this.tabList(),[s,i]=[this.scroller(n,-1),this.scroller(n,1)];this.scrollers=[s,i],this.dock.append(a("div",{class:"pe-tabbar"},s,n,i),...P.map(d=>this.element(d)));let{map:o,inspector:l,dock:p}=this.splitters.elements;this.main.append(this.element("map"),o,this.element("graph"),l,this.element("inspector"),p,this.dock),this.resize.observe(n),n.addEventListener("scroll",()=>this.markScrollers(n),{passive:!0})}panels;look;main=a("div",{class:"pe-main"});dock=a("div",{class:"pe-dock"});splitters=new Le(this.main,()=>this.measure());scrollers;tabs=new Map;shown="map";docked="families";maximised=null;narrow=!1;root=null;sizes={map:0,dock:0,high:0};timer;resize=new ResizeObserver(()=>this.measure());get lowerEdge(){return this.splitters.elements.height}follow(e){this.root=e,this.splitters.follow(e),this.resize.observe(e),this.arrange()}close(){this.resize.disconnect(),clearTimeout(this.timer)}show(e){P.includes(e)&&(this.docked=e),this.shown=e,this.maximised!==null&&(this.maximised=e),this.arrange()}maximise(e){this.maximised=this.maximised===e?null:e,this.show(e)}restore(){return this.maximised===null?!1:(this.maximise(this.maximised),!0)}current(){return document.activeElement?.closest("[data-panel]")?.getAttribute("data-panel")??this.shown}measure(){let e=this.root?.clientWidth??0;if(e===0)return;this.sendSizes();let t=this.dock.querySelector(".pe-tabs");t&&this.markScrollers(t);let n=e<On;n!==this.narrow&&(this.narrow=n,this.arrange())}element(e){let t=this.panels.get(e);if(!t)throw new Error(`no panel ${e}`);return t.element}tabList(){let e=a("div",{class:"pe-tabs",role:"tablist","aria-label":"panels"});for(let{name:t,label:n,docked:s}of ee){let i=this.element(t);i.id=D("panel");let o=a("button",{type:"button",role:"tab","aria-controls":i.id,"data-tab-of":t,class:s?null:"pe-only-narrow"},n);o.addEventListener("click",()=>this.show(t)),this.tabs.set(t,o),e.append(o)}return e.addEventListener("keydown",t=>this.walkTabs(t)),e}scroller(e,t){let n=t<0?"earlier tabs":"later tabs",s=a("button",{type:"button",class:"pe-tool pe-scroller",title:n,"aria-label":n,tabindex:-1,hidden:!0},t<0?"‹":"›");return s.addEventListener("click",()=>e.scrollBy({left:.8*t*e.clientWidth})),s}markScrollers(e){let t=e.scrollLeft,n=[t<=1,t+e.clientWidth>=e.scrollWidth-1];this.scrollers.forEach((s,i)=>{u(s,"hidden",n[i]??!0)})}walkTabs(e){let t=ee.map(l=>l.name).filter(l=>!this.tabs.get(l)?.hidden),n=t.findIndex(l=>this.tabs.get(l)===e.target),s=t.length-1,i=new Map([["ArrowLeft",n>0?n-1:s],["ArrowRight",n<s?n+1:0],["Home",0],["End",s]]).get(e.key),o=i===void 0?void 0:t[i];o&&(e.preventDefault(),e.stopPropagation(),this.show(o),this.tabs.get(o)?.focus())}arrange(){let e=this.maximised??(this.narrow?this.shown:null);for(let[o,l]of this.panels){let p=e===null?!P.includes(o)||o===this.docked:o===e;u(l.element,"hidden",!p)}for(let[o,l]of this.tabs){u(l,"hidden",!this.narrow&&!P.includes(o));let p=this.narrow?o===e:o===this.docked;u(l,"aria-selected",String(p)),u(l,"tabindex",p?"0":"-1"),p&&Dn(l)}let{map:t,inspector:n,dock:s}=this.splitters.elements;for(let o of[t,n,s])u(o,"hidden",e!==null);let i=e===null||P.includes(e);u(this.dock,"hidden",!i&&!this.narrow),u(this.dock,"data-only-tabs",!i),this.sendSizes(),this.root&&(u(this.root,"data-solo",e!==null),u(this.root,"data-narrow",this.narrow))}sendSizes(){clearTimeout(this.timer),this.timer=setTimeout(()=>{let{map:e,dock:t,high:n}=this.sizes,s=P.map(l=>this.panels.get(l)?.stage?.element).find(l=>l!==void 0&&l.clientWidth>0),i={map:this.panels.get("map")?.stage?.element.clientWidth||e,dock:s?.clientWidth??t,high:s?.clientHeight??n};Math.abs(i.map-e)+Math.abs(i.dock-t)+Math.abs(i.high-n)<In||(this.sizes=i,this.look({map_px:i.map-Ue,dock_px:i.dock-Ue,dock_high_px:i.high-Ue}))},jn)}};function Dn(r){let e=r.parentElement;if(!e)return;r.offsetLeft<e.scrollLeft&&(e.scrollLeft=r.offsetLeft);let t=r.offsetLeft+r.offsetWidth-e.scrollLeft-e.clientWidth;t>0&&(e.scrollLeft+=t)}var Kn="button, summary, tr[data-ref]";var Re=class{constructor(e,t){this.element=e;this.give=t;e.addEventListener("pointerdown",this.down);for(let n of["pointerup","pointercancel"])window.addEventListener(n,this.up)}element;give;held=!1;waiting=new Map;timer;down=e=>{this.held=e.target.closest(Kn)!==null,this.later(2e3)};up=()=>this.later(0);take(e){if(!this.held)this.give(e);else for(let[t,n]of e)this.waiting.set(t,n)}close(){clearTimeout(this.timer),this.element.removeEventListener("pointerdown",this.down);for(let e of["pointerup","pointercancel"])window.removeEventListener(e,this.up)}later(e){clearTimeout(this.timer),this.held&&(this.timer=setTimeout(()=>this.release(),e))}release(){let e=this.waiting;this.held=!1,this.waiting=new Map,e.size>0&&this.give(e)}};var Je=".pe-chip, .pe-link, .pe-transport input, .pe-transport select, .pe-form button, .pe-form input, .pe-form select",Ce=class{constructor(e){this.announce=e}announce;gone="";past="";commands={};root=null;observer=new MutationObserver(()=>this.apply());follow(e){this.root=e;for(let t of["click","dblclick","input","change","submit"])e.addEventListener(t,n=>this.guard(n),{capture:!0})}close(){this.observer.disconnect()}describe(e){this.commands=e}set(e){this.gone=e.gone??this.gone,this.past=e.past??this.past,this.observer.disconnect(),this.apply(),this.root&&(this.gone||this.past)&&this.observer.observe(this.root,{childList:!0,subtree:!0})}reason(e){return this.gone||(this.commands[e]?.in_past===!1?this.past:"")}reasonOf(e){let t=e.getAttribute("data-command");return t?this.reason(t):e.matches(Je)?this.gone:""}apply(){if(this.root)for(let e of this.root.querySelectorAll(`[data-command], ${Je}`)){let t=this.reasonOf(e),n=e.hasAttribute("data-locked");if(t)e.getAttribute("title")!==t&&u(e,"data-title",e.getAttribute("title")),u(e,"title",t),u(e,"aria-disabled","true"),u(e,"data-locked",!0);else if(n){u(e,"title",e.getAttribute("data-title"));for(let s of["data-title","aria-disabled","data-locked"])u(e,s,null)}}}guard(e){let t=e.target.closest(`[data-command], ${Je}`),n=t?this.reasonOf(t):e.type==="submit"?this.gone:"";n&&(e.preventDefault(),e.stopPropagation(),this.announce(n))}};var Bn={title:"",ref:"",time:"",spread:"",source:"",sentence:"",warning:"",comparisons:[],links:[]},Ae=class{constructor(e){this.host=e;this.element.addEventListener("click",t=>{this.ref&&!t.target.closest("button")&&this.host.select(this.ref)})}host;element=a("section",{class:"pe-result pe-best","aria-label":"result"});ref="";drawn="";update(e){let t=JSON.stringify(e);if(t===this.drawn)return;this.drawn=t;let n={...Bn,...e};this.ref=n.ref,u(this.element,"data-ref",n.ref||null),b(this.element,a("div",{class:"pe-answer"},...this.answer(n)),a("p",{class:"pe-why",title:n.sentence},n.sentence),a("div",{class:"pe-group pe-result-links"},...n.links.map(s=>this.link(s))))}answer(e){return[_(e.kind),a("span",{class:"pe-muted"},e.label),e.title?this.title(e):null,e.time?a("strong",{title:e.source},e.time):null,e.warning?a("span",{class:"pe-warning",role:"img",title:e.warning,"aria-label":e.warning},"⚠"):null,e.spread?a("span",{class:"pe-muted pe-spread",title:e.source},e.spread):null,e.comparisons.length>0?a("ul",{class:"pe-comparisons",title:e.comparisons.map(Gn).join(`
`),"aria-label":"against baselines and limit"},...e.comparisons.map(Fn)):null]}title({title:e,ref:t}){let n=t&&t!==e?`${e} ${t}`:e;if(!t)return a("span",{class:"pe-mono"},n);let s=a("button",{type:"button",class:"pe-link pe-mono",title:`select ${t}`},n);return s.addEventListener("click",()=>this.host.select(t)),s}link({ref:e,panel:t,label:n,description:s}){let i=a("button",{type:"button",class:"pe-button pe-chip",title:s},n);return i.addEventListener("click",()=>{this.host.select(e),this.host.show(t)}),i}};function Gn({ratio:r,label:e,time:t}){return`${r} ${e}, ${t}`}function Fn(r){let e=r.limit?"pe-limit":null;return a("li",{class:e,title:r.description},a("b",{},r.ratio),` ${r.label}, `,a("span",{},r.time))}var Ne=class{element=a("div",{class:"pe-confirm",role:"alertdialog",hidden:!0});back=null;constructor(){this.element.addEventListener("keydown",e=>{e.stopPropagation(),e.key==="Escape"&&this.close()})}ask(e,t,n,s,i){this.back=s;let o=(p,d,h)=>{let m=a("button",{type:"button",class:`pe-button ${d}`.trim()},p);return m.addEventListener("click",()=>{this.close(),h()}),m},l=o(n,"",()=>{});b(this.element,a("p",{},e),a("div",{class:"pe-group"},o(t,"pe-primary",i),l)),this.element.setAttribute("aria-label",e),this.element.hidden=!1,l.focus()}close(){this.element.hidden||(this.element.hidden=!0,this.back?.focus())}};var qn=["event","candidate","family","phase"],Vn="family",Pe=class{constructor(e){this.host=e;for(let p of qn)this.grain.append(a("option",{value:p},p));this.grain.value=Vn;let t=(p,d,h,m,f="")=>{let c=a("button",{type:"button",class:`pe-button ${f}`.trim(),"data-command":p,"aria-label":d},E(h),f==="pe-bare"?null:a("span",{},d));return c.addEventListener("click",m),{name:p,element:c}},n=t("step","Step","step",()=>this.step()),s=t("start","Run","run",()=>this.toggleRun(),"pe-primary"),i=t("cancel","Cancel","cancel",()=>this.askToCancel()),o=t("undo","Undo","undo",()=>e.command("undo"),"pe-bare"),l=t("redo","Redo","redo",()=>e.command("redo"),"pe-bare");this.buttons=[n,s,i,o,l],this.moment.addEventListener("input",()=>this.lookBack(Number(this.moment.value))),this.when.addEventListener("click",()=>this.lookBack(0)),this.element=a("div",{class:"pe-transport"},a("div",{class:"pe-bar"},this.title,this.state,this.phases,a("span",{class:"pe-group pe-time"},this.moment,this.when)),a("div",{class:"pe-bar",role:"toolbar","aria-label":"search"},a("span",{class:"pe-group"},n.element,this.grain),a("span",{class:"pe-group"},s.element,i.element,this.confirm.element),a("span",{class:"pe-group"},o.element,l.element),this.counters))}host;element;title=a("div",{class:"pe-title"});phases=a("ol",{class:"pe-phases","aria-label":"phases"});confirm=new Ne;counters=a("ul",{class:"pe-counters","aria-label":"counts"});grain=a("select",{class:"pe-select","aria-label":"size of one step",title:"size of one step"});state=a("span",{class:"pe-state"});moment=a("input",{type:"range",class:"pe-moment",min:1,"aria-label":"show an earlier state of the search",title:`show an earlier state of the search; the search itself is not changed
keys: [ and ]`});when=a("button",{type:"button",class:"pe-link pe-when"},"now");buttons;data=null;pausing=!1;step(){this.can("step")&&this.host.command("step",{n:1,grain:this.grain.value})}toggleRun(){let e=this.runCommand();!this.can(e)||this.pausing||(this.pausing=e==="pause",this.host.command(e),this.pausing&&this.data&&this.update(this.data))}lookBack(e){let t=this.data?.events??0;this.host.look({cursor:e<t?e:0})}move(e){this.data&&this.lookBack(Math.max(1,(this.data.cursor||this.data.events)+e))}backToNow(){this.lookBack(0)}askToCancel(){let e=this.buttons.find(({name:s})=>s==="cancel")?.element;if(!e)return;let n=`End the search for good? Kept: all ${this.data?.events.toLocaleString("en")??"0"} events, proofs and times so far. Lost: the step in progress, and everything that was not searched yet. Pause keeps both.`;this.confirm.ask(n,"End the search","Keep searching",e,()=>this.host.command("cancel"))}can(e){return this.data?.enabled.includes(e)??!1}describe(e){let t={step:".",start:"Space",undo:"u",redo:"Shift+U"};for(let{name:n,element:s}of this.buttons){let i=e[n];i&&u(s,"title",`${i.description}
${i.python}${t[n]?`
key: ${t[n]}`:""}`)}}update(e){this.data=e,this.pausing&&=e.state==="running",b(this.title,a("span",{class:"pe-brand"},"Prism"),a("strong",{class:"pe-mono"},e.program),a("span",{class:"pe-muted"},e.target)),this.state.textContent=`${e.state} · ${e.events.toLocaleString("en")} events`,u(this.state,"data-state",e.state),u(this.moment,"max",String(Math.max(1,e.events))),this.moment.matches(":active")||(this.moment.value=String(e.cursor||e.events)),this.when.textContent=e.cursor>0?`${e.cursor.toLocaleString("en")} · back to now`:"now",this.when.disabled=e.cursor===0,b(this.phases,...e.phases.map(t=>a("li",{"aria-current":t.current?"step":null,title:t.description},t.name)),this.phaseSign(e)),e.enabled.includes("cancel")||this.confirm.close(),this.counters.replaceChildren();for(let{kind:t,label:n,value:s,description:i}of e.counters)M(this.counters,a("li",{title:i},_(t),a("strong",{},s),a("span",{},n)));for(let{name:t,element:n}of this.buttons)n.disabled=!this.can(t==="start"?this.runCommand():t)||t==="start"&&this.pausing,t==="start"&&this.labelRun(n)}phaseSign(e){let t=e.phases.findIndex(o=>o.current),n=e.phases.map(o=>o.name).join(", "),s=`phase ${t+1} of ${e.phases.length}: ${e.phases[t]?.name??""}`,i=t<0?`${e.phases.length} phases`:s;return a("li",{class:"pe-phase-sign",title:`phases: ${n}`},i)}runCommand(){return this.data?.state==="running"?"pause":this.can("resume")?"resume":"start"}labelRun(e){let t=this.runCommand(),n=this.pausing?"Pausing":{pause:"Pause",resume:"Resume"}[t]??"Run";b(e,E(t==="pause"?"pause":"run"),a("span",{},n)),u(e,"data-command",t),u(e,"aria-label",n)}};var Wn=1e3,_e=class{element=a("span",{class:"pe-status",role:"status","aria-live":"polite"});timer;next="";announce(e){this.next=e,this.timer===void 0&&(this.element.textContent=e,this.timer=setTimeout(()=>{this.timer=void 0,this.element.textContent!==this.next&&this.announce(this.next)},Wn))}close(){clearTimeout(this.timer)}};async function Dt(r){if(!navigator.clipboard)return It(r);try{return await navigator.clipboard.writeText(r),!0}catch{return It(r)}}function It(r){let e=a("textarea",{style:"position:fixed;opacity:0"});e.value=r,document.body.append(e),e.select();let t=document.execCommand("copy");return e.remove(),t}var He=class{constructor(e,t){this.model=e;this.listener=t}model;listener;have=0;waiting=!1;timer;commands=0;name=Math.random().toString(36).slice(2,10);parts=new Map;onMessage=e=>this.receive(e);onLive=()=>this.hello("closed",1e3);open(){this.model.on("msg:custom",this.onMessage),this.model.on("comm_live_update",this.onLive);let e=this.model.get("snapshot");e?.texts&&e.seq>0&&(this.have=e.left_out.length===0?e.seq:0,this.listener.sections(new Map(Object.entries(e.texts).map(([t,n])=>[t,JSON.parse(n)])))),this.hello()}close(){clearTimeout(this.timer),this.model.off("msg:custom",this.onMessage),this.model.off("comm_live_update",this.onLive)}command(e,t={}){this.commands+=1;let n=`${this.name}-${this.commands}`;return this.model.send({kind:"command",event_id:n,name:e,args:t}),this.timer===void 0&&this.expect("silent",4e3),n}look(e){this.model.send({kind:"look",...e})}hello(e="silent",t=4e3){this.waiting=!0,this.model.send({kind:"hello",have:this.have}),this.expect(e,t)}expect(e,t){clearTimeout(this.timer),this.timer=setTimeout(()=>{this.timer=void 0,this.waiting=!1,this.listener.connection(e)},t)}receive(e){let t=e;if(t?.kind!=="sections")return;for(let s of t.replies)this.listener.reply(s);if(this.have<t.after){this.waiting||this.hello();return}clearTimeout(this.timer),this.timer=void 0,this.waiting=!1,this.have=t.seq;let n=new Map;for(let[s,i,o,l]of t.chunks){let p=this.join(s,i,o,l);p!==null&&n.set(s,JSON.parse(p))}this.listener.connection("open"),n.size>0&&this.listener.sections(n)}join(e,t,n,s){if(n===1)return this.parts.delete(e),s;let i=this.parts.get(e),o=i&&i.length===n&&t>0?i:new Array(n).fill(void 0);return o[t]=s,this.parts.set(e,o),o.includes(void 0)?null:(this.parts.delete(e),o.join(""))}};var Un={open:"",silent:"The kernel does not answer: it is busy with a cell, or it has ended. The panels show the last state it sent.",closed:"The kernel was restarted or has ended. The panels show the last state it sent."},Jn="Disabled while an earlier state is shown, because it would change the present search.",ze=class{element;bar;panels;layout;find;help;selection="";root="";wire;status=new _e;banner=new ne(this);result=new Ae(this);lock=new Ce(e=>this.announce(e));lastLine=a("button",{type:"button",class:"pe-python",title:"copy this line",hidden:!0});selecting=null;press;constructor(e){this.bar=new Pe(this),this.panels=_t(this),this.layout=new $e(this.panels,n=>this.look(n)),this.find=new se(this.panels);let t=Ht(this);this.help=new re(t,()=>this.element.focus({preventScroll:!0})),this.element=a("div",{class:"prism-explore prism-scene",tabindex:0,"data-lm-suppress-shortcuts":"true",role:"application","aria-label":"Prism explorer; press ? for the keys"},a("style",{},`${yt}
${dt}`),this.bar.element,this.banner.element,this.layout.main,this.foot(),this.layout.lowerEdge,this.help.element),this.bar.element.append(this.result.element),this.lock.follow(this.element),this.element.addEventListener("keydown",n=>zt(n,t,this)),this.layout.follow(this.element),this.press=new Re(this.element,n=>this.receive(n)),this.wire=new He(e,{sections:n=>this.press.take(n),reply:n=>this.onReply(n),connection:n=>this.onConnection(n)})}open(){this.layout.measure(),this.wire.open()}close(){this.wire.close(),this.press.close(),this.layout.close(),this.lock.close(),this.status.close();for(let e of this.panels.values())e.close()}command(e,t={}){this.isPossible(e)&&this.wire.command(e,t)}look(e){this.wire.look(e)}select(e){e===this.selection||!this.isPossible("select")||(this.applySelection(e),this.selecting=this.wire.command("select",{id:e}))}enter(e){this.select(e);let t=this.panels.get(this.layout.current());ie(e)?this.zoomMap(e):t?.enter?t.enter():oe(e)!==null&&this.layout.show("graph")}hover(e){for(let t of this.panels.values())t.hover(e)}copy(e,t){Dt(e).then(n=>this.announce(n?`copied ${t}`:`could not copy ${t}; select and copy it by hand`))}show(e){this.layout.show(e)}maximise(e){this.layout.maximise(e)}showSizes(e,t,n){this.panels.get("graph")?.showSizes(e,t,n)}announce(e){this.status.announce(e)}walk(e){let t=this.panels.get(this.layout.current());if(t?.stage)return t.stage.walk(e),!0;let n=t?.element.querySelectorAll("tr[data-ref]")??[],s=[...n].find(i=>i.getAttribute("aria-selected")==="true")??n[0];return s?.focus(),s!==void 0}zoomMap(e){this.root=this.root===e?"":e,this.look({root:this.root})}readInspector(){this.layout.show("inspector"),this.panels.get("inspector")?.focus?.()}toggleTable(){let e=this.panels.get(this.layout.current());(e?.toggleTable?e:this.panels.get("map"))?.toggleTable?.()}leave(){if(this.help.open)this.help.toggle();else{if(this.layout.restore()||this.find.clear())return;this.selection?this.select(""):document.activeElement?.blur()}}receive(e){let t=(n,s)=>{if(e.has(n))try{s(e.get(n))}catch(i){console.error(`prism_explore: the panel ${n} could not be drawn`,i),this.announce(`The panel ${n} could not be drawn: ${String(i)}`)}};t("commands",n=>{this.bar.describe(n),this.lock.describe(n)}),t("result",n=>this.result.update(n)),t("transport",n=>{this.bar.update(n),u(this.element,"data-state",n.state),u(this.element,"data-past",n.cursor>0),this.banner.set({past:n.past_notice,savedAs:n.saved_as}),this.lock.set({past:n.past_notice&&Jn}),this.announce(n.status)});for(let[n,s]of this.panels)t(n,i=>s.update(i));t("script",n=>this.panels.get("ledger")?.showScript(n)),t("error",n=>this.banner.set({error:n??""})),t("view",n=>{this.selecting===null&&this.applySelection(n.selection)}),this.find.refresh(),this.lock.apply()}onReply(e){e.event_id===this.selecting&&(this.selecting=null),e.ok?e.python&&(this.lastLine.textContent=e.python,this.lastLine.hidden=!1):this.announce(e.message??"the command failed")}onConnection(e){u(this.element,"data-connected",e==="open"?"yes":"no");let t=Un[e];this.banner.set({gone:t}),this.lock.set({gone:t})}isPossible(e){let t=this.lock.reason(e);return t&&this.announce(t),t===""}applySelection(e){this.selection=e;let t=e?[e,...gt(e)]:[];for(let n of this.panels.values())n.select(e?[e]:[]);t.length>1&&this.panels.get("families")?.select(t)}foot(){this.lastLine.addEventListener("click",()=>this.copy(this.lastLine.textContent??"","the line"));let e=a("button",{type:"button",class:"pe-tool",title:"help (?)","aria-label":"help"},E("help"));return e.addEventListener("click",()=>this.help.toggle()),a("footer",{class:"pe-foot"},this.status.element,this.lastLine,this.find.count,this.find.input,e)}};var Oe=class{constructor(e,t){this.data=e;this.pool=t;this.count=e.kind.length,this.at=Int32Array.from(Kt(e.at))}data;pool;count;at;columns=new Map;kindOf(e){return this.data.kinds[this.data.kind.charCodeAt(e)-65]??""}field(e,t){return this.column(`${e}.${t}`,this.data.fields[e]?.[t])}log(e){return this.column(`log.${e}`,this.data.log[e])}column(e,t){let n=this.columns.get(e);return n||(n=Xn(t??{numbers:[]},this.pool),this.columns.set(e,n)),n}};function Xn(r,e){if("ids"in r){let t=Kt(r.ids),n=s=>s===void 0||s<0?"":`${r.prefix}${s}`;return{at:s=>n(t[s]),length:t.length}}return"numbers"in r?{at:t=>r.numbers[t],length:r.numbers.length}:{at:t=>e.get(r.members[t]??null),length:r.members.length}}function Kt(r){let e=0;return r.map(t=>(e+=t,e))}var je=class{nodes=new Map;roots=[];finished=!1;addNode(e,t,n){if(this.nodes.has(e))return;this.nodes.set(e,{id:e,parent:t,position:n,children:[],pruned:[],families:[]});let s=this.nodes.get(t);s?s.children.push(e):this.roots.push(e)}addRegion(e,t){this.at(e).pruned.push(t)}addFamily(e,t){this.at(e).families.push(t)}at(e){let t=this.nodes.get(e);if(t)return t;let n={id:e,parent:"",position:-1,children:[],pruned:[],families:[]};return this.nodes.set(e,n),this.roots.push(e),n}node(e){let t=this.nodes.get(e);if(!t)throw new Error(`the search tree has no node ${e}`);return t}leafCounts(){let e=new Map;for(let t of[...this.nodes.values()].reverse()){let n=t.pruned.length;for(let s of t.children)n+=e.get(s)??1;e.set(t.id,Math.max(1,n))}return e}path(e){let t=[];for(let n=this.nodes.get(e);n&&!t.includes(n.id);n=this.nodes.get(n.parent))t.push(n.id);return t.reverse()}};var Yn={region:"regions",maps:"maps",family:"families",candidate:"candidates"},Ie=class{constructor(e,t,n){this.columns=e;this.phases=t;let s=new Map;for(let i=0;i<n;i++){let o=e.kindOf(i),l=s.get(o)??0;s.set(o,l+1),this.add(o,l)}this.count=n}columns;phases;tree=new je;count=0;regions=0;expanded=0;phase=null;childCount=new Map;prunedCount=new Map;familyAt=new Map;candidates=new Map;regionNumbers=new Map;nodeOf=new Map;verdicts=new Map;rejectedMaps=new Map;trials=new Map;floats=new Map;dominated=new Set;pruned=new Map;standing=[];undone=[];add(e,t){this.phase=this.phases[e]??this.phase;let n=s=>this.columns.field(e,s).at(t);switch(e){case"NodeExpanded":{let s=n("parent");this.expanded+=1,this.tree.addNode(n("node"),s,t),this.childCount.set(s,(this.childCount.get(s)??0)+1);break}case"RegionPruned":{let[s,i]=[n("region"),n("parent")];this.tree.addRegion(i,t),this.regions+=1,this.regionNumbers.set(s,t),this.prunedCount.set(i,(this.prunedCount.get(i)??0)+1),this.prune(e,t,"region",this.columns.field(e,"stood_for").at(t),s);break}case"FamilyCompleted":{let[s,i]=[n("family"),n("node")];this.nodeOf.set(s,i),this.familyAt.set(i,s),this.tree.addFamily(i,s);break}case"CandidateInstantiated":this.candidates.set(n("candidate"),n("family"));break;case"CandidateRejected":{let s=n("family");this.rejectedMaps.set(s,(this.rejectedMaps.get(s)??0)+1),this.prune(e,t,"maps",1,s);break}case"CandidateBounded":this.prune(e,t,"candidate",1,n("candidate"));break;case"VerdictReached":this.verdicts.set(n("candidate"),n("verdict"));break;case"FloatsAssessed":this.floats.set(n("family"),{outcome:n("outcome"),allowed:this.columns.field(e,"allowed").at(t)});break;case"FamilyDominated":{let s=n("family");this.columns.field(e,"left_out").at(t)&&!this.dominated.has(s)&&this.prune(e,t,"family",1,s),this.dominated.add(s);break}case"ParametersProposed":case"TrialFailed":this.trial(n("trial"),n("candidate"));break;case"TrialMeasured":this.trial(n("trial"),n("candidate")).time_s=this.columns.field(e,"time_s").at(t);break;case"Steered":this.steer(n("action"),n("subject"));break;case"ExplorationFinished":this.tree.finished=!0;break}}familyOf(e){return this.candidates.get(e)||(e.split(".")[0]??"")}trial(e,t){let n=this.trials.get(e);if(n)return n;let s={candidate:t,family:this.familyOf(t),time_s:null};return this.trials.set(e,s),s}prune(e,t,n,s,i){let o=this.columns.field(e,"reason").at(t),l=`${o.code}\0${o.rule}\0${o.soundness}\0${n}`,p=this.pruned.get(l);p||(p={...o,what:n,things:Yn[n],count:0,stood_for:0,example:i},this.pruned.set(l,p)),p.count+=1,p.stood_for+=s}steer(e,t){e==="undo"?this.undone.push(...this.standing.splice(-1)):e==="redo"?this.standing.push(...this.undone.splice(-1)):(this.standing.push({action:e,subject:t}),this.undone=[])}get choices(){let e=new Map;for(let{action:t,subject:n}of this.standing)t==="accept"?e.set(n,"accepted"):t==="reject"&&e.set(n,"rejected");return e}get pruneCounts(){return[...this.pruned].sort(([e,t],[n,s])=>s.count-t.count||(e<n?-1:1)).map(([,e])=>e)}get funnel(){let e=[...this.verdicts.values()],t=n=>e.filter(s=>s===n).length;return{expanded:this.expanded,pruned:this.regions,families:this.nodeOf.size,proved:t("proved"),unknown:t("unknown"),refuted:t("refuted")}}candidateOf(e){return this.trials.get(e)?.candidate??""}hasGraph(e){return this.nodeOf.has(e)||this.candidates.has(e)}get families(){let e=this.choices,t=new Map;for(let[i,o]of this.verdicts)Qn(t,this.familyOf(i),o);let n=new Map;for(let i of this.candidates.values())n.set(i,(n.get(i)??0)+1);let s=this.bestFamily(e);return[...this.nodeOf].map(([i,o])=>({family:i,node:o,status:Zn(t.get(i)??[],n.get(i)??0,this.rejectedMaps.get(i)??0),choice:e.get(i)??"",is_best:i===s}))}bestFamily(e){let t=null;for(let n of this.trials.values()){let s=this.floats.get(n.family),i=e.get(n.family),o=s?.outcome==="unsafe"&&!s.allowed&&i!=="accepted";n.time_s===null||i==="rejected"||o||(t===null||n.time_s<(t.time_s??0))&&(t=n)}return t?.family??null}};function Zn(r,e,t){let n=r.filter(s=>s==="refuted").length;return r.includes("proved")?"proved":r.includes("unknown")?"unknown":e&&n>=e?"refuted":t&&!e?"impossible":"open"}function Qn(r,e,t){let n=r.get(e);n?n.push(t):r.set(e,[t])}function y(r){if(!Number.isFinite(r))return String(r).replace("Infinity","inf");let e=Math.floor(r),t=r-e,n=t>.5||t===.5&&e%2!==0?e+1:e;return BigInt(n).toString().replace(/\B(?=(\d{3})+$)/g,",")}function Bt(r){return r<.005?"<1%":`${es(r*100)}%`}function es(r){let e=Math.floor(r),t=r-e;return t>.5||t===.5&&e%2!==0?e+1:e}function Xe(r){let e=r*8;if(Number.isInteger(e)&&!Number.isInteger(r*4)){let t=Math.floor(r*100);return(t%2===0?t:t+1)/100}return Number(r.toFixed(2))}var ts=/\p{Mn}|\p{Me}/u,ns=/[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{1f680}-\u{1f6fc}\u{1f900}-\u{1f9ff}\u{20000}-\u{3fffd}]/u,ss=/^[\0-\x7f]*$/;function Ye(r){if(ss.test(r))return r.length;let e=0;for(let t of r)e+=Gt(t);return e}function Gt(r){return ts.test(r)?0:ns.test(r)?2:1}function Ze(r,e){let t=r.split(/\s+/).filter(Boolean).join(" ");if(Ye(t)<=e)return t;let n="",s=0;for(let i of t){if(s+=Gt(i),s>e-1)break;n+=i}return`${n.trimEnd()}…`}function X(r,e,t){return(r.column_px[t]??0)*Ye(e)}function tt(r,e,t){return(r.letters[e]??([...e][0]??"").toUpperCase())+(t==="heuristic"?"h":"")}function qt(r,e,t,n,s){let i=new et(r,e,t,n);return i.draw(r.tree.nodes.has(s)?s:""),nt(i.scene())}var et=class{constructor(e,t,n,s){this.state=e;this.columns=t;this.drawing=n;this.width=s;this.leaves=e.tree.leafCounts(),this.choices=e.choices}state;columns;drawing;width;leaves;leaders=[];items=[];anchors=new Map;mergedAt=new Map;choices;depth=0;merged=0;total=0;draw(e){let{tree:t}=this.state,s=(e?t.path(e):[]).slice(0,-1);for(let[o,l]of s.entries())this.node(t.node(l),0,this.width,o);let i=e?[e]:t.roots;this.total=i.reduce((o,l)=>o+this.leavesOf(l),0),this.row(i,[],0,this.width,s.length)}leavesOf(e){return this.leaves.get(e)??1}reason(e){return this.columns.field("RegionPruned","reason").at(e)}row(e,t,n,s,i){let o=e.reduce((f,c)=>f+this.leavesOf(c),0)+t.length;if(o===0)return;if(i>=this.drawing.max_levels){this.merged+=o;return}this.depth=Math.max(this.depth,i+1);let l=s/o,p=this.drawing.min_block_px,d=[];for(let f of e){let c=this.leavesOf(f)*l;if(c<p){d.push(f);continue}let g=this.state.tree.node(f);this.node(g,n,c,i),this.row(g.children,g.pruned,n,c,i+1),n+=c}let h=[];for(let f of this.groups(t,l)){if(f.length*l<p){h.push(...f);continue}this.prunedBlock(f,n,f.length*l,i),n+=f.length*l}let m=0;for(let f of Object.keys(this.drawing.pruned_kinds)){let c=h.filter(g=>this.reason(g).soundness===f);if(c.length*l<p){m+=c.length;continue}this.prunedBlock(c,n,c.length*l,i),n+=c.length*l}(d.length>0||m>0)&&this.mergedBlock(d,m,n,l,i)}groups(e,t){if(t>=this.drawing.letter_px)return e.map(i=>[i]);let n=new Map;for(let i of e){let{code:o,soundness:l}=this.reason(i),p=`${o}\0${l}`,d=n.get(p);d?d.push(i):n.set(p,[i])}let s=i=>this.reason(i[0]??0).code;return[...n.values()].sort((i,o)=>o.length-i.length||Qe(s(i),s(o)))}node(e,t,n,s){let{state:i,drawing:o}=this,l=w=>e.position<0?"":this.columns.field("NodeExpanded",w).at(e.position),[p,d]=[l("operator"),l("expression")],h=e.position<0?"kernel":l("level"),f=e.children.length+e.pruned.length+e.families.length>0||i.tree.finished?"expanded":"frontier";this.choices.get(e.id)==="rejected"&&(f="pruned-user");let c=p||"start",g=[`${e.id}  ${c}`,c,p.split("(")[0]??"",e.id],x=this.leavesOf(e.id),k=[`${e.id}: ${c}, ${h} level`,d&&`computes ${d}`,`${y(x)} ${x===1?"leaf":"leaves"} below, ${y(e.pruned.length)} pruned here`,f==="frontier"?"not expanded yet":"",e.families.length>0?`completes ${e.families.join(", ")}`:""];this.items.push({...B(e.id,f,t,s*o.row_px,n,o.row_px),texts:this.fitting(g,t,n,s,"mono"),ref:e.id,tip:k.filter(Boolean).join(`
`),parent:e.parent,count:x});for(let w of e.families)this.anchors.set(w,[t+n/2,(s+1)*o.row_px])}mergedBlock(e,t,n,s,i){let{tree:o}=this.state,{row_px:l,min_block_px:p}=this.drawing,d=e.reduce((k,w)=>k+this.leavesOf(w),0)+t,h=d*s;this.merged+=d;for(let k of e)this.mergedAt.set(k,[n+h/2,(i+1)*l]);let[m,f]=[e[0],e.at(-1)];if(h<p||m===void 0)return;let c=o.node(m).parent,g=`${y(e.length)} nodes with ${y(d)} leaves below them, each narrower than ${p} px: from ${m} to ${f}
zoom into ${c||"the root"} to see them`,x=[`${y(e.length)} nodes`,y(e.length)];this.items.push({...B(`${m}+`,"aggregate",n,i*l,h,l),texts:this.fitting(x,n,h,i,"mono"),ref:c,tip:g,count:d})}prunedBlock(e,t,n,s){let{drawing:i}=this,o=e[0];if(o===void 0)return;let l=(R,S=o)=>this.columns.field("RegionPruned",R).at(S),{soundness:p,code:d,sentence:h}=this.reason(o),m=new Map;for(let R of e){let S=this.reason(R).code;m.set(S,(m.get(S)??0)+1)}let f=[...m].sort((R,S)=>S[1]-R[1]),c=f.map(([R])=>tt(i,R,p)).join(""),g=m.size===1?d:`${m.size} reasons`,x=e.length>1?` ×${y(e.length)}`:"",k=[`${c}  ${g}${x}`,`${c}${x}`,c],w=e.reduce((R,S)=>R+l("stood_for",S),0),[L,O]=[l("region"),l("parent")],j=L+(e.length>1?` and ${y(e.length-1)} more under ${O}`:""),I=f.map(([R,S])=>`${y(S)} × ${R} [${p}]`).join(`
`),Y=`${j}: ${l("operator")}
${h}
${I}
for ${y(w)} ${w===1?"program":"programs"} (${l("counted")})`;this.items.push({...B(L,i.pruned_kinds[p],t,s*i.row_px,n,i.row_px),texts:this.fitting(k,t,n,s,"letter"),ref:L,tip:Y,parent:O,count:e.length})}familyRows(e){let{drawing:t,width:n}=this;for(let{family:c,node:g}of this.state.families){if(this.anchors.has(c))continue;let x=this.state.tree.path(g).findLast(w=>this.mergedAt.has(w)),k=x===void 0?void 0:this.mergedAt.get(x);k&&this.anchors.set(c,k)}let s=this.state.families.filter(c=>this.anchors.has(c.family));if(s.length===0)return 0;let i=t.mark_px,o=Math.max(i,...s.map(c=>X(t,c.family,"small")))+6,l=Math.max(1,Math.floor(n/o)),p=c=>this.anchors.get(c.family)??[0,0],d=c=>(c.is_best?0:4)+(c.status==="proved"?0:2)+(c.status==="refuted"?1:0);s.sort((c,g)=>d(c)-d(g));let h=s.slice(0,l*t.max_mark_rows);h.sort((c,g)=>p(c)[0]-p(g)[0]||Qe(c.node,g.node)||Qe(c.family,g.family));let m=Math.ceil(h.length/l);for(let c=0;c<m;c++){let g=h.filter((w,L)=>L%m===c),x=e+22+c*(i+26),k=is(g.map(w=>p(w)[0]),o,n);for(let[w,L]of g.entries())this.family(L,k[w]??0,x,p(L))}let f=22+m*(i+26);if(h.length<s.length){let c=`${y(s.length-h.length)} more families are not shown`;this.items.push({...G("families+",0,e+f,n,16),texts:[{x:0,y:e+f+12,text:c,kind:"muted",anchor:"start"}]}),f+=18}return f}family(e,t,n,[s,i]){let{drawing:o}=this,l=o.mark_px,{family:p,choice:d}=e,h=(n-i)/2;this.leaders.push({type:"edge",id:`${p}#leader`,kind:"leader",points:[[s,i],[s,i+h],[t,n-h],[t,n]],curve:"bezier",source:e.node,target:p,ref:p});let m=t-l/2,f=(w,L,O,j,I,Y)=>{let R={...B(`${p}#${w}`,`badge-${w}`,O,j,I,I),outline:L,tip:Y};this.items.push({...R,role:"mark",ref:p})};d==="accepted"&&f("accepted","circle",m-4,n-4,l+8,"accepted by you");let c=rs(e),x=`${p}: ${{open:"no verdict yet",impossible:"no maps satisfy the constraints"}[e.status]??e.status}`+(e.is_best?", the best so far":"")+(d?`, ${d} by you`:""),k=c==="unknown"?[{x:t,y:n+l/2+4,text:"?",kind:"letter"}]:[];this.items.push({...G(`${p}#name`,m,n+l,l,18),texts:[{x:t,y:n+l+14,text:p,kind:"small"}],ref:p}),this.items.push({...B(p,c,m,n,l,l),role:"mark",outline:o.family_outlines[c]??"rect",texts:k,ref:p,tip:x}),c==="refuted"&&f("cross","cross",m+3,n+3,l-6,""),e.is_best&&f("best","star",m+7,n-10,15,"the best so far")}legend(e){let{drawing:t}=this,n=new Set(this.items.flatMap(o=>o.type==="shape"?[o.kind]:[])),s=0,i=e+4;for(let[o,l,p]of t.legend){if(!n.has(o))continue;let d=X(t,p,"small");s+24+d>this.width&&(s=0,i+=20),this.items.push({...B(`legend#${o}`,o,s+2,i+2,14,13),role:"text",outline:l}),this.items.push({...G(`legend#${o}-label`,s,i,24,18),texts:[{x:s+22,y:i+13,text:p,kind:"small",anchor:"start"}]}),s+=22+d+14}return s?i+22-e:0}scene(){let{drawing:e,width:t}=this,n=e.row_px,s=Math.max(this.depth,1)*n;if(this.state.tree.nodes.size===0){let d={x:t/2,y:n*.7,text:"nothing has been searched yet",kind:"muted"};this.items.push({...G("nothing",0,0,t,n),texts:[d]})}s+=this.familyRows(s),s+=this.legend(s);let i="";if(this.merged>0){i=`${y(this.merged)} of ${y(this.total)} leaves are too narrow to be drawn one by one: they share a block or are left out.`;let d={x:0,y:s+14,text:i,kind:"muted",anchor:"start"};this.items.push({...G("omitted",0,s,t,20),texts:[d]}),s+=20}let o=this.state.funnel,l=`${y(o.expanded)} nodes expanded, ${y(o.pruned)} subtrees pruned, ${y(o.families)} families: ${y(o.proved)} candidates proved, ${y(o.unknown)} unknown, ${y(o.refuted)} refuted. ${i}`,p=[...this.leaders,...this.items];return{name:"search",title:"search map",desc:l.trim(),width:t,height:s+4,items:p,omitted:i}}fitting(e,t,n,s,i){let o=e.find(l=>l&&X(this.drawing,l,i)+6<=n);return o===void 0?[]:[{x:t+n/2,y:(s+.68)*this.drawing.row_px,text:o,kind:i}]}};function rs(r){return r.choice==="rejected"?"pruned-user":r.status==="impossible"?"pruned-sound":r.status==="open"?"family":r.status}function is(r,e,t){let n=[];for(let i of r){let o=n.at(-1);n.push(Math.max(i,o===void 0?e/2:o+e))}let s=t-e/2;for(let i=n.length-1;i>=0;i--)n[i]=Math.min(n[i]??0,s),s=(n[i]??0)-e;return n}function B(r,e,t,n,s,i){return{type:"shape",id:r,role:"block",kind:e,x:t,y:n,w:s,h:i}}function G(r,e,t,n,s){return{type:"shape",id:r,role:"text",kind:"plain",x:e,y:t,w:n,h:s,outline:"none"}}function Qe(r,e){return r<e?-1:r>e?1:0}function nt(r){return{...r,items:r.items.map(e=>Vt(e))}}var Ft={outline:"rect",ref:"",tip:"",parent:"",count:1};function Vt(r){let e={};for(let[t,n]of Object.entries(r))if(!(t in Ft&&n===Ft[t]))if(t==="points")e[t]=n.map(s=>s.map(Xe));else if(t==="texts")n.length>0&&(e[t]=n.map(Vt));else{if(t==="kind"&&n==="label"||t==="anchor"&&n==="middle")continue;e[t]=typeof n=="number"?Xe(n):n}return e}var De=class{constructor(e,t,n){this.columns=e;this.pool=t;this.templates=n;this.nodes=t.get(n.nodes),this.positions=new Int32Array(e.count),this.lines=new Int32Array(e.count);let s=new Map,i=0;for(let o=0;o<e.count;o++){let l=e.kindOf(o),p=s.get(l)??0;s.set(l,p+1),this.positions[o]=p,this.lines[o]=i,l!=="NodeExpanded"&&l!=="RegionPruned"&&(i+=1)}}columns;pool;templates;nodes;positions;lines;inspector(e,t){let n=t.tree.nodes.get(e);if(n&&n.position>=0)return this.nodeInspector(e,n.position,t);let s=t.regionNumbers.get(e);return s===void 0?null:this.regionInspector(s,t)}text(e,t,n){return this.columns.field(e,t).at(n)}nodeInspector(e,t,n){let s=c=>this.text("NodeExpanded",c,t),[i,o,l]=[s("parent"),s("expression"),n.familyAt.get(e)??""],p=`${i&&"p"}${l&&"f"}${o&&"e"}`,d=this.nodes.inspectors[p];if(!d)throw new Error(`the report is damaged: it has no texts of nodes with ${p}`);let h=this.fill(d,{ref:e,parent:i,expression:o,family:l,level:s("level"),operator:s("operator"),children:n.childCount.get(e)??0,pruned:n.prunedCount.get(e)??0}),m=(d.code??"").split(`
`).slice(i?2:1),f=[...this.history(e,n),...m.map(c=>this.fill(c,{expression:o}))];return{...h,code:f.join(`
`)}}regionInspector(e,t){let n=this.text("RegionPruned","parent",e),s=this.regionTemplate(e).inspector,i=this.history(n,t).join(`
`);return this.fill(s,{ref:this.text("RegionPruned","region",e),parent:n,operator:this.text("RegionPruned","operator",e),level:this.text("RegionPruned","level",e),stood_for:this.columns.field("RegionPruned","stood_for").at(e),history:i})}regionTemplate(e){let{of:t,templates:n}=this.templates.regions;return this.pool.get(n[t[e]??-1]??null)}history(e,t){let n=[];for(let s=t.tree.nodes.get(e);s&&s.position>=0;)n.push(`${s.parent?"+":" "} ${this.text("NodeExpanded","operator",s.position)}`),s=t.tree.nodes.get(s.parent);return n.reverse()}fill(e,t){let n=JSON.stringify(e);for(let[s,i]of Object.entries(t))if(typeof i=="number"){let o=this.templates.numbers[s]??Number.NaN;n=n.replaceAll(y(o),y(i)).replaceAll(String(o),y(i))}else{let o=JSON.stringify(i).slice(1,-1);n=n.replaceAll(this.templates.placeholders[s]??"\0",()=>o)}return JSON.parse(n)}logLine(e){let t=this.columns.kindOf(e),n=this.positions[e]??0,s=()=>this.text(t,"operator",n);if(t==="NodeExpanded")return this.fill(this.nodes.log,{ref:this.text(t,"node",n),operator:s()});if(t==="RegionPruned"){let o=this.text(t,"region",n);return this.fill(this.regionTemplate(n).log,{ref:o,operator:s()})}let i=this.lines[e]??0;return[this.columns.log("text").at(i),this.columns.log("ref").at(i),this.columns.log("kind").at(i)]}log(e,t,n){let s=[],i=Math.max(0,t-n);for(let l=t-1;l>=i;l--){let[p,d,h]=this.logLine(l),m=`${((this.columns.at[l]??0)/100).toFixed(2)} s`;s.push({ref:d,cells:[{text:String(l),sort:l},m,h?{text:p,kind:h}:{text:p}]})}let o=i?`${y(i)} earlier events are not listed; sess.journal has all ${y(t)}.`:"";return{...e,rows:s,omitted:o}}};var Ke=class{constructor(e){this.data=e;this.built=new Array(e.values.length)}data;built;get(e){if(typeof e=="string")return Number(e);if(typeof e!="number")return e;let t=this.built[e];return t===void 0&&(t=this.build(e),this.built[e]=t),t}build(e){let t=this.data.values[e];if(t===void 0)throw new Error(`the report is damaged: it has no value ${e}`);if(typeof t=="string")return t;let[n,...s]=t;if(n===0)return s.map(o=>this.get(o));let i=this.data.layouts[n-1]??[];return Object.fromEntries(i.map((o,l)=>[o,this.get(s[l]??null)]))}};function Wt(r,e,t){let n=r.pruneCounts,s=n.reduce((c,g)=>c+g.count,0),i=t<e.narrow_px,o=[],l=n.map(c=>[as(c,i),os(c,s,i)]),p=Math.max(0,...l.map(([c])=>X(e,c,"mono")))+34,d=Math.max(0,...l.map(([,c])=>X(e,c,"small")))+10,h=Math.max(1,...n.map(c=>c.count));if(n.forEach((c,g)=>{let x=g*e.row_px,k=Math.max(e.min_block_px,(t-p-d)*c.count/h),w=`${c.code}/${c.rule}/${c.soundness}/${c.what}`,[L,O]=l[g]??["",""],j=`${c.rule} [${c.soundness}]: ${c.sentence}
${y(c.count)} ${c.things}, for example ${c.example}; they represent ${y(c.stood_for)} programs`;o.push({...G(`${w}#label`,0,x,t,e.row_px),texts:[{x:12,y:x+17,text:tt(e,c.code,c.soundness),kind:"letter"},{x:26,y:x+17,text:L,kind:"mono",anchor:"start"},{x:p+k+8,y:x+17,text:O,kind:"small",anchor:"start"}],ref:c.example,tip:j});let I=e.pruned_kinds[c.soundness];o.push({...B(w,I,p,x+3,k,e.row_px-6),ref:c.example,tip:j,count:c.count})}),o.length===0){let c={x:t/2,y:17,text:"nothing has been pruned yet",kind:"muted"};o.push({...G("nothing",0,0,t,e.row_px),texts:[c]})}let m=n.map(c=>`${c.code} by ${c.rule} [${c.soundness}]: ${y(c.count)} ${c.things}`).join("; ")||"nothing was pruned",f=Math.max(1,n.length)*e.row_px;return nt({name:"reasons",title:"pruning by reason",desc:m,width:t,height:f,items:o,omitted:""})}function os(r,e,t){return`${y(r.count)} · ${Bt(r.count/e)}${t?"":` · ${r.soundness}`}`}function as(r,e){let t=e||r.rule===r.code?"":` · ${Ze(r.rule,20)}`;return`${Ze(r.code,24)}${t}${r.what==="region"?"":` (${r.things})`}`}function Ut(r,e,t){let n=e.pruneCounts,s=o=>o==="unknown"?e.funnel.unknown:n.reduce((l,p)=>l+(p.soundness===o?p.count:0),0),i=r.soundness.rows.map(o=>{let[l,,p]=o.cells,d=s(l.text);return{...o,cells:[l,{text:y(d),sort:d},p]}});return{soundness:{...r.soundness,rows:i},reasons:{...r.reasons,rows:n.map(o=>ls(o,t.pruned_kinds))}}}function ls(r,e){let t=r.what==="region"?"":r.things;return{ref:r.example,cells:[{text:r.code,kind:e[r.soundness],tip:r.sentence},r.rule,r.soundness,{text:`${y(r.count)} ${t}`.trim(),sort:r.count},{text:y(r.stood_for),sort:r.stood_for}]}}var ps=["graph","sizes","eclasses","code"],Be=class{constructor(e){this.report=e;this.pool=new Ke(e.pool),this.columns=new Oe(e.columns,this.pool),this.texts=new De(this.columns,this.pool,e)}report;pool;columns;texts;state=null;get count(){return this.columns.count}at(e){let t=e>0?Math.min(e,this.count):this.count;return this.state?.count!==t&&(this.state=new Ie(this.columns,this.report.phases,t)),this.state}sections(e){let t=this.at(e.cursor),{drawing:n}=this.report,s={};for(let h of Object.keys(this.report.timeline))!h.includes("/")&&h!=="collapsed"&&(s[h]=this.version(h,t.count));let{expanded:i,regions:o}=t,l=t.tree.nodes.has(e.root)?`, zoomed into ${e.root}`:"",p=`${y(o)} ${o===1?"subtree":"subtrees"} pruned`,d=s.ledger;return{...s,transport:this.transport(s.transport,t),view:{selection:e.selection},map:{summary:`${y(i)} expanded, ${p}${l}`,scene:qt(t,this.columns,n,e.map_px,e.root),reasons:Wt(t,n,e.map_px)},ledger:{...d,...Ut(d,t,n),log:this.texts.log(d.log,t.count,n.log_entries)},tuning:this.version(`tuning/${e.tuning}`,t.count)??s.tuning,inspector:this.inspector(e.selection,t),...this.subjectPanels(e,t,s)}}version(e,t){let n=this.report.timeline[e]?.findLast(([s])=>s<=t);return n&&this.pool.get(n[1])}momentOf(e){return this.report.moments.findLast(t=>t<=e)??0}transport(e,t){let{count:n,funnel:s}=t;if(!(n<this.count))return{...e,enabled:[]};let o=this.momentOf(n),[l]=this.texts.logLine(n-1),[p]=this.texts.logLine(o-1),d=e.past_notice.replace(y(o),y(n)).replace(p,()=>l),h=o<n?` The other panels show event ${y(o)}.`:"",m=s;return{...e,cursor:n,past_notice:d+h,phases:e.phases.map(f=>({...f,current:f.name===t.phase})),counters:e.counters.map(f=>{let c=m[f.label];return c===void 0?f:{...f,value:y(c)}}),enabled:[],status:l}}inspector(e,t){let n=this.version(`inspector/${e}`,t.count)??this.texts.inspector(e,t);if(n||e==="")return n;let s=this.report.timeline[`inspector/${e}`]?.[0]?.[0];if(s!==void 0||this.texts.inspector(e,this.at(0))){let o=s!==void 0?` The report has it from event ${y(s)} on.`:"";return{ref:e,title:e,description:[`It is not there at event ${y(t.count)}.${o}`]}}return{ref:e,title:e,description:["This report does not contain it. Open the saved search in a notebook."]}}subjectOf(e,t){let n=this.at(t);if(n.hasGraph(e))return e;let[s=""]=e.split("/");return n.hasGraph(s)?s:n.candidateOf(e)||(n.familyAt.get(e)??"")}subjectPanels(e,t,n){let{subject:s,selection:i}=e,o=(h,m)=>this.version(`${h}/${m}`,t.count),l={},p=t.hasGraph(s)?s:"";for(let h of ps)l[h]=p?o(h,p)??ds(h,p):n[h];e.collapsed&&(l.graph=(p?o("collapsed",p):this.version("collapsed",t.count))??l.graph),l.code=o("code",i)??l.code;let d=o("frame",i);return d&&(l.eclasses={...d,lemmas:l.eclasses.lemmas}),l}};function ds(r,e){let t=`${e}: not in this report; open the saved search in a notebook`,n={columns:[],rows:[],empty_text:"",omitted:""};switch(r){case"graph":return{subject:e,caption:t,alternatives:[],kernels:[],entered:"",trail:[],scene:null};case"sizes":return{subject:"",caption:t,origin:"",forms:[],sliders:[],limits:[],figures:[],shapes:[],kernels:[],roofline:null,python:""};case"eclasses":return{subject:e,caption:t,scene:null,lemmas:n};case"code":return{title:e,caption:t,source:""}}}var st=class{constructor(e,t=()=>{}){this.refused=t;this.folded=new Be(e),this.look={selection:"",subject:"",cursor:0,root:"",map_px:460,collapsed:!1,tuning:"curve"}}refused;seq=0;listener=null;sent=new Map;folded;look;commands={};inspector=null;get(){}on(e,t){e==="msg:custom"&&(this.listener=t)}off(e){e==="msg:custom"&&(this.listener=null)}send(e){let{look:t}=this;if(e.kind==="hello")this.sent.clear();else if(e.kind==="look"){typeof e.cursor=="number"&&(t.cursor=e.cursor<this.folded.count?e.cursor:0),typeof e.root=="string"&&(t.root=e.root),typeof e.map_px=="number"&&(t.map_px=Math.max(240,Math.min(2400,e.map_px)));let n=e.graph;typeof n?.expanded=="boolean"&&(t.collapsed=!n.expanded);let s=e.tuning;typeof s?.mode=="string"&&(t.tuning=s.mode)}else if(e.name==="select"){t.selection=String(e.args?.id??"");let n=this.folded.subjectOf(t.selection,t.cursor)||t.subject;t.subject=t.selection?n:""}else{this.refuse(e);return}this.emit(e.event_id===void 0?[]:[{event_id:e.event_id,ok:!0}])}refuse(e){let{event_id:t,name:n="",args:s}=e;if(t===void 0)return;let i=d=>JSON.stringify(d)===JSON.stringify(s??{}),l=this.inspector?.actions?.find(d=>d.command===n&&i(d.args))?.python??this.commands[n]?.python??`sess.${n}(…)`;this.refused(l);let p=`A report cannot run ${l}. Open the saved search in a notebook.`;this.emit([{event_id:t,ok:!1,message:p}])}emit(e){let t=[],n=this.folded.sections(this.look);this.commands=n.commands??{},this.inspector=n.inspector;for(let[o,l]of Object.entries(n)){let p=JSON.stringify(l??null);this.sent.get(o)!==p&&(this.sent.set(o,p),t.push([o,0,1,p]))}let s=this.seq;this.seq+=1;let i={kind:"sections",seq:this.seq,after:s,chunks:t,replies:e};setTimeout(()=>this.listener?.(i),0)}};async function cs(r){let e=Uint8Array.from(atob(r.trim()),n=>n.charCodeAt(0)),t=new Blob([e]).stream().pipeThrough(new DecompressionStream("deflate"));return await new Response(t).json()}var hs="This report needs a browser of 2023 or later: Chrome 80, Edge 80, Safari 16.4, Firefox 113. This one has no DecompressionStream.";async function ms(r,e){if(typeof DecompressionStream>"u"){b(e,a("p",{role:"alert"},hs));return}try{let t=a("p",{class:"prism-refused",role:"status",hidden:!0}),n=new st(await cs(r),i=>us(t,i)),s=new ze(n);b(e,t,s.element),s.open()}catch(t){let n=`This report is damaged and cannot be shown: ${String(t)}. Write it again with sess.report(path).`;b(e,a("p",{role:"alert"},n))}}function us(r,e){let t=a("button",{type:"button"},`Copy ${e}`);t.addEventListener("click",()=>{navigator.clipboard?.writeText(e)}),b(r,"This is a report. To steer the search, open the saved search in a notebook. ",t),r.hidden=!1}var Jt=document.getElementById("prism-report")?.textContent,Xt=document.getElementById("prism-here");Jt&&Xt&&ms(Jt,Xt);export{st as ReportModel,cs as unpack};
