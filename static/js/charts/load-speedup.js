// Speed-up by load: a line for each strategy with its intervals, and where it stops being a gain.

import { sketch } from "../core/become.js";
import { isHidden } from "../core/field.js";
import { at, AXES, isLoaded, kindsOf, loadAxis, loadName, seriesOf, strategiesOf } from "../core/loads.js";
import { runKey } from "../core/picture.js";
import { aside, figures, inLooksOf, interval, level, line, markAt, speedupAxis } from "../core/plot.js";
import { table as made } from "../core/tables.js";
import { times, within } from "../core/words.js";

export const on = { "comparison-load": 2 };
export const term = "load";
export const element = "div";
export const isWide = true;
export const title = ({ baselineSettings }) => ["Speed-up by load", `over ${baselineSettings} at the same load`];

export function sentence({ everyRow: rows, report }) {
  if (!isLoaded(rows)) return "";
  const said = report.crossovers.map((one) => `${one.name} ${crossing(one)}`);
  return said.length ? `${said.join("; ")}.` : ""; // of a single load there is no line
}

/** Tell between which loads a strategy stops being a gain, as far as the intervals say. */
export function crossing({ axis, gain_until: gain, loss_from: loss }) {
  const named = (value) => loadName({ [axis]: value });
  if (gain && loss) return `is shown to be a gain up to ${named(gain)} and a loss from ${named(loss)} on`;
  if (gain) return `is shown to be a gain up to ${named(gain)}, and a loss at no load`;
  return loss ? `is shown to be a loss from ${named(loss)} on, and a gain at no load` : "is not shown to be a gain or a loss at any load";
}

export const table = ({ everyRow: rows }) => made(["run", "load", "speed-up", "95 % interval"], rows.filter(isShown).map((row) =>
  [row.name, loadName(row), times(row.speedup.ratio), within(row.speedup)]));

export const legend = ({ everyRow: rows }) => [...strategiesOf(rows.filter(isShown)).map(runKey),
  " Bars are 95 % intervals that hold for all strategies and loads at once. A dotted vertical line marks the load where the speed-up falls below 1."];

export function draw(place, { everyRow: rows, report }) {
  const shown = rows.filter(isShown), y = speedupAxis(shown.flatMap(({ speedup }) => [speedup.low ?? speedup.ratio, speedup.high ?? speedup.ratio]));
  figures(place, kindsOf(shown).map((kind) => ({
    label: `Speed-up, by ${AXES[kind]}`, x: loadAxis(shown, kind), y, height: 280, right: 24,
    layers: [
      level(1, "whole soft"),
      ...report.crossovers.filter((one) => one.axis === kind && one.at && !isHidden(one.name)).map((one, n) => crossed(one, shown, n)),
    ],
    series: seriesOf(shown, kind).map((series, n, all) => ({ name: series.name, points: series.rows.map((row) => pointOf(row, kind)),
      layer: drawn(series, kind, aside(n, all)) })),
  })));
}

const pointOf = (row, kind) => ({ x: at(row[kind]), y: row.speedup.ratio,
  text: times(row.speedup.ratio) + (row.speedup.low === null ? "" : ` (${within(row.speedup)})`) });

const isShown = (row) => Boolean(row.speedup) && !row.isBaseline;

/** Where a strategy's line falls through 1. Names stand below each other, since crossovers lie close together. */
function crossed(one, rows, n) {
  const { strategy } = rows.find((row) => row.settings === one.name) ?? {};
  return ({ x, top, bottom, right }) => {
    const left = x(at(one.at)), isNearEdge = left > right - 120;
    return [sketch("g", { class: `s-${strategy} crossover` },
      sketch("path", { class: "level", d: `M${left},${top}V${bottom}` }),
      sketch("text", { x: left + (isNearEdge ? -4 : 4), y: top + 10 + 14 * n, "text-anchor": isNearEdge ? "end" : "start" }, `${one.name}: ${one.at.toFixed(1)}`),
      sketch("title", {}, `${one.name}: 1× at ${one.at.toFixed(1)} ${AXES[one.axis]}`))];
  };
}

const drawn = ({ rows, role, ...of }, kind, beside) => inLooksOf(of, [
  line(rows.map((row) => [at(row[kind]), row.speedup.ratio])),
  ...rows.map((row) => interval(at(row[kind]), row.speedup)),
  ...rows.map((row) => markAt(of.strategy, [at(row[kind]), row.speedup.ratio], 5)),
], { aside: beside, cls: role === "bound" ? "unranked" : "" });
