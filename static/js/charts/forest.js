// Speed-ups prompt by prompt: every prompt a dot, the ratio of total times the strategy's mark, its interval a bar.

import { become, sketch } from "../core/become.js";
import { isHidden, layField, shownOf } from "../core/field.js";
import { mark, roomFor, runKey, size, widthOf } from "../core/picture.js";
import { reach, ticks } from "../core/stats.js";
import { table as made } from "../core/tables.js";
import { counted, times } from "../core/words.js";

export const on = { "comparison-top": 1 };
export const term = "speed-up";
export const isWide = true;
export const title = ({ baseline }) => ["Speed-up, prompt by prompt", `over ${baseline}`];

export function sentence({ rows, paired, baseline }) {
  const said = rows.filter((row) => row.speedup && !row.isBaseline).map((row) => {
    const ratios = pointsOf(row, paired).map((point) => point.ratio);
    const faster = ratios.filter((ratio) => ratio > 1).length;
    return `${row.name} ${row.speedup.ratio.toFixed(2)} times, faster on ${faster} of ${counted(ratios.length, "prompt")}`;
  });
  return said.length ? `Speed-up over ${baseline}: ${said.join("; ")}.` : "";
}

export function table({ rows, paired }) {
  const others = rows.filter((row) => !row.isBaseline);
  const prompts = [...new Set([...paired.values()].flat().map((point) => point.prompt))].sort((a, b) => a - b);
  return made(["prompt", ...others.map((row) => row.name)], prompts.map((prompt) =>
    [prompt, ...others.map((row) => times(pointsOf(row, paired).find((point) => point.prompt === prompt)?.ratio))]));
}

export const legend = (data) => [...data.rows.filter((row) => !row.isBaseline).map(runKey),
  "A dot is a prompt, and opens it; the mark is the speed-up of all together, the bar its 95 % interval.",
  axisOf(data).isBeyond ? " Dots before an arrow lie far beyond the edge; the table has their numbers." : null];

const ROW = 40, AXIS = 24;

export function draw(picture, { rows, paired, onPrompt }) {
  const others = rows.filter((row) => !row.isBaseline && !isHidden(row.name));
  const width = widthOf(picture), label = roomFor(others.map((row) => row.name), width);
  const whole = axisOf({ rows, paired }), axis = shownOf(picture, whole), { low: least, high: most } = axis;
  const x = (ratio) => label + ((ratio - least) / (most - least)) * (width - label - 16);
  const height = others.length * ROW + AXIS;
  const middle = (i) => i * ROW + ROW / 2;
  const points = others.map((row, i) => pointsOf(row, paired).filter(({ ratio }) => ratio >= least).map(({ prompt, ratio }) =>
    ({ prompt, ratio, x: x(Math.min(ratio, most)), y: middle(i) + jitter(prompt) * 10 })));
  const marks = new Set([1, ...ticks(most, Math.max(3, Math.round(width / 120)))].filter((value) => value >= least));
  const series = others.map((row, i) => ({ name: row.name, points: points[i].map((one) => ({ x: Math.min(one.ratio, most), y: i, at: [one.x, one.y],
    text: `prompt ${one.prompt}: ${times(one.ratio)}`, open: onPrompt && (() => onPrompt(one.prompt, row.number)) })) }));
  const edges = { x, y: middle, left: label, right: width - 16, top: 0, bottom: height - AXIS };
  size(picture, width, height);
  become(picture,
    sketch("g", {}, ...[...marks].map((value) =>
      sketch("g", {}, sketch("path", { class: value === 1 ? "one" : "rule", d: `M${x(value)},0V${height - AXIS}` }),
        sketch("text", { x: x(value), y: height - 6, "text-anchor": "middle" }, `${value}×`)))),
    sketch("path", { class: "one", d: least <= 1 ? `M${x(1)},0V${height - AXIS}` : null }),
    sketch("g", {}, ...others.map((row, i) => dots(row, points[i]))),
    sketch("g", {}, ...others.map((row, i) => summary(row, x, middle(i), axis))),
    sketch("g", {}, ...others.map((row, i) => sketch("path", { class: `beyond s-${row.strategy}`,
      d: points[i].some(({ ratio }) => ratio > most) ? `M${x(most) + 6},${middle(i) - 5}l5,5l-5,5` : null }))),
    layField(picture, { axis, whole, scale: edges, series, isCloud: true }),
  );
}

const pointsOf = (row, paired) => paired.get(row.number) ?? [];

/** From which speed-up to which the picture goes; prompts that lie far beyond all others stand at the edge. */
function axisOf({ rows, paired }) {
  const others = rows.filter((row) => !row.isBaseline);
  const all = others.flatMap((row) => [...pointsOf(row, paired).map((point) => point.ratio), row.speedup?.high ?? 1]);
  const most = Math.max(1.25, reach(all), ...others.map((row) => row.speedup?.high ?? row.speedup?.ratio ?? 1)) * 1.03;
  return { low: Math.floor(Math.min(0.9, ...all) * 9.7) / 10, high: most, isBeyond: Math.max(...all) > most };
}

function summary(row, x, y, { low, high }) {
  const gain = row.speedup, within = (value) => value >= low;
  return sketch("g", { class: `s-${row.strategy}${row.role === "ranked" ? "" : " unranked"}` },
    sketch("text", { class: "name", x: 0, y: y + 4 }, row.name),
    gain?.low != null && within(gain.high) ? sketch("path", { class: "interval", d: `M${x(Math.max(gain.low, low))},${y}H${x(Math.min(gain.high, high))}` }) : null,
    gain && within(gain.ratio) && gain.ratio <= high ? mark(row.strategy, 7, x(gain.ratio), y) : null);
}

/** One shape for all dots of a strategy, a mark at each of its corners: in an hour there may be thousands. */
function dots(row, points) {
  const dot = `dot-${row.number}`, places = points.map(({ x, y }) => `${x.toFixed(1)},${y.toFixed(1)}`);
  return sketch("g", { class: `s-${row.strategy}` },
    sketch("marker", { id: dot, refX: 3, refY: 3, markerWidth: 6, markerHeight: 6, markerUnits: "userSpaceOnUse" },
      sketch("circle", { class: "prompt", cx: 3, cy: 3, r: 2.5 })),
    sketch("path", { class: "prompts", d: places.length ? `M${places.join("L")}` : null,
      "marker-start": `url(#${dot})`, "marker-mid": `url(#${dot})`, "marker-end": places.length > 1 ? `url(#${dot})` : null }));
}

/** Dots of close prompts side by side, always in the same place. */
const jitter = (prompt) => ((prompt * 0.618034) % 1) * 2 - 1;
