// How often the bound takes each lookahead: a small plot for each prompt set, on the same scales.

import { sketch } from "../core/become.js";
import { bars, figures, upright } from "../core/plot.js";
import { table as made } from "../core/tables.js";
import { percent } from "../core/words.js";

export const on = { oracle: 3 };
export const term = "lookahead";
export const element = "div";
export const title = "How often each lookahead";

export const sentence = ({ sets }) =>
  `${sets.map((set) => `${set.name}: mean ${set.mean.toFixed(2)} tokens, ${set.samples} prompts`).join("; ")}.`;

export const table = ({ sets }) => made(["lookahead", ...sets.map((set) => set.name)],
  Array.from({ length: longest(sets) }, (_, i) => [i, ...sets.map((set) => set.histogram[i] ?? 0)]));

const RARE = 0.01; // of the rounds of each set: few rounds with long lookaheads stand in one bar, the last

/** Shares of rounds by lookahead, all of one length: the last one holds its lookahead and all longer ones. */
export function folded(histograms) {
  const shares = histograms.map((counts) => counts.map((count) => count / sum(counts)));
  const from = (of, n) => sum(of.slice(n));
  let last = Math.max(4, ...shares.map((of) => of.length)) - 1;
  while (last > 4 && shares.every((of) => from(of, last - 1) < RARE)) last -= 1;
  return shares.map((of) => Array.from({ length: last + 1 }, (_, n) => (n < last ? of[n] ?? 0 : from(of, n))));
}

const sum = (values) => values.reduce((total, value) => total + value, 0);

export const legend = ({ sets }) => [sets.length > 1 ? "Rounds by lookahead, for each prompt set of this pair."
  : "Rounds by lookahead. Studies of other prompt sets of this pair will stand beside it."];

export function draw(place, { sets, series: [bound] }) {
  const shares = folded(sets.map((set) => set.histogram)), last = shares[0].length - 1;
  const isRest = (tokens) => tokens >= last && last < longest(sets) - 1, step = Math.max(1, Math.ceil(last / 6));
  const at = Array.from({ length: last + 1 }, (_, n) => n).filter((n) => n === last || (n % step === 0 && n <= last - step));
  const high = Math.max(...shares.flat()) * 1.1;
  figures(place, sets.map((set, i) => ({
    label: set.name, caption: [`${set.name} `, sketch("span", { class: "quiet" }, `mean ${set.mean.toFixed(2)}, ${set.samples} prompts`)],
    head: (tokens) => `${Math.round(tokens)}${isRest(Math.round(tokens)) ? " or more" : ""} tokens`,
    x: { low: -0.5, high: last + 0.5, label: "lookahead, tokens", at, format: (tokens) => `${isRest(tokens) ? "≥ " : ""}${tokens}` },
    y: { low: 0, high, format: percent },
    height: 180,
    layers: [upright(set.mean)],
    series: [{ name: "", points: shares[i].map((share, n) => ({ x: n, y: share, text: `${percent(share)} of the rounds` })),
      layer: bars(shares[i], `s-${bound.strategy}`) }],
  })));
}

const longest = (sets) => Math.max(4, ...sets.map((set) => set.histogram.length));
