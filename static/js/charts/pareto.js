// Speed-up against what drafting costs. The server says which runs stand on the line.

import { written } from "../core/axes.js";
import { sketch } from "../core/become.js";
import { interval, level, markAt, plot, speedupAxis } from "../core/plot.js";
import { table as made } from "../core/tables.js";
import { times } from "../core/words.js";

export const on = { runs: 2 };
export const term = "Pareto front";
export const role = "group";
export const title = "Speed-up against the cost of drafting";

export const sentence = ({ in_words: words }) => words;

export function table({ chart }) {
  const { name, title: cost } = chart.cost, { kind } = costAxis(chart);
  return made(["run", "comparison", cost, "speed-up", "on the line"], placed(chart).map((run) => [
    sketch("a", { href: run.address }, run.name), run.comparison, written(run.values[name], kind), times(run.values.speedup),
    run.is_on_line ? "yes" : run.is_ranked ? "no" : "not ranked",
  ]));
}

export const legend = () => ["Bars are 95 % intervals. The line joins the runs that no other run beats on both axes. " +
  "It uses the last measurement of each strategy; earlier ones are faint. Hollow marks are not ranked."];

export function draw(picture, { chart }) {
  const { name, title: cost } = chart.cost, { kind } = costAxis(chart), runs = placed(chart);
  const at = (run) => [run.values[name], run.values.speedup];
  const line = runs.filter((run) => run.is_on_line).sort((a, b) => a.values[name] - b.values[name]);
  plot(picture, {
    x: { low: 0, high: Math.max(...runs.map((run) => run.values[name]), 0.01) * 1.05, label: `${cost} →`,
      format: (value) => (kind === "share" ? written(value, kind) : String(value)) },
    y: speedupAxis(runs.flatMap((run) => [run.low ?? run.values.speedup, run.high ?? run.values.speedup]), ""),
    height: 320, right: 24,
    layers: [
      level(1),
      ({ x, y, right }) => [sketch("path", { class: "front", d: steps(line.map((run) => [x(run.values[name]), y(run.values.speedup)]), right) })],
      ...runs.map((run) => (scale) => [sketch("a", { href: run.address, tabindex: -1, "aria-label": wordsOf(run),
        class: `run s-${run.strategy}${run.is_ranked ? "" : " unranked"}${run.is_newest ? "" : " earlier"}` },
        ...interval(run.values[name], run)(scale), ...markAt(run.strategy, at(run), run.is_on_line ? 7 : 5)(scale))]),
      (scale) => labels(line, at, scale),
    ],
    isCloud: true,
    series: [{ name: "", points: runs.map((run) => ({ x: run.values[name], y: run.values.speedup, open: run.address,
      text: wordsOf(run) })) }],
  });
}

const placed = ({ runs, cost }) => runs.filter((run) => has(run.values[cost.name]) && has(run.values.speedup));
const costAxis = ({ axes, cost }) => axes.find((axis) => axis.name === cost.name) ?? {};
const has = (value) => value !== null && value !== undefined;
const doubt = (run) => (has(run.low) ? ` (${run.low.toFixed(2)} to ${run.high.toFixed(2)})` : "");

const wordsOf = (run) => `${run.name}: ${times(run.values.speedup)}${doubt(run)}, ${run.comparison}${run.is_noisy ? ", noisy" : ""}`;

/** What one gets for a cost is what the best run up to that cost gives: the line goes in steps. */
export function steps(points, end) {
  if (!points.length) return "";
  const [first, ...rest] = points;
  return `M${first.map(fixed)}${rest.map(([x, y]) => `H${fixed(x)}V${fixed(y)}`).join("")}H${fixed(end)}`;
}

const fixed = (value) => Number(value.toFixed(1));

/** Names where there is room for them. */
function labels(line, at, { x, y, right }) {
  const taken = [], shown = [];
  for (const run of [...line].reverse()) {
    const [cost, gain] = at(run), length = run.name.length * 7, left = x(cost) + 10, top = y(gain) - 8;
    const from = left + length > right ? left - length - 20 : left;
    if (taken.some(([l, r, t]) => from < r && from + length > l && Math.abs(top - t) < 14)) continue;
    taken.push([from, from + length, top]);
    shown.push(sketch("text", { class: "name", x: from, y: top }, run.name));
  }
  return shown;
}
