// What a plan predicts: every setting of every strategy, over the parameter that the plan tried most values of.

import { seriesKey } from "../core/picture.js";
import { dots, figures, inLooksOf, level, line, markAt, speedupAxis } from "../core/plot.js";
import { table as made } from "../core/tables.js";
import { times } from "../core/words.js";

export const on = { plan: 1 };
export const term = "predicted";
export const element = "div";
export const isWide = true;
export const title = "Every setting";

export function sentence({ found }) {
  const best = new Map();
  for (const curve of curvesOf(found)) {
    for (const point of curve.points) if (!(best.get(curve.kind)?.y >= point.y)) best.set(curve.kind, { ...point, curve });
  }
  const said = [...best.values()].sort((a, b) => b.y - a.y).map(({ x, y, curve }) => `${curve.name}, ${curve.param} ${x}: ${times(y)}`);
  return said.length ? `The best that is predicted of each strategy: ${said.join("; ")}.` : "";
}

export const table = ({ found }) => made(["setting", "predicted"], curvesOf(found).flatMap(({ name, param, points }) =>
  points.map(({ x, y }) => [`${name}, ${param} ${x}`, times(y)])));

export const legend = ({ found }) => [...curvesOf(found).map(({ strategy, name, cls }) => seriesKey(`line s-${strategy} ${cls}`, name)),
  " Predicted speed-up over autoregressive. The marks are what was measured. Dotted: autoregressive; dashed: a bound."];

export function draw(place, { found }) {
  const curves = curvesOf(found), params = [...new Set(curves.map((curve) => curve.param))];
  const bounds = found.settings.filter((row) => row.role === "bound"), measured = found.settings.filter((row) => row.measured);
  const y = speedupAxis([...bounds.map((row) => row.speedup), ...measured.map((row) => row.measured.ratio),
    ...curves.flatMap((curve) => curve.points.map((point) => point.y))]);
  figures(place, params.map((param) => {
    const here = curves.filter((curve) => curve.param === param), most = Math.max(...here.flatMap((curve) => curve.points.map((point) => point.x)));
    return {
      label: `Predicted speed-up over ${param}`, x: { low: 0, high: most <= 1 ? 1 : most + 0.5, label: param }, y,
      levels: bounds.map((row) => ({ at: row.speedup, cls: `s-${row.strategy} bound`, label: row.strategy })),
      layers: [
        level(1),
        ...measured.filter((row) => here.some((curve) => curve.kind === kindOf(row)))
          .map((row) => markAt(row.strategy, [row.params[param], row.measured.ratio])),
      ],
      series: here.map(({ points, name, cls, ...of }) => ({ name,
        points: points.map((point) => ({ ...point, text: `${times(point.y)} predicted` })),
        layer: inLooksOf(of, [line(points.map((point) => [point.x, point.y]), cls), dots(points.map((point) => ({ ...point, r: 2 })))]) })),
    };
  }));
}

/** The kind of a setting. A document of an earlier version has a strategy for each. */
const kindOf = ({ kind, strategy }) => kind ?? strategy;

/** A curve for each kind with a number that the plan varied, and for each combination of its other parameters. */
function curvesOf({ predictions }) {
  return [...groups(predictions, kindOf)].flatMap(([kind, rows]) => {
    const values = (name) => new Set(rows.map((row) => row.params[name])).size;
    const varied = Object.keys(rows[0].params).filter((name) => values(name) > 1);
    const [param] = varied.filter((name) => rows.every((row) => typeof row.params[name] === "number")).sort((a, b) => values(b) - values(a));
    if (!param) return [];
    const others = (row) => varied.filter((name) => name !== param).map((name) => `, ${name} ${row.params[name]}`).join("");
    return [...groups(rows, others)].map(([other, alike], i) => ({
      strategy: rows[0].strategy, kind, param, name: kind + other, cls: i || kind !== rows[0].strategy ? "broken" : "",
      points: alike.map((row) => ({ x: row.params[param], y: row.speedup })).sort((a, b) => a.x - b.x),
    }));
  });
}

function groups(rows, nameOf) {
  const found = new Map();
  for (const row of rows) found.set(nameOf(row), [...(found.get(nameOf(row)) ?? []), row]);
  return found;
}
