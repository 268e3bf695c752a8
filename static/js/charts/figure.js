// One figure of a paper: published points hollow and dashed, ours filled, with their intervals.

import { sketch } from "../core/become.js";
import { key } from "../core/picture.js";
import { interval, line, plot } from "../core/plot.js";
import { table as made } from "../core/tables.js";
import { percent } from "../core/words.js";

export const on = { figure: 1 };
export const title = ({ figure }) => [`${figure.number}: ${figure.title}`];
export const sentence = ({ figure }) => figure.why;

export const table = ({ figure }) => made(["series", "how", figure.x.label || "of", figure.y.label, "95 % interval", "read"],
  figure.series.flatMap((series) => series.points.map((point) => [series.name, series.origin, point.label || across(figure, point.x),
    written(figure.y, point.y), point.low === null ? null : `${written(figure.y, point.low)} – ${written(figure.y, point.high)}`,
    series.grade ? `${series.source} [${series.grade}]` : null])));

export const legend = ({ figure }) => figure.series.map((series, i) =>
  key(`${isLine(figure, series) ? "line" : "spot"} ${look(figure, i)}`, `${series.name} (${series.origin})`));

/** Whether a line tells it apart: published series differ by their dots, and points of names have no line. */
const isLine = (figure, series) => series.is_line && series.origin !== "published" && !figure.x.names.length;

export function draw(picture, { figure }) {
  if (figure.x.names.length) return inRows(picture, figure);
  const points = figure.series.flatMap((series) => series.points), x = scaled(figure.x), y = scaled(figure.y, lowest(points)), taken = [];
  plot(picture, {
    x: { ...reach(points.map((point) => x.of(point.x)), 0.03), label: figure.x.label, at: x.marks(points.map((point) => point.x)), format: x.format },
    y: { ...tall(figure, points, y), label: figure.y.label, format: y.format, ...(figure.y.log ? { at: decades(points).map(y.of) } : {}) },
    height: 300,
    layers: [() => { taken.length = 0; return []; }, ...figure.series.map((series, i) => layer(series, look(figure, i), x, y, figure, taken))],
  });
}

/** Points of names stand in rows, so that names have room on a phone. */
function inRows(picture, figure) {
  const names = figure.x.names, points = figure.series.flatMap((series) => series.points), count = figure.series.length;
  const high = Math.max(...ends(points)) * 1.08;
  plot(picture, {
    x: { low: Math.min(0, ...ends(points)), high, label: figure.y.label, format: (value) => written(figure.y, value) },
    y: { low: names.length - 0.4, high: -0.7, at: [] },
    height: names.length * (30 + 7 * count) + 48,
    layers: [
      ({ y, left, right }) => names.map((name, row) => sketch("g", {},
        sketch("path", { class: "rule", d: `M${left},${y(row)}H${right}` }),
        sketch("text", { class: "name", x: left, y: y(row) - 6 - 3.5 * count }, name))),
      ...figure.series.map((series, i) => ({ x, y }) => [sketch("g", { class: look(figure, i) }, ...series.points.flatMap((point) => {
        const down = y(point.x) + 7 * (i - (count - 1) / 2);
        return [point.low === null ? null : sketch("path", { class: "interval", d: `M${x(point.low)},${down}H${x(point.high)}` }),
          dot(x(point.y), down, told(figure, series, point), look(figure, i))];
      }))]),
    ],
  });
}

function layer(series, cls, x, y, figure, taken) {
  const points = series.points.filter((point) => !figure.y.log || point.y > 0);
  return (scale) => [sketch("g", { class: cls },
    ...(series.is_line ? line(points.map((point) => [x.of(point.x), y.of(point.y)]))(scale) : []),
    ...points.flatMap((point) => interval(x.of(point.x), { low: point.low === null ? null : y.of(point.low), high: y.of(point.high ?? point.y) })(scale)),
    ...points.map((point) => dot(scale.x(x.of(point.x)), scale.y(y.of(point.y)), told(figure, series, point), cls)),
    ...labels(series, scale, x, y, taken))];
}

/** Labels of a line where there is room: none leaves the picture or hides another. */
function labels(series, scale, x, y, taken) {
  const all = labelled(series).map((point) => {
    const at = scale.x(x.of(point.x)), isRight = at > scale.right - 60, down = scale.y(y.of(point.y)) + (isRight ? 14 : -6), width = 7 * point.label.length;
    const from = isRight ? at - 6 - width : at + 6;
    return { point, down, from, to: from + width, x: isRight ? at - 6 : at + 6, "text-anchor": isRight ? "end" : "start" };
  });
  const free = all.filter((one) => taken.every((other) => Math.abs(one.down - other.down) > 12 || one.from > other.to || other.from > one.to));
  taken.push(...free);
  return free.map((one) => sketch("text", { class: "name", x: one.x, y: one.down, "text-anchor": one["text-anchor"] }, one.point.label));
}

const LABEL = 16; // letters beside a point

/** The ends of a line whose points stand for something that neither axis says, such as a batch size. */
export function labelled({ is_line, points }) {
  const isShort = points.every(({ label }) => label && label.length <= LABEL);
  return is_line && isShort && points.length ? [...new Set([points[0], points.at(-1)])] : [];
}

/** Outlines of published dots by their place, around their middle: the series share a colour. */
const SHAPES = { d1: "M-3.2-3.2h6.4v6.4h-6.4Z", d2: "M0-4.2L4 3.2H-4Z", d3: "M0-4.6L4.6 0L0 4.6L-4.6 0Z",
  d4: "M0 4.2L-4-3.2H4Z", d5: "M-4.2 0L3.2-4V4Z" };

function dot(x, y, words, cls) {
  const shape = SHAPES[cls.split(" ")[1]], said = sketch("title", {}, words), at = [x.toFixed(1), y.toFixed(1)];
  return shape ? sketch("path", { class: "dot-mark", transform: `translate(${at})`, d: shape }, said)
    : sketch("circle", { class: "dot-mark", cx: at[0], cy: at[1], r: 3.5 }, said);
}

const told = (figure, series, point) => `${series.name}, ${point.label || across(figure, point.x)}: ${written(figure.y, point.y)}`;

const across = (figure, x) => figure.x.names[x] ?? written(figure.x, x);

/** Colours of ours in turn; published series share one and differ by their dashes. */
export function look({ series }, number) {
  const isPublished = series[number].origin === "published";
  const place = series.slice(0, number).filter((each) => (each.origin === "published") === isPublished).length;
  return isPublished ? `published d${place % 6}` : `ours f${place % 6}`;
}

/** A value as its axis writes it. */
export function written({ format }, value) {
  if (format === "share") return value && value < 0.1 ? `${(100 * value).toPrecision(2)} %` : percent(value);
  return format === "times" ? `${Number(value.toPrecision(3))}×` : String(Number(value.toPrecision(3)));
}

const ends = (points) => points.flatMap((point) => [point.y, point.low, point.high]).filter((value) => value !== null);

const lowest = (points) => Math.min(...points.map((point) => point.y).filter((value) => value > 0)) / 1.3;

/** An axis that may be logarithmic: where a value lies on it, its marks, and how they are written. */
function scaled(axis, least = 0) {
  if (!axis.log) return { of: (value) => value, marks: () => undefined, format: (value) => written(axis, value) };
  return {
    of: (value) => Math.log2(Math.max(value, least)),
    marks: (values) => thinned([...new Set(values.filter((value) => value > 0))].sort((a, b) => a - b)).map(Math.log2),
    format: (value) => written(axis, 2 ** value),
  };
}

const MARKS = 7;

/** Few of many values, each at least half as large again as the last. */
function thinned(values) {
  const apart = values.filter((value, i, all) => !i || value >= 1.5 * all[0] * 1.5 ** Math.floor(Math.log(all[i - 1] / all[0]) / Math.log(1.5)));
  const step = Math.ceil(apart.length / MARKS);
  return apart.filter((_, i) => i % step === 0);
}

/** 1, 2 and 5 of each power of ten between the points. */
function decades(points) {
  const low = lowest(points), high = Math.max(...ends(points)), found = [];
  for (let power = 10 ** Math.floor(Math.log10(low)); power <= high; power *= 10) found.push(power, 2 * power, 5 * power);
  const within = found.filter((value) => value >= low && value <= high);
  return within.length > MARKS ? within.filter((value) => Math.abs(Math.log10(value) - Math.round(Math.log10(value))) < 0.01) : within;
}

function reach(values, pad) {
  const low = Math.min(...values), high = Math.max(...values), more = pad * (high - low || 1);
  return { low: low - more, high: high + more };
}

function tall(figure, points, y) {
  const values = (figure.y.log ? points.flatMap((point) => [point.y, point.high ?? point.y]).filter((value) => value > 0) : ends(points)).map(y.of);
  return figure.y.log ? reach(values, 0.05) : { low: Math.min(0, ...values), high: Math.max(...values) * 1.06 || 1 };
}
