// Where the time went: from the speed-up that acceptance alone would give down to the measured one.

import { become, sketch } from "../core/become.js";
import { layField } from "../core/field.js";
import { roomFor, size, widthOf } from "../core/picture.js";
import { table as made } from "../core/tables.js";
import { times } from "../core/words.js";

export const on = { comparison: 1 };
export const term = "price";
export const title = ({ speculative, isRelative }) =>
  ["Why it is not faster:", `${speculative.name}${isRelative ? " over autoregressive" : ""}`];

/** Name the largest loss, and what to try. */
export function sentence({ speculative }) {
  if (!speculative?.losses) return "";
  const { largest, steps, advice } = speculative.losses;
  const step = steps.find(({ name }) => name === largest);
  if (step) return `The largest loss: ${LABELS[largest]} takes ${(step.from - step.to).toFixed(2)} off the speed-up. ${advice}`;
  return advice || "No single loss stands out.";
}

export const table = ({ speculative: { losses } }) => made(["step", "speed-up after it"],
  [["tokens per pass", times(losses.ideal)], ...losses.steps.map((step) => [step.name, times(step.to)])]);

export const legend = () => ["Of all prompts taken together, so it differs a little from the table's median over prompts."];

const VALUE = 48; // room for a number behind a bar

export function draw(picture, { speculative: { losses, strategy } }) {
  const bars = [
    { name: "ideal", from: 0, to: losses.ideal, kind: "whole" },
    ...losses.steps.map((step) => ({ ...step, kind: `${step.to > step.from ? "gain" : "loss"}${step.name === losses.largest ? " largest" : ""}` })),
    { name: "measured", from: 0, to: losses.measured, kind: "whole end" },
  ];
  const width = widthOf(picture), label = roomFor(bars.map((bar) => LABELS[bar.name]), width), height = bars.length * 36 + 24;
  const most = Math.max(losses.ideal, losses.measured, 1.2, ...losses.steps.map((step) => Math.max(step.from, step.to)));
  const x = (value) => label + (Math.max(0, value) / most) * (width - label - VALUE);
  size(picture, width, height);
  become(picture,
    sketch("path", { class: "one", d: `M${x(1)},0V${height - 20}` }),
    sketch("text", { x: x(1), y: height - 4, "text-anchor": "middle" }, "1× autoregressive"),
    ...bars.map((bar, i) => fall(bar, bars[i + 1], x, i * 36 + 8, strategy)),
    layField(picture, { axis: { low: 0, high: most }, whole: { low: 0, high: most }, isFixed: true, isCloud: true,
      scale: { x, left: 0, right: width, top: 0, bottom: height }, series: [{ name: "", points: bars.map((bar, i) => pointOf(bar, i, x)) }] }),
  );
}

const pointOf = ({ name, to }, i, x) => ({ x: to, y: i, at: [x(to), i * 36 + 19], text: `${LABELS[name]}: ${times(to)}` });

function fall(bar, next, x, y, strategy) {
  const low = Math.min(bar.from, bar.to), high = Math.max(bar.from, bar.to);
  const change = bar.to - bar.from;
  const words = bar.kind.startsWith("whole") ? times(bar.to) : `${change < 0 ? "−" : "+"}${Math.abs(change).toFixed(2)}`;
  return sketch("g", { class: `${bar.kind} s-${strategy}` },
    sketch("text", { class: "name", x: 0, y: y + 16 }, LABELS[bar.name]),
    sketch("rect", { class: "bar", x: x(low), y, width: Math.max(1, x(high) - x(low)), height: 22 }),
    sketch("text", { x: x(high) + 6, y: y + 16 }, words),
    next ? sketch("path", { class: "joint", d: `M${x(bar.to)},${y + 22}v14` }) : null);
}

const LABELS = {
  ideal: "tokens per pass", drafting: "drafting", verifying: "wider passes", waiting: "waiting", "the rest": "each round", measured: "measured",
};
