// Charts of a study: one way to draw lines, steps, bars and marks on two plain axes. What to draw is decided elsewhere.

import { ticks } from "./stats.js";
import { mark, svg } from "./svg.js";

const LEFT = 44, RIGHT = 12, TOP = 28, BOTTOM = 42;

/**
 * Draws `chart()` now and whenever there is another width for it.
 *
 * @param {SVGElement} picture
 * @param {() => {x: Axis, y: Axis, layers: any[], height?: number}} chart
 * @typedef {{low: number, high: number, label: string, format?: (value: number) => string, at?: number[], isWhole?: boolean}} Axis
 */
export function plot(picture, chart) {
  let width = 0;
  const draw = () => render(picture, chart(), width || picture.clientWidth || 480);
  new ResizeObserver(([entry]) => {
    if (entry.contentRect.width && entry.contentRect.width !== width) {
      width = entry.contentRect.width;
      draw();
    }
  }).observe(picture);
  draw();
  return draw;
}

function render(picture, { x, y, layers, height = 240 }, width) {
  const scale = {
    x: (value) => LEFT + ((value - x.low) / (x.high - x.low)) * (width - LEFT - RIGHT),
    y: (value) => height - BOTTOM - ((value - y.low) / (y.high - y.low)) * (height - TOP - BOTTOM),
  };
  picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
  picture.style.height = `${height}px`;
  picture.replaceChildren(
    ...marksOf(y, 4).flatMap((value) => [
      svg("path", { class: "rule", d: `M${LEFT},${scale.y(value)}H${width - RIGHT}` }),
      svg("text", { x: LEFT - 8, y: scale.y(value) + 4, "text-anchor": "end" }, said(y, value)),
    ]),
    ...marksOf(x, Math.max(2, Math.round(width / 90))).map((value) =>
      svg("text", { x: scale.x(value), y: height - BOTTOM + 18, "text-anchor": "middle" }, said(x, value))),
    svg("text", { x: (LEFT + width - RIGHT) / 2, y: height - 6, "text-anchor": "middle" }, x.label),
    svg("text", { x: 0, y: 10 }, y.label),
    ...layers.flatMap((layer) => DRAWN[layer.kind](layer, scale, { left: LEFT, right: width - RIGHT, bottom: height - BOTTOM })),
  );
}

/** Round values inside an axis, or those that it names. */
function marksOf(axis, count) {
  if (axis.at) return axis.at;
  const step = Math.max(axis.isWhole ? 1 : 0, ticks(axis.high - axis.low, count)[1] ?? axis.high - axis.low);
  const first = Math.ceil(axis.low / step - 1e-9);
  return Array.from({ length: Math.floor(axis.high / step + 1e-9) - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

const said = (axis, value) => (axis.format ? axis.format(value) : String(value));
const to = (value) => value.toFixed(1);

const DRAWN = {
  line: ({ points, cls }, { x, y }) => [svg("path", { class: `line ${cls}`, d: `M${points.map(([px, py]) => `${to(x(px))},${to(y(py))}`).join("L")}` })],

  /** One value from each whole number to the next; what is null is a gap. */
  steps: ({ values, cls }, { x, y }) => {
    const parts = values.map((value, i) => (value === null ? "" : `${i && values[i - 1] !== null ? "L" : "M"}${to(x(i))},${to(y(value))}H${to(x(i + 1))}`));
    return [svg("path", { class: `line ${cls}`, d: parts.join("") })];
  },

  bars: ({ values, cls, title }, { x, y }) => values.map((value, i) => {
    const left = x(i - 0.5), width = x(i + 0.5) - left, gap = Math.min(2, width / 5);
    return svg("rect", { class: `bar ${cls}`, x: left + gap / 2, width: Math.max(0.5, width - gap), y: y(value), height: Math.max(0, y(0) - y(value)) },
      svg("title", {}, title(value, i)));
  }),

  dots: ({ points, cls, title }, { x, y }) => points.map((point) =>
    svg("circle", { class: `dot-mark ${cls}`, cx: x(point.x), cy: y(point.y), r: point.r ?? 3 }, svg("title", {}, title(point)))),

  level: ({ at, cls, label }, { y }, edge) => [
    svg("path", { class: `level ${cls}`, d: `M${edge.left},${y(at)}H${edge.right}` }),
    label ? svg("text", { class: "on-level", x: edge.right, y: y(at) - 5, "text-anchor": "end" }, label) : null,
  ],

  upright: ({ at, cls }, { x }, edge) => [svg("path", { class: `level ${cls}`, d: `M${x(at)},${TOP}V${edge.bottom}` })],

  diagonal: ({ cls }, { x, y }) => [svg("path", { class: `level ${cls}`, d: `M${x(0)},${y(0)}L${x(1)},${y(1)}` })],

  mark: ({ strategy, x: at, y: high, r = 7, cls = "" }, { x, y }) => [svg("g", { class: `s-${strategy} ${cls}` }, mark(strategy, r, x(at), y(high)))],
};

/** An axis for speed-ups: it always shows 1, and a little more than there is. */
export function speedupAxis(values) {
  const found = values.filter((value) => Number.isFinite(value));
  const low = Math.min(0.95, ...found), high = Math.max(1.1, ...found);
  return { low: Math.floor(low * 10) / 10, high: high + (high - low) * 0.08, label: "speed-up", format: (value) => `${value}×` };
}
