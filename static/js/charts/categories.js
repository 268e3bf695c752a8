// Speed-ups by the category of prompts: a table alone.

import { sketch } from "../core/become.js";
import { mark } from "../core/picture.js";
import { median } from "../core/stats.js";
import { table as made } from "../core/tables.js";
import { times } from "../core/words.js";

export const on = { comparison: 4 };
export const title = ({ baseline }) => ["Speed-up by category", `over ${baseline}, prompts in brackets`];

export function sentence({ prompts }) {
  const { length } = categoriesOf(prompts);
  return length < 2 ? "" : `Median speed-up of each strategy on the prompts of each of ${length} categories.`;
}

export function table({ rows, paired, prompts }) {
  const others = rows.filter((row) => !row.isBaseline), categories = categoriesOf(prompts);
  const within = (row, category) => (paired.get(row.number) ?? []).filter((point) => prompts.get(point.prompt)?.category === category);
  const heads = categories.map((category) => `${category} (${Math.max(0, ...others.map((row) => within(row, category).length))})`);
  return made(["strategy", ...heads], others.map((row) => [[badge(row.strategy), row.name], ...categories.map((category) => {
    const points = within(row, category);
    return times(points.length ? median(points.map((point) => point.ratio)) : undefined);
  })]));
}

const categoriesOf = (prompts) => [...new Set([...prompts.values()].map((prompt) => prompt.category))].filter(Boolean).sort();

const badge = (strategy) =>
  sketch("svg", { class: `mark s-${strategy}`, viewBox: "0 0 14 14", "aria-hidden": "true" }, mark(strategy, 7, 7, 7));
