// What a plan at load found: the best setting of each strategy for each number of users, predicted and measured.

import { at, loadAxis } from "../core/loads.js";
import { runKey } from "../core/picture.js";
import { aside, inLooksOf, interval, level, line, markAt, plot, speedupAxis } from "../core/plot.js";
import { table as made } from "../core/tables.js";
import { times, within } from "../core/words.js";

export const on = { plan: 2 };
export const isWide = true;
export const title = () => ["Speed-up by users at once", "over autoregressive at the same load"];

export const sentence = ({ found }) => (found.at_load ? `${bestOf(found.at_load).join("; ")}.` : "");

export const table = ({ found: { at_load: { rows } } }) => made(["users at once", "setting", "predicted", "measured", "95 % interval"],
  rows.filter(isDrawn).map((row) => [row.users, row.label, times(row.speedup), row.measured ? times(row.measured.ratio) : "not run",
    row.measured ? within(row.measured, "–") : "–"]));

export const legend = ({ found: { at_load: { rows } } }) => [...seriesOf(rows).map(runKey),
  " Marks and their lines are measured, with 95 % intervals; dashed lines are predicted. Each point is the strategy's best setting at that load."];

export function draw(picture, { found: { at_load: { rows } } }) {
  const shown = rows.filter(isDrawn), all = seriesOf(rows);
  const x = loadAxis(shown.map(({ users }) => ({ concurrency: users })), "concurrency");
  plot(picture, {
    x, height: 280, right: 24, layers: [level(1, "whole soft")],
    y: speedupAxis(shown.flatMap(({ speedup, measured }) => [speedup, measured?.low ?? speedup, measured?.high ?? measured?.ratio ?? speedup])),
    series: all.map((series, n) => ({ name: series.name, points: series.rows.map(pointOf), layer: drawn(series, aside(n, all)) })),
  });
}

/** Name the fastest measured setting of each load. Only an interval above 1 shows a gain. */
function bestOf({ users, rows }) {
  return users.map((count) => {
    const ran = rows.filter((row) => row.users === count && isDrawn(row) && row.measured).sort((a, b) => b.measured.ratio - a.measured.ratio);
    if (!ran.length) return `${named(count)}: nothing ran`;
    const [{ label, measured }] = ran, sure = measured.low === null ? ", too few prompts for an interval" : measured.low > 1 ? "" : ", not shown to be a gain";
    return `${named(count)}: ${label} with ${times(measured.ratio)}${sure}`;
  });
}

const DASHES = ["", "dash-2nd", "dash-3rd", "dash-4th"]; // kinds of one strategy share its colour
const named = (users) => (users === 1 ? "1 user" : `${users} users`);

const isDrawn = (row) => row.role !== "baseline";

function seriesOf(rows) {
  const found = new Map();
  for (const row of rows.filter(isDrawn)) {
    const name = row.kind ?? row.strategy; // a document of an earlier version has a strategy for each kind
    const before = [...found.values()].filter(({ strategy }) => strategy === row.strategy).length;
    if (!found.has(name)) found.set(name, { strategy: row.strategy, dash: DASHES[before % DASHES.length], name, rows: [] });
    found.get(name).rows.push(row);
  }
  return [...found.values()];
}

const pointOf = ({ users, label, speedup, measured }) => ({ x: at(users), y: measured?.ratio ?? speedup,
  text: measured ? `${label}: ${times(measured.ratio)}, ${times(speedup)} predicted` : `${label}: ${times(speedup)} predicted` });

function drawn({ rows, ...of }, beside) {
  const ran = rows.filter(({ measured }) => measured);
  return inLooksOf(of, [
    line(rows.map((row) => [at(row.users), row.speedup]), "broken"), line(ran.map((row) => [at(row.users), row.measured.ratio])),
    ...ran.map((row) => interval(at(row.users), row.measured)), ...ran.map((row) => markAt(of.strategy, [at(row.users), row.measured.ratio], 5)),
  ], { aside: beside });
}
