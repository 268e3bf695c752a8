// Acceptance by position: of the drafts that reached a position, the share whose token there was accepted.

import { runKey } from "../core/picture.js";
import { inLooksOf, line, markAt, plot } from "../core/plot.js";
import { table as made } from "../core/tables.js";
import { percent } from "../core/words.js";

export const on = { comparison: 3 };
export const term = "acceptance";
export const title = "Acceptance by position";

/** Tell how acceptance goes from a draft's first position to the last that was reached often enough. */
export function sentence({ rows }) {
  const said = drafting(rows).map(({ name, places }) => (places.length === 1
    ? `${name} ${percent(places[0])} at position 1`
    : `${name} from ${percent(places[0])} at position 1 to ${percent(places.at(-1))} at position ${places.length}`));
  return said.length ? `Share accepted, of the drafts that reached this position: ${said.join("; ")}.` : "";
}

export function table({ rows }) {
  const found = drafting(rows);
  return made(["position", ...found.map((row) => row.name)], Array.from({ length: longest(found) }, (_, i) =>
    [i + 1, ...found.map((row) => (i < row.places.length ? percent(row.places[i]) : "–"))]));
}

export const legend = ({ rows }) => rows.filter((row) => row.role !== "baseline").map(runKey);

export function draw(picture, { rows }) {
  const found = drafting(rows), last = Math.max(4, longest(found));
  plot(picture, {
    x: { low: 0.5, high: last + 0.5, label: "position in the draft", isWhole: true },
    y: { low: 0, high: 1, at: [0, 0.5, 1], format: percent },
    height: 216,
    series: found.map((row) => {
      const points = row.places.map((share, i) => [i + 1, share]);
      return { name: row.name, points, layer: inLooksOf(row, [line(points), ...points.map((point) => markAt(row.strategy, point, 4))]) };
    }),
  });
}

const drafting = (rows) => rows.filter((row) => row.places.length);
const longest = (rows) => Math.max(0, ...rows.map((row) => row.places.length));
