// A simulated speed-up over one setting: what is possible as a band, what was measured as marks on it.

import { become, sketch } from "../core/become.js";
import { mark, size, widthOf } from "../core/picture.js";
import { ticks } from "../core/stats.js";

const HEIGHT = 240, LEFT = 44, RIGHT = 16, TOP = 12, BOTTOM = 36;

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

/** Speed-ups that the picture must hold. */
export function range(answer, here) {
  const all = [1, answer.bound ?? 1, ...answer.curve.points.flatMap((point) => [point.low, point.high]),
    ...here.flatMap((row) => [row.speedup.low ?? row.speedup.median, row.speedup.high ?? row.speedup.median])];
  return [Math.floor(Math.min(...all) * 10) / 10, Math.max(...all) * 1.04];
}

/** The runs that lie on the curve: the same strategy, alike but for the setting it is drawn over. */
export function onCurve(answer) {
  const { param } = answer.curve;
  const others = (params) => JSON.stringify(Object.entries(params).filter(([name]) => name !== param).sort());
  return answer.measured.filter((row) => row.strategy === answer.strategy && others(row.params) === others(answer.params));
}

export function curve(picture, answer) {
  const { param, points } = answer.curve, here = onCurve(answer);
  const width = widthOf(picture), [least, most] = range(answer, here);
  const values = valuesOf(answer.curve), [first, last] = [values[0], values.at(-1)];
  const x = (value) => LEFT + 12 + ((value - first) / (last - first)) * (width - LEFT - RIGHT - 24);
  const y = (ratio) => HEIGHT - BOTTOM - ((ratio - least) / (most - least)) * (HEIGHT - BOTTOM - TOP);
  const at = answer.params[param], step = (x(last) - x(first)) / (values.length - 1);
  const dots = (list, key) => list.map((point) => `${x(point.value).toFixed(1)},${y(point[key]).toFixed(1)}`);
  size(picture, width, HEIGHT);
  become(picture,
    ...ticks(most, 5).filter((ratio) => ratio >= least && ratio !== 1).map((ratio) => grid(ratio, "rule", y, width)),
    grid(1, "one", y, width),
    ...(answer.bound === null ? [] : bound(answer.bound, y, width)),
    sketch("path", { class: "here", d: `M${x(at)},${TOP}V${HEIGHT - BOTTOM}` }),
    sketch("path", { class: "band", d: `M${[...dots(points, "high"), ...dots([...points].reverse(), "low")].join("L")}Z` }),
    ...pieces(points).map((piece) =>
      sketch("path", { class: piece.isExtended ? "line extended" : "line", d: `M${dots(piece.points, "median").join("L")}` })),
    ...here.map((row) => measuredMark(row, x(row.params[param]), y)),
    sketch("circle", { class: "asked", cx: x(at), cy: y(answer.speedup.median), r: 6 }),
    ...labelled(values, Math.max(4, Math.round(width / 60))).map((value) =>
      sketch("text", { x: x(value), y: HEIGHT - BOTTOM + 16, "text-anchor": "middle" }, String(value))),
    sketch("text", { x: (LEFT + width) / 2, y: HEIGHT - 2, "text-anchor": "middle" }, param),
    ...values.map((value) => sketch("rect", { class: "hit", "data-value": value, x: x(value) - step / 2, y: 0, width: step, height: HEIGHT })),
  );
}

/** All values of the axis, those too whose points are still to come. */
export const valuesOf = ({ points, missing = [] }) => [...points.map((point) => point.value), ...missing].sort((a, b) => a - b);

const bound = (ratio, y, width) => [
  sketch("path", { class: "bound", d: `M${LEFT},${y(ratio)}H${width}` }),
  sketch("text", { x: width, y: y(ratio) - 5, "text-anchor": "end" }, `oracle ${ratio.toFixed(2)}×`),
];

/** At most so many of the values, evenly: for an axis. */
export function labelled(values, most) {
  const every = Math.ceil(values.length / most);
  return values.filter((_, i) => i % every === 0);
}

const grid = (ratio, kind, y, width) => sketch("g", {},
  sketch("path", { class: kind, d: `M${LEFT},${y(ratio)}H${width}` }),
  sketch("text", { x: LEFT - 8, y: y(ratio) + 4, "text-anchor": "end" }, `${ratio}×`));

function measuredMark(row, x, y) {
  const { median, low, high } = row.speedup;
  return sketch("g", {}, sketch("title", {}, `${row.name}, measured: ${median.toFixed(2)}×`),
    low != null ? sketch("path", { class: "interval", d: `M${x},${y(low)}V${y(high)}` }) : null,
    mark(row.strategy, 6, x, y(median)));
}

/** The simulated speed-up as an open bar over the measured one as a full bar, each with its interval. */
export function bars(picture, answer, other) {
  const width = widthOf(picture), label = Math.min(132, 0.4 * width), row = 34;
  const lines = [{ ...answer, kind: "simulated" }, ...(other ? [{ ...other, kind: "measured" }] : [])];
  const most = Math.max(1, ...lines.map((line) => line.speedup.high ?? line.speedup.median)) * 1.02;
  const x = (ratio) => label + (ratio / most) * Math.max(1, width - label - 52);
  size(picture, width, 2 * row);
  become(picture, ...lines.map((line, i) => bar(line, x, i * row, width)),
    sketch("path", { class: "one", d: `M${x(1)},0V${lines.length * row}` }));
}

function bar(line, x, y, width) {
  const { median, low, high } = line.speedup;
  return sketch("g", { class: `${line.kind} s-${line.strategy}` },
    sketch("text", { class: "name", x: 0, y: y + 12 }, line.name ?? line.label),
    sketch("text", { x: 0, y: y + 26 }, line.kind),
    sketch("rect", { class: "bar", x: x(0), y: y + 4, width: x(median) - x(0), height: 20 }),
    low != null ? sketch("path", { class: "interval", d: `M${x(low)},${y + 14}H${x(high)}` }) : null,
    sketch("text", { class: "name", x: width, y: y + 18, "text-anchor": "end" }, `${median.toFixed(2)}×`));
}
