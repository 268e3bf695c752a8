// Why a strategy is not faster: from the speed of an oracle with free drafts down to the measured one, cause by cause. A bar
// leads to the rounds behind it.

import { become, sketch } from "../core/become.js";
import { layField } from "../core/field.js";
import { roomFor, size, widthOf } from "../core/picture.js";
import { table as made } from "../core/tables.js";
import { grouped } from "../core/words.js";

export const on = { comparison: 1 };
export const term = "bound";
export const role = "group"; // its bars are links
export const title = ({ explained }) => ["Why it is not faster:", explained?.name ?? ""];
export const sentence = ({ explained }) => explained?.why.sentence ?? "";
export const legend = ({ explained: { why, rate, concurrency }, roundsAt }) => (!why.measured ? [] : [
  rate || concurrency > 1 ? "Tokens per second of one request, the mean of all." : "Tokens per second, of all prompts together.",
  why.refusal ? null : " The bound is an oracle that stops right and drafts for free.",
  why.refusal || !roundsAt ? null : " A bar opens the rounds behind it."]);

export const table = (data) => made(["cause", "tokens/s after it", "change", "seconds"], barsOf(data).map((bar) => [
  bar.open ? sketch("a", { href: bar.open }, bar.title) : bar.title, rounded(bar.to),
  bar.isWhole ? null : signed(bar.to - bar.from), bar.seconds?.toFixed(3)]));

const ROW = 36;

export function draw(picture, data) {
  const bars = barsOf(data), { why, strategy } = data.explained, width = widthOf(picture), height = bars.length ? bars.length * ROW + 24 : 0;
  const label = roomFor(bars.map((bar) => bar.title), width), most = 1.02 * Math.max(0, ...bars.flatMap((bar) => [bar.from, bar.to]));
  const room = roomFor(bars.map(numberOf), width); // behind a bar
  const x = (value) => label + (Math.max(0, value) / (most || 1)) * (width - label - room), axis = { low: 0, high: most || 1 };
  size(picture, width, height);
  become(picture,
    sketch("path", { class: "one", d: why.baseline ? `M${x(why.baseline)},0V${height - 20}` : null }),
    why.baseline ? sketch("text", { x: x(why.baseline), y: height - 4, "text-anchor": "middle" }, "autoregressive") : null,
    ...bars.map((bar, i) => fall(bar, bars[i + 1], x, i * ROW + 8, strategy)),
    layField(picture, { axis, isCloud: true, scale: { x, left: 0, right: width, top: 0, bottom: height },
      series: [{ name: "", points: bars.map((bar, i) => ({ x: bar.to, y: i, at: [x(bar.to), i * ROW + 19], text: wordsOf(bar), open: bar.open })) }] }));
}

/** The bars from the top: the bound, what each cause takes, what was measured, and with prompt and queue. Without rounds, those
 * from what was measured on. */
function barsOf({ explained: { label, why }, roundsAt }) {
  if (!why.measured) return [];
  const whole = (name, title, to) => ({ name, title, from: 0, to, isWhole: true });
  const linked = (bar) => ({ ...bar, open: roundsAt && `${roundsAt}?${new URLSearchParams({ strategy: label, cause: bar.name })}` });
  return [
    ...(why.bound ? [linked(whole("bound", "bound", why.bound))] : []),
    ...why.steps.map((step) => linked({ ...step, isLargest: step.name === why.largest })),
    whole("measured", "measured", why.measured),
    { name: "prompt", title: "prompt reading", from: why.measured, to: why.with_prompt },
    ...(why.end_to_end < why.with_prompt ? [{ name: "queue", title: "queue", from: why.with_prompt, to: why.end_to_end }] : []),
    whole("end_to_end", "end to end", why.end_to_end),
  ];
}

const rounded = (speed) => (speed >= 100 ? grouped(Math.round(speed)) : speed.toFixed(1));
const signed = (change) => `${change < 0 ? "−" : "+"}${rounded(Math.abs(change))}`;
const numberOf = (bar) => (bar.isWhole ? rounded(bar.to) : signed(bar.to - bar.from));
const wordsOf = (bar) => `${bar.title}: ${bar.isWhole ? "" : `${numberOf(bar)}, to `}${rounded(bar.to)} tokens/s`;
const kindOf = (bar) => [bar.isWhole ? "whole" : bar.to > bar.from ? "gain" : "loss", bar.isLargest && "largest", bar.name === "measured" && "end"]
  .filter(Boolean).join(" ");

function fall(bar, next, x, y, strategy) {
  const low = Math.min(bar.from, bar.to), high = Math.max(bar.from, bar.to);
  const shapes = [
    sketch("text", { class: "name", x: 0, y: y + 16 }, bar.title),
    sketch("rect", { class: "bar", x: x(low), y, width: Math.max(1, x(high) - x(low)), height: 22 }),
    sketch("text", { x: x(high) + 6, y: y + 16 }, numberOf(bar)),
  ];
  return sketch("g", { class: `${kindOf(bar)} s-${strategy}` },
    ...(bar.open ? [sketch("a", { href: bar.open, tabindex: -1, "aria-label": wordsOf(bar) }, ...shapes)] : shapes),
    next ? sketch("path", { class: "joint", d: `M${x(bar.to)},${y + 22}v${ROW - 22}` }) : null);
}
