// Plots: layers on two plain axes. A layer is a function from scales to sketches; the common ones stand below.

import { become, sketch } from "./become.js";
import { isHidden, layField, shownOf } from "./field.js";
import { LETTER, mark, roomFor, size, widthOf } from "./picture.js";
import { ticks } from "./stats.js";

const LEFT = 48; // at least: numbers that are long need more

/**
 * Draw a plot at the width that the picture has. What readers ask for are its `series`: each has a name, points, and a layer
 * that is not drawn while the series is hidden (core/field.js). `levels` are lines across; their labels stand behind them,
 * where no mark can be. With `rows`, names stand at the left in place of an axis, and y counts them.
 *
 * @param {SVGElement} picture
 * @param {{x: Axis, y?: Axis, rows?: string[], levels?: {at: number, cls: string, label: string}[], layers?: (Layer | null)[],
 *   series?: (Series & {layer?: Layer})[], isCloud?: boolean, isByColumn?: boolean, head?: (value: number) => string, height?: number,
 *   right?: number}} plot
 * @typedef {{low: number, high: number, label?: string, format?: (value: number) => string, at?: number[], also?: number[], isWhole?: boolean,
 *   hasRules?: boolean, link?: string}} Axis
 * @typedef {(scale: {x: (value: number) => number, y: (value: number) => number, left: number, right: number,
 *   top: number, bottom: number}) => any[]} Layer
 */
export function plot(picture, { x: whole, rows, y = overRows(rows), levels = [], layers = [], series = [], isCloud, isByColumn, head, height = 240, right = 12 }) {
  const width = widthOf(picture), x = shownOf(picture, whole), room = levels.length ? roomFor(levels.map(({ label }) => label), width) : right;
  const left = rows ? roomFor(rows, width) : Math.max(LEFT, 12 + LETTER * Math.max(0, ...marksOf(y, 4).map((value) => written(y, value).length)));
  const edge = { left, right: width - room, top: rows ? 0 : y.label ? 28 : 12, bottom: height - (x.label ? 42 : 24) };
  const scale = {
    ...edge,
    x: (value) => edge.left + ((value - x.low) / (x.high - x.low)) * (edge.right - edge.left),
    y: (value) => edge.bottom - ((value - y.low) / (y.high - y.low)) * (edge.bottom - edge.top),
  };
  size(picture, width, height);
  become(picture,
    ...marksOf(y, 4).map((value) => sketch("g", {},
      sketch("path", { class: "rule", d: `M${edge.left},${scale.y(value)}H${edge.right}` }),
      sketch("text", { x: edge.left - 8, y: scale.y(value) + 4, "text-anchor": "end" }, written(y, value)))),
    ...(rows ?? []).map((name, i) => sketch("text", { class: "name", x: 0, y: scale.y(i) + 4 }, name)),
    sketch("g", {}, ...marksOf(x, Math.max(2, Math.round(width / 90))).flatMap((value) => [
      x.hasRules ? sketch("path", { class: "rule", d: `M${scale.x(value)},${edge.top}V${edge.bottom}` }) : null,
      sketch("text", { x: scale.x(value), y: edge.bottom + 18, "text-anchor": "middle" }, written(x, value))])),
    x.label ? sketch("text", { x: (edge.left + edge.right) / 2, y: height - 6, "text-anchor": "middle" }, x.label) : null,
    y.label ? sketch("text", { x: 0, y: 10 }, y.label) : null,
    ...across(levels, scale),
    ...inside(picture, x.isZoomed, edge, [...layers, ...series.filter(({ name }) => !isHidden(name)).map(({ layer }) => layer)]
      .filter(Boolean).flatMap((layer) => layer(scale))),
    layField(picture, { axis: x, scale, isCloud, isByColumn, head: head ?? headOf(whole), series: series.map((one) => read(one, y)) }));
}

const overRows = ({ length }) => ({ low: length - 0.5, high: -0.5, at: [] }); // names stand there

/** Layers as they are; of a part of the axis, what lies within the edges. */
function inside(picture, isZoomed, { left, right, top, bottom }, drawn) {
  if (!isZoomed) return drawn;
  if (!clips.has(picture)) clips.set(picture, `clip-${++clipped}`);
  const id = clips.get(picture);
  return [sketch("clipPath", { id }, sketch("rect", { x: left - 8, y: top - 8, width: right - left + 16, height: bottom - top + 16 })),
    sketch("g", { "clip-path": `url(#${id})` }, ...drawn)];
}

const clips = new WeakMap(); // picture → the id of its clip
let clipped = 0;

/** A series whose points are made once somebody asks: a live page draws thousands of points that nobody reads. */
function read({ name, points }, y) {
  let made = null;
  return { name, get points() { return (made ??= points.map((one) => pointOf(one, y))); } };
}

/** A point reads as its axis writes it, unless it has words of its own. */
function pointOf(one, y) {
  const found = Array.isArray(one) ? { x: one[0], y: one[1] } : one;
  return { text: y.format ? written(y, Number(found.y.toPrecision(4))) : undefined, ...found };
}

const headOf = (axis) => (value) => {
  const number = Number(value.toPrecision(4));
  const said = axis.format ? axis.format(axis.at ? closest(axis.at, value) : number) : String(axis.isWhole ? Math.round(value) : number);
  return axis.label && !axis.format ? `${axis.label} ${said}` : said;
};

const closest = (values, value) => values.reduce((one, other) => (Math.abs(other - value) < Math.abs(one - value) ? other : one));

/** Round values inside an axis, and those that it names also; or only those that it names. */
function marksOf(axis, count) {
  if (axis.at) return axis.at;
  const step = Math.max(axis.isWhole ? 1 : 0, ticks(axis.high - axis.low, count)[1] ?? axis.high - axis.low);
  const first = Math.ceil(axis.low / step - 1e-9);
  const found = Array.from({ length: Math.floor(axis.high / step + 1e-9) - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
  return [...new Set([...found, ...(axis.also ?? []).filter((value) => value >= axis.low && value <= axis.high)])];
}

const written = (axis, value) => (axis.format ? axis.format(value) : String(value));
const to = (value) => Number(value.toFixed(1));

/** A line through points. */
export const line = (points, cls = "") => ({ x, y }) =>
  [sketch("path", { class: `line ${cls}`, d: points.length ? `M${points.map(([px, py]) => `${to(x(px))},${to(y(py))}`).join("L")}` : null })];

/** One value from each whole number to the next; null leaves a gap. */
export const steps = (values, cls = "") => ({ x, y }) => {
  const isGap = (i) => (values[i] ?? null) === null;
  const parts = values.map((value, i) => (isGap(i) ? "" : `${isGap(i - 1) ? "M" : "L"}${to(x(i))},${to(y(value))}H${to(x(i + 1))}`));
  return [sketch("path", { class: `line ${cls}`, d: parts.join("") })];
};

/** A bar around each whole number. */
export const bars = (values, cls) => ({ x, y }) => values.map((value, i) => {
  const left = x(i - 0.5), width = x(i + 0.5) - left, gap = Math.min(2, width / 5);
  return sketch("rect", { class: `bar ${cls}`, x: left + gap / 2, width: Math.max(0.5, width - gap), y: y(value), height: Math.max(0, y(0) - y(value)) });
});

/** A dot for each point `{x, y, r}`. */
export const dots = (points, cls = "") => ({ x, y }) => points.map((point) =>
  sketch("circle", { class: `dot-mark ${cls}`, cx: x(point.x), cy: y(point.y), r: point.r ?? 3 }));

/** A line across, at a value of y. */
export const level = (at, cls = "soft") => ({ y, left, right }) => [sketch("path", { class: `level ${cls}`, d: `M${left},${y(at)}H${right}` })];

/** Lines across, each with its label behind it. Labels that would cover each other stand one above the other. */
function across(levels, scale) {
  const heights = apart(levels.map(({ at }) => scale.y(at) + 4), 13);
  return levels.flatMap(({ at, cls, label }, i) => [...level(at, cls)(scale), sketch("text", { class: "name", x: scale.right + 10, y: heights[i] }, label)]);
}

/** Move heights up until any two are `gap` pixels apart; the lowest stays. */
export function apart(heights, gap) {
  const moved = [...heights];
  let free = Infinity;
  for (const i of [...heights.keys()].sort((one, other) => heights[other] - heights[one])) {
    moved[i] = Math.min(heights[i], free);
    free = moved[i] - gap;
  }
  return moved;
}

/** A line upwards, at a value of x. */
export const upright = (at, cls = "soft") => ({ x, top, bottom }) => [sketch("path", { class: `level ${cls}`, d: `M${x(at)},${top}V${bottom}` })];

/** The line on which x and y are equal, from 0 to 1. */
export const diagonal = ({ x, y }) => [sketch("path", { class: "level soft", d: `M${x(0)},${y(0)}L${x(1)},${y(1)}` })];

/** A strategy's mark at a point. */
export const markAt = (strategy, [at, high], r = 7, cls = "") => ({ x, y }) =>
  [sketch("g", { class: `s-${strategy} ${cls}` }, mark(strategy, r, x(at), y(high)))];

/** Layers in a strategy's colour and dash. Those of several strategies at one value stand side by side: `aside` pixels from it. */
export const inLooksOf = ({ strategy, dash = "" }, layers, { cls = "", aside = 0 } = {}) => (scale) => {
  const moved = { ...scale, x: (value) => scale.x(value) + aside };
  return [sketch("g", { class: `s-${strategy} ${dash} ${cls}`.trimEnd() }, ...layers.flatMap((layer) => layer(moved)))];
};

/** How far the n-th of so many stands aside, `gap` pixels between two. */
export const aside = (n, { length }, gap = 6) => (n - (length - 1) / 2) * gap;

/** Plots side by side, each with a label, for those who do not see it, and perhaps a caption. */
export function figures(place, plots) {
  become(place, ...plots.map(({ label, caption }) => sketch("figure", {}, caption ? sketch("figcaption", {}, ...caption) : null,
    sketch("svg", { class: "chart", role: "img", "aria-label": label }))));
  place.querySelectorAll("svg").forEach((picture, i) => plot(picture, plots[i]));
}

/** The interval of a value at `at`, where one is known. */
export const interval = (at, { low, high }) => ({ x, y }) =>
  (low ?? null) === null ? [] : [sketch("path", { class: "interval", d: `M${x(at)},${y(low)}V${y(high)}` })];

/** An axis for speed-ups: it always shows 1, and a little more than there is. */
export function speedupAxis(values, label = "speed-up") {
  const found = values.filter((value) => Number.isFinite(value));
  const low = Math.min(0.95, ...found), high = Math.max(1.1, ...found);
  return { low: Math.floor(low * 10) / 10, high: high + (high - low) * 0.08, label, format: (value) => `${value}×` };
}

/** An axis for shares. */
export const shareAxis = (label) => ({ low: 0, high: 1, label, format: (value) => `${Math.round(100 * value)} %`, at: [0, 0.25, 0.5, 0.75, 1] });
