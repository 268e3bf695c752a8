// Speed-up against what drafting costs. The server says who stands on the line; here it is only drawn.

import { written } from "../core/axes.js";
import { ticks } from "../core/stats.js";
import { mark, svg } from "../core/svg.js";

const HEIGHT = 320, LEFT = 48, BOTTOM = 44, RIGHT = 24;

export function pareto(place, chart) {
  const { name, title } = chart.cost;
  const runs = chart.runs.filter((run) => has(run.values[name]) && has(run.values.speedup));
  const width = place.clientWidth || 600;
  const most = Math.max(...runs.map((run) => run.values[name]), 0.01) * 1.05;
  const top = Math.max(1.2, ...runs.map((run) => run.high ?? run.values.speedup)) * 1.04;
  const low = Math.min(0.9, ...runs.map((run) => run.low ?? run.values.speedup)) * 0.97;
  const x = (cost) => LEFT + (cost / most) * (width - LEFT - RIGHT);
  const y = (gain) => HEIGHT - BOTTOM - ((gain - low) / (top - low)) * (HEIGHT - BOTTOM - 12);
  const kind = chart.axes.find((axis) => axis.name === name)?.kind;
  const line = runs.filter((run) => run.is_on_line).sort((a, b) => a.values[name] - b.values[name]);
  const picture = svg("svg", { class: "chart", viewBox: `0 0 ${width} ${HEIGHT}`, role: "group", "aria-describedby": "in-words",
    "aria-label": `Speed-up against ${title}` },
    ...ticks(top, 6).filter((value) => value >= low).map((value) => svg("g", {},
      svg("path", { class: value === 1 ? "one" : "rule", d: `M${LEFT},${y(value)}H${width - RIGHT}` }),
      svg("text", { x: LEFT - 8, y: y(value) + 4, "text-anchor": "end" }, `${value}×`))),
    ...ticks(most, Math.max(3, Math.round(width / 140))).map((value) =>
      svg("text", { x: x(value), y: HEIGHT - BOTTOM + 18, "text-anchor": "middle" }, kind === "share" ? written(value, kind) : String(value))),
    svg("text", { class: "name", x: width - RIGHT, y: HEIGHT - 6, "text-anchor": "end" }, `${title} →`),
    svg("path", { class: "front", d: steps(line.map((run) => [x(run.values[name]), y(run.values.speedup)]), width - RIGHT) }),
    ...runs.map((run) => point(run, x(run.values[name]), y)),
    ...labels(line, name, x, y, width));
  picture.style.height = `${HEIGHT}px`;
  place.replaceChildren(picture);
}

const has = (value) => value !== null && value !== undefined;

/** What one gets for a cost is what the best run up to that cost gives: the line goes in steps. */
export function steps(points, end) {
  if (!points.length) return "";
  const [first, ...rest] = points;
  return `M${first.map(fixed)}${rest.map(([x, y]) => `H${fixed(x)}V${fixed(y)}`).join("")}H${fixed(end)}`;
}

const fixed = (value) => Number(value.toFixed(1));

function point(run, x, y) {
  const doubt = has(run.low) ? ` (${run.low.toFixed(2)} to ${run.high.toFixed(2)})` : "";
  return svg("a", { href: run.address, class: `run s-${run.strategy}${run.is_ranked ? "" : " unranked"}${run.is_newest ? "" : " earlier"}`, tabindex: -1 },
    svg("title", {}, `${run.name}: ${run.values.speedup.toFixed(2)}×${doubt}, ${run.comparison}${run.is_noisy ? ", noisy" : ""}`),
    has(run.low) ? svg("path", { class: "interval", d: `M${x},${y(run.low)}V${y(run.high)}` }) : null,
    mark(run.strategy, run.is_on_line ? 7 : 5, x, y(run.values.speedup)));
}

/** Names where there is room for them. */
function labels(line, name, x, y, width) {
  const taken = [];
  const shown = [];
  for (const run of [...line].reverse()) {
    const length = run.name.length * 7, left = x(run.values[name]) + 10, top = y(run.values.speedup) - 8;
    const at = left + length > width ? left - length - 20 : left;
    if (taken.some(([l, r, t]) => at < r && at + length > l && Math.abs(top - t) < 14)) continue;
    taken.push([at, at + length, top]);
    shown.push(svg("text", { class: "name", x: at, y: top }, run.name));
  }
  return shown;
}
