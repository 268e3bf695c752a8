// A simulated speed-up over one setting: what is possible as a band, what was measured as marks on it.

import { sketch } from "../core/become.js";
import { widthOf } from "../core/picture.js";
import { dots, interval, level, line, markAt, plot, speedupAxis, upright } from "../core/plot.js";
import { times, within } from "../core/words.js";

/** Pieces of the line: drawn through where prices were measured, broken where they are extended. Neighbours share a point. */
export function pieces(points) {
  const found = [];
  for (let i = 1; i < points.length; i++) {
    const isExtended = points[i].unmeasured > 0.01;
    const last = found.at(-1);
    if (last?.isExtended === isExtended) last.points.push(points[i]);
    else found.push({ isExtended, points: [points[i - 1], points[i]] });
  }
  return found;
}

/** The runs that lie on the curve: the same strategy, alike but for the setting it is drawn over. */
export function onCurve(answer) {
  const { param } = answer.curve;
  const others = (params) => JSON.stringify(Object.entries(params).filter(([name]) => name !== param).sort());
  return answer.measured.filter((row) => row.strategy === answer.strategy && others(row.params) === others(answer.params));
}

/** Draw the curve of an answer. A click on a value, or Enter, picks it. */
export function curve(picture, answer, onPick) {
  const { param, points } = answer.curve, { bound, params, strategy } = answer, here = onCurve(answer);
  const values = valuesOf(answer.curve), [first, last] = [values[0], values.at(-1)], half = (last - first) / (values.length - 1) / 2 || 1;
  const all = [...points.flatMap(({ low, high }) => [low, high]), ...here.flatMap(({ speedup }) => [speedup.ratio, speedup.low, speedup.high]), bound];
  plot(picture, {
    x: { low: first - half, high: last + half, label: param, link: `${strategy} ${param}`, at: labelled(values, Math.max(4, Math.round(widthOf(picture) / 60))) },
    y: speedupAxis(all),
    levels: bound === null ? [] : [{ at: bound, cls: "bound", label: `oracle ${times(bound)}` }],
    layers: [
      level(1), upright(params[param]), band(points),
      ...pieces(points).map((piece) => line(piece.points.map(({ value, ratio }) => [value, ratio]), piece.isExtended ? "extended" : "")),
      ...here.flatMap((row) => [interval(row.params[param], row.speedup), markAt(row.strategy, [row.params[param], row.speedup.ratio], 6)]),
      dots([{ x: params[param], y: answer.speedup.ratio, r: 9 }], "asked"),
    ],
    series: [{ name: "", points: points.map((point) => ({ x: point.value, y: point.ratio, text: told(point, here.find((row) => row.params[param] === point.value)),
      open: () => onPick(point.value) })) }],
    head: (value) => `${param} ${values.reduce((one, other) => (Math.abs(other - value) < Math.abs(one - value) ? other : one))}`,
    isByColumn: true,
  });
}

/** What is possible at each value. */
const band = (points) => ({ x, y }) => {
  const edge = (list, key) => list.map((point) => `${x(point.value)},${y(point[key])}`);
  return [sketch("path", { class: "band", d: `M${[...edge(points, "high"), ...edge([...points].reverse(), "low")].join("L")}Z` })];
};

/** Tell a point of the curve, and what ran with this value. */
export function told({ ratio, low, high }, ran) {
  const range = times(low) === times(high) ? "" : ` (${within({ low, high })})`;
  return `simulated ${times(ratio)}${range}${ran ? `, measured ${times(ran.speedup.ratio)}` : ""}`;
}

/** All values of the axis, those too whose points are still to come. */
export const valuesOf = ({ points, missing = [] }) => [...points.map((point) => point.value), ...missing].sort((a, b) => a - b);

/** At most so many of the values, evenly: for an axis. */
export function labelled(values, most) {
  const every = Math.ceil(values.length / most);
  return values.filter((_, i) => i % every === 0);
}
