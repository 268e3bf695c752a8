// The field of a picture: where its values lie, so that a pointer, a key or another chart can ask for them. A chart lays
// its field when it draws. Windows (what part of an axis is shown), the cursor and hidden series are the page's: charts
// whose axes have the same `link` share them.

import { become, sketch } from "./become.js";

const fields = new WeakMap(); // picture → its field
const windows = new Map(); // link of an axis, or a picture → { low, high }
const hidden = new Set(); // names of series
let cursor = null; // { link, value, point of a cloud, from: where a drag began } or null

/**
 * @typedef {{x: number, y: number, text?: string, open?: string | (() => void), look?: () => void, at?: [number, number]}} Point
 * @typedef {{name: string, points: Point[]}} Series
 * @typedef {{axis: {low: number, high: number, link?: string}, scale: any, series: Series[], isCloud?: boolean, isByColumn?: boolean,
 *   head?: (value: number) => string}} Field
 */

/** Lay a field, and return the sketch of the cursor in it, which is a picture's last child. `isCloud`: one point is read at
 * a time, not one of each series. `isByColumn`: a click above or below a point opens it too; a pointer there calls its `look`. */
export function layField(picture, field) {
  fields.set(picture, field);
  if (!picture.hasAttribute("tabindex") && field.series.some(({ points }) => points.length)) picture.setAttribute("tabindex", "0");
  return sketch("g", { class: "cursor", "aria-hidden": "true" }, ...cursorIn(picture));
}

export const fieldOf = (picture) => fields.get(picture);
export const linkOf = (picture) => fields.get(picture)?.axis.link ?? picture;

/** The part of an axis that is shown: all of it, until somebody zooms. */
export function shownOf(picture, axis) {
  const window = windows.get(axis.link ?? picture);
  if (!window) return axis;
  const { low, high } = window;
  return { ...axis, low, high, at: axis.at?.filter((value) => value >= low && value <= high), isZoomed: true };
}

/** Show this part of a picture's axis, and of all axes that are linked with it; null shows the whole. */
export function zoom(picture, window) {
  const link = linkOf(picture);
  if (window) windows.set(link, window);
  else windows.delete(link);
  changed(link);
}

// ---- series

export const isHidden = (name) => hidden.has(name);

export function toggle(name) {
  if (!hidden.delete(name)) hidden.add(name);
  changed(null);
}

/** Tell who draws: of one link, or of all. */
function changed(link) {
  document.dispatchEvent(new CustomEvent("field", { detail: link }));
}

const shownSeries = (field) => field.series.filter(({ name }) => !hidden.has(name));

// ---- the cursor

/** Move the page's cursor, and draw it in every picture whose axis is linked. */
export function point(to) {
  const before = cursor?.link;
  cursor = to;
  for (const picture of document.querySelectorAll("svg.chart")) {
    if (!fields.has(picture) || ![before, to?.link].includes(linkOf(picture))) continue;
    const group = picture.querySelector(":scope > .cursor");
    if (group) become(group, ...cursorIn(picture));
  }
}

export const cursorOf = (picture) => (cursor && cursor.link === linkOf(picture) ? cursor : null);

/** What the cursor reads: the nearest point of each series that is shown, or of a cloud the one that it is at. */
export function readings(picture, at = cursorOf(picture)) {
  const field = fieldOf(picture);
  if (!field || !at) return [];
  if (field.isCloud) return at.point ? [at.point] : [];
  return shownSeries(field).flatMap(({ name, points }) => {
    const found = nearest(points, (one) => Math.abs(one.x - at.value));
    return found ? [{ ...found, name }] : [];
  });
}

/** All points of the series that are shown, in the order in which keys visit them. */
export const pointsOf = (picture) => shownSeries(fieldOf(picture))
  .flatMap(({ name, points }) => points.map((one) => ({ ...one, name }))).sort((a, b) => a.x - b.x || a.y - b.y);

/** The point that is nearest on the picture, if it is within reach; by columns one always is. */
export function pointAt(picture, x, y, reach) {
  const field = fieldOf(picture);
  let best = null, least = field.isByColumn ? Infinity : reach;
  for (const { name, points } of shownSeries(field)) {
    for (const one of points) {
      const [px, py] = placeOf(field, one), far = field.isByColumn ? Math.abs(px - x) : Math.hypot(px - x, py - y);
      if (far <= least) [best, least] = [{ ...one, name }, far];
    }
  }
  return best;
}

const placeOf = ({ scale }, one) => one.at ?? [scale.x(one.x), scale.y(one.y)];

function nearest(list, away) {
  let best = null, least = Infinity;
  for (const one of list) {
    const far = away(one);
    if (far < least) [best, least] = [one, far];
  }
  return best;
}

const LINE = 16, LETTER = 6.8, PAD = 8, MOST_LINES = 14;

function cursorIn(picture) {
  const field = fieldOf(picture), found = readings(picture);
  if (!found.length) return [];
  const { scale, axis, isCloud } = field, places = found.map((one) => placeOf(field, one));
  const at = isCloud ? places[0][0] : scale.x(cursorOf(picture).value);
  if (at < scale.left - 1 || at > scale.right + 1) return [];
  const { from } = cursorOf(picture); // where a drag began
  const isInside = ([x]) => x >= scale.left - 1 && x <= scale.right + 1 && axis.low < axis.high;
  return [
    from === undefined ? null : sketch("path", { class: "range", d: `M${scale.x(from)},${scale.top}H${at}V${scale.bottom}H${scale.x(from)}Z` }),
    isCloud ? null : sketch("path", { class: "at", d: `M${at},${scale.top}V${scale.bottom}` }),
    ...places.filter(isInside).map(([x, y]) => sketch("circle", { class: "dot", cx: x, cy: y, r: 4 })),
    ...boxOf(linesOf(field, found), at, isCloud ? places[0][1] : scale.top, scale),
  ];
}

export function linesOf(field, found) {
  const told = found.slice(0, MOST_LINES).map(textOf);
  const more = found.length > MOST_LINES ? [`${found.length - MOST_LINES} more`] : [];
  return field.isCloud ? told : [field.head(cursor.isExact ? found[0].x : cursor.value), ...told, ...more];
}

const textOf = ({ name, text, y }) => (text === undefined ? `${name}\u2002${Number(y.toPrecision(4))}` : name && !text.startsWith(name) ? `${name}\u2002${text}` : text);

function boxOf(lines, x, y, scale) {
  const width = PAD * 2 + LETTER * Math.max(...lines.map((line) => line.length)), height = lines.length * LINE + PAD;
  const left = x + 12 + width <= scale.right ? x + 12 : Math.max(0, x - 12 - width);
  const top = Math.max(0, Math.min(y, scale.bottom - height));
  return [sketch("rect", { class: "box", x: left, y: top, width, height, rx: 3 }),
    ...lines.map((line, i) => sketch("text", { x: left + PAD, y: top + (i + 1) * LINE }, line))];
}

/** The readout in words, for who does not see it. */
export const readout = (picture) => {
  const found = readings(picture);
  return found.length ? linesOf(fieldOf(picture), found).join(", ") : "";
};
