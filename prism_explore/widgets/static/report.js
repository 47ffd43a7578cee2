var gs="http://www.w3.org/2000/svg";function mt(i,e,t){for(let[s,n]of Object.entries(e))n==null||n===!1||(typeof n=="function"?i.addEventListener(s,n):i.setAttribute(s,n===!0?"":String(n)));return S(i,...t),i}function S(i,...e){for(let t of e)t===null||t===!1||i.append(typeof t=="string"?document.createTextNode(t):t)}function a(i,e={},...t){return mt(document.createElement(i),e,t)}function b(i,e={},...t){return mt(document.createElementNS(gs,i),e,t)}function v(i,...e){i.replaceChildren(),S(i,...e)}function h(i,e,t){let s=t===!0?"":t===!1?null:t;i.getAttribute(e)!==s&&(s===null?i.removeAttribute(e):i.setAttribute(e,s))}function R(i,e){i.textContent!==e&&(i.textContent=e)}var ht=0;function D(i){return ht+=1,`prism-${i}-${ht}`}var vs=[{label:"Back to now",act:i=>i.bar.backToNow()},{label:"Fork from here",act:i=>i.lineage.fork(),isPossible:i=>i.lineage.canFork}],ut="Run the cell that shows the explorer again.",re=class{constructor(e){this.app=e;S(this.element,this.text,this.actions)}app;element=a("div",{class:"pe-banner",hidden:!0});text=a("p",{class:"pe-banner-text",role:"alert"});actions=a("span",{class:"pe-banner-actions"});error="";past="";gone="";savedAs="";set(e){this.error=e.error??this.error,this.past=e.past??this.past,this.gone=e.gone??this.gone,this.savedAs=e.savedAs??this.savedAs,this.show()}show(){let e=this.gone?`${this.gone} ${this.remedy()}`:this.error||this.past;this.element.hidden=e==="",this.text.textContent!==e&&(R(this.text,e),v(this.actions,...this.buttons()))}remedy(){return this.savedAs?`${ut} Or open the saved search: ${this.loadLine()}`:`${ut} The search was not saved, so it starts anew.`}loadLine(){return`px.load(${JSON.stringify(this.savedAs)})`}buttons(){if(this.gone&&this.savedAs){let t=this.loadLine();return[ft("Copy px.load(…)",()=>this.app.copy(t,"the line"))]}return this.gone||this.error||!this.past?[]:vs.filter(({isPossible:t})=>t?.(this.app)??!0).map(({label:t,act:s})=>ft(t,()=>s(this.app)))}};function ft(i,e){let t=a("button",{type:"button",class:"pe-button"},i);return t.addEventListener("click",e),t}var gt=`/* Styles of the explorer. Colours come from the theme of the notebook if there is one, else from scene.ts. */
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
`;var vt=JSON.parse('{"unknown": "dots", "pruned-sound": "hatch", "pruned-heuristic": "sparse", "pruned-budget": "dashes", "pruned-user": "cross", "aggregate": "weave", "only-a": "hatch", "only-b": "weave", "collapsed": "weave"}'),bt=JSON.parse('{"hatch": [6, "M-1,1 L1,-1 M0,6 L6,0 M5,7 L7,5", "ink-hatch"], "sparse": [12, "M-1,1 L1,-1 M0,12 L12,0 M11,13 L13,11", "ink-hatch"], "dots": [8, "M2,1.2 a.9,.9 0 1 0 .01,0 M6,5.2 a.9,.9 0 1 0 .01,0", "ink-status"], "dashes": [8, "M0,2 H5 M4,6 H8 M0,6 H1", "ink-status"], "cross": [8, "M-1,1 L1,-1 M0,8 L8,0 M7,9 L9,7 M-1,7 L1,9 M0,0 L8,8 M7,-1 L9,1", "ink-status"], "weave": [6, "M0,1.5 H3 M3,4.5 H6", "ink-hatch"]}'),ie=JSON.parse('{"diamond": [[0.5, 0], [1, 0.5], [0.5, 1], [0, 0.5]], "hexagon": [[0.25, 0], [0.75, 0], [1, 0.5], [0.75, 1], [0.25, 1], [0, 0.5]], "square": [[0, 0], [1, 0], [1, 1], [0, 1]], "triangle": [[0, 0], [1, 0], [0.5, 1]], "star": [[0.5, 0.0], [0.623, 0.33], [0.976, 0.345], [0.7, 0.565], [0.794, 0.905], [0.5, 0.71], [0.206, 0.905], [0.3, 0.565], [0.024, 0.345], [0.377, 0.33]]}'),yt=`
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
`;var xt=12,ys={proved:"diamond",family:"diamond",unknown:"hexagon",refuted:"square",frontier:"circle",expanded:"circle","badge-best":"star"},xs=[[.5,0],[1,1],[0,1]];function P(i){let e=ys[i]??(i.startsWith("pruned")?"triangle":"circle"),t=i==="warning"?xs:ie[e],s=t?b("polygon",{class:"body",points:t.map(([o,l])=>`${1+o*xt},${1+l*xt}`).join(" ")}):b("circle",{class:"body",cx:7,cy:7,r:5}),n=i==="warning"?b("path",{class:"bang",d:"M7 5.2v3.4M7 10.3v.9"}):null,r=/^[\w-]+$/.test(i)?i:"plain";return b("svg",{class:"pe-glyph",viewBox:"0 0 14 14",width:14,height:14,"aria-hidden":"true"},b("g",{class:`item k-${r}`},s,n))}var ks={step:"M3 3v10M6 3l7 5-7 5z",run:"M4 2.5l9 5.5-9 5.5z",pause:"M4 3h3v10H4zM9 3h3v10H9z",cancel:"M3.5 3.5h9v9h-9z",undo:"M6 3L2.5 6.5 6 10M3 6.5h6a3.5 3.5 0 0 1 0 7H6",redo:"M10 3l3.5 3.5L10 10M13 6.5H7a3.5 3.5 0 0 0 0 7h3",accept:"M2.5 8.5l3.5 4 7.5-9",reject:"M3.5 3.5l9 9M12.5 3.5l-9 9",copy:"M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",maximise:"M2.5 6v-3.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10",fit:"M2.5 5V2.5H5M11 2.5h2.5V5M13.5 11v2.5H11M5 13.5H2.5V11M5.5 5.5h5v5h-5z",table:"M2.5 3h11v10h-11zM2.5 6.3h11M2.5 9.6h11M6 3v10",up:"M3 10.5l5-5 5 5",down:"M3 5.5l5 5 5-5",bookmark:"M4 2.5h8v11l-4-3.5-4 3.5z",plus:"M8 3v10M3 8h10",minus:"M3 8h10",expand:"M2.5 2.5h11v11h-11zM8 5v6M5 8h6",collapse:"M2.5 2.5h11v11h-11zM5 8h6",help:"M6 6a2 2 0 1 1 2.6 1.9c-.4.2-.6.5-.6 1V10M8 12.2v.3",close:"M4 4l8 8M12 4l-8 8"},ws=new Set(["run","pause","cancel"]);function M(i){return b("svg",{class:"pe-icon",viewBox:"0 0 16 16",width:16,height:16,"aria-hidden":"true"},b("path",{d:ks[i],class:ws.has(i)?"solid":null}))}var oe=class{constructor(e){this.look=e;this.element=a("details",{class:"pe-filter"},this.summary,this.form),this.form.addEventListener("submit",t=>{t.preventDefault(),this.submit()})}look;chips=a("div",{class:"pe-chips pe-filters",role:"group","aria-label":"filter",hidden:!0});element;form=a("form",{class:"pe-filterform","aria-label":"filter"});summary=a("summary",{class:"pe-button",title:"show only a part of the search"},"Filter");data=null;options="";open(){this.element.open=!0,this.form.querySelector("select, input")?.focus()}close(){return this.element.open?(this.element.open=!1,this.summary.focus(),!0):!1}update(e){this.data=e,this.chips.hidden=e.chips.length===0,v(this.chips,a("span",{class:"pe-muted"},"Filter:"),...e.chips.map(({name:s,value:n,label:r})=>{let o=a("button",{type:"button",class:"pe-chip",title:"remove this condition","aria-label":`remove ${r}`},r,M("close"));return o.addEventListener("click",()=>this.remove(s,n)),o}),this.clearButton());let t=JSON.stringify([e.statuses,e.reasons]);t!==this.options&&(this.options=t,this.draw(e))}clearButton(){let e=a("button",{type:"button",class:"pe-link"},"show everything");return e.addEventListener("click",()=>this.look({filter:{status:[],reason:[],operator:"",events:[]}})),e}draw(e){let t=(n,r,o)=>{let l=a("select",{class:"pe-select",name:n},a("option",{value:""},"any"));for(let{name:p,label:d,tip:c}of o)S(l,a("option",{value:p,title:c||null},d));return a("label",{},a("span",{},r),l)},s=(n,r)=>a("label",{},a("span",{},r),a("input",{class:"pe-number",type:"number",min:0,name:n}));v(this.form,t("status","status",e.statuses),t("reason","reason",e.reasons),a("label",{},a("span",{},"operator"),a("input",{class:"pe-text",name:"operator",maxlength:200,placeholder:"such as matmul"})),s("first","from event"),s("last","to event"),a("button",{type:"submit",class:"pe-button"},"Add"))}submit(){let e=new FormData(this.form),t=d=>String(e.get(d)??"").trim(),{status:s=[],reason:n=[]}=this.data??{},[r,o]=[t("first"),t("last")],l=[Number(r||0),Number(o||Number.MAX_SAFE_INTEGER)].sort((d,c)=>d-c),p={...t("status")&&{status:[...s,t("status")]},...t("reason")&&{reason:[...n,t("reason")]},...t("operator")&&{operator:t("operator")},...(r||o)&&{events:l}};this.look({filter:p}),this.form.reset(),this.close()}remove(e,t){let{data:s}=this;if(!s)return;let n=o=>o.filter(l=>l!==t),r={status:{status:n(s.status)},reason:{reason:n(s.reason)},operator:{operator:""},events:{events:[]}};this.look({filter:r[e]??{}})}};var kt="prism-show-row",wt="prism-list-rows",Et="prism-csv";function St(i,e){for(let t of i.querySelectorAll(".pe-tablebox"))t.dispatchEvent(new CustomEvent(kt,{detail:e}))}function Mt(i){let e=[];for(let t of i.querySelectorAll(".pe-tablebox"))t.dispatchEvent(new CustomEvent(wt,{detail:e}));return e}function Tt(i){let e=[];for(let t of i.querySelectorAll(".pe-tablebox"))t.dispatchEvent(new CustomEvent(Et,{detail:e}));return e.filter(Boolean).join(`
`)}function Lt(i){let e=t=>{let s=/^[=+@\t\r]|^-\D/.test(t)?`'${t}`:t;return/[",\n\r]/.test(s)?`"${s.replaceAll('"','""')}"`:s};return i.map(t=>`${t.map(e).join(",")}
`).join("")}function $t(i,e,t,s){i.addEventListener(Et,n=>n.detail.push(s())),i.addEventListener(kt,n=>e(n.detail)),i.addEventListener(wt,n=>n.detail.push(...t()))}function E(i,e,t){let s=a("button",{type:"button",class:"pe-tool",title:e,"aria-label":e},M(i));return s.addEventListener("click",t),s}var Es=new Set(["families","eclasses","tuning","ledger","questions"]),T=class{constructor(e,t,s,n=[]){this.name=e;let r=Es.has(e)?[E("copy",`copy ${t.toLowerCase()} as CSV`,()=>s.copy(Tt(this.element),`${t.toLowerCase()} as CSV`))]:[];this.tools.append(...n,...r,E("maximise",`maximise ${t.toLowerCase()} (m)`,()=>s.maximise(e)));let o=a("header",{class:"pe-head"},a("h3",{},t),this.caption,this.tools);this.element=a("section",{class:"pe-panel","data-panel":e,"aria-label":t},o,this.body)}name;element;caption=a("span",{class:"pe-caption"});tools=a("span",{class:"pe-tools"});body=a("div",{class:"pe-body"})};var Ss=600,ae=class{constructor(e){this.host=e;this.frame=new T("bookmarks","Bookmarks",e),this.make.addEventListener("click",()=>this.bookmark()),this.frame.body.append(a("div",{class:"pe-bookmarkbox"},this.make,this.empty,this.list,this.deleted)),this.element=this.frame.element}host;name="bookmarks";element;frame;make=a("button",{type:"button",class:"pe-button","data-command":"bookmark"});list=a("ul",{class:"pe-bookmarks"});deleted=a("details",{class:"pe-deleted"});empty=a("p",{class:"pe-empty"},"No bookmarks yet. Press b to bookmark what is selected; an earlier state of the search can be bookmarked too.");data=null;text="";awaited=null;bookmark(){let e=this.data?.add;return e?.enabled?(this.awaited=(this.data?.bookmarks.length??0)+1,this.host.command(e.command,e.args),!0):!1}update(e){this.data=e,this.frame.caption.textContent=e.caption,v(this.make,M("bookmark"),a("span",{},e.add.label)),this.make.disabled=!e.add.enabled,h(this.make,"title",`${e.add.description}
${e.add.python}
key: b`);let t=JSON.stringify([e.bookmarks,e.deleted]);if(t===this.text)return;this.text=t;let s=document.activeElement?.closest("[data-bookmark]")?.getAttribute("data-bookmark"),n=document.activeElement instanceof HTMLTextAreaElement?document.activeElement:null,[r,o]=[n?.selectionStart??0,n?.selectionEnd??0];this.empty.hidden=e.bookmarks.length>0,v(this.list,...e.bookmarks.map(c=>this.row(c,s===c.bookmark?n?.value:void 0))),this.deleted.hidden=e.deleted.length===0,v(this.deleted,a("summary",{},`${e.deleted.length} deleted`),a("ul",{class:"pe-bookmarks"},...e.deleted.map(c=>this.deletedRow(c))));let l=this.awaited!==null&&e.bookmarks.length>=this.awaited,p=l?e.bookmarks.at(-1)?.bookmark:s;l&&(this.awaited=null);let d=p?this.list.querySelector(`[data-bookmark="${p}"] textarea`):null;d&&(l||n)&&(d.focus(),n&&!l&&d.setSelectionRange(r,o))}select(){}hover(){}close(){}row(e,t){let s=a("button",{type:"button",class:"pe-link pe-mono",title:"show it","aria-label":`${e.bookmark}: show ${e.label}`},e.label);s.addEventListener("click",()=>this.jump(e));let n=a("textarea",{class:"pe-text",rows:1,maxlength:4e3,placeholder:"note","aria-label":`note of ${e.bookmark}`});n.value=t??e.note;let r,o=e.note,l=()=>{clearTimeout(r),n.value!==o&&(o=n.value,this.host.command("edit_bookmark",{id:e.bookmark,note:n.value}))};return n.addEventListener("input",()=>{clearTimeout(r),r=setTimeout(l,Ss)}),n.addEventListener("change",l),a("li",{"data-bookmark":e.bookmark,"data-ref":e.ref||null},s,n,E("close",`delete ${e.bookmark}`,()=>this.host.command("delete_bookmark",{id:e.bookmark})))}deletedRow(e){let t=a("button",{type:"button",class:"pe-button"},`restore ${e.bookmark}`);t.addEventListener("click",()=>this.host.command("restore_bookmark",{id:e.bookmark}));let s=a("li",{});return S(s,a("span",{class:"pe-mono"},e.label),a("span",{},e.note),t),s}jump(e){this.host.look({cursor:e.at}),e.ref&&this.host.select(e.ref)}};var le=class{constructor(e){this.host=e;this.frame=new T("code","Code",e,[E("copy","copy this text",()=>this.copy())]);let t=a("div",{class:"pe-codebar"},this.tabs,this.compare);this.frame.body.append(t,this.caption,this.list),this.element=this.frame.element,this.other.addEventListener("change",()=>e.look({code:{other:this.other.value}})),this.list.addEventListener("click",s=>{let n=s.target.closest("[data-line]");n&&!(document.getSelection()?.toString()??"")&&this.choose(Number(n.getAttribute("data-line")))}),this.list.addEventListener("keydown",s=>this.onKey(s)),this.list.addEventListener("focus",()=>this.activate(this.active))}host;name="code";element;frame;tabs=a("div",{class:"pe-chips",role:"group","aria-label":"texts"});other=a("select",{"aria-label":"compare with"});compare=a("label",{class:"pe-against"},"compare with ",this.other);caption=a("p",{class:"pe-muted"});list=a("div",{class:"pe-code pe-listing",role:"listbox",tabindex:0,"aria-label":"code; arrow keys move, Enter selects the operator of a line"});data=null;chosen="";drawn="";rows=[];lines=[];selected="";active=0;update(e){if((this.data?.tab!==e.tab||!e.tabs.some(t=>t.name===this.chosen))&&(this.chosen=e.tab),this.data=e,this.frame.caption.textContent=[e.title,e.caption].filter(Boolean).join(" · "),this.drawTabs(e),this.compare.hidden=e.others.length===0,document.activeElement!==this.other){let t=e.others.map(({ref:n,label:r})=>a("option",{value:n},r)),s=e.others.some(({ref:n})=>n===e.other);e.other&&!s&&t.unshift(a("option",{value:e.other},e.other)),v(this.other,a("option",{value:""},"nothing"),...t),this.other.value=e.other}this.draw()}select(e){let t=this.selected;this.selected=e[0]??"",this.markLines(this.selected!==t)}hover(e){this.rows.forEach((t,s)=>{h(t,"data-hovered",e!==null&&Rt(this.lines[s],e))})}close(){}tab(){return this.data?.tabs.find(e=>e.name===this.chosen)??this.data?.tabs[0]??null}copy(){let e=this.tab(),t=({mark:n=""})=>this.data?.other?n||" ":"",s=(e?.lines??[]).map(n=>t(n)+n.text).join(`
`);this.host.copy(s,`${e?.label??"the text"} of ${this.data?.title??""}`)}drawTabs(e){let t=e.tabs.map(n=>{let r=n.name===this.chosen?"true":"false",o=a("button",{type:"button",class:"pe-chip",title:n.tip,"aria-pressed":r,"data-code":n.name},n.label);return o.addEventListener("click",()=>{this.chosen=n.name;for(let l of this.tabs.children)h(l,"aria-pressed",String(l.getAttribute("data-code")===n.name));this.draw(),this.host.look({code:{tab:n.name}})}),o});[...this.tabs.children].map(n=>n.getAttribute("data-code")).join()!==e.tabs.map(n=>n.name).join()&&v(this.tabs,...t);for(let n of this.tabs.children)h(n,"aria-pressed",String(n.getAttribute("data-code")===this.chosen))}draw(){let e=this.tab(),t=e!==null&&e.lines.length===0&&e.missing==="",s=e?.missing||(t?"being generated":"");R(this.caption,s?`${e?.label}: ${s}.`:e?.caption??"");let n=JSON.stringify([e?.name,e?.lines]);if(n===this.drawn)return;let r=this.drawn.startsWith(JSON.stringify([e?.name]).slice(0,-1))?this.list.scrollTop:0;this.drawn=n,this.lines=e?.lines??[],this.rows=this.lines.map((o,l)=>Ms(o,l)),h(this.list,"data-diff",!!this.data?.other),v(this.list,...this.rows),this.list.hidden=this.lines.length===0,this.active=Math.min(this.active,Math.max(0,this.lines.length-1)),this.list.scrollTop=r,this.markLines(!0)}markLines(e){let t=null;this.rows.forEach((s,n)=>{let r=this.selected!==""&&Rt(this.lines[n],this.selected);h(s,"aria-selected",String(r)),r&&(t??=s)}),e&&t&&this.reveal(t)}reveal(e){let{scrollTop:t,clientHeight:s}=this.list,n=e.offsetTop-this.list.offsetTop;(n<t||n+e.offsetHeight>t+s)&&(this.list.scrollTop=Math.max(0,n-s/3))}choose(e){this.activate(e);let[t]=(this.lines[e]?.refs??"").split(" ");t&&this.host.select(t)}activate(e){this.active=Math.max(0,Math.min(this.rows.length-1,e)),this.rows.forEach((s,n)=>{h(s,"data-active",n===this.active)});let t=this.rows[this.active];t&&(h(this.list,"aria-activedescendant",t.id),this.reveal(t))}onKey(e){let s={ArrowDown:1,ArrowUp:-1,PageDown:20,PageUp:-20}[e.key];if(s!==void 0)this.activate(this.active+s);else if(e.key==="Home")this.activate(0);else if(e.key==="End")this.activate(this.rows.length-1);else if(e.key==="Enter")this.choose(this.active);else return;e.preventDefault(),e.stopPropagation()}},Ct=0;function Ms(i,e){return Ct+=1,a("div",{id:`prism-line-${Ct}`,class:"pe-line",role:"option","aria-selected":"false","data-line":e,"data-linked":!!i.refs,"data-mark":i.mark||null,title:i.refs||null},i.text||" ")}function Rt(i,e){return(i?.refs??"").split(" ").includes(e)}var ee=8,At=1e7,pe=class{constructor(e){this.role=e;for(let[t,[s,n,r]]of Object.entries(bt))this.patterns.append(b("pattern",{id:`${this.prefix}-${t}`,width:s,height:s,patternUnits:"userSpaceOnUse"},b("path",{class:r,d:n})))}role;element=b("g",{class:"drawing"});patterns=b("defs");targets=[];prefix=D("pattern");kept=new Map;byRef=new Map;update(e){let t=new Map,s=new Map,n=[];for(let o of e.items){let l=JSON.stringify(o),p=this.kept.get(o.id),d=p?.text===l?p.element:this.draw(o);t.set(o.id,{text:l,element:d}),n.push(d),o.ref&&s.set(o.ref,[...s.get(o.ref)??[],d])}n.length===this.element.childNodes.length&&n.every((o,l)=>this.element.childNodes[l]===o)||this.element.replaceChildren(...n),this.kept=t,this.byRef=s,this.targets=e.items.filter(o=>o.type==="shape"&&!!o.ref)}highlight(e,t){let s=new Set(t.flatMap(n=>this.byRef.get(n)??[]));for(let n of this.element.querySelectorAll(`.item.${e}`))s.has(n)||n.classList.remove(e);for(let n of s)n.classList.add(e);if(e==="selected"){for(let n of this.element.querySelectorAll("[aria-selected=true]"))s.has(n)||n.setAttribute("aria-selected","false");for(let n of s)n.hasAttribute("aria-selected")&&h(n,"aria-selected","true")}}find(e,t){let s=0;for(let n of t.items){let r=e===null||!n.ref||e(n);e!==null&&n.ref&&r&&(s+=1),this.kept.get(n.id)?.element.classList.toggle("dimmed",!r)}return s}elementId(e){return this.kept.get(e)?.element.id??null}draw(e){let t=/^[\w-]+$/.test(e.kind)?e.kind:"plain",s=e.type==="shape"?`shape role-${e.role}`:e.closed?"edge band":"edge",n=b("g",{class:`item ${s} k-${t}`,"data-id":e.id});if(e.ref){n.id=D("item"),h(n,"data-ref",e.ref);let r=Ts(e);r===""?h(n,"aria-hidden","true"):(h(n,"role",this.role),h(n,"aria-selected","false"),h(n,"aria-label",r))}e.tip&&h(n,"data-tip",e.tip),e.type==="shape"&&e.action&&h(n,"data-action",e.action),e.type==="shape"?this.shape(n,e):this.edge(n,e);for(let r of e.texts??[])n.append(Ls(r)," ");return n}shape(e,t){let s=Ht(t);if(s===null)return;h(s,"class","body"),e.append(s);let n=vt[t.kind],r=n?Ht(t):null;r!==null&&(h(r,"class","pattern"),h(r,"fill",`url(#${this.prefix}-${n})`),e.append(r))}edge(e,t){let s=t.points.map(([c,m])=>[F(c),F(m)]),n=s.at(-1),r=s.at(-2),o=null;if(t.arrow&&n&&r){let c=Math.hypot(n[0]-r[0],n[1]-r[1])||1,m=(n[0]-r[0])/c,g=(n[1]-r[1])/c,u=n[0]-m*ee,f=n[1]-g*ee,x=ee*.45;s[s.length-1]=[n[0]-m*ee*.6,n[1]-g*ee*.6];let k=[n,[u-g*x,f+m*x],[u+g*x,f-m*x]];o=b("polygon",{class:"head",points:k.map(w=>w.join(",")).join(" ")})}let[l,...p]=s.map(c=>c.join(","));if(l===void 0)return;let d=`M${l} ${t.curve==="bezier"?"C":"L"}${p.join(" ")}${t.closed?" Z":""}`;e.append(b("path",{class:"body",d})),t.ref&&e.append(b("path",{class:"reach",d})),o&&e.append(o)}};function Ts(i){let e=(i.texts??[]).map(s=>s.text).join(" ");if(i.type==="edge"&&e===""&&!i.tip)return"";let t=i.tip&&i.tip!==e?i.tip:"";return[e,t].filter(Boolean).join(": ")||(i.ref??"")}function Ls(i){let e=/^[\w-]+$/.test(i.kind??"label")?i.kind??"label":"label";return b("text",{class:`t-${e}`,x:F(i.x),y:F(i.y),"text-anchor":i.anchor??"middle"},i.text)}function Ht(i){let[e,t,s,n]=[F(i.x),F(i.y),F(i.w),F(i.h)],r=i.outline??"rect";switch(r){case"none":return null;case"rect":case"pill":{let o=r==="pill"?Math.min(s,n)/2:i.role==="frame"?10:Math.min(4,s/3);return b("rect",{x:e,y:t,width:s,height:n,rx:o})}case"circle":return b("ellipse",{cx:e+s/2,cy:t+n/2,rx:s/2,ry:n/2});case"cross":return b("path",{d:`M${e},${t} L${e+s},${t+n} M${e+s},${t} L${e},${t+n}`});default:{let o=ie[r]??[];return b("polygon",{points:o.map(([l,p])=>`${e+l*s},${t+p*n}`).join(" ")})}}}function F(i){return Number.isFinite(i)?Math.max(-At,Math.min(At,i)):0}function Pt(i,e,t){let s=t==="left"||t==="up"?-1:1,n=t==="left"||t==="right",r=null,o=Number.POSITIVE_INFINITY;for(let l of e){if(l.ref===i.ref)continue;let[p,d]=n?[i.x,i.x+i.w]:[i.y,i.y+i.h],[c,m]=n?[l.x,l.x+l.w]:[l.y,l.y+l.h],g=s>0?c-d:p-m;if(g<-1)continue;let u=n?Nt(i.y,i.y+i.h,l.y,l.y+l.h):Nt(i.x,i.x+i.w,l.x,l.x+l.w),f=Math.abs(n?i.y+i.h/2-l.y-l.h/2:i.x+i.w/2-l.x-l.w/2),x=g+3*u+.05*f;x<o&&(o=x,r=l)}return r}function Nt(i,e,t,s){return Math.max(0,t-e,i-s)}var $s=.15,Cs=4,Rs=1,As=1.15,N=8,_=class{constructor(e,t,s){this.events=s;this.drawing=new pe(t==="tree"?"treeitem":"option");let[n,r]=[D("title"),D("desc")];this.title.id=n,this.desc.id=r,this.svg=b("svg",{class:"prism-scene",role:t,tabindex:0,"aria-labelledby":n,"aria-describedby":r,"data-stage":e},this.title,this.desc,this.drawing.patterns,this.drawing.element,this.overlay),this.element=a("div",{class:"pe-stage"},this.svg,this.tip),this.resize=new ResizeObserver(()=>{this.moved||this.fit()}),this.resize.observe(this.element),this.listen()}events;element;overlay=b("g",{class:"pe-overlay"});svg;title=b("title");desc=b("desc");drawing;tip=a("div",{class:"pe-tip",role:"tooltip",hidden:!0});resize;scene=null;pattern=null;x=0;y=0;scale=1;scroll=!1;moved=!1;selected=[];filtered=[];dragged=!1;close(){this.resize.disconnect()}get shown(){return this.scene}update(e){let t=this.scene?.width!==e.width||this.scene.height!==e.height;this.scene&&this.scene.title!==e.title&&(this.moved=!1),this.scene=e,this.title.textContent=e.title,this.desc.textContent=e.desc,this.drawing.update(e),this.drawing.highlight("selected",this.selected),this.drawing.highlight("filtered",this.filtered),this.pattern&&this.drawing.find(this.pattern,e),t&&!this.moved&&this.fit()}select(e){this.selected=e,this.drawing.highlight("selected",e);let t=this.current();h(this.svg,"aria-activedescendant",t?this.drawing.elementId(t.id):null)}filter(e){this.filtered=e,this.drawing.highlight("filtered",e)}hover(e){this.drawing.highlight("hovered",e===null?[]:[e])}find(e){return this.pattern=e,this.scene?this.drawing.find(e,this.scene):0}fit(){let{clientWidth:e,clientHeight:t}=this.element;if(!this.scene||e===0||t===0)return;let s=Math.min((e-2*N)/this.scene.width,(t-2*N)/this.scene.height,As);this.scale=this.scroll?1:Math.max(s,Rs),this.x=Math.max(N,(e-this.scene.width*this.scale)/2),this.y=this.scroll?N:Math.max(N,(t-this.scene.height*this.scale)/2),this.moved=!1,this.place()}zoom(e,t){let{clientWidth:s,clientHeight:n}=this.element,{x:r,y:o}=t??{x:s/2,y:n/2},l=Math.min(Cs,Math.max($s,this.scale*e));this.x=r-(r-this.x)*l/this.scale,this.y=o-(o-this.y)*l/this.scale,this.scale=l,this.moved=!0,this.place()}reveal(e){let t=this.drawing.targets.find(m=>m.ref===e),{clientWidth:s,clientHeight:n}=this.element;if(!t||s===0)return;let r=t.x*this.scale+this.x,o=t.y*this.scale+this.y,[l,p]=[t.w*this.scale,t.h*this.scale],[d,c]=[this.x,this.y];(r+l<20||r>s-20)&&(this.x=s/2-(t.x+t.w/2)*this.scale),(o+p<20||o>n-20)&&(this.y=n/2-(t.y+t.h/2)*this.scale),this.x=_t(this.x,this.scene?.width??0,this.scale,s),this.y=_t(this.y,this.scene?.height??0,this.scale,n),(d!==this.x||c!==this.y)&&(this.moved=!0,this.place())}walk(e){let t=this.current(),s=t?Pt(t,this.drawing.targets,e):this.drawing.targets[0]??null;s?.ref&&(this.events.select(s.ref),this.reveal(s.ref))}focus(){this.svg.focus({preventScroll:!0})}table(){let e=a("tbody"),t=new Map;for(let n of this.scene?.items??[]){if(!n.ref)continue;let r=n.tip||(n.texts??[]).map(o=>o.text).join(" ");r.length>=(t.get(n.ref)??"").length&&t.set(n.ref,r)}for(let[n,r]of t){let o=a("button",{class:"pe-link",type:"button"},n);o.addEventListener("click",()=>this.events.select(n)),S(e,a("tr",{"data-ref":n},a("th",{scope:"row"},o),a("td",{},r)))}let s=a("thead",{},a("tr",{},...["id","description"].map(n=>a("th",{scope:"col"},a("span",{class:"pe-sort"},n)))));return a("table",{class:"pe-table"},a("caption",{},this.scene?.desc??""),s,e)}current(){let e=new Set(this.selected);return this.drawing.targets.find(t=>t.ref!==void 0&&e.has(t.ref))??null}place(){let e=s=>Math.round(s*1e3)/1e3,t=`translate(${e(this.x)} ${e(this.y)}) scale(${e(this.scale)})`;h(this.drawing.element,"transform",t),h(this.overlay,"transform",t)}at(e){let t=this.element.getBoundingClientRect();return{x:(e.clientX-t.left-this.x)/this.scale,y:(e.clientY-t.top-this.y)/this.scale}}listen(){let e=s=>s.target.closest(".item"),t=s=>s.target.closest("[data-ref]")?.getAttribute("data-ref")??null;this.svg.addEventListener("click",s=>{let n=t(s),r=e(s)?.getAttribute("data-action");n===null||this.dragged||(r?this.events.act?.(r,n):this.events.select(n))}),this.svg.addEventListener("dblclick",s=>{let n=t(s);e(s)?.hasAttribute("data-action")||(n!==null?this.events.enter(n):this.fit(),s.preventDefault())}),this.svg.addEventListener("pointerover",s=>{this.events.hover(t(s)),this.showTip(e(s)?.getAttribute("data-tip")??null,s)}),this.svg.addEventListener("pointerleave",()=>{this.events.hover(null),this.showTip(null)}),this.svg.addEventListener("pointerdown",s=>this.drag(s)),this.element.addEventListener("wheel",s=>{if(!s.ctrlKey&&!s.metaKey){this.scrollBy(s.deltaY)&&s.preventDefault();return}s.preventDefault();let n=this.element.getBoundingClientRect();this.zoom(Math.exp(-s.deltaY*.0022),{x:s.clientX-n.left,y:s.clientY-n.top})},{passive:!1})}scrollBy(e){let t=(this.scene?.height??0)*this.scale+2*N,s=Math.min(N,this.element.clientHeight-t+N),n=Math.max(s,Math.min(N,this.y-e));return n===this.y?!1:(this.y=n,this.moved=!0,this.place(),!0)}drag(e){if(e.button!==0)return;let[t,s]=[this.x,this.y];this.dragged=!1;let n=o=>{let[l,p]=[o.clientX-e.clientX,o.clientY-e.clientY];!this.dragged&&Math.hypot(l,p)<4||(this.dragged||this.svg.setPointerCapture?.(e.pointerId),this.dragged=!0,this.moved=!0,h(this.element,"data-dragging",!0),this.showTip(null),this.x=t+l,this.y=s+p,this.place())},r=()=>{h(this.element,"data-dragging",null),this.svg.removeEventListener("pointermove",n),this.svg.removeEventListener("pointerup",r),this.svg.removeEventListener("pointercancel",r)};this.svg.addEventListener("pointermove",n),this.svg.addEventListener("pointerup",r),this.svg.addEventListener("pointercancel",r)}showTip(e,t){if(this.tip.hidden=!e,!e||!t)return;this.tip.textContent=e;let s=this.element.getBoundingClientRect(),n=Math.max(0,Math.min(t.clientX-s.left+14,s.width-280)),r=t.clientY-s.top;this.tip.style.left=`${n}px`;let o=r<s.height/2;this.tip.style.top=o?`${r+18}px`:"",this.tip.style.bottom=o?"":`${s.height-r+10}px`}};function _t(i,e,t,s){let n=s-N-e*t;return n>=N?Math.max(N,Math.min(n,i)):Math.min(N,Math.max(n,i))}var Hs="http://www.w3.org/1998/Math/MathML",Ns={math:["displaystyle"],mrow:[],mi:[],mn:[],mo:["stretchy"],mtext:[],mspace:["width"],mfrac:[],msqrt:[],msup:[],munder:[]};function W(i,e){let t=i?new DOMParser().parseFromString(i,"application/xml").documentElement:null,s=t?.nodeName==="math"?zt(t):null,n=document.createElement(s?"div":"pre");return n.className="pe-formula",n.title=s?e:"",n.append(s??e),n}function zt(i){let e=Ns[i.nodeName];if(!e)return null;let t=document.createElementNS(Hs,i.nodeName);for(let s of e){let n=i.getAttribute(s);n!==null&&t.setAttribute(s,n)}for(let s of i.childNodes){let n=s instanceof Element?zt(s):s.textContent??"";if(n===null)return null;t.append(n)}return t}var Ps=24,j=60,_s=15,zs=190,Os=29,H=class{constructor(e,t){this.events=t;this.table=a("table",{class:"pe-table","aria-label":e},this.head,this.body),this.element=a("div",{class:"pe-tablebox",tabindex:-1},this.table,this.note),$t(this.element,n=>this.reveal(n),()=>this.rows.map(js),()=>this.csv()),this.element.addEventListener("scroll",()=>this.follow(),{passive:!0}),new ResizeObserver(()=>this.data&&this.held===null&&this.holdWidths(this.data)).observe(this.element);let s=n=>n.target.closest("tr[data-ref]")?.getAttribute("data-ref")??null;this.body.addEventListener("click",n=>{if(n.target.closest("button, input"))return;let r=s(n),o=n;if(r&&this.events.choose&&(o.shiftKey||o.ctrlKey||o.metaKey)){this.events.choose(r,o.shiftKey);return}r&&this.events.select(r)}),this.body.addEventListener("pointerover",n=>this.events.hover(s(n))),this.body.addEventListener("pointerleave",()=>this.events.hover(null)),this.body.addEventListener("keydown",n=>this.walk(n))}events;element;table;head=a("thead");body=a("tbody");note=a("p",{class:"pe-note"});data=null;rows=[];first=0;rowPx=Os;widths=[];keys="";held=null;text="";sorted=null;selected=[];update(e){let t=JSON.stringify(e);t!==this.text&&(this.text=t,this.data=e,this.draw())}select(e){this.selected=e;for(let t of this.body.querySelectorAll("tr"))h(t,"aria-selected",e.includes(t.getAttribute("data-ref")??"")?"true":"false")}hover(e){for(let t of this.body.querySelectorAll("tr"))t.classList.toggle("hovered",e!==null&&t.getAttribute("data-ref")===e)}get refs(){return this.rows.map(e=>e.ref)}csv(){if(!this.data||this.rows.length===0)return"";let e=this.data.columns.map(t=>t.label);return Lt([e,...this.rows.map(t=>t.cells.map(de))])}reveal({ref:e,seq:t}){let s=String(t),n=this.rows.findIndex(l=>de(l.cells[0])===s),r=n>=0?n:this.rows.findIndex(l=>e!==""&&l.ref===e);if(r<0)return;(r<this.first||r>=this.first+j)&&this.drawRows(r-j/2);let o=this.body.querySelector(`tr[aria-rowindex="${r+2}"]`);for(let l of this.body.querySelectorAll("tr.found"))l.classList.remove("found");o?.classList.add("found"),o?.scrollIntoView?.({block:"nearest"})}draw(){let{data:e}=this;e&&(this.rows=this.order(e),h(this.table,"aria-rowcount",String(this.rows.length+1)),this.freeWidths(e),v(this.head,a("tr",{},...e.columns.map((t,s)=>this.header(e,s)),this.toolsHead())),this.drawRows(this.first),this.holdWidths(e),this.note.textContent=e.omitted,this.note.hidden=e.omitted==="")}drawRows(e){let{data:t,rows:s}=this;if(!t)return;this.first=Math.max(0,Math.min(e,s.length-j));let n=Math.min(this.first+j,s.length),r=this.body.contains(document.activeElement),o=r?Ye(document.activeElement):null,l=r?document.activeElement?.closest("tr")?.getAttribute("data-ref")??null:null;if(v(this.body,this.gap(this.first),...s.slice(this.first,n).map((m,g)=>this.row(t,m,this.first+g)),this.gap(s.length-n)),s.length===0&&S(this.body,a("tr",{},a("td",{class:"pe-empty",colspan:this.span(t)},t.empty_text))),this.select(this.selected),o===null||l===null)return;let d=[...this.body.querySelectorAll("tr[data-ref]")].filter(m=>m.getAttribute("data-ref")===l);(d.find(m=>Ye(m)===o)??d[0]??this.element).focus({preventScroll:!0})}gap(e){if(e===0||!this.data)return null;let t=a("td",{colspan:this.span(this.data),style:`height:${e*this.rowPx}px`});return a("tr",{class:"pe-gap","aria-hidden":"true"},t)}span(e){return e.columns.length+(this.events.tools?1:0)}follow(){let{rows:e,element:t}=this;if(e.length<=j)return;let s=[...this.body.querySelectorAll("tr[aria-rowindex]")],n=s.reduce((d,c)=>d+c.offsetHeight,0)/Math.max(1,s.length);n>0&&(this.rowPx=n);let r=Math.floor(t.scrollTop/this.rowPx),o=r+Math.ceil(t.clientHeight/this.rowPx),l=r<this.first,p=o>this.first+j&&this.first+j<e.length;(l||p)&&this.drawRows(r-_s)}holdWidths(e){let t=[...this.head.querySelectorAll("th")];if(this.rows.length===0)return;if(this.held!==null){this.setWidths(t,e);return}let s=t.map(r=>r.offsetWidth);if(s.some(r=>r===0))return;let n=this.widths.length===s.length?this.widths:[];this.widths=s.map((r,o)=>Math.max(r,n[o]??0)),this.held={rows:this.rows.length},this.setWidths(t,e)}setWidths(e,t){if(this.widths.length!==e.length)return;let s=0;e.forEach((n,r)=>{let o=t.columns[r]?.wide??!1;n.style.width=o?"":`${this.widths[r]}px`,s+=o?zs:this.widths[r]??0}),this.table.style.minWidth=`${s}px`,this.table.style.tableLayout="fixed"}freeWidths(e){let t=e.columns.map(s=>s.key).join(" ");t!==this.keys&&(this.widths=[]),!(t===this.keys&&this.held?.rows===this.rows.length)&&(this.keys=t,this.held=null,this.table.style.tableLayout="")}toolsHead(){return this.events.tools?a("th",{scope:"col",class:"pe-tools"},a("span",{class:"pe-hidden"},"actions")):null}header(e,t){let s=e.columns[t];if(!s)return a("th");let n=this.sorted?.key===s.key?this.sorted:null,r=a("button",{type:"button",class:"pe-sort",title:s.tip??`sort by ${s.label}`},s.label,a("span",{class:"pe-arrow","aria-hidden":"true"},n?n.down?"▾":"▴":""));return r.addEventListener("click",()=>{let o=this.sorted?.key===s.key;this.sorted=o&&this.sorted?.down?null:{key:s.key,down:o},this.draw()}),a("th",{scope:"col",class:s.align==="right"?"pe-right":s.wide?"pe-wide":null,style:s.width_ch?`min-width:${s.width_ch}ch`:null,"aria-sort":n?n.down?"descending":"ascending":"none"},r)}order(e){let{sorted:t}=this,s=e.columns.findIndex(o=>o.key===t?.key);if(!t||s<0)return e.rows;let n=t.down?-1:1,r=e.rows.map((o,l)=>({row:o,i:l}));return r.sort((o,l)=>n*Is(o.row.cells[s],l.row.cells[s])||o.i-l.i),r.map(o=>o.row)}row(e,t,s){let n=t.cells.map((p,d)=>{let c=e.columns[d],m=typeof p=="string"?{text:p}:p,g=[c?.align==="right"?"pe-right":"",c?.mono?"pe-mono":"",m.text.length<=Ps?"pe-short":""].filter(Boolean).join(" "),u=m.kind?P(m.kind):null,f=m.math?[u,W(m.math,m.text)]:c?.wide&&m.tip?[a("span",{class:"pe-clamp"},u,m.text)]:[u,m.text];return a("td",{class:g||null,title:m.tip??null},...f)}),r=this.events.tools?a("td",{class:"pe-tools"},...this.events.tools(t)):null,o=t.ref?{"data-ref":t.ref,tabindex:-1,"aria-selected":"false"}:{},l={"aria-rowindex":s+2,class:t.kind?`row-${t.kind}`:null};return a("tr",{...o,...l},...n,r)}walk(e){let t={ArrowDown:1,ArrowUp:-1}[e.key],s=e.target.closest("tr");if(t===void 0||!s)return;e.preventDefault(),e.stopPropagation();let n=(Ye(s)??0)+t,r=this.rows[n]?.ref;r&&((n<this.first||n>=this.first+j)&&this.drawRows(n-j/2),this.body.querySelector(`tr[aria-rowindex="${n+2}"]`)?.focus(),e.shiftKey&&this.events.choose?.(r,!0),this.events.select(r))}};function Ye(i){let e=i?.closest("tr")?.getAttribute("aria-rowindex");return e?Number(e)-2:null}function de(i){return typeof i=="string"?i:i?.text??""}function js(i){let e=Number(de(i.cells[0])),t=[i.ref,...i.cells.map(de)].join(`
`);return{ref:i.ref,seq:Number.isFinite(e)?e:0,text:t}}function Is(i,e){let[t,s]=[Ot(i),Ot(e)];return typeof t=="number"&&typeof s=="number"?t-s:typeof t=="number"?-1:typeof s=="number"?1:t.localeCompare(s,void 0,{numeric:!0})}function Ot(i){return i===void 0?"":typeof i=="string"?i:i.sort??i.text}var ce=class{constructor(e){this.body=e}body;subject="";drawn=[];draw(e,t){let s=e===this.subject,n=s?[...this.drawn]:[],r=t.map(([p,d])=>{let c=n.findIndex(([m])=>m===p);return n.splice(c,c<0?0:1)[0]??[p,d()]}),o=s?Ks(this.body):()=>this.body.scrollTo(0,0);this.subject=e,this.drawn=r;let l=new Set(r.map(([,p])=>p));for(let p of[...this.body.children])l.has(p)||p.remove();r.forEach(([,p],d)=>{let c=this.body.children[d];c!==p&&this.body.insertBefore(p,c??null)}),o()}};function Ks(i){let e=new Map([...jt(i)].map(([o,l])=>[o,l.open])),t=[i,...i.querySelectorAll("*")].filter(o=>o.scrollTop>0||o.scrollLeft>0).map(o=>({where:Ds(o,i),top:o.scrollTop,left:o.scrollLeft})),s=document.activeElement,n=s instanceof HTMLElement&&s!==i&&i.contains(s)?s:null,r=n&&Ze(n);return()=>{for(let[o,l]of jt(i))l.open=e.get(o)??l.open;n&&!i.contains(n)&&([...i.querySelectorAll(n.tagName)].find(l=>Ze(l)===r)??i).focus({preventScroll:!0});for(let{where:o,top:l,left:p}of t){let d=o.reduce((c,m)=>c?.children[m],i);d&&(d.scrollTop!==l||d.scrollLeft!==p)&&d.scrollTo(p,l)}}}function jt(i){let e=new Map;for(let t of i.querySelectorAll("details")){let s=Ze(t);for(;e.has(s);)s+="'";e.set(s,t)}return e}function Ze(i){return i.getAttribute("data-keep")??(i instanceof HTMLDetailsElement?i.querySelector("summary"):i)?.textContent??""}function Ds(i,e){let t=[];for(let s=i;s!==e&&s.parentElement;s=s.parentElement)t.unshift([...s.parentElement.children].indexOf(s));return t}var Fs={kind:"",status:"",description:[],details:[],code:"",code_math:"",cards:[],actions:[],links:[]},Bs={soundness:"",soundness_text:"",label:"Why",formula:"",formula_math:"",substituted:"",where:[],details:[],would_reopen_if:"",steps:[],copies:[]},Gs=9,Qe=6,qs=["",()=>a("p",{class:"pe-empty"},"Nothing is selected: click a block of the map, an operator, or a family.")],U=class{constructor(e){this.host=e;this.frame=new T("inspector","Inspector",e),this.frame.body.classList.add("pe-inspector"),this.frame.body.tabIndex=0,this.parts=new ce(this.frame.body),this.element=this.frame.element,this.update(null)}host;name="inspector";element;frame;parts;focus(){this.frame.body.focus()}update(e){let t=e&&{...Fs,...e};this.frame.caption.textContent=t?.ref??"",this.parts.draw(t?.ref??"",t?this.drawn(t):[qs])}drawn(e){let{cards:t,actions:s,...n}=e;return[[JSON.stringify(n),()=>this.summary(e)],...t.map(r=>[JSON.stringify(r),()=>this.card(r)]),...s.length>0?[[JSON.stringify(s),()=>this.actions(s)]]:[]]}select(){}hover(){}close(){}summary(e){let t=e.details.length>0?he(e.details):null,s=e.links.map(({ref:n,label:r})=>{let o=a("button",{type:"button",class:"pe-chip"},r);return o.addEventListener("click",()=>this.host.select(n)),o});return a("div",{class:"pe-part"},a("h4",{},e.kind?P(e.kind):null,a("span",{},e.title),e.status?a("span",{class:"pe-word"},e.status):null),...e.description.map(n=>a("p",{},n)),e.code_math?W(e.code_math,e.code):e.code?a("pre",{class:"pe-snippet"},e.code):null,t,s.length>0?a("div",{class:"pe-chips"},...s):null)}card(e){let t={...Bs,...e};return a("article",{class:"pe-card"},a("header",{},a("span",{class:"pe-eyebrow"},t.label),t.kind?P(t.kind):null,a("code",{},t.title),t.soundness?a("span",{class:"pe-word",title:t.soundness_text},t.soundness):null),a("p",{class:"pe-sentence"},t.sentence),t.formula?W(t.formula_math,t.formula):null,t.substituted?a("pre",{class:"pe-formula pe-numbers"},t.substituted):null,t.where.length>0?this.where(t.where):null,t.steps.length>0?this.steps(t.steps):null,t.details.length>0?this.details(t.details,`${t.label} ${t.title}`):null,...t.copies.map(s=>this.copy(s)),t.soundness_text?a("p",{class:"pe-muted"},t.soundness_text):null,t.would_reopen_if?a("p",{class:"pe-reopen"},a("b",{},"Would reopen if "),t.would_reopen_if):null)}where(e){let t=a("dl",{class:"pe-facts pe-where"});for(let{symbol:s,text:n,math:r}of e)S(t,a("dt",{},s),a("dd",{},W(r,n)));return a("div",{class:"pe-part"},a("span",{class:"pe-eyebrow"},"where"),t)}details(e,t){if(e.length<=Gs)return he(e);let s=a("details",{"data-keep":t},a("summary",{},`${e.length-Qe} more`),he(e.slice(Qe)));return a("div",{class:"pe-part"},he(e.slice(0,Qe)),s)}steps(e){let t=a("ol",{class:"pe-steps"});for(let s of e){let n=a("button",{type:"button",class:"pe-link pe-mono"},s.name);n.addEventListener("click",()=>this.host.select(s.ref));let r=[P(s.kind),n,It(s.equation_math,s.equation)],o=s.lines??[],l=a("p",{class:"pe-muted"},s.justification),p=a("div",{class:"pe-chain"});for(let[c,[m,g]]of o.entries())S(p,a("span",{},c>0?"= ":null,It(s.lines_math?.[c],m)),c>0?a("span",{class:"pe-muted"},`by ${g}`):null);let d=o.length>0&&e.length===1;S(t,o.length>0?a("li",{},a("details",{open:d,"data-keep":`${s.ref} ${s.name}`},a("summary",{},...r),l,p)):a("li",{},...r,l))}return t}copy({label:e,text:t}){let s=a("button",{type:"button",class:"pe-button",title:"copy this text"},M("copy"),e);return s.addEventListener("click",()=>this.host.copy(t,e)),t.includes(`
`)?a("details",{},a("summary",{},s),a("pre",{class:"pe-snippet"},t)):a("div",{class:"pe-action"},s,a("code",{},t))}actions(e){let t=a("div",{class:"pe-part pe-do"},a("span",{class:"pe-eyebrow"},"Commands"));for(let s of e){let n=s.command,r=a("button",{type:"button",class:"pe-button",disabled:!s.enabled,title:s.description,"data-command":s.command},["accept","reject","undo","redo"].includes(s.command)?M(n):null,a("span",{},s.label));r.addEventListener("click",()=>this.host.command(s.command,s.args));let o=a("button",{type:"button",class:"pe-python",title:"copy this line"},s.python);o.addEventListener("click",()=>this.host.copy(s.python,"the line")),S(t,a("div",{class:"pe-action"},r,o))}return t}};function It(i,e){return i?W(i,e):a("code",{},e)}function he(i){let e=a("dl",{class:"pe-facts"});for(let[t,s]of i)S(e,a("dt",{},t),a("dd",{},s));return e}var Vs=[["steps","Differences"],["families","Families"],["settings","Settings"],["counts","Counts"]],Ws={ArrowLeft:"left",ArrowRight:"right",ArrowUp:"up",ArrowDown:"down"},Js=150,Us=16,me=class{constructor(e,t=!0){this.host=e;this.frame=new T("compare","Compare",e,[E("minus","zoom out (Ctrl + wheel)",()=>this.map.zoom(1/1.25)),E("plus","zoom in (Ctrl + wheel)",()=>this.map.zoom(1.25)),E("fit","fit into the panel",()=>this.map.fit())]),this.map=new _("merged","listbox",{select:s=>this.select_(s),enter:s=>this.change({root:s}),hover:()=>{}}),this.map.scroll=!0,this.map.element.addEventListener("keydown",s=>this.onKey(s)),this.sides=["a","b"].map(s=>new U(this.sideHost(s)));for(let s of this.sides)h(s.element,"data-panel",null);for(let[s,n]of Vs)this.addTable(s,n);this.find.addEventListener("input",()=>this.showFound()),this.content=this.body(),this.frame.body.append(...t?[this.form()]:[],this.status,this.content),this.element=this.frame.element,this.resize=new ResizeObserver(()=>this.measure()),this.resize.observe(this.map.element),this.showTab("steps")}host;name="compare";element;frame;map;sides;status=a("p",{class:"pe-compare-status",role:"status"});summary=a("p",{class:"pe-claim"});first=a("div",{class:"pe-first"});path=a("p",{class:"pe-path pe-mono"});kinds=a("div",{class:"pe-chips",role:"group","aria-label":"kinds of difference"});find=a("input",{class:"pe-input pe-compare-find",type:"search",placeholder:"find in both","aria-label":"find in both searches"});found=a("span",{class:"pe-muted"});tabs=new Map;tables=new Map;content;runs=a("select",{class:"pe-select","aria-label":"a search of this process"});file=a("input",{class:"pe-input",type:"text",placeholder:"path of a saved search, such as run.prism","aria-label":"path of a saved search"});withParent=a("button",{type:"button",class:"pe-button"},"Compare with its parent");resize;timer;tab="steps";width=0;data=null;update(e){this.data=e,R(this.status,e.status),this.status.hidden=!e.status,this.updateForm(e),this.content.hidden=e.scene===null,e.scene!==null&&(R(this.summary,e.summary),R(this.path,e.path),v(this.kinds,...e.kinds.map(t=>this.kindButton(t))),v(this.first,...this.moments(e)),this.map.update(e.scene),this.map.select(e.marked?[e.marked]:[]),e.sides.forEach((t,s)=>{let n=this.sides[s];if(!n)return;n.update(t.inspector??{ref:"",title:t.missing});let r=n.element.querySelector("h3");r&&R(r,`${t.label}: ${t.name}`),h(n.element,"title",t.description),h(n.element,"aria-label",`${t.label}: ${t.name}, ${t.description}`)}),this.showFound())}select(){}hover(){}close(){this.map.close(),this.resize.disconnect(),clearTimeout(this.timer)}form(){let e=s=>s&&this.host.command("compare",{id:s}),t=a("form",{class:"pe-compare-form","aria-label":"compare with"},a("label",{},"with ",this.runs),a("label",{class:"pe-grow"},"or a file ",this.file),a("button",{type:"submit",class:"pe-button"},"Compare"),this.withParent);return t.addEventListener("submit",s=>{s.preventDefault(),e(this.file.value.trim()||this.runs.value)}),this.withParent.addEventListener("click",()=>e(this.data?.parent??"")),t}updateForm(e){this.withParent.hidden=!e.parent;let t=this.runs.value,s=e.choices.map(([n,r])=>a("option",{value:n,selected:n===t},r));this.runs.dataset.of!==JSON.stringify(e.choices)&&(this.runs.dataset.of=JSON.stringify(e.choices),v(this.runs,...s.length>0?s:[a("option",{value:""},"no other live search")]))}body(){let e=a("div",{class:"pe-chips",role:"group","aria-label":"tables of the comparison"});e.append(...this.tabs.values());let t=[...this.tables.values()].map(s=>s.element);return a("div",{class:"pe-compare"},a("div",{class:"pe-compare-head"},this.summary,this.first),a("div",{class:"pe-compare-map"},a("div",{class:"pe-compare-tools"},this.kinds,this.find,this.found),this.map.element,this.path),a("div",{class:"pe-compare-tables"},e,...t),a("div",{class:"pe-compare-sides"},...this.sides.map(s=>s.element)))}addTable(e,t){let s=new H(t.toLowerCase(),{select:r=>this.select_(r),hover:()=>{}}),n=a("button",{type:"button",class:"pe-chip"},t);n.addEventListener("click",()=>this.showTab(e)),this.tables.set(e,s),this.tabs.set(e,n)}showTab(e){this.tab=e;for(let[t,s]of this.tabs)h(s,"aria-pressed",String(t===e));for(let[t,s]of this.tables)h(s.element,"hidden",t!==e);this.showFound()}kindButton(e){let t=a("button",{type:"button",class:"pe-chip","aria-pressed":String(e.shown),title:e.shown?"fold these":"show these"},P(e.kind),`${e.label}: ${e.count}`);return t.addEventListener("click",()=>{let s=(this.data?.kinds??[]).filter(n=>n.shown!==(n.key===e.key));this.change({kinds:s.map(n=>n.key)})}),t}moments(e){if(e.first.length===0)return[a("p",{class:"pe-muted"},"No event differs in what matters.")];let t=e.first.map(s=>{let n=a("span",{},a("b",{},s.label),`: ${s.text}`);if(!s.ref)return n;let r=a("button",{type:"button",class:"pe-link",title:"show it in both"},n);return r.addEventListener("click",()=>this.select_(s.ref)),r});return[a("b",{},"First difference"),...t]}change(e){this.host.look({compare:e})}select_(e){this.change({select:e})}sideHost(e){let t=s=>this.select_(s&&`${e}:${s}`);return{command:()=>{},look:()=>{},select:t,enter:t,hover:()=>{},copy:(s,n)=>this.host.copy(s,n),maximise:()=>this.host.maximise("compare"),show:s=>this.host.show(s),showSizes:()=>{}}}onKey(e){let t=Ws[e.key];if(t)this.map.walk(t);else if(e.key==="Enter"&&this.data?.marked)this.change({root:this.data.marked});else return;e.preventDefault(),e.stopPropagation()}showFound(){let e=this.find.value.trim().toLowerCase(),t=(...r)=>r.join(`
`).toLowerCase().includes(e),s=r=>t(r.ref??"",r.tip??"",...(r.texts??[]).map(o=>o.text)),n=this.map.find(e?s:null);for(let[r,o]of this.tables){let l=this.data?.[r]??null;if(!l||r!==this.tab)continue;let p=l.rows.filter(d=>t(...d.cells.map(c=>typeof c=="string"?c:c.text)));o.update(e?{...l,rows:p}:l),o.select(this.data?.marked?[this.data.marked]:[]),this.found.textContent=e?`${n} in the map, ${p.length} in the table`:""}}measure(){clearTimeout(this.timer),this.timer=setTimeout(()=>{let e=this.map.element.clientWidth;e===0||Math.abs(e-this.width)<8||(this.width=e,this.change({map_px:e-Us}))},Js)}};var ue=class{constructor(e){this.host=e;let t=new T("families","Families",e);this.table=new H("families",{select:s=>e.select(s),hover:s=>e.hover(s),choose:(s,n)=>this.choose(s,n),tools:s=>this.tools(s)}),t.body.append(this.bar,this.table.element),this.element=t.element}host;name="families";element;table;bar=a("div",{class:"pe-group pe-chosen",role:"group",hidden:!0});chosen=new Set;anchor="";update(e){this.table.update(e);let t=new Set(this.table.refs);for(let s of this.chosen)t.has(s)||this.chosen.delete(s);this.showChosen()}select(e){this.table.select(e),e[0]&&(this.anchor=e[0])}hover(e){this.table.hover(e)}close(){}choose(e,t){let{refs:s}=this.table,n=s.indexOf(this.anchor),r=s.indexOf(e);if(t&&n>=0)for(let o of s.slice(Math.min(n,r),Math.max(n,r)+1))this.chosen.add(o);else this.chosen.delete(e)||this.chosen.add(e),this.anchor=e;this.showChosen()}showChosen(){for(let o of this.element.querySelectorAll("input[data-choose]"))o.checked=this.chosen.has(o.getAttribute("data-choose")??"");let e=this.table.refs.filter(o=>this.chosen.has(o));this.bar.hidden=e.length===0;let t=(o,l)=>{let p=a("button",{type:"button",class:"pe-button","data-command":l},M(l),a("span",{},o));return p.addEventListener("click",()=>{this.host.command(l,{id:e}),this.clear()}),p},s=a("button",{type:"button",class:"pe-link"},"clear");s.addEventListener("click",()=>this.clear());let n=`${e.length} ${e.length===1?"family":"families"}`;h(this.bar,"aria-label",`${n} chosen`);let r=e.join();this.bar.getAttribute("data-ids")!==r&&(h(this.bar,"data-ids",r),v(this.bar,t(`Accept ${n}`,"accept"),t(`Reject ${n}`,"reject"),s))}clear(){this.chosen.clear(),this.showChosen()}tools(e){let t=n=>{let r=`${n} ${e.ref}`,o=a("button",{type:"button",class:"pe-tool",title:r,"aria-label":r,"data-command":n},M(n));return o.addEventListener("click",()=>this.host.command(n,{id:e.ref})),o},s=a("input",{type:"checkbox","data-choose":e.ref,"aria-label":`choose ${e.ref}`,title:"choose several families; also Ctrl or Shift with a click"});return s.checked=this.chosen.has(e.ref),s.addEventListener("change",()=>this.choose(e.ref,!1)),[s,t("accept"),t("reject")]}},fe=class{name="ledger";element;claim=a("p",{class:"pe-claim"});undo=a("button",{type:"button",class:"pe-button"});redo=a("button",{type:"button",class:"pe-button"});script=a("pre",{class:"pe-code",tabindex:0,role:"region","aria-label":"this session as Python"});tables;lines=[];constructor(e){let t=new T("ledger","Summary",e),s={select:o=>e.select(o),hover:o=>e.hover(o)};this.tables={soundness:new H("pruned, by kind of rule",s),reasons:new H("pruned, by reason",s),steering:new H("steering",s),log:new H("log",s)},this.undo.addEventListener("click",()=>e.command("undo")),this.redo.addEventListener("click",()=>e.command("redo"));let n=a("button",{type:"button",class:"pe-button"},M("copy"),a("span",{},"copy as Python"));n.addEventListener("click",()=>e.copy(this.lines.join(`
`),"this session as Python"));let r=(o,...l)=>a("div",{class:"pe-column"},a("h4",{},o),...l);t.body.append(a("div",{class:"pe-ledger"},this.claim,a("div",{class:"pe-columns"},r("Pruned, by kind of rule and by reason",this.tables.soundness.element,this.tables.reasons.element),r("Steering",a("div",{class:"pe-group"},this.undo,this.redo,n),this.tables.steering.element,this.script),r("Log",this.tables.log.element)))),this.element=t.element}update(e){R(this.claim,e.claim),this.tables.soundness.update(e.soundness),this.tables.reasons.update(e.reasons),this.tables.steering.update(e.steering),this.tables.log.update(e.log);for(let[t,s]of[[this.undo,e.undo],[this.redo,e.redo]])v(t,M(s.command==="redo"?"redo":"undo"),a("span",{},s.label)),t.disabled=!s.enabled,h(t,"title",`${s.description}
${s.python}`)}showScript(e){this.lines=e.lines,R(this.script,e.lines.join(`
`)),this.script.hidden=e.lines.length===0}select(e){for(let t of Object.values(this.tables))t.select(e)}hover(e){for(let t of Object.values(this.tables))t.hover(e)}close(){}};var I=class{constructor(e,t){this.choose=t;this.element=a("span",{class:"pe-chooser",role:"group","aria-label":e})}choose;element;drawn="";update(e,t){let s=JSON.stringify(e);s!==this.drawn&&(this.drawn=s,v(this.element,...e.map(n=>this.button(n))));for(let n of this.element.children)h(n,"aria-pressed",String(n.getAttribute("data-choice")===t));this.element.hidden=e.length<2}button(e){let t=a("button",{type:"button",class:"pe-chip",title:e.tip||null,"data-choice":e.name},e.label);return t.addEventListener("click",()=>this.choose(e.name)),t}};var Xs=1400,ge=class{constructor(e){this.host=e;this.start.addEventListener("change",()=>e.look({egraph:{start:this.start.value}})),this.end.addEventListener("change",()=>e.look({egraph:{end:this.end.value}})),this.play.addEventListener("click",()=>this.toggle());let t=(s,n,r)=>{let o=a("button",{type:"button",class:"pe-chip",title:r},n);return o.addEventListener("click",()=>this.move(s)),o};this.ends=a("div",{class:"pe-choices"},a("label",{},"from ",this.start),a("label",{},"to ",this.end),t(-1,"‹ previous","the step before ([)"),t(1,"next ›","the next step (])"),this.play),this.element=a("div",{class:"pe-pathbox",hidden:!0},this.ends,this.note,this.list)}host;element;start=a("select",{class:"pe-select","aria-label":"start of the path"});end=a("select",{class:"pe-select","aria-label":"end of the path"});play=a("button",{type:"button",class:"pe-chip"},"play");note=a("p",{class:"pe-muted"});list=a("ol",{class:"pe-path",start:0});ends;data=null;drawn="";timer;close(){this.stop()}update(e){if(this.data=e,this.element.hidden=e===null,e===null){this.stop();return}let t=JSON.stringify([e.tensors,e.steps,e.note]);if(t!==this.drawn){this.drawn=t;for(let n of[this.start,this.end])v(n,...e.tensors.map(Ys));this.note.textContent=e.note,v(this.list,...e.steps.map((n,r)=>this.row(n,r)))}this.ends.hidden=e.tensors.length===0,this.start.value=e.start,this.end.value=e.end,[...this.list.children].forEach((n,r)=>{h(n,"aria-current",r===e.step?"step":null)});let s=this.list.children[e.step];e.step>0&&s?.scrollIntoView?.({block:"nearest"})}move(e){let{data:t}=this,s=(t?.step??0)+e;if(!t||s<0||s>=t.steps.length){this.stop();return}this.look(s)}look(e){this.host.look({egraph:{step:e}})}toggle(){if(this.timer!==void 0){this.stop();return}this.data&&this.data.step>=this.data.steps.length-1&&this.look(0),this.timer=setInterval(()=>this.move(1),Xs),this.play.textContent="stop"}stop(){clearInterval(this.timer),this.timer=void 0,this.play.textContent="play"}row(e,t){let s=a("button",{type:"button",class:"pe-link"},e.ref);s.addEventListener("click",()=>this.host.select(e.ref));let n=a("button",{type:"button",class:"pe-term","aria-label":`step ${t}: ${e.before}${e.changed}${e.after}`},e.before,e.changed?a("mark",{},e.changed):null,e.after);n.addEventListener("click",()=>this.look(t));let r=e.replaced?a("span",{class:"pe-muted"}," · was ",a("s",{},e.replaced)):null,o=a("div",{class:"pe-reasoning"},`${e.why} · `,s,r);return a("li",{},n,o)}};function Ys(i){return a("option",{value:i.name},i.label)}var X=class{constructor(e,t,s,n,r){this.emptyText=r;let o={select:l=>n.select(l),enter:l=>n.enter(l),hover:l=>n.hover(l)};this.stage=new _(e,"listbox",o),this.stage.scroll=!0,this.table=new H(s,o),this.frame=new T(e,t,n,[E("minus","zoom out (Ctrl + wheel)",()=>this.stage.zoom(1/1.25)),E("plus","zoom in (Ctrl + wheel)",()=>this.stage.zoom(1.25)),E("fit","fit into the panel (0)",()=>this.stage.fit())]),this.left=a("div",{class:"pe-left"},this.stage.element,this.empty),this.split=a("div",{class:"pe-split"},this.left,this.table.element),this.frame.body.append(this.split),this.element=this.frame.element}emptyText;element;frame;stage;table;hint=a("span",{class:"pe-muted"});split;left;empty=a("p",{class:"pe-empty"});show(e,t,s){this.frame.caption.textContent=e,this.stage.element.classList.toggle("pe-hidden",t===null),this.empty.hidden=t!==null,this.empty.textContent=t===null?e||this.emptyText:"",t&&this.stage.update(t),this.table.update(s),h(this.split,"data-single",s.rows.length===0),this.hint.textContent=s.rows.length===0?s.empty_text:""}select(e){this.stage.select(e),this.table.select(e)}hover(e){this.stage.hover(e),this.table.hover(e)}close(){this.stage.close()}};var ve=class extends X{constructor(t){super("eclasses","E-classes","lemmas of the proof",t,"No candidate has a verdict yet.");this.host=t;this.modes=new I("what is shown",r=>this.choose(r)),this.rules=new I("axioms that changed the e-graph",r=>this.look({rule:r})),this.ruleRow=a("div",{class:"pe-choices"},a("span",{class:"pe-muted"},"axioms and matches:"),this.rules.element);let s=(r,o,l)=>{let p=a("button",{type:"button",class:"pe-chip",title:l},o);return p.addEventListener("click",()=>this.move(r)),p};this.frames=a("span",{class:"pe-chooser pe-frames"},s(-1,"‹ previous","the frame before ([)"),this.range,s(1,"next ›","the next frame (])"),this.number),this.range.addEventListener("input",()=>this.showFrame(Number(this.range.value))),this.more.addEventListener("click",()=>this.look({more:!0})),this.path=new ge(t);let n=a("div",{class:"pe-choices"},this.modes.element,this.frames,this.more,this.hint);this.frame.body.prepend(n,this.ruleRow),this.left.append(this.path.element),this.element.addEventListener("keydown",r=>this.onKey(r))}host;name="eclasses";modes;rules;ruleRow;range=a("input",{type:"range",min:0,step:1,"aria-label":"frame of the e-graph"});frames;number=a("span",{class:"pe-muted"});more=a("button",{type:"button",class:"pe-button"});path;slider=null;data=null;update(t){this.data=t,this.slider=t.slider,this.modes.update(t.modes,t.mode),this.rules.update(t.rules,t.rule),this.rules.element.hidden=!1,this.ruleRow.hidden=t.rules.length===0,this.frames.hidden=t.slider===null||t.slider.last===0,t.slider&&(this.range.max=String(t.slider.last),this.range.value=String(t.slider.number),this.number.textContent=`frame ${t.slider.number} of ${t.slider.last}`),this.more.hidden=t.more==="",this.more.textContent=t.more,this.show(t.caption,t.scene,t.lemmas),this.path.update(t.path),h(this.left,"data-path",t.path!==null)}close(){super.close(),this.path.close()}look(t){this.host.look({egraph:t})}choose(t){this.look({mode:t}),this.data&&(t==="egraph"&&this.data.slider===null&&this.host.select(this.data.frame_ref),t==="classes"&&this.data.slider!==null&&this.host.select(this.data.subject))}move(t){this.data?.path?this.path.move(t):this.slider&&this.showFrame(this.slider.number+t)}showFrame(t){let{slider:s}=this;!s||t<0||t>s.last||t===s.number||this.host.select(`${s.lemma}${t}${s.focus}`)}onKey(t){let s={"[":-1,"]":1}[t.key];s===void 0||t.altKey||t.ctrlKey||t.metaKey||this.slider===null&&!this.data?.path||(this.move(s),t.preventDefault(),t.stopPropagation())}};var Zs={add:(i,e)=>i+e,subtract:(i,e)=>i-e,multiply:(i,e)=>i*e,divide:(i,e)=>i/e,less:(i,e)=>+(i<e),less_equal:(i,e)=>+(i<=e),greater:(i,e)=>+(i>e),logical_and:(i,e)=>+(i!==0&&e!==0),where:(i,e,t)=>i?e:t,ceil:i=>Math.ceil(i),sqrt:i=>Math.sqrt(i)};function Kt(i,e){let t=[];for(let[s,n,r,o]of i){let l=p=>t[Number(p??0)]??Number.NaN;s==="number"?t.push(Number(n)):s==="symbol"?t.push(e[String(n)]??Number.NaN):t.push(Zs[String(s)]?.(l(n),l(r),l(o))??Number.NaN)}return t}var Qs={bytes:[[2**30,"GiB"],[2**20,"MiB"],[2**10,"KiB"],[1,"B"]],seconds:[[1,"s"],[.001,"ms"],[1e-6,"µs"],[1e-9,"ns"]],flops:[[1e12,"Tflop"],[1e9,"Gflop"],[1e6,"Mflop"],[1e3,"kflop"],[1,"flop"]],count:[[1,""]]};function be(i,e){if(!Number.isFinite(i))return"unknown";if(e==="count")return C(i);let t=Qs[e],[s,n]=t.find(([r])=>Math.abs(i)>=.9995*r)??t.at(-1)??[1,""];return`${Dt(i/s)} ${n}`}function te(i){return Number.isInteger(i)?String(i):C(i)}function C(i){return Number.isFinite(i)?Number.isInteger(i)?i.toLocaleString("en"):Dt(i,4):"?"}function Dt(i,e=3){return Math.abs(i)>=10**(e-1)?Math.round(i).toLocaleString("en"):String(Number(i.toPrecision(e)))}var Y=class{stage;frame;table=a("div",{class:"pe-tablebox",hidden:!0});constructor(e,t,s,n,r=[],o){this.stage=new _(e,s,{select:l=>n.select(l),enter:l=>n.enter(l),hover:l=>n.hover(l),act:o}),this.frame=new T(e,t,n,[...r,E("minus","zoom out (Ctrl + wheel)",()=>this.stage.zoom(1/1.25)),E("plus","zoom in (Ctrl + wheel)",()=>this.stage.zoom(1.25)),E("fit","fit into the panel (0)",()=>this.stage.fit()),E("table","show as a table (t)",()=>this.toggleTable())]),this.frame.body.append(this.stage.element,this.table)}toggleTable(){this.table.hidden=!this.table.hidden,this.stage.element.hidden=!this.table.hidden,this.table.hidden||v(this.table,this.stage.table())}updated(){this.table.hidden||v(this.table,this.stage.table())}};var Ft="sizes",ye=class{constructor(e){this.host=e;this.toggle=E("collapse","collapse all kernels",()=>this.toggleAll()),this.picture=new Y("graph","sGraph","listbox",e,[this.toggle],(t,s)=>t==="enter"?this.show(s):this.toggleKernel(s)),this.stage=this.picture.stage,this.element=this.picture.frame.element,this.picture.frame.body.prepend(this.trail,this.alternatives),this.picture.frame.body.append(this.empty),this.element.addEventListener("keydown",t=>this.onKey(t))}host;name="graph";element;stage;picture;trail=a("nav",{class:"pe-trail","aria-label":"what is shown"});alternatives=a("div",{class:"pe-picture-chips",role:"group","aria-label":"candidates"});toggle;empty=a("p",{class:"pe-empty"});data=null;selected="";sizes=null;enter(){this.toggleKernel(this.selected)}toggleTable(){this.picture.toggleTable()}update(e){this.data=e;let t=e.kernels.some(n=>n.expanded);this.toggle.hidden=e.kernels.length===0||e.entered!=="",v(this.toggle,M(t?"collapse":"expand"));let s=`${t?"collapse":"expand"} all kernels; Enter on a kernel toggles it alone`;h(this.toggle,"title",s),h(this.toggle,"aria-label",s),this.picture.frame.caption.textContent=e.caption,this.empty.hidden=e.scene!==null,this.empty.textContent=e.scene===null?e.caption:"",this.picture.stage.element.classList.toggle("pe-hidden",e.scene===null),this.draw(),this.picture.updated(),this.drawTrail(e),this.drawAlternatives(e)}showSizes(e,t,s){let n=t.map(({shape:r,dims:o})=>[r,o.map(l=>te(s[l]??Number.NaN)).join(" × ")]);this.sizes={subject:e,texts:new Map(n)},this.draw()}select(e){this.selected=e[0]??"",this.picture.stage.select(e)}hover(e){this.picture.stage.hover(e)}close(){this.picture.stage.close()}draw(){let{data:e,sizes:t}=this;if(!e?.scene)return;let s=t?.subject===e.subject;this.picture.stage.update(s?en(e.scene,t.texts):e.scene)}kernelOf(e){return this.data?.kernels.find(t=>e===t.ref||e.startsWith(`${t.ref}.`))??null}toggleKernel(e){let t=this.kernelOf(e);t&&this.host.look({graph:{kernels:[t.ref],expanded:!t.expanded}})}show(e){this.host.look({graph:{entered:e}}),this.picture.stage.focus()}toggleAll(){let e=this.data?.kernels??[],t=!e.some(s=>s.expanded);this.host.look({graph:{kernels:e.map(s=>s.ref),expanded:t}})}onKey(e){let t=this.kernelOf(this.selected);if(e.key==="Backspace"&&this.data?.entered)this.show("");else if(e.key==="Enter"&&e.shiftKey&&t)this.show(t.ref);else return;e.preventDefault(),e.stopPropagation()}drawTrail(e){this.trail.hidden=e.trail.length<2;let s=e.trail.map(({label:n,shows:r},o)=>{let l=o===e.trail.length-1;if(l||r==="")return a("span",{"aria-current":l?"location":null},n);let p=a("button",{type:"button",class:"pe-link"},n);return p.addEventListener("click",()=>this.host.look({graph:r==="program"?{program:!0}:{entered:""}})),p}).flatMap((n,r)=>r===0?[n]:[a("span",{"aria-hidden":"true"},"▸"),n]);v(this.trail,...s)}drawAlternatives(e){this.alternatives.hidden=e.alternatives.length<2,v(this.alternatives,...e.alternatives.map(({ref:t,label:s})=>{let n=t===e.subject?"true":"false",r=a("button",{type:"button",class:"pe-chip","aria-pressed":n},s);return r.addEventListener("click",()=>this.host.select(t)),r}))}};function en(i,e){let t=i.items.map(s=>{let n=s.type==="shape"?e.get(s.id):void 0;return n===void 0||!s.texts?.some(r=>r.kind===Ft)?s:{...s,texts:s.texts.map(r=>r.kind===Ft?{...r,text:n}:r)}});return{...i,items:t}}var xe=class{constructor(e){this.host=e;this.picture=new Y("map","Search map","tree",e),this.stage=this.picture.stage,this.reasons=new _("reasons","listbox",{select:t=>e.select(t),enter:t=>e.enter(t),hover:t=>e.hover(t)}),this.reasons.element.classList.add("pe-strip"),this.stage.scroll=!0,this.reasons.scroll=!0,this.modes=new I("modes of the search map",t=>this.look({mode:t})),this.similar.textContent="mark similar",this.similar.addEventListener("click",()=>this.look({similar:!this.marksSimilar})),this.element=this.picture.frame.element,this.choices=a("div",{class:"pe-choices"},this.modes.element,this.similar,this.interval),this.picture.frame.body.prepend(this.choices),this.picture.frame.body.append(this.reasons.element),this.stage.overlay.append(this.preview),this.stage.element.addEventListener("pointerdown",t=>this.drag(t),{capture:!0}),this.stage.element.addEventListener("click",t=>this.toggle(t),{capture:!0}),this.element.addEventListener("keydown",t=>this.onKey(t))}host;name="map";element;picture;stage;reasons;modes;similar=a("button",{type:"button",class:"pe-chip",title:"mark everything with the same operators and reasons as the selection (s)"});choices;interval=a("span",{class:"pe-chooser"});preview=b("rect",{class:"pe-brush",visibility:"hidden"});selected=[];brush=null;marksSimilar=!1;drawn="";toggleTable(){this.picture.toggleTable()}update(e){this.modes.update(e.modes,e.mode),this.marksSimilar=e.similar,h(this.similar,"aria-pressed",String(e.similar)),this.choices.hidden=e.modes.length===0,this.brush=e.brush,this.showInterval(e.brush),this.stage.update(e.scene),this.stage.filter(e.dimmed),this.picture.updated(),this.reasons.element.hidden=e.mode==="reasons",this.reasons.update(e.reasons),this.picture.frame.caption.textContent=e.summary}select(e){this.selected=e,this.stage.select(e),this.reasons.select(e)}hover(e){this.stage.hover(e),this.reasons.hover(e)}close(){this.stage.close(),this.reasons.close()}look(e){this.host.look({map:e})}showInterval(e){let t=JSON.stringify(e);if(t===this.drawn||(this.drawn=t,this.interval.replaceChildren(),!e?.interval))return;let s=(n,r,o)=>{let l=a("button",{type:"button",class:"pe-chip",title:r},n);l.addEventListener("click",o),this.interval.append(l)};s(`${e.interval} ×`,"show all events",()=>this.look({interval:[]})),s("look back to its end","show the search as it was after the last event of the interval",()=>this.host.look({cursor:e.end}))}toggle(e){let t=e.target.closest(".k-toggle")?.getAttribute("data-id")??"",[s,...n]=t.split("#");s!=="open"&&s!=="close"||(e.stopPropagation(),this.expand(n.join("#"),s==="open"))}expand(e,t){this.look(t?{open:e}:{close:e})}onKey(e){if(!(e.altKey||e.ctrlKey||e.metaKey||e.defaultPrevented)&&!e.target.closest("input, select, textarea")){if(e.key==="s")this.look({similar:!this.marksSimilar});else if(e.key==="c")this.toggleSelected();else return;e.preventDefault(),e.stopPropagation()}}toggleSelected(){let e=this.stage.shown?.items.find(t=>t.type==="shape"&&t.role==="block"&&t.ref!==void 0&&this.selected.includes(t.ref));e&&this.expand(e.id,e.kind.startsWith("collapsed"))}drag(e){let{brush:t}=this;if(!t||e.button!==0)return;let s=this.stage.at(e).x;if(s<t.left||s>t.right)return;let n=s,r=!1,o=c=>Math.round(t.first+(c-t.left)/(t.right-t.left)*(t.end-t.first)),l=c=>{n=Math.min(t.right,Math.max(t.left,this.stage.at(c).x)),r||=Math.abs(n-s)>4,r&&(h(this.preview,"visibility","visible"),h(this.preview,"x",String(Math.min(s,n))),h(this.preview,"width",String(Math.abs(n-s))),h(this.preview,"y","0"),h(this.preview,"height",String(this.stage.shown?.height??0)))},p=c=>{l(c);for(let[u,f]of d)window.removeEventListener(u,f);h(this.preview,"visibility","hidden");let[m,g]=[o(Math.min(s,n)),o(Math.max(s,n))-1];r&&c.type==="pointerup"&&g>m&&this.look({interval:[m,g]})},d=[["pointermove",l],["pointerup",p],["pointercancel",p]];for(let[c,m]of d)window.addEventListener(c,m);e.stopPropagation()}};var ke=class{constructor(e){this.host=e;this.frame=new T("questions","What-if",e),this.table=new H("questions",{select:t=>e.select(t),hover:t=>e.hover(t),tools:t=>this.tools(t)}),this.form.addEventListener("submit",t=>{t.preventDefault(),this.submit()}),this.frame.body.append(a("div",{class:"pe-questions"},this.form,this.table.element)),this.element=this.frame.element}host;name="questions";element;frame;table;form=a("form",{class:"pe-form","aria-label":"what if"});open=[];text="";update(e){this.open=e.open,this.frame.caption.textContent=e.caption,this.table.update(e.table);let t=JSON.stringify(e.form);t!==this.text&&(this.text=t,this.form.hidden=e.form===null,e.form&&this.draw(e.form))}select(e){this.table.select(e)}hover(e){this.table.hover(e)}close(){}draw(e){let t=a("select",{class:"pe-select",name:"target"}),s=e.targets.includes(e.target)?e.targets:[e.target,...e.targets];for(let l of s)S(t,a("option",{value:l,selected:l===e.target},l));let n=(l,p,d,c)=>a("label",{},a("span",{},p),a("input",{class:"pe-number",type:"number",min:0,name:l,value:d,placeholder:c})),r=e.rules.map(([l,p])=>a("label",{class:"pe-check",title:p},a("input",{type:"checkbox",name:"rules_off",value:l}),a("code",{},l))),o=a("input",{type:"checkbox",name:"run"});v(this.form,a("div",{class:"pe-group"},a("button",{type:"submit",class:"pe-button","data-command":"what_if"},M("help"),"What if?"),a("label",{class:"pe-check",title:"Run the search with the changed settings too, and compare the proved families; this takes longer."},o,"run the search too")),a("div",{class:"pe-fields"},a("label",{},a("span",{},"machine"),t),n("shared_memory_bytes","shared memory, B","","unchanged"),...e.limits.map(({name:l,label:p,value:d})=>n(l,p,"",String(d)))),a("fieldset",{},a("legend",{},"rules off"),a("div",{class:"pe-checks"},...r))),h(this.form,"data-target",e.target)}submit(){let e=new FormData(this.form),t={};for(let[n,r]of e)n==="rules_off"||n==="run"||(n==="target"?r!==this.form.getAttribute("data-target")&&(t[n]=String(r)):r!==""&&(t[n]=Number(r)));let s=e.getAll("rules_off").map(String);s.length>0&&(t.rules_off=s),e.has("run")&&(t.run=!0),this.host.command("what_if",t)}tools(e){if(!this.open.includes(e.ref))return[];let t=`cancel ${e.ref}`,s=a("button",{type:"button",class:"pe-tool",title:t,"aria-label":t,"data-command":"withdraw"},M("close"));return s.addEventListener("click",()=>this.host.command("withdraw",{id:e.ref})),[s]}};var tn=150,sn=96,Bt=16,nn=64,we=class{constructor(e){this.host=e;this.kernels.addEventListener("change",()=>{this.shown=this.kernels.value,this.draw()}),this.element.append(a("h4",{},"What one block reads and writes"),this.kernels,this.steppers,this.figures)}host;element=a("div",{class:"pe-regions"});kernels=a("select",{"aria-label":"kernel"});steppers=a("div",{class:"pe-steppers"});figures=a("div",{class:"pe-accesses"});data=[];forms=[];shown="";at=new Map;update(e){this.data=e,e.some(t=>t.ref===this.shown)||(this.shown=e[0]?.ref??""),v(this.kernels,...e.map(t=>a("option",{value:t.ref},t.label))),this.kernels.value=this.shown,this.kernels.hidden=e.length<2,this.element.hidden=e.length===0}evaluate(e){this.forms=e,this.draw()}select(e){let t=this.data.find(s=>e===s.ref||e.startsWith(`${s.ref}.`));t&&t.ref!==this.shown&&(this.shown=t.ref,this.kernels.value=t.ref,this.draw());for(let s of this.figures.querySelectorAll("[data-ref]"))h(s,"aria-current",s.getAttribute("data-ref")===e?"true":null)}kernel(){return this.data.find(e=>e.ref===this.shown)??null}value(e){return this.forms[e]??Number.NaN}count(e,t){let s=e.steppers.find(n=>n.name===t)?.form??-1;return Math.max(1,Math.floor(this.value(s))||1)}position(e,t){return Math.min(this.at.get(`${e.ref} ${t}`)??0,this.count(e,t)-1)}move(e,t){for(let[s,n]of Object.entries(t)){let r=this.count(e,s)-1;this.at.set(`${e.ref} ${s}`,Math.max(0,Math.min(r,Math.round(n)||0)))}this.draw()}draw(){let e=this.kernel();if(!e||this.forms.length===0)return;this.drawSteppers(e);let t=e.accesses.map(n=>this.figure(e,n)),s=this.figures.querySelector("[aria-current]")?.getAttribute("data-ref");v(this.figures,...t);for(let n of t)n.getAttribute("data-ref")===s&&h(n,"aria-current","true")}drawSteppers(e){let t=e.steppers.map(s=>`${e.ref} ${s.name}`).join();if(this.steppers.getAttribute("data-of")!==t){h(this.steppers,"data-of",t);let s=e.steppers.map(n=>this.stepper(e,n.name,n.loop));v(this.steppers,...s.length>0?s:[a("p",{class:"pe-muted"},"One block, no loop.")])}e.steppers.forEach((s,n)=>{let r=this.steppers.children[n],o=r?.querySelector("input"),l=this.count(e,s.name);if(!r||!o)return;o.max=String(l-1),o.value!==String(this.position(e,s.name))&&(o.value=String(this.position(e,s.name)));let p=r.querySelector(".pe-of");p&&(p.textContent=`of ${C(this.value(s.form))}`)})}stepper(e,t,s){let n=s?`loop step ${t}`:`block ${t}`,r=a("input",{type:"number",min:0,step:1,"aria-label":n});r.addEventListener("input",()=>this.move(e,{[t]:Number(r.value)}));let o=l=>()=>this.move(e,{[t]:this.position(e,t)+l});return a("div",{class:"pe-stepper"},a("span",{},n),E("minus",`previous ${n}`,o(-1)),r,E("plus",`next ${n}`,o(1)),a("span",{class:"pe-of pe-muted"}))}figure(e,t){let s=t.dims.map(o=>this.range(e,o)),n=s.map(([o,l])=>`${te(o)}:${te(l)}`).join(", "),r=a("button",{type:"button",class:"pe-link pe-mono",title:`select this ${t.kind}`},`${t.label}[${n}]`);return r.addEventListener("click",()=>this.host.select(t.ref)),a("figure",{class:"pe-access","data-ref":t.ref,"data-kind":t.kind},a("figcaption",{},a("span",{class:"pe-muted"},t.kind),r),this.outline(e,t,s),a("p",{class:"pe-muted"},this.sharing(e,t)))}range(e,t){let s=0;for(let[n,r]of t.strides)s+=this.value(r)*this.position(e,n);return[s,s+this.value(t.tile)]}sharing(e,t){if(t.open)return"The map is unbound: the full tensor is shown.";let s=new Set(t.dims.flatMap(d=>d.strides.map(([c])=>c))),n=e.steppers.filter(d=>!s.has(d.name)),r=n.filter(d=>!d.loop).reduce((d,c)=>d*this.count(e,c.name),1),o=n.find(d=>d.loop&&this.count(e,d.name)>1),l=t.kind==="load"?"read":"write",p=[r>1?`${C(r)} blocks ${l} this region`:`only this block ${l}s it`];return t.kind==="load"&&o&&p.push(`every iteration of ${o.name} reads it again`),t.kind==="store"&&r>1&&p.push("right only if all write the same values"),`${p.join("; ")}.`}outline(e,t,s){let n=t.dims.length;if(n===0)return a("p",{class:"pe-muted"},"a scalar");let r=t.dims[n-1],o=t.dims[n-2],[l,p]=[this.extent(r),this.extent(o)],d=Math.min(tn/l,sn/p),[c,m]=[Math.max(Bt,l*d),Math.max(Bt,p*d)],[g,u]=s[n-1]??[0,1],[f,x]=s[n-2]??[0,1],k=($,Xe,dt,ne)=>{let ct=Math.min(ne,Math.max(2,(Xe-$)/dt*ne));return[Math.max(0,Math.min(ne-ct,$/dt*ne)),ct]},[w,L]=k(g,u,l,c),[K,q]=k(f,x,p,m),O=this.borders(r,l,c),V=this.borders(o,p,m),A=b("svg",{class:"pe-outline",width:c+2,height:m+2,viewBox:`-1 -1 ${c+2} ${m+2}`,role:"img","aria-label":`${t.label}: rows ${C(f)} to ${C(x)} of ${C(p)}, columns ${C(g)} to ${C(u)} of ${C(l)}`},b("rect",{class:"pe-whole",x:0,y:0,width:c,height:m}),...O.map($=>b("path",{class:"pe-border",d:`M${$},0V${m}`})),...V.map($=>b("path",{class:"pe-border",d:`M0,${$}H${c}`})),b("rect",{class:"pe-region",x:w,y:K,width:L,height:q}));return this.draggable(A,e,($,Xe)=>({...this.blockAt(e,r,$*l),...this.blockAt(e,o,Xe*p)})),A}extent(e){let t=e?this.value(e.extent):1;return t>0?t:1}borders(e,t,s){let n=e?t/this.value(e.tile):1;return!(n>1)||n>Math.min(nn,s/3)?[]:Array.from({length:Math.ceil(n)-1},(r,o)=>(o+1)*s/n)}blockAt(e,t,s){let n={},r=Math.max(0,s);for(let[o,l]of t?.strides??[]){let p=this.value(l),d=Math.min(this.count(e,o)-1,Math.floor(r/p));n[o]=d,r-=d*p}return n}draggable(e,t,s){e.addEventListener("pointerdown",n=>{let r=e.getBoundingClientRect(),o=p=>this.move(t,s((p.clientX-r.left)/r.width,(p.clientY-r.top)/r.height)),l=()=>{window.removeEventListener("pointermove",o),window.removeEventListener("pointerup",l),window.removeEventListener("pointercancel",l)};window.addEventListener("pointermove",o),window.addEventListener("pointerup",l),window.addEventListener("pointercancel",l),o(n),n.preventDefault()})}};var Ee=13,Se=class{constructor(e){this.host=e;this.stage=new _("sizes","listbox",{select:s=>e.select(s),enter:s=>e.select(s),hover:s=>e.hover(s)}),this.stage.scroll=!0,this.regions=new we(e),this.frame=new T("sizes","Sizes",e),this.plot.append(this.stage.element,this.point),this.reset.addEventListener("click",()=>this.setAll({})),this.copy.addEventListener("click",()=>e.copy(this.python(),"the call"));let t=a("div",{class:"pe-group"},this.reset,this.copy);this.body.append(a("div",{class:"pe-part"},this.origin,this.sliders,this.legal,t),a("div",{class:"pe-part"},a("h4",{},"At these sizes"),this.figures),this.plot,this.regions.element),this.frame.body.append(this.body),this.element=this.frame.element}host;name="sizes";element;stage;frame;origin=a("p",{class:"pe-muted"});sliders=a("div",{class:"pe-sliders",role:"group","aria-label":"sizes"});legal=a("ul",{class:"pe-limits","aria-live":"polite"});figures=a("dl",{class:"pe-figures"});point=a("p",{class:"pe-muted"});plot=a("div",{class:"pe-plot"});reset=a("button",{type:"button",class:"pe-button"},"reset");copy=a("button",{type:"button",class:"pe-button"},"copy as Python");regions;body=a("div",{class:"pe-sizes"});data=null;chosen={};update(e){let t=this.data;this.data=e,t?.subject!==e.subject&&(this.chosen={}),this.frame.caption.textContent=e.caption,R(this.origin,e.origin?`Start: ${e.origin}.`:""),this.body.hidden=e.subject==="",JSON.stringify(t?.sliders)!==JSON.stringify(e.sliders)&&this.drawSliders(e.sliders),this.regions.update(e.kernels),this.plot.hidden=e.roofline===null,this.compute()}select(e){this.stage.select(e),this.regions.select(e[0]??"")}hover(e){this.stage.hover(e)}close(){this.stage.close()}value(e){return this.chosen[e.symbol]??e.value}setAll(e){this.chosen=e;for(let t of this.data?.sliders??[])this.placeSlider(t);this.compute()}python(){let e=(this.data?.sliders??[]).map(t=>`${t.symbol}=${this.value(t)}`);return`${this.data?.python??""}${e.join(", ")})`}drawSliders(e){let t=e.map(s=>{let n=a("input",{type:"range",min:0,max:s.values.length-1,step:1,"data-symbol":s.symbol,"aria-label":s.label,disabled:s.values.length<2});n.addEventListener("input",()=>{this.chosen={...this.chosen,[s.symbol]:s.values[Number(n.value)]??s.value},this.placeSlider(s),this.compute()});let r=s.values.length<2?`${C(s.value)} is the only legal value`:s.label;return a("label",{class:"pe-slider",title:r},a("span",{},s.label),n,a("output"))});v(this.sliders,...t.length>0?t:[a("p",{class:"pe-muted"},"It has no symbolic size.")]);for(let s of e)this.placeSlider(s)}placeSlider(e){let t=[...this.sliders.querySelectorAll("input")].find(l=>l.getAttribute("data-symbol")===e.symbol);if(!t)return;let s=this.value(e),n=String(Math.max(0,e.values.indexOf(s)));t.value!==n&&(t.value=n);let r=`${e.symbol} = ${C(s)}`;h(t,"aria-valuetext",r);let o=t.parentElement?.querySelector("output");o&&(o.textContent=r)}compute(){let{data:e}=this;if(!e||e.subject==="")return;let t=Object.fromEntries(e.sliders.map(n=>[n.symbol,this.value(n)])),s=Kt(e.forms,t);this.drawLimits(e.limits,s),v(this.figures,...e.figures.flatMap(n=>an(n,s))),e.roofline&&this.drawPoint(e.roofline,s),this.regions.evaluate(s),this.host.showSizes(e.subject,e.shapes,s),this.reset.disabled=Object.keys(this.chosen).length===0}drawLimits(e,t){let s=e.map(o=>on(o,t)).filter(o=>o!=="");h(this.legal,"data-broken",s.length>0);let n=e.length===0?"The limits of the machine are not known here.":"These sizes are legal.",r=s.length>0?["These sizes are illegal:",...s]:[n];[...this.legal.children].map(o=>o.textContent).join()!==r.join()&&v(this.legal,...r.map(o=>a("li",{},o)))}drawPoint(e,t){let s=c=>c===null?Number.NaN:t[c]??Number.NaN,n=s(e.flops)/s(e.memory_bytes),r=Math.min(e.peak,n*e.bandwidth),o=e.time_s===null?r:s(e.flops)/s(e.time_s),l=n*e.bandwidth<e.peak?"memory":"compute",p=`${be(o,"flops")}/s`,d=e.time_s===null?`◆ ${C(n)} flop/byte modelled: at most ${p}, the ${l} roof`:`◆ ${C(n)} flop/byte, ${p} modelled: ${Math.round(100*o/r)} % of the ${l} roof`;R(this.point,d),this.stage.update(rn(e,n,o,d))}};function rn(i,e,t,s){let[n,r,o,l]=i.area;if(!(e>0&&t>0))return i.scene;let p=(u,[f,x])=>Math.max(0,Math.min(1,Math.log(u/f)/Math.log(x/f))),d=n+(o-n)*p(e,i.x),c=l-(l-r)*p(t,i.y),m={type:"shape",id:"sizes#point",role:"mark",kind:"trial-best",outline:"diamond",x:d-Ee/2,y:c-Ee/2,w:Ee,h:Ee,tip:s},g=[...i.scene.items,m];return{...i.scene,items:g}}function on({form:i,most:e,text:t,what:s},n){let r=n[i]??Number.NaN;return e===null?Number.isInteger(r)&&r>=1?"":`${t} = ${C(r)} is not a positive whole number: ${s}`:r>e?`${t} = ${C(r)} exceeds ${C(e)}: ${s}`:""}function an(i,e){let t=e[i.form]??Number.NaN,s=be(t,i.unit),n=a("dd",{},a("strong",{},s)," ",a("span",{class:"pe-muted"},i.note));if(i.limit!==null){let r=t/i.limit,o=be(i.limit,i.unit),l=r>1?`exceeds the limit of ${o}`:`${Math.round(100*r)} % of ${o}`,p=Math.max(0,Math.min(1,r||0))*100,d=b("svg",{class:"pe-use",viewBox:"0 0 100 8",preserveAspectRatio:"none","aria-hidden":"true"},b("rect",{class:"pe-all",width:100,height:8}),b("rect",{class:"pe-used",width:p,height:8}));n.append(d,a("span",{class:r>1?"pe-over":null},l))}return[a("dt",{},i.label),n]}var ln=14,Me=24,Te=class{constructor(e,t){this.stage=e;this.choose=t;e.overlay.append(this.preview,this.handles),e.element.addEventListener("pointerdown",s=>this.drag(s),{capture:!0})}stage;choose;axes=[];preview=b("rect",{class:"pe-brush",visibility:"hidden"});handles=b("g");update(e){let t=document.activeElement?.getAttribute("data-handle");this.axes=e,v(this.handles,...e.flatMap(s=>[this.handle(s,"low"),this.handle(s,"high")])),t&&this.handles.querySelector(`[data-handle="${CSS.escape(t)}"]`)?.focus()}handle(e,t){let s=e[t],n=(e.ys[s]??0)+(t==="low"?8:-8),r=t==="low"?1:-1,o=b("g",{class:"pe-handle",role:"slider",tabindex:0,"data-handle":`${e.name}/${t}`,"aria-orientation":"vertical","aria-label":`${e.name}, ${t==="low"?"least":"largest"} value`,"aria-valuemin":0,"aria-valuemax":e.values.length-1,"aria-valuenow":s,"aria-valuetext":e.texts[s]??""},b("rect",{x:e.x-Me/2,y:n-Me/2,width:Me,height:Me,class:"pe-target"}),b("path",{d:`M${e.x-6},${n+4*r} h12 l-6,${-8*r} z`}));return o.addEventListener("keydown",l=>{let p=e.values.length-1,d={ArrowUp:s+1,ArrowDown:s-1,Home:0,End:p}[l.key];if(l.key==="Delete"||l.key==="Backspace")this.choose([e.name]);else{if(d===void 0)return;t==="low"?this.send(e,Math.min(d,e.high),e.high):this.send(e,e.low,Math.max(d,e.low))}l.preventDefault(),l.stopPropagation()}),o}send(e,t,s){let n=e.values.length-1,[r,o]=[Math.max(0,Math.min(t,s)),Math.min(n,Math.max(t,s))];r===e.low&&o===e.high||(r===0&&o===n?this.choose([e.name]):this.choose([e.name,e.values[r]??0,e.values[o]??0]))}drag(e){if(e.button!==0||this.axes.length===0)return;let t=this.stage.at(e),s=this.axes.find(m=>Math.abs(m.x-t.x)<=ln);if(!s)return;let[n=0,r=0]=[s.ys[0],s.ys.at(-1)];if(t.y>n+12||t.y<r-12)return;let o=t,l=!1,p=m=>{o=this.stage.at(m),l||=Math.abs(o.y-t.y)>4,l&&(h(this.preview,"visibility","visible"),h(this.preview,"x",String(s.x-10)),h(this.preview,"width","20"),h(this.preview,"y",String(Math.min(t.y,o.y))),h(this.preview,"height",String(Math.abs(o.y-t.y))))},d=m=>{p(m);for(let[w,L]of c)window.removeEventListener(w,L);if(h(this.preview,"visibility","hidden"),!l||m.type==="pointercancel")return;let[g,u]=[Math.min(t.y,o.y)-4,Math.max(t.y,o.y)+4],f=s.ys.flatMap((w,L)=>w>=g&&w<=u?[L]:[]),[x,k]=[f[0],f.at(-1)];x!==void 0&&k!==void 0&&this.send(s,x,k)},c=[["pointermove",p],["pointerup",d],["pointercancel",d]];for(let[m,g]of c)window.addEventListener(m,g);e.stopPropagation()}};var Le=class extends X{constructor(t){super("tuning","Tuning","trials",t,"No trial has been measured yet.");this.host=t;this.modes=new I("charts",s=>t.look({tuning:{mode:s}})),this.brush=new Te(this.stage,s=>t.look({tuning:{brush:s}})),this.tops.addEventListener("change",()=>t.look({tuning:{top:Number(this.tops.value)}})),this.frame.body.prepend(a("div",{class:"pe-choices"},this.modes.element,this.tops,this.intervals,this.hint))}host;name="tuning";modes;tops=a("select",{class:"pe-select","aria-label":"trials in the table"});intervals=a("div",{class:"pe-chips",role:"group","aria-label":"brush"});brush;shown="";update(t){this.modes.update(t.modes,t.mode);let s=JSON.stringify(t.tops);s!==this.shown&&(this.shown=s,v(this.tops,...t.tops.map(n=>a("option",{value:n.name},n.label)))),this.tops.value=t.top,v(this.intervals,...t.brush.flatMap(n=>this.interval(n))),this.intervals.hidden=t.brush.length===0,this.show(t.caption,t.scene,t.trials),this.brush.update(t.axes)}interval({name:t,text:s,restrict:n}){let r=a("button",{type:"button",class:"pe-chip",title:`remove the interval of ${t}`},`${s} ×`);if(h(r,"aria-label",`remove the interval ${s}`),r.addEventListener("click",()=>this.host.look({tuning:{brush:[t]}})),n===null)return[r];let o=`${n.description}
${n.python}`,l=a("button",{type:"button",class:"pe-button",title:o,"data-command":n.command},n.label);return l.addEventListener("click",()=>this.host.command(n.command,n.args)),[r,l]}};var J=[{name:"map",label:"Search map",docked:!1,make:i=>new xe(i)},{name:"graph",label:"sGraph",docked:!1,make:i=>new ye(i)},{name:"inspector",label:"Inspector",docked:!1,make:i=>new U(i)},{name:"families",label:"Families",docked:!0,make:i=>new ue(i)},{name:"sizes",label:"Sizes",docked:!0,make:i=>new Se(i)},{name:"eclasses",label:"E-classes",docked:!0,make:i=>new ve(i)},{name:"tuning",label:"Tuning",docked:!0,make:i=>new Le(i)},{name:"ledger",label:"Summary",docked:!0,make:i=>new fe(i)},{name:"questions",label:"What-if",docked:!0,make:i=>new ke(i)},{name:"code",label:"Code",docked:!0,make:i=>new le(i)},{name:"compare",label:"Compare",docked:!0,make:i=>new me(i)},{name:"bookmarks",label:"Bookmarks",docked:!0,make:i=>new ae(i)}],z=J.filter(i=>i.docked).map(i=>i.name);function Gt(i){return new Map(J.map(e=>[e.name,e.make(i)]))}var qt="prism-found",$e=class{constructor(e,t){this.panels=e;this.host=t;this.steps=[E("up","previous match (Shift+Enter)",()=>this.step(-1)),E("down","next match (Enter)",()=>this.step(1))],this.input.addEventListener("focus",()=>this.look()),this.input.addEventListener("input",()=>{this.position=0,this.item=null,this.look(),this.dim(),this.showCount()}),this.input.addEventListener("keydown",s=>{s.key!=="Enter"||s.isComposing||(s.preventDefault(),this.step(s.shiftKey?-1:1))}),this.element=a("span",{class:"pe-group pe-find",role:"search"},this.count,this.input,...this.steps),this.showCount()}panels;host;element;input=a("input",{class:"pe-search",type:"search",placeholder:"find  /",maxlength:200,"aria-label":"find in all panels; Enter for the next match, Shift+Enter for the previous one"});count=a("span",{class:"pe-muted pe-found",role:"status"});steps;section=null;position=0;isAwaited=!1;item=null;focus(){this.input.focus(),this.input.select()}clear(){return this.input.value?(this.input.value="",this.input.dispatchEvent(new Event("input")),CSS.highlights?.delete(qt),!0):!1}update(e){this.section=e,e&&e.text===this.text&&e.position>0&&this.isAwaited&&(this.position=e.position,this.go(e.item)),this.showCount()}refresh(){this.text&&(this.dim(),this.item&&this.mark(this.item))}get text(){return this.input.value}step(e){if(!this.text.trim())return;if(this.isAwaited=!0,this.section===null){let s=this.local(),n=this.position+e;this.position=n<1?s.length:n>s.length?Math.min(1,s.length):n,this.go(s[this.position-1]??null),this.showCount();return}let t=this.position+e;this.position=t<1?Math.max(1,this.section.total):t,this.look()}look(){this.host.look({find:{text:this.text,position:this.position}})}go(e){if(this.isAwaited=!1,this.item=e,!e)return;let t=e.panel;e.ref&&this.host.select(e.ref),this.panels.has(t)&&this.host.show(t),this.mark(e),this.host.announce(`${e.kind} ${e.ref}: ${e.text}`)}mark(e){let t=this.panels.get(e.panel);t&&(t.stage?.reveal(e.ref),St(t.element,e),e.kind==="code"&&this.highlight(t.element))}highlight(e){let t=e.querySelector("pre code"),s=document.createTreeWalker(t??e,NodeFilter.SHOW_TEXT);for(let n=s.nextNode();n;n=s.nextNode()){let r=(n.nodeValue??"").toLowerCase().indexOf(this.text.trim().toLowerCase());if(r<0)continue;let o=document.createRange();o.setStart(n,r),o.setEnd(n,r+this.text.trim().length),typeof Highlight<"u"&&CSS.highlights?.set(qt,new Highlight(o));let l=e.querySelector("pre"),[p,d]=[l?.getBoundingClientRect().top??0,o.getBoundingClientRect?.().top??0];l&&(l.scrollTop+=d-p-l.clientHeight/3);return}}local(){let e=this.text.trim().toLowerCase(),t=new Map;for(let{name:s}of J){let n=this.panels.get(s);if(!n)continue;let r=[...(n.stage?.shown?.items??[]).map(o=>({ref:o.ref??"",text:Vt(o),seq:0})),...Mt(n.element)];for(let o of r)o.text.toLowerCase().includes(e)&&(o.ref||o.seq)&&t.set(`${s} ${o.ref||o.seq}`,{...o,kind:s,panel:s})}return[...t.values()]}dim(){let e=this.text.trim().toLowerCase(),t=e?s=>Vt(s).toLowerCase().includes(e):null;for(let s of["map","graph"])this.panels.get(s)?.stage?.find(t)}showCount(){let{section:e}=this,t=e?.text===this.text?e:null,s=e===null?this.local().length:t?.total??0,n=this.position?`${this.position} of ${s}`:`${s} found`;this.count.textContent=this.text.trim()?e===null?n:t?.count??"…":"";let r=(t?.kinds??[]).map(([o,l])=>`${o}: ${l}`).join(`
`);h(this.count,"title",r||null);for(let o of this.steps)o.disabled=s===0||!this.text.trim()}};function Vt(i){return[i.ref??"",i.tip??"",...(i.texts??[]).map(e=>e.text)].join(`
`)}var pn=[["step","Step advances the search by the unit in the list beside it; Run goes on to the end."],["why pruned","Click a hatched block of the search map; the inspector has the rule and its numbers."],["which won","The line below the buttons: the kernel, its time, and why; Proof, Code and Runner-up lead on."],["steer","Accept or reject a family in the table; Undo takes it back."],["look back","Drag the slider at the top right; nothing in the search changes."]],dn=[["sGraph","a program with symbolic sizes: kernels, their blocks and loops"],["family","an sGraph whose maps are unbound: how dims are partitioned is not chosen yet"],["candidate","a family with its maps chosen: imap and omap over the grid, fmap over the loop"],["proved","equal to the program for all sizes; unknown means neither proved nor refuted"],["trial","one choice of tuning parameters of a candidate, timed"],["lower bound","the roofline: no choice of parameters is faster in the cost model"]],Ce=class{constructor(e,t){this.closed=t;let s=a("dl",{class:"pe-facts"});for(let r of e)r.shown&&S(s,a("dt",{},a("kbd",{},r.shown)),a("dd",{},r.help));let n=a("button",{type:"button",class:"pe-button pe-close",autofocus:!0},"Close");n.addEventListener("click",()=>this.toggle()),v(this.element,n,a("h3",{},"First steps"),Wt(pn),a("h3",{},"Words"),Wt(dn),a("h3",{},"Keys, while the explorer has the focus"),s,a("label",{},this.letters," keys without Ctrl are active"),a("p",{class:"pe-muted"},"Ctrl + wheel zooms a picture, dragging moves it, a double click fits it into its panel."))}closed;element=a("dialog",{class:"pe-help","aria-label":"help"});letters=a("input",{type:"checkbox",checked:!0});get open(){return this.element.open}get lettersActive(){return this.letters.checked}toggle(){this.open?(this.element.close(),this.closed()):this.element.show()}};function Wt(i){let e=a("dl",{class:"pe-facts"});for(let[t,s]of i)S(e,a("dt",{},t),a("dd",{},s));return e}function Jt(i){return i instanceof Element&&i.closest("input, select, textarea, [contenteditable]")!==null}function Ut(i){return i instanceof Element&&i.closest("button, a, summary")!==null}function Xt(i){return(i.ctrlKey||i.metaKey?"Ctrl+":"")+i.key}function Yt(i){return i.length===1&&i!==" "}function Re(i){return/^n\d+$/.test(i)}function Ae(i){return/^f\d+/.exec(i)?.[0]??null}function Zt(i){let[e="",t]=i.split("/"),[s=""]=e.split(".");return[...t?[e]:[],...e.includes(".")?[s]:[]]}function Qt(i){let e=(l,p,d,c)=>({keys:[l].flat(),shown:p,help:d,act:c}),t=l=>()=>{let p=Ae(i.selection);p?i.command(l,{id:p}):i.announce(`select a family to ${l} it`)},s=()=>i.panels.get(i.layout.current())?.stage,n="select the next item in that direction, in the panel with the focus",r="open the selection: show its graph, or expand its custom kernel; Shift+Enter shows it alone, Backspace all",o=l=>()=>{let p=z[l];p&&i.layout.show(p)};return[e(".",".","one step of the search",()=>i.bar.step()),e(" ","Space","run, pause or resume",()=>i.bar.toggleRun()),e("ArrowLeft","← → ↑ ↓",n,()=>i.walk("left")),e("ArrowRight","","",()=>i.walk("right")),e("ArrowUp","","",()=>i.walk("up")),e("ArrowDown","","",()=>i.walk("down")),e("Enter","Enter",r,()=>i.selection&&i.enter(i.selection)),e("z","z","zoom the map into the selected node, and out again",()=>i.zoomMap(cn(i))),e("[","[ ]","look back by one event, or forward",()=>i.bar.move(-1)),e("]","","",()=>i.bar.move(1)),e("w","w","read the inspector",()=>i.readInspector()),e("a","a","accept the selected family",t("accept")),e("x","x","reject the selected family; can be undone",t("reject")),e(["u","Ctrl+z"],"u, Ctrl+Z","undo the last steering step",()=>i.command("undo")),e(["U","Ctrl+Z"],"Shift+U","redo the last steering step",()=>i.command("redo")),e("/","/","find in all panels; Enter for the next match, Shift+Enter for the previous one",()=>i.find.focus()),e("f","f","filter: show only a part of the search",()=>i.filter.open()),e("b","b","bookmark the selection and, in an earlier state, the moment",()=>i.bookmark()),e("m","m","maximise the panel, or restore it",()=>i.maximise(i.layout.current())),e("0","0","fit the picture into its panel",()=>s()?.fit()),e("t","t","show the picture as a table",()=>i.toggleTable()),...z.map((l,p)=>e(String(p+1),p?"":`1 … ${z.length}`,p?"":"show a tab of the dock",o(p))),e("?","?","show this help",()=>i.help.toggle()),e("Escape","Esc","close, clear, then leave the widget",()=>i.leave())]}function es(i,e,t){if(i.altKey||i.defaultPrevented)return;let s=Xt(i);if(Jt(i.target)){s==="Escape"&&(t.help.open?t.help.toggle():t.filter.close()||t.find.clear(),t.element.focus(),i.stopPropagation());return}if((s===" "||s==="Enter")&&Ut(i.target)||Yt(s)&&!t.help.lettersActive&&s!=="?")return;let n=e.find(r=>r.keys.includes(s));n&&n.act()!==!1&&(i.preventDefault(),i.stopPropagation())}function cn(i){return Re(i.selection)?i.selection:i.root}var ts="prism_explore.layout";function ss(i){let e=new Map;try{let t=JSON.parse(localStorage.getItem(ts)??"{}");if(typeof t!="object"||t===null)return e;for(let[s,[n,r]]of i){let o=t[s];typeof o=="number"&&o>=n&&o<=r&&e.set(s,o)}}catch{}return e}function He(i){try{localStorage.setItem(ts,JSON.stringify(Object.fromEntries(i)))}catch{}}var Z=[{name:"map",label:"width of the search map",axis:"x",unit:"%",least:12,most:55,initial:30,after:!1},{name:"inspector",label:"width of the inspector",axis:"x",unit:"%",least:15,most:65,initial:35,after:!0},{name:"dock",label:"height of the dock",axis:"y",unit:"%",least:12,most:85,initial:36,after:!0},{name:"height",label:"height of the explorer",axis:"y",unit:"px",least:460,most:2400,initial:820,after:!1}],hn=12,mn={"%":2,px:40},Ne=class{constructor(e,t){this.main=e;this.changed=t;this.values=ss(new Map(Z.map(l=>[l.name,[l.least,l.most]])));let[s,n,r,o]=Z;this.elements={map:this.separator(s),inspector:this.separator(n),dock:this.separator(r),height:this.separator(o)};for(let l of Z)this.show(l)}main;changed;elements;values;root=null;follow(e){this.root=e;for(let t of Z)this.show(t)}value(e){return this.values.get(e.name)??e.initial}separator(e){let t=a("div",{class:`pe-splitter pe-splitter-${e.axis}`,role:"separator",tabindex:0,title:`drag or use the arrow keys to change the ${e.label}; a double click resets it`,"aria-label":e.label,"aria-orientation":e.axis==="x"?"vertical":"horizontal","aria-valuemin":e.least,"aria-valuemax":e.most,"data-splitter":e.name});return t.addEventListener("pointerdown",s=>this.drag(e,t,s)),t.addEventListener("keydown",s=>this.key(e,s)),t.addEventListener("dblclick",()=>this.reset(e)),t}drag(e,t,s){if(s.button!==0)return;s.preventDefault(),t.focus(),t.setPointerCapture?.(s.pointerId);let n=e.axis==="x"?s.clientX:s.clientY,r=e.name==="height"?this.root?.offsetHeight??e.initial:this.value(e),o=e.unit==="px"?100:e.axis==="x"?this.main.clientWidth:this.main.clientHeight,l=d=>{let c=((e.axis==="x"?d.clientX:d.clientY)-n)*(100/Math.max(1,o));this.set(e,e.after?r-c:r+c)},p=()=>{t.removeEventListener("pointermove",l),t.removeEventListener("pointerup",p),t.removeEventListener("pointercancel",p),He(this.values)};t.addEventListener("pointermove",l),t.addEventListener("pointerup",p),t.addEventListener("pointercancel",p)}key(e,t){let[s,n]=e.axis==="x"?["ArrowLeft","ArrowRight"]:["ArrowUp","ArrowDown"],r=mn[e.unit]*(e.after?-1:1),o=e.name==="height"?this.root?.offsetHeight??this.value(e):this.value(e),l=new Map([[s,o-r],[n,o+r],["Home",e.least],["End",e.most]]).get(t.key);if(t.key==="Enter")this.reset(e);else if(l!==void 0)this.set(e,l);else return;t.preventDefault(),t.stopPropagation(),He(this.values)}reset(e){this.values.delete(e.name),this.show(e),He(this.values),this.changed()}set(e,t){let s=Z.find(r=>r.axis==="x"&&r.name!==e.name),n=e.axis==="x"&&s?Math.min(e.most,100-hn-this.value(s)):e.most;this.values.set(e.name,Math.round(Math.max(e.least,Math.min(n,t))*10)/10),this.show(e),this.changed()}show(e){let t=this.value(e);if(h(this.elements[e.name],"aria-valuenow",String(Math.round(t))),e.name==="height"){this.root&&(this.root.style.height=this.values.has(e.name)?`${t}px`:"");return}this.main.style.setProperty(`--${e.name}`,`${t}fr`);let[s,n,r]=Z.map(o=>this.value(o));this.main.style.setProperty("--graph",`${100-(s??0)-(n??0)}fr`),this.main.style.setProperty("--upper",`${100-(r??0)}fr`)}};var un=900,fn=150,gn=8,et=16,Pe=class{constructor(e,t){this.panels=e;this.look=t;let s=this.tabList(),[n,r]=[this.scroller(s,-1),this.scroller(s,1)];this.scrollers=[n,r],this.dock.append(a("div",{class:"pe-tabbar"},n,s,r),...z.map(d=>this.element(d)));let{map:o,inspector:l,dock:p}=this.splitters.elements;this.main.append(this.element("map"),o,this.element("graph"),l,this.element("inspector"),p,this.dock),this.resize.observe(s),s.addEventListener("scroll",()=>this.markScrollers(s),{passive:!0})}panels;look;main=a("div",{class:"pe-main"});dock=a("div",{class:"pe-dock"});splitters=new Ne(this.main,()=>this.measure());scrollers;tabs=new Map;shown="map";docked="families";maximised=null;narrow=!1;root=null;hidden="";sizes={map:0,dock:0,high:0};timer;resize=new ResizeObserver(()=>this.measure());get lowerEdge(){return this.splitters.elements.height}follow(e){this.root=e,this.splitters.follow(e),this.resize.observe(e),this.arrange()}close(){this.resize.disconnect(),clearTimeout(this.timer)}show(e){z.includes(e)&&(this.docked=e),this.shown=e,this.maximised!==null&&(this.maximised=e),this.arrange(),this.sendHidden()}maximise(e){this.maximised=this.maximised===e?null:e,this.show(e)}restore(){return this.maximised===null?!1:(this.maximise(this.maximised),!0)}current(){let e=document.activeElement;for(let[t,s]of this.panels)if(s.element.contains(e))return t;return this.shown}measure(){let e=this.root?.clientWidth??0;if(e===0)return;this.sendSizes();let t=this.dock.querySelector(".pe-tabs");t&&this.markScrollers(t);let s=e<un;s!==this.narrow&&(this.narrow=s,this.arrange())}element(e){let t=this.panels.get(e);if(!t)throw new Error(`no panel ${e}`);return t.element}tabList(){let e=a("div",{class:"pe-tabs",role:"tablist","aria-label":"panels"});for(let{name:t,label:s,docked:n}of J){let r=this.element(t);r.id=D("panel");let o=a("button",{type:"button",role:"tab","aria-controls":r.id,"data-tab-of":t,class:n?null:"pe-only-narrow"},s);o.addEventListener("click",()=>{this.show(t),this.look({tab:t})}),this.tabs.set(t,o),e.append(o)}return e.addEventListener("keydown",t=>this.walkTabs(t)),e}scroller(e,t){let s=t<0?"earlier tabs":"later tabs",n=a("button",{type:"button",class:"pe-tool pe-scroller",title:s,"aria-label":s,tabindex:-1,hidden:!0},t<0?"‹":"›");return n.addEventListener("click",()=>e.scrollBy({left:.8*t*e.clientWidth})),n}markScrollers(e){let t=e.scrollLeft,s=[t<=1,t+e.clientWidth>=e.scrollWidth-1];this.scrollers.forEach((n,r)=>{h(n,"hidden",s[r]??!0)})}walkTabs(e){let t=J.map(l=>l.name).filter(l=>!this.tabs.get(l)?.hidden),s=t.findIndex(l=>this.tabs.get(l)===e.target),n=t.length-1,r=new Map([["ArrowLeft",s>0?s-1:n],["ArrowRight",s<n?s+1:0],["Home",0],["End",n]]).get(e.key),o=r===void 0?void 0:t[r];o&&(e.preventDefault(),e.stopPropagation(),this.show(o),this.tabs.get(o)?.focus())}arrange(){let e=this.maximised??(this.narrow?this.shown:null);for(let[o,l]of this.panels){let p=e===null?!z.includes(o)||o===this.docked:o===e;h(l.element,"hidden",!p)}for(let[o,l]of this.tabs){h(l,"hidden",!this.narrow&&!z.includes(o));let p=this.narrow?o===e:o===this.docked;h(l,"aria-selected",String(p)),h(l,"tabindex",p?"0":"-1"),p&&vn(l)}let{map:t,inspector:s,dock:n}=this.splitters.elements;for(let o of[t,s,n])h(o,"hidden",e!==null);let r=e===null||z.includes(e);h(this.dock,"hidden",!r&&!this.narrow),h(this.dock,"data-only-tabs",!r),this.sendSizes(),this.root&&(h(this.root,"data-solo",e!==null),h(this.root,"data-narrow",this.narrow))}sendHidden(){let e=[...this.panels].filter(([,s])=>s.element.hidden).map(([s])=>s),t=e.join();!this.root||t===this.hidden||(this.hidden=t,this.look({hidden:e}))}sendSizes(){clearTimeout(this.timer),this.timer=setTimeout(()=>{this.sendHidden();let{map:e,dock:t,high:s}=this.sizes,n=z.map(l=>this.panels.get(l)?.stage?.element).find(l=>l!==void 0&&l.clientWidth>0),r={map:this.panels.get("map")?.stage?.element.clientWidth||e,dock:n?.clientWidth??t,high:n?.clientHeight??s};Math.abs(r.map-e)+Math.abs(r.dock-t)+Math.abs(r.high-s)<gn||(this.sizes=r,this.look({map_px:r.map-et,dock_px:r.dock-et,dock_high_px:r.high-et}))},fn)}};function vn(i){let e=i.parentElement;if(!e)return;i.offsetLeft<e.scrollLeft&&(e.scrollLeft=i.offsetLeft);let t=i.offsetLeft+i.offsetWidth-e.scrollLeft-e.clientWidth;t>0&&(e.scrollLeft+=t)}var bn="button, summary, tr[data-ref]";var _e=class{constructor(e,t){this.element=e;this.give=t;e.addEventListener("pointerdown",this.down);for(let s of["pointerup","pointercancel"])window.addEventListener(s,this.up)}element;give;held=!1;waiting=new Map;timer;down=e=>{this.held=e.target.closest(bn)!==null,this.later(2e3)};up=()=>this.later(0);take(e){if(!this.held)this.give(e);else for(let[t,s]of e)this.waiting.set(t,s)}close(){clearTimeout(this.timer),this.element.removeEventListener("pointerdown",this.down);for(let e of["pointerup","pointercancel"])window.removeEventListener(e,this.up)}later(e){clearTimeout(this.timer),this.held&&(this.timer=setTimeout(()=>this.release(),e))}release(){let e=this.waiting;this.held=!1,this.waiting=new Map,e.size>0&&this.give(e)}};var tt=".pe-chip, .pe-link, .pe-transport input, .pe-transport select, .pe-form button, .pe-form input, .pe-form select",ze=class{constructor(e){this.announce=e}announce;gone="";past="";commands={};root=null;observer=new MutationObserver(()=>this.apply());follow(e){this.root=e;for(let t of["click","dblclick","input","change","submit"])e.addEventListener(t,s=>this.guard(s),{capture:!0})}close(){this.observer.disconnect()}describe(e){this.commands=e}set(e){this.gone=e.gone??this.gone,this.past=e.past??this.past,this.observer.disconnect(),this.apply(),this.root&&(this.gone||this.past)&&this.observer.observe(this.root,{childList:!0,subtree:!0})}reason(e){return this.gone||(this.commands[e]?.in_past===!1?this.past:"")}reasonOf(e){let t=e.getAttribute("data-command");return t?this.reason(t):e.matches(tt)?this.gone:""}apply(){if(this.root)for(let e of this.root.querySelectorAll(`[data-command], ${tt}`)){let t=this.reasonOf(e),s=e.hasAttribute("data-locked");if(t)e.getAttribute("title")!==t&&h(e,"data-title",e.getAttribute("title")),h(e,"title",t),h(e,"aria-disabled","true"),h(e,"data-locked",!0);else if(s){h(e,"title",e.getAttribute("data-title"));for(let n of["data-title","aria-disabled","data-locked"])h(e,n,null)}}}guard(e){let t=e.target.closest(`[data-command], ${tt}`),s=t?this.reasonOf(t):e.type==="submit"?this.gone:"";s&&(e.preventDefault(),e.stopPropagation(),this.announce(s))}};var Oe=class{constructor(e,t){this.look=e;this.command=t;this.element=a("nav",{class:"pe-lineage","aria-label":"this search and its forks",hidden:!0},this.path,this.status)}look;command;element;path=a("ol",{class:"pe-lineage-path"});status=a("span",{role:"status"});at=0;get canFork(){return this.at>0}fork(){this.command("fork",{at:this.at})}update(e){this.at=e.fork_at;let t=e.path.map((n,r)=>a("li",{},r>0?"▸ ":null,this.button(n))),s=e.forks.map(n=>a("li",{class:"pe-fork"},"▾ ",this.button(n)));v(this.path,...t,...s),R(this.status,e.status),this.element.hidden=e.path.length===0&&!e.status}button(e){if(!e.key)return a("span",{class:"pe-muted",title:e.tip},e.label);let t=a("button",{type:"button",class:"pe-link",title:e.tip},e.label);return h(t,"aria-current",e.current?"true":null),t.addEventListener("click",()=>{e.current||this.look({search:e.key})}),t}};var yn={title:"",ref:"",time:"",spread:"",source:"",sentence:"",warning:"",comparisons:[],links:[]},je=class{constructor(e){this.host=e;this.element.addEventListener("click",t=>{this.ref&&!t.target.closest("button")&&this.host.select(this.ref)})}host;element=a("section",{class:"pe-result pe-best","aria-label":"result"});ref="";drawn="";update(e){let t=JSON.stringify(e);if(t===this.drawn)return;this.drawn=t;let s={...yn,...e};this.ref=s.ref,h(this.element,"data-ref",s.ref||null),v(this.element,a("div",{class:"pe-answer"},...this.answer(s)),a("p",{class:"pe-why",title:s.sentence},this.spread(s),s.sentence),a("div",{class:"pe-group pe-result-links"},...s.links.map(n=>this.link(n))))}answer(e){return[P(e.kind),a("span",{class:"pe-muted"},e.label),e.title?this.title(e):null,e.time?a("strong",{title:e.source},e.time):null,e.warning?a("span",{class:"pe-warning",role:"img",title:e.warning,"aria-label":e.warning},"⚠"):null,e.comparisons.length>0?a("ul",{class:"pe-comparisons",title:e.comparisons.map(xn).join(`
`),"aria-label":"against baselines and limit"},...e.comparisons.map(kn)):null]}spread({spread:e,source:t}){return e?a("span",{class:"pe-muted pe-spread",title:t},`${e}. `):null}title({title:e,ref:t}){let s=t&&t!==e?`${e} ${t}`:e;if(!t)return a("span",{class:"pe-mono"},s);let n=a("button",{type:"button",class:"pe-link pe-mono",title:`select ${t}`},s);return n.addEventListener("click",()=>this.host.select(t)),n}link({ref:e,panel:t,label:s,description:n}){let r=a("button",{type:"button",class:"pe-button pe-chip",title:n},s);return r.addEventListener("click",()=>{this.host.select(e),this.host.show(t)}),r}};function xn({ratio:i,label:e,time:t}){return`${i} ${e}, ${t}`}function kn(i){let e=i.limit?"pe-limit":null;return a("li",{class:e,title:i.description},a("b",{},i.ratio),` ${i.label}, `,a("span",{},i.time))}var Ie=class{element=a("div",{class:"pe-confirm",role:"alertdialog",hidden:!0});back=null;constructor(){this.element.addEventListener("keydown",e=>{e.stopPropagation(),e.key==="Escape"&&this.close()})}ask(e,t,s,n,r){this.back=n;let o=(p,d,c)=>{let m=a("button",{type:"button",class:`pe-button ${d}`.trim()},p);return m.addEventListener("click",()=>{this.close(),c()}),m},l=o(s,"pe-primary",()=>{});v(this.element,a("p",{},e),a("div",{class:"pe-group"},l,o(t,"",r))),this.element.setAttribute("aria-label",e),this.element.hidden=!1,l.focus()}close(){this.element.hidden||(this.element.hidden=!0,this.back?.focus())}};var wn=["event","candidate","family","phase"],En="family",Ke=class{constructor(e){this.host=e;for(let p of wn)this.grain.append(a("option",{value:p},p));this.grain.value=En;let t=(p,d,c,m,g="")=>{let u=a("button",{type:"button",class:`pe-button ${g}`.trim(),"data-command":p,"aria-label":d},M(c),g==="pe-bare"?null:a("span",{},d));return u.addEventListener("click",m),{name:p,element:u}},s=t("step","Step","step",()=>this.step()),n=t("start","Run","run",()=>this.toggleRun(),"pe-primary"),r=t("cancel","Cancel","cancel",()=>this.askToCancel()),o=t("undo","Undo","undo",()=>e.command("undo"),"pe-bare"),l=t("redo","Redo","redo",()=>e.command("redo"),"pe-bare");this.buttons=[s,n,r,o,l],this.moment.addEventListener("input",()=>this.lookBack(Number(this.moment.value))),this.when.addEventListener("click",()=>this.lookBack(0)),this.element=a("div",{class:"pe-transport"},a("div",{class:"pe-bar"},this.title,this.state,this.phases,a("span",{class:"pe-group pe-time"},this.moment,this.when)),a("div",{class:"pe-bar",role:"toolbar","aria-label":"search"},a("span",{class:"pe-group"},s.element,this.grain),a("span",{class:"pe-group"},n.element,r.element,this.confirm.element),a("span",{class:"pe-group"},o.element,l.element),this.counters))}host;element;title=a("div",{class:"pe-title"});phases=a("ol",{class:"pe-phases","aria-label":"phases"});confirm=new Ie;counters=a("ul",{class:"pe-counters","aria-label":"counts"});grain=a("select",{class:"pe-select","aria-label":"size of one step",title:"size of one step"});state=a("span",{class:"pe-state"});moment=a("input",{type:"range",class:"pe-moment",min:1,"aria-label":"show an earlier state of the search",title:`show an earlier state of the search; the search itself is not changed
keys: [ and ]`});when=a("button",{type:"button",class:"pe-link pe-when"},"now");buttons;data=null;pausing=!1;step(){this.can("step")&&this.host.command("step",{n:1,grain:this.grain.value})}toggleRun(){let e=this.runCommand();!this.can(e)||this.pausing||(this.pausing=e==="pause",this.host.command(e),this.pausing&&this.data&&this.update(this.data))}lookBack(e){let t=this.data?.events??0;this.host.look({cursor:e<t?e:0})}move(e){this.data&&this.lookBack(Math.max(1,(this.data.cursor||this.data.events)+e))}backToNow(){this.lookBack(0)}askToCancel(){let e=this.buttons.find(({name:n})=>n==="cancel")?.element;if(!e)return;let s=`End the search for good? Kept: all ${this.data?.events.toLocaleString("en")??"0"} events, proofs and times so far. Lost: the step in progress, and everything that was not searched yet. Pause keeps both.`;this.confirm.ask(s,"End the search","Keep searching",e,()=>this.host.command("cancel"))}can(e){return this.data?.enabled.includes(e)??!1}describe(e){let t={step:".",start:"Space",undo:"u",redo:"Shift+U"};for(let{name:s,element:n}of this.buttons){let r=e[s];r&&h(n,"title",`${r.description}
${r.python}${t[s]?`
key: ${t[s]}`:""}`)}}update(e){this.data=e,this.pausing&&=e.state==="running",v(this.title,a("span",{class:"pe-brand"},"Prism"),a("strong",{class:"pe-mono"},e.program),a("span",{class:"pe-muted"},e.target)),this.state.textContent=`${e.state} · ${e.events.toLocaleString("en")} events`,h(this.state,"data-state",e.state),h(this.moment,"max",String(Math.max(1,e.events))),this.moment.matches(":active")||(this.moment.value=String(e.cursor||e.events)),this.when.textContent=e.cursor>0?`${e.cursor.toLocaleString("en")} · back to now`:"now",this.when.disabled=e.cursor===0,v(this.phases,...e.phases.map(t=>a("li",{"aria-current":t.current?"step":null,title:t.description},t.name)),this.phaseSign(e)),e.enabled.includes("cancel")||this.confirm.close(),this.counters.replaceChildren();for(let{kind:t,label:s,value:n,description:r}of e.counters)S(this.counters,a("li",{title:r},P(t),a("strong",{},n),a("span",{},s)));for(let{name:t,element:s}of this.buttons)s.disabled=!this.can(t==="start"?this.runCommand():t)||t==="start"&&this.pausing,t==="start"&&this.labelRun(s)}phaseSign(e){let t=e.phases.findIndex(o=>o.current),s=e.phases.map(o=>o.name).join(", "),n=`phase ${t+1} of ${e.phases.length}: ${e.phases[t]?.name??""}`,r=t<0?`${e.phases.length} phases`:n;return a("li",{class:"pe-phase-sign",title:`phases: ${s}`},r)}runCommand(){return this.data?.state==="running"?"pause":this.can("resume")?"resume":"start"}labelRun(e){let t=this.runCommand(),s=this.pausing?"Pausing":{pause:"Pause",resume:"Resume"}[t]??"Run";v(e,M(t==="pause"?"pause":"run"),a("span",{},s)),h(e,"data-command",t),h(e,"aria-label",s)}};var Sn=1e3,De=class{element=a("span",{class:"pe-status",role:"status","aria-live":"polite"});timer;next="";announce(e){this.next=e,this.timer===void 0&&(this.element.textContent=e,this.timer=setTimeout(()=>{this.timer=void 0,this.element.textContent!==this.next&&this.announce(this.next)},Sn))}close(){clearTimeout(this.timer)}};async function rs(i){if(!navigator.clipboard)return ns(i);try{return await navigator.clipboard.writeText(i),!0}catch{return ns(i)}}function ns(i){let e=a("textarea",{style:"position:fixed;opacity:0"});e.value=i,document.body.append(e),e.select();let t=document.execCommand("copy");return e.remove(),t}var Fe=class{constructor(e,t){this.model=e;this.listener=t}model;listener;have=0;waiting=!1;timer;commands=0;looking;nextCursor=null;name=Math.random().toString(36).slice(2,10);parts=new Map;onMessage=e=>this.receive(e);onLive=()=>this.hello("closed",1e3);open(){this.model.on("msg:custom",this.onMessage),this.model.on("comm_live_update",this.onLive);let e=this.model.get("snapshot");e?.texts&&e.seq>0&&(this.have=e.left_out.length===0?e.seq:0,this.listener.sections(new Map(Object.entries(e.texts).map(([t,s])=>[t,JSON.parse(s)])))),this.hello()}close(){clearTimeout(this.timer),clearTimeout(this.looking),this.model.off("msg:custom",this.onMessage),this.model.off("comm_live_update",this.onLive)}command(e,t={}){this.commands+=1;let s=`${this.name}-${this.commands}`;return this.post({kind:"command",event_id:s,name:e,args:t})&&this.timer===void 0&&this.expect("silent",4e3),s}look(e){if(!("cursor"in e)){this.post({kind:"look",...e,..."hidden"in e&&{page:this.name}});return}if(this.looking!==void 0&&e.cursor>0){this.nextCursor=e.cursor;return}clearTimeout(this.looking),this.nextCursor=null,this.looking=setTimeout(()=>this.looked(),1e3),this.commands+=1,this.post({kind:"look",...e,event_id:`${this.name}-${this.commands}`})}looked(){clearTimeout(this.looking),this.looking=void 0,this.nextCursor!==null&&this.look({cursor:this.nextCursor})}post(e){try{return this.model.send(e),!0}catch{return this.listener.connection("closed"),!1}}hello(e="silent",t=4e3){this.waiting=this.post({kind:"hello",have:this.have}),this.waiting&&this.expect(e,t)}expect(e,t){clearTimeout(this.timer),this.timer=setTimeout(()=>{this.timer=void 0,this.waiting=!1,this.listener.connection(e)},t)}receive(e){let t=e;if(t?.kind!=="sections")return;for(let n of t.replies)this.listener.reply(n);if(this.have<t.after){this.waiting||this.hello();return}clearTimeout(this.timer),this.timer=void 0,this.waiting=!1,this.have=t.seq;let s=new Map;for(let[n,r,o,l]of t.chunks){let p=this.join(n,r,o,l);p!==null&&s.set(n,JSON.parse(p))}this.listener.connection("open"),s.size>0&&this.listener.sections(s),this.looked()}join(e,t,s,n){if(s===1)return this.parts.delete(e),n;let r=this.parts.get(e),o=r&&r.length===s&&t>0?r:new Array(s).fill(void 0);return o[t]=n,this.parts.set(e,o),o.includes(void 0)?null:(this.parts.delete(e),o.join(""))}};var Mn={open:"",silent:"The kernel does not answer: it is busy with a cell, or it has ended. The panels show the last state it sent.",closed:"The kernel was restarted or has ended. The panels show the last state it sent."},Tn="Disabled while an earlier state is shown, because it would change the present search.",Be=class{element;bar;panels;layout;find;filter=new oe(e=>this.look(e));help;selection="";root="";wire;status=new De;lineage=new Oe(e=>this.look(e),(e,t)=>this.command(e,t));banner=new re(this);result=new je(this);lock=new ze(e=>this.announce(e));lastLine=a("button",{type:"button",class:"pe-python",title:"copy this line",hidden:!0});selecting=null;request=0;press;constructor(e){this.bar=new Ke(this),this.panels=Gt(this),this.layout=new Pe(this.panels,s=>this.look(s)),this.find=new $e(this.panels,this);let t=Qt(this);this.help=new Ce(t,()=>this.element.focus({preventScroll:!0})),this.element=a("div",{class:"prism-explore prism-scene",tabindex:0,"data-lm-suppress-shortcuts":"true",role:"application","aria-label":"Prism explorer; press ? for the keys"},a("style",{},`${yt}
${gt}`),this.bar.element,this.lineage.element,this.banner.element,this.filter.chips,this.layout.main,this.foot(),this.layout.lowerEdge,this.help.element),this.bar.element.append(this.result.element),this.lock.follow(this.element),this.element.addEventListener("keydown",s=>es(s,t,this)),this.layout.follow(this.element),this.press=new _e(this.element,s=>this.receive(s)),this.wire=new Fe(e,{sections:s=>this.press.take(s),reply:s=>this.onReply(s),connection:s=>this.onConnection(s)})}open(){this.layout.measure(),this.wire.open()}close(){this.wire.close(),this.press.close(),this.layout.close(),this.lock.close(),this.status.close();for(let e of this.panels.values())e.close()}command(e,t={}){this.isPossible(e)&&this.wire.command(e,t)}look(e){this.wire.look(e)}select(e){e===this.selection||!this.isPossible("select")||(this.applySelection(e),this.selecting=this.wire.command("select",{id:e}))}enter(e){this.select(e);let t=this.panels.get(this.layout.current());Re(e)?this.zoomMap(e):t?.enter?t.enter():Ae(e)!==null&&this.layout.show("graph")}hover(e){for(let t of this.panels.values())t.hover(e)}copy(e,t){rs(e).then(s=>this.announce(s?`copied ${t}`:`could not copy ${t}; select and copy it by hand`))}show(e){this.layout.show(e)}maximise(e){this.layout.maximise(e)}showSizes(e,t,s){this.panels.get("graph")?.showSizes(e,t,s)}announce(e){this.status.announce(e)}walk(e){let t=this.panels.get(this.layout.current());if(t?.stage)return t.stage.walk(e),!0;let s=t?.element.querySelectorAll("tr[data-ref]")??[],n=[...s].find(r=>r.getAttribute("aria-selected")==="true")??s[0];return n?.focus(),n!==void 0}zoomMap(e){this.root=this.root===e?"":e,this.look({root:this.root})}bookmark(){this.layout.show("bookmarks"),this.panels.get("bookmarks")?.bookmark()||this.announce("select something to bookmark it")}readInspector(){this.layout.show("inspector"),this.panels.get("inspector")?.focus?.()}toggleTable(){let e=this.panels.get(this.layout.current());(e?.toggleTable?e:this.panels.get("map"))?.toggleTable?.()}leave(){if(this.help.open)this.help.toggle();else{if(this.layout.restore()||this.find.clear())return;this.selection?this.select(""):document.activeElement?.blur()}}receive(e){let t=(s,n)=>{if(e.has(s))try{n(e.get(s))}catch(r){console.error(`prism_explore: the panel ${s} could not be drawn`,r),this.announce(`The panel ${s} could not be drawn: ${String(r)}`)}};t("commands",s=>{this.bar.describe(s),this.lock.describe(s)}),t("result",s=>this.result.update(s)),t("lineage",s=>this.lineage.update(s)),t("transport",s=>{this.bar.update(s),h(this.element,"data-state",s.state),h(this.element,"data-past",s.cursor>0),this.banner.set({past:s.past_notice,savedAs:s.saved_as}),this.lock.set({past:s.past_notice&&Tn}),this.announce(s.status)});for(let[s,n]of this.panels)t(s,r=>n.update(r));t("script",s=>this.panels.get("ledger")?.showScript(s)),t("error",s=>this.banner.set({error:s??""})),t("view",s=>{this.selecting===null&&this.applySelection(s.selection);let{tab:n="",request:r=0}=s;r>this.request&&this.layout.show(n),this.request=r}),t("filter",s=>this.filter.update(s)),t("find",s=>this.find.update(s)),this.find.refresh(),this.lock.apply()}onReply(e){e.event_id===this.selecting&&(this.selecting=null),e.ok?e.python&&(this.lastLine.textContent=e.python,this.lastLine.hidden=!1):this.announce(e.message??"the command failed")}onConnection(e){h(this.element,"data-connected",e==="open"?"yes":"no");let t=Mn[e];this.banner.set({gone:t}),this.lock.set({gone:t})}isPossible(e){let t=this.lock.reason(e);return t&&this.announce(t),t===""}applySelection(e){this.selection=e;let t=e?[e,...Zt(e)]:[];for(let s of this.panels.values())s.select(e?[e]:[]);t.length>1&&this.panels.get("families")?.select(t)}foot(){this.lastLine.addEventListener("click",()=>this.copy(this.lastLine.textContent??"","the line"));let e=a("button",{type:"button",class:"pe-tool",title:"help (?)","aria-label":"help"},M("help"));return e.addEventListener("click",()=>this.help.toggle()),a("footer",{class:"pe-foot"},this.status.element,this.lastLine,this.filter.element,this.find.element,e)}};var Ge=class{constructor(e,t){this.data=e;this.pool=t;this.count=e.kind.length,this.at=Int32Array.from(is(e.at))}data;pool;count;at;columns=new Map;kindOf(e){return this.data.kinds[this.data.kind.charCodeAt(e)-65]??""}field(e,t){return this.column(`${e}.${t}`,this.data.fields[e]?.[t])}log(e){return this.column(`log.${e}`,this.data.log[e])}column(e,t){let s=this.columns.get(e);return s||(s=Ln(t??{numbers:[]},this.pool),this.columns.set(e,s)),s}};function Ln(i,e){if("ids"in i){let t=is(i.ids),s=n=>n===void 0||n<0?"":`${i.prefix}${n}`;return{at:n=>s(t[n]),length:t.length}}return"numbers"in i?{at:t=>i.numbers[t],length:i.numbers.length}:{at:t=>e.get(i.members[t]??null),length:i.members.length}}function is(i){let e=0;return i.map(t=>(e+=t,e))}var qe=class{nodes=new Map;roots=[];finished=!1;addNode(e,t,s){if(this.nodes.has(e))return;this.nodes.set(e,{id:e,parent:t,position:s,children:[],pruned:[],families:[]});let n=this.nodes.get(t);n?n.children.push(e):this.roots.push(e)}addRegion(e,t){this.at(e).pruned.push(t)}addFamily(e,t){this.at(e).families.push(t)}at(e){let t=this.nodes.get(e);if(t)return t;let s={id:e,parent:"",position:-1,children:[],pruned:[],families:[]};return this.nodes.set(e,s),this.roots.push(e),s}node(e){let t=this.nodes.get(e);if(!t)throw new Error(`the search tree has no node ${e}`);return t}leafCounts(){let e=new Map;for(let t of[...this.nodes.values()].reverse()){let s=t.pruned.length;for(let n of t.children)s+=e.get(n)??1;e.set(t.id,Math.max(1,s))}return e}path(e){let t=[];for(let s=this.nodes.get(e);s&&!t.includes(s.id);s=this.nodes.get(s.parent))t.push(s.id);return t.reverse()}};var st={region:"subtrees",maps:"choices of maps",family:"families",candidate:"candidates"},Ve=class{constructor(e,t,s){this.columns=e;this.phases=t;let n=new Map;for(let r=0;r<s;r++){let o=e.kindOf(r),l=n.get(o)??0;n.set(o,l+1),this.add(o,l)}this.count=s}columns;phases;tree=new qe;count=0;regions=0;expanded=0;phase=null;childCount=new Map;prunedCount=new Map;familyAt=new Map;candidates=new Map;regionNumbers=new Map;nodeOf=new Map;verdicts=new Map;rejectedMaps=new Map;trials=new Map;floats=new Map;dominated=new Set;pruned=new Map;standing=[];undone=[];add(e,t){this.phase=this.phases[e]??this.phase;let s=n=>this.columns.field(e,n).at(t);switch(e){case"NodeExpanded":{let n=s("parent");this.expanded+=1,this.tree.addNode(s("node"),n,t),this.childCount.set(n,(this.childCount.get(n)??0)+1);break}case"RegionPruned":{let[n,r]=[s("region"),s("parent")];this.tree.addRegion(r,t),this.regions+=1,this.regionNumbers.set(n,t),this.prunedCount.set(r,(this.prunedCount.get(r)??0)+1),this.prune(e,t,"region",this.columns.field(e,"stood_for").at(t),n);break}case"FamilyCompleted":{let[n,r]=[s("family"),s("node")];this.nodeOf.set(n,r),this.familyAt.set(r,n),this.tree.addFamily(r,n);break}case"CandidateInstantiated":this.candidates.set(s("candidate"),s("family"));break;case"CandidateRejected":{let n=s("family");this.rejectedMaps.set(n,(this.rejectedMaps.get(n)??0)+1),this.prune(e,t,"maps",1,n);break}case"CandidateBounded":this.prune(e,t,"candidate",1,s("candidate"));break;case"VerdictReached":this.verdicts.set(s("candidate"),s("verdict"));break;case"FloatsAssessed":this.floats.set(s("family"),{outcome:s("outcome"),allowed:this.columns.field(e,"allowed").at(t)});break;case"FamilyDominated":{let n=s("family");this.columns.field(e,"left_out").at(t)&&!this.dominated.has(n)&&this.prune(e,t,"family",1,n),this.dominated.add(n);break}case"ParametersProposed":case"TrialFailed":this.trial(s("trial"),s("candidate"));break;case"TrialMeasured":this.trial(s("trial"),s("candidate")).time_s=this.columns.field(e,"time_s").at(t);break;case"Steered":this.steer(s("action"),s("subject"));break;case"ExplorationFinished":this.tree.finished=!0;break}}familyOf(e){return this.candidates.get(e)||(e.split(".")[0]??"")}trial(e,t){let s=this.trials.get(e);if(s)return s;let n={candidate:t,family:this.familyOf(t),time_s:null};return this.trials.set(e,n),n}prune(e,t,s,n,r){let o=this.columns.field(e,"reason").at(t),l=`${o.code}\0${o.rule}\0${o.soundness}\0${s}`,p=this.pruned.get(l);p||(p={...o,what:s,things:st[s],count:0,stood_for:0,example:r},this.pruned.set(l,p)),p.count+=1,p.stood_for+=n}steer(e,t){e==="undo"?this.undone.push(...this.standing.splice(-1)):e==="redo"?this.standing.push(...this.undone.splice(-1)):(this.standing.push({action:e,subject:t}),this.undone=[])}get choices(){let e=new Map;for(let{action:t,subject:s}of this.standing)t==="accept"?e.set(s,"accepted"):t==="reject"&&e.set(s,"rejected");return e}get pruneCounts(){return[...this.pruned].sort(([e,t],[s,n])=>n.count-t.count||(e<s?-1:1)).map(([,e])=>e)}get funnel(){let e=[...this.verdicts.values()],t=s=>e.filter(n=>n===s).length;return{expanded:this.expanded,pruned:this.regions,families:this.nodeOf.size,proved:t("proved"),unknown:t("unknown"),refuted:t("refuted")}}candidateOf(e){return this.trials.get(e)?.candidate??""}hasGraph(e){return this.nodeOf.has(e)||this.candidates.has(e)}get families(){let e=this.choices,t=new Map;for(let[r,o]of this.verdicts)Cn(t,this.familyOf(r),o);let s=new Map;for(let r of this.candidates.values())s.set(r,(s.get(r)??0)+1);let n=this.bestFamily(e);return[...this.nodeOf].map(([r,o])=>({family:r,node:o,status:$n(t.get(r)??[],s.get(r)??0,this.rejectedMaps.get(r)??0),choice:e.get(r)??"",is_best:r===n}))}bestFamily(e){let t=null;for(let s of this.trials.values()){let n=this.floats.get(s.family),r=e.get(s.family),o=n?.outcome==="unsafe"&&!n.allowed&&r!=="accepted";s.time_s===null||r==="rejected"||o||(t===null||s.time_s<(t.time_s??0))&&(t=s)}return t?.family??null}};function $n(i,e,t){let s=i.filter(n=>n==="refuted").length;return i.includes("proved")?"proved":i.includes("unknown")?"unknown":e&&s>=e?"refuted":t&&!e?"impossible":"open"}function Cn(i,e,t){let s=i.get(e);s?s.push(t):i.set(e,[t])}function y(i){if(!Number.isFinite(i))return String(i).replace("Infinity","inf");let e=Math.floor(i),t=i-e,s=t>.5||t===.5&&e%2!==0?e+1:e;return BigInt(s).toString().replace(/\B(?=(\d{3})+$)/g,",")}function os(i){return i<.005?"<1%":`${Rn(i*100)}%`}function Rn(i){let e=Math.floor(i),t=i-e;return t>.5||t===.5&&e%2!==0?e+1:e}function nt(i){let e=i*8;if(Number.isInteger(e)&&!Number.isInteger(i*4)){let t=Math.floor(i*100);return(t%2===0?t:t+1)/100}return Number(i.toFixed(2))}var An=/\p{Mn}|\p{Me}/u,Hn=/[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{1f680}-\u{1f6fc}\u{1f900}-\u{1f9ff}\u{20000}-\u{3fffd}]/u,Nn=/^[\0-\x7f]*$/;function rt(i){if(Nn.test(i))return i.length;let e=0;for(let t of i)e+=as(t);return e}function as(i){return An.test(i)?0:Hn.test(i)?2:1}function se(i,e){let t=i.split(/\s+/).filter(Boolean).join(" ");if(rt(t)<=e)return t;let s="",n=0;for(let r of t){if(n+=as(r),n>e-1)break;s+=r}return`${s.trimEnd()}…`}function Q(i,e,t){return(i.column_px[t]??0)*rt(e)}function at(i,e,t){return(i.letters[e]??([...e][0]??"").toUpperCase())+(t==="heuristic"?"h":"")}function ps(i,e,t,s,n,r){let o=new ot(i,e,t,s,r);return o.draw(i.tree.nodes.has(n)?n:""),lt(o.scene())}var ot=class{constructor(e,t,s,n,r){this.state=e;this.columns=t;this.drawing=s;this.width=n;this.closed=r;this.leaves=e.tree.leafCounts(),this.choices=e.choices}state;columns;drawing;width;closed;leaves;leaders=[];items=[];anchors=new Map;mergedAt=new Map;choices;depth=0;merged=0;total=0;draw(e){let{tree:t}=this.state,n=(e?t.path(e):[]).slice(0,-1);for(let[o,l]of n.entries())this.node(t.node(l),0,this.width,o);let r=e?[e]:t.roots;this.total=r.reduce((o,l)=>o+this.leavesOf(l),0),this.row(r,[],0,this.width,n.length)}leavesOf(e){return this.leaves.get(e)??1}reason(e){return this.columns.field("RegionPruned","reason").at(e)}row(e,t,s,n,r){let o=e.reduce((g,u)=>g+this.leavesOf(u),0)+t.length;if(o===0)return;if(r>=this.drawing.max_levels){this.merged+=o;return}this.depth=Math.max(this.depth,r+1);let l=n/o,p=this.drawing.min_block_px,d=[];for(let g of e){let u=this.leavesOf(g)*l;if(u<p){d.push(g);continue}let f=this.state.tree.node(g);this.node(f,s,u,r),this.closed.has(g)?this.mergedAt.set(g,[s+u/2,(r+1)*this.drawing.row_px]):this.row(f.children,f.pruned,s,u,r+1),s+=u}let c=[];for(let g of this.groups(t,l)){if(g.length*l<p){c.push(...g);continue}this.prunedBlock(g,s,g.length*l,r),s+=g.length*l}let m=0;for(let g of Object.keys(this.drawing.pruned_kinds)){let u=c.filter(f=>this.reason(f).soundness===g);if(u.length*l<p){m+=u.length;continue}this.prunedBlock(u,s,u.length*l,r),s+=u.length*l}(d.length>0||m>0)&&this.mergedBlock(d,m,s,l,r)}groups(e,t){if(t>=this.drawing.letter_px)return e.map(r=>[r]);let s=new Map;for(let r of e){let{code:o,soundness:l}=this.reason(r),p=`${o}\0${l}`,d=s.get(p);d?d.push(r):s.set(p,[r])}let n=r=>this.reason(r[0]??0).code;return[...s.values()].sort((r,o)=>o.length-r.length||it(n(r),n(o)))}node(e,t,s,n){let{state:r,drawing:o}=this,l=w=>e.position<0?"":this.columns.field("NodeExpanded",w).at(e.position),[p,d]=[l("operator"),l("expression")],c=e.position<0?"kernel":l("level"),m=e.children.length+e.pruned.length+e.families.length,g=m>0||r.tree.finished?"expanded":"frontier";this.choices.get(e.id)==="rejected"?g="pruned-user":this.closed.has(e.id)&&m>0&&(g="collapsed");let u=p||"start",f=[`${e.id}  ${u}`,u,p.split("(")[0]??"",e.id],x=this.leavesOf(e.id),k=[`${e.id}: ${u}, ${c} level`,d&&`computes ${d}`,`${y(x)} ${x===1?"leaf":"leaves"} below, ${y(e.pruned.length)} pruned here`,g==="frontier"?"not expanded yet":"",e.families.length>0?`completes ${e.families.join(", ")}`:""];this.items.push({...B(e.id,g,t,n*o.row_px,s,o.row_px),texts:this.fitting(f,t,s,n,"mono"),ref:e.id,tip:k.filter(Boolean).join(`
`),parent:e.parent,count:x});for(let w of e.families)this.anchors.set(w,[t+s/2,(n+1)*o.row_px])}mergedBlock(e,t,s,n,r){let{tree:o}=this.state,{row_px:l,min_block_px:p}=this.drawing,d=e.reduce((k,w)=>k+this.leavesOf(w),0)+t,c=d*n;this.merged+=d;for(let k of e)this.mergedAt.set(k,[s+c/2,(r+1)*l]);let[m,g]=[e[0],e.at(-1)];if(c<p||m===void 0)return;let u=o.node(m).parent,f=`${y(e.length)} nodes with ${y(d)} leaves below them, each narrower than ${p} px: from ${m} to ${g}
zoom into ${u||"the root"} to see them`,x=[`${y(e.length)} nodes`,y(e.length)];this.items.push({...B(`${m}+`,"aggregate",s,r*l,c,l),texts:this.fitting(x,s,c,r,"mono"),ref:u,tip:f,count:d})}prunedBlock(e,t,s,n){let{drawing:r}=this,o=e[0];if(o===void 0)return;let l=(A,$=o)=>this.columns.field("RegionPruned",A).at($),{soundness:p,code:d,sentence:c}=this.reason(o),m=new Map;for(let A of e){let $=this.reason(A).code;m.set($,(m.get($)??0)+1)}let g=[...m].sort((A,$)=>$[1]-A[1]),u=g.map(([A])=>at(r,A,p)).join(""),f=m.size===1?d:`${m.size} reasons`,x=e.length>1?` ×${y(e.length)}`:"",k=[`${u}  ${f}${x}`,`${u}${x}`,u],w=e.reduce((A,$)=>A+l("stood_for",$),0),[L,K]=[l("region"),l("parent")],q=L+(e.length>1?` and ${y(e.length-1)} more under ${K}`:""),O=g.map(([A,$])=>`${y($)} × ${A} [${p}]`).join(`
`),V=`${q}: ${l("operator")}
${c}
${O}
for ${y(w)} ${w===1?"program":"programs"} (${l("counted")})`;this.items.push({...B(L,r.pruned_kinds[p],t,n*r.row_px,s,r.row_px),texts:this.fitting(k,t,s,n,"letter"),ref:L,tip:V,parent:K,count:e.length})}familyRows(e){let{drawing:t,width:s}=this;for(let{family:u,node:f}of this.state.families){if(this.anchors.has(u))continue;let x=this.state.tree.path(f).findLast(w=>this.mergedAt.has(w)),k=x===void 0?void 0:this.mergedAt.get(x);k&&this.anchors.set(u,k)}let n=this.state.families.filter(u=>this.anchors.has(u.family));if(n.length===0)return 0;let r=t.mark_px,o=Math.max(r,...n.map(u=>Q(t,u.family,"small")))+6,l=Math.max(1,Math.floor(s/o)),p=u=>this.anchors.get(u.family)??[0,0],d=u=>(u.is_best?0:4)+(u.status==="proved"?0:2)+(u.status==="refuted"?1:0);n.sort((u,f)=>d(u)-d(f));let c=n.slice(0,l*t.max_mark_rows);c.sort((u,f)=>p(u)[0]-p(f)[0]||it(u.node,f.node)||it(u.family,f.family));let m=Math.ceil(c.length/l);for(let u=0;u<m;u++){let f=c.filter((w,L)=>L%m===u),x=e+22+u*(r+26),k=_n(f.map(w=>p(w)[0]),o,s);for(let[w,L]of f.entries())this.family(L,k[w]??0,x,p(L))}let g=22+m*(r+26);if(c.length<n.length){let u=`${y(n.length-c.length)} more families are not shown`;this.items.push({...G("families+",0,e+g,s,16),texts:[{x:0,y:e+g+12,text:u,kind:"muted",anchor:"start"}]}),g+=18}return g}family(e,t,s,[n,r]){let{drawing:o}=this,l=o.mark_px,{family:p,choice:d}=e,c=(s-r)/2;this.leaders.push({type:"edge",id:`${p}#leader`,kind:"leader",points:[[n,r],[n,r+c],[t,s-c],[t,s]],curve:"bezier",source:e.node,target:p,ref:p});let m=t-l/2,g=(w,L,K,q,O,V)=>{let A={...B(`${p}#${w}`,`badge-${w}`,K,q,O,O),outline:L,tip:V};this.items.push({...A,role:"mark",ref:p})};d==="accepted"&&g("accepted","circle",m-4,s-4,l+8,"accepted by you");let u=Pn(e),x=`${p}: ${{open:"no verdict yet",impossible:"no maps satisfy the constraints"}[e.status]??e.status}`+(e.is_best?", the best so far":"")+(d?`, ${d} by you`:""),k=u==="unknown"?[{x:t,y:s+l/2+4,text:"?",kind:"letter"}]:[];this.items.push({...G(`${p}#name`,m,s+l,l,18),texts:[{x:t,y:s+l+14,text:p,kind:"small"}],ref:p}),this.items.push({...B(p,u,m,s,l,l),role:"mark",outline:o.family_outlines[u]??"rect",texts:k,ref:p,tip:x}),u==="refuted"&&g("cross","cross",m+3,s+3,l-6,""),e.is_best&&g("best","star",m+7,s-10,15,"the best so far")}legend(e){let{drawing:t}=this,s=new Set(this.items.flatMap(o=>o.type==="shape"?[o.kind]:[])),n=0,r=e+4;for(let[o,l,p]of t.legend){if(!s.has(o))continue;let d=Q(t,p,"small");n+24+d>this.width&&(n=0,r+=20),this.items.push({...B(`legend#${o}`,o,n+2,r+2,14,13),role:"text",outline:l}),this.items.push({...G(`legend#${o}-label`,n,r,24,18),texts:[{x:n+22,y:r+13,text:p,kind:"small",anchor:"start"}]}),n+=22+d+14}return n?r+22-e:0}scene(){let{drawing:e,width:t}=this,s=e.row_px,n=Math.max(this.depth,1)*s;if(this.state.tree.nodes.size===0){let d={x:t/2,y:s*.7,text:"nothing has been searched yet",kind:"muted"};this.items.push({...G("nothing",0,0,t,s),texts:[d]})}n+=this.familyRows(n),n+=this.legend(n);let r="";if(this.merged>0){r=`${y(this.merged)} of ${y(this.total)} leaves are too narrow to be drawn one by one: they share a block or are left out.`;let d={x:0,y:n+14,text:r,kind:"muted",anchor:"start"};this.items.push({...G("omitted",0,n,t,20),texts:[d]}),n+=20}let o=this.state.funnel,l=`${y(o.expanded)} nodes expanded, ${y(o.pruned)} subtrees pruned, ${y(o.families)} families: ${y(o.proved)} candidates proved, ${y(o.unknown)} unknown, ${y(o.refuted)} refuted. ${r}`,p=[...this.leaders,...this.items];return{name:"search",title:"search map",desc:l.trim(),width:t,height:n+4,items:p,omitted:r}}fitting(e,t,s,n,r){let o=e.find(l=>l&&Q(this.drawing,l,r)+6<=s);return o===void 0?[]:[{x:t+s/2,y:(n+.68)*this.drawing.row_px,text:o,kind:r}]}};function Pn(i){return i.choice==="rejected"?"pruned-user":i.status==="impossible"?"pruned-sound":i.status==="open"?"family":i.status}function _n(i,e,t){let s=[];for(let r of i){let o=s.at(-1);s.push(Math.max(r,o===void 0?e/2:o+e))}let n=t-e/2;for(let r=s.length-1;r>=0;r--)s[r]=Math.min(s[r]??0,n),n=(s[r]??0)-e;return s}function B(i,e,t,s,n,r){return{type:"shape",id:i,role:"block",kind:e,x:t,y:s,w:n,h:r}}function G(i,e,t,s,n){return{type:"shape",id:i,role:"text",kind:"plain",x:e,y:t,w:s,h:n,outline:"none"}}function it(i,e){return i<e?-1:i>e?1:0}function lt(i){return{...i,items:i.items.map(e=>ds(e))}}var ls={outline:"rect",ref:"",tip:"",parent:"",count:1};function ds(i){let e={};for(let[t,s]of Object.entries(i))if(!(t in ls&&s===ls[t]))if(t==="points")e[t]=s.map(n=>n.map(nt));else if(t==="texts")s.length>0&&(e[t]=s.map(ds));else{if(t==="kind"&&s==="label"||t==="anchor"&&s==="middle")continue;e[t]=typeof s=="number"?nt(s):s}return e}var We=class{constructor(e,t,s){this.columns=e;this.pool=t;this.templates=s;this.nodes=t.get(s.nodes),this.positions=new Int32Array(e.count),this.lines=new Int32Array(e.count);let n=new Map,r=0;for(let o=0;o<e.count;o++){let l=e.kindOf(o),p=n.get(l)??0;n.set(l,p+1),this.positions[o]=p,this.lines[o]=r,l!=="NodeExpanded"&&l!=="RegionPruned"&&(r+=1)}}columns;pool;templates;nodes;positions;lines;inspector(e,t){let s=t.tree.nodes.get(e);if(s&&s.position>=0)return this.nodeInspector(e,s.position,t);let n=t.regionNumbers.get(e);return n===void 0?null:this.regionInspector(n,t)}text(e,t,s){return this.columns.field(e,t).at(s)}nodeInspector(e,t,s){let n=u=>this.text("NodeExpanded",u,t),[r,o,l]=[n("parent"),n("expression"),s.familyAt.get(e)??""],p=`${r&&"p"}${l&&"f"}${o&&"e"}`,d=this.nodes.inspectors[p];if(!d)throw new Error(`the report is damaged: it has no texts of nodes with ${p}`);let c=this.fill(d,{ref:e,parent:r,expression:o,family:l,level:n("level"),operator:n("operator"),children:s.childCount.get(e)??0,pruned:s.prunedCount.get(e)??0}),m=(d.code??"").split(`
`).slice(r?2:1),g=[...this.history(e,s),...m.map(u=>this.fill(u,{expression:o}))];return{...c,code:g.join(`
`)}}regionInspector(e,t){let s=this.text("RegionPruned","parent",e),n=this.regionTemplate(e).inspector,r=this.history(s,t).join(`
`);return this.fill(n,{ref:this.text("RegionPruned","region",e),parent:s,operator:this.text("RegionPruned","operator",e),level:this.text("RegionPruned","level",e),stood_for:this.columns.field("RegionPruned","stood_for").at(e),history:r})}regionTemplate(e){let{of:t,templates:s}=this.templates.regions;return this.pool.get(s[t[e]??-1]??null)}history(e,t){let s=[];for(let n=t.tree.nodes.get(e);n&&n.position>=0;)s.push(`${n.parent?"+":" "} ${this.text("NodeExpanded","operator",n.position)}`),n=t.tree.nodes.get(n.parent);return s.reverse()}fill(e,t){let s=JSON.stringify(e);for(let[n,r]of Object.entries(t))if(typeof r=="number"){let o=this.templates.numbers[n]??Number.NaN;s=s.replaceAll(y(o),y(r)).replaceAll(String(o),y(r))}else{let o=JSON.stringify(r).slice(1,-1);s=s.replaceAll(this.templates.placeholders[n]??"\0",()=>o)}return JSON.parse(s)}logLine(e){let t=this.columns.kindOf(e),s=this.positions[e]??0,n=()=>this.text(t,"operator",s);if(t==="NodeExpanded")return this.fill(this.nodes.log,{ref:this.text(t,"node",s),operator:n()});if(t==="RegionPruned"){let o=this.text(t,"region",s);return this.fill(this.regionTemplate(s).log,{ref:o,operator:n()})}let r=this.lines[e]??0;return[this.columns.log("text").at(r),this.columns.log("ref").at(r),this.columns.log("kind").at(r)]}log(e,t,s){let n=[],r=Math.max(0,t-s);for(let l=t-1;l>=r;l--){let[p,d,c]=this.logLine(l),m=`${((this.columns.at[l]??0)/100).toFixed(2)} s`;n.push({ref:d,cells:[{text:String(l),sort:l},m,c?{text:p,kind:c}:{text:p}]})}let o=r?`${y(r)} earlier events are not listed; sess.journal has all ${y(t)}.`:"";return{...e,rows:n,omitted:o}}};var Je=class{constructor(e){this.data=e;this.built=new Array(e.values.length)}data;built;get(e){if(typeof e=="string")return Number(e);if(typeof e!="number")return e;let t=this.built[e];return t===void 0&&(t=this.build(e),this.built[e]=t),t}build(e){let t=this.data.values[e];if(t===void 0)throw new Error(`the report is damaged: it has no value ${e}`);if(typeof t=="string")return t;let[s,...n]=t;if(s===0)return n.map(o=>this.get(o));let r=this.data.layouts[s-1]??[];return Object.fromEntries(r.map((o,l)=>[o,this.get(n[l]??null)]))}};function hs(i,e,t){let s=i.pruneCounts,n=f=>s.reduce((x,k)=>x+(k.what===f?k.count:0),0),r=t<e.narrow_px,o=[],l=On(s,r),p=s.map((f,x)=>[l[x]??"",zn(f,n(f.what),r)]),d=Math.max(0,...p.map(([f])=>Q(e,f,"mono")))+34,c=Math.max(0,...p.map(([,f])=>Q(e,f,"small")))+10,m=Math.max(1,...s.map(f=>f.count));if(s.forEach((f,x)=>{let k=x*e.row_px,w=Math.max(e.min_block_px,(t-d-c)*f.count/m),L=`${f.code}/${f.rule}/${f.soundness}/${f.what}`,[K,q]=p[x]??["",""],O=`${f.code} by ${f.rule} [${f.soundness}]: ${f.sentence}
${y(f.count)} of ${y(n(f.what))} ${f.things}, for example ${f.example}; they represent ${y(f.stood_for)} programs`;o.push({...G(`${L}#label`,0,k,t,e.row_px),texts:[{x:12,y:k+17,text:at(e,f.code,f.soundness),kind:"letter"},{x:26,y:k+17,text:K,kind:"mono",anchor:"start"},{x:d+w+8,y:k+17,text:q,kind:"small",anchor:"start"}],ref:f.example,tip:O});let V=e.pruned_kinds[f.soundness];o.push({...B(L,V,d,k+3,w,e.row_px-6),ref:f.example,tip:O,count:f.count})}),o.length===0){let f={x:t/2,y:17,text:"nothing has been pruned yet",kind:"muted"};o.push({...G("nothing",0,0,t,e.row_px),texts:[f]})}let g=s.map(f=>`${f.code} by ${f.rule} [${f.soundness}]: ${y(f.count)} ${f.things}`).join("; ")||"nothing was pruned",u=Math.max(1,s.length)*e.row_px;return lt({name:"reasons",title:"pruning by reason",desc:g,width:t,height:u,items:o,omitted:""})}function zn(i,e,t){return`${y(i.count)} · ${os(i.count/e)}${t?"":` · ${i.soundness}`}`}function On(i,e){let t=(r,o)=>r.filter(l=>l===o).length,s=i.map(r=>r.code),n=i.map(r=>jn(r,e,t(s,r.code)>1));return n.map((r,o)=>t(n,r)>1?`${r} ${i[o]?.soundness}`:r)}function jn(i,e,t){let s=i.what==="region"?"":` (${i.what==="maps"?"maps":i.things})`;return i.rule===i.code?`${se(i.code,24)}${s}`:e?`${se(t?i.rule:i.code,24)}${s}`:`${se(i.code,24)} · ${se(i.rule,24)}${s}`}function ms(i,e,t){let s=e.pruneCounts,n=(l,p)=>s.reduce((d,c)=>d+(c.soundness===l&&c.what===p?c.count:0),0),r=n("sound","region")+n("sound","maps"),o=i.soundness.rows.map(l=>{let[p,...d]=l.cells,c=p.text;if(c==="unknown")return{...l,cells:[p,...d.slice(0,-2),cs(e.funnel.unknown),...d.slice(-1)]};let m=String(d.at(-1)).replace(/ The result counts [\d,]+ cuts/,` The result counts ${y(r)} cuts`);return{...l,cells:[p,...Object.keys(st).map(g=>cs(n(c,g))),m]}});return{soundness:{...i.soundness,rows:o},reasons:{...i.reasons,rows:s.map(l=>In(l,t.pruned_kinds))}}}function cs(i){return i?{text:y(i),sort:i}:{text:"–",sort:0}}function In(i,e){return{ref:i.example,cells:[{text:i.code,kind:e[i.soundness],tip:i.sentence},i.rule,i.soundness,{text:`${y(i.count)} ${i.things}`,sort:i.count},{text:y(i.stood_for),sort:i.stood_for}]}}var Kn=["graph","sizes","eclasses","code"],Ue=class{constructor(e){this.report=e;this.pool=new Je(e.pool),this.columns=new Ge(e.columns,this.pool),this.texts=new We(this.columns,this.pool,e)}report;pool;columns;texts;state=null;get count(){return this.columns.count}at(e){let t=e>0?Math.min(e,this.count):this.count;return this.state?.count!==t&&(this.state=new Ve(this.columns,this.report.phases,t)),this.state}sections(e){let t=this.at(e.cursor),{drawing:s}=this.report,n={};for(let o of Object.keys(this.report.timeline))!o.includes("/")&&o!=="collapsed"&&o!=="program"&&(n[o]=this.version(o,t.count));let r=n.ledger;return{...n,transport:this.transport(n.transport,t),view:{selection:e.selection},map:this.map(e,t),ledger:{...r,...ms(r,t,s),log:this.texts.log(r.log,t.count,s.log_entries)},tuning:this.version(`tuning/${e.tuning}`,t.count)??n.tuning,inspector:this.inspector(e.selection,t),...this.subjectPanels(e,t,n)}}map(e,t){let{drawing:s}=this.report,{expanded:n,regions:r}=t,o=this.version(`map/${e.map_mode}`,t.count),l=hs(t,s,e.map_px);if(o)return{...o,reasons:l};let p=t.tree.nodes.has(e.root)?`, zoomed into ${e.root}`:"",d=this.report.map_modes.filter(({name:m})=>m==="icicle"||this.version(`map/${m}`,t.count)!==void 0),c=new Set(e.closed);return{summary:`${y(n)} expanded, ${y(r)} ${r===1?"subtree":"subtrees"} pruned${p}`,modes:d,mode:"icicle",similar:!1,brush:null,dimmed:[],scene:ps(t,this.columns,s,e.map_px,e.root,c),reasons:l}}version(e,t){let s=this.report.timeline[e]?.findLast(([n])=>n<=t);return s&&this.pool.get(s[1])}momentOf(e){return this.report.moments.findLast(t=>t<=e)??0}transport(e,t){let{count:s,funnel:n}=t;if(!(s<this.count))return{...e,enabled:[]};let o=this.momentOf(s),[l]=this.texts.logLine(s-1),[p]=this.texts.logLine(o-1),d=e.past_notice.replace(y(o),y(s)).replace(p,()=>l),c=o<s?` The other panels show event ${y(o)}.`:"",{proved:m,unknown:g,refuted:u,pruned:f}=n,x={proved:m,unknown:g,refuted:u,"pruned-sound":f};return{...e,cursor:s,past_notice:d+c,phases:e.phases.map(k=>({...k,current:k.name===t.phase})),counters:e.counters.map(k=>{let w=x[k.kind];return w===void 0?k:{...k,value:y(w)}}),enabled:[],status:l}}inspector(e,t){let s=this.version(`inspector/${e}`,t.count)??this.texts.inspector(e,t);if(s||e==="")return s;let n=this.report.timeline[`inspector/${e}`]?.[0]?.[0];if(n!==void 0||this.texts.inspector(e,this.at(0))){let o=n!==void 0?` The report has it from event ${y(n)} on.`:"";return{ref:e,title:e,description:[`It is not there at event ${y(t.count)}.${o}`]}}return{ref:e,title:e,description:["This report does not contain it. Open the saved search in a notebook."]}}subjectOf(e,t){let s=this.at(t);if(s.hasGraph(e))return e;let[n=""]=e.split("/");return s.hasGraph(n)?n:s.candidateOf(e)||(s.familyAt.get(e)??"")}subjectPanels(e,t,s){let{subject:n,selection:r}=e,o=(c,m)=>this.version(`${c}/${m}`,t.count),l={},p=t.hasGraph(n)?n:"";for(let c of Kn)l[c]=p?o(c,p)??Dn(c,p):s[c];e.collapsed&&(l.graph=(p?o("collapsed",p):this.version("collapsed",t.count))??l.graph),l.code=o("code",r)??l.code;let d=o("frame",r);return d&&(l.eclasses={...d,lemmas:l.eclasses.lemmas}),l}};function Dn(i,e){let t=`${e}: not in this report; open the saved search in a notebook`,s={columns:[],rows:[],empty_text:"",omitted:""};switch(i){case"graph":return{subject:e,caption:t,alternatives:[],kernels:[],entered:"",trail:[],scene:null};case"eclasses":return{subject:e,caption:t,scene:null,lemmas:s,...{modes:[],mode:"classes",frame_ref:"",slider:null,rules:[],rule:""},more:"",path:null};case"sizes":return{subject:"",caption:t,origin:"",...{forms:[],sliders:[],limits:[],figures:[],shapes:[],kernels:[],roofline:null},python:""};case"code":return{title:e,caption:t,tabs:[],tab:"",other:"",others:[]}}}var pt=class{constructor(e,t=()=>{}){this.refused=t;this.folded=new Ue(e),this.look={selection:"",subject:"",cursor:0,root:"",map_px:460,closed:[],map_mode:"icicle",collapsed:!1,entered:"",program:!1,tuning:"curve"}}refused;seq=0;listener=null;sent=new Map;folded;look;commands={};inspector=null;get(){}on(e,t){e==="msg:custom"&&(this.listener=t)}off(e){e==="msg:custom"&&(this.listener=null)}send(e){let{look:t}=this;if(e.kind==="hello")this.sent.clear();else if(e.kind==="look")this.change(e);else if(e.name==="select"){t.selection=String(e.args?.id??"");let s=this.folded.subjectOf(t.selection,t.cursor)||t.subject;t.subject=t.selection?s:""}else{this.refuse(e);return}this.emit(e.event_id===void 0?[]:[{event_id:e.event_id,ok:!0}])}change(e){let{look:t}=this,{cursor:s,root:n,map_px:r}=e;typeof s=="number"&&(t.cursor=s<this.folded.count?s:0),typeof n=="string"&&(t.root=n),typeof r=="number"&&(t.map_px=Math.max(240,Math.min(2400,r)));let o=f=>e[f]??{},{mode:l,open:p,close:d}=o("map");typeof l=="string"&&(t.map_mode=l),typeof d=="string"&&(t.closed=[...t.closed,d]),typeof p=="string"&&(t.closed=t.closed.filter(f=>f!==p));let{expanded:c,entered:m,program:g}=o("graph");typeof c=="boolean"&&(t.collapsed=!c),typeof m=="string"&&Object.assign(t,{entered:m,program:!1}),typeof g=="boolean"&&Object.assign(t,{program:g,entered:""});let u=o("tuning").mode;typeof u=="string"&&(t.tuning=u)}refuse(e){let{event_id:t,name:s="",args:n}=e;if(t===void 0)return;let r=d=>JSON.stringify(d)===JSON.stringify(n??{}),l=this.inspector?.actions?.find(d=>d.command===s&&r(d.args))?.python??this.commands[s]?.python??`sess.${s}(…)`;this.refused(l);let p=`A report cannot run ${l}. Open the saved search in a notebook.`;this.emit([{event_id:t,ok:!1,message:p}])}emit(e){let t=[],s=this.folded.sections(this.look);this.commands=s.commands??{},this.inspector=s.inspector;for(let[o,l]of Object.entries(s)){let p=JSON.stringify(l??null);this.sent.get(o)!==p&&(this.sent.set(o,p),t.push([o,0,1,p]))}let n=this.seq;this.seq+=1;let r={kind:"sections",seq:this.seq,after:n,chunks:t,replies:e};setTimeout(()=>this.listener?.(r),0)}};async function Fn(i){let e=Uint8Array.from(atob(i.trim()),s=>s.charCodeAt(0)),t=new Blob([e]).stream().pipeThrough(new DecompressionStream("deflate"));return await new Response(t).json()}var Bn="This report needs a browser of 2023 or later: Chrome 80, Edge 80, Safari 16.4, Firefox 113. This one has no DecompressionStream.";async function Gn(i,e){if(typeof DecompressionStream>"u"){v(e,a("p",{role:"alert"},Bn));return}try{let t=a("p",{class:"prism-refused",role:"status",hidden:!0}),s=new pt(await Fn(i),r=>qn(t,r)),n=new Be(s);v(e,t,n.element),n.open()}catch(t){let s=`This report is damaged and cannot be shown: ${String(t)}. Write it again with sess.report(path).`;v(e,a("p",{role:"alert"},s))}}function qn(i,e){let t=a("button",{type:"button"},`Copy ${e}`);t.addEventListener("click",()=>{navigator.clipboard?.writeText(e)}),v(i,"This is a report. To steer the search, open the saved search in a notebook. ",t),i.hidden=!1}var us=document.getElementById("prism-report")?.textContent,fs=document.getElementById("prism-here");us&&fs&&Gn(us,fs);export{pt as ReportModel,Fn as unpack};
