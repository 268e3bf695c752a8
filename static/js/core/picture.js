// What pictures share: their size, strategies' marks, and the keys of legends.

import { sketch } from "./become.js";
import { isHidden } from "./field.js";

const USUAL = 600;
const widths = new WeakMap(); // element → its width, of those that are watched
let isOnPaper = false;

/** An element's width. If it is watched, asking for it does not lay out the page. On paper it is the style sheet's: no script
 * sees the layout of a page that is printed. */
export const widthOf = (element) => (isOnPaper && widthOnPaper(element)) || (widths.get(element) ?? (element.clientWidth || USUAL));

const widthOnPaper = (element) => parseFloat(getComputedStyle(element).getPropertyValue("--on-paper"));

/** Watch an element's width, and call back when it changes, before the page is printed and after. A hidden element has none. */
export function watchWidth(element, changed) {
  new ResizeObserver(([entry]) => {
    const width = Math.round(entry.contentRect.width);
    if (!width || width === widths.get(element)) return;
    widths.set(element, width);
    changed();
  }).observe(element);
  for (const kind of ["beforeprint", "afterprint"]) {
    addEventListener(kind, () => {
      isOnPaper = kind === "beforeprint";
      changed();
    });
  }
}

/** Give a picture the height that it needs. */
export function size(picture, width, height) {
  const box = `0 0 ${width} ${height}`;
  if (picture.getAttribute("viewBox") === box) return;
  picture.setAttribute("viewBox", box);
  picture.style.height = `${height}px`;
}

export const LETTER = 7; // about as wide as a letter

/** Room for the longest of these names, but never more than two fifths of the picture. */
export const roomFor = (names, width) => Math.min(0.4 * width, 16 + LETTER * Math.max(0, ...names.map((name) => name.length)));

/** A strategy's mark, centred: colour is never the only difference. */
export function mark(strategy, r, x, y) {
  const marks = document.querySelector("[data-marks]").dataset.marks;
  return sketch("use", { class: "mark", href: `${marks}#${strategy}`, x: x - r, y: y - r, width: 2 * r, height: 2 * r });
}

/** A run in a legend: its line, its mark and its name. A click hides its series, or shows it again. */
export const runKey = ({ strategy, dash, name }) => sketch("button", { class: `entry s-${strategy} ${dash}`, ...switchOf(name) },
  sketch("svg", { "aria-hidden": "true" }, sketch("path", { class: "line", d: "M0,6H32" }), mark(strategy, 5, 16, 6)), name);

const switchOf = (name) => ({ type: "button", "data-series": name, "aria-pressed": String(!isHidden(name)) });

/** A series in a legend, by its colour. */
export const seriesKey = (kind, name) => sketch("button", { class: `key ${kind}`, ...switchOf(name) }, name);

/** A colour in a legend. */
export const key = (kind, name) => sketch("span", { class: `key ${kind}` }, name);
