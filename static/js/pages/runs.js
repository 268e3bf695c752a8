// The page of runs: draws its charts anew whenever what is found changes, and turns brushing into a question.

import { chartsOf, dataOf } from "../core/charts.js";

const form = () => document.getElementById("asked");
const ENDS = ["from", "to"];
let held = null; // the handle that had the focus before the page changed under it
let soon = 0;

async function draw() {
  if (!document.getElementById("chart")) return;
  const charts = await chartsOf(document.getElementById("found")), data = dataOf();
  const show = (ranges) => charts.draw({ ...data, ranges, onRanges });
  const onRanges = (ranges, after) => {
    show(ranges);
    clearTimeout(soon);
    if (after !== null) soon = setTimeout(() => ask(data.chart, ranges), after);
  };
  show(rangesOf(data.chart));
  if (held) document.querySelector(`[data-handle="${CSS.escape(held)}"]`)?.focus();
}

/** What the form asks for, by axis. */
function rangesOf(chart) {
  const number = (name) => (form().elements[name]?.value === "" || !form().elements[name] ? null : Number(form().elements[name].value));
  const found = chart.axes.map(({ name }) => [name, { from: number(`${name}_from`), to: number(`${name}_to`) }]);
  return Object.fromEntries(found.filter(([, { from, to }]) => from !== null || to !== null));
}

function ask(chart, ranges) {
  for (const { name } of chart.axes) {
    for (const end of ENDS) form().elements[`${name}_${end}`].value = ranges[name]?.[end] ?? "";
  }
  form().requestSubmit();
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
