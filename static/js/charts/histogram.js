// How often a verification accepted so many drafted tokens.

import { bars, plot } from "../core/plot.js";
import { table as made } from "../core/tables.js";
import { counted, percent } from "../core/words.js";

export const on = { comparison: 2 };
export const term = "per round";
export const title = ({ speculative }) => ["Accepted per round:", speculative.name];

/** Tell a histogram by its ends and its mean. */
export function sentence({ speculative }) {
  const counts = speculative?.acceptance_histogram ?? [], total = sum(counts);
  if (!total) return "";
  const mean = sum(counts.map((count, accepted) => count * accepted)) / total;
  return `${speculative.name}, ${counted(total, "round")}: the target accepted no drafted token in ${percent(counts[0] / total)} of them, ` +
    `and ${counts.length - 1} in ${percent(counts.at(-1) / total)}. The mean is ${mean.toFixed(1)}.`;
}

export const table = ({ speculative }) => made(["accepted", "rounds"], speculative.acceptance_histogram.map((count, i) => [i, count]));

export function draw(picture, { speculative: { acceptance_histogram: counts, strategy } }) {
  const total = sum(counts), shares = counts.map((count) => count / total);
  plot(picture, {
    x: { low: -0.5, high: Math.max(5, counts.length) - 0.5, label: "drafted tokens accepted in a round", isWhole: true },
    y: { low: 0, high: Math.max(...shares), format: percent },
    height: 216,
    head: (accepted) => `${Math.round(accepted)} accepted`,
    series: [{ name: "", points: shares.map((share, i) => ({ x: i, y: share, text: `${percent(share)}: ${counts[i]} of ${total} rounds` })),
      layer: bars(shares, `s-${strategy}`) }],
  });
}

const sum = (values) => values.reduce((total, value) => total + value, 0);
