// What a user gets against what the device gives: a line for each strategy, a point for each load. Up and to the right is
// better, and a strategy whose line lies beyond all others is the one to deploy.

import { sketch } from "../core/become.js";
import { isHidden } from "../core/field.js";
import { isLoaded, loadName, strategiesOf } from "../core/loads.js";
import { runKey } from "../core/picture.js";
import { inLooksOf, line, markAt, plot } from "../core/plot.js";
import { table as made } from "../core/tables.js";
import { grouped } from "../core/words.js";

export const on = { "comparison-load": 1 };
export const term = "Pareto front";
export const isWide = true;
export const title = "Tokens per second: of a user, and of the device";

/** Name the points that no other point beats in both. */
export function sentence({ everyRow: rows }) {
  const found = rows.filter(isPlaced);
  if (!isLoaded(rows) || !found.length) return "";
  const best = frontOf(found).map((row) => `${row.settings} (${loadName(row)}) ${speed(row.tokens_per_s_user)} per user and ${speed(row.tokens_per_s_device)} on the device`);
  return `No other point has both more tokens/s for a user and more on the device: ${best.join("; ")}.`;
}

export const table = ({ everyRow: rows }) => made(["run", "load", "tokens/s of a user", "tokens/s of the device", "on the front"],
  rows.filter(isPlaced).map((row) => [row.name, loadName(row), speed(row.tokens_per_s_user), speed(row.tokens_per_s_device),
    row.role === "bound" ? "not ranked" : frontOf(rows.filter(isPlaced)).includes(row) ? "yes" : "no"]));

export const legend = ({ everyRow: rows }) => [...strategiesOf(rows).map(runKey), " The number at a point is its load."];

export function draw(picture, { everyRow: rows }) {
  const found = rows.filter(isPlaced), kinds = ["concurrency", "rate"];
  const most = (name) => Math.max(...found.map((row) => row[name])) * 1.1;
  const lines = strategiesOf(found).flatMap((series) => kinds.map((kind) => ({ ...series, points: found
    .filter((row) => row.settings === series.name && row[kind]).sort((a, b) => a[kind] - b[kind]) })));
  plot(picture, {
    x: { low: 0, high: most("tokens_per_s_user"), label: "tokens/s of a user →", format: grouped },
    y: { low: 0, high: most("tokens_per_s_device"), label: "tokens/s of the device", format: grouped },
    height: 340, right: 24,
    layers: [(scale) => numbers(found.filter((row) => !isHidden(row.settings)), scale)], isCloud: true,
    series: lines.map(({ points, ...of }) => ({ name: of.name, points: points.map(pointOf),
      layer: inLooksOf(of, [line(points.map(place)), ...points.map((row) => markAt(of.strategy, place(row), 6))]) })),
  });
}

const place = (row) => [row.tokens_per_s_user, row.tokens_per_s_device];
const pointOf = (row) => ({ x: row.tokens_per_s_user, y: row.tokens_per_s_device,
  text: `${row.settings}, ${loadName(row)}: ${speed(row.tokens_per_s_user)} a user, ${speed(row.tokens_per_s_device)} the device` });
const isPlaced = (row) => row.sample_count > 0 && row.tokens_per_s_device > 0;
const speed = (value) => (value < 100 ? value.toFixed(1) : grouped(Math.round(value)));

/** The load at each point, where there is room for it. */
function numbers(rows, { x, y }) {
  const taken = [];
  return rows.flatMap((row) => {
    const left = x(row.tokens_per_s_user) + 8, top = y(row.tokens_per_s_device) - 8;
    if (taken.some(([l, t]) => Math.abs(left - l) < 20 && Math.abs(top - t) < 14)) return [];
    taken.push([left, top]);
    return [sketch("text", { x: left, y: top }, row.rate ? `${row.rate}/s` : String(row.concurrency))];
  });
}

/** Rows that nothing beats in both, the most for a user first. Bounds are not ranked. */
export function frontOf(rows) {
  const ranked = rows.filter((row) => row.role !== "bound").sort((a, b) => b.tokens_per_s_user - a.tokens_per_s_user || b.tokens_per_s_device - a.tokens_per_s_device);
  let best = -Infinity;
  return ranked.filter((row) => {
    const isBetter = row.tokens_per_s_device > best;
    best = Math.max(best, row.tokens_per_s_device);
    return isBetter;
  });
}
