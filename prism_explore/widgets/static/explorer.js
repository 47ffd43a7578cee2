var Dt="http://www.w3.org/2000/svg";function Je(n,e,t){for(let[s,i]of Object.entries(e))i==null||i===!1||(typeof i=="function"?n.addEventListener(s,i):n.setAttribute(s,i===!0?"":String(i)));return b(n,...t),n}function b(n,...e){for(let t of e)t===null||t===!1||n.append(typeof t=="string"?document.createTextNode(t):t)}function r(n,e={},...t){return Je(document.createElement(n),e,t)}function f(n,e={},...t){return Je(document.createElementNS(Dt,n),e,t)}function m(n,...e){n.replaceChildren(),b(n,...e)}function d(n,e,t){let s=t===!0?"":t===!1?null:t;n.getAttribute(e)!==s&&(s===null?n.removeAttribute(e):n.setAttribute(e,s))}function S(n,e){n.textContent!==e&&(n.textContent=e)}var Ue=0;function z(n){return Ue+=1,`prism-${n}-${Ue}`}var Gt=[{label:"Back to now",act:n=>n.bar.backToNow()},{label:"Fork from here",act:n=>n.lineage.fork(),isPossible:n=>n.lineage.canFork}],Xe="Run the cell that shows the explorer again.",Z=class{constructor(e){this.app=e;b(this.element,this.text,this.actions)}app;element=r("div",{class:"pe-banner",hidden:!0});text=r("p",{class:"pe-banner-text",role:"alert"});actions=r("span",{class:"pe-banner-actions"});error="";past="";gone="";savedAs="";set(e){this.error=e.error??this.error,this.past=e.past??this.past,this.gone=e.gone??this.gone,this.savedAs=e.savedAs??this.savedAs,this.show()}show(){let e=this.gone?`${this.gone} ${this.remedy()}`:this.error||this.past;this.element.hidden=e==="",this.text.textContent!==e&&(S(this.text,e),m(this.actions,...this.buttons()))}remedy(){return this.savedAs?`${Xe} Or open the saved search: ${this.loadLine()}`:`${Xe} The search was not saved, so it starts anew.`}loadLine(){return`px.load(${JSON.stringify(this.savedAs)})`}buttons(){if(this.gone&&this.savedAs){let t=this.loadLine();return[Ye("Copy px.load(…)",()=>this.app.copy(t,"the line"))]}return this.gone||this.error||!this.past?[]:Gt.filter(({isPossible:t})=>t?.(this.app)??!0).map(({label:t,act:s})=>Ye(t,()=>s(this.app)))}};function Ye(n,e){let t=r("button",{type:"button",class:"pe-button"},n);return t.addEventListener("click",e),t}var Q=`/* Styles of the explorer. Colours come from the theme of the notebook if there is one, else from scene.ts. */
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
  height: 820px;
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
.prism-explore td :is(.pe-glyph) {
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
  padding: 5px 10px;
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
.prism-explore .pe-table td > .pe-glyph + .pe-clamp {
  display: inline-block;
  max-width: calc(100% - 26px);
  text-overflow: ellipsis;
  vertical-align: middle;
  white-space: nowrap;
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
.prism-explore .pe-table thead .pe-sort {
  white-space: normal;
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
  gap: 4px 12px;
}
.prism-explore .pe-check {
  display: inline-flex;
  min-height: 24px;
  padding-left: 6px;
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
.prism-explore .pe-help .pe-close {
  position: sticky;
  top: 0;
  justify-self: end;
  margin-bottom: -34px;
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
  padding-right: 25%;
}
.prism-explore:not([data-narrow]) .pe-dock > .pe-panel > .pe-head {
  position: absolute;
  top: 0;
  right: 0;
  width: 25%;
  border: 0;
  background: none;
}
.prism-explore:not([data-narrow]) .pe-dock > .pe-panel > .pe-head h3 {
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
/* One line that scrolls: the picture below needs the height. */
.prism-explore :is(.pe-choices, .pe-picture-chips) {
  display: flex;
  flex: none;
  flex-wrap: nowrap;
  gap: 4px 8px;
  align-items: center;
  padding: 4px 8px;
  overflow-x: auto;
  scrollbar-width: thin;
}
.prism-explore :is(.pe-choices, .pe-picture-chips) > * {
  flex: none;
}
.prism-explore .pe-chooser {
  display: inline-flex;
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

/* A sentence in the place of source. */

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
.prism-explore .pe-splitter:focus-visible {
  outline: none;
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
/* One line: what does not fit is on a second line that is not visible, the spread first. */
.prism-explore .pe-answer {
  grid-column: 1 / -1;
  display: flex;
  flex-wrap: wrap;
  align-items: center;
  gap: 4px 8px;
  height: 24px;
  min-width: 0;
  overflow: hidden;
  white-space: nowrap;
}
.prism-explore .pe-answer > * {
  min-height: 24px;
  line-height: 24px;
}
.prism-explore .pe-answer > .pe-glyph {
  min-height: 0;
}
.prism-explore .pe-answer strong {
  font-size: 15px;
  font-variant-numeric: tabular-nums;
}
.prism-explore .pe-warning {
  width: 24px;
  font-size: 15px;
  text-align: center;
}
.prism-explore .pe-comparisons {
  display: contents;
  list-style: none;
}
.prism-explore .pe-comparisons li {
  height: 22px;
  padding: 0 7px;
  line-height: 20px;
  font-size: 12px;
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
  .prism-explore .pe-result .pe-why {
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

/* ---- find, filter, bookmarks */
.prism-explore .pe-find {
  flex: none;
}
.prism-explore .pe-found {
  min-width: 6em;
  text-align: right;
}
.prism-explore .item.filtered {
  opacity: 0.18;
}
.prism-explore tr.found > td {
  outline: 1px solid var(--accent);
  outline-offset: -1px;
}
.prism-explore ::highlight(prism-found) {
  color: #000;
  background: #f0e442;
}
.prism-explore .pe-filters {
  padding: 4px 10px;
  align-items: center;
}
.prism-explore .pe-filters .pe-chip {
  display: inline-flex;
  align-items: center;
  gap: 4px;
}
.prism-explore .pe-filter {
  position: relative;
  flex: none;
}
.prism-explore .pe-filter > summary {
  list-style: none;
}
.prism-explore .pe-filterform {
  position: absolute;
  right: 0;
  bottom: calc(100% + 6px);
  z-index: 5;
  display: grid;
  gap: 6px;
  width: 260px;
  padding: 10px;
  border: 1px solid var(--rule);
  border-radius: 6px;
  background: var(--bg);
}
.prism-explore .pe-filterform label {
  display: grid;
  grid-template-columns: 84px 1fr;
  align-items: center;
  gap: 6px;
}
.prism-explore .pe-filterform :is(select, input) {
  width: 100%;
  min-width: 0;
  box-sizing: border-box;
}
.prism-explore .pe-text {
  min-height: 24px;
  padding: 2px 6px;
  border: 1px solid var(--rule);
  border-radius: 4px;
  color: inherit;
  background: transparent;
  font: inherit;
}
.prism-explore .pe-chosen {
  padding: 4px 10px;
}
.prism-explore input[data-choose] {
  width: 16px;
  height: 16px;
  margin: 4px;
}
.prism-explore .pe-bookmarkbox {
  display: grid;
  gap: 8px;
  justify-items: start;
  padding: 10px;
}
.prism-explore .pe-bookmarks {
  display: grid;
  gap: 6px;
  width: 100%;
  margin: 0;
  padding: 0;
  list-style: none;
}
.prism-explore .pe-bookmarks > li {
  display: grid;
  grid-template-columns: minmax(120px, max-content) 1fr auto;
  align-items: center;
  gap: 8px;
}
.prism-explore .pe-bookmarks textarea {
  width: 100%;
  box-sizing: border-box;
  resize: vertical;
}

/* ---- forks: the path from a search to its fork */
.prism-explore .pe-lineage {
  display: flex;
  flex: none;
  flex-wrap: wrap;
  gap: 2px 14px;
  padding: 2px 12px;
  border-bottom: 1px solid var(--rule);
}
.prism-explore .pe-lineage-path {
  display: flex;
  flex-wrap: wrap;
  gap: 2px 8px;
  list-style: none;
}
.prism-explore .pe-lineage button {
  min-height: 24px;
}
.prism-explore .pe-lineage button[aria-current] {
  color: inherit;
  font-weight: 700;
  text-decoration: none;
}

/* ---- comparison of two searches */
.prism-explore .pe-compare-status {
  flex: none;
  padding: 4px 10px;
  border-left: 4px solid var(--pe-unknown);
}
.prism-explore .pe-compare-form {
  display: flex;
  flex-wrap: wrap;
  gap: 6px 12px;
  align-items: center;
  padding: 6px 10px;
  border-bottom: 1px solid var(--rule);
}
.prism-explore .pe-compare-form :is(button, select, input) {
  min-height: 24px;
}
.prism-explore .pe-compare-form .pe-grow {
  display: flex;
  flex: 1 1 260px;
  gap: 6px;
  align-items: center;
  white-space: nowrap;
}
.prism-explore .pe-compare-form .pe-input {
  flex: 1;
  min-width: 120px;
}
.prism-explore :is(.pe-compare-form, .pe-compare-tools) .pe-input {
  padding: 1px 6px;
  color: var(--fg);
  background: var(--bg);
  border: 1px solid var(--fg2);
  border-radius: 4px;
}
.prism-explore [data-panel="compare"] > .pe-body {
  display: flex;
  flex-direction: column;
  overflow: auto;
}
.prism-explore .pe-compare {
  display: grid;
  flex: 1 0 600px;
  min-height: 0;
  grid-template: auto minmax(220px, 5fr) minmax(160px, 4fr) / minmax(0, 1fr) minmax(0, 1fr);
}
.prism-explore .pe-compare-head {
  grid-column: 1 / -1;
  padding: 6px 10px;
}
.prism-explore .pe-first {
  display: flex;
  flex-direction: column;
  gap: 1px;
  align-items: flex-start;
  padding-top: 4px;
}
.prism-explore .pe-first .pe-link {
  min-height: 24px;
  text-align: left;
  white-space: normal;
}
.prism-explore.pe-window .pe-tools > :last-child {
  display: none;
}
.prism-explore .pe-compare > :is(.pe-compare-map, .pe-compare-tables) {
  display: flex;
  flex-direction: column;
  min-width: 0;
  min-height: 0;
  border-top: 1px solid var(--rule);
}
.prism-explore .pe-compare-tables {
  border-left: 1px solid var(--rule);
}
.prism-explore .pe-compare-tools {
  display: flex;
  flex-wrap: wrap;
  gap: 4px 8px;
  align-items: center;
  padding: 4px 8px;
}
.prism-explore .pe-compare-tools .pe-chip {
  min-height: 24px;
}
.prism-explore .pe-compare-tools .pe-chip:not([aria-pressed="true"]) {
  text-decoration: line-through;
  opacity: 0.75;
}
.prism-explore .pe-path {
  flex: none;
  padding: 2px 8px;
  overflow-wrap: anywhere;
}
.prism-explore .pe-compare > .pe-compare-sides {
  display: grid;
  grid-template-columns: minmax(0, 1fr) minmax(0, 1fr);
  grid-column: 1 / -1;
  min-height: 0;
  border-top: 1px solid var(--rule);
}
.prism-explore.pe-window > .pe-panel {
  flex: 1;
}
.prism-explore .pe-compare-sides .pe-panel + .pe-panel {
  border-left: 1px solid var(--rule);
}
.prism-explore .pe-compare-sides .pe-tools {
  display: none;
}
.prism-explore .pe-compare-find {
  width: 130px;
  min-height: 24px;
}
@container (max-width: 900px) {
  .prism-explore .pe-compare {
    flex: none;
    grid-template: auto 260px 260px auto / minmax(0, 1fr);
  }
  .prism-explore .pe-compare-sides {
    min-height: 300px;
  }
}

/* ---- the e-graph's frames, and a path between two terms */
.prism-explore .pe-choices[hidden],
.prism-explore .pe-left[data-path] > .pe-empty {
  display: none;
}
.prism-explore .pe-frames {
  align-items: center;
}
.prism-explore .pe-split[data-single] {
  grid-template-columns: minmax(0, 1fr);
}
.prism-explore .pe-split[data-single] > .pe-left + * {
  display: none;
}
.prism-explore .pe-frames input {
  width: 140px;
  min-height: 24px;
}
.prism-explore .pe-pathbox {
  flex: 1;
  min-height: 0;
  overflow: auto;
  padding: 0 8px 8px;
}
.prism-explore .pe-pathbox[hidden] {
  display: none;
}
.prism-explore .pe-path {
  margin: 0;
  padding-left: 32px;
}
.prism-explore .pe-path > li {
  padding: 4px;
  border-left: 3px solid transparent;
}
.prism-explore .pe-path > li[aria-current] {
  border-left-color: var(--accent);
  background: var(--bg2);
}
.prism-explore .pe-term {
  min-height: 24px;
  border: 0;
  background: none;
  color: inherit;
  font-family: ui-monospace, "DejaVu Sans Mono", monospace;
  font-size: 13px;
  text-align: left;
  cursor: pointer;
}
.prism-explore .pe-term mark {
  background: none;
  color: inherit;
  font-weight: 700;
  text-decoration: underline;
  outline: 1px dashed currentcolor;
  outline-offset: 1px;
}
.prism-explore .pe-reasoning {
  font-size: 12px;
}
/* ---- the least size of what is clicked */
.prism-explore :is(.pe-chip, .pe-tool, .pe-scroller) {
  min-width: 24px;
  min-height: 24px;
}

/* ---- code: tabs, linked lines, differences */
.prism-explore [data-panel="code"] > .pe-body {
  display: flex;
  flex-direction: column;
}
.prism-explore .pe-codebar {
  display: flex;
  flex-wrap: wrap;
  align-items: center;
  justify-content: space-between;
  gap: 2px 12px;
}
.prism-explore .pe-against {
  padding: 0 10px;
  font-size: 12px;
}
.prism-explore .pe-against select {
  min-height: 24px;
}
.prism-explore [data-panel="code"] .pe-muted {
  padding: 0 10px 4px;
  font-size: 12px;
}
.prism-explore .pe-listing {
  flex: 1;
  min-height: 0;
  margin: 0;
  padding: 4px 0;
  overflow: auto;
  font: 12px / 1.5 var(--mono);
}
.prism-explore .pe-line {
  display: flex;
  width: max-content;
  min-width: 100%;
  padding-right: 12px;
  border-left: 3px solid transparent;
  white-space: pre;
}
.prism-explore .pe-listing {
  counter-reset: line;
}
.prism-explore .pe-line::before {
  content: counter(line);
  counter-increment: line;
  flex: none;
  width: 46px;
  padding-right: 8px;
  color: var(--fg2);
  text-align: right;
}
.prism-explore [data-diff] > .pe-line::before {
  content: counter(line) "  ";
  width: 62px;
}
.prism-explore [data-diff] > .pe-line[data-mark="+"]::before {
  content: counter(line) " +";
}
.prism-explore [data-diff] > .pe-line[data-mark="-"]::before {
  content: counter(line) " −";
}
.prism-explore .pe-line[data-linked] {
  cursor: pointer;
}
.prism-explore .pe-line[data-linked]:hover,
.prism-explore .pe-line[data-hovered] {
  background: var(--bg2);
}
.prism-explore .pe-line[aria-selected="true"] {
  border-left-color: var(--accent);
  background: var(--bg2);
  font-weight: 600;
}
.prism-explore .pe-listing:focus-visible .pe-line[data-active] {
  outline: 1px solid var(--accent);
  outline-offset: -1px;
}
.prism-explore .pe-line[data-mark="+"] {
  background: color-mix(in srgb, var(--pe-proved) 18%, transparent);
}
.prism-explore .pe-line[data-mark="-"] {
  background: color-mix(in srgb, var(--pe-refuted) 18%, transparent);
}
`;var Ze=JSON.parse('{"unknown": "dots", "pruned-sound": "hatch", "pruned-heuristic": "sparse", "pruned-budget": "dashes", "pruned-user": "cross", "aggregate": "weave", "only-a": "hatch", "only-b": "weave", "collapsed": "weave"}'),Qe=JSON.parse('{"hatch": [6, "M-1,1 L1,-1 M0,6 L6,0 M5,7 L7,5", "ink-hatch"], "sparse": [12, "M-1,1 L1,-1 M0,12 L12,0 M11,13 L13,11", "ink-hatch"], "dots": [8, "M2,1.2 a.9,.9 0 1 0 .01,0 M6,5.2 a.9,.9 0 1 0 .01,0", "ink-status"], "dashes": [8, "M0,2 H5 M4,6 H8 M0,6 H1", "ink-status"], "cross": [8, "M-1,1 L1,-1 M0,8 L8,0 M7,9 L9,7 M-1,7 L1,9 M0,0 L8,8 M7,-1 L9,1", "ink-status"], "weave": [6, "M0,1.5 H3 M3,4.5 H6", "ink-hatch"]}'),ee=JSON.parse('{"diamond": [[0.5, 0], [1, 0.5], [0.5, 1], [0, 0.5]], "hexagon": [[0.25, 0], [0.75, 0], [1, 0.5], [0.75, 1], [0.25, 1], [0, 0.5]], "square": [[0, 0], [1, 0], [1, 1], [0, 1]], "triangle": [[0, 0], [1, 0], [0.5, 1]], "star": [[0.5, 0.0], [0.623, 0.33], [0.976, 0.345], [0.7, 0.565], [0.794, 0.905], [0.5, 0.71], [0.206, 0.905], [0.3, 0.565], [0.024, 0.345], [0.377, 0.33]]}'),te=`
.prism-scene{--pe-page:#ffffff;--pe-ink:#18202b;--pe-muted:#4d5866;--pe-line:#5a6675;--pe-faint:#dde2e8;--pe-surface:#ffffff;--pe-tensor:#eef1f5;--pe-kernel:#f1f6ec;--pe-kernel-line:#5c8a38;--pe-block:#e9f0fa;--pe-block-line:#3f6ea6;--pe-loop:#d5e3f5;--pe-loop-line:#2f5d94;--pe-accum:#ffe2a0;--pe-chip:#ffffff;--pe-grey:#e3e7ec;--pe-pruned:#ddd7e8;--pe-hatch:#8d80a5;--pe-family:#ffffff;--pe-select:#0072b2;--pe-band:#cfe0f3;--pe-curve:#1f4e86;--pe-proved:#009e73;--pe-unknown:#e69f00;--pe-refuted:#d55e00;--pe-budget:#f0e442;--pe-user:#cc79a7;--pe-on-status:#000000;font-family:ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;}
@media (prefers-color-scheme:dark){.prism-scene{--pe-page:#14181d;--pe-ink:#eef2f6;--pe-muted:#b3bdc8;--pe-line:#8894a3;--pe-faint:#303842;--pe-surface:#222a33;--pe-tensor:#2c3641;--pe-kernel:#1a231a;--pe-kernel-line:#86b862;--pe-block:#182636;--pe-block-line:#7ba8dd;--pe-loop:#20364f;--pe-loop-line:#8fb8ea;--pe-accum:#5c4713;--pe-chip:#14181d;--pe-grey:#3a444f;--pe-pruned:#463f55;--pe-hatch:#7b7091;--pe-family:#222a33;--pe-select:#6cc0f5;--pe-band:#24405f;--pe-curve:#9cc6f5;}}
[data-jp-theme-light='true'] .prism-scene,.vscode-light .prism-scene{--pe-page:#ffffff;--pe-ink:#18202b;--pe-muted:#4d5866;--pe-line:#5a6675;--pe-faint:#dde2e8;--pe-surface:#ffffff;--pe-tensor:#eef1f5;--pe-kernel:#f1f6ec;--pe-kernel-line:#5c8a38;--pe-block:#e9f0fa;--pe-block-line:#3f6ea6;--pe-loop:#d5e3f5;--pe-loop-line:#2f5d94;--pe-accum:#ffe2a0;--pe-chip:#ffffff;--pe-grey:#e3e7ec;--pe-pruned:#ddd7e8;--pe-hatch:#8d80a5;--pe-family:#ffffff;--pe-select:#0072b2;--pe-band:#cfe0f3;--pe-curve:#1f4e86;}
[data-jp-theme-light='false'] .prism-scene,.vscode-dark .prism-scene{--pe-page:#14181d;--pe-ink:#eef2f6;--pe-muted:#b3bdc8;--pe-line:#8894a3;--pe-faint:#303842;--pe-surface:#222a33;--pe-tensor:#2c3641;--pe-kernel:#1a231a;--pe-kernel-line:#86b862;--pe-block:#182636;--pe-block-line:#7ba8dd;--pe-loop:#20364f;--pe-loop-line:#8fb8ea;--pe-accum:#5c4713;--pe-chip:#14181d;--pe-grey:#3a444f;--pe-pruned:#463f55;--pe-hatch:#7b7091;--pe-family:#222a33;--pe-select:#6cc0f5;--pe-band:#24405f;--pe-curve:#9cc6f5;}
.prism-scene.prism-scene[data-theme='light']{--pe-page:#ffffff;--pe-ink:#18202b;--pe-muted:#4d5866;--pe-line:#5a6675;--pe-faint:#dde2e8;--pe-surface:#ffffff;--pe-tensor:#eef1f5;--pe-kernel:#f1f6ec;--pe-kernel-line:#5c8a38;--pe-block:#e9f0fa;--pe-block-line:#3f6ea6;--pe-loop:#d5e3f5;--pe-loop-line:#2f5d94;--pe-accum:#ffe2a0;--pe-chip:#ffffff;--pe-grey:#e3e7ec;--pe-pruned:#ddd7e8;--pe-hatch:#8d80a5;--pe-family:#ffffff;--pe-select:#0072b2;--pe-band:#cfe0f3;--pe-curve:#1f4e86;}
.prism-scene.prism-scene[data-theme='dark']{--pe-page:#14181d;--pe-ink:#eef2f6;--pe-muted:#b3bdc8;--pe-line:#8894a3;--pe-faint:#303842;--pe-surface:#222a33;--pe-tensor:#2c3641;--pe-kernel:#1a231a;--pe-kernel-line:#86b862;--pe-block:#182636;--pe-block-line:#7ba8dd;--pe-loop:#20364f;--pe-loop-line:#8fb8ea;--pe-accum:#5c4713;--pe-chip:#14181d;--pe-grey:#3a444f;--pe-pruned:#463f55;--pe-hatch:#7b7091;--pe-family:#222a33;--pe-select:#6cc0f5;--pe-band:#24405f;--pe-curve:#9cc6f5;}
@media (forced-colors:active){.prism-scene{--pe-page:Canvas!important;--pe-ink:CanvasText!important;--pe-muted:CanvasText!important;--pe-line:CanvasText!important;--pe-faint:GrayText!important;--pe-surface:Canvas!important;--pe-tensor:Canvas!important;--pe-kernel:Canvas!important;--pe-kernel-line:CanvasText!important;--pe-block:Canvas!important;--pe-block-line:CanvasText!important;--pe-loop:Canvas!important;--pe-loop-line:CanvasText!important;--pe-accum:Canvas!important;--pe-chip:Canvas!important;--pe-grey:Canvas!important;--pe-pruned:Canvas!important;--pe-hatch:CanvasText!important;--pe-family:Canvas!important;--pe-select:Highlight!important;--pe-band:GrayText!important;--pe-curve:CanvasText!important;}.prism-scene svg,svg.prism-scene{forced-color-adjust:none;}}
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
.prism-scene .k-only-a>.body{fill:var(--pe-loop);stroke:var(--pe-ink);stroke-width:1.2px;}
.prism-scene .k-only-a>text{paint-order:stroke;stroke:var(--pe-loop);stroke-width:4px;stroke-linejoin:round;}
.prism-scene .k-only-b>.body{fill:var(--pe-accum);stroke:var(--pe-ink);stroke-width:1.2px;stroke-dasharray:5 2;}
.prism-scene .k-only-b>text{paint-order:stroke;stroke:var(--pe-accum);stroke-width:4px;stroke-linejoin:round;}
.prism-scene .k-other-fate>.body{fill:var(--pe-unknown);stroke:var(--pe-ink);stroke-width:2px;}
.prism-scene .k-other-fate>text{fill:var(--pe-on-status);}
.prism-scene .k-other-reason>.body{fill:var(--pe-pruned);stroke:var(--pe-ink);stroke-width:1.5px;stroke-dasharray:2 2;}
.prism-scene .k-same>.body{fill:var(--pe-surface);stroke:var(--pe-line);stroke-width:0.8px;}
.prism-scene .k-eclass>.body{fill:var(--pe-surface);stroke:var(--pe-line);stroke-width:1.5px;}
.prism-scene .k-eclass-shared>.body{fill:var(--pe-surface);stroke:var(--pe-ink);stroke-width:2.5px;}
.prism-scene .k-eclass-merged>.body{fill:var(--pe-surface);stroke:var(--pe-ink);stroke-width:3px;stroke-dasharray:8 2;}
.prism-scene .k-eclass-focus>.body{fill:var(--pe-surface);stroke:var(--pe-select);stroke-width:3px;}
.prism-scene .k-enode-new>.body{fill:var(--pe-surface);stroke:var(--pe-ink);stroke-width:2px;stroke-dasharray:4 2;}
.prism-scene .k-enode-marked>.body{fill:var(--pe-band);stroke:var(--pe-ink);stroke-width:2.5px;}
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
`;var et=12,Vt={proved:"diamond",family:"diamond",unknown:"hexagon",refuted:"square",frontier:"circle",expanded:"circle","badge-best":"star"},Wt=[[.5,0],[1,1],[0,1]];function C(n){let e=Vt[n]??(n.startsWith("pruned")?"triangle":"circle"),t=n==="warning"?Wt:ee[e],s=t?f("polygon",{class:"body",points:t.map(([a,l])=>`${1+a*et},${1+l*et}`).join(" ")}):f("circle",{class:"body",cx:7,cy:7,r:5}),i=n==="warning"?f("path",{class:"bang",d:"M7 5.2v3.4M7 10.3v.9"}):null,o=/^[\w-]+$/.test(n)?n:"plain";return f("svg",{class:"pe-glyph",viewBox:"0 0 14 14",width:14,height:14,"aria-hidden":"true"},f("g",{class:`item k-${o}`},s,i))}var Ut={step:"M3 3v10M6 3l7 5-7 5z",run:"M4 2.5l9 5.5-9 5.5z",pause:"M4 3h3v10H4zM9 3h3v10H9z",cancel:"M3.5 3.5h9v9h-9z",undo:"M6 3L2.5 6.5 6 10M3 6.5h6a3.5 3.5 0 0 1 0 7H6",redo:"M10 3l3.5 3.5L10 10M13 6.5H7a3.5 3.5 0 0 0 0 7h3",accept:"M2.5 8.5l3.5 4 7.5-9",reject:"M3.5 3.5l9 9M12.5 3.5l-9 9",copy:"M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",maximise:"M2.5 6v-3.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10",fit:"M2.5 5V2.5H5M11 2.5h2.5V5M13.5 11v2.5H11M5 13.5H2.5V11M5.5 5.5h5v5h-5z",table:"M2.5 3h11v10h-11zM2.5 6.3h11M2.5 9.6h11M6 3v10",up:"M3 10.5l5-5 5 5",down:"M3 5.5l5 5 5-5",bookmark:"M4 2.5h8v11l-4-3.5-4 3.5z",plus:"M8 3v10M3 8h10",minus:"M3 8h10",expand:"M2.5 2.5h11v11h-11zM8 5v6M5 8h6",collapse:"M2.5 2.5h11v11h-11zM5 8h6",help:"M6 6a2 2 0 1 1 2.6 1.9c-.4.2-.6.5-.6 1V10M8 12.2v.3",close:"M4 4l8 8M12 4l-8 8"},Jt=new Set(["run","pause","cancel"]);function x(n){return f("svg",{class:"pe-icon",viewBox:"0 0 16 16",width:16,height:16,"aria-hidden":"true"},f("path",{d:Ut[n],class:Jt.has(n)?"solid":null}))}var se=class{constructor(e){this.look=e;this.element=r("details",{class:"pe-filter"},this.summary,this.form),this.form.addEventListener("submit",t=>{t.preventDefault(),this.submit()})}look;chips=r("div",{class:"pe-chips pe-filters",role:"group","aria-label":"filter",hidden:!0});element;form=r("form",{class:"pe-filterform","aria-label":"filter"});summary=r("summary",{class:"pe-button",title:"show only a part of the search"},"Filter");data=null;options="";open(){this.element.open=!0,this.form.querySelector("select, input")?.focus()}close(){return this.element.open?(this.element.open=!1,this.summary.focus(),!0):!1}update(e){this.data=e,this.chips.hidden=e.chips.length===0,m(this.chips,r("span",{class:"pe-muted"},"Filter:"),...e.chips.map(({name:s,value:i,label:o})=>{let a=r("button",{type:"button",class:"pe-chip",title:"remove this condition","aria-label":`remove ${o}`},o,x("close"));return a.addEventListener("click",()=>this.remove(s,i)),a}),this.clearButton());let t=JSON.stringify([e.statuses,e.reasons]);t!==this.options&&(this.options=t,this.draw(e))}clearButton(){let e=r("button",{type:"button",class:"pe-link"},"show everything");return e.addEventListener("click",()=>this.look({filter:{status:[],reason:[],operator:"",events:[]}})),e}draw(e){let t=(i,o,a)=>{let l=r("select",{class:"pe-select",name:i},r("option",{value:""},"any"));for(let{name:p,label:c,tip:h}of a)b(l,r("option",{value:p,title:h||null},c));return r("label",{},r("span",{},o),l)},s=(i,o)=>r("label",{},r("span",{},o),r("input",{class:"pe-number",type:"number",min:0,name:i}));m(this.form,t("status","status",e.statuses),t("reason","reason",e.reasons),r("label",{},r("span",{},"operator"),r("input",{class:"pe-text",name:"operator",maxlength:200,placeholder:"such as matmul"})),s("first","from event"),s("last","to event"),r("button",{type:"submit",class:"pe-button"},"Add"))}submit(){let e=new FormData(this.form),t=c=>String(e.get(c)??"").trim(),{status:s=[],reason:i=[]}=this.data??{},[o,a]=[t("first"),t("last")],l=[Number(o||0),Number(a||Number.MAX_SAFE_INTEGER)].sort((c,h)=>c-h),p={...t("status")&&{status:[...s,t("status")]},...t("reason")&&{reason:[...i,t("reason")]},...t("operator")&&{operator:t("operator")},...(o||a)&&{events:l}};this.look({filter:p}),this.form.reset(),this.close()}remove(e,t){let{data:s}=this;if(!s)return;let i=a=>a.filter(l=>l!==t),o={status:{status:i(s.status)},reason:{reason:i(s.reason)},operator:{operator:""},events:{events:[]}};this.look({filter:o[e]??{}})}};var tt="prism-show-row",st="prism-list-rows",it="prism-csv";function rt(n,e){for(let t of n.querySelectorAll(".pe-tablebox"))t.dispatchEvent(new CustomEvent(tt,{detail:e}))}function nt(n){let e=[];for(let t of n.querySelectorAll(".pe-tablebox"))t.dispatchEvent(new CustomEvent(st,{detail:e}));return e}function ot(n){let e=[];for(let t of n.querySelectorAll(".pe-tablebox"))t.dispatchEvent(new CustomEvent(it,{detail:e}));return e.filter(Boolean).join(`
`)}function at(n){let e=t=>{let s=/^[=+@\t\r]|^-\D/.test(t)?`'${t}`:t;return/[",\n\r]/.test(s)?`"${s.replaceAll('"','""')}"`:s};return n.map(t=>`${t.map(e).join(",")}
`).join("")}function lt(n,e,t,s){n.addEventListener(it,i=>i.detail.push(s())),n.addEventListener(tt,i=>e(i.detail)),n.addEventListener(st,i=>i.detail.push(...t()))}function v(n,e,t){let s=r("button",{type:"button",class:"pe-tool",title:e,"aria-label":e},x(n));return s.addEventListener("click",t),s}var Xt=new Set(["families","eclasses","tuning","ledger","questions"]),y=class{constructor(e,t,s,i=[]){this.name=e;let o=Xt.has(e)?[v("copy",`copy ${t.toLowerCase()} as CSV`,()=>s.copy(ot(this.element),`${t.toLowerCase()} as CSV`))]:[];this.tools.append(...i,...o,v("maximise",`maximise ${t.toLowerCase()} (m)`,()=>s.maximise(e)));let a=r("header",{class:"pe-head"},r("h3",{},t),this.caption,this.tools);this.element=r("section",{class:"pe-panel","data-panel":e,"aria-label":t},a,this.body)}name;element;caption=r("span",{class:"pe-caption"});tools=r("span",{class:"pe-tools"});body=r("div",{class:"pe-body"})};var Yt=600,ie=class{constructor(e){this.host=e;this.frame=new y("bookmarks","Bookmarks",e),this.make.addEventListener("click",()=>this.bookmark()),this.frame.body.append(r("div",{class:"pe-bookmarkbox"},this.make,this.empty,this.list,this.deleted)),this.element=this.frame.element}host;name="bookmarks";element;frame;make=r("button",{type:"button",class:"pe-button","data-command":"bookmark"});list=r("ul",{class:"pe-bookmarks"});deleted=r("details",{class:"pe-deleted"});empty=r("p",{class:"pe-empty"},"No bookmarks yet. Press b to bookmark what is selected; an earlier state of the search can be bookmarked too.");data=null;text="";awaited=null;bookmark(){let e=this.data?.add;return e?.enabled?(this.awaited=(this.data?.bookmarks.length??0)+1,this.host.command(e.command,e.args),!0):!1}update(e){this.data=e,this.frame.caption.textContent=e.caption,m(this.make,x("bookmark"),r("span",{},e.add.label)),this.make.disabled=!e.add.enabled,d(this.make,"title",`${e.add.description}
${e.add.python}
key: b`);let t=JSON.stringify([e.bookmarks,e.deleted]);if(t===this.text)return;this.text=t;let s=document.activeElement?.closest("[data-bookmark]")?.getAttribute("data-bookmark"),i=document.activeElement instanceof HTMLTextAreaElement?document.activeElement:null,[o,a]=[i?.selectionStart??0,i?.selectionEnd??0];this.empty.hidden=e.bookmarks.length>0,m(this.list,...e.bookmarks.map(h=>this.row(h,s===h.bookmark?i?.value:void 0))),this.deleted.hidden=e.deleted.length===0,m(this.deleted,r("summary",{},`${e.deleted.length} deleted`),r("ul",{class:"pe-bookmarks"},...e.deleted.map(h=>this.deletedRow(h))));let l=this.awaited!==null&&e.bookmarks.length>=this.awaited,p=l?e.bookmarks.at(-1)?.bookmark:s;l&&(this.awaited=null);let c=p?this.list.querySelector(`[data-bookmark="${p}"] textarea`):null;c&&(l||i)&&(c.focus(),i&&!l&&c.setSelectionRange(o,a))}select(){}hover(){}close(){}row(e,t){let s=r("button",{type:"button",class:"pe-link pe-mono",title:"show it","aria-label":`${e.bookmark}: show ${e.label}`},e.label);s.addEventListener("click",()=>this.jump(e));let i=r("textarea",{class:"pe-text",rows:1,maxlength:4e3,placeholder:"note","aria-label":`note of ${e.bookmark}`});i.value=t??e.note;let o,a=e.note,l=()=>{clearTimeout(o),i.value!==a&&(a=i.value,this.host.command("edit_bookmark",{id:e.bookmark,note:i.value}))};return i.addEventListener("input",()=>{clearTimeout(o),o=setTimeout(l,Yt)}),i.addEventListener("change",l),r("li",{"data-bookmark":e.bookmark,"data-ref":e.ref||null},s,i,v("close",`delete ${e.bookmark}`,()=>this.host.command("delete_bookmark",{id:e.bookmark})))}deletedRow(e){let t=r("button",{type:"button",class:"pe-button"},`restore ${e.bookmark}`);t.addEventListener("click",()=>this.host.command("restore_bookmark",{id:e.bookmark}));let s=r("li",{});return b(s,r("span",{class:"pe-mono"},e.label),r("span",{},e.note),t),s}jump(e){this.host.look({cursor:e.at}),e.ref&&this.host.select(e.ref)}};var re=class{constructor(e){this.host=e;this.frame=new y("code","Code",e,[v("copy","copy this text",()=>this.copy())]);let t=r("div",{class:"pe-codebar"},this.tabs,this.compare);this.frame.body.append(t,this.caption,this.list),this.element=this.frame.element,this.other.addEventListener("change",()=>e.look({code:{other:this.other.value}})),this.list.addEventListener("click",s=>{let i=s.target.closest("[data-line]");i&&!(document.getSelection()?.toString()??"")&&this.choose(Number(i.getAttribute("data-line")))}),this.list.addEventListener("keydown",s=>this.onKey(s)),this.list.addEventListener("focus",()=>this.activate(this.active))}host;name="code";element;frame;tabs=r("div",{class:"pe-chips",role:"group","aria-label":"texts"});other=r("select",{"aria-label":"compare with"});compare=r("label",{class:"pe-against"},"compare with ",this.other);caption=r("p",{class:"pe-muted"});list=r("div",{class:"pe-code pe-listing",role:"listbox",tabindex:0,"aria-label":"code; arrow keys move, Enter selects the operator of a line"});data=null;chosen="";drawn="";rows=[];lines=[];selected="";active=0;update(e){if((this.data?.tab!==e.tab||!e.tabs.some(t=>t.name===this.chosen))&&(this.chosen=e.tab),this.data=e,this.frame.caption.textContent=[e.title,e.caption].filter(Boolean).join(" · "),this.drawTabs(e),this.compare.hidden=e.others.length===0,document.activeElement!==this.other){let t=e.others.map(({ref:i,label:o})=>r("option",{value:i},o)),s=e.others.some(({ref:i})=>i===e.other);e.other&&!s&&t.unshift(r("option",{value:e.other},e.other)),m(this.other,r("option",{value:""},"nothing"),...t),this.other.value=e.other}this.draw()}select(e){let t=this.selected;this.selected=e[0]??"",this.markLines(this.selected!==t)}hover(e){this.rows.forEach((t,s)=>{d(t,"data-hovered",e!==null&&dt(this.lines[s],e))})}close(){}tab(){return this.data?.tabs.find(e=>e.name===this.chosen)??this.data?.tabs[0]??null}copy(){let e=this.tab(),t=({mark:i=""})=>this.data?.other?i||" ":"",s=(e?.lines??[]).map(i=>t(i)+i.text).join(`
`);this.host.copy(s,`${e?.label??"the text"} of ${this.data?.title??""}`)}drawTabs(e){let t=e.tabs.map(i=>{let o=i.name===this.chosen?"true":"false",a=r("button",{type:"button",class:"pe-chip",title:i.tip,"aria-pressed":o,"data-code":i.name},i.label);return a.addEventListener("click",()=>{this.chosen=i.name;for(let l of this.tabs.children)d(l,"aria-pressed",String(l.getAttribute("data-code")===i.name));this.draw(),this.host.look({code:{tab:i.name}})}),a});[...this.tabs.children].map(i=>i.getAttribute("data-code")).join()!==e.tabs.map(i=>i.name).join()&&m(this.tabs,...t);for(let i of this.tabs.children)d(i,"aria-pressed",String(i.getAttribute("data-code")===this.chosen))}draw(){let e=this.tab(),t=e!==null&&e.lines.length===0&&e.missing==="",s=e?.missing||(t?"being generated":"");S(this.caption,s?`${e?.label}: ${s}.`:e?.caption??"");let i=JSON.stringify([e?.name,e?.lines]);if(i===this.drawn)return;let o=this.drawn.startsWith(JSON.stringify([e?.name]).slice(0,-1))?this.list.scrollTop:0;this.drawn=i,this.lines=e?.lines??[],this.rows=this.lines.map((a,l)=>Zt(a,l)),d(this.list,"data-diff",!!this.data?.other),m(this.list,...this.rows),this.list.hidden=this.lines.length===0,this.active=Math.min(this.active,Math.max(0,this.lines.length-1)),this.list.scrollTop=o,this.markLines(!0)}markLines(e){let t=null;this.rows.forEach((s,i)=>{let o=this.selected!==""&&dt(this.lines[i],this.selected);d(s,"aria-selected",String(o)),o&&(t??=s)}),e&&t&&this.reveal(t)}reveal(e){let{scrollTop:t,clientHeight:s}=this.list,i=e.offsetTop-this.list.offsetTop;(i<t||i+e.offsetHeight>t+s)&&(this.list.scrollTop=Math.max(0,i-s/3))}choose(e){this.activate(e);let[t]=(this.lines[e]?.refs??"").split(" ");t&&this.host.select(t)}activate(e){this.active=Math.max(0,Math.min(this.rows.length-1,e)),this.rows.forEach((s,i)=>{d(s,"data-active",i===this.active)});let t=this.rows[this.active];t&&(d(this.list,"aria-activedescendant",t.id),this.reveal(t))}onKey(e){let s={ArrowDown:1,ArrowUp:-1,PageDown:20,PageUp:-20}[e.key];if(s!==void 0)this.activate(this.active+s);else if(e.key==="Home")this.activate(0);else if(e.key==="End")this.activate(this.rows.length-1);else if(e.key==="Enter")this.choose(this.active);else return;e.preventDefault(),e.stopPropagation()}},pt=0;function Zt(n,e){return pt+=1,r("div",{id:`prism-line-${pt}`,class:"pe-line",role:"option","aria-selected":"false","data-line":e,"data-linked":!!n.refs,"data-mark":n.mark||null,title:n.refs||null},n.text||" ")}function dt(n,e){return(n?.refs??"").split(" ").includes(e)}var J=8,ct=1e7,ne=class{constructor(e){this.role=e;for(let[t,[s,i,o]]of Object.entries(Qe))this.patterns.append(f("pattern",{id:`${this.prefix}-${t}`,width:s,height:s,patternUnits:"userSpaceOnUse"},f("path",{class:o,d:i})))}role;element=f("g",{class:"drawing"});patterns=f("defs");targets=[];prefix=z("pattern");kept=new Map;byRef=new Map;update(e){let t=new Map,s=new Map,i=[];for(let a of e.items){let l=JSON.stringify(a),p=this.kept.get(a.id),c=p?.text===l?p.element:this.draw(a);t.set(a.id,{text:l,element:c}),i.push(c),a.ref&&s.set(a.ref,[...s.get(a.ref)??[],c])}i.length===this.element.childNodes.length&&i.every((a,l)=>this.element.childNodes[l]===a)||this.element.replaceChildren(...i),this.kept=t,this.byRef=s,this.targets=e.items.filter(a=>a.type==="shape"&&!!a.ref)}highlight(e,t){let s=new Set(t.flatMap(i=>this.byRef.get(i)??[]));for(let i of this.element.querySelectorAll(`.item.${e}`))s.has(i)||i.classList.remove(e);for(let i of s)i.classList.add(e);if(e==="selected"){for(let i of this.element.querySelectorAll("[aria-selected=true]"))s.has(i)||i.setAttribute("aria-selected","false");for(let i of s)i.hasAttribute("aria-selected")&&d(i,"aria-selected","true")}}find(e,t){let s=0;for(let i of t.items){let o=e===null||!i.ref||e(i);e!==null&&i.ref&&o&&(s+=1),this.kept.get(i.id)?.element.classList.toggle("dimmed",!o)}return s}elementId(e){return this.kept.get(e)?.element.id??null}draw(e){let t=/^[\w-]+$/.test(e.kind)?e.kind:"plain",s=e.type==="shape"?`shape role-${e.role}`:e.closed?"edge band":"edge",i=f("g",{class:`item ${s} k-${t}`,"data-id":e.id});if(e.ref){i.id=z("item"),d(i,"data-ref",e.ref);let o=Qt(e);o===""?d(i,"aria-hidden","true"):(d(i,"role",this.role),d(i,"aria-selected","false"),d(i,"aria-label",o))}e.tip&&d(i,"data-tip",e.tip),e.type==="shape"&&e.action&&d(i,"data-action",e.action),e.type==="shape"?this.shape(i,e):this.edge(i,e);for(let o of e.texts??[])i.append(es(o)," ");return i}shape(e,t){let s=ht(t);if(s===null)return;d(s,"class","body"),e.append(s);let i=Ze[t.kind],o=i?ht(t):null;o!==null&&(d(o,"class","pattern"),d(o,"fill",`url(#${this.prefix}-${i})`),e.append(o))}edge(e,t){let s=t.points.map(([h,u])=>[O(h),O(u)]),i=s.at(-1),o=s.at(-2),a=null;if(t.arrow&&i&&o){let h=Math.hypot(i[0]-o[0],i[1]-o[1])||1,u=(i[0]-o[0])/h,g=(i[1]-o[1])/h,k=i[0]-u*J,E=i[1]-g*J,M=J*.45;s[s.length-1]=[i[0]-u*J*.6,i[1]-g*J*.6];let _=[i,[k-g*M,E+u*M],[k+g*M,E-u*M]];a=f("polygon",{class:"head",points:_.map(P=>P.join(",")).join(" ")})}let[l,...p]=s.map(h=>h.join(","));if(l===void 0)return;let c=`M${l} ${t.curve==="bezier"?"C":"L"}${p.join(" ")}${t.closed?" Z":""}`;e.append(f("path",{class:"body",d:c})),t.ref&&e.append(f("path",{class:"reach",d:c})),a&&e.append(a)}};function Qt(n){let e=(n.texts??[]).map(s=>s.text).join(" ");if(n.type==="edge"&&e===""&&!n.tip)return"";let t=n.tip&&n.tip!==e?n.tip:"";return[e,t].filter(Boolean).join(": ")||(n.ref??"")}function es(n){let e=/^[\w-]+$/.test(n.kind??"label")?n.kind??"label":"label";return f("text",{class:`t-${e}`,x:O(n.x),y:O(n.y),"text-anchor":n.anchor??"middle"},n.text)}function ht(n){let[e,t,s,i]=[O(n.x),O(n.y),O(n.w),O(n.h)],o=n.outline??"rect";switch(o){case"none":return null;case"rect":case"pill":{let a=o==="pill"?Math.min(s,i)/2:n.role==="frame"?10:Math.min(4,s/3);return f("rect",{x:e,y:t,width:s,height:i,rx:a})}case"circle":return f("ellipse",{cx:e+s/2,cy:t+i/2,rx:s/2,ry:i/2});case"cross":return f("path",{d:`M${e},${t} L${e+s},${t+i} M${e+s},${t} L${e},${t+i}`});default:{let a=ee[o]??[];return f("polygon",{points:a.map(([l,p])=>`${e+l*s},${t+p*i}`).join(" ")})}}}function O(n){return Number.isFinite(n)?Math.max(-ct,Math.min(ct,n)):0}function ut(n,e,t){let s=t==="left"||t==="up"?-1:1,i=t==="left"||t==="right",o=null,a=Number.POSITIVE_INFINITY;for(let l of e){if(l.ref===n.ref)continue;let[p,c]=i?[n.x,n.x+n.w]:[n.y,n.y+n.h],[h,u]=i?[l.x,l.x+l.w]:[l.y,l.y+l.h],g=s>0?h-c:p-u;if(g<-1)continue;let k=i?mt(n.y,n.y+n.h,l.y,l.y+l.h):mt(n.x,n.x+n.w,l.x,l.x+l.w),E=Math.abs(i?n.y+n.h/2-l.y-l.h/2:n.x+n.w/2-l.x-l.w/2),M=g+3*k+.05*E;M<a&&(a=M,o=l)}return o}function mt(n,e,t,s){return Math.max(0,t-e,n-s)}var ts=.15,ss=4,is=1,rs=1.15,T=8,H=class{constructor(e,t,s){this.events=s;this.drawing=new ne(t==="tree"?"treeitem":"option");let[i,o]=[z("title"),z("desc")];this.title.id=i,this.desc.id=o,this.svg=f("svg",{class:"prism-scene",role:t,tabindex:0,"aria-labelledby":i,"aria-describedby":o,"data-stage":e},this.title,this.desc,this.drawing.patterns,this.drawing.element,this.overlay),this.element=r("div",{class:"pe-stage"},this.svg,this.tip),this.resize=new ResizeObserver(()=>{this.moved||this.fit()}),this.resize.observe(this.element),this.listen()}events;element;overlay=f("g",{class:"pe-overlay"});svg;title=f("title");desc=f("desc");drawing;tip=r("div",{class:"pe-tip",role:"tooltip",hidden:!0});resize;scene=null;pattern=null;x=0;y=0;scale=1;scroll=!1;moved=!1;selected=[];filtered=[];dragged=!1;close(){this.resize.disconnect()}get shown(){return this.scene}update(e){let t=this.scene?.width!==e.width||this.scene.height!==e.height;this.scene&&this.scene.title!==e.title&&(this.moved=!1),this.scene=e,this.title.textContent=e.title,this.desc.textContent=e.desc,this.drawing.update(e),this.drawing.highlight("selected",this.selected),this.drawing.highlight("filtered",this.filtered),this.pattern&&this.drawing.find(this.pattern,e),t&&!this.moved&&this.fit()}select(e){this.selected=e,this.drawing.highlight("selected",e);let t=this.current();d(this.svg,"aria-activedescendant",t?this.drawing.elementId(t.id):null)}filter(e){this.filtered=e,this.drawing.highlight("filtered",e)}hover(e){this.drawing.highlight("hovered",e===null?[]:[e])}find(e){return this.pattern=e,this.scene?this.drawing.find(e,this.scene):0}fit(){let{clientWidth:e,clientHeight:t}=this.element;if(!this.scene||e===0||t===0)return;let s=Math.min((e-2*T)/this.scene.width,(t-2*T)/this.scene.height,rs);this.scale=this.scroll?1:Math.max(s,is),this.x=Math.max(T,(e-this.scene.width*this.scale)/2),this.y=this.scroll?T:Math.max(T,(t-this.scene.height*this.scale)/2),this.moved=!1,this.place()}zoom(e,t){let{clientWidth:s,clientHeight:i}=this.element,{x:o,y:a}=t??{x:s/2,y:i/2},l=Math.min(ss,Math.max(ts,this.scale*e));this.x=o-(o-this.x)*l/this.scale,this.y=a-(a-this.y)*l/this.scale,this.scale=l,this.moved=!0,this.place()}reveal(e){let t=this.drawing.targets.find(u=>u.ref===e),{clientWidth:s,clientHeight:i}=this.element;if(!t||s===0)return;let o=t.x*this.scale+this.x,a=t.y*this.scale+this.y,[l,p]=[t.w*this.scale,t.h*this.scale],[c,h]=[this.x,this.y];(o+l<20||o>s-20)&&(this.x=s/2-(t.x+t.w/2)*this.scale),(a+p<20||a>i-20)&&(this.y=i/2-(t.y+t.h/2)*this.scale),this.x=ft(this.x,this.scene?.width??0,this.scale,s),this.y=ft(this.y,this.scene?.height??0,this.scale,i),(c!==this.x||h!==this.y)&&(this.moved=!0,this.place())}walk(e){let t=this.current(),s=t?ut(t,this.drawing.targets,e):this.drawing.targets[0]??null;s?.ref&&(this.events.select(s.ref),this.reveal(s.ref))}focus(){this.svg.focus({preventScroll:!0})}table(){let e=r("tbody"),t=new Map;for(let i of this.scene?.items??[]){if(!i.ref)continue;let o=i.tip||(i.texts??[]).map(a=>a.text).join(" ");o.length>=(t.get(i.ref)??"").length&&t.set(i.ref,o)}for(let[i,o]of t){let a=r("button",{class:"pe-link",type:"button"},i);a.addEventListener("click",()=>this.events.select(i)),b(e,r("tr",{"data-ref":i},r("th",{scope:"row"},a),r("td",{},o)))}let s=r("thead",{},r("tr",{},...["id","description"].map(i=>r("th",{scope:"col"},r("span",{class:"pe-sort"},i)))));return r("table",{class:"pe-table"},r("caption",{},this.scene?.desc??""),s,e)}current(){let e=new Set(this.selected);return this.drawing.targets.find(t=>t.ref!==void 0&&e.has(t.ref))??null}place(){let e=s=>Math.round(s*1e3)/1e3,t=`translate(${e(this.x)} ${e(this.y)}) scale(${e(this.scale)})`;d(this.drawing.element,"transform",t),d(this.overlay,"transform",t)}at(e){let t=this.element.getBoundingClientRect();return{x:(e.clientX-t.left-this.x)/this.scale,y:(e.clientY-t.top-this.y)/this.scale}}listen(){let e=s=>s.target.closest(".item"),t=s=>s.target.closest("[data-ref]")?.getAttribute("data-ref")??null;this.svg.addEventListener("click",s=>{let i=t(s),o=e(s)?.getAttribute("data-action");i===null||this.dragged||(o?this.events.act?.(o,i):this.events.select(i))}),this.svg.addEventListener("dblclick",s=>{let i=t(s);e(s)?.hasAttribute("data-action")||(i!==null?this.events.enter(i):this.fit(),s.preventDefault())}),this.svg.addEventListener("pointerover",s=>{this.events.hover(t(s)),this.showTip(e(s)?.getAttribute("data-tip")??null,s)}),this.svg.addEventListener("pointerleave",()=>{this.events.hover(null),this.showTip(null)}),this.svg.addEventListener("pointerdown",s=>this.drag(s)),this.element.addEventListener("wheel",s=>{if(!s.ctrlKey&&!s.metaKey){this.scrollBy(s.deltaY)&&s.preventDefault();return}s.preventDefault();let i=this.element.getBoundingClientRect();this.zoom(Math.exp(-s.deltaY*.0022),{x:s.clientX-i.left,y:s.clientY-i.top})},{passive:!1})}scrollBy(e){let t=(this.scene?.height??0)*this.scale+2*T,s=Math.min(T,this.element.clientHeight-t+T),i=Math.max(s,Math.min(T,this.y-e));return i===this.y?!1:(this.y=i,this.moved=!0,this.place(),!0)}drag(e){if(e.button!==0)return;let[t,s]=[this.x,this.y];this.dragged=!1;let i=a=>{let[l,p]=[a.clientX-e.clientX,a.clientY-e.clientY];!this.dragged&&Math.hypot(l,p)<4||(this.dragged||this.svg.setPointerCapture?.(e.pointerId),this.dragged=!0,this.moved=!0,d(this.element,"data-dragging",!0),this.showTip(null),this.x=t+l,this.y=s+p,this.place())},o=()=>{d(this.element,"data-dragging",null),this.svg.removeEventListener("pointermove",i),this.svg.removeEventListener("pointerup",o),this.svg.removeEventListener("pointercancel",o)};this.svg.addEventListener("pointermove",i),this.svg.addEventListener("pointerup",o),this.svg.addEventListener("pointercancel",o)}showTip(e,t){if(this.tip.hidden=!e,!e||!t)return;this.tip.textContent=e;let s=this.element.getBoundingClientRect(),i=Math.max(0,Math.min(t.clientX-s.left+14,s.width-280)),o=t.clientY-s.top;this.tip.style.left=`${i}px`;let a=o<s.height/2;this.tip.style.top=a?`${o+18}px`:"",this.tip.style.bottom=a?"":`${s.height-o+10}px`}};function ft(n,e,t,s){let i=s-T-e*t;return i>=T?Math.max(T,Math.min(i,n)):Math.min(T,Math.max(i,n))}var ns="http://www.w3.org/1998/Math/MathML",os={math:["displaystyle"],mrow:[],mi:[],mn:[],mo:["stretchy"],mtext:[],mspace:["width"],mfrac:[],msqrt:[],msup:[],munder:[]};function j(n,e){let t=n?new DOMParser().parseFromString(n,"application/xml").documentElement:null,s=t?.nodeName==="math"?gt(t):null,i=document.createElement(s?"div":"pre");return i.className="pe-formula",i.title=s?e:"",i.append(s??e),i}function gt(n){let e=os[n.nodeName];if(!e)return null;let t=document.createElementNS(ns,n.nodeName);for(let s of e){let i=n.getAttribute(s);i!==null&&t.setAttribute(s,i)}for(let s of n.childNodes){let i=s instanceof Element?gt(s):s.textContent??"";if(i===null)return null;t.append(i)}return t}var as=24,A=60,ls=15,ps=190,ds=29,L=class{constructor(e,t){this.events=t;this.table=r("table",{class:"pe-table","aria-label":e},this.head,this.body),this.element=r("div",{class:"pe-tablebox",tabindex:-1},this.table,this.note),lt(this.element,i=>this.reveal(i),()=>this.rows.map(cs),()=>this.csv()),this.element.addEventListener("scroll",()=>this.follow(),{passive:!0}),new ResizeObserver(()=>this.data&&this.held===null&&this.holdWidths(this.data)).observe(this.element);let s=i=>i.target.closest("tr[data-ref]")?.getAttribute("data-ref")??null;this.body.addEventListener("click",i=>{if(i.target.closest("button, input"))return;let o=s(i),a=i;if(o&&this.events.choose&&(a.shiftKey||a.ctrlKey||a.metaKey)){this.events.choose(o,a.shiftKey);return}o&&this.events.select(o)}),this.body.addEventListener("pointerover",i=>this.events.hover(s(i))),this.body.addEventListener("pointerleave",()=>this.events.hover(null)),this.body.addEventListener("keydown",i=>this.walk(i))}events;element;table;head=r("thead");body=r("tbody");note=r("p",{class:"pe-note"});data=null;rows=[];first=0;rowPx=ds;widths=[];keys="";held=null;text="";sorted=null;selected=[];update(e){let t=JSON.stringify(e);t!==this.text&&(this.text=t,this.data=e,this.draw())}select(e){this.selected=e;for(let t of this.body.querySelectorAll("tr"))d(t,"aria-selected",e.includes(t.getAttribute("data-ref")??"")?"true":"false")}hover(e){for(let t of this.body.querySelectorAll("tr"))t.classList.toggle("hovered",e!==null&&t.getAttribute("data-ref")===e)}get refs(){return this.rows.map(e=>e.ref)}csv(){if(!this.data||this.rows.length===0)return"";let e=this.data.columns.map(t=>t.label);return at([e,...this.rows.map(t=>t.cells.map(oe))])}reveal({ref:e,seq:t}){let s=String(t),i=this.rows.findIndex(l=>oe(l.cells[0])===s),o=i>=0?i:this.rows.findIndex(l=>e!==""&&l.ref===e);if(o<0)return;(o<this.first||o>=this.first+A)&&this.drawRows(o-A/2);let a=this.body.querySelector(`tr[aria-rowindex="${o+2}"]`);for(let l of this.body.querySelectorAll("tr.found"))l.classList.remove("found");a?.classList.add("found"),a?.scrollIntoView?.({block:"nearest"})}draw(){let{data:e}=this;e&&(this.rows=this.order(e),d(this.table,"aria-rowcount",String(this.rows.length+1)),this.freeWidths(e),m(this.head,r("tr",{},...e.columns.map((t,s)=>this.header(e,s)),this.toolsHead())),this.drawRows(this.first),this.holdWidths(e),this.note.textContent=e.omitted,this.note.hidden=e.omitted==="")}drawRows(e){let{data:t,rows:s}=this;if(!t)return;this.first=Math.max(0,Math.min(e,s.length-A));let i=Math.min(this.first+A,s.length),o=this.body.contains(document.activeElement),a=o?Ke(document.activeElement):null,l=o?document.activeElement?.closest("tr")?.getAttribute("data-ref")??null:null;if(m(this.body,this.gap(this.first),...s.slice(this.first,i).map((u,g)=>this.row(t,u,this.first+g)),this.gap(s.length-i)),s.length===0&&b(this.body,r("tr",{},r("td",{class:"pe-empty",colspan:this.span(t)},t.empty_text))),this.select(this.selected),a===null||l===null)return;let c=[...this.body.querySelectorAll("tr[data-ref]")].filter(u=>u.getAttribute("data-ref")===l);(c.find(u=>Ke(u)===a)??c[0]??this.element).focus({preventScroll:!0})}gap(e){if(e===0||!this.data)return null;let t=r("td",{colspan:this.span(this.data),style:`height:${e*this.rowPx}px`});return r("tr",{class:"pe-gap","aria-hidden":"true"},t)}span(e){return e.columns.length+(this.events.tools?1:0)}follow(){let{rows:e,element:t}=this;if(e.length<=A)return;let s=[...this.body.querySelectorAll("tr[aria-rowindex]")],i=s.reduce((c,h)=>c+h.offsetHeight,0)/Math.max(1,s.length);i>0&&(this.rowPx=i);let o=Math.floor(t.scrollTop/this.rowPx),a=o+Math.ceil(t.clientHeight/this.rowPx),l=o<this.first,p=a>this.first+A&&this.first+A<e.length;(l||p)&&this.drawRows(o-ls)}holdWidths(e){let t=[...this.head.querySelectorAll("th")];if(this.rows.length===0)return;if(this.held!==null){this.setWidths(t,e);return}let s=t.map(o=>o.offsetWidth);if(s.some(o=>o===0))return;let i=this.widths.length===s.length?this.widths:[];this.widths=s.map((o,a)=>Math.max(o,i[a]??0)),this.held={rows:this.rows.length},this.setWidths(t,e)}setWidths(e,t){if(this.widths.length!==e.length)return;let s=0;e.forEach((i,o)=>{let a=t.columns[o]?.wide??!1;i.style.width=a?"":`${this.widths[o]}px`,s+=a?ps:this.widths[o]??0}),this.table.style.minWidth=`${s}px`,this.table.style.tableLayout="fixed"}freeWidths(e){let t=e.columns.map(s=>s.key).join(" ");t!==this.keys&&(this.widths=[]),!(t===this.keys&&this.held?.rows===this.rows.length)&&(this.keys=t,this.held=null,this.table.style.tableLayout="")}toolsHead(){return this.events.tools?r("th",{scope:"col",class:"pe-tools"},r("span",{class:"pe-hidden"},"actions")):null}header(e,t){let s=e.columns[t];if(!s)return r("th");let i=this.sorted?.key===s.key?this.sorted:null,o=r("button",{type:"button",class:"pe-sort",title:s.tip??`sort by ${s.label}`},s.label,r("span",{class:"pe-arrow","aria-hidden":"true"},i?i.down?"▾":"▴":""));return o.addEventListener("click",()=>{let a=this.sorted?.key===s.key;this.sorted=a&&this.sorted?.down?null:{key:s.key,down:a},this.draw()}),r("th",{scope:"col",class:s.align==="right"?"pe-right":s.wide?"pe-wide":null,style:s.width_ch?`min-width:${s.width_ch}ch`:null,"aria-sort":i?i.down?"descending":"ascending":"none"},o)}order(e){let{sorted:t}=this,s=e.columns.findIndex(a=>a.key===t?.key);if(!t||s<0)return e.rows;let i=t.down?-1:1,o=e.rows.map((a,l)=>({row:a,i:l}));return o.sort((a,l)=>i*hs(a.row.cells[s],l.row.cells[s])||a.i-l.i),o.map(a=>a.row)}row(e,t,s){let i=t.cells.map((p,c)=>{let h=e.columns[c],u=typeof p=="string"?{text:p}:p,g=[h?.align==="right"?"pe-right":"",h?.mono?"pe-mono":"",u.text.length<=as?"pe-short":""].filter(Boolean).join(" "),k=u.kind?C(u.kind):null,E=u.math?[k,j(u.math,u.text)]:h?.wide&&u.tip?[r("span",{class:"pe-clamp"},k,u.text)]:[k,u.text];return r("td",{class:g||null,title:u.tip??null},...E)}),o=this.events.tools?r("td",{class:"pe-tools"},...this.events.tools(t)):null,a=t.ref?{"data-ref":t.ref,tabindex:-1,"aria-selected":"false"}:{},l={"aria-rowindex":s+2,class:t.kind?`row-${t.kind}`:null};return r("tr",{...a,...l},...i,o)}walk(e){let t={ArrowDown:1,ArrowUp:-1}[e.key],s=e.target.closest("tr");if(t===void 0||!s)return;e.preventDefault(),e.stopPropagation();let i=(Ke(s)??0)+t,o=this.rows[i]?.ref;o&&((i<this.first||i>=this.first+A)&&this.drawRows(i-A/2),this.body.querySelector(`tr[aria-rowindex="${i+2}"]`)?.focus(),e.shiftKey&&this.events.choose?.(o,!0),this.events.select(o))}};function Ke(n){let e=n?.closest("tr")?.getAttribute("aria-rowindex");return e?Number(e)-2:null}function oe(n){return typeof n=="string"?n:n?.text??""}function cs(n){let e=Number(oe(n.cells[0])),t=[n.ref,...n.cells.map(oe)].join(`
`);return{ref:n.ref,seq:Number.isFinite(e)?e:0,text:t}}function hs(n,e){let[t,s]=[vt(n),vt(e)];return typeof t=="number"&&typeof s=="number"?t-s:typeof t=="number"?-1:typeof s=="number"?1:t.localeCompare(s,void 0,{numeric:!0})}function vt(n){return n===void 0?"":typeof n=="string"?n:n.sort??n.text}var ae=class{constructor(e){this.body=e}body;subject="";drawn=[];draw(e,t){let s=e===this.subject,i=s?[...this.drawn]:[],o=t.map(([p,c])=>{let h=i.findIndex(([u])=>u===p);return i.splice(h,h<0?0:1)[0]??[p,c()]}),a=s?ms(this.body):()=>this.body.scrollTo(0,0);this.subject=e,this.drawn=o;let l=new Set(o.map(([,p])=>p));for(let p of[...this.body.children])l.has(p)||p.remove();o.forEach(([,p],c)=>{let h=this.body.children[c];h!==p&&this.body.insertBefore(p,h??null)}),a()}};function ms(n){let e=new Map([...bt(n)].map(([a,l])=>[a,l.open])),t=[n,...n.querySelectorAll("*")].filter(a=>a.scrollTop>0||a.scrollLeft>0).map(a=>({where:us(a,n),top:a.scrollTop,left:a.scrollLeft})),s=document.activeElement,i=s instanceof HTMLElement&&s!==n&&n.contains(s)?s:null,o=i&&Be(i);return()=>{for(let[a,l]of bt(n))l.open=e.get(a)??l.open;i&&!n.contains(i)&&([...n.querySelectorAll(i.tagName)].find(l=>Be(l)===o)??n).focus({preventScroll:!0});for(let{where:a,top:l,left:p}of t){let c=a.reduce((h,u)=>h?.children[u],n);c&&(c.scrollTop!==l||c.scrollLeft!==p)&&c.scrollTo(p,l)}}}function bt(n){let e=new Map;for(let t of n.querySelectorAll("details")){let s=Be(t);for(;e.has(s);)s+="'";e.set(s,t)}return e}function Be(n){return n.getAttribute("data-keep")??(n instanceof HTMLDetailsElement?n.querySelector("summary"):n)?.textContent??""}function us(n,e){let t=[];for(let s=n;s!==e&&s.parentElement;s=s.parentElement)t.unshift([...s.parentElement.children].indexOf(s));return t}var fs={kind:"",status:"",description:[],details:[],code:"",code_math:"",cards:[],actions:[],links:[]},gs={soundness:"",soundness_text:"",label:"Why",formula:"",formula_math:"",substituted:"",where:[],details:[],would_reopen_if:"",steps:[],copies:[]},vs=9,Fe=6,bs=["",()=>r("p",{class:"pe-empty"},"Nothing is selected: click a block of the map, an operator, or a family.")],K=class{constructor(e){this.host=e;this.frame=new y("inspector","Inspector",e),this.frame.body.classList.add("pe-inspector"),this.frame.body.tabIndex=0,this.parts=new ae(this.frame.body),this.element=this.frame.element,this.update(null)}host;name="inspector";element;frame;parts;focus(){this.frame.body.focus()}update(e){let t=e&&{...fs,...e};this.frame.caption.textContent=t?.ref??"",this.parts.draw(t?.ref??"",t?this.drawn(t):[bs])}drawn(e){let{cards:t,actions:s,...i}=e;return[[JSON.stringify(i),()=>this.summary(e)],...t.map(o=>[JSON.stringify(o),()=>this.card(o)]),...s.length>0?[[JSON.stringify(s),()=>this.actions(s)]]:[]]}select(){}hover(){}close(){}summary(e){let t=e.details.length>0?le(e.details):null,s=e.links.map(({ref:i,label:o})=>{let a=r("button",{type:"button",class:"pe-chip"},o);return a.addEventListener("click",()=>this.host.select(i)),a});return r("div",{class:"pe-part"},r("h4",{},e.kind?C(e.kind):null,r("span",{},e.title),e.status?r("span",{class:"pe-word"},e.status):null),...e.description.map(i=>r("p",{},i)),e.code_math?j(e.code_math,e.code):e.code?r("pre",{class:"pe-snippet"},e.code):null,t,s.length>0?r("div",{class:"pe-chips"},...s):null)}card(e){let t={...gs,...e};return r("article",{class:"pe-card"},r("header",{},r("span",{class:"pe-eyebrow"},t.label),t.kind?C(t.kind):null,r("code",{},t.title),t.soundness?r("span",{class:"pe-word",title:t.soundness_text},t.soundness):null),r("p",{class:"pe-sentence"},t.sentence),t.formula?j(t.formula_math,t.formula):null,t.substituted?r("pre",{class:"pe-formula pe-numbers"},t.substituted):null,t.where.length>0?this.where(t.where):null,t.steps.length>0?this.steps(t.steps):null,t.details.length>0?this.details(t.details,`${t.label} ${t.title}`):null,...t.copies.map(s=>this.copy(s)),t.soundness_text?r("p",{class:"pe-muted"},t.soundness_text):null,t.would_reopen_if?r("p",{class:"pe-reopen"},r("b",{},"Would reopen if "),t.would_reopen_if):null)}where(e){let t=r("dl",{class:"pe-facts pe-where"});for(let{symbol:s,text:i,math:o}of e)b(t,r("dt",{},s),r("dd",{},j(o,i)));return r("div",{class:"pe-part"},r("span",{class:"pe-eyebrow"},"where"),t)}details(e,t){if(e.length<=vs)return le(e);let s=r("details",{"data-keep":t},r("summary",{},`${e.length-Fe} more`),le(e.slice(Fe)));return r("div",{class:"pe-part"},le(e.slice(0,Fe)),s)}steps(e){let t=r("ol",{class:"pe-steps"});for(let s of e){let i=r("button",{type:"button",class:"pe-link pe-mono"},s.name);i.addEventListener("click",()=>this.host.select(s.ref));let o=[C(s.kind),i,xt(s.equation_math,s.equation)],a=s.lines??[],l=r("p",{class:"pe-muted"},s.justification),p=r("div",{class:"pe-chain"});for(let[h,[u,g]]of a.entries())b(p,r("span",{},h>0?"= ":null,xt(s.lines_math?.[h],u)),h>0?r("span",{class:"pe-muted"},`by ${g}`):null);let c=a.length>0&&e.length===1;b(t,a.length>0?r("li",{},r("details",{open:c,"data-keep":`${s.ref} ${s.name}`},r("summary",{},...o),l,p)):r("li",{},...o,l))}return t}copy({label:e,text:t}){let s=r("button",{type:"button",class:"pe-button",title:"copy this text"},x("copy"),e);return s.addEventListener("click",()=>this.host.copy(t,e)),t.includes(`
`)?r("details",{},r("summary",{},s),r("pre",{class:"pe-snippet"},t)):r("div",{class:"pe-action"},s,r("code",{},t))}actions(e){let t=r("div",{class:"pe-part pe-do"},r("span",{class:"pe-eyebrow"},"Commands"));for(let s of e){let i=s.command,o=r("button",{type:"button",class:"pe-button",disabled:!s.enabled,title:s.description,"data-command":s.command},["accept","reject","undo","redo"].includes(s.command)?x(i):null,r("span",{},s.label));o.addEventListener("click",()=>this.host.command(s.command,s.args));let a=r("button",{type:"button",class:"pe-python",title:"copy this line"},s.python);a.addEventListener("click",()=>this.host.copy(s.python,"the line")),b(t,r("div",{class:"pe-action"},o,a))}return t}};function xt(n,e){return n?j(n,e):r("code",{},e)}function le(n){let e=r("dl",{class:"pe-facts"});for(let[t,s]of n)b(e,r("dt",{},t),r("dd",{},s));return e}var xs=[["steps","Differences"],["families","Families"],["settings","Settings"],["counts","Counts"]],ys={ArrowLeft:"left",ArrowRight:"right",ArrowUp:"up",ArrowDown:"down"},ks=150,ws=16,B=class{constructor(e,t=!0){this.host=e;this.frame=new y("compare","Compare",e,[v("minus","zoom out (Ctrl + wheel)",()=>this.map.zoom(1/1.25)),v("plus","zoom in (Ctrl + wheel)",()=>this.map.zoom(1.25)),v("fit","fit into the panel",()=>this.map.fit())]),this.map=new H("merged","listbox",{select:s=>this.select_(s),enter:s=>this.change({root:s}),hover:()=>{}}),this.map.scroll=!0,this.map.element.addEventListener("keydown",s=>this.onKey(s)),this.sides=["a","b"].map(s=>new K(this.sideHost(s)));for(let s of this.sides)d(s.element,"data-panel",null);for(let[s,i]of xs)this.addTable(s,i);this.find.addEventListener("input",()=>this.showFound()),this.content=this.body(),this.frame.body.append(...t?[this.form()]:[],this.status,this.content),this.element=this.frame.element,this.resize=new ResizeObserver(()=>this.measure()),this.resize.observe(this.map.element),this.showTab("steps")}host;name="compare";element;frame;map;sides;status=r("p",{class:"pe-compare-status",role:"status"});summary=r("p",{class:"pe-claim"});first=r("div",{class:"pe-first"});path=r("p",{class:"pe-path pe-mono"});kinds=r("div",{class:"pe-chips",role:"group","aria-label":"kinds of difference"});find=r("input",{class:"pe-input pe-compare-find",type:"search",placeholder:"find in both","aria-label":"find in both searches"});found=r("span",{class:"pe-muted"});tabs=new Map;tables=new Map;content;runs=r("select",{class:"pe-select","aria-label":"a search of this process"});file=r("input",{class:"pe-input",type:"text",placeholder:"path of a saved search, such as run.prism","aria-label":"path of a saved search"});withParent=r("button",{type:"button",class:"pe-button"},"Compare with its parent");resize;timer;tab="steps";width=0;data=null;update(e){this.data=e,S(this.status,e.status),this.status.hidden=!e.status,this.updateForm(e),this.content.hidden=e.scene===null,e.scene!==null&&(S(this.summary,e.summary),S(this.path,e.path),m(this.kinds,...e.kinds.map(t=>this.kindButton(t))),m(this.first,...this.moments(e)),this.map.update(e.scene),this.map.select(e.marked?[e.marked]:[]),e.sides.forEach((t,s)=>{let i=this.sides[s];if(!i)return;i.update(t.inspector??{ref:"",title:t.missing});let o=i.element.querySelector("h3");o&&S(o,`${t.label}: ${t.name}`),d(i.element,"title",t.description),d(i.element,"aria-label",`${t.label}: ${t.name}, ${t.description}`)}),this.showFound())}select(){}hover(){}close(){this.map.close(),this.resize.disconnect(),clearTimeout(this.timer)}form(){let e=s=>s&&this.host.command("compare",{id:s}),t=r("form",{class:"pe-compare-form","aria-label":"compare with"},r("label",{},"with ",this.runs),r("label",{class:"pe-grow"},"or a file ",this.file),r("button",{type:"submit",class:"pe-button"},"Compare"),this.withParent);return t.addEventListener("submit",s=>{s.preventDefault(),e(this.file.value.trim()||this.runs.value)}),this.withParent.addEventListener("click",()=>e(this.data?.parent??"")),t}updateForm(e){this.withParent.hidden=!e.parent;let t=this.runs.value,s=e.choices.map(([i,o])=>r("option",{value:i,selected:i===t},o));this.runs.dataset.of!==JSON.stringify(e.choices)&&(this.runs.dataset.of=JSON.stringify(e.choices),m(this.runs,...s.length>0?s:[r("option",{value:""},"no other live search")]))}body(){let e=r("div",{class:"pe-chips",role:"group","aria-label":"tables of the comparison"});e.append(...this.tabs.values());let t=[...this.tables.values()].map(s=>s.element);return r("div",{class:"pe-compare"},r("div",{class:"pe-compare-head"},this.summary,this.first),r("div",{class:"pe-compare-map"},r("div",{class:"pe-compare-tools"},this.kinds,this.find,this.found),this.map.element,this.path),r("div",{class:"pe-compare-tables"},e,...t),r("div",{class:"pe-compare-sides"},...this.sides.map(s=>s.element)))}addTable(e,t){let s=new L(t.toLowerCase(),{select:o=>this.select_(o),hover:()=>{}}),i=r("button",{type:"button",class:"pe-chip"},t);i.addEventListener("click",()=>this.showTab(e)),this.tables.set(e,s),this.tabs.set(e,i)}showTab(e){this.tab=e;for(let[t,s]of this.tabs)d(s,"aria-pressed",String(t===e));for(let[t,s]of this.tables)d(s.element,"hidden",t!==e);this.showFound()}kindButton(e){let t=r("button",{type:"button",class:"pe-chip","aria-pressed":String(e.shown),title:e.shown?"fold these":"show these"},C(e.kind),`${e.label}: ${e.count}`);return t.addEventListener("click",()=>{let s=(this.data?.kinds??[]).filter(i=>i.shown!==(i.key===e.key));this.change({kinds:s.map(i=>i.key)})}),t}moments(e){if(e.first.length===0)return[r("p",{class:"pe-muted"},"No event differs in what matters.")];let t=e.first.map(s=>{let i=r("span",{},r("b",{},s.label),`: ${s.text}`);if(!s.ref)return i;let o=r("button",{type:"button",class:"pe-link",title:"show it in both"},i);return o.addEventListener("click",()=>this.select_(s.ref)),o});return[r("b",{},"First difference"),...t]}change(e){this.host.look({compare:e})}select_(e){this.change({select:e})}sideHost(e){let t=s=>this.select_(s&&`${e}:${s}`);return{command:()=>{},look:()=>{},select:t,enter:t,hover:()=>{},copy:(s,i)=>this.host.copy(s,i),maximise:()=>this.host.maximise("compare"),show:s=>this.host.show(s),showSizes:()=>{}}}onKey(e){let t=ys[e.key];if(t)this.map.walk(t);else if(e.key==="Enter"&&this.data?.marked)this.change({root:this.data.marked});else return;e.preventDefault(),e.stopPropagation()}showFound(){let e=this.find.value.trim().toLowerCase(),t=(...o)=>o.join(`
`).toLowerCase().includes(e),s=o=>t(o.ref??"",o.tip??"",...(o.texts??[]).map(a=>a.text)),i=this.map.find(e?s:null);for(let[o,a]of this.tables){let l=this.data?.[o]??null;if(!l||o!==this.tab)continue;let p=l.rows.filter(c=>t(...c.cells.map(h=>typeof h=="string"?h:h.text)));a.update(e?{...l,rows:p}:l),a.select(this.data?.marked?[this.data.marked]:[]),this.found.textContent=e?`${i} in the map, ${p.length} in the table`:""}}measure(){clearTimeout(this.timer),this.timer=setTimeout(()=>{let e=this.map.element.clientWidth;e===0||Math.abs(e-this.width)<8||(this.width=e,this.change({map_px:e-ws}))},ks)}};var pe=class{constructor(e){this.host=e;let t=new y("families","Families",e);this.table=new L("families",{select:s=>e.select(s),hover:s=>e.hover(s),choose:(s,i)=>this.choose(s,i),tools:s=>this.tools(s)}),t.body.append(this.bar,this.table.element),this.element=t.element}host;name="families";element;table;bar=r("div",{class:"pe-group pe-chosen",role:"group",hidden:!0});chosen=new Set;anchor="";update(e){this.table.update(e);let t=new Set(this.table.refs);for(let s of this.chosen)t.has(s)||this.chosen.delete(s);this.showChosen()}select(e){this.table.select(e),e[0]&&(this.anchor=e[0])}hover(e){this.table.hover(e)}close(){}choose(e,t){let{refs:s}=this.table,i=s.indexOf(this.anchor),o=s.indexOf(e);if(t&&i>=0)for(let a of s.slice(Math.min(i,o),Math.max(i,o)+1))this.chosen.add(a);else this.chosen.delete(e)||this.chosen.add(e),this.anchor=e;this.showChosen()}showChosen(){for(let a of this.element.querySelectorAll("input[data-choose]"))a.checked=this.chosen.has(a.getAttribute("data-choose")??"");let e=this.table.refs.filter(a=>this.chosen.has(a));this.bar.hidden=e.length===0;let t=(a,l)=>{let p=r("button",{type:"button",class:"pe-button","data-command":l},x(l),r("span",{},a));return p.addEventListener("click",()=>{this.host.command(l,{id:e}),this.clear()}),p},s=r("button",{type:"button",class:"pe-link"},"clear");s.addEventListener("click",()=>this.clear());let i=`${e.length} ${e.length===1?"family":"families"}`;d(this.bar,"aria-label",`${i} chosen`);let o=e.join();this.bar.getAttribute("data-ids")!==o&&(d(this.bar,"data-ids",o),m(this.bar,t(`Accept ${i}`,"accept"),t(`Reject ${i}`,"reject"),s))}clear(){this.chosen.clear(),this.showChosen()}tools(e){let t=i=>{let o=`${i} ${e.ref}`,a=r("button",{type:"button",class:"pe-tool",title:o,"aria-label":o,"data-command":i},x(i));return a.addEventListener("click",()=>this.host.command(i,{id:e.ref})),a},s=r("input",{type:"checkbox","data-choose":e.ref,"aria-label":`choose ${e.ref}`,title:"choose several families; also Ctrl or Shift with a click"});return s.checked=this.chosen.has(e.ref),s.addEventListener("change",()=>this.choose(e.ref,!1)),[s,t("accept"),t("reject")]}},de=class{name="ledger";element;claim=r("p",{class:"pe-claim"});undo=r("button",{type:"button",class:"pe-button"});redo=r("button",{type:"button",class:"pe-button"});script=r("pre",{class:"pe-code",tabindex:0,role:"region","aria-label":"this session as Python"});tables;lines=[];constructor(e){let t=new y("ledger","Summary",e),s={select:a=>e.select(a),hover:a=>e.hover(a)};this.tables={soundness:new L("pruned, by kind of rule",s),reasons:new L("pruned, by reason",s),steering:new L("steering",s),log:new L("log",s)},this.undo.addEventListener("click",()=>e.command("undo")),this.redo.addEventListener("click",()=>e.command("redo"));let i=r("button",{type:"button",class:"pe-button"},x("copy"),r("span",{},"copy as Python"));i.addEventListener("click",()=>e.copy(this.lines.join(`
`),"this session as Python"));let o=(a,...l)=>r("div",{class:"pe-column"},r("h4",{},a),...l);t.body.append(r("div",{class:"pe-ledger"},this.claim,r("div",{class:"pe-columns"},o("Pruned, by kind of rule and by reason",this.tables.soundness.element,this.tables.reasons.element),o("Steering",r("div",{class:"pe-group"},this.undo,this.redo,i),this.tables.steering.element,this.script),o("Log",this.tables.log.element)))),this.element=t.element}update(e){S(this.claim,e.claim),this.tables.soundness.update(e.soundness),this.tables.reasons.update(e.reasons),this.tables.steering.update(e.steering),this.tables.log.update(e.log);for(let[t,s]of[[this.undo,e.undo],[this.redo,e.redo]])m(t,x(s.command==="redo"?"redo":"undo"),r("span",{},s.label)),t.disabled=!s.enabled,d(t,"title",`${s.description}
${s.python}`)}showScript(e){this.lines=e.lines,S(this.script,e.lines.join(`
`)),this.script.hidden=e.lines.length===0}select(e){for(let t of Object.values(this.tables))t.select(e)}hover(e){for(let t of Object.values(this.tables))t.hover(e)}close(){}};var R=class{constructor(e,t){this.choose=t;this.element=r("span",{class:"pe-chooser",role:"group","aria-label":e})}choose;element;drawn="";update(e,t){let s=JSON.stringify(e);s!==this.drawn&&(this.drawn=s,m(this.element,...e.map(i=>this.button(i))));for(let i of this.element.children)d(i,"aria-pressed",String(i.getAttribute("data-choice")===t));this.element.hidden=e.length<2}button(e){let t=r("button",{type:"button",class:"pe-chip",title:e.tip||null,"data-choice":e.name},e.label);return t.addEventListener("click",()=>this.choose(e.name)),t}};var Es=1400,ce=class{constructor(e){this.host=e;this.start.addEventListener("change",()=>e.look({egraph:{start:this.start.value}})),this.end.addEventListener("change",()=>e.look({egraph:{end:this.end.value}})),this.play.addEventListener("click",()=>this.toggle());let t=(s,i,o)=>{let a=r("button",{type:"button",class:"pe-chip",title:o},i);return a.addEventListener("click",()=>this.move(s)),a};this.ends=r("div",{class:"pe-choices"},r("label",{},"from ",this.start),r("label",{},"to ",this.end),t(-1,"‹ previous","the step before ([)"),t(1,"next ›","the next step (])"),this.play),this.element=r("div",{class:"pe-pathbox",hidden:!0},this.ends,this.note,this.list)}host;element;start=r("select",{class:"pe-select","aria-label":"start of the path"});end=r("select",{class:"pe-select","aria-label":"end of the path"});play=r("button",{type:"button",class:"pe-chip"},"play");note=r("p",{class:"pe-muted"});list=r("ol",{class:"pe-path",start:0});ends;data=null;drawn="";timer;close(){this.stop()}update(e){if(this.data=e,this.element.hidden=e===null,e===null){this.stop();return}let t=JSON.stringify([e.tensors,e.steps,e.note]);if(t!==this.drawn){this.drawn=t;for(let i of[this.start,this.end])m(i,...e.tensors.map(Ss));this.note.textContent=e.note,m(this.list,...e.steps.map((i,o)=>this.row(i,o)))}this.ends.hidden=e.tensors.length===0,this.start.value=e.start,this.end.value=e.end,[...this.list.children].forEach((i,o)=>{d(i,"aria-current",o===e.step?"step":null)});let s=this.list.children[e.step];e.step>0&&s?.scrollIntoView?.({block:"nearest"})}move(e){let{data:t}=this,s=(t?.step??0)+e;if(!t||s<0||s>=t.steps.length){this.stop();return}this.look(s)}look(e){this.host.look({egraph:{step:e}})}toggle(){if(this.timer!==void 0){this.stop();return}this.data&&this.data.step>=this.data.steps.length-1&&this.look(0),this.timer=setInterval(()=>this.move(1),Es),this.play.textContent="stop"}stop(){clearInterval(this.timer),this.timer=void 0,this.play.textContent="play"}row(e,t){let s=r("button",{type:"button",class:"pe-link"},e.ref);s.addEventListener("click",()=>this.host.select(e.ref));let i=r("button",{type:"button",class:"pe-term","aria-label":`step ${t}: ${e.before}${e.changed}${e.after}`},e.before,e.changed?r("mark",{},e.changed):null,e.after);i.addEventListener("click",()=>this.look(t));let o=e.replaced?r("span",{class:"pe-muted"}," · was ",r("s",{},e.replaced)):null,a=r("div",{class:"pe-reasoning"},`${e.why} · `,s,o);return r("li",{},i,a)}};function Ss(n){return r("option",{value:n.name},n.label)}var F=class{constructor(e,t,s,i,o){this.emptyText=o;let a={select:l=>i.select(l),enter:l=>i.enter(l),hover:l=>i.hover(l)};this.stage=new H(e,"listbox",a),this.stage.scroll=!0,this.table=new L(s,a),this.frame=new y(e,t,i,[v("minus","zoom out (Ctrl + wheel)",()=>this.stage.zoom(1/1.25)),v("plus","zoom in (Ctrl + wheel)",()=>this.stage.zoom(1.25)),v("fit","fit into the panel (0)",()=>this.stage.fit())]),this.left=r("div",{class:"pe-left"},this.stage.element,this.empty),this.split=r("div",{class:"pe-split"},this.left,this.table.element),this.frame.body.append(this.split),this.element=this.frame.element}emptyText;element;frame;stage;table;hint=r("span",{class:"pe-muted"});split;left;empty=r("p",{class:"pe-empty"});show(e,t,s){this.frame.caption.textContent=e,this.stage.element.classList.toggle("pe-hidden",t===null),this.empty.hidden=t!==null,this.empty.textContent=t===null?e||this.emptyText:"",t&&this.stage.update(t),this.table.update(s),d(this.split,"data-single",s.rows.length===0),this.hint.textContent=s.rows.length===0?s.empty_text:""}select(e){this.stage.select(e),this.table.select(e)}hover(e){this.stage.hover(e),this.table.hover(e)}close(){this.stage.close()}};var he=class extends F{constructor(t){super("eclasses","E-classes","lemmas of the proof",t,"No candidate has a verdict yet.");this.host=t;this.modes=new R("what is shown",o=>this.choose(o)),this.rules=new R("axioms that changed the e-graph",o=>this.look({rule:o})),this.ruleRow=r("div",{class:"pe-choices"},r("span",{class:"pe-muted"},"axioms and matches:"),this.rules.element);let s=(o,a,l)=>{let p=r("button",{type:"button",class:"pe-chip",title:l},a);return p.addEventListener("click",()=>this.move(o)),p};this.frames=r("span",{class:"pe-chooser pe-frames"},s(-1,"‹ previous","the frame before ([)"),this.range,s(1,"next ›","the next frame (])"),this.number),this.range.addEventListener("input",()=>this.showFrame(Number(this.range.value))),this.more.addEventListener("click",()=>this.look({more:!0})),this.path=new ce(t);let i=r("div",{class:"pe-choices"},this.modes.element,this.frames,this.more,this.hint);this.frame.body.prepend(i,this.ruleRow),this.left.append(this.path.element),this.element.addEventListener("keydown",o=>this.onKey(o))}host;name="eclasses";modes;rules;ruleRow;range=r("input",{type:"range",min:0,step:1,"aria-label":"frame of the e-graph"});frames;number=r("span",{class:"pe-muted"});more=r("button",{type:"button",class:"pe-button"});path;slider=null;data=null;update(t){this.data=t,this.slider=t.slider,this.modes.update(t.modes,t.mode),this.rules.update(t.rules,t.rule),this.rules.element.hidden=!1,this.ruleRow.hidden=t.rules.length===0,this.frames.hidden=t.slider===null||t.slider.last===0,t.slider&&(this.range.max=String(t.slider.last),this.range.value=String(t.slider.number),this.number.textContent=`frame ${t.slider.number} of ${t.slider.last}`),this.more.hidden=t.more==="",this.more.textContent=t.more,this.show(t.caption,t.scene,t.lemmas),this.path.update(t.path),d(this.left,"data-path",t.path!==null)}close(){super.close(),this.path.close()}look(t){this.host.look({egraph:t})}choose(t){this.look({mode:t}),this.data&&(t==="egraph"&&this.data.slider===null&&this.host.select(this.data.frame_ref),t==="classes"&&this.data.slider!==null&&this.host.select(this.data.subject))}move(t){this.data?.path?this.path.move(t):this.slider&&this.showFrame(this.slider.number+t)}showFrame(t){let{slider:s}=this;!s||t<0||t>s.last||t===s.number||this.host.select(`${s.lemma}${t}${s.focus}`)}onKey(t){let s={"[":-1,"]":1}[t.key];s===void 0||t.altKey||t.ctrlKey||t.metaKey||this.slider===null&&!this.data?.path||(this.move(s),t.preventDefault(),t.stopPropagation())}};var Ms={add:(n,e)=>n+e,subtract:(n,e)=>n-e,multiply:(n,e)=>n*e,divide:(n,e)=>n/e,less:(n,e)=>+(n<e),less_equal:(n,e)=>+(n<=e),greater:(n,e)=>+(n>e),logical_and:(n,e)=>+(n!==0&&e!==0),where:(n,e,t)=>n?e:t,ceil:n=>Math.ceil(n),sqrt:n=>Math.sqrt(n)};function yt(n,e){let t=[];for(let[s,i,o,a]of n){let l=p=>t[Number(p??0)]??Number.NaN;s==="number"?t.push(Number(i)):s==="symbol"?t.push(e[String(i)]??Number.NaN):t.push(Ms[String(s)]?.(l(i),l(o),l(a))??Number.NaN)}return t}var Ls={bytes:[[2**30,"GiB"],[2**20,"MiB"],[2**10,"KiB"],[1,"B"]],seconds:[[1,"s"],[.001,"ms"],[1e-6,"µs"],[1e-9,"ns"]],flops:[[1e12,"Tflop"],[1e9,"Gflop"],[1e6,"Mflop"],[1e3,"kflop"],[1,"flop"]],count:[[1,""]]};function me(n,e){if(!Number.isFinite(n))return"unknown";if(e==="count")return w(n);let t=Ls[e],[s,i]=t.find(([o])=>Math.abs(n)>=.9995*o)??t.at(-1)??[1,""];return`${kt(n/s)} ${i}`}function X(n){return Number.isInteger(n)?String(n):w(n)}function w(n){return Number.isFinite(n)?Number.isInteger(n)?n.toLocaleString("en"):kt(n,4):"?"}function kt(n,e=3){return Math.abs(n)>=10**(e-1)?Math.round(n).toLocaleString("en"):String(Number(n.toPrecision(e)))}var D=class{stage;frame;table=r("div",{class:"pe-tablebox",hidden:!0});constructor(e,t,s,i,o=[],a){this.stage=new H(e,s,{select:l=>i.select(l),enter:l=>i.enter(l),hover:l=>i.hover(l),act:a}),this.frame=new y(e,t,i,[...o,v("minus","zoom out (Ctrl + wheel)",()=>this.stage.zoom(1/1.25)),v("plus","zoom in (Ctrl + wheel)",()=>this.stage.zoom(1.25)),v("fit","fit into the panel (0)",()=>this.stage.fit()),v("table","show as a table (t)",()=>this.toggleTable())]),this.frame.body.append(this.stage.element,this.table)}toggleTable(){this.table.hidden=!this.table.hidden,this.stage.element.hidden=!this.table.hidden,this.table.hidden||m(this.table,this.stage.table())}updated(){this.table.hidden||m(this.table,this.stage.table())}};var wt="sizes",ue=class{constructor(e){this.host=e;this.toggle=v("collapse","collapse all kernels",()=>this.toggleAll()),this.picture=new D("graph","sGraph","listbox",e,[this.toggle],(t,s)=>t==="enter"?this.show(s):this.toggleKernel(s)),this.stage=this.picture.stage,this.element=this.picture.frame.element,this.picture.frame.body.prepend(this.trail,this.alternatives),this.picture.frame.body.append(this.empty),this.element.addEventListener("keydown",t=>this.onKey(t))}host;name="graph";element;stage;picture;trail=r("nav",{class:"pe-trail","aria-label":"what is shown"});alternatives=r("div",{class:"pe-picture-chips",role:"group","aria-label":"candidates"});toggle;empty=r("p",{class:"pe-empty"});data=null;selected="";sizes=null;enter(){this.toggleKernel(this.selected)}toggleTable(){this.picture.toggleTable()}update(e){this.data=e;let t=e.kernels.some(i=>i.expanded);this.toggle.hidden=e.kernels.length===0||e.entered!=="",m(this.toggle,x(t?"collapse":"expand"));let s=`${t?"collapse":"expand"} all kernels; Enter on a kernel toggles it alone`;d(this.toggle,"title",s),d(this.toggle,"aria-label",s),this.picture.frame.caption.textContent=e.caption,this.empty.hidden=e.scene!==null,this.empty.textContent=e.scene===null?e.caption:"",this.picture.stage.element.classList.toggle("pe-hidden",e.scene===null),this.draw(),this.picture.updated(),this.drawTrail(e),this.drawAlternatives(e)}showSizes(e,t,s){let i=t.map(({shape:o,dims:a})=>[o,a.map(l=>X(s[l]??Number.NaN)).join(" × ")]);this.sizes={subject:e,texts:new Map(i)},this.draw()}select(e){this.selected=e[0]??"",this.picture.stage.select(e)}hover(e){this.picture.stage.hover(e)}close(){this.picture.stage.close()}draw(){let{data:e,sizes:t}=this;if(!e?.scene)return;let s=t?.subject===e.subject;this.picture.stage.update(s?Ts(e.scene,t.texts):e.scene)}kernelOf(e){return this.data?.kernels.find(t=>e===t.ref||e.startsWith(`${t.ref}.`))??null}toggleKernel(e){let t=this.kernelOf(e);t&&this.host.look({graph:{kernels:[t.ref],expanded:!t.expanded}})}show(e){this.host.look({graph:{entered:e}}),this.picture.stage.focus()}toggleAll(){let e=this.data?.kernels??[],t=!e.some(s=>s.expanded);this.host.look({graph:{kernels:e.map(s=>s.ref),expanded:t}})}onKey(e){let t=this.kernelOf(this.selected);if(e.key==="Backspace"&&this.data?.entered)this.show("");else if(e.key==="Enter"&&e.shiftKey&&t)this.show(t.ref);else return;e.preventDefault(),e.stopPropagation()}drawTrail(e){this.trail.hidden=e.trail.length<2;let s=e.trail.map(({label:i,shows:o},a)=>{let l=a===e.trail.length-1;if(l||o==="")return r("span",{"aria-current":l?"location":null},i);let p=r("button",{type:"button",class:"pe-link"},i);return p.addEventListener("click",()=>this.host.look({graph:o==="program"?{program:!0}:{entered:""}})),p}).flatMap((i,o)=>o===0?[i]:[r("span",{"aria-hidden":"true"},"▸"),i]);m(this.trail,...s)}drawAlternatives(e){this.alternatives.hidden=e.alternatives.length<2,m(this.alternatives,...e.alternatives.map(({ref:t,label:s})=>{let i=t===e.subject?"true":"false",o=r("button",{type:"button",class:"pe-chip","aria-pressed":i},s);return o.addEventListener("click",()=>this.host.select(t)),o}))}};function Ts(n,e){let t=n.items.map(s=>{let i=s.type==="shape"?e.get(s.id):void 0;return i===void 0||!s.texts?.some(o=>o.kind===wt)?s:{...s,texts:s.texts.map(o=>o.kind===wt?{...o,text:i}:o)}});return{...n,items:t}}var fe=class{constructor(e){this.host=e;this.picture=new D("map","Search map","tree",e),this.stage=this.picture.stage,this.reasons=new H("reasons","listbox",{select:t=>e.select(t),enter:t=>e.enter(t),hover:t=>e.hover(t)}),this.reasons.element.classList.add("pe-strip"),this.stage.scroll=!0,this.reasons.scroll=!0,this.modes=new R("modes of the search map",t=>this.look({mode:t})),this.similar.textContent="mark similar",this.similar.addEventListener("click",()=>this.look({similar:!this.marksSimilar})),this.element=this.picture.frame.element,this.choices=r("div",{class:"pe-choices"},this.modes.element,this.similar,this.interval),this.picture.frame.body.prepend(this.choices),this.picture.frame.body.append(this.reasons.element),this.stage.overlay.append(this.preview),this.stage.element.addEventListener("pointerdown",t=>this.drag(t),{capture:!0}),this.stage.element.addEventListener("click",t=>this.toggle(t),{capture:!0}),this.element.addEventListener("keydown",t=>this.onKey(t))}host;name="map";element;picture;stage;reasons;modes;similar=r("button",{type:"button",class:"pe-chip",title:"mark everything with the same operators and reasons as the selection (s)"});choices;interval=r("span",{class:"pe-chooser"});preview=f("rect",{class:"pe-brush",visibility:"hidden"});selected=[];brush=null;marksSimilar=!1;drawn="";toggleTable(){this.picture.toggleTable()}update(e){this.modes.update(e.modes,e.mode),this.marksSimilar=e.similar,d(this.similar,"aria-pressed",String(e.similar)),this.choices.hidden=e.modes.length===0,this.brush=e.brush,this.showInterval(e.brush),this.stage.update(e.scene),this.stage.filter(e.dimmed),this.picture.updated(),this.reasons.element.hidden=e.mode==="reasons",this.reasons.update(e.reasons),this.picture.frame.caption.textContent=e.summary}select(e){this.selected=e,this.stage.select(e),this.reasons.select(e)}hover(e){this.stage.hover(e),this.reasons.hover(e)}close(){this.stage.close(),this.reasons.close()}look(e){this.host.look({map:e})}showInterval(e){let t=JSON.stringify(e);if(t===this.drawn||(this.drawn=t,this.interval.replaceChildren(),!e?.interval))return;let s=(i,o,a)=>{let l=r("button",{type:"button",class:"pe-chip",title:o},i);l.addEventListener("click",a),this.interval.append(l)};s(`${e.interval} ×`,"show all events",()=>this.look({interval:[]})),s("look back to its end","show the search as it was after the last event of the interval",()=>this.host.look({cursor:e.end}))}toggle(e){let t=e.target.closest(".k-toggle")?.getAttribute("data-id")??"",[s,...i]=t.split("#");s!=="open"&&s!=="close"||(e.stopPropagation(),this.expand(i.join("#"),s==="open"))}expand(e,t){this.look(t?{open:e}:{close:e})}onKey(e){if(!(e.altKey||e.ctrlKey||e.metaKey||e.defaultPrevented)&&!e.target.closest("input, select, textarea")){if(e.key==="s")this.look({similar:!this.marksSimilar});else if(e.key==="c")this.toggleSelected();else return;e.preventDefault(),e.stopPropagation()}}toggleSelected(){let e=this.stage.shown?.items.find(t=>t.type==="shape"&&t.role==="block"&&t.ref!==void 0&&this.selected.includes(t.ref));e&&this.expand(e.id,e.kind.startsWith("collapsed"))}drag(e){let{brush:t}=this;if(!t||e.button!==0)return;let s=this.stage.at(e).x;if(s<t.left||s>t.right)return;let i=s,o=!1,a=h=>Math.round(t.first+(h-t.left)/(t.right-t.left)*(t.end-t.first)),l=h=>{i=Math.min(t.right,Math.max(t.left,this.stage.at(h).x)),o||=Math.abs(i-s)>4,o&&(d(this.preview,"visibility","visible"),d(this.preview,"x",String(Math.min(s,i))),d(this.preview,"width",String(Math.abs(i-s))),d(this.preview,"y","0"),d(this.preview,"height",String(this.stage.shown?.height??0)))},p=h=>{l(h);for(let[k,E]of c)window.removeEventListener(k,E);d(this.preview,"visibility","hidden");let[u,g]=[a(Math.min(s,i)),a(Math.max(s,i))-1];o&&h.type==="pointerup"&&g>u&&this.look({interval:[u,g]})},c=[["pointermove",l],["pointerup",p],["pointercancel",p]];for(let[h,u]of c)window.addEventListener(h,u);e.stopPropagation()}};var ge=class{constructor(e){this.host=e;this.frame=new y("questions","What-if",e),this.table=new L("questions",{select:t=>e.select(t),hover:t=>e.hover(t),tools:t=>this.tools(t)}),this.form.addEventListener("submit",t=>{t.preventDefault(),this.submit()}),this.frame.body.append(r("div",{class:"pe-questions"},this.form,this.table.element)),this.element=this.frame.element}host;name="questions";element;frame;table;form=r("form",{class:"pe-form","aria-label":"what if"});open=[];text="";update(e){this.open=e.open,this.frame.caption.textContent=e.caption,this.table.update(e.table);let t=JSON.stringify(e.form);t!==this.text&&(this.text=t,this.form.hidden=e.form===null,e.form&&this.draw(e.form))}select(e){this.table.select(e)}hover(e){this.table.hover(e)}close(){}draw(e){let t=r("select",{class:"pe-select",name:"target"}),s=e.targets.includes(e.target)?e.targets:[e.target,...e.targets];for(let l of s)b(t,r("option",{value:l,selected:l===e.target},l));let i=(l,p,c,h)=>r("label",{},r("span",{},p),r("input",{class:"pe-number",type:"number",min:0,name:l,value:c,placeholder:h})),o=e.rules.map(([l,p])=>r("label",{class:"pe-check",title:p},r("input",{type:"checkbox",name:"rules_off",value:l}),r("code",{},l))),a=r("input",{type:"checkbox",name:"run"});m(this.form,r("div",{class:"pe-group"},r("button",{type:"submit",class:"pe-button","data-command":"what_if"},x("help"),"What if?"),r("label",{class:"pe-check",title:"Run the search with the changed settings too, and compare the proved families; this takes longer."},a,"run the search too")),r("div",{class:"pe-fields"},r("label",{},r("span",{},"machine"),t),i("shared_memory_bytes","shared memory, B","","unchanged"),...e.limits.map(({name:l,label:p,value:c})=>i(l,p,"",String(c)))),r("fieldset",{},r("legend",{},"rules off"),r("div",{class:"pe-checks"},...o))),d(this.form,"data-target",e.target)}submit(){let e=new FormData(this.form),t={};for(let[i,o]of e)i==="rules_off"||i==="run"||(i==="target"?o!==this.form.getAttribute("data-target")&&(t[i]=String(o)):o!==""&&(t[i]=Number(o)));let s=e.getAll("rules_off").map(String);s.length>0&&(t.rules_off=s),e.has("run")&&(t.run=!0),this.host.command("what_if",t)}tools(e){if(!this.open.includes(e.ref))return[];let t=`cancel ${e.ref}`,s=r("button",{type:"button",class:"pe-tool",title:t,"aria-label":t,"data-command":"withdraw"},x("close"));return s.addEventListener("click",()=>this.host.command("withdraw",{id:e.ref})),[s]}};var Cs=150,Hs=96,Et=16,$s=64,ve=class{constructor(e){this.host=e;this.kernels.addEventListener("change",()=>{this.shown=this.kernels.value,this.draw()}),this.element.append(r("h4",{},"What one block reads and writes"),this.kernels,this.steppers,this.figures)}host;element=r("div",{class:"pe-regions"});kernels=r("select",{"aria-label":"kernel"});steppers=r("div",{class:"pe-steppers"});figures=r("div",{class:"pe-accesses"});data=[];forms=[];shown="";at=new Map;update(e){this.data=e,e.some(t=>t.ref===this.shown)||(this.shown=e[0]?.ref??""),m(this.kernels,...e.map(t=>r("option",{value:t.ref},t.label))),this.kernels.value=this.shown,this.kernels.hidden=e.length<2,this.element.hidden=e.length===0}evaluate(e){this.forms=e,this.draw()}select(e){let t=this.data.find(s=>e===s.ref||e.startsWith(`${s.ref}.`));t&&t.ref!==this.shown&&(this.shown=t.ref,this.kernels.value=t.ref,this.draw());for(let s of this.figures.querySelectorAll("[data-ref]"))d(s,"aria-current",s.getAttribute("data-ref")===e?"true":null)}kernel(){return this.data.find(e=>e.ref===this.shown)??null}value(e){return this.forms[e]??Number.NaN}count(e,t){let s=e.steppers.find(i=>i.name===t)?.form??-1;return Math.max(1,Math.floor(this.value(s))||1)}position(e,t){return Math.min(this.at.get(`${e.ref} ${t}`)??0,this.count(e,t)-1)}move(e,t){for(let[s,i]of Object.entries(t)){let o=this.count(e,s)-1;this.at.set(`${e.ref} ${s}`,Math.max(0,Math.min(o,Math.round(i)||0)))}this.draw()}draw(){let e=this.kernel();if(!e||this.forms.length===0)return;this.drawSteppers(e);let t=e.accesses.map(i=>this.figure(e,i)),s=this.figures.querySelector("[aria-current]")?.getAttribute("data-ref");m(this.figures,...t);for(let i of t)i.getAttribute("data-ref")===s&&d(i,"aria-current","true")}drawSteppers(e){let t=e.steppers.map(s=>`${e.ref} ${s.name}`).join();if(this.steppers.getAttribute("data-of")!==t){d(this.steppers,"data-of",t);let s=e.steppers.map(i=>this.stepper(e,i.name,i.loop));m(this.steppers,...s.length>0?s:[r("p",{class:"pe-muted"},"One block, no loop.")])}e.steppers.forEach((s,i)=>{let o=this.steppers.children[i],a=o?.querySelector("input"),l=this.count(e,s.name);if(!o||!a)return;a.max=String(l-1),a.value!==String(this.position(e,s.name))&&(a.value=String(this.position(e,s.name)));let p=o.querySelector(".pe-of");p&&(p.textContent=`of ${w(this.value(s.form))}`)})}stepper(e,t,s){let i=s?`loop step ${t}`:`block ${t}`,o=r("input",{type:"number",min:0,step:1,"aria-label":i});o.addEventListener("input",()=>this.move(e,{[t]:Number(o.value)}));let a=l=>()=>this.move(e,{[t]:this.position(e,t)+l});return r("div",{class:"pe-stepper"},r("span",{},i),v("minus",`previous ${i}`,a(-1)),o,v("plus",`next ${i}`,a(1)),r("span",{class:"pe-of pe-muted"}))}figure(e,t){let s=t.dims.map(a=>this.range(e,a)),i=s.map(([a,l])=>`${X(a)}:${X(l)}`).join(", "),o=r("button",{type:"button",class:"pe-link pe-mono",title:`select this ${t.kind}`},`${t.label}[${i}]`);return o.addEventListener("click",()=>this.host.select(t.ref)),r("figure",{class:"pe-access","data-ref":t.ref,"data-kind":t.kind},r("figcaption",{},r("span",{class:"pe-muted"},t.kind),o),this.outline(e,t,s),r("p",{class:"pe-muted"},this.sharing(e,t)))}range(e,t){let s=0;for(let[i,o]of t.strides)s+=this.value(o)*this.position(e,i);return[s,s+this.value(t.tile)]}sharing(e,t){if(t.open)return"The map is unbound: the full tensor is shown.";let s=new Set(t.dims.flatMap(c=>c.strides.map(([h])=>h))),i=e.steppers.filter(c=>!s.has(c.name)),o=i.filter(c=>!c.loop).reduce((c,h)=>c*this.count(e,h.name),1),a=i.find(c=>c.loop&&this.count(e,c.name)>1),l=t.kind==="load"?"read":"write",p=[o>1?`${w(o)} blocks ${l} this region`:`only this block ${l}s it`];return t.kind==="load"&&a&&p.push(`every iteration of ${a.name} reads it again`),t.kind==="store"&&o>1&&p.push("right only if all write the same values"),`${p.join("; ")}.`}outline(e,t,s){let i=t.dims.length;if(i===0)return r("p",{class:"pe-muted"},"a scalar");let o=t.dims[i-1],a=t.dims[i-2],[l,p]=[this.extent(o),this.extent(a)],c=Math.min(Cs/l,Hs/p),[h,u]=[Math.max(Et,l*c),Math.max(Et,p*c)],[g,k]=s[i-1]??[0,1],[E,M]=s[i-2]??[0,1],_=(N,Ie,Ve,Y)=>{let We=Math.min(Y,Math.max(2,(Ie-N)/Ve*Y));return[Math.max(0,Math.min(Y-We,N/Ve*Y)),We]},[P,U]=_(g,k,l,h),[It,Kt]=_(E,M,p,u),Bt=this.borders(o,l,h),Ft=this.borders(a,p,u),qe=f("svg",{class:"pe-outline",width:h+2,height:u+2,viewBox:`-1 -1 ${h+2} ${u+2}`,role:"img","aria-label":`${t.label}: rows ${w(E)} to ${w(M)} of ${w(p)}, columns ${w(g)} to ${w(k)} of ${w(l)}`},f("rect",{class:"pe-whole",x:0,y:0,width:h,height:u}),...Bt.map(N=>f("path",{class:"pe-border",d:`M${N},0V${u}`})),...Ft.map(N=>f("path",{class:"pe-border",d:`M0,${N}H${h}`})),f("rect",{class:"pe-region",x:P,y:It,width:U,height:Kt}));return this.draggable(qe,e,(N,Ie)=>({...this.blockAt(e,o,N*l),...this.blockAt(e,a,Ie*p)})),qe}extent(e){let t=e?this.value(e.extent):1;return t>0?t:1}borders(e,t,s){let i=e?t/this.value(e.tile):1;return!(i>1)||i>Math.min($s,s/3)?[]:Array.from({length:Math.ceil(i)-1},(o,a)=>(a+1)*s/i)}blockAt(e,t,s){let i={},o=Math.max(0,s);for(let[a,l]of t?.strides??[]){let p=this.value(l),c=Math.min(this.count(e,a)-1,Math.floor(o/p));i[a]=c,o-=c*p}return i}draggable(e,t,s){e.addEventListener("pointerdown",i=>{let o=e.getBoundingClientRect(),a=p=>this.move(t,s((p.clientX-o.left)/o.width,(p.clientY-o.top)/o.height)),l=()=>{window.removeEventListener("pointermove",a),window.removeEventListener("pointerup",l),window.removeEventListener("pointercancel",l)};window.addEventListener("pointermove",a),window.addEventListener("pointerup",l),window.addEventListener("pointercancel",l),a(i),i.preventDefault()})}};var be=13,xe=class{constructor(e){this.host=e;this.stage=new H("sizes","listbox",{select:s=>e.select(s),enter:s=>e.select(s),hover:s=>e.hover(s)}),this.stage.scroll=!0,this.regions=new ve(e),this.frame=new y("sizes","Sizes",e),this.plot.append(this.stage.element,this.point),this.reset.addEventListener("click",()=>this.setAll({})),this.copy.addEventListener("click",()=>e.copy(this.python(),"the call"));let t=r("div",{class:"pe-group"},this.reset,this.copy);this.body.append(r("div",{class:"pe-part"},this.origin,this.sliders,this.legal,t),r("div",{class:"pe-part"},r("h4",{},"At these sizes"),this.figures),this.plot,this.regions.element),this.frame.body.append(this.body),this.element=this.frame.element}host;name="sizes";element;stage;frame;origin=r("p",{class:"pe-muted"});sliders=r("div",{class:"pe-sliders",role:"group","aria-label":"sizes"});legal=r("ul",{class:"pe-limits","aria-live":"polite"});figures=r("dl",{class:"pe-figures"});point=r("p",{class:"pe-muted"});plot=r("div",{class:"pe-plot"});reset=r("button",{type:"button",class:"pe-button"},"reset");copy=r("button",{type:"button",class:"pe-button"},"copy as Python");regions;body=r("div",{class:"pe-sizes"});data=null;chosen={};update(e){let t=this.data;this.data=e,t?.subject!==e.subject&&(this.chosen={}),this.frame.caption.textContent=e.caption,S(this.origin,e.origin?`Start: ${e.origin}.`:""),this.body.hidden=e.subject==="",JSON.stringify(t?.sliders)!==JSON.stringify(e.sliders)&&this.drawSliders(e.sliders),this.regions.update(e.kernels),this.plot.hidden=e.roofline===null,this.compute()}select(e){this.stage.select(e),this.regions.select(e[0]??"")}hover(e){this.stage.hover(e)}close(){this.stage.close()}value(e){return this.chosen[e.symbol]??e.value}setAll(e){this.chosen=e;for(let t of this.data?.sliders??[])this.placeSlider(t);this.compute()}python(){let e=(this.data?.sliders??[]).map(t=>`${t.symbol}=${this.value(t)}`);return`${this.data?.python??""}${e.join(", ")})`}drawSliders(e){let t=e.map(s=>{let i=r("input",{type:"range",min:0,max:s.values.length-1,step:1,"data-symbol":s.symbol,"aria-label":s.label,disabled:s.values.length<2});i.addEventListener("input",()=>{this.chosen={...this.chosen,[s.symbol]:s.values[Number(i.value)]??s.value},this.placeSlider(s),this.compute()});let o=s.values.length<2?`${w(s.value)} is the only legal value`:s.label;return r("label",{class:"pe-slider",title:o},r("span",{},s.label),i,r("output"))});m(this.sliders,...t.length>0?t:[r("p",{class:"pe-muted"},"It has no symbolic size.")]);for(let s of e)this.placeSlider(s)}placeSlider(e){let t=[...this.sliders.querySelectorAll("input")].find(l=>l.getAttribute("data-symbol")===e.symbol);if(!t)return;let s=this.value(e),i=String(Math.max(0,e.values.indexOf(s)));t.value!==i&&(t.value=i);let o=`${e.symbol} = ${w(s)}`;d(t,"aria-valuetext",o);let a=t.parentElement?.querySelector("output");a&&(a.textContent=o)}compute(){let{data:e}=this;if(!e||e.subject==="")return;let t=Object.fromEntries(e.sliders.map(i=>[i.symbol,this.value(i)])),s=yt(e.forms,t);this.drawLimits(e.limits,s),m(this.figures,...e.figures.flatMap(i=>Ps(i,s))),e.roofline&&this.drawPoint(e.roofline,s),this.regions.evaluate(s),this.host.showSizes(e.subject,e.shapes,s),this.reset.disabled=Object.keys(this.chosen).length===0}drawLimits(e,t){let s=e.map(a=>Rs(a,t)).filter(a=>a!=="");d(this.legal,"data-broken",s.length>0);let i=e.length===0?"The limits of the machine are not known here.":"These sizes are legal.",o=s.length>0?["These sizes are illegal:",...s]:[i];[...this.legal.children].map(a=>a.textContent).join()!==o.join()&&m(this.legal,...o.map(a=>r("li",{},a)))}drawPoint(e,t){let s=h=>h===null?Number.NaN:t[h]??Number.NaN,i=s(e.flops)/s(e.memory_bytes),o=Math.min(e.peak,i*e.bandwidth),a=e.time_s===null?o:s(e.flops)/s(e.time_s),l=i*e.bandwidth<e.peak?"memory":"compute",p=`${me(a,"flops")}/s`,c=e.time_s===null?`◆ ${w(i)} flop/byte modelled: at most ${p}, the ${l} roof`:`◆ ${w(i)} flop/byte, ${p} modelled: ${Math.round(100*a/o)} % of the ${l} roof`;S(this.point,c),this.stage.update(As(e,i,a,c))}};function As(n,e,t,s){let[i,o,a,l]=n.area;if(!(e>0&&t>0))return n.scene;let p=(k,[E,M])=>Math.max(0,Math.min(1,Math.log(k/E)/Math.log(M/E))),c=i+(a-i)*p(e,n.x),h=l-(l-o)*p(t,n.y),u={type:"shape",id:"sizes#point",role:"mark",kind:"trial-best",outline:"diamond",x:c-be/2,y:h-be/2,w:be,h:be,tip:s},g=[...n.scene.items,u];return{...n.scene,items:g}}function Rs({form:n,most:e,text:t,what:s},i){let o=i[n]??Number.NaN;return e===null?Number.isInteger(o)&&o>=1?"":`${t} = ${w(o)} is not a positive whole number: ${s}`:o>e?`${t} = ${w(o)} exceeds ${w(e)}: ${s}`:""}function Ps(n,e){let t=e[n.form]??Number.NaN,s=me(t,n.unit),i=r("dd",{},r("strong",{},s)," ",r("span",{class:"pe-muted"},n.note));if(n.limit!==null){let o=t/n.limit,a=me(n.limit,n.unit),l=o>1?`exceeds the limit of ${a}`:`${Math.round(100*o)} % of ${a}`,p=Math.max(0,Math.min(1,o||0))*100,c=f("svg",{class:"pe-use",viewBox:"0 0 100 8",preserveAspectRatio:"none","aria-hidden":"true"},f("rect",{class:"pe-all",width:100,height:8}),f("rect",{class:"pe-used",width:p,height:8}));i.append(c,r("span",{class:o>1?"pe-over":null},l))}return[r("dt",{},n.label),i]}var Ns=14,ye=24,ke=class{constructor(e,t){this.stage=e;this.choose=t;e.overlay.append(this.preview,this.handles),e.element.addEventListener("pointerdown",s=>this.drag(s),{capture:!0})}stage;choose;axes=[];preview=f("rect",{class:"pe-brush",visibility:"hidden"});handles=f("g");update(e){let t=document.activeElement?.getAttribute("data-handle");this.axes=e,m(this.handles,...e.flatMap(s=>[this.handle(s,"low"),this.handle(s,"high")])),t&&this.handles.querySelector(`[data-handle="${CSS.escape(t)}"]`)?.focus()}handle(e,t){let s=e[t],i=(e.ys[s]??0)+(t==="low"?8:-8),o=t==="low"?1:-1,a=f("g",{class:"pe-handle",role:"slider",tabindex:0,"data-handle":`${e.name}/${t}`,"aria-orientation":"vertical","aria-label":`${e.name}, ${t==="low"?"least":"largest"} value`,"aria-valuemin":0,"aria-valuemax":e.values.length-1,"aria-valuenow":s,"aria-valuetext":e.texts[s]??""},f("rect",{x:e.x-ye/2,y:i-ye/2,width:ye,height:ye,class:"pe-target"}),f("path",{d:`M${e.x-6},${i+4*o} h12 l-6,${-8*o} z`}));return a.addEventListener("keydown",l=>{let p=e.values.length-1,c={ArrowUp:s+1,ArrowDown:s-1,Home:0,End:p}[l.key];if(l.key==="Delete"||l.key==="Backspace")this.choose([e.name]);else{if(c===void 0)return;t==="low"?this.send(e,Math.min(c,e.high),e.high):this.send(e,e.low,Math.max(c,e.low))}l.preventDefault(),l.stopPropagation()}),a}send(e,t,s){let i=e.values.length-1,[o,a]=[Math.max(0,Math.min(t,s)),Math.min(i,Math.max(t,s))];o===e.low&&a===e.high||(o===0&&a===i?this.choose([e.name]):this.choose([e.name,e.values[o]??0,e.values[a]??0]))}drag(e){if(e.button!==0||this.axes.length===0)return;let t=this.stage.at(e),s=this.axes.find(u=>Math.abs(u.x-t.x)<=Ns);if(!s)return;let[i=0,o=0]=[s.ys[0],s.ys.at(-1)];if(t.y>i+12||t.y<o-12)return;let a=t,l=!1,p=u=>{a=this.stage.at(u),l||=Math.abs(a.y-t.y)>4,l&&(d(this.preview,"visibility","visible"),d(this.preview,"x",String(s.x-10)),d(this.preview,"width","20"),d(this.preview,"y",String(Math.min(t.y,a.y))),d(this.preview,"height",String(Math.abs(a.y-t.y))))},c=u=>{p(u);for(let[P,U]of h)window.removeEventListener(P,U);if(d(this.preview,"visibility","hidden"),!l||u.type==="pointercancel")return;let[g,k]=[Math.min(t.y,a.y)-4,Math.max(t.y,a.y)+4],E=s.ys.flatMap((P,U)=>P>=g&&P<=k?[U]:[]),[M,_]=[E[0],E.at(-1)];M!==void 0&&_!==void 0&&this.send(s,M,_)},h=[["pointermove",p],["pointerup",c],["pointercancel",c]];for(let[u,g]of h)window.addEventListener(u,g);e.stopPropagation()}};var we=class extends F{constructor(t){super("tuning","Tuning","trials",t,"No trial has been measured yet.");this.host=t;this.modes=new R("charts",s=>t.look({tuning:{mode:s}})),this.brush=new ke(this.stage,s=>t.look({tuning:{brush:s}})),this.tops.addEventListener("change",()=>t.look({tuning:{top:Number(this.tops.value)}})),this.frame.body.prepend(r("div",{class:"pe-choices"},this.modes.element,this.tops,this.intervals,this.hint))}host;name="tuning";modes;tops=r("select",{class:"pe-select","aria-label":"trials in the table"});intervals=r("div",{class:"pe-chips",role:"group","aria-label":"brush"});brush;shown="";update(t){this.modes.update(t.modes,t.mode);let s=JSON.stringify(t.tops);s!==this.shown&&(this.shown=s,m(this.tops,...t.tops.map(i=>r("option",{value:i.name},i.label)))),this.tops.value=t.top,m(this.intervals,...t.brush.flatMap(i=>this.interval(i))),this.intervals.hidden=t.brush.length===0,this.show(t.caption,t.scene,t.trials),this.brush.update(t.axes)}interval({name:t,text:s,restrict:i}){let o=r("button",{type:"button",class:"pe-chip",title:`remove the interval of ${t}`},`${s} ×`);if(d(o,"aria-label",`remove the interval ${s}`),o.addEventListener("click",()=>this.host.look({tuning:{brush:[t]}})),i===null)return[o];let a=`${i.description}
${i.python}`,l=r("button",{type:"button",class:"pe-button",title:a,"data-command":i.command},i.label);return l.addEventListener("click",()=>this.host.command(i.command,i.args)),[o,l]}};var I=[{name:"map",label:"Search map",docked:!1,make:n=>new fe(n)},{name:"graph",label:"sGraph",docked:!1,make:n=>new ue(n)},{name:"inspector",label:"Inspector",docked:!1,make:n=>new K(n)},{name:"families",label:"Families",docked:!0,make:n=>new pe(n)},{name:"sizes",label:"Sizes",docked:!0,make:n=>new xe(n)},{name:"eclasses",label:"E-classes",docked:!0,make:n=>new he(n)},{name:"tuning",label:"Tuning",docked:!0,make:n=>new we(n)},{name:"ledger",label:"Summary",docked:!0,make:n=>new de(n)},{name:"questions",label:"What-if",docked:!0,make:n=>new ge(n)},{name:"code",label:"Code",docked:!0,make:n=>new re(n)},{name:"compare",label:"Compare",docked:!0,make:n=>new B(n)},{name:"bookmarks",label:"Bookmarks",docked:!0,make:n=>new ie(n)}],$=I.filter(n=>n.docked).map(n=>n.name);function St(n){return new Map(I.map(e=>[e.name,e.make(n)]))}var Mt="prism-found",Ee=class{constructor(e,t){this.panels=e;this.host=t;this.steps=[v("up","previous match (Shift+Enter)",()=>this.step(-1)),v("down","next match (Enter)",()=>this.step(1))],this.input.addEventListener("focus",()=>this.look()),this.input.addEventListener("input",()=>{this.position=0,this.item=null,this.look(),this.dim(),this.showCount()}),this.input.addEventListener("keydown",s=>{s.key!=="Enter"||s.isComposing||(s.preventDefault(),this.step(s.shiftKey?-1:1))}),this.element=r("span",{class:"pe-group pe-find",role:"search"},this.count,this.input,...this.steps),this.showCount()}panels;host;element;input=r("input",{class:"pe-search",type:"search",placeholder:"find  /",maxlength:200,"aria-label":"find in all panels; Enter for the next match, Shift+Enter for the previous one"});count=r("span",{class:"pe-muted pe-found",role:"status"});steps;section=null;position=0;isAwaited=!1;item=null;focus(){this.input.focus(),this.input.select()}clear(){return this.input.value?(this.input.value="",this.input.dispatchEvent(new Event("input")),CSS.highlights?.delete(Mt),!0):!1}update(e){this.section=e,e&&e.text===this.text&&e.position>0&&this.isAwaited&&(this.position=e.position,this.go(e.item)),this.showCount()}refresh(){this.text&&(this.dim(),this.item&&this.mark(this.item))}get text(){return this.input.value}step(e){if(!this.text.trim())return;if(this.isAwaited=!0,this.section===null){let s=this.local(),i=this.position+e;this.position=i<1?s.length:i>s.length?Math.min(1,s.length):i,this.go(s[this.position-1]??null),this.showCount();return}let t=this.position+e;this.position=t<1?Math.max(1,this.section.total):t,this.look()}look(){this.host.look({find:{text:this.text,position:this.position}})}go(e){if(this.isAwaited=!1,this.item=e,!e)return;let t=e.panel;e.ref&&this.host.select(e.ref),this.panels.has(t)&&this.host.show(t),this.mark(e),this.host.announce(`${e.kind} ${e.ref}: ${e.text}`)}mark(e){let t=this.panels.get(e.panel);t&&(t.stage?.reveal(e.ref),rt(t.element,e),e.kind==="code"&&this.highlight(t.element))}highlight(e){let t=e.querySelector("pre code"),s=document.createTreeWalker(t??e,NodeFilter.SHOW_TEXT);for(let i=s.nextNode();i;i=s.nextNode()){let o=(i.nodeValue??"").toLowerCase().indexOf(this.text.trim().toLowerCase());if(o<0)continue;let a=document.createRange();a.setStart(i,o),a.setEnd(i,o+this.text.trim().length),typeof Highlight<"u"&&CSS.highlights?.set(Mt,new Highlight(a));let l=e.querySelector("pre"),[p,c]=[l?.getBoundingClientRect().top??0,a.getBoundingClientRect?.().top??0];l&&(l.scrollTop+=c-p-l.clientHeight/3);return}}local(){let e=this.text.trim().toLowerCase(),t=new Map;for(let{name:s}of I){let i=this.panels.get(s);if(!i)continue;let o=[...(i.stage?.shown?.items??[]).map(a=>({ref:a.ref??"",text:Lt(a),seq:0})),...nt(i.element)];for(let a of o)a.text.toLowerCase().includes(e)&&(a.ref||a.seq)&&t.set(`${s} ${a.ref||a.seq}`,{...a,kind:s,panel:s})}return[...t.values()]}dim(){let e=this.text.trim().toLowerCase(),t=e?s=>Lt(s).toLowerCase().includes(e):null;for(let s of["map","graph"])this.panels.get(s)?.stage?.find(t)}showCount(){let{section:e}=this,t=e?.text===this.text?e:null,s=e===null?this.local().length:t?.total??0,i=this.position?`${this.position} of ${s}`:`${s} found`;this.count.textContent=this.text.trim()?e===null?i:t?.count??"…":"";let o=(t?.kinds??[]).map(([a,l])=>`${a}: ${l}`).join(`
`);d(this.count,"title",o||null);for(let a of this.steps)a.disabled=s===0||!this.text.trim()}};function Lt(n){return[n.ref??"",n.tip??"",...(n.texts??[]).map(e=>e.text)].join(`
`)}var zs=[["step","Step advances the search by the unit in the list beside it; Run goes on to the end."],["why pruned","Click a hatched block of the search map; the inspector has the rule and its numbers."],["which won","The line below the buttons: the kernel, its time, and why; Proof, Code and Runner-up lead on."],["steer","Accept or reject a family in the table; Undo takes it back."],["look back","Drag the slider at the top right; nothing in the search changes."]],Os=[["sGraph","a program with symbolic sizes: kernels, their blocks and loops"],["family","an sGraph whose maps are unbound: how dims are partitioned is not chosen yet"],["candidate","a family with its maps chosen: imap and omap over the grid, fmap over the loop"],["proved","equal to the program for all sizes; unknown means neither proved nor refuted"],["trial","one choice of tuning parameters of a candidate, timed"],["lower bound","the roofline: no choice of parameters is faster in the cost model"]],Se=class{constructor(e,t){this.closed=t;let s=r("dl",{class:"pe-facts"});for(let o of e)o.shown&&b(s,r("dt",{},r("kbd",{},o.shown)),r("dd",{},o.help));let i=r("button",{type:"button",class:"pe-button pe-close",autofocus:!0},"Close");i.addEventListener("click",()=>this.toggle()),m(this.element,i,r("h3",{},"First steps"),Tt(zs),r("h3",{},"Words"),Tt(Os),r("h3",{},"Keys, while the explorer has the focus"),s,r("label",{},this.letters," keys without Ctrl are active"),r("p",{class:"pe-muted"},"Ctrl + wheel zooms a picture, dragging moves it, a double click fits it into its panel."))}closed;element=r("dialog",{class:"pe-help","aria-label":"help"});letters=r("input",{type:"checkbox",checked:!0});get open(){return this.element.open}get lettersActive(){return this.letters.checked}toggle(){this.open?(this.element.close(),this.closed()):this.element.show()}};function Tt(n){let e=r("dl",{class:"pe-facts"});for(let[t,s]of n)b(e,r("dt",{},t),r("dd",{},s));return e}function Ct(n){return n instanceof Element&&n.closest("input, select, textarea, [contenteditable]")!==null}function Ht(n){return n instanceof Element&&n.closest("button, a, summary")!==null}function $t(n){return(n.ctrlKey||n.metaKey?"Ctrl+":"")+n.key}function At(n){return n.length===1&&n!==" "}function Me(n){return/^n\d+$/.test(n)}function Le(n){return/^f\d+/.exec(n)?.[0]??null}function Rt(n){let[e="",t]=n.split("/"),[s=""]=e.split(".");return[...t?[e]:[],...e.includes(".")?[s]:[]]}function Pt(n){let e=(l,p,c,h)=>({keys:[l].flat(),shown:p,help:c,act:h}),t=l=>()=>{let p=Le(n.selection);p?n.command(l,{id:p}):n.announce(`select a family to ${l} it`)},s=()=>n.panels.get(n.layout.current())?.stage,i="select the next item in that direction, in the panel with the focus",o="open the selection: show its graph, or expand its custom kernel; Shift+Enter shows it alone, Backspace all",a=l=>()=>{let p=$[l];p&&n.layout.show(p)};return[e(".",".","one step of the search",()=>n.bar.step()),e(" ","Space","run, pause or resume",()=>n.bar.toggleRun()),e("ArrowLeft","← → ↑ ↓",i,()=>n.walk("left")),e("ArrowRight","","",()=>n.walk("right")),e("ArrowUp","","",()=>n.walk("up")),e("ArrowDown","","",()=>n.walk("down")),e("Enter","Enter",o,()=>n.selection&&n.enter(n.selection)),e("z","z","zoom the map into the selected node, and out again",()=>n.zoomMap(_s(n))),e("[","[ ]","look back by one event, or forward",()=>n.bar.move(-1)),e("]","","",()=>n.bar.move(1)),e("w","w","read the inspector",()=>n.readInspector()),e("a","a","accept the selected family",t("accept")),e("x","x","reject the selected family; can be undone",t("reject")),e(["u","Ctrl+z"],"u, Ctrl+Z","undo the last steering step",()=>n.command("undo")),e(["U","Ctrl+Z"],"Shift+U","redo the last steering step",()=>n.command("redo")),e("/","/","find in all panels; Enter for the next match, Shift+Enter for the previous one",()=>n.find.focus()),e("f","f","filter: show only a part of the search",()=>n.filter.open()),e("b","b","bookmark the selection and, in an earlier state, the moment",()=>n.bookmark()),e("m","m","maximise the panel, or restore it",()=>n.maximise(n.layout.current())),e("0","0","fit the picture into its panel",()=>s()?.fit()),e("t","t","show the picture as a table",()=>n.toggleTable()),...$.map((l,p)=>e(String(p+1),p?"":`1 … ${$.length}`,p?"":"show a tab of the dock",a(p))),e("?","?","show this help",()=>n.help.toggle()),e("Escape","Esc","close, clear, then leave the widget",()=>n.leave())]}function Nt(n,e,t){if(n.altKey||n.defaultPrevented)return;let s=$t(n);if(Ct(n.target)){s==="Escape"&&(t.help.open?t.help.toggle():t.filter.close()||t.find.clear(),t.element.focus(),n.stopPropagation());return}if((s===" "||s==="Enter")&&Ht(n.target)||At(s)&&!t.help.lettersActive&&s!=="?")return;let i=e.find(o=>o.keys.includes(s));i&&i.act()!==!1&&(n.preventDefault(),n.stopPropagation())}function _s(n){return Me(n.selection)?n.selection:n.root}var zt="prism_explore.layout";function Ot(n){let e=new Map;try{let t=JSON.parse(localStorage.getItem(zt)??"{}");if(typeof t!="object"||t===null)return e;for(let[s,[i,o]]of n){let a=t[s];typeof a=="number"&&a>=i&&a<=o&&e.set(s,a)}}catch{}return e}function Te(n){try{localStorage.setItem(zt,JSON.stringify(Object.fromEntries(n)))}catch{}}var G=[{name:"map",label:"width of the search map",axis:"x",unit:"%",least:12,most:55,initial:30,after:!1},{name:"inspector",label:"width of the inspector",axis:"x",unit:"%",least:15,most:65,initial:35,after:!0},{name:"dock",label:"height of the dock",axis:"y",unit:"%",least:12,most:85,initial:36,after:!0},{name:"height",label:"height of the explorer",axis:"y",unit:"px",least:460,most:2400,initial:820,after:!1}],js=12,Is={"%":2,px:40},Ce=class{constructor(e,t){this.main=e;this.changed=t;this.values=Ot(new Map(G.map(l=>[l.name,[l.least,l.most]])));let[s,i,o,a]=G;this.elements={map:this.separator(s),inspector:this.separator(i),dock:this.separator(o),height:this.separator(a)};for(let l of G)this.show(l)}main;changed;elements;values;root=null;follow(e){this.root=e;for(let t of G)this.show(t)}value(e){return this.values.get(e.name)??e.initial}separator(e){let t=r("div",{class:`pe-splitter pe-splitter-${e.axis}`,role:"separator",tabindex:0,title:`drag or use the arrow keys to change the ${e.label}; a double click resets it`,"aria-label":e.label,"aria-orientation":e.axis==="x"?"vertical":"horizontal","aria-valuemin":e.least,"aria-valuemax":e.most,"data-splitter":e.name});return t.addEventListener("pointerdown",s=>this.drag(e,t,s)),t.addEventListener("keydown",s=>this.key(e,s)),t.addEventListener("dblclick",()=>this.reset(e)),t}drag(e,t,s){if(s.button!==0)return;s.preventDefault(),t.focus(),t.setPointerCapture?.(s.pointerId);let i=e.axis==="x"?s.clientX:s.clientY,o=e.name==="height"?this.root?.offsetHeight??e.initial:this.value(e),a=e.unit==="px"?100:e.axis==="x"?this.main.clientWidth:this.main.clientHeight,l=c=>{let h=((e.axis==="x"?c.clientX:c.clientY)-i)*(100/Math.max(1,a));this.set(e,e.after?o-h:o+h)},p=()=>{t.removeEventListener("pointermove",l),t.removeEventListener("pointerup",p),t.removeEventListener("pointercancel",p),Te(this.values)};t.addEventListener("pointermove",l),t.addEventListener("pointerup",p),t.addEventListener("pointercancel",p)}key(e,t){let[s,i]=e.axis==="x"?["ArrowLeft","ArrowRight"]:["ArrowUp","ArrowDown"],o=Is[e.unit]*(e.after?-1:1),a=e.name==="height"?this.root?.offsetHeight??this.value(e):this.value(e),l=new Map([[s,a-o],[i,a+o],["Home",e.least],["End",e.most]]).get(t.key);if(t.key==="Enter")this.reset(e);else if(l!==void 0)this.set(e,l);else return;t.preventDefault(),t.stopPropagation(),Te(this.values)}reset(e){this.values.delete(e.name),this.show(e),Te(this.values),this.changed()}set(e,t){let s=G.find(o=>o.axis==="x"&&o.name!==e.name),i=e.axis==="x"&&s?Math.min(e.most,100-js-this.value(s)):e.most;this.values.set(e.name,Math.round(Math.max(e.least,Math.min(i,t))*10)/10),this.show(e),this.changed()}show(e){let t=this.value(e);if(d(this.elements[e.name],"aria-valuenow",String(Math.round(t))),e.name==="height"){this.root&&(this.root.style.height=this.values.has(e.name)?`${t}px`:"");return}this.main.style.setProperty(`--${e.name}`,`${t}fr`);let[s,i,o]=G.map(a=>this.value(a));this.main.style.setProperty("--graph",`${100-(s??0)-(i??0)}fr`),this.main.style.setProperty("--upper",`${100-(o??0)}fr`)}};var Ks=900,Bs=150,Fs=8,De=16,He=class{constructor(e,t){this.panels=e;this.look=t;let s=this.tabList(),[i,o]=[this.scroller(s,-1),this.scroller(s,1)];this.scrollers=[i,o],this.dock.append(r("div",{class:"pe-tabbar"},i,s,o),...$.map(c=>this.element(c)));let{map:a,inspector:l,dock:p}=this.splitters.elements;this.main.append(this.element("map"),a,this.element("graph"),l,this.element("inspector"),p,this.dock),this.resize.observe(s),s.addEventListener("scroll",()=>this.markScrollers(s),{passive:!0})}panels;look;main=r("div",{class:"pe-main"});dock=r("div",{class:"pe-dock"});splitters=new Ce(this.main,()=>this.measure());scrollers;tabs=new Map;shown="map";docked="families";maximised=null;narrow=!1;root=null;hidden="";sizes={map:0,dock:0,high:0};timer;resize=new ResizeObserver(()=>this.measure());get lowerEdge(){return this.splitters.elements.height}follow(e){this.root=e,this.splitters.follow(e),this.resize.observe(e),this.arrange()}close(){this.resize.disconnect(),clearTimeout(this.timer)}show(e){$.includes(e)&&(this.docked=e),this.shown=e,this.maximised!==null&&(this.maximised=e),this.arrange(),this.sendHidden()}maximise(e){this.maximised=this.maximised===e?null:e,this.show(e)}restore(){return this.maximised===null?!1:(this.maximise(this.maximised),!0)}current(){let e=document.activeElement;for(let[t,s]of this.panels)if(s.element.contains(e))return t;return this.shown}measure(){let e=this.root?.clientWidth??0;if(e===0)return;this.sendSizes();let t=this.dock.querySelector(".pe-tabs");t&&this.markScrollers(t);let s=e<Ks;s!==this.narrow&&(this.narrow=s,this.arrange())}element(e){let t=this.panels.get(e);if(!t)throw new Error(`no panel ${e}`);return t.element}tabList(){let e=r("div",{class:"pe-tabs",role:"tablist","aria-label":"panels"});for(let{name:t,label:s,docked:i}of I){let o=this.element(t);o.id=z("panel");let a=r("button",{type:"button",role:"tab","aria-controls":o.id,"data-tab-of":t,class:i?null:"pe-only-narrow"},s);a.addEventListener("click",()=>{this.show(t),this.look({tab:t})}),this.tabs.set(t,a),e.append(a)}return e.addEventListener("keydown",t=>this.walkTabs(t)),e}scroller(e,t){let s=t<0?"earlier tabs":"later tabs",i=r("button",{type:"button",class:"pe-tool pe-scroller",title:s,"aria-label":s,tabindex:-1,hidden:!0},t<0?"‹":"›");return i.addEventListener("click",()=>e.scrollBy({left:.8*t*e.clientWidth})),i}markScrollers(e){let t=e.scrollLeft,s=[t<=1,t+e.clientWidth>=e.scrollWidth-1];this.scrollers.forEach((i,o)=>{d(i,"hidden",s[o]??!0)})}walkTabs(e){let t=I.map(l=>l.name).filter(l=>!this.tabs.get(l)?.hidden),s=t.findIndex(l=>this.tabs.get(l)===e.target),i=t.length-1,o=new Map([["ArrowLeft",s>0?s-1:i],["ArrowRight",s<i?s+1:0],["Home",0],["End",i]]).get(e.key),a=o===void 0?void 0:t[o];a&&(e.preventDefault(),e.stopPropagation(),this.show(a),this.tabs.get(a)?.focus())}arrange(){let e=this.maximised??(this.narrow?this.shown:null);for(let[a,l]of this.panels){let p=e===null?!$.includes(a)||a===this.docked:a===e;d(l.element,"hidden",!p)}for(let[a,l]of this.tabs){d(l,"hidden",!this.narrow&&!$.includes(a));let p=this.narrow?a===e:a===this.docked;d(l,"aria-selected",String(p)),d(l,"tabindex",p?"0":"-1"),p&&Ds(l)}let{map:t,inspector:s,dock:i}=this.splitters.elements;for(let a of[t,s,i])d(a,"hidden",e!==null);let o=e===null||$.includes(e);d(this.dock,"hidden",!o&&!this.narrow),d(this.dock,"data-only-tabs",!o),this.sendSizes(),this.root&&(d(this.root,"data-solo",e!==null),d(this.root,"data-narrow",this.narrow))}sendHidden(){let e=[...this.panels].filter(([,s])=>s.element.hidden).map(([s])=>s),t=e.join();!this.root||t===this.hidden||(this.hidden=t,this.look({hidden:e}))}sendSizes(){clearTimeout(this.timer),this.timer=setTimeout(()=>{this.sendHidden();let{map:e,dock:t,high:s}=this.sizes,i=$.map(l=>this.panels.get(l)?.stage?.element).find(l=>l!==void 0&&l.clientWidth>0),o={map:this.panels.get("map")?.stage?.element.clientWidth||e,dock:i?.clientWidth??t,high:i?.clientHeight??s};Math.abs(o.map-e)+Math.abs(o.dock-t)+Math.abs(o.high-s)<Fs||(this.sizes=o,this.look({map_px:o.map-De,dock_px:o.dock-De,dock_high_px:o.high-De}))},Bs)}};function Ds(n){let e=n.parentElement;if(!e)return;n.offsetLeft<e.scrollLeft&&(e.scrollLeft=n.offsetLeft);let t=n.offsetLeft+n.offsetWidth-e.scrollLeft-e.clientWidth;t>0&&(e.scrollLeft+=t)}var Gs="button, summary, tr[data-ref]";var q=class{constructor(e,t){this.element=e;this.give=t;e.addEventListener("pointerdown",this.down);for(let s of["pointerup","pointercancel"])window.addEventListener(s,this.up)}element;give;held=!1;waiting=new Map;timer;down=e=>{this.held=e.target.closest(Gs)!==null,this.later(2e3)};up=()=>this.later(0);take(e){if(!this.held)this.give(e);else for(let[t,s]of e)this.waiting.set(t,s)}close(){clearTimeout(this.timer),this.element.removeEventListener("pointerdown",this.down);for(let e of["pointerup","pointercancel"])window.removeEventListener(e,this.up)}later(e){clearTimeout(this.timer),this.held&&(this.timer=setTimeout(()=>this.release(),e))}release(){let e=this.waiting;this.held=!1,this.waiting=new Map,e.size>0&&this.give(e)}};var Ge=".pe-chip, .pe-link, .pe-transport input, .pe-transport select, .pe-form button, .pe-form input, .pe-form select",$e=class{constructor(e){this.announce=e}announce;gone="";past="";commands={};root=null;observer=new MutationObserver(()=>this.apply());follow(e){this.root=e;for(let t of["click","dblclick","input","change","submit"])e.addEventListener(t,s=>this.guard(s),{capture:!0})}close(){this.observer.disconnect()}describe(e){this.commands=e}set(e){this.gone=e.gone??this.gone,this.past=e.past??this.past,this.observer.disconnect(),this.apply(),this.root&&(this.gone||this.past)&&this.observer.observe(this.root,{childList:!0,subtree:!0})}reason(e){return this.gone||(this.commands[e]?.in_past===!1?this.past:"")}reasonOf(e){let t=e.getAttribute("data-command");return t?this.reason(t):e.matches(Ge)?this.gone:""}apply(){if(this.root)for(let e of this.root.querySelectorAll(`[data-command], ${Ge}`)){let t=this.reasonOf(e),s=e.hasAttribute("data-locked");if(t)e.getAttribute("title")!==t&&d(e,"data-title",e.getAttribute("title")),d(e,"title",t),d(e,"aria-disabled","true"),d(e,"data-locked",!0);else if(s){d(e,"title",e.getAttribute("data-title"));for(let i of["data-title","aria-disabled","data-locked"])d(e,i,null)}}}guard(e){let t=e.target.closest(`[data-command], ${Ge}`),s=t?this.reasonOf(t):e.type==="submit"?this.gone:"";s&&(e.preventDefault(),e.stopPropagation(),this.announce(s))}};var Ae=class{constructor(e,t){this.look=e;this.command=t;this.element=r("nav",{class:"pe-lineage","aria-label":"this search and its forks",hidden:!0},this.path,this.status)}look;command;element;path=r("ol",{class:"pe-lineage-path"});status=r("span",{role:"status"});at=0;get canFork(){return this.at>0}fork(){this.command("fork",{at:this.at})}update(e){this.at=e.fork_at;let t=e.path.map((i,o)=>r("li",{},o>0?"▸ ":null,this.button(i))),s=e.forks.map(i=>r("li",{class:"pe-fork"},"▾ ",this.button(i)));m(this.path,...t,...s),S(this.status,e.status),this.element.hidden=e.path.length===0&&!e.status}button(e){if(!e.key)return r("span",{class:"pe-muted",title:e.tip},e.label);let t=r("button",{type:"button",class:"pe-link",title:e.tip},e.label);return d(t,"aria-current",e.current?"true":null),t.addEventListener("click",()=>{e.current||this.look({search:e.key})}),t}};var qs={title:"",ref:"",time:"",spread:"",source:"",sentence:"",warning:"",comparisons:[],links:[]},Re=class{constructor(e){this.host=e;this.element.addEventListener("click",t=>{this.ref&&!t.target.closest("button")&&this.host.select(this.ref)})}host;element=r("section",{class:"pe-result pe-best","aria-label":"result"});ref="";drawn="";update(e){let t=JSON.stringify(e);if(t===this.drawn)return;this.drawn=t;let s={...qs,...e};this.ref=s.ref,d(this.element,"data-ref",s.ref||null),m(this.element,r("div",{class:"pe-answer"},...this.answer(s)),r("p",{class:"pe-why",title:s.sentence},this.spread(s),s.sentence),r("div",{class:"pe-group pe-result-links"},...s.links.map(i=>this.link(i))))}answer(e){return[C(e.kind),r("span",{class:"pe-muted"},e.label),e.title?this.title(e):null,e.time?r("strong",{title:e.source},e.time):null,e.warning?r("span",{class:"pe-warning",role:"img",title:e.warning,"aria-label":e.warning},"⚠"):null,e.comparisons.length>0?r("ul",{class:"pe-comparisons",title:e.comparisons.map(Vs).join(`
`),"aria-label":"against baselines and limit"},...e.comparisons.map(Ws)):null]}spread({spread:e,source:t}){return e?r("span",{class:"pe-muted pe-spread",title:t},`${e}. `):null}title({title:e,ref:t}){let s=t&&t!==e?`${e} ${t}`:e;if(!t)return r("span",{class:"pe-mono"},s);let i=r("button",{type:"button",class:"pe-link pe-mono",title:`select ${t}`},s);return i.addEventListener("click",()=>this.host.select(t)),i}link({ref:e,panel:t,label:s,description:i}){let o=r("button",{type:"button",class:"pe-button pe-chip",title:i},s);return o.addEventListener("click",()=>{this.host.select(e),this.host.show(t)}),o}};function Vs({ratio:n,label:e,time:t}){return`${n} ${e}, ${t}`}function Ws(n){let e=n.limit?"pe-limit":null;return r("li",{class:e,title:n.description},r("b",{},n.ratio),` ${n.label}, `,r("span",{},n.time))}var Pe=class{element=r("div",{class:"pe-confirm",role:"alertdialog",hidden:!0});back=null;constructor(){this.element.addEventListener("keydown",e=>{e.stopPropagation(),e.key==="Escape"&&this.close()})}ask(e,t,s,i,o){this.back=i;let a=(p,c,h)=>{let u=r("button",{type:"button",class:`pe-button ${c}`.trim()},p);return u.addEventListener("click",()=>{this.close(),h()}),u},l=a(s,"pe-primary",()=>{});m(this.element,r("p",{},e),r("div",{class:"pe-group"},l,a(t,"",o))),this.element.setAttribute("aria-label",e),this.element.hidden=!1,l.focus()}close(){this.element.hidden||(this.element.hidden=!0,this.back?.focus())}};var Us=["event","candidate","family","phase"],Js="family",Ne=class{constructor(e){this.host=e;for(let p of Us)this.grain.append(r("option",{value:p},p));this.grain.value=Js;let t=(p,c,h,u,g="")=>{let k=r("button",{type:"button",class:`pe-button ${g}`.trim(),"data-command":p,"aria-label":c},x(h),g==="pe-bare"?null:r("span",{},c));return k.addEventListener("click",u),{name:p,element:k}},s=t("step","Step","step",()=>this.step()),i=t("start","Run","run",()=>this.toggleRun(),"pe-primary"),o=t("cancel","Cancel","cancel",()=>this.askToCancel()),a=t("undo","Undo","undo",()=>e.command("undo"),"pe-bare"),l=t("redo","Redo","redo",()=>e.command("redo"),"pe-bare");this.buttons=[s,i,o,a,l],this.moment.addEventListener("input",()=>this.lookBack(Number(this.moment.value))),this.when.addEventListener("click",()=>this.lookBack(0)),this.element=r("div",{class:"pe-transport"},r("div",{class:"pe-bar"},this.title,this.state,this.phases,r("span",{class:"pe-group pe-time"},this.moment,this.when)),r("div",{class:"pe-bar",role:"toolbar","aria-label":"search"},r("span",{class:"pe-group"},s.element,this.grain),r("span",{class:"pe-group"},i.element,o.element,this.confirm.element),r("span",{class:"pe-group"},a.element,l.element),this.counters))}host;element;title=r("div",{class:"pe-title"});phases=r("ol",{class:"pe-phases","aria-label":"phases"});confirm=new Pe;counters=r("ul",{class:"pe-counters","aria-label":"counts"});grain=r("select",{class:"pe-select","aria-label":"size of one step",title:"size of one step"});state=r("span",{class:"pe-state"});moment=r("input",{type:"range",class:"pe-moment",min:1,"aria-label":"show an earlier state of the search",title:`show an earlier state of the search; the search itself is not changed
keys: [ and ]`});when=r("button",{type:"button",class:"pe-link pe-when"},"now");buttons;data=null;pausing=!1;step(){this.can("step")&&this.host.command("step",{n:1,grain:this.grain.value})}toggleRun(){let e=this.runCommand();!this.can(e)||this.pausing||(this.pausing=e==="pause",this.host.command(e),this.pausing&&this.data&&this.update(this.data))}lookBack(e){let t=this.data?.events??0;this.host.look({cursor:e<t?e:0})}move(e){this.data&&this.lookBack(Math.max(1,(this.data.cursor||this.data.events)+e))}backToNow(){this.lookBack(0)}askToCancel(){let e=this.buttons.find(({name:i})=>i==="cancel")?.element;if(!e)return;let s=`End the search for good? Kept: all ${this.data?.events.toLocaleString("en")??"0"} events, proofs and times so far. Lost: the step in progress, and everything that was not searched yet. Pause keeps both.`;this.confirm.ask(s,"End the search","Keep searching",e,()=>this.host.command("cancel"))}can(e){return this.data?.enabled.includes(e)??!1}describe(e){let t={step:".",start:"Space",undo:"u",redo:"Shift+U"};for(let{name:s,element:i}of this.buttons){let o=e[s];o&&d(i,"title",`${o.description}
${o.python}${t[s]?`
key: ${t[s]}`:""}`)}}update(e){this.data=e,this.pausing&&=e.state==="running",m(this.title,r("span",{class:"pe-brand"},"Prism"),r("strong",{class:"pe-mono"},e.program),r("span",{class:"pe-muted"},e.target)),this.state.textContent=`${e.state} · ${e.events.toLocaleString("en")} events`,d(this.state,"data-state",e.state),d(this.moment,"max",String(Math.max(1,e.events))),this.moment.matches(":active")||(this.moment.value=String(e.cursor||e.events)),this.when.textContent=e.cursor>0?`${e.cursor.toLocaleString("en")} · back to now`:"now",this.when.disabled=e.cursor===0,m(this.phases,...e.phases.map(t=>r("li",{"aria-current":t.current?"step":null,title:t.description},t.name)),this.phaseSign(e)),e.enabled.includes("cancel")||this.confirm.close(),this.counters.replaceChildren();for(let{kind:t,label:s,value:i,description:o}of e.counters)b(this.counters,r("li",{title:o},C(t),r("strong",{},i),r("span",{},s)));for(let{name:t,element:s}of this.buttons)s.disabled=!this.can(t==="start"?this.runCommand():t)||t==="start"&&this.pausing,t==="start"&&this.labelRun(s)}phaseSign(e){let t=e.phases.findIndex(a=>a.current),s=e.phases.map(a=>a.name).join(", "),i=`phase ${t+1} of ${e.phases.length}: ${e.phases[t]?.name??""}`,o=t<0?`${e.phases.length} phases`:i;return r("li",{class:"pe-phase-sign",title:`phases: ${s}`},o)}runCommand(){return this.data?.state==="running"?"pause":this.can("resume")?"resume":"start"}labelRun(e){let t=this.runCommand(),s=this.pausing?"Pausing":{pause:"Pause",resume:"Resume"}[t]??"Run";m(e,x(t==="pause"?"pause":"run"),r("span",{},s)),d(e,"data-command",t),d(e,"aria-label",s)}};var Xs=1e3,V=class{element=r("span",{class:"pe-status",role:"status","aria-live":"polite"});timer;next="";announce(e){this.next=e,this.timer===void 0&&(this.element.textContent=e,this.timer=setTimeout(()=>{this.timer=void 0,this.element.textContent!==this.next&&this.announce(this.next)},Xs))}close(){clearTimeout(this.timer)}};async function ze(n){if(!navigator.clipboard)return _t(n);try{return await navigator.clipboard.writeText(n),!0}catch{return _t(n)}}function _t(n){let e=r("textarea",{style:"position:fixed;opacity:0"});e.value=n,document.body.append(e),e.select();let t=document.execCommand("copy");return e.remove(),t}var W=class{constructor(e,t){this.model=e;this.listener=t}model;listener;have=0;waiting=!1;timer;commands=0;looking;nextCursor=null;name=Math.random().toString(36).slice(2,10);parts=new Map;onMessage=e=>this.receive(e);onLive=()=>this.hello("closed",1e3);open(){this.model.on("msg:custom",this.onMessage),this.model.on("comm_live_update",this.onLive);let e=this.model.get("snapshot");e?.texts&&e.seq>0&&(this.have=e.left_out.length===0?e.seq:0,this.listener.sections(new Map(Object.entries(e.texts).map(([t,s])=>[t,JSON.parse(s)])))),this.hello()}close(){clearTimeout(this.timer),clearTimeout(this.looking),this.model.off("msg:custom",this.onMessage),this.model.off("comm_live_update",this.onLive)}command(e,t={}){this.commands+=1;let s=`${this.name}-${this.commands}`;return this.post({kind:"command",event_id:s,name:e,args:t})&&this.timer===void 0&&this.expect("silent",4e3),s}look(e){if(!("cursor"in e)){this.post({kind:"look",...e,..."hidden"in e&&{page:this.name}});return}if(this.looking!==void 0&&e.cursor>0){this.nextCursor=e.cursor;return}clearTimeout(this.looking),this.nextCursor=null,this.looking=setTimeout(()=>this.looked(),1e3),this.commands+=1,this.post({kind:"look",...e,event_id:`${this.name}-${this.commands}`})}looked(){clearTimeout(this.looking),this.looking=void 0,this.nextCursor!==null&&this.look({cursor:this.nextCursor})}post(e){try{return this.model.send(e),!0}catch{return this.listener.connection("closed"),!1}}hello(e="silent",t=4e3){this.waiting=this.post({kind:"hello",have:this.have}),this.waiting&&this.expect(e,t)}expect(e,t){clearTimeout(this.timer),this.timer=setTimeout(()=>{this.timer=void 0,this.waiting=!1,this.listener.connection(e)},t)}receive(e){let t=e;if(t?.kind!=="sections")return;for(let i of t.replies)this.listener.reply(i);if(this.have<t.after){this.waiting||this.hello();return}clearTimeout(this.timer),this.timer=void 0,this.waiting=!1,this.have=t.seq;let s=new Map;for(let[i,o,a,l]of t.chunks){let p=this.join(i,o,a,l);p!==null&&s.set(i,JSON.parse(p))}this.listener.connection("open"),s.size>0&&this.listener.sections(s),this.looked()}join(e,t,s,i){if(s===1)return this.parts.delete(e),i;let o=this.parts.get(e),a=o&&o.length===s&&t>0?o:new Array(s).fill(void 0);return a[t]=i,this.parts.set(e,a),a.includes(void 0)?null:(this.parts.delete(e),a.join(""))}};var Ys={open:"",silent:"The kernel does not answer: it is busy with a cell, or it has ended. The panels show the last state it sent.",closed:"The kernel was restarted or has ended. The panels show the last state it sent."},Zs="Disabled while an earlier state is shown, because it would change the present search.",Oe=class{element;bar;panels;layout;find;filter=new se(e=>this.look(e));help;selection="";root="";wire;status=new V;lineage=new Ae(e=>this.look(e),(e,t)=>this.command(e,t));banner=new Z(this);result=new Re(this);lock=new $e(e=>this.announce(e));lastLine=r("button",{type:"button",class:"pe-python",title:"copy this line",hidden:!0});selecting=null;request=0;press;constructor(e){this.bar=new Ne(this),this.panels=St(this),this.layout=new He(this.panels,s=>this.look(s)),this.find=new Ee(this.panels,this);let t=Pt(this);this.help=new Se(t,()=>this.element.focus({preventScroll:!0})),this.element=r("div",{class:"prism-explore prism-scene",tabindex:0,"data-lm-suppress-shortcuts":"true",role:"application","aria-label":"Prism explorer; press ? for the keys"},r("style",{},`${te}
${Q}`),this.bar.element,this.lineage.element,this.banner.element,this.filter.chips,this.layout.main,this.foot(),this.layout.lowerEdge,this.help.element),this.bar.element.append(this.result.element),this.lock.follow(this.element),this.element.addEventListener("keydown",s=>Nt(s,t,this)),this.layout.follow(this.element),this.press=new q(this.element,s=>this.receive(s)),this.wire=new W(e,{sections:s=>this.press.take(s),reply:s=>this.onReply(s),connection:s=>this.onConnection(s)})}open(){this.layout.measure(),this.wire.open()}close(){this.wire.close(),this.press.close(),this.layout.close(),this.lock.close(),this.status.close();for(let e of this.panels.values())e.close()}command(e,t={}){this.isPossible(e)&&this.wire.command(e,t)}look(e){this.wire.look(e)}select(e){e===this.selection||!this.isPossible("select")||(this.applySelection(e),this.selecting=this.wire.command("select",{id:e}))}enter(e){this.select(e);let t=this.panels.get(this.layout.current());Me(e)?this.zoomMap(e):t?.enter?t.enter():Le(e)!==null&&this.layout.show("graph")}hover(e){for(let t of this.panels.values())t.hover(e)}copy(e,t){ze(e).then(s=>this.announce(s?`copied ${t}`:`could not copy ${t}; select and copy it by hand`))}show(e){this.layout.show(e)}maximise(e){this.layout.maximise(e)}showSizes(e,t,s){this.panels.get("graph")?.showSizes(e,t,s)}announce(e){this.status.announce(e)}walk(e){let t=this.panels.get(this.layout.current());if(t?.stage)return t.stage.walk(e),!0;let s=t?.element.querySelectorAll("tr[data-ref]")??[],i=[...s].find(o=>o.getAttribute("aria-selected")==="true")??s[0];return i?.focus(),i!==void 0}zoomMap(e){this.root=this.root===e?"":e,this.look({root:this.root})}bookmark(){this.layout.show("bookmarks"),this.panels.get("bookmarks")?.bookmark()||this.announce("select something to bookmark it")}readInspector(){this.layout.show("inspector"),this.panels.get("inspector")?.focus?.()}toggleTable(){let e=this.panels.get(this.layout.current());(e?.toggleTable?e:this.panels.get("map"))?.toggleTable?.()}leave(){if(this.help.open)this.help.toggle();else{if(this.layout.restore()||this.find.clear())return;this.selection?this.select(""):document.activeElement?.blur()}}receive(e){let t=(s,i)=>{if(e.has(s))try{i(e.get(s))}catch(o){console.error(`prism_explore: the panel ${s} could not be drawn`,o),this.announce(`The panel ${s} could not be drawn: ${String(o)}`)}};t("commands",s=>{this.bar.describe(s),this.lock.describe(s)}),t("result",s=>this.result.update(s)),t("lineage",s=>this.lineage.update(s)),t("transport",s=>{this.bar.update(s),d(this.element,"data-state",s.state),d(this.element,"data-past",s.cursor>0),this.banner.set({past:s.past_notice,savedAs:s.saved_as}),this.lock.set({past:s.past_notice&&Zs}),this.announce(s.status)});for(let[s,i]of this.panels)t(s,o=>i.update(o));t("script",s=>this.panels.get("ledger")?.showScript(s)),t("error",s=>this.banner.set({error:s??""})),t("view",s=>{this.selecting===null&&this.applySelection(s.selection);let{tab:i="",request:o=0}=s;o>this.request&&this.layout.show(i),this.request=o}),t("filter",s=>this.filter.update(s)),t("find",s=>this.find.update(s)),this.find.refresh(),this.lock.apply()}onReply(e){e.event_id===this.selecting&&(this.selecting=null),e.ok?e.python&&(this.lastLine.textContent=e.python,this.lastLine.hidden=!1):this.announce(e.message??"the command failed")}onConnection(e){d(this.element,"data-connected",e==="open"?"yes":"no");let t=Ys[e];this.banner.set({gone:t}),this.lock.set({gone:t})}isPossible(e){let t=this.lock.reason(e);return t&&this.announce(t),t===""}applySelection(e){this.selection=e;let t=e?[e,...Rt(e)]:[];for(let s of this.panels.values())s.select(e?[e]:[]);t.length>1&&this.panels.get("families")?.select(t)}foot(){this.lastLine.addEventListener("click",()=>this.copy(this.lastLine.textContent??"","the line"));let e=r("button",{type:"button",class:"pe-tool",title:"help (?)","aria-label":"help"},x("help"));return e.addEventListener("click",()=>this.help.toggle()),r("footer",{class:"pe-foot"},this.status.element,this.lastLine,this.filter.element,this.find.element,e)}};var _e=class{element;panel=new B(this,!1);status=new V;wire;press;constructor(e){this.element=r("div",{class:"prism-explore prism-scene pe-window",tabindex:0,"data-lm-suppress-shortcuts":"true",role:"region","aria-label":"two searches side by side"},r("style",{},`${te}
${Q}`),this.panel.element,r("footer",{class:"pe-foot"},this.status.element)),this.press=new q(this.element,t=>this.receive(t)),this.wire=new W(e,{sections:t=>this.press.take(t),reply:t=>this.status.announce(t.message??""),connection:t=>this.status.announce(t==="open"?"":"The kernel does not answer. The panels show the last state it sent.")})}open(){this.wire.open()}close(){this.wire.close(),this.press.close(),this.panel.close(),this.status.close()}look(e){this.wire.look(e)}copy(e,t){ze(e).then(s=>this.status.announce(s?`copied ${t}`:`could not copy ${t}; select and copy it by hand`))}command(){}select(){}enter(){}hover(){}maximise(){}show(){}showSizes(){}receive(e){let t=e.get("error");typeof t=="string"&&this.status.announce(t);let s=e.get("compare");s&&this.panel.update(s)}};var Qs=[["[data-jp-theme-light='false']","dark"],["[data-jp-theme-light='true']","light"],[".vscode-dark, .vscode-high-contrast:not(.vscode-high-contrast-light)","dark"],[".vscode-light, .vscode-high-contrast-light","light"],[".dark, .dark-theme, [theme='dark'], [data-theme='dark'], [data-color-mode='dark']","dark"],[".light, .light-theme, [theme='light'], [data-theme='light'], [data-color-mode='light']","light"]];function ei(n){for(let e=je(n);e!==null;e=je(e)){let t=Qs.find(([s])=>e?.matches(s));if(t)return t[1]}for(let e=je(n);e!==null;e=je(e)){let t=ti(getComputedStyle(e).backgroundColor);if(t!==null)return t<.5?"dark":"light"}return matchMedia("(prefers-color-scheme: dark)").matches?"dark":"light"}function jt(n){let e=()=>{let i=ei(n);n.dataset.theme!==i&&(n.dataset.theme=i)},t=new MutationObserver(e);for(let i of[document.documentElement,document.body])t.observe(i,{attributes:!0});let s=matchMedia("(prefers-color-scheme: dark)");return s.addEventListener("change",e),e(),()=>{t.disconnect(),s.removeEventListener("change",e)}}function je(n){let e=n.getRootNode();return n.parentElement??(e instanceof ShadowRoot?e.host:null)}function ti(n){let e=n.match(/[\d.]+/g)?.map(Number)??[],[t=0,s=0,i=0,o=1]=e;return e.length<3||o<.5?null:(.2126*t+.7152*s+.0722*i)/255}var $o={render({model:n,el:e}){let t=n.get("layout_name")==="compare"?new _e(n):new Oe(n);e.append(t.element);let s=jt(t.element);return t.open(),()=>{s(),t.close(),t.element.remove()}}};export{$o as default};
