// One pair over time: a line per strategy, broken where hardware or versions changed.

import { sketch } from "../core/become.js";
import { seriesKey, widthOf } from "../core/picture.js";
import { interval, level, line, markAt, plot, speedupAxis } from "../core/plot.js";
import { table as made } from "../core/tables.js";
import { times } from "../core/words.js";

export const on = { history: 1 };
export const term = "speed-up";
export const isWide = true;
export const role = "group";
export const title = "Speed-up over time";

export const sentence = (data) => data.sentence;

export const table = ({ points: { points } }) => made(["strategy", "launched", "speed-up", "at least", "at most"], points.map((point) =>
  [point.name, point.at.slice(0, 16).replace("T", " "), ...[point.speedup, point.low ?? undefined, point.high ?? undefined].map(times)]));

export const legend = ({ points: { points } }) => [...new Map(points.map((point) => [point.name, point])).values()]
  .map(({ strategy, name }) => seriesKey(`line s-${strategy}`, name)).concat(["A dashed vertical line marks a change of hardware or versions. Bars are 95 % intervals."]);

export function draw(picture, { points: { points, changes } }) {
  const isWide = widthOf(picture) >= 480, at = moments(points), named = isWide ? [] : null;
  const every = Math.ceil(at.length / Math.max(2, Math.floor(widthOf(picture) / 110)));
  const place = (point) => [at.indexOf(point.at) + 0.5, point.speedup];
  plot(picture, {
    x: { low: 0, high: at.length, at: at.map((_, i) => i + 0.5).filter((_, i) => i % every === 0), format: (value) => at[value - 0.5].slice(0, 10) },
    y: speedupAxis(points.flatMap((point) => [point.low ?? point.speedup, point.high ?? point.speedup]), ""),
    height: 320, right: isWide ? 112 : 16,
    layers: [level(1), ...changes.map((change) => changed(change, at.indexOf(change.at)))], isCloud: true,
    series: [...pieces(points).values()].map((parts) => ({ name: parts[0][0].name, layer: lineOf(parts, place, named),
      points: parts.flat().map((point) => pointOf(point, place(point))) })),
  });
}

const changed = ({ kind, before, after }, i) => ({ x, top, bottom }) => [sketch("g", { class: "change" },
  sketch("path", { d: `M${x(i)},${top}V${bottom}` }, sketch("title", {}, `${before} → ${after}`)),
  sketch("text", { x: x(i) + 4, y: kind === "device" ? top + 8 : top + 22 }, kind === "device" ? "hardware" : "versions"))];

const pointOf = (point, [x, y]) => ({ x, y, open: point.address, text: wordsOf(point) });
const wordsOf = (point) => `${point.name}: ${times(point.speedup)} on ${point.at.slice(0, 10)}, ${point.device}`;

/** A strategy's line; its name stands behind it where there is room. `named`: heights of names, or null for none. */
const lineOf = (parts, place, named) => (scale) => {
  const last = parts.at(-1).at(-1), [x, y] = place(last), top = scale.y(y) + 4;
  const hasRoom = named && scale.right < scale.x(x) + 200 && !named.some((other) => Math.abs(other - top) < 14);
  if (hasRoom) named.push(top);
  return [sketch("g", { class: `s-${last.strategy}${last.role === "ranked" || last.role === "baseline" ? "" : " unranked"}` },
    ...parts.flatMap((part) => line(part.map(place))(scale)),
    ...parts.flat().map((point) => sketch("a", { href: point.address, class: `run${point.is_noisy ? " unranked" : ""}`, tabindex: -1, "aria-label": wordsOf(point) },
      ...interval(place(point)[0], point)(scale), ...markAt(point.strategy, place(point), 5)(scale))),
    hasRoom ? sketch("text", { class: "name", x: scale.right + 4, y: top }, last.name) : null)];
};

/** Points of one label, split wherever what they ran on changed. */
export function pieces(points) {
  const found = new Map();
  for (const point of points) {
    const lines = found.get(point.label) ?? [];
    const last = lines.at(-1)?.at(-1);
    if (last && last.device === point.device && last.versions === point.versions) lines.at(-1).push(point);
    else lines.push([point]);
    found.set(point.label, lines);
  }
  return found;
}

/** Moments in their order, to be spaced evenly: a week without runs would only be a gap. */
export const moments = (points) => [...new Set(points.map((point) => point.at))].sort();
