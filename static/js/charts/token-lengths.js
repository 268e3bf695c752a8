// How long the prompts of a set are for one pair.

import { bars, plot } from "../core/plot.js";
import { table as made } from "../core/tables.js";
import { counted, grouped } from "../core/words.js";

export const on = { dataset: 1 };
export const title = "Prompts by length";

export function sentence({ tokens: { histogram, prompt_count: all } }) {
  const most = histogram.reduce((one, other) => (other.count > one.count ? other : one));
  return `${grouped(most.count)} of ${counted(all, "prompt")} ${most.count === 1 ? "has" : "have"} ${range(most)} tokens.`;
}

export const table = ({ tokens: { histogram } }) => made(["tokens", "prompts"], histogram.map((bar) => [range(bar), grouped(bar.count)]));

export function draw(picture, { tokens: { histogram } }) {
  const counts = histogram.map(({ count }) => count), every = Math.ceil(counts.length / 6);
  plot(picture, {
    x: { low: -0.5, high: counts.length - 0.5, label: "tokens of a prompt", at: [...counts.keys()].filter((i) => i % every === 0),
      format: (i) => grouped(histogram[i].low) },
    y: { low: 0, high: Math.max(...counts), label: "prompts", isWhole: true },
    height: 200,
    head: (value) => `${range(histogram[Math.min(counts.length - 1, Math.max(0, Math.round(value)))])} tokens`,
    series: [{ name: "", points: counts.map((count, i) => ({ x: i, y: count, text: counted(count, "prompt") })), layer: bars(counts, "accent") }],
  });
}

/** The lengths of a bar; its high end is the next one's low end. */
const range = ({ low, high }) => (high - low > 1 ? `${grouped(low)} to ${grouped(high - 1)}` : grouped(low));
