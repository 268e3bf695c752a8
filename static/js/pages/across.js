// The page of runs: draws its charts anew whenever what is found changes, and turns brushing into a question.

import { written } from "../core/axes.js";
import { Parallel } from "../charts/parallel.js";
import { pareto } from "../charts/pareto.js";
import { html } from "../core/svg.js";

const form = () => document.getElementById("asked");
const ENDS = ["from", "to"];
let parallel = null;
let held = null; // the handle that had the focus before the page changed under it

function draw() {
  const source = document.getElementById("chart");
  parallel = null;
  if (!source) return;
  const chart = JSON.parse(source.textContent);
  parallel = new Parallel(document.getElementById("parallel"), chart, rangesOf(chart), ask);
  paint(chart);
  const twin = document.getElementById("twin");
  twin.addEventListener("toggle", () => twin.querySelector("table") || twin.append(table(chart)), { once: true });
  new ResizeObserver(() => requestAnimationFrame(() => resized(chart))).observe(document.getElementById("parallel"));
}

function paint(chart) {
  parallel.draw();
  pareto(document.getElementById("pareto"), chart);
  document.getElementById("brushed").textContent = `${parallel.show()} of ${chart.runs.length} are within the ranges.`;
  if (held) parallel.focus(held);
}

let drawnWidth = 0;
function resized(chart) {
  const width = document.getElementById("parallel")?.clientWidth;
  if (!width || !parallel || width === drawnWidth) return;
  drawnWidth = width;
  held = document.activeElement?.dataset?.handle ?? null;
  paint(chart);
}

/** What the form asks for, by axis. */
function rangesOf(chart) {
  const number = (name) => (form().elements[name]?.value === "" || !form().elements[name] ? null : Number(form().elements[name].value));
  const found = chart.axes.map(({ name }) => [name, { from: number(`${name}_from`), to: number(`${name}_to`) }]);
  return Object.fromEntries(found.filter(([, { from, to }]) => from !== null || to !== null));
}

function ask(ranges) {
  for (const { name } of parallel.chart.axes) {
    for (const end of ENDS) form().elements[`${name}_${end}`].value = ranges[name]?.[end] ?? "";
  }
  form().requestSubmit();
}

function table(chart) {
  const heads = ["run", "comparison", ...chart.axes.map((axis) => axis.title), "on the line"];
  return html("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Both charts as a table" }, html("table", {},
    html("thead", {}, html("tr", {}, ...heads.map((head, i) => html("th", { scope: "col", class: i > 1 ? "num" : null }, head)))),
    html("tbody", {}, ...chart.runs.map((run) => html("tr", {},
      html("th", { scope: "row" }, html("a", { href: run.address }, run.name)), html("td", {}, run.comparison),
      ...chart.axes.map((axis) => html("td", { class: "num" }, written(run.values[axis.name], axis.kind))),
      html("td", { class: "num" }, run.is_on_line ? "yes" : run.is_ranked ? "no" : "not ranked"))))));
}

// An address without empty words.
document.addEventListener("htmx:configRequest", (event) => {
  const asked = event.detail.parameters;
  for (const name of [...new Set(Object.keys(asked))]) if (asked[name] === "") delete asked[name];
});
document.addEventListener("htmx:beforeSwap", () => (held = document.activeElement?.dataset?.handle ?? null));
document.addEventListener("htmx:afterSettle", draw);
document.addEventListener("htmx:historyRestore", draw);

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, [role=slider]")) return;
  if (event.key === "j" || event.key === "k") step(event.key === "j" ? 1 : -1);
  else if (event.key === "[") document.querySelector("a[rel=prev]")?.click();
  else if (event.key === "]") document.querySelector("a[rel=next]")?.click();
  else if (event.key === "v") {
    const more = form().querySelector("details.more");
    more.open = !more.open;
    if (more.open) more.querySelector("select, input").focus();
  }
});

function step(by) {
  const rows = [...document.querySelectorAll("[data-row]")];
  const now = rows.indexOf(document.activeElement);
  rows[Math.min(rows.length - 1, Math.max(0, now < 0 ? (by > 0 ? 0 : rows.length - 1) : now + by))]?.focus();
}

draw();
