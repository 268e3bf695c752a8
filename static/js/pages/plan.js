// The pictures of a plan: what every setting would give, and what the best were measured at.

import { plot, speedupAxis } from "../core/plot.js";
import { html } from "../core/svg.js";
import { times, twin } from "../core/tables.js";

const found = JSON.parse(document.getElementById("found").textContent);
const of = (strategy, more = () => true) => found.predictions.filter((row) => row.strategy === strategy && more(row.params));
const setting = (strategy) => found.settings.find((row) => row.strategy === strategy);
const bound = setting("oracle")?.speedup;
const measured = (strategy) => setting(strategy)?.measured?.median;

const levels = [
  { kind: "level", at: 1, cls: "" },
  bound ? { kind: "level", at: bound, cls: "s-oracle bound", label: "oracle" } : null,
].filter(Boolean);

lookaheads();
thresholds();

function lookaheads() {
  const points = of("static").map((row) => [row.params.lookahead, row.speedup]);
  const best = setting("static");
  const y = speedupAxis([bound, measured("static"), ...points.map((point) => point[1])]);
  plot(document.getElementById("by-lookahead"), () => ({
    x: { low: 0, high: Math.max(...points.map((point) => point[0])) + 0.5, label: "static lookahead, tokens" }, y,
    layers: [
      ...levels,
      { kind: "line", points, cls: "s-static" },
      { kind: "dots", points: points.map(([px, py]) => ({ x: px, y: py, r: 2.5 })), cls: "s-static", title: (point) => `static:${point.x}: ${times(point.y)} predicted` },
      best?.measured ? { kind: "mark", strategy: "static", x: best.params.lookahead, y: best.measured.median } : null,
    ].filter(Boolean),
  }));
  twin("by-lookahead", ["lookahead", "predicted"], points.map(([lookahead, speedup]) => [lookahead, times(speedup)]));
}

function thresholds() {
  const caps = [...new Set(of("threshold").map((row) => row.params.cap))].sort((a, b) => a - b);
  const lines = [
    ...caps.map((cap, i) => ({ name: `threshold, at most ${cap}`, strategy: "threshold", rows: of("threshold", (params) => params.cap === cap), cls: i ? "" : "broken" })),
    ...["threshold", "priced"].map((rule, i) => ({ name: `DISCO, ${rule}`, strategy: "disco", rows: of("disco", (params) => params.rule === rule), cls: i ? "" : "broken" })),
  ].filter((line) => line.rows.length);
  const points = (line) => line.rows.map((row) => [row.params.threshold, row.speedup]).sort((a, b) => a[0] - b[0]);
  const marks = ["threshold", "disco"].filter((strategy) => setting(strategy)?.measured);
  const y = speedupAxis([bound, ...marks.map(measured), ...lines.flatMap((line) => line.rows.map((row) => row.speedup))]);
  plot(document.getElementById("by-threshold"), () => ({
    x: { low: 0, high: 1, label: "threshold" }, y,
    layers: [
      ...levels,
      ...lines.map((line) => ({ kind: "line", points: points(line), cls: `s-${line.strategy} ${line.cls}` })),
      ...marks.map((strategy) => ({ kind: "mark", strategy, x: setting(strategy).params.threshold, y: measured(strategy) })),
    ],
  }));
  document.querySelector("[data-lines]").replaceChildren(
    ...lines.map((line) => html("span", { class: `key line s-${line.strategy} ${line.cls}` }, line.name)), " The marks are what was measured.");
  const all = [...new Set(lines.flatMap((line) => line.rows.map((row) => row.params.threshold)))].sort((a, b) => a - b);
  twin("by-threshold", ["threshold", ...lines.map((line) => line.name)],
    all.map((at) => [at, ...lines.map((line) => times(line.rows.find((row) => row.params.threshold === at)?.speedup))]));
}
