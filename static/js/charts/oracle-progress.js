// The bound's mean lookahead from the first round of a text to the last.

import { level, plot, steps } from "../core/plot.js";
import { table as made } from "../core/tables.js";
import { percent } from "../core/words.js";

export const on = { oracle: 2 };
export const title = "From the first round to the last";

export const sentence = ({ found }) => `Over all prompts the mean lookahead is ${found.mean.toFixed(2)} tokens, ` +
  `with a standard deviation of ${found.deviation.toFixed(2)}.`;

export const table = ({ found, sets }) => made(["progress", ...sets.map((set) => set.name)], found.by_progress.map((_, i) =>
  [percent(i / found.by_progress.length), ...sets.map((set) => set.by_progress[i]?.toFixed(2))]));

export const legend = ({ sets }) => ["Mean lookahead over all prompts, by progress through the text. Dotted: the mean.",
  sets.length > 1 ? " Thin: other prompt sets." : null];

const seriesOf = (name, values, cls) => ({ name, layer: steps(values, cls),
  points: values.flatMap((value, i) => ((value ?? null) === null ? [] : [{ x: i + 0.5, y: value, text: `${value.toFixed(2)} tokens` }])) });

export function draw(picture, { found, sets, series: [bound] }) {
  const bins = found.by_progress.length;
  plot(picture, {
    x: { low: 0, high: bins, label: "progress through the text", at: [0, 1, 2, 3, 4].map((i) => (i * bins) / 4), format: (value) => percent(value / bins) },
    y: { low: 0, high: Math.max(...sets.flatMap((set) => set.by_progress), found.mean, 1) * 1.1, label: "tokens" },
    layers: [level(found.mean)], head: (bin) => percent(Math.floor(bin) / bins),
    series: [...sets.slice(1).map((set) => seriesOf(set.name, set.by_progress, "other")), seriesOf(sets[0].name, found.by_progress, `s-${bound.strategy}`)],
  });
}
