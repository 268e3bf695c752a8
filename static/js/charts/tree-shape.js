// The tree that a plan found to be worth most: its places, and how often the target accepts each.

import { become, sketch } from "../core/become.js";
import { layField } from "../core/field.js";
import { size, widthOf } from "../core/picture.js";
import { table as made } from "../core/tables.js";

export const on = { plan: 3 };
export const title = "The shape of the best tree";

const LEVEL = 44, TOP = 16, LARGEST = 9;

export const sentence = ({ found: { trees } }) => trees?.sentence ?? "This plan was made before plans looked at trees.";

export const table = ({ found: { trees } }) => made(["place", "after", "alternative", "accepted"],
  (trees?.shape ?? []).map((place, i) => [i + 1, place.parent < 0 ? "text" : place.parent + 1, place.rank + 1, share(place.accepted)]));

export const legend = ({ found: { trees } }) => trees ? [`${trees.best}, after all recorded texts. A larger dot is accepted more often.`] : [];

export function draw(picture, { found: { trees } }) {
  const places = trees?.shape ?? [], at = laidOut(places), depth = Math.max(0, ...at.map((one) => one.depth));
  const width = widthOf(picture), x = (one) => one.across * width, y = (one) => TOP + one.depth * LEVEL;
  const strategy = trees?.best.split(":")[0], height = places.length && 2 * TOP + depth * LEVEL;
  size(picture, width, height);
  if (!places.length) return become(picture);
  const root = { across: 0.5, depth: 0 }, axis = { low: 0, high: places.length };
  become(picture,
    ...at.map((one) => {
      const from = one.parent < 0 ? root : at[one.parent];
      return sketch("path", { class: `line s-${strategy}`, d: `M${x(from)},${y(from)}L${x(one)},${y(one)}` });
    }),
    sketch("circle", { class: "dot-mark", cx: x(root), cy: y(root), r: 4 }),
    ...at.map((one) => sketch("circle", { class: `dot-mark s-${strategy}`, cx: x(one), cy: y(one), r: 2 + (LARGEST - 2) * Math.sqrt(one.accepted) })),
    layField(picture, { axis, whole: axis, isFixed: true, isCloud: true, scale: { left: 0, right: width, top: 0, bottom: height },
      series: [{ name: "", points: at.map((one, i) => ({ x: i + 1, y: one.depth, at: [x(one), y(one)], text: told(one, i) })) }] }));
}

const told = (one, i) => `place ${i + 1}, alternative ${one.rank + 1}: ${share(one.accepted)} of the rounds accept it`;

/** Each place with its depth and with where it stands across, in the middle of the places below it. */
export function laidOut(places) {
  const children = new Map();
  places.forEach(({ parent }, i) => children.set(parent, [...(children.get(parent) ?? []), i]));
  const leaves = (i) => (children.get(i) ?? []).reduce((sum, child) => sum + leaves(child), 0) || 1;
  const all = leaves(-1), at = [];
  const lay = (i, first, depth) => {
    if (i >= 0) at[i] = { ...places[i], depth, across: (first + leaves(i) / 2) / all };
    for (const child of children.get(i) ?? []) {
      lay(child, first, depth + 1);
      first += leaves(child);
    }
  };
  lay(-1, 0, 0);
  return at;
}

const share = (value) => `${Number((100 * value).toPrecision(2))} %`;
