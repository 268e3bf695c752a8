// Speed-ups prompt by prompt: every prompt a dot, the ratio of total times the strategy's mark, its interval a bar.

import { sketch } from "../core/become.js";
import { isHidden } from "../core/field.js";
import { mark, runKey } from "../core/picture.js";
import { plot } from "../core/plot.js";
import { reach } from "../core/stats.js";
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
  const others = rows.filter((row) => !row.isBaseline && !isHidden(row.name)), axis = axisOf({ rows, paired });
  plot(picture, {
    x: { ...axis, also: [1], hasRules: true, format: (value) => `${value}×` }, rows: others.map((row) => row.name),
    height: others.length * ROW + AXIS, right: 16, isCloud: true,
    layers: [({ x, top, bottom }) => [sketch("path", { class: "one", d: `M${x(1)},${top}V${bottom}` })]],
    series: others.map((row, i) => {
      const points = pointsOf(row, paired).map(({ prompt, ratio }) => ({ x: Math.min(ratio, axis.high), y: i + jitter(prompt) / 4,
        text: `prompt ${prompt}: ${times(ratio)}`, open: onPrompt && (() => onPrompt(prompt, row.number)) }));
      return { name: row.name, points, layer: (scale) => [dots(row, points, scale), summary(row, i, scale), beyond(row, i, points, axis, scale)] };
    }),
  });
}

const pointsOf = (row, paired) => paired.get(row.number) ?? [];

/** From which speed-up to which the picture goes; prompts that lie far beyond all others stand at the edge. */
function axisOf({ rows, paired }) {
  const others = rows.filter((row) => !row.isBaseline);
  const all = others.flatMap((row) => [...pointsOf(row, paired).map((point) => point.ratio), row.speedup?.high ?? 1]);
  const most = Math.max(1.25, reach(all), ...others.map((row) => row.speedup?.high ?? row.speedup?.ratio ?? 1)) * 1.03;
  return { low: Math.floor(Math.min(0.9, ...all) * 9.7) / 10, high: most, isBeyond: Math.max(...all) > most };
}

function summary({ strategy, role, speedup: gain }, i, { x, y }) {
  return sketch("g", { class: `s-${strategy}${role === "ranked" ? "" : " unranked"}` },
    gain?.low != null ? sketch("path", { class: "interval", d: `M${x(gain.low)},${y(i)}H${x(gain.high)}` }) : null,
    gain ? mark(strategy, 7, x(gain.ratio), y(i)) : null);
}

const beyond = ({ strategy }, i, points, { high }, { x, y }) => sketch("path", { class: `beyond s-${strategy}`,
  d: points.some((one) => one.x === high) ? `M${x(high) + 6},${y(i) - 5}l5,5l-5,5` : null });

/** One shape for all dots of a strategy, a mark at each of its corners: in an hour there may be thousands. */
function dots(row, points, scale) {
  const dot = `dot-${row.number}`, places = points.map(({ x, y }) => `${scale.x(x).toFixed(1)},${scale.y(y).toFixed(1)}`);
  return sketch("g", { class: `s-${row.strategy}` },
    sketch("marker", { id: dot, refX: 3, refY: 3, markerWidth: 6, markerHeight: 6, markerUnits: "userSpaceOnUse" },
      sketch("circle", { class: "prompt", cx: 3, cy: 3, r: 2.5 })),
    sketch("path", { class: "prompts", d: places.length ? `M${places.join("L")}` : null,
      "marker-start": `url(#${dot})`, "marker-mid": `url(#${dot})`, "marker-end": places.length > 1 ? `url(#${dot})` : null }));
}

/** Dots of close prompts side by side, always in the same place. */
const jitter = (prompt) => ((prompt * 0.618034) % 1) * 2 - 1;
