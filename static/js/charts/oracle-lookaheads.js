// How often the bound takes each lookahead: a small plot for each prompt set, on the same scales.

import { become, sketch } from "../core/become.js";
import { bars, plot, upright } from "../core/plot.js";
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

export const legend = ({ sets }) => [sets.length > 1 ? "Rounds by lookahead, for each prompt set of this pair."
  : "Rounds by lookahead. Studies of other prompt sets of this pair will stand beside it."];

export function draw(place, { sets, series: [bound] }) {
  become(place, ...sets.map((set) => sketch("figure", {},
    sketch("figcaption", {}, `${set.name} `, sketch("span", { class: "quiet" }, `mean ${set.mean.toFixed(2)}, ${set.samples} prompts`)),
    sketch("svg", { class: "chart", role: "img", "aria-label": set.name }))));
  const shares = sets.map((set) => {
    const rounds = set.histogram.reduce((sum, count) => sum + count, 0);
    return Array.from({ length: longest(sets) }, (_, i) => (set.histogram[i] ?? 0) / rounds);
  });
  const high = Math.max(...shares.flat()) * 1.1;
  place.querySelectorAll("svg").forEach((picture, i) => plot(picture, {
    head: (tokens) => `${Math.round(tokens)} tokens`,
    x: { low: -0.5, high: longest(sets) - 0.5, label: "lookahead, tokens" }, y: { low: 0, high, format: percent }, height: 180,
    layers: [upright(sets[i].mean)],
    series: [{ name: "", points: shares[i].map((share, n) => ({ x: n, y: share, text: `${percent(share)} of the rounds` })),
      layer: bars(shares[i], `s-${bound.strategy}`) }],
  }));
}

const longest = (sets) => Math.max(4, ...sets.map((set) => set.histogram.length));
