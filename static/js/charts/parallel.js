// Parallel coordinates: a line is a run. Dragging along an axis, or moving its two ends by key, asks for a range.

import { SIDE, TOP, layout, moved, passes, rounded, valueAt, withEnd, written } from "../core/axes.js";
import { become, sketch } from "../core/become.js";
import { size, widthOf } from "../core/picture.js";
import { table as made } from "../core/tables.js";

export const on = { runs: 1 };
export const role = "group";
export const title = "Parameters and results";

export const sentence = ({ chart, ranges }) =>
  `${chart.runs.filter((run) => passes(run, ranges)).length} of ${chart.runs.length} runs are within the ranges.`;

export const table = ({ chart }) => made(["run", "comparison", ...chart.axes.map((axis) => axis.title)], chart.runs.map((run) =>
  [sketch("a", { href: run.address }, run.name), run.comparison, ...chart.axes.map((axis) => written(run.values[axis.name], axis.kind))]));

export const legend = () => ["A line is a run. Drag along an axis, or move its ends with the arrow keys, to keep only runs in that range."];

const CLICK = 5; // pixels: a shorter drag clears
const KEYS_MS = 400; // after the last key, the ranges are asked for
const shown = new WeakMap(); // picture → what is drawn in it, for who moves an end

/** `onRanges(ranges, after)` is called while ends move; `after` is null until they are let go, then the ms to wait. */
export function draw(picture, data) {
  if (!shown.has(picture)) listen(picture);
  const width = widthOf(picture), plan = layout(data.chart, width);
  shown.set(picture, { ...data, plan });
  size(picture, width, plan.height);
  become(picture, sketch("g", { transform: `translate(${SIDE},${TOP})` },
    ...plan.lines.map((line) => lineOf(line, plan, data.ranges)), ...plan.axes.map((axis) => axisOf(axis, plan, data.ranges))));
}

const point = ({ isUpright, length }, at, along) => (isUpright ? [at, length - along] : [along, at]);
const stretch = (plan, at, low, high) => `M${point(plan, at, low)}L${point(plan, at, high)}`;

/** What is within the ranges has its colour; the rest stays as a shadow of itself. */
function lineOf({ run, places }, plan, ranges) {
  const isBegun = (i) => i > 0 && places[i - 1] !== null;
  const d = places.map((place, i) => place && `${isBegun(i) ? "L" : "M"}${point(plan, ...place).map((value) => value.toFixed(1))}`).join("");
  return sketch("path", { class: `line s-${run.strategy}${run.is_ranked ? "" : " unranked"}${passes(run, ranges) ? "" : " out"}`, d },
    sketch("title", {}, `${run.name} of ${run.comparison}`));
}

function axisOf(axis, plan, ranges) {
  const { length, isUpright } = plan, { from, to } = ranges[axis.name] ?? { from: null, to: null };
  const place = (value) => length * ((Math.min(axis.high, Math.max(axis.low, value)) - axis.low) / (axis.high - axis.low));
  const low = place(from ?? axis.low), high = place(to ?? axis.high);
  const [x, y] = point(plan, axis.at, isUpright ? length : 0);
  const label = (value, along, anchor) => {
    const [lx, ly] = point(plan, axis.at, along);
    return sketch("text", { x: lx, y: isUpright ? ly + (along ? -12 : 20) : ly + 18, "text-anchor": isUpright ? "middle" : anchor }, written(value, axis.kind));
  };
  return sketch("g", { class: "axis", "data-axis": axis.name },
    sketch("path", { class: "rule", d: stretch(plan, axis.at, 0, length) }),
    sketch("path", { class: "range", d: from === null && to === null ? "" : stretch(plan, axis.at, low, high) }),
    sketch("text", { class: "name", x, y: isUpright ? y - 32 : y - 10, "text-anchor": isUpright ? "middle" : "start" }, axis.title),
    label(axis.low, 0, "start"), label(axis.high, length, "end"),
    sketch("path", { class: "grip", d: stretch(plan, axis.at, 0, length) }),
    endOf(axis, "from", from, point(plan, axis.at, low), isUpright), endOf(axis, "to", to, point(plan, axis.at, high), isUpright));
}

const endOf = (axis, end, value, place, isUpright) => sketch("g", { class: `end ${end}`, role: "slider", tabindex: 0,
  "data-handle": `${axis.name}_${end}`, "data-end": end, transform: `translate(${place})`,
  "aria-label": `${axis.title} ${end === "from" ? "at least" : "at most"}`, "aria-valuemin": axis.low, "aria-valuemax": axis.high,
  "aria-valuenow": value ?? (end === "from" ? axis.low : axis.high), "aria-valuetext": value === null ? "no bound" : written(value, axis.kind),
  "aria-orientation": isUpright ? "vertical" : "horizontal" }, sketch("circle", { r: 6 }));

function listen(picture) {
  const axisAt = (event) => shown.get(picture).plan.axes.find((axis) => axis.name === event.target.closest("[data-axis]")?.dataset.axis);
  const set = (axis, range, after = null) => {
    const { ranges: { [axis.name]: _, ...others }, onRanges } = shown.get(picture);
    onRanges(range && (range.from !== null || range.to !== null) ? { ...others, [axis.name]: range } : others, after);
  };
  picture.addEventListener("keydown", (event) => {
    const axis = axisAt(event), { end } = event.target.dataset;
    if (!end || event.ctrlKey || event.metaKey || event.altKey) return;
    const range = shown.get(picture).ranges[axis.name];
    const value = event.key === "Escape" ? null : moved(axis, end, range?.[end] ?? null, event.key);
    if (value === undefined) return;
    set(axis, event.key === "Escape" ? null : withEnd(range, end, value), KEYS_MS);
    event.preventDefault();
    event.stopPropagation();
  });
  picture.addEventListener("pointerdown", (event) => {
    if (!event.target.matches(".grip")) return;
    event.preventDefault();
    drag(event, picture, axisAt(event), set);
  });
}

function drag(event, picture, axis, set) {
  const frame = picture.getBoundingClientRect(), { length, isUpright } = shown.get(picture).plan;
  const along = (moment) => (isUpright ? length - (moment.clientY - frame.top - TOP) : moment.clientX - frame.left - SIDE);
  const start = along(event);
  let range = null;
  const move = (moment) => {
    const [low, high] = [start, along(moment)].sort((a, b) => a - b);
    const bound = (place, end) => ((place <= 0 && end === "from") || (place >= length && end === "to") ? null : rounded(valueAt(axis, place, length), axis));
    range = high - low < CLICK ? null : { from: bound(low, "from"), to: bound(high, "to") };
    set(axis, range);
  };
  const up = () => {
    removeEventListener("pointermove", move);
    removeEventListener("pointerup", up);
    set(axis, range, 0);
  };
  set(axis, null);
  addEventListener("pointermove", move);
  addEventListener("pointerup", up);
}
